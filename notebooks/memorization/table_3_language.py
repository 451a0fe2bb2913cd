# %% [markdown]
# # Table 3 · Do the assumptions hold in language models?
# *Mahdavi, Liao, Thrampoulidis: Table 3, Appendix J.*
#
# A text is a row of words, and a word is one of a few thousand vectors. So at the embedding of a language model nothing
# is generic: two texts that end alike have equal last tokens, and all texts begin with the same class token. What makes
# tokens differ is where they stand, and what a layer mixes into them. The paper asks the questions of Table 1 again, of
# GPT-2 large (query: the last token) and of BERT large (query: the class token), at the embedding (L0) and after one
# layer (L1), with random and with trained weights, on texts of Wikipedia.
#
# Neither the texts nor the trained weights come with a book. **The stand-in** is models of the same build with random
# weights, at reduced size, on the sources of Python's standard library: some two and a half million words of English
# and code. Each piece begins at a place of its own. BERT keeps its ratio $n/d = 1/2$ of the large model. A folder with
# published weights can be named in the parameters; then they are tested too.
#
# <!-- claim memorization/table-3 -->
# <blockquote>
#
# **Table 3 (The assumptions in language models)** *Appendix J*
#
# **The paper states.** Testing assumptions on Wikipedia for BERT and GPT2. General Position: × everywhere. Assumption
# 1: × in L0; in L1 ✓ for GPT2 and × for BERT, random and trained. Assumption 2: ✓ everywhere, except × for trained GPT2
# in L1. L0 refers to the embedding layer, and L1 refers to the output of the first layer.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper has random BERT's Kruskal rank at 349 of 512. In L1 the failures are statements about
# numerical rank in float32, the precision of the authors' code.
#
# </blockquote>
# <!-- /claim -->

# %%
from dataclasses import replace
from pathlib import Path

import torch

from attention_theory.data.library_sources import library_sources
from attention_theory.data.tokenizers import load_tokenizer
from attention_theory.memorization.kruskal import (
    independent_prefixes,
    largest_satisfied,
    sampled_ranks,
    satisfied_fraction,
)
from attention_theory.memorization.language import (
    LanguageModel,
    WordNumbers,
    random_language_model,
    sample_texts,
)
from attention_theory.memorization.published import load_language_model
from attention_theory.memorization.transformer import cast
from attention_theory.validation import require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
gpt_tokens = 64  # n of the small GPT-2, from 8 to gpt_width - 1
gpt_width = 256  # d of the small GPT-2, a multiple of 4 from 12 to 2048
bert_tokens = 256  # n of BERT, from 8 to bert_width - 1
bert_width = 512  # d of BERT, a multiple of 16 from 16 to 2048
sentences = 1  # segments that BERT's two sentences are told apart by, from 1 to 2
texts_count = 400  # texts for each, at least max(gpt_width, bert_tokens + 1)
draws = 600  # random subsets of n queries of GPT-2 in float32, three times those of BERT, at least 600
slow_draws = 10  # random subsets a test in float64, at least 4
contexts_count = 8  # contexts tested for Assumption 2, from 4 to texts_count
checkpoint = ""  # folder of a BERT or GPT-2 checkpoint with its vocabulary; tested if given
documents = ""  # folder of .txt files; takes the place of the sources for the checkpoint
seed = 0  # seed of every draw, at least 0
device = "cpu"  # where to compute, one of "cpu", "cuda"

# %%
require(
    gpt_width=(gpt_width, range(12, 2049, 4)),
    bert_width=(bert_width, range(16, 2049, 16)),
    gpt_tokens=(gpt_tokens, 8, gpt_width - 1),
    bert_tokens=(bert_tokens, 8, bert_width - 1),
    sentences=(sentences, 1, 2),
    texts_count=(texts_count, max(gpt_width, bert_tokens + 1), None),
    draws=(draws, 600, None),
    slow_draws=(slow_draws, 4, None),
    contexts_count=(contexts_count, 4, texts_count),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)

# %% [markdown]
# ## Texts and models
# For BERT two pieces are put together, and the second follows the first in the text half of the time. The paper names
# no segments, and BERT's code, where it is told of none, takes both sentences for the first one; so does this page
# (`sentences = 2` tells them apart).

# %%
GPT, BERT, SINGLE, DOUBLE = "GPT-2 (small)", "BERT", torch.float32, torch.float64
# the tables of encodings are alike but for single numbers
source, encode = "\n".join(library_sources(leave_out=["encodings"])), WordNumbers()
texts = {
    GPT: sample_texts(source, "gpt2", texts_count, gpt_tokens, encode, seed + 2).to(device),
    BERT: sample_texts(source, "bert", texts_count, bert_tokens, encode, seed + 3).to(device),
}
models = {
    GPT: random_language_model("gpt2", encode.count, gpt_tokens, gpt_width, 4, seed),
    BERT: replace(
        random_language_model("bert", encode.count, bert_tokens, bert_width, 16, seed + 1), sentences=sentences
    ),
}
models = {name: cast(model, device) for name, model in models.items()}
f"{len(source) / 1e6:.1f} million characters; the texts drawn hold {encode.count} different words"

# %% [markdown]
# ## Four places, two precisions
# As for Table 1, all is computed in float32 and in float64. The paper names no precision; its authors' published code
# takes ranks in float32. In float32 the first $k$ vectors of many random orders are tested for every $k$ at once, so
# that the paper's rule, 99 % of the subsets, is applied to hundreds of them. In float64 ten subsets are drawn, and five
# for general position.


# %%
def examine(
    model: LanguageModel, numbers: torch.Tensor, depth: int, dtype: torch.dtype, count: int, contexts: int
) -> dict:
    """Which subsets of n queries, and of d (or fewer), have full rank, and which of the first contexts."""
    own, n = cast(model, dtype), numbers.shape[1]
    queries, most = own.queries(numbers, depth), min(model.words.shape[1], 3 * len(numbers) // 4)
    if dtype is SINGLE:
        prefixes, whole = (independent_prefixes(queries, k, count // part, seed) for k, part in ((n, 1), (most, 20)))
    else:
        prefixes, whole = (sampled_ranks(queries, k, slow_draws // part, seed) for k, part in ((n, 1), (most, 2)))
    return {
        "general position": (whole >= most).tolist(),
        "assumption 1": (prefixes >= n).tolist(),
        "rank": int(prefixes.max()),
        "assumption 2": own.independent_contexts(numbers[:contexts], depth).tolist(),
        "prefixes": prefixes,
    }


# %% [markdown]
# For each model, at the embedding and after one layer:

# %%
found = {
    (name, depth, dtype): examine(models[name], texts[name], depth, dtype, count, contexts_count)
    for name, count in ((GPT, draws), (BERT, draws // 3))
    for depth in (0, 1)
    for dtype in (SINGLE, DOUBLE)
}


def share_of(passed: list[bool]) -> float:
    return sum(passed) / len(passed)


def by_the_rule(row: dict, dtype: torch.dtype) -> int | str:
    """The largest size, up to n, of which 99 % of the subsets are independent; float64 has no curve."""
    return largest_satisfied(row["prefixes"]) if dtype is SINGLE else "-"


# %% [markdown]
# The shares of subsets of $d$ queries, of $n$ queries, and of contexts of full rank. Where $d$ is more than three
# quarters of the texts, we draw subsets of three quarters of them: if these fail, so do the larger ones. "Most
# independent" is a length in float32, that of the longest independent beginning of a random order, and in float64 the
# rank of a whole subset, so that the two are not to be compared. "At 99 %" is the largest size, up to $n$, at which 99
# % of the subsets pass: the paper's Kruskal rank.

# %%
show.table(
    [
        *("random model", "layer", "precision", "general position", "Assumption 1"),
        *("most independent", "at 99 %", "Assumption 2"),
    ],
    [
        (
            *(name, f"L{depth}", str(dtype).removeprefix("torch."), share_of(row["general position"])),
            *(share_of(row["assumption 1"]), row["rank"], by_the_rule(row, dtype), share_of(row["assumption 2"])),
        )
        for (name, depth, dtype), row in found.items()
    ],
    f"GPT-2: n = {gpt_tokens}, d = {gpt_width}; BERT: n = {bert_tokens}, d = {bert_width}. 'Most independent': of n "
    "queries, in the best of the subsets",
)

# %% [markdown]
# ## Why the embedding fails
# At the embedding Assumption 1 cannot hold, in any precision. BERT's query is one and the same vector, class token plus
# position plus segment. GPT-2's query is one of the words plus the last position, so two texts that end alike have
# equal queries: Kruskal rank 1, whatever the rest.

# %%
last = texts[GPT][:, -1]
texts_alike = len(last) - len(last.unique())
gpt_queries = cast(models[GPT], DOUBLE).queries(texts[GPT], 0)
alike = gpt_queries[last == last.mode().values][:2]
fresh = torch.randn(texts_count, gpt_width, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)
f"{texts_alike} of {texts_count} texts end as another one does"

# %% [markdown]
# ## Where BERT's first layer fails
# After one layer the class token has looked at its text. In float32 the share of independent subsets of $k$ queries
# falls to zero before $k = n$; in float64, with the same weights and texts, it does not. What float32 counts as
# dependent is a singular value below some $10^{-4}$ of the largest.

# %%
sizes = list(range(bert_tokens // 4, bert_tokens + 1))
prefixes = found[BERT, 1, SINGLE]["prefixes"].cpu()
few_sizes = list(range(bert_tokens // 4, bert_tokens + 1, bert_tokens // 8))
double_queries = cast(models[BERT], DOUBLE).queries(texts[BERT], 1)
double_curve = [satisfied_fraction(double_queries, k, 10, seed) for k in few_sizes]
fig, axis = show.axes()
axis.plot(sizes, [(prefixes >= k).double().mean().item() for k in sizes], label="float32")
axis.plot(few_sizes, double_curve, marker="s", label="float64")
axis.axvline(bert_tokens, linestyle="--", color="0.5")
axis.set(xlabel="Kruskal rank candidate k", ylabel="satisfied fraction")
axis.legend()
show.figure(
    fig,
    name="bert",
    caption="Random BERT after its first layer. In float32 subsets of n queries (dashed) are not of full rank, as in "
    "the paper, where the last size that passed was 349 of 512. In float64, with the same weights and texts, they are.",
    alt="Satisfied fraction against k for two precisions; the float32 curve falls to zero before the dashed line.",
)

# %% [markdown]
# ## Table 3, judged
# The paper's crosses and marks for random weights come out, all in float32. The few subsets that are drawn in float64
# are shown and not judged. The Kruskal rank of random BERT is shown beside the printed 349 of 512 as a share of $n$,
# and not judged: it changes with $n$ and $d$, of which this page has the half.

# %%
single, double = (
    {(name, depth): row for (name, depth, dtype), row in found.items() if dtype is precision}
    for precision in (SINGLE, DOUBLE)
)
share = largest_satisfied(prefixes) / bert_tokens
shown = ((GPT, "general position", "general position"), (BERT, "Assumption 1", "assumption 1"))
few_subsets = {f"{name} L1, float64: share for {what}": double[name, 1][key] for name, what, key in shown}

# %% [markdown]
# The verdict:

# %%
claim = Claim("memorization/table-3")
claim.equal("BERT L0: rank of n queries", double[BERT, 0]["rank"], 1)
claim.at_least("GPT-2 L0: texts that share their last token with another", texts_alike, 1)
claim.equal("GPT-2 L0: two such queries, difference", alike.diff(dim=0).abs().max(), 0)
claim.at_least("GPT-2 L1, float32: share for Assumption 1", estimate(single[GPT, 1]["assumption 1"]), 0.99)
claim.below("BERT L1, float32: share for Assumption 1", estimate(single[BERT, 1]["assumption 1"]), 0.99)
for (name, depth), row in single.items():
    claim.below(f"{name} L{depth}, float32: share for general position", estimate(row["general position"]), 0.99)
for label, passed in few_subsets.items():
    claim.number(f"{label}, {len(passed)} subsets", share_of(passed))
every = {f"{name}, L{depth}, {dtype}": share_of(row["assumption 2"]) for (name, depth, dtype), row in found.items()}
claim.equal("share for Assumption 2", every, 1)
claim.control.at_least("BERT L0: share for Assumption 1", estimate(single[BERT, 0]["assumption 1"]), 0.99)
claim.control.at_least("generic queries in place of GPT-2's: texts alike", texts_count - len(fresh.unique(dim=0)), 1)
claim.number("BERT L1, float32: Kruskal rank by the 99 % rule, over n", share, printed=349 / 512)
claim.stand_in("random weights and Python's standard library for trained weights and Wikipedia; reduced sizes")
claim.verdict()

# %% [markdown]
# So what fails exactly is the embedding, and what fails after a layer fails in float32. At the paper's size, $n = 512$
# and $d = 1024$, the Kruskal rank of random BERT on record at full size is 328 on these texts, beside the printed 349.
# The trained columns need the trained weights.
#
# ## Valid at the embedding or after one layer?
# <!-- claim memorization/remark-assumptions-valid -->
# <blockquote>
#
# **Section 4.4 (Are the assumptions valid at the embedding or after one layer?)** *Section 4.4*
#
# **The paper states.** We confirm our assumptions are valid either on the embedding layer or after just one Attention
# layer. Detailed experimental verification of this full-rank assumption is provided in Section 5.1.
#
# **What is true.** They are for the vision transformers of Table 1 and, of the four language models of Table 3, for
# GPT-2 with random weights.
#
# **What changed.** The paper's own Table 3 denies it for the others: BERT fails Assumption 1 at both depths, and
# trained GPT-2 has Assumption 2 only at the embedding and Assumption 1 only after one layer.
#
# </blockquote>
# <!-- /claim -->
#
# The sentence says that each model has a depth, the embedding or one layer, at which both assumptions hold. The paper's
# own Table 3 denies it for three of its four language models, and the random BERT above agrees, in float32.

# %%
printed_marks = {  # Table 3: Assumptions 1 and 2 at L0, and at L1
    "GPT-2, random": [(False, True), (True, True)],
    "GPT-2, trained": [(False, True), (True, False)],
    "BERT, random": [(False, True), (False, True)],
    "BERT, trained": [(False, True), (False, True)],
}
valid_somewhere = [name for name, depths in printed_marks.items() if any(all(marks) for marks in depths)]

claim = Claim("memorization/remark-assumptions-valid")
claim.at_least("GPT-2 L1, float32: share for Assumption 1", estimate(single[GPT, 1]["assumption 1"]), 0.99)
claim.equal("GPT-2 L1, float32: share for Assumption 2", share_of(single[GPT, 1]["assumption 2"]), 1)
claim.printed.equal("Table 3 of the paper: models with both assumptions at one depth", len(valid_somewhere), 4)
claim.printed.at_least("BERT L1, float32: share for Assumption 1", estimate(single[BERT, 1]["assumption 1"]), 0.99)
claim.control.at_least("BERT L0, float32: share for Assumption 1", estimate(single[BERT, 0]["assumption 1"]), 0.99)
claim.stand_in("random weights and Python's standard library for trained weights and Wikipedia; reduced sizes")
claim.verdict()

# %% [markdown]
# ## The explanation by positions
# The appendix explains what it finds by positions. BERT keeps Assumption 2, it says, because its positions are
# sinusoidal. But the authors' published code examines `bert-large-uncased`, and that model has *learned* positions;
# random ones in their place, as here, keep the contexts independent as well. What is needed is positions of some kind:
# without any, equal words are equal tokens.
#
# <!-- claim memorization/remark-appendix-j-explanation -->
# <blockquote>
#
# **Appendix J (Why the assumptions hold or fail in BERT)** *Appendix J*
#
# **The paper states.** The sinusoidal positional encodings in BERT preserve the linear independence for all cases.
# While the Kruskal Rank of query vectors is below 512, we observe that the Kruskal Rank is high enough (291 for the
# case of trained and 349 for the case of random BERT). Hence, the result of Remark 1 still yields an acceptable lower
# bound.
#
# **What is true.** Positions keep the contexts of BERT independent. The Kruskal rank of its queries, though below $n$,
# is high enough for Remark 1 to promise something.
#
# **What changed.** The positions of `bert-large-uncased`, which the authors' published code examines, are learned and
# not sinusoidal; random ones in their place keep contexts independent too.
#
# <details><summary>Slips (1)</summary>
#
# - By the paper's 99 % rule the Kruskal rank of the trained BERT is 297 where the text has 291, a difference of one
#   digit: the authors' published notebook has the fractions 0.9996 at 291, 0.9922 at 297 and 0.9834 at 298 (quoted, not
#   rerun).
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# The Kruskal rank 291 of the trained BERT differs by one digit from what the paper's rule gives. The shares behind it,
# as the authors' published notebook has them, are 0.9996 at 291, 0.9922 at 297 and 0.9834 at 298: by the 99 % rule it
# is 297. These are quoted, not rerun.


# %%
def shares_with(name: str, positions: torch.Tensor) -> list[float]:
    """The shares of contexts of full rank at L0 and L1, float64, with other positions."""
    own = cast(replace(models[name], positions=positions), DOUBLE)
    return [share_of(own.independent_contexts(texts[name][:contexts_count], depth).tolist()) for depth in (0, 1)]


small, bert = models[GPT].positions.double(), models[BERT].positions.double()
shares = {
    "BERT, random positions": shares_with(BERT, bert),
    "BERT, no positions": shares_with(BERT, 0 * bert),
    "GPT-2, random positions": shares_with(GPT, small),
    "GPT-2, no positions": shares_with(GPT, 0 * small),
}
show.table(
    ["model and positions, float64", "contexts of full rank at L0", "at L1"],
    [(name, *both) for name, both in shares.items()],
)

# %% [markdown]
# Random positions of full rank give contexts of full rank at both depths. Without any, contexts fail at the embedding.
# Remark 1 promises $H(Q-1)+1$ examples for queries of Kruskal rank $Q \le n$: something as soon as $Q$ is at least 2.

# %%
claim = Claim("memorization/remark-appendix-j-explanation")
for depth, share in enumerate(shares["BERT, random positions"]):
    claim.at_least(f"BERT, random positions: share at L{depth}", share, 0.99)
kruskal = {depth: largest_satisfied(single[BERT, depth]["prefixes"]) for depth in (0, 1)}
claim.at_least("BERT L1, float32: Kruskal rank by the 99 % rule", kruskal[1], 2)
claim.control.at_least("BERT L0, float32: Kruskal rank by the 99 % rule", kruskal[0], 2)
claim.control.at_least("BERT without positions: share at L0", shares["BERT, no positions"][0], 0.99)
claim.control.at_least("GPT-2 without positions: share at L0", shares["GPT-2, no positions"][0], 0.99)
claim.stand_in("random weights, positions among them, for trained ones; Python's standard library for Wikipedia")
claim.verdict()

# %% [markdown]
# The other half of the explanation is an observation of weights that are not here.
#
# <!-- claim memorization/remark-appendix-j-gpt2 -->
# <blockquote>
#
# **Appendix J (The positions of trained GPT-2)** *Appendix J*
#
# **The paper states.** In GPT2, we observe that the learned positional encodings in pre-trained GPT2 have a lower rank
# and are no longer linearly independent.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Table 3 has Assumption 2 fail for trained GPT-2 after one layer, and hold at the embedding.
#
# </blockquote>
# <!-- /claim -->
#
# Random weights cannot stand in for it. How many positions can lose their independence before contexts do? The words of
# a text differ too and fill up what is missing, so a good part can, as the next figure shows; and what a random layer
# does to such contexts says nothing of a trained one.

# %%
left, values, right = torch.linalg.svd(small, full_matrices=False)
ranks = sorted({max(1, gpt_tokens * eighths // 16) for eighths in range(4, 17)})
cut = [shares_with(GPT, (left[:, :rank] * values[:rank]) @ right[:rank]) for rank in ranks]
fig, axis = show.axes()
for depth, marker in ((0, "o"), (1, "s")):
    axis.plot(ranks, [both[depth] for both in cut], marker=marker, label=f"L{depth}")
axis.set(xlabel=f"rank that is left of {gpt_tokens} random positions", ylabel="contexts of full rank")
axis.legend()
show.figure(
    fig,
    name="cut-positions",
    caption="A small GPT-2 with random weights, float64, its positions cut to a lower rank. At the embedding contexts "
    "keep their rank until a good part of the positions is gone; a random layer keeps it longer.",
    alt="Two curves of the share of contexts of full rank against the rank of the positions. Both end at one on the "
    "right; the one of the embedding falls first as the rank of the positions goes down.",
)

# %% [markdown]
# ## With published weights
# With the folder of a checkpoint in the parameters, the trained columns are computed here, on texts cut into the
# model's own tokens: once with the positions as trained, and once with random ones of the same size in their place. In
# float32, the precision of the authors' code, 600 contexts are tested for Assumption 2, so that the paper's 99 % can be
# told by an interval. Texts are as long as the model has positions, or $d - 1$ tokens where it has $d$ or more.

# %%
MANY = 600  # contexts of a checkpoint: if all pass, the 99 % interval of the share lies above 0.99


def published(folder: Path) -> tuple[dict[str, LanguageModel], torch.Tensor]:
    """The model of a checkpoint, the same with random positions, and texts in its own tokens."""
    model = cast(replace(load_language_model(folder), sentences=sentences), device)
    n = min(model.positions.shape[0], model.positions.shape[1] - 1)  # Theorem 1 is about n < d
    require(checkpoint_width=(model.positions.shape[1], 9, None), checkpoint_positions=(len(model.positions), 8, None))
    model, kind = replace(model, positions=model.positions[:n]), "gpt2" if model.causal else "bert"
    files = sorted(Path(documents).rglob("*.txt")) if documents else []
    text = "\n".join(file.read_text(errors="replace") for file in files) if documents else source
    count = max(texts_count, n + 1, MANY)
    numbers = sample_texts(text, kind, count, n, load_tokenizer(folder), seed, (101, 102)).to(device)
    return {"as trained": model, "random positions": model.with_random_positions(seed)}, numbers


# %% [markdown]
# Each is examined as the random models were, with as many subsets as GPT-2 has above. Without a folder there is nothing
# to show.

# %%
columns, numbers = published(Path(checkpoint)) if checkpoint else ({}, None)
trained = {
    (name, depth, dtype): examine(own, numbers, depth, dtype, draws, MANY if dtype is SINGLE else contexts_count)
    for name, own in columns.items()
    for depth in (0, 1)
    for dtype in (SINGLE, DOUBLE)
}
ranks = {
    (name, dtype): int(torch.linalg.matrix_rank(cast(own, dtype).positions))
    for name, own in columns.items()
    for dtype in (SINGLE, DOUBLE)
}

# %% [markdown]
# The trained columns of Table 3, and the rank of the positions beside their number $n$:

# %%
if checkpoint:
    show.table(
        [
            *("published model", "layer", "precision", "rank of positions", "n", "general position"),
            *("Assumption 1", "most independent", "at 99 %", "Assumption 2"),
        ],
        [
            (
                *(name, f"L{depth}", str(dtype).removeprefix("torch."), ranks[name, dtype], numbers.shape[1]),
                *(share_of(row["general position"]), share_of(row["assumption 1"]), row["rank"]),
                *(by_the_rule(row, dtype), share_of(row["assumption 2"])),
            )
            for (name, depth, dtype), row in trained.items()
        ],
    )
else:
    print("no checkpoint given: the trained columns were not run")

# %% [markdown]
# For GPT-2 the observation is judged. Its positions must have a rank below $n$, and by the 99 % rule its contexts must
# be of full rank at the embedding and not after one layer. If the positions are the reason, independent ones of the
# same size must not show it: that is the control.

# %%
if checkpoint and columns["as trained"].causal:
    claim = Claim("memorization/remark-appendix-j-gpt2")
    label, n = "float32: share of contexts of full rank", numbers.shape[1]
    claim.below("positions, float32: rank less n", ranks["as trained", SINGLE] - n, 0)
    claim.at_least(f"L0, {label}", estimate(trained["as trained", 0, SINGLE]["assumption 2"]), 0.99)
    claim.below(f"L1, {label}", estimate(trained["as trained", 1, SINGLE]["assumption 2"]), 0.99)
    claim.control.below("random positions, float32: rank less n", ranks["random positions", SINGLE] - n, 0)
    without = trained["random positions", 1, SINGLE]["assumption 2"]
    claim.control.below(f"random positions, L1, {label}", estimate(without), 0.99)
    claim.number("positions, float64: rank less n", ranks["as trained", DOUBLE] - n)
    few = share_of(trained["as trained", 1, DOUBLE]["assumption 2"])
    claim.number(f"L1, float64: share of contexts of full rank, {contexts_count} contexts", few)
    if not documents:
        claim.stand_in("Python's standard library for Wikipedia")
    claim.verdict()

# %% [markdown]
# ## What was learned
# The exact failures of Table 3 are at the embedding, where queries coincide. After one layer the crosses for random
# weights are crosses of float32: computed in float64 from the same texts and weights, the few subsets drawn pass. With
# random weights, how far below $n$ the Kruskal rank of BERT is depends on the size: at the paper's, on record, it is
# 328 of 512 where the paper has 349, and at half of it a larger part of $n$. Positions of any independent kind keep the
# contexts independent; that BERT's are sinusoidal is not so, and what trained GPT-2's are like only its weights can
# tell.
#
# ## To try
# - Set `sentences = 2`: a second segment spreads the class tokens a little, and the float32 curve moves to the right.
# - Set `bert_tokens = 64`: where $n$ is an eighth of $d$, the queries of a random BERT pass in float32 too; its cross
#   becomes a mark.

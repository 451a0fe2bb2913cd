# %% [markdown]
# # Do the assumptions hold in language models?
# *Mahdavi, Liao, Thrampoulidis: Table 3, Appendix J.*
#
# ```{claim} memorization/table-3
# ```
#
# ```{claim} memorization/remark-appendix-j-explanation
# ```
#
# The paper repeats its test on GPT-2 large (query: the last token) and BERT large (query: the class token) with
# texts of Wikipedia, at the embedding (L0) and after one layer (L1), with random and with trained weights.
# Neither the texts nor the trained weights come with a book. **The stand-in**: models of the same build with
# random weights, at reduced size, on the descriptions of scikit-learn's data sets. BERT keeps its ratio n/d =
# 1/2. The trained columns and the ranks 291 and 349 are not rerun.

# %%
from pathlib import Path

import torch

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.checkpoints import load_language_model
from attention_theory.memorization.kruskal import context_fraction, sampled_ranks, satisfied_fraction
from attention_theory.memorization.language import LanguageModel, bundled_words, random_language_model, sample_texts
from attention_theory.memorization.transformer import cast
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
gpt_tokens = 64  # n of the small GPT-2, at least 8
gpt_width = 160  # d of the small GPT-2, more than n, a multiple of 4
bert_tokens = 256  # n of BERT, at least 8
bert_width = 512  # d of BERT, more than n, a multiple of 16
texts_count = 300  # texts for each, more than the larger n
draws = 4  # random subsets a test, at least 4
checkpoint = ""  # folder of a BERT or GPT-2 checkpoint with tokens.pt (texts by tokens); tested if given
seed = 0  # seed of every draw, at least 0

# %%
require(
    gpt_width=(gpt_width, range(12, 2049, 4)),
    bert_width=(bert_width, range(16, 2049, 16)),
    gpt_tokens=(gpt_tokens, 8, gpt_width - 1),
    bert_tokens=(bert_tokens, 8, bert_width - 1),
    texts_count=(texts_count, max(gpt_tokens, bert_tokens) + 1, None),
    draws=(draws, 4, None),
    seed=(seed, 0, None),
)
stream = bundled_words()
vocabulary = int(stream.max()) + 1
models = {
    "GPT-2 (small)": random_language_model("gpt2", vocabulary, gpt_tokens, gpt_width, 4, seed),
    "BERT": random_language_model("bert", vocabulary, bert_tokens, bert_width, 16, seed + 1),
}
texts = {
    "GPT-2 (small)": sample_texts(stream, "gpt2", texts_count, gpt_tokens, seed + 2),
    "BERT": sample_texts(stream, "bert", texts_count, bert_tokens, seed + 3),
}
f"{len(stream)} words, {vocabulary} of them different"


# %%
def examine(model: LanguageModel, numbers: torch.Tensor, depth: int, dtype: torch.dtype) -> dict[str, float]:
    """Shares of subsets of n queries, and of the first four contexts, that have full rank."""
    own = cast(model, dtype)
    n = numbers.shape[1]
    queries = own.queries(numbers, depth)
    return {
        "assumption 1": satisfied_fraction(queries, n, draws, seed),
        "rank of n queries": int(sampled_ranks(queries, n, draws, seed).max()),
        "assumption 2": context_fraction(own.contexts(numbers[:4], depth)),
    }


found = {
    (name, f"L{depth}", str(dtype).removeprefix("torch.")): examine(model, texts[name], depth, dtype)
    for name, model in models.items()
    for depth in (0, 1)
    for dtype in (torch.float32, torch.float64)
}
show.table(
    ["random model", "layer", "precision", "Assumption 1", "largest rank of n queries", "Assumption 2"],
    [(*key, *row.values()) for key, row in found.items()],
    f"GPT-2: n = {gpt_tokens}, d = {gpt_width}; BERT: n = {bert_tokens}, d = {bert_width}",
)

# %% [markdown]
# At the embedding Assumption 1 cannot hold. BERT's query is one and the same vector, class token plus position
# plus segment. GPT-2's query is one of the words plus the last position, so two texts that end alike have equal
# queries: Kruskal rank 1, whatever the rest.

# %%
last = texts["GPT-2 (small)"][:, -1]
pairs_alike = len(last) - len(last.unique())
gpt_queries = cast(models["GPT-2 (small)"], torch.float64).queries(texts["GPT-2 (small)"], 0)
alike = gpt_queries[last == last.mode().values][:2]
fresh = torch.randn(texts_count, gpt_width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

sizes = [64, 128, 256, 320, 384, 448, 512]
sizes = [size for size in sizes if size <= bert_tokens]
curves = {}
for dtype in (torch.float32, torch.float64):
    queries = cast(models["BERT"], dtype).queries(texts["BERT"], 1)
    curves[str(dtype).removeprefix("torch.")] = [satisfied_fraction(queries, k, draws, seed) for k in sizes]
fig, axis = show.axes()
for (name, curve), marker in zip(curves.items(), show.MARKERS, strict=False):
    axis.plot(sizes, curve, marker=marker, label=name)
axis.axvline(bert_tokens, linestyle="--", color="0.5")
axis.set(xlabel="Kruskal rank candidate k", ylabel="satisfied fraction")
axis.legend()
show.figure(
    fig,
    name="bert",
    caption="Random BERT after its first layer. In float32 subsets of n queries (dashed) are not of full rank, "
    "as in the paper, "
    "where the last size that passed was 349.",
    alt="Satisfied fraction against k for two precisions; the float32 curve falls to zero before the dashed line.",
)

claim = Claim("memorization/table-3")
claim.check("BERT L0: rank of n queries", found["BERT", "L0", "float64"]["rank of n queries"], "==", 1)
claim.check("GPT-2 L0: texts that share their last token with another", pairs_alike, ">=", 1)
claim.check("GPT-2 L0: two such queries, difference", alike.diff(dim=0).abs().max(), "==", 0)
claim.check(
    "GPT-2 L1, float32: share for Assumption 1", found["GPT-2 (small)", "L1", "float32"]["assumption 1"], ">=", 0.99
)
claim.check("BERT L1, float32: share for Assumption 1", found["BERT", "L1", "float32"]["assumption 1"], "<=", 0.01)
claim.check("all: smallest share for Assumption 2", min(row["assumption 2"] for row in found.values()), "==", 1)
claim.control("BERT L0: share for Assumption 1", found["BERT", "L0", "float64"]["assumption 1"], ">=", 0.99)
claim.control("generic queries in place of GPT-2's: texts alike", texts_count - len(fresh.unique(dim=0)), ">=", 1)
largest = max((k for k, share in zip(sizes, curves["float32"], strict=True) if share >= 0.99), default=0)
claim.number(f"BERT L1, float32: largest k at 99 %, over n = {bert_tokens}", largest / bert_tokens, printed=349 / 512)
claim.stand_in("random weights and texts that come with scikit-learn for trained weights and Wikipedia; a small GPT-2")
claim.verdict()

# %% [markdown]
# ## The explanations
# The appendix explains what it finds by positions: BERT keeps Assumption 2 because its positions are sinusoidal,
# GPT-2 loses it after training because learned positions have lower rank. But the checked BERT has *learned*
# positions. Random ones, as here, have full rank; sinusoidal ones of this size do not in double precision. And
# the reason given for GPT-2 would have to show at its trained embedding first, where the paper's own table has
# Assumption 2 holding.
#
# The printed Kruskal rank 291 of the trained BERT is not what the paper's rule gives either: by the 99 % rule it
# is 297. The shares behind it, as the authors' published notebook prints them, are 0.9996 at 291, 0.9922 at 297
# and 0.9834 at 298.

# %%
true_size = (512, 1024)  # of the BERT that the paper examined
learned = 0.02 * torch.randn(*true_size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
learned_rank = int(torch.linalg.matrix_rank(learned))
sinusoidal_rank = int(torch.linalg.matrix_rank(sinusoidal(*true_size)))
published = {291: 0.9996, 297: 0.9922, 298: 0.9834}
by_rule = max(k for k, share in published.items() if share >= 0.99)

claim = Claim("memorization/remark-appendix-j-explanation")
claim.check("learned-style positions: rank", learned_rank, "==", true_size[0])
claim.check(
    "BERT L0 with learned-style positions: share for Assumption 2",
    found["BERT", "L0", "float64"]["assumption 2"],
    "==",
    1,
)
claim.counterexample("the reason given, sinusoidal positions: rank", sinusoidal_rank, "==", true_size[0])
claim.counterexample("297, by the 99 % rule, is the printed 291", by_rule, "==", 291)
repeated = torch.cat([learned[:-1], learned[:1]])
claim.control("one position written twice: rank", int(torch.linalg.matrix_rank(repeated)), "==", true_size[0])
claim.number("rank of sinusoidal positions", sinusoidal_rank, earlier=171, within=0.03)
claim.verdict()

# %% [markdown]
# ## With published weights

# %%
if checkpoint:
    model = load_language_model(Path(checkpoint))
    numbers = torch.load(Path(checkpoint) / "tokens.pt", weights_only=True)
    for depth in (0, 1):
        for dtype in (torch.float32, torch.float64):
            print(f"L{depth}", dtype, examine(model, numbers, depth, dtype))
else:
    print("no checkpoint given: the trained columns were not run")

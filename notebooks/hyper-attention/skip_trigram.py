# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The skip-trigram bug
# *Ustaomeroglu, Qu: Appendix G.2.1.*
#
# ```{claim} hyper-attention/skip-trigram
# ```
#
# After "keep ... in" the word "mind" should follow, after "keep ... at" the word "bay". One head of self-attention
# gives the next-word scores $f(\text{in}, \text{keep})\, w_{\text{keep}}$ and $f(\text{at}, \text{keep})\,
# w_{\text{keep}}$: the same vector $w_{\text{keep}}$, longer or shorter. Whatever raises "mind" after "in" raises
# "mind" after "at". In numbers: the table of queries by words that one context word contributes has rank 1, and the
# wanted one, the identity, has rank 2. The best rank-1 table misses a squared distance of 1. HyperAttention of order
# 3 has a vector $w_{\text{keep}, \text{in}}$ for the pair.
#
# **How strong is the argument?** The words "in" and "at" are tokens of the sequence too, and attend to themselves.
# Their own vectors $w_{\text{in}}$ and $w_{\text{at}}$ can carry the difference, which the paper's verbal argument
# passes over. With $c$ context words and $q$ query words a head has $c + q$ vectors, so its table of scores has rank
# $c + q$ at most. For $2 \times 2$ this is 4, enough for four different answers, and the page builds the weights. The
# bug proper appears when $c\,q > c + q$: with $3 \times 3$ and nine answers one head misses at least $9 - 6 = 3$.
# Several heads add up their ranks.

# %%
import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions import aggregate_interactions
from attention_theory.hyper_attention.linear_hyper_attention import aggregate_tuples
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
contexts = 3  # context words in the larger task c, from 3 to 8
queries = 3  # query words in the larger task q, from 3 to 8
draws = 200  # random heads tried, at least 1
seed = 0  # of every draw, at least 0

# %%
require(contexts=(contexts, 3, 8), queries=(queries, 3, 8), draws=(draws, 1, 10_000), seed=(seed, 0, None))

# %% [markdown]
# ## One context word
# The share of "keep" in the scores: rows "in" and "at", columns "mind" and "bay".

# %%
wanted = torch.eye(2, dtype=torch.float64)
rank_one_error = torch.linalg.svdvals(wanted)[1:].square().sum()
same_answer = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
same_answer_error = torch.linalg.svdvals(same_answer)[1:].square().sum()
two_heads_error = torch.linalg.svdvals(wanted)[2:].square().sum()


# %% [markdown]
# ## All sequences (context, query)
# One sequence of two words for every context and query, each with an answer of its own. Context words are the symbols
# from 0, query words come after them; the scores are read at the query.


# %%
def task(contexts: int, queries: int) -> tuple[Tensor, Tensor]:
    """Every sequence (context, query), and the identity: one answer each."""
    symbols = torch.cartesian_prod(torch.arange(contexts), contexts + torch.arange(queries))
    return symbols, torch.eye(len(symbols), dtype=torch.float64)


def at_the_query(effect: Tensor, weights: Tensor, symbols: Tensor) -> Tensor:
    """The outputs of one linear head, self term included, at the last word."""
    return aggregate_interactions(symbols, effect, weights)[:, -1]


def head_design(effect: Tensor, symbols: Tensor) -> Tensor:
    """Scores of every query at every word: outputs are this matrix times the vectors w of the words."""
    return at_the_query(effect, torch.eye(len(effect), dtype=torch.float64), symbols)


def ternary(symbols: Tensor, answers: Tensor, size: int) -> Tensor:
    """Order 3: f picks the pair (context, query), and w of the pair is the answer."""
    effect = torch.zeros(size, size, size, dtype=torch.float64)
    weights = torch.zeros(size, size, answers.shape[1], dtype=torch.float64)
    for (context, query), answer in zip(symbols.tolist(), answers, strict=True):
        effect[query, context, query] = 1.0
        weights[context, query] = answer
    return aggregate_tuples(symbols, effect, weights, "le")[:, -1]


small, small_answers = task(2, 2)
effect = torch.randn(4, 4, generator=generator(seed), dtype=torch.float64)
own_vectors = torch.linalg.solve(head_design(effect, small), small_answers)
repaired = at_the_query(effect, own_vectors, small)

large, large_answers = task(contexts, queries)
size = contexts + queries
draw = generator(seed + 1)
random_errors = []
for _ in range(draws):
    design = head_design(torch.randn(size, size, generator=draw, dtype=torch.float64), large)
    best = design @ torch.linalg.pinv(design) @ large_answers
    random_errors.append((best - large_answers).square().sum().item())
least_possible = contexts * queries - size
ternary_error = {
    n: (ternary(s, a, k) - a).abs().max()
    for n, (s, a, k) in {"2 x 2": (small, small_answers, 4), "larger": (large, large_answers, size)}.items()
}

# %%
show.table(
    ["task", "layer", "squared error"],
    [
        ["share of one context word, 2 queries", "one head, best", rank_one_error],
        ["share of one context word, 2 queries", "two heads, best", two_heads_error],
        ["2 contexts, 2 queries", "one head with its self term", (repaired - small_answers).square().sum()],
        [f"{contexts} contexts, {queries} queries", "one head, best of random scores", min(random_errors)],
        [f"{contexts} contexts, {queries} queries", "one head, bound by rank", least_possible],
        [f"{contexts} contexts, {queries} queries", "HyperAttention, order 3", ternary_error["larger"] ** 2],
    ],
)

# %%
design = head_design(torch.randn(size, size, generator=draw, dtype=torch.float64), large)
one_head = design @ torch.linalg.pinv(design) @ large_answers
fig, panels = show.axes(columns=2, width=7.0, height=3.4)
for panel, (title, scores) in zip(
    panels, {"one head, best vectors": one_head, "order 3": ternary(large, large_answers, size)}.items(), strict=True
):
    panel.imshow(scores, vmin=-0.3, vmax=1)
    panel.set(title=title, xlabel="answer", ylabel="context and query")
    panel.grid(False)
show.figure(
    fig,
    name="answers",
    caption="Scores of the answers for every context and query. One head spreads each answer over the sequences that "
    "share its context or its query; order 3 gives the identity.",
    alt="Two square images. The left one has a weak diagonal and a pattern of stripes around it, the right one "
    "only a bright diagonal.",
    photo=True,
)

# %%
claim = Claim("hyper-attention/skip-trigram")
claim.check("share of one context word, one head, least squared error", rank_one_error, "==", 1.0, tolerance=1e-12)
claim.check("two heads, least squared error", two_heads_error, "==", 0)
claim.check("2 x 2, one head with its self term, error", (repaired - small_answers).abs().max(), "<=", 1e-10)
claim.check("larger task, one head: least error of random scores", min(random_errors), ">=", least_possible - 1e-9)
claim.check("2 x 2, order 3, error", ternary_error["2 x 2"], "<=", 1e-12)
claim.check("larger task, order 3, error", ternary_error["larger"], "<=", 1e-12)
claim.control("larger task, one head, error", min(random_errors), "<=", 1e-12)
claim.control("one head misses 1 when both queries want one answer", same_answer_error, "==", 1.0, tolerance=1e-12)
claim.verdict()

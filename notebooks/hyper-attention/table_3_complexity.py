# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 3 · What each attention costs
# *Ustaomeroglu, Qu: Table 3, Appendix H.*
#
# How much more work does a text need if it is twice as long? For six kinds of attention, the paper answers with a power
# of the length. We count the work and look at what such a power hides.

# %%
from collections.abc import Callable
from functools import partial, reduce

import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    represent,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.hyper_feature_attention import score_features
from attention_theory.hyper_attention.layers.linear_sums import linear_pair_sum
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.layers import attention
from attention_theory.measure import cpu_seconds, matrix_operations, peak_bytes
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.trends import exponent
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 16  # features of a head d_h, a multiple of 4 from 8 to 64
factors = 2  # order A of HyperFeatureAttention, one of 2, 4
quadratic_lengths = [120, 240, 480, 960, 1200]  # for the L^2 forms, each from 16 to 4096
cubic_lengths = [36, 72, 144, 288, 360]  # for the L^3 forms, each from 16 to 512
linear_lengths = [1600, 3200, 6400, 12800, 16000]  # for the linear forms, each from 16 to 200000
triples_lengths = [12, 24, 48, 96, 120]  # for the literal order 3, each from 8 to 256
seed = 0  # of every draw, at least 0

# %%
require(
    width=(width, range(8, 65, 4)), factors=(factors, {2, 4}), quadratic_lengths=(Each(quadratic_lengths), 16, 4096)
)
require(cubic_lengths=(Each(cubic_lengths), 16, 512), linear_lengths=(Each(linear_lengths), 16, 200_000))
require(triples_lengths=(Each(triples_lengths), 8, 256), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Self-attention scores pairs of tokens, HyperAttention of order 3 scores triples, and a linear form reads every token
# once.

# %%
show.table(
    ["tokens", "linear forms", "pairs", "triples"],
    [[length, length, length**2, length**3] for length in (2, 4, 8)],
    caption="The number of items to read or to score.",
)

# %% [markdown]
# Each doubling multiplies the columns by 2, 4 and 8. On logarithmic axes, these are lines of slope 1, 2 and 3.
#
# ## The paper states
# <!-- claim hyper-attention/table-3 -->
# <blockquote>
#
# **Table 3 (Cost of the six kinds of attention)** *Appendix H*
#
# **The paper states.** Self-attention and HyperFeatureAttention cost $\Theta(L^2)$, HyperAttention of order $n$
# $\Theta(L^n)$, and the linear form of each $\Theta(L)$. They capture mutual interactions, couplings of these, and
# $n$-way interactions; the linear forms capture them approximately.
#
# **What is true.** The costs are correct. By Theorems 3.1 and G.4, the paper's linear forms without a softmax capture
# interactions exactly.
#
# **What changed.** In the column on what is captured, "approximate" is true of linear forms that approximate a softmax,
# but not of the linear forms that the paper defines and proves exact.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The cost of linear HyperFeatureAttention hides the factor $(d_h / A)^A$. Order 3 in blocks needs
# memory for only $\Theta(L^2)$ numbers.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/hyper-attention-parameters -->
# <blockquote>
#
# **Appendix H (How many parameters HyperAttention has)** *Appendix H*
#
# **The paper states.** As for HyperAttention of order $n$, it captures up to $n$-th order interactions. It has
# $\Theta(d^2)$ parameters.
#
# **What is true.** It has $\Theta(d^2)$ parameters if the order is fixed and its tensors are factored with a rank
# proportional to $d$.
#
# **What changed.** The tensors of Definition 6.1 have $d^n + d^{n-1} d_2$ entries, and Theorem G.4 uses these to
# capture every interaction of $n$ tokens.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/fewer-parameters -->
# <blockquote>
#
# **Appendix H (Fewer parameters and less overhead)** *Appendix H*
#
# **The paper states.** One might contend that standard self-attention can, in principle, capture these complex
# interactions "in surprising ways." The key difference is that our modules achieve comparable expressiveness with far
# fewer parameters—and therefore lower memory and compute overhead.
#
# **What is true.** For products of $M$ features with $k$ values, a HyperFeatureAttention of order $A$ on features side
# by side has $A(Mk)^2$ scores, and self-attention on product symbols $k^{2M}$, with more operations. HyperAttention of
# order $n$ has as many parameters as self-attention and takes $\Theta(L^n)$ operations with a softmax.
#
# **What changed.** Fewer or equal parameters do not imply less compute: Table 3 itself gives HyperAttention the higher
# cost.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Linear forms have no softmax, so we can multiply keys by values first. Linear HyperFeatureAttention is linear
# attention on Kronecker products of the factors' queries and keys, as in $(1,2)\otimes(3,4)=(3,4,6,8)$. With $A$
# factors of $d_h/A$ features each, these products have $(d_h/A)^A$ entries. The cost is linear in the length $L$, but
# not in the width.
#
# Memory can grow more slowly than time: in blocks, we never hold more than about $L^2$ of the $L^3$ scores.
#
# <details><summary>Proof of Appendix H, parameters of HyperAttention, as corrected</summary>
#
# $C$ has $n$ axes of $d$ entries, and $W^V$ has $n - 1$ of them and one of $d_2$. Together these are $d^n + d^{n-1}
# d_2$ entries. Factors of rank $R$ have $n d R$ and $((n - 1) d + d_2) R$, which is $\Theta(d^2)$ for fixed $n$, $R =
# d$ and $d_2 \le d$. $\square$
#
# </details>
#
# <details><summary>Proof of Appendix H, fewer parameters, as corrected</summary>
#
# A score matrix has as many rows and columns as the embedding has dimensions: $Mk$ side by side, and $k^M$ for product
# symbols, which [no narrower embedding](theorem_3_1_representation.ipynb) replaces. $X C X^\top$ takes about $L d^2 +
# L^2 d$ multiplications, so $A$ factors on $Mk$ dimensions take fewer than one score on $k^M$ if $A (Mk)^2 < k^{2M}$
# and $A M k < k^M$. The softmax of order $n$ has $L^n$ scores. $\square$
#
# </details>
#
# ## See it run
# We run the core of each layer, from queries, keys and values to outputs. We count operations and bytes, which, unlike
# seconds, do not depend on the machine.

# %%
Run = Callable[[], Tensor]


def cut(features: Tensor) -> tuple[Tensor, ...]:
    """The factors of HyperFeatureAttention."""
    return features.chunk(factors, dim=-1)


def hyper_feature(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax of the product of the factors' scores."""
    scores = [a @ b.mT for a, b in zip(cut(q), cut(k), strict=True)]
    return reduce(torch.mul, scores).softmax(dim=-1) @ v


def linear_hyper_feature(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same without a softmax: linear attention on Kronecker features."""
    return score_features(cut(q)) @ (score_features(cut(k)).mT @ v)


# %%
def order_3(q: Tensor, k: Tensor, v: Tensor, k2: Tensor, v2: Tensor, _: Tensor, block: int | None = None) -> Tensor:
    """Softmax over all pairs, in blocks that fit the cache unless a size is given."""
    return pair_attention(q, k, k2, v, v2, sum_over="all", causal=False, block=block)


def inputs(length: int, features: int = width) -> list[Tensor]:
    """Two sets of queries, keys and values."""
    return list(normal(6, length, features, seed=seed, dtype=torch.float32))


# %%
MODELS = {
    "self-attention": (2, quadratic_lengths, lambda q, k, v, *_: attention(q, k, v)),
    "HyperFeatureAttention": (2, quadratic_lengths, lambda q, k, v, *_: hyper_feature(q, k, v)),
    "HyperAttention, order 3": (3, cubic_lengths, order_3),
    "linear self-attention": (1, linear_lengths, lambda q, k, v, *_: q @ (k.mT @ v)),
    "linear HyperFeatureAttention": (1, linear_lengths, lambda q, k, v, *_: linear_hyper_feature(q, k, v)),
    "linear HyperAttention, order 3": (1, linear_lengths, lambda q, k, v, k2, v2, _: linear_pair_sum(q, k, k2, v, v2)),
    "HyperAttention, every triple at once": (
        3,
        triples_lengths,
        lambda q, k, v, k2, v2, _: tuple_attention(q, [k, k2], [v, v2], "all", causal=False),
    ),
}

# %%
operations, held, exponents = {}, {}, {}
for name, (_, lengths, core) in MODELS.items():
    runs = [partial(core, *inputs(length)) for length in lengths]
    operations[name] = [matrix_operations(run) for run in runs]
    # Small lengths would fit into one block whole; one position at a time shows the growth.
    small = [partial(run, block=1) for run in runs] if core is order_3 else runs
    held[name] = [peak_bytes(run) for run in small]
    times = [cpu_seconds(run) for run in runs]
    exponents[name] = [exponent(lengths, values) for values in (operations[name], held[name], times)]
show.table(
    ["model", "exponent in the paper", "operations", "memory", "time (this run)", "lengths"],
    [[name, MODELS[name][0], *exponents[name], f"{MODELS[name][1][0]} to {MODELS[name][1][-1]}"] for name in MODELS],
    caption="Fitted exponents of the length.",
)

# %%
fig, panels = show.axes(columns=2, width=9.0, height=3.8)
place_of = (2, 3, 4, 0, 1, 5, 6)  # the first three have the colours of Tables 1 and 2
for place, (name, (_, lengths, _)) in zip(place_of, MODELS.items(), strict=True):
    style = {"color": show.COLOURS[place], "marker": show.MARKERS[place]}
    panels[0].loglog(lengths, operations[name], **style, label=name)
    panels[1].loglog(lengths, held[name], **style)
panels[0].set(xlabel="tokens L", ylabel="operations", ylim=(1e4, 1e13))
panels[1].set(xlabel="tokens L", ylabel="peak memory, bytes")
panels[0].legend(fontsize=7)
show.figure(
    fig,
    name="costs",
    caption="Operations and memory against the length. On the right, order 3 in blocks has about the same slope as "
    "self-attention, and only the literal form has slope 3.",
    alt="Two panels with straight lines on logarithmic axes. On the left, three groups with slopes of one, two and "
    "three. On the right, only the literal order 3 has a slope of three.",
)

# %% [markdown]
# On the left, we see the slopes 1, 2 and 3.
#
# For linear HyperFeatureAttention, they also grow with the width of a head:

# %%
length = linear_lengths[0]
widths = [8, 16, 32]
rows = []
for one in widths:
    given = inputs(length, one)
    plain = matrix_operations(lambda given=given: given[0] @ (given[1].mT @ given[2]))
    coupled = matrix_operations(lambda given=given: linear_hyper_feature(*given[:3]))
    rows.append([one, plain, coupled, coupled / plain, (one // factors) ** factors / one])
show.table(["$d_h$", "linear self-attention", "linear HyperFeatureAttention", "ratio", "$(d_h / A)^A / d_h$"], rows)

# %% [markdown]
# The last two columns agree. We also count the entries of the tensors of Definition 6.1 at order 3, and of their
# factors of rank $d$:

# %%
tensors, factored = [], []
for one in widths:
    score, value = normal(one, one, one, seed=seed), normal(one, one, 1, seed=seed)
    factors_of = [normal(axis, one, seed=seed) for axis in (*score.shape, *value.shape)]
    tensors.append(score.numel() + value.numel())
    factored.append(sum(factor.numel() for factor in factors_of))
show.table(["width", "tensors", "factors of rank d"], list(zip(widths, tensors, factored, strict=True)))

# %% [markdown]
# When the width doubles, the tensors grow almost eightfold and the factors about fourfold.
#
# Finally, we count the scores of features of three values.


# %%
def scoring(dimensions: int, count: int) -> tuple[int, int]:
    """Entries of so many score matrices, and the operations of their scores for 32 tokens."""
    x, c = torch.zeros(32, dimensions), torch.zeros(dimensions, dimensions)
    return count * c.numel(), count * matrix_operations(lambda: x @ c @ x.mT)


by_features = {
    several: [a / b for a, b in zip(scoring(3 * several, 2), scoring(3**several, 1), strict=True)]
    for several in (1, 3, 6)
}
show.table(
    ["features", "entries, order 2 over product symbols", "operations"], [[n, *row] for n, row in by_features.items()]
)

# %%
same_length = inputs(cubic_lengths[-1])
order_3_ratio = matrix_operations(lambda: order_3(*same_length)) / matrix_operations(
    lambda: attention(*same_length[:3])
)

# %% [markdown]
# For six features, order 2 needs about a thousandth of the entries.
#
# ## How we checked
# We fit exponents over a decade of lengths and compare those of operations with the table. The control holds every
# triple at once. The paper's linear self-attention, Eq. 1, must represent a pairwise interaction exactly.

# %%
symbols = sample_sequences(100, 8, 5, seed)
effect, weights = normal(5, 5, seed=seed), normal(5, 1, seed=seed + 1)
hot = torch.eye(5, dtype=torch.float64)
exact = linear_attention(hot[symbols], *represent(effect, weights, hot))
off = relative_error(exact, aggregate_interactions(symbols, effect, weights))

# %%
claim = Claim("hyper-attention/table-3")
for name, (printed, _, _) in MODELS.items():
    if name != "HyperAttention, every triple at once":
        claim.number(f"exponent of operations, {name}", exponents[name][0], printed=printed, within=0.3 / printed)
claim.at_most("memory of order 3 in blocks: exponent", exponents["HyperAttention, order 3"][1], 2.3)
claim.printed.at_least("linear self-attention captures an interaction approximately: error", off, 1e-3)
claim.true("operations, ratio of the linear forms is the hidden factor", all(r[3] == r[4] for r in rows))
naive_operations, naive_memory, _ = exponents["HyperAttention, every triple at once"]
claim.control.equal("every triple at once: operations linear", naive_operations, 1.0, tolerance=0.3)
claim.control.at_most("every triple at once: memory quadratic", naive_memory, 2.3)
claim.verdict()

# %%
claim = Claim("hyper-attention/hyper-attention-parameters")
claim.at_most("factors of rank d, order 3: exponent of the width", exponent(widths, factored), 2.3)
claim.printed.at_most("tensors of Definition 6.1, order 3: exponent of the width", exponent(widths, tensors), 2.3)
claim.verdict()

# %%
claim = Claim("hyper-attention/fewer-parameters")
claim.at_most("six features: entries of order 2 over those of product symbols", by_features[6][0], 0.01)
claim.at_most("six features: operations of order 2 over those of product symbols", by_features[6][1], 0.1)
claim.control.at_most("one feature: entries of order 2 over those of product symbols", by_features[1][0], 0.01)
claim.printed.at_most("HyperAttention, order 3: operations over those of self-attention", order_3_ratio, 1)
claim.verdict()

# %% [markdown]
# ## What to remember
# - We reproduce all six exponents in the table.
# - Linear HyperFeatureAttention takes linear time, but its cost contains a power of the width.
# - Order 3 takes cubic time but, in blocks, only quadratic memory.
#
# ## Exercises
#
# 1. *By hand.* A head has 16 features. How many Kronecker features do 2 and 4 factors give?
#    <details><summary>Solution</summary>
#
#    They give $8^2=64$ and $4^4=256$ features, whereas linear self-attention has 16.
#
#    </details>
# 2. *Predict, then run.* Set `factors = 4`. What happens to the exponents, and to the hidden factor at width 32?
#    <details><summary>Solution</summary>
#
#    The exponents do not change. The hidden factor is $8^4/32=128$, compared with $16^2/32=8$ for two factors.
#
#    </details>
#
# Back: [Table 1](table_1_language_model.ipynb), which compares what these layers learn.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 2 · Attention as a sum over pairs
# *Ustaomeroglu, Qu: Section 2; Eqs. 1 and 2.*
#
# What does a token receive from the other tokens in its sequence? In attention without a softmax, it receives a sum in
# which each term depends on one pair of tokens. Once we understand this sum, we can ask what a layer represents and
# what training finds.

# %%
import math

import torch

from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    counts,
    outputs_from_counts,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention, softmax_attention
from attention_theory.layers import attention_weights
from attention_theory.measure import matrix_operations
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
length = 12  # tokens in a sequence, from 2 to 200
width = 8  # d, from 2 to 200
inner = 4  # d_k, from 2 to 200
features = 3  # d_2, from 1 to 100
size = 7  # symbols, from 2 to 200
samples = 50  # sequences tried, from 1 to 10000
seed = 0  # of every draw, at least 0

# %%
require(length=(length, 2, 200), width=(width, 2, 200), inner=(inner, 2, 200), features=(features, 1, 100))
require(size=(size, 2, 200), samples=(samples, 1, 10_000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Our sequence is *a b a*. The table gives the strength with which one symbol acts on another. Each *a* sends the number
# 1, and each *b* sends 10.
#
# | acts on | *a* acts | *b* acts |
# | --- | --- | --- |
# | *a* | 1 | 2 |
# | *b* | 3 | 0 |

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["a", "b", "a"], at=(4.4, 0.9), lit=[0], step=3.0)
(x, y), *others = tops
schematic.arrow(axis, (x - 0.9, y), (x + 0.1, y), bend=1.4)
for other, bend in zip(others, (0.25, 0.4), strict=True):
    schematic.arrow(axis, other, (x + 0.3, y), bend=-bend)
for (across, _), words in zip(tops, ("1 · 1 = 1", "2 · 10 = 20", "1 · 1 = 1"), strict=True):
    schematic.text(axis, (across, 0.45), words, size=9)
schematic.text(axis, (2.0, 1.35), "1 + 20 + 1 = 22", schematic.BLUE)
show.figure(
    fig,
    name="pairs",
    caption="What the first token receives from each token, itself included: the strength times the number sent.",
    alt="Three boxes a, b, a. Arrows lead to the first one: from the b with 2 times 10, from the second a with 1 "
    "times 1, and from the first a itself with 1 times 1. The sum is 22.",
)

# %% [markdown]
# The first token receives 22. The order of the tokens does not matter: we need to know only that there are two *a*s and
# one *b*. A token also acts on itself.
#
# ## The paper states
# In the linear layer we write $C$ for $W^QW^{K\top}/\sqrt{d_k}$. The symbol at position $i$ is $\mathcal X(i)$.
#
# <!-- claim hyper-attention/definition-softmax-attention -->
# <blockquote>
#
# **Softmax self-attention (Self-attention with softmax)** *Section 2*
#
# **The paper states.** For a sequence of $L$ input tokens represented as a matrix $X \in \mathbb R^{L \times d}$, the
# self-attention is defined as $\mathrm{SA}^\sigma(X) = \sigma\bigl(X W^Q (X W^K)^\top / \sqrt{d_k}\bigr)\, X W^V$,
# where $W^Q, W^K, W^V \in \mathbb R^{d \times d_k}$ are the learnable projection matrices. The function $\sigma$ has
# been predominantly implemented as a row-wise softmax operation.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/definition-linear-attention -->
# <blockquote>
#
# **Eq. 1 (Linear self-attention)** *Section 2, Eq. 1; Appendix B, Eq. 7*
#
# **The paper states.** Linear self-attention mechanisms reduce the computational complexity of self-attention from
# $\mathcal O(L^2)$ to $\mathcal O(L)$. Linear self-attention simplifies the attention by omitting the $\sigma$
# operation, resulting in $\mathrm{SA}^{\mathrm{lin}}(X) = (X C X^\top)\, X W^V$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With $C \in \mathbb R^{d \times d}$ and $W^V \in \mathbb R^{d \times d_2}$ the layer has $d^2 +
# d\,d_2$ parameters. The cost is linear in $L$ if we multiply from right to left.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/definition-pairwise-interaction -->
# <blockquote>
#
# **Eq. 2 (Aggregate pairwise interaction)** *Section 3, Eq. 2; Appendix B, Eq. 8*
#
# **The paper states.** Let $f(\alpha, \beta)$ measure how strongly entity $\beta$ affects entity $\alpha$, and let
# $w_\beta$ represent how that influence is expressed. The aggregated effect on the $i$-th entity, from all other
# entities, is $y_{\mathcal X(i)} = \sum_{j \in [L]} f(\mathcal X(i), \mathcal X(j))\, w_{\mathcal X(j)}$.
#
# <details><summary>Slips (1)</summary>
#
# - The words "from all other entities" exclude $j = i$, but the sum includes it. Equations 4, 13 and 18 follow the
#   words; the layers that the paper constructs follow the sum.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In row $i$ of $(XCX^\top)XW^V$ we add up, over all $j$, the score of tokens $i$ and $j$ times the value of token $j$.
# This is Eq. 2, where $f$ is the score and $w$ the value. If we multiply from right to left, as in
# $X(C(X^\top(XW^V)))$, we never form the $L\times L$ matrix of scores.
#
# ## See it run
# We count the operations for both orders of multiplication, at lengths from 64 to 4096.

# %%
draw = generator(seed)
tokens = normal(samples, length, width, seed=draw)
query, key = normal(2, width, inner, seed=draw)
value = normal(width, features, seed=draw)

layer = softmax_attention(tokens, query, key, value)
loop = torch.zeros_like(layer)
for n, sequence in enumerate(tokens):
    for i, token in enumerate(sequence):
        strengths = torch.stack([((token @ query) @ (other @ key) / math.sqrt(inner)).exp() for other in sequence])
        loop[n, i] = (strengths / strengths.sum()) @ (sequence @ value)
weights = attention_weights(inner**-0.5 * (tokens @ query) @ (tokens @ key).mT)
unscaled = attention_weights((tokens @ query) @ (tokens @ key).mT) @ (tokens @ value)

# %%
score = normal(width, width, seed=draw)
written_out = (tokens @ score @ tokens.mT) @ (tokens @ value)
fast = linear_attention(tokens, score, value)
with_softmax = (tokens @ score @ tokens.mT).softmax(dim=-1) @ (tokens @ value)

# %%
lengths = [2**k for k in range(6, 13)]
operations = {"right to left": [], "scores written out": []}
for many in lengths:
    long = torch.zeros(many, width, device="meta")
    small_score, small_value = score.float().to("meta"), value.float().to("meta")
    operations["right to left"].append(matrix_operations(lambda: linear_attention(long, small_score, small_value)))  # noqa: B023
    operations["scores written out"].append(
        matrix_operations(lambda: (long @ small_score @ long.mT) @ (long @ small_value))  # noqa: B023
    )
slopes = {
    name: math.log(values[-1] / values[0]) / math.log(lengths[-1] / lengths[0]) for name, values in operations.items()
}

# %%
fig, axis = show.axes(width=5.5)
for (name, values), marker in zip(operations.items(), show.MARKERS, strict=False):
    axis.loglog(lengths, values, marker=marker, label=f"{name}: slope {slopes[name]:.2f}")
axis.set_xlabel("tokens L")
axis.set_ylabel("operations")
axis.legend()
show.figure(
    fig,
    name="operations",
    caption="The number of multiplications and additions. From right to left, it grows roughly in proportion to the "
    "number of tokens; with the scores written out, it grows roughly as the square.",
    alt="Two lines on logarithmic axes. The line for products from right to left has a slope of about one, the "
    "other a slope of about two.",
)

# %% [markdown]
# Multiplied from right to left, the layer costs roughly in proportion to the length; with the scores written out, to
# its square.

# %%
effect = normal(size, size, seed=draw)
directions = normal(size, features, seed=draw)
symbols = sample_sequences(samples, length, size, draw)

double_sum = torch.zeros(samples, length, features, dtype=torch.float64)
for n, sequence in enumerate(symbols.tolist()):
    for i, mine in enumerate(sequence):
        for other in sequence:
            double_sum[n, i] += effect[mine, other] * directions[other]
by_counts = outputs_from_counts(symbols, effect[..., None] * directions)
without_self = aggregate_interactions(symbols, effect, directions, self_term=False)
self_term = effect.diagonal()[symbols][..., None] * directions[symbols]

# %% [markdown]
# ## How we checked
# We compare each formula with a literal loop. The controls leave out the factor $1/\sqrt{d_k}$, add a softmax, or leave
# out $j=i$; each changes the output.

# %%
claim = Claim("hyper-attention/definition-softmax-attention")
claim.close("layer against the loop, relative error", layer, loop)
claim.close("row sums of the weights, largest distance from 1", weights.sum(dim=-1), 1, atol=1e-12)
claim.control.close("without the factor 1/sqrt(d_k)", unscaled, loop)
claim.verdict()

# %%
claim = Claim("hyper-attention/definition-linear-attention")
claim.close("both orders of the products, relative error", fast, written_out)
claim.at_most("slope of the operations in L", slopes["right to left"], 1.3)
claim.control.at_most("slope with the scores written out", slopes["scores written out"], 1.3)
claim.control.close("with a softmax on the scores, relative error", with_softmax, written_out)
claim.verdict()

# %%
claim = Claim("hyper-attention/definition-pairwise-interaction")
claim.close(
    "batched sum against the double loop, relative error",
    aggregate_interactions(symbols, effect, directions),
    double_sum,
)
claim.close("from the counts alone, relative error", by_counts, double_sum)
claim.equal("counts add up to the length", (counts(symbols, size).sum(dim=-1) - length).abs().max(), 0)
claim.close("leaving out j = i takes away f(a, a) w_a", without_self + self_term, double_sum)
claim.control.close("without the self term, relative error", without_self, double_sum)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The text says "from all other entities", but the sum contains $j=i$. [Definition
# 6.1](definition_6_1_hyper_attention.ipynb) compares the sums that the paper uses.
#
# ## What to remember
# - Attention without a softmax adds up what all tokens do to one token, itself included.
# - All that a token sees of the sequence is how often each symbol occurs.
# - If we multiply from right to left, the cost of the layer is linear in the length.
#
# ## Exercises
#
# 1. *By hand.* What do the tokens of *b b a* receive, with the strengths above?
#    <details><summary>Solution</summary>
#
#    There is one *a*, and there are two *b*. An *a* receives $1\cdot1 + 2\cdot(2\cdot10) = 41$, and each *b* receives
#    $3\cdot1 + 2\cdot(0\cdot10) = 3$.
#
#    </details>
# 2. *Predict, then run.* Set `width = 64` and `features = 64`. Which of the two slopes falls further?
#    <details><summary>Solution</summary>
#
#    The slope with the scores written out. It falls from 1.97 to 1.84, because at short lengths the products with $C$
#    and $W^V$, whose cost grows only linearly, cost as much as the products that form and use the scores. The other
#    slope falls from 0.99 to 0.93.
#
#    </details>
#
# Next: [Theorem 3.1](theorem_3_1_representation.ipynb). Which tables of strengths can a layer represent?

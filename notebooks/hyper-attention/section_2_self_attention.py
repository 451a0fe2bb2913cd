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
# The paper looks at a sequence of tokens as a crowd: token $j$ acts on token $i$ with a strength $f$ that depends on
# what the two are, and the action of $j$ has a direction $w$. The sum over $j$ is what an attention layer without a
# softmax computes. This page fixes three objects, each against a literal loop: attention with the softmax, attention
# without it, and the sum.
#
# Two things are worth noting. Without the softmax the products can be taken from the right, and the cost falls from
# quadratic to linear in the number of tokens. And the sum over $j$ holds $j = i$: a token acts on itself, though the
# paper's text speaks of "all other entities". That detail comes back, with numbers, in the pages on the colliding
# agents.

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
# ## With softmax
#
# <!-- claim hyper-attention/definition-softmax-attention -->
# <blockquote>
#
# **Softmax self-attention (Self-attention with softmax)** *Section 2*
#
# For tokens $X \in \mathbb R^{L \times d}$ as rows and $W^Q, W^K, W^V \in \mathbb R^{d \times d_k}$,
# $\mathrm{SA}^\sigma(X) = \sigma\bigl(X W^Q (X W^K)^\top / \sqrt{d_k}\bigr)\, X W^V$ with $\sigma$ the softmax of each
# row.
#
# </blockquote>
# <!-- /claim -->
#
# The layer is compared with a loop over the rows, which forms the weights one by one.

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

# %% [markdown]
# Without the factor $1/\sqrt{d_k}$ the output must be another.

# %%
claim = Claim("hyper-attention/definition-softmax-attention")
claim.close("layer against the loop, relative error", layer, loop)
claim.close("row sums of the weights, largest distance from 1", weights.sum(dim=-1), 1, atol=1e-12)
claim.control.close("without the factor 1/sqrt(d_k)", unscaled, loop)
claim.verdict()

# %% [markdown]
# ## Without softmax
#
# <!-- claim hyper-attention/definition-linear-attention -->
# <blockquote>
#
# **Eq. 1 (Linear self-attention)** *Section 2, Eq. 1; Appendix B, Eq. 7*
#
# $\mathrm{SA}^{\mathrm{lin}}(X) = (X C X^\top)\, X W^V$ with $C \in \mathbb R^{d \times d}$ and $W^V \in \mathbb R^{d
# \times d_2}$: $d^2 + d\,d_2$ parameters, and a cost linear in $L$ when the products are taken from the right.
#
# </blockquote>
# <!-- /claim -->
#
# The scores of the layer with a softmax have the same form, with $C = W^Q (W^K)^\top / \sqrt{d_k}$: what is left out is
# the softmax alone. $(X C X^\top) X W^V$ and $X (C (X^\top (X W^V)))$ are the same numbers. The second order never
# forms the $L \times L$ scores. The operations are counted, not timed, so the slopes below are the same on every
# machine.

# %%
score = normal(width, width, seed=draw)
written_out = (tokens @ score @ tokens.mT) @ (tokens @ value)
fast = linear_attention(tokens, score, value)
with_softmax = (tokens @ score @ tokens.mT).softmax(dim=-1) @ (tokens @ value)

# %% [markdown]
# The operations of both orders, at lengths from 64 to 4096. No numbers are multiplied for this: the products are
# counted by their shapes.

# %%
lengths = [2**k for k in range(6, 13)]
operations = {"from the right": [], "scores written out": []}
for many in lengths:
    long = torch.zeros(many, width, device="meta")
    small_score, small_value = score.float().to("meta"), value.float().to("meta")
    operations["from the right"].append(matrix_operations(lambda: linear_attention(long, small_score, small_value)))  # noqa: B023
    operations["scores written out"].append(
        matrix_operations(lambda: (long @ small_score @ long.mT) @ (long @ small_value))  # noqa: B023
    )
slopes = {
    name: math.log(values[-1] / values[0]) / math.log(lengths[-1] / lengths[0]) for name, values in operations.items()
}

# %% [markdown]
# The slopes in the legend are those of the whole range. They are a little below 1 and 2: from the right the product
# with $C$ costs the same at every length, and where the scores are written out, two products grow with $L$ alone.

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
    caption="Counted multiplications and additions. From the right the cost grows about in proportion to the tokens, "
    "with the scores written out about as their square.",
    alt="Two lines on double logarithmic axes. The one for products from the right has a slope of about one, the other "
    "of about two.",
)

# %% [markdown]
# A softmax on the scores must change the output, and scores written out must not have the lower slope.

# %%
claim = Claim("hyper-attention/definition-linear-attention")
claim.close("both orders of the products, relative error", fast, written_out)
claim.at_most("slope of the operations in L", slopes["from the right"], 1.3)
claim.control.at_most("slope with the scores written out", slopes["scores written out"], 1.3)
claim.control.close("with a softmax on the scores, relative error", with_softmax, written_out)
claim.verdict()

# %% [markdown]
# ## The sum over pairs
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
# - The words "from all other entities" leave out $j = i$, and the sum includes it. Equations 4, 13 and 18 follow the
#   words, and the layers that the paper builds follow the sum.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# Beside the token's own symbol only the counts $s$ enter the sum, where $s_\nu$ says how often $\nu$ comes in the
# sequence: row $i$ is $\sum_\nu s_\nu f(\mathcal X(i), \nu)\, w_\nu$. So the order of the others does not matter, and
# all that the paper proves about training is about these counts.

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
# The sum without $j = i$ must differ, by exactly $f(\alpha, \alpha) w_\alpha$.

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
# ## What was learned
# Attention without softmax adds up what all tokens do to one, itself included, and all that this one sees of the
# sequence is how often each symbol comes. Taken from the right its products never form the scores, and the cost falls
# to the first power of the length. The first remark carries the chapter's theory, the second comes back with the cost
# of the paper's new layers.
#
# ## To try
# - Set `length = 2`: all three objects still agree with their loops to rounding.
# - Set `width = 64` and `features = 64`: the slope for the scores written out falls further below 2, since at short
#   lengths the products with $C$ cost as much as those of length by length.

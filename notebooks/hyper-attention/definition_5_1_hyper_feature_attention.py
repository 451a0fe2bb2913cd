# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definition 5.1 · Products of interactions: HyperFeatureAttention
# *Ustaomeroglu, Qu: Eqs. 3, 35 and 36, Definition 5.1, Section 5 and Appendix F.2.*
#
# A hunter catches its prey if the species differ **and** the two are in the same row. Self-attention can express this
# "and" only if every combination of species and row is a separate symbol, and the number of combinations explodes.
# HyperFeatureAttention multiplies scores instead. What do we gain, and how many parameters do we save?

# %%
import math
from itertools import pairwise

import torch

from attention_theory.hyper_attention.certified.pairs import certify_feature_layer
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.hyper_feature_attention import (
    linear_hyper_feature_attention,
    score_features,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    CoupledHead,
    Factor,
    Weight,
    block_parameters,
    coupled_interaction,
    embed_features,
    layer_of,
    product_symbols,
    product_tables,
)
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
sizes = [2, 3, 4]  # values of each feature, each from 2 to 50
heads = 3  # heads of the target, from 1 to 20
order = 3  # factors of a head, from 2 to 5
sequences = 50  # random sequences, from 1 to 500
tokens = 8  # entities in a sequence, from 2 to 200
most_features = 6  # features M in the count, from 4 to 12
feature_size = 4  # values of each feature in the count, from 2 to 100
seed = 0  # of every draw, at least 0

# %%
require(sizes=(Each(sizes), 2, 50), heads=(heads, 1, 20), order=(order, 2, 5), sequences=(sequences, 1, 500))
require(product_of_sizes=(math.prod(sizes), 4, 3000), sum_of_sizes_to_the_order=(sum(sizes) ** order, 4, 10**5))
require(tokens=(tokens, 2, 200), most_features=(most_features, 4, 12), feature_size=(feature_size, 2, 100))
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Our sequence is a small circle, a small square and a large circle. We want each token to find the tokens of the same
# size *and* the same shape. One score compares sizes; another compares shapes.

# %%
size_scores = torch.tensor([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
shape_scores = torch.tensor([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
fig, axis = schematic.canvas(7.0, 1.9)
parts = {
    "same size": (0.8, size_scores),
    "same shape": (3.8, shape_scores),
    "entrywise product": (6.8, size_scores * shape_scores),
    "matrix product": (10.8, (size_scores @ shape_scores).clamp(max=1)),
}
for name, (x, values) in parts.items():
    schematic.matrix(axis, values.tolist(), (x, 1.1), cell=0.6, words=name)
for x, sign in ((3.2, "⊙"), (6.2, "="), (9.7, "not")):
    schematic.text(axis, (x, 2.0), sign, size=12)
show.figure(
    fig,
    name="products",
    caption="Scores between the three tokens, one row per token. Filled cells are 1, empty cells 0.",
    alt="Four square tables of three by three cells. The entrywise product of the first two is the identity; their "
    "matrix product is filled except for one cell.",
)

# %% [markdown]
# We see that the entrywise product links each token only to itself, as it should. The ordinary matrix product links
# almost all pairs.
#
# ## The paper states
# An entity is a token with $M$ features. The set $\mathcal S_\phi$ contains the values of feature $\phi$; $\ell$ and
# $r$ are two particular features.
#
# <!-- claim hyper-attention/definition-coupled-interaction -->
# <blockquote>
#
# **Coupled interaction target (Products of interactions between features)** *Section 5, Eq. 3; Appendix F.1, Eqs. 35
# and 36*
#
# **The paper states.** It is natural to have the value function of the form $V_i = \sum_{j \in [L]} \bigl(\prod_{a}
# f_a(\phi_{a,i}, \theta_{a,j})\bigr) \bigl(\prod_{a} w_a(\gamma_{a,j})\bigr)$, where $\phi_{a,i}, \theta_{a,j},
# \gamma_{a,j}$ are the corresponding features picked depending on the scenario and $f_a, w_a$ are some functions from
# features to real numbers.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** A sum of such heads is an aggregate pairwise interaction of the combined features. Equation 35
# also gives the weight the features of $i$, which are superfluous.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/definition-5-1 -->
# <blockquote>
#
# **Definition 5.1 (Linear HyperFeatureAttention, misprinted in Appendix F.2 only)** *Section 5; Appendix F.2*
#
# **The paper states.** $\mathrm{HFA}^{\mathrm{lin}}(X) = \bigl(\prod^{\odot}_{a \in [A]} X C^{(a)} X^\top\bigr)
# \bigl(\prod^{\odot}_{a \in [A]} X W^{V,(a)}\bigr)$, where $\prod^{\odot}$ is Hadamard (element-wise) product between
# the matrices, and $C^{(a)}, W^{V,(a)} \in \mathbb R^{d \times d}$.
#
# **What is true.** Both products are entrywise, as in Definition 5.1.
#
# **What changed.** Appendix F.2 alone writes the same layer with ordinary products. Read literally, they multiply the
# score matrices, which mixes entities.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** One head on concatenated one-hots equals one head of the target of Eq. 3. Order 1 is linear
# attention.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-hfa-counts -->
# <blockquote>
#
# **Section 5 (How many parameters products of features need)** *Section 5; Appendix F.2*
#
# **The paper states.** If there are $M$ features, self-attention would require embedding dimension and number of
# parameters in $\Theta(\exp(M))$, while defining attention for individual $f_a$'s only require $\Theta(M)$. Linear
# HyperFeatureAttention requires only $\Theta(M)$ embedding dimension and parameters to express (3).
#
# **What is true.** The embedding has $\sum_\phi |\mathcal S_\phi|$ dimensions instead of $\prod_\phi |\mathcal
# S_\phi|$. The tables of the factors have $\Theta(M)$ entries, and the dense score matrices of $A$ factors $\Theta(A
# M^2)$. Self-attention on product symbols needs a number exponential in $M$.
#
# **What changed.** The score matrices of Definition 5.1 are as wide as the embedding, so $\Theta(M)$ is only the number
# of their nonzero entries, as in the tables of Appendix F.1.
#
# <details><summary>Slips (1)</summary>
#
# - For two features, the paper says that self-attention requires $d = \Theta(|\mathcal S_\ell|^2 |\mathcal S_r|^2)$
#   parameters. This is the number of parameters, whereas $d = |\mathcal S_\ell| |\mathcal S_r|$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We write the one-hots of all features next to each other. A table over one feature of $i$ and one of $j$ then becomes
# a block of a score matrix $C^{(a)}$, and the entrywise product multiplies the entries of the tables.
#
# The layer is also ordinary linear attention on longer token vectors, because a product of inner products is an inner
# product of Kronecker products. For example, $(1,2)\otimes(3,4)=(3,4,6,8)$ and $(1,1)\otimes(1,0)=(1,0,1,0)$. The short
# vectors have the inner products $1+2=3$ and $3+0=3$, and the long ones $3+6=9=3\cdot3$.
#
# These blocks have $\Theta(M)$ entries in total. If we do not know which feature belongs to which factor, we need the
# whole matrices. Each is as wide as the embedding, $\Theta(M)$, so it has $\Theta(M^2)$ entries.
#
# <details><summary>Proof of Section 5, text: Θ(M) parameters and embedding dimension, as corrected</summary>
#
# Let $M$ features have $k$ values each. Side by side their one-hots have $d = kM$ entries, where one symbol for every
# combination takes $k^M$. A factor reads one feature of $i$ and one of $j$: a table of $k^2$ entries, and $Mk^2$ for
# $M$ factors. But the matrix $C^{(a)}$ in which the table is a block has $d^2 = k^2M^2$ entries, so that $A$ factors
# have $A k^2 M^2$; the values add $A\, k M d_2$. The scores of self-attention on combinations have $(k^M)^2$. $\square$
#
# </details>
#
# ## See it run
# We draw tables, weights and features of heads at random. We compute the same sum with plain attention on one symbol
# per combination.

# %%
draw = generator(seed)


def random_head() -> CoupledHead:
    picks = torch.randint(len(sizes), (3, order), generator=draw).tolist()
    factors = [Factor(at, of, normal(sizes[at], sizes[of], seed=draw)) for at, of in zip(*picks[:2], strict=True)]
    return CoupledHead(factors, [Weight(of, normal(sizes[of], seed=draw)) for of in picks[2]])


target = [random_head() for _ in range(heads)]
columns = [torch.randint(size, (sequences, tokens), generator=draw) for size in sizes]
entities = torch.stack(columns, dim=-1)
direct = coupled_interaction(entities, target)

# %%
symbols = product_symbols(entities, sizes)
tables = [product_tables(head, sizes) for head in target]
plain = sum(aggregate_interactions(symbols, effect, weight[:, None]) for effect, weight in tables)[..., 0]
at_i = coupled_interaction(entities, target, weights_at="i")

# %% [markdown]
# Next, we run the layer in both of the paper's forms. We also compute a dense layer by the definition and as linear
# attention on Kronecker products.

# %%
embedded = embed_features(entities, sizes)
layers = [layer_of(head, sizes) for head in target]
outputs = sum(linear_hyper_feature_attention(embedded, *layer) for layer in layers)[..., 0]
as_printed = sum(linear_hyper_feature_attention(embedded, *layer, form="printed") for layer in layers)[..., 0]

# %%
dense = normal(order, sum(sizes), sum(sizes), seed=draw)
values = normal(order, sum(sizes), 2, seed=draw)
by_definition = linear_hyper_feature_attention(embedded, dense, values)
queries = score_features([embedded @ score for score in dense])
keys = score_features([embedded] * order)
by_features = queries @ (keys.mT @ (embedded @ values[:, None]).prod(dim=0))
single = linear_hyper_feature_attention(embedded, dense[:1], values[:1])

# %% [markdown]
# Then we count the parameters of the scores, for $M$ features with one factor each.

# %%
features = range(1, most_features + 1)
unit = torch.eye(feature_size, dtype=torch.float64)
blocks = [block_parameters([CoupledHead([Factor(k, k, unit) for k in range(m)], [])]) for m in features]
dense_two = [2 * (feature_size * m) ** 2 for m in features]
dense_each = [m * (feature_size * m) ** 2 for m in features]
product = [feature_size ** (2 * m) for m in features]
counted = {
    "tables (non-zero blocks)": blocks,
    "dense, two factors": dense_two,
    "dense, one factor per feature": dense_each,
    "plain attention on product symbols": product,
}
show.table(["M", *counted], zip(features, *counted.values(), strict=True))

# %%
fig, axis = show.axes(height=3.4)
for (name, values_of), marker in zip(counted.items(), show.MARKERS, strict=False):
    axis.loglog(features, values_of, marker=marker, label=name)
axis.set(xlabel="features M", ylabel="score parameters", xticks=features, xticklabels=features)
axis.minorticks_off()
axis.legend(fontsize=8)
show.figure(
    fig,
    name="parameters-by-features",
    caption="Parameters of the scores against the number of features. The three straight lines are powers of $M$; "
    "the curve that bends upwards is exponential.",
    alt="Four curves on logarithmic axes. Tables, dense matrices with two factors and dense matrices with one "
    "factor per feature are straight lines with slopes of about one, two and three. Plain attention on product "
    "symbols bends upwards and ends far above.",
)

# %% [markdown]
# We see straight lines, which are powers of $M$, for tables and dense factors. Plain attention bends upwards, because
# its count is exponential.
#
# ## How we checked
# We compare the layer with the sum over tables. For two features of two values, we prove it for all tables. As
# controls, we leave out a head or a factor, or read the weights at $i$.

# %%
claim = Claim("hyper-attention/definition-coupled-interaction")
claim.close("one pair table on product symbols against the sum, error", plain, direct)
one_head = relative_error(coupled_interaction(entities, target[:-1]), direct)
claim.control.at_most("with the last head left out", one_head, 1e-12)
claim.control.close("weights read at i instead of j, error", at_i, direct)
claim.verdict()

# %%
claim = Claim("hyper-attention/definition-5-1")
claim.close("layer against the target, error", outputs, direct)
claim.close("random dense layer against Kronecker features, error", by_features, by_definition)
claim.close(
    "order 1 against linear attention, error", single, linear_attention(embedded, dense[0], values[0]), rtol=1e-14
)
claim.control.close("order 1 in place of the full order, error", single, by_definition)
claim.misprint.close("matrix products as printed in App. F.2, error", as_printed, direct)
claim.certified("two features of two values: all tables", certify_feature_layer())
claim.verdict()

# %% [markdown]
# A polynomial of degree $p$ has zero differences of order $p+1$; an exponential does not.


# %%
def differences(values: list[int], times: int) -> int:
    """The largest entry left after taking differences so many times: 0 for polynomials of lower degree."""
    for _ in range(times):
        values = [after - before for before, after in pairwise(values)]
    return max(map(abs, values))


# %%
made = {}
for m in range(1, 5):
    head = CoupledHead([Factor(k, k, torch.ones(2, 2)) for k in range(m)], [])
    made[f"dense, M = {m}"] = layer_of(head, [2] * m)[0].numel() - m * (2 * m) ** 2
    made[f"product symbols, M = {m}"] = product_tables(head, [2] * m)[0].numel() - 2 ** (2 * m)

# %%
claim = Claim("hyper-attention/remark-hfa-counts")
claim.equal("counts less the entries of tensors that were made, two values a feature", made, 0)
claim.equal("tables: second differences in M (linear)", differences(blocks, 2), 0)
claim.equal("dense, two factors: third differences (quadratic)", differences(dense_two, 3), 0)
claim.equal(
    "dense, a factor a feature: third differences of count / M (cubic)",
    differences([d // m for d, m in zip(dense_each, features, strict=True)], 3),
    0,
)
claim.true(
    "plain attention: ratio of neighbours is the squared size",
    {b // a for a, b in pairwise(product)} == {feature_size**2},
)
claim.control.equal("plain attention: third differences", differences(product, 3), 0)
claim.printed.equal("dense parameters linear in M: second differences", differences(dense_two, 2), 0)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The paper says that the layer needs $\Theta(M)$ parameters. This is true of the tables of Appendix F.1, but not of the
# dense matrices in Definition 5.1. Even dense matrices need far fewer parameters than plain attention.
#
# ## What to remember
# - HyperFeatureAttention multiplies scores entry by entry, so it can require two conditions at once.
# - The embedding needs the *sum* of the features' sizes. Plain attention needs their *product*.
# - The number of parameters grows as $M$ for tables, as $M^2$ for two dense factors, and exponentially for plain
#   attention.
#
# ## Exercises
#
# 1. *By hand.* Four features have three values each. How many dimensions do this layer and plain attention need?
#    <details><summary>Solution</summary>
#
#    It has $4\cdot3=12$ dimensions, whereas plain attention needs $3^4=81$.
#
#    </details>
# 2. *Predict, then run.* Set `feature_size = 10`. How many score parameters do tables, two dense factors and plain
#    attention have for two features?
#    <details><summary>Solution</summary>
#
#    Tables have $2\cdot10^2=200$, two dense factors have $2\cdot20^2=800$, and plain attention has $100^2=10{,}000$.
#
#    </details>
#
# Next: [Appendix G.2.1](skip_trigram.ipynb). Some tasks need three tokens rather than several features.

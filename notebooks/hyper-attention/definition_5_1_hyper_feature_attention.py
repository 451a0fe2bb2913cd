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
# Entities often come in features: a species, a colour, a coordinate. What one entity does to another can then be a
# *product*: it matters that the species differ **and** that the rows agree. Self-attention has one score for each pair
# of entities, so it can only express such a product if every combination of values gets a symbol of its own. Their
# number is the product of the features' sizes.
#
# HyperFeatureAttention computes several score matrices and multiplies them entry by entry. The one-hots of the features
# stand side by side, so the width is the *sum* of the sizes.

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
# ## The target
# What is to be computed adds up over heads $h$ and over the entities $j$ that are looked at. For each factor a head
# picks a feature $\phi$ of the entity $i$ that looks and a feature $\theta$ of $j$ and reads a table $f^h_a$ at the
# pair; it multiplies what the tables say, and weighs $j$ by further tables $w^h_a$, each of them read at a feature
# $\gamma$ of $j$.
#
# <!-- claim hyper-attention/definition-coupled-interaction -->
# <blockquote>
#
# **Coupled interaction target (Products of interactions between features)** *Section 5, Eq. 3; Appendix F.1, Eqs. 35
# and 36*
#
# Entities are made of features. The target sums over heads $h$ and entities $j$ a product of factors and a product of
# weights, $V_i = \sum_h \sum_j \bigl(\prod_a f^h_a(\phi^h_{a,i}, \theta^h_{a,j})\bigr) \bigl(\prod_a
# w^h_a(\gamma^h_{a,j})\bigr)$, where $\phi, \theta$ and $\gamma$ are features picked for each factor. It is an
# aggregate pairwise interaction of the combined features. (Equation 35 gives the weight $w$ the features of $i$ as well
# as those of $j$. The former are superfluous.)
#
# </blockquote>
# <!-- /claim -->
#
# Here heads are random: tables and weights are drawn, and the features that they read are picked at random.

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

# %% [markdown]
# Plain attention can do it on one symbol for every combination of values: a pair function and a weight are all that
# Theorem 3.1 needs. Equation 35 gives the weight the indices of $i$ as well as those of $j$. Those of $i$ are
# superfluous, and Eqs. 3 and 36 do without them. A weight read at $i$ alone would be another function.

# %%
symbols = product_symbols(entities, sizes)
tables = [product_tables(head, sizes) for head in target]
plain = sum(aggregate_interactions(symbols, effect, weight[:, None]) for effect, weight in tables)[..., 0]
at_i = coupled_interaction(entities, target, weights_at="i")

# %% [markdown]
# With a head left out, or weights read at $i$, the sum must be another.

# %%
claim = Claim("hyper-attention/definition-coupled-interaction")
claim.close("one pair table on product symbols against the sum, error", plain, direct)
one_head = relative_error(coupled_interaction(entities, target[:-1]), direct)
claim.control.at_most("with the last head left out", one_head, 1e-12)
claim.control.close("weights read at i instead of j, error", at_i, direct)
claim.verdict()

# %% [markdown]
# ## The layer
# The rows of $X$ are the entities, each with the one-hots of its features side by side. A table then becomes a block of
# a score matrix $C^{(a)}$, one for each factor $a$, and a table of weights becomes the entries of a value matrix
# $W^{V,(a)}$. The sign $\odot$ is the entrywise product.
#
# <!-- claim hyper-attention/definition-5-1 -->
# <blockquote>
#
# **Definition 5.1 (Linear HyperFeatureAttention, misprinted in Appendix F.2 only)** *Section 5; Appendix F.2*
#
# **As printed.** In Appendix F.2 alone: the same layer is written with ordinary products, of matrices.
#
# **Corrected.** Linear HyperFeatureAttention of order $A$ is $\bigl(\bigodot_{a} X C^{(a)} X^\top\bigr)
# \bigl(\bigodot_{a} X W^{V,(a)}\bigr)$ with entrywise products. One head on concatenated one-hots equals one head of
# the target of Eq. 3; order 1 is linear attention.
#
# Both products are entrywise, as in Definition 5.1, which is right where it stands.
#
# </blockquote>
# <!-- /claim -->
#
# Three ways must lead to the same outputs: the definition; ordinary linear attention on rows whose inner products are
# the products of the factors' (a row-by-row Kronecker product); the sum over tables. For example, the rows $(1,2)$ and
# $(3,4)$ of two factors become $(1,2)\otimes(3,4)=(3,4,6,8)$, and $(1,1)$ and $(1,0)$ become $(1,0,1,0)$. The factors
# have the inner products $1+2=3$ and $3+0=3$, and the long rows have $3+6=9$, which is $3\cdot3$.
#
# Appendix F.2 writes the layer with plain product signs and a small $x$, where Definition 5.1 has the sign of the
# entrywise product. Taken at its word it multiplies the score matrices as *matrices*, which mixes entities and is
# another function.

# %%
embedded = embed_features(entities, sizes)
layers = [layer_of(head, sizes) for head in target]
outputs = sum(linear_hyper_feature_attention(embedded, *layer) for layer in layers)[..., 0]
as_printed = sum(linear_hyper_feature_attention(embedded, *layer, form="printed") for layer in layers)[..., 0]

# %% [markdown]
# A dense layer with random weights, by the definition and on Kronecker features.

# %%
dense = normal(order, sum(sizes), sum(sizes), seed=draw)
values = normal(order, sum(sizes), 2, seed=draw)
by_definition = linear_hyper_feature_attention(embedded, dense, values)
queries = score_features([embedded @ score for score in dense])
keys = score_features([embedded] * order)
by_features = queries @ (keys.mT @ (embedded @ values[:, None]).prod(dim=0))
single = linear_hyper_feature_attention(embedded, dense[:1], values[:1])

# %% [markdown]
# Fewer factors must differ, and so must matrix products. For two features of two values, we also try all unit tables,
# which make all tables because both sides are linear in each of them.

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
# ## What it costs
#
# <!-- claim hyper-attention/remark-hfa-counts -->
# <blockquote>
#
# **Section 5 text (How many parameters products of features take)** *Section 5; Appendix F.2*
#
# **As printed.** HyperFeatureAttention requires only $\Theta(M)$ parameters. (For two features, self-attention requires
# $d = \Theta(|\mathcal S_\ell|^2 |\mathcal S_r|^2)$.) That is right of the construction of Appendix F.1, with score
# matrices of $|\mathcal S_\phi| \times |\mathcal S_\phi|$; it is said of the layer of Definition 5.1, whose score
# matrices are as wide as the embedding.
#
# **Corrected.** For $M$ features the embedding has $\sum_\phi |\mathcal S_\phi|$ dimensions in place of $\prod_\phi
# |\mathcal S_\phi|$. The tables of the factors have $\Theta(M)$ entries; dense score matrices have $\Theta(A M^2)$ for
# $A$ factors; self-attention on product symbols needs a number exponential in $M$.
#
# So many are not zero. A dense layer of $A$ factors has $A (d^2 + d\, d_2)$ with $d = \Theta(M)$. (That is its number
# of parameters; $d = |\mathcal S_\ell| |\mathcal S_r|$.)
#
# </blockquote>
# <!-- /claim -->
#
# $M$ features of the same size, one factor for each. Three counts of *score* parameters: the tables themselves, that is
# the blocks of the score matrices that are not zero; all entries of the score matrices; and the score matrix of plain
# attention on product symbols. With one feature and one factor they are one layer, and agree. Values come on top,
# $d\,d_2$ for each value matrix of width $d$.
#
# The paper says that HyperFeatureAttention needs $\Theta(M)$ parameters. That is so for the tables, and of its own
# construction in Appendix F.1, which gives each factor a score matrix of $|\mathcal S_\phi| \times |\mathcal S_\phi|$
# on the one-hots of its feature alone. It is not so of the layer that Definition 5.1 has, where every score matrix is
# as wide as the whole embedding. A layer that is not told which feature goes with which factor has dense matrices of
# width $d = \sum_\phi |\mathcal S_\phi|$: with a fixed number of factors their entries grow as $M^2$, with a factor for
# each feature as $M^3$. Still nothing against the exponential of plain attention.
#
# <details><summary>Proof of Section 5 text: Θ(M) parameters and embedding dimension, as corrected</summary>
#
# Let $M$ features have $k$ values each. Side by side their one-hots have $d = kM$ entries, where one symbol for every
# combination takes $k^M$. A factor reads one feature of $i$ and one of $j$: a table of $k^2$ entries, and $Mk^2$ for
# $M$ factors. But the matrix $C^{(a)}$ in which the table is a block has $d^2 = k^2M^2$ entries, so that $A$ factors
# have $A k^2 M^2$; the values add $A\, k M d_2$. The scores of self-attention on combinations have $(k^M)^2$. $\square$
#
# </details>
#
# The counts are held against the tensors that are made, for up to four features.

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
    "dense, a factor a feature": dense_each,
    "plain attention on product symbols": product,
}
show.table(["M", *counted], zip(features, *counted.values(), strict=True))

# %% [markdown]
# On logarithmic axes powers of $M$ are straight.

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
    caption="Parameters of the scores against the number of features. Three straight lines are powers of $M$; the "
    "bent one is exponential.",
    alt="Four curves on logarithmic axes. Tables, dense with two factors and dense with a factor for each feature are "
    "straight lines of slopes about one, two and three; plain attention on product symbols bends upwards, far above.",
)


# %%
def differences(values: list[int], times: int) -> int:
    """The largest entry left after taking differences so many times: 0 for polynomials of lower degree."""
    for _ in range(times):
        values = [after - before for before, after in pairwise(values)]
    return max(map(abs, values))


# %% [markdown]
# Every score matrix and every table on product symbols is made and counted.

# %%
made = {}
for m in range(1, 5):
    head = CoupledHead([Factor(k, k, torch.ones(2, 2)) for k in range(m)], [])
    made[f"dense, M = {m}"] = layer_of(head, [2] * m)[0].numel() - m * (2 * m) ** 2
    made[f"product symbols, M = {m}"] = product_tables(head, [2] * m)[0].numel() - 2 ** (2 * m)

# %% [markdown]
# A polynomial of degree $p$ has zero differences of order $p + 1$; the exponential has not.

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
# ## What was learned
# A product of scores reads features that stand side by side, where one score would need a symbol for every combination
# of their values. The tables it needs are linear in the number of features. Dense matrices, which are what is trained,
# are quadratic or cubic, and still nothing against the exponential.
#
# ## To try
# - Set `order = 4`: four factors a head, and all forms still agree to rounding.
# - Set `most_features = 8`: the curve of plain attention bends further away from the straight lines.

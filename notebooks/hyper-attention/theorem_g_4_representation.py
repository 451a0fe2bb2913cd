# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem G.4 · One layer represents every interaction of n bodies
# *Ustaomeroglu, Qu: Theorem G.4, Appendix G.2.*
#
# Three tokens may have an effect that no two of them have. Self-attention represents every sum over pairs of tokens
# ([Theorem 3.1](theorem_3_1_representation.ipynb)). Does HyperAttention do the same for larger groups? It does if the
# layer sums over the same groups as the interaction.

# %%
from itertools import permutations, product

import torch

from attention_theory.hyper_attention.certified.tuples import certify_tuple_representation
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    factors_of,
    linear_hyper_attention,
    shared_factors_of,
    tuple_features,
)
from attention_theory.hyper_attention.layers.linear_sums import linear_pair_sum
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 3  # symbols |S|, from 2 to 6
lengths = [3, 4, 5, 6, 7, 8]  # sequence lengths, each from 2 to 20
sequences = 150  # random sequences of each length, from 50 to 5000
looped = 4  # sequences of each length whose sum is written out tuple by tuple, from 1 to 50
orders = [2, 3, 4]  # orders n for the full tensors, each from 2 to 4, one above 2
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 6), lengths=(Each(lengths), 2, 20), number_of_lengths=(len(lengths), 2, None))
require(sequences=(sequences, 50, 5000), orders=(Each(orders), 2, 4), seed=(seed, 0, None))
require(looped=(looped, 1, 50), largest_order=(max(orders), 3, 4))

# %% [markdown]
# ## A tiny example
# A sequence contains only one symbol, and every pair $(j_1,j_2)$ contributes 1. We count all pairs, and the ordered
# pairs with $j_1\le j_2$.

# %%
show.table(
    ["tokens", "all pairs", "ordered pairs", "ratio"],
    [[length, length**2, length * (length + 1) // 2, 2 * length / (length + 1)] for length in (1, 2, 3)],
    caption="Pairs in a sequence of one symbol.",
)

# %% [markdown]
# For two tokens, a factor of 4/3 turns the ordered count into the full one; for three tokens, 3/2 does. No factor suits
# both.
#
# ## The paper states
# <!-- claim hyper-attention/theorem-g-4 -->
# <blockquote>
#
# **Theorem G.4 (HyperAttention represents every n-body interaction)** *Appendix G.2*
#
# **The paper states.** A single layer of order $n$ linear HyperAttention (without parameter sharing), with embedding
# dimension $d=|\mathcal S|$, can represent any function of the form $\mathbf
# F_i=\sum_{j_1,\dots,j_{n-1}\in[L]}f(\mathcal X(i),\mathcal X(j_1),\dots,\mathcal
# X(j_{n-1}))w_{s(j_1),\dots,s(j_{n-1})}$. The parameter-sharing variant can express the same class of functions
# provided that $w$ is fully symmetric and $f$ is symmetric in its last $n-1$ arguments.
#
# **What is true.** This is true of a layer that sums over all tuples, as the theorem does. A layer with an ordered sum,
# as in Definitions 6.1 and G.1, can represent the full sum at any single length if there is one output. With two
# outputs, some full sums are out of its reach at every length of three or more tokens.
#
# **What changed.** The layers of the paper sum over ordered tuples, but the theorem sums over all tuples. The argument
# of Theorem 3.1 works only if both sums are the same.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The layer is exact at all lengths at once, and factors of rank $R=d^{\,n-1}$ are enough. At
# order 3, one of the two symmetries is enough for sharing, and with one output neither is needed.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We give each symbol a separate dimension. A layer of order $n$ has a tensor $C$ with $n$ axes for the scores of
# tuples, and a tensor $W$ for their values. If we set $C=f$ and $W=w$, the layer *is* the interaction, term by term.
#
# A network builds the tensors from *factors* of rank $R$: $C$ is a sum of $R$ terms, each a product of one query and
# $n-1$ keys. Rank $d^{\,n-1}$ suffices, with one term per tuple of symbols. If the keys are shared, $C$ is symmetric in
# their axes. A product of two different keys then becomes a difference of squares. For two symbols,
#
# $$\begin{pmatrix}0&1\\1&0\end{pmatrix}=\tfrac12\begin{pmatrix}1&1\\1&1\end{pmatrix}
# -\tfrac12\begin{pmatrix}1&-1\\-1&1\end{pmatrix}.$$
#
# <details><summary>Proof of Theorem G.4, as corrected</summary>
#
# *The full sum.* Let $B$ be orthonormal, $C_{z_0 z_1 \dots} = \sum f(\alpha_0, \alpha_1, \dots)\, B_{\alpha_0 z_0}
# B_{\alpha_1 z_1} \cdots$ and $W$ likewise. Then $C(x(\alpha_0), x(\alpha_1), \dots) = f(\alpha_0, \alpha_1, \dots)$
# and $W(x(\alpha_1), \dots) = w_{\alpha_1, \dots}$, and the layer that sums over all tuples is $F_i$, term by term, at
# every length.
#
# *An ordered sum cannot at two lengths.* Its outputs for $n = 3$ are linear in own symbol times the counts
# $\Gamma_{\beta\gamma}$ of pairs $j_1 \le j_2$. Take sequences of one symbol alone, of length $L$: there $\Gamma =
# L(L+1)/2$, and the target is $L^2 f w$. No factor makes the one into the other at two lengths.
#
# *Nor with two outputs at one.* Let $G_{\beta\gamma}$ be the part of $f(\alpha, \beta, \gamma)\, w_{\beta\gamma}$ that
# is symmetric in $\beta, \gamma$, and $s$ the counts. The target is $\sum_{\beta, \gamma} s_\beta s_\gamma
# G_{\beta\gamma}$, and $\sum_\beta s_\beta = L$ turns the ordered counts into products. Comparing the two gives the
# table
#
# $$T_{\beta\beta} = \tfrac{2L}{L+1}\, G_{\beta\beta}, \qquad T_{\beta\gamma} = 2 G_{\beta\gamma} - \tfrac1{L+1}
# (G_{\beta\beta} + G_{\gamma\gamma}) .$$
#
# For $L \ge 3$ it is the only one: the counts of sequences that hold $\alpha$ determine every quadratic form, and two
# neighbours that change places show what is not symmetric. A layer has $T = C_{\alpha\beta\gamma} W_{\beta\gamma\tau}$,
# of rank one in $(\alpha, \tau)$ for every pair; the table adds up matrices of rank one with different $w$. With one
# output every table is of rank one, and so it is if all $w_{\beta\gamma}$ are multiples of one vector.
#
# *Rank.* For $n = 3$, $C = \sum_{b, c} C_{\cdot bc} \otimes e_b \otimes e_c$ has $d^2$ terms; in general $d^{\,n-1}$.
# With shared keys the terms of $(b, c)$ and $(c, b)$ together are $C_{\cdot bc} \otimes (e_b e_c^\top + e_c e_b^\top)$
# for symmetric $f$, which is a difference of two squares: again $d^2$ terms in all. At any order the powers $v \otimes
# \cdots \otimes v$ span the symmetric tensors, a space of $\binom{d+n-2}{n-1} \le d^{\,n-1}$ dimensions, so that many
# terms are enough for a $C$ that is symmetric in its last $n - 1$ axes, and for a symmetric $W$. $\square$
#
# </details>
#
# ## See it run
# ### Full tensors
# We compare layers with the sum in the theorem, written out tuple by tuple, for a one-hot and for an orthonormal
# embedding. The last column sums over $j_1\le j_2\le\dots$, as in Definition 6.1.

# %%
draw = generator(seed)
symbols = {length: sample_sequences(sequences, length, size, draw) for length in lengths}
unit = torch.eye(size, dtype=torch.float64)


def written_out(one: torch.Tensor, effect: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The sum of Theorem G.4 for one sequence: every tuple of positions in turn."""
    tuples = list(product(one.tolist(), repeat=effect.ndim - 1))
    return torch.stack([sum(effect[(own, *others)] * weights[others] for others in tuples) for own in one.tolist()])


# %%
def turned(table: torch.Tensor, axes: int, basis: torch.Tensor) -> torch.Tensor:
    """The tensor whose form on rows of an orthonormal basis reads the table: ``basis`` on each of the first axes."""
    for axis in range(axes):
        table = torch.tensordot(table, basis, dims=([axis], [0])).movedim(-1, axis)
    return table


basis = torch.linalg.qr(normal(size, size, seed=draw)).Q

# %%
full, in_basis, ordered = {}, {}, {}
for order in orders:
    effect, weights = normal(*[size] * order, seed=draw), normal(*[size] * (order - 1), 2, seed=draw)
    layer = turned(effect, order, basis), turned(weights, order - 1, basis)
    rows = []
    for some in symbols.values():
        few = some[:looped]
        sums = torch.stack([written_out(one, effect, weights) for one in few])
        outputs = (
            linear_hyper_attention(unit[few], effect, weights, "all"),
            linear_hyper_attention(basis[few], *layer, "all"),
            linear_hyper_attention(unit[few], effect, weights, "le"),
        )
        rows.append([relative_error(one, sums) for one in outputs])
    full[order], in_basis[order], ordered[order] = map(max, zip(*rows, strict=True))
show.table(
    ["order n", "one-hot, largest error", "orthonormal, largest error", "ordered sum, largest error"],
    [[n, full[n], in_basis[n], ordered[n]] for n in orders],
)

# %% [markdown]
# The sum over all tuples is exact at every order. The ordered sum is exact only at order 2, where there is nothing to
# order.
#
# ### Factors
# At order 3, we use rank $|\mathcal S|^2$, with free factors for any $f$ and $w$, and with shared factors for symmetric
# ones.

# %%
effect, weights = normal(size, size, size, seed=draw), normal(size, size, 2, seed=draw)
symmetric, fair = effect + effect.transpose(1, 2), weights + weights.transpose(0, 1)


def factored(some: torch.Tensor, score: list[torch.Tensor], value: list[torch.Tensor]) -> torch.Tensor:
    """The layer from factors: keys and values projected, then summed; the first value factor leads to the outputs."""
    q, k1, k2 = (unit[some] @ one for one in score)
    last, v1, v2 = value
    return linear_pair_sum(q, k1, k2, unit[some] @ v1, unit[some] @ v2) @ last.T


# %%
free_factors = factors_of(effect), factors_of(weights.movedim(-1, 0))
shared_factors = shared_factors_of(symmetric), shared_factors_of(fair.movedim(-1, 0))
dropped = [one[:, 1:] for one in free_factors[0]]
tables = {
    "free factors": (free_factors, effect, weights),
    "shared factors, symmetric f and w": (shared_factors, symmetric, fair),
    "free factors, one term less": ((dropped, free_factors[1]), effect, weights),
}
errors = {
    name: max(relative_error(factored(some, *layer), aggregate_tuples(some, f, w, "all")) for some in symbols.values())
    for name, (layer, f, w) in tables.items()
}
show.table(
    ["layer", "rank R", "largest error"],
    [[name, layer[0][0].shape[1], errors[name]] for name, (layer, _, _) in tables.items()],
)

# %% [markdown]
# At order 4, shared keys enter as cubes of vectors. We fit $|\mathcal S|^3$ random cubes to a symmetric and to another
# tensor.

# %%
vectors = normal(size**3, size, seed=draw)
cubes = torch.einsum("sa,sb,sc->sabc", vectors, vectors, vectors).flatten(1)
uneven = normal(*[size] * 4, seed=draw)
even = sum(uneven.permute(0, *(1 + axis for axis in order)) for order in permutations(range(3)))


def missed_by_cubes(tensor: torch.Tensor) -> float:
    """The largest entry, over the tensor's, of what no queries on these shared keys make of it."""
    wanted = tensor.flatten(1).T
    return relative_error(cubes.T @ (torch.linalg.pinv(cubes.T, rtol=1e-10) @ wanted), wanted)


by_cubes, by_cubes_uneven = missed_by_cubes(even), missed_by_cubes(uneven)

# %% [markdown]
# When is sharing not enough? For every unordered pair of symbols, shared factors give a table of rank one, with one row
# per symbol of the query token and one column per output. We compute what no such table can represent.


# %%
def missed_by_sharing(f: torch.Tensor, w: torch.Tensor) -> float:
    """The share of the symmetric part of f w beyond rank one in (own symbol, output), over all pairs of symbols."""
    both = f[..., None] * w[None]
    both = both + both.transpose(1, 2)
    rest = torch.linalg.svdvals(both.movedim(0, 2))[..., 1:]
    return (rest.square().sum() / both.square().sum()).item()


sharing = {
    "f and w asymmetric": missed_by_sharing(effect, weights),
    "f asymmetric, w symmetric": missed_by_sharing(effect, fair),
    "f symmetric, w asymmetric": missed_by_sharing(symmetric, weights),
    "both asymmetric, one output": missed_by_sharing(effect, weights[..., :1]),
}
show.table(["target", "missed by shared factors"], list(sharing.items()))

# %% [markdown]
# Here sharing fails only if $f$ and $w$ are both asymmetric and there are two outputs.
#
# ### One kind of sum for another
# For each symbol of the query token, the output is linear in the pair counts. We fit the best layer by least squares,
# at one length and over all lengths.

# %%
one_length = {lengths[-1]: symbols[lengths[-1]]}
asymmetric = effect, weights[..., :1]


def missed(target_sum: str, layer_sum: str, some: dict[int, torch.Tensor]) -> float:
    """What the best layer with one kind of sum misses of a target with another, over sequences of these lengths."""
    features = torch.cat([tuple_features(s, size, 2, layer_sum) for s in some.values()])
    targets = torch.cat([aggregate_tuples(s, *asymmetric, target_sum).flatten(0, 1) for s in some.values()])
    return relative_residual(features, targets)


# %%
cross = {
    ("all", "le", "one length"): missed("all", "le", one_length),
    ("all", "le", "all lengths"): missed("all", "le", symbols),
    ("le", "all", "one length"): missed("le", "all", one_length),
    ("le", "all", "all lengths"): missed("le", "all", symbols),
    ("all", "all", "all lengths"): missed("all", "all", symbols),
}
CALLED = {"all": "all", "le": "ordered"}
show.table(
    ["target sums over", "layer sums over", "lengths", "missed"],
    [[CALLED[target], CALLED[layer], some, value] for (target, layer, some), value in cross.items()],
)

# %%
names = [f"{CALLED[target]} by {CALLED[layer]},\n{some}" for target, layer, some in cross]
fig, axis = show.axes(height=3.0)
axis.bar(names, [max(value, 1e-32) for value in cross.values()], color=show.COLOURS[0], bottom=1e-33)
axis.set(yscale="log", ylabel="fraction missed by the best layer", ylim=(1e-33, 10))
axis.tick_params(axis="x", labelsize=8)
show.figure(
    fig,
    name="sums",
    caption="The fraction of a target with one kind of sum that the best layer with the other kind misses, for one "
    "output. Ordered pairs can replace all pairs at one length, but not over several lengths.",
    alt="Five bars on a logarithmic axis. “All by ordered” at one length and “all by all” are at rounding level. "
    "The other three are between a thousandth and a tenth.",
)

# %% [markdown]
# With one output, ordered pairs can replace all pairs at one length, but not over several. The fit has more free
# parameters than a layer, which matters with two outputs.


# %%
def beyond_a_layer(values: torch.Tensor) -> tuple[int, float, float]:
    """Rank of the ordered features at one length, what the best fit misses, and the share of it that no layer has."""
    some = sample_sequences(2 * sequences, 6, size, seed + 1)
    features = tuple_features(some, size, 2, "le")
    targets = aggregate_tuples(some, symmetric, values, "all").flatten(0, 1)
    table = torch.linalg.lstsq(features, targets, driver="gelsd").solution
    rest = torch.linalg.svdvals(table.reshape(size, size**2, -1).movedim(1, 0))[..., 1:]
    beyond = (rest.square().sum() / table.square().sum()).item()
    return int(torch.linalg.matrix_rank(features)), relative_residual(features, targets), beyond


# %%
free = {
    "1 output": beyond_a_layer(fair[..., :1]),
    "2 outputs": beyond_a_layer(fair),
    "2 outputs, equal values": beyond_a_layer(fair[:1, :1].expand_as(fair)),
}
show.table(
    ["full sum, ordered fit, length 6", "rank of the features", "missed by the fit", "fraction beyond any layer"],
    [[name, *row] for name, row in free.items()],
)

alone, at_one_length, over_lengths = (max(list(sharing.values())[1:]), *list(cross.values())[:2])

# %% [markdown]
# With two outputs, the fit is unique, and no ordered layer represents it unless the values are all equal.
#
# ## How we checked
# As controls, we omit a term of the factors, share keys where neither $f$ nor $w$ is symmetric, and use ordered sums
# for several lengths or two outputs. A certificate proves the theorem for two symbols, orders 2 to 4, and all $f$ and
# $w$.

# %%
above_two = {f"order {order}": ordered[order] for order in orders if order > 2}

# %%
claim = Claim("hyper-attention/theorem-g-4")
for name, errors_of in (("one-hot", full), ("orthonormal", in_basis)):
    cases = {f"order {order}": error for order, error in errors_of.items()}
    claim.at_most(f"full tensors, {name} embedding, against the loop, error", cases, 1e-12)
claim.printed.at_most("argument of Theorem 3.1 for an ordered layer, error", above_two, 1e-12, of="proof")
for_all = {f"order {order}": error for order, error in in_basis.items()}
claim.at_most("the same for the sum over all tuples, error", for_all, 1e-12, of="proof")
claim.at_most("order 3, rank |S|^2, errors", {name: errors[name] for name in list(errors)[:2]}, 1e-12)
claim.control.at_most("one term of the factors left out, error", errors["free factors, one term less"], 1e-12)
claim.at_most("order 4, shared keys, symmetric tensor, missed", by_cubes, 1e-10)
claim.control.at_most("order 4, shared keys, tensor not symmetric, missed", by_cubes_uneven, 1e-10)
claim.control.at_most("shared factors, f and w asymmetric, missed", sharing["f and w asymmetric"], 1e-12)
claim.at_most("shared factors, one symmetry or one output, missed", alone, 1e-28)
claim.at_most("ordered layer on the full sum, one output, one length, missed", at_one_length, 1e-12)
claim.equal("two outputs, length 6: rank of the ordered features", free["2 outputs"][0], size**3)
claim.control.at_most("two outputs, length 6: share of the only table beyond a layer", free["2 outputs"][2], 1e-12)
claim.at_most("the same if all pairs have equal values", free["2 outputs, equal values"][2], 1e-24)
claim.printed.at_most("ordered layer (Definition 6.1) on the full sum, all lengths, missed", over_lengths, 1e-12)
claim.certified("orders 2 to 4, two symbols: all f and w", certify_tuple_representation())
claim.verdict()

# %% [markdown]
# ## What to remember
# - A layer of order $n$ that sums over all tuples represents every interaction of $n$ bodies.
# - Factors of rank $d^{\,n-1}$ suffice.
# - Ordered sums can replace full ones at one length with one output, but in general not otherwise.
#
# ## Exercises
#
# 1. *By hand.* Which factor turns the ordered count into the full one for four equal tokens?
#    <details><summary>Solution</summary>
#
#    There are 16 pairs and 10 ordered pairs, so the factor is $16/10=8/5$.
#
#    </details>
# 2. *Predict, then run.* Set `lengths = [5, 6]`. Are two lengths enough to distinguish the sums?
#    <details><summary>Solution</summary>
#
#    Yes. The ratios $2L/(L+1)$ differ, so the best ordered layer for both lengths misses part of the full sum: about
#    $10^{-5}$ of the squares.
#
#    </details>
#
# Next: [Theorem G.7](theorem_g_7_training.ipynb), which shows whether training finds such a layer.

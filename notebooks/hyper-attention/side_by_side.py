# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond Remark F.6 · All that linear attention on side-by-side features can do
# *Our addition to Remark F.6 and Definition 5.1 of Ustaomeroglu and Qu.*
#
# A token often has several features, such as a size, a shape and a colour, and each feature is written next to the
# others. Which sums over other tokens can attention without a softmax compute then? Remark F.6 names two sums that two
# layers cannot compute. We describe exactly which sums can be computed, with any number of layers and heads, and then
# do the same for layers that multiply scores.

# %%
from functools import partial

import torch
from torch import Tensor

from attention_theory.hyper_attention.certified.pairs import certify_reach
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.layers.hyper_feature_attention import score_features
from attention_theory.hyper_attention.layers.self_attention import linear_attention, softmax_attention
from attention_theory.hyper_attention.worlds.coupled_features import product_symbols
from attention_theory.hyper_attention.worlds.parallelogram import linear_stack, random_layers
from attention_theory.hyper_attention.worlds.side_by_side import (
    every_token,
    hyper_feature_stack,
    layer_within_reach,
    within_reach,
)
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
values = 2  # values of each of the three features, from 2 to 3
length = 10  # tokens L of a sequence, from 9 to 40
draws = 20  # random stacks of each depth, from 5 to 500
sequences = 200  # random sequences of each fit, from 100 to 2000
seed = 0  # of every draw, at least 0

# %%
require(values=(values, 2, 3), length=(length, 9, 40), draws=(draws, 5, 500), sequences=(sequences, 100, 2000))
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Each token has three features, and each feature is 0 or 1. A token with the features 000 attends to four other tokens.
# In one sequence they are 000, 011, 101 and 110, and in another 111, 100, 010 and 001.
#
# Choose any two features and list the pairs of values that occur. In both sequences each of 00, 01, 10 and 11 occurs
# exactly once. The sequences differ only if we look at three features together: the number of tokens 111 is 0 in one
# and 1 in the other.

# %%
EVEN, ODD = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
fig, axis = schematic.canvas(7.0, 2.2)
for left, bits, words in ((1.2, EVEN, "111 occurs 0 times"), (9.4, ODD, "111 occurs once")):
    schematic.matrix(axis, bits, (left, 0.9), cell=0.7, words=words)
    for row, token in enumerate(bits):
        schematic.text(axis, (left - 0.5, 3.35 - 0.7 * row), "".join(map(str, token)), size=9)
schematic.text(axis, (6.25, 2.9), "any two columns:")
schematic.text(axis, (6.25, 2.3), "00, 01, 10, 11, each once", schematic.BLUE, 9)
show.figure(
    fig,
    name="same",
    caption="Two sets of four tokens with three features, one token per row; filled cells are 1.",
    alt="Two grids of four rows and three columns. The rows on the left are 000, 011, 101, 110, and those on the "
    "right are 111, 100, 010, 001. Between them: any two columns hold 00, 01, 10 and 11, each once.",
)

# %% [markdown]
# A layer without a softmax sees the other tokens only through such tables of pairs. It gives the first token the same
# output in both sequences, whatever its weights, and so does every stack of such layers.
#
# ## The statement
# Token $x_i$ is the list of one-hot vectors of its $M$ features, side by side. Feature $m$ has $k_m$ values, so the
# width is $d=\sum_mk_m$. We look at targets $\sum_jg(x_i;x_j)$, where the sum includes $j=i$, as in Eq. 2.
#
# <!-- claim hyper-attention/side-by-side-reach -->
# <blockquote>
#
# **Beyond Remark F.6 (What linear attention on features side by side can do)**
#
# Let $L\ge5$. For a function $g$ of two tokens with values in $\mathbb R$ these are equivalent. (a) For some function
# $G$, row $i$ of $X\,G(X^\top X)$ is $\sum_jg(x_i;x_j)$ for all sequences of length $L$. Every stack of multihead
# linear self-attention has this form, with skip connections or without. (b) $g$ is a sum of functions of a single
# feature of $i$ and two features of $j$. (c) One layer with $d-\max_mk_m-M+2$ heads gives these outputs at every
# length.
#
# </blockquote>
# <!-- /claim -->
#
# We now ask how much the product of scores adds.
#
# <!-- claim hyper-attention/hyper-feature-reach -->
# <blockquote>
#
# **Beyond Definition 5.1 (What HyperFeatureAttention on features side by side can do)**
#
# Some stack of linear HyperFeatureAttention of orders up to $A$ and any widths, with skip connections or without,
# computes $\sum_jg(x_i;x_j)$ at all lengths if and only if $g$ is a sum of functions of $A$ features of $i$ and $2A$
# features of $j$. One layer without a skip connection is then enough. At a single length $L\ge4^K+1$, where $K=A^D$, a
# stack of $D$ layers computes it if and only if $g$ is a sum of functions of $K$ features of $i$ and $2K$ features of
# $j$.
#
# </blockquote>
# <!-- /claim -->
#
# At one length, two layers of order 2 can represent what one layer of order 4 can. At all lengths at once they cannot,
# because each sum over tokens introduces a power of $L$, and fixed weights cannot divide by it. Layers that divide each
# sum by $L$ do not have this problem: for targets $\frac1L\sum_jg$, the second condition applies at all lengths.
#
# ## Why it is true
# A layer multiplies all tokens by one matrix, which depends only on $S=X^\top X$, and so does a stack. The output is
# therefore linear in $x_i$, and a linear function of concatenated one-hot vectors is additive over the features. The
# matrix $S$ counts how many tokens have two given values. Two sequences with the same $S$ give equal tokens the same
# outputs, and sequences like those in the picture show that $g$ cannot use three features of $j$. Conversely, one head
# provides each product of an entry of $x_i$ and two entries of $x_j$.
#
# A head of order $A$ multiplies $A$ scores and $A$ values. It is of degree $A$ in $x_i$ and of degree $2A$ in $x_j$.
# With more layers the degree grows, but each layer also sums over the tokens. In the end, only the terms with a single
# sum matter, and these come from single layers.
#
# <details><summary>Proof for linear self-attention</summary>
#
# *Every stack has the form (a).* A layer maps $X$ to $X\sum_hC_hX^\top XW_h$, and adds $X$ if it has a skip connection.
# Suppose that the layers so far have made $XP$, where $P$ is a function of $S=X^\top X$. The next layer makes
# $XP\sum_hC_hP^\top SPW_h$, to which a skip connection adds some earlier $XP'$. This is $X$ times a function of $S$. In
# particular (c) implies (a).
#
# *Differences.* Let $o$ be a fixed token. For a function $f$ of a token $t$ and a set $A$ of features let $f_A(t)$ be
# the sum over $B\subseteq A$ of $(-1)^{|A|-|B|}$ times $f$ at the token with the features of $t$ in $B$ and those of
# $o$ elsewhere. It depends on the features in $A$ only, and $f=\sum_Af_A$. The *mixed difference* of $f$ for $r$
# features, two values of each, and fixed values of all others is the sum of $f$ over the $2^r$ tokens, with a minus
# sign if the number of second values is odd. If all mixed differences for $r$ features are 0, then so is $f_A$ for
# $|A|\ge r$, since it is a signed sum of them, and $f$ is a sum of functions of $r-1$ features.
#
# *(a) implies (b): features of i.* Take two features, two values of each, and the four tokens with these values that
# agree in all other features. They satisfy $x_{00}-x_{01}-x_{10}+x_{11}=0$. In a sequence that holds all four,
# $X\,G(S)$ multiplies them by the same matrix. Their outputs have the same signed sum, so $\sum_j\Delta(x_j)=0$,
# where $\Delta(t)$ is the mixed difference of $g(\cdot\,;t)$. As $L\ge5$, we can exchange one of the other tokens,
# and therefore $\Delta(t)$ is the same for all $t$. Then $L\,\Delta=0$. So all mixed differences of $g(\cdot\,;t)$
# for two features are 0, and $g(\cdot\,;t)$ is additive over the features.
#
# *(a) implies (b): features of j.* Take three features and two values of each, and fix all others. Let $T_+$ be the
# four tokens with an even number of second values and $T_-$ the other four. For any two features, each pair of values
# occurs equally often in both. Let one sequence consist of a token $s$, of $T_+$ and of $L-5$ other tokens, and let the
# second have $T_-$ in the place of $T_+$. Both have the same $S$, so the outputs at $s$ are equal, and
# $\sum_{t\in T_+}g(s;t)=\sum_{t\in T_-}g(s;t)$. All mixed differences of $g(s;\cdot)$ for three features are 0, and it
# is a sum of functions of two features.
#
# *(b) implies (c).* For fixed $t$, $g(\cdot\,;t)$ is in the span of the entries $x_a$; for fixed $s$, $g(s;\cdot)$ is
# in the span of the products $x_bx_c$. So $g(s;t)=\sum A_{abc}\,x_a(s)\,x_b(t)\,x_c(t)$ for some numbers $A_{abc}$.
# We write the products as $x_b(t)\,v_h(t)$ with few functions $v_h$: the constant 1, and the entries of all features
# but the one with the most values, except the last value of each. Of two entries of different features, at least one,
# say $x_c$, is not of the feature with the most values. If $c$ is the last value of its feature, $x_c$ is 1 less the
# other entries of the feature. Two entries of the same feature have the product 0 or $x_b$. So
# $g(s;t)=\sum_hx(s)^\top C_hx(t)\,v_h(t)$. As $v_h$ is linear in the entries (the constant is $\frac1M$ times the sum
# of all), this is one layer with $1+\sum_m(k_m-1)$ heads, the sum leaving out the feature with the most values. That
# is $d-\max_mk_m-M+2$. It holds at every length. $\square$
#
# </details>
#
# <details><summary>Proof for HyperFeatureAttention</summary>
#
# Write $\mathcal G_K$ for the sums of functions of $K$ features of $i$ and $2K$ features of $j$.
#
# *One layer.* A head of order $A'\le A$ adds up $\prod_ax_i^\top C_ax_j\prod_aw_a^\top x_j$ over $j$. A product of $r$
# entries of a token is a function of at most $r$ features. So a layer has $\sum_jp(x_i;x_j)$ with $p\in\mathcal G_A$.
# Conversely, let $C_a$ have a single 1 in row $b_a$ and column $c_a$, and $w_a$ a single 1 at $e_a$. The head then says
# whether token $i$ has all values $b_a$, and token $j$ all values $c_a$ and $e_a$. Entries may be repeated, and
# such heads span $\mathcal G_A$.
#
# *Any depth, all lengths.* Let $\nu(t)$ be the number of tokens $t$ in the sequence. The state of a token $s$ after
# each layer is a polynomial in $\nu$. We claim that its constant term is linear in $x_s$ and its linear term is
# $\sum_t\nu(t)\,p(s;t)$ with $p\in\mathcal G_A$ in every entry. At the start it is $x_s$. A head sums over $j$, that
# is, over $t$ with the factor $\nu(t)$. Its constant term is 0, and its linear term has the constant terms of all
# states in its factors, which is a head applied to linear images of $x_s$ and $x_t$. A skip connection adds an
# earlier state. So the claim holds after each layer. Now let the output at $s$ be $\sum_t\nu(t)\,g(s;t)$ for all
# sequences, that is, for all whole numbers $\nu(t)\ge0$ with $\nu(s)\ge1$. Polynomials that agree there are equal.
# Their linear terms are equal too, and $g=p\in\mathcal G_A$.
#
# *One length, necessity.* Let $K=A^D$. For a fixed sequence, the state of $s$ after $l$ layers is a polynomial of
# degree at most $A^l$ in the entries of $x_s$, the same for all $s$, so that the output is a sum of functions of $K$
# features of $s$. Its mixed differences for $K+1$ features are 0. A sequence that holds the $2^{K+1}$ tokens of such
# a difference and at least one more shows, as for linear attention, that those of $g(\cdot\,;t)$ are 0. For the other
# side, note that layer $l+1$ sums products of $2A$ entries of the state of $j$, and hence, with factors that do not
# depend on $j$, products of $2A^{l+1}$ entries of $x_j$. The output at $s$ depends on the sequence only through the
# numbers of tokens with given values of $2K$ features. For a mixed difference for $2K+1$ features, the tokens with an
# even number of second values, $4^K$ of them, have the same such numbers as the others. A sequence of $s$, one of the
# two halves and $L-4^K-1$ more tokens shows that the mixed differences of $g(s;\cdot)$ for $2K+1$ features are 0.
# Both sequences exist for $L\ge4^K+1\ge2^{K+1}+1$. Together, $g\in\mathcal G_K$.
#
# *One length, sufficiency.* Let all rows of $C_a$ be 0 except row $b_a$, which is $\frac1M(1,\dots,1)$, and let
# $w_a=\frac1M(1,\dots,1)$. The head has the output $L\prod_ax_{b_a}(i)$. With a head for each choice of
# $b_1,\dots,b_A$, one layer makes all products of $A$ entries, times $L$, and the next one all products of $A^2$
# entries, times a power of $L$; the constant 1 is always a multiple of the sum of all entries. After $D-1$ layers the
# state of a token has all products of $A^{D-1}$ entries, times a power of $L$ by which the last layer divides. Its
# heads, as in the case of one layer, span $\mathcal G_K$. $\square$
#
# </details>
#
# ## See it run
# ### The tiny example
# We give the two sequences of the picture to random stacks, and compare their outputs at the first token. We do the
# same with a softmax, and with layers of order 2, which can use four features of the other tokens.

# %%
sizes = [values] * 3
every = every_token(sizes)
start = product_symbols(torch.tensor([[0, 0, 0]]), sizes)
even, odd = (every[torch.cat([start, product_symbols(torch.tensor(bits), sizes)])] for bits in (EVEN, ODD))
width, draw = every.shape[1], generator(seed)


def apart(function) -> float:
    """How far the outputs of a function at the first token of the two sequences are apart, relative to their size."""
    first, second = function(even)[0], function(odd)[0]
    return ((first - second).abs().max() / first.abs().max()).item()


def random_products(depth: int) -> list[tuple[Tensor, Tensor]]:
    """Weights of layers of order 2 with three heads."""
    return [tuple(normal(3, 2, width, width, seed=draw) / width for _ in range(2)) for _ in range(depth)]


# %%
linear = {
    (depth, skip): max(
        apart(lambda x, n=n, d=depth, skip=skip: linear_stack(x, random_layers(d, 3, width, seed + n), skip))
        for n in range(draws)
    )
    for depth in (1, 2, 3, 4)
    for skip in (False, True)
}
projections = normal(3, width, width, seed=draw)
softmax_apart = apart(lambda x: softmax_attention(x, *projections))
product_apart = apart(lambda x: hyper_feature_stack(x, random_products(1)))
rows = [[f"linear, {depth} layers{', skip' if skip else ''}", value] for (depth, skip), value in linear.items()]
show.table(["layers", "largest difference"], [*rows, ["order 2, one layer", product_apart], ["softmax", softmax_apart]])

# %% [markdown]
# The linear stacks cannot distinguish the two sequences, whereas the other two layers can.
#
# ### One effect at a time
# Random effects $g$ use the first $p$ features of $i$ and the first $q$ features of $j$. For each $p$ and $q$, we fit
# the best layer of order 1, which is linear attention, and the best layer of order 2, by least squares on random
# sequences.

# %%
symbols = torch.randint(len(every), (sequences, length), generator=draw)
entities = torch.cartesian_prod(*[torch.arange(values)] * 3)


def random_effect(of_i: int, of_j: int) -> Tensor:
    """A table over all tokens that depends on the first features only."""
    rows, columns = (product_symbols(entities[:, :count], sizes[:count]) for count in (of_i, of_j))
    return normal(values**of_i, values**of_j, seed=draw)[rows][:, columns]


def span(degree: int) -> Tensor:
    """A basis of the functions of a token that are polynomials of this degree in its entries."""
    basis, strengths, _ = torch.linalg.svd(score_features([every] * degree), full_matrices=False)
    return basis[:, strengths > 1e-9 * strengths[0]]


# %%
def missed(order: int, effect: Tensor) -> float:
    """The fraction of the squares of a target that the best layer of this order misses."""
    seen = torch.einsum("nia,nb->niab", span(order)[symbols], span(2 * order)[symbols].sum(dim=1))
    target = effect[symbols[:, :, None], symbols[:, None]].sum(dim=-1)
    return relative_residual(seen.flatten(2).flatten(0, 1), target.flatten()[:, None])


grid = [(p, q) for p in (1, 2, 3) for q in (1, 2, 3)]
effects = {place: random_effect(*place) for place in grid}
fits = {order: {place: missed(order, effect) for place, effect in effects.items()} for order in (1, 2)}

# %%
fig, axes = show.axes(1, 2, width=7.0, height=2.9)
for axis, (order, losses) in zip(axes, fits.items(), strict=True):
    axis.imshow([[losses[p, q] ** 0.5 for q in (1, 2, 3)] for p in (1, 2, 3)], cmap="Blues", vmin=0, vmax=1.2)
    for (p, q), loss in losses.items():
        axis.text(q - 1, p - 1, "0" if loss < 1e-12 else f"{loss:.2f}", ha="center", va="center")
    axis.set(xticks=range(3), xticklabels=[1, 2, 3], yticks=range(3), yticklabels=[1, 2, 3])
    axis.set(xlabel="features of j", ylabel="features of i", title=f"order {order}")
    axis.grid(visible=False)
show.figure(
    fig,
    name="reach",
    caption="The fraction of the squares of a target that the best layer misses, by the number of features of $i$ and "
    "$j$ that the target uses. 0 means below $10^{-12}$.",
    alt="Two grids of three by three numbers. For order 1 only the cells with one feature of i and one or two features "
    "of j are 0. For order 2 all cells in the rows of one and two features of i are 0.",
)

# %% [markdown]
# We see zeros exactly where the theorem predicts them. For targets that order 1 can represent, we also build the layer
# of the proof.

# %%
built, heads = {}, {}
for some in ([values] * 3, [3, 2], [2, 4, 3], [5]):
    effect = within_reach(normal(*[torch.tensor(some).prod().item()] * 2, seed=draw), some)
    score, value = layer_within_reach(effect, some)
    at = torch.randint(len(effect), (length,), generator=draw)
    outputs = linear_attention(every_token(some)[at], score, value).sum(dim=0)[:, 0]
    built[f"sizes {some}"] = relative_error(outputs, effect[at[:, None], at].sum(dim=1))
    heads[f"sizes {some}"] = len(score) - (sum(some) - max(some) - len(some) + 2)

# %% [markdown]
# ### Two layers of order 2
# How many tokens agree with token $i$ in all three features? This target couples three features of $i$, which is too
# many for a layer of order 2. Two layers can compute it at one length. The first layer writes the combination of the
# first two features, times $L$, into new coordinates. The second multiplies two agreements and divides by $L^2$.


# %%
def pairs_layer() -> tuple[Tensor, Tensor]:
    """A head for each pair of values of the first two features: whether token i has both, times the length."""
    wide = width + values**2
    scores, made = torch.zeros(2, values**2, 2, wide, wide, dtype=torch.float64)
    for pair in range(values**2):
        scores[pair, 0, pair // values, :width] = 1 / 3
        scores[pair, 1, values + pair % values, :width] = 1 / 3
        made[pair, :, :width, width + pair] = 1 / 3
    return scores, made


def agreement_layer(tokens: int) -> tuple[Tensor, Tensor]:
    """One head that multiplies agreement of the pair, divided by the squared length, and of the third feature."""
    agree = torch.zeros(1, 2, width + values**2, width + values**2, dtype=torch.float64)
    agree[0, 0, width:, width:] = torch.eye(values**2).double() / tokens**2
    agree[0, 1, 2 * values : width, 2 * values : width] = torch.eye(values)
    ones = torch.zeros(1, 2, width + values**2, 1, dtype=torch.float64)
    ones[:, :, :width] = 1 / 3
    return agree, ones


# %%
def agreeing(tokens: int) -> Tensor:
    """The outputs of both layers, made for sequences of ``length``, over the true numbers, at another length."""
    at = torch.randint(len(every), (tokens,), generator=draw)
    padded = torch.cat([every[at], torch.zeros(tokens, values**2).double()], dim=1)
    state = hyper_feature_stack(padded, [pairs_layer()], skip=True)
    outputs = hyper_feature_stack(state, [agreement_layer(length)])[:, 0]
    return outputs / (at[:, None] == at).sum(dim=1)


ratios = {tokens: agreeing(tokens) for tokens in (length, 2 * length)}
show.table(["length", "output over the true number"], [[n, ratio.mean().item()] for n, ratio in ratios.items()])

# %% [markdown]
# The layers are correct at the length for which we built them, and wrong by a factor of 4 at twice that length.
#
# ## How we checked
# For random stacks of order 2, we differentiate the output with respect to the number of times that each token occurs,
# at 0. This gives the term with a single sum, whose signed sum over the eight tokens must be 0. With two layers, the
# signed sum of the outputs themselves must not be 0.

# %%
bits = torch.cartesian_prod(*[torch.arange(2)] * 3)
corners = every[product_symbols(bits, sizes)]
signs = (1 - 2 * (bits.sum(dim=1) % 2)).double()


def cube(outputs: Tensor) -> float:
    """The signed sum of the outputs at eight corners, relative to the largest output."""
    return ((signs @ outputs).abs().max() / outputs.abs().max()).item()


single_sums, whole = {}, {}
for depth in (1, 2, 3):
    for n in range(3):
        output = partial(hyper_feature_stack, corners, random_products(depth), True)
        single = torch.func.jvp(output, (torch.zeros(8).double(),), (torch.ones(8).double(),))[1]
        single_sums[f"{depth} layers, draw {n}"] = cube(single)
        whole[depth, n] = cube(output())

# %%
claim = Claim("hyper-attention/side-by-side-reach")
claim.at_most("outputs in the two sequences, all stacks: largest difference", max(linear.values()), 1e-12)
near = {f"{p} of i, {q} of j": fits[1][p, q] for p, q in grid if p == 1 and q <= 2}
far = {f"{p} of i, {q} of j": fits[1][p, q] for p, q in grid if p > 1 or q > 2}
claim.at_most("within the list: missed by the best layer", near, 1e-12)
claim.at_least("not in the list: missed by the best layer", far, 1e-6)
claim.at_most("the layer of the proof: error", built, 1e-9)
claim.equal("its heads, less the number of the statement", heads, 0)
claim.control.at_most("outputs in the two sequences, softmax: difference", softmax_apart, 1e-12)
claim.control.at_most("outputs in the two sequences, order 2: difference", product_apart, 1e-12)
claim.certified("three features of two values: five tokens are enough", certify_reach())
claim.verdict()

# %%
claim = Claim("hyper-attention/hyper-feature-reach")
near = {f"{p} of i, {q} of j": fits[2][p, q] for p, q in grid if p <= 2}
far = {f"3 of i, {q} of j": fits[2][3, q] for q in (1, 2, 3)}
claim.at_most("order 2, within the list: missed by the best layer", near, 1e-12)
claim.at_least("order 2, not in the list: missed by the best layer", far, 1e-6)
claim.at_most("stacks of order 2, terms with one sum: eight corners", single_sums, 1e-12)
claim.at_most("two layers of order 2, agreement in three features: error", (ratios[length] - 1).abs().max(), 1e-12)
claim.control.at_most("the same at twice the length: error", (ratios[2 * length] - 1).abs().max(), 1e-12)
claim.control.at_most("two layers, whole outputs: eight corners", min(whole[2, n] for n in range(3)), 1e-12)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The fits use three features, so they do not distinguish three features of $j$ from four. The certificate covers three
# features with two values each. The equations that sequences of five tokens impose leave $4\cdot7=28$ dimensions of
# effects, as many as the layers can represent.
#
# </details>
#
# ## Where we stop
# We do not know the fewest heads that a layer needs, nor how short a sequence may be for $D$ layers of order $A$ to
# obey the second statement. A feed-forward layer between two layers of attention can turn each combination of features
# into one symbol.
#
# ## What to remember
# - Linear attention on concatenated features can use one feature of the query token and two features of each other
#   token, at any depth.
# - Every such sum that a stack can compute, one layer can compute.
# - Order $A$ raises these numbers to $A$ and $2A$. For $A\ge2$, depth raises them further, but only at a fixed length.
#
# ## Exercises
#
# 1. *By hand.* Tokens have a size, a shape and a colour. Which of these can a stack of linear attention compute: (a)
#    the number of tokens of my size that are red circles, (b) the number of tokens of my size and my colour, (c) the
#    number of tokens of my size plus the number of tokens of my colour?
#    <details><summary>Solution</summary>
#
#    (a) uses one feature of $i$ and three of $j$, the size, the shape and the colour, so it cannot. (b) couples two
#    features of $i$, so it cannot. (c) is a sum of two functions of one feature of $i$ and one of $j$, and one layer
#    computes it.
#
#    </details>
# 2. *Predict, then run.* Set `length = 20`. What is the factor in the last row of the last table, and which cells of
#    the two grids are 0?
#    <details><summary>Solution</summary>
#
#    The factor is still 4, since twice the length always gives $2^2$. The same cells are 0, because the first statement
#    holds for all $L\ge5$, and for order 2 the proof for features of $i$ needs only nine tokens. The other numbers
#    change.
#
#    </details>
#
# Next: [Definition 5.1](definition_5_1_hyper_feature_attention.ipynb), which introduces the layer that multiplies
# scores.

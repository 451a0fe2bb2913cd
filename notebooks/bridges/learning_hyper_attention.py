# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 2 · Learning HyperAttention in polynomial time
# *Between Theorem 2.1 and Lemma 4.1 of Learning Linear Attention in Polynomial Time and Section 6 and Appendix G of A
# Theoretical Study of (Hyper) Self-Attention through the Lens of Interactions.*
#
# HyperAttention lets each token weigh pairs, triples or larger groups of tokens instead of single ones. Can we train it
# with a guarantee? For ordinary linear attention, one
# paper replaces training with a regression, and checks whether the data determine the result. The paper that defines
# HyperAttention trains by gradient flow, and imposes a different condition on the data. We extend the regression to
# groups of any size and compare the two papers' conditions on the data.

# %%
import math

import torch

from attention_theory.bridges.hyper_features import (
    hyper_feature_count,
    hyper_features,
    hyper_heads,
    hyper_kernel,
    score_value_features,
)
from attention_theory.bridges.hyper_learning import alternate, descend, learn_hyper_attention
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    linear_hyper_attention,
    tuple_counts,
)
from attention_theory.hyper_attention.layers.pair_gram import tuple_versatility
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.numerics import modular_rank, relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, estimate, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Let tokens be single numbers, and let heads look at pairs of tokens, which is order 3. A head then has two parameters,
# $c$ for its scores and $w$ for its values. For a pair of tokens $y$ and $z$ and the query $q$, its score is
# $c\,q\,y\,z$ and its value is $w\,y\,z$. The head adds up score times value over all pairs.
#
# Take the tokens 1 and 2, and let 2 be the query. The products of the four pairs are 1, 2, 2 and 4, with squares 1, 4,
# 4 and 16. The head therefore returns $cw\cdot2\cdot(1+4+4+16)=50\,cw$.
#
# Two heads with $(c,w)=(1,3)$ and $(2,-1)$ return $150-100=50$. The two heads have four parameters, but the output
# depends on these parameters only through $T=1\cdot3+2\cdot(-1)=1$. One labelled example determines $T$.

# %%
fig, axis = schematic.canvas(7.0, 2.5)
for head, (numbers, left) in enumerate(((["1", "3"], 0.5), (["2", "−1"], 3.4)), start=1):
    schematic.tokens(axis, numbers, (left, 3.2), lit=(0, 1), step=1.2)
    schematic.text(axis, (left + 1.05, 4.5), f"head {head}: c and w", size=9)
schematic.arrow(axis, (5.8, 3.65), (7.0, 3.65))
schematic.text(axis, (7.2, 3.65), "T = 1 · 3 + 2 · (−1) = 1", schematic.BLUE, align="left")
schematic.tokens(axis, ["1", "2"], (0.5, 0.85), step=1.2)
schematic.text(axis, (1.55, 0.45), "tokens; the query is 2", size=9)
schematic.arrow(axis, (2.75, 1.3), (3.25, 1.3), colour=schematic.QUIET)
for height, squares in ((1.35, ["1", "4"]), (0.35, ["4", "16"])):
    schematic.tokens(axis, squares, (3.4, height), step=1.2)
schematic.text(axis, (4.45, 2.55), "one square per pair", size=9)
schematic.arrow(axis, (5.8, 1.3), (7.0, 1.3), colour=schematic.QUIET)
schematic.text(axis, (7.2, 1.3), "Φ = 2 · (1 + 4 + 4 + 16) = 50", align="left")
schematic.arrow(axis, (10.7, 3.5), (11.6, 2.85))
schematic.arrow(axis, (10.7, 1.5), (11.6, 2.15), colour=schematic.QUIET)
schematic.text(axis, (12.4, 2.5), "T · Φ = 50")

# %%
show.figure(
    fig,
    name="tiny",
    caption="Two heads of order 3 and two tokens of width one. Top (blue): what is learned enters through $T$ "
    "alone. Bottom: the input enters through Φ alone.",
    alt="Two lanes that meet on the right. The upper one goes from the boxes 1 and 3 of head 1 and 2 and minus 1 of "
    "head 2 to T = 1. The lower one goes from the tokens 1 and 2 to the squares 1, 4, 4 and 16, and to Φ = 50. The "
    "output is T times Φ, 50.",
)

# %% [markdown]
# We see two lanes that meet only at the end. The weights enter through $T$, the input enters through $\Phi$, and the
# output is their product. Fitting any number of heads means fitting $T$, which is a regression. We do not even need the
# list of pairs, because $1+4+4+16$ is $(1+4)^2$. For wider tokens, $T$ and $\Phi$ are tensors, and the same is true.
#
# ## What we prove
# ### One regression in place of all heads
# An input consists of a matrix $Z$ of $n$ tokens, one per row $z_j$ of width $d$, and a query $q$, which is one of
# them. A head of order $s$ weighs tuples of $s-1$ tokens. Its scores are linear in the query and in each token of the
# tuple, and its values are linear in each token. There is no softmax. At order 2 this is linear attention.
#
# <!-- claim bridges/bridge-2-1 -->
# <blockquote>
#
# **Bridge 2.1 (What linear HyperAttention is linear in)**
#
# Let a head of order $s$ have a score tensor $C$ with $s$ axes and value tensors $W_a$ with $s-1$ axes, and let it sum
# over the tuples in $J \subseteq [n]^{s-1}$. Its outputs are linear in
#
# $$\Phi(q, Z) = q \otimes \sum_{(j_1, \dots, j_{s-1}) \in J} z_{j_1}z_{j_1}^\top \otimes \dots \otimes
# z_{j_{s-1}}z_{j_{s-1}}^\top .$$
#
# Over all tuples $\Phi = q \otimes G^{\otimes(s-1)}$ with $G = Z^\top Z$ (tokens are rows), and
#
# $$\langle \Phi(q, Z), \Phi(q', Z')\rangle = \|ZZ'^\top\|_F^{2(s-1)}\, \langle q, q'\rangle .$$
#
# With $D = d(d+1)/2$ the features span a space of dimension $\psi_s = d\binom{D+s-2}{s-1}$ over all tuples and of
# $\psi_s = d\,D^{s-1}$ over ordered tuples ($j_1 \le j_2 \le \dots$, strictly or not). Inputs of $n$ tokens, including
# the query, reach this dimension for every $n \ge s$.
#
# </blockquote>
# <!-- /claim -->
#
# At order 2, $\Phi=q\otimes G$ contains the cubic features of linear attention, and the kernel is
# $\|ZZ'^\top\|_F^2\langle q,q'\rangle$. Each further member of the tuple contributes another factor of $G$. With these
# features, learning is a regression.
#
# <details><summary>Two tokens of width two in numbers</summary>
#
# For the tokens $(1,0)$ and $(1,2)$ and the query $(1,2)$,
#
# $$G=\begin{pmatrix}1&1\\0&2\end{pmatrix}\begin{pmatrix}1&0\\1&2\end{pmatrix}=\begin{pmatrix}2&2\\2&4\end{pmatrix},
# \qquad q\otimes G=\Bigl(1\cdot G,\;2\cdot G\Bigr).$$
#
# These are the eight numbers 2, 2, 2, 4 and 4, 4, 4, 8.
#
# </details>
#
# <!-- claim bridges/bridge-2-2 -->
# <blockquote>
#
# **Bridge 2.2 (Learning linear HyperAttention in polynomial time)**
#
# On $N$ samples, the smallest squared loss of linear HyperAttention of order $s$ with any number of heads is that of a
# regression on $\Phi$. Some $\min(d^s, d_\mathrm{out}\,d^{s-1})$ heads attain this loss, and a singular value
# decomposition of the solution gives these heads. With its kernel, the regression takes
# $O(N^2n^2(d+sn)+N^3+N^2d_\mathrm{out})$ operations, which is also polynomial in the order, as is the cost of every
# prediction.
#
# </blockquote>
# <!-- /claim -->
#
# ### When the data determine the answer
# For linear attention a *certificate*, the rank of a matrix $\Lambda$, shows whether all best fits compute the same
# function ({claim:ref}`Lemma 4.1 <linear-attention/lemma-4-1>`). The certificate carries over to every order, and we
# can count the samples that it needs.
#
# <!-- claim bridges/bridge-2-3 -->
# <blockquote>
#
# **Bridge 2.3 (The certificate at any order, and how many samples suffice)**
#
# Let there be at least $\min(d^s, d_\mathrm{out}\,d^{s-1})$ heads. All minimisers of the squared loss agree at an input
# if and only if the features $\Phi$ of this input are in the span of the samples' features. Therefore the minimisers
# compute the same function on inputs of every length if and only if $\Lambda$, the mean of $\Phi\Phi^\top$, has rank
# $\psi_s$. Fewer than $\psi_s$ samples never suffice. If the samples have $n \ge s$ tokens and their distribution has a
# density, $\psi_s$ samples suffice with probability one.
#
# </blockquote>
# <!-- /claim -->
#
# The paper on hyper-attention requires *versatile* data ({claim:ref}`Assumption 4.2 <hyper-attention/assumption-4-2>`).
# How do the two conditions compare?
#
# <!-- claim bridges/bridge-2-4 -->
# <blockquote>
#
# **Bridge 2.4 (The certificate and data versatility)**
#
# Let the samples be all positions of sequences over $S$ symbols. Data versatility (Assumptions 4.2 and G.10) says that
# for every symbol, the tuple counts of the sequences that contain it have the highest possible rank, which is $S^{s-1}$
# for ordered sums. For one-hot tokens and ordered sums, versatility holds if and only if all minimisers agree on all
# sequences of symbols. For every other embedding, versatility is still sufficient for this agreement. It is still
# necessary where the vectors of the symbols are independent, but need not be necessary where these vectors are
# dependent. The certificate of Bridge 2.3 requires more: on one-hot tokens it never holds if $S \ge 2$. It can hold
# without versatility where there are many symbols and $d$ is small. Neither condition implies the other.
#
# </blockquote>
# <!-- /claim -->
#
# ### Against gradient descent
# <!-- claim bridges/bridge-2-5 -->
# <blockquote>
#
# **Bridge 2.5 (The regression against gradient descent)**
#
# The tasks are colliding agents (order 2), ternary synergies (order 3), and teachers of orders 3 and 4 on real-valued
# tokens. With samples that determine the task, the regression recovers the task to within rounding error at other
# lengths. Adam on one head, from random starts and after 600 steps at the best of three rates, has an error of
# $10^{-6}$ or more relative to the size of the labels.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **Features.** We multiply out the contribution of one tuple. The entries of $C$ and $W_a$ form one product, and those
# of $q$ and the $z_j$ form another. Each token of the tuple occurs twice, once in the score and once in the value,
# which gives $z_jz_j^\top$. Summing the first product over heads and the second over tuples, we obtain $T$ and $\Phi$.
#
# <details><summary>Proof of Bridge 2.1</summary>
#
# *Linear.* A tuple adds $C(q, z_{j_1}, \dots)\, W_a(z_{j_1}, \dots)$ to output $a$. Written out, this is
#
# $$\sum_{\alpha, \beta, \xi} C_{\alpha\beta_1\dots}\, W_{a\xi_1\dots}\; q_\alpha \prod_r (z_{j_r})_{\beta_r}
# (z_{j_r})_{\xi_r} ,$$
#
# the inner product of $C \otimes W_a$, with its indices sorted, and $q \otimes \bigotimes_r z_{j_r}z_{j_r}^\top$. Now
# sum over the tuples. Over all tuples, the sum of products is the product of sums, $G^{\otimes(s-1)}$.
#
# *The kernel.* $\langle zz^\top, z'z'^\top\rangle = \langle z, z'\rangle^2$, so that $\langle G, G'\rangle =
# \sum_{j,k}\langle z_j, z'_k\rangle^2 = \|ZZ'^\top\|_F^2$, and inner products of tensor powers are powers of inner
# products. Over ordered tuples the kernel is $\langle q, q'\rangle \sum \prod_r K_{j_rk_r}$,
# $K_{jk} = \langle z_j, z'_k\rangle^2$, over pairs of such tuples; it is built member by member,
# $M \leftarrow K \circ (A^\top M A')$ from $M = K$, where $A_{jj'}$ indicates whether $j'$ may follow $j$.
#
# *No more than $\psi_s$.* Each factor $zz^\top$ is in the space of symmetric matrices, of dimension $D$. Over all
# tuples, $G^{\otimes(s-1)}$ is also a symmetric tensor over this space, and such tensors have dimension
# $\binom{D+s-2}{s-1}$.
#
# *No less.* Take tokens $x_1, \dots, x_{s-1}$, followed by a query $q$, which is also a token. For a set
# $U \subseteq [s-1]$, let $Z_U$ be the input in which the tokens $x_r$ with $r \notin U$ are replaced by 0. A tuple
# that contains a zero token adds nothing. By inclusion and exclusion,
#
# $$\sum_U (-1)^{s-1-|U|}\, \Phi(q, Z_U) = q \otimes \sum_\pi \bigotimes_r x_{\pi(r)}x_{\pi(r)}^\top ,$$
#
# where only those tuples are left that use each $x_r$, hence each exactly once and $q$ not at all. For an ordered sum
# this is one order $\pi$, and for all tuples it is every permutation. The matrices $xx^\top$ span the symmetric ones.
# Therefore, for an ordered sum, the right-hand sides span $\mathbb R^d \otimes \mathrm{Sym}^{\otimes(s-1)}$, and over
# all tuples $\mathbb R^d$ times the symmetric tensors. These inputs have $s$ tokens. For longer inputs, we set the
# additional tokens to 0. $\square$
#
# </details>
#
# **Learning.** A matrix of rank $r$ is a sum of $r$ rank-one terms, and each rank-one term is a head. "Any number of
# heads" therefore means "any $T$". Because the kernel of $\Phi$ has a closed form, we never write down $\Phi$ itself.
#
# <details><summary>Proof of Bridge 2.2</summary>
#
# By Bridge 2.1 a model with heads $(C_h, W_h)$ has the outputs $T\Phi$, where $T$, written as a matrix with the indices
# $(\alpha, \beta_1, \dots, \beta_{s-1})$ of scores for rows and $(a, \xi_1, \dots, \xi_{s-1})$ of values for columns,
# is $\sum_h \mathrm{vec}(C_h)\,\mathrm{vec}(W_h)^\top$. Every matrix of this shape is such a sum of as many terms as
# its rank, at most $\min(d^s, d_\mathrm{out}\,d^{s-1})$, which a singular value decomposition gives. Therefore the
# models with any number of heads are, taken together, exactly the linear functions of $\Phi$, and the lowest loss among
# them is that of the regression.
#
# The regression needs only the inner products of the samples: the solution of smallest norm is a combination of
# $\Phi(q_i, Z_i)$, with weights from a linear system of $N$ equations, $O(N^3 + N^2d_\mathrm{out})$. An inner product
# takes $n^2d$ multiplications for $K$. Over all tuples, the kernel then takes one power; over ordered tuples, it takes
# two products of $n \times n$ matrices for each further member, $O(sn^3)$. $\square$
#
# </details>
#
# **Certificate.** A regression determines $T$ on the span of the features that it has seen, and says nothing about the
# rest. We therefore test whether the samples span everything.
#
# <details><summary>Proof of Bridge 2.3</summary>
#
# The minimisers are the matrices $T$ that solve the normal equations, which fix $T\Phi_i$ for all samples $i$.
# Minimisers exist, and by Bridge 2.2 there are enough heads for each of them. If $\Phi = \sum_i c_i\Phi_i$, then
# $T\Phi = \sum_i c_iT\Phi_i$ is fixed. If $\Phi$ is not in the span, let $t \ne 0$ be its component orthogonal to the
# span. Then $\langle t, \Phi_i\rangle = 0$ for all $i$, and $\langle t, \Phi\rangle = \|t\|^2 > 0$. If $T$ is a
# minimiser, so is $T + e_at^\top$, and these two minimisers differ at $\Phi$. This proves the first sentence.
#
# All inputs together span $\psi_s$ dimensions (Bridge 2.1). The features of all inputs lie in the span of the samples
# if and only if that span has dimension $\psi_s$, which is the rank of $\Lambda$; and $N$ samples span at most $N$
# dimensions.
#
# By Bridge 2.1, there are inputs $Z_1, \dots, Z_{\psi_s}$ of $n \ge s$ tokens whose features $\Phi$ are independent. In
# coordinates of the spanned space, the determinant of $\psi_s$ features is a polynomial in the entries of the inputs.
# This polynomial is not zero at these inputs, so its zeros have measure zero. $\square$
#
# </details>
#
# **Versatility.** With one-hot tokens, $\Phi$ counts tuples of symbols. Versatile data span all counts that sequences
# of symbols can have. The certificate also requires the samples to span all features that real-valued inputs can have.
#
# <details><summary>Proof of Bridge 2.4</summary>
#
# *One-hot tokens, ordered sums.* Let $\Gamma(Z)$ count the tuples of positions of $Z$ by the symbols that they hold.
# For a query with the symbol $a$, $\Phi(e_a, Z) = e_a \otimes \Gamma(Z)$, where the entry of $\Gamma$ at $(p_1, \dots)$
# is at the coordinate $\bigotimes_r e_{p_r}e_{p_r}^\top$, and all other coordinates are 0. The samples therefore span
# the direct sum, over symbols $a$, of $e_a$ times the span of the counts of sequences that contain $a$. Its dimension
# is the sum of the ranks in the condition. All sequences span all of $e_a \otimes \mathbb R^{S^{s-1}}$: by inclusion
# and exclusion over the words that arise from $a\,w_1 \dots w_{s-1}$ by leaving out some of the $w_r$, with $a$ as the
# query, as in the proof of Bridge 2.1, what is left is the one ordered tuple of the $w_r$. Together with Bridge 2.3,
# this proves the second sentence.
#
# *Other embeddings.* If the symbol $a$ has the vector $b_a$, a linear map, the same for all inputs, takes the one-hot
# features to the features of the embedded tokens. Therefore, an input whose features are in the span of the samples
# stays there. Where the vectors $b_a$ are independent, so are the matrices $b_ab_a^\top$, and the map loses nothing, so
# features outside the span stay outside. Where the vectors are dependent, such features may move into the span, as in
# the last row of the table below.
#
# *The certificate.* One-hot features lie in a space of dimension at most $S \cdot S^{s-1}$, below
# $\psi_s = S\,D^{s-1}$, for $D = S(S+1)/2 > S$. We show below that many symbols in few dimensions can satisfy the
# certificate without versatility. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
n = 6  # tokens of an input, from 4 to 8
heights = 10  # heights of the colliding agents, from 6 to 14
types = 3  # types in the ternary synergies, from 2 to 4
starts = 8  # starts of gradient descent, from 4 to 20
steps = 600  # of gradient descent at each rate, from 100 to 2000
seed = 0  # seed of every draw, at least 0
device = "cpu"  # where gradient descent runs, one of "cpu", "cuda"

# %%
require(n=(n, 4, 8), heights=(heights, 6, 14), types=(types, 2, 4), starts=(starts, 4, 20), steps=(steps, 100, 2000))
require(seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))
source = generator(seed)

# %% [markdown]
# ### Features, kernel, rank
# We write out the layer tuple by tuple and compare it with coefficients times features. Then we compare the kernel with
# inner products of features.

# %%
orders, sums = (2, 3, 4), ("all", "le", "lt", "ge", "gt")
layer_gap, kernel_gap, wrong_power = {}, {}, {}
for order in orders:
    for sum_over in sums:
        tokens, others = normal(6, n, 2, seed=source), normal(4, n + 1, 2, seed=source)
        features = hyper_features(tokens[:, -1], tokens, order, sum_over)
        coefficients = normal(2, features.shape[1], seed=source)
        by_heads = [
            linear_hyper_attention(tokens, score, value, sum_over)[:, -1]
            for score, value in hyper_heads(coefficients, 2, order)
        ]
        layer_gap[f"order {order}, {sum_over}"] = relative_error(sum(by_heads), features @ coefficients.mT)
        written = features @ hyper_features(others[:, -1], others, order, sum_over).mT
        kernels = [
            hyper_kernel(tokens[:, -1], tokens, others[:, -1], others, power, sum_over) for power in (order, order + 1)
        ]
        kernel_gap[f"order {order}, {sum_over}"] = relative_error(kernels[0], written)
        wrong_power[f"order {order}, {sum_over}"] = relative_error(kernels[1], written)

# %% [markdown]
# We compute ranks exactly, with integers modulo a prime, on slightly more random inputs than there are features.


# %%
def rank_of(width, order, sum_over, tokens):
    """The exact rank, modulo a prime, of the features of a few more random inputs than there are features."""
    count = hyper_feature_count(width, order, sum_over) + 4
    whole = torch.randint(-9, 10, (count, tokens, width), generator=source)
    return modular_rank(hyper_features(whole[:, -1], whole, order, sum_over, scaled=False))


# %%
kinds = [
    (2, 2, "all"),
    (3, 2, "all"),
    (2, 3, "all"),
    (3, 3, "all"),
    (2, 3, "le"),
    (2, 3, "lt"),
    (2, 4, "all"),
    (2, 4, "le"),
]
ranks = {kind: [rank_of(*kind, tokens) for tokens in range(1, kind[1] + 2)] for kind in kinds}
show.table(
    ["d", "order s", "sum", "ψ_s", "rank by tokens 1, 2, ..., s + 1"],
    [[*kind, hyper_feature_count(*kind), ", ".join(map(str, found))] for kind, found in ranks.items()],
)

# %% [markdown]
# The rank reaches $\psi_s$ with $s$ tokens. With one token fewer, the rank is smaller for ordered sums. For sums over
# all tuples, the rank may or may not be smaller. [Bridge 7](too_few_tokens.ipynb) counts both.
#
# ### One head, or all of them
# We draw labels at random, so that no model fits them. We use 40 samples with $d=2$. At order 3, a sample has 18
# features.

# %%
noisy, labels = normal(40, n, 2, seed=source), normal(40, 1, seed=source)
regression = learn_hyper_attention(noisy[:, -1], noisy, labels, 3, "le")
explicit = hyper_features(noisy[:, -1], noisy, 3, "le")
least = (explicit @ least_squares(explicit, labels).mT - labels).square().mean()
by_kernel = (regression(noisy[:, -1], noisy) - labels).square().mean()
heads = hyper_heads(regression.coefficients(), 2, 3)
from_heads = sum(linear_hyper_attention(noisy, score, value, "le")[:, -1] for score, value in heads)
by_heads = (from_heads - labels).square().mean()

# %% [markdown]
# What loss do heads reach without this regression? With the values fixed, finding the scores is a regression, and
# vice versa. We alternate between the two regressions, and no step raises the loss. We try one head and four heads,
# from several starts.

# %%
noisy_matrix = score_value_features(noisy[:, -1], noisy, 3, "le")


def reached_with(count):
    """Training losses after 60 rounds with so many heads, above the least one and relative to it."""
    outputs = alternate(noisy_matrix, normal(starts, count, 4, seed=source), labels[:, 0], 60)
    return (outputs - labels[:, 0]).square().mean(dim=1) / least - 1


one_head, four_heads = reached_with(1), reached_with(4)
print(f"{len(heads)} heads; loss above the least, relative: one head {one_head.min():.2g}, four {four_heads.min():.2g}")

# %% [markdown]
# Four heads reach the loss of the regression. One head stays at least 14 % above this loss from every start, so on
# these noisy labels the best fit needs several heads.
#
# ### How many samples
# A teacher with one head labels $\psi_s$ samples, and then one sample fewer. We compare the fits with the teacher on
# inputs that are longer by three tokens. With one sample fewer, we also build a second minimiser: to the first one, we
# add the direction that the samples do not show.


# %%
def recovery(width, order, sum_over):
    """Relative error on longer inputs from ψ samples and from one fewer, and the gap of a second minimiser there."""
    count = hyper_feature_count(width, order, sum_over)
    score, value = normal(*[width] * order, seed=source), normal(*[width] * (order - 1), 1, seed=source)
    samples, fresh = normal(count, n, width, seed=source), normal(50, n + 3, width, seed=source)
    answers, truth = (linear_hyper_attention(one, score, value, sum_over)[:, -1] for one in (samples, fresh))
    seen, met = (hyper_features(one[:, -1], one, order, sum_over) for one in (samples, fresh))
    full, fewer = (least_squares(seen[:many], answers[:many], 1e-13) for many in (count, count - 1))
    inside = torch.linalg.svd(seen[:-1], full_matrices=False)[2][: count - 1]
    unseen = met[0] - inside.mT @ (inside @ met[0])
    twin = fewer + unseen / unseen.norm() * fewer.norm()
    gap = relative_error(met @ twin.mT, met @ fewer.mT)
    kept = relative_error(seen[:-1] @ twin.mT, answers[:-1])
    return relative_error(met @ full.mT, truth), relative_error(met @ fewer.mT, truth), gap, kept


# %%
recovered = {kind: recovery(*kind) for kind in kinds}
show.table(
    [
        "d",
        "order s",
        "sum",
        "samples ψ_s",
        "error",
        "one fewer: error",
        "gap of a second minimiser",
        "its training error",
    ],
    [[*kind, hyper_feature_count(*kind), *found] for kind, found in recovered.items()],
)

# %% [markdown]
# With $\psi_s$ samples we recover the teacher at every order and for either kind of sum. With one sample fewer we do
# not, and the last two columns show why: another function has the same training loss but differs elsewhere.
#
# ### Two conditions on data
# We take six sets of sequences, whose tokens are one-hot or random integer vectors, at order 3 with $j_1\le j_2$. The
# outputs at other inputs are determined if these inputs do not raise the rank of the features.

# %%
unit, whole = torch.eye(5, dtype=torch.int64), torch.randint(-9, 10, (11, 3), generator=source)
draws = {
    "3 symbols, one-hot, 60 sequences": (3, unit[:3, :3], 60, 5, False),
    "3 symbols, one-hot, 5 sequences": (3, unit[:3, :3], 5, 5, False),
    "5 symbols, one-hot, 200 without repeats": (5, unit, 200, 4, True),
    "3 symbols, a random basis, 5 sequences": (3, whole[:3], 5, 5, False),
    "2 symbols, width 2, 60 sequences": (2, whole[3:5, :2], 60, 5, False),
    "6 symbols, width 2, 12 sequences": (6, whole[5:, :2], 12, 5, False),
}


def every_position(symbols, table):
    """Queries and tokens of all positions of embedded sequences."""
    tokens = table[symbols]
    return tokens.flatten(0, 1), tokens.repeat_interleave(symbols.shape[1], dim=0)


# %%
def conditions(size, table, count, length, unique):
    """Both conditions, the rank over symbols, the rank of the features, and by how much other inputs raise it."""
    symbols, width = sample_sequences(count, length, size, source, unique), table.shape[1]
    over_symbols = tuple_versatility(symbols, size).ranks
    others = torch.randint(-9, 10, (60, 7, width), generator=source)
    inputs = [
        every_position(symbols, table),
        every_position(sample_sequences(20, 7, size, source), table),
        (others[:, -1], others),
    ]
    seen, *asked = (hyper_features(*one, 3, "le", scaled=False) for one in inputs)
    rank = modular_rank(seen)
    raised = [modular_rank(torch.cat([seen, one])) - rank for one in asked]
    versatile, certified = bool((over_symbols == size**2).all()), rank == hyper_feature_count(width, 3, "le")
    return versatile, certified, int(over_symbols.sum()), rank, *raised


# %%
compared = {name: conditions(*one) for name, one in draws.items()}
show.table(
    [
        "data",
        "versatile",
        "certificate",
        "sum of the ranks",
        "rank of Φ",
        "other sequences raise it by",
        "other inputs by",
    ],
    [[name, *found] for name, found in compared.items()],
)

# %% [markdown]
# The first set is versatile but not certified, and the last is certified but not versatile. You can also see what each
# condition is good for. Where the data are versatile, other sequences add no rank. Where the data are certified, no
# input adds rank.
#
# ### Against gradient descent
# We take four tasks. In *colliding agents*, each agent pays 1 for every agent within reach on a loop of heights
# (order 2, one-hot). In *ternary synergies*, one random table says which triples of types are allied, and a second
# table says what a pair of types adds ($j<k$, order 3, one-hot). The other two are one-head teachers on Gaussian
# tokens: one of order 3, summed over ordered tuples, and one of order 4, summed over all tuples.


# %%
def one_hot_task(size, effect, weights, sum_over, counts, length):
    """Training and test rows: queries, tokens, labels, and symbols times counts as the layer of one head reads them."""
    table, parts = torch.eye(size, dtype=torch.float64), []
    for count, tokens in ((counts, length), (60, length + 3)):
        symbols = sample_sequences(count, tokens, size, source)
        labels = aggregate_tuples(symbols, effect, weights, sum_over).flatten()
        queries, rows = every_position(symbols, table)
        tuples = tuple_counts(symbols, size, effect.ndim - 1, sum_over).repeat_interleave(tokens, dim=0)
        parts.append((queries, rows, labels, queries[:, :, None] * tuples[:, None, :]))
    return parts


# %%
def teacher_task(order, sum_over):
    """The same for a teacher of one head and width 2 on Gaussian tokens, with three samples for each feature."""
    score, value = normal(*[2] * order, seed=source), normal(*[2] * (order - 1), 1, seed=source)
    parts = []
    for count, tokens in ((3 * hyper_feature_count(2, order, sum_over), n), (200, n + 3)):
        rows = normal(count, tokens, 2, seed=source)
        labels = linear_hyper_attention(rows, score, value, sum_over)[:, -1, 0]
        parts.append((rows[:, -1], rows, labels, score_value_features(rows[:, -1], rows, order, sum_over)))
    return parts


# %%
allied = (torch.rand(types, types, types, generator=source) < 0.4).double()
pair_weights = normal(types, types, 1, seed=source)
window, fee = window_matrix(heights, 1), -torch.ones(heights, 1, dtype=torch.float64)
tasks = {
    "colliding agents": (2, "all", one_hot_task(heights, window, fee, "all", 12 * heights, 5)),
    "ternary synergies": (3, "lt", one_hot_task(types, allied, pair_weights, "lt", 20 * types, 6)),
    "teacher, order 3": (3, "le", teacher_task(3, "le")),
    "teacher, order 4": (4, "all", teacher_task(4, "all")),
}


# %%
def by_regression(order, sum_over, parts, share=1.0):
    """Largest error at longer inputs, over the largest label, from a share of the training rows."""
    (queries, rows, labels, _), (new_queries, new_rows, truth, _) = parts
    kept = int(share * len(labels))
    model = learn_hyper_attention(queries[:kept], rows[:kept], labels[:kept, None], order, sum_over, 1e-11)
    return relative_error(model(new_queries, new_rows)[:, 0], truth)


exact = {name: by_regression(*task) for name, task in tasks.items()}
starved = {name: by_regression(*task, share=0.25) for name, task in tasks.items() if "teacher" in name}

# %% [markdown]
# Gradient descent trains one head, which is enough for each of the tasks. We run Adam at three rates and take the rate
# with the smallest median error. For the two teachers, we also train $d^{s-1}$ heads, the largest number that can be
# needed, and try alternating least squares.


# %%
def by_descent(name, parts, rate, heads=1):
    """Relative errors of all starts, of the root mean square of the labels, after descent at a rate."""
    labels, features, truth, others = (one.to(device) for part in parts for one in part[2:])
    formula = "nuv,shuv,shv->sn" if "teacher" not in name else "nuv,shu,shv->sn"
    size = features.square().mean().sqrt() * math.sqrt(features[0].numel())
    shape = features.shape[1:] if "teacher" not in name else features.shape[1:2]
    begin = (normal(starts, heads, *one, seed=source).to(device) for one in (shape, features.shape[2:]))
    found = descend(
        lambda c, w: torch.einsum(formula, features / size, c, w), *begin, labels / labels.std(), steps, rate
    )
    outputs = torch.einsum(formula, others / size, found.scores, found.values) * labels.std()
    return ((outputs - truth).square().mean(dim=1).sqrt() / truth.square().mean().sqrt()).cpu()


# %%
def at_best_rate(name, parts, heads=1):
    """The errors of the starts at the best of three rates."""
    found = (by_descent(name, parts, rate, heads) for rate in (0.1, 0.03, 0.01))
    return min(found, key=lambda errors: errors.median().item())


errors = {name: at_best_rate(name, parts) for name, (_, _, parts) in tasks.items()}
many_heads = {
    name: at_best_rate(name, parts, 2 ** (order - 1)) for name, (order, _, parts) in tasks.items() if "teacher" in name
}


# %%
def in_turns(parts):
    """Relative training errors of the starts."""
    _, _, labels, features = parts[0]
    outputs = alternate(features, normal(starts, 1, features.shape[2], seed=source), labels, 60)
    return (outputs - labels).square().mean(dim=1).sqrt() / labels.square().mean().sqrt()


# %%
turns = {name: in_turns(parts) for name, (_, _, parts) in tasks.items() if "teacher" in name}


def ends_of(found, name):
    """The least and the largest error of a task, or two empty places."""
    return (found[name].min(), found[name].max()) if name in found else ("", "")


heading = ["task", "order", "samples", "regression", "Adam, one head: best", "median", "worst"]
heading += ["all heads: best", "worst", "in turns, training: best", "worst"]
rows = []
for name, (order, _, parts) in tasks.items():
    best, worst = ends_of(errors, name)
    rows += [[name, order, len(parts[0][2]), exact[name], best, errors[name].median(), worst]]
    rows[-1] += [*ends_of(many_heads, name), *ends_of(turns, name)]
show.table(heading, rows)

# %%
fig, axis = show.axes(width=6.4, height=3.2)
for place, name in enumerate(tasks):
    axis.semilogy(
        [place] * starts, errors[name], "o", color=show.COLOURS[1], alpha=0.5, label=None if place else "Adam"
    )
    value = max(exact[name], 1e-16)
    axis.semilogy([place], [value], "^", color=show.COLOURS[0], label=None if place else "regression")
axis.set_xticks(range(len(tasks)), list(tasks))
axis.set(ylabel="error at longer inputs", ylim=(1e-17, 10))
axis.legend(loc="center right")
show.figure(
    fig,
    name="errors",
    caption="Relative error at longer inputs. Each dot is a start of gradient descent, at the best of three rates; "
    "each triangle is the regression on the same samples.",
    alt="Four columns on a logarithmic axis. Triangles below 1e-13 in each; dots between 1e-3 and 1, far above.",
)

# %% [markdown]
# We see all triangles at rounding level, and all dots many orders of magnitude above this level. With $d^{s-1}$
# heads, the mean exponents of the error on the two teachers are $-1.0$ and $-0.7$, instead of $-0.7$ and $-0.6$ with
# one head.
#
# ## How we checked
# For the features, we require agreement to within rounding error and the exact rank. As controls, the kernel of the
# next order should disagree, and ordered sums should lose rank with one token fewer.

# %%
named = {kind: "d = {}, s = {}, {}".format(*kind) for kind in kinds}
reached = {name: ranks[kind][kind[1] - 1] for kind, name in named.items()}
longer = {name: ranks[kind][-1] for kind, name in named.items()}
wanted = {name: hyper_feature_count(*kind) for kind, name in named.items()}
one_fewer = {name: ranks[kind][kind[1] - 2] for kind, name in named.items() if kind[2] != "all"}

claim = Claim("bridges/bridge-2-1")
claim.at_most("layer written out, against coefficients times features", layer_gap, 1e-10)
claim.at_most("kernel against features", kernel_gap, 1e-10)
claim.control.at_most("kernel of the next order against features", min(wrong_power.values()), 1e-10)
claim.equal("rank at n = s", reached, wanted, of="proof")
claim.equal("rank at n = s + 1", longer, wanted)
claim.control.equal("ordered sums, rank at n = s - 1", one_fewer, {name: wanted[name] for name in one_fewer})
claim.verdict()

# %% [markdown]
# We compare three losses: the loss from the kernel, the loss of the heads, and the loss of least squares on explicit
# features. As a control, we test whether one head reaches the same loss.

# %%
claim = Claim("bridges/bridge-2-2")
claim.close("loss from the kernel less least squares, relative", by_kernel / least, 1, atol=1e-6)
claim.close("loss of the heads less least squares, relative", by_heads / least, 1, atol=1e-6, of="proof")
claim.at_most("number of heads", len(heads), 2**2)
claim.at_most("four heads by turns: loss above the regression's, relative", four_heads.abs().max(), 1e-6)
claim.at_least("one head: loss above the regression's, relative, least", one_head.min(), -1e-9)
claim.control.at_most("one head: the same", one_head.min(), 1e-3)
claim.verdict()

# %% [markdown]
# Here the control has one sample fewer.

# %%
named = {str(kind): found for kind, found in recovered.items()}
claim = Claim("bridges/bridge-2-3")
claim.at_most("ψ samples: error on longer inputs", {kind: found[0] for kind, found in named.items()}, 1e-5)
fewer = min(found[1] for found in named.values())
claim.control.at_most("one sample fewer: least error", fewer, 1e-5)
claim.at_most("second minimiser: training error", {kind: found[3] for kind, found in named.items()}, 1e-5, of="proof")
claim.at_least("second minimiser: gap on longer inputs", min(found[2] for found in named.values()), 1e-5)
claim.verdict()

# %% [markdown]
# For the two conditions, all ranks are exact. As a control, we take sequences in which no symbol repeats. They cannot
# show every tuple, so other sequences should add rank.

# %%
independent = {name: found for name, found in compared.items() if "one-hot" in name or "basis" in name}
enough = [found for found in compared.values() if found[0] or found[1]]
first, *_, last = compared.values()

claim = Claim("bridges/bridge-2-4")
block_ranks = {name: found[2] for name, found in independent.items()}
claim.equal(
    "independent vectors: rank of Φ", {name: one[3] for name, one in independent.items()}, block_ranks, of="proof"
)
agree = sum(found[0] == (found[4] == 0) for found in independent.values())
claim.equal("such sets that are versatile just if all sequences are determined", agree, len(independent))
claim.equal("either condition: rank that other sequences add, most", max(found[4] for found in enough), 0)
claim.true("versatile and not certified", (first[0], first[1]) == (True, False))
claim.true("certified and not versatile", (last[0], last[1]) == (False, True))
other = sum(found[1] != (found[5] == 0) for found in compared.values())
claim.equal("sets certified though an input is not determined, or the other way round", other, 0)
unique = compared["5 symbols, one-hot, 200 without repeats"]
claim.control.equal("no symbol twice: rank that other sequences add", unique[4], 0)
claim.verdict()

# %% [markdown]
# We judge gradient descent by the mean exponent of its error over the starts. As a control, the regression receives
# only a quarter of the samples, so it should also be wrong.

# %%
claim = Claim("bridges/bridge-2-5")
claim.at_most("regression, largest error at longer inputs", exact, 1e-8)
for name, found in errors.items():
    claim.at_least(f"{name}: exponent of descent's error", estimate(found.log10().tolist()), -6)
for name, found in many_heads.items():
    claim.number(f"{name}, all heads: exponent of descent's error, mean", found.log10().mean())
claim.control.at_most("teachers, a quarter of the samples: least error", min(starved.values()), 1e-8)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - We fixed the bound of $10^{-6}$ before the runs. It applies to 600 steps and one head.
# - With one-hot tokens a head has one number per tuple of symbols for its scores and one number per tuple for its
#   values. On real-valued tokens, each entry of the scores is multiplied by each entry of the values.
# - We choose the rate for each task by the test error, which favours gradient descent.
#
# </details>
#
# ## What to remember
# - A layer of HyperAttention without softmax, with any number of heads, is linear in one tensor of its input. A
#   regression finds the best fit. For sums over all tuples, its kernel is that of linear attention with one factor
#   raised to a power.
# - Almost any $\psi_s$ samples of at least $s$ tokens determine the function on inputs of every length.
# - The certificate and versatile data are two cases of one condition: the features of the inputs that we ask about lie
#   in the span of the features that we have seen.
#
# ## Exercises
#
# 1. *By hand.* Let tokens be single numbers again, and let heads look at triples, so that $\Phi$ is $q$ times the third
#    power of the sum of squares. For the tokens 1 and 1 with query 1, the label is 24. What does every best fit return
#    for the tokens 1 and 2 with query 2? How many samples do you need for $d=2$ at order 3, over all tuples?
#    <details><summary>Solution</summary>
#
#    The first $\Phi$ is $1\cdot2^3=8$, so $T=3$. The second is $2\cdot5^3=250$, so the answer is 750. For $d=2$ we have
#    $D=3$ and $\psi_3=2\binom{4}{2}=12$.
#
#    </details>
# 2. *Predict, then run.* Set `steps = 2000` instead of 600. On which of the four tasks does gradient descent come close
#    to the regression?
#    <details><summary>Solution</summary>
#
#    Gradient descent comes close only on the colliding agents. There the mean exponent falls from $-2.0$ to $-7.6$,
#    with an interval that includes $-6$. Bridge 2.5 makes its claim for 600 steps, so its verdict becomes undecided. On
#    the other tasks the mean exponent stays above $-2.4$.
#
#    </details>
#
# Next: [Bridge 3](how_much_hyper_attention_memorises.ipynb), because heads that can be learned raise the next question:
# how many arbitrary answers can they store?

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond Assumption 1 · Queries need only differ
# *Our addition to Theorem 1 of Mahdavi, Liao and Thrampoulidis (Section 4).*
#
# Theorem 1 requires queries that point in many directions, and keys that are as wide as the context is long. Are both
# conditions needed? If all examples share one context of independent tokens, neither is. The queries may all be on one
# line, and keys of width one are enough, as long as no two queries are equal or opposite.

# %%
from itertools import combinations

import mpmath
import torch

from attention_theory.memorization.attention import Examples, capacity, features, random_heads
from attention_theory.memorization.exact_rank import exact_features
from attention_theory.memorization.examples import integer_vectors, sample_examples
from attention_theory.numerics import least_norm_solution, modular_rank, numerical_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Take one head and a context of two tokens. The softmax weight of the first token is $\sigma(s)=1/(1+e^{-s})$, where
# $s$ is a multiple of the query $e$. Let three queries be the numbers 1, 2 and 3, and let two heads have $s=e$ and
# $s=2e$:
#
# | query | constant | head 1 | head 2 |
# | --- | --- | --- | --- |
# | 1 | 1 | 0.73 | 0.88 |
# | 2 | 1 | 0.88 | 0.98 |
# | 3 | 1 | 0.95 | 1.00 |
#
# The three rows are independent, although all queries are multiples of one number, because the curve $\sigma$ bends.
# Now add the queries $-1$ and $-2$. Because $\sigma(-s)=1-\sigma(s)$, the rows of 1 and $-1$ add up to $(2,1,1)$, and
# so do the rows of 2 and $-2$. These four rows are dependent, no matter how many heads we take.

# %%
fig, axis = schematic.canvas(height=2.4)
steps = torch.linspace(-3.4, 3.4, 120)
axis.plot(7 + 1.8 * steps, 0.7 + 3.2 * torch.sigmoid(steps), color=schematic.QUIET, lw=1.4)
for query in (1, 2, 3, -1, -2):
    height = 0.7 + 3.2 * torch.sigmoid(torch.tensor(float(query))).item()
    colour = schematic.BLUE if query > 0 else schematic.VERMILION
    axis.plot(7 + 1.8 * query, height, "o", color=colour, markersize=7)
    schematic.text(axis, (7 + 1.8 * query, 0.25), str(query), colour)
    if query < 3:
        axis.plot([7 + 1.8 * query, 7 - 1.8 * query], [height, 4.6 - height], color=colour, lw=0.5)

# %%
show.figure(
    fig,
    name="tiny",
    caption="The weight of the first token as a function of the query, for a head with s = e.",
    alt="A rising curve with dots at 1, 2 and 3, and at -1 and -2. Straight lines through the middle of the curve "
    "join 1 with -1 and 2 with -2.",
)

# %% [markdown]
# The dots of opposite queries are symmetric about the middle of the curve. The three dots on the right are not on a
# straight line.
#
# ## The statement
# All examples share a *context* $E$ of $n$ tokens. Each of $H$ heads has keys of width $d_h$, computes softmax weights
# from the query, and averages the tokens. For each of $T$ examples, the averages of all heads form one row of the
# matrix $Z$. If the rows are independent, a linear read-out can give the examples any labels of $d_\mathrm{out}$
# numbers.
#
# <!-- claim memorization/queries-that-differ -->
# <blockquote>
#
# **Beyond Assumption 1 (Queries need only differ, and keys of width one are enough)** *Section 4, Assumption 1 and
# Theorem 1*
#
# Let all examples share one context of $n\ge2$ linearly independent tokens, and let no query be 0 and no two queries be
# equal or opposite. Then $\mathrm{rank}\,Z=\min(T,H(n-1)+1)$ for almost all weights, for every $d_h\ge1$. With
# $d_v,d\ge d_\mathrm{out}$ the layer memorises every $T\le H(n-1)+1$ examples. For $n=2$, the rows of $Z$ of two pairs
# of opposite queries are dependent.
#
# </blockquote>
# <!-- /claim -->
#
# {claim:ref}`Bridge 3.2 <bridges/bridge-3-2>` gives the same rank for queries of which no two subsets have the same
# sum, which excludes 1, 2 and 3. Theorem 1 promises $H(\min(n,d_h)-1)+1$ examples if every $n$ queries are independent,
# and Remark 1 promises $H+1$ if only every two are. Here both numbers become $H(n-1)+1$. We do not know whether
# opposite queries lower the rank for $n\ge3$, and we do not treat separate contexts.
#
# ## Why it is true
# With keys of width one, a head maps query $t$ to a number $s_t$, multiplies it by a vector $u$ that we may choose, and
# takes the softmax. We let $u$ grow. For positive $s_t$ the largest entry of $u$ wins, and for negative $s_t$ the
# smallest. All other weights vanish exponentially, at rates that depend on $|s_t|$ and on the gaps between the entries
# of $u$. A determinant of such weights is a sum of exponentials. If one of them vanishes more slowly than all others,
# the determinant is not 0. The proof shows that there is a slowest one, as long as no two of the $|s_t|$ are equal.
#
# <details><summary>Proof for queries that differ</summary>
#
# *Reduction.* The rank of $Z$ is at most $H(n-1)+1$ (Proposition 2). It is the rank of the matrix $\Theta$ of all
# softmax weights, since $Z=\Theta\,\mathrm{diag}(E,\dots,E)$ and the rows of $E$ are independent. We may add further
# queries or leave some out, and assume $T=H(n-1)+1$. The full rank is reached for almost all weights if it is for some,
# because minors are analytic. Let each head have width one, $W_K=k_h$ and $W_Q=q$, with the same $q$ for all. The
# logits are $s_tu_h$ with $s_t=q\cdot e^{(t)}$ and $u_h=Ek_h$, which is any vector of $\mathbb R^n$. Choose $q$ outside
# the finitely many hyperplanes $q\cdot e^{(t)}=0$ and $q\cdot(e^{(t)}\pm e^{(t')})=0$. Then no $s_t$ is 0, and all
# $|s_t|$ differ. Write $\theta_i(u)\in\mathbb R^T$ for the weights of token $i$, and $\mathbf 1_+$, $\mathbf 1_-$ for
# the indicators of the rows with $s_t>0$ and $s_t<0$.
#
# *Lemma.* Let $A\subset\mathbb R^T$ be a subspace with $\mathbf 1_+,\mathbf 1_-\in A$ and codimension at least $n-1$.
# For almost all $u$, the vectors $\theta_2(u),\dots,\theta_n(u)$ are independent modulo $A$.
#
# *Proof of the lemma.* Let the rows of $C$ be $n-1$ independent vectors orthogonal to $A$. As $C\mathbf 1_-=0$, we may
# replace $\theta_n$ by $\eta=\theta_n-\mathbf 1_-$, and have to show that $G(u)=\det
# C\,(\theta_2,\dots,\theta_{n-1},\eta)=\sum_R\det C_R\;\varphi_R(u)$ is not 0 for all $u$. The sum is over the sets $R$
# of $n-1$ rows, and $\varphi_R$ is the minor of $(\theta_2,\dots,\theta_{n-1},\eta)$ on these rows. Let $u=\lambda x$
# with $x_1>x_2>\dots>x_n$ and $\lambda\to\infty$.
#
# *One minor.* Let $R$ have $r_+$ positive and $r_-=n-1-r_+$ negative rows. On a positive row $\theta_i=e^{-\lambda
# s_t(x_1-x_i)}(1+o(1))$, on a negative one $\theta_i=e^{-\lambda|s_t|(x_i-x_n)}(1+o(1))$. Expand $\varphi_R$ by the
# columns that the negative rows get (Laplace). Either $\eta$ is among these; there $\eta=-\sum_{i<n}\theta_i$, so that
# the negative rows use the tokens $J\cup\{i\}$, with $J\subset\{2,\dots,n-1\}$ and $i<n$, $i\notin J$, and the positive
# rows use $\{2,\dots,n-1\}\setminus J$. Or it is not; there $\eta=\theta_n$, the negative rows use $J$, and the
# positive ones use $\{2,\dots,n-1\}\setminus J$ and $n$. For each side alone, the slowest decay is attained once: by
# the positive rows with the tokens $2,\dots,r_++1$, larger $s_t$ with smaller $i$, and by the negative rows with the
# tokens $n-r_-,\dots,n-1$, larger $|s_t|$ with larger $i$ (rearrangement inequality). With $m=r_++1=n-r_-$ this pair
# occurs exactly once: for $r_-\ge1$ in the first case with $i=m$, $J=\{m+1,\dots,n-1\}$; for $r_-=0$ in the second with
# $J=\emptyset$. Hence $\varphi_R(\lambda x)=\pm e^{-\lambda\ell_R(x)}(1+o(1))$, where $\ell_R$ is the sum of
# $s_t(x_1-x_i)$ over the positive rows and of $|s_t|(x_i-x_n)$ over the negative ones in this pairing.
#
# *Different sets have different $\ell_R$.* Write $\ell_R=\sum_{k<n}g_k\,(x_k-x_{k+1})$. A positive row at token $i$
# adds $s_t$ to $g_1,\dots,g_{i-1}$, a negative one adds $|s_t|$ to $g_i,\dots,g_{n-1}$. Therefore $g_1>\dots>g_{m-1}$,
# where $g_{m-1}$ is the smallest positive $s_t$ of $R$, and $g_m<\dots<g_{n-1}$, where $g_m$ is the smallest $|s_t|$ of
# its negative rows. The rows of $R$ are the differences of neighbours, with $g_{m-1}$ and $g_m$ themselves. If $R$ and
# $R'$ have the same $g$ and the same $m$, they are equal. Suppose $m<m'$. By $R$ the numbers $g_m,\dots,g_{m'-1}$
# increase, by $R'$ they decrease, so that $m'=m+1$. Then $g_m$ is $|s_t|$ of a negative row and also $s_{t'}$ of a
# positive row. But all $|s_t|$ differ.
#
# *End of the lemma.* Take $x$ outside the finitely many hyperplanes $\ell_R=\ell_{R'}$. Among the $R$ with $\det
# C_R\ne0$, of which there is at least one, a single one has the smallest $\ell_R(x)$. Hence $G(\lambda x)\ne0$ for
# large $\lambda$.
#
# *All heads.* For one head, $1$ and $\theta_2,\dots,\theta_n$ span for every $\lambda>0$ a space $A_1(\lambda)$ of
# dimension $n$: divide the rows of $(e^{\lambda s_tx_i})$, which has rank $n$ as a generalised Vandermonde matrix, by
# their sums. As $\lambda\to\infty$, these spaces have, along a sequence, a limit $A_1$ of dimension $n$. It contains
# the constant vector and $\lim\theta_n=\mathbf 1_-$ (or 0, if no row is negative), and so $\mathbf 1_+$. By the lemma,
# each of the $H-1$ other heads adds $n-1$ dimensions to $A_1$, for suitable $u_h$, up to $n+(H-1)(n-1)=T$. The rank is
# not larger in a limit, so that for some $\lambda$ all heads together have rank $T$. $\square$
#
# *Labels.* If the rows of $Z$ are independent, the read-out meets any labels (Step 2 of the proof of Theorem 1).
# *Opposite queries.* For $n=2$ and $e'=-e$, every head has $\theta_1(e)+\theta_1(e')=1$. The rows of two such pairs,
# with a column of ones, satisfy row + row = row + row. $\square$
#
# </details>
#
# ## See it run
# We compute ranks without rounding. If all keys are integers times $\ln 7$, every weight is a ratio of sums of powers
# of 7. The rank modulo a prime never exceeds the true rank. The queries have both signs, and are on a line, in a plane,
# or in opposite pairs.

# %% tags=["parameters"]
heads = 4  # H, from 3 to 8
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 3, 8), seed=(seed, 0, None))
source = generator(seed)


def queries_of(kind, count, width):
    """Different queries of both signs: on a line, in a plane, or each with its opposite."""
    steps = torch.arange(1, count + 1)
    line = integer_vectors(1, width, source, 9)
    if kind == "on a line":
        return steps[:, None] * (-1) ** steps[:, None] * line
    if kind == "in a plane":
        return steps[:, None] * line + (steps[:, None] ** 2 % 7 - 3) * line.roll(1)
    return ((steps + 1) // 2)[:, None] * (-1) ** steps[:, None] * line


def rank_of(kind, heads, tokens):
    """The exact rank of Z at keys of width one, with as many examples as the statement allows."""
    width, count = tokens + 2, capacity(heads, tokens, tokens)
    maps = integer_vectors(2 * heads * width, 1, source, 9_999).view(2, heads, width, 1)
    return modular_rank(exact_features(integer_vectors(tokens, width, source), queries_of(kind, count, width), *maps))


# %%
sizes = [(heads, 2), (heads, 3), (heads, 4), (heads, 6), (2, 8), (8, 3)]
KINDS = ("on a line", "in a plane", "with opposites")
ranks = {(H, n, kind): rank_of(kind, H, n) for H, n in sizes for kind in KINDS}
show.table(
    ["H", "n", "H(n − 1) + 1", *KINDS, "Theorem 1 at width 1"],
    [
        (H, n, capacity(H, n, n), *(ranks[H, n, kind] for kind in KINDS), capacity(H, n, 1))
        for H, n in dict.fromkeys(sizes)
    ],
    caption="Exact ranks of Z, keys of width one, queries of both signs.",
)

# %% [markdown]
# On a line and in a plane, the ranks reach $H(n-1)+1$, for which Theorem 1 needs wide keys and independent queries.
# Opposite queries lower the rank for two tokens. For more tokens they lower none of these ranks, but we have no proof.
#
# ## How we checked
# As controls, we repeat queries, and use opposite queries with two tokens. We also fit random labels in floating point.

# %%
H, n, width = 4, 4, 6
repeated = queries_of("on a line", capacity(H, n, n), width)
repeated[1::2] = repeated[::2][: len(repeated[1::2])]
maps = integer_vectors(2 * H * width, 1, source, 9_999).view(2, H, width, 1)
rank_repeated = modular_rank(exact_features(integer_vectors(n, width, source), repeated, *maps))

small = sample_examples(capacity(3, 3, 3), 3, 5, seed=seed)
angles = torch.arange(1, small.count + 1, dtype=torch.float64) * 0.9  # no two equal or opposite
plane = torch.stack([angles.cos(), angles.sin()], dim=1) @ torch.eye(2, 5, dtype=torch.float64)
flat = Examples(small.contexts, 3 * plane)
labels = normal(small.count, 2, seed=seed + 1)
layer = random_heads(3, 5, 1, seed=seed + 2)
Z = features(layer, flat)
fitted = (Z @ least_norm_solution(Z, labels) - labels).abs().max()
print(f"{small.count} labels in a plane, keys of width one: residual {fitted:.1e}")

# %% [markdown]
# Finally, we compute the minors of the proof with 400 digits, for all triples of seven rows, and compare their decay
# with the predicted rates.

# %%
STEPS, ENTRIES, GROWTH = [1.0, -1.31, 1.73, -2.27, 2.93, -3.17, 3.71], [3.0, 1.937, 1.211, 0.0], 60  # s, x, lambda


def minor(rows):
    """The minor of tokens 2, ..., n - 1 and of the last token less the indicator of s < 0."""
    table = []
    for step in rows:
        powers = [mpmath.exp(GROWTH * step * entry) for entry in ENTRIES]
        weights = [power / mpmath.fsum(powers) for power in powers]
        table.append([*weights[1:-1], weights[-1] - (step < 0)])
    return mpmath.det(mpmath.matrix(table))


def rate(rows):
    """The sum of s (x_1 - x_i) and |s| (x_i - x_n) in the pairing of the proof."""
    up, down = sorted((s for s in rows if s > 0), reverse=True), sorted(s for s in rows if s < 0)
    above = sum(s * (ENTRIES[0] - x) for s, x in zip(up, ENTRIES[1:], strict=False))
    return above + sum(-s * (x - ENTRIES[-1]) for s, x in zip(down, ENTRIES[-2::-1], strict=False))


# %%
with mpmath.workdps(400):
    rates = {rows: rate(rows) for rows in combinations(STEPS, len(ENTRIES) - 1)}
    off = max(abs(float(mpmath.log(abs(minor(rows)))) / GROWTH + ell) for rows, ell in rates.items())
closest = min(abs(one - other) for one, other in combinations(rates.values(), 2))
print(f"{len(rates)} minors: rates off by at most {off:.1e}; two rates differ by at least {closest:.1e}")

# %%
claim = Claim("memorization/queries-that-differ")
for kind in KINDS[:2]:
    missing = {f"H = {H}, n = {n}": capacity(H, n, n) - ranks[H, n, kind] for H, n in sizes}
    claim.equal(f"queries {kind}, width 1: H(n - 1) + 1 less the exact rank", missing, 0)
claim.at_most("seven random labels in a plane, width 1: residual", fitted, 1e-6)
claim.at_most("35 minors: rate of decay less that of the proof", off, 1e-3, of="proof")
claim.above("35 minors: smallest difference of two rates", closest, 1e-6, of="proof")
claim.control.equal("n = 2, opposite queries: rank", ranks[heads, 2, "with opposites"], capacity(heads, 2, 2))
claim.control.equal("every query twice: rank", rank_repeated, capacity(H, n, n))
claim.verdict()

# %% [markdown]
# ## Another count
# {cite}`dana2025memorization` count how many associations an attention-only transformer with a skip connection stores:
# $Hd_h+d$, for contexts of any length. A small run shows where this number comes from. Let the values have width $d_h$,
# and give each example a separate context. The query and the values of all heads then give $d+Hd_h$ numbers for each
# example.

# %%
rows = []
for n in (2, 3, 5, 7):
    H, width, value_width = 3, 8, 2
    data = sample_examples(H * value_width + width + 4, n, width, shared=False, seed=seed + n)
    Z = features(random_heads(H, width, value_width, seed=seed), data).view(data.count, H, width)
    values = torch.einsum("thd,hdv->thv", Z, normal(H, width, value_width, seed=seed + 9)).flatten(1)
    rank = int(numerical_rank(torch.cat([data.queries, values], dim=1)))
    rows.append((n, rank, H * value_width + width, capacity(H, n, value_width)))
show.table(
    ["n", "rank of query and values", "H d_h + d", "Theorem 1"],
    rows,
    caption="H = 3, d = 8, d_h = 2, separate contexts: examples with scalar labels that a linear read-out can store.",
)

# %% [markdown]
# The rank does not depend on $n$. The skip connection contributes $d$, and every head contributes the width of its
# values. Without the skip connection and with values as wide as the tokens, the same count gives $Hd$, the number of
# columns of $Z$.
#
# ## What to remember
# - For one shared context of independent tokens, it is enough that no query is zero and no two are equal or opposite.
# - Keys of width one already let each head memorise $n-1$ examples.
# - Opposite queries are special because $\sigma(-s)=1-\sigma(s)$.
#
# ## Exercises
#
# 1. *By hand.* Take the two heads of the tiny example. Why are the rows of the queries $1$, $-1$ and $0$ dependent, if
#    each begins with a 1?
#    <details><summary>Solution</summary>
#
#    The query 0 gives the row $(1,\frac12,\frac12)$. The rows of $1$ and $-1$ add up to $(2,1,1)$, which is twice that
#    row. The query 0 is its own opposite.
#
#    </details>
# 2. *Predict, then run.* Set `heads = 8`. Which rank do the opposite queries have for $n=2$? For the queries on a line,
#    it is 9.
#    <details><summary>Solution</summary>
#
# It is 6. There are nine queries, $\pm1,\dots,\pm4$ and $-5$. The row of $-s$ is a fixed vector minus the row of $s$.
# Hence this vector and the five rows of $1,\dots,4$ and $-5$ span all nine.
#
#    </details>
#
# Next: [Remark 1](remark_1_weak_queries.ipynb), because there the paper asks how many examples a layer can store if the
# queries are less independent.

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
# conditions needed? If all examples share one context of independent tokens, neither is needed. The queries may all be
# on one line, and keys of width one are enough, as long as no two queries are equal. Only in contexts of two tokens do
# opposite queries do harm as well.

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
# With three tokens there is no such symmetry. Suppose that two of the three always have equal scores. The weight of the
# other is then $1/(1+2e^{-s})$, and its values at $s$ and $-s$ no longer add up to 1: at $\pm1$ they are 0.58 and 0.16.
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
# Let all examples share one context of $n$ linearly independent tokens, and let no two queries be equal. For almost all
# weights, for every $d_h\ge1$, $\mathrm{rank}\,Z=\min(T,H(n-1)+1)$ if $n\ge3$. If $n=2$, then
# $\mathrm{rank}\,Z=\min(H+1,T-\max(0,p-1))$, where $p$ is the number of pairs of opposite queries, and a query 0 counts
# as a pair. With $d_v,d\ge d_\mathrm{out}$ the layer memorises $T$ examples if the rank is $T$.
#
# </blockquote>
# <!-- /claim -->
#
# {claim:ref}`Bridge 3.2 <bridges/bridge-3-2>` gives the same rank for queries of which no two subsets have the same
# sum, which excludes 1, 2 and 3. Theorem 1 promises $H(\min(n,d_h)-1)+1$ examples if every $n$ queries are independent,
# and Remark 1 promises $H+1$ if only every two are, with keys of width two or more. Here both numbers become $H(n-1)+1$
# for $n\ge3$. We do not treat separate contexts.
#
# ## Why it is true
# With keys of width one, a head maps query $t$ to a number $s_t$, multiplies it by a vector $u$ that we may choose, and
# takes the softmax. We let $u$ grow. If all $s_t$ are positive, the largest entry of $u$ wins, and the other weights
# vanish exponentially, at rates that depend on $s_t$ and on the gaps between the entries of $u$. A determinant of such
# weights is a sum of exponentials, one of which vanishes more slowly than all others. So the determinant is not 0.
#
# For both signs we pull the entries of $u$ apart into two groups. Positive $s_t$ then see only the upper group, and
# negative ones only the lower. All else depends on the weight that leaks from one group into the other. For $s$ and
# $-s$ the two leaks balance if each group is a single token, which is the case $n=2$. A group of two tokens or more
# spoils the balance.
#
# <details><summary>Proof for queries that differ</summary>
#
# *Reduction.* The rank of $Z$ is at most $H(n-1)+1$ (Proposition 2). It is the rank of the matrix of all softmax
# weights, since $Z$ is this matrix times $\mathrm{diag}(E,\dots,E)$ and the rows of $E$ are independent. A rank is
# reached for almost all weights if it is for some, because minors are analytic. Let each head have width one (or more
# columns, of zeros), $W_K=k_h$ and $W_Q=q$, with the same $q$ for all. The logits are $s_tu_h$ with $s_t=q\cdot
# e^{(t)}$ and $u_h=Ek_h$, which is any vector of $\mathbb R^n$. For almost every $q$ all $s_t$ differ, and $s_t=0$ or
# $s_t=-s_{t'}$ only where the queries are 0 or opposite. Write $\theta_i(u)\in\mathbb R^T$ for the weights of token
# $i$.
#
# *Two tokens.* With $x=u_1-u_2$ a weight is $\frac12+\frac12\tanh(s_tx/2)$. So all heads span $\mathbf 1$ and the
# vectors $(\tanh(s_tx_h/2))_t$. These take opposite values at opposite queries, and 0 at 0, so that they lie in a space
# of $T-p$ dimensions, and span it with enough heads, since $\tanh(|s|x/2)$ are independent functions of $x$ for
# different $|s|>0$. If $p\ge1$, this space does not contain $\mathbf 1$, and the rank is $1+\min(H,T-p)$. If $p=0$, it
# is $\mathbb R^T$, and the rank is $\min(H+1,T)$.
#
# Let $n\ge3$. We may add further queries or leave some out, and assume $T=H(n-1)+1$.
#
# *Lemma.* Let no $s_t$ be 0, and let $A\subset\mathbb R^T$ be a subspace of codimension at least $n-1$ that contains
# the constant vector $\mathbf 1$. For almost all $u$, the vectors $\theta_2(u),\dots,\theta_n(u)$ are independent
# modulo $A$.
#
# By the lemma each head adds $n-1$ dimensions to the span of $\mathbf 1=\sum_i\theta_i$ and of the heads before it, up
# to $1+H(n-1)=T$. To prove it, let the rows of $C$ be $n-1$ independent vectors orthogonal to $A$, with columns $C_t$,
# so that $C\mathbf 1=0$. We show that $G(u)=\det(C\theta_2,\dots,C\theta_n)$ is not 0 for all $u$.
#
# *One sign.* If all $s_t>0$, the lemma holds for every $n\ge1$, even without $\mathbf 1\in A$. $G$ is
# $\sum_R\det C_R\,\varphi_R$ over the sets $R$ of $n-1$ rows, where $\varphi_R$ is the minor of
# $(\theta_2,\dots,\theta_n)$ on these rows. Let $u=\lambda x$ with $x_1>\dots>x_n$ and $\lambda\to\infty$. Then
# $\theta_i=e^{-\lambda s_t(x_1-x_i)}(1+o(1))$, and $\varphi_R=\pm e^{-\lambda\ell_R(x)}(1+o(1))$. Here $\ell_R$ is the
# sum of $s_t(x_1-x_i)$ with larger $s_t$ at smaller $i$, the slowest decay, which is attained once (rearrangement
# inequality). In $\ell_R=\sum_{k<n}g_k\,(x_k-x_{k+1})$ the number $g_{n-1}$ is the smallest $s_t$ of $R$, and
# $g_{k-1}-g_k$ the next larger one each time. Different $R$ therefore have different $\ell_R$, and for almost all $x$ a
# single $R$ with $\det C_R\ne0$ has the smallest. If all $s_t<0$, take $-u$.
#
# *Two groups.* Let $P$ and $N$ be the rows with $s_t>0$ and $s_t<0$, neither of them empty, $V_P$ and $V_N$ the spans
# of their columns, so that $V_P+V_N=\mathbb R^{n-1}$, and $c_0=C\mathbf 1_P=-C\mathbf 1_N$. Split the tokens into an
# upper group of $a+1$ and a lower one of $b+1$, with $a+b=n-2$, and add $\lambda$ to the upper entries of $u$. We
# choose the lower entries first, then the upper ones, then $\lambda\to\infty$. On $P$ the weights tend to the softmax
# of the upper tokens alone, on $N$ to that of the lower ones. Leave out the first token of each group. The others have
# the limits $\theta^P_1,\dots,\theta^P_a$ and $\theta^N_1,\dots,\theta^N_b$, and with the sum $\Theta$ of all upper
# weights $G=\pm\det(C\Theta,\dots)$, where $C\Theta\to c_0$.
#
# *Choice of the groups.* Given $v\ne0$, let $a$ be the dimension of $V_P$ modulo $v$. The columns of $N$ span the
# quotient by $V_P+\mathbb Rv$, of dimension $b$. The case of one sign, for $N$ in this quotient and then for $P$ modulo
# $v$, says that for almost all $u$ the vectors $v$, $C\theta^P_i$ and $C\theta^N_j$ are independent. If $c_0\ne0$, take
# $v=c_0$: then $G\ne0$ for large $\lambda$.
#
# *The leak.* Let $c_0=0$. Let $\delta$ be the smallest $|s_t|$ with $C_t\ne0$, and $C_\pm$ the columns of $\pm\delta$,
# or 0 where there is none. With $f(s)=\sum e^{su_i}$ over the upper group and $g(s)$ over the lower,
#
# $$e^{\lambda\delta}\,C\Theta\to c=-\frac{g(\delta)}{f(\delta)}\,C_++\frac{f(-\delta)}{g(-\delta)}\,C_- ,$$
#
# and $e^{\lambda\delta}G\to\pm\det(c,C\theta^P_1,\dots,C\theta^N_b)$. If $C_+$ and $C_-$ are multiples of one $v\ne0$,
# choose the groups for $v$. The factor of $v$ in $c$ is not 0 for all $u$. This is clear if $C_+$ or $C_-$ is 0.
# Otherwise the quotient of $f(\delta)f(-\delta)$ and $g(\delta)g(-\delta)$ would be constant, but one group has two
# tokens or more, as $n\ge3$, and for it such a product is not.
#
# If $C_+$ and $C_-$ are independent, let $W$ be their span, $a-1$ the dimension of $V_P$ modulo $W$, and $b=n-2-a$. For
# almost all lower $u$ the $C\theta^N_j$ are independent modulo $V_P+W$. Fix such a $u$, and let
# $X_\pm=\det(C_\pm,C\theta^P_1,\dots,C\theta^N_b)$. In the upper group let $u=\mu x$ with $x_1>\dots>x_{a+1}$ and
# $\mu\to\infty$, where $x_1$ is the token left out. Both are sums over sets $R$ of $a$ rows of $P$, as in the case of
# one sign, $X_+$ without the row $\delta$. In $X_-$ some $R$ with this row has a coefficient that is not 0: $C_-$,
# $C_+$ and the $C\theta^N_j$ are independent, and columns of $P$ complete them to a basis. Let the last gap,
# $y=x_a-x_{a+1}$, be much larger than the other gaps. The terms of these $R$ decay like $e^{-\mu\delta y}$ in it, all
# other terms of $X_-$ faster, and $X_+/(f(\delta)f(-\delta))$ at least like $e^{-2\mu\delta y}$. So $\det(c,\dots)$ is
# not 0 for large $\mu$. $\square$
#
# *A query 0.* Let row 0 have $s_0=0$; its weights are all $\frac1n$. Choose the first $H-1$ heads by the lemma on the
# other rows, beginning with the span of $\mathbf 1$ and $\mathbf 1_P$ there. Before the last of them its codimension is
# $2(n-1)-2\ge n-1$. Hence on the other rows $\mathbf 1_P$ is not in the span of $\mathbf 1$ and these heads, if $P$ and
# $N$ are not empty. Let $A\subset\mathbb R^T$ be that span, of codimension $n-1$, and $C$ as before, with kernel $A$.
# If $C_0=0$, the lemma on the other rows gives the last head. Otherwise $c_P=C\mathbf 1_P$ is not a multiple $\kappa
# C_0$, since $\mathbf 1_P-\kappa\,e_0$ would be in $A$. Take three groups: $a+1$ tokens raised by $\lambda$, one token,
# and $b+1$ tokens lowered by $\lambda$, with $a+b=n-3$. The single token's weights tend to 0 on $P$ and $N$, so that
# $G\to\pm\frac1n\det(C_0,c_P,C\theta^P_1,\dots,C\theta^N_b)$. With $W$ the span of $C_0$ and $c_P$ and $a$ the
# dimension of $V_P$ modulo $W$, the case of one sign, for $N$ modulo $V_P+W$ and for $P$ modulo $W$, says that this is
# not 0. If $N$ is empty, let $u_n\to-\infty$: then $C\theta_n\to\frac1nC_0$, and the case of one sign, for $n-1$ tokens
# modulo $C_0$, gives $G\ne0$. If $P$ is empty, take $-u$.
#
# *Labels.* If the rows of $Z$ are independent, the read-out meets any labels (Step 2 of the proof of Theorem 1).
# $\square$
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
    """Different queries of both signs: on a line, in a plane, or 0 and each with its opposite."""
    steps = torch.arange(1, count + 1)
    line = integer_vectors(1, width, source, 9)
    if kind == "on a line":
        return steps[:, None] * (-1) ** steps[:, None] * line
    if kind == "in a plane":
        return steps[:, None] * line + (steps[:, None] ** 2 % 7 - 3) * line.roll(1)
    return (steps // 2)[:, None] * (-1) ** steps[:, None] * line


def rank_of(kind, heads, tokens):
    """The exact rank of Z at keys of width one, with as many examples as the statement allows."""
    width, count = tokens + 2, capacity(heads, tokens, tokens)
    maps = integer_vectors(2 * heads * width, 1, source, 9_999).view(2, heads, width, 1)
    return modular_rank(exact_features(integer_vectors(tokens, width, source), queries_of(kind, count, width), *maps))


# %%
sizes = [(heads, 2), (heads, 3), (heads, 4), (heads, 6), (2, 8), (8, 3)]
KINDS = ("on a line", "in a plane", "with opposites")


def predicted(H, n, kind):
    """The rank of the statement for as many queries as H(n - 1) + 1."""
    count = capacity(H, n, n)
    pairs = (count + 1) // 2 if kind == "with opposites" else 0  # with 0, the last one may be alone
    return min(count, count - max(0, pairs - 1)) if n == 2 else count


ranks = {(H, n, kind): rank_of(kind, H, n) for H, n in sizes for kind in KINDS}
show.table(
    ["H", "n", "H(n − 1) + 1", *KINDS, "Theorem 1 at width 1"],
    [
        (H, n, capacity(H, n, n), *(ranks[H, n, kind] for kind in KINDS), capacity(H, n, 1))
        for H, n in dict.fromkeys(sizes)
    ],
    caption="Exact ranks of Z for keys of width one and queries of both signs.",
)

# %% [markdown]
# On a line and in a plane, the ranks reach $H(n-1)+1$, for which Theorem 1 needs wide keys and independent queries.
# Opposite queries and 0 lower the rank for two tokens only.
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
# Finally, we follow the proof with 400 digits. We compare the decay of the minors of one sign with the predicted rates,
# for all triples of seven rows. Then we take rows of both signs in opposite pairs, pull four tokens apart into two
# groups of two, and compare $e^{\lambda\delta}G$ with its limit.

# %%
STEPS, ENTRIES, GROWTH = [1.0, 1.31, 1.73, 2.27, 2.93, 3.17, 3.71], [3.0, 1.937, 1.211, 0.0], 60  # s, x, lambda


def weights(step, entries):
    """The softmax of so many times the entries."""
    powers = [mpmath.exp(step * entry) for entry in entries]
    return [power / mpmath.fsum(powers) for power in powers]


def minor(rows):
    """The minor of tokens 2, ..., n on these rows."""
    return mpmath.det(mpmath.matrix([weights(GROWTH * step, ENTRIES)[1:] for step in rows]))


def rate(rows):
    """The sum of s (x_1 - x_i) in the pairing of the proof."""
    pairs = zip(sorted(rows, reverse=True), ENTRIES[1:], strict=True)
    return sum(step * (ENTRIES[0] - entry) for step, entry in pairs)


# %%
with mpmath.workdps(400):
    rates = {rows: rate(rows) for rows in combinations(STEPS, len(ENTRIES) - 1)}
    off = max(abs(float(mpmath.log(abs(minor(rows)))) / GROWTH + ell) for rows, ell in rates.items())
closest = min(abs(one - other) for one, other in combinations(rates.values(), 2))
print(f"{len(rates)} minors: rates off by at most {off:.1e}; two rates differ by at least {closest:.1e}")

# %%
COLUMNS = {1: (1, 0, 2), 2: (-3, 1, 1), 3: (2, -1, -3), -1: (0, 2, -1), -2: (1, -1, 3), -3: (-1, -1, -2)}  # C, by s
UPPER, LOWER = [0.7, 0.0], [0.4, 0.0]


def combined(values):
    """C times a vector that has an entry for each s."""
    return [mpmath.fsum(column[row] * values[step] for step, column in COLUMNS.items()) for row in range(3)]


def determinant(*vectors):
    return mpmath.det(mpmath.matrix([combined(vector) for vector in vectors]))


# %%
def limit():
    """det(c, C θ^P, C θ^N), with the smallest |s| of 1."""
    at = {step: [mpmath.fsum(mpmath.exp(step * u) for u in group) for group in (UPPER, LOWER)] for step in (1, -1)}
    leak = dict.fromkeys(COLUMNS, 0) | {1: -at[1][1] / at[1][0], -1: at[-1][0] / at[-1][1]}
    first = {step: weights(step, UPPER)[0] if step > 0 else 0 for step in COLUMNS}
    other = {step: weights(step, LOWER)[0] if step < 0 else 0 for step in COLUMNS}
    return determinant(leak, first, other)


def whole():
    """G times the growth of its leak, with the upper group raised."""
    every = {step: weights(step, [*(GROWTH + u for u in UPPER), *LOWER]) for step in COLUMNS}
    chosen = ([0, 1], [0], [2])
    sums = [{step: mpmath.fsum(row[i] for i in tokens) for step, row in every.items()} for tokens in chosen]
    return determinant(*sums) * mpmath.exp(GROWTH)


with mpmath.workdps(400):
    limits = float(whole() / limit() - 1), float(limit())
print(f"leak: G over its limit, less 1: {limits[0]:.1e}; the limit: {limits[1]:.3g}")

# %%
claim = Claim("memorization/queries-that-differ")
for kind in KINDS:
    missing = {f"H = {H}, n = {n}": predicted(H, n, kind) - ranks[H, n, kind] for H, n in sizes}
    claim.equal(f"queries {kind}, width 1: rank of the statement less the exact rank", missing, 0)
claim.at_most("seven random labels in a plane, width 1: residual", fitted, 1e-6)
claim.at_most("35 minors: rate of decay less that of the proof", off, 1e-3, of="proof")
claim.above("35 minors: smallest difference of two rates", closest, 1e-6, of="proof")
claim.at_most("leak between two groups: G over its limit, less 1", abs(limits[0]), 1e-9, of="proof")
claim.at_least("leak between two groups: the limit", abs(limits[1]), 1e-3, of="proof")
claim.control.equal(
    "n = 2, opposite queries: rank, as of three tokens", ranks[heads, 2, "with opposites"], capacity(heads, 2, 2)
)
claim.control.equal("every query twice: rank", rank_repeated, capacity(H, n, n))
claim.verdict()

# %% [markdown]
# ## Another count
# {cite:t}`dana2025memorization` count how many associations an attention-only transformer with a skip connection
# stores: $Hd_h+d$, for contexts of any length. A small run shows where this number comes from. Let the values have
# width $d_h$, and give each example a separate context. The query and the values of all heads then give $d+Hd_h$
# numbers for each example.

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
# - For one shared context of three independent tokens or more, it is enough that no two queries are equal.
# - Keys of width one already let each head memorise $n-1$ examples.
# - Opposite queries are special for two tokens only, where $\sigma(-s)=1-\sigma(s)$.
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
# 2. *Predict, then run.* Set `heads = 8`. Which rank do the queries with opposites have for $n=2$? For the queries on
#    a line, it is 9.
#    <details><summary>Solution</summary>
#
#    It is 5. The nine queries $0,\pm1,\dots,\pm4$ are five pairs, since 0 counts as one. The rank is
#    $\min(8+1,\,9-(5-1))$.
#
#    </details>
#
# Next: [Remark 1](remark_1_weak_queries.ipynb). How many examples can a layer store if the queries are less
# independent?

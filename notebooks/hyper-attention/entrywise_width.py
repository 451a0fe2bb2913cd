# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond Remark F.1 · Products of scores save a logarithm of dimensions
# *Our addition to Remark F.1 of Ustaomeroglu and Qu (Appendix F.2).*
#
# Suppose that a layer must recognise equal tokens: its score should be near 1 for a token and itself, and near 0 for
# any other. How many dimensions do the tokens need if we require this of every pair? Remark F.1 says that products of
# scores save exponentially many dimensions. We show that they save only a factor, and determine its order of magnitude.

# %%
import math

import torch

from attention_theory.hyper_attention.interactions.projections import (
    enough_entrywise,
    fewest_entrywise,
    search_entrywise,
)
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
most = 5  # features of the largest search, from 3 to 5
steps = 800  # steps of each search, from 800 to 5000
seed = 0  # of every draw, at least 0

# %%
require(most=(most, 3, 5), steps=(steps, 800, 5000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Draw four tokens as unit vectors in the plane, at angles of 0°, 45°, 90° and 135°. The score of two tokens is their
# inner product, which is the cosine of the angle between them. Its square is 1 for equal tokens, and 0 or $\frac12$ for
# others. If we multiply the square by $\frac23$, the scores are $\frac23$ on the diagonal and at most $\frac13$ off it.
# All scores are then within $\frac13$ of what we want.
#
# A product of two scores thus needs only two dimensions; a single score needs three.

# %%
fig, axis = schematic.canvas(7.0, 2.4)
for number in range(4):
    angle = math.radians(45 * number)
    tip = (2.6 + 1.6 * math.cos(angle), 1.2 + 1.6 * math.sin(angle))
    schematic.arrow(axis, (2.6, 1.2), tip)
    schematic.text(axis, (2.6 + 2.0 * math.cos(angle), 1.2 + 1.95 * math.sin(angle)), str(number + 1))
squares = [[round(math.cos(math.radians(45 * (i - j))) ** 2, 6) for j in range(4)] for i in range(4)]
schematic.matrix(axis, squares, (8.2, 0.9), cell=0.75, words="squared scores: 1, ½ or 0")
for number in range(4):
    schematic.text(axis, (7.9, 3.5 - 0.75 * number), str(number + 1), size=9)
    schematic.text(axis, (8.55 + 0.75 * number, 4.15), str(number + 1), size=9)
show.figure(
    fig,
    name="four",
    caption="Four tokens in the plane, and the squares of their inner products.",
    alt="Four arrows from one point at 0, 45, 90 and 135 degrees. Next to them a grid of four by four cells, full on "
    "the diagonal, empty for tokens at right angles, and half full for the others.",
)

# %% [markdown]
# We see how a power helps: it leaves 1 unchanged and makes smaller numbers smaller. The vectors may then be closer to
# each other, and more of them fit.
#
# ## The statement
# Let $d_A(N)$ be the smallest width $d$ such that $N$ tokens $x_i\in\mathbb R^d$ and scores of order $A$ exist with
# $|\mathrm{score}_{ij}-\delta_{ij}|\le\frac13$ for all $i,j$. A score of order $A$ is $\sum_h\prod_{a\le A}
# x_i^\top C^{h}_ax_j$, with any number of heads $h$ and any real matrices; order 1 is self-attention.
#
# <!-- claim hyper-attention/entrywise-width -->
# <blockquote>
#
# **Beyond Remark F.1 (The width of scores, entry by entry)**
#
# For all $N\ge4$ and $A\ge1$, the smallest width $d_A(N)$ satisfies
#
# $$\tfrac1{20}\,\frac{\ln N}{\ln(1+A)}\le d_A(N)\le2+5\,\frac{\ln N}{\ln(1+A)}\,.$$
#
# More exactly, $\binom{d+Ar-1}{Ar}\ge N/(1+(N-1)4^{-r})$ for $d=d_A(N)$ and each integer $r\ge1$, and
# $d_A(N)\le1+\lceil\ln N/\ln(1/\sin t)\rceil$, where $\cos^At=\frac12$. A single head with $C_a=c_aI$ achieves the
# upper bound.
#
# </blockquote>
# <!-- /claim -->
#
# For $|\Phi|$ features with $k$ values each there are $N=k^{|\Phi|}$ tokens. The number of dimensions is proportional
# to $|\Phi|\log k$ for self-attention, and to $|\Phi|\log k/\log|\Phi|$ for a layer with $|\Phi|$ factors. Remark F.1
# gives $\log|\Phi|$ as the second number. We chose $\frac13$; any fixed error strictly between 0 and $\frac12$ gives
# the same orders of magnitude, whereas the constant score $\frac12$ has an error of $\frac12$ everywhere.
#
# ## Why it is true
# *Few dimensions are enough.* Take unit vectors and $C_a=1$. The score is the power $(x_i\cdot x_j)^A$. It is at most
# $\frac12$ in absolute value if the lines along the vectors meet at an angle of at least about $1/\sqrt A$. In $d$
# dimensions there are exponentially many such lines, with a base near $\sqrt A$.
#
# *Fewer are not.* Now take powers of all entries of the table of scores. The errors off the diagonal fade, so the rank
# must approach $N$. However, the $r$-th powers of scores of order $A$ are polynomials of degree $Ar$ in $d$ variables,
# and few of these are linearly independent. This argument is Alon's for a single score {cite}`alon2009perturbed`, and
# it also works for products.
#
# <details><summary>Proof of the two bounds</summary>
#
# *Lower bound.* Let $M_{ij}$ be scores as required. Divide row $i$ by $M_{ii}\ge\frac23$. The diagonal is then 1 and
# all other entries are at most $\frac13/\frac23=\frac12$ in absolute value. The entries of row $i$ are the values at
# $x_j$ of a homogeneous polynomial of degree $A$ in $d$ variables. Take the $r$-th power of each entry. The rows are
# now values of homogeneous polynomials of degree $Ar$, which form a space of dimension $\binom{d+Ar-1}{Ar}$, so the
# rank is at most this. On the other hand, a matrix $P$ of rank $\rho$ has
# $|\mathrm{tr}P|\le\sum\sigma_i\le\sqrt\rho\,\|P\|$, where $\sigma_i$ are its singular values. Here $\mathrm{tr}P=N$
# and $\|P\|^2\le N+N(N-1)4^{-r}$, so $\rho\ge N/(1+(N-1)4^{-r})$.
#
# *Its size.* Let $N\ge4$, $r=\lceil\log_4N\rceil$, $n=Ar$, $q=d-1$ and $q=x\ln N$. Then $(N-1)4^{-r}<1$ and
# $\binom{q+n}q>N/2\ge\sqrt N$. If $q=0$, the binomial is 1, which is too small. With $\binom{q+n}q\le(e(q+n)/q)^q$
# and $n\le2.2A\ln N$,
#
# $$\tfrac12\le x\Bigl(1+\ln\bigl(1+\tfrac{2.2A}x\bigr)\Bigr)\le x\bigl(1+\ln(1+2.2A)\bigr)+x\ln\bigl(1+\tfrac1x\bigr)
# \le3.6\,x\ln(1+A)+\sqrt x .$$
#
# The last step uses $\ln2.2\le1.14\ln(1+A)$ and $1\le1.45\ln(1+A)$. If $x$ were at most $0.05/\ln(1+A)$, the right-hand
# side would be at most $0.18+\sqrt{0.05/\ln2}<\frac12$. So $d>q>\frac1{20}\ln N/\ln(1+A)$.
#
# *Upper bound.* Choose $t$ with $\cos^At=\frac12$. Add unit vectors one by one, as long as some unit vector $v$ has
# $|v\cdot x_i|\le\cos t$ for all $x_i$ so far. When this ends, the sets $|v\cdot x_i|>\cos t$ cover the sphere. Each
# covers a fraction of $F(t)/F(\frac\pi2)$ of it, where $F(s)=\int_0^s\sin^{d-2}$. The function $F(s)/\sin^{d-1}s$ does
# not decrease, because its derivative has the sign of $\sin^{d-1}s-(d-1)F(s)\cos s$, and $(d-1)F(s)\cos
# s\le(d-1)\int_0^s\sin^{d-2}u\cos u\,du=\sin^{d-1}s$. So the fraction is at most $\sin^{d-1}t$, and there are at least
# $\sin^{1-d}t$ vectors. These are $N$ or more if $d\ge1+\ln N/\ln(1/\sin t)$. With $C_1=\frac23$ and all other $C_a=1$
# the scores are $\frac23$ on the diagonal and at most $\frac13$ in absolute value elsewhere. Finally
# $\sin^2t=1-4^{-1/A}\le\frac{2\ln2}A$, so $\ln(1/\sin t)\ge\frac12\ln\frac A{2\ln2}$, which is at least
# $\frac15\ln(1+A)$ for $A\ge3$: the ratio of the two logarithms increases, and at $A=3$ it is above $0.27$. For $A=1$
# and $2$, $\ln(1/\sin t)$ is $0.143$ and $0.346$, also above $\frac15\ln(1+A)$. $\square$
#
# </details>
#
# ## See it run
# We compute both bounds for two-valued features, once with as many factors as features and once for self-attention.
# Concatenated one-hot vectors give exact scores in $|\Phi|+1$ dimensions.

# %%
numbers = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
bounds = {
    order: [
        (fewest_entrywise(2**m, m if order == "A" else 1), enough_entrywise(2**m, m if order == "A" else 1))
        for m in numbers
    ]
    for order in ("A", "1")
}

# %%
fig, axis = show.axes(height=3.4)
for pairs, colour, name in zip(bounds.values(), show.COLOURS, ("|Φ| factors", "self-attention"), strict=False):
    low, high = zip(*pairs, strict=True)
    axis.fill_between(numbers, low, high, color=colour, alpha=0.3, label=f"{name}, between the bounds")
axis.plot(numbers, [m + 1 for m in numbers], "--", color="#8a8f98", label="one-hots, |Φ| + 1")
axis.set(xscale="log", yscale="log", xlabel="features |Φ|", ylabel="dimensions")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="bounds",
    caption="The bounds between which the smallest width lies, if every score must be within 1/3 of the exact one, "
    "which says whether two tokens agree in all features. Each feature has two values.",
    alt="Two bands on logarithmic scales that rise to the right. The band of self-attention is higher and steeper, and "
    "with 16 or more features the bands do not overlap. A dashed line runs inside the upper band.",
)

# %% [markdown]
# We see the two bands separate at 16 features, and from there their distance grows slowly, like a logarithm. For few
# features, we search for tokens and matrices and count the dimensions that suffice.

# %%
widths = {m: 2 if m == 2 else 3 for m in range(2, most + 1)}
found, ranks = {}, {}
for m, width in widths.items():
    tokens, scores = search_entrywise(2**m, m, width, seed, steps=steps)
    table = (tokens @ scores @ tokens.mT).prod(dim=0)
    found[m] = (table - torch.eye(2**m, dtype=torch.float64)).abs().max().item()
    rows = table / table.diagonal()[:, None]
    for r in (1, 2, 3):
        least, room = 2**m / (1 + (2**m - 1) / 4**r), math.comb(width + m * r - 1, m * r)
        ranks[m, r] = int(numerical_rank(rows**r)), least, room
tokens, scores = search_entrywise(16, 1, 3, seed, steps=steps)
alone = ((tokens @ scores @ tokens.mT).prod(dim=0) - torch.eye(16, dtype=torch.float64)).abs().max().item()
table_rows = [
    [m, 2**m, width, fewest_entrywise(2**m, m), enough_entrywise(2**m, m), m + 1, found[m]]
    for m, width in widths.items()
]
show.table(["features", "tokens", "searched", "lower bound", "upper bound", "one-hots", "largest error"], table_rows)

# %% [markdown]
# Three dimensions are enough for 32 tokens and five factors, whereas one-hot vectors need six. The matrices of the
# search are far from the identity. One score in three dimensions cannot separate even 16 tokens.
#
# ## How we checked
# The searches must reach an error of $\frac13$, and the ranks of the tables that they find must be between the two
# bounds in the proof. We also compare both bounds with the formulas in the statement. As controls, we search with a
# single score and test whether the width could grow as $\log|\Phi|$.


# %%
def fraction_of_sphere(cosine: float, width: int) -> float:
    """The fraction of unit vectors whose inner product with a fixed one exceeds a cosine in size, by a fine sum."""
    angles = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000 * math.pi / 2
    heights = angles.sin() ** (width - 2)
    return (heights[angles < math.acos(cosine)].sum() / heights.sum()).item()


caps = {
    f"A = {order}, d = {width}": fraction_of_sphere(0.5 ** (1 / order), width)
    / (1 - 4 ** (-1 / order)) ** ((width - 1) / 2)
    for order in (1, 2, 5, 20)
    for width in (3, 6, 12)
}
sizes = [(2**m, order) for m in (2, 5, 10, 40, 200) for order in (1, 2, 3, 10, 100)]
ratio = {f"N = 2^{n.bit_length() - 1}, A = {a}": math.log(n) / math.log(1 + a) for n, a in sizes}
below = {name: fewest_entrywise(n, a) / (ratio[name] / 20) for name, (n, a) in zip(ratio, sizes, strict=True)}
above = {name: enough_entrywise(n, a) / (2 + 5 * ratio[name]) for name, (n, a) in zip(ratio, sizes, strict=True)}

# %%
claim = Claim("hyper-attention/entrywise-width")
claim.at_most("searches: largest error", {f"{m} features": error for m, error in found.items()}, 1 / 3)
claim.at_least("their widths over the lower bound", {m: w / fewest_entrywise(2**m, m) for m, w in widths.items()}, 1)
claim.at_least("ranks of powers over the lower bound", {str(k): rank / low for k, (rank, low, _) in ranks.items()}, 1)
claim.at_most("ranks of powers over the upper bound", {str(k): rank / top for k, (rank, _, top) in ranks.items()}, 1)
claim.at_most("fraction of the sphere over its bound", caps, 1 + 1e-4)
claim.at_least("lower bound over ln N / (20 ln(1 + A))", below, 1)
claim.at_most("upper bound over 2 + 5 ln N / ln(1 + A)", above, 1)
separate = fewest_entrywise(2**64, 1) / enough_entrywise(2**64, 64)
claim.at_least("64 features: lower bound of self-attention over upper bound of 64 factors", separate, 1)
claim.control.at_most("one score, 16 tokens in three dimensions: largest error", alone, 1 / 3)
slow = fewest_entrywise(2**4096, 4096) / (8 * math.log2(4096))
claim.control.at_most("4096 features and factors: lower bound over 8 log₂|Φ|", slow, 1)
claim.verdict()

# %% [markdown]
# ## Where we stop
# The two constants are far apart. The search suggests that the lower bound is closer to the truth, because different
# matrices $C_a$ can do more than a power. We do not know the smallest width for three features exactly: it is 2 or 3.
#
# ## What to remember
# - Entry by entry, order $A$ reduces the width by a factor of about $\log A$, whatever the weights and the number of
#   heads.
# - A power makes errors small, but it also gives a table of large rank from few dimensions. Both bounds use this.
# - Whether a gap is exponential depends on the measure: in mean square it is; entry by entry it is not.
#
# ## Exercises
#
# 1. *By hand.* How many unit vectors fit into the plane if the cubes of their inner products must be at most $\frac12$
#    in size?
#    <details><summary>Solution</summary>
#
#    The lines must meet at angles of at least $\arccos(2^{-1/3})\approx37.5°$. Since $180/37.5=4.8$, there are four.
#
#    </details>
# 2. *Predict, then run.* Set `most = 3`. Which rows does the last table have, and how many dimensions do one-hot
#    vectors need?
#    <details><summary>Solution</summary>
#
#    It has rows for two and three features. One-hot vectors need 3 and 4 dimensions.
#
#    </details>
#
# Next: [Definition 5.1](definition_5_1_hyper_feature_attention.ipynb), the layer that multiplies scores, because it has
# uses other than a small width.

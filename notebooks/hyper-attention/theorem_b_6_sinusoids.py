# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem B.6 · Sines and cosines as positions
# *Ustaomeroglu, Qu: Definition B.3, Lemmas B.4 and B.5, Theorem B.6, Remark B.7, Appendix B.1.2; Figure 1.*
#
# Positions are often encoded by sines and cosines. Which effects of one position on another can attention then
# represent, and what do its scores look like? We find that if the effect depends only on the difference, the score
# matrix is almost diagonal.

# %%
import math

import torch

from attention_theory.hyper_attention.certified.fourier import certify_differences, certify_window_series
from attention_theory.hyper_attention.interactions.fourier import (
    attention_matrix,
    dtfs,
    position_code,
    real_series,
    synthesis,
    window_coefficients,
    window_diagonal,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
period = 360  # N of the environment, even, from 20 to 2000
radius = 5  # R, from 1 to (period - 1) // 4
small_period = 16  # N of the random functions, even, from 6 to 400
seed = 0  # of every draw, at least 0

# %%
require(period=(period, 20, 2000), radius=(radius, 1, (period - 1) // 4), seed=(seed, 0, None))
require(small_period=(small_period, 6, 400))

# %% [markdown]
# ## A tiny example
# On a clock with four positions, we take $\cos\frac\pi2n$ and $\sin\frac\pi2n$ as the code of position $n$. The codes
# are $(1,0)$, $(0,1)$, $(-1,0)$ and $(0,-1)$. The inner product of two codes is the cosine of the angle between them: 1
# for equal positions, 0 for neighbours, $-1$ for opposite positions.

# %%
clock = [[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, -1, 0, 1]]
turned = [[0, -1, 0, 1], [1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0]]
fig, axis = schematic.canvas(7.0, 2.0)
for x, values, name in ((2.6, clock, "inner products"), (8.6, turned, "with a block between the codes")):
    schematic.matrix(axis, values, (x, 0.9), cell=0.65, words=name)
show.figure(
    fig,
    name="clock",
    caption="One row and one column per position: blue is 1, orange is −1 and empty is 0. The block turns the "
    "second code by one position.",
    alt="Two square tables of four by four cells, constant along their diagonals. In the second one all diagonals are "
    "shifted by one place.",
)

# %% [markdown]
# Both tables are constant along diagonals, so they depend only on the difference. A $2\times2$ block that turns the
# code gives the second table. With all frequencies, such blocks give every table of this kind.
#
# ## The paper states
# Agent $i$ is at position $n_i$ on a loop of $N$ positions, with the code $p_i$. The function $f$ has the coefficients
# $F[k]$, and $R$ is the radius of an agent.
#
# <!-- claim hyper-attention/definition-b-3 -->
# <blockquote>
#
# **Definition B.3 (Discrete-time Fourier series)** *Appendix B.1.2*
#
# **The paper states.** The DTFS of a function $f : [N] \to \mathbb R$ is defined as $F[k] = \sum_{n=0}^{N-1} f[n]\,
# e^{-j \frac{2\pi}N kn}$.
#
# **What is true.** $F[k] = \frac1N \sum_{n=0}^{N-1} f[n]\, e^{-2\pi i kn/N}$, so that $f[n] = \sum_{k=0}^{N-1} F[k]\,
# e^{2\pi i kn/N}$.
#
# **What changed.** The factor $1/N$ is missing. Lemma B.4 contains this factor, and the series of Lemma B.5 needs it.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-b-4 -->
# <blockquote>
#
# **Lemma B.4 (Series of the window)** *Appendix B.1.2*
#
# **The paper states.** Let $f[n] = \mathbb I[|n| \le 2R]$. Then $F[k] = \frac1N \sin\bigl[\tfrac{2\pi}{N}(2R +
# \tfrac12)k\bigr] / \sin\bigl[\tfrac{2\pi}{N} \tfrac12 k\bigr]$ if $k \ne 0$, and $F[0] = \frac2N (2R + \tfrac12)$.
#
# **What is true.** This is true if $2R$ is an integer and $4R + 1 \le N$.
#
# **What changed.** The paper states neither condition. A wider window overlaps itself on the loop. If $2R$ is not an
# integer, the window has $2 \lfloor 2R \rfloor + 1$ positions, and $\lfloor 2R \rfloor$ replaces $2R$.
#
# <details><summary>Slips (1)</summary>
#
# - Read literally on $[N] = \{0, \dots, N-1\}$, the condition $|n| \le 2R$ gives half of the window; $|n|$ must be the
#   distance to 0 on the loop.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-b-5 -->
# <blockquote>
#
# **Lemma B.5 (Real form of the series)** *Appendix B.1.2*
#
# **The paper states.** The series of a periodic function with period $N$ is $x[n] = \sum_{k=0}^{N-1} X[k]\, e^{i
# \frac{2\pi}N kn}$. Letting $a_k = 2\,\mathrm{Re}\{X[k]\}$ and $b_k = -2\,\mathrm{Im}\{X[k]\}$, $x[n] = \tfrac{a_0}2 +
# \sum_{k=1}^{(N-1)/2} \bigl(a_k \cos\tfrac{2\pi kn}N + b_k \sin\tfrac{2\pi kn}N\bigr)$ for odd $N$; for even $N$ the
# sum ends at $\tfrac N2 - 1$, and $\tfrac{a_{N/2}}2 \cos\pi n$ is added.
#
# <details><summary>Slips (1)</summary>
#
# - The proof says that $\mathrm{Im}\,X[k] + \mathrm{Im}\,X[N - k] = 0$ "because cosine function has period of $\pi$",
#   and argues in the same way for sine. The equation holds because $x$ is real; cosine is even and sine is odd about
#   $\pi$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/theorem-b-6 -->
# <blockquote>
#
# **Theorem B.6 (Any effect of a difference)** *Appendix B.1.2, Eq. 17*
#
# **The paper states.** Let us denote the DTFS of a function $f[n]$ as $F[k]$. Defining $a_k = 2\,\mathrm{Re}\{F[k]\}$
# and $b_k = -2\,\mathrm{Im}\{F[k]\}$, the block-diagonal $C$ with $a_0$, the blocks $\begin{pmatrix} a_k & b_k \\ -b_k
# & a_k \end{pmatrix}$ and $a_{N/2}$ can represent any function $f[n_i - n_j] = p_i C p_j^T$.
#
# **What is true.** $p_i^\top C\, p_j = f[(n_i - n_j) \bmod N]$, with coefficients that have the factor $1/N$.
#
# **What changed.** Definition B.3 lacks this factor, and without it the result is $N f$.
#
# <details><summary>Slips (2)</summary>
#
# - The codes are columns, so the product is $p_i^\top C\, p_j$.
# - The theorem uses the codes of Eq. 16, whose misplaced factor $\frac1{\sqrt2}$ also breaks it.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-b-7 -->
# <blockquote>
#
# **Remark B.7 (Symmetric effects have a diagonal score matrix)** *Appendix B.1.2*
#
# **The paper states.** If $f$ is symmetric, then the corresponding $C$ is diagonal.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/sinusoidal-construction -->
# <blockquote>
#
# **Sinusoidal construction (Colliding agents in the sinusoidal code)** *Section 7.1; Appendix B.1.2, Eq. 16*
#
# **The paper states.** Assuming $N$ is even, embed the position by Eq. 16. A single layer with $W^V = [-\sqrt2, 0, 0,
# \dots]^\top$ and diagonal $C$, $C_{00} = \frac4N(2R + \frac12)$ and $C_{nn} = \frac2N \sin\bigl[\frac{2\pi}N (2R +
# \frac12) k\bigr] / \sin\bigl[\frac{2\pi}N \frac12 k\bigr]$, $k = \lceil n/2 \rceil$, can represent the value functions
# at Eq. (13) exactly, for any $L$.
#
# **What is true.** If $2R$ is an integer and $4R + 1 \le N$, the layer returns $V_i - 1$, which includes the bias of
# $-1$ that the paper announces before Eq. 13.
#
# **What changed.** As in Lemma B.4, both conditions are missing. Equations 4 and 13 are sums over $j \ne i$, whereas
# the layer also adds the agent itself, as in Example 1.
#
# <details><summary>Slips (1)</summary>
#
# - In Eq. 16 the entry before the last is $\tfrac1{\sqrt2}\cos\bigl(\tfrac{2\pi}{N}(\tfrac N2 - 1)n\bigr)$. The factor
#   $1/\sqrt2$ belongs to the constant and to $\cos \pi n$ only, so that $p_i^\top p_j = \tfrac N2 \delta_{ij}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/figure-1 -->
# <blockquote>
#
# **Figure 1 (Diagonal of the devised score matrix)** *Appendix B.1.2*
#
# **The paper states.** Diagonal entries of the interaction matrix $C$ for $N = 360$ agents with radius $R = 5$. The
# pattern emerges from Fourier analysis of collision dynamics in the agent movement model. The matrix indices are from 0
# to $N - 1$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We read $N$ as the number of grid cells. The curve is an oscillation that dies away. Each value
# occurs twice, except for the first and the last.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# An effect that depends on the difference is a convolution, and waves diagonalise convolutions. A real wave has a sine
# and a cosine part, so each frequency needs a $2\times2$ block with the entries $a_k$ and $b_k$. If $f$ is symmetric,
# all $b_k$ are zero and $C$ is diagonal. The window of colliding agents is symmetric, and its coefficients are
# geometric sums over $4R+1$ positions.
#
# <details><summary>Proof of Lemma B.4, as corrected</summary>
#
# If $2R$ is whole and $4R + 1 \le N$, the places $-2R, \dots, 2R$ are different on the loop, and with $z = e^{-2\pi i
# k/N}$
#
# $$F[k] = \frac1N \sum_{n=-2R}^{2R} z^n = \frac1N\, \frac{z^{2R+1/2} - z^{-(2R+1/2)}}{z^{1/2} - z^{-1/2}} = \frac1N\,
# \frac{\sin\bigl(\frac{2\pi}N (2R + \frac12) k\bigr)}{\sin\bigl(\frac\pi N k\bigr)}$$
#
# for $z \ne 1$, and $(4R+1)/N$ for $k = 0$. If $4R + 1 > N$, the sum runs over some places twice, and is the series of
# a function that is 2 there; the window is 1. If $2R$ is not whole, $|n| \le 2R$ means $|n| \le \lfloor 2R \rfloor$,
# and already $F[0]$ differs: the window has $2\lfloor 2R \rfloor + 1 < 4R + 1$ places. $\square$
#
# </details>
#
# <details><summary>Proof of Sinusoidal construction (Appendix B.1.2), as corrected</summary>
#
# Without the factor $\frac1{\sqrt2}$ on the last cosine but one, $p_m^\top C\, p_n$ with the diagonal $C$ is the real
# series of Lemma B.5 at $m - n$ with $a_k = 2F[k]$ and $b_k = 0$. If $2R$ is an integer and $4R + 1 \le N$, this is the
# window (Lemma B.4). The first entry of every code is $\frac1{\sqrt2}$, so every token has the value $-1$, and the
# layer adds $-1$ for each $j$ in the window, $j = i$ included: $V_i - 1$ for any $L$. If $4R + 1 > N$, the series is 2
# at some places. $\square$
#
# </details>
#
# ## See it run
# We decompose a random function into waves and reassemble it, in the complex and in the real form.

# %%
draw = generator(seed)
function = normal(small_period, seed=draw)
coefficients, as_printed = dtfs(function), dtfs(function, form="printed")
returned = synthesis(coefficients)

# %%
real = real_series(2 * coefficients.real, -2 * coefficients.imag)
flipped = real_series(2 * coefficients.real, 2 * coefficients.imag)
reflected = function[(-torch.arange(small_period)) % small_period]
odd = normal(small_period - 1, seed=draw)
odd_coefficients = dtfs(odd)
odd_real = real_series(2 * odd_coefficients.real, -2 * odd_coefficients.imag)
real_printed = real_series(2 * as_printed.real, -2 * as_printed.imag)
pairs = coefficients[1:] - coefficients[1:].flip(0).conj()
angles = 2 * math.pi / small_period * torch.arange(small_period, dtype=torch.float64)

# %% [markdown]
# Then we compute the series of the window, and the score matrices of a random function and of its symmetric part.

# %%
window = window_matrix(period, radius)[0]
closed = window_coefficients(period, radius)
numerical = dtfs(window)
too_wide = (period + 3) // 4  # 4 R + 1 > N
of_printed = window_coefficients(period, too_wide, form="printed").to(torch.complex128)
frequencies = 2 * math.pi / period * torch.arange(1, period, dtype=torch.float64)
ends = torch.arange(period, dtype=torch.float64)
distance = torch.minimum(ends, period - ends)


def off_series(any_radius: float) -> float:
    """Largest error of the closed form for a radius that need not be whole."""
    rest = (frequencies * (2 * any_radius + 0.5)).sin() / (frequencies / 2).sin() / period
    formula = torch.cat([rest.new_tensor([(4 * any_radius + 1) / period]), rest])
    return (formula - dtfs((distance <= 2 * any_radius).to(torch.float64))).abs().max().item()


wrapped = synthesis(of_printed) - window_matrix(period, too_wide)[0]

# %%
code = position_code(small_period)
places = torch.arange(small_period)
wanted = function[(places[:, None] - places) % small_period]
matrix = attention_matrix(coefficients)
other_way = code @ matrix.mT @ code.mT  # rows and columns exchanged
printed_matrix = attention_matrix(as_printed)
series = real_series(2 * coefficients.real, -2 * coefficients.imag)[(places[:, None] - places) % small_period]

# %%
symmetric = (function + reflected) / 2
symmetric_matrix = attention_matrix(dtfs(symmetric))


def off_diagonal(square):
    return (square - square.diagonal().diag()).abs().max()


# %%
fig, axes = show.axes(1, 2, width=7.5, height=3.4)
limit = matrix.abs().max().item()
for axis, square, title in zip(axes, (matrix, symmetric_matrix), ("any f", "symmetric f"), strict=True):
    picture = axis.imshow(square, cmap=show.SIGNED, vmin=-limit, vmax=limit)
    axis.set_title(title)
    axis.set_xlabel("column ν")
    axis.grid(False)
axes[0].set_ylabel("row μ")
fig.colorbar(picture, ax=axes, label="entry of C")
show.figure(
    fig,
    name="blocks",
    caption="The score matrix in the sinusoidal code has two-by-two blocks for a random effect, and is diagonal for "
    "a symmetric one.",
    alt="Two square images. On the left are two-by-two blocks along the diagonal, on the right single entries on "
    "the diagonal.",
)

# %% [markdown]
# We see two-by-two blocks on the left, and only diagonal entries on the right.
#
# Finally, we build the layer of the colliding agents and the paper's figure.

# %%
long_code = position_code(period)
diagonal = window_diagonal(period, radius)
printed_code = position_code(period, form="printed")
printed_error = (printed_code @ printed_code.mT - period / 2 * torch.eye(period, dtype=torch.float64)).abs().max()
scaled_identity = period / 2 * torch.eye(period, dtype=torch.float64)
value = torch.zeros(period, dtype=torch.float64)
value[0] = -math.sqrt(2)
scores = long_code @ diagonal.diag() @ long_code.mT
too_wide_diagonal = window_diagonal(period, too_wide, form="printed").diag()
wide_error = (long_code @ too_wide_diagonal @ long_code.mT - window_matrix(period, too_wide)).abs().max()

# %%
small_code, few_places, near = position_code(small_period), small_period, (small_period - 1) // 4
small_value = torch.zeros(few_places, 1, dtype=torch.float64)
small_value[0] = -math.sqrt(2)
small_score = window_diagonal(few_places, near).diag()
apart = []
for agents in (2, 5, 9):
    heights = torch.randint(few_places, (50, agents), generator=draw)
    others = window_matrix(few_places, near)[heights[..., :, None], heights[..., None, :]].sum(dim=-1) - 1
    apart.append(linear_attention(small_code[heights], small_score, small_value).squeeze(-1) + others)
with_bias, without_bias = (max((one + own).abs().max().item() for one in apart) for own in (1, 0))

# %%
wider = window_diagonal(period, 2 * radius, form="printed")  # it may meet itself on the loop
fig, axis = show.axes(width=7)
axis.plot(wider, color=show.COLOURS[4], linewidth=1, label=f"R = {2 * radius}, for comparison")
axis.plot(diagonal, color=show.COLOURS[0], label=f"R = {radius}")
axis.axhline(0, color="grey", linewidth=0.8)
axis.set_xlabel("matrix index n")
axis.set_ylabel("$C_{nn}$")
axis.legend()
show.figure(
    fig,
    name="figure-1",
    caption="Figure 1 of the paper: the diagonal of the score matrix in the sinusoidal code. The thin line is for a "
    "window twice as wide.",
    alt="Two curves that start at their maxima, fall through zero and then oscillate around zero with shrinking "
    "amplitude. The thin one starts twice as high and oscillates twice as fast.",
)

# %% [markdown]
# The oscillation dies away, and is faster for a window twice as wide.
#
# ## How we checked
# We compare each formula with the numerical series, and the layer with a direct sum. As controls, we leave out $1/N$,
# flip the sign of $b_k$, exchange rows and columns, or take a window that overlaps itself on the loop. For all
# functions of up to 16 positions, we also bound the error of the computed score matrix.

# %%
claim = Claim("hyper-attention/definition-b-3")
claim.close("analysis, then synthesis: largest error", returned, function, atol=1e-13)
claim.close("as printed, over N: largest error", synthesis(as_printed) / small_period, function, atol=1e-13)
claim.misprint.close("as printed, then synthesis: largest error", synthesis(as_printed), function, atol=1e-13)
claim.verdict()

# %%
even, periodic = (math.pi + angles).cos() - (math.pi - angles).cos(), (angles + math.pi).cos() - angles.cos()
claim = Claim("hyper-attention/lemma-b-5")
claim.close("real form, even N: largest error", real, function, atol=1e-13)
claim.close("real form, odd N: largest error", odd_real, odd, atol=1e-13)
claim.close("sign of b flipped: distance to the reflected f", flipped, reflected, atol=1e-13)
claim.at_most("F[k] against the conjugate of F[N - k], largest error", pairs.abs().max(), 1e-13, of="proof")
claim.at_most("cosine is even about π, largest error", even.abs().max(), 1e-13, of="proof")
claim.misprint.at_most("cosine has the period π, largest error", periodic.abs().max(), 1e-13, of="proof")
claim.control.close("coefficients without 1/N: largest error", real_printed, function, atol=1e-13)
claim.control.close("sign of b flipped: distance to f", flipped, function, atol=1e-13)
claim.number("sign of b flipped: distance to f", (flipped - function).abs().max())
claim.verdict()

# %%
claim = Claim("hyper-attention/lemma-b-4")
claim.close("closed form against the numerical series", closed, numerical, atol=1e-12)
claim.equal("F[0] against (4R + 1)/N", closed[0], (4 * radius + 1) / period)
claim.printed.at_most(f"R = {too_wide}, where 4R + 1 > N: error of the window", wrapped.abs().max(), 1e-12)
claim.at_most("R = 2.5: closed form against the numerical series", off_series(2.5), 1e-12)
claim.printed.at_most("R = 1.2: closed form against the numerical series", off_series(1.2), 1e-12)
narrower = (closed - dtfs(window_matrix(period, radius - 1)[0])).abs().max()
claim.control.at_most("closed form for R against the series for R - 1", narrower, 1e-12)
one_sided = dtfs((torch.arange(period) <= 2 * radius).to(torch.float64))
claim.control.close("closed form against the series of the half window n ≤ 2R", closed, one_sided, atol=1e-12)
claim.certified("all N, whole 2R and k; the code for N up to 40", certify_window_series())
claim.verdict()

# %%
claim = Claim("hyper-attention/theorem-b-6")
claim.close("p_i C p_j against f[n_i - n_j]", code @ matrix @ code.mT, wanted, atol=1e-13)
claim.close("rows and columns exchanged: distance to f[n_j - n_i]", other_way, wanted.mT, atol=1e-13)
times_n, without = printed_matrix - small_period * matrix, code @ printed_matrix @ code.mT - wanted
by_series = code @ matrix @ code.mT - series
claim.at_most("Definition B.3 as printed: distance to N f", times_n.abs().max(), 1e-12)
claim.misprint.at_most("Definition B.3 as printed: distance to f", without.abs().max(), 1e-13)
claim.at_most("p_i C p_j is the real series of Lemma B.5", by_series.abs().max(), 1e-13, of="proof")
claim.control.close("rows and columns exchanged: distance to f[n_i - n_j]", other_way, wanted, atol=1e-13)
in_eq_16 = position_code(small_period, form="printed")
claim.misprint.close("codes of Eq. 16 as printed: distance to f", in_eq_16 @ matrix @ in_eq_16.mT, wanted, atol=1e-13)
claim.certified("N up to 16: all f, with the rounding of the code", certify_differences())
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-b-7")
claim.at_most("symmetric f: largest entry off the diagonal", off_diagonal(symmetric_matrix), 1e-13)
claim.control.at_most("any f: largest entry off the diagonal", off_diagonal(matrix), 1e-13)
claim.verdict()

# %%
claim = Claim("hyper-attention/sinusoidal-construction")
orthogonal = (long_code @ long_code.mT - scaled_identity).abs().max()
claim.at_most("P P^T against (N/2) I", orthogonal, 1e-11)
claim.close("P diag(C) P^T against the window", scores, window_matrix(period, radius), atol=1e-11)
claim.at_most("P W against -1", (long_code @ value + 1).abs().max(), 1e-15)
claim.at_most("layer against the sum over others with the bias of -1, largest error", with_bias, 1e-9)
claim.misprint.at_most("layer against Eq. 13, without the bias: largest error", without_bias, 1e-9)
claim.at_most("code without the factor: P P^T against (N/2) I", orthogonal, 1e-11, of="proof")
claim.misprint.at_most("code as printed: P P^T against (N/2) I", printed_error, 1e-11, of="proof")
claim.printed.at_most(f"R = {too_wide}, where 4R + 1 > N: P diag(C) P^T against the window", wide_error, 1e-11)
claim.printed.at_most("the same as a construction", wide_error, 1e-11, of="proof")
claim.control.close("P diag(C) P^T against the window of R - 1", scores, window_matrix(period, radius - 1), atol=1e-11)
claim.number("code as printed: error of P P^T", printed_error)
claim.verdict()

# %%
from_window = 2 * numerical.real[(torch.arange(period) + 1) // 2]
pairs = (diagonal[1:-1:2] - diagonal[2:-1:2]).abs().max()
claim = Claim("hyper-attention/figure-1")
claim.close("against twice the numerical series of the window", diagonal, from_window, atol=1e-12)
claim.equal("sine and cosine of a frequency have the same entry", pairs, 0)
claim.control.close("the window of twice the radius gives the same curve", wider, from_window, atol=1e-12)
if (period, radius) == (360, 5):
    claim.number("C_00", diagonal[0])
    claim.number("first negative entry, index", int((diagonal < 0).nonzero()[0]))
    claim.number("least entry", diagonal.min())
    claim.number("least entry, index", int(diagonal.argmin()))
    claim.number("last entry", diagonal[-1])
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# Definition B.3 lacks the factor $1/N$, which the later results need. Lemma B.4 and its layer need a window that fits
# the loop. The layer counts the agent itself, but Eq. 13 does not; the difference is the bias of [Example
# 1](example_1_colliding_agents.ipynb).
#
# ## What to remember
# - With sines and cosines, an effect of the difference needs one block with two numbers per frequency.
# - A symmetric effect needs only a diagonal matrix.
# - The closed form of the window holds if the window fits into the loop.
#
# ## Exercises
#
# 1. *By hand.* On the clock, which block gives the second table?
#    <details><summary>Solution</summary>
#
#    We want $p_i^\top C\,p_j=\sin\frac\pi2(n_i-n_j)$, with the cosine first in the code. Then
#    $C=\begin{pmatrix}0&-1\\1&0\end{pmatrix}$: it gives
#    $\sin\frac\pi2n_i\cos\frac\pi2n_j-\cos\frac\pi2n_i\sin\frac\pi2n_j$.
#
#    </details>
# 2. *Predict, then run.* Set `radius = 20`. How high does the curve of Figure 1 start?
#    <details><summary>Solution</summary>
#
#    It starts at $C_{00}=\frac4N(2R+\frac12)=\frac4{360}\cdot40.5=0.45$, compared with 0.117 for $R=5$.
#
#    </details>
#
# Back to [Example 1](example_1_colliding_agents.ipynb), which uses the same layer in the one-hot code.

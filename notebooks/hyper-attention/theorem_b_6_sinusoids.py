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
# Agent $i$ stands at the place $n_i$ of a loop of $N$ places, and the place has a code $p_i$, a list of sines and
# cosines of every frequency that fits the loop. An effect of one agent on another that depends on the difference $n_i -
# n_j$ alone is a convolution, and Fourier's basis makes convolutions diagonal. This page follows the paper from the
# Fourier series to the score matrix of the colliding agents.
#
# Four slips are misprints: the factor $1/N$ is missing in the definition of the series, though all that follows has it;
# the code of a position has a factor $1/\sqrt 2$ too many, with which $p_i^\top p_j = \frac N2 \delta_{ij}$ fails; $p_i
# C p_j^\top$ stands where $p_i$ is a column; and the layer is said to be Eq. 13, which leaves out the agent itself. The
# lemma on the window needs two conditions that it does not have: $2R$ must be a whole number, and $4R + 1 \le N$, so
# that the window of all places at most $2R$ away fits into the loop.

# %%
import math

import torch

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

# %% tags=["parameters"]
period = 360  # N of the environment, even, from 20 to 2000
radius = 5  # R, from 1 to (period - 1) // 4
small_period = 16  # N of the random functions, even, from 6 to 400
seed = 0  # of every draw, at least 0

# %%
require(period=(period, 20, 2000), radius=(radius, 1, (period - 1) // 4), seed=(seed, 0, None))
require(small_period=(small_period, 6, 400))

# %% [markdown]
# ## The series
# <!-- claim hyper-attention/definition-b-3 -->
# <blockquote>
#
# **Definition B.3 (Discrete-time Fourier series)** *Appendix B.1.2*
#
# **As printed.** $F[k] = \sum_{n=0}^{N-1} f[n]\, e^{-2\pi i kn/N}$
#
# **Corrected.** $F[k] = \frac1N \sum_{n=0}^{N-1} f[n]\, e^{-2\pi i kn/N}$, so that $f[n] = \sum_{k=0}^{N-1} F[k]\,
# e^{2\pi i kn/N}$.
#
# The factor $1/N$, which the series of Lemma B.5 asks for and Lemma B.4 has.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-b-5 -->
# <blockquote>
#
# **Lemma B.5 (Real form of the series)** *Appendix B.1.2*
#
# With $a_k = 2\,\mathrm{Re}\,F[k]$ and $b_k = -2\,\mathrm{Im}\,F[k]$, where $F$ carries the factor $1/N$: $f[n] =
# \tfrac{a_0}2 + \tfrac{a_{N/2}}2 \cos\pi n + \sum_{k=1}^{N/2-1} \bigl(a_k \cos\tfrac{2\pi kn}N + b_k \sin\tfrac{2\pi
# kn}N\bigr)$ for even $N$, and without the second term, up to $k = (N-1)/2$, for odd $N$.
#
# **In the paper's proof.** $\mathrm{Im}\,F[k] + \mathrm{Im}\,F[N - k] = 0$ "because cosine function has period of
# $\pi$", and the same of sine.
#
# **Corrected.** Because $f$ is real; cosine is even and sine is odd about $\pi$.
#
# </blockquote>
# <!-- /claim -->
#
# A random real function $f$ is taken apart and put together again, in the complex and in the real form. The proof of
# Lemma B.5 pairs the terms $k$ and $N - k$ "because cosine has period of $\pi$". Its period is $2\pi$; what is used is
# that cosine is even and sine is odd about $\pi$, so that the imaginary parts of a pair cancel.

# %%
draw = generator(seed)
function = normal(small_period, seed=draw)
coefficients, as_printed = dtfs(function), dtfs(function, form="printed")
returned = synthesis(coefficients)

# %% [markdown]
# As printed, the way there and back gives $N f$.

# %%
claim = Claim("hyper-attention/definition-b-3")
claim.close("analysis, then synthesis: largest error", returned, function, atol=1e-13)
claim.close("as printed, over N: largest error", synthesis(as_printed) / small_period, function, atol=1e-13)
claim.misprint.close("as printed, then synthesis: largest error", synthesis(as_printed), function, atol=1e-13)
claim.verdict()

# %% [markdown]
# The real form, for an even and an odd number of places; with the sign of $b_k$ flipped it is the reflected function.

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
# Of the proof: cosine is even about $\pi$, and has not the period $\pi$.

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

# %% [markdown]
# ## The window
# <!-- claim hyper-attention/lemma-b-4 -->
# <blockquote>
#
# **Lemma B.4 (Series of the window)** *Appendix B.1.2*
#
# **The paper states.** Let $f[n] = \mathbb I[|n| \le 2R]$. Then $F[k] = \frac1N \sin\bigl[\tfrac{2\pi}{N}(2R +
# \tfrac12)k\bigr] / \sin\bigl[\tfrac{2\pi}{N} \tfrac12 k\bigr]$ if $k \ne 0$, and $F[0] = \frac2N (2R + \tfrac12)$.
#
# **What is true.** This is so if $2R$ is a whole number and $4R + 1 \le N$.
#
# **What changed.** The paper says neither. A wider window meets itself on the loop. The radius $R$ of an agent need not
# be whole: where $2R$ is not, the window has $2 \lfloor 2R \rfloor + 1$ places, and $\lfloor 2R \rfloor$ takes the
# place of $2R$.
#
# <details><summary>Slips (1)</summary>
#
# - On $[N] = \{0, \dots, N-1\}$ to the letter, $|n| \le 2R$ is half of the window; $|n|$ must be the distance to 0 on
#   the loop.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# The window is 1 up to the distance $2R$. The paper has $f[n] = \mathbb I[|n| \le 2R]$ on $[N] = \{0, \dots, N - 1\}$,
# where $|n|$ must be the distance to 0 on the loop, $n$ or $N - n$; read to the letter it would be the half window $n
# \le 2R$, which has another series. The paper's proof is one word, "straightforward": the closed form is a geometric
# sum over $4R + 1$ places. If there are more places than the loop has, some are counted twice: the series of the closed
# form is then 2 there, and the window is 1. And if $2R$ is not whole, the closed form counts a place in part. With $R =
# 1.2$ the window has the five places up to distance 2, and the closed form counts 5.8.
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

# %%
window = window_matrix(period, radius)[0]
closed = window_coefficients(period, radius)
numerical = dtfs(window)
too_wide = (period + 3) // 4  # 4 R + 1 > N
of_printed = window_coefficients(period, too_wide, form="printed").to(torch.complex128)
angles = 2 * math.pi / period * torch.arange(1, period, dtype=torch.float64)
ends = torch.arange(period, dtype=torch.float64)
distance = torch.minimum(ends, period - ends)


def off_series(any_radius: float) -> float:
    """Largest error of the closed form for a radius that need not be whole."""
    rest = (angles * (2 * any_radius + 0.5)).sin() / (angles / 2).sin() / period
    formula = torch.cat([rest.new_tensor([(4 * any_radius + 1) / period]), rest])
    return (formula - dtfs((distance <= 2 * any_radius).to(torch.float64))).abs().max().item()


wrapped = synthesis(of_printed) - window_matrix(period, too_wide)[0]

# %% [markdown]
# A window that meets itself must break the closed form.

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
claim.verdict()

# %% [markdown]
# ## Any effect of a difference
# <!-- claim hyper-attention/theorem-b-6 -->
# <blockquote>
#
# **Theorem B.6 (Any effect of a difference)** *Appendix B.1.2, Eq. 17*
#
# **As printed.** $f[n_i - n_j] = p_i C p_j^\top$ with $a_k$, $b_k$ from Definition B.3, which lacks $1/N$.
#
# **Corrected.** For every $f : [N] \to \mathbb R$, $N$ even, the block-diagonal $C$ with $a_0$, the blocks
# $\begin{pmatrix} a_k & b_k \\ -b_k & a_k \end{pmatrix}$ and $a_{N/2}$ gives $p_i^\top C\, p_j = f[(n_i - n_j) \bmod
# N]$.
#
# Coefficients with the factor $1/N$; $p_i^\top C\, p_j$ for column vectors.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-b-7 -->
# <blockquote>
#
# **Remark B.7 (Symmetric effects have a diagonal score matrix)** *Appendix B.1.2*
#
# If $f[n] = f[-n]$, the matrix $C$ of Theorem B.6 is diagonal.
#
# </blockquote>
# <!-- /claim -->
#
# The code of a position lists a constant, then sine and cosine of each frequency. A $2 \times 2$ block for each
# frequency turns it, and $p_i^\top C p_j = f[(n_i - n_j) \bmod N]$. If $f$ is symmetric, all $b_k$ vanish and $C$ is
# diagonal.

# %%
code = position_code(small_period)
places = torch.arange(small_period)
wanted = function[(places[:, None] - places) % small_period]
matrix = attention_matrix(coefficients)
other_way = code @ matrix.mT @ code.mT  # rows and columns exchanged
printed_matrix = attention_matrix(as_printed)
series = real_series(2 * coefficients.real, -2 * coefficients.imag)[(places[:, None] - places) % small_period]

# %% [markdown]
# Rows and columns exchanged must give $f[n_j - n_i]$.

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
claim.verdict()

# %% [markdown]
# Both score matrices side by side, of the random function and of its symmetric part:

# %%
symmetric = (function + reflected) / 2
symmetric_matrix = attention_matrix(dtfs(symmetric))


def off_diagonal(square):
    return (square - square.diagonal().diag()).abs().max()


# %% [markdown]
# Blocks of two on the left, single entries on the right.

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
    caption="The score matrix in the sinusoidal code: blocks of two for a random effect, a diagonal for a symmetric "
    "one.",
    alt="Two square images. On the left two-by-two blocks along the diagonal, on the right single entries.",
)

# %% [markdown]
# Entries off the diagonal must vanish for the symmetric function only.

# %%
claim = Claim("hyper-attention/remark-b-7")
claim.at_most("symmetric f: largest entry off the diagonal", off_diagonal(symmetric_matrix), 1e-13)
claim.control.at_most("any f: largest entry off the diagonal", off_diagonal(matrix), 1e-13)
claim.verdict()

# %% [markdown]
# ## The colliding agents, and Figure 1
# <!-- claim hyper-attention/sinusoidal-construction -->
# <blockquote>
#
# **Sinusoidal construction (Colliding agents in the sinusoidal code)** *Section 7.1; Appendix B.1.2, Eq. 16*
#
# **As printed.** The layer represents Eqs. 4 and 13, sums over $j \ne i$, "exactly, for any $L$". (In the construction,
# the entry before the last of $p(n)$ is $\tfrac1{\sqrt2}\cos\bigl(\tfrac{2\pi}{N}(\tfrac N2 - 1)n\bigr)$.)
#
# **Corrected.** With $p(n) = \bigl(\tfrac1{\sqrt2}, \dots, \sin\tfrac{2\pi kn}{N}, \cos\tfrac{2\pi kn}{N}, \dots,
# \tfrac1{\sqrt2}\cos\pi n\bigr)$, $N$ even, $p(m)^\top p(n) = \tfrac N2 \delta_{mn}$. For whole $2R$ and $4R + 1 \le N$
# the diagonal $C_{nn} = 2F[\lceil n/2 \rceil]$ and $W^V = (-\sqrt2, 0, \dots)$ give the layer of the one-hot
# construction, which returns $V_i - 1$ for any $L$; $F$ is the series of the window.
#
# With the bias of $-1$ that is announced before Eq. 13, as in Example 1. (The factor $1/\sqrt2$ belongs to the constant
# and to $\cos \pi n$ only, as $p_i^\top p_j = \tfrac N2 \delta_{ij}$ asks.)
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/figure-1 -->
# <blockquote>
#
# **Figure 1 (Diagonal of the devised score matrix)** *Appendix B.1.2*
#
# The diagonal entries $C_{nn}$ of the devised score matrix in the sinusoidal code, $N = 360$ grid cells (the caption
# says agents), $R = 5$: a wave that dies away, each value twice but the first and the last.
#
# </blockquote>
# <!-- /claim -->
#
# The window is symmetric, so its score matrix is diagonal: twice the coefficients of Lemma B.4, each frequency for its
# sine and its cosine. The layer adds up the window over all agents, the token itself included. Here too the paper names
# Eqs. 4 and 13, "for any $L$", which leave it out, and here too the bias of $-1$ announced before Eq. 13 is meant: the
# same slip as on the page of Example 1, and judged alike.

# %%
code = position_code(period)
diagonal = window_diagonal(period, radius)
printed_code = position_code(period, form="printed")
printed_error = (printed_code @ printed_code.mT - period / 2 * torch.eye(period, dtype=torch.float64)).abs().max()
scaled_identity = period / 2 * torch.eye(period, dtype=torch.float64)
value = torch.zeros(period, dtype=torch.float64)
value[0] = -math.sqrt(2)
scores = code @ diagonal.diag() @ code.mT
too_wide_diagonal = window_diagonal(period, too_wide, form="printed").diag()
spoiled = code @ too_wide_diagonal @ code.mT - window_matrix(period, too_wide)

# %% [markdown]
# The layer on heights of several lengths, against the sum over the others.

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

# %% [markdown]
# The printed factor must spoil the code, and a window that meets itself the scores.

# %%
claim = Claim("hyper-attention/sinusoidal-construction")
orthogonal = (code @ code.mT - scaled_identity).abs().max()
claim.at_most("P P^T against (N/2) I", orthogonal, 1e-11)
claim.close("P diag(C) P^T against the window", scores, window_matrix(period, radius), atol=1e-11)
claim.at_most("P W against -1", (code @ value + 1).abs().max(), 1e-15)
claim.at_most("layer against the sum over others with the bias of -1, largest error", with_bias, 1e-9)
claim.misprint.at_most("layer against Eq. 13, without the bias: largest error", without_bias, 1e-9)
claim.at_most("code without the factor: P P^T against (N/2) I", orthogonal, 1e-11, of="proof")
claim.misprint.at_most("code as printed: P P^T against (N/2) I", printed_error, 1e-11, of="proof")
claim.control.at_most("4R + 1 > N: P diag(C) P^T against the window", spoiled.abs().max(), 1e-11)
claim.number("code as printed: error of P P^T", printed_error)
claim.verdict()

# %% [markdown]
# The diagonal of the score matrix, which is the figure of the paper, and that of a window twice as wide:

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
    caption="Figure 1 of the paper: the diagonal of the score matrix in the sinusoidal code. The thin line is that of "
    "a window twice as wide.",
    alt="Two curves that start at their maxima, fall through zero and swing below and above in shrinking waves to the "
    "end; the thin one starts twice as high and swings twice as often.",
)

# %% [markdown]
# The curve must be twice the numerical series, in equal pairs, and the wider window must give another.

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
# ## What was learned
# In the sinusoidal code an effect of differences is a block of two numbers for each frequency, and a symmetric one a
# single number. That is why the devised scores of the colliding agents are diagonal. The slips on the way are a factor
# $1/N$, a factor $1/\sqrt2$, a transpose and the bias that stands for the agent itself; one condition is missing, that
# the window must not meet itself.
#
# ## To try
# - Set `radius = 20`: the curve of Figure 1 falls faster and crosses zero more often.
# - Set `small_period = 6`: three frequencies, and the same identities to rounding.

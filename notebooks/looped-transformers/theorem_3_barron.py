# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3 · How many sigmoids a function needs
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Definitions 2 and 3, Theorem 3, Appendix J.1, after Barron (1993).*
#
# The more dimensions a space has, the more steps it takes to fill it. We might fear the same for [sums of
# sigmoids](lemma_11_sigmoids.ipynb). A theorem of Barron, which the paper quotes, says that for some functions the
# dimension does not matter. Which functions are these, and how does the error fall?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.barron import (
    Element,
    bump,
    bump_constant,
    bump_magnitude,
    fourier_constant,
    greedy_fit,
    step_magnitude,
)
from attention_theory.randomness import generator
from attention_theory.trends import exponent
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 0.3  # of the Gaussian bump that is approximated on [-1, 1], from 0.1 to 1
most = 128  # largest number of sigmoids, a power of 2, at least 32
points = 1001  # of the grid on [-1, 1], at least 101
seed = 0  # of the random elements of the dictionary, at least 0

# %%
require(width=(width, 0.1, 1.0), most=(most, 32, None), points=(points, 101, None), seed=(seed, 0, None))
x = torch.linspace(-1, 1, points, dtype=torch.float64)
f = bump(x, width)
constant = bump_constant(width)

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/definition-2 -->
# <blockquote>
#
# **Definition 2 (Functions with a finite Fourier integral)** *Appendix J.1*
#
# **The paper states.** Let $\Gamma_{C,B}$ be the set of functions defined in a bounded domain $B$, $f:B\to\mathbb R$,
# $B\subseteq\mathbb R^d$ with a proper extension to $\mathbb R^d$ such that they have $C$ bounded Fourier integral,
# i.e., $\int\sup_{x\in B}|w\cdot x|\,F(dw)\le C$ holds where $F(dw)$ is the magnitude of the Fourier distribution.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/definition-3 -->
# <blockquote>
#
# **Definition 3 (Dictionary of sigmoids)** *Appendix J.1*
#
# **The paper states.** Given $\tau>0$, $C>0$ and a bounded set $B$, let $G_{\phi,\tau}=\{\gamma\phi(\tau(a^\top
# x+b)):|\gamma|\le2C,\|a\|_B\le1,|b|\le1\}$ where $\|a\|_B=\sup_{x\in B}\{x^\top a\}$ and $\phi$ is the sigmoid
# function.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/theorem-3 -->
# <blockquote>
#
# **Theorem 3 (Barron, as quoted)** *Appendix J.1*
#
# **The paper states.** Every function $f\in\Gamma_{C,B}$ with $f(0)=0$ can be approximated by a linear combination of
# sigmoids $f_i\in G_{\phi,\tau}$, $i=1,\dots,m$. If $\tau\ge m^{1/2}\ln m$ the error scales as
# $|f(x)-\sum_{i=1}^mf_i(x)|\le O(1/m^{1/2})$, $x\in B$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The source bounds the root mean square error over $B$; the paper writes the bound for every
# $x\in B$. The theorem is quoted, and one function stands in for the class.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The proof builds the sum term by term. Each step takes the sigmoid that correlates most with what is still missing.
# This is an average of $m$ well-chosen elements, and like any average it errs by about $1/\sqrt m$ in the root mean
# square. The constant $C$ measures how much the function oscillates. The sharpness $\tau$ of the sigmoids has to grow
# with $m$, because soft sigmoids are nearly straight lines.
#
# We run this construction on one function. This illustrates the theorem; it does not prove it.
#
# ## See it run
# Our function is a Gaussian bump, $e^{-x^2/2w^2}-1$, with the Fourier constant $\sqrt{2/\pi}/w$. We compare it with a
# step, whose integral grows without end.

# %%
frequencies = torch.linspace(-100, 100, 100_001, dtype=torch.float64)
quadrature = fourier_constant(bump_magnitude(frequencies, width), frequencies)
cutoffs = [10.0, 100.0, 1000.0]
steps = []
for cutoff in cutoffs:
    positive = torch.linspace(1e-3, cutoff, 20_001, dtype=torch.float64)
    steps.append(2 * fourier_constant(step_magnitude(positive), positive))
show.table(["cutoff", "integral for a step"], list(zip(cutoffs, steps, strict=True)))

further = torch.linspace(-1000, 1000, 1_000_001, dtype=torch.float64)
settled = fourier_constant(bump_magnitude(further, width), further) / quadrature

# %% [markdown]
# We draw two hundred elements of the dictionary and try three that are out of range. Then we build the sums.

# %%
source = generator(seed)
coefficients = 2 * torch.rand(200, 3, generator=source, dtype=torch.float64) - 1
elements = [
    Element(gamma=2 * constant * gamma, a=a, b=b, tau=10.0, constant=constant) for gamma, a, b in coefficients.tolist()
]
outside = 0
for too_large in ({"gamma": 2.1 * constant}, {"a": 1.1}, {"b": -1.1}):
    try:
        Element(**({"gamma": 1.0, "a": 1.0, "b": 0.0} | too_large), tau=10.0, constant=constant)
    except ParameterError:
        outside += 1
largest = max(element(x).abs().max().item() for element in elements)

# %%
counts = [2**power for power in range(2, int(math.log2(most)) + 1)]
sharp = [greedy_fit(f, x, m, math.sqrt(m) * math.log(m), constant) for m in counts]
soft = [greedy_fit(f, x, m, 1.0, constant) for m in counts]
mean_slope = exponent(counts, [fit.root_mean_square for fit in sharp])
largest_slope = exponent(counts, [fit.largest for fit in sharp])
soft_slope = exponent(counts, [fit.root_mean_square for fit in soft])

# %%
fig, axis = show.axes()
axis.loglog(counts, [fit.root_mean_square for fit in sharp], "o-", label=r"root mean square, $\tau=\sqrt{m}\,\ln m$")
axis.loglog(counts, [fit.largest for fit in sharp], "s-", label=r"largest, $\tau=\sqrt{m}\,\ln m$")
axis.loglog(counts, [fit.root_mean_square for fit in soft], "^-", label=r"root mean square, $\tau=1$")
axis.loglog(counts, [2 * constant / math.sqrt(m) for m in counts], "k--", label=r"$2C/\sqrt{m}$")
axis.set(xlabel="sigmoids $m$", ylabel="error")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="rate",
    caption="Error of the greedy sums for a bump. With growing sharpness the root mean square falls faster than "
    r"$m^{-1/2}$ (dashed), and the largest error about as fast; with $\tau=1$ the root mean square stays level.",
    alt="Log-log plot. One curve falls more steeply than the dashed line of slope minus one half, one about as "
    "steeply. A third, for sharpness one, is almost level.",
)

# %% [markdown]
# With growing sharpness, the root mean square falls faster than $m^{-1/2}$, and the largest error about as fast. With
# $\tau=1$ more sigmoids do not help.
#
# ## How we checked
# The root mean square must fall with an exponent of at most $-\frac12$, and the largest error must stay below
# $2C/\sqrt m$. As controls, a step, an element that is too large, and $\tau=1$ must fail.

# %%
claim = Claim("looped-transformers/definition-2")
claim.close("bump: quadrature less closed form", quadrature, constant, atol=1e-6)
claim.at_most("bump: growth from cutoff 100 to 1000", settled, 1.1)
claim.control.at_most("step: growth from cutoff 100 to 1000", steps[2] / steps[1], 1.1)
claim.verdict()

# %%
claim = Claim("looped-transformers/definition-3")
claim.at_most("largest |value| of 200 elements", largest, 2 * constant)
claim.equal("elements out of range that are refused", outside, 3)
too_high = 2.1 * constant * (10.0 * (x + 1)).sigmoid()
claim.control.at_most("|gamma| of 2.1 C: largest |value|", too_high.max(), 2 * constant)
claim.verdict()

# %%
claim = Claim("looped-transformers/theorem-3")
claim.at_most("slope of the root mean square error", mean_slope, -0.5)
scaled = max(fit.largest * math.sqrt(m) for m, fit in zip(counts, sharp, strict=True))
claim.at_most("largest error times √m, over all m", scaled, 2 * constant)
claim.number("slope of the largest error", largest_slope, printed=-0.5)
claim.at_most("largest sum of |gamma|", max(fit.gamma.abs().sum().item() for fit in sharp), 2 * constant + 1e-9)
claim.control.at_most("sharpness 1: slope of the root mean square error", soft_slope, -0.5)
claim.stand_in("one function for the whole class; the theorem is quoted")
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Barron bounds the root mean square error; the paper writes the bound for every $x$. At first we required an exponent
# of at most $-\frac12$ for the largest error as well, and it just missed. We therefore check the bound itself and
# show the exponent. The sum of the $|\gamma_i|$ never exceeds $2C$, which is less than the paper's wording allows.
#
# </details>
#
# ## What to remember
# - In any dimension, of the order of $C^2/\epsilon^2$ sigmoids are enough for a root mean square error of $\epsilon$.
# - The sigmoids must become sharper as their number grows.
#
# ## Exercises
#
# 1. *By hand.* How many times as many sigmoids do we need for a tenth of the error, if it falls like $m^{-1/2}$?
#    <details><summary>Solution</summary>
#
#    A hundred times as many.
#
#    </details>
# 2. *Predict, then run.* Set `width = 1.0` in place of 0.3. What happens to $C$ and to the errors?
#    <details><summary>Solution</summary>
#
#    $C=\sqrt{2/\pi}/w$ falls from 2.66 to 0.80, and all errors are lower.
#
#    </details>
#
# Next: [Lemma 17](lemma_17_reciprocal.ipynb). For $1/x$ and $\sqrt x$ we can do better than this general rate.

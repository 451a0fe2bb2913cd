# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas 17 to 20 · The reciprocal and the root by steps and by sigmoids
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemmas 17 to 20, Corollaries 8 and 9, Appendix M.*
#
# A calculator must divide and take roots, but attention computes neither. It computes [sums of
# sigmoids](lemma_11_sigmoids.ipynb), and steep sigmoids are almost steps. How many steps does a staircase need for a
# reciprocal or a root?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.approximation import (
    ROOT_INTEGRAL,
    reciprocal_partition,
    reciprocal_sigmoids,
    root_at_scales,
    root_partition,
    root_sigmoids,
)
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSumBlock
from attention_theory.looped_transformers.certified.approximation import (
    certify_inversion,
    certify_reciprocal_sigmoids,
    certify_reciprocal_steps,
    certify_root_at_scales,
    certify_root_sigmoids,
    certify_root_steps,
)
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
points = 20_000  # of the grids on which errors are taken, at least 1000
most_heads = 400  # the most heads of a block run as a transformer, from 100 to 900

# %%
require(points=(points, 1000, None), most_heads=(most_heads, 100, 900))


def grid(least, most):
    """Half of the points equally spaced, half of them in proportion, from ``least`` to just below ``most``."""
    even = torch.linspace(least, most, points // 2, dtype=torch.float64)
    ratio = torch.logspace(math.log10(max(least, 1e-9)), math.log10(most), points // 2, dtype=torch.float64)
    return torch.cat([even, ratio]).clamp(least, most * (1 - 1e-9))


# %% [markdown]
# ## A tiny example
# We follow $1/x$ from $\delta=\frac12$ on, within $\epsilon=\frac12$. Each step has height $1/a$ at its start $a$ and
# may last until $a(1+\epsilon a)$. The first lasts from $\frac12$ to $\frac58$, where $1/x$ has fallen from 2 to 1.6,
# that is, by less than $\frac12$. The next lasts from $\frac58$ to about 0.82. Steps soon get longer: one that starts
# at 10 lasts until 60.

# %%
cases = [(0.1, 0.1, 10.0), (0.05, 0.05, 100.0), (0.1, 0.1, 1e6), (0.02, 0.05, 10.0)]
rows = []
for error, least, most in cases:
    x, partition = grid(least, most), reciprocal_partition(error, least, most)
    wanted = 1 / x
    smooth, late = reciprocal_sigmoids(error, least, most), reciprocal_sigmoids(error, least, most, first_knot=least)
    bound = math.log(1 / (error * least)) / (error * least) + math.log(most)
    largest = [(f - wanted).abs().max().item() for f in (partition(x), smooth(x), partition(x, "printed"), late(x))]
    mirrored = (partition(-x) - partition(x) + wanted).abs().max().item()  # f(y) - f(-y) - 1/y at y = -x
    rows.append([error, least, most, partition.intervals, bound, *largest, mirrored])

# %%
titles = ["ε", "δ", "C", "intervals", "the paper's bound", "steps", "sigmoids", "the paper's steps", "first knot at δ"]
show.table(
    [*titles, "steps on [-C, -δ]"],
    rows,
    caption="Largest errors on [δ, C], and on the right those on the other side of 0.",
)

# %% [markdown]
# The steps and the sigmoids stay within $\epsilon$, and the number of intervals stays far below the paper's bound, even
# for $C=10^6$.
#
# ## The paper states
# <!-- claim looped-transformers/lemma-17 -->
# <blockquote>
#
# **Lemma 17 (1/x by steps)** *Appendix M*
#
# **The paper states.** Given two constants $\epsilon,\delta\in[0,1]$, there exists a 1 hidden layer neural network $f$
# with threshold activation and $d$ activations in the hidden layer, such that $\forall x\in[-C,-\delta]\cup[\delta,C]$,
# $|f(x)-\frac1x|\le\epsilon$, as long as $d=\Omega\left(\frac{\log(1/(\epsilon\delta))}{\epsilon\delta}+\log C\right)$.
#
# <details><summary>Slips (2)</summary>
#
# - The proof has $\frac1{a_i}1_{x\ge a_i}-\frac1{a_i}1_{x<a_i(1+\epsilon a_i)}$. The second indicator should be
#   $1_{x\ge a_i(1+\epsilon a_i)}$.
# - "$a_i\ge1$" in the proof should be $a_i\ge1/\epsilon$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** About $1/\epsilon\delta$ steps, plus a multiple of $\log\log C$, are enough.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-18 -->
# <blockquote>
#
# **Lemma 18 (1/x by sigmoids)** *Appendix M*
#
# **The paper states.** Given $\epsilon,\delta\in[0,1]$, and $C\ge1$ there exists a function $f$ of the form
# $f(x)=\sum_{i=1}^mc_i\phi(w_ix+b_i)$, where $\phi$ is the sigmoid function, such that $\forall x\in[\delta,C]$,
# $|f(x)-\frac1x|\le\epsilon$, as long as $d=\Omega\left(\frac{\log(1/(\epsilon\delta))}{\epsilon\delta}+\log C\right)$.
#
# <details><summary>Slips (1)</summary>
#
# - The number of sigmoids is $m$, so $d=\Omega(\cdot)$ should be $m=\Omega(\cdot)$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The first sigmoid has to rise below $\delta$, for instance at $\delta/2$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/corollary-8 -->
# <blockquote>
#
# **Corollary 8 (1/x with m heads)** *Appendix M*
#
# **The paper states.** There exists a transformer-based function block with 3 layers and $m$ heads which can implement
# $f(a)=\frac1a$ up to error $\tilde O\left(\frac1{\sqrt m}\right)$ for all $a\in[\tilde\Omega\left(\frac1{\sqrt
# m}\right),\tilde O(e^m)]$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Two layers are enough. For $m\ge9$, the error is at most $1.5/\sqrt m$ on $[1.5/\sqrt m,e^m]$,
# without logarithms.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-19 -->
# <blockquote>
#
# **Lemma 19 (Root by steps)** *Appendix M*
#
# **The paper states.** Given $\epsilon\in[0,1]$, there exists a 1 hidden layer neural network $f$ with threshold
# activation and $d$ activations in the hidden layer, such that $\forall x\in[0,C]$, $|f(x)-\sqrt x|\le\epsilon$, as
# long as $d=\Omega\left(\frac{\sqrt C}\epsilon\right)$.
#
# <details><summary>Slips (1)</summary>
#
# - The proof has $i\epsilon\,1_{x\ge i^2\epsilon^2}-i\epsilon\,1_{x<(i+1)^2\epsilon^2}$. The second indicator should be
#   $1_{x\ge(i+1)^2\epsilon^2}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-20 -->
# <blockquote>
#
# **Lemma 20 (Root by sigmoids)** *Appendix M*
#
# **The paper states.** Given $\epsilon\in[0,1]$, and $C\ge1$ there exists a function $f$ of the form
# $f(x)=\sum_{i=1}^mc_i\phi(w_ix+b_i)$, where $\phi$ is the sigmoid function such that $\forall x\in[0,C]$, $|f(x)-\sqrt
# x|\le\epsilon$, as long as $m=\Omega\left(\frac{\sqrt C}\epsilon\right)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/corollary-9 -->
# <blockquote>
#
# **Corollary 9 (Root with m heads)** *Appendix M*
#
# **The paper states.** There exists a transformer-based function block with 3 layers and $m$ heads which can implement
# $f(a)=\sqrt a$ up to error $O(1/m)$ for all $a\in[0,O(m^2)]$.
#
# <details><summary>Slips (1)</summary>
#
# - The paper derives it from Lemma 20, whose $m$ equal steps have error $\sqrt C/m$ on $[0,C]$, which is 1 on
#   $[0,m^2]$. Sigmoids whose slopes form a geometric sequence achieve $O(1/m)$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** $O(\log^2m)$ such sigmoids are enough, with coefficients of order $m^3$ that cancel.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *Reciprocal.* On an interval from $a$ to $a(1+\epsilon a)$, the function $1/x$ changes by less than $\epsilon$. Far
# from 0 the steps are long, because each nearly squares $a$, so a distant end costs few steps. The mirror images,
# $f(x)-f(-x)$, cover negative numbers. A sigmoid is one half at its knot, so the first one must rise before $\delta$.
#
# *Root.* The root rises by $\epsilon$ between $i^2\epsilon^2$ and $(i+1)^2\epsilon^2$. All steps have the same height,
# and there are $\sqrt C/\epsilon$ of them.
#
# *Root on $[0,m^2]$.* With $m$ equal steps the error is 1. Sigmoids whose slopes form a geometric sequence do better,
# because each scale of $x$ gets its own few sigmoids.
#
# <details><summary>Proof of Corollary 8 (inversion), the number of intervals</summary>
#
# With $s=1/\epsilon a$ an interval takes $s$ to $s^2/(s+1)$. That lessens $s$ by $s/(s+1)$ and $\ln s$ by at least
# $1/(s+1)$, and so $s+\ln s$ by at least 1: from $s=m/2.25$ down to 1 there are at most $m/2.25+\ln(m/2.25)$ intervals.
# From there on $\epsilon a$ is doubled once and then at least squared in each; another $4+\log_2m$ lead to $e^m$. The
# sum is at most $m$ for $m\ge20$, and below that the intervals can be counted. $\square$
#
# </details>
#
# <details><summary>Proof of Corollary 9 (sqrt), with slopes in geometric sequence</summary>
#
# *An integral.* With $K=\int_0^\infty\tanh(u/2)\,u^{-3/2}\,du$ the substitution $u=wx$ shows
#
# $$\sqrt x=\frac1K\int_0^\infty\big(2\phi(wx)-1\big)\,w^{-3/2}\,dw=\int_{-\infty}^\infty g(s)\,ds,\qquad
# g(s)=\frac1K\tanh\big(\tfrac12e^sx\big)e^{-s/2},$$
#
# where $w=e^s$. Now take the sum $h\sum_jg(s_0+jh)$ in place of the integral: sigmoids with the slopes $e^{s_0+jh}$, a
# geometric sequence, and a constant, which is a sigmoid of slope 0.
#
# *The step.* $g$ is analytic for $|\mathrm{Im}\,s|<\pi/2$, since the nearest poles of the hyperbolic tangent are where
# $e^sx=\pm i\pi$. On a line $\mathrm{Im}\,s=\pm\alpha$ with $\alpha<\pi/2$ the integral of $|g|$ is $M_\alpha\sqrt x$,
# by the same substitution, with $M_\alpha$ finite: the integrand falls like $e^{s/2}$ to the left and like $e^{-s/2}$
# to the right. For such a function the sum over all $j$ misses the integral by at most $2M_\alpha\sqrt
# x/(e^{2\pi\alpha/h}-1)$ (Poisson's formula, with the path of integration moved to these lines).
#
# *The ends.* As $\tanh v\le v$, the terms below $w_0$ come to at most $\frac{x}{2K}\int_0^{w_0}w^{-1/2}dw=
# \frac{x\sqrt{w_0}}K$ together, since $e^{s/2}$ rises; and as $\tanh v\le1$, those above $w_1$ to at most
# $\frac2{K\sqrt{w_1}}$. Both are $\frac\epsilon4$ at most, for all $x\le C$, with $w_0=(K\epsilon/4C)^2$ and
# $w_1=(8/K\epsilon)^2$.
#
# *The number.* The remaining part has length $\log(w_1/w_0)=2\log(32\,C/K^2\epsilon^2)$, and with
# $h=2\pi\alpha/\log(1+4M_\alpha\sqrt C/\epsilon)$ the step costs $\frac\epsilon2$ at most. That is
# $O(\log^2(C/\epsilon))$ sigmoids for an error of $\epsilon$ on $[0,C]$. With $C=m^2$ and $\epsilon=1/m$ it is
# $O(\log^2m)$, fewer than $m$ for large $m$; more than these only make $h$ smaller. At $x=0$ the sum is 0.
#
# *The coefficients.* They are $\frac{2h}Kw^{-1/2}$, a geometric series whose first term belongs to $w_0$. Together they
# are at most $\frac{2h}Kw_0^{-1/2}/(1-e^{-h/2})$, which tends to $\frac4Kw_0^{-1/2}=16\,C/K^2\epsilon$ as $h$ falls: on
# $[0,m^2]$ that is $16\,m^3/K^2\approx2.2\,m^3$, which the constant has to take off again. The corollary asks nothing
# of the coefficients, but a computer loses digits by it: in 53 bits some $10^{-15}m^3$, which is no longer small beside
# $1/m$ when $m$ is some thousands. (Summed as $2\phi-1$, term by term, nothing is lost.) $\square$
#
# </details>
#
# ## See it run
# ### The reciprocal with $m$ heads
# We run the sums as transformers in the block of Lemma 11, with $\epsilon=\delta=1.5/\sqrt m$, and again with about
# half of the heads.


# %%
def block_error(function, x, exact):
    """The largest error of the block, run as a transformer on every x."""
    a = torch.zeros(len(x), 4, 4, dtype=torch.float64)
    a[:, 0, 0] = x
    return (run_block(SigmoidSumBlock("f", function), a, a).result[:, 0, 0] - exact).abs().max().item()


# %%
sizes = [count for count in (25, 100, 400, 900) if count <= most_heads]
reciprocal, of_sum, of_block = [], {}, {}
for count in sizes:
    step = 1.5 / math.sqrt(count)
    function = reciprocal_sigmoids(step, step, 100.0)
    x = torch.logspace(math.log10(step), math.log10(99.0), 60, dtype=torch.float64)
    half = reciprocal_sigmoids(min(1.0, 2 * step), step, 100.0)
    of_sum[f"m = {count}"] = ((function(x) - 1 / x).abs().max() / step).item()
    of_block[f"m = {count}"] = block_error(function, x, function(x))
    reciprocal.append(
        (count, function.terms, block_error(function, x, 1 / x), (half(x) - 1 / x).abs().max().item(), half.terms)
    )
show.table(
    ["m", "heads used", "largest error", "error times √m", "error with about half the heads", "heads then"],
    [(m, heads, error, error * math.sqrt(m), half, few) for m, heads, error, half, few in reciprocal],
)

# %% [markdown]
# The error times $\sqrt m$ stays below 1.5. Next we count the sigmoids for the long interval, up to $e^m$.

# %%
fit, far = {}, {}
for m in range(9, 401):
    step = 1.5 / math.sqrt(m)
    fit[f"m = {m}"] = reciprocal_partition(step, step, math.exp(m)).intervals / m
    if m in (9, 25, 100, 400):
        x = torch.logspace(math.log10(step), m / math.log(10), points, dtype=torch.float64)
        x = x.clamp(step, math.exp(m) * (1 - 1e-9))
        far[f"m = {m}"] = (reciprocal_sigmoids(step, step, math.exp(m))(x) - 1 / x).abs().max() * math.sqrt(m)
more_heads = reciprocal_sigmoids(0.1, 0.1, 1e9).terms - reciprocal_sigmoids(0.1, 0.1, 10.0).terms
squarings = math.ceil(math.log2(math.log2(0.1 * 1e9)))  # of ε a, from 2 up to ε C
one = torch.ones(1, 4, 4, dtype=torch.float64)
inverter = summarise(run_block(SigmoidSumBlock("f", reciprocal_sigmoids(0.3, 0.3, 100.0)), one, one).machine)

# %% [markdown]
# ### The root

# %%
root_cases = [(0.1, 1.0, 10), (0.1, 100.0, 100), (0.05, 4.0, 40)]
root_rows = []
for error, most, _ in root_cases:
    x, partition = grid(0.0, most), root_partition(error, most)
    values = (partition(x), root_sigmoids(error, most)(x), partition(x, "printed"), root_partition(2 * error, most)(x))
    root_rows.append([partition.intervals, *((value - x.sqrt()).abs().max().item() for value in values)])

# %% [markdown]
# On $[0,m^2]$ we compare equal steps with geometric slopes.


# %%
def root_error(function, most):
    """The largest error of a sum for the root on [0, most]."""
    x = torch.cat([torch.zeros(1, dtype=torch.float64), grid(0.0, most)])
    return (function(x) - x.sqrt()).abs().max().item()


counts = [25, 50, 100, 200, 400]
steps, scales, fewest, blocks = [], [], [], []
for m in counts:
    most, wanted = float(m**2), 1 / m
    steps.append(root_error(root_sigmoids(1.0, most), most))
    scales.append(root_error(root_at_scales(m, most, wanted), most))
    enough = (k for k in range(10, m + 1) if root_error(root_at_scales(k, most, wanted), most) <= wanted)
    fewest.append(next(enough, m))
for m in (25, 50, 100):
    x = torch.logspace(-6, 2 * math.log10(m), 120, dtype=torch.float64)
    x[0] = 0
    blocks.append(block_error(root_at_scales(m, float(m**2), 1 / m), x, x.sqrt()))
zero = torch.zeros(1, 4, 4, dtype=torch.float64)
built = summarise(run_block(SigmoidSumBlock("f", root_at_scales(25, 625.0, 1 / 25)), zero, zero).machine)

# %%
show.table(
    ["m", "equal steps", "geometric slopes", "the same, times m", "as a transformer", "sigmoids for 1/m"],
    [
        (m, step, scale, scale * m, block, few)
        for m, step, scale, block, few in zip(counts, steps, scales, [*blocks, "", ""], fewest, strict=True)
    ],
    caption="Largest error of the root on [0, m²] with m sigmoids, and how few sigmoids are enough for 1/m.",
)

# %%
fig, axis = show.axes()
axis.loglog(counts, steps, "s-", label="equal steps")
axis.loglog(counts, scales, "o-", label="geometric slopes")
axis.loglog(counts[:3], blocks, "D", markersize=9, fillstyle="none", color="k", label="the same, as a transformer")
axis.loglog(counts, [1 / m for m in counts], "k--", label="$1/m$")
axis.set(xlabel="sigmoids $m$", ylabel="largest error of the root on $[0,m^2]$")
axis.legend()
show.figure(
    fig,
    name="root-range",
    caption="Error of the root on $[0,m^2]$ with $m$ sigmoids. With the steps of Lemma 20 it stays near 1; with "
    "geometric slopes it stays below $1/m$ (dashed), and a transformer with $m$ heads has the same error.",
    alt="Log-log plot: one curve is level near one; the other falls along a dashed line of slope minus one, below it, "
    "with three diamonds on it.",
)

# %% [markdown]
# Equal steps stay near 1. Geometric slopes stay below $1/m$, and the transformer has the same error. Their price is
# large coefficients that cancel.


# %%
def beyond(function, x):
    """What the terms of the same sequence of slopes add that lie beyond its two ends."""
    s = function.slopes[:-1].log()
    h, further = s[1] - s[0], torch.arange(1, 2000, dtype=torch.float64)
    w = torch.cat([s[0] - h * further, s[-1] + h * further]).clamp(-600, 600).exp()
    return h / ROOT_INTEGRAL * (x[:, None] * w / 2).tanh() @ w.rsqrt()


growth, ends, lost = {}, {}, []
for m in (25, 100, 400, 1000, 3000):
    function = root_at_scales(m, float(m**2), 1 / m)
    x = torch.linspace(0.0, float(m**2), 200, dtype=torch.float64)
    ends[f"m = {m}"] = (beyond(function, x).max() * 2 * m).item()  # epsilon is 1 / m
    by_pairs = (x[:, None] * function.slopes / 2).tanh() @ (function.heights / 2)
    h, total = math.log(function.slopes[1] / function.slopes[0]), function.heights[:-1].sum().item()
    growth[f"m = {m}"] = total / (16 * m**3 / ROOT_INTEGRAL**2 * h / 2 / (1 - math.exp(-h / 2)))
    lost.append((m, total / m**3, (function(x) - by_pairs).abs().max().item() * m))
show.table(["m", "sum of the coefficients over m³", "lost in 53 bits, times m"], lost)

# %% [markdown]
# ## How we checked
# We take the largest errors on grids, and solvers verify whole lists of steps for every real $x$; ball arithmetic
# does the same for the sigmoids. With half of the intervals or sigmoids, or with the first knot at $\delta$, the
# error must exceed $\epsilon$.

# %%
claim = Claim("looped-transformers/lemma-17")
for error, least, most, intervals, bound, of_steps, _, printed, _, other_side in rows:
    label = f"ε = {error}, δ = {least}, C = {most:.0f}"
    claim.at_most(f"{label}: largest error of the steps", of_steps, error)
    claim.at_most(f"{label}: largest error of their mirror images on [-C, -δ]", other_side, error)
    claim.at_most(f"{label}: intervals within the bound", intervals, bound)
    claim.at_most(f"{label}: the proof's intervals, second indicator x >= a(1 + εa)", of_steps, error, of="proof")
    claim.misprint.at_most(f"{label}: second indicator as printed, largest error", printed, error, of="proof")
coarse = reciprocal_partition(0.2, 0.1, 10.0)
claim.control.close("half the intervals: largest error", coarse(grid(0.1, 10.0)), 1 / grid(0.1, 10.0), atol=0.1)
claim.certified("every real x", certify_reciprocal_steps())
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-18")
for error, least, most, intervals, bound, _, smooth, _, late, _ in rows:
    label = f"ε = {error}, δ = {least}, C = {most:.0f}"
    claim.at_most(f"{label}: largest error of the sigmoids", smooth, error)
    claim.at_most(f"{label}: sigmoids m within the bound", intervals, bound)
    claim.number(f"{label}: largest error of the sigmoids", smooth)
    claim.control.at_most(f"{label}: first knot at δ, largest error", late, error)
    claim.equal(f"{label}: that error times 2δ", late * 2 * least, 1.0, tolerance=0.01)
claim.certified("ε = δ = 1/4, C = 16: every real x", certify_reciprocal_sigmoids())
claim.verdict()

# %%
claim = Claim("looped-transformers/corollary-8")
shares = max(heads / m for m, heads, *_ in reciprocal)
claim.at_most("heads used, over m", shares, 1.0)
claim.at_most("error times √m, largest", max(error * math.sqrt(m) for m, _, error, *_ in reciprocal), 1.5)
claim.at_most("interval up to eᵐ, m from 9 to 400: sigmoids over m", fit, 1.0)
claim.at_most("the same, four of them: error of the sum times √m", far, 1.5)
claim.at_most("layers (3 claimed)", inverter.layers, 3)
claim.at_most("heads for a reach of 1e9 rather than 10", more_heads, squarings + 1)
worst_half = min(half * math.sqrt(m) for m, _, _, half, _ in reciprocal)
claim.control.at_most("about half the heads: error times √m, smallest", worst_half, 1.5)
claim.at_most("Lemma 18 with ε = δ = 1.5/√m: error of the sum over ε", of_sum, 1.0, of="proof")
claim.at_most("Lemma 11: the block less the sum, largest difference", of_block, 1e-9, of="proof")
claim.certified("m from 9 to 64, every real x", certify_inversion())
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-19")
for (error, most, count), (intervals, of_steps, _, printed, coarse) in zip(root_cases, root_rows, strict=True):
    label = f"ε = {error}, C = {most:.0f}"
    claim.at_most(f"{label}: largest error of the steps", of_steps, error * (1 + 1e-9))
    claim.at_most(f"{label}: intervals", intervals, count)
    claim.control.at_most(f"{label}: half the intervals, largest error", coarse, error)
    right = "second indicator x >= (i + 1)² ε²"
    claim.at_most(f"{label}: the proof's intervals, {right}", of_steps, error * (1 + 1e-9), of="proof")
    claim.misprint.at_most(f"{label}: second indicator as printed, largest error", printed, error, of="proof")
claim.certified("ε = 1/8, C = 9: every real x", certify_root_steps())
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-20")
for (error, most, count), (_, _, smooth, *_) in zip(root_cases, root_rows, strict=True):
    label = f"ε = {error}, C = {most:.0f}"
    claim.at_most(f"{label}: largest error of the sigmoids", smooth, error)
    claim.at_most(f"{label}: sigmoids", root_sigmoids(error, most).terms, count)
    claim.number(f"{label}: largest error of the sigmoids", smooth)
    x = grid(0.0, most)
    half = (root_sigmoids(2 * error, most)(x) - x.sqrt()).abs().max()
    claim.control.at_most(f"{label}: half the sigmoids, twice as high, largest error", half, error)
claim.certified("ε = 1/8, C = 4: every real x", certify_root_sigmoids())
claim.verdict()

# %%
times_m = [error * m for error, m in zip(scales, counts, strict=True)]
run_times_m = [error * m for error, m in zip(blocks, counts, strict=False)]
shares = [k / math.log(m) ** 2 for k, m in zip(fewest, counts, strict=True)]
too_few = [
    root_error(root_at_scales(k // 2, float(m**2), 1 / m), m**2) * m for k, m in zip(fewest, counts, strict=True)
]
claim = Claim("looped-transformers/corollary-9")
claim.at_most("on [0, m²], m = 25 to 400 sigmoids: largest error times m", max(times_m), 1.0)
claim.at_most("as a transformer, m = 25, 50, 100 heads: largest error times m", max(run_times_m), 1.0)
claim.at_most("heads for 1/m over log² m, largest", max(shares), 3.0)
claim.at_most("layers (3 claimed)", built.layers, 3)
claim.at_most("heads for m = 25 (m claimed)", built.heads, 25)
claim.control.at_most("half the sigmoids for 1/m: smallest error times m", min(too_few), 1.0)
claim.at_most("terms left out at both ends over ε/2, largest", ends, 1.0, of="proof")
claim.at_most("sum of the coefficients over their bound", growth, 1 + 1e-9, of="proof")
step_times_m = [error * m for error, m in zip(steps, counts, strict=True)]
claim.printed.at_most("m equal steps, from Lemma 20: smallest error times m", min(step_times_m), 1.0, of="proof")
claim.certified("m = 25, every real x", certify_root_at_scales())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Half of each grid is spaced in proportion to $x$, which resolves the steep start of the root. The certificates cover
# Lemma 18 for $\epsilon=\delta=\frac14$ and $C=16$, Lemma 20 for $\epsilon=\frac18$ and $C=4$, Corollary 8 for each
# $m$ from 9 to 64 up to $e^m$, and Corollary 9 for $m=25$. We also compare two estimates in the proof of Corollary 9
# with the sums: the terms left out at both ends, at most $\frac\epsilon2$, and the sum of the coefficients, about
# $16m^3/K^2$.
#
# </details>
#
# ## What to remember
# - A distant end is cheap for $1/x$, because each step nearly squares its start, but expensive for the root with
#   equal steps.
# - Sigmoids with geometric slopes give the root on $[0,m^2]$ within $1/m$, and $O(\log^2m)$ of them are enough.
#
# ## Exercises
#
# 1. *By hand.* How many equal steps does the root need on $[0,4]$ for an error of $\frac12$, and where do they begin?
#    <details><summary>Solution</summary>
#
#    It needs $\sqrt4/\frac12=4$ intervals, which begin at 0, $\frac14$, 1 and $\frac94$.
#
#    </details>
# 2. *Predict, then run.* Set `most_heads = 900`. How large is the error of $1/x$ in the new row at most?
#    <details><summary>Solution</summary>
#
#    The bound is $1.5/\sqrt{900}=0.05$.
#
#    </details>
#
# Next: [Theorem 4](theorem_4_calculator.ipynb). These sums complete the calculator.

# %% [markdown]
# # Section 4.2 · A valley without an end
# *Nguyen, Nguyen-Tang: Section 4.2; Lemma C.1, Appendix C.*
#
# Two numbers solve the noisy task: one grows without bound, and the other does not. What does the loss look like as a
# function of both, and how strongly can it curve?

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.losses import certify_shape, certify_slope
from attention_theory.in_context_reasoning.closed_form import (
    noisy_hessian,
    noisy_loss,
    noisy_slope,
    odds,
    probabilities,
)
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["door", "seven", "lamp", "door", "τ", "door"], at=(2.5, 0.5), lit=[1])
schematic.arrow(axis, tops[5], tops[1], "λ lifts seven and τ above the rest; γ divides between them", bend=-0.35)
show.figure(
    fig,
    name="numbers",
    caption="The look-up of the noisy task, and what its two numbers do.",
    alt="Six boxes: door, seven, lamp, door, tau, door. An arrow leads from the last door back to seven.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*, the word
# after the earlier *door*. Let $N=12$. *Seven* has logit $\lambda$, the noise word $\tau$ has $\lambda+\gamma$, and the
# other 11 words have 0. Suppose that half of the labels are $\tau$, and let $\gamma=0$. The loss is
# $\ln(2+11e^{-\lambda})$, which falls from $\ln13\approx2.56$ towards $\ln2\approx0.69$ but never reaches it.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/claim-f-c -->
# <blockquote>
#
# **Section 4.2 (The shape of the noisy loss)** *Section 4.2*
#
# **The paper states.** The function
# $f_C(\lambda,\gamma)=-C\lambda-\alpha\gamma+\ln(e^{C\lambda}+e^{C\lambda+\gamma}+N-1)$ is jointly convex and
# 1/2-smooth with respect to $\lambda$ and $\gamma$. As a convex function on unbounded domain with negative partial
# derivatives, no finite minimizer exists for $L(\lambda,\gamma)$.
#
# **What is true.** $f_C$ is jointly convex and $\tfrac{C^2+1}4$-smooth. It has no finite minimiser, and $\partial
# f_C/\partial\lambda<0$ everywhere.
#
# **What changed.** The smoothness constant is $(C^2+1)/4$, which equals $1/2$ only at $C=1$, so a step size chosen for
# $1/2$ can be too large. The other partial derivative, $\partial f_C/\partial\gamma=p_\tau-\alpha$, changes sign.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/lemma-c-1 -->
# <blockquote>
#
# **Lemma C.1 (The gradient in the scale is negative)** *Appendix C*
#
# **The paper states.** For any $N>1$, $\alpha\in[0,1]$, $C>0$, the derivative of the function
# $f(x)=-Cx+\ln\big(\frac{e^{Cx}}{1-\alpha}+N-1\big)$ is negative.
#
# **What is true.** The same holds for $\alpha\in[0,1)$. The derivative is
# $f'(x)=-C(N-1)\big/\big(\tfrac{e^{Cx}}{1-\alpha}+N-1\big)$.
#
# **What changed.** At $\alpha=1$ the function is not defined. In Definition 2.1, $\alpha\in[0,1)$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The loss is a log-sum-exp of linear functions minus a linear function, so it is convex. Let the output follow the
# trigger $C$ times. The derivative in $\lambda$ is then $-C$ times the probability of the other words, which is
# never 0. The curvature is a variance, and its largest value grows like $C^2$.
#
# <details><summary>Proof of Section 4.2, claim on f_C, as corrected</summary>
#
# Let $p_y,p_\tau,p_0$ be the predicted probabilities of $y$, of $\tau$ and of all other words together. $f_C$ is the
# logarithm of a sum of exponentials of the linear functions $C\lambda$, $C\lambda+\gamma$ and (with weight $N-1$) $0$,
# less a linear function. Hence it is convex, its gradient is
#
# $$\frac{\partial f_C}{\partial\lambda}=C(p_y+p_\tau)-C=-C\,p_0<0,\qquad
# \frac{\partial f_C}{\partial\gamma}=p_\tau-\alpha,$$
#
# and its Hessian is the covariance matrix of the points $(C,0)$, $(C,1)$ and $(0,0)$ under $p_y,p_\tau,p_0$. As
# $\partial f_C/\partial\lambda$ is never 0, there is no finite minimiser. With $\lambda$ fixed, $p_\tau$ goes from 0 to
# 1 as $\gamma$ goes from $-\infty$ to $\infty$, so that $p_\tau-\alpha$ has both signs.
#
# The largest eigenvalue of the Hessian is the largest variance of $\langle u,X\rangle$ over unit vectors $u$. A
# variable with values in an interval of length $\ell$ has a variance of at most $\ell^2/4$, and no two of the three
# points are farther apart than $\sqrt{C^2+1}$. So $f_C$ is $\frac{C^2+1}4$-smooth. The bound is approached where
# $p_\tau$ and $p_0$ are near one half each: $\gamma\to\infty$ and $C\lambda+\gamma=\ln(N-1)$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 60  # N, at least 3
points = 401  # grid points along each direction, at least 201
alpha = 0.2  # chance of the noise token as label, from 0.05 to 0.95

# %%
require(tokens=(tokens, 3, None), points=(points, 201, None), alpha=(alpha, 0.05, 0.95))
others = tokens - 1
one = torch.ones((), dtype=torch.float64)

# %%
gammas = torch.linspace(-10, 20, points, dtype=torch.float64)[:, None]
tilt = torch.linspace(-12, 12, points, dtype=torch.float64)  # C λ + γ - ln(N - 1)


def eigenvalues(c: int) -> torch.Tensor:
    """Eigenvalues of the Hessian of f_C over the grid: the roots of its characteristic polynomial."""
    hessian = noisy_hessian((tilt + math.log(others) - gammas) / c, gammas, c * one, others)
    mean, minor = hessian.diagonal(dim1=-2, dim2=-1).mean(dim=-1), torch.linalg.det(hessian)
    largest = mean + (mean.square() - minor).clamp_min(0).sqrt()
    return torch.stack([2 * mean - largest, largest], dim=-1)


spectra = {c: eigenvalues(c) for c in (1, 2, 3, 5)}
across = torch.linspace(-2, 10, 161, dtype=torch.float64)
up = torch.linspace(-6, 4, 161, dtype=torch.float64)[:, None]
surface = noisy_loss(across, up, 2 * one, alpha, others)

# %%
fig, (left, right) = show.axes(1, 2, width=7.5)
drawn = left.contourf(across, up.squeeze(), surface, levels=20)
left.axhline(odds(alpha), color="white", linestyle="--")
left.set(xlabel="λ", ylabel="γ", title=f"loss, C = 2, α = {alpha}")
left.grid(False)
fig.colorbar(drawn, ax=left)
numbers = list(spectra)
right.plot(numbers, [values.max() for values in spectra.values()], "o-", label="largest eigenvalue")
right.plot(numbers, [(c * c + 1) / 4 for c in numbers], ":", label="(C² + 1)/4")
right.axhline(0.5, color=show.COLOURS[1], linestyle="--", label="the paper: 1/2")
right.set(xlabel="C", ylabel="curvature")
right.legend()
show.figure(
    fig,
    name="surface",
    caption="Left: the loss has no minimum, because it keeps falling as λ grows. For fixed λ it is lowest at a γ that "
    "is ln(1 + (N-1) exp(-C λ)) above the dashed line. Right: its largest curvature is (C² + 1)/4.",
    alt="Left, a valley that comes down from above on the left and opens to the right along a dashed line. Right, "
    "curvature growing with C like a parabola, far above a dashed line at one half.",
)

# %% [markdown]
# On the left, we see a valley that opens to the right. Its floor approaches $\gamma=\ln\frac\alpha{1-\alpha}$ (dashed).
# On the right, the largest curvature follows $(C^2+1)/4$.
#
# ## How we checked
# A solver proves convexity, the bound on the curvature and the formulas for both derivatives for all values. A grid
# shows where the stated constant fails.

# %%
fine = torch.linspace(-8, 16, 24_001, dtype=torch.float64)
floor = {
    at: (fine[noisy_loss(at * one, fine, 2 * one, alpha, others).argmin()] - odds(alpha)).item()
    for at in (0.0, 2.0, 6.0)
}
lift = {at: math.log1p(others * math.exp(-2 * at)) for at in floor}
far = noisy_slope(torch.linspace(-30, 300, 331).double(), odds(alpha), one, others)
above = odds(alpha) + 2
slope_in_gamma = probabilities(8 * one, above, one, others)[1] - alpha

# %%
claim = Claim("in-context-reasoning/claim-f-c")
least = {f"C = {c}": values.min() for c, values in spectra.items()}
claim.at_least("smallest eigenvalue", least, -1e-12)
for c, values in spectra.items():
    claim.equal(f"C = {c}: largest eigenvalue", values.max(), (c * c + 1) / 4, tolerance=1e-3)
claim.printed.at_most("C = 2: largest eigenvalue, printed bound", spectra[2].max(), 0.5)
claim.below("slope in λ, largest", far.max(), 0)
claim.printed.below("slope in γ at λ = 8, above the valley", slope_in_gamma, 0)
offset = {f"λ = {at}": abs(floor[at] - lift[at]) for at in floor}
claim.at_most("C = 2: least point in γ minus its place, largest", offset, 2e-3)
claim.number("slope in γ at λ = 8, above the valley", slope_in_gamma)
claim.certified("convex, smooth and falling in λ, for all λ, γ, C and N", certify_shape(), whole=True)
claim.verdict()

# %%


def f(x: torch.Tensor, c: float, level: float, n: int) -> torch.Tensor:
    """The function of Lemma C.1 as printed."""
    return -c * x + torch.log(torch.exp(c * x) / torch.tensor(1 - level, dtype=torch.float64) + n - 1)


x, step = torch.linspace(-6, 6, 121, dtype=torch.float64), 1e-5
cases = {f"C = {c}, α = {level}": (c, level) for c in (1.0, 2.0, 4.0) for level in (0.0, 0.2, 0.9)}
slopes = {
    name: noisy_slope(x, odds(level) if level else -math.inf, c * one, others) for name, (c, level) in cases.items()
}
central = {
    name: (f(x + step, c, level, tokens) - f(x - step, c, level, tokens)) / (2 * step)
    for name, (c, level) in cases.items()
}
alone = (f(x + step, 1.0, 0.2, 1) - f(x - step, 1.0, 0.2, 1)) / (2 * step)

# %%
claim = Claim("in-context-reasoning/lemma-c-1")
gaps = {name: (slopes[name] - central[name]).abs().max() for name in cases}
claim.at_most("closed form against central differences", gaps, 1e-7, of="proof")
claim.below("largest slope on the grid", {name: slope.max() for name, slope in slopes.items()}, 0)
claim.at_most("N = 1: slope, largest size", alone.abs().max(), 1e-7)
claim.control.below("N = 1: slope negative beyond rounding", alone.max(), -1e-7)
finite = bool(f(x, 1.0, 1.0, tokens).isfinite().all())
claim.misprint.true("α = 1, which [0, 1] lets in: f is finite", finite)
claim.certified("the slope, for all x, C, α and N", certify_slope(), whole=True)
claim.verdict()

# %% [markdown]
# ## What to remember
# - The loss is convex. It keeps falling as $\lambda$ grows, and rises on both sides of the valley in $\gamma$.
# - The stated constant $\frac12$ is right only for $C=1$.
#
# ## Exercises
#
# 1. *By hand.* By what factor does the largest curvature grow if the output occurs three times instead of once?
#    <details><summary>Solution</summary>
#
#    From $\frac{1+1}4=\frac12$ to $\frac{9+1}4=\frac52$, a factor of five.
#
#    </details>
# 2. *Predict, then run.* Set `alpha = 0.8`. Where does the dashed line go?
#    <details><summary>Solution</summary>
#
#    From $\ln\frac{0.2}{0.8}=-1.39$ up to $\ln4=1.39$, and the valley moves with it.
#
#    </details>
#
# Back to [Algorithm 1](algorithm_1_finite_sample.ipynb), which counts labels to set $\gamma$ and descends in $\lambda$
# only.

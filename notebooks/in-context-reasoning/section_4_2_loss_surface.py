# %% [markdown]
# # Section 4.2 · The loss surface of the noisy task
# *Nguyen, Nguyen-Tang: Section 4.2; Lemma C.1, Appendix C.*
#
# For a sentence with $C$ bigrams the loss of Lemma 4.1 is a function of two numbers, $f_C(\lambda,\gamma)$. It is a
# log-sum-exp of linear functions, so it is convex. It has no least point, though: it falls for ever as $\lambda$ grows,
# along a valley whose floor comes nearer and nearer to $\gamma=\ln\frac{\alpha}{1-\alpha}$. That is why the paper does
# not descend in both, and sets $\gamma$ by counting labels.
#
# The paper calls $f_C$ $\frac12$-smooth, that is, of curvature at most $\frac12$ in every direction, with negative
# partial derivatives. Its curvature is a variance, and grows like $C^2$; and its slope in $\gamma$ has either sign, as
# it must in a valley.

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

# %% tags=["parameters"]
tokens = 60  # N, at least 3
points = 401  # grid points along each direction, at least 201
alpha = 0.2  # chance of the noise token as label, from 0.05 to 0.95

# %%
require(tokens=(tokens, 3, None), points=(points, 201, None), alpha=(alpha, 0.05, 0.95))
others = tokens - 1
one = torch.ones((), dtype=torch.float64)

# %% [markdown]
# ## Convex, and how curved
# <!-- claim in-context-reasoning/claim-f-c -->
# <blockquote>
#
# **Section 4.2 claim on f_C (The shape of the noisy loss)** *Section 4.2*
#
# **As printed.** It is $\tfrac12$-smooth, and both partial derivatives are negative.
#
# **Corrected.** $f_C(\lambda,\gamma)=-C\lambda-\alpha\gamma+\ln(e^{C\lambda}+e^{C\lambda+\gamma}+N-1)$ is jointly
# convex and $\tfrac{C^2+1}4$-smooth, has no finite minimiser, and $\partial f_C/\partial\lambda<0$ everywhere.
#
# The smoothness constant is $(C^2+1)/4$, which is $1/2$ at $C=1$ only. $\partial f_C/\partial\gamma=p_\tau-\alpha$
# changes sign.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Section 4.2 claim on f_C, as corrected</summary>
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
# Eigenvalues of the Hessian are computed over a grid of $\gamma$ and of the logit of $\tau$, for four counts.

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

# %% [markdown]
# On the left the surface for $C=2$, with $\gamma=\ln\frac\alpha{1-\alpha}$ dashed; on the right the largest curvature.

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
right.axhline(0.5, color=show.COLOURS[1], linestyle="--", label="printed: 1/2")
right.set(xlabel="C", ylabel="curvature")
right.legend()
show.figure(
    fig,
    name="surface",
    caption="Left: the loss has no least point; it falls for ever as λ grows. In γ it is least above the dashed line, "
    "by ln(1 + (N-1) exp(-C λ)). Right: its largest curvature is (C² + 1)/4.",
    alt="Left, a valley that comes down from above on the left and opens to the right along a dashed line. Right, "
    "curvature growing with C like a parabola, far above a dashed line at one half.",
)

# %% [markdown]
# Where the loss is least in $\gamma$ at a given $\lambda$ tells the shape of the valley.

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

# %% [markdown]
# The slope in $\gamma$ is taken at $\lambda=8$, a little above the valley. A grid shows some points only. A solver
# proves convexity, the constant $(C^2+1)/4$ and the fall in $\lambda$ for all of them; it gets the formulas from the
# code itself.

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

# %% [markdown]
# ## Always downhill in the scale
# <!-- claim in-context-reasoning/lemma-c-1 -->
# <blockquote>
#
# **Lemma C.1 (The slope in the scale is negative)** *Appendix C*
#
# **As printed.** $\alpha\in[0,1]$.
#
# **Corrected.** For $N>1$, $\alpha\in[0,1)$ and $C>0$, $f(x)=-Cx+\ln\big(\tfrac{e^{Cx}}{1-\alpha}+N-1\big)$ has
# $f'(x)=-C(N-1)\big/\big(\tfrac{e^{Cx}}{1-\alpha}+N-1\big)<0$.
#
# $\alpha\in[0,1)$, as in Definition 2.1: at $\alpha=1$ the function is not defined.
#
# </blockquote>
# <!-- /claim -->
#
# Lemma C.1 is why normalised descent on $\lambda$ is a march to the right. It needs more than one word and $\alpha<1$;
# the lemma has $\alpha\in[0,1]$, a slip for the $[0,1)$ of Definition 2.1.

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

# %% [markdown]
# With $N=1$ the function is constant, and the slope 0. That the slope is the lemma's and negative is also proved by a
# solver, for all $x$, $C>0$, $\alpha<1$ and $N>1$.

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
# ## What was learned
# The noisy loss is a convex valley without an end. In $\lambda$ it falls everywhere, which makes normalised descent on
# $\lambda$ trivial; in $\gamma$ it rises on both sides of the floor. Its curvature is at most $(C^2+1)/4$, so that the
# printed constant $\frac12$ is right for sentences with a single bigram and for no others.
#
# ## To try
# - Set `alpha = 0.8`: the dashed line moves up to $\ln4$, and the valley with it.
# - Set `tokens = 3`: the floor of the valley comes down to the dashed line much sooner, since fewer words compete.

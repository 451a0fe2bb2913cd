# %% [markdown]
# # Section 4.2 · The loss surface of the noisy task
# *Nguyen, Nguyen-Tang: Section 4.2; Lemma C.1, Appendix C.*
#
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
# For a sentence with $C$ bigrams the loss is
# $f_C(\lambda,\gamma)=-C\lambda-\alpha\gamma+\ln(e^{C\lambda}+e^{C\lambda+\gamma}+N-1)$. It is a log-sum-exp of
# linear functions, so it is convex, and its Hessian is the covariance of the points $(C,0)$, $(C,1)$, $(0,0)$ under
# the predicted probabilities. The largest variance of such a cloud is a quarter of its squared diameter: $(C^2+1)/4$.
# The paper says $1/2$, which is right for $C=1$ alone. It also says that both partial derivatives are negative; the
# one in $\gamma$ is $p_\tau-\alpha$, and that has either sign.

# %%
import math

import torch

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
points = 401  # grid points along each direction, at least 101

# %%
require(tokens=(tokens, 3, None), points=(points, 101, None))
others = tokens - 1
gammas = torch.linspace(-10, 20, points, dtype=torch.float64)[:, None]
tilt = torch.linspace(-12, 12, points, dtype=torch.float64)  # C λ + γ - ln(N - 1)


def eigenvalues(c: int) -> torch.Tensor:
    """Eigenvalues of the Hessian of f_C over a grid of γ and of the logit of τ."""
    count = torch.tensor(float(c), dtype=torch.float64)
    return torch.linalg.eigvalsh(noisy_hessian((tilt + math.log(others) - gammas) / c, gammas, count, others))


# %%
claim = Claim("in-context-reasoning/claim-f-c")
spectra = {c: eigenvalues(c) for c in (1, 2, 3, 5)}
for c, values in spectra.items():
    claim.check(f"C = {c}: smallest eigenvalue", values.min(), ">=", -1e-12)
    claim.check(f"C = {c}: largest eigenvalue", values.max(), "==", (c * c + 1) / 4, 1e-3)
    claim.number(f"C = {c}: largest eigenvalue", values.max())
claim.printed("C = 2: largest eigenvalue, printed bound", spectra[2].max(), "<=", 0.5)
one = torch.ones((), dtype=torch.float64)
p_noise = probabilities(8 * one, 0.0, one, others)[1]
claim.printed("slope in γ at λ = 8, γ = 0, α = 0.2: negative", p_noise - 0.2, "<", 0)
claim.number("slope in γ there", p_noise - 0.2)
for at in (0.0, 2.0, 6.0):  # where the loss at C = 2 is least in γ, of a fine grid
    fine = torch.linspace(-3, 15, 18_001, dtype=torch.float64)
    lowest = fine[noisy_loss(at * one, fine, 2 * one, 0.2, others).argmin()]
    lift = math.log1p(others * math.exp(-2 * at))
    claim.check(f"C = 2, λ = {at}: least point in γ above ln(α/(1-α)), by", lowest - odds(0.2), "==", lift, 2e-3)
far = noisy_slope(torch.linspace(-30, 300, 331).double(), odds(0.2), one, others)
claim.check("slope in λ, largest", far.max(), "<", 0)

# %%
count = torch.tensor(2.0, dtype=torch.float64)
across = torch.linspace(-2, 10, 161, dtype=torch.float64)
up = torch.linspace(-6, 4, 161, dtype=torch.float64)[:, None]
surface = noisy_loss(across, up, count, 0.2, others)
fig, (left, right) = show.axes(1, 2, width=7.5)
drawn = left.contourf(across, up.squeeze(), surface, levels=20)
left.axhline(odds(0.2), color="white", linestyle="--")
left.set(xlabel="λ", ylabel="γ", title="loss, C = 2, α = 0.2")
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
    caption="Left: the loss has no least point; it falls for ever as λ grows. At large λ it rises above and below γ = "
    "ln(α/(1-α)) (dashed); at smaller λ its least point in γ lies above that line, by ln(1 + (N-1) exp(-C λ)). Right: "
    "its largest curvature is (C² + 1)/4.",
    alt="Left, a valley that comes down from above on the left and opens to the right along a dashed line. Right, "
    "curvature growing with C like a parabola, far above a dashed line at one half.",
)
claim.verdict()

# %% [markdown]
# ## Always downhill in the scale
# Lemma C.1 is why normalised descent on $\lambda$ is a march to the right. It needs more than one word and $\alpha<1$;
# the lemma has $\alpha\in[0,1]$, a slip for the $[0,1)$ of Definition 2.1.

# %%
claim = Claim("in-context-reasoning/lemma-c-1")


def f(x: torch.Tensor, c: float, alpha: float, n: int) -> torch.Tensor:
    """The function of Lemma C.1 as printed."""
    return -c * x + torch.log(torch.exp(c * x) / torch.tensor(1 - alpha, dtype=torch.float64) + n - 1)


x = torch.linspace(-6, 6, 121, dtype=torch.float64)
step = 1e-5
worst, highest = 0.0, -math.inf
for c in (1.0, 2.0, 4.0):
    for alpha in (0.0, 0.2, 0.9):
        slope = noisy_slope(x, odds(alpha) if alpha else -math.inf, torch.tensor(c, dtype=torch.float64), others)
        central = (f(x + step, c, alpha, tokens) - f(x - step, c, alpha, tokens)) / (2 * step)
        worst = max(worst, (slope - central).abs().max().item())
        highest = max(highest, slope.max().item())
claim.check("closed form against central differences", worst, "<=", 1e-7)
claim.check("largest slope on the grid", highest, "<", 0)
alone = (f(x + step, 1.0, 0.2, 1) - f(x - step, 1.0, 0.2, 1)) / (2 * step)
claim.check("N = 1: slope, largest size", alone.abs().max(), "<=", 1e-7)
claim.control("N = 1: slope negative beyond rounding", alone.max(), "<", -1e-7)
claim.misprint("α = 1, which [0, 1] lets in: f is finite", bool(f(x, 1.0, 1.0, tokens).isfinite().all()), "==", True)
claim.verdict()

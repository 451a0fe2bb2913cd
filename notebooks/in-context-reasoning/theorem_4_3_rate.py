# %% [markdown]
# # Theorem 4.3 · The loss after t steps on M sentences
# *Nguyen, Nguyen-Tang: Theorem 4.3, Section 4.2; Appendix B.2.2; Lemma C.2, Appendix C.*
#
# <!-- claim in-context-reasoning/lemma-c-2 -->
# <blockquote>
#
# **Lemma C.2 (How far the estimated coin can be)** *Appendix C*
#
# **As printed.** No condition on $\varepsilon$; the proof passes from
# $2(\alpha-\hat\alpha)^2/\min(\hat\alpha,1-\hat\alpha)$ to the bound as if the 2 were not there.
#
# **Corrected.** For the mean $\hat\alpha$ of $M$ tosses of a coin $\alpha$ and
# $\varepsilon=\sqrt{\ln(2/\delta)/(2M)}<\min(\alpha,1-\alpha)$: with probability at least $1-\delta$,
# $\mathrm{KL}(\alpha\Vert\hat\alpha)\le\varepsilon^2/(\min(\alpha,1-\alpha)-\varepsilon)$.
#
# $\varepsilon<\min(\alpha,1-\alpha)$. The constant is right, by $\mathrm{KL}(a\Vert
# b)\le\frac{(a-b)^2}{2}\max_s\frac1{s(1-s)}$ with $s$ between $a$ and $b$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/theorem-4-3 -->
# <blockquote>
#
# **Theorem 4.3 (The loss after t steps on M sentences)** *Section 4.2; Appendix B.2.2*
#
# **As printed.** The same, for every $M$ and $\delta$. In Appendix B.2.2 the empirical loss has $+\beta^{(m)}$ in its
# first sum and $+\frac{M_\tau}M\ln\frac{\hat\alpha}{1-\hat\alpha}$, "$\xi_j=0$ for $j\notin\{q,y\}$", and
# $\hat\gamma_t$.
#
# **Corrected.** Let $\varepsilon=\sqrt{\ln(2/\delta)/(2M)}<\min(\alpha,1-\alpha)$. With probability at least $1-\delta$
# over the data, for all $t$: $L(\lambda_t,\hat\gamma)\le
# L_{\text{Bayes}}+\frac{\varepsilon^2}{\min(\alpha,1-\alpha)-\varepsilon}+(N-1)e^{-\eta t}$. In fact $0\le
# L(\lambda_t,\hat\gamma)-L_{\text{Bayes}}-\mathrm{KL}(\alpha\Vert\hat\alpha)\le(N-1)e^{-\eta t}$.
#
# It needs $\varepsilon<\min(\alpha,1-\alpha)$; otherwise the middle term is negative or undefined. Both signs are
# minus, $\xi_j=0$ for $j\notin\{\tau,y\}$, and $\hat\gamma$ does not depend on $t$.
#
# </blockquote>
# <!-- /claim -->
#
# Two things stand between the trained loss and the Bayes risk: too few steps, and a wrong $\hat\alpha$. The first
# term is at most $(N-1)e^{-\eta t}$. The second is exactly $\mathrm{KL}(\alpha\Vert\hat\alpha)$, which Lemma C.2
# bounds by $\varepsilon^2/(\min(\alpha,1-\alpha)-\varepsilon)$ with $\varepsilon^2=\ln(2/\delta)/(2M)$. Both need
# $\varepsilon<\min(\alpha,1-\alpha)$, which the paper does not say.
#
# The proof of the lemma starts from $\mathrm{KL}(a\Vert b)\le 2(a-b)^2/\min(b,1-b)$ and loses the 2 on the way; without
# it the inequality is false. (The paper's text leaves out the condition on $\varepsilon$ in both places; where it
# fails, the bound is negative.) The constant of the lemma is right nevertheless, because $s(1-s)\ge\frac12\min(s,1-s)$
# in $\mathrm{KL}(a\Vert b)=\big|\int_b^a\frac{a-s}{s(1-s)}\,ds\big|\le\frac{(a-b)^2}2\cdot\max_s\frac1{s(1-s)}$.

# %%
import numpy as np
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, noisy_loss, odds
from attention_theory.in_context_reasoning.finite_sample import hoeffding_radius, kl_bound, kl_failure
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # N, at least 3
rate = 0.1  # eta, from 0.001 to 1
steps = 400  # t, at least 200
samples = 2048  # M, at least 500
delta = 0.05  # allowed chance of failure, from 1e-6 to 0.5
datasets = 200  # data sets drawn, at least 20

# %%
require(
    tokens=(tokens, 3, None),
    rate=(rate, 1e-3, 1.0),
    steps=(steps, 200, None),
    samples=(samples, 500, None),
    delta=(delta, 1e-6, 0.5),
    datasets=(datasets, 20, None),
)
others = tokens - 1
steps = max(steps, round(20 / rate))  # at least to η t = 20

# %% [markdown]
# ## The coin
# The chance that the bound fails is summed exactly over the binomial law.

# %%
claim = Claim("in-context-reasoning/lemma-c-2")
for m, alpha, chance in ((50, 0.2, 0.1), (2048, 0.8, 0.05), (200, 0.5, 0.2)):
    fails = kl_failure(m, alpha, chance)
    claim.check(f"M = {m}, α = {alpha}, δ = {chance}: chance of failure", fails, "<=", chance)


def tightness(alpha: float, radius: float) -> float:
    """KL over its bound at the two ends of |α̂ - α| <= radius, where it is largest."""
    return max(bernoulli_kl(alpha, alpha + sign * radius) for sign in (1, -1)) / kl_bound(alpha, radius)


ratios = [
    tightness(alpha, share * min(alpha, 1 - alpha))
    for alpha in np.linspace(0.005, 0.995, 199).tolist()
    for share in (1e-3, *np.linspace(0.01, 0.99, 50).tolist())
]
claim.check("KL (min - ε)/ε² over a grid, largest", max(ratios), "<=", 1)
as_used = bernoulli_kl(0.99, 0.5) * 0.5 / 0.49**2
claim.printed("without its 2, as the proof uses it: KL(.99||.5) min(b, 1-b)/(a-b)²", as_used, "<=", 1, of="proof")
grid = np.linspace(0.01, 0.99, 99).tolist()
repaired = [bernoulli_kl(a, b) * min(a, 1 - a, b, 1 - b) / (a - b) ** 2 for a in grid for b in grid if a != b]
claim.check("KL min(a, 1-a, b, 1-b)/(a-b)² over a grid, largest", max(repaired), "<=", 1, of="proof")


def is_refused(alpha: float, m: int) -> bool:
    try:
        kl_bound(alpha, hoeffding_radius(m, 0.05))
    except ParameterError:
        return True
    return False


claim.check("M = 10, α = .05: refused, ε being too large", is_refused(0.05, 10), "==", True)
too_large = hoeffding_radius(10, 0.05)
claim.printed(
    "M = 10, α = .05: the printed bound, which KL ≥ 0 is to keep to", too_large**2 / (0.05 - too_large), ">=", 0
)
claim.control("half the bound: KL over it, largest", 2 * max(ratios), "<=", 1)
claim.verdict()

# %% [markdown]
# ## The loss
# With a wrong estimate, $\alpha=0.2$ and $\hat\alpha=0.23$, the excess splits at every step into the divergence and a
# term between 0 and $(N-1)e^{-\eta t}$.

# %%
alpha, estimate = 0.2, 0.23
times = torch.arange(steps + 1, dtype=torch.float64)
counts = torch.tensor([1.0, 2.0], dtype=torch.float64)


def excess(gamma: float) -> torch.Tensor:
    """The population loss above the Bayes risk at every t, C = 1 or 2 with equal chance."""
    return noisy_loss(rate * times[:, None], gamma, counts, alpha, others).mean(dim=1) - bayes_risk(alpha)


core = excess(odds(estimate)) - bernoulli_kl(alpha, estimate)
bound = others * torch.exp(-rate * times)
claim = Claim("in-context-reasoning/theorem-4-3")
claim.check("excess minus KL, smallest", core.min(), ">=", -1e-12)
claim.check("excess minus KL minus (N-1) exp(-η t), largest", (core - bound).max(), "<=", 1e-12)
first, last = round(15 / rate), round(20 / rate)
slope = (core[last].log() - core[first].log()).item() / (last - first)
claim.check("its late slope over -η", slope / -rate, "==", 1, 2e-3)
if rate == 0.1:
    claim.number("its late slope", slope)

# %% [markdown]
# End to end: data sets of M labels, each with its own $\hat\alpha$, against the theorem's bound at every step.

# %%
radius = hoeffding_radius(samples, delta)
draws = torch.binomial(
    torch.full((datasets,), float(samples), dtype=torch.float64),
    torch.full((datasets,), alpha, dtype=torch.float64),
    generator=generator(0),
)
ceiling = kl_bound(alpha, radius) + bound
worst = [(excess(odds(k / samples)) - ceiling).max().item() for k in draws.tolist()]
claim.check("share of data sets above the bound", sum(w > 1e-12 for w in worst) / datasets, "<=", delta)
inverted = excess(-odds(alpha))[-1]
claim.check(
    "γ̂ with odds inverted: excess minus KL(α||1-α)", (inverted - bernoulli_kl(alpha, 1 - alpha)).abs(), "<=", 1e-3
)
claim.control("γ̂ with odds inverted: excess under the bound", inverted, "<=", ceiling[-1].item())
claim.number("γ̂ with odds inverted: excess", inverted)
claim.check("M = 10 at α = .2: refused, ε being too large", is_refused(0.2, 10), "==", True)
claim.printed("M = 10, α = .2: the printed denominator positive", 0.2 - hoeffding_radius(10, 0.05), ">", 0)

# %%
fig, axis = show.axes()
for k, label in zip(draws[:20].tolist(), ["20 of the data sets"] + [None] * 19, strict=True):
    axis.semilogy(times, excess(odds(k / samples)), color=show.COLOURS[0], linewidth=0.7, label=label)
axis.semilogy(times, ceiling, "--", color=show.COLOURS[1], label="bound of Theorem 4.3")
axis.semilogy(times, excess(odds(alpha)).clamp_min(1e-15), color="0.4", label="known α")
axis.set(xlabel="step t", ylabel="loss above the Bayes risk", ylim=(1e-9, 100))
axis.legend()
show.figure(
    fig,
    name="excess",
    caption=f"M = {samples}: each data set's loss falls geometrically and then stops at KL(α||α̂), below the bound "
    "(dashed).",
    alt="Blue curves fall together on a logarithmic axis and level off at different heights, all below a dashed "
    "curve; a curve for known noise falls on.",
)
claim.verdict()

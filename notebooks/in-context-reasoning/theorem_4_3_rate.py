# %% [markdown]
# # Theorem 4.3 · More steps help, but only more data reach the Bayes risk
# *Nguyen, Nguyen-Tang: Theorem 4.3, Section 4.2; Appendix B.2.2; Lemma C.2, Appendix C.*
#
# In practice, nobody knows how often the noise word comes next, so we count it in the training labels. How much does an
# inaccurate count cost, and how much do too few training steps?

# %%
from fractions import Fraction

import numpy as np
import torch

from attention_theory.in_context_reasoning.certified.coin import certify_coin_bound
from attention_theory.in_context_reasoning.certified.noisy import certify_loss_after_steps
from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, noisy_loss, odds
from attention_theory.in_context_reasoning.finite_sample import chance, hoeffding_radius, kl_bound, kl_failure
from attention_theory.randomness import generator, streams
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "door", "?"], at=(2.5, 0.5), lit=[2, 5])
schematic.arrow(axis, tops[4], tops[2], "seven: more steps", bend=-0.5)
schematic.text(axis, (11.4, 0.95), "τ in 23 % of the\ntraining labels", schematic.VERMILION, 9, "left")
show.figure(
    fig,
    name="count",
    caption="Training steps sharpen the look-up. The fraction of noise words comes from counting labels.",
    alt="Five words and a question mark: red, door, seven, green, door. An arrow leads from the last door to seven.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*, the word
# after the earlier *door*. Training sharpens this look-up. Suppose that the noise word comes with probability 20 %, but
# that we count 23 %. Then even endless training leaves the loss
# $0.2\ln\frac{0.2}{0.23}+0.8\ln\frac{0.8}{0.77}\approx0.0026$ above the Bayes risk.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/theorem-4-3 -->
# <blockquote>
#
# **Theorem 4.3 (The loss after t steps on M sentences)** *Section 4.2; Appendix B.2.2*
#
# **The paper states.** With probability at least $1-\delta$ over the training set of size $M$, after $t$ iterations of
# normalized gradient descent on (7), Algorithm 1 guarantees that $L(\lambda_t,\hat\gamma)\le
# L_{\text{Bayes}}+\frac{\varepsilon^2}{\min(\alpha,1-\alpha)-\varepsilon}+(N-1)e^{-\eta t}$ with
# $\varepsilon=\sqrt{\ln(2/\delta)/(2M)}$.
#
# **What is true.** The same holds for $\varepsilon<\min(\alpha,1-\alpha)$.
#
# **What changed.** The paper does not state the condition. Without it, the middle term is negative or undefined.
#
# <details><summary>Slips (3)</summary>
#
# - In Appendix B.2.2 the empirical loss has $+\beta^{(m)}$ in its first sum and
#   $+\frac{M_\tau}M\ln\frac{\hat\alpha}{1-\hat\alpha}$. Both signs are minus.
# - The appendix has "$\xi_j=0$ for $j\notin\{q,y\}$". It should be $j\notin\{\tau,y\}$.
# - The appendix writes $\hat\gamma_t$, but $\hat\gamma$ does not depend on $t$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** $0\le
# L(\lambda_t,\hat\gamma)-L_{\text{Bayes}}-\mathrm{KL}(\alpha\Vert\hat\alpha)\le(N-1)e^{-\eta t}$. For a fixed training
# set, the loss therefore tends to $L_{\text{Bayes}}+\mathrm{KL}(\alpha\Vert\hat\alpha)$, which is above the Bayes risk
# unless $\hat\alpha=\alpha$. The abstract says that the expected loss converges at a linear rate to the Bayes risk,
# "via a finite-sample analysis". This is true only if $M\to\infty$ as well.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/lemma-c-2 -->
# <blockquote>
#
# **Lemma C.2 (How far the estimate can be from the truth)** *Appendix C*
#
# **The paper states.** Let $\alpha\in(0,1)$. Let $M$ i.i.d. samples $(X_i)_{i\in[M]}$ be drawn from
# $X_i\sim\mathrm{Ber}(\alpha)$. Let $\hat\alpha=\frac1M\sum_{i=1}^MX_i$. With probability at least $1-\delta$, we have
# $\mathrm{KL}(\alpha\Vert\hat\alpha)\le\frac{\varepsilon^2}{\min(\alpha,1-\alpha)-\varepsilon}$, where
# $\varepsilon=\sqrt{\ln(2/\delta)/(2M)}$.
#
# **What is true.** The same holds for $\varepsilon<\min(\alpha,1-\alpha)$.
#
# **What changed.** The paper does not state the condition, without which the bound is negative or undefined. The proof
# passes from $2(\alpha-\hat\alpha)^2/\min(\hat\alpha,1-\hat\alpha)$ to the bound as if the 2 were not there. The
# constant is nevertheless right, because $\mathrm{KL}(a\Vert b)\le\frac{(a-b)^2}2\max_s\frac1{s(1-s)}$ with $s$ between
# $a$ and $b$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The excess over the Bayes risk is a sum of two parts. One is the divergence $\mathrm{KL}(\alpha\Vert\hat\alpha)$
# between two coins, with the true probability $\alpha$ and the fraction $\hat\alpha$ that we count among $M$ labels. No
# training step changes it. The other part is at most $(N-1)e^{-\eta t}$. Lemma C.2 bounds the first part by a multiple
# of $\frac1M$.
#
# <details><summary>Proof of Theorem 4.3, as corrected</summary>
#
# Algorithm 1 has $\lambda_t=\eta t$. For a sentence with the count $C$ the logits are $C\lambda_t$ at $y$,
# $C\lambda_t+\hat\gamma$ at $\tau$ and 0 elsewhere, and $1+e^{\hat\gamma}=\frac1{1-\hat\alpha}$. Hence
#
# $$L(\lambda_t,\hat\gamma)=\mathbb E\ln\Big(\frac1{1-\hat\alpha}+(N-1)e^{-C\eta t}\Big)
# -\alpha\ln\frac{\hat\alpha}{1-\hat\alpha}=-\alpha\ln\hat\alpha-(1-\alpha)\ln(1-\hat\alpha)+R_t,$$
#
# with $R_t=\mathbb E\ln\big(1+(1-\hat\alpha)(N-1)e^{-C\eta t}\big)$. The first two terms are
# $L_{\text{Bayes}}+\mathrm{KL}(\alpha\Vert\hat\alpha)$, and $0\le R_t\le(N-1)e^{-\eta t}$, since $C\ge1$ and
# $\ln(1+x)\le x$. With probability at least $1-\delta$, $|\hat\alpha-\alpha|\le\varepsilon<\min(\alpha,1-\alpha)$; then
# $0<\hat\alpha<1$, there is a model, and Lemma C.2 bounds the divergence, for all $t$ at once. For $\varepsilon
# \ge\min(\alpha,1-\alpha)$ the printed bound is negative or not defined, while the loss is never below
# $L_{\text{Bayes}}$. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma C.2, repaired</summary>
#
# The paper starts from the reverse Pinsker inequality $\mathrm{KL}(a\Vert b)\le2(a-b)^2/\min(b,1-b)$, bounds $(a-b)^2$
# by $\varepsilon^2$, and arrives at a bound without the 2. Without it, the first inequality is false: at $a=0.99$,
# $b=0.5$. But the derivative of $\mathrm{KL}(a\Vert b)$ in $b$ is $\frac{b-a}{b(1-b)}$, so that
#
# $$\mathrm{KL}(a\Vert b)=\int_a^b\frac{s-a}{s(1-s)}\,ds\le\frac{(a-b)^2}2\max_s\frac1{s(1-s)}\le\frac{(a-b)^2}{\min_s
# \min(s,1-s)},$$
#
# with $s$ between $a$ and $b$, as $s(1-s)=\min(s,1-s)\max(s,1-s)\ge\frac12\min(s,1-s)$. With probability at least
# $1-\delta$ it holds that $|\hat\alpha-\alpha|\le\varepsilon$ (Hoeffding). Then for all $s$ between $\alpha$ and
# $\hat\alpha$ the smaller of $s$ and $1-s$ is at least $\min(\alpha,1-\alpha)-\varepsilon$, which is positive by
# assumption. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 60  # N, at least 3
rate = 0.1  # eta, from 0.001 to 1
steps = 400  # t, at least 200
samples = 2048  # M, at least 500
delta = 0.05  # allowed chance of failure, from 1e-6 to 0.5
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 3, None),
    rate=(rate, 1e-3, 1.0),
    steps=(steps, 200, None),
    samples=(samples, 500, None),
    delta=(delta, 1e-6, 0.5),
    seed=(seed, 0, None),
)
others, alpha, alpha_hat = tokens - 1, 0.2, 0.23
horizon = max(steps, round(25 / rate))  # at least to η t = 25
times = torch.arange(horizon + 1, dtype=torch.float64)
counts = torch.tensor([1.0, 2.0], dtype=torch.float64)
seeds = streams(seed, 3)

# %%


def excess(gamma: float) -> torch.Tensor:
    """The population loss above the Bayes risk at every t, C = 1 or 2 with equal chance."""
    return noisy_loss(rate * times[:, None], gamma, counts, alpha, others).mean(dim=1) - bayes_risk(alpha)


bound = others * torch.exp(-rate * times)
core = excess(odds(alpha_hat)) - bernoulli_kl(alpha, alpha_hat)
first, last = round(15 / rate), round(20 / rate)
slope = (core[last].log() - core[first].log()).item() / (last - first)

# %%
tosses = torch.full((20,), float(samples), dtype=torch.float64)
heads = torch.binomial(tosses, torch.full_like(tosses, alpha), generator=generator(seeds[0]))
curves = torch.stack([excess(odds(k / samples)) for k in heads.tolist()])
ceiling = kl_bound(alpha, hoeffding_radius(samples, delta)) + bound


def is_above(heads: int) -> bool:
    """Whether the loss exceeds the bound at some step, or there is no model, with so many labels τ."""
    return not 0 < heads < samples or bool((excess(odds(heads / samples)) - ceiling > 1e-12).any())


above = chance(samples, alpha, is_above)

# %%
fig, axis = show.axes()
for row, label in zip(curves, ["20 data sets"] + [None] * 19, strict=True):
    axis.semilogy(times, row, color=show.COLOURS[0], linewidth=0.7, label=label)
axis.semilogy(times, ceiling, "--", color=show.COLOURS[1], label="bound of Theorem 4.3")
axis.semilogy(times, excess(odds(alpha)).clamp_min(1e-15), color="0.4", label="known α")
axis.set(xlabel="step t", ylabel="loss above the Bayes risk", ylim=(1e-9, 100))
axis.legend()
show.figure(
    fig,
    name="excess",
    caption=f"M = {samples}: for each data set, the excess falls exponentially and then stops at "
    "KL(α||α̂), below the bound (dashed).",
    alt="Blue curves fall together on a logarithmic axis and level off at different heights, all below a dashed "
    "curve; a curve for known noise falls on.",
)

# %% [markdown]
# We see the curves of all data sets fall together and then level off, each at its own divergence. Only the curve for a
# known $\alpha$ keeps falling.
#
# ## How we checked
# For every possible number of labels $\tau$ among $M$, we check whether the loss exceeds the bound, and sum the
# binomial probabilities of those for which it does. As a control, we invert the odds in $\hat\gamma$.

# %%
settings = ((50, 0.2, 0.1), (2048, 0.8, 0.05), (200, 0.5, 0.2))
failures = {one: kl_failure(*one) for one in settings}

# %%


def tightness(a: float, radius: float) -> float:
    """KL over its bound at the two ends of |α̂ - α| <= radius, where it is largest."""
    return max(bernoulli_kl(a, a + sign * radius) for sign in (1, -1)) / kl_bound(a, radius)


shares = (1e-3, *np.linspace(0.01, 0.99, 25).tolist())
ratios = [tightness(a, share * min(a, 1 - a)) for a in np.linspace(0.01, 0.99, 99).tolist() for share in shares]
as_used = bernoulli_kl(0.99, 0.5) * 0.5 / 0.49**2
grid = np.linspace(0.01, 0.99, 50).tolist()
mended = [bernoulli_kl(a, b) * min(a, 1 - a, b, 1 - b) / (a - b) ** 2 for a in grid for b in grid if a != b]


def is_refused(a: float, m: int) -> bool:
    try:
        kl_bound(a, hoeffding_radius(m, 0.05))
    except ParameterError:
        return True
    return False


# %%
too_large = hoeffding_radius(10, 0.05)
claim = Claim("in-context-reasoning/lemma-c-2")
bars = {f"M = {m}, α = {a}, δ = {chance}": chance for m, a, chance in failures}
named = {f"M = {m}, α = {a}, δ = {chance}": fails for (m, a, chance), fails in failures.items()}
claim.at_most("exact chance of failure", named, bars)
claim.at_most("KL (min - ε)/ε² over a grid, largest", max(ratios), 1)
claim.control.at_most("half the bound: KL over it, largest", 2 * max(ratios), 1)
claim.certified("α = 1/5: the bound, for every ε from α/100 on", certify_coin_bound(Fraction(1, 5)))
claim.true("M = 10, α = .05: refused, ε being too large", is_refused(0.05, 10))
bound_there = too_large**2 / (0.05 - too_large)
claim.printed.at_least("M = 10, α = .05: the printed bound, which KL ≥ 0 is to keep to", bound_there, 0)
claim.printed.at_most("without its 2, as the proof uses it: KL(.99||.5) min(b, 1-b)/(a-b)²", as_used, 1, of="proof")
claim.at_most("KL min(a, 1-a, b, 1-b)/(a-b)² over a grid, largest", max(mended), 1, of="proof")
claim.verdict()

# %%
draw = generator(seeds[1])
numbers = torch.randint(1, 4, (1000,), generator=draw).double()
is_noise = torch.rand(1000, generator=draw, dtype=torch.float64) < alpha
share, at = is_noise.double().mean().item(), 1.7
logits = torch.zeros(1000, tokens + 1, dtype=torch.float64)  # y first, τ second
logits[:, 0], logits[:, 1] = at * numbers, at * numbers + odds(share)
direct = torch.nn.functional.cross_entropy(logits, is_noise.long())
rest = (torch.log(torch.exp(at * numbers) / (1 - share) + others) - at * numbers).mean()
inverted = excess(-odds(alpha))[-1]
few = hoeffding_radius(10, 0.05)
printed_bound = few**2 / (alpha - few) + bound[-1]

# %%
claim = Claim("in-context-reasoning/theorem-4-3")
claim.at_least("excess minus KL, smallest", core.min(), -1e-12)
claim.at_most("excess minus KL minus (N-1) exp(-η t), largest", (core - bound).max(), 1e-12)
claim.equal("its late slope over -η", slope / -rate, 1, tolerance=2e-3)
claim.at_most("exact chance of a data set above the bound at some t", above, delta)
left_over = abs(inverted - bernoulli_kl(alpha, 1 - alpha))
claim.at_most("γ̂ with odds inverted: excess minus KL(α||1-α)", left_over, 1e-3)
claim.control.at_most("γ̂ with odds inverted: excess under the bound", inverted, ceiling[-1])
claim.true("M = 10, α = .2: refused, ε being too large", is_refused(alpha, 10))
claim.printed.at_most("M = 10, α̂ = α: excess at the end, printed bound", excess(odds(alpha))[-1], printed_bound)
corrected_loss, printed_loss = (rest + sign * share * odds(share) for sign in (-1, 1))
claim.close("empirical loss minus the cross-entropy", corrected_loss, direct, atol=1e-12, of="proof")
claim.misprint.close("the same with + as printed", printed_loss, direct, atol=1e-12, of="proof")
claim.certified("0 <= excess - KL <= (N-1) exp(-η t), for all values", certify_loss_after_steps())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# A solver proves that the second part of the excess is between 0 and $(N-1)e^{-\eta t}$ for all $\alpha$, $\hat\alpha$,
# $C$, $t$ and $N$. An automatic proof covers Lemma C.2 at $\alpha=\frac15$ for every $\varepsilon\ge\alpha/100$. We
# compare the appendix's empirical loss with the cross-entropy on a thousand sentences: with the stated signs they
# differ.
#
# </details>
#
# ## Where the paper differs
# Both bounds need $\varepsilon<\min(\alpha,1-\alpha)$. With ten sentences and $\alpha=0.2$, the stated bound falls
# below the Bayes risk.
#
# ## What to remember
# - The loss tends to the Bayes risk plus a divergence that the sample determines.
# - The divergence is of order $1/M$, so both more steps and more sentences are needed.
#
# ## Exercises
#
# 1. *By hand.* From which step on is $59e^{-0.1t}$ below the divergence $0.0026$?
#    <details><summary>Solution</summary>
#
#    From step 101 on, because $t>10\ln(59/0.0026)\approx100.3$.
#
#    </details>
# 2. *Predict, then run.* Set `samples = 500`. How do the curves change?
#    <details><summary>Solution</summary>
#
#    They level off about four times as high, because the divergence is of order $1/M$. The bound levels off about five
#    times as high, because $\varepsilon$ also reduces its denominator.
#
#    </details>
#
# Back to [Algorithm 1](algorithm_1_finite_sample.ipynb), which does the counting.

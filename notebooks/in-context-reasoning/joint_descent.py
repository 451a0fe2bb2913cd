# %% [markdown]
# # Beyond Section 4.2 · Why the noise level is counted and not trained
# *Our addition to Section 4.2 of Nguyen and Nguyen-Tang, before Algorithm 1.*
#
# Two numbers define the model for the noisy task, and we could train both. The paper trains only one of them and
# computes the other by counting labels. Its reason is that the optimum is at infinity and that nobody knows how fast
# training approaches it. We compute this rate and find another reason for counting.

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.joint import certify_excess
from attention_theory.in_context_reasoning.certified.losses import certify_shape
from attention_theory.in_context_reasoning.closed_form import noisy_hessian, noisy_loss, noisy_slope, odds
from attention_theory.in_context_reasoning.joint import coin_divergence, descend_jointly, joint_excess, stall_floor
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "door", "τ", "door"], at=(2.5, 0.5), lit=[2])
schematic.arrow(axis, tops[5], tops[2], "λ", bend=-0.3)
schematic.text(axis, (tops[4][0], 1.65), "λ + γ", schematic.VERMILION, 9)
show.figure(
    fig,
    name="sentence",
    caption="The logits of the output and of the noise word after the final door.",
    alt="Six boxes: red, door, seven, door, tau, door. An arrow leads from the last door back to seven, with the logit "
    "lambda. Above tau is its logit, lambda plus gamma.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*, the word
# after an earlier *door*. *Seven* has logit $\lambda$, $\tau$ has $\lambda+\gamma$, and *red* and *door* have 0. If
# $\tau$ is the label half of the time, the expected loss is $\ln(1+e^\gamma+2e^{-\lambda})-\frac\gamma2$. This is a
# valley: its floor is near $\gamma=0$ and falls towards $\ln2\approx0.693$ as $\lambda$ grows. How do two kinds of
# steps lead down it?
#
# *Steps of the gradient itself.* On the floor, the derivative in $\lambda$ is about $-e^{-\lambda}$, so with learning
# rate 1 each step adds about 1 to $e^\lambda$. After $t$ steps the loss is about $1/t$ above $\ln2$.
#
# *Steps of length 1.* For large $\lambda$, the gradient points across the valley, so the steps can go from
# $\gamma=\frac12$ to $\gamma=-\frac12$ and back. At both points the loss is $\ln\cosh\frac14\approx0.031$ above $\ln2$,
# however large $\lambda$ is.

# %%
even = torch.tensor([1.0], dtype=torch.float64)
walks = {
    "gradient steps": descend_jointly(even, 0.5, 1.0, 40, 2, "plain", (0.0, 1.5)),
    "steps of length 1": descend_jointly(even, 0.5, 1.0, 20, 2, "normalised", (0.0, 1.5)),
}
across, up = torch.linspace(-0.5, 6, 120, dtype=torch.float64), torch.linspace(-1.5, 2, 90, dtype=torch.float64)
surface = noisy_loss(across, up[:, None], even, 0.5, 2)

# %%
fig, axis = show.axes(width=6.5, height=2.8)
axis.contour(across, up, surface, levels=[0.7, 0.72, 0.75, 0.8, 0.9, 1.0, 1.2], colors="0.6", linewidths=0.8)
for (name, walk), marker in zip(walks.items(), "os", strict=True):
    axis.plot(walk[:, 0], walk[:, 1], marker + "-", markersize=3, linewidth=1, label=name)
axis.set(xlabel="λ", ylabel="γ", xlim=(-0.5, 6), ylim=(-1.5, 2))
axis.legend()
show.figure(
    fig,
    name="valley",
    caption="The loss of the tiny example and two paths from the same start: forty gradient steps and twenty steps of "
    "length 1.",
    alt="Curves of equal loss form a valley that opens to the right. Both paths first go along its floor, one "
    "with ever shorter steps. At the right the other jumps up and down across the floor.",
)

# %% [markdown]
# We see gradient steps follow the floor and become ever shorter. Steps of length 1 are faster at first, but then jump
# across the floor and come no nearer.
#
# ## The statement
# Let $L(\lambda,\gamma)=\mathbb E\,\ln(1+e^\gamma+(N-1)e^{-C\lambda})-\alpha\gamma$ be the population loss of Lemma
# 4.1, where $C$ counts how often the output follows the trigger, and let $L_{\text{Bayes}}$ be its infimum, the Bayes
# risk.
#
# <!-- claim in-context-reasoning/joint-rate -->
# <blockquote>
#
# **Beyond Section 4.2 (The rate of gradient descent to the infimum)** *Section 4.2*
#
# Let $c$ be the smallest and $K$ the largest count. Gradient descent in $(\lambda,\gamma)$ with $0<\eta<8/(K^2+1)$
# satisfies $t\,\big(L(\lambda_t,\gamma_t)-L_{\text{Bayes}}\big)\to1/(\eta c^2)$ from every start. From $(0,0)$ with
# $\eta\le4/(K^2+1)$ the excess over $L_{\text{Bayes}}$ is at most
# $\frac{(1-\alpha)(N-1)}t+\frac{\ln^2t+\ln^2\frac\alpha{1-\alpha}}{2\eta t}$ at every $t\ge1$.
#
# </blockquote>
# <!-- /claim -->
#
# The paper obtains a linear rate with steps of fixed length. If both numbers are trained, such steps fail. Here
# $\sigma$ is the logistic function, and $\mathrm{KL}(\alpha\Vert p)$ is the Kullback-Leibler divergence of two coins
# that show heads with chances $\alpha$ and $p$:
#
# <!-- claim in-context-reasoning/joint-stall -->
# <blockquote>
#
# **Beyond Section 4.2 (Normalised descent in both numbers stalls)** *Section 4.2*
#
# Normalised descent in $(\lambda,\gamma)$ with any constant $\eta>0$ has $\limsup_t
# L(\lambda_t,\gamma_t)-L_{\text{Bayes}}\ge f(\eta)$ from almost every start. Here $f(\eta)$ is the minimum over
# $\gamma$ of the larger of $\mathrm{KL}(\alpha\Vert\sigma(\gamma))$ and $\mathrm{KL}(\alpha\Vert\sigma(\gamma-\eta))$,
# and $f(\eta)=\frac18\alpha(1-\alpha)\eta^2\,(1+O(\eta^2))$.
#
# </blockquote>
# <!-- /claim -->
#
# Counting is one way to a linear rate: once $\gamma$ is fixed, there is no valley to jump across. A plain gradient step
# in $\gamma$ with steps of fixed length in $\lambda$ is another. Only one common norm for both numbers fails.
#
# ## Why it is true
# For large $\lambda$, the two numbers barely affect each other. Across the valley the loss is curved, and $\gamma$
# settles quickly. Along the valley the excess loss is about $A\,e^{-c\lambda}$ with a constant $A$. Therefore
# $e^{c\lambda}$ grows by $\eta c^2A$ per step, and the excess is about $1/(\eta c^2t)$, whatever $A$ is.
#
# A step of fixed length has the direction of the gradient. As $\lambda$ grows, the component of the gradient along the
# valley vanishes, but the component across it does not, except exactly on the floor. The steps therefore turn across
# the valley, and two points at the distance $\eta$ cannot both be near the floor. The floor itself is an unstable path:
# each step multiplies a deviation from it by about $-\eta\alpha(1-\alpha)/(cA e^{-c\lambda})$, a huge number, so only a
# null set of starts can follow it.
#
# <details><summary>Proof of Beyond Section 4.2, the rate of gradient descent</summary>
#
# Let $\gamma^*=\ln\frac\alpha{1-\alpha}$, $\sigma(\gamma)=1/(1+e^{-\gamma})$, $\delta=\gamma-\gamma^*$ and
# $\varepsilon_C=(N-1)e^{-C\lambda}$. Predicted probabilities are $p_y=1/(1+e^\gamma+\varepsilon_C)$, $p_\tau=e^\gamma
# p_y$ and $p_0=\varepsilon_Cp_y$, and $\partial_\lambda L=-\mathbb E[Cp_0]<0$, $\partial_\gamma L=\mathbb
# E\,p_\tau-\alpha$. With $\kappa(\delta)=\mathrm{KL}(\alpha\Vert\sigma(\gamma))=\ln(1-\alpha+\alpha
# e^\delta)-\alpha\delta$,
#
# $$L-L_{\text{Bayes}}=\kappa(\delta)+\mathbb E\ln\Big(1+\frac{\varepsilon_C}{1+e^\gamma}\Big),\tag{1}$$
#
# a sum of two terms of at least 0. $L$ is convex and $\beta$-smooth with $\beta=(K^2+1)/4$
# ([Section 4.2](section_4_2_loss_surface.ipynb)).
#
# *The upper bound.* Let $\eta\le1/\beta$. For every $z$, convexity and smoothness give
# $L(x_{i+1})\le L(z)+\frac1{2\eta}(|x_i-z|^2-|x_{i+1}-z|^2)$. Since $L(x_i)$ does not increase, the sum over $i<t$ is
# $L(x_t)\le L(z)+|x_0-z|^2/(2\eta t)$. Put $x_0=0$ and $z=(\ln t,\gamma^*)$, where by (1) the excess is
# $\mathbb E\ln(1+(1-\alpha)(N-1)t^{-C})\le(1-\alpha)(N-1)/t$. (This is the argument of {cite:t}`ji2018risk`.)
#
# *The loss tends to its infimum for every $\eta<2/\beta$, from every start.* By smoothness $L(x_{i+1})\le
# L(x_i)-\eta(1-\frac{\eta\beta}2)|\nabla L(x_i)|^2$, so $S=\sum_i|\nabla L(x_i)|^2<\infty$. By convexity
# $|x_{i+1}-z|^2\le|x_i-z|^2-2\eta(L(x_i)-L(z))+\eta^2|\nabla L(x_i)|^2$, and the sum over $i<t$ gives
# $L(x_t)\le L(z)+(|x_0-z|^2+\eta^2S)/(2\eta t)$, which tends to $L_{\text{Bayes}}$ for the same $z$. By (1),
# $\delta_t\to0$ and $\lambda_t\to\infty$.
#
# *The growth of $\lambda$.* Let $\pi$ be the probability that $C=c$, and let $A=\pi(1-\alpha)(N-1)$. As
# $1/(1+e^\gamma)\to 1-\alpha$, $\mathbb E[Cp_0]=cA\,e^{-c\lambda}(1+o(1))$. For $Y_t=e^{c\lambda_t}$ this means
# $Y_{t+1}=Y_t\exp\big(\eta c^2A(1+o(1))/Y_t\big)=Y_t+\eta c^2A+o(1)$, and $Y_t/t\to\eta c^2A$.
#
# *The error in $\gamma$.* As $\varepsilon_C=O(1/t)$, $\mathbb E\,p_\tau=\sigma(\gamma)+O(1/t)$, and
# $\sigma(\gamma)-\alpha=\alpha(1-\alpha)\delta\,(1+o(1))$. So $\delta_{t+1}=(1-\eta\alpha(1-\alpha)(1+o(1)))\,\delta_t+
# O(1/t)$. Here $0<\eta\alpha(1-\alpha)\le\eta/4<1/(2\beta)\le1$, so the factor is in the end below a number below 1,
# and $\delta_t=O(1/t)$.
#
# *The excess.* In (1), $\kappa(\delta_t)=O(\delta_t^2)=O(1/t^2)$, and the second term is
# $A\,e^{-c\lambda_t}(1+o(1))=\frac A{Y_t}(1+o(1))$. Hence $t\,(L(x_t)-L_{\text{Bayes}})\to1/(\eta c^2)$. $\square$
#
# </details>
#
# <details><summary>Proof of Beyond Section 4.2, steps of fixed length</summary>
#
# Let $g=\nabla L$, which is never 0, and $F(x)=x-\eta\,g/|g|$. Write $g/|g|=(-\cos\varphi,\sin\varphi)$ with
# $|\varphi|<\frac\pi2$. A step adds $\eta\cos\varphi$ to $\lambda$ and $-\eta\sin\varphi$ to $\gamma$.
#
# *$\lambda\to\infty$.* It never falls, so $\varepsilon_C$ stays below some $\bar\varepsilon$. Where
# $\gamma>\gamma^*+\ln(1+\bar\varepsilon)$, $p_\tau>\alpha$ and $\gamma$ falls. Where $\gamma<\gamma^*$,
# $p_\tau<\sigma(\gamma)<\alpha$ and $\gamma$ rises. As steps have length $\eta$, $\gamma$ stays bounded. If $\lambda$
# were bounded, $\mathbb E[Cp_0]$ would stay above a positive number. As $|g|\le\sqrt{K^2+1}$, $\lambda$ would grow by
# a fixed amount per step.
#
# *Either steps go across, or the walk follows the floor.* If $\limsup|\sin\varphi_t|=1$, then along some steps
# $|\gamma_{t+1}-\gamma_t|\to\eta$. By (1) the larger excess of the two points is at least
# $\max(\kappa(\delta_t),\kappa(\delta_{t+1}))$, and the limit of the latter is at least
# $f(\eta)=\min_\delta\max(\kappa(\delta),\kappa(\delta-\eta))$. So the limes superior of the excess is at least
# $f(\eta)$. Since $\kappa''(0)=\alpha(1-\alpha)$ and $\kappa$ is convex with minimum 0 at 0, the two are equal at the
# minimum, near $\delta=\eta/2$, and $f(\eta)=\frac18\alpha(1-\alpha)\eta^2(1+O(\eta^2))$.
#
# Otherwise $|\tan\varphi_t|$ is bounded from some step on. Then $\lambda$ grows by at least a fixed amount per step,
# and $|\partial_\gamma L|\le M|\partial_\lambda L|=O(e^{-c\lambda_t})$. So
# $\sigma(\gamma_t)-\alpha=O(e^{-c\lambda_t})$, $\gamma_t$ converges, and
# $\sin\varphi_t=(\gamma_t-\gamma_{t+1})/\eta\to0$. For every $\Lambda$, the walk is in the end in the strip
# $R=\{\lambda\ge\Lambda,\ |\varphi|\le\frac\pi4\}$. It remains to show that for one $\Lambda$ the set $S$ of points
# whose walks stay in $R$ for ever is a null set, and so are the starts from which a walk comes to $S$.
#
# *In the strip.* On $R$, $|\partial_\gamma L|\le|\partial_\lambda L|$, so $\sigma(\gamma)-\alpha=O(e^{-c\lambda})$, so
# $R$ has width $O(e^{-c\lambda})$ and finite area, and $|\partial_\lambda L|\le B_1e^{-c\lambda}$. The second
# derivatives are $L_{\gamma\gamma}=\mathbb E\,p_\tau(1-p_\tau)\to\alpha(1-\alpha)$, $0\le L_{\lambda\gamma}=\mathbb
# E[Cp_0p_\tau]\le|\partial_\lambda L|$ and $0\le L_{\lambda\lambda}=\mathbb E[C^2p_0(1-p_0)]\le K|\partial_\lambda L|$.
# From $\varphi=\arctan(\partial_\gamma L/|\partial_\lambda L|)$,
#
# $$\varphi_\gamma=\frac{|\partial_\lambda L|\,L_{\gamma\gamma}+\partial_\gamma L\,L_{\lambda\gamma}}{|g|^2}\ge
# B_2\,e^{c\lambda},\qquad|\varphi_\lambda|=\frac{\big|\,|\partial_\lambda L|\,L_{\lambda\gamma}+\partial_\gamma L\,
# L_{\lambda\lambda}\big|}{|g|^2}\le1+K,$$
#
# with $B_2>0$, if $\Lambda$ is large. For each $\lambda\ge\Lambda$, $\tan\varphi$ tends to $\infty$ as
# $\gamma\to\infty$, and to $-\alpha/\mathbb E\frac{C\varepsilon_C}{1+\varepsilon_C}<-1$ as $\gamma\to-\infty$. As
# $\varphi_\gamma>0$ wherever $|\varphi|\le\frac\pi4$, each value of $\varphi$ in this range is taken at one $\gamma$
# only.
#
# *$F$ multiplies areas by at least 2.* $\det DF=1-\eta\sin\varphi\,\varphi_\lambda-\eta\cos\varphi\,\varphi_\gamma$,
# and $\eta\cos\varphi\,\varphi_\gamma\ge\eta B_2e^{c\Lambda}/\sqrt2$ is as large as we like.
#
# *$F$ is one to one on $R$.* Take $(\lambda,\varphi)$ as coordinates of $R$, where it is the convex set
# $\lambda\ge\Lambda$, $|\varphi|\le\frac\pi4$, and $\gamma=\Gamma(\lambda,\varphi)$ with
# $0<\Gamma_\varphi=1/\varphi_\gamma\le e^{-c\Lambda}/B_2$ and $|\Gamma_\lambda|=|\varphi_\lambda/\varphi_\gamma|\le
# (1+K)e^{-c\Lambda}/B_2$. If two points have the same image, $\lambda-\tilde\lambda=-\eta(\cos\varphi-\cos\tilde
# \varphi)$ and $\Gamma-\tilde\Gamma=\eta(\sin\varphi-\sin\tilde\varphi)$. The left side of the latter is at most
# $((1+K)\eta+1)\,|\varphi-\tilde\varphi|\,e^{-c\Lambda}/B_2$ in size, the right side at least
# $\eta|\varphi-\tilde\varphi|/\sqrt2$. For large $\Lambda$ this leaves $\varphi=\tilde\varphi$, and then
# $\lambda=\tilde\lambda$.
#
# *Null sets.* $S\subset R$ is a closed set of finite area, $F(S)\subset S$, and the area of $F(S)$ is at least twice
# that of $S$. So $S$ has area 0. $F$ is analytic, and $\det DF$ is not 0 everywhere, so its zeros are a null set, and
# away from them $F$ is locally invertible. Therefore preimages of null sets are null sets, and so is the union of the
# preimages of $S$ under all powers of $F$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 60  # N, at least 3
alpha = 0.2  # chance of the noise word as label, from 0.05 to 0.8
rate = 0.5  # eta of steps of fixed length, from 0.2 to 2
steps = 20000  # t, from 6000 to 200000

# %%
require(tokens=(tokens, 3, None), alpha=(alpha, 0.05, 0.8), rate=(rate, 0.2, 2.0), steps=(steps, 6000, 200_000))
others, times = tokens - 1, torch.arange(1, steps + 1, dtype=torch.float64)
laws = {
    "C = 1": torch.tensor([1.0], dtype=torch.float64),
    "C = 1 or 3": torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64),
    "C = 2": torch.tensor([0.0, 1.0], dtype=torch.float64),
}
least = {"C = 1": 1, "C = 1 or 3": 1, "C = 2": 2}
plain, bounds, limits, smooth, growths = {}, {}, {}, {}, {}
for name, law in laws.items():
    smooth[name] = 4 / (len(law) ** 2 + 1)  # 1/β
    path = descend_jointly(law, alpha, smooth[name], steps, others)[1:]
    plain[name] = joint_excess(path, law, alpha, others)
    upper = (1 - alpha) * others / times + (times.log().square() + odds(alpha) ** 2) / (2 * smooth[name] * times)
    bounds[name] = (plain[name] / upper).max()
    limits[name] = plain[name][-1].item() * smooth[name] * least[name] ** 2 * steps
    grown = smooth[name] * least[name] ** 2 * law[least[name] - 1] * (1 - alpha) * others * steps
    growths[name] = (path[-1, 0] * least[name]).exp() / grown

# %%
one = laws["C = 1"]
starts = {"(0, 0)": (0.0, 0.0), "(1, 3)": (1.0, 3.0), "(0, -2)": (0.0, -2.0), "the floor at 3": (3.0, odds(alpha))}
fixed = {}
for size in (rate / 5, rate):
    for name, start in starts.items():
        path = descend_jointly(one, alpha, size, 6000, others, "normalised", start)
        fixed[size, name] = joint_excess(path, one, alpha, others)
highest = {f"η = {size:g}, from {start}": run[-1000:].max().item() for (size, start), run in fixed.items()}
floors = {f"η = {size:g}, from {start}": stall_floor(size, alpha) for size, start in fixed}
shrinking = descend_jointly(one, alpha, rate, steps, others, "decreasing")[1:]
slower = joint_excess(shrinking, one, alpha, others)
on_floor = torch.tensor([14.0, odds(alpha) + math.log1p(others * math.exp(-14.0))], dtype=torch.float64)
curvature = noisy_hessian(on_floor[0], on_floor[1], torch.ones(1, dtype=torch.float64), others)[0, 1, 1].item()
slope = -noisy_slope(on_floor[0], on_floor[1].item(), torch.ones(1, dtype=torch.float64), others).item()
gammas = [0.0]
for scale in (rate * times[:600] - rate).tolist():
    noise = math.exp(gammas[-1])
    gammas.append(gammas[-1] - noise / (1 + noise + others * math.exp(-scale)) + alpha)
separate = joint_excess(torch.stack([rate * times[:600], one.new_tensor(gammas[1:])], dim=1), one, alpha, others)
counted = torch.log1p((1 - alpha) * others * torch.exp(-rate * times))  # γ fixed at its best value, λ = η t

# %%
fig, axis = show.axes(width=6.5, height=3.4)
axis.loglog(times, plain["C = 1"], label="both numbers, gradient steps")
axis.loglog(times, 1 / (smooth["C = 1"] * times), ":", color="0.4", label="1/(η t)")
for size in (rate / 5, rate):
    run = fixed[size, "(0, 0)"]
    axis.loglog(torch.arange(1, len(run)), run[1:], linewidth=0.8, label=f"both, steps of length {size:g}")
axis.loglog(times, slower, label=f"both, steps of length {rate:g}/√t")
axis.loglog(times, counted, "--", label=f"γ counted, steps of length {rate:g}")
axis.set(xlabel="step t", ylabel="excess over the Bayes risk", ylim=(1e-7, 10))
axis.legend(fontsize=8)
show.figure(
    fig,
    name="rates",
    caption="The excess over the Bayes risk for five ways of training, with one bigram per sentence.",
    alt="Curves on log-log axes. One follows the dotted line one over t. Two become level. One falls like one "
    "over t at the end. One dashed curve drops steeply at the left.",
)

# %% [markdown]
# Gradient steps, here with $\eta=2$, follow $1/(\eta t)$, whereas steps of fixed length level off. Once $\gamma$ is
# counted, the excess falls fast. Steps of length $\eta/\sqrt t$ do not stall, but in the end their excess also falls
# like $1/t$.
#
# ## How we checked
# We compare the excess with the limit at the last step and with the bound at every step. For steps of fixed length, we
# compare the largest excess of the last thousand steps with the theorem's lower bound, from four starts. An automatic
# prover confirms formula (1) of the proof and the bounds on the second derivatives.

# %%
claim = Claim("in-context-reasoning/joint-rate")
claim.at_most("excess over the upper bound, largest over all steps", bounds, 1)
claim.equal(f"excess times η c² t at t = {steps}", limits, 1, tolerance=0.02)
claim.control.equal("C = 2: the same with c for c²", limits["C = 2"] / 2, 1, tolerance=0.02)
claim.equal("e^{cλ} over η c² A t at the last step", growths, 1, tolerance=0.02, of="proof")
claim.certified("L is convex and (C² + 1)/4-smooth, for all λ, γ, C and N", certify_shape())
claim.certified("formula (1) and the second derivatives, for all λ, γ, C and N", certify_excess())
claim.verdict()

# %%
claim = Claim("in-context-reasoning/joint-stall")
stalls = {name: highest[name] / floors[name] for name in highest}
claim.at_least("largest excess of 1000 late steps over the floor", stalls, 1)
claim.control.at_least("gradient steps: the same", plain["C = 1"][-1].item() / stall_floor(rate, alpha), 1)
claim.control.at_least("γ counted: the same", counted[5999].item() / stall_floor(rate, alpha), 1)
claim.control.at_least("γ by gradient steps, λ = η t: the same", separate[-1].item() / stall_floor(rate, alpha), 1)
about = {size: stall_floor(size, alpha) / (alpha * (1 - alpha) * size**2 / 8) for size in (0.1, 0.2)}
claim.equal("the floor over α(1-α)η²/8", about, 1, tolerance=0.01)
claim.at_least("factor of areas on the floor at λ = 14", rate * curvature / slope - 1, 2, of="proof")
shifts = torch.linspace(-rate, 2 * rate, 30_001, dtype=torch.float64)
larger = torch.maximum(coin_divergence(shifts, alpha), coin_divergence(shifts - rate, alpha)).min().item()
claim.at_least("least of the larger divergence on a grid over the floor", larger / stall_floor(rate, alpha), 1 - 1e-9)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The excess times $\eta c^2t$ differs from 1 by terms of order $\ln t/t$ and $1/t$; at 20,000 steps the difference is
# below 1 % here. Where steps of fixed length end depends on the start: the larger excess is between the theorem's lower
# bound and about three times this bound. The exact value is sensitive to rounding, and no check uses it.
#
# </details>
#
# <details><summary>Proof that gradient steps in γ alone have a linear rate</summary>
#
# Let $\lambda_t=\eta t$ and let $\gamma$ take gradient steps with a rate $0<\eta'<8$. Then
# $\varepsilon_C\le(N-1)e^{-c\eta t}$ and $|\mathbb E\,p_\tau-\sigma(\gamma)|\le(N-1)e^{-c\eta t}$. A step multiplies
# $\delta$ by a factor of size below 1 that tends to $1-\eta'\alpha(1-\alpha)$, and adds at most $\eta'(N-1)e^{-c\eta
# t}$. So $\delta_t$ falls exponentially, and so does the excess by (1): like $e^{-c\eta t}$, if
# $|1-\eta'\alpha(1-\alpha)|^2<e^{-c\eta}$. $\square$
#
# </details>
#
# ## Where we stop
# For convex functions in general, the smallest excess of a run tends to 0 if the step lengths satisfy
# $\sum\eta_t=\infty$ and $\sum\eta_t^2/\sum\eta_t\to0$. For $\eta_t=\eta/\sqrt t$ we measure the rate $1/t$, but do not
# prove it.
#
# ## What to remember
# - Gradient descent in both numbers converges to the Bayes risk, with an excess of about $1/(\eta c^2t)$.
# - Steps of fixed length stall at an excess of about $\alpha(1-\alpha)\eta^2/8$ or more, because they jump across the
#   valley.
# - Counting labels fixes $\gamma$, and then steps of fixed length give a linear rate. Only one common norm for both
#   numbers fails.
#
# ## Exercises
#
# 1. *By hand.* Let $\alpha=\frac12$ and $\eta=\frac1{10}$. What is the smallest excess at which steps of fixed
#    length can stall, and after about how many gradient steps with learning rate 1 and $c=1$ is the excess lower?
#    <details><summary>Solution</summary>
#
#    They stall at about $\frac14\cdot\frac1{100}\cdot\frac18\approx0.00031$ or more. From $1/t<0.00031$ we get about
#    3,200 steps.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 1`. By what factor do the two level ends rise?
#    <details><summary>Solution</summary>
#
#    The theorem's lower bound rises by a factor of 4, because it is proportional to $\eta^2$. How far above it training
#    ends depends on the start, so the measured factor is only roughly 4.
#
#    </details>
#
# Next: [Theorem 4.5](theorem_4_5_separation.ipynb). Once the noise is counted ([Algorithm
# 1](algorithm_1_finite_sample.ipynb)), we can ask which layer learns what.

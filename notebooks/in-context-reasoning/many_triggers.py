# %% [markdown]
# # Beyond Theorem 3.2 · Any number of triggers comes into balance
# *Our addition to Theorem 3.2 of Nguyen and Nguyen-Tang (Section 3.2, Appendix A.2).*
#
# Several look-ups share one training budget, because each training step has a fixed length. If the words that they look
# up are repeated equally often, they share the budget equally, and the paper's proof covers this case. What happens if
# one word is repeated more often than another? We prove that training then finds the best way to share, provided that
# the steps are not too long.

# %%
import torch

from attention_theory.in_context_reasoning.balance import (
    balance_step,
    balance_weights,
    balanced_exponent,
    distance_to_balance,
    relative_slopes,
)
from attention_theory.in_context_reasoning.certified.balance import certify_balance
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noiseless, log_slopes
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["key", "gold", "tree", "key", "gold", "key"], at=(2.5, 0.5), lit=[1, 4])
schematic.arrow(axis, tops[5], tops[1], "c for each", bend=-0.3)
schematic.arrow(axis, tops[5], tops[4], bend=-0.3)
show.figure(
    fig,
    name="two-votes",
    caption="The bigram key gold occurs twice, so gold gets two votes of c.",
    alt="Six boxes: key, gold, tree, key, gold, key. Two arrows lead from the last key, one to each gold, with "
    "the score c.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see arrows from the final *key* to *gold*, the word after
# each earlier *key*. With the scale $c$ for this trigger, *gold* has logit $2c$. Two other triggers with scales $a$ and
# $b$ have one arrow each. Up to constants, the loss is $e^{-a}+e^{-b}+e^{-2c}$, so the smallest of $a$, $b$ and $2c$
# decides. A step moves the point $(a,b,c)$ by a distance of 1. The step $(\frac23,\frac23,\frac13)$ adds $\frac23$ to
# $a$, $b$ and $2c$, and no step of this length adds more to the smallest of them. Normalised gradient descent does not
# know this. From $(0,0,0)$ it first moves along the gradient $(1,1,2)/\sqrt6$:
#
# | step | $a$ and $b$ | $2c$ | added to the smallest |
# | --- | --- | --- | --- |
# | 1 | 0.41 | 1.63 | 0.41 |
# | 2 | 1.06 | 2.40 | 0.65 |
# | 3 | 1.72 | 3.10 | 0.66 |
# | 4 | 2.39 | 3.77 | 0.67 |
#
# The exponent $2c$ gets ahead, its gradient shrinks, and the others catch up. Steps of length 4 fail:

# %%
fig, axes = show.axes(1, 2, width=7.5, height=2.8)
tiny, start = balance_weights([1, 1, 2]), 2 * torch.tensor([1.0, 1.0, 2.0], dtype=torch.float64).log()
for axis, length, many in zip(axes, (1.0, 4.0), (12, 12), strict=True):
    walk = [start]
    for _ in range(many):
        walk.append(balance_step(walk[-1], tiny, length * balanced_exponent([1, 1, 2], 1.0)))
    grown = start - torch.stack(walk)
    axis.plot(grown[:, 0], "o-", markersize=3, label="a and b")
    axis.plot(grown[:, 2], "s-", markersize=3, label="2c")
    axis.plot(length * 2 / 3 * torch.arange(many + 1), ":", color="0.5", label="best way to share")
    axis.set(xlabel="step", title=f"steps of length {length:g}")
_ = axes[0].legend()

# %%
show.figure(
    fig,
    name="race",
    caption="The exponents of the tiny example. Left: with short steps, all grow equally fast in the end. Right: with "
    "long steps, 2c keeps jumping ahead, and a and b grow more slowly than they could.",
    alt="Two panels with two rising curves each. On the left both become straight and parallel to a dotted line. On "
    "the right one rises by leaps with rests between them, and the other falls behind the dotted line.",
)

# %% [markdown]
# On the left, the two lines become parallel to the dotted one. On the right, $2c$ leaps ahead in every second step,
# while $a$ and $b$, which decide the loss, fall behind the dotted line.
#
# ## The statement
# Trigger $q$ has scale $\lambda_q$, and steps have length $\eta$. A *count* is how often the output follows the trigger
# in a sentence; let $C_q$ be the smallest count for trigger $q$. The best way to share adds $\eta m$ to every
# $C_q\lambda_q$ in each step, with $m=\big(\sum_qC_q^{-2}\big)^{-1/2}$.
#
# <!-- claim in-context-reasoning/many-triggers -->
# <blockquote>
#
# **Beyond Theorem 3.2 (Any number of triggers comes into balance)** *Section 3.2; Appendix A.2*
#
# Let $C_q$ be the smallest count after $q$ and $m=\big(\sum_qC_q^{-2}\big)^{-1/2}$. Start normalised descent anywhere.
# If $\eta m\le2$, then $-\frac1t\ln L(\lambda_t)\to\eta m$, and no other steps of length $\eta$ give a larger limit. If
# $\eta m<2$, then $L(\lambda_t)\,e^{\eta mt}$ stays between two positive numbers. For every $\eta$, $-\ln
# L(\lambda_t)=\eta m\sum_{i<t}\cos\theta_i+O(1)$, where $\theta_i$ is the angle between the negative gradient and
# $(1/C_q)_q$. For $|\mathcal Q|\ge2$ and $\eta m>2$, the balance $\theta=0$ is unstable, and the limit map has a cycle
# of length two with a smaller exponent.
#
# </blockquote>
# <!-- /claim -->
#
# This decides a remark in the paper:
#
# <!-- claim in-context-reasoning/remark-distribution-agnostic -->
# <blockquote>
#
# **Section 3.2 (Descent without knowing the sentences' distribution)** *Sections 3.2 and 4.2*
#
# **The paper states.** The update rule (5) can be implemented without the knowledge of the distribution of $z$.
#
# **What is true.** With one trigger, or if counts have the same distribution after every trigger, the path does not
# depend on this distribution. Otherwise it does, and so does the exponent of the loss, which is $\eta m$ if $|\mathcal
# Q|=1$ or $\eta m\le2$.
#
# **What changed.** The scales depend on the smallest count $C_q$ after each trigger, through
# $m=\big(\sum_qC_q^{-2}\big)^{-1/2}$. With several triggers and $\eta m>2$, the scales can overtake each other, and the
# exponent can be smaller than $\eta m$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Late in training, only the ratios of the derivatives matter. Divide each derivative by its value in balance, where all
# $C_q\lambda_q$ grow equally fast, and call the result $u_q$. A step lowers $D_q=\ln u_q$ by $k\,u_q$ with $k=\eta m$,
# up to a number that is the same for all $q$. Large $u_q$ therefore fall, but they may fall too far, as in Ricker's
# model of a population that outgrows its food, which is stable up to $k=2$.
#
# With many triggers, the obvious measures of imbalance can grow, for example the angle between the gradient and the
# balanced gradient. Let $w_q=(m/C_q)^2$; these weights sum to 1. The following measure does not grow if $\eta m\le2$:
#
# $$V=\tfrac13\ln\sum_qw_qe^{3D_q}-\sum_qw_qD_q .$$
#
# It compares a mean dominated by the largest $D_q$ with the ordinary weighted mean. The proof that no step increases
# $V$ uses an inequality in one variable. For $\eta m=2$ it is $u^3e^{6(1-u)}\le u^3-6u+6$.
#
# <details><summary>Proof of Beyond Theorem 3.2, for any number of triggers</summary>
#
# **The map.** Let $s_q=-|\mathcal Q|\,\partial L/\partial\lambda_q=\mathbb E_q[C\,w(C\lambda_q)]$ with
# $w(z)=(N-1)/(e^z+N-1)$, and $p_q>0$ the probability of $C=C_q$ after $q$. A step is $\lambda_q\to\lambda_q+\eta
# s_q/|s|$, so no scale ever falls. *All scales go to infinity.* Each step has length $\eta$, so one of the scales does.
# Let $B$ be the set of those that stay bounded. If $B$ were not empty, $s_q$ would stay above a positive number for
# $q\in B$ and go to 0 for the others. Then $\sum_{q\in B}s_q/|s|$ would be at least $\frac12$ from some step on, and
# $\sum_{q\in B}\lambda_q$ would not be bounded.
#
# Since counts are whole numbers, $s_q=p_qC_q(N-1)e^{-C_q\lambda_q}(1+O(e^{-\lambda_q}))$. Put $D_q=\ln(C_qs_q)$,
# $w_q=(m/C_q)^2$, so that $\sum_qw_q=1$, $R^2=\sum_qw_qe^{2D_q}$ and $u_q=e^{D_q}/R$. We write $\mathbb E$ for means
# over $q$ with the weights $w_q$, so that $\mathbb E\,u^2=1$. As $|s|=R/m$, the step is $\lambda_q\to\lambda_q+\eta
# \frac m{C_q}u_q$, and
#
# $$D_q\to D_q-k\,u_q+e_q,\qquad k=\eta m,\qquad|e_q|\le\varepsilon_t=O\big(e^{-\min_q\lambda_{q,t}}\big)\to0.$$
#
# **The exponent is a mean of cosines, for every $\eta$.** *The spread of the $D_q$ stays bounded.* Let $M=\max_qD_q$
# and $\mu=\min_qD_q$. As $\mathbb E\,u^2=1$, the largest $u_q$ is at least 1 and at most $w_{\min}^{-1/2}$. Where
# $D_q\ge M-1$, $u_q\ge1/e$. So $M$ falls by at least $\min(1,k/e)-\varepsilon_t$. Let $K=kw_{\min}^{-1/2}$ and
# $x=D_q-M$. A step takes $D_q$ to at least $M+x-Ke^x-\varepsilon_t$. This is concave in $x$, so it is smallest at an
# end, $x=\mu-M$ or $x=0$. No step therefore adds more than $K+2\varepsilon_t$ to $M-\mu$, and where $M-\mu\ge K$ the
# first end is the lower one, and $\mu$ falls by at most $Ke^{\mu-M}+\varepsilon_t$. From some step on, $M-\mu$ falls by
# a fixed amount wherever it is above some bound. Hence $C_q\lambda_{q,t}=\mu_t+O(1)$ with one $\mu_t$ for all $q$, and
# $-\ln L(\lambda_t)=\mu_t+O(1)$.
#
# Let $\theta$ be the angle between $s$, the negative gradient, and the vector with entries $1/C_q$, and $b=(m/C_q)_q$
# the unit vector along the latter. Then $\cos\theta=\langle s,b\rangle/|s|=\sum_qw_qu_q=\mathbb E\,u$. Each step adds
# $\eta\cos\theta_i$ to $\langle\lambda,b\rangle$, and $\langle\lambda_t,b\rangle=\sum_q\frac m{C_q^2}(\mu_t+O(1))
# =\mu_t/m+O(1)$. Therefore
#
# $$-\ln L(\lambda_t)=\eta m\sum_{i<t}\cos\theta_i+O(1).$$
#
# **No steps of length $\eta$ do better;** the argument is that of *not faster* under [Theorem
# 3.2](theorem_3_2_rate.ipynb). From any start $|\lambda_t|\le|\lambda_0|+\eta t$. If $z=\min_qC_q\lambda_q\ge0$, then
# $|\lambda|^2\ge\sum_q(z/C_q)^2=(z/m)^2$. So $-\ln L(\lambda_t)\le\max(0,z)+O(1)\le m\,(|\lambda_0|+\eta t)+O(1)$ along
# any path of such steps.
#
# **The inequality.** Let $0<c\le6$. For every $u\ge0$,
#
# $$u^3e^{c(1-u)}\le u^3+c\,(1-u).\tag{1}$$
#
# The right side is positive: for $u\le1$ this is clear, except at $u=0$, where (1) reads $0\le c$; for $u>1$ it is at
# least $u^3-6u+6$, whose smallest value, at $u=\sqrt2$, is $6-4\sqrt2>0$. The logarithm of the right side less that of
# the left is $g(u)=\ln(u^3+c(1-u))-3\ln u-c(1-u)$. It is 0 at $u=1$, and
#
# $$g'(u)=\frac{c\,(u-1)\,\big((u-1)^2(u+3)+(6-c)\,u\big)}{u\,\big(u^3+c(1-u)\big)},$$
#
# so $g$ falls before $u=1$ and rises after it. Hence $g\ge0$.
#
# **$V$ falls.** Let $k\le2$ and $c=3k$. Since $2u^3-3u^2+1=(u-1)^2(2u+1)\ge0$ and $\mathbb E\,u^2=1$, we have
# $\mathbb E\,u^3\ge1$. Let $s=c\,(1-\mathbb E\,u)$, which is at least 0. Without $e_q$, a step changes $V$ by
#
# $$V'-V=\tfrac13\ln\frac{\mathbb E\,u^3e^{-cu}}{\mathbb E\,u^3}+k\,\mathbb E\,u
# =\tfrac13\ln\frac{\mathbb E\,u^3e^{c(1-u)}}{\mathbb E\,u^3}-\tfrac s3
# \le\tfrac13\ln\Big(1+\frac s{\mathbb E\,u^3}\Big)-\tfrac s3\le-\tfrac13\big(s-\ln(1+s)\big),$$
#
# where (1) was used. The $e_q$ add at most $2\varepsilon_t$, since $V$ is a difference of two means of the $D_q$, each
# of which changes by at most $\varepsilon_t$. Let $\chi(s)=\frac13(s-\ln(1+s))$, which increases and is positive for
# $s>0$.
#
# *$V\to0$.* $V\ge0$ by Jensen's inequality. Let $\tau>0$. As long as $s_t>\tau$, $V$ falls by at least $\chi(\tau)-
# 2\varepsilon_t$, which is at least $\frac12\chi(\tau)$ from some step on, so at some later step $s_t\le\tau$. There
# $\mathbb E(u-1)^2=2-2\,\mathbb E\,u\le2\tau/c$, so that all $u_q$ are near 1 and $V\le\omega(\tau)$ with
# $\omega(\tau)\to0$ as $\tau\to0$. Afterwards $V$ can exceed $\omega(\tau)$ only by what a single step adds, at most
# $2\varepsilon_t$: where it has $s_t\le\tau$ it is at most $\omega(\tau)$ again, and where $s_t>\tau$ it falls. So
# $\limsup V\le\omega(\tau)$ for every $\tau$. Hence $u\to1$, $\cos\theta_t\to1$, and $-\frac1t\ln L(\lambda_t)\to\eta
# m$. Without $e_q$, at most $V_0/\chi(\tau)$ steps have $s>\tau$.
#
# **Up to a factor, if $\eta m<2$.** Near balance $u_q=1+D_q-\mathbb E\,D+O(D^2)$, so that a step multiplies all
# differences of the $D_q$ by $1-k$, up to second order. For $|1-k|<1$ they go to 0 exponentially, because
# $\varepsilon_t$ does. Then $\sum_t(1-\cos\theta_t)$ is finite, and $-\ln L(\lambda_t)=\eta mt+O(1)$.
#
# **Beyond $\eta m=2$, with $|\mathcal Q|\ge2$.** Now $|1-k|>1$, and every small difference grows: a walk that does not
# meet the balance exactly leaves each small neighbourhood of it again. *There is a cycle of two.* Let one $D_q$ be $x$
# and all others $0$, and $w$ the weight of the one. The step takes $x$ to $f(x)=x-k(e^x-1)/\sqrt{we^{2x}+1-w}$, whose
# only fixed point is 0, with $f'(0)=1-k$. For small $x>0$, $f(f(x))\approx(1-k)^2x>x$. For large $x$, $0<f(x)<x$, so
# $f(f(x))<f(x)<x$. In between there is an $x>0$ with $f(f(x))=x\ne f(x)$. On this cycle $\cos\theta<1$ at both points,
# and the exponent is below $\eta m$. $\square$
#
# </details>
#
# ## See it run
# We draw tasks with random numbers of triggers and random distributions of counts, and train from zero.

# %% tags=["parameters"]
tokens = 60  # N, at least 3
most = 8  # largest number of triggers, from 3 to 20
tasks = 12  # random tasks, from 4 to 200
seed = 0  # at least 0

# %%
require(tokens=(tokens, 3, None), most=(most, 3, 20), tasks=(tasks, 4, 200), seed=(seed, 0, None))
source, others = generator(seed), tokens - 1


def descent_of(laws: torch.Tensor, least: list[int], speed: float, run: int) -> tuple[torch.Tensor, torch.Tensor]:
    """-ln L and the cosine with the balanced gradient at each step of descent with η m = speed.

    The loss underflows, so we take the sum of its leading terms, p exp(-C λ) for the smallest count of each trigger.
    """
    path = descend_noiseless(laws, speed / balanced_exponent(least, 1.0), run, others)
    smallest = torch.tensor(least, dtype=torch.float64)
    chances = laws.gather(1, smallest.long()[:, None] - 1).squeeze(1)
    slopes = log_slopes(laws, path, others) + smallest.log()
    return -(chances.log() - path * smallest).logsumexp(dim=1), relative_slopes(slopes, balance_weights(least)) @ (
        balance_weights(least)
    )


def exponent(curve: torch.Tensor) -> float:
    """The growth per step of a curve over the second half of a run."""
    half = (len(curve) - 1) // 2
    return ((curve[-1] - curve[half]) / (len(curve) - 1 - half)).item()


# %%
losses, drawn = {}, []
for number in range(tasks):
    triggers = 3 + number % (most - 2)
    least = torch.randint(1, 20, (triggers,), generator=source).tolist()
    laws = torch.rand(triggers, 25, generator=source, dtype=torch.float64) + 0.1
    laws = laws * (torch.arange(1, 26) >= torch.tensor(least)[:, None])
    laws = laws / laws.sum(dim=1, keepdim=True)
    speed = 0.2 + 1.7 * number / (tasks - 1)
    drawn.append((laws, least, speed))
    losses[f"{triggers} triggers, η m = {speed:.2f}"] = descent_of(laws, least, speed, 400)[0]
ratios = {name: exponent(curve) / drawn[place][2] for place, (name, curve) in enumerate(losses.items())}

# %% [markdown]
# For the figure we iterate the limit map, which describes late training, from starts far from balance, and compute the
# exponent from the mean cosine.

# %%
weights = {f"C = {least}": balance_weights(least) for least in ([3, 4], [1, 1, 2], [1, 3, 4, 4, 9])}
speeds = torch.linspace(0.2, 3.0, 57, dtype=torch.float64)
means, falls = {}, {}
for name, given in weights.items():
    walks = torch.randn(len(speeds), len(given), generator=source, dtype=torch.float64)
    total = torch.zeros(len(speeds), dtype=torch.float64)
    for step in range(1000):
        total += (step >= 500) * (relative_slopes(walks, given) @ given)
        walks = walks - speeds[:, None] * relative_slopes(walks, given)
    means[name] = total / 500
for speed in (0.5, 1.5, 2.0, 2.2):
    walk = torch.tensor([[0.0, 4.0, -3.0, 2.0, 8.0]], dtype=torch.float64)
    falls[speed] = []
    for _ in range(80):
        falls[speed].append(distance_to_balance(walk, weights["C = [1, 3, 4, 4, 9]"]).item())
        walk = balance_step(walk, weights["C = [1, 3, 4, 4, 9]"], speed)

# %%
fig, (left, right) = show.axes(1, 2, width=7.5, height=2.9)
for speed, values in falls.items():
    left.semilogy([max(value, 1e-16) for value in values], label=f"η m = {speed}")
left.set(xlabel="step", ylabel="V")
left.legend()
for name, values in means.items():
    right.plot(speeds, values, label=name)
right.axvline(2, color="0.5", linewidth=0.8)
right.set(xlabel="η m", ylabel="exponent / (η m)")
_ = right.legend()
show.figure(
    fig,
    name="balance",
    caption="Left: V over the steps, for five triggers and four values of η m, from the same start. Right: the "
    "exponent divided by η m, with a vertical line at η m = 2.",
    alt="Left, four curves on a logarithmic axis: three fall, the one for 2 only slowly, and the one for 2.2 "
    "stays up. Right, three curves that are at one up to the vertical line and below one beyond it.",
)

# %% [markdown]
# We see that $V$ never rises for $\eta m\le2$. For all three sets of counts, the exponent falls below $\eta m$
# beyond 2. At $\eta m=2$ training still comes into balance, but slowly.
#
# ## How we checked
# An automatic prover confirms each inequality of the proof for all values and, for three triggers, that the code
# changes $V$ as the proof says. The control drops the condition $\eta m\le2$. We also run the steps from starts near
# and far from balance.

# %%
far = torch.randn(400, 6, generator=source, dtype=torch.float64) * torch.logspace(-2, 1.5, 400).double()[:, None]
uneven = torch.rand(6, generator=source, dtype=torch.float64).pow(4) + 1e-6
uneven = uneven / uneven.sum()
change, slack = {}, {}
for speed in (0.1, 1.0, 2.0, 2.1):
    after = distance_to_balance(balance_step(far, uneven, speed), uneven)
    rise, s = after - distance_to_balance(far, uneven), 3 * speed * (1 - relative_slopes(far, uneven) @ uneven)
    change[f"η m = {speed}"], slack[f"η m = {speed}"] = rise.max(), (3 * rise + s - s.log1p()).max()
single = {name: torch.eye(9, dtype=torch.float64)[[c - 1 for c in name]] for name in ((3, 4), (1, 3, 4, 4, 9))}
at_two, cosines = descent_of(single[1, 3, 4, 4, 9], [1, 3, 4, 4, 9], 2.0, 2000)
beyond, beyond_cosines = descent_of(single[1, 3, 4, 4, 9], [1, 3, 4, 4, 9], 2.3, 2000)
factor = losses[next(iter(losses))] - drawn[0][2] * torch.arange(401)

# %%
claim = Claim("in-context-reasoning/many-triggers")
beyond_two = change.pop("η m = 2.1"), slack.pop("η m = 2.1")
claim.at_most("most that a step adds to V", change, 1e-12)
claim.control.at_most("η m = 2.1: most that a step adds to V", beyond_two[0], 1e-12)
claim.at_most("3 (V' - V) + s - ln(1 + s), largest", slack, 1e-12, of="proof")
claim.control.at_most("η m = 2.1: the same", beyond_two[1], 1e-12, of="proof")
claim.equal("random tasks: exponent over η m", ratios, 1, tolerance=1e-3)
claim.equal("η m = 2: exponent over η m", exponent(at_two) / 2, 1, tolerance=1e-3)
claim.control.equal("η m = 2.3: exponent over η m", exponent(beyond) / 2.3, 1, tolerance=1e-3)
mean_cosine = beyond_cosines[1000:2000].mean().item()
claim.equal(
    "η m = 2.3: exponent over η m times the mean cosine", exponent(beyond) / 2.3 / mean_cosine, 1, tolerance=5e-3
)
claim.at_most("range of -ln L - η m t over the second half of a run", factor[200:].max() - factor[200:].min(), 1e-2)
claim.certified("V does not increase, for all u and 0 < η m ≤ 2", certify_balance())
claim.verdict()

# %% [markdown]
# For the paper's remark, we also train with one trigger and compare the scales of three unequal triggers.

# %%
straight = 0.1 * torch.arange(201, dtype=torch.float64)
walked = {}
for name, fillers, copies in (("C = 1", "neutral", 1), ("outputs as fillers, C = 3", "outputs allowed", 3)):
    task = Task(20, 1, 4, 24, noisy=True, fillers=fillers)
    sentences = sample_sentences(task, 200, 0, copies)
    labels = draw_labels(sentences, task, torch.tensor([0.3], dtype=torch.float64), 0)[0]
    walked[name] = algorithm_1(sentences, labels, task, 0.1, 200).scales
unequal = torch.tensor([[0.5, 0.5, 0, 0], [0, 0.3, 0, 0.7], [0, 0, 1, 0]], dtype=torch.float64)
apart = descend_noiseless(unequal, 0.1, 200, others)[-1]
long_steps = {
    f"η m = {speed}": exponent(descent_of(single[3, 4], [3, 4], speed, 400)[0]) / speed for speed in (2.1, 2.4)
}

# %%
claim = Claim("in-context-reasoning/remark-distribution-agnostic")
for name, scales in walked.items():
    claim.close(f"one trigger, {name}: λ minus η t, largest", scales, straight, atol=1e-12)
claim.equal("3 to 8 triggers: exponent over η m", ratios, 1, tolerance=1e-3)
claim.control.equal("C = 3 and 4, beyond 2: exponent over η m", long_steps, 1, tolerance=1e-3)
claim.printed.at_most("three laws: λ at t = 200 is equal for all triggers, spread", apart.max() - apart.min(), 1e-6)
claim.verdict()

# %% [markdown]
# <details><summary>Proof of Section 3.2, knowledge of the distribution</summary>
#
# With one trigger the only unit step against a negative slope is $+\eta$, so $\lambda_t=\eta t$ whatever the
# distribution is. With several triggers of unequal distributions the statement is that of the proof above: the scales
# are in the end in the ratio of the $1/C_q$, so the path depends on the distribution, and so does the exponent $\eta
# m$. $\square$
#
# </details>
#
# <details><summary>Method notes</summary>
#
# The angle between the gradient and the balanced gradient cannot grow for two triggers, but it can for three: let the
# first weight be near 1 with a tiny $u$, the second small with a large $u$, and the third tiny. At $\eta m=2$ the
# distance to balance falls like $t^{-1/2}$, and after $t$ steps the measured exponent is below $\eta m$ by about $\ln
# t/t$.
#
# </details>
#
# ## Where we stop
# Beyond $\eta m=2$ we know the exponent only as a mean of cosines. We do not know whether it is smaller than $\eta m$
# for almost every start.
#
# ## What to remember
# - The triggers share a step of fixed length, and training finds the best way to share it: $\lambda_q\propto1/C_q$.
# - The loss then falls like $e^{-\eta mt}$, for any number of triggers and any distributions, as long as $\eta m\le2$.
# - Longer steps overshoot, and the exponent is $\eta m$ times the mean cosine between the gradient and the balanced
#   one.
#
# ## Exercises
#
# 1. *By hand.* Two triggers have the counts 3 and 4. What is $m$, what is the balanced step of length 1, and what is
#    the largest $\eta$ for which the theorem applies?
#    <details><summary>Solution</summary>
#
#    $m=(\frac19+\frac1{16})^{-1/2}=\frac{12}5$. The step is $(\frac45,\frac35)$, which adds $\frac{12}5$ to both
#    $3\lambda_1$ and $4\lambda_2$. The theorem requires $\eta\cdot\frac{12}5\le2$, so $\eta\le\frac56$.
#
#    </details>
# 2. *Predict, then run.* Set `most = 20`. The page compares the measured exponent with $\eta m$. Does their ratio
#    change with the number of triggers?
#    <details><summary>Solution</summary>
#
#    No. All ratios stay 1 to the accuracy of the run. For a given $\eta$, the exponent $\eta m$ itself falls as the
#    number of triggers grows, because $m$ does.
#
#    </details>
#
# Next: [Lemma 4.1](lemma_4_1_noisy.ipynb). With label noise, one number per trigger no longer suffices.

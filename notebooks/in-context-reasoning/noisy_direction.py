# %% [markdown]
# # Beyond Section 5.2 · Where training W alone ends
# *Our addition to Sections 5.2 and 5.3 and Figures 9 and 11 of Nguyen and Nguyen-Tang.*
#
# One of the paper's models trains a single matrix and handles words that it never saw as outputs, but not well. Is this
# the limit of training, or did training stop too early? We compute the limit exactly, on a small task with label noise.
# There the model handles unseen words perfectly, but it learns them far more slowly than known words.

# %%
import torch

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.noisy_direction import noisy_instance
from attention_theory.validation import require
from bookpress import Claim, show

# %% [markdown]
# ## A tiny example
# In *red door seven door $\tau$ lamp door*, the look-up leads from the final *door*, the trigger, to *seven*, the word
# after an earlier *door*. The score of this position is the sum of two trained numbers: $u$, because the word before is
# the trigger, and $a$, because the word there is *seven*. Let *seven* and *nine* be the two outputs. Both share $u$,
# and each has its own $a$. The noise word $\tau$ also follows the trigger and must get score 0, so its own number is
# $-u$.
#
# Training tends to the smallest numbers with $a+u\ge1$: it minimises $a^2+a^2+u^2+u^2$, and the solution is
# $a=u=\frac12$. A word that was never an output has no number $a$ and gets score $u=\frac12$. If known outputs have
# logit $r$, an unseen word therefore has $\frac r2$. Without the noise word, it would have $\frac23r$.

# %%
fig, axis = show.axes(width=6.0, height=2.6)
names = ["no noise word,\nknown", "no noise word,\nunseen", "noise word,\nknown", "noise word,\nunseen"]
axis.bar(names, [2 / 3, 2 / 3, 1 / 2, 1 / 2], label="the word before is the trigger (u)")
axis.bar(names, [1 / 3, 0, 1 / 2, 0], bottom=[2 / 3, 2 / 3, 1 / 2, 1 / 2], label="the word itself (a)")
axis.set(ylabel="score", ylim=(0, 1.45))
axis.legend(fontsize=8, ncols=2, loc="upper center")
show.figure(
    fig,
    name="shares",
    caption="The two parts of the score of the word after the trigger, for two outputs.",
    alt="Four stacked bars. Bars of known words reach one, bars of unseen words two thirds and one half.",
)

# %% [markdown]
# The score of an unseen word is a fixed fraction of that of a known word.
#
# ## The statement
# We extend the task of [Theorem 3.4](theorem_3_4_direction.ipynb). There is one trigger $q$ and a set of $m\ge2$
# outputs. A sentence has one bigram $(q,y)$ and one $(q,\tau)$ with at least one word between them, and it ends in
# $\square\,q$. All other words are *neutral*: neither triggers nor outputs. All sentences are equally likely. The label
# is $\tau$ with probability $\alpha$, and $y$ otherwise. $U$, $V$ and $F$ are those of Lemma 4.1,
# $\gamma=\ln\frac\alpha{1-\alpha}$, and $W$ is trained from 0 with linear attention.
#
# <!-- claim in-context-reasoning/noisy-direction -->
# <blockquote>
#
# **Beyond Section 5.2 (Where training W alone ends with label noise)** *Sections 5.2 and 5.3*
#
# In the task of this page, let $1/(1+e^4)\le\alpha\le\frac12$. The loss of gradient descent with a small rate tends to
# the Bayes risk, and $W_t^\top x_H$ tends to the direction of $2\sum_iE(y_i)+m(\tilde E(q)-E(\tau))$. Replace $y$ by a
# word that is neither trigger nor output and occurs nowhere else. Along this direction, its logit is $\frac m{m+2}$
# times that of an output, and all other words except $\tau$ have the logit 0. The odds of $\tau$ are right in the
# limit, and the loss on such sentences tends to the Bayes risk as well.
#
# </blockquote>
# <!-- /claim -->
#
# This suggests that the high loss on unseen words in Figures 9 and 11 is not a limit of training on the expected loss.
# It does not prove this, because in the figures $x_H$ varies, and $\alpha$ also takes the value 0.8. Two causes can
# keep the loss high: it falls slowly (in our runs at most like $t^{-m/(m+2)}$), and in the paper's training the steps
# of fixed length preserve the noise of random labels.
#
# ## Why it is true
# All logits are linear in $W$. A low loss requires two things: the predicted odds of $\tau$ and $y$ must be those of
# the label, and all other words must have far lower logits. This is a separable problem of next-token prediction
# {cite}`thrampoulidis2024implicit`. In the directions that change the odds, descent converges. In all others, as in
# Theorem 3.4, it tends to the shortest solution of a max-margin problem. We find this solution by hand.
#
# <details><summary>Proof of Beyond Section 5.2, where training W alone ends</summary>
#
# Let $w=W^\top x_H$ and $x_h$ the inputs. In sentence $n$, $\xi_y=\langle w,x_y\rangle$ with $x_y=E(y)+\tilde E(q)$,
# $\xi_\tau=\gamma+\langle w,2x_\tau+x_y+\gamma\sum_{z_h=q}x_h\rangle$ with $x_\tau=E(\tau)+\tilde E(q)$, of which one
# $x_\tau$ comes from attention, and the rest from $F$. Let $d_n=2x_\tau+\gamma\sum_{z_h=q}x_h$, so that
# $\xi_\tau-\xi_y=\gamma+\langle w,d_n\rangle$, let $S$ be the span of all $d_n$, and $m_{nj}$ the row of $\xi_y-\xi_j$.
#
# *Descent.* The loss is convex and smooth, and $w=r(\tilde E(q)-E(\tau))$, the look-up of Lemma 4.1, has $\langle
# w,d_n\rangle=0$ and margins $r$: its excess over the Bayes risk tends to 0. As on the page on
# [both numbers](joint_descent.ipynb), the excess of descent tends to 0 for small rates. It is at least
# $\mathbb E\,\mathrm{KL}(\alpha\Vert\sigma(\gamma+\langle w,d_n\rangle))$. Hence $\langle w_t,d_n\rangle\to0$ for all
# $n$, and the part of $w_t$ in $S$ tends to 0. Let $w^\perp$ and $m^\perp$ be parts across $S$. In the gradient across
# $S$ the odds do not occur: $-\nabla^\perp L=\sum f_{nj}m^\perp_{nj}$ with $f_{nj}=p_ne^{-a_{nj}}/Z_n$, where $a_{nj}=
# \langle m_{nj},w\rangle$ differs from $\langle m^\perp_{nj},w^\perp\rangle$ by a bounded number, and
# $Z_n=1+e^{\gamma+\langle w,d_n\rangle}+\sum_ke^{-a_{nk}}$ is between two multiples of $1+\sum_ke^{-a_{nk}}$. The proof
# of [Theorem 3.4](theorem_3_4_direction.ipynb), *descent goes there*, uses nothing else: these numbers change the
# constant $c$ in its second inequality. So $w_t^\perp$, and with it $w_t$, has in the limit the direction of the
# shortest $\hat w$ across $S$ with $\langle m_{nj},\hat w\rangle\ge1$ for all $n$ and all $j\ne y,\tau$.
#
# *The solution.* Let $\hat w=\frac2{m+2}\sum_iE(y_i)+\frac m{m+2}(\tilde E(q)-E(\tau))$, and $a=\frac2{m+2}$, $u=\frac
# m{m+2}$. It is across $S$, since $\langle\hat w,x_\tau\rangle=0$, and no code of $q$, or of a word before $q$, occurs
# in it. The logit of $y$ is $a+u=1$, that of every other word $j\ne\tau$ is 0: all margins are 1. By the conditions of
# Karush, Kuhn and Tucker it is the shortest if it is a sum of rows $m_{nj}$ with weights of at least 0, and of
# multiples of the $d_n$. Since $ma-u=u$,
#
# $$\hat w=a\sum_ix_{y_i}-u\,x_\tau.$$
#
# An output that is absent has logit 0, so each $x_{y_i}$ is a row. So is $m_{nq}=x_y-\sum_{z_h=q}x_h$, and
# $d_n=2x_\tau+\gamma(x_y-m_{nq})$. We put $x_\tau=\frac12(d_n-\gamma x_y+\gamma m_{nq})$, in the mean over one sentence
# for each output:
#
# $$\hat w=\Big(a+\frac{u\gamma}{2m}\Big)\sum_ix_{y_i}-\frac{u\gamma}{2m}\sum_im_{n_iq}-\frac u{2m}\sum_id_{n_i}.$$
#
# For $\gamma\le0$ the second weight is at least 0, and the first is for $\gamma\ge-2ma/u=-4$. These are the $\alpha$ of
# the statement.
#
# *Unseen words.* Let $v$, which is neither trigger nor output, take the place of $y$ and occur nowhere else. Then $\hat
# w$ gives $v$ the logit $u$ and all other words except $\tau$ the logit 0. As $w_t$ has the direction of $\hat w$ and
# its length tends to infinity, $v$ is in the end as far as we like above these. No word of $y$ occurs in $d_n$, since
# $q$ does not follow $y$, so that $d$ is that of a training sentence, and $\xi_\tau-\xi_v\to\gamma$. So the loss tends
# to the Bayes risk. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
length = 7  # H, from 7 to 9
steps = 6000  # steps of descent, from 2000 to 100000
rate = 0.2  # eta of w, from 0.05 to 0.3

# %%
require(length=(length, 7, 9), steps=(steps, 2000, 100_000), rate=(rate, 0.05, 0.3))
levels = (0.05, 0.2, 0.5)
cases = {f"m = {m}, α = {alpha}": noisy_instance(length, 2, m, alpha) for m in (2, 3, 4) for alpha in levels}
shown = {name: case for name, case in cases.items() if name in ("m = 2, α = 0.2", "m = 4, α = 0.2")}
paths = {name: case.descend(rate, steps) for name, case in shown.items()}
excesses = {name: case.excess(paths[name][1:]) for name, case in shown.items()}
times = torch.arange(1, steps + 1, dtype=torch.float64)
half = steps // 4


def slope(curve: torch.Tensor) -> float:
    """The slope of a curve over the last part of a run, both axes logarithmic."""
    return ((curve[-1] / curve[half]).log() / (times[-1] / times[half]).log()).item()


# %%
fig, axis = show.axes(width=6.5, height=3.2)
for (name, curve), colour in zip(excesses.items(), show.COLOURS, strict=False):
    axis.loglog(times, curve[:, 0], "-", color=colour, label=f"{name}, known words")
    axis.loglog(times, curve[:, 1], "--", color=colour, label=f"{name}, fresh word")
    axis.loglog(times, curve[:, 2], ":", color=colour, label=f"{name}, neutral word")
axis.set(xlabel="step t", ylabel="excess over the Bayes risk")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="excess",
    caption="The excess of gradient descent over the Bayes risk, trained on the expected loss, for two and four "
    "outputs.",
    alt="Six falling curves on log-log axes. The solid ones for known words have slope minus one. The dashed and "
    "dotted ones for other words are less steep, and those for two outputs are the least steep.",
)

# %% [markdown]
# We see the excess fall for all kinds of words. On known words the slope is about $-1$. On a fresh word, which does not
# occur in training at all, it is about $-\frac m{m+2}$, which is $-\frac12$ for two outputs and $-\frac23$ for four. On
# a neutral word the excess is higher still, because training has lowered the score of this word.
#
# ## How we checked
# We check that the closed form satisfies all conditions, and that a solver finds no shorter solution. The controls are
# a noise level above one half, where it must find one, and the solution without noise.

# %%
ratio, falls, conditions, shorter = {}, {}, {}, {}
for name, case in shown.items():
    _, others = case.margins()
    known, fresh = ((others[kind] @ paths[name][[half, -1]].mT).amin(dim=(0, 1)).diff() for kind in (0, 1))
    share = case.outputs / (case.outputs + 2)
    ratio[name] = (fresh / known).item() / share
    falls[name] = -slope(excesses[name][:, 1]) / share
for name, case in cases.items():
    noise, others = case.margins()
    w = case.claimed_direction
    conditions[name] = max((noise @ w).abs().max(), 1 - (others[0] @ w).min()).item()
    shorter[name] = (case.hard_margin().norm() / w.norm()).item()

# %%
rests, weights = {}, {}
for name, case in cases.items():
    (noise, *_), (others, *_) = case.margins()
    m, gamma = case.outputs, odds(case.alpha)
    first = [(case.output[0] == output).nonzero()[0, 0] for output in range(1, 1 + m)]
    fresh, trigger, d = (rows[torch.stack(first)].sum(dim=0) for rows in (others[:, -1], others[:, 0], noise))
    weights[name] = min(2 / (m + 2) + gamma / (2 * m + 4), -gamma / (2 * m + 4))
    combined = (2 / (m + 2) + gamma / (2 * m + 4)) * fresh - gamma / (2 * m + 4) * trigger - d / (2 * m + 4)
    rests[name] = (combined - case.claimed_direction).abs().max()

# %%
beyond = noisy_instance(length, 2, 2, 0.8)
above_half = (beyond.hard_margin().norm() / beyond.claimed_direction.norm()).item()
without = cases["m = 2, α = 0.5"].claimed_direction.clamp_min(0)  # no number for τ
odds_off = (cases["m = 2, α = 0.5"].margins()[0][0] @ without).abs().max()
later = {name: (curve[-1] / curve[half]).max() for name, curve in excesses.items()}

# %%
claim = Claim("in-context-reasoning/noisy-direction")
claim.at_most("closed form: conditions broken by", conditions, 1e-12)
claim.at_least("length of the solver's w over that of the closed form", shorter, 1 - 1e-9)
claim.control.at_least("α = 0.8: the same", above_half, 1 - 1e-9)
claim.at_most("closed form less the proof's sum of rows", rests, 1e-12, of="proof")
claim.at_least("smallest weight of a margin in it", weights, 0, of="proof")
claim.control.at_most("α = 0.5, without the number for τ: odds off by", odds_off, 1e-12)
claim.equal("growth of the margin of the fresh word over that of y, over m/(m+2)", ratio, 1, tolerance=0.05)
claim.equal("late slope of the excess on the fresh word, over -m/(m+2)", falls, 1, tolerance=0.05)
claim.below("excess at the end over that at a quarter, worst of all kinds", later, 1)
claim.verdict()

# %% [markdown]
# ## Where we stop
# For $\alpha>\frac12$ or $\alpha<0.018$ the shortest solution is a different one, which we can compute for each size
# but not in closed form. Its margins on unseen words were positive wherever we tried. We measure the rate
# $t^{-m/(m+2)}$, which the margins suggest, but do not prove it. In the paper's experiments, sentences are long, $x_H$
# varies and labels are random, so the closed form does not give the numbers of Figures 9 and 11.
#
# ## What to remember
# - On this task, the loss of training $W$ alone on the expected loss tends to the Bayes risk, even on words that were
#   never outputs.
# - In the limit, the logit of such a word is a fixed fraction of that of an output, $m/(m+2)$ with label noise and
#   $m/(m+1)$ without.
# - This suggests that limited generalisation is a matter of training time and random labels, not of the limit.
#
# ## Exercises
#
# 1. *By hand.* Without noise the smallest numbers minimise $ma^2+u^2$ under $a+u=1$. Find $u$.
#    <details><summary>Solution</summary>
#
#    With $a=1-u$ the derivative is $-2m(1-u)+2u=0$, so $u=m/(m+1)$.
#
#    </details>
# 2. *Predict, then run.* Set `steps = 24000`. By what further factor does the dashed curve for two outputs fall?
#    <details><summary>Solution</summary>
#
#    By a factor of about 2 for a fresh word, because there are four times as many steps and the slope is $-\frac12$.
#
#    </details>
#
# Next: [Section 5.2](section_5_2_arithmetic.ipynb). There, the same model fails without noise, owing to rounding.

# %% [markdown]
# # Theorem 3.4 · Descent finds a shorter way than the look-up
# *Nguyen, Nguyen-Tang: Theorem 3.4 and Remark 3.5, Section 3.2; Appendix A.4.*
#
# The look-up of Lemma 3.1 is one of many matrices that solve the task. If we train the whole matrix, does gradient
# descent find this one? The paper says no. The reason is that descent tends to the shortest solution.
#
# ## A tiny example
#
# In *red door seven lamp door*, the look-up leads from the final *door*, the trigger, to *seven*, the word after the
# earlier *door*. Suppose that *seven* and *nine* are the only outputs. Let $d$ be the weight on "the word before was
# *door*", and $b$ the weight on each output word itself. The output wins by a margin of at least 1 if $b+d\ge1$. The
# look-up has $b=0$, $d=1$ and the length $\sqrt{b^2+b^2+d^2}=1$. With $b=\frac13$, $d=\frac23$ the margin is the same,
# but the length is only $\sqrt{\frac19+\frac19+\frac49}\approx0.82$.
#
# Descent tends to the shorter solution.

# %%
import math

import torch
from torch.nn.functional import cosine_similarity

from attention_theory.in_context_reasoning.certified.margins import certify_hard_margin, certify_more_outputs
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.direction import (
    Instance,
    descend,
    descend_relu,
    hard_margin,
    instance,
    reduced_descend,
)
from attention_theory.in_context_reasoning.model import Architecture, Weights, forward
from attention_theory.in_context_reasoning.task import Sentences, Task, violations
from attention_theory.randomness import normal, streams
from attention_theory.validation import require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
plain_steps = 2_000  # steps of plain descent, at least 1000
plain_rate = 0.5  # eta of plain descent, from 0.001 to 1
steps = 2_000  # steps of normalised descent, at least 1000
rate = 0.1  # eta of normalised descent, from 0.05 to 1
starts = 8  # Gaussian starts, at least 4
seed = 0  # at least 0

# %%
require(
    plain_steps=(plain_steps, 1000, None),
    plain_rate=(plain_rate, 1e-3, 1.0),
    steps=(steps, 1000, None),
    rate=(rate, 0.05, 1.0),
    starts=(starts, 4, None),
    seed=(seed, 0, None),
)
limit = 2 / math.sqrt(12)
cases = {f"N = {n}, H = {h}": instance(n, h) for n, h in ((4, 4), (4, 6), (5, 6), (8, 6))}
small = cases["N = 4, H = 6"]

# %%
fig, axis = show.axes(width=3.6, height=3.0)
turn = torch.linspace(0, math.pi / 2, 60)
axis.plot([0, 1], [1, 0], color="0.4", label="margin 1")
axis.plot(turn.sin() / math.sqrt(3), turn.cos() * math.sqrt(2 / 3), ":", color="0.4", label="length 0.82")
axis.plot([0], [1], "s", label="look-up")
axis.plot([1 / 3], [2 / 3], "o", label="shortest solution")
axis.set(xlabel="b, weight on each output", ylabel="d, weight on the look-up", aspect="equal")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="shortest",
    caption="Weights with margin 1 (straight line), weights of length 0.82 (arc), and two solutions.",
    alt="A straight line from 1 on one axis to 1 on the other. A dotted arc touches it at one third along. A square "
    "marks the end of the line on the vertical axis, and a dot the point where the arc touches.",
)

# %% [markdown]
# The arc of constant length touches the line at the dot, away from the look-up.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/theorem-3-4 -->
# <blockquote>
#
# **Theorem 3.4 (Descent on W misses the construction)** *Section 3.2; Appendix A.4*
#
# **The paper states.** For any $N\ge4$, there exists an instance of $\mathcal O,\mathcal Q$ and sentence distribution
# in the noiseless setting such that with $\mathcal Q=\{q\}$, $|\mathcal O|=2$, $W^*:=E(q)\tilde E^\top(q)$, $U$ and $V$
# defined in Lemma 3.1, standard gradient descent on $W$ from $W_0=0$ satisfies
# $\lim_{t\to\infty}\cos(W_t,W^*)=2/\sqrt{12}<1$.
#
# <details><summary>Slips (2)</summary>
#
# - The proof sets the logits of all words but $y$ to 0 and finds $W_t=r_tA$ at every step. Neutral words have nonzero
#   logits, so $W_1$ does not point along $A$. The stated limit is nevertheless right.
# - The proof writes $x_\zeta$ for the input at $y$, which is $x_{\zeta+1}$. In our copy of the paper, the proof writes
#   $A$ with $E(y_1)$ twice, and the theorem begins "Under Theorem 2.2" instead of "Under Assumption 2.2".
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For every constant rate, the limit direction is $A=(E(q)+\tilde
# E(\square))(E(y_1)+E(y_2)+2\tilde E(q))^\top$, the hard-margin solution of the task.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# With linear attention, the logits are linear in $W$. Training $W$ is therefore logistic regression with several
# classes, and descent tends to the direction of the *hard-margin solution*, the shortest matrix with margin 1. Every
# sentence ends in $\square\,q$, so only $w=W^\top x_H$ changes, and the shortest $w$ is that of the example. The
# paper's proof sets all logits other than that of $y$ to zero. However, neutral words also occur, and already $W_1$ has
# a different direction.
#
# <details><summary>Proof of Theorem 3.4, repaired</summary>
#
# *The hard margin.* Let $w=W^\top x_H$. A word $j$ has the logit $\xi_j=\sum_{h:z_h=j}\langle w,x_h\rangle$. It is
# linear in $w$, and the shortest $W$ with a given $w$ is $x_Hw^\top/\|x_H\|^2$. We look for the shortest $w$ with
# $\xi_y-\xi_j\ge1$ for all sentences and all $j\ne y$. The output that is absent from a sentence has the logit 0, so
# $\langle w,E(y_i)\rangle+\langle w,\tilde E(q)\rangle\ge1$ for both $i$. The shortest $w$ with these two conditions
# alone is $\hat w=\frac13(E(y_1)+E(y_2)+2\tilde E(q))$. It satisfies all others: the trigger is followed by nothing but
# $y$ in the context, so no neutral word and no $q$ meets $\tilde E(q)$, all logits but that of $y$ are 0, and the
# margin is 1. Hence the solution is $W\propto x_H\hat w^\top\propto A$, and it is unique. Its cosine with $W^*$ is
# $\frac23/(\sqrt2\cdot \sqrt{6}/3)=2/\sqrt{12}$.
#
# *Descent goes there.* What follows holds for every finite set of sentences with logits linear in $w$ and positive
# margins for some $w$. Number the pairs of a sentence $n$ and a wrong word $j$; there are $P$ of them in all, and $J$
# for each sentence. Let $a_{nj}=\langle m_{nj},w\rangle$ be the margin and $p_n$ the probability of the sentence. Let
# $f_{nj}=p_ne^{-a_{nj}}/Z_n$ with $Z_n=1+\sum_ke^{-a_{nk}}$, and $G=\sum f_{nj}\le1$. Then $-\nabla L=\sum
# f_{nj}m_{nj}$. Let $u$ be the unit vector along $\hat w$, and let $\mu=\min\langle m_{nj},u\rangle=1/\|\hat w\|$, the
# largest margin of a unit vector. Let $B=\max\|m_{nj}\|$. Two inequalities are needed. The first is clear:
#
# $$\langle u,-\nabla L\rangle\ge\mu G,\qquad\langle w,-\nabla L\rangle\le G\,(\mu\|w\|+c),\qquad
# c=\ln\frac{P(1+J)}{\min p_n}.$$
#
# For the second let $\omega=f/G$. As $p_n\le1\le Z_n$, $a_{nj}\le-\ln f_{nj}=\ln\frac1G-\ln\omega_{nj}$, so that
# $\sum\omega a\le\ln\frac1G+\ln P$, the entropy of $\omega$ being at most $\ln P$. The pair of the least margin $a_*$
# has $f\ge\min p_n\,e^{-\max(a_*,0)}/(1+J)$, so $\ln\frac1G\le\max(a_*,0)+\ln\frac{1+J}{\min p_n}$. And
# $a_*\le\mu\|w\|$.
#
# Now $w_{t+1}=w_t-\eta\nabla L$ with the slope in $w$, where $\eta$ is twice the rate of $W$, since $w=W^\top x_H$ and
# $\|x_H\|^2=2$. Let $S_t=\sum_{s<t}\eta G_s$. The first inequality gives $\langle w_t,u\rangle\ge\mu S_t+\langle
# w_0,u\rangle$. The second, with $\|\nabla L\|\le BG$ and $G\le1$, gives $\|w_{t+1}\|^2\le\|w_t\|^2+2\eta
# G_t(\mu\|w_t\|+c')$ with $c'=c+\frac12\eta B^2$, hence $\|w_{t+1}\|\le\|w_t\|+\eta G_t(\mu+c'/\|w_t\|)$. If $S_t$
# stayed bounded, the steps would be summable, $w_t$ would converge, and $G_t$ would not go to 0: a contradiction. So
# $S_t\to\infty$. Hence $\|w_t\|\ge\frac12\mu S_t$ from some time on, and $\|w_t\|\le\mu S_t+O(\ln S_t)$. The cosine of
# $w_t$ and $u$ is at least $(\mu S_t-O(1))/(\mu S_t+O(\ln S_t))\to1$, for every constant rate $\eta$ and every start.
#
# *Normalised descent* has $\eta/\|\nabla L\|$ in place of $\eta$. As $\mu G\le\|\nabla L\|\le BG$, now $S$ grows by at
# least $\eta/B$ a step. The squared step $\eta^2$ is at most $B\eta$ times that. So the same follows with
# $c'=c+\frac12\eta B$, and the distance of the cosine from 1 is $O(\frac{\ln t}t)$. $\square$
#
# </details>
#
# ## See it run
#
# We follow plain descent, which is slow, and normalised descent, which has the same limit. We also try rounded
# gradients, and the gradient in the paper's proof.

# %%
plain = {name: descend(case, plain_rate, plain_steps)[1:] for name, case in cases.items()}
fast = {name: descend(case, rate, steps, True)[1:] for name, case in cases.items()}
naive = small.cosine_with_target(descend(small, rate, 1000, True, "subtraction")[1:])
printed = small.cosine_with_target(reduced_descend(small, plain_rate, 200)[1:])
plain_cosines = {name: cases[name].cosine_with_target(path) for name, path in plain.items()}
fast_cosines = {name: cases[name].cosine_with_target(path) for name, path in fast.items()}

# %%
fig, (left, right) = show.axes(1, 2, width=8.0, height=3.4)
left.axhline(limit, color="0.4", linewidth=1, label="2/√12")
shown = {"plain": plain_cosines["N = 4, H = 6"], "normalised": fast_cosines["N = 4, H = 6"]}
for name, values in {**shown, "by subtraction": naive, "paper's proof": printed}.items():
    left.semilogx(torch.arange(1, len(values) + 1), values, label=name)
left.set(xlabel="step t", ylabel="cosine with W*", ylim=(0.1, 0.65))
left.legend()
later = torch.arange(10, plain_steps + 1)
for name, cosines in plain_cosines.items():
    right.semilogx(later, (limit - cosines[9:]) * later.log(), label=name)
right.set(xlabel="step t", ylabel="(2/√12 - cosine) · ln t")
right.legend()
show.figure(
    fig,
    name="cosine",
    caption="Left: the true gradient starts far below the limit and rises towards it, unless subtraction loses it in "
    "rounding. The paper's proof starts at the limit. Right: the gap times ln t.",
    alt="Left, cosines against steps: two curves rise to a line at 0.577, one lies on it, one rises and then falls. "
    "Right, four curves between 0.04 and 0.2 that change slowly.",
)

# %% [markdown]
# On the left, we see plain and normalised descent rise towards $2/\sqrt{12}$, while the paper's proof starts there. On
# the right, the gap of plain descent shrinks roughly as $1/\ln t$.
#
# ## How we checked
#
# We compute the hard-margin solution exactly, follow plain and normalised descent, and test the two inequalities of the
# repaired proof along the paths.


# %%
def inequalities(case: Instance, path: torch.Tensor) -> tuple[float, float]:
    """The least ⟨u, -∇L⟩ / μG and the largest ⟨w, -∇L⟩ / G(μ|w| + c) at every tenth step; w is 2v here."""
    features, margin, rows = case.features, hard_margin(case), torch.arange(len(case.probability))
    w, mu = 2 * path[::10], 1 / (2 * margin.norm())
    chances = torch.einsum("sjc,tc->tsj", features, w).softmax(dim=-1)
    chances[:, rows, case.sentences.output] = 0  # what is left are the wrong words
    weights = case.probability[:, None] * chances
    picked = features[rows, case.sentences.output][:, None]
    downhill, miss = torch.einsum("tsj,sjc->tc", weights, picked - features), weights.sum(dim=(1, 2))
    wrong = case.tokens - 1
    c = math.log(len(rows) * wrong * (1 + wrong) / case.probability.min())
    first = downhill @ margin / margin.norm() / (mu * miss)
    second = (w * downhill).sum(dim=1) / (miss * (mu * w.norm(dim=1) + c))
    return first.min().item(), second.max().item()


both = {name: inequalities(case, plain[name]) for name, case in cases.items()}

# %%
margins = {name: hard_margin(case) for name, case in cases.items()}
along = {name: 1 - cosine_similarity(margins[name], case.claimed_direction, dim=0) for name, case in cases.items()}
off_limit = {name: abs(cases[name].cosine_with_target(margin) - limit) for name, margin in margins.items()}
first_step = {name: cosine_similarity(plain[name][0], case.claimed_direction, dim=0) for name, case in cases.items()}
twice = small.claimed_direction
twice[1], twice[2] = 2.0, 0.0
rising = {name: bool((cosines[99::100].diff() > 0).all()) for name, cosines in plain_cosines.items()}
highest = {name: cosines.max() for name, cosines in plain_cosines.items()}
at_1000 = {name: abs(cosines[999] - limit) for name, cosines in fast_cosines.items()}
band = (math.log(1000) / (1000 * rate)) ** 2
least, largest = ({name: pair[which] for name, pair in both.items()} for which in (0, 1))

# %%
claim = Claim("in-context-reasoning/theorem-3-4")
claim.at_most("cosine of the hard margin with W* minus 2/√12, largest", off_limit, 1e-8)
claim.true("plain descent rises all the way", rising)
claim.below("and stays below 2/√12: largest", highest, limit)
claim.at_most("normalised descent at t = 1000, distance from 2/√12", at_1000, band)
claim.control.equal("slope by subtraction: normalised descent at t = 1000", naive[-1], limit, tolerance=band)
claim.at_most("1 - cosine of the hard margin with A, largest", along, 1e-8, of="proof")
claim.at_least("repair, first inequality: least quotient", least, 1 - 1e-9, of="proof")
claim.at_most("repair, second inequality: largest quotient", largest, 1, of="proof")
claim.printed.equal("cosine of W_1 with A, which the proof has as 1", first_step, 1, tolerance=1e-8, of="proof")
claim.misprint.equal(
    "A with E(y_1) twice: norm", math.sqrt(2) * twice.norm(), math.sqrt(12), tolerance=1e-8, of="proof"
)
claim.number("N = 4, H = 6: plain descent at the end", plain_cosines["N = 4, H = 6"][-1])
claim.certified("the hard margin is A with cosine 2/√12, exactly", certify_hard_margin(list(cases.values())))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# After $t$ normalised steps, the norm of $W$ is of order $\eta t$, and the part orthogonal to the hard-margin direction
# grows at most like $\ln t$. The error of the cosine is therefore at most about $(\ln t/(\eta t))^2$, the tolerance
# that we use at $t=1000$.
#
# </details>
#
# ## Also on this page: the instance
# <!-- claim in-context-reasoning/theorem-3-4-data -->
# <blockquote>
#
# **Theorem 3.4 data distribution (The instance behind Theorem 3.4)** *Appendix A.4*
#
# **The paper states.** $\mathcal Q=\{q\}$, $\mathcal O=\{y_1,y_2\}$, a non-empty set of *neutral* tokens $\mathcal N$
# with $\mathcal N\cap(\mathcal Q\cup\mathcal O)=\emptyset$. Fix $\square\in\mathcal N$. Sample
# $y\sim\mathrm{Unif}(\mathcal O)$. Sample $\zeta\sim\mathrm{Unif}([H-3])$ and set $z_\zeta=q$, $z_{\zeta+1}=y$. Sample
# $z_h\sim\mathrm{Unif}(\mathcal N)$ for $h\in[H-2]\setminus\{\zeta,\zeta+1\}$. Set $z_{H-1}=\square$ and $z_H=q$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** This is a special case of Definition 2.1 with $C=1$.
#
# </blockquote>
# <!-- /claim -->
#
# We list all sentences with their probabilities. As a control, we put the trigger at $H-1$.

# %%


def broken(sentences: Sentences, tokens: int, length: int) -> torch.Tensor:
    """How many sentences break a condition of Definition 2.1."""
    return torch.stack(list(violations(sentences, Task(tokens, 1, 2, length)).values())).any(dim=0).sum()


late = small.sentences.tokens.clone()
late[:, -2], late[:, -1] = 0, small.sentences.output
shifted = Sentences(late, small.sentences.trigger, small.sentences.output)

claim = Claim("in-context-reasoning/theorem-3-4-data")
found = {name: broken(case.sentences, case.tokens, case.sentences.tokens.shape[1]) for name, case in cases.items()}
claim.equal("sentences that break Definition 2.1", found, 0)
totals = {name: abs(math.fsum(case.probability.tolist()) - 1) for name, case in cases.items()}
claim.at_most("sum of probabilities minus 1, largest", totals, 1e-15, of="proof")
claim.equal("N = 4, H = 6: sentences", len(small.probability), 6, of="proof")
claim.equal("N = 8, H = 6: sentences", len(cases["N = 8, H = 6"].probability), 150, of="proof")
claim.control.equal("bigram at H - 1: sentences that break it", broken(shifted, 4, 6), 0)
claim.verdict()

# %% [markdown]
# ## Also on this page: ReLU attention
# <!-- claim in-context-reasoning/relu-direction -->
# <blockquote>
#
# **Beyond Theorem 3.4 (Descent on W with ReLU attention)** *Section 3.2; Appendix A.1*
#
# Take the instance of Theorem 3.4 with any number $m$ of outputs and ReLU attention, where the derivative of ReLU at 0
# is set to 1. Then descent from $W_0=0$, plain or normalised, has the same limit: $W_t$ tends to the direction of
# $(E(q)+\tilde E(\square))(\sum_iE(y_i)+m\tilde E(q))^\top$, with cosine $1/\sqrt{2(1+1/m)}$. From the second step on,
# $W_t-W_1$ points exactly in this direction. With derivative 0 at 0, as in common software, $W_t$ stays 0 forever under
# plain descent, and a normalised step is not defined.
#
# </blockquote>
# <!-- /claim -->
#
# After one step, ReLU sets the score of every position except that of $y$ to zero. From then on, only $y$ has a nonzero
# logit, as the paper's proof assumes.
#
# <details><summary>Proof of Beyond Theorem 3.4, ReLU attention</summary>
#
# Let $w=W^\top x_H$, so that scores are $\langle w,x_h\rangle$. With slope 1 at 0 the first step is that of linear
# attention, along $\sum_np_n\big(x_y-\frac1N\sum_hx_h\big)$, where $n$ numbers the sentences and $x_y$ is the input at
# the position of $y$. Its coefficient is $\frac1m(1-\frac1N)$ at each $E(y_i)$, $1-\frac1N$ at $\tilde E(q)$, below 0
# at every other $E(j)$ whose word occurs, and at most 0 at every other $\tilde E(j)$. The word after $q$ is $y$, so
# that every position other than that of $y$ has a score below 0, and that of $y$ one above 0.
#
# From then on only the position of $y$ has a slope other than 0. The gradient is $-\sum_np_n(1-p_y)\,x_y$, where
# $p_y=1/(1+(N-1)e^{-s})$ with the score $s$ of $y$, which is the same in all sentences, since it is so after the first
# step and the gradient treats the outputs alike. Hence each step is along $\frac1m\sum_iE(y_i)+\tilde E(q)$, which
# leaves all negative scores as they are, and $s$ rises. Plain steps have length $\eta(1-p_y)$ up to a factor, and
# normalised ones $\eta$, so $s\to\infty$: if it were bounded, so would $1-p_y$ be from below. The direction of $w_t$
# tends to that of $\sum_iE(y_i)+m\tilde E(q)$. With slope 0 at 0 the gradient at $W=0$ is 0, so plain
# descent does not move, and a normalised step would divide 0 by 0. $\square$
#
# </details>

# %%
relu_cases = {**{name: case for name, case in cases.items() if name != "N = 4, H = 4"}, "3 outputs": instance(6, 6, 3)}
relu = {name: descend_relu(case, 0.1, 500) for name, case in relu_cases.items()}
m_of = {name: case.outputs for name, case in relu_cases.items()}
relu_off = {
    name: relu_cases[name].cosine_with_target(path[-1]).item() * math.sqrt(2 * (1 + 1 / m_of[name]))
    for name, path in relu.items()
}
straight = {
    name: 1 - cosine_similarity(path[-1] - path[1], relu_cases[name].claimed_direction, dim=0)
    for name, path in relu.items()
}
alive = {name: (relu_cases[name].inputs @ path[1] > 0).sum(dim=1).double().max() for name, path in relu.items()}
moved = {name: descend_relu(case, 0.1, 5, 0.0)[-1].norm() for name, case in relu_cases.items()}

# %%
claim = Claim("in-context-reasoning/relu-direction")
claim.equal("positions with a positive score after one step, most", alive, 1)
claim.equal("cosine at t = 500 over its limit", relu_off, 1, tolerance=1e-3)
claim.at_most("1 - cosine of W_T - W_1 with A, largest", straight, 1e-9, of="proof")
claim.control.above("slope 0 at 0: length of W after five steps", moved, 0)
claim.verdict()

# %% [markdown]
# ## Also on this page: are these solutions more complicated?
# <!-- claim in-context-reasoning/remark-3-5 -->
# <blockquote>
#
# **Remark 3.5 (What the limit says about the solutions)** *Section 3.2*
#
# **The paper states.** Theorem 3.4 can be easily extended to a high-probability statement if $W_0$ is randomly
# initialized from a Gaussian distribution. This result shows that the space of optimal solutions is much more
# complicated than that of the max-margin problems trained with logistic loss. Moreover, directional convergence cannot
# fully characterize the set of optimal solutions.
#
# **What is true.** From a Gaussian $W_0$, as from any other, the direction of $W_t$ has the same limit. The limit
# direction does not determine all solutions: the loss also tends to 0 along $W^*$. With linear attention and $V$ fixed,
# training $W$ without noise *is* a multi-class max-margin problem.
#
# **What changed.** The paper's second sentence does not follow: the logits are linear in $W$, descent tends to the
# hard-margin solution, and the loss tends to 0 along every direction in the open cone of positive margins. We study
# neither descent on $V$ and $W$ together nor ReLU attention from such starts.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The part of $W_0$ orthogonal to $x_H$ never changes, and the rest tends to the hard-margin
# direction. With $m$ outputs, the cosine is $1/\sqrt{2(1+1/m)}$.
#
# </blockquote>
# <!-- /claim -->
#
# Gaussian starts have the same limit, because the part of $W_0$ orthogonal to $x_H$ never changes. The paper concludes
# that the solutions are more complicated than those of a max-margin problem. With linear attention and $V$ fixed,
# however, this is a max-margin problem.
#
# <details><summary>Proof of Remark 3.5, as corrected</summary>
#
# *Every start.* Gradients are $x_Hg^\top$, so $(1-x_Hx_H^\top/2)W_t$ is constant, while $w_t=W_t^\top x_H$ descends
# from $w_0$ and its direction goes to that of $\hat w$, as proved above for every start. As $\|w_t\|\to\infty$, the
# direction of $W_t$ goes to that of $x_H\hat w^\top$. With $m$ outputs $\hat w\propto\sum_iE(y_i)+m\tilde E(q)$, by the
# same minimisation, and its cosine with $W^*$ is $m/\sqrt{2(m+m^2)}$.
#
# *A max-margin problem.* With linear attention and $V=I$ the logits of every sentence of Definition 2.1 are linear in
# $W$, and without noise the label is always $y$. With the $W$ of Lemma 3.1, all $\lambda_k=1$, the margin of $y$ is
# $C\ge1$. So training $W$ alone is a separable problem with logistic loss on finitely many sentences, whatever the
# instance; the proof of Theorem 3.4 applies to it, and descent goes to its hard-margin solution. Along a direction $D$
# the loss goes to 0 if and only if all margins of $D$ are positive, and these $D$ are an open convex cone. That is the
# space of optimal solutions of any separable problem, no more complicated. (What the paper proves is that the
# construction $W^*$ is not the hard-margin solution.) $\square$
#
# </details>
#
# We train all of $W$ in the transformer, from many starts and with two, three and five outputs.

# %%
case = cases["N = 5, H = 6"]
codes, x = 2 * case.tokens, case.last_input
seeds = streams(seed, 3)
gaussian = 0.1 * normal(starts, codes, codes, seed=seeds[0])
across = torch.eye(codes, dtype=torch.float64) - torch.outer(x, x) / 2
value, weights = torch.eye(case.tokens, codes, dtype=torch.float64), case.probability * len(case.probability)
matrix = gaussian[0].clone()
for _ in range(50):
    parts = Weights(value, matrix, torch.zeros_like(value))
    done = forward(case.sentences.tokens, parts, Architecture())
    loss = cross_entropy(done.logits, case.sentences.output)
    error = loss.error * loss.log_scale.exp() * weights[:, None]
    slope = Architecture().gradients(case.sentences.tokens, parts, done, error, layers=False).query_key
    matrix = matrix - rate * slope / slope.norm()
moved = (across @ (matrix - gaussian[0])).abs().max()
path = descend(case, rate, 50, True, start=x @ gaussian[0] / 2)[-1]
same = (matrix - across @ gaussian[0] - torch.outer(x, path)).abs().max()


# %%
def ends_of(which: Instance, matrices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The cosines of W_T with W* from full matrices W_0, and v_T, the part along x_H."""
    last = which.last_input
    begin = matrices.mT @ last / 2
    end = descend(which, rate, steps, True, start=begin)[-1]
    left_over = matrices - last[:, None] * begin[:, None]
    whole = left_over + last[:, None] * end[:, None]
    return whole[:, 0, which.tokens] / whole.flatten(1).norm(dim=1), end


cosines, ends = ends_of(case, gaussian)
begun = gaussian[:, 0, case.tokens] / gaussian.flatten(1).norm(dim=1)
wider = {m: instance(m + 3, 6, m) for m in (3, 5)}
reached = {
    m: ends_of(which, 0.1 * normal(starts, 2 * which.tokens, 2 * which.tokens, seed=seeds[1] + m))[0]
    for m, which in wider.items()
}
to_margin = cosine_similarity(ends, hard_margin(case)[None], dim=1)

# %%
lookup = torch.zeros(codes, dtype=torch.float64)
lookup[case.tokens] = 1.0  # Ẽ(q)
logits, rows = case.features @ lookup, torch.arange(len(case.probability))
at_output = logits[rows, case.sentences.output]
logits[rows, case.sentences.output] = -math.inf

claim = Claim("in-context-reasoning/remark-3-5")
claim.at_most("W across x_H after 50 steps minus its start", moved, 1e-10)
claim.at_most("W in the transformer minus W_0 across + x_H v", same, 1e-10)
claim.equal("Gaussian starts: cosine at the end", estimate(cosines), limit, tolerance=2e-3)
claim.control.equal("the starts themselves", estimate(begun), limit, tolerance=2e-3)
for m, values in reached.items():
    claim.equal(f"{m} outputs: cosine at the end", estimate(values), 1 / math.sqrt(2 * (1 + 1 / m)), tolerance=2e-3)
    claim.control.equal(f"{m} outputs: cosine 2/√12", estimate(values), limit, tolerance=2e-3)
claim.above("W*: least margin of y over the other words", (at_output - logits.amax(dim=1)).min(), 0)
claim.at_least("cosine of what moved with the hard margin, least", to_margin.min(), 1 - 1e-3)
claim.printed.at_least("its distance from 1 is at least 0.01", estimate(1 - to_margin), 0.01)
claim.certified("2, 3 and 5 outputs: cosine, and W* separates, exactly", certify_more_outputs((2, 3, 5)))
claim.verdict()

# %% [markdown]
# ## What to remember
# - Descent on $W$ tends to the shortest solution, which also puts weight on the output words themselves.
# - The limit is the same for every rate and every start, but plain descent approaches it slowly.
# - With linear attention, training $W$ alone is a max-margin problem.
#
# ## Exercises
#
# 1. *By hand.* With three outputs, which $b$ and $d$ give the shortest solution, and what is its cosine with $W^*$?
#    <details><summary>Solution</summary>
#
#    We minimise $3b^2+d^2$ on $b+d=1$: $b=\frac14$, $d=\frac34$. The length is $\sqrt{3/16+9/16}=\sqrt{3/4}$, and the
#    cosine is $\frac34/\sqrt{3/4}\approx0.87$ for $w$. For $W$ it is $1/\sqrt2$ times this, 0.61, because $x_H$ is the
#    sum of two codes.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 1.0`. Does the limit of normalised descent move?
#    <details><summary>Solution</summary>
#
#    No. Normalised descent only gets there in about a tenth of the steps.
#
#    </details>
#
# Next: [label noise](noisy_direction.ipynb). We can also compute the limit there.

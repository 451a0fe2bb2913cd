# %% [markdown]
# # Theorem 3.2 · Equal triggers share the step equally
# *Nguyen, Nguyen-Tang: Eq. (5) and Theorem 3.2, Section 3.2; Appendix A.2.*
#
# A model has one look-up per trigger, and training strengthens all of them at once, by steps that have the same length
# however flat the loss is. How fast does the loss fall? The theorem's path differs from that in its own proof, and its
# rate lacks the learning rate.

# %%
import math

import torch

from attention_theory.in_context_reasoning.balance import balanced_exponent
from attention_theory.in_context_reasoning.certified.noiseless import certify_rate, certify_step
from attention_theory.in_context_reasoning.closed_form import noiseless_loss, noiseless_slope
from attention_theory.in_context_reasoning.descent import descend_noiseless
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 2.6)
upper = schematic.tokens(axis, ["red", "door", "seven", "lamp", "door"], at=(3.2, 3.0), lit=[2])
lower = schematic.tokens(axis, ["blue", "key", "gold", "tree", "key"], at=(3.2, 0.6), lit=[2])
schematic.arrow(axis, upper[4], upper[2], "λ₁", bend=-0.4)
schematic.arrow(axis, lower[4], lower[2], "λ₂", bend=-0.4)
show.figure(
    fig,
    name="look-ups",
    caption="Two triggers, door and key, and the scales of their look-ups.",
    alt="Two rows of five boxes. In the upper one an arrow leads from the last door to seven, after the first "
    "door, with the scale lambda one. In the lower one an arrow leads from the last key to gold, after the "
    "first key, with lambda two.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see an arrow from each final trigger to the word after its
# earlier occurrence. The *scale* of the look-up, $\lambda_1$ or $\lambda_2$, is the logit of this word. Suppose that
# four such triggers share a training step of length 1, and that the loss is equally steep in all scales. Then each
# scale grows by $\frac12$, since $\sqrt{4\cdot(\frac12)^2}=1$. If each grew by $\frac14$, the length would be only
# $\frac12$.

# %%
fig, axis = schematic.canvas(5.0, 1.9)
schematic.arrow(axis, (1.0, 0.5), (5.0, 0.5), colour=schematic.QUIET)
schematic.arrow(axis, (1.0, 0.5), (1.0, 3.5), colour=schematic.QUIET)
schematic.arrow(axis, (1.0, 0.5), (3.1, 2.6))
schematic.text(axis, (3.9, 2.9), "length η", schematic.BLUE)
schematic.arrow(axis, (1.0, 0.5), (3.1, 0.5), colour=schematic.VERMILION)
schematic.arrow(axis, (1.0, 0.5), (1.0, 2.6), colour=schematic.VERMILION)
schematic.text(axis, (2.1, 0.15), "η/√2", schematic.VERMILION, 9)
schematic.text(axis, (0.5, 1.6), "η/√2", schematic.VERMILION, 9)
schematic.text(axis, (5.5, 0.5), "λ₁")
schematic.text(axis, (1.4, 3.6), "λ₂")

# %%
show.figure(
    fig,
    name="share",
    caption="A step of length η along the diagonal of two scales adds η/√2 to each.",
    alt="Two axes with a diagonal arrow of length eta, and its two projections, each eta over root two.",
)

# %% [markdown]
# With two triggers, a step of length $\eta$ adds $\eta/\sqrt2$ to each scale. With $|\mathcal Q|$ triggers it adds
# $\eta/\sqrt{|\mathcal Q|}$. If the loss is steeper in one scale, the step turns towards it.

# %% tags=["parameters"]
tokens = 60  # N, at least 3
triggers = 5  # size of Q, at least 2
rate = 0.1  # eta, from 0.001 to 0.4
steps = 400  # t, at least 200

# %%
require(tokens=(tokens, 3, None), triggers=(triggers, 2, None), rate=(rate, 1e-3, 0.4), steps=(steps, 200, None))
others, root = tokens - 1, math.sqrt(triggers)
horizon = max(steps, math.ceil(20 * root / rate))  # at least to λ = 20, where the rate has settled
require(rate_times_steps=(rate * horizon, 0.0, 700.0))  # the loss itself must not underflow
times = torch.arange(horizon + 1, dtype=torch.float64)
late = 3 * horizon // 4


def losses(scales: torch.Tensor, laws: torch.Tensor) -> torch.Tensor:
    """The population loss at every time, for laws of C = 1, 2, ... after each trigger."""
    numbers = torch.arange(1, laws.shape[1] + 1, dtype=torch.float64)
    return (laws * noiseless_loss(scales[..., None], numbers, others)).sum(dim=-1).mean(dim=-1)


def late_slope(values: torch.Tensor) -> float:
    """The slope of the logarithm over the last quarter of the run."""
    return ((values[-1].log() - values[late].log()) / (horizon - late)).item()


# %% [markdown]
# ## The step, and the arithmetic it needs
# Let $\mathcal Q$ be the set of triggers, $\lambda_q$ the scale of trigger $q$, $N$ the number of words, and $C$ the
# number of times that the output follows the trigger in a sentence.
#
# <!-- claim in-context-reasoning/definition-ngd -->
# <blockquote>
#
# **Normalised gradient descent** *Section 3.2*
#
# **The paper states.** We initialize $\lambda_0=0$. $\lambda_{t+1}=\lambda_t-\eta\frac{\nabla_\lambda
# L}{\lVert\nabla_\lambda L\rVert_2}$ (5), i.e. the gradient vectors are normalized by their Euclidean norm.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The derivatives are $\partial L/\partial\lambda_q=-\tfrac1{|\mathcal Q|}\,\mathbb
# E\big[C(N-1)/(e^{C\lambda_q}+N-1)\big]$.
#
# </blockquote>
# <!-- /claim -->
#
# A normalised step has length $\eta$ however small the derivatives are, so they must be accurate at any size. Let $p_y$
# be the predicted probability of the output. Computed as $C(p_y-1)$, they are 0 once $p_y$ rounds to 1, at a gap of
# about $37+\ln(N-1)$ between the logits, and descent stops. Computed as $-Ce^{\ln(1-p_y)}$, they last until they
# underflow, at a gap of about $745+\ln(N-1)$. We normalise their logarithms, which are finite at any $\lambda$.

# %%
law = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)  # of C = 1, 2, 3
counts = torch.arange(1.0, 4.0, dtype=torch.float64)
same = law.expand(triggers, 3)
path = descend_noiseless(same, rate, horizon, others)
single = torch.tensor([[1.0]], dtype=torch.float64)
to_60 = math.ceil(60 / rate)  # steps that take λ to 60
ends = {kind: descend_noiseless(single, rate, to_60, others, kind)[-1].item() for kind in ("log-domain", "subtraction")}
far = descend_noiseless(single, 1.0, 1000, others)[-1].item()

point, step = torch.linspace(0, 12, 25, dtype=torch.float64)[:, None], 1e-5
central = (noiseless_loss(point + step, counts, others) - noiseless_loss(point - step, counts, others)) / (2 * step)

# %%
claim = Claim("in-context-reasoning/definition-ngd")
lengths = path.diff(dim=0).norm(dim=1)
claim.close("length of every step minus η, largest", lengths, rate, atol=1e-12)
slope_error = (noiseless_slope(point, counts, others) - central).abs().max()
claim.at_most("slope against central differences", slope_error, 1e-7)
claim.equal("logarithms of slopes: λ at the end over η t", ends["log-domain"] / (to_60 * rate), 1, tolerance=1e-11)
claim.equal("logarithms of slopes: λ after 1000 steps of length 1", far, 1000, tolerance=1e-9)
claim.control.equal(
    "slope by subtraction: λ at the end over η t", ends["subtraction"] / (to_60 * rate), 1, tolerance=1e-3
)
gap = ends["subtraction"] - math.log(others)
claim.at_least("gap of the logits at which subtraction stops, at least", gap, 36)
claim.at_most("and at most", gap, 40)
claim.certified("the slope, for all values; two triggers: the length of a step", certify_step())
claim.verdict()

# %% [markdown]
# ## The path and the rate
# <!-- claim in-context-reasoning/theorem-3-2 -->
# <blockquote>
#
# **Theorem 3.2 (The rate of normalised descent)** *Section 3.2; Appendix A.2*
#
# **The paper states.** Starting from $\lambda_{q,0}=0$ for all $q\in\mathcal Q$, the update rule (5) is equivalent to
# $\lambda_{q,t}=\frac{\eta t}{|\mathcal Q|}$ for all $t\ge1$. Moreover, $L(\lambda_t)=O(N\exp(-t))$.
#
# **What is true.** If $C$ has the same distribution after every trigger, $\lambda_{q,t}=\eta t/\sqrt{|\mathcal Q|}$ and
# $L(\lambda_t)\le(N-1)\,e^{-\eta t/\sqrt{|\mathcal Q|}}$. For other distributions, let $C_q$ be the smallest count
# after $q$ and $m=\big(\sum_qC_q^{-2}\big)^{-1/2}$. Then $-\frac1t\ln L(\lambda_t)\to\eta m$ if $|\mathcal Q|=1$ or
# $\eta m\le2$.
#
# **What changed.** The triggers share a step of length $\eta$, so each scale grows by $\eta/\sqrt{|\mathcal Q|}$, which
# is also the exponent per step. With unequal distributions, the scales differ.
#
# <details><summary>Slips (3)</summary>
#
# - The stated path has $|\mathcal Q|$ where the proof has its square root.
# - The last line of the proof has $e^{-t}$ instead of $e^{-\lambda_{q,t}}$.
# - The proof has $\mathbb E\big[\tfrac{e^\lambda}{e^\lambda+|\mathcal O|-1}-1\big]$ for the derivative in $\lambda_q$,
#   which is $\tfrac1{|\mathcal Q|}\mathbb E\big[C\big(\tfrac{e^{C\lambda}}{e^{C\lambda}+N-1}-1\big)\big]$. Eq. (11)
#   leaves out only the factor $1/|\mathcal Q|$, which cancels in the normalised step.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Theorem 3.2, as corrected</summary>
#
# Let $\ell(z)=\ln(1+(N-1)e^{-z})$ and $w(z)=-\ell'(z)=1-e^{-\ell(z)}$, which is positive and falls in $z$. The loss is
# $L=\frac1{|\mathcal Q|}\sum_q\mathbb E_q\,\ell(C\lambda_q)$, and $s_q=-\partial L/\partial\lambda_q=\frac1{|\mathcal
# Q|}\mathbb E_q[C\,w(C\lambda_q)]>0$.
#
# *Equal distributions.* If the $\lambda_q$ are equal, so are the $s_q$, and the unit step is
# $(1,\dots,1)/\sqrt{|\mathcal Q|}$, after which the $\lambda_q$ are equal again. From 0 on, $\lambda_{q,t}=\eta
# t/\sqrt{|\mathcal Q|}$. As $C\ge1$ and $\ln(1+x)\le x$, the loss is at most $(N-1)e^{-\lambda}$. If $C=1$ has the
# probability $p>0$, the loss is also at least $p\,\ell(\lambda)$, of the same order, so that the exponent
# $\eta/\sqrt{|\mathcal Q|}$ is exact and $e^{-t}$ is too small for every $\eta<\sqrt{|\mathcal Q|}$.
#
# *Other distributions, not faster.* Steps have length $\eta$, so $\|\lambda_t\|\le\eta t$. If $C_q\lambda_q\ge\mu$ for
# all $q$, then $\|\lambda\|\ge\mu\,(\sum_qC_q^{-2})^{1/2}=\mu/m$. So there is a $q$ with $C_q\lambda_{q,t}\le\eta mt$,
# and with the least probability $p$ of a least count, $L(\lambda_t)\ge\frac p{|\mathcal Q|}\,\ell(\eta mt)$.
#
# *Other distributions, not slower if $|\mathcal Q|=1$ or $\eta m\le2$.* One trigger has $\lambda_t=\eta t$. For more,
# this is proved [on the next page](many_triggers.ipynb), where the scales are shown to come into balance, for any
# number of triggers. $\square$
#
# </details>
#
# ## See it run
# We train with equal distributions, and with three triggers whose smallest counts are 1, 2 and 3.

# %%
expected = rate * times / root
loss = losses(path, same)
bound = others * torch.exp(-expected)
unequal = torch.tensor([[0.5, 0.5, 0, 0], [0, 0.3, 0, 0.7], [0, 0, 1, 0]], dtype=torch.float64)
apart = descend_noiseless(unequal, rate, horizon, others)
loss_apart = losses(apart, unequal)

eta_m = balanced_exponent([1, 2, 3], rate)
floor = 0.3 / 3 * torch.log1p(others * torch.exp(-eta_m * times))
ratio = late_slope(loss_apart) / -eta_m

# %%
fig, (left, right) = show.axes(1, 2)
left.plot(times, path[:, 0], label="equal")
left.plot(times, rate * times / triggers, "--", label="paper: η t/|Q|")
for walk, name in zip(apart.T, ("C = 1, 2", "C = 2, 4", "C = 3"), strict=True):
    left.plot(times, walk, label=name)
left.set(xlabel="step t", ylabel="λ")
right.semilogy(times, loss, label="equal")
right.semilogy(times, bound, ":", label="(N-1) exp(-η t/√|Q|)")
right.semilogy(times, loss_apart, label="unequal")
right.semilogy(times, tokens * torch.exp(-times), "--", label="paper: N exp(-t)")
right.set(xlabel="step t", ylabel="population loss", ylim=(1e-16, 100))
_ = left.legend(), right.legend()
show.figure(
    fig,
    name="path",
    caption="Left: with equal distributions every λ follows η t/√|Q|, not the paper's η t/|Q|; with unequal ones the "
    "scales differ. Right: straight losses, far above the paper's rate exp(-t).",
    alt="Left, rising lines: the path for equal distributions above the paper's, and three lines of other slopes. "
    "Right, straight falling losses on a logarithmic axis, with the paper's rate dropping out of the picture at once.",
)

# %% [markdown]
# On the left, the line of equal triggers is above the paper's, and unequal triggers have lines of different slopes
# (`C = 1, 2` is the trigger with the counts 1 and 2). On the right, both losses become straight lines, and the
# paper's rate leaves the picture at once.
#
# ## How we checked
# We compare the path, the rate and the bound with runs and test two lines of the paper's proof: the last line, and the
# derivative in its induction, with four output words. An automatic prover confirms the step and the bound for equal
# distributions.

# %%
line = torch.log1p(others * torch.exp(-expected))
last_line = torch.log1p(others * torch.exp(-times))
in_induction = torch.sigmoid(point - math.log(4 - 1)) - 1
eq_11 = counts * (torch.sigmoid(counts * point - math.log(others)) - 1)
derivative_off = {"printed": (in_induction - central)[:, 1].abs().max(), "Eq. (11)": (eq_11 - central).abs().max()}
path_off = (path.T - expected).abs().max() / horizon
printed_off = abs(path[200, 0] - rate * 200 / triggers)
apart_off = (apart[200] - rate * 200 / 3**0.5).abs().max()

# %%
claim = Claim("in-context-reasoning/theorem-3-2")
claim.at_most("λ minus η t / √|Q|, largest, over the steps", path_off, 2.5e-15)
claim.equal("late slope of ln L over -η/√|Q|", late_slope(loss) / (-rate / root), 1, tolerance=2e-4)
claim.equal("times at which L is above (N-1) exp(-η t/√|Q|)", (loss > bound * (1 + 1e-12)).sum(), 0)
claim.misprint.at_most("λ at t = 200 minus η t / |Q|", printed_off, 1e-6)
claim.printed.at_most("ln of L over N exp(-t), at the end", (loss[-1] / tokens).log() + horizon, 0)
claim.control.at_most("three laws: λ minus η t / √3 at t = 200, largest", apart_off, 1e-6)
claim.at_most("three laws: lower bound over the loss, largest", (floor / loss_apart).max(), 1 + 1e-12)
claim.equal("three laws: late exponent over η m", ratio, 1, tolerance=1e-3)
claim.at_most("L over ln(1 + (N-1) exp(-η t/√|Q|)), largest", (loss / line).max(), 1 + 1e-12, of="proof")
claim.printed.at_most("L over ln(1 + (N-1) exp(-t)), at t = 50", loss[50] / last_line[50], tokens, of="proof")
claim.misprint.at_most("derivative in the induction, C = 2, off by", derivative_off["printed"], 1e-7, of="proof")
claim.at_most("derivative of Eq. (11), one trigger, off by", derivative_off["Eq. (11)"], 1e-7, of="proof")
claim.certified("equal laws, up to six triggers: step and bound, for all values", certify_rate(6))
claim.verdict()

# %% [markdown]
# ## What to remember
# - A normalised step has a fixed length for all scales together, so each of $|\mathcal Q|$ equal triggers gets
#   $\eta/\sqrt{|\mathcal Q|}$.
# - The loss falls like $e^{-\eta t/\sqrt{|\mathcal Q|}}$, and not like $e^{-t}$.
# - With unequal triggers the scales differ, and the loss still falls at a linear rate.
#
# ## Exercises
#
# 1. *By hand.* There are 25 triggers, $\eta=0.1$ and $N=60$. How many steps does it take until the bound on the loss is
#    below $0.01$?
#    <details><summary>Solution</summary>
#
#    Each scale grows by $0.1/5=0.02$ per step. We need $59\,e^{-0.02t}\le0.01$, so $t\ge50\ln5900\approx434.1$, which
#    takes 435 steps.
#
#    </details>
# 2. *Predict, then run.* Set `triggers = 20`. In the left panel, how do the line for equal distributions and the
#    paper's line change?
#    <details><summary>Solution</summary>
#
#    The first has half of its former slope, since $\sqrt{20}=2\sqrt5$, and the paper's a quarter.
#
#    </details>
#
# Next: [any number of triggers](many_triggers.ipynb), because most triggers are not equal.

# %% [markdown]
# # Theorem 3.2 · Normalised descent: how fast
# *Nguyen, Nguyen-Tang: Eq. (5) and Theorem 3.2, Section 3.2; Appendix A.2.*
#
# <!-- claim in-context-reasoning/definition-ngd -->
# <blockquote>
#
# **Normalised gradient descent** *Section 3.2*
#
# $\lambda_{t+1}=\lambda_t-\eta\,\nabla L/\lVert\nabla L\rVert_2$ from $\lambda_0=0$, where $\partial
# L/\partial\lambda_q=-\tfrac1{|\mathcal Q|}\,\mathbb E\big[C(N-1)/(e^{C\lambda_q}+N-1)\big]$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/theorem-3-2 -->
# <blockquote>
#
# **Theorem 3.2 (The rate of normalised descent)** *Section 3.2; Appendix A.2*
#
# **As printed.** $\lambda_{q,t}=\eta t/|\mathcal Q|$, where the proof has the root, and $L(\lambda_t)=O(N e^{-t})$, for
# any law of the sentences. The proof has $\mathbb E\big[\tfrac{e^\lambda}{e^\lambda+|\mathcal O|-1}-1\big]$ for the
# derivative in $\lambda_q$, and Eq. (11) leaves out the factor $1/|\mathcal Q|$, which normalisation drops. Its last
# line puts $e^{-t}$ for $e^{-\lambda_{q,t}}$.
#
# **Corrected.** If $C$ has the same law after every trigger, normalised descent from 0 gives $\lambda_{q,t}=\eta
# t/\sqrt{|\mathcal Q|}$ for all $q$ and $t$, and $L(\lambda_t)\le(N-1)\,e^{-\eta t/\sqrt{|\mathcal Q|}}$.
#
# $\lambda_{q,t}=\eta t/\sqrt{|\mathcal Q|}$ (the proof has it) and $L(\lambda_t)=O(N e^{-\eta t/\sqrt{|\mathcal Q|}})$,
# under equal laws of $C$. With unequal laws the scales differ and the exponent is $\eta/\sqrt{\sum_qC_{q,\min}^{-2}}$,
# for small $\eta$. The derivative is $\tfrac1{|\mathcal Q|}\mathbb
# E\big[C\big(\tfrac{e^{C\lambda}}{e^{C\lambda}+N-1}-1\big)\big]$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/remark-distribution-agnostic -->
# <blockquote>
#
# **Section 3-4 remark (Descent without knowing the sentences' law)** *Sections 3.2 and 4.2*
#
# **As printed.** The update can be carried out without knowledge of the sentences' law.
#
# **Corrected.** With one trigger, normalised descent gives $\lambda_t=\eta t$ whatever the law of the sentences. With
# two, of counts $C_1$ and $C_2$, the loss falls with exponent $\eta/\sqrt{C_1^{-2}+C_2^{-2}}$ as long as
# $\eta\,C_1C_2/\sqrt{C_1^2+C_2^2}<2$; beyond, steps alternate and the exponent is smaller.
#
# True of the path for one trigger, or for equal laws of $C$; otherwise the path and the exponent depend on the laws,
# and on how $\eta$ compares with the counts.
#
# </blockquote>
# <!-- /claim -->
#
# The slope of the loss in every $\lambda_q$ is negative, and normalisation throws its size away. If $C$ has the same
# law for every trigger, all $|\mathcal Q|$ slopes are equal, so each coordinate of the unit step is
# $1/\sqrt{|\mathcal Q|}$: $\lambda_{q,t}=\eta t/\sqrt{|\mathcal Q|}$, and the loss falls like $e^{-\eta
# t/\sqrt{|\mathcal Q|}}$. The theorem prints $\eta t/|\mathcal Q|$ and $e^{-t}$; its own proof has the square root.

# %%
import math

import torch

from attention_theory.in_context_reasoning.closed_form import noiseless_loss, noiseless_slope
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noiseless
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # N, at least 3
triggers = 5  # size of Q, at least 2
rate = 0.1  # eta, from 0.001 to 1
steps = 400  # t, at least 200

# %%
require(tokens=(tokens, 3, None), triggers=(triggers, 2, None), rate=(rate, 1e-3, 1.0), steps=(steps, 200, None))
steps = max(steps, math.ceil(20 * math.sqrt(triggers) / rate))  # at least to λ = 20, where the rate has settled
require(scale_at_the_end=(rate * steps / math.sqrt(triggers), 0.0, 700.0))  # the loss itself must not underflow
others = tokens - 1
law = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)  # of C = 1, 2, 3
counts = torch.arange(1.0, 4.0, dtype=torch.float64)
times = torch.arange(steps + 1, dtype=torch.float64)


def losses(scales: torch.Tensor, laws: torch.Tensor) -> torch.Tensor:
    """The population loss at every time."""
    numbers = torch.arange(1, laws.shape[1] + 1, dtype=torch.float64)
    return (laws * noiseless_loss(scales[..., None], numbers, others)).sum(dim=-1).mean(dim=-1)


# %% [markdown]
# ## The step, and the arithmetic it needs
# A normalised step has length $\eta$ however small the slope is, so the slope must be right however small it is.
# Computed as $C(p_y-1)$ it becomes exactly 0 once $p_y$ rounds to 1, at a gap of about 37 between the logits, and
# descent stops. Written as $-Ce^{\ln(1-p_y)}$ it lasts until it underflows, at a gap of 745. We normalise the
# logarithms of the slopes, and those are finite at any $\lambda$.

# %%
same = law.expand(triggers, 3)
path = descend_noiseless(same, rate, steps, others)
lengths = path.diff(dim=0).norm(dim=1)
single = torch.tensor([[1.0]], dtype=torch.float64)
to_60 = math.ceil(60 / rate)  # steps that take λ to 60
naive = descend_noiseless(single, rate, to_60, others, "subtraction")[-1].item()
exact = descend_noiseless(single, rate, to_60, others)[-1].item()
far = descend_noiseless(single, 1.0, 1000, others)[-1].item()

point = torch.linspace(0, 12, 25, dtype=torch.float64)[:, None]
step = 1e-5
central = (noiseless_loss(point + step, counts, others) - noiseless_loss(point - step, counts, others)) / (2 * step)

claim = Claim("in-context-reasoning/definition-ngd")
claim.check("length of every step minus η, largest", (lengths - rate).abs().max(), "<=", 1e-12)
claim.check(
    "slope against central differences", (noiseless_slope(point, counts, others) - central).abs().max(), "<=", 1e-7
)
claim.check("logarithms of slopes: λ at the end over η t", exact / (to_60 * rate), "==", 1, 1e-11)
claim.check("logarithms of slopes: λ after 1000 steps of length 1", far, "==", 1000, 1e-9)
claim.control("slope by subtraction: λ at the end over η t", naive / (to_60 * rate), "==", 1, 1e-3)
gap = naive - math.log(others)
claim.check("gap of the logits at which subtraction stops, at least", gap, ">=", 36)
claim.check("and at most", gap, "<=", 40)
claim.verdict()

# %% [markdown]
# ## The path and the rate

# %%
expected = rate * times / math.sqrt(triggers)
loss = losses(path, same)
bound = others * torch.exp(-expected)
late = slice(3 * steps // 4, steps)
slope = (loss[steps].log() - loss[late.start].log()).item() / (steps - late.start)
gap_200 = abs(path[200, 0].item() - rate * 200 / triggers)

claim = Claim("in-context-reasoning/theorem-3-2")
claim.check(
    "λ minus η t / √|Q|, largest, over the steps", (path - expected[:, None]).abs().max() / steps, "<=", 2.5e-15
)
claim.check("late slope of ln L over -η/√|Q|", slope / (-rate / math.sqrt(triggers)), "==", 1, 2e-4)
claim.check("times at which L is above (N-1) exp(-η t/√|Q|)", (loss > bound * (1 + 1e-12)).sum(), "==", 0)
claim.misprint("λ at t = 200 minus η t / |Q|, as printed", gap_200, "<=", 1e-6)
claim.printed("ln of L over N exp(-t), as printed, at the end", (loss[-1] / tokens).log().item() + steps, "<=", 0)

# %% [markdown]
# The proof has the path right and loses it in the last line, where $\ln(1+(N-1)e^{-t})$ takes the place of
# $\ln(1+(N-1)e^{-\eta t/\sqrt{|\mathcal Q|}})$. Its induction needs equal laws, and the derivative that it prints there
# lacks $C$ and has $|\mathcal O|$ for $N$. Eq. (11) has both right, up to the factor $1/|\mathcal Q|$, which
# normalisation drops.

# %%
line = torch.log1p(others * torch.exp(-expected))
claim.check("L over ln(1 + (N-1) exp(-η t/√|Q|)), largest", (loss / line).max(), "<=", 1 + 1e-12, of="proof")
last_line = torch.log1p(others * torch.exp(-times))
claim.printed("L over ln(1 + (N-1) exp(-t)), at t = 50", loss[50] / last_line[50], "<=", tokens, of="proof")
outputs = 4
in_induction = torch.sigmoid(point - math.log(outputs - 1)) - 1
claim.misprint(
    "derivative in the induction, C = 2, off by", (in_induction - central)[:, 1].abs().max(), "<=", 1e-7, of="proof"
)
eq_11 = counts * (torch.sigmoid(counts * point - math.log(others)) - 1)
claim.check("derivative of Eq. (11) for one trigger, off by", (eq_11 - central).abs().max(), "<=", 1e-7, of="proof")

# %% [markdown]
# ## Triggers that differ
# The induction in the proof takes the law of $C$ to be the same for every trigger; the data model does not. With $C=1$
# after one trigger and $C=5$ after another the scales part at once. The loss still falls geometrically: on the long
# run the two terms $e^{-C_q\lambda_q}$ stay in balance, so $\lambda_q\propto1/C_q$, and the step of length $\eta$
# gives the exponent $\eta/\sqrt{\sum_q C_{q,\min}^{-2}}$. The balance holds only if a step does not overshoot it. For
# two triggers that asks for $\eta\,C_1C_2/\sqrt{C_1^2+C_2^2}<2$; beyond, the steps alternate for ever, and the loss
# falls with a smaller exponent.

# %%
unequal = torch.zeros(2, 5, dtype=torch.float64)
unequal[0, 0] = unequal[1, 4] = 1.0
apart = descend_noiseless(unequal, rate, steps, others)
loss_apart = losses(apart, unequal)
exponent = (loss_apart[late.start].log() - loss_apart[steps].log()).item() / (steps - late.start)
balance = rate / math.sqrt(1 + 1 / 25)


def late_exponent(first: int, second: int, eta: float) -> float:
    """The exponent of the loss from t = 200 to 400 over that of the balance, two triggers with one count each.

    Taken from the logarithm of the loss's first term, (N-1) exp(-C λ), since the loss itself underflows.
    """
    laws = torch.zeros(2, second, dtype=torch.float64)
    laws[0, first - 1] = laws[1, second - 1] = 1.0
    walk = descend_noiseless(laws, eta, 400, others)
    log_loss = (-walk * torch.tensor([first, second])).logsumexp(dim=1)
    return (log_loss[200] - log_loss[400]).item() / 200 * math.hypot(1 / first, 1 / second) / eta


claim.control("C = 1 and C = 5: λ minus η t / √2, largest", (apart[200] - rate * 200 / 2**0.5).abs().max(), "<=", 1e-6)

fig, (left, right) = show.axes(1, 2)
left.plot(times, path[:, 0], label="equal laws, five triggers")
left.plot(times, rate * times / triggers, "--", label="printed: η t/|Q|")
left.plot(times, apart[:, 0], label="C = 1, of two triggers")
left.plot(times, apart[:, 1], label="C = 5, of two triggers")
left.set(xlabel="step t", ylabel="λ")
left.legend()
right.semilogy(times, loss, label="loss")
right.semilogy(times, bound, ":", label="(N-1) exp(-η t/√|Q|)")
right.semilogy(times, loss_apart, label="loss, C = 1 and 5")
right.semilogy(times, tokens * torch.exp(-times), "--", label="printed: N exp(-t)")
right.set(xlabel="step t", ylabel="population loss", ylim=(1e-16, 100))
right.legend()
show.figure(
    fig,
    name="path",
    caption="Left: with equal laws every λ walks along η t/√|Q|, not along the printed η t/|Q| (dashed); with unequal "
    "laws the scales part. Right: the loss is a straight line under its bound; the printed rate exp(-t) is far below "
    "it.",
    alt="Left, four rising curves, the path for equal laws above the dashed printed one, and two curves that part. "
    "Right, straight falling losses on a logarithmic axis, with the printed rate dropping out of the picture at once.",
)
claim.verdict()

# %% [markdown]
# ## What descent need not know
# The paper says that the update needs no knowledge of the sentences' law. For one trigger that is exact: the only unit
# step is $+\eta$, whatever the fillers and the counts are. For several triggers it is true of the linear rate, and
# not of the path.

# %%
claim = Claim("in-context-reasoning/remark-distribution-agnostic")
for name, fillers, copies in (
    ("neutral fillers, C = 1", "neutral", 1),
    ("outputs as fillers, C = 3", "outputs allowed", 3),
):
    task = Task(20, 1, 4, 24, noisy=True, fillers=fillers)
    sentences = sample_sentences(task, 200, 0, copies)
    labels = draw_labels(sentences, task, torch.tensor([0.3], dtype=torch.float64), 0)[0]
    fit = algorithm_1(sentences, labels, task, rate, 200)
    line = rate * torch.arange(201, dtype=torch.float64)
    claim.check(f"one trigger, {name}: λ minus η t, largest", (fit.scales - line).abs().max(), "<=", 1e-12)
claim.check("two triggers, C = 1 and 5: exponent of the loss over the balance's", exponent / balance, "==", 1, 1e-3)
for first, second, eta in ((30, 40, 0.05), (3, 5, 0.5)):  # 1.2 and 1.3, below 2
    name = f"two triggers, C = {first} and {second}, η = {eta}: exponent over the balance's"
    claim.check(name, late_exponent(first, second, eta), "==", 1, 1e-3)
overshot = late_exponent(30, 40, 0.1)  # 2.4
claim.control("two triggers, C = 30 and 40, η = 0.1: exponent over the balance's", overshot, "==", 1, 1e-3)
claim.printed("two triggers: λ equal at t = 200", (apart[200, 0] - apart[200, 1]).abs(), "<=", 1e-6)
claim.verdict()

# %% [markdown]
# # Theorem 3.4 · Where descent on the full matrix points
# *Nguyen, Nguyen-Tang: Theorem 3.4 and Remark 3.5, Section 3.2; Appendix A.4.*
#
# <!-- claim in-context-reasoning/theorem-3-4-data -->
# <blockquote>
#
# **Theorem 3.4 data distribution (The instance behind Theorem 3.4)** *Appendix A.4*
#
# One trigger $q$, two outputs $y_1,y_2$, a non-empty set of neutral words with one of them, $\square$, fixed. Draw $y$
# and $\zeta\in\{1,\dots,H-3\}$ uniformly, put $(q,y)$ at $\zeta,\zeta+1$, uniform neutral words at the other positions
# up to $H-2$, then $z_{H-1}=\square$ and $z_H=q$. It is a case of Definition 2.1 with $C=1$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/theorem-3-4 -->
# <blockquote>
#
# **Theorem 3.4 (Descent on W misses the construction)** *Section 3.2; Appendix A.4*
#
# On that instance, with $U,V$ of Lemma 3.1, linear attention and $W_0=0$, gradient descent on $W$ has
# $\lim_t\cos(W_t,E(q)\tilde E(q)^\top)=2/\sqrt{12}<1$. The limit direction is $A=(E(q)+\tilde
# E(\square))(E(y_1)+E(y_2)+2\tilde E(q))^\top$, the hard-margin solution of the task.
#
# **In the paper's proof.** The proof sets the logits of all words but $y$ to 0, finds $W_t=r_tA$ at every step, and has
# $x_\zeta$ for the input at $y$. In the text that we have, it writes $A$ with $E(y_1)$ twice, and the theorem begins
# "Under Theorem 2.2".
#
# **Corrected.** Neutral words have logits of their own, so $W_1$ is not along $A$. The limit is right all the same: the
# logits are linear in $W$, descent goes to the hard-margin direction, and that is $A$ with $E(y_1)+E(y_2)$. Plain
# descent nears it like $1/\ln t$. The input at $y$ is $x_{\zeta+1}$; it is Assumption 2.2.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/remark-3-5 -->
# <blockquote>
#
# **Remark 3.5 (A Gaussian start changes nothing)** *Section 3.2*
#
# From a Gaussian $W_0$ the direction of $W_t$ has the same limit: what lies across $x_H$ stays as it was, and the rest
# goes to the hard-margin direction. With $m$ outputs the cosine is $1/\sqrt{2(1+1/m)}$. The paper gives no proof. The
# direction of the limit does not tell all solutions: the loss goes to 0 along $W^*$ too.
#
# </blockquote>
# <!-- /claim -->
#
# Lemma 3.1 *builds* $W^*=E(q)\tilde E(q)^\top$. Would descent on all of $W$ find it? On this instance it does not: the
# direction of $W_t$ goes to $A/\lVert A\rVert$ with $A=(E(q)+\tilde E(\square))(E(y_1)+E(y_2)+2\tilde E(q))^\top$,
# whose cosine with $W^*$ is $2/\sqrt{12}$.
#
# The statement is true; the paper's proof is not. It takes the logits of all words but $y$ to be zero, and so finds
# $W_t$ along $A$ at *every* step. But neutral words occur, so their logits move, and $W_1$ already points elsewhere.
# The limit comes about in another way. With linear attention the logits are linear in $W$: this is a separable
# classification with logistic loss, descent goes towards its hard-margin solution, and *that* is $A$. It gets there as
# slowly as such things go, like $1/\ln t$. The theorem is about plain descent, which cannot be followed to its limit
# at that pace. Normalised descent goes to the same hard-margin direction, and stands in for it wherever a final cosine
# is given.
#
# Every sentence ends in $\square\,q$, so every gradient is $x_Hv^\top$ with one fixed $x_H$, and we may descend in
# $v$.

# %%
import math

import torch
from torch.nn.functional import cosine_similarity

from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.direction import (
    claimed_direction,
    cosine_with_target,
    descend,
    hard_margin,
    instance,
    last_input,
    reduced_descend,
)
from attention_theory.in_context_reasoning.model import Architecture, Weights, forward, gradients
from attention_theory.in_context_reasoning.task import Sentences, Task, violations
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
plain_steps = 5_000  # steps of plain descent, at least 1000
plain_rate = 0.5  # eta of plain descent, from 0.001 to 1
steps = 3_000  # steps of normalised descent, at least 1000
rate = 0.1  # eta of normalised descent, from 0.001 to 1
seeds = 4  # Gaussian starts, at least 2

# %%
require(
    plain_steps=(plain_steps, 1000, None),
    plain_rate=(plain_rate, 1e-3, 1.0),
    steps=(steps, 1000, None),
    rate=(rate, 1e-3, 1.0),
    seeds=(seeds, 2, None),
)
limit = 2 / math.sqrt(12)
sizes = [(4, 4), (4, 6), (5, 6), (8, 6)]  # (N, H)
cases = {size: instance(*size) for size in sizes}

# %% [markdown]
# ## The instance

# %%
claim = Claim("in-context-reasoning/theorem-3-4-data")
for (tokens, length), case in cases.items():
    task = Task(tokens, 1, 2, length)
    broken = torch.stack(list(violations(case.sentences, task).values())).any(dim=0)
    claim.check(f"N = {tokens}, H = {length}: sentences against Definition 2.1", broken.sum(), "==", 0)
    total = math.fsum(case.probability.tolist())
    claim.check(f"N = {tokens}, H = {length}: sum of probabilities", total, "==", 1, 1e-15)
claim.number("sentences at N = 4, H = 6", len(cases[4, 6].probability))
claim.number("sentences at N = 8, H = 6", len(cases[8, 6].probability))
late = cases[4, 6].sentences.tokens.clone()
late[:, -2], late[:, -1] = 0, cases[4, 6].sentences.output
shifted = Sentences(late, cases[4, 6].sentences.trigger, cases[4, 6].sentences.output)
refused = torch.stack(list(violations(shifted, Task(4, 1, 2, 6)).values())).any(dim=0)
claim.control("bigram at H - 1: sentences refused", refused.sum(), "==", 0)
claim.verdict()

# %% [markdown]
# ## Four descents
# Plain descent on the true loss; normalised descent, which makes the same way in far fewer steps; normalised descent
# with the slope computed by subtraction; and descent with the gradient of the printed proof.

# %%
plain = {size: cosine_with_target(case, descend(case, plain_rate, plain_steps)[1:]) for size, case in cases.items()}
fast = {size: cosine_with_target(case, descend(case, rate, steps, True)[1:]) for size, case in cases.items()}
naive = cosine_with_target(cases[4, 6], descend(cases[4, 6], rate, 1000, True, "subtraction")[1:])
printed = cosine_with_target(cases[4, 6], reduced_descend(cases[4, 6], plain_rate, 200)[1:])

claim = Claim("in-context-reasoning/theorem-3-4")
for size, case in cases.items():
    name = f"N = {size[0]}, H = {size[1]}"
    margin = hard_margin(case)
    along = cosine_similarity(margin, claimed_direction(case), dim=0)
    claim.check(f"{name}: cosine of the hard-margin solution with A", along, "==", 1, 1e-8, of="proof")
    claim.check(f"{name}: its cosine with W*", cosine_with_target(case, margin), "==", limit, 1e-8)
    claim.check(f"{name}: plain descent rises all the way", bool((plain[size][99::100].diff() > 0).all()), "==", True)
    claim.check(f"{name}: and stays below 2/√12", plain[size].max(), "<", limit)
    band = 2e-4 if size == (4, 6) else 5e-4
    claim.check(f"{name}: normalised descent at t = 1000", fast[size][999], "==", limit, band)
for size in sizes:
    claim.number(f"N = {size[0]}, H = {size[1]}: plain descent at the end", plain[size][-1])

# %% [markdown]
# What the proof says, and what cannot be told from naive arithmetic.

# %%
first = {size: descend(case, plain_rate, 1)[1] for size, case in cases.items()}
off = {size: cosine_similarity(first[size], claimed_direction(case), dim=0).item() for size, case in cases.items()}
own = (printed - limit).abs().max()
claim.check("the proof's own gradient: distance from 2/√12, largest", own, "<=", 1e-13, of="proof")
for size, value in off.items():
    name = f"N = {size[0]}, H = {size[1]}: cosine of W_1 with A (the proof: 1)"
    claim.printed(name, value, "==", 1, 1e-8, of="proof")
as_printed = claimed_direction(cases[4, 6])
as_printed[1], as_printed[2] = 2.0, 0.0  # E(y_1) + E(y_1), as Eq. (14) has it
norm = (math.sqrt(2) * as_printed.norm()).item()
claim.misprint("A with E(y_1) twice: its norm", norm, "==", math.sqrt(12), 1e-8, of="proof")
claim.control("slope by subtraction: normalised descent at t = 1000", naive[-1], "==", limit, 5e-4)
claim.number("slope by subtraction, t = 1000, a matter of round-off", naive[-1])

fig, axis = show.axes(height=3.6)
axis.axhline(limit, color="0.4", linewidth=1, label="2/√12")
axis.semilogx(torch.arange(1, plain_steps + 1), plain[4, 6], label="plain descent")
axis.semilogx(torch.arange(1, steps + 1), fast[4, 6], label="normalised descent")
axis.semilogx(torch.arange(1, 1001), naive, "--", label="normalised, slope by subtraction")
axis.semilogx(torch.arange(1, 201), printed, ":", label="gradient of the printed proof")
axis.set(xlabel="step t", ylabel="cosine with W*", ylim=(0.1, 0.65))
axis.legend()
show.figure(
    fig,
    name="cosine",
    caption="N = 4, H = 6. The proof's gradient sits on the limit from its first step; the true one starts far below "
    "and rises towards it, slowly under plain descent. Subtraction loses the direction once the slopes drown in "
    "round-off.",
    alt="Cosine against steps on a logarithmic axis: two curves rising to a horizontal line at 0.577, one lying on "
    "it, and one that rises and then falls to 0.15.",
)
claim.verdict()

# %% [markdown]
# ## From a Gaussian start
# The remark says that the theorem extends to a random $W_0$. The paper gives no proof. The reason above does:
# what lies across $x_H$ never moves, what lies along it is a start $v_0$, and a hard-margin direction forgets where it
# began. First we check with all of $W$, in the transformer itself, that the part across $x_H$ stays put.

# %%
case = cases[5, 6]
codes = 2 * case.tokens
draw = generator(0)
starts = [0.1 * torch.randn(codes, codes, generator=draw, dtype=torch.float64) for _ in range(seeds)]
x = last_input(case)
across = torch.eye(codes, dtype=torch.float64) - torch.outer(x, x) / 2
value = torch.eye(case.tokens, codes, dtype=torch.float64)

matrix = starts[0].clone()
weights = case.probability * len(case.probability)
for _ in range(50):
    parts = Weights(value, matrix, torch.zeros_like(value))
    done = forward(case.sentences.tokens, parts, Architecture())
    loss = cross_entropy(done.logits, case.sentences.output)
    error = loss.error * loss.log_scale.exp() * weights[:, None]
    slope = gradients(case.sentences.tokens, parts, Architecture(), done, error, layers=False).query_key
    matrix = matrix - rate * slope / slope.norm()
moved = (across @ (matrix - starts[0])).abs().max().item()
path = descend(case, rate, 50, True, start=x @ starts[0] / 2)[-1]
same = (matrix - across @ starts[0] - torch.outer(x, path)).abs().max().item()


def final_cosine(which, start: torch.Tensor) -> float:
    """The cosine of W_T with W* from a full matrix W_0, across x_H and along it."""
    across_part = start - torch.outer(last_input(which), last_input(which) @ start) / 2
    along = descend(which, rate, steps, True, start=last_input(which) @ start / 2)[-1]
    length = math.sqrt(across_part.square().sum() + 2 * along.square().sum())
    return ((across_part[0, which.tokens] + along[which.tokens]) / length).item()


claim = Claim("in-context-reasoning/remark-3-5")
claim.check("W across x_H after 50 steps minus its start", moved, "<=", 1e-10)
claim.check("W in the transformer minus W_0 across + x_H v", same, "<=", 1e-10)
for index, start in enumerate(starts):
    claim.check(f"start {index}: cosine at the end", final_cosine(case, start), "==", limit, 2e-3)
claim.control("the start itself", starts[0][0, case.tokens] / starts[0].norm(), "==", limit, 2e-3)
for outputs in (3, 5):
    wider = instance(outputs + 3, 6, outputs)
    start = 0.1 * torch.randn(2 * wider.tokens, 2 * wider.tokens, generator=generator(1), dtype=torch.float64)
    theirs = 1 / math.sqrt(2 * (1 + 1 / outputs))
    claim.check(f"{outputs} outputs: cosine towards 1/√(2(1 + 1/m))", final_cosine(wider, start), "==", theirs, 2e-3)
    claim.control(f"{outputs} outputs: cosine towards 2/√12", final_cosine(wider, start), "==", limit, 2e-3)

# %% [markdown]
# The remark goes on that the solutions of this problem are "much more complicated" than those of max-margin problems
# trained with logistic loss. On this instance they are those of such a problem: from a Gaussian start, too, what moves
# goes to the hard-margin direction. And it adds that directional convergence does not tell all optimal solutions. That
# is so, as it is in every separable problem: $W^*$ is another direction along which the loss goes to 0.

# %%
along = descend(case, rate, steps, True, start=x @ starts[0] / 2)[-1]
same_way = cosine_similarity(along, hard_margin(case), dim=0)
claim.check("cosine of what moved with the hard-margin solution", same_way, "==", 1, 1e-3)
lookup = torch.zeros(codes, dtype=torch.float64)
lookup[case.tokens] = 1.0  # Ẽ(q): W* up to what multiplies Ẽ(□), which is 0 in it
logits = case.features @ lookup
rows = torch.arange(len(logits))
at_output = logits[rows, case.sentences.output]
logits[rows, case.sentences.output] = -math.inf
claim.check("W*: least margin of y over the other words", (at_output - logits.amax(dim=1)).min(), ">", 0)
claim.verdict()

# %% [markdown]
# # Section 5 · What is trained, and from where
# *Nguyen, Nguyen-Tang: baselines of Section 5; Appendix D.1.*
#
# A ball at rest on top of a hill does not roll until somebody pushes it. Some models start at such a point, and
# training cannot move them, whatever they could learn. The paper compares thirteen models. Which of them can leave
# their starting points?

# %%
import math

import torch

from attention_theory.in_context_reasoning.batches import fresh_batches
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.model import forward
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, Stack, TrainingRun
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "lamp", "door"], at=(2.5, 0.5), lit=[2])
schematic.arrow(axis, tops[5], tops[2], "score w, vote v", bend=-0.4)
show.figure(
    fig,
    name="sentence",
    caption="The look-up of the task. Its logit is the product of two trained numbers.",
    alt="Six boxes: red, door, seven, green, lamp, door. An arrow leads from the last door back to seven, the "
    "word after the first door.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*, the word
# after the earlier *door*. A trained number $w$ is the score of this look-up, and another one, $v$, turns it into the
# logit $vw$ of *seven*. Near the start, the loss is $-vw$ up to constants, with the derivatives $-w$ in $v$ and $-v$ in
# $w$. At $v=w=0$ both are zero, and descent never leaves this point. From $v=w=0.01$, both numbers grow at every step.
# Origin-Linear-F starts at such a *saddle*.
#
# We train it without label noise, once from zero and twice from small random numbers.

# %% tags=["parameters"]
steps = 15  # training steps, at least 5
batch = 64  # sentences a step, at least 8
tokens = 30  # size of the vocabulary, at least 12
length = 32  # H, at least 8
rate = 0.1  # eta, from 0.001 to 1
noise = 0.5  # alpha, from 0.01 to 0.99
seed = 0  # at least 0

# %%
require(
    steps=(steps, 5, None),
    batch=(batch, 8, None),
    tokens=(tokens, 12, None),
    length=(length, 8, None),
    rate=(rate, 1e-3, 1.0),
    noise=(noise, 0.01, 0.99),
    seed=(seed, 0, None),
)
seeds = streams(seed, 3)
task = Task(tokens, 5, 4, length, noisy=True, fillers="outputs allowed")


# %%
def from_starts(size, steps):
    """The loss by step and start, the last from zero, as a share of the way of a model that knows no output."""
    quiet, draw = Task(30, length=32, fillers="outputs allowed"), generator(seeds[0])
    stack = Stack([TrainingRun(VARIANTS["Origin-Linear-F"], 0.0, 0.1)] * 3, quiet)
    for part in stack.weights.matrices:
        part[:2] += size * torch.randn(part[:2].shape, generator=draw, dtype=part.dtype)
    batches, losses = fresh_batches(quiet, [0.0], 64, seeds[1]), []
    for step in range(steps):
        sentences, labels = batches(step)
        done = forward(sentences.tokens, stack.weights, stack.architecture)
        found = cross_entropy(done.logits, labels.expand(3, -1))
        losses.append(found.losses.mean(dim=1) / math.log(4))
        stack.step(stack.architecture.gradients(sentences.tokens, stack.weights, done, found.error))
    return torch.stack(losses)


size = 0.01
shares = from_starts(size, 200)

# %%
fig, axis = show.axes(width=6.0, height=2.8)
for start, (label, line) in enumerate((("from small random numbers", "-"), (None, "-"), ("from zero", "--"))):
    axis.plot(shares[:, start], line, color=show.COLOURS[line == "--"], label=label)
axis.set(xlabel="step", ylabel="fraction of the gap left")
axis.legend()
show.figure(
    fig,
    name="starts",
    caption="Origin-Linear-F without label noise. From zero it stays on its saddle, where only F learns, namely how "
    "frequent words are. From small random numbers it reaches the loss 0.",
    alt="Three curves. Two fall fast to zero; the dashed one falls slowly and stays above one.",
)

# %% [markdown]
# From zero the curve stays above 1, the value for a model that does not know the answer. From small random numbers, the
# model learns the task.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/model-variants -->
# <blockquote>
#
# **Section 5 (The thirteen models)** *Section 5; Appendix D.1*
#
# **The paper states.** Origin refers to a model where the three trainable matrices $V$, $W$ and $F$ are trained without
# reparameterization, while Param indicates that they are re-parameterized as in Lemmas 3.1 and 4.1. The model whose
# name contains both Reparam and -W has $V$ and $F$ re-parameterized but $W$ is trained in full.
#
# <details><summary>Slips (2)</summary>
#
# - The paper uses "five random seeds from 0 to 5", which would be six. We use 0 to 4.
# - Learning rates are from $[0.01,0.5]$ in Section 5, and from 0.05 to 0.5 in Appendix D.1. The paper reports results
#   for 0.1 and 0.5, which are in both ranges.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper does not state the starting weights (except $\lambda_0=0$), the derivative of ReLU at
# 0, or whether each tensor's gradient is normalised separately. We start all models at zero and normalise each tensor's
# gradient separately. If ReLU has derivative 0 at 0, no ReLU model then moves $V$, $W$ or $\lambda$; a shift of
# $10^{-8}$ inside ReLU frees them. Origin-Linear-F stays on a saddle; started at small random numbers, it leaves the
# saddle and learns the noiseless task.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# In Origin-Linear-F, $V$ and $W$ act only through their product, as in the example. In the *FA* models, the
# feed-forward layer also reads what attention collected, so $W$ can act in a second way. In ReLU models, all scores are
# 0 at the start, and libraries give ReLU derivative 0 there. Then $V$, $W$ and $\lambda$ never move; a shift of
# $10^{-8}$ inside ReLU frees them.
#
# ## See it run
#
# We train every model for a few steps. A trained tensor moves by at most $\eta$ per step.


# %%
def after(name: str, relu_shift: float, data: int) -> tuple[Stack, dict[str, float]]:
    """A model after training, and how far each of its tensors moved."""
    stack = Stack([TrainingRun(VARIANTS[name], noise, rate)], task, relu_shift=relu_shift)
    begin = [part.clone() for part in stack.weights.matrices]
    batches = fresh_batches(task, [noise], batch, data)
    for step in range(steps):
        sentences, labels = batches(step)
        done = forward(sentences.tokens, stack.weights, stack.architecture)
        error = cross_entropy(done.logits, labels).error
        stack.step(stack.architecture.gradients(sentences.tokens, stack.weights, done, error, stack.trained == "all"))
    moved = zip("VWF", stack.weights.matrices, begin, strict=True)
    return stack, {part: (end - start).norm().item() for part, end, start in moved}


shifted = {name: after(name, 1e-8, seeds[0]) for name in TABLE_1}
plain = {name: after(name, 0.0, seeds[0])[1] for name in TABLE_1 if "ReLU" in name}
saddle = {f"batches {number}": after("Origin-Linear-F", 1e-8, data)[1] for number, data in enumerate(seeds)}

# %%
show.table(
    ["model", "trains", "V moved by", "W moved by", "F moved by"],
    [[name, stack.trained, *moved.values()] for name, (stack, moved) in shifted.items()],
    caption=f"How far each tensor is from its start after {steps} steps of length {rate}, with the shift in ReLU.",
)

# %% [markdown]
# Only each model's trained tensors have moved.
#
# ## How we checked
#
# Tensors that are not trained must not move at all. As controls, Origin-Linear-FA must leave its start, and ReLU models
# without the shift must not.

# %%
trained = {"all": "F", "query-key": "W", "scales": "W"}
frozen = [moved[part] for stack, moved in shifted.values() for part in "VF" if stack.trained != "all"]
least = {name: moved[trained[stack.trained]] for name, (stack, moved) in shifted.items()}
farthest = {name: max(moved.values()) for name, (stack, moved) in shifted.items() if stack.trained != "scales"}
stuck = {name: moved["V"] + moved["W"] for name, moved in plain.items()}
by_shift = {name: shifted[name][1]["W"] for name in plain}
free = shifted["Origin-Linear-FA"][1]
along = shifted["Reparam-Linear-FA"][0].scales
last = {f"start {start}": share for start, share in enumerate(shares[-10:].mean(dim=0).tolist())}
still = last.pop("start 2")

# %%
claim = Claim("in-context-reasoning/model-variants")
claim.equal("models in the table", len(TABLE_1), 13)
claim.equal("V and F of reparameterised models: largest move", max(frozen), 0)
claim.above("the trained tensor of every model: least move", least, 0)
claim.at_most("largest move of a tensor over η times the steps", max(farthest.values()) / (rate * steps), 1 + 1e-12)
claim.equal("Origin-Linear-F: move of V and W", {name: one["V"] + one["W"] for name, one in saddle.items()}, 0)
claim.control.equal("Origin-Linear-FA: move of V and W", free["V"] + free["W"], 0)
claim.at_most(f"Origin-Linear-F from random numbers of size {size}: share of the way left", last, 0.1)
claim.control.at_most("Origin-Linear-F from zero: the same", still, 0.1)
claim.above("ReLU with the shift: move of W", by_shift, 0)
claim.control.above("ReLU with slope 0 at 0 and no shift: move of V and W", stuck, 0)
claim.close("Reparam-Linear-FA: λ minus η t", along, rate * steps, atol=1e-12, of="proof")
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# A Reparam model's $W$ is $\lambda$ times $E(q)(\tilde E(q)-E(\tau))^\top$. This matrix has Frobenius norm $\sqrt2$, so
# $W$ moves by up to $\sqrt2$ times as much as $\lambda$. The size of the random start matters little as long as it is
# small, because every step has the same length.
#
# </details>
#
# ## What to remember
# - The models differ in what is trained, in the activation, and in what the feed-forward layer sees.
# - Origin-Linear-F fails the noiseless task of Table 1 because of its start, not because of what it can express.
#
# ## Exercises
#
# 1. *By hand.* Take the loss $-vw$ and plain descent with rate 0.1 from $v=w=0.01$. Where are $v$ and $w$ after two
#    steps?
#    <details><summary>Solution</summary>
#
#    Each step multiplies both by 1.1: $0.01\cdot1.1^2=0.0121$.
#
#    </details>
# 2. *Predict, then run.* Set `noise = 0.99`. Do other tensors move when nearly every label is noise?
#    <details><summary>Solution</summary>
#
#    No. The same tensors move, and the same ones stay at zero.
#
#    </details>
#
# Next: [Table 1](table_1_thirteen_models.ipynb). We now train these models to the end.

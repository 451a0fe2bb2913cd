# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1(a) · More heads
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 1 (a), Section 6.1.*
#
# A head of linear attention gives every token a score, by comparing it with the last one, and returns the sum of the
# tokens with the scores as weights, after a linear map; a layer with several heads adds up what the heads return. A
# *teacher* with one such head and random weights labels random sequences. *Students* with 1 to 16 heads learn from the
# labels by gradient descent. Every one of them could be the teacher, so the question is only which of them find it, and
# how soon.
#
# The paper's theory says why heads that are not needed may help. The output of a layer is linear in one matrix made of
# all its heads. With few heads the rank of this matrix is bounded, which makes it hard to fit; with $d^2$ heads, where
# $d$ is the number of features of a token, it can be any matrix, and to fit any matrix is linear regression, which
# Algorithm 1 of the paper solves outright. So the paper's answer is that more heads help: with $d^2$ heads training
# comes as low as Algorithm 1, near the precision of floating-point numbers.
#
# <!-- claim linear-attention/figure-1a -->
# <blockquote>
#
# **Figure 1(a) (More heads)** *Section 6.1*
#
# Students with 1 to 16 heads of linear attention learn from a teacher with one head. Reported: training "scales
# effectively with an increasing number of heads, resulting in improved performance", and for $d = 2$ and $4$ students
# with $d^2$ heads do best and are comparable to Algorithm 1, approaching the precision of floating-point numbers. The
# section names no length of training; it is judged after 100 passes, with Adam. That $d^2$ heads end below every
# smaller number comes out. That every number of heads improves on the last does not at $d = 4$, where two and four
# heads are not below one. With longer training it turns: after 300 passes 16 heads end above a single one at $d = 4$,
# and at $d = 2$ four heads do in nearly half of the runs. Of the four values of $d$ in Appendix D.1 two are run.
#
# </blockquote>
# <!-- /claim -->
#
# Training follows the paper as far as the paper goes: mini-batches of 32 sequences in an order shuffled anew for every
# pass, and the learning rates 0.01 and 0.001. Three things it does not say.
#
# - *The length of training.* The only number of epochs in the paper is the 100 of Appendix D.2, so errors are compared
#   after 100 passes, and shown for three times as many. No schedule is mentioned, so the rate stays constant.
# - *The start of the students.* It matters: all entries Gaussian of deviation $1/\sqrt d$, as the teacher's, is one
#   choice, a half and a quarter of it are others. The search takes the start along with the rate.
# - *The optimiser.* Section 6.1 says SGD, the text of Appendix D.1 Adam, its table AdamW. The last two differ by a
#   weight decay, of which no value is given. Adam is run, and beside it AdamW with the decay 0.01 that is usual.

# %%
from itertools import pairwise, product

import torch

from attention_theory.linear_attention.experiments.convergence import best_settings, final_errors, rounding_floor
from attention_theory.linear_attention.experiments.one_layer_students import (
    CoefficientErrors,
    run_heads,
    students_start,
    train_by_coefficients,
    train_literally,
)
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1
from attention_theory.linear_attention.learning.regression import learn
from attention_theory.linear_attention.model.mhla import Heads, mhla_every_token
from attention_theory.randomness import streams
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, show

# %% tags=["parameters"]
widths = [2, 4]  # d, each from 2 to 16; the first is the one with the controls
heads = [1, 2, 4, 8, 16]  # heads of the students, rising, each from 1 to 64
rates = [0.01, 0.001]  # learning rates of the search, each from 1e-6 to 1
starts = [1.0, 0.5, 0.25]  # starts of the search, in units of the teacher's deviation, each from 0.01 to 10
runs = 144  # runs of each kind of student, each with a teacher and data of its own, at least 3
longer_runs = 36  # those of them that train on, and again in float64 and with decay, from 3 to runs
searched = 24  # further runs, on which the rate and the start of each number of heads are chosen, at least 1
sequences = 512  # N, at least 10
tokens = 100  # T, at least 2
batch = 32  # sequences of a step, from 1 to sequences
passes = 100  # passes through the data after which students are compared, at least 10
long_passes = 300  # passes in all, at least passes
decay = 0.01  # weight decay of AdamW, from 0 to 1
seed = 0  # seed of the teachers, the data and the students, at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(
    widths=(Each(widths), 2, 16),
    heads=(Each(heads), 1, 64),
    rates=(Each(rates), 1e-6, 1.0),
    starts=(Each(starts), 0.01, 10.0),
)
require(runs=(runs, 3, None), longer_runs=(longer_runs, 3, runs), searched=(searched, 1, None))
require(sequences=(sequences, 10, None), tokens=(tokens, 2, None))
require(batch=(batch, 1, sequences), passes=(passes, 10, None), long_passes=(long_passes, passes, None))
require(numbers_of_heads=(len(heads), 2, None))
require(decay=(decay, 0.0, 1.0), seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))

# %% [markdown]
# ## A mini-batch costs small products
# The error of a student on a sequence depends on it through its coefficients $p$ alone, of which there are $\psi =
# d^2(d+1)/2$. On the sequences of a batch $B$ the mean squared error is
#
# $$L_B(\Theta) = (p - p^\star)\,\Lambda_B\,(p - p^\star)^\top, \qquad \Lambda_B = \frac1{|B|}\sum_{i \in B}\Lambda_i,$$
#
# with one $\psi \times \psi$ matrix $\Lambda_i$ for each sequence, made once. A step then costs the same for 16 heads
# as for one, and all students train in one stack.
#
# <details><summary>Proof</summary>
#
# At position $t$ of sequence $i$ the output is $\langle p(\Theta), h_{it} \rangle$, where $h_{it}$ are the features of
# the tokens up to $t$ (Eq. 45 of the paper), and the label is $\langle p^\star, h_{it} \rangle$ with the teacher's
# $p^\star$. So the squared error there is $(p - p^\star)\,h_{it} h_{it}^\top (p - p^\star)^\top$. Its mean over the $T$
# positions of the sequence is $(p - p^\star)\,\Lambda_i\,(p - p^\star)^\top$ with $\Lambda_i = \frac1T \sum_t h_{it}
# h_{it}^\top$, and the mean over the batch that with $\Lambda_B$. The two sides are the same function of $\Theta$, so
# their gradients are equal, and with them every step of Adam: by the chain rule through $p$, where the gradient is
# $2(p - p^\star)\Lambda_B$. $\square$
#
# </details>
#
# An ordinary loop, which computes every output of every batch, takes the same steps:

# %%
search_seed, runs_seed, trial_seed = streams(seed, 3)
size = {"sequences": sequences, "tokens": tokens, "batch": batch}
trial = RunData.draw(widths[0], 1, trial_seed, passes=10, **size)
student = students_start(widths[0], heads[:2], trial.seeds)
_, by_coefficients = train_by_coefficients(student, CoefficientErrors(trial.tasks), trial.batches, rates[0])

its_start = Heads(student.values[0, 1], student.queries[0, 1])
_, ordinary = train_literally(trial.tasks, its_start, trial.batches[:, 0], rates[0])
agreement = (by_coefficients[:, 0, 1] / ordinary - 1).abs().max().item()
print(f"errors of the batches over {len(ordinary)} steps, largest relative difference: {agreement:.1g}")

# %% [markdown]
# ## The search
# Every number of heads has a rate and a start of its own, chosen before the runs that are judged, on other teachers:
# the setting of least error, in the geometric mean. All errors are relative, over that of a student that always answers
# zero, since the labels of teachers differ by orders of magnitude. The error of a run is the median over its last ten
# passes, and nothing below the square of the machine precision counts.
#
# Settings that reach the floor of rounding count as equal; of these the larger rate, then the larger start, is taken.
#
# <details><summary>Where the floor of rounding lies</summary>
#
# Settings that arrive must not be told apart by rounding. An output is a sum over $H$ heads of products of two stored
# numbers, so that to first order it is off by up to $(H+2)u$ times the sum of their sizes, with float32's unit roundoff
# $u = 2^{-24}$; for random signs this sum is about $\sqrt H$ times the label. So in the search every error below
# $(\sqrt H\,(H+2)\,u)^2$ counts as this floor.
#
# </details>

# %%
settings = list(product(rates, starts))
called = {number: "1 head" if number == 1 else f"{number} heads" for number in heads}
FLOOR = torch.finfo(torch.float32).eps ** 2


taken = {}
for width in widths:
    tried = [(number, *setting) for number in heads for setting in settings]
    data = RunData.draw(width, searched, search_seed, passes=passes, **size).to(device)
    errors = final_errors(run_heads(data, tried).curves, FLOOR).unflatten(1, (len(heads), len(settings)))
    chosen = best_settings(errors, [rounding_floor(number) for number in heads])
    taken[width] = [(number, *settings[best]) for number, best in zip(heads, chosen, strict=True)]

# %% [markdown]
# What the search takes:

# %%
show.table(
    ["d", *called.values()],
    [[width, *[f"rate {rate:g}, start {start:g}" for _, rate, start in taken[width]]] for width in widths],
)

# %% [markdown]
# ## The runs
# An ordinary training loop computes in float32, and so do the students here; what float64 changes is run beside it.
# Algorithm 1 gets the same sequences, in the same arithmetic, and is measured as they are.

# %%
ADAM, LONGER = "Adam", f"Adam, {long_passes} passes"
DOUBLE, DECAYED = "Adam, float64", f"AdamW, decay {decay:g}"
curves = {}
algorithm_1 = {}


def regression(tasks, dtype):
    """The relative error of Algorithm 1 on each run: solved in an arithmetic, measured in float64."""
    errors = []
    for inputs, labels in zip(tasks.tokens, tasks.labels, strict=True):
        learned = learn(inputs.to(dtype), labels[..., None].to(dtype)).heads
        outputs = mhla_every_token(Heads(learned.values.double(), learned.queries.double()), inputs, is_causal=True)
        errors.append((outputs[..., 0] - labels).square().mean() / labels.square().mean())
    return torch.stack(errors)


# %% [markdown]
# The judgement needs many runs, and 100 passes of each. A part of them train on, to 300 passes at a constant rate, and
# are trained again with each of the two changes.

# %%
for width in widths:
    data = RunData.draw(width, runs, runs_seed, passes=long_passes, **size).to(device)
    part = data.first_runs(longer_runs)
    short = part.first_passes(passes)
    curves[width, ADAM] = run_heads(data.first_passes(passes), taken[width]).curves.cpu()
    curves[width, LONGER] = run_heads(part, taken[width]).curves.cpu()
    curves[width, DOUBLE] = run_heads(short, taken[width], torch.float64).curves.cpu()
    curves[width, DECAYED] = run_heads(short, taken[width], weight_decay=decay).curves.cpu()
    algorithm_1[width] = {torch.float32: regression(data.tasks, torch.float32).cpu()}
    algorithm_1[width][torch.float64] = regression(part.tasks, torch.float64).cpu()

# %% [markdown]
# At $d = 2$ more heads fall more steeply. At $d = 4$ the first to come down are eight and sixteen heads; two and four
# heads lie above a single one at the dotted line. The dashed line is Algorithm 1.

# %%
fig, axes = show.axes(1, len(widths), width=4.6 * len(widths), height=3.8, sharey=True, squeeze=False)
at, quarters = range(1, long_passes + 1), torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
for axis, width in zip(axes[0], widths, strict=True):
    for place, (number, colour, marker) in enumerate(zip(heads, show.COLOURS, show.MARKERS, strict=False)):
        low, middle, high = curves[width, LONGER][:, :, place].clamp(min=FLOOR).quantile(quarters, dim=1)
        axis.plot(at, middle, color=colour, marker=marker, markevery=long_passes // 8, label=called[number])
        axis.fill_between(at, low, high, color=colour, alpha=0.12, linewidth=0)
    axis.axhline(algorithm_1[width][torch.float32].median(), linestyle="--", color="grey", label="Algorithm 1")
    axis.axvline(passes, linestyle=":", color="grey")
    axis.set(yscale="log", title=f"d = {width}", xlabel="passes through the data")
axes[0][0].set_ylabel("relative mean squared error")
axes[0][-1].legend(fontsize=8)
show.figure(
    fig,
    name="heads",
    caption="Training error over that of always answering zero: median of the runs, with the middle half as a band. "
    "Students are compared at the dotted line.",
    alt="A panel for each width, a curve for each number of heads. For d = 2 more heads fall more steeply. For d = 4 "
    "those of 8 and 16 fall far and rise late; that of one ends lowest. Those of d squared cross the dashed line.",
)

# %% [markdown]
# After 100 passes, in numbers. Below Adam stand the two changes: float64 lets the students with many heads fall on, far
# below what float32 can hold; the decay of AdamW pulls every student away from the teacher, and they stop five to seven
# powers of ten below always answering zero.

# %%
EPS = dict.fromkeys((ADAM, LONGER, DECAYED), torch.finfo(torch.float32).eps) | {DOUBLE: torch.finfo(float).eps}
final = {place: final_errors(of, EPS[place[1]] ** 2) for place, of in curves.items()}
show.table(
    ["d", "", *called.values(), "Algorithm 1"],
    [
        [width, arm, *(10 ** final[width, arm].log10().mean(dim=0)), 10 ** algorithm_1[width][kind].log10().mean()]
        for width in widths
        for arm in (ADAM, DOUBLE, DECAYED, LONGER)
        for kind in [torch.float64 if arm == DOUBLE else torch.float32]
    ],
    caption=f"Relative error after {passes} passes unless more are named, geometric mean: of {runs} runs with Adam, "
    f"and of {longer_runs} in the other rows.",
)

# %% [markdown]
# ## More heads, lower error?
# Runs differ by many powers of ten, so that students are compared teacher by teacher: the logarithm of the ratio of two
# errors, its mean over the teachers, and a 99 % interval of that mean. Shown is each number of heads over the one
# before it. A whole bar below zero says that more heads did better.

# %%
fig, axes = show.axes(1, len(widths), width=4.6 * len(widths), height=3.4, sharey=True, squeeze=False)
for axis, width in zip(axes[0], widths, strict=True):
    for arm, shift, colour, marker in [(ADAM, -0.1, show.COLOURS[0], "o"), (DECAYED, 0.1, show.COLOURS[1], "s")]:
        steps = final[width, arm].log10().diff(dim=1)
        middle = steps.mean(dim=0)
        reach = torch.tensor([interval_of(one.tolist())[1] for one in steps.mT]) - middle
        axis.errorbar(
            torch.arange(len(middle)) + shift, middle, yerr=reach, fmt=marker, color=colour, capsize=3, label=arm
        )
    axis.axhline(0, color="grey", linewidth=1)
    axis.set_xticks(range(len(heads) - 1), [f"{one} to {two}" for one, two in pairwise(heads)])
    axis.set(xlabel="heads", ylabel="powers of ten", title=f"d = {width}")
axes[0][-1].legend(fontsize=8)
show.figure(
    fig,
    name="steps",
    caption="Powers of ten from one number of heads to the next at the dotted line above, with 99 % intervals.",
    alt="Points and error bars for each step from one number of heads to the next. For d = 2 the first two "
    "lie clearly below zero. For d = 4 the first two of Adam lie clearly above zero and the last two clearly below.",
)

# %% [markdown]
# So the fall is not one of every step. At $d = 4$ two heads end *above* one, and four above two, by whole bars: the
# fall comes with eight heads and sixteen. Under AdamW, whose students all stop far above the floor, there is little of
# it. More heads, up to $d^2$, are better in the sum of the steps and at its end, not all the way.
#
# It is also a matter of time. Below, students with $d^2$ heads are compared with a single head all along the training.
# Those with many heads soon run ahead. Given time, most single heads arrive too, and the lead shrinks. At $d = 4$ it
# turns long before the last pass, and by the end a single head lies far below sixteen: at a constant rate Adam does not
# rest at the floor. It divides by the size of past gradients, and where these are no more than rounding, its steps are
# as long as ever.

# %%
fig, axis = show.axes(width=7, height=3.2)
for width, colour in zip([one for one in widths if one**2 in heads], show.COLOURS, strict=False):
    both = curves[width, LONGER][:, :, [heads.index(width**2), 0]].nan_to_num(nan=1e12).clamp(FLOOR, 1e12)
    tens = both.unfold(0, 10, 10).quantile(0.5, dim=-1).log10()
    lead = tens[..., 0] - tens[..., 1]
    spans = torch.tensor([interval_of(one.tolist()) for one in lead])
    at = range(10, 10 * len(lead) + 1, 10)
    axis.plot(at, lead.mean(dim=1), color=colour, label=f"d = {width}")
    axis.fill_between(at, spans[:, 0], spans[:, 1], color=colour, alpha=0.2, linewidth=0)
axis.axhline(0, color="grey", linewidth=1)
axis.axvline(passes, linestyle=":", color="grey")
axis.set(xlabel="passes through the data", ylabel="powers of ten")
axis.legend()
show.figure(
    fig,
    name="lead",
    caption="$d^2$ heads over one head: powers of ten, mean over the teachers with its 99 % interval.",
    alt="A curve with a band for each width. Both fall far below zero within the first hundred passes and rise later.",
)

# %% [markdown]
# What heads buy is speed. Where students with $d^2$ heads are said to do best, it is after 100 passes.
#
# ## The mean over three runs
# The paper shows the mean over three runs and its standard error. Errors that differ by powers of ten have a mean that
# is the worst of them. Of the runs above, taken in threes, the means say this.

# %%
three = {}
for width in widths:
    groups = curves[width, ADAM][-1, : runs - runs % 3].unflatten(0, (-1, 3))
    three[width] = groups.nan_to_num(nan=1e12).mean(dim=1)
show.table(
    ["d", "", *called.values()],
    [
        [width, said, *of(three[width].sort(dim=0).values)]
        for width in widths
        for said, of in {
            "lowest": lambda x: x[0],
            "median": lambda x: x[len(x) // 2],
            "highest": lambda x: x[-1],
        }.items()
    ],
    caption=f"Means over three runs of the relative error of pass {passes}: the lowest, the median and the highest.",
)
falls = torch.cat([(of.diff(dim=1) < 0).all(dim=1) for of in three.values()])
print(f"means over three that fall with every number of heads: {falls.sum()} of {len(falls)}")

# %% [markdown]
# A figure of three runs shows a single head far above the many, by its worst run, and does not tell the order of those
# between.
#
# ## The judgement
# What is asked was fixed before these runs, after trial runs on other teachers. The error must fall with the number of
# heads, by the slope of its logarithm for every doubling; students with $d^2$ heads must end below those with fewer;
# their root mean square error must be at most 100 times that of Algorithm 1, and at most 100 times the machine
# precision. More heads than $d^2$ are shown and not judged: Appendix D.1 lists 8 and 16 heads, and does not say for
# which $d$ they were run. Nor is it judged that every step falls. Of the four $d$ that it lists two are run, so that
# the figure comes out in part at most. One head, and AdamW with its decay, must not come near the precision: these are
# the controls, at the first $d$.


# %%
def powers(errors, first, second):
    """Powers of ten by which one kind of student ends above another, run by run."""
    return (errors[:, heads.index(first)] / errors[:, heads.index(second)]).log10()


def digits(errors, number, arm):
    """The root mean square error, over that of the labels and over the machine precision, in powers of ten."""
    return errors[:, heads.index(number)].log10() / 2 - torch.tensor(EPS[arm]).log10()


# %% [markdown]
# First what must lie below zero, then what must be at most two powers of ten, then what is shown.

# %%
doublings = torch.tensor(heads, dtype=torch.float64).log2()
centred = doublings - doublings.mean()
lower, near, shown = {}, {}, {}
for width in widths:
    errors, later, square = final[width, ADAM], final[width, LONGER], width**2
    lower[f"d = {width}: powers of ten for every doubling of the heads"] = (
        errors.log10() @ centred / centred.square().sum()
    )
    for number in [one for one in heads if square in heads and one != square]:
        label = f"d = {width}: d² heads over {called[number]}, powers of ten"
        (lower if number < square else shown)[label] = powers(errors, square, number)
    if square in heads:
        over = errors[:, heads.index(square)] / algorithm_1[width][torch.float32]
        near[f"d = {width}: d² heads over Algorithm 1, root mean square, powers of ten"] = over.log10() / 2
        near[f"d = {width}: d² heads over the precision, powers of ten"] = digits(errors, square, ADAM)
        label = f"d = {width}, {long_passes} passes: d² heads over {called[heads[0]]}, powers of ten"
        shown[label] = powers(later, square, heads[0])
        best = curves[width, LONGER].nan_to_num(nan=1e12).amin(dim=0).clamp(min=FLOOR)
        shown[f"{label}, the best pass of each"] = powers(best, square, heads[0])

# %% [markdown]
# Shown too are the steps on the way to $d^2$ heads, and how often a single head is lower after the longer training.

# %%
for width in widths:
    for fewer, more in [pair for pair in pairwise(heads) if pair[1] < width**2]:
        label = f"d = {width}: {called[more]} over {called[fewer]}, powers of ten"
        shown[label] = powers(final[width, ADAM], more, fewer)
    if width**2 in heads:
        label = f"d = {width}, {long_passes} passes: d² heads above {called[heads[0]]}, share of runs"
        shown[label] = (powers(final[width, LONGER], width**2, heads[0]) > 0).double()

# %% [markdown]
# Every comparison is over the teachers, with its interval.

# %%
claim = Claim("linear-attention/figure-1a")
left_out = len(set(FIGURE_1["width"]) - set(widths))
claim.printed.equal("values of d in Appendix D.1 that are not run here", left_out, 0)
claim.at_most("a batch's error by coefficients and by an ordinary loop, relative difference", agreement, 1e-8)
for label, powers_of_ten in lower.items():
    claim.below(label, estimate(powers_of_ten), 0)
for label, powers_of_ten in near.items():
    claim.at_most(label, estimate(powers_of_ten), 2)
first, most = widths[0], min(widths[0] ** 2, heads[-1])
few = digits(final[first, ADAM], heads[0], ADAM)
claim.control.at_most(f"d = {first}: {called[heads[0]]} over the precision, powers of ten", estimate(few), 2)
if most in heads:
    pulled = digits(final[first, DECAYED], most, DECAYED)
    claim.control.at_most(f"d = {first}: AdamW, d² heads over the precision, powers of ten", estimate(pulled), 2)
for label, values in shown.items():
    claim.number(label, values.mean())
claim.verdict()

# %% [markdown]
# The number of runs was set after first runs.
#
# ## What was learned
# After 100 passes of an ordinary training loop on mini-batches, students with $d^2$ heads have found the teacher to
# within a digit of the precision of its arithmetic, as Algorithm 1 does, and fewer heads end above them. That is the
# figure, and it hangs on the length of training, which Section 6.1 does not name: a single head that is given time
# mostly gets there too, and stays there, while many heads are thrown off again. After 300 passes sixteen end above it
# at $d = 4$, and at $d = 2$ four do in nearly half of the runs, as the last numbers of the panel say. Nor are more
# heads always better on the way from one to $d^2$: at $d = 4$ two and four heads are not below one after 100 passes.
# Weight decay undoes it all: AdamW with its usual decay stops far above the precision, with any number of heads.
#
# ## To try
# - Set `starts=[1.0]`: students that began lower train more slowly now, and at $d = 4$ one head falls further behind.
# - Set `batch=512`, all the data in every step: a pass is a single step, and after 100 of them nothing has arrived.

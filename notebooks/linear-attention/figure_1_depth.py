# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1 · Layers and a full transformer instead of heads
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 1, Section 6.1.*
#
# Extra heads make a layer of linear attention easier to train. Is this because they are heads, or would any extra
# parameters do? The paper compares more heads with more layers and with an ordinary transformer.
#
# ## A tiny example
# For tokens with $d=2$ entries and one output, a layer with one head has 6 parameters: 2 in the row $V$ and 4 in the
# matrix $Q$. An additional layer has two $2\times2$ matrices, 8 parameters. Two layers therefore have 14 parameters,
# and a single layer with two heads has 12. Which of the two is faster to learn the function of a single head?
#
# ## The paper states
# We use the data and the training of [Figure 1(a)](figure_1a_heads.ipynb): a *teacher* with one head labels random
# sequences, and *students* learn from them.
#
# <!-- claim linear-attention/figure-1-depth -->
# <blockquote>
#
# **Figure 1 (Layers and a full transformer instead of heads)** *Section 6.1*
#
# **The paper states.** Multi-head attention outperforms both multi-layer attention and the full transformer.
# Multi-layer attention models show diminishing returns and performs worse than single-layer attention. Interestingly,
# adding more layers can sometimes degrade performance. The full transformer model, which incorporates softmax
# attention, MLP layers and the layer normalization, does not significantly outperform the single-layer linear attention
# model on this task.
#
# <details><summary>Chosen after a run</summary>
#
# The numbers of runs, and the runs with which the transformer is compared. The interval for layers over one head barely
#   clears 0, and has a confidence below 99 % because of this choice.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We run $d=2$, one of the four widths of Appendix D.1. There two and four layers and the full
# transformer end with at least ten times the error of one layer with $d^2$ heads. In the geometric mean they also end
# above one layer with one head, the layers only just.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/remark-heads-converge-faster -->
# <blockquote>
#
# **Section 6.1 (Heads converge faster than layers)** *Sections 6 and 6.1, caption of Figure 1*
#
# **The paper states.** For random data generated from linear attention networks, we observe that adding more heads
# achieves faster convergence of training loss than adding more layers. This suggests that while depth is important for
# expressiveness, the number of heads is important for optimization (Figure 1).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** At $d=2$, the only one of the four widths of Appendix D.1 that we run, one layer reaches a
# tenth, a hundredth and a thousandth of the error of always answering 0 in fewer passes than two or four layers or a
# full transformer. It has at most as many parameters as its rival, and each model has the initial scale that suits it
# best.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The output of one layer is linear in the products of its heads, so more heads bring it closer to a regression. A
# second layer multiplies outputs of the first, and the loss becomes a polynomial of higher degree in the parameters.
# This is an explanation, not a proof, so we have to measure.
#
# ## See it run
# You can change these parameters.

# %%
from itertools import product

import torch

from attention_theory.linear_attention.experiments.convergence import (
    best_settings,
    final_errors,
    first_below,
    rounding_floor,
)
from attention_theory.linear_attention.experiments.deep_students import (
    linear_layers,
    linear_layers_start,
    parameters_each,
    train_stack,
    transformer,
    transformer_start,
)
from attention_theory.linear_attention.experiments.one_layer_students import run_heads
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.measure import entries_touched
from attention_theory.randomness import streams
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, interval_of_difference, show

# %% tags=["parameters"]
widths = [2]  # d, each from 2 to 16
rates = [0.01, 0.001]  # learning rates of the search, each from 1e-6 to 1
starts = [
    1.0,
    0.5,
    0.25,
]  # starts of the search for linear attention, in units of the teacher's deviation, each from 0.01 to 10
runs = 72  # runs of each kind of linear student, each with a teacher and data of its own, at least 3
full_runs = 4  # runs of the full transformer, on the first of these teachers, from 3 to runs
searched = 12  # further runs for the search, and a sixth as many for the transformer, at least 1
sequences = 256  # N, at least 16
tokens = 100  # T, at least 2
hidden = 16  # width of the transformer, at least 2
batch = 32  # sequences of a step, from 1 to sequences
passes = 100  # passes through the data, at least 10; half as many in the search
seed = 0  # seed of the teachers, the data and the students, at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(
    widths=(Each(widths), 2, 16),
    rates=(Each(rates), 1e-6, 1.0),
    starts=(Each(starts), 0.01, 10.0),
    runs=(runs, 3, None),
)
require(full_runs=(full_runs, 3, runs), searched=(searched, 1, None), sequences=(sequences, 16, None))
require(tokens=(tokens, 2, None), hidden=(hidden, 2, None), batch=(batch, 1, sequences), passes=(passes, 10, None))
require(seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))

# %%
ONE, MANY, TWO, FOUR, FULL = "1 head", "d² heads", "2 layers", "4 layers", "full transformer"
LAYERS = {TWO: 2, FOUR: 4}
EQUAL = {rival: f"heads for {rival}" for rival in (TWO, FOUR, FULL)}


def begin(name, width, seeds):
    """The forward pass of a rival, and one student of its kind for each seed."""
    if name == FULL:
        return transformer, transformer_start(width, hidden, seeds)
    return linear_layers, linear_layers_start(width, LAYERS[name], 1, seeds)


sizes, heads = {}, {}
for width in widths:
    sizes[width] = {rival: parameters_each(begin(rival, width, [0])[1]) for rival in EQUAL}
    equal = {EQUAL[rival]: max(1, count // (width + width**2)) for rival, count in sizes[width].items()}
    heads[width] = {ONE: 1, MANY: width**2, **equal}

# %% [markdown]
# We compare the numbers of parameters, and also the work of one training step: how many numbers its operations read
# and write, relative to one head.


# %%
def work(width, student, models):
    """Entries touched by one step of one student."""
    inputs = torch.ones(1, batch, tokens, width)
    leaves = [one.requires_grad_() for one in models.values()]
    return entries_touched(lambda: torch.autograd.grad(student(models, inputs).square().mean(), leaves))


def work_of_heads(width, number):
    return work(width, linear_layers, linear_layers_start(width, 1, number, [0]))


table = []
for width in widths:
    single = work_of_heads(width, 1)
    for rival, size in sizes[width].items():
        number = heads[width][EQUAL[rival]]
        theirs = [number, number * (width + width**2), work_of_heads(width, number) / single]
        table.append([width, rival, size, work(width, *begin(rival, width, [0])) / single, *theirs])

# %%
show.table(["d", "student", "its parameters", "its work", "heads", "their parameters", "their work"], table)

# %% [markdown]
# The fifth column shows how many heads need at most as many parameters as each rival. Their work is also smaller,
# because more than $d$ heads are first added up to one map.
#
# Every kind of student gets the learning rate and the initial scale that suit it best on other teachers. This matters
# for four layers: if they start at the teacher's scale, their outputs are far larger than the labels.

# %%
search_seed, runs_seed = streams(seed, 2)
data_size = {"sequences": sequences, "tokens": tokens, "batch": batch}
FLOOR = torch.finfo(torch.float32).eps ** 2


def train(name, data, settings):
    """The error of each pass over that of always answering zero, of one kind of student at some rates and starts."""
    width = data.shape[-1]
    if name in heads[width]:
        return run_heads(data, [(heads[width][name], *setting) for setting in settings]).curves.cpu()
    several = data.several(len(settings))
    student, models = begin(name, width, several.seeds)
    each = [torch.tensor(column).repeat_interleave(len(data.seeds)) for column in zip(*settings, strict=True)]
    rate, start = (column.to(device) for column in each)
    scaled = {part: start.view(-1, *[1] * (value.ndim - 1)) * value.to(device) for part, value in models.items()}
    curves = train_stack(student, scaled, several, rate).curves.cpu()
    return curves.unflatten(1, (len(settings), -1)).mT


# %%
taken, of_search = {}, {}
for width in widths:
    of_search[width] = RunData.draw(width, searched, search_seed, passes=max(10, passes // 2), **data_size).to(device)
    for name in (*heads[width], *EQUAL):
        count, tried = (max(1, searched // 6), [1.0]) if name == FULL else (searched, starts)
        settings = list(product(rates, tried))
        data = of_search[width].first_runs(count)
        found = train(name, data, settings)
        floor = rounding_floor(heads[width].get(name, 1))
        taken[width, name] = settings[best_settings(final_errors(found, FLOOR)[:, None], floor)]

# %%
curves = {}
of_runs = {width: RunData.draw(width, runs, runs_seed, passes=passes, **data_size).to(device) for width in widths}
for (width, name), setting in taken.items():
    data = of_runs[width].first_runs(full_runs if name == FULL else runs)
    curves[width, name] = train(name, data, [setting])[..., 0]

# %%
fig, axes = show.axes(1, len(widths), width=max(7.0, 4.5 * len(widths)), height=3.8, squeeze=False)
quarters = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
for axis, width in zip(axes[0], widths, strict=True):
    for name, colour, marker in zip((MANY, ONE, TWO, FOUR, FULL), show.COLOURS, show.MARKERS, strict=False):
        low, middle, high = curves[width, name].nan_to_num(nan=1e12).clamp(FLOOR, 1e12).quantile(quarters, dim=1)
        axis.plot(range(1, passes + 1), middle, color=colour, marker=marker, markevery=max(1, passes // 8), label=name)
        axis.fill_between(range(1, passes + 1), low, high, color=colour, alpha=0.12, linewidth=0)
    axis.set(yscale="log", title=f"d = {width}", xlabel="passes through the data")
axes[0][0].set_ylabel("relative mean squared error")
axes[0][-1].legend(fontsize=8)
show.figure(
    fig,
    name="depth",
    caption="Training error over that of always answering zero: the median of the runs, with the middle half as a "
    "band.",
    alt="Five curves on a logarithmic axis. That of one layer with many heads falls furthest. Those of one head, two "
    "layers and four layers lie close together above it, and that of the full transformer stays near one.",
)

# %% [markdown]
# One layer with $d^2$ heads falls far below all others. Students with several layers and those with a single head
# fall at the same pace, and the transformer stays high.
#
# ### Where they end
# We compare the students teacher by teacher, in powers of ten. The transformer has few runs, so we compare their mean
# with the mean of all runs of the others.

# %%
final = {place: final_errors(of, FLOOR) for place, of in curves.items()}


def above(width, name, other):
    """Powers of ten by which one kind of student ends above another, teacher by teacher."""
    first, second = final[width, name], final[width, other]
    return (first / second[: len(first)]).log10()


def transformer_above(width, other):
    """The same in the mean for the transformer, over all runs of the other kind, and the interval."""
    first, second = (final[width, name].log10().tolist() for name in (FULL, other))
    low, high = interval_of_difference(first, second)
    return (low + high) / 2, (low, high)


# %%
rows = []
for (width, name), errors in final.items():
    spread = [10 ** errors.log10().mean(), errors.median(), errors.min(), errors.max()]
    beside = [above(width, name, ONE).mean(), above(width, name, MANY).mean()]
    rows.append([width, name, *taken[width, name], len(errors), *spread, *beside])
show.table(
    ["d", "student", "rate", "start", "runs", "error", "median", "best", "worst", "above one head", "above d² heads"],
    rows,
    caption=f"Relative error after {passes} passes; 'error' is the geometric mean. The last two columns are means of "
    "powers of ten over the teachers. For the transformer these are its few teachers alone; the verdict compares it "
    "with all runs of the others.",
)

# %% [markdown]
# Two and four layers end above one head in the mean, because single heads sometimes reach the floor and layers never
# do.
#
# ### Who arrives first

# %%
LEVELS = [0.1, 0.01, 0.001]
arrival = {(place, level): first_below(of, level) for place, of in curves.items() for level in LEVELS}
edge = 1.4 * passes

# %%
fig, axes = show.axes(len(widths), 3, width=9, height=3.4 * len(widths), sharex=True, sharey=True, squeeze=False)
for line, width in zip(axes, widths, strict=True):
    for axis, rival in zip(line, EQUAL, strict=True):
        for level, colour, marker in zip(LEVELS, show.COLOURS, show.MARKERS, strict=False):
            slow = arrival[(width, rival), level].clamp(max=edge)
            quick = arrival[(width, EQUAL[rival]), level].clamp(max=edge)[: len(slow)]
            axis.loglog(quick, slow, marker, color=colour, alpha=0.6, label=f"to {level:g}")
        axis.plot([1, edge], [1, edge], color="grey", linewidth=1)
        axis.set(title=f"d = {width}", xlabel=f"passes, {heads[width][EQUAL[rival]]} heads", ylabel=f"passes, {rival}")
axes[0][0].legend(fontsize=8)
show.figure(
    fig,
    name="arrival",
    caption="Passes until the error is first below a level. Above the diagonal, heads were first. Marks on the upper "
    "edge are rivals that never reached the level.",
    alt="Three panels of points on logarithmic axes with a diagonal. Most points lie above it, the more so the lower "
    "the level; for the full transformer all do, many on the upper edge.",
)

# %% [markdown]
# Below the diagonal heads need more passes, and above it the rival does. Most points are above it, including all of
# those of the transformer.

# %%
EQUALS = [(name, rival) for rival, name in EQUAL.items()]
OTHERS = [(MANY, TWO), (MANY, FOUR), (ONE, TWO), (ONE, FOUR)]


def middle(times):
    """The median number of passes; more than there were, where half of the runs never arrive."""
    value = times.sort().values[len(times) // 2].item()
    return f"{value:g}" if value < torch.inf else f"more than {passes}"


rows = []
for width, (name, rival), level in product(widths, EQUALS + OTHERS, LEVELS):
    slow = arrival[(width, rival), level]
    quick = arrival[(width, name), level][: len(slow)]
    first, second = (quick < slow).sum(), (slow < quick).sum()
    rows.append([width, heads[width][name], rival, level, middle(quick), middle(slow), len(slow), first, second])
columns = ["passes, heads", "passes, rival", "teachers", "heads first", "rival first"]
show.table(["d", "heads", "against", "level", *columns], rows)

# %% [markdown]
# A single head is no faster than several layers; four layers usually reach a hundredth before it. Two heads are
# already faster than two layers, with fewer parameters.
#
# ## How we checked
# ### Where they end
# We require that the rivals end at least one power of ten above $d^2$ heads, and not below one head. As a control, we
# give every sequence the labels of the sequence before it. No student can fit these labels, so the advantage of the
# heads should disappear.

# %%
narrow = widths[0]
honest = RunData.draw(narrow, full_runs, runs_seed, passes=25, **data_size)
mixed = Tasks(honest.tasks.teachers, honest.tasks.tokens, honest.tasks.labels.roll(1, dims=1))
unfit = RunData(mixed, honest.batches, honest.seeds)
without = {
    TWO: train_stack(*begin(TWO, narrow, honest.seeds), unfit, rates[0]).curves,
    MANY: train_stack(linear_layers, linear_layers_start(narrow, 1, narrow**2, honest.seeds), unfit, rates[0]).curves,
}
no_teacher = (final_errors(without[TWO]) / final_errors(without[MANY])).log10()

# %%
left_out = len(set(FIGURE_1["width"]) - set(widths))
claim = Claim("linear-attention/figure-1-depth")
for width in widths:
    for (other, said), bar in zip([(MANY, "d² heads"), (ONE, "one head")], (1, 0), strict=True):
        for name in (TWO, FOUR):
            claim.at_least(f"d = {width}: {name} over {said}, powers of ten", estimate(above(width, name, other)), bar)
        mean, interval = transformer_above(width, other)
        claim.at_least(f"d = {width}: {FULL} over {said}, powers of ten", estimate(mean, interval=interval), bar)
    worse = (final[width, FOUR] >= 2 * final[width, TWO]).double().mean()
    claim.number(f"d = {width}: share of runs that end twice as high with 4 layers as with 2", worse)
    claim.number(f"d = {width}: 4 layers over 2 layers, powers of ten", above(width, FOUR, TWO).mean())
    for end, value in zip(("from", "to"), interval_of(above(width, FOUR, TWO).tolist()), strict=True):
        claim.number(f"d = {width}: 4 layers over 2 layers, 99 % interval {end}", value)
claim.control.at_least(f"d = {narrow}, no teacher: 2 layers over d² heads, powers of ten", estimate(no_teacher), 1)
claim.printed.equal("values of d in Appendix D.1 that are not run here", left_out, 0)
claim.verdict()

# %% [markdown]
# ### Who arrives first
# We require that, on average, every rival needs more passes to reach every level. With the control's labels, no student
# reaches any level, so the check should fail.


# %%
def slower(late, early):
    """Powers of ten by which the rival is slower, teacher by teacher, at least."""
    return (late.clamp(max=passes) / early[: len(late)].nan_to_num(posinf=10.0 * passes)).log10()


ratios = {
    f"d = {width}, to {level:g}: {rival} over {heads[width][name]} heads, passes, powers of ten": slower(
        arrival[(width, rival), level], arrival[(width, name), level]
    )
    for width in widths
    for name, rival in EQUALS + OTHERS[:2]
    for level in LEVELS
}
lost = slower(first_below(without[TWO], 0.01), first_below(without[MANY], 0.01))

# %%
claim = Claim("linear-attention/remark-heads-converge-faster")
claim.printed.equal("values of d in Appendix D.1 that are not run here", left_out, 0)
for label, draws in ratios.items():
    claim.above(label, estimate(draws), 0)
claim.control.above(f"d = {narrow}, no teacher, to 0.01: 2 layers over d² heads", estimate(lost), 0)
for width in widths:
    for name in (TWO, FOUR):
        first = arrival[(width, ONE), 0.01] < arrival[(width, name), 0.01]
        claim.number(f"d = {width}, to 0.01: share of teachers with one head before {name}", first.double().mean())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - We fixed the requirements before these runs, after trial runs on other teachers. We set the numbers of runs, and
#   what the transformer is compared with, after the first runs. The comparison of layers with one head barely clears
#   its threshold, and because we chose the number of runs in this way, its interval has a confidence below 99%.
# - A single case is enough to show that more layers *sometimes* degrade performance, and runs that differ only in
#   their initial values also scatter. We therefore show, but do not judge, how often four layers end with at least
#   twice the error of two, and the mean of this comparison, whose interval contains zero.
# - We count a rival that never reached a level as if it had done so in the last pass, and heads that never reached it
#   as if they needed ten times as long.
# - The paper does not say how layers are joined or how the transformer is built. Here each layer adds its output to
#   its input, and the last one gives one number. The transformer has width 16, a bias in every map, and the
#   positional encoding and embedding scale of Vaswani et al. (2017). Without positions it could not know how many
#   tokens it has seen, and the labels grow with that number.
# - The caption of Figure 1 mentions different input dimensions, and Appendix D.1 lists four. We run only $d=2$, so
#   the figure is reproduced in part.
#
# </details>
#
# ## What to remember
# - At $d=2$ extra heads speed up training, with no more parameters and with less work per step.
# - Extra layers help only at first: four layers reach a hundredth before a single head, and then stop improving.
# - The transformer does not get close to any of them.
#
# ## Exercises
#
# 1. *By hand.* How many heads can we have without using more parameters than four layers, at $d=2$ and at $d=4$?
#    <details><summary>Solution</summary>
#
#    Four layers have $6+3\cdot8=30$ parameters at $d=2$, and five heads have 30. At $d=4$ a head has $4+16=20$, and
#    four layers have $20+3\cdot32=116$, so again five.
#
#    </details>
# 2. *Predict, then run.* Set `starts = [1.0]`, so that all students begin at the teacher's scale. Which of them
#    suffer?
#    <details><summary>Solution</summary>
#
#    Those with four layers: they now end far above those with two. Heads no longer come first at every level: two heads
#    now reach the level of one thousandth later than two layers do.
#
#    </details>
#
# Next: [few and many sequences](figure_1_samples.ipynb). The paper also varies the number of examples.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Layers and a full transformer instead of heads
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 1, Section 6.1.*
#
# ```{claim} linear-attention/figure-1-depth
# ```
#
# Heads are one way to have more parameters than needed. Layers are another. Here the students have two and four layers
# of linear attention with a single head, or are a full transformer layer with softmax attention, a feed-forward part
# and layer normalisation. The contrast is one layer with $d^2$ heads. All students see the same mini-batches, and the
# runs of a kind train in one stack. The paper's finding is that neither depth nor the full layer does better than
# heads.
#
# The paper does not say how the layers are joined or how wide the transformer is. Here each layer adds its output to
# its input, the last layer gives one number, and the transformer has width 16, wider than the input, so that layer
# normalisation does not throw away the size of a two-dimensional token.

# %%
from attention_theory.linear_attention.deep_students import (
    linear_layers,
    linear_layers_start,
    train_students,
    transformer,
    transformer_start,
)
from attention_theory.linear_attention.teacher_task import teacher_task
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
widths = [2]  # d, each from 2 to 16
runs = 3  # runs of each kind of student, at least 3
sequences = 512  # N, at least 16
tokens = 100  # T, at least 2
hidden = 16  # width of the transformer, an even number, at least 2
batch = 16  # sequences of a step, at least 1
steps = 1200  # steps of training, at least 100
rate = 0.01  # learning rate, above 0
seed = 0  # seed of the teacher, the data and the students, at least 0

# %%
require(widths=(widths, 2, 16), runs=(runs, 3, None), sequences=(sequences, 16, None), tokens=(tokens, 2, None))
require(hidden=(hidden, 2, None), batch=(batch, 1, None), steps=(steps, 100, None), rate=(rate, 1e-6, 1.0))
require(seed=(seed, 0, None))

# %%
seeds = range(seed + 1, seed + 1 + runs)
tasks = {width: teacher_task(width, sequences, tokens, seed) for width in widths}
trained = {}
for width, task in tasks.items():
    students = {
        "1 layer, d² heads": (linear_layers, linear_layers_start(width, 1, width**2, seeds)),
        "1 layer, 1 head": (linear_layers, linear_layers_start(width, 1, 1, seeds)),
        "2 layers, 1 head": (linear_layers, linear_layers_start(width, 2, 1, seeds)),
        "4 layers, 1 head": (linear_layers, linear_layers_start(width, 4, 1, seeds)),
        "full transformer": (transformer, transformer_start(width, hidden, seeds)),
    }
    for name, (student, start) in students.items():
        trained[width, name] = train_students(student, start, task, batch, steps, rate, seed)

# %%
fig, axes = show.axes(1, len(widths), width=max(7.0, 4.5 * len(widths)), height=3.8, squeeze=False)
for axis, width in zip(axes[0], widths, strict=True):
    for name, colour, marker in zip(students, show.COLOURS, show.MARKERS, strict=False):
        result = trained[width, name]
        middle = result.history.median(dim=1).values
        axis.plot(result.steps, middle, color=colour, marker=marker, markevery=6, label=name)
        low, high = result.history.min(dim=1).values, result.history.max(dim=1).values
        axis.fill_between(result.steps, low, high, color=colour, alpha=0.12, linewidth=0)
    axis.axhline(tasks[width].labels.square().mean(), linestyle="--", color="grey", label="always zero")
    axis.set_yscale("log")
    axis.set_title(f"d = {width}")
    axis.set_xlabel("steps of training")
axes[0][0].set_ylabel("mean squared error")
axes[0][-1].legend(fontsize=8)
show.figure(
    fig,
    name="depth",
    caption="Mean squared error in training, median of the runs with their range. One layer with $d^2$ heads ends "
    "lowest. More layers end higher and can fail altogether; the full transformer ends higher too. The dashed line is "
    "the error of a student that always answers zero.",
    alt="Five curves on a logarithmic axis. The curve of one layer with many heads falls furthest; the curves for two "
    "and four layers and the full transformer level off above it.",
)

# %%
final = {place: result.losses.double() for place, result in trained.items()}
show.table(
    ["d", "student", "median", "best run", "worst run"],
    [[*place, losses.median(), losses.min(), losses.max()] for place, losses in final.items()],
    caption=f"Mean squared error on all training data after {steps} steps.",
)

# %% [markdown]
# The gap opens with time: stopped at 800 steps, two layers were within a factor of 8 of one layer with $d^2$ heads,
# less than the factor of 10 that is asked for here. At full size (on record: $d$ up to 16, three runs, 3000 steps, a
# number that the paper does not give and that was set by what an hour allows) the median of one layer with $d^2$ heads
# is at rounding for $d = 4$, 8 and 16. At $d = 2$ it is $2\cdot10^{-17}$, and one run of the three stays at
# $6\cdot10^{-8}$. The medians of the deeper students and of the full transformer are $10^{12}$ times higher or more.
#
# The last check reads the paper's remark that the full transformer is not significantly better than a single layer
# as a comparison with the plainest one, a single head.

# %%
middle = {place: losses.median().item() for place, losses in final.items()}
claim = Claim("linear-attention/figure-1-depth")
for width in widths:
    best = middle[width, "1 layer, d² heads"]
    for name in ("2 layers, 1 head", "4 layers, 1 head", "full transformer"):
        claim.check(f"d = {width}: {name}, median over that of d² heads", middle[width, name] / best, ">=", 10.0)
    two, four = final[width, "2 layers, 1 head"], final[width, "4 layers, 1 head"]
    untrained = {name: trained[width, name].history[0].median().item() for name in students}
    claim.control(
        f"d = {width}: before training, 2 layers, median over that of d² heads",
        untrained["2 layers, 1 head"] / untrained["1 layer, d² heads"],
        ">=",
        10.0,
    )
    claim.check(f"d = {width}: worst run of 4 layers over worst of 2", (four.max() / two.max()).item(), ">=", 1.0)
    one = middle[width, "1 layer, 1 head"]
    claim.check(
        f"d = {width}: full transformer over one layer, one head", middle[width, "full transformer"] / one, ">=", 1.0
    )
claim.verdict()

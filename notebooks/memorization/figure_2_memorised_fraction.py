# %% [markdown]
# # Figure 2 · How much is memorised: heads, context, key width
# *Mahdavi, Liao, Thrampoulidis: Figure 2, Section 5.2.*
#
# Theorem 1 promises that more heads, longer contexts and wider keys help a layer to store answers. Does training find
# such weights? The paper gives every question a random class, so that there is no pattern to learn and a model can only
# memorise. We train small models in the same way and count their correct answers.

# %%
import json

import torch

from attention_theory.memorization.sweeps import Point, sweep
from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.trends import line_of_the_mean
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, show
from bookpress.claims import schematic
from bookpress.layout import Layout

# %% [markdown]
# ## A tiny example
# Four queries have the classes A, B, A and C. With a single token in the context, every head returns this token, so the
# model gives the same answer to all queries. Its best answer is the most frequent class. With more tokens, it can
# distinguish the queries.

# %%
fig, axis = schematic.canvas(height=1.9)
answers = [("classes", "ABAC", []), ("one token", "AAAA", [0, 2]), ("several tokens", "ABAA", [0, 1, 2])]
for row, (name, letters, right) in enumerate(answers):
    height = 2.7 - 1.15 * row
    schematic.text(axis, (4.0, height + 0.45), name, align="right")
    schematic.tokens(axis, list(letters), (4.4, height), right)
    if row:
        schematic.text(axis, (10.6, height + 0.45), f"memorised: {len(right)} of 4", schematic.BLUE, align="left")
show.figure(
    fig,
    name="tiny",
    caption="The classes of four queries, and the answers of two models. Correct answers are blue.",
    alt="Three rows of four letters. The classes are A, B, A, C. A model with one token answers A four times, and two "
    "answers are correct. A model with several tokens answers A, B, A, A, and three are correct.",
)

# %% [markdown]
# The *memorised fraction* is the fraction of correct answers. It is 1/2 for the model with one token, and 3/4 for the
# other.
#
# ## The paper states
# We write $H$ for the number of heads, $n$ for the number of tokens in the context, $d_h$ for the width of keys and
# queries, and $T$ for the number of queries.
#
# <!-- claim memorization/figure-2a -->
# <blockquote>
#
# **Figure 2(a) (Memorised fraction against the number of heads)** *Section 5.2*
#
# **The paper states.** Testing memorization as a function of number of heads for classification. Examples generated
# synthetically with $d=64$ and shared context. Memorization increases linearly with $H$. We measure the $R^2$ score of
# the best linear fit of the non-saturated part in Figure 2a and observe $R^2\ge0.98$ in all cases.
#
# <details><summary>Chosen after a run</summary>
#
# We chose the rule for saturation, $T$, the number of seeds and the comparison with other powers of $H$ after runs.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/figure-2b -->
# <blockquote>
#
# **Figure 2(b) (Memorised fraction against the context)** *Section 5.2*
#
# **The paper states.** Testing memorization as a function of context size for classification. Examples generated
# synthetically with $d=64$ and shared context. Memorization increases monotonically with $n$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/figure-2c -->
# <blockquote>
#
# **Figure 2(c) (Memorised fraction against the key width)** *Section 5.2*
#
# **The paper states.** Testing memorization as a function of head size for classification. Examples generated
# synthetically with $d=64$ and shared context. Memorization increases monotonically with $d_h$ as long as $d_h\le n$.
# There appears no benefit on memorization fraction beyond $d_h>n$.
#
# <details><summary>Chosen after a run</summary>
#
# We chose the unit of gain (the mean gain per column of the keys) and the number of seeds after first runs.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# By [Theorem 1](theorem_1_capacity.ipynb), some weights store $H(\min(n,d_h)-1)+1$ examples. This number is linear in
# $H$, and grows with $n$ and $d_h$ up to $d_h=n$. Trained models store more, and we ask whether they follow the same
# pattern. With a shared context, keys of width $n-1$ already realise every head ({claim:ref}`conclusion (3)
# <memorization/remark-conclusion-3>`).
#
# ## See it run
# The paper uses tokens of $d=64$ numbers, 100 classes and up to 40 000 examples. We run a reduced size, with $d=16$, 20
# classes and a few hundred examples.

# %% tags=["parameters"]
width = 16  # d, at least 2
classes = 20  # number of classes, at least 2
head_counts = [1, 2, 4, 6, 8]  # H in panel (a), ascending, at least 3 values, each at least 1
heads_context = 8  # n in panel (a), at least 2
heads_examples = [400, 600]  # T in panel (a), each at least 1
contexts = [1, 2, 4, 12]  # n in panel (b), ascending from 1, each at least 1
contexts_heads = 4  # H in panel (b), at least 1
contexts_examples = [400]  # T in panel (b), each at least 1
key_widths = [1, 4, 8, 16]  # d_h in panel (c), ascending, holding n, each at least 1
keys_heads = 4  # H in panel (c), at least 1
keys_context = 8  # n in panel (c), one of key_widths[1:-1]
keys_examples = [300]  # T in panel (c), each at least 1
seeds = 20  # models for each point in panel (a), at least 3
contexts_seeds = 8  # models for each point in panel (b), at least 2
keys_seeds = 36  # models for each point in panel (c), at least 2
seed = 0  # the first of the seeds, at least 0
epochs = 0  # passes through the examples for which there must be time in panels (a) and (b), at least 0
steps = 5000  # steps in panels (a) and (b), more where the epochs need more, at least 100
keys_steps = 5000  # steps in panel (c), at least 100
batch = 64  # examples per step, at least 1
rate = 0.02  # Adam's rate at its height, from 1e-6 to 1
start = "fan-in"  # how the output map starts, one of "fan-in", "xavier"
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(
    width=(width, 2, None),
    classes=(classes, 2, None),
    head_counts=(Each(head_counts), 1, None),
    heads_context=(heads_context, 2, None),
    heads_examples=(Each(heads_examples), 1, None),
    contexts=(Each(contexts), 1, None),
    contexts_heads=(contexts_heads, 1, None),
    contexts_examples=(Each(contexts_examples), 1, None),
    key_widths=(Each(key_widths), 1, None),
    keys_heads=(keys_heads, 1, None),
    keys_context=(keys_context, key_widths[1:-1]),
    keys_examples=(Each(keys_examples), 1, None),
    seeds=(seeds, 3, None),
    contexts_seeds=(contexts_seeds, 2, None),
    keys_seeds=(keys_seeds, 2, None),
    seed=(seed, 0, None),
    epochs=(epochs, 0, None),
    steps=(steps, 100, None),
    keys_steps=(keys_steps, 100, None),
    batch=(batch, 1, None),
    rate=(rate, 1e-6, 1.0),
    start=(start, {"fan-in", "xavier"}),
    device=(device, {"cpu", "cuda"}),
)


# %%
def memorised(points: list[Point], count: int, length: int, passes: int, relabel: bool = False) -> torch.Tensor:
    """The memorised fraction of every model, (points, seeds)."""
    recipe = {"classes": classes, "relabel": relabel, "device": device, "start": start, "epochs": passes, "seed": seed}
    return sweep(points, width, count, length, batch, rate, **recipe)


def draw_panel(x: list[int], curves: dict[int, torch.Tensor], label: str, name: str, caption: str, alt: str) -> None:
    """Mean and spread of the seeds, one curve per size of the data set."""
    fig, axis = show.axes()
    for (size, values), marker in zip(curves.items(), show.MARKERS, strict=False):
        axis.errorbar(x, values.mean(dim=1), values.std(dim=1), marker=marker, capsize=2, label=f"T = {size}")
    axis.set(xlabel=label, ylabel="memorised fraction", ylim=(0, 1.02))
    axis.legend()
    show.figure(fig, name=name, caption=caption, alt=alt)


# %% [markdown]
# ### (a) Heads

# %%
points = [(H, heads_context, T) for T in heads_examples for H in head_counts]
accuracy = memorised(points, seeds, steps, epochs).view(len(heads_examples), len(head_counts), seeds)
by_heads = dict(zip(heads_examples, accuracy, strict=True))

# %%
draw_panel(
    head_counts,
    by_heads,
    "number of heads H",
    "heads",
    f"Memorised fraction at a reduced size, n = {heads_context}, d = {width}: mean and standard deviation.",
    "Two rising, nearly straight curves. The one with fewer examples is higher.",
)


# %% [markdown]
# The curves are nearly straight lines. Eight heads memorise about 90 % of 400 labels, and about two thirds of 600.


# %%
def straightness(x: list[int], curves: dict[int, torch.Tensor], power: float = 1.0) -> dict[int, list[float]]:
    """R² of the line in a power of x through the points whose mean is below 0.95, leaving out one seed at a time."""
    fitted = {}
    for size, values in curves.items():
        below = values.mean(dim=1) < 0.95
        if below.sum() > 2:
            fitted[size] = line_of_the_mean(torch.tensor(x)[below] ** power, values[below])
    return fitted


def kept_panel(file: str, column: int) -> tuple[str, list[int], dict[int, torch.Tensor]]:
    """How a panel of the paper's size was trained, its horizontal axis, and a curve for each T."""
    panel = json.loads((Layout.here().results / "memorization" / "panels" / file).read_text(encoding="utf-8"))
    curves: dict[int, list[list[float]]] = {}
    for row in panel["rows"]:
        curves.setdefault(row[2], []).append(row[-1])
    x = sorted({row[column] for row in panel["rows"]})
    made = f"mean and standard deviation of six seeds, trained in {panel['seconds']} seconds on one {panel['device']}"
    return made, x, {T: torch.tensor(curve, dtype=torch.float64) for T, curve in curves.items()}


# %% [markdown]
# We also trained all 192 models of the paper's panel at full size, together on one GPU.

# %%
made, head_counts_there, heads_there = kept_panel("figure_2a_heads.json", 0)
draw_panel(
    head_counts_there,
    heads_there,
    "number of heads H",
    "heads-printed-size",
    f"The same at the paper's size, n = 32, d = 64, 100 classes: {made}.",
    "Four rising curves, flat at first and then steeper until they reach one. Fewer examples, higher curve.",
)

# %% [markdown]
# At the paper's size, the curves bend upward until they saturate. Forty heads memorise all of 10 000 labels.

# %%
fits, fits_there = (
    {power: straightness(*panel, power) for power in (1.0, 0.5, 1.5)}
    for panel in ((head_counts, by_heads), (head_counts_there, heads_there))
)
show.table(
    ["T", "R² of a line in H", "99 % interval", "$H^{1/2}$", "$H^{3/2}$"],
    [
        (size, sum(row) / len(row), " to ".join(f"{end:.4f}" for end in interval_of(row)), *others)
        for found in (fits, fits_there)
        for size, row in found[1.0].items()
        for others in [[sum(found[power][size]) / len(row) for power in (0.5, 1.5)]]
    ],
    caption="R² of straight lines through the points below 0.95, in H and in two of its powers. The last four rows are "
    "for the paper's size.",
)
gained = torch.stack([values[-1] - values[0] for values in by_heads.values()]).amin(dim=0)

# %% [markdown]
# ### (b) Context

# %%
points = [(contexts_heads, n, T) for T in contexts_examples for n in contexts]
accuracy = memorised(points, contexts_seeds, steps, epochs).view(len(contexts_examples), len(contexts), contexts_seeds)
by_context = dict(zip(contexts_examples, accuracy, strict=True))
constant = {}
for T in contexts_examples:
    alone = [Setting(contexts_heads, 1, T, width, seed + s) for s in range(contexts_seeds)]
    labels = sample_data_sets(alone, width, classes=classes).labels
    constant[T] = torch.stack([row.bincount().max() / T for row in labels]).double()

# %%
draw_panel(
    contexts,
    by_context,
    "context size n",
    "context",
    f"Memorised fraction at a reduced size, H = {contexts_heads}, d = {width}: mean and standard deviation of the "
    "seeds.",
    "A rising curve that starts near 0.07 at one token.",
)

# %% [markdown]
# With one token, the model memorises the most frequent class.

# %%
made, lengths, at_printed_size = kept_panel("figure_2b_context.json", 1)
draw_panel(
    lengths,
    at_printed_size,
    "context size n",
    "context-printed-size",
    f"The same at the paper's size, H = 20, d = 64, 100 classes: {made}.",
    "Four rising curves. The one with the fewest examples ends near one, that with the most below two thirds.",
)

# %% [markdown]
# At the paper's size, all four curves rise throughout. With 60 tokens, the models memorise nearly all of 6000 labels,
# and about 63 % of 18 000.
#
# ### (c) Key width

# %%
points = [(keys_heads, keys_context, T, h) for T in keys_examples for h in key_widths]
accuracy = memorised(points, keys_seeds, keys_steps, 0).view(len(keys_examples), len(key_widths), keys_seeds)
by_width = dict(zip(keys_examples, accuracy, strict=True))

# %%
draw_panel(
    key_widths,
    by_width,
    "key width $d_h$",
    "key-width",
    f"Memorised fraction at a reduced size, H = {keys_heads}, n = {keys_context}, d = {width}: mean and standard "
    f"deviation of {keys_seeds} models.",
    "A curve that rises over the first widths and is level or falls slightly at the last.",
)

# %% [markdown]
# The fraction rises over the first widths and is then roughly level. Most of the gain is reached by $d_h=n/2$.

# %%
at_n = key_widths.index(keys_context)
columns = keys_context - key_widths[0]
up_to_n = {T: v[at_n] - v[0] for T, v in by_width.items()}
column = {T: gain / columns for T, gain in up_to_n.items()}
steps_up = {(T, place): v[place + 1] - v[place] for T, v in by_width.items() for place in range(at_n)}
beyond = {T: v[at_n + 1 :].mean(dim=0) - v[at_n] for T, v in by_width.items()}
rows = [(T, f"{key_widths[i]} to {key_widths[i + 1]}", step) for (T, i), step in steps_up.items()]
rows += [(T, f"n = {keys_context} to wider, mean", gain) for T, gain in beyond.items()]
rows += [(T, "one column up to n", gain) for T, gain in column.items()]
show.table(
    ["T", "$d_h$", "gain, mean of the seeds", "99 % interval"],
    [(T, name, g.mean(), " to ".join(f"{end:.3f}" for end in interval_of(g.tolist()))) for T, name, g in rows],
)

# %% [markdown]
# ## How we checked
# We judge every comparison by a confidence interval over many seeds. As a control, we give each example a new label in
# every epoch. Then there is nothing to memorise, and we must see no gain.

# %%
ends: list[Point] = [(H, heads_context, min(heads_examples)) for H in (head_counts[0], head_counts[-1])]
ends += [(contexts_heads, n, min(contexts_examples)) for n in (contexts[0], contexts[-1])]
ends += [(keys_heads, keys_context, min(keys_examples), h) for h in (key_widths[0], keys_context)]
changing_gain = memorised(ends, 2, steps, epochs, relabel=True).view(3, 2, 2).mean(dim=2).diff(dim=1)[:, 0]

# %%
claim = Claim("memorization/figure-2a")
for size, row in (fits[1.0] or {heads_examples[0]: [0.0, 1.0]}).items():
    claim.at_least(f"T = {size}: R² below saturation", estimate(row), 0.98)
    roots = [one - other for one, other in zip(row, fits.get(0.5, {}).get(size, row), strict=True)]
    claim.above(f"T = {size}: R² less that in H^(1/2)", estimate(roots), 0)
for size, row in fits_there[1.0].items():
    claim.at_least(f"paper's size, T = {size}: R² below saturation", estimate(row), 0.98)
    for power, role, name in ((0.5, claim, "H^(1/2)"), (1.5, claim.printed, "H^(3/2)")):
        lead = [one - other for one, other in zip(row, fits_there[power][size], strict=True)]
        role.above(f"paper's size, T = {size}: R² less that in {name}", estimate(lead), 0)
claim.at_least("most heads less fewest, smallest gain over T, seed by seed", estimate(gained), 0.3)
claim.control.at_least("labels that change every epoch: the same gain", changing_gain[0], 0.3)
claim.verdict()

# %%
steps_there = {T: [gain.tolist() for gain in values.diff(dim=0)] for T, values in at_printed_size.items()}
ends_there = [interval_of(gain) for gains in steps_there.values() for gain in gains]
clear_gains = sum(low > 0 for low, _ in ends_there)
clear_losses = sum(high < 0 for _, high in ends_there)

# %%
claim = Claim("memorization/figure-2b")
claim.equal("paper's size: steps that are clear losses", clear_losses, 0)
claim.number(f"paper's size: steps that are clear gains, of {len(ends_there)}", clear_gains)
for T, gains in steps_there.items():
    least_clear = min(gains, key=lambda gain: interval_of(gain)[0])
    claim.above(f"paper's size, T = {T}: the least clear gain of {len(gains)}", estimate(least_clear), 0.0)
above_constant = 0.0
for T, values in by_context.items():
    for place, step in enumerate(values.diff(dim=0)):
        claim.above(f"T = {T}: gain from n = {contexts[place]} to {contexts[place + 1]}", estimate(step), 0.0)
    claim.at_least(f"T = {T}: gain from the first n to the last", estimate(values[-1] - values[0]), 0.2)
    if contexts[0] == 1:
        above_constant = max(above_constant, (values[0] - constant[T]).max().item())
claim.at_most("n = 1: accuracy over the most frequent class", above_constant, 1e-6)
claim.control.at_least("labels that change every epoch: the same gain", changing_gain[1], 0.2)
claim.verdict()

# %%
claim = Claim("memorization/figure-2c")
for T in keys_examples:
    claim.at_least(f"T = {T}: gain from d_h = {key_widths[0]} to n", estimate(up_to_n[T]), 0.0)
    claim.at_most(f"T = {T}: gain beyond n, less what a column up to n is worth", estimate(beyond[T] - column[T]), 0.0)
    early = by_width[T][at_n + 1 :].mean(dim=0) - by_width[T][0]
    label = f"T = {T}: the same gain, counted from d_h = {key_widths[0]}"
    claim.control.at_most(label, estimate(early - column[T]), 0.0)
for (T, place), step in steps_up.items():
    label = f"T = {T}: step from d_h = {key_widths[place]} to {key_widths[place + 1]}, less a column's worth"
    role = claim.printed if place == at_n - 1 else claim
    role.at_least(label, estimate(step - column[T]), 0.0)
claim.control.at_least("labels that change every epoch: gain from d_h = 1 to n", changing_gain[2], 0.1)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# *Panel (a).* We fit the line to the mean over the seeds, because the scatter of a single seed is not curvature. Its
# interval is a jackknife over the seeds, whose pseudo-values may exceed 1. Over these numbers of heads, a line through
# a curve that bends like $\sqrt H$ also has $R^2\ge0.98$. We therefore require a better fit than that, and at the
# paper's size than $H^{3/2}$, which bends upward. With fewer than three points below 0.95 we fit no line; if this
# happens for every $T$, the claim stays open.
#
# *Panel (b).* "Monotone" means that each step is a gain, by its interval over the seeds. At the paper's size, 23 of the
# 28 steps are clear gains over six seeds. Five are open, and none is a clear loss. The panel below lists the least
# clear step for each $T$. The command for the paper's size is
# `python benchmarks/memorization_panels.py results/memorization/panels --device cuda "Figure 2(b), context"`, and
# likewise `"Figure 2(a), heads"`.
#
# *Panel (c).* Theorem 1 counts $H$ examples for every column of the keys up to $n$, and none beyond. Our unit is
# therefore the mean gain per column: the gain from $d_h=1$ to $n$, divided by $n-1$. All columns beyond $n$ together
# must add less than this, and each step up to $n$ at least as much. The interval of the last step ends near 0, on a
# side that depends on the seeds and the processor. We list this step under "As printed", where it need not pass. Keys
# wider than $n$ can still speed up the training; see [Appendix A](appendix_a_wide_keys.ipynb).
#
# </details>
#
# ## Where the paper differs
# At the paper's size, a line has an $R^2$ of 0.973 for 10 000 examples, and of about 0.983 otherwise. All intervals
# contain 0.98, and a line in $H^{3/2}$ fits better. Five of 28 steps in $n$ are open. At the reduced size, we cannot
# decide whether the fraction still grows from $d_h=n/2$ to $n$.
#
# ## What to remember
#
# - The memorised fraction grows with the number of heads, at the paper's size faster than linearly.
# - Every further token of a shared context helps.
# - In a shared context, keys wider than $n$ do not help.
#
# ## Exercises
#
# 1. *By hand.* Predict the memorised fraction for one token, 20 equally likely classes and a very large $T$. Why is the
#    curve of panel (b) higher at $n=1$?
#    <details><summary>Solution</summary>
#
#    For large $T$ all classes are equally frequent, so the fraction is 1/20. With only 400 examples, the most frequent
#    class happens to occur more often, about 7 % of the time.
#
#    </details>
# 2. *Predict, then run.* Set `contexts_seeds = 3`. Do you expect a different curve, or more open steps in panel (b)?
#    <details><summary>Solution</summary>
#
#    The curve is much the same, but the interval of the step from $n=2$ to 4 now contains 0, so it is open as well.
#
#    </details>
#
# Next: [Figure 3](figure_3_saturation.ipynb). Do trained heads share the work?

# %% [markdown]
# # Table 1 · Thirteen models
# *Nguyen, Nguyen-Tang: Table 1, Section 5.*
#
# A sentence ends in a trigger word. Earlier in it the same trigger was followed by an output word $y$, and this is the
# word to predict; with label noise, a noise word comes in its place with probability $\alpha$. The words around are
# *fillers*. A model of one layer can learn this task, says the paper's theory, if its weights are restricted to the few
# directions that matter. Does it also learn it when all weights are free, and does it then understand the rule, so that
# it does as well on words that were never outputs in training? Table 1 tries thirteen models. Their names say what they
# are: *Origin* models train three full matrices, *Reparam* models one number for each trigger (with W in the name, one
# of the matrices); attention is *Linear*, *ReLU* or *Softmax*; and the feed-forward layer reads the last two words
# together with what attention collected (*FA*, the full input), or the last two words alone (*F*).
#
# A model earns a tick of the table if its loss comes to rest at the target. That is 0 without label noise. With it the
# target is the Bayes risk: even one who knows $y$ does not know when noise comes, and no model has a lower loss on
# average. A tick for unseen words says that its loss on words that were never outputs is the same as on the trained
# ones. At each level the rate with the lower population loss counts, for unseen words too; a noisy cell needs all three
# levels. Every model is trained here at four noise levels and two rates, from zero, by steps of length $\eta$ for each
# tensor.
#
# <!-- claim in-context-reasoning/table-1 -->
# <blockquote>
#
# **Table 1 (Which models learn, and which generalise)** *Section 5; Section 5.1*
#
# **The paper states.** Of thirteen models, nine reach loss 0 in the noiseless task and seven the Bayes risk in the
# noisy one. Only the fully reparameterised ones do as well on unseen outputs; Reparam-Linear-FA and Reparam-ReLU-FA
# alone have all four ticks. Section 5 draws the other words of a sentence from $[N]\setminus(\mathcal Q\cup\mathcal
# O)$.
#
# **What is true.** With the words that Section 5 describes, twelve rows are as in the table. Origin-Softmax-F reaches
# loss 0 too and, in most runs, the Bayes risk, where the table has dashes. So ten models reach loss 0 and eight the
# Bayes risk.
#
# **What changed.** The answer is the only output word of a sentence, so attention need not look for the trigger. If
# outputs may be fillers, the row of Origin-Softmax-F is as in the table, but at the paper's size two models miss the
# Bayes risk by up to 0.15 of the gap. So 50 of the 52 cells agree under either rule, and not the same 50.
#
# <details><summary>Chosen after a run</summary>
#
# The tenth of the gap within which a loss is near was chosen after other runs had been seen.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# Four things are not settled by the text, and each can turn a cell. Three of them are varied here, one by one.
#
# - **Start.** All models begin at zero here, as $\lambda_0=0$ suggests. The dashes of Origin-Linear-F for its losses
#   are owed to that: from a small random start it leaves the saddle on which it begins ({doc}`section_5_variants`).
#   What such a start would do to other rows was not tried.
# - **Fillers.** Section 5 draws the words around the bigrams from $[N] \setminus (\mathcal Q \cup \mathcal O)$, so that
#   the answer is the one output word in a sentence: *fillers as in the text*. The table is made and judged with these,
#   as are all figures of this chapter. In another reading, which Definition 2.1 allows too, the words around may be
#   outputs: *outputs as fillers*. They are shown where they change a cell.
# - **Arithmetic.** An ordinary training loop computes the slope $p - 1$ by subtraction, in float32, where it rounds to
#   zero once the loss is small. The table is made in this way. In the log domain the slope is exact at any size.
# - **Near.** The paper does not say how near to its target a loss must be. A model that knows the task and not the
#   output stays $(1-\alpha)\ln|\mathcal O|$ above the target. In the table that is drawn here a loss is near within a
#   tenth of that gap; at another batch than 512 within $0.1\sqrt{512/\text{batch}}$, since steps of fixed length along
#   the slopes of smaller batches keep a loss farther from its target: within 0.28 at the batch of this page. The tenth
#   is a choice, made after other runs had been seen. So the table is counted with half as much, too, and with twice as
#   much or half of the way, whichever is less; and no cell that depends on this choice counts against the paper.
#
# A run at full size was made before, with a batch of 512, 2000 steps and five seeds. Each rule of the fillers gives 50
# of the 52 cells as in the table within a tenth of the gap, and not the same 50.
#
# - *Fillers as in the text*: all rows are as in the table at every seed but that of Origin-Softmax-F, which comes near
#   all its targets. In runs at the larger rate alone, one of five at $\alpha=0.8$ is on its plateau still: hence "in
#   most runs", asked of the median once that had been seen.
# - *Outputs as fillers*: in the column of the Bayes risk two models miss the margin at some seeds or all. They end up
#   to 0.15 of the gap above it, and within a fifth their cells are as in the table. One cell, whether
#   Reparam-Linear-W-FA keeps the unseen words without noise, is decided by rounding: in three runs of the same, on two
#   processors, it was as in the table at two, four and five of five seeds.

# %%
import itertools
import math
from statistics import median

from attention_theory.in_context_reasoning.closed_form import closed_end
from attention_theory.in_context_reasoning.history import History
from attention_theory.in_context_reasoning.table_1 import PRINTED, Cells
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_grid
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
batch = 64  # sentences a step, at least 16; the paper has 512
steps = 500  # T, at least 200; the paper has 2000
long_steps = 1_200  # T of the model whose row changes, at least 200
evaluation = 128  # sentences in each evaluation set, at least 64
seeds = 1  # runs of every model, at least 1; the paper has 5
long_seeds = 1  # of these, for the model whose row changes, at least 1
other_tables = 0  # runs of the whole table with outputs as fillers, from 0 to 5
device = "cpu"  # where the models are, one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 200, None),
    long_steps=(long_steps, 200, None),
    evaluation=(evaluation, 64, None),
    seeds=(seeds, 1, None),
    long_seeds=(long_seeds, 1, None),
    other_tables=(other_tables, 0, 5),
    device=(device, {"cpu", "cuda"}),
)
noise, rates = [0.2, 0.5, 0.8], [0.1, 0.5]
levels = [0.0, *noise]
share = 0.1 * math.sqrt(512 / batch)
sizes = {"evaluation": evaluation, "device": device}

# %% [markdown]
# ## The runs
# One seed here, five at full size. Seven models have matrices to train. The other six move one number for each trigger,
# whose steps have length $\eta$ whatever the batch; a quarter of the batch is enough for them.

# %%
numbers = [name for name in TABLE_1 if VARIANTS[name].trained == "scales"]
matrices = [name for name in TABLE_1 if name not in numbers]
tried = "Reparam-Linear-W-FA"
task, among = (Task(tokens, length=length, fillers=rule) for rule in ("neutral", "outputs allowed"))


def trained(seed, of=task):
    """All models of the table on the sentences of one seed, and one of them in the log domain as well."""
    noiseless = train_grid(matrices, of, [0.0], rates, steps, batch, [seed], exact=[tried], **sizes)[0]
    noisy = train_grid(matrices, of, noise, rates, steps, batch, [seed], **sizes)[0]
    small = train_grid(numbers, of, levels, rates, steps, batch // 4, [seed], **sizes)[0]
    return History.side_by_side([noiseless, noisy, small])


by_seed = [trained(seed) for seed in range(seeds)]
table = {name: [Cells.measured(history, name, noise, rates, share) for history in by_seed] for name in TABLE_1}

# %% [markdown]
# The model to which rounding matters most was trained in the log domain as well, without noise. With noise it does not
# matter ({doc}`section_5_2_arithmetic`): where the label stays uncertain, $p - 1$ does not round to zero.

# %%
exact = [history.with_arithmetic("log-domain") for history in by_seed]


# %% [markdown]
# The model whose row changes is trained for longer, at the larger rate only, since at the smaller one it does not leave
# its plateau in the time there is. Without noise, and for as many steps, it is trained with outputs as fillers too. All
# models are trained with outputs as fillers at full size (`other_tables`).

# %%
changed = "Origin-Softmax-F"
fast = rates[1:]


def longer(of, alphas):
    """The model whose row changes, at the larger rate, by seed."""
    runs = range(min(seeds, long_seeds))
    return [train_grid([changed], of, alphas, fast, long_steps, batch, [seed], **sizes)[0] for seed in runs]


as_in_text = longer(task, levels)
among_outputs = longer(among, [0.0])
in_text = [Cells.measured(history, changed, noise, fast, share) for history in as_in_text]
other_table = [trained(seed, among) for seed in range(other_tables)]

# %% [markdown]
# ## The table
# A cell is a tick or a dash if all seeds agree on it, else it is split. Where it is not as printed, what is printed
# stands beside it, and why. An end is near the edge if less than twice the margin is left.

# %%
SIGN = {True: "✓", False: "–", None: "split"}
headings = ["noiseless: 0-loss", "noiseless: unseen y", "noisy: Bayes loss", "noisy: unseen y"]


def cell(found, printed):
    return SIGN[found] if found is printed else f"**{SIGN[found]}** (printed {SIGN[printed]})"


def above(history, name, alpha, among=rates):
    """How far above its target a loss ends at the better rate, as a share of the gap."""
    loss = min(history.end("population", name, alpha, eta) for eta in among)
    return (loss - closed_end("Reparam-Linear-FA", alpha, tokens)) / ((1 - alpha) * math.log(4))


# %% [markdown]
# Losses of the columns in which a model is not as printed tell the reason:


# %%
def reason(name):
    """Why cells of a model are not as printed."""
    wrong = [k for k, tick in enumerate(PRINTED[name].ticks) if Cells.agreed(table[name])[k] is not tick]
    found = []
    if name == tried and 1 in wrong:
        wrong.remove(1)
        found.append("The harm of rounding is not yet seen, or hangs on the margin.")
    alphas = {alpha for column in wrong for alpha in (noise if column > 1 else [0.0])}
    if alphas:
        far = max(above(history, name, alpha) for history in by_seed for alpha in alphas) >= 2 * share
        found.append(
            "It has not come near in so few steps." if far else "It ends near the edge of what counts as near."
        )
    return " ".join(found)


# %% [markdown]
# The table itself:

# %%
rows = []
for name in TABLE_1:
    cells = list(map(cell, Cells.agreed(table[name]), PRINTED[name].ticks))
    full = "✓" if VARIANTS[name].full_input else "–"
    differs = Cells.agreed(table[name]) != PRINTED[name].ticks
    rows.append([name, full, *cells, reason(name) if differs else ""])
show.table(["method", "full input", *headings, "why"], rows, caption="Table 1, fillers as in the text")

# %% [markdown]
# How far above its target the loss ends at the better rate, as a share of the gap: the mean over seeds. If there are
# several seeds, their cells stand beside it.

# %%
columns = range(4) if seeds > 1 else []
show.table(
    ["method", *(headings[column] for column in columns), *(f"α = {alpha}" for alpha in levels)],
    [
        [name, *("".join(SIGN[each.ticks[column]] for each in table[name]) for column in columns)]
        + [f"{sum(above(history, name, alpha) for history in by_seed) / seeds:.3f}" for alpha in levels]
        for name in TABLE_1
    ],
    caption="The loss above its target as a share of the gap" + ", and cells by seed" * (seeds > 1),
)

# %% [markdown]
# ## How much hangs on the margin


# %%
def as_printed(histories, within, column):
    """Models whose cell in a column is as printed in every seed."""
    rows = {name: [Cells.measured(history, name, noise, rates, within) for history in histories] for name in TABLE_1}
    return [name for name in TABLE_1 if Cells.agreed(rows[name])[column] is PRINTED[name].ticks[column]]


margins = sorted({min(0.5, within) for within in (share / 2, share, 2 * share)})  # half of the way is not near
kept = {within: [as_printed(by_seed, within, column) for column in range(4)] for within in margins}
show.table(
    ["near within", *headings, "other than printed"],
    [
        [within, *map(len, found), ", ".join(name for name in TABLE_1 if any(name not in one for one in found))]
        for within, found in kept.items()
    ],
    caption="Cells as printed, of 13, by the share of the gap within which a loss is near",
)

# %% [markdown]
# ## How much hangs on the arithmetic
# One cell: whether Reparam-Linear-W-FA keeps the unseen words in the noiseless task. In a run of the paper's length its
# population loss is at rounding at both rates, so that which of them is the better is chance. In a shorter run the
# smaller rate is not yet at rounding. The table shows both rates and both arithmetics.

# %%
lines = []
for label, histories in (("subtraction", by_seed), ("log domain", exact)):
    for seed, history in enumerate(histories):
        cells = Cells.measured(History.side_by_side([history, by_seed[seed]]), tried, noise, rates, share)
        for eta in rates:
            losses = [history.end(each, tried, 0.0, eta) for each in ("population", "unseen", "p_output")]
            lines.append([label, seed, eta, *losses, SIGN[cells.noiseless_unseen]])
show.table(
    ["slopes", "seed", "η", "population loss", "unseen loss", "p of the unseen word", "cell"],
    lines,
    caption=f"{tried}, noiseless, by the arithmetic of its slopes",
)

# %% [markdown]
# Over time: exact slopes carry the unseen loss down for good; with rounded ones it turns, here at the larger rate
# alone.

# %%
fig, axes = show.axes(1, 2, width=7.5, sharey=True)
for axis, eta in zip(axes, rates, strict=True):
    for histories, label, colour in ((by_seed, "subtraction", show.COLOURS[0]), (exact, "log domain", show.COLOURS[1])):
        for seed, history in enumerate(histories):
            curve = history.of("unseen", tried, 0.0, eta).clamp_min(1e-12)
            axis.semilogy(history.steps, curve, color=colour, label=label if seed == 0 else None)
    axis.axhline(share * math.log(4), color="grey", linewidth=0.6)
    axis.set(xlabel="iteration t", ylabel="loss on unseen words", title=f"η = {eta}")
axes[1].legend(fontsize=8)
show.figure(
    fig,
    name="arithmetic",
    caption=f"{tried}, noiseless, a curve for each seed: loss on unseen words with slopes by subtraction in float32 "
    "and in the log domain. Thin horizontal line: what counts as near.",
    alt="Two panels of curves on a logarithmic axis that fall together. At the larger rate one turns and levels off.",
)

# %% [markdown]
# ## The row that changes
# The row of Origin-Softmax-F changes: attention need not look for the trigger where the answer is the only output word
# in the sentence. It takes more steps than the table: 1200, where the table has 500. When the model leaves its plateau
# hangs on the noise and on the seed.

# %%
rows = [
    [label, *("".join(SIGN[each.ticks[column]] for each in found) for column in range(4))]
    for label, found in ((f"{steps} steps", table[changed]), (f"{long_steps} steps, the larger rate", in_text))
]
rows.append(["printed", *map(SIGN.get, PRINTED[changed].ticks)])
show.table(["run", *headings], rows, caption=f"The row of {changed}, fillers as in the text, cells by seed")

# %% [markdown]
# With `other_tables = 1` all models are trained with outputs as fillers. Their cells by seed; those other than in the
# table are in bold:

# %%
other_rows = {name: [Cells.measured(history, name, noise, rates, share) for history in other_table] for name in TABLE_1}


def by_outputs(name, column):
    """The cells of a model with outputs as fillers, by seed; in bold where not all are as printed."""
    signs = "".join(SIGN[each.ticks[column]] for each in other_rows[name])
    return signs if set(signs) == {SIGN[PRINTED[name].ticks[column]]} else f"**{signs}**"


if other_table:
    rows = [[name, *(by_outputs(name, column) for column in range(4))] for name in TABLE_1]
    show.table(["method", *headings], rows, caption="Table 1, outputs as fillers, cells by seed")

# %% [markdown]
# ## What the evidence says
# The losses of six rows have closed forms, and are held against them. The column of the Bayes risk is judged in two
# parts: eight models reach it or stay far away, whatever the margin; the others, whose cells are ticks, must come more
# than half of the way down from the plateau. How many cells of the column are as printed by the margin itself is shown:
# at full size two of them are not, within a tenth. A column must not come out if Origin models stand in for
# reparameterised ones.

# %%
edge = ["Origin-Softmax-FA", "Origin-Linear-FA", "Origin-ReLU-F", "Origin-ReLU-FA", tried]
twins = {name: name.replace("Reparam", "Origin").replace("-W", "") for name in TABLE_1 if name.startswith("Reparam")}


def like_print(column, names, rows=None):
    """Models of these whose cell is as printed, by seed."""
    return {
        f"seed {index}": sum(
            table[(rows or {}).get(name, name)][index].ticks[column] == PRINTED[name].ticks[column] for name in names
        )
        for index in range(seeds)
    }


off = {
    f"{name}, α = {alpha}": abs(history.end("population", name, alpha, 0.1) - closed_end(name, alpha, tokens))
    for name in numbers
    for alpha in levels
    for history in by_seed
}

# %% [markdown]
# What is left of the gap at the better rate, worst over the seeds; of the row that hangs on the fillers, with label
# noise, the median, for not every run leaves its plateau in time:

# %%
half_way = {f"{name}, α = {alpha}": max(above(one, name, alpha) for one in by_seed) for name in edge for alpha in noise}
text_left, outputs_left = (
    {f"seed {seed}": one.end("population", changed, 0.0, fast[0]) / math.log(4) for seed, one in enumerate(found)}
    for found in (as_in_text, among_outputs)
)
text_noisy = {f"α = {alpha}": median(above(one, changed, alpha, fast) for one in as_in_text) for alpha in noise}
rest = [name for name in TABLE_1 if name != changed]
judged = [rest, [n for n in rest if n != tried], [n for n in rest if n not in edge], rest]

# %% [markdown]
# Whether rounding has harmed the unseen words of Reparam-Linear-W-FA is seen late. So its cell in the second column is
# shown and not judged at this length; {doc}`section_5_2_arithmetic` judges it. Origin-Softmax-F is on its plateau still
# when the table's steps are over, where its dashes say nothing. It is judged by its longer runs.

# %%
claim = Claim("in-context-reasoning/table-1")
for column, names in enumerate(judged):
    label = f"{headings[column]}: cells as printed, of {len(names)}"
    claim.equal(label, like_print(column, names), len(names))
    claim.control.equal(f"{headings[column]}: Origin models in place of 7", like_print(column, twins, twins), 7)
claim.at_most("noisy: the other five, share of the gap that is left", half_way, 0.5)
claim.control.at_most("Origin-Linear-F, α = 0.2: share that is left", above(by_seed[0], "Origin-Linear-F", 0.2), 0.5)
claim.at_most("fully reparameterised: losses minus closed forms", off, 2e-2)
claim.number(
    f"{headings[1]}: seeds with all 13 cells as printed", sum(n == 13 for n in like_print(1, TABLE_1).values())
)
for within, found in kept.items():
    claim.number(f"near within {within:.3g}: cells as printed in {steps} steps, of 52", sum(map(len, found)))
    claim.number(f"near within {within:.3g}: cells of the Bayes risk as printed, of 13", len(found[2]))
claim.printed.above(f"{changed}, noiseless: share of the gap that is left, for a dash", text_left, share)
claim.verdict()

# %% [markdown]
# <!-- claim in-context-reasoning/table-1-fillers -->
# <blockquote>
#
# **Table 1 (The fillers decide one row)** *Table 1; Section 5*
#
# With fillers that are neither triggers nor outputs, Origin-Softmax-F reaches loss 0 in the noiseless task and, in most
# runs, comes near the Bayes risk in the noisy one. With outputs as fillers, it does not reach loss 0 in as many steps.
#
# <details><summary>Chosen after a run</summary>
#
# That the noisy task is judged by the median run was chosen once one run of five was seen to stay on its plateau.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# The row is not as in the table, so the table is reproduced in part. What it is instead is judged for itself.

# %%
claim = Claim("in-context-reasoning/table-1-fillers")
claim.at_most(f"{changed}, noiseless: share of the gap that is left", text_left, share)
claim.control.at_most("the same with outputs as fillers, as many steps", outputs_left, share)
claim.at_most(f"{changed}, noisy: share of the gap that is left, median", text_noisy, 0.5)
most = max(above(one, changed, alpha, fast) for one in as_in_text for alpha in noise)
claim.number(f"{changed}, noisy: share of the gap that is left, most of all runs", most)
for name, column in itertools.product(TABLE_1, range(4)) if other_tables else []:
    like = [each.ticks[column] is PRINTED[name].ticks[column] for each in other_rows[name]]
    if not all(like):
        claim.number(f"outputs as fillers, {name}, {headings[column]}: runs as printed, of {other_tables}", sum(like))
claim.verdict()

# %% [markdown]
# ## What was learned
# With the fillers that the text describes, twelve rows of the table come out, and one does not: Origin-Softmax-F learns
# both tasks in most runs. With outputs as fillers that row comes out, and two cells of the Bayes risk do not, within
# the same margin. So neither rule gives all that the table shows. Where one draws the line of what is near turns cells,
# most of them in the column of the Bayes risk, and the paper does not say where it drew it. The rows of the fully
# reparameterised models have closed forms and are beyond doubt, and so, from a start at zero, are the dashes of
# Origin-Linear-F.
#
# ## To try
# - Set `long_steps = 400`: Origin-Softmax-F is still on its plateau, its whole row is as in the table, and our reading
#   of it is *undecided here*.
# - Set `steps = 200`: Origin-Softmax-FA has hardly left its plateau, and its ticks are missing.

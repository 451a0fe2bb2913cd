# %% [markdown]
# # Table 1 · Learning a task, and learning a rule
# *Nguyen, Nguyen-Tang: Table 1, Sections 5, 5.1 and 5.2.*
#
# A model may answer every training question correctly without having learned the rule behind them. We notice this only
# when we ask about something new. Table 1 tests thirteen small models in this way twice, without and with noise in the
# labels. Which models learn the task, and which of them learn the rule?
#
# ## A tiny example
#
# In *blue key gold tree lamp key*, the next word is *gold*, because it followed the earlier *key*. In training, only
# four words are ever the answer. A model that knows these four, but does not look at the sentence, guesses each with
# probability one quarter. Its loss is $\ln4\approx1.39$, which we call the *plateau*. A model that looks up the word
# can bring its loss down to 0.
#
# Now we replace *gold* by *door*, which was never an answer in training. The rule still works, but a model that has
# memorised four answers fails.

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
from bookpress.claims import schematic

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

# %%
fig, axis = schematic.canvas(7.0, 2.1)
for row, (answer, kind) in enumerate((("door", "a new answer"), ("gold", "a trained answer"))):
    sentence = ["blue", "key", answer, "tree", "lamp", "key"]
    tops = schematic.tokens(axis, sentence, at=(0.4, 0.3 + 2 * row), lit=[2])
    schematic.arrow(axis, tops[5], tops[2], bend=-0.2)
    schematic.text(axis, (9.7, 0.75 + 2 * row), kind, align="left")
show.figure(
    fig,
    name="two-questions",
    caption="The two questions that Table 1 asks, without and with noise. The rule, to copy the word after the "
    "earlier key, answers both.",
    alt="Two sentences in boxes. In each an arrow leads from the last word, key, back to the word after the earlier "
    "key: gold in the upper sentence, door in the lower one.",
)

# %% [markdown]
# We see the same arrow twice, from the final *key* to the word after the earlier *key*. Only the second sentence shows
# whether a model performs this look-up for every word.
#
# ## The paper states
#
# The table asks the two questions without and with *label noise*. With label noise, the label is a fixed noise word
# instead of the output with probability $\alpha$, and the lowest possible loss is the *Bayes risk*.
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
# **What is true.** With the sentences that Section 5 describes, we reproduce twelve rows of the table. Origin-Softmax-F
# also reaches loss 0 and, in most runs, the Bayes risk, where the table has dashes. In total, ten models reach loss 0
# and eight the Bayes risk.
#
# **What changed.** The answer is the only output word in the sentence, so attention need not look for the trigger. If
# fillers may be outputs, we reproduce the row of Origin-Softmax-F, but at the paper's size two other models miss the
# Bayes risk by up to 0.15 of the gap. Under either rule, 50 of the 52 cells agree, but not the same 50.
#
# <details><summary>Chosen after a run</summary>
#
# We chose the margin, a tenth of the gap, after we had seen other runs.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# *Origin* models train three full matrices. *Fully reparameterised* models have matrices in the form of the look-up and
# train one number per trigger. This number treats all answers alike, so these models learn the rule or nothing. A full
# matrix can store each of the four answers separately, and this is what gradient descent makes it do.
#
# With label noise, a model must also give the noise word the right odds. A reparameterised model can do this only if
# its feed-forward layer sees how strong attention's vote is (*FA* models). Softmax attention never gives a vote above
# 1, so its reparameterised models cannot become certain. [Table 1 in one picture](table_1_in_one_picture.ipynb) derives
# almost every cell from four such questions.
#
# ## See it run
#
# We train every model from zero with steps of fixed length, at four noise levels and two learning rates.

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
# As the paper's text says, the other words of a sentence, the *fillers*, are never outputs here. A model gets a tick if
# its loss comes close enough to the target.

# %%
SIGN = {True: "✓", False: "–", None: "split"}
headings = ["noiseless: 0-loss", "noiseless: unseen y", "noisy: Bayes loss", "noisy: unseen y"]


def cell(found, printed):
    return SIGN[found] if found is printed else f"**{SIGN[found]}** (paper: {SIGN[printed]})"


def above(history, name, alpha, among=rates):
    """How far above its target a loss ends at the better rate, as a share of the gap."""
    loss = min(history.end("population", name, alpha, eta) for eta in among)
    return (loss - closed_end("Reparam-Linear-FA", alpha, tokens)) / ((1 - alpha) * math.log(4))


# %%
def reason(name):
    """Why cells of a model are not as printed."""
    wrong = [k for k, tick in enumerate(PRINTED[name].ticks) if Cells.agreed(table[name])[k] is not tick]
    found = []
    if name == tried and 1 in wrong:
        wrong.remove(1)
        found.append("Rounding has not yet done harm, or the margin decides.")
    alphas = {alpha for column in wrong for alpha in (noise if column > 1 else [0.0])}
    if alphas:
        far = max(above(history, name, alpha) for history in by_seed for alpha in alphas) >= 2 * share
        found.append(
            "It has not come near in so few steps." if far else "It ends near the edge of what counts as near."
        )
    return " ".join(found)


# %%
rows = []
for name in TABLE_1:
    cells = list(map(cell, Cells.agreed(table[name]), PRINTED[name].ticks))
    full = "✓" if VARIANTS[name].full_input else "–"
    differs = Cells.agreed(table[name]) != PRINTED[name].ticks
    rows.append([name, full, *cells, reason(name) if differs else ""])
show.table(["method", "full input", *headings, "why"], rows, caption="Table 1 in this run")

# %% [markdown]
# The ticks for new answers are in the rows of the fully reparameterised models. Cells that differ from the paper are
# marked, and the last column gives the reason. For each model, the next table shows how far its loss ends from the
# target, on a scale from 1 (the plateau) to 0 (the target):

# %%
columns = range(4) if seeds > 1 else []
show.table(
    ["method", *(headings[column] for column in columns), *(f"α = {alpha}" for alpha in levels)],
    [
        [name, *("".join(SIGN[each.ticks[column]] for each in table[name]) for column in columns)]
        + [f"{sum(above(history, name, alpha) for history in by_seed) / seeds:.3f}" for alpha in levels]
        for name in TABLE_1
    ],
    caption="The loss above its target as a fraction of the gap" + ", and cells by seed" * (seeds > 1),
)

# %% [markdown]
# ### How close is close enough?
#
# The paper does not say how close to its target a loss must be for a tick. We count the cells that agree with the paper
# under three margins.


# %%
def agreeing(histories, within, column):
    """Models whose cell in a column is that of the paper in every seed."""
    rows = {name: [Cells.measured(history, name, noise, rates, within) for history in histories] for name in TABLE_1}
    return [name for name in TABLE_1 if Cells.agreed(rows[name])[column] is PRINTED[name].ticks[column]]


margins = sorted({min(0.5, within) for within in (share / 2, share, 2 * share)})  # half of the way is not near
kept = {within: [agreeing(by_seed, within, column) for column in range(4)] for within in margins}
show.table(
    ["near within", *headings, "models that differ"],
    [
        [within, *map(len, found), ", ".join(name for name in TABLE_1 if any(name not in one for one in found))]
        for within, found in kept.items()
    ],
    caption="Cells of 13 that agree with the paper, if a loss counts as near within this fraction of the gap",
)

# %% [markdown]
# ### One cell that rounding decides
#
# Does Reparam-Linear-W-FA handle new answers without noise? An ordinary training loop computes the gradient $p-1$ by
# subtraction, which rounds to zero when $p$ is near 1. We also train the model with exact gradients, computed in the
# log domain.

# %%
exact = [history.with_arithmetic("log-domain") for history in by_seed]

# %%
lines = []
for label, histories in (("subtraction", by_seed), ("log domain", exact)):
    for seed, history in enumerate(histories):
        cells = Cells.measured(History.side_by_side([history, by_seed[seed]]), tried, noise, rates, share)
        for eta in rates:
            losses = [history.end(each, tried, 0.0, eta) for each in ("population", "unseen", "p_output")]
            lines.append([label, seed, eta, *losses, SIGN[cells.noiseless_unseen]])
show.table(
    ["gradients", "seed", "η", "population loss", "unseen loss", "p of the unseen word", "cell"],
    lines,
    caption=f"{tried}, noiseless, with gradients computed in two ways",
)

# %%
fig, axes = show.axes(1, 2, width=7.5, sharey=True)
for axis, eta in zip(axes, rates, strict=True):
    for histories, label, colour in ((by_seed, "subtraction", show.COLOURS[0]), (exact, "log domain", show.COLOURS[1])):
        for seed, history in enumerate(histories):
            curve = history.curve("unseen", tried, 0.0, eta).clamp_min(1e-12)
            axis.semilogy(history.steps, curve, color=colour, label=label if seed == 0 else None)
    axis.axhline(share * math.log(4), color="grey", linewidth=0.6)
    axis.set(xlabel="iteration t", ylabel="loss on unseen words", title=f"η = {eta}")
axes[1].legend(fontsize=8)
show.figure(
    fig,
    name="arithmetic",
    caption=f"{tried}, noiseless, a curve for each seed: loss on unseen words with gradients by subtraction in float32 "
    "and in the log domain. Thin horizontal line: what counts as near.",
    alt="Two panels of curves on a logarithmic axis that fall together at first. Then the curves of subtraction "
    "turn and rise, at the smaller rate only near the end.",
)

# %% [markdown]
# With exact gradients, the loss on new answers falls until the end. With rounded gradients it turns and rises, at the
# larger rate early and far above the threshold. [Section 5.2](section_5_2_arithmetic.ipynb) explains why.
#
# ### One row that the fillers decide
#
# If the answer is the only output word in the sentence, attention need not look for the trigger: it can attend to any
# output. Origin-Softmax-F learns this, but needs more steps than we allow in the table. We train it longer, at the
# larger rate, under both rules for the fillers.

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

# %%
rows = [
    [label, *("".join(SIGN[each.ticks[column]] for each in found) for column in range(4))]
    for label, found in ((f"{steps} steps", table[changed]), (f"{long_steps} steps, the larger rate", in_text))
]
rows.append(["paper", *map(SIGN.get, PRINTED[changed].ticks)])
show.table(
    ["run", *headings], rows, caption=f"The row of {changed} with the fillers of the paper's text, cells by seed"
)

# %%
other_rows = {name: [Cells.measured(history, name, noise, rates, share) for history in other_table] for name in TABLE_1}


def by_outputs(name, column):
    """The cells of a model with outputs as fillers, by seed; in bold where not all are the paper's."""
    signs = "".join(SIGN[each.ticks[column]] for each in other_rows[name])
    return signs if set(signs) == {SIGN[PRINTED[name].ticks[column]]} else f"**{signs}**"


if other_table:
    rows = [[name, *(by_outputs(name, column) for column in range(4))] for name in TABLE_1]
    show.table(["method", *headings], rows, caption="Table 1 if fillers may be outputs, cells by seed")

# %% [markdown]
# ## How we checked
#
# For each column, we count the cells that agree with the paper. We compare the losses in six rows with their closed
# forms. As a control, a column must fail when Origin models replace reparameterised ones.

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

# %%
half_way = {f"{name}, α = {alpha}": max(above(one, name, alpha) for one in by_seed) for name in edge for alpha in noise}
text_left, outputs_left = (
    {f"seed {seed}": one.end("population", changed, 0.0, fast[0]) / math.log(4) for seed, one in enumerate(found)}
    for found in (as_in_text, among_outputs)
)
text_noisy = {f"α = {alpha}": median(above(one, changed, alpha, fast) for one in as_in_text) for alpha in noise}
rest = [name for name in TABLE_1 if name != changed]
judged = [rest, [n for n in rest if n != tried], [n for n in rest if n not in edge], rest]

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
# <details><summary>Method notes</summary>
#
# *Margin.* At the paper's batch of 512, a loss is near its target if at most 0.1 of the gap between plateau and target
# remains. At other batches we allow $0.1\sqrt{512/\text{batch}}$, because steps of fixed length along noisier gradients
# keep a loss farther away. Five models end close to this margin, so we require only that they close half of the gap.
#
# *Full size.* With batch 512, 2000 steps and five seeds, we reproduce 50 of the 52 cells under either rule for the
# fillers. With the fillers of the paper's text, only the row of Origin-Softmax-F differs; one of its five runs at
# $\alpha=0.8$ stays on its plateau. If fillers may be outputs, two models miss the Bayes risk by up to 0.15 of the gap
# at some seeds. The cell of Reparam-Linear-W-FA without noise then agreed with the paper at two, four or five of five
# seeds, depending on the processor.
#
# *Cells that we judge elsewhere.* Rounding harms Reparam-Linear-W-FA only late in training, so [Section
# 5.2](section_5_2_arithmetic.ipynb) judges its second cell. We judge Origin-Softmax-F by its longer runs, and with
# noise by their median.
#
# *Start.* All models begin at zero. From small random weights, Origin-Linear-F leaves its saddle ([Section
# 5](section_5_variants.ipynb)). We did not test what such a start does to other rows.
#
# </details>
#
# ## Where the paper differs
#
# The row of Origin-Softmax-F differs from the paper's, so we reproduce the table only in part. A separate claim states
# what we find in this row.
#
# <!-- claim in-context-reasoning/table-1-fillers -->
# <blockquote>
#
# **Table 1 (The fillers decide one row)** *Table 1; Section 5*
#
# With fillers that are neither triggers nor outputs, Origin-Softmax-F reaches loss 0 in the noiseless task and, in most
# runs, comes near the Bayes risk in the noisy one. If fillers may be outputs, it does not reach loss 0 in the same
# number of steps.
#
# <details><summary>Chosen after a run</summary>
#
# We chose to judge the noisy task by the median run after we saw one run of five stay on its plateau.
#
# </details>
#
# </blockquote>
# <!-- /claim -->

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
# ## What to remember
# - Many models learn the task, but only fully reparameterised ones also predict words that were never answers.
# - A table of ticks depends on a margin, on the fillers and on rounding. At full size, 50 of 52 cells agree with the
#   paper.
# - A row can change because the task offers a shortcut: here, the answer is the only output word in the sentence.
#
# ## Exercises
#
# 1. *By hand.* A model knows the four answers and the noise level $\alpha=0.5$, but not which answer is right. How
#    far is its loss above the Bayes risk?
#    <details><summary>Solution</summary>
#
#    The label is an answer half of the time. Then the loss is $\ln4$ higher than that of a model that knows the answer.
#    The distance is $(1-\alpha)\ln4=\frac12\ln4\approx0.69$.
#
#    </details>
# 2. *Predict, then run.* Set `steps = 200`. Does Origin-Softmax-FA keep its two ticks?
#    <details><summary>Solution</summary>
#
#    No. After 200 steps it is still close to its plateau, so its ticks are missing.
#
#    </details>
#
# Next: [Figure 1](figure_1_losses.ipynb), because a tick says where a loss ends but not how it gets there.

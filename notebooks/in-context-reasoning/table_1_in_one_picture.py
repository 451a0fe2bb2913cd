# %% [markdown]
# # Table 1 · The whole table in one picture
# *Nguyen, Nguyen-Tang: Table 1, Sections 5.1 and 5.2.*
#
# The paper trains thirteen small transformers on the same task. Its table of ticks and dashes shows which models learn
# the task, and which of them also handle answers that never occurred as answers in training. The table does not say
# why. Could we have predicted the ticks? We train all thirteen models on a small version of the task, draw the table as
# one picture, and ask four questions about each model.

# %%
import math
from dataclasses import replace

from attention_theory.in_context_reasoning.causes import Answers, best_known, descend_from_zero, logits_at
from attention_theory.in_context_reasoning.closed_form import bayes_risk, closed_end, gap_to_bayes, odds
from attention_theory.in_context_reasoning.model import forward
from attention_theory.in_context_reasoning.table_1 import PRINTED
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, TrainingRun
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
tokens = 30  # size of the vocabulary with the noise word, at least 15
length = 32  # H, at least 16
batch = 32  # sentences per step, at least 16
steps = 200  # T, at least 150
seed = 0  # seed of every draw, at least 0
fillers = "neutral"  # as in the paper's text, one of "neutral", "outputs allowed"
device = "cpu"  # where the models of the picture are trained, one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 150, None),
    seed=(seed, 0, None),
    fillers=(fillers, {"neutral", "outputs allowed"}),
    device=(device, {"cpu", "cuda"}),
)
noise, rates = [0.2, 0.5], [0.1, 0.5]
seeds = streams(seed, 4)
quiet, noisy = (Task(tokens, length=length, noisy=flag, fillers=fillers) for flag in (False, True))
numbers = [name for name in TABLE_1 if VARIANTS[name].trained == "scales"]
origins = [name for name in TABLE_1 if VARIANTS[name].trained == "all"]
tried = "Reparam-Linear-W-FA"

# %% [markdown]
# ## A tiny example
# Read this sentence and guess the next word:
#
# > red **door** *seven* green lamp **door** → ?
#
# You probably guess *seven*. The last word, *door*, is the **trigger**. It occurred before, and the word that followed
# it there, the **output**, comes next again.

# %%
fig, axis = schematic.canvas(7.0, 1.6)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "lamp", "door", "?"], at=(1.9, 0.9), lit=[2, 6])
schematic.arrow(axis, tops[5], tops[2], "the word after the earlier door", bend=-0.2)
for place, role in ((1, "trigger"), (2, "output"), (5, "trigger"), (6, "next")):
    schematic.text(axis, (tops[place][0], 0.5), role, schematic.QUIET, 9)
show.figure(
    fig,
    name="sentence",
    caption="One sentence of the task. The arrow points to the answer.",
    alt="The words red, door, seven, green, lamp, door and a question mark in boxes. An arrow leads from the second "
    "door, the last word, back to seven, the word after the first door.",
)

# %% [markdown]
# We see an arrow from the final *door* to *seven*, the word after the earlier *door*. This single look-up solves the
# task. A model can still fail in four ways, as small numbers show.
#
# A model gives each word a *logit*, its score as the next word. Suppose that eleven of twelve words have logit 0. If
# *seven* has logit $\xi$, its probability is $e^\xi/(e^\xi+11)$:
#
# | logit of *seven* | 0 | 1 | 5 | 10 |
# | --- | --- | --- | --- | --- |
# | probability of *seven* | 0.08 | 0.20 | 0.93 | 0.9995 |
#
# We conclude that (a) training has to leave its starting point, where all logits are 0, and (b) the logit of the answer
# has to grow without bound: a model in which it cannot exceed 1 is stuck at a probability of 20 %.
#
# In the noisy task, a *noise word* $\tau$ comes next with probability $\alpha$ instead of the output, and it has also
# followed the trigger once before. At $\alpha=1/2$, the logits of *seven* and $\tau$ must therefore rise together (c).
# If the logit of *seven* rises to 5 and that of $\tau$ stays at 0, then $\tau$ has a probability of 1/160, although 1/2
# is right.
#
# Finally, replace *seven* by *nine*, a word that was never an answer in training. This makes no difference to a model
# that looks up the word after the trigger, but it does to a model that has learned its answers word by word (d).
#
# ### How to read a name
# All models have one layer. Attention uses a matrix $W$ to collect words of the sentence and a matrix $V$ to turn them
# into logits. A feed-forward layer adds further logits with a matrix $F$.
#
# | part of a name | meaning |
# | --- | --- |
# | Origin | $V$, $W$ and $F$ are trained, from zero |
# | Reparam | these matrices have the form of the paper's lemmas, and one number $\lambda$ per trigger is trained |
# | Reparam-…-W | $V$ and $F$ have that form, and all of $W$ is trained |
# | Linear, ReLU, Softmax | how scores become attention weights |
# | FA, F | the feed-forward layer sees the last two words, $x_H$, with what attention collected (FA) or alone (F) |
#
# <details><summary>Inputs, scores, and the form of the lemmas</summary>
#
# The input $x_h$ at position $h$ has a 1 for the word at that position and another 1 for the word before it, and $x_H$
# is the input at the last position. Position $h$ has score $x_H^\top Wx_h$, and attention collects the weighted sum of
# the $x_h$. There are $N$ words besides $\tau$. The lemmas solve the task with weights written by hand. In the lemmas,
# the matrix $W$ gives score $\lambda$ to what follows the trigger and 0 to $\tau$. The matrix $V$ is the identity, so
# the logit of a word is the total attention weight that the word gets. Without noise, the matrix $F$ is 0. With noise,
# $F$ gives $\tau$ logit $\gamma=\ln\frac\alpha{1-\alpha}$. If $F$ sees what attention collected, it also adds the logit
# of the output.
#
# </details>
#
# Four questions decide how each of these models does in the two tasks.

# %%
QUESTIONS = [
    ("a  Does training\nleave its start?", "Origin-Linear-F:\nhigh loss in both tasks"),
    ("b  Can the output's\nlogit keep growing?", "Reparam-Softmax models:\nhigh loss in both tasks"),
    ("c  Can the noise\nword keep up?", "Reparam-Linear-F, Reparam-ReLU-F:\nhigh loss with noise"),
    ("d  Are all words\ntreated alike?", "Origin models, Reparam-Linear-W-FA:\nunseen words are lost"),
]
GAINS = ["", "no noise: loss 0", "noise: lowest loss", "unseen words: as good as trained ones"]

# %%
fig, axis = schematic.canvas(6.0, 4.0)
for row, ((question, stopped), gain) in enumerate(zip(QUESTIONS, GAINS, strict=True)):
    y = 6.9 - 1.85 * row - 0.35 * (row == 3)
    schematic.tokens(axis, [question], at=(0.4, y), lit=[0], step=4.6)
    schematic.arrow(axis, (4.8, y + 0.45), (7.0, y + 0.45), "no", colour=schematic.VERMILION)
    schematic.text(axis, (7.3, y + 0.45), stopped, size=9, align="left")
    down = y - (0.95 if row < 2 else 0.6)
    schematic.arrow(axis, (2.55, y), (2.55, down))
    schematic.text(axis, (2.8, y - 0.42), f"yes   {gain}", schematic.BLUE, 9, "left")
show.figure(
    fig,
    name="questions",
    caption="The four questions. A model that passes a and b can reach loss 0 without noise. If it also passes c, it "
    "can reach the lowest loss with noise. Question d is separate and decides only how the model does on "
    "unseen words.",
    alt="Three boxes with questions a, b and c, joined by arrows with yes; an arrow with no leads from each to the "
    "models that stop there. Question d is apart, with arrows yes and no of the same kind.",
)

# %% [markdown]
# We see a path of three questions, and a separate fourth one. One model does not fit this scheme. According to the
# questions, Origin-Softmax-F should behave like other Origin models, but in the paper's table it does not.
#
# ## The paper states
# <!-- claim in-context-reasoning/table-1-causes -->
# <blockquote>
#
# **Table 1 (Four questions that decide the table)** *Table 1; Sections 5.1 and 5.2*
#
# **The paper states.** Two models are re-parameterized with softmax attention, which does not allow the logits of
# output words to be arbitrarily larger. Five of six failing models on noisy setting use only $x_H$: adding the
# attention-weighted sum plays an important role. From Table 1, we consistently observe that the ability to generalize
# to unseen output words is unique to the fully-reparameterized models.
#
# <details><summary>Chosen after a run</summary>
#
# We set the bound of (c), which is the shift of ReLU attention, after first runs.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We observe the same in an ordinary training loop, the paper's setting. Such a loop computes
# gradients by subtraction, and without label noise they round to zero. With exact gradients and no label noise,
# Reparam-Linear-W-FA generalises too.
#
# Four questions decide every row of Table 1 except Origin-Softmax-F and one cell of Reparam-Linear-W-FA (unseen words
# without noise), which depends on rounding.
#
# - (a) Does descent from zero move $W$? In Origin-Linear-F it does not.
# - (b) Can the logit of the output grow without bound? Under softmax attention with $V$ fixed, it is at most 1.
# - (c) Can the logit of $\tau$ follow it? If $F$ has the form of Lemma 4.1 and sees only $x_H$, it cannot.
# - (d) Does the model treat a word that was never an output like an output? Models that train one number per
#   trigger do. Origin models with softmax or ReLU attention, started at zero, give it a probability of at most
#   $1/N$ at all times.
#
# With linear or ReLU attention, a loss of 0 requires (a); with any attention it requires (b). Reaching the Bayes risk,
# the lowest loss with noise, also requires (c). The cells for unseen words follow (d).
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# - **a. The start.** At zero weights, nothing reads what attention collects, so the gradient in $W$ is zero. In most
#   models the first step changes $V$ or $F$, and then $W$ has a gradient. In Origin-Linear-F it does not, because
#   linear attention with $W=0$ collects nothing, so the gradient in $V$ is also zero.
# - **b. The output.** With $V$ fixed, the logit of a word is the total attention weight on it. Softmax weights add up
#   to 1, so this logit is at most 1.
# - **c. The noise word.** The construction keeps attention away from $\tau$. Where $F$ sees only the last words, the
#   logit of $\tau$ is therefore the constant $\gamma=\ln\frac\alpha{1-\alpha}$, and the output overtakes it. A
#   *trained* $V$ can raise the logit of $\tau$, which is why Origin-ReLU-F passes although its $F$ sees only the last
#   words.
# - **d. Unseen words.** One number $\lambda$ per trigger serves all words alike. A trained matrix has separate entries
#   for each word, and training can only push down those of a word that is never the answer.
#
# <details><summary>Proof for Origin-Linear-F</summary>
#
# With $W=0$ the attended sum $\sum_h(x_H^\top Wx_h)x_h$ is 0, and so is the gradient in $V$, which is a product with
# this sum. With $V=0$ nothing reads the sum, as $F$ sees only $x_H$, so the gradient in $W$ is 0. By induction, both
# matrices stay 0. $\square$
#
# </details>
#
# <details><summary>Proof for softmax attention with V fixed</summary>
#
# With $V=I$, attention gives $y$ a logit equal to the sum of the attention weights at the positions of $y$. Softmax
# weights are positive and add up to 1, so this logit is at most 1, and in the noiseless task $F=0$. The other $N-1$
# words have logits of at least 0, so the loss is at least $\ln(1+(N-1)/e)$. $\square$
#
# </details>
#
# <details><summary>Proof for Origin models, softmax and ReLU attention, and for Origin-Linear-F</summary>
#
# For a word $w$ that is never the label, the derivative of the loss with respect to its logit is its probability
# $p_w\ge0$. A step changes the row of $w$ in $V$ by $-p_w$ times the attended sum, and in $F$ by $-p_w$ times what $F$
# sees, averaged over sentences, times a positive rate. In the codes of words all these sums have entries of at least 0,
# as weights of softmax and ReLU attention are not negative. (For Origin-Linear-F the attended sum is 0.) Starting from
# zero, both rows therefore never have a positive entry, and the logit of $w$ is at most 0. The derivatives with respect
# to all logits of a sentence add up to 0, so the columns of $V$ and $F$ each sum to 0, and so do the logits $\xi_j$ of
# all words in any sentence. There are $N$ of these words, or $N+1$ with $\tau$. Then $\ln\sum_je^{\xi_j}\ge\ln N$ by
# convexity, and $p_w\le1/N$. $\square$
#
# </details>
#
# <details><summary>Proof that Reparam-Linear-W-FA generalises with exact gradients and no noise</summary>
#
# On the instance of [Theorem 3.4](theorem_3_4_direction.ipynb) with $m$ outputs, exact descent on $W$ alone tends to
# the direction in which $W^\top x_H$ is along $\sum_iE(y_i)+m\tilde E(q)$. There an output after $q$ has a logit of
# $m+1$ units, a neutral word in its place one of $m$ units, and all other words have 0. As the length of $W_t$ tends to
# infinity, the loss on unseen words tends to 0 as well. On the task of this page we run it below. $\square$
#
# </details>
#
# ## See it run
# ### The picture
# We train all thirteen models on shorter sentences, with fewer words and fewer steps than in the paper. Each run takes
# steps of fixed length along the gradient (*normalised gradient descent*). We use two learning rates and keep the
# better result. With noise we use $\alpha=0.2$ and $0.5$ and keep the worse result.
#
# The task has four output words, so a model that knows the task but not the output has a loss that is $(1-\alpha)\ln4$
# above the lowest possible one. We report what fraction of this *gap* remains: 1 for this model and 0 at the lowest
# loss. For unseen words, we report the difference between the losses on unseen and on trained words, in units of the
# gap. A model that is equally bad on both kinds of words therefore has 0 here, and a tick in the paper.

# %%
levels = [0.0, *noise]
mixed = Task(tokens, length=length, fillers=fillers)
history = train_grid(TABLE_1, mixed, levels, rates, steps, batch, [seeds[1]], evaluation=128, device=device)[0]


def remaining(name, alpha):
    """The fraction of the gap that remains, and how far unseen words are from trained ones, at the better rate."""
    loss, best = min((history.end("population", name, alpha, eta), eta) for eta in rates)
    apart = abs(history.end("unseen", name, alpha, best) - loss)
    return (loss - bayes_risk(alpha)) / gap_to_bayes(alpha), apart / gap_to_bayes(alpha)


def four(name):
    """The four columns of the table; the noisy ones at the worse noise level."""
    with_noise = zip(*(remaining(name, alpha) for alpha in noise), strict=True)
    return [*remaining(name, 0.0), *map(max, with_noise)]


fractions = {name: four(name) for name in TABLE_1}

# %% [markdown]
# A cell of our run gets a tick if its fraction is at most 0.4. We group the rows by the question that decides them.

# %%
GROUPS = {
    "all four: yes": ["Reparam-Linear-FA", "Reparam-ReLU-FA"],
    "c  noise word\ncannot follow": ["Reparam-Linear-F", "Reparam-ReLU-F"],
    "b  logit is\nat most 1": ["Reparam-Softmax-F", "Reparam-Softmax-FA"],
    "d  words are\nlearned one\nby one": [
        "Origin-Softmax-FA",
        "Origin-Linear-FA",
        "Origin-ReLU-F",
        "Origin-ReLU-FA",
        tried,
    ],
    "d, and the rest\nof the sentence": ["Origin-Softmax-F"],
    "a  never leaves\nthe start": ["Origin-Linear-F"],
}

# %%
margin = 0.1 * math.sqrt(512 / batch)
heights, middles, at = {}, {}, 0.0
for cause, names in GROUPS.items():
    heights |= {name: at + row for row, name in enumerate(names)}
    middles[cause] = at + (len(names) - 1) / 2
    at += len(names) + 0.35


def differing(name):
    """Columns in which our small run differs from the paper."""
    return [column for column in range(4) if (fractions[name][column] <= margin) != PRINTED[name].ticks[column]]


# %%
fig, axis = show.axes(width=4.7, height=5.6)
for name, height in heights.items():
    for column, (fraction, tick) in enumerate(zip(fractions[name], PRINTED[name].ticks, strict=True)):
        shade = min(max(fraction, 0.0), 1.0)
        axis.barh(height, 0.94, 0.94, column + 0.03, color=show.COLOURS[0], alpha=0.07 + 0.88 * shade)
        ink = "white" if shade > 0.6 else "black"
        axis.text(column + 0.5, height, "✓" if tick else "–", ha="center", va="center", color=ink)
        if column in differing(name):
            axis.barh(height, 0.84, 0.84, column + 0.08, fill=False, edgecolor=show.COLOURS[1], linewidth=2)
for cause, middle in middles.items():
    axis.text(4.2, middle, cause, va="center", fontsize=8.5)
axis.set(xlim=(0, 6.5), ylim=(at - 0.7, -1.5))
axis.text(1, -1, "no noise", ha="center", fontsize=8.5)
_ = axis.text(3, -1, "noise", ha="center", fontsize=8.5)

# %%
heads = ["loss\n0", "unseen\nwords", "lowest\nloss", "unseen\nwords"]
axis.set_xticks([0.5, 1.5, 2.5, 3.5], heads, fontsize=8.5)
axis.set_yticks(list(heights.values()), list(heights), fontsize=8.5)
axis.tick_params(length=0)
axis.grid(visible=False)
axis.spines[:].set_visible(False)
show.figure(
    fig,
    name="picture",
    caption="Table 1 as one picture. Ticks and dashes are the paper's; the colour is our small run's. The loss "
    "columns show how much is left to learn, and those of unseen words how much worse the model does on them than on "
    "trained words: nothing in a faint cell, all in a deep cell. A frame marks cells in which our run differs. To "
    "the right of each row is the question that decides it.",
    alt="A grid of thirteen models by four columns, in six groups. Two models are faint in all columns, two deep in "
    "the third, two in the first and third. Five of the Origin models are deep in both columns of unseen words alone; "
    "two cells of Origin-Softmax-F are framed. Origin-Linear-F is deep in all. Reparam-Linear-W-FA is deep for unseen "
    "words without noise, and of a middle colour with noise.",
)

# %% [markdown]
# We see ticks in faint cells and dashes in deep cells, with two exceptions, which are framed. The models in the top two
# rows succeed everywhere. Below them, each group of rows fails in the columns that its question decides.

# %%
show.table(
    ["model", "no noise: loss", "unseen words", "noise: loss", "unseen words", "framed"],
    [[name, *(f"{fraction:.2f}" for fraction in fractions[name]), len(differing(name))] for name in heights],
    caption="The fraction of the gap that remains: 0 at the lowest loss, 1 for a model that does not know the output",
)

# %% [markdown]
# ### Question a
# We train the Origin models again and record the norm of the gradient in each matrix. ReLU attention adds a shift of
# $10^{-8}$ here, so it gives this weight to every word.

# %%
trained = {
    alpha: descend_from_zero(TABLE_1, task, alpha, 0.1, steps, batch, seeds[2])
    for task, alpha in ((quiet, 0.0), (noisy, 0.2))
}
show.table(
    ["model", *(f"{when}: gradient in {matrix}" for when in ("start", "second step") for matrix in "VWF")],
    [[name, *trained[0.0][name].gradient_norms[:2].flatten().tolist()] for name in origins],
    caption="Length of the gradient of the loss, without noise",
)

# %% [markdown]
# All steps have the same length, so any nonzero gradient is enough. Only in Origin-Linear-F are the gradients in $V$
# and $W$ zero, and its $F$ learns only how frequent the outputs are. Origin-Linear-FA also starts at zero but leaves
# this start, because its $F$ reads what attention collects. A start at small random numbers would also free
# Origin-Linear-F ({doc}`section_5_variants`).
#
# ### Questions b and c
# We give each model the best weights that we know for it, first with $\lambda=4$ and then with $\lambda=40$. By how
# much do the logits of the output and the noise word grow?

# %%
sentences = sample_sentences(quiet, 128, seeds[3])
with_noise = sample_sentences(noisy, 128, seeds[3])


def rise(name, of_noise=False):
    """By how much a logit grows in the best weights known from λ = 4 to λ = 40, smallest over sentences."""
    task, on, alpha = (noisy, with_noise, 0.2) if of_noise else (quiet, sentences, 0.0)
    word, which = task.noise_token if of_noise else None, VARIANTS[name].architecture()
    low, high = (logits_at(on, best_known(VARIANTS[name], task, at, alpha), which, word) for at in (4.0, 40.0))
    return (high - low).min().item()


show.table(
    ["model", "logit of the output", "logit of the noise word"],
    [[name, rise(name), rise(name, True)] for name in TABLE_1],
    caption="By how much logits grow from λ = 4 to λ = 40 in the best weights known",
)

# %% [markdown]
# With softmax attention and $V$ fixed, the logit of the output grows only by 0.3, and then the output has all the
# attention. In Reparam-Linear-F and Reparam-ReLU-F, the logit of the output grows and that of the noise word does not.
# The best compromise then stays $\alpha\ln(1+(N-1)e^{-\gamma})$ above the lowest loss.
#
# ### Question d
# In each sentence, we replace the output everywhere by a word that was never an answer. Then we compare the logits of
# the two words.


# %%
def both_ways(name, alpha):
    """The mean logit of the answer, and that after the exchange with a word that never was one."""
    task, on = (noisy, with_noise) if alpha else (quiet, sentences)
    done = trained[alpha][name]
    swapped = on.exchange(task.neutral_words.start)
    return [logits_at(each, done.weights, done.architecture).mean().item() for each in (on, swapped)]


# %%
def most(name, alpha):
    """The largest probability of a word that never was an answer."""
    on, task = (with_noise, noisy) if alpha else (sentences, quiet)
    done = trained[alpha][name]
    largest = []
    for word in task.neutral_words:
        logits = forward(on.exchange(word).tokens, done.weights, done.architecture).logits
        largest.append(math.exp((logits[:, word] - logits.logsumexp(dim=-1)).max().item()))
    return max(largest)


never = {f"{name}, α = {alpha}": most(name, alpha) for name in origins for alpha in trained}
show.table(
    ["model", "no noise: trained", "no noise: unseen", "noise: trained", "noise: unseen"],
    [[name, *both_ways(name, 0.0), *both_ways(name, 0.2)] for name in TABLE_1],
    caption="Logit of the answer, for a trained word and for one that was never an answer",
)

# %% [markdown]
# The Reparam models that train one number per trigger give both words the same logit. The Origin models push the logits
# of unseen words *down*, so that their probability is at most $1/N$. Origin-Linear-FA does the same, although our proof
# does not cover it. Reparam-Linear-W-FA is between these cases: its $W$ learns partly which position follows the
# trigger, which serves all words, and partly which words are outputs ({doc}`theorem_3_4_direction`). Without noise this
# is enough if gradients are exact. We train Reparam-Linear-W-FA and Origin-Linear-FA once more, at the larger rate and
# with gradients that do not round to zero.

# %%
exact_runs = [TrainingRun(VARIANTS[name], 0.0, 0.5) for name in (tried, "Origin-Linear-FA")]
with_exact = train(exact_runs, quiet, steps, batch, seeds[1], evaluation=128, measured=["population", "unseen"])
above = {
    run.variant.name: (
        with_exact.end("unseen", run.variant.name, 0.0, 0.5) - with_exact.end("population", run.variant.name, 0.0, 0.5)
    )
    / gap_to_bayes(0.0)
    for run in exact_runs
}
for name, fraction in above.items():
    print(f"{name}, exact gradients: on unseen words the loss is {fraction:.2g} of the gap higher")

# %% [markdown]
# With exact gradients, Reparam-Linear-W-FA generalises, and Origin-Linear-FA does not. The paper's dash in this cell is
# an effect of rounding ({doc}`section_5_2_arithmetic`).
#
# ### Four answers, 52 cells
# Now we read the four answers off the numbers, and let them predict the table.


# %%
def answers(name):
    """The answers of a model to the four questions."""
    pairs = [both_ways(name, alpha) for alpha in trained]
    return Answers(
        leaves=all(bool(trained[alpha][name].gradient_norms[:2, 1].max() > 0) for alpha in trained),
        grows=rise(name) > 1,
        follows=rise(name, True) >= 0.9 * rise(name) - 0.1,
        alike=all(abs(seen - unseen) <= 1e-9 * abs(seen) for seen, unseen in pairs),
    )


answered = {name: answers(name) for name in TABLE_1}


# %%
def agreeing(names, **without):
    """Cells in which the rule agrees with the paper; an answer can be set to yes in all rows."""
    rows = {name: replace(answered[name], **without).cells.ticks for name in names}
    return [
        (name, column) for name in names for column in range(4) if rows[name][column] is PRINTED[name].ticks[column]
    ]


def decided(**without):
    """How many of the cells that the rule decides agree."""
    others = [name for name in TABLE_1 if name != "Origin-Softmax-F"]
    return len(set(agreeing(others, **without)) - {(tried, 1)})


# %%
SIGN = {True: "✓", False: "–"}
show.table(
    ["model", "a leaves", "b grows", "c follows", "d alike", "the rule", "the paper"],
    [
        [name, *(SIGN[bool(answer)] for answer in (each.leaves, each.grows, each.follows, each.alike))]
        + [" ".join(SIGN[tick] for tick in cells.ticks) for cells in (each.cells, PRINTED[name])]
        for name, each in answered.items()
    ],
    caption="Answers, and the row that they predict",
)

# %% [markdown]
# The last two columns differ in only one row.
#
# According to this rule, Origin-Softmax-F learns both tasks, and in our run it does. The difference is due to the
# *fillers*, the other words of a sentence, which according to the paper's text are never outputs. The answer is then
# the only output word in the sentence, and attention need not look for the trigger. If fillers may be outputs and
# sentences are long, we reproduce the paper's dashes ({doc}`table_1_thirteen_models`).

# %%
RULES = {"neutral fillers": "neutral", "outputs as fillers": "outputs allowed"}
alone = {
    rule: (sample_sentences(replace(quiet, length=256, fillers=code), 200, seeds[3]), replace(quiet, fillers=code))
    for rule, code in RULES.items()
}


def revealing(rule):
    """The fraction of sentences of 256 words whose only output word is the answer."""
    on, task = alone[rule]
    words = on.tokens
    others = (words >= task.output_words.start) & (words < task.output_words.stop) & (words != on.output[:, None])
    return (~others.any(dim=1)).double().mean().item()


for rule in alone:
    print(f"{rule}, 256 words: the only output word is the answer in a fraction of {revealing(rule):.2f}")

# %% [markdown]
# ## How we checked
# Each question has a check with a control. The trained models must satisfy what the proofs say, and the losses must
# agree with their closed forms. The rule must agree with the paper in 47 cells, and must no longer agree if we leave
# out any question.

# %%
off = {
    f"{name}, α = {alpha}": abs(
        history.end("population", name, alpha, 0.1 if alpha else 0.5) - closed_end(name, alpha, tokens)
    )
    for name in numbers
    for alpha in levels
}
as_full = abs(history.end("population", "Reparam-Linear-F", 0.2, 0.1) - closed_end("Reparam-Linear-FA", 0.2, tokens))
still = {f"α = {alpha}": trained[alpha]["Origin-Linear-F"].gradient_norms[:, :2].max() for alpha in trained}


# %%
def largest(name):
    """The largest logit of the answer after training without noise."""
    return logits_at(sentences, trained[0.0][name].weights, trained[0.0][name].architecture).max()


def moved(name):
    """How far training has moved the logit of τ from γ, largest over sentences."""
    done = trained[0.2][name]
    return (logits_at(with_noise, done.weights, done.architecture, noisy.noise_token) - odds(0.2)).abs().max()


exact = {f"{name}, α = {alpha}": abs(float.__sub__(*both_ways(name, alpha))) for name in numbers for alpha in trained}
bounded = {name: largest(name) for name in numbers if "Softmax" in name}
fixed = {name: moved(name) for name in ("Reparam-Linear-F", "Reparam-ReLU-F")}
pushed = {name: tokens * probability for name, probability in never.items()}
kept = "exact gradients, no noise: unseen minus population loss, share"

# %%
claim = Claim("in-context-reasoning/table-1-causes")
claim.equal("a: Origin-Linear-F, slopes in V and W in all steps, largest", still, 0.0)
claim.control.equal("a: Origin-Linear-FA, the same", trained[0.0]["Origin-Linear-FA"].gradient_norms[:, :2].max(), 0.0)
claim.at_most("b: softmax, V fixed: logit of the answer", bounded, 1 + 1e-12)
claim.control.at_most("b: Reparam-Linear-FA, the same", largest("Reparam-Linear-FA"), 1 + 1e-12)
claim.at_most("b, c: fully reparameterised: losses minus closed forms", off, 2e-2)
claim.control.at_most("b, c: Reparam-Linear-F at the closed form of FA", as_full, 2e-2)
claim.at_most("c: linear and ReLU, F: logit of the noise word minus γ", fixed, 1.001e-8)
claim.control.at_most("c: Reparam-Linear-FA, the same", moved("Reparam-Linear-FA"), 1.001e-8)
claim.at_most("d: one number a trigger, logits of both words apart", exact, 1e-9)
claim.control.at_most(f"d: {tried}, the same", abs(float.__sub__(*both_ways(tried, 0.0))), 1e-9)
claim.at_most("d: Origin models, N times the probability of unseen words", pushed, 1)
claim.control.at_most(f"d: {tried}, the same", tokens * most(tried, 0.0), 1)
claim.at_least(f"Origin-Linear-FA, {kept}", above["Origin-Linear-FA"], 0.1)
claim.control.at_least(f"{tried}, {kept}", above[tried], 0.1)
claim.equal("the rule: cells as printed, of 47", decided(), 47)
for letter, question in zip("abcd", ("leaves", "grows", "follows", "alike"), strict=True):
    claim.control.equal(f"the rule without {letter}", decided(**{question: True}), 47)
claim.number("the rule: cells as printed, of 52", len(agreeing(TABLE_1)))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The 47 of 52 cells are those of all rows except Origin-Softmax-F, without the cell of Reparam-Linear-W-FA for unseen
# words without noise. In that cell the rule agrees with the paper for the wrong reason. With exact gradients, the logit
# of an unseen word also grows, only more slowly, and the loss on it decreases. The paper's dash is an effect of
# rounding in long runs ({doc}`table_1_thirteen_models`). With noise, rounding is not the cause.
#
# Softmax attention collects all words equally while $W=0$. With the fillers of the paper's text, a trained $V$ then
# needs no trained $W$: $V=rH\sum_{y\in\mathcal O}E(y)E(y)^\top$ gives the output logit $r$ and all other words 0. This
# is why (a) is required for linear and ReLU attention alone.
#
# The thresholds follow from the proofs, except the one for the losses, which we take from the page about {doc}`Table 1
# <table_1_thirteen_models>`. In question c the threshold is the shift of ReLU, which gives $\tau$ a weight of that
# size. We set it after first runs. We leave Reparam-Softmax-F out of question c, because softmax leaves a little weight
# on $\tau$ (less as $\lambda$ grows), and question b has already decided this model.
#
# At the paper's batch size of 512 sentences, a loss gets a tick if at most 0.1 of the gap remains. For other batch
# sizes we scale this margin to $0.1\sqrt{512/\text{batch}}$. With the wide margin of a small batch, a real dash may
# pass as a tick.
#
# Without noise, we compare losses at the larger learning rate, so that the loss gets low enough. With noise, we use the
# smaller rate, because a large step would oscillate around the minimum.
#
# </details>
#
# ## Where the paper differs
# The paper gives the reason behind question b. It also notes that five of the six models that fail with noise have the
# variant F. Question c, which is about this, decides only two of the five. The paper does not explain why models fail
# on unseen words.
#
# ## What to remember
# - A model reaches loss 0 only if the logit of the output can grow without bound. With noise, it reaches the lowest
#   loss only if the logit of the noise word can follow that of the output.
# - A model handles unseen words if its weights treat all words alike. Training each word separately is worse for unseen
#   words than learning nothing, because it pushes down every word that was never an answer.
# - From a model's form and its first two steps, you can often predict what it will learn.
#
# ## Exercises
#
# 1. *By hand.* Take a vocabulary of 30 words, softmax attention, $V$ fixed and no noise. What is the largest
#    probability that the output can get, and how low can the loss be?
#    <details><summary>Solution</summary>
#
#    The logit of the output is at most 1, and the other logits are at least 0. The probability is therefore at most
#    $e/(e+29)\approx 0.086$, and the loss is at least $\ln(1+29/e)\approx 2.46$. The table above shows this loss as
#    1.77, because the gap without noise is $\ln4$ and $2.46/\ln 4\approx1.77$.
#
#    </details>
# 2. *Predict, then run.* Set `fillers = "outputs allowed"`, so that a sentence has other output words than the answer.
#    Which row loses a frame, and why?
#    <details><summary>Solution</summary>
#
#    The row of Origin-Softmax-F loses a frame. Attention that is spread over all words no longer finds the answer. With
#    noise, the fraction rises from 0.11 to 0.80, where the paper has a dash. The row of Reparam-Linear-W-FA gains a
#    frame, because in this run rounding does not affect unseen words (0.00 instead of 1.22).
#
#    </details>
#
# Next: [Table 1, thirteen models](table_1_thirteen_models.ipynb). How certain is each tick, and how does the table look
# at the paper's size?

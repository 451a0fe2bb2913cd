# %% [markdown]
# # Table 1 · The whole table in one picture
# *Nguyen, Nguyen-Tang: Table 1, Sections 5.1 and 5.2.*
#
# A sentence ends in a *trigger* word. The same trigger stood earlier in the sentence, and the word after it, the
# *output*, is what comes next. In the noisy task a *noise word* $\tau$ comes next in its place with probability
# $\alpha$, and earlier in the sentence $\tau$ has followed the trigger as well.
#
# The paper trains thirteen small transformers on this task and prints a table of ticks and dashes: which of them learn
# it, and which of them can do it for output words that never were answers in training. This page needs nothing of the
# others. It shows that table as one picture, and asks why each cell is as it is. Four questions turn out to be enough
# but for one row and one cell. How the table was reproduced, and how sure each tick is, is told in
# {doc}`table_1_thirteen_models`.
#
# All models have one layer: attention, which collects words of the sentence by a matrix $W$ and turns them into scores
# of the next word (*logits*) by a matrix $V$, and a feed-forward layer, a matrix $F$. A name says three things.
#
# | part of a name | what it says |
# | --- | --- |
# | Origin | $V$, $W$ and $F$ are trained, from zero |
# | Reparam | they have the form of the paper's lemmas, and one number $\lambda$ for each trigger is trained |
# | Reparam-…-W | $V$ and $F$ have that form, and all of $W$ is trained |
# | Linear, ReLU, Softmax | how scores become weights of attention |
# | FA, F | the feed-forward layer sees the last two words and what attention collected (FA), or these words alone (F) |
#
# Words are vectors. The input $x_h$ at position $h$ has a one at the word there and another one at the word before it,
# and $x_H$ is the input at the end, where the trigger is. Position $h$ has the score $x_H^\top Wx_h$; scores become
# weights, and what attention collects is the sum of the $x_h$ by weight. There are $N$ words beside $\tau$. *The form
# of the lemmas* solves the task by hand. Its $W$ gives the score $\lambda$ to what follows the trigger, but 0 to
# $\tau$. Its $V$ is the identity, so that the logit of a word is the attention that it gets. Its $F$ is 0 without
# noise; with noise it speaks for $\tau$ alone, and gives it the logit $\gamma=\ln\frac\alpha{1-\alpha}$; if it sees
# what attention collected, it adds to this the logit of the output $y$.

# %%
import math
from dataclasses import replace

from attention_theory.in_context_reasoning.closed_form import bayes_risk, odds
from attention_theory.in_context_reasoning.experiments.causes import (
    Answers,
    architecture,
    best_known,
    descend_from_zero,
    exchange,
    largest_probability,
    logits_at,
)
from attention_theory.in_context_reasoning.table_1 import PRINTED, closed_end, gap_to_bayes, train_grid
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 30  # size of the vocabulary with the noise word, at least 15
length = 32  # H, at least 16
batch = 32  # sentences a step, at least 16
steps = 200  # T, at least 150
seed = 0  # seed of every draw, at least 0
fillers = "outputs allowed"  # the neutral ones are as in the text, one of "neutral", "outputs allowed"
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
# ## The task
# One sentence, shorter than those below. The output comes next: without noise always, with noise in a share $1-\alpha$
# of the cases, and else $\tau$. The other words tell nothing.

# %%
small = Task(12, 1, 4, 12, noisy=True)
KINDS = {**{word: f"output {word}" for word in small.output_words}, 0: "**trigger**", small.noise_token: "*τ*"}
example = sample_sentences(small, 1, seeds[0])
shown = [KINDS.get(word, f"word {word}") for word in example.tokens[0].tolist()]
answer = KINDS[int(example.output[0])]
show.table(["the sentence", "next"], [[" · ".join(shown), f"{answer}, or *τ*"]], caption="A sentence of the task")

# %% [markdown]
# ## The picture
# All thirteen models are trained here in small: shorter sentences, fewer words and steps than in the paper. Each takes
# steps of one length along the slopes of the loss (*normalised descent*), at two rates, of which the one with the lower
# loss counts; with noise at $\alpha=0.2$ and $0.5$, of which the worse one counts. What is left of the way is told by a
# share. A model that knows the task and not the output is at 1, the least possible loss is at 0. For unseen words it is
# the difference of the loss on these from that on the trained ones, in the same unit; so a model that is as bad on the
# one as on the other is at 0, and has a tick in the paper.

# %%
levels = [0.0, *noise]
mixed = Task(tokens, length=length, fillers=fillers)
history = train_grid(TABLE_1, mixed, levels, rates, steps, batch, seeds[1], evaluation=128, device=device)


def left(name, alpha):
    """What is left of the way, and how far unseen words are from trained ones, at the better rate."""
    loss, best = min((history.end("population", name, alpha, eta), eta) for eta in rates)
    apart = abs(history.end("unseen", name, alpha, best) - loss)
    return (loss - bayes_risk(alpha)) / gap_to_bayes(alpha), apart / gap_to_bayes(alpha)


def four(name):
    """The four columns of the table; the noisy ones at the worse noise level."""
    with_noise = zip(*(left(name, alpha) for alpha in noise), strict=True)
    return [*left(name, 0.0), *map(max, with_noise)]


shares = {name: four(name) for name in TABLE_1}

# %% [markdown]
# A cell of the small run counts as a tick if its share is within the margin of the table's own page, a tenth at the
# paper's batch of 512 and by its convention $0.1\sqrt{512/\text{batch}}$ at another one. Rows are grouped by the answer
# to the question, of the four below, that decides them.

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

# %% [markdown]
# Where each row stands, and which cells of the small run are other than printed:

# %%
margin = 0.1 * math.sqrt(512 / batch)
places, middles, at = {}, {}, 0.0
for cause, names in GROUPS.items():
    places |= {name: at + row for row, name in enumerate(names)}
    middles[cause] = at + (len(names) - 1) / 2
    at += len(names) + 0.35


def otherwise(name):
    """Columns in which the small run comes out other than printed."""
    return [column for column in range(4) if (shares[name][column] <= margin) != PRINTED[name].ticks[column]]


# %% [markdown]
# The cells first: each holds the paper's tick or dash, and the deeper its colour, the more of the way is left.

# %%
fig, axis = show.axes(width=4.7, height=5.6)
for name, place in places.items():
    for column, (share, tick) in enumerate(zip(shares[name], PRINTED[name].ticks, strict=True)):
        shade = min(max(share, 0.0), 1.0)
        axis.barh(place, 0.94, 0.94, column + 0.03, color=show.COLOURS[0], alpha=0.07 + 0.88 * shade)
        ink = "white" if shade > 0.6 else "black"
        axis.text(column + 0.5, place, "✓" if tick else "–", ha="center", va="center", color=ink)
        if column in otherwise(name):
            axis.barh(place, 0.84, 0.84, column + 0.08, fill=False, edgecolor=show.COLOURS[1], linewidth=2)
for cause, middle in middles.items():
    axis.text(4.2, middle, cause, va="center", fontsize=8.5)
axis.set(xlim=(0, 6.5), ylim=(at - 0.7, -1.5))
axis.text(1, -1, "no noise", ha="center", fontsize=8.5)
_ = axis.text(3, -1, "noise", ha="center", fontsize=8.5)

# %% [markdown]
# And the whole: a row for each model, a column for each question that the paper's table asks, the cause at the right.

# %%
heads = ["loss\n0", "unseen\nwords", "least\nloss", "unseen\nwords"]
axis.set_xticks([0.5, 1.5, 2.5, 3.5], heads, fontsize=8.5)
axis.set_yticks(list(places.values()), list(places), fontsize=8.5)
axis.tick_params(length=0)
axis.grid(visible=False)
axis.spines[:].set_visible(False)
show.figure(
    fig,
    name="picture",
    caption="Table 1 as one picture. In the cells: what the paper prints. Colour: what is left of the way in the small "
    "run of this page, from nothing (faint) to all of it or more (deep). Framed: cells in which the small run comes "
    "out other than printed. At the right: which of the questions a to d, below, decides the rows.",
    alt="A grid of thirteen models by four columns, in six groups. Two models are faint in all columns, two deep in "
    "the third, two in the first and third. Four of the Origin models are deep in both columns of unseen words alone, "
    "Origin-Softmax-F also in the third column, and Origin-Linear-F in all. Reparam-Linear-W-FA is of a middle colour "
    "for unseen words with noise, and else faint.",
)

# %% [markdown]
# What is left, as numbers:

# %%
show.table(
    ["model", "no noise: loss", "unseen words", "noise: loss", "unseen words", "framed"],
    [[name, *(f"{share:.2f}" for share in shares[name]), len(otherwise(name))] for name in places],
    caption="What is left of the way, 0 at the target and 1 for a model that does not know the output",
)

# %% [markdown]
# ## Why
# <!-- claim in-context-reasoning/table-1-causes -->
# <blockquote>
#
# **Table 1 (Four questions that decide the table)** *Table 1; Sections 5.1 and 5.2*
#
# Our own reading. Four questions decide every row of Table 1 but that of Origin-Softmax-F, and but one cell of
# Reparam-Linear-W-FA, without noise on unseen words, which round-off decides. (a) Does descent from zero move $W$? For
# Origin-Linear-F it does not. (b) Can the logit of the output grow without bound? Under softmax attention with $V$
# fixed it is at most 1. (c) Can the logit of $\tau$ follow it? Where $F$ sees $x_H$ alone and has the form of Lemma 4.1
# it cannot. (d) Is a word that never was an output treated as an output is? By models that train one number a trigger
# it is; Origin models with softmax or ReLU attention, begun at zero, give it a probability of at most $1/N$ at all
# times. A loss of 0 needs (a) and (b), the Bayes risk (c) as well, unseen words (d).
#
# The paper gives (b) as the reason for the softmax models. It says that what the feed-forward layer sees is important,
# and not why; why unseen words are lost is left open.
#
# </blockquote>
# <!-- /claim -->
#
# The reading is ours. The paper gives the reason for the softmax models (question b). It finds that most models which
# fail with noise have a feed-forward layer that does not see what was attended, and concludes that seeing it is
# important (question c); it does not say how, and of the five failing models with F that it counts this question
# decides two. Of a "saddle point" it speaks where rates are concerned (question a). Why unseen words are lost it leaves
# open (question d).
#
# ### a. Does training leave the start?
# From zero all scores are zero. Softmax then attends to all words alike. ReLU has a shift of $10^{-8}$ here, and
# collects that much of every word. Linear attention collects nothing. All three have a slope of zero in $W$ at the
# start, since nothing reads yet what is collected; the question is whether the first step changes that.

# %%
trained = {
    alpha: descend_from_zero(TABLE_1, task, alpha, 0.1, steps, batch, seeds[2])
    for task, alpha in ((quiet, 0.0), (noisy, 0.2))
}
show.table(
    ["model", *(f"{when}: slope in {matrix}" for when in ("start", "second step") for matrix in "VWF")],
    [[name, *trained[0.0][name].slopes[:2].flatten().tolist()] for name in origins],
    caption="How long the slopes of the loss are, without noise",
)

# %% [markdown]
# Every step has the same length, however small the slope, so a slope that is not zero is enough. Origin-Linear-F alone
# has none: it stays where it is, and its $F$ learns how frequent outputs are. (Origin-Linear-FA begins with the same
# zeros, and leaves since its $F$ reads what is attended. And from small random numbers Origin-Linear-F would leave as
# well: {doc}`section_5_variants`.)
#
# <details><summary>Proof for Origin-Linear-F</summary>
#
# With $W=0$ the attended sum $\sum_h(x_H^\top Wx_h)x_h$ is 0, and the slope in $V$ is a product with it. With $V=0$
# nothing reads that sum, as $F$ sees $x_H$ alone, so the slope in $W$ is 0. Both stay 0 by induction. $\square$
#
# </details>
#
# ### b. Can the logit of the output grow without bound?
# For a loss of 0 it must. If $V$ is fixed as in the lemmas, the logit of a word is the attention that it gets.
#
# <details><summary>Proof for softmax attention with V fixed</summary>
#
# With $V=I$ the logit of $y$ in attention is the sum of the weights of attention at places that hold $y$. Softmax
# weights are positive and add up to 1, so it is at most 1, and in the noiseless task $F=0$. The other $N-1$ words have
# logits of at least 0, so the loss is at least $\ln(1+(N-1)/e)$. $\square$
#
# </details>
#
# Each model is given the best weights that we know for it, at $\lambda=4$ and $40$. Where $V$ is trained it can be made
# as large as one likes, and softmax does not matter.
#
# ### c. Can the logit of the noise word follow?
# With noise two words must stand out from all others together, $\tau$ always $\gamma=\ln\frac\alpha{1-\alpha}$ above
# $y$. The construction keeps attention away from $\tau$. So where $F$ sees the last words alone and has the form of the
# lemma, the logit of $\tau$ is $\gamma$ for good: if $y$ rises above the other words, it rises above $\tau$ as well.
# The best compromise leaves a floor of $\alpha\ln(1+(N-1)e^{-\gamma})$ above the least loss. A *trained* $V$ sees what
# was attended and can raise $\tau$ itself: so F does no harm to Origin-ReLU-F.

# %%
sentences = sample_sentences(quiet, 128, seeds[3])
with_noise = sample_sentences(noisy, 128, seeds[3])


def rise(name, of_noise=False):
    """By how much a logit grows in the best weights known from λ = 4 to λ = 40, least over sentences."""
    task, on, alpha = (noisy, with_noise, 0.2) if of_noise else (quiet, sentences, 0.0)
    word, which = task.noise_token if of_noise else None, architecture(VARIANTS[name])
    low, high = (logits_at(on, best_known(VARIANTS[name], task, at, alpha), which, word) for at in (4.0, 40.0))
    return (high - low).min().item()


show.table(
    ["model", "logit of the output", "logit of the noise word"],
    [[name, rise(name), rise(name, True)] for name in TABLE_1],
    caption="By how much logits grow from λ = 4 to λ = 40 in the best weights known",
)

# %% [markdown]
# ### d. Are words learned one by one?
# A number $\lambda$ for each trigger says how strongly to look at *what follows it*. It is the same for all words, so
# the model does not tell an output from a word that never was one. A matrix that is trained has entries for each word.
# To see it, the output of a sentence and a word that never was an answer are put in each other's place.


# %%
def both_ways(name, alpha):
    """The mean logit of the answer, and that after the exchange with a word that never was one."""
    task, on = (noisy, with_noise) if alpha else (quiet, sentences)
    done = trained[alpha][name]
    swapped = exchange(on, task.neutral_words.start)
    return [logits_at(each, done.weights, done.architecture).mean().item() for each in (on, swapped)]


# %% [markdown]
# And what becomes of words that never were an answer:


# %%
def most(name, alpha):
    """The largest probability of a word that never was an answer."""
    on, task = (with_noise, noisy) if alpha else (sentences, quiet)
    done = trained[alpha][name]
    return max(largest_probability(exchange(on, w), done.weights, done.architecture) for w in task.neutral_words)


never = {f"{name}, α = {alpha}": most(name, alpha) for name in origins for alpha in trained}
show.table(
    ["model", "no noise: trained", "no noise: unseen", "noise: trained", "noise: unseen"],
    [[name, *both_ways(name, 0.0), *both_ways(name, 0.2)] for name in TABLE_1],
    caption="Logit of the answer, for a trained word and for one that never was an answer",
)

# %% [markdown]
# In the Origin models unseen words do not just stay as they were. They are pushed *down*: a word that never was the
# answer can only lose. Its probability is at most what the model gave it before any training, one over the number of
# all words: at most $1/N$, in any sentence and at any time.
#
# <details><summary>Proof for Origin models, softmax and ReLU attention, and for Origin-Linear-F</summary>
#
# For a word $w$ that never is the label, the slope of the loss in its logit is its probability $p_w\ge0$. A step
# changes the row of $w$ in $V$ by $-p_w$ times the attended sum, and in $F$ by $-p_w$ times what $F$ sees, averaged
# over sentences, times a positive rate. In the codes of words all these sums have entries of at least 0, as weights of
# softmax and ReLU attention are not negative. (For Origin-Linear-F the attended sum is 0.) So from zero both rows have
# no positive entry ever, and the logit of $w$ is at most 0. The slopes in all logits of a sentence add up to 0, so the
# columns of $V$ and $F$ add up to 0, and so do the logits $\xi_j$ of all words in any sentence. There are $N$ of these
# words, or $N+1$ with $\tau$. Then $\ln\sum_je^{\xi_j}\ge\ln N$ by convexity, and $p_w\le1/N$. $\square$
#
# </details>
#
# Linear attention can have negative weights, and Origin-Linear-FA is not in the proof; it does the same in the run.
# Between the two is Reparam-Linear-W-FA. Its $V$ is fixed and knows all words alike; its $W$ learns partly what follows
# the trigger, which serves all words, and partly the outputs themselves ({doc}`theorem_3_4_direction`). An unseen word
# has a smaller logit, and it is not pushed down.
#
# ## The four answers, and 52 cells
# A loss of 0 needs a yes to a and b; the least loss with noise needs c as well; unseen words need d. Nothing else is
# asked. The answers are read off the numbers above.


# %%
def answers(name):
    """The answers of a model to the four questions."""
    pairs = [both_ways(name, alpha) for alpha in trained]
    return Answers(
        leaves=all(bool(trained[alpha][name].slopes[:2, 1].max() > 0) for alpha in trained),
        grows=rise(name) > 1,
        follows=rise(name, True) >= 0.9 * rise(name) - 0.1,
        alike=all(abs(seen - unseen) <= 1e-9 * abs(seen) for seen, unseen in pairs),
    )


found = {name: answers(name) for name in TABLE_1}

# %% [markdown]
# How many cells of the rule are as printed, of all and of those that it decides:


# %%
def like_print(names, **without):
    """Cells of the rule that are as printed; an answer can be taken for a yes in all rows."""
    rows = {name: replace(found[name], **without).cells.ticks for name in names}
    return [
        (name, column) for name in names for column in range(4) if rows[name][column] is PRINTED[name].ticks[column]
    ]


def decided(**without):
    """The same, of those cells that the rule decides."""
    others = [name for name in TABLE_1 if name != "Origin-Softmax-F"]
    return len(set(like_print(others, **without)) - {(tried, 1)})


# %% [markdown]
# All answers, and the cells that follow from them; the last two columns differ in one row alone:

# %%
SIGN = {True: "✓", False: "–"}
show.table(
    ["model", "a leaves", "b grows", "c follows", "d alike", "the rule", "the paper"],
    [
        [name, *(SIGN[bool(one)] for one in (each.leaves, each.grows, each.follows, each.alike))]
        + [" ".join(SIGN[tick] for tick in cells.ticks) for cells in (each.cells, PRINTED[name])]
        for name, each in found.items()
    ],
    caption="Answers, and the row that they predict",
)

# %% [markdown]
# *Origin-Softmax-F.* By the rule it can do what the other Origin models can, and in the short sentences here it does so
# without noise; with noise most of the way is left when the run ends. The paper has dashes. In long sentences attention
# that is spread over all words has little to tell, and whether the model leaves its plateau in time hangs on the other
# words of the sentence, the *fillers*. With fillers as in the text, no output word is among them: the one output word
# in a sentence is the answer, and attention need not look for the trigger at all. With outputs as fillers the
# dashes come out, and nearly all else under either rule ({doc}`table_1_thirteen_models`).
#
# *Reparam-Linear-W-FA without noise.* Rule and paper agree on a dash, and this is the cell to trust least. The logit of
# an unseen word grows too, only more slowly, and so its loss comes down as well while slopes are exact. The dash is the
# work of round-off on long runs, as the same page shows. With noise the logits come to rest, and that of the unseen
# word stays behind: there the dash is real, though the wide margin of a small batch may let it pass in the picture.

# %%
RULES = {"fillers as in the text": "neutral", "outputs as fillers": "outputs allowed"}
alone = {
    rule: (sample_sentences(replace(quiet, length=256, fillers=code), 200, seeds[3]), replace(quiet, fillers=code))
    for rule, code in RULES.items()
}


def tells(rule):
    """The share of sentences of 256 words whose only output word is the answer."""
    on, task = alone[rule]
    words = on.tokens
    others = (words >= task.output_words.start) & (words < task.output_words.stop) & (words != on.output[:, None])
    return (~others.any(dim=1)).double().mean().item()


for rule in alone:
    print(f"{rule}, 256 words: the one output word is the answer in a share of {tells(rule):.2f}")


# %% [markdown]
# ## What the evidence says
# Each answer has a check of its own. What is trained is judged by what the proofs say, losses by closed forms, the rule
# by its cells: all rows but that of Origin-Softmax-F must be as printed, and must not be once a question is left out.
# One of these 48 cells is not counted: that of Reparam-Linear-W-FA without noise, unseen words. The rule has it as
# printed and for the wrong reason, since the dash is the work of round-off and not of question d.

# %%
off = {
    f"{name}, α = {alpha}": abs(
        history.end("population", name, alpha, 0.1 if alpha else 0.5) - closed_end(name, alpha, tokens)
    )
    for name in numbers
    for alpha in levels
}
as_full = abs(history.end("population", "Reparam-Linear-F", 0.2, 0.1) - closed_end("Reparam-Linear-FA", 0.2, tokens))
still = {f"α = {alpha}": trained[alpha]["Origin-Linear-F"].slopes[:, :2].max() for alpha in trained}

# %% [markdown]
# Logits after training:


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

# %% [markdown]
# The bounds follow from the proofs, but for that of the losses, which is the table page's. In c the bound is the shift
# of ReLU, which lets a weight of that size through to $\tau$, and was set after first runs. Reparam-Softmax-F is left
# out there: softmax leaves a little weight on $\tau$, less as $\lambda$ grows, and question b has decided the model
# already. Losses are taken at the larger rate without noise, to be far enough down, and at the smaller one with noise,
# where a large step would swing around the floor.

# %%
claim = Claim("in-context-reasoning/table-1-causes")
claim.equal("a: Origin-Linear-F, slopes in V and W in all steps, largest", still, 0.0)
claim.control.equal("a: Origin-Linear-FA, the same", trained[0.0]["Origin-Linear-FA"].slopes[:, :2].max(), 0.0)
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
claim.equal("the rule: cells as printed, of 47", decided(), 47)
for letter, question in zip("abcd", ("leaves", "grows", "follows", "alike"), strict=True):
    claim.control.equal(f"the rule without {letter}", decided(**{question: True}), 47)
claim.number("the rule: cells as printed, of 52", len(like_print(TABLE_1)))
claim.number("small run: cells other than printed, of 52", sum(len(otherwise(name)) for name in TABLE_1))
claim.verdict()

# %% [markdown]
# ## What was learned
# Four questions decide the table but for one row, and one cell that hangs on round-off: whether training leaves the
# start, whether the logit of the output can grow, whether that of the noise word can follow, and whether words are
# learned one by one. Only the last is about unseen words, and there a trained $V$ does worse than to learn nothing: it
# pushes words down that never were answers. The row that is left, Origin-Softmax-F, hangs on the rest of the sentence:
# how long it is, and what fills it.
#
# ## To try
# - Set `length = 128`: in longer sentences the row of Origin-Softmax-F is deep in all columns, as the paper prints it,
#   since the model has not left its plateau yet; without noise Origin-Softmax-FA has not left it either.
# - Set `fillers = "neutral"`, as in the text: the unseen words of Reparam-Linear-W-FA turn deep without noise, as
#   slopes by subtraction lose them to round-off, and only the row of Origin-Softmax-F has frames.

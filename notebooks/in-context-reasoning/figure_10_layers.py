# %% [markdown]
# # Figure 10 · Two layers that little tells apart
# *Nguyen, Nguyen-Tang: Figure 10, Appendix D.2.2.*
#
# A model of one layer predicts the next word of a sentence. Earlier in the sentence a trigger word was followed by an
# output word $y$ and, elsewhere, by a noise word $\tau$; at the end the trigger stands again, and the next word is
# $\tau$ with probability $\alpha$ and $y$ otherwise. So there are two things to know: which word is $y$ in this
# sentence, which one has to look up, and that $\tau$ may come, which is the same in all sentences. The model has two
# parts that could share this work, attention and a feed-forward layer. Each gives every word $j$ a number, its *logit*,
# $\xi_{A,j}$ and $\xi_{F,j}$, and a part is said to predict the word at which its logit is largest. The model's own
# prediction is made from the sum of the two.
#
# It is tempting to say that attention looks up $y$ and the feed-forward layer learns $\tau$. But attention and the
# feed-forward layer both read the attended sum, the sum of the words that attention looks at. The loss sees the sum of
# their logits and nothing else, so it has no reason to leave $y$ to one and $\tau$ to the other. What does tell the
# layers apart is small: the feed-forward layer also sees $x_H$, the code of the last two words, of which the last is
# the trigger. Which layer comes to predict which word is then up to the labels and to luck, if all three matrices are
# trained. Figure 10 looks at such a model, Origin-Linear-FA: its matrices $V$ and $W$ of attention and $F$ of the
# feed-forward layer are trained (Origin), its attention has no softmax (Linear), and its feed-forward layer reads
# attention's sum too (FA).
#
# <!-- claim in-context-reasoning/figure-10 -->
# <blockquote>
#
# **Figure 10 (The layers of Origin-Linear-FA)** *Appendix D.2.2*
#
# **As printed.** For $\alpha\le0.5$ attention predicts $y$ perfectly. The model is called Origin-Softmax-FA, and the
# feed-forward layer is compared by $\xi_{F,\tau}=\max_j\xi_{F,\tau}$.
#
# **As run here.** By mean logits, at $\alpha=0.2$ attention predicts $y$ and the feed-forward layer does not always
# predict $\tau$; at $\alpha=0.8$ the feed-forward layer predicts $\tau$ and attention fails at $y$. At $\alpha=0.5$ a
# run ends in one of these two ways.
#
# Attention predicts $y$ perfectly by the drawn means, at $\alpha=0.2$ in all runs and at $\alpha=0.5$ in some (on
# record at the paper's size all come within seven hundredths of it); on every single sentence in no run. At
# $\alpha=0.5$ a run of the other way has it on about half of the sentences or fewer. The figure shows Origin-Linear-FA,
# and the comparison is with $\max_j\xi_{F,j}$.
#
# </blockquote>
# <!-- /claim -->
#
# The paper draws mean logits over the sentences: $\xi_{A,y}$ beside $\max_j\xi_{A,j}$, and $\xi_{F,\tau}$ beside
# $\max_j\xi_{F,j}$. Where the two curves coincide, a layer is said to have learnt to predict its token. A mean hides on
# how many sentences it does, so those are counted here too. The text names Origin-*Softmax*-FA where the caption has
# Origin-*Linear*-FA, and writes $\max_j\xi_{F,\tau}$ in place of $\max_j\xi_{F,j}$. The figure's third panel is looked
# at in {doc}`figures_10_to_12_layers`.
#
# **Size**: 100 epochs as in the paper, half of its $M=2048$ sentences and of the batch (at full size all of them). The
# slopes are those of an ordinary training loop, by subtraction in float32.

# %%
import itertools

from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
samples = 1_024  # M, at least 512; the paper has 2048
passes = 100  # epochs, at least 20
batch = 256  # sentences a step, from 64 to samples
rate = 0.1  # eta, from 0.01 to 0.5
evaluation = 256  # evaluation sentences, at least 64; the paper has 20480
seeds = 5  # runs with fillers as in the text, at least 2
other_seeds = 2  # of these, also with outputs as fillers, at least 1
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    samples=(samples, 512, None),
    passes=(passes, 20, None),
    batch=(batch, 64, samples),
    rate=(rate, 0.01, 0.5),
    evaluation=(evaluation, 64, None),
    seeds=(seeds, 2, None),
    other_seeds=(other_seeds, 1, None),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
name, levels = "Origin-Linear-FA", (0.2, 0.5, 0.8)
text, other = "fillers as in the text", "outputs as fillers"
rules, tried = {text: "neutral", other: "outputs allowed"}, {text: levels, other: levels[:2]}
every = max(1, passes * (samples // batch) // 10)
layers = {"attention": "y", "feed_forward": "τ"}

# %% [markdown]
# ## The runs
# Section 5 has fillers that are neither triggers nor outputs. With outputs as fillers, the other rule of this chapter's
# pages, which Definition 2.1 allows too, the highest noise level is left out.


# %%
def train(fillers, stream):
    """The model at each noise level on one sample."""
    runs = [TrainingRun(VARIANTS[name], alpha, rate) for alpha in tried[fillers]]
    task = Task(tokens, length=length, noisy=True, fillers=rules[fillers])
    options = {"evaluation": evaluation, "record_every": every, "device": device}
    return train_on_sample(runs, task, samples, passes, batch, stream, counted=True, **options)


of_runs = {text: streams(seed, seeds), other: streams(seed, max(seeds, other_seeds))[:other_seeds]}
histories = {fillers: [train(fillers, stream) for stream in of_runs[fillers]] for fillers in rules}

# %% [markdown]
# At the end of each run: on how many sentences a layer predicts its token, and how far the drawn curves are apart, as a
# share of the higher one.


# %%
def shares(fillers, layer, alpha):
    """The share of sentences by run."""
    return [history.of(f"{layer}_hits", name, alpha, rate)[-1].item() for history in histories[fillers]]


def apart(fillers, layer, alpha):
    """The shortfall of the mean logit at the layer's token by run."""
    own = {"attention": "attention_output", "feed_forward": "feed_forward_noise"}[layer]
    largest = f"{layer}_largest"
    ends = [[each.of(measure, name, alpha, rate)[-1] for measure in (own, largest)] for each in histories[fillers]]
    return [(1 - mean / most).item() for mean, most in ends]


def listed(values):
    return ", ".join(f"{value:.2f}" for value in values)


# %% [markdown]
# Every run, one number each:

# %%
show.table(
    ["rule", "α", "attention at y", "feed-forward at τ", "curves of attention apart", "of the feed-forward layer"],
    [
        [fillers, alpha, *(listed(found(fillers, layer, alpha)) for found in (shares, apart) for layer in layers)]
        for fillers in histories
        for alpha in tried[fillers]
    ],
    caption="Every run: shares of sentences on which the layer predicts its token, and the gap between drawn curves",
)

# %% [markdown]
# ## As the paper draws it
# Mean logits over the steps, a column for each noise level. All runs with fillers as in the text are drawn.


# %%
def panel(axis, layer, token, symbol, alpha):
    """The mean logit at the layer's token and the mean of its largest one, a pair of curves for each run."""
    for index, history in enumerate(histories[text]):
        own, largest = (history.of(f"{layer}_{kind}", name, alpha, rate) for kind in (token, "largest"))
        first = index == 0
        axis.plot(history.steps, largest, "--", color=show.COLOURS[1], label=f"max {symbol}" if first else None)
        axis.plot(history.steps, own, color=show.COLOURS[0], label=f"{symbol} at {layers[layer]}" if first else None)
    axis.set(title=f"α = {alpha}", ylabel="mean logit")


# %% [markdown]
# Attention stands above, the feed-forward layer below.

# %%
fig, axes = show.axes(2, 3, width=9.0, height=4.8, sharex=True)
rows = (("attention", "output", r"$\xi_A$"), ("feed_forward", "noise", r"$\xi_F$"))
for row, of_layer in zip(axes, rows, strict=True):
    for axis, alpha in zip(row, levels, strict=True):
        panel(axis, *of_layer, alpha)
    row[0].legend(fontsize=8)
for axis in axes[1]:
    axis.set(xlabel="step")
show.figure(
    fig,
    name="figure-10",
    caption="Origin-Linear-FA, as in the paper's Figure 10: the mean logit at the layer's own token and the mean of "
    "its largest one, for every run. Above, attention, which loses y at the highest noise level; below, the "
    "feed-forward layer, which finds τ there.",
    alt="Six panels. Solid and dashed curves coincide for attention at the lowest noise level and for the feed-forward "
    "layer at the highest, and at the middle one in some runs each; elsewhere the solid ones lie lower.",
)

# %% [markdown]
# ## Two ends
# Not all runs end alike. At $\alpha = 0.5$ attention may come to predict $y$, while the feed-forward layer predicts
# $\tau$ on some sentences only; or the feed-forward layer may come to predict $\tau$, while attention predicts $y$ on
# some sentences only. Neither end has a claim to be the right one, for the loss sees the sum of the layers. On record
# at full size, eleven of twenty runs end in the first way, as in the paper's figure, and nine in the other.

# %%
fig, axes = show.axes(1, 2, width=8.0, sharey=True)
for axis, fillers in zip(axes, histories, strict=True):
    for alpha, marker in zip(tried[fillers], "osD", strict=False):
        points = [shares(fillers, layer, alpha) for layer in layers]
        axis.plot(*points, marker, fillstyle="none", label=f"α = {alpha}")
    axis.set(title=fillers, xlabel="share of sentences, attention at y", xlim=(-0.05, 1.05))
axes[0].set(ylabel="share, feed-forward at τ")
axes[0].legend(loc="lower left", fontsize=8)
show.figure(
    fig,
    name="two-ends",
    caption="A mark for each run. Perfect separation is the corner on the upper right, and no run is there. At α = 0.5 "
    "a run may end on the right, at middle height or so, as in the paper's figure, or on the upper left.",
    alt="Two panels of marks. Circles lie on the lower right, diamonds, in the left panel alone, in the upper left "
    "corner. Most squares lie in the right half at middle height, and others on the upper left.",
)

# %% [markdown]
# ## What the evidence says
# That two drawn curves coincide is taken to mean that they are less than a twentieth of their height apart; that a
# layer predicts its token, that it does on nineteen sentences of twenty. "Fails" is on less than half of them, and
# "does not always", on less than 99 of 100. At $\alpha=0.2$ and $0.8$ every run must be clear of these bars. At
# $\alpha=0.2$ attention is judged by the drawn curves alone: by sentences it is at $y$ on fewer than nineteen of twenty
# in some runs.
#
# At $\alpha=0.5$ every run must end in one of two ways. *Like the figure*: the curves of attention coincide, and the
# feed-forward layer is at $\tau$ on at most three sentences of four. *The other way*: the feed-forward layer is at
# $\tau$ on four of five or more, and attention at $y$ on at most three of five. The first must be seen; how many runs
# there are of each is shown. All these bars were set when runs had been seen.


# %%
def by_run(values):
    return {f"run {index}": value for index, value in enumerate(values)}


apart_by, attention, forward = (
    {alpha: found(text, layer, alpha) for alpha in levels}
    for found, layer in ((apart, "attention"), (shares, "attention"), (shares, "feed_forward"))
)
at_half = list(zip(apart_by[0.5], attention[0.5], forward[0.5], strict=True))
like_it = [gap <= 0.05 and noise <= 0.75 for gap, _, noise in at_half]
other_way = [output <= 0.6 and noise >= 0.8 for _, output, noise in at_half]
one_of_two = by_run(first or second for first, second in zip(like_it, other_way, strict=True))

# %% [markdown]
# "Perfectly", for $\alpha \le 0.5$, can be read in two ways. By the drawn curves, as in the paper, it is asked at
# $0.2$. At $0.5$ they do not tell: at the paper's size a mean logit at $y$ is within some seven hundredths of the
# largest even where attention predicts $y$ on half of the sentences, which no eye sees in a drawing. So there "learns
# to predict" is taken by the letter: on nineteen sentences of twenty, in every run, since Appendix D.1 says of the
# paper's experiments that "no significant differences are observed between different random seeds". This was settled
# when full-size runs had been seen, and it is the stricter reading: were curves within a tenth of each other enough,
# every run on record would be as the panel at $0.5$ is drawn. Each bar must fail where the paper says that the layer
# does.

# %%
claim = Claim("in-context-reasoning/figure-10")
claim.at_most("α = 0.2: curves of attention apart", by_run(apart_by[0.2]), 0.05)
claim.control.at_most("α = 0.8: the same", by_run(apart_by[0.8]), 0.05)
claim.at_most("α = 0.2: feed-forward at τ, share", by_run(forward[0.2]), 0.99)
claim.control.at_most("α = 0.8: the same", by_run(forward[0.8]), 0.99)
claim.at_least("α = 0.8: feed-forward at τ, share", by_run(forward[0.8]), 0.95)
claim.at_most("α = 0.8: attention at y, share", by_run(attention[0.8]), 0.5)
claim.control.at_most("α = 0.2: the same, largest", max(attention[0.2]), 0.5)
claim.true("α = 0.5: ends in one of the two ways", one_of_two)
claim.at_least("α = 0.5: runs that end like the figure", sum(like_it), 1)
claim.number("α = 0.5: runs that end the other way", sum(other_way))
claim.printed.at_least("α = 0.5: attention at y, share of sentences", by_run(attention[0.5]), 0.95)
claim.number("α = 0.5: curves of attention apart, largest", max(apart_by[0.5]))
found = {"": attention, "outputs as fillers, ": {alpha: shares(other, "attention", alpha) for alpha in (0.2, 0.5)}}
for (rule, of), alpha in itertools.product(found.items(), (0.2, 0.5)):
    claim.number(f"{rule}α = {alpha}: attention at y, least share of sentences", min(of[alpha]))
    claim.number(f"{rule}α = {alpha}: attention at y, largest share of sentences", max(of[alpha]))
claim.verdict()

# %% [markdown]
# ## What was learned
# What is drawn can be had: at $\alpha = 0.2$ the curves of attention coincide, at $0.8$ those of the feed-forward
# layer, and at no level do both layers predict their tokens. At $0.5$ the model has two ends, and which of them a run
# comes to depends on the sample and the order of its sentences; the paper's figure is one of the two. Means hide much:
# at $0.2$, too, runs whose curves coincide predict $y$ on nearly all sentences or on some two of three. "Perfectly" is
# true of the drawn means at $0.2$ and, in most runs, at $0.5$; of single sentences, one by one, in no run here.
#
# ## To try
# - Set `passes = 25`: at $\alpha = 0.5$ the feed-forward layer is at $\tau$ in all runs with fillers as in the text,
#   attention at $y$ on few sentences, and the check that a run ends like the figure fails. The runs that end like the
#   figure leave this state only after more epochs.
# - Set `seed = 5`: at $\alpha = 0.5$ two runs of five end like the figure, where with the seed of this page four do.

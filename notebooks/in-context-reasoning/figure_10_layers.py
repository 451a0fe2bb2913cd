# %% [markdown]
# # Figure 10 · Two layers that nothing tells apart
# *Nguyen, Nguyen-Tang: Figure 10, Appendix D.2.2.*
#
# <!-- claim in-context-reasoning/figure-10 -->
# <!-- /claim -->
#
# Attention and the feed-forward layer both read the attended sum. The loss sees the sum of their logits and nothing
# else, so it has no reason to leave $y$ to one and $\tau$ to the other. What does tell the layers apart is small: the
# feed-forward layer also sees $x_H$. In a model whose three matrices are all trained, which layer comes to predict what
# is left to the labels and to luck.
#
# The paper draws mean logits over the sentences: $\xi_{A,y}$ beside $\max_j\xi_{A,j}$, and $\xi_{F,\tau}$ beside
# $\max_j\xi_{F,j}$. Where the two curves coincide, a layer is said to have learnt to predict its token. A mean hides on
# how many sentences it does, so those are counted here too. The text names Origin-*Softmax*-FA where the figure shows
# Origin-*Linear*-FA, and writes $\max_j\xi_{F,\tau}$ for $\max_j\xi_{F,j}$; the figure's caption and the axes put both
# right.
#
# **Size**: $M=2048$ sentences as in the paper, half of its 100 epochs (at full size all), five runs for each of two
# readings of the fillers. The slopes are those of an ordinary training loop, by subtraction in float32. With linear
# attention a sentence is known by the counts of its bigrams, which makes the training several times faster.

# %%
from attention_theory.in_context_reasoning.experiments.layer_ends import share, shortfall
from attention_theory.in_context_reasoning.experiments.linear_sample import train_linear_on_sample
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.variants import VARIANTS, Training
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
samples = 2_048  # M, at least 512
passes = 50  # epochs, at least 20; the paper has 100
batch = 512  # sentences a step, from 64 to samples
rate = 0.1  # eta, from 0.01 to 0.5
evaluation = 256  # evaluation sentences, at least 64; the paper has 20480
seeds = 5  # runs with each kind of fillers, at least 2
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
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
name, levels = "Origin-Linear-FA", (0.2, 0.5, 0.8)
text, other = "neutral", "outputs allowed"
layers = {"attention": "y", "feed_forward": "τ"}

# %% [markdown]
# ## The runs
# Section 5 has fillers that are neither triggers nor outputs. Under the other rule of this chapter's pages, which
# Definition 2.1 allows too, outputs may be fillers.


# %%
def train(fillers, stream):
    """The model at three noise levels on one sample."""
    runs = [Training(VARIANTS[name], alpha, rate) for alpha in levels]
    task = Task(tokens, length=length, noisy=True, fillers=fillers)
    options = {"evaluation": evaluation, "device": device}
    return train_linear_on_sample(runs, task, samples, passes, batch, stream, **options)


histories = {fillers: [train(fillers, stream) for stream in streams(seed, seeds)] for fillers in (text, other)}

# %% [markdown]
# At the end of each run: on how many sentences a layer predicts its token, and how far the drawn curves are apart, as a
# share of the higher one.


# %%
def shares(fillers, layer, alpha):
    """The share of sentences by run."""
    return [share(history, layer, name, alpha, rate) for history in histories[fillers]]


def apart(fillers, layer, alpha):
    """The shortfall of the mean logit at the layer's token by run."""
    return [shortfall(history, layer, name, alpha, rate)[-1].item() for history in histories[fillers]]


def listed(values):
    return ", ".join(f"{value:.2f}" for value in values)


show.table(
    ["fillers", "α", "attention at y", "feed-forward at τ", "curves of attention apart", "of the feed-forward layer"],
    [
        [fillers, alpha, *(listed(found(fillers, layer, alpha)) for found in (shares, apart) for layer in layers)]
        for fillers in histories
        for alpha in levels
    ],
    caption="Every run: shares of sentences on which the layer predicts its token, and the gap between drawn curves",
)

# %% [markdown]
# ## As the paper draws it
# Mean logits over the steps, a column for each noise level. All runs with fillers as in the text are drawn.

# %%
fig, axes = show.axes(2, 3, width=9.0, height=4.8, sharex=True)
for row, (layer, token, symbol) in zip(
    axes, (("attention", "output", "ξ_A"), ("feed_forward", "noise", "ξ_F")), strict=True
):
    for axis, alpha in zip(row, levels, strict=True):
        for index, history in enumerate(histories[text]):
            own = history.of(f"{layer}_{token}", name, alpha, rate)
            largest = history.of(f"{layer}_largest", name, alpha, rate)
            first = index == 0
            axis.plot(history.steps, largest, "--", color=show.COLOURS[1], label=f"max {symbol}" if first else None)
            axis.plot(
                history.steps, own, color=show.COLOURS[0], label=f"{symbol} at {layers[layer]}" if first else None
            )
        axis.set(title=f"α = {alpha}", ylabel="mean logit")
    row[0].legend(fontsize=8)
for axis in axes[1]:
    axis.set(xlabel="step")
show.figure(
    fig,
    name="figure-10",
    caption="Figure 10: the mean logit at the layer's own token and the mean of its largest one, for every run. Above "
    "attention, which loses y at the highest noise level; below the feed-forward layer, which finds τ there.",
    alt="Six panels. Solid and dashed curves coincide for attention at the two lower noise levels and for the "
    "feed-forward layer at the highest; in the others the solid ones lie lower.",
)

# %% [markdown]
# ## Two ends
# Counted by sentences, the runs do not end alike. At one noise level there are two places in which they come to rest:
# attention at $y$ on nearly every sentence and the feed-forward layer hardly ever at $\tau$, or some of both.

# %%
fig, axes = show.axes(1, 2, width=8.0, sharey=True)
for axis, fillers in zip(axes, histories, strict=True):
    for alpha, marker in zip(levels, "osD", strict=True):
        points = [shares(fillers, layer, alpha) for layer in layers]
        axis.plot(*points, marker, fillstyle="none", label=f"α = {alpha}")
    axis.set(title=f"fillers: {fillers}", xlabel="share of sentences, attention at y", xlim=(-0.05, 1.05))
axes[0].set(ylabel="share, feed-forward at τ")
axes[1].legend(fontsize=8)
show.figure(
    fig,
    name="two-ends",
    caption="A mark for each run. Perfect separation is the corner on the upper right, and no run is there. At α = 0.2, "
    "and with outputs among the fillers at α = 0.5, the runs fall into two groups.",
    alt="Two panels of marks. Those of the highest noise level lie in the upper left corner; the others lie along the "
    "right side, in groups.",
)

# %% [markdown]
# ## What the evidence says
# That two drawn curves coincide is taken to mean that they are less than a twentieth of their height apart; that
# a layer predicts its token, that it does on nineteen sentences of twenty. "Fails" is less than half of them, and "does
# not always", less than 99 of 100. These bars were set when runs had been seen. What is asked of a mean over runs is
# asked of its interval. "Perfectly", for $\alpha \le 0.5$, is taken by the letter: every sentence in every run.

# %%
claim = Claim("in-context-reasoning/figure-10")
for alpha in (0.2, 0.5):
    claim.estimate(f"α = {alpha}: curves of attention apart", apart(text, "attention", alpha), "<=", 0.05)
    claim.estimate(f"α = {alpha}: feed-forward at τ, share", shares(text, "feed_forward", alpha), "<=", 0.99)
    worst = {f"run {index}": value for index, value in enumerate(shares(text, "attention", alpha))}
    claim.printed(f"α = {alpha}: attention at y on every sentence, share", worst, ">=", 1)
claim.estimate("α = 0.8: feed-forward at τ, share", shares(text, "feed_forward", 0.8), ">=", 0.95)
claim.estimate("α = 0.8: attention at y, share", shares(text, "attention", 0.8), "<=", 0.5)
as_control = {"role": "control"}
claim.estimate("α = 0.8: curves of attention apart", apart(text, "attention", 0.8), "<=", 0.05, **as_control)
claim.estimate("α = 0.2: feed-forward at τ", shares(text, "feed_forward", 0.2), ">=", 0.95, **as_control)
claim.estimate("α = 0.2: attention at y", shares(text, "attention", 0.2), "<=", 0.5, **as_control)
for fillers, alpha in ((text, 0.2), (other, 0.2), (text, 0.5), (other, 0.5)):
    for layer, token in layers.items():
        found = shares(fillers, layer, alpha)
        claim.number(f"{fillers}, α = {alpha}: {layer} at {token}, least share", min(found))
        claim.number(f"{fillers}, α = {alpha}: {layer} at {token}, largest share", max(found))
claim.verdict()

# %% [markdown]
# ## What was learned
# What is drawn comes out: at the lower noise levels the curves of attention coincide, at the highest those of the
# feed-forward layer do, and at none do both. "Perfectly" is true of the drawn means and not of the sentences. And the
# model has more than one end: which of them a run comes to hangs on the sample and the order of its sentences, so one
# run, ours or the paper's, does not stand for all.
#
# ## To try
# - Set `passes = 100`, as in the paper: attention loses a few more sentences, and the curves still coincide.
# - Set `rate = 0.5`: ...

# %% [markdown]
# # Appendix D.1 · Whether seeds differ
# *Nguyen, Nguyen-Tang: Appendix D.1, Additional Details on the Experimental Setup.*
#
# A sentence of this chapter ends in a trigger word. Earlier in it the same trigger was followed by an output word $y$,
# and that is the word to predict. With label noise, a noise word $\tau$ comes in place of $y$ with probability
# $\alpha$. The paper trains thirteen models of one layer to predict the next word (Table 1), by steps of fixed length
# $\eta$, the learning rate, and draws what comes out of a run. Is that a fact about the model, or about the sentences
# that this run happened to draw?
#
# A seed chooses sentences and labels, and nothing else: every model starts at zero. If many sentences are seen, the
# losses of two seeds should end alike, and the appendix says that they do.
#
# <!-- claim in-context-reasoning/remark-d-1-seeds -->
# <blockquote>
#
# **Remark on seeds (No significant difference between seeds)** *Appendix D.1*
#
# **The paper states.** The majority of our experiments are repeated five times with five random seeds from 0 to 5.
# However, possibly due to the large number of iterations and large size of the finite dataset, no significant
# differences are observed between different random seeds.
#
# **What is true.** Without label noise and at $\alpha=0.5$, the losses of each of the thirteen models end alike over
# five seeds, at the better of the two rates that the paper reports. What the layers of a model predict does not.
#
# **What changed.** In Figure 10, at $\alpha=0.5$ and the paper's size, 11 of 20 runs end like the figure and 9 do not.
# On how many sentences a layer predicts its token differs by half of them. (The paper does not say whether Figure 10
# was repeated.) At $\alpha=0.8$ five short runs leave open how far the losses are apart. From 0 to 5 there are six
# seeds.
#
# <details><summary>Chosen after a run</summary>
#
# The margin at the batch of the page, four tenths of the way, was chosen when first runs had been seen.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# Two things are asked here. Do the losses of the thirteen models of Table 1 end alike? And does what the paper reads
# off a run come out alike even where it is not a loss? One experiment, Figure 10, asks what two layers predict, and
# nothing in the loss decides that. (The words left out of the quotation are "with five random seeds from 0 to 5", which
# would be six.)
#
# **Size**: shorter sentences, fewer words and fewer steps than the paper has. At full size, which has not been run, all
# are as in the paper.

# %%
import math
import statistics

import scipy.stats

from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_grid, train_on_sample
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, TrainingRun
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 30  # size of the vocabulary with the noise token, at least 15
length = 32  # H, at least 16
batch = 32  # sentences a step, at least 16; the paper has 512
steps = 200  # T, at least 100; the paper has 2000
samples = 1_024  # M of the runs of Figure 10, at least 512; the paper has 2048
passes = 50  # epochs of these, at least 20; the paper has 100
seeds = 5  # runs of every model, at least 2
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 100, None),
    samples=(samples, 512, None),
    passes=(passes, 20, None),
    seeds=(seeds, 2, None),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
levels, rates = [0.0, 0.5, 0.8], [0.1, 0.5]
of_runs = streams(seed, seeds)

# %% [markdown]
# ## Losses
# Every model is trained without label noise and at $\alpha = 0.5$ and $0.8$, at the two rates that the paper reports,
# with the fillers of Section 5 and the slopes of an ordinary training loop.

# %%
task = Task(tokens, length=length)
sizes = {"evaluation": 64, "record_every": steps // 8, "device": device}
histories = train_grid(TABLE_1, task, levels, rates, steps, batch, of_runs, **sizes, together=True)

# %% [markdown]
# Where a loss ends is told by what is left of the way from the plateau of a model that does not know the output, 1,
# down to the target, 0; above 1 it is worse than that model. Two seeds differ significantly here if, by their ends, one
# might earn a tick of Table 1 and the other not: if they are more than a tenth of that way apart or, by the convention
# of that page, with another batch than the paper's more than $0.1\sqrt{512/\text{batch}}$. The paper reports the better
# rate.


# %%
def near(size):
    """The margin of the page of Table 1, by the batch."""
    return 0.1 * math.sqrt(512 / size)


# %%
def ends(name, alpha, eta):
    """What is left of the way at the end, by run."""
    return [history.fraction_left("population", name, alpha, eta) for history in histories]


def at_better(name, alpha):
    """The ends at the rate with the lower mean, by run."""
    return min((ends(name, alpha, eta) for eta in rates), key=sum)


def spread(values):
    return max(values) - min(values)


def apart(name, alpha):
    """The spread of these over the runs."""
    return spread(at_better(name, alpha))


# %% [markdown]
# The least and the most over the runs:

# %%
show.table(
    ["model", *(f"α = {alpha}, η = {eta}" for alpha in levels for eta in rates)],
    [
        [name]
        + [
            f"{min(found):.2f} to {max(found):.2f}"
            for found in (ends(name, alpha, eta) for alpha in levels for eta in rates)
        ]
        for name in TABLE_1
    ],
    caption="What is left of the way from the plateau to the target at the end: least and most over the runs",
)

# %% [markdown]
# A mark for each run tells more than a range. Where a rate is too small to leave a plateau in the time there is, or so
# large that the loss stays restless, the marks of a model come apart.

# %%
fig, axes = show.axes(1, 6, width=12.0, height=4.2, sharey=True)
for axis, (alpha, eta) in zip(axes, ((alpha, eta) for alpha in levels for eta in rates), strict=True):
    for place, name in enumerate(TABLE_1):
        found = ends(name, alpha, eta)
        if min(found) > 1.4:
            axis.text(1.42, -place, f"{min(found):.1f} ▸", ha="right", va="center", fontsize=8)
        else:
            axis.plot(found, [-place] * seeds, "|", markersize=8, color=show.COLOURS[0])
    axis.set(title=f"α = {alpha}, η = {eta}", xlabel="left of the way", xlim=(-0.1, 1.45))
axes[0].set_yticks(range(0, -len(TABLE_1), -1), TABLE_1, fontsize=8)
show.figure(
    fig,
    name="ends",
    caption="Where each run's loss ends: 0 is the target, 1 the plateau of a model that does not know the output. "
    "Numbers: models whose runs all end farther off than is drawn.",
    alt="Six panels with a row of marks for each of thirteen models. In most rows the marks lie together; at the "
    "larger rate with noise, and at both with much of it, those of some models that train matrices spread.",
)

# %% [markdown]
# How far the ends of a model's runs are apart at the better rate, which is what is judged:

# %%
at_better_rate = {alpha: {name: apart(name, alpha) for name in TABLE_1} for alpha in levels}
show.table(
    ["model", *(f"α = {alpha}" for alpha in levels)],
    [[name, *(f"{at_better_rate[alpha][name]:.2g}" for alpha in levels)] for name in TABLE_1],
    caption="Ends of the runs apart, as a share of the way, at the rate with the lower mean",
)

# %% [markdown]
# ## What layers predict
# Figure 10 trains Origin-Linear-FA on a finite sample and asks on which sentences attention predicts $y$ and the
# feed-forward layer $\tau$. It is run here at $\alpha = 0.5$, with a seed for each run, in short sentences over 60
# words; the page {doc}`figure_10_layers` has the sentences of the paper, and two ends to which its runs come.

# %%
origin = "Origin-Linear-FA"
small = {"evaluation": 256, "record_every": passes * samples, "device": device}
of_figure = [
    train_on_sample(
        [TrainingRun(VARIANTS[origin], 0.5, 0.1)],
        Task(60, length=length, noisy=True),
        samples,
        passes,
        samples // 4,
        stream,
        counted=True,
        **small,
    )
    for stream in of_runs
]

# %% [markdown]
# What the layers predict at the end of each run, and where its loss is:

# %%
shares = {
    layer: [run.of(f"{layer}_hits", origin, 0.5, 0.1)[-1].item() for run in of_figure]
    for layer in ("attention", "feed_forward")
}
losses = [run.fraction_left("population", origin, 0.5, 0.1) for run in of_figure]
show.table(
    ["run", "attention at y", "feed-forward at τ", "left of the way"],
    [[run, *row] for run, row in enumerate(zip(*shares.values(), losses, strict=True))],
    caption="Origin-Linear-FA at α = 0.5, after training on a sample: shares of sentences, and the population loss",
)

# %% [markdown]
# ## What the evidence says
# That losses of trained matrices end alike is measured, and no theorem. Two things beside it are proved.
#
# <details><summary>Proof of Remark on seeds (Appendix D.1): two things beside it</summary>
#
# *The loss does not determine what the layers predict.* In an FA model with linear attention the logits of a sentence
# are $Vs+F(s+x_H)$, where $s$ is the attended sum. An input is $E$ of its word plus $\tilde E$ of the word before, and
# these codes are orthonormal. Let $D$ be a matrix that sees $E(y)$ of output words $y$ only. The last word is a
# trigger, so that $Dx_H=0$, and $V+D$ and $F-D$ give the same logits on every sentence, hence the same loss;
# attention's own logits change by $Ds$. Attended sums hold output words, so $D$ can move the largest of these logits to
# any word. Two runs may thus end at one loss with layers that predict different words.
#
# *The paths of fully reparameterised models depend on the seed through the triggers alone.* A step of length $\eta$
# moves one number for each trigger. With linear or ReLU attention and FA these numbers depend on the sentences only
# through how often each trigger comes in a batch (Theorems 3.2 and 4.3), and with a single trigger not at all.
# $\square$
#
# </details>
#
# Losses are judged at the better rate, by the margin of the page of Table 1, which was set there. Up to $\alpha=0.5$
# all runs of a model must be within it of each other. At the batch of this page the margin is wide, four tenths of the
# way; this was chosen when first runs had been seen. As a control, two rates of a model must be farther apart than the
# margin allows two seeds to be. At $\alpha=0.8$ five short runs cannot decide: to pass, two runs would have to be
# within about a twentieth of the way in the root mean square. So there the distance is shown, with the upper end of its
# interval.
#
# The remark speaks of differences, and not of losses alone. What the layers of Figure 10 predict is compared as the
# paper has it: shares of sentences must be apart by at most a tenth, the share by which Table 1 tells near from far. At
# the paper's size, where {doc}`figure_10_layers` was run with twenty seeds, 11 runs end like the figure and 9 in
# another way.
#
# Fully reparameterised models, at the smaller rate, are held to a hundredth where their number walks on and on. With
# label noise that of an F model with linear or ReLU attention comes to its best value and swings around it, by steps of
# 0.1, so that where it is at the end differs by seed. These two are held to the tenth. (A hundredth was asked of them
# before: five seeds met it with the sentences that were drawn then, and with others they did not.)


# %%
def two_runs(found, models):
    """The root mean square distance of two runs, and its 99 % interval for normal draws of one chosen among models."""
    degrees, variance, tail = len(found) - 1, 2 * statistics.variance(found), 0.005 / models
    low, high = (math.sqrt(variance * degrees / scipy.stats.chi2.ppf(share, degrees)) for share in (1 - tail, tail))
    return math.sqrt(variance), (low, high)


numbers = [name for name in TABLE_1 if VARIANTS[name].trained == "scales"]
exact = {(name, alpha): spread(ends(name, alpha, 0.1)) for name in numbers for alpha in levels}
swinging = [(name, alpha) for name in ("Reparam-Linear-F", "Reparam-ReLU-F") for alpha in levels[1:]]
restless = {f"{name}, α = {alpha}": exact.pop((name, alpha)) for name, alpha in swinging}
walking = {f"{name}, α = {alpha}": found for (name, alpha), found in exact.items()}

# %% [markdown]
# At every noise level, then:

# %%
claim = Claim("in-context-reasoning/remark-d-1-seeds")
for alpha in levels:
    found = at_better_rate[alpha]
    if alpha < 0.8:
        claim.at_most(f"α = {alpha}, better rate: ends apart, share of the way", found, near(batch))
    two_rates = spread([ends("Origin-Softmax-FA", alpha, eta)[0] for eta in rates])
    claim.control.at_most(f"α = {alpha}, two rates of Origin-Softmax-FA: the same", two_rates, near(batch))
claim.at_most("fully reparameterised, η = 0.1: ends apart", walking, 0.01)
claim.at_most("those whose number swings around its best value: ends apart", restless, near(512))
by_layer = {layer: spread(found) for layer, found in shares.items()}
claim.printed.at_most("Figure 10, α = 0.5: shares of sentences apart", by_layer, near(512))
claim.number("Figure 10, α = 0.5: losses apart, share of the way", spread(losses))
rough = max(at_better_rate[0.8], key=at_better_rate[0.8].get)
typical, interval = two_runs(at_better(rough, 0.8), len(TABLE_1))
label = f"α = 0.8, better rate: two runs apart, root mean square, {rough}, the roughest of {len(TABLE_1)}"
claim.number(label, typical)
claim.number("the same, upper end of the interval", interval[1])
beyond = [name for name, found in at_better_rate[0.8].items() if found > near(batch)]
claim.number("α = 0.8, better rate: models whose runs spread by more than the margin, of 13", len(beyond))
claim.verdict()

# %% [markdown]
# ## What was learned
# Up to $\alpha=0.5$ the losses are as the remark has it: at the better rate the runs of a model end alike within the
# margin. At $\alpha=0.8$, in batches as small as these, five runs leave it open. The fully reparameterised models end
# nearly in the same place at every noise level. With linear or ReLU attention and FA they must, since the sentences
# enter their paths by the counts of the triggers alone. On how many sentences a layer predicts its token differs from
# seed to seed where losses do not, so the remark is not true of everything that the paper draws.
#
# ## To try
# - Set `steps = 100`: with label noise Origin-Softmax-F is just leaving its plateau at the larger rate, sooner in some
#   runs than in others, and its ends are far apart. The fully reparameterised models are on their way still without
#   noise, where seeds are more than a hundredth apart.
# - Set `batch = 128`: slopes are steadier, and runs are apart in fewer places.

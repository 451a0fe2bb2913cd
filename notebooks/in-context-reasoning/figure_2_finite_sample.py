# %% [markdown]
# # Figure 2 · Training on 2048 sentences
# *Nguyen, Nguyen-Tang: Figure 2, Section 5.3.*
#
# *The task.* A sentence ends in a trigger word. Earlier in it the same trigger was followed by an output word $y$,
# which is the word to predict; with label noise a noise word $\tau$ comes in its place with probability $\alpha$.
# *Unseen* words are outputs that were never labels in training. A model has one layer of attention, with matrices $V$
# and $W$, and a feed-forward layer $F$. *Origin* models train all three; *Reparam* models train one number $\lambda$
# for each trigger, or $W$ where the name has it; in *FA* models $F$ sees what attention collected, in *F* models it
# does not.
#
# Three ReLU models see the same 2048 labelled sentences over and over. The fully reparameterised one has a single
# number to learn and cannot overfit. The other two can: their labels are noisy, and with enough parameters a model can
# learn by heart which sentences ended in $\tau$. The paper says two things about what comes of it. On sentences with
# the trained outputs all three generalise. On unseen outputs they do so the better the more they are reparameterised.
#
# How near the Bayes risk is "successfully" generalised? The scale is a model that knows which words are outputs, and
# not which of them it is. It is $(1-\alpha)\ln|\mathcal O|$ above the Bayes risk: 1.11 at $\alpha=0.2$, and no more
# than 0.28 at $\alpha=0.8$. So an excess is told as the share of this way that is left: 1 for such a model, 0 for the
# Bayes risk. A model that generalises has come at least half of the way.
#
# The sentences of a panel are all drawn by one rule, *fillers as in the text*: the words around the bigrams are neither
# triggers nor outputs. With *outputs as fillers*, the other reading, the models are trained as well and shown beside
# it. Slopes are computed by subtraction in float32, as in an ordinary training loop.
#
# **Size.** Sentences, vocabulary and sample are those of the paper, and the 100 epochs of its training are too at full
# size. Two numbers of Figure 2 are not printed: how many sentences go into a step, and the learning rate, of which
# Appendix D.1 says for all results that it is 0.1 or 0.5. Here the rate is 0.1, and there are 20 epochs of 128
# sentences a step, 320 steps; at full size, 512 sentences a step, as Section 5 has where the population loss is
# trained. Where a panel hangs on the rate, the other one is run too.

# %%
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, gap_to_bayes
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.validation import require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
samples = 2_048  # M, at least 512
passes = 20  # epochs, at least 10; the paper has 100
batch = 128  # sentences a step, from 64 to samples
rate = 0.1  # eta, from 0.01 to 0.5
evaluation = 128  # sentences in each evaluation set, at least 64; the paper has 20480 and 512
seeds = 4  # data sets, at least 2
other_seeds = 2  # data sets with outputs as fillers, at least 2
seed = 0  # of the first data set, at least 0
device = "cpu"  # where the models are, one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    samples=(samples, 512, None),
    passes=(passes, 10, None),
    batch=(batch, 64, samples),
    rate=(rate, 0.01, 0.5),
    evaluation=(evaluation, 64, None),
    seeds=(seeds, 2, None),
    other_seeds=(other_seeds, 2, None),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
full, only_w, origin = "Reparam-ReLU-FA", "Reparam-ReLU-W-FA", "Origin-ReLU-FA"
names, levels = (full, only_w, origin), (0.2, 0.8)
other_rate = 0.5 if rate < 0.5 else 0.1

# %% [markdown]
# ## The runs
# Every data set has its own sentences and labels, and its own sentences for the evaluation. Both noise levels are
# trained on the same sentences.

# %%
per_epoch = samples // batch
models = [TrainingRun(VARIANTS[name], alpha, rate) for name in names for alpha in levels]
models.append(TrainingRun(VARIANTS[origin], 0.8, other_rate))
options = {
    "evaluation": evaluation,
    "arithmetic": "subtraction",
    "dtype": torch.float32,
    "record_every": max(1, passes // 10) * per_epoch,
    "device": device,
}

# %% [markdown]
# All of them, under both rules:


# %%
def trained(fillers, count):
    """The histories of all models, by data set."""
    task = Task(tokens, length=length, noisy=True, fillers=fillers)
    first = range(seed, seed + count)
    return [train_on_sample(models, task, samples, passes, batch, each, **options) for each in first]


text, other = trained("neutral", seeds), trained("outputs allowed", other_seeds)
rules = {"fillers as in the text": text, "outputs as fillers": other}

# %% [markdown]
# The paper's four panels. A line is the mean over the data sets, and the band around it spans them. The two dotted
# lines are the Bayes risk and, above it, the plateau of a model that does not know which output it is.


# %%
def panel(axis, histories, measure, alpha):
    """One measure of all models at one noise level."""
    colours = (show.COLOURS[0], show.COLOURS[2], show.COLOURS[1])  # those of the other pages and of the instrument
    for name, colour, marker in zip(names, colours, show.MARKERS, strict=False):
        curves = torch.stack([history.of(measure, name, alpha, rate) for history in histories])
        epochs = [step / per_epoch for step in histories[0].steps]
        axis.plot(epochs, curves.mean(dim=0), marker=marker, color=colour, label=name)
        axis.fill_between(epochs, curves.amin(dim=0), curves.amax(dim=0), color=colour, alpha=0.25, linewidth=0)
    for level in (bayes_risk(alpha), bayes_risk(alpha) + gap_to_bayes(alpha)):
        axis.axhline(level, color="0.4", linestyle=":")
    axis.set(xlabel="epoch", ylabel=f"{measure} loss", yscale="log" if measure == "unseen" else "linear")
    if measure == "population":
        axis.set(ylim=(bayes_risk(alpha) - 0.1, bayes_risk(alpha) + 1.6 * gap_to_bayes(alpha)))


# %% [markdown]
# All four, with the fillers of the text:

# %%
fig, axes = show.axes(2, 2, width=8.0, height=5.6)
panels = [(alpha, measure) for alpha in levels for measure in ("population", "unseen")]
for axis, (alpha, measure), letter in zip(axes.flat, panels, "abcd", strict=True):
    panel(axis, text, measure, alpha)
    axis.set_title(f"({letter}) α = {alpha}")
axes[0, 1].legend(fontsize=8, loc="center right")
show.figure(
    fig,
    name="figure-2",
    caption="On trained outputs (a, c) the reparameterised models come down to the Bayes risk. The Origin model does "
    "so at α = 0.2; at 0.8 it stays near the plateau, the upper dotted line, and has only begun to come down when "
    "training ends. Curves that leave a panel are cut off. On unseen outputs (b, d) the full reparameterisation is as "
    "good as on trained ones, W alone less so, and the Origin model fails.",
    alt="Four panels of loss against epoch. In the left ones two curves end near the lower dotted line; the third "
    "comes down in the upper panel and stays near the upper dotted line in the lower one. In the right ones, on a "
    "logarithmic axis, one curve lies on the line, one a little above, and one far above.",
)

# %% [markdown]
# ## What is left of the way
# Under both rules of the fillers, as the mean over the last quarter of training; above 1 it is worse than a model that
# does not know the output:


# %%
def left(histories, measure, name, alpha, eta=rate):
    """The share of the way from the plateau to the Bayes risk that is left, by data set."""
    return [history.fraction_left(measure, name, alpha, eta) for history in histories]


def least(histories, name, alpha, eta=rate):
    """The least share of the way that is left at any record, by data set."""
    curves = (history.of("population", name, alpha, eta) for history in histories)
    return [((curve.min() - bayes_risk(alpha)) / gap_to_bayes(alpha)).item() for curve in curves]


def spread(values):
    return f"{sum(values) / len(values):.3f} ({min(values):.3f} to {max(values):.3f})"


# %% [markdown]
# By model, measure and rule of the fillers:

# %%
show.table(
    ["model", "fillers", *(f"{measure}, α = {alpha}" for alpha, measure in panels)],
    [
        [name, rule, *(spread(left(histories, measure, name, alpha)) for alpha, measure in panels)]
        for name in names
        for rule, histories in rules.items()
    ],
    caption="Share of the way from the plateau to the Bayes risk that is left: mean (least to largest) over data sets",
)

# %% [markdown]
# At $\alpha=0.8$ the Origin model's share on trained outputs hangs on the rate as well. Here it is at both, when
# training ends and where it is least:

# %%
show.table(
    ["rate", "fillers", "when training ends", "least over the epochs"],
    [
        [eta, rule, spread(left(histories, "population", origin, 0.8, eta)), spread(least(histories, origin, 0.8, eta))]
        for eta in sorted({rate, other_rate})
        for rule, histories in rules.items()
    ],
    caption=f"{origin}, α = 0.8, trained outputs: share of the way that is left, over data sets",
)

# %% [markdown]
# Where the labels have been learnt by heart, the loss on a model's own labels ends below that on fresh sentences:


# %%
def by_heart(histories, name, alpha):
    """How far the loss on a model's own labels ends below that on fresh sentences, by data set."""
    return [one.end("population", name, alpha, rate) - one.end("labels", name, alpha, rate) for one in histories]


show.table(
    ["model", "fillers", *(f"α = {alpha}" for alpha in levels)],
    [
        [name, rule, *(spread(by_heart(histories, name, alpha)) for alpha in levels)]
        for name in names
        for rule, histories in rules.items()
    ],
    caption="Loss on fresh sentences minus loss on the training sentences drawn for the next step: mean (least to "
    "largest)",
)

# %% [markdown]
# ## On trained outputs
# <!-- claim in-context-reasoning/figure-2a -->
# <blockquote>
#
# **Figure 2(a) (2048 sentences, α = 0.2: population loss)** *Section 5.3*
#
# Trained on 2048 sentences, Reparam-ReLU-FA, Reparam-ReLU-W-FA and Origin-ReLU-FA generalise to fresh sentences with
# the same outputs.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim in-context-reasoning/figure-2c -->
# <blockquote>
#
# **Figure 2(c) (2048 sentences, α = 0.8: population loss)** *Section 5.3*
#
# **The paper states.** Figures 2a and 2c indicate that after being trained on a finite dataset, all three models
# successfully generalize to in-distribution sentences for both $\alpha<0.5$ and $\alpha>0.5$.
#
# **What is true.** With fillers as in the text, the two reparameterised models generalise. At rate 0.1, the Origin
# model has come less than half of the way from the plateau of a model that does not know the output when training ends.
#
# **What changed.** Not all three models generalise at $\alpha=0.8$. With outputs as fillers, at the paper's size, both
# models that train matrices have about half of the way left. The paper states neither rate nor batch. At other settings
# the Origin model ends anywhere from about half of the way to far above the plateau; on some data sets it comes nearer.
#
# </blockquote>
# <!-- /claim -->
# "Figures 2a and 2c indicate that after being trained on a finite dataset, all three models successfully generalize to
# in-distribution sentences." Half of the way from the plateau to the Bayes risk is asked of each, in the mean over data
# sets; of the full reparameterisation, nearly all of it. At $\alpha=0.8$ and rate 0.1 the Origin model does not come so
# far, which was known from earlier runs. A model before training is the control.


# %%
def untrained(measure, name, alpha):
    """The same share before the first step."""
    return [(one.of(measure, name, alpha, rate)[0].item() - bayes_risk(alpha)) / gap_to_bayes(alpha) for one in text]


claim = Claim("in-context-reasoning/figure-2a")
claim.at_most(f"{full}: share that is left", estimate(left(text, "population", full, 0.2)), 0.05)
for name in (only_w, origin):
    claim.at_most(f"{name}: share that is left", estimate(left(text, "population", name, 0.2)), 0.5)
    claim.number(f"{name}, outputs as fillers: the same", sum(left(other, "population", name, 0.2)) / other_seeds)
claim.control.at_most(f"{origin}, untrained: the same", estimate(untrained("population", origin, 0.2)), 0.5)
claim.control.at_most(f"{origin}, unseen outputs: the same", estimate(left(text, "unseen", origin, 0.2)), 0.5)
claim.verdict()

# %% [markdown]
# With more noise:

# %%
claim = Claim("in-context-reasoning/figure-2c")
claim.at_most(f"{full}: share that is left", estimate(left(text, "population", full, 0.8)), 0.05)
claim.at_most(f"{only_w}: share that is left", estimate(left(text, "population", only_w, 0.8)), 0.5)
claim.printed.at_most(f"{origin}: share that is left", estimate(left(text, "population", origin, 0.8)), 0.5)
lowest = least(text, origin, 0.8)
claim.number(f"{origin}: share that is left, least over the epochs, mean", sum(lowest) / seeds)
claim.number(f"{origin}: the same, least over the data sets too", min(lowest))
for name in (only_w, origin):
    ends = left(other, "population", name, 0.8)
    claim.number(f"{name}, outputs as fillers: share that is left", sum(ends) / other_seeds)
for rule, histories in rules.items():
    ends = left(histories, "population", origin, 0.8, other_rate)
    claim.number(f"{origin}, η = {other_rate}, {rule}: share that is left", sum(ends) / len(ends))
claim.control.at_most(f"{only_w}, untrained: the same", estimate(untrained("population", only_w, 0.8)), 0.5)
claim.verdict()

# %% [markdown]
# At $\alpha=0.8$ only every fifth label is an output. Two things happen to the model with all matrices trained, one
# after the other. It stays for long near the plateau of a model that does not know the output, and then learns the
# outputs, so that its share falls. But as it learns them it also learns by heart which sentences ended in $\tau$, and
# the share rises again (set `passes = 100`). The least share over the epochs, which is shown and not judged, tells how
# near it comes in between. Neither the batch nor the rate is printed, and when that is depends on both. So this does
# not show that the paper's run fell short. On record at full size, four settings end between about half of the way
# (rate 0.1, outputs as fillers) and far above the plateau (rate 0.5, after 100 epochs).
#
# ## On unseen outputs
# <!-- claim in-context-reasoning/figure-2b -->
# <blockquote>
#
# **Figure 2(b) (2048 sentences, α = 0.2: unseen outputs)** *Section 5.3*
#
# On unseen outputs the full reparameterisation generalises perfectly, $W$ alone better than the Origin model but not
# perfectly, and the Origin model fails.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim in-context-reasoning/figure-2d -->
# <blockquote>
#
# **Figure 2(d) (2048 sentences, α = 0.8: unseen outputs)** *Section 5.3*
#
# As Figure 2(b), with $\alpha=0.8$.
#
# </blockquote>
# <!-- /claim -->
# "Figures 2b and 2d shows a increasing trend [*sic*] in generalization to unseen output words as the models are more
# restricted to appropriate reparameterization." The models of one data set share its sentences, so what counts is the
# difference of two of them, data set by data set. The full reparameterisation is to be perfect, $W$ alone better and
# not perfect, each a hundredth of the way or more behind the one before, and the Origin model to fail: no better than
# the plateau. (A twentieth was asked of the differences before. At full size and $\alpha=0.2$ the first of them is
# 0.055, so that the order hung on that bar; a hundredth is what counts as perfect elsewhere in this chapter.)

# %%
for letter, alpha in (("b", 0.2), ("d", 0.8)):
    claim = Claim(f"in-context-reasoning/figure-2{letter}")
    shares = {name: torch.tensor(left(text, "unseen", name, alpha)) for name in names}
    claim.at_most(f"{full}: share that is left", estimate(shares[full]), 0.05)
    claim.at_least(f"{only_w} minus {full}", estimate(shares[only_w] - shares[full]), 0.01)
    claim.at_least(f"{origin} minus {only_w}", estimate(shares[origin] - shares[only_w]), 0.01)
    claim.at_least(f"{origin}: share that is left", estimate(shares[origin]), 1)
    begin = {name: torch.tensor(untrained("unseen", name, alpha)) for name in names}
    claim.control.at_least(f"untrained, {only_w} minus {full}", estimate(begin[only_w] - begin[full]), 0.01)
    claim.control.at_least(f"{full}: share that is left", estimate(shares[full]), 1)
    for name in (only_w, origin):
        claim.number(
            f"{name}, outputs as fillers: share that is left", sum(left(other, "unseen", name, alpha)) / other_seeds
        )
    claim.verdict()

# %% [markdown]
# ## What was learned
# On unseen outputs the three models come in the order that the paper gives, at both noise levels and under both rules
# of the fillers, by margins far beyond the spread of the data sets. On trained outputs the two reparameterised ones
# generalise, and the Origin model does at $\alpha=0.2$. At $\alpha=0.8$ its loss looks near the Bayes risk, since
# everything does: a model that does not know the output is only 0.28 above. Measured on that scale, at rate 0.1 it has
# gone less than half of the way when training ends. At rate 0.5 it is nearer before, and then learns labels by heart;
# in a run as short as this, where it has come to when training ends hangs on the data set.
#
# ## To try
# - Set `length = 64`: shorter sentences are easier, and at $\alpha=0.8$ the Origin model comes farther down from the
#   plateau on trained outputs, to about half of the way.
# - Set `passes = 100`, as in the paper: the Origin model learns labels by heart. The loss on its own labels falls far
#   below that on fresh sentences, and its share at $\alpha=0.8$ rises above 1. With batches as small as 128 even its
#   share at $\alpha=0.2$ comes near a half, and $W$ alone is hardly worse than the full reparameterisation on unseen
#   outputs, so that more panels fail; on record, with batches of 512, they come out. (This takes two minutes.)

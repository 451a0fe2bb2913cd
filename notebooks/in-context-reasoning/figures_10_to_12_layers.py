# %% [markdown]
# # Figures 11 and 12 · Two layers that divide the work
# *Nguyen, Nguyen-Tang: Figures 11 and 12, and the third panels of Figures 10 to 12; Appendix D.2.2.*
#
# A transformer can store knowledge in two places, attention and the feed-forward layer. Which of them learns to copy
# from the sentence, and which learns how often noise occurs? If we fix some weights in the right form, each layer has
# its task. Does such a division of labour make the model good at new words?

# %%
import math

import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, gap_to_bayes
from attention_theory.in_context_reasoning.finite_sample import hoeffding_radius
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, estimate, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["blue", "key", "gold", "tree", "lamp", "key"], at=(2.5, 0.5), lit=[2])
schematic.arrow(axis, tops[5], tops[2], "logit 3", bend=-0.4)
show.figure(
    fig,
    name="sentence",
    caption="What attention looks up in the tiny example.",
    alt="Six boxes: blue, key, gold, tree, lamp, key. An arrow leads from the last key back to gold, the word "
    "after the first key.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *key* to *gold*, the word
# after the earlier *key*. Attention gives *gold* logit 3 and no other word a positive one, so it predicts *gold*. The
# feed-forward layer gives the noise word $\tau$ logit $3+\ln\frac14\approx1.6$ and all other words 0, so it predicts
# $\tau$. The layers are *separated*. In the sum of the two, the odds of noise are $1:4$, so $\alpha=0.2$.
#
# With 1 instead of 3, the logit of $\tau$ is negative, and the feed-forward layer does not predict it.

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
samples = 2_048  # M, at least 512
passes = 32  # epochs, at least 20 and so few that the product of eta and the steps is at most 40
batch = 512  # sentences a step, from 64 to samples
rate = 0.1  # eta, from 0.01 to 0.5
evaluation = 256  # evaluation sentences, at least 64; the paper has 20480
seeds = 3  # runs, at least 2
other_seeds = 1  # of these, also with outputs as fillers, at least 1
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
steps = passes * (samples // batch)
require(rate_times_steps=(rate * steps, 0.0, 40.0))  # beyond it float64 does not carry Figure 12
linear = origin, only_w, full = "Origin-Linear-FA", "Reparam-Linear-W-FA", "Reparam-Linear-FA"
levels, text, other = (0.2, 0.5, 0.8), "neutral", "outputs allowed"
sizes = {"evaluation": evaluation, "record_every": max(1, steps // 10), "device": device}


# %%
def train(names, fillers, stream, part=1, **options):
    """Some of the models at the three noise levels on one sample; a batch may be a part of the full one."""
    runs = [TrainingRun(VARIANTS[name], alpha, rate) for name in names for alpha in levels]
    task = Task(tokens, length=length, noisy=True, fillers=fillers)
    sizing = max(1, passes // part), batch // part
    return train_on_sample(runs, task, samples, *sizing, stream, counted=True, **sizes, **options)


of_runs = streams(seed, seeds)
histories = [train([origin, only_w], text, stream) for stream in of_runs]
walks = [train([full], text, stream, part=4, dtype=torch.float64) for stream in of_runs]
others = [train([only_w], other, stream) for stream in of_runs[:other_seeds]]


# %%
def of(measure, name, alpha, among=None):
    """A measure at the end of every run."""
    among = among or (walks if name == full else histories)
    return [history.curve(measure, name, alpha, rate)[-1].item() for history in among]


def left(measure, name, alpha):
    """The share of the way to the Bayes risk that is left, by run."""
    return [(loss - bayes_risk(alpha)) / gap_to_bayes(alpha) for loss in of(measure, name, alpha)]


def by_run(values):
    return {f"run {index}": value for index, value in enumerate(values)}


# %%
def draw(name, title, caption):
    """Mean logits of both layers at each noise level, a curve for each run."""
    fig, axes = show.axes(2, 3, width=9.0, height=4.6, sharex=True)
    rows = (("attention", "output", r"$\xi_A$", "y"), ("feed_forward", "noise", r"$\xi_F$", "τ"))
    for row, (layer, token, symbol, word) in zip(axes, rows, strict=True):
        for axis, alpha in zip(row, levels, strict=True):
            for index, history in enumerate(walks if name == full else histories):
                for curve, line, label in ((token, "-", f"{symbol} at {word}"), ("largest", "--", f"max {symbol}")):
                    series = history.curve(f"{layer}_{curve}", name, alpha, rate)
                    colour = show.COLOURS[line == "--"]
                    axis.plot(history.steps, series, line, color=colour, label=label if index == 0 else None)
            axis.set(title=f"α = {alpha}", ylabel="mean logit")
        row[0].legend(fontsize=8)
    for axis in axes[1]:
        axis.set(xlabel="step")
    alt = "Six panels in which solid and dashed curves coincide in the end."
    show.figure(fig, name=title.lower().replace(" ", "-"), caption=f"{name}: the paper's {title}. {caption}", alt=alt)


# %% [markdown]
# We train with $V$ and $F$ in the form of Lemma 4.1 and plot the mean logits of every run.

# %%
draw(
    only_w,
    "Figure 11",
    "Attention (upper row) and the feed-forward layer (lower row) both predict their word in every run.",
)

# %% [markdown]
# With $W$ trained as a matrix, both layers learn to predict their word: we see its logit (solid) meet the largest one
# (dashed).

# %%
draw(
    full,
    "Figure 12",
    "Straight lines of slope η: η t in the upper row, η t + γ̂ in the lower row. There another logit, 0, is larger at "
    "first at the lowest noise level. Curves of several runs coincide.",
)

# %% [markdown]
# With one number instead of $W$, we see the logits follow straight lines.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/figure-11 -->
# <blockquote>
#
# **Figure 11 (The layers of Reparam-Linear-W-FA)** *Appendix D.2.2*
#
# **The paper states.** In contrast, the fully-reparameterized model exhibits perfect separation in the functionality of
# the two layers. The same phenomenon is also observed in Reparam-Linear-W-FA, which suggests that reparameterizing $F$
# is sufficient to force the two layers to be biased towards two different types of tokens.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** If fillers may be outputs, then at the paper's size attention fails to predict $y$ on up to 17 %
# of the sentences at $\alpha=0.8$, and on 0.1 to 0.2 % at lower noise levels. The model fixes $V$ as well as $F$, so
# the figure does not show that fixing $F$ alone is sufficient. We do not judge this suggestion here.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim in-context-reasoning/figure-12 -->
# <blockquote>
#
# **Figure 12 (The layers of Reparam-Linear-FA)** *Appendix D.2.2*
#
# **The paper states.** The fully-reparameterized model Reparam-Linear-FA exhibits perfect separation in the
# functionality of the two layers, which verified our Theorem 4.5.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The logits are $\eta t$ at $y$ and $\eta t+\hat\gamma$ at $\tau$, as in the proof of Theorem
# 4.5.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# In the form of Lemma 4.1, $F$ writes only to $\tau$, so it cannot favour $y$, and attention must. Attention could
# favour $\tau$, but need not, since $F$ does. With one number, the logits are $\eta t$ at $y$ and $\eta t+\hat\gamma$
# at $\tau$, where $\hat\gamma$ is the log-odds of $\tau$ among the labels. The layers are therefore separated as soon
# as $\eta t>\max(0,-\hat\gamma)$.
#
# ## See it run
#
# Means can hide individual sentences, so we count the sentences on which the layers are separated (condition (8) of the
# paper).

# %%
show.table(
    ["model", "fillers", "runs", *(f"α = {alpha}" for alpha in levels)],
    [
        [name, fillers, len(among)]
        + [", ".join(f"{value:.3f}" for value in of("separated", name, alpha, among)) for alpha in levels]
        for name, fillers, among in (
            (only_w, "as in the paper's text", histories),
            (only_w, "outputs as fillers", others),
            (full, "as in the paper's text", walks),
            (origin, "as in the paper's text", histories),
        )
    ],
    caption="Fraction of sentences, by run, on which the layers are separated: the largest logit of attention is at "
    "y, and that of the feed-forward layer at τ",
)

# %% [markdown]
# Both reparameterised models separate their layers on every sentence. The Origin model does not.
#
# ## How we checked
#
# "Perfect" means every sentence in every run. The controls are the Origin model and an untrained model.

# %%
claim = Claim("in-context-reasoning/figure-11")
for alpha in levels:
    claim.equal(f"α = {alpha}: separated layers, share", by_run(of("separated", only_w, alpha)), 1)
    claim.control.equal(f"α = {alpha}: {origin}, same samples", by_run(of("separated", origin, alpha)), 1)
for alpha in levels:
    least = min(of("separated", only_w, alpha, others))
    claim.number(f"α = {alpha}, outputs as fillers: least share", least)
claim.verdict()

# %% [markdown]
# For Figure 12, we compare the path of the logits with the line and check that the difference of the two logits is the
# log-odds of a whole number of labels.


# %%
def walk_on_line(alpha):
    """The logit at y over η t, for the last record with η t at most 36."""
    found = []
    for history in walks:
        mark = max(index for index, step in enumerate(history.steps) if rate * step <= 36)
        at_y = history.curve("attention_output", full, alpha, rate)[mark].item()
        found.append(at_y / (rate * history.steps[mark]))
    return found


def estimates(alpha):
    """α̂ from the difference of the two logits."""
    pairs = zip(of("attention_output", full, alpha), of("feed_forward_noise", full, alpha), strict=True)
    return [1 / (1 + math.exp(at_y - at_noise)) for at_y, at_noise in pairs]


def before(alpha):
    """Condition (8) at the first record, before any step."""
    return [history.curve("separated", full, alpha, rate)[0].item() for history in walks]


# %%
long = math.ceil(60 / rate / (samples // (batch // 4)))  # epochs that would take λ to 60
small = {"evaluation": 64, "device": device}
far = train_on_sample(
    [TrainingRun(VARIANTS[full], 0.5, rate)],
    Task(tokens, length=16, noisy=True),
    samples,
    long,
    batch // 4,
    of_runs[0],
    counted=True,
    **small,
)
stop = far.curve("attention_output", full, 0.5, rate)[-1] / (rate * far.steps[-1])

# %%
claim = Claim("in-context-reasoning/figure-12")
radius = hoeffding_radius(samples, 1e-3)
for alpha in levels:
    claim.equal(f"α = {alpha}: separated layers, share", by_run(of("separated", full, alpha)), 1)
    claim.control.equal(f"α = {alpha}: the same before any step", by_run(before(alpha)), 1)
    claim.equal(f"α = {alpha}: ξ_A at y over η t", by_run(walk_on_line(alpha)), 1, tolerance=1e-2)
    whole = [samples * value - round(samples * value) for value in estimates(alpha)]
    claim.equal(
        f"α = {alpha}: M / (1 + exp(ξ_A at y - ξ_F at τ)) minus a whole number", by_run(whole), 0, tolerance=1e-6
    )
    off = [abs(value - alpha) for value in estimates(alpha)]
    claim.at_most(f"α = {alpha}: α̂ from it minus α", by_run(off), radius)
    slower = [value * rate / (1.1 * rate) for value in walk_on_line(alpha)]
    claim.control.equal(f"α = {alpha}: ξ_A at y over 1.1 η t", by_run(slower), 1, tolerance=1e-2)
claim.number("float32, to η t = 60: ξ_A at y over η t", stop)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# *Size.* We use $M=2048$ sentences as in the paper, a third of its 100 epochs, and three runs; at full size, all epochs
# and five runs. The model of Figure 12 trains one number, so it gets a quarter of the batch and of the epochs.
#
# *Arithmetic.* Gradients are computed by subtraction in float32. Figure 12 needs float64, because its gradient is about
# $e^{-\lambda}$, the difference of two numbers of order one. Rounding errors dominate it from about $\lambda=20$ in
# float32 and about 40 in float64. We compare the path with the line up to $\eta t=36$ and show where a float32 run
# ends. The fraction $\hat\alpha$ of labels that are $\tau$ must be within the Hoeffding radius that is exceeded with
# probability 0.001.
#
# *Fillers that may be outputs.* The fraction of separated sentences first rises and then falls. After 100 epochs,
# attention failed on up to 17 % of the sentences at $\alpha=0.8$.
#
# </details>
#
# ## Also on this page: the third panels
# <!-- claim in-context-reasoning/figures-10-to-12-third -->
# <blockquote>
#
# **Figures 10 to 12 (Losses of the models of Figures 10 to 12)** *Appendix D.2.2; Sections 5.2 and 5.3*
#
# **The paper states.** All three models successfully generalize to *in-distribution* sentences. When all three matrices
# are trained without reparameterization, they collectively fail to generalize to unseen output words. If only $V$ and
# $F$ are reparameterized then the model displays a better, but non-perfect degree of generalization. The
# fully-reparameterized model achieves perfect generalization.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** This is what Section 5.3 says about ReLU models; neither the captions nor the text say what the
# third panels show. On trained outputs, Reparam-Linear-FA and Reparam-Linear-W-FA come near the Bayes risk. On unseen
# words, Reparam-Linear-FA stays there, and the losses of the other two models end above that of a model that does not
# know the output, by far the highest being that of Origin-Linear-FA. At $\alpha=0.8$, and in this short run also at
# 0.5, Origin-Linear-FA does not come near the Bayes risk on trained outputs either.
#
# </blockquote>
# <!-- /claim -->
#
# Neither the captions nor the text say what the third panels show. According to the authors' code, they show two
# losses, so we compare these losses with what Sections 5.2 and 5.3 say about such models.

# %%
fig, axes = show.axes(1, 3, width=9.0, height=3.2)
shown = ((origin, show.COLOURS[1]), (only_w, show.COLOURS[2]), (full, show.COLOURS[0]))
for axis, alpha in zip(axes, levels, strict=True):
    for name, colour in shown:
        for index, history in enumerate(walks if name == full else histories):
            for measure, line in (("population", "-"), ("unseen", ":")):
                label = f"{name}, {measure}" if index == 0 else None
                axis.plot(history.steps, history.curve(measure, name, alpha, rate), line, color=colour, label=label)
    axis.axhline(bayes_risk(alpha), color=show.COLOURS[6], linewidth=0.6)
    axis.set(title=f"α = {alpha}", xlabel="step", ylabel="loss")
axes[2].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
show.figure(
    fig,
    name="third-panels",
    caption="Losses of the three models, with one curve per run, on trained outputs ('population') and on words that "
    "were never outputs ('unseen'). Thin horizontal line: the Bayes risk.",
    alt="Three panels, each with a bundle of curves near a horizontal line. The curves of Reparam-Linear-W-FA on "
    "unseen words and, with more noise, of Origin-Linear-FA on trained words are higher, and those of "
    "Origin-Linear-FA on unseen words are far above all others.",
)

# %% [markdown]
# On trained outputs, we see the reparameterised models near the Bayes risk. On new words, Origin-Linear-FA is far above
# all others.

# %%
ends = {name: {alpha: left("population", name, alpha) for alpha in levels} for name in linear}
unseen = {name: {alpha: left("unseen", name, alpha) for alpha in levels} for name in linear}
show.table(
    ["model", "words", *(f"α = {alpha}" for alpha in levels)],
    [
        [name, words, *(", ".join(f"{value:.2f}" for value in found[name][alpha]) for alpha in levels)]
        for name in linear
        for words, found in (("trained", ends), ("unseen", unseen))
    ],
    caption="Fraction of the gap that remains at the end of each run, from 1 on the plateau to 0 at the Bayes risk",
)

# %%
claim = Claim("in-context-reasoning/figures-10-to-12-third")
for alpha in levels:
    claim.at_most(f"α = {alpha}, {full}: left, trained words", by_run(ends[full][alpha]), 0.01)
    claim.at_most(f"α = {alpha}, {full}: left, unseen words", by_run(unseen[full][alpha]), 0.01)
    claim.at_most(f"α = {alpha}, {only_w}: left, trained words", estimate(ends[only_w][alpha]), 0.5)
    claim.at_least(f"α = {alpha}, {origin}: left, unseen words", estimate(unseen[origin][alpha]), 1)
    claim.control.at_least(f"α = {alpha}, {full}: the same", by_run(unseen[full][alpha]), 1)
    less = [b - a for a, b in zip(unseen[only_w][alpha], unseen[origin][alpha], strict=True)]
    claim.above(f"α = {alpha}: unseen words, {origin} less {only_w}", estimate(less), 0)
    claim.control.at_most(f"α = {alpha}, {only_w}: left, unseen words", by_run(unseen[only_w][alpha]), 0.01)
for alpha in levels:
    found = ends[origin][alpha]
    claim.number(f"α = {alpha}, {origin}: left, trained words, mean over runs", sum(found) / seeds)
claim.stand_in("what the panels show is known from the authors' code alone; they are held against Sections 5.2 and 5.3")
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The *plateau* is the loss of a model that does not know the output, and the *gap* is its distance from the Bayes risk.
# "Near" means that less than half of the gap remains, "to fail" means to end above the plateau, and "perfect" means
# that at most 0.01 of the gap remains. We show where the Origin model ends on trained outputs without judging it,
# because Section 5.3 makes its statement for ReLU attention.
#
# </details>
#
# ## What to remember
# - If $F$ can favour only the noise word, attention learns to copy and $F$ learns the noise.
# - In our runs this holds on every sentence, whether we train $W$ as a matrix or one number.
# - Separated layers do not make a model good at new words.
#
# ## Exercises
#
# 1. *By hand.* At $\alpha=0.2$ and $\eta=0.1$, after how many steps are the layers of Figure 12 separated?
#    <details><summary>Solution</summary>
#
#    $-\hat\gamma\approx\ln4\approx1.39$, so $0.1\,t>1.39$, from step 14 on.
#
#    </details>
# 2. *Predict, then run.* Set `passes = 50`. At $\alpha=0.5$, does the Origin model leave the plateau on trained
#    outputs? And on new words?
#    <details><summary>Solution</summary>
#
#    On trained outputs it does. On new words its loss stays as far above the plateau as before.
#
#    </details>
#
# Next: [Theorem 4.5](theorem_4_5_separation.ipynb). Its proof predicts these straight lines.

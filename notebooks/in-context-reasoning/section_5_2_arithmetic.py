# %% [markdown]
# # Figure 9 · What rounded slopes do to unseen words
# *Nguyen, Nguyen-Tang: Section 5.2; Figure 9, Appendix D.2.1; the row Reparam-Linear-W-FA of Table 1.*
#
# Section 5.2 trains a model of one layer to predict the next word of a sentence: the word $y$ that followed, earlier in
# the sentence, the trigger with which the sentence ends. The words around are *fillers*, in the text of Section 5 words
# that are neither triggers nor outputs. With label noise a noise word comes in place of $y$ with probability $\alpha$.
# Attention scores words by a matrix $W$; a matrix $V$ and a feed-forward matrix $F$ turn what is attended to into a
# prediction. In Reparam-Linear-W-FA, the model of this page, $V$ and $F$ are given, as the paper's lemmas have them for
# a perfect model, and $W$ alone is trained, by steps of fixed length $\eta$.
#
# The paper asks of it what it asks of all its models. Does its loss come down as far as it can (the *population loss*,
# on fresh sentences of the kind it is trained on)? And does it do as well on sentences whose $y$ was never an output in
# training (the *unseen loss*)? As soon as $W$ is trained in full, says the paper, the model no longer generalises to
# such words. With label noise that is so in both arithmetics. In the noiseless task it is so for an ordinary training
# loop, and the cause is round-off.
#
# The step follows the slope of the loss, divided by its norm, so that it has the length $\eta$ however small the slope.
# For the logit of $y$ this slope is $p_y-1$, where $p_y$ is the probability that the model gives to $y$, and an
# ordinary training loop computes it by subtraction. On the noiseless task $p_y$ soon is so near 1 that $p_y-1$ rounds
# to zero: when the loss is $e^{-17}$ in float32, $e^{-37}$ in float64. The slopes of the *other* words do not round to
# zero. So from there on the step, still of full length, goes where round-off points, and that direction has nothing to
# do with the task. The trained words are far from the border, where another word is as probable as $y$, and do not
# notice. Unseen words are pushed over it. But the same slope, computed in the log domain as $-e^{\ln(1-p_y)}$, is right
# to the last digits at any size: these are the *exact slopes* of the statement.
#
# <!-- claim in-context-reasoning/figure-9 -->
# <blockquote>
#
# **Figure 9 (Losses of Reparam-Linear-W-FA)** *Section 5.2; Appendix D.2.1*
#
# Population losses converge, with limited generalisation to unseen outputs. Here they converge at $\eta=0.1$ at every
# noise level. At $\eta=0.5$ and $\alpha=0.8$ the loss comes to rest above the Bayes risk: whether that is near depends
# on the margin at this size, and does not at the paper's. With label noise generalisation is limited in both
# arithmetics. Without it, at $\eta=0.5$ and with fillers as in the text, it is limited in an ordinary training loop and
# complete with exact slopes.
#
# </blockquote>
# <!-- /claim -->
#
# So the same runs are made with both kinds of slope, without label noise and with it: where the label stays uncertain,
# slopes stay large, and rounding should play no part. The fillers are varied too: how fast the slopes shrink hangs on
# them.
#
# **Size**: batches and steps are fewer than the paper's 512 and 2000 (at full size they are not), and so are the seeds,
# three in place of the paper's five. What is tried beside the figure, float64 and outputs as fillers, is run with the
# first seed alone.

# %%
import itertools
import math

import torch

from attention_theory.in_context_reasoning.batches import fresh_batches
from attention_theory.in_context_reasoning.closed_form import bayes_risk, gap_to_bayes
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.training import train_grid
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
batch = 64  # sentences a step, at least 16; the paper has 512
steps = 500  # T, at least 500; the paper has 2000
torch_steps = 200  # steps of the run in ordinary PyTorch, at least 200
seeds = 3  # runs, at least 1; the paper has 5
seed = 0  # seed of every draw, at least 0
device = "cpu"  # where the models are, one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 500, None),
    torch_steps=(torch_steps, 200, None),
    seeds=(seeds, 1, None),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
name = "Reparam-Linear-W-FA"
noise, slow, fast = [0.2, 0.5, 0.8], 0.1, 0.5
rates = [slow, fast]
share = 0.1 * math.sqrt(512 / batch)
options = {"evaluation": 256, "record_every": steps // 20, "device": device}
of_runs = streams(seed, seeds)

# %% [markdown]
# ## Noiseless, five ways
# Fillers are as in the text of Section 5: words that are neither triggers nor outputs. With outputs as fillers, the
# rule under which the other rows of Table 1 come out, the slopes shrink more slowly and rounding does less harm.

# %%
RULES = {"fillers as in the text": "neutral", "outputs as fillers": "outputs allowed"}
in_text, outputs = RULES


def train(fillers, levels, runs, precision="float32", exact=(name,)):
    """The histories of some runs at some noise levels, and those with exact slopes, by the arithmetic."""
    task, dtype = Task(tokens, length=length, fillers=RULES[fillers]), getattr(torch, precision)
    by_seed = train_grid(
        [name], task, levels, rates, steps, batch, runs, exact=exact, dtype=dtype, **options, together=True
    )
    both = {"subtraction": by_seed, "log-domain": [history.with_arithmetic("log-domain") for history in by_seed]}
    return {arithmetic: both[arithmetic] for arithmetic in list(both)[: 1 + len(exact)]}


# %% [markdown]
# By fillers, arithmetic and precision:

# %%
noiseless = {
    (fillers, arithmetic, precision): found
    for fillers, precision, of in (
        (in_text, "float32", train(in_text, [0.0], of_runs)),
        (in_text, "float64", train(in_text, [0.0], of_runs[:1], "float64", exact=())),
        (outputs, "float32", train(outputs, [0.0], of_runs[:1])),
    )
    for arithmetic, found in of.items()
}

# %% [markdown]
# After the last step, by seed:

# %%
measures = ("population", "unseen", "p_output")


def listed(values):
    return ", ".join(f"{value:.2g}" for value in values)


show.table(
    ["fillers", "slopes", "precision", "η", "population loss", "unseen loss", "p of the unseen word"],
    [
        [*way, eta, *(listed(run.of(one, name, 0.0, eta)[-1].item() for run in runs) for one in measures)]
        for way, runs in noiseless.items()
        for eta in rates
    ],
    caption=f"{name} after {steps} steps",
)

# %% [markdown]
# ## Ordinary PyTorch
# Is that a fault of this project's code? The formula as printed, `torch.nn.functional.cross_entropy`, `backward`, one
# step of length $\eta$ along the gradient of $W$; in float32, which is the default. Nothing of the code above is used
# but the sentences. Steps take a quarter of the batch, the printed form being slow.

# %%
codes = embedding(tokens, 2 * tokens).to(torch.float32).to(device)
identity = torch.eye(2 * tokens, device=device)
matrix = torch.zeros_like(identity).requires_grad_()
weights = Weights(identity, matrix, torch.zeros_like(identity))
text = Task(tokens, length=length)
batches = fresh_batches(text, [0.0], batch // 4, seed, device=device)
held_out = sample_sentences(text, 128, seed + 1, unseen=True).to(device)


def loss_on(words, outputs):
    logits = dense_forward(words, codes, weights, Architecture()).logits
    return torch.nn.functional.cross_entropy(logits, outputs)


# %% [markdown]
# The loop:

# %%
plain_torch = []
for step in range(torch_steps + 1):
    if step % 50 == 0:
        with torch.no_grad():
            plain_torch.append(loss_on(held_out.tokens, held_out.output).item())
    sentences, (labels,) = batches(step)  # without noise a label is the output
    loss_on(sentences.tokens, labels).backward()
    with torch.no_grad():
        if (size := matrix.grad.norm()) > 0:
            matrix -= fast * matrix.grad / size
    matrix.grad = None

# %% [markdown]
# ## With label noise
# Noisy labels keep the slopes of order one, and rounding plays no part: both arithmetics are run, at every noise level,
# to see it. Fillers are as in the text. Here the model trained in $W$ does stay away from the Bayes risk on unseen
# words.

# %%
noisy = train(in_text, noise, of_runs)

# %% [markdown]
# What is left of the way from the plateau of a model that does not know the output, 1, down to the target, 0:


# %%
def left(measure, alpha, eta, arithmetic="subtraction"):
    """The share of the way from the plateau of a model that does not know the output that is left, by seed."""
    ends = [run.end(measure, name, alpha, eta) for run in noisy[arithmetic]]
    return [(end - bayes_risk(alpha)) / gap_to_bayes(alpha) for end in ends]


show.table(
    ["α", "η", "left of the way, population", "left of the way, unseen"],
    [[alpha, eta, *(listed(left(one, alpha, eta)) for one in measures[:2])] for alpha in noise for eta in rates],
    caption="With label noise, means over the last quarter of each run; 0 is the target and 1 the plateau",
)

# %% [markdown]
# ## The figure
# First the noiseless unseen loss at the larger rate, in the ways of the table.

# %%
fig, axis = show.axes(width=7.0)
for ((fillers, arithmetic, precision), runs), colour in zip(noiseless.items(), show.COLOURS, strict=False):
    for index, run in enumerate(runs):
        series = run.of("unseen", name, 0.0, fast).clamp_min(1e-16)
        label = f"{arithmetic}, {precision}, {fillers}" if index == 0 else None
        axis.semilogy(run.steps, series, color=colour, label=label)
axis.semilogy([50 * k for k in range(len(plain_torch))], plain_torch, "s", color="black", label="ordinary PyTorch")
axis.set(xlabel="iteration t", ylabel="unseen loss, noiseless", title=f"η = {fast}")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="arithmetic",
    caption="Slopes in the log domain carry the loss on unseen words down for good; by subtraction it climbs, with "
    "fillers as in the text sooner and higher. A curve for each seed. (Losses below $10^{-16}$ are drawn there.)",
    alt="Curves on a logarithmic axis that fall, of which some turn and rise, as do squares of ordinary PyTorch.",
)

# %% [markdown]
# Then the losses with label noise at both rates, on the same axis for trained and unseen words.

# %%
fig, axes = show.axes(2, 2, width=7.5, height=5.0, sharex=True, sharey=True)
for axis, (eta, measure) in zip(axes.flat, itertools.product(rates, measures[:2]), strict=True):
    for alpha, colour in zip(noise, show.COLOURS, strict=False):
        for index, run in enumerate(noisy["subtraction"]):
            series, label = run.of(measure, name, alpha, eta), f"α = {alpha}" if index == 0 else None
            axis.plot(run.steps, series, color=colour, label=label)
        axis.axhline(bayes_risk(alpha), color=colour, linestyle=":", linewidth=1)
    axis.set(ylabel=f"{measure} loss", title=f"η = {eta}")
for axis in axes[1]:
    axis.set(xlabel="iteration t")
axes[0, 1].legend(fontsize=8)
show.figure(
    fig,
    name="noisy",
    caption="With label noise the loss on trained words comes near the Bayes risk at the smaller rate (dotted; it is "
    "the same for two of the levels), and at the larger one rests above it. That on unseen words stays above it at "
    "both. A curve for each seed.",
    alt="Four panels of curves and two dotted levels, at one half and 0.7. On the left the curves fall nearly to them "
    "above, and less near below; on the right they stay higher.",
)

# %% [markdown]
# ## What the evidence says
# The caption has two parts. Population losses converge: so they must come near the target, without noise at both rates,
# and with noise at the smaller one by the margin of {doc}`table_1_thirteen_models`, at every seed. That they do at the
# larger rate with much noise is compared as printed. Generalisation is limited: the unseen loss must stay a tenth of
# the way above the population loss. For an ordinary loop that is to hold without noise too, with the fillers of the
# text; exact slopes are the control.


# %%
def by_run(of):
    """What is told of every run, by its case and the number of its seed."""
    return {f"{case}, seed {index}": value for case, values in of.items() for index, value in enumerate(values)}


told = {way: ", ".join([*way[1:], way[0]]) for way in noiseless}
losses = by_run(
    {
        f"{told[way]}, η = {eta}": [run.of("population", name, 0.0, eta)[-1].item() for run in runs]
        for way, runs in noiseless.items()
        for eta in rates
    }
)
unseen = {
    way: [run.of("unseen", name, 0.0, fast)[-1].item() / math.log(4) for run in runs] for way, runs in noiseless.items()
}

# %% [markdown]
# The shares of the way that are left on unseen words: by subtraction with fillers as in the text, with exact slopes
# under both rules, and by subtraction with outputs as fillers.

# %%
rounded = by_run({told[way]: unseen[way] for way in noiseless if way[:2] == (in_text, "subtraction")})
exact = by_run({told[way]: unseen[way] for way in noiseless if way[1] == "log-domain"})
harm = unseen[outputs, "subtraction", "float32"][0]
near = by_run({f"α = {alpha}": left("population", alpha, slow) for alpha in noise})
far = by_run({"α = 0.8": left("population", 0.8, fast)})
each = {f"α = {alpha}, η = {eta}": (alpha, eta) for alpha in noise for eta in rates}
gaps = by_run(
    {
        case: [b - a for a, b in zip(left("population", *at), left("unseen", *at), strict=True)]
        for case, at in each.items()
    }
)
apart = by_run(
    {
        case: [abs(a - b) for a, b in zip(left("unseen", *at), left("unseen", *at, "log-domain"), strict=True)]
        for case, at in each.items()
    }
)

# %% [markdown]
# With label noise both arithmetics must agree on unseen words to a hundredth of the way, at every noise level and rate.

# %%
claim = Claim("in-context-reasoning/figure-9")
claim.at_most("noiseless: population loss", losses, 0.1 * math.log(4))
claim.at_most(f"η = {slow}: share of the way left", near, share)
claim.printed.at_most(f"η = {fast}, α = 0.8: share of the way left", far, share)
claim.at_least("noisy: unseen minus population, as a share of the way", gaps, 0.1)
claim.at_least(f"η = {fast}, noiseless, by subtraction: unseen loss, as a share of the way", rounded, 0.1)
claim.at_least(f"η = {fast}, noiseless, ordinary PyTorch: the same", plain_torch[-1] / math.log(4), 0.1)
claim.control.at_least(f"η = {fast}, noiseless, log domain: the same", exact, 0.1)
claim.number(f"η = {fast}, noiseless, by subtraction, outputs as fillers: the same", harm)
claim.number(f"η = {fast}, α = 0.8: least share of the way left", min(far.values()))
claim.at_most("noisy: unseen loss in the two arithmetics, difference", apart, 0.01)
claim.verdict()

# %% [markdown]
# ## What was learned
# With fillers as in the text, that a model trained in $W$ alone loses the unseen words is seen by whoever trains it
# with an ordinary loop, in float32 and, later, in float64. Without label noise the loop is the cause and not the model:
# with slopes that are right it gives a word it never saw a probability that goes to one. So the noiseless dash in its
# row of Table 1 is the loop's: after 500 steps it is seen at the larger rate only, since at the smaller one an unseen
# word still has most of the probability; after 2000 steps rounding harms at both. With outputs as fillers rounding has
# hardly begun to harm after 500 steps. That exact slopes keep the unseen words is to be expected. Descent on $W$ takes
# the hard-margin direction ({doc}`theorem_3_4_direction`). On the instance of Theorem 3.4, with $|\mathcal O|$ outputs,
# the weight of $\tilde E(q)$ in that direction is $|\mathcal O|$ times that of a single output, so that an unseen word
# keeps $|\mathcal O|/(|\mathcal O|+1)$ of the logit of a seen one. With noisy labels the conclusion of Section 5.2
# stands in both arithmetics. There the loss on trained words comes near the Bayes risk at the smaller rate. At the
# larger one and with much noise it comes to rest above: whether that is near is a matter of the margin in a run as
# small as this. On record at full size six tenths of the way are left there, at all five seeds.
#
# ## To try
# - Set `steps = 2000`: in float64 rounding harms the unseen words at the smaller rate too.
# - Set `batch = 16`: descent is slower in small batches. With outputs as fillers the noiseless loss has not come down
#   yet at the smaller rate, a check that fails, and ordinary PyTorch has only begun to lose unseen words in its 200
#   steps.

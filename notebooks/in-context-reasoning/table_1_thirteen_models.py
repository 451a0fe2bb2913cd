# %% [markdown]
# # Table 1 and Figures 3 to 8 · Thirteen models, four noise levels, two rates
# *Nguyen, Nguyen-Tang: Table 1, Section 5; Figures 3 to 8, Appendix D.2.1.*
#
# <!-- claim in-context-reasoning/table-1 -->
# <blockquote>
#
# **Table 1 (Which models learn, and which generalise)** *Section 5*
#
# Of thirteen models, nine reach loss 0 in the noiseless task and seven the Bayes risk in the noisy one. Only the fully
# reparameterised ones do as well on unseen outputs; Reparam-Linear-FA and Reparam-ReLU-FA alone have all four ticks.
#
# </blockquote>
# <!-- /claim -->
#
# The whole grid is trained here, all models on the same sentences. The rows of the reparameterised models are not only
# ticks: their losses have closed forms or closed-form floors, and are held against them.
#
# **Size.** The paper takes 2000 steps of 512 sentences. This page as built takes the defaults below, with the paper's
# vocabulary and sentence length; the full size, with five seeds, is the full profile. Steps of length $\eta$ along
# noisy gradients keep the loss jittering above its target, the more so the smaller the batch. A loss counts by its
# mean over the last quarter of the run, and earns its tick within a margin of the target. The paper states neither a
# margin nor a rule. Ours is 0.05 at the paper's batch, and by convention $0.05\sqrt{512/\text{batch}}$ at another.
# The convention was settled on when small runs had been seen, the 0.05 before; what 0.05 gives here is below the table.
#
# **What the paper leaves open.** All models start at zero. Each tensor takes steps of its own length $\eta$. The 60
# words include $\tau$. Output words may be fillers: with the printed rule, that fillers are neutral, one row comes
# out otherwise (below). Slopes are computed in the log domain, and that decides another cell.

# %%
import math

import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, floor_without_attended, odds, softmax_limit
from attention_theory.in_context_reasoning.table_1 import PRINTED, Cells, row
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import History, mean_history, train
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, Training
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 256  # H, at least 16
batch = 128  # sentences a step, at least 16; the paper has 512
steps = 600  # T, at least 200; the paper has 2000
evaluation = 256  # sentences in each evaluation set, at least 64
seeds = 1  # runs that are averaged, at least 1; the paper has 5
device = "cpu"  # one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 200, None),
    evaluation=(evaluation, 64, None),
    seeds=(seeds, 1, None),
    device=(device, {"cpu", "cuda"}),
)
levels, rates = [0.2, 0.5, 0.8], [0.1, 0.5]
slow, fast = rates
margin = 0.05 * math.sqrt(512 / batch)


def grid(
    names, noise: list[float], fillers: str, arithmetic: str = "log-domain", length_of_run: int = steps
) -> History:
    """Every named model at every noise level and rate, averaged over the seeds."""
    task = Task(tokens, length=length, noisy=noise != [0.0], fillers=fillers)
    runs = [Training(VARIANTS[name], alpha, eta) for name in names for alpha in noise for eta in rates]
    options = {
        "batch": batch,
        "dtype": torch.float32,
        "evaluation": evaluation,
        "arithmetic": arithmetic,
        "device": device,
    }
    return mean_history([train(runs, task, length_of_run, seed=seed, **options) for seed in range(seeds)])


noiseless = grid(TABLE_1, [0.0], "outputs allowed")
noisy = grid(TABLE_1, levels, "outputs allowed")

# %% [markdown]
# ## The table
# Printed and ours, cell by cell. A star marks a cell that differs.


# %%
def ticks(within: float) -> dict[str, Cells]:
    """Our table, with ticks for losses within a margin of their targets."""
    return {name: row(noiseless, noisy, name, levels, rates, within) for name in TABLE_1}


def agreeing(table: dict[str, Cells], column: int) -> int:
    """Models whose cell in a column is as printed."""
    return sum(PRINTED[name].ticks[column] == table[name].ticks[column] for name in TABLE_1)


ours = ticks(margin)


def mark(printed: bool, found: bool) -> str:
    tick = {True: "✓", False: "–"}
    return f"{tick[printed]} / {tick[found]}" + ("" if printed == found else " *")


headings = ["noiseless: 0-loss", "noiseless: unseen y", "noisy: Bayes loss", "noisy: unseen y"]
show.table(
    ["model", *headings],
    [[name, *map(mark, PRINTED[name].ticks, ours[name].ticks)] for name in TABLE_1],
    caption="Printed / ours",
)
show.table(
    ["margin", *headings],
    [[within, *(agreeing(ticks(within), column) for column in range(4))] for within in sorted({0.05, margin})],
    caption="Cells as printed, of 13, by the margin for a tick",
)

# %%
ends = [
    [name]
    + [
        f"{source.end('population', name, alpha, eta):.3f} / {source.end('unseen', name, alpha, eta):.3f}"
        for source, noise in ((noiseless, [0.0]), (noisy, levels))
        for alpha in noise
        for eta in rates
    ]
    for name in TABLE_1
]
columns = [f"α = {alpha}, η = {eta}" for alpha in [0.0, *levels] for eta in rates]
show.table(["model", *columns], ends, caption="Population / unseen loss at the end; targets 0, 0.500, 0.693, 0.500")

# %% [markdown]
# ## Closed forms
# One bigram a sentence, so everything is known. Linear and ReLU with FA reach their targets. With F, $\tau$ has the
# fixed logit $\gamma$, and the loss stops at the Bayes risk plus $\alpha\ln(1+(N-1)e^{-\gamma})$; steps of length
# $\eta$ walk to and fro over that minimum. With softmax no logit of an output exceeds 1, that of $\tau$ is $\gamma$
# (F) or at most $1+\gamma$ (FA), and the loss stops far above.


# %%
def target(name: str, alpha: float) -> float:
    """Where the loss of a reparameterised model ends."""
    others = tokens - 2 if alpha else tokens - 1
    if "Softmax" in name:
        return softmax_limit(alpha, others, full_input=name.endswith("FA")).loss
    return bayes_risk(alpha) if name.endswith("FA") else floor_without_attended(alpha, others)


def off_target(name: str, measure: str = "population") -> float:
    """The largest distance of a model's losses from their closed form, at the slow rate."""
    gaps = [abs(noiseless.end(measure, name, 0.0, slow) - target(name, 0.0))]
    return max([*gaps, *(abs(noisy.end(measure, name, alpha, slow) - target(name, alpha)) for alpha in levels)])


starred = "Reparam-Linear-W-FA"
claim = Claim("in-context-reasoning/table-1")
for column, heading in enumerate(headings):
    if column == 1:
        same = agreeing(ours, column) - (PRINTED[starred].ticks[column] == ours[starred].ticks[column])
        claim.check(f"{heading}: cells as printed, of the 12 models but {starred}", same, "==", 12)
    else:
        claim.check(f"{heading}: cells as printed, of 13", agreeing(ours, column), "==", 13)
tick = ours[starred].noiseless_unseen
claim.printed(f"{starred}, noiseless, unseen y: a tick, where none is printed", tick, "==", False)
for name in ("Reparam-Linear-FA", "Reparam-ReLU-FA", "Reparam-Softmax-F", "Reparam-Softmax-FA"):
    claim.check(f"{name}: losses minus closed form, largest", off_target(name), "<=", 1e-3)
for name in ("Reparam-Linear-F", "Reparam-ReLU-F"):
    claim.check(f"{name}: losses minus floor, largest", off_target(name), "<=", 2e-2)
plateau = noiseless.end("population", "Origin-Linear-F", 0.0, slow)
claim.check("Origin-Linear-F stays on its saddle at ln 4, off by", abs(plateau - math.log(4)), "<=", margin)

# %% [markdown]
# ## The cells that differ, and why
# **Reparam-Linear-W-FA, noiseless, unseen words.** Printed as failing, found to succeed. Slopes computed by
# subtraction, which round to 0, are the first suspect. On the data of this table they do little harm:

# %%
rounded = grid([starred], [0.0], "outputs allowed", "subtraction")
pairs = [(label, source, eta) for label, source in (("exact", noiseless), ("rounded", rounded)) for eta in rates]
measures = ("population", "unseen", "p_output")
show.table(
    ["slopes", "η", "population loss", "unseen loss", "p of the unseen word"],
    [[label, eta, *(source.end(m, starred, 0.0, eta) for m in measures)] for label, source, eta in pairs],
    caption=f"{starred}, noiseless: slopes in the log domain and by subtraction, both in float32",
)
fig, axis = show.axes(width=5.5)
for label, source, eta in pairs:
    style = "-" if label == "exact" else "--"
    axis.semilogy(
        source.steps, source.of("unseen", starred, 0.0, eta).clamp_min(1e-12), style, label=f"{label}, η = {eta}"
    )
axis.set(xlabel="iteration t", ylabel="unseen loss")
axis.legend()
show.figure(
    fig,
    name="rounding",
    caption=f"{starred}, noiseless, on the table's own data: loss on unseen words. At the larger rate the loss with "
    "slopes by subtraction in float32 (dashed) turns up again, where the exact one goes on falling.",
    alt="Four curves that fall on a logarithmic axis. The dashed one of the larger rate turns and rises slowly.",
)
for _, source, eta in pairs[2:]:
    loss = source.end("population", starred, 0.0, eta)
    claim.check(f"{starred}, slopes by subtraction, η = {eta}: population loss", loss, "<=", margin)

# %% [markdown]
# At full size the model with rounded slopes has a small unseen loss at $\eta=0.1$, which is still a tick, and one above
# 0.1 at $\eta=0.5$: a mild failure at one of two rates. Which of the two counts is decided by the lower population
# loss, and those are both at rounding. The strong failure, losses above 40, is that of the page on arithmetic, where
# fillers are neutral words. But with neutral fillers another row of the table, Origin-Softmax-F, does not come out as
# printed (below). So rounding can make the printed cell, and that it did is not shown.
#
# **Origin-Softmax-FA, noisy, Bayes loss.** Its tick hangs on the margin. At full size, five seeds on record, it ends
# 0.056 above the Bayes risk at $\alpha = 0.5$ and the better rate, where 0.05 is allowed. So 50 of 52 cells are as
# printed at full size, all others being as on this page.
#
# **Origin-Softmax-F** agrees only because fillers may be output words. With the printed rule, that fillers are
# neutral, the one output word present *is* the answer, attention need not look for the trigger, and the model reaches
# the loss after all, as late as after a thousand steps; so it is given the paper's 2000:

# %%
neutral = grid(["Origin-Softmax-F"], [0.0], "neutral", length_of_run=max(steps, 2000))
losses = [neutral.end("population", "Origin-Softmax-F", 0.0, eta) for eta in rates]
claim.check("neutral fillers, noiseless: Origin-Softmax-F reaches 0", min(losses), "<=", margin)
untrained = {name: row(noiseless.before(), noisy.before(), name, levels, rates, margin) for name in TABLE_1}
for column, heading in enumerate(headings):
    claim.control(f"{heading}, before training: cells as printed, of 13", agreeing(untrained, column), "==", 13)
claim.verdict()

# %% [markdown]
# ## Figures 3 to 8
# Each figure of the appendix shows one model: population loss and unseen loss, at both rates.
#
# <!-- claim in-context-reasoning/figure-3 -->
# <blockquote>
#
# **Figure 3 (Losses of a model whose caption is lost (probably Origin-Softmax-FA))** *Appendix D.2.1*
#
# The larger rate leaves the plateau of a model that knows no output, $H(\alpha)+(1-\alpha)\ln|\mathcal O|$; the smaller
# one does not. That the figure shows Origin-Softmax-FA is our guess from the text.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-4 -->
# <blockquote>
#
# **Figure 4 (Losses of a model that cannot be identified)** *Appendix D.2.1*
#
# One of the models that neither Figure 1, as it is taken here, nor Figures 3 and 5 to 9 show: Origin-Linear-F,
# Origin-ReLU-FA or Reparam-ReLU-FA. All three are shown.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-5 -->
# <blockquote>
#
# **Figure 5 (Losses of Origin-ReLU-F)** *Appendix D.2.1*
#
# **As printed.** The population losses do not converge at $\eta=0.5$.
#
# **As run here.** The population loss converges at $\eta=0.1$. At $\eta=0.5$ it ends higher with noise; without noise
# it converges when slopes are computed in the log domain. Unseen losses do not converge at all.
#
# In the log domain the noiseless one goes to 0; with slopes by subtraction, as ordinary code has them, it need not. The
# noisy ones end 0.07 to 0.13 above their targets at full size (0.06 to 0.13 in the smaller run of the page), and do not
# converge there.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-6 -->
# <blockquote>
#
# **Figure 6 (Losses of Reparam-Softmax-F)** *Appendix D.2.1*
#
# No loss converges to its target: no logit of an output exceeds 1, and that of $\tau$ stays at $\gamma$. Losses on
# unseen words are the same.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-7 -->
# <blockquote>
#
# **Figure 7 (Losses of Reparam-ReLU-F)** *Appendix D.2.1*
#
# The noiseless loss vanishes; the noisy ones stop at $L_{\text{Bayes}}+\alpha\ln(1+(N-1)e^{-\gamma})$. Losses on unseen
# words are the same.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-8 -->
# <blockquote>
#
# **Figure 8 (Losses of Reparam-Linear-F)** *Appendix D.2.1*
#
# As Figure 7, with linear attention.
#
# </blockquote>
# <!-- /claim -->


# %%
def panels(name: str, title: str, caption: str) -> None:
    """The two panels of a figure, both rates in one: full lines are the slow rate, dashed ones the fast."""
    fig, axes = show.axes(1, 2, width=7.5, height=2.8)
    for axis, measure in zip(axes, ("population", "unseen"), strict=True):
        for alpha, colour in zip([0.0, *levels], show.COLOURS, strict=False):
            for eta, style in zip(rates, ("-", "--"), strict=True):
                source = noisy if alpha else noiseless
                label = f"α = {alpha}" if eta == slow else None
                axis.plot(source.steps, source.of(measure, name, alpha, eta), style, color=colour, label=label)
        axis.set(xlabel="iteration t", ylabel=f"{measure} loss")
    axes[0].legend(loc="upper right", fontsize=8)
    show.figure(
        fig,
        name=name.lower(),
        caption=f"{title}: {name}. {caption} Full lines η = {slow}, dashed η = {fast}.",
        alt=f"Population loss on the left and unseen loss on the right of {name}, four noise levels at two rates.",
    )


panels("Origin-Softmax-FA", "Figure 3 (a guess)", "Only the larger rate leaves the plateau.")
panels("Origin-Linear-F", "Figure 4 (one candidate)", "The saddle at the entropy of the outputs is never left.")
panels("Origin-ReLU-FA", "Figure 4 (another candidate)", "Population losses converge, unseen losses grow.")
panels("Reparam-ReLU-FA", "Figure 4 (a third candidate)", "Both losses go to the Bayes risk.")
panels("Origin-ReLU-F", "Figure 5", "With noise, restless at the larger rate; unseen losses grow at both.")
panels("Reparam-Softmax-F", "Figure 6", "Losses stop far above the Bayes risk, and are the same on unseen words.")
panels("Reparam-ReLU-F", "Figure 7", "The noiseless loss vanishes, the noisy ones stop at their floors.")
panels("Reparam-Linear-F", "Figure 8", "As the ReLU model.")

# %% [markdown]
# The captions of Figures 3 and 4 are lost in the text we have. Figure 3 is *probably* Origin-Softmax-FA, of which the
# text says that the larger rate escapes from a saddle. Which model Figure 4 shows cannot be decided: of the thirteen
# three remain that neither Figure 1, as it is taken here, nor Figures 3 and 5 to 9 show. All three are above.

# %%
claim = Claim("in-context-reasoning/figure-3")
name = "Origin-Softmax-FA"
claim.check("noiseless, larger rate: loss", noiseless.end("population", name, 0.0, fast), "<=", margin)
claim.control("noiseless, smaller rate: loss", noiseless.end("population", name, 0.0, slow), "<=", margin)
claim.check(
    "noiseless, smaller rate: distance from ln 4",
    abs(noiseless.end("population", name, 0.0, slow) - math.log(4)),
    "<=",
    margin,
)
for alpha in levels:
    gap = (1 - alpha) * math.log(4)  # from the plateau of a model that knows no output down to the Bayes risk
    down = [(bayes_risk(alpha) + gap - noisy.end("population", name, alpha, eta)) / gap for eta in rates]
    claim.check(f"α = {alpha}, larger rate: share of the way down from the plateau", down[1], ">=", 0.5)
    claim.control(f"α = {alpha}, smaller rate: share of the way down from the plateau", down[0], ">=", 0.5)
claim.stand_in("Origin-Softmax-FA, a guess from the text: the caption that names the model is lost")
claim.verdict()

claim = Claim("in-context-reasoning/figure-4")
claim.check("Origin-Linear-F noiseless: distance from ln 4", abs(plateau - math.log(4)), "<=", margin)
for alpha in levels:
    stuck = bayes_risk(alpha) + (1 - alpha) * math.log(4)
    at = noisy.end("population", "Origin-Linear-F", alpha, slow)
    claim.check(f"Origin-Linear-F, α = {alpha}: distance from its plateau", abs(at - stuck), "<=", margin)
free = noiseless.end("population", "Origin-Linear-FA", 0.0, slow)
claim.control("Origin-Linear-FA noiseless: distance from ln 4", abs(free - math.log(4)), "<=", margin)
claim.stand_in("the candidates are shown; which model the figure has cannot be decided, its caption being lost")
claim.verdict()

# %%
claim = Claim("in-context-reasoning/figure-5")


def above(measure: str, alpha: float, eta: float, name: str = "Origin-ReLU-F") -> float:
    """How far above its target a loss ends."""
    return (noisy if alpha else noiseless).end(measure, name, alpha, eta) - bayes_risk(alpha)


every = (0.0, *levels)
for alpha in every:
    claim.check(f"α = {alpha}, η = {slow}: loss above its target", above("population", alpha, slow), "<=", margin)
claim.check(f"α = 0.8, η = {fast}: loss above its target", above("population", 0.8, fast), ">=", margin)
higher = sum(above("population", alpha, fast) > above("population", alpha, slow) for alpha in levels)
claim.check("noisy levels whose loss ends higher at the larger rate, of 3", higher, "==", 3)
astray = sum(above("population", alpha, fast) > margin for alpha in every)
claim.printed(f"η = {fast}: levels whose loss does not converge, of 4", astray, "==", 4)
claim.number(f"noiseless, η = {fast}: loss", above("population", 0.0, fast))
own, other = (
    min(above("unseen", alpha, eta, model) for alpha in every for eta in rates)
    for model in ("Origin-ReLU-F", "Reparam-ReLU-FA")
)
claim.check("unseen loss above its target, least over levels and rates", own, ">=", 1.0)
claim.control("Reparam-ReLU-FA: unseen loss above its target, least over the same", other, ">=", 1.0)
claim.verdict()

# %% [markdown]
# The caption of Figure 5 says that population losses do not converge at $\eta = 0.5$. With slopes in the log domain, as
# here, the noiseless one does: it is 0. With slopes by subtraction, which is what ordinary code computes, it goes on
# having spikes; that is not run here. With noise the larger rate does worse at every level. How much is called
# convergence is a matter of the margin: at full size, by the margin of 0.05, none of the three noisy losses converges,
# as printed.


# %%
def at_its_floor(figure: str, name: str) -> Claim:
    """The evidence that the three figures share: losses at their closed forms, and not at the Bayes risk."""
    claim = Claim(f"in-context-reasoning/{figure}")
    claim.check(f"η = {slow}: losses minus their closed forms, largest", off_target(name), "<=", 2e-2)
    claim.check(f"η = {slow}: unseen losses minus the same, largest", off_target(name, "unseen"), "<=", 5e-2)
    for alpha in levels:
        loss = noisy.end("population", name, alpha, slow)
        claim.control(f"α = {alpha}: loss reaches the Bayes risk", loss - bayes_risk(alpha), "<=", margin)
        claim.number(f"α = {alpha}: loss", loss)
    return claim


claim = at_its_floor("figure-6", "Reparam-Softmax-F")
claim.control("noiseless: loss reaches 0", noiseless.end("population", "Reparam-Softmax-F", 0.0, slow), "<=", margin)
claim.verdict()

# %%
claim = at_its_floor("figure-7", "Reparam-ReLU-F")
claim.check("noiseless: loss", noiseless.end("population", "Reparam-ReLU-F", 0.0, slow), "<=", 1e-3)
run = [Training(VARIANTS["Reparam-ReLU-F"], 0.0, fast)]
frozen = train(run, Task(tokens, length=32), 20, 32, relu_shift=0.0, evaluation=64).values["population"][-1]
claim.control("without the shift in ReLU: loss after 20 steps", frozen, "<=", math.log(tokens) - 1)
claim.verdict()

# %%
claim = at_its_floor("figure-8", "Reparam-Linear-F")
claim.check("noiseless: loss", noiseless.end("population", "Reparam-Linear-F", 0.0, slow), "<=", 1e-3)
for alpha in levels:
    best = math.log((1 - alpha) / alpha * (math.exp(odds(alpha)) + tokens - 2))
    scale = noisy.end("attention_output", "Reparam-Linear-F", alpha, slow)
    claim.check(f"α = {alpha}: λ minus its best value, within two steps", abs(scale - best), "<=", 2 * slow)
claim.verdict()

# %% [markdown]
# The ReLU models of this page owe their training to a shift of $10^{-8}$ inside ReLU, which the paper does not
# mention; the page on the thirteen models shows that without it their $V$, $W$ and $\lambda$ stay where they start.

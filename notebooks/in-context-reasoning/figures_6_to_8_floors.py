# %% [markdown]
# # Figures 6, 7 and 8 · Models that stop at a floor
# *Nguyen, Nguyen-Tang: Figures 6, 7 and 8, Appendix D.2.1.*
#
# *The task.* A sentence ends in a trigger word. Earlier in it the same trigger was followed by an output word $y$,
# which is the word to predict; with label noise a noise word $\tau$ comes in its place with probability $\alpha$.
# *Unseen* words are outputs that were never labels in training. A model has one layer of attention, with matrices $V$
# and $W$, and a feed-forward layer $F$. *Origin* models train all three; *Reparam* models train one number $\lambda$
# for each trigger, or $W$ where the name has it; in *FA* models $F$ sees what attention collected, in *F* models it
# does not.
#
# Three models have $V$, $W$ and $F$ of the lemmas, with one number $\lambda$ for each trigger to train, and a
# feed-forward layer that sees $x_H$ alone. With label noise they cannot reach the Bayes risk, and how far they come can
# be computed.
#
# With linear or ReLU attention, one bigram a sentence and $N$ words beside $\tau$, $\xi_y = \lambda$, while $\tau$ has
# the fixed logit $\gamma$. The loss over the label's law is $-(1-\alpha)\lambda - \alpha\gamma + \ln(e^\lambda +
# e^\gamma + N - 1)$. It is least where $e^\lambda = \frac{1-\alpha}{\alpha}(e^\gamma + N - 1)$, and is there, with
# $\gamma = \ln\frac\alpha{1-\alpha}$,
#
# $$L_{\text{Bayes}} + \alpha\ln\big(1 + (N-1)e^{-\gamma}\big).$$
#
# With softmax attention the weights add up to one, so that no logit of an output exceeds 1, and the loss stops above
# that floor, and far above 0 even without noise. It is least at $\xi_y=1$, where it is
# $-(1-\alpha)-\alpha\gamma+\ln(e+e^\gamma+N-1)$ (without noise $\ln(1+(N-1)/e)$). Nothing in this speaks of which word
# $y$ is: unseen words fare like the others.

# %%
import math

from attention_theory.in_context_reasoning.closed_form import bayes_risk, closed_end, gap_to_bayes, odds
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # size of the vocabulary with the noise token, at least 15
length = 64  # H, at least 16; the paper has 256
batch = 16  # sentences a step, at least 16; the paper has 512
steps = 400  # T, at least 300; the paper has 2000
evaluation = 128  # sentences in each evaluation set, at least 64
seeds = 1  # runs of every model, at least 1; the paper has 5
device = "cpu"  # where the models are, one of "cpu", "cuda"

# %%
require(
    tokens=(tokens, 15, None),
    length=(length, 16, None),
    batch=(batch, 16, None),
    steps=(steps, 300, None),
    evaluation=(evaluation, 64, None),
    seeds=(seeds, 1, None),
    device=(device, {"cpu", "cuda"}),
)
noise, slow, fast = [0.2, 0.5, 0.8], 0.1, 0.5
levels, rates = [0.0, *noise], [slow, fast]

# %% [markdown]
# ## The runs
# By subtraction in float32, as an ordinary loop does. Arithmetic makes no difference that could be seen here: with one
# number to move, rounded slopes stop it, where exact ones let the noiseless loss fall on. Nor do the fillers make one.
# With linear and ReLU attention they have the score 0; with softmax they weigh less together than the word after the
# trigger, once $\lambda$ is large. Both rules are run, with one seed here and five at full size.

# %%
models = ["Reparam-Softmax-F", "Reparam-ReLU-F", "Reparam-Linear-F"]
measured = ("population", "unseen", "attention_output")
sizes = {"evaluation": evaluation, "record_every": max(1, steps // 40), "measured": measured, "device": device}
runs = {
    (rule, seed): train_grid(
        models, Task(tokens, length=length, fillers=rule), levels, rates, steps, batch, [seed], **sizes
    )[0]
    for rule in ("outputs allowed", "neutral")
    for seed in range(seeds)
}
first = runs["outputs allowed", 0]


def ends(name, measure, eta, alphas=levels):
    """Where a loss ends in every run, by noise level, fillers and seed."""
    return {
        f"α = {alpha}, {rule}, seed {seed}": history.end(measure, name, alpha, eta)
        for (rule, seed), history in runs.items()
        for alpha in alphas
    }


# %% [markdown]
# ## The figures
# One figure a model, with the smaller rate above and the larger one below, as the paper has them. The horizontal lines
# are the floors from the formula.


# %%
def panels(name, title, caption):
    """Both losses of the first run at both rates, with their floors."""
    fig, axes = show.axes(2, 2, width=7.5, height=4.6, sharex=True)
    for row, eta in zip(axes, rates, strict=True):
        for axis, measure in zip(row, ("population", "unseen"), strict=True):
            for alpha in levels:
                axis.axhline(closed_end(name, alpha, tokens), color="grey", linewidth=0.6, zorder=1)
                axis.plot(first.steps, first.of(measure, name, alpha, eta), label=f"α = {alpha}")
            axis.set(ylabel=f"{measure} loss", title=f"η = {eta}")
    for axis in axes[1]:
        axis.set(xlabel="iteration t")
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    show.figure(
        fig,
        name=name.lower(),
        caption=f"{name}: the paper's {title}. {caption} Thin horizontal lines: the floors.",
        alt=f"Four panels: population and unseen loss of {name}, at both rates. All curves fall to their floors and "
        "stay there, at the larger rate with small bumps.",
    )


# %% [markdown]
# Softmax: every loss stops far above its target.

# %%
panels("Reparam-Softmax-F", "Figure 6", "Losses stop far above the Bayes risk, and are the same on unseen words.")

# %% [markdown]
# ReLU: the noiseless loss vanishes, the noisy ones stop.

# %%
panels("Reparam-ReLU-F", "Figure 7", "The noiseless loss vanishes, the noisy ones stop at their floors.")

# %% [markdown]
# Linear attention does the same, number by number.

# %%
panels("Reparam-Linear-F", "Figure 8", "As with ReLU.")

# %% [markdown]
# ## What the evidence says
# Losses at the smaller rate must end at their floors, on unseen words too. At the larger rate $\lambda$ walks to and
# fro over its best value in steps of a half, so there a loss must stay above. The Bayes risk must be out of reach at
# both. How far it is, is told as a share of $(1-\alpha)\ln|\mathcal O|$, the way still to go for a model that does not
# know the output.


# %%
def level_of(case):
    return float(case.split(",")[0].removeprefix("α = "))


def shares(name, eta, alphas):
    found = ends(name, "population", eta, alphas)
    return {case: (loss - bayes_risk(level_of(case))) / gap_to_bayes(level_of(case)) for case, loss in found.items()}


# %% [markdown]
# Each figure is judged in the same way:


# %%
def judge(claim, name, out_of_reach):
    """The evidence that the three figures share."""
    for measure in ("population", "unseen"):
        found = ends(name, measure, slow)
        off = {case: abs(loss - closed_end(name, level_of(case), tokens)) for case, loss in found.items()}
        claim.at_most(f"η = {slow}: {measure} loss minus its closed form", off, 2e-2)
    for eta in rates:
        claim.at_least(f"η = {eta}: share of the way left to the target", shares(name, eta, out_of_reach), 0.5)
        seen, unseen = (ends(name, measure, eta) for measure in ("population", "unseen"))
        apart = {case: abs(unseen[case] - seen[case]) for case in seen}
        claim.at_most(f"η = {eta}: unseen minus population loss", apart, 5e-2)


# %% [markdown]
# <!-- claim in-context-reasoning/figure-6 -->
# <blockquote>
#
# **Figure 6 (Losses of Reparam-Softmax-F)** *Appendix D.2.1*
#
# The population losses converge to their targets at neither $\eta=0.1$ nor $\eta=0.5$: no logit of an output exceeds 1,
# and that of $\tau$ stays at $\gamma$. Losses on unseen words are the same.
#
# </blockquote>
# <!-- /claim -->
# Linear attention in place of softmax must pass the noiseless bound.

# %%
claim = Claim("in-context-reasoning/figure-6")
judge(claim, "Reparam-Softmax-F", levels)
claim.control.at_least("Reparam-Linear-F, noiseless: share left", shares("Reparam-Linear-F", slow, [0.0]), 0.5)
claim.verdict()

# %% [markdown]
# <!-- claim in-context-reasoning/figure-7 -->
# <blockquote>
#
# **Figure 7 (Losses of Reparam-ReLU-F)** *Appendix D.2.1*
#
# The noiseless loss converges at both rates; the noisy ones never come to their targets: they stop at
# $L_{\text{Bayes}}+\alpha\ln(1+(N-1)e^{-\gamma})$. Losses on unseen words are the same.
#
# </blockquote>
# <!-- /claim -->
# The ReLU models owe their training to a shift of $10^{-8}$ inside ReLU, of which the paper does not speak: at a score
# of 0 the slope of ReLU is 0, and a model that starts there stays there.

# %%
claim = Claim("in-context-reasoning/figure-7")
judge(claim, "Reparam-ReLU-F", noise)
for eta in rates:
    claim.at_most(f"η = {eta}, noiseless: loss", ends("Reparam-ReLU-F", "population", eta, [0.0]), 1e-3)
claim.control.at_least("noiseless: share of the way left", shares("Reparam-ReLU-F", slow, [0.0]), 0.5)
run = [TrainingRun(VARIANTS["Reparam-ReLU-F"], 0.0, fast)]
frozen = train(run, Task(tokens, length=32), 20, 32, relu_shift=0.0, evaluation=64).values["population"][-1]
claim.control.at_most("without the shift in ReLU: loss after 20 steps", frozen, math.log(tokens) - 1)
claim.verdict()

# %% [markdown]
# <!-- claim in-context-reasoning/figure-8 -->
# <blockquote>
#
# **Figure 8 (Losses of Reparam-Linear-F)** *Appendix D.2.1*
#
# As Figure 7, with linear attention.
#
# </blockquote>
# <!-- /claim -->
# Here $\lambda$ itself is held against its best value as well.

# %%
claim = Claim("in-context-reasoning/figure-8")
judge(claim, "Reparam-Linear-F", noise)
for eta in rates:
    claim.at_most(f"η = {eta}, noiseless: loss", ends("Reparam-Linear-F", "population", eta, [0.0]), 1e-3)
scales = ends("Reparam-Linear-F", "attention_output", slow, noise)
best = {alpha: math.log((1 - alpha) / alpha * (math.exp(odds(alpha)) + tokens - 2)) for alpha in noise}
off = {case: abs(scale - best[level_of(case)]) for case, scale in scales.items()}
claim.at_most("λ minus its best value, within two steps", off, 2 * slow)
claim.control.at_least("noiseless: share of the way left", shares("Reparam-Linear-F", slow, [0.0]), 0.5)
claim.verdict()

# %% [markdown]
# ## What was learned
# With $V$ and $F$ of the lemmas, a feed-forward layer that does not see what is attended gives $\tau$ a logit that is
# fixed once for all, and then $\lambda$ can serve the output or the noise and not both. The floor that follows is met
# to two digits and better. Softmax puts a ceiling on the logits of words instead, and its floor is higher still. Since
# no word is told from another, unseen words fare the same.
#
# ## To try
# - Set `tokens = 15`: with fewer other words all floors but 0 are lower.
# - Set `length = 16`: with fewer positions softmax attention comes to its floor sooner, and the floor stays where it
#   is.

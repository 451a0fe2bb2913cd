# %% [markdown]
# # Figures 6, 7 and 8 · Models that stop at a floor
# *Nguyen, Nguyen-Tang: Figures 6, 7 and 8, Appendix D.2.1.*
#
# Three models lack one connection: their feed-forward layer does not see what attention collected. With label noise
# they cannot reach the lowest possible loss. How close can they come?

# %%
import math

from attention_theory.in_context_reasoning.closed_form import bayes_risk, closed_end, gap_to_bayes, odds
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "door"], at=(0.5, 0.6), lit=[2])
(noise,) = schematic.tokens(axis, ["τ"], at=(11.5, 0.6))
schematic.arrow(axis, tops[4], tops[2], "attention: λ", bend=-0.4)
schematic.arrow(axis, tops[4], noise, "feed-forward layer: γ, whatever λ is", bend=0.25, colour=schematic.VERMILION)
show.figure(
    fig,
    name="wire",
    caption="A feed-forward layer that does not see what attention collected gives the noise word a fixed logit.",
    alt="Five boxes: red, door, seven, green, door. One arrow leads from the last door back to seven, with the logit "
    "lambda; another one to a separate box with tau, with the logit gamma.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*, the word
# after the earlier *door*. *Seven* has logit $\lambda$, and $\tau$ has the fixed logit $\gamma$. Let half of the labels
# be $\tau$, so $\gamma=0$, and let 58 other words have logit 0. The loss is $-\frac12\lambda+\ln(e^\lambda+59)$. It is
# lowest at $e^\lambda=59$, where it is 2.73, about four times the Bayes risk $\ln2\approx0.69$. A larger $\lambda$
# raises the probability of *seven* but lowers that of $\tau$.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/figure-6 -->
# <blockquote>
#
# **Figure 6 (Losses of Reparam-Softmax-F)** *Appendix D.2.1*
#
# **The paper states.** Reparam-Softmax-F with $\eta=0.1$ (first row), $\eta=0.5$ (second row). The population losses do
# not converge at neither $\eta=0.1$ nor $\eta=0.5$. The model has a high degree of generalization to unseen output
# words.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** No output has a logit above 1, and the logit of $\tau$ stays at $\gamma$. Losses on unseen words
# are the same as on trained words.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-7 -->
# <blockquote>
#
# **Figure 7 (Losses of Reparam-ReLU-F)** *Appendix D.2.1*
#
# **The paper states.** Reparam-ReLU-F with $\eta=0.1$ (first row), $\eta=0.5$ (second row). The population loss for
# noiseless setting converges at both $\eta=0.1$ nor $\eta=0.5$. All noisy population losses never converge for any
# learning rate. The model has a high degree of generalization to unseen output words.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The noisy losses stop falling at $L_{\text{Bayes}}+\alpha\ln(1+(N-1)e^{-\gamma})$. Losses on
# unseen words are the same as on trained words.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/figure-8 -->
# <blockquote>
#
# **Figure 8 (Losses of Reparam-Linear-F)** *Appendix D.2.1*
#
# **The paper states.** Reparam-Linear-F with $\eta=0.1$ (first row), $\eta=0.5$ (second row). The population loss for
# noiseless setting converges at both $\eta=0.1$ nor $\eta=0.5$. All noisy population losses never converge for any
# learning rate. The model has a high degree of generalization to unseen output words.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The noisy losses stop falling at $L_{\text{Bayes}}+\alpha\ln(1+(N-1)e^{-\gamma})$, as with ReLU
# attention. Losses on unseen words are the same as on trained words.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Take one bigram per sentence and $N$ words besides $\tau$. With linear or ReLU attention, we minimise the expected
# loss $-(1-\alpha)\lambda-\alpha\gamma+\ln(e^\lambda+e^\gamma+N-1)$. It is lowest at
# $e^\lambda=\frac{1-\alpha}\alpha(e^\gamma+N-1)$, and for $\gamma=\ln\frac\alpha{1-\alpha}$ its minimum is
#
# $$L_{\text{Bayes}}+\alpha\ln\big(1+(N-1)e^{-\gamma}\big).$$
#
# With softmax attention the weights sum to 1, so the logit $\xi_y$ of the output is at most 1. The loss is lowest at
# $\xi_y=1$, where it is $-(1-\alpha)-\alpha\gamma+\ln(e+e^\gamma+N-1)$, and without noise $\ln(1+(N-1)/e)$. We did not
# use which word $y$ is, so unseen words have the same loss.
#
# ## See it run

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


# %%
def panels(name, title, caption):
    """Both losses of the first run at both rates, with their floors."""
    fig, axes = show.axes(2, 2, width=7.5, height=4.6, sharex=True)
    for row, eta in zip(axes, rates, strict=True):
        for axis, measure in zip(row, ("population", "unseen"), strict=True):
            for alpha in levels:
                axis.axhline(closed_end(name, alpha, tokens), color="grey", linewidth=0.6, zorder=1)
                axis.plot(first.steps, first.curve(measure, name, alpha, eta), label=f"α = {alpha}")
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
# We plot the losses on trained and on unseen words at both learning rates.

# %%
panels("Reparam-Softmax-F", "Figure 6", "Losses stop far above the Bayes risk, and are the same on unseen words.")

# %% [markdown]
# The losses of softmax attention stop falling far above their targets, with and without noise.

# %%
panels("Reparam-ReLU-F", "Figure 7", "The noiseless loss vanishes, the noisy ones stop at their floors.")

# %% [markdown]
# We see the noiseless loss of ReLU attention tend to 0, while the noisy losses stop at their floors.

# %%
panels("Reparam-Linear-F", "Figure 8", "As with ReLU.")

# %% [markdown]
# We see the same for linear attention.
#
# ## How we checked
# At the smaller rate, the losses must end at their floors, also on unseen words. At both rates, they must end at least
# half of the gap above their targets. As a control, the noiseless loss of ReLU and linear attention must come closer to
# its target.


# %%
def level_of(case):
    return float(case.split(",")[0].removeprefix("α = "))


def shares(name, eta, alphas):
    found = ends(name, "population", eta, alphas)
    return {case: (loss - bayes_risk(level_of(case))) / gap_to_bayes(level_of(case)) for case, loss in found.items()}


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


# %%
claim = Claim("in-context-reasoning/figure-6")
judge(claim, "Reparam-Softmax-F", levels)
claim.control.at_least("Reparam-Linear-F, noiseless: share left", shares("Reparam-Linear-F", slow, [0.0]), 0.5)
claim.verdict()

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
# <details><summary>Method notes</summary>
#
# We run each model under both rules for fillers (see [What decides the experiments](appendix_d_seeds.ipynb)), with one
# seed here and five at full size. The fillers make no difference. At the larger rate, $\lambda$ swings around its best
# value in steps of 0.5, so we require only that the loss stays above its target. The gap is $(1-\alpha)\ln|\mathcal
# O|$, the distance of a model that does not know the output from the target. The ReLU models train only because of a
# shift of $10^{-8}$ inside ReLU, which the paper does not mention. Without it, the derivative of ReLU at a score of 0
# is 0, and the model would never leave its start.
#
# </details>
#
# ## What to remember
# - If $F$ does not see what attention collected, the logit of $\tau$ is fixed, and no $\lambda$ suits both words.
# - Softmax attention limits the logit of the output to 1, so its floor is even higher.
#
# ## Exercises
#
# 1. *By hand.* What is the floor of softmax attention without noise for 60 words?
#    <details><summary>Solution</summary>
#
#    $\ln(1+59/e)=\ln22.7\approx3.12$, compared with $\ln60\approx4.09$ for a blind guess.
#
#    </details>
# 2. *Predict, then run.* Set `tokens = 15`. Which floors move?
#    <details><summary>Solution</summary>
#
#    All except 0. With fewer other words, $(N-1)e^{-\gamma}$ is smaller, so the noisy floors are lower. The softmax
#    floors are also lower, because fewer words compete.
#
#    </details>
#
# Back to [Lemma 4.1](lemma_4_1_noisy.ipynb), which has the missing connection.

# %% [markdown]
# # Section 4 · Optimal for another task, where the answer can be seen
# *Nguyen, Nguyen-Tang: the beginning of Section 4.*
#
# Chen et al. study a similar task with different sentences, in which the output may not occur at all. The paper says
# that a model that is optimal for its own task is also optimal for theirs. Is it?

# %%
import math

import torch
from torch.nn.functional import pad

from attention_theory.in_context_reasoning.chain import chain_probability, chain_sentences
from attention_theory.in_context_reasoning.closed_form import bayes_risk, odds
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, bigram_count, violations
from attention_theory.randomness import streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 2.6)
upper = schematic.tokens(axis, ["red", "door", "seven", "door", "τ", "door"], at=(0.5, 3.0), lit=[2])
lower = schematic.tokens(axis, ["red", "door", "τ", "door", "τ", "door"], at=(0.5, 0.6))
schematic.arrow(axis, upper[5], upper[2], "the output", bend=-0.3)
schematic.arrow(axis, lower[5], lower[2], "only noise", bend=-0.3, colour=schematic.VERMILION)
schematic.text(axis, (9.9, 3.45), "seven: 1 − α, τ: α", align="left")
schematic.text(axis, (9.9, 1.05), "each output: (1 − α)/4, τ: α", align="left")
show.figure(
    fig,
    name="contexts",
    caption="Two sentences of Chen et al., and the best predictions. Only the first sentence can occur in the paper's "
    "task.",
    alt="Two rows of six boxes. In the upper one an arrow leads from the last door to seven, after the first "
    "door. In the lower one both earlier doors are followed by tau, and an arrow leads to the first tau.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see an arrow from the final *door* to *seven*, the word
# after an earlier *door*. In the second sentence, each earlier *door* is followed by $\tau$. With four possible
# outputs, the best prediction spreads probability $1-\alpha$ over these four. The weights of [Lemma
# 4.1](lemma_4_1_noisy.ipynb) spread it over all words.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/remark-chen -->
# <blockquote>
#
# **Section 4 (Also optimal for another data model)** *Section 4*
#
# **The paper states.** We emphasize that a Bayes-optimal solution for our noisy data model will also be a Bayes-optimal
# solution for the model in Chen et al.
#
# **What is true.** A solution that is Bayes-optimal for Definition 2.1 under every distribution of its sentences is
# also Bayes-optimal for the model of Chen et al. on every context in which $(q,y)$ occurs, but in general on no other
# context.
#
# **What changed.** In the model of Chen et al., every trigger, within the context and at its end, is followed by $\tau$
# with probability $\alpha$ and by $y$ otherwise. As Section 2 itself says, a context need not contain $(q,y)$. On such
# contexts, optimality for the paper's task implies nothing.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Without $(q,y)$, the best prediction is $\alpha$ for $\tau$ and $(1-\alpha)/|\mathcal O|$ for
# each output, while Lemma 4.1 predicts $e^\gamma/(e^\gamma+N)$ for $\tau$ and the same for all other words. On each of
# these contexts, the losses differ by $\ln(e^\gamma+N)-\alpha\gamma-L_{\text{Bayes}}-(1-\alpha)\ln|\mathcal O|$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# If the sentence contains $(q,y)$, the label has the same distribution in both tasks, so the same prediction is best.
# If it does not, the sentence does not occur in the paper's task, so a model that is optimal for the paper's task may
# predict anything there.
#
# <details><summary>Proof of Section 4, the data model of Chen et al.</summary>
#
# *With $(q,y)$.* The context satisfies the conditions of Definition 2.1, it shows $y$, and the label is $\tau$ with
# probability $\alpha$ and $y$ otherwise. So the best prediction is the same in both models, and so is its loss,
# $L_{\text{Bayes}}$. A solution that is optimal for Definition 2.1 under every law of its sentences makes it on each
# such context, as Lemma 4.1 does in the limit.
#
# *Without it.* In the context only $\tau$ follows the trigger. Its probability, a power of $\alpha$ times the chances
# of words that are drawn without looking at $y$, is the same for all $y$. So all outputs remain equally likely. The
# label is $\tau$ with probability $\alpha$ and each output with probability $(1-\alpha)/|\mathcal O|$, and the least
# loss is the entropy of that, $L_{\text{Bayes}}+(1-\alpha)\ln|\mathcal O|$. Definition 2.1 has no such context and asks
# nothing of a solution there. The weights of Lemma 4.1 give all logits the value 0 but $\gamma$ to $\tau$, hence the
# loss $\ln(e^\gamma+N)-\alpha\gamma$. It is above the least one, since neutral words get a positive probability.
# $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 20  # N + 1, at least 12
outputs = 4  # size of O, from 2 to 6
length = 40  # H, at least 16
count = 2_000  # chains, at least 500
seed = 0  # at least 0

# %%
require(tokens=(tokens, 12, None), outputs=(outputs, 2, 6), length=(length, 16, None))
require(count=(count, 500, None), seed=(seed, 0, None))
seeds = streams(seed, 2)
levels, n = (0.2, 0.5, 0.8), tokens - 1


def task_of(size: int) -> Task:
    return Task(tokens, 1, outputs, size, noisy=True, fillers="outputs allowed")


def losses(sentences: Sentences, alpha: float, noise) -> torch.Tensor:
    """The loss of Lemma 4.1 at λ = 60 with γ for α, expected over a label that is τ with probability `noise`."""
    task, codes = task_of(sentences.tokens.shape[1]), embedding(tokens, 2 * tokens)
    weights = reparameterised(task, codes, torch.tensor([60.0], dtype=torch.float64), odds(alpha)).in_codes(codes)
    logits = forward(sentences.tokens, weights, Architecture()).logits
    return expected_loss(logits, sentences.output, task.noise_token, noise)


def holds_bigram(sentences: Sentences) -> torch.Tensor:
    return bigram_count(sentences.tokens, sentences.trigger, sentences.output) > 0


# %%
chains = {alpha: chain_sentences(task_of(length), count, alpha, seeds[0]) for alpha in levels}
holds = {alpha: holds_bigram(sentences) for alpha, sentences in chains.items()}
least = {alpha: bayes_risk(alpha) + (~holds[alpha]).double() * (1 - alpha) * math.log(outputs) for alpha in levels}
excess = {alpha: losses(chains[alpha], alpha, alpha) - least[alpha] for alpha in levels}
lemma_4_1 = {alpha: math.log(math.exp(odds(alpha)) + n) - alpha * odds(alpha) for alpha in levels}
formula = {alpha: lemma_4_1[alpha] - bayes_risk(alpha) - (1 - alpha) * math.log(outputs) for alpha in levels}

# %%
sizes = [16, 32, 64, 128]
mean_excess = {
    alpha: [
        formula[alpha] * (~holds_bigram(chain_sentences(task_of(size), count, alpha, seeds[1]))).double().mean()
        for size in sizes
    ]
    for alpha in levels
}

# %%
fig, axis = show.axes(height=2.8)
for alpha, marker in zip(levels, show.MARKERS, strict=False):
    axis.plot(sizes, mean_excess[alpha], marker + "-", label=f"α = {alpha}")
axis.set(xscale="log", xlabel="length H of the sentences", ylabel="mean loss above the optimum")
axis.set_xticks(sizes, [str(size) for size in sizes])
axis.minorticks_off()
axis.legend()
show.figure(
    fig,
    name="excess",
    caption="How far the mean loss of Lemma 4.1 is above the optimum on sentences drawn as Markov chains. On "
    "sentences that contain (q, y) there is no difference.",
    alt="Three falling curves against the length of the sentences; the curve for alpha 0.8 falls last.",
)

# %% [markdown]
# The excess loss falls with the length of the sentences, because sentences without $(q,y)$ become rare. At $\alpha=0.8$
# most triggers are followed by $\tau$, so longer sentences are needed.
#
# ## How we checked
# We compute the best prediction by brute force for all sentences of five words. Then we draw random sentences and
# compare Lemma 4.1 with the optimum, separately for sentences with and without $(q,y)$.

# %%
tiny = Task(6, 1, 2, 5, noisy=True, fillers="outputs allowed")
contexts = pad(torch.cartesian_prod(*[torch.arange(6)] * 4), (0, 1))
joint = torch.stack([chain_probability(contexts, y, tiny, 0.3) for y in tiny.output_words], dim=1)
occurs = joint.sum(dim=1) > 0
posterior = joint[occurs] / joint[occurs].sum(dim=1, keepdim=True)
reachable = contexts[occurs]
follows = (reachable[:, :-1] == 0)[:, None] & (reachable[:, None, 1:] == torch.tensor(list(tiny.output_words))[:, None])
shown = follows.any(dim=2).double()  # which outputs follow the trigger in the context
named = shown.sum(dim=1) > 0
claimed = torch.where(named[:, None], shown, 0.5)
posterior_gap = (posterior - claimed).abs().max()

# %%
outside = {}
for alpha, sentences in chains.items():
    after = (sentences.tokens[:, :-1] == sentences.trigger[:, None]).double()
    noise_after = after * (sentences.tokens[:, 1:] == task_of(length).noise_token).double()
    share = noise_after.sum(dim=1) / after.sum(dim=1).clamp_min(1)
    entropy = torch.tensor([bayes_risk(one) for one in share.tolist()], dtype=torch.float64)
    outside[f"α = {alpha}"] = (losses(sentences, alpha, share) - entropy)[holds[alpha]].mean()
broken = {
    f"α = {alpha}": torch.stack(list(violations(chains[alpha].pick(holds[alpha]), task_of(length)).values())).any()
    for alpha in levels
}

# %%
claim = Claim("in-context-reasoning/remark-chen")
claim.at_most("brute force: posterior of y minus that claimed, largest", posterior_gap, 1e-12)
claim.equal("chains with (q, y): one breaks Definition 2.1", broken, False)
on_shown = {f"α = {alpha}": excess[alpha][holds[alpha]].abs().max() for alpha in levels}
claim.at_most("chains with (q, y): loss minus the Bayes risk, largest", on_shown, 1e-10)
on_others = {f"α = {alpha}": (excess[alpha][~holds[alpha]] - formula[alpha]).abs().max() for alpha in levels}
claim.at_most("chains without it: excess minus the formula, largest", on_others, 1e-10)
over_all = {f"α = {alpha}": excess[alpha].mean() for alpha in levels}
claim.printed.at_most("all chains: mean loss above the least", over_all, 1e-3)
claim.control.at_most("label by the context's share: loss above the least", outside, 1e-3)
for alpha in levels:
    claim.number(f"α = {alpha}: share of chains without (q, y)", (~holds[alpha]).double().mean())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# In our sentences, words other than $\tau$ are equally likely. The control is a third task, in which the probability of
# the label $\tau$ is the fraction of earlier triggers that are followed by $\tau$. The best prediction uses this
# fraction, which Lemma 4.1 ignores.
#
# </details>
#
# ## What to remember
# - Where the sentence contains the output after the trigger, a model that is optimal for the paper's task is also
#   optimal for the other task.
# - Where it does not, the paper's task implies nothing, and Lemma 4.1 is not optimal.
#
# ## Exercises
#
# 1. *By hand.* With four outputs and $\alpha=\frac12$, how much larger is the smallest possible loss on a sentence
#    without $(q,y)$?
#    <details><summary>Solution</summary>
#
#    By $(1-\alpha)\ln|\mathcal O|=\frac12\ln4\approx0.69$.
#
#    </details>
# 2. *Predict, then run.* Set `outputs = 2`. Do the curves move up or down?
#    <details><summary>Solution</summary>
#
#    Up. A guess among two outputs is better than among four, while Lemma 4.1 still guesses among all words.
#
#    </details>
#
# Back to [Lemma 4.1](lemma_4_1_noisy.ipynb), whose sentences always contain the output.

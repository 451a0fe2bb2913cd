# %% [markdown]
# # Theorem 4.5 · When attention predicts the output and the feed-forward layer the noise
# *Nguyen, Nguyen-Tang: condition (8) and Theorem 4.5, Section 4.2; Appendix B.4.*
#
# Trained transformers seem to reason in attention and to store statistics in the feed-forward layer. For the
# construction of Lemma 4.1, we can prove this. How long must we train until each layer has its role?

# %%
import math
from bisect import bisect_left
from fractions import Fraction

import torch

from attention_theory.in_context_reasoning.certified.samples import certify_separation
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.descent import algorithm_1
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.finite_sample import chance, hoeffding_radius, separation_time
from attention_theory.in_context_reasoning.model import Architecture, LayerLogits, Pass, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Let 20 % of the labels be the noise word $\tau$, and let the look-up have the scale $\lambda=0.1\,t$ after $t$ steps:

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "door"], at=(0.5, 0.6), lit=[2])
(noise,) = schematic.tokens(axis, ["τ"], at=(11.5, 0.6))
schematic.arrow(axis, tops[4], tops[2], "attention: λ", bend=-0.4)
schematic.arrow(axis, tops[4], noise, "feed-forward layer: λ − 1.39", bend=0.25, colour=schematic.VERMILION)
show.figure(
    fig,
    name="layers",
    caption="What each layer predicts after the final door. Attention predicts the word after the earlier door, and "
    "the feed-forward layer predicts the noise word.",
    alt="Five boxes: red, door, seven, green, door. One arrow leads from the last door back to seven, with the logit "
    "lambda; another one to a separate box with tau, with the logit lambda minus 1.39.",
)

# %% [markdown]
# We see an arrow from the final *door* to *seven*, the word after the earlier *door*. The feed-forward layer gives
# $\tau$ the logit $\lambda+\ln\frac{0.2}{0.8}=\lambda-1.39$, which is $-0.09$ after 13 steps and $0.01$ after 14. Only
# then is it above 0, the logit of all other words.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/definition-separation -->
# <blockquote>
#
# **Layer separation condition (Separated layers)** *Section 4.2*
#
# **The paper states.** After training, the feed-forward layer tends to predict the noise token $\tau$ while the
# attention layer tends to predict the output token $y$. This property can be expressed formally in terms of the final
# logits as $\xi_{A,y}>\max_{j\neq y}\xi_{A,j}$ and $\max_{j\neq\tau}\xi_{F,j}<\xi_{F,\tau}$.
#
# </blockquote>
# <!-- /claim -->
#
# [Algorithm 1](algorithm_1_finite_sample.ipynb) counts the fraction of $\tau$ among $M$ labels, fixes $\gamma$ from it
# and trains $\lambda$, so $\lambda_t=\eta t$. The allowed chance of failure is $\delta$, and (8) is the condition
# above.
#
# <!-- claim in-context-reasoning/theorem-4-5 -->
# <blockquote>
#
# **Theorem 4.5 (When the layers separate)** *Section 4.2; Appendix B.4*
#
# **The paper states.** Algorithm 1 guarantees that with probability at least $1-\delta$, after
# $t\ge\max(1,\frac1\eta)\,\lvert\ln(1-\alpha+\varepsilon)-\ln(\alpha-\varepsilon)\rvert$ iterations,
# $\varepsilon=\sqrt{\ln(2/\delta)/(2M)}$, the condition (8) holds for any sentence generated from the noisy data model.
#
# **What is true.** The same holds for
# $t\ge\max\big(1,\frac1\eta\,\lvert\ln(1-\alpha+\varepsilon)-\ln(\alpha-\varepsilon)\rvert\big)$.
#
# **What changed.** In our copy of the paper, the bracket closes too early; the proof has it right. With the stated
# bracket, the time is 0 at $\alpha=\frac12+\varepsilon$, and at the start nothing is separated.
#
# <details><summary>Slips (3)</summary>
#
# - The time is defined for $\varepsilon<\alpha$ only. If $\varepsilon\ge1-\alpha$, all labels may be $\tau$; we then
#   take the model with $\hat\gamma=\infty$ as a limit, as in Theorem 4.4.
# - The proof recalls $\hat\gamma=\ln\frac{1-\hat\alpha}{\alpha}$. It should be
#   $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$.
# - The proof states separation for $t\ge\max(1,-\hat\gamma/\eta)$. At $t=-\hat\gamma/\eta$ and $C=1$ the logits of the
#   feed-forward layer are all equal, so $t$ must be larger, which it is if $\lvert\hat\alpha-\alpha\rvert<\varepsilon$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# If the output $y$ follows the trigger $C$ times, the only nonzero logit of attention is $C\lambda_t$ at $y$. That of
# the feed-forward layer is $C\lambda_t+\hat\gamma$ at $\tau$, where $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$ and
# $\hat\alpha$ is the fraction of labels that are $\tau$. We wait until the second logit is positive. A bound on the
# error of $\hat\alpha$ bounds the waiting time.
#
# <details><summary>Proof of Theorem 4.5, as corrected</summary>
#
# The time is defined for $\varepsilon<\alpha$. By Hoeffding's inequality $|\hat\alpha-\alpha|<\varepsilon$ with
# probability at least $1-\delta$: the inequality bounds the chance of $|\hat\alpha-\alpha|\ge\varepsilon$, with
# equality. On this event $\hat\alpha>0$. Suppose that $\hat\alpha<1$. Then Algorithm 1 has a model, with
# $\lambda_t=\eta t$. The function $\ln\frac{1-a}a$ falls strictly in $a$, so
#
# $$-\hat\gamma=\ln\frac{1-\hat\alpha}{\hat\alpha}<\ln\frac{1-\alpha+\varepsilon}{\alpha-\varepsilon}\le
# \big|\ln(1-\alpha+\varepsilon)-\ln(\alpha-\varepsilon)\big|\le\eta t .$$
#
# Hence for $C\ge1$ the feed-forward layer has $\xi_{F,\tau}=\eta tC+\hat\gamma>0$, and 0 at all other words (Eq. 25).
# Attention has $\xi_{A,y}=\eta tC>0$ as $t\ge1$, and 0 elsewhere (Eq. 24). The paper's proof allows
# $|\hat\alpha-\alpha|= \varepsilon$ and concludes from $\eta t\ge-\hat\gamma$; at equality and $C=1$ the logits of the
# feed-forward layer are all 0, a tie.
#
# *If all labels are $\tau$.* If $1-\alpha\le\varepsilon<\alpha$, this can have a probability of more than $\delta$: at
# $\alpha=0.99$, $M=50$ and $\delta=\frac12$, where $\varepsilon=0.118$, it is $0.99^{50}=0.605$. Then
# $\hat\gamma=\infty$, and the normalised step is 0 divided by 0. We read both as limits for $\hat\alpha\to1$, as in
# [Theorem 4.4](theorem_4_4_unseen.ipynb). The layers are separated there too, since $\hat\gamma>0$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 61  # N + 1, at least 12
rate = 0.1  # eta, from 0.01 to 0.5
samples = 2048  # M, at least 500
delta = 0.05  # allowed chance of failure, from 1e-6 to 0.5
count = 1_000  # test sentences, at least 100
length = 32  # H, at least 14
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 12, None),
    rate=(rate, 0.01, 0.5),
    samples=(samples, 500, None),
    delta=(delta, 1e-6, 0.5),
    count=(count, 100, None),
    length=(length, 14, None),
    seed=(seed, 0, None),
)
seeds = streams(seed, 6)
task, levels = Task(tokens, 1, 4, length, noisy=True), (0.2, 0.5, 0.8)
codes, tau = embedding(tokens, 2 * tokens), task.noise_token
copies = torch.randint(1, 4, (count,), generator=generator(seeds[0]))
test = sample_sentences(task, count, seeds[1], copies)


def run(scale: float, gamma: float, on: Sentences = test) -> Pass:
    """The transformer of Lemma 4.1 on test sentences."""
    weights = reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma).in_codes(codes)
    return forward(on.tokens, weights, Architecture())


def share_separated(scale: float, gamma: float, on: Sentences = test) -> float:
    return run(scale, gamma, on).separated(on.output, task.noise_token).double().mean().item()


# %%
radius = hoeffding_radius(samples, delta)
waits = {alpha: separation_time(alpha, radius, rate) for alpha in levels}
horizon = max(40, 2 * math.ceil(max(waits.values())))
training = sample_sentences(task, samples, seeds[2])
shares = {}
for alpha in levels:
    labels = draw_labels(training, task, torch.tensor([alpha], dtype=torch.float64), seeds[3])[0]
    fit = algorithm_1(training, labels, task, rate, horizon)
    shares[alpha] = [share_separated(scale, fit.gamma) for scale in fit.scales.tolist()]

# %%
fig, axis = show.axes()
for (alpha, share), marker in zip(shares.items(), show.MARKERS, strict=False):
    axis.plot(range(horizon + 1), share, marker + "-", label=f"α = {alpha}")
    axis.axvline(waits[alpha], color=axis.get_lines()[-1].get_color(), linestyle="--", linewidth=1)
axis.set(xlabel="step t", ylabel="fraction of sentences separated")
axis.legend()
show.figure(
    fig,
    name="separation",
    caption="Fraction of sentences on which the layers are separated. Dashed: the theorem's waiting times.",
    alt="Three step-like curves reaching one: within two steps for alpha 0.5 and 0.8, in three jumps some steps later "
    "for alpha 0.2.",
)

# %% [markdown]
# We see three jumps at $\alpha=0.2$: on sentences with more bigrams, the layers separate sooner. At $\alpha=0.8$ one
# step is enough.
#
# ## How we checked
# More labels $\tau$ can only raise $\hat\gamma$. By bisection, we find the smallest sufficient number of them, and sum
# the binomial probabilities exactly.

# %%
few = test.pick(slice(100))


def chance_of_separation(alpha: float) -> float:
    """The exact probability that there is a model and it separates all sentences at the waiting time."""
    scale = rate * math.ceil(waits[alpha])
    fewest = bisect_left(range(1, samples), 1, key=lambda k: share_separated(scale, odds(k / samples), few)) + 1
    return chance(samples, alpha, lambda heads: fewest <= heads < samples)


at_the_wait = {alpha: chance_of_separation(alpha) for alpha in levels}
single = test.pick(copies == 1)
before = math.ceil(math.log(4) / rate) - 1  # the last step with η t < -γ
early = share_separated(rate * before, odds(0.2), single)
tie = share_separated(0.5, -0.5, single)  # η t = -γ̂ = 1/2

# %%
edge = 0.5 + radius
printed_wait = separation_time(edge, radius, rate, form="printed")
start = share_separated(0.0, odds(edge))
only_noise = {f"γ̂ = {gamma:g}": share_separated(rate, gamma) for gamma in (10.0, 1e3, 1e6)}
past_tie = share_separated(0.5 + 1e-9, -0.5, single)

# %%
claim = Claim("in-context-reasoning/theorem-4-5")
for alpha, separated in at_the_wait.items():
    claim.at_least(f"α = {alpha}: exact chance of separation at the waiting time", separated, 1 - delta)
    claim.number(f"α = {alpha}: waiting time", waits[alpha])
claim.control.above(f"α = 0.2, C = 1: share separated at t = {before}", early, 0)
claim.equal("proof's bracket, α = 1/2 + ε: waiting time", separation_time(edge, radius, rate), 1)
claim.equal("printed bracket, α = 1/2 + ε: waiting time", printed_wait, 0, tolerance=1e-12)
claim.misprint.equal("printed bracket, α = 1/2 + ε: share separated at t = 0", start, 1)
claim.equal("labels τ only, γ̂ towards infinity: share separated after one step", only_noise, 1)
claim.number("α = 0.99, M = 50: exact chance that all labels are τ", chance(50, 0.99, lambda heads: heads == 50))
claim.printed.equal("C = 1, η t = -γ̂: share separated, as the proof has it", tie, 1, of="proof")
claim.equal("C = 1, η t a little above -γ̂: share separated", past_tie, 1, of="proof")
exact = certify_separation(2048, Fraction(1, 5), Fraction(1, 20), 0.1)
claim.certified("M = 2048, α = 1/5: separated, over all label sequences", exact)
claim.verdict()

# %% [markdown]
# In condition (8), a tie must not count.

# %%
picked, rows = test.pick(slice(4)), torch.arange(4)
attention, ff = torch.zeros(4, tokens), torch.zeros(4, tokens)
attention[rows, picked.output], ff[:, tau] = 1.0, 1.0
attention[1, 0] = 1.0  # a tie in the attention layer
ff[2, 3] = 1.0  # a tie in the feed-forward layer
attention[3, 0] = 2.0  # another word on top
clear, *unclear = LayerLogits(attention, ff).separated(picked.output, task.noise_token).tolist()
bare = test.tokens.clone()
bare[:, 1:][(bare[:, :-1] == 0) & (bare[:, 1:] == test.output[:, None])] = tau
hollow = Sentences(bare, test.trigger, test.output)

claim = Claim("in-context-reasoning/definition-separation")
claim.true("clear lead in both layers", clear)
named = dict(zip(("tie in attention", "tie in the feed-forward layer", "another word on top"), unclear, strict=True))
claim.control.true("no clear lead in one of them", named)
claim.control.above("sentences without (q, y): share separated", share_separated(5.0, 0.0, hollow), 0)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# We close the bracket of the waiting time as in the proof. With the stated one, the waiting time at
# $\alpha=\frac12+\varepsilon$ is 0, when all logits of attention are 0.
#
# ## What to remember
# - The construction assigns the roles: attention can favour only $y$, and the feed-forward layer only $\tau$.
# - The layers are separated once one number, $C\eta t+\hat\gamma$, is positive.
# - For $\hat\alpha\ge\frac12$, one step is enough.
#
# ## Exercises
#
# 1. *By hand.* In the example, let *door seven* occur twice. After how many steps are the layers separated?
#    <details><summary>Solution</summary>
#
#    We need $2\cdot0.1\,t>\ln4\approx1.386$, so $t=7$.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 0.5`. Where do the jumps at $\alpha=0.2$ move?
#    <details><summary>Solution</summary>
#
#    The logits depend on $\eta t$ only, so everything happens five times sooner. For $C=1$ the layers separate near
#    step 3 instead of step 14, and in no case before step 1.
#
#    </details>
#
# Next: [Table 1](table_1_in_one_picture.ipynb). The theorem assumes the roles of the layers. What does training find?

# %% [markdown]
# # Theorem 3.3 · A word that was never an output
# *Nguyen, Nguyen-Tang: Theorem 3.3, Section 3.2; Appendix A.3.*
#
# A model that has only memorised its answers fails on a new one. A look-up should not fail, because it copies whatever
# word it finds. How soon does the trained model predict a word that was never an output in training?

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.sentences import certify_unseen
from attention_theory.in_context_reasoning.descent import descend_noiseless
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "zebra", "green", "lamp", "door"], at=(2.5, 0.5), lit=[2])
schematic.arrow(axis, tops[5], tops[2], "never an output, same score λ", bend=-0.4)
show.figure(
    fig,
    name="zebra",
    caption="The look-up works for any word, also for one that was never an output.",
    alt="Six boxes: red, door, zebra, green, lamp, door. An arrow leads from the last door back to zebra.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *zebra*, the word
# after the earlier *door*. *Zebra* was never an output, yet gets logit $\lambda$ like any output. Among 60 words its
# probability is $e^\lambda/(e^\lambda+59)$, which is one half at $\lambda=\ln59\approx4.08$. With one trigger and steps
# of $0.1$, we get there after 41 steps. Five triggers share each step, so each scale grows by $0.1/\sqrt5$, and we need
# 92 steps.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/theorem-3-3 -->
# <blockquote>
#
# **Theorem 3.3 (Unseen outputs, noiseless)** *Section 3.2; Appendix A.3*
#
# **The paper states.** Fix any $y_{\text{test}}\in[N]\setminus(\mathcal O\cup\mathcal Q)$. Take any test sentence of
# the noiseless data model with every bigram $(b,y)$ replaced by $(q,y_{\text{test}})$. Our model, trained by normalized
# gradient descent for $t$ steps, predicts $y_{\text{test}}$ with probability at least $e^{\eta t}/(e^{\eta t}+N-1)$,
# which is at least one half for $t\ge\ln(N)/\eta$.
#
# **What is true.** Let $C$ have the same distribution after every trigger. Then the probability is at least
# $\big(1+(N-1)e^{-\eta t/\sqrt{|\mathcal Q|}}\big)^{-1}$, which is at least one half for $t\ge\sqrt{|\mathcal
# Q|}\,\ln(N-1)/\eta$.
#
# **What changed.** The rate must be $\eta/\sqrt{|\mathcal Q|}$ instead of $\eta$, as in Theorem 3.2. On a sentence with
# $C$ bigrams, the exponent is $C\eta t/\sqrt{|\mathcal Q|}$. The stated bound is therefore true for every distribution
# if there is one trigger, and for equal distributions if and only if the smallest count is at least $\sqrt{|\mathcal
# Q|}$. With unequal distributions even the corrected bound can fail, on sentences whose count is rare after their
# trigger.
#
# <details><summary>Slips (2)</summary>
#
# - The proof has $\lambda_{q,t}=\eta t$.
# - In our copy of the paper, the bigrams replaced are $(b,y)$. They should be $(q,y)$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The scores depend on where the trigger occurs, not on which word follows. After the replacement, $y_{\text{test}}$
# therefore collects the $C$ votes of $y$. The scales are those of [Theorem 3.2](theorem_3_2_rate.ipynb).
#
# <details><summary>Proof of Theorem 3.3, as corrected</summary>
#
# Take a noiseless sentence with the trigger $q$ and replace $y$ by $y_{\text{test}}$ wherever it follows $q$. As
# $y_{\text{test}}$ is no trigger, $z_{h-1}=q$ at the same positions as before. By Lemma A.1 these have score
# $\lambda_q$ and all others score 0. The words at these $C\ge1$ positions are all $y_{\text{test}}$, so it has the
# logit $C\lambda_q$ and every other word the logit 0, whatever else stands in the sentence. Hence
#
# $$\Pr[y_{\text{test}}]=\frac1{1+(N-1)e^{-C\lambda_{q,t}}}\ge\frac1{1+(N-1)e^{-\eta t/\sqrt{|\mathcal Q|}}},$$
#
# by Theorem 3.2, as corrected, for equal laws. The right side is at least one half as soon as $(N-1)e^{-\eta
# t/\sqrt{|\mathcal Q|}}\le1$. At $C=1$ the two sides are equal, so that with two triggers or more the printed bound,
# which has $\eta t$ in the exponent, fails at every $t\ge1$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 60  # N, at least triggers + 6
triggers = 5  # size of Q in the second case, at least 2
rate = 0.1  # eta, from 0.001 to 1
length = 64  # H, at least 16
count = 200  # test sentences, at least 50
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, triggers + 6, None),
    triggers=(triggers, 2, None),
    rate=(rate, 1e-3, 1.0),
    length=(length, 16, None),
    count=(count, 50, None),
    seed=(seed, 0, None),
)
seeds = streams(seed, 5)
others, rows = tokens - 1, torch.arange(count)
printed_time = math.ceil(math.log(tokens) / rate)
right_time = math.ceil(math.sqrt(triggers) * math.log(others) / rate)
horizon = right_time + math.ceil(6 / rate)
one_copy = torch.ones(1, 1, dtype=torch.float64)
codes = embedding(tokens, 2 * tokens)


def probability(sentences: Sentences, task: Task, scales: torch.Tensor) -> torch.Tensor:
    """The transformer's probability of the unseen word in each sentence."""
    logits = forward(sentences.tokens, reparameterised(task, codes, scales).in_codes(codes), Architecture()).logits
    return logits.softmax(dim=1)[rows, sentences.output]


def sigmoid(gap: torch.Tensor | float) -> torch.Tensor:
    return torch.sigmoid(torch.as_tensor(gap, dtype=torch.float64))


# %%
tasks = {size: Task(tokens, size, 4, length) for size in (1, triggers)}
paths = {size: descend_noiseless(one_copy.expand(size, 1), rate, horizon, others) for size in tasks}
tests = {size: sample_sentences(task, count, seeds[0], unseen=True) for size, task in tasks.items()}
copies = torch.randint(1, 4, (count,), generator=generator(seeds[1]))
several = sample_sentences(tasks[triggers], count, seeds[2], copies, unseen=True)


def seen_at(size: int, time: int) -> torch.Tensor:
    """The probabilities after so many steps, on sentences with one bigram each."""
    return probability(tests[size], tasks[size], paths[size][time])


marks = range(0, horizon + 1, max(1, horizon // 12))
measured = {size: torch.stack([seen_at(size, t).mean() for t in marks]) for size in tasks}

# %%
fig, axis = show.axes()
times = torch.arange(horizon + 1)
for size, colour in zip(tasks, show.COLOURS, strict=False):
    axis.plot(times, sigmoid(paths[size][:, 0] - math.log(others)), color=colour, label=f"|Q| = {size}: closed form")
    axis.plot(marks, measured[size], "o", color=colour)
axis.plot(times, sigmoid(rate * times - math.log(others)), "k:", label="the paper's bound, any |Q|")
axis.axhline(0.5, color="0.5", linewidth=0.8)
axis.set(xlabel="step t", ylabel="probability of the unseen word")
axis.legend()
show.figure(
    fig,
    name="unseen",
    caption="Probability of a word that was never an output. Markers show the transformer, lines the closed form. "
    "With one trigger it equals the paper's bound (dotted). With more triggers it is far below this bound and "
    "reaches one half later.",
    alt="Two rising S-shaped curves; the one for a single trigger coincides with the dotted bound, the other rises "
    "later.",
)

# %% [markdown]
# The curve for one trigger coincides with the stated bound (dotted). The curve for five triggers crosses one half much
# later.
#
# ## How we checked
# We compare the transformer with the closed form on sentences with one to three bigrams, and a solver proves the
# corrected bound for all $C$, $\lambda$ and $N$. Two controls violate it: triggers with different counts, and a
# sentence in which only one of two bigrams is replaced.

# %%
pair = Task(tokens, 2, 4, length)
unequal = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0, 0.9]], dtype=torch.float64)
promised = math.ceil(math.sqrt(2) * math.log(others) / rate)
lagging = descend_noiseless(unequal, rate, promised, others)[promised]
rare = probability(sample_sentences(pair, count, seeds[3], unseen=True), pair, lagging).min()

half = sample_sentences(tasks[triggers], count, seeds[4], 2, unseen=True)
first = (half.tokens == half.output[:, None]).int().argmax(dim=1)
half.tokens[rows, first] = tasks[triggers].output_words.start
shared = probability(half, tasks[triggers], paths[triggers][right_time]).min()

# %%
scale = paths[triggers][:, 0]
closed = {t: sigmoid(copies * scale[t] - math.log(others)) for t in (1, printed_time, right_time)}
found = {t: probability(several, tasks[triggers], paths[triggers][t]) for t in closed}
gaps = {f"t = {t}": (found[t] - closed[t]).abs().max() for t in closed}
lower = {f"t = {t}": sigmoid(rate * t / math.sqrt(triggers) - math.log(others)) - found[t].min() for t in closed}
early, late, just_before = (seen_at(triggers, t) for t in (printed_time, right_time, right_time - 1))
bound_printed = sigmoid(rate * printed_time - math.log(others))
walked = scale[printed_time] / (rate * printed_time)
single = seen_at(1, printed_time).min()

# %%
claim = Claim("in-context-reasoning/theorem-3-3")
claim.at_most("probability minus 1/(1 + (N-1) exp(-C λ)), largest", gaps, 1e-12)
claim.at_most("corrected bound minus the probability, largest", lower, 1e-12)
claim.at_least("one trigger: p at ⌈ln N/η⌉ over the printed bound", single / bound_printed, 1 - 1e-12)
claim.at_least("one trigger: p at ⌈ln N/η⌉", single, 0.5)
claim.at_least(f"{triggers} triggers: p at ⌈√|Q| ln(N-1)/η⌉ = {right_time}", late.min(), 0.5)
claim.control.at_least(f"{triggers} triggers: p one step before", just_before.max(), 0.5)
claim.printed.at_least(
    f"{triggers} triggers: p at ⌈ln N/η⌉ = {printed_time}, printed bound", early.max(), bound_printed
)
claim.control.at_least(f"unequal laws: p at ⌈√2 ln(N-1)/η⌉ = {promised}, least", rare, 0.5)
claim.control.at_least("one of two bigrams replaced: p at the corrected step", shared, 0.5)
claim.printed.equal(f"{triggers} triggers: λ over η t, which the proof has as 1", walked, 1, tolerance=1e-9, of="proof")
claim.equal(f"{triggers} triggers: √|Q| λ over η t", math.sqrt(triggers) * walked, 1, tolerance=1e-9, of="proof")
claim.certified("the bound, and one half, for all C, λ and N", certify_unseen(Task(6, 2, 2, 6)))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# In the first control, the first trigger always has one bigram per sentence. The second has five in nine of ten
# sentences and one in the tenth. Its scale lags behind, and on the tenth sentence the probability is still below one
# half when the bound says one half.
#
# </details>
#
# ## What to remember
# - The look-up predicts an unseen word as surely as a known one.
# - The time to one half is $\sqrt{|\mathcal Q|}\,\ln(N-1)/\eta$, if the counts have equal distributions.
#
# ## Exercises
#
# 1. *By hand.* Let *door zebra* occur twice, with one trigger, 60 words and steps of $0.1$. When is the probability one
#    half?
#    <details><summary>Solution</summary>
#
#    When $2\lambda\ge\ln59$, so $\lambda\ge2.04$, after 21 steps.
#
#    </details>
# 2. *Predict, then run.* Set `triggers = 20`. Which curves move?
#    <details><summary>Solution</summary>
#
#    Only the curve for many triggers. It rises $\sqrt{20/5}=2$ times as late. The stated bound stays where it is.
#
#    </details>
#
# Back to [Theorem 3.2](theorem_3_2_rate.ipynb), or on to [Theorem 4.4](theorem_4_4_unseen.ipynb), which adds noise.

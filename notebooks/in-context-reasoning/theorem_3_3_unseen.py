# %% [markdown]
# # Theorem 3.3 · A word that was never an output
# *Nguyen, Nguyen-Tang: Theorem 3.3, Section 3.2; Appendix A.3.*
#
# <!-- claim in-context-reasoning/theorem-3-3 -->
# <blockquote>
#
# **Theorem 3.3 (Unseen outputs, noiseless)** *Section 3.2; Appendix A.3*
#
# **As printed.** $\Pr[y_{\text{test}}]\ge e^{\eta t}/(e^{\eta t}+N-1)$, at least one half from $t\ge\ln(N)/\eta$ on;
# the proof has $\lambda_{q,t}=\eta t$. "Every bigram $(b,y)$", in the text that we have.
#
# **Corrected.** Let $C$ have the same law after every trigger. Replace every bigram $(q,y)$ of a noiseless sentence by
# $(q,y_{\text{test}})$ with a word that is neither trigger nor output. After $t$ steps
# $\Pr[y_{\text{test}}]\ge\big(1+(N-1)e^{-\eta t/\sqrt{|\mathcal Q|}}\big)^{-1}$, so it is at least one half from
# $t\ge\sqrt{|\mathcal Q|}\,\ln(N-1)/\eta$ on.
#
# $\eta$ must be $\eta/\sqrt{|\mathcal Q|}$ throughout, under equal laws of $C$ as in Theorem 3.2; with unequal laws the
# bound fails for the triggers whose scale lags behind. As printed it is true for one trigger only.
#
# </blockquote>
# <!-- /claim -->
#
# The construction looks at positions, not at words. Put any neutral word in the place of $y$, and it collects the same
# logit $C\lambda_{q,t}$. So its probability is $1/(1+(N-1)e^{-C\lambda})$ with $\lambda=\eta t/\sqrt{|\mathcal Q|}$.
# The theorem puts $\eta t$ for $\lambda$, which is right for one trigger only; with five it promises at step 41 what
# comes at step 92. Its proof takes $\lambda_{q,t}=\eta t$ from a Theorem 3.2 that has neither this nor, as printed, the
# right path. And the scales are equal only when $C$ has the same law after every trigger. Where it has not, some
# lag behind, and the corrected bound fails for their triggers.

# %%
import math

import torch

from attention_theory.in_context_reasoning.descent import descend_noiseless
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward, in_codes
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 60  # N, at least triggers + 6
triggers = 5  # size of Q in the second case, at least 2
rate = 0.1  # eta, from 0.001 to 1
length = 64  # H, at least 16
count = 200  # test sentences, at least 10
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, triggers + 6, None),
    triggers=(triggers, 2, None),
    rate=(rate, 1e-3, 1.0),
    length=(length, 16, None),
    count=(count, 10, None),
    seed=(seed, 0, None),
)
others = tokens - 1
printed_time = math.ceil(math.log(tokens) / rate)
right_time = math.ceil(math.sqrt(triggers) * math.log(others) / rate)
horizon = right_time + 60
one_copy = torch.ones(1, 1, dtype=torch.float64)


def probability(sentences: Sentences, task: Task, scales: torch.Tensor) -> torch.Tensor:
    """The transformer's probability of the unseen word in each sentence."""
    codes = embedding(tokens, 2 * tokens)
    logits = forward(sentences.tokens, in_codes(reparameterised(task, codes, scales), codes), Architecture()).logits
    return logits.softmax(dim=1)[torch.arange(len(logits)), sentences.output]


def sigmoid(gap: torch.Tensor | float) -> torch.Tensor:
    return torch.sigmoid(torch.as_tensor(gap, dtype=torch.float64))


# %%
tasks = {size: Task(tokens, size, 4, length) for size in (1, triggers)}
paths = {size: descend_noiseless(one_copy.expand(size, 1), rate, horizon, others) for size in tasks}
tests = {size: sample_sentences(task, count, seed, unseen=True) for size, task in tasks.items()}

claim = Claim("in-context-reasoning/theorem-3-3")
copies = torch.randint(1, 4, (count,), generator=generator(seed))
several = sample_sentences(tasks[triggers], count, seed, copies, unseen=True)
scales = paths[triggers][right_time]
gap = probability(several, tasks[triggers], scales) - sigmoid(copies * scales[0] - math.log(others))
claim.check("probability minus 1/(1 + (N-1) exp(-C λ)), largest", gap.abs().max(), "<=", 1e-12)
alone = probability(tests[1], tasks[1], paths[1][printed_time]).min()
claim.check(
    "|Q| = 1: p at ⌈ln N/η⌉ over the printed bound",
    alone / sigmoid(rate * printed_time - math.log(others)),
    ">=",
    1 - 1e-12,
)
claim.check("|Q| = 1: p at ⌈ln N/η⌉", alone, ">=", 0.5)
early = probability(tests[triggers], tasks[triggers], paths[triggers][printed_time]).max().item()
late = probability(tests[triggers], tasks[triggers], paths[triggers][right_time]).min().item()
just_before = probability(tests[triggers], tasks[triggers], paths[triggers][right_time - 1]).max().item()
claim.check(f"{triggers} triggers: p at ⌈√|Q| ln(N-1)/η⌉ = {right_time}", late, ">=", 0.5)
claim.control(f"{triggers} triggers: p one step before", just_before, ">=", 0.5)
claim.printed(
    f"{triggers} triggers: p at ⌈ln N/η⌉ = {printed_time} against the printed bound",
    early,
    ">=",
    sigmoid(rate * printed_time - math.log(others)).item(),
)
walked = paths[triggers][printed_time, 0] / (rate * printed_time)
claim.printed(f"{triggers} triggers: λ over η t, which the proof has as 1", walked, "==", 1, 1e-9, of="proof")
claim.check(f"{triggers} triggers: √|Q| λ over η t", math.sqrt(triggers) * walked, "==", 1, 1e-9, of="proof")

# %% [markdown]
# Unequal laws, as a control: one bigram a sentence after the first trigger; after the second one five, but for one
# sentence in ten. Its scale lags, and on that tenth sentence one half is not there when the bound promises it.

# %%
pair = Task(tokens, 2, 4, length)
unequal = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0, 0.9]], dtype=torch.float64)
promised = math.ceil(math.sqrt(2) * math.log(others) / rate)
lagging = descend_noiseless(unequal, rate, promised, others)[promised]
rare = sample_sentences(pair, count, seed, unseen=True)
claim.control(
    f"unequal laws: p at ⌈√2 ln(N-1)/η⌉ = {promised}, least", probability(rare, pair, lagging).min(), ">=", 0.5
)

# %% [markdown]
# "Every bigram is replaced" matters. Leave one $(q,y)$ among several and the old word keeps its share of the logits.

# %%
half = sample_sentences(tasks[triggers], count, seed, 2, unseen=True)
first = (half.tokens == half.output[:, None]).int().argmax(dim=1)
half.tokens[torch.arange(count), first] = tasks[triggers].output_words.start
claim.control(
    "one of two bigrams replaced: p at the corrected step", probability(half, tasks[triggers], scales).min(), ">=", 0.5
)

fig, axis = show.axes()
times = torch.arange(horizon + 1)
for size, colour in zip(tasks, show.COLOURS, strict=False):
    axis.plot(times, sigmoid(paths[size][:, 0] - math.log(others)), color=colour, label=f"|Q| = {size}: closed form")
    marks = range(0, horizon + 1, 15)
    axis.plot(marks, [probability(tests[size], tasks[size], paths[size][t]).mean() for t in marks], "o", color=colour)
axis.plot(times, sigmoid(rate * times - math.log(others)), "k--", label="printed bound, any |Q|")
axis.axhline(0.5, color="0.5", linewidth=0.8)
axis.set(xlabel="step t", ylabel="probability of the unseen word")
axis.legend()
show.figure(
    fig,
    name="unseen",
    caption="Probability of a word that was never an output; markers are the transformer. With one trigger it is the "
    "printed bound (dashed), with five it lies far below the bound and reaches one half at step 92.",
    alt="Two rising S-shaped curves; the one for a single trigger coincides with the dashed bound, the other rises "
    "later.",
)
claim.verdict()

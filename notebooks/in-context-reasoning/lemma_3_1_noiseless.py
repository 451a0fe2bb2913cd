# %% [markdown]
# # Lemma 3.1 · One look-up solves the noiseless task
# *Nguyen, Nguyen-Tang: Lemma 3.1, Section 3.1; Lemma A.1 and its remark, Appendix A.1.*
#
# To reason in context, a model must use what the current sentence says, even if it has never seen these words together
# before. The simplest case is a look-up: where did the last word occur before, and what came after it? Can one
# attention head do this exactly, and with which weights? The rest of the chapter asks whether training finds these
# weights.

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.sentences import certify_logits, certify_scores, certify_signs
from attention_theory.in_context_reasoning.closed_form import noiseless_loss
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.descent import descend_noiseless
from attention_theory.in_context_reasoning.embedding import embedding, random_units
from attention_theory.in_context_reasoning.model import Architecture, Pass, Weights, dense_forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, bigram_count, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
tokens = 12  # N, at least triggers + 5
width = 30  # d, at least 2 * tokens
length = 20  # H, at least 10
triggers = 3  # size of Q, at least 1
count = 500  # sentences, at least 100
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, triggers + 5, None),
    width=(width, 2 * tokens, None),
    length=(length, 10, None),
    triggers=(triggers, 1, None),
    count=(count, 100, None),
    seed=(seed, 0, None),
)
seeds = streams(seed, 6)
task, linear = Task(tokens, triggers, 2, length), Architecture()
codes = embedding(tokens, width, "rotated", seeds[0])
copies = torch.randint(1, 4, (count,), generator=generator(seeds[1]))
sentences = sample_sentences(task, count, seeds[2], copies)
scales = 1 + torch.rand(triggers, generator=generator(seeds[3]), dtype=torch.float64)
rows = torch.arange(count)


def run(at: torch.Tensor, architecture: Architecture = linear, on: Sentences = sentences, using=codes) -> Pass:
    """The transformer of Lemma 3.1 with scales `at`, by Eq. (1)."""
    return dense_forward(on.tokens, using, reparameterised(task, using, at), architecture)


# %% [markdown]
# ## A tiny example
# Read this sentence and guess the next word:
#
# > red **door** *seven* green lamp **door** → ?
#
# You probably guess *seven*, and you need not know what a door is. You look for an earlier occurrence of the last word
# and copy what came after it. An attention head can do the same if every position carries two codes, one for the word
# at that position and one for the word *before* it. The head compares the first code of the last position with the
# second codes of all positions.

# %%
fig, axis = schematic.canvas(7.0, 2.6)
sentence = ["red", "door", "seven", "green", "lamp", "door"]
here = schematic.tokens(axis, sentence, at=(3.4, 3.6), lit=[2, 5])
before = schematic.tokens(axis, ["–", *sentence[:-1]], at=(3.4, 1.6), lit=[2])
schematic.arrow(axis, (here[5][0], 3.55), (before[2][0] + 0.5, before[2][1]), bend=0.12)
schematic.text(axis, (8.9, 3.25), "the same word", schematic.BLUE, 9)
schematic.arrow(axis, (before[2][0], before[2][1]), (here[2][0], 3.55))
for words, height in (("word", 4.05), ("word before", 2.05), ("score", 1.0)):
    schematic.text(axis, (3.0, height), words, size=9, align="right")
for place, (x, _) in enumerate(before):
    schematic.text(axis, (x, 1.0), "λ" if place == 2 else "0", schematic.BLUE if place == 2 else schematic.QUIET, 11)
show.figure(
    fig,
    name="look-up",
    caption="The last word, door, is compared with the word before each position. Position 3 matches, and attention "
    "copies seven, the word at this position.",
    alt="Two rows of boxes: the words red, door, seven, green, lamp, door, and below each the word before it. An "
    "arrow leads from the last door to the third box of the lower row, which holds door as well, and another one from "
    "there up to seven. Below, the scores: lambda at the third position, 0 elsewhere.",
)

# %% [markdown]
# We see an arrow from the final *door* to the only match, and from there to *seven*, the word after the earlier *door*.
# The match has score $\lambda$, which counts as a vote for *seven*. In a vocabulary of twelve words, *seven* then has
# the *logit* (its score as the next word) $\lambda$, and the eleven other words have logit 0. The probability of
# *seven* is $e^\lambda/(e^\lambda+11)$, and the loss is $\ln(1+11e^{-\lambda})$:
#
# | $\lambda$ | 0 | 1 | 5 | 10 |
# | --- | --- | --- | --- | --- |
# | probability of *seven* | 0.08 | 0.20 | 0.93 | 0.9995 |
# | loss | 2.48 | 1.62 | 0.07 | 0.0005 |
#
# The sharper the look-up, the closer the loss comes to 0. If *door seven* occurs twice, there are two votes, and
# $2\lambda$ replaces $\lambda$.
#
# Three things could break the look-up. A different word after another *door* would also collect votes. Overlapping
# codes would leak votes to other words. With a negative $\lambda$, ReLU attention would see nothing. We try all three
# below.
#
# ## The paper states
# Write $E(k)$ for the code of the word $k$, and $\tilde E(k)$ for its code as a previous word. All these codes are
# orthonormal (Assumption 2.2). Position $h$ holds the word $z_h$ and has the input $x_h=E(z_h)+\tilde E(z_{h-1})$; the
# sentence ends at $H$. The score of position $h$ is $x_H^\top Wx_h$. The matrix $V$ acts on what attention collects,
# and $U$ reads the logits off the result. The last word is the trigger $q$, one of a set $\mathcal Q$. The output is
# $y$, and the bigram $(q,y)$ occurs $C_{q,y}$ times.
#
# <!-- claim in-context-reasoning/lemma-3-1 -->
# <blockquote>
#
# **Lemma 3.1 (The noiseless task is solved)** *Section 3.1; Appendix A.1*
#
# **The paper states.** Under Assumption 2.2, by setting $U=[E(1)\dots E(N)]^\top$, $V=I_d$ and $W=\sum_{k\in\mathcal
# Q}\lambda_kE(k)\tilde E^\top(k)$ with non-negative values $\lambda_k$, for both linear and ReLU attention, the
# population loss is $L(\lambda)=\mathbb E\Big[-\ln\frac{\exp(C_{q,y}\lambda_q)}{\exp(C_{q,y}\lambda_q)+N-1}\Big]$, and
# we obtain $\lim_{\lambda\to\infty}L(\lambda)=0$. The logits of token $j\in[N]$ are $\xi_j=\lambda_qC_{q,y}\mathbb
# 1\{j=y\}$.
#
# <details><summary>Slips (3)</summary>
#
# - On a sentence with $z_{H-1}=q$, which Definition 2.1 allows if read literally, position $H$ has score $\lambda_q$,
#   so the trigger also has logit $\lambda_q$, and at $C_{q,y}=1$ the loss tends to $\ln2$. The definition is meant to
#   put its conditions on $z_{1:H}$, which exclude such sentences.
# - The sketch gives the attention score $\mathbb 1\{z_{h-1}=q\}$, without the factor $\lambda_q$.
# - The proof writes $e_q$ and $\mathbb 1\{j=q\}$ for the word after the trigger. That word is $y$, so it should be
#   $e_y$ and $\mathbb 1\{j=y\}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/lemma-a-1 -->
# <blockquote>
#
# **Lemma A.1 (Only what follows the trigger scores)** *Appendix A.1*
#
# **The paper states.** Under Assumption 2.2 and the reparameterization in Lemma 3.1, for all $h\in[H]$ in a sentence
# with trigger word $q$, we obtain $x_H^\top Wx_h=\lambda_q\mathbb 1\{z_{h-1}=q\}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The lemma also holds if $z_{H-1}=q$. Then position $H$ has score $\lambda_q$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We take the terms of $W$ one by one. The term $\lambda_kE(k)\tilde E(k)^\top$ compares both the last word and the word
# before position $h$ with $k$. It gives the score $\lambda_k$ where both words are $k$, and 0 elsewhere. Because the
# sentence ends in $q$, only the term for $q$ matters, which is Lemma A.1. With $V=I$, each position adds its score to
# the logit of its word. In a sentence of the task, only $y$ follows $q$, and it does so $C_{q,y}$ times. Therefore $y$
# has logit $\lambda_qC_{q,y}$, and the $N-1$ other words have logit 0. Scores are never negative, so ReLU changes
# nothing.
#
# The step from scores to logits assumes that the trigger is not also the second-to-last word. Otherwise the trigger
# follows itself and also gets logit $\lambda_q$.
#
# ## See it run
# We draw 500 sentences with one, two or three bigrams $(q,y)$, and use randomly rotated codes. First, we compute the
# scores for $W$ and for each of its terms alone, and the logit of a trigger that follows itself.

# %%
after_trigger = torch.zeros(sentences.tokens.shape, dtype=torch.float64)
after_trigger[:, 1:] = (sentences.tokens[:, :-1] == sentences.trigger[:, None]).double()
expected_scores = scales[sentences.trigger][:, None] * after_trigger
terms = {}
for k in range(triggers):
    alone = torch.zeros_like(scales)
    alone[k] = scales[k]
    theirs = expected_scores * (sentences.trigger == k)[:, None]
    terms[f"k = {k}"] = (run(alone).scores - theirs).abs().max()

doubled = sentences.tokens.clone()
doubled[:, -2] = sentences.trigger
apart = sentences.tokens[:, -3] != sentences.trigger  # else the trigger would follow itself twice
with_double = run(scales, on=Sentences(doubled, sentences.trigger, sentences.output))
own_logit = with_double.logits[rows, sentences.trigger]
expected_double = torch.zeros(doubled.shape, dtype=torch.float64)
expected_double[:, 1:] = scales[sentences.trigger][:, None] * (doubled[:, :-1] == sentences.trigger[:, None])

# %% [markdown]
# Then we compute the logits and compare the loss at four values of $\lambda$ with its closed form.

# %%
expected = torch.zeros(count, tokens, dtype=torch.float64)
expected[rows, sentences.output] = scales[sentences.trigger] * copies
logits = {name: run(scales, Architecture(name)).logits for name in ("linear", "relu")}
grid = torch.tensor([1.0, 5.0, 10.0, 20.0], dtype=torch.float64)
alike = torch.ones(triggers, dtype=torch.float64)
losses = {
    name: torch.stack([cross_entropy(run(s * alike, Architecture(name)).logits, sentences.output).losses for s in grid])
    for name in ("linear", "relu")
}
closed = noiseless_loss(grid[:, None], copies, tokens - 1)

# %%
axis_scales = torch.linspace(0, 20, 81, dtype=torch.float64)
fig, axis = show.axes()
for c, marker in zip((1, 2, 3), show.MARKERS, strict=False):
    (line,) = axis.semilogy(axis_scales, noiseless_loss(axis_scales, torch.tensor(float(c)), tokens - 1))
    line.set_label(f"C = {c}")
    axis.semilogy(grid, losses["linear"][:, copies == c].mean(dim=1), marker, color=line.get_color())
axis.set(xlabel="λ", ylabel="loss", ylim=(1e-20, 10))
axis.legend()
show.figure(
    fig,
    name="loss",
    caption="Loss of the transformer (markers) and its closed form (lines), for each number C of bigrams (q, y). For "
    "large λ it decreases like $(N-1)e^{-C\\lambda}$.",
    alt="Three falling lines on a logarithmic axis, steeper for larger C, with the markers on them.",
)

# %% [markdown]
# The markers are on the lines. Two bigrams double the steepness of the line and three bigrams triple it, because each
# bigram adds a vote.
#
# Now we break the look-up in three ways: with a negative $\lambda$ under ReLU, with a different word $n$ after another
# occurrence of the trigger, and with codes in too few dimensions.

# %%
negative = cross_entropy(run(-20 * alike, Architecture("relu")).logits, sentences.output).losses.mean()
extra = sentences.tokens.clone()
extra[:, 0], extra[:, 1] = sentences.trigger, task.neutral_words.start
free = (sentences.tokens[:, :3] != sentences.trigger[:, None]).all(dim=1)
single = free & (bigram_count(extra, sentences.trigger, sentences.output) == 1)
second = run(20 * alike, on=Sentences(extra, sentences.trigger, sentences.output))
rival = cross_entropy(second.logits, sentences.output).losses[single].mean()
leaky = run(scales, using=random_units(tokens, 3 * tokens // 2, seeds[4]))

at_q = run(scales).logits[rows, sentences.trigger]
astray = (at_q - scales[sentences.trigger] * copies).abs().min()
without_scale = (run(scales).scores - after_trigger).abs().max()

# %% [markdown]
# ### Type a sentence
# The look-up works in your browser. {doc}`/instruments/trigger_and_answer` explains what it shows.
#
# <div class="instrument" data-instrument="trigger_and_answer" data-start="Load the reader" data-weights="readers">
#
# The instrument is on the site of the book.
#
# </div>
#
# ## How we checked
# For both lemmas, we compare every score, logit and loss with its formula. The three broken versions are controls and
# must fail, and so must the two slips in the paper's proofs. In small tasks we also run every sentence, and computer
# algebra extends the result to every $\lambda\ge0$.

# %%
claim = Claim("in-context-reasoning/lemma-a-1")
score_error = (run(scales).scores - expected_scores).abs().max().item()
claim.at_most("scores minus λ 1{previous word is q}, largest", score_error, 1e-12)
claim.at_most("each term of W alone, largest error", terms, 1e-12, of="proof")
claim.close("the trigger at H - 1 as well: scores minus the same", with_double.scores, expected_double, atol=1e-12)
claim.control.close("d = 1.5 N: scores minus the same", leaky.scores, expected_scores, atol=1e-12)
claim.number("scores, largest error", score_error)
claim.certified("seven words: the score, in sentences of every length", certify_scores(Task(7, 3, 2)))
claim.verdict()

# %%
claim = Claim("in-context-reasoning/lemma-3-1")
apart_by = {name: (values - expected).abs().max() for name, values in logits.items()}
claim.at_most("linear: logits minus λ C 1{j = y} (Eq. 9), largest", apart_by["linear"], 1e-12, of="proof")
claim.at_most("logits minus λ C 1{j = y}, largest", apart_by, 1e-12)
off = {name: (values / closed - 1).abs().max() for name, values in losses.items()}
claim.at_most("loss over its closed form minus 1, largest", off, 1e-12)
means = losses["linear"].mean(dim=1)
claim.true("loss falls at every step of λ", bool((means.diff() < 0).all()))
claim.at_most("loss at λ = 20", means[-1], 1e-7)
claim.equal("ReLU at λ = -20: loss is ln N", negative, math.log(tokens), tolerance=1e-12)
claim.control.at_most("ReLU at λ = -20: loss falls", negative, 1e-7)
claim.control.at_most("a second bigram (q, n), C = 1: loss at λ = 20", rival, 1e-7)
claim.control.close("d = 1.5 N: logits minus λ C 1{j = y}", leaky.logits, expected, atol=1e-12)
own_error = (own_logit - scales[sentences.trigger])[apart].abs().max()
claim.at_most("a trigger at H - 1 has logit λ of its own, off by", own_error, 1e-12)
claim.control.at_most("that trigger's logit is 0, smallest", own_logit[apart].min(), 1e-12)
claim.misprint.at_most("sketch: scores minus 1{previous word is q}, largest", without_scale, 1e-12, of="proof")
claim.misprint.at_most("logit at q minus λ C, smallest", astray, 1e-12, of="proof")
claim.certified("the logits of every sentence of six words; the loss", certify_logits(Task(6, 2, 2, 6)))
claim.verdict()

# %% [markdown]
# ## Also on this page: other activations
# In this remark, $m=1/\sqrt{\sum_qC_q^{-2}}$, where $C_q$ is the smallest count of trigger $q$, as in [many
# triggers](many_triggers.ipynb).
#
# <!-- claim in-context-reasoning/remark-a-1-linear -->
# <blockquote>
#
# **Appendix A.1 (Any activation that is linear for positive scores)** *Appendix A.1*
#
# **The paper states.** Lemma A.1 indicates that the attention scores are always non-negative. As a result, for both
# linear and ReLU attention $\sigma(x_H^\top Wx_h)=x_H^\top Wx_h$. Hence, it suffices to prove Lemma 3.1 and our
# subsequent results for linear attention. Our proof can be extended to any activation function where $\sigma(x)=cx$ for
# $c>0$, $x\ge0$.
#
# <details><summary>Slips (1)</summary>
#
# - The argument does not apply to Theorem 3.4, where all of $W$ is trained and scores have both signs. Section 3.2
#   states its results on training for linear attention. For ReLU with derivative 1 at 0, the limit of Theorem 3.4 is
#   the same for another reason.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** In Lemmas 3.1 and 4.1, such an activation gives the logits of linear attention with $c\lambda$
# instead of $\lambda$, whatever it does for $x<0$. In Theorem 3.2, under equal distributions of $C$, descent from
# $\lambda_0=0$ follows the same path, and the exponent is multiplied by $c$. In general, $c\lambda$ makes the steps of
# length $c\eta$, and the exponent is $c\eta m$ if $c\eta m\le2$.
#
# At $\lambda_0=0$, every score is 0. On $\lambda\ge0$, the domain of Lemma 3.1, the derivative of $\sigma$ there is
# $c$. Common software sets that of ReLU at 0 to 0, and then descent never starts.
#
# </blockquote>
# <!-- /claim -->
#
# No score is negative, so it does not matter what an activation does to negative numbers. For positive scores, a factor
# of $c$ has the same effect as replacing $\lambda$ by $c\lambda$. We try six such activations in the noiseless and in
# the noisy task. We compare them with three others: the square, which is not linear for positive numbers; the
# hyperbolic tangent, which is bounded; and softplus, which is not 0 at 0, so every word gets attention.

# %%
relu, elu = torch.relu, torch.nn.functional.elu
activations = {
    "x / 2": (0.5, lambda x: x / 2),
    "3 max(0, x)": (3, lambda x: 3 * relu(x)),
    "leaky ReLU": (1, lambda x: torch.where(x > 0, x, x / 10)),
    "|x|": (1, torch.abs),
    "ELU": (1, elu),
    "3x, and x on the left": (3, lambda x: torch.where(x > 0, 3 * x, x)),
}
others = {"x²": torch.square, "tanh": torch.tanh, "softplus": torch.nn.functional.softplus}
noisy = Task(tokens, 1, 2, length, noisy=True)
noisy_sentences = sample_sentences(noisy, count, seeds[5], copies)


def logits_under(activation, on: Sentences, weights: Weights) -> torch.Tensor:
    """Eq. (1) with any activation: its logits on the sentences."""
    inputs = codes.embed(on.tokens)
    attended = torch.einsum("sh,shd->sd", activation(dense_forward(on.tokens, codes, weights, linear).scores), inputs)
    through = attended @ weights.value.mT + (inputs[:, -1] + attended) @ weights.feed_forward.mT
    return through @ codes.word.mT


# %%
def gap_to_linear(activation, c: float) -> float:
    """The largest difference to the logits of linear attention at c λ, in both tasks."""
    gaps = []
    for which, on, at in ((task, sentences, scales), (noisy, noisy_sentences, scales[:1])):
        ours = logits_under(activation, on, reparameterised(which, codes, at, gamma=-0.7))
        theirs = dense_forward(on.tokens, codes, reparameterised(which, codes, c * at, gamma=-0.7), linear).logits
        gaps.append((ours - theirs).abs().max().item())
    return max(gaps)


same = {name: gap_to_linear(activation, c) for name, (c, activation) in activations.items()}
unlike = {name: gap_to_linear(activation, 1) for name, activation in others.items()}


# %%
def loss_under(activation) -> torch.Tensor:
    """The noiseless loss of every sentence at λ = 10."""
    at_10 = reparameterised(task, codes, 10 * alike)
    return cross_entropy(logits_under(activation, sentences, at_10), sentences.output).losses


losses_at_10 = {
    name: (loss_under(activation) / noiseless_loss(10 * c * alike[0], copies, tokens - 1) - 1).abs().max()
    for name, (c, activation) in activations.items()
}

# %% [markdown]
# The paper also says that it suffices to prove its later results for linear attention. Some of these are about
# training, where the derivative of $\sigma$ matters as well as its value. At $\lambda=0$ every score is 0. For
# $\lambda\ge0$ only the derivative from the right, $c$, matters there, but software may use another. We train the
# scales by normalised steps, with gradients from automatic differentiation. The sentences are the same for every
# trigger, so the counts have equal distributions.

# %%
first = sentences.trigger == 0
words_of_first = sentences.tokens[first]
equal = Sentences(
    torch.cat([words_of_first.where(words_of_first != 0, k) for k in range(triggers)]),
    torch.arange(triggers).repeat_interleave(int(first.sum())),
    sentences.output[first].repeat(triggers),
)
eta, walk = 0.5, 20


def walked(activation) -> torch.Tensor:
    """The scales after normalised steps from 0, with the gradients of automatic differentiation."""
    at = torch.zeros(triggers, dtype=torch.float64, requires_grad=True)
    for _ in range(walk):
        logits = logits_under(activation, equal, reparameterised(task, codes, at))
        (slope,) = torch.autograd.grad(cross_entropy(logits, equal.output).losses.mean(), at)
        at = (at - eta * slope / slope.norm().clamp_min(1e-300)).detach().requires_grad_()
    return at.detach()


# %% [markdown]
# We train twice: once with the derivative $c$ at 0, and once with the derivative that the software uses there.


# %%
def from_the_right(activation, c: float):
    """The same activation with the slope c at 0."""
    return lambda x: torch.where(x >= 0, c * x, activation(x))


line = eta * walk / math.sqrt(triggers)
paths = {name: walked(from_the_right(activation, c)) for name, (c, activation) in activations.items()}
off_line = {name: (at - line).abs().max() for name, at in paths.items()}
as_usual = {name: walked(activation).min() for name, (_, activation) in activations.items()}
unmoved = {name: as_usual[name] for name in ("3 max(0, x)", "|x|")}
show.table(
    ["activation", "derivative at 0 from the right", "derivative in software"],
    [[name, paths[name].min(), as_usual[name]] for name in activations],
    caption=f"The smallest scale after {walk} steps, by the derivative used at 0",
)

# %% [markdown]
# With the derivative from the right, the scales of all six follow the same line, and the final loss is that of linear
# attention at $c\lambda$. With the software's derivatives, the scales of two of them, ReLU and the absolute value, do
# not move at all.
#
# If the output follows one trigger always once and another always three times, the path depends on $c$. Then $c\lambda$
# takes steps of length $c\eta$.

# %%
unequal = torch.eye(3, dtype=torch.float64)[[0, 2]]  # counts 1 and 3


def walk_unequal(c: float, rate: float) -> torch.Tensor:
    """c λ after 400 normalised steps in λ from 0, for the activation c x."""
    at, counts = torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)
    for _ in range(400):
        slope = counts * (tokens - 1) / ((counts * c * at).exp() + tokens - 1)
        at = at + rate * slope / slope.norm()
    return c * at


linear_path = descend_noiseless(unequal, 0.1, 400, tokens - 1)[-1]
long_steps = descend_noiseless(unequal, 0.3, 400, tokens - 1)[-1]
paths_apart = (walk_unequal(3, 0.1) / 3 - linear_path).abs().max()

# %%
claim = Claim("in-context-reasoning/remark-a-1-linear")
claim.at_most("slope c at 0: λ minus η t/√|Q|, largest", off_line, 1e-9)
claim.control.above("slope 0 at 0, as in software: smallest λ after the walk", unmoved, 0)
claim.at_most("logits minus those of linear attention at c λ, largest", same, 1e-12)
claim.at_most("loss at λ = 10 over its closed form at c λ, minus 1, largest", losses_at_10, 1e-9)
claim.close("counts 1 and 3, c = 3: c λ minus λ of steps of length c η", walk_unequal(3, 0.1), long_steps, atol=1e-9)
claim.control.at_most("counts 1 and 3, c = 3: λ minus that of c = 1, largest", paths_apart, 1e-9)
claim.control.at_most("not linear on the right: logits minus those of linear attention", unlike, 1e-12)
for name, activation in others.items():
    claim.number(f"{name}: loss at λ = 10", loss_under(activation).mean())
small = Task(6, 1, 2, 6, noisy=True)
claim.certified("no negative score in any noisy sentence of six words", certify_signs(small))
claim.verdict()

# %% [markdown]
# <details><summary>Proof of Appendix A.1, other activations</summary>
#
# All scores of the lemmas are non-negative, so $\sigma(s)=cs$ at each of them, as if $\lambda$ were $c\lambda$. All
# scores except those at $y$ are 0 for every $\lambda$, so these do not change with $\lambda$. The slope in $\lambda_q$
# is $-\frac1{|\mathcal Q|}\mathbb E[C\,\sigma'(\lambda_q)(1-p_y)]$, where $\sigma'=c$ for $\lambda_q>0$ and the slope
# that the gradient takes at 0 for $\lambda_q=0$. Under equal distributions of $C$ all these are equal, and negative if
# that slope is positive. Each normalised step then adds $\eta/\sqrt{|\mathcal Q|}$ to every scale. The loss is that of
# Lemma 3.1 at $c\lambda$, so its exponent is multiplied by $c$. If the slope at 0 is 0, the gradient is 0 and no step
# moves.
#
# In general, let $\Lambda=c\lambda$. For $\lambda>0$ the slope in $\lambda_q$ is $c$ times that of linear attention at
# $\Lambda_q$. The factor drops out of the direction of a step, so $\Lambda$ takes the normalised steps of length
# $c\eta$ of linear attention. The exponent $c\eta m$ is that of [many triggers](many_triggers.ipynb) at the rate
# $c\eta$. $\square$
#
# </details>
#
# With the square, the loss still tends to 0 because the scores grow without bound. The limit in Lemma 3.1 requires only
# that $\sigma(0)=0$ and that $\sigma(\lambda)$ tends to infinity. The bounded activation does not satisfy the second
# condition.
#
# ## What to remember
# - A matrix with one term per trigger looks up the word that followed the trigger, and attention copies this word.
# - The loss is an explicit function of $C\lambda$ and decreases to zero as $\lambda$ grows.
# - The look-up needs codes that do not overlap, and a trigger that is followed only by the output.
#
# ## Exercises
#
# 1. *By hand.* What are the logit and the probability of *seven* in "red door seven door seven lamp door", with $N=12$
#    and $\lambda=1$? For which $\lambda$ does the probability reach one half?
#    <details><summary>Solution</summary>
#
#    There are two votes, so the logit is 2 and the probability is $e^2/(e^2+11)\approx0.40$. The probability reaches
#    one half when $e^{2\lambda}=11$, at $\lambda=\frac12\ln11\approx1.20$.
#
#    </details>
# 2. *Predict, then run.* Set `tokens = 15`. How do the lines in the figure move at large $\lambda$?
#    <details><summary>Solution</summary>
#
#    The loss rises by a factor of $14/11\approx1.27$ and the lines keep their steepness, because the loss is then close
#    to $(N-1)e^{-C\lambda}$. At $\lambda=5$ and $C=1$ it is 0.090 instead of 0.071.
#
#    </details>
#
# Next: [Theorem 3.2](theorem_3_2_rate.ipynb). Training has to find $\lambda$. How fast does it do so?

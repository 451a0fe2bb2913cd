# %% [markdown]
# # Lemma 3.1 · One look-up solves the noiseless task
# *Nguyen, Nguyen-Tang: Lemma 3.1, Section 3.1; Lemma A.1, Appendix A.1.*
#
# <!-- claim in-context-reasoning/lemma-a-1 -->
# <blockquote>
#
# **Lemma A.1 (Only what follows the trigger scores)** *Appendix A.1*
#
# Under the same weights the score of position $h$ in a sentence with trigger $q$ is $x_H^\top Wx_h=\lambda_q\,\mathbb
# 1\{z_{h-1}=q\}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/lemma-3-1 -->
# <blockquote>
#
# **Lemma 3.1 (The noiseless task is solved)** *Section 3.1; Appendix A.1*
#
# With orthonormal codes, $U=[E(1)\dots E(N)]^\top$, $V=I$, $F=0$ and $W=\sum_{k\in\mathcal Q}\lambda_kE(k)\tilde
# E(k)^\top$, $\lambda_k\ge0$, linear and ReLU attention give the logits $\xi_j=\lambda_q\,C\,\mathbb 1\{j=y\}$. The
# loss is $\mathbb E\ln\big(1+(N-1)e^{-C\lambda_q}\big)$ and tends to 0 as all $\lambda_k\to\infty$.
#
# **In the paper's proof.** The sketch has the attention score $\mathbb 1\{z_{h-1}=q\}$. The proof has $e_q$ and
# $\mathbb 1\{j=q\}$ for the word after the trigger.
#
# **Corrected.** The score is $\lambda_q\mathbb 1\{z_{h-1}=q\}$; the word after the trigger is $y$: $e_y$ and $\mathbb
# 1\{j=y\}$.
#
# </blockquote>
# <!-- /claim -->
#
# The matrix $W=\sum_k\lambda_kE(k)\tilde E(k)^\top$ asks: the word I end in, where was it the *previous* word? Every
# position after the trigger scores $\lambda_q$ and every other position scores zero. With $V=I$ the word at such a
# position collects the score as its logit, and in a sentence of the data model that word is $y$, all $C$ times. The
# other $N-1$ words keep logit 0, so the loss is $\ln(1+(N-1)e^{-C\lambda_q})$ and vanishes as $\lambda$ grows.
# Scores are never negative, so ReLU changes nothing.

# %%
import math

import torch

from attention_theory.in_context_reasoning.closed_form import noiseless_loss
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import embedding, random_units
from attention_theory.in_context_reasoning.model import Architecture, Pass, dense_forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, bigram_count, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 12  # N, at least triggers + 5
width = 30  # d, at least 2 * tokens
length = 20  # H, at least 10
triggers = 3  # size of Q, at least 1
count = 500  # sentences, at least 10
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, triggers + 5, None),
    width=(width, 2 * tokens, None),
    length=(length, 10, None),
    triggers=(triggers, 1, None),
    count=(count, 10, None),
    seed=(seed, 0, None),
)
task = Task(tokens, triggers, 2, length)
codes = embedding(tokens, width, "rotated", seed)
copies = torch.randint(1, 4, (count,), generator=generator(seed))
sentences = sample_sentences(task, count, seed, copies)
scales = 1 + torch.rand(triggers, generator=generator(seed + 1), dtype=torch.float64)
linear = Architecture()


def run(at: torch.Tensor, architecture: Architecture = linear, on: Sentences = sentences, using=codes) -> Pass:
    """The transformer of Lemma 3.1 with scales `at`, as printed in Eq. (1)."""
    return dense_forward(on.tokens, using, reparameterised(task, using, at), architecture)


# %% [markdown]
# ## The scores

# %%
at_trigger = torch.zeros(sentences.tokens.shape, dtype=torch.float64)
at_trigger[:, 1:] = (sentences.tokens[:, :-1] == sentences.trigger[:, None]).double()
expected_scores = scales[sentences.trigger][:, None] * at_trigger
expected_logits = torch.zeros(count, tokens, dtype=torch.float64)
expected_logits[torch.arange(count), sentences.output] = scales[sentences.trigger] * copies

score_error = (run(scales).scores - expected_scores).abs().max().item()
logit_error = (run(scales).logits - expected_logits).abs().max().item()
relu_error = (run(scales, Architecture("relu")).logits - expected_logits).abs().max().item()

doubled = sentences.tokens.clone()
doubled[:, -2] = sentences.trigger
breaks = run(scales, on=Sentences(doubled, sentences.trigger, sentences.output))
apart = sentences.tokens[:, -3] != sentences.trigger  # else the trigger would follow itself twice
own_logit = breaks.logits[torch.arange(count), sentences.trigger][apart]
own_error = (own_logit - scales[sentences.trigger][apart]).abs().max()

claim = Claim("in-context-reasoning/lemma-a-1")
claim.check("scores minus λ 1{previous word is q}, largest", score_error, "<=", 1e-12)
claim.check("a trigger at H - 1 has logit λ of its own, off by", own_error, "<=", 1e-12)
claim.control("that trigger's logit is 0, smallest", own_logit.min(), "<=", 1e-12)
claim.number("scores, largest error", score_error)
claim.verdict()

# %% [markdown]
# ## The logits and the loss

# %%
grid = torch.tensor([1.0, 5.0, 10.0, 20.0], dtype=torch.float64)
alike = torch.ones(triggers, dtype=torch.float64)
losses = {
    name: torch.stack([cross_entropy(run(s * alike, architecture).logits, sentences.output).losses for s in grid])
    for name, architecture in (("linear", linear), ("relu", Architecture("relu")))
}
closed = noiseless_loss(grid[:, None], copies, tokens - 1)

claim = Claim("in-context-reasoning/lemma-3-1")
claim.check("linear: logits minus λ C 1{j = y} (Eq. 9), largest", logit_error, "<=", 1e-12, of="proof")
claim.check("ReLU: the same", relu_error, "<=", 1e-12)
for name, values in losses.items():
    claim.check(f"{name}: loss against its closed form, relative", (values / closed - 1).abs().max(), "<=", 1e-12)
means = losses["linear"].mean(dim=1)
claim.check("loss falls at every step of λ", bool((means.diff() < 0).all()), "==", True)
claim.check("loss at λ = 20", means[-1], "<=", 1e-7)
claim.number("logits, largest error", logit_error)

# %% [markdown]
# The lemma is right as it stands. Its proofs have two slips. The sketch has the score $\mathbb 1\{z_{h-1}=q\}$, without
# $\lambda_q$. The proof of the appendix puts the logit at the trigger, $e_q$, where the next line has it at $y$.

# %%
scores = run(scales).scores
slip = (scores - at_trigger).abs().max()
claim.misprint("sketch: scores minus 1{previous word is q}, largest", slip, "<=", 1e-12, of="proof")
at_q = run(scales).logits[torch.arange(count), sentences.trigger]
astray = (at_q - scales[sentences.trigger] * copies).abs().min()
claim.misprint("logit at q minus λ C, smallest", astray, "<=", 1e-12, of="proof")

# %% [markdown]
# Three ways to break it. A negative scale under ReLU leaves no attention at all. An extra bigram $(q,n)$ gives the
# word $n$ the same logit as $y$. Codes in too few dimensions leak from word to word.

# %%
negative = cross_entropy(run(-20 * alike, Architecture("relu")).logits, sentences.output).losses.mean()
claim.check("ReLU at λ = -20: loss is ln N", negative, "==", math.log(tokens), 1e-12)
claim.control("ReLU at λ = -20: loss falls", negative, "<=", 1e-7)
extra = sentences.tokens.clone()
extra[:, 0], extra[:, 1] = sentences.trigger, task.neutral_words.start
free = (sentences.tokens[:, :3] != sentences.trigger[:, None]).all(dim=1)
second = run(20 * alike, on=Sentences(extra, sentences.trigger, sentences.output))
single = free & (bigram_count(extra, sentences.trigger, sentences.output) == 1)
rival = cross_entropy(second.logits, sentences.output).losses[single].mean()
claim.control("a second bigram (q, n), C = 1: loss at λ = 20", rival, "<=", 1e-7)
leaky = run(scales, using=random_units(tokens, 3 * tokens // 2, seed))
claim.control("d = 1.5 N: logits minus λ C 1{j = y}", (leaky.logits - expected_logits).abs().max(), "<=", 1e-12)

# %%
axis_scales = torch.linspace(0, 20, 81, dtype=torch.float64)
fig, axis = show.axes()
for c, marker in zip((1, 2, 3), show.MARKERS, strict=False):
    axis.semilogy(axis_scales, noiseless_loss(axis_scales, torch.tensor(float(c)), tokens - 1), label=f"C = {c}")
    at = losses["linear"][:, copies == c].mean(dim=1)
    axis.semilogy(grid, at, marker, color=axis.get_lines()[-1].get_color())
axis.set(xlabel="λ", ylabel="loss", ylim=(1e-20, 10))
axis.legend()
show.figure(
    fig,
    name="loss",
    caption="Loss of the transformer (markers) on its closed form (lines), by the number C of bigrams (q, y). It "
    "falls like $(N-1)e^{-C\\lambda}$.",
    alt="Three straight falling lines on a logarithmic axis, steeper for larger C, with the markers exactly on them.",
)
claim.verdict()

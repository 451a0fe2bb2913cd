# %% [markdown]
# # Lemma 4.1 · Reasoning in attention, noise in the feed-forward layer
# *Nguyen, Nguyen-Tang: Section 4.1, Lemma 4.1 and Remark 4.2; Lemma B.1, Appendix B.1.*
#
# A sentence ends in a word that occurred before, and the word that followed it there comes next again. Sometimes,
# however, a fixed noise word comes instead, and nobody can know when. The best we can do is to give both words their
# true probabilities. In a one-layer transformer, which part can predict the output, and which part the noise?

# %%
import math
from dataclasses import replace

import torch

from attention_theory.in_context_reasoning.certified.noisy import certify_any_law
from attention_theory.in_context_reasoning.certified.sentences import certify_noisy_logits
from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, odds
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Pass, dense_forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Take the sentence of [Definition 2.1](definition_2_1_sentences.ipynb), and let the next word be $\tau$ with
# probability $\alpha=\frac14$ and *seven* with probability $\frac34$:

# %%
fig, axis = schematic.canvas(7.0, 2.1)
words = ["red", "door", "seven", "green", "door", "τ", "lamp", "door", "?"]
tops = schematic.tokens(axis, words, at=(0.3, 0.9), lit=[2, 8])
schematic.arrow(axis, tops[7], tops[2], "after door: score λ", bend=-0.3)
schematic.arrow(axis, tops[7], tops[5], bend=-0.25, colour=schematic.VERMILION)
schematic.text(axis, (tops[5][0] - 0.9, tops[5][1] + 0.35), "λ − λ = 0", schematic.VERMILION, 9)
for place, role in ((1, "trigger"), (2, "output"), (4, "trigger"), (5, "noise"), (7, "trigger"), (8, "next")):
    schematic.text(axis, (tops[place][0], 0.5), role, schematic.QUIET, 9)
show.figure(
    fig,
    name="sentence",
    caption="From the last word, attention sees the word after an earlier trigger, but not the noise word.",
    alt="Nine boxes: red, door, seven, green, door, tau, lamp, door and a question mark. A blue arrow leads from the "
    "last door to seven, with the score lambda, and an orange arrow to tau, with lambda minus lambda.",
)

# %% [markdown]
# We see the arrow from the final *door* to *seven*, the word after an earlier *door*. A second look-up, with a negative
# sign, keeps attention away from $\tau$. Attention gives *seven* logit $\lambda$. The feed-forward layer gives $\tau$
# logit $\lambda+\gamma$ with $\gamma=\ln\frac{1/4}{3/4}\approx-1.10$. In a vocabulary of 13 words, the other 11 have
# logit 0:
#
# | $\lambda$ | *seven* | $\tau$ | the other 11 words together | loss above the smallest possible loss |
# | --- | --- | --- | --- | --- |
# | 0 | 0.081 | 0.027 | 0.892 | 2.22 |
# | 5 | 0.711 | 0.237 | 0.053 | 0.054 |
# | 10 | 0.7497 | 0.2499 | 0.0004 | 0.00037 |
#
# The number $\gamma$ fixes the ratio $1:3$, and $\lambda$ lifts both words above all others. The smallest possible loss
# is $-\frac14\ln\frac14-\frac34\ln\frac34\approx0.56$.
#
# ## The paper states
# We use the codes $E$ and $\tilde E$ and the matrices of [the model](model_one_layer.ipynb). The trigger is $q$, the
# output is $y$, and $C$ is how often the bigram $(q,y)$ occurs.
#
# By "the same probabilities" the paper means, as we read it, those of the label: $\alpha$ for $\tau$ and $1-\alpha$ for
# $y$. Equal probabilities are best only at $\alpha=\frac12$.
#
# <!-- claim in-context-reasoning/bayes-risk -->
# <blockquote>
#
# **Bayes risk (The smallest loss of the noisy task)** *Section 4.1*
#
# **The paper states.** Fix an output word $y$. The label of a sentence that contains both $(q,\tau)$ and $(q,y)$ is
# either $\tau$ with probability $\alpha$ or $y$ with probability $1-\alpha$. Thus, the Bayes optimal strategy is to
# predict $\tau$ and $y$ with the same probabilities. Its expected loss is equal to the entropy
# $L_{\text{Bayes}}=-\alpha\ln\alpha-(1-\alpha)\ln(1-\alpha)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/lemma-4-1 -->
# <blockquote>
#
# **Lemma 4.1 (The noisy task is solved)** *Section 4.1; Appendix B.1; also Lemma B.1*
#
# **The paper states.** Under Assumption 2.2 and $|\mathcal Q|=1$, by setting $U=[E(1)\dots E(N+1)]^\top$, $V=I_d$,
# $W=\lambda E(q)(\tilde E(q)-E(\tau))^\top$ and $F=E(\tau)(\gamma E(q)+\tilde E(q))^\top$, for both linear and ReLU
# attention, $\lim_{\lambda\to\infty,\,\gamma\to\ln\frac\alpha{1-\alpha}}L(\lambda,\gamma)=L_{\text{Bayes}}$.
#
# <details><summary>Slips (4)</summary>
#
# - The paper sums $C_{q,y}$ up to $H-1$ in Section 2 and up to $H$ in the appendices. The two sums are equal, since
#   $z_H=q\ne y$.
# - The proof takes the limits of the two probabilities "for any bounded $0\le C\le H$". It should be $1\le C\le H$, as
#   in the data model. At $C=0$ the probability of $y$ stays at $1/(\frac1{1-\alpha}+N-1)$.
# - The proof computes $\xi_{F,j}$ for $j\in[N]$. It should be $j\in[N+1]$, because $\tau=N+1$ is the only word with a
#   nonzero logit.
# - On a sentence with $z_{H-1}=q$, which Definition 2.1 allows if read literally, $\tau$ has logit
#   $\gamma(1+\lambda)+1+2\lambda$ at $C=1$, and the excess grows without bound unless $\gamma=-1$. The definition is
#   meant to put its conditions on $z_{1:H}$, which exclude such sentences.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The logits are $\xi_{A,j}=\lambda C\,\mathbb 1\{j=y\}$ and $\xi_{F,j}=(\gamma+\lambda
# C)\,\mathbb 1\{j=\tau\}$, so $L(\lambda,\gamma)=\mathbb E\ln\big(1+e^\gamma+(N-1)e^{-C\lambda}\big)-\alpha\gamma$.
# This is continuous in $(e^{-\lambda},\gamma)$, even at $e^{-\lambda}=0$, so we may take the two limits in any order.
# At $\gamma=\ln\frac\alpha{1-\alpha}$ the loss is $L_{\text{Bayes}}+\mathbb
# E\ln\big(1+(1-\alpha)(N-1)e^{-C\lambda}\big)$. The paper calls the attended sum in the input of $F$ sufficient and
# important. It is not necessary, because $V=I_d+E(\tau)\tilde E(q)^\top$ and $F=\gamma E(\tau)E(q)^\top$ give the same
# logits without it.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/remark-4-2 -->
# <blockquote>
#
# **Remark 4.2 (Any distribution, any noise level)** *Section 4.1*
#
# **The paper states.** Lemma 4.1 is distribution-agnostic in the sense that it holds for any word distribution as long
# as the three conditions of the data model are satisfied. Moreover, our result holds even for $\alpha>0.5$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In $W$, the term $E(q)\tilde E(q)^\top$ is the look-up, and $-E(q)E(\tau)^\top$ cancels the score of every $\tau$ that
# follows a trigger. In $F$, the code $\tilde E(q)$ recognises what attention collected and gives $\tau$ the logit
# $\lambda C$. The term with $E(q)$ adds $\gamma$, because the last word is $q$. Therefore the logits of $\tau$ and $y$
# always differ by $\gamma$. For large $\lambda$ both are far above those of the other words. We did not use the
# distribution of the sentences or $\alpha<\frac12$, only $C\ge1$.
#
# <details><summary>Proof of Lemma 4.1</summary>
#
# The codes are orthonormal and $x_H=E(q)+\tilde E(z_{H-1})$, so $x_H^\top W=\lambda(\tilde E(q)-E(\tau))^\top$. The
# score of position $h$ is $\lambda(\mathbb 1\{z_{h-1}=q\}-\mathbb 1\{z_h=\tau\})$. Each $\tau$ follows a trigger, and
# by (III) every other word after a trigger is $y$. Hence the score is $\lambda$ at the $C$ positions where $y$ follows
# $q$, and 0 elsewhere. No score is negative for $\lambda\ge0$, so ReLU changes nothing.
#
# Attention collects $a=\lambda C(E(y)+\tilde E(q))$, and $U$ gives $\xi_{A,j}=\lambda C\,\mathbb 1\{j=y\}$. As
# $z_{H-1}\ne q$, we have $F(x_H+a)=(\gamma+\lambda C)E(\tau)$. A label is $\tau$ with probability $\alpha$, so the loss
# of a sentence is
#
# $$\ln\big(e^{\lambda C}+e^{\gamma+\lambda C}+N-1\big)-\alpha(\gamma+\lambda C)-(1-\alpha)\lambda C
# =\ln\big(1+e^\gamma+(N-1)e^{-\lambda C}\big)-\alpha\gamma .$$
#
# As $C\ge1$, this tends to $\ln(1+e^\gamma)-\alpha\gamma$ uniformly in $C$ for $\lambda\to\infty$. At
# $\gamma=\ln\frac\alpha{1-\alpha}$ it is $-\ln(1-\alpha)-\alpha\ln\frac\alpha{1-\alpha}=L_{\text{Bayes}}$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
tokens = 13  # N + 1, at least 8
width = 30  # d, at least 2 * tokens
length = 20  # H, at least 14
count = 500  # sentences, at least 100
scale = 1.3  # lambda in the check of the logits, from 0.01 to 20
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 8, None),
    width=(width, 2 * tokens, None),
    length=(length, 14, None),
    count=(count, 100, None),
    scale=(scale, 0.01, 20.0),
    seed=(seed, 0, None),
)
seeds = streams(seed, 6)
task, linear, relu = Task(tokens, 1, 3, length, noisy=True), Architecture(), Architecture("relu")
tau, others, rows = task.noise_token, tokens - 2, torch.arange(count)
codes = embedding(tokens, width, "rotated", seeds[0])
copies = torch.randint(1, 4, (count,), generator=generator(seeds[1]))
noise_copies = torch.randint(0, 4, (count,), generator=generator(seeds[2]))
sentences = sample_sentences(task, count, seeds[3], copies, noise_copies)


def run(at: float, gamma: float, architecture: Architecture = linear, on: Sentences = sentences) -> Pass:
    """The transformer of Lemma 4.1, by Eq. (1)."""
    weights = reparameterised(task, codes, torch.tensor([at], dtype=torch.float64), gamma)
    return dense_forward(on.tokens, codes, weights, architecture)


# %%
scales, alphas = [float(s) for s in range(0, 41, 4)], (0.2, 0.5, 0.8, 0.95)


def excess_at(alpha: float, at: float, gamma: float, architecture: Architecture = linear) -> torch.Tensor:
    """The expected loss above the Bayes risk."""
    loss = expected_loss(run(at, gamma, architecture).logits, sentences.output, tau, alpha).mean()
    return loss - bayes_risk(alpha)


excess = {alpha: torch.stack([excess_at(alpha, s, odds(alpha)) for s in scales]) for alpha in alphas}
closed = {
    alpha: torch.stack([torch.log1p((1 - alpha) * others * torch.exp(-s * copies.double())).mean() for s in scales])
    for alpha in alphas
}

# %%
fig, axis = show.axes()
for alpha, marker in zip(alphas, show.MARKERS, strict=False):
    axis.semilogy(scales, excess[alpha].clamp_min(1e-17), marker + "-", label=f"α = {alpha}")
axis.set(xlabel="λ", ylabel="loss above the Bayes risk", ylim=(1e-17, 10))
axis.legend()
show.figure(
    fig,
    name="excess",
    caption="At every noise level, the transformer's loss above the Bayes risk falls exponentially in λ, until "
    "rounding errors dominate. Values below 10⁻¹⁷ are drawn at the lower edge.",
    alt="Four nearly parallel straight lines falling on a logarithmic axis from about 1 to 1e-16.",
)

# %% [markdown]
# We see four nearly parallel lines: the excess over the Bayes risk falls exponentially in $\lambda$, until rounding
# stops it near $10^{-16}$.
#
# ## How we checked
# We compare the logits of both layers and the loss with their closed forms. As controls, we break the construction in
# five ways. For example, we hide from the feed-forward layer what attention collected, or remove $(q,y)$ from the
# sentence. With a different $V$, even a feed-forward layer that does not see what attention collected can give the same
# logits.

# %%
gamma = odds(0.3)
done = run(scale, gamma)
at_y = torch.zeros(count, tokens, dtype=torch.float64)
at_y[rows, sentences.output] = scale * copies.double()
at_noise = torch.zeros_like(at_y)
at_noise[:, tau] = gamma + scale * copies.double()
score = torch.zeros(sentences.tokens.shape, dtype=torch.float64)
follows = (sentences.tokens[:, :-1] == 0) & (sentences.tokens[:, 1:] == sentences.output[:, None])
score[:, 1:] = scale * follows.double()

equations = {
    "scores, (23)": (done.scores - score).abs().max(),
    "ξ_A, (24)": (done.attention - at_y).abs().max(),
    "ξ_F, (25)": (done.feed_forward - at_noise).abs().max(),
    "ξ, (19)": (done.logits - at_y - at_noise).abs().max(),
}
by_relu = (run(scale, gamma, relu).logits - at_y - at_noise).abs().max()

# %%
lone = sentences.tokens.clone()
free = (lone[:, 1:4] >= task.neutral_words.start).all(dim=1) & (lone[:, 1:4] != tau).all(dim=1) & (lone[:, 0] != 0)
lone[:, 2] = tau
stray = Sentences(lone[free], sentences.trigger[free], sentences.output[free])
stray_logits = {kind: run(scale, gamma, Architecture(kind), stray).attention[:, tau] for kind in ("linear", "relu")}

without = sentences.tokens.clone()
without[:, 1:][follows] = tau
missing = Sentences(without, sentences.trigger, sentences.output)
p_y = run(60.0, odds(0.2), on=missing).logits.softmax(dim=1)[rows, sentences.output]
p_y_gap = (p_y - 1 / (1 / 0.8 + others)).abs().max()

wrong_gamma = excess_at(0.8, 30.0, 0.0)
without_sum = excess_at(0.2, 30.0, odds(0.2), Architecture(full_input=0.0))

# %%
built = reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma)
by_value = replace(
    built,
    value=built.value + torch.outer(codes.word[tau], codes.previous[0]),
    feed_forward=gamma * torch.outer(codes.word[tau], codes.word[0]),
)
narrow = dense_forward(sentences.tokens, codes, by_value, Architecture(full_input=0.0)).logits
as_lemma = (narrow - run(scale, gamma).logits).abs().max()
off = {f"α = {alpha}": (excess[alpha] - closed[alpha]).abs().max() for alpha in alphas}
small = Task(6, 1, 2, 6, noisy=True)

# %%
doubled = sentences.tokens.clone()
doubled[:, -2] = sentences.trigger
apart = (sentences.tokens[:, -3] != sentences.trigger) & (copies == 1)
itself = Sentences(doubled[apart], sentences.trigger[apart], sentences.output[apart])
twice = {at: run(at, gamma, on=itself).logits for at in (1.0, 10.0, 40.0)}
tau_logit = {at: (logits[:, tau] - (gamma * (1 + at) + 1 + 2 * at)).abs().max() for at, logits in twice.items()}
beyond_bayes = {
    at: expected_loss(logits, itself.output, tau, 0.3).mean() - bayes_risk(0.3) for at, logits in twice.items()
}
near = [(at, g) for at in (2.0, 8.0, 32.0) for g in (gamma - 1, gamma - 0.1, gamma + 0.1)]
joint = {
    f"λ = {at}, γ = {g:.3f}": excess_at(0.3, at, g)
    + bayes_risk(0.3)
    - (torch.log1p(math.exp(g) + others * torch.exp(-at * copies.double())).mean() - 0.3 * g)
    for at, g in near
}

# %%
claim = Claim("in-context-reasoning/lemma-4-1")
claim.at_most("equations of the proof, largest error", equations, 1e-12, of="proof")
claim.at_most("ReLU: ξ against (19), largest error", by_relu, 1e-12)
claim.at_most("excess against its closed form, largest error", off, 1e-12)
claim.at_most("excess at λ = 40, largest", {f"α = {a}": excess[a][-1].abs() for a in alphas}, 1e-12)
claim.at_most("loss at other γ against its closed form", {at: error.abs() for at, error in joint.items()}, 1e-12)
claim.at_most("the trigger at H - 1, C = 1: logit of τ, largest error", tau_logit, 1e-12)
claim.control.at_most("the trigger at H - 1, C = 1: excess at λ = 40", beyond_bayes[40.0], beyond_bayes[10.0])
claim.equal("γ = 0 at α = 0.8 leaves KL(.8||.5)", wrong_gamma, bernoulli_kl(0.8, 0.5), tolerance=1e-10)
claim.control.at_most("γ = 0 at α = 0.8: excess at λ = 30", wrong_gamma, 1e-3)
claim.control.at_most("κ = 0 at α = 0.2: excess at λ = 30", without_sum, 1e-3)
claim.at_most("κ = 0 with another V: logits minus those of the lemma", as_lemma, 1e-12)
claim.control.equal("τ after another word: its ξ_A is 0", stray_logits["linear"].max(), 0, tolerance=1e-12)
claim.equal("τ after another word, ReLU: its ξ_A", stray_logits["relu"].abs().max(), 0, tolerance=1e-12)
claim.at_most("C = 0, α = 0.2: probability of y, error", p_y_gap, 1e-12, of="proof")
claim.misprint.equal(
    "C = 0, as the proof has it: probability of y at λ = 60", p_y.min(), 0.8, tolerance=1e-3, of="proof"
)
claim.certified("the logits of every sentence of six words; the excess", certify_noisy_logits(small))
claim.verdict()

# %% [markdown]
# To find the smallest possible loss, we minimise over all logits by L-BFGS. As a control, a prediction that does not
# know $y$ must not reach it.


# %%
def least_loss(weights: torch.Tensor) -> tuple[float, torch.Tensor]:
    """The least expected loss, and the prediction that has it, for a label with the given law over all words."""
    logits = torch.randn(tokens, generator=generator(seeds[4]), dtype=torch.float64).requires_grad_()
    search = torch.optim.LBFGS(
        [logits], max_iter=500, tolerance_grad=1e-13, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = logits.logsumexp(dim=0) - weights @ logits
        value.backward()
        return value

    search.step(loss)
    return loss().item(), logits.detach().softmax(dim=0)


# %%


def law(alpha: float, words: list[int]) -> torch.Tensor:
    """The law of a label that is τ with probability α and else one of some words."""
    chances = torch.zeros(tokens, dtype=torch.float64)
    chances[words] = (1 - alpha) / len(words)
    chances[tau] = alpha
    return chances


y, levels = task.output_words.start, (0.2, 0.5, 0.8)
known = {alpha: least_loss(law(alpha, [y])) for alpha in levels}
unknown = {f"α = {alpha}": least_loss(law(alpha, list(task.output_words)))[0] for alpha in levels}
excess_of_guess = torch.tensor(2.0, dtype=torch.float64).log() - bayes_risk(0.8)

# %%
claim = Claim("in-context-reasoning/bayes-risk")
for alpha, (least, best) in known.items():
    claim.equal(f"α = {alpha}: least loss", least, bayes_risk(alpha), tolerance=1e-10)
    gap = (best - law(alpha, [y])).abs().max()
    claim.at_most(f"α = {alpha}: best prediction minus the label's law, largest", gap, 1e-6, of="proof")
bars = {f"α = {alpha}": bayes_risk(alpha) + 1e-3 for alpha in levels}
claim.control.at_most("y unknown: least loss", unknown, bars)
claim.equal("α = 0.8: an even guess exceeds it by KL(.8||.5)", excess_of_guess, bernoulli_kl(0.8, 0.5), tolerance=1e-12)
claim.control.at_most("α = 0.8, τ and y with equal probabilities: excess", excess_of_guess, 1e-3)
claim.verdict()

# %% [markdown]
# For Remark 4.2, we vary the counts and the noise level. The control is a sentence without $(q,y)$.

# %%
constant = sample_sentences(task, count, seeds[5], copies=1, noise_copies=1)
laws = {"random counts": sentences, "one bigram each": constant, "no bigram (q, y)": missing}
gaps = {}
for alpha in (0.2, 0.6, 0.95):
    for name, which in laws.items():
        loss = expected_loss(run(60.0, odds(alpha), on=which).logits, which.output, tau, alpha).mean()
        gaps[f"{name}, α = {alpha}"] = abs(loss - bayes_risk(alpha))

claim = Claim("in-context-reasoning/remark-4-2")
inside = {name: gap for name, gap in gaps.items() if not name.startswith("no bigram")}
outside = {name: gap for name, gap in gaps.items() if name not in inside}
claim.at_most("loss at λ = 60 minus the Bayes risk, largest", inside, 1e-10)
claim.control.at_most("no bigram (q, y): the same", outside, 1e-10)
claim.certified("excess at most (N-1) exp(-λ), for all α and C", certify_any_law())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# For a small task, we check the construction on every sentence. A solver proves for all $\alpha$, $C$, $\lambda$ and
# $N$ that the excess is at most $(N-1)e^{-\lambda}$. The five controls are a wrong $\gamma$; $\kappa=0$, where the
# feed-forward layer sees only the last input; a $\tau$ after another word, which linear attention gives a negative
# score; the trigger at $H-1$, where it follows itself; and $C=0$, where the limit in the paper's proof is false.
#
# </details>
#
# ## What to remember
# - Attention predicts the output, the feed-forward layer predicts the noise word, and their logits differ by $\gamma$.
# - As $\lambda$ grows, both logits rise above those of the other words, and the loss tends to the Bayes risk.
# - In this construction, the logit of $\tau$ keeps up with that of $y$ because the feed-forward layer sees what
#   attention collected.
#
# ## Exercises
#
# 1. *By hand.* Let $\alpha=\frac12$, $N=12$ and $C=1$. How large must $\lambda$ be so that the other words together
#    have a probability of at most $0.01$?
#    <details><summary>Solution</summary>
#
#    Here $\gamma=0$, so $y$ and $\tau$ have logit $\lambda$, and the other words together have probability
#    $11/(2e^\lambda+11)$. This is at most $0.01$ when $e^\lambda\ge 99\cdot11/2=544.5$, so $\lambda\ge6.30$.
#
#    </details>
# 2. *Predict, then run.* Set `tokens = 15`. How does the figure change?
#    <details><summary>Solution</summary>
#
#    At large $\lambda$ the excess is about $(1-\alpha)(N-1)\,\mathbb E\,e^{-C\lambda}$. It grows by a factor of
#    $13/11\approx1.18$, so the lines move up a little and keep their steepness.
#
#    </details>
#
# Next: [joint descent](joint_descent.ipynb). Training has to find these numbers. How fast does it do so?

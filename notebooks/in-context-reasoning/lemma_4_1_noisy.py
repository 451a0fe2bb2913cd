# %% [markdown]
# # Lemma 4.1 · Reasoning in attention, noise in the feed-forward layer
# *Nguyen, Nguyen-Tang: Section 4.1, Lemma 4.1 and Remark 4.2; Lemma B.1, Appendix B.1.*
#
# A sentence ends in a word that occurred before, and the word that followed it there comes next again. Sometimes,
# however, a fixed noise word comes instead, and nobody can know when. The best that a model can do is to give both
# words their true probabilities. Which part of a transformer with one layer can know the output, and which part the
# noise?

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
# Read this sentence and guess the next word:
#
# > red **door** *seven* green **door** $\tau$ lamp **door** → ?
#
# The last word, *door*, is the *trigger* $q$. The *output* $y$ is *seven*. The noise word is $\tau$, which follows the
# trigger once here. Let the next word be $\tau$ with probability $\alpha=\frac14$, and *seven* with probability
# $\frac34$.

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
    caption="What attention sees from the last word: the word after the earlier trigger, but not the noise word.",
    alt="Nine boxes: red, door, seven, green, door, tau, lamp, door and a question mark. A blue arrow leads from the "
    "last door to seven, with the score lambda, and an orange arrow to tau, with lambda minus lambda.",
)

# %% [markdown]
# We see that attention finds *seven* and is kept away from $\tau$. It gives *seven* the logit $\lambda$, and the
# feed-forward layer gives $\tau$ the logit $\lambda+\gamma$ with $\gamma=\ln\frac{1/4}{3/4}\approx-1.10$. The other 11
# of 13 words keep the logit 0. A softmax turns logits into probabilities:
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
# ### The letters
# A sentence has $H$ words $z_1,\dots,z_H$ (so $H$ is a length, not an entropy), and the last word is a trigger from the
# set $\mathcal Q$. The *label* is the next word. There are $N$ ordinary words, and $\tau$ is word number $N+1$. We
# write $C$ for the number of times that the output follows the trigger in the sentence, the bigram $(q,y)$. Each word
# $v$ has two codes: $E(v)$ says that the word is $v$, and $\tilde E(v)$ that the word before it is $v$. All codes are
# orthonormal, and position $h$ enters as $x_h=E(z_h)+\tilde E(z_{h-1})$.
#
# Attention gives position $h$ the score $x_H^\top Wx_h$ and collects the sum of the $x_h$ with these weights. The
# matrix $V$ and the codes $U$ of all words turn this sum into logits $\xi_A$, one per word. A feed-forward matrix $F$
# adds logits $\xi_F$. It sees $x_H$ and, if $\kappa=1$, also what attention collected. We write $\mathbb 1\{\cdot\}$
# for 1 where the condition holds and 0 elsewhere.
#
# In $W$ the term $-E(q)E(\tau)^\top$ cancels the score of every $\tau$ that follows a trigger. In $F$ the code
# $\tilde E(q)$ recognises what attention collected and gives $\tau$ the logit $\lambda C$, and $E(q)$ adds $\gamma$
# because the last word is $q$. Therefore $\tau$ is always $\gamma=\ln\frac{\alpha}{1-\alpha}$ above $y$, and for large
# $\lambda$ both are far above the other words.

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
    """The transformer of Lemma 4.1, as printed in Eq. (1)."""
    weights = reparameterised(task, codes, torch.tensor([at], dtype=torch.float64), gamma)
    return dense_forward(on.tokens, codes, weights, architecture)


# %% [markdown]
# ## The best one can do
# <!-- claim in-context-reasoning/bayes-risk -->
# <blockquote>
#
# **Bayes risk (The least loss of the noisy task)** *Section 4.1*
#
# The least expected loss is $L_{\text{Bayes}}=-\alpha\ln\alpha-(1-\alpha)\ln(1-\alpha)$, reached by predicting $\tau$
# with probability $\alpha$ and $y$ with probability $1-\alpha$: the same probabilities as the label's.
#
# </blockquote>
# <!-- /claim -->
#
# The expected loss of a prediction is minimised over the logits of all words by L-BFGS, from random logits. It must end
# at the entropy of the label, with $\tau$ at $\alpha$ and $y$ at $1-\alpha$, and with nothing left for other words. A
# prediction that does not know $y$, but only the three outputs it may be, cannot come down to it. (The text has the
# best strategy "predict $\tau$ and $y$ with the same probabilities": the same as the label's, and not the same as each
# other, which is best at $\alpha=1/2$ only.)


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


# %% [markdown]
# Three noise levels, with $y$ known and unknown.

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

# %% [markdown]
# That the best prediction is the label's own law is the paper's argument; that its loss is the entropy is the
# statement.

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
# ## The construction
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
# - The paper sums $C_{q,y}$ to $H-1$ in Section 2 and to $H$ in the appendices. Both are equal, since $z_H=q\ne y$.
# - The proof takes the limits of the two probabilities "for any bounded $0\le C\le H$". It should be $1\le C\le H$, as
#   the data model has it. At $C=0$ the probability of $y$ stays at $1/(\frac1{1-\alpha}+N-1)$.
# - The proof computes $\xi_{F,j}$ for $j\in[N]$. It should be $j\in[N+1]$, of which $\tau=N+1$ is the one that counts.
# - On a sentence with $z_{H-1}=q$, which the letter of Definition 2.1 allows, $\tau$ has the logit
#   $\gamma(1+\lambda)+1+2\lambda$ at $C=1$, and the excess grows without bound unless $\gamma=-1$. The definition means
#   conditions on $z_{1:H}$, which exclude it.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The logits are $\xi_{A,j}=\lambda C\,\mathbb 1\{j=y\}$ and $\xi_{F,j}=(\gamma+\lambda
# C)\,\mathbb 1\{j=\tau\}$, so $L(\lambda,\gamma)=\mathbb E\ln\big(1+e^\gamma+(N-1)e^{-C\lambda}\big)-\alpha\gamma$.
# This is continuous in $(e^{-\lambda},\gamma)$, also at $e^{-\lambda}=0$, so the two limits may be taken in any order.
# At $\gamma=\ln\frac\alpha{1-\alpha}$ the loss is $L_{\text{Bayes}}+\mathbb
# E\ln\big(1+(1-\alpha)(N-1)e^{-C\lambda}\big)$. The paper calls the attended sum in the input of $F$ sufficient and
# important. It is not necessary: $V=I_d+E(\tau)\tilde E(q)^\top$ and $F=\gamma E(\tau)E(q)^\top$ give the same logits
# without it.
#
# </blockquote>
# <!-- /claim -->
#
# The logits of both layers are compared with the lemma's at $\lambda$ as in the parameters and $\alpha=0.3$. Then comes
# the loss: at $\gamma=\ln\frac\alpha{1-\alpha}$ what is left above the Bayes risk is $\mathbb
# E\ln\big(1+(1-\alpha)(N-1)e^{-C\lambda}\big)$.

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

# %% [markdown]
# The excess is computed from the transformer's logits and from the closed form.

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

# %% [markdown]
# On a logarithmic axis the excess falls along straight lines, until rounding stops it.

# %%
fig, axis = show.axes()
for alpha, marker in zip(alphas, show.MARKERS, strict=False):
    axis.semilogy(scales, excess[alpha].clamp_min(1e-17), marker + "-", label=f"α = {alpha}")
axis.set(xlabel="λ", ylabel="loss above the Bayes risk", ylim=(1e-17, 10))
axis.legend()
show.figure(
    fig,
    name="excess",
    caption="The transformer's loss above the Bayes risk falls geometrically in λ at every noise level, down to "
    "rounding. (At λ = 36 and 40 what is left is rounding; a value below 10⁻¹⁷ is drawn at the lower edge.)",
    alt="Four nearly parallel straight lines falling on a logarithmic axis from about 1 to 1e-16.",
)

# %% [markdown]
# Five things break it: a wrong $\gamma$; a feed-forward layer that does not see what attention collected ($\kappa=0$);
# a $\tau$ after another word, which linear attention gives a negative score, and ReLU none; the trigger in the place
# before the last, where it follows itself; and a sentence without the bigram $(q,y)$. The last one is where the proof
# has a slip: it takes the limits of the probabilities for all $0\le C\le H$, and at $C=0$ the first of them does not
# move with $\lambda$.

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
built, gamma = reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), odds(0.2)), odds(0.2)
by_value = replace(
    built,
    value=built.value + torch.outer(codes.word[tau], codes.previous[0]),
    feed_forward=gamma * torch.outer(codes.word[tau], codes.word[0]),
)
narrow = dense_forward(sentences.tokens, codes, by_value, Architecture(full_input=0.0)).logits
as_lemma = (narrow - run(scale, gamma).logits).abs().max()
off = {f"α = {alpha}": (excess[alpha] - closed[alpha]).abs().max() for alpha in alphas}
small = Task(6, 1, 2, 6, noisy=True)

# %% [markdown]
# The trigger at $H-1$ is what the letter of Definition 2.1 allows. At $C=1$, $\tau$ then has the logit
# $\gamma(1+\lambda)+1+2\lambda$, and $y$ has $\lambda$. We also compute the loss at other $\gamma$, for the lemma takes
# a limit in both numbers.

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

# %% [markdown]
# The equations of the proof count as parts of the proof, the loss as the statement. In a small task every sentence is
# run, and a solver proves for all $\alpha$, $C$, $\lambda$ and $N$ that the excess is at most $(N-1)e^{-\lambda}$.

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
# ## Any law of the sentences, any noise level
# <!-- claim in-context-reasoning/remark-4-2 -->
# <blockquote>
#
# **Remark 4.2 (Any law, any noise level)** *Section 4.1*
#
# Lemma 4.1 holds whatever the law of the sentences, as long as the conditions of the data model do, and for
# $\alpha>1/2$ too.
#
# </blockquote>
# <!-- /claim -->
#
# Nothing above used how often the bigrams occur, nor $\alpha<1/2$. Only $C\ge1$ was used, and a sentence without
# $(q,y)$ is the control.

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
# ## What was learned
# Two numbers are enough: $\lambda$ lifts $y$ and $\tau$ out of the other words, and $\gamma$ sets the odds between
# them. The lemma is right for every law of the sentences and every noise level; its proof has slips, of which the case
# $C=0$ is the only one that would matter. The feed-forward layer has to see what attention collected, or $\tau$ cannot
# keep up with $y$.
#
# ## To try
# - Set `scale = 20.0`: the errors of the equations grow with the logits, to the last digits of numbers of that size.
# - Set `tokens = 15`: the lines of the picture start a little higher and keep their slopes.

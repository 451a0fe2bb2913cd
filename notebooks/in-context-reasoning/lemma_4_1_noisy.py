# %% [markdown]
# # Lemma 4.1 · Reasoning in attention, noise in the feed-forward layer
# *Nguyen, Nguyen-Tang: Section 4.1, Lemma 4.1 and Remark 4.2; Lemma B.1, Appendix B.1.*
#
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
# <!-- claim in-context-reasoning/lemma-4-1 -->
# <blockquote>
#
# **Lemma 4.1 (The noisy task is solved)** *Section 4.1; Appendix B.1; also Lemma B.1*
#
# With $|\mathcal Q|=1$, $U=[E(1)\dots E(N+1)]^\top$, $V=I$, $W=\lambda\,E(q)(\tilde E(q)-E(\tau))^\top$,
# $F=E(\tau)(\gamma E(q)+\tilde E(q))^\top$ and $\kappa=1$, linear and ReLU attention give $\xi_{A,j}=\lambda C\,\mathbb
# 1\{j=y\}$ and $\xi_{F,j}=(\gamma+\lambda C)\,\mathbb 1\{j=\tau\}$. At $\gamma=\ln\frac\alpha{1-\alpha}$ the loss is
# $L_{\text{Bayes}}+\mathbb E\ln\big(1+(1-\alpha)(N-1)e^{-C\lambda}\big)$ and tends to the Bayes risk as
# $\lambda\to\infty$.
#
# **In the paper's proof.** The proof takes the limits of the two probabilities "for any bounded $0\le C\le H$", and
# computes $\xi_{F,j}$ for $j\in[N]$.
#
# **Corrected.** $1\le C\le H$, as the data model has it: at $C=0$ the probability of $y$ stays at
# $1/(\frac1{1-\alpha}+N-1)$. $j\in[N+1]$, of which $\tau=N+1$ is the one that counts.
#
# </blockquote>
# <!-- /claim -->
#
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
# With noisy labels the best prediction is $y$ with probability $1-\alpha$ and $\tau$ with probability $\alpha$, and
# its loss is the entropy of the label. The construction gets there in two moves. In $W$ the term $-E(q)E(\tau)^\top$
# cancels the score of every $\tau$, so attention sees $y$ alone. The feed-forward layer recognises $\tilde E(q)$ in
# what attention collected and gives $\tau$ the same logit $\lambda C$, plus $\gamma$ because the last word is $q$. So
# $\tau$ always stands $\gamma=\ln\frac{\alpha}{1-\alpha}$ above $y$, while both rise out of the other words.

# %%
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, odds
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Pass, dense_forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 13  # N + 1, at least 8
width = 30  # d, at least 2 * tokens
length = 20  # H, at least 14
count = 500  # sentences, at least 10
scale = 1.3  # lambda in the check of the logits, from 0.01 to 20
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 8, None),
    width=(width, 2 * tokens, None),
    length=(length, 14, None),
    count=(count, 10, None),
    scale=(scale, 0.01, 20.0),
    seed=(seed, 0, None),
)
task = Task(tokens, 1, 3, length, noisy=True)
tau, others = task.noise_token, tokens - 2
codes = embedding(tokens, width, "rotated", seed)
copies = torch.randint(1, 4, (count,), generator=generator(seed))
noise_copies = torch.randint(0, 4, (count,), generator=generator(seed + 1))
sentences = sample_sentences(task, count, seed, copies, noise_copies)
linear = Architecture()


def run(at: float, gamma: float, architecture: Architecture = linear, on: Sentences = sentences) -> Pass:
    """The transformer of Lemma 4.1, as printed in Eq. (1)."""
    return dense_forward(
        on.tokens, codes, reparameterised(task, codes, torch.tensor([at], dtype=torch.float64), gamma), architecture
    )


# %% [markdown]
# ## The best one can do
# The expected loss of a prediction, minimised over the logits of all words by L-BFGS, from random logits. It ends at
# the entropy of the label, with $\tau$ at $\alpha$ and $y$ at $1-\alpha$, and with nothing left for other words. A
# prediction that does not know $y$, but only the three outputs it may be, cannot come down to it. The text has the
# best strategy "predict $\tau$ and $y$ with the same probabilities": the same as the label's, and not the same as each
# other, which is best at $\alpha=1/2$ only.


# %%
def least_loss(weights: torch.Tensor) -> tuple[float, torch.Tensor]:
    """The least expected loss, and the prediction that has it, for a label with the given law over all words."""
    logits = torch.randn(tokens, generator=generator(seed + 3), dtype=torch.float64).requires_grad_()
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


claim = Claim("in-context-reasoning/bayes-risk")
y = task.output_words.start
for alpha in (0.2, 0.5, 0.8):
    label = torch.zeros(tokens, dtype=torch.float64)
    label[y], label[tau] = 1 - alpha, alpha
    least, best = least_loss(label)
    claim.check(f"α = {alpha}: least loss", least, "==", bayes_risk(alpha), 1e-10)
    claim.check(f"α = {alpha}: best prediction minus the label's law, largest", (best - label).abs().max(), "<=", 1e-6)
    claim.number(f"α = {alpha}: Bayes risk", bayes_risk(alpha))
    blind = torch.zeros(tokens, dtype=torch.float64)
    blind[list(task.output_words)] = (1 - alpha) / 3
    blind[tau] = alpha
    claim.control(f"α = {alpha}, y unknown: least loss", least_loss(blind)[0], "<=", bayes_risk(alpha) + 1e-3)
guess = torch.tensor(2.0, dtype=torch.float64).log()
excess_of_guess = guess - bayes_risk(0.8)
claim.check("α = 0.8: an even guess exceeds it by KL(.8||.5)", excess_of_guess, "==", bernoulli_kl(0.8, 0.5), 1e-12)
claim.control("α = 0.8, τ and y with equal probabilities: excess", excess_of_guess, "<=", 1e-3)
claim.verdict()

# %% [markdown]
# ## The logits

# %%
gamma = odds(0.3)
done = run(scale, gamma)
at_y = torch.zeros(count, tokens, dtype=torch.float64)
at_y[torch.arange(count), sentences.output] = scale * copies.double()
at_noise = torch.zeros_like(at_y)
at_noise[:, tau] = gamma + scale * copies.double()
score = torch.zeros(sentences.tokens.shape, dtype=torch.float64)
score[:, 1:] = (
    scale * ((sentences.tokens[:, :-1] == 0) & (sentences.tokens[:, 1:] == sentences.output[:, None])).double()
)

claim = Claim("in-context-reasoning/lemma-4-1")
for name, ours, theirs in (
    ("scores against (23)", done.scores, score),
    ("ξ_A against (24)", done.attention, at_y),
    ("ξ_F against (25)", done.feed_forward, at_noise),
    ("ξ against (19)", done.logits, at_y + at_noise),
):
    claim.check(f"{name}, largest error", (ours - theirs).abs().max(), "<=", 1e-12, of="proof")
claim.check(
    "ReLU: ξ against (19)", (run(scale, gamma, Architecture("relu")).logits - at_y - at_noise).abs().max(), "<=", 1e-12
)

# %% [markdown]
# ## The loss
# At $\gamma=\ln\frac\alpha{1-\alpha}$ what is left above the Bayes risk is $\mathbb
# E\ln\big(1+(1-\alpha)(N-1)e^{-C\lambda}\big)$.

# %%
scales = [float(s) for s in range(0, 41, 4)]
alphas = (0.2, 0.5, 0.8, 0.95)
excess = {}
for alpha in alphas:
    losses = torch.stack(
        [expected_loss(run(s, odds(alpha)).logits, sentences.output, tau, alpha).mean() for s in scales]
    )
    closed = torch.stack([torch.log1p((1 - alpha) * others * torch.exp(-s * copies.double())).mean() for s in scales])
    excess[alpha] = losses - bayes_risk(alpha)
    claim.check(f"α = {alpha}: excess against its closed form", (excess[alpha] - closed).abs().max(), "<=", 1e-12)
    claim.check(f"α = {alpha}: excess at λ = 40", excess[alpha][-1].abs(), "<=", 1e-12)


def excess_at(alpha: float, gamma: float, architecture: Architecture = linear) -> float:
    """What is left above the Bayes risk at λ = 30."""
    loss = expected_loss(run(30.0, gamma, architecture).logits, sentences.output, tau, alpha).mean()
    return loss.item() - bayes_risk(alpha)


claim.check("γ = 0 at α = 0.8 leaves KL(.8||.5)", excess_at(0.8, 0.0), "==", bernoulli_kl(0.8, 0.5), 1e-10)
claim.control("γ = 0 at α = 0.8: excess at λ = 30", excess_at(0.8, 0.0), "<=", 1e-3)
claim.control("κ = 0 at α = 0.2: excess at λ = 30", excess_at(0.2, odds(0.2), Architecture(full_input=0.0)), "<=", 1e-3)
lone = sentences.tokens.clone()
free = (lone[:, 1:4] >= task.neutral_words.start).all(dim=1) & (lone[:, 1:4] != tau).all(dim=1) & (lone[:, 0] != 0)
lone[:, 2] = tau
stray = Sentences(lone[free], sentences.trigger[free], sentences.output[free])
claim.control("τ after another word: its ξ_A is 0", run(scale, gamma, on=stray).attention[:, tau].max(), "==", 0, 1e-12)
relu_stray = run(scale, gamma, Architecture("relu"), on=stray).attention[:, tau].abs().max()
claim.check("τ after another word, ReLU: its ξ_A", relu_stray, "==", 0, 1e-12)

# %% [markdown]
# The proof takes the limits of the probabilities for all $0\le C\le H$, a slip for $1\le C$, which the data model has.
# At $C=0$ the first of them does not move with $\lambda$.

# %%
without = sentences.tokens.clone()
follows = (without[:, :-1] == 0) & (without[:, 1:] == sentences.output[:, None])
without[:, 1:][follows] = tau
missing = Sentences(without, sentences.trigger, sentences.output)
p_y = run(60.0, odds(0.2), on=missing).logits.softmax(dim=1)[torch.arange(count), sentences.output]
gap = (p_y - 1 / (1 / 0.8 + others)).abs().max()
claim.check("C = 0, α = 0.2: probability of y, largest error", gap, "<=", 1e-12, of="proof")
claim.misprint("C = 0, as the proof has it: probability of y at λ = 60", p_y.min(), "==", 0.8, 1e-3, of="proof")

fig, axis = show.axes()
for alpha, marker in zip(alphas, show.MARKERS, strict=False):
    axis.semilogy(scales, excess[alpha].clamp_min(1e-17), marker + "-", label=f"α = {alpha}")
axis.set(xlabel="λ", ylabel="loss above the Bayes risk", ylim=(1e-17, 10))
axis.legend()
show.figure(
    fig,
    name="excess",
    caption="The transformer's loss above the Bayes risk falls geometrically in λ at every noise level, down to "
    "rounding.",
    alt="Four nearly parallel straight lines falling on a logarithmic axis from about 1 to 1e-16.",
)
claim.verdict()

# %% [markdown]
# ## Any law of the sentences, any noise level
# Nothing above used how often the bigrams occur, nor $\alpha<1/2$. A sentence without $(q,y)$ is another matter.

# %%
claim = Claim("in-context-reasoning/remark-4-2")
constant = sample_sentences(task, count, seed + 5, copies=1, noise_copies=1)
for alpha in (0.2, 0.6, 0.95):
    for name, which in (("random counts", sentences), ("one bigram each", constant)):
        loss = expected_loss(run(60.0, odds(alpha), on=which).logits, which.output, tau, alpha).mean()
        claim.check(f"α = {alpha}, {name}: loss at λ = 60", loss, "==", bayes_risk(alpha), 1e-10)
loss = expected_loss(run(60.0, odds(0.2), on=missing).logits, missing.output, tau, 0.2).mean()
claim.control("no bigram (q, y): loss at λ = 60, α = 0.2", loss, "==", bayes_risk(0.2), 1e-10)
claim.verdict()

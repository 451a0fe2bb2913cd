# %% [markdown]
# # Algorithm 1 · Count the noise, then walk at constant speed
# *Nguyen, Nguyen-Tang: Algorithm 1 and Appendix B.2.1; Section 4.2.*
#
# A model for the noisy task must learn how strongly to vote for the looked-up word, and how often noise occurs. The
# paper's algorithm counts the noise and trains only the first number. Does this work, and are the estimates unbiased?
#
# ## A tiny example
#
# In *red door seven lamp door*, the model looks up *seven*, the word after the earlier *door*, with strength $\lambda$.
# Suppose that of ten training labels two are the noise word $\tau$. Then $\hat\alpha=0.2$ and
# $\hat\gamma=\ln\frac28\approx-1.39$. We train $\lambda$ with steps of length 0.1. After 100 steps $\lambda=10$,
# whatever the sentences are.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/algorithm-1 -->
# <blockquote>
#
# **Algorithm 1 (Training with an unknown noise level)** *Section 4.2; Appendix B.2*
#
# **The paper states.** Compute $\hat\alpha=\frac{M_\tau}M$ and $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$.
# Initialize $\lambda_0=0$. For each round $t=1,\dots$ compute $L_{\text{emp}}=\frac1M\big(\sum_m-C^{(m)}\lambda+
# \ln\big(\frac{\exp(C^{(m)}\lambda)}{1-\hat\alpha}+N-1\big)\big)+\frac{M_\tau}M\ln\frac{\hat\alpha}{1-\hat\alpha}$ and
# update $\lambda_t=\lambda_{t-1}-\eta\frac{dL_{\text{emp}}}{d\lambda_t}$.
#
# **What is true.** The last term of the loss is $-\hat\alpha\hat\gamma$, and the step is divided by
# $|dL_{\text{emp}}/d\lambda|$ at $\lambda_{t-1}$. The labels must include both $\tau$ and another word. Then
# $\lambda_t=\eta t$.
#
# **What changed.** The wrong sign changes the loss but not the steps. Without the division, which Section 4.2 and Eq.
# (26) include, $\lambda$ grows only logarithmically.
#
# <details><summary>Slips (2)</summary>
#
# - The listing does not exclude $\hat\alpha\in\{0,1\}$, for which $\hat\gamma$ is infinite.
# - Section 4.2 calls the data $M$ sentences $z_{H+1}$; they are $z_{1:H+1}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# With $\gamma$ fixed, a larger $\lambda$ lowers the loss on every sentence, so the derivative in $\lambda$ is negative.
# A normalised step depends only on its sign, so $\lambda_t=\eta t$. A plain step shrinks with the derivative, like
# $e^{-\lambda}$, so $\lambda$ would grow only logarithmically.
#
# ## See it run
#
# We run the algorithm as corrected and as listed in the paper.

# %%
from fractions import Fraction

import torch

from attention_theory.in_context_reasoning.certified.noisy import certify_known_noise
from attention_theory.in_context_reasoning.certified.samples import certify_mean, certify_path
from attention_theory.in_context_reasoning.closed_form import bayes_risk, noisy_loss, odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy, expected_loss
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noisy
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.finite_sample import mean_estimates
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import ParameterError, require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
tokens = 61  # N + 1, at least 10
alpha = 0.2  # chance of the noise token as label, from 0.05 to 0.95
rate = 0.1  # eta, from 0.001 to 0.2
steps = 2_000  # T, at least 1000
samples = 400  # M, at least 100
datasets = 20_000  # simulated sets of 50 labels, at least 1000
length = 24  # H, at least 14
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 10, None),
    alpha=(alpha, 0.05, 0.95),
    rate=(rate, 1e-3, 0.2),
    steps=(steps, 1000, None),
    samples=(samples, 100, None),
    datasets=(datasets, 1000, None),
    length=(length, 14, None),
    seed=(seed, 0, None),
)
seeds = streams(seed, 5)
task, others = Task(tokens, 1, 4, length, noisy=True), tokens - 2
codes = embedding(tokens, 2 * tokens)
copies = torch.randint(1, 3, (samples,), generator=generator(seeds[0]))
sentences = sample_sentences(task, samples, seeds[1], copies)
labels = draw_labels(sentences, task, torch.tensor([alpha], dtype=torch.float64), seeds[2])[0]


def logits(scale: float, gamma: float) -> torch.Tensor:
    """The transformer's logits on the training sentences."""
    weights = reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma).in_codes(codes)
    return forward(sentences.tokens, weights, Architecture()).logits


# %%
fit = algorithm_1(sentences, labels, task, rate, steps)
as_printed = algorithm_1(sentences, labels, task, rate, steps, form="printed")
marks = [0, 10, 40, 150]
actual = torch.stack([cross_entropy(logits(fit.scales[t].item(), fit.gamma), labels).losses.mean() for t in marks])
line = rate * torch.arange(steps + 1, dtype=torch.float64)
one_each = sample_sentences(task, samples, seeds[3])
their_labels = labels.where(labels == task.noise_token, one_each.output)
plain_one = algorithm_1(one_each, their_labels, task, rate, steps, "printed").scales


def is_refused(kind: int) -> bool:
    try:
        algorithm_1(sentences, torch.full_like(labels, kind), task, rate, 1)
    except ParameterError:
        return True
    return False


# %%
fig, axis = show.axes()
axis.plot(line / rate, fit.scales, label="normalised steps")
axis.plot(line / rate, plain_one, "--", label="plain steps, as listed")
axis.set(xlabel="step t", ylabel="λ")
axis.legend()
show.figure(
    fig,
    name="scale",
    caption="With normalised steps λ grows by η per step; with the listing's plain steps it grows logarithmically: "
    f"{plain_one[100]:.1f} after 100 steps, {plain_one[-1]:.1f} after {steps}.",
    alt="A straight line, and a dashed curve that flattens and stays far below it.",
)

# %% [markdown]
# We see a straight line for normalised steps. The plain steps of the listing stay far below it.
#
# ## How we checked
#
# The corrected loss must equal the transformer's cross-entropy. Data sets with one kind of label must be rejected.

# %%
claim = Claim("in-context-reasoning/algorithm-1")
claim.close("corrected loss minus the transformer's", fit.losses[marks], actual, atol=1e-12)
claim.at_most("λ over η t minus 1, largest, t ≤ 1000", (fit.scales / line - 1)[1:1001].abs().max(), 1e-12)
refused = {"all labels τ": is_refused(task.noise_token), "none": is_refused(task.output_words.start)}
claim.true("data sets with one kind of label are refused", refused)
sign = (as_printed.losses[0] - actual[0]).abs()
claim.misprint.at_most("printed sign: loss minus the transformer's at t = 0", sign, 1e-12)
claim.misprint.at_least("printed plain step: λ_T over η T", plain_one[-1] / line[-1], 0.9)
claim.number("printed plain step: λ at the end, C = 1", plain_one[-1])
claim.certified("two sentences: λ = η t on every data set; the loss, for all values", certify_path(2, 6))
claim.verdict()

# %% [markdown]
# ## Also on this page: a known noise level
# <!-- claim in-context-reasoning/section-b-2-1 -->
# <blockquote>
#
# **Appendix B.2.1 (Descent with a known noise level)** *Appendix B.2.1*
#
# **The paper states.** Set $\gamma=\ln\frac\alpha{1-\alpha}$. Running normalized gradient descent on $L_{\text{pop}}$
# from $\lambda_0=0$ gives $\lambda_t=\lambda_{t-1}+\eta=\eta t$ (26). It follows that
# $L_{\text{pop}}(\lambda_t,\gamma)\le L_{\text{Bayes}}+(N-1)e^{-\eta t}$.
#
# </blockquote>
# <!-- /claim -->
#
# We compare descent with the paper's formula and with the transformer. A solver proves the step and the bound for all
# values.

# %%
law = torch.bincount(copies, minlength=3)[1:].double() / samples
horizon, both = 400, torch.tensor([1.0, 2.0], dtype=torch.float64)
times = torch.arange(horizon + 1, dtype=torch.float64)
path = descend_noisy(law, alpha, rate, horizon, others)
loss = (law * noisy_loss(path[:, None], odds(alpha), both, alpha, others)).sum(dim=1)
proof = (law * torch.log(1 / (1 - alpha) + others * torch.exp(-rate * times[:, None] * both))).sum(dim=1)
proof = proof - alpha * odds(alpha)
at = (0, 50, 200)
model = torch.stack(
    [expected_loss(logits(path[t].item(), odds(alpha)), sentences.output, task.noise_token, alpha).mean() for t in at]
)
bound = bayes_risk(alpha) + others * torch.exp(-rate * times)
plain = descend_noisy(law, alpha, rate, horizon, others, normalised=False)

# %%
claim = Claim("in-context-reasoning/section-b-2-1")
claim.close("λ minus η t, largest", path, rate * times, atol=1e-12)
claim.equal("times above the Bayes risk + (N-1) exp(-η t)", (loss > bound * (1 + 1e-14)).sum(), 0)
claim.control.at_least("plain steps: λ at t = 400 over η t", plain[-1] / (rate * horizon), 0.9)
claim.close("loss against the paper's closed form", loss, proof, atol=1e-12, of="proof")
claim.close("loss of the transformer against it", model, loss[list(at)], atol=1e-12, of="proof")
claim.certified("step and bound, for all laws, α, η, t and N", certify_known_noise(), whole=True)
claim.verdict()

# %% [markdown]
# ## Also on this page: is the count unbiased?
# <!-- claim in-context-reasoning/remark-unbiased-estimates -->
# <blockquote>
#
# **Section 4.2 (One estimate is unbiased)** *Section 4.2*
#
# **The paper states.** Let $\hat\alpha=\frac{M_\tau}M$ and $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$ be the
# unbiased estimates for $\alpha$ and $\gamma=\ln\frac\alpha{1-\alpha}$, respectively.
#
# **What is true.** $\hat\alpha=M_\tau/M$ is an unbiased estimate of $\alpha$. No estimate of $\gamma$ from $M$ labels
# is unbiased.
#
# **What changed.** $\hat\gamma$ is infinite with positive probability, so it has no mean. Given $0<\hat\alpha<1$, its
# bias at a fixed $\alpha$ is $\frac{2\alpha-1}{2\alpha(1-\alpha)M}$ up to terms of order $M^{-2}$, which is not 0 for
# $\alpha\ne\frac12$ and large $M$.
#
# </blockquote>
# <!-- /claim -->
#
# The first estimate is a mean, so it is unbiased. The second is a nonlinear function of it.
#
# <details><summary>Proof of Section 4.2, unbiased estimates: no estimate of γ is unbiased, and the bias of γ̂</summary>
#
# *None is unbiased.* Let $g(k)$ be any finite estimate of $\gamma$ from the number $k$ of labels $\tau$ among $M$. Its
# mean $\sum_k\binom Mk\alpha^k(1-\alpha)^{M-k}g(k)$ is a polynomial in $\alpha$, so it is bounded on $(0,1)$, and
# $\gamma=\ln\frac\alpha{1-\alpha}$ is not. $\hat\gamma$ itself is $-\infty$ with probability $(1-\alpha)^M$ and
# $+\infty$ with probability $\alpha^M$, and has no mean.
#
# *Its bias where it is finite.* Let $g(a)=\ln\frac a{1-a}$ and $\Delta=\hat\alpha-\alpha$. On the event
# $|\Delta|\le\frac12\min(\alpha,1-\alpha)$ expand $g$ at $\alpha$ to the fourth order; the fourth derivative is bounded
# there. The event fails with a probability exponentially small in $M$ (Hoeffding), and for $0<\hat\alpha<1$ always
# $|\hat\gamma|\le\ln M$, so that leaving it out changes means by an exponentially small amount. With $\mathbb
# E\Delta=0$, $\mathbb E\Delta^2=\alpha(1-\alpha)/M$, $\mathbb E\Delta^3=O(M^{-2})$ and $\mathbb E\Delta^4=O(M^{-2})$,
#
# $$\mathbb E[\hat\gamma\mid0<\hat\alpha<1]-\gamma=\frac{g''(\alpha)}2\cdot\frac{\alpha(1-\alpha)}M+O(M^{-2})=
# \frac{2\alpha-1}{2\alpha(1-\alpha)M}+O(M^{-2}),\qquad g''(\alpha)=\frac{2\alpha-1}{\alpha^2(1-\alpha)^2}.$$
#
# At $\alpha=\frac12$ the law of $\hat\gamma$ is symmetric about $0=\gamma$, and the bias is 0. $\square$
#
# </details>
#
# We simulate sets of 50 labels and compute the exact means.

# %%
skew = alpha if abs(alpha - 0.5) > 0.05 else 0.2  # at one half γ̂ is unbiased by symmetry
tosses = torch.full((datasets,), 50.0, dtype=torch.float64)
hits = torch.binomial(tosses, torch.full_like(tosses, skew), generator=generator(seeds[4]))
estimates = hits / 50
finite = estimates[(estimates > 0) & (estimates < 1)]
errors = (finite / (1 - finite)).log() - odds(skew)

mean_alpha, _ = mean_estimates(50, skew)
exact = mean_estimates(50, skew)[1] - odds(skew)
many = 20_000 * (mean_estimates(20_000, skew)[1] - odds(skew))
limit = (2 * skew - 1) / (2 * skew * (1 - skew))

# %%
claim = Claim("in-context-reasoning/remark-unbiased-estimates")
claim.close("M = 50: exact mean of α̂ minus α", mean_alpha, skew, atol=1e-12)
claim.equal("M = 50: simulated mean of α̂ minus α", estimate(estimates - skew), 0, tolerance=0.005)
claim.printed.equal(f"M = 50, α = {skew}: mean of γ̂ minus γ", estimate(errors), 0, tolerance=0.01)
claim.equal("the same, minus the exact sum", estimate(errors - exact), 0, tolerance=0.02)
claim.equal(f"M = 20000, α = {skew}: M times the exact bias of γ̂, over its limit", many / limit, 1, tolerance=0.01)
claim.at_most("α = 1/2, by symmetry: exact mean of γ̂", abs(mean_estimates(50, 0.5)[1]), 1e-12)
claim.number("M = 50: exact bias of γ̂", exact)
claim.number("M = 50: chance that γ̂ is infinite", skew**50 + (1 - skew) ** 50)
claim.certified("M = 50: the mean of α̂ is α, for every α", certify_mean(50, Fraction(1, 5)))
claim.verdict()

# %% [markdown]
# ## What to remember
# - Once the noise is counted, $\lambda$ grows at constant speed.
# - Plain steps slow down as the gradient vanishes.
# - A probability has an unbiased estimate, but its log-odds have none.
#
# ## Exercises
#
# 1. *By hand.* What is the bias of $\hat\gamma$ at $\alpha=0.2$, $M=50$?
#    <details><summary>Solution</summary>
#
#    $\frac{2\cdot0.2-1}{2\cdot0.2\cdot0.8\cdot50}=-0.0375$. The simulated bias is $-0.039$, and its interval, from
#    $-0.046$ to $-0.032$, contains this value.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 0.01`. Do plain steps fall further behind the line than before?
#    <details><summary>Solution</summary>
#
#    No. The line ends at 20, and plain steps reach 6.5, about a third of it. At rate 0.1 the line ends at 200, and
#    plain steps reach 9.1.
#
#    </details>
#
# Next: [Theorem 4.3](theorem_4_3_rate.ipynb). The theorem bounds the cost of an inaccurate count.

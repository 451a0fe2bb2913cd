# %% [markdown]
# # Algorithm 1 · Training on M sentences
# *Nguyen, Nguyen-Tang: Algorithm 1 and Appendix B.2.1; Section 4.2.*
#
# <!-- claim in-context-reasoning/section-b-2-1 -->
# <blockquote>
#
# **Appendix B.2.1 (Descent with a known noise level)** *Appendix B.2.1*
#
# With $\gamma=\ln\frac\alpha{1-\alpha}$ fixed, normalised descent on the population loss gives $\lambda_t=\eta t$ and
# $L(\lambda_t,\gamma)\le L_{\text{Bayes}}+(N-1)e^{-\eta t}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/algorithm-1 -->
# <blockquote>
#
# **Algorithm 1 (Training with an unknown noise level)** *Section 4.2; Appendix B.2*
#
# **As printed.** The listing has a loss with $+\hat\alpha\hat\gamma$, the update
# $\lambda_t=\lambda_{t-1}-\eta\,dL_{\text{emp}}/d\lambda_t$, and $\hat\alpha\in\{0,1\}$ is let through. Section 4.2
# calls the data $M$ sentences $z_{H+1}$.
#
# **Corrected.** From $M$ sentences take $\hat\alpha=M_\tau/M$ and $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$, and
# run normalised descent from $\lambda_0=0$ on $L_{\text{emp}}(\lambda)=\frac1M\sum_m \big[-C^{(m)}\lambda +
# \ln\big(\tfrac{e^{C^{(m)}\lambda}}{1-\hat\alpha}+N-1\big)\big] - \hat\alpha\hat\gamma$. Then $\lambda_t=\eta t$.
#
# $-\hat\alpha\hat\gamma$; the step is divided, as in Section 4.2 and Eq. (26), by $|dL_{\text{emp}}/d\lambda|$ at
# $\lambda_{t-1}$; labels must include both $\tau$ and another word. The sentences are $z_{1:H+1}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/remark-unbiased-estimates -->
# <blockquote>
#
# **Section 4.2 (One estimate is unbiased)** *Section 4.2*
#
# **As printed.** $\hat\alpha$ and $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$ are unbiased estimates of $\alpha$
# and $\gamma$.
#
# **Corrected.** $\hat\alpha=M_\tau/M$ is an unbiased estimate of $\alpha$.
#
# $\hat\gamma$ is infinite with positive probability, so it has no mean; given $0<\hat\alpha<1$ its bias is not 0 but
# for $\alpha=\frac12$, and falls like $\frac{2\alpha-1}{2\alpha(1-\alpha)M}$. No estimate of $\gamma$ from $M$ labels
# is unbiased.
#
# </blockquote>
# <!-- /claim -->
#
# The loss of the noisy task has no least point, so the paper does not descend in $\gamma$ at all: it sets $\gamma$ from
# the frequency of $\tau$ among the labels and runs normalised descent on $\lambda$ alone. By Lemma C.1 the slope in
# $\lambda$ is negative everywhere, so $\lambda_t=\eta t$, exactly. The listing has two slips: a sign in the loss, and
# plain steps where the text of Section 4.2 and Eq. (26) have normalised ones. Plain steps follow a slope that dies like
# $e^{-\lambda}$, so $\lambda$ grows like a logarithm.

# %%
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, noisy_loss, odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy, expected_loss
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noisy
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.finite_sample import mean_estimates
from attention_theory.in_context_reasoning.model import Architecture, forward, in_codes
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 61  # N + 1, at least 10
alpha = 0.2  # chance of the noise token as label, from 0.05 to 0.95
rate = 0.1  # eta, from 0.001 to 0.2
steps = 2_000  # T, at least 1000
samples = 400  # M, at least 50
length = 24  # H, at least 14
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 10, None),
    alpha=(alpha, 0.05, 0.95),
    rate=(rate, 1e-3, 0.2),
    steps=(steps, 1000, None),
    samples=(samples, 50, None),
    length=(length, 14, None),
    seed=(seed, 0, None),
)
task = Task(tokens, 1, 4, length, noisy=True)
others = tokens - 2
codes = embedding(tokens, 2 * tokens)
copies = torch.randint(1, 3, (samples,), generator=generator(seed))
sentences = sample_sentences(task, samples, seed, copies)
labels = draw_labels(sentences, task, torch.tensor([alpha], dtype=torch.float64), seed)[0]


def logits(scale: float, gamma: float) -> torch.Tensor:
    """The transformer's logits on the training sentences."""
    weights = in_codes(reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma), codes)
    return forward(sentences.tokens, weights, Architecture()).logits


# %% [markdown]
# ## Known noise level

# %%
law = torch.bincount(copies, minlength=3)[1:].double() / samples
horizon = 400
times = torch.arange(horizon + 1, dtype=torch.float64)
path = descend_noisy(law, alpha, rate, horizon, others)
loss = (law * noisy_loss(path[:, None], odds(alpha), torch.tensor([1.0, 2.0], dtype=torch.float64), alpha, others)).sum(
    dim=1
)
paper = (law * torch.log(1 / (1 - alpha) + others * torch.exp(-rate * times[:, None] * torch.tensor([1.0, 2.0])))).sum(
    1
)
paper = paper - alpha * odds(alpha)
model = [
    expected_loss(logits(path[t].item(), odds(alpha)), sentences.output, task.noise_token, alpha).mean()
    for t in (0, 50, 200)
]
bound = bayes_risk(alpha) + others * torch.exp(-rate * times)
plain = descend_noisy(law, alpha, rate, horizon, others, normalised=False)

claim = Claim("in-context-reasoning/section-b-2-1")
claim.check("λ minus η t, largest", (path - rate * times).abs().max(), "<=", 1e-12)
claim.check("loss against the paper's closed form", (loss - paper).abs().max(), "<=", 1e-12, of="proof")
gap = (torch.stack(model) - loss[[0, 50, 200]]).abs().max()
claim.check("loss of the transformer against it", gap, "<=", 1e-12, of="proof")
claim.check("times above the Bayes risk + (N-1) exp(-η t)", (loss > bound * (1 + 1e-14)).sum(), "==", 0)
claim.control("plain steps: λ at t = 400 over η t", plain[-1] / (rate * horizon), ">=", 0.9)
claim.verdict()

# %% [markdown]
# ## Algorithm 1

# %%
fit = algorithm_1(sentences, labels, task, rate, steps)
as_printed = algorithm_1(sentences, labels, task, rate, steps, form="printed")
marks = [0, 10, 40, 150]
actual = torch.stack([cross_entropy(logits(fit.scales[t].item(), fit.gamma), labels).losses.mean() for t in marks])
one_each = sample_sentences(task, samples, seed + 1)
plain_one = algorithm_1(
    one_each, labels.where(labels == task.noise_token, one_each.output), task, rate, steps, "printed"
)
line = rate * torch.arange(steps + 1, dtype=torch.float64)

claim = Claim("in-context-reasoning/algorithm-1")
claim.check("corrected loss minus the transformer's", (fit.losses[marks] - actual).abs().max(), "<=", 1e-12)
claim.check("λ over η t minus 1, largest, t ≤ 1000", (fit.scales / line - 1)[1:1001].abs().max(), "<=", 1e-12)
claim.misprint(
    "printed sign: loss minus the transformer's at t = 0", (as_printed.losses[0] - actual[0]).abs(), "<=", 1e-12
)
claim.misprint("printed plain step: λ_T over η T", plain_one.scales[-1] / line[-1], ">=", 0.9)
claim.number("printed plain step: λ at the end, C = 1", plain_one.scales[-1])
refused = []
for kind in (task.noise_token, 2):
    try:
        algorithm_1(sentences, torch.full_like(labels, kind), task, rate, 1)
    except ParameterError:
        refused.append(kind)
claim.check("data sets with α̂ = 0 or 1 refused, of 2", len(refused), "==", 2)
claim.verdict()

# %%
fig, axis = show.axes()
axis.plot(line / rate, fit.scales, label="normalised steps")
axis.plot(line / rate, plain_one.scales, "--", label="plain steps, as printed")
axis.set(xlabel="step t", ylabel="λ")
axis.legend()
show.figure(
    fig,
    name="scale",
    caption="Normalised steps go up by η each; with the plain steps of the listing λ grows like a logarithm: "
    f"{plain_one.scales[100]:.1f} after 100 steps, {plain_one.scales[-1]:.1f} after {steps}.",
    alt="A straight line, and a dashed curve that flattens and stays far below it.",
)

# %% [markdown]
# ## Are the estimates unbiased?
# The text calls both $\hat\alpha$ and $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$ unbiased. The first is. The
# second is a curved function of the first, and is infinite with positive probability. Where it is finite its bias falls
# like $1/M$: by the second derivative of $\gamma$ in $\alpha$, $M$ times the bias goes to
# $\frac{2\alpha-1}{2\alpha(1-\alpha)}$. The means are sums over the binomial law.

# %%
claim = Claim("in-context-reasoning/remark-unbiased-estimates")
mean_alpha, _ = mean_estimates(50, alpha)
skew = alpha if abs(alpha - 0.5) > 0.05 else 0.2  # at one half γ̂ is unbiased by symmetry
claim.check("M = 50: mean of α̂ minus α", abs(mean_alpha - alpha), "<=", 1e-12)
few = mean_estimates(50, skew)[1] - odds(skew)
claim.printed(f"M = 50, α = {skew}: mean of γ̂ minus γ", abs(few), "<=", 1e-6)
many = 20_000 * (mean_estimates(20_000, skew)[1] - odds(skew))
limit = (2 * skew - 1) / (2 * skew * (1 - skew))
claim.check(f"M = 20000, α = {skew}: M times the bias of γ̂, over its limit", many / limit, "==", 1, 0.01)
claim.check("M = 50: chance that γ̂ is infinite", alpha**50 + (1 - alpha) ** 50, ">", 0)
try:
    odds(0.0)
    guarded = False
except ParameterError:
    guarded = True
claim.check("α̂ = 0 is refused", guarded, "==", True)
even = mean_estimates(50, 0.5)[1]
claim.check("α = 1/2, by symmetry: mean of γ̂", abs(even), "<=", 1e-12)
claim.verdict()

# %% [markdown]
# # Theorem 4.4 · An unseen output under noise
# *Nguyen, Nguyen-Tang: Theorem 4.4, Section 4.2; Appendix B.3.*
#
# <!-- claim in-context-reasoning/theorem-4-4 -->
# <blockquote>
#
# **Theorem 4.4 (Unseen outputs, noisy)** *Section 4.2; Appendix B.3*
#
# **As printed.** The deviations are $O\big(\sqrt{\ln(1/\delta)/M}+N^2e^{-2\eta t}\big)$. The unseen word is $\hat y$ in
# the formula, and the numerator of Eq. (30) has $C_{q,y}$; in the text that we have, the bigrams replaced are $(b,y)$.
#
# **Corrected.** Let $\varepsilon<\min(\alpha,1-\alpha)$, without which Algorithm 1 may have no model. Replace every
# $(q,y)$ of a noisy sentence by $(q,y_{\text{test}})$, $y_{\text{test}}$ neither trigger nor output. With probability
# at least $1-\delta$, after $t$ steps $\lvert\Pr[y_{\text{test}}]-(1-\alpha)\rvert$ and $\lvert\Pr[\tau]-\alpha\rvert$
# are at most $\varepsilon+(N-1)e^{-\eta t}$.
#
# $O\big(\sqrt{\ln(1/\delta)/M}+N e^{-\eta t}\big)$: the first-order term does not vanish. The printed form fails as $M$
# grows. Where $Ne^{-\eta t}$ is about $(\ln(1/\delta)/M)^{1/4}$ the deviation exceeds it by a factor of order
# $M^{1/4}$, so that no constant will do; at $M=2048$ the factor is below 2 at every $t$, and the first term hides the
# fault. $(q,y)$, $y_{\text{test}}$, $C_{q,y_{\text{test}}}$.
#
# </blockquote>
# <!-- /claim -->
#
# The trained model gives a word that was never an output the probability
# $\frac{1-\hat\alpha}{1+(N-1)(1-\hat\alpha)e^{-C\eta t}}$, and $\tau$ the same with $\hat\alpha$ on top. So it misses
# $1-\alpha$ by the error of $\hat\alpha$ and by about $N e^{-\eta t}$. The theorem has $N^2e^{-2\eta t}$: from (33) to
# (34) the first-order term of $1/(1+x)$ is dropped and the second-order one kept.

# %%
import torch

from attention_theory.in_context_reasoning.closed_form import odds, probabilities
from attention_theory.in_context_reasoning.descent import algorithm_1
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.finite_sample import hoeffding_radius
from attention_theory.in_context_reasoning.model import Architecture, forward, in_codes
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 61  # N + 1, at least 12
alpha = 0.2  # chance of the noise token as label, from 0.05 to 0.95
rate = 0.1  # eta, from 0.001 to 0.5
samples = 2048  # M, at least 200
delta = 0.05  # allowed chance of failure, from 1e-6 to 0.5
length = 32  # H, at least 14
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 12, None),
    alpha=(alpha, 0.05, 0.95),
    rate=(rate, 1e-3, 0.5),
    samples=(samples, 200, None),
    delta=(delta, 1e-6, 0.5),
    length=(length, 14, None),
    seed=(seed, 0, None),
)
task = Task(tokens, 1, 4, length, noisy=True)
others = tokens - 2
steps = round(20 / rate)
codes = embedding(tokens, 2 * tokens)
training = sample_sentences(task, samples, seed)
labels = draw_labels(training, task, torch.tensor([alpha], dtype=torch.float64), seed + 1)[0]
fit = algorithm_1(training, labels, task, rate, steps)
copies = torch.randint(1, 4, (200,), generator=generator(seed))
test = sample_sentences(task, 200, seed + 2, copies, unseen=True)


def predict(scale: float, gamma: float, full_input: float = 1.0) -> torch.Tensor:
    """The transformer's probabilities of the unseen word and of τ on the test sentences."""
    weights = in_codes(reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma), codes)
    p = forward(test.tokens, weights, Architecture(full_input=full_input)).logits.softmax(dim=1)
    return torch.stack([p[torch.arange(200), test.output], p[:, task.noise_token]], dim=1)


# %%
claim = Claim("in-context-reasoning/theorem-4-4")
radius = hoeffding_radius(samples, delta)
target = torch.tensor([1 - alpha, alpha], dtype=torch.float64)
marks = range(0, steps + 1, max(1, steps // 20))
form_error, slack = 0.0, []
for t in marks:
    ours = predict(fit.scales[t].item(), fit.gamma)
    closed = probabilities(fit.scales[t], fit.gamma, copies, others)
    form_error = max(form_error, (ours - closed).abs().max().item())
    slack.append(((ours - target).abs() - radius - others * torch.exp(torch.tensor(-rate * t))).max().item())
claim.check("probabilities minus (31), (32), largest", form_error, "<=", 1e-12)
claim.check("error of α̂ within ε", abs(fit.alpha - alpha), "<=", radius)
claim.check("deviation minus ε + (N-1) exp(-η t), largest", max(slack), "<=", 0)

# %% [markdown]
# With $\hat\alpha=\alpha$, as for $M\to\infty$, only the steps are left. Divided by the printed rate the deviation
# explodes; divided by $Ne^{-\eta t}$ it settles at $(1-\alpha)^2(N-1)/N$. So the printed form fails with any constant,
# for large $M$; at $M=2048$ the first term hides it.

# %%
n = tokens - 1
times = torch.arange(0, steps + 1, dtype=torch.float64)
one = torch.ones((), dtype=torch.float64)
deviation = 1 - alpha - probabilities(rate * times, odds(alpha), one, others)[:, 0]
over_printed = deviation / (n**2 * torch.exp(-2 * rate * times))
over_right = deviation / (n * torch.exp(-rate * times))
late = slice(round(12 / rate), round(18 / rate))
slope = (deviation[late.stop].log() - deviation[late.start].log()).item() / (late.stop - late.start)
claim.check("late slope of the deviation over -η", slope / -rate, "==", 1, 0.02)
claim.check("deviation over N exp(-η t), limit", over_right[-1], "==", (1 - alpha) ** 2 * others / n, 1e-3)
reached = {f"η t = {eta_t}": over_printed[round(eta_t / rate)] for eta_t in (10, 15)}
claim.printed("deviation over the printed rate", reached, "<=", 10)
first_order = (1 - alpha) ** 2 * others * torch.exp(-rate * times)  # what Eq. 34 drops
claim.printed(
    "Eq. 34: dropped term over the kept order, at η t = 15",
    (first_order / (n * torch.exp(-rate * times)) ** 2)[round(15 / rate)],
    "<=",
    10,
    of="proof",
)
claim.check(
    "Eq. 33: deviation over its first-order term, at the end", (deviation / first_order)[-1], "==", 1, 1e-3, of="proof"
)
without = predict(fit.scales[-1].item(), fit.gamma, full_input=0.0)
claim.control("κ = 0: probability of τ at the end minus α", (without[:, 1] - alpha).abs().max(), "<=", radius)

# %%
fig, axis = show.axes()
axis.semilogy(times, deviation, label="1 - α - probability")
axis.semilogy(times, n * torch.exp(-rate * times), ":", label="N exp(-η t)")
axis.semilogy(times, n**2 * torch.exp(-2 * rate * times), "--", label="printed: N² exp(-2 η t)")
axis.set(xlabel="step t", ylabel="deviation")
axis.legend()
show.figure(
    fig,
    name="deviation",
    caption="How far the probability of an unseen word is from 1 - α, for α̂ = α: it runs parallel to N exp(-η t), "
    "and the printed rate (dashed) falls away below it.",
    alt="A curve falling parallel to a dotted line on a logarithmic axis, crossed by a dashed line that is twice as "
    "steep.",
)
claim.verdict()

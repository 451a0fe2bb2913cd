# %% [markdown]
# # Theorem 4.5 · Which layer says what
# *Nguyen, Nguyen-Tang: condition (8) and Theorem 4.5, Section 4.2; Appendix B.4.*
#
# <!-- claim in-context-reasoning/definition-separation -->
# <blockquote>
#
# **Layer separation condition (Separated layers)** *Section 4.2*
#
# The layers are separated on a sentence if $\xi_{A,y}>\max_{j\ne y}\xi_{A,j}$ and
# $\xi_{F,\tau}>\max_{j\ne\tau}\xi_{F,j}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/theorem-4-5 -->
# <blockquote>
#
# **Theorem 4.5 (When the layers separate)** *Section 4.2; Appendix B.4*
#
# **As printed.** No condition on $\varepsilon$. In the text that we have,
# $t\ge\max(1,\tfrac1\eta)\,\lvert\ln(1-\alpha+\varepsilon)-\ln(\alpha-\varepsilon)\rvert$, against the proof. The proof
# recalls $\hat\gamma=\ln\frac{1-\hat\alpha}{\alpha}$, and has separation from $t\ge\max(1,-\hat\gamma/\eta)$ on.
#
# **Corrected.** Let $\varepsilon<\min(\alpha,1-\alpha)$. With probability at least $1-\delta$, for
# $t\ge\max\big(1,\tfrac1\eta\,\lvert\ln(1-\alpha+\varepsilon)-\ln(\alpha-\varepsilon)\rvert\big)$, the layers of
# Algorithm 1's model are separated on every sentence of the data model.
#
# $\varepsilon<\min(\alpha,1-\alpha)$, without which there may be no model. The bracket closes after the second term, as
# in the proof; $\hat\gamma=\ln\frac{\hat\alpha}{1-\hat\alpha}$. At $t=-\hat\gamma/\eta$ the logits of the feed-forward
# layer are equal for $C=1$; $t$ must be above it, as it is when $\lvert\hat\alpha-\alpha\rvert<\varepsilon$.
#
# </blockquote>
# <!-- /claim -->
#
# In the trained model attention's only positive logit is $\lambda_tC$ at $y$, and the feed-forward layer's only one
# that is not zero is $\lambda_tC+\hat\gamma$ at $\tau$. The layers are separated as soon as $\eta
# t>\max(0,-\hat\gamma)$: for $\hat\alpha\ge1/2$ after one step, for smaller $\hat\alpha$ only once $\lambda$ has
# outgrown the penalty $\hat\gamma<0$. In the text that we have, the theorem's waiting time has a bracket in the wrong
# place, which the proof has right. And it needs $\varepsilon<\min(\alpha,1-\alpha)$: at $\alpha=0.99$, $M=50$ and
# $\delta=1/2$, where $\varepsilon=0.118$ is below $\alpha$, all labels are $\tau$ with probability
# $0.99^{50}=0.605>\delta$, and there is no model.

# %%
import math

import torch

from attention_theory.in_context_reasoning.descent import algorithm_1
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.finite_sample import hoeffding_radius, separated, separation_time
from attention_theory.in_context_reasoning.model import Architecture, Pass, forward, in_codes
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 61  # N + 1, at least 12
rate = 0.1  # eta, from 0.01 to 0.5
samples = 2048  # M, at least 500
delta = 0.05  # allowed chance of failure, from 1e-6 to 0.5
count = 2_000  # test sentences, at least 100
length = 32  # H, at least 14
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 12, None),
    rate=(rate, 0.01, 0.5),
    samples=(samples, 500, None),
    delta=(delta, 1e-6, 0.5),
    count=(count, 100, None),
    length=(length, 14, None),
    seed=(seed, 0, None),
)
task = Task(tokens, 1, 4, length, noisy=True)
codes = embedding(tokens, 2 * tokens)
copies = torch.randint(1, 4, (count,), generator=generator(seed))
test = sample_sentences(task, count, seed, copies)


def run(scale: float, gamma: float, on: Sentences = test) -> Pass:
    """The transformer of Lemma 4.1 on test sentences."""
    weights = in_codes(reparameterised(task, codes, torch.tensor([scale], dtype=torch.float64), gamma), codes)
    return forward(on.tokens, weights, Architecture())


# %% [markdown]
# ## The condition
# Both layers must have one largest logit, attention at $y$ and the feed-forward layer at $\tau$. A tie does not count.

# %%
tau = task.noise_token
picked = test.pick(slice(4))
attention, ff = torch.zeros(4, tokens), torch.zeros(4, tokens)
rows = torch.arange(4)
attention[rows, picked.output], ff[:, tau] = 1.0, 1.0
attention[1, 0] = 1.0  # a tie in the attention layer
ff[2, 3] = 1.0  # a tie in the feed-forward layer
attention[3, 0] = 2.0  # another word on top
verdicts = separated(Pass(attention, attention, attention, attention, ff), picked, task).tolist()

claim = Claim("in-context-reasoning/definition-separation")
claim.check("clear lead in both layers", verdicts[0], "==", True)
claim.control("tie in the attention layer", verdicts[1], "==", True)
claim.control("tie in the feed-forward layer", verdicts[2], "==", True)
claim.control("another word on top", verdicts[3], "==", True)
bare = test.tokens.clone()
follows = (bare[:, :-1] == 0) & (bare[:, 1:] == test.output[:, None])
bare[:, 1:][follows] = tau
hollow = Sentences(bare, test.trigger, test.output)
claim.control(
    "sentences without (q, y): share separated", separated(run(5.0, 0.0, hollow), hollow, task).double().mean(), ">", 0
)
claim.verdict()

# %% [markdown]
# ## The waiting time

# %%
claim = Claim("in-context-reasoning/theorem-4-5")
radius = hoeffding_radius(samples, delta)
training = sample_sentences(task, samples, seed + 1)
horizon = max(40, 2 * math.ceil(separation_time(0.2, radius, rate)))  # of the three, α = 0.2 waits longest
shares = {}
for alpha in (0.2, 0.5, 0.8):
    labels = draw_labels(training, task, torch.tensor([alpha], dtype=torch.float64), seed + 2)[0]
    fit = algorithm_1(training, labels, task, rate, horizon)
    wait = separation_time(alpha, radius, rate)
    claim.check(f"α = {alpha}: error of α̂ within ε", abs(fit.alpha - alpha), "<=", radius)
    shares[alpha] = [
        separated(run(scale, fit.gamma), test, task).double().mean().item() for scale in fit.scales.tolist()
    ]
    claim.check(f"α = {alpha}: share separated at t = {math.ceil(wait)}", shares[alpha][math.ceil(wait)], "==", 1)
    claim.check(f"α = {alpha}: and at every later t", min(shares[alpha][math.ceil(wait) :]), "==", 1)
    claim.number(f"α = {alpha}: waiting time", wait)
single = test.pick(copies == 1)
before = math.ceil(math.log(4) / rate) - 1  # the last step with η t < -γ
early = separated(run(rate * before, math.log(0.2 / 0.8), single), single, task).double().mean()
claim.control(f"α = 0.2, C = 1: share separated at t = {before}", early, ">", 0)

# %% [markdown]
# With the printed bracket, $\max(1,1/\eta)\,|\dots|$, the waiting time can be less than one step, and at
# $\alpha=\frac12+\varepsilon$ it is zero: the theorem would hold before training, when attention's logits are all
# zero.

# %%
edge = 0.5 + radius
printed_wait = separation_time(edge, radius, rate, form="printed")
start = separated(run(0.0, math.log(edge / (1 - edge))), test, task).double().mean()
claim.check("printed bracket, α = 1/2 + ε: waiting time", printed_wait, "==", 0, 1e-12)
claim.misprint("printed bracket, α = 1/2 + ε: share separated at t = 0", start, "==", 1)
claim.check("proof's bracket, α = 1/2 + ε: waiting time", separation_time(edge, radius, rate), "==", 1)
claim.number("printed bracket, α = η = 0.5", separation_time(0.5, radius, 0.5, form="printed"))
one_sided, unsure, tosses = 0.99, 0.5, 50
coins = torch.rand(10_000, tosses, generator=generator(seed), dtype=torch.float64) < one_sided
both_labels = (coins.any(dim=1) & ~coins.all(dim=1)).double().mean()
claim.check("α = 0.99, δ = 1/2, M = 50: ε", hoeffding_radius(tosses, unsure), "<", one_sided)
claim.printed("ε not below 1 - α: share of data sets with a model", both_labels, ">=", 1 - unsure)

fig, axis = show.axes()
for (alpha, share), marker in zip(shares.items(), show.MARKERS, strict=False):
    axis.plot(range(horizon + 1), share, marker + "-", label=f"α = {alpha}")
    colour = axis.get_lines()[-1].get_color()
    axis.axvline(separation_time(alpha, radius, rate), color=colour, linestyle="--", linewidth=1)
axis.set(xlabel="step t", ylabel="share of sentences separated")
axis.legend()
show.figure(
    fig,
    name="separation",
    caption="Share of sentences in which the layers are separated; dashed, the theorem's waiting times. At α = 0.2 "
    "sentences with more bigrams separate sooner; at α = 0.8 one step is enough, though the theorem waits for twelve.",
    alt="Three step-like curves reaching one: within two steps for alpha 0.5 and 0.8, in three jumps up to step 14 for "
    "alpha 0.2.",
)
claim.verdict()

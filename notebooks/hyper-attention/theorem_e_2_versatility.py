# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem E.2 · How many sequences are enough?
# *Ustaomeroglu, Qu: Assumption E.1, Theorem E.2, Remark E.3, Appendix E.*
#
# <!-- claim hyper-attention/assumption-e-1 -->
# <blockquote>
#
# **Assumption E.1 (Positive definite covariance of the counts)**
# *Appendix E*
#
# **As printed.** $\mathrm{Cov}(s^{(n)}) \succeq \zeta_{\min}^2 I$ with $\zeta_{\min} > 0$.
#
# **Corrected.** The counts $s^{(n)}$ are independent, with $\mathbb E[s s^\top] \succeq g I$, $g > 0$, and bounded
# norm. Uniform sequences of
# length $L$ have $g = L/|\mathcal S|$.
#
# At fixed length $\mathrm{Cov}(s)\,\mathbf 1 = 0$, so this never holds. The second moment $\mathbb E[s s^\top]$ is what
# is needed.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/theorem-e-2 -->
# <blockquote>
#
# **Theorem E.2 (Full rank with high probability)**
# *Appendix E*
#
# **As printed.** The same under Assumption E.1, by a proof in which the rows minus their mean have the rank of the
# rows.
#
# **Corrected.** If $\mathbb E[s s^\top] \succeq g I$, the count matrix of $B$ independent sequences has rank below
# $|\mathcal S|$ with probability at
# most $2|\mathcal S| \exp\bigl(-B\,\tfrac{g^2/8}{R^2 + Rg/6}\bigr)$, $R = L^2 + \|\mathbb E[s s^\top]\|$.
#
# With the second moment in place of the covariance and without subtracting the mean, which lowers the rank by one. (One
# matrix goes by the names $S$, $X$ and $A$.)
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-e-3 -->
# <blockquote>
#
# **Remark E.3 (The scenario that should justify the assumption)**
# *Appendix E*
#
# **As printed.** In this scenario $\lambda_{\min}(\Sigma) > 0$.
#
# **Corrected.** With one $\mu$ in each sequence and the other tokens drawn from $\mathcal S \setminus \{\mu\}$, the
# covariance of the counts is
# singular and the rank is $|\mathcal S| - 1$.
#
# $\lambda_{\min}(\Sigma) = 0$, and the rank is never full: this is the case of Remark D.1. Sequences in which $\mu$ may
# repeat
# have full rank.
#
# </blockquote>
# <!-- /claim -->
#
# The appendix wants to show that random sequences are versatile: the count matrix has full column rank, except with a
# probability that falls exponentially in the number of sequences. It asks for a positive definite covariance of the
# counts.
#
# That never holds. All sequences have the same length, so $\mathbf 1^\top s = L$ does not vary, and
# $\mathrm{Cov}(s)\,\mathbf 1 = 0$. The scenario given as a justification (one $\mu$, the other tokens drawn from the
# rest) is even the very case of Remark D.1, where the rank is never full.
#
# The repair is small. Rank is about the rows as they are, not about the rows minus their mean. Ask for
# $\mathbb E[ss^\top] \succeq g I$, which uniform sequences satisfy with $g = L/|\mathcal S|$, and run the same proof
# on $ss^\top - \mathbb E[ss^\top]$. With $R = L^2 + \|\mathbb E[ss^\top]\|$ it gives
#
# $$\mathbb P[\mathrm{rank} < |\mathcal S|] \le 2|\mathcal S| \exp\Bigl(-B\,\frac{g^2/8}{R^2 + Rg/6}\Bigr).$$
#
# The bound is very loose: for six symbols and eight tokens it is above 1, and says nothing, up to 62,526 sequences,
# where a dozen are enough.

# %%
import math

import torch

from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.hyper_attention.interactions.versatility import (
    count_moments,
    rank_fails,
    rank_failure_bound,
    uniform_second_moment,
)
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 6  # symbols |S|, at least 3
length = 8  # L, at least 3
many = 20_000  # sequences for the moments, at least 1000
sample_sizes = [6, 7, 8, 9, 10, 12, 15]  # B, each at least |S|
draws = 20_000  # data sets for each B, at least 100
tried = 2000  # data sets of two symbols where the bound is below a thousandth, at least 1000
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 3, 20), length=(length, 3, 50), many=(many, 1000, 10**6), sample_sizes=(sample_sizes, size, 200))
require(draws=(draws, 100, 10**6), tried=(tried, 1000, 10**5))
require(number_of_sample_sizes=(len(sample_sizes), 4, None), seed=(seed, 0, None))

# %% [markdown]
# ## The assumption

# %%
draw = generator(seed)
symbols = sample_sequences(many, length, size, draw)
covariance, moment = count_moments(symbols, size)
theory = uniform_second_moment(length, size)


def least_eigenvalue(matrix):
    return torch.linalg.eigvalsh(matrix)[0].item()


# lengths that vary: half of the sequences are shorter by some tokens, so their counts are smaller
cut = torch.randint(1, length + 1, (many, 1), generator=draw)
kept = torch.where(torch.arange(length) < cut, symbols, size)
varied = counts(kept, size + 1)[:, :size]
varied_covariance = torch.cov(varied.mT, correction=0)

# given that a symbol is there, which is what the data matrices need
_, given = count_moments(symbols[(symbols == 0).any(dim=1)], size)

claim = Claim("hyper-attention/assumption-e-1")
claim.check("least eigenvalue of E[s s^T]", least_eigenvalue(moment), ">", 0.9 * length / size)
claim.check("the same in theory", least_eigenvalue(theory), "==", length / size, tolerance=1e-12)
claim.check("least eigenvalue of E[s s^T], given that a symbol is there", least_eigenvalue(given), ">", 0.1)
claim.check("Cov(s) times the vector of ones, largest entry", covariance.sum(dim=1).abs().max(), "<=", 1e-12)
claim.counterexample("fixed length: least eigenvalue of Cov(s)", least_eigenvalue(covariance), ">", 1e-12)
claim.control("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance), "<=", 1e-12)
if (size, length) == (6, 8):
    claim.number("least eigenvalue of E[s s^T]", least_eigenvalue(moment))
claim.number("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance))
claim.verdict()

# %% [markdown]
# ## The theorem
# How often full rank is missed, over many data sets. The corrected bound is above 1 for all these $B$, and is shown
# only. It is tried where it is below a thousandth: two symbols, two tokens, and $B$ in the thousands. There the
# scenario of Remark E.3, one $\mu$ and one other token in each sequence, must not obey it.

# %%
frequency = {n: rank_fails(draws, n, length, size, seed + n).double().mean().item() for n in sample_sizes}
bounds = {n: rank_failure_bound(n, length, theory) for n in sample_sizes}
show.table(["sequences B", "frequency of failure", "bound"], [[n, frequency[n], bounds[n]] for n in sample_sizes])

two = uniform_second_moment(2, 2)
telling = next(n for n in range(2, 10**6) if rank_failure_bound(n, 2, two) <= 1e-3)
telling_fails = rank_fails(tried, telling, 2, 2, seed).double().mean()
one_of_each = counts(torch.tensor([[0, 1]]).expand(telling, 2), 2).long()  # one μ and the other symbol
scenario_fails = float(modular_rank(one_of_each) < 2)

fig, axis = show.axes(width=5.5)
axis.semilogy(sample_sizes, [max(frequency[n], 0.3 / draws) for n in sample_sizes], "o-")
axis.axhline(0.3 / draws, color="grey", linestyle=":", linewidth=0.8)
axis.set_xlabel("sequences B")
axis.set_ylabel("frequency of a rank below |S|")
show.figure(
    fig,
    name="failures",
    caption="How often the counts of $B$ uniform sequences miss full rank: the frequency falls exponentially. (On the "
    "dotted line: never. The lowest points are single data sets.)",
    alt="Points that fall in a nearly straight line on a logarithmic axis from about one in ten at six sequences.",
)

# %% [markdown]
# The scenario of Remark E.3: exactly one $\mu$, the other tokens uniform on the rest. And the step "rows minus their
# mean have the same rank".

# %%
others = torch.randint(1, size, (draws // 10, 40, length - 1), generator=draw)  # symbol 0 is the one
with_one = counts(torch.cat([torch.zeros_like(others[..., :1]), others], dim=-1), size)
scenario_values = torch.linalg.eigvalsh(with_one.mT @ with_one)
scenario_ranks = (scenario_values > 1e-11 * scenario_values[:, -1:]).sum(dim=1)
centred = with_one.flatten(0, 1) - with_one.flatten(0, 1).mean(dim=0)
scenario_covariance = centred.mT @ centred / len(centred)

rows = counts(sample_sequences(40, length, size, draw), size).long()
rank_of_rows = modular_rank(rows)
rank_of_centred = modular_rank(40 * rows - rows.sum(dim=0))

claim = Claim("hyper-attention/theorem-e-2")
told = rank_failure_bound(telling, 2, two)
claim.check(f"2 symbols, 2 tokens, B = {telling}: frequency of failure against the bound", telling_fails, "<=", told)
claim.control("the same with exactly one μ in each", scenario_fails, "<=", told)
slope = (math.log(frequency[sample_sizes[0]]) - math.log(frequency[sample_sizes[3]])) / (
    sample_sizes[3] - sample_sizes[0]
)
claim.check("rate at which the logarithm of the frequency falls, over the first four B", slope, ">", 0.5)
claim.printed("rank of the rows minus their mean", rank_of_centred, "==", rank_of_rows)
claim.control("one μ in each, B = 40: frequency of failure", (scenario_ranks < size).double().mean(), "<=", 0.01)
if (size, length) == (6, 8):
    for n, earlier in ((6, 0.114), (8, 0.0055), (10, 0.0005)):
        claim.number(f"B = {n}: frequency of failure", frequency[n])
claim.verdict()

# %%
repeats = [modular_rank(counts(part, size).long()) for part in sample_sequences(40 * 20, length, size, draw).split(40)]
claim = Claim("hyper-attention/remark-e-3")
claim.check("the scenario: largest rank", int(scenario_ranks.max()), "==", size - 1)
claim.check("the scenario: least rank", int(scenario_ranks.min()), "==", size - 1)
claim.check("norm of the counts against sqrt(|S|) L", with_one.norm(dim=-1).max(), "<=", size**0.5 * length)
claim.counterexample(
    "the scenario: least eigenvalue of the covariance", least_eigenvalue(scenario_covariance), ">", 1e-12
)
claim.control("uniform sequences, any number of μ: largest rank", max(repeats), "==", size - 1)
claim.verdict()

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
# **Assumption E.1 (Positive definite covariance of the counts)** *Appendix E*
#
# **As printed.** $\mathrm{Cov}(s^{(n)}) \succeq \zeta_{\min}^2 I$ with $\zeta_{\min} > 0$.
#
# **Corrected.** The counts $s^{(n)}$ are independent, with $\mathbb E[s s^\top] \succeq g I$, $g > 0$, and bounded
# norm. Uniform sequences of length $L$ have $g = L/|\mathcal S|$.
#
# At one length $\mathrm{Cov}(s)\,\mathbf 1 = 0$, so there this never holds. The second moment $\mathbb E[s s^\top]$ is
# what is needed, and it is positive definite wherever the covariance is.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/theorem-e-2 -->
# <blockquote>
#
# **Theorem E.2 (Full rank with high probability)** *Appendix E*
#
# Under Assumption E.1 the count matrix of $B$ independent sequences has rank below $|\mathcal S|$ with a probability
# that falls exponentially in $B$. So it does if only $\mathbb E[s s^\top] \succeq g I$, as for sequences of one length:
# it is at most $2|\mathcal S| \exp\bigl(-B\,\tfrac{g^2/8}{R^2 + Rg/6}\bigr)$, $R = L^2 + \|\mathbb E[s s^\top]\|$.
#
# **In the paper's proof.** The rows minus their mean have the rank of the rows. (One matrix goes by the names $S$, $X$
# and $A$.)
#
# **Corrected.** Subtracting the mean can lower the rank, and at one length it does, by one. The same proof goes through
# for the rows as they are, with the second moment in place of the covariance.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-e-3 -->
# <blockquote>
#
# **Remark E.3 (The scenario that should justify the assumption)** *Appendix E*
#
# **As printed.** In this scenario $\lambda_{\min}(\Sigma) > 0$.
#
# **Corrected.** With one $\mu$ in each sequence and the other tokens drawn from $\mathcal S \setminus \{\mu\}$, the
# covariance of the counts is singular and the rank is $|\mathcal S| - 1$.
#
# $\lambda_{\min}(\Sigma) = 0$, and the rank is never full: this is the case of Remark D.1. Sequences in which $\mu$ may
# repeat have full rank.
#
# </blockquote>
# <!-- /claim -->
#
# The appendix wants to show that random sequences are versatile: the count matrix has full column rank, except with a
# probability that falls exponentially in the number of sequences. It asks for a positive definite covariance of the
# counts.
#
# At one length that never holds. There $\mathbf 1^\top s = L$ does not vary, so $\mathrm{Cov}(s)\,\mathbf 1 = 0$. The
# scenario given as a justification (one $\mu$, the other tokens drawn from the rest) is even the very case of Remark
# D.1, where the rank is never full.
#
# Theorem E.2 is true all the same, and says more than is printed. Its proof subtracts the mean from the rows and says
# that the rank stays; at one length it falls by one. Rank is about the rows as they are. Ask for
# $\mathbb E[ss^\top] \succeq g I$, which follows from a positive definite covariance and holds for uniform sequences of
# one length too, with $g = L/|\mathcal S|$. Then run the same proof on $ss^\top - \mathbb E[ss^\top]$. With
# $R = L^2 + \|\mathbb E[ss^\top]\|$ it gives
#
# $$\mathbb P[\mathrm{rank} < |\mathcal S|] \le 2|\mathcal S| \exp\Bigl(-B\,\frac{g^2/8}{R^2 + Rg/6}\Bigr).$$
#
# The bound is very loose: for six symbols and eight tokens it is above 1, and says nothing, up to 62,526 sequences,
# where a dozen are enough. That the probability falls exponentially is seen without it: $2B$ sequences miss full rank
# only if both halves of them do, and the halves are independent, so $P_{2B} \le P_B^2$.

# %%
import torch

from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.hyper_attention.interactions.versatility import (
    count_moments,
    misses_full_rank,
    rank_fails,
    rank_failure_bound,
    uniform_second_moment,
)
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 6  # symbols |S|, from 3 to 20
length = 8  # L, from 3 to 50
many = 20_000  # sequences for the moments, from 1000 to 1000000
sample_sizes = [6, 7, 8, 9, 10, 12, 15]  # B, each from size to 200, rising
draws = 20_000  # data sets for each B, from 100 to 1000000
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 3, 20), length=(length, 3, 50), many=(many, 1000, 10**6), sample_sizes=(sample_sizes, size, 200))
require(draws=(draws, 100, 10**6), number_of_sample_sizes=(len(sample_sizes), 2, None), seed=(seed, 0, None))
require(last_sample_size=(sample_sizes[-1], sample_sizes[0] + 1, None))

# %% [markdown]
# ## The assumption

# %%
draw = generator(seed)
symbols = sample_sequences(many, length, size, draw)
drawn = count_moments(symbols, size)
theory = uniform_second_moment(length, size)


def least_eigenvalue(matrix):
    return torch.linalg.eigvalsh(matrix)[0].item()


# lengths that vary: half of the sequences are shorter by some tokens, so their counts are smaller
cut = torch.randint(1, length + 1, (many, 1), generator=draw)
kept = torch.where(torch.arange(length) < cut, symbols, size)
varied = counts(kept, size + 1)[:, :size]
varied_covariance = torch.cov(varied.mT, correction=0)

# given that a symbol is there, which is what the data matrices need, in theory: what is left without the others
absent = (1 - 1 / size) ** length
without = torch.zeros(size, size, dtype=torch.float64)
without[1:, 1:] = uniform_second_moment(length, size - 1)
given = (theory - absent * without) / (1 - absent)
spread = (counts(symbols, size)[:, 0] - counts(symbols, size)[:, 1]).square() / 2  # its mean is that eigenvalue

claim = Claim("hyper-attention/assumption-e-1")
claim.check("least eigenvalue of E[s s^T] in theory", least_eigenvalue(theory), "==", length / size, tolerance=1e-12)
claim.estimate(
    "the same, drawn: half the mean of (s_0 - s_1)²", spread, "==", length / size, tolerance=0.1 * length / size
)
claim.check("least eigenvalue of E[s s^T], given that a symbol is there", least_eigenvalue(given), ">", 1e-9)
claim.check("counts add up to L, largest distance", (counts(symbols, size).sum(dim=1) - length).abs().max(), "==", 0)
claim.printed("fixed length: least eigenvalue of Cov(s)", least_eigenvalue(drawn.covariance), ">", 1e-9)
claim.control("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance), "<=", 1e-9)
claim.number("least eigenvalue of E[s s^T], drawn", least_eigenvalue(drawn.second))
claim.number("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance))
claim.verdict()

# %% [markdown]
# ## The theorem
# How often full rank is missed, over many data sets. The bound is above 1 for all these $B$, and is shown only. It is
# tried on two symbols and two tokens, where the probability is known: the rank is 1 if all sequences have the same
# counts up to scale, so $P_B = 2^{-B} + 2 \cdot 4^{-B}$. The bound falls below a thousandth with $B$ in the thousands.
# There the scenario of Remark E.3, one $\mu$ and one other token in each sequence, must not obey it.

# %%
fails = {n: rank_fails(draws, n, length, size, seed + n) for n in sample_sizes}
frequency = {n: some.double().mean().item() for n, some in fails.items()}
bounds = {n: rank_failure_bound(n, length, theory) for n in sample_sizes}
show.table(["sequences B", "frequency of failure", "bound"], [[n, frequency[n], bounds[n]] for n in sample_sizes])

two = uniform_second_moment(2, 2)
telling = next(n for n in range(2, 10**6) if rank_failure_bound(n, 2, two) <= 1e-3)
told = rank_failure_bound(telling, 2, two)
over_bound = max((0.5**n + 2 * 0.25**n) / rank_failure_bound(n, 2, two) for n in range(1, telling + 1))
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
# The scenario of Remark E.3: exactly one $\mu$, the other tokens uniform on the rest. The halves of data sets. And the
# step "rows minus their mean have the same rank".

# %%
plenty, sets = 40 + 10 * size, min(draws // 10, 500)
others = torch.randint(1, size, (sets, plenty, length - 1), generator=draw)  # symbol 0 is the one
with_one = counts(torch.cat([torch.zeros_like(others[..., :1]), others], dim=-1), size)
scenario_values = torch.linalg.eigvalsh(with_one.mT @ with_one)
scenario_ranks = (scenario_values > 1e-11 * scenario_values[:, -1:]).sum(dim=1)
centred = with_one.flatten(0, 1) - with_one.flatten(0, 1).mean(dim=0)
scenario_covariance = centred.mT @ centred / len(centred)

halves = counts(sample_sequences(2 * size * sets, length, size, draw), size).reshape(sets, 2, size, size)
fail_by_half, fail_whole = misses_full_rank(halves), misses_full_rank(halves.flatten(1, 2))

rows = counts(sample_sequences(plenty, length, size, draw), size).long()
rank_of_rows = modular_rank(rows)
rank_of_centred = modular_rank(plenty * rows - rows.sum(dim=0))

# %%
first, last = fails[sample_sizes[0]].double(), fails[sample_sizes[-1]].double()
apart = varied.mT @ varied / many - varied_covariance

claim = Claim("hyper-attention/theorem-e-2")
claim.estimate(f"share of failures, B = {sample_sizes[0]} less B = {sample_sizes[-1]}", first - last, ">", 0)
claim.check("data sets that fail though one half does not", (fail_whole & ~fail_by_half.all(dim=1)).sum(), "==", 0)
claim.check("lengths that vary: least eigenvalue of E[s s^T] - Cov(s)", least_eigenvalue(apart), ">=", -1e-9)
claim.control(f"one μ in each, B = {plenty}: share of failures", (scenario_ranks < size).double().mean(), "<=", 0.01)
claim.printed("rank of the rows minus their mean", rank_of_centred, "==", rank_of_rows, of="proof")
claim.check(f"2 symbols, 2 tokens, B up to {telling}: probability over the bound", over_bound, "<=", 1, of="proof")
claim.control(f"the same, B = {telling}, with exactly one μ in each", scenario_fails, "<=", told, of="proof")
claim.verdict()

# %%
uniform = sample_sequences(20 * plenty, length, size, draw).split(plenty)
repeats = [modular_rank(counts(part, size).long()) for part in uniform]
claim = Claim("hyper-attention/remark-e-3")
claim.check("the scenario: largest rank", int(scenario_ranks.max()), "==", size - 1)
claim.check("the scenario: least rank", int(scenario_ranks.min()), "==", size - 1)
claim.check("norm of the counts against sqrt(|S|) L", with_one.norm(dim=-1).max(), "<=", size**0.5 * length)
claim.counterexample(
    "the scenario: least eigenvalue of the covariance", least_eigenvalue(scenario_covariance), ">", 1e-9
)
claim.control("uniform sequences, any number of μ: largest rank", max(repeats), "==", size - 1)
claim.verdict()

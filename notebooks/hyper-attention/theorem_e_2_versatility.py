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
# Training reaches the right layer if the data are varied enough. The paper says that random data are varied enough,
# except with a probability that falls exponentially in their number. What must "varied" mean for this to be true?

# %%
import math

import torch

from attention_theory.hyper_attention.certified.moments import certify_growth, certify_scenario, certify_second_moment
from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.hyper_attention.interactions.versatility import (
    given_second_moment,
    misses_versatility,
    rank_fails,
    rank_failure_bound,
    rank_failure_tail,
    uniform_second_moment,
)
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
size = 6  # symbols |S|, from 3 to 20
length = 8  # L, from 3 to 50
many = 20_000  # sequences for the moments, from 1000 to 1000000
sample_sizes = [6, 7, 8, 9, 10, 12, 15]  # B, rising, each from size to 200
draws = 20_000  # data sets for each B, from 100 to 1000000
seed = 0  # of every draw, at least 0

# %%
require(
    size=(size, 3, 20), length=(length, 3, 50), many=(many, 1000, 10**6), sample_sizes=(Each(sample_sizes), size, 200)
)
require(draws=(draws, 100, 10**6), number_of_sample_sizes=(len(sample_sizes), 2, None), seed=(seed, 0, None))
require(last_sample_size=(sample_sizes[-1], sample_sizes[0] + 1, None))

# %% [markdown]
# ## A tiny example
# Take two symbols and one token. The counts are $(1,0)$ or $(0,1)$, and their sum is always 1. This sum never varies,
# so the covariance is singular. Yet two sequences with different tokens already have full rank. The rank depends on the
# rows, not on their deviations from a mean.
#
# ## The paper states
# Here $s$ is the row of symbol counts of a sequence.
#
# <!-- claim hyper-attention/assumption-e-1 -->
# <blockquote>
#
# **Assumption E.1 (Positive definite covariance of the counts)** *Appendix E*
#
# **The paper states.** Let $s^{(n)}$ be i.i.d. random row vectors. Suppose there exist constants $\zeta_{\min} > 0$ and
# $M > 0$ such that $\Sigma := \mathrm{Cov}(s^{(n)}) \succeq \zeta_{\min}^2 I$ and $\|s^{(n)} - \mathbb E[s^{(n)}]\|_2
# \le M$ almost surely.
#
# **What is true.** The counts $s^{(n)}$ are independent, with $\mathbb E[s s^\top] \succeq g I$, $g > 0$, and bounded
# norm. Uniform sequences of length $L$ have $g = L/|\mathcal S|$.
#
# **What changed.** If all sequences have one length, $\mathrm{Cov}(s)\,\mathbf 1 = 0$, so the assumption never holds.
# The second moment is enough, and is positive definite whenever the covariance is.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/theorem-e-2 -->
# <blockquote>
#
# **Theorem E.2 (Full rank with high probability)** *Appendix E*
#
# **The paper states.** Under Assumption E.1, let $S \in \mathbb R^{B \times |\mathcal S|}$ have the rows $s^{(n)}$.
# Then there exists a positive constant $\gamma > 0$ (depending on $M$, $\zeta_{\min}$, and $|\mathcal S|$) such that
# for all sufficiently large $B$, $\mathbb P[\mathrm{rank}(S) < |\mathcal S|] \le e^{-\gamma B}$.
#
# <details><summary>Slips (2)</summary>
#
# - The proof says that the rows minus their expectation have the same rank as the rows. At one length, this rank is
#   lower by one. The same proof goes through for the rows as they are, with the second moment.
# - The proof calls one matrix $S$, $X$ and $A$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** It is enough that $\mathbb E[s s^\top] \succeq g I$ with $g>0$. For sequences of one length $L$,
# the probability is then at most $\mathbb P[\mathrm{Bin}(B, g/L^2) < |\mathcal S|]$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-e-3 -->
# <blockquote>
#
# **Remark E.3 (A scenario in which the assumption should hold)** *Appendix E*
#
# **The paper states.** If we focus on samples that contain $\mu$, then $s_\mu \ge 1$, while the other $L - 1$ slots are
# drawn from $\mathcal S \setminus \{\mu\}$. Under a uniform choice each coordinate has nonzero variance and
# $\lambda_{\min}(\Sigma) > 0$. The norm is bounded by $\sqrt{|\mathcal S|}\, L$.
#
# **What is true.** If the other slots are drawn uniformly from $\mathcal S$, and the second moment takes the place of
# $\Sigma$, as in the corrected Assumption E.1, then $\lambda_{\min}(\mathbb E[s s^\top]) > 0$ for $L \ge 2$. The bound
# on the norm is correct.
#
# **What changed.** If $\mu$ cannot be drawn again, then $s_\mu = 1$ does not vary, and the rank is $|\mathcal S| - 1$.
# At one length, $\Sigma$ is singular even if $\mu$ can be drawn again.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** There are three possible changes: $\mu$ may be drawn again, lengths may vary, and the second
# moment may replace the covariance. None is enough alone, but any two are.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/versatility-from-covariance -->
# <blockquote>
#
# **Section 4 (From the covariance to versatile data)** *Section 4, after Assumption 4.2; Appendix E, first sentence*
#
# **The paper states.** If the data distribution satisfies even milder assumption that the covariance of $s^{(n)}$ is
# positive definite (Assumption E.1), we show in Theorem E.2 that $\mathbb P(\mathrm{rank}(S_{\mathcal B_\mu}) <
# |\mathcal S|) \le e^{-\gamma |\mathcal B_\mu|}$ for some $\gamma$, meaning Assumption 4.2 is satisfied with high
# probability.
#
# **What is true.** Let $\mathbb E[s s^\top \mid s_\mu > 0] \succeq g_\mu I$ with $g_\mu > 0$, and $\|s\| \le L$. Then
# the probability is at most $\mathbb P[\mathrm{Bin}(|\mathcal B_\mu|, g_\mu/L^2) < |\mathcal S|]$, which falls
# exponentially in $|\mathcal B_\mu|$.
#
# **What changed.** The rows of $S_{\mathcal B_\mu}$ are the sequences that contain $\mu$, and the condition must hold
# for these. It does not follow from a condition on all sequences, whether on the covariance or on the second moment.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **The theorem.** If the rows so far do not span the space, some direction is orthogonal to all of them. By the second
# moment, the next row leaves their span with a probability of at least $g/L^2$. Each such row raises the rank by one,
# and we need $|\mathcal S|$ of them. The paper subtracts the mean first, which lowers the rank by one if all sequences
# have the same length.
#
# **Rows that contain a symbol.** Suppose that the counts are $(1,1)$, $(0,1)$ or $(0,2)$ with equal probability. Their
# covariance is positive definite, but every row that contains the first symbol is $(1,1)$, so the rank of these rows is
# 1.
#
# <details><summary>Proof of Assumption E.1, as corrected</summary>
#
# *The covariance.* At one length $\mathbf 1^\top s = L$ does not vary, so $\mathbf 1^\top \mathrm{Cov}(s)\, \mathbf 1 =
# \mathrm{Var}(\mathbf 1^\top s) = 0$ and the least eigenvalue is 0, whatever the sequences are.
#
# *The second moment is weaker.* $\mathbb E[ss^\top] = \mathrm{Cov}(s) + \mathbb E[s]\,\mathbb E[s]^\top \succeq
# \mathrm{Cov}(s)$.
#
# *Uniform sequences.* Two different tokens are independent, so $\mathbb E[ss^\top] = \frac{L}{|\mathcal S|} I +
# \frac{L(L-1)}{|\mathcal S|^2} \mathbf 1 \mathbf 1^\top$, and the least eigenvalue is $L/|\mathcal S|$, for every
# vector orthogonal to $\mathbf 1$. $\square$
#
# </details>
#
# <details><summary>Proof of Theorem E.2, with the second moment</summary>
#
# Let the rows so far not span the space, and let $u$ be a unit vector orthogonal to all of them. The next row has
# $\mathbb E[(s^\top u)^2] \ge g$ and $|s^\top u| \le \|s\| \le L$, so that
#
# $$g \le \mathbb E[(s^\top u)^2] \le L^2\, \mathbb P[s^\top u \ne 0] .$$
#
# With a probability of at least $p = g/L^2$, whatever has come before, the next row is outside the span, and the rank
# grows by one. So the rank after $B$ rows is at least as large, in distribution, as the smaller of $|\mathcal S|$ and
# the successes of $B$ trials with chance $p$:
#
# $$\mathbb P[\mathrm{rank} < |\mathcal S|] \le \mathbb P[\mathrm{Bin}(B, p) < |\mathcal S|] \le |\mathcal S|\,
# B^{|\mathcal S| - 1} (1 - p)^{B - |\mathcal S| + 1},$$
#
# which falls exponentially in $B$.
#
# *With Assumption E.1 as printed* the exponent depends on $M$, $\zeta_{\min}$ and $|\mathcal S|$ alone, as the theorem
# says, and neither on $L$ nor on the mean. For let $Y = s^\top u$, $a = \mathbb E[Y]$ and $p = \mathbb P[Y \ne 0]$, so
# that $|Y - a| \le M$. As $Y - a$ has mean zero, $(1 - p)\,|a| \le p M$, and for $p < 1$
#
# $$\zeta_{\min}^2 \le \mathrm{Var}(Y) \le (1 - p)\, a^2 + p M^2 \le \frac{p^2 M^2}{1 - p} + p M^2
# = \frac{p M^2}{1 - p} .$$
#
# So $p \ge \zeta_{\min}^2 / (M^2 + \zeta_{\min}^2)$, which takes the place of $g / L^2$. (Where $Y$ has two
# values, and is 0 at least half of the time, the two are equal.) $\square$
#
# </details>
#
# <details><summary>Proof of Remark E.3, as corrected</summary>
#
# In this scenario $s_\mu = 1$ in every sequence. What does not vary has no variance: row and column $\mu$ of $\Sigma$
# are zero, and $\lambda_{\min}(\Sigma) = 0$. The rank is not full either: the vector with $1 - L$ at $\mu$ and 1
# elsewhere is orthogonal to every row, since the other counts add up to $L - 1$. The smallest example has three symbols
# and two tokens: the rows are $(1, 1, 0)$ and $(1, 0, 1)$, and there are no others. (With two symbols the other tokens
# could not vary, and the remark asks that they do.)
#
# *Is a near form true?* Three changes come to mind: $\mu$ may come more often, lengths may vary, or the second moment
# takes the place of the covariance. None is enough alone. If $\mu$ may come more often, the counts still add up to $L$;
# if lengths vary, $s_\mu$ is still 1, and the covariance is singular both times; and the vector above is orthogonal to
# every row, so that the second moment is singular too. Any two of them together do it, and the second moment is already
# the correction of Assumption E.1.
#
# *The corrected form.* Let the other slots be uniform on $\mathcal S$, and $t$ their counts, so that $s = e_\mu + t$.
# Then $\mathbb E[s s^\top] = \mathrm{Cov}(t) + m m^\top$ with $m = \mathbb E[s]$, and $\mathrm{Cov}(t) =
# \frac{L-1}{|\mathcal S|} \bigl(I - \frac1{|\mathcal S|} \mathbf 1 \mathbf 1^\top\bigr)$. For $L \ge 2$ this is
# singular on the multiples of $\mathbf 1$ alone, and there $m^\top \mathbf 1 = L \ne 0$. (The same holds for other
# slots whose covariance has no further null vector.) No count exceeds $L$, so $\|s\| \le \sqrt{|\mathcal S|}\, L$.
# $\square$
#
# </details>
#
# <details><summary>Proof of Section 4, versatile random data, as corrected</summary>
#
# Given which sequences hold $\mu$, they are independent draws from the distribution of $s$ given $s_\mu > 0$, whose
# second moment is at least $g_\mu$. The proof of Theorem E.2, row by row, then says that the rank of $S_{\mathcal
# B_\mu}$ is below $|\mathcal S|$ with a probability of at most $\mathbb P[\mathrm{Bin}(|\mathcal B_\mu|, g_\mu/L^2) <
# |\mathcal S|]$. A sequence holds $\mu$ with probability $q_\mu$. With $p_\mu = q_\mu g_\mu / L^2$, Assumption 4.2
# therefore fails with a probability of at most $\sum_\mu \mathbb P[\mathrm{Bin}(B, p_\mu) < |\mathcal S|]$. $\square$
#
# </details>
#
# ## See it run
# We compute both moments for uniform sequences, and also the covariance for lengths that vary.

# %%
draw = generator(seed)
symbols = sample_sequences(many, length, size, draw)
rows = counts(symbols, size)
centred = rows - rows.mean(dim=0)
covariance, second_moment = centred.mT @ centred / many, rows.mT @ rows / many
theory = uniform_second_moment(length, size)


def least_eigenvalue(matrix):
    return torch.linalg.eigvalsh(matrix)[0].item()


# lengths that vary: every sequence keeps a random number of its tokens
cut = torch.randint(1, length + 1, (many, 1), generator=draw)
kept = torch.where(torch.arange(length) < cut, symbols, size)
varied = counts(kept, size + 1)[:, :size]
varied_covariance = torch.cov(varied.mT, correction=0)
excess = varied.mT @ varied / many - varied_covariance
spread = (rows[:, 0] - rows[:, 1]).square() / 2  # its mean is the least eigenvalue of the second moment

# %% [markdown]
# For single tokens, we know the probability exactly, because the rank is full if every symbol has been drawn. For
# longer sequences we count failures over many data sets.


# %%
def one_token(samples):
    """Probability that single tokens leave out a symbol, by inclusion and exclusion."""
    return math.fsum((-1) ** (k + 1) * math.comb(size, k) * (1 - k / size) ** samples for k in range(1, size))


def over_bound(factor, samples):
    return {f"B = {n}": one_token(n) / rank_failure_tail(n, size, factor / size) for n in samples}


tight = over_bound(1, range(8 * size, 120 * size, 4))
too_large = over_bound(2, range(60 * size, 120 * size, 4))
alone = uniform_second_moment(1, 2)  # two symbols, one token: g = 1/2, and the probability is 2^(1 - B)
by_bernstein = {f"B = {n}": 2 * 0.5**n / rank_failure_bound(n, 1, alone) for n in range(1, 1001)}
hundredfold = {f"B = {n}": 2 * 0.5**n / (4 * (rank_failure_bound(n, 1, alone) / 4) ** 100) for n in range(2, 11)}

# %%
fails = {n: rank_fails(draws, n, length, size, seed + n) for n in sample_sizes}
frequency = {n: some.double().mean().item() for n, some in fails.items()}
chance = length / size / length**2
bounds = {n: rank_failure_tail(n, size, chance) for n in sample_sizes}
short = {n: rank_fails(draws, n, 1, size, seed + n) for n in range(2 * size, 8 * size + 1, size)}
short_bounds = {n: rank_failure_tail(n, size, 1 / size) for n in short}

# %%
fig, (left, right) = show.axes(1, 2, width=9.0)
for axis, found, limits in ((left, short, short_bounds), (right, fails, bounds)):
    shares = [max(some.double().mean().item(), 0.3 / draws) for some in found.values()]
    axis.semilogy(list(found), shares, "o-", label="fraction of data sets")
    axis.semilogy(list(limits), list(limits.values()), "s--", label="bound")
    axis.axhline(0.3 / draws, color="grey", linestyle=":", linewidth=0.8)
    axis.set(xlabel="sequences B", ylabel="rank below |S|")
left.set_title("one token")
right.set_title(f"{length} tokens")
left.legend()
show.figure(
    fig,
    name="failures",
    caption="How often the counts of $B$ uniform sequences do not have full rank, and the bound. Points on the "
    "dotted line mean never.",
    alt="Left: two lines fall at the same rate on a logarithmic axis, with the bound above. Right: the fractions "
    "fall steeply while the bound stays near one.",
)

# %% [markdown]
# For single tokens, the bound falls at the true rate. For longer sequences, failures are far rarer, because most new
# rows raise the rank.
#
# **Remark E.3.** May $\mu$ be drawn again, do lengths vary, and which moment do we take? We try all combinations for
# three symbols, and then draw data sets in the paper's scenario.


# %%
def scenario_moments(again: bool, longest: int) -> tuple[float, float]:
    """Least eigenvalues of covariance and second moment, from all sequences that begin with the symbol 0, of 3."""
    mean, second = torch.zeros(3, dtype=torch.float64), torch.zeros(3, 3, dtype=torch.float64)
    for tokens in range(2, longest + 1):
        rest = torch.cartesian_prod(*[torch.arange(0 if again else 1, 3)] * (tokens - 1)).reshape(-1, tokens - 1)
        some = counts(torch.cat([torch.zeros_like(rest[:, :1]), rest], dim=1), 3)
        mean += some.mean(dim=0) / (longest - 1)
        second += some.mT @ some / len(some) / (longest - 1)
    return least_eigenvalue(second - torch.outer(mean, mean)), least_eigenvalue(second)


# %%
changes = {(again, longest): scenario_moments(again, longest) for again in (False, True) for longest in (2, 4)}
show.table(
    ["μ may be drawn again", "lengths", "smallest eigenvalue of the covariance", "of the second moment"],
    [[again, "2" if longest == 2 else "2 to 4", *both] for (again, longest), both in changes.items()],
)
one_change = {
    "μ may come again": changes[True, 2][0],
    "lengths vary": changes[False, 4][0],
    "second moment": changes[False, 2][1],
}
mean_again = (length - 1) / size + torch.eye(size, dtype=torch.float64)[0]
spread_again = torch.eye(size, dtype=torch.float64) - 1 / size  # the covariance of one slot, times |S|
again_second = (length - 1) / size * spread_again + torch.outer(mean_again, mean_again)
two_changes = {
    "μ may come again, lengths vary": changes[True, 4][0],
    "μ may come again, second moment": changes[True, 2][1],
    "lengths vary, second moment": changes[False, 4][1],
}

# %%
plenty, sets = 40 + 10 * size, min(draws // 10, 500)
others = torch.randint(1, size, (sets, plenty, length - 1), generator=draw)  # symbol 0 is the one
with_one = counts(torch.cat([torch.zeros_like(others[..., :1]), others], dim=-1), size)
scenario_values = torch.linalg.eigvalsh(with_one.mT @ with_one)
scenario_ranks = (scenario_values > 1e-11 * scenario_values[:, -1:]).sum(dim=1)
all_rows = with_one.flatten(0, 1)
scenario_covariance = torch.cov(all_rows.mT, correction=0)

uniform = sample_sequences(20 * plenty, length, size, draw).split(plenty)
repeats = [modular_rank(counts(part, size).long()) for part in uniform]
plain_rows = counts(uniform[0], size).long()
rank_of_rows, rank_of_centred = repeats[0], modular_rank(size * plain_rows - length)  # size times s less E[s]
never_full = (scenario_ranks < size).double().mean()

# %% [markdown]
# In the paper's scenario, the covariance and the second moment are singular. No single change is enough, but any two
# changes are.
#
# **Rows that contain a symbol.** The first table compares eigenvalues for all sequences with those that contain $\mu$;
# its last row is the paper's experiment. The second shows how often three symbols and two tokens give data that are not
# versatile.

# %%
worlds = [(2, 6), (length, size), (20, 360)]
eigenvalues = [[n, s, n / s, least_eigenvalue(given_second_moment(n, s))] for n, s in worlds]
show.table(["tokens", "symbols", "all sequences: tokens over symbols", "those that contain μ"], eigenvalues)

small_sizes = [10, 20, 40, 80, 160, 320]  # B for three symbols and two tokens, where failures can be counted
held = 1 - (1 - 1 / 3) ** 2
small_chance = held * least_eigenvalue(given_second_moment(2, 3)) / 4
missed, union = {}, {}
for n in small_sizes:
    pairs = sample_sequences(2000 * n, 2, 3, seed + n).reshape(2000, n, 2)
    missed[n] = misses_versatility(pairs, 3).double()
    union[n] = min(1.0, 3 * rank_failure_tail(n, 3, small_chance))
show.table(["B", "fraction not versatile", "bound"], [[n, missed[n].mean().item(), union[n]] for n in small_sizes])

# %% [markdown]
# Sequences that contain $\mu$ have the smaller eigenvalue, so we need more of them. For three symbols and two tokens,
# we also know the exact probability: each of the six unordered pairs must have been drawn.


# %%
def not_versatile(samples: int) -> float:
    """Probability that one of the six pairs has not come, by inclusion and exclusion."""
    chances = [(i, j, 1 - i / 9 - 2 * j / 9) for i in range(4) for j in range(4) if i + j]
    return math.fsum((-1) ** (i + j + 1) * math.comb(3, i) * math.comb(3, j) * left**samples for i, j, left in chances)


def over_union(factor: float, samples: range) -> dict[str, float]:
    tails = {n: min(1.0, 3 * rank_failure_tail(n, 3, factor * small_chance)) for n in samples}
    return {f"B = {n}": not_versatile(n) / tail for n, tail in tails.items()}


def given_rows(factor: float, rows: range) -> dict[str, float]:
    """Exact probability over the bound for so many rows that hold one of the three symbols."""
    exact = {n: 0.8**n + 2 * 0.6**n - 2 * 0.4**n - 0.2**n for n in rows}
    chance = factor * least_eigenvalue(given_second_moment(2, 3)) / 4
    return {f"{n} rows": exact[n] / rank_failure_tail(n, 3, chance) for n in rows}


within_rows, beyond_rows = given_rows(1, range(3, 400)), given_rows(6, range(100, 401, 20))
within_union, beyond_union = over_union(1, range(10, 2001, 10)), over_union(6, range(200, 401, 20))

# %% [markdown]
# ## How we checked
# Exact probabilities must stay below the bounds. As a control, they must exceed the bounds if we assume that rows raise
# the rank more often. Exact arithmetic settles the moments for small sizes, and z3 proves for all distributions how
# often a row raises the rank.

# %%
g = length / size
claim = Claim("hyper-attention/assumption-e-1")
claim.equal("least eigenvalue of E[s s^T] in theory", least_eigenvalue(theory), g, tolerance=1e-12)
claim.equal("the same, drawn: half the mean of (s_0 - s_1)²", estimate(spread), g, tolerance=0.1 * g)
claim.equal("counts add up to L, largest distance", (rows.sum(dim=1) - length).abs().max(), 0)
claim.at_least("lengths that vary: least eigenvalue of E[s s^T] - Cov(s)", least_eigenvalue(excess), -1e-9)
claim.printed.above("fixed length: least eigenvalue of Cov(s)", least_eigenvalue(covariance), 1e-9)
claim.control.at_most("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance), 1e-9)
claim.number("least eigenvalue of E[s s^T], drawn", least_eigenvalue(second_moment))
claim.number("lengths that vary: least eigenvalue of Cov(s)", least_eigenvalue(varied_covariance))
claim.certified("four symbols, exactly", certify_second_moment())
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-e-3")
claim.equal("the scenario: largest rank", int(scenario_ranks.max()), size - 1)
claim.equal("the scenario: least rank", int(scenario_ranks.min()), size - 1)
claim.at_most("norm of the counts against sqrt(|S|) L", with_one.norm(dim=-1).max(), size**0.5 * length)
least = least_eigenvalue(scenario_covariance)
claim.printed.above("the scenario: least eigenvalue of the covariance", least, 1e-9)
claim.control.above("the scenario with one change: least eigenvalue", max(one_change.values()), 1e-9)
claim.above("the scenario with two changes: least eigenvalue", two_changes, 1e-9)
claim.above("μ may come again, second moment: least eigenvalue at this size", least_eigenvalue(again_second), 1e-9)
claim.control.equal("uniform sequences, any number of μ: largest rank", max(repeats), size - 1)
claim.certified("three symbols, exactly", certify_scenario())
claim.verdict()

# %%
three_rows = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 2.0]], dtype=torch.float64)
of_first = modular_rank(three_rows[three_rows[:, 0] > 0].long().repeat(5, 1))
no_repeats = counts(torch.combinations(torch.arange(4)), 4)
claim = Claim("hyper-attention/versatility-from-covariance")
least_three = least_eigenvalue(torch.cov(three_rows.mT, correction=0))
claim.equal("counts (1,1), (0,1), (0,2): least eigenvalue of the covariance", least_three, 1 / 9, tolerance=1e-12)
claim.printed.equal("the rows of these that hold the first symbol: rank", of_first, 2)
least_pairs = least_eigenvalue(no_repeats.mT @ no_repeats / 6)
claim.equal("no repeats, four symbols: least eigenvalue of E[s s^T]", least_pairs, 1 / 3, tolerance=1e-12)
claim.equal("the rows of these that hold a symbol: rank", modular_rank(no_repeats[no_repeats[:, 0] > 0].long()), 3)
claim.at_most("3 symbols, 2 tokens, given the rows: exact probability over the bound", within_rows, 1 + 1e-9)
claim.control.at_most("the same with g six times as large", beyond_rows, 1 + 1e-9)
for n in small_sizes[-1:]:
    claim.at_most(f"3 symbols, 2 tokens, B = {n}: share not versatile", estimate(missed[n]), union[n])
claim.at_most("3 symbols, 2 tokens, not versatile: exact probability over the bound", within_union, 1 + 1e-9)
claim.control.at_most("the same with p six times as large", beyond_union, 1 + 1e-9)
claim.verdict()

# %%
share = torch.arange(1, 100, dtype=torch.float64) / 100
variance, reach = share * (1 - share), torch.maximum(share, 1 - share)
over_chance = (share * (reach.square() + variance) / variance).min()
over_half = (share * (reach.square() / 4 + variance) / variance).min()

# %%
first, last = fails[sample_sizes[0]].double(), fails[sample_sizes[-1]].double()
claim = Claim("hyper-attention/theorem-e-2")
claim.above(f"share of failures, B = {sample_sizes[0]} less B = {sample_sizes[-1]}", estimate(first - last), 0)
claim.at_most("one token: exact probability over the bound", tight, 1 + 1e-9)
claim.control.at_most("one token: exact probability over the bound with p twice as large", too_large, 1 + 1e-9)
claim.control.at_most(f"one μ in each, B = {plenty}: share of failures", never_full, 0.01)
claim.printed.equal("rank of the rows minus their expectation", rank_of_centred, rank_of_rows, of="proof")
claim.at_least("two values: chance that Y is not 0 over ζ²/(M² + ζ²), least", over_chance, 1 - 1e-12, of="proof")
claim.control.at_least("the same with M half as large", over_half, 1 - 1e-12, of="proof")
claim.at_most("two symbols, one token: probability over Bernstein's bound", by_bernstein, 1, of="proof")
claim.control.at_most("the same with a hundredfold exponent", hundredfold, 1, of="proof")
claim.certified("every distribution: the chance that a row raises the rank", certify_growth())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - With the matrix Bernstein inequality, which the paper uses, the repaired proof gives
#   $2|\mathcal S|\exp\bigl(-B\,\frac{g^2/8}{R^2 + Rg/6}\bigr)$ with $R = L^2 + \|\mathbb E[ss^\top]\|$. For six symbols
#   and eight tokens, this bound is above 1 up to 62,526 sequences, although a dozen are enough.
# - Under Assumption E.1 as stated, we test the bound on the probability that a row raises the rank in a case where it
#   is tight: $Y$ is 1 with probability $p$ and 0 otherwise.
# - The second moment over all sequences does not help with rows that contain a symbol. For two tokens without repeats
#   from four symbols, its smallest eigenvalue is $\frac13$, yet these rows have rank 3.
#
# </details>
#
# ## Where the paper differs
# Assumption E.1 cannot hold at one length; the second moment must replace the covariance. For versatile data, the
# condition must hold among the sequences that contain a given symbol.
#
# ## What to remember
# - Counts at one length have a singular covariance. Their second moment can still be positive definite.
# - Each new sequence raises the rank with at least a known probability, so failures become exponentially rare.
# - Versatile data need such a second moment for the sequences that contain a given symbol.
#
# ## Exercises
#
# 1. *By hand.* Take two symbols and $B$ sequences of one token. What is the probability that the rank is below 2?
#    <details><summary>Solution</summary>
#
#    All tokens must be equal, so the probability is $2\cdot2^{-B}=2^{1-B}$.
#
#    </details>
# 2. *By hand.* Why does the scenario of Remark E.3 with $L=2$ and three symbols never have full rank?
#    <details><summary>Solution</summary>
#
#    The only rows are $(1,1,0)$ and $(1,0,1)$, and two rows cannot span three dimensions.
#
#    </details>
#
# Back to [Theorem 4.4](theorem_4_4_gradient_flow.ipynb), which needs versatile data.

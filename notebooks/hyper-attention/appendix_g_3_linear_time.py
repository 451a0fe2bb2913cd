# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix G.3 · Order 3 in linear time
# *Ustaomeroglu, Qu: Appendix G.3, Eqs. 42 and 43.*
#
# HyperAttention of order 3 scores every pair of tokens for every query, so its cost is cubic in the length. Without a
# softmax, we can exchange the order of the sums. How much does this save, and does it still work for ordered pairs, or
# with a softmax?

# %%
import math
from itertools import pairwise

import torch
from torch import Tensor

from attention_theory.hyper_attention.certified.tuples import certify_linear_form
from attention_theory.hyper_attention.layers.linear_sums import cubic_pair_sum, linear_pair_sum
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.taylor_features import (
    approximate_pair_attention,
    taylor_features,
)
from attention_theory.measure import cpu_seconds, entries_touched, matrix_operations
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.trends import exponent
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 50  # tokens L for the comparison, from 3 to 120
rank = 5  # features of queries, keys and values R, from 2 to 32
linear_lengths = [64, 256, 1024, 4096]  # lengths for the linear form, each from 16 to 65536
cubic_lengths = [32, 64, 128, 256]  # lengths for the cubic form, each from 32 to 400
degrees = [0, 1, 2, 3, 4, 5]  # degrees p of the series, each from 0 to 8
bounds = [0.3, 1.0, 2.0]  # largest entry c of queries and keys, each from 0.1 to 4, rising, the first at most 0.4
short = 24  # tokens for the softmax, from 3 to 60
seed = 0  # of every draw, at least 0

# %%
require(tokens=(tokens, 3, 120), rank=(rank, 2, 32), linear_lengths=(Each(linear_lengths), 16, 65536))
require(cubic_lengths=(Each(cubic_lengths), 32, 400), degrees=(Each(degrees), 0, 8), bounds=(Each(bounds), 0.1, 4.0))
require(first_bound=(bounds[0], 0.1, 0.4), short=(short, 3, 60), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Three tokens have the numbers 1, 2 and 3. The sum of the products over all nine pairs is $(1+2+3)^2=36$, a product of
# two sums. If we sum only over pairs with $j_1\ge j_2$, we need *prefix sums*.

# %%
numbers = [1, 2, 3]
prefixes = [sum(numbers[: place + 1]) for place in range(3)]
show.table(
    ["number of $j_1$", "sum of the numbers up to $j_1$", "product"],
    [[number, prefix, number * prefix] for number, prefix in zip(numbers, prefixes, strict=True)],
    caption="The sum over ordered pairs, one row per token.",
)

# %% [markdown]
# The last column adds up to 25. In both cases, we read every token only once.
#
# ## The paper states
# <!-- claim hyper-attention/efficient-linear-form -->
# <blockquote>
#
# **Appendix G.3 (Linear HyperAttention in linear time)** *Appendix G.3, Eqs. 42 and 43*
#
# **The paper states.** Recall the definition of third order linear HyperAttention (Definition 6.1). Changing the order
# of summations, $\mathrm{HA}^{\mathrm{lin}}_{i\tau}(\mathbf X)=\sum_{\tilde\sigma}\sum_{\tilde\sigma}Q_{i,\sigma}
# \{\sum_{j_1}K^1_{j_1,\sigma}V^1_{j_1,\tilde\sigma}\} \{\sum_{j_2}K^2_{j_2,\sigma}V^2_{j_2,\tilde\sigma}\}
# V^3_{\tau,\tilde\sigma}$ (43), its computational complexity can be reduced from $\mathcal O(L^3R)$ to $\mathcal
# O(LR^2)$.
#
# **What is true.** Equation 43 is the sum over all pairs $(j_1,j_2)$. The sum over $j_1\le j_2$ of Definition 6.1, and
# causal sums, need prefix sums along the sequence, which take the same time $\mathcal O(LR^2)$.
#
# **What changed.** Definition 6.1 sums over $j_1\le j_2$, and Equation 43 gives a different function.
#
# <details><summary>Slips (1)</summary>
#
# - In Equation 43, both outer sums are over $\tilde\sigma$; they must be over $\sigma$ and $\tilde\sigma$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/softmax-approximation -->
# <blockquote>
#
# **Appendix G.3 (The softmax by a series)** *Appendix G.3*
#
# **The paper states.** Softmax HyperAttention can be approximated with features $\phi:\mathbb R^R\to\mathbb R^{R_2}$,
# where $R_2$ is $\mathcal O(R)$. (Alman & Song, 2023) show that if entries of $\mathbf Q,\mathbf K$ are less than
# $o(\sqrt[3]{\log L})$ then for $\epsilon=1/\mathrm{poly}(L)$,
# $\max_{i,\tau}|\mathrm{HA}^{\mathrm{lin}}_{i\tau}-\widehat{\mathrm{HA}}{}^{\mathrm{lin}}_{i\tau}|\le\epsilon$.
# Consequently, the trick (43) applies for nonlinear HyperAttentions.
#
# **What is true.** For fixed $R$ and such entries, the exponential series truncated after degree $p=O(\log L)$ has
# error $1/\mathrm{poly}(L)$. It has $R_2=\binom{R+p}p$ features, at most a power of $\log L$.
#
# **What changed.** A number of features that does not grow with $L$ is not enough: $K$ features give weights of rank at
# most $K$, and the weights of the softmax can stay at a distance from all such weights that does not depend on $L$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **Linear.** The score of a pair is a sum over $\sigma$ of products with one factor from each token, and its value is
# such a sum over $\tilde\sigma$. If all pairs are allowed, the sums over $j_1$ and $j_2$ separate. Each gives a small
# table, $K_1^\top V_1$ or $K_2^\top V_2$. We multiply the two tables entry by entry and apply the query:
#
# $$\mathrm{HA} = Q \bigl[ (K_1^\top V_1) \odot (K_2^\top V_2) \bigr] V_3^\top.$$
#
# In an ordered sum, the second table becomes a prefix sum. A causal sum, in which no token looks ahead, needs one more.
#
# **Softmax.** We truncate the exponential series after degree $p$. By the multinomial theorem, its terms are sums of
# products of three features, so the softmax becomes a fraction of two linear sums.
#
# <details><summary>Proof of Appendix G.3, efficient linear HyperAttention, eqs (42)-(43), as corrected</summary>
#
# *All pairs.* In $\sum_{j_1, j_2} \sum_{\sigma, \tilde\sigma} Q_{i\sigma} K^1_{j_1\sigma} K^2_{j_2\sigma}
# V^1_{j_1\tilde\sigma} V^2_{j_2\tilde\sigma} V^3_{\tau\tilde\sigma}$ the sums over $j_1$ and $j_2$ are free of each
# other, so that the term is $Q_{i\sigma} (K_1^\top V_1)_{\sigma\tilde\sigma} (K_2^\top V_2)_{\sigma\tilde\sigma}
# V^3_{\tau\tilde\sigma}$: two products of $LR^2$ multiplications, one of $R^2$ entries, and the outputs.
#
# *Ordered pairs.* For $j_1 \ge j_2$ let $S_j = \sum_{j_2 \le j} K^2_{j_2} \otimes V^2_{j_2}$, made one token at a time.
# The sum over pairs is $\sum_j (K^1_j \otimes V^1_j) \odot S_j$, and its prefix sums are the causal ones: each step
# takes $R^2$ multiplications, a few times. Strict sums take $S_{j-1}$, and $j_1 \le j_2$ exchanges the roles.
#
# *Eq. 43 on an ordered sum* counts every pair, and at $L = 2$, $R = 1$ with all entries 1 gives 4 where $j_1 \le j_2$
# has 3 pairs. $\square$
#
# </details>
#
# <details><summary>Proof of Appendix G.3, approximation of softmax HyperAttention, as corrected</summary>
#
# *The series is enough.* Let the entries be at most $c$, so that a score is at most $\tau = R c^3$ in size. The
# remainder after degree $p$ is at most $\frac{\tau^{p+1}}{(p+1)!} e^\tau$, which is a share $s \le
# \frac{\tau^{p+1}}{(p+1)!} e^{2\tau}$ of the least exponential. Numerator and denominator are off by this share at
# most, and an output by at most $\frac{2s}{1 - s} \max|V^1 V^2|$. For fixed $R$ and $c = o(\sqrt[3]{\log L})$ we have
# $\tau = o(\log L)$. With $p + 1 \ge e^2 \tau + m \log L$ and $(p+1)! \ge ((p+1)/e)^{p+1}$ the share is at most
# $e^{-(p+1)} e^{2\tau} \le L^{-m + o(1)}$. The features are $\binom{R+p}{p} \le (p + 1)^R$ with $p = O(\log L)$.
#
# *A fixed number is not.* Let the tokens be of finitely many kinds, each as often as the others. The weight of a kind
# of query on a kind of pair is then an entry of a matrix $A$ that does not depend on $L$. With $K$ features the
# approximated weights are a matrix of rank at most $K$: for each query a sum of $K$ products, over one number. If $A$
# has $k$ rows and $m$ columns, some entry is off by at least $\sigma_{K+1}(A) / \sqrt{km}$, and for some value vectors
# with entries 0 and 1 an output is off by as much. As $e^{qkl}$ has infinite rank, $\sigma_{K+1}(A) > 0$ if there are
# enough kinds. This bound does not fall with $L$, whereas $1/\mathrm{poly}(L)$ does. $\square$
#
# </details>
#
# ## See it run
# ### The linear form
# We compare the linear form and Eq. 43 with the sum over triples. In the table, `le` means $j_1\le j_2$, `ge` means
# $j_1\ge j_2$ and `lt` means $j_1<j_2$.

# %%
SUMS = [("all", False), ("all", True), ("le", False), ("ge", False), ("lt", False), ("ge", True), ("le", True)]


def inputs(length: int, width: int = rank) -> list[Tensor]:
    """Random queries, keys and values."""
    draw = generator(seed)
    return list(normal(5, length, width, seed=draw))


x = inputs(tokens)
eq_43 = linear_pair_sum(*x)
errors = {}
for sum_over, causal in SUMS:
    wanted = cubic_pair_sum(*x, sum_over=sum_over, causal=causal)
    fast = linear_pair_sum(*x, sum_over=sum_over, causal=causal)
    errors[sum_over, causal] = relative_error(fast, wanted), relative_error(eq_43, wanted)
show.table(
    ["sum over", "causal", "linear form, error", "Eq. 43, error"], [[*key, *both] for key, both in errors.items()]
)

# %% [markdown]
# Eq. 43 is correct only for the sum over all pairs. The linear form is correct for each sum.
#
# ### Cost
# We count operations and the numbers that they read and write. We also recompute the prefix sums for every token, for
# contrast.


# %%
def anew(q: Tensor, k1: Tensor, k2: Tensor, v1: Tensor, v2: Tensor) -> Tensor:
    """The causal sum over j1 >= j2 with every prefix summed from its start."""
    before = torch.ones(len(q), len(q), dtype=q.dtype).tril()[:, :, None, None]
    second = (before * (k2[:, :, None] * v2[:, None])).sum(1)
    state = (before * (k1[:, :, None] * v1[:, None] * second)).sum(1)
    return (q[:, None] @ state).squeeze(-2)


# %%
forms = {
    "Eq. 42, every triple": (cubic_lengths, lambda some: lambda: cubic_pair_sum(*some)),
    "Eq. 43": (linear_lengths, lambda some: lambda: linear_pair_sum(*some)),
    "prefix sums, causal and ordered": (
        linear_lengths,
        lambda some: lambda: linear_pair_sum(*some, sum_over="ge", causal=True),
    ),
    "prefix sums, taken anew": (cubic_lengths, lambda some: lambda: anew(*some)),
}
counted, timed = {}, {}
for name, (lengths, form) in forms.items():
    runs = [form(inputs(length)) for length in lengths]
    counted[name] = [matrix_operations(run) + entries_touched(run) for run in runs]
    timed[name] = [cpu_seconds(run) for run in runs]
show.table(
    ["form", "lengths", "exponent of operations", "exponent of seconds (this run)"],
    [[n, f"{ls[0]} to {ls[-1]}", exponent(ls, counted[n]), exponent(ls, timed[n])] for n, (ls, _) in forms.items()],
)

# %%
fig, axis = show.axes(height=3.2)
for (name, (lengths, _)), marker in zip(forms.items(), show.MARKERS, strict=False):
    axis.loglog(lengths, counted[name], marker=marker, label=name)
axis.set(xlabel="tokens L", ylabel="operations, entries included")
axis.legend()
show.figure(
    fig,
    name="operations",
    caption="Operations in matrix products, plus entries that are read and written, against the length, on "
    "logarithmic axes. “Taken anew” means that every token recomputes its prefix sums.",
    alt="Four nearly straight lines on logarithmic axes: one with slope three, one with slope two, and two parallel "
    "ones with slope one far below.",
)

# %% [markdown]
# Both linear forms have slope 1, the sum over triples has slope 3, and recomputed prefix sums have slope 2.
#
# ### The softmax by a series
# We increase the degree for three bounds $c$ on the entries of queries and keys.

# %%
draw = generator(seed)
signs = 2 * torch.rand(3, short, 3, generator=draw, dtype=torch.float64) - 1
values = normal(2, short, 3, seed=draw)
worst = {}
for bound in bounds:
    q, k1, k2 = bound * signs
    exact = pair_attention(q, k1, k2, *values, sum_over="all", causal=False)
    worst[bound] = [
        (approximate_pair_attention(q, k1, k2, *values, degree) - exact).abs().max().item() for degree in degrees
    ]
show.table(
    ["degree p", "features", *(f"error, c = {b}" for b in bounds)],
    [[p, math.comb(3 + p, p), *(worst[b][n] for b in bounds)] for n, p in enumerate(degrees)],
)

# %% [markdown]
# With entries up to 0.3, few terms suffice. Could other features do better? $K$ features give weights of rank at most
# $K$, which bounds the error from below. We compute this bound for sixteen kinds of tokens with one-dimensional queries
# and keys.

# %%
kinds = torch.linspace(-2, 2, 16, dtype=torch.float64)
weights = torch.einsum("i,j,k->ijk", kinds, kinds, kinds).flatten(1).softmax(dim=1)
least_error = torch.linalg.svdvals(weights) / weights.numel() ** 0.5  # at place K: of any K features
by_series = []
for degree in range(len(kinds)):
    q, k1, k2 = (taylor_features(kinds[:, None], degree) for _ in range(3))
    series = torch.einsum("is,js,ks->ijk", q, k1, k2).flatten(1)
    by_series.append((series / series.sum(1, keepdim=True) - weights).abs().max().item())
copies = torch.softmax(torch.einsum("i,j,k->ijk", kinds, kinds.repeat(3), kinds.repeat(3)).flatten(1), dim=1)
threefold = copies.reshape(16, 3, 16, 3, 16).sum(dim=(1, 3)).flatten(1)  # the same kinds, three times as long

# %%
fig, (left, right) = show.axes(1, 2, width=9.0, height=3.2)
for bound, marker in zip(bounds, show.MARKERS, strict=False):
    left.semilogy(degrees, worst[bound], marker=marker, label=f"entries up to {bound}")
left.set(xlabel="degree of the series", ylabel="largest error of an output", xticks=degrees)
left.legend(fontsize=8)
right.semilogy(range(1, 17), by_series, "o-", label="series of degree K - 1")
right.semilogy(range(1, 16), least_error[1:], "s--", label="lower bound for any K features")
right.set(xlabel="features K, R = 1, entries up to 2", ylabel="largest error of a weight")
right.legend(fontsize=8)
show.figure(
    fig,
    name="series",
    caption="Left: the error of the series for three bounds on the entries. Right: the error of the series, and a "
    "lower bound on the error of any $K$ features, at any length.",
    alt="Left: falling curves on a logarithmic axis, steepest for the smallest entries. Right: two falling curves, the "
    "dashed one lower, neither at zero.",
)

# %% [markdown]
# On the left, large entries need many terms. On the right, no $K$ features get below the dashed curve, at any length.
#
# ## How we checked
# For the linear form, the controls are recomputed prefix sums and the sum over triples, whose cost is not linear. A
# certificate proves all sums for four tokens and rank two.

# %%
linear_slope, cubic_slope = (
    exponent(linear_lengths, counted["Eq. 43"]),
    exponent(cubic_lengths, counted["Eq. 42, every triple"]),
)

# %%
same = cubic_pair_sum(*x, sum_over="ge", causal=True)
claim = Claim("hyper-attention/efficient-linear-form")
claim.at_most("Eq. 43 against the full sum, error", errors["all", False][0], 1e-12)
claim.at_most(
    "prefix sums against ordered and causal sums, largest error", max(one for one, _ in errors.values()), 1e-12
)
claim.equal("exponent of operations, Eq. 43", linear_slope, 1.0, tolerance=0.05)
prefix_slope = exponent(linear_lengths, counted["prefix sums, causal and ordered"])
claim.equal("exponent of operations, prefix sums", prefix_slope, 1.0, tolerance=0.05)
anew_slope = exponent(cubic_lengths, counted["prefix sums, taken anew"])
claim.close("prefix sums taken anew, error", anew(*x), same)
claim.control.equal("exponent, prefix sums taken anew", anew_slope, 1.0, tolerance=0.05)
claim.equal("exponent, every triple", cubic_slope, 3.0, tolerance=0.05)
claim.control.equal("exponent, every triple, as linear", cubic_slope, 1.0, tolerance=0.05)
claim.printed.at_most("Eq. 43 on the sum over j1 <= j2 of Definition 6.1, error", errors["le", False][1], 1e-12)
claim.certified("four tokens, rank two: all entries, each sum", certify_linear_form())
claim.verdict()

# %% [markdown]
# For the series, we compare errors with its remainder. Large entries must not reach the same error, and ten features
# must not reach $1/L^2$ at a million tokens.

# %%
largest_values = (values[0].abs().max() * values[1].abs().max()).item()


def remainder_bound(entries, degree):
    """How far the remainder of the series allows outputs to be off, for entries up to a bound; infinite if too far."""
    reach = 3 * entries**3  # the largest score, of 3 features
    share = reach ** (degree + 1) / math.factorial(degree + 1) * math.exp(2 * reach)  # of the least exponential
    return 2 * share / (1 - share) * largest_values if share < 1 else math.inf


small, large = worst[bounds[0]], worst[bounds[-1]]
within = {f"degree {p}": small[n] for n, p in enumerate(degrees) if remainder_bound(bounds[0], p) < math.inf}
limits = {case: remainder_bound(bounds[0], int(case.split()[1])) + 1e-14 for case in within}
rising = [all(low < high for low, high in pairwise(at)) for at in zip(*worst.values(), strict=True)]
below = {f"K = {k}": least_error[k].item() / by_series[k - 1] for k in range(1, 13)}

# %%
claim = Claim("hyper-attention/softmax-approximation")
claim.at_most("smallest entries: error against what the remainder of the series allows", within, limits)
claim.at_most("smallest entries: error at the largest degree", small[-1], 1e-10)
claim.equal("degrees at which the error rises with the entries", sum(rising), len(degrees))
claim.control.at_most("largest entries: error at the largest degree", large[-1], 1e-10)
claim.at_most("least error of any K features over that of the series", below, 1)
claim.close("three times as many tokens of the same kinds: change of the weights", threefold, weights, atol=1e-14)
claim.printed.at_most(
    "10 R features, R = 1: least error of a weight, against 1/L² at a million", least_error[10], 1e-12
)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Our first threshold of $10^{-6}$ for ten features, set before the run, was too high. The proof needs only that no ten
# features reach some $1/\mathrm{poly}(L)$.
#
# </details>
#
# ## What to remember
# - Over all pairs, the sums separate, and the cost of order 3 is linear in the length.
# - With prefix sums, ordered and causal sums also have linear cost.
# - A series with a power of $\log L$ features can replace the softmax; a fixed number cannot.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, what is the sum over pairs with $j_1>j_2$?
#    <details><summary>Solution</summary>
#
#    It is $2\cdot1+3\cdot(1+2)=11$.
#
#    </details>
# 2. *Predict, then run.* Set `degrees = [0, 2, 4, 6, 8]`. For which bounds on the entries does the error fall to
#    rounding level?
#    <details><summary>Solution</summary>
#
#    Only for the smallest bound, 0.3. With entries up to 2, the error is still visible at degree 8.
#
#    </details>
#
# Back: [Table 3](table_3_complexity.ipynb), which compares the cost of all layers.

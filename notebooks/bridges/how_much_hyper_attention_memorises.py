# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 3 · How much HyperAttention memorises
# *Between Theorem 1 and Proposition 2 of Memorization Capacity of Multi-Head Attention in Transformers and Definition
# G.3 of A Theoretical Study of (Hyper) Self-Attention through the Lens of Interactions.*
#
# How many examples with arbitrary labels can a layer fit? For attention the paper on memorization answers with the rank
# of a matrix of features. Each of $H$ heads averages the $n$ tokens of an example's context, with softmax weights made
# by keys and queries of width $d_h$; the averages are the example's row of the matrix, and the output is linear in
# them. With one context for all examples the rank is at most $H(n-1)+1$, since the weights of each head add up to one,
# and the paper's Theorem 1 reaches $H(\min(n, d_h)-1)+1$.
#
# HyperAttention of order $s$ puts its softmax on tuples of $s-1$ tokens, where attention, of order 2, has single ones.
# A tuple behaves like a token of its own, $x_{j_1} \otimes \dots \otimes x_{j_{s-1}}$, the list of all products of
# their entries, so there are $n^{s-1}$ of them in place of $n$. This page asks for the rank, and finds it exactly; at
# order 2 it sharpens what Theorem 1 says of $d_h$.

# %%
from itertools import pairwise, product

import torch

from attention_theory.bridges.hyper_capacity import (
    capacity_bound,
    exact_features,
    exact_rank,
    random_scores,
    softmax_features,
)
from attention_theory.memorization.attention import capacity
from attention_theory.numerics import least_norm_solution, modular_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 3  # H of the largest layers, from 2 to 4
n = 3  # tokens of a context, from 2 to 4
width = 5  # d, from n + 1 to 6
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 2, 4), n=(n, 2, 4), width=(width, n + 1, 6), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# ## The most there can be
# <!-- claim bridges/bridge-3-1 -->
# <blockquote>
#
# **Bridge 3.1 (What HyperAttention can memorise at most)**
#
# Let $H$ heads of order $s$ weigh, by a softmax of their scores, $N$ tuples of $s-1$ of $n$ context tokens of width
# $d$, and let the features of an example be the weighted means of $x_{j_1} \otimes \dots \otimes x_{j_{s-1}}$, a block
# for each head. Their rank, which bounds the examples with arbitrary labels that fixed scores can fit, is at most
# $H(N-1)+1$ where all examples have one context ($N = n^{s-1}$ for all tuples), and at most $H\,d^{s-1}$ otherwise.
# Where rearranged tuples weigh the same, as with one key for all members, $N$ counts multisets, and over all tuples
# $d^{s-1}$ becomes $\binom{d+s-2}{s-1}$. At order 2 with one context this is $H(n-1)+1$.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 3.1</summary>
#
# The features of example $t$ are $\sum_J \theta_{h,J}(t)\, x_J(t)$, $x_J = x_{j_1} \otimes \dots \otimes x_{j_{s-1}}$,
# one block for each head $h$. *One context.* They are the row $(\theta_{h,J}(t))_{h,J}$ times a matrix that is the same
# for all examples, so the rank is at most that of $\Theta$, which has $HN$ columns. The weights of each head add up
# to 1. So the sums of the columns of any two heads are equal, which makes $H-1$ independent relations, and leaves
# $HN-(H-1)$. Where rearranged tuples weigh the same, their columns of $\Theta$ are equal, and one for each multiset is
# left.
#
# *Contexts of their own.* There are $H\,d^{s-1}$ features. Where rearranged tuples weigh the same and all are summed,
# each block is a symmetric tensor. $\square$
#
# </details>
#
# The ranks are found in whole numbers. Tokens and scores are drawn as whole numbers, and logits are their products in
# units of $\log 7$, so that all softmax weights are ratios of powers of 7. Each row is made whole by the sums that the
# weights are divided by, and its rank is taken modulo a prime, which can only make it smaller.

# %%
kinds = list(product((2, 3, 4), ("all", "le"), (True, False), ("full", "width one", "width one, shared")))


def bound_of(order, sum_over, shared, scores, count=heads):
    """The bound of the proposition for these scores; shared keys of width one weigh rearranged tuples alike."""
    return capacity_bound(count, n, width, order, sum_over, shared, scores == "width one, shared")


def largest_rank(order, sum_over, shared, scores):
    """The largest exact rank of three draws."""
    count = bound_of(order, sum_over, shared, scores) + 3
    draws = (exact_rank(heads, n, width, order, count, source, sum_over, shared, scores) for _ in range(3))
    return max(draws)


found = {kind: largest_rank(*kind) for kind in kinds if bound_of(*kind) <= 200}  # larger ranks take long

# %% [markdown]
# Each rank is that of three more examples than the bound, so that it could be larger. Of three draws the largest is
# shown, since small whole numbers can fall on the exceptions of "almost all". A sum is over all tuples, or over the
# ordered ones, $j_1 \le j_2 \le \dots$

# %%
TUPLES = {"all": "all tuples", "le": "ordered tuples"}
CONTEXTS = {True: "one context", False: "contexts of their own"}


def in_words(order, sum_over, shared, scores):
    """What a rank is of: as in the table, in one line."""
    return f"order {order}, {TUPLES[sum_over]}, {CONTEXTS[shared]}, scores {scores}"


show.table(
    ["order s", "sum over", "context", "scores", "bound", "rank"],
    [
        [order, TUPLES[sum_over], CONTEXTS[shared], scores, bound_of(order, sum_over, shared, scores), rank]
        for (order, sum_over, shared, scores), rank in found.items()
    ],
    caption=f"H = {heads}, n = {n}, d = {width}. Scores of width one are a query vector times a key vector for each "
    "member; shared, the keys are one vector.",
)

# %% [markdown]
# The control holds the ranks of order 3 against the bound of order 2.

# %%
above = max(rank - bound_of(*kind) for kind, rank in found.items())
third = {in_words(*kind): rank for kind, rank in found.items() if kind[0] == 3 and kind[2]}

claim = Claim("bridges/bridge-3-1")
claim.at_most("rank above the bound, largest", above, 0)
claim.control.at_most("order 3, one context: rank, largest", max(third.values()), capacity(heads, n, width))
claim.equal("order 2, one context: bound", bound_of(2, "all", True, "full"), capacity(heads, n, width))
relations = heads * n - (heads - 1)
claim.equal("order 2: columns less relations", relations, capacity(heads, n, width), of="proof")
claim.verdict()

# %% [markdown]
# ## One context: the bound is met
# <!-- claim bridges/bridge-3-2 -->
# <blockquote>
#
# **Bridge 3.2 (The bound is met with one context)**
#
# Let all examples have one context of independent tokens, and let no two different sets of queries have the same sum.
# For almost all score tensors the rank of the features of $T$ examples is $\min(T, H(N-1)+1)$. So it is with scores of
# width one, a query vector times a key vector for each member. At order 2 that is $H(n-1)+1$ with $d_h = 1$, where
# Theorem 1 of the paper on memorization has $H(\min(n, d_h)-1)+1 = 1$.
#
# </blockquote>
# <!-- /claim -->
#
# The paper's Theorem 1 asks that queries are independent and that keys are as wide as the context is long. Neither is
# needed for the rank with one context. The reason is that exponentials with different exponents are independent
# functions, however they are made.
#
# <details><summary>Proof of Bridge 3.2</summary>
#
# The tokens are independent, so the tensors $x_J$ are, and the rank is that of $\Theta$. It is at most $H(N-1)+1$ by
# Bridge 3.1. Let $T = H(N-1)+1$; for fewer examples the rows are some of those of so many (add queries; almost all keep
# the sums of sets different), and for more they contain them.
#
# *Scores.* It is enough to find some scores with rank $T$: a determinant is an analytic function of the scores, and if
# it is not zero everywhere it is zero on a set of measure zero only. Take a vector $u$ such that the numbers $a_t =
# \langle u, q_t\rangle$ have no two different sets of equal sum either; almost every $u$ does. Take $C_h = u \otimes
# \kappa_h$, with logits $a_t\,\beta_{h,J}$, $\beta_{h,J} = \kappa_h(x_J)$, which are any numbers.
#
# *The determinant.* Multiply row $t$ by $\prod_g \sum_J e^{a_t\beta_{g,J}}$. The entry at $(h, J)$ becomes the sum of
# $e^{a_t\mu_k}$ over all $k = (k_1, \dots, k_H)$, a tuple for each head, with $k_h = J$, where $\mu_k = \sum_g
# \beta_{g,k_g}$. So $\Theta$, with its rows scaled, is $VB$ with $V_{tk} = e^{a_t\mu_k}$ and $B$ the matrix whose row
# $k$ has a 1 at each $(h, k_h)$. $B$ has rank $H(N-1)+1 = T$: the row of $k$, less that of $k$ with $k_h$ replaced by
# another tuple, is the difference of two unit vectors of block $h$. Let $B'$ be $T$ independent columns of $B$. The
# determinant is linear in each row, so
#
# $$\det(VB') = \sum_{\kappa} \det\big(B'_{\kappa(1)}, \dots, B'_{\kappa(T)}\big)\, e^{\sum_t a_t\mu_{\kappa(t)}} ,$$
#
# over all assignments $\kappa$ of a $k$ to each example. The exponent is a linear form in the $\beta_{g,J}$, with the
# coefficient $\sum a_t$ over the examples with $\kappa_g(t) = J$. It tells that set, by the choice of $u$; so different
# assignments have different linear forms, and exponentials of different linear forms are independent functions. For
# some assignment the rows $B'_{\kappa(t)}$ are a basis. So the determinant is not zero for all $\beta$.
#
# *Width one.* With a key vector for each member $\beta_{h,J} = \prod_r b^r_{h,j_r}$. The exponents are then polynomials
# in the $b$'s, and those of different tuples have different monomials, so the argument stands; with one key for all
# members different multisets have different monomials, and $N$ counts these. At order 2 this is $d_h = 1$. $\square$
#
# </details>
#
# Beside the ranks above a fit in floating point: random scores, labels drawn at random, and the least-squares read-out
# of $T = H(N-1)+1$ examples and of one more.

# %%
most = capacity_bound(2, n, width, 3)
context = normal(1, n, width, seed=source)
queries, made = normal(most + 1, width, seed=source), normal(2, width**3, seed=source) / width
features = softmax_features(queries, context.expand(most + 1, -1, -1), made, 3)
labels = normal(most + 1, 2, seed=source)


def residual_of(count):
    """The largest miss of the best read-out on the first so many examples."""
    return (features[:count] @ least_norm_solution(features[:count], labels[:count]) - labels[:count]).abs().max()


print(f"order 3, two heads: {most} examples, residual {residual_of(most):.1g}; one more: {residual_of(most + 1):.1g}")

# %% [markdown]
# Two examples with the same query break the condition of the theorem, and so does a context in which a token is twice
# another. Different queries are not enough: of $-q, 0, q$ the outer two have the sum of the middle one, and with two
# tokens a weight less $\frac12$ is an odd function of the query, so that two heads and the constant have two dimensions
# on these three.


# %%
def rank_with(queries, tokens, count):
    """The exact rank of order 2 with so many heads, at full scores."""
    scores = random_scores(count, width, 2, "full", source)
    return modular_rank(exact_features(queries, tokens.expand(len(queries), -1, -1), scores, 2))


small = capacity(heads, n, width)
whole = torch.randint(-9, 10, (small, width), generator=source)
independent = torch.eye(width, dtype=torch.int64)[:n] + torch.ones(n, width, dtype=torch.int64)
twice, dependent = whole.clone(), independent.clone()
twice[1] = whole[0]
dependent[-1] = 2 * dependent[0]
opposite = torch.stack([-whole[0], torch.zeros(width, dtype=torch.int64), whole[0]])
ranks = {
    "as the theorem asks": rank_with(whole, independent[None], heads),
    "a query twice": rank_with(twice, independent[None], heads),
    "dependent tokens": rank_with(whole, dependent[None], heads),
    "queries -q, 0, q, two tokens, two heads": rank_with(opposite, independent[None, :2], 2),
}
show.table(["order 2", "examples", "rank"], [[name, 3 if "-q" in name else small, ranks[name]] for name in ranks])

# %% [markdown]
# The matrix $B$ of the proof, for two heads of order 2, and the ranks with one context:

# %%
unit = torch.eye(n, dtype=torch.int64)
incidence = torch.cat([unit.repeat_interleave(n, dim=0), unit.repeat(n, 1)], dim=1)
one_context = {in_words(*kind): (rank, bound_of(*kind)) for kind, rank in found.items() if kind[2]}
narrow = found[2, "all", True, "width one"]

# %% [markdown]
# Among the checks is the one of Theorem 1 with $d_h = 1$, where the paper promises a single example.

# %%
claim = Claim("bridges/bridge-3-2")
for name, (rank, most_there) in one_context.items():
    claim.equal(f"{name}: rank", rank, most_there)
claim.equal("order 2, d_h = 1: rank above Theorem 1's bound", narrow - capacity(heads, n, 1), small - 1)
claim.at_most("order 3, in floating point: residual at the bound", residual_of(most), 1e-4)
claim.control.at_most("one example more: residual", residual_of(most + 1), 1e-4)
claim.equal("rank of B for two heads, order 2", modular_rank(incidence), 2 * (n - 1) + 1, of="proof")
claim.control.equal("a query twice: rank", ranks["a query twice"], small)
claim.control.equal("dependent tokens: rank", ranks["dependent tokens"], small)
claim.control.equal("queries -q, 0, q: rank", ranks["queries -q, 0, q, two tokens, two heads"], 3)
claim.verdict()

# %% [markdown]
# ## Contexts of their own: the bound is met
# <!-- claim bridges/bridge-3-3 -->
# <blockquote>
#
# **Bridge 3.3 (The bound is met with separate contexts)**
#
# Let $2 \le n \le d$ and $s-1 \le n$, and let the sum be over all tuples or over $j_1 \le j_2 \le \dots$ For almost all
# score tensors and almost all $T$ examples with contexts of their own the rank is $\min(T, H\,d^{s-1})$. With $n < s-1
# \le d$ it is at most $H\,(d^{s-1} - \binom{d}{s-1})$. At order 2 the rank is $\min(T, Hd)$ from $n = 2$ on, which is
# what Appendix I.1 of the paper on memorization conjectures for tokens in general position, here for almost all of
# them.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 3.3</summary>
#
# Let $m = s-1$. It is enough that the $H\,d^m$ features are independent functions of query and context, for almost all
# scores: then $H\,d^m$ examples have a determinant that is not zero, and almost all have. (For fewer examples take some
# of its rows.)
#
# By Bridge 3.2, with a determinant that is analytic in scores and context together, for almost all scores and contexts
# the only relations among the functions $\theta_{h,J}$ of the query are that the weights of each head add up to 1. Take
# such scores. A relation among the features is a form $W_h$, linear in each of $m$ vectors, for each head, with $\sum_h
# \sum_J \theta_{h,J}\,W_h(x_J) = 0$ for all queries and contexts. For almost every context then $W_h(x_J)$ is one
# number $c_h$ for all tuples $J$. Both $W_h(x_1, \dots, x_1)$ and $W_h(x_2, \dots, x_2)$ are among them, so that
# $W_h(x, \dots, x)$ is the same for almost all $x$. It is homogeneous of degree $m \ge 1$; so it is 0, and $c_h = 0$.
# Since $n \ge m$, also $W_h(x_1, \dots, x_m) = 0$, for almost all vectors, and $W_h = 0$.
#
# *Fewer tokens.* With $n < m \le d$ each tuple has a repeated token, and alternating forms vanish on all of them. These
# have dimension $\binom{d}{m}$, and each is a relation for each head. $\square$
#
# </details>
#
# Order 4 with contexts of two tokens has fewer tokens than a tuple has members. There the alternating forms are lost,
# one for each choice of three coordinates.

# %%
own_context = {kind: rank for kind, rank in found.items() if kind[2:] == (False, "full") and kind[0] - 1 <= n}
few_tokens = exact_rank(1, 2, 3, 4, 30, source, shared=False)
one_token = exact_rank(2, 1, 4, 2, 12, source, shared=False)

claim = Claim("bridges/bridge-3-3")
for kind, rank in own_context.items():
    claim.equal(f"{in_words(*kind)}: rank", rank, bound_of(*kind))
claim.equal("order 4, n = 2, d = 3, one head: rank, 27 less an alternating form", few_tokens, 27 - 1, of="proof")
claim.control.equal("order 4, n = 2, d = 3, one head: rank", few_tokens, 27)
claim.control.equal("order 2, n = 1, d = 4, two heads: rank", one_token, 8)
claim.verdict()

# %% [markdown]
# ## What a head buys, and what a number
# <!-- claim bridges/bridge-3-4 -->
# <blockquote>
#
# **Bridge 3.4 (More for each head, less for each number)**
#
# A head of order $s$ has $d^{s-1}$ entries of its value for each output, and adds $n^{s-1}-1$ to the rank in one
# context of $n$ tokens, $2 \le n < d$. So a head of higher order memorises more, and each of its entries
# $(n^{s-1}-1)/d^{s-1}$, which falls from order $s$ to $s+1$ if and only if $n^{s-1} > (d-1)/(d-n)$, and goes to 0.
#
# </blockquote>
# <!-- /claim -->
#
# A second head adds $N-1$ to the rank in one context. It brings $d^{s-1}$ entries of its value for each output. In the
# exact ranks:


# %%
def added_by_a_head(order, shared):
    """The exact rank of two heads less that of one."""
    ranks = [
        exact_rank(count, n, width, order, capacity_bound(count, n, width, order, "all", shared), source, "all", shared)
        for count in (1, 2)
    ]
    return ranks[1] - ranks[0]


# %% [markdown]
# For each order, and divided by the entries of a value:

# %%
orders = [2, 3, 4] if width <= 5 else [2, 3]
added = {(order, shared): added_by_a_head(order, shared) for order in orders for shared in (True, False)}
each = {order: added[order, True] / width ** (order - 1) for order in orders}
own = {order: added[order, False] / width ** (order - 1) for order in orders}
show.table(
    [
        "order s",
        "value entries of a head, an output",
        "a head adds, one context",
        "for each entry",
        "contexts of their own",
    ],
    [[order, width ** (order - 1), added[order, True], each[order], own[order]] for order in orders],
)

# %% [markdown]
# The bars show both sides: what a head adds rises, what an entry adds falls.

# %%
fig, (left, right) = show.axes(1, 2, width=7.0, height=2.8)
left.bar([str(order) for order in orders], [added[order, True] for order in orders], color=show.COLOURS[0])
right.bar([str(order) for order in orders], [each[order] for order in orders], color=show.COLOURS[1])
left.set(xlabel="order", ylabel="rank that a head adds")
right.set(xlabel="order", ylabel="rank for each value entry")
show.figure(
    fig,
    name="bought",
    caption="What a head adds to the rank in one context, and that number divided by the value entries that it has.",
    alt="Two bar charts over the orders. The bars on the left rise from order to order, those on the right fall.",
)

# %% [markdown]
# In the control the contexts are separate, and each entry adds one at every order.

# %%
by_formula = {f"order {order}": n ** (order - 1) - 1 for order in orders}


def listed(those):
    """Orders in words."""
    return ", ".join(map(str, those)) or "none"


should_fall = listed(order for order in orders[:-1] if (width - n) * n ** (order - 1) > width - 1)
falls, own_falls = (
    listed(before for before, after in pairwise(orders) if of[after] < of[before]) for of in (each, own)
)

claim = Claim("bridges/bridge-3-4")
claim.equal("a head adds", {f"order {order}": added[order, True] for order in orders}, by_formula)
claim.equal("orders from which what an entry adds falls", falls, should_fall)
claim.control.equal("the same with contexts of their own", own_falls, should_fall)
claim.verdict()

# %% [markdown]
# What a head adds grows with the power of $n$, what it costs with that of $d$.
#
# ## What was learned
# The rank of HyperAttention's features is known exactly: $H(N-1)+1$ with one context and $H\,d^{s-1}$ with many, met by
# almost all scores. For ordinary attention in one context this says more than Theorem 1 on memorization: neither
# independent queries nor wide keys are needed for $H(n-1)+1$, and $d_h = 1$ is enough. That is a statement about ranks;
# how well conditioned such a read-out is, is another question. A head of higher order memorises more, and each of its
# numbers less.
#
# ## To try
# - Set `n = 4`: what an entry adds is the same at the orders 2 and 3, and falls from 3 to 4 only, since $n^{s-1}$ is
#   equal to $(d-1)/(d-n)$ at first.
# - Set `heads = 4`: all ranks with one context grow by $N-1$, those with many by $d^{s-1}$, or by the number of
#   symmetric tensors where the keys are shared.

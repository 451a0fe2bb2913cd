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
# How many arbitrary answers can a layer store? Ordinary attention weighs tokens. HyperAttention weighs pairs or
# triples of tokens, and there are far more of these than tokens. Does HyperAttention therefore store far more
# answers, and how large must a layer be for each answer? Neither paper answers this question. We find the exact
# number, which also says something new about ordinary attention.

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
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Two heads read one context of two tokens, $a=(1,0)$ and $b=(0,1)$. Each head distributes a total weight of 1 over what
# it reads, and returns the weighted mean. Our examples differ only in these weights. A linear read-out can give the
# examples any answers if the rows of weights, one row per example, are linearly independent.
#
# *Attention* reads $a$ and $b$. We start from the weights ½ and ½ in both heads. In each head we can shift weight from
# $a$ to $b$. Every row is the first row plus multiples of these two shifts, so we can fit three examples but never
# four.
#
# *HyperAttention of order 3* reads the pairs $aa$, $ab$, $ba$ and $bb$. We represent a pair by the list of all products
# of an entry of one token with an entry of the other, so $aa$ is $(1,0,0,0)$, $ab$ is $(0,1,0,0)$, and so on. We start
# from four weights of ¼. Each head now has three shifts, from $aa$ to each of the other pairs, so $1+2\cdot3=7$
# examples fit.


# %%
def counting(left: float, names: list[str], top: float = 4.5, cell: float = 0.6) -> None:
    """Draw the first row of weights of two heads and, below it, the shifts of either head."""
    entries = len(names)
    start = [0.15] * entries
    shifts = [[-0.45] + [0.45 * (entry == to) for entry in range(1, entries)] for to in range(1, entries)]
    still = [[0.0] * entries] * (entries - 1)
    for head, rows in enumerate(([start, *shifts, *still], [start, *still, *shifts])):
        corner = (left + head * (entries * cell + 0.4), top - len(rows) * cell)
        schematic.matrix(axis, rows, corner, cell, f"head {head + 1}")
        for row, values in enumerate(rows):
            for column, value in enumerate(values):
                at = (corner[0] + (column + 0.5) * cell, top - (row + 0.5) * cell)
                sign = {0.15: "½" if entries == 2 else "¼", 0.45: "+", -0.45: "−"}.get(value, "")
                schematic.text(axis, at, sign)
        for column, name in enumerate(names):
            schematic.text(axis, (corner[0] + (column + 0.5) * cell, top + 0.3), name, size=9)


# %%
fig, axis = schematic.canvas(7.0, 2.9)
counting(2.3, ["a", "b"])
counting(7.6, ["aa", "ab", "ba", "bb"])
for row, name in enumerate(("start", "shift 1", "shift 2")):
    schematic.text(axis, (2.1, 4.2 - 0.6 * row), name, size=9, align="right")
schematic.text(axis, (3.7, 5.4), "attention: 1 + 2 · 1 = 3 rows")
schematic.text(axis, (10.2, 5.4), "order 3: 1 + 2 · 3 = 7 rows")
show.figure(
    fig,
    name="shifts",
    caption="Two heads on two tokens. The first row has equal weights. Each further row shifts weight in one head, "
    "from the orange entry to the blue one.",
    alt="Two pairs of grids, one grid per head. Left, with the columns a and b, three rows: start, a shift in head 1, "
    "a shift in head 2. Right, with the columns aa, ab, ba and bb, seven rows: start, three shifts in head 1, three in "
    "head 2.",
)

# %% [markdown]
# The count is simple: there is one row for the start, and each head adds one row fewer than it has weights.
#
# ## What we prove
# An example is a *query* $q$ and a *context* of $n$ tokens $x_1,\dots,x_n$, all of width $d$. A head of *order* $s$
# gives a score to every tuple $J=(j_1,\dots,j_{s-1})$ of tokens. The score is linear in $q$ and in each token of the
# tuple, with coefficients from a tensor with $s$ axes. A softmax turns the scores of a head into weights. At order 2,
# tuples are single tokens, and we have ordinary attention.
#
# A tuple is represented by $x_{j_1}\otimes\dots\otimes x_{j_{s-1}}$, the list of all products of one entry per token.
# For example, $(1,2)\otimes(3,4)=(3,4,6,8)$. The *features* of an example are the weighted means of these lists, for
# all heads one after another. We write the features of $T$ examples as the rows of a matrix. If this matrix has rank
# $T$, a linear read-out can fit any $T$ answers. If the rank is smaller, some answers are out of reach.
#
# <!-- claim bridges/bridge-3-1 -->
# <blockquote>
#
# **Bridge 3.1 (What HyperAttention can memorise at most)**
#
# Let each of $H$ heads of order $s$ use a softmax of its scores to weigh $N$ tuples of $s-1$ tokens from a context of
# $n$ tokens of width $d$. Let the features of an example be the weighted means of $x_{j_1} \otimes \dots \otimes
# x_{j_{s-1}}$, with one block per head. With fixed scores, the number of arbitrarily labelled examples that can be
# fitted is at most the rank of the features. This rank is at most $H(N-1)+1$ where all examples share one context ($N =
# n^{s-1}$ for all tuples), and at most $H\,d^{s-1}$ otherwise. Where rearranged tuples get the same weight, as with one
# key for all members, $N$ counts multisets, and over all tuples $d^{s-1}$ becomes $\binom{d+s-2}{s-1}$. At order 2 with
# one context, the bound is $H(n-1)+1$.
#
# </blockquote>
# <!-- /claim -->
#
# For example, three heads of order 3 on one context of three tokens each weigh $N=9$ pairs. Their bound is
# $3\cdot8+1=25$, compared with 7 for ordinary attention. Next we prove that almost all scores reach the bound.
#
# <!-- claim bridges/bridge-3-2 -->
# <blockquote>
#
# **Bridge 3.2 (The bound is met with one context)**
#
# Let all examples share one context of independent tokens, and let no two different sets of queries have the same sum.
# For almost all score tensors, the rank of the features of $T$ examples is $\min(T, H(N-1)+1)$. The same is true for
# scores of width one, where a query vector multiplies one key vector per member. At order 2, the bound $H(n-1)+1$ is
# thus reached with $d_h = 1$, for which Theorem 1 of the paper on memorisation gives $H(\min(n, d_h)-1)+1 = 1$.
#
# </blockquote>
# <!-- /claim -->
#
# The last sentence surprised us. Theorem 1 of the paper on memorisation requires independent queries and keys of width
# $d_h\ge n$ to reach $H(n-1)+1$. Neither condition is needed for the rank. At order 2 even the condition on sums can
# go: {claim:ref}`queries need only differ <memorization/queries-that-differ>` from each other, and for $n=2$ from 0 and
# from each other's opposites. If the answers are known when the heads are built, {claim:ref}`pairs of heads
# <memorization/pairs-of-heads>` store more than the rank. With separate contexts, we find the following.
#
# <!-- claim bridges/bridge-3-3 -->
# <blockquote>
#
# **Bridge 3.3 (The bound is met with separate contexts)**
#
# Let $2 \le n \le d$ and $s-1 \le n$, and let the sum be over all tuples or over those with $j_1 \le j_2 \le \dots$.
# For almost all score tensors and almost all $T$ examples with separate contexts, the rank is $\min(T, H\,d^{s-1})$.
# With $n < s-1 \le d$ the rank is at most $H\,(d^{s-1} - \binom{d}{s-1})$. At order 2 the rank is $\min(T, Hd)$ for
# every such $n\ge2$. Appendix I.1 of the paper on memorisation conjectures this for tokens in general position, and
# here it holds for almost all tokens.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *One context.* The lists of products are fixed, and only the weights vary. A head has $N$ weights that sum to 1, hence
# $N-1$ shifts. Together with the start we get $H(N-1)+1$. Almost all scores reach this rank because exponentials with
# distinct exponents are linearly independent functions, and we can give each choice of tuples its own exponent. Wide
# keys are not needed for this.
#
# *Separate contexts.* Now the lists vary, and the bound is the number of features. Suppose that a linear relation held
# for all examples. By the first part, this relation can use only the fact that weights sum to 1. The relation therefore
# takes the same value on every tuple of a context, and hence on $(x,\dots,x)$ for almost every token $x$. But this
# value grows with the size of $x$ unless it is zero. If the context has at least as many tokens as a tuple, the
# relation is zero on all tuples.
#
# <details><summary>Proof of Bridge 3.1</summary>
#
# The features of example $t$ are $\sum_J \theta_{h,J}(t)\, x_J(t)$, $x_J = x_{j_1} \otimes \dots \otimes x_{j_{s-1}}$,
# one block for each head $h$. *One context.* These features are the row $(\theta_{h,J}(t))_{h,J}$ times a matrix that
# is the same for all examples, so the rank is at most that of $\Theta$, which has $HN$ columns. The weights of each
# head add up to 1. Therefore the sums of the columns of any two heads are equal, which gives $H-1$ independent
# relations and leaves $HN-(H-1)$. Where rearranged tuples get the same weight, their columns of $\Theta$ are equal, and
# one column per multiset is left.
#
# *Separate contexts.* There are $H\,d^{s-1}$ features. Where rearranged tuples get the same weight and all are summed,
# each block is a symmetric tensor. $\square$
#
# </details>
#
# <details><summary>Proof of Bridge 3.2</summary>
#
# The tokens are independent, so the tensors $x_J$ are independent, and the rank of the features is that of $\Theta$.
# This rank is at most $H(N-1)+1$ by Bridge 3.1. Let $T = H(N-1)+1$. With fewer examples, we add queries until there are
# $T$ of them (almost all choices keep the sums of sets different), and the rows are some of the $T$ rows. With more
# examples, the rows contain $T$ such rows.
#
# *Scores.* It is enough to find some scores with rank $T$, because a determinant is an analytic function of the scores,
# and if it is not zero everywhere, it is zero only on a set of measure zero. Take a vector $u$ such that no two
# different sets of the numbers $a_t = \langle u, q_t\rangle$ have the same sum either, which is true for almost every
# $u$. Take $C_h = u \otimes \kappa_h$, with logits $a_t\,\beta_{h,J}$, $\beta_{h,J} = \kappa_h(x_J)$, which are any
# numbers.
#
# *The determinant.* Multiply row $t$ by $\prod_g \sum_J e^{a_t\beta_{g,J}}$. The entry at $(h, J)$ becomes the sum of
# $e^{a_t\mu_k}$ over all $k = (k_1, \dots, k_H)$, a tuple for each head, with $k_h = J$, where
# $\mu_k = \sum_g \beta_{g,k_g}$. Therefore $\Theta$, with its rows scaled, is $VB$ with $V_{tk} = e^{a_t\mu_k}$ and $B$
# the matrix whose row $k$ has a 1 at each $(h, k_h)$. $B$ has rank $H(N-1)+1 = T$: the row of $k$ minus that of $k$
# with $k_h$ replaced by another tuple is the difference of two unit vectors of block $h$. Let $B'$ be $T$ independent
# columns of $B$. The determinant is linear in each row, so
#
# $$\det(VB') = \sum_{\kappa} \det\big(B'_{\kappa(1)}, \dots, B'_{\kappa(T)}\big)\, e^{\sum_t a_t\mu_{\kappa(t)}} ,$$
#
# over all assignments $\kappa$ of a $k$ to each example. The exponent is a linear form in the $\beta_{g,J}$, with the
# coefficient $\sum a_t$ over the examples with $\kappa_g(t) = J$. By the choice of $u$, the coefficient determines that
# set. Therefore different assignments have different linear forms, and exponentials of different linear forms are
# independent functions. For some assignment the rows $B'_{\kappa(t)}$ are a basis, so the determinant is not zero for
# all $\beta$.
#
# *Width one.* With a key vector for each member $\beta_{h,J} = \prod_r b^r_{h,j_r}$. The exponents are then polynomials
# in the $b$'s, and those of different tuples have different monomials, so the argument still holds. With one key for
# all members, different multisets have different monomials, and $N$ counts these. At order 2 this is $d_h = 1$.
# $\square$
#
# </details>
#
# <details><summary>Proof of Bridge 3.3</summary>
#
# Let $m = s-1$. It is enough that the $H\,d^m$ features are independent functions of query and context, for almost all
# scores: then some $H\,d^m$ examples have a nonzero determinant, and hence almost all do. (For fewer examples, take
# some rows of this matrix.)
#
# By Bridge 3.2, with a determinant that is analytic in scores and context together, for almost all scores and contexts
# the only relations among the functions $\theta_{h,J}$ of the query are that the weights of each head add up to 1. Take
# such scores. A relation among the features consists of a form $W_h$ for each head, linear in each of $m$ vectors, with
# $\sum_h \sum_J \theta_{h,J}\,W_h(x_J) = 0$ for all queries and contexts. For almost every context, $W_h(x_J)$ then has
# the same value $c_h$ for all tuples $J$. These values include $W_h(x_1, \dots, x_1)$ and $W_h(x_2, \dots, x_2)$, so
# $W_h(x, \dots, x)$ is the same for almost all $x$. This function is homogeneous of degree $m \ge 1$, so it is 0, and
# $c_h = 0$. Since $n \ge m$, we also have $W_h(x_1, \dots, x_m) = 0$ for almost all vectors, and $W_h = 0$.
#
# *Fewer tokens.* With $n < m \le d$ each tuple has a repeated token, and alternating forms vanish on all tuples. These
# forms have dimension $\binom{d}{m}$, and each form is a relation for each head. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
heads = 3  # H of the largest layers, from 2 to 4
n = 3  # tokens of a context, from 2 to 4
width = 5  # d, from n + 1 to 6
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 2, 4), n=(n, 2, 4), width=(width, n + 1, 6), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# We compute ranks exactly. We draw tokens with integer entries and integer scores, and let a score of 1 multiply a
# weight by 7. All softmax weights are then powers of 7 before we divide them by their sum. We multiply each row by
# these sums and compute the rank modulo a prime, which is never larger than the rank itself. We give each matrix three
# more examples than the bound, so that the rank could exceed it.

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

# %%
TUPLES = {"all": "all tuples", "le": "ordered tuples"}
CONTEXTS = {True: "one context", False: "contexts of their own"}


def in_words(order, sum_over, shared, scores):
    """A kind of rank in one line, as in the table."""
    return f"order {order}, {TUPLES[sum_over]}, {CONTEXTS[shared]}, scores {scores}"


# %%
show.table(
    ["order s", "sum over", "contexts", "scores", "bound", "rank"],
    [
        [
            order,
            TUPLES[sum_over],
            "one" if shared else "separate",
            scores,
            bound_of(order, sum_over, shared, scores),
            rank,
        ]
        for (order, sum_over, shared, scores), rank in found.items()
    ],
    caption=f"H = {heads}, n = {n}, d = {width}. Full scores come from any tensor. Scores of width one multiply a "
    "query vector by a key vector for each member of the tuple; shared, all members have the same key vector. Ordered "
    "tuples have $j_1\\le j_2\\le\\dots$",
)

# %% [markdown]
# In every row, the rank equals the bound. With one context, the bound is 7 at order 2, 25 at order 3 and 79 at order 4.
# We lose nothing with keys of width one. In sums over all tuples, a shared key lowers the rank, because $(a,b)$ and
# $(b,a)$ then get the same weight.
#
# ### A read-out for random answers
# Can we also fit answers in floating-point arithmetic? We give two heads of order 3 random scores, and draw random
# answers. Then we compute the least-squares read-out for $T=H(N-1)+1$ examples, and for one more example.

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
# We fit the 17 examples to within rounding error. With an eighteenth example, we miss by about one half.
#
# ### When the conditions fail
# For one context, we require independent tokens, and queries such that no two different sets of queries have the same
# sum. We violate these conditions with a query that appears twice, and with a token that is twice another. Distinct
# queries are not always enough. Of the queries $-q$, $0$ and $q$, the first and the last add up to the middle one. With
# two tokens, a weight minus ½ merely changes its sign when $q$ does. On these three examples, two heads therefore give
# us only two dimensions instead of three.


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

# %%
ranks = {
    "as the theorem asks": rank_with(whole, independent[None], heads),
    "a query twice": rank_with(twice, independent[None], heads),
    "dependent tokens": rank_with(whole, dependent[None], heads),
    "queries -q, 0, q, two tokens, two heads": rank_with(opposite, independent[None, :2], 2),
}
show.table(["order 2", "examples", "rank"], [[name, 3 if "-q" in name else small, ranks[name]] for name in ranks])

# %% [markdown]
# Each violation costs us one dimension here.
#
# ## How we checked
# We require that no rank exceeds the upper bound. As a control, we compare the ranks at order 3 with the bound at order
# 2, which these ranks must exceed.

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
# With one context, we require that every rank equals its bound. We also compare with Theorem 1 of the paper on
# memorisation, which promises only a single example at $d_h=1$. We use the three violations above as controls. For the
# proof we build its matrix $B$ for two heads of order 2.

# %%
unit = torch.eye(n, dtype=torch.int64)
incidence = torch.cat([unit.repeat_interleave(n, dim=0), unit.repeat(n, 1)], dim=1)
one_context = {in_words(*kind): (rank, bound_of(*kind)) for kind, rank in found.items() if kind[2]}
narrow = found[2, "all", True, "width one"]

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
# With separate contexts, we require the same equality if a context has at least as many tokens as a tuple. In the
# controls, a context has fewer tokens. For example, at order 4 with two tokens, every triple repeats a token. We then
# lose the forms that vanish on repeated tokens, one for each choice of three coordinates.

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
# <details><summary>Method notes</summary>
#
# - We take the largest rank of three draws, because small integers can hit the exceptions of "almost all".
# - We skip ranks above 200 because they take too long.
# - Our results are about ranks. Whether the read-out is well conditioned is a different question.
#
# </details>
#
# ## Also on this page
# ### What a head adds, and what an entry adds
# When we raise the order, a head also becomes larger, because it needs a value for every entry of the list of
# products. Do we store more in proportion to the size of the head?
#
# <!-- claim bridges/bridge-3-4 -->
# <blockquote>
#
# **Bridge 3.4 (More for each head, less for each number)**
#
# A head of order $s$ has $d^{s-1}$ value entries for each output. In one context of $n$ tokens, with $2 \le n < d$, it
# adds $n^{s-1}-1$ to the rank. A head of higher order therefore memorises more. The number per value entry is
# $(n^{s-1}-1)/d^{s-1}$, which falls from order $s$ to $s+1$ if and only if $n^{s-1} > (d-1)/(d-n)$, and tends to 0.
#
# </blockquote>
# <!-- /claim -->
#
# We compute the exact rank of two heads minus that of one, for each order.


# %%
def added_by_a_head(order, shared):
    """The exact rank of two heads less that of one."""
    ranks = [
        exact_rank(count, n, width, order, capacity_bound(count, n, width, order, "all", shared), source, "all", shared)
        for count in (1, 2)
    ]
    return ranks[1] - ranks[0]


# %%
orders = [2, 3, 4] if width <= 5 else [2, 3]
added = {(order, shared): added_by_a_head(order, shared) for order in orders for shared in (True, False)}
each = {order: added[order, True] / width ** (order - 1) for order in orders}
own = {order: added[order, False] / width ** (order - 1) for order in orders}
show.table(
    ["order s", "value entries per output", "a head adds, one context", "per entry", "per entry, separate contexts"],
    [[order, width ** (order - 1), added[order, True], each[order], own[order]] for order in orders],
)

# %%
fig, (left, right) = show.axes(1, 2, width=7.0, height=2.8)
left.bar([str(order) for order in orders], [added[order, True] for order in orders], color=show.COLOURS[0])
right.bar([str(order) for order in orders], [each[order] for order in orders], color=show.COLOURS[1])
left.set(xlabel="order", ylabel="rank that a head adds")
right.set(xlabel="order", ylabel="rank per value entry")
show.figure(
    fig,
    name="bought",
    caption="What a head adds to the rank in one context, and the same number divided by the head's value entries.",
    alt="Two bar charts over the orders. The bars on the left rise from order to order, and those on the right fall.",
)

# %% [markdown]
# A head adds 2, 8 and 26 dimensions, while each of the head's value entries adds 0.4, 0.32 and 0.21. With separate
# contexts, our control, an entry adds exactly one dimension at every order.

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
# ## What to remember
# - With one context, each head has one shift fewer than it has tuples: $H$ heads memorise exactly $H(N-1)+1$ examples.
# - With separate contexts, every feature counts: $H\,d^{s-1}$ examples.
# - With one context we need no wide keys, because $d_h=1$ reaches the same rank.
#
# ## Exercises
#
# 1. *By hand.* Two heads of order 3 read one context of three tokens. How many examples can they memorise, and how many
#    if both members of a pair have the same key?
#    <details><summary>Solution</summary>
#
#    We have $N=9$ pairs, so $2\cdot8+1=17$. With the same key, $(a,b)$ and $(b,a)$ always get the same weight. This
#    leaves six unordered pairs, so $2\cdot5+1=11$.
#
#    </details>
# 2. *Predict, then run.* Set `n = 4`. Between which orders does the rank per value entry fall now?
#    <details><summary>Solution</summary>
#
#    The condition is $n^{s-1}>(d-1)/(d-n)=4$. At $s=2$ both sides are 4, so the rank per entry does not fall from order
#    2 to 3, where it is $3/5$ and then $15/25$. From order 3 to 4 it falls to $63/125=0.504$.
#
#    </details>
#
# Next: [Bridge 4](memorising_against_understanding.ipynb), because a layer that has stored its sentences may still know
# nothing about the next sentence.

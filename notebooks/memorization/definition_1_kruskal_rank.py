# %% [markdown]
# # Definitions 1 and 2 · How independent must the data be?
# *Mahdavi, Liao, Thrampoulidis: Definitions 1 and 2, Assumptions 1 and 2, Section 4; the test of Section 5.1.*
#
# A layer of attention cannot give two answers to the same question. It can store arbitrary answers only if the
# questions differ enough. How different must questions and tokens be, and how can we test this?

# %%
from itertools import combinations
from math import comb

import torch

from attention_theory.memorization.attention import capacity, features, random_heads
from attention_theory.memorization.certified.vectors import certify_general_position, certify_kruskal_rank
from attention_theory.memorization.examples import draw, integer_vectors, sample_examples, with_faulty_context
from attention_theory.memorization.kruskal import (
    dependent_subset,
    is_in_general_position,
    kruskal_rank,
    modular_ranks,
    satisfied_fraction,
)
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Take the vectors $(1,0)$, $(0,1)$ and $(1,1)$ in the plane. Their rank is 2, because *some* pair of them is
# independent. In fact, *every* pair is independent, so their *Kruskal rank* is 2 as well. We now replace the third
# vector by a copy of the first. The rank is still 2, but the two equal vectors are dependent, and the Kruskal rank
# drops to 1. If the third vector is zero, the Kruskal rank is 0.

# %%
fig, axis = schematic.canvas(height=1.7)
sets = [(((1, 0), (0, 1), (1, 1)), 2), (((1, 0), (0, 1), (1, 0)), 1), (((1, 0), (0, 1), (0, 0)), 0)]
for panel, (vectors_of_set, k) in enumerate(sets):
    x, y = 1.6 + 4.4 * panel, 1.2
    for number, (right, up) in enumerate(vectors_of_set):
        colour = schematic.VERMILION if number == 2 else schematic.BLUE
        if right or up:
            shift = 0.18 if (number, right, up) == (2, 1, 0) else 0  # a copy is drawn next to its original
            schematic.arrow(axis, (x, y + shift), (x + 1.6 * right, y + shift + 1.6 * up), colour=colour)
        else:
            axis.plot(x, y, "o", color=colour, markersize=6)
    schematic.text(axis, (x + 0.8, 0.45), f"rank 2, Kruskal rank {k}", size=9)

# %%
show.figure(
    fig,
    name="tiny",
    caption="Three vectors in the plane. The third, in orange, is first the sum of the others, then a copy of one, and "
    "then zero.",
    alt="Three drawings of a horizontal and a vertical arrow. The first adds a diagonal arrow, the second another "
    "horizontal arrow, and the third a dot at the origin. The Kruskal ranks are 2, 1 and 0.",
)

# %% [markdown]
# The rank is always 2, but a single dependent subset lowers the Kruskal rank.
#
# ## The paper states
# <!-- claim memorization/definition-1 -->
# <blockquote>
#
# **Definition 1 (Kruskal rank)** *Section 4*
#
# **The paper states.** Kruskal Rank of a set of vectors is the largest number $i$ such that every subset of size $i$ is
# linearly independent.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/definition-2 -->
# <blockquote>
#
# **Definition 2 (General position)** *Section 4*
#
# **The paper states.** A set of vectors $\{x_1,x_2,\dots,x_m\}\subset\mathbb R^d$ is in General Position if it has the
# maximal possible Kruskal Rank of $d$.
#
# </blockquote>
# <!-- /claim -->
#
# Theorem 1 makes one assumption about the query vectors $e^{(t)}$ of the $T$ examples, and one about the $n$ tokens of
# each context. All vectors have $d$ entries.
#
# <!-- claim memorization/assumption-1 -->
# <blockquote>
#
# **Assumption 1 (Independent queries)** *Section 4*
#
# **The paper states.** The set of all query vectors $\{e^{(t)}\mid e^{(t)}\in\mathbb R^d\}_{t=1}^T$ has Kruskal Rank at
# least $n$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The proof of Theorem 1 uses at most $\min(n,d_h,T)$ queries at a time, so Kruskal rank at least
# $\min(n,d_h,T)$ is enough. A set of $T<n$ vectors cannot have Kruskal rank $n$; for this case, Appendix B adds further
# examples. As the paper says, the assumption is weaker than general position of the queries, because $n<d$. A query
# that occurs twice must count twice in the set. Otherwise one example with two labels would satisfy both assumptions.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/assumption-2 -->
# <blockquote>
#
# **Assumption 2 (Independent tokens)** *Section 4*
#
# **The paper states.** For each example $t\in[T]$, the context matrix $E^{(t)}\in\mathbb R^{n\times d}$ has rank $n$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The assumption needs $n\le d$; the theorem assumes $n<d$. The paper calls this common in
# practice, and gives the ratios $n/d$ of ViT (197/768), BERT (512/768) and GPT-3 (2048/12288). For BERT large, which
# its Appendix J tests, the ratio is 512/1024.
#
# </blockquote>
# <!-- /claim -->
#
# Real data have too many subsets to try them all, so the paper tests random ones:
#
# <!-- claim memorization/rank-test-protocol -->
# <blockquote>
#
# **Section 5.1 (The sampled test of Kruskal rank)** *Section 5.1*
#
# **The paper states.** Computing Kruskal Rank is NP-Hard. Therefore, it can only be approximately tested in polynomial
# time. We randomly sample $n$ query vectors. We then test if the rank of the matrix is equal to $n$. After repeating
# this test 5000 times, we report that the assumption holds if the rank check holds for at least 99% of the test
# instances.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** It is known that the Kruskal rank is NP-hard to compute; we do not judge this. The test
# estimates the fraction of independent subsets, up to the tolerance of the arithmetic. If one of the $\binom{60}{6}$
# subsets of 60 vectors is dependent, 5000 draws include it with probability $10^{-4}$. The same vectors may pass in
# float64 and fail in float32.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A head returns a weighted mean of its tokens. The possible means of three independent tokens fill a triangle, and
# those of $n$ independent tokens fill a flat piece of $n-1$ dimensions. If one token is a copy or the mean of others,
# this piece loses a dimension, and so does every head. If one token is the *sum* of the others, the piece keeps its
# dimensions, but its plane passes through the origin, which costs one dimension in total. Let row $t$ of the matrix $Z$
# contain the means of all heads for example $t$. Its rank is the number of labels that we can choose freely.

# %% tags=["parameters"]
draws = 5000  # random subsets in the sampled test, at least 100
vectors = 24  # vectors in the enumerated set, from 8 to 30
size = 5  # size of the planted dependent subset, from 3 to 5
seed = 0  # seed of every draw, at least 0

# %%
require(draws=(draws, 100, None), vectors=(vectors, 8, 30), size=(size, 3, 5), seed=(seed, 0, None))

# %%
n, d, H = 5, 10, 4
contexts = sample_examples(20, n, d, shared=False, law="integer", seed=seed)
broken = with_faulty_context(contexts, "duplicate")
exact_rank, broken_rank = (int(modular_ranks(one.contexts.long()).min()) for one in (contexts, broken))
shared = sample_examples(H * n + 3, n, d, seed=seed)
heads = random_heads(H, d, d, seed + 1)
rank_of = {"as assumed": int(numerical_rank(features(heads, shared)))}
for fault in ("duplicate", "affine", "linear"):
    rank_of[fault] = int(numerical_rank(features(heads, with_faulty_context(shared, fault))))
called = {"affine": "the mean of the others", "linear": "the sum of the others"}
show.table(
    ["last token of the shared context", "rank of Z"],
    [(called.get(fault, fault), rank) for fault, rank in rank_of.items()],
    f"H = {H}, n = {n}, d = {d}, T = {H * n + 3}",
)

# %% [markdown]
# The ranks confirm this.
#
# ## See it run
# We begin with sets that we can work out by hand. For example, vectors $(1,x,x^2,\dots,x^{d-1})$ with distinct $x$ are
# in general position, because any $d$ of them form an invertible Vandermonde matrix.

# %%
triple = [[1, 0], [0, 1], [1, 1]]
powers = [[node**power for power in range(4)] for node in range(-3, 4)]
known = [
    ("e1, e2, e1 + e2 in the plane", triple, 2),
    ("the same three in space", [[*vector, 0] for vector in triple], 2),
    ("powers of -3, ..., 3 (Vandermonde)", powers, 4),
    ("a vector given twice", [[1, 2, 3], [0, 1, 0], [1, 2, 3]], 1),
    ("a zero vector", [[1, 0], [0, 0]], 0),
]
enumerated = [kruskal_rank(torch.tensor(vectors_)) for _, vectors_, _ in known]
show.table(
    ["set", "Kruskal rank by hand", "by enumeration"], [(k[0], k[2], f) for k, f in zip(known, enumerated, strict=True)]
)

# %% [markdown]
# Next we make a single subset of random vectors dependent.

# %%
generic = integer_vectors(vectors, size, seed=seed + 1, largest=25)
planted = generic.clone()
planted[-1] = planted[: size - 1].sum(dim=0)  # depends on size - 1 others: one bad subset of that size

# %%
tokens = 4
queries = integer_vectors(12, tokens, seed=seed, largest=95)
few = queries[:3]
doubled = queries.clone()
doubled[7] = doubled[2]

# %% [markdown]
# We run the sampled test on a small set, and on 60 vectors with a single dependent subset.

# %%
small = integer_vectors(10, 4, seed=seed, largest=1)
subsets = torch.tensor(list(combinations(range(10), 4)))
exact_fraction = (modular_ranks(small[subsets]) == 4).double().mean().item()
sampled_fraction = satisfied_fraction(small.double(), 4, draws, seed)
spread = (exact_fraction * (1 - exact_fraction) / draws) ** 0.5

crowd = draw("gaussian", 60, 12, seed=seed)[:, :6]
crowd[5] = crowd[:5].sum(dim=0)
crowd_fraction = satisfied_fraction(crowd, 6, draws, seed)
chance = 1 - (1 - 1 / comb(60, 6)) ** draws
dependent = round((1 - exact_fraction) * len(subsets))
show.table(
    ["set", "dependent subsets", f"independent in {draws} draws"],
    [
        ("10 vectors of 0 and ±1, four at a time", f"{dependent} of {len(subsets)}", sampled_fraction),
        ("60 vectors, six at a time", f"1 of {comb(60, 6)}", crowd_fraction),
    ],
)

# %% [markdown]
# The test estimates the fraction correctly, but it overlooks the single dependent subset. It also depends on rounding:
# vectors whose coordinates fade quickly may look dependent.

# %%
fading = draw("gaussian", 400, 40, seed=seed) * 10.0 ** (-torch.arange(40, dtype=torch.float64) / 4)
sizes = [5, 10, 15, 20, 25, 28, 30, 32, 35, 40]
curves = {
    name: [satisfied_fraction(fading.to(dtype), k, 300, seed) for k in sizes]
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64))
}

# %%
fig, axis = show.axes()
for (name, curve), marker in zip(curves.items(), show.MARKERS, strict=False):
    axis.plot(sizes, curve, marker=marker, label=name)
axis.set(xlabel="size k of the subsets", ylabel="satisfied fraction")
axis.legend()
show.figure(
    fig,
    name="fading",
    caption="The test on 400 vectors in 40 dimensions, whose coordinates shrink by a factor of 10 every four "
    "dimensions. The vertical axis shows the fraction of 300 random subsets that pass.",
    alt="Two curves of the satisfied fraction against subset size. The float64 curve stays at 1; the float32 curve is "
    "1 up to size 15 and 0 at sizes of 25 or more.",
)

# %% [markdown]
# In float64 all subsets pass. In float32 the same vectors fail at sizes of 25 or more.
#
# ## How we checked
# We enumerate all subsets in integer arithmetic. In the controls, one subset is dependent, and the Kruskal rank must be
# lower.

# %%
claim = Claim("memorization/definition-1")
claim.equal("sets by hand, wrong answers", sum(f != k[2] for k, f in zip(known, enumerated, strict=True)), 0)
claim.equal(f"{vectors} random vectors of width {size}", kruskal_rank(generic), size)
claim.control.equal("the same with one dependent subset planted", kruskal_rank(planted), size)
claim.certified("all sets of three small vectors in the plane", certify_kruskal_rank())
claim.verdict()

# %%
claim = Claim("memorization/definition-2")
claim.true("powers of -3, ..., 3 in general position", is_in_general_position(torch.tensor(powers)))
claim.true("random vectors in general position", is_in_general_position(generic))
claim.control.true("with one dependent subset planted", is_in_general_position(planted))
claim.certified("all sets of three small vectors in the plane", certify_general_position())
claim.verdict()

# %%
claim = Claim("memorization/assumption-1")
claim.at_least("Kruskal rank of 12 random queries, n = 4", kruskal_rank(queries), tokens)
claim.equal("3 of them, fewer than n: Kruskal rank", kruskal_rank(few), len(few))
claim.control.at_least("12 queries, one of them twice", kruskal_rank(doubled), tokens)
claim.verdict()

# %%
claim = Claim("memorization/assumption-2")
claim.equal("smallest exact rank of 20 contexts", exact_rank, n)
claim.equal("rank of Z, shared context of rank n", rank_of["as assumed"], capacity(H, n, d))
claim.control.equal("smallest exact rank with a duplicate token", broken_rank, n)
claim.control.equal("rank of Z with a duplicate token", rank_of["duplicate"], capacity(H, n, d))
claim.control.equal("rank of Z with the mean as last token", rank_of["affine"], capacity(H, n, d))
claim.number("rank of Z, duplicate or mean", rank_of["affine"])
claim.number("rank of Z, sum of the others", rank_of["linear"])
claim.verdict()

# %%
claim = Claim("memorization/rank-test-protocol")
claim.at_most("sampled less exact share, in standard errors", abs(sampled_fraction - exact_fraction) / spread, 4)
claim.true("planted subset found by enumeration", dependent_subset(planted, size) is not None)
claim.at_least("float64, share at k = 40", curves["float64"][-1], 0.99)
claim.control.at_least("float32, share at k = 40, same vectors", curves["float32"][-1], 0.99)
claim.control.at_least(
    "queries of rank n - 1 pass the 99 % rule", satisfied_fraction(crowd * torch.arange(6), 6, 500, seed), 0.99
)
claim.at_least("one dependent subset among 60 queries: share, which the 99 % rule passes", crowd_fraction, 0.99)
claim.number("probability that the draws meet it", chance)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - The Kruskal rank concerns every subset: a single dependent subset lowers it.
# - Theorem 1 requires that every $n$ queries are independent, and so are the tokens of each context.
# - The sampled test estimates the fraction of independent subsets at a given precision.
#
# ## Exercises
#
# 1. *By hand.* Add $(1,-1)$ to the three vectors of the tiny example. Is the set still in general position?
#    <details><summary>Solution</summary>
#
#    Yes. No two of the four are parallel, so every pair is independent and the Kruskal rank is 2. There is no limit: in
#    the plane, any number of vectors works if no two are parallel.
#
#    </details>
# 2. *Predict, then run.* Set `size = 3`. Which Kruskal ranks do the random vectors have, without and with the planted
#    subset?
#    <details><summary>Solution</summary>
#
#    The vectors now have three numbers each, and without the planted subset the Kruskal rank is 3. The planted vector
#    is the sum of two others. These three are dependent, and the Kruskal rank drops to 2.
#
#    </details>
#
# Next: [Theorem 1](theorem_1_capacity.ipynb). We can now say for which data a layer stores arbitrary answers.

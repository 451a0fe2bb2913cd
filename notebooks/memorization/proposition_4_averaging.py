# %% [markdown]
# # Proposition 4 · Averaging makes equal queries independent
# *Mahdavi, Liao, Thrampoulidis: Assumption 3, Proposition 4, Section 4.4; Appendix G.*
#
# In a vision transformer, every image has the same query, the class token. Equal queries clearly violate Assumption 1,
# which requires independent queries. The second layer, however, receives the output of the first one. Even the simplest
# attention, which only averages, makes the class tokens differ as the images do.
#
# **In numbers.** Two images have the class token $(1,1)$. The mean tokens of the images are $(1,0)$ and $(0,2)$. A
# layer that attends evenly and has a skip connection adds the mean to the class token. It returns $(2,1)$ and $(1,3)$,
# and these vectors are independent.
#
# ## The paper states
# The *Kruskal rank* of a set of vectors is the largest $k$ for which every $k$ of them are independent. Assumption 1
# requires that the queries have Kruskal rank at least $n$, where $n$ is the number of tokens in a context. Assumption 3
# requires the same of the sums of query and mean token.
#
# <!-- claim memorization/assumption-3 -->
# <blockquote>
#
# **Assumption 3 (Independent sums of query and mean token)** *Section 4.4*
#
# **The paper states.** For training set $\mathcal T$, define $\tilde e^{(t)}:=e^{(t)}+\frac1n\sum_{i\in[n]}e_i^{(t)}$
# for all $t\in[T]$. Then the set $\mathcal S:=\{\tilde e^{(1)},\tilde e^{(2)},\dots,\tilde e^{(T)}\}$ has Kruskal Rank
# at least $n$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/proposition-4 -->
# <blockquote>
#
# **Proposition 4 (An averaging layer makes Assumption 1 true)** *Section 4.4; Appendix G*
#
# **The paper states.** Define Self-Attention layer $\mathcal A_0$ with single head, skip connection, $d_v=d$, and
# weights $W_K=W_Q=0$, $W_V=W_O=I$. Suppose training set $\mathcal T$ satisfies Assumptions 2 and 3. Let
# $E'^{(t)},e'^{(t)}$ be the output of $\mathcal A_0$ for each example. Then $\mathcal
# T':=\{(E'^{(t)},e'^{(t)},y^{(t)})\}_{t=1}^T$ satisfies both Assumptions 2 and 1.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-random-layer -->
# <blockquote>
#
# **Section 4.4 (A random layer makes Assumptions 1 and 2 true)** *Section 4.4*
#
# **The paper states.** As it traverses the attention layer, the "[CLS]" token effectively mixes information from the
# surrounding context, which is distinct for each image. Therefore, after a single (even randomly initialized and fixed)
# Self-Attention layer, we establish that Assumptions 2 and 1 are satisfied. This allows us to directly apply Theorem 1
# to the second layer of Attention to achieve memorization.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper proves this for a layer that averages. In exact arithmetic, it is true for almost all
# weights of a layer with a skip connection and $Hd_v\ge n$, on all data that satisfy Assumptions 2 and 3. The layers of
# Section 4.4 have $d_v=d$, so we take this condition as given. It cannot be weakened: if all queries are 0, the new
# ones span at most $Hd_v$ dimensions. In float32, trained BERT is a counterexample (Table 3).
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-assumption-3-relaxed -->
# <blockquote>
#
# **Text after Assumption 3 (Is Assumption 3 more relaxed?)** *Section 4.4*
#
# **The paper states.** Assumption 3 assumes that the input data as a whole is sufficiently distinctive across different
# examples. In particular, this is a more relaxed assumption compared to Assumption 2.
#
# **What is true.** If the queries satisfy Assumption 1, then Assumption 3 is true for almost all contexts. This holds
# for a separate context for each example, for one shared context, and for contexts that contain the query as a token,
# as in self-attention. The converse is false: for $n\ge2$, equal queries with different contexts can satisfy Assumption
# 3, but never Assumption 1.
#
# **What changed.** Assumption 3 is not weaker for every choice of contexts. Data that satisfy Assumptions 1 and 2 may
# violate it, even if each query is a token of its context.
#
# <details><summary>Slips (1)</summary>
#
# - The text says "Assumption 2". It must mean Assumption 1, since Assumptions 1 and 3 are both about the queries.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Let $\bar e$ be the mean token of an example. The layer returns $e+\bar e$ and $e_i+\bar e$. The new queries are
# therefore the sums of Assumption 3. Independent tokens stay independent when we add their mean to each
# ({claim:ref}`Lemma 2 <memorization/lemma-2>`). Averaging is only one choice of weights. However, the determinants that
# express independence are analytic in the weights: if they are not 0 for one choice, they are not 0 for almost all.
#
# <details><summary>Proof of Section 4.4, a random layer</summary>
#
# Let the data satisfy Assumptions 2 and 3, and let the layer have $H$ heads with $Hd_v \ge n$, a skip connection and
# keys of any width. Its outputs are analytic functions of all its weights together, since softmax is analytic.
#
# *One point for each set.* At $W_{K_h} = W_{Q_h} = 0$ every head gives the mean token $\bar e$, so the layer adds
# $A\bar e$ to every token, with $A^\top = \sum_h W_{V_h}W_{O_h}$, where $W_{O_h}$ is the part of $W_O$ that reads head
# $h$. As $Hd_v \ge n$, $A$ can be any matrix of rank at most $n$. For a context, take $A = 0$: its tokens stay
# independent. For $n$ examples $t$, the sums $w_t = e^{(t)} + \bar e^{(t)}$ are independent by Assumption 3. Let the
# rows of $F \in \mathbb R^{n \times d}$ be an orthonormal basis of the span of the $w_t$, so that the $Fw_t$ are
# independent, and $A = F^\top F$. As $FA = F$, the new queries satisfy $F(e^{(t)} + A\bar e^{(t)}) = Fw_t$, so they are
# independent.
#
# *Almost all points.* For any $n$ examples the Gram determinant of their new queries is an analytic function of the
# weights, and so is that of the tokens of each new context. Each of them is not 0 at one of the points above. An
# analytic function on $\mathbb R^N$ that is not 0 somewhere is 0 on a set of measure zero only. There are finitely many
# of these determinants, so for almost all weights none is 0. Random weights with a density are outside of the
# exceptions with probability 1.
#
# *Narrower values.* If all queries are 0, every head gives $\bar e$, whatever its keys, and the new queries $A\bar e$
# span at most $Hd_v$ dimensions. Assumption 3 can hold, so for $Hd_v < n$ Assumption 1 can fail for all weights.
#
# *The second layer.* The new data satisfy both assumptions with the same $n$ and $d$, so Theorem 1 applies. $\square$
#
# </details>
#
# <details><summary>Proof of Text after Assumption 3, for almost all contexts</summary>
#
# Let the queries satisfy Assumption 1, and take any $n$ of the examples. The Gram determinant of their sums $\tilde
# e^{(t)}$ is a polynomial in the entries of the contexts. At contexts 0 it is the Gram determinant of the $n$ queries,
# which is not 0; this holds both if each example has its own context and if all share one. In self-attention the first
# token is the query and the others are free: where those are 0 the sums are $(1 + \frac1n)\,e^{(t)}$, and the
# determinant is again not 0. A polynomial that is not 0 somewhere is 0 on a set of measure zero only. There are
# finitely many choices of $n$ examples, so for almost all contexts the sums have Kruskal rank at least $n$. $\square$
#
# </details>
#
# ## See it run
# We give all examples the same query and compute all ranks in integer arithmetic, without rounding.

# %%
from itertools import combinations

import torch

from attention_theory.memorization.attention import Examples, capacity, features, predict, random_heads
from attention_theory.memorization.averaging import (
    averaging_layer,
    cancelling_examples,
    equal_queries,
    whole_mean_shifted_queries,
)
from attention_theory.memorization.certified.averaging import certify_averaging
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.exact_rank import exact_features, exact_self_attention
from attention_theory.memorization.examples import draw, integer_vectors, sample_examples
from attention_theory.memorization.kruskal import kruskal_rank, modular_ranks
from attention_theory.memorization.readout import solve_readout
from attention_theory.numerics import PRIME
from attention_theory.randomness import normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
examples_count = 12  # T, from context to 16
context = 4  # n, from 2 to 4
width = 7  # d, from context + 1 to 7
seed = 0  # seed of every draw, at least 0

# %%
require(context=(context, 2, 4), width=(width, context + 1, 7), examples_count=(examples_count, context, 16))
require(seed=(seed, 0, None))


# %%
def small_numbers(shared: bool) -> Examples:
    """Whole numbers from -3 to 3: small enough for every minor to be exact."""
    drawn = sample_examples(examples_count, context, width, shared, "integer", seed)
    return Examples((drawn.contexts / 3).round(), (drawn.queries / 3).round())


generic, shared = small_numbers(shared=False), small_numbers(shared=True)
class_tokens, shared_class_tokens = equal_queries(generic), equal_queries(shared)


def rank_up_to_n(vectors: torch.Tensor) -> int:
    """The Kruskal rank, or n if it is that or more: no assumption needs more."""
    return kruskal_rank(vectors, most=context)


def smallest_rank(contexts: torch.Tensor) -> int:
    return int(modular_ranks(contexts.long()).min())


# %%
after = averaging_layer(class_tokens)
whole_queries = whole_mean_shifted_queries(class_tokens)
whole_contexts = context * class_tokens.contexts + class_tokens.contexts.sum(dim=1, keepdim=True)
formula = torch.cat(
    [(context * after.contexts - whole_contexts).flatten(), (context * after.queries - whole_queries).flatten()]
)
before = rank_up_to_n(class_tokens.queries.long())
shared_before = rank_up_to_n(shared_class_tokens.queries.long())
shared_whole = context * shared_class_tokens.contexts + shared_class_tokens.contexts.sum(dim=1, keepdim=True)
shared_after = rank_up_to_n(whole_mean_shifted_queries(shared_class_tokens))
show.table(
    ["equal queries", "Kruskal rank before, up to n", "after", "smallest context rank after"],
    [
        ("separate contexts", before, rank_up_to_n(whole_queries), smallest_rank(whole_contexts)),
        ("one shared context", shared_before, shared_after, smallest_rank(shared_whole)),
    ],
)

# %%
fig, axis = show.axes(height=2.8)
for name, vectors, marker in (("before", class_tokens.queries, "o"), ("after", after.queries, "s")):
    singular = torch.linalg.svdvals(vectors)
    axis.plot(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=f"class tokens {name}")
axis.axvline(context, linestyle="--", color="0.5")
axis.set(xlabel="index of the singular value", ylabel="relative to the largest")
axis.legend()
show.figure(
    fig,
    name="class-tokens",
    caption="Singular values of the class tokens before and after the layer. Dashed: n.",
    alt="Two curves. One drops to zero after the first singular value; the other stays above zero.",
)

# %% [markdown]
# Before the layer, the class tokens span a single dimension. After it, they span at least $n$ dimensions. Random layers
# do the same.

# %%
layers = {f"{H} heads, d_h = {h}": (H, h) for H, h in ((1, 1), (2, width))}
subsets = torch.tensor(list(combinations(range(examples_count), context)))


def ranks_after(examples: Examples, H: int, h: int) -> tuple[int, int]:
    """The smallest ranks of n queries and of a context after a random layer; the query is the first token."""
    new = exact_self_attention(examples.context_of_each.long(), H, h, seed + 3)
    return int(modular_ranks(new[:, 0][subsets]).min()), int(modular_ranks(new).min())


def rank_from_zero(value_width: int) -> int:
    """The smallest rank of n new queries if all queries are 0, after one head with values of a given width."""
    zero, width_1 = 0 * class_tokens.queries.long(), integer_vectors(2 * width, 1, seed + 3).view(2, 1, width, 1)
    means = exact_features(class_tokens.contexts.long(), zero, *width_1)
    values, output = (integer_vectors(value_width, width, seed + one, 9) for one in (4, 5))
    return int(modular_ranks((means @ (values.T @ output)).remainder(PRIME)[subsets]).min())


# %%
random_layer = {name: ranks_after(class_tokens, H, h) for name, (H, h) in layers.items()}
from_zero = {width_of: rank_from_zero(width_of) for width_of in (context, context - 1)}
show.table(
    ["random layer", "smallest rank of n queries", "of a context", "n"],
    [(name, *ranks, context) for name, ranks in random_layer.items()],
)

# %% [markdown]
# Is Assumption 3 weaker than Assumption 1? We can choose the second token of each context such that all sums coincide.

# %%
cancelled = cancelling_examples(generic)
holds_1 = rank_up_to_n(cancelled.queries.long())
holds_3 = rank_up_to_n(whole_mean_shifted_queries(cancelled))
show.table(
    ["data", "Assumption 1: Kruskal rank of queries, up to n", "Assumption 3: of query + mean", "n"],
    [
        ("generic", rank_up_to_n(generic.queries.long()), rank_up_to_n(whole_mean_shifted_queries(generic)), context),
        ("equal queries", before, rank_up_to_n(whole_queries), context),
        ("second token cancels", holds_1, holds_3, context),
    ],
)


# %% [markdown]
# The last data set satisfies Assumption 1 but not Assumption 3. In 60 draws of random contexts, this never happens.


# %%
def smallest_singular_ratio(contexts: torch.Tensor, queries: torch.Tensor) -> float:
    """The smallest over the largest singular value of any n of the sums of query and mean token."""
    singular = torch.linalg.svdvals((queries + contexts.mean(dim=-2))[subsets])
    return (singular[:, -1] / singular[:, 0]).min().item()


# %%
fixed = generic.queries
flat = draw("gaussian", examples_count, context, seed=seed) @ draw("gaussian", context, width, seed=seed + 1)
ratios = {"own contexts": [], "one shared context": [], "self-attention": [], "queries in n dimensions": []}
for trial in range(60):
    drawn = draw("gaussian", examples_count, context, width, seed=seed + 2 + trial)
    with_query = torch.cat([fixed[:, None], drawn[:, 1:]], dim=1)
    ratios["own contexts"].append(smallest_singular_ratio(drawn, fixed))
    ratios["one shared context"].append(smallest_singular_ratio(drawn[0], fixed))
    ratios["self-attention"].append(smallest_singular_ratio(with_query, fixed))
    ratios["queries in n dimensions"].append(smallest_singular_ratio(drawn, flat))
smallest = {kind: min(values) for kind, values in ratios.items()}

# %% [markdown]
# ## How we checked
# All ranks are exact, except those for the random contexts. The control is one shared context, which adds the same mean
# to all queries and therefore leaves them equal.

# %%
claim = Claim("memorization/assumption-3")
claim.at_least(
    "random examples: Kruskal rank of query + mean", rank_up_to_n(whole_mean_shifted_queries(generic)), context
)
claim.at_least("equal queries, own contexts", rank_up_to_n(whole_mean_shifted_queries(class_tokens)), context)
claim.control.at_least(
    "equal queries, one shared context", rank_up_to_n(whole_mean_shifted_queries(shared_class_tokens)), context
)
claim.verdict()

# %%
by_hand = 0.0
for t in range(examples_count):
    tokens, query = class_tokens.contexts[t], class_tokens.queries[t]
    mean = sum(tokens[i] for i in range(context)) / context
    outputs = [(after.contexts[t, i], tokens[i]) for i in range(context)] + [(after.queries[t], query)]
    by_hand = max(by_hand, *((output - (token + mean)).abs().max().item() for output, token in outputs))
rank_change = (modular_ranks(whole_contexts.long()) - modular_ranks(class_tokens.contexts.long())).abs().max()

claim = Claim("memorization/proposition-4")
claim.at_most("layer less formula", formula.abs().max(), 1e-12)
claim.equal("Kruskal rank of the queries before", before, 1)
claim.at_least("Kruskal rank of the queries after", rank_up_to_n(whole_queries), context)
claim.equal("smallest rank of a context after", smallest_rank(whole_contexts), context)
claim.at_most("Eqs. 24 and 25, each token plus the mean by hand", by_hand, 1e-12, of="proof")
claim.equal("ranks of the contexts, those after less those before", rank_change, 0, of="proof")
claim.control.at_least("one shared context: Kruskal rank after", shared_after, context)
claim.certified("all examples of four tokens", certify_averaging())
claim.verdict()

# %%
first, count = random_heads(2, width, width, seed + 6), capacity(3, context, context)
data = equal_queries(sample_examples(count, context, width, shared=False, seed=seed + 7))
each = Examples(data.contexts.repeat_interleave(context, dim=0), data.contexts.flatten(0, 1))  # every token as a query
mix = normal(2 * width, width, seed=seed + 8)
second = Examples(
    (each.queries + features(first, each) @ mix).view_as(data.contexts), data.queries + features(first, data) @ mix
)
labels, built = normal(count, 1, seed=seed + 9), build_heads(second, 3, context, seed=seed)
two_layers = (predict(built.heads, solve_readout(built.Z, labels, 3, 1), second) - labels).abs().max().item()

# %%
claim = Claim("memorization/remark-random-layer")
claim.equal("smallest rank of n queries after", {name: ranks[0] for name, ranks in random_layer.items()}, context)
claim.equal("queries 0, values of width n: smallest rank of n queries after", from_zero[context], context)
claim.control.equal("queries 0, values of width n - 1: the same", from_zero[context - 1], context)
claim.at_most(f"{count} labels, second layer built after a random one: residual", two_layers, 1e-9)
claim.equal("smallest rank of a context after", {name: ranks[1] for name, ranks in random_layer.items()}, context)
claim.control.equal(
    "smallest rank of n queries before", int(modular_ranks(class_tokens.queries.long()[subsets]).min()), context
)
claim.control.equal(
    "one shared context: smallest rank of n queries after", ranks_after(shared_class_tokens, 2, width)[0], context
)
claim.verdict()

# %%
claim = Claim("memorization/remark-assumption-3-relaxed")
claim.at_least("equal queries: Assumption 3 holds", rank_up_to_n(whole_queries), context)
claim.at_least("second token cancels: Assumption 1 holds", holds_1, context)
claim.equal("second token cancels: contexts keep rank n", smallest_rank(cancelled.contexts), context)
in_its_context = torch.equal(cancelled.contexts[:, 0], cancelled.queries)
claim.true("self-attention: each query is the first token of its context", in_its_context)
claim.printed.at_least("second token cancels: Assumption 3 holds, as a weaker one would", holds_3, context)
claim.above("queries of Assumption 1, 60 draws of contexts: smallest singular ratio of n sums", smallest, 1e-9)
claim.control.at_least("equal queries: Assumption 1 holds", before, context)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The weights of the random layer are integers, with keys multiplied by $\ln7$, so that every softmax weight is a
# fraction. We compute the ranks modulo a prime, which can only make them smaller. For the random contexts, we record
# the smallest ratio of the smallest to the largest singular value over all sets of $n$ sums. For dependent sums, this
# ratio would be about $10^{-16}$. Certificates prove the two steps of the paper's proof for all examples with four
# tokens, because a linear layer is determined by its values on unit vectors.
#
# </details>
#
# ## What to remember
#
# - A layer that only averages turns equal queries into independent ones, if the sums of query and mean token are
#   independent.
# - Almost every other layer does so as well.
#
# ## Exercises
#
# 1. *By hand.* The query is $(1,1)$ in both images. Which mean tokens leave the new queries dependent?
#    <details><summary>Solution</summary>
#
#    The new queries are dependent if $(1,1)+\bar e$ and $(1,1)+\bar e'$ are parallel. This is so for equal means, or
#    for the means $(0,1)$ and $(1,3)$, which give $(1,2)$ and $(2,4)$.
#
#    </details>
# 2. *Predict, then run.* Set `context = 2`. Which of the ranks in the tables change?
#    <details><summary>Solution</summary>
#
#    Every rank that was $n=4$ is now 2, because only pairs have to be independent. The equal queries still have Kruskal
#    rank 1, and no verdict changes.
#
#    </details>
#
# Next: [Table 1](table_1_vision.ipynb). The paper tests the assumptions in vision transformers.

# %% [markdown]
# # Remark 1 · Weaker queries, fewer examples
# *Mahdavi, Liao, Thrampoulidis: Remark 1, Section 4.1.*
#
# Theorem 1 needs independent queries, because it prescribes what a head does on several of them at once. Real queries
# may be less independent. The construction still works, but it stores fewer examples. The layer itself can often store
# more.
#
# **In numbers.** Four heads with contexts of $n=6$ tokens store $4\cdot(6-1)+1=21$ examples, if every six queries are
# independent. If only every three queries are independent, the construction stores $4\cdot(3-1)+1=9$.
#
# ## The paper states
# <!-- claim memorization/remark-1 -->
# <blockquote>
#
# **Remark 1 (Queries of smaller Kruskal rank)** *Section 4.1*
#
# **The paper states.** In the setting of Theorem 1, if Assumption 1 is violated (i.e., the Kruskal Rank of query
# vectors is less than $n$), define $Q<n$ to be the Kruskal Rank of query vectors. Then, a weaker lower bound on the
# memorization still holds: $T\le H(\min(Q,d_h)-1)+1$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The rank of $Z$ can be much larger. With one shared context of $n\ge3$ tokens, random heads
# still reach rank $\min(T,H(n-1)+1)$ if no two queries are equal, even on one line (see Beyond Assumption 1). Opposite
# queries give less for $n=2$ only. With eight heads, ten generic queries on a line then give rank 9, but five pairs
# $\pm s$ give only 6, because the softmax weights of $-s$ are those of $s$ in the opposite order.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# If its keys are wide enough, a head can have prescribed softmax weights on as many examples as there are independent
# queries. If every $Q$ queries are independent, but not every $Q+1$, this number is $Q$ instead of $n$. The rest of the
# proof of [Theorem 1](theorem_1_capacity.ipynb) does not change.
#
# ## See it run
# We build heads for every $Q$ up to $n$ and fit them to random labels. For comparison, we compute the rank of the
# features $Z$ of random heads on the same kind of queries.

# %%
import torch

from attention_theory.memorization.attention import Examples, KeyQueryHeads, capacity, features, predict, random_heads
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.exact_rank import exact_features
from attention_theory.memorization.examples import (
    draw,
    integer_vectors,
    sample_examples,
    with_query_span,
    with_query_sum,
)
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.single_head import column_logits, fit_targets
from attention_theory.numerics import modular_rank, numerical_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 4  # H, at least 2
context = 6  # n, from 3 to width - 1
width = 12  # d, at least 4
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 2, None), width=(width, 4, None), context=(context, 3, width - 1), seed=(seed, 0, None))


# %%
def build_and_fit(examples: Examples, rank: int) -> float:
    """The largest residual of random labels with heads built for queries of a Kruskal rank."""
    labels = normal(examples.count, 2, seed=seed + 2)
    built = build_heads(examples, heads, width, seed=seed + 3, rank_limit=rank)
    readout = solve_readout(built.Z, labels, heads, 2)
    return (predict(built.heads, readout, examples) - labels).abs().max().item()


spans = list(range(1, context + 1))
promised = {Q: capacity(heads, Q, width) for Q in spans}
plain = {Q: sample_examples(promised[Q], context, width, seed=seed) for Q in spans}
residuals = {f"Q = {Q}": build_and_fit(with_query_span(plain[Q], Q, seed + 1), Q) for Q in spans}
summed = {Q: with_query_sum(plain[Q], Q) for Q in spans[1:-1]}
sum_residuals = {f"Q = {Q}": build_and_fit(data, Q) for Q, data in summed.items()}
query_ranks = {f"Q = {Q}": int(numerical_rank(data.queries)) for Q, data in summed.items()}

# %%
drawn = random_heads(heads, width, width, seed + 4)
strong = KeyQueryHeads(2 * drawn.keys, 2 * drawn.queries)
crowd = sample_examples(3 * heads * context, context, width, seed=seed)
reached = {Q: int(numerical_rank(features(strong, with_query_span(crowd, Q, seed + 1)), rtol=1e-12)) for Q in spans}

# %%
fig, axis = show.axes()
axis.plot(spans, [promised[Q] for Q in spans], marker="o", label="H (Q - 1) + 1, built heads")
axis.plot(spans, [reached[Q] for Q in spans], marker="s", label="rank of Z, random heads")
axis.axhline(capacity(heads, context, width), linestyle="--", color="0.5")
axis.set(xlabel="dimension Q of the span of the queries", ylabel="examples", ylim=(0, None))
axis.legend()
show.figure(
    fig,
    name="weak-queries",
    caption="The number of examples that Remark 1 promises and built heads store, and the rank that random heads "
    "reach. Dashed: H (n - 1) + 1.",
    alt="A rising line of promised examples and a flat line of the rank of random heads, which coincides with the "
    "dashed line.",
)

# %% [markdown]
# The promised number grows with $Q$. Random heads reach the full rank for a shared context even if all queries are on
# one line, because softmax is not linear in the query. However, some queries on a line are worse. We compare ten
# generic queries with five opposite pairs.

# %%
source = generator(seed + 6)
two_tokens, direction = integer_vectors(2, 5, source), integer_vectors(1, 5, source)
maps = integer_vectors(80, 5, source, 9_999).view(2, 8, 5, 5)
scales = {"generic": torch.arange(1, 11), "pairs": torch.tensor([1, 2, 3, 4, 5, -1, -2, -3, -4, -5])}
on_a_line = {
    name: modular_rank(exact_features(two_tokens, factors[:, None] * direction, maps[0], maps[1]))
    for name, factors in scales.items()
}
print(f"H = 8, n = 2, ten queries on a line: rank of Z {on_a_line}")

# %% [markdown]
# ## How we checked
# We test generic queries in $Q$ dimensions, and queries of which a single one is the sum of $Q$ others. As a control,
# we prescribe weights on more queries than are independent, which must fail.

# %%
span = context - 1
weak = with_query_span(sample_examples(context, context, width, seed=seed), span, seed + 1)
targets = -draw("uniform", context, context, seed=seed + 5).log()
targets = targets / targets.sum(dim=1, keepdim=True)
error = (column_logits(weak, fit_targets(weak, targets)).softmax(dim=-1) - targets).abs().max().item()

# %%
claim = Claim("memorization/remark-1")
claim.at_most("spans of Q dimensions: residual at H (Q - 1) + 1", residuals, 1e-10)
claim.at_most("one query the sum of Q others: residual", sum_residuals, 1e-10)
expected = {f"Q = {Q}": min(width, promised[Q] - 1) for Q in summed}
claim.equal("dimensions that such queries span", query_ranks, expected)
claim.above("random heads, Q = 1: rank of Z beyond the promise", reached[1], promised[1])
claim.equal("H = 8, n = 2, ten generic queries on a line: rank of Z", on_a_line["generic"], 9)
claim.control.equal("H = 8, n = 2, five pairs of queries on a line: rank of Z", on_a_line["pairs"], 9)
claim.control.at_most("n targets with queries in n - 1 dimensions: error", error, 1e-10)
claim.number("random heads, Q = 1: rank of Z", reached[1])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# We give the random heads large logits, because otherwise the last singular values would be lost in rounding errors.
# With two tokens, a head's weights are $\sigma(x)$ and $\sigma(-x)=1-\sigma(x)$, so they are odd functions of the query
# after we subtract one half. With five pairs $\pm s$, every feature is therefore the sum of an odd part and a constant.
# The odd parts span five dimensions, and the constant adds one. Ten queries without such pairs have rank 9. Both ranks
# are exact.
#
# </details>
#
# ## What to remember
#
# - With queries of Kruskal rank $Q$, the construction stores $H(Q-1)+1$ examples.
# - This is a limit of the construction. The rank of random heads is often larger.
#
# ## Exercises
#
# 1. *By hand.* All queries are equal, so that $Q=1$. How many examples does the remark promise, and how many can you
#    store if all examples share one context?
#    <details><summary>Solution</summary>
#
#    One in both cases. With equal queries and one context, all examples are the same.
#
#    </details>
# 2. *Predict, then run.* Set `heads = 6`. Where is the dashed line, and what is the promise at $Q=2$?
#    <details><summary>Solution</summary>
#
#    The dashed line is at $6\cdot5+1=31$, and the remark promises $6\cdot1+1=7$ examples.
#
#    </details>
#
# Next: [Remark 2](remark_2_skip_connection.ipynb). Real layers also have a skip connection.

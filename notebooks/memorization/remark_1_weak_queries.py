# %% [markdown]
# # Remark 1 · Queries of smaller Kruskal rank
# *Mahdavi, Liao, Thrampoulidis: Remark 1, Section 4.1.*
#
# <!-- claim memorization/remark-1 -->
# <blockquote>
#
# **Remark 1 (Queries of smaller Kruskal rank)** *Section 4.1*
#
# If the queries have Kruskal rank $Q<n$, the layer still memorises $T\le H(\min(Q,d_h)-1)+1$ examples. (The rank of $Z$
# can be much larger: random heads reach $H(n-1)+1$ even for $Q=1$.)
#
# </blockquote>
# <!-- /claim -->
#
# If the queries have Kruskal rank $Q < n$, a head can still prescribe the weights of $Q$ examples at a time, and the
# construction goes through with $r = \min(Q, d_h)$. Two kinds of such queries are tried: generic ones in a space of $Q$
# dimensions, and generic ones in all $d$ but for one, which is the sum of $Q$ others. The bound is a statement about
# the *construction*. The layer does better: with random heads the rank of $Z$ reaches $H(n-1)+1$ even where all queries
# lie on one line, because softmax is not linear in the query.

# %%

from attention_theory.memorization.attention import Examples, Heads, capacity, features, predict, random_heads
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import (
    draw,
    random_labels,
    sample_examples,
    with_query_span,
    with_query_sum,
)
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.single_head import column_logits, fit_targets
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 4  # H, at least 2
context = 6  # n, from 3 to width - 1
width = 12  # d, at least 4
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 2, None), width=(width, 4, None), context=(context, 3, width - 1), seed=(seed, 0, None))
spans = list(range(1, context + 1))
drawn = random_heads(heads, width, width, seed + 4)
strong = Heads(2 * drawn.keys, 2 * drawn.queries)  # spread logits, or the last singular values drown in rounding
residuals, sum_residuals, query_ranks, promised, reached = [], [], [], [], []


def build_and_fit(examples: Examples, rank: int) -> float:
    """The largest residual of random labels with heads built for queries of a Kruskal rank."""
    labels = random_labels(examples.count, 2, seed + 2)
    built = build_heads(examples, heads, width, seed=seed + 3, rank_limit=rank)
    readout = solve_readout(built.Z, labels, heads, 2)
    return (predict(built.heads, readout, examples) - labels).abs().max().item()


for span in spans:
    count = capacity(heads, span, width)
    plain = sample_examples(count, context, width, seed=seed)
    residuals.append(build_and_fit(with_query_span(plain, span, seed + 1), span))
    if 1 < span < context:
        summed = with_query_sum(plain, span)
        sum_residuals.append(build_and_fit(summed, span))
        query_ranks.append(int(numerical_rank(summed.queries)))
    promised.append(count)
    crowd = with_query_span(sample_examples(3 * heads * context, context, width, seed=seed), span, seed + 1)
    reached.append(int(numerical_rank(features(strong, crowd), rtol=1e-12)))

# %%
fig, axis = show.axes()
axis.plot(spans, promised, marker="o", label="H (Q - 1) + 1, built and fitted")
axis.plot(spans, reached, marker="s", label="rank of Z, random heads")
axis.axhline(capacity(heads, context, width), linestyle="--", color="0.5")
axis.set(xlabel="Q, dimensions that the queries span", ylabel="examples", ylim=(0, None))
axis.legend()
show.figure(
    fig,
    name="weak-queries",
    caption="What Remark 1 promises grows with Q. What random heads reach does not depend on it: the dashed line is H "
    "(n - 1) + 1.",
    alt="A rising line of promised examples and a flat line of reached rank, which lies on the dashed bound.",
)

# %% [markdown]
# Running the construction with $r = n$ on queries that span fewer dimensions asks for weights that no head gives.

# %%
span = context - 2
weak = with_query_span(sample_examples(context, context, width, seed=seed), span, seed + 1)
targets = -draw("uniform", context, context, seed=seed + 5).log()
targets = targets / targets.sum(dim=1, keepdim=True)
error = (column_logits(weak, fit_targets(weak, targets)).softmax(dim=-1) - targets).abs().max().item()

claim = Claim("memorization/remark-1")
claim.check("Q = 1, ..., n: largest residual at H (Q - 1) + 1", max(residuals), "<=", 1e-10)
claim.check("Q = 2, ..., n - 1, one query the sum of Q others: largest residual", max(sum_residuals), "<=", 1e-10)
claim.check("largest dimension that such queries span", max(query_ranks), "==", min(width, promised[-2]))
claim.check("random heads, Q = 1: rank of Z beyond the promise", reached[0], ">", promised[0])
claim.control("n targets with queries in n - 2 dimensions: error", error, "<=", 1e-10)
claim.number("random heads, Q = 1: rank of Z", reached[0])
claim.verdict()

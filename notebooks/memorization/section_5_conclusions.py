# %% [markdown]
# # Section 5.2 · More heads, longer contexts, wider keys: what helps?
# *Mahdavi, Liao, Thrampoulidis: the three conclusions of Section 5.2.*
#
# The paper draws three conclusions from its theorem: more heads help, longer contexts help, and wider keys help up to
# the length of the context. However, the theorem is a lower bound. It cannot show that the true capacity grows or stops
# growing. For this we also need an upper bound.
#
# **In numbers.** Consider one head on a shared context of two tokens of width 3. The difference of its logits is a
# linear function of the query, with 3 coefficients. The output is a softmax weight times a number, plus a constant. All
# outputs therefore depend on only $3+1+1=5$ numbers, and the layer can fit almost no six labels.
#
# ## The paper states
# We write $H$ for the number of heads, $n$ for the number of tokens in a context, $d$ for their width, and $d_h$ for
# the width of the keys.
#
# <!-- claim memorization/remark-conclusion-1 -->
# <blockquote>
#
# **Section 5.2 (More heads)** *Section 5.2*
#
# **The paper states.** Theorem 1 provides three conclusions: (1) When fixing dimension $d$, increasing the number of
# heads $H$ improves memorization.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With more heads, a layer can fit some labels that no layer with fewer heads fits, both with one
# shared context and with separate contexts. Theorem 1 alone does not show this, because it is a lower bound. It does so
# together with an upper bound, the number of independent directions in which the outputs can move. For one output and a
# shared context with $d_h\ge n$, this needs more than $d+1$ times as many heads; with separate contexts, $d(d+1)/(n-1)$
# times as many.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-conclusion-2 -->
# <blockquote>
#
# **Section 5.2 (Longer contexts)** *Section 5.2*
#
# **The paper states.** (2) When further fixing the number of heads $H$, increasing the context size $n$ improves
# memorization.
#
# **What is true.** The sentence is true if all examples share one context: every token then adds $H(d+1)$ directions in
# which the outputs can move.
#
# **What changed.** The context must be shared, as in the paper's experiments. With separate contexts and $d_h=d$, the
# number of directions is the same for every $n\ge2$: 144 at $d=8$ with two heads.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Equally many directions need not contain the same labels. It is therefore open whether longer
# separate contexts fit some labels that shorter ones do not.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-conclusion-3 -->
# <blockquote>
#
# **Section 5.2 (Key width beyond n, and below it)** *Section 5.2*
#
# **The paper states.** (3) When fixing $d,n$, increasing $d_h$ only helps up to $d_h<n$, and there is no memorization
# gain beyond that.
#
# **What is true.** The sentence is true if all examples share one context: then every head, of any key width, has the
# same softmax weights as some head of width $n-1$.
#
# **What changed.** The context must be shared, as in the paper's experiments. With separate contexts, keys wider than
# $n$ add directions in which the outputs can move, until $d_h=d$: from 112 to 144 at $d=8$, $n=4$ with two heads.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper excludes any gain, and with separate contexts the additional directions are a gain.
# Theorem 1 does not imply the sentence, because it is a lower bound. For $d_h<n$, this bound is not tight: with a
# shared context and $d_h=1$, the rank of $Z$ is already $H(n-1)+1$ for almost all weights, if $n\ge3$ and no two
# queries are equal (see Beyond Assumption 1).
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# As the weights vary, the outputs of $T$ examples move in a limited number of independent directions. We call this
# number the *labels within reach*. If it is smaller than $T$, the layer can fit almost no labels. With a shared context
# and wide keys, it is at most $H(n-1)(d+1)+1$, which grows with every head and every token. With separate contexts it
# is at most $Hd(d+1)$, for every $n$. Since softmax does not change when we add a number to all logits, keys of width
# $n-1$ realise every head of a shared context.
#
# <details><summary>Why the outputs move in no more dimensions than are counted</summary>
#
# *A shared context.* The rows of $M \in \mathbb R^{n \times d}$ sum to 0, so it has $n - 1$ free rows, and its rank is
# at most $r = \min(d_h, n - 1)$. Matrices of $n - 1$ by $d$ of rank $r$ form a manifold of $r(n - 1 + d - r)$
# dimensions. The softmax weights of a head sum to 1, so all features together are linear in 1 and $n - 1$ weights a
# head: the read-out acts through $H(n-1)+1$ numbers. The outputs are a smooth function of these data alone, and so move
# in at most
#
# $$H\,r\,(n - 1 + d - r) + H(n - 1) + 1, \qquad r = \min(d_h, n - 1)$$
#
# dimensions. At $r = n - 1$ that is $H(n-1)(d+1) + 1$.
#
# *A context for each example.* A head acts through $W_KW_Q^\top$, of rank $r = \min(d_h, d)$, in a manifold of $r(2d -
# r)$ dimensions, and the read-out through $Hd$ numbers: at most $H\,r\,(2d - r) + Hd$, whatever $n$. $\square$
#
# </details>
#
# <details><summary>Proof of Section 5.2, conclusion (2), for shared contexts</summary>
#
# For $d_h = d$ the count for a shared context is $H(n-1)(d+1) + 1$, and a token adds $H(d+1)$. Where the derivative has
# this rank at $n + 1$, the image contains an open set of labels, of which $n$ tokens meet a set of measure zero, by the
# argument that follows for conclusion (3). With separate contexts, the count $Hd(d+1)$ does not depend on $n$. It is
# reached at $n = 2$ below, so no longer context has more labels within reach. $\square$
#
# </details>
#
# <details><summary>Proof of Section 5.2, conclusion (3), for shared contexts</summary>
#
# *Beyond $n - 1$, nothing.* Let $E$ be shared and of rank $n$, and $J = I - \frac1n\mathbf 1\mathbf 1^\top$. Softmax
# does not see a number added to all logits, so a head's weights are $\mathrm{softmax}(Me)$ with $M = JEW_KW_Q^\top$. As
# $\mathbf 1^\top M = 0$, the rank of $M$ is at most $n - 1$, and $M = UV^\top$ with $n - 1$ columns each. Take $W_K =
# E^+U$ and $W_Q = V$: as $EE^+ = I$, the logits are $UV^\top e = Me$, and the weights of the narrow head are those of
# the wide one for every query. So widths of $n - 1$ or more give the same functions, and meet the same labels.
#
# *Up to $n - 1$, more.* For $r \le n - 1$ let $D_r = Hr(n - 1 + d - r) + H(n-1) + 1$, the dimensions counted above.
# With width $r$ the outputs of $T$ examples are a smooth image of finitely many manifolds of at most $D_r$ dimensions
# (one for each choice of the heads' ranks); for $T > D_r$ the image has measure zero in $\mathbb R^T$. From $r$ to $r +
# 1 \le n - 1$ the number grows by $H(n + d - 2 - 2r) \ge H(d - n + 2) > 0$. Where the derivative has rank $T = D_{r+1}$
# at some weights of width $r + 1$, the image of that width contains an open set of labels (inverse function theorem).
# Of these labels width $r$ meets a set of measure zero. That the rank is reached is found at the sizes of this page,
# and needs to be found at one point only.
#
# *Where each example has a context of its own* the numbers are $Hr(2d - r) + Hd$, $r = \min(d_h, d)$, which grow until
# $d_h = d > n$. Where they are reached, as below, there are labels within reach of $d_h = d$ and not of $d_h = n$, by
# the same argument. $\square$
#
# </details>
#
# ## See it run
# We compute the rank of the derivative of the outputs with respect to all weights. It is exact, because tokens, queries
# and weights are integers, and the powers in the softmax are powers of 7.

# %%
from itertools import pairwise

from attention_theory.memorization.attention import capacity, features, random_heads, softmax_weights
from attention_theory.memorization.certified.sizes import certify_key_width, certify_longer_contexts, certify_more_heads
from attention_theory.memorization.exact_rank import exact_ranks, reachable_dimensions
from attention_theory.memorization.examples import sample_examples, with_faulty_context
from attention_theory.memorization.key_width import dimension_count, narrowed_heads
from attention_theory.memorization.rank_bounds import rank_and_gap
from attention_theory.memorization.trained_heads import fit_keys_and_queries
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 3  # H, from 2 to 4
context = 4  # n, from 4 to width - 2
width = 8  # d, from 6 to 8
starts = 6  # of a training that must miss the labels, at least 1
seed = 0  # seed of every draw, at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(heads=(heads, 2, 4), width=(width, 6, 8), context=(context, 4, width - 2), starts=(starts, 1, None))
require(seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))
MOST_STARTS = 60  # of a training that is to meet the labels; one that meets them is the last

# %%
shared_data = sample_examples(240, context, width, law="integer", seed=seed)
separate_data = sample_examples(240, context, width, shared=False, law="integer", seed=seed)
by_heads = {H: reachable_dimensions(shared_data, H, width, seed) for H in range(1, heads + 1)}
separate_by_heads = {H: reachable_dimensions(separate_data, H, width, seed) for H in (1, 2)}
lengths = range(2, width - 1)
of_length = {n: [sample_examples(240, n, width, shared, "integer", seed) for shared in (True, False)] for n in lengths}
by_length = {n: [reachable_dimensions(data, 2, width, seed) for data in pair] for n, pair in of_length.items()}
key_widths = sorted({1, 2, context - 1, context, width})
by_width = {h: reachable_dimensions(shared_data, heads, h, seed) for h in key_widths}
separate_by_width = {h: reachable_dimensions(separate_data, 2, h, seed) for h in key_widths}

# %%
promise = [
    [capacity(H, context, width) for H in by_heads],
    [capacity(2, n, width) for n in by_length],
    [capacity(heads, context, h) for h in key_widths],
]
shared_lines = [(by_heads, by_heads.values()), (by_length, [pair[0] for pair in by_length.values()])]
separate_lines = [(separate_by_heads, separate_by_heads.values())]
separate_lines.append((by_length, [pair[1] for pair in by_length.values()]))
shared_lines.append((by_width, by_width.values()))
separate_lines.append((separate_by_width, separate_by_width.values()))
titles = ["heads H", "context n, two heads", "key width"]

# %%
fig, panels = show.axes(1, 3, height=2.8)
for axis, one, other, promised, title in zip(panels, shared_lines, separate_lines, promise, titles, strict=True):
    for (places, values), label, marker in ((one, "shared", "o"), (other, "separate", "s")):
        axis.plot(list(places), list(values), marker=marker, label=label)
    axis.plot(list(one[0]), promised, "--", label="Theorem 1")
    axis.set(xlabel=title)
    axis.locator_params(axis="x", integer=True)
panels[0].set(ylabel="labels within reach")
panels[0].legend(fontsize=7)
show.figure(
    fig,
    name="reach",
    caption=f"Labels within reach. Left and right: {heads} heads at most with a shared context, two with separate "
    "contexts. Dashed: what Theorem 1 promises.",
    alt="Three panels, each with a low dashed line. Left, two rising lines. Middle, one rising and one level line. "
    "Right, one line that is level from n minus one on and one that rises to the end.",
)


# %% [markdown]
# More heads increase the number for both kinds of context. Longer contexts increase it only if all examples share one.
# Wider keys increase it up to $d_h=n-1$ with a shared context, and up to $d_h=d$ with separate contexts.
#
# ## How we checked
# We also train layers on more labels than a smaller layer has within reach. The larger layer must fit them, and the
# smaller one must fail. sympy and z3 prove the counts for all sizes.


# %%
def best_residual(n: int, count: int, H: int, h: int, most: int = MOST_STARTS) -> float:
    """The smallest largest residual of random labels, n tokens shared, over starts until one meets the labels."""
    wanted = normal(count, 1, seed=seed + 1).to(device)
    few = sample_examples(240, n, width, law="uniform", seed=seed).take(slice(0, count)).to(device)
    best = float("inf")
    for start in range(most):
        best = min(best, fit_keys_and_queries(few, wanted, H, h, seed + start, 400)[1])
        if best <= 1e-6:
            break
    return best


beyond_one = by_heads[1] + 4
of_all = best_residual(context, beyond_one, heads, width)
of_one = best_residual(context, beyond_one, 1, width, starts)
steps = [by_heads[H + 1] - by_heads[H] for H in range(1, heads)]

# %%
claim = Claim("memorization/remark-conclusion-1")
per_head = (context - 1) * (width + 1)
claim.equal("labels within reach: least gain by a head, less (n - 1)(d + 1)", min(steps) - per_head, 0)
claim.above("separate contexts: gain by the second head", separate_by_heads[2] - separate_by_heads[1], 0)
enough = width + 2
surplus = capacity(enough, context, width) - dimension_count(1, context, width, width, True)
claim.above("promise for d + 2 heads less what one head has within reach", surplus, 0)
claim.at_most(f"{beyond_one} labels, trained: residual of all heads", of_all, 1e-6)
claim.control.at_most(f"{beyond_one} labels, trained: residual of one head", of_one, 1e-6)
claim.certified("gain by a head, and more than d + 1 times as many, all sizes", certify_more_heads())
claim.verdict()

# %%
rising, level = ([pair[which] for pair in by_length.values()] for which in (0, 1))
gains = [after - before for before, after in pairwise(rising)]
beyond_short = rising[0] + 4
to_the_long = best_residual(width - 2, beyond_short, 2, width)
to_the_short = best_residual(2, beyond_short, 2, width, starts)

# %%
claim = Claim("memorization/remark-conclusion-2")
claim.equal("shared: least gain of labels in reach by a token, less H(d + 1)", min(gains) - 2 * (width + 1), 0)
claim.at_most(f"{beyond_short} labels, trained: residual with n = d - 2", to_the_long, 1e-6)
claim.control.at_most(f"{beyond_short} labels, trained: residual with n = 2", to_the_short, 1e-6)
claim.printed.above("separate contexts: gain of labels within reach, n = 2 to d - 2", level[-1] - level[0], 0)
claim.certified("gain by a token, all sizes", certify_longer_contexts())
claim.equal("separate contexts: labels within reach, n = 2, less Hd(d + 1)", level[0] - 2 * width * (width + 1), 0)
claim.number("separate contexts: labels within reach, n = d - 2", level[-1])
claim.verdict()

# %%
wide = random_heads(heads, width, width, seed + 2)
few_examples = sample_examples(240, context, width, law="uniform", seed=seed)
wide_weights = softmax_weights(wide, few_examples)


def narrowing_error(head_width: int) -> float:
    """The largest change of a softmax weight when the heads are brought to a smaller key width."""
    narrow = narrowed_heads(wide, few_examples.contexts, head_width)
    return (softmax_weights(narrow, few_examples) - wide_weights).abs().max().item()


beyond_thin = by_width[1] + 4
rank_data, bound = sample_examples(72, 6, 12, seed=seed), capacity(4, 6, 6)
thin, thick = (features(random_heads(4, 12, h, seed + 3), rank_data) for h in (1, 12))
faulty = features(random_heads(4, 12, 1, seed + 3), with_faulty_context(rank_data, "duplicate"))
trained = {
    h: best_residual(context, beyond_thin, heads, h, most) for h, most in ((1, starts), (context - 1, MOST_STARTS))
}

# %%
reach = {"shared": (by_width, heads), "separate": (separate_by_width, 2)}
reach = {
    kind: [
        {f"d_h = {h}": reached[h] for h in key_widths},
        {f"d_h = {h}": dimension_count(H, context, width, h, kind == "shared") for h in key_widths},
    ]
    for kind, (reached, H) in reach.items()
}

# %%
claim = Claim("memorization/remark-conclusion-3")
claim.at_most(
    "shared context, d_h = d brought to n - 1: change of a softmax weight", narrowing_error(context - 1), 1e-12
)
claim.control.at_most("d_h = d brought to n - 2, change of a softmax weight", narrowing_error(context - 2), 1e-12)
for kind, (ranks, by_the_count) in reach.items():
    claim.equal(f"{kind}: labels within reach", ranks, by_the_count)
claim.equal("shared: within reach at d_h = d less at n - 1", by_width[width] - by_width[context - 1], 0)
claim.at_least(f"d_h = 1: best residual, T = {beyond_thin}", trained[1], 1e-2)
claim.at_most(f"d_h = n - 1: best residual, T = {beyond_thin}", trained[context - 1], 1e-6)
claim.equal("H = 4, n = 6, d_h = 1: rank of Z", exact_ranks(4, 6, 12, 1, True, seed)[-1], bound)
claim.control.equal("the same with a duplicate token: rank", int(numerical_rank(faulty, rtol=1e-12)), bound)
gain = separate_by_width[width] - separate_by_width[context]
claim.printed.equal("separate contexts: labels within reach, d_h = d less d_h = n", gain, 0)
claim.certified("gain by key width, sizes up to d = 12", certify_key_width())
for name, h in (("n", context), ("d", width)):
    claim.number(f"separate contexts: labels within reach, d_h = {name}", separate_by_width[h])
claim.number("H = 4, n = 6: singular value at the bound, d_h = 1", rank_and_gap(thin, bound)[0])
claim.number("H = 4, n = 6: singular value at the bound, d_h = 12", rank_and_gap(thick, bound)[0])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Successful training shows that a layer can fit the labels. Failed training shows little, since a longer search might
# succeed. We draw initial weights until training fits the labels, at most 60 times. If the layer must fail, we train
# from six initial weights, and all of them must fail. An additional head never does harm, since its value weights can
# be zero. We test at all sizes up to $d=12$ that the count grows with the key width up to $n-1$ and not beyond.
#
# </details>
#
# ## Where the paper differs
# With separate contexts, longer contexts put no more labels within reach, and keys wider than $n$ do, until $d_h=d$.
# Elsewhere, the paper is more careful: "Theorem 1 suggests there is *no* gain in memorization capacity
# provided $d_h>n$" (Section 4).
#
# ## What to remember
#
# - More heads put more labels within reach, with shared and with separate contexts.
# - With a shared context, so does every additional token. Keys wider than $n-1$ do not.
# - With separate contexts, wider keys put more labels within reach, but longer contexts do not.
#
# ## Exercises
#
# 1. *By hand.* How many labels are within reach of $H=2$ heads with wide keys, $n=4$ and $d=8$, for each kind of
#    context?
#    <details><summary>Solution</summary>
#
#    With a shared context, $2\cdot3\cdot9+1=55$. With separate contexts, $2\cdot8\cdot9=144$.
#
#    </details>
# 2. *Predict, then run.* Set `context = 6`. At which key width does the line for the shared context become level?
#    <details><summary>Solution</summary>
#
#    It becomes level at $n-1=5$.
#
#    </details>
#
# Next: [Figure 2](figure_2_memorised_fraction.ipynb). We can compare these counts with the number of labels that
# training stores.

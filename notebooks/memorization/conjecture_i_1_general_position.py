# %% [markdown]
# # Appendix I.1 · In general position, width replaces length
# *Mahdavi, Liao, Thrampoulidis: the conjecture of Appendix I.1, and the caption of Figure 4.*
#
# With one shared context, the length of the context limits what all heads together can store. What if every example has
# a separate context, and all tokens of the data set are as independent as their width allows? The paper conjectures
# that the width of the tokens then takes the place of the length. We prove this, with the largest number that general
# position guarantees for the rank of the features.
#
# **In numbers.** Take $H=2$ heads, contexts of $n=2$ tokens, and tokens of $d=4$ numbers. Theorem 1 guarantees
# $H(n-1)+1=3$ examples. Each example adds a row of $Hd=8$ numbers to the feature matrix $Z$, so its rank is at most 8.
# In *general position*, where any $d$ of all tokens and queries are independent, we can guarantee 6.
#
# ## The paper states
# <!-- claim memorization/conjecture-i-1 -->
# <blockquote>
#
# **Appendix I.1 (A bound of order Hd under general position)** *Appendix I.1*
#
# **The paper states.** All tokens (i.e., context and query) inside, and across all examples would satisfy the general
# position assumption. We conjecture that a bound with complexity $O(Hd)$ would hold, which could be interesting for
# future works.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The conjecture is true. Let all tokens be in general position, $2\le n<d=d_h$ and $d_v,d\ge
# d_\mathrm{out}$. Then the layer memorises every $T\le d+(H-1)(d-\lceil d/n\rceil)$ examples. This number is at least
# $(H+2)d/3$. There are such data on which the rank of $Z$ never exceeds it. General position therefore does not
# guarantee the rank $H(d-1)+1$ that Appendix I suggests. It is open whether keys and queries that are trained for the
# labels always memorise $H(d-1)+1$ examples. As in all rows, we take $n\ge2$: at $n=1$, where the paper says itself
# that heads do not help, the layer is linear in its only token and memorises $d$ examples.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We use the construction of [Theorem 1](theorem_1_capacity.ipynb). With independent queries, we can choose the weights
# of a head. Under Assumption 1, this worked for $n$ examples; in general position, it works for $d$. The other limit is
# that each new row of features must leave the span of the rows before it. The row of an example moves in the span of
# the differences of its tokens. In general position, these spans cover many directions, but not all, which costs
# $\lceil d/n\rceil$ per head.
#
# <details><summary>Proof of Appendix I.1, conjecture, for n at least 2</summary>
#
# Let $p = \lceil d/n\rceil$ and $m = d - p$. For an example $t$ let $D_t$ be the span of the differences of its tokens,
# of dimension $n - 1$.
#
# *Differences of many examples.* Let $J$ be a set of at most $m$ examples. Then $\dim\sum_{t \in J}D_t \ge |J|$. If
# $|J|\,n \le d$, all tokens of $J$ are independent and the differences have dimension $|J|(n-1) \ge |J|$. Otherwise
# $|J| \ge p$; take $d$ tokens from $p$ of the examples, at least one of each. They are independent, and their
# differences span $d - p = m \ge |J|$ dimensions. By Rado's theorem on independent representatives there are
# independent $\delta_t \in D_t$, one for each of any $m$ examples.
#
# *Rows that leave a span.* Let $R$ hold at most $m$ examples and let $a_t$, $t \in R$, be any vectors. There are
# positive weights $\theta^{(t)}$ with independent $s_t = E^{(t)\top}\theta^{(t)} + a_t$. For, let $\delta_t =
# E^{(t)\top}\eta^{(t)}$ with $\mathbf 1^\top\eta^{(t)} = 0$, and $\theta^{(t)} = \mathbf 1/n + \lambda\eta^{(t)}$. For
# large $\lambda$ the rows $s_t$ are independent, since the $\delta_t$ are. A minor that is not 0 there is a polynomial
# in the weights on the planes $\mathbf 1^\top\theta = 1$; it does not vanish on the open part of them where all weights
# are positive. With $a_t = 0$ the same is true of $d$ examples. The span of all tokens of $t$ takes the place of $D_t$:
# the tokens of $J$ span at least $\min(|J|n, d) \ge |J|$ dimensions, which gives independent rows
# $E^{(t)\top}\eta^{(t)}$. A small change of the $\eta^{(t)}$ keeps them independent and makes all sums $\mathbf
# 1^\top\eta^{(t)}$ other than 0, and rows may be scaled: so there are such rows with weights of sum 1, and by the same
# minor ones with positive weights.
#
# *The heads.* Let the first head fit $d$ examples and each further head the next $m$, and follow the proof of
# Proposition 1 word for word. Claim 1 needs independent queries, and any $d$ are. Lemma 3 needs the queries of $m + 1
# \le d$ examples to be independent. The matrix of a further head has rank at most $m + 1 \le d = d_h$. So
# $\mathrm{rank}\,Z = T$ for every $T \le d + (H-1)m$, and the read-out of Step 2 does the rest. As $p \le (d+1)/2$ for
# $n \ge 2$, and $d \ge 3$, we have $m \ge (d-1)/2 \ge d/3$, and the number is at least $(H+2)d/3$.
#
# *No more.* Let $U$ be a subspace of dimension $m$, and let the tokens of an example be $x_t + u_{ti}$ with $u_{ti} \in
# U$, all drawn at random. Any $d$ tokens of contexts come from $q \ge p$ examples. They are independent if one token of
# each example and the $d - q \le m$ differences of the others from it are. These differences are independent almost
# surely, since $U$ has $m$ dimensions, and the $x_t$ are independent of them and of each other modulo their span, since
# it has $d - q$ dimensions. If $q'$ of the $d$ vectors are queries, $d - q'$ tokens come from $q \ge (d - q')/n$
# examples, so that $q + q' \ge d/n$ and with it $\ge p$, and $d - q' - q \le m$ differences; the argument is the same.
# So such data are in general position. But $z_h^{(t)} - z_1^{(t)} \in U$ for all heads, whatever keys and queries are,
# so that $\mathrm{rank}\,Z = \mathrm{rank}[Z_1, Z_2 - Z_1, \dots, Z_H - Z_1] \le d + (H-1)m$. (In Proposition 5 the
# subspace is the plane $\mathbf 1^\top x = 0$.)
#
# *One token.* For $n = 1$ every softmax weight is 1, and $\hat y$ is a linear map of the token. It takes $d$ values
# freely and no more. $\square$
#
# </details>
#
# ## See it run

# %%
import torch

from attention_theory.memorization.attention import Examples, capacity, features, predict, random_heads
from attention_theory.memorization.certified.ranks import certify_narrow_contexts, certify_promise_in_general_position
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.general_position import capacity_in_general_position, narrow_contexts
from attention_theory.memorization.kruskal import is_in_general_position
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.trained_heads import fit_keys_and_queries
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 4  # H, from 2 to 16
width = 12  # d and d_h, from 4 to 32
draws = 3  # trainings for each number of heads, from 2 to 12
seed = 0  # seed of every draw, at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(heads=(heads, 2, 16), width=(width, 4, 32), draws=(draws, 2, 12), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))

# %%
lengths = sorted({1, 2, 3, width // 3, width // 2, width - 2, width - 1})
promised = {n: capacity_in_general_position(heads, n, width) for n in lengths}


def scaled(data: Examples) -> Examples:
    """Whole numbers brought to the size of Gaussian tokens, so that logits are of order 1."""
    size = data.contexts.std() * data.width**0.25
    return Examples(data.contexts / size, data.queries / size)


def drawn(kind: str, count: int, n: int, d: int) -> Examples:
    """Examples with contexts of their own: Gaussian, or the worst ones of the proof."""
    if kind == "worst":
        return scaled(narrow_contexts(count, n, d, seed))
    return sample_examples(count, n, d, shared=False, seed=seed)


# %%
def rank_of_Z(kind: str, n: int) -> int:
    """With random heads, on more examples than the rank can be."""
    data = drawn(kind, heads * width + 4, n, width)
    return int(numerical_rank(features(random_heads(heads, width, width, seed + 1), data)))


ranks = {kind: [rank_of_Z(kind, n) for n in lengths] for kind in ("random", "worst")}

# %%
fig, axis = show.axes()
axis.plot(lengths, ranks["random"], "s", label="rank of Z, random data")
axis.plot(lengths, ranks["worst"], "o", label="rank of Z, worst data in general position")
axis.plot(lengths, list(promised.values()), "-", label="guaranteed in general position")
axis.plot(lengths, [capacity(heads, n, width) for n in lengths], "--", label="Theorem 1")
axis.axhline(heads * (width - 1) + 1, linestyle=":", label="H(d - 1) + 1")
axis.set(xlabel="context size n", ylabel="examples, or rank", ylim=(0, None))
axis.legend(fontsize=7)
show.figure(
    fig,
    name="promise",
    caption=f"The guaranteed number of examples and the rank of Z, for H = {heads}, d = {width}. The dotted line is "
    "the number in the caption of the paper's Figure 4.",
    alt="Against the context size: squares, with two or more tokens, on a level line at the top; circles on a rising "
    "curve below a dotted level line; and a dashed straight line that starts at one and comes close to the curve at "
    "the right end.",
)

# %% [markdown]
# General position guarantees more than Theorem 1 at every length. With two or more tokens, $Z$ even has full rank on
# random data. On the worst data, its rank is exactly the guaranteed number. Next we build the weights at six sizes.

# %%
sizes = [(2, 2, 4), (3, 2, 6), (3, 3, 7), (3, 5, 7), (4, 4, 8), (4, 8, 20)]


def residual_of(size: tuple[int, int, int], kind: str) -> tuple[int, int, float]:
    """T, the rank of Z and the largest residual of random labels."""
    H, n, d = size
    data = drawn(kind, capacity_in_general_position(H, n, d), n, d)
    built = build_heads(data, H, d, seed=seed + 2, general_position=True)
    labels = normal(data.count, 2, seed=seed + 3)
    outputs = predict(built.heads, solve_readout(built.Z, labels, H, 2), data)
    return data.count, int(numerical_rank(built.Z, rtol=1e-12)), (outputs - labels).abs().max().item()


# %%
runs = {(size, kind): residual_of(size, kind) for size in sizes for kind in ("random", "worst")}
show.table(
    ["(H, n, d)", "data", "Theorem 1", "T", "rank of Z", "H(d - 1) + 1", "largest residual"],
    [
        (str(size), kind, capacity(size[0], size[1], size[2]), *run[:2], size[0] * (size[2] - 1) + 1, run[2])
        for (size, kind), run in runs.items()
    ],
)


# %% [markdown]
# The built weights fit all labels, on random data and on the worst data. If we train the heads for given labels, how
# many more can we store?


# %%
def largest_fitted(H: int, shared: bool, draw: int, d: int = 4, n: int = 3) -> int:
    """The last T in steps of Hd whose labels are met, before the first that one training misses."""
    for T in range(H * d, 6 * H * d, H * d):
        data = sample_examples(T, n, d, shared, seed=draw)
        labels = normal(T, 1, seed=draw + 100).to(device)
        if fit_keys_and_queries(data.to(device), labels, H, d, draw, 200)[1] > 1e-6:
            return T - H * d
    return T


head_counts = [1, 2, 3]
fitted = {
    shared: [[largest_fitted(H, shared, seed + draw) for draw in range(draws)] for H in head_counts]
    for shared in (False, True)
}

# %%
fig, axis = show.axes(height=2.8)
for shared, label, marker in ((False, "separate contexts", "s"), (True, "one shared context", "o")):
    means = [sum(row) / draws for row in fitted[shared]]
    spread = [[m - min(row) for m, row in zip(means, fitted[shared], strict=True)]]
    spread.append([max(row) - m for m, row in zip(means, fitted[shared], strict=True)])
    axis.errorbar(head_counts, means, spread, marker=marker, capsize=2, label=label)
axis.plot(head_counts, [4 * H for H in head_counts], ":", label="Hd")
axis.plot(head_counts, [capacity_in_general_position(H, 3, 4) for H in head_counts], "--", label="guaranteed")
axis.set(xlabel="heads H", ylabel="largest T fitted", xticks=head_counts, ylim=(0, None))
axis.legend(fontsize=7)
show.figure(
    fig,
    name="fitted",
    caption="The largest T for which training fits the labels, for d = 4, n = 3: mean and range of the draws. Dotted: "
    "Hd. Dashed: the guaranteed number.",
    alt="Two curves that rise with the number of heads, above two straight lines. The curve for separate contexts is "
    "the higher one with two or more heads.",
)

# %% [markdown]
# With two and three heads and separate contexts, training stores more than twice $Hd$ labels on average. Separate
# contexts help if there are two or more heads.
#
# ## How we checked
# We enumerate all subsets of small worst-case data, and z3 proves the bound on the rank for all weights at one size. As
# a control, we give up general position: with one shared context, $Z$ must not reach the guaranteed rank.

# %%
small = {n: narrow_contexts(7, n, 4, seed) for n in (2, 3)}
everything = {n: torch.cat([data.contexts.flatten(0, 1), data.queries]).long() for n, data in small.items()}
in_general = {f"n = {n}": is_in_general_position(vectors) for n, vectors in everything.items()}
single = sample_examples(width + 1, 1, width, shared=False, seed=seed)
same_heads = random_heads(4, width, width, seed + 1)
four_heads = features(same_heads, single)
wanted = normal(width + 1, 1, seed=seed + 3)
missed = (predict(same_heads, solve_readout(four_heads, wanted, 4, 1), single) - wanted).abs()


# %%
def met_on_worst_data(H: int, n: int, d: int, draw: int) -> bool:
    """Whether heads trained for them meet H(d - 1) + 1 labels on the worst data of the proof."""
    data = scaled(narrow_contexts(H * (d - 1) + 1, n, d, seed=draw))
    labels = normal(data.count, 1, seed=draw + 200).to(device)
    return fit_keys_and_queries(data.to(device), labels, H, d, draw, 200)[1] <= 1e-6


met = [met_on_worst_data(*size, seed + draw) for size in ((2, 2, 4), (3, 2, 4), (2, 3, 6)) for draw in range(draws)]

# %%
shared = sample_examples(heads * width + 4, width // 2, width, seed=seed)
shared_rank = int(numerical_rank(features(random_heads(heads, width, width, seed + 1), shared)))

claim = Claim("memorization/conjecture-i-1")
claim.at_most("12 runs at the promised T: largest residual", max(run[2] for run in runs.values()), 1e-10)
claim.equal("12 runs: examples not in the rank", sum(run[0] - run[1] for run in runs.values()), 0)
claim.true("worst data, d = 4: in general position, all subsets tried", all(in_general.values()))
beyond = {f"n = {n}": rank - promised[n] for n, rank in zip(lengths, ranks["worst"], strict=True)}
claim.equal("worst data, random heads: rank of Z less the promise", beyond, dict.fromkeys(beyond, 0))
claim.control.at_most("one token, four heads: largest residual of d + 1 labels", missed.max(), 1e-10)
half, suggested = ranks["worst"][lengths.index(width // 2)], heads * (width - 1) + 1
claim.below("worst data, n = d / 2: rank of Z less H(d - 1) + 1", half - suggested, 0)
claim.control.at_least("one shared context, n = d / 2: rank of Z", shared_rank, promised[width // 2])
claim.certified("worst data, all weights", certify_narrow_contexts(3, 2, 4, 12))
claim.certified("at least (H + 2) d / 3, all sizes", certify_promise_in_general_position())
over = [T / (4 * H) for H, row in zip(head_counts, fitted[False], strict=True) for T in row]
claim.number("trained: largest T over Hd, mean", sum(over) / len(over))
claim.number("worst data, trained: share of the label sets met at T = H(d - 1) + 1", sum(met) / len(met))
claim.number("one token, four heads: rank of Z over d", int(numerical_rank(four_heads)) / width)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The largest $T$ that training fits is not an upper bound, because training from other initial weights might fit more.
# On the worst data, $Z$ has a smaller rank than $H(d-1)+1$. We also train heads for $H(d-1)+1$ labels on these data, at
# three sizes with ranks 6, 8 and 10, and with 7, 10 and 11 labels. With a single token, four heads must do no better
# than one. For all sizes, z3 proves that the guaranteed number is at least $(H+2)d/3$.
#
# </details>
#
# ## What to remember
#
# - In general position, a layer can store $d+(H-1)(d-\lceil d/n\rceil)$ examples. This is nearly $Hd$ for long
#   contexts.
# - General position does not guarantee any larger rank of the features.
#
# ## Exercises
#
# 1. *By hand.* For large $H$, what fraction of $Hd$ is guaranteed for $n=2$? Which for $n=d-1$?
#    <details><summary>Solution</summary>
#
#    For $n=2$, each further head adds $d-\lceil d/2\rceil$, so about one half is guaranteed. For $n=d-1\ge2$, each adds
#    $d-2$, so the fraction is about $1-2/d$.
#
#    </details>
# 2. *Predict, then run.* Set `heads = 12`. How does the guaranteed number at $n=2$ compare with Theorem 1?
#    <details><summary>Solution</summary>
#
#    In general position, $12+11\cdot6=78$ examples are guaranteed. Theorem 1 guarantees only $12\cdot1+1=13$, a sixth
#    of this number.
#
#    </details>
#
# Next: [Figure 4](figure_4_general_position.ipynb). The paper tests its conjecture by training.

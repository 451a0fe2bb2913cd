# %% [markdown]
# # Theorem 1 · Every head owns a block of examples
# *Mahdavi, Liao, Thrampoulidis: Theorem 1 and Proposition 1, Section 4.1; proof in Appendix B.*
#
# How many arbitrary answers can one layer of attention store? A head seems a poor place to store anything, because all
# it can do is average the tokens of its context. Theorem 1 nevertheless states that each head stores nearly as many
# answers as its context has tokens, if its keys are wide enough. Its proof is a recipe for the weights, and we follow
# it here.

# %%
from dataclasses import replace

import torch

from attention_theory.memorization.attention import (
    Examples,
    KeyQueryHeads,
    capacity,
    features,
    predict,
    random_heads,
    softmax_weights,
)
from attention_theory.memorization.certified.layers import certify_readout
from attention_theory.memorization.construction import Roles, blocks, build_heads, printed_roles
from attention_theory.memorization.exact_rank import exact_features
from attention_theory.memorization.examples import integer_vectors, sample_examples, with_faulty_context
from attention_theory.memorization.rank_certificate import rank_certificate
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.single_head import one_hot_of_largest
from attention_theory.numerics import modular_rank, numerical_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose we have two heads, and five examples that share one context of three tokens. On each example, a head
# distributes a total weight of 1 over the three tokens. Suppose that these weights, counted in quarters, are
#
# | example | head 1 | head 2 |
# | --- | --- | --- |
# | 1 | 2 1 1 | 4 0 0 |
# | 2 | 1 2 1 | 0 0 4 |
# | 3 | 1 1 2 | 0 4 0 |
# | 4 | 2 1 1 | 2 1 1 |
# | 5 | 1 2 1 | 1 2 1 |
#
# Head 1 makes rows 1 to 3 linearly independent, but it cannot distinguish example 4 from 1, or 5 from 2. Can head 2?
# Subtract rows 1 and 2 from rows 4 and 5. The entries of head 1 cancel, and head 2 leaves $(-2, 1, 1)$ and $(1, 2,
# -3)$. These two vectors are not parallel, so all five rows are independent. If the tokens are also independent, a
# linear read-out can assign any five answers to the five examples.

# %%
QUARTERS = [[2, 1, 1, 4, 0, 0], [1, 2, 1, 0, 0, 4], [1, 1, 2, 0, 4, 0], [2, 1, 1, 2, 1, 1], [1, 2, 1, 1, 2, 1]]
tiny = [[quarters / 4 for quarters in row] for row in QUARTERS]
fig, axis = schematic.canvas(height=2.3)
names = [{0: "1, 4", 1: "2, 5", 2: "3"}, dict(enumerate("12345"))]  # what is written at the dots of each triangle
for head, left in enumerate((0.9, 5.5)):
    corners = ["token 1", "token 2", "token 3"]
    dots = schematic.simplex(axis, corners, (left, 0.6), 3.2, [row[3 * head : 3 * head + 3] for row in tiny])
    schematic.text(axis, (left + 1.6, 4.2), f"head {head + 1}")
    for example, name in names[head].items():
        at_corner, (x, y) = head == 1 and example < 3, dots[example]
        colour = schematic.VERMILION if at_corner else schematic.BLUE
        axis.plot(x, y, "o", color=colour, markersize=8 if at_corner else 5)
        aside, up = (0.45, -0.05) if at_corner else (0.3, 0.25)
        schematic.text(axis, (x + aside if x > left + 1.59 else x - aside, y + up), name, colour)
for head, left in enumerate((10.4, 12.1)):
    schematic.matrix(axis, [row[3 * head : 3 * head + 3] for row in tiny], (left, 0.8), 0.5, f"head {head + 1}")
for example in range(5):
    schematic.text(axis, (10.1, 3.05 - 0.5 * example), str(example + 1), size=9)
schematic.text(axis, (12.0, 4.2), "weights")

# %%
show.figure(
    fig,
    name="tiny",
    caption="Two heads, three tokens, five examples. Blue: a head chooses these weights. Orange: it looks at one "
    "token only. Right: the same weights as a matrix, with one row per example.",
    alt="Two triangles with a token at each corner. In the first, the points of all examples are inside. In the "
    "second, points 4 and 5 are inside, and points 1, 2 and 3 are each at a different corner. A grid of five rows on "
    "the right shows the weights.",
)

# %% [markdown]
# Each example is a point in each triangle, and its position shows how the head distributes its weight. Head 2 *owns*
# examples 4 and 5, whose points may move freely inside. Examples 1, 2 and 3 are at the corners, where the softmax is
# *saturated*: nearly all its weight is on one token. We can therefore tune head 2 for its own examples, while the other
# examples stay where they are. Head 1 owns examples 1, 2 and 3, one more than head 2, because there are no earlier
# examples that it could disturb.
#
# ## The paper states
# An example consists of a *context* $E$ of $n$ tokens with $d$ numbers each, a *query* $e$ with $d$ numbers, and a
# label with $d_\mathrm{out}$ numbers. There are $T$ examples. Each of the $H$ heads has keys and queries of width
# $d_h$. From $e$, each head computes softmax weights $\theta$ and then the average $z=E^\top\theta$ of the tokens.
# Everything that follows is linear: values of width $d_v$, an output map to a vector $o$ of $d$ numbers, and a decoder,
# $\hat y=W_D^\top o$.
#
# Two assumptions say that the data are independent enough: every $n$ of the queries are linearly independent
# (Assumption 1), and so are the $n$ tokens of each context (Assumption 2).
#
# <!-- claim memorization/theorem-1 -->
# <blockquote>
#
# **Theorem 1 (H heads memorise H (min(n, d_h) - 1) + 1 examples)** *Section 4; Appendix B*
#
# **The paper states.** Consider a multi-head attention layer $\mathcal A$ with $H$ heads, embedding dimensions $d$,
# $d_v\ge d_\mathrm{out}\ge1$, and $d_h\ge1$. Let $\mathcal T$ be a training set with context size $n<d$. Define
# $r:=\min(n,d_h)$. If Assumptions 1 and 2 hold, and $T\le H(r-1)+1$, then there exists a set of parameters $\mathcal W$
# such that $\mathcal A$ can memorize $\mathcal T$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We read "$\ge d_\mathrm{out}$" as a condition on $d$ as well as on $d_v$. The comma after $d$
# allows this reading, and Step 2 of the proof needs it, because the matrix of all outputs has rank at most $d$. For
# $n\ge2$, the layer memorises every $T\le\max(H,H(r-1)+1)$, which is more for $d_h=1$.
#
# </blockquote>
# <!-- /claim -->
#
# The proof turns this into a question about rank. For each example, we concatenate the averages of all heads. The
# resulting vectors are the rows of the *feature matrix* $Z$.
#
# <!-- claim memorization/proposition-1 -->
# <blockquote>
#
# **Proposition 1 (The rank of the feature matrix)** *Section 4.1; Appendix B*
#
# **The paper states.** Under the conditions of Theorem 1, there exists parameters $\{(W_{K_h},W_{Q_h})\}_{h=1}^H$ such
# that $\mathrm{rank}(Z)\ge\min\{H(r-1)+1,\,T\}$.
#
# <details><summary>Slips (4)</summary>
#
# - Eq. 9 has $[Z'_a;Z'_b]$ for the whole of $Z$; it should be $[Z_a;Z_b]$, with the columns of the new head.
# - B.2 writes $\theta_\delta^{(t+T')}$ for $\theta_\delta^{(t)}$, and $\mathrm{rank}(Z'_b+A)$ for
#   $\mathrm{rank}(Z''_b+A)$.
# - The "$n$-step induction" has $n-1$ steps.
# - B.2 uses $\|\theta_\delta-\theta_+\|<\delta$, where Claim 2 gives $\le$, and lets $\delta$ be as large as its bound;
#   a $\delta$ below the bound makes Eq. 13 strict.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# If the rows of $Z$ are independent, we obtain the read-out by solving one linear system. We therefore need $Z$ to have
# rank $T$.
#
# A head's logits are $EWe$ with $W=W_KW_Q^\top$. For the first head, we choose softmax weights on $r$ examples so that
# the corresponding rows of $Z$ are independent. Every further head uses $W=W^*+cW^+$. The part $W^*$ gives $r-1$ new
# examples the weights that we choose ({claim:ref}`Claim 1 <memorization/claim-1>`). The part $W^+$ is *silent* on these
# new examples, which means that all logits are 0. On all earlier examples $W^+$ is *decided*, which means that one
# token, the *winner*, has the largest logit ({claim:ref}`Lemma 3 <memorization/lemma-3>`). A large $c$ pushes the
# earlier examples into corners ({claim:ref}`Lemma 4 <memorization/lemma-4>`), whatever $W^*$ is. Since we know these
# corners before we choose $W^*$, we can choose the new rows outside the span of the earlier ones. Each further head
# adds $r-1$ to the rank. One direction is lost because softmax weights sum to 1, or, for narrow keys, because $W^+$
# needs one of the $d_h$ dimensions.
#
# <details><summary>Proof of Proposition 1, with fixed blocks</summary>
#
# We write $Z'$ for the features of the heads so far, and $Z''$ for those of the new head. An index $B$ or $R$ selects
# the rows of a set of examples, and $Z_B'^{+}$ is a pseudo-inverse.
#
# Let $T \le H(r-1)+1$. After each head, we want the rows of $Z$ of all blocks so far to be independent in the columns
# of the heads so far. Further columns do not change this, so after the last head $\mathrm{rank}\,Z = T$.
#
# *A step used twice.* Let $S$ be a subspace of dimension at most $n - 1$, and $E$ of rank $n$. The points
# $E^\top\theta$ with $\theta$ inside the simplex span the $n$ dimensions of the rows of $E$, so not all of them are in
# $S$. Hence there is a positive $\theta$ with $E^\top\theta \notin S$, and the same is true for all $\theta$ near it.
#
# *The first head.* Choose $\theta^{(1)}, \dots, \theta^{(r)}$ one after another, positive and such that
# $E^{(t)\top}\theta^{(t)}$ is not in the span of the $t - 1 \le n - 1$ rows before it. By Claim 1 a head of width $r
# \le d_h$ has these weights.
#
# *A further head.* Let $B$ be the set of examples so far, with the rows of $Z'_B$ independent, and let $R$ be the next
# examples, at most $r - 1$ of them. Put $C = -Z'_RZ_B'^{+}$. Take $W^+$ from Lemma 3, silent on $R$ and decided on $B$,
# and let $Z''_{B,+}$ be the rows of $B$ with weights one-hot at the winner. These rows depend only on $W^+$. Choose
# $\theta^{(j)}$, $j \in R$, one after another, positive and such that $z''_j = E^{(j)\top}\theta^{(j)}$ is not in the
# span of $(CZ''_{B,+})_j$ and of the rows $s_i = z''_i + (CZ''_{B,+})_i$ before it, at most $|R| \le n - 1$ vectors.
# Then $s_j$ is not in the span of the $s_i$ before it, and $S_+ = Z''_R + CZ''_{B,+}$ has rank $|R|$. Let $W^*$ be the
# matrix of Claim 1 for these weights. With the matrix $W^* + cW^+$, which has rank at most $r \le d_h$, the weights on
# $R$ are the chosen ones for every $c$, and $Z''_B(c) \to Z''_{B,+}$ as $c \to \infty$ (Lemma 4). Some minor of $S_+$
# of size $|R|$ is not 0, and the same minor of $S(c) = Z''_R + CZ''_B(c)$ is not 0 for large $c$: keep such a $c$.
#
# *The ranks add up.* Row operations bring the rows of $B$ and $R$ to
#
# $$\begin{bmatrix} I & 0 \\ C & I \end{bmatrix}\begin{bmatrix} Z'_B & Z''_B \\ Z'_R & Z''_R \end{bmatrix} =
# \begin{bmatrix} Z'_B & Z''_B \\ N & S \end{bmatrix}, \qquad N = Z'_R(I - P), \quad P = Z_B'^{+}Z'_B,$$
#
# where $P$ is the orthogonal projection onto the row space of $Z'_B$. Therefore $NP = 0$ and $Z'_BP = Z'_B$.
# Multiplying the first columns by $P$ from the right cannot raise the rank and leaves $[Z'_B, Z''_B; 0, S]$, of rank at
# least $\mathrm{rank}\,Z'_B + \mathrm{rank}\,S = |B| + |R|$ (Lemma 1). $\square$
#
# </details>
#
# <details><summary>Proof of Theorem 1, with d_out at most d</summary>
#
# *The condition is needed.* $\hat Y = Z\,\mathrm{diag}(W_{V_1}, \dots)\,W_O W_D$ is the product of a matrix with $d$
# columns and $W_D \in \mathbb R^{d \times d_\mathrm{out}}$, so $\mathrm{rank}\,\hat Y \le d$. Let $d_\mathrm{out} > d$
# and $T > d$. Then no parameters fit labels with $\mathrm{rank}\,Y = d + 1$, although all hypotheses except
# $d \ge d_\mathrm{out}$ can hold. The nearest matrix of rank $d$ misses $Y$ by $(\sum_{i > d}\sigma_i(Y)^2)^{1/2}$ in
# the Frobenius norm.
#
# *The condition is enough.* Let $T \le H(r-1)+1$. By Proposition 1 there are keys and queries with
# $\mathrm{rank}\,Z = T$: the rows of $Z$ are independent, and for every $Y \in \mathbb R^{T \times d_\mathrm{out}}$
# there is $V \in \mathbb R^{Hd \times d_v}$ with $ZV = [Y, 0]$, where $d_v \ge d_\mathrm{out}$. Let $W_{V_h}$ be the
# $h$-th block of $d$ rows of $V$. Let $W_O$ be $H$ copies of the $d_v \times d$ matrix $I'$ with ones on its diagonal,
# and $W_D$ the $d \times d_\mathrm{out}$ one. Then $\mathrm{diag}(W_{V_1}, \dots)\,W_O = V I'$, and
# $\hat Y = Z V I' W_D = [Y, 0]\,I'W_D$. As $d_\mathrm{out} \le d$ and $d_\mathrm{out} \le d_v$, the product $I'W_D$ is
# the $d_v \times d_\mathrm{out}$ matrix with ones on its diagonal, and $\hat Y = Y$. $\square$
#
# </details>
#
# ## See it run
# We build the weights for the hardest case, in which all examples share one context and $T=H(r-1)+1$ exactly.

# %% tags=["parameters"]
heads = 8  # H, at least 2
context = 16  # n, tokens in the context, from 2 to width - 1
width = 32  # d, at least 3
head_width = 32  # d_h, at least 2
outputs = 3  # d_out, from 1 to width
seed = 0  # seed of every draw, at least 0

# %%
require(
    heads=(heads, 2, None),
    width=(width, 3, None),
    context=(context, 2, width - 1),
    head_width=(head_width, 2, None),
    outputs=(outputs, 1, width),
    seed=(seed, 0, None),
)

# %%
count = capacity(heads, context, head_width)
most = capacity(heads, context, context)  # the largest rank of Z with a shared context, whatever d_h (Proposition 2)
examples = sample_examples(most + 1, context, width, seed=seed)
labels = normal(most + 1, outputs, seed=seed + 1)
kept = examples.take(slice(0, count))
built = build_heads(kept, heads, head_width, seed=seed + 2)
readout = solve_readout(built.Z, labels[:count], heads, outputs)
residual = (predict(built.heads, readout, kept) - labels[:count]).abs().max().item()
print(f"T = {count} examples, largest residual {residual:.1e}")

# %%
largest = softmax_weights(built.heads, kept).amax(dim=-1).T
fig, axis = show.axes(height=2.8)
edges = (0.5, count + 0.5, heads + 0.5, 0.5)  # examples and heads are counted from 1
picture = axis.imshow(largest, aspect="auto", vmin=1 / context, vmax=1, interpolation="nearest", extent=edges)
axis.set(xlabel="example t", ylabel="head h")
axis.grid(False)
fig.colorbar(picture, label="largest softmax weight")
show.figure(
    fig,
    name="staircase",
    caption="The largest softmax weight of each head (rows) on each example (columns). On the staircase, heads choose "
    "their weights freely. Everywhere else they are saturated, except in the first row: head 1 has no earlier "
    "examples to protect.",
    alt="A heat map, nearly uniform, with a staircase of another shade from the upper left to the lower right. The "
    "top row is mixed throughout.",
    photo=True,
)

# %% [markdown]
# We see the staircase of blocks. Head 1 owns the first $r$ examples. Each further head owns the next $r-1$, and on
# every other example it puts nearly all its weight on one token.
#
# Next we vary the sizes. We draw tokens from two distributions, and use either one shared context or a separate context
# for each example.

# %%
sizes = [(4, 4, 8, 8), (4, 4, 8, 3), (8, 6, 12, 12), (8, 8, 16, 4), (8, 8, 16, 2), (8, 16, 32, 32), (4, 32, 64, 64)]


def memorise(size: tuple[int, int, int, int], law: str, shared: bool, draw: int = seed, **form: str | float) -> dict:
    """Build, solve and measure once."""
    H, n, d, d_h = size
    data = sample_examples(capacity(H, n, d_h), n, d, shared, law, seed=draw)
    wanted = normal(data.count, 3, seed=draw + 1)
    result = build_heads(data, H, d_h, seed=draw + 2, **form)
    weights = solve_readout(result.Z, wanted, H, 3)
    singular = torch.linalg.svdvals(result.Z)
    return {
        "T": data.count,
        "rank": int(numerical_rank(result.Z, rtol=1e-12)),
        "ratio": (singular[data.count - 1] / singular[0]).item(),
        "residual": (predict(result.heads, weights, data) - wanted).abs().max().item(),
        "value weights": weights.values.abs().max().item(),
        "excess": max(report.one_hot_error - report.distance for report in result.reports),
        "scale": max(report.scale for report in result.reports),
    }


# %%
runs = {
    (size, law, shared): memorise(size, law, shared)
    for size in sizes
    for law in ("gaussian", "uniform")
    for shared in (True, False)
}
show.table(
    ["$(H, n, d, d_h)$", "tokens", "contexts", "T", "rank Z", "smallest singular ratio", "residual", "largest c"],
    [
        (str(size), law, "shared" if shared else "separate", r["T"], r["rank"], r["ratio"], r["residual"], r["scale"])
        for (size, law, shared), r in runs.items()
    ],
)
large = memorise((20, 32, 64, 64), "gaussian", True)

# %% [markdown]
# The rank equals $T$ in all 28 runs, and the residuals are at rounding level. The singular ratio, which is the smallest
# singular value of $Z$ divided by the largest, stays far above this level. The same is true for $H=20$ and $T=621$.
#
# ### Store your labels
# Each letter that you type is a label. {doc}`/instruments/store_labels` explains what this shows.
#
# <div class="instrument" data-instrument="store_labels" data-start="Load the layer" data-weights="construction">
#
# The instrument is on the site of the book.
#
# </div>
#
# ### Choose the sizes
# How much fits, for sizes of your own? {doc}`/instruments/how_much_fits` explains what this shows.
#
# <div class="instrument" data-instrument="how_much_fits" data-start="Load the table" data-weights="ranks">
#
# The instrument is on the site of the book.
#
# </div>
#
# ## How we checked
# We require residuals below $10^{-10}$ in every run. As a control, we give the same heads $H(n-1)+2$ examples, which is
# more than any heads can fit with a shared context ({claim:ref}`Proposition 2 <memorization/proposition-2>`). The
# residual must then be large.

# %%
Z_more = features(built.heads, examples)
one_more = (predict(built.heads, solve_readout(Z_more, labels, heads, outputs), examples) - labels).abs().max().item()
print(f"{most + 1} shared examples, same heads: largest residual {one_more:.2g}; the theorem's bound is {count}")

# %% [markdown]
# To test the condition $d\ge d_\mathrm{out}$, we use labels of five numbers with tokens of width three. Even the best
# possible layer misses these labels, by exactly their singular values beyond the third. It fits labels of three
# numbers.

# %%
narrow = sample_examples(5, 2, 3, seed=seed)
wide_labels = normal(5, 5, seed=seed + 1)
narrow_heads = build_heads(narrow, 4, 3, seed=seed + 2)
left, values, right = torch.linalg.svd(wide_labels)
best = solve_readout(narrow_heads.Z, left[:, :3] * values[:3], 4, 3)  # the labels' own best part of rank d
narrow_out = predict(narrow_heads.heads, replace(best, decode=right[:3]), narrow)
beyond_width = torch.linalg.matrix_norm(narrow_out - wide_labels).item()
out_of_reach = values[3:].norm().item()  # no outputs of rank d come nearer
three = solve_readout(narrow_heads.Z, wide_labels[:, :3], 4, 5)
within_width = (predict(narrow_heads.heads, three, narrow) - wide_labels[:, :3]).abs().max().item()

# %% [markdown]
# We also follow the paper's proof head by head, with $d_h=d>n$. After $H'$ heads, the rank of the features $Z'$ must be
# $H'(n-1)+1$. The new head must add $n-1$ to this rank, and its finite weights must stay close enough to the saturated
# limit (Eq. 13).


# %%
def induction_step(
    Z: torch.Tensor, data: Examples, weights: torch.Tensor, done: int, roles: Roles | None = None
) -> dict[str, float]:
    """What the printed induction says of the head after ``done`` others, measured; by the roles it was built for."""
    n, d = data.tokens, data.width
    before, new = Z[:, : done * d], Z[:, done * d : (done + 1) * d]
    roles = roles or printed_roles(before, n, 1e-9)
    limit = one_hot_of_largest(weights[:, done]) @ data.contexts
    in_the_limit = new[roles.fresh] + roles.C @ limit[roles.earlier]
    change = new[roles.fresh] + roles.C @ new[roles.earlier] - in_the_limit
    ranks = [int(numerical_rank(part, rtol=1e-9)) for part in (before, Z[:, : (done + 1) * d], in_the_limit)]
    return {
        "k": ranks[0] - (done * (n - 1) + 1),
        "cleared": (before[roles.fresh] + roles.C @ before[roles.earlier]).abs().max().item(),
        "rank added": ranks[2] - (n - 1),
        "Eq. 13": torch.linalg.matrix_norm(change, 2).item() / torch.linalg.svdvals(in_the_limit)[-1].item(),
        "gain": ranks[1] - ranks[0] - (n - 1),
    }


# %%
steps, random_steps, proof_residuals, short_of_T, ranks_of_W = [], [], {}, {}, {}
for H, n, d in [(3, 4, 8), (4, 5, 9), (4, 6, 12)]:
    for data_seed in (seed, seed + 1):
        data, case = sample_examples(capacity(H, n, d), n, d, seed=data_seed), f"{(H, n, d)}, seed {data_seed}"
        made = build_heads(data, H, d, seed=data_seed + 2, form="printed", rank_tolerance=1e-9)
        drawn = random_heads(H, d, d, data_seed + 3)
        for layer, found, roles in ((made.heads, steps, made.roles), (drawn, random_steps, [None] * (H - 1))):
            Z, weights = features(layer, data), softmax_weights(layer, data)
            found += [induction_step(Z, data, weights, done, roles[done - 1]) for done in range(1, H)]
        wanted = normal(data.count, 3, seed=data_seed + 1)
        out = predict(made.heads, solve_readout(made.Z, wanted, H, 3), data)
        proof_residuals[case] = (out - wanted).abs().max().item()
        short_of_T[case] = data.count - int(numerical_rank(made.Z, rtol=1e-9))
        W = made.heads.keys @ made.heads.queries.mT
        ranks_of_W[case] = max(int(rank) for rank in numerical_rank(W, rtol=1e-12)) - n

# %%
claim = Claim("memorization/theorem-1")
claim.at_most("residual at the sizes of the parameters", residual, 1e-10)
claim.at_most("28 runs, largest residual", max(r["residual"] for r in runs.values()), 1e-10)
claim.equal("28 runs, examples not in the rank", sum(r["T"] - r["rank"] for r in runs.values()), 0)
claim.at_most("H = 20, n = 32, d = 64, T = 621: residual", large["residual"], 1e-10)
claim.control.at_most("shared context, H(n - 1) + 2 examples, same heads: residual", one_more, 1e-10)
claim.equal("printed induction, six runs: examples not in the rank of Z", short_of_T, 0, of="proof")
claim.at_most("the same: residual with the read-out of Step 2", proof_residuals, 1e-10, of="proof")
claim.number("T = 621, smallest singular ratio", large["ratio"])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - We read the paper from extracted text, which may have lost or moved a sign.
# - When the paper's induction chooses among dependent rows, rounding errors determine which rows it takes. We check the
#   rows that the construction chose. In these six runs, the relevant singular values are far above rounding level, so
#   every tolerance that we try gives the same rank.
# - For $d_h<n$ the theorem's bound is lower than $H(n-1)+1$, and the features of our heads have a higher rank than the
#   theorem states.
#
# </details>
#
# ### An exact certificate for Proposition 1
# Singular values only suggest the rank. We can also prove it. As $c$ grows, $Z$ tends to a limit. If the tokens have
# integer entries and the chosen weights are multiples of 1/1000, then 1000 times the limit is an integer matrix. We
# compute its rank modulo a prime without rounding, and this number never exceeds the true rank. For large enough $c$,
# the rank of $Z$ is at least that of the limit.
#
# <details><summary>Proof that the rank of the limit is enough</summary>
#
# *The limit.* Here every head, including the first, fits a separate set of $n - 1$ examples, and the first example is
# saturated in all heads. Head $h$ has the matrix $W^* + cW^+$. On its own examples $W^+$ is silent, and the weights are
# the chosen ones for every $c$. On all other examples, one of the logits $EW^+e$ is the largest and leads the next by
# $\gamma > 0$, so the weights approach one-hot ones like $e^{-c\gamma}$ (Lemma 4). Therefore $Z(c) \to Z_+$, in which
# each entry is an integer or, on a head's own examples, a combination of integers with weights in thousandths.
# Therefore $1000\,Z_+$ is an integer matrix.
#
# *Its rank.* For a prime $p$, the rank of an integer matrix modulo $p$ is at most its ordinary rank: a minor that is
# not 0 modulo $p$ is not 0. Therefore rank $T$ modulo $p$ proves rank $T$.
#
# *Back to finite weights.* Some $T \times T$ minor of $Z_+$ is not 0. Minors are continuous, so the same minor of
# $Z(c)$ is not 0 for all large $c$. $\square$
#
# </details>

# %%
whole_sizes = [(1, 4, 6), (4, 4, 6), (6, 5, 8), (4, 8, 12)]
whole = [sample_examples(capacity(H, n, n), n, d, law="integer", seed=seed) for H, n, d in whole_sizes]
more = [sample_examples(capacity(H, n, n) + 3, n, d, law="integer", seed=seed) for H, n, d in whole_sizes]
proved = [rank_certificate(data, H, seed) for data, (H, _, _) in zip(whole, whole_sizes, strict=True)]
proved_more = [rank_certificate(data, H, seed) for data, (H, _, _) in zip(more, whole_sizes, strict=True)]
duplicate = rank_certificate(with_faulty_context(whole[1], "duplicate"), whole_sizes[1][0], seed)
show.table(
    ["$(H, n, d)$", "exact rank of the limit", "with 3 examples more", "H (n - 1) + 1"],
    [(str(s), p.rank, q.rank, p.bound) for s, p, q in zip(whole_sizes, proved, proved_more, strict=True)],
)


# %%
def proof_of_induction(claim: Claim) -> None:
    """The printed steps; random heads must fail Eq. 13."""
    worst_of = {name: max(abs(one[name]) for one in steps) for name in steps[0]}
    claim.equal("rank of Z' less H'(r - 1) + 1", worst_of["k"], 0, of="proof")
    claim.at_most("rows of Z'_b + C Z'_a, largest entry", worst_of["cleared"], 1e-10, of="proof")
    claim.equal("rank of Z''_b + A at the limit less r - 1", worst_of["rank added"], 0, of="proof")
    claim.below("Eq. 13: largest of its left side over its right one", worst_of["Eq. 13"], 1, of="proof")
    claim.equal("gain of rank by a head less r - 1", worst_of["gain"], 0, of="proof")
    claim.at_most("rank of a head's W = W* + cW⁺ less r", max(ranks_of_W.values()), 0, of="proof")
    of_random = max(one["Eq. 13"] for one in random_steps)
    claim.control.below("random heads, Eq. 13: the same", of_random, 1, of="proof")


# %%
random_rank = int(numerical_rank(features(random_heads(heads, width, head_width, seed + 3), kept)))

claim = Claim("memorization/proposition-1")
claim.equal("exact ranks below the bound", sum(p.rank < p.bound for p in proved), 0)
claim.at_least("smallest lead of a winning logit", min(p.gap for p in proved), 1e-6)
claim.true("groups of queries independent, exactly", all(p.queries_independent for p in proved))
claim.at_least("28 runs, smallest singular ratio over rounding", min(r["ratio"] for r in runs.values()) / 2.2e-16, 1e6)
claim.at_most("28 runs, one-hot error less the allowed distance", max(r["excess"] for r in runs.values()), 0)
claim.control.at_least("duplicate token: exact rank", duplicate.rank, proved[1].bound)
proof_of_induction(claim)
left_side, right_side = (int(numerical_rank(Z)) for Z in (built.Z[:, :-width], built.Z))  # of Eq. 9 at the last head
claim.misprint.equal("Eq. 9: rank of its left side, Z', less that of Z", left_side - right_side, 0, of="proof")
claim.number("exact rank at (4, 8, 12)", proved[-1].rank)
claim.number("rank with random heads", random_rank)
claim.verdict()

# %% [markdown]
# Three further examples never raise the exact rank above the bound, and a duplicate token lowers it. Full rank alone
# does not single out this construction, because random heads reach it as well on almost all data. The construction does
# so on all. We therefore also check the steps of the construction, where random heads fail.
#
# <details><summary>Method notes</summary>
#
# The computed $W^+$ is silent only to within rounding error. An exactly silent matrix exists that differs from it only
# by rounding errors. It has the same winners, because every winner leads by far more than the rounding error.
#
# </details>
#
# ## Where the paper differs
# The statement lists "embedding dimensions $d$, $d_v\ge d_\mathrm{out}\ge1$, and $d_h\ge1$". Does the inequality also
# apply to $d$? Step 2 of the proof needs it, because the read-out $I_{d\times d_\mathrm{out}}$ passes on all labels
# only if $d\ge d_\mathrm{out}$. With this reading, the theorem is true. The introduction does not allow it.
#
# <!-- claim memorization/introduction-capacity -->
# <blockquote>
#
# **Section 1 (The theorem as stated in the introduction)** *Section 1*
#
# **The paper states.** A single-layer MHA module with $H$ heads, context size $n<d$, output dimension
# $d_\mathrm{out}\le d_v$, equipped with a total of $O(Hd(d_h+d_v))$ trainable parameters, is capable of memorizing
# $\Omega(H\min(n,d_h))$ input examples. Specifically when $d_\mathrm{out}=d_h=d$ and $n=\Theta(d)$, this finding
# recovers the optimal order of real-valued numbers that can be memorized with the given number of parameters.
#
# **What is true.** The module is capable of this if, in addition, $d_\mathrm{out}\le d$. The order is optimal for
# $d_v=\Theta(d)$.
#
# **What changed.** The condition $d_\mathrm{out}\le d$ is missing. The matrix of all outputs has rank at most $d$, so
# with $d_\mathrm{out}>d$ there are labels that no number of heads can fit.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** As in all rows, the orders are for $n\ge2$: the paper itself says in Section 4.2 that with one
# shared token the capacity is 1 for every $H$. Theorem 1 promises only one example at $d_h=1$. The module then
# memorises every $T\le H$. For this it is enough that every two queries are independent and that each context has two
# tokens that differ; if all tokens are multiples of one vector, $Z$ has no larger rank.
#
# </blockquote>
# <!-- /claim -->
#
# The output passes through $d$ numbers before it is decoded, so with $d_\mathrm{out}>d$ no number of heads helps. The
# paper's experiments also violate the condition, with 100 classes at $d=64$, but they only count how often the largest
# output is the right one.
#
# <details><summary>Proof of Section 1, second contribution, with d_out at most d, for two tokens or more</summary>
#
# *The condition is needed*, and Theorem 1 holds with it: see the proof of Theorem 1. (At $n = 1$ every softmax weight
# is 1, so with one shared context all outputs are equal, and two labels that differ cannot both be met.)
#
# *The orders.* Let $r = \min(n, d_h) \ge 2$. Then $H(r-1)+1 > Hr/2$, so the layer memorises $\Omega(Hr)$ examples. As
# $d_\mathrm{out} \le d_v$, it has $2Hdd_h + 2Hdd_v + dd_\mathrm{out} \le 3Hd(d_h+d_v)$ parameters.
#
# *Keys of width one.* Let $d_h = 1$, $n \ge 2$ and $T \le H$. Let every two queries be independent, and let each
# context $E_t$ have two tokens that differ; Assumptions 1 and 2 imply both. We show that $\mathrm{rank}\,Z = T$ for
# some weights. Choose $v \in \mathbb R^d$ such that no $g_t = E_tv$ is constant. This excludes a hyperplane for each
# $t$. Let all heads have $W_K = v$, and head $h$ have $W_Q = s_ha$. Its features satisfy $v \cdot z_h^{(t)} = f_t(s_h)$
# with $f_t(s) = g_t \cdot \mathrm{softmax}(s\,(a \cdot e_t)\,g_t)$. Let no $a \cdot e_t$ be 0. As $s \to \infty$, the
# weight moves to the largest entries of $g_t$ if $a \cdot e_t > 0$, and to the smallest otherwise. Let $\gamma_t > 0$
# be the gap between them and the next value in $g_t$, and $r_t = |a \cdot e_t|\gamma_t$. Then
# $f_t(s) = f_t(\infty) - C_te^{-sr_t}(1 + o(1))$ with $C_t \ne 0$. If $r_t = r_{t'}$, then $a$ is orthogonal to
# $\gamma_te_t + \gamma_{t'}e_{t'}$ or $\gamma_te_t - \gamma_{t'}e_{t'}$. These vectors are not 0, and there are
# finitely many, since $\gamma_t$ has two possible values. Choose $a$ outside all these hyperplanes, so that the $r_t$
# differ. If $\sum_tc_tf_t = 0$ for all $s$ and not all $c_t$ are 0, subtract the limit: among the $t$ with $c_t \ne 0$,
# the term with the smallest $r_t$ vanishes more slowly than the sum of all others, a contradiction. Hence
# $f_1, \dots, f_T$ are independent functions, and some numbers $s_1, \dots, s_T$ make the matrix of all $f_t(s_h)$
# invertible. Its columns are combinations of those of $Z$, so $\mathrm{rank}\,Z = T$, and Step 2 gives the read-out. If
# all tokens are multiples of one vector, then so are all features of a head, and $\mathrm{rank}\,Z \le H$.
#
# *The optimal order.* Let $d_\mathrm{out} = d_h = d$, and let $d_v$ and $n$ be of order $d$. The $T$ labels are
# $Td = \Theta(Hd^2)$ numbers, and there are $\Theta(Hd^2)$ parameters. The outputs are a smooth function of the
# parameters, so if there are more numbers than parameters, the labels that can be met have measure 0. $\square$
#
# </details>

# %%
H, n = 6, 3  # the worst data for keys of width one: all queries in a plane, all tokens on a line
angles, line = torch.arange(1, H + 2), integer_vectors(1, 5, generator(seed))
in_plane = torch.stack([angles, angles**2 + 1, *[0 * angles] * 3], dim=1)  # every two are independent
thin_maps = integer_vectors(2 * H * 5, 1, generator(seed + 1), 9_999).view(2, H, 5, 1)
thin_ranks = {}
for name, places in {"differ": angles[:, None] + torch.arange(n) ** 2, "equal": angles[:, None].expand(-1, n)}.items():
    thin_ranks[name] = modular_rank(exact_features(places[..., None] * line, in_plane, *thin_maps))
lonely = int(numerical_rank(features(random_heads(H, 5, 2, seed), sample_examples(2, 1, 5, seed=seed))))
shares = {f"d = {d}": [capacity(8, n, d) * d / (4 * 8 * d * d + d * d) for n in (d // 2, 2)] for d in (8, 16, 32, 64)}
print(f"{H} heads, {H + 1} examples: exact rank {thin_ranks['differ']}; with equal tokens {thin_ranks['equal']}")

# %%
claim = Claim("memorization/introduction-capacity")
claim.at_most("d_out = 3 of d_v = 5, d = 3: residual of five labels", within_width, 1e-10)
claim.printed.at_most("d_out = 5 of d_v = 5, d = 3: residual of the best layer", beyond_width, 1e-10)
claim.equal("the same, less what rank d leaves", beyond_width - out_of_reach, 0, tolerance=1e-10)
claim.equal("rank of Z in that example", int(numerical_rank(narrow_heads.Z)), 5)
claim.control.at_most("H(n - 1) + 2 shared examples, same heads: residual", one_more, 1e-10)
claim.control.equal("n = 1, shared context, six heads: rank of Z for two examples", lonely, 2)
claim.equal("width 1, queries in a plane, tokens on a line: exact rank", thin_ranks["differ"], H)
claim.control.equal("the same with equal tokens in each context: exact rank", thin_ranks["equal"], H)
claim.at_least("n = d/2, width d: labels over parameters", {name: few[0] for name, few in shares.items()}, 1 / 16)
claim.control.at_least("n = 2, d = 64: labels over parameters", shares["d = 64"][1], 1 / 16)
claim.verdict()

# %% [markdown]
# ## Also on this page
# ### The construction in rounded arithmetic
# The induction must find the rank of the features so far. A computer needs a tolerance for this, and the result depends
# on it. We avoid the problem by fixing the blocks in advance.
#
# <!-- claim memorization/appendix-b-construction -->
# <blockquote>
#
# **Appendix B (The construction of the heads)** *Appendix B, Eqs. 9-13*
#
# **The paper states.** Define $k:=\mathrm{rank}(Z')$. Assume that the first $k$ rows of $Z'$ are linearly independent.
# Take the last $r-1$ rows that are linearly dependent on the first $k$ rows. We can zero out the $Z'_b$ block by adding
# a linear combination of rows of $Z'_a$. We have to find suitable Attention weights such that
# $\mathrm{rank}(Z''_b+A)\ge r-1$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We can assign the examples to heads in advance: head 1 fits examples $1,\dots,r$, and every
# further head fits the next $r-1$. Let $Z'$ be the features of the earlier heads and $Z''$ those of the new head. For
# new examples $R$ and earlier examples $B$, let $C=-Z'_RZ_B'^{+}$. We choose the new weights such that $Z''_R+CZ''_B$
# has rank $|R|$, with $Z''_B$ at its saturated limit. Then $\mathrm{rank}\,Z\ge\mathrm{rank}\,Z'_B+|R|$, since
# $Z'_R+CZ'_B$ is orthogonal to the rows of $Z'_B$.
#
# </blockquote>
# <!-- /claim -->

# %%
size = (8, 8, 16, 4)
cases = [(law, seed + s) for law in ("gaussian", "uniform") for s in range(3)]
forms = {"fixed blocks": {}}
forms |= {
    f"printed, tolerance {t:g}": {"form": "printed", "rank_tolerance": t} for t in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
}
conditioned = {name: [memorise(size, law, True, draw, **form) for law, draw in cases] for name, form in forms.items()}
worst = {
    name: (min(r["ratio"] for r in found), *(max(r[part] for r in found) for part in ("residual", "value weights")))
    for name, found in conditioned.items()
}
show.table(
    ["form", "smallest singular ratio", "largest residual", "largest value weight"],
    [(name, *row) for name, row in worst.items()],
    f"The worst of six runs with shared contexts, $(H, n, d, d_h)$ = {size}: two distributions, three seeds each.",
)

# %%
H, n, d, d_h = size
data = sample_examples(capacity(H, n, d_h), n, d, seed=seed)
fig, axis = show.axes()
shown = {name: forms[name] for name in ("fixed blocks", "printed, tolerance 0.01", "printed, tolerance 1e-10")}
for (name, form), marker in zip(shown.items(), show.MARKERS, strict=False):
    singular = torch.linalg.svdvals(build_heads(data, H, d_h, seed=seed + 2, **form).Z)
    axis.semilogy(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=name)
axis.set(xlabel="index of the singular value", ylabel="relative to the largest")
axis.legend()
show.figure(
    fig,
    name="spectrum",
    caption=f"Singular values of Z for H = {H}, n = {n}, d = {d}, $d_h$ = {d_h}, T = {data.count}. All three matrices "
    "have rank T. With a tolerance near rounding level, the paper's form relies on singular values that are many "
    "orders of magnitude smaller.",
    alt="Three falling curves on a logarithmic axis. Two end near a hundredth; the third falls by six orders of "
    "magnitude or more.",
)

# %% [markdown]
# Fixed blocks and a coarse tolerance keep the smallest singular value above a thousandth of the largest. With a
# tolerance near rounding level, the induction relies on directions with tiny singular values, and the read-out weights
# grow by many orders of magnitude.
#
# The proof with fixed blocks uses two facts, which we test for every head after the first. The new rows become
# orthogonal to the earlier ones after elimination, and the new head's contribution to these rows has full rank. As a
# control we leave out the saturating part $cW^+$ at $(H, n, d, d_h) = (8, 8, 16, 4)$, so that a head disturbs examples
# that it does not own.

# %%
block_of = blocks(count, heads, min(context, head_width))
leftovers, additions = [], []
for h in range(1, heads):
    B, R = slice(0, block_of[h].start), slice(block_of[h].start, block_of[h].stop)
    before, new = built.Z[:, : h * width], built.Z[:, h * width : (h + 1) * width]
    C = -before[R] @ torch.linalg.pinv(before[B])
    leftovers.append(((before[R] + C @ before[B]) @ before[B].T).abs().max().item())
    additions.append(torch.linalg.svdvals(new[R] + C @ new[B])[-1].item())
show.table(
    [
        "smallest over the heads of the smallest singular value of S",
        "largest product of a cleared row with an earlier one",
    ],
    [(min(additions), max(leftovers))],
)

# %%
owned = blocks(data.count, H, min(n, d_h))
saturating = build_heads(data, H, d_h, seed=seed + 2)
quiet_keys = saturating.heads.keys.clone()
quiet_keys[1:, :, min(n, d_h) - 1] = 0  # the saturating column of every head but the first
without = softmax_weights(KeyQueryHeads(quiet_keys, saturating.heads.queries), data).amax(dim=-1)
loudest = max(
    2 * (1 - without[t, h].item()) for h in range(1, H) for t in range(data.count) if t not in owned[h]
)  # the largest distance from one-hot
allowed = max(report.distance for report in saturating.reports)

# %%
claim = Claim("memorization/appendix-b-construction")
for name in ("fixed blocks", "printed, tolerance 0.01"):
    ratio, largest_residual, weight = worst[name]
    claim.at_least(f"{name}, six runs: smallest singular ratio", ratio, 1e-3)
    claim.at_most(f"{name}: largest residual", largest_residual, 1e-12)
    claim.at_most(f"{name}: largest value weight", weight, 100)
claim.at_most("28 runs, one-hot error less the allowed distance", max(r["excess"] for r in runs.values()), 0)
claim.at_most("fixed blocks, all heads: cleared rows against earlier ones", max(leftovers), 1e-9)
claim.above("fixed blocks, all heads: smallest singular value of S", min(additions), 1e-6)
claim.control.at_most("saturating part left out: one-hot error on other examples", loudest, allowed)
claim.number("printed, tolerance 1e-10: smallest singular ratio", worst["printed, tolerance 1e-10"][0])
claim.number("printed, tolerance 1e-10: largest residual", worst["printed, tolerance 1e-10"][1])
claim.verdict()

# %% [markdown]
# ### The read-out
# Step 2 solves one linear system for the values. The output map and the decoder are identity matrices cut to the right
# size. At one size, the solver z3 proves that they pass the labels on for all features, values and labels.
#
# <!-- claim memorization/readout-step -->
# <blockquote>
#
# **Section 4.1 (Value and read-out weights)** *Section 4.1, Step 2*
#
# **The paper states.** We find weights to memorize all $T$ examples as follows:
# $ZW_V=[Y,\,0_{T\times(d_v-d_\mathrm{out})}]$, $[W_{V_1};\dots;W_{V_H}]:=W_V$, $W_O:=[I_{d_v\times
# d};\dots;I_{d_v\times d}]$, $W_D:=I_{d\times d_\mathrm{out}}$, where $W_V$ is a solution to the first expression (such
# $W_V$ exists since $Z$ has full row rank). This gives $\hat y^{(t)}=y^{(t)}$ for all $t\in[T]$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The step works for every $d_v\ge d_\mathrm{out}$, as long as $d_\mathrm{out}\le d$.
#
# </blockquote>
# <!-- /claim -->

# %%
residuals, surplus, stacked = [], [], []
for values in (outputs, outputs + 1, width + 3):
    solved = solve_readout(built.Z, labels[:count], heads, values)
    residuals.append((predict(built.heads, solved, kept) - labels[:count]).abs().max().item())
    surplus.append((built.Z @ solved.values.flatten(0, 1))[:, outputs:].abs().sum().item())
    identity = torch.eye(values, width, dtype=torch.float64)
    stacked.append((built.Z @ solved.values.flatten(0, 1) @ identity)[:, :outputs] - labels[:count])

# %%
claim = Claim("memorization/readout-step")
claim.at_most("d_v = d_out, d_out + 1, d + 3: largest residual", max(residuals), 1e-10)
claim.at_most("surplus columns of Z W_V", max(surplus), 1e-10)
claim.control.at_most("d_out = 5 > d = 3: residual of the best layer", beyond_width, 1e-10)
passed_on = max(difference.abs().max().item() for difference in stacked)
claim.at_most("identities multiplied out by hand: largest residual", passed_on, 1e-10, of="proof")
claim.certified("all features, value weights and labels", certify_readout(heads=3, width=4, outputs=2))
claim.verdict()

# %% [markdown]
# ## What to remember
# - Saturation protects stored examples. If a head looks at a single token on an example, it continues to do so while we
#   tune it for other examples.
# - The first head stores $r=\min(n,d_h)$ examples. Every further head stores $r-1$, because it must leave the earlier
#   examples alone.
# - With $H$ heads, $n$ tokens and keys of width $d_h$, we can write down weights that store any $H(\min(n,d_h)-1)+1$
#   answers.
#
# ## Exercises
#
# 1. *By hand.* Take $H=3$ heads and contexts of $n=4$ tokens. Which examples does each head own for $d_h=3$, and which
#    for $d_h=10$?
#    <details><summary>Solution</summary>
#
#    For $d_h=3$ we have $r=3$. Head 1 owns examples 1 to 3, head 2 owns 4 and 5, and head 3 owns 6 and 7, which makes
#    $3\cdot2+1=7$ examples. For $d_h=10$ we have $r=4$, and the heads own examples 1 to 4, 5 to 7 and 8 to 10. Keys
#    wider than $n=4$ add nothing to the bound.
#
#    </details>
# 2. *Predict, then run.* Set `head_width = 8`. For how many examples does the page now construct weights, and how
#    long are the steps of the staircase?
#    <details><summary>Solution</summary>
#
#    Now $r=8$. Each head after the first owns seven examples instead of fifteen, and $T=8\cdot7+1=57$ instead of 121.
#    The residuals stay at rounding level. One control, the misprinted Eq. 9, no longer fails, because seven heads
#    already reach the full rank 57, which is more than the theorem promises for them.
#
#    </details>
#
# Next: [Claims 1 and 2](claims_1_2_one_head.ipynb). How can one matrix be silent on some examples and decided on all
# others?

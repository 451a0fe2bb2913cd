# %% [markdown]
# # Theorem 1 · The weights that memorise, written down
# *Mahdavi, Liao, Thrampoulidis: Theorem 1 and Proposition 1, Section 4.1; proof in Appendix B.*
#
# An example is a *context* of $n$ tokens, vectors of $d$ numbers each, a *query*, which is one more such vector, and a
# label of $d_\mathrm{out}$ numbers. One layer of attention reads it with $H$ heads. A head has keys and queries of
# width $d_h$; from them and the query it makes softmax weights, and it takes the average of the context's tokens with
# these weights. All that comes after the averages is linear: values of width $d_v$, an output map that gives a vector
# $o$ of $d$ numbers, and a decoder, $\hat y=W_D^\top o$.
#
# How many examples can such a layer fit exactly, whatever their labels? The $n$ weights of a head sum to 1, so that
# with one context for all examples its average moves in $n-1$ dimensions, and one may hope for $n-1$ examples in each
# head. If the queries and the tokens are independent enough, that is had: at least $H(\min(n, d_h)-1)+1$ examples.
# Independent enough means, for the queries, that every $n$ of them are linearly independent (Assumption 1), and for the
# tokens that the $n$ tokens of each context are (Assumption 2).
#
# <!-- claim memorization/theorem-1 -->
# <blockquote>
#
# **Theorem 1 (H heads memorise H (min(n, d_h) - 1) + 1 examples)** *Section 4; Appendix B*
#
# **As printed.** "Embedding dimensions $d$, $d_v\ge d_\mathrm{out}\ge1$, and $d_h\ge1$". The comma leaves two readings:
# $d$ and $d_v$ are both at least $d_\mathrm{out}$; or $d_v$ alone is, as in the introduction.
#
# **Corrected.** Let $d_v\ge d_\mathrm{out}$, $d\ge d_\mathrm{out}\ge1$, $n<d$ and $r=\min(n,d_h)$. If Assumptions 1 and
# 2 hold and $T\le H(r-1)+1$, then there are parameters with which the layer meets all $T$ labels, whatever they are.
#
# $d\ge d_\mathrm{out}$ must be among the hypotheses. By the first reading it is, and the theorem holds as it stands. By
# the second it is not, and labels can be out of reach: $\hat y=W_D^\top o$ with $o\in\mathbb R^d$, so the outputs of
# all examples have rank at most $d$.
#
# </blockquote>
# <!-- /claim -->
#
# The proof builds weights, and so does this page. The averages of all heads, side by side, are the row of an example in
# a matrix $Z$, with a row for each of the $T$ examples. If the rows are linearly independent, the linear part can give
# each of them any label. The examples are shared out: the first head takes $r = \min(n, d_h)$ of them, every further
# head $r - 1$. A head gives its own examples softmax weights of its choice, so that their rows of $Z$ leave the span of
# the others, and is driven into saturation on all examples that came before, so that those stay put. Then $Z$ has rank
# $T$, and one linear system gives the read-out.
#
# In symbols: a head's logits on an example with context $E$ and query $e$ are $EWe$ with $W=W_KW_Q^\top$. This matrix
# has two parts, $W=W^*+cW^+$ (here $^+$ is only a name, and no pseudo-inverse). The first gives the chosen weights on
# the head's own examples ({claim:ref}`Claim 1
# <memorization/claim-1>`). $W^+$ is *silent* on them, its logits being 0, and *decided* on the others: one token, the
# *winner*, has the largest logit ({claim:ref}`Lemma 3 <memorization/lemma-3>`). With a large $c$ the others are
# saturated ({claim:ref}`Lemma 4 <memorization/lemma-4>`). Below, $Z_B$ are the rows of the examples $B$, and $Z_B'^{+}$
# is a pseudo-inverse.
#
# The test case is the hardest one: a single context shared by all examples, and $T$ exactly at the bound.

# %%
from dataclasses import replace

import torch

from attention_theory.memorization.attention import (
    Examples,
    Heads,
    capacity,
    features,
    predict,
    random_heads,
    softmax_weights,
)
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import random_labels, sample_examples, with_faulty_context
from attention_theory.memorization.rank_certificate import rank_certificate
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.roles import Roles, blocks, printed_roles
from attention_theory.memorization.single_head import one_hot_of_largest
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show

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

# %% [markdown]
# Build, solve for the read-out, predict:

# %%
count = capacity(heads, context, head_width)
most = capacity(heads, context, context)  # the largest rank of Z with a shared context, whatever d_h (Proposition 2)
examples = sample_examples(most + 1, context, width, seed=seed)
labels = random_labels(most + 1, outputs, seed + 1)
kept = examples.take(slice(0, count))
built = build_heads(kept, heads, head_width, seed=seed + 2)
readout = solve_readout(built.Z, labels[:count], heads, outputs)
residual = (predict(built.heads, readout, kept) - labels[:count]).abs().max().item()
print(f"T = {count} examples, largest residual {residual:.1e}")

# %% [markdown]
# ## What the heads look like
# With $Z'$ the features of the heads before, and $Z''$ those of a new one:
#
# <!-- claim memorization/appendix-b-construction -->
# <blockquote>
#
# **Appendix B (The construction of the heads)** *Appendix B, Eqs. 9-13*
#
# Head 1 fits examples $1,\dots,r$, every further head the next $r-1$. For a head with fresh examples $R$ and earlier
# ones $B$ let $C=-Z'_RZ_B'^{+}$; the fresh weights are chosen such that $Z''_R+CZ''_B$ has rank $|R|$, with $Z''_B$ at
# its saturated limit. Then $\mathrm{rank}\,Z\ge\mathrm{rank}\,Z'_B+|R|$, since $Z'_R+CZ'_B$ is orthogonal to the rows
# of $Z'_B$. (The paper takes at each head $k=\mathrm{rank}\,Z'$, $k$ independent rows, and fresh examples among the
# rows that depend on them; then $Z'_R+CZ'_B=0$.)
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Proposition 1, with fixed blocks</summary>
#
# Let $T \le H(r-1)+1$. After each head the rows of $Z$ of all blocks so far shall be independent, in the columns of the
# heads so far; further columns do not change that, and after the last head $\mathrm{rank}\,Z = T$.
#
# *A step used twice.* Let $S$ be a subspace of dimension at most $n - 1$, and $E$ of rank $n$. The points
# $E^\top\theta$ with $\theta$ inside the simplex span the $n$ dimensions of the rows of $E$, so not all of them lie in
# $S$: there is a positive $\theta$ with $E^\top\theta \notin S$, and the same is true of all $\theta$ near it.
#
# *The first head.* Choose $\theta^{(1)}, \dots, \theta^{(r)}$ one after another, positive and such that
# $E^{(t)\top}\theta^{(t)}$ is not in the span of the $t - 1 \le n - 1$ rows before it. By Claim 1 a head of width $r
# \le d_h$ has these weights.
#
# *A further head.* Let $B$ be the examples so far and $R$ the next at most $r - 1$, with $Z'_B$ of independent rows.
# Put $C = -Z'_RZ_B'^{+}$. Take $W^+$ from Lemma 3, silent on $R$ and decided on $B$, and let $Z''_{B,+}$ be the rows of
# $B$ with weights one-hot at the winner; they depend on $W^+$ alone. Choose $\theta^{(j)}$, $j \in R$, one after
# another, positive and such that $z''_j = E^{(j)\top}\theta^{(j)}$ is not in the span of $(CZ''_{B,+})_j$ and of the
# rows $s_i = z''_i + (CZ''_{B,+})_i$ before it, at most $|R| \le n - 1$ vectors. Then $s_j$ is not in the span of the
# $s_i$ before it, and $S_+ = Z''_R + CZ''_{B,+}$ has rank $|R|$. Let $W^*$ be the matrix of Claim 1 for these weights.
# With $W^* + cW^+$, of rank at most $r \le d_h$, the weights on $R$ are the chosen ones for every $c$, and $Z''_B(c)
# \to Z''_{B,+}$ as $c \to \infty$ (Lemma 4). Some minor of $S_+$ of size $|R|$ is not 0, and the same minor of $S(c) =
# Z''_R + CZ''_B(c)$ is not 0 for large $c$: keep such a $c$.
#
# *The ranks add up.* Row operations bring the rows of $B$ and $R$ to
#
# $$\begin{bmatrix} I & 0 \\ C & I \end{bmatrix}\begin{bmatrix} Z'_B & Z''_B \\ Z'_R & Z''_R \end{bmatrix} =
# \begin{bmatrix} Z'_B & Z''_B \\ N & S \end{bmatrix}, \qquad N = Z'_R(I - P), \quad P = Z_B'^{+}Z'_B,$$
#
# where $P$ is the orthogonal projection on the row space of $Z'_B$. So $NP = 0$ and $Z'_BP = Z'_B$. Multiplying the
# first columns by $P$ from the right cannot raise the rank and leaves $[Z'_B, Z''_B; 0, S]$, of rank at least
# $\mathrm{rank}\,Z'_B + \mathrm{rank}\,S = |B| + |R|$ (Lemma 1). $\square$
#
# </details>
#
# Slips in the printed proof that change nothing: Eq. 9 has the block $Z'_a$ for $Z_a$ on its left; B.2 writes
# $\theta_\delta^{(t+T')}$ for $\theta_\delta^{(t)}$ and $\mathrm{rank}(Z'_b+A)$ for $Z''_b+A$; the "$n$-step induction"
# has $n-1$ steps. Claim 2 gives $\|\theta_\delta-\theta_+\|_1\le\delta$, and B.2 uses $<\delta$ and lets $\delta$ be as
# large as $\sigma_{\min}/(\dots)$; so Eq. 13 comes out with $\le$, at which the rank may be lost ({claim:ref}`the
# control of Lemma 5 <memorization/lemma-5>`). A smaller $\delta$ mends it.
#
# Every head but the first is one-hot everywhere except on its own block of examples. The first has one example more,
# and there are no earlier ones whose rows it could disturb.

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
    caption="The largest softmax weight of every head (rows) on every example (columns). The staircase is where a "
    "head chooses its weights. Elsewhere heads are saturated; but the first row, whose head comes before all others, "
    "is left as it falls out.",
    alt="A heat map, nearly uniform, with a staircase of another shade from the upper left to the lower right; the top "
    "row is mixed throughout.",
    photo=True,
)

# %% [markdown]
# ## Seven sizes, two laws, shared and separate contexts
# All at the bound $T = H(r-1)+1$, with three outputs.

# %%
sizes = [(4, 4, 8, 8), (4, 4, 8, 3), (8, 6, 12, 12), (8, 8, 16, 4), (8, 8, 16, 2), (8, 16, 32, 32), (4, 32, 64, 64)]


def memorise(size: tuple[int, int, int, int], law: str, shared: bool, draw: int = seed, **form: str | float) -> dict:
    """Build, solve and measure once."""
    H, n, d, d_h = size
    data = sample_examples(capacity(H, n, d_h), n, d, shared, law, seed=draw)
    wanted = random_labels(data.count, 3, draw + 1)
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


# %% [markdown]
# Twenty-eight runs, and one of 621 examples:

# %%
runs = {
    (size, law, shared): memorise(size, law, shared)
    for size in sizes
    for law in ("gaussian", "uniform")
    for shared in (True, False)
}
show.table(
    ["$(H, n, d, d_h)$", "tokens", "contexts", "T", "rank Z", "least/largest singular value", "residual", "largest c"],
    [
        (str(size), law, "shared" if shared else "separate", r["T"], r["rank"], r["ratio"], r["residual"], r["scale"])
        for (size, law, shared), r in runs.items()
    ],
)
large = memorise((20, 32, 64, 64), "gaussian", True)

# %% [markdown]
# ## Where the theorem stops
# With a shared context no keys and queries give $Z$ more rank than $H(n-1)+1$ (Proposition 2). So the same heads,
# solved for one example more than that, must miss labels. For $d_h \ge n$ that is one example above the theorem's
# bound. For $d_h < n$ the bound is lower, and the built heads have more rank than it says.

# %%
Z_more = features(built.heads, examples)
one_more = (predict(built.heads, solve_readout(Z_more, labels, heads, outputs), examples) - labels).abs().max().item()
print(f"{most + 1} shared examples, same heads: largest residual {one_more:.2g}; the theorem's bound is {count}")

# %% [markdown]
# The other limit is the width itself. The theorem's dimensions are printed as "embedding dimensions $d$, $d_v\ge
# d_\mathrm{out}\ge1$, and $d_h\ge1$", and the first comma can be read in two ways. By the first, $d$ and $d_v$ are both
# at least $d_\mathrm{out}$, and the theorem holds as it stands. By the second only $d_v$ is, and a hypothesis is
# missing. For the first speaks Step 2 of the proof, whose read-out $I_{d\times d_\mathrm{out}}$ gives all labels only
# if $d\ge d_\mathrm{out}$, and the plural "dimensions", though Proposition 5 has it before a list too. For the second
# speak the introduction, which has $d_\mathrm{out}\le d_v$ alone, and the experiments, with 100 classes at $d=64$. The
# text was read from a text layer, which may have lost or moved a sign. As the proof shows what is meant, the theorem is
# marked as misprinted. That $d\ge d_\mathrm{out}$ is needed is certain. The output passes through $\mathbb R^d$ before
# it is decoded, so the outputs of all examples have rank at most $d$. With $d_\mathrm{out} > d$ labels of full rank are
# out of reach, however many heads there are: the best layer misses the labels by their singular values beyond the
# $d$-th.
#
# <details><summary>Proof of Theorem 1, with d_out at most d</summary>
#
# *It is needed.* $\hat Y = Z\,\mathrm{diag}(W_{V_1}, \dots)\,W_O W_D$ is the product of a matrix with $d$ columns and
# $W_D \in \mathbb R^{d \times d_\mathrm{out}}$, so $\mathrm{rank}\,\hat Y \le d$. Let $d_\mathrm{out} > d$ and $T > d$.
# Labels with $\mathrm{rank}\,Y = d + 1$ are met by no parameters; all hypotheses but $d \ge d_\mathrm{out}$ can hold
# beside this. The nearest matrix of rank $d$ misses $Y$ by $(\sum_{i > d}\sigma_i(Y)^2)^{1/2}$ in the Frobenius norm.
#
# *It is enough.* Let $T \le H(r-1)+1$. By Proposition 1 there are keys and queries with $\mathrm{rank}\,Z = T$: the
# rows of $Z$ are independent, and for every $Y \in \mathbb R^{T \times d_\mathrm{out}}$ there is $V \in \mathbb R^{Hd
# \times d_v}$ with $ZV = [Y, 0]$, where $d_v \ge d_\mathrm{out}$. Let $W_{V_h}$ be the $h$-th block of $d$ rows of $V$.
# Let $W_O$ be $H$ copies of the $d_v \times d$ matrix $I'$ with ones on its diagonal, and $W_D$ the $d \times
# d_\mathrm{out}$ one. Then $\mathrm{diag}(W_{V_1}, \dots)\,W_O = V I'$, and $\hat Y = Z V I' W_D = [Y, 0]\,I'W_D$. As
# $d_\mathrm{out} \le d$ and $d_\mathrm{out} \le d_v$, the product $I'W_D$ is the $d_v \times d_\mathrm{out}$ matrix
# with ones on its diagonal, and $\hat Y = Y$. $\square$
#
# </details>

# %%
narrow = sample_examples(5, 2, 3, seed=seed)
wide_labels = random_labels(5, 5, seed + 1)
narrow_heads = build_heads(narrow, 4, 3, seed=seed + 2)
left, values, right = torch.linalg.svd(wide_labels)
best = solve_readout(narrow_heads.Z, left[:, :3] * values[:3], 4, 3)  # the labels' own best part of rank d
narrow_out = predict(narrow_heads.heads, replace(best, decode=right[:3]), narrow)
beyond_width = torch.linalg.matrix_norm(narrow_out - wide_labels).item()
out_of_reach = values[3:].norm().item()  # no outputs of rank d come nearer

# %% [markdown]
# The proof is run as the paper prints it, head by head, on data with one shared context and $d_h = d > n$. There
# $\mathrm{rank}\,Z'$ is exactly $k=H'(n-1)+1$ after $H'$ heads, and any tolerance tells it from rounding. The rows that
# depend on the $k$ are cleared by $C$; what the new head adds to them, $Z''_b+A_+$ at the saturated limit, must have
# rank $r-1$; and Eq. 13 says that its smallest singular value is larger than the change $\Delta_\delta$ that finite
# weights make. Which of the dependent rows a head is built for, rounding decides, so its own choice is read from the
# construction.


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


# %% [markdown]
# Three sizes, two seeds each. Random heads, which have rank $T$ too, are put through the same steps.

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
        wanted = random_labels(data.count, 3, data_seed + 1)
        out = predict(made.heads, solve_readout(made.Z, wanted, H, 3), data)
        proof_residuals[case] = (out - wanted).abs().max().item()
        short_of_T[case] = data.count - int(numerical_rank(made.Z, rtol=1e-9))
        W = made.heads.keys @ made.heads.queries.mT
        ranks_of_W[case] = max(int(rank) for rank in numerical_rank(W, rtol=1e-12)) - n


# %% [markdown]
# The theorem, judged with $d \ge d_\mathrm{out}$; the example with $d_\mathrm{out} > d$ shows what the second reading
# would have to satisfy. Of its proof, that these heads have rank $T$ and that the read-out of Step 2 then meets all
# labels.

# %%
claim = Claim("memorization/theorem-1")
claim.at_most("residual at the sizes of the parameters", residual, 1e-10)
claim.at_most("28 runs, largest residual", max(r["residual"] for r in runs.values()), 1e-10)
claim.equal("28 runs, examples not in the rank", sum(r["T"] - r["rank"] for r in runs.values()), 0)
claim.at_most("H = 20, n = 32, d = 64, T = 621: residual", large["residual"], 1e-10)
claim.control.at_most("shared context, H(n - 1) + 2 examples, same heads: residual", one_more, 1e-10)
left_over = beyond_width - out_of_reach
claim.equal("d_out = 5 > d = 3: residual of the best layer less what rank d leaves", left_over, 0, tolerance=1e-10)
claim.misprint.at_most("read without d >= d_out, d_out = 5 > d = 3: residual of the best layer", beyond_width, 1e-10)
claim.equal("rank of Z in that example", int(numerical_rank(narrow_heads.Z)), 5)
claim.equal("printed induction, six runs: examples not in the rank of Z", short_of_T, 0, of="proof")
claim.at_most("the same: residual with the read-out of Step 2", proof_residuals, 1e-10, of="proof")
claim.number("T = 621, smallest singular ratio", large["ratio"])
claim.verdict()

# %% [markdown]
# ## An exact certificate
# <!-- claim memorization/proposition-1 -->
# <blockquote>
#
# **Proposition 1 (The rank of the feature matrix)** *Section 4.1; Appendix B*
#
# Under the conditions of Theorem 1 there are keys and queries with $\mathrm{rank}\,Z\ge\min\{H(r-1)+1,\,T\}$.
#
# **In the paper's proof.** Eq. 9 has $[Z'_a;Z'_b]$ for the whole of $Z$; B.2 writes $\theta_\delta^{(t+T')}$ and
# $\mathrm{rank}(Z'_b+A)$; the induction has "$n$ steps"; B.2 uses $\|\theta_\delta-\theta_+\|<\delta$, where Claim 2
# gives $\le$, and lets $\delta$ be as large as its bound.
#
# **Corrected.** $[Z_a;Z_b]$, with the columns of the new head; $\theta_\delta^{(t)}$ and $\mathrm{rank}(Z''_b+A)$;
# $n-1$ steps; a $\delta$ below the bound, so that Eq. 13 is strict.
#
# </blockquote>
# <!-- /claim -->
#
# Rank is decided above by looking at small singular values. It can be proved instead. As saturation grows, $Z$ tends to
# a limit; with tokens of whole numbers and chosen weights in thousandths, $1000$ times the limit is a matrix of whole
# numbers, whose rank modulo a prime is exact arithmetic and can only be too small. Rank cannot drop on the way from a
# limit to points near it, so finite weights of that rank exist.
#
# <details><summary>Why the limit's rank is enough</summary>
#
# *The limit.* Here every head, the first too, fits $n - 1$ examples of its own; the first example is saturated in all
# heads. Head $h$ has the matrix $W^* + cW^+$. On its own examples $W^+$ is silent, and the weights are the chosen ones
# for every $c$. On all others the logits $EW^+e$ have one largest entry, its lead above the next being $\gamma > 0$,
# and the weights tend to one-hot ones like $e^{-c\gamma}$ (Lemma 4). So $Z(c) \to Z_+$, in which each entry is a whole
# number or, on a head's own examples, a combination of whole numbers with weights in thousandths: $1000\,Z_+$ is whole.
#
# *Its rank.* For a prime $p$ the rank of a whole matrix modulo $p$ is at most its rank: a minor that is not 0 modulo
# $p$ is not 0. So rank $T$ modulo $p$ proves rank $T$.
#
# *Back to finite weights.* Some $T \times T$ minor of $Z_+$ is not 0. Minors are continuous, so the same minor of
# $Z(c)$ is not 0 for all large $c$. $\square$
#
# </details>
#
# The computed $W^+$ is silent only up to rounding. An exactly silent one lies within rounding of it, and has the same
# winners, because every winner leads by far more than rounding. Rank by itself says little about the construction:
# almost all weights reach it, random ones too. So the errors of the construction are checked beside it.

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


# %% [markdown]
# The steps of the printed induction, over all heads after the first of the six runs above:


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


# %% [markdown]
# Three examples more never raise the exact rank above the bound; a duplicate token lowers it.

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
# ## The printed induction, and fixed blocks
# The printed proof asks at each head for the rank of the features so far, and for rows that depend on the others. That
# is a proof of existence in exact arithmetic, and there it is right. Whoever runs it in rounded arithmetic has to
# choose a tolerance for that rank; the choice is the runner's, and the table shows what comes of it, from $10^{-2}$
# down to near rounding. With $d_h < n$ the features have *more* rank than the proof counts on, carried by tiny singular
# values; a tolerance near rounding takes these for a basis, and the read-out weights grow by many orders. Fixed blocks
# of examples, whose rows are cleared by least squares, ask no such question, and the bound on the rank still adds up.

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
    f"$(H, n, d, d_h)$ = {size}, two laws with three seeds each, shared contexts; the worst of six runs",
)

# %% [markdown]
# The singular values of $Z$ tell the forms apart:

# %%
H, n, d, d_h = size
data = sample_examples(capacity(H, n, d_h), n, d, seed=seed)
fig, axis = show.axes()
shown = {name: forms[name] for name in ("fixed blocks", "printed, tolerance 0.01", "printed, tolerance 1e-10")}
for (name, form), marker in zip(shown.items(), show.MARKERS, strict=False):
    singular = torch.linalg.svdvals(build_heads(data, H, d_h, seed=seed + 2, **form).Z)
    axis.semilogy(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=name)
axis.set(xlabel="number of the singular value", ylabel="share of the largest")
axis.legend()
show.figure(
    fig,
    name="spectrum",
    caption=f"Singular values of Z for H = {H}, n = {n}, d = {d}, $d_h$ = {d_h}, T = {data.count}. All have rank T; "
    "with a tolerance near rounding the printed form hangs on singular values many orders smaller.",
    alt="Three falling curves on a logarithmic axis. Two end near a hundredth, one falls by six orders or more.",
)

# %% [markdown]
# The two facts on which the proof with fixed blocks rests are tried for every head but the first, at the sizes of the
# parameters: the fresh rows, cleared, are orthogonal to the earlier ones, and what the new head adds to them has full
# rank.

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

# %% [markdown]
# As control the saturating part of every head but the first is left out: then a head moves the features of examples
# that are not its own.

# %%
other = [(h, t) for h, block in enumerate(block_of) if h for t in range(count) if t not in block]
quiet_keys = built.heads.keys.clone()
quiet_keys[1:, :, min(context, head_width) - 1] = 0  # the saturating column of every head but the first
without = softmax_weights(Heads(quiet_keys, built.heads.queries), kept).amax(dim=-1)
allowed = max(report.distance for report in built.reports)

# %% [markdown]
# The construction as printed, with a coarse tolerance, and with fixed blocks:

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
loudest = max(2 * (1 - without[t, h].item()) for h, t in other)
claim.control.at_most("saturating part left out: one-hot error on other examples", loudest, allowed)
claim.number("printed, tolerance 1e-10: smallest singular ratio", worst["printed, tolerance 1e-10"][0])
claim.number("printed, tolerance 1e-10: largest residual", worst["printed, tolerance 1e-10"][1])
claim.verdict()

# %% [markdown]
# ## The read-out
# <!-- claim memorization/readout-step -->
# <blockquote>
#
# **Section 4.1 (Value and read-out weights)** *Section 4.1, Step 2*
#
# If $Z$ has independent rows, solve $ZW_V=[Y,0_{T\times(d_v-d_\mathrm{out})}]$, let $W_{V_h}$ be the blocks of $W_V$,
# $W_O$ a stack of $H$ rectangular identities and $W_D$ another one. Then $\hat Y=Y$ for every $d_v\ge d_\mathrm{out}$,
# as long as $d_\mathrm{out}\le d$.
#
# </blockquote>
# <!-- /claim -->
#
# Step 2 solves $Z W_V = [Y, 0]$, cuts $W_V$ into heads, and lets $W_O$ and $W_D$ pass the result through. Any $d_v$
# from $d_\mathrm{out}$ up will do.

# %%
residuals, surplus, stacked = [], [], []
for values in (outputs, outputs + 1, width + 3):
    solved = solve_readout(built.Z, labels[:count], heads, values)
    residuals.append((predict(built.heads, solved, kept) - labels[:count]).abs().max().item())
    surplus.append((built.Z @ solved.values.flatten(0, 1))[:, outputs:].abs().sum().item())
    identity = torch.eye(values, width, dtype=torch.float64)
    stacked.append((built.Z @ solved.values.flatten(0, 1) @ identity)[:, :outputs] - labels[:count])

# %% [markdown]
# The control is the example with $d_\mathrm{out} > d$ from above.

# %%
claim = Claim("memorization/readout-step")
claim.at_most("d_v = d_out, d_out + 1, d + 3: largest residual", max(residuals), 1e-10)
claim.at_most("surplus columns of Z W_V", max(surplus), 1e-10)
claim.control.at_most("d_out = 5 > d = 3: residual of the best layer", beyond_width, 1e-10)
passed_on = max(difference.abs().max().item() for difference in stacked)
claim.at_most("identities multiplied out by hand: largest residual", passed_on, 1e-10, of="proof")
claim.verdict()

# %% [markdown]
# ## What was learned
# The weights of Theorem 1 can be written down and memorise as many examples as it says, at every size tried, with
# residuals near rounding; in whole numbers the rank is proved. The theorem needs $d_\mathrm{out} \le d$, which its list
# of dimensions says by one reading and leaves out by the other. Its proof is one of existence and is right; in rounded
# arithmetic a coarse tolerance, or fixed blocks, keep it well conditioned.
#
# ## To try
# - Set `head_width = 8`: every head but the first takes seven examples instead of fifteen, and the staircase has
#   shorter steps; the same heads still fail above $H(n-1)+1$.
# - Set `heads = 20`: the staircase becomes finer, and each head is saturated on a larger part of the examples.

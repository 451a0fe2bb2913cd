# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem B.2 · Narrow embeddings: a bound that is zero where the error is not
# *Ustaomeroglu, Qu: Theorem B.2, Appendix B.*
#
# Real vocabularies have more symbols than an embedding has dimensions. How much does a layer lose if its embedding is
# narrow? The paper answers with a bound. On the smallest example, the bound promises no error at all, yet we find that
# every layer errs by at least ½.

# %%
import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.certified.pairs import certify_narrow_layers
from attention_theory.hyper_attention.interactions.approximation import (
    approximate,
    best_residual,
    largest_error,
    truncation_bound,
)
from attention_theory.hyper_attention.interactions.interactions import functional_tensor
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 12  # symbols |S|, from 3 to 100
length = 9  # tokens L, from 2 to 500
features = 4  # d_2, from 1 to size
ranks = [1, 2, 3, 4]  # ranks tried, the same for F and W, each from 1 to min(features, size - 1)
restarts = 30  # random starts of each search for the best layer, from 1 to 500
seed = 0  # of every draw, at least 0
device = "cpu"  # where layers are trained, one of "cpu", "cuda"

# %%
require(size=(size, 3, 100), length=(length, 2, 500), features=(features, 1, size))
require(ranks=(Each(ranks), 1, min(features, size - 1)), restarts=(restarts, 1, 500), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))
identity = torch.eye(size, dtype=torch.float64)

# %% [markdown]
# ## A tiny example
# Two symbols share one dimension, so their codes are two numbers $b_1$ and $b_2$. Symbol 2 acts on symbol 1 with
# strength 1, and nothing else acts. In every layer, symbol $\nu$ adds $\kappa\,b_\mu b_\nu^2$ to the output of symbol
# $\mu$, where we choose the number $\kappa$. With $b_1=b_2=1$ and $\kappa=\frac14$, every pair contributes $\frac14$.
# In the sequence $(1,2)$, token 1 then receives $\frac12$ instead of 1, and token 2 receives $\frac12$ instead of 0.
# Can another choice do better?

# %%
effect_two = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
weights_two = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
target_two = functional_tensor(torch.eye(2, dtype=torch.float64), effect_two, weights_two)
printed_two = truncation_bound(effect_two, weights_two, 1, 1, form="printed")

equal = torch.ones(2, 1, dtype=torch.float64)  # b = (1, 1), with κ shared out between score and value
even_layer = functional_tensor(equal, torch.tensor([[0.5]]).double(), torch.tensor([[0.5]]).double())
by_hand = largest_error(even_layer - target_two, 2)
trained_two = best_residual(target_two.to(device), 1, restarts, steps=1500, seed=seed, length=2)
wide_two = best_residual(target_two.to(device), 2, restarts, steps=1500, seed=seed)

ratios = torch.linspace(0, 3, 301, dtype=torch.float64)
scales = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
pattern = torch.stack([torch.ones_like(ratios), ratios**2, ratios, ratios**3], dim=-1).reshape(-1, 2, 2, 1)
curve = largest_error(scales[..., None, None, None] * pattern - target_two, 2).min(dim=0).values

# %%
fig, axis = show.axes(width=5.5)
axis.plot(ratios, curve, label="best layer for this embedding")
axis.plot([1.0], [by_hand], "o", color=show.COLOURS[1], markersize=7, label="t = 1, κ = 1/4")
axis.axhline(printed_two, color=show.COLOURS[2], linestyle="--", label="the paper's bound")
axis.set(xlabel="t = b₂ / b₁", ylabel="largest error in a sequence of two", ylim=(-0.05, 1.05))
axis.legend()
show.figure(
    fig,
    name="counter-example",
    caption="Two symbols in one dimension. Whatever the embedding, some token in a sequence of two errs by at least "
    "½. The paper's bound is 0.",
    alt="A curve that is two thirds at t = 0, falls to a corner of height one half at t = 1 and rises again. A dashed "
    "line at zero.",
)

# %% [markdown]
# No: the best error is $\frac12$, at $t=b_2/b_1=1$. If $b_2$ is smaller, the first token receives too little; if
# larger, the second too much.
#
# ## The paper states
# The table $F$ holds the strengths, $W$ has the rows $w_\nu$ with $d_2$ entries, and $\sigma_i$ is the $i$-th singular
# value.
#
# <!-- claim hyper-attention/theorem-b-2 -->
# <blockquote>
#
# **Theorem B.2 (Narrow embeddings)** *Appendix B*
#
# **The paper states.** If $d < |\mathcal S|$, there are an embedding and weights of one layer such that the error of
# each token is at most $\zeta_1 L\,\sigma_{d+1}(F)$, plus $\zeta_2 L \bigl(\sum_{i>d}\sigma_i^2(W)\bigr)^{1/2}$ when $d
# < d_2$, with $\zeta_1 = \max_\mu \|w_\mu\|$ and $\zeta_2 = \max |\tilde C_{\mu\nu}|$.
#
# **What is true.** For ranks $r$ and $q$ with $2r + q \le d$, there are weights with error at most $L\bigl(\max_\mu
# \|w_\mu\|\,\sigma_{r+1}(F) + \max|F_r|\,\sigma_{q+1}(W)\bigr)$ for every token, where $F_r$ is $F$ truncated to rank
# $r$. If neither $F_r$ nor $W$ truncated to rank $q$ has a zero row, $2r + q - 1 \le d$ is enough, which is $2r \le d$
# for one output.
#
# **What changed.** One embedding has to hold the left and the right singular vectors of $F$ and those of $W$, so $F$
# cannot be truncated after $d$ singular values. On two symbols with $d = 1$ the paper's bound is $0$, and every layer
# errs by at least $\tfrac12$.
#
# <details><summary>Slips (2)</summary>
#
# - The last display of the proof has $\sigma_i$ in place of $\sigma_i^2$.
# - Before Eq. 12, a norm is bounded by itself; an index may be missing from our copy of the text.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** These widths are not always the smallest. With one output, $2r - 1$ dimensions are enough for
# $T = F\,\mathrm{diag}(w)$ of rank $r$ if its column space has vectors $\lambda$, without zeros, and $u \ne 0$ such
# that $\lambda \odot u$ is in its row space.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A layer forms $BCB^\top$ and $BW^V$ from *one* embedding $B$. The columns of $B$ must span the left singular vectors
# of $F$ (who receives), the right ones (who acts) and those of $W$ (what is sent). For ranks $r$ and $q$, these are
# $2r+q$ dimensions, and we can truncate $F$ and $W$ as the paper does. One dimension fewer is enough, because we can
# move factors from the scores to the values until the two share a vector.
#
# The error of a token is the norm of a linear function of the symbol counts. It is therefore convex in the counts, so
# the worst sequence consists of one symbol followed by $L-1$ copies of another.
#
# <details><summary>Proof that no layer of width 1 errs by less than a half on two symbols</summary>
#
# If $b_1 = 0$, then $T_{12} = 0$ and token 1 of the sequence $(1, 2)$ errs by 1. Otherwise let $b_1 = 1$ and $b_2 = t$,
# so that $T = \kappa \begin{pmatrix} 1 & t^2 \\ t & t^3 \end{pmatrix}$, and let no token err by more than $e <
# \frac12$. Token 1 of $(1, 2)$ gives $\kappa(1 + t^2) \ge 1 - e$, token 2 gives $\kappa |t| (1 + t^2) \le e$, so $|t|
# \le e/(1 - e) < 1$. The sequence $(1, 1)$ gives $2\kappa \le e$, so $1 + t^2 \ge 2(1 - e)/e > 2$: a contradiction.
# With $t = 1$ and $\kappa = \frac14$ every token of every sequence of two errs by exactly $\frac12$.
#
# </details>
#
# <details><summary>Proof of Theorem B.2, as corrected</summary>
#
# Let $F_r$ and $W_q$ be $F$ and $W$ cut to their largest $r$ and $q$ singular values, and let the columns of $B$ be an
# orthonormal basis that holds the left and the right singular vectors of $F_r$ and the left ones of $W_q$: $2r + q$
# columns are enough (where fewer span the same, any others are added). Then $P = B B^\top$ leaves these vectors as they
# are. With $C = B^\top F_r B$ and $W^V = B^\top W_q$ the layer makes $B C B^\top = P F_r P = F_r$ and $B W^V = P W_q =
# W_q$. So
#
# $$(T - T^\star)_{\mu\nu} = (F_r - F)_{\mu\nu}\, w_\nu + (F_r)_{\mu\nu} \bigl((W_q)_\nu - w_\nu\bigr).$$
#
# An entry of a matrix is at most its spectral norm, and so is the norm of a row. The first term is at most
# $\sigma_{r+1}(F) \max_\nu \|w_\nu\|$, the second at most $\max |F_r|\, \sigma_{q+1}(W)$. A token adds up $L$ of these.
#
# *One dimension fewer.* Only the product $T$ shows. For any $\lambda$ without zeros,
# $F_r\,\mathrm{diag}(\lambda)^{-1}$ and $\mathrm{diag}(\lambda) W_q$ make the same $T$ as $F_r$ and $W_q$. If no row
# of $F_r$ is zero, its columns have a combination $u$ without a zero entry, because finitely many hyperplanes do not
# fill a space. In the same way the columns of $W_q$ have a combination $v$ without a zero. With $\lambda = u / v$,
# entry by entry, the columns of $\mathrm{diag}(\lambda) W_q$ have $u$ among their combinations, which is already a
# combination of the columns of $F_r$. So $B$ needs a basis of these ($r$), of the rows of
# $F_r\,\mathrm{diag}(\lambda)^{-1}$ ($r$), and $q - 1$ vectors more. With $B^+$ in the place of $B^\top$, as the
# columns of $B$ need not be orthonormal, the rest stays as it is.
#
# *One fewer still, for some tables.* With one output, take the scores $T\,\mathrm{diag}(\lambda)^{-1}$ and the values
# $\lambda$. If $\lambda$ and $u$ are in the column space of $T$ and $\lambda \odot u = T^\top a$ for some $a$, then $u
# = \mathrm{diag}(\lambda)^{-1} T^\top a$ is also a combination of the rows of the scores. The columns and rows together
# span at most $2r - 1$ dimensions, and $\lambda$ is among them. $\square$
#
# *What fails as printed.* A matrix $B C B^\top$ has both its columns and its rows in the span of $B$. For $d = 1$ it is
# $c\, b b^\top$, symmetric, and the squared distance of $F = e_1 e_2^\top$ from it is $1 - (b_1 b_2)^2 \ge \frac34$ for
# a unit vector $b$: not every matrix of rank 1 can be had.
#
# </details>
#
# ## See it run
# Do random interactions behave better? We draw $F$ of rank 2 on five symbols, for which the paper's bound is 0 in two
# or more dimensions, and train many layers.

# %%
draw = generator(seed)
effect_five = normal(5, 2, seed=draw) @ normal(2, 5, seed=draw)
effect_five = effect_five / torch.linalg.svdvals(effect_five)[0]
weights_five = normal(5, 1, seed=draw)
weights_five = weights_five / weights_five.norm()
target_five = functional_tensor(torch.eye(5, dtype=torch.float64), effect_five, weights_five)
rows = []
for width in (1, 2, 3, 4):
    bound = truncation_bound(effect_five, weights_five, width, 1, form="printed")
    found = best_residual(target_five.to(device), width, restarts, steps=600, seed=seed)
    token = best_residual(target_five.to(device), width, restarts, steps=600, seed=seed, length=2)
    rows.append([width, round(2 * bound, 12), token, found / target_five.square().sum().item()])
show.table(["d", "the paper's bound, L = 2", "largest error of the best layer found", "fraction of ‖T‖² missed"], rows)

# %% [markdown]
# With two dimensions, we still see an error. With four dimensions some layer has none, but our training does not quite
# find it.
#
# Next, we test the corrected bound on matrices $F$ and $W$ whose singular values halve at each step.

# %%
draw = generator(seed)
halving = 0.5 ** torch.arange(size, dtype=torch.float64)
effect = random_orthonormal(size, size, draw) * halving @ random_orthonormal(size, size, draw)
right = random_orthonormal(features, features, draw)
weights = random_orthonormal(features, size, draw).mT * halving[:features] @ right
wanted = functional_tensor(identity, effect, weights)

errors, bounds, widths, without_length, long = {}, {}, [], {}, {}
for rank in ranks:
    layer = approximate(effect, weights, rank, rank)
    off = functional_tensor(layer.embedding, layer.score, layer.value) - wanted
    case = f"r = q = {rank}"
    widths.append(layer.embedding.shape[1])
    errors[case], bounds[case] = largest_error(off, length).item(), length * (layer.bound + 1e-13)  # and rounding
    long[case], without_length[case] = largest_error(off, 200).item(), layer.bound

# %%
fig, axis = show.axes(width=5.5)
axis.semilogy(widths, list(bounds.values()), "s--", color=show.COLOURS[1], label="corrected bound")
axis.semilogy(widths, list(errors.values()), "o-", color=show.COLOURS[0], label="largest error over all sequences")
axis.semilogy(widths, list(without_length.values()), ":", color=show.COLOURS[2], label="bound without the factor L")
axis.set_xlabel("embedding dimension d = 2r + q, with r = q")
axis.set_ylabel("norm of a token's error")
axis.legend()
show.figure(
    fig,
    name="corrected",
    caption="The largest error over all sequences of the layer in the corrected theorem, against its width.",
    alt="Three falling lines. The line of the errors is between the corrected bound above it and the bound without "
    "L below it.",
)

# %% [markdown]
# The error stays below the corrected bound and falls with it. Without the factor $L$ the bound is too low.
#
# Then we use one dimension fewer, with and without moving a factor between $F$ and $W$, and test the paper's step for
# an $F$ of rank 1.


# %%
def without_zeros(columns):
    """A combination of the columns that stays away from zero, the best of 200 random ones."""
    combinations = columns @ normal(columns.shape[1], 200, seed=draw)
    away = combinations.abs().amin(dim=0) / combinations.abs().amax(dim=0)
    return combinations[:, away.argmax()]


def missed_by_sharing(table, outputs, rank, share=True):
    """Relative error of a layer that has F of rank r and W of rank q in 2r + q - 1 dimensions, and their number."""
    left, _, right = torch.linalg.svd(table)
    values = torch.linalg.svd(outputs, full_matrices=False).U[:, : torch.linalg.matrix_rank(outputs)]
    factor = without_zeros(left[:, :rank]) / without_zeros(values) if share else torch.ones(len(table)).double()
    onto = torch.cat([left[:, :rank], right[:rank].mT / factor[:, None], factor[:, None] * values[:, 1:]], dim=1)
    inverse = torch.linalg.pinv(onto)
    layer = onto, inverse @ (table / factor) @ inverse.mT, inverse @ (factor[:, None] * outputs)
    wanted = functional_tensor(torch.eye(len(table), dtype=torch.float64), table, outputs)
    return ((functional_tensor(*layer) - wanted).norm() / wanted.norm()).item(), onto.shape[1]


# %%
rank_one = torch.outer(effect[:, 0], effect[0])
rank_two = rank_one + torch.outer(effect[:, 1], effect[1])
fewer = {
    "r = 1, one output": missed_by_sharing(rank_one, weights[:, :1], 1),
    "r = 2, one output": missed_by_sharing(rank_two, weights[:, :1], 2),
    "r = 2, all outputs": missed_by_sharing(rank_two, weights, 2),
    "five symbols": missed_by_sharing(effect_five, weights_five, 2),
}
not_shared, _ = missed_by_sharing(rank_one, weights[:, :1], 1, share=False)
show.table(["F and W", "dimensions", "relative error"], [[name, width, off] for name, (off, width) in fewer.items()])


# %%
def missed_by_three(last):
    """Relative error of a layer in three dimensions on a table of rank 2, with one output, and this last row vector."""
    table = torch.outer(factor, last) + torch.outer(both, other)
    onto = torch.stack([factor, both, other / factor], dim=1)
    inverse = torch.linalg.pinv(onto)
    layer = onto, inverse @ (table / factor) @ inverse.mT, inverse @ factor[:, None]
    return ((functional_tensor(*layer).squeeze(-1) - table).norm() / table.norm()).item()


factor, both, other, another = normal(4, size, seed=seed + 1).unbind()
three, three_of_another = missed_by_three(factor * both), missed_by_three(another)

# %%
# The step of the proof: F as B C B^T. For a unit vector b the best C leaves 1 - (b_1 b_2)^2, at least 3/4.
angles = torch.linspace(0, torch.pi, 2001, dtype=torch.float64)
one_sided = (1 - (angles.cos() * angles.sin()).square()).min()

# %% [markdown]
# ## How we checked
# We compute the largest error over *all* sequences of one length. As controls, we drop the factor $L$, or do not move
# factors. The solver z3 proves that on two symbols every layer of width 1 errs by at least ½.

# %%
claim = Claim("hyper-attention/theorem-b-2")
claim.at_most("corrected: largest error of all sequences", errors, bounds)
claim.control.at_most("200 tokens, bound without the factor L: largest error", long, without_length)
claim.at_most("d = 2r + q - 1: relative error", {name: off for name, (off, _) in fewer.items()}, 1e-8)
claim.control.at_most("r = q = 1, d = 2, factors not moved: relative error", not_shared, 1e-8)
claim.at_most("r = 2, one output, d = 3, product of columns in the rows: relative error", three, 1e-8)
claim.control.at_most("the same for another table of rank 2: relative error", three_of_another, 1e-8)
claim.at_most("two symbols, width 2: squared distance", wide_two, 1e-10)
claim.equal("two symbols, width 1, all weights equal: largest error of two tokens", by_hand, 0.5)
claim.at_least("two symbols, width 1, trained: largest error of two tokens", trained_two, 0.5 - 1e-9)
claim.at_most("two symbols, width 1: the printed bound", printed_two, 1e-12)
claim.printed.at_most("two symbols, width 1: least largest error, at most the printed bound", by_hand, printed_two)
claim.printed.at_most("F of rank 1 is B C B^T with one column in B: squared distance", one_sided, 1e-12, of="proof")
claim.at_most("corrected: largest error of all sequences", errors, bounds, of="proof")
claim.number("two symbols, width 1, trained: largest error of two tokens", trained_two)
claim.certified("two symbols: every layer of width 1 errs by a half", certify_narrow_layers())
claim.verdict()

# %% [markdown]
# ## What to remember
# - One embedding serves three purposes: who receives, who acts, and what is sent.
# - With $2r+q$ dimensions, the paper's argument is correct, and one dimension fewer is usually enough.
# - On two symbols the paper's bound is 0, and no layer errs by less than $\frac12$.
#
# ## Exercises
#
# 1. *By hand.* How many dimensions are enough for $F$ of rank 3 and one output?
#    <details><summary>Solution</summary>
#
#    $2r+q=2\cdot3+1=7$, or $2r=6$ if no row of $F$ is zero and no $w_\nu$ is zero.
#
#    </details>
# 2. *Predict, then run.* Set `length = 200`. By what factors do the error and the bound grow?
#    <details><summary>Solution</summary>
#
#    The bound is proportional to the length, so it grows by $200/9\approx22$. The error need not be proportional: for
#    $r=q=2$ it grows from 0.45 to 11.4, by a factor of 25, because the first token differs from all others.
#
#    </details>
#
# Back to [Theorem 3.1](theorem_3_1_representation.ipynb), where the embedding is wide enough.

# %% [markdown]
# # Lemmas 1, 2 and 5 · Three lemmas on ranks
# *Mahdavi, Liao, Thrampoulidis: Lemmas 1, 2 and 5, Appendix D.*
#
# The proofs of the chapter rest on three small facts: ranks of the diagonal blocks add up under a block triangle,
# adding the mean to every vector keeps independent vectors independent, and a small enough change cannot lower a rank.
# The first is checked in whole numbers, the other two at the edge where they stop being true.

# %%
import torch

from attention_theory.memorization.certified.averaging import certify_mean_added
from attention_theory.memorization.certified.vectors import certify_block_triangle
from attention_theory.memorization.examples import draw, integer_vectors
from attention_theory.numerics import modular_rank, numerical_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
trials = 200  # random matrices for each lemma, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(trials=(trials, 10, None), seed=(seed, 0, None))

# %% [markdown]
# ## Lemma 1: a block triangle
# <!-- claim memorization/lemma-1 -->
# <blockquote>
#
# **Lemma 1 (Ranks under a block triangle)** *Appendix D*
#
# $\mathrm{rank}\begin{bmatrix}A&C\\0&B\end{bmatrix}\ge\mathrm{rank}\,A+\mathrm{rank}\,B$.
#
# </blockquote>
# <!-- /claim -->
#
# The paper states it without a proof; here is one. Take $\mathrm{rank}\,A$ independent columns of $A$ and
# $\mathrm{rank}\,B$ independent ones of $B$, with what stands above or below them. In a relation among these columns
# the lower rows leave the second kind no coefficient but 0, and then the upper ones the first; so all are independent.
#
# The blocks are drawn with few different entries, so that all ranks occur. The inequality is strict where the corner
# block adds something of its own, as in the smallest example $A = B = 0$, $C = 1$. For all entries sympy proves that a
# minor of the triangle is the product of one of $A$ and one of $B$.

# %%
source = generator(seed)
slack = []
for _ in range(trials):
    A, B, C = (integer_vectors(3, 3, source, largest=1) * (torch.rand(3, 1, generator=source) < 0.6) for _ in range(3))
    X = torch.cat([torch.cat([A, C], dim=1), torch.cat([torch.zeros_like(A), B], dim=1)])
    slack.append(modular_rank(X) - modular_rank(A) - modular_rank(B))
corner = modular_rank(torch.tensor([[0, 1], [0, 0]]))
whole = modular_rank(torch.eye(3, dtype=torch.long).repeat(2, 2))  # A = B = C = I, and I where the triangle has 0

claim = Claim("memorization/lemma-1")
claim.at_least(f"{trials} block triangles, smallest rank X - rank A - rank B", min(slack), 0)
claim.equal("A = B = 0, C = 1: rank X", corner, 1)
claim.control.at_least("no triangle, all four blocks I: rank X - rank A - rank B", whole - 6, 0)
claim.certified("all entries, blocks of rank up to 3", certify_block_triangle())
claim.verdict()

# %% [markdown]
# ## Lemma 2: adding the mean
# <!-- claim memorization/lemma-2 -->
# <blockquote>
#
# **Lemma 2 (Adding the mean keeps vectors independent)** *Appendix D*
#
# If $e_1,\dots,e_n$ are linearly independent, so are $e_i+\frac1n\sum_je_j$: the change has the matrix
# $I+\frac1n\mathbf 1\mathbf 1^\top$, with determinant 2.
#
# </blockquote>
# <!-- /claim -->
#
# The new vectors are the old ones times $I + \frac1n \mathbf 1 \mathbf 1^\top$, whose determinant is 2 for every $n$.
# Taking the mean away instead gives determinant 0. The paper's proof solves $\sum_i b_i e_i' = 0$: it needs
# $b_i + \bar b = 0$ for all $i$, with $\bar b$ the mean of the $b_i$, and the sum of these equations, $2n\bar b = 0$,
# leaves only $b = 0$. For every $n$ sympy proves that the matrix has an inverse.

# %%
deviation, kept, lost = [], [], []
for n in range(1, 21):
    mean = torch.full((n, n), 1 / n, dtype=torch.float64)
    identity = torch.eye(n, dtype=torch.float64)
    vectors = draw("gaussian", n, 24, seed=seed + n)
    deviation.append(abs(torch.linalg.det(identity + mean).item() - 2))
    kept.append(n - int(numerical_rank((identity + mean) @ vectors)))
    if n > 1:
        lost.append(n - int(numerical_rank((identity - mean) @ vectors)))

# %%
claim = Claim("memorization/lemma-2")
claim.at_most("n = 1, ..., 20: determinant less 2", max(deviation), 1e-12)
claim.equal("n = 1, ..., 20: rank lost", max(kept), 0)
equations = {n: n * torch.eye(n, dtype=torch.long) + 1 for n in range(1, 21)}  # n (b_i + mean of b), row by row
summed = max(int((rows.sum(dim=0) - 2 * n).abs().max()) for n, rows in equations.items())
unsolved = max(n - modular_rank(rows) for n, rows in equations.items())
claim.equal("n = 1, ..., 20: sum of the proof's equations less 2n times the mean", summed, 0, of="proof")
claim.equal("n = 1, ..., 20: dimensions left to their solutions", unsolved, 0, of="proof")
claim.control.equal("mean taken away: smallest rank lost", min(lost), 0)
claim.certified("every n, and the averaging layer up to n = 20", certify_mean_added())
claim.verdict()

# %% [markdown]
# ## Lemma 5: a small change keeps the rank
# <!-- claim memorization/lemma-5 -->
# <blockquote>
#
# **Lemma 5 (A small change keeps the rank)** *Appendix D*
#
# If $\sigma_{\max}(B-A)<\sigma_{\min}(A)$, the smallest nonzero singular value of $A$, then
# $\mathrm{rank}\,B\ge\mathrm{rank}\,A$.
#
# </blockquote>
# <!-- /claim -->
#
# By Weyl's inequality no singular value moves by more than the size of the change. The inequality must be strict: a
# change of exactly the smallest singular value, along its own direction, removes it. That direction is the worst case,
# and the one tried here; a generic change of any size only raises the rank of these matrices. (In Appendix B.2 the
# matrices are the features with saturated weights one-hot and nearly so, and the change is bounded by the distance
# $\delta$ from one-hot. The construction takes $\delta$ half as large as that needs.)

# %%
safe, exact, generic, moved = [], [], [], []
shares = torch.linspace(0.0, 1.3, 14, dtype=torch.float64)
left = torch.zeros(len(shares))
for trial in range(trials):
    factors = draw("gaussian", 2, 8, 5, seed=seed + trial)
    A = factors[0] @ factors[1].mT
    U, s, Vh = torch.linalg.svd(A)
    change = draw("gaussian", 8, 8, seed=seed + trials + trial)
    change *= 0.99 * s[4] / torch.linalg.matrix_norm(change, 2)
    generic.append(int(numerical_rank(A + change)))
    worst = s[4] * torch.outer(U[:, 4], Vh[4])
    for step in (change, 30 * change, worst):
        moves = (torch.linalg.svdvals(A + step) - s).abs().max() - torch.linalg.matrix_norm(step, 2)
        moved.append((moves / s[0]).item())
    safe.append(int(numerical_rank(A - 0.99 * worst)))
    exact.append(int(numerical_rank(A - worst)))
    left += (
        torch.stack([torch.linalg.svdvals(A - x * s[4] * torch.outer(U[:, 4], Vh[4]))[4] / s[4] for x in shares])
        / trials
    )

# %% [markdown]
# What is left of the smallest singular value as the change grows:

# %%
fig, axis = show.axes()
axis.plot(shares, left, marker="o")
axis.axvline(1.0, linestyle="--", color="0.5")
axis.set(xlabel="size of the change over the smallest singular value", ylabel="what is left of that value")
show.figure(
    fig,
    name="strict",
    caption="A change along the smallest singular pair. The rank is kept up to, and not at, the dashed line.",
    alt="A curve that falls in a straight line from one to zero at the dashed line and rises again beyond it.",
)

# %% [markdown]
# Just below the edge the rank stays; at the edge it does not.

# %%
claim = Claim("memorization/lemma-5")
claim.at_least("0.99 of the smallest value, along its singular pair: smallest rank", min(safe), 5)
claim.at_least("a random change of that size: smallest rank", min(generic), 5)
claim.at_most("Weyl: largest move of a singular value less the size of the change", max(moved), 1e-13, of="proof")
claim.control.at_least("exactly the smallest value, along its singular pair: largest rank", max(exact), 5)
claim.verdict()

# %% [markdown]
# ## What was learned
# The three facts are as simple as they look, and each is as sharp as it is stated: without the zero block ranks do not
# add up, with the mean taken away the vectors become dependent, and a change of exactly the smallest singular value can
# lower the rank.
#
# ## To try
# - Set `trials = 10`: fewer matrices, the same edges.
# - Set `seed = 1`: other matrices; the curve of what is left stays the same straight line.

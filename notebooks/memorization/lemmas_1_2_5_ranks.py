# %% [markdown]
# # Lemmas 1, 2 and 5 · Three facts about ranks
# *Mahdavi, Liao, Thrampoulidis: Lemmas 1, 2 and 5, Appendix D.*
#
# The proofs of this chapter use three small facts about the rank of a matrix. We test each one at the point where it
# stops being true.
#
# **In numbers.** A triangle with the blocks 0 and 0 on its diagonal and 1 above has rank 1, which is more than $0+0$.
# If we add the mean $(1,1)$ to $(2,0)$ and $(0,2)$, we get $(3,1)$ and $(1,3)$, which are independent. If we subtract
# it, we get $(1,-1)$ and $(-1,1)$, which are not. The matrix with 5 and 1 on its diagonal keeps its rank 2 under any
# change of size less than 1.
#
# ## The paper states
# <!-- claim memorization/lemma-1 -->
# <blockquote>
#
# **Lemma 1 (Ranks under a block triangle)** *Appendix D*
#
# **The paper states.** For any real-valued block matrix $X$ of the form $X=\begin{bmatrix}A&C\\0&B\end{bmatrix}$ we
# have $\mathrm{rank}(X)\ge\mathrm{rank}(A)+\mathrm{rank}(B)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/lemma-2 -->
# <blockquote>
#
# **Lemma 2 (Adding the mean keeps vectors independent)** *Appendix D*
#
# **The paper states.** Assume vectors $e_1,e_2,\dots,e_n\in\mathbb R^d$ are linearly independent. Then,
# $e'_i:=e_i+\frac1n(e_1+e_2+\dots+e_n)$ are also linearly independent for all $i\in[n]$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The matrix of this map, $I+\frac1n\mathbf 1\mathbf 1^\top$, has determinant 2 for every $n$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/lemma-5 -->
# <blockquote>
#
# **Lemma 5 (A small change keeps the rank)** *Appendix D*
#
# **The paper states.** Let $A,B\in\mathbb R^{n\times m}$ be two matrices satisfying
# $\sigma_{\max}(B-A)<\sigma_{\min}(A)$, where $\sigma_{\min},\sigma_{\max}$ are the smallest and largest non-zero
# singular values. Then, we have $\mathrm{rank}(B)\ge\mathrm{rank}(A)$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *Lemma 1.* Because of the zero block, the columns of $A$ cannot cancel those of $B$. *Lemma 2.* The map that adds the
# mean is invertible. *Lemma 5.* By Weyl's inequality, no singular value moves by more than the size of the change.
#
# <details><summary>Proof of Lemma 1</summary>
#
# Take $\mathrm{rank}\,A$ independent columns of $A$ and $\mathrm{rank}\,B$ independent ones of $B$, with the entries
# above or below them. In a relation among these columns the lower rows leave the second kind no coefficient but 0, and
# then the upper ones the first. Hence all are independent. $\square$
#
# </details>
#
# ## See it run
# How far may a matrix change before it loses rank? We change it along its smallest singular pair, the worst direction.

# %%
import torch

from attention_theory.memorization.certified.averaging import certify_mean_added
from attention_theory.memorization.certified.vectors import certify_block_triangle, certify_small_change
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

# %%
safe, exact, generic, moved = [], [], [], []
sizes = torch.linspace(0.0, 1.3, 14, dtype=torch.float64)
left = torch.zeros(len(sizes))
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
        torch.stack([torch.linalg.svdvals(A - x * s[4] * torch.outer(U[:, 4], Vh[4]))[4] / s[4] for x in sizes])
        / trials
    )

# %%
fig, axis = show.axes()
axis.plot(sizes, left, marker="o")
axis.axvline(1.0, linestyle="--", color="0.5")
axis.set(xlabel="size of the change / smallest singular value", ylabel="remaining fraction")
show.figure(
    fig,
    name="strict",
    caption="The smallest singular value under a change along its singular pair, as a fraction of its original size.",
    alt="A curve that falls in a straight line from one to zero at a dashed line and rises again beyond it.",
)

# %% [markdown]
# The matrix keeps its rank up to the dashed line and loses it there. This is why the inequality of Lemma 5 must be
# strict.
#
# ## How we checked
# Each control violates one condition: four nonzero blocks, the mean subtracted instead of added, and a change of
# exactly the smallest singular value.

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

# %%
claim = Claim("memorization/lemma-5")
claim.at_least("0.99 of the smallest value, along its singular pair: smallest rank", min(safe), 5)
claim.at_least("a random change of that size: smallest rank", min(generic), 5)
claim.at_most("Weyl: largest move of a singular value less the size of the change", max(moved), 1e-13, of="proof")
claim.control.at_least("exactly the smallest value, along its singular pair: largest rank", max(exact), 5)
claim.certified("all matrices, A of rank up to 6", certify_small_change())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The paper states Lemma 1 without a proof. We draw blocks with few different entries, so that all ranks occur. For all
# entries, sympy proves that a minor of the triangle is the product of a minor of $A$ and one of $B$. The paper's proof
# of Lemma 2 solves $\sum_ib_ie_i'=0$: it needs $b_i+\bar b=0$ for all $i$, with $\bar b$ the mean of the $b_i$, and the
# sum of these equations, $2n\bar b=0$, leaves only $b=0$. For Lemma 5, z3 proves that the changed matrix takes no
# vector but 0 of the row space of $A$ to 0. A generic change of any size only raises the rank of our matrices. In
# Appendix B.2, the two matrices are the features for one-hot weights and for nearly one-hot weights. Our construction
# keeps the distance from one-hot at half of what the lemma allows.
#
# </details>
#
# ## What to remember
#
# - The rank of a block triangle is at least the sum of the ranks of its diagonal blocks.
# - Adding the mean keeps vectors independent; subtracting it does not.
# - A change smaller than the smallest singular value keeps the rank.
#
# ## Exercises
#
# 1. *By hand.* Compute the determinant of $I+\frac12\mathbf 1\mathbf 1^\top$ for $n=2$.
#    <details><summary>Solution</summary>
#
#    The matrix has $\frac32$ on the diagonal and $\frac12$ elsewhere. Its determinant is $\frac94-\frac14=2$.
#
#    </details>
# 2. *Predict, then run.* Set `seed = 1`. What happens to the curve?
#    <details><summary>Solution</summary>
#
#    Nothing: for every matrix, the remaining fraction falls in a straight line from 1 to 0.
#
#    </details>
#
# Next: [Theorem 1](theorem_1_capacity.ipynb). Its proof adds the ranks of blocks and then changes the matrices
# slightly.

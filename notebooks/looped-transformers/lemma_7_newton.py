# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 7 · Inverting a matrix with products and differences
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 7 (= 21), Algorithms 3 and 9, Appendix N.*
#
# To invert a matrix, we do not have to solve equations. Newton's iteration takes a first guess and improves it with
# products and differences alone, and a looped transformer can compute both. Which first guess works, and how exact can
# the result be?

# %%
import math

import torch

from attention_theory.looped_transformers.certified.iterations import certify_newton
from attention_theory.looped_transformers.certified.programs import certify_newton_program
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.listing import side_by_side
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.newton import (
    listing_beside,
    newton_error_bound,
    newton_program,
    newton_residuals,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# A number shows the idea. We invert $a=2$ with $x\leftarrow x(2-ax)$ and begin at $x=0.25$. The next values are
# $0.25\cdot1.5=0.375$ and $0.375\cdot1.25=0.46875$. The residual $1-ax$ is 0.5, then 0.25, then 0.0625: each step
# squares it.

# %%
fig, axis = schematic.canvas(7.0, 1.3)
tops = schematic.tokens(axis, ["x = 0.25", "x = 0.375", "x = 0.46875"], (0.3, 0.5), step=4.5)
for (x, y), residual_there in zip(tops, ("0.5", "0.25", "0.0625"), strict=True):
    schematic.text(axis, (x, y + 0.4), f"1 − 2x = {residual_there}", schematic.BLUE, 9)
for x in (4.5, 9.0):
    schematic.arrow(axis, (x, 0.95), (x + 0.3, 0.95))
show.figure(
    fig,
    name="tiny",
    caption="Newton's iteration for the inverse of 2. Above each value is its residual.",
    alt="Three boxes joined by arrows: x = 0.25, 0.375 and 0.46875, with residuals 0.5, 0.25 and 0.0625.",
)

# %% [markdown]
# The number of right digits doubles once the residual is small.
#
# ## The paper states
# <!-- claim looped-transformers/algorithm-3 -->
# <blockquote>
#
# **Algorithm 3 (Newton's iteration for the inverse)** *Appendix D; Appendix N; also Algorithm 8*
#
# **The paper states.** Pseudocode for running Newton's algorithm for matrix inversion for $T$ iterations.
# $X_{-T}=\epsilon A$; for $i=-T,\dots,0$: $X_{i+1}=X_i(2I-AX_i)$.
#
# **What is true.** From $X_{-T}=\epsilon A^\top$ with $\epsilon=1/\|A\|^2$, the iteration $X\leftarrow X(2I-AX)$
# converges quadratically to $A^{-1}$ for every invertible $A$.
#
# **What changed.** The start is $\epsilon A^\top$, and $\epsilon$ is specified. From $\epsilon A$, the iteration for a
# rotation by a right angle $R$ diverges for every $\epsilon>0$. For $\mathrm{diag}(R,1)$ no real $\epsilon$ leads to
# the inverse.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-9 -->
# <blockquote>
#
# **Algorithm 9 (Newton's iteration as a program)** *Appendix N*
#
# **The paper states.** Require $\mathrm{mem}[x]=\epsilon I$. Line 1: $x=f_{\mathrm{mul}}(x,a)$ initializes the result,
# $X_{-T}:=\epsilon A$. Line 5: $y=f_{\mathrm{transp}}(y,q)$, transpose of $Y$. Line 6: $x=f_{\mathrm{mul}}(x,y)$,
# updating the result, $X_{i+1}:=X_iY$.
#
# **What is true.** With $f_{\mathrm{mul}}(A,B)=A^\top B$, the program starts from $x=A^\top(\epsilon I)$, by
# $f_{\mathrm{mul}}(a,x)$ in line 1. Line 5 transposes $x$, so that line 6 computes $XY$ with $Y=2I-AX$.
#
# **What changed.** As stated, lines 5 and 6 compute $(YX)^\top$, which differs from $XY$ if $A$ is not symmetric.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-7 -->
# <blockquote>
#
# **Lemma 7 (Newton's iteration in the transformer)** *Appendix D; also Lemma 21*
#
# **The paper states.** Consider a matrix $A\in\mathbb R^{d\times d}$, then for any $\epsilon>0$ there exists a
# transformer with 13 layers, 1 head and dimensionality $r=O(d)$ that emulates Alg. 3 with output $X_1^{(transf)}$ that
# satisfies $\|X_1^{(transf)}-X_1\|\le\epsilon$. This error $\epsilon$ arises due to softmax, and can be driven
# arbitrarily close to 0 by increasing the temperature.
#
# **What is true.** For every $\epsilon$ there is a looped transformer of 12 layers, with one head in each and $O(d)$
# rows, that runs the iteration with an error of at most $\epsilon$. The error is driven to 0 by the temperature
# together with the constants $c$ and $C$ of the product block. It is the error of the products, amplified by the
# conditioning of $A$.
#
# **What changed.** The temperature alone cannot do it. With fixed weights and a fixed number of passes, the output
# tends to $X_1$ as $\lambda$ grows only for a null set of matrices $A$. Lemmas 9 and 23 name "another free parameter",
# which is needed here as well.
#
# <details><summary>Slips (1)</summary>
#
# - The proof is the program of Algorithm 9, whose lines 1, 5 and 6 need a repair.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# With $R=I-AX$, one step gives $I-AX(2I-AX)=R^2$. The iteration therefore converges if the first residual is small
# enough. For the guess $\epsilon A^\top$, it is $I-\epsilon AA^\top$, whose norm is below 1 for every invertible $A$ if
# $0<\epsilon\le1/\|A\|^2$. For $\epsilon A$, it is $I-\epsilon A^2$. For a rotation by a right angle, this is
# $(1+\epsilon)I$, and the iteration diverges.
#
# In the machine, every product has a small error. In directions where $A$ is small, $X$ has to grow, and the errors
# grow with it, overall by a factor of at most the square of the condition number of $A$. The quadratic convergence then
# removes them, except those of the last step.
#
# <details><summary>Proof of Algorithm 3, as corrected</summary>
#
# Let $R_k=I-AX_k$. Since $AX_{k+1}=AX_k(2I-AX_k)=(I-R_k)(I+R_k)=I-R_k^2$,
#
# $$R_{k+1}=R_k^2,\qquad R_k=R_0^{2^k}.$$
#
# *From $\epsilon A^\top$.* $R_0=I-AA^\top/\|A\|^2$ is symmetric, and its eigenvalues are $1-\sigma_i^2/\sigma_1^2$ with
# the singular values $\sigma_1\ge\dots\ge\sigma_d>0$ of $A$. With the condition number $\kappa=\sigma_1/\sigma_d$ this
# gives $\|R_k\|=(1-\kappa^{-2})^{2^k}\to0$ for every invertible $A$, and each step squares $\|R_k\|$. Since
# $X_k-A^{-1}=-A^{-1}R_k$, the error is at most $\|A^{-1}\|\,\|R_k\|$: it falls as fast.
#
# *From $\epsilon A$.* Let $A$ be a rotation by a right angle in a plane and 1 along a third axis. Then $A^2$ is $-1$ in
# the plane and 1 along the axis, and $R_0=I-\epsilon A^2$ is $1+\epsilon$ there and $1-\epsilon$ here. For every real
# $\epsilon$ one of the two is at least 1, and so is its power in $R_k=R_0^{2^k}$: no $\epsilon$ leads to the inverse.
# (For the rotation alone $R_k=(1+\epsilon)^{2^k}I$, which runs away for every $\epsilon>0$.) $\square$
#
# </details>
#
# <details><summary>Proof of Algorithm 9, as corrected</summary>
#
# *Before the loop.* Memory holds $a=A$, $p=2I$, $x=\epsilon I$, $q=-1$, $t=-T$. Line 1 makes $x=A^\top(\epsilon
# I)=\epsilon A^\top=X_0$, line 2 makes $a=A^\top$. Let $X_{k+1}=X_k(2I-AX_k)$, as in Algorithm 3.
#
# *Invariant.* At the head of the loop in round $k=0,1,\dots$ we have $x=X_k$ and $t=k-T$, and $a=A^\top$, $p$ and $q$
# stay as they are. The round makes $y=(A^\top)^\top X_k=AX_k$, then $y=2I-AX_k$, then $x=X_k^\top$, then
# $x=(X_k^\top)^\top y=X_k(2I-AX_k)=X_{k+1}$, and $t=k+1-T$. That is the invariant for $k+1$.
#
# *The end.* The jump back is taken as long as $k+1\le T$. So there are $T+1$ rounds, $k=0,\dots,T$, and the program
# ends with $x=X_{T+1}$, which converges to $A^{-1}$ by Algorithm 3.
#
# *As printed.* Line 1 makes $(\epsilon I)^\top A=\epsilon A$, the wrong start. Lines 5 and 6 make $X^\top
# Y^\top=(YX)^\top$ with $Y=2I-AX$. At $X=A^{-1}$ this is $(A^{-1})^\top$: for a matrix that is not symmetric the
# inverse is not even a fixed point, and the printed lines cannot converge to it. For a symmetric one $X$ and $Y$ are
# polynomials in $A$, which are symmetric and commute, so that $(YX)^\top=XY$. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 7, as corrected</summary>
#
# *Program and machine.* The repaired program of Algorithm 9 makes the iterates $X_0,\dots,X_{T+1}$ in a fixed number of
# instructions. The machine of Theorem 2 executes one a pass. It has 9 layers and those of its deepest block, the
# transpose with 3; its blocks share one head. Memory and program have $O(d)$ columns, so that the $O(Md+\log n)$ rows
# with a fixed number $M$ of blocks are $O(d)$. The flag $t$ is a whole number and is never in a product: its error
# vanishes as the temperature grows, and the jumps are the program's.
#
# *One step.* Let the machine hold $X_k+\delta_k$. Exactly,
#
# $$(X_k+\delta)\big(2I-A(X_k+\delta)\big)-X_{k+1}=\delta(I-AX_k)+(I-X_kA)\delta-\delta A\delta .$$
#
# By its start $X_k$ has the singular vectors of $A^\top$. So $AX_k$ and $X_kA$ are symmetric, with the same eigenvalues
# $s_i$ in $(0,1]$: $s_i=\sigma_i^2/\|A\|^2$ at first, and a step makes $s_i(2-s_i)$ of each. With $r_i=1-s_i$ (in round
# $k$), and the Frobenius norm for errors,
#
# $$\|\delta_{k+1}\|\le 2\max_i r_i\,\|\delta_k\|+\|A\|\,\|\delta_k\|^2+e_k .$$
#
# Here $e_k$ is what the step's two products add. If $E$ and $E'$ are their errors, it is $\|E'-(X_k+\delta_k)E\|$. A
# product whose entries are at most $m$ has an error of at most $d\,(cm^2/2+\rho/c)$, with $m\le1+\|A\|\|\delta_k\|$ for
# $E$; for $E'$, $m$ is $\|X_{k+1}\|$ plus its error. Sums and transposes add what the temperature leaves.
#
# *All steps.* $T$ is fixed, and $\delta_0$ is the error of one product. In exact arithmetic $\rho/c$ stands for
# $O(e^{-C}/c)$ (Lemma 14). So as the temperature and $C$ grow and $c$ falls such that $e^{-C}/c$ goes to 0, $\delta_0$
# goes to 0, and by the recursion, one after another, so do $e_0,\delta_1,\dots,e_T,\delta_{T+1}$: every $\epsilon$ is
# reached, with the same layers, heads and rows. At a fixed $c$ the error $cz^2/2$ stays, whatever the temperature.
#
# *The condition.* Let $s$ be the smallest $s_i$ in a step and $s'=s(2-s)$ what becomes of it, still the smallest. Then
# $2\max_ir_i=2(1-s)\le2-s=s'/s$. The product of these factors over any steps is at most 1 over the first $s$, so at
# most $\kappa^2$. To first order in the errors $\|\delta_{T+1}\|\le\kappa^2\big(\|\delta_0\|+\sum_ke_k\big)$. $\square$
#
# </details>
#
# ## See it run
# First we run the plain iteration on many Gaussian matrices, and on rotations.

# %% tags=["parameters"]
d = 4  # size of the matrix in the machine, from 3 to 8
rounds = 12  # T of the program: it makes T + 1 iterations, at least 4
draws = 50  # random matrices in the machine, from 2 to 200
matrices = 500  # matrices on which the plain iteration is tried, at least 50
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 3, 8), rounds=(rounds, 4, None), draws=(draws, 2, 200), matrices=(matrices, 50, None))
require(seed=(seed, 0, None))

# %%
source = generator(seed)
many = torch.randn(matrices, 4, 4, generator=source, dtype=torch.float64)
factor = torch.randn(d, d, generator=source, dtype=torch.float64)
identity = torch.eye(d, dtype=torch.float64)
symmetric = factor @ factor.mT / 4 + identity / 2
skewed = identity + 0.8 / d**0.5 * torch.randn(d, d, generator=source, dtype=torch.float64)
steps = 60
converged = {form: int((newton_residuals(many, steps, form)[-1] < 1e-6).sum()) for form in ("correct", "printed")}
turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
both = torch.block_diag(turn, torch.ones(1, 1, dtype=torch.float64))
scales = [sign * 10.0**k for sign in (-1, 1) for k in range(-3, 2)] + [0.0, 0.5, -0.5, 2.0, -2.0]
of_scale = [newton_residuals(both, 60, "printed", scale)[-1].nan_to_num(torch.inf).item() for scale in scales]
history = newton_residuals(torch.stack([symmetric, skewed]), 14)
square_law = [
    (history[k + 1, i] / history[k, i] ** 2).item() for i in (0, 1) for k in range(14) if 1e-6 < history[k, i] < 0.5
]

# %% [markdown]
# The paper's program computes `mul(a, b)` as $A^\top B$. Its line 6 uses a transposed $Y$, which is right for
# symmetric matrices only. Its listing is on the left and our repair on the right.

# %%
print(side_by_side(listing_beside()))

# %% [markdown]
# Now the machine inverts a symmetric matrix, one that is not symmetric, and random ones. The bound follows the
# recursion in the proof.

# %%
batch = torch.cat([symmetric[None], skewed[None], torch.randn(draws, d, d, generator=source, dtype=torch.float64)])
programs = [newton_program(matrix, rounds) for matrix in batch]
references = [interpret(program) for program in programs]
gate = max(
    1000.0, 2 * max(one.largest_entry for one in references)
)  # what is closed is closed by this much: more than any entry
machine = FleqMachine(programs[0], gate=gate)
runs = machine.run_many(programs, 10 * rounds)


# %%
def inverses(results, each=programs):
    return torch.stack([one.variable(run.memory, "x") for one, run in zip(each, results, strict=True)])


def residuals(run, program, matrix):
    """||AX - I|| after every update of X."""
    update = program.labels["again"] + 4
    at = [place for place, number in enumerate(run.executed) if number == update]
    return [torch.linalg.matrix_norm(matrix @ program.variable(run.memories[k], "x") - identity).item() for k in at]


off = torch.linalg.matrix_norm(inverses(runs) - inverses(references))
bounds = newton_error_bound(batch, rounds + 1, slope=1e-7)
kept = torch.isfinite(bounds)
wrong = torch.tensor([ours.counters != theirs.counters for ours, theirs in zip(runs, references, strict=True)])
wrong_counters = wrong[kept].sum()

# %%
condition = torch.linalg.cond(batch)
fig, axes = show.axes(1, 2, width=8.0)
for marker, name, k in (("o", "symmetric", 0), ("s", "not symmetric", 1)):
    ours, theirs = (residuals(one[k], programs[k], batch[k]) for one in (runs, references))
    axes[0].semilogy(range(1, len(ours) + 1), ours, marker + "-", label=f"transformer, {name}")
    axes[0].semilogy(range(1, len(theirs) + 1), [max(value, 1e-17) for value in theirs], "k:", alpha=0.7)
axes[0].set(xlabel="iteration", ylabel=r"$\|AX-I\|$")
axes[0].legend(fontsize=8)
axes[1].loglog(condition, off, "o", label="transformer", markersize=4)
axes[1].loglog(condition, bounds, "k_", label="bound")
axes[1].set(xlabel="condition number of A", ylabel="error of X")
axes[1].legend()
show.figure(
    fig,
    name="newton",
    caption="Left: residuals; dotted lines show the exact program. Right: the distance to the exact program's X for "
    "every matrix, which grows with the condition number and stays below the bound.",
    alt="Left: two curves that fall faster and faster and level off near ten to the minus seven; dotted lines go "
    "down to ten to the minus sixteen. Right: a rising cloud of dots, under a cloud of dashes.",
)

# %% [markdown]
# On the left we see the residuals fall quadratically until they meet the error of the products. On the right, every
# error is below its bound and grows with the condition number.
#
# ### What limits the error
# We change the constant $c$ of the product block, and then the temperature with fixed weights.

# %%
short = newton_program(symmetric, 4)
short_reference = interpret(short)


def deviation(slope=1e-7):
    return compare(FleqMachine(short, standard_blocks(short, slope)).run(short, 60), short_reference).deviation


def first_product(scores=1.0):
    """The deviation after the first product, with the same weights and all scores times a factor."""
    one = FleqMachine(short)
    one.inverse_temperature *= scores
    return compare(one.run(short, 1), short_reference).deviations[0]


slopes = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]
floors = {slope: deviation(slope) for slope in slopes}
show.table(["c", "deviation from the exact program"], list(floors.items()), caption="Symmetric matrix, T = 4.")
hotter = {factor: first_product(factor) / first_product() for factor in (1.01, 1.1, 2.0)}

# %% [markdown]
# The error is proportional to $c$ until rounding dominates. A higher temperature makes a product worse: its entry $z$
# becomes $(e^{\lambda cz-(\lambda-1)C}-1)/c$ at $\lambda$ times the temperature, which tends to $-1/c$. [What
# temperature alone can do](temperature_alone.ipynb) proves that no fixed weights avoid this.
#
# The method fails for a matrix with condition number $10^8$. In the direction where $A$ is smallest, $X$ begins below
# the error of the first product.

# %%
left, right = (torch.linalg.qr(torch.randn(d, d, generator=source, dtype=torch.float64))[0] for _ in range(2))
hard = left @ torch.diag(torch.tensor([1.0] * (d - 1) + [1e-8], dtype=torch.float64)) @ right.mT
hard_program = newton_program(hard, 60)
hard_exact = interpret(hard_program)
hard_gate = 2 * hard_exact.largest_entry
hard_run = FleqMachine(hard_program, gate=hard_gate).run(hard_program, len(hard_exact.counters))

# %%
printed_program = newton_program(skewed, rounds, "printed")
printed_x = printed_program.variable(FleqMachine(printed_program).run(printed_program, 10 * rounds).memory, "x")
printed_residual = torch.linalg.matrix_norm(skewed @ printed_x - identity).nan_to_num(torch.inf)
sizes, blocks = summarise(machine.transformer), standard_blocks(short)
rows = {k: FleqLayout(k, 9 * k, 9, blocks, 40.0).rows.size for k in (4, 8, 16, 32)}
doubling = max(rows[2 * k] / rows[k] for k in (4, 8, 16))


def residual(x):
    """||AX - I|| for the matrix of condition 1e8."""
    return torch.linalg.matrix_norm(hard @ x - identity).nan_to_num(torch.inf).item()


found, exact = hard_program.variable(hard_run.memory, "x"), hard_program.variable(hard_exact.memory, "x")

# %% [markdown]
# ## How we checked
# The counter must equal the interpreter's in every cycle, and the error of $X$ must stay below its bound for every
# matrix. A computer algebra system proves for all matrices of side 2 that a step squares the residual, and for side 3
# that a round of the program is a step. The control is
# the matrix of condition $10^8$.

# %%
claim = Claim("looped-transformers/algorithm-3")
claim.equal("Gaussian matrices that converge, from A^T", converged["correct"], matrices)
claim.at_most("residual after a step over its square", max(square_law), 1.01)
claim.at_most("rotation by a right angle, from A^T: residual", newton_residuals(turn, 8)[-1], 1e-12)
claim.printed.equal("Gaussian matrices that converge, from A", converged["printed"], matrices)
claim.printed.at_most(
    "rotation, from A: residual", newton_residuals(turn, 8, "printed")[-1].nan_to_num(torch.inf), 1e-12
)
claim.at_most("rotation beside a 1, from A^T: residual", newton_residuals(both, 8)[-1], 1e-12)
at_best = min(of_scale)
claim.printed.below(f"the same from ε A, {len(scales)} values of ε of either sign: least residual", at_best, 1.0)
claim.number("share that converges from A", converged["printed"] / matrices)
claim.certified("2 by 2, all matrices", certify_newton())
claim.verdict()


# %%
def ideal(matrix, form="correct", count=20):
    program = newton_program(matrix, count, form)
    x = program.variable(interpret(program).memory, "x")
    return torch.linalg.matrix_norm(matrix @ x - identity).nan_to_num(torch.inf).item()


claim = Claim("looped-transformers/algorithm-9")
claim.at_most("symmetric matrix: ||AX - I|| / d", ideal(symmetric) / d, 1e-14)
claim.at_most("other matrix: ||AX - I|| / d", ideal(skewed) / d, 1e-14)
claim.at_most("printed lines, symmetric matrix: ||AX - I||", ideal(symmetric, "printed", 14), 1e-9)
claim.printed.at_most("printed lines, other matrix: ||AX - I||", ideal(skewed, "printed", 14), 1e-9)
claim.certified("3 by 3: a round of the program, all matrices", certify_newton_program(3))
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-7")
claim.equal("matrices with a wrong counter in any cycle, of those with a finite bound", wrong_counters, 0)
claim.at_most("error of X over its bound, largest of all matrices", (off / bounds)[kept].max(), 1)
claim.at_most("layers (13 claimed)", sizes.layers, 13)
claim.equal("heads of the widest layer (1 claimed)", sizes.heads, 1)
claim.at_most("rows, growth when d doubles, from 4 to 32", doubling, 2)
growth = math.log10(floors[1e-4] / floors[1e-6])  # the error of a product is proportional to c where rounding is small
claim.equal("deviation at c = 1e-4 over that at 1e-6, powers of ten", growth, 2.0, tolerance=math.log10(3))
least_hot = min(hotter.values())
claim.printed.at_most("the same weights, a higher temperature: error of a product over that before", least_hot, 0.5)
claim.at_most("condition 1e8: ||AX - I|| of the exact program", residual(exact), 1e-4)
claim.control.at_most("condition 1e8: ||AX - I|| in the machine", residual(found), 1e-2)
claim.equal("the repaired program: matrices with a wrong counter", wrong_counters, 0, of="proof")
claim.printed.at_most("printed program, not symmetric: ||AX - I||", printed_residual, 1e-3, of="proof")
claim.number("matrices for which the bound is finite", int(kept.sum()))
claim.number("largest condition number", condition.max())
claim.number("gate of the machine", gate)
claim.number("error of X over its bound, median", (off / bounds)[kept].median())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The gate of the machine exceeds twice every entry that occurs. We use a bound only where it is finite. The paper's
# program runs for 14 steps, because its rounding errors, which are not symmetric, grow from step to step even for
# symmetric matrices. With the constant $c$, an entry $z$ of a product is off by at most $cz^2/2+\rho/c$, where $\rho$
# is what rounding adds in 53 bits, and $c$ near $10^{-6}$ or $10^{-7}$ is best. A machine that is built for a
# temperature divides the keys of its product by that temperature, so that the temperature does not matter there. With
# separate heads for each block, as Theorem 2 has them, the widest layer has six heads.
#
# </details>
#
# ## What to remember
# - Each step squares the residual, so a few products invert a matrix.
# - The first guess must be $\epsilon A^\top$.
# - The error is at most that of the products times the square of the condition number, and the constant $c$ controls
#   this error.
#
# ## Exercises
#
# 1. *By hand.* For a rotation by a right angle, what is the residual after three steps from $\epsilon A$ with
#    $\epsilon=1$?
#    <details><summary>Solution</summary>
#
#    The first residual is $2I$. Three squares give $4I$, $16I$ and $256I$.
#
#    </details>
# 2. *Predict, then run.* The exact residual of a matrix is $\|R_0\|^{2^k}$ after $k$ steps. If $\|R_0\|=0.99$, how many
#    steps bring it below $10^{-7}$?
#    <details><summary>Solution</summary>
#
#    Eleven: $2^k\ge7\ln10/0.01005\approx1604$, and $2^{10}=1024$ is too small.
#
#    </details>
#
# Next: [Lemma 8](lemma_8_power_iteration.ipynb). The same iteration computes the root that power iteration needs.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 7 · Inverting a matrix by Newton's iteration
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 7 (= 21), Algorithms 3 and 9, Appendix N.*
#
# $X\leftarrow X(2I-AX)$ squares the residual $I-AX$ at each step, if it is small enough to begin with. The page runs
# the iteration, then the paper's program for it in an exact interpreter, then the program inside the transformer.

# %%
import math

import torch

from attention_theory.looped_transformers.fleq.language import interpret, variable
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.newton import CORRECT, newton_program, newton_residuals
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # size of the matrix in the machine, from 3 to 16
rounds = 12  # T of the program: it makes T + 1 iterations, at least 4
matrices = 500  # matrices on which the plain iteration is tried, at least 50
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 3, 16), rounds=(rounds, 4, None), matrices=(matrices, 50, None), seed=(seed, 0, None))
source = generator(seed)
many = torch.randn(matrices, 4, 4, generator=source, dtype=torch.float64)
factor = torch.randn(d, d, generator=source, dtype=torch.float64)
identity = torch.eye(d, dtype=torch.float64)
symmetric = factor @ factor.mT / 4 + identity / 2
skewed = identity + 0.8 / d**0.5 * torch.randn(d, d, generator=source, dtype=torch.float64)

# %% [markdown]
# ## Where to begin
# <!-- claim looped-transformers/algorithm-3 -->
# <blockquote>
#
# **Algorithm 3 (Newton's iteration for the inverse)** *Appendix D; Appendix N, Algorithm 8; also Algorithm 8*
#
# **As printed.** It begins at $\epsilon A$.
#
# **Corrected.** $X\leftarrow X(2I-AX)$ from $\epsilon A^\top$ with $\epsilon=1/\|A\|^2$ converges quadratically to
# $A^{-1}$ for every invertible $A$.
#
# It begins at $\epsilon A^\top$; from $\epsilon A$ a rotation by a right angle runs away.
#
# </blockquote>
# <!-- /claim -->
# The first residual is $I-\epsilon A^2$ if one begins at $\epsilon A$, as printed. For a rotation by a right angle
# that is $I+\epsilon I$: the iteration runs away. From $\epsilon A^\top$ it is $I-\epsilon AA^\top$, smaller than 1
# for every invertible $A$ if $\epsilon\le1/\|A\|^2$.

# %%
steps = 60
converged = {form: int((newton_residuals(many, steps, form)[-1] < 1e-6).sum()) for form in ("correct", "printed")}
turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
history = newton_residuals(torch.stack([symmetric, skewed]), 14)
square_law = [
    (history[k + 1, i] / history[k, i] ** 2).item() for i in (0, 1) for k in range(14) if 1e-6 < history[k, i] < 0.5
]
claim = Claim("looped-transformers/algorithm-3")
claim.check("Gaussian matrices that converge, from A^T", converged["correct"], "==", matrices)
claim.check("residual after a step over its square", max(square_law), "<=", 1.01)
claim.check("rotation by a right angle, from A^T: residual", newton_residuals(turn, 8)[-1], "<=", 1e-12)
claim.printed("Gaussian matrices that converge, from A", converged["printed"], "==", matrices)
claim.printed("rotation, from A: residual", newton_residuals(turn, 8, "printed")[-1].nan_to_num(torch.inf), "<=", 1e-12)
claim.number("share that converges from A", converged["printed"] / matrices)
claim.verdict()

# %% [markdown]
# ## The program
# <!-- claim looped-transformers/algorithm-9 -->
# <blockquote>
#
# **Algorithm 9 (Newton's iteration as a program)** *Appendix N*
#
# **As printed.** Line 1 $f_{\mathrm{mul}}(x,a)$; line 5 transposes $y$; line 6 then gives $(YX)^\top$.
#
# **Corrected.** With $f_{\mathrm{mul}}(A,B)=A^\top B$ the program starts from $x=A^\top(\epsilon I)$ and transposes $x$
# before the update $x\leftarrow f_{\mathrm{mul}}(x,y)$, with $y=2I-AX$.
#
# Line 1 $f_{\mathrm{mul}}(a,x)$; line 5 transposes $x$; line 6 gives $XY$.
#
# </blockquote>
# <!-- /claim -->
# `mul(a, b)` is $A^\top B$, and line 6 of the print makes $X^\top Y^\top=(YX)^\top$ of the transposed $Y$. For a
# symmetric matrix that is $XY$ all the same. Turning $X$ in place of $Y$ is right for every matrix. (Even for
# symmetric matrices the printed lines let rounding errors that are not symmetric grow from step to step. They are
# given 14 steps here.)

# %%
print(CORRECT)


def ideal(matrix, form="correct", count=20):
    program = newton_program(matrix, count, form)
    x = variable(program, interpret(program).memory, "x")
    return torch.linalg.matrix_norm(matrix @ x - identity).nan_to_num(torch.inf).item()


claim = Claim("looped-transformers/algorithm-9")
claim.check("symmetric matrix: ||AX - I|| / d", ideal(symmetric) / d, "<=", 1e-14)
claim.check("other matrix: ||AX - I|| / d", ideal(skewed) / d, "<=", 1e-14)
claim.check("printed lines, symmetric matrix: ||AX - I||", ideal(symmetric, "printed", 14), "<=", 1e-9)
claim.printed("printed lines, other matrix: ||AX - I||", ideal(skewed, "printed", 14), "<=", 1e-9)
claim.verdict()

# %% [markdown]
# ## In the transformer
# <!-- claim looped-transformers/lemma-7 -->
# <blockquote>
#
# **Lemma 7 (Newton's iteration in the transformer)** *Appendix D; Lemma 21; also Lemma 21*
#
# **As printed.** The proof is the program of Algorithm 9.
#
# **Corrected.** A looped transformer of at most 13 layers and $O(d)$ rows runs the iteration; its error goes down to
# the floor of the product block. 12 layers are built; the widest has six heads, where the paper says one; whether one
# is enough is not decided on its page.
#
# The program with lines 1, 5 and 6 repaired.
#
# </blockquote>
# <!-- /claim -->
# The machine is to do what the iteration does. Each product adds the error of its block, about $10^{-7}$ times its
# size, and the sizes are those of $X$: so the two are compared in units of $\|A^{-1}\|$, and the residuals $\|AX-I\|$
# in units of the condition number $\|A\|\,\|A^{-1}\|$.


# %%
def residuals(run, program, matrix):
    """||AX - I|| after every update of X."""
    update = program.labels["again"] + 4
    at = [place for place, number in enumerate(run.executed) if number == update]
    return [torch.linalg.matrix_norm(matrix @ variable(program, run.memories[k], "x") - identity).item() for k in at]


results, inverse_norm, condition = {}, {}, {}
for name, matrix in (("symmetric", symmetric), ("not symmetric", skewed)):
    program = newton_program(matrix, rounds)
    machine = FleqMachine(program)
    run, reference = machine.run(program, 500), interpret(program)
    results[name] = (residuals(run, program, matrix), residuals(reference, program, matrix), compare(run, reference))
    largest, least = torch.linalg.svdvals(matrix)[[0, -1]].tolist()
    inverse_norm[name], condition[name] = max(1.0, 1 / least), max(1.0, largest) * max(1.0, 1 / least)
sizes = summarise(machine.transformer)

floors = []
short = newton_program(symmetric, 4)
short_reference = interpret(short)
slopes = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]
for slope in slopes:
    floors.append(compare(FleqMachine(short, standard_blocks(short, slope)).run(short, 60), short_reference).deviation)
printed_program = newton_program(skewed, rounds, "printed")
printed_run = FleqMachine(printed_program).run(printed_program, 500)
printed_x = variable(printed_program, printed_run.memory, "x")
printed_residual = torch.linalg.matrix_norm(skewed @ printed_x - identity).nan_to_num(torch.inf)

fig, axes = show.axes(1, 2, width=8.0)
for marker, (name, (ours, theirs, _)) in zip("os", results.items(), strict=True):
    axes[0].semilogy(range(1, len(ours) + 1), ours, marker + "-", label=f"transformer, {name}")
    axes[0].semilogy(range(1, len(theirs) + 1), [max(value, 1e-17) for value in theirs], "k:", alpha=0.7)
axes[0].set(xlabel="iteration", ylabel=r"$\|AX-I\|$")
axes[0].legend(fontsize=8)
axes[1].loglog(slopes, floors, "o-")
axes[1].set(xlabel="$c$ of the product block", ylabel="deviation from the exact program")
show.figure(
    fig,
    name="newton",
    caption="Left: the residual falls quadratically until it meets the floor of the product block; dotted, the exact "
    "program. Right: that floor against $c$; of those tried $10^{-6}$ is best.",
    alt="Left: two curves that fall ever faster and then level off between ten to the minus six and ten to the minus "
    "seven; dotted lines go on to ten to the minus sixteen. Right: a V shape over c with its minimum at ten to the "
    "minus six.",
)

claim = Claim("looped-transformers/lemma-7")
for name, (ours, theirs, comparison) in results.items():
    claim.check(f"{name}: counter right in every cycle", comparison.counters_agree, "==", True)
    off = comparison.deviation / inverse_norm[name]
    claim.check(f"{name}: deviation from the exact program over ||A^-1||", off, "<=", 1e-5)
    excess = (ours[-1] - theirs[-1]) / condition[name]
    claim.check(f"{name}: ||AX - I|| at the end, less the exact program's, over the condition", excess, "<=", 3e-6)
claim.check("layers (13 claimed)", sizes.layers, "==", 12)
claim.check("heads of the widest layer (1 claimed)", sizes.heads, "<=", 1)
agree = all(comparison.counters_agree for *_, comparison in results.values())
claim.check("the repaired program: counter right in every cycle", agree, "==", True, of="proof")
claim.printed("printed program, not symmetric: ||AX - I||", printed_residual, "<=", 1e-3, of="proof")
growth = math.log10(floors[1] / floors[2])  # the error of a product is proportional to c where rounding is small
claim.check("deviation at c = 1e-4 over that at 1e-6, powers of ten", growth, "==", 2.0, math.log10(3))
claim.control("c = 1e-2: deviation", floors[0], "<=", 1e-5)
claim.number("cycles at T = 4", len(short_reference.counters))
claim.number("deviation at c = 1e-6, T = 4", floors[2])
claim.verdict()

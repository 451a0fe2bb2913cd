# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 8 · The largest eigenvector by power iteration
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 8 (= 22), Algorithms 4, 11, 12, Appendix N.*
#
# Multiply by $A$ again and again, then divide by the norm. The norm's inverse, $1/\sqrt S$ with $S=\|b\|^2$, is found
# by another iteration, since the machine has products only.

# %%
import math

import torch

from attention_theory.looped_transformers.fleq.language import interpret, variable
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.power_iteration import (
    inverse_root_iterates,
    power_iterates,
    power_program,
    sign_free_distance,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # size of the matrix, from 4 to 16
steps = 8  # T in the machine, from 4 to 100
seed = 0  # of the eigenvectors, at least 0

# %%
require(d=(d, 4, 16), steps=(steps, 4, 100), seed=(seed, 0, None))
basis = torch.linalg.qr(torch.randn(d, d, generator=generator(seed), dtype=torch.float64))[0]
values = torch.zeros(d, dtype=torch.float64)
values[:4] = torch.tensor([1.0, 0.33, -0.17, 0.07])
matrix = basis @ torch.diag(values) @ basis.mT
top, second = basis[:, 0], basis[:, 1]
start = torch.full((d,), 1 / math.sqrt(d), dtype=torch.float64)

# %% [markdown]
# ## The iteration
# <!-- claim looped-transformers/algorithm-4 -->
# <blockquote>
#
# **Algorithm 4 (Power iteration)** *Appendix D; Appendix N, Algorithm 10; also Algorithm 10*
#
# $b\leftarrow Ab$, $T$ times, from a vector that is not orthogonal to the top eigenvector, then $b/\|b\|$: the distance
# to the eigenvector, up to its sign, falls like $|\lambda_2/\lambda_1|^T$.
#
# </blockquote>
# <!-- /claim -->
# The part of $b$ along the second eigenvector shrinks by $|\lambda_2/\lambda_1|$ in each step relative to the first.
# With two eigenvalues of the same modulus nothing shrinks. The entries of $b$ grow or vanish like $|\lambda_1|^T$,
# which its direction does not see: a norm of $10^4$ does no harm in 50 steps. (It does to the program below, whose
# inverse root wants $\|b\|^2<3$.)

# %%
long = 40
iterates = power_iterates(matrix, start, long)
distances = sign_free_distance(iterates, top)
ratio = abs(start @ second) / abs(start @ top)
predicted = ratio * 0.33 ** torch.arange(long + 1)
inside = [k for k in range(4, long + 1) if predicted[k] > 1e-13]
fit = [(distances[k] / predicted[k]).item() for k in inside]
even = values.clone()
even[1] = -1.0
tied = sign_free_distance(power_iterates(basis @ torch.diag(even) @ basis.mT, start, long)[-1], top)
raw = power_iterates(1e4 * matrix, torch.ones(d, dtype=torch.float64), 50)[-1]

claim = Claim("looped-transformers/algorithm-4")
claim.check("distance over |λ2/λ1|^T and its constant, largest", max(fit), "<=", 3.0)
claim.check("the same, smallest", min(fit), ">=", 1 / 3)
claim.control("λ2 = -λ1: distance after 40 steps", tied, "<=", 1e-3)
of_raw = sign_free_distance(raw / raw.abs().max(), top)  # the squares of b itself, of size 1e400, are beyond float64
claim.check("A of norm 1e4, 50 steps from ones, as printed: distance", of_raw, "<=", 1e-12)
claim.verdict()

# %% [markdown]
# ## The inverse root
# <!-- claim looped-transformers/algorithm-11 -->
# <blockquote>
#
# **Algorithm 11 (Inverse square root)** *Appendix N*
#
# **As printed.** No range of $S$ is given.
#
# **Corrected.** $x\leftarrow x(3-Sx^2)/2$ from $x_0=1$ converges to $1/\sqrt S$ for $0<S<3$: for $S<1$ in at most about
# $\log_{1.5}(1/\sqrt S)+6$ steps, and in ever more as $S$ nears 3, where $x_1=(3-S)/2$ tends to 0.
#
# $0<S<3$: at 3 the limit is 0; above it is $-1/\sqrt S$ up to $S\approx4.613$, where $(S-3)/2=\sqrt{3/S}$; from there
# to 5 it is either root, or 0 for a sequence of $S$ that tends to 5; at 5 there is none; beyond the iteration diverges.
#
# </blockquote>
# <!-- /claim -->
# From $x_0=1$ the first step goes to $x_1=(3-S)/2$. Below $S=3$ the limit is $1/\sqrt S$, and at 3 it is 0. Above 3
# the iterate is negative, and stays so as long as $|x_1|<\sqrt{3/S}$: up to $S\approx4.613$ the limit is
# $-1/\sqrt S$. From there to 5 the sign may change again, and either root is found: the positive one at 4.9, the
# negative one at 4.95. (Where one of them gives way to the other, at a sequence of $S$ that tends to 5, the iteration
# meets 0.) At 5 the iteration jumps between 1 and $-1$, and beyond it runs away. For small $S$ it grows by
# 3/2 a step at first, so that about $\log_{1.5}(1/\sqrt S)$ steps pass before the quadratic phase.

# %%
small = torch.logspace(-6, math.log10(2.9), 60, dtype=torch.float64)
roots = inverse_root_iterates(small, 60)
close = (roots * small.sqrt() - 1).abs() <= 1e-12
needed = close.to(torch.int64).argmax(0)
allowed = torch.log(small.rsqrt().clamp(min=1.0)) / math.log(1.5) + 6
above = (3.0, 4.0, 4.6, 4.7, 4.9, 4.95, 5.0, 5.5)
special = {s: inverse_root_iterates(torch.tensor(s, dtype=torch.float64), 200)[-1].item() for s in above}
show.table(
    ["S", "limit", "1/√S"], [(s, value, s**-0.5) for s, value in special.items()], caption="After 200 steps from 1."
)
negative = torch.linspace(3.01, 4.61, 400, dtype=torch.float64)
other_root = (inverse_root_iterates(negative, 400)[-1] * negative.sqrt() + 1).abs().max()
mixed = torch.linspace(4.62, 4.99, 400, dtype=torch.float64)
either = (inverse_root_iterates(mixed, 3000)[-1] * mixed.sqrt()).sign()
print(f"S from 4.62 to 4.99: {int((either > 0).sum())} of {len(mixed)} limits are positive")

fig, axis = show.axes()
for s in (1e-4, 1e-2, 0.5, 2.5):
    path = inverse_root_iterates(torch.tensor(s, dtype=torch.float64), 30)
    axis.semilogy((path * s**0.5 - 1).abs().clamp(min=1e-17), "o-", label=f"$S={s:g}$", markersize=3)
axis.set(xlabel="step", ylabel=r"$|x\sqrt{S}-1|$")
axis.legend()
show.figure(
    fig,
    name="inverse-root",
    caption="Relative error of the inverse root: a plateau while $x$ grows by 3/2 a step, then quadratic convergence.",
    alt="Four curves that stay near one for a while, the longer the smaller S, and then drop steeply to ten to the "
    "minus sixteen.",
)
claim = Claim("looped-transformers/algorithm-11")
claim.check("S from 1e-6 to 2.9: largest relative error", (roots[-1] * small.sqrt() - 1).abs().max(), "<=", 1e-12)
claim.check("S < 1: steps needed less log_1.5(1/√S) + 6, largest", (needed - allowed)[small < 1].max(), "<=", 0)
near_three = inverse_root_iterates(torch.tensor(2.99, dtype=torch.float64), 60) * 2.99**0.5
claim.control("S = 2.99: steps needed", ((near_three - 1).abs() <= 1e-12).int().argmax(), "<=", 6)
claim.check("S from 3.01 to 4.61: largest relative distance to -1/√S", other_root, "<=", 1e-12)
claim.check("S = 4.9: distance to 1/√S", abs(special[4.9] - 4.9**-0.5), "<=", 1e-12)
claim.check("S = 4.95: distance to -1/√S", abs(special[4.95] + 4.95**-0.5), "<=", 1e-12)
claim.control("S = 3: distance to 1/√S", abs(special[3.0] - 3**-0.5), "<=", 1e-12)
claim.printed("S = 4: distance to 1/√S", abs(special[4.0] - 0.5), "<=", 1e-12)
claim.printed("S = 5: distance to 1/√S", abs(special[5.0] - 5**-0.5), "<=", 1e-12)
claim.control("S = 5.5: limit is finite", math.isfinite(special[5.5]), "==", True)
claim.verdict()

# %% [markdown]
# ## The program
# <!-- claim looped-transformers/algorithm-12 -->
# <blockquote>
#
# **Algorithm 12 (Power iteration as a program)** *Appendix N*
#
# **As printed.** Line 3 stores $t_1+1$ in $t$; line 13 is $f_{\mathrm{mul}}(b,s)$. Both loops have $T$ rounds, for any
# diagonalizable $A$. Algorithm 11 makes $T+1$ rounds where the program makes $T$, and Lemma 22 speaks of $b_{T+1}$.
#
# **Corrected.** Two loops, one for $b\leftarrow Ab$ and one for the inverse root of $\|b\|^2$, then $b$ times it.
#
# Line 3 stores it in $t_1$; line 13 transposes $b$ first. $T$ rounds, and $b_T$. The second loop needs a count of its
# own, about $\log_{1.5}(1/\sqrt S)+6$ for $S=\|b_T\|^2$: with $T$ rounds it arrives, for large $T$, only if the top
# eigenvalue is above $\frac23\|A\|$ in modulus, as for symmetric $A$.
#
# </blockquote>
# <!-- /claim -->
# Line 3 adds to $t_1$ but stores the sum in $t$, which nothing reads: a slip of the pen. Line 13 multiplies
# $f_{\mathrm{mul}}(b,s)=b^\top s$, a number; the vector has to be transposed first.
#
# Both loops have $T$ rounds. But $S=\|b_T\|^2$ falls like $(|\lambda_1|/\|A\|)^{2T}$, and the second loop grows by 3/2
# a round at most. If the top eigenvalue is less than two thirds of the norm, as it may be for a matrix that is not
# symmetric, it never arrives, however large $T$ is. It needs a count of its own.


# %%
skew = torch.diag(torch.tensor([0.5, 0.1, 0.05, 0.02], dtype=torch.float64))
skew[0, 1] = 2.0  # the top eigenvector is e_1, the top eigenvalue a quarter of the norm


def ideal(form="correct", t=30):
    program = power_program(matrix, t, form=form)
    run = interpret(program, 2_000)
    return run.halted, sign_free_distance(variable(program, run.memory, "b")[:, 0], top).nan_to_num(2.0).item()


def length_off(form="correct", a=matrix, eigenvector=top, root_steps=None):
    program = power_program(a, 30, root_steps, form)
    b = variable(program, interpret(program, 5_000).memory, "b")[:, 0]
    return torch.minimum((b - eigenvector).norm(), (b + eigenvector).norm()).item()


claim = Claim("looped-transformers/algorithm-12")
claim.check("T = 30: distance to the eigenvector", length_off(), "<=", 1e-12)
claim.check("T = 30: reaches its end", ideal()[0], "==", True)
first = torch.eye(4, dtype=torch.float64)[0]
claim.check(
    "A not symmetric, second loop of 200 rounds: distance", length_off("correct", skew, first, 200), "<=", 1e-12
)
claim.printed("A not symmetric, both loops of T = 30: distance", length_off("correct", skew, first), "<=", 1e-12)
claim.misprint("line 3 as printed: reaches its end in 2000 instructions", ideal({"line 3": "printed"})[0], "==", True)
claim.printed("line 13 as printed: distance to the eigenvector", length_off({"line 13": "printed"}), "<=", 1e-12)
claim.verdict()

# %% [markdown]
# ## In the transformer
# <!-- claim looped-transformers/lemma-8 -->
# <blockquote>
#
# **Lemma 8 (Power iteration in the transformer)** *Appendix D; Lemma 22; also Lemma 22*
#
# **As printed.** The proof's program takes $A$ as it is, and so leaves the range of Algorithm 11.
#
# **Corrected.** A looped transformer of at most 13 layers and $O(d)$ rows runs the program, for symmetric $A$, with an
# error at the floor of the product block. 12 layers are built; the widest has six heads, where the paper says one;
# whether one is enough is not decided on its page.
#
# $A/\|A\|$, which has the same eigenvectors.
#
# </blockquote>
# <!-- /claim -->
# For a matrix whose norm is not 1 the printed program leaves the range of its inverse root. Divided by its norm it has
# the same eigenvectors, and stays within the range.
#
# The inverse root of $S=\|b_T\|^2$ magnifies what the products add: an error of $S$ comes out $S^{-3/2}/2$ times as
# large, and $b_T$ itself is multiplied by $S^{-1/2}$. $S$ is smaller the less the start has in common with the top
# eigenvector, so the bound is taken in units of $S^{-3/2}$.

# %%
program = power_program(matrix, steps)
machine = FleqMachine(program)
run, reference = machine.run(program, 40 * steps), interpret(program)
result = compare(run, reference)
b, exact_b = (variable(program, memory, "b")[:, 0] for memory in (run.memory, reference.memory))
sizes = summarise(machine.transformer)
magnified = variable(program, reference.memory, "square")[0, 0].item() ** -1.5  # S is at most 1
coarse = compare(FleqMachine(program, standard_blocks(program, slope=1e-4)).run(program, 40 * steps), reference)
raw_program = power_program(3 * matrix, steps, unit=False)
raw_run = FleqMachine(raw_program).run(raw_program, 40 * steps)
raw_b = variable(raw_program, raw_run.memory, "b")[:, 0]
raw_distance = torch.minimum((raw_b - top).norm(), (raw_b + top).norm()).nan_to_num(torch.inf)

fig, axis = show.axes()
axis.semilogy(range(1, result.cycles + 1), [max(value, 1e-17) for value in result.deviations], "o-", markersize=3)
axis.set(xlabel="cycle", ylabel="deviation from the exact program")
show.figure(
    fig,
    name="power-deviation",
    caption="Deviation of the whole memory from the exact interpreter's: about $10^{-7}$ from the first product on.",
    alt="A curve that jumps at the second cycle to about ten to the minus seven and stays within a factor of ten of "
    "that to the end.",
)
claim = Claim("looped-transformers/lemma-8")
claim.check("counter right in every cycle", result.counters_agree, "==", True)
claim.check("deviation from the exact program over S^-3/2", result.deviation / magnified, "<=", 2e-6)
closeness = (sign_free_distance(b, top) - sign_free_distance(exact_b, top)).abs()
claim.check("distance to the eigenvector less the exact program's, over S^-3/2", closeness / magnified, "<=", 2e-6)
claim.check("layers (13 claimed)", sizes.layers, "==", 12)
claim.check("heads of the widest layer (1 claimed)", sizes.heads, "<=", 1)
claim.control("the product block's c = 1e-4: deviation over S^-3/2", coarse.deviation / magnified, "<=", 2e-6)
claim.check("A over its norm: distance less the exact program's", closeness / magnified, "<=", 2e-6, of="proof")
claim.printed("A of norm 3 as it is, from ones: distance to the eigenvector", raw_distance, "<=", 1e-2, of="proof")
claim.number("cycles", result.cycles)
claim.number("distance to the eigenvector", sign_free_distance(b, top))
claim.verdict()

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas 13, 15 and 16 · Transposing, adding, subtracting
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 13, Table 1, Lemmas 15 and 16, Appendices J.2, M, N.*
#
# <!-- claim looped-transformers/lemma-13 -->
# <blockquote>
#
# **Lemma 13 (Transpose)** *Appendix J.2*
#
# Three layers with one head each (four are claimed) compute $A^\top$ on $d^2$ columns, $d\ge3$, by way of the
# vectorised matrix; the error falls like $e^{-2\lambda}$ with the temperature factor. On the lemma's input it takes the
# $2d+2\log d$ rows that are claimed; as a block of the FLEQ machine $2d+5\lceil\log_2d\rceil+8$, with codes and marks
# of its own.
#
# **In the paper's proof.** The permuted vector is added to the row that holds the vector.
#
# **Corrected.** It goes to another of the $d$ rows to work in; otherwise $A+A^\top$ comes out.
#
# </blockquote>
# <!-- /claim -->
#
# Attention moves columns, not rows, so a transpose takes a detour. Layer 1 copies $A$ into $d$ groups of $d$ columns
# and keeps row $i$ in group $i$: the matrix has become one row of $d^2$ numbers. Layer 2 lets every column fetch the
# number whose group and index are its own, exchanged. Layer 3 spreads the row out again and sums over the groups.
#
# On the input of the lemma this takes $2d+2\log d$ rows, as the lemma says: $d$ for the matrix, $d$ to work in, and two
# codes. Of the work rows the first holds the vector and the second takes the permuted one. The proof puts it into the
# row of the vector itself, where the residual adds the two, and $A+A^\top$ comes out. The block of the FLEQ machine has
# more rows, for its own codes and marks.

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import (
    TransposeBlock,
    transpose_in_groups,
    transpose_vectorised,
)
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
side = 30  # side of the matrix of Table 1, from 2 to 64
batch = 20  # matrices a check, at least 1
seed = 0  # of the matrices, at least 0

# %%
require(side=(side, 2, 64), batch=(batch, 1, None), seed=(seed, 0, None))
source = generator(seed)


def draw(d):
    return torch.randn(2, batch, d, d, generator=source, dtype=torch.float64)


def transpose_error(d, temperature=20.0):
    a, b = draw(d)
    return (run_block(TransposeBlock(), a, b, temperature).result - a.mT).abs().max().item()


# %%
a, b = draw(4)
run = run_block(TransposeBlock(), a, b, 20.0)
sizes = summarise(run.machine)
lemma, block_rows = {}, {}
for size in (4, 8, 16):
    matrix = torch.randn(size, size, generator=generator(seed), dtype=torch.float64)
    found, machine = transpose_in_groups(matrix)
    lemma[size] = (found, summarise(machine), matrix)
    block_rows[size] = summarise(run_block(TransposeBlock(), matrix, matrix, 20.0).machine).width
one_row, _ = transpose_in_groups(lemma[4][2], form="printed")
temperatures = [1.0, 2.0, 5.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0]
by_temperature = {d: [transpose_error(d, heat) for heat in temperatures] for d in (4, 8)}
fig, axis = show.axes()
for marker, (d, errors) in zip("os", by_temperature.items(), strict=True):
    axis.semilogy(temperatures, errors, marker + "-", label=f"$d={d}$")
axis.set(xlabel=r"temperature factor $\lambda$", ylabel="largest error of the transpose")
axis.legend()
show.figure(
    fig,
    name="temperature",
    caption=r"Error of the transpose block against the factor on the scores: it falls like $e^{-2\lambda}$ to the "
    "rounding error of the gates.",
    alt="Two nearly equal curves on a logarithmic axis that fall in a straight line from order one to about ten to the "
    "minus twelve near a factor of 15, and are level after that.",
)

claim = Claim("looped-transformers/lemma-13")
claim.check("4 by 4, factor 20: largest error", by_temperature[4][temperatures.index(20.0)], "<=", 1e-12)
claim.check("8 by 8, factor 20: largest error", by_temperature[8][temperatures.index(20.0)], "<=", 1e-12)
claim.check("layers (4 claimed)", sizes.layers, "==", 3)
claim.check("heads a layer", sizes.heads, "==", 1)
for d, (found, lean, matrix) in lemma.items():
    code = int(math.log2(d))
    claim.check(f"the lemma's input, d = {d}: rows are 2 d + 2 log d", lean.width, "==", 2 * d + 2 * code)
    claim.check(f"the same: layers (4 claimed), heads {lean.heads}", lean.layers, "<=", 4)
    claim.check(f"the same: largest error in all {d} groups", (found - matrix.mT[:, None]).abs().max(), "<=", 1e-12)
    claim.number(f"rows of the FLEQ machine's block at d = {d}", block_rows[d])
claim.control("factor 1: largest error", by_temperature[4][0], "<=", 0.1)
found, _, matrix = lemma[4]
claim.check("permuted vector to another row: error", (found - matrix.mT[:, None]).abs().max(), "<=", 1e-12, of="proof")
claim.printed(
    "to the row it came from, as printed: error", (one_row - matrix.mT[:, None]).abs().max(), "<=", 1e-12, of="proof"
)
claim.check("that is A + A^T: error", (one_row - (matrix + matrix.mT)[:, None]).abs().max(), "<=", 1e-11, of="proof")
claim.verdict()

# %% [markdown]
# ## Table 1
# <!-- claim looped-transformers/table-1 -->
# <blockquote>
#
# **Table 1 (Transposing a matrix of side 30)** *Appendix N, Table 1*
#
# A matrix of side 30 that comes as a vector is transposed by one layer with one head; the table gives a width of 42,
# against one layer, 8 heads and width 256 of a trained transformer. The 42 are 21 rows doubled. On 21 rows the entry
# fetched meets the one that is there, and has to outweigh it; in float64 an error of $10^{-8}$ remains. With a row more
# there is none. The trained transformer is quoted.
#
# </blockquote>
# <!-- /claim -->
# If the matrix comes as a vector, one layer with one head is enough: each column has the code of its own place and the
# code of the place whose entry it wants. The table gives a width of 42 against 256 for a trained transformer with 8
# heads (Charton 2021, quoted and not run again). It counts $2\cdot10+1=21$ rows and doubles them for the hidden units
# of the ReLU layer. With 21 rows the result lands on top of the entry that it replaces. With a value weight of 1 that
# is $A+A^\top$. With a large weight $M$ it is $MA^\top+A$, and the ReLU layer divides by $M$: the error is $\|A\|/M$,
# as small as one likes. In 53 bits $M=2^{26}$ is best, and leaves $10^{-8}$. With a row more, 22, the result is exact
# to the last digits.

# %%
matrix = torch.rand(side, side, generator=source, dtype=torch.float64)
warm, machine = transpose_vectorised(matrix, 10.0)
hot, _ = transpose_vectorised(matrix, 20.0)
lean, narrow = transpose_vectorised(matrix, 20.0, spare_row=False)
without, _ = transpose_vectorised(matrix, 20.0, form="printed")
wide, table = summarise(machine), summarise(narrow)
show.table(
    ["", "layers", "heads", "width"],
    [
        ["printed, this construction (21 rows, doubled)", 1, 1, 42],
        ["printed, Charton (2021)", 1, 8, 256],
        [f"run here ({table.width} rows, doubled)", table.layers, table.heads, 2 * table.width],
        [f"run here, exact ({wide.width} rows, doubled)", wide.layers, wide.heads, 2 * wide.width],
    ],
)
claim = Claim("looped-transformers/table-1")
claim.number("layers", table.layers, printed=1, within=0.0)
claim.number("heads", table.heads, printed=1, within=0.0)
if side == 30:
    claim.number("width, rows doubled", 2 * table.width, printed=42, within=0.0)
claim.check("that width, factor 20: largest error", (lean - matrix.mT).abs().max(), "<=", 1e-7)
claim.check("a row more, factor 10: largest error", (warm - matrix.mT).abs().max(), "<=", 1e-6)
claim.check("a row more, factor 20: largest error", (hot - matrix.mT).abs().max(), "<=", 1e-14)
claim.control("that width, value weight 1: largest error", (without - matrix.mT).abs().max(), "<=", 1e-6)
claim.verdict()

# %% [markdown]
# ## Sums and differences
# <!-- claim looped-transformers/lemma-15 -->
# <blockquote>
#
# **Lemma 15 (Addition)** *Appendix M*
#
# A function block of three layers with one head adds two numbers. (One layer is enough, also for matrices, as the
# programs need it. The proof has four transformations for its three layers; it forms $a+b$ in column 1, though $b$
# stands in column $d+1$ and no read brings it there, and its last matrix still holds $b$. A block for numbers only is
# not built. The dimension is not checked.)
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/lemma-16 -->
# <blockquote>
#
# **Lemma 16 (Subtraction)** *Appendix M*
#
# A function block of three layers with one head subtracts two numbers. (Two layers are enough, also for matrices: the
# first turns the sign of $b$. The proof is that of Lemma 15. The dimension is not checked.)
#
# </blockquote>
# <!-- /claim -->
# The lemmas are about numbers, with three layers and one head. The proof writes four transformations for the three;
# one of them forms $a+b$ in column 1, though $b$ stands in column $d+1$ and no read brings it there. One head is
# enough all the same, and fewer layers: a column of the result whose query meets the keys of both its operands'
# columns gets half their sum. For a difference a layer before it turns the sign of $b$. The same works for matrices,
# column by column, as the programs of the paper need it ($2I-Y$ in Newton's iteration). Two heads, one for each
# operand, do both in one layer, and are used in the machine.

# %%
for number, name in ((15, "add"), (16, "sub")):
    block, numbers = SumBlock(name, heads=1), torch.zeros(2, batch, 4, 4, dtype=torch.float64)
    numbers[:, :, 0, 0] = torch.stack([a, b])[:, :, 0, 0]
    runs = {"numbers": run_block(block, *numbers, 20.0), "matrices": run_block(block, a, b, 20.0)}
    wanted = {"numbers": block.reference(*numbers), "matrices": block.reference(a, b)}
    sizes, two = summarise(runs["numbers"].machine), run_block(SumBlock(name), a, b, 20.0).result
    claim = Claim(f"looped-transformers/lemma-{number}")
    for kind, run in runs.items():
        claim.check(f"{kind}, factor 20: largest error", (run.result - wanted[kind]).abs().max(), "<=", 1e-13)
    claim.check("layers (3 claimed)", sizes.layers, "<=", 3)
    claim.check("heads", sizes.heads, "==", 1)
    claim.check("two heads, one layer, matrices: largest error", (two - wanted["matrices"]).abs().max(), "<=", 1e-13)
    cold = run_block(block, a, b, 1.0).result
    claim.control("factor 1: largest error", (cold - wanted["matrices"]).abs().max(), "<=", 0.1)
    claim.verdict()

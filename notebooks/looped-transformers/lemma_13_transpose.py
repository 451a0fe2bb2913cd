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
# A program that inverts a matrix or trains a network needs transposes. Attention can move whole columns, but a
# transpose turns rows into columns. How many layers and how many rows does this take?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sum import SumBlock, sum_in_four_steps
from attention_theory.looped_transformers.blocks.transpose import (
    TransposeBlock,
    transpose_in_groups,
    transpose_vectorised,
)
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# We write the matrix with the rows 1 2 and 3 4 as a vector, 1 2 3 4. Each entry now has a column, and each column
# knows two numbers: its row and its place in the row. To transpose, every column fetches the entry with its own two
# numbers in reverse order.

# %%
fig, axis = schematic.canvas(6.0, 2.4)
upper = schematic.tokens(axis, ["1", "2", "3", "4"], (3.5, 3.2))
lower = schematic.tokens(axis, ["1", "3", "2", "4"], (3.5, 0.6), lit=[1, 2])
for place, source_place in enumerate((0, 2, 1, 3)):
    colour = schematic.BLUE if place != source_place else schematic.QUIET
    schematic.arrow(axis, (upper[source_place][0], 3.1), (lower[place][0], 1.65), colour=colour)
for (x, _), words in zip(lower, ("1, 1", "1, 2", "2, 1", "2, 2"), strict=True):
    schematic.text(axis, (x, 0.2), words, size=9)
schematic.text(axis, (3.2, 3.65), "vector", size=9, align="right")
schematic.text(axis, (3.2, 1.05), "transposed", size=9, align="right")
schematic.text(axis, (3.2, 0.2), "row, place", size=9, align="right")
show.figure(
    fig,
    name="tiny",
    caption="The transpose of a 2 by 2 matrix as a permutation of its four entries.",
    alt="Four boxes 1, 2, 3, 4 above four boxes 1, 3, 2, 4. The arrows to the two middle boxes cross.",
)

# %% [markdown]
# Columns (1, 2) and (2, 1) exchange their entries; the other two keep theirs. A single layer of attention does this.

# %% tags=["parameters"]
side = 30  # side of the matrix of Table 1, from 2 to 64
batch = 20  # matrices a check, at least 1
seed = 0  # of the matrices, at least 0

# %%
require(side=(side, 2, 64), batch=(batch, 1, None), seed=(seed, 0, None))
source = generator(seed)


def draw(d):
    return torch.randn(2, batch, d, d, generator=source, dtype=torch.float64)


def transpose_error(d, inverse_temperature=20.0):
    a, b = draw(d)
    return (run_block(TransposeBlock(), a, b, inverse_temperature).result - a.mT).abs().max().item()


# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/lemma-13 -->
# <blockquote>
#
# **Lemma 13 (Transpose)** *Appendix J.2*
#
# **The paper states.** Fix $\epsilon>0$ and consider an input with $A\in\mathbb R^{d\times d}$ in the first of $d$
# groups of $d$ columns; then there exists transformer-based function block with 4 layers, 1 head and dimensionality
# $r=2d+2\log d=O(d)$ that outputs $A'$ in every group, where $A'=A^\top+\epsilon M$, for some $\|M\|\le1$.
#
# <details><summary>Slips (1)</summary>
#
# - The proof adds the permuted vector to the row that holds the vector, which gives $A+A^\top$. It must go to another
#   of the $d$ work rows.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Three layers are enough, and the error falls like $e^{-2\lambda}$. As a block of the FLEQ
# machine, for $d\ge3$, the transpose takes $2d+5\lceil\log_2d\rceil+8$ rows, with codes and marks of the block. The
# claimed rows are enough for $d\ge2$; for $d=1$ there is nothing to transpose.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/table-1 -->
# <blockquote>
#
# **Table 1 (Transposing a matrix of side 30)** *Appendix N, Table 1*
#
# **The paper states.** Since the maximum size of the matrix is 30×30, the size of each of the encodings will be 10,
# leading to an input with width $2\cdot10+1=21$. This will lead to a total width of 42, due to the ReLU layer. Ours: 1
# layer, 1 head, width 42. Charton (2021): 1 layer, 8 heads, width 256.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** On 21 rows, the fetched entry must outweigh the one that is already there, and in float64 an
# error of $10^{-8}$ remains. With one more row, there is no such error. The trained transformer is quoted.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-15 -->
# <blockquote>
#
# **Lemma 15 (Addition)** *Appendix M*
#
# **The paper states.** There exists a transformer-based function block with 3 layers, 1 head and dimensionality $O(1)$
# which can implement $f(a,b)=a+b$.
#
# <details><summary>Slips (2)</summary>
#
# - The proof forms $a+b$ in column 1, but $b$ is in column $d+1$, and no read fetches it. It needs a second pointer, to
#   column $d+1$.
# - The proof has four transformations for three layers, and its last matrix still holds $b$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** One layer is enough, also for matrices, if the query of the result's column matches the keys of
# both operands. For $d\times d$ matrices the block has $O(d)$ rows.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-16 -->
# <blockquote>
#
# **Lemma 16 (Subtraction)** *Appendix M*
#
# **The paper states.** There exists a transformer-based function block with 3 layers, 1 head and dimensionality $O(1)$
# which can implement $f(a,b)=a-b$.
#
# <details><summary>Slips (1)</summary>
#
# - The proof is that of Lemma 15, in which no read fetches $b$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Two layers are enough, also for matrices: the repaired addition, after a layer that changes the
# sign of $b$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *Transpose.* Layer 1 copies $A$ into $d$ groups of $d$ columns and keeps row $i$ in group $i$; the matrix is now a
# vector. Layer 2 fetches by exchanged codes. Layer 3 spreads the vector out and sums over the groups. A column finds
# another by its code, and the softmax gives a little weight to wrong columns. This error falls like $e^{-2\lambda}$.
#
# *Sum.* A column of the result whose query matches the keys of both operands receives half of their sum, and the
# value matrix doubles it. For a difference, a layer before it changes the sign of $b$.
#
# <details><summary>Proof of Lemma 13, with a row of its own for the permuted vector</summary>
#
# *The input.* Column $(g,i)$, the $i$-th of group $g$, holds the code of $i$ and that of $g$, $L=\lceil\log_2d\rceil$
# entries $\pm1$ each, $d$ rows of data and $d$ empty work rows. The data of $(1,i)$ are column $i$ of $A$, and those of
# all other groups are 0. These are $2d+2L$ rows. Two codes of length $L$ that differ in $h$ entries have score $L-2h$.
# First let the softmax be a hard maximum, which shares equally where scores are equal.
#
# *Layer 1.* Keys and queries are the codes of $i$. The column sees the $d$ columns of its index alike; the value matrix
# multiplies data by $d$ and adds them up in the work rows, which now hold column $i$ of $A$ in every group. The ReLU
# layer moves work row $g$ to the first work row in group $g$: for each $g$ two units, of either sign, to which a large
# multiple of (code of $g$ times code of the group, less $L$) is added: 0 in group $g$, and in the other groups so far
# below 0 that they are closed. It also clears the data and what the attention wrote. Column $(g,i)$ is left with the
# one number $A_{gi}$: the vector.
#
# *Layer 2.* The key of a column is (index, group), its query (group, index). Column $(g,i)$ sees $(i,g)$ alone, and
# $A_{ig}$ goes into the second work row, which is empty. (In the row of the vector it would be added to $A_{gi}$, and
# the end would be $A+A^\top$.) The ReLU layer moves it to row $g$ of the data in group $g$, by the units of layer 1 in
# reverse, and clears the work rows.
#
# *Layer 3.* The sum over the columns of index $i$ once more: row $r$ of it comes from group $r$ alone and is $A_{ir}$.
# So column $(g,i)$ has row $i$ of $A$ in its work rows, which is column $i$ of $A^\top$, and the ReLU layer moves it to
# the data and clears the work rows. The same happens in every group.
#
# *The temperature.* Let $x=e^{-2\lambda}$. Beside a weight of 1 for each column of the right code every other column
# weighs $x^h$, where $h\ge1$ of the compared entries differ. In layers 1 and 3 the columns of other indices weigh at
# most $\rho=(1+x)^L-1$ times those of the right one, in layer 2 at most $\rho'=(1+x)^{2L}-1$ times. In layer 1 the sum
# is $(A_{ri}+\sum_{j\ne i}x^{h_j}A_{rj})/(1+\sum_{j\ne i}x^{h_j})$ in place of $A_{ri}$, an average of entries of $A$
# that is off by at most $2\rho\max|A|$. Layer 2 takes an average of these averages, and layer 3 one of those (in every
# row of the data one group has something). Averages do not enlarge errors, and so the result is off by at most
#
# $$2(2\rho+\rho')\max|A|\le9L\,e^{-2\lambda}\max|A|\qquad\text{if }L\,e^{-2\lambda}\le\tfrac1{20},$$
#
# since $(1+x)^k-1\le kx\,e^{kx}$, which is at most $1.11\,kx$ for $kx\le\frac1{10}$.
#
# *As a block.* The three layers are the same, with rows of their own for the copies ($d$), the vector and the permuted
# vector: beside the $d$ rows of the data that makes $2d+2$. To these come the five codes and six marks that all blocks
# share, $5L+6$ rows. The result lies in columns $2d+1$ to $3d$, which are a group of the first $d^2$ if $d\ge3$.
# Columns beyond $d^2$ have no code and the score 0; as $L\ge2$, such a column weighs $e^{-2\lambda}$ at most. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 15 (addition), with a query that meets both operands</summary>
#
# *The input.* Columns $1$ to $d$ hold the operand $A$ in the data rows, the next $d$ hold $B$, the next $d$ are for the
# result, and all others hold nothing; for numbers $d=1$. There are $L=\max(1,\lceil\log_2d\rceil)$ rows for each of
# three codes: the first has the code of $i$ ($L$ entries $\pm1$) in the $i$-th column of $A$ and 0 elsewhere, and the
# others the same for $B$ and for the result. A mark is 1 in all columns but those of the result.
#
# *Attention.* The key is the sum of the first two codes, the query the third one. The $i$-th column of the result
# scores $L$ with the $i$-th column of $A$ and with that of $B$, at most $L-2$ with other columns of the two, and 0 with
# the rest: at least 1 less. So these two get the same weight, and all others together a share
# $s\le\frac12ne^{-\lambda}$ of $n$ columns. The value is twice the data, into rows of its own: with entries of at most
# $G$, what is fetched is $(1-s)(A+B)$ and at most $2sG$, which is off from $A+B$ by at most $4sG\le2nGe^{-\lambda}$.
#
# *The ReLU layer.* Two units for each row, of either sign, move it to the data; a large multiple of the mark closes
# them outside the columns of the result. Two more clear it. So the result is $A+B$ with one layer and one head, and $A$
# and $B$ stay where they are.
#
# *The rows.* $2d$ for data and result, the codes and marks: $O(d)$, and for numbers a fixed number.
#
# *As printed.* The first two transformations act in each column by itself; after them column 1 holds $a$ and 0. The
# third is done "with the Appendix B.2", by a read. The input has one pointer, $P_{2d+1}$ in column 1, and column $2d+1$
# holds 0: column 1 keeps $a$, whatever $b$ is, and the fourth brings $a$ to column $2d+1$. With a second pointer,
# $P_{d+1}$, in column 1 the third brings $b$, and four layers give $a+b$. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 16 (subtraction), with a layer that turns the sign</summary>
#
# Layer 1 has no head. Its ReLU layer adds $-2$ times the data to the data, by two units for each row that a mark closes
# outside the columns of $B$: these now hold $-B$. Layer 2 is that of the addition and gives $A-B$ within
# $2nGe^{-\lambda}$, with two layers and one head. As printed, "in the exact same way", column 1 keeps $a$ as above.
# $\square$
#
# </details>
#
# ## See it run
# We transpose matrices of two sizes at several temperatures.

# %%
a, b = draw(4)
sizes = summarise(run_block(TransposeBlock(), a, b, 20.0).machine)
inverse_temperatures = [1.0, 2.0, 5.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0]
by_temperature = {d: [transpose_error(d, heat) for heat in inverse_temperatures] for d in (4, 8)}
lemma, block_rows = {}, {}
for size in (2, 4, 8, 16):
    matrix = torch.randn(size, size, generator=generator(seed), dtype=torch.float64)
    found, machine = transpose_in_groups(matrix)
    lemma[size] = (found, summarise(machine), matrix)
    if size >= 3:  # the block's result has to lie within the d^2 columns
        block_rows[size] = summarise(run_block(TransposeBlock(), matrix, matrix, 20.0).machine).width
one_row, _ = transpose_in_groups(lemma[4][2], form="printed")

# %%
fig, axis = show.axes()
for marker, (d, errors) in zip("os", by_temperature.items(), strict=True):
    axis.semilogy(inverse_temperatures, errors, marker + "-", label=f"$d={d}$")
axis.set(xlabel=r"temperature factor $\lambda$", ylabel="largest error of the transpose")
axis.legend()
show.figure(
    fig,
    name="temperature",
    caption=r"Error of the transpose block against the factor on the scores: it falls like $e^{-2\lambda}$ down to "
    "the rounding error of the gates.",
    alt="Two nearly equal curves on a logarithmic axis that fall in a straight line from order one to about ten to the "
    "minus twelve near a factor of 15, and are level after that.",
)

# %% [markdown]
# The error falls along a straight line, down to the rounding error. Next we count rows for four sizes.

# %%
rows_off = {f"d = {d}": lean.width - 2 * d - 2 * int(math.log2(d)) for d, (_, lean, _) in lemma.items()}
lemma_off = {f"d = {d}": (found - matrix.mT[:, None]).abs().max() for d, (found, _, matrix) in lemma.items()}
_, _, first = lemma[4]
printed_off = (one_row - first.mT[:, None]).abs().max()
show.table(
    ["d", "rows on the lemma's input", "2 d + 2 log d", "rows in the FLEQ machine"],
    [(d, lean.width, 2 * d + 2 * int(math.log2(d)), block_rows.get(d, "none")) for d, (_, lean, _) in lemma.items()],
)

# %% [markdown]
# For Table 1 we transpose a matrix of side 30 that is stored as a vector, with 21 rows and with 22.

# %%
matrix = torch.rand(side, side, generator=source, dtype=torch.float64)
warm, machine = transpose_vectorised(matrix, 10.0)
hot, _ = transpose_vectorised(matrix, 20.0)
lean, narrow = transpose_vectorised(matrix, 20.0, spare_row=False)
without, _ = transpose_vectorised(matrix, 20.0, form="printed")
wide, table = summarise(machine), summarise(narrow)

# %%
show.table(
    ["", "layers", "heads", "width"],
    [
        ["the paper, this construction (21 rows, doubled)", 1, 1, 42],
        ["the paper, Charton (2021)", 1, 8, 256],
        [f"run here ({table.width} rows, doubled)", table.layers, table.heads, 2 * table.width],
        [f"run here, exact ({wide.width} rows, doubled)", wide.layers, wide.heads, 2 * wide.width],
    ],
)

# %% [markdown]
# With 21 rows, the fetched entry lands on top of the old one and has to outweigh it. An error of $10^{-8}$ remains; one
# more row removes it.


# %%
def sum_block(name):
    """Errors for numbers and matrices, with one head and two; rows and layers of the block for numbers."""
    block, numbers = SumBlock(name, heads=1), torch.stack([a, b])[:, :, :1, :1]
    runs = {f"numbers, {spare} more columns": run_block(block, *numbers, 40.0, spare=spare) for spare in (0, 60, 600)}
    off = {label: (run.result - block.reference(*numbers)).abs().max() for label, run in runs.items()}
    wanted = block.reference(a, b)
    off |= {"matrices": (run_block(block, a, b, 20.0).result - wanted).abs().max()}
    off |= {"matrices, two heads": (run_block(SumBlock(name), a, b, 20.0).result - wanted).abs().max()}
    cold = (run_block(block, a, b, 1.0).result - wanted).abs().max()
    return off, cold, [summarise(run.machine) for run in runs.values()]


sums = {15: sum_block("add"), 16: sum_block("sub")}
left, right = torch.randn(2, 20, generator=generator(seed + 1), dtype=torch.float64)
proofs = {}
for number, sign in ((15, 1.0), (16, -1.0)):
    results = [sum_in_four_steps(left, right, sign, form) for form in ("printed", "correct")]
    proofs[number] = [(one - left - sign * right).abs().max() for one in results] + [(results[0] - left).abs().max()]

# %% [markdown]
# ## How we checked
# The blocks must return the exact transpose, sum and difference within the claimed layers, heads and rows. At
# temperature 1 they must fail.

# %%
claim = Claim("looped-transformers/lemma-13")
claim.at_most("4 by 4, factor 20: largest error", by_temperature[4][inverse_temperatures.index(20.0)], 1e-12)
claim.at_most("8 by 8, factor 20: largest error", by_temperature[8][inverse_temperatures.index(20.0)], 1e-12)
claim.at_most("layers of the block (4 claimed)", sizes.layers, 4)
claim.at_most("its heads in a layer (1 claimed)", sizes.heads, 1)
claim.at_most("the lemma's input: rows less 2 d + 2 log d", rows_off, 0)
claim.at_most("the same: layers (4 claimed)", {f"d = {d}": one.layers for d, (_, one, _) in lemma.items()}, 4)
claim.at_most("the same: heads (1 claimed)", {f"d = {d}": one.heads for d, (_, one, _) in lemma.items()}, 1)
claim.at_most("the same: largest error in all groups", lemma_off, 1e-12)
claim.control.at_most("factor 1: largest error", by_temperature[4][0], 0.1)
claim.at_most("permuted vector to another row: error", lemma_off["d = 4"], 1e-12, of="proof")
claim.printed.at_most("to the row it came from, as printed: error", printed_off, 1e-12, of="proof")
twice = (one_row - (first + first.mT)[:, None]).abs().max()
claim.at_most("that is A + A^T: error", twice, 1e-11, of="proof")
claim.verdict()

# %%
claim = Claim("looped-transformers/table-1")
claim.number("layers", table.layers, printed=1, within=0.0)
claim.number("heads", table.heads, printed=1, within=0.0)
if side == 30:
    claim.number("width, rows doubled", 2 * table.width, printed=42, within=0.0)
claim.close("that width, factor 20: largest error", lean, matrix.mT, atol=1e-7)
claim.close("a row more, factor 10: largest error", warm, matrix.mT, atol=1e-6)
claim.close("a row more, factor 20: largest error", hot, matrix.mT, atol=1e-14)
claim.control.close("that width, value weight 1: largest error", without, matrix.mT, atol=1e-6)
claim.verdict()

# %%
for number, (off, cold, summaries) in sums.items():
    claim = Claim(f"looped-transformers/lemma-{number}")
    claim.at_most("factor 40 for numbers, 20 for matrices: largest error", off, 1e-13)
    claim.at_most("layers (3 claimed)", summaries[0].layers, 3)
    claim.at_most("heads (1 claimed)", summaries[0].heads, 1)
    claim.equal("numbers, 4, 64 and 604 columns: different counts of rows", len({s.width for s in summaries}), 1)
    claim.control.at_most("factor 1: largest error", cold, 0.1)
    printed_off, mended_off, first_off = proofs[number]
    claim.printed.at_most("the proof's four steps, as printed, 20 pairs: largest error", printed_off, 1e-6, of="proof")
    claim.at_most("that is a alone: largest difference", first_off, 1e-13, of="proof")
    claim.at_most("with a second pointer, to b: largest error", mended_off, 1e-13, of="proof")
    claim.at_most("the block of the proof above: largest error", off, 1e-13, of="proof")
    claim.number("rows of the block for numbers", summaries[0].width)
    claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Table 1 counts $2\cdot10+1=21$ rows and doubles them for the hidden units. With a value weight of 1, the layer returns
# $A+A^\top$. With a large weight $M$ it holds $MA^\top+A$, and the ReLU layer divides by $M$; in 53 bits $M=2^{26}$ is
# best. We quote the trained transformer of Charton (2021) and did not run it.
#
# The block of the FLEQ machine leaves its result in columns $2d+1$ to $3d$; for $d=2$ these are not among its $d^2$
# columns.
#
# The addition block for numbers has one row of data and one of result; the others are codes of one bit and marks of the
# columns of $a$, $b$ and the result. Its number of rows does not depend on the number of further columns. One-bit codes
# differ in score by 1, so $n$ other columns take weight $ne^{-\lambda}$, and the temperature has to grow with $\log n$,
# as in the paper. For matrices the block works column by column and has $O(d)$ rows. Two heads, one for each operand,
# do the same.
#
# </details>
#
# ## Where the paper differs
# In the proof of Lemma 13, the permuted vector is added to the vector itself, which gives $A+A^\top$; it needs one of
# the other work rows. In the proof of Lemma 15 nothing brings $b$ to column 1, so the result is $a$; it needs a second
# pointer.
#
# ## What to remember
# - A transpose is a permutation of the vectorised matrix: three layers with one head and the claimed rows.
# - Sums take one layer and differences two; for numbers, the number of rows is fixed.
#
# ## Exercises
#
# 1. *By hand.* For the matrix with the rows 1 2 and 3 4, what does the proof's version of Lemma 13 return?
#    <details><summary>Solution</summary>
#
#    It returns $A+A^\top$, which has rows 2 5 and 5 8.
#
#    </details>
# 2. *Predict, then run.* Set `side = 60`. How many bits does the code of a place need, and how many rows does this add?
#    <details><summary>Solution</summary>
#
#    3,600 places need 12 bits instead of 10. There are two codes, so the width grows by four rows, before doubling.
#
#    </details>
#
# Next: [Lemma 14](lemma_14_product.ipynb). Sums and transposes are most useful together with products.

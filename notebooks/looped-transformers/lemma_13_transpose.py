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
# A *looped transformer* is a network of fixed weights whose output is fed back as its next input, so that it can run
# programs: its state is a matrix with one column for each token. A $d\times d$ matrix $A$ lies in this state as $d$
# columns of $d$ entries. A program that inverts matrices, or trains a network, needs $A^\top$, and this page asks how a
# few layers of attention can make it, and how many rows the state must have for that.
#
# Attention moves columns, not rows, so a transpose takes a detour. Layer 1 copies $A$ into $d$ groups of $d$ columns
# and keeps row $i$ in group $i$: the matrix has become one row of $d^2$ numbers. Layer 2 lets every column fetch the
# number whose group and index are its own, exchanged. Layer 3 spreads the row out again and sums over the groups.
# Columns find each other by *codes*, addresses of $\pm1$ that every column carries, for its index and for its group. A
# softmax over scores that are multiplied by a *temperature factor* $\lambda$ picks the best fit, and gives a little
# weight, which falls with $\lambda$, to others; that is where the error comes from. Such layers are used as they are,
# or as a *function block* of the FLEQ machine, which calls them by number ({doc}`theorem_2_fleq`).
#
# <!-- claim looped-transformers/lemma-13 -->
# <blockquote>
#
# **Lemma 13 (Transpose)** *Appendix J.2*
#
# Three layers with one head each (four are claimed) compute $A^\top$ on $d^2$ columns by way of the vectorised matrix;
# the error falls like $e^{-2\lambda}$ with the temperature factor. On the lemma's input it takes the $2d+2\log d$ rows
# that are claimed, from $d=2$ on; as a block of the FLEQ machine, for $d\ge3$, $2d+5\lceil\log_2d\rceil+8$, with codes
# and marks of its own. (For $d=1$ there is nothing to transpose.)
#
# **In the paper's proof.** The permuted vector is added to the row that holds the vector.
#
# **Corrected.** It goes to another of the $d$ rows to work in; otherwise $A+A^\top$ comes out.
#
# </blockquote>
# <!-- /claim -->
#
# On the input of the lemma this takes $2d+2\log d$ rows, as the lemma says: $d$ for the matrix, $d$ to work in, and two
# codes. Of the work rows the first holds the vector and the second takes the permuted one. The proof puts it into the
# row of the vector itself, where the residual adds the two, and $A+A^\top$ comes out. The block of the FLEQ machine has
# more rows, for its own codes and marks.
#
# <details><summary>Proof of Lemma 13, with a row of its own for the permuted vector</summary>
#
# *The input.* Column $(g,i)$, the $i$-th of group $g$, holds the code of $i$ and that of $g$, $L=\lceil\log_2d\rceil$
# entries $\pm1$ each, $d$ rows of data and $d$ empty work rows. The data of $(1,i)$ are column $i$ of $A$, and those of
# all other groups are 0. These are $2d+2L$ rows. Two codes of length $L$ that differ in $h$ entries have the score
# $L-2h$. First let the softmax be a hard maximum, which shares equally where scores are equal.
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
# the data and clears the work rows. This is so in every group.
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

# %% [markdown]
# How hot must the softmax be? What one layer misses, the other columns get:

# %%
fig, axis = show.axes()
for marker, (d, errors) in zip("os", by_temperature.items(), strict=True):
    axis.semilogy(inverse_temperatures, errors, marker + "-", label=f"$d={d}$")
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

# %% [markdown]
# The lemma's own input, for four sizes, and what the proof's row makes of a matrix of side 4. The block of the FLEQ
# machine leaves its result in columns $2d+1$ to $3d$, and for $d=2$ these are not among the $d^2$.

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
# Exactly as many rows as claimed, fewer layers, and the transpose in every group.

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

# %% [markdown]
# The table's two rows, quoted, and ours:

# %%
show.table(
    ["", "layers", "heads", "width"],
    [
        ["printed, this construction (21 rows, doubled)", 1, 1, 42],
        ["printed, Charton (2021)", 1, 8, 256],
        [f"run here ({table.width} rows, doubled)", table.layers, table.heads, 2 * table.width],
        [f"run here, exact ({wide.width} rows, doubled)", wide.layers, wide.heads, 2 * wide.width],
    ],
)

# %% [markdown]
# The printed width is reached, with an error that is small and not zero; a row more takes that away.

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

# %% [markdown]
# ## Sums and differences
# <!-- claim looped-transformers/lemma-15 -->
# <blockquote>
#
# **Lemma 15 (Addition)** *Appendix M*
#
# A function block of three layers with one head adds two numbers. (One layer is enough, also for matrices, as the
# programs need it. A block for numbers has $O(1)$ rows, as the lemma says, and one for $d\times d$ matrices $O(d)$.)
#
# **In the paper's proof.** $a+b$ is formed in column 1, though $b$ stands in column $d+1$ and no read brings it there:
# the one pointer leads to column $2d+1$. There are four transformations for three layers, and the last matrix still
# holds $b$.
#
# **Corrected.** A second pointer, to column $d+1$; or, in one layer, a query of the result's column that meets the keys
# of both operands.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/lemma-16 -->
# <blockquote>
#
# **Lemma 16 (Subtraction)** *Appendix M*
#
# A function block of three layers with one head subtracts two numbers. (Two layers are enough, also for matrices. A
# block for numbers has $O(1)$ rows, as the lemma says.)
#
# **In the paper's proof.** The proof is that of Lemma 15, in which no read brings $b$.
#
# **Corrected.** The repaired addition, after a layer that turns the sign of $b$.
#
# </blockquote>
# <!-- /claim -->
# The lemmas are about numbers, with three layers, one head and $O(1)$ rows. In the proof $a$ stands in column 1, $b$ in
# column $d+1$, and the sum is to appear in column $2d+1$. Two transformations set $b$ apart in a row of its own; a
# third forms $a+b$ in column 1; a fourth carries it over. But what brings $b$ into column 1? A read goes by the pointer
# that the column holds, and the only one there is for the last step. So column 1 keeps $a$, and $a$ arrives. A second
# pointer mends that. It can be had with less: one head is enough, and fewer layers. A column of the result whose query
# meets the keys of both its operands' columns gets half their sum. For a difference a layer before it turns the sign of
# $b$.
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
# *The rows.* A block for numbers has one row of data and one of result; the others are codes of one bit and marks of
# the columns of $a$, $b$ and the result. There is nothing in it that could grow: with any number of columns beside it
# the rows are the same. (A code of one bit is told apart by a margin of 1, so that $n$ columns take a share of
# $ne^{-\lambda}$, and the temperature has to grow with $\log n$, as the paper has it. An address of the whole machine
# takes $\log n$ rows; it is the machine's, and the lemmas do not count it.) The same block serves matrices, column by
# column, as the programs of the paper need it ($2I-Y$ in Newton's iteration), and then has $O(d)$ rows. Two heads, one
# for each operand, do both in one layer.


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
# Both are settled in the same way.

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
# ## What was learned
# A transpose takes a detour through a vector, in three layers of one head, and on the rows that the lemma claims; the
# proof only puts the permuted vector in the wrong one of them, where $A+A^\top$ comes out. Table 1's width is met with
# an error, and one row more removes it. Sums and differences need fewer layers than claimed, and a fixed number of
# rows; in the printed proof nothing brings the second operand, and the first alone comes out.
#
# ## To try
# - Set `side = 60`: the code of a place takes two bits more, four rows for both codes, and the errors hardly change.
# - Set `seed = 1`: other matrices, the same rows; errors move by a factor of two or so.

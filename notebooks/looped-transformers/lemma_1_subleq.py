# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 1 · A computer of ten layers
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 1 (Lemma 5), equation (5), Figure 4, Appendix G.*
#
# One instruction is enough to run every program: subtract one number from another, and jump if the result is at most
# zero. This instruction is called SUBLEQ. If a transformer can execute it once, and we feed its output back as its
# input, the transformer is a computer. How many layers does one instruction take?

# %%
import itertools
import math

import torch

from attention_theory.looped_transformers.certified.subleq_cycle import certify_cycle
from attention_theory.looped_transformers.machine.layers import LoopedTransformer
from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.machine.trace import Moment, draw_state, trace
from attention_theory.looped_transformers.subleq.assembler import assemble, library_text
from attention_theory.looped_transformers.subleq.conformance import conformance, random_batches
from attention_theory.looped_transformers.subleq.exact_domain import follow, sufficient_inverse_temperature
from attention_theory.looped_transformers.subleq.language import interpret, program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# The input is a table. Column 0 is the *scratchpad*, where the machine works. Columns 1 to 4 are the *memory*: columns
# 1 and 2 hold 0 and $-1$, for the halt, column 3 holds $x=3$ and column 4 holds $y=2$. The program begins in column 5,
# and the *counter* in the scratchpad points there. The instruction in column 5 is (3, 4, 7): subtract $x$ from $y$, and
# jump to column 7 if the result is at most zero. We follow the scratchpad through one *cycle*, one pass through the ten
# layers. Integers have four bits.
#
# | layer | what it does | result |
# | --- | --- | --- |
# | 1 | reads the instruction | (3, 4, 7) |
# | 2 | reads both operands | 0011 and 0010 |
# | 3 | flips the bits of the first | 1100 |
# | 4 | adds 1, which makes it $-3$ | 1101 |
# | 5 | adds it to the second | 1111, which is $-1$ |
# | 6 | writes this result to column 4 | $y=-1$ |
# | 7 | sets a *flag* if the result is at most 0 | 1 |
# | 8 | adds 1 to the counter | 6 |
# | 9 | replaces the counter by 7 if the flag is 1 | 7 |
# | 10 | rounds every entry to $-1$, 0 or 1 | the same |

# %%
fig, axis = schematic.canvas(7.2, 2.3)
words = ["instruction", "operands", "subtract", "write", "branch", "round"]
layers_of = ["layer 1", "layer 2", "layers 3 to 5", "layer 6", "layers 7 to 9", "layer 10"]
results = ["(3, 4, 7)", "3 and 2", "2 − 3 = −1", "y = −1", "counter = 7", "unchanged"]
boxes = schematic.tokens(axis, words, (0.4, 1.3), step=2.33)
for (x, y), layer, result in zip(boxes, layers_of, results, strict=True):
    schematic.text(axis, (x, y + 0.3), layer, schematic.QUIET, 9)
    schematic.text(axis, (x, y - 1.35), result, schematic.BLUE, 9)
for (left, y), (right, _) in itertools.pairwise(boxes):
    schematic.arrow(axis, (left + 0.95, y - 0.5), (right - 0.95, y - 0.5))
start, end = (boxes[-1][0], 2.9), (boxes[0][0], 2.9)
schematic.arrow(axis, start, end, "the output is the next input", bend=-0.1)
show.figure(
    fig,
    name="tiny",
    caption="One cycle of the machine. Below each box is its result for the instruction (3, 4, 7).",
    alt="Six boxes in a row, joined by arrows: instruction, operands, subtract, write, branch, round. A long arrow "
    "leads from the last box back to the first.",
)

# %% [markdown]
# Each layer waits for the one before it. The next cycle begins in column 7, with the same weights.
#
# ## The paper states
# The input has $n$ columns, and $L=\lceil\log_2n\rceil$ bits are enough for the address of a column.
#
# <!-- claim looped-transformers/lemma-1 -->
# <blockquote>
#
# **Lemma 1 (SUBLEQ in ten layers)** *Section 3; Appendices C.1 and G; also Lemma 5*
#
# **The paper states.** There exists a looped transformer architecture that can run SUBLEQ programs. This architecture
# has ten layers, two heads, and a width of $O(\log(n)+\log(N))$, where $n$ is the length of the input sequence, and $N$
# is the number of bits we use to store each integer.
#
# <details><summary>Slips (3)</summary>
#
# - The proof stores integers bit by bit, and counts $2\log N$ rows for two integers of $N$ bits.
# - The write of Lemma 4 adds its second ReLU, and the flag of (4) has $1+N$. The write must subtract, and the flag
#   needs $1-N$.
# - Biases $b_1$ act in every column. Every constant of the flip and of the adders must be multiplied by the row that is
#   1 in the scratchpad and 0 elsewhere.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Bit by bit, the ten layers take $8L+3N+\max(3L,2N)+1$ rows, which is $O(\log n+N)$. With each
# integer in one real row, ten layers with two heads have $8L+6$ rows, weights up to $2^{N+1}$ and $2^L$, and staircases
# of up to $2^{\lceil N/7\rceil+1}$ hidden units. They are right for every number of cycles if $\lambda\ge1$ and
# $2\lambda-\ln(\lambda L)\ge(N+L+6)\ln2$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We know the parts already: {doc}`Appendix B.1 <section_b_1_encodings>` gives each column a binary address, {doc}`Lemma
# 2 <lemma_2_adder>` adds in one layer, {doc}`Lemmas 3 and 4 <lemma_3_4_read_write>` copy a column to the scratchpad and
# back, and {doc}`Appendix B.3 <section_b_3_branch>` computes the flag and the choice. Together they make nine layers.
# The tenth rounds, so that the small errors of the softmax cannot add up.
#
# The width is the hard part. The paper's proof stores integers bit by bit, in $N$ rows each, but the lemma allows
# only $\log N$. We therefore store an integer as one real number in one row. Without carries, three layers execute
# the instruction: the first reads it and advances the counter, the second reads both operands and subtracts, and the
# third writes and computes the flag. The remaining seven choose the next counter and round. To round a real number we
# need a staircase function with $2^N-1$ steps. Seven layers build it digit by digit, each with a staircase of about
# $N/7$ bits.
#
# <details><summary>Proof of Lemma 1, with an integer in one row, and what is repaired bit by bit</summary>
#
# *Its size.* There are three layers and $k\le7$ more: read the instruction and increase the counter; read both
# operands, with a head for each, and subtract; write and take the flag; select the counter, clear, and round the
# memory. There are $3L$ rows each for the command and the instruction, $L$ each for the counter and the codes, and one
# each for the memory, the two operands, the buffer of the write, the indicator and its opposite; together $8L+6$,
# whatever $N$ is. With $L=\lceil\log_2n\rceil$ that is $O(\log n+\log N)$.
#
# *With a hard maximum.* A column without a pointer asks for the scratchpad's column, where command and memory are
# empty, so look-ups change nothing there. The scratchpad's query is a pointer; the one column with this code answers,
# and its entries land in empty rows. Both operands are exact, so is their difference $x$, and for an integer
# $1-\sigma(x)+\sigma(x-1)$ is 1 if $x\le0$ and 0 if not. In the write, column $b$ and the scratchpad see the mean of
# their two numbers; twice the mean less the own number is the other's. All other columns of the memory see themselves.
# In the scratchpad the gate is closed: twice the mean is at most $2^N$, below $2^{N+1}$. The counter is that of the
# other machines. Rounding changes no integer. So a cycle is an instruction, at all times, as long as no result leaves
# the $N$ bits.
#
# *The staircase.* The ramp $\rho_e(x)=2\sigma(x-e+\frac34)-2\sigma(x-e+\frac14)$ is 0 up to $e-\frac34$ and 1 from
# $e-\frac14$ on. So if $x$ is within $\frac14$ of an integer $m$, and $e$ is an integer, it is 1 if $m\ge e$ and 0 if
# not: exactly, and with the noise gone. Let $m$ have the digits $q_1,\dots,q_k$ with place values $D_1>\dots>D_k=1$,
# the first of them signed, so that $q_1=\lfloor m/D_1\rfloor$. Layer 1 of $k$ has a ramp at each multiple $e$ of $D_1$
# (for $e\le0$ it counts $-\rho_{1-e}(-x)$, the ramps not reached, so that no constant is needed); their sum is $q_1$,
# and $r=x-D_1q_1$ goes into the buffer's row, which is empty after the write. It is as far from the integer
# $m-D_1q_1\ge0$ as $x$ is from $m$. Each layer takes its digit off in the same way, and after the last there is
# $r=x-m$. The last subtracts this from $x$, which leaves $m$, and clears the buffer. A digit of $h$ bits has $2^h-1$
# ramps of two units; with two more for copying that is at most $2^{h+1}$, and $h\le\lceil N/k\rceil$.
#
# *With a soft one.* Let $\varepsilon=2ne^{-2\lambda}$, $L,N\ge2$ and $\lambda\ge1$, and let a cycle begin in an exact
# state. Scores of two codes differ by 2 at least, so in a look-up with an exact query the columns of other codes weigh
# $\frac12\varepsilon$ together at most. The instruction's bits are then right within $\varepsilon$, and rows that
# should be empty hold at most $\frac12\varepsilon$ times the largest entry read, until they are cleared. With such
# codes scores are wrong by $3L\varepsilon$ at most. So, if $10\lambda L\varepsilon\le1$, the weight of other codes is
# at most $\frac12\varepsilon e^{6\lambda L\varepsilon}\le\varepsilon$, and two columns that should weigh $\frac12$
# each, as in the write, have scores that differ by $2L\varepsilon$ at most (the pointer rows of column $b$ are wrong by
# $\frac12\varepsilon$), so that they do so within $\frac12\lambda L\varepsilon+\frac12\varepsilon\le\lambda
# L\varepsilon$. Integers are at most $2^{N-1}$. What is read is therefore wrong by at most $2^N\varepsilon$, and what
# is written, twice a mean, by at most $\eta=2^{N+2}\lambda L\varepsilon$ beside the noise of the difference, which is
# at most $\eta$ too. So all cells, and the empty entries of the memory's row in other columns, are within $2\eta$ of
# their integers after the write, and the flag is wrong by $\eta$ at most. If $2\eta\le\frac14$, the staircase leaves
# the integers themselves; the ramps of the selection, which remove what is below $\frac14$, leave $\pm1$ in the
# counter; the other rows are cleared. The state is then exact again, what it would be with a hard maximum, and the next
# cycle begins as this one did: no $T$ comes in. With $n\le2^L$ the condition $2\eta\le\frac14$ follows from
#
# $$\lambda\ge1\quad\text{and}\quad2\lambda-\ln(\lambda L)\ge(N+L+6)\ln2,$$
#
# and so does $10\lambda L\varepsilon\le20\cdot2^{-N-6}\le1$. (Without the staircase, cells that are correct to within
# $\delta$ before a cycle are correct to within $2\delta+2\eta$ after it, and $\lambda$ has to grow with the number of
# cycles.)
#
# *Bit by bit.* That the ten layers of Appendix G are right is shown layer by layer on the page about {doc}`depth
# <remark_depth_bounds>`, and at which temperature on the page about {doc}`Step 6 <step_6_error_correction>`. They have
# $8L$ rows for command, instruction, counter and codes, $3N$ for the memory and two operands, $\max(3L,2N)$ for the
# buffer, which takes a whole instruction or two operands, and the indicator. The units of the two reads, like those of
# the last layer, have the ramps of Step 6; where bits are exact, the ramps change nothing. Three things in the ten
# layers are not as printed. The write adds $\sigma(v)-\sigma(-v)=v$, where $v$ is what the memory is to change by; with
# the printed sign it adds $|v|$. The flag's $\sigma(1-N-\sum b)$ is 1 where all $N$ bits are $-1$, and 0 where one or
# more are $+1$, since then $\sum b\ge2-N$; with $1+N$ it is at least 1 whatever the bits are. And the constants of flip
# and adders are multiplied by the indicator, which is 1 in the scratchpad and 0 elsewhere; otherwise they fill the
# operand rows of all columns, and the write reads those of column $b$. $\blacksquare$
#
# </details>

# %% [markdown]
# ## See it run
# We build the paper's machine, bit by bit, for up to 16 columns and integers of 8 bits.

# %% tags=["parameters"]
batches = 16  # batches of random programs, each with its own N and n, at least 1
batch_size = 125  # programs in a batch, at least 1
steps = 40  # steps of each program at most, from 5 to 40
layer_batches = 20  # batches of 500 random programs on the literal layers, at least 1
literal = 100  # programs run on dense matrices, at least 20
cycles = 3000  # of an endless loop, at least 500
inverse_temperature = 30.0  # lambda, at least 20 for every N up to 16
seed = 0  # seed of every draw, at least 0

# %%
require(batches=(batches, 1, None), batch_size=(batch_size, 1, None), steps=(steps, 5, 40))
require(layer_batches=(layer_batches, 1, None), literal=(literal, 20, None))
require(cycles=(cycles, 500, None), inverse_temperature=(inverse_temperature, 20.0, None), seed=(seed, 0, None))

# %%
machine = SubleqMachine(address_bits=4, bits=8)
size = summarise(machine)
show.table(*size.table(), caption="The machine for up to 16 columns and integers of 8 bits.")
L, N = machine.address_bits, machine.bits
print(
    f"rows: {size.width} = 8 L + 3 N + max(3 L, 2 N) + 1; {size.nonzeros / size.parameters:.1%} of all entries not zero"
)

# %% [markdown]
# Next, we take one cycle of a program that multiplies and note which layers change which rows.

# %%
source = assemble(library_text("multiply"), bits=8, address_bits=4)
moments = trace(machine, machine.load(source), cycles=1, inverse_temperature=inverse_temperature)
blocks = list(machine.rows.blocks)


def changed_by_layer(moments: list[Moment]) -> dict[str, list[bool]]:
    """For each block of rows, which layers change it."""
    return {
        name: [
            bool((machine.rows.view(after.state, name) - machine.rows.view(before.state, name)).abs().max() > 0.5)
            for before, after in itertools.pairwise(moments)
        ]
        for name in blocks
    }


changes = changed_by_layer(moments)

# %%
fig, axis = show.axes(width=8, height=3.8)
axis.imshow(list(changes.values()), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
axis.set_yticks(range(len(blocks)), blocks)
axis.set_xticks(range(10), [layer.name for layer in machine.layers], rotation=35, ha="right")
axis.set_ylabel("block of rows")
axis.grid(False)
show.figure(
    fig,
    name="blocks",
    caption="The rows that each layer changes in a cycle of the multiplication program. First and second are the "
    "operands.",
    alt="A grid of row blocks by the ten layers, with blue cells: instruction, operands first and "
    "second, memory at the sixth layer, the counter at the eighth, nothing at the ninth and tenth.",
)

# %% [markdown]
# We see the work move from the instruction to the operands, on to the memory, and back to the counter. Layers 9 and
# 10 change nothing in this cycle, because the program does not jump and all entries are exact. The next figure shows
# the scratchpad bit by bit.

# %%
fig, axis = show.axes(width=8, height=4.6)
stream = torch.stack([moment.state[0] for moment in moments])  # the scratchpad column, moment by moment
shown = [name for name in blocks if name not in ("command", "memory", "encoding")]
draw_state(axis, stream, machine.rows, shown, cmap=show.SIGNED)
axis.set_xticks(range(11), ["start", *range(1, 11)])
axis.set_xlabel("after layer")
show.figure(
    fig,
    name="scratchpad",
    caption="The scratchpad column in the same cycle, after each layer. Orange is -1, blank 0, blue +1.",
    alt="Coloured bits of the scratchpad's rows against the ten layers: the instruction appears at layer 1, two "
    "operands at layer 2, one of them vanishes at layer 5, the other at layer 7, and the counter changes at layer 8.",
)

# %% [markdown]
# Layer 2 fetches the operands, layers 3 and 4 negate the first, and layer 5 replaces the second by the difference.
# Layer 7 replaces the difference by the flag, and layer 8 advances the counter.
#
# ### A number in one row
# How many rows does the second machine need, the one that stores each integer as a real number?

# %%
lengths = [8, 16, 32, 48]
sides = (3, 5, 8)
rows_of = {(L, N): summarise(SubleqMachine(L, N, depth=10, real=True)) for L in sides for N in lengths}
plain = {(L, N): summarise(SubleqMachine(L, N, depth=4, real=True, rounded=False)) for L in sides for N in lengths}
staircases = {N: max(layer.hidden for layer in rows_of[sides[0], N].by_layer[4:]) for N in lengths}
show.table(
    ["L", *(f"N = {N}" for N in lengths), "bit by bit, N = 48"],
    [
        *([L, *(rows_of[L, N].width for N in lengths), 8 * L + 3 * 48 + max(3 * L, 2 * 48) + 1] for L in sides),
        ["hidden units of the widest staircase", *staircases.values(), "none"],
    ],
    caption="The machine that stores an integer in one real row: its rows, 8 L + 6 for integers of any length, and "
    "below, the hidden units of its layers 5 to 10, which contain only a staircase.",
)

# %% [markdown]
# It has $8L+6$ rows for integers of every length. Longer integers cost something elsewhere: one weight is $2^{N+1}$,
# and a staircase has up to $2^{\lceil N/7\rceil+1}$ hidden units.
#
# Does it stay correct forever? An endless loop lowers a cell by 5 and raises it by 5. The temperature $\lambda$
# multiplies the scores before the softmax; we use the smallest one that our proof allows, so that the noise is as large
# as possible.

# %%
endless = program([5, -5, 100, 0], [(2, 4, 1), (3, 4, 2), (5, 5, 0)])
lasting = sufficient_inverse_temperature(8, 4)
rounding = {f"{depth} layers": SubleqMachine(4, 8, depth=depth, real=True) for depth in (4, 10)}
runs = {label: follow(one, endless, lasting, cycles) for label, one in rounding.items()}
drifting = SubleqMachine(4, 8, depth=4, real=True, rounded=False)
drifts = {lam: follow(drifting, endless, lam, cycles).first_wrong for lam in (5.0, 6.0, 7.0, lasting, 9.0, 10.0)}
show.table(
    ["endless loop", "first wrong cycle"],
    [
        *((f"rounded, {label}, lambda = {lasting:g}", one.first_wrong or "none") for label, one in runs.items()),
        *((f"not rounded, lambda = {lam:g}", first or "none") for lam, first in drifts.items()),
    ],
    caption=f"The first wrong cycle in {cycles} cycles of an endless loop. Without rounding the noise adds up, and "
    "each unit of temperature makes the loop last about three times as long.",
)

# %% [markdown]
# With a staircase, no cycle is wrong. Without one, each extra unit of $\lambda$ makes the run last about three times
# as long before it fails.

# %% [markdown]
# ### Step through a program
# The ten layers also run in your browser. {doc}`/instruments/subleq` explains what they show.
#
# <div class="instrument" data-instrument="subleq" data-start="Load the machine" data-weights="subleq">
#
# The instrument is on the site of the book.
#
# </div>
#
# ## How we checked
# We compare counter and memory with an interpreter that knows nothing about transformers, after every step of random
# programs. Some programs test the limits: extreme integers, instructions that jump to themselves, writes to reserved
# cells. We begin with the paper's machine.

# %%
wrong = compared = halted = 0
for one, programs in random_batches(batches, batch_size, seed):
    found = conformance(one, programs, steps, inverse_temperature)
    wrong, compared, halted = wrong + found.wrong, compared + found.steps, halted + int(found.halted.sum())
total = batches * batch_size
print(f"{total} programs, {compared} steps, {halted} programs came to their end; wrong: {wrong}")

small = SubleqMachine(5, 8)
trial = [random_program(10, 16, 8, seed + number) for number in range(literal)]
on_layers = conformance(small, trial, steps, inverse_temperature, by="layers")
hard = conformance(small, trial, steps, inverse_temperature, rule="hardmax", by="layers")
idle = SubleqMachine(5, 8, scratch=3)
with_idle = conformance(
    idle, [random_program(8, 12, 8, seed + k) for k in range(20)], steps, inverse_temperature, by="layers"
)
bit_by_bit = {"runner": wrong, "layers": on_layers.wrong, "hard": hard.wrong, "idle columns": with_idle.wrong}

# %%
wild_wrong = wild_steps = wild_halted = 0
for one, programs in random_batches(layer_batches, 500, seed, columns=(8, 16), wild=True):
    found = conformance(one, programs, 15, inverse_temperature, by="sparse")
    wild_wrong, wild_steps = wild_wrong + found.wrong, wild_steps + found.steps
    wild_halted += int(found.halted.sum())
wild = 500 * layer_batches
print(f"{wild} programs on the layers, {wild_steps} steps, {wild_halted} came to their end; wrong: {wild_wrong}")

sparse = SparseLayers(small, inverse_temperature)
dense_state = sparse_state = small.load(trial)
differing = 0
for _ in range(20):
    dense_state, sparse_state = small.cycle(dense_state, inverse_temperature), sparse.cycle(sparse_state)
    differing += int((dense_state != sparse_state).sum())
bit_by_bit |= {"layers, at the limits": wild_wrong}

# %% [markdown]
# Then we break it, one part at a time, and lower the temperature.

# %%
defects = {
    "write as printed": SubleqMachine(5, 8, form={"write": "printed"}),
    "flag as printed": SubleqMachine(5, 8, form={"flag": "printed"}),
    "constants in every column": SubleqMachine(5, 8, form={"constants": "printed"}),
    "gate C = 1": SubleqMachine(5, 8, gate=1.0),
}
controls = {
    name: conformance(defect, trial[:20], steps, inverse_temperature, by="sparse").wrong
    for name, defect in defects.items()
}
by_temperature = {
    lam: 20 - conformance(small, trial[:20], steps, lam, by="sparse").wrong
    for lam in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
}
show.table(["defect", "programs right, of 20"], [[name, 20 - count] for name, count in controls.items()])
show.table(["temperature", "programs right, of 20"], by_temperature.items())

# %% [markdown]
# The machine with real rows runs programs whose results fill up to 48 bits.

# %%
real = SubleqMachine(5, 48, depth=10, real=True)
not_rounded = SubleqMachine(5, 48, depth=4, real=True, rounded=False)
of_seven = [random_program(10, 16, 7, seed + number) for number in range(literal)]
proved = sufficient_inverse_temperature(48, 5)
real_wrong = {
    "a hard maximum": conformance(real, of_seven, steps, rule="hardmax", by="layers").wrong,
    "a hard maximum, four layers, not rounded": conformance(
        not_rounded, of_seven, steps, rule="hardmax", by="layers"
    ).wrong,
    f"lambda = {inverse_temperature:g}": conformance(real, of_seven, steps, inverse_temperature, by="layers").wrong,
    f"lambda of the proof, {proved:.1f}": conformance(real, of_seven, steps, proved, by="layers").wrong,
}
narrow = SubleqMachine(5, 8, depth=4, real=True, rounded=False)
narrow_gate = conformance(narrow, of_seven, steps, inverse_temperature, by="layers").wrong
cold = {lam: conformance(real, of_seven, steps, lam, by="layers").wrong for lam in (3.0, 5.0, 7.0, 10.0)}

# %%
show.table(
    ["real rows", f"programs wrong, of {literal}"],
    [*real_wrong.items(), *((f"lambda = {lam:g}", count) for lam, count in cold.items())],
)

# %%
title = f"bit by bit: wrong programs, of {total}, and of {wild} on the literal layers"
loop_title = "real rows, endless loop at the lambda of the proof"
lasted = {label: (one.first_wrong or cycles + 1) - 1 for label, one in runs.items()}
drift = (drifts[lasting] or cycles + 1) - 1
remnant = {label: one.off for label, one in runs.items()}
steepness = {f"N = {N}": hidden / 2 ** (math.ceil(N / 7) + 1) for N, hidden in staircases.items()}
grown = {f"L = {L}": max(plain[L, N].hidden for N in lengths) - plain[L, 8].hidden for L in sides}
widths, expected_rows, printed_rows = {}, {}, {}
for (L, N), one in rows_of.items():
    case = f"L = {L}, N = {N}"
    widths[case], expected_rows[case] = one.width, 8 * L + 6
    printed_rows[case] = 8 * L + 2 * math.ceil(math.log2(N)) + 1

# %%
at_most = {
    "real rows: layers (ten are allowed)": (rows_of[8, 48].layers, 10),
    "real rows: heads in the widest layer": (rows_of[8, 48].heads, 2),
    "real rows: within the printed 8 L + 2 log N + 1": (widths, printed_rows),
    f"{loop_title}: largest distance from the integers": (remnant, 1e-12),
    "real rows: hidden units of a staircase over 2·2ᵏ, k = N/7 rounded up": (steepness, 1.0),
}
exactly = {
    "real rows: rows": (widths, expected_rows),
    f"real rows: wrong programs, of {literal}": (real_wrong, 0),
    f"{loop_title}: cycles before one is wrong": (lasted, cycles),
    "real rows, not rounded: hidden units that longer integers take": (grown, 0),
}
sizes = {"layers": size.layers, "heads": size.heads, "rows": size.width}
broken = {"with gates for 8 bits": narrow_gate, "at lambda = 3": cold[3.0]}
everywhere = controls["constants in every column"]

# %% [markdown]
# Random programs are a sample. For the paper's machine with integers of 8 bits and up to 32 columns, a solver covers
# every instruction, every memory and everything that an earlier cycle can leave in the scratchpad.

# %%
certificate = certify_cycle(small)
print(f"{certificate.covers}: {certificate.outcome} in {certificate.seconds:.1f} s")

# %%
claim = Claim("looped-transformers/lemma-1")
for label, (value, bound) in at_most.items():
    claim.at_most(label, value, bound)
for label, (value, right) in exactly.items():
    claim.equal(label, value, right)
claim.control.equal(f"{loop_title}, not rounded: cycles before one is wrong", drift, cycles)
for label, value in broken.items():
    claim.control.equal(f"real rows: wrong programs {label}", value, 0)
claim.equal("bit by bit", sizes, {"layers": 10, "heads": 2, "rows": 73}, of="proof")
claim.equal(title, bit_by_bit, 0, of="proof")
claim.certified("bit by bit, hard maximum: every instruction and memory", certificate, of="proof")
claim.equal("entries unlike those of the dense matrices, 20 cycles", differing, 0, of="proof")
for name in ("write as printed", "flag as printed"):
    claim.misprint.equal(f"wrong programs, of 20, {name}", controls[name], 0, of="proof")
claim.printed.equal("wrong programs, of 20, with constants in every column", everywhere, 0, of="proof")
claim.printed.at_most("bit by bit: within the printed rows", size.width, 8 * 4 + 2 * 3 + 1, of="proof")
claim.control.equal("wrong programs, of 20, with the gate C = 1", controls["gate C = 1"], 0, of="proof")
claim.control.equal("right programs, of 20, at lambda = 1", by_temperature[1.0], 20, of="proof")
claim.verdict()


# %% [markdown]
# <details><summary>Method notes</summary>
#
# - *The size of the paper's machine.* The text can be read as ten or as eleven layers. There are ten if the flag
#   belongs to the three layers of the branch.
# - *Two ways to run it.* The runner leaves out work that cannot matter; a test shows that at $\lambda=30$ its states
#   equal those of the full layers, bit for bit. The programs that test the limits run on the layers as stated, on all
#   columns, with products by zero left out; we compare their states entry by entry with those of the dense matrices.
# - *What is judged.* We judge the statement by the machine with real rows, and the paper's proof by the machine with
#   bits. The certificate is for a hard maximum, and uses the numbers of the layers that we built.
# - *Programs for real rows.* They start with integers of 7 bits. A step at most doubles the largest one, so within 40
#   steps no result exceeds 48 bits. In the control the gates are built for integers of 8 bits.
# - *Rounding.* In ten layers, an error of the order of $10^{-13}$ may remain, because 53 bits do not hold all sums of a
#   staircase. The next cycle removes it.
# - *Width.* We count rows of the input, as equation (5) does. Elsewhere the paper uses the word for hidden units: a
#   "ReLU layer of width $O(\log N)$" in the proof, and Table 1. If we count hidden units as well, the lemma holds with
#   a hard maximum, where nothing has to be rounded: four layers with $O(\log n)$ rows and hidden units are then right
#   forever.
#
# </details>

# %% [markdown]
# ## Also on this page
# ### Figure 4
#
# <!-- claim looped-transformers/figure-4 -->
# <blockquote>
#
# **Figure 4 (The blocks of a SUBLEQ cycle)** *Appendix C.1*
#
# **The paper states.** Graphical representation of the building blocks necessary to implement the OISC instruction. The
# first two blocks transfer the data/command to the scratchpad, the second and third implement the subtraction and store
# the result, while the last one implements the if goto command that completes the instruction.
#
# </blockquote>
# <!-- /claim -->
#
# We ask which layer is the first to change the instruction, the operands, the difference, the memory and the counter.
# As a control we move the writing layer to the end.


# %%
def first_changes(changed: dict[str, list[bool]]) -> list[int]:
    """The layers, from 1, that are the first to read an instruction, read data, subtract, write and branch."""
    places = {name: [place for place, on in enumerate(row, start=1) if on] for name, row in changed.items()}
    subtracting = next(place for place in places["second"] if place > places["first"][0])
    return [places["instruction"][0], places["first"][0], subtracting, places["memory"][0], places["counter"][0]]


order = first_changes(changes)
layers = list(machine.layers)
layers.append(layers.pop(machine.writing_layer))
writes_last = LoopedTransformer(machine.rows, layers)
late = first_changes(
    changed_by_layer(trace(writes_last, machine.load(source), inverse_temperature=inverse_temperature))
)

# %%
claim = Claim("looped-transformers/figure-4")
claim.equal("layers that read, read, subtract, write, branch", str(order), str(sorted(order)))
claim.equal("each block of the figure has layers of its own", len(set(order)), 5)
claim.control.equal("the same with the writing layer moved to the end", str(late), str(sorted(late)))
claim.verdict()

# %% [markdown]
# ### How a program ends
#
# <!-- claim looped-transformers/equation-5-input -->
# <blockquote>
#
# **SUBLEQ input and EOF instruction (The input, and how it halts)** *Appendix G, eq. (5) and Step 7*
#
# **The paper states.** The input takes the form (5), where $M\in\mathbb R^{1\times m}$ and $X\in\mathbb
# R^{(8\log(n)+2\log(N)+1)\times n}$. The contents of the memory section are $N$ dimensional $\pm1$ binary vectors.
# $c_{\mathrm{EOF}}$ is made up of three encodings: $p_{s+1}$ points to the value 0, $p_{s+2}$ points to the value $-1$,
# and $p_n$ points to itself, preventing further execution of commands.
#
# **What is true.** The memory is $N\times m$, and two more blocks of $N$ rows hold the operands. When the last
# instruction is reached, memory and counter no longer change, to the last bit.
#
# **What changed.** Three numbers of $N$ bits do not fit into $2\log N+1$ rows. With one real number in a cell, $M$ is
# $1\times m$, and the stated rows are enough for $N\ge6$.
#
# </blockquote>
# <!-- /claim -->
#
# The last instruction subtracts 0 from $-1$ and jumps to itself. After one such cycle the state no longer changes, and
# we may leave the loop. The control overwrites the two reserved cells, with 1 and 7.
#
# <details><summary>Proof of SUBLEQ input and EOF instruction, eq (5), as corrected</summary>
#
# *The rows.* A number is a vector of $N$ bits in the memory, and so it is in the two operands, which makes $3N$ rows
# beside the $8L$ of command, instruction, counter and codes. The printed number leaves $2\log N+1$, which is less than
# $3N$ for all $N$, since $\log_2N<N$. With a real number in a cell the machine above has $8L+6$ rows, and
# $6\le2\log_2N+1$ if $N\ge2^{5/2}$, that is, for $N\ge6$.
#
# *The memory and the counter.* Let the counter be at the last instruction, $(a,b,c)$ with cell $a$ holding 0, cell $b$
# holding $-1$ and $c$ its own column, and take a cycle, as it is proved above for real rows, and bit by bit on the page
# about {doc}`depth <remark_depth_bounds>`. The difference is $\mathrm{mem}[b]-\mathrm{mem}[a]=-1-0=-1$. It is written
# to $b$, which already holds $-1$; no other cell is written to. As $-1\le0$ the flag is 1, and the counter is set to
# $c$, where it already stands.
#
# *All other rows.* Codes, commands and indicator are never changed, and buffers are empty after the cycle. What remains
# are the scratchpad's rows for the instruction and the operands. A read replaces what was there, and so after the cycle
# they depend on the instruction and on the cells read alone: in the ten layers they hold the instruction's three
# pointers, no first operand, and the flag in the place of the second; with real rows, and in four layers, they are
# cleared. The first cycle at the last instruction may thus replace what an earlier instruction left in these rows. The
# next begins with the same counter, instruction and cells, and leaves the same: from then on no entry of the state
# changes.
#
# *To the last bit.* At a temperature at which the noise of a cycle stays below $\frac14$ the ramps of its last layer
# leave exactly $-1$, 0 and 1 ({doc}`Step 6 <step_6_error_correction>`), and the above holds of a soft maximum too, in
# exact arithmetic, and so does the staircase of the real rows. In 53 bits it is checked below, bit by bit and entry by
# entry. $\square$
#
# </details>

# %%
finished = machine.run(machine.load(source), len(interpret(source, 8, 1000)) + 1, inverse_temperature)
again = machine.cycle(finished, inverse_temperature)
broken = machine.load(source)
machine.rows.view(broken, "memory")[2] = machine.rows.view(broken, "memory")[3]  # cell 1 now holds what cell 2 holds: 7
machine.rows.view(broken, "memory")[1] = machine.rows.view(broken, "memory")[5]  # cell 0 now holds what cell 4 holds: 1
machine.rows.view(broken, "counter")[0] = machine.rows.view(broken, "encoding")[-1]  # at the last instruction
unsettled = machine.cycle(broken, inverse_temperature)
moved = int((machine.memory(unsettled, source) != machine.memory(broken, source)).sum())

# %% [markdown]
# We judge equation (5) with memory cells that are vectors of $N$ bits, as the paper's text describes them.

# %%
claim = Claim("looped-transformers/equation-5-input")
claim.equal("product of 7 and 9", machine.memory(finished, source)[source.cells["product"]], 63)
claim.equal("counter at the last instruction", machine.counter(finished, source), source.end)
claim.equal("entries that a further cycle changes", (again != finished).sum(), 0)
step_7 = machine.counter(again, source)
claim.equal("Step 7 as printed: the counter after a further cycle", step_7, source.end, of="proof")
claim.equal("entries other than -1, 0 and 1", (~((finished.abs() == 1) | (finished == 0))).sum(), 0)
left = 2 * math.ceil(math.log2(machine.bits)) + 1
claim.printed.at_least("rows of 8 log n + 2 log N + 1 left for three numbers of N bits", left, 3 * machine.bits)
claim.control.equal("cells that change at the last instruction if the reserved cells hold 1 and 7", moved, 0)
claim.control.equal("where the counter is after it", machine.counter(unsettled, source), source.end)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The lemma is right, but the paper's proof does not have the stated width: its integers take $N$ rows, not $\log N$.
# The proof also needs three repairs. The write must subtract its second ReLU, the flag needs $1-N$ in place of $1+N$,
# and constants must act in the scratchpad alone. Without the last repair, the subtraction fills the memory with the
# bits of $-1$.
#
# ## What to remember
# - Ten layers with two heads, in a loop, run every program that fits into the input.
# - Every cycle rounds its state, so errors never add up.
# - Integers may take $N$ rows and no rounding staircase, or one row and a staircase.
#
# ## Exercises
#
# 1. *By hand.* Put $y=5$ in place of $y=2$ in the tiny example and go through the cycle.
#
#    <details><summary>Solution</summary>
#
#    Layer 5 adds 0101 and 1101. The result is 0010 modulo 16, so $y$ becomes 2. Since 2 is above zero, the flag is 0,
#    and the counter stays at 6 after layer 9.
#
#    </details>
#
# 2. *Predict, then run.* Set `cycles=500`. Which machines without a staircase survive the endless loop?
#
#    <details><summary>Solution</summary>
#
#    At $\lambda=5$, 6, 7 and 7.97, the first wrong cycles are 11, 35, 101 and 272. The machines at $\lambda=9$ and 10
#    survive, but only because the run is short: with 3,000 cycles they fail at cycles 773 and 2,114.
#
#    </details>
#
# Next: [Step 6](step_6_error_correction.ipynb). The machine is exact only if its rounding step is sharp enough.

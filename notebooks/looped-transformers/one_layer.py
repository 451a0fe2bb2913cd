# %% [markdown]
# # Beyond Lemma 1 · A computer in one layer with one head
# *Our addition to Lemma 1 of Giannou, Rajput, Sohn, Lee, Lee and Papailiopoulos (Section 4).*
#
# The paper's computer passes through ten layers to execute one instruction. Do we need depth at all, or is the loop
# enough? We show that one layer with one head can subtract, jump, read and write in a single pass. Where each cell has
# separate columns, nothing less is enough, so the loop replaces depth entirely.

# %%
import torch

from attention_theory.looped_transformers.certified.one_layer import certify_one_layer
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.exact_domain import sufficient_inverse_temperature
from attention_theory.looped_transformers.subleq.language import program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.one_layer import OneLayerMachine
from attention_theory.nn import SubleqTransformer
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# We take the cells $x=3$ and $y=5$ and execute `y -= x` twice. The first pass computes $5-3=2$. It does not yet write
# this 2 into the column of $y$. The scratchpad keeps it, as the *pending result*, together with the address of $y$.
#
# In the second pass we see two things happen at once:
#
# - The column of $y$ compares its address with that of the pending result. They match, so the column takes the 2.
# - The scratchpad needs $x$ and $y$. It reads $x$ from its column. It must not read $y$ from its column, which still
#   holds 5. For this case, the program says "the pending result" in place of "$y$", so the scratchpad reads its own 2.
#
# The scratchpad attends to three columns, with weight $\frac13$ each: a column of $x$ that holds $-3$ (the bits of 3
# with the opposite sign), itself with the 2, and the column that says what comes next. Multiplied by three, the sum of
# the first two is $2-3=-1$.
#
# There are in fact four scratchpads: for a first or a second operand, each with or without a preceding jump. All four
# hold the same result, but those for first operands hold it with the opposite sign.

# %%
fig, axis = schematic.canvas(height=2.5)
words = ["5 → 2\ny", "−3\nx", "2, for y\nscratchpad", "next\naddresses"]
for place, (word, colour) in enumerate(
    zip(words, (schematic.VERMILION, schematic.BLUE, schematic.BLUE, schematic.BLUE), strict=True)
):
    schematic.text(axis, (1.7 + 3.5 * place, 1.4), word, colour)
schematic.text(axis, (6.95, 4.4), "scratchpad, after the pass: 2 − 3 = −1, for y")
for place, beside in ((1, -0.35), (2, 0.35), (3, 0.75)):
    schematic.arrow(axis, (1.7 + 3.5 * place, 2.2), (6.95, 4.0))
    schematic.text(axis, ((8.65 + 3.5 * place) / 2 + beside, 3.2), "⅓", schematic.QUIET)
schematic.arrow(axis, (7.6, 0.75), (1.9, 0.75), bend=0.1, colour=schematic.VERMILION)
schematic.text(axis, (4.75, 0.05), "the pending result is written", schematic.VERMILION)

# %%
show.figure(
    fig,
    name="tiny",
    caption="The second pass. Blue: the scratchpad reads three columns, one of which is itself. Orange: the cell takes "
    "over the pending result.",
    alt="Four columns in a row. Arrows with one third each lead from three of them up to the scratchpad's new content. "
    "An orange arrow leads from the scratchpad's old content to the column of y.",
)

# %% [markdown]
# We see that reading, forwarding and writing do not wait for each other.
#
# ## The statement
# The program has $m$ cells of $N$ bits and $k$ instructions, the halt included. An *address* has $L\ge\log_2(1+m+k)$
# bits, and at least 2. Equation (1) is [the paper's architecture](equation_1_architecture.ipynb).
#
# <!-- claim looped-transformers/one-layer -->
# <blockquote>
#
# **Beyond Lemma 1 (One layer with one head executes an instruction)** *Lemma 1, Section 4*
#
# A looped transformer with one layer and one head, of the form (1), executes one SUBLEQ instruction in each pass. It
# has $17L+2N+8$ rows and $4m+2k+5$ columns. With a softmax, it is exact forever if $e^{2\lambda}\ge11\cdot2^N(L+1)$.
# Without a head, no number of layers is enough if every cell keeps its integer in separate columns.
#
# </blockquote>
# <!-- /claim -->
#
# The input is of the same kind as the paper's, but laid out differently. Each cell has four columns and each
# instruction two, and an instruction's columns hold the addresses of the operands that follow it. We write them down
# from the program's text, without running it. As in the paper, a program cannot change its own instructions.
#
# <!-- claim looped-transformers/one-layer-rows -->
# <blockquote>
#
# **Beyond Lemma 1 (A bound on the rows of every machine with entries −1, 0 and 1)** *Lemma 1, Section 4*
#
# Let each program of $k$ instructions besides the halt, with its memory of $m$ cells besides the two reserved ones, be
# a state with entries $-1$, 0 and 1 that determines its run. Let $m$ be even and $2^N>m/2$. Then a machine with $n$
# columns has at least $(Nm/2+2k\log_2(m/2))/(n\log_23)$ rows. Hence $O(L+N)$ rows are optimal up to a constant factor
# if $m$, $k$ and $n$ are in proportion.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We remove the paper's layers by three delays. *Writing waits:* a result stays in the scratchpad for a pass, and an
# instruction that needs it earlier reads it there. The program shows where two consecutive instructions use the same
# cell, so we can write this into their addresses. *Choosing waits:* the scratchpad keeps the operands' addresses for
# both cases, and a flag. Columns come in two copies, "without a jump" and "after a jump", and the flag adds 1 to the
# scores of one kind. In this way attention makes the choice. *Fetching comes early:* the column that is read now
# already holds all addresses of the next pass.
#
# All that remains for the ReLU layer depends on one number, $s=b-a$. Each bit of the result, and the flag, is a sum of
# steps in $s$. The steps are flat around every integer, so they also round. All other entries that the scratchpad keeps
# are signs.
#
# <details><summary>Proof that one layer with one head executes an instruction</summary>
#
# *States.* All codes are $\pm1$ vectors of $L$ bits: $p_0$ for the pending result, then one for each cell and each
# instruction. A cell has four columns, one for each *role*: first operand $a$ or second operand $b$, *side* $\sigma=-1$
# or $+1$; without or after a jump, *branch* $\beta=-1$ or $+1$. A column of role $r$ holds its code in part $r$ of the
# encoding, $\sigma$, $\beta$, and $\sigma$ times the bits of its integer. An instruction has two columns, with its code
# in part 5 of the encoding, a mark, $\beta=\pm1$, and six addresses, the *record* of the instruction that is executed
# after it without a jump ($\beta=-1$) or after one. A further column with the code $p_0$ and $\beta=-1$ holds the
# record of the first instruction. The record of instruction $i$ is: its own $b$; the operands $a$ and $b$ of the two
# instructions that may follow it, four addresses, by role, where $p_0$ stands in the place of $i$'s own $b$; and the
# code of $i$. After the last instruction the last follows.
#
# There are four scratchpad columns. They hold a record, the *command*, of the instruction executed last; a flag
# $\varphi=\pm1$; $\sigma$ times the bits of a *pending result* $v$, where $\sigma$ is that of role $r$ in column $r$;
# and a mark for each. All other rows are 0. The state *stands for* the memory that has $v$ in the cell of the command's
# first address $w$, and in the other cells what their columns hold, and for the instruction that follows the command's,
# by $\varphi$. At the start $v$ is the content of cell 0, $w$ is its address, $\varphi=-1$, and the command ends with
# $p_0$ and has in its middle the operands of the first instruction, with $p_0$ in place of $w$. We show that a pass
# makes of such a state one that stands for memory and instruction after a step of SUBLEQ.
#
# *Scores.* The head has $6L+2$ coordinates:
#
# | coordinates | key | query |
# | --- | --- | --- |
# | $4L$: part $r$ | encoding $r$, plus $p_0$ in the scratchpad of role $r$ | address $r$ of the command |
# | $L$ | encoding 5 | encoding 5, plus the command's last address |
# | $L$ | sum of encodings 1 to 4, plus $w$ | sum of encodings 1 to 4 |
# | 1 | $\sigma$, of cells and scratchpads | $\sigma$, of cells only |
# | 1 | $\beta$, of all columns | $\beta$ of cells and instructions, $\varphi$ of scratchpads |
#
# Two codes have the product $L-2h$ if they differ in $h$ bits. (a) A *scratchpad* scores $L-2h+\varphi\beta$ with a
# cell or scratchpad of any role, and with an instruction. The largest score is $L+1$. It is that of three columns: of
# both operands, with the addresses that the command has for the branch $\varphi$, and of the record that follows. All
# other scores are at most $L-1$. Where an operand's address is $p_0$, its column is a scratchpad. (b) A *cell* of code
# $c$ scores $L-2h+\sigma\sigma'+\beta\beta'$ with a cell of another code or role, the same with a scratchpad where $h$
# counts the bits in which $c$ and $w$ differ, and $\pm1$ with an instruction. The largest score is $L+2$: that of
# itself and, if $c=w$, of the scratchpad of its own role. All others are at most $L$. (c) An *instruction* scores $L+1$
# with itself, at most $L-1$ with other instructions, and $\pm1$ with all other columns.
#
# *Values.* The head adds three times the record into the rows where records are, and three times the bits of integers
# into an empty *buffer*. With a hard maximum, a scratchpad gets the record $\rho$ that follows into rows that were
# empty (scratchpads keep their command elsewhere), and $b_k-a_k$ into row $k$ of the buffer, since columns for first
# operands have the other sign. Here $a$ and $b$ are the operands in the memory that the state stands for: an address
# other than $p_0$ is not $w$, by the definition of records, so its column is up to date. A cell gets $3z$ into its
# buffer, where $z$ is its content $y$, or $\frac12(y+y')$ if $c=w$, with the pending result $y'$. An instruction gets
# three times its own record, and has then four times its own.
#
# *Units.* $\mathrm{relu}(2u+1)-\mathrm{relu}(2u-1)-1$ is the sign of $u$ where $|u|\ge\frac12$. Marks gate it, so that
# it acts in some columns only: where a gate is closed both units are 0. In scratchpads the sign of $\rho$ becomes the
# command. In instructions the sign of what they have becomes the record. In cells the sign of $2\cdot3z-3y$, which is
# $3y$, or $3y'$ if $c=w$, becomes the content; that is the pending result's write. Two units a row clear what was in
# record, command, content, buffer and flag. In scratchpads let $s_k=\sum_{i\le k}2^i(b_i-a_i)/2$, the difference of the
# lowest $k+1$ bits as numbers from 0 to $2h-1$, with $h=2^k$. Bit $k$ of $b-a$ is 1 where $s_k\bmod2h\ge h$: for $-h\le
# s_k<0$ and for $h\le s_k<2h$. With $k=N-1$, the result in two's complement is at most 0 where $s_k\bmod2h$ is 0 or at
# least $h$: for $-h\le s_k\le0$ and for $h\le s_k<2h$. Both are sums of three steps $[s_k\ge e]$, each of them
# $\mathrm{relu}(2(s_k-e)+\frac32)-\mathrm{relu}(2(s_k-e)+\frac12)$, which is right where $s_k$ is within $\frac14$ of
# an integer. So the pending result is $b-a$ in all four scratchpads, times the $\sigma$ of each, and $\varphi=1$ where
# this result is at most 0.
#
# The new state has the record of the instruction just executed as its command, and so its $b$ as $w$; what was pending
# is in its cell. It is a state of the same form. $\square$
#
# *A softmax.* Let $x=e^{-2\lambda}\le1/(11\cdot2^N(L+1))$; then $x\le1/132$ and $(L+1)x\le1/44$. We show that a pass
# from an exact state ends in the same state as with a hard maximum. Scores of a query that are equal above are equal
# exactly, so its largest weights are. Let $\rho$ be the sum of $e^{-\lambda\cdot\text{gap}}$ over all other columns.
#
# In a scratchpad the three largest weights are $1/(3+\rho)$. For each of its three parts the other columns differ from
# the address in bits of the code, in the branch, or both, and no two of them in the same: so
# $\rho\le3((1+x)^{L+1}-1)\le3(e^{(L+1)x}-1)$. As $(L+1)x\le\frac{10}{11}\delta$ with
# $\delta=1/(10\cdot2^N)\le\frac1{40}$, and $\ln(1+\delta)\ge\delta/(1+\delta)$, we get $\rho\le3\delta$. A row of the
# buffer is $\frac3{3+\rho}(b_k-a_k)$ and at most $\frac{3\rho}{3+\rho}$ from other columns. It is off by at most
# $\frac{5\rho}{3+\rho}\le\frac53\rho$, and $s_k$ by less than $2^{N-1}\cdot\frac53\cdot3\delta=\frac14$. The record is
# off by at most $\frac43\rho\le\frac12$. So all steps and signs in scratchpads are right.
#
# A cell's other columns are cells and scratchpads, which differ from it in bits of the code, in the side or in the
# branch, and instructions, with a gap of at least $L+1$:
# $\rho\le(1+x)^{L+2}-1+x(1+x)^2+2x+2^{L+1}x^{(L+1)/2}$. With $(1+x)^{L+2}-1\le0.031$ and
# $2^{L+1}x^{(L+1)/2}=(4x)^{(L+1)/2}\le(4x)^{3/2}$ this is below $0.07$. The argument $2\cdot3z-3y$ is off by at most
# $12\rho<\frac52$, and its sign right. An instruction's other columns are instructions, and cells and scratchpads, at
# most $2^{L+2}$, with a gap of at least $L$: $\rho\le(1+x)^{L+1}-1+4(4x)^{L/2}<0.15$. What it has is off by at most
# $6\rho<3\frac12$ from four times its record. Rows that are cleared are 0, whatever they held, and the gates' constants
# leave room for the noise. $\square$
#
# *Nothing less.* Suppose that a machine keeps each cell's integer in columns for this cell, may copy cell 0 into the
# scratchpad, and that the integer is read back from these columns and the scratchpad. Without a head, every column
# becomes a function of itself, however many layers there are. After an instruction with $a\ne b$, $a\ne0$ what is read
# back as $\mathrm{mem}[b]$ would not depend on $\mathrm{mem}[a]$. With no layer nothing changes at all. (In a single
# column with the whole memory and program, ReLU layers without a head compute every map of states with entries $-1$, 0
# and 1.) $\square$
#
# </details>
#
# <details><summary>Proof of the bound on rows</summary>
#
# Let $m$ be even and $2^N>m/2$. Put distinct integers other than 0 into one half of the $m$ cells, the *sources*, and
# any into the others. Take $k$ instructions in a row, each with a source as $a$, a cell of the other half as $b$, and
# the next instruction as its jump. Each step changes exactly one cell, $b$, by $-\mathrm{mem}[a]\ne0$, and sources
# never change: so the memories of the run determine all pairs $(a,b)$ and the integers at the start. That makes
# $(m/2)^{2k}\,2^{Nm/2}$ different runs, which start from different states. There are $3^{Rn}$ states with $R$ rows, $n$
# columns and entries $-1$, 0 and 1. $\square$
#
# </details>
#
# ## See it run
# We compile a program for one layer and look at the attention weights of its head.

# %% tags=["parameters"]
programs = 24  # random programs of each kind, at least 10
steps = 20  # steps of each at most, at least 5
bits = 8  # N, from 3 to 16
seed = 0  # seed of every draw, at least 0

# %%
require(programs=(programs, 10, None), steps=(steps, 5, None), bits=(bits, 3, 16), seed=(seed, 0, None))
computer = SubleqTransformer.compile("x = 3\ny = 5\ny -= x\ny -= x\nhalt", bits, num_layers=1)
ran = computer.run()
print(computer.load().shape, ran.memory, "after", ran.steps, "passes")
tiny = OneLayerMachine(address_bits(computer.program.columns()), bits)
head = tiny.dense[0].heads[0]
state = ran.trace[1]
weights = ((state @ head.query.T) @ (state @ head.key.T).T * computer.inverse_temperature).softmax(dim=1)

# %%
fig, axis = show.axes(width=5, height=4.6)
axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
ends = [4, *(4 + 4 * role for role in range(1, 5))]
for end in ends:
    axis.axhline(end - 0.5, color="0.8", lw=0.8)
    axis.axvline(end - 0.5, color="0.8", lw=0.8)
axis.set(xlabel="key column", ylabel="query column")
show.figure(
    fig,
    name="weights",
    caption="The weights of the single head in the second pass of the tiny example. Columns: 4 scratchpads, 4 cells in "
    "each of 4 roles, then instructions.",
    alt="A grid with a full diagonal except for the first four rows, which have three weaker entries each. In each of "
    "the four blocks of cells one row has two weaker entries, at its own column and at a scratchpad.",
)

# %% [markdown]
# The first four rows are the scratchpads: each looks at three columns. Most other columns look at themselves. In each
# role, one column, that of $y$, looks at itself and at a scratchpad with weight one half each: it is being written.
#
# ## How we checked
# We run random programs, and programs that test the limits: extreme integers, jumps to themselves, reserved cells
# that are overwritten. We compare with an interpreter after every pass. The softmax runs at the inverse temperature
# of the proof.

# %%
cells, instructions = 6, 10
machine = OneLayerMachine(address_bits(3 + cells + instructions + 1), bits)
heat = sufficient_inverse_temperature(bits, machine.address_bits, depth=1)
drawn = {
    kind: [random_program(cells, instructions, bits, seed + number, wild) for number in range(programs)]
    for kind, wild in (("random", False), ("to the limits", True))
}
rules = (("softmax", heat), ("hardmax", 1.0))
found = {
    (kind, rule): conformance(machine, sources, steps, at, rule, by="layers", beyond=2)
    for kind, sources in drawn.items()
    for rule, at in rules
}
too_soft = conformance(machine, drawn["random"], steps, 1.5, by="layers").wrong
start = machine.load(drawn["random"])
layer, buffer = machine.dense[0], list(machine.rows["buffer"])
noise = (layer.attend(start, heat) - layer.attend(start, 1.0, "hardmax"))[:, :4, buffer].abs().max().item()
last = machine.run(start, 100, heat)
other_entries = int((~((last.abs() == 1) | (last == 0))).sum())

# %% [markdown]
# As a second control, we remove the forwarding: we load addresses of cells where the program should say "the pending
# result". An instruction that needs the previous result then reads the old integer.


# %%
class Forgetful(OneLayerMachine):
    """The same layer, with a program that never names the pending result."""

    def commands(self, source):
        own = super().commands(source)
        return [[row[0] if address == 0 else address for address in row] for row in own]


chain = program([3, 5, 20], [(2, 3, 1), (3, 4, 2), (4, 2, 3)])
length = address_bits(chain.columns())
forwarded, stale = (
    conformance(kind(length, bits), [chain], 5, heat, by="layers").wrong for kind in (OneLayerMachine, Forgetful)
)

# %%
plain = drawn["random"][0]
built = {depth: SubleqMachine(machine.address_bits, bits, depth) for depth in (10, 6, 4)}
others = {depth: (made, summarise(made)) for depth, made in built.items()}
size = summarise(machine)
show.table(
    ["layers", "heads in all", "rows", "hidden units", "columns"],
    [
        [depth, sum(len(layer.heads) for layer in built.dense), made.width, made.hidden, built.columns(plain)]
        for depth, (built, made) in others.items()
    ]
    + [[1, 1, size.width, size.hidden, machine.columns(plain)]],
    caption=f"Machines for {cells + 2} cells of {bits} bits and {instructions + 1} instructions.",
)

# %%
claim = Claim("looped-transformers/one-layer")
claim.equal("layers", len(machine.dense), 1)
claim.equal("heads", len(machine.dense[0].heads), 1)
claim.equal("rows less 17 L + 2 N + 8", machine.rows.size - (17 * machine.address_bits + 2 * bits + 8), 0)
columns = 4 * (cells + 2) + 2 * (instructions + 1) + 5
claim.equal("columns less 4 m + 2 k + 5", machine.load(plain).shape[0] - columns, 0)
for (kind, rule), result in found.items():
    claim.equal(f"wrong programs, {kind}, {rule}, of {programs}", result.wrong, 0)
claim.equal("entries other than -1, 0 and 1 after 100 passes", other_entries, 0)
claim.equal("wrong, each operand the result before", forwarded, 0)
claim.at_most("noise in the scratchpad's buffer, times 2^(N+1)", noise * 2 ** (bits + 1), 1, of="proof")
claim.certified("hard maximum: every instruction, memory and earlier result", certify_one_layer(OneLayerMachine(3, 2)))
claim.control.equal(f"wrong programs at lambda = 1.5, of {programs}", too_soft, 0)
claim.control.equal("wrong, each operand the result before, read from its cell", stale, 0)
claim.number("inverse temperature of the proof", heat)
claim.number("steps compared", sum(result.steps for result in found.values()))
claim.verdict()

# %% [markdown]
# The bound on rows needs programs and memories whose runs all differ. For two cells and two sources, we list all
# programs of two instructions and all memories and count their different runs.

# %%
runs, mixed = set(), set()
sources = [1, 2]
pairs = [(a, b) for a in (2, 3) for b in (4, 5)]
for first in pairs:
    for second in pairs:
        for memory in [(x, y) for x in range(-2, 2) for y in range(-2, 2)]:
            for seen, values in ((runs, sources), (mixed, [1, 1])):
                code = [(*first, 1), (*second, 2)]
                cells_now, trace = [0, -1, *values, *memory], [memory]
                for a, b, _ in code:
                    cells_now[b] = (cells_now[b] - cells_now[a] + 2) % 4 - 2
                    trace.append(tuple(cells_now[4:]))
                seen.add(tuple(trace))
expected = 2 ** (2 * 2) * 2 ** (2 * 2)
show.table(
    ["sources", "programs and memories", "different runs"], [["1, 2", 256, len(runs)], ["1, 1", 256, len(mixed)]]
)

# %%
claim = Claim("looped-transformers/one-layer-rows")
claim.equal("different runs, m = 4, k = 2, N = 2, less the count of the proof", len(runs) - expected, 0, of="proof")
claim.control.equal("the same with equal sources", len(mixed) - expected, 0)
claim.true("each program and memory has its own run", len(runs) == len(pairs) ** 2 * 16)
worst = {}
for length in range(4, 21):
    for word in (2, 8, 32):
        m = k = 2 ** (length - 1) - 2
        columns = 4 * (m + 2) + 2 * (k + 1) + 5  # two reserved cells and the halt besides
        least = (word * m / 2 + 2 * k * torch.tensor(m / 2).log2().item()) / (columns * 1.584962500721156)
        worst[length, word] = (17 * length + 2 * word + 8) / least
claim.at_least("rows built over the bound, m = k, least", min(worst.values()), 1)
claim.number("rows built over the bound, m = k, largest", max(worst.values()))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The certificate covers integers of 2 bits and up to 7 cells and 8 instructions, every address in every field, both
# flags, and operands in two cells or one, either or both pending. Longer words and a softmax are certified in the
# project's tests. In floating point, entries are exact in these runs. Constants of gates and ramps are powers of two,
# which leaves little to round; what is left depends on the order of the sums.
#
# </details>
#
# ## What to remember
# - With a loop, this computer needs no depth: one layer with one head executes an instruction.
# - Results and choices that wait for one pass, and addresses that come one pass early, replace the other layers.
# - Attention can choose: a flag in the query shifts the scores of one half of the columns.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, a third instruction `x -= y` follows. Which two columns does the scratchpad read as
#    operands in the third pass, what do they hold, and what becomes pending?
#    <details><summary>Solution</summary>
#
#    The first operand is $y$, the pending result $-1$. It is read from the scratchpad of that role, which holds its
#    bits with the opposite sign. The second operand is read from the column of $x$ for second operands, which holds 3.
#    The pending result becomes $3-(-1)=4$, for $x$. In this pass, the columns of $y$ take $-1$.
#
#    </details>
# 2. *Predict, then run.* By how much does the inverse temperature of the proof grow if `bits` goes from 8 to 16?
#    <details><summary>Solution</summary>
#
#    It is $\frac12\ln(11\cdot2^N(L+1))$, so eight bits more add $4\ln2\approx2.77$. Rounded up to hundredths, 4.87
#    becomes 7.65. The subtraction multiplies the noise of the reads by $2^N$, and rounding comes only after that.
#
#    </details>
#
# Next: [Lemma 14](lemma_14_product.ipynb). Larger instructions multiply, and a product needs another idea.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 1 · A computer of ten layers
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 1 (Lemma 5), equation (5), Figure 4, Appendix G.*
#
# <!-- claim looped-transformers/lemma-1 -->
# <blockquote>
#
# **Lemma 1 (SUBLEQ in ten layers)** *Section 3; Appendices C.1 and G; also Lemma 5*
#
# **As printed.** The construction has $8\log n + 2\log N + 1$ rows; the write of Lemma 4 and the flag of (4) as
# printed; biases $b_1$ in every column.
#
# **Corrected.** A looped transformer of ten layers with at most two heads and width $O(\log n + \log N)$ executes one
# SUBLEQ instruction in each cycle, on $n$ columns and integers of $N$ bits. The construction of Appendix G, which
# stores integers bit by bit, does so with $8L + 3N + \max(3L, 2N) + 1$ rows, where $L = \lceil\log_2 n\rceil$. That is
# a width of $O(\log n + N)$. Whether the width of the statement can be had is not decided on its page.
#
# Integers of $N$ bits take $N$ rows each. The write's second ReLU is subtracted, the flag has $1-N$, and every constant
# of the flip and of the adders is multiplied by the indicator row.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/equation-5-input -->
# <blockquote>
#
# **SUBLEQ input and EOF instruction (The input, and how it halts)** *Appendix G, eq. (5) and Step 7*
#
# **As printed.** $X$ has $8\log n + 2\log N + 1$ rows and the memory $M$ is $1\times m$; the instruction is copied to
# rows $3\log n+4$ to $6\log n+3$.
#
# **Corrected.** Column 0 is the scratchpad, with the program counter and an indicator; then come the memory cells, of
# which the first two hold 0 and $-1$, and the instructions, three pointers each. The last instruction points to these
# two cells and to itself: when it is reached, the state no longer changes, to the last bit.
#
# A memory cell is a vector of $N$ bits, the memory is $N \times m$, and two more blocks of $N$ rows hold the operands.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/figure-4 -->
# <blockquote>
#
# **Figure 4 (The blocks of a SUBLEQ cycle)** *Appendix C.1*
#
# A diagram: read the instruction, read the data, subtract, write, and branch, in this order.
#
# </blockquote>
# <!-- /claim -->
#
# SUBLEQ is a computer with one instruction, (a, b, c): subtract `mem[a]` from `mem[b]`, and if the result is at most
# zero go on at instruction c. A cycle of the transformer executes one: read the instruction, read both operands,
# subtract, write, take the flag, choose the next counter, and round. Below it is built from its description in
# Appendix G, set beside an interpreter that knows nothing of transformers, and compared after every step.

# %%
import itertools

import torch

from attention_theory.looped_transformers.machine.layers import LoopedTransformer
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.machine.trace import Moment, draw_state, trace
from attention_theory.looped_transformers.subleq.assembler import assemble, library_text
from attention_theory.looped_transformers.subleq.conformance import conformance, random_batches
from attention_theory.looped_transformers.subleq.language import interpret, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
batches = 16  # batches of random programs, each with its own N and n, at least 1
batch_size = 125  # programs in a batch, at least 1
steps = 40  # steps of each program at most, at least 5
literal = 100  # programs run on the literal layers, at least 20
temperature = 30.0  # lambda, at least 20 for every N up to 16
seed = 0  # seed of every draw, at least 0

# %%
require(batches=(batches, 1, None), batch_size=(batch_size, 1, None), steps=(steps, 5, None))
require(literal=(literal, 20, None), temperature=(temperature, 20.0, None), seed=(seed, 0, None))

# %% [markdown]
# ## The machine
# Appendix G leaves a choice between ten and eleven layers; with the flag among the three layers of the branch there are
# ten. Every constant of the subtraction must be multiplied by the scratchpad's indicator: a bias $b_1$ reaches all
# columns, and would fill the memory with the bits of $-1$.

# %%
machine = SubleqMachine(address_bits=4, bits=8)
size = summarise(machine)
show.table(*size.table(), caption="The machine for up to 16 columns and integers of 8 bits.")
L, N = machine.address_bits, machine.bits
print(
    f"rows: {size.width} = 8 L + 3 N + max(3 L, 2 N) + 1; {size.nonzeros / size.parameters:.1%} of all entries not zero"
)

# %%
source = assemble(library_text("multiply"), bits=8, address_bits=4)
moments = trace(machine, machine.load(source), cycles=1, temperature=temperature)
blocks = list(machine.rows.blocks)


def changed_by_layer(moments: list[Moment]) -> dict[str, list[bool]]:
    """For each block of rows, which layers change it."""
    return {
        name: [
            bool((machine.rows.of(after.state, name) - machine.rows.of(before.state, name)).abs().max() > 0.5)
            for before, after in itertools.pairwise(moments)
        ]
        for name in blocks
    }


changes = changed_by_layer(moments)
fig, axis = show.axes(width=8, height=3.8)
axis.imshow(list(changes.values()), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
axis.set_yticks(range(len(blocks)), blocks)
axis.set_xticks(range(10), [layer.name for layer in machine.layers], rotation=35, ha="right")
axis.set_ylabel("block of rows")
axis.grid(False)
show.figure(
    fig,
    name="blocks",
    caption="The paper's block diagram, taken from a cycle of the multiplication program: the rows that each layer "
    "changes. Read the instruction, read the data, subtract in three layers, write, branch in three layers, round.",
    alt="A grid of row blocks by the ten layers, with blue cells on a descending path: instruction, operands first and "
    "second, memory at the sixth layer, the counter at the eighth, nothing at the ninth and tenth.",
)

# %%
fig, axis = show.axes(width=8, height=4.6)
stream = torch.stack([moment.state[0] for moment in moments])  # the scratchpad column, moment by moment
shown = [name for name in blocks if name not in ("command", "memory", "encoding")]
draw_state(axis, stream, machine.rows, shown)
axis.set_xticks(range(11), ["start", *range(1, 11)])
axis.set_xlabel("after layer")
show.figure(
    fig,
    name="scratchpad",
    caption="The scratchpad column in the same cycle, from layer to layer. Blue is -1, white 0, red +1. The operands "
    "are read (2), one is negated (3, 4), the difference replaces the other (5); its place is taken by the flag (7), "
    "and the counter moves on (8, 9).",
    alt="Coloured bits of the scratchpad's rows against the ten layers: the instruction appears at layer 1, two "
    "operands at layer 2, one of them vanishes at layer 5, the other at layer 7, and the counter changes at layer 8.",
    photo=True,
)

# %% [markdown]
# The order of the figure's five blocks is then a matter of counting: which layer is the first to change the
# instruction, the operands, the difference, the memory and the counter. The control is a machine with the same layers
# that writes last.


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
late = first_changes(changed_by_layer(trace(writes_last, machine.load(source), temperature=temperature)))
claim = Claim("looped-transformers/figure-4")
claim.check("layers that read, read, subtract, write, branch", str(order), "==", str(sorted(order)))
claim.check("each block of the figure has layers of its own", len(set(order)), "==", 5)
claim.control("the same with the writing layer moved to the end", str(late), "==", str(sorted(late)))
claim.verdict()

# %% [markdown]
# ## Against the interpreter
# Random programs on random memory, with $N$ from 4 to 16 and up to 64 columns; one cell in four holds 0 and the
# reserved cell 0 is an operand as often as any other. They run side by side in batches, on a runner that leaves out
# work which cannot matter (a test shows that at $\lambda=30$ its states equal those of the literal layers, bit for
# bit). Some run on the literal layers too.

# %%
wrong = compared = halted = 0
for one, programs in random_batches(batches, batch_size, seed):
    found = conformance(one, programs, steps, temperature)
    wrong, compared, halted = wrong + found.wrong, compared + found.steps, halted + int(found.halted.sum())
total = batches * batch_size
print(f"{total} programs, {compared} steps, {halted} programs came to their end; wrong: {wrong}")

small = SubleqMachine(5, 8)
trial = [random_program(10, 16, 8, seed + number) for number in range(literal)]
on_layers = conformance(small, trial, steps, temperature, dense=True)
hard = conformance(small, trial, steps, temperature, rule="hardmax", dense=True)
idle = SubleqMachine(5, 8, scratch=3)
with_idle = conformance(idle, [random_program(8, 12, 8, seed + k) for k in range(20)], steps, temperature, dense=True)

# %% [markdown]
# One defect at a time is put into the machine, among them what is printed wrong in the construction, and 20 programs
# are run. How many come through at a low temperature depends on the programs.

# %%
defects = {
    "write as printed": SubleqMachine(5, 8, form={"write": "printed"}),
    "flag as printed": SubleqMachine(5, 8, form={"flag": "printed"}),
    "constants in every column": SubleqMachine(5, 8, form={"constants": "printed"}),
    "gate C = 1": SubleqMachine(5, 8, gate=1.0),
}
controls = {
    name: conformance(defect, trial[:20], steps, temperature, dense=True).wrong for name, defect in defects.items()
}
by_temperature = {
    lam: 20 - conformance(small, trial[:20], steps, lam, dense=True).wrong
    for lam in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
}
show.table(["defect", "programs right, of 20"], [[name, 20 - count] for name, count in controls.items()])
show.table(["temperature", "programs right, of 20"], by_temperature.items())

# %%
claim = Claim("looped-transformers/lemma-1")
claim.check("layers", size.layers, "==", 10)
claim.check("heads in the widest layer", size.heads, "==", 2)
claim.check("rows", size.width, "==", 8 * L + 3 * N + max(3 * L, 2 * N) + 1)
claim.check(f"wrong programs, of {total}", wrong, "==", 0)
claim.check("steps compared", compared, ">", total)
claim.check(f"wrong programs on the literal layers, of {literal}", on_layers.wrong, "==", 0)
claim.check("wrong programs with a hard maximum", hard.wrong, "==", 0)
claim.check("wrong programs with two idle scratchpad columns, of 20", with_idle.wrong, "==", 0)
printed_rows = 8 * L + 2 * (N - 1).bit_length() + 1
claim.check("rows within the printed 8 L + 2 log N + 1", size.width, "<=", printed_rows)
claim.check(f"the repaired construction: wrong programs, of {literal}", on_layers.wrong, "==", 0, of="proof")
for name in ("write as printed", "flag as printed"):
    claim.misprint(f"wrong programs, of 20, {name}", controls[name], "==", 0, of="proof")
everywhere = controls["constants in every column"]
claim.printed("wrong programs, of 20, with constants in every column", everywhere, "==", 0, of="proof")
claim.printed("rows of the construction, which stores bit by bit", size.width, "<=", printed_rows, of="proof")
claim.control("wrong programs, of 20, with the gate C = 1", controls["gate C = 1"], "==", 0)
claim.control("right programs, of 20, at lambda = 1", by_temperature[1.0], "==", 20)
claim.number("right programs, of 20, with the printed write", 20 - controls["write as printed"])
claim.number("right programs, of 20, with the printed flag", 20 - controls["flag as printed"])
claim.number("right programs, of 20, at lambda = 4", by_temperature[4.0])
claim.verdict()

# %% [markdown]
# ## Halting
# The last instruction subtracts cell 0, which holds 0, from cell 1, which holds -1, and jumps to itself. The state is
# then a fixed point of the whole network, to the last bit. The machine stays exact from then on, and the loop may be
# left whenever the state stops changing.

# %%
finished = machine.run(machine.load(source), len(interpret(source, 8, 1000)) + 1, temperature)
again = machine.cycle(finished, temperature)
broken = machine.load(source)
machine.rows.of(broken, "memory")[2] = machine.rows.of(broken, "memory")[3]  # cell 1 now holds what cell 2 holds: 7
machine.rows.of(broken, "memory")[1] = machine.rows.of(broken, "memory")[5]  # cell 0 now holds what cell 4 holds: 1
machine.rows.of(broken, "counter")[0] = machine.rows.of(broken, "encoding")[-1]  # at the last instruction
unsettled = machine.cycle(broken, temperature)
moved = int((machine.memory(unsettled, source) != machine.memory(broken, source)).sum())
claim = Claim("looped-transformers/equation-5-input")
claim.check("product of 7 and 9", machine.memory(finished, source)[source.cells["product"]], "==", 63)
claim.check("counter at the last instruction", machine.counter(finished, source), "==", source.end)
claim.check("entries that a further cycle changes", (again != finished).sum(), "==", 0)
step_7 = machine.counter(again, source)
claim.check("Step 7 as printed: the counter after a further cycle", step_7, "==", source.end, of="proof")
claim.check("entries other than -1, 0 and 1", (~((finished.abs() == 1) | (finished == 0))).sum(), "==", 0)
claim.printed(
    "rows (8 log n + 2 log N + 1) leave room for the three numbers of N bits",
    8 * L + 2 * (N - 1).bit_length() + 1 - 8 * L,
    ">=",
    3 * N,
)
claim.control("cells that change at the last instruction if the reserved cells hold 1 and 7", moved, "==", 0)
claim.control("where the counter is after it", machine.counter(unsettled, source), "==", source.end)
claim.verdict()

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithm 6 · From counters to SUBLEQ, and what "Turing complete" means here
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Algorithm 6, Appendix H.*
#
# A Minsky machine has registers that only count up and down, yet such machines compute everything that is computable.
# Appendix H translates them to SUBLEQ. If the translation is right, so does SUBLEQ. What does this mean for a
# transformer with a fixed number of columns?

# %%
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from attention_theory.looped_transformers.certified.minsky import certify_bounded_registers, certify_translation
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.minsky import (
    FIRST_REGISTER,
    Add,
    Sub,
    interpret_minsky,
    random_minsky,
    translate,
)
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
machines = 3000  # random Minsky machines for the interpreters, at least 100
transformed = 1000  # halting ones run inside the transformer, at least 20
steps = 100  # steps of a Minsky machine after which it counts as not halting, at least 10
bits = 8  # N, bits of an integer in the transformer, from 6 to 32
inverse_temperature = 30.0  # lambda, at least 20
seed = 0  # seed of every draw, at least 0

# %%
require(machines=(machines, 100, None), transformed=(transformed, 20, None), steps=(steps, 10, None))
require(bits=(bits, 6, 32), inverse_temperature=(inverse_temperature, 20.0, None), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# A Minsky machine has two instructions. `add(r)` adds 1 to a register. `sub(r, n)` subtracts 1, or jumps to
# instruction $n$ if the register is 0. The machine below moves register 0 into register 1. Register 2 always holds 0,
# so its `sub` is a jump back. Below are three translations to SUBLEQ.

# %%
Translate = Callable[..., SubleqProgram]
moving: list[Add | Sub] = [Sub(0, 3), Add(1), Sub(2, 0)]
names = dict(enumerate(["c0", "c-1", "c+1", "b", "r0", "r1", "r2"]))
ways: dict[str, Translate] = {
    "as printed": partial(translate, form="printed"),
    "corrected": translate,
    "two for five": partial(translate, short=True),
}
print("the machine: 0: sub(r0, 3)   1: add(r1)   2: sub(r2, 0)")
for way, made in ways.items():
    print(f"\n{way}:", made(moving, [3, 1, 0]).notation(names), sep="\n")

# %% [markdown]
# In the paper's version the first two operands are exchanged. SUBLEQ(a, b, c) changes `mem[b]`, so the first line
# changes the constant instead of the register.
#
# ## The paper states
# <!-- claim looped-transformers/algorithm-6 -->
# <blockquote>
#
# **Algorithm 6 (Minsky machines in SUBLEQ)** *Appendix H*
#
# **The paper states.** `add(a)`: the $j$ instruction will be SUBLEQ$(a,c_{-1},j+1)$. `sub(a, n)`: $j$:
# SUBLEQ$(b,b,j+1)$; $j+1$: SUBLEQ$(b,a,j+3)$; $j+2$: SUBLEQ$(a,c_{+1},j+5)$; $j+3$: SUBLEQ$(a,c_0,n')$; $j+4$:
# SUBLEQ$(a,c_{+1},j+5)$. Here $n'$ is the index of the translation of the $n$-th instruction.
#
# **What is true.** `add(a)`: $(c_{-1},a,j+1)$. `sub(a, n)`: $(b,b,j+1)$, $(a,b,j+3)$, $(c_{+1},a,j+5)$, $(c_0,a,n')$,
# $(c_{+1},a,j+5)$.
#
# **What changed.** The paper exchanges the first two operands. SUBLEQ(a, b, c) changes `mem[b]`, so the register must
# be the second operand.
#
# <details><summary>Slips (1)</summary>
#
# - The case $\text{mem}[a]\le-1$ does not occur, since registers are never negative.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Two instructions are enough for `sub(a, n)`: $(c_0,a,n')$, $(c_{+1},a,j+2)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/turing-completeness -->
# <blockquote>
#
# **Turing completeness (SUBLEQ can compute everything computable)** *Section 3, footnote 1; Appendix H*
#
# **The paper states.** Our slightly restricted version of the original SUBLEQ instruction is indeed also Turing
# complete. To do this, we will utilize Minsky machines, which are also Turing complete. Given a program in their
# language, we translate it into an equivalent one in our SUBLEQ language. The correctness can be verified by
# considering three cases.
#
# <details><summary>Slips (1)</summary>
#
# - The operands of every translated instruction are in the wrong order (Algorithm 6). The case $\text{mem}[a]\le-1$
#   does not occur, since registers of a Minsky machine are never negative.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# Our own result concerns the transformer:
#
# <!-- claim looped-transformers/finite-machine -->
# <blockquote>
#
# **Minsky machines in the transformer (What completeness means for a fixed input)** *Appendix H; Lemma 1*
#
# The ten-layer machine with $L$ address bits and integers of $N$ bits runs the translation of a Minsky machine as long
# as its cells and instructions fit into the columns and its registers stay below $2^{N-1}$. With a given input it is a
# finite machine.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# An `add` subtracts $-1$. For `sub(a, n)`, the first two instructions put $-a$ into a spare cell and continue at
# $j+3$, because $-a\le0$ for every register. There we subtract 0 from $a$, which changes nothing and jumps to $n'$ if
# $a=0$; otherwise $j+4$ subtracts 1. Instruction $j+2$ is for negative registers and is never reached. The last two
# instructions alone do the same, so two are enough.
#
# <details><summary>Proof of Turing completeness, Appendix H: one Minsky instruction after the other</summary>
#
# Let the memory hold $-1,0,1$ in $c_{-1},c_0,c_{+1}$ and the registers of the Minsky machine, and let the counter be
# the place $j$ of the translation of its next instruction. We show that this holds again after its translation has been
# executed. Integers and memory have no limit.
#
# *`add(a)`.* $(c_{-1},a,j+1)$ makes $\text{mem}[a]+1$ of the register. Whether it jumps or not, it goes on at $j+1$.
#
# *`sub(a, n)` with $\text{mem}[a]=r\ge0$.* $(b,b,j+1)$ puts 0 into the spare cell, and goes on at $j+1$. $(a,b,j+3)$
# puts $-r\le0$ there, and jumps to $j+3$. $(c_0,a,n')$ leaves $r$ as it is, and jumps to $n'$ if $r=0$. Otherwise
# $r\ge1$ and it goes on at $j+4$, where $(c_{+1},a,j+5)$ makes $r-1$ of $r$ and goes on at $j+5$, the next translation.
#
# No instruction changes another register or one of the three constants, and registers stay at least 0. By induction the
# SUBLEQ program passes through the states of the Minsky machine, and halts if and only if it halts. Minsky machines
# compute every computable function, so SUBLEQ computes them as well. $\square$
#
# </details>
#
# With a given input, the transformer is a finite machine. It has addresses of $L$ bits and integers of $N$ bits, so a
# long run must repeat a state. A longer computation needs a larger input and, for larger $L$ or $N$, other weights
# that follow the same recipe.
#
# ## See it run
# We draw random machines with three registers, keep those that halt, and translate them in all three ways.

# %%
halting = []
for number in range(machines):
    generator = torch.Generator().manual_seed(seed + number)
    length = int(torch.randint(2, 6, (), generator=generator))
    instructions, registers = random_minsky(3, length, generator)
    run = interpret_minsky(instructions, registers, steps)
    if run.halted:
        halting.append((instructions, registers, run.registers))


def outcome(source: SubleqProgram, registers: int) -> tuple[int, ...] | None:
    """The registers at the end of a translated program, if it comes to its end."""
    run = interpret(source, 32, 12 * steps)
    memory = run.memories[-1].tolist() if len(run) else list(source.memory)
    return tuple(memory[FIRST_REGISTER : FIRST_REGISTER + registers]) if run.halted else None


# %%
few = halting[:300]
exchanged = 0
for code, start, end in few:
    source = translate(code, start)
    zero, minus, plus, *rest = source.memory
    exchanged += outcome(replace(source, memory=(zero, plus, minus, *rest)), 3) != end
right = {way: sum(outcome(made(code, start), 3) == end for code, start, end in halting) for way, made in ways.items()}
show.table(["translation", f"right, of {len(halting)} that halt"], right.items())

# %% [markdown]
# The same programs then run in the ten-layer machine.


# %%
def run_inside(made: Translate, count: int) -> tuple[int, int, int]:
    """Programs wrong at some step, steps compared, and programs run, of the first ``count`` halting machines."""
    shapes: dict[tuple[int, int], list[SubleqProgram]] = {}
    for code, start, _ in halting[:count]:
        source = made(code, start)
        shapes.setdefault((len(source.memory), len(source.code)), []).append(source)
    wrong = compared = 0
    for programs in shapes.values():
        machine = SubleqMachine(address_bits(programs[0].columns()), bits)
        found = conformance(machine, programs, 6 * steps, inverse_temperature)
        wrong, compared = wrong + found.wrong, compared + found.steps
    return wrong, compared, sum(len(programs) for programs in shapes.values())


inside = {way: run_inside(ways[way], transformed) for way in ("corrected", "two for five")}
fits = sum(max(end) < 2 ** (bits - 1) for _, _, end in halting[:transformed])
show.table(["translation", "wrong", "steps compared", "programs"], [[way, *found] for way, found in inside.items()])
ratio = [len(translate(code, start).code) / len(translate(code, start, short=True).code) for code, start, _ in halting]

# %%
fig, axis = show.axes(width=6, height=2.6)
axis.hist(ratio, bins=20)
axis.set(xlabel="instructions of the paper's translation over ours", ylabel="machines")
show.figure(
    fig,
    name="length",
    caption="The length of the paper's translation divided by that of ours, for all machines.",
    alt="A histogram of length ratios between 1 and 2.5 with most of its mass between 1.5 and 2.2.",
)

# %% [markdown]
# With two instructions per subtraction, most programs are about half as long.
#
# At the limit of $N$ bits, the transformer and the Minsky machine disagree.

# %%
top = 2 ** (bits - 1) - 1
over: list[Add | Sub] = [Add(0)]


def counted(start: int) -> int:
    """What the transformer has in a register that held ``start``, after one addition."""
    source = translate(over, [start])
    machine = SubleqMachine(address_bits(source.columns()), bits)
    state = machine.cycle(machine.load(source), inverse_temperature)
    return int(machine.memory(state, source)[FIRST_REGISTER])


print(f"{top - 1} + 1 = {counted(top - 1)}, {top} + 1 = {counted(top)}")

# %% [markdown]
# ## How we checked
# The corrected translations must be right for every machine that halts. The solver z3 executes them with registers of
# any size. With the constants 1 and $-1$ exchanged, they must fail.

# %%
claim = Claim("looped-transformers/algorithm-6")
claim.equal("halting machines translated wrong", len(halting) - right["corrected"], 0)
claim.equal("the same with two instructions for five", len(halting) - right["two for five"], 0)
claim.equal("wrong in the ten-layer machine", inside["corrected"][0], 0)
claim.equal("wrong in the ten-layer machine, two instructions", inside["two for five"][0], 0)
claim.equal("programs run there whose registers fit the bits", fits, inside["corrected"][2])
claim.misprint.equal("halting machines translated wrong by the printed order", len(halting) - right["as printed"], 0)
claim.control.equal(f"of {len(few)}, translated wrong with the cells for 1 and -1 exchanged", exchanged, 0)
claim.number("share right by the printed order", right["as printed"] / len(halting))
claim.certified("each instruction, registers without a bound", certify_translation())
claim.verdict()

# %%
claim = Claim("looped-transformers/turing-completeness")
claim.certified("each instruction, registers without a bound", certify_translation())
claim.equal("halting machines translated wrong", len(halting) - right["corrected"], 0)
claim.equal("the operands exchanged: machines translated wrong", len(halting) - right["corrected"], 0, of="proof")
claim.misprint.equal("the order of the paper: translated wrong", len(halting) - right["as printed"], 0, of="proof")
claim.verdict()

# %%
claim = Claim("looped-transformers/finite-machine")
run_rightly = inside["corrected"][2] - inside["corrected"][0]
claim.equal("halting machines that the transformer runs as they are", run_rightly, inside["corrected"][2])
claim.equal("the largest integer is reached", counted(top - 1), top)
true_sum = interpret_minsky(over, [top], 5).registers[0]
claim.control.equal(f"{top} + 1 in {bits} bits, as the Minsky machine has it", counted(top), true_sum)
claim.certified("16 bits, all registers that fit", certify_bounded_registers())
claim.verdict()

# %% [markdown]
# ## What to remember
# - The transformer runs every counter machine that fits, so for universality it lacks only memory.
# - The paper's operands are exchanged in every line; with the right order, two instructions replace five.
#
# ## Exercises
#
# 1. *By hand.* Registers hold $r_0=1$ and $r_1=0$. Execute the paper's first line for `add(r1)`,
#    SUBLEQ$(r_1,c_{-1},j+1)$, and the corrected line.
#    <details><summary>Solution</summary>
#
#    The paper's line subtracts 0 from $c_{-1}$: nothing changes. The corrected line subtracts $-1$ from $r_1$, which
#    becomes 1.
#
#    </details>
# 2. *Predict, then run.* Set `bits = 6`. What is the largest number a register can hold, and what follows it?
#    <details><summary>Solution</summary>
#
#    The largest is 31, and $31+1$ wraps around to $-32$.
#
#    </details>
#
# Next: [Lemma 1](lemma_1_subleq.ipynb). It is the machine that ran these programs.

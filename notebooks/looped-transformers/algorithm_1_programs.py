# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithm 1 · One instruction is enough: eight programs
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Algorithm 1 (Algorithm 2), Section 3, Appendix C.1.*
#
# Can a computer get by with a single instruction? SUBLEQ(a, b, c) subtracts `mem[a]` from `mem[b]`; if the result is
# at most zero, it continues at instruction c, otherwise at the next one. We build arithmetic and sorting from it.

# %%
import math

from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.layers import DenseLayer
from attention_theory.looped_transformers.machine.listing import AssemblyError
from attention_theory.looped_transformers.subleq.assembler import assemble, library, library_text
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.language import interpret, program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
bits = 10  # N, bits of an integer, from 10 to 32
x = 37  # operand of multiplication, division and square root, from 1 to 60
y = 6  # operand of multiplication and division, from 1 to 8
n = 5  # the factorial and the Fibonacci number that are wanted, from 1 to 5
wide_columns = 1024  # n of the large machine, from 16 to 1024
wide_bits = 32  # N of the large machine, from 4 to 50
inverse_temperature = 30.0  # lambda, at least 20
seed = 0  # seed of every draw, at least 0

# %%
require(bits=(bits, 10, 32), x=(x, 1, 60), y=(y, 1, 8), n=(n, 1, 5), wide_columns=(wide_columns, 16, 1024))
require(wide_bits=(wide_bits, 4, 50), inverse_temperature=(inverse_temperature, 20.0, None), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Cells 2 and 3 hold the numbers 5 and 2. We execute SUBLEQ(3, 2, …) twice: cell 2 becomes 3, then 1. Both results are
# positive, so there is no jump. The second program below subtracts 4 from itself, and the result 0 makes it jump.

# %%
by_hand = interpret(program([5, 2], [(3, 2, 2), (3, 2, 2)]), bits, 10)  # mem[2]: 5 - 2 = 3, then 3 - 2 = 1
at_zero = program([4], [(2, 2, 2), (0, 2, 0)])  # mem[2] -= mem[2] gives 0: on to instruction 2, the end
branches = interpret(at_zero, bits, 1).counters.tolist()
strict = interpret(at_zero, bits, 1, form="printed").counters.tolist()
print(f"after a result of 0: instruction {branches[0]} next; if it had to be negative: instruction {strict[0]}")

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/algorithm-1 -->
# <blockquote>
#
# **Algorithm 1 (SUBLEQ)** *Section 3; Appendix C.1; also Algorithm 2*
#
# **The paper states.** SUBLEQ(a, b, c): 1: `mem[b]` = `mem[b]` − `mem[a]`; 2: if `mem[b]` ≤ 0 then 3: goto instruction
# c; 4: else 5: goto next instruction; 6: end if.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** A sentence of Appendix C.1 says "if the result is negative". The algorithm and the flag need "at
# most 0".
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# To add, we subtract a negative number. To copy, we clear a cell and subtract twice. To jump, we subtract a cell from
# itself. For the integer root of $x$ we subtract 1, 3, 5, … while we can, and count.
#
# ## See it run
# A small assembler reads plain text. Here is the square root, also in the paper's notation.

# %%
print(library_text("square_root"))
print(assemble(library_text("square_root"), bits).notation())

# %% [markdown]
# It rejects programs that the machine cannot run.

# %%
mistakes = [
    "x = 3\nx -= minus_one if <= 0 goto dne\ndone: halt",
    "x = 3\nx -= mem[9]\nhalt",
    f"x = {2**bits}\nx -= x\nhalt",
    "x = 3\nx -= x",
    "x = 1 2 3 4 5 6 7 8\nx -= x\nhalt",
]
refusals = []
for text in mistakes:
    try:
        assemble(text, bits, address_bits=3)
    except AssemblyError as error:
        refusals.append(str(error))
print(*refusals, sep="\n")

# %% [markdown]
# The other seven follow. We write out the last three round by round, because no program can compute an index here.

# %%
for name in ("multiply", "divide", "factorial", "fibonacci"):
    print(f"--- {name}\n{library_text(name)}")
for name, shown in (("reverse", 11), ("linear_search", 19), ("bubble_sort", 21)):
    lines = library_text(name).splitlines()
    print(f"--- {name.replace('_', ' ')}", *lines[:shown], f"      ... {len(lines) - shown} lines more\n", sep="\n")

# %% [markdown]
# We run all eight in the machines of ten and four layers and compare every step with an interpreter, and the results
# with Python.

# %%
numbers = [12, -7, 30, 0, 12, -1]
four = numbers[:4]
tasks = {
    "multiply": ({"x": x, "y": y}, "product", [x * y]),
    "divide": ({"x": x, "y": y}, "quotient", [*divmod(x, y)]),
    "square_root": ({"x": x}, "root", [math.isqrt(x)]),
    "factorial": ({"n": n}, "result", [math.factorial(n)]),
    "fibonacci": ({"n": n}, "a", [[0, 1, 1, 2, 3, 5][n]]),
    "reverse": ({"list": numbers}, "list", numbers[::-1]),
    "linear_search": ({"list": numbers, "wanted": 30}, "place", [numbers.index(30)]),
    "bubble_sort": ({"list": four}, "list", sorted(four)),
}


# %%
def task_row(name: str) -> list[object]:
    """One program in both machines: its size, its result, whether it is right, and programs wrong at some step."""
    values, cell, wanted = tasks[name]
    source = assemble(library_text(name), bits).with_inputs(values)
    run, wrong = interpret(source, bits, 20_000), []
    for depth in (10, 4):
        machine = SubleqMachine(address_bits(source.columns()), bits, depth)
        wrong.append(conformance(machine, [source], len(run) + 1, inverse_temperature).wrong)
        runner = SubleqRunner(machine, [source], inverse_temperature)
        for _ in range(len(run)):
            runner.cycle()
        memory = runner.memories()[0].tolist()
        found = memory[source.cells[cell] : source.cells[cell] + len(wanted)]
    said = ", ".join(map(str, found))
    return [name.replace("_", " "), source.columns(), len(run), said, found == wanted, *wrong]


rows = [task_row(name) for name in tasks]
show.table(["program", "columns", "steps", "result", "right", "wrong, 10 layers", "wrong, 4 layers"], rows)

# %% [markdown]
# ### The cost of a cycle
# With full attention, each column attends to all others, so the work grows with $n^2$. The paper remarks that only
# the scratchpad needs this. A runner that exploits this returns the same states.


# %%
def literal_work(layer: DenseLayer, columns: int) -> int:
    """Multiplications of one dense layer."""
    width, work = layer.w1.shape[1], 2 * columns * layer.w1.numel()
    for head in layer.heads:
        work += columns * width * (2 * len(head.key) + width) + columns**2 * (len(head.key) + width)
    return work


def works(size: int) -> tuple[int, int]:
    """Multiplications of a cycle on so many columns: of the literal layers, and of the runner."""
    machine = SubleqMachine(address_bits(size), 8)
    runner = SubleqRunner(machine, [random_program(size // 3, size - 4 - size // 3, 8, seed)])
    return sum(literal_work(one, size) for one in machine.dense), runner.multiplications


sizes = [2**k for k in range(4, 11)]
literal, needed = zip(*[works(size) for size in sizes], strict=True)

# %%
fig, axis = show.axes(width=6, height=3)
axis.loglog(sizes, literal, "o-", label="literal layers")
axis.loglog(sizes, needed, "s-", label="scratchpad only")
axis.set(xlabel="$n$, columns", ylabel="multiplications per cycle")
axis.legend()
show.figure(
    fig,
    name="cost",
    caption="Multiplications in a cycle of the ten-layer machine, $N=8$. With full attention they eventually grow "
    "with $n^2$. If only the scratchpad attends to all columns, they grow with $n$.",
    alt="Two rising curves on logarithmic axes against the number of columns; the upper bends to slope two, the lower "
    "stays far below it and bends to slope one.",
)

# %% [markdown]
# The upper curve bends towards slope 2, and the lower one towards slope 1.

# %%
same = SubleqMachine(5, 8)
programs = [random_program(12, 16, 8, seed + k) for k in range(20)]
sharp = max(inverse_temperature, 30.0)
runner, state = SubleqRunner(same, programs, sharp), same.load(programs)
differing = 0
for _ in range(25):
    runner.cycle()
    state = same.cycle(state, sharp)
    differing += int((runner.state() != state).sum())
wide = SubleqMachine(address_bits(wide_columns), wide_bits)
cells = wide_columns // 2
large = [random_program(cells, wide_columns - 4 - cells, wide_bits, seed + k) for k in range(4)]
wide_found = conformance(wide, large, 60, inverse_temperature)
print(f"{wide_columns} columns, {wide_bits} bits, {wide.rows.size} rows: {wide_found.steps} steps compared")

# %% [markdown]
# ## How we checked
# All eight results, every step in both machines, and a machine with 1,024 columns must be right. With "negative" in
# place of "at most zero", a result of 0 must lead to a failure.

# %%
claim = Claim("looped-transformers/algorithm-1")
claim.equal("memory after two steps, by hand", str(by_hand.memories[-1].tolist()), "[0, -1, 1, 2]")
claim.equal("counters, by hand", str(by_hand.counters.tolist()), "[1, 2]")
claim.equal("a result of 0 branches", str(branches), "[2]")
claim.equal("programs of the library with the right result", sum(row[4] for row in rows), len(library()))
claim.equal("programs with a wrong step, ten layers", sum(row[5] for row in rows), 0)
claim.equal("programs with a wrong step, four layers", sum(row[6] for row in rows), 0)
claim.equal("wrong programs on the large machine", wide_found.wrong, 0)
claim.equal("entries in which runner and literal layers differ", differing, 0)
claim.at_most("multiplications, 1024 columns over 512: what is needed", needed[-1] / needed[-2], 2.1)
claim.control.at_most("multiplications, 1024 columns over 512: literal layers", literal[-1] / literal[-2], 2.1)
claim.equal("mistakes refused", len(refusals), len(mistakes))
claim.control.equal("the reading 'negative' branches on 0", str(strict), "[2]")
claim.verdict()

# %% [markdown]
# ## What to remember
# - One instruction is enough for arithmetic and sorting, and the transformer runs it exactly.
# - A cycle costs work in proportion to the number of columns if only the scratchpad attends to all of them.
#
# ## Exercises
#
# 1. *By hand.* Cells hold $x=4$, $y=3$ and $z=0$. Add $x$ to $y$ with two subtractions.
#    <details><summary>Solution</summary>
#
#    SUBLEQ(x, z) makes $z=-4$, and SUBLEQ(z, y) makes $y=3-(-4)=7$.
#
#    </details>
# 2. *Predict, then run.* Set `x = 60`. What are the root and the product with 6, and do 10 bits suffice?
#    <details><summary>Solution</summary>
#
#    The root is 7, because $7^2\le60<8^2$. The product is 360. Ten bits reach 511, so they suffice.
#
#    </details>
#
# Next: [Algorithm 6](algorithm_6_minsky.ipynb). Eight programs do not show that every program can be written.

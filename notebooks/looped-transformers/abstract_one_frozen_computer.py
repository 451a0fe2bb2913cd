# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 1 · One frozen transformer for all programs
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Abstract and Section 1.*
#
# You buy one computer and run many programs on it, instead of building a new machine for each program. Can we use a
# transformer in the same way? The abstract promises a single frozen transformer that calculates, inverts matrices and
# even trains models, depending on the instructions in its input. In the paper, each of these programs has its own lemma
# with its own transformer. We run five programs on one machine and watch the machine's weights.

# %%
import copy
import math

import torch

from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock, SigmoidSumBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.looped_transformers.programs.backpropagation_program import machine_program
from attention_theory.looped_transformers.programs.calculator import calculator_program, calculator_sums
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.looped_transformers.programs.power_iteration import power_program
from attention_theory.looped_transformers.programs.regression import unrolled_program
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
d = 4  # size of the matrices, from 3 to 6
rounds = 6  # of Newton's iteration and of the power iteration, from 3 to 12
epochs = 2  # passes over the data in the two trainings, from 1 to 4
seed = 0  # of matrices and data, at least 0

# %%
require(d=(d, 3, 6), rounds=(rounds, 3, 12), epochs=(epochs, 1, 4), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Let the memory hold $x=3$, $y=4$ and $t=0$, and let the program have three instructions: store the product of $x$ and
# $y$ in $t$; add $x$ to $t$; halt. All of this is the *input* of the transformer, together with a counter that gives
# the number of the next instruction, starting from 0:
#
# | | counter | $x$ | $y$ | $t$ |
# | --- | --- | --- | --- | --- |
# | input | 0 | 3 | 4 | 0 |
# | after one pass | 1 | 3 | 4 | 12 |
# | after two passes | 2 | 3 | 4 | 15 |
#
# Now we change a single entry of the input: the name of the function in the first instruction, from `mul` to `add`. The
# same weights then return $7$ and $10$.

# %%
groups = {"scratchpad": (0.3, 2.3), "memory": (2.9, 1.4), "program": (7.2, 2.05)}  # where each begins, and its step
program = ["t = x · y", "t = t + x", "halt"]
states = {  # the height at which a state is drawn, its words, and which of them are lit
    5.0: ((["counter 0"], ["x: 3", "y: 4", "t: 0"], program), ({0}, {0, 1}, {0})),
    0.6: ((["counter 1"], ["x: 3", "y: 4", "t: 12"], program), ({0}, {2}, set())),
}
fig, axis = schematic.canvas(width=7.2, height=3.5)
for height, (words, lit) in states.items():
    for (left, step), boxes, bright in zip(groups.values(), words, lit, strict=True):
        schematic.tokens(axis, boxes, (left, height), bright, step)
for name, middle in zip(groups, (1.3, 4.85, 10.1), strict=True):
    schematic.text(axis, (middle, 6.4), name, size=11)

# %%
schematic.tokens(axis, ["frozen transformer: one pass executes one instruction"], (2.4, 2.8), step=8.9)
for top in (4.9, 2.7):
    schematic.arrow(axis, (6.7, top), (6.7, top - 1.1), colour=schematic.QUIET)
schematic.arrow(axis, (13.1, 1.05), (13.1, 5.45), bend=-0.25)
schematic.text(axis, (12.9, 3.25), "output\nbecomes\ninput", schematic.BLUE, align="right")
show.figure(
    fig,
    name="one-pass",
    caption="One pass of the tiny example. Each box stands for one column of the input or for several. The blue boxes "
    "at the top show what the pass reads, those at the bottom what it writes.",
    alt="Two rows of boxes, the input above and the output below, each with a scratchpad, three memory cells and three "
    "instructions; a box for the transformer between them, and an arrow from the output back to the input.",
)

# %% [markdown]
# We see that a pass changes only the counter and one cell of memory. The program passes through unchanged, and the
# output has the form of an input, so we can feed it back. The machine multiplies with a softmax that is nearly
# linear. Its result 12 is therefore right only to about $10^{-5}$, and no product on this page is exact.
#
# ## The paper states
# <!-- claim looped-transformers/remark-one-frozen -->
# <blockquote>
#
# **Abstract and Section 1 (One frozen transformer for all programs)** *Abstract; Section 1*
#
# **The paper states.** We show how a single frozen transformer, instructed by its input, can emulate a basic
# calculator, a basic linear algebra library, and even a full backpropagation, in-context learning algorithm.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The weights depend only on how many columns a program has, how large its matrices are, and which
# functions it may call. If we pad five programs to the same size, they lead to the same weights, bit for bit.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A pass does the same work for every instruction. It fetches the instruction whose address is in the counter, copies
# the operands from memory into the scratchpad, and lets *every* function block compute. It keeps the result of the
# block that the instruction names, writes it to memory, and sets the counter. Attention finds a column by comparing
# addresses, so the weights contain no address of any particular program.
#
# The weights depend on only three choices: the number of columns, because addresses need enough bits to number them;
# the largest size of a matrix; and the set of function blocks. We can make all three choices once for several
# programs. We *pad* a shorter program with empty cells after its memory and idle instructions before its halt.
#
# ## See it run
# ### Five programs
# Each program has its own page: [Newton's iteration](lemma_7_newton.ipynb) for the inverse, [power
# iteration](lemma_8_power_iteration.ipynb) for an eigenvector, [gradient descent](lemma_23_sgd.ipynb) on a linear
# model, [back-propagation](lemma_9_backpropagation.ipynb) and the [calculator](theorem_4_calculator.ipynb). We choose
# well-conditioned matrices, so that the errors of the products are not magnified.

# %%
source = generator(seed)


def draw(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


basis = torch.linalg.qr(torch.cat([torch.ones(d, 1) + 0.2 * draw(d, 1), draw(d, d - 1)], dim=1))[0]
positive = basis @ torch.diag(torch.linspace(0.5, 1.5, d, dtype=torch.float64)) @ basis.mT
dominated = basis @ torch.diag(torch.linspace(1.0, -0.3, d, dtype=torch.float64) ** 3) @ basis.mT
x, y, zeros = draw(3, d), draw(3), torch.zeros(d, dtype=torch.float64)
network = SigmoidNetwork.random(d, d, seed)
programs = {
    "Newton's inverse": newton_program(positive, rounds),
    "power iteration": power_program(dominated, rounds),
    "SGD, linear model": unrolled_program(zeros, x, y, 0.1, epochs),
    "back-propagation": machine_program(network, x[:1], y[:1], 0.2, epochs),
    "calculator": calculator_program(1.3, 2.1, 0.7, 0.9, d),
}

# %% [markdown]
# ### One machine
# The machine has every function block that any of the five programs needs, and room for the longest program. Each
# layer has as many heads as the most demanding block, which computes the calculator's sums of sigmoids.

# %%
cells = max(len(program.memory) for program in programs.values())
instructions = max(len(program.code) for program in programs.values())
inputs = {name: program.padded(cells, instructions) for name, program in programs.items()}
reciprocal, root = calculator_sums(0.2, 0.2, 6.0, 4.0)
sums = [SumBlock("add", 1), SumBlock("sub", 1)]
curves = [SigmoidSumBlock("inverse", reciprocal), SigmoidSumBlock("root", root)]
blocks = [ProductBlock(), *sums, TransposeBlock(), RowSigmoidBlock(), *curves]
machine = FleqMachine(inputs["calculator"], blocks)
sizes = summarise(machine.transformer)
show.table(
    ["program", "cells", "instructions", "cells, padded", "instructions, padded"],
    [
        (name, len(program.memory), len(program.code), len(inputs[name].memory), len(inputs[name].code))
        for name, program in programs.items()
    ],
    caption=f"The machine has {sizes.layers} layers, {sizes.width} rows, {machine.layout.columns} columns and "
    f"{sizes.nonzeros} weights that are not zero.",
)

# %% [markdown]
# Back-propagation needs the most cells and the most instructions, so we pad the other four programs to its size.
#
# ### Five runs
# We run the five inputs on the same Python object. After every pass we compare the counter and the memory with an
# interpreter that knows nothing about transformers. After every run we compare the weights with a copy that we made
# before the first run.

# %%
functions = FUNCTIONS | {block.name: block.reference for block in curves}
references = {name: interpret(program, functions=functions) for name, program in inputs.items()}
before, runs, touched = copy.deepcopy(machine.transformer), {}, []
for name, program in inputs.items():
    runs[name] = machine.run(program, len(references[name].counters) + 2)
    touched.append(not machine.transformer.same_weights(before))
results = {name: compare(run, references[name]) for name, run in runs.items()}
show.table(
    ["program", "cycles", "counter right in every cycle", "largest deviation in memory", "largest entry"],
    [
        (name, one.cycles, one.counters_agree, one.deviation, torch.stack(references[name].memories).abs().max())
        for name, one in results.items()
    ],
)

# %% [markdown]
# We draw which instruction each pass executes, and how far the machine's memory is from the interpreter's.

# %%
fig, axes = show.axes(1, 2, width=8.5, height=3.6)
for name, one in results.items():
    axes[0].plot(range(1, one.cycles + 1), references[name].executed, label=name)
    axes[1].semilogy(range(1, one.cycles + 1), [max(value, 1e-17) for value in one.deviations], label=name)
axes[0].set(xlabel="cycle", ylabel="instruction executed")
axes[1].set(xlabel="cycle", ylabel="deviation in memory")
axes[0].legend(fontsize=7)
show.figure(
    fig,
    name="five-programs",
    caption="Five programs in one transformer. Left: the instruction of each cycle, up to the one before the halt. "
    "Right: the deviation from the interpreter, mostly near the error of a single product.",
    alt="Left: five curves, one for each program, of different lengths; four go back and forth in their loops, and "
    "the short one of the calculator rises straight. Right: five curves on a logarithmic axis, most of the time "
    "near ten to the minus seven.",
)

# %% [markdown]
# On the left we see the loops of four programs and the short straight line of the calculator, all traced by one set of
# weights. On the right, the distance stays below $10^{-6}$ to the end. This distance comes from the products, each of
# which is off by about $10^{-7}$.
#
# ## How we checked
# We build a machine from each of the five inputs and compare all weights bit by bit. As controls, we leave out the
# padding, change a bit of the input, and change a weight.

# %%
twins = {name: FleqMachine(program, blocks).transformer for name, program in inputs.items()}
equal = {name: twin.same_weights(machine.transformer) for name, twin in twins.items()}
own = {name: FleqMachine(program, blocks).transformer for name, program in programs.items()}
equal_unpadded = {name: one.same_weights(machine.transformer) for name, one in own.items()}


def refusal(count):
    """What is said to back-propagation through a number of points."""
    try:
        machine_program(network, x[:count], y[:count], 0.2, epochs).padded(cells, instructions)
    except ParameterError as error:
        return str(error)
    return ""


print("one point more:", refusal(2))

# %% [markdown]
# Without padding the machines differ, because longer addresses need more rows. The machine refuses a program that is
# too large, with a message that says why.
#
# If the weights are the same, only the input can distinguish the programs. We therefore change one bit of the input:
# the lowest bit of the function's number in the first instruction of Newton's program.

# %%
layout, chosen = machine.layout, inputs["Newton's inverse"]
place = layout.rows["function"].start - layout.instruction_rows.start  # within an instruction's column
state = layout.pack(chosen)
layout.rows.view(state, "memory")[layout.first_instruction, place] *= -1
for _ in range(len(references["Newton's inverse"].counters)):
    state = machine.cycle(state)
turned = (layout.memory(state) - references["Newton's inverse"].memory).abs().max().nan_to_num(math.inf)

# %% [markdown]
# Would we notice if a weight changed between two programs? In a copy of the machine we negate the first nonzero
# weight of the last layer before the calculator runs.

# %%
other = FleqMachine(inputs["calculator"], blocks)
changed = other.transformer.dense[-1].w1
changed[tuple(changed.nonzero()[0])] *= -1
noticed = not other.transformer.same_weights(before)
tampered = compare(other.run(inputs["calculator"], 20), references["calculator"])

# %% [markdown]
# Both the comparison of weights and the run itself should notice the change.

# %%
claim = Claim("looped-transformers/remark-one-frozen")
claim.equal("programs whose machine has other weights, bit for bit, of 5", list(equal.values()).count(False), 0)
claim.equal("programs after which a weight is another than before, of 5", sum(touched), 0)
wrong = sum(not one.counters_agree for one in results.values())
claim.equal("programs with a wrong counter in any cycle, of 5", wrong, 0)
claim.equal("programs that do not end in their halt, of 5", sum(not run.halted for run in runs.values()), 0)
claim.at_most("deviation in memory", {name: one.deviation for name, one in results.items()}, 1e-4)
claim.at_most("layers (13 at the most, as everywhere in the paper)", sizes.layers, 13)
claim.true("a program too large is refused by name", "instructions must" in refusal(2))
claim.control.equal("not padded: machines with other weights, of 5", list(equal_unpadded.values()).count(False), 0)
claim.control.at_most("a bit of a function's number turned: deviation", turned, 1e-4)
claim.control.equal("a weight turned before a program: machines with other weights", noticed, False)
claim.control.true("a weight turned before a program: its counter is right in every cycle", tampered.counters_agree)
claim.number("cycles of all programs", sum(one.cycles for one in results.values()))
claim.number("heads of the widest layer", sizes.heads)
claim.number("rows", sizes.width)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# A product adds an error of about $10^{-7}$ times the square of its size. Over about a hundred passes, with entries of
# size at most 10, these errors add up to the bound of $10^{-4}$. For the calculator, the interpreter evaluates the same
# sums of sigmoids as the machine, so we test the machine and not the approximation of $1/x$ and $\sqrt x$. A padded
# program may take one more pass, because a program that used to run straight into its halt first meets an idle
# instruction, which jumps to the halt.
#
# </details>
#
# ## What to remember
# - One set of weights inverts a matrix, finds an eigenvector, trains two models and calculates.
# - The program is in the input. Changing one bit of it changes the result, while every weight stays the same.
# - The weights depend on a program only through its size and the functions it needs, so padded programs can share a
#   machine.
#
# ## Exercises
#
# 1. *By hand.* Change the program of the tiny example so that it ends with $t=9$ in two passes. How many columns do
#    you change?
#    <details><summary>Solution</summary>
#
#    Since $9 = 3\cdot4-3$, we keep the first instruction and let the second subtract, $t = t - x$. We change one
#    column, and in it only the number of the function.
#
#    </details>
# 2. *Predict, then run.* Set `epochs = 4`, so that both training programs go over their data four times instead of
#    twice. What happens to the number of their cycles, to the size of the machine and to its weights?
#    <details><summary>Solution</summary>
#
#    Gradient descent takes 81 cycles instead of 41, and back-propagation takes 112 instead of 56. The size and the
#    weights stay as they are, because the number of loops is an entry in a program's memory.
#
#    </details>
#
# Next: [The computer as a file](machine_as_a_file.ipynb), because weights that never change can be saved once and then
# run without this book.

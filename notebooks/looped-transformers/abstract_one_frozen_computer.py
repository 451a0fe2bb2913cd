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
# A computer is one machine, and programs are what changes. The abstract promises the same of a transformer: a single
# one, its weights frozen, is to be a calculator, a library of linear algebra and a training algorithm, as its input
# instructs it. The pages of this chapter build a machine for each program. Here a single one runs them all.
#
# <!-- claim looped-transformers/remark-one-frozen -->
# <blockquote>
#
# **Abstract and Section 1 (One frozen transformer for all programs)** *Abstract; Section 1*
#
# A single transformer with fixed weights, looped and instructed by its input, is a calculator, a library of linear
# algebra (inverse, eigenvector) and a training algorithm with back-propagation. The programs have to be of one size, to
# which shorter ones are padded.
#
# </blockquote>
# <!-- /claim -->

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
from attention_theory.looped_transformers.fleq.padding import padded
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.backpropagation import random_network
from attention_theory.looped_transformers.programs.backpropagation_program import machine_program
from attention_theory.looped_transformers.programs.calculator import calculator_program, calculator_sums
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.looped_transformers.programs.power_iteration import power_program
from attention_theory.looped_transformers.programs.regression import unrolled_program
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # size of the matrices, from 3 to 6
rounds = 6  # of Newton's iteration and of the power iteration, from 3 to 12
epochs = 2  # passes over the data in the two trainings, from 1 to 4
seed = 0  # of matrices and data, at least 0

# %%
require(d=(d, 3, 6), rounds=(rounds, 3, 12), epochs=(epochs, 1, 4), seed=(seed, 0, None))

# %% [markdown]
# ## Five programs
# Each is from its own page: Newton's iteration for the inverse (Lemma 7), power iteration (Lemma 8), gradient descent
# on a linear model (Lemma 23), a step of back-propagation (Lemma 9), and the calculator (Theorem 4). Their matrices are
# well conditioned, so that what the products add is not magnified.

# %%
source = generator(seed)


def draw(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


basis = torch.linalg.qr(torch.cat([torch.ones(d, 1) + 0.2 * draw(d, 1), draw(d, d - 1)], dim=1))[0]
positive = basis @ torch.diag(torch.linspace(0.5, 1.5, d, dtype=torch.float64)) @ basis.mT
dominated = basis @ torch.diag(torch.linspace(1.0, -0.3, d, dtype=torch.float64) ** 3) @ basis.mT
x, y, zeros = draw(3, d), draw(3), torch.zeros(d, dtype=torch.float64)
network = random_network(d, d, seed)
programs = {
    "Newton's inverse": newton_program(positive, rounds),
    "power iteration": power_program(dominated, rounds),
    "SGD, linear model": unrolled_program(zeros, x, y, 0.1, epochs),
    "back-propagation": machine_program(network, x[:1], y[:1], 0.2, epochs),
    "calculator": calculator_program(1.3, 2.1, 0.7, 0.9, d),
}

# %% [markdown]
# ## One size, one machine
# The weights know nothing of a program but its size: how many columns of memory and of instructions there are, and how
# large a matrix is. So all programs are *padded* to the longest: empty cells behind the memory, idle instructions
# before the halt. The machine has all function blocks that any of them needs. In each layer it has as many heads as the
# block that has most; that is the calculator's sums of sigmoids.

# %%
cells = max(len(program.memory) for program in programs.values())
instructions = max(len(program.code) for program in programs.values())
inputs = {name: padded(program, cells, instructions) for name, program in programs.items()}
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
# Is it really one set of weights? A machine is built from each of the five inputs, and all their matrices are compared
# bit by bit. Without the padding they differ: longer addresses need more rows.

# %%
twins = {name: FleqMachine(program, blocks).transformer for name, program in inputs.items()}
equal = {name: twin.same_weights(machine.transformer) for name, twin in twins.items()}
own = {name: FleqMachine(program, blocks).transformer for name, program in programs.items()}
equal_unpadded = {name: one.same_weights(machine.transformer) for name, one in own.items()}


def refusal(count):
    """What is said to back-propagation through a number of points."""
    try:
        padded(machine_program(network, x[:count], y[:count], 0.2, epochs), cells, instructions)
    except ParameterError as error:
        return str(error)
    return ""


print("one point more:", refusal(2))

# %% [markdown]
# ## Five runs
# The same object runs the five inputs, and its weights are compared with a copy made beforehand, after every run. After
# each pass its program counter has to be the interpreter's. For the calculator the interpreter evaluates the same sums
# of sigmoids.

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
# Left, which instruction is executed in each pass: the loops of the programs, all traced by one set of weights. Right,
# how far the memory is from the interpreter's.

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
    "Right: the deviation from the interpreter, at the floor of the product block.",
    alt="Left: five curves, one for each program, of different lengths; four go to and fro in their loops, and the "
    "short one of the calculator rises straight. Right: five curves on a logarithmic axis, most of the time in the "
    "neighbourhood of ten to the minus seven.",
)

# %% [markdown]
# ## Instructed by the input
# If the weights are the same, all that tells the programs apart is in the input. To see that it is read, one bit of it
# is turned: the lowest bit of the function's number in the first instruction of Newton's program. The weights do not
# change, and the result does.

# %%
layout, chosen = machine.layout, inputs["Newton's inverse"]
place = layout.rows["function"].start - layout.instruction_rows.start  # within an instruction's column
state = layout.pack(chosen)
layout.rows.of(state, "memory")[layout.first_instruction, place] *= -1
for _ in range(len(references["Newton's inverse"].counters)):
    state = machine.cycle(state)
turned = (layout.memory(state) - references["Newton's inverse"].memory).abs().max().nan_to_num(math.inf)

# %% [markdown]
# And would a weight that is changed between two programs be noticed? In a copy of the machine the first weight of the
# last layer that is not zero is turned to its opposite before the calculator runs: by the comparison of weights, and by
# the run.

# %%
other = FleqMachine(inputs["calculator"], blocks)
changed = other.transformer.dense[-1].w1
changed[tuple(changed.nonzero()[0])] *= -1
noticed = not other.transformer.same_weights(before)
tampered = compare(other.run(inputs["calculator"], 20), references["calculator"])

# %% [markdown]
# A product adds about $10^{-7}$ times its size; some hundred cycles on entries of size 10 or less make that the bound
# of $10^{-4}$.

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
# The first control shows that weights do depend on the sizes of a program, which is why programs are padded; that they
# depend on nothing else of it is what the equality bit for bit says. The last two show that both the comparison and the
# runs would notice a single weight that is changed.
#
# ## What was learned
# The promise of the abstract is kept to the letter: one transformer, with weights that are equal bit for bit whichever
# program it is built from, inverts a matrix, finds an eigenvector, trains two models and calculates. What a program
# needs of the weights is its size alone, so a program can be padded to any larger one; what is larger than the machine
# is refused. All that can be seen of rounding is the error of the product block.
#
# ## To try
# - Set `d = 5`: the weights are others, and again one set runs all five programs.
# - Set `epochs = 4`: the trainings take twice the cycles, and the weights and all sizes stay as they are.

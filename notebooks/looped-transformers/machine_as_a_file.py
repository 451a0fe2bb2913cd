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
# # Section 1 · The computer as a file
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: title, Abstract and Section 1.*
#
# If a looped transformer is a computer, its weights never change, and we can save them once. A reader who has the file
# then needs neither the construction nor this book: the program is in the input. Is the file enough to run it?

# %%
import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import torch

from attention_theory.looped_transformers.fleq.conformance import random_fleq_program
from attention_theory.looped_transformers.fleq.frozen import FrozenFleq
from attention_theory.looped_transformers.portable.computer_file import ComputerFile
from attention_theory.looped_transformers.portable.frozen import METADATA
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import interpret, random_program
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% [markdown]
# ## The paper states
#
# <!-- claim looped-transformers/remark-programmable -->
# <blockquote>
#
# **Title and Abstract (The weights are the computer)** *Title; Abstract; Section 1*
#
# **The paper states.** We present a framework for using transformer networks as universal computers by programming them
# with specific weights and placing them in a loop. Our input sequence acts as a punchcard, consisting of instructions
# and memory for data read/writes.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The weights alone, in a file, and a runtime that has matrix products, ReLU and softmax, and can
# move entries to their places, execute every program that fits.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A cycle of the machine is a fixed list of matrix products, sums, ReLUs and softmaxes. ONNX is a file format for such
# lists. We therefore write one cycle to a file and run it in a loop. The file must also say where a program goes: the
# sizes of the machine, the names of its rows, and an input without a program.
#
# ## See it run
# You can make the same file from the command line:
# `book export looped-transformers/subleq --layers 4 -o computer.onnx`. With another file extension, you get the
# matrices $K$, $Q$, $V$, $W_1$, $b_1$, $W_2$ and $b_2$ of every layer as JSON.

# %% tags=["parameters"]
layers = 4  # of the computer with one instruction, one of 4, 6, 10
integers = 16  # memory cells that a program may have, from 8 to 100
instructions = 12  # instructions that a program may have, from 8 to 100
bits = 8  # of an integer, from 8 to 16
programs = 100  # random programs, from 20 to 2000
cycles = 25  # of each program, from 10 to 100
seed = 0  # of the programs, at least 0

# %%
require(layers=(layers, [10, 6, 4]), integers=(integers, 8, 100), instructions=(instructions, 8, 100))
require(bits=(bits, 8, 16), programs=(programs, 20, 2000), cycles=(cycles, 10, 100), seed=(seed, 0, None))

# %%
computer = FrozenSubleq(layers, integers, instructions, bits)
content, plain = computer.frozen.onnx(), computer.frozen.json()
session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
about = json.loads(session.get_modelmeta().custom_metadata_map[METADATA])
size = about["of the transformer"]
columns, rows = about["state"]
kilobytes = [len(content) // 1000, len(plain) // 1000]
show.table(
    ["layers", "heads", "rows", "columns", "parameters", "not zero", "kB as ONNX", "kB as JSON"],
    [[size["layers"], size["heads"], rows, columns, size["parameters"], size["nonzeros"], *kilobytes]],
    caption=f"The file of a computer for programs of {integers} integers of {bits} bits and {instructions} "
    "instructions, as its own metadata describe it.",
)

# %% [markdown]
# We read $W_1$ from the JSON file and draw its non-zero entries.

# %%
written = json.loads(plain)
fig, axis = show.axes(width=8, height=3.4)
edge = 0
for layer in written["layers"]:
    unit, row, value = np.array(layer["W1"]["entries"]).reshape(-1, 3).T
    axis.scatter(edge + unit, row, s=1, c=np.sign(value), cmap=show.SIGNED, vmin=-1, vmax=1)
    edge += layer["W1"]["shape"][0]
    axis.axvline(edge, color="grey", linewidth=0.8)
axis.invert_yaxis()
axis.set(xlabel="hidden unit, layer by layer", ylabel="row of the state")
show.figure(
    fig,
    name="weights",
    caption="The nonzero entries of $W_1$ in all layers, side by side, read from the JSON file. Blue is positive, "
    "orange negative.",
    alt="Points in as many vertical bands as there are layers. They form a few short diagonals, staircases and "
    "lines; nearly all of the area is empty.",
)


# %% [markdown]
# Nearly all weights are zero. The others form short diagonals and staircases.
#
# ### A program without torch
# The following is all the code that we need to run a program. We write a number in bits, the lowest first, with $-1$ in
# place of 0.


# %%
def in_bits(numbers, count):
    return (np.array(numbers)[..., None] >> np.arange(count)) % 2 * 2.0 - 1


# %% [markdown]
# We put the memory and the instructions where the file says they belong. The program multiplies 7 by 9: it subtracts 7
# nine times and changes the sign. Cells 0 and 1 hold 0 and $-1$ in every program. With the file on disk, you would
# start the runtime with `InferenceSession("computer.onnx")`.

# %%
memory, code = [0, -1, 7, 9, 1, 0, 0], [(2, 5, 1), (4, 3, 3), (0, 0, 0), (5, 6, 4)]

runtime = onnxruntime.InferenceSession(content)
about = json.loads(runtime.get_modelmeta().custom_metadata_map["machine"])
at = {name: slice(*ends) for name, ends in (about["rows"] | about["columns"]).items()}
state = np.zeros(about["state"])
for column, row, value in about["blank"]:
    state[column, row] = value
state[at["cells"], at["memory"]][: len(memory)] = in_bits(memory, about["sizes"]["bits"])
places = np.add(code, [at["cells"].start, at["cells"].start, at["instructions"].start])
fields = in_bits(places, about["sizes"]["address_bits"]).reshape(len(code), -1)
state[at["instructions"], at["command"]][: len(code)] = fields
for _ in range(40):
    state = runtime.run(None, {"state": state[None]})[0][0]
product = int((state[at["cells"], at["memory"]][6] > 0) @ 2 ** np.arange(about["sizes"]["bits"]))
print("7 times 9 is", product)

# %% [markdown]
# ### A hundred programs
# We run random programs from the file and in torch. After each cycle, we compare the two states, and we compare the
# counter and the memory with the interpreter's. A program is wrong if it is wrong in any cycle.

# %%
machine, file = computer.machine, ComputerFile(content)
sources = [computer.fitted(random_program(integers, instructions, bits, seed + number)) for number in range(programs)]
references = [interpret(source, bits, cycles) for source in sources]


# %%
def wrong_programs(runtime):
    """Programs with a wrong counter or memory in some cycle; the largest difference of a state to torch's."""
    ours = theirs = machine.load(sources)
    counters, memories, apart = [], [], 0.0
    for _ in range(cycles):
        theirs, ours = machine.cycle(theirs, computer.inverse_temperature), runtime.cycle(ours)
        apart = max(apart, float((ours - theirs).abs().max()))
        counters.append(machine.counter(ours, sources[0]))
        memories.append(machine.memory(ours, sources[0]))
    wrong = 0
    for number, run in enumerate(references):
        same = torch.equal(torch.stack(counters)[: len(run), number], run.counters)
        wrong += not (same and torch.equal(torch.stack(memories)[: len(run), number], run.memories))
    return wrong, apart


wrong, apart = wrong_programs(file)
print(f"wrong: {wrong} of {programs}; largest difference to torch: {apart}")

# %% [markdown]
# As a control we change the sign of one weight in the layer that writes.

# %%
altered = onnx.load_from_string(content)
name = f"layers.{machine.writing_layer}.w2"
(weights,) = [one for one in altered.graph.initializer if one.name == name]
numbers = onnx.numpy_helper.to_array(weights).copy()
numbers[tuple(np.argwhere(numbers)[0])] *= -1
weights.CopyFrom(onnx.numpy_helper.from_array(numbers, name))
wrong_altered, _ = wrong_programs(ComputerFile(altered.SerializeToString()))
print(f"one sign turned: {wrong_altered} programs of {programs} go wrong")

# %% [markdown]
# ### Functions on matrices
# We write the computer of Theorem 2 to a file in the same way: `book export looped-transformers/fleq -o fleq.onnx`.
# Sums and transposes are as exact as before. A product is not, because the machine multiplies a nearly flat softmax by
# a factor of $10^7$. This factor also multiplies the last digit, which two runtimes round differently.

# %%
matrices = FrozenFleq(size=3, cells=24, instructions=9)
matrix_file = ComputerFile(matrices.frozen.onnx())
layout, exact = matrices.machine.layout, ("add", "sub", "transpose", "rowsigmoid")


def apart_in_memory(functions):
    """The largest difference in memory between file and torch after a cycle, and the cycles compared."""
    draws = [random_fleq_program(functions, 8, 3, seed + number) for number in range(programs // 2)]
    state = torch.stack([layout.pack(matrices.fitted(one)) for one in draws])
    worst, compared, going = 0.0, 0, torch.ones(len(draws), dtype=torch.bool)
    for _ in range(8):
        ours, state = matrix_file.cycle(state), matrices.machine.cycle(state)
        going &= layout.memory(state).abs().amax((1, 2)) <= 4
        difference = (layout.memory(ours) - layout.memory(state)).abs()[going]
        worst, compared = max(worst, float(difference.max())), compared + int(going.sum())
    return worst, compared


# %%
without, cycles_without = apart_in_memory(exact)
with_products, cycles_with = apart_in_memory(("mul", *exact))
show.table(
    ["programs", "cycles", "largest difference between file and torch"],
    [["without products", cycles_without, without], ["with products", cycles_with, with_products]],
    caption=f"Random programs on matrices; a file of {matrices.frozen.about()['of the transformer']['layers']} layers.",
)


# %% [markdown]
# Without products the two runtimes agree almost to the last digit; with products they agree as well as the block itself
# does with the true product.
#
# ### A program that does not fit
# A frozen machine cannot grow. We try programs that are too large or call unknown functions, and read the error
# messages.


# %%
def refusal(attempt):
    """What is said."""
    try:
        attempt()
    except ParameterError as error:
        return str(error).splitlines()[0]
    return ""


long = random_program(integers, instructions + 1, bits, seed)
wide = random_program(integers + 1, instructions, bits, seed)
large = replace(sources[0], memory=(0, -1, 2 ** (bits - 1), *sources[0].memory[3:]))
said = {
    "instructions": refusal(lambda: computer.fitted(long)),
    "cells": refusal(lambda: computer.fitted(wide)),
    "memory": refusal(lambda: machine.load(large)),
    "functions": refusal(lambda: FrozenFleq(functions=("add", "cube"))),
    "state": refusal(lambda: file.cycle(machine.load(sources[0])[1:])),
}
show.table(["what is too much", "what is said"], said.items())

# %% [markdown]
# ## How we checked
# We compare the file with torch, and torch with the interpreter. For matrices, the second comparison is on the page
# about {doc}`Theorem 2 <theorem_2_fleq>`.

# %%
claim = Claim("looped-transformers/remark-programmable")
claim.equal("product of 7 and 9, without torch", product, 63)
claim.equal(f"programs with a wrong cycle in the file, of {programs}", wrong, 0)
claim.at_most("one instruction: largest difference to torch", apart, 1e-12)
claim.at_most("functions on matrices, no products: largest difference to torch", without, 1e-11)
claim.at_most("functions on matrices, with products: largest difference to torch", with_products, 1e-5)
unnamed = [name for name, text in said.items() if name not in text]
claim.equal("what does not fit and is not refused by name", len(unnamed), 0)
claim.control.equal(f"the sign of one weight turned: programs with a wrong cycle, of {programs}", wrong_altered, 0)
claim.number("parameters in the file", size["parameters"])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - *Bounds.* They are $10^{-12}$ for bits, $10^{-11}$ for matrices with a gate of 1000, and $10^{-5}$ for products,
#   as for memory on the page about {doc}`Theorem 2 <theorem_2_fleq>`. At first the second bound was $10^{-12}$, and
#   eight cycles in a row were off by twice that. Now each cycle begins in torch's state.
# - *Large entries.* We follow programs on matrices until an entry exceeds 4.
# - *The control.* Doubling a weight would change nothing, because the rounding at the end of a cycle maps 3 and 1 to
#   the same value.
#
# </details>
#
# ## What to remember
# - The weights of a looped transformer are a computer.
# - A file of less than a megabyte and a runtime with matrix products, ReLU and softmax run every program that fits.
# - For products, two runtimes agree only as well as the product block is accurate.
#
# ## Exercises
#
# 1. *By hand.* Write 5 as the machine does, in four bits.
#
#    <details><summary>Solution</summary>
#
#    In binary, 5 is 0101. With the lowest bit first and $-1$ in place of 0, we get $(1,-1,1,-1)$.
#
#    </details>
#
# 2. *Predict, then run.* Set `layers = 10` for the paper's own construction. How much larger is the ONNX file?
#
#    <details><summary>Solution</summary>
#
#    It has 866 kB instead of 378, and 202,259 parameters instead of 98,669. All programs still run.
#
#    </details>
#
# Next: [Minsky machines](algorithm_6_minsky.ipynb), because a computer with one instruction still has to run every
# other program.

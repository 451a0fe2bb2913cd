# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix O · Programs that rewrite their own addresses
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: the pointer blocks of Algorithms 13, 15 and 16, Appendix O.*
#
# A loop over data needs an address that moves. The instructions of the FLEQ machine ([Theorem 2](theorem_2_fleq.ipynb))
# contain fixed addresses, so a program would need new instructions for every data point. The paper lets programs
# rewrite their own instructions instead. Can the machine do this with the layers that it has?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.certified.fleq_layers import small_machine
from attention_theory.looped_transformers.certified.pointer_moves import certify_pointer_moves
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.conformance import fleq_conformance, random_pointer_program
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.listing import side_by_side
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.looped_transformers.programs.backpropagation_program import (
    listing_beside,
    listing_program,
    read_network,
)
from attention_theory.looped_transformers.programs.regression import descent, sgd_beside, sgd_program
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# The cells `x0`, `x1` and `x2` hold 4, 7 and 2. The instruction `step: s = add(s, x0)` adds the first number to `s`.
# After `advance step.b by 1`, the same instruction reads `s = add(s, x1)`. Two instructions and a jump therefore add
# any number of data points.

# %%
fig, axis = schematic.canvas(7.0, 1.2)
lines = ["s = add(s, x0)", "s = add(s, x1)", "s = add(s, x2)"]
tops = schematic.tokens(axis, lines, (0.3, 0.6), step=4.5)
for (x, y), total in zip(tops, (4, 11, 13), strict=True):
    schematic.text(axis, (x, y + 0.35), f"s becomes {total}", schematic.BLUE, 9)
for x in (4.5, 9.0):
    schematic.arrow(axis, (x, 1.05), (x + 0.3, 1.05))
show.figure(
    fig,
    name="tiny",
    caption="One instruction at three moments. Each arrow is a move of its second address.",
    alt="Three boxes in a row, joined by arrows: s = add(s, x0), s = add(s, x1), s = add(s, x2), above them s becomes "
    "4, 11 and 13.",
)

# %% [markdown]
# We see one instruction that reads three cells, one after the other.
#
# ## The paper states
# <!-- claim looped-transformers/pointer-blocks -->
# <blockquote>
#
# **Pointer increment and reset blocks (Instructions that rewrite themselves)** *Appendix O, Algorithms 13, 15 and 16*
#
# **The paper states.** Lines 6-8 modify the instructions themselves. Notice that the functions $f_\text{incr\_pointer}$
# and $f_\text{reset\_pointer}$ can be directly implemented using Lemma 10.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The FLEQ machine needs no additional layer or head for this. It must move all rows of the
# addresses. Under Theorem 2, whose steps move $d$ rows, the addresses may take at most $d$ rows.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/fleq-self-modifying -->
# <blockquote>
#
# **Self-modifying programs (Programs that rewrite themselves, in the machine)** *Appendix O, Algorithms 13, 15 and 16;
# Remark 4*
#
# **The paper states.** Lines 6-8 modify the instructions themselves; instead of doing this we could have $n_d$ copies
# of the lines 1-3. The utilization of a pointer that changes the instructions themselves would result in a program of
# constant length.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The FLEQ machine, with one head in each of its 12 layers, runs the repaired Algorithms 13, 15
# and 16 on more data points than the program has instructions. In Algorithm 15, a loop over the hidden units runs
# inside the loop over the data.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# An instruction is a column of the input like any other. A move is an instruction whose result address points to a
# column *of the program*. The machine already has all that a move needs: step 2 of a cycle fetches the three addresses
# of that column, step 3 adds to them with the units of [Lemma 2](lemma_2_adder.ipynb), and step 6 writes them back. The
# number to add, or the address to restore, is where other instructions have the target of their jump.
#
# The steps of Theorem 2 move the first $d$ rows of a column. Three addresses take $3\log n$ rows. If these are more
# than $d$, an address is cut and loses its carry, so our machine moves all rows of the addresses.
#
# ## See it run
# For every choice of addresses, a program of two lines moves them through all codes, including the wrap from the last
# to the first.

# %% tags=["parameters"]
d = 3  # size of the machine: entries of a point, and hidden units, from 3 to 4
points = 20  # data points of Algorithm 13, whose program has 18 instructions, from 19 to 100
network_points = 47  # data points of Algorithms 15 and 16, whose program has 46 instructions, from 47 to 100
rate = 0.1  # step size of both trainings, from 0.01 to 0.2
random_programs = 200  # programs that move their pointers at random, from 20 to 10000
inverse_temperature = 40.0  # factor on the scores, at least 20
seed = 0  # of data, network and random programs, at least 0

# %%
require(d=(d, 3, 4), points=(points, 19, 100), network_points=(network_points, 47, 100), rate=(rate, 0.01, 0.2))
require(
    random_programs=(random_programs, 20, 10_000),
    inverse_temperature=(inverse_temperature, 20.0, None),
    seed=(seed, 0, None),
)

# %%
choices, steps = ("a", "b", "c", "ab", "ac", "bc", "abc"), (1, d)
loops = {
    (fields, by): assemble(
        f"again: advance step.{fields} by {by}\nif zero <= 0 goto again\nstep: x = add(x, x) width 1\nhalt",
        {"x": 1.0},
        d,
    )
    for fields in choices
    for by in steps
}
mover = FleqMachine(next(iter(loops.values())), inverse_temperature=inverse_temperature)
layout = mover.layout
codes = 2**layout.bits
start = torch.stack([layout.pack(loop) for loop in loops.values()])
program_columns = layout.rows.view(start, "memory")[:, layout.first_instruction :]
wrong_addresses = wrong_columns = 0

# %%
expected = layout.addresses(start)
moves_on = torch.tensor([[by * (name in fields) for name in "abc"] for fields, by in loops])
state = start
for _ in range(codes):
    state = mover.cycle(mover.cycle(state))  # the move, and the jump back to it
    expected[:, 2] = (expected[:, 2] + moves_on + layout.scratch) % codes - layout.scratch
    wrong_addresses += int((layout.addresses(state) != expected).any(-1).any(-1).sum())
    others = layout.rows.view(state, "memory")[:, layout.first_instruction :] != program_columns
    others[:, 2, : 3 * layout.bits] = False
    wrong_columns += int(others.any(-1).any(-1).sum())
print(f"{codes * len(loops)} moves: {wrong_addresses} wrong, {wrong_columns} with another bit changed")

# %% [markdown]
# A reset (`rewind`) must restore the instruction bit for bit.

# %%
restored, unrestored = [], []
for name, variable_name in zip("abc", ("x", "zero", "x"), strict=True):
    lines = [f"advance step.{name} by 5"] * 3 + [f"rewind step.{name} to {variable_name}"]
    there = assemble("\n".join([*lines, "step: x = add(x, zero) width 1", "halt"]), {"x": 1.0}, d)
    computer = FleqMachine(there, inverse_temperature=inverse_temperature)
    at = computer.layout.pack(there)
    columns = [computer.layout.rows.view(at, "memory")[computer.layout.first_instruction :]]
    for _ in range(4):
        at = computer.cycle(at)
        columns.append(computer.layout.rows.view(at, "memory")[computer.layout.first_instruction :])
    restored.append(torch.equal(columns[4], columns[0]))
    unrestored.append(torch.equal(columns[3], columns[0]))

# %%
cut = FleqMachine(next(iter(loops.values())), inverse_temperature=inverse_temperature, form={"pointer rows": "printed"})
cut_wrong = 0
for (fields, by), loop in loops.items():
    one = cut.layout.pack(loop)
    for count in range(1, 9):
        one = cut.cycle(cut.cycle(one))
        wanted = torch.tensor([(loop.addresses["x"] + count * by * (name in fields)) for name in "abc"])
        cut_wrong += int((cut.layout.addresses(one)[2] != wanted).any())
without = FleqMachine(next(iter(loops.values())), inverse_temperature=inverse_temperature, pointers=False)
plain_size, size = summarise(without.transformer), summarise(mover.transformer)
show.table(
    ["machine", "layers", "heads", "rows", "weights that are not zero"],
    [(name, one.layers, one.heads, one.width, one.nonzeros) for name, one in (("plain", plain_size), ("moves", size))],
)

# %% [markdown]
# Moves cost no extra layer or head.
#
# ### More data than program
# Algorithm 13 is stochastic gradient descent for a linear model. Algorithm 16 with Algorithm 15 trains a network with
# one hidden layer. The paper's listings are on the left and the repaired ones on the right, with an equals sign where
# they agree.

# %%
print(side_by_side(sgd_beside()))

# %%
print(side_by_side(listing_beside()))

# %% [markdown]
# We run two epochs of Algorithm 13, with and without its resets.

# %%
source = generator(seed)
w, x, y = torch.zeros(d, dtype=torch.float64), normal(points, d, seed=source), normal(points, seed=source)
plain = descent(w, x, y, rate, 2)[-1]


def follow(program, cycles=10_000):
    """The machine, its run, and the run beside the interpreter's."""
    reference = interpret(program, cycles)
    machine = FleqMachine(program, inverse_temperature=inverse_temperature)
    run = machine.run(program, len(reference.counters))
    return machine, run, compare(run, reference)


regression, left_out = sgd_program(w, x, y, rate, 2), sgd_program(w, x, y, rate, 2, resets=False)
machine, run, result = follow(regression)
_, left_run, left_result = follow(left_out)
weights, left_weights = (regression.variable(one.memory, "w")[:, 0] for one in (run, left_run))
off, left_off = ((one - plain).abs().max().nan_to_num(math.inf) for one in (weights, left_weights))

# %%
fig, axis = show.axes()
for label, one, style in (("with resets", run, "-"), ("resets left out", left_run, "--")):
    held = [pointers[0, 0].item() - regression.addresses["x0"] for pointers in one.pointers]
    axis.step(range(1, len(held) + 1), held, style, label=label)
axis.axhline(points - 0.5, color="C3", linewidth=1)
axis.text(2, points, "past the last point", color="C3", va="bottom")
axis.set(xlabel="cycle", ylabel="cell, counted from the first point")
axis.legend()
show.figure(
    fig,
    name="pointer",
    caption="The address in the first instruction of Algorithm 13. It advances by one cell per update. At the end of "
    "the epoch it is reset; without resets it runs past the last point.",
    alt="Two staircases that rise together. In the middle one falls back to the bottom and rises again; the dashed "
    "one keeps rising, above a line that marks the end of the points.",
)

# %% [markdown]
# We see the address rise by one cell per update. Without the resets, it runs past the data in the second epoch. Later
# it would leave the memory, which the interpreter refuses.

# %%
try:
    interpret(sgd_program(w, x, y, rate, 6, resets=False))
    refusal = ""
except ParameterError as error:
    refusal = str(error)
print(refusal)

# %% [markdown]
# In back-propagation, a loop over the hidden units runs inside the loop over the data.

# %%
network, inputs = SigmoidNetwork.random(d, d, generator(seed + 1)), normal(network_points, d, seed=source)
labels = normal(network_points, seed=source)
training = listing_program(network, inputs, labels, rate, 2)
line_35 = training.labels["line35"]
ends = [cycle for cycle, number in enumerate(interpret(training).executed, start=1) if number == line_35]
trainer, trained, training_result = follow(training, ends[network_points])
wanted = network.train(inputs, labels, rate, 2)[1:]
networks = [read_network(training, trained.memories[cycle - 1]) for cycle in ends[: network_points + 1]]
distances = [one.distance(exact) for one, exact in zip(networks, wanted, strict=False)]
short = listing_program(network, inputs[:2], labels[:2], rate, 2, left_out=("line2", "line8", "line26"))
short_network = read_network(short, follow(short)[1].memory)
short_off = short_network.distance(network.train(inputs[:2], labels[:2], rate, 2)[-1])

# %%
fig, axes = show.axes(1, 2, width=8.5, height=3.6)
axes[0].semilogy(range(1, len(distances) + 1), distances, "o-", markersize=3)
axes[0].set(xlabel="update", ylabel="distance to plain training")
window = range(ends[network_points - 2], ends[network_points] + 1)
for label, name, field in (("point, line 2", "line2", 1), ("hidden unit, line 14", "line14", 0)):
    held = [trained.pointers[cycle - 1][training.labels[name], field].item() for cycle in window]
    axes[1].step(window, [one - min(held) for one in held], label=label)
axes[1].set(xlabel="cycle", ylabel="cell, counted from the lowest")
axes[1].legend()
show.figure(
    fig,
    name="training",
    caption="Back-propagation that rewrites itself. Left: all updates of the first epoch and one of the second. "
    "Right: a pointer to the data, reset at the end of the epoch, and one to the hidden vector, reset in each update.",
    alt="Left: dots on a logarithmic axis that rise fast in the first updates and slowly after that, and stay far "
    "below ten to the minus five. Right: one curve that stays high, goes up by one and falls to the bottom; another "
    "with small teeth.",
)

# %% [markdown]
# On the left we see the distance to plain training stay far below $10^{-5}$. On the right, the inner pointer is reset
# in every update and the outer one at the end of the epoch.
#
# ### Random programs
# One machine with fixed weights runs random programs that compute, count, jump and move pointers.

# %%
names = ("mul", "add", "sub", "transpose", "rowsigmoid")
programs = [random_pointer_program(names, 8, 3, generator(seed + k)) for k in range(random_programs)]
blocks = [ProductBlock(), SumBlock("add", 1), SumBlock("sub", 1), TransposeBlock(), RowSigmoidBlock()]
frozen = FleqMachine(programs[0], blocks, inverse_temperature=inverse_temperature)
batches = [fleq_conformance(frozen, programs[k : k + 50], 16) for k in range(0, random_programs, 50)]
kinds = ("advance", "rewind", *names)
executed = {name: sum(one.executed.get(name, 0) for one in batches) for name in kinds}
worst = {name: max(one.deviations.get(name, 0.0) for one in batches) for name in kinds}
wrong_programs, cycles = sum(one.wrong for one in batches), sum(one.cycles for one in batches)
show.table(
    ["function", "executed", "largest error of a cycle"],
    [[name, executed[name], worst[name]] for name in kinds],
    caption=f"{random_programs} random programs, {cycles} cycles, {wrong_programs} programs with a wrong one.",
)

# %% [markdown]
# ## How we checked
# After every cycle, counter and addresses must equal the interpreter's, and no other bit of the program may change.
# For addresses of 5 bits, a solver verifies step 3 for all addresses, numbers and functions. The controls leave out
# the resets or move only $d$ rows.

# %%
claim = Claim("looped-transformers/pointer-blocks")
claim.equal("moves after which an address is not the one before plus the step", wrong_addresses, 0)
claim.equal("moves in which another bit of the program changes", wrong_columns, 0)
claim.equal("resets that restore the program bit for bit, of 3", sum(restored), 3)
claim.equal("layers less those without pointer moves", size.layers - plain_size.layers, 0)
claim.equal("heads less those without pointer moves", size.heads - plain_size.heads, 0)
claim.control.equal("moves that go wrong if d rows are moved", cut_wrong, 0)
claim.control.equal("without the reset: programs that are as before, of 3", sum(unrestored), 3)
claim.number("rows more than without", size.width - plain_size.width)
claim.certified("5 bits: all addresses, numbers and functions", certify_pointer_moves(small_machine(pointers=True)))
claim.verdict()

# %%
first, second = "Algorithm 13", "Algorithms 15 and 16"
both = {first: result, second: training_result}
share = {first: points / len(regression.code), second: network_points / len(training.code)}
built = {first: summarise(machine.transformer), second: summarise(trainer.transformer)}
distance = {first: off, second: max(distances)}
reached = max(one[0, 0].item() for one in left_run.pointers) - regression.addresses["x0"]

# %%
claim = Claim("looped-transformers/fleq-self-modifying")
claim.above("points for an instruction", share, 1)
wrong = [name for name, one in both.items() if not one.counters_agree or not one.pointers_agree]
claim.equal("algorithms with a wrong counter or pointer in any cycle", len(wrong), 0)
claim.at_most("largest deviation of memory", {name: one.deviation for name, one in both.items()}, 1e-4)
claim.at_most("distance to plain training", distance, 1e-5)
claim.equal(f"random programs with a wrong counter or pointer, of {random_programs}", wrong_programs, 0)
claim.at_most("random programs, change of memory by a move", max(worst["advance"], worst["rewind"]), 1e-14)
claim.at_most("layers (13 claimed)", {name: one.layers for name, one in built.items()}, 13)
claim.at_most("heads (1 claimed)", {name: one.heads for name, one in built.items()}, 1)
claim.at_least("resets left out: cells from the first point on that are reached", reached, points)
claim.true("past the memory: refused by name", "pointer" in refusal)
claim.control.at_most("Algorithm 13, resets left out: distance to plain descent", left_off, 1e-5)
claim.control.at_most("Algorithm 16, resets left out: distance to plain training", short_off, 1e-5)
claim.number("cycles of Algorithms 15 and 16", training_result.cycles)
claim.verdict()

# %% [markdown]
# ## What to remember
# - Instructions are data, so a program can move its own addresses.
# - A move is a read, an addition and a write, and needs no new layer.
# - All rows of the addresses must be moved.
#
# ## Exercises
#
# 1. *By hand.* Addresses have 5 bits. How large must $d$ be before the steps of Theorem 2 can move a whole
#    instruction's three addresses?
#    <details><summary>Solution</summary>
#
#    Three addresses take 15 rows, so $d\ge15$.
#
#    </details>
# 2. *Predict, then run.* Set `points = 60`. What happens to the staircase and to the number of instructions?
#    <details><summary>Solution</summary>
#
#    The staircase becomes three times as high. The program still has 18 instructions.
#
#    </details>
#
# Next: [Lemma 9](lemma_9_backpropagation.ipynb). Training a network is the longest program that moves its pointers.

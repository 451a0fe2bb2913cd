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
# <!-- claim looped-transformers/pointer-blocks -->
# <blockquote>
#
# **Pointer increment and reset blocks (Instructions that rewrite themselves)** *Appendix O, Algorithms 13, 15 and 16*
#
# A block reads an instruction's column, adds 1 (or the width of a variable) to one of its addresses by Lemma 10 and
# writes the column back; another restores the starting address. The block must move all rows of the instruction: within
# Theorem 2, whose steps move $d$ rows, the instruction may be at most $d$ rows high.
#
# </blockquote>
# <!-- /claim -->
#
# A loop over data needs an address that moves. The machine has no such thing: an instruction names its operands. The
# paper therefore lets programs *rewrite their instructions*: one block adds to an address within an instruction,
# another sets it back to where it began. An instruction is a column like any other, so both blocks are made of what we
# have: a read, an addition, and a write, all on the rows of the commands.

# %%
import torch

from attention_theory.looped_transformers.fleq.pointer_blocks import FIELDS, PointerBlock
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.machine.trace import draw_state
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
columns = 32  # n, a power of 2 so that addresses wrap at n, one of 8, 16, 32, 64, 128, 256
widths = [1, 4]  # columns of a variable: what an address moves by, each from 1 to 7
passes = 12  # times that an address moves on before it is set back, at least 1
rounds = 3  # loops of so many passes, at least 1
temperature = 30.0  # lambda, at least 20
seed = 0  # seed of every draw, at least 0

# %%
require(columns=(columns, {8, 16, 32, 64, 128, 256}), widths=(widths, 1, 7), passes=(passes, 1, None))
require(rounds=(rounds, 1, None), temperature=(temperature, 20.0, None), seed=(seed, 0, None))

# %% [markdown]
# ## Every address, every field
# The last two columns hold the same random instruction. The blocks work on the first of them; the second is where its
# starting value is kept.

# %%
block = PointerBlock(columns)
place, origin = columns - 2, columns - 1
source = torch.Generator().manual_seed(seed)


def start(one: PointerBlock) -> torch.Tensor:
    """A state with one random instruction in the last two columns."""
    fields = tuple(torch.randint(0, columns, (FIELDS,), generator=source).tolist())
    return one.load([fields, fields], place, origin)


# %% [markdown]
# Each increment goes once through all addresses, with the wrap from the last to the first.

# %%
wrong_values = wrong_columns = compared = 0
for by in widths:
    for field in range(FIELDS):
        machine, state = block.increment(field, by), start(block)
        for _ in range(columns):  # once through all addresses, with the wrap
            before, state = state, machine.cycle(state, temperature)
            expected = block.instruction(before, place)
            expected[field] = (expected[field] + by) % columns
            wrong_values += block.instruction(state, place) != expected
            changed = (state != before).any(dim=1)
            wrong_columns += int(changed[1:place].any() or changed[origin])
            compared += 1
print(f"{compared} increments: {wrong_values} wrong addresses, {wrong_columns} with another column changed")

# %% [markdown]
# ## A loop with a reset
# The address moves on `passes` times and is set back, as often as there are epochs. The figure shows the instruction's
# column from pass to pass.

# %%
machine, reset, state = block.increment(1), block.reset(), start(block)
beginning, history, values, restored = state.clone(), [], [], 0
for _ in range(rounds):
    for _ in range(passes):
        history.append(state[place])
        values.append(block.instruction(state, place)[1])
        state = machine.cycle(state, temperature)
    state = reset.cycle(state, temperature)
    restored += int(torch.equal(state[1:], beginning[1:]))

# %% [markdown]
# Time runs from left to right; at each reset the address falls back.

# %%
fig, axes = show.axes(2, 1, width=8, height=4.2, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
draw_state(axes[0], torch.stack(history), block.rows, ["command"])
axes[0].set(xlabel="", ylabel="bits of three addresses")
axes[1].step(range(len(values)), values, where="mid")
axes[1].set(xlabel="pass", ylabel="second address")
show.figure(
    fig,
    name="passes",
    caption="One instruction rewriting itself. Its first and third address stay; the second counts up in binary, wraps "
    "at the last column, and falls back at each reset.",
    alt="Top: three bands of coloured bits against passes, of which only the middle one changes, like a binary "
    "counter. Bottom: the decoded address, a saw-tooth.",
    photo=True,
)

# %% [markdown]
# ## The height of an instruction
# Steps 2 to 6 of Theorem 2 move the first $d$ rows of a column, since they are made for matrices of $d$ rows. An
# instruction has several addresses of $L$ bits. If it is taller than $d$, a function block never sees the rest of it,
# and an address that is cut loses its carry. The paper does not say so; its pointer blocks need instructions of at
# most $d$ rows, or rows of their own. Here they are run in a transformer of their own, on instructions of three
# addresses. The FLEQ machine of this book has no pointer blocks: its programs are written out, and programs with
# pointers are run by the interpreter.

# %%
short = PointerBlock(columns, height=block.bits + 2)  # the second address is cut after two bits
cut = start(short)
short_machine = short.increment(1)
spoiled = 0
for _ in range(columns):
    expected = short.instruction(cut, place)
    expected[1] = (expected[1] + 1) % columns
    cut = short_machine.cycle(cut, temperature)
    spoiled += short.instruction(cut, place) != expected

# %% [markdown]
# The increment, the reset and the cut instruction:

# %%
size = summarise(machine)
unset = block.increment(1).run(beginning, passes, temperature)

claim = Claim("looped-transformers/pointer-blocks")
claim.check("addresses that are not the one before plus the step", wrong_values, "==", 0)
claim.check("passes in which another column changes", wrong_columns, "==", 0)
claim.check("resets that restore all columns bit for bit", restored, "==", rounds)
claim.check("layers of an increment, the rounding included", size.layers, "==", 4)
claim.check("heads", size.heads, "==", 1)
claim.control("wrong addresses if the instruction is taller than the rows moved", spoiled, "==", 0)
claim.control(
    "without a reset: columns that differ from the beginning", (unset[1:] != beginning[1:]).any(dim=1).sum(), "==", 0
)
claim.stand_in("a transformer for instructions of three addresses, in place of the FLEQ machine")
claim.verdict()

# %% [markdown]
# ## What was learned
# An instruction can be made to rewrite itself by what the machine has already: a read, an addition and a write, four
# layers of one head. The condition that the paper leaves out is that all rows of the instruction have to be moved.
#
# ## To try
# - Set `columns = 64`: addresses have a bit more, and all increments are right again.
# - Set `passes = 40`: the address wraps at the last column before it is set back.

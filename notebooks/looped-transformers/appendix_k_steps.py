# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix K · The seven steps of a FLEQ cycle
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix K.*
#
# One cycle of the FLEQ machine executes one instruction in seven steps. This page stops the machine after each layer
# and looks at what the step was to do: the pointers and masks that every scratchpad column makes for itself, the
# operands, the block that gets them, the result, the write, and the next instruction's address.

# %%
import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.trace import trace
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # largest matrix held, from 3 to 8
temperature = 40.0  # factor on the scores, at least 20
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 3, 8), temperature=(temperature, 20.0, None), seed=(seed, 0, None))
source = generator(seed)
a, b = torch.randn(2, d, d, generator=source, dtype=torch.float64)


def sum_program(width, value=1.0, flag="flag"):
    """One sum of a given width, and a transpose so that there is a second block."""
    text = f"c = add(a, b) width {width} if {flag} <= 0 goto far\nc = transpose(a)\nc = sub(a, b)\nfar: halt"
    return assemble(text, {"a": a, "b": b, "c": torch.ones(d, d), "flag": value, "e": 7.0}, d)


def watch(program, **options):
    machine = FleqMachine(program, temperature=temperature, heads="several", **options)
    moments = trace(machine.transformer, machine.layout.pack(program), temperature=temperature)
    return machine.layout, {moment.name.split()[0]: moment.state for moment in moments}


# %% [markdown]
# ## Step 1: pointers and masks
# <!-- claim looped-transformers/fleq-step-1 -->
# <blockquote>
#
# **App. K step 1 (Pointers and masks)** *Appendix K.1*
#
# **As printed.** Addresses $a+i$, $b+i-d$, $c+i-2d$; first mask $\sigma(2d+d_w-i+1)-\sigma(2d+d_w-i)$; the $s$ columns
# end as $c_t^0,\dots,c_t^s$. The fields are $m$, flag, $p$ in one place and flag, $p$, $m$ in the next.
#
# **Corrected.** One attention head copies the instruction into every scratchpad column; the feed-forward layer gives
# column $i$, counted from 1, the addresses $a+i-1$, $b+i-1-d$, $c+i-1-2d$ (mod $2^L$) and the masks $1[i\le d_w]$,
# $1[d<i\le d+d_w]$, $1[2d<i\le 2d+d_w]$.
#
# One less in every address; first mask $\sigma(d_w-i+1)-\sigma(d_w-i)$; $c_t^1,\dots,c_t^s$. One order, any.
#
# </blockquote>
# <!-- /claim -->
# Column $i$ of the scratchpad is to hold the addresses $a+i-1$, $b+i-1-d$ and $c+i-1-2d$ (columns counted from 1),
# and three masks that say whether the column belongs to A, to B or to the result.


# %%
def step_1_errors(program, form="correct"):
    """Largest error of the addresses and of the masks over all scratchpad columns."""
    layout, moments = watch(program, form=form)
    scratchpad = moments["1"][: layout.scratch]
    instruction, columns = program.code[0], torch.arange(layout.scratch)
    pointers, masks = 0.0, 0.0
    for place, (name, address) in enumerate((("a", instruction.a), ("b", instruction.b), ("c", instruction.c))):
        wanted = (layout.scratch + address + columns - place * d) % 2**layout.bits
        pointers = max(pointers, (layout.rows.of(scratchpad, f"to {name}") - layout.codes[wanted]).abs().max().item())
        inside = (columns >= place * d) & (columns < place * d + instruction.width)
        masks = max(masks, (layout.rows.of(scratchpad, f"mask {name}")[:, 0] - inside.double()).abs().max().item())
    return pointers, masks


errors = [step_1_errors(sum_program(width)) for width in range(1, d + 1)]
printed_offset = step_1_errors(sum_program(2), {"pointers": "printed"})
printed_mask = step_1_errors(sum_program(2), {"first mask": "printed"})

newton = newton_program(a @ a.mT / 4 + torch.eye(d), 2)
newton_reference = interpret(newton)


def in_program(**options):
    machine = FleqMachine(newton, temperature=temperature, heads="several", **options)
    return compare(machine.run(newton, 2 * len(newton_reference.counters)), newton_reference)


claim = Claim("looped-transformers/fleq-step-1")
claim.check("addresses, all columns and widths, largest error", max(one[0] for one in errors), "<=", 1e-9)
claim.check("masks, all columns and widths, largest error", max(one[1] for one in errors), "<=", 1e-9)
claim.misprint("addresses with a+i, largest error", printed_offset[0], "<=", 1e-9)
claim.misprint("first mask with 2d+d_w, largest error", printed_mask[1], "<=", 1e-9)
claim.check("in a program: its counters are right", in_program().counters_agree, "==", True, of="proof")
for label, place in (("a+i", "pointers"), ("2d+d_w", "first mask")):
    agrees = in_program(form={place: "printed"}).counters_agree
    claim.misprint(f"{label} in a program: its counters are right", agrees, "==", True, of="proof")
claim.verdict()

# %% [markdown]
# ## Steps 2, 3 and 5: the operands, their block, the result
# <!-- claim looped-transformers/fleq-steps-2-5 -->
# <blockquote>
#
# **App. K steps 2 (Operands to their block and back)** *Appendices K.2, K.3, K.5; Eqs. (12), (13)*
#
# Three heads read $a$, $b$, $c$; with the masks and a constant $C$ larger than all data, ReLUs keep each operand in its
# own columns, hand them to the block whose number the instruction holds and to no other, and take the result back.
#
# </blockquote>
# <!-- /claim -->
# Three heads fetch the operands; the masks leave A in the first $d$ columns, B in the next, the old content of c in
# those after. A large constant $C$ then closes every block but the one whose number the instruction carries.

# %%
program = sum_program(d)
layout, moments = watch(program)
data = layout.rows.of(moments["2"], "data")[:, :d]
in_add, in_transpose = (layout.rows.of(moments["3"], name) for name in ("add", "transpose"))
returned = layout.rows.of(moments["5"], "data")[2 * d : 3 * d, :d].mT
operands = torch.cat([a.mT, b.mT, torch.ones(d, d, dtype=torch.float64)])

second = assemble("c = transpose(a)\nc = add(a, b)\nc = sub(a, b)\nhalt", {"a": a, "b": b, "c": 0.0}, d)
other_layout, other_moments = watch(second)
other = other_layout.rows.of(other_moments["3"], "add")

leaky_layout, leaky = watch(program, gate=a.abs().max().item() / 2)
leak = leaky_layout.rows.of(leaky["3"], "transpose")

fig, axes = show.axes(1, 3, width=8.0, height=2.6)
pictures = (data[: 3 * d].mT, in_add[: 3 * d].mT, in_transpose[: 3 * d].mT)
for axis, title, picture in zip(axes, ("operands", "rows of add", "rows of transpose"), pictures, strict=True):
    axis.imshow(picture, cmap="RdBu_r", vmin=-2, vmax=2)
    axis.set(title=title, xlabel="scratchpad column", ylabel="row")
    axis.grid(False)
show.figure(
    fig,
    name="routing",
    caption="The scratchpad after step 2, and the rows of two blocks after step 3: A and B arrive at `add`, nothing "
    "at `transpose`.",
    alt="Three small coloured matrices. The first holds A, B and a block of ones side by side. The second holds A and "
    "B. The third is empty.",
)

claim = Claim("looped-transformers/fleq-steps-2-5")
claim.check("operands in the scratchpad, largest error", (data[: 3 * d] - operands).abs().max(), "<=", 1e-12)
claim.check("operands in the block, largest error", (in_add[: 2 * d] - operands[: 2 * d]).abs().max(), "<=", 1e-12)
claim.check("entries in the other block that are not 0", in_transpose.count_nonzero(), "==", 0)
label = "Eqs. (12), (13) as printed: operands in their block, largest error"
claim.check(label, (in_add[: 2 * d] - operands[: 2 * d]).abs().max(), "<=", 1e-12, of="proof")
claim.check("result in c's columns, largest error", (returned - (a + b)).abs().max(), "<=", 1e-11)
claim.control("another function's number: entries that reach add", other.count_nonzero(), "!=", 0)
claim.control("gate of half the largest entry: entries in the other block", leak.count_nonzero(), "==", 0)
claim.verdict()

# %% [markdown]
# ## Step 6: the write
# <!-- claim looped-transformers/fleq-step-6 -->
# <blockquote>
#
# **App. K step 6 (Writing the result)** *Appendix K.6*
#
# **As printed.** $K=Q$ as a column of blocks; ReLUs as in the proof of Lemma 4, where the second is added.
#
# **Corrected.** With $K=Q=[0\ 0\ I\ I]$ on the masked address of $c$ and the addresses of memory, each cell of $c$
# meets the column of its result and half their sum is fetched; a ReLU layer turns it into the result, and changes no
# other cell.
#
# $K=Q$ as a row of blocks; the second ReLU is subtracted.
#
# </blockquote>
# <!-- /claim -->
# The key and query must be the row $[0\ 0\ I\ I]$; they are printed as a column, which cannot be multiplied with the
# state. The feed-forward part is that of Lemma 4, whose second ReLU is printed with the wrong sign. The print also
# adds the fetched mean into the rows that hold the result instead of rows of their own. That does no harm: these rows
# are zero in memory columns. What costs digits is a gate of the form $C(b-1)$: the data is added to $C$ and taken off
# again.


# %%
def after_write(**options):
    written_layout, states = watch(program, **options)
    return written_layout.memory(states["6"])


def write_errors(memory):
    """Error in c, and in all other cells."""
    start = program.addresses["c"]
    change = memory - program.memory
    elsewhere = max(change[:start].abs().max().item(), change[start + d :].abs().max().item())
    return (memory[start : start + d].mT - (a + b)).abs().max().item(), elsewhere


correct, same_rows = write_errors(after_write()), write_errors(after_write(form={"write rows": "printed"}))
constant_gate = write_errors(after_write(constant_gate=True))
plus_sign = write_errors(after_write(form={"write sign": "printed"}))
show.table(
    ["write", "error in c", "error elsewhere"],
    [
        ["correct", *correct],
        ["into the rows of the result, as printed", *same_rows],
        ["gate C(b - 1) with C = 1e9", *constant_gate],
        ["second ReLU added, as printed in Lemma 4", *plus_sign],
    ],
)
width = layout.rows.size
claim = Claim("looped-transformers/fleq-step-6")
claim.check("c after the write, error", correct[0], "<=", 1e-11)
claim.check("all other cells, largest change", correct[1], "<=", 1e-12)
claim.check("into the rows of the result, as printed: error in c", same_rows[0], "<=", 1e-11)
claim.control("gate C(b - 1): error in c", constant_gate[0], "<=", 1e-11)
claim.misprint("second ReLU added, as printed: error in c", plus_sign[0], "<=", 1e-11)
claim.check("key and query a row of blocks: error in c", correct[0], "<=", 1e-11, of="proof")
claim.misprint("a column of blocks, as printed: its columns and the state's rows", layout.bits, "==", width, of="proof")
claim.verdict()

# %% [markdown]
# ## Step 7: the branch
# <!-- claim looped-transformers/fleq-step-7 -->
# <blockquote>
#
# **App. K step 7 (Branch)** *Appendix K.7; Appendix B.3*
#
# In four layers the flag cell is read, turned into a bit, the counter increased, and the next address chosen: $p$ if
# the flag, an integer, is at most 0, else the next instruction. The copy of the instruction is cleared.
#
# </blockquote>
# <!-- /claim -->
# Four layers: fetch the flag, turn it into a bit, add 1 to the counter, choose. At the end the copy of the
# instruction is cleared: the next one is added on top.

# %%
programs = {flag: sum_program(d, flag) for flag in (-2.0, -1.0, 0.0, 1.0, 2.0)}
stepper = FleqMachine(programs[0.0], temperature=temperature, heads="several")
cases = [(flag, stepper.run(one, 1).counters[0]) for flag, one in programs.items()]
show.table(["flag", "next instruction"], cases, caption="The target is instruction 3.")
left = FleqMachine(newton, temperature=temperature, heads="several", cleared=False)
kept = compare(left.run(newton, len(newton_reference.counters)), newton_reference)

claim = Claim("looped-transformers/fleq-step-7")
wrong = sum(number != (3 if flag <= 0 else 1) for flag, number in cases)
claim.check("flags from -2 to 2 that lead to the wrong instruction", wrong, "==", 0)
claim.check("layers", sum(name.startswith("7") for name in moments), "==", 4)
claim.check("Appendix B.3 as printed: flags that lead to the wrong instruction", wrong, "==", 0, of="proof")
claim.control("instruction not cleared: counters are the interpreter's", kept.counters_agree, "==", True)
claim.verdict()

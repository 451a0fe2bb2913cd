# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix K · One cycle in seven steps
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix K.*
#
# One pass through the FLEQ machine ([Theorem 2](theorem_2_fleq.ipynb)) executes one instruction on matrices. The paper
# describes this cycle in seven steps. What is in the machine after each of them, and do the formulas in the paper put
# it there?

# %%
import torch

from attention_theory.looped_transformers.certified.fleq_layers import small_machine
from attention_theory.looped_transformers.certified.fleq_operands import certify_pointers, certify_routes
from attention_theory.looped_transformers.certified.fleq_results import certify_branch, certify_write
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.trace import trace
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Matrices have at most $d=2$ columns. The instruction adds the matrices at addresses 5 and 9. Scratchpad columns 1 and
# 2 fetch the first operand, at 5 and 6, and columns 3 and 4 the second, at 9 and 10. Column $i$ therefore reads from
# $5+i-1$ if $i\le2$, and from $9+i-1-2$ after that. A matrix with a single column fills only columns 1 and 3: the
# *masks* delete the others.

# %%
fig, axis = schematic.canvas(7.0, 1.5)
tops = schematic.tokens(axis, ["5", "6", "9", "10"], (2.0, 0.5), [0, 2], 2.6)
for number, (x, y) in enumerate(tops, start=1):
    schematic.text(axis, (x, y + 0.8), f"column {number}")
    mask = "mask 1" if number in (1, 3) else "mask 0"
    schematic.text(axis, (x, y + 0.3), mask, schematic.BLUE if number in (1, 3) else schematic.QUIET, 9)
show.figure(
    fig,
    name="tiny",
    caption="The addresses that four scratchpad columns read from, and the masks for operands with one column.",
    alt="Four boxes with 5, 6, 9 and 10, headed column 1 to column 4. Columns 1 and 3 have mask 1, the others mask 0.",
)

# %% [markdown]
# Every column computes its own address from the same instruction.
#
# ## The paper states
# <!-- claim looped-transformers/fleq-step-1 -->
# <blockquote>
#
# **Appendix K (Pointers and masks)** *Appendix K.1*
#
# **The paper states.** One attention head copies the instruction $c_t$ into the scratchpad. Apply Lemma 10 to construct
# feedforward layers that convert $c_t$ to $c_t^i$, with $p_{a_t+i}$, $p_{b_t+i-d}$, $p_{c_t+i-2d}$ and the masks
# $1_{(i\le d_w)}$, $1_{(i>d)}+1_{(i\le d+d_w)}-1$, $1_{(i>2d)}+1_{(i\le2d+d_w)}-1$. The first can be created using
# $\sigma(2d+d_w-i+1)-\sigma(2d+d_w-i)$.
#
# **What is true.** Column $i$, counted from 1, gets the addresses $a+i-1$, $b+i-1-d$, $c+i-1-2d$ (mod $2^L$) and the
# masks $1_{(i\le d_w)}$, $1_{(d<i\le d+d_w)}$, $1_{(2d<i\le2d+d_w)}$. The first mask is
# $\sigma(d_w-i+1)-\sigma(d_w-i)$.
#
# **What changed.** The paper's addresses begin one column too far, and its formula for the first mask reaches $2d$
# columns too far. Each of these two errors breaks every program.
#
# <details><summary>Slips (2)</summary>
#
# - The $s$ columns are listed as $c_t^0,\dots,c_t^s$. They are $c_t^1,\dots,c_t^s$.
# - The fields are $m$, flag, $p$ in one place and flag, $p$, $m$ in the next. Any single order works.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/fleq-steps-2-5 -->
# <blockquote>
#
# **Appendix K (Operands to their block and back)** *Appendices K.2, K.3, K.5; Eqs. (12), (13)*
#
# **The paper states.** The operands at $a$, $b$, $c$ are read. With the masks and a large positive constant $C$ a
# feedforward ReLU layer moves the data to the correct function blocks, in rows $[1:d_h]$, and a similar one moves the
# data from the function block back into the scratchpad memory, in rows $[1:d_h]$.
#
# <details><summary>Slips (1)</summary>
#
# - $d_h$ is a field of the instruction, and fixed weights cannot select rows $[1:d_h]$ when $d_h$ is data; the paper
#   has masks of columns only. Step 5 leaves the old rows of $c$ below $d_h$, which must be zero by Remark 1. Masks of
#   rows, $\sigma(d_h-r+1)-\sigma(d_h-r)$ for row $r$, in the gates repair both. The FLEQ machine of this book moves all
#   $d$ rows and does not read $d_h$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/fleq-step-6 -->
# <blockquote>
#
# **Appendix K (Writing the result)** *Appendix K.6*
#
# **The paper states.** We set the Key and Query matrices as $K=Q=\begin{bmatrix}0\\0\\I\\I\end{bmatrix}$. Finally, we
# use the feedforward layers similar to the proof of Lemma 4 to write back to the correct rows.
#
# **What is true.** With $K=Q=[0\ 0\ I\ I]$ on the masked address of $c$ and the addresses of memory, each cell of $c$
# matches the column of its result and fetches half their sum. A ReLU layer turns this into the result, and changes no
# other cell.
#
# **What changed.** $K=Q$ is a row of blocks, and the second ReLU of Lemma 4 is subtracted. A column of blocks cannot be
# multiplied with the state.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/fleq-step-7 -->
# <blockquote>
#
# **Appendix K (Branch)** *Appendix K.7; Appendix B.3*
#
# **The paper states.** This step is identical to Appendix B.3: if the flag, an integer, is at most 0 the next
# instruction is $p$, else the next in order.
#
# <details><summary>Slips (1)</summary>
#
# - Appendix B.3 clears nothing, and step 1 adds the next instruction to what is in its rows. Therefore this step must
#   clear the copy of the instruction. (Appendix B.3 also counts its three networks as two layers.)
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The same instruction is copied into all scratchpad columns, and each column adds its own number to the addresses
# ([Lemma 2](lemma_2_adder.ipynb)). Reads and writes are those of [Lemmas 3 and 4](lemma_3_4_read_write.ipynb). A
# large constant $C$ closes every block except the one that the instruction names, so that all others contain
# exactly 0. At the end, the flag decides between the jump target and the next instruction, and the copy of the
# instruction is cleared.
#
# <details><summary>Proof of Appendix K, steps 2 to 5: read, route and return data, eqs (12)-(13)</summary>
#
# For integers $d_h$ and $r$ the number $\mu_r=\sigma(d_h-r+1)-\sigma(d_h-r)$ is 1 if $r\le d_h$ and 0 otherwise. So
# $2d$ more units in the layer of step 1 put $\mu_1,\dots,\mu_d$ into $d$ rows. Let $g_k$ be the gate that is printed, 0
# in the columns and for the block that are meant and at least 1 elsewhere, and let $C$ exceed all data. Step 3 becomes
# $f_r=\sigma(z_r-C(g_k+1-\mu_r))-\sigma(-z_r-C(g_k+1-\mu_r))$, which is $z_r$ where $g_k=0$ and $r\le d_h$, and 0
# elsewhere. In step 5 the old content goes by the gate of the columns, and the result comes by that and the mask:
#
# $$z_r+\sum_k\big(\sigma(f_{k,r}-C(g_k+1-\mu_r))-\sigma(-f_{k,r}-C(g_k+1-\mu_r))-\sigma(z_r-Cg_k)
# +\sigma(-z_r-Cg_k)\big).$$
#
# In the columns of $c$ one block has $g_k=0$, and this is $f_{k,r}$ for $r\le d_h$ and 0 for $r>d_h$, as Remark 1 asks.
# Everywhere else all terms are 0 but $z_r$. The layers stay as many, the rows $O(Md+\log n)$. $\square$
#
# </details>
#
# <details><summary>Proof of Appendix K, step 7: branch</summary>
#
# The three networks of Appendix B.3 read the flag and the fields of the copied instruction, and write the next counter.
# In the last of them every row $z$ of the copy also gets the units $-\sigma(z)+\sigma(-z)=-z$, so that it ends at 0,
# whatever it held. Step 1 of the next cycle adds the instruction at the new counter to 0, and the copy is that
# instruction. Without these units it would be the sum of both. No layer is added. $\square$
#
# </details>
#
# ## See it run
# We stop the machine after each layer. Our program adds two matrices; two more instructions give the machine other
# blocks.

# %% tags=["parameters"]
d = 4  # largest matrix held, from 3 to 8
inverse_temperature = 40.0  # factor on the scores, at least 20
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 3, 8), inverse_temperature=(inverse_temperature, 20.0, None), seed=(seed, 0, None))
source = generator(seed)
a, b = torch.randn(2, d, d, generator=source, dtype=torch.float64)


# %%
def listing(width: int, flag: str = "flag") -> str:
    """One sum of a given width, and instructions for two more blocks."""
    return f"c = add(a, b) width {width} if {flag} <= 0 goto far\nc = transpose(a)\nc = sub(a, b)\nfar: halt"


def sum_program(width, value=1.0):
    variables = {"a": a, "b": b, "c": torch.ones(d, d), "flag": value, "e": 7.0}
    return assemble(listing(width), variables, d)


def watch(program, **options):
    """The layout, and the state after each layer of one cycle by the layer's number."""
    machine = FleqMachine(program, inverse_temperature=inverse_temperature, heads="several", **options)
    moments = trace(machine.transformer, machine.layout.pack(program), inverse_temperature=inverse_temperature)
    return machine.layout, {moment.name.split()[0]: moment.state for moment in moments}


print(listing(d))

# %% [markdown]
# ### Step 1: pointers and masks
# The paper's addresses $a+i$ begin one column too far, and its first mask is 1 for all $i\le2d+d_w$. We test both
# formulas in a single step, and then in the program for Newton's iteration.


# %%
def step_1_errors(program, form="correct"):
    """Largest error of the addresses and of the masks over all scratchpad columns."""
    layout, moments = watch(program, form=form)
    scratchpad = moments["1"][: layout.scratch]
    instruction, columns = program.code[0], torch.arange(layout.scratch)
    pointers, masks = 0.0, 0.0
    for place, (name, address) in enumerate((("a", instruction.a), ("b", instruction.b), ("c", instruction.c))):
        wanted = (layout.scratch + address + columns - place * d) % 2**layout.bits
        pointers = max(pointers, (layout.rows.view(scratchpad, f"to {name}") - layout.codes[wanted]).abs().max().item())
        inside = (columns >= place * d) & (columns < place * d + instruction.width)
        masks = max(masks, (layout.rows.view(scratchpad, f"mask {name}")[:, 0] - inside.double()).abs().max().item())
    return pointers, masks


errors = {f"width {width}": step_1_errors(sum_program(width)) for width in range(1, d + 1)}
printed_offset = step_1_errors(sum_program(2), {"pointers": "printed"})
printed_mask = step_1_errors(sum_program(2), {"first mask": "printed"})

# %%
newton = newton_program(a @ a.mT / 4 + torch.eye(d), 2)
newton_reference = interpret(newton)


def in_program(**options):
    machine = FleqMachine(newton, inverse_temperature=inverse_temperature, heads="several", **options)
    return compare(machine.run(newton, 2 * len(newton_reference.counters)), newton_reference).counters_agree


agrees = {place: in_program(form={place: "printed"}) for place in ("pointers", "first mask")}

# %% [markdown]
# ### Steps 2, 3 and 5: operands and result

# %%
program = sum_program(d)
layout, moments = watch(program)
data = layout.rows.view(moments["2"], "data")[:, :d]
in_add, in_transpose = (layout.rows.view(moments["3"], name) for name in ("add", "transpose"))
returned = layout.rows.view(moments["5"], "data")[2 * d : 3 * d, :d].mT
masked = layout.rows.view(moments["2"], "to c")[: layout.scratch]  # the row of Eq. (13)
c_codes = torch.zeros_like(masked)
c_codes[2 * d : 3 * d] = layout.codes[layout.scratch + program.addresses["c"] + torch.arange(d)]
operands = torch.cat([a.mT, b.mT, torch.ones(d, d, dtype=torch.float64)])

# %%
second = assemble("c = transpose(a)\nc = add(a, b)\nc = sub(a, b)\nhalt", {"a": a, "b": b, "c": 0.0}, d)
other_layout, other_moments = watch(second)
other = other_layout.rows.view(other_moments["3"], "add")
leaky_layout, leaky = watch(program, gate=a.abs().max().item() / 2)
leak = leaky_layout.rows.view(leaky["3"], "transpose")

# %%
fig, axes = show.axes(1, 3, width=8.0, height=2.6)
pictures = (data[: 3 * d].mT, in_add[: 3 * d].mT, in_transpose[: 3 * d].mT)
for axis, title, picture in zip(axes, ("operands", "rows of add", "rows of transpose"), pictures, strict=True):
    axis.imshow(picture, cmap=show.SIGNED, vmin=-2, vmax=2)
    axis.set(title=title, xlabel="scratchpad column", ylabel="row", xticks=range(0, 3 * d, d), yticks=range(d))
    axis.grid(False)
show.figure(
    fig,
    name="routing",
    caption="The scratchpad after step 2, with A, B and the old content of c side by side, and the rows of two blocks "
    "after step 3: A and B arrive at `add`, nothing at `transpose`. Orange is negative, blue positive.",
    alt="Three small coloured matrices. The first holds A, B and a block of ones side by side. The second holds A and "
    "B. The third is empty.",
)

# %% [markdown]
# We see $A$ and $B$ arrive at `add`. The block of `transpose` is empty.
#
# The paper moves rows $[1:d_h]$ only, where $d_h$ is a number in the instruction. Fixed weights need masks of rows for
# this. We run step 5 with such masks, and on all rows as our machine does.

# %%
relu = torch.nn.functional.relu
old, new = (torch.randn(d, generator=torch.Generator().manual_seed(k), dtype=torch.float64) for k in (1, 2))
number_of_row = torch.arange(1, d + 1)


def step_5(mask):
    """The column of c after step 5 where the columns' gate is open, from the old content and the block's result."""
    shut = 64.0 * (1 - mask)
    return old + relu(new - shut) - relu(-new - shut) - relu(old) + relu(-old)


masks = [relu(height - number_of_row + 1.0) - relu(height - number_of_row * 1.0) for height in range(1, d + 1)]
due_rows = [torch.where(number_of_row <= height, new, 0.0) for height in range(1, d + 1)]
by_masks = max((step_5(mask) - rows).abs().max() for mask, rows in zip(masks, due_rows, strict=True))
on_all_rows = max((step_5(torch.ones(d)) - rows).abs().max() for rows in due_rows)

# %% [markdown]
# ### Step 6: the write
# We compare four writes. A gate of the form $C(b-1)$ with a large $C$ loses digits, because the data are added to $C$
# and subtracted again.


# %%
def after_write(**options):
    """The memory after step 6."""
    written_layout, states = watch(program, **options)
    return written_layout.memory(states["6"])


def write_errors(memory):
    """Error in c, and in all other cells."""
    start = program.addresses["c"]
    change = memory - program.memory
    elsewhere = max(change[:start].abs().max().item(), change[start + d :].abs().max().item())
    return (memory[start : start + d].mT - (a + b)).abs().max().item(), elsewhere


# %%
writes = {
    "correct": write_errors(after_write()),
    "into the rows of the result, as printed": write_errors(after_write(form={"write rows": "printed"})),
    "gate C(b - 1) with C = 1e9": write_errors(after_write(constant_gate=True)),
    "second ReLU added, as printed in Lemma 4": write_errors(after_write(form={"write sign": "printed"})),
}
show.table(["write", "error in c", "error elsewhere"], [[name, *found] for name, found in writes.items()])

# %% [markdown]
# The key and query matrices must be the row $[0\ 0\ I\ I]$. The paper shows a column, which cannot be multiplied with
# the state.

# %%
machine = FleqMachine(program, inverse_temperature=inverse_temperature, heads="several")
place = next(k for k, layer in enumerate(machine.transformer.layers) if layer.name.startswith("6"))
(head,) = machine.transformer.dense[place].heads
state = machine.layout.pack(program)
row_of_blocks = torch.zeros_like(head.key)
for name in ("to c", "address"):
    row_of_blocks[:, layout.rows[name]] = torch.eye(layout.bits, dtype=torch.float64)
unlike = int((head.key != row_of_blocks).sum() + (head.query != row_of_blocks).sum())
try:
    keys_as_printed = len((head.key.mT @ state.mT).mT)
except RuntimeError:
    keys_as_printed = 0

# %% [markdown]
# ### Step 7: the branch

# %%
programs = {flag: sum_program(d, flag) for flag in (-2.0, -1.0, 0.0, 1.0, 2.0)}
stepper = FleqMachine(programs[0.0], inverse_temperature=inverse_temperature, heads="several")
cases = {flag: stepper.run(one, 1).counters[0] for flag, one in programs.items()}
show.table(["flag", "next instruction"], cases.items(), caption="The target is instruction 3.")
due = {f"flag {flag:g}": 3 if flag <= 0 else 1 for flag in cases}
found = {f"flag {flag:g}": number for flag, number in cases.items()}
uncleared = in_program(cleared=False)

# %% [markdown]
# ## How we checked
# We compare pointers, masks, operands and results with their exact values, for every column and width. On a machine
# for $d=2$, solvers verify each step for all addresses and data. The controls are a wrong function number, a gate
# below the data, and the gate $C(b-1)$.

# %%
claim = Claim("looped-transformers/fleq-step-1")
claim.at_most("addresses, all columns and widths, largest error", {k: one[0] for k, one in errors.items()}, 1e-9)
claim.at_most("masks, all columns and widths, largest error", {k: one[1] for k, one in errors.items()}, 1e-9)
claim.misprint.at_most("addresses with a+i, largest error", printed_offset[0], 1e-9)
claim.misprint.at_most("first mask with 2d + width, largest error", printed_mask[1], 1e-9)
claim.true("in a program: its counters are right", in_program(), of="proof")
claim.misprint.true("a+i in a program: its counters are right", agrees["pointers"], of="proof")
claim.misprint.true("2d + width in a program: its counters are right", agrees["first mask"], of="proof")
claim.certified(
    "d = 2, 5 bits: all addresses, columns and widths",
    certify_pointers(small_machine(), small_machine({"first mask": "printed"})),
)
claim.verdict()

# %%
claim = Claim("looped-transformers/fleq-steps-2-5")
in_block = (in_add[: 2 * d] - operands[: 2 * d]).abs().max()
claim.close("operands in the scratchpad, largest error", data[: 3 * d], operands, atol=1e-12)
claim.at_most("operands in the block, largest error", in_block, 1e-12)
claim.equal("entries in the other block that are not 0", in_transpose.count_nonzero(), 0)
claim.close("Eq. (13) as printed: masked addresses of c, largest error", masked, c_codes, atol=1e-12, of="proof")
claim.close("result in c's columns, largest error", returned, a + b, atol=1e-11)
claim.at_most("masks of rows, step 5 for every d_h: largest error", by_masks, 1e-12, of="proof")
claim.printed.at_most("rows fixed in the weights, every d_h: the same", on_all_rows, 1e-12, of="proof")
claim.control.unequal("another function's number: entries that reach add", other.count_nonzero(), 0)
claim.control.equal("gate of half the largest entry: entries in the other block", leak.count_nonzero(), 0)
claim.certified("d = 2: all data up to half the gate", certify_routes(small_machine()))
claim.verdict()

# %%
claim = Claim("looped-transformers/fleq-step-6")
correct, elsewhere = writes["correct"]
claim.at_most("c after the write, error", correct, 1e-11)
claim.at_most("all other cells, largest change", elsewhere, 1e-12)
same_rows = writes["into the rows of the result, as printed"][0]
claim.at_most("into the rows of the result, as printed: error in c", same_rows, 1e-11)
claim.control.at_most("gate C(b - 1): error in c", writes["gate C(b - 1) with C = 1e9"][0], 1e-11)
plus_sign = writes["second ReLU added, as printed in Lemma 4"][0]
claim.misprint.at_most("second ReLU added, as printed: error in c", plus_sign, 1e-11)
claim.equal("entries of key and query unlike the row [0 0 I I]", unlike, 0, of="proof")
label = "a column of blocks, as printed: columns of the state that get a key"
claim.misprint.equal(label, keys_as_printed, len(state), of="proof")
claim.certified(
    "d = 2, 5 bits: all addresses and real data",
    certify_write(small_machine(), small_machine({"write sign": "printed"})),
)
claim.verdict()

# %%
claim = Claim("looped-transformers/fleq-step-7")
wrong = sum(found[case] != due[case] for case in due)
claim.equal("flags from -2 to 2 that lead to the wrong instruction", wrong, 0)
claim.equal("layers", sum(name.startswith("7") for name in moments), 4)
label = "identical to Appendix B.3, so not cleared: counters are the interpreter's"
claim.printed.true(label, uncleared, of="proof")
claim.true("cleared: counters are the interpreter's", in_program(cleared=True), of="proof")
claim.certified("5 bits: all counters, targets and integers", certify_branch(small_machine()))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The machine of this page follows Theorem 2 literally, with separate heads for each block. The matrices of step 6
# reach one column too far, to $c+d_w$, where Equation (13) ends at $c+d_w-1$. The paper also adds the fetched mean
# into the rows that hold the result. This does no harm, because these rows are zero in memory columns.
#
# </details>
#
# ## Where the paper differs
# Programs fail with the paper's addresses or first mask in step 1, with its sign in step 6, and if step 7 does not
# clear the instruction. All four are easy to repair.
#
# ## What to remember
# - Each scratchpad column computes its own address and mask.
# - A closed gate keeps every block but one exactly empty.
# - The instruction has to be cleared at the end of a cycle.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, which addresses do the four columns read with the paper's $a+i$ and $b+i-d$?
#    <details><summary>Solution</summary>
#
#    6, 7, 10 and 11. The first column of each operand is never read.
#
#    </details>
# 2. *Predict, then run.* For which of the flags $-2$ to 2 does the table show instruction 3?
#    <details><summary>Solution</summary>
#
#    For $-2$, $-1$ and 0. The others lead to instruction 1, the next one.
#
#    </details>
#
# Back: [Theorem 2](theorem_2_fleq.ipynb), because these steps are its proof.

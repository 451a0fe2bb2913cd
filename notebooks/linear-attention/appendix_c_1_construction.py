# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix C.1 · The paper's universal machine
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Appendix C.1, Algorithms 6 and 7.*
#
# How can a layer that only looks things up run a Turing machine? The paper's plan is simple: to write a cell of the
# new tape, it is enough to know three cells of the old one. We carry out this plan, repair it where it fails, and see
# why the result is larger than Lemma 2.2 allows.

# %%
import torch

from attention_theory.linear_attention.machines.tape_program import cells_of, new_tape
from attention_theory.linear_attention.machines.turing import (
    pad_table,
    parse_machine,
    random_inputs,
    random_tables,
    simulate,
    write_tape,
)
from attention_theory.linear_attention.machines.universal import (
    UniversalMachine,
)
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# The machine is in state *q* with its head over a 1, and the rule says: write 0, change to state *p*, and go right.
# What will the cell on the right hold? It keeps its letter, a blank, and receives the state *p*. Four tokens compute
# this.

# %%
fig, axis = schematic.canvas(height=2.7)
cells = schematic.tokens(axis, ["1, q", "_", "_"], (3.3, 3.9), lit=[1], step=2.6)
for (x, top), words in zip(cells, ("left", "cell", "right"), strict=True):
    schematic.text(axis, (x, top + 0.3), words, size=9)
block = schematic.tokens(axis, ["LOAD", "LOOK UP", "SELECT", "WRITE"], (0.8, 1.4), lit=[3], step=3.3)
found = ["three cells", "the rules of q", "q over 1: 0, p, right", "_, p"]
for number, ((x, top), words) in enumerate(zip(block, found, strict=True)):
    schematic.text(axis, (x, top - 1.35), words, schematic.BLUE if number == 3 else schematic.QUIET, 9)
for x, top in cells:
    schematic.arrow(axis, block[0], (x, top - 1.05))
show.figure(
    fig,
    name="block",
    caption="The block of tokens for one new cell. Top: three cells of the old tape. Bottom: the four tokens of the "
    "block, and what each of them holds.",
    alt="Three cells: 1 with state q, and two blanks. Below, the tokens LOAD, LOOK UP, SELECT and WRITE. LOAD has "
    "arrows to the three cells, and WRITE holds a blank with the state p.",
)

# %% [markdown]
# These four tokens form a *block*. A step needs one block for each cell of the tape.
#
# ## The paper states
#
# <!-- claim linear-attention/appendix-c-1-construction -->
# <blockquote>
#
# **Appendix C.1 (The paper's universal machine)** *Appendix C.1*
#
# **The paper states.** To output each letter, we increase the number of tokens $r$ by a constant $c$. We refer to the
# tokens involved in the computation of a single letter as a "block". We construct a different set of heads to act on
# each token and enforce that the nonzero rows that each block of tokens occupy are disjoint.
#
# **What is true.** A block of four tokens loads a cell and its neighbours, looks up their states, selects the rule for
# the letter, and writes the new cell. Each block has separate working rows. With a window of $N$ cells,
# $H=1+N\hat\Phi\,(25+3\hat\Sigma)-4\hat\Phi$ heads run every machine within the bounds exactly, in width
# $d=O(N\hat\Phi\hat\Sigma\max(\hat\Sigma,\hat{\mathcal Q}))$ and with $c(t)=4Nt$ tokens. All entries of the tokens are
# 0 or 1.
#
# **What changed.** As stated in the paper, no machine runs. Algorithms 5, 6 and 7 and the proof of Lemma C.1 need their
# corrections, and a cell without the head needs a letter for "no state", because an empty state cannot be looked up.
# The tape is every fourth of the last tokens. A head that keeps moving to the right needs $N=\hat n+\hat\Phi$ cells,
# where the paper counts $\hat n$. Therefore heads, rows and tokens exceed the bounds of Lemma 2.2, which other heads
# satisfy.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# Each token of a block is written by look-ups, and [one look-up is one head](lemma_c_1_programs.ipynb). SELECT is the
# hard part: it needs the letter *and* the state, while the layer is linear in the last token. The construction lets
# the last token look at itself, in rows that no earlier token has used. Every block therefore needs fresh rows, and
# the width grows with the number of cells times the number of steps.
#
# <details><summary>Proof of Appendix C.1, construction, as corrected</summary>
#
# By induction over the blocks let every earlier block have ended in a token with the letter of its cell and its state,
# or the letter "no state"; the cells of the prompt are such tokens. Every lookup below is a head by Lemma C.1. Its key
# rows are positions, the names of the table's columns, or rows of this one block, so that a single token answers.
#
# *Load* (6 heads). At the token before the block, which recognises itself by its position, each head looks for the last
# token of a block from the step before (the block of the cell to the left, of the cell itself or of the cell to the
# right) and copies its letter or its state. At the two ends of the window there is no neighbour, which saves 4 heads
# per step.
#
# *Look up* (7 heads). Each of the three states asks for its column of the table; "no state" asks for nothing. The three
# letters and the cell's own state are carried on.
#
# *Select* ($3\hat\Sigma + 2$ heads). For each of the three and each letter a head asks with this letter for this
# letter, in rows of the block that this token alone holds, and so finds the token itself if the letter is there. It
# moves the rule for that letter on. Where there was no column, there is none. Letter and state of the cell are carried
# on.
#
# *Write* (10 heads). The letter is that of the cell's own rule, if the head was here; asked for by "no state", it is
# the old letter. The state is that of a rule which brings the head here: from the left by $R$, from the right by $L$,
# from here by $S$. "No state" gets 1 if the cell was without the head, 1 if its own rule moves the head away by $L$ or
# $R$, and $-1$ for an arrival from either side. There is one head, so that of these at most two are not 0, and the sum
# is 1 if the new cell is without the head and else 0. This is Algorithm 7 as corrected, and the new block ends as the
# induction has it.
#
# *Sizes.* A block has $6 + 7 + (3\hat\Sigma + 2) + 10 = 25 + 3\hat\Sigma$ heads, there are $N\hat\Phi$ blocks, 4 heads
# are saved in every step, and one head numbers the tokens. With $D = \hat{\mathcal Q} + \hat\Sigma + 3$ rows for a rule
# a block has $3\,(2\hat\Sigma + \hat{\mathcal Q} + 1 + \hat\Sigma D + D) + 2(\hat{\mathcal Q} + 1) + \hat\Sigma$
# working rows, of the order of $\hat\Sigma\max(\hat\Sigma, \hat{\mathcal Q})$; positions, the table and the rows of a
# cell come to no larger an order. $\square$
#
# </details>
#
# ## See it run
#
# From bounds on the states, letters, cells and steps we build one layer, and run our own machine and ten random ones
# in it.

# %% tags=["parameters"]
# a machine of your own; its moves are L, R and S
machine = """
right _ -> add _ L      # at the end of the number: go back and add one
right 0 -> right 0 R
right 1 -> right 1 R
add   1 -> add 0 L      # carry
add   0 -> accept 1 S
add   _ -> accept 1 S
"""  # lines 'state letter -> state letter move', the first with the start state and the blank
word = "1011"  # what stands on its tape, in its letters (a word of digits may be given as a number)
start = 2  # the cell of the word's first letter, where the head starts, from 0 to window - 1
states = 4  # most states of a machine (accept and reject count), at least 1
letters = 3  # size of the alphabet, at least 1
window = 8  # cells of the tape, from 5 to 16
steps = 8  # steps of every machine, from 1 to 16; the work grows with (window * steps) ** 2
machines = 10  # random machines run beside it, from 1 to 200
seed = 0  # seed of the random machines, at least 0

# %%
require(states=(states, 1, None), letters=(letters, 1, None), window=(window, 5, 16), steps=(steps, 1, 16))
require(machines=(machines, 1, 200), seed=(seed, 0, None), start=(start, 0, window - 1))

# %%
universal = UniversalMachine(states, letters, window, steps)
own = parse_machine(machine)
tables = torch.stack([pad_table(own.table, states, letters), *random_tables(machines, states, letters, seed)])
tapes, places = random_inputs(machines, letters, window, seed + 1)
tapes = torch.cat([write_tape(own, str(word), window, start)[None], tapes])
places = torch.cat([torch.tensor([start]), places])
compared, history = universal.compare(tables, tapes, places)
bits = 8 * history.element_size()
print(f"d = {universal.width}, H = {len(universal.heads)}, {history.shape[1]} tokens of {bits}-bit integers")
print(f"{compared.machines} of {machines + 1} machines exact in all {steps + 1} configurations")

# %%
read = [universal.read(history[:1], step) for step in range(steps + 1)]
tape = torch.stack([one.letters[0] for one in read])
step_of, cell_of = (torch.stack([one.states[0] for one in read]) < states).nonzero(as_tuple=True)
signs = [letter.replace("_", "·") for letter in own.letters]

# %%
fig, axis = show.axes(1, 1, width=5.2, height=4.6)
axis.imshow(tape, cmap="Greys", vmin=0, vmax=3 * letters, aspect="auto")
axis.scatter(cell_of, step_of, marker="s", s=700, facecolor="none", edgecolor=show.COLOURS[1], linewidth=2)
for step, one in enumerate(read):
    for cell, (letter, state) in enumerate(zip(one.letters[0].tolist(), one.states[0].tolist(), strict=True)):
        name = f"\n{own.states[state]}" if state < len(own.states) else ""
        axis.text(cell, step, signs[letter] + name, ha="center", va="center", fontsize=7)
axis.set(xlabel="cell", ylabel="step of the machine")
axis.grid(False)
show.figure(
    fig,
    name="tape",
    caption="The tape over time, read from the tokens that the layer wrote. Each row is the tape after one step. The "
    "frame marks the head and contains the state, dots are blanks, and each letter has a background of one shade. "
    "The machine adds one to the binary number on its tape.",
    alt="A table of cells with a row for every step. The head walks to the right end of the number, turns back, turns "
    "trailing ones into zeros and the next zero into a one, and accepts.",
)

# %% [markdown]
# Between two cells of the tape, the layer writes three working tokens, so we must read every fourth token.

# %%
ends = [universal.prompt_tokens + 4 * window * step for step in range(1, steps + 1)]
literal = universal.read_cells(history[:, ends[0] - window : ends[0]])
after_one = universal.read(history, 1)
as_tape = int((literal.letters == after_one.letters).all(dim=1).sum())
weights = sorted({head.weight for head in universal.heads})
print(f"machines whose last {window} tokens after step 1 are the tape, token by token: {as_tape}")
in_v, in_tokens = (" and ".join(map(str, values)) for values in (weights, history.unique().tolist()))
print(f"weights of the heads: 1 in Q, {in_v} in V; entries of the tokens: {in_tokens}")

# %% [markdown]
# ### How it grows
#
# For $|\mathcal Q|$ states, $|\Sigma|$ letters, $N$ cells and $\Phi$ steps, the numbers of heads, rows, and tokens up
# to step $t$ are
#
# $$\begin{aligned}
# H &= 1 + N\Phi\,(25 + 3|\Sigma|) - 4\Phi , \\
# d &= \Theta\big(N\Phi\,|\Sigma|\,(|\mathcal{Q}| + |\Sigma|)\big) , \\
# c(t) &= 4Nt .
# \end{aligned}$$

# %%
sizes = [(2, 2, 4, 3), (3, 2, 5, 6), (3, 3, 6, 6), (3, 3, 12, 12)]
table, exact_everywhere, formulas_hold, largest = [], 0, 0, 0
for size in sizes:
    many = UniversalMachine(*size)
    drawn = random_tables(10, size[0], size[1], seed), *random_inputs(10, size[1], size[2], seed + 1)
    result, tokens = many.compare(*drawn)
    exact_everywhere += result.machines
    formulas_hold += (many.width, len(many.heads)) == (many.width_formula(*size), many.heads_formula(*size[1:]))
    largest = max(largest, int(tokens.abs().max()))
    terabytes = 2 * 8 * len(many.heads) * many.width**2 / 1e12
    table.append([*size, many.width, len(many.heads), many.tokens, f"{result.machines} of 10", terabytes])
entries = sum(len(head.source) + len(head.value) for head in many.heads)

# %%
show.table(
    ["states", "letters", "window", "steps", "d", "H", "tokens", "machines exact", "dense heads, TB"],
    table,
    caption="Each row is one set of heads, which runs ten random machines.",
)
print(
    f"the heads of the last row have {entries:,} entries that are not zero: {entries * 16 / 1e6:.1f} MB of row numbers"
)

# %% [markdown]
# All machines are exact. As dense matrices, the heads of the last row would need 38 terabytes. We store only the
# entries that are not zero.
#
# ### What breaks it
#
# We make three changes, one at a time: all blocks share their working rows, cells without the head have an empty
# state, or the branches are those of the paper.

# %%
draws = (random_tables(10, 2, 2, seed), *random_inputs(10, 2, 5, seed + 1))
shared, of_shared = UniversalMachine(2, 2, 5, 3, working_rows="shared").compare(*draws, dtype=torch.float64)
forgotten, of_forgotten = UniversalMachine(2, 2, 5, 3, form="printed").compare(*draws)
printed_right = 0
for one, tape_before, place in zip(*draws, strict=True):
    run = simulate(one, tape_before, int(place), 1)
    before, after = (cells_of(run.letters[t], run.states[t], 2) for t in (0, 1))
    printed_right += new_tape(one, before, form="printed") == after
show.table(
    ["change", "machines exact, of 10", "largest entry"],
    [
        ["shared working rows", shared.machines, of_shared.abs().max()],
        ["no empty states, after one step", forgotten.exact[:, 1].sum(), ""],
        ["no empty states, after two steps", forgotten.exact[:, 2].sum(), of_forgotten.abs().max()],
        ["the paper's branches, after one step", printed_right, "(on objects)"],
    ],
)

# %% [markdown]
# With shared rows, the look-ups also find earlier tokens, and the sums explode. An empty state does no harm in the
# first step, but after that it cannot be looked up, and letters are lost. The paper's
# [branches](algorithm_7_branches.ipynb) get no tape right.
#
# ## How we checked
#
# With one set of heads at each size, we compare every configuration with that of a simulator, and they must agree
# exactly. Shared rows and empty states are our controls. We show, but do not judge, that $H$ grows nearly fourfold
# when the number of steps doubles, while Lemma 2.2 allows a factor of two.

# %%
longer = UniversalMachine.heads_formula(2, 21, 20) / UniversalMachine.heads_formula(2, 11, 10)
claim = Claim("linear-attention/appendix-c-1-construction")
claim.equal("machines exact at every step, one set of heads", compared.machines, machines + 1)
claim.equal("machines exact over all sizes, window 12 and 12 steps included", exact_everywhere, 10 * len(sizes))
claim.equal("sizes at which d and H equal the formulas", formulas_hold, len(sizes))
claim.equal("largest entry of any token", largest, 1)
claim.equal("weights lie in -1, 0, 1: two bits", str(weights), "[-1, 1]")
claim.number("d at 3 states, 3 letters, window 6, 6 steps", UniversalMachine.width_formula(3, 3, 6, 6))
claim.number("H at the same size", UniversalMachine.heads_formula(3, 6, 6))
claim.control.equal("working rows shared by all blocks, machines exact", shared.machines, 10)
claim.equal("no bookkeeping of empty states, machines right after one step", forgotten.exact[:, 1].sum(), 10)
claim.control.equal("no bookkeeping of empty states, machines right after two", forgotten.exact[:, 2].sum(), 10)
claim.printed.equal("printed branches, machines right after one step", printed_right, 10)
claim.printed.equal("last tokens one by one as the tape, machines", as_tape, machines + 1)
claim.number("words of one letter: H at 20 steps over H at 10", longer)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - A new cell depends on three old cells, so a few look-ups per cell make a universal machine.
# - This construction is wide because each row can be used only once.
# - [Heads that subtract what they wrote](lemma_2_2_universal_machine.ipynb) need far fewer rows.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, which block writes the cell where the head was, and what does it write?
#
#    <details><summary>Solution</summary>
#
#    The block of that cell selects the rule of *q* over 1. It writes the letter 0 and "no state", because the head
#    leaves to the right.
#
#    </details>
#
# 2. *Predict, then run.* Set `steps = 16`. By what factor do $d$ and $H$ grow?
#
#    <details><summary>Solution</summary>
#
#    Both nearly double: $d$ from 10,934 to 21,814 and $H$ from 2,145 to 4,289, because every step brings new blocks. In
#    Lemma 2.2 eight more steps add 24 rows and 8 heads.
#
#    </details>
#
# Next: [Lemma 2.2](lemma_2_2_universal_machine.ipynb). The lemma promises a smaller machine, and one exists.

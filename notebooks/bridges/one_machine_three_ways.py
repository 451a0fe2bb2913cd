# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 1 · One machine, three ways
# *Between Lemma 2.2 of Learning Linear Attention in Polynomial Time and Lemma 1 and Theorem 2 of Looped Transformers as
# Programmable Computers.*
#
# Two of the papers in this book turn a transformer with frozen weights into a computer, in three different ways. Can
# all three computers do the same work, and which of them does this work at the lowest cost? We give them a machine
# that adds one to a binary number, and a machine that recognises palindromes.

# %%
import math
from dataclasses import replace
from itertools import pairwise

from attention_theory.bridges.situations import working_states
from attention_theory.bridges.three_ways import Job, all_ways, by_fleq, by_linear_attention, by_subleq, random_jobs
from attention_theory.bridges.turing_to_fleq import fleq_bounds, fleq_of
from attention_theory.bridges.turing_to_subleq import subleq_bounds, subleq_of
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import parse_machine, write_tape
from attention_theory.looped_transformers.blocks.base import scratch_columns
from attention_theory.looped_transformers.fleq.language import PointerMove
from attention_theory.looped_transformers.fleq.language import interpret as interpret_fleq
from attention_theory.looped_transformers.subleq.language import interpret as interpret_subleq
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
number = "1011"  # binary digits to which one is added, from 1 to 6
word = "aba"  # letters a and b, a palindrome or not, from 1 to 5
longest = 64  # most digits in the comparison of lengths, from 8 to 96
machines = 60  # random machines under the interpreters, from 10 to 500
seed = 0  # seed of the random machines, at least 0

# %%
require(longest=(longest, 8, 96), machines=(machines, 10, 500), seed=(seed, 0, None))
require(digits=(len(number), 1, 6), letters=(len(word), 1, 5))
require(number=(set(number) <= {"0", "1"}, [True]), word=(set(word) <= {"a", "b"}, [True]))

# %% [markdown]
# ## A tiny example
# A *Turing machine* has a *state* and a *head*, which is on one cell of a tape. Our machine adds one. In the state
# `right`, the head walks to the first blank after the number. In the state `add`, it turns each 1 into 0 and moves
# left, until it can turn a 0 or a blank into 1. We let it add one to 1 on a tape of three cells. We count cells from 0
# and write blanks as `_`.
#
# | step | tape | state | head at cell |
# | --- | --- | --- | --- |
# | 0 | `_ 1 _` | `right` | 1 |
# | 1 | `_ 1 _` | `right` | 2 |
# | 2 | `_ 1 _` | `add` | 1 |
# | 3 | `_ 0 _` | `add` | 0 |
# | 4 | `1 0 _` | `accept` |  |
#
# The result is 10, which is the binary form of 2. Each row is a *situation*, which consists of the state, the head and
# the tape. A computer that runs the machine must keep track of all three. Where can it keep the position of the head?

# %%
fig, axis = schematic.canvas(7.2, 3.8)
rows = {
    5.9: "Linear attention marks the head on the tape, and writes the tape again after each step.",
    3.5: "SUBLEQ has a block of program for each state and cell.",
    1.2: "FLEQ has one program, and the head is an address in two of its instructions.",
}
for height, words in rows.items():
    schematic.text(axis, (0.5, height + 1.25), words, size=9, align="left")
before = schematic.tokens(axis, "_1_", (0.5, 5.9), lit=[1], step=1.2)
after = schematic.tokens(axis, "_1__", (9.1, 5.9), lit=[2], step=1.2)
for at in (before[1], after[2]):
    schematic.text(axis, (at[0], 5.6), "right", schematic.BLUE, 8)
schematic.arrow(axis, (4.2, 6.35), (9.0, 6.35), "six tokens of work", colour=schematic.QUIET)

# %%
states = [f"{state} {cell}" for state in ("right", "add") for cell in range(3)]
blocks = schematic.tokens(axis, states, (0.5, 3.5), lit=[2], step=1.4)
schematic.text(axis, (blocks[2][0], 3.2), "program counter", schematic.BLUE, 8)
parts = schematic.tokens(axis, ["read", "find rule", "write", "move"], (0.5, 1.2), lit=[0, 2], step=1.9)
for height in (3.5, 1.2):
    tape = schematic.tokens(axis, "_1_", (10.3, height), step=1.2)
    schematic.text(axis, (tape[1][0], height + 1.25), "tape", size=9)
for part, bend, aside in ((0, -0.12, 0.15), (2, -0.1, -0.15)):
    schematic.arrow(axis, (parts[part][0], 1.15), (tape[2][0] + aside, 1.15), bend=bend)
show.figure(
    fig,
    name="heads",
    caption="The situation after one step, state right and head at cell 2, in three computers. Blue marks where the "
    "head is kept.",
    alt="Three rows. First, a tape of three cells with the word right under its middle cell, an arrow, and a tape of "
    "four cells with the word right under the third. Second, six boxes named right 0 to add 2, of which right 2 is "
    "marked, and a tape. Third, four boxes, read, find rule, write and move; arrows lead from read and write to the "
    "last cell of a tape.",
)

# %% [markdown]
# We see three ways to keep the head: in a token, in the program counter, or in an address. Each way has a cost that
# we can count. For these four steps, linear attention writes 46 tokens. At each step it writes six tokens of work and
# the tape, which grows by one cell per step. The SUBLEQ program has 47 instructions and the FLEQ program has 35. We
# compile both below. If we add one more cell to the tape, SUBLEQ needs 14 more instructions, and FLEQ needs none.
#
# ## What we prove
# A *SUBLEQ* instruction $(a,b,c)$ subtracts cell $a$ of the memory from cell $b$ and jumps to instruction $c$ if the
# result is at most 0. The cells of such an instruction are fixed. A *FLEQ* instruction applies a function to two
# cells, stores the result in a third, and may also jump. A *pointer move* is a FLEQ instruction that changes an
# address in another instruction. For the looped transformers see {claim:ref}`Lemma 1 <looped-transformers/lemma-1>`
# and {claim:ref}`Theorem 2 <looped-transformers/theorem-2>`, and for linear attention see {claim:ref}`Lemma 2.2
# <linear-attention/lemma-2-2>`.
#
# First, all three transformers run our machines.
#
# <!-- claim bridges/bridge-1-3 -->
# <blockquote>
#
# **Bridge 1.3 (One machine on three transformers)**
#
# Three transformers with fixed weights run a binary incrementer and a palindrome checker: one layer of linear attention
# with $H$ heads (Lemma 2.2), ten layers with SUBLEQ (Lemma 1), and eleven layers with FLEQ (Theorem 2). Before every
# step, each of them has the right state, head position and tape.
#
# </blockquote>
# <!-- /claim -->
#
# For the two looped transformers, we can also say how large a program any machine needs.
#
# <!-- claim bridges/bridge-1-1 -->
# <blockquote>
#
# **Bridge 1.1 (A Turing machine as a SUBLEQ program)**
#
# Let a Turing machine have $Q$ states that do not halt, at most two that halt, $\Sigma \ge 2$ letters, and a tape of
# $W$ cells that its head does not leave. Then some SUBLEQ program of at most $QW(3\Sigma-1)+5$ instructions goes
# through the same situations (state, cell of the head, tape), and executes at most $\Sigma+1$ instructions per step of
# the machine. Every SUBLEQ program that can change $W$ cells has at least $W$ instructions before its last.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim bridges/bridge-1-2 -->
# <blockquote>
#
# **Bridge 1.2 (A Turing machine as a FLEQ program)**
#
# A FLEQ program of $4Q\Sigma+11$ instructions with pointer moves runs the machine of Bridge 1.1, whatever the length of
# the tape, and executes at most $\lceil\log_2(Q\Sigma+1)\rceil+9$ instructions per step of the machine. It only adds
# and subtracts, so with exact look-ups all its numbers are exact.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In SUBLEQ, an instruction cannot look up a cell by its number, so our program does not store the position of the head
# as a number. The program counter, however, does move. We therefore write a block of instructions for every pair of
# state and cell. A block subtracts ones from its cell until the letter is known, writes the new letter with one more
# subtraction, and jumps to the block of the next pair. Some instruction must name each cell that the program changes,
# so a program with one memory cell per cell of the tape cannot be shorter than the tape.
#
# In FLEQ, one instruction reads the letter under the head and another writes it. To move the head, we add 1 or $-1$
# to the address in both instructions. Between reading and writing, a search by halving finds the machine's rule. The
# program does not depend on the length of the tape.
#
# <details><summary>Proof of Bridge 1.1</summary>
#
# *The program.* Letters are the numbers $0, \dots, \Sigma-1$, and each cell of the tape is a cell of memory. There is a
# block of instructions for each state $q$ that does not halt and each cell $p$. It begins with $\Sigma-1$ tests. The
# first subtracts 0 from the cell, and branches if the letter is 0. Each further test subtracts 1. Test number
# $j = 1, \dots, \Sigma-2$ is reached by letters $a\ge j$, leaves $a-j$ in the cell, and branches if and only if
# $a = j$. Only the letter $\Sigma-1$ passes all tests, and it leaves $(\Sigma-1)-(\Sigma-2) = 1$; after a branch 0 is
# left. Once the letter is found, the content of the cell is therefore known, and one subtraction of a constant (none,
# if nothing changes) turns it into the letter that the rule writes. A jump leads to the block of the next state and the
# next cell. If the letter written is 0, the subtraction itself jumps, because its result is 0. A block has at most
# $(\Sigma-1)+2\Sigma = 3\Sigma-1$ instructions, of which at most $(\Sigma-1)+2$ are executed. Two instructions for each
# halting state leave its answer, and one ends the program.
#
# *It runs the machine.* When the computer is at the beginning of the block $(q, p)$, the cells hold the tape. By the
# argument above, the cells also hold the tape when the computer next reaches the beginning of a block, which is the
# block of the next state and cell. By induction all situations are those of the machine, until it halts or its head
# leaves the tape.
#
# *At least $W$.* An instruction changes the cell that it names and no other, and the last instruction changes none.
# Therefore a program that can change $W$ cells names each of them in a separate instruction. $\square$
#
# </details>
#
# <details><summary>Proof of Bridge 1.2</summary>
#
# *The program.* A number $s$ holds $\Sigma$ times the number of the state, with the halting states numbered last. The
# instruction READ sets $u = s + \mathrm{tape}[p]$, the number of the rule. A search by halving follows: each test
# subtracts a constant from $u$ and jumps if the result is at most 0. It has $Q\Sigma$ tests and $Q\Sigma+1$ leaves, one
# for each rule and one for all states that halt, which jumps to the end. A test leaves half of the leaves, rounded up,
# so there are at most $\lceil\log_2(Q\Sigma+1)\rceil$ tests on a path. A rule takes three instructions: they set the
# letter $v$, the number $s$ and the move $m \in \{0, 1, 2\}$, and the last one jumps. WRITE puts $v$ on the tape and
# jumps if $m = 0$; the next instruction subtracts 1 from $m$ and goes back to READ if the machine stays. For a move to
# the right, and for one to the left, two pointer moves add 1 or $-1$ to the address in READ and in WRITE, and a jump
# goes back. In total this makes $1 + Q\Sigma + (3Q\Sigma+1) + 2 + 3 + 3 + 1 = 4Q\Sigma+11$ instructions, of which a
# step executes at most $1 + \lceil\log_2(Q\Sigma+1)\rceil + 3 + 2 + 3$.
#
# *It runs the machine.* Whenever the computer is at READ, both addresses are that of the head's cell, $s$ gives the
# state and the cells hold the tape. The instructions above preserve these three properties.
#
# *It is exact.* All numbers are integers, and each computed number is a sum or difference of two other numbers.
# $\square$
#
# </details>
#
# ## See it run
# We write both machines as tables: state and letter, then the next state, the letter to write, and a move to the left
# (`L`), to the right (`R`), or none (`S`). The palindrome checker compares the first letter with the last, erases both,
# and begins again.

# %%
incrementer = parse_machine(
    "right _ -> add _ L\nright 0 -> right 0 R\nright 1 -> right 1 R\n"
    "add 1 -> add 0 L\nadd 0 -> accept 1 S\nadd _ -> accept 1 S"
)
checker = parse_machine(
    "first _ -> accept _ S\nfirst a -> seek_a _ R\nfirst b -> seek_b _ R\n"
    "seek_a _ -> last_a _ L\nseek_a a -> seek_a a R\nseek_a b -> seek_a b R\n"
    "seek_b _ -> last_b _ L\nseek_b a -> seek_b a R\nseek_b b -> seek_b b R\n"
    "last_a _ -> accept _ S\nlast_a a -> back _ L\nlast_a b -> reject b S\n"
    "last_b _ -> accept _ S\nlast_b b -> back _ L\nlast_b a -> reject a S\n"
    "back _ -> first _ R\nback a -> back a L\nback b -> back b L"
)


# %%
def job(machine, text, steps):
    """The text between two blanks, the head on its first letter."""
    return Job(machine, write_tape(machine, f"_{text}_", len(text) + 2), 1, steps)


jobs = {
    f"add one to {number}": job(incrementer, number, 2 * len(number) + 2),
    f"is {word} a palindrome": job(checker, word, (len(word) + 2) ** 2),
    f"is {word[0]}b a palindrome": job(checker, f"{word[0]}b", 16),
}

# %% [markdown]
# ### On three transformers
# We give each transformer one set of weights for all jobs. The prompt of the linear-attention layer contains the
# machine and the tape. The inputs of the looped transformers contain the compiled programs, padded to a common size.

# %%
ways = all_ways(list(jobs.values()))
show.table(
    ["job", "transformer", "layers", "heads", "width", "columns at the start", "passes", "situations right", "of"],
    [
        [name, way.name, way.layers, way.heads, way.width, way.tokens, way.passes, way.exact, way.situations]
        for name, of_job in zip(jobs, ways, strict=True)
        for way in of_job
    ],
    caption="A pass is one application of all layers: one token in linear attention, one instruction in the other "
    "two. Passes are counted up to the situation in which the machine halts.",
)
seconds = {way.name: sum(of_job[place].seconds for of_job in ways) for place, way in enumerate(ways[0])}
print("; ".join(f"{name}: {took:.2f} s" for name, took in seconds.items()))

# %% [markdown]
# All situations are right on each transformer. The numbers of passes differ, but a pass costs one layer in linear
# attention, ten layers in SUBLEQ and eleven in FLEQ. The seconds depend on our code, which skips some work with zeros,
# so we read little into them.
#
# The three transformers are exact for different reasons. In linear attention all entries are integers, so nothing is
# rounded. SUBLEQ rounds its bits at the end of each cycle. FLEQ keeps real numbers that it cannot round. Here, however,
# it only looks up, adds and subtracts, and a look-up at inverse temperature $\lambda$ is wrong by only about
# $e^{-2\lambda}$.
#
# ### What grows
# Let the number consist of ones only, which takes the most work for a given length. We count the layers that the
# computer goes through one after another, and the columns at the end. In linear attention, each of these columns is a
# token; in the two looped transformers, they are the scratchpad, the memory and the program.

# %%
lengths = sorted({count for count in (2, 4, 8, 16, 24, 32, 48, 64, longest) if count <= longest})


def work(count):
    """Layers gone through, and columns at the end, of the three."""
    one = job(incrementer, "1" * count, 2 * count + 2)
    steps, cells = len(one.expected) - 1, len(one.tape)
    tokens = CompactMachine(*incrementer.table.shape[:2], cells, steps).tokens_until(steps, cells)
    subleq, fleq = subleq_of(incrementer, one.tape, 1), fleq_of(incrementer, one.tape, 1)
    program = subleq.source
    cycles = len(interpret_subleq(program, 8, 10_000)), len(interpret_fleq(fleq.source, 10_000).counters)
    start = len(incrementer.states) + 1 + cells
    scratch = scratch_columns(fleq.source.size)
    columns = start + tokens, program.columns(), scratch + len(fleq.source.memory) + len(fleq.source.code)
    return (tokens, 10 * cycles[0], 11 * cycles[1]), columns


grown = {count: work(count) for count in lengths}

# %%
fig, axes = show.axes(1, 2, width=8.0, height=3.2)
for place, (name, marker) in enumerate(zip(seconds, show.MARKERS, strict=False)):
    for axis, part in zip(axes, (0, 1), strict=True):
        axis.loglog(lengths, [grown[count][part][place] for count in lengths], marker=marker, label=name)
axes[0].set(xlabel="digits of the number", ylabel="layers one after another")
axes[1].set(xlabel="digits of the number", ylabel="columns at the end")
axes[0].legend(fontsize=8)
show.figure(
    fig,
    name="growth",
    caption="Adding one to a number of ones. Left: layers gone through one after another, passes times depth. Right: "
    "columns at the end. Linear attention writes the whole tape after each step, so its cost grows with the square "
    "of the length; the others change their tape in place.",
    alt="Two panels with three rising curves each on logarithmic axes. Left: the curve of linear attention is lowest "
    "at two digits and has twice the slope of the others. Right: linear attention rises steepest and ends above; the "
    "curve of FLEQ is nearly flat.",
)

# %% [markdown]
# On the left, linear attention starts lowest and rises twice as steeply as the other two curves on this scale. It
# overtakes SUBLEQ at 13 digits and FLEQ at 59. On the right it ends far above both, because it keeps every tape that it
# has written. The curve of FLEQ is nearly flat, because only the tape grows and the program does not.
#
# ## How we checked
# In addition to our two machines, we compile random machines, run the programs under the interpreters of SUBLEQ and
# FLEQ, and compare every situation with a plain simulator. Each control breaks something that the computer relies on:
# integers large enough for the letters, a pointer that moves, the removal of old entries from memory, or a sharp
# softmax.
#
# ### A Turing machine as a SUBLEQ program

# %%
drawn = [
    one
    for states, letters in ((1, 2), (2, 3), (4, 4))
    for one in random_jobs(math.ceil(machines / 3), states, letters, 8, seed + states)
]


def sizes(one):
    """States that do not halt, letters, and cells of the tape."""
    return len(working_states(one.machine)), len(one.machine.letters), len(one.tape)


# %%
def subleq_situations(one, bits=8):
    """What the interpreter goes through, the most cycles between two situations, and the instructions."""
    made = subleq_of(one.machine, one.tape, one.head)
    run = interpret_subleq(made.source, bits, subleq_bounds(*sizes(one))[1] * one.steps + 2)
    told = zip([0, *run.counters.tolist()], [list(made.source.memory), *run.memories.tolist()], strict=True)
    met = [(cycle, now) for cycle, at in enumerate(told) if (now := made.read(*at))][: len(one.expected)]
    gaps = [after[0] - before[0] for before, after in pairwise(met)]
    return [now for _, now in met], max(gaps), len(made.source.code)


everything = [*jobs.values(), *drawn]
in_subleq = [subleq_situations(one) for one in everything]

# %% [markdown]
# As a control we use integers of two bits, from $-2$ to 1. The letters 2 and 3 do not fit, so machines with four
# letters should go wrong.


# %%
def right_with(bits):
    """How many of the machines of four letters are right with integers of so many bits."""
    four = [one for one in drawn if len(one.machine.letters) == 4]
    runs = [subleq_situations(one, bits)[0] for one in four]
    return sum(found == one.expected for one, found in zip(four, runs, strict=True)) / len(four)


def block_size(one):
    """The most instructions between the entries of two blocks."""
    entries = sorted(subleq_of(one.machine, one.tape, one.head).entries)
    return max(after - before for before, after in pairwise(entries))


# %% [markdown]
# We judge lengths and cycles by their differences from the bounds, none of which may be above zero.

# %%
wrong_subleq = sum(found != one.expected for one, (found, _, _) in zip(everything, in_subleq, strict=True))
bounds = [subleq_bounds(*sizes(one)) for one in everything]
over_length = max(length - most for (most, _), (_, _, length) in zip(bounds, in_subleq, strict=True))
over_cycles = max(cycles - most for (_, most), (_, cycles, _) in zip(bounds, in_subleq, strict=True))
shorter = min(length - 1 - sizes(one)[2] for one, (_, _, length) in zip(everything, in_subleq, strict=True))
largest_block = max(block_size(one) - 3 * len(one.machine.letters) + 1 for one in everything)
print(f"{len(everything)} machines and tapes, {sum(len(found) for found, _, _ in in_subleq)} situations")

# %%
claim = Claim("bridges/bridge-1-1")
claim.equal("machines and tapes with a wrong situation", wrong_subleq, 0)
claim.at_most("instructions above the bound", over_length, 0)
claim.equal("cycles of a step above the bound, and reached", over_cycles, 0)
claim.at_least("instructions before the last, above the number of cells", shorter, 0)
claim.at_most("largest block of a state and cell, above 3 Σ - 1", largest_block, 0, of="proof")
claim.control.equal("share right with integers of 2 bits, of four letters", right_with(2), 1)
claim.verdict()

# %% [markdown]
# Some machines take exactly $\Sigma+1$ cycles for one step with this program.
#
# ### A Turing machine as a FLEQ program


# %%
def fleq_situations(one, source=None):
    """What the interpreter goes through, the most cycles between two, the instructions, and parts of whole numbers."""
    made = fleq_of(one.machine, one.tape, one.head)
    made = made if source is None else replace(made, source=source(made.source))
    run = interpret_fleq(made.source, fleq_bounds(*sizes(one)[:2])[1] * (len(one.expected) - 1))
    at_read = [0, *(cycle for cycle, counter in enumerate(run.counters, start=1) if counter == 0)]
    gaps = [after - before for before, after in pairwise(at_read)]
    parts = max((memory - memory.round()).abs().max().item() for memory in run.memories)
    return made.situations(run)[: len(one.expected)], max(gaps), len(made.source.code), parts


# %% [markdown]
# As a control, we never change the address of WRITE, so that all letters go to one cell.


# %%
def write_stands_still(source):
    """The program whose WRITE keeps its address."""
    place = source.labels["write"]
    code = [
        replace(one, by=0) if isinstance(one, PointerMove) and one.instruction == place else one for one in source.code
    ]
    return replace(source, code=tuple(code))


# %%
in_fleq = [fleq_situations(one) for one in everything]

# %%
wrong_fleq = sum(found != one.expected for one, (found, *_) in zip(everything, in_fleq, strict=True))
limits = [fleq_bounds(*sizes(one)[:2]) for one in everything]
other_length = sum(length != most for (most, _), (_, _, length, _) in zip(limits, in_fleq, strict=True))
over_fleq = max(cycles - most for (_, most), (_, cycles, *_) in zip(limits, in_fleq, strict=True))
still = sum(fleq_situations(one, write_stands_still)[0] == one.expected for one in jobs.values())
different_tapes = {
    len(fleq_of(incrementer, write_tape(incrementer, "_1_", cells), 1).source.code) for cells in (3, 9, 40)
}

# %%
claim = Claim("bridges/bridge-1-2")
claim.equal("machines and tapes with a wrong situation", wrong_fleq, 0)
claim.equal("programs of another length than the formula's", other_length, 0)
claim.equal("different lengths of the program, tapes of 3, 9 and 40 cells", len(different_tapes), 1)
claim.at_most("cycles of a step above the bound", over_fleq, 0)
claim.equal("distance of any number from a whole one", max(one[3] for one in in_fleq), 0, of="proof")
claim.control.equal("the address of WRITE stands still: jobs right", still, len(jobs))
claim.verdict()

# %% [markdown]
# ### One machine on three transformers
# As controls, we leave old entries in the memory of linear attention, and lower the inverse temperature in the two
# looped transformers.

# %%
one_job = [next(iter(jobs.values()))]
forgetful = by_linear_attention(one_job, take_back=False)[0]
warm_subleq, warm_fleq = by_subleq(one_job, inverse_temperature=1.0)[0], by_fleq(one_job, inverse_temperature=5.0)[0]
show.table(
    ["transformer", "what is broken", "situations right", "of"],
    [
        [forgetful.name, "nothing is taken back", forgetful.exact, forgetful.situations],
        [warm_subleq.name, "inverse temperature 1", warm_subleq.exact, warm_subleq.situations],
        [warm_fleq.name, "inverse temperature 5", warm_fleq.exact, warm_fleq.situations],
    ],
)

# %%
answers = [one.machine.states[one.expected[-1].state] for one in jobs.values()]
palindromes = ["accept" if text == text[::-1] else "reject" for text in (word, f"{word[0]}b")]
last_tape = "".join(incrementer.letters[letter] for letter in one_job[0].expected[-1].tape).replace("_", "")

# %%
claim = Claim("bridges/bridge-1-3")
for place, name in enumerate(seconds):
    missed = sum(of_job[place].situations - of_job[place].exact for of_job in ways)
    claim.equal(f"{name}: situations that are not the machine's", missed, 0)
claim.equal("the number plus one", int(last_tape, 2), int(number, 2) + 1)
claim.equal("answers", str(answers), str(["accept", *palindromes]))
claim.at_most("FLEQ: distance of its memory from whole numbers", max(of_job[2].deviation for of_job in ways), 1e-9)
claim.control.equal("linear attention, nothing taken back: right", forgetful.exact, forgetful.situations)
claim.control.equal("SUBLEQ, temperature 1: right", warm_subleq.exact, warm_subleq.situations)
claim.control.equal("FLEQ, temperature 5: right", warm_fleq.exact, warm_fleq.situations)
claim.verdict()

# %% [markdown]
# ## What to remember
# - One Turing machine runs exactly on all three transformers. They differ in where they keep the head: in a token, in
#   the program counter, or in an address.
# - Linear attention needs one layer and writes the whole tape again after each step, so the number of its tokens grows
#   with the number of steps and with the tape.
# - SUBLEQ has no pointers, so the length of its program grows with the tape. FLEQ has pointers, and the length of its
#   program grows only with the machine's table.
#
# ## Exercises
#
# 1. *By hand.* For step $t$ linear attention writes six tokens of work and a tape that has grown by $t$ cells. How many
#    tokens does it write to add one to 11, with two blanks around the number? How many does it write to add one to $k$
#    ones?
#    <details><summary>Solution</summary>
#
#    For 11, the head walks two steps to the right and one back, carries twice, and writes the leading 1. These are six
#    steps on a tape of four cells, which makes $6\,(6+4)+(1+2+\dots+6)=60+21=81$ tokens. With $k$ ones there are $2k+2$
#    steps and $k+2$ cells, hence $(2k+2)(k+8)+(k+1)(2k+3)=4k^2+23k+19$ tokens. For $k=1$ these are the 46 of the tiny
#    example.
#
#    </details>
# 2. *Predict, then run.* FLEQ goes through $253k+264$ layers for $k$ ones, and linear attention goes through one
#    layer per token. Set `longest = 48`, and then `longest = 96`. Which of the two curves in the left panel ends
#    higher?
#    <details><summary>Solution</summary>
#
#    With 48 digits, FLEQ ends higher, with 12,408 layers against 10,339. With 96 digits, linear attention ends higher,
#    with 39,091 against 24,552. The curves cross between 58 and 59 digits, because the quadratic term wins in the end.
#
#    </details>
#
# Next: [Bridge 2](learning_hyper_attention.ipynb), where we learn attention weights from data instead of writing them
# by hand.

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
# Two papers of this book turn a frozen transformer into a computer. In one of them a single layer of linear attention
# writes the tape of a Turing machine, token by token. In the other a stack of softmax layers is looped, and runs
# programs in SUBLEQ, a language of one instruction, or in FLEQ, which has matrices and pointers. Each paper shows its
# computer by itself. Here all three are given the same work: a machine that adds one to a binary number, and one that
# tells whether a word is a palindrome.
#
# For this the machine has to be compiled, and the two languages ask for different things. SUBLEQ in the transformer has
# no pointers, so the head of the machine cannot be a number: it becomes the *place in the program*. FLEQ can change the
# addresses in its own instructions, so there the head *is* an address.

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
# ## The two machines
# Both are written as tables. The incrementer walks to the end of the number and carries ones to the left. The
# palindrome checker compares the first letter with the last, erases both, and begins again.

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

# %% [markdown]
# The jobs: a number, a word, and a word of two letters.


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
# ## The head as a place in the program
# <!-- claim bridges/bridge-1-1 -->
# <blockquote>
#
# **Bridge 1.1 (A Turing machine as a SUBLEQ program)**
#
# Let a Turing machine have $Q$ states that do not halt, at most two that do, $\Sigma \ge 2$ letters and a tape of $W$
# cells that its head does not leave. Some SUBLEQ program of at most $QW(3\Sigma-1)+5$ instructions goes through the
# same situations (state, cell of the head, tape), with at most $\Sigma+1$ instructions for a step of the machine. Every
# SUBLEQ program that can change $W$ cells has at least $W$ instructions before its last.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 1.1</summary>
#
# *The program.* Letters are the numbers $0, \dots, \Sigma-1$, and each cell of the tape is a cell of memory. There is a
# block of instructions for each state $q$ that does not halt and each cell $p$. It begins with $\Sigma-1$ tests. The
# first subtracts 0 from the cell, and branches if the letter is 0. Each further one subtracts 1, so that the test
# number $j = 1, \dots, \Sigma-2$ is reached by letters from $j$ on, leaves $a-j$, and branches if and only if $a = j$.
# What passes all tests is the letter $\Sigma-1$, of which $(\Sigma-1)-(\Sigma-2) = 1$ is left; after a branch 0 is
# left. So what is left is known wherever a letter has been found, and one subtraction of a constant (none, if nothing
# changes) makes it the letter that the rule writes. A jump leads to the block of the next state and the next cell. If
# the letter written is 0, the subtraction jumps by itself, for its result is 0. A block has at most
# $(\Sigma-1)+2\Sigma = 3\Sigma-1$ instructions, of which at most $(\Sigma-1)+2$ are executed. Two instructions each
# leave the answers of the halting states, and one ends the program.
#
# *It is the machine.* When the computer stands at the beginning of the block $(q, p)$, the cells hold the tape, and by
# what was said they do so when it next stands at the beginning of a block, which is that of the next state and cell. By
# induction all situations are those of the machine, until it halts or its head leaves the tape.
#
# *At least $W$.* An instruction changes the cell that it names and no other, and the last instruction changes none. So
# a program that can change $W$ cells names each of them in an instruction of its own. $\square$
#
# </details>

# %%
drawn = [
    one
    for states, letters in ((1, 2), (2, 3), (4, 4))
    for one in random_jobs(math.ceil(machines / 3), states, letters, 8, seed + states)
]


def sizes(one):
    """States that do not halt, letters, and cells of the tape."""
    return len(working_states(one.machine)), len(one.machine.letters), len(one.tape)


# %% [markdown]
# Each of these runs as a SUBLEQ program under the interpreter of the language.


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
# A letter has to fit into an integer. With integers of two bits, from $-2$ to 1, the tests of the letters 2 and 3 go
# wrong.


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
# Length and cycles are judged as differences to the bounds: none may be above zero.

# %%
wrong_subleq = sum(found != one.expected for one, (found, _, _) in zip(everything, in_subleq, strict=True))
bounds = [subleq_bounds(*sizes(one)) for one in everything]
over_length = max(length - most for (most, _), (_, _, length) in zip(bounds, in_subleq, strict=True))
over_cycles = max(cycles - most for (_, most), (_, cycles, _) in zip(bounds, in_subleq, strict=True))
shorter = min(length - 1 - sizes(one)[2] for one, (_, _, length) in zip(everything, in_subleq, strict=True))
largest_block = max(block_size(one) - 3 * len(one.machine.letters) + 1 for one in everything)
print(f"{len(everything)} machines and tapes, {sum(len(found) for found, _, _ in in_subleq)} situations")

# %% [markdown]
# The claim:

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
# The bound of $\Sigma+1$ cycles is reached. What pays for them is the length: the program knows each cell by name, and
# a tape that is twice as long needs a program twice as long.
#
# ## The head as an address
# <!-- claim bridges/bridge-1-2 -->
# <blockquote>
#
# **Bridge 1.2 (A Turing machine as a FLEQ program)**
#
# The same machine is run by a FLEQ program of $4Q\Sigma+11$ instructions with pointer moves, whatever the length of the
# tape, with at most $\lceil\log_2(Q\Sigma+1)\rceil+9$ instructions for a step. It only adds and subtracts, so that with
# exact look-ups all its numbers are exact.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 1.2</summary>
#
# *The program.* A number $s$ holds $\Sigma$ times the number of the state, with states that halt last. The instruction
# READ puts $u = s + \mathrm{tape}[p]$, the number of the rule. A search by halving follows: each test subtracts a
# constant from $u$ and jumps if the result is at most 0. It has $Q\Sigma$ tests and $Q\Sigma+1$ leaves, one for each
# rule and one for all states that halt, which jumps to the end. A test leaves half of the leaves, rounded up, so that
# there are at most $\lceil\log_2(Q\Sigma+1)\rceil$ tests on a way. A rule takes three instructions: they set the letter
# $v$, the number $s$ and the move $m \in \{0, 1, 2\}$, and the last one jumps. WRITE puts $v$ on the tape and jumps if
# $m = 0$; the next instruction subtracts 1 from $m$ and goes back to READ if the machine stays. For a move to the
# right, and for one to the left, two pointer moves add 1 or $-1$ to the address in READ and in WRITE, and a jump goes
# back. In all that is $1 + Q\Sigma + (3Q\Sigma+1) + 2 + 3 + 3 + 1 = 4Q\Sigma+11$ instructions, of which a step executes
# at most $1 + \lceil\log_2(Q\Sigma+1)\rceil + 3 + 2 + 3$.
#
# *It is the machine.* Whenever the computer stands at READ, both addresses are that of the head's cell, $s$ tells the
# state and the cells hold the tape; the instructions above keep it so, by what they do.
#
# *It is exact.* All numbers are whole, and are sums and differences of two others. $\square$
#
# </details>


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
# The control leaves the address of WRITE where it is, so that all letters go to one cell.


# %%
def write_stands_still(source):
    """The program whose WRITE keeps its address."""
    place = source.labels["write"]
    code = [
        replace(one, by=0) if isinstance(one, PointerMove) and one.instruction == place else one for one in source.code
    ]
    return replace(source, code=tuple(code))


in_fleq = [fleq_situations(one) for one in everything]

# %% [markdown]
# The claim:

# %%
wrong_fleq = sum(found != one.expected for one, (found, *_) in zip(everything, in_fleq, strict=True))
limits = [fleq_bounds(*sizes(one)[:2]) for one in everything]
other_length = sum(length != most for (most, _), (_, _, length, _) in zip(limits, in_fleq, strict=True))
over_fleq = max(cycles - most for (_, most), (_, cycles, *_) in zip(limits, in_fleq, strict=True))
still = sum(fleq_situations(one, write_stands_still)[0] == one.expected for one in jobs.values())
different_tapes = {
    len(fleq_of(incrementer, write_tape(incrementer, "_1_", cells), 1).source.code) for cells in (3, 9, 40)
}

claim = Claim("bridges/bridge-1-2")
claim.equal("machines and tapes with a wrong situation", wrong_fleq, 0)
claim.equal("programs of another length than the formula's", other_length, 0)
claim.equal("different lengths of the program, tapes of 3, 9 and 40 cells", len(different_tapes), 1)
claim.at_most("cycles of a step above the bound", over_fleq, 0)
claim.equal("distance of any number from a whole one", max(one[3] for one in in_fleq), 0, of="proof")
claim.control.equal("the address of WRITE stands still: jobs right", still, len(jobs))
claim.verdict()

# %% [markdown]
# ## Three transformers at work
# <!-- claim bridges/bridge-1-3 -->
# <blockquote>
#
# **Bridge 1.3 (One machine on three transformers)**
#
# Three transformers with fixed weights, one layer of linear attention with $H$ heads (Lemma 2.2), ten layers with
# SUBLEQ (Lemma 1) and eleven layers with FLEQ (Theorem 2), run a binary incrementer and a palindrome checker, and have
# the machine's state, head and tape before every step.
#
# </blockquote>
# <!-- /claim -->
#
# So far the programs ran under interpreters. Now the transformers run them. Each has one set of weights for all jobs:
# the linear-attention layer takes machine and tape as its prompt, the looped transformers the compiled programs, padded
# to one size.

# %%
ways = all_ways(list(jobs.values()))
show.table(
    ["job", "transformer", "layers", "heads", "width", "columns at the start", "passes", "situations right", "of"],
    [
        [name, way.name, way.layers, way.heads, way.width, way.tokens, way.passes, way.exact, way.situations]
        for name, of_job in zip(jobs, ways, strict=True)
        for way in of_job
    ],
    caption="A pass is one application of all layers: a token in linear attention, an instruction in the other two. "
    "Passes are counted up to the situation in which the machine halts.",
)
seconds = {way.name: sum(of_job[place].seconds for of_job in ways) for place, way in enumerate(ways[0])}
print("; ".join(f"{name}: {took:.2f} s" for name, took in seconds.items()))

# %% [markdown]
# The seconds are those of the runners of this book, which leave out work with zeros where they can: the one of FLEQ
# multiplies dense matrices, the other two do not. They say little about the machines.
#
# Why each is exact differs. In linear attention all entries are whole numbers, and nothing is rounded. SUBLEQ rounds
# its bits at the end of each cycle. FLEQ keeps real numbers and cannot round them, but all that it does here is to look
# up, add and subtract, and a look-up is wrong by $e^{-2\lambda}$ only. How far its memory is from whole numbers is the
# largest deviation below. Each exactness has its condition, and breaking it is the control.

# %%
one_job = [next(iter(jobs.values()))]
forgetful = by_linear_attention(one_job, take_back=False)[0]
warm_subleq, warm_fleq = by_subleq(one_job, temperature=3.0)[0], by_fleq(one_job, temperature=5.0)[0]
show.table(
    ["transformer", "what is broken", "situations right", "of"],
    [
        [forgetful.name, "nothing is taken back", forgetful.exact, forgetful.situations],
        [warm_subleq.name, "temperature factor 3", warm_subleq.exact, warm_subleq.situations],
        [warm_fleq.name, "temperature factor 5", warm_fleq.exact, warm_fleq.situations],
    ],
)

# %% [markdown]
# All situations of all jobs are asked for, and that the answers are what they should be:

# %%
answers = [one.machine.states[one.expected[-1].state] for one in jobs.values()]
palindromes = ["accept" if text == text[::-1] else "reject" for text in (word, f"{word[0]}b")]
last_tape = "".join(incrementer.letters[letter] for letter in one_job[0].expected[-1].tape).replace("_", "")

claim = Claim("bridges/bridge-1-3")
for place, name in enumerate(seconds):
    missed = sum(of_job[place].situations - of_job[place].exact for of_job in ways)
    claim.equal(f"{name}: situations that are not the machine's", missed, 0)
claim.equal("the number plus one", int(last_tape, 2), int(number, 2) + 1)
claim.equal("answers", str(answers), str(["accept", *palindromes]))
claim.at_most("FLEQ: distance of its memory from whole numbers", max(of_job[2].deviation for of_job in ways), 1e-9)
claim.control.equal("linear attention, nothing taken back: right", forgetful.exact, forgetful.situations)
claim.control.equal("SUBLEQ, temperature 3: right", warm_subleq.exact, warm_subleq.situations)
claim.control.equal("FLEQ, temperature 5: right", warm_fleq.exact, warm_fleq.situations)
claim.verdict()

# %% [markdown]
# ## What grows
# Let the number be all ones, the longest work for its length. Counted are the layers that are gone through one after
# another, and the columns at the end: all tokens in linear attention, and scratchpad, memory and program in the other
# two.

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

# %% [markdown]
# In the left panel linear attention starts lowest and rises with twice the slope of the others; in the right one it is
# far above both at the end.

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
    "columns at the end. Linear attention prints the whole tape after each step, and so pays with the square of the "
    "length; the others change their tape in place.",
    alt="Two panels with three rising curves each on logarithmic axes. Left: the curve of linear attention is lowest "
    "at two digits and has twice the slope of the others. Right: linear attention rises steepest and ends above; the "
    "curve of FLEQ is nearly flat.",
)

# %% [markdown]
# ## What was learned
# One Turing machine runs on all three transformers, exactly, and the bounds say what each pays. Linear attention takes
# the machine as data, in one layer with many heads, and prints the tape anew after each step: its tokens grow with the
# time and with the tape. SUBLEQ needs the fewest passes for long words, and a program as long as the tape, since it
# has no pointers. FLEQ has them: its program is as long as the machine's table, and it is the only one whose length
# does not depend on the tape.
#
# ## To try
# - Set `word = "abab"`: the checker rejects it, and all three transformers agree.
# - Set `longest = 16`: in so short a picture linear attention goes through fewer layers than FLEQ throughout.

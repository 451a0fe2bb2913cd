# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 6 · Write a program, run it in a transformer
# *From Python to the SUBLEQ and FLEQ machines of Looped Transformers as Programmable Computers, Lemma 1, Theorem 2.*
#
# A transformer with frozen weights can run any program. Who wants to write one in a language whose only instruction
# is a subtraction? Here you write Python. A compiler turns it into a prompt, and the transformer executes the prompt.

# %%
import copy
import inspect
from itertools import chain, pairwise

import torch

import attention_theory as at
from attention_theory.looped_transformers.certified.compiler import certify_rules
from attention_theory.looped_transformers.compiler import examples, subleq
from attention_theory.randomness import generator
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
pair = [48, 36]  # two numbers of 8 bits, whose greatest common divisor is computed
length = 6  # items of the lists that are sorted, from 2 to 12
pairs = 20  # random pairs and lists under the interpreter, from 5 to 200
bits = 6  # of the integers for which every rule is tried, from 4 to 8
seed = 0  # of the random numbers, at least 0

# %%
require(pair=(Each(pair), -128, 127), pairs=(pairs, 5, 200), bits=(bits, 4, 8), seed=(seed, 0, None))
require(length=(length, 2, 12), numbers_in_pair=(len(pair), [2]))

# %% [markdown]
# ## A tiny example
# Take `z = x + y`. SUBLEQ can only subtract one cell of its memory from another. Subtracting a negative number adds,
# so one auxiliary cell `p` is enough. We start with 5 in `x` and 6 in `y`:
#
# | instruction | p | z |
# | --- | --- | --- |
# | `p -= p` | 0 | ? |
# | `p -= x` | −5 | ? |
# | `p -= y` | −11 | ? |
# | `z -= z` | −11 | 0 |
# | `z -= p` | −11 | 11 |
#
# Each operator and each comparison has a rule like this one. To run a program, the transformer needs one token for each
# cell and one for each instruction, and one pass through its layers for each step.

# %%
fig, axis = schematic.canvas(7.2, 1.9)
stages = ["Python", "three-address\ncode", "SUBLEQ", "tokens", "4 layers"]
tops = [schematic.tokens(axis, [name], (0.3 + 2.8 * place, 0.9), step=2.2)[0] for place, name in enumerate(stages)]
for left, right in pairwise(tops):
    schematic.arrow(axis, (left[0] + 0.95, 1.35), (right[0] - 0.95, 1.35), colour=schematic.QUIET)
schematic.arrow(axis, tops[4], tops[3], bend=-0.4)
schematic.text(axis, (11.05, 2.75), "one pass, one instruction", schematic.BLUE, 9)
show.figure(
    fig,
    name="way",
    caption="From Python to the transformer. The compiler makes the first three arrows; the loop is the transformer's.",
    alt="Five boxes in a row joined by arrows: Python, three-address code, SUBLEQ, tokens, 4 layers. An arrow named "
    "one pass, one instruction leads from the layers back to the tokens.",
)

# %% [markdown]
# We see that no part of the program is in the weights. The layers are the same for all programs of the same size.
#
# ## Write one yourself
# The editor below compiles your program and runs it in a transformer, in your browser. Press "Run", or type a program
# of your own. The page {doc}`/instruments/program` explains what it shows.
#
# <div class="instrument" data-instrument="program" data-start="Load the editor" data-weights="compiler">
#
# The editor is on the site of the book. In Python, `at.compile` compiles the same programs.
#
# </div>
#
# ## What we prove
# The compiler reads a part of Python: integers and lists of fixed length, `+ - * // %`, comparisons, `and`, `or`,
# `not`, `if`, `while`, `for`, functions without recursion, and `assert`. It rejects everything else, and names the
# line. Integers have $N$ bits in two's complement, and overflow wraps around.
#
# <!-- claim bridges/bridge-6-1 -->
# <blockquote>
#
# **Bridge 6.1 (Python's arithmetic as subtractions)**
#
# For every $N\ge 4$ and all integers of $N$ bits, the SUBLEQ code that the compiler writes for `+ - * // %` and for
# comparisons ends with what Python gives, modulo $2^N$ in two's complement. The divisor must not be 0.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim bridges/bridge-6-2 -->
# <blockquote>
#
# **Bridge 6.2 (Python functions in a transformer)**
#
# A frozen transformer of four layers runs compiled Python functions, one SUBLEQ instruction per pass, and returns what
# Python returns: the greatest common divisor and a sorted list. Ten functions, compiled with and without optimisation,
# return the same results as Python on the interpreter of the machine's language.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim bridges/bridge-6-3 -->
# <blockquote>
#
# **Bridge 6.3 (Python functions on a machine with blocks)**
#
# A frozen transformer with one function block per operator and per comparison runs the same functions, one FLEQ
# instruction per pass, and returns what Python returns. On integers of $N$ bits each block is exact for all pairs of
# operands, if a divisor is not 0.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The compiler replaces each statement by code with the same effect on the cells. If each piece of code is right for
# every value of its operands, so is a program that consists of them, however long it runs. The pieces are few: five
# operators and four comparisons. With $N$ bits there are $4^N$ pairs of operands, so we can also try them all.
#
# Two rules need care. To decide whether $a\le b$, a subtraction would overflow for $a=-2^{N-1}$ and $b=1$, so the
# rule first compares the signs. Division works on absolute values, bit by bit, and that of the lowest number,
# $2^{N-1}$, does not fit; the rule therefore stores the divisor's absolute value with a minus sign, which does fit.
#
# <details><summary>Proof of Bridge 6.1</summary>
#
# *Sums and differences* are subtractions modulo $2^N$, as in the tiny example; no order of them matters modulo $2^N$.
#
# *Comparisons.* A cell is at most 0 if subtracting 0 branches, and below 0 if it is at most 0 and adding 1 leaves it at
# most 0; from $-2^{N-1}\le a\le 0$ adding 1 does not overflow. Whether $a=b$ is the same as whether $a-b$ is 0 modulo
# $2^N$. For $a\le b$: if one of them is positive and the other is not, the signs decide. If both are positive, then
# $|a-b|<2^{N-1}$ and the sign of $a-b$ decides. If both are at most 0 and $a<0$, then
# $-2^{N-1}\le a-b\le 2^{N-1}-1$, and it decides again. If $a=0$, the answer is whether $b$ is 0. The relations $<$ and
# $\ne$ are the negations of $\le$ and $=$ with the operands exchanged.
#
# *Products.* Let $b$ have the bits $\beta_{N-1}\dots\beta_0$ as a number modulo $2^N$. From the highest bit on, the
# rule replaces $p$ by $2p+\beta a$. After $N$ bits $p=ab$ modulo $2^N$. The highest bit of a cell is on if the cell is
# negative, and doubling the cell brings the next bit there.
#
# *Division.* Let $0\le r<D$ be the remainder of the bits of $|a|$ read so far, $D=|b|\le 2^{N-1}$, and $\beta$ the next
# bit. The rule computes $t=-D+r+r+\beta$ from left to right. Since $0\le r\le D-1$, we have $-D\le -D+r\le -1$ and
# $-D\le t\le D-1$, all within $[-2^{N-1},2^{N-1}-1]$, so no step overflows. If $t\ge 0$, then $D$ goes into $2r+\beta$
# exactly once, because $2r+\beta\le 2D-1$, and the new remainder is $t$. Otherwise it goes in zero times, and the new
# remainder is $t+D=2r+\beta$. So $r$ is again the remainder, and the quotient gains the right bit. After $N$ bits
# $|a|=qD+r$ with $q$ modulo $2^N$. Python rounds down. If $a$ and $b$ have equal signs, or $r=0$, its quotient is
# $\pm q$ with the remainder $\pm r$; otherwise it is $-q-1$, with the remainder $\pm(D-r)$ that has the sign of $b$.
# The rule treats $a=0$ as negative, which changes nothing, since then $q=r=0$. $\square$
#
# </details>
#
# <details><summary>Proof of Bridge 6.3: the blocks, for every N</summary>
#
# Let $h=2^{N-1}$, so that operands are in $[-h,h)$, and let $M=4h$. In the column of the result, $x$ and $y$ are the
# operands, as in Theorem 2. All entries below are integers.
#
# *Four units.* $\mathrm{relu}(x)-\mathrm{relu}(-x)=x$. $\mathrm{relu}(x)-\mathrm{relu}(x-1)$ is $[x\ge1]$. For $-3h\le
# x<3h$, $w(x)=x-2h[x\ge h]+2h[x<-h]$ is the number in $[-h,h)$ that equals $x$ modulo $2^N$. For $0\le x\le2h$ and an
# integer $t$, $\mathrm{relu}(-Mt)-\mathrm{relu}(-Mt-x)$ is $x$ if $t<0$, since then $-Mt\ge M>x$, and 0 if $t\ge0$.
#
# *Sums and comparisons.* $x\pm y$ is in $[-2h,2h)$, and $w$ wraps it. A comparison gives $x-y$, $x-y+1$, $|x-y|$ or
# $1-|x-y|$, which is at most 0 exactly if $x\le y$, $x<y$, $x=y$ or $x\ne y$.
#
# *Product.* A layer replaces $p$ by $2w(p)+x[b<0]$ and $b$ by $w(2b)$, from $p=0$ and $b=y$. The new $p$ is in
# $[-3h,3h)$. After $j$ layers $b$ equals $2^jy$ modulo $2^N$, and it is negative exactly if its highest bit is on. So
# the layers read the bits of $y$ from the highest on, and $p$ equals $x$ times the number made of the bits read. After
# $N$ layers it equals $xy$, and $w$ wraps it.
#
# *Division, $y\ne0$.* The signs of both are turned if $y<0$: $b=|y|\le h$, and $a=\pm x\in[-h,h]$. This changes
# neither $\lfloor x/y\rfloor$ nor, up to the sign of $y$, the remainder. Let $u=a$ if $a\ge0$ and $u=-a-1$ otherwise;
# then $0\le u\le h$, and $w(u)$ has the bits of $u$. If $u=qb+r$ with $0\le r<b$ and $a<0$, then $a=(-q-1)b+(b-1-r)$,
# so the quotient is $-q-1$ and the remainder $b-1-r$. It remains to divide $u$ by $b$. A layer holds $t=2r+\beta-b$,
# where $r$ is the remainder of the bits read before and $\beta$ is the bit just read; at the start $t=-b$ and $r=0$.
# As $0\le r<b$ we have $-b\le t<b$, and $b$ goes into $2r+\beta$ once if $t\ge0$ and not at all otherwise. So $[t\ge0]$
# is the next bit of the quotient, and the new remainder is $t+b[t<0]$. The layer replaces $t$ by
# $2t+2b[t<0]-b+\beta'$, with the next bit $\beta'=[w<0]$, and $w$ by $w(2w)$. After $N$ bits a last layer leaves
# $t=r$. The quotient is at most $h$, and it is $h$ only for $x=-h$, $y=-1$, where it wraps to $-h$. Of the three
# results, the quotient is $q$ or $-q-1$; the remainder is $r$ or $b-1-r$, with the sign of $y$; the last bit of the
# quotient is that of $q$, or 1 minus it. In each, a term that does not apply has $M$ subtracted within its
# $\mathrm{relu}$, which then is 0. $\square$
#
# </details>
#
# ## See it run
# We begin with Euclid's algorithm, in Python and in SUBLEQ.

# %%
program = at.compile(examples.gcd)
print(inspect.getsource(examples.gcd))
print("\n".join(program.listing.split("\n\n")[1].splitlines()[:12]), f"\n... {len(program.program.code)} instructions")

# %%
found = program.run(*pair)
machine = program.transformer
print(f"gcd({pair[0]}, {pair[1]}) = {found}, after {program.steps(*pair)} passes through {len(machine.layers)} layers")
print(f"{machine.num_tokens} tokens of {machine.embed_dim} features")

# %% [markdown]
# Softmax attention and ReLU units computed all of this. Next we run more programs, each with and without the
# optimiser. It propagates constants, drops results that are never read, tracks the values that a cell can have, and
# omits tests whose answer is known.

# %%
source = generator(seed)


def numbers(count, low=-100, high=100):
    """Random integers, both ends included."""
    return torch.randint(low, high + 1, (count,), generator=source).tolist()


# %%
cases = {
    "gcd": (examples.gcd, pair, 8),
    "bubble sort": (examples.bubble_sort, [numbers(length)], 8),
    "insertion sort": (examples.insertion_sort, [numbers(length)], 8),
    "primes below 30": (examples.primes, [[0] * 30], 8),
    "binary search": (examples.binary_search, [sorted(numbers(8)), 40], 8),
    "product of 2 by 2 matrices": (examples.matrix_product, [numbers(4, -5, 5), numbers(4, -5, 5)], 8),
    "Collatz from 12": (examples.collatz, [12], 8),
    "eight queens": (examples.queens, [[0] * 8], 8),
    "Life on 6 by 6": (examples.life, [[0] * 7 + [1, 1, 1] + [0] * 26], 8),
    "an interpreter, running 3 times 2": (examples.tape_machine, [[3, 3, 3, 5, 1, 3, 3, 2, 4, 6, 0], [0, 0, 0]], 8),
}


def by_python(function, inputs):
    """What Python returns, and the lists that it changed."""
    given = copy.deepcopy(inputs)
    return function(*given), given


# %%
rows, wrong = [], 0
for name, (function, inputs, width) in cases.items():
    short, plain = (at.compile(function, inputs, width, optimise=optimise) for optimise in (True, False))
    for compiled in (short, plain):
        given = copy.deepcopy(inputs)
        wrong += (compiled.interpret(*given), given) != by_python(function, inputs)
    sizes = [len(plain.program.code), len(short.program.code), plain.steps(*inputs), short.steps(*inputs)]
    rows.append([name, *sizes, short.program.columns()])
show.table(
    ["program", "instructions", "optimised", "passes", "passes, optimised", "tokens, optimised"],
    rows,
    caption="Ten programs on the machine. A pass executes one instruction.",
)

# %% [markdown]
# Sorting six numbers takes 550 to 2,121 passes, and a generation of Life takes tens of thousands. Most of these
# passes look up list items: without pointers, the code counts an index down until it reaches its case.
#
# ## The same program on a machine with blocks
# The second machine of the paper, FLEQ, has function blocks and pointers (Theorem 2). We give it one block per operator
# and per comparison. The paper's product approximates; ours is exact on integers, because two ReLU units make a step:
# $\mathrm{relu}(x)-\mathrm{relu}(x-1)$ is 1 for every integer from 1 on, and 0 below. Products and divisions take about
# one layer per bit. To read item $i$ of a list, the program moves a pointer in one of its instructions: to the
# list, then on by 4, 2 and 1 for the digits of $i$ that are on. Here is Euclid's algorithm again.

# %%
with_blocks = at.compile(examples.gcd, target="fleq")
print(with_blocks.listing.split("\n\n")[1])
same = with_blocks.run(*pair)
layers = len(with_blocks.transformer.layers)
print(f"gcd({pair[0]}, {pair[1]}) = {same}, after {with_blocks.steps(*pair)} passes through {layers} layers")


# %%
def sizes_of(compiled, inputs):
    """Instructions, passes, layers and width of a compiled program."""
    machine = compiled.transformer
    return [len(compiled.program.code), compiled.steps(*inputs), len(machine.layers), machine.embed_dim]


both = {
    name: [sizes_of(at.compile(function, inputs, width, target=target), inputs) for target in ("subleq", "fleq")]
    for name, (function, inputs, width) in cases.items()
}
heads = [f"{measure}, {target}" for measure in ("instructions", "passes", "layers", "width") for target in ("S", "F")]
show.table(
    ["program", *heads],
    [[name, *chain(*zip(*sizes, strict=True))] for name, sizes in both.items()],
    caption="Ten programs on both machines, SUBLEQ (S) and FLEQ (F).",
)

# %%
fig, axis = show.axes(width=6.4, height=3.2)
for place, sizes in enumerate(both.values()):
    one, other = (passes * layers for _, passes, layers, _ in sizes)
    axis.plot([one, other], [place, place], color=schematic.QUIET, lw=1)
    axis.plot([one], [place], "o", color=schematic.BLUE, label="SUBLEQ" if not place else None)
    axis.plot([other], [place], "s", color=schematic.VERMILION, label="FLEQ" if not place else None)
axis.set_xscale("log")
axis.set_yticks(range(len(both)), list(both))
axis.invert_yaxis()
axis.set_xlabel("layers gone through: passes times layers")
axis.legend()
show.figure(
    fig,
    name="targets",
    caption="How deep a run is on each machine. Blocks help where a program computes, and less where it reads lists.",
    alt="Ten rows with a blue dot for SUBLEQ and a red square for FLEQ on a logarithmic axis of layers gone through. "
    "The square is far left of the dot for gcd and Collatz, and right of it for the sorts.",
)

# %% [markdown]
# FLEQ always needs fewer passes, but each goes through more layers, as many as its slowest block has. A program of
# divisions, such as Collatz, becomes far less deep, while a sort, which looks up lists, becomes deeper.
#
# Others also compile programs for fixed weights. We cite their published figures and did not run them. In place of the
# softmax, Loom takes the largest scores.

# %%
published = [
    ["Loom (arXiv 2604.08816)", "C", 8, 155],
    ["transformer-vm (Percepta, 2026)", "C, by way of WebAssembly", 7, 36],
]
own = [
    [f"{name}, for the gcd", "Python", *sizes[2:]] for name, sizes in zip(("SUBLEQ", "FLEQ"), both["gcd"], strict=True)
]
columns = ["machine", "compiled from", "layers", "width"]
show.table(columns, [*own, *published], caption="Two machines of this page and two of other pages.")

# %% [markdown]
# ## How we checked
# We try every rule for all pairs of operands. Then we compare compiled programs with Python, on the interpreter and in
# the transformer.
#
# <details><summary>Method notes</summary>
#
# The check of the proof evaluates its inequality for every divisor, remainder and bit. It cannot reveal a fault in
# the rule that we run. The certificate can: it runs the code that the compiler writes, for 6 bits.
#
# </details>

# %%
certificate, of_blocks = certify_rules(bits), certify_rules(bits, "fleq")


# %%
def sorted_by_transformer(inverse_temperature=30.0):
    """Whether the transformer sorts a list, at a factor on the scores."""
    compiled = at.compile(examples.insertion_sort, [unsorted])
    compiled.transformer.inverse_temperature = inverse_temperature
    try:
        return compiled.run(*[list(unsorted)], steps=3000) == sorted(unsorted)
    except (RuntimeError, IndexError):
        return False


def sorted_with_blocks(inverse_temperature=40.0):
    """Whether the transformer with blocks sorts a list, at a factor on the scores."""
    compiled = at.compile(examples.insertion_sort, [unsorted], target="fleq")
    compiled.transformer.machine.inverse_temperature = inverse_temperature
    try:
        return compiled.run(*[list(unsorted)], steps=1000) == sorted(unsorted)
    except (RuntimeError, IndexError):
        return False


# %%
unsorted = numbers(4)
random_pairs = [numbers(2, -128, 127) for _ in range(pairs)]
of_pairs = sum(program.interpret(*one) == by_python(examples.gcd, one)[0] for one in random_pairs)
sorter = at.compile(examples.bubble_sort, [[0] * length])
lists = [numbers(length, -128, 127) for _ in range(pairs)]
of_lists = sum(sorter.interpret(list(one)) == sorted(one) for one in lists)

# %%
rule = subleq.RULES["at most"]
subleq.RULES["at most"] = subleq.RULES["at most, near"]  # a subtraction, which overflows
careless = at.compile(examples.bubble_sort, [[0] * length])
subleq.RULES["at most"] = rule
extremes = [127, -128] * (length // 2) + [0] * (length % 2)
overflowed = careless.interpret(list(extremes)) == sorted(extremes)
half = 2 ** (bits - 1)
steps_of_division = [(size, left, bit) for size in range(1, half + 1) for left in range(size) for bit in (0, 1)]
outside = sum(not -half <= 2 * left + bit - size < half for size, left, bit in steps_of_division)

# %%
claim = Claim("bridges/bridge-6-1")
claim.certified("every operator and comparison", certificate)
claim.equal("random pairs with Python's greatest common divisor", of_pairs, pairs)
claim.equal("random lists sorted", of_lists, pairs)
claim.equal("division: steps that overflow", outside, 0, of="proof")
claim.control.equal("comparison by a subtraction: -128 and 127 sorted", overflowed, True)
claim.verdict()

# %%
claim = Claim("bridges/bridge-6-2")
claim.equal("ten programs, optimised or not: runs that differ from Python's", wrong, 0)
claim.equal("greatest common divisor, from the transformer", found, by_python(examples.gcd, pair)[0])
claim.equal("a list sorted by the transformer", sorted_by_transformer(), True)
claim.control.equal("the same, scores multiplied by 2 only", sorted_by_transformer(2.0), True)
claim.verdict()

# %%
wrong_with_blocks = 0
for function, inputs, width in cases.values():
    given = copy.deepcopy(inputs)
    compiled = at.compile(function, inputs, width, target="fleq")
    wrong_with_blocks += (compiled.interpret(*given), given) != by_python(function, inputs)


# %%
def layers_off(u, b, width):
    """How many layers of a division have another t than the proof says; one more if its results are wrong."""
    half, wrong, quotient, t = 2 ** (width - 1), 0, 0, -b
    word = u - 2 * half * (u >= half)
    for read in range(width + 1):
        before, bit = u >> (width - read + 1), (u >> (width - read)) & 1
        wrong += t != 2 * (before % b) + bit - b
        quotient = 2 * quotient + (t >= 0)
        if read < width:
            t, word = 2 * t + 2 * b * (t < 0) - b + (word < 0), (2 * word + half) % (2 * half) - half
    return wrong + ((quotient, t + b * (t < 0)) != divmod(u, b))


off_in_all = sum(layers_off(u, b, 6) for u in range(33) for b in range(1, 33))

# %%
claim = Claim("bridges/bridge-6-3")
claim.certified("every block", of_blocks)
claim.equal("ten programs: runs that differ from Python's", wrong_with_blocks, 0)
claim.equal("division of 6 bits: layers whose t is not that of the proof", off_in_all, 0, of="proof")
claim.equal("greatest common divisor, from the transformer", same, by_python(examples.gcd, pair)[0])
claim.equal("a list sorted by the transformer", sorted_with_blocks(), True)
claim.control.equal("the same, scores multiplied by 2 only", sorted_with_blocks(2.0), True)
claim.verdict()

# %% [markdown]
# ## What to remember
# - A program is a prompt. The weights do not change from one program to the next.
# - One subtraction with a jump is enough for all of Python's arithmetic on integers.
# - Without pointers, a list costs a look-up that grows with its length; with them, with the logarithm of the length.
#
# ## Exercises
#
# 1. *By hand.* Write SUBLEQ code for `z = x - y` with an auxiliary cell. How many instructions do you need, and how
#    many if `z` is `x`?
#    <details><summary>Solution</summary>
#
#    `p -= p`, `p -= x`, `z -= z`, `z -= p`, `z -= y`: five. For `x = x - y` one is enough: `x -= y`.
#
#    </details>
# 2. *Predict, then run.* Set `length = 12`. By what factor does the number of passes of bubble sort grow, compared
#    with six items?
#    <details><summary>Solution</summary>
#
#    The table shows 5,388 passes in place of 1,386 with the optimiser, and 7,776 in place of 2,121 without it: a
#    factor of almost 4. There are 66 comparisons in place of 15; how many swaps there are depends on the list.
#
#    </details>
#
# Next: [open questions](open_questions.ipynb), because we do not know how few layers such machines need.

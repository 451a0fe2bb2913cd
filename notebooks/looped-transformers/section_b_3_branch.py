# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix B.3 · If at most zero, go to
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: equations (3) and (4), Appendices B.3 and F.3.*
#
# A computer is more than a calculator because it can branch: what it does next may depend on what it has just computed.
# In this chapter's machines, an instruction ends with "if the result is at most zero, go to instruction $c$, else to
# the next one". How can layers that only add, multiply by fixed weights and cut off at zero make this choice?

# %%
import torch

from attention_theory.looped_transformers.certified.branch import (
    certify_bits_flag,
    certify_integer_flag,
    certify_selection,
    certify_selection_noise,
)
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.branch import flag_of_bits, flag_of_integer, select_counter
from attention_theory.looped_transformers.machine.codes import position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows
from attention_theory.validation import Each, Form, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# The machine is at instruction 4 and the target is 6. We write numbers with three bits in two's complement, with $-1$
# for 0. The flag should be 1 if the number is at most zero. The rule is: add 1 if the top bit is $+1$, and add
# $\max(0,-2-\text{sum of the bits})$.
#
# | number | bits | top bit | $-2-\text{sum}$ | flag | next instruction |
# | --- | --- | --- | --- | --- | --- |
# | –2 | + + – | adds 1 | –3 | 1 | 6 |
# | 0 | – – – | adds 0 | 1 | 1 | 6 |
# | 1 | – – + | adds 0 | –1 | 0 | 5 |

# %%
fig, axis = schematic.canvas(7.0, 1.8)
for left, number, flag in ((0.2, "–2", 1), (7.4, "1", 0)):
    ((x, _),) = schematic.tokens(axis, [number], (left, 1.3), step=1.3)
    ((y, _),) = schematic.tokens(axis, [f"flag {flag}"], (left + 1.8, 1.3), step=1.7)
    schematic.arrow(axis, (x + 0.5, 1.75), (y - 0.7, 1.75), colour=schematic.QUIET)
    for chosen, words, height in ((1, "target 6", 2.3), (0, "next 5", 0.3)):
        lit = [0] if chosen == flag else []
        ((z, _),) = schematic.tokens(axis, [words], (left + 4.3, height), lit=lit, step=2.1)
        if lit:
            schematic.arrow(axis, (y + 0.7, 1.75), (z - 0.95, height + 0.45))
show.figure(
    fig,
    name="tiny",
    caption="One branch for two numbers. The flag chooses between the target and the next instruction.",
    alt="Left: the number -2 leads to flag 1 and on to the target 6. Right: the number 1 leads to flag 0 and on to "
    "the next instruction, 5.",
)

# %% [markdown]
# Both candidates are always present, and the flag lets one through.

# %% tags=["parameters"]
lengths = [5, 8]  # N, bits of the numbers whose flag is taken: all of them, each from 2 to 14
address_bits = 4  # L: all pairs of counter and target, from 2 to 7

# %%
require(lengths=(Each(lengths), 2, 14), address_bits=(address_bits, 2, 7))

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/equation-3-flag -->
# <blockquote>
#
# **Branch flag for integers (Is an integer at most zero?)** *Appendices B.3 and F.3*
#
# **The paper states.** Since we assume that for such conditional branching command $\text{mem}[a]$ contains an integer,
# the following ReLU network can be used to compute the flag:
# $\text{flag}=1-\sigma(\text{mem}[a])+\sigma(\text{mem}[a]-1)$ (3).
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/equation-4-flag -->
# <blockquote>
#
# **Branch flag for two's complement vectors (Is a vector of bits at most zero?)** *Appendix F.3*
#
# **The paper states.** The flag is 1 if $b_N=+1$ or if all the bits are $-1$ (which is the case when $\text{mem}[a]$
# represents the integer 0): $\text{flag}=\sigma(b_N)+\sigma(1+N-\sum_{i=1}^Nb_i)$ (4).
#
# **What is true.** $\text{flag}=\sigma(b_N)+\sigma(1-N-\sum_{i=1}^Nb_i)$.
#
# **What changed.** $1-N$ replaces $1+N$. With $1+N$ the flag is wrong for every number of every length.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/branch-select -->
# <blockquote>
#
# **Program counter selection (The next program counter)** *Appendices B.3 and F.3*
#
# **The paper states.** If flag is 1, we want the program counter to become $p_i$, else it will be set to be $p_{PC+1}$:
# $p_\text{next}=2\sigma(p_{PC+1}-\mathbf 1\,\text{flag})+2\sigma(p_i-\mathbf 1(1-\text{flag}))-1$. Hence, this entire
# operation requires 3 feed forward layers of Equation (1b), and hence 2 transformer layers.
#
# <details><summary>Slips (2)</summary>
#
# - For vectors of bits, the construction uses the flag of equation (4), which needs $1-N$.
# - Three networks one after the other are three transformer layers, as Appendix G counts them, because a layer has one
#   network. Two layers suffice because one network computes both the flag and the increment.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *One number.* For integers, $\sigma(x)-\sigma(x-1)$ is a ramp that is 0 up to $x=0$ and 1 from $x=1$ on. One minus
# this ramp is the flag.
#
# *Bits.* Suppose that $k$ of the $N$ bits are $+1$. Their sum is $2k-N$, so $\sigma(1-N-\sum b)=\sigma(1-2k)$, which is
# 1 for $k=0$ and 0 for all other $k$. This term detects zero, and $\sigma(b_N)$ detects negative numbers.
#
# *The choice.* Subtracting 1 from a vector of $\pm1$ pushes every entry to 0 or below, and the ReLU removes it. The
# flag $f$ is subtracted from one candidate and $1-f$ from the other, so exactly one candidate survives.
#
# One layer computes both the flag and the incremented counter, because neither needs the other. A second layer chooses.
#
# ## See it run
# We evaluate both flags on every integer in range.


# %%
def integer_flags(values: torch.Tensor) -> torch.Tensor:
    """Eq. (3) of a number in one row."""
    rows = Rows(value=1, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_integer(layer, rows["value"][0], rows["flag"][0], rows["indicator"][0])
    state = torch.stack([values, torch.zeros_like(values), torch.ones_like(values)], dim=1)
    return rows.view(layer.dense.feed_forward(state), "flag")[:, 0]


every = {length: torch.arange(-(2 ** (length - 1)), 2 ** (length - 1)) for length in lengths}
longest = every[max(lengths)].double()
quarters = torch.arange(-8, 9, dtype=torch.float64) / 4
undecided = (integer_flags(quarters) != (quarters <= 0)).sum()
formula = 1 - torch.relu(longest) + torch.relu(longest - 1)
unlike = (integer_flags(longest) != formula).sum()


# %%
def bit_flags(values: torch.Tensor, length: int, form: Form = "correct") -> torch.Tensor:
    """Eq. (4) of numbers in two's complement."""
    rows = Rows(value=length, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_bits(layer, rows["value"], rows["flag"][0], rows["indicator"][0], form)
    state = torch.zeros(len(values), rows.size, dtype=torch.float64)
    rows.view(state, "value")[:] = to_bits(values, length)
    rows.view(state, "indicator")[:] = 1
    return rows.view(layer.dense.feed_forward(state), "flag")[:, 0]


shortest = min(lengths)
sign_alone = (torch.relu(to_bits(longest.long(), max(lengths))[:, -1]) != (longest <= 0)).sum()

# %%
fig, axes = show.axes(1, 2, width=9, height=3)
fine, short = torch.linspace(-3, 4, 141, dtype=torch.float64), every[shortest]
axes[0].plot(fine, integer_flags(fine), label="equation (3)")
axes[0].plot(range(-3, 5), [float(x <= 0) for x in range(-3, 5)], "o", color="black", label="wanted")
axes[1].plot(short, bit_flags(short, shortest), label="$1 - N$")
axes[1].plot(short, bit_flags(short, shortest, "printed"), "--", label="the paper's $1 + N$")
axes[1].plot(short, (short <= 0).double(), ".", color="black", label="wanted")
for axis, title in zip(axes, ("an integer in one row", f"{shortest} bits in two's complement"), strict=True):
    axis.set(title=title, xlabel="number", ylabel="flag")
    axis.legend(loc="upper right")
axes[1].set_ylim(-0.5, 17)
show.figure(
    fig,
    name="flags",
    caption="Both flags against the number. Equation (3) is right for integers only; between 0 and 1 it is a ramp. "
    "Equation (4) with $1-N$ is right everywhere, and with $1+N$ nowhere.",
    alt="Left: a curve at 1 up to 0 that falls to 0 at 1. Right: a step that is right at every number, and a jagged "
    "dashed curve with values of at least 2, which is never 0 or 1.",
)

# %% [markdown]
# The corrected flag goes through all the dots on the right; the dashed curve with $1+N$ goes through none.
#
# Next we build the whole branch and run it on every number, counter and target.


# %%
def branch(layers: int, form: Form = "correct", abreast: bool = True) -> LoopedTransformer:
    """The whole branch in three layers, in two with flag and increment side by side, or in one (which cannot work).

    ``form`` is that of the flag. In two layers that are not ``abreast`` the three networks stand in a row, the last two
    in one layer.
    """
    rows = Rows(value=shortest, counter=address_bits, following=address_bits, target=address_bits, flag=1, indicator=1)
    flag, indicator = rows["flag"][0], rows["indicator"][0]
    made = [Layer(rows, f"layer {place + 1}") for place in range(layers)]
    flag_of_bits(made[0], rows["value"], flag, indicator, form)
    add(made[-2 if layers > 1 and abreast else -1], [(rows["counter"], 1)], rows["following"], 1, indicator)
    select_counter(made[-1], rows["following"], rows["target"], rows["counter"], flag, indicator)
    return LoopedTransformer(rows, made)


codes = position_codes(2**address_bits)
following = codes.roll(-1, dims=0)[:, None].expand(-1, len(codes), -1)
targets = codes.expand(len(codes), -1, -1)


# %%
def next_counters(machine: LoopedTransformer, value: int, flag: float = 0.0) -> torch.Tensor:
    """The next counter for all pairs (counter, target)."""
    rows = machine.rows
    state = torch.zeros(len(codes), len(codes), rows.size, dtype=torch.float64)
    rows.view(state, "value")[:] = to_bits(value, shortest)
    rows.view(state, "counter")[:] = codes[:, None]
    rows.view(state, "target")[:] = codes
    rows.view(state, "flag")[:] = flag
    rows.view(state, "indicator")[:] = 1
    return rows.view(machine.cycle(state, 1.0), "counter")


def wrong(layers: int, form: Form = "correct", abreast: bool = True) -> int:
    """Wrong next counters, over all numbers and all pairs."""
    machine, found = branch(layers, form, abreast), 0
    for number in every[shortest].tolist():
        due = targets if number <= 0 else following
        found += int((next_counters(machine, number) != due).any(dim=-1).sum())
    return found


# %% [markdown]
# ## How we checked
# A solver verifies the flags for every integer and every length, and the choice for all counters and targets. It also
# shows that noise $F$ in the flag and $D$ in the target moves the next counter by at most $2F+2D$. As controls, a flag
# that looks at the sign alone misses zero, and a branch in a single layer fails.

# %%
claim = Claim("looped-transformers/equation-3-flag")
claim.equal("integers with a wrong flag", (integer_flags(longest) != (longest <= 0)).sum(), 0)
claim.equal("integers where the layer, as printed, is not the formula", unlike, 0, of="proof")
claim.control.equal("multiples of 1/4 from -2 to 2 with a wrong flag", undecided, 0)
claim.certified("every integer", certify_integer_flag(), whole=True)
claim.verdict()


# %%
def wrong_terms(length: int, sign: int) -> int:
    """For how many numbers relu(1 + sign N - sum) is not 1 at zero alone."""
    term = torch.relu(1 + sign * length - to_bits(every[length], length).sum(dim=1))
    return int((term != (every[length] == 0)).sum())


def wrong_flags(length: int, form: Form = "correct") -> int:
    """For how many numbers the flag is not 1 where they are at most 0, and 0 elsewhere."""
    return int((bit_flags(every[length], length, form) != (every[length] <= 0)).sum())


# %%
claim = Claim("looped-transformers/equation-4-flag")
for length in lengths:
    claim.equal(f"numbers of {length} bits with a wrong flag", wrong_flags(length), 0)
    claim.misprint.equal(f"numbers of {length} bits with a wrong flag as printed", wrong_flags(length, "printed"), 0)
    label = f"numbers of {length} bits for which the second term is not 1 at zero alone"
    claim.equal(f"{label}, 1 - N", wrong_terms(length, -1), 0, of="proof")
    claim.misprint.equal(f"{label}, 1 + N", wrong_terms(length, 1), 0, of="proof")
claim.control.equal("numbers with a wrong flag if the sign alone is looked at", sign_alone, 0)
share = wrong_flags(shortest, "printed") / len(every[shortest])
claim.number("as printed, share of wrong numbers of the shortest length", share)
claim.certified("numbers of every length", certify_bits_flag())
claim.verdict()

# %%
cases = len(every[shortest]) * 4**address_bits
print(f"{cases} cases: every number of {shortest} bits, every counter, every target")
middling = next_counters(branch(3), 1, flag=0.5)
valid = (middling.abs() == 1).all(dim=-1).sum()
in_three, as_printed = wrong(3), wrong(3, "printed")
claim = Claim("looped-transformers/branch-select")
claim.equal("wrong next counters, three layers", in_three, 0)
claim.equal("the paper's three networks in a row, flag with 1 - N: wrong next counters", in_three, 0, of="proof")
claim.misprint.equal("the same with the flag of (4) as printed: wrong next counters", as_printed, 0, of="proof")
in_a_row = wrong(2, abreast=False)
claim.misprint.equal("three networks in a row in two layers: wrong next counters", in_a_row, 0, of="proof")
claim.equal("wrong next counters, two layers, flag beside increment", wrong(2), 0)
claim.control.equal("wrong next counters, all in one layer", wrong(1), 0)
claim.control.equal("pairs for which a flag of 1/2 gives a code", valid, 4**address_bits)
claim.certified("the choice, any counters", certify_selection())
claim.certified("noise of the choice, any counters", certify_selection_noise())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The sign in equation (4) matters, because with $1+N$ every flag is wrong. The paper's count of two layers is right,
# but its three networks would take three, because each layer has only one.
#
# ## What to remember
# - A comparison with zero takes two ReLUs, and the choice between two addresses takes two per bit.
# - The correct flag for bits has $1-N$ where the paper has $1+N$.
# - The branch takes two layers, because one layer computes both the flag and the next counter.
#
# ## Exercises
#
# 1. *By hand.* Compute the flag of $-8$ and of 0 in four bits, with $1-N$ and with $1+N$.
#    <details><summary>Solution</summary>
#
#    The bits of $-8$ are $+---$, with sum $-2$: the flag is $1+\sigma(-1)=1$. The bits of 0 sum to $-4$: the flag is
#    $0+\sigma(1)=1$. With $1+N=5$ we get $1+7=8$ and $0+9=9$.
#
#    </details>
# 2. *Predict, then run.* Set `lengths = [3, 12]`. With $1+N$, for how many of the 8 numbers, and of the 4096, is the
#    flag wrong?
#    <details><summary>Solution</summary>
#
#    For all of them. If $k$ bits are $+1$, the second term is $1+2(N-k)$. It is 1 only for $k=N$, the number $-1$,
#    whose sign bit adds another 1. Every flag is therefore at least 2.
#
#    </details>
#
# Next: [Lemma 1](lemma_1_subleq.ipynb). Reading, adding and branching are all that a SUBLEQ computer needs.

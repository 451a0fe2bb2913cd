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
# A computer is more than a calculator because it can branch: go on here or there, by what has been computed. In the
# machines of this chapter an instruction ends with "if the result is at most zero, go to instruction $c$, else to the
# next one". A *counter* holds the address of the current instruction. A branch has three parts: a flag that is 1 if a
# number is at most zero, the counter plus one, and a choice between that and the target. Each part is one ReLU network.
# The adder of Lemma 2 gives the second; the first and third are here, tried on every number, every counter and every
# target.

# %%
import torch

from attention_theory.looped_transformers.certified.branch import (
    certify_bits_flag,
    certify_integer_flag,
    certify_selection,
)
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.branch import flag_of_bits, flag_of_integer, select_counter
from attention_theory.looped_transformers.machine.codes import position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows
from attention_theory.validation import Each, Form, require
from bookpress import Claim, show

# %% tags=["parameters"]
lengths = [5, 8]  # N, bits of the numbers whose flag is taken: all of them, each from 2 to 14
address_bits = 4  # L: all pairs of counter and target, from 2 to 7

# %%
require(lengths=(Each(lengths), 2, 14), address_bits=(address_bits, 2, 7))

# %% [markdown]
# ## The flag
# <!-- claim looped-transformers/equation-3-flag -->
# <blockquote>
#
# **Branch flag for integers (Is an integer at most zero?)** *Appendices B.3 and F.3*
#
# For an integer $x$, $1 - \sigma(x) + \sigma(x-1)$ is 1 if $x \le 0$ and 0 otherwise.
#
# </blockquote>
# <!-- /claim -->
#
# For an integer $x$ in a single row this is one minus a ramp from 0 to 1. Integers alone are meant: between 0 and 1 the
# flag is neither.


# %%
def integer_flags(values: torch.Tensor) -> torch.Tensor:
    """Eq. (3) of a number in one row."""
    rows = Rows(value=1, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_integer(layer, rows["value"][0], rows["flag"][0], rows["indicator"][0])
    state = torch.stack([values, torch.zeros_like(values), torch.ones_like(values)], dim=1)
    return rows.of(layer.dense.feed_forward(state), "flag")[:, 0]


every = {length: torch.arange(-(2 ** (length - 1)), 2 ** (length - 1)) for length in lengths}
longest = every[max(lengths)].double()
quarters = torch.arange(-8, 9, dtype=torch.float64) / 4
undecided = (integer_flags(quarters) != (quarters <= 0)).sum()
formula = 1 - torch.relu(longest) + torch.relu(longest - 1)
unlike = (integer_flags(longest) != formula).sum()

# %% [markdown]
# Every integer of the longest range must get the right flag. Multiples of 1/4 are the control.
# A solver settles every integer: the flag of the layer's own units is asked of z3 with $x$ as a variable.

# %%
claim = Claim("looped-transformers/equation-3-flag")
claim.equal("integers with a wrong flag", (integer_flags(longest) != (longest <= 0)).sum(), 0)
claim.equal("integers where the layer, as printed, is not the formula", unlike, 0, of="proof")
claim.control.equal("multiples of 1/4 from -2 to 2 with a wrong flag", undecided, 0)
claim.certified("every integer", certify_integer_flag(), whole=True)
claim.verdict()

# %% [markdown]
# All integers are decided rightly.
#
# <!-- claim looped-transformers/equation-4-flag -->
# <blockquote>
#
# **Branch flag for two's complement vectors (Is a vector of bits at most zero?)** *Appendix F.3*
#
# **As printed.** $\sigma(b_N) + \sigma(1 + N - \sum_i b_i)$.
#
# **Corrected.** For $b \in \{\pm1\}^N$ in two's complement, $\sigma(b_N) + \sigma(1 - N - \sum_i b_i)$ is 1 if the
# number is at most zero and 0 otherwise.
#
# $1 - N$ in place of $1 + N$. As printed the flag is wrong for every number.
#
# </blockquote>
# <!-- /claim -->
#
# For $N$ bits in two's complement $\sigma(b_N)$ sees the sign, and the second term is to fire on zero alone, where all
# bits are $-1$ and $-\sum b = N$. It must be $\sigma(1 - N - \sum b)$: with $k$ bits $+1$ this is $\sigma(1-2k)$, 1 for
# $k=0$ and 0 for all others. With the printed $1 + N - \sum b$ it is $1+2(N-k)\ge1$: it never is 0, for no number at
# all, and it is 1 where all bits are $+1$, which is $-1$ and has the sign's 1 besides.


# %%
def bit_flags(values: torch.Tensor, length: int, form: Form = "correct") -> torch.Tensor:
    """Eq. (4) of numbers in two's complement."""
    rows = Rows(value=length, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_bits(layer, rows["value"], rows["flag"][0], rows["indicator"][0], form)
    state = torch.zeros(len(values), rows.size, dtype=torch.float64)
    rows.of(state, "value")[:] = to_bits(values, length)
    rows.of(state, "indicator")[:] = 1
    return rows.of(layer.dense.feed_forward(state), "flag")[:, 0]


shortest = min(lengths)
sign_alone = (torch.relu(to_bits(longest.long(), max(lengths))[:, -1]) != (longest <= 0)).sum()

# %% [markdown]
# Both flags against the number, equation (3) at the left, (4) at the right.

# %%
fig, axes = show.axes(1, 2, width=9, height=3)
fine, short = torch.linspace(-3, 4, 141, dtype=torch.float64), every[shortest]
axes[0].plot(fine, integer_flags(fine), label="equation (3)")
axes[0].plot(range(-3, 5), [float(x <= 0) for x in range(-3, 5)], "o", color="black", label="wanted")
axes[1].plot(short, bit_flags(short, shortest), label="$1 - N$")
axes[1].plot(short, bit_flags(short, shortest, "printed"), "--", label="as printed, $1 + N$")
axes[1].plot(short, (short <= 0).double(), ".", color="black", label="wanted")
for axis, title in zip(axes, ("an integer in one row", f"{shortest} bits in two's complement"), strict=True):
    axis.set(title=title, xlabel="number", ylabel="flag")
    axis.legend(loc="upper right")
axes[1].set_ylim(-0.5, 17)
show.figure(
    fig,
    name="flags",
    caption="Both flags against the number. Equation (3) decides integers only; between 0 and 1 it is a ramp. "
    "Equation (4) with $1-N$ is right everywhere, and as printed nowhere.",
    alt="Left: a curve at 1 up to 0 that falls to 0 at 1. Right: a step that is right at every number, and a jagged "
    "dashed curve of values from 2 up which is never 0 or 1.",
)

# %% [markdown]
# The flag is judged on all numbers of each length, and so is its second term by itself. A flag of the sign alone is the
# control: it misses zero.


# %%
def wrong_terms(length: int, sign: int) -> int:
    """For how many numbers relu(1 + sign N - sum) is not 1 at zero alone."""
    term = torch.relu(1 + sign * length - to_bits(every[length], length).sum(dim=1))
    return int((term != (every[length] == 0)).sum())


def wrong_flags(length: int, form: Form = "correct") -> int:
    """For how many numbers the flag is not 1 where they are at most 0, and 0 elsewhere."""
    return int((bit_flags(every[length], length, form) != (every[length] <= 0)).sum())


# %% [markdown]
# As printed, not one number may come out right.
# A solver settles all numbers of every length: the units depend on $N$, the last bit and the sum of the bits alone.

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

# %% [markdown]
# With $1-N$ every number is decided rightly; with $1+N$ not one is.
#
# ## The choice
# <!-- claim looped-transformers/branch-select -->
# <blockquote>
#
# **Program counter selection (The next program counter)** *Appendices B.3 and F.3*
#
# $p_\text{next} = 2\sigma(p_{PC+1} - f\,1) + 2\sigma(p_i - (1-f)1) - 1$ is the target $p_i$ if the flag $f$ is 1 and
# $p_{PC+1}$ if it is 0. The whole branch takes two layers: flag and increment side by side, then the choice.
#
# **In the paper's construction.** For vectors of bits the flag is that of (4), as printed there. The construction is
# counted as "3 feed forward layers of Equation (1b), and hence 2 transformer layers".
#
# **Corrected.** (4) with $1-N$. Three networks one after the other are three layers, as Appendix G has it, since a
# layer has one; two layers are enough because the flag and the increment can stand side by side.
#
# </blockquote>
# <!-- /claim -->
#
# With the flag at 0 the first term of $2\sigma(p_{PC+1} - f) + 2\sigma(p_i - (1-f)) - 1$ gives the bits of the next
# counter and the second vanishes; with the flag at 1 it is the other way round. A flag of 1/2 gives neither.
#
# The text counts "3 feed forward layers, and hence 2 transformer layers". Equation (1b) has one ReLU network in a
# layer, so three in a row are three layers, as Appendix G has it. Two layers are enough all the same, for another
# reason: the flag and the incremented counter do not need each other and can stand side by side.


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

# %% [markdown]
# The branch is run on all pairs of counter and target at once, for each number in turn.


# %%
def next_counters(machine: LoopedTransformer, value: int, flag: float = 0.0) -> torch.Tensor:
    """The next counter for all pairs (counter, target)."""
    rows = machine.rows
    state = torch.zeros(len(codes), len(codes), rows.size, dtype=torch.float64)
    rows.of(state, "value")[:] = to_bits(value, shortest)
    rows.of(state, "counter")[:] = codes[:, None]
    rows.of(state, "target")[:] = codes
    rows.of(state, "flag")[:] = flag
    rows.of(state, "indicator")[:] = 1
    return rows.of(machine.cycle(state, 1.0), "counter")


def wrong(layers: int, form: Form = "correct", abreast: bool = True) -> int:
    """Wrong next counters, over all numbers and all pairs."""
    machine, found = branch(layers, form, abreast), 0
    for number in every[shortest].tolist():
        due = targets if number <= 0 else following
        found += int((next_counters(machine, number) != due).any(dim=-1).sum())
    return found


# %% [markdown]
# Three layers and two must be right in all cases. As the text has it, with the printed flag, or with three networks in
# a row in two layers, they must fail. So must all in one layer; and a flag of 1/2 may give a code only where the next
# counter and the target are the same.
# A solver settles the choice itself, for all counters and targets and whatever the counter held before.

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
claim.verdict()

# %% [markdown]
# The branch works in three layers, and in two, with the flag put right.
#
# ## What was learned
# Three small ReLU networks are a conditional jump. Of the two flags the one for a single integer is right as printed;
# the one for vectors of bits has a sign wrong, $1+N$ in place of $1-N$, and decides no number rightly until it is
# mended. The whole takes two layers, as the text says, though not for the reason that it gives.
#
# ## To try
# - Set `lengths = [3, 12]`: the picture has eight numbers, and the printed flag is wrong for each of the 4096 others,
#   too.
# - Set `address_bits = 6`: sixteen times as many cases, and still none is wrong.

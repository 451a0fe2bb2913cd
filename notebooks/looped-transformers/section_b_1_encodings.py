# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendices B.1 and F.3 · How numbers and addresses are written
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendices B.1, F.3, G and L.*
#
# A computer has to find its data: the pointer in an instruction must lead to one cell among hundreds. A transformer has
# only attention for this, and attention never picks a single cell; it takes a weighted average of all of them. How can
# we write addresses so that nearly all the weight falls on the right cell?

# %%
import math

import torch

from attention_theory.looped_transformers.certified.codes import certify_codes, certify_copy_error, certify_integers
from attention_theory.looped_transformers.machine.codes import from_bits, position_codes, to_bits
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# We number eight columns from 0 to 7 in binary and write $-1$ for every 0. Column 5, which is 101 in binary, gets the
# address $(+1,-1,+1)$. A pointer to column 5 is the same code. The score of a column is the inner product of its code
# with the pointer: each bit that agrees adds 1, and each bit that differs subtracts 1.

# %%
fig, axis = schematic.canvas(7.0, 2.2)
signs_of = [[1 if number >> place & 1 else -1 for place in (2, 1, 0)] for number in range(8)]
words = ["".join("+" if sign > 0 else "–" for sign in code) for code in signs_of]
tops = schematic.tokens(axis, words, (1.9, 1.3), lit=[5], step=1.5)
for number, (x, _) in enumerate(tops):
    score = sum(one * other for one, other in zip(signs_of[number], signs_of[5], strict=True))
    colour = schematic.BLUE if number == 5 else schematic.QUIET
    schematic.text(axis, (x, 0.9), f"column {number}", size=8)
    schematic.text(axis, (x, 0.3), f"{score:+d}", colour)
schematic.text(axis, (1.6, 0.3), "score", size=9, align="right")
schematic.text(axis, (tops[5][0], 4.0), "pointer + – +", schematic.BLUE)
schematic.arrow(axis, (tops[5][0], 3.7), (tops[5][0], tops[5][1]))
show.figure(
    fig,
    name="tiny",
    caption="Eight columns with their codes, and the score of each with a pointer to column 5.",
    alt="Eight boxes with three signs each. A pointer with the signs plus, minus, plus has an arrow to column 5. The "
    "scores below are -1, 1, -3, -1, 1, 3, -1 and 1.",
)

# %% [markdown]
# Column 5 scores 3. The columns that differ in one bit, 1, 4 and 7, score 1, and no score is in between. The softmax
# turns this gap of 2 into a choice.

# %% tags=["parameters"]
address_bits = [4, 6, 9]  # L for the exact law, each from 1 to 12
inverse_temperatures = [0.5, 1.0, 2.0, 4.0]  # lambda for the exact law, each at least 0.001
columns = 900  # n of the permutation that is copied, from 2 to 4000
height = 30  # d, rows of the data that is copied, at least 1
integer_bits = 12  # N of the two's complement round trip, from 2 to 20
seed = 0  # seed of every draw, at least 0

# %%
require(
    address_bits=(Each(address_bits), 1, 12),
    inverse_temperatures=(Each(inverse_temperatures), 1e-3, None),
    columns=(columns, 2, 4000),
)
require(height=(height, 1, None), integer_bits=(integer_bits, 2, 20), seed=(seed, 0, None))

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/definition-positional-encoding -->
# <blockquote>
#
# **Positional encodings (Binary codes as addresses)** *Appendix B.1; Appendix F.2*
#
# **The paper states.** Using the standard binary representation $i=\sum_k2^kb_k$, the positional encoding vector
# $p_i\in\{\pm1\}^{\log n}$ is set to $-1$ at index $j$ if the binary representation of $i$ has 0 at the $j$-th index,
# i.e., $b_i=0$, otherwise it is $+1$. As a result, we have $p_i^\top p_i=\log n$ and $p_i^\top p_j<\log n$ whenever
# $i\ne j$.
#
# <details><summary>Slips (1)</summary>
#
# - "$b_i=0$" should be $b_j=0$. Taken literally, all entries of $p_i$ are equal.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Let $L=\log n$. Then $p_i^\top p_j=L-2h$ for codes that differ in $h$ bits, so the largest
# product of two different codes is $L-2$. Appendix F.2 uses the bound $L-1$. With all $2^L$ codes present, a softmax at
# temperature $\lambda$ gives the right column the weight $(1+e^{-2\lambda})^{-L}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/twos-complement -->
# <blockquote>
#
# **Two's complement convention (Integers as bits)** *Appendices F.3 and G*
#
# **The paper states.** If $b_N=+1$, then the integer is considered positive with the value
# $\sum_{i=1}^{N-1}2^{i-1}\frac{b_i+1}2$. If $b_N=-1$, then the integer is considered negative with the value
# $-2^{N-1}+\sum_{i=1}^{N-1}2^{i-1}\frac{b_i+1}2$.
#
# **What is true.** The number is negative if $b_N=+1$ and non-negative otherwise, as Appendix F.3 states. The paper's
# list exchanges the two values.
#
# **What changed.** The paper's list exchanges the two signs of $b_N$. Equation (4) and the subtraction of Appendix G
# need the convention of Appendix F.3; with the list, flipping all bits of $\text{mem}[a]$, adding 1 and adding
# $\text{mem}[b]$ gives $\text{mem}[b]-\text{mem}[a]-2^{N-1}$ modulo $2^N$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/appendix-l-read-write -->
# <blockquote>
#
# **Appendix L (What a copy loses)** *Appendix L*
#
# **The paper states.** We assume that each element of the input matrix $X\in\mathbb R^{d\times n}$ has values bounded
# by some constant $G$. Each time a copy is implemented, we create a permutation matrix $P^*$. For the matrix $P$ after
# the softmax, $\|XP-XP^*\|\le G\,d\,n^3e^{-\lambda}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The measured error of an entry is near $2GLe^{-2\lambda}$, where $L=\log n$. The norm is the
# largest sum over a column.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Two codes of $L$ bits that differ in $h$ bits have inner product $L-2h$. The temperature $\lambda$ multiplies the
# scores. If all $2^L$ codes are present, every bit is free, and the denominator of the softmax factorises:
#
# $$\sum_je^{\lambda(L-2h_j)}=(e^\lambda+e^{-\lambda})^L,\ \text{weight of the right column}=(1+e^{-2\lambda})^{-L}.$$
#
# The exponent is $2\lambda$, because the gap is 2. The paper uses only that it is at least 1. For small
# $e^{-2\lambda}$, the $L$ nearest neighbours together take weight $Le^{-2\lambda}$. An entry of size $G$ can be
# replaced by one of size $-G$, so we expect an error of $2GLe^{-2\lambda}$.
#
# Integers use the same $\pm1$ bits. In two's complement, we negate a number by flipping all bits and adding 1. This
# works only if the top bit is $+1$ for *negative* numbers, as in Appendix F.3.
#
# ## See it run
# We compare this formula with the softmax over all codes.


# %%
def diagonal(bits: int, inverse_temperature: float) -> torch.Tensor:
    """The weight that each code gives to itself."""
    codes = position_codes(2**bits)
    return (inverse_temperature * codes @ codes.mT).softmax(dim=-1).diagonal()


def gap(bits: int) -> int:
    """The score of a code with itself, less the largest with another."""
    codes = position_codes(2**bits)
    return bits - int((codes @ codes.mT).fill_diagonal_(-torch.inf).max())


def softmax_law(bits: int, inverse_temperature: float) -> float:
    """The weight of a code on itself among all codes of so many bits."""
    return (1 + torch.tensor(-2 * inverse_temperature, dtype=torch.float64).exp()).pow(-bits).item()


# %%
pairs = [(bits, lam) for bits in address_bits for lam in inverse_temperatures]
law_error = max((diagonal(*pair) / softmax_law(*pair) - 1).abs().max().item() for pair in pairs)
gaps = [gap(bits) for bits in address_bits]
few = [(*pair, diagonal(*pair)[0], softmax_law(*pair)) for pair in pairs if pair[1] in inverse_temperatures[:2]]
show.table(["L", "inverse temperature", "weight of the right column", "the law"], few)

# %% [markdown]
# With nine bits and $\lambda=0.5$, the right column gets 6 % of the weight; with $\lambda=1$ it gets 32 %. Next, we
# prepare two controls: two columns that share a code, and the paper's misprinted index.

# %%
twice = position_codes(2 ** address_bits[0])
twice = torch.cat([twice, twice[:1]])
aliased = (8.0 * twice @ twice.mT).softmax(dim=-1)[0, 0].item()
numbers = range(2 ** address_bits[0])
literal = {(2 * ((number >> number) & 1) - 1,) * address_bits[0] for number in numbers}

# %% [markdown]
# We read every integer of 12 bits back from its bits, and subtract with both sign conventions.

# %%
half = 2 ** (integer_bits - 1)
integers = torch.arange(-half, half)
code = to_bits(integers, integer_bits)
few = integers[:: max(1, len(integers) // 64)]


def wrong_differences(last_bit):
    """The pairs of integers whose difference, by the complement, is wrong; the last bit is for the negative if 1."""
    bits = to_bits(few, integer_bits) * torch.tensor([1.0] * (integer_bits - 1) + [last_bit])
    numbers = from_bits(bits).long()
    shift = 0 if last_bit == 1 else half
    found = numbers[:, None] + (2 * half - 1 - numbers) + 1  # b, and a with all bits flipped, and 1
    return ((found - shift - (few[:, None] - few)) % (2 * half) != 0).sum()


# %% [markdown]
# ### What a copy loses
# We copy 900 columns in random order and measure the error at each $\lambda$.

# %%
bits = (columns - 1).bit_length()
codes = position_codes(columns)
data = torch.rand(columns, height, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2 - 1
signs = data.sign()
order = torch.randperm(columns, generator=torch.Generator().manual_seed(seed))


def copy_errors(inverse_temperature: float, keys: torch.Tensor, signs: torch.Tensor = signs) -> tuple[float, float]:
    """The largest column sum of errors for these signs, and the largest error of an entry for the worst data."""
    weights = (inverse_temperature * codes[order] @ keys.mT).softmax(dim=-1)
    error = (weights @ signs - signs[order]).abs()
    worst = 2 * (1 - weights[torch.arange(columns), order]).max().item()
    return error.sum(dim=1).max().item(), worst


grid = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0]
norms, worst = (torch.tensor(column) for column in zip(*[copy_errors(x, codes) for x in grid], strict=True))
lam = torch.tensor(grid)
bound = height * columns**3 * (-lam).exp()
law = 2 * bits * (-2 * lam).exp()

# %%
fig, axis = show.axes(width=7, height=3.6)
axis.semilogy(grid, bound, "--", color=show.COLOURS[1], label="bound of Appendix L, $G d n^3 e^{-\\lambda}$")
axis.semilogy(grid, norms.clamp(min=1e-18), "o-", label="measured, the appendix's norm")
axis.semilogy(grid, worst.clamp(min=1e-18), "s", color=show.COLOURS[2], label="largest error of an entry, worst data")
axis.semilogy(grid, law, ":", color="0.4", label="formula $2 G L e^{-2\\lambda}$")
axis.set_xlabel(r"temperature $\lambda$")
axis.set_ylabel("error of a copy")
axis.legend()
show.figure(
    fig,
    name="copy-error",
    caption=f"Copying {columns} columns by their addresses. The error falls with slope -2 in $\\lambda$ and reaches "
    "the rounding level of float64 at about 18; the paper's bound falls with slope -1 and is informative only above "
    f"{math.log(height * columns**3):.0f}.",
    alt="Four curves on a logarithmic axis against temperature. The paper's bound is eight or more orders of "
    "magnitude above the measured error; the measured entry error follows the dotted line of the formula until it "
    "reaches rounding.",
)

# %% [markdown]
# The largest error of an entry follows the dotted line with slope $-2$. The paper's bound, with slope $-1$, is
# correct but many orders of magnitude higher.

# %%
clear = [place for place, x in enumerate(grid) if 3 <= x <= 14]
slope = (worst[clear[-1]].log() - worst[clear[0]].log()).item() / (grid[clear[-1]] - grid[clear[0]])
ratios = worst[clear] / law[clear]
copied = codes.clone()
copied[1] = copied[0]
differing = signs.clone()
differing[1] = -differing[0]
broken, broken_worst = copy_errors(30.0, copied, differing)
gaussian = torch.randn(columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gaussian_error(inverse_temperature: float) -> float:
    """The largest error when one row of standard normal data is copied."""
    weights = (inverse_temperature * codes[order] @ codes.mT).softmax(dim=-1)
    return (weights @ gaussian - gaussian[order]).abs().max().item()


# %% [markdown]
# ## How we checked
# Solvers verify every pair of 8-bit codes, all integers of 16 bits, and the copy of 32 columns for every
# $\lambda\ge0$. The main control gives two columns the same code: they then share the weight equally, however large
# $\lambda$ is.

# %%
claim = Claim("looped-transformers/definition-positional-encoding")
claim.equal("gap between the best score and the next, smallest", min(gaps), 2)
claim.equal("gap, largest", max(gaps), 2)
claim.at_most("law of the softmax, largest relative error", law_error, 1e-12)
claim.at_most("largest product of two codes less the printed bound L - 1, largest", 1 - min(gaps), 0)
claim.misprint.equal("different codes with bit i of i in every entry, as printed", len(literal), len(numbers))
claim.control.at_least("column 0 and column n = 2ᴸ share a code: weight at lambda = 8", aliased, 0.99)
claim.certified("8 bits, every pair of codes and every λ", certify_codes())
claim.verdict()

# %%
claim = Claim("looped-transformers/twos-complement")
claim.equal("integers read back wrong", (from_bits(code, signed=True) != integers).sum(), 0)
claim.equal("integers whose last bit is not the sign", ((code[:, -1] > 0) != (integers < 0)).sum(), 0)
claim.equal("the least integer of N bits, which the stated range leaves out", from_bits(code[0], signed=True), -half)
claim.equal("pairs subtracted wrong", wrong_differences(1.0), 0)
claim.misprint.equal("pairs subtracted wrong by the list of Appendix G", wrong_differences(-1.0), 0)
claim.control.equal("integers read back wrong without a sign", (from_bits(code) != integers).sum(), 0)
claim.certified("16 bits, all integers", certify_integers())
claim.verdict()

# %%
claim = Claim("looped-transformers/appendix-l-read-write")
claim.at_most("error over the printed bound, largest", (norms / (bound + 1e-12)).max(), 1.0)
middle = (worst / 2 / (columns * (-lam).exp())).max()
claim.at_most("the appendix's steps: 1 less the weight, over n exp(-lambda), largest", middle, 1.0, of="proof")
claim.at_most("worst error over the law, largest for lambda from 3 to 14", ratios.max(), 2.0)
claim.at_least("worst error over the law, smallest", ratios.min(), 0.5)
claim.equal("slope of the logarithm against lambda", slope, -2.0, tolerance=0.02)
over_bound = broken / (height * columns**3 * math.exp(-30.0))
claim.control.at_most("two columns of one code, lambda = 30: over the printed bound", over_bound, 1.0)
over_law = broken_worst / (2 * bits * math.exp(-60.0))
claim.control.at_most("two columns of one code, lambda = 30: over the law", over_law, 2.0)
claim.number("error on normal data at lambda = 5", gaussian_error(5.0))
claim.number("error on normal data at lambda = 10", gaussian_error(10.0))
claim.certified("32 columns, every λ and all data", certify_copy_error())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# With fewer than $2^L$ columns some neighbours are missing, so the formula $2GLe^{-2\lambda}$ is an upper limit; we
# accept a factor of 2 for $\lambda$ from 3 to 14. We check the paper's bound in its own norm, the largest sum over a
# column, and the middle step of its proof, $1-w\le ne^{-\lambda}$ for the weight $w$ of the right column, separately.
#
# </details>
#
# ## Where the paper differs
# Taken literally, the rule for addresses gives every column the same code. The signs in the list of Appendix G make
# every difference of two integers wrong by $2^{N-1}$. Other passages of the paper state both correctly.
#
# ## What to remember
# - The right address scores at least 2 more than any other, whatever the length of the addresses.
# - A look-up among all codes of $L$ bits misses weight $1-(1+e^{-2\lambda})^{-L}$, which is about $Le^{-2\lambda}$.
# - A positive top bit marks a negative integer, so the machine can subtract by flipping bits and adding.
#
# ## Exercises
#
# 1. *By hand.* Three bits, all eight columns present, and $e^{2\lambda}=10$. What weight does the right column get, and
#    what weight does the opposite code get?
#    <details><summary>Solution</summary>
#
#    The right column gets $(1+\frac1{10})^{-3}=1000/1331$, about 0.75. The opposite code differs in three bits and gets
#    $10^{-3}$ times as much, $1/1331$.
#
#    </details>
# 2. *Predict, then run.* Set `columns = 20` in place of 900. By what factors do the paper's bound and the largest error
#    of an entry fall?
#    <details><summary>Solution</summary>
#
#    The bound has a factor of $n^3$ and falls by a factor of $45^3$, almost five powers of ten. The error depends on
#    the number of bits, which falls from ten to five, so it is halved.
#
#    </details>
#
# Next: [Lemma 2](lemma_2_adder.ipynb), because a machine that has found two numbers must be able to add them.

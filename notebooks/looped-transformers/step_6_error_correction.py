# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix G, Step 6 · Error correction, and the temperature it needs
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix G, Step 6; Appendix L.*
#
# The SUBLEQ machine ({doc}`lemma_1_subleq`) keeps its integers, of $N$ bits, as entries $\pm1$, and finds them by a
# softmax whose scores are multiplied by a temperature factor $\lambda$. Such a look-up is never quite right. The last
# layer therefore rounds every entry to $-1$, 0 or 1 by two ramps, one about $-1/2$ and one about $1/2$. Within a margin
# $\epsilon$ of a bit the result is that bit, so that errors do not pile up from cycle to cycle. The paper asks for a
# temperature at which the error of the entries is below 1/2, and it is right. It does not say which temperature that
# is.
#
# The answer depends on where the ramps are. In the paper they are in the *last* layer. Before it come the adders, and
# an adder doubles noise at every bit, so what arrives is up to $2^N$ times what was read. There the temperature must
# grow with $N$. If the same ramps are also in the layers that read, nothing noisy reaches an adder, and a temperature
# that does not depend on $N$ is enough. The machines of this book with ten and six layers have them there. The page
# measures the paper's order and proves both.
#
# <!-- claim looped-transformers/error-correction-step -->
# <blockquote>
#
# **App. G Step 6 (Rounding the state)** *Appendix G, Step 6*
#
# **The paper states.** All the elements of $X$ can only be one of $\{-1,0,1\}$, with some additive error from reads and
# writes. Assume that the temperature is set high enough that the error is $\epsilon<0.5$. Then a noisy bit $b$ can be
# fixed using
# $\frac1{1-2\epsilon}\big(\sigma(b+1-\epsilon)-\sigma(b+\epsilon)+\sigma(b-\epsilon)-\sigma(b-1+\epsilon)\big)-1$. This
# operation can be done with a single layer.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The error is that of the elements of $X$ when they arrive at this layer, and it is up to $4^N$
# times that of a read. Which temperature is high enough is a claim by itself.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/cycle-temperature -->
# <blockquote>
#
# **The temperature of a SUBLEQ cycle (With the length of the integers, or without it)** *Appendix G, Step 6; Appendix
# L*
#
# With Step 6 as the last layer only, a machine is exact for ever if $2\lambda-\ln\lambda\ge2N\ln2+\ln(36L^2)$ with ten
# layers, and $2\lambda-\ln\lambda\ge N\ln2+\ln(84L^2)$ with six. If the ramps of Step 6 are in the units of the two
# reads as well, in the same layers and rows, $\lambda\ge\frac12\ln\big(16(L+1)\big)$ is enough for every $N$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** In the first order $\lambda$ has to grow with $N$: adders multiply the noise of a look-up by up
# to $2^N$ each before it is rounded. Measured is $\lambda\ge\frac12(N\ln2+\ln16L)$, about, for one adder, and for the
# two in a row of the ten layers up to $\frac12(2N\ln2+\ln16L)$ and 1 more, since ties add about $\frac12\ln\lambda$. In
# the order of the paper the bound of Appendix L, $\lambda>\log(Gdn^3/\epsilon)$, in which $N$ enters as $\log N$ only,
# is therefore too low for long integers. In float64 a single $e^{-2\lambda}$ beside 1 is rounded away from
# $\lambda=18.4$ on, and $L$ of them from about $\frac12(53\ln2+\ln L)$ on, 19.5 at 1024 columns; from there every
# length is exact. In float32 the ramps at the reads need no other $\lambda$, and $N$ is at most 23, so that the adder's
# sums fit. FLEQ adds to its pointers in the layer that reads them: with $s$ scratchpad columns and data up to $G\ge1$ a
# bit of a pointer is within $2^L(1+G)\big((1+e^{-2\lambda})^L-1+se^{-\lambda L}\big)$, and measured noise grows at
# least twofold with each bit of an address.
#
# </blockquote>
# <!-- /claim -->

# %%
import math
from decimal import Decimal

import torch

from attention_theory.looped_transformers.certified.adder import certify_ramps
from attention_theory.looped_transformers.certified.softmax_cycle import certify_softmax
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.decimals import DecimalState
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import correct
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.exact_domain import (
    inverse_temperature_law,
    least_inverse_temperature,
    noise_before_correction,
    noise_bound,
    sufficient_inverse_temperature,
)
from attention_theory.looped_transformers.subleq.language import SubleqProgram, program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows
from attention_theory.trends import slope
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
margin = 0.25  # epsilon, from 0.01 to 0.49; at 1/4 the arithmetic is exact
lengths = [4, 8, 16, 24, 32, 40]  # N, bits of an integer, each from 3 to 45
columns = [16, 64]  # n, each from 12 to 1024
single_lengths = [4, 8, 16, 23, 24]  # N in float32, each from 3 to 45
programs = 24  # random programs for each least temperature, at least 8
steps = 12  # steps of each, at least 2
seed = 0  # seed of every draw, at least 0

# %%
require(margin=(margin, 0.01, 0.49), lengths=(Each(lengths), 3, 45), columns=(Each(columns), 12, 1024))
require(single_lengths=(Each(single_lengths), 3, 45), programs=(programs, 8, None), steps=(steps, 2, None))
require(seed=(seed, 0, None))

# %% [markdown]
# ## The ramps
# The formula is right as printed: $\sigma(b+1-\epsilon)-\sigma(b+\epsilon)+\sigma(b-\epsilon)-\sigma(b-1+\epsilon)$,
# divided by $1-2\epsilon$, minus 1. With $\epsilon = 1/4$ the slope is 2 and every operation is exact on a binary grid
# of noise that the format can hold; for other noise the last digit may differ.

# %%
rows = Rows(value=1)
rounding = Layer(rows, "correct")
correct(rounding, rows["value"], margin)


def rounded(values: torch.Tensor) -> torch.Tensor:
    """The values after the correction."""
    return rounding.dense.feed_forward(values[:, None])[:, 0]


bits = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
grid = torch.arange(-1024, 1025, dtype=torch.float64) / 4096  # noise up to 1/4
on_grid = max((rounded(bit + grid) - bit).abs().max().item() for bit in bits)
random_noise = margin * (2 * torch.rand(4000, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) - 1)
off_grid = max((rounded(bit + random_noise) - bit).abs().max().item() for bit in bits)
of_both = max(on_grid, off_grid)
fine = torch.linspace(-1.5, 1.5, 601, dtype=torch.float64)

# %% [markdown]
# As a function of the entry the correction is a staircase.

# %%
fig, axis = show.axes(width=6, height=2.8)
axis.plot(fine, rounded(fine))
axis.plot(bits, bits, "o", color="black")
axis.set(xlabel="entry before", ylabel="entry after")
show.figure(
    fig,
    name="ramps",
    caption="The correction. Entries within the margin of a bit come out as that bit; halfway between bits nothing is "
    "decided.",
    alt="A staircase with flat steps at -1, 0 and 1 and two sloping risers about -1/2 and 1/2.",
)

# %% [markdown]
# ## Noise before the correction
# How much noise an adder passes on depends on the numbers. It reads each bit of a sum off windows, ranges of the sum of
# the low bits ({doc}`lemma_2_adder`). Where 0 is subtracted, that sum sits at the end of a window in every bit, and
# noise on one side moves the result. The last instruction of every program, which halts, does so: it subtracts 0 from
# $-1$. Taken below is the largest noise that reaches the last layer, at a fixed temperature, against $N$.


# %%
def papers(n: int, length: int, depth: int = 10, dtype: torch.dtype = torch.float64) -> SubleqMachine:
    """A machine with the ramps in its last layer alone."""
    return SubleqMachine(address_bits(n), length, depth, rounded_reads=False, dtype=dtype)


small = min(columns)
hard = program([-1, 0, *[3] * (small - 8)], [(0, 2, 1), (0, 3, 2)])
noise_at = 14.0


def arriving(length: int, depth: int, inverse_temperature: float) -> float:
    """The largest noise before the last layer in two cycles of the hard program, at least 0."""
    return noise_before_correction(papers(small, length, depth), hard, inverse_temperature, 2).max().item()


noise = {depth: [arriving(length, depth, noise_at) for length in lengths] for depth in (10, 4)}
free = [k for k, value in enumerate(noise[10]) if value < 0.05]
growth = (math.log2(noise[10][free[-1]]) - math.log2(noise[10][free[0]])) / (lengths[free[-1]] - lengths[free[0]])

# %% [markdown]
# On a logarithmic scale it rises in a straight line.

# %%
fig, axis = show.axes(width=6, height=3)
for depth, values in noise.items():
    axis.semilogy(lengths, values, "o-", label=f"{depth} layers")
axis.axhline(margin, color="0.4", linestyle=":", label="margin of the correction")
axis.set(xlabel="$N$, bits of an integer", ylabel="largest noise")
axis.legend()
show.figure(
    fig,
    name="noise",
    caption=f"Noise before the last layer at $\\lambda = {noise_at:g}$, where 0 is subtracted from -1 and from 0. It "
    "doubles with every bit, until it is too large to be corrected.",
    alt="Noise on a logarithmic axis against the number of bits: straight lines that rise by a factor of two for each "
    "bit and end above the dotted margin.",
)

# %% [markdown]
# ## How hot is hot enough
# Between the look-up and the correction the ten-layer machine adds twice in a row, once to negate and once to subtract,
# and the six- and four-layer machines once. If the noise that arrives is below 1/4, the correction removes all of it
# and the next cycle begins in an exact state. So there is a temperature from which on the machine is exact for ever:
#
# $$2\lambda-\ln\lambda\ \ge\ 2N\ln2+\ln(36L^2)\quad\text{(ten layers)},\qquad
# 2\lambda-\ln\lambda\ \ge\ N\ln2+\ln(84L^2)\quad\text{(six layers)},$$
#
# and $e^{2\lambda}\ge100\,(2^NL+\lambda L^2)$ for four. Up to a logarithm this is $\frac12\ln2$ for every bit and
# adder.
#
# <details><summary>Proof of The temperature of a SUBLEQ cycle: exact from there on</summary>
#
# Let $x=e^{-2\lambda}$, $L,N\ge2$, one scratchpad column, and let a cycle begin in an exact state. Write the condition
# as $36\,\lambda L^2\,4^Nx\le1$; then $\lambda\ge4$ and $\lambda L^2x\le\frac1{576}$. All numbers below are largest
# deviations of an entry from what it should be, in exact arithmetic.
#
# *Layer 1.* In the scratchpad the pointer's column and the scratchpad itself have the same score $L$. Weights of
# columns $h$ bits away are $x^h$ of theirs, together at most $\eta=(1+x)^L-1\le1.01Lx$. What is read is twice the mean
# less the old content, and wrong by at most $2\eta$. Elsewhere the gate is closed, and the buffer is cleared.
#
# *Layer 2.* The pointers $q=p+e$ are now wrong by $2\eta$ a bit. The scores of the scratchpad with itself, $|q|^2$, and
# with the right column, $q^\top p$, differ by $|e^\top q|\le2.01\eta L$, so the two weights differ from each other's
# mean by a quarter of $\lambda$ times that, and twice the mean is off by at most $2.01\lambda\eta L$. Other columns
# lose $2h(1-2\eta)$ in score; their weights are together at most $1.01Lx$, and cost at most $2.1Lx$. Since $\lambda
# L\ge8$, the operands are right within $\delta=\frac52\lambda L^2x$.
#
# *Layers 3 to 5.* The flip doubles noise. By Lemma 2's law bit $i$ of a sum is wrong by at most twice what $s$ is. So
# bit $i$ of $-\mathrm{mem}[a]$ is wrong by $2(2^i-1)\delta$ at most, and bit $i$ of the difference by $\sum_{k\le
# i}2^{k-1}\big(2(2^k-1)+1\big)\delta\le\frac43\,4^i\delta$.
#
# *Layer 6.* Column $b$ sees the scratchpad and itself, at scores that differ by at most $2\eta L$. What it takes over
# is wrong by the noise of the difference, times 1.01, plus $1.1\,\delta$. All other columns see themselves, but for
# weights of $1.01(L+1)x$ in all.
#
# *Layers 7 to 9.* Where the number is positive all terms of the flag are below zero, and it is exactly 0. Otherwise one
# of the two terms is above, and the flag is wrong by $F=\sum_i\frac43\,4^i\delta\le\frac{16}9\,4^N\delta$. The counter
# has not been touched, so the counter plus one is exact. In the selection the flag enters the two terms with opposite
# signs; where both are open its noise cancels. So the new counter is wrong by $2F+4\eta$ at most.
#
# *Layer 10.* The largest of all these is $2F+4\eta\le9\cdot4^N\lambda L^2x\le\frac14$. With $\epsilon=\frac14$ the
# ramps leave nothing of it, the state is exact, and the next cycle begins as this one did.
#
# *Six layers.* The reads are the same, and one adder takes $\mathrm{mem}[b]$ and the flipped $\mathrm{mem}[a]$: bit $i$
# is wrong by $2(2^i-1)\delta$, the flag by $F=4\cdot2^N\delta$, the counter by $2F+4\eta\le21\cdot2^N\lambda L^2x$.
#
# *Four layers.* The query is the pointer and the keys are the encodings, so that there is no tie. The instruction is
# wrong by $2\kappa$ with $\kappa=1.01(L+1)x$, the scratchpad's own weight $e^{-\lambda L}\le x$ included. The operands
# are right within $\delta=3.2Lx$, the difference within $2\cdot2^N\delta$, the flag within
# $4\cdot2^N\delta\le13\cdot2^NLx$. The write is the paper's and has a tie, after the adder: it costs $4\lambda L^2x$
# more. Columns without a pointer ask for the scratchpad, up to $(2x)^L$. All of it is below $25\,(2^NL+\lambda
# L^2)x\le\frac14$, and the ramps in the selection and in the correction remove it.
#
# *Ten or six layers with the ramps at the reads.* Now let $16(L+1)x\le1$, and again let a cycle begin in an exact
# state. By $e^y\le1+y+\frac12y^2e^y$ for $y=\frac1{16}$, $\eta+x\le e^{Lx}-1+x\lt\frac1{15}$. Layer 1 would read within
# $2\eta\lt\frac14$, as above, and its ramps leave nothing of that: the instruction is exact. So the pointers are exact
# in layer 2, its ties are exact, and the operands are within $2\eta$ before its ramps and exact behind them. The adders
# get exact bits and give exact bits. In the layer that writes, the pointer to $b$ and the difference are exact. Let a
# column with the code of $b$ and the scratchpad have equal scores: both weigh $w$, and what is taken over is within
# $4\frac\eta{2+\eta}\le2\eta$. Any other column, $h\ge1$ bits away from $b$, sees itself, the scratchpad at $x^h\le x$
# of its own weight, and the others at $\eta$ together. What it fetches differs from its own entry by at most 2 for
# each, and it keeps twice the mean less the entry: it is wrong by at most $4\frac{\eta+x}{1+\eta+x}\lt\frac14$. Flag,
# counter and selection get exact entries and look nothing up. The last layer removes what the write has left, and the
# next cycle begins like this one. $N$ is in none of these bounds. $\square$
#
# </details>
#
# The bound of the proof is set beside the noise that arrives, at the temperatures that the proof asks for.


# %%
def over_bound(length: int, depth: int, inverse_temperature: float) -> float:
    """The noise of the hard program before the last layer, over the bound of the proof."""
    found = arriving(length, depth, inverse_temperature)
    return found / noise_bound(length, address_bits(small), depth, inverse_temperature)


enough = {
    (n, depth): [sufficient_inverse_temperature(length, address_bits(n), depth) for length in lengths]
    for n in columns
    for depth in (10, 6, 4)
}
noise_ratio = {
    f"{depth} layers, N = {length}": over_bound(length, depth, lam)
    for depth in (10, 6, 4)
    for length, lam in zip(lengths, enough[small, depth], strict=True)
}

# %% [markdown]
# Eight random programs of each size are run at these temperatures too. Their cells hold 0 at the start one time in
# four.


# %%
def random_programs(n: int, length: int, count: int) -> list[SubleqProgram]:
    """Programs that fill n columns."""
    cells = n // 3
    return [random_program(cells, n - 4 - cells, length, seed + number) for number in range(count)]


proved_wrong = {}
for (n, depth), found in enough.items():
    for length, lam in zip(lengths, found, strict=True):
        machine = papers(n, length, depth)
        one = conformance(machine, random_programs(n, length, 8), steps, lam)
        proved_wrong[f"n = {n}, {depth} layers, N = {length}"] = one.wrong

# %% [markdown]
# With the ramps at the reads the temperature is another: about 2, whatever $N$. Both orders are run there, layer by
# layer.

# %%
at_reads, last_only, read_ratio = {}, {}, {}
for n in columns:
    code = address_bits(n)
    low = math.log(16 * (code + 1)) / 2
    share = 4 * (1 - 1 / ((1 + math.exp(-2 * low)) ** code + math.exp(-2 * low)))
    for depth, length in ((10, lengths[0]), (10, lengths[-1]), (6, lengths[-1])):
        few, name = random_programs(n, length, 4), f"n = {n}, {depth} layers, N = {length}"
        machine = SubleqMachine(code, length, depth)
        at_reads[name] = conformance(machine, few, steps, low, by="layers").wrong
        read_ratio[name] = noise_before_correction(machine, few[0], low, 2).max().item() / share
        last_only[name] = conformance(papers(n, length, depth), few, steps, low, by="layers").wrong

# %% [markdown]
# And in float32? The ramps leave exact bits, so that the temperature is the same. What is left is the adder, whose sums
# reach $2^{N+1}$: they fit into 24 bits up to $N=23$.

# %%
in_single = {}
for length in sorted({8, *(length for length in single_lengths if length <= 23)}):
    one = SubleqMachine(address_bits(small), length, dtype=torch.float32)
    heat = math.log(16 * (address_bits(small) + 1)) / 2
    wrong = conformance(one, random_programs(small, length, 4), steps, heat, by="layers").wrong
    in_single[f"N = {length}"] = wrong

# %% [markdown]
# ### The pointers of FLEQ
# The FLEQ machine ({doc}`theorem_2_fleq`) rounds its counter, and an address that an instruction changes is rounded
# when it is read. But the pointers to the operands are added to in the layer that reads them, so that its adder meets
# noise, and doubles it with every bit of an *address*. Below is the noise of a pointer behind the first layer at
# $\lambda=6$, next to a bound. All data are 0, for which the bound is that of $G=1$. The operand begins one column
# before the middle, where all lower bits carry.
#
# <details><summary>Proof of The temperature of a SUBLEQ cycle: the pointers of FLEQ</summary>
#
# Let there be $L$ address bits and $s$ scratchpad columns, and let the counter be exact. In step 1 the instruction's
# column scores $L$, others $L-2h$, and scratchpad columns, whose address rows are 0, score 0. Let data be at most $G$
# in size, and $G\ge1$. So what is read is within $(1+G)\eta$ of the instruction's bits, with
# $\eta=(1+x)^L-1+s\,e^{-\lambda L}$ and $x=e^{-2\lambda}$. A bit of the shifted pointer is a function of the sum of its
# lowest $i$ bits, of the column's own number and of an offset, the last two of which are exact. The sum is off by at
# most $\frac12(2^i-1)(1+G)\eta$. Near an integer at most one of the steps changes with it, with a slope of 2. So all
# bits are within $2^L(1+G)\eta$. If that is at most $\frac14$, a pointer still scores at least $\frac32$ less with
# every other address. $\square$
#
# </details>

# %%
heat_of_pointers, pointer_noise, pointer_bounds = 6.0, {}, {}
for code in (5, 6, 7, 8):
    room = {"before": 2 ** (code - 1) - 15, "v": 2, "after": 2 ** (code - 1) - 4}
    source = assemble("v = add(v, v) width 2\nhalt", dict.fromkeys(room, 0.0), 2, room)
    fleq = FleqMachine(source, heads="several")
    first, state = fleq.transformer.dense[0], fleq.layout.pack(source)
    off = first(state, heat_of_pointers) - first(state, heat_of_pointers, "hardmax")
    noise_of = [fleq.layout.rows.of(off, f"to {name}")[: fleq.layout.scratch].abs().max().item() for name in "abc"]
    x = math.exp(-2 * heat_of_pointers)
    pointer_noise[code] = max(noise_of)
    eta = (1 + x) ** code - 1 + fleq.layout.scratch * math.exp(-heat_of_pointers * code)
    pointer_bounds[code] = 2 ** (code + 1) * eta

# %%
show.table(
    ["address bits", "noise of a pointer", "bound"],
    [[code, pointer_noise[code], pointer_bounds[code]] for code in pointer_noise],
)

# %% [markdown]
# The noise more than doubles with each bit. So for FLEQ's pointers $\lambda$ has to grow, by $\frac12\ln2$ for each bit
# of an address, which is half the logarithm of the number of columns. A layer that rounds between the read and the
# adder would remove this. Steps 7b and 7c can share a layer (Appendix B.3), so there would be room for it in nine
# layers. We have not built it. The data of FLEQ are real numbers, and nothing rounds them.
#
# ## The exact domain
# And how much is needed? For each $N$ and $n$, the least temperature *from which on* every step of all the random
# programs is right, counter and memory. The search comes down from above what is proved to be enough, or from 20. The
# lower law sets the noise of a look-up times the gain of one adder equal to the margin, $2^{N+1}\cdot 2Le^{-2\lambda} =
# 1/4$. The ten-layer machine has two adders in a row. Where the signs of the noise are unlucky their gains multiply,
# which gives the upper law. Luck depends on rounding, so that a temperature may fail though a lower one works. From
# $\lambda \approx 18.4$ on a single $e^{-2\lambda}$ beside 1 is rounded away, and $L$ of them from $\frac12(53\ln 2 +
# \ln L)$ on, 19.5 at 1024 columns; then every $N$ that the adder can hold is exact. The programs run on the fast
# runner, which adds the weights of a look-up in another order than the layers, so that near this end the two can differ
# by some tenths. In float32 this happens near 8, but the adder's sums need more than its 24 bits from $N = 24$ on, and
# then no temperature helps.


# %%
def least_of(n: int, length: int, depth: int) -> float:
    """The least exact temperature of the random programs in float64."""
    machine = papers(n, length, depth)
    above = math.ceil(2 * sufficient_inverse_temperature(length, address_bits(n), depth)) / 2 + 0.5
    return least_inverse_temperature(machine, random_programs(n, length, programs), steps, high=min(20.0, above))


def least_in_single(length: int) -> float:
    """The same in float32, on the literal layers of the ten-layer machine, for eight programs."""
    machine = papers(small, length, dtype=torch.float32)
    return least_inverse_temperature(machine, random_programs(small, length, 8), steps, by="layers")


least = {(n, depth): [least_of(n, length, depth) for length in lengths] for n in columns for depth in (10, 4)}
single = [least_in_single(length) for length in single_lengths]
vanished = 18.4  # from here on 1 + exp(-2 lambda) is 1 in float64, one such term at a time

# %% [markdown]
# The least temperatures rise with $N$. With four layers those of the two $n$ lie close together; with ten they do not
# where rounding decides.

# %%
fig, axis = show.axes(width=7, height=3.8)
for place, ((n, depth), values) in enumerate(least.items()):
    axis.plot(lengths, values, show.MARKERS[place] + "-", label=f"{depth} layers, $n = {n}$")
kept = [(length, value) for length, value in zip(single_lengths, single, strict=True) if math.isfinite(value)]
axis.plot(*zip(*kept, strict=True), "X--", color="black", label=f"10 layers, $n = {small}$, float32")
for adders, style in ((1, ":"), (2, "-.")):
    law = [min(inverse_temperature_law(length, address_bits(small), adders), vanished) for length in lengths]
    axis.plot(lengths, law, style, color="0.4", label=f"law, {adders} adder{'s' * (adders - 1)}")
axis.set(xlabel="$N$, bits of an integer", ylabel=r"least exact temperature $\lambda$")
axis.legend()
show.figure(
    fig,
    name="exact-domain",
    caption="The least temperature from which on every step is exact. With one adder it grows by $\\frac12\\ln 2$ a "
    f"bit, with two by up to twice that. The laws are those for $n={small}$, and end where float64 rounds the noise "
    "away. In float32 nothing is exact beyond the last mark of its line.",
    alt="Rising lines of least temperature against bits, from about 3 to 18: the four-layer machine along the lower "
    "law, the ten-layer machine mostly between the two laws; the line for float32 ends at 23 bits.",
)

# %% [markdown]
# The same in numbers, with what the proof asks for in exact arithmetic, where nothing is ever rounded away.

# %%
heading = [f"{depth} layers, n = {n}" for n, depth in least]
proved_columns = [enough[small, depth] for depth in (10, 4)]
show.table(
    ["N", f"law, one adder, n = {small}", *heading, *(f"proof, {depth} layers, n = {small}" for depth in (10, 4))],
    [
        [length, inverse_temperature_law(length, address_bits(small)), *(values[place] for values in least.values())]
        + [column[place] for column in proved_columns]
        for place, length in enumerate(lengths)
    ],
    caption="Least exact temperatures in float64.",
)

# %% [markdown]
# ## Without the correction
# If the last layer is left out, errors remain and grow with the adders' help. Here are runs of 60 steps, at
# temperatures at which a single cycle is nearly perfect.

# %%
long_runs = [random_program(7, 7, 8, seed + number) for number in range(20)]
uncorrected = SubleqMachine(5, 8, rounded=False)
corrected = SubleqMachine(5, 8, rounded_reads=False)
failed = {
    lam: (
        conformance(uncorrected, long_runs, 60, lam, by="layers").wrong,
        conformance(corrected, long_runs, 60, lam, by="layers").wrong,
    )
    for lam in (8.0, 10.0, 12.0, 15.0)
}
show.table(
    ["temperature", "wrong of 20 without correction", "wrong of 20 with it"],
    [[lam, without, with_it] for lam, (without, with_it) in failed.items()],
)

# %% [markdown]
# ## The bound of Appendix L
# Step 6 assumes that the temperature is set so high that the error of the entries is below 1/2, and does not say which
# temperature does it. In the paper's order of layers the reads may be right to many digits where what arrives is not.
# The one condition on the temperature in the paper is Appendix L's, $\lambda>\log(Gdn^3/\epsilon)$ for $d$ rows and $n$
# columns with entries up to $G$, and it is about one copy. It has $n^3$ in it, which is far too much for a copy; so for
# short integers and many columns it is enough. By the law of two adders that is where $N\ln2$ is below $3\ln
# n+\ln(d/\epsilon)$, roughly.
#
# For long integers it is not, and this is seen in a single cycle of one program, whose instructions all subtract 0 from
# a cell that holds $-1$. Float64 would not always show it, since from $\lambda=18.4$ on it rounds away what the adders
# should multiply. So the literal layers are run in sixty decimal digits, from an exact state, at the printed bound and
# at the temperature of the proof.


# %%
bounds = {n: math.log(papers(n, lengths[-1]).rows.size * n**3 / margin) for n in columns}  # G = 1: all entries are bits

# %% [markdown]
# The cycle is followed beside an exact one, layer by layer.


# %%
def one_cycle(n: int, inverse_temperature: float) -> dict[str, float]:
    """In sixty digits: the largest noise after the reads and before the last layer; cells wrong at the end."""
    machine, cells = papers(n, lengths[-1]), n // 3
    source = program([-1, *[3] * (cells - 1)], [(0, 2, 1)] * (n - 4 - cells))
    state = wanted = machine.load(source)
    digits, found = DecimalState(state), {}
    for label, part in {"reads": slice(0, 2), "arriving": slice(2, 9), "cells wrong": slice(9, 10)}.items():
        digits = digits.after(machine.layers[part], Decimal(inverse_temperature))
        for layer in machine.dense[part]:
            wanted = layer(wanted, inverse_temperature, "hardmax")
        found[label] = digits.distance(wanted)
    memory = machine.memory(digits.nearest(), source)
    return found | {"cells wrong": int((memory != machine.memory(wanted, source)).sum())}


at_bound = {n: one_cycle(n, bound) for n, bound in bounds.items()}
at_proof = {n: one_cycle(n, enough[n, 10][-1]) for n in columns}

# %% [markdown]
# Subtracting 0 from $-1$ meets one adder. A program whose first instruction subtracts something else leaves another
# pointer behind, and in its second cycle the noise goes through both adders: the same digits, from the exact state
# after one cycle, at a temperature so high that no bit is wrong.


# %%
def two_adders(length, inverse_temperature=40):
    """The noise that arrives in the second cycle, as a power of two."""
    machine = papers(16, length)
    state = machine.load(program([0, -1, 7, 3, 1, 5], [(5, 4, 1)] + [(0, 1, 2)] * 4))
    for layer in machine.dense:
        state = layer(state, float(inverse_temperature), "hardmax")
    digits = DecimalState(state).after(machine.layers[:9], Decimal(inverse_temperature))
    for layer in machine.dense[:9]:
        state = layer(state, float(inverse_temperature), "hardmax")
    return math.log2(digits.distance(state))


of_two = (two_adders(24) - two_adders(6)) / 18

# %% [markdown]
# The reads are right to many digits at the printed bound, and the sum is wrong by a whole bit, 2.

# %%
show.table(
    ["n", "N", "temperature", "noise of the reads", "noise that arrives", "cells wrong after a cycle"],
    [
        [n, lengths[-1], heat, one["reads"], one["arriving"], one["cells wrong"]]
        for heats, runs in ((bounds, at_bound), ({n: enough[n, 10][-1] for n in columns}, at_proof))
        for n, heat in heats.items()
        for one in (runs[n],)
    ],
    caption="One cycle in sixty digits, at the bound of Appendix L and then at the temperature of the proof.",
)

# %% [markdown]
# The least temperatures, and what reaches the last layer, are held against laws and bounds.

# %%
excess = {
    f"n = {n}, N = {length}": value - min(inverse_temperature_law(length, address_bits(n), 2), vanished)
    for n in columns
    for length, value in zip(lengths, least[n, 10], strict=True)
}
slopes = {n: slope(lengths, least[n, 4]) / (math.log(2) / 2) for n in columns}
without, with_it = (sum(failed[lam][place] for lam in (10.0, 12.0, 15.0)) for place in (0, 1))
digits_ratio = {
    f"n = {n}": at_proof[n]["arriving"] / noise_bound(lengths[-1], address_bits(n), 10, enough[n, 10][-1])
    for n in columns
}

# %% [markdown]
# What has to be zero, what at most one, and what is asked at the bound of Appendix L:

# %%
zero = {
    "sixty digits, at the temperature of the proof: cells wrong after a cycle": {
        f"n = {n}": one["cells wrong"] for n, one in at_proof.items()
    },
    "wrong programs at the temperature of the proof": proved_wrong,
    "ramps at the reads: wrong programs at the temperature without N": at_reads,
    "ramps at the reads, float32 up to N = 23: wrong programs at the temperature without N": in_single,
}
at_most_one = {
    "sixty digits, at the temperature of the proof: noise that arrives over its bound": digits_ratio,
    "ten layers: least temperature above the law of two adders, at most": excess,
    "noise before the last layer over the bound of the proof, largest": noise_ratio,
    "ramps at the reads: noise before the last layer over its bound": read_ratio,
    "FLEQ: noise of a pointer over its bound": {
        f"{code} address bits": pointer_noise[code] / pointer_bounds[code] for code in pointer_noise
    },
    "at Appendix L's bound, sixty digits: noise of the reads, times two": {
        n: 2 * at_bound[n]["reads"] for n in columns
    },
}

# %% [markdown]
# The rates in $N$, and the cases in which the paper's order must fail:

# %%
one_adder = {f"four layers, n = {n}": ratio for n, ratio in slopes.items()}
fewest = min(wrong for case, wrong in last_only.items() if case.endswith(f"N = {lengths[-1]}"))
pointer_growth = math.log2(pointer_noise[8] / pointer_noise[5]) / 3
rates = [
    ("noise before the last layer, doublings for each bit: one adder's", growth, 1.0),
    ("two adders, sixty digits: doublings for each bit", of_two, 2.0),
    ("slope of the least temperature over ln 2 / 2", one_adder, 1.0),
]
at_the_bound = {f"n = {n}, N = {lengths[-1]}, sixty digits, at Appendix L's bound": one for n, one in at_bound.items()}

# %% [markdown]
# In the ten-layer machine the least temperature may lie above the law of two adders by 1, since the law leaves out the
# ties of the second look-up. The controls are the machine without its last layer, the paper's order at the temperature
# without $N$ and at the bound of Appendix L, and float32.
# A solver settles the ramps for all real values within a quarter of $-1$, 0 or 1. For machines of ten, six and four
# layers at one temperature each it also settles the whole statement: it follows a cycle with every instruction and
# memory, bounds the noise of each look-up from the gap of 2 between its scores, and what every layer makes of that
# noise. Nothing is left after the last layer. So the next cycle begins like this one, for ever. These bounds are
# coarser than those of the proof, since all other columns are taken to be one bit away, and need a higher temperature.
#
# With the ramps at the reads the solver finds the machine exact at $\lambda=4$ where it needs 12 for the paper's order.

# %%
certified = {
    f"{depth} layers, L = {code}, N = {length}, softmax at {heat:g}": certify_softmax(
        papers(2**code, length, depth), heat
    )
    for depth, code, length, heat in ((10, 4, 8, 12.0), (6, 3, 4, 8.0), (4, 3, 4, 6.0))
}
at_the_reads = SubleqMachine(4, 8)
certified["10 layers, L = 4, N = 8, ramps at the reads too, softmax at 4"] = certify_softmax(at_the_reads, 4.0)

# %%
claim = Claim("looped-transformers/error-correction-step")
claim.equal("noise on a grid up to 1/4: largest entry left", on_grid, 0)
claim.at_most("other noise: largest entry left", off_grid, 1e-15)
claim.at_most("the printed ramps, both kinds of noise: largest entry left", of_both, 1e-15, of="proof")
claim.equal("wrong programs with the correction, lambda from 10 to 15", with_it, 0)
claim.control.equal("wrong programs without the correction, lambda from 10 to 15", without, 0)
claim.certified("the ramps, all real values within a quarter", certify_ramps())
claim.verdict()

# %% [markdown]
# So the ramps are right as printed. Now the temperature at which they are enough.

# %%
claim = Claim("looped-transformers/cycle-temperature")
for label, value in zero.items():
    claim.equal(label, value, 0)
for label, ratio in at_most_one.items():
    claim.at_most(label, ratio, 1.0, of="proof" if "over" in label else "statement")
claim.at_most("least temperature in float64, largest", max(max(values) for values in least.values()), 20.0)
claim.control.equal("ramps in the last layer alone, at the temperature without N: wrong programs", fewest, 0)
for case, one in at_the_bound.items():
    claim.control.below(f"{case}: noise that arrives", one["arriving"], 0.5)
    claim.control.equal(f"{case}: cells wrong after a cycle", one["cells wrong"], 0)
for label, value, wanted in rates:
    claim.equal(label, value, wanted, tolerance=0.15)
claim.control.at_most("float32 is exact at the longest length tried", single[-1], 40.0)
claim.at_least("FLEQ: doublings of a pointer's noise for each address bit", pointer_growth, 1.0)
for length, value in zip(lengths, least[small, 10], strict=True):
    claim.number(f"least temperature for N = {length}", value)
for label, certificate in certified.items():
    claim.certified(label, certificate)
claim.verdict()

# %% [markdown]
# The ramps are right. In the last layer alone they need a temperature that grows with the length of the integers; at
# the reads too, they do not.
#
# ## What was learned
# A layer of ReLUs makes a looped machine exact for ever, if the noise that reaches it is below its margin. Where it
# stands decides how hot the softmax must be. Behind the adders it meets the noise of a look-up times their gain, $2^N$
# each, so $\lambda$ must grow by $\frac12\ln2$ with every bit for each adder; so much, and a logarithm more, is enough.
# In the layers that read it meets the noise of a look-up alone, and $\lambda\ge\frac12\ln(16(L+1))$ is enough for
# integers of any length, in float32 for those that its adder can hold. That is the order of the machines in this book.
# Appendix L's bound lacks $N$; in the paper's order its factor $n^3$ makes up for that as long as $N$ is small beside
# $3\log_2n$. Float64 hides the difference for many columns, because at their bound it rounds the noise away before the
# adders can multiply it.
#
# ## To try
# - Set `lengths = [4, 6, 8, 10, 12]`: the lines of the second picture are straight, far from where rounding ends them,
#   and the printed condition is enough: the claim is left open then, and so is the slope, over so short a range.
# - Set `margin = 0.45`: the staircase has steep risers; halfway between bits there is as little to be had as before.

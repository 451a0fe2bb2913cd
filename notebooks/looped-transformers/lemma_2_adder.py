# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 2 · Adding in one layer
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 2 (Lemma 10), Appendices B.1 and F.1.*
#
# Add 1 to 0111 and all four digits change: a single bit on the far right can decide every bit to its left. When we add
# by hand, we therefore work from right to left and pass on a carry. A transformer that did the same would spend one
# layer per bit. The looped transformer of this paper adds in every cycle, to move its program counter and to subtract,
# and each addition takes a single layer. How can the highest bit depend on a carry that nobody has computed?

# %%
import torch

from attention_theory.looped_transformers.certified.adder import adder_layer, certify_adder, certify_adder_noise
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# We add 7 and 5, using three bits. For each place, we keep only the bit at this place and the bits to its right in
# both numbers, and write down the sum $s$ of the two shortened numbers:
#
# | | bit 3 | bit 2 | bit 1 | |
# | --- | --- | --- | --- | --- |
# | first number | 1 | 1 | 1 | 7 |
# | second number | 1 | 0 | 1 | 5 |
# | $s$ | 7 + 5 = 12 | 3 + 1 = 4 | 1 + 1 = 2 | |
# | bit of the sum | 1 | 0 | 0 | 4, which is 12 modulo 8 |
#
# We can read the last row from $s$ alone. Bit 3 is 1 when $s$ is 4 to 7 or 12 to 15. Bit 2 is 1 when $s$ is 2, 3, 6
# or 7, and bit 1 is 1 when $s$ is 1 or 3. Every place of this sum produces a carry. We did not have to pass any on,
# because each carry is already contained in $s$.

# %%
fig, axis = schematic.canvas(7.0, 3.0)
for bit, low_sum in ((3, 12), (2, 4), (1, 2)):
    half, left, height = 2 ** (bit - 1), 1.7, 1.9 * bit - 1.2
    spans = [(half, 2 * half - 1), (3 * half, 4 * half - 1)]
    schematic.windows(axis, spans, 4 * half - 1, (left, height), 0.74, f"bit {bit}")
    inside = any(low <= low_sum <= high for low, high in spans)
    colour, at = schematic.BLUE if inside else schematic.VERMILION, left + 0.74 * low_sum
    schematic.arrow(axis, (at, height + 1.0), (at, height + (0.55 if inside else 0.1)), colour=colour)
    schematic.text(axis, (at, height + 1.15), f"s = {low_sum}, so bit {bit} is {int(inside)}", colour, 9)
show.figure(
    fig,
    name="tiny",
    caption="The two windows of each bit on the number line. Arrows mark the sums $s$ of 7 + 5: blue inside a "
    "window, orange outside.",
    alt="Three number lines, from 0 to 15, 0 to 7 and 0 to 3, with two raised windows each: 4 to 7 and 12 to 15, 2 to "
    "3 and 6 to 7, 1 and 3. An arrow points at 12 inside a window of bit 3, at 4 between the windows of bit 2, and at "
    "2 between those of bit 1.",
)

# %% [markdown]
# We see the same picture at three sizes: the windows of a bit are twice as wide as those of the bit to its right. For
# each bit, all that matters is whether $s$ is in one of its windows. No bit waits for another.
#
# ## The paper states
# <!-- claim looped-transformers/lemma-2 -->
# <blockquote>
#
# **Lemma 2 (Binary addition in one layer)** *Appendices B.1 and F.1; also Lemma 10*
#
# **The paper states.** Given two $d$-dimensional binary vectors representing two non-negative integers, there exists a
# 1-hidden layer feedforward network with ReLU activation, containing $8d$ activations in the hidden layer and $d$
# neurons in the output layer, that can output the binary vector representation of their sum, as long as the sum is less
# than $2^{d+1}$.
#
# **What is true.** One hidden ReLU layer adds two numbers of $d$ bits modulo $2^d$. Bit $i$ of the sum is a function of
# $s = a_{[i]} + b_{[i]}$, the sum of the numbers formed by the lowest $i$ bits: it is 1 for $s \in [2^{i-1}, 2^i)$ and
# for $s \in [3\cdot 2^{i-1}, 2^{i+1})$. This takes 6 units per bit, or 8 where the residual connection has to be
# cancelled.
#
# **What changed.** A sum of $d+1$ bits does not fit into $d$ output bits, and the proof assumes a sum below $2^d$.
# Larger sums wrap around, which the machine needs for subtraction.
#
# <details><summary>Slips (2)</summary>
#
# - The proof calls $a_i$ the $i$-th *most* significant bit. It means the $i$-th *least* significant one, since in the
#   same sentence $a_1$ is the least significant.
# - Lemma 10 states $6d$ units, and the end of its proof $8d$. The network alone needs $6d$ units, and with the residual
#   connection it needs $8d$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** If all input bits, written as $\pm1$, are right within $\delta$, bit $i$ of the sum is right
# within $2\delta(2^i-1)$. The sum of 0 and $2^d-1$ attains this bound for small $\delta$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# We keep only the lowest $i$ bits of both numbers, $a_{[i]}$ and $b_{[i]}$. The bits that we drop cannot influence bit
# $i$ of the sum, which is therefore bit $i$ of $s=a_{[i]}+b_{[i]}$. Let $h=2^{i-1}$. Since $s<4h$, bit $i$ of $s$ is 1
# in only two cases: $h\le s<2h$, or $3h\le s$. We write each of these windows as a bracket that is 1 where the
# condition holds and 0 elsewhere. On integers, these brackets are
#
# $$[h\le s<2h]=\sigma(s-h+1)-\sigma(s-h)+\sigma(2h-s)-\sigma(2h-s-1)-1,\qquad [3h\le s]=\sigma(s-3h+1)-\sigma(s-3h),$$
#
# where $\sigma$ is the ReLU. The second window never has to end, because $s$ never reaches $4h$. We need six ReLUs per
# bit. Each takes a weighted sum of the input bits, and none takes the output of another, so one hidden layer is enough.
#
# <details><summary>Proof of Lemma 2</summary>
#
# Write $a=a_{[i]}+2^ia'$ and $b=b_{[i]}+2^ib'$. Then $a+b$ and $s=a_{[i]}+b_{[i]}$ differ by a multiple of $2^i$, so
# they have the same bit $i$, which is $\lfloor s/h\rfloor\bmod2$ with $h=2^{i-1}$. As $0\le s\le2(2h-1)<4h$, it is 1 if
# and only if $\lfloor s/h\rfloor$ is 1 or 3.
#
# For an integer $k$ the difference $\sigma(s-k+1)-\sigma(s-k)$ is 0 for integers $s<k$ and 1 for integers $s\ge k$. In
# the same way $\sigma(2h-s)-\sigma(2h-s-1)$ is 1 for $s<2h$ and 0 for $s\ge2h$. A step up at $h$ plus a step down at
# $2h$, minus 1, is the first window, and a step up at $3h$ is the second. The two windows are disjoint, so their sum is
# the bit.
#
# With bits $a_j\in\{0,1\}$, $s=\sum_{j\le i}2^{j-1}(a_j+b_j)$; with bits $\pm1$, $s$ is affine in the bits as well. The
# output layer adds the six units with signs $\pm1$. It computes the bits up to $d$ of $a+b$, which is $a+b$ modulo
# $2^d$. In a layer with a residual connection, two more units per bit, $\sigma(x)$ and $\sigma(-x)$, subtract the old
# entry $x$. $\square$
#
# </details>
#
# <details><summary>Proof that noise grows as 2δ(2ⁱ - 1)</summary>
#
# The bits here are $\pm1$. In $s$, bit $j$ of a number is worth $2^{j-1}$ where it is 1 and nothing where it is $-1$,
# so it adds $2^{j-1}\frac{a_j+1}2$. If $a_j$ is wrong by $\delta$, $s$ is therefore wrong by $2^{j-2}\delta$. Over the
# lowest $i$ bits of both numbers this makes at most $2\sum_{j=1}^i2^{j-2}\delta=(2^i-1)\delta$. As a function of $s$,
# the sum of the windows has slope 0 or $\pm1$ everywhere, so it is wrong by no more than $s$. It takes the values 0 and
# 1, and the layer puts out twice this sum minus 1, because bits leave as $\pm1$. This gives the factor 2: bit $i$ of
# the sum is right within $2\,\delta\,(2^i-1)$.
#
# Can the error be this large? Where $s$ is at the end of a window, the slope on one side is $\pm1$, so the result
# changes at once. Adding 0 to $2^N-1$ puts $s$ at the end of a window in every bit, and for small $\delta$ the
# bound is attained with equality.
#
# </details>
#
# ## See it run
# We draw the two windows of the third bit for all real $s$.

# %% tags=["parameters"]
bits = 6  # d, bits of each number: all pairs are added, from 2 to 9
wide_bits = 40  # bits of the random sums, from 2 to 50
sums = 2000  # random sums, at least 1
noise_bits = 16  # bits of the adder whose noise is measured, from 2 to 40
noise = 1e-9  # error of each input bit there, from 1e-12 to 0.001
seed = 0  # seed of every draw, at least 0

# %%
require(bits=(bits, 2, 9), wide_bits=(wide_bits, 2, 50), sums=(sums, 1, None))
require(noise_bits=(noise_bits, 2, 40), noise=(noise, 1e-12, 1e-3), seed=(seed, 0, None))
require(noise_of_the_last_bit=(noise * 2 ** (noise_bits + 1), 0.0, 1.0))

# %%
s = torch.linspace(0, 15, 601)
relu = torch.relu
low = relu(s - 3) - relu(s - 4) + relu(8 - s) - relu(7 - s) - 1
high = relu(s - 11) - relu(s - 12)
fig, axis = show.axes(width=7, height=2.8)
axis.plot(s, low, label="4 to 7")
axis.plot(s, high, label="12 to 15")
axis.plot(range(16), [(k >> 2) & 1 for k in range(16)], "o", color="black", label="third bit of $s$")
axis.set_xlabel("$s$, the sum of the lowest three bits of both numbers")
axis.set_ylabel("window")
axis.legend()
show.figure(
    fig,
    name="windows",
    caption="The two windows for the third bit. Between integers they are ramps; every integer sits at the end of a "
    "ramp or on a plateau.",
    alt="Two trapezoids over the sum s from 0 to 15, one from 4 to 7 and one from 12 on, with dots at 0 or 1 for the "
    "third bit of each integer, all on the curves.",
)

# %% [markdown]
# The curve of the formula goes through every dot. The curve also has ramps between integers, and some dots are at the
# very end of a ramp. There, the slightest shift of $s$ to one side changes the result.
#
# Next we build the layer. Bits enter and leave as $-1$ and $1$. We also build a second layer without the last two units
# of each bit, which form the window that begins at $3h$.


# %%
def adder(length: int, last_pair: bool = True) -> tuple[Rows, Layer]:
    """A layer that puts a + b in the place of a, in every column."""
    rows = Rows(a=length, b=length)
    layer = Layer(rows, "add")
    add(layer, [(rows["a"], 1), (rows["b"], 1)], rows["a"], last_pair=last_pair)
    return rows, layer


def total(a: torch.Tensor, b: torch.Tensor, length: int, last_pair: bool = True) -> torch.Tensor:
    """The bits of a + b as the layer computes them."""
    rows, layer = adder(length, last_pair)
    return rows.view(layer.dense.feed_forward(torch.cat([to_bits(a, length), to_bits(b, length)], dim=1)), "a")


# %%
a, b = (side.flatten() for side in torch.meshgrid(torch.arange(2**bits), torch.arange(2**bits), indexing="ij"))
found = total(a, b, bits)
right = to_bits((a + b) % 2**bits, bits)
without = total(a, b, bits, last_pair=False)
carries = torch.stack([(a >> k) & (b >> k) & 1 for k in range(bits)]).any(dim=0)
beyond = a + b >= 2**bits
generator = torch.Generator().manual_seed(seed)
x, y = torch.randint(0, 2**wide_bits, (2, sums), generator=generator)
wide = from_bits(total(x, y, wide_bits))
turned = (found.flip(1) != right).sum()
as_they_are = (from_bits(found) == a + b)[beyond].sum()

# %% [markdown]
# All 4,096 sums of 6-bit numbers are right modulo 64, and so are 2,000 random sums of 40-bit numbers. Including the two
# units that cancel the residual, we use eight units per bit.
#
# ### The price: noise
# Suppose that every input bit is wrong by a small $\delta$. We add 0 to $2^N-1$, which puts $s$ at the end of a window
# in every place, and measure the error of each bit of the sum.

# %%
rows, layer = adder(noise_bits)
zero = torch.cat([to_bits(0, noise_bits), to_bits(2**noise_bits - 1, noise_bits)])[None]
error = (layer.dense.feed_forward(zero + noise) - layer.dense.feed_forward(zero)).abs()[0, :noise_bits]
law = 2 * noise * (2**noise_bits - 1)

# %%
fig, axis = show.axes(width=7, height=2.8)
places = range(1, noise_bits + 1)
axis.semilogy(places, error.clamp(min=1e-17), "o-", label="measured")
axis.semilogy(places, [2 * noise * (2**k - 1) for k in places], ":", color="0.4", label=r"$2\,\delta\,(2^i - 1)$")
axis.set_xlabel("bit $i$ of the sum")
axis.set_ylabel("error")
axis.legend()
show.figure(
    fig,
    name="noise",
    caption="Every input bit is wrong by the same small $\\delta$. The error of the sum doubles from bit to bit: an "
    "adder of $N$ bits multiplies noise by about $2^N$.",
    alt="A straight line on a logarithmic axis: the error of bit i against i, doubling at each bit, along the "
    "dotted line of the formula.",
)

# %% [markdown]
# We see a straight line on a logarithmic axis, so the error doubles from bit to bit. The dots follow $2\delta(2^i-1)$,
# the largest possible error.
#
# ## How we checked
# We compare every bit with integer addition modulo $2^d$. A solver settles the sum for numbers of every length: the
# units of bit $i$ depend on $i$ only through $h=2^{i-1}$, the value of this bit, so we read them from a built layer
# and ask the solver z3 one question in which $h$ is a variable. As a control we drop the window that begins at $3h$.
# A sum can reach this window only where both numbers have a 1 in the same place, so the reduced layer should be wrong
# for some such pairs and for no other pairs. A second question is about noise: if the sum of the lower bits is off, a
# bit is off by at most twice as much.

# %%
claim = Claim("looped-transformers/lemma-2")
claim.equal("bits of sums compared", right.numel(), bits * 4**bits)
wrong_bits = (found != right).sum()
claim.equal("bits that are wrong, of all pairs", wrong_bits, 0)
claim.equal(f"random sums of {wide_bits} bits that are wrong", (wide != (x + y) % 2**wide_bits).sum(), 0)
claim.equal("hidden units for each bit, the residual's two included", len(adder(bits)[1].units) / bits, 8)
claim.equal("error of the last bit over the law", error[-1] / law, 1.0, tolerance=0.01)
claim.misprint.equal("sums from 2ᵈ to 2ᵈ⁺¹ that come out as they are", as_they_are, beyond.sum())
claim.equal("the proof's windows over the lowest bits: bits that are wrong", wrong_bits, 0, of="proof")
claim.misprint.equal("the same with bit i counted from the top, as printed", turned, 0, of="proof")
claim.control.equal("wrong bits without the last two units", (without != right).sum(), 0)
claim.certified("numbers of every length", certify_adder(adder_layer(wide_bits)))
claim.certified("the noise of a sum, every length", certify_adder_noise(adder_layer(wide_bits)))
claim.equal("pairs it gets wrong although no place carries", (~carries & (without != right).any(dim=1)).sum(), 0)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The lemma allows sums that do not fit into its output. We obtain these sums modulo $2^d$, and the machine relies on
# this when it computes $b-a$ as $b+(2^N-a)$. In three bits, for example, $5-3$ becomes $5+5=10$, which is 2 modulo 8.
#
# ## What to remember
# - Each bit of a sum is a function of one small integer, so one hidden layer computes all bits at once.
# - The result is exact modulo $2^d$, so the machine can subtract by adding.
# - Errors in the input double from bit to bit, so the machine rounds its bits in every cycle ([Step
#   6](step_6_error_correction.ipynb)).
#
# ## Exercises
#
# 1. *By hand.* Add 6 and 3 in three bits with the windows: find $s$ for each place, then the bit.
#    <details><summary>Solution</summary>
#
#    The sums are 0 + 1 = 1, 2 + 3 = 5 and 6 + 3 = 9. For bit 1, the sum 1 is in a window. For bit 2, the sum 5 falls
#    between the windows 2–3 and 6–7, and for bit 3, the sum 9 falls between 4–7 and 12–15. The result is 001, which is
#    1, and indeed 9 modulo 8 is 1.
#
#    </details>
# 2. *Predict, then run.* The machine rounds entries to $-1$, 0 or 1, and it repairs errors of at most ¼. Let
#    `noise = 1e-6`. How many bits may an adder have? Try `noise_bits = 16` and `noise_bits = 17`.
#    <details><summary>Solution</summary>
#
#    An adder may have sixteen bits. The error of the last bit is $2\cdot10^{-6}(2^{16}-1)\approx0.131$ with 16 bits,
#    and about 0.262 with 17.
#
#    </details>
#
# Next: [Lemmas 3 and 4](lemma_3_4_read_write.ipynb), because a machine that can add still has to fetch its operands.

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
# Whoever adds two numbers by hand works from right to left, since each place has to wait for the carry of the one
# before it. For a transformer that would mean a layer for each bit. But there is no need to wait. Let $a$ and $b$ be
# numbers of $d$ bits. Bit $i$ of their sum depends on the lowest $i$ bits of both, through the sum $s$ of these two
# shorter numbers alone. It is 1 when $2^{i-1} \le s < 2^i$, or when $3\cdot 2^{i-1} \le s < 2^{i+1}$. On the integers
# each of these windows is a difference of ReLUs, and $s$ is affine in the bits. So all bits come out of one hidden
# layer at once, with no carry to wait for.
#
# <!-- claim looped-transformers/lemma-2 -->
# <blockquote>
#
# **Lemma 2 (Binary addition in one layer)** *Appendices B.1 and F.1; also Lemma 10*
#
# **As printed.** The numbers may have any sum below $2^{d+1}$ (both statements); in the proof $a_i$ is the $i$-th
# *most* significant bit, and the layer has $8d$ units, where Lemma 10 says $6d$.
#
# **Corrected.** One hidden ReLU layer adds two numbers of $d$ bits, **modulo $2^d$**. Bit $i$ of the sum is a function
# of $s = a_{[i]} + b_{[i]}$, the sum of the lowest $i$ bits: it is 1 for $s \in [2^{i-1}, 2^i)$ and for $s \in [3\cdot
# 2^{i-1}, 2^{i+1})$. That takes 6 units a bit, and 8 where the residual connection has to be cancelled.
#
# Below $2^d$, as the proof assumes: a sum from there on wraps around. $a_i$ is the $i$-th *least* significant bit. $6d$
# units in a network by itself, $8d$ with the residual.
#
# </blockquote>
# <!-- /claim -->

# %%
import torch

from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import require
from bookpress import Claim, show

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

# %% [markdown]
# ## The windows
# The windows of the third bit, as functions of $s$. It is to be 1 for $s$ from 4 to 7 and from 12 to 15.

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
    "ramp or on a plateau. At the ends of a ramp there is no room for noise on one side.",
    alt="Two trapezes over the sum s from 0 to 15, one from 4 to 7 and one from 12 on, with dots at 0 or 1 for "
    "the third bit of each integer, all on the curves.",
)

# %% [markdown]
# ## Every pair
# The layer adds all pairs of numbers, and random pairs of long ones. A second layer lacks the last two units of each
# bit, the window that needs both carries.


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
    return rows.of(layer.dense.feed_forward(torch.cat([to_bits(a, length), to_bits(b, length)], dim=1)), "a")


# %% [markdown]
# The control goes wrong only where some place carries, that is where both numbers have a 1.

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
# ## Noise
# A bit that is wrong by $\delta$ changes $s$ by $2^k\delta/2$. As a function of $s$ the sum of the windows has the
# slope 0 or $\pm1$ everywhere. So if all input bits are right within $\delta$, bit $i$ of the sum is right within
# $2\,\delta\,(2^i-1)$. Is this ever so bad? Where $s$ sits at the end of a window, nothing holds the result back on one
# side: its slope is 1. Adding 0 to $2^N - 1$ puts $s$ at the end of a window in every bit, and the bound is met with
# equality.

# %%
rows, layer = adder(noise_bits)
zero = torch.cat([to_bits(0, noise_bits), to_bits(2**noise_bits - 1, noise_bits)])[None]
error = (layer.dense.feed_forward(zero + noise) - layer.dense.feed_forward(zero)).abs()[0, :noise_bits]
law = 2 * noise * (2**noise_bits - 1)

# %% [markdown]
# The error of each bit of this sum, on a logarithmic scale, is a straight line.

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
    alt="A straight line on a logarithmic axis: the error of bit i against i, doubling at each bit, on the dotted law.",
)

# %% [markdown]
# ## What is printed, and what is meant
# The statement allows every sum below $2^{d+1}$; $d$ bits come out, and the proof assumes a sum below $2^d$. From there
# on the sum wraps around. The machine needs exactly that, since it computes $b - a$ as $b + (2^N - a)$. Nor is $a_i$
# the $i$-th *most* significant bit, since the same sentence calls $a_1$ the least significant one. And the six units of
# Lemma 10 are eight with the residual, as Lemma 2 says and the end of the proof too. So three printed words fail, and
# what they mean holds.

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
claim.equal("pairs it gets wrong although no place carries", (~carries & (without != right).any(dim=1)).sum(), 0)
claim.verdict()

# %% [markdown]
# All pairs are added rightly modulo $2^d$, in one layer, with eight units a bit.
#
# ## What was learned
# Addition takes one hidden layer, because each bit of a sum is a function of one small integer. The result is the sum
# modulo $2^d$, which is more useful than the lemma's wording, since it makes subtraction an addition. The price is
# noise: errors of the input double from bit to bit, and the temperature of the whole machine has to pay for it.
#
# ## To try
# - Set `bits = 8`: sixteen times as many pairs, and none is wrong.
# - Set `noise_bits = 28`: the error of the last bit is above a half, and nothing can round it any more.

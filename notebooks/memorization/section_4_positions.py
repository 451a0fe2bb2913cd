# %% [markdown]
# # Section 4.4 · Are sinusoidal positions of full rank?
# *Mahdavi, Liao, Thrampoulidis: Section 4.4.*
#
# If a word occurs twice, the sentence has two equal tokens, and equal tokens are not independent. Language models
# therefore add a position vector to each word vector. Does this always make the tokens independent, as the paper says?
# Would a computer detect it?

# %%
import json

import torch
from torch import Tensor

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.examples import draw
from attention_theory.memorization.positions import smallest_singular_ratio
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic
from bookpress.layout import Layout

# %% [markdown]
# ## A tiny example
# Let the vectors of the first two positions be $(\sin0,\cos0)=(0,1)$ and $(\sin1,\cos1)=(0.84,0.54)$. Add the word
# vector $(0.5,0)$ to both. The two tokens are $(0.5,1)$ and $(1.34,0.54)$, with determinant
# $0.5\cdot0.54-1\cdot1.34=-1.07$: they are independent, although the word is the same. Now let the two word vectors be
# *minus* their position vectors. Then both tokens are $(0,0)$.

# %%
fig, axis = schematic.canvas(height=2.6)
for left, shift, words in ((2.5, (0.5, 0.0), "the same word twice"), (9.0, None, "words = minus positions")):
    for at in ((0.0, 1.0), (0.84, 0.54)):
        x, y = (0.0, 0.0) if shift is None else shift
        tip = (left + 2.2 * at[0], 1.2 + 2.2 * at[1])
        end = (left, 1.2) if shift is None else (left + 2.2 * (at[0] + x), 1.2 + 2.2 * (at[1] + y))
        schematic.arrow(axis, (left, 1.2), tip, colour=schematic.QUIET)
        schematic.arrow(axis, tip, end, colour=schematic.VERMILION)
        axis.plot(*end, "o", color=schematic.BLUE, markersize=7)
    schematic.text(axis, (left + 1.0, 0.5), words)

# %%
show.figure(
    fig,
    name="tiny",
    caption="Thin arrows are two position vectors, orange arrows the word vectors that are added, and dots the tokens.",
    alt="On the left, two arrows from a point, each continued by the same short arrow to the right. The two dots at "
    "the ends are in different directions. On the right, the second arrows lead back, and both dots are at the start.",
)

# %% [markdown]
# With the same word at both positions, the two tokens have different directions. Special words cancel the positions.
#
# ## The paper states
# A context has $n$ tokens of $d$ numbers, the rows of $E$. Assumption 2 says that they are linearly independent, so
# that $E$ has rank $n$. Sinusoidal encodings describe the position $p$ by the values at $p$ of $d$ sines and cosines of
# different frequencies.
#
# <!-- claim memorization/remark-positional-full-rank -->
# <blockquote>
#
# **Section 4.4 (Are sinusoidal positions of full rank?)** *Section 4.4*
#
# **The paper states.** A widely used positional encoding method utilizes sinusoidal positional encodings. Consequently,
# the positional encoding matrix is inherently full rank. In view of the positional encoding equations, this
# characteristic extends to the context matrix $E^{(t)}$, establishing the validity of Asm. 2.
#
# **What is true.** In exact arithmetic, the first $n\le d$ encodings are linearly independent. With almost every
# embedding of the words, the contexts of all sentences of $n$ words have rank $n$, even if words are repeated.
#
# **What changed.** The property does not extend to every embedding: if the word vectors are minus the positions, the
# context is 0.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Exact arithmetic matters: in float64, the rank of 512 encodings of width 1024 is 171. If we add
# word vectors of the usual small size, from a vocabulary of 256 words, a context of 512 tokens has rank about 390 in
# float64 and 380 in float32, the precision of the authors' code. Learned positions do not need full rank. If those of
# all-MiniLM-L6-v2 are cut to rank 8, only 1 of 60 texts has independent tokens before the first layer, but all 60 do
# after it (float64).
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The encodings are the real and imaginary parts of powers of numbers on the unit circle. If a linear combination of
# $n\le d$ rows is 0, its coefficients form a polynomial of degree below $n$ with $d$ roots, so all of them are 0. If we
# add words, a determinant of the tokens is a polynomial in the entries of the word vectors. It is not 0 if all words
# are 0, and therefore it is nonzero for almost all words. However, the tokens may be almost dependent, because most
# frequencies are so low that their waves change little over a few hundred positions.
#
# <details><summary>Proof of Section 4.4, positions, as corrected</summary>
#
# *The positions.* Row $p = 0, 1, \dots$ has the entries $\sin p\omega_k$ and $\cos p\omega_k$ with $\omega_k =
# 10000^{-2k/d}$, $k = 0, \dots, d/2 - 1$. With $z_k = e^{i\omega_k}$ they are $(z_k^p - \bar z_k^p)/2i$ and $(z_k^p +
# \bar z_k^p)/2$, so that the matrix of the first $n$ rows is $P = VB$: $V$ has the rows $(z_0^p, \bar z_0^p, z_1^p,
# \bar z_1^p, \dots)$, and $B$ is block diagonal with invertible blocks of two. As $0 < \omega_k \le 1 < \pi$ and the
# $\omega_k$ differ, the $d$ numbers $z_k$ and $\bar z_k$ are distinct. A combination of the rows of $V$ that is zero is
# a polynomial of degree below $n \le d$ with $d$ roots, and so has no coefficient but zero. Hence $\mathrm{rank}\,P =
# \mathrm{rank}\,V = n$.
#
# *Words added.* Let the embeddings of $N$ words be the rows of $X \in \mathbb R^{N \times d}$. A sentence of $n$
# words is a matrix $S$ of $n$ rows, each with a single 1, and its context is $SX + P$. The sum of the squares of its $n
# \times n$ minors is a polynomial in the entries of $X$, and at $X = 0$ it is not zero, since $\mathrm{rank}\,P = n$. A
# polynomial that is not identically zero vanishes on a set of measure zero only. There are $N^n$ sentences, and
# finitely many such sets are a set of measure zero: every $X$ outside makes all contexts of rank $n$ at once.
#
# *Not all.* With $N \ge n$, the sentence of the words $1, \dots, n$ and these embedded as minus the first $n$
# positions, the context is 0. $\square$
#
# </details>
#
# ## See it run
# We examine the first $n$ positions of width 64 to 240 digits, alone and with the same word added to all of them. In a
# third sentence, we draw the words from a vocabulary half as large as the sentence is long, so that some words are
# repeated.

# %% tags=["parameters"]
most = 33  # positions examined with many digits, width 64, from 12 to 48
seed = 0  # seed of every draw, at least 0

# %%
require(most=(most, 12, 48), seed=(seed, 0, None))

# %%
counts = sorted({4, 12, 20, 28, most})
word = 0.02 * draw("gaussian", 1, 64, seed=seed + 1)
exact = [smallest_singular_ratio(count, 64) for count in counts]
one_word = [smallest_singular_ratio(count, 64, tokens=word.expand(count, -1)) for count in counts]


def sentence(places: int, width: int) -> Tensor:
    """Tokens of the usual size N(0, 0.02²), drawn from half as many words as there are places."""
    words = 0.02 * draw("gaussian", places // 2, width, seed=seed)
    return words[torch.randint(len(words), (places,), generator=generator(seed))]


recurring = smallest_singular_ratio(most, 64, tokens=sentence(most, 64))
rounded = [torch.linalg.svdvals(sinusoidal(count, 64)) for count in counts]
in_float64 = [(values[-1] / values[0]).item() for values in rounded]

# %%
fig, axis = show.axes()
axis.semilogy(counts, exact, marker="o", label="positions, 240 digits")
axis.semilogy(counts, one_word, "--", marker="^", label="the same word at all positions, 240 digits")
axis.semilogy(counts, in_float64, marker="s", label="positions, float64")
axis.set(xlabel="number of positions n, width 64", ylabel="smallest / largest singular value")
axis.legend()
show.figure(
    fig,
    name="positions",
    caption="The ratio of the smallest to the largest singular value. With 240 digits it keeps falling but is never "
    "zero, with or without a word. In float64 it levels off at rounding level near 20 positions.",
    alt="Three falling curves on a logarithmic axis. The one for float64 levels off at 1e-17; the two others coincide "
    "and continue to fall.",
)

# %% [markdown]
# The smallest singular value falls exponentially but never reaches 0. In float64, we see only rounding errors beyond
# about 20 positions. What does this mean for sentences?

# %%
sizes = [(32, 64), (197, 768), (512, 1024)]
positions = [sinusoidal(n, d) for n, d in sizes]
ranks = [int(torch.linalg.matrix_rank(part)) for part in positions]
fresh = [0.02 * draw("gaussian", n, d, seed=seed) for n, d in sizes]
contexts = [(part + new, part + sentence(*size)) for part, new, size in zip(positions, fresh, sizes, strict=True)]
in_two = [
    [int(torch.linalg.matrix_rank(context.to(dtype))) for context in pair for dtype in (torch.float64, torch.float32)]
    for pair in contexts
]
show.table(
    ["n", "d", "positions", "new words, float64", "float32", "recurring words, float64", "float32"],
    [(*size, rank, *row) for size, rank, row in zip(sizes, ranks, in_two, strict=True)],
    caption="Numerical ranks. New words: a different word at each position. Recurring words: drawn from n/2 words.",
)

# %% [markdown]
# The tokens have full rank if every position has a new word. If words are repeated, the positions alone must make the
# tokens independent, and in the two larger cases they cannot.
#
# ### Positions of a trained model
# The positions of all-MiniLM-L6-v2, a BERT, are learned. We replace the first 64 of them by their best approximation of
# lower rank and ask, in float64, which of 60 texts still have independent tokens. We show recorded results
# (`benchmarks/memorization_weights.py`), because the weights are a package of 83 MB (`make weights`).

# %%
recorded = json.loads((Layout.here().results / "memorization" / "weights.json").read_text(encoding="utf-8"))
cut = {
    int(row["positions"].split()[-1]): row["contexts of full rank"]
    for row in recorded["data"]
    if "cut to rank" in row["positions"] and row["precision"] == "float64"
}
fig, axis = show.axes()
for depth, marker in zip((0, 1, 6), show.MARKERS, strict=False):
    axis.plot(list(cut), [full[depth] / 60 for full in cut.values()], marker=marker, label=f"after {depth} layers")
axis.set(xlabel="rank of the 64 positions after the cut", ylabel="fraction of texts")
axis.legend()
show.figure(
    fig,
    name="cut",
    caption="all-MiniLM-L6-v2, texts of 64 tokens, float64: the fraction of texts whose tokens are independent, if "
    "the positions are cut to a lower rank.",
    alt="Three curves against the rank. Before the first layer the curve rises from 0 at rank 1 to 0.1 at rank 16, "
    "0.85 at rank 32 and 1 at rank 48. After one layer and after six, it is near 0.8 at rank 1, "
    "and 1 at rank 8 and above.",
)

# %% [markdown]
# A trained layer restores independence. With positions of rank 8, only one of the 60 texts has independent tokens
# before the first layer, but all have after it. For trained GPT-2, Table 3 of the paper reports the opposite: the
# tokens are independent before the first layer, but not after it.
#
# ## How we checked
# In one control, a word is repeated without positions. In the other, float64 must lose rank. We also give tokens for
# which the paper's sentence fails.

# %%
again = int(torch.linalg.matrix_rank(word.expand(32, -1)))
cancelled = int(torch.linalg.matrix_rank(positions[0] - sinusoidal(32, 64)))

# %%
claim = Claim("memorization/remark-positional-full-rank")
claim.above("240 digits, smallest ratio, far above the precision", min(exact), 1e-100)
claim.above("240 digits, one word at all positions: smallest ratio", min(one_word), 1e-100)
claim.above("240 digits, words that occur again: smallest ratio", recurring, 1e-100)
claim.printed.equal("it carries over to any tokens: rank with tokens equal to minus the positions", cancelled, 32)
claim.control.equal("one word at 32 places without positions: rank", again, 32)
claim.control.equal("float64 in place of 240 digits: rank of 32 positions of width 64", ranks[0], 32)
for (n, _), row in zip(sizes[1:], in_two[1:], strict=True):
    claim.control.equal(f"float64, {n} tokens, words that occur again: rank", row[2], n)
if most == 33:
    claim.number("smallest ratio at n = 33", exact[-1])
for (n, _), rank in zip(sizes, ranks, strict=True):
    claim.number(f"float64 rank, n = {n}", rank)
claim.number("float32, 512 tokens, words that occur again: rank", in_two[-1][3])
claim.verdict()

# %% [markdown]
# ## What to remember
# - Sinusoidal positions are independent, but barely: at width 64, only about twenty are numerically independent in
#   float64.
# - Added to words, they make the tokens of almost all contexts independent in exact arithmetic, but not of all.
# - In floating point, long contexts with repeated words lose rank.
#
# ## Exercises
#
# 1. *By hand.* Add the word $(x,y)$ to the two positions of the tiny example. For which words are the tokens dependent?
#    <details><summary>Solution</summary>
#
#    The tokens are $(x,1+y)$ and $(0.84+x,0.54+y)$, and the determinant is $x(0.54+y)-(1+y)(0.84+x)=-0.46x-0.84y-0.84$.
#    It is 0 on the line $0.46x+0.84y=-0.84$, which has measure 0 and contains $(0,-1)$.
#
#    </details>
# 2. *Predict, then run.* Set `most = 48`. Where do the exact curves end, and do they separate?
#    <details><summary>Solution</summary>
#
#    They fall further, to about $10^{-82}$, and still coincide, because a single word changes only one direction.
#
#    </details>
#
# Next: [Table 3](table_3_language.ipynb). There we test whole language models.

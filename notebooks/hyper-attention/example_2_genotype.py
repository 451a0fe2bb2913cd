# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Example 2 · Which alleles are active?
# *Ustaomeroglu, Qu: Example 2, Section 3; Appendix B.2.*
#
# <!-- claim hyper-attention/example-2 -->
# <blockquote>
#
# **Example 2 (Genotype and phenotype)** *Section 3; Appendix B.2*
#
# For strands without repeats one layer with one-hot alleles and $W^V = \mathbf 1$ returns for every allele the share of
# its activators that are present, and 1 if it is always active: $C_{\mu\nu} = 1/m$ for the $m$ activators $\nu$ of
# $\mu$, and for an always active $\mu$ a row of $1/L$, which is right at the length $L$, or $C_{\mu\mu} = 1$, which is
# right at all lengths.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-genotype-length -->
# <blockquote>
#
# **App. B.2 (One linear layer and the length of a strand)** *Appendix B.2*
#
# **As printed.** A single linear self-attention layer cannot length-generalise on this task; with a dense ReLU layer
# after it, it does.
#
# **Corrected.** On the genotype task without repeats, being right at one length does not make a linear layer right at
# others: the layer with rows of $1/L$ is not. With $C_{\mu\mu} = 1$ in their place it is exact at every length. A dense
# ReLU layer after the first one repairs it, too.
#
# It can: with $C_{\mu\mu} = 1$ for always active alleles one linear layer is exact at every length. Sequences of one
# length do not tell this layer from others, because strands without repeats are not versatile (Remark D.1).
#
# </blockquote>
# <!-- /claim -->
#
# A strand holds alleles, each at most once. A dictionary says who is active: `1: [3]` means that allele 1 is active
# if allele 3 is somewhere on the strand; `2: []` means that allele 2 is always active; who is not listed is never
# active. The layer has one-hot alleles, $W^V = \mathbf 1$, and $C_{\mu\nu} = 1/m$ if $\nu$ is one of the $m$
# activators of $\mu$.
#
# **The always active ones.** The paper spreads their 1 evenly over the row: $1/L$ in every entry. This is right at
# that length, and at no other, and the paper concludes that one linear layer cannot length-generalise on this task. It
# can: give the allele its 1 from *itself*, $C_{\mu\mu} = 1$. No allele comes twice, so this is exactly 1 at every
# length. What is true is something near: sequences of one length do not tell the two layers apart, as no token repeats
# (see the page on length generalisation), so being right at one length does not make a layer right at the others.
#
# **All or any?** With weights $1/m$ the layer returns the *share* of the activators that are present. The text reads
# as "any of them". In the paper's dictionary every list has one entry, and the readings agree; we keep the share
# here.
#
# **A ReLU layer.** The paper says that a dense layer with ReLU after the attention makes it right at any length. With
# every list of one entry it does: the printed row made for length $L^*$ returns $L / L^*$ at length $L$, and
# $\min(1, L^* z) = 1 - \mathrm{relu}(1 - L^* z)$ is 1 for every $L \ge 1$. The factor matters: $\min(1, z)$ alone
# leaves the shorter strands wrong. The paper excludes repeats; with them a sum can pass 1, and the same layer repairs
# that too.

# %%
from itertools import permutations, product

import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.genotype import activation, activation_score, saturate
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
trained_length = 3  # the L that the printed weights are made for, from 2 to 5
samples = 300  # strands of the larger dictionary, from 20 to 10000
seed = 0  # of every draw, at least 0

# %%
require(trained_length=(trained_length, 2, 5), samples=(samples, 20, 10_000), seed=(seed, 0, None))
dictionary = {1: [3], 2: [], 4: [2]}  # the paper's example
larger = {0: [1, 2], 3: [], 4: [5, 6, 7], 8: [0]}  # lists of more than one
size, larger_size = 5, 10

# %% [markdown]
# ## Strands without repeats
# Every strand of five alleles, at every length.


# %%
def outputs(symbols, score):
    """The layer's output for each token."""
    ones = torch.ones(len(score), 1, dtype=torch.float64)
    return linear_attention(one_hot(len(score))[symbols], score, ones).squeeze(-1)


printed = activation_score(dictionary, size, form="printed", length=trained_length)
diagonal = activation_score(dictionary, size)
lengths = list(range(1, size + 1))
strands = {length: torch.tensor(list(permutations(range(size), length))) for length in lengths}
errors = {"1/L in the whole row (printed)": [], "1 on the diagonal": []}
for length in lengths:
    truth = activation(strands[length], dictionary, size)
    for name, score in zip(errors, (printed, diagonal), strict=True):
        errors[name].append((outputs(strands[length], score) - truth).abs().max().item())
many = sample_sequences(samples, 7, larger_size, seed, unique=True)
larger_error = (
    (outputs(many, activation_score(larger, larger_size)) - activation(many, larger, larger_size)).abs().max()
)

fig, axes = show.axes(1, 3, width=9.5, height=3.2, width_ratios=[1, 1, 1.6])
for axis, score, title in zip(axes, (printed, diagonal), errors, strict=False):
    picture = axis.imshow(score, cmap="Blues", vmin=0, vmax=1)
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("activator ν")
    axis.set_ylabel("allele μ")
    axis.set_xticks(range(size))
    axis.set_yticks(range(size))
    axis.grid(False)
for (name, values), marker in zip(errors.items(), show.MARKERS, strict=False):
    axes[2].plot(lengths, values, marker=marker, label=name)
axes[2].set_xlabel("length L")
axes[2].set_ylabel("largest error")
axes[2].set_xticks(lengths)
axes[2].legend(fontsize=8)
show.figure(
    fig,
    name="lengths",
    caption="Two score matrices for the paper's dictionary, and their errors. The printed one is right at the length "
    "it was made for; the other one everywhere.",
    alt="Two small heat maps which differ in row two: evenly filled on the left, a single blue cell on the right. "
    "Beside them a line that touches zero at length three only, and a line that is zero throughout.",
)

# %%
by_length = dict(zip(lengths, errors["1/L in the whole row (printed)"], strict=True))
claim = Claim("hyper-attention/example-2")
for length, error in zip(lengths, errors["1 on the diagonal"], strict=True):
    claim.check(f"diagonal, L = {length}: largest error", error, "<=", 1e-12)
claim.check(f"printed row, L = {trained_length}: largest error", by_length[trained_length], "<=", 1e-12, of="proof")
claim.check("diagonal, lists of two and three, L = 7: largest error", larger_error, "<=", 1e-12)
elsewhere = {f"L = {length}": error for length, error in by_length.items() if length != trained_length}
claim.control("printed row at other lengths: largest error", elsewhere, "<=", 1e-12)

# %% [markdown]
# ## The ReLU layer
# The printed row made for one length, without a ReLU layer, with $\min(1, z)$, and with $\min(1, L^* z)$. The paper's
# dictionary, no repeats.

# %%
headed = {"no ReLU": {}, "min(1, z)": {}, "min(1, L* z)": {}}
for length in lengths:
    truth = activation(strands[length], dictionary, size)
    z = outputs(strands[length], printed)
    after = (z, saturate(z), saturate(trained_length * z))
    for errors_of, values in zip(headed.values(), after, strict=True):
        errors_of[length] = (values - truth).abs().max().item()
show.table(["length L", *headed], [[n, *(row[n] for row in headed.values())] for n in lengths])
repaired_row = max(headed["min(1, L* z)"].values())
claim.check("printed row and min(1, L* z), every length: largest error", repaired_row, "<=", 1e-12)
claim.control("printed row and min(1, z), every length: largest error", max(headed["min(1, z)"].values()), "<=", 1e-12)

# %% [markdown]
# ## Strands with repeats
# Now alleles may repeat, which the paper excludes: all strands of six. Both layers count an activator as often as it
# comes. The ReLU layer repairs both, if every list has one entry.

# %%
repeated = torch.tensor(list(product(range(size), repeat=6)))
truth = activation(repeated, dictionary, size)
for name, score, factor in (("diagonal", diagonal, 1), ("printed row", printed, trained_length)):
    z = outputs(repeated, score)
    repaired = (saturate(factor * z) - truth).abs().max()
    claim.check(f"{name} and ReLU, with repeats: largest error", repaired, "<=", 1e-12)
    claim.control(f"{name}, with repeats: largest error", (z - truth).abs().max(), "<=", 1e-12)
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-genotype-length")
claim.check("diagonal, all lengths: largest error", max(errors["1 on the diagonal"]), "<=", 1e-12)
claim.check(f"printed row, L = {trained_length}: largest error", by_length[trained_length], "<=", 1e-12)
claim.check("printed row and min(1, L* z), all lengths: largest error", repaired_row, "<=", 1e-12)
claim.printed(
    "every layer errs at some length: the diagonal one's largest error", max(errors["1 on the diagonal"]), ">", 1e-12
)
claim.control("right at one length is right at all: the printed row elsewhere", elsewhere, "<=", 1e-12)
claim.verdict()

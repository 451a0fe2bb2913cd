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
# Which genes show depends on which others are there. A strand holds $L$ alleles, each at most once. A dictionary says
# who is active: `1: [3]` means that allele 1 is active if allele 3 is somewhere on the strand; `2: []` means that
# allele 2 is always active; who is not listed is never active. Can one layer of attention read a strand and say of
# every allele whether it is active?
#
# By the first half of {doc}`Theorem 3.1 </notebooks/hyper-attention/theorem_3_1_representation>` one layer holds this.
# Its alleles are one-hot, so that allele $\mu$ gives allele $\nu$ the score $C_{\mu\nu}$, an entry of a table; with
# $W^V = \mathbf 1$ every allele has the value 1, and the output at an allele is the sum of its scores over the strand.
# If $\mu$ has $m$ activators, each of them gets the score $1/m$. An allele that is always active has no activators, and
# its 1 must come from somewhere: from all places of the strand alike, or from itself.
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
# **The always active ones.** The paper spreads their 1 evenly over the row: $1/L$ in every entry. This is right at that
# length, and at no other, and the paper concludes that one linear layer cannot length-generalise on this task. By
# length generalisation it means, as in its Section 4.3, to be trained at one length and right at others, and so read
# the sentence is true. It is not a matter of what the layer can represent: give the allele its 1 from *itself*,
# $C_{\mu\mu} = 1$. No allele comes twice, so this is exactly 1 at every length. But sequences of one length do not tell
# the two layers apart, as no token repeats (see the page on length generalisation), and training at one length does not
# find the one with the diagonal.
#
# **All or any?** With weights $1/m$ the layer returns the *share* of the activators that are present. The text reads as
# "any of them". In the paper's dictionary every list has one entry, and the readings agree; we keep the share here.
#
# **A ReLU layer.** The paper says that a dense layer with ReLU after the attention makes it right at any length. With
# every list of one entry it does: the printed row made for length $L^*$ returns $z = L / L^*$ at length $L$, and
# $\min(1, L^* z) = 1 - \mathrm{relu}(1 - L^* z)$ is 1 for every $L \ge 1$. The factor matters: $\min(1, z)$ alone
# leaves the shorter strands wrong. The paper excludes repeats; with them a sum can pass 1, and the same layer repairs
# that too. With longer lists it gives "any of them", as the text has it, if the factor is at least the longest list;
# the share it cannot give, since an output of $\frac13$ may be an always active allele, of a row made for three places,
# or one activator of three.

# %%
from itertools import permutations, product

import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.gram import descend, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import outputs_from_counts, sample_sequences
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.genotype import activation, activation_score
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
trained_length = 3  # the L that the printed weights are made for, from 2 to 4
samples = 300  # strands of the larger dictionary, from 20 to 10000
seed = 0  # of every draw, at least 0

# %%
require(trained_length=(trained_length, 2, 4), samples=(samples, 20, 10_000), seed=(seed, 0, None))
dictionary = {1: [3], 2: [], 4: [2]}  # the paper's example
larger = {0: [1, 2], 3: [], 4: [5, 6, 7], 8: [0]}  # lists of more than one
size, larger_size = 5, 10

# %% [markdown]
# ## Strands without repeats
# Both score matrices are run on every strand of five alleles, at every length, and the diagonal one on a larger
# dictionary too, whose lists have two and three entries.


# %%
def outputs(symbols, score):
    """The layer's output for each token."""
    ones = torch.ones(len(score), 1, dtype=torch.float64)
    return linear_attention(one_hot(len(score))[symbols], score, ones).squeeze(-1)


def saturate(z):
    """The ReLU layer of Appendix B.2: ``min(1, z)``."""
    return 1 - torch.relu(1 - z)


printed = activation_score(dictionary, size, form="printed", length=trained_length)
diagonal = activation_score(dictionary, size)
lengths = list(range(1, size + 1))
strands = {length: torch.tensor(list(permutations(range(size), length))) for length in lengths}
errors = {"1/L in the whole row (printed)": [], "1 on the diagonal": []}
for length in lengths:
    truth = activation(strands[length], dictionary, size)
    for name, score in zip(errors, (printed, diagonal), strict=True):
        errors[name].append((outputs(strands[length], score) - truth).abs().max().item())

# %% [markdown]
# The larger dictionary has lists of two and three, on strands of seven alleles.

# %%
many = sample_sequences(samples, 7, larger_size, seed, unique=True)
larger_error = (
    (outputs(many, activation_score(larger, larger_size)) - activation(many, larger, larger_size)).abs().max()
)

# %% [markdown]
# The two matrices differ in one row, and that row decides.

# %%
fig, axes = show.axes(1, 3, width=9.5, height=3.2, width_ratios=[1, 1, 1.6])
for axis, score, title in zip(axes, (printed, diagonal), errors, strict=False):
    picture = axis.imshow(score, cmap="Blues", vmin=0, vmax=1)
    axis.set(xlabel="activator ν", ylabel="allele μ", xticks=range(size), yticks=range(size))
    axis.set_title(title, fontsize=9)
    axis.grid(False)
for (name, values), marker in zip(errors.items(), show.MARKERS, strict=False):
    axes[2].plot(lengths, values, marker=marker, label=name)
axes[2].set(xlabel="length L", ylabel="largest error", xticks=lengths)
axes[2].legend(fontsize=8)
show.figure(
    fig,
    name="lengths",
    caption="Two score matrices for the paper's dictionary, and their errors. The printed one is right at the length "
    "it was made for; the other one everywhere.",
    alt="Two small heat maps which differ in row two: evenly filled on the left, a single blue cell on the right. "
    "Beside them a line that touches zero at length three only, and a line that is zero throughout.",
)

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
    for row, values in zip(headed.values(), after, strict=True):
        row[length] = (values - truth).abs().max().item()
show.table(["length L", *headed], [[n, *(row[n] for row in headed.values())] for n in lengths])
repaired_row = max(headed["min(1, L* z)"].values())

# %% [markdown]
# The larger dictionary, on random strands of every length, with the longest list in the place of $L^*$ where it is
# longer: any of the activators, or their share?

# %%
of_larger = activation_score(larger, larger_size, form="printed", length=trained_length)
factor = max(trained_length, *(len(activators) for activators in larger.values()))
any_off, share_off = {}, {}
for length in range(1, larger_size + 1):
    some = sample_sequences(samples, length, larger_size, seed + length, unique=True)
    share, found = activation(some, larger, larger_size), saturate(factor * outputs(some, of_larger))
    any_off[f"L = {length}"] = (found - (share > 0).to(share)).abs().max().item()
    share_off[f"L = {length}"] = (found - share).abs().max().item()

# %% [markdown]
# ## Strands with repeats
#
# Now alleles may repeat, which the paper excludes: all strands of six. Both layers count an activator as often as it
# comes. The ReLU layer repairs both, if every list has one entry.

# %% [markdown]
# All strands of six alleles are listed, 15,625 of them.

# %%
repeated = torch.tensor(list(product(range(size), repeat=6)))
truth = activation(repeated, dictionary, size)
plain, with_relu = {}, {}
for name, score, factor in (("diagonal", diagonal, 1), ("printed row", printed, trained_length)):
    z = outputs(repeated, score)
    plain[name] = (z - truth).abs().max().item()
    with_relu[name] = (saturate(factor * z) - truth).abs().max().item()
by_length = dict(zip(lengths, errors["1/L in the whole row (printed)"], strict=True))
elsewhere = {f"L = {length}": error for length, error in by_length.items() if length != trained_length}
on_diagonal = {f"L = {n}": error for n, error in zip(lengths, errors["1 on the diagonal"], strict=True)}

# %% [markdown]
# What must fail: the printed row at other lengths, with $\min(1, z)$ after it, and either layer on repeats without a
# ReLU.

# %%
claim = Claim("hyper-attention/example-2")
claim.at_most("diagonal: largest error", on_diagonal, 1e-12)
claim.at_most(f"printed row, L = {trained_length}: largest error", by_length[trained_length], 1e-12, of="proof")
claim.at_most("diagonal, lists of two and three, L = 7: largest error", larger_error, 1e-12)
claim.control.at_most("printed row at other lengths: largest error", elsewhere, 1e-12)
claim.at_most("printed row and min(1, L* z), every length: largest error", repaired_row, 1e-12)
claim.control.at_most(
    "printed row and min(1, z), every length: largest error", max(headed["min(1, z)"].values()), 1e-12
)
claim.at_most("with repeats and a ReLU layer: largest error", with_relu, 1e-12)
claim.control.at_most("with repeats: largest error", plain, 1e-12)
claim.verdict()

# %% [markdown]
# ## The formula of Section 3
#
# <!-- claim hyper-attention/example-2-formula -->
# <blockquote>
#
# **Example 2 (Activeness as a pairwise interaction)** *Section 3*
#
# **The paper states.** $P_{\mathcal X(i)} = \mathbb I\{\mathcal X(i)$ is always active$\} + \sum_{j\in[L]} \mathbb
# I\{\mathcal X(i)$ is activated by $\mathcal X(j)\}\, w_{\mathcal X(j)}$. By orthogonally embedding each allele,
# Theorem 3.1 again ensures that a single-layer linear self-attention can replicate these interactions exactly.
#
# <details><summary>Slips (1)</summary>
#
# - The indicator in front of the sum is no part of an aggregate pairwise interaction (Eq. 2), and Theorem 3.1 does not
#   cover it.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** One layer does so at a given length, and at all lengths if no allele repeats. With repeats no
# layer does so at two lengths, if some allele is always active and has no activator.
#
# </blockquote>
# <!-- /claim -->
#
# Section 3 has weights and does not exclude repeats. At one length an even row of $1/L$ gives the constant 1, with
# repeats or without. For more lengths, take the strands that hold a single allele $\mu$ which is always active and
# has no activator. With $T_{\mu\nu}$ for score times value, a layer returns $L\,T_{\mu\mu}$ on them, and this is 1 at
# one $L$ only.

# %%
weight = 0.5 + torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
active, always = torch.zeros(size, size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
for allele, activators in dictionary.items():
    active[allele, activators] = 1.0
    always[allele] = float(not activators)
every = {length: torch.tensor(list(product(range(size), repeat=length))) for length in (2, 3)}


def formula(symbols):
    """P of Example 2, token by token."""
    return always[symbols] + (active * weight)[symbols[:, :, None], symbols[:, None]].sum(dim=-1)


even_row = {f"L = {n}": (outputs(x, active * weight + always[:, None] / n) - formula(x)) for n, x in every.items()}
even_off = {name: off.abs().max().item() for name, off in even_row.items()}
on_itself = active * weight + torch.diag(always)
without = {f"L = {n}": (outputs(x, on_itself) - formula(x)).abs().max().item() for n, x in strands.items()}
pairs = [torch.einsum("nia,njb->niab", *[one_hot(size)[x]] * 2).flatten(2).flatten(0, 1) for x in every.values()]
both = relative_residual(torch.cat(pairs), torch.cat([formula(x).flatten() for x in every.values()])[:, None])

# %%
claim = Claim("hyper-attention/example-2-formula")
claim.at_most("repeats, a layer for each length: largest error", even_off, 1e-12)
claim.at_most("no repeats, one layer for all lengths: largest error", without, 1e-12)
claim.control.at_most("repeats, lengths 2 and 3 at once: missed by the best layer", both, 1e-12)
claim.verdict()

# %% [markdown]
# ## What training finds
#
# <!-- claim hyper-attention/remark-genotype-length -->
# <blockquote>
#
# **App. B.2 (One linear layer and the length of a strand)** *Appendix B.2*
#
# **The paper states.** This is an example task for which a single layer linear self-attention cannot length generalize.
# However, a simple dense layer with ReLU activation addition after single layer linear self-attention, trivially
# enables it to generalize any length.
#
# <details><summary>Chosen after a run</summary>
#
# The threshold for the loss was $10^{-20}$ when the page was first run, and is $10^{-10}$ now, as in the description.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** A layer trained on strands of one length, without repeats, is right there and errs at every
# other length (length generalization in the sense of Section 4.3). Some linear layer is right at every length, with
# $C_{\mu\mu} = 1$ for always active alleles, and training on several lengths finds a right one. The ReLU needs an
# affine read-out, $1 - \mathrm{relu}(1 - L^* z)$, and any of an allele's activators is then enough for it.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof that a layer is right at all lengths</summary>
#
# Let $C_{\mu\nu} = 1/m$ for the $m$ activators $\nu$ of $\mu$, $C_{\mu\mu} = 1$ if $\mu$ is always active, zero
# elsewhere, and $W^V = \mathbf 1$ in the one-hot code. A token $\mu$ has the output $\sum_\nu s_\nu C_{\mu\nu}$.
# Without repeats $s_\nu$ is 1 for the alleles that are present and 0 for others, and $s_\mu = 1$. So the output is the
# share of the activators that are present, 1 for an always active allele and 0 for one that is not listed, at every
# length. With a row of $1/L^*$ in the place of $C_{\mu\mu} = 1$ the output of an always active allele is $L/L^*$, right
# at $L = L^*$ only. $\square$
#
# </details>
#
# The ReLU of the paper needs a read-out. For an always active allele $z$ is $\frac13$, $\frac23$ and 1 at the first
# lengths if $L^* = 3$, and should become 1, while 0 should remain 0. No $\mathrm{relu}(az + c)$ does this: three equal
# values ask for $a = 0$ and $c = 1$, and then 0 becomes 1. But $\min(1, L^* z) = 1 - \mathrm{relu}(1 - L^* z)$ does.
#
# Gradient descent from $C = 0$, $w = \mathbf 1$, on all strands of one length and, for contrast, on all strands of two,
# three and four alleles together. At one length a multiple of $(1 - L^*, 1, \dots, 1)$, the first entry at the allele
# itself, can be added to a row of $C\,\mathrm{diag}(w)$ and no strand shows it (Remark D.1). Descent has no reason to
# leave it out: it begins with none of it, and ends at the layer that has none of it, which is not the diagonal one.

# %%
one_length = gram_tensors(strands[trained_length], size)
three_lengths = sum(gram_tensors(strands[length], size) for length in (2, 3, 4)) / 3
ones = torch.ones(1, size, dtype=torch.float64)
runs = {
    f"L = {trained_length} only": descend(one_length, diagonal[None], ones, [(0.1, 0.1)], 4000, record_every=4000),
    "L = 2, 3 and 4": descend(three_lengths, diagonal[None], ones, [(0.1, 0.1)], 4000, record_every=4000),
}
learned = {name: run.tensor[0] for name, run in runs.items()}

# %% [markdown]
# Each layer is tried at every length.


# %%
def errors_of(tensor):
    """The largest error of a layer at each length."""
    wanted = {n: activation(strands[n], dictionary, size) for n in lengths}
    found = {n: outputs_from_counts(strands[n], tensor[..., None]).squeeze(-1) for n in lengths}
    return {f"L = {n}": (found[n] - wanted[n]).abs().max().item() for n in lengths}


trained_errors = {name: errors_of(tensor) for name, tensor in learned.items()}
show.table(
    ["trained on", *trained_errors["L = 2, 3 and 4"]], [[name, *row.values()] for name, row in trained_errors.items()]
)

# %% [markdown]
# What was learned at one length must differ from the diagonal layer by multiples of the vector that is not seen, and by
# nothing else.

# %%
unseen = torch.ones(size, size, dtype=torch.float64)
unseen.fill_diagonal_(1.0 - trained_length)
apart = learned[f"L = {trained_length} only"] - diagonal
along = (apart * unseen).sum(1, keepdim=True) / unseen.square().sum(1, keepdim=True) * unseen

# %% [markdown]
# The sentence of the paper: trained at one length, right there and at no other. What would be wrong is that no linear
# layer could be right at all lengths; the diagonal one, written down and not trained, is the control.

# %%
alone = trained_errors[f"L = {trained_length} only"]
off_length = {name: error for name, error in alone.items() if name != f"L = {trained_length}"}
claim = Claim("hyper-attention/remark-genotype-length")
claim.at_most(f"trained at L = {trained_length}: largest error there", alone[f"L = {trained_length}"], 1e-9)
claim.at_least("trained at one length: largest error at any other", off_length, 0.1)
claim.at_least("printed row at other lengths: largest error", elsewhere, 0.1)
claim.at_most("printed row and min(1, L* z), all lengths: largest error", repaired_row, 1e-12)
claim.at_most("longer lists, min(1, c z), any activator, all lengths: largest error", any_off, 1e-12)
claim.control.at_most("the same against the share of the activators: largest error", max(share_off.values()), 1e-12)
claim.control.at_least("diagonal layer, not trained: largest error at any length", max(on_diagonal.values()), 0.1)
claim.at_most("one length: loss at the end", runs[f"L = {trained_length} only"].losses[-1, 0], 1e-10)
claim.close("what it adds beside the vector that is not seen", apart, along, atol=1e-9)
claim.control.at_least(
    "lengths 2, 3 and 4: largest error at L = 1 and 5", max(trained_errors["L = 2, 3 and 4"].values()), 0.1
)
claim.at_most("lengths 2, 3 and 4: largest error at any length", trained_errors["L = 2, 3 and 4"], 1e-9)
claim.verdict()

# %% [markdown]
# ## What was learned
# One linear layer can be right at every length on this task: an allele that comes once can vouch for itself. Sequences
# of one length do not tell that layer from others, and descent ends at one that is wrong everywhere else, by a vector
# that can be written down. So the paper's sentence is true of training, which it speaks of, and would be false of what
# a layer can represent.
#
# ## To try
# - Set `trained_length = 4`: the row of the table for one length has its zero at $L = 4$, and nowhere else.
# - Set `samples = 5000`: more strands of the larger dictionary, and the diagonal layer is exact on all of them.

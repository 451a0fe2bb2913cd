# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Corollary 4.9 · When two layers are the same
# *Ustaomeroglu, Qu: Corollary 4.9, Section 4.3; Corollary D.3 and Remark D.2, Appendix D.2.*
#
# Training seldom finds the parameters that we would have written down, and yet the function may be the same. To check
# this, we need a list of numbers that is the same for two layers exactly when they compute the same function.

# %%
import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.certified.data import certify_equivalence
from attention_theory.hyper_attention.interactions.interactions import (
    counts,
    functional_tensor,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 4  # symbols |S| and embedding dimension d, from 2 to 50
features = 2  # d_2, from 1 to 20
length = 7  # tokens L, from 2 to 100
samples = 100  # sequences tried, from 20 to 5000
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 50), features=(features, 1, 20), length=(length, 2, 100), samples=(samples, 20, 5000))
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Each entry of the table is what one symbol adds to the output of another: score times value. With score 2 and value 3,
# or with 6 and 1, the entry is 6, and no input can distinguish the two layers.
#
# | | $a$ adds | $b$ adds | sum |
# | --- | --- | --- | --- |
# | to $a$, first layer | 1 | 4 | 5 |
# | to $a$, second layer | 4 | 1 | 5 |
#
# These two rows have the same *sum*, but on the sequence *a* the layers give 1 and 4.
#
# ## The paper states
# Here $x_\mu$ is the embedding of symbol $\mu$, and $W_{:,k}$ is the column of $W$ for output $k$.
#
# <!-- claim hyper-attention/corollary-4-9 -->
# <blockquote>
#
# **Corollary 4.9 (When two layers are the same function)** *Section 4.3; Appendix D.2; also Corollary D.3*
#
# **The paper states.** Two sets of parameters $\{C^1, W^{1,V}\}$, $\{C^2, W^{2,V}\}$ lead to functionally equivalent
# linear self-attention blocks if and only if they satisfy $\mathcal T_{\mu,k}(C^1, W^{1,V}) = \mathcal T_{\mu,k}(C^2,
# W^{2,V})$, $\forall \mu, k$, where $\mathcal T_{\mu,k}(C, W) = \sum_{\nu \in \mathcal S} (x^\top(\mu) C x(\nu))
# (x^\top(\nu) W_{:,k})$.
#
# **What is true.** They are functionally equivalent if and only if $T_{\mu\nu k} = (x_\mu^\top C x_\nu)(x_\nu^\top
# W_{:,k})$ agrees for all $\mu, \nu, k$.
#
# **What changed.** The condition must hold entry by entry, without the sum, as in Corollary D.3. Layers with equal sums
# can have very different outputs.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The outputs on sequences of one and two tokens determine all of $T$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-d-2 -->
# <blockquote>
#
# **Remark D.2 (Skip connections)** *Appendix D.2*
#
# **The paper states.** Under the realizability assumption, skip connections do not affect the values of the residues
# $D^{(n)}$, allowing the same proof on generalization to apply in the skip-connected scenario.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The task must be realisable with the skip connection, so the targets must contain the same skip.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The output at a token $\mu$ is $\sum_\nu s_\nu T_{\mu\nu k}$, where $s_\nu$ counts the symbol $\nu$. Layers with the
# same $T$ therefore compute the same function. Conversely, the outputs determine $T$: the sequence $(\mu)$ gives
# $T_{\mu\mu}$, and the first token of $(\mu,\nu)$ gives $T_{\mu\mu}+T_{\mu\nu}$.
#
# <details><summary>Proof of Corollary 4.9, as corrected</summary>
#
# Row $i$ of a layer is $\sum_j (x_{\mathcal X(i)}^\top C x_{\mathcal X(j)})\, x_{\mathcal X(j)}^\top W = \sum_\nu s_\nu
# T_{\mathcal X(i)\nu}$. *If* $T$ is the same, so is every row. *Only if:* the sequence $(\mu)$ has the output
# $T_{\mu\mu}$, and the first row of $(\mu, \nu)$ with $\nu \ne \mu$ is $T_{\mu\mu} + T_{\mu\nu}$, so equal functions
# have equal $T$. *The sums are not enough.* Let $w_\nu = 1$ for all $\nu$ and exchange two columns of $C$ that differ:
# the sums over $\nu$ stay, the entries do not. $\square$
#
# </details>
#
# ## See it run
# We construct a second layer with the same $T$, recover $T$ from outputs on short sequences and at a single length, and
# construct two layers with only equal sums.

# %%
draw = generator(seed)
embedding = random_orthonormal(size, size, draw)
score = normal(size, size, seed=draw)
value = normal(size, features, seed=draw)
gains = 0.5 + torch.rand(size, generator=draw, dtype=torch.float64)
other_score = embedding.mT @ ((embedding @ score @ embedding.mT) / gains) @ embedding
other_value = embedding.mT @ ((embedding @ value) * gains[:, None])

tokens = embedding[sample_sequences(samples, length, size, draw)]
tensor = functional_tensor(embedding, score, value)
same_tensor = (functional_tensor(embedding, other_score, other_value) - tensor).abs().max()
same_outputs = (linear_attention(tokens, other_score, other_value) - linear_attention(tokens, score, value)).abs().max()

# %%
alone = linear_attention(embedding[torch.arange(size)[:, None]], score, value)[:, 0]
pairs = torch.cartesian_prod(torch.arange(size), torch.arange(size))
first_of_pair = linear_attention(embedding[pairs], score, value)[:, 0].reshape(size, size, features)
read_off = first_of_pair - alone[:, None]
diagonal = torch.arange(size)
read_off[diagonal, diagonal] = alone

# %%
many = sample_sequences(400 * size, length, size, draw)
outputs, holds = linear_attention(embedding[many], score, value), counts(many, size)
solved = torch.empty_like(tensor)
for symbol in range(size):
    rows, places = (many == symbol).nonzero(as_tuple=True)
    solved[symbol] = torch.linalg.lstsq(holds[rows], outputs[rows, places], driver="gelsd").solution
from_one_length = (solved - tensor).abs().max()

# %%
hot = torch.eye(size, dtype=torch.float64)[sample_sequences(samples, length, size, draw)]
ones = torch.ones(size, 1, dtype=torch.float64)
exchanged = score.clone()
exchanged[:, [0, 1]] = score[:, [1, 0]]
identity = torch.eye(size, dtype=torch.float64)
one, two = (functional_tensor(identity, matrix, ones) for matrix in (score, exchanged))
sums_apart = (one.sum(dim=1) - two.sum(dim=1)).abs().max()
one_outputs, two_outputs = (linear_attention(hot, matrix, ones) for matrix in (score, exchanged))
outputs_apart = (one_outputs - two_outputs).abs().max()

# %%
fig, axes = show.axes(1, 2, width=7, height=3.2)
first = linear_attention(tokens, score, value).flatten()
second = linear_attention(tokens, other_score, other_value).flatten()
clouds = (
    (first, second, "equal T, entry by entry"),
    (one_outputs.flatten(), two_outputs.flatten(), "equal sums over ν"),
)
for axis, (mine, theirs, title) in zip(axes, clouds, strict=True):
    axis.plot(mine, theirs, ".", markersize=2, color=show.COLOURS[0])
    axis.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("output of the first layer")
axes[0].set_ylabel("output of the second layer")
show.figure(
    fig,
    name="equivalent",
    caption="Outputs of one layer against those of the other, over all tokens. Left: the two layers agree in every "
    "entry of $T$. Right: they agree only in the sums, as in the main text.",
    alt="Two scatter plots. On the left all points lie on the diagonal, on the right they are scattered around it.",
)

# %% [markdown]
# On the left, all points are on the diagonal. On the right, the sums are equal but the outputs are not.
#
# For Remark D.2, we train without a skip connection, and with one on shifted and on original targets.

# %%
square_value = normal(size, size, seed=draw)
wanted = linear_attention(tokens, *normal(2, size, size, seed=draw))


def train(skip, targets, steps=50):
    """Residuals at the start, and parameters after some steps of descent, smaller for longer sequences."""
    rate = 0.0343 / length**3
    parameters = [score.clone().requires_grad_(), square_value.clone().requires_grad_()]
    first = None
    for _ in range(steps):
        outputs = linear_attention(tokens, *parameters) + skip * tokens
        first = outputs.detach() - targets if first is None else first
        gradients = torch.autograd.grad((outputs - targets).square().sum(dim=(1, 2)).mean(), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= rate * gradient
    return first, torch.stack([parameter.detach() for parameter in parameters])


# %%
plain, plain_end = train(0, wanted)
skipped, skipped_end = train(1, wanted + tokens)
unshifted, unshifted_end = train(1, wanted)

# %% [markdown]
# ## How we checked
# We compare outputs, entries of $T$ and sums. For two to five symbols, exact ranks prove that the outputs determine
# $T$. In the controls, we exchange two columns, or leave the targets unchanged.

# %%
claim = Claim("hyper-attention/corollary-4-9")
claim.above("equal parameters are not needed: difference of C", (other_score - score).abs().max(), 0.1)
claim.at_most("difference of T", same_tensor, 1e-12)
claim.at_most("equal T: difference of the outputs", same_outputs, 1e-12)
claim.close("T read off from one and two tokens, largest error", read_off, tensor, atol=1e-12)
claim.at_most("columns exchanged: difference of the sums over ν", sums_apart, 1e-12)
claim.printed.at_most("equal sums over ν: difference of the outputs", outputs_apart, 1e-12)
claim.control.close("columns exchanged: difference of T", one, two, atol=1e-12)
claim.number("equal sums over ν: difference of the outputs", outputs_apart)
claim.at_most("T from outputs at one length, largest error", from_one_length, 1e-9, of="proof")
claim.certified("T and outputs determine each other", certify_equivalence())
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-d-2")
claim.close("residuals with skip and shifted targets, difference", skipped, plain, atol=1e-12)
claim.close("parameters after training, difference", skipped_end, plain_end, atol=1e-12)
claim.above("training moved the parameters by", (plain_end[0] - score).abs().max(), 1e-3)
claim.control.close("targets not shifted: difference of the residuals", unshifted, plain, atol=1e-12)
claim.control.close("targets not shifted: difference after training", unshifted_end, plain_end, atol=1e-12)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The main text compares sums over $\nu$. It even speaks of "a specific matrix (over index $\mu, k$)", so this is not a
# misprint. Appendix D correctly compares entry by entry.
#
# ## What to remember
# - The outputs of a layer reveal the table $T$, entry by entry, and nothing else.
# - The outputs on sequences of one and two tokens determine $T$ completely.
# - To compare learned parameters with devised ones, we compare $T$, not $C$ or sums.
#
# ## Exercises
#
# 1. *By hand.* A layer gives 2 for the sequence *a*, and the first token of *a b* receives 7. What does it give the
#    tokens $a$ of *a a b*?
#    <details><summary>Solution</summary>
#
#    We have $T_{aa}=2$ and $T_{ab}=7-2=5$, so each $a$ receives $2\cdot2+5=9$.
#
#    </details>
# 2. *Predict, then run.* Set `size = 2`. Do equal sums make the layers equal now?
#    <details><summary>Solution</summary>
#
#    No. The run exchanges the only two columns, and the outputs still differ by up to 3.0.
#
#    </details>
#
# Back to [Theorem 4.8](theorem_4_8_lengths.ipynb), whose proof gives the corollary.

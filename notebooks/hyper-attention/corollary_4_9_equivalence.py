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
# A trained layer seldom has the parameters that one would have written down, and it may compute the same function all
# the same. How can one tell? A linear layer has a matrix $C$ that makes scores and a matrix $W$ that makes values, with
# a column $W_{:,k}$ for each output $k$. Its tokens are symbols, and $x_\mu$ is the vector that stands for the symbol
# $\mu$. In a sequence in which each symbol $\nu$ comes $s_\nu$ times, the output at a token $\mu$ is $\sum_\nu s_\nu
# T_{\mu\nu k}$ with $T_{\mu\nu k} = (x_\mu^\top C x_\nu)(x_\nu^\top W_{:,k})$, which is what one token $\nu$ adds to
# it. So two layers with the same $T$ are the same function, whatever their $C$ and $W$.
#
# And $T$ can be read off from outputs: a sequence of one token $\mu$ shows $T_{\mu\mu}$, a sequence $(\mu, \nu)$ shows
# $T_{\mu\mu} + T_{\mu\nu}$. So layers with different $T$ differ on a sequence of at most two tokens.
#
# <!-- claim hyper-attention/corollary-4-9 -->
# <blockquote>
#
# **Corollary 4.9 (When two layers are the same function)** *Section 4.3; Appendix D.2; also Corollary D.3*
#
# **As printed.** If and only if the sums $\sum_\nu (x_\mu^\top C x_\nu)(x_\nu^\top W_{:,k})$ agree for all $\mu, k$.
#
# **Corrected.** Two linear self-attention layers are the same function if and only if $T_{\mu\nu k} = (x_\mu^\top C
# x_\nu)(x_\nu^\top W_{:,k})$ agrees for all $\mu, \nu, k$. (Sequences of one and two tokens show it.)
#
# Entry by entry, without the sum, as in Corollary D.3.
#
# </blockquote>
# <!-- /claim -->
#
# The appendix says this entry by entry. The main text prints a sum over $\nu$ instead, which throws the information
# away: below are two layers with equal sums and very different outputs. Nor is the sum a slip of the pen, for the text
# goes on to speak of "a specific matrix (over index $\mu, k$)": one direction of the corollary is true as printed, that
# equal functions have equal sums, and the other is false.
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
# ## Equal entry by entry
# $C' = C\,\mathrm{diag}(1/g)$ and $W' = \mathrm{diag}(g) W$ in the one-hot basis: other parameters, the same $T$.

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

# %% [markdown]
# ## Reading $T$ off
# All sequences of one and two tokens are put through the layer, and $T$ is put together from what comes out.

# %%
alone = linear_attention(embedding[torch.arange(size)[:, None]], score, value)[:, 0]
pairs = torch.cartesian_prod(torch.arange(size), torch.arange(size))
first_of_pair = linear_attention(embedding[pairs], score, value)[:, 0].reshape(size, size, features)
read_off = first_of_pair - alone[:, None]
diagonal = torch.arange(size)
read_off[diagonal, diagonal] = alone

# %% [markdown]
# The paper has the entries from the proof of Theorem 4.8: sequences of one length, versatile, determine $T$, as their
# data matrices have full rank. So $T$ is found from the outputs at one length, by least squares for each symbol.

# %%
many = sample_sequences(400 * size, length, size, draw)
outputs, holds = linear_attention(embedding[many], score, value), counts(many, size)
solved = torch.empty_like(tensor)
for symbol in range(size):
    rows, places = (many == symbol).nonzero(as_tuple=True)
    solved[symbol] = torch.linalg.lstsq(holds[rows], outputs[rows, places], driver="gelsd").solution
from_one_length = (solved - tensor).abs().max()

# %% [markdown]
# ## Equal sums only
# With $w = \mathbf 1$, two columns of $C$ are exchanged: the sum over $\nu$ stays.

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

# %% [markdown]
# Outputs of the first layer against those of the second, for both pairs of layers.

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
    caption="Outputs of two layers against each other, over all tokens. Equal entries of $T$ make the layers equal; "
    "equal sums, as printed in the main text, do not.",
    alt="Two scatter plots. On the left all points lie on the diagonal, on the right they are scattered around it.",
)

# %% [markdown]
# Equal sums, as printed, must not make the layers equal. Exact ranks settle that outputs determine all of $T$ for two
# to five symbols, and sympy that $T$ determines the outputs of all layers of width two.

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

# %% [markdown]
# ## Skip connections
#
# <!-- claim hyper-attention/remark-d-2 -->
# <blockquote>
#
# **Remark D.2 (Skip connections)** *Appendix D.2*
#
# A skip connection does not change the residuals, if the task is realizable with it: the targets carry the same skip.
#
# </blockquote>
# <!-- /claim -->
#
# With a skip connection the layer returns $X + \mathrm{SA}(X)$. If the targets carry the same skip, the residuals are
# those of the plain layer, and so are the gradients and the whole path of training. If the targets are left as they
# were, nothing of this is true.

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


# %% [markdown]
# Three trainings: without skip, with it and shifted targets, with it and targets as they were.

# %%
plain, plain_end = train(0, wanted)
skipped, skipped_end = train(1, wanted + tokens)
unshifted, unshifted_end = train(1, wanted)

# %% [markdown]
# Targets that are not shifted must change everything.

# %%
claim = Claim("hyper-attention/remark-d-2")
claim.close("residuals with skip and shifted targets, difference", skipped, plain, atol=1e-12)
claim.close("parameters after training, difference", skipped_end, plain_end, atol=1e-12)
claim.above("training moved the parameters by", (plain_end[0] - score).abs().max(), 1e-3)
claim.control.close("targets not shifted: difference of the residuals", unshifted, plain, atol=1e-12)
claim.control.close("targets not shifted: difference after training", unshifted_end, plain_end, atol=1e-12)
claim.verdict()

# %% [markdown]
# ## What was learned
# All that outputs show of a layer is the table $T$, entry by entry, and sequences of one and two tokens show all of it.
# So learned and devised parameters have to be compared in $T$, as Figures 3 and 4 do, and neither in $C$ nor in sums.
#
# ## To try
# - Set `size = 2`: exchanging the only two columns still moves the outputs far from the diagonal.
# - Set `length = 100`: the outputs grow with the length, and equal $T$ still makes them equal to rounding of that size.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3.1 · One layer holds every pairwise interaction
# *Ustaomeroglu, Qu: Theorem 3.1, Section 3; Corollary B.1, Appendix B.*
#
# What can one layer of attention compute? The paper sees a sequence as a crowd. Every token is a symbol out of a finite
# set $\mathcal S$, and $\mathcal X(i)$ is the symbol at place $i$. A symbol $\beta$ does something to a symbol $\alpha$
# with a strength $f(\alpha, \beta)$, and it has a weight $w_\beta$ of its own, a number or a vector. An *aggregate
# pairwise interaction* adds this up: token $i$ gets $\sum_j f(\mathcal X(i), \mathcal X(j))\, w_{\mathcal X(j)}$.
# Agents that collide are an example, and so are genes that switch each other on.
#
# In the layer every symbol $\alpha$ is coded by a vector $x(\alpha)$ of $d$ numbers, and the codes of a sequence are
# the rows of $X$. Without a softmax the layer returns $(X C X^\top) X W^V$: scores from a matrix $C$, values from
# $W^V$. A token $\beta$ adds its score times its value to the output at $\alpha$, and the table of what it adds, for
# all $\alpha$ and $\beta$, is the *functional tensor* of the layer. Which tables can be had? With as many dimensions as
# symbols, all of them. With fewer, some cannot. Below, $F$ is the table of $f$ and $W$ has the rows $w_\beta$; $F^*$
# and $w$ are what is to be represented.
#
# <!-- claim hyper-attention/theorem-3-1 -->
# <blockquote>
#
# **Theorem 3.1 (One layer represents every pairwise interaction)** *Section 3; proof in Appendix B*
#
# With embedding dimension $d = |\mathcal S|$ one linear self-attention layer equals any aggregate pairwise interaction,
# for all tokens and all lengths at once. With $d < |\mathcal S|$ some interactions cannot be represented: for
# $f(\alpha, \beta) = \delta_{\alpha\beta}$, $w = 1$ the squared distance of the functional tensors is at least
# $|\mathcal S| - d$.
#
# **In the paper's proof.** With $d < |\mathcal S|$ no $F^*$ of full rank can be represented, since the scores have a
# rank of at most $d$.
#
# **Corrected.** No $F^*$ of full rank with a $w$ that is nowhere zero: it is $F^*\,\mathrm{diag}(w)$ that has a rank of
# at most $d$. With $F^* = I$, $w = (1, 0)$ on two symbols $d = 1$ is enough.
#
# </blockquote>
# <!-- /claim -->
#
# **Enough.** Stack the embeddings as rows of a square matrix $B$. A sequence is $X = E B$ with one-hot rows $E$, so the
# layer computes $E (B C B^\top) E^\top E (B W^V)$. Choose $C$ with $B C B^\top = F$ and $W^V$ with $B W^V = W$, and the
# layer is the interaction, at every length at once. The paper takes an orthonormal $B$; any invertible one will do:
# $C = B^{-1} F B^{-\top}$, $W^V = B^{-1} W$.
#
# **Needed.** With $d < |\mathcal S|$ the matrix $B C B^\top$ has rank at most $d$, and the value only rescales its
# columns. For $F = I$ and $w = 1$ the squared distance to the target is then at least $|\mathcal S| - d$, whatever the
# weights. Below, many layers are trained from random starts to get as close as they can: they reach this number and do
# not pass it.
#
# **A step of the proof.** The paper says that no matrix $F^*$ of full rank can be represented with $d < |\mathcal S|$,
# because the scores have a rank of at most $d$. But the outputs show only $F^*\,\mathrm{diag}(w)$. With $F^* = I$ and
# $w = (1, 0)$ on two symbols one dimension is enough: the second symbol weighs nothing, and its scores are never seen.
# The step needs a $w$ that is nowhere zero, such as $w = \mathbf 1$.
#
# <details><summary>Proof of Theorem 3.1, repaired</summary>
#
# *Enough.* Let $B$ be invertible, $C = B^{-1} F B^{-\top}$ and $W^V = B^{-1} W$. Row $i$ of the output is $\sum_j
# (BCB^\top)_{\mathcal X(i) \mathcal X(j)} (B W^V)_{\mathcal X(j)} = \sum_j f(\mathcal X(i), \mathcal X(j))\,
# w_{\mathcal X(j)}$, at every length.
#
# *Needed.* A layer with one output is the same function as an interaction on all sequences only if
# $BCB^\top\,\mathrm{diag}(Bv) = F\,\mathrm{diag}(w)$: sequences of one and of two tokens show the entries one by one
# (Corollary 4.9). The left side has a rank of at most $d$. If $F$ has full rank *and no entry of $w$ is zero*, the
# right side has rank $|\mathcal S|$, so $d \ge |\mathcal S|$. If some are zero, its rank is at most the number of the
# others, which is where the printed step fails. For $F = I$, $w = \mathbf 1$ all $|\mathcal S|$ singular values are 1,
# and the squared distance of a matrix of rank $d$ is at least $|\mathcal S| - d$ (Eckart and Young). $\square$
#
# </details>

# %%
from itertools import product

import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.certified.pairs import certify_representation, certify_turn
from attention_theory.hyper_attention.interactions.approximation import best_residual
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    functional_tensor,
    represent,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 7  # symbols |S|, from 2 to 300
features = 3  # d_2, from 1 to 50
lengths = [1, 2, 12, 50]  # sequence lengths tried with the same weights, each from 1 to 1000
samples = 200  # sequences of each length, from 1 to 10000
small_size = 5  # symbols in the search for narrow layers, from 3 to 12
restarts = 24  # random starts of that search, from 1 to 500
steps = 1500  # training steps of that search, from 100 to 50000
seed = 0  # of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(size=(size, 2, 300), features=(features, 1, 50), lengths=(Each(lengths), 1, 1000), samples=(samples, 1, 10_000))
require(small_size=(small_size, 3, 12), restarts=(restarts, 1, 500), steps=(steps, 100, 50_000), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))

# %% [markdown]
# ## Enough
# One set of weights is tried at all lengths, with two embeddings: an orthonormal one, and one that is merely
# invertible.

# %%
draw = generator(seed)
effect = normal(size, size, seed=draw)
weights = normal(size, features, seed=draw)
orthonormal = random_orthonormal(size, size, draw)
invertible = orthonormal + 0.5 * normal(size, size, seed=draw) / size**0.5
sequences = [sample_sequences(samples, length, size, draw) for length in lengths]

# %% [markdown]
# Outputs and interactions are compared token by token.


# %%
def largest_error(embedding, score, value):
    """The largest error for each token of the sequence, over all sequences and lengths."""
    errors = []
    for symbols in sequences:
        outputs = linear_attention(embedding[symbols], score, value)
        apart = (outputs - aggregate_interactions(symbols, effect, weights)).abs().max()
        errors.append(apart.item() / symbols.shape[1])
    return max(errors)


exact = largest_error(orthonormal, *represent(effect, weights, orthonormal))
of_the_proof = largest_error(orthonormal, orthonormal.mT @ effect @ orthonormal, orthonormal.mT @ weights)
exact_invertible = largest_error(invertible, *represent(effect, weights, invertible))

# %% [markdown]
# Spoiled on purpose: one entry of $C$ moved, and a transpose where the merely invertible embedding needs an inverse.

# %%
score, value = represent(effect, weights, orthonormal)
spoiled = score.clone()
spoiled[0, 0] += 0.1
one_entry_off = largest_error(orthonormal, spoiled, value)
transposed_for_inverse = largest_error(invertible, invertible.mT @ effect @ invertible, invertible.mT @ weights)

# %% [markdown]
# ## Needed
# Every restart is a layer with all its weights free, trained to come as near to $F = I$ as it can. For contrast, a
# symmetric $F$ of rank 2, with a value vector in its span, is tried with two dimensions.

# %%
identity = torch.eye(small_size, dtype=torch.float64).unsqueeze(-1)
widths = list(range(1, small_size + 1))
reached = [best_residual(identity.to(device), width, restarts, steps, seed) for width in widths]
half = normal(small_size, 2, seed=draw)
low_rank = half @ half.mT / (half @ half.mT).norm() * small_size**0.5
in_its_span = half.sum(dim=1)  # a value vector that the same two dimensions hold
low_rank_reached = best_residual((low_rank * in_its_span).unsqueeze(-1).to(device), 2, restarts, steps, seed)
built = {
    width: functional_tensor(identity[:, :width, 0], torch.eye(width).double(), torch.ones(width, 1).double())
    for width in widths
}
over_line = {
    f"d = {width}": (tensor - identity).square().sum().item() - (small_size - width) for width, tensor in built.items()
}
scale = small_size**0.5 / (half @ half.mT).norm() * torch.eye(2, dtype=torch.float64)
low_rank_layer = functional_tensor(half, scale, torch.ones(2, 1, dtype=torch.float64))
low_rank_built = (low_rank_layer[..., 0] - low_rank * in_its_span).square().sum()

# %% [markdown]
# The trained layers should lie on the line $|\mathcal S| - d$, and the interaction of low rank far below it.

# %%
fig, axis = show.axes(width=5.5)
axis.plot(widths, [small_size - width for width in widths], color=show.COLOURS[0], label="|S| - d")
axis.plot(widths, reached, "s", color=show.COLOURS[1], markersize=7, label="best of all trained layers, F = I")
axis.plot([2], [low_rank_reached], "^", color=show.COLOURS[2], markersize=8, label="the same, F symmetric of rank 2")
axis.set_xlabel("embedding dimension d")
axis.set_ylabel("squared distance to the target")
axis.set_xticks(widths)
axis.legend()
show.figure(
    fig,
    name="needed",
    caption="Trained layers come down to the line $|\\mathcal S| - d$ and never below it: only $d = |\\mathcal S|$ "
    "gives zero for $F = I$. An interaction of low rank (triangle) needs less.",
    alt="A straight falling line from 4 at dimension 1 to 0 at dimension 5 with a square on it at every dimension, "
    "and a triangle at height zero for dimension 2.",
)

# %% [markdown]
# The printed step on two symbols: $F^* = I$, $w = (1, 0)$, one dimension, all sequences of up to six tokens. Beside it
# $w = (1, \tfrac12)$, nowhere zero, where the best layer of one dimension must keep a squared distance of $\tfrac14$.

# %%
one_number = torch.tensor([[1.0], [0.0]], dtype=torch.float64)  # x(a) = 1, x(b) = 0
unit = torch.ones(1, 1, dtype=torch.float64)
two, with_a_zero = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [0.0]], dtype=torch.float64)
every_sequence = [torch.tensor(list(product(range(2), repeat=length))) for length in range(1, 7)]
narrow_error = max(
    (linear_attention(one_number[some], unit, unit) - aggregate_interactions(some, two, with_a_zero)).abs().max().item()
    for some in every_sequence
)
nowhere_zero = torch.tensor([1.0, 0.5], dtype=torch.float64).diag().unsqueeze(-1)
narrow_distance = (functional_tensor(one_number, unit, unit) - nowhere_zero).square().sum()
narrow_floor = torch.linalg.svdvals(nowhere_zero[..., 0])[1:].square().sum()  # Eckart and Young
narrow_residual = best_residual(nowhere_zero.to(device), 1, restarts, steps, seed)

# %% [markdown]
# The error is taken for each token of the sum, so that long sequences are not held to more than short ones. We
# also run the built layer on polynomials with sympy, which settles all $f$ and $w$ on three symbols.

# %%
claim = Claim("hyper-attention/theorem-3-1")
claim.at_most("orthonormal embedding, largest error a token", exact, 1e-12)
claim.at_most("C = B^T F B and W = B^T W of the proof, largest error a token", of_the_proof, 1e-12, of="proof")
label = "no F* of full rank with d < |S|: error for F* = I, w = (1, 0), d = 1"
claim.printed.above(label, narrow_error, 1e-12, of="proof")
label = "w = (1, 1/2), nowhere zero, d = 1: best squared distance"
claim.equal(label, narrow_distance, 0.25, tolerance=1e-12, of="proof")
claim.at_least("the same, what no layer is below", narrow_floor, 0.25 - 1e-12, of="proof")
claim.at_least("the same, trained", narrow_residual, narrow_floor - 1e-9, of="proof")
claim.at_most("invertible embedding, largest error a token", exact_invertible, 1e-12)
for width, residual in zip(widths, reached, strict=True):
    claim.at_least(f"squared distance of trained layers at d = {width}, F = I", residual, small_size - width - 1e-9)
claim.equal("layers with the first d codes one-hot: distance less |S| - d", over_line, 0, tolerance=1e-12)
claim.control.at_most("one entry of C off by 0.1", one_entry_off, 1e-12)
claim.control.at_most("invertible embedding, transpose for the inverse", transposed_for_inverse, 1e-12)
claim.control.at_least("F of rank 2 also needs more than d = 2", low_rank_built, 1e-5)
claim.number("the same, trained", low_rank_reached)
claim.certified("all f and w on three symbols, polynomials", certify_representation(3))
claim.verdict()

# %% [markdown]
# ## Turning the embedding
#
# <!-- claim hyper-attention/corollary-b-1 -->
# <blockquote>
#
# **Corollary B.1 (Turning the embedding)** *Appendix B*
#
# For orthogonal $Q$, the embedding $Q x(\alpha)$ with $C' = Q C Q^\top$ and $W'^V = Q W^V$ gives the same function.
#
# </blockquote>
# <!-- /claim -->
#
# Corollary B.1: with $x'(\alpha) = Q x(\alpha)$, $C' = Q C Q^\top$ and $W'^V = Q W^V$ the layer computes the same
# function.

# %%
turn = random_orthonormal(size, size, draw)
symbols = sample_sequences(samples, 12, size, draw)
before = linear_attention(orthonormal[symbols], score, value)
turned = orthonormal @ turn.mT  # rows are Q x(a)
after = linear_attention(turned[symbols], turn @ score @ turn.mT, turn @ value)
left_alone = linear_attention(turned[symbols], score, turn @ value)
pairs_apart = (turned @ (turn @ score @ turn.mT) @ turned.mT - orthonormal @ score @ orthonormal.mT).abs().max()

# %% [markdown]
# With $C$ left as it was the function must change. For width three, sympy settles the equation for all weights and
# every angle.

# %%
claim = Claim("hyper-attention/corollary-b-1")
claim.at_most("outputs after turning, relative error", (after - before).abs().max() / before.abs().max(), 1e-13)
claim.at_most("pair by pair: scores after turning, largest error", pairs_apart, 1e-12, of="proof")
claim.control.close("C left as it was, largest error", left_alone, before, atol=1e-12)
claim.number("C left as it was, largest error", (left_alone - before).abs().max())
claim.certified("all layers of width three, turned by any angle", certify_turn())
claim.verdict()

# %% [markdown]
# ## What was learned
# A layer of linear attention is a table: what $\beta$ does to $\alpha$ stands in $BCB^\top$, and in which direction in
# $BW^V$. With as many dimensions as symbols every table can be had, at all lengths with one set of weights. With fewer
# only tables of lower rank can, and for $F = I$ each missing dimension costs exactly 1.
#
# ## To try
# - Set `small_size = 3`: the line comes down to $3 - d$, and the trained layers with it.
# - Set `lengths = [500]`: the error a token stays at rounding, with the same weights.

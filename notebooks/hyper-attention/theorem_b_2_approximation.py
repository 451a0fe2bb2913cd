# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem B.2 · Narrow embeddings: a bound that is zero where the error is not
# *Ustaomeroglu, Qu: Theorem B.2, Appendix B.*
#
# <!-- claim hyper-attention/theorem-b-2 -->
# <blockquote>
#
# **Theorem B.2 (Narrow embeddings)** *Appendix B*
#
# **As printed.** An embedding of dimension $d$ with error at most $\zeta_1 L\,\sigma_{d+1}(F)$, plus $\zeta_2 L
# \bigl(\sum_{i>d}\sigma_i^2(W)\bigr)^{1/2}$ when $d < d_2$. (The last display of the proof has $\sigma_i$ in that sum,
# and a norm is bounded by itself.)
#
# **Corrected.** For ranks $r$ and $q$ and an embedding of dimension $d = 2r + q \le |\mathcal S|$ there are weights
# with $\|\mathrm{SA}_i - y_i\| \le L\bigl(\max_\mu \|w_\mu\|\,\sigma_{r+1}(F) + \max|F_r|\,\sigma_{q+1}(W)\bigr)$ for
# every token, where $F_r$ is $F$ truncated to rank $r$.
#
# $d$ dimensions do not hold $d$ left and $d$ right singular vectors of $F$ and those of $W$ at once, and with one
# embedding $\tilde C = B C B^\top$ is not any matrix of rank $d$: $d = 2r + q$, with $F$ truncated after $r$ and $W$
# after $q$. On two symbols the printed bound is $0$ and the functional tensor of the best layer is at a squared
# distance of $0.723$. (The squares $\sigma_i^2$; $\|A\|_2 \le \|A\|_F$.)
#
# </blockquote>
# <!-- /claim -->
#
# With $d < |\mathcal S|$ a layer can only approximate. The printed bound treats $\tilde C = B C B^\top$ and
# $\tilde W = B W^V$ as two free matrices of rank at most $d$, and truncates the singular values of $F$ and of $W$
# after $d$. But both are seen through the *same* embedding $B$, and $F$ from both sides. The columns of $B$ must hold
# the left singular vectors of $F$, its right singular vectors, and those of $W$.
#
# **The counter-example.** Two symbols, one dimension: $F = \begin{pmatrix} 0 & 1 \\ 0 & 0 \end{pmatrix}$,
# $w = (0, 1)$. $F$ and $W$ have rank 1, so the printed bound is $0$. A layer of width 1 has
# $T_{\mu\nu} = \kappa\, b_\mu b_\nu^2$, and the target is $T^*_{12} = 1$, else 0. The best scale $\kappa$ leaves
# $1 - \dfrac{t^2}{(1+t)(1+t^2)}$ with $t = (b_2/b_1)^2$, which is least at the root of $t^3 = t + 2$: it is $0.723$.
# Sequences of one and two tokens show every entry of $T$, so this is an error that the outputs make.
#
# **The correction.** Truncate $F$ to rank $r$ and $W$ to rank $q$, and give the embedding $d = 2r + q$ dimensions.
# Then $\|\text{error}_i\| \le L \bigl(\max_\mu \|w_\mu\|\, \sigma_{r+1}(F) + \max |F_r|\, \sigma_{q+1}(W)\bigr)$.

# %%
import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.interactions.approximation import approximate, best_residual, truncation_bound
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    functional_tensor,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 12  # symbols |S|, from 3 to 100
length = 9  # tokens L, from 1 to 500
features = 4  # d_2, from 1 to size
ranks = [1, 2, 3, 4]  # ranks tried, the same for F and W, each from 1 to min(features, size - 1)
samples = 500  # sequences tried, from 1 to 10000
restarts = 30  # random starts of the search on the counter-example, from 1 to 500
seed = 0  # of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(size=(size, 3, 100), length=(length, 1, 500), features=(features, 1, size))
require(ranks=(ranks, 1, min(features, size - 1)))
require(samples=(samples, 1, 10_000), restarts=(restarts, 1, 500), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))

# %% [markdown]
# ## Two symbols
# The exact curve over all embeddings of width 1, and the best of many trained layers.

# %%
effect = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
weights = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
target = functional_tensor(torch.eye(2, dtype=torch.float64), effect, weights)
bound = truncation_bound(effect, weights, 1, 1, form="printed")
trained = best_residual(target.to(device), 1, restarts, steps=1500, seed=seed)

ratios = torch.logspace(-2, 2, 2001, dtype=torch.float64)  # t = (b_2 / b_1)^2
curve = 1 - ratios**2 / ((1 + ratios) * (1 + ratios**2))
root = 1.0
for _ in range(100):  # t^3 = t + 2 as a fixed point
    root = (root + 2) ** (1 / 3)
exact = 1 - root**2 / ((1 + root) * (1 + root**2))
wide_enough = best_residual(target.to(device), 2, restarts, steps=1500, seed=seed)
# The step of the proof: F as B C B^T. For a unit vector b the best C leaves 1 - (b_1 b_2)^2, at least 3/4.
angles = torch.linspace(0, torch.pi, 2001, dtype=torch.float64)
one_sided = (1 - (angles.cos() * angles.sin()).square()).min()

fig, axis = show.axes(width=5.5)
axis.semilogx(ratios, curve, label="best layer for this embedding")
axis.plot([root], [exact], "o", color=show.COLOURS[1], markersize=7, label=f"least: {exact:.4f}")
axis.axhline(bound, color=show.COLOURS[2], linestyle="--", label="printed bound")
axis.set_xlabel("t = (b₂ / b₁)²")
axis.set_ylabel("squared distance of T to the target")
axis.set_ylim(-0.05, 1.05)
axis.legend()
show.figure(
    fig,
    name="counter-example",
    caption="Two symbols, one dimension: whatever the embedding, the layer stays at a squared distance of 0.72. "
    "The printed bound says 0.",
    alt="A curve that starts at one, dips to 0.72 near t = 1.5 and rises to one again. A dashed line at zero.",
)

# %% [markdown]
# ## The corrected bound
# Random $F$ and $W$ whose singular values halve from one to the next. Each point is the largest error over all tokens
# of all sequences: random ones, and those of one symbol $\mu$ followed by $L - 1$ times $\nu$, for every pair, in which
# the errors of one entry of $T$ add up. On longer ones of that kind a bound without the factor $L$ is passed.

# %%
draw = generator(seed)
halving = 0.5 ** torch.arange(size, dtype=torch.float64)
effect = random_orthonormal(size, size, draw) * halving @ random_orthonormal(size, size, draw)
weights = (
    random_orthonormal(features, size, draw).mT * halving[:features] @ random_orthonormal(features, features, draw)
)
symbols = sample_sequences(samples, length, size, draw)
every_pair = torch.cartesian_prod(torch.arange(size), torch.arange(size))


def lopsided(tokens):
    """One symbol first, another in all other places, for every pair of symbols."""
    return torch.cat([every_pair[:, :1], every_pair[:, 1:].expand(-1, tokens - 1)], dim=1)


def largest_error(layer, sequences):
    outputs = linear_attention(layer.embedding[sequences], layer.score, layer.value)
    return (outputs - aggregate_interactions(sequences, effect, weights)).norm(dim=-1).max().item()


errors, bounds, widths, without_length = [], [], [], {}
for rank in ranks:
    layer = approximate(effect, weights, rank, rank)
    errors.append(max(largest_error(layer, symbols), largest_error(layer, lopsided(length))))
    bounds.append(length * layer.bound)
    widths.append(layer.embedding.shape[1])
    without_length[f"r = q = {rank}"] = largest_error(layer, lopsided(200)) / layer.bound

fig, axis = show.axes(width=5.5)
axis.semilogy(widths, bounds, "s--", color=show.COLOURS[1], label="corrected bound")
axis.semilogy(widths, errors, "o-", color=show.COLOURS[0], label="largest error")
axis.set_xlabel("embedding dimension d = 2r + q, with r = q")
axis.set_ylabel("norm of the error of a token")
axis.legend()
show.figure(
    fig,
    name="corrected",
    caption="The error stays below the corrected bound at every width, and falls with it.",
    alt="Two falling lines; the errors lie below the bounds everywhere.",
)

# %% [markdown]
# As a control the embedding of a truncation is robbed of its last part, the singular vectors of $W$: the bound,
# computed as before, is then broken.

# %%
rank_one = torch.outer(effect[:, 0], effect[0])
layer = approximate(rank_one, weights[:, :1], 1, 1)
robbed = layer.embedding[:, :2]
kept_score = robbed.mT @ rank_one @ robbed
kept_value = robbed.mT @ weights[:, :1]
wanted_one = aggregate_interactions(symbols, rank_one, weights[:, :1])
whole = (linear_attention(layer.embedding[symbols], layer.score, layer.value) - wanted_one).abs().max().item()
robbed_error = (linear_attention(robbed[symbols], kept_score, kept_value) - wanted_one).abs().max().item()

claim = Claim("hyper-attention/theorem-b-2")
for rank, error, limit in zip(ranks, errors, bounds, strict=True):
    claim.check(f"corrected, r = q = {rank}: largest error", error, "<=", limit)
claim.control("200 tokens, bound without the factor L: largest error over it", without_length, "<=", 1)
claim.check("corrected, F and W of rank one, d = 3: largest error", whole, "<=", 1e-12)
claim.check("two symbols, width 2: squared distance", wide_enough, "<=", 1e-10)
claim.check("two symbols, width 1: trained against exact", trained, "==", exact, tolerance=1e-6)
claim.check("two symbols, width 1: the printed bound", bound, "<=", 1e-12)
claim.printed("two symbols, width 1: squared distance at most the printed bound", trained, "<=", bound)
claim.control("embedding without the part for W", robbed_error, "<=", 1e-12)
claim.printed("F of rank 1 is B C B^T with one column in B: squared distance", one_sided, "<=", 1e-12, of="proof")
claim.check("F and W of rank one through three columns: largest error", whole, "<=", 1e-12, of="proof")
claim.number("two symbols, width 1: squared distance", trained)
claim.verdict()

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3.1 · One layer represents every pairwise interaction
# *Ustaomeroglu, Qu: Theorem 3.1, Section 3; Corollary B.1, Appendix B.*
#
# Particles attract, genes switch each other on, agents collide: every pair of symbols interacts with a particular
# strength. Which tables of such strengths can one layer of attention represent? The answer depends on a single number,
# the width of the embedding.

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
from bookpress.claims import schematic

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
# ## A tiny example
# Three symbols $a$, $b$, $c$ form a circle, and each acts on the next. The table $F$ has a 1 where the symbol of the
# column acts on the symbol of the row. Each row of $B$ is the code of one symbol, either three numbers or only two:
# $a=(1,0)$, $b=(0,1)$ and $c=(1,1)$. A matrix $C$ then produces the table $BCB^\top$.

# %%
circle = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
codes = {2: torch.tensor([[1, 0], [0, 1], [1, 1]]), 3: torch.eye(3).long()}
inner = {2: torch.tensor([[0, 0], [1, 0]]), 3: torch.tensor(circle)}
fig, axis = schematic.canvas(7.0, 3.3)
for row, width in enumerate((3, 2)):
    y, b, c = 4.3 - 2.9 * row, codes[width], inner[width]
    schematic.text(axis, (0.3, y + 0.75), f"{width} numbers\nper symbol", size=9, align="left")
    parts = {3.4: (b, "B"), 5.9: (c, "C"), 8.4: (b.mT, "Bᵀ"), 11.2: (b @ c @ b.mT, "F" if width == 3 else "not F")}
    for x, (values, name) in parts.items():
        drop = (3 - len(values)) * 0.25
        schematic.matrix(axis, values.tolist(), (x, y + drop), words=name)
    for x, sign in ((5.3, "·"), (7.8, "·"), (10.5, "=")):
        schematic.text(axis, (x, y + 0.75), sign, size=14)
show.figure(
    fig,
    name="table",
    caption="The table of a layer, with three numbers per symbol (top) and two (bottom). Filled cells are 1.",
    alt="Two rows of matrices B, C, B transposed and their product. With three numbers B is the identity and the "
    "product is the circle F. With two numbers the last row of the product is the sum of the rows above.",
)

# %% [markdown]
# With three numbers, we copy $F$ into $C$ and are done. With two, $c=a+b$, so the last row of the table is always the
# sum of the other two. The circle $F$ does not have this property.
#
# ## The paper states
# Here $|\mathcal S|$ is the number of symbols, and $d$ is the width of the embedding. We read "necessary … any such
# functions" as necessary for some of them.
#
# <!-- claim hyper-attention/theorem-3-1 -->
# <blockquote>
#
# **Theorem 3.1 (One layer represents every pairwise interaction)** *Section 3; proof in Appendix B*
#
# **The paper states.** $d = |\mathcal S|$ is sufficient for a single-layer linear self-attention to exactly represent
# any aggregate pairwise interaction functions in Eq. 2 for all entities simultaneously. Also, $d \ge |\mathcal S|$ is
# necessary for a single layer linear self-attention to exactly represent any such functions.
#
# <details><summary>Slips (1)</summary>
#
# - The proof says that no $F^*$ of full rank can be represented with $d < |\mathcal S|$. This requires a $w$ without
#   zero entries, because only $F^*\,\mathrm{diag}(w)$ must have a rank of at most $d$. With $F^* = I$ and $w = (1, 0)$
#   on two symbols, $d = 1$ is enough.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For $f(\alpha, \beta) = \delta_{\alpha\beta}$, $w = 1$ and $d < |\mathcal S|$ the table of
# products of score and value misses that of the target by a squared distance of at least $|\mathcal S| - d$. Any
# invertible embedding works as well as an orthonormal one.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/corollary-b-1 -->
# <blockquote>
#
# **Corollary B.1 (Turning the embedding)** *Appendix B*
#
# **The paper states.** Under $d = |\mathcal S|$, let $x(\alpha)$ be the orthonormal embedding. For any orthogonal
# matrix $Q \in \mathbb R^{d \times d}$, define the new embedding $x'(\alpha) = Q\, x(\alpha)$. Then the same pairwise
# function $f(\alpha, \beta)$ can be represented exactly by redefining $C' = Q C Q^\top$ and $W'^V = Q W^V$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **Sufficient.** The rows of $B$ are the codes. If $B$ is square and invertible, we solve $BCB^\top=F$ and $BW^V=W$,
# with the rows $w_\beta$ of $W$. The same weights are correct at every length, because both sides add up over pairs.
#
# **Necessary.** If $d<|\mathcal S|$, the table $BCB^\top$ has rank at most $d$, and the values only rescale its
# columns. The identity has full rank, so every narrow layer misses it by a squared distance of at least
# $|\mathcal S|-d$.
#
# <details><summary>Proof of Theorem 3.1, repaired</summary>
#
# *Sufficient.* Let $B$ be invertible, $C = B^{-1} F B^{-\top}$ and $W^V = B^{-1} W$. Row $i$ of the output is $\sum_j
# (BCB^\top)_{\mathcal X(i) \mathcal X(j)} (B W^V)_{\mathcal X(j)} = \sum_j f(\mathcal X(i), \mathcal X(j))\,
# w_{\mathcal X(j)}$, at every length.
#
# *Necessary.* A layer with one output is the same function as an interaction on all sequences only if
# $BCB^\top\,\mathrm{diag}(Bv) = F\,\mathrm{diag}(w)$: sequences of one and of two tokens show the entries one by one
# (Corollary 4.9). The left side has a rank of at most $d$. If $F$ has full rank *and no entry of $w$ is zero*, the
# right side has rank $|\mathcal S|$, so $d \ge |\mathcal S|$. If some are zero, its rank is at most the number of the
# others, which is where the printed step fails. For $F = I$, $w = \mathbf 1$ all $|\mathcal S|$ singular values are 1,
# and the squared distance of a matrix of rank $d$ is at least $|\mathcal S| - d$ (Eckart and Young). $\square$
#
# </details>
#
# ## See it run
# We use one set of weights at all lengths, with an orthonormal and with a merely invertible embedding.

# %%
draw = generator(seed)
effect = normal(size, size, seed=draw)
weights = normal(size, features, seed=draw)
orthonormal = random_orthonormal(size, size, draw)
invertible = orthonormal + 0.5 * normal(size, size, seed=draw) / size**0.5
sequences = [sample_sequences(samples, length, size, draw) for length in lengths]


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
# Then we train narrow layers on $F=I$, and on a table of rank 2.

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
    caption="Squared distance to the target against the width of the embedding. For $F = I$, only "
    "$d = |\\mathcal S|$ gives zero. A target of rank 2 (triangle) needs two dimensions.",
    alt="A straight falling line from 4 at dimension 1 to 0 at dimension 5 with a square on it at every dimension, "
    "and a triangle at height zero for dimension 2.",
)

# %% [markdown]
# The trained layers reach the line $|\mathcal S|-d$ and never fall below it.
#
# Finally, we look at a target whose second symbol sends nothing. One dimension is then enough.

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
# ## How we checked
# We compare outputs with the sums at four lengths and, for three symbols, prove that they agree as polynomials. The
# controls perturb one entry of $C$, or use a transpose where the embedding needs an inverse.

# %%
score, value = represent(effect, weights, orthonormal)
spoiled = score.clone()
spoiled[0, 0] += 0.1
one_entry_off = largest_error(orthonormal, spoiled, value)
transposed_for_inverse = largest_error(invertible, invertible.mT @ effect @ invertible, invertible.mT @ weights)

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
# For the corollary we rotate the embedding and both matrices. The control leaves $C$ unchanged.

# %%
turn = random_orthonormal(size, size, draw)
symbols = sample_sequences(samples, 12, size, draw)
before = linear_attention(orthonormal[symbols], score, value)
turned = orthonormal @ turn.mT  # rows are Q x(a)
after = linear_attention(turned[symbols], turn @ score @ turn.mT, turn @ value)
left_alone = linear_attention(turned[symbols], score, turn @ value)
pairs_apart = (turned @ (turn @ score @ turn.mT) @ turned.mT - orthonormal @ score @ orthonormal.mT).abs().max()

# %%
claim = Claim("hyper-attention/corollary-b-1")
claim.at_most("outputs after turning, relative error", (after - before).abs().max() / before.abs().max(), 1e-13)
claim.at_most("pair by pair: scores after turning, largest error", pairs_apart, 1e-12, of="proof")
claim.control.close("C left as it was, largest error", left_alone, before, atol=1e-12)
claim.number("C left as it was, largest error", (left_alone - before).abs().max())
claim.certified("all layers of width three, turned by any angle", certify_turn())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The proof says that no $F$ of full rank can be represented with $d<|\mathcal S|$. This requires a $w$ without zero
# entries: if a symbol sends nothing, its scores do not affect the output.
#
# ## What to remember
# - A layer of linear attention amounts to two tables: strengths in $BCB^\top$, directions in $BW^V$.
# - With as many dimensions as symbols, a layer represents every table, with the same weights at all lengths.
# - For $F=I$, each missing dimension costs exactly 1 in squared distance.
#
# ## Exercises
#
# 1. *By hand.* Which entry of the lower $C$ in the figure must you change to make $c$ act on $a$, and what else
#    changes?
#    <details><summary>Solution</summary>
#
#    $c=(1,1)$, so $a C c^\top = C_{11}+C_{12}$. Setting $C_{11}=1$ makes $c$ act on $a$, but then $a$ also acts on
#    itself, and row $c$, always the sum of rows $a$ and $b$, changes too. Setting $C_{12}=1$ makes $b$ act on $a$.
#
#    </details>
# 2. *Predict, then run.* Set `small_size = 3`. Where does the line start and end?
#    <details><summary>Solution</summary>
#
#    It starts at $3-1=2$ for one dimension, and ends at 0 for three.
#
#    </details>
#
# Next: [Example 1](example_1_colliding_agents.ipynb), which applies the theorem to agents that collide.

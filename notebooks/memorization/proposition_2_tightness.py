# %% [markdown]
# # Proposition 2 · One shared context: the bound on the rank is tight
# *Mahdavi, Liao, Thrampoulidis: Proposition 2, Section 4.2, Appendix E.*
#
# Two heads look at the same two tokens, for every question that we ask. Each head can only return an average of these
# tokens. How many answers can such a layer store, if we may choose any labels? More heads help, but each new head helps
# a little less than we might hope, because all heads have one thing in common: their weights sum to 1.

# %%
import numpy as np
import torch

from attention_theory.memorization.attention import (
    Examples,
    Heads,
    capacity,
    features,
    predict,
    random_heads,
    softmax_weights,
)
from attention_theory.memorization.certified.ranks import certify_rank_bound
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.rank_bounds import (
    block_differences,
    features_of_unnormalised_weights,
    rank_and_gap,
)
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.trained_heads import fit_keys_and_queries
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Let the two tokens be $(1,2)$ and $(3,4)$. For some question, the first head has the weights $\frac34,\frac14$ and the
# second head the weights $\frac12,\frac12$. The heads return
#
# $$\tfrac34(1,2)+\tfrac14(3,4)=(1.5,\,2.5),\qquad\tfrac12(1,2)+\tfrac12(3,4)=(2,\,3).$$
#
# Written as one row, $(1.5,2.5,2,3)$, this has four entries. Yet they are not free: whatever the weights are, the
# second entry exceeds the first by 1, and the fourth exceeds the third by 1. Therefore the entries times $(-1,1,1,-1)$
# always sum to 0, and four questions give at most three independent rows. A linear read-out stores any three labels, if
# the weights differ enough, but not any four.
#
# The same step as a product of matrices: we put the tokens into a matrix $E$, and one copy of $E$ per head on the
# diagonal.

# %%
weights = [[0.75, 0.25, 0.5, 0.5]]
blocks = [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 1, 2], [0, 0, 3, 4]]
averages = (torch.tensor(weights) @ torch.tensor(blocks, dtype=torch.float32)).tolist()
parts = (
    (weights, 0.3, 1.7, 1.0, "row of Θ"),
    (blocks, 5.2, 0.7, 4.0, "E once per head"),
    (averages, 10.0, 1.7, 4.0, "row of Z"),
)

# %%
fig, axis = schematic.canvas(7.0, 2.1)
for values, x, y, largest, name in parts:
    cell = 0.75 if len(values) > 1 else 0.95
    schematic.matrix(axis, [[0.6 * value / largest for value in row] for row in values], (x, y), cell, name)
    for (row, column), value in np.ndenumerate(np.array(values)):
        place = (x + (column + 0.5) * cell, y + (len(values) - row - 0.5) * cell)
        schematic.text(axis, place, f"{value:g}", size=9)
schematic.text(axis, (4.65, 2.15), "×")
schematic.text(axis, (9.1, 2.15), "=")
show.figure(
    fig,
    name="blocks",
    caption="The weights of two heads, the tokens once per head, and the two averages.",
    alt="A row 0.75, 0.25, 0.5, 0.5, times a four by four matrix with the blocks 1, 2, 3, 4 on its diagonal and zeros "
    "elsewhere, is the row 1.5, 2.5, 2, 3.",
)

# %% [markdown]
# We see two separate averages, side by side. The matrix in the middle is written $I_2\otimes E$. In general the
# *Kronecker product* $A\otimes B$ replaces each entry $a_{ij}$ of $A$ by the block $a_{ij}B$:
#
# $$\begin{pmatrix}1&0\\0&1\end{pmatrix}\otimes\begin{pmatrix}1&2\\3&4\end{pmatrix}
# =\begin{pmatrix}1&2&0&0\\3&4&0&0\\0&0&1&2\\0&0&3&4\end{pmatrix}.$$
#
# ### The letters
# A layer of attention with $H$ heads reads examples $t=1,\dots,T$. An example is a *context* $E^{(t)}$, whose rows are
# $n$ tokens of width $d$, and a query. From the query, the keys and queries of head $h$ make $n$ softmax weights, which
# are row $t$ of the matrix $\Theta_h$. The blocks $\Theta_1,\dots,\Theta_H$ side by side are $\Theta$. The $H$
# averages, side by side, are row $t$ of the matrix $Z$. The outputs are linear in $Z$, so its rank bounds the number of
# labels that can be met at will. We write $d_h$ for the width of keys and queries, $\mathbf 1_n$ for a column of $n$
# ones, and $I_H$ for the identity. Theorem 1 builds keys and queries for which the rank is $H(n-1)+1$, if $d_h\ge n$.
# In the example this is $2\cdot1+1=3$. Could other heads give more?
#
# <!-- claim memorization/proposition-2 -->
# <blockquote>
#
# **Proposition 2 (One shared context: the bound is tight)** *Section 4.2; Appendix E*
#
# If $E^{(t)}=E$ for all $t$, then $\mathrm{rank}\,Z\le H(n-1)+1$ for every choice of keys and queries.
#
# **In the paper's proof.** $\Theta_h-\Theta_1$ "has at least one zero eigenvalue".
#
# **Corrected.** It has the null vector $\mathbf 1_n$; a matrix of $T$ rows and $n$ columns has no eigenvalues.
#
# </blockquote>
# <!-- /claim -->
#
# With one context $E$ for all examples, $Z = \Theta\,(I_H \otimes E)$. Each head's weights sum to 1, so the difference
# of two heads' sums is zero on every row: the $H-1$ vectors with $\mathbf 1_n$ in the place of the first head and
# $-\mathbf 1_n$ in that of another are null vectors of $\Theta$. In the example there is one such vector,
# $(1,1,-1,-1)$, and $0.75+0.25-0.5-0.5=0$. Therefore $\mathrm{rank}\,Z\le\mathrm{rank}\,\Theta\le Hn-(H-1)=H(n-1)+1$,
# whatever the weights.

# %% tags=["parameters"]
sizes = [[3, 4], [4, 6], [5, 8]]  # pairs (H, n), each at least 2
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(sizes=(Each([number for pair in sizes for number in pair]), 2, None), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))


def trained_to(data: Examples, wanted: torch.Tensor, heads: int, head_width: int, from_seed: int, steps: int) -> float:
    """The largest residual of labels for which heads were trained."""
    return fit_keys_and_queries(data.to(device), wanted.to(device), heads, head_width, from_seed, steps)[1]


# %% [markdown]
# ## Four kinds of heads
# Random heads, those of Theorem 1, random ones with logits 16 times as large ('saturated'), and random ones of key
# width 1. A singular value counts as nonzero if it is at least $10^{-12}$ times the largest: with $d_h = 1$ the
# smallest that count are near $10^{-9}$, and those beyond the bound near $10^{-16}$.

# %%
found, nulls, shared_ranks, separate_ranks, tanh_ranks, drops = [], [], [], [], [], []


def kinds_of_heads(H: int, n: int, examples: Examples) -> dict[str, Heads]:
    """Four kinds of heads on tokens of width 2n."""
    random = random_heads(H, 2 * n, 2 * n, seed + 2)
    return {
        "random": random,
        "built": build_heads(examples.take(slice(0, capacity(H, n, n))), H, n, seed=seed + 1).heads,
        "saturated": Heads(4 * random.keys, 4 * random.queries),
        "d_h = 1": random_heads(H, 2 * n, 1, seed + 3),
    }


# %% [markdown]
# For every size the null vectors, the rank, and the singular values on both sides of the bound:

# %%
for H, n in sizes:
    d, T, bound = 2 * n, 3 * H * n, capacity(H, n, n)
    examples = sample_examples(T, n, d, seed=seed)
    kinds = kinds_of_heads(H, n, examples)
    random = kinds["random"]
    for name, layer in kinds.items():
        Z = features(layer, examples)
        null = (softmax_weights(layer, examples).flatten(1) @ block_differences(H, n)).abs().max().item()
        kept, dropped = rank_and_gap(Z, bound)
        found.append((f"({H}, {n})", name, bound, int(numerical_rank(Z, rtol=1e-12)), kept, dropped))
        nulls.append(null)
        drops.append(dropped)
    shared_ranks.append(int(numerical_rank(features(random, examples))))
    separate_ranks.append(int(numerical_rank(features(random, sample_examples(T, n, d, shared=False, seed=seed)))))
    tanh_ranks.append(int(numerical_rank(features_of_unnormalised_weights(random, examples))))
show.table(
    ["(H, n)", "heads", "bound", "rank of Z", "singular value at the bound, over the largest", "the next one"], found
)

# %% [markdown]
# A shared context leaves a cliff in the singular values of $Z$:

# %%
H, n = sizes[0]
examples = sample_examples(3 * H * n, n, 2 * n, seed=seed)
separate = sample_examples(3 * H * n, n, 2 * n, shared=False, seed=seed)
layer = random_heads(H, 2 * n, 2 * n, seed + 2)
fig, axis = show.axes()
for name, data, marker in (("shared context", examples, "o"), ("separate contexts", separate, "s")):
    singular = torch.linalg.svdvals(features(layer, data))
    axis.semilogy(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=name)
axis.axvline(capacity(H, n, n) + 0.5, linestyle="--", color="0.5")
axis.set(xlabel="number of the singular value of Z", ylabel="share of the largest")
axis.legend()
show.figure(
    fig,
    name="cliff",
    caption=f"H = {H}, n = {n}. With a shared context the singular values fall off a cliff right after H(n - 1) + 1 "
    "(dashed). With a context for each example they run through to Hd.",
    alt="Two curves; one drops by some fourteen orders at the dashed line, the other declines gently to the end.",
)


# %% [markdown]
# The paper's proof goes by the blocks $\Theta_h$ of the weights of single heads: the first has rank at most $n$, and
# each difference $\Theta_h - \Theta_1$ at most $n - 1$, since its rows sum to zero. It calls this a zero eigenvalue,
# but a $T\times n$ matrix has no eigenvalues; it means a null vector, and the chain of ranks is right. The chain begins
# with $Z = \Theta\,(I_H \otimes E)$.


# %%
def proof_steps(claim: Claim, H: int, n: int) -> None:
    """The chain of ranks in the proof, for random heads."""
    heads, examples = random_heads(H, 2 * n, 2 * n, seed + 2), sample_examples(3 * H * n, n, 2 * n, seed=seed)
    Theta = softmax_weights(heads, examples).flatten(1)
    first, *others = Theta.split(n, dim=1)
    differences = [block - first for block in others]
    ranks = [int(numerical_rank(block)) for block in (first, *differences)]
    null = torch.stack(differences).sum(dim=-1).abs().max()
    Z = int(numerical_rank(features(heads, examples)))
    claim.at_most("rows of the differences of two heads, largest sum", null, 1e-14, of="proof")
    claim.at_most("differences, largest rank", max(ranks[1:]), n - 1, of="proof")
    rows, columns = differences[0].shape
    claim.misprint.equal("a zero eigenvalue: rows of a difference less its columns", rows - columns, 0, of="proof")
    of_theta = int(numerical_rank(Theta))
    claim.at_most("rank of Z less that of Theta", Z - of_theta, 0, of="proof")
    claim.at_most("rank of Theta less the sum over the blocks", of_theta - sum(ranks), 0, of="proof")
    product = Theta @ torch.block_diag(*[examples.context_of_each[0]] * H)
    apart = (features(heads, examples) - product).abs().max()
    claim.at_most("Z less Theta times (I ⊗ E)", apart, 1e-12, of="proof")


# %% [markdown]
# The controls are contexts that are not shared, and weights that do not sum to 1.

# %%
bounds = {f"({H}, {n})": capacity(H, n, n) for H, n in sizes}
claim = Claim("memorization/proposition-2")
claim.at_most("null vectors times Theta, largest entry", max(nulls), 1e-14)
claim.at_most("singular value after the bound", max(drops), 1e-14)
claim.equal("random heads: rank", dict(zip(bounds, shared_ranks, strict=True)), bounds)
claim.at_most("largest rank over its bound, all heads", max(row[3] - row[2] for row in found), 0)
claim.certified("H = 3, n = 4: the bound on the rank, whatever the weights", certify_rank_bound(3, 4))
claim.control.at_most("separate contexts: rank", dict(zip(bounds, separate_ranks, strict=True)), bounds)
claim.control.at_most("tanh for softmax: rank", dict(zip(bounds, tanh_ranks, strict=True)), bounds)
proof_steps(claim, *sizes[-1])
if sizes == [[3, 4], [4, 6], [5, 8]]:
    thin_ranks = [row[3] for row in found if row[1] == "d_h = 1"]
    for (H, n), rank, thin in zip(sizes, shared_ranks, thin_ranks, strict=True):
        claim.number(f"rank at H = {H}, n = {n}", rank)
        claim.number(f"rank at H = {H}, n = {n}, d_h = 1", thin)
claim.verdict()

# %% [markdown]
# ## What is tight
# <!-- claim memorization/remark-tightness -->
# <blockquote>
#
# **Text after Proposition 2 (The lower bound on the rank is tight)** *Section 4.2*
#
# With a shared context and $d_h\ge n$ the lower bound of Proposition 1 is tight: $H(n-1)+1$ is the rank of $Z$. For
# $n=1$ all outputs coincide and the capacity is exactly 1. (For $n>1$ the bound is on what fixed keys and queries can
# do for all labels; keys and queries trained for given labels memorise more.)
#
# </blockquote>
# <!-- /claim -->
#
# The text below the proposition concludes that the lower bound of Proposition 1 is tight for shared contexts and $d_h
# \ge n$. It is: random heads reach the bound, so a read-out meets all labels of $H(n-1)+1$ examples, and of no more.
# For $n = 1$, where every head returns the one token, the capacity is exactly 1.
#
# The sentence is about the *rank*: what *fixed* heads can do for *all* labels. It is not an upper bound on memorisation
# for $n > 1$, and does not claim to be. Labels that are known when the heads are trained need only lie in the
# $H(n-1)+1$ dimensions that those heads span, and the heads can turn that space towards them.

# %%
H, n, d = 3, 4, 8
bound = capacity(H, n, n)
tries = [bound, bound + 1, bound + 4, 2 * bound, 3 * bound, 5 * bound]
fixed_residual, trained_residual = [], []
for T in tries:
    data = sample_examples(T, n, d, law="uniform", seed=seed)
    wanted = normal(T, 1, seed=seed + 1)
    fixed = random_heads(H, d, d, seed)
    fixed_out = predict(fixed, solve_readout(features(fixed, data), wanted, H, 1), data)
    fixed_residual.append((fixed_out - wanted).abs().max().item())
    trained_residual.append(trained_to(data, wanted, H, d, seed, steps=400))

# %% [markdown]
# Fixed heads stop at the bound; heads trained for the labels go beyond it.

# %%
fig, axis = show.axes()
axis.semilogy(tries, fixed_residual, marker="o", label="random heads, read-out solved")
axis.semilogy(tries, trained_residual, marker="s", label="heads trained for the labels")
axis.axvline(bound, linestyle="--", color="0.5")
axis.set(xlabel="examples T", ylabel="largest residual")
axis.legend()
show.figure(
    fig,
    name="trained",
    caption="H = 3, n = 4, one shared context. At the bound (dashed) fixed heads meet all labels, one example later "
    "they fail. Heads trained for the labels meet three times as many.",
    alt="Residuals on a logarithmic axis: random heads jump from rounding to one after the bound, trained heads stay "
    "far below up to three times the bound.",
)
# %% [markdown]
# At $n = 1$ the two labels 0 and 1 cannot both be met; at $n = 2$ they can.


# %%
def residual_of_two_labels(tokens: int) -> float:
    """The largest residual of the labels 0 and 1 with random heads and the best read-out."""
    two = sample_examples(2, tokens, 4, seed=seed)
    layer, two_labels = random_heads(3, 4, 4, seed), torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    outputs = predict(layer, solve_readout(features(layer, two), two_labels, 3, 1), two)
    return (outputs - two_labels).abs().max().item()


single_Z = features(random_heads(3, 4, 4, seed), sample_examples(6, 1, 4, seed=seed))
pair_residual = residual_of_two_labels(2)


# %% [markdown]
# The last check concerns the remark on training, which is not part of the paper's sentence.

# %%
claim = Claim("memorization/remark-tightness")
claim.close("n = 1: rows of Z less the first", single_Z, single_Z[0], atol=1e-15)
claim.close("n = 1: residual of two labels less half their difference", residual_of_two_labels(1), 0.5, atol=1e-12)
claim.at_most("n > 1, fixed heads at the bound: residual", fixed_residual[0], 1e-9)
claim.control.at_most("fixed heads, one above the bound: residual", fixed_residual[1], 1e-9)
claim.control.close("n = 2, two labels: residual less half their difference", pair_residual, 0.5, atol=1e-12)
claim.at_most("remark: trained heads, twice the bound: residual", trained_residual[3], 1e-9)
claim.verdict()

# %% [markdown]
# ## What was learned
# With one shared context the features of $H$ heads span $H(n-1)+1$ dimensions and never more, since each head's weights
# sum to 1. Fixed heads can therefore fit this many arbitrary labels. Heads trained for given labels fit more: three
# times as many in the one case that we tried, with a residual below $10^{-9}$.
#
# ## To try
# - Set `sizes = [[2, 5], [3, 5]]`: each head adds four to the rank, after the one of the first.
# - Set `seed = 1`: other heads, the same ranks.

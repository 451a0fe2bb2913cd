# %% [markdown]
# # Proposition 2 · One shared context: the bound on the rank is tight
# *Mahdavi, Liao, Thrampoulidis: Proposition 2, Section 4.2, Appendix E.*
#
# Two heads look at the same two tokens, regardless of the question. Each head can only return an average of these
# tokens. How many arbitrary answers can such a layer store? More heads help, but all heads have one limitation in
# common: their weights sum to 1.

# %%
import numpy as np
import torch

from attention_theory.memorization.attention import (
    Examples,
    KeyQueryHeads,
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
# Let the two tokens be $(1,2)$ and $(3,4)$. For one question, suppose that the first head has the weights
# $\frac34,\frac14$ and the second head $\frac12,\frac12$. The heads return
#
# $$\tfrac34(1,2)+\tfrac14(3,4)=(1.5,\,2.5),\qquad\tfrac12(1,2)+\tfrac12(3,4)=(2,\,3).$$
#
# The four entries of the row $(1.5,2.5,2,3)$ are not free: for all weights, the second exceeds the first by 1, and the
# fourth exceeds the third by 1. The two differences cancel: the product of the row with $(-1,1,1,-1)$ is always 0.
# Therefore, four questions give at most three independent rows. With a linear read-out we can store any three labels,
# but not any four.

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
    caption="The weights of two heads, times the tokens once per head, give the two averages.",
    alt="A row 0.75, 0.25, 0.5, 0.5, times a four by four matrix with two blocks 1, 2, 3, 4 on its diagonal and zeros "
    "elsewhere, equals the row 1.5, 2.5, 2, 3.",
)

# %% [markdown]
# The row of averages is a row of weights times a matrix that contains the tokens once per head.
#
# ## The paper states
# Let $T$ examples share one context $E$ of $n$ tokens. Row $t$ of the matrix $\Theta_h$ has the softmax weights of head
# $h$ on example $t$, and row $t$ of $Z$ has the averages of all $H$ heads. The outputs are linear in $Z$, so the rank
# of $Z$ is the number of labels that we can choose freely. Theorem 1 reaches $H(n-1)+1$ if the keys have width
# $d_h\ge n$. Could other heads give more?
#
# <!-- claim memorization/proposition-2 -->
# <blockquote>
#
# **Proposition 2 (One shared context: the bound is tight)** *Section 4.2; Appendix E*
#
# **The paper states.** Under the conditions of Theorem 1, if all the contexts are shared, i.e., $E^{(t)}:=E$ for all
# $t\in[T]$, then for any $\{(W_{K_h},W_{Q_h})\}_{h=1}^H$, we have $\mathrm{rank}(Z)\le H(n-1)+1$.
#
# <details><summary>Slips (1)</summary>
#
# - The proof says that $\Theta_h-\Theta_1$ "has at least one zero eigenvalue". It has the null vector $\mathbf 1_n$; a
#   matrix of $T$ rows and $n$ columns has no eigenvalues.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-tightness -->
# <blockquote>
#
# **Text after Proposition 2 (The lower bound on the rank is tight)** *Section 4.2*
#
# **The paper states.** The lower bound of Proposition 1 is tight when the context is shared across data points and
# $d_h\ge n$. For $r=n=1$, no matter how large $H$ or $d$ are, the output of MHA for all examples is identical, and the
# memory capacity of the attention is exactly $T=H(r-1)+1=1$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The bound is tight for the rank of $Z$, which limits how many labels fixed keys and queries can
# serve. For $n>1$, keys and queries that are trained for given labels can memorise more.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In each row, the weights of every head sum to 1. If we subtract the sum of one head from that of another, we therefore
# get 0 in every row. With $H$ heads, there are $H-1$ such relations. Hence the $Hn$ columns of weights have rank at
# most $Hn-(H-1)$, and multiplying by the tokens cannot increase it.
#
# <details><summary>Proof of Proposition 2</summary>
#
# Let $\Theta=[\Theta_1,\dots,\Theta_H]$, and let $I_H\otimes E$ have $H$ copies of $E$ on its diagonal and zeros
# elsewhere. Then $Z=\Theta\,(I_H\otimes E)$. For $h\ge2$, the vector with $\mathbf 1_n$ in the place of the first head,
# $-\mathbf 1_n$ in the place of head $h$ and zeros elsewhere is a null vector of $\Theta$, because the rows of each
# $\Theta_h$ sum to 1. These $H-1$ vectors are independent. Therefore $\mathrm{rank}\,Z\le\mathrm{rank}\,\Theta\le
# Hn-(H-1)=H(n-1)+1$, whatever the weights. $\square$
#
# </details>
#
# ## See it run
# We compare four kinds of heads: random ones, those of Theorem 1, random ones with logits 16 times as large
# ("saturated"), and random ones with keys of width 1.

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


# %%
rows, nulls, shared_ranks, separate_ranks, tanh_ranks, drops = [], [], [], [], [], []


def kinds_of_heads(H: int, n: int, examples: Examples) -> dict[str, KeyQueryHeads]:
    """Four kinds of heads on tokens of width 2n."""
    random = random_heads(H, 2 * n, 2 * n, seed + 2)
    return {
        "random": random,
        "built": build_heads(examples.take(slice(0, capacity(H, n, n))), H, n, seed=seed + 1).heads,
        "saturated": KeyQueryHeads(4 * random.keys, 4 * random.queries),
        "d_h = 1": random_heads(H, 2 * n, 1, seed + 3),
    }


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
        rows.append((f"({H}, {n})", name, bound, int(numerical_rank(Z, rtol=1e-12)), kept, dropped))
        nulls.append(null)
        drops.append(dropped)
    shared_ranks.append(int(numerical_rank(features(random, examples))))
    separate_ranks.append(int(numerical_rank(features(random, sample_examples(T, n, d, shared=False, seed=seed)))))
    tanh_ranks.append(int(numerical_rank(features_of_unnormalised_weights(random, examples))))
show.table(
    ["(H, n)", "heads", "bound", "rank of Z", "singular value at the bound, over the largest", "the next one"], rows
)

# %% [markdown]
# Every kind of head reaches the bound. Even keys of width 1 do, which is [more than Theorem 1
# promises](queries_that_differ.ipynb). The next singular value is always zero up to rounding.

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
axis.set(xlabel="index of the singular value of Z", ylabel="relative to the largest")
axis.legend()
show.figure(
    fig,
    name="cliff",
    caption=f"H = {H}, n = {n}. With a shared context, the singular values fall off a cliff right after H(n - 1) + 1 "
    "(dashed). With a separate context for each example, all Hd of them are far above rounding level.",
    alt="Two curves. One drops by some fourteen orders of magnitude at the dashed line; the other declines gently to "
    "the end.",
)


# %% [markdown]
# With a shared context, exactly $H(n-1)+1$ singular values are above rounding level. With separate contexts there is no
# cliff.
#
# ### Trained heads store more
# The bound is tight for *fixed* heads that must serve *all* labels. If we know the labels in advance, only these labels
# must be in the column space of $Z$. We can train the heads to turn this space towards them.

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
    caption="H = 3, n = 4, one shared context. At the bound (dashed), fixed heads fit all labels; with one more "
    "example, they fail. Heads trained for the labels fit three times as many.",
    alt="Residuals on a logarithmic axis. Those of random heads jump from rounding level to one after the bound; "
    "those of trained heads stay far below, up to three times the bound.",
)
# %% [markdown]
# Fixed heads fail with one example beyond the bound. The heads that we train for the labels store three times as many
# examples as the bound, with a residual below $10^{-9}$.
#
# ## How we checked
# We test each step of the proof on random heads. The controls break its two conditions: one uses separate contexts, and
# the other uses weights that do not sum to 1. In both, the rank must exceed the bound.


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


# %%
bounds = {f"({H}, {n})": capacity(H, n, n) for H, n in sizes}
claim = Claim("memorization/proposition-2")
claim.at_most("null vectors times Theta, largest entry", max(nulls), 1e-14)
claim.at_most("singular value after the bound", max(drops), 1e-14)
claim.equal("random heads: rank", dict(zip(bounds, shared_ranks, strict=True)), bounds)
claim.at_most("largest rank over its bound, all heads", max(row[3] - row[2] for row in rows), 0)
claim.certified("H = 3, n = 4: the bound on the rank, whatever the weights", certify_rank_bound(3, 4))
claim.control.at_most("separate contexts: rank", dict(zip(bounds, separate_ranks, strict=True)), bounds)
claim.control.at_most("tanh for softmax: rank", dict(zip(bounds, tanh_ranks, strict=True)), bounds)
proof_steps(claim, *sizes[-1])
if sizes == [[3, 4], [4, 6], [5, 8]]:
    thin_ranks = [row[3] for row in rows if row[1] == "d_h = 1"]
    for (H, n), rank, thin in zip(sizes, shared_ranks, thin_ranks, strict=True):
        claim.number(f"rank at H = {H}, n = {n}", rank)
        claim.number(f"rank at H = {H}, n = {n}, d_h = 1", thin)
claim.verdict()


# %%
def residual_of_two_labels(tokens: int) -> float:
    """The largest residual of the labels 0 and 1 with random heads and the best read-out."""
    two = sample_examples(2, tokens, 4, seed=seed)
    layer, two_labels = random_heads(3, 4, 4, seed), torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    outputs = predict(layer, solve_readout(features(layer, two), two_labels, 3, 1), two)
    return (outputs - two_labels).abs().max().item()


single_Z = features(random_heads(3, 4, 4, seed), sample_examples(6, 1, 4, seed=seed))
pair_residual = residual_of_two_labels(2)


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
# <details><summary>Method notes</summary>
#
# A singular value counts as nonzero if it is at least $10^{-12}$ times the largest. For keys of width 1, the smallest
# ones that count are near $10^{-9}$, and those beyond the bound are near $10^{-16}$. The paper's sentence does not
# mention that trained heads store more.
#
# </details>
#
# ## What to remember
#
# - The weights of each head sum to 1, and this costs one dimension for every head after the first.
# - With one context, fixed heads can store any $H(n-1)+1$ labels, and no more.
# - Heads that are trained for given labels can store more.
#
# ## Exercises
#
# 1. *By hand.* Take three heads and two tokens. Which linear combinations of the six weights in a row are always 0? How
#    many labels can fixed heads store?
#    <details><summary>Solution</summary>
#
#    The two weights of each head sum to 1, so the coefficients $(1,1,-1,-1,0,0)$ and $(1,1,0,0,-1,-1)$ give 0 in every
#    row. Of six dimensions, $6-2=4$ remain, and indeed $H(n-1)+1=3\cdot1+1=4$.
#
#    </details>
# 2. *Predict, then run.* Set `sizes = [[2, 5], [3, 5]]`. What are the two ranks?
#    <details><summary>Solution</summary>
#
#    They are $2\cdot4+1=9$ and $3\cdot4+1=13$: the third head adds four.
#
#    </details>
#
# Next: [Figure 2](figure_2_memorised_fraction.ipynb). How many labels does a trained layer store?

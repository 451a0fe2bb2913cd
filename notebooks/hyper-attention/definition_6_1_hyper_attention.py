# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definition 6.1 · Scores for pairs of tokens, and five ways to sum them
# *Ustaomeroglu, Qu: Definitions 6.1 and G.5, Section 6, Appendix G.1.*
#
# You gain from two allies only if they are not allied with each other. Such an effect depends on three parties, and
# HyperAttention has one score for each triple. It sums over pairs of tokens, but over which pairs? The paper uses five
# different sums, and this page shows why the choice matters.

# %%
from itertools import product

import torch
from torch import Tensor

from attention_theory.hyper_attention.certified.tuples import certify_five_sums, certify_low_rank_form
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    linear_hyper_attention,
    pair_counts,
    tensor_from_factors,
    tuple_features,
)
from attention_theory.hyper_attention.layers.linear_sums import cubic_pair_sum
from attention_theory.hyper_attention.layers.sums import SUMS
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
size = 4  # symbols |S|, from 3 to 8
tokens = 8  # tokens in a sequence L, from 3 to 16
sequences = 400  # random sequences, from 100 to 20000
rank = 5  # terms of the low-rank form R, from 2 to 100
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 3, 8), tokens=(tokens, 3, 16), sequences=(sequences, 100, 20_000), rank=(rank, 2, 100))
require(seed=(seed, 0, None))


# %% [markdown]
# ## A tiny example
# Our sequence is a, a, b. How many pairs of positions $(j_1, j_2)$ hold (a, a), and how many hold (a, b)? It depends on
# the allowed pairs.

# %%
HOLDS = {
    "all": lambda first, second: True,
    "le": lambda first, second: first <= second,
    "lt": lambda first, second: first < second,
    "ge": lambda first, second: first >= second,
    "gt": lambda first, second: first > second,
}

# %%
fig, axis = schematic.canvas(7.0, 2.2)
names = {"all": "all pairs", "le": "j₁ ≤ j₂", "lt": "j₁ < j₂", "ge": "j₁ ≥ j₂", "gt": "j₁ > j₂"}
for column, (sum_over, allowed) in enumerate(HOLDS.items()):
    x = 0.6 + 2.75 * column
    grid = [[int(allowed(first, second)) for second in range(3)] for first in range(3)]
    schematic.matrix(axis, grid, (x, 1.5), cell=0.6, words=names[sum_over])
    for place, word in enumerate("aab"):
        schematic.text(axis, (x - 0.25, 3.0 - 0.6 * place), word, size=9)
        schematic.text(axis, (x + 0.3 + 0.6 * place, 3.6), word, size=9)
    held_aa, held_ab = sum(map(sum, (row[:2] for row in grid[:2]))), grid[0][2] + grid[1][2]
    schematic.text(axis, (x + 0.9, 0.5), f"aa: {held_aa}, ab: {held_ab}", schematic.BLUE, 9)
show.figure(
    fig,
    name="five-sums",
    caption="The pairs in each sum for the sequence a, a, b: rows are the first token, columns the second. Below "
    "each grid are the numbers of its pairs that hold (a, a) and (a, b).",
    alt="Five grids of three by three cells. The first is full. The others fill the upper triangle with and "
    "without the diagonal, and the lower triangle with and without it.",
)

# %% [markdown]
# No two of the five grids give the same two counts. The diagonal decides whether a token pairs with itself, and the
# triangle decides whether order matters.
#
# ## The paper states
# Here $X$ holds one token per row; $C$ and $W^V$ are tensors of weights for the scores and the values.
#
# <!-- claim hyper-attention/definition-6-1 -->
# <blockquote>
#
# **Definition 6.1 (Linear HyperAttention)** *Section 6; Appendices G.1 and G.4; also Definition G.5*
#
# **The paper states.** Third order Linear HyperAttention: $A_{ij_1j_2} = \sum_{\alpha,\zeta_1,\zeta_2\in[d]}
# C_{\alpha\zeta_1\zeta_2} X_{i\alpha} X_{j_1\zeta_1} X_{j_2\zeta_2}$, $V_{j_1j_2\tau} = \sum_{\xi_1,\xi_2\in[d]}
# X_{j_1\xi_1} X_{j_2\xi_2} W^V_{\xi_1\xi_2\tau}$, $\mathrm{HA}^{\mathrm{lin}}_{i\tau}(X) = \sum_{1\le j_1\le j_2\le L}
# A_{ij_1j_2} V_{j_1j_2\tau}$, where $C \in \mathbb R^{d\times d\times d}$ and $W^V \in \mathbb R^{d\times d\times
# d_2}$. At order $n$ (Appendix G.1), $C, W^V \in \mathbb R^{d\times n}$.
#
# **What is true.** At order $n$, $C$ has $n$ axes of length $d$, and $W^V$ has $n-1$ axes of length $d$ and one of
# length $d_2$.
#
# **What changed.** A matrix with $d\,n$ entries cannot hold the tensor with $d^n$ entries that the formulas of Appendix
# G.1 index.
#
# <details><summary>Slips (2)</summary>
#
# - In Definition G.5, the first sum is over $\alpha,\nu_1,\nu_2$, while its terms contain $\zeta_1,\zeta_2$.
# - The paper uses five different sums over pairs and, except in Remark G.2, does not say that they differ.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/ternary-synergy -->
# <blockquote>
#
# **Section 6 (Alliances of three)** *Section 6*
#
# **The paper states.** Agent $i$ gains if it is allied with $j$ and $k$ and these are not allied with each other: its
# payoff is $V_{\mathcal X(i)} = \sum_{1 \le j < k \le L} f(\mathcal X(i), \mathcal X(j), \mathcal X(k))\, w_{\mathcal
# X(j), \mathcal X(k)}$. Standard pairwise interactions are insufficient for this, and a suitable embedding encodes it
# into HyperAttention of order 3.
#
# <details><summary>Slips (1)</summary>
#
# - The payoff leaves out $j = k$, and Definition 6.1 does not, so that $C = f$ and $W^V = w$ do not give the payoff.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** A layer with the sum of Definition 6.1, over $j \le k$, represents the payoff at each single
# length, but at no two lengths of at least two tokens together. One layer that sums over $j < k$ represents it at every
# length.
#
# </blockquote>
# <!-- /claim -->
#
# The five sums are those of Theorem G.4 (all pairs), Definitions 6.1 and G.5 ($j_1\le j_2$), Section 6 ($j_1<j_2$),
# Appendix G.1 ($j_1\ge j_2$) and Remark G.2 ($j_1>j_2$). We call them `all`, `le`, `lt`, `ge` and `gt`.
#
# With a softmax, HyperAttention of order 3 is known as *2-simplicial attention* {cite}`clift2020logic`.
# {cite:t}`roy2025simplex` train it in large language models, with windows and products of two values. The package
# `simplicial-attention` computes it; our tests compare
# {doc}`our softmax </notebooks/hyper-attention/definition_g_1_softmax>` with it.
#
# ## Why it is true
# **What a layer sees.** Self-attention sees how often each symbol occurs. Order 3 sees how often each *pair* of symbols
# occurs among the allowed pairs. A symbol that occurs $s$ times meets itself $s^2$, $s(s+1)/2$ or $s(s-1)/2$ times.
#
# **Leaving out the diagonal.** An agent does not collide with itself, so
# {doc}`Example 1 </notebooks/hyper-attention/example_1_colliding_agents>` sums over $j\ne i$. The layer sums over every
# $j$, and the additional term is a constant, $f(\alpha,\alpha)\,w_\alpha$. At a known length $L$ the counts $s_\beta$
# add up to $L$, so we can write $1=\sum_\beta s_\beta/L$ and subtract the constant. With two lengths this fails.
#
# For alliances, the same happens one order higher: $s(s+1)/2$ exceeds $s(s-1)/2$ by $s$. At one length, $s$ is a linear
# combination of pair counts; at two lengths, it is not.
#
# <details><summary>Proof of Section 6, example: ternary synergies</summary>
#
# In the one-hot code a layer of order 3 that sums over $j < k$ has $C = f$ and $W^V = w$, and is the payoff at every
# length. Now let a layer with the sum over $j \le k$ have the functional tensor $T$. Fix the own symbol $\mu$, write
# $g = f w$ and $D = T - g$, both tables of $\nu$ and $\sigma$, and let the layer be right at a length $L \ge 3$.
# Exchanging two neighbours shows that $D$ is symmetric. With counts $s$, and $h_\nu = T_{\nu\nu} + g_{\nu\nu}$,
#
# $$0 = \sum_{j<k} D + \sum_j T = \tfrac12 \bigl(s^\top D s + h^\top s\bigr)
# = \tfrac12 \bigl(s^\top D s + \tfrac1L\, h^\top s \; \mathbf 1^\top s\bigr)$$
#
# for all counts of length $L$ with $s_\mu \ge 1$. These are enough to determine a quadratic form: $D_{\nu\sigma} =
# -(h_\nu + h_\sigma)/(2L)$. At one length that can be solved, with $T_{\nu\nu} = \frac{L-1}{L+1} g_{\nu\nu}$. At two
# such lengths it gives $h = 0$ and $D = 0$, so that $T_{\nu\nu} = g_{\nu\nu} = -T_{\nu\nu}$ is zero. But an ally $\nu$
# of $\mu$ is not allied with itself, and $g_{\nu\nu} = w_{\nu\nu} \ne 0$.
#
# *Two tokens and one.* On $\mu,\nu$ the payoff of $\mu$ is 0, because $\mu$ is not its own ally, and the layer gives
# $T_{\mu\mu} + T_{\mu\nu} + T_{\nu\nu}$. If it is also right at $L \ge 3$, then $g_{\mu\mu} = g_{\mu\nu} = 0$ and the
# solution has $T_{\mu\mu} = h_\mu = 0$ and $T_{\mu\nu} = -\frac{1}{L+1} g_{\nu\nu}$. The sum is $\frac{L-2}{L+1}
# g_{\nu\nu} \ne 0$. A single token has the payoff 0, and the layer gives it $T_{\mu\mu} = 0$ for every such $L$. What
# linear attention misses is a least-squares fit on counts. $\square$
#
# </details>
#
# ## See it run
# We compute every layer in three ways, with integer weights: from tensors, by a loop, and from pair counts.

# %%
draw = generator(seed)
effect = torch.randint(-3, 4, (size, size, size), generator=draw).to(torch.float64)
weights = torch.randint(-3, 4, (size, size, 1), generator=draw).to(torch.float64)
symbols = sample_sequences(sequences, tokens, size, draw)
hot = torch.eye(size, dtype=torch.float64)[symbols]
factors = normal(6, size, rank, seed=draw)  # of the low-rank form below


# %%
def by_loop(sequence: Tensor, sum_over: str) -> Tensor:
    """Definition 6.1, one triple of positions at a time."""
    out = torch.zeros(tokens, dtype=torch.float64)
    for i, j, k in product(range(tokens), repeat=3):
        if HOLDS[sum_over](j, k):
            a, b, c = sequence[[i, j, k]].tolist()
            out[i] += effect[a, b, c] * weights[b, c, 0]
    return out


# %%
layers = {sum_over: linear_hyper_attention(hot, effect, weights, sum_over)[..., 0] for sum_over in SUMS}
loops = {sum_over: torch.stack([by_loop(one, sum_over) for one in symbols[:10]]) for sum_over in SUMS}
tables = (effect * weights[..., 0]).flatten(1)
from_counts = {
    sum_over: (pair_counts(symbols, size, sum_over).flatten(1) @ tables.T).gather(1, symbols) for sum_over in SUMS
}
differ = {sum_over: (layers[sum_over] - layers["le"]).abs().max().item() for sum_over in SUMS}

# %%
show.table(
    ["sum", "layer against loop", "layer against pair counts", "difference from Definition 6.1"],
    [
        [
            sum_over,
            (layers[sum_over][:10] - loops[sum_over]).abs().max(),
            (layers[sum_over] - from_counts[sum_over]).abs().max(),
            differ[sum_over],
        ]
        for sum_over in SUMS
    ],
)

# %% [markdown]
# All three agree exactly, and every other sum differs from that of Definition 6.1.
#
# **Alliances.** The types form a ring, and neighbours are allied. We also take a task without synergy, whose strengths
# $g(\mathcal X(i),\mathcal X(j))+g(\mathcal X(i),\mathcal X(k))$ reduce to a pairwise interaction.

# %%
ring = torch.arange(size)
allied = ((ring[:, None] - ring) % size == 1) | ((ring - ring[:, None]) % size == 1)
synergy = (allied[:, :, None] & allied[:, None, :] & ~allied[None]).to(torch.float64)
pay = torch.rand(size, size, 1, generator=draw, dtype=torch.float64) + 0.5
alone = normal(size, size, seed=draw)
tasks = {
    "alliances": aggregate_tuples(symbols, synergy, pay, "lt"),
    "no synergy": aggregate_tuples(symbols, alone[:, :, None] + alone[:, None, :], torch.ones_like(pay), "lt"),
}

# %% [markdown]
# We fit the best layer of each kind by least squares. The table shows the fraction of the variance that it misses.

# %%
pairs, triples = tuple_features(symbols, size, 1), tuple_features(symbols, size, 2, "lt")
missed = {
    task: (relative_residual(pairs, target.flatten(0, 1)), relative_residual(triples, target.flatten(0, 1)))
    for task, target in tasks.items()
}
layer = linear_hyper_attention(hot, synergy, pay, "lt")
own_sum = relative_residual(tuple_features(symbols, size, 2, "le"), tasks["alliances"].flatten(0, 1))


def missed_at(kind: str, *lengths: int) -> float:
    """What the best layer with this sum misses at several lengths together."""
    some = [sample_sequences(sequences, long, size, seed + long) for long in lengths]
    payoffs = torch.cat([aggregate_tuples(one, synergy, pay, "lt").flatten(0, 1) for one in some])
    return relative_residual(torch.cat([tuple_features(one, size, 2, kind) for one in some]), payoffs)


two_lengths = {f"lengths {a} and {b}": missed_at("le", a, b) for a, b in ((2, 3), (2, 5), (5, 7))}

# %%
show.table(
    ["task", "missed by the best linear attention", "missed by the best linear HyperAttention"],
    [[task, *both] for task, both in missed.items()],
)

# %%
fit = torch.linalg.lstsq(pairs, tasks["alliances"].flatten(0, 1), driver="gelsd").solution
wanted = tasks["alliances"].flatten()
fig, axis = show.axes(width=4.6, height=3.6)
axis.plot(wanted, (pairs @ fit).flatten(), ".", alpha=0.25, label="best linear attention")
axis.plot(wanted, layer.flatten(), ".", color=show.COLOURS[1], label="HyperAttention, order 3")
axis.set(xlabel="payoff $V_i$", ylabel="output of the layer")
axis.legend()
show.figure(
    fig,
    name="alliances",
    caption="Outputs of the best linear attention and of the layer of order 3 against the payoff, for every agent "
    "in every sequence. The layer of order 3 is on the diagonal. Linear attention gives less than 0 to agents that "
    "gain nothing, and too little to those that gain most.",
    alt="Two sets of points. One is exactly on the diagonal. The other is scattered around it, below it at 0 and at "
    "the largest values.",
)

# %% [markdown]
# Linear attention gives too little at both ends. The layer of order 3 is exact.
#
# ## How we checked
# Sympy compares the five sums with the pair counts for all tensors on two symbols. We also fit the alliances at two
# lengths together: the strict sum must be exact, and the sum of Definition 6.1 must not be.

# %%
claim = Claim("hyper-attention/definition-6-1")
for sum_over in SUMS:
    claim.equal(f"layer against loop, {sum_over}", (layers[sum_over][:10] - loops[sum_over]).abs().max(), 0)
    apart = (layers[sum_over] - from_counts[sum_over]).abs().max()
    claim.equal(f"layer against pair counts, {sum_over}", apart, 0)
smallest = min(value for sum_over, value in differ.items() if sum_over != "le")
claim.control.equal("another sum in the place of j1 <= j2, least difference", smallest, 0)
claim.misprint.equal("entries of C at order 3 are d n", effect.numel(), size * 3)
claim.certified("two symbols, four tokens: all C and W", certify_five_sums())
claim.verdict()

# %%
claim = Claim("hyper-attention/ternary-synergy")
claim.close("layer of order 3 against the alliances, error", layer, tasks["alliances"])
claim.at_most("best linear HyperAttention, missed", missed["alliances"][1], 1e-12)
claim.at_most("best linear HyperAttention with the sum of Definition 6.1, missed", own_sum, 1e-12)
claim.at_most("lengths 1 and 5, sum of Definition 6.1, missed", missed_at("le", 1, 5), 1e-12)
claim.at_most("lengths 5 and 7, sum over j < k, missed", missed_at("lt", 5, 7), 1e-12)
claim.control.at_most("two lengths, sum of Definition 6.1, missed", min(two_lengths.values()), 1e-12)
claim.at_least("best linear attention, missed", missed["alliances"][0], 0.01)
claim.number("best linear attention, missed", missed["alliances"][0])
claim.control.at_least("task without synergy, missed by linear attention", missed["no synergy"][0], 0.01)
ordered = linear_hyper_attention(hot, synergy, pay, "le")
claim.control.close("the same tables in a sum over j <= k, error", ordered, tasks["alliances"])
claim.verdict()

# %% [markdown]
# ## Also on this page
#
# <!-- claim hyper-attention/low-rank-form -->
# <blockquote>
#
# **Low-rank (Low-rank scores and values)** *Appendix G.1*
#
# **The paper states.** We can have low rank approximation of HyperAttention as $C_{\alpha\zeta_1\dots\zeta_{n-1}} =
# \sum_\sigma^R W^Q_{\alpha\sigma} W^{K^1}_{\zeta_1\sigma} \cdots W^{K^{n-1}}_{\zeta_{n-1}\sigma}$ and
# $W^V_{\xi_1\dots\xi_{n-1}\tau} = \sum_\sigma^R W^{V^1}_{\xi_1\sigma} \cdots W^{V^{n-1}}_{\xi_{n-1}\sigma}
# W^V_{\tau\sigma}$, where each $W^Q, W^{K^i}, W^{V^i} \in \mathbb R^{d\times R}$.
#
# </blockquote>
# <!-- /claim -->
#
# The layer built from factors must equal the one built from full tensors, and must differ from it if we leave out one
# term.

# %%
q, k1, k2, v1, v2, v3 = factors
full = linear_hyper_attention(hot, tensor_from_factors([q, k1, k2]), tensor_from_factors([v1, v2, v3]), "le")
projected = cubic_pair_sum(hot @ q, hot @ k1, hot @ k2, hot @ v1, hot @ v2, sum_over="le") @ v3.T
fewer = cubic_pair_sum(*(hot @ one[:, 1:] for one in (q, k1, k2)), hot @ v1, hot @ v2, sum_over="le") @ v3.T

# %%
claim = Claim("hyper-attention/low-rank-form")
claim.close("factors against full tensors, error", projected, full)
one_by_one = sum(torch.einsum("a,b,c->abc", *columns) for columns in zip(q.T, k1.T, k2.T, strict=True))
tensor_error = (one_by_one - tensor_from_factors([q, k1, k2])).abs().max()
claim.at_most("C as the printed sum over its R terms, largest error", tensor_error, 1e-12, of="proof")
claim.control.close("one term of C left out, error", fewer, full)
claim.certified("rank two: all tokens and factors", certify_low_rank_form())
claim.verdict()

# %% [markdown]
# ## What to remember
# - HyperAttention of order 3 sees pair counts, just as linear attention sees counts.
# - Five sums over pairs give five different layers.
# - A layer with the diagonal represents a sum without it at one length, but in general not at two.
#
# ## Exercises
#
# 1. *By hand.* The sequence is a, a, a, b. How many pairs hold (a, a) in each of the five sums?
#    <details><summary>Solution</summary>
#
#    All pairs give $3^2=9$, the sums with the diagonal $3\cdot4/2=6$, and the strict sums $3\cdot2/2=3$.
#
#    </details>
# 2. *Predict, then run.* Set `size = 6`. Does the best linear attention miss more or less of the alliances?
#    <details><summary>Solution</summary>
#
#    It misses more: 15 % of the variance, compared with 9 % for four types.
#
#    </details>
#
# Next: [Theorem G.4](theorem_g_4_representation.ipynb). Which three-way interactions can a layer represent?

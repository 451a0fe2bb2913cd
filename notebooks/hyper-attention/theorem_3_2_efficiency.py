# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3.2 · What an unshared linear layer would cost
# *Ustaomeroglu, Qu: Theorem 3.2, Section 3; proof in Appendix B.*
#
# Attention uses one table for all pairs of positions: two symbols act on each other in the same way everywhere. A
# network without shared weights needs separate numbers for every pair of positions. How many parameters does sharing
# save, and compared with what?

# %%
import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.certified.data import certify_unshared_parameters
from attention_theory.hyper_attention.interactions.connected import (
    all_sequences,
    pair_features,
    relative_residual,
    unshared_parameters,
)
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 3  # symbols |S|, from 2 to 5; all size ** length sequences are listed
length = 4  # tokens L, from 2 to 6
longest = 6  # the largest L in the picture, from 3 to 7
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 5), length=(length, 2, 6), longest=(longest, 3, 7), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Two tokens are blue or red, and we want a 1 if they agree and a 0 if not. A linear network on the two tokens adds one
# number per token. In the table of its outputs, the rows are the colours of the first token:
#
# | | blue | red |
# | --- | --- | --- |
# | **blue** | $a+c$ | $a+d$ |
# | **red** | $b+c$ | $b+d$ |
#
# In every such table both diagonals have the same sum, $a+b+c+d$. In the table that we want, one diagonal sums to 2 and
# the other to 0. If each *pair* of colours is one input, the network can store all four numbers.
#
# ## The paper states
# Here $L$ is the number of tokens, $\mathcal S$ the set of symbols, and $e_{\mathcal X(i)}$ the one-hot vector of the
# symbol at position $i$.
#
# <!-- claim hyper-attention/theorem-3-2 -->
# <blockquote>
#
# **Theorem 3.2 (Parameters without sharing)** *Section 3; proof in Appendix B*
#
# **The paper states.** A linear fully connected network requires $\Omega(L^2 \cdot |\mathcal S|^2)$ parameters to
# represent the aggregate pairwise interaction functions $\{y_i\}_{i=1}^L$ in Eq. 2 exactly, for all entities
# simultaneously.
#
# **What is true.** This is true of a linear map on pairs of tokens $e_{\mathcal X(i)} \otimes e_{\mathcal X(j)}$ that
# shares no weights. Such a map has exactly $L|\mathcal S|\bigl(1 + (L-1)(|\mathcal S|-1)\bigr) = \Theta(L^2|\mathcal
# S|^2)$ free parameters for all outputs.
#
# **What changed.** The paper does not say what the input is. A linear network on the concatenated tokens cannot
# represent the interaction with any number of parameters, and nothing follows for networks with a nonlinearity.
#
# <details><summary>Slips (1)</summary>
#
# - The proof assumes that the network can store the $|\mathcal S|^2$ numbers of $f$. On two concatenated tokens it can
#   store only $2|\mathcal S| - 1$ numbers; on pairs it can store all of them, and the three steps hold.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** If the weights are shared over $i$ and $j$, as in attention, there are $|\mathcal S|^2$ free
# parameters.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Suppose that the network is linear on pairs. Output $i$ has $L$ partners with $|\mathcal S|^2$ features each, but
# these features are not independent:
#
# - For every partner, the features add up to the same one-hot vector of token $i$. We lose $(L-1)|\mathcal S|$.
# - The partner $j=i$ has the same symbol, so only $|\mathcal S|$ of its features are ever 1. We lose
#   $|\mathcal S|^2-|\mathcal S|$.
#
# For three symbols and four tokens, 21 of 36 remain. Attention adds up the features over all partners first, and has
# $|\mathcal S|^2$ free parameters for all outputs together.
#
# <details><summary>Proof of Theorem 3.2, as corrected</summary>
#
# *No linear map on tokens side by side will do.* Such a map gives $a(\mathcal X(i)) + \sum_{j \ne i} b_j(\mathcal
# X(j)) + c$. At $L = 2$ this satisfies $y(\alpha, \beta) - y(\alpha, \beta') - y(\alpha', \beta) + y(\alpha', \beta') =
# 0$, and the interaction with $f = \delta_{\alpha\beta}$, $w = 1$ does not: its first output is 2 where the symbols are
# equal and 1 where they are not. With more tokens, hold the others fixed.
#
# *The count on pairs.* The features of output $i$ are $[\mathcal X(i) = \alpha][\mathcal X(j) = \beta]$ for all $j$.
# For $j = i$ only $\alpha = \beta$ is ever not zero: $|\mathcal S|$ features, the one-hot of $\mathcal X(i)$. For each
# of the $L - 1$ other $j$ the sum over $\beta$ is this one-hot again, so that $|\mathcal S|(|\mathcal S| - 1)$ features
# are left. These $|\mathcal S| + (L-1)|\mathcal S|(|\mathcal S|-1)$ are independent: for fixed $\mathcal X(i) = \alpha$
# the other tokens are free, and a sum $c + \sum_{j \ne i} b_j(\mathcal X(j))$ with $b_j$ zero on one symbol vanishes
# for all of them only if every part is zero. Different outputs have weights of their own, which makes $L$ times as
# many, of the order $L^2|\mathcal S|^2$. Shared over $i$ and $j$ they are the $|\mathcal S|^2$ features $[\mathcal
# X(i) = \alpha]\, s_\beta$.
#
# *All of them are needed.* Let the map use any functions of a single pair each, and let $V_j$ be the span of those of
# the pair $(i, j)$. If output $i$ is $\sum_j g(\mathcal X(i), \mathcal X(j))$ with $g = f w$, the part of $j \ne i$ is
# $g$ up to a function of $\mathcal X(i)$ alone. For all $g$ to occur, $V_j$ has at least $|\mathcal S|(|\mathcal S| -
# 1)$ dimensions modulo such functions. If $g(\alpha, \beta) = c(\alpha)$, every part is such a function and their sum
# is $L\,c(\alpha)$, so those in the spaces $V_j$, $j = i$ included, add at least $|\mathcal S|$ dimensions. $\square$
#
# </details>
#
# ## See it run
# The number of free parameters is the exact rank of the features over all sequences.


# %%
def unshared_rank(tokens):
    symbols = all_sequences(tokens, size)
    return sum(modular_rank(pair_features(symbols, size, i, shared=False).long()) for i in range(tokens))


symbols = all_sequences(length, size)
ranks = [modular_rank(pair_features(symbols, size, i, shared=False).long()) for i in range(length)]
shared_rank = modular_rank(torch.cat([pair_features(symbols, size, i, shared=True) for i in range(length)]).long())

lengths = list(range(2, longest + 1))
found = [unshared_rank(tokens) for tokens in lengths]
agreeing = sum(rank == unshared_parameters(tokens, size) for tokens, rank in zip(lengths, found, strict=True))

# %%
fig, axis = show.axes(width=5.5)
axis.plot(lengths, [unshared_parameters(tokens, size) for tokens in lengths], label="L|S| (1 + (L-1)(|S|-1))")
axis.plot(lengths, found, "o", markersize=7, color=show.COLOURS[0], label="computed rank, unshared")
axis.plot(lengths, [size**2] * len(lengths), "s-", color=show.COLOURS[1], label="shared: |S|²")
axis.set_xlabel("tokens L")
axis.set_ylabel("free parameters")
axis.set_xticks(lengths)
axis.legend()
show.figure(
    fig,
    name="parameters",
    caption="Free parameters of a linear map on pairs of tokens. Without sharing, their number grows as the square "
    "of the length; with sharing, as in attention, it does not grow.",
    alt="A rising curve with a dot on it at every length from 2 to the longest, and a flat line at nine below it.",
)

# %% [markdown]
# The computed ranks agree with the formula, which grows as the square of the length.
#
# Next, we fit the network on the tokens themselves, and compute how many numbers of $f$ it can store.

# %%
draw = generator(seed)
effect = normal(size, size, seed=draw)
weights = normal(size, 1, seed=draw)


def side_by_side_features(symbols):
    """A constant and the one-hots of all tokens: the input of a literal linear network."""
    hot = one_hot(size)[symbols].flatten(1)
    return torch.cat([torch.ones_like(hot[:, :1]), hot], dim=1)


side_by_side = side_by_side_features(symbols)
on_pairs = pair_features(symbols, size, 0, shared=True)

targets = aggregate_interactions(symbols, effect, weights).squeeze(-1)
same_for_all = effect[:1].expand(size, size)
easy_targets = aggregate_interactions(symbols, same_for_all, weights).squeeze(-1)
literal = relative_residual(side_by_side, targets)
literal_easy = relative_residual(side_by_side, easy_targets)
pairs = relative_residual(on_pairs, targets[:, :1])

# %%
two = all_sequences(2, size)
room_side_by_side = modular_rank(side_by_side_features(two).long())
room_on_pairs = modular_rank(pair_features(two, size, 0, shared=False)[:, size**2 :].long())
shares = {f"L = {n}": rank / (n * n * size**2) for n, rank in zip(lengths, found, strict=True)}

# %% [markdown]
# ## How we checked
# We compare ranks with the formula, and prove it at nine sizes with exact arithmetic. The control counts all pair
# features as free.

# %%
per_output = size * (1 + (length - 1) * (size - 1))
claim = Claim("hyper-attention/theorem-3-2")
claim.equal("rank of the pair features of one output, unshared", min(ranks), per_output)
claim.equal("the same for every output", max(ranks), per_output)
claim.equal("free parameters of all outputs, unshared", sum(ranks), unshared_parameters(length, size))
claim.equal("free parameters shared, all outputs", shared_rank, size**2)
claim.equal("formula wrong at any L of the picture", found != [unshared_parameters(n, size) for n in lengths], False)
claim.at_most("shared pair features fit the target, residual", pairs, 1e-20)
claim.at_most("one-hots side by side fit f without its first argument", literal_easy, 1e-20)
claim.printed.at_most("one-hots side by side fit a random f, relative residual", literal, 1e-12)
claim.printed.equal("room for f: rank of two tokens side by side", room_side_by_side, size**2, of="proof")
claim.equal("room for f: rank of their pair", room_on_pairs, size**2, of="proof")
claim.at_least("free parameters of all outputs, share of L²|S|²", shares, 0.25, of="proof")
claim.equal("all outputs: free parameters over those of one", sum(ranks) / ranks[0], length, of="proof")
claim.control.equal("all L|S|² pair features are free", min(ranks), length * size**2)
claim.number("relative residual of the literal network", literal)
claim.certified("exact ranks at nine sizes", certify_unshared_parameters())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The paper does not say what the input of its network is. On the tokens themselves, no linear network is enough. The
# count says nothing about nonlinear networks: a small hidden layer could count the symbols first.
#
# ## What to remember
# - Attention saves parameters because it shares one table over all pairs of positions.
# - Without sharing, a linear map on pairs has about $L^2|\mathcal S|^2$ free parameters.
# - A linear network on the tokens themselves cannot form pairs, whatever its size.
#
# ## Exercises
#
# 1. *By hand.* How many parameters are free with two symbols and three tokens, for all outputs together?
#    <details><summary>Solution</summary>
#
#    $L|\mathcal S|\bigl(1+(L-1)(|\mathcal S|-1)\bigr)=3\cdot2\cdot(1+2\cdot1)=18$.
#
#    </details>
# 2. *Predict, then run.* Set `size = 2`. Which curve do the ranks follow?
#    <details><summary>Solution</summary>
#
#    The formula becomes $2L\cdot L=2L^2$: the ranks are 8, 18, 32, 50 and 72 at lengths 2 to 6.
#
#    </details>
#
# Back to [Theorem 3.1](theorem_3_1_representation.ipynb), where one table is enough for all positions.

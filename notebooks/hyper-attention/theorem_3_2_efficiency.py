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
# What does attention save? It uses one table for all pairs of places in a sequence: whatever the symbol at place 3 does
# to the one at place 7, the same symbols do to each other everywhere. A network that shares nothing needs numbers of
# its own for every pair of places. The theorem compares the two on the aggregate pairwise interaction of Theorem 3.1,
# in which token $i$ gets $\sum_j f(\mathcal X(i), \mathcal X(j))\, w_{\mathcal X(j)}$; there are $L$ tokens, $\mathcal
# S$ is the set of symbols, and $\mathcal X(i)$ is the symbol at place $i$, whose one-hot is $e_{\mathcal X(i)}$.
#
# It says that a *linear fully connected network* needs of the order of $L^2 |\mathcal S|^2$ parameters where attention
# needs $|\mathcal S|^2$. Its proof counts: each of the $L$ outputs is a sum of $L$ terms, and each term may need
# $|\mathcal S|^2$ numbers of its own. Two questions are left open. What is the input of that network? And how many of
# the numbers are really free?
#
# <!-- claim hyper-attention/theorem-3-2 -->
# <blockquote>
#
# **Theorem 3.2 (Parameters without sharing)** *Section 3; proof in Appendix B*
#
# **As printed.** A *linear fully connected network* needs $\Omega(L^2 |\mathcal S|^2)$ parameters to represent the
# interaction exactly. A linear network on the tokens side by side cannot represent it with any number of parameters.
# (The input is not named. In the proof: the network has room for the $|\mathcal S|^2$ numbers of $f$, which that one
# has not.)
#
# **Corrected.** A linear map on pairs of tokens $e_{\mathcal X(i)} \otimes e_{\mathcal X(j)}$ that shares no weights
# has exactly $L|\mathcal S|\bigl(1 + (L-1)(|\mathcal S|-1)\bigr) = \Theta(L^2|\mathcal S|^2)$ free parameters for all
# outputs of an aggregate pairwise interaction; with the weights shared over $i$ and $j$, as in attention, it has
# $|\mathcal S|^2$.
#
# The count holds for a linear map on *pairs* of tokens without shared weights. Nothing follows for networks with a
# nonlinearity. (The proof's three steps then hold: on pairs there is that room, on two tokens side by side there are
# $2|\mathcal S| - 1$ numbers.)
#
# </blockquote>
# <!-- /claim -->
#
# **The input.** A linear network on the tokens side by side adds a contribution of $\mathcal X(i)$ to one of $\mathcal
# X(j)$. It has no products, so it cannot represent $f(\mathcal X(i), \mathcal X(j))$ at any size. The statement makes
# sense for a linear map on *pairs* of tokens, $e_{\mathcal X(i)} \otimes e_{\mathcal X(j)}$, without shared weights.
# Here $e_\alpha$ is 1 at the symbol $\alpha$ and 0 elsewhere, and $\otimes$ lists all products of an entry of the first
# vector with one of the second. With two symbols, $(1,0)\otimes(0,1)=(0,1,0,0)$: there is one entry for each pair of
# symbols, and it is 1 at the pair that occurs.
#
# **The count.** For output $i$ there are $L$ partners with $|\mathcal S|^2$ features each. Given $\mathcal X(i)$, the
# features of every partner add up to the same one-hot, which takes $(L-1)|\mathcal S|$ from the rank. And the partner
# $j = i$ has only $|\mathcal S|$ features that are ever not zero, because both symbols are one: this takes $|\mathcal
# S|^2 - |\mathcal S|$ more. What is left is $|\mathcal S| + (L-1)|\mathcal S|(|\mathcal S|-1)$: 21 of 36 for three
# symbols and four tokens. For all outputs this makes $L|\mathcal S|\bigl(1 + (L-1)(|\mathcal S|-1)\bigr)$ free
# parameters, of the order that the theorem names. Adding up the partners before the map, as attention does, leaves
# $|\mathcal S|^2$.
#
# What the theorem does *not* say: nothing follows for networks with a nonlinearity. A small hidden layer that first
# counts the symbols needs far fewer parameters. On pairs, and with "no build-in parameter sharing" as the proof has it,
# the theorem's order is right; what it needs and does not say is the input.
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
# X(i) = \alpha]\, s_\beta$. $\square$
#
# </details>

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
# ## The count
# Ranks are computed exactly, modulo a large prime, over all sequences.


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

# %% [markdown]
# The ranks lie on the formula, whose growth is that of $L^2$.

# %%
fig, axis = show.axes(width=5.5)
axis.plot(lengths, [unshared_parameters(tokens, size) for tokens in lengths], label="L|S| (1 + (L-1)(|S|-1))")
axis.plot(lengths, found, "o", markersize=7, color=show.COLOURS[0], label="rank found, unshared")
axis.plot(lengths, [size**2] * len(lengths), "s-", color=show.COLOURS[1], label="shared: |S|²")
axis.set_xlabel("tokens L")
axis.set_ylabel("free parameters")
axis.set_xticks(lengths)
axis.legend()
show.figure(
    fig,
    name="parameters",
    caption="Free parameters of a linear map on pairs of tokens. Without sharing they grow with the square of the "
    "length; with sharing, as in attention, not at all.",
    alt="A rising curve with a dot on it at every length from 2 to the longest, and a flat line at nine below it.",
)

# %% [markdown]
# ## The literal network
# Over all sequences again, with random $f$ and $w$: the best affine map from the one-hots side by side to all outputs.
# It fits only what needs no product. One such case: $f(\alpha, \beta)$ that does not depend on $\alpha$.

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

# %% [markdown]
# ## The steps of the proof
# The paper's proof has three steps: the network must have room for the $|\mathcal S|^2$ numbers of $f$; each of the $L$
# terms of an output needs numbers of its own; each of the $L$ outputs does. How much room there is for one term is the
# rank of what the network can be given for it. On two tokens side by side this is $2|\mathcal S| - 1$, and the first
# step fails. On their pair it is $|\mathcal S|^2$. The second step then holds up to a factor: for $L, |\mathcal S| \ge
# 2$ an output has at least a quarter of the $L|\mathcal S|^2$ numbers free, since $(L-1)/L$ and $(|\mathcal
# S|-1)/|\mathcal S|$ are both at least one half. The third is exact.

# %%
two = all_sequences(2, size)
room_side_by_side = modular_rank(side_by_side_features(two).long())
room_on_pairs = modular_rank(pair_features(two, size, 0, shared=False)[:, size**2 :].long())
shares = {f"L = {n}": rank / (n * n * size**2) for n, rank in zip(lengths, found, strict=True)}

# %% [markdown]
# All features being free must fail: 21 are, of 36. Exact ranks over the rationals settle the formula at nine sizes.

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
# ## What was learned
# What attention saves is not a product, which any network on pairs has, but the sharing of one table over all pairs of
# places: $|\mathcal S|^2$ numbers in the place of about $L^2|\mathcal S|^2$. The comparison holds against linear maps
# that are given the pairs. A linear network on the tokens themselves cannot form a pair, at any size, and a nonlinear
# one is not bound by the count.
#
# ## To try
# - Set `size = 2`: the formula becomes $2L^2$, and the rank follows it.
# - Set `longest = 7`: one more point, again on the curve, while the shared count stays where it is.

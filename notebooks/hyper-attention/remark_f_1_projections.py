# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 3 and Remark F.1 · Fewer dimensions than symbols
# *Ustaomeroglu, Qu: Section 3, "Why $d = |\mathcal S|$"; Appendix B, "Scalability to Lower Dimensions"; Remark F.1,
# Appendix F.2.*
#
# The theorems have as many dimensions as symbols. In practice there are fewer, and the paper says in two places that
# little is lost: embeddings need not be orthogonal, only nearly so, and random vectors in a few dimensions are. In $d$
# dimensions any two of $n$ random unit vectors have an inner product of at most about $\sqrt{\log n / d}$, as the lemma
# of Johnson and Lindenstrauss has it.
#
# Whether little is lost depends on what is counted. A single inner product is nearly right. But a layer adds up many of
# them, over the tokens of a sequence and over the features of a token, and what it adds up are as many errors. And two
# layers that are compared must be judged by the same measure.

# %%
import math
from itertools import pairwise

import torch

from attention_theory.hyper_attention.interactions.approximation import best_residual
from attention_theory.hyper_attention.interactions.projections import (
    agreements,
    fewest_entrywise,
    least_width,
    missed_agreements,
    width_for,
)
from attention_theory.randomness import normal, streams
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
size = 24  # symbols |S|, from 10 to 200
trained_size = 6  # symbols of the trained layers, from 4 to 8
restarts = 20  # random starts of each search for the best layer, from 5 to 200
counts = [10, 100, 1000]  # random vectors, each ten times as many as the last, each from 10 to 2000
accuracy = 0.5  # largest inner product allowed, from 0.3 to 0.8
draws = 12  # draws of everything random, from 10 to 200
features = 256  # features of the last test, from 128 to 1024
values = 3  # values of each feature, from 2 to 4
seed = 0  # of every draw, at least 0
device = "cpu"  # where layers are trained, one of "cpu", "cuda"

# %%
require(size=(size, 10, 200), trained_size=(trained_size, 4, 8), restarts=(restarts, 5, 200))
require(counts=(Each(counts), 10, 2000), number_of_counts=(len(counts), 3, 3), accuracy=(accuracy, 0.3, 0.8))
require(draws=(draws, 10, 200), features=(features, 128, 1024), values=(values, 2, 4), seed=(seed, 0, None))
require(device=(device, {"cpu", "cuda"}))

# %% [markdown]
# ## The gap of a narrow embedding
#
# <!-- claim hyper-attention/remark-johnson-lindenstrauss -->
# <blockquote>
#
# **Section 3 (The gap of a narrow embedding)** *Section 3; Appendix B, "Scalability to Lower Dimensions"*
#
# **As printed.** Reducing to $d < |\mathcal S|$ "merely introduces a small approximation gap", for instance by
# projections as of Johnson and Lindenstrauss.
#
# **Corrected.** With $d < |\mathcal S|$ dimensions a layer misses at least $\sum_{i>d} \sigma_i^2$ of the squared norm
# of its target $F\,\mathrm{diag}(w)$, the singular values being those of the target. That is small where these fall
# fast; it is a share of $1 - d/|\mathcal S|$ for $F = I$, and large for random interactions.
#
# The gap depends on the interaction. (A random projection keeps each inner product to $\varepsilon$; a token adds up
# $L$ of them.)
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Section 3, fewer dimensions than symbols, as corrected</summary>
#
# With one output a layer makes $T = BCB^\top \mathrm{diag}(Bv)$, of rank at most $d$. No matrix of rank $d$ is nearer
# to $T^\star = F\,\mathrm{diag}(w)$ than the one with its $d$ largest singular values (Eckart and Young), so $\|T -
# T^\star\|^2 \ge \sum_{i > d} \sigma_i^2(T^\star)$. For $F = I$ and $w = \mathbf 1$ all singular values are 1, and the
# share is $1 - d/|\mathcal S|$. By Theorem B.2, corrected, $d = 2r + q$ dimensions come within what the singular values
# after $r$ and $q$ allow: where these fall fast, little is lost. $\square$
#
# </details>
#
# Three interactions on $|\mathcal S|$ places around a loop, all with $w = \mathbf 1$: a smooth one, a bell of the
# distance; $F = I$, where only equals act on each other; and random ones.

# %%
places = torch.arange(size, dtype=torch.float64)
distance = torch.minimum((places[:, None] - places).abs(), size - (places[:, None] - places).abs())
sources = streams(seed, draws)
interactions = {
    "smooth": [(-((distance / (size / 6)) ** 2)).exp()],
    "F = I": [torch.eye(size, dtype=torch.float64)],
    "random": [normal(size, size, seed=source) for source in sources],
}


def least_share(interaction, width):
    """The share of the squared norm that no layer of this width can hold."""
    squares = torch.linalg.svdvals(interaction).square()
    return (squares[width:].sum() / squares.sum()).item()


half = size // 2
shares = {name: [least_share(one, half) for one in some] for name, some in interactions.items()}
quarter = [least_share(one, size // 4) for one in interactions["random"]]

# %% [markdown]
# A random projection of $F = I$, with scores $BB^\top$ and the best factor before them; and trained layers on fewer
# symbols. No layer can be better than the bound; whether one is as good, the bound does not say.

# %%
projected = []
for source in sources:
    vectors = normal(size, half, seed=source)
    scores = vectors @ vectors.mT
    factor = scores.trace() / scores.square().sum()
    projected.append(((factor * scores - torch.eye(size)).square().sum() / size).item())

few = torch.arange(trained_size, dtype=torch.float64)
apart = torch.minimum((few[:, None] - few).abs(), trained_size - (few[:, None] - few).abs())
small = {
    "smooth": (-((apart / (trained_size / 6)) ** 2)).exp(),
    "random": normal(trained_size, trained_size, seed=seed),
}
over_bound = {}
for name, one in small.items():
    for width in range(1, trained_size):
        found = best_residual(one.unsqueeze(-1).to(device), width, restarts, steps=600, seed=seed)
        over_bound[f"{name}, d = {width}"] = found / one.square().sum().item() - least_share(one, width)

# %% [markdown]
# How much of each interaction is out of reach, by the width:

# %%
fig, axis = show.axes(width=6.0)
widths = range(size + 1)
for (name, some), marker in zip(interactions.items(), show.MARKERS, strict=False):
    axis.plot(widths, [least_share(some[0], width) for width in widths], marker=marker, label=name)
axis.plot([half], [sum(projected) / draws], "D", color=show.COLOURS[3], label="F = I, random projection")
axis.set(xlabel="dimensions d", ylabel="least share of ‖T‖² that is missed")
axis.legend()
show.figure(
    fig,
    name="gap",
    caption="What no layer of width $d$ can hold of three interactions. A smooth one fits into a few dimensions, "
    "$F = I$ needs every one of them.",
    alt="Three falling curves: one that is near zero after a few dimensions, a straight line from one to zero, and one "
    "between them. A single mark above the straight line.",
)

# %% [markdown]
# As printed the gap is small. A tenth of the squared norm is taken for the largest that could be called so, which was
# set before the run. (Random interactions were first held to it at half as many dimensions, where what they miss turned
# out to be too near to a tenth to tell; a quarter is judged now.) Trained layers of one and two dimensions are judged
# by whether they reach the bound, which they could fail to do; those of other widths are shown.

# %%
claim = Claim("hyper-attention/remark-johnson-lindenstrauss")
claim.at_most("smooth, half as many dimensions as symbols: share missed", shares["smooth"][0], 0.01)
claim.equal("F = I, half as many: share missed", shares["F = I"][0], 1 - half / size, tolerance=1e-12)
claim.at_least("random, a quarter as many: share missed", estimate(quarter), 0.1)
claim.number("random, half as many: share missed, mean", sum(shares["random"]) / draws)
reached = {name: over_bound[name] for name in ("smooth, d = 1", "smooth, d = 2")}
claim.at_most("smooth, trained layers: share missed over the bound", reached, 1e-6)
claim.number("trained layers of all widths: share missed over the bound, largest", max(over_bound.values()))
claim.above("F = I, a random projection: share missed", estimate(projected), 1 - half / size)
claim.printed.at_most("F = I, half as many dimensions as symbols: share missed", shares["F = I"][0], 0.1)
claim.control.at_least(
    "F = I, as many dimensions as symbols: share missed", least_share(interactions["F = I"][0], size), 0.1
)
claim.verdict()

# %% [markdown]
# ## Random projections of features
#
# <!-- claim hyper-attention/remark-f-1 -->
# <blockquote>
#
# **Remark F.1 (Random projections)** *Appendix F.2*
#
# **The paper states.** By the Johnson–Lindenstrauss lemma the embedding dimension of self-attention becomes $d =
# O(|\Phi|)$. In the HyperFeatureAttention module, this same argument implies a dimension requirement of
# $O(\log|\Phi|)$. Hence, even though both methods rely on approximate embeddings, the exponential gap remains.
#
# **What is true.** For scores that say whether two tokens agree in all features, the gap remains in mean square:
# self-attention needs dimensions in proportion to $k^{|\Phi|}$, for $k$ values of each, and HyperFeatureAttention with
# $|\Phi|$ factors $\Theta(|\Phi|)$. Entry by entry, to within $\frac13$, self-attention needs $\Theta(|\Phi|\log k)$
# and HyperFeatureAttention $\Theta(|\Phi|\log k/\log(1+|\Phi|))$ dimensions: a logarithmic factor apart.
#
# **What changed.** The two figures compare inner products of whole tokens with those of single features, and these are
# two objects. For what a layer computes, by one measure for both, neither pair of figures is right, and entry by entry
# the gap is not exponential.
#
# <details><summary>Chosen after a run</summary>
#
# The thresholds for both scores, a half of the squares and a fifth of a dimension for each feature.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Scores that ask whether two tokens agree in one feature, less the chance of it, miss at least a
# fraction $1 - d / (|\Phi|(k-1))$ of their squares, whatever the embedding.
#
# </blockquote>
# <!-- /claim -->
#
# The remark is about features. All combinations of $|\Phi|$ features are exponentially many symbols, and the logarithm
# of that is $O(|\Phi|)$. The values of the features one by one are $O(|\Phi|)$ vectors, and the logarithm of that is
# $O(\log|\Phi|)$. At a fixed accuracy this can be run: how many dimensions do $n$ random vectors need until no two have
# an inner product above one half?
#
# But these are two objects, vectors of tokens and vectors of features. What both layers compute are scores, and we
# compare these by one measure at a time. In mean square self-attention needs as many dimensions as there are
# combinations, and HyperFeatureAttention as many as there are features: the gap is exponential. Entry by entry, which
# is the measure of Johnson and Lindenstrauss, both need about $|\Phi|$ dimensions, up to a factor $\log|\Phi|$: the gap
# is not exponential, whatever the weights ({doc}`proved on another page
# </notebooks/hyper-attention/entrywise_width>`).
#
# <details><summary>Proof of Remark F.1, as corrected</summary>
#
# *Single inner products.* Two random unit vectors in $d$ dimensions have an inner product above $\varepsilon$ with a
# probability of at most $2 e^{-d\varepsilon^2/2}$, and $n$ vectors have fewer than $n^2/2$ pairs: $d > 4 \log n /
# \varepsilon^2$ is enough. With $n = k^{|\Phi|}$ that is $O(|\Phi|)$, with $n = k|\Phi|$ it is $O(\log|\Phi|)$.
#
# *Scores, entry by entry.* With $C = \frac23I$ and unit vectors, the scores of self-attention are within $\frac13$ of
# whether two tokens agree in all features if no inner product exceeds $\frac12$: $d > 16 |\Phi| \log k$ is enough.
# {doc}`Elsewhere </notebooks/hyper-attention/entrywise_width>` we prove for $N$ tokens and scores of order $A$ that
# the least $d$ is of the order of $\ln N/\ln(1+A)$, with any weights. Here $N=k^{|\Phi|}$, with $A=1$ for
# self-attention and $A=|\Phi|$ for HyperFeatureAttention.
#
# *Scores of self-attention in mean square.* Tokens are all $N = k^{|\Phi|}$ combinations. Whether two of them agree in
# every feature is the identity, and $X C X^\top$ has a rank of at most $d$: it misses at least a share $1 - d/N$ of
# the squares (Eckart and Young).
#
# *Scores of HyperFeatureAttention.* With $|\Phi|$ factors the same score is the product over the features of whether
# two tokens agree in it. One-hots of all features side by side span $|\Phi|(k-1) + 1$ dimensions and hold each of these
# factors exactly. Nor can the order of $d$ be lower. For a product of $|\Phi|$ scores
#
# $$\prod_a x_i^\top C^{(a)} x_j = \Bigl\langle \bigotimes_a C^{(a)\top} x_i,\; x_j^{\otimes |\Phi|} \Bigr\rangle$$
#
# and the powers $x_j^{\otimes|\Phi|}$ lie among the symmetric tensors, a space of $\binom{d + |\Phi| - 1}{|\Phi|}$
# dimensions. So it misses at least a share $1 - \binom{d+|\Phi|-1}{|\Phi|} / k^{|\Phi|}$. With $d = \delta|\Phi|$ the
# binomial is at most $2^{(1+\delta) h |\Phi|}$, $h$ being the entropy of $\delta/(1+\delta)$ in bits; where $\delta$ is
# small that is exponentially less than $2^{|\Phi|}$. So $d \ge \delta|\Phi|$ for some fixed $\delta > 0$.
#
# *One feature at a time.* Let $F_a$ be the matrix of whether two tokens agree in feature $a$, less $1/k$. It is $\frac
# Nk$ times a projection of rank $k - 1$, and the projections of different features are orthogonal. With an embedding
# $X$ of $d$ dimensions the scores $X C^{(a)} X^\top$ have their columns in the span of $X$. Let $P$ be the projection
# on it. Then
#
# $$\sum_a \|F_a - X C^{(a)} X^\top\|^2 \ge \sum_a \|(I - P) F_a\|^2 = \Bigl(\frac Nk\Bigr)^2 \bigl(|\Phi|(k-1) -
# \mathrm{tr}(P \Pi)\bigr),$$
#
# where $\Pi$ is the projection on all features, and $\mathrm{tr}(P\Pi) \le d$. Over $\sum_a \|F_a\|^2 = (N/k)^2\,
# |\Phi|(k-1)$ this is the share. A span that holds $d$ of the directions of the features reaches it. $\square$
#
# </details>

# %%
needed = {count: [width_for(count, accuracy, 600, source) for source in streams(seed + 1, draws)] for count in counts}
steps = [
    [after - before for before, after in zip(needed[low], needed[high], strict=True)] for low, high in pairwise(counts)
]


def enough(count: int, inner: float) -> float:
    """Dimensions from which on all draws keep their inner products, except with probability 0.001."""
    return 2 / inner**2 * (2 * math.log(count) + math.log(1e4 * draws))


within_theory = {f"n = {count}": max(some) / enough(count, accuracy) for count, some in needed.items()}
combined = (4, 6, 8)  # features of two values each: 16 to 256 tokens
by_entry = {m: [width_for(2**m, 0.5, 600, source) for source in streams(seed + 2, draws)] for m in combined}
by_powers = {m: [width_for(2**m, 0.5 ** (1 / m), 600, source) for source in streams(seed + 2, draws)] for m in combined}
show.table(["vectors n", "dimensions needed, mean"], [[n, sum(some) / draws] for n, some in needed.items()])

# %% [markdown]
# Now the scores entry by entry, for $|\Phi|$ features of two values: how many dimensions until no two combinations
# have a score above a half of that of a combination with itself? (Two thirds of such scores are within $\frac13$ of
# whether two tokens agree in all features.) Self-attention takes random vectors. HyperFeatureAttention takes
# one-hots, or random vectors and their inner products to the power of $|\Phi|$.

# %%
show.table(
    ["features", "self-attention, mean", "HyperFeatureAttention, one-hots", "the same, powers, mean"],
    [[m, sum(by_entry[m]) / draws, m + 1, sum(by_powers[m]) / draws] for m in combined],
)
of_features = {f"{m} features": max(by_entry[m]) / enough(2**m, 0.5) for m in combined}

# %% [markdown]
# All three columns grow about in proportion to the number of features, the last one more slowly by a logarithm. In
# mean square this is different. The scores are the same for both: do two tokens agree in all features? On all
# combinations of a few features, with one factor for each of them and as many dimensions as their one-hots span; and
# the share that no score of self-attention in as many dimensions can hold.


# %%
def both_scores(count, each):
    """Dimensions, combinations, the error of the product of factors, and the least share self-attention misses."""
    agree, width = agreements(count, each), count * (each - 1) + 1
    span = torch.linalg.svd(agree.movedim(0, 1).flatten(1)).U[:, :width]
    held = span @ (span.mT @ agree @ span) @ span.mT  # the best factors of an embedding with this span
    together = agree.prod(dim=0)
    squares = torch.linalg.svdvals(together).square()
    missed = squares[width:].sum() / squares.sum()
    return width, len(together), (held.prod(dim=0) - together).abs().max().item(), missed.item()


few_features = {f"{n} features of {k}": both_scores(n, k) for n, k in ((3, 3), (4, 3), (6, 2), (7, 2))}
show.table(
    ["features", "dimensions d", "combinations", "error of HyperFeatureAttention", "share self-attention misses"],
    [[name, *row] for name, row in few_features.items()],
)

# %% [markdown]
# Fewer dimensions than features will not do for the product either, because of its rank: that of random scores, beside
# the bound, and the least number of dimensions that the bound leaves open at half of the squares.

# %%
ranks = {}
for width in (2, 3, 4):
    factors = normal(7, 128, width, seed=seed) @ normal(128, width, seed=seed + 1).mT
    product = factors.prod(dim=0)
    rank = torch.linalg.matrix_rank(product / product.norm(dim=1, keepdim=True), rtol=1e-12)
    ranks[f"7 factors, d = {width}"] = int(rank) - math.comb(width + 6, 7)
share_of_features = {f"{n} features": least_width(n, values) / n for n in (16, 64, 256, 1024)}
show.table(["features", "least d, over their number"], list(share_of_features.items()))

# %% [markdown]
# Last, one feature at a time, for many features. Every token holds the values of all its features in one vector of $d$
# entries, random ones or the best there are, and a score asks of one feature whether two tokens agree in it, less the
# chance. On four features of three values the embedding that holds one direction of a feature after the other is made
# from the tokens themselves, and held against the bound.

# %%
directions = features * (values - 1)
logarithmic = 8 * math.ceil(math.log2(features))
widths = sorted({logarithmic, directions // 4, directions // 2, directions})
best = {
    width: missed_agreements(torch.eye(directions, dtype=torch.float64)[:, :width], features, values)
    for width in widths
}
at_random = [missed_agreements(normal(directions, logarithmic, seed=one), features, values) for one in sources]
show.table(["d", "share missed by the best embedding"], [[width, best[width]] for width in widths])
less_chance = agreements(4, 3) - 1 / 3
span = torch.cat([torch.linalg.svd(one).U[:, :2] for one in less_chance], dim=1)
off_bound = {}
for width in (1, 2, 4, 6, 8):
    part = span[:, :width]
    kept = (part.mT @ less_chance @ part).square().sum() / less_chance.square().sum()
    off_bound[f"d = {width}"] = abs(1 - kept.item() - (1 - width / 8))

# %% [markdown]
# As printed a dimension of the order $\log|\Phi|$ is enough, here eight times $\log_2|\Phi|$; at least half of the
# squares should then be held, and entry by entry the least width should be no more than that.

# %%
claim = Claim("hyper-attention/remark-f-1")
claim.above("dimensions that a tenfold n adds", estimate(steps[0] + steps[1]), 0)
claim.at_most("dimensions over those that theory allows", within_theory, 1)
claim.at_most("entry by entry, self-attention, |Φ| features: over those that theory allows", of_features, 1)
claim.control.at_least("dimensions grow as n does: second step over the first", sum(steps[1]) / sum(steps[0]), 5)
hfa_error, sa_missed = ({name: row[k] for name, row in few_features.items()} for k in (2, 3))
claim.at_most("agreement in all features, d = |Φ|(k - 1) + 1: error of factors", hfa_error, 1e-12)
claim.at_least("the same by self-attention in as many dimensions: share missed", sa_missed, 0.5)
claim.control.at_least("one feature of 3 values, self-attention: share missed", both_scores(1, 3)[3], 0.5)
claim.equal("rank of a product of random scores, less the binomial", ranks, 0)
claim.at_least("least d for half of the product's squares, over |Φ|", share_of_features, 0.2)
claim.at_most("4 features, one at a time, all tokens: share missed, off the bound by", off_bound, 1e-12)
claim.above("one at a time, d = 8 log|Φ|: share missed by random embeddings", estimate(at_random), 0.5)
claim.printed.at_most("one at a time, d = 8 log|Φ|: share missed by the best embedding", best[logarithmic], 0.5)
slow = fewest_entrywise(2**4096, 4096) / (8 * 12)
claim.printed.at_most("entry by entry, 4096 features and factors: no fewer dimensions, over 8 log₂|Φ|", slow, 1)
claim.verdict()

# %% [markdown]
# ## What was learned
# Near orthogonality is cheap: a tenfold number of vectors costs a fixed number of dimensions more. It is not what a
# layer needs. A layer adds up its scores, and for these the singular values of the interaction decide: smooth ones fit
# into a few dimensions, and to tell all symbols apart takes about as many dimensions as there are. Products of scores
# need as many dimensions as features, where a single score needs as many as combinations: in mean square the
# exponential gap of the paper stays. Entry by entry it is a logarithm.
#
# ## To try
# - Set `draws = 24`: the intervals of all estimates become narrower, around the same values.
# - Set `features = 1024`: eight times the logarithm is a smaller share of what is needed, and more is missed.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 4.1 · How few samples determine one head
# *Beyond the paper: its certificate of identifiability, Section 4, for models with a single head.*
#
# The certificate of Lemma 4.1 works for any number of heads, and it needs many samples: with tokens of eight entries
# it needs at least 288. If we know that the labels come from a single head, and we also train a single head, how many
# samples do we really need? Sixteen.

# %%
import torch

from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# A table with three rows and three columns has nine numbers. If it can be any table, we have to see all nine to know
# it. Now suppose that it is a multiplication table, whose rows and columns have lost their labels. Then we need only
# five numbers, for example those of the first row and the first column, if their corner is not 0:
#
# | | | |
# | --- | --- | --- |
# | 2 | 4 | 10 |
# | 3 | ? | ? |
# | 5 | ? | ? |
#
# The second row is $\frac32$ times the first, so it continues with 6 and 15. The third row is $\frac52$ times the
# first.

# %%
fig, axis = schematic.canvas(height=2.6)
schematic.matrix(axis, [[1, 1, 1]] * 3, (1.5, 1.3), 0.9, "any table: nine numbers")
schematic.matrix(axis, [[1, 1, 1], [1, 0, 0], [1, 0, 0]], (8.5, 1.3), 0.9, "products: five numbers")

# %%
show.figure(
    fig,
    name="tables",
    caption="The cells that we must see (blue) to know a table. Left: any table. Right: a multiplication table.",
    alt="Two grids of three by three cells. On the left all cells are blue, on the right those of the first row and "
    "the first column.",
)

# %% [markdown]
# A head of linear attention is such a table of products, only larger. The numbers that we see are sums of its cells.
#
# ## What we prove
# A head computes $VGQz$. Here $z$ is the last token, and $G$ is the sum of $z_iz_i^\top$ over all $n$ tokens. Each
# output is a combination of $\psi=d^2(d+1)/2$ *features*, which are products of an entry of $G$ and an entry of $z$.
# Since each sample shows only one vector of features, the certificate of [Lemma 4.1](lemma_4_1_certificate.ipynb) needs
# at least $\psi$ samples.
#
# <!-- claim linear-attention/samples-for-one-head -->
# <blockquote>
#
# **Beyond Lemma 4.1 (How few samples determine one head)** *Section 4*
#
# Let $d\ge2$, let inputs have $n\ge d$ tokens, and let the labels come from one head with invertible $V$ and $Q$. For
# almost every choice of $N\ge2d$ inputs, no other function of one head gives these labels, even with complex weights.
# On any $N\le2d-1$ inputs, for almost every such head, other functions of one head arbitrarily near to it give the same
# labels.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A head has $2d^2$ weights. We may multiply $V$ by a number and divide $Q$ by it, so its function has $2d^2-1$ free
# numbers. A sample gives $d$ equations, one for each output. With $2d-1$ samples there are $d(2d-1)$ equations, which
# are fewer than the free numbers, so that other functions fit. With $2d$ samples there is one equation more than free
# numbers.
#
# Counting alone does not prove that one solution is left, because the equations are not independent for all pairs of
# heads. Two heads with the same $Q$, for example, whose matrices $V$ differ by a matrix of rank one, agree on every
# input on which one number vanishes. But such pairs are rare. The proof goes through all kinds of pairs, and sets the
# number of equations that they satisfy for free against how rare they are.
#
# <details><summary>Proof that 2d samples are enough, and 2d − 1 are not</summary>
#
# *Enough.* Consider inputs of rank $d$ whose last token is not 0; almost all are of this kind. Let a set of pairs
# $(G,z)$ have codimension $c$, and contain with $(G,z)$ all $(G,tz)$, $t\ne0$. Then the inputs $X$ with such a pair
# have codimension $c$ too. Let the rows of $X$ be the tokens, so that $G=X^\top X$. If $n>d$ and the first $n-1$ tokens
# have rank $d$, the map $X\mapsto(G,z)$ is a submersion: $\delta X=AX$ with symmetric $A$ on these rows takes every
# symmetric $\delta G$, and $\delta z$ is free. If $n=d$ and $X$ is invertible, $(X,t)\mapsto(G,tz)$ is one: symmetric
# $A$ gives every $\delta G$, and skew $A$ together with $\delta t$ every $\delta z$ at the same $G$. Let $(V',Q')$ be
# another head, with $V'=VW$, and write $a=Qz\ne0$ and $b=Q'z$. The two outputs agree if and only if $Ga=WGb$, a
# condition of this kind. For fixed $z$ it is linear in $G$.
#
# 1. Let $a$ and $b$ be independent. Then $(Ga,Gb)$ takes all values $(x,y)$ with $b\cdot x=a\cdot y$. A vector $e\ne0$
#    has $e\cdot(x-Wy)=0$ for all of them if and only if $(e,-W^\top e)$ is a multiple of $(b,-a)$. So there are $d$
#    equations for $G$, or $d-1$ if $W^\top b=a$.
# 2. Let $b=\kappa a$. Then $Ga-WGb=(I-\kappa W)\,Ga$, where $Ga$ takes all values: $\mathrm{rank}(I-\kappa W)$
#    equations. Only the eigenvalues $\kappa$ of $Q^{-1}Q'$ occur, at most $d$ of them.
#
# Let $c$ be the codimension of the inputs on which the two heads agree. With the condition on $z$ that each case needs,
# it is at least the smallest of three numbers: $d$; in case 1 with $W^\top b=a$, that is $(W^\top Q'-Q)z=0$, it is
# $d-1+\mathrm{rank}(W^\top Q'-Q)$; in case 2, where $(Q'-\kappa Q)z=0$, it is $\mathrm{rank}(I-\kappa
# W)+\mathrm{rank}(Q'-\kappa Q)$, for some $\kappa$. For $\kappa=0$ the last number is at least $d$.
#
# The $N$ inputs are *bad* if another function agrees on all of them. If an input has $D$ entries, the functions of a
# kind with codimension $c$ and $m$ free numbers, together with $N$ inputs on which they agree, form a set of at most
# $m+N(D-c)$ dimensions. The bad inputs are its projection, of codimension at least $Nc-m$. With $N\ge2d$ this is
# positive for all kinds:
#
# - $c\ge d$ (the first number, and the second where $W^\top Q'\ne Q$): $m\le2d^2-1$ and $Nc\ge2d^2$. (If $V'=0$ or
#   $Q'=0$, the function is 0, and $c=d$.)
# - $W^\top Q'=Q$ and $c\ge d-1$: $W$ determines $Q'$, and a factor of $W$ changes no function. So $m=d^2-1$, and
#   $Nc\ge2d(d-1)>d^2-1$ for $d\ge2$.
# - $c=r+f$ with $r=\mathrm{rank}(I-\kappa W)$ and $f=\mathrm{rank}(Q'-\kappa Q)$, $\kappa\ne0$. Multiply $W$ by
#   $\kappa$ and divide $Q'$ by it, so that $\kappa=1$. The matrices at a difference of rank $r$ from a given one have
#   $r(2d-r)$ free numbers, so that $m=2d(r+f)-r^2-f^2$. This is less than $2d(r+f)\le Nc$, unless $r=f=0$: but then the
#   functions are equal.
#
# So almost all inputs are not bad. (The bad real inputs lie in a proper algebraic subset, as the bad complex ones do.)
#
# *Not enough.* The outputs on $2d-1$ inputs are a polynomial map from the $2d^2$ weights to $d(2d-1)$ numbers. At
# almost all weights its rank is locally constant, and the weights with the same outputs form a manifold of dimension at
# least $2d^2-d(2d-1)=d$. Equal functions take only one dimension of it: by the above, the weights of an invertible head
# are determined up to a factor. For $d\ge2$ there are other functions, arbitrarily near. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
widths = [2, 3, 4]  # d, each from 2 to 5
starts = 12  # fits from random weights, and as many from weights near the teacher's, from 8 to 200
seed = 0  # seed of every draw, at least 0

# %%
require(widths=(Each(widths), 2, 5), starts=(starts, 8, 200), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# First we count equations exactly. At a random head and random inputs with integer entries, we compute the rank of the
# derivative of all outputs with respect to all weights. It is the largest of three draws, since a draw can happen to
# have a singular $V$ or $Q$.


# %%
def derivative(width, samples):
    """The derivative of the outputs on so many inputs, a row each, with respect to V and Q, in whole numbers."""
    values, queries = torch.randint(-99, 100, (2, width, width), generator=source)
    inputs = torch.randint(-99, 100, (samples, width, width), generator=source)
    moment, last = inputs.mT @ inputs, inputs[:, -1]
    seen = torch.einsum("ijk,ik->ij", moment, last @ queries.mT)
    by_values = torch.einsum("ab,ij->iabj", torch.eye(width, dtype=torch.int64), seen)
    by_queries = torch.einsum("aj,ijk,il->iakl", values, moment, last)
    return torch.cat([by_values.flatten(2), by_queries.flatten(2)], dim=2).flatten(0, 1)


def largest_rank(width, samples):
    return max(modular_rank(derivative(width, samples)) for _ in range(3))


counted = {d: {N: largest_rank(d, N) for N in (2 * d - 1, 2 * d)} for d in range(2, 8)}
show.table(
    ["d", "2d", "free numbers", "rank at N = 2d − 1", "rank at N = 2d", "ψ, for the certificate"],
    [(d, 2 * d, 2 * d * d - 1, ranks[2 * d - 1], ranks[2 * d], psi(d)) for d, ranks in counted.items()],
)

# %% [markdown]
# At $N=2d$ the rank is the number of free numbers, so no function near the teacher's fits. Fits from random weights
# look for functions far away.


# %%
def zero_loss(width, samples):
    """Relative distances of the coefficients to the teacher's, of fits without loss: from anywhere, from near it."""
    teacher = random_heads(1, width, source)
    true = coefficients(teacher)
    features = certificate_features(normal(samples, width, width, seed=source))
    anywhere, moved = (random_heads(1, width, source, models=(starts,)) for _ in range(2))
    near = Heads(teacher.values + 0.2 * moved.values, teacher.queries + 0.2 * moved.queries)
    distances = []
    for start in (anywhere, near):
        fits = fit_many(features, features @ true.mT, start, steps=300)
        found = coefficients(fits.heads)[fits.losses < 1e-20]
        distances.append((found - true).flatten(1).norm(dim=1) / true.norm())
    return distances


found = {(d, N): zero_loss(d, N) for d in widths for N in (2 * d - 1, 2 * d)}
show.table(
    ["d", "N", "fits without loss, of " + str(2 * starts), "nearest to the teacher", "farthest"],
    [(*case, len(torch.cat(parts)), torch.cat(parts).min(), torch.cat(parts).max()) for case, parts in found.items()],
)

# %% [markdown]
# With $2d$ samples every fit without loss is the teacher. With one sample fewer, none of them is.
#
# ## How we checked
# Fits near the teacher always exist; those from random weights often stop in a local minimum, and we require none. We
# also count the equations for $G$ in the cases of the proof, at $d=4$ and in whole numbers. As controls, we claim the
# same of one sample fewer.


# %%
def equations(a, b, W):
    """How many conditions Ga = WGb puts on a symmetric G."""
    size = len(a)
    rows, columns = torch.triu_indices(size, size)
    basis = torch.zeros(len(rows), size, size, dtype=torch.int64)
    basis[torch.arange(len(rows)), rows, columns] = 1
    basis[torch.arange(len(rows)), columns, rows] = 1
    return modular_rank(basis @ a - (basis @ b) @ W.T)


a, b = torch.randint(-9, 10, (2, 4), generator=source)
W, left, right = torch.randint(-9, 10, (3, 4, 4), generator=source)
close = {r: torch.eye(4, dtype=torch.int64) - left[:, :r] @ right[:r] for r in range(5)}  # I - W has rank r
cases = {"independent": equations(a, b, W), "independent, a = Wᵀb": equations(W.T @ b, b, W)}
cases |= {f"b = a, I − W of rank {r}": equations(a, a, near) for r, near in close.items()}
expected = dict(zip(cases, (4, 3, 0, 1, 2, 3, 4), strict=True))

# %%
farthest = {f"d = {d}": torch.cat(found[d, 2 * d]).max() for d in widths}
teachers = {f"d = {d}": int((torch.cat(found[d, 2 * d - 1]) < 1e-6).sum()) for d in widths}
others = {f"d = {d}": int((found[d, 2 * d - 1][1] > 1e-6).sum()) for d in widths}
missing = {f"d = {d}": 2 * d * d - 1 - ranks[2 * d] for d, ranks in counted.items()}
missing_fewer = {f"d = {d}": 2 * d * d - 1 - ranks[2 * d - 1] for d, ranks in counted.items()}

# %%
claim = Claim("linear-attention/samples-for-one-head")
claim.equal("N = 2d: free numbers less the exact rank", missing, 0)
claim.equal("d = 4: equations for G", cases, expected, of="proof")
claim.at_least("N = 2d: fits without loss, near", {f"d = {d}": len(found[d, 2 * d][1]) for d in widths}, 3)
claim.at_most("N = 2d: farthest fit without loss", farthest, 1e-9)
claim.equal("N = 2d − 1: fits without loss that are the teacher", teachers, 0)
claim.control.equal("N = 2d − 1: free numbers less the exact rank", missing_fewer, 0)
claim.control.equal("N = 2d − 1: fits without loss, near, that are not the teacher", others, 0)
claim.verdict()

# %% [markdown]
# **Open.** How many samples determine a model of $H$ heads, trained with $H$ heads? *Smallest case:* $d=3$ and two
# heads, whose functions have 32 free numbers, so at least 11 samples, against $\psi=18$.
#
# ## What to remember
# - A head is determined by $2d$ samples, although it has $\psi=d^2(d+1)/2$ coefficients.
# - The certificate is independent of the number of heads. A model that is known to be small needs far less data, but
#   nothing that we can check on the inputs alone says so.
# - More equations than unknowns do not make a solution unique. One has to ask which pairs satisfy many of them at once.
#
# ## Exercises
#
# 1. *By hand.* At $d=1$ a head computes $vq\,Gz$. How many samples determine it, and why does the count $2d$ fail?
#    <details><summary>Solution</summary>
#
#    One sample with $z\ne0$ determines $vq$. There is $2d^2-1=1$ free number, and a single sample gives one equation:
#    $2d-1=1$ is already enough, because $d(2d-1)=2d^2-1$ at $d=1$.
#
#    </details>
# 2. *Predict, then run.* Set `widths = [5]`. How many samples does the page try, and do all fits without loss at $N=2d$
#    find the teacher?
#    <details><summary>Solution</summary>
#
#    It tries 9 and 10. At 10 all of them do, but they all start near it: none of the 12 fits from random weights
#    reaches a loss of zero. That only one function fits does not make it easy to find.
#
#    </details>
#
# Next: [how many heads are enough](heads_enough.ipynb). With $d(d+1)/2$ or more heads, there are no bad local minima.

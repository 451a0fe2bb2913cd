# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 7 · What inputs of few tokens teach HyperAttention
# *Between Theorem 2.1 of Learning Linear Attention in Polynomial Time and Definition 6.1 of A Theoretical Study of
# (Hyper) Self-Attention through the Lens of Interactions.*
#
# HyperAttention weighs groups of tokens. Can it learn to weigh groups of three from inputs that have only two tokens?
# In general not completely, because some of what three tokens do together never happens with two. How much is missing
# can be counted exactly, and for groups in a fixed order we need only count words.

# %%
from collections import Counter
from itertools import combinations_with_replacement, pairwise, product

import torch

from attention_theory.bridges.few_tokens import (
    feature_shapes,
    ordered_rank_on_tokens,
    rank_on_tokens,
    shape_dimension,
)
from attention_theory.bridges.hyper_features import hyper_feature_count, hyper_features
from attention_theory.numerics import PRIME, modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Take tokens with two entries, and a head that looks at pairs of tokens. The two tokens of a pair come in the order of
# the input, and may be equal. The head's output is a combination of 18 *features*. Each feature is a product of two
# entries of the first token, two of the second, and one of the query, which is the last token of the input.
#
# We write a feature as a word of two pairs and a letter, with a letter for each entry. For example, ab·bb·a stands for
# the product of both entries of the first token, the square of the second entry of the second token, and the first
# entry of the query. A word *descends* where a part ends in b and the next part begins with a. The word ab·bb·a
# descends once, before its last letter.
#
# Now count the 18 words by their descents: 6 words have none, 10 have one and 2 have two. We shall see that inputs of
# one token teach a layer 6 numbers, inputs of two tokens teach it $6+10=16$, and inputs of three teach it all 18.

# %%
fig, axis = schematic.canvas(height=2.8)
rows = (("no descent", ("aa", "ab", "b")), ("one", ("ab", "bb", "a")), ("two", ("bb", "ab", "a")))
for height, (name, word) in zip((3.7, 2.4, 1.1), rows, strict=True):
    schematic.text(axis, (2.6, height + 0.4), name, align="right")
    tops = schematic.tokens(axis, word, (3.2, height), step=2.2)
    for place, (part, after) in enumerate(pairwise(word)):
        if part[-1] > after[0]:
            (left, y), (right, _) = tops[place : place + 2]
            schematic.arrow(axis, (left + 0.5, y), (right - 0.5, y), bend=0.4, colour=schematic.VERMILION)
for place, name in enumerate(("first token", "second token", "query")):
    schematic.text(axis, (4.15 + 2.2 * place, 0.5), name, schematic.QUIET, 9)
for height, text in ((3.7, "6 words: one token"), (2.4, "10 words: two tokens"), (1.1, "2 words: three tokens")):
    schematic.text(axis, (10.0, height + 0.4), text, align="left")

# %%
show.figure(
    fig,
    name="words",
    caption="Three of the 18 words, and how many tokens an input needs for their kind. Orange arrows mark descents.",
    alt="Three rows of boxes: aa, ab, b without an arrow; ab, bb, a with an orange arrow before a; bb, ab, a with two "
    "orange arrows. To the right: 6 words, one token; 10 words, two tokens; 2 words, three tokens.",
)

# %% [markdown]
# Each further token of the input adds the words with one more descent.
#
# ## What we prove
# *Linear HyperAttention* of order $s$ adds up, over tuples of $s-1$ tokens, a score times a value. It is linear in
# $\psi_s$ features of the query and the tokens (Bridge 2.1). If all inputs have $n$ tokens, including the query, their
# features span a space whose dimension we call the *rank*. The data determine a layer only if the rank is $\psi_s$. The
# sum may run over all tuples, or over tuples in the order of the tokens, as in Definition 6.1.
#
# For all tuples we use a theorem on symmetry. An invertible matrix that maps all tokens also maps the features, and
# their space is a sum of smallest parts that all such maps keep. Each part $S_\mu$ belongs to a *partition* $\mu$, a
# way to write a number as a sum, and is either reached as a whole or lost as a whole. We draw a partition as rows of
# cells. In the formula for the part's dimension, $\mathrm{hook}(i,j)$ is one more than the number of cells to the right
# of cell $j$ in row $i$ and below it.
#
# <!-- claim bridges/bridge-7-1 -->
# <blockquote>
#
# **Bridge 7.1 (HyperAttention's features on too few tokens)**
#
# For inputs of $n$ tokens, including the query, the features of Bridge 2.1 over all tuples have the rank
#
# $$\sum_\mu \dim S_\mu(\mathbb R^d), \qquad \dim S_\mu(\mathbb R^d) = \prod_{(i,j) \in \mu}
# \frac{d + j - i}{\mathrm{hook}(i,j)} ,$$
#
# where $\mu$ runs over the partitions of $2s-1$ with exactly one odd part and at most $n$ parts. This is all of
# $\psi_s$ if and only if $n \ge \min(d, s)$.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim bridges/bridge-7-2 -->
# <blockquote>
#
# **Bridge 7.2 (Too few tokens and ordered tuples)**
#
# Let inputs have $n$ tokens, of which the last is the query. The features of Bridge 2.1 over tuples with
# $j_1\le\dots\le j_{s-1}$ have as rank the number of words with fewer than $n$ descents. A word consists of $s-1$ pairs
# and one more letter, over $d$ letters, each pair in alphabetical order. It descends where a pair ends in a later
# letter than the next pair, or the last letter, begins with. For $d\ge2$ this is all of $\psi_s=d\,D^{s-1}$ if and only
# if $n\ge s$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *All tuples.* Take $d=s=3$ and two tokens. Then $G=z_1z_1^\top+z_2z_2^\top$, and its columns are in the plane of the
# two tokens, as is the query. The determinant of two columns of $G$ and the query is therefore zero. Since we can
# choose the columns in three ways, we lose three of 63 features. The proof shows that all losses are of this kind.
#
# <details><summary>Proof of Bridge 7.1</summary>
#
# Let $V = \mathbb R^d$ and $m = s-1$. A linear form $F$ on $V \otimes \mathrm{Sym}^m(\mathrm{Sym}^2 V)$ is a polynomial
# $F(q, G)$, linear in the query and of degree $m$ in $G = \sum_j z_jz_j^\top$. The rank is the dimension of the space
# of all $F$ minus that of the space of those which are 0 on all inputs of $n$ tokens. The latter space is invariant
# when one invertible matrix maps all tokens. Now $\mathrm{Sym}^m(\mathrm{Sym}^2 V)$ is the sum of all $S_{2\lambda}V$,
# $\lambda$ a partition of $m$, each once (Thrall), and $V \otimes S_{2\lambda}V$ is the sum of all $S_\mu V$ with $\mu$
# one cell larger than $2\lambda$ (Pieri). Such a $\mu$ has exactly one odd part and determines $\lambda$. Therefore no
# part occurs twice, and the forms that are 0 are a sum of some of the parts.
#
# *More than $n$ parts.* Polynomials of $n$ vectors hold no $S_\mu$ with more than $n$ parts (Cauchy). Therefore these
# forms are 0. The simplest are the minors of size $s$ of $s-1$ columns of $G$ and the query, for $n < s \le d$: $G$ has
# a smaller rank, and the query lies in the space of its columns.
#
# *At most $n$ parts, $k$ of them.* For $k > d$ the dimension is 0. Otherwise we restrict to $k$ tokens in $\mathbb
# R^k$, the other tokens and entries being 0. This maps the forms of $S_\mu(\mathbb R^d)$ onto those of $S_\mu(\mathbb
# R^k) \ne 0$, so that it is enough to show that none but 0 is 0 on all inputs there. We may therefore let $n = d = k$,
# and let $F$ be 0 on all inputs. Each positive definite $G$ occurs together with each $q$ for which $q^\top G^{-1}q =
# 1$: complete $u = G^{-1/2}q$ to an orthonormal basis, and let the tokens be $G^{1/2}$ times its vectors. $F$ is linear
# in $q$, so it is 0 for all multiples of these $q$, which are all $q$; and it is 0 on an open set of $G$. So $F = 0$.
#
# *All of it.* A $\lambda$ has at most $s-1$ parts, so $\mu$ has at most $s$. For each $k \le s$ there is a $\mu$ with
# $k$ parts, $(2(s-k)+2, 2, \dots, 2, 1)$, and for $k = 1$ it is $(2s-1)$. Therefore something is lost if and only if
# some $k$ with $n < k \le d$ is at most $s$. $\square$
#
# </details>
#
# *Tuples in order.* A tuple in order goes through the input from left to right, and its last place is the query. On $n$
# tokens it therefore changes from a token to the next at most $n-1$ times. A function of $s$ separate vectors that is 0
# unless neighbours differ at $n$ places or more is never seen. We build such functions from factors
# $x_ey_b-x_by_e$, which are 0 if $x=y$, one for each descent of a word. The number of all words is the number of all
# features, so nothing is left over.
#
# <details><summary>Proof of Bridge 7.2</summary>
#
# A linear form on the features is a polynomial $f(u_1,\dots,u_s)$ in one vector per *place*, of degree 2 in
# $u_1,\dots,u_{s-1}$ and of degree 1 in $u_s$, the place of the query. On an input it is $\sum_\pi
# f(z_{\pi(1)},\dots,z_{\pi(s)})$, where $\pi$ runs over the non-decreasing maps from places to tokens with $\pi(s)=n$.
# A token's degree in a term is given by the number of its places, and these numbers determine $\pi$. Hence the terms
# have different degrees, and the form is 0 on all inputs of $n$ tokens if and only if every term is: that is, if $f$ is
# 0 whenever $u_i\ne u_{i+1}$ at no more than $n-1$ of the *joints* $i=1,\dots,s-1$. Let $K_n$ be the space of these
# $f$, and $K_0$ that of all $f$. The rank is $\dim K_0-\dim K_n=\sum_{m=1}^n(\dim K_{m-1}-\dim K_m)$, and $K_s=0$.
#
# *Enough forms.* Let a word descend exactly at the joints in $T$, with $|T|=m-1$. At a joint $i\in T$ the part $i$ ends
# in a letter $e$ and the next begins with a letter $b<e$. Let $f_w$ be the product of the factors
# $u_{i,e}u_{i+1,b}-u_{i,b}u_{i+1,e}$ over $i\in T$ and of the entries for all other letters, each of the vector at its
# place. A pair has two letters, one for either side, so that no letter is needed twice. $f_w$ is 0 if $u_i=u_{i+1}$ at
# some $i\in T$, and so $f_w\in K_{m-1}$.
#
# *They are independent modulo $K_m$.* Let $f=\sum_wc_wf_w\in K_m$, over words with $m-1$ descents, and fix a $T$ with
# $|T|=m-1$. Let $u$ change only at the joints in $T$, so that it has *blocks* of equal vectors $x_1,\dots,x_m$. There
# $f=0$, and $f_w=0$ for all words of other sets, as each of these has a joint outside $T$. For a word of $T$ let $M_w$
# be the monomial with each letter as an entry of its block's vector; $f_w$ contains it with the factor 1. A word does
# not descend inside a block, so that $M_w$ determines $w$. Give a monomial the weight $\sum_k(m-k)\cdot(\text{sum of
# the letters of }x_k)$. Every other monomial of $f_w$ moves, at some joints, $e$ to the next block and the smaller $b$
# back, which lowers the weight. Among the $w$ of $T$ with $c_w\ne0$ take one with the largest weight of $M_w$. No other
# $f_{w'}$ contains $M_w$. So $f\ne0$ there unless all $c_w=0$.
#
# *No more than these.* So $\dim K_{m-1}-\dim K_m$ is at least the number of words with $m-1$ descents. Over all $m\le
# s$ these numbers add up to $d\,D^{s-1}$, the number of words, and the differences to $\dim K_0-\dim K_s=\dim K_0$,
# which is the same number. Hence all are equal. For $d\ge2$ the word $ab\cdot ab\cdots ab\cdot a$ has $s-1$ descents,
# so that $n<s$ tokens lose it. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
largest = 700  # the most features of a case, from 200 to 3000
seed = 0  # seed of every draw, at least 0

# %%
require(largest=(largest, 200, 3000), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# We compute exact ranks on slightly more random inputs than there are features, for both sums and every number of
# tokens below the order.


# %%
def rank_on(width, order, tokens, sum_over):
    """The exact rank from a few more inputs than there are features."""
    count = hyper_feature_count(width, order, sum_over) + 4
    whole = torch.randint(-9, 10, (count, tokens, width), generator=source)
    return modular_rank(hyper_features(whole[:, -1], whole, order, sum_over, scaled=False))


PREDICTED = {"all": rank_on_tokens, "le": ordered_rank_on_tokens}
cases = [
    (width, order, tokens, sum_over)
    for (width, order), sum_over in product([(2, 3), (3, 3), (4, 3), (2, 4), (3, 4), (2, 5)], PREDICTED)
    if hyper_feature_count(width, order, sum_over) <= largest
    for tokens in range(1, order)
]
found = {case: rank_on(*case) for case in cases}

# %%
show.table(
    ["d", "order s", "tokens", "tuples", "ψ_s", "rank predicted", "rank"],
    [
        [
            *case[:3],
            {"all": "all", "le": "in order"}[case[3]],
            hyper_feature_count(*case[:2], case[3]),
            PREDICTED[case[3]](*case[:3]),
            rank,
        ]
        for case, rank in found.items()
    ],
)

# %% [markdown]
# The last two columns agree. Fewer features are lost over all tuples, but there are also fewer to lose.
#
# ## How we checked
# We check that all partitions together give $\psi_s$, and write out the forms of the second proof: for $d=3$ and
# $s=3$, they must be independent, and each must be 0 on inputs with fewer changes than its word has descents.


# %%
def words(width, order):
    """All words, as tuples of parts."""
    pairs = list(combinations_with_replacement(range(width), 2))
    return list(product(*[pairs] * (order - 1), [(letter,) for letter in range(width)]))


def descents(word):
    """The joints at which a word descends."""
    return [joint for joint, (part, after) in enumerate(pairwise(word)) if part[-1] > after[0]]


# %%
def form(word, vectors):
    """The form of a word at stacks of one vector for each place, modulo a prime."""
    parts, value = [list(part) for part in word], 1
    for joint in reversed(descents(word)):
        end, begin = parts[joint].pop(), parts[joint + 1].pop(0)
        here, there = vectors[:, joint], vectors[:, joint + 1]
        value = value * (here[:, end] * there[:, begin] - here[:, begin] * there[:, end]) % PRIME
    for place, part in enumerate(parts):
        for letter in part:
            value = value * vectors[:, place, letter] % PRIME
    return value


# %%
every_word = words(3, 3)
vectors = torch.randint(-99, 100, (len(every_word) + 4, 3, 3), generator=source)
independent = modular_rank(torch.stack([form(word, vectors) for word in every_word]))


def seen_too_early(word):
    """Joint sets smaller than the word's descents at which its form is not 0."""
    changes = [at for at in product((0, 1), repeat=2) if sum(at) < len(descents(word))]
    blocks = [torch.tensor([0, at[0], sum(at)]) for at in changes]
    return sum(bool(form(word, vectors[:, block]).any()) for block in blocks)


early = sum(map(seen_too_early, every_word))
kinds = Counter(len(descents(word)) for word in words(2, 3))
print(f"{independent} independent forms of {len(every_word)} words; descents at d = 2: {dict(sorted(kinds.items()))}")

# %% [markdown]
# The counts for $d=2$ are those of the tiny example. The controls claim the full rank on two tokens, and count words
# with one more descent than is allowed.

# %%
every = [(width, order) for width in range(1, 7) for order in range(2, 7)]
wholes = {str(case): sum(shape_dimension(one, case[0]) for one in feature_shapes(case[1])) for case in every}
full = sum(
    (rank_on_tokens(*case, tokens) == hyper_feature_count(*case)) != (tokens >= min(case))
    for case in every
    for tokens in range(1, case[1] + 2)
)


def measured(sum_over, predicted=None, more=0):
    """Ranks of one kind of sum by case: those found, or those that a formula predicts."""
    mine = [case for case in cases if case[3] == sum_over]
    return {str(case[:3]): predicted(*case[:2], case[2] + more) if predicted else found[case] for case in mine}


# %%
claim = Claim("bridges/bridge-7-1")
claim.equal("rank", measured("all"), measured("all", rank_on_tokens))
claim.equal("sum over all partitions", wholes, {str(c): hyper_feature_count(*c) for c in every}, of="proof")
claim.equal("cases that are full just if n < min(d, s), or the other way round", full, 0)
claim.control.equal("d = s = 3, two tokens: rank", found[3, 3, 2, "all"], hyper_feature_count(3, 3))
claim.verdict()

# %%
claim = Claim("bridges/bridge-7-2")
claim.equal("rank", measured("le"), measured("le", ordered_rank_on_tokens))
claim.equal("d = s = 3: independent forms, one for each word", independent, len(every_word), of="proof")
claim.equal("d = s = 3: forms that fewer changes than descents see", early, 0, of="proof")
claim.equal(
    "rank on s tokens less all features",
    {str(case): ordered_rank_on_tokens(*case, case[1]) - hyper_feature_count(*case, "le") for case in every},
    0,
)
claim.control.equal("words with at most n descents", measured("le", ordered_rank_on_tokens, 1), measured("le"))
claim.control.equal("d = s = 3, two tokens, in order: rank", found[3, 3, 2, "le"], hyper_feature_count(3, 3, "le"))
claim.verdict()

# %% [markdown]
# ## What to remember
# - With fewer than $s$ tokens, some combinations of HyperAttention's weights never act, and no data can teach them.
#   Over all tuples this needs fewer than $d$ tokens as well.
# - Over tuples in order, each further token adds the words with one more descent.
# - Over all tuples, each further token adds the partitions with one more part. With $d$ tokens or more nothing is lost,
#   even if the order is larger.
#
# ## Exercises
#
# 1. *By hand.* Tokens have two entries, and the order is 4. How many features do inputs of one token teach?
#    <details><summary>Solution</summary>
#
#    A word without descents is a weakly increasing word of $2s-1=7$ letters over a and b. It is determined by the
#    number of its a's, from 0 to 7. This makes 8 features. Over all tuples there is one partition with one part, $(7)$,
#    whose dimension at $d=2$ is also 8: one token has only one tuple, so both sums are the same.
#
#    </details>
# 2. *Predict, then run.* Add `(3, 5)` to the list of cases and set `largest = 3000`. Which ranks do you expect over all
#    tuples?
#    <details><summary>Solution</summary>
#
#    At $d=3$ nothing is lost with three tokens or more, so the last two of four ranks are $\psi_5=378$. With one token
#    the rank is $\binom{11}{2}=55$, from the partition $(9)$. With two tokens $(8,1)$, $(7,2)$, $(6,3)$ and $(5,4)$ are
#    reached as well, and the rank is $55+80+81+64+35=315$.
#
#    </details>
#
# Next: [Bridge 3](how_much_hyper_attention_memorises.ipynb). There, the same features are counted for storing instead
# of learning.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 4.2 · Pure noise is identifiable
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 4.2, Section 4 and Appendix B.*
#
# Which inputs determine the function that produced their labels? We might think of carefully designed inputs. The
# lemma states that inputs without any structure will do: if every entry is drawn at random, independently of all
# others, two models that are always right on such inputs agree on all inputs.

# %%
from itertools import product
from math import comb

import torch

from attention_theory.linear_attention.certified.moments import certify_moments, certify_noise
from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.model.features import certificate_features, pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose a token has two numbers. Write $z_1$ for the first numbers of all tokens, $z_2$ for the second ones, and
# $(s,t)$ for the last token. We compare two functions, $\|z_1\|^2t$ and $\langle z_1,z_2\rangle s$:
#
# | tokens | $\lVert z_1\rVert^2t$ | $\langle z_1,z_2\rangle s$ | difference |
# | --- | --- | --- | --- |
# | (2, 3) | $4\cdot3=12$ | $6\cdot2=12$ | 0 |
# | (5, 1) | $25\cdot1=25$ | $5\cdot5=25$ | 0 |
# | (1, 0), (2, 3) | $5\cdot3=15$ | $6\cdot2=12$ | 3 |
# | (1, 2), (2, 3) | $5\cdot3=15$ | $8\cdot2=16$ | −1 |
#
# With a single token, the functions are always equal, because $s^2t=st\,s$. No data of this kind can distinguish
# them. If we add a second token, we can distinguish them.

# %%
fig, axis = schematic.canvas(height=2.4)
for up, words, value in ((3.5, ["(2, 3)"], 0), (2.0, ["(1, 0)", "(2, 3)"], 3), (0.5, ["(1, 2)", "(2, 3)"], -1)):
    left = 4.3 if len(words) == 1 else 2.3
    schematic.tokens(axis, words, (left, up), [len(words) - 1], step=2.0)
    if len(words) == 2:
        schematic.text(axis, (1.9, up + 0.45), "varies", schematic.VERMILION, 9, "right")
    schematic.arrow(axis, (6.2, up + 0.45), (8.2, up + 0.45), colour=schematic.QUIET)
    schematic.text(axis, (8.5, up + 0.45), f"difference {value}".replace("-", "−"), align="left")

# %%
show.figure(
    fig,
    name="second-token",
    caption="The same last token (blue) in three inputs. On its own, it gives the difference 0. With a token before "
    "it, the difference depends on that token.",
    alt="Three rows of boxes. In the first a single blue box (2, 3) with difference 0. In the others the same blue box "
    "after the boxes (1, 0) and (1, 2), with the differences 3 and minus 1.",
)

# %% [markdown]
# If we keep the last token and vary the one before it, the difference also varies, so it is not always 0.
#
# ## The paper states
# Each entry of an input $Z$ is drawn independently from one distribution $\nu$ on the real numbers, whose $k$-th
# moment is $m_k$. The features $\mathcal{H}(Z)$ and the certificate, $\lambda_{\min}$ of their second moment, are
# those of [Lemma 4.1](lemma_4_1_certificate.ipynb).
#
# <!-- claim linear-attention/lemma-4-2 -->
# <blockquote>
#
# **Lemma 4.2 (Independent input noise yields identifiability)** *Section 4; Appendix B*
#
# **The paper states.** Let $(Z,y)\sim\mathcal D$ be a realizable dataset. Let $Z_{ab}$ be drawn i.i.d. from a
# distribution $\nu$ over $\mathbb R$ for all $a\in[d]$ and $b\in[n]$. Let the second and fourth moment of $\nu$ be
# denoted $m_2$ and $m_4$. Let $m_2>0$ and $m_4>m_2^2$. Then any population risk minimizers
# $\Theta,\Theta'\in\Omega_{\mathrm{PRM}}$ have $\mathrm{MHLA}_\Theta=\mathrm{MHLA}_{\Theta'}$ (17).
#
# **What is true.** Let the entries of $Z \in \mathbb{R}^{d \times n}$, $n \ge 2$, be drawn independently from a
# distribution $\nu$ with $m_4 > m_2^2$, so that the square of an entry is not constant (for $d=1$, any $n$ and $m_2>0$
# are enough). Then all minimisers of the population risk on realisable data are the same function. If the sixth moment
# is finite, $\lambda_{\min}(\mathbb{E}\,\mathcal{H}\mathcal{H}^\top) > 0$.
#
# **What changed.** The lemma is stated for every $n$. For $n = 1$ and $d \ge 2$ it is false: minimisers on inputs with
# one token can differ on longer ones. The proof obtains $\min(m_2^3, (m_4 - m_2^2) m_2)$ for the smallest eigenvalue,
# which is wrong.
#
# <details><summary>Slips (1)</summary>
#
# - The condition $m_2 > 0$ follows from $m_4 > m_2^2$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Neither symmetry nor a zero mean is needed. For standard normal entries with $d \ge 3$, the
# smallest eigenvalue is $n - 1$ in the features of Algorithm 2. It is $1 - 1/n$ for the features $j<k$ and $j=k$ of the
# paper's proof, and lower if the proof's linear feature is included, 0.31 at $d = 3$ and $n = 2$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Suppose two models are right on all such inputs. The difference of their outputs is a combination of features that
# is always 0. We fix the last token. This leaves a quadratic form, summed over all tokens, and the terms of the
# tokens before the last are independent of one another. A sum of independent terms is constant only if every term is
# constant. If the square of an entry varies, a quadratic form in independent entries is constant only if all its
# coefficients are 0. Therefore all coefficients of the difference are 0.
#
# We need both conditions. With a single token, there are no terms before the last, as in the tiny example. With entries
# $\pm1$ every square is 1, and $\|z_1\|^2-\|z_2\|^2$ is always 0.
#
# <details><summary>Proof of Lemma 4.2, as corrected</summary>
#
# *Equal outputs.* On realisable data a minimiser of the population risk has loss 0. So two of them, with coefficients
# $P$ and $P'$, have $(P - P')\mathcal{H}(Z) = 0$ almost surely, and it is enough to show: if $\sum_{j\le k,\ell}
# c_{jk\ell}\langle z_j, z_k\rangle z_{\ell n} = 0$ almost surely, then $c = 0$. (Then $P = P'$, and the two are the
# same function at every length.) No moment is needed for this. If the sixth moment is finite, $\Lambda =
# \mathbb{E}\mathcal{H}\mathcal{H}^\top$ exists, $c^\top\Lambda c = 0$ says the same, and so $\lambda_{\min}(\Lambda) >
# 0$.
#
# *An auxiliary fact.* Let $z \in \mathbb{R}^d$ have independent entries with law $\nu$, and let $q(z) = \sum_{j\le k}
# a_{jk}z_jz_k$ be constant almost surely. Then all $a_{jk} = 0$. For since the square of an entry is not constant, the
# support of $\nu$ holds two points $u, v$ with $|u| \ne |v|$. Fix $j$ and, outside a null set, the other entries; with
# $s = \sum_{k\ne j}a_{jk}z_k$, where $a_{jk} = a_{kj}$, the polynomial $a_{jj}z_j^2 + s z_j$ is constant on the support
# of $\nu$. Its values at $u$ and $v$ are equal, so $a_{jj}(u+v) + s = 0$. Hence $s$, a sum of independent variables, is
# constant, so each of its terms is; an entry is not constant, so $a_{jk} = 0$ for $k \ne j$ and $s = 0$. As $u + v \ne
# 0$, $a_{jj} = 0$.
#
# *The lemma.* Let $w$ be the last token and $q_w(z) = \sum_{j\le k}\big(\sum_\ell c_{jk\ell}w_\ell\big)z_jz_k$. The
# assumption says $\sum_{b<n}q_w(z_b) = -q_w(w)$, where $z_b$ is the $b$-th token. For almost every $w$ a sum of $n-1
# \ge 1$ independent variables is constant, so each of them is, and by the fact above $\sum_\ell c_{jk\ell}w_\ell = 0$.
# This again is a sum of independent variables that is constant, and $c_{jk\ell} = 0$. For $d = 1$ and any
# $n$ it reads $c\,(\sum_b z_b^2)\,z_n = 0$, and if $m_2 > 0$ the product is not 0 almost surely.
#
# *One token.* For $n = 1$ and $d \ge 2$ an antisymmetric $B \ne 0$ has $z^\top B z = 0$, so that heads $(V, Q)$ and
# $(V, Q + B)$ agree on all inputs of one token; for longer ones they do not, if $V \ne 0$.
#
# *Normal entries, $d \ge 3$.* By the law of total variance $\mathbb{E}(c\cdot\mathcal{H})^2 \ge (n-1)\,\mathbb{E}_w
# \mathrm{Var}_z\,q_w(z)$. A form with coefficients $a_{jk}$, $j \le k$, has variance $\sum_{j<k}a_{jk}^2 +
# 2\sum_ja_{jj}^2 \ge \sum_{j\le k}a_{jk}^2$, whose mean over $w$ is $\|c\|^2$. So $\lambda_{\min} \ge n-1$. It is
# attained by $c_{12,3} = 1$, $c_{13,2} = -1$: here $\mathbb{E}[c\cdot\mathcal{H}\mid w] = w_1w_2w_3 - w_1w_3w_2 = 0$,
# and the variance is $(n-1)\,\mathbb{E}(w_3^2 + w_2^2) = 2(n-1)$, with $\|c\|^2 = 2$. $\square$
#
# </details>
#
# ## See it run
# We compute everything on this page exactly. The second moment of the features follows from the moments of a single
# token up to degree six, which are finite sums. For the normal distribution, we use four nodes of Gauss–Hermite
# quadrature, which have the right moments. You can change these parameters.

# %% tags=["parameters"]
most_tokens = 12  # largest n in the picture, from 4 to 100
n = 6  # tokens of an input in the part on moments, from 2 to 8

# %%
require(most_tokens=(most_tokens, 4, 100), n=(n, 2, 8))
normal, signs = EntryDistribution.gaussian(), EntryDistribution.uniform(-1.0, 1.0)
laws = {
    "normal": normal,
    "normal of mean 1": EntryDistribution(tuple(value + 1 for value in normal.values), normal.weights),
    "uniform on -1, 0, 1": EntryDistribution.uniform(-1.0, 0.0, 1.0),
    "0 or 1": EntryDistribution.uniform(0.0, 1.0),
    "-1 or 2, mean 0": EntryDistribution((-1.0, 2.0), (2 / 3, 1 / 3)),
    "signs": signs,
}


def exact(law, width, tokens):
    return certificate_of(law.second_moment(width, tokens))


# %% [markdown]
# ### Six distributions
# We compare six distributions of the entries. In five of them the square of an entry varies; two of these have a
# nonzero mean, and one is skewed. In the sixth the entries are signs. For each, we count the independent directions
# about which the data say nothing, the *nullity*.

# %%
spectra = {(name, tokens): exact(law, 3, tokens) for name, law in laws.items() for tokens in range(1, most_tokens + 1)}
show.table(
    ["entries", "nullity, n = 1", "nullity, n = 2", r"$\lambda_{\min}$, n = 2", r"$\lambda_{\min}$, n = 3"],
    [
        [name, spectra[name, 1].nullity, spectra[name, 2].nullity, spectra[name, 2].smallest, spectra[name, 3].smallest]
        for name in laws
    ],
    caption="Exact spectra at d = 3, ψ = 18. With two or more tokens, only signs, whose square is constant, are "
    "singular.",
)

# %%
fig, axis = show.axes(width=5.2, height=4.0)
for name, marker in zip(laws, show.MARKERS, strict=False):
    heights = [spectra[name, tokens].smallest for tokens in range(1, most_tokens + 1)]
    axis.plot(range(1, most_tokens + 1), heights, marker + "-", label=name)
axis.set(xlabel="tokens n", ylabel=r"$\lambda_{\min}$ of $\Lambda$", yscale="symlog", ylim=(-0.003, None))
axis.set_yscale("symlog", linthresh=0.01)
axis.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
show.figure(
    fig,
    name="least-eigenvalue",
    caption="With one token, $\\lambda_{\\min} = 0$ for every distribution. With two or more tokens, it is positive "
    "and grows with $n$, except for signs. The vertical axis is linear below 0.01.",
    alt="The smallest eigenvalue against the number of tokens for six distributions, d = 3. All curves start at zero "
    "with one token. Five then rise; the curve of signs stays at zero.",
)

# %% [markdown]
# Both conditions are necessary. With one token, no distribution determines the function; with two or more tokens, all
# five do. The smallest eigenvalue grows with the number of tokens, since more varies. Signs never suffice.
#
# ### One token
# For every antisymmetric $B$ we have $z^\top Bz=0$. The heads $(V,Q)$ and $(V,Q+B)$ therefore agree on all inputs
# with a single token: if one is a minimiser, the other is also a minimiser. We compare their outputs on inputs with
# one and with two tokens.

# %%
source = generator(0)
head = random_heads(1, 3, source)
square = torch.randn(3, 3, generator=source, dtype=torch.float64)
other = Heads(head.values, head.queries + square - square.mT)
apart = {
    tokens: relative_error(mhla(other, inputs), mhla(head, inputs))
    for tokens in (1, 2)
    for inputs in [torch.randn(100, tokens, 3, generator=source, dtype=torch.float64)]
}

# %%
print(f"relative difference of the outputs: one token {apart[1]:.1e}, two tokens {apart[2]:.1f}")

# %% [markdown]
# ## How we checked
# We require a positive smallest eigenvalue for five distributions at two and three tokens, and the exact value $n-1$
# for normal entries. The nullities for signs and for one token must be those that we count by hand. As a control, we
# test signs, which should not pass.

# %%
smallest = {
    f"{name}, d = {width}, n = {tokens}": exact(laws[name], width, tokens).smallest
    for name, width, tokens in product(laws, (2, 3), (2, 3))
    if name != "signs"
}
of_signs = {f"d = {width}": exact(signs, width, 3).nullity for width in (2, 3, 4)}
of_one_token = {f"d = {width}": exact(normal, width, 1).nullity for width in (2, 3, 4)}

# %% [markdown]
# The proof in the paper uses other features: the pairs ($j<k$) and singles ($j=k$), centred and divided by $\sqrt n$,
# and a linear feature for each entry of the last token. For normal entries at $d=3$ and $n=2$, we sum over all nodes
# of the quadrature and obtain their second moment exactly.

# %%
of_proof = {
    f"n = {tokens}": certificate_of(normal.second_moment(3, tokens, centred=True)).smallest for tokens in (2, 3)
}
listed = torch.cartesian_prod(*[torch.tensor(normal.values, dtype=torch.float64)] * 6).unflatten(1, (2, 3))
chance = torch.cartesian_prod(*[torch.tensor(normal.weights, dtype=torch.float64)] * 6).prod(dim=1)
j, k = pairs(3)
centre = 2 * normal.moment(2) * (j == k).double()
centred = certificate_features(listed).unflatten(1, (-1, 3)) - centre[:, None] * listed[:, -1, None]
whole = torch.cat([centred.flatten(1) / 2**0.5, normal.moment(2) * listed[:, -1]], dim=1)
with_linear = torch.linalg.eigvalsh(whole.mT * chance @ whole)[0].item()

# %% [markdown]
# A certificate covers all distributions at once at $d=3$ and $n=2$: it is enough that an entry takes two values whose
# squares differ.

# %%
claim = Claim("linear-attention/lemma-4-2")
claim.above("n = 2 and 3, five laws: λ_min", smallest, 1e-6)
of_normal = {f"n = {tokens}": spectra["normal", tokens].smallest for tokens in (2, 3, most_tokens)}
n_less_1 = {f"n = {tokens}": tokens - 1 for tokens in (2, 3, most_tokens)}
claim.equal("normal, d = 3: λ_min", of_normal, n_less_1, tolerance=1e-10)
claim.equal("signs, n = 3: nullity d(d-1)", of_signs, {"d = 2": 2, "d = 3": 6, "d = 4": 12})
lost = {f"d = {width}": psi(width) - comb(width + 2, 3) for width in (2, 3, 4)}
claim.equal("normal, n = 1: nullity", of_one_token, lost)
claim.control.above("signs, d = 3, n = 3: λ_min", spectra["signs", 3].smallest, 1e-6)
claim.at_most("n = 1: outputs of (V, Q) and (V, Q + B), difference", apart[1], 1e-12)
claim.printed.at_most("n = 1: such minimisers on inputs of two tokens, difference", apart[2], 1e-12)
due = {case: 1 - 1 / int(case[4:]) for case in of_proof}
claim.equal("normal, d = 3: λ_min of the proof's pairs and singles", of_proof, due, tolerance=1e-10, of="proof")
named = min(normal.moment(2) ** 3, (normal.moment(4) - normal.moment(2) ** 2) * normal.moment(2))
claim.printed.equal("normal, d = 3, n = 2: λ_min in the proof", with_linear, named, tolerance=1e-10, of="proof")
claim.certified("d = 3, n = 2: any two values with different squares", certify_noise(3, 2))
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The lemma is stated for all $n$, and its proof would cover $n=1$, where it is false. The proof computes the second
# moment entry by entry, and overlooks that the last token, a factor of every feature, also enters the inner products.
# The matrix is therefore not diagonal, and we give another proof.
#
# ## Also on this page
# ### The moments in the paper's proof
#
# <!-- claim linear-attention/lemma-4-2-moments -->
# <blockquote>
#
# **Eqs. 48 to 52 (The moments in the proof of Lemma 4.2)** *Appendix B, Eqs. 48 to 52*
#
# **The paper states.** $\frac1n\mathbb E[\langle z_{j:},z_{k:}\rangle^2z_{\ell b}^2]=m_2^3$ (49), $\frac1n\mathbb
# E[(\|z_{j:}\|^2-nm_2)^2z_{\ell b}^2]=(m_4-m_2^2)m_2$ (51), and 0 in Eqs. 48, 50 and 52. Finally for the feature
# $\mathcal H(Z)_{\ell b}=m_2z_{\ell b}$ we have on the main diagonal $m_2^2$ and 0 everywhere else. The $\ell\ne\ell'$
# blocks are near zero.
#
# **What is true.** Let $\nu$ be symmetric, $v = (m_4 - m_2^2)\, m_2$, and call a feature $\langle z_j, z_k\rangle
# z_{\ell n}$ with $j<k$ a *pair* and one with $j=k$ a *single*. Up to renaming of the rows, the moments are:
#
# - A pair with itself, $\ell \in \{j,k\}$: $m_2^3 + v/n$.
# - A single with itself, $\ell = j$: $v + (m_6 - 3 m_2 m_4 + 2 m_2^3)/n$.
# - Pairs $\{1,2\}$ and $\{1,3\}$, with $\ell = 2, \ell' = 3$ or with $\ell = 3, \ell' = 2$: $m_2^3/n$.
# - Single 1 and pair $\{1,2\}$, with $\ell = 1, \ell' = 2$: $v/n$. Single 1 and pair $\{1,3\}$, with $\ell = 3,
#   \ell' = 1$: $v/n$.
# - The linear feature $m_2 z_\ell$: $m_2^3$ with itself, $v/\sqrt n$ with single $\ell$, $\ell' = \ell$, and
#   $m_2^3/\sqrt n$ with pair $\{j, \ell\}$, $\ell' = j$.
# - All other moments are as in the paper: $m_2^3$ for a pair and $v$ for a single with itself, where $\ell$ is
#   not in it, and otherwise 0.
#
# **What changed.** The last token is a factor of each feature and also enters its inner product, which gives terms in
# $1/n$ and $1/\sqrt n$. The paper's values also assume a symmetric distribution, which the lemma does not. Finally, the
# subtraction of $nm_2$ makes $p$ depend on $n$, so Lemma B.1 applies to one length at a time.
#
# <details><summary>Slips (1)</summary>
#
# - The moment of the linear feature with itself is $m_2^3$, not $m_2^2$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Eqs. 48 to 52, as corrected</summary>
#
# Let the law be symmetric, so that the mean of a product of entries is 0 as soon as one entry has an odd power. Write
# $z_{jb}$ for entry $j$ of token $b$, $S_{jk} = \sum_b z_{jb}z_{kb}$ for $j \ne k$, and $T_j = \sum_b (z_{jb}^2 -
# m_2)$, whose terms have mean 0. All products below are divided by $n$, but for those with the linear feature.
#
# *A pair with itself*, $S_{jk}^2z_{\ell n}^2$. Terms with $b \ne b'$ vanish: one of the two, say $b$, is not $n$, and
# $z_{jb}$ stands alone. Of the terms $z_{jb}^2z_{kb}^2z_{\ell n}^2$ those with $b < n$ have mean $m_2^3$; that with
# $b = n$ has $m_2^3$ if $\ell \notin \{j,k\}$, and $m_4m_2$ else. In all $m_2^3$, or $m_2^3 + (m_4m_2 - m_2^3)/n$.
#
# *A single with itself*, $T_j^2z_{\ell n}^2$. Terms with $b \ne b'$ vanish, since that of the one which is not $n$ has
# mean 0. Terms with $b = b' < n$ have mean $(m_4 - m_2^2)m_2$, and so has that with $b = n$ if $\ell \ne j$; if $\ell =
# j$ it has $\mathbb{E}(z^2-m_2)^2z^2 = m_6 - 2m_2m_4 + m_2^3$, which is $m_6 - 3m_2m_4 + 2m_2^3$ more.
#
# *Products that vanish.* Pairs 12 and 13, $\ell = \ell' = 1$: $z_{2b}$ stands alone. Singles 1 and 2, $\ell = \ell' =
# 3$: independent factors of mean 0. Single 1 and pair 12, $\ell = \ell' = 1$: $z_{2b}$ stands alone.
#
# *Products that do not.* Pair 12, $\ell = 2$, and pair 13, $\ell' = 3$: $S_{12}S_{13}z_{2n}z_{3n}$ has an even power of
# entry 2 only for $b = n$, and of entry 3 only for $b' = n$; the mean of that term is $m_2^3$. With $\ell = 3$,
# $\ell' = 2$ it is the same product. Single 1, $\ell = 1$, and pair 12, $\ell' = 2$: $T_1S_{12}z_{1n}z_{2n}$ asks for
# $b = n$ in $S_{12}$, which leaves $T_1z_{1n}^2z_{2n}^2$ with mean $\mathbb{E}(z^2-m_2)z^2\cdot m_2 = (m_4-m_2^2)m_2$.
# Single 1, $\ell = 3$, and pair 13, $\ell' = 1$: the same with 3 in place of 2.
#
# *The linear feature* $m_2z_{\ell n}$: with itself $m_2^2\,m_2 = m_2^3$; with single $\ell$, which carries $1/\sqrt n$,
# $\frac{m_2}{\sqrt n}\mathbb{E}\,T_\ell z_{\ell n}^2 = \frac{m_2(m_4-m_2^2)}{\sqrt n}$; linear 2 with pair 12, $\ell' =
# 1$: $\frac{m_2}{\sqrt n}\mathbb{E}\,S_{12}z_{1n}z_{2n} = \frac{m_2^3}{\sqrt n}$, of the term $b = n$. $\square$
#
# </details>

# %%
d = 3
at = {(int(j), int(k)): row for row, (j, k) in enumerate(zip(*pairs(d), strict=True))}


def expectation(law, first, second):
    """The exact expectation of two centred features, each given as ((j, k), l), counted from 1."""
    moment = law.second_moment(d, n, centred=True).reshape(len(at), d, len(at), d)
    (j, k), last = first
    (j_other, k_other), last_other = second
    return moment[at[j - 1, k - 1], last - 1, at[j_other - 1, k_other - 1], last_other - 1].item()


# %% [markdown]
# For each product of two features, written as $((j,k),\ell)$, we list the paper's value and the correct one for two
# symmetric distributions, the normal one and the uniform one on $-1,0,1$.


# %%
def cases(law):
    m2, m4, m6 = (law.moment(degree) for degree in (2, 4, 6))
    spread = (m4 - m2**2) * m2
    single_with_token = ((n - 1) * spread + m6 - 2 * m2 * m4 + m2**3) / n
    return [
        ("(48) pairs 12 and 13, l = 1", ((1, 2), 1), ((1, 3), 1), 0, 0),
        ("(49) pair 12, l = 3", ((1, 2), 3), ((1, 2), 3), m2**3, m2**3),
        ("(49) pair 12, l = 2", ((1, 2), 2), ((1, 2), 2), m2**3, m2**3 + (m4 * m2 - m2**3) / n),
        ("(50) singles 1 and 2, l = 3", ((1, 1), 3), ((2, 2), 3), 0, 0),
        ("(51) single 1, l = 2", ((1, 1), 2), ((1, 1), 2), spread, spread),
        ("(51) single 1, l = 1", ((1, 1), 1), ((1, 1), 1), spread, single_with_token),
        ("(52) single 1, pair 12, l = 1", ((1, 1), 1), ((1, 2), 1), 0, 0),
        ("pair 12, l = 2, and pair 13, l = 3", ((1, 2), 2), ((1, 3), 3), "near zero", m2**3 / n),
        ("single 1, l = 1, and pair 12, l = 2", ((1, 1), 1), ((1, 2), 2), "near zero", spread / n),
        ("pair 12, l = 3, and pair 13, l = 2", ((1, 2), 3), ((1, 3), 2), "near zero", m2**3 / n),
        ("single 1, l = 3, and pair 13, l = 1", ((1, 1), 3), ((1, 3), 1), "near zero", spread / n),
    ]


# %%
measured = {
    f"{law_name}, {name}": (expectation(laws[law_name], first, second), printed, right)
    for law_name in ("normal", "uniform on -1, 0, 1")
    for name, first, second, printed, right in cases(laws[law_name])
}
show.table(
    ["entries, product", "exact", "paper", "correct form"],
    [[name, *values] for name, values in measured.items()],
    caption=f"Expectations of products of two centred features, d = 3, n = {n}.",
)

# %% [markdown]
# Where the paper's value differs from ours, we test it for the normal distribution, for one of mean 1 and for a
# skewed one. We average the product of the linear feature and a pair over all inputs of two rows and two tokens.

# %%
three, off_centre, skew = (laws[name] for name in ("uniform on -1, 0, 1", "normal of mean 1", "-1 or 2, mean 0"))
other_laws = {
    "mean 1: (48) pairs 12 and 13, l = 1": (expectation(off_centre, ((1, 2), 1), ((1, 3), 1)), 0),
    "mean 1: (49) pair 12, l = 3": (expectation(off_centre, ((1, 2), 3), ((1, 2), 3)), off_centre.moment(2) ** 3),
    "-1 or 2: (52) single 2, pair 12, l = 1": (expectation(skew, ((2, 2), 1), ((1, 2), 1)), 0),
}
with_itself, _ = three.linear_feature_moments(n)
_, with_single = normal.linear_feature_moments(n)
spread = (normal.moment(4) - normal.moment(2) ** 2) * normal.moment(2) / n**0.5
every = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)] * 4).unflatten(1, (2, 2))
last_two = every[:, :, -1].prod(dim=1)  # z_1n z_2n, over all inputs of two rows and two tokens
with_pair = three.moment(2) * (every.prod(dim=1).sum(dim=1) * last_two).mean().item() / 2**0.5

# %% [markdown]
# The paper shows one calculation, Eq. 51. It takes the mean of $(\|z_j\|^2-nm_2)^2$, which is right, and multiplies
# it by the mean of $z_{\ell n}^2$. For $\ell=j$, the two factors are not independent. We compare this product, and
# the sum over tokens in our proof, with the mean over all $3^n$ rows of entries $-1$, 0 and 1.

# %%
row = torch.cartesian_prod(*[torch.tensor(three.values, dtype=torch.float64)] * n)
square = (row.square().sum(dim=1) - n * three.moment(2)).square()
m2, m4, m6 = (three.moment(degree) for degree in (2, 4, 6))
by_printed_step = ((n**2 - n) * m2**2 + n * m4 - n**2 * m2**2) / n
by_tokens = ((n - 1) * (m4 - m2**2) * m2 + m6 - 2 * m2 * m4 + m2**3) / n
eq_51 = (square * row[:, -1].square()).mean() / n
pair_due = three.moment(2) ** 3 / 2**0.5
all_products = certify_moments()
exact_values = {name: value for name, (value, _, _) in measured.items()}
right_values = {name: right for name, (_, _, right) in measured.items()}

# %% [markdown]
# The products of two features are polynomials in the moments and in $n$, so a check at three distributions and three
# values of $n$ proves them for all.

# %%
claim = Claim("linear-attention/lemma-4-2-moments")
claim.equal("correct forms", exact_values, right_values, tolerance=1e-10)
for name, (value, printed, right) in measured.items():
    if name.startswith("normal") and printed not in ("near zero", right):
        claim.printed.equal(f"as printed: {name}", value, printed, tolerance=1e-10)
for name, (value, printed) in other_laws.items():
    claim.printed.equal(f"as printed, {name}", value, printed, tolerance=1e-10)
claim.equal("linear feature, uniform on -1, 0, 1: m_2³", with_itself, three.moment(2) ** 3, tolerance=1e-10)
claim.misprint.equal("as printed: the same, m_2²", with_itself, three.moment(2) ** 2, tolerance=1e-10)
claim.equal("linear feature and single 1, l = 1, normal: m_2 (m_4 - m_2²) / √n", with_single, spread, tolerance=1e-10)
claim.printed.equal("as printed: the same, 0", with_single, 0, tolerance=1e-10)
claim.equal("linear feature 2 and pair 12, l = 1, uniform, n = 2: m_2³ / √n", with_pair, pair_due, tolerance=1e-10)
label = "Eq. 51, its first factor, all rows of -1, 0, 1"
claim.equal(label, square.mean() / n, by_printed_step, tolerance=1e-10, of="proof")
claim.printed.equal(
    "Eq. 51, l = j: the mean is that of its factors", eq_51, by_printed_step * m2, tolerance=1e-10, of="proof"
)
claim.equal("Eq. 51, l = j: the mean, token by token", eq_51, by_tokens, tolerance=1e-10, of="proof")
claim.certified("every symmetric distribution, all d and n: products of two features", all_products)
claim.verdict()

# %% [markdown]
# ## What to remember
# - Inputs of pure noise with two or more tokens determine the function, if the square of an entry varies.
# - The reason is that the tokens before the last one vary on their own.
# - If tokens have two or more numbers, inputs of a single token never suffice, and neither do signs.
#
# ## Exercises
#
# 1. *By hand.* Let $d=2$ and let all entries be $\pm1$. Find a combination of two features that is 0 on every input.
#    Why does it not help to add tokens?
#    <details><summary>Solution</summary>
#
#    One such combination is $\|z_1\|^2z_{1n}-\|z_2\|^2z_{1n}$. With $n$ tokens of signs, both squared norms are $n$,
#    so the difference is 0 for every $n$. With $z_{2n}$ we get a second combination: the nullity is $d(d-1)=2$.
#
#    </details>
# 2. *Predict, then run.* Set `n = 2`. In the table of the moments, where the paper has 1 and 2 for a pair and a single
#    with themselves, what are the exact values for normal entries and $\ell\in\{j,k\}$?
#    <details><summary>Solution</summary>
#
#    They are 2 and 6. The terms that the paper omits are divided by $n$, so they are largest for the fewest tokens:
#    the values are $1+\frac22$ for the pair and $2+\frac82$ for the single. At $n=6$ they are $1\frac13$ and
#    $3\frac13$.
#
#    </details>
#
# Next: [Lemma 4.3](lemma_4_3_many_heads.ipynb). Real labels have no model behind them, and we want the certificate for
# these as well.

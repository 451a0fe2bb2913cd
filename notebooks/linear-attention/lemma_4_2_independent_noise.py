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
# <!-- claim linear-attention/lemma-4-2 -->
# <blockquote>
#
# **Lemma 4.2 (Independent input noise yields identifiability)** *Section 4; Appendix B*
#
# **As printed.** The lemma is stated for every $n$. For $n = 1$ and $d \ge 2$ it is false. The condition $m_2 > 0$
# follows from $m_4 > m_2^2$. The proof arrives at $\min(m_2^3, (m_4 - m_2^2) m_2)$ for the least eigenvalue.
#
# **Corrected.** Let the entries of $Z \in \mathbb{R}^{d \times n}$, $n \ge 2$, be drawn independently from a law $\nu$
# whose square is not constant ($m_4 > m_2^2$). Then all minimisers of the population risk on realizable data are the
# same function; if the sixth moment is finite, $\lambda_{\min}(\mathbb{E}\,\mathcal{H}\mathcal{H}^\top) > 0$ says so.
# No symmetry and no zero mean is needed.
#
# $n \ge 2$ (or $d = 1$). For standard normal entries with $d \ge 3$ the least eigenvalue is $n - 1$ in the features of
# Algorithm 2, which is $1 - 1/n$ in the scale of the proof.
#
# </blockquote>
# <!-- /claim -->
#
# Why it is true: suppose some combination of the features is zero almost surely. Fix the last token $w$. What is left
# is a sum over the $n - 1 \ge 1$ other tokens of one quadratic form, and this sum must be constant. If the square of
# an entry is not constant, the products $z_j z_k$ and the constant 1 are linearly independent, so the form vanishes
# for almost every $w$, and then so does every coefficient. With $n = 1$ there is no other token, and the argument has
# nothing to stand on.
#
# Everything on this page is exact. $\Lambda$ follows from the moments of a single token up to degree six, which are
# finite sums; for the normal law four Gauss-Hermite nodes have the right moments.

# %%
from itertools import product
from math import comb

import torch

from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.exact_moments import (
    EntryLaw,
    exact_second_moment,
    gaussian_law,
    linear_feature_moments,
    uniform_law,
)
from attention_theory.linear_attention.model.features import pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
most_tokens = 12  # largest n in the picture, from 4 to 100
n = 6  # tokens of an input in the part on moments, from 2 to 8

# %%
require(most_tokens=(most_tokens, 4, 100), n=(n, 2, 8))
normal, signs = gaussian_law(), uniform_law(-1.0, 1.0)
laws = {
    "normal": normal,
    "normal of mean 1": EntryLaw(tuple(value + 1 for value in normal.values), normal.weights),
    "uniform on -1, 0, 1": uniform_law(-1.0, 0.0, 1.0),
    "0 or 1": uniform_law(0.0, 1.0),
    "-1 or 2, mean 0": EntryLaw((-1.0, 2.0), (2 / 3, 1 / 3)),
    "signs": signs,
}


def exact(law, width, tokens):
    return certificate_of(exact_second_moment(law, width, tokens))


# %%
spectra = {(name, tokens): exact(law, 3, tokens) for name, law in laws.items() for tokens in range(1, most_tokens + 1)}
show.table(
    ["entries", "nullity, n = 1", "nullity, n = 2", "λ_min, n = 2", "λ_min, n = 3"],
    [
        [name, spectra[name, 1].nullity, spectra[name, 2].nullity, spectra[name, 2].smallest, spectra[name, 3].smallest]
        for name in laws
    ],
    caption="Exact spectra at d = 3, ψ = 18. Only signs, whose square is constant, stay singular from two tokens on.",
)

# %%
fig, axis = show.axes(width=6.5, height=3.4)
for name, marker in zip(laws, show.MARKERS, strict=False):
    heights = [spectra[name, tokens].smallest for tokens in range(1, most_tokens + 1)]
    axis.plot(range(1, most_tokens + 1), heights, marker + "-", label=name)
axis.set(xlabel="tokens n", ylabel="λ_min of Λ", yscale="symlog", ylim=(-0.003, None))
axis.set_yscale("symlog", linthresh=0.01)
axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
show.figure(
    fig,
    name="least-eigenvalue",
    caption="At one token every law has $\\lambda_{\\min} = 0$. From two tokens on it is positive and grows with $n$, "
    "except for signs. The axis is linear below 0.01.",
    alt="The least eigenvalue against the number of tokens for six laws at d = 3. All curves start at zero at one "
    "token. Five rise from two tokens on; the curve of signs stays at zero.",
)

# %%
claim = Claim("linear-attention/lemma-4-2")
not_constant = [name for name in laws if name != "signs"]
for name, width, tokens in product(not_constant, (2, 3), (2, 3)):
    claim.check(f"{name}, d = {width}, n = {tokens}: λ_min", exact(laws[name], width, tokens).smallest, ">", 1e-6)
for tokens in (2, 3, most_tokens):
    claim.check(f"normal, d = 3, n = {tokens}: λ_min", spectra["normal", tokens].smallest, "==", tokens - 1, 1e-10)
for width in (2, 3, 4):
    nullity = exact(signs, width, 3).nullity
    claim.check(f"signs, d = {width}, n = 3: nullity", nullity, "==", width * (width - 1))
    one_token = exact(normal, width, 1).nullity
    claim.check(f"normal, d = {width}, n = 1: nullity", one_token, "==", psi(width) - comb(width + 2, 3))
claim.control("signs, d = 3, n = 3: λ_min", spectra["signs", 3].smallest, ">", 1e-6)
claim.check("normal, d = 3, n = 1: λ_min", spectra["normal", 1].smallest, "<=", 1e-12)

# %% [markdown]
# That $\lambda_{\min}=0$ at one token decides nothing by itself. But $z^\top A z=0$ for every antisymmetric $A$, so
# heads $(V,Q)$ and $(V,Q+A)$ give the same outputs on all inputs of one token: both are minimisers there. On two tokens
# they are different functions.

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
claim.check("n = 1: outputs of (V, Q) and (V, Q + A), difference", apart[1], "<=", 1e-12)
claim.printed("n = 1: such minimisers on inputs of two tokens, difference", apart[2], "<=", 1e-12)

# %% [markdown]
# The proof in the paper goes another way: it names the least eigenvalue, $\min(m_2^3, (m_4 - m_2^2)\,m_2)$ in a scale
# in which the features are divided by $\sqrt n$. For normal entries this is 1 for every $n$; the least eigenvalue is
# $1 - 1/n$. The argument at the top of the page takes its place.

# %%
for tokens in (2, 3, most_tokens):
    scaled = spectra["normal", tokens].smallest / tokens
    claim.check(f"normal, d = 3, n = {tokens}: λ_min / n", scaled, "==", 1 - 1 / tokens, 1e-10, of="proof")
named = min(normal.moment(2) ** 3, (normal.moment(4) - normal.moment(2) ** 2) * normal.moment(2))
claim.printed("normal, d = 3, n = 2: λ_min / n", spectra["normal", 2].smallest / 2, "==", named, 1e-10, of="proof")
claim.verdict()

# %% [markdown]
# ## The moments in the proof
# <!-- claim linear-attention/lemma-4-2-moments -->
# <blockquote>
#
# **Lemma 4.2 proof (The moments in the proof of Lemma 4.2)** *Appendix B, Eqs. 48 to 52*
#
# **As printed.** Expectation $m_2^3$ for a pair with itself, $(m_4 - m_2^2) m_2$ for a single with itself, 0 for all
# others with $\ell = \ell'$, and $m_2^2$ for the linear feature $m_2 z_\ell$ with itself and 0 with all others, for
# every law. (For $\ell \ne \ell'$ the proof says "near zero", and they go to 0.) Lemma B.1 is invoked.
#
# **Corrected.** In the proof, $n m_2$ is subtracted from each $\|z_j\|^2$ and all features are divided by $\sqrt n$.
# For a symmetric law the products of these features have the expectations given below as the correct form; they contain
# terms in $1/n$ wherever $\ell$ or $\ell'$ is a row of either feature.
#
# A pair with itself, $\ell \in \{j,k\}$: $m_2^3 + (m_4 m_2 - m_2^3)/n$. A single with itself, $\ell = j$: $((n-1)(m_4 -
# m_2^2) m_2 + m_6 - 2 m_2 m_4 + m_2^3)/n$. Pairs $\{1,2\}, \ell = 2$ and $\{1,3\}, \ell = 3$: $m_2^3/n$. Single 1,
# $\ell = 1$, and pair $\{1,2\}, \ell = 2$: $(m_4 - m_2^2) m_2/n$. The linear feature: $m_2^3$, and $m_2 (m_4 -
# m_2^2)/\sqrt n$ with single $\ell$. Pairs $\{1,2\}, \ell = 3$ and $\{1,3\}, \ell' = 2$: $m_2^3/n$. Single 1, $\ell =
# 3$, and pair $\{1,3\}, \ell' = 1$: $(m_4 - m_2^2) m_2/n$. The printed values hold where $\ell = \ell'$ is in neither
# feature, for laws whose mean and third moment are zero. With the subtraction, $p$ depends on $n$, so that Lemma B.1
# applies to one length at a time.
#
# </blockquote>
# <!-- /claim -->
# The proof subtracts $n m_2$ from the squared norms, divides by $\sqrt n$, and reads off a matrix that is diagonal.
# It forgets that the last token, whose entry $z_\ell$ is a factor, is itself a part of $\langle z_j, z_k\rangle$.
# Where $\ell$ is one of $j, k$ this gives terms in $1/n$. They do not make $\Lambda$ singular, so the lemma stands;
# but the matrix is neither diagonal nor has it the eigenvalues that the proof names. Products with $\ell \ne \ell'$ are
# called "near zero" there, and they are: they go to 0 like $1/n$.
#
# Three more things are wrong in the proof. The expectations are those of a law whose mean and third moment are zero,
# which the lemma does not assume. The linear feature $m_2 z_\ell$, which makes up for the subtraction, is not
# orthogonal to the rest: with single $\ell$ its product has the expectation $m_2 (m_4 - m_2^2)/\sqrt n$. And Lemma B.1
# asks for coefficients $p$ that do not depend on $n$. To undo the subtraction, $m_2 z_\ell$ has the coefficient
# $n\,p_{jj,\ell}$ summed over $j$: so the proof speaks of one length of the inputs at a time.

# %%
d = 3
j_of, k_of = pairs(d)
at = {(int(j), int(k)): row for row, (j, k) in enumerate(zip(j_of, k_of, strict=True))}


def expectation(law, first, second):
    """The exact expectation of two centred features, each given as ((j, k), l), counted from 1."""
    moment = exact_second_moment(law, d, n, centred=True).reshape(len(at), d, len(at), d)
    (j, k), last = first
    (j_other, k_other), last_other = second
    return moment[at[j - 1, k - 1], last - 1, at[j_other - 1, k_other - 1], last_other - 1].item()


def cases(law):
    """Name, the two features, the printed expectation (a word where it is one) and the right one."""
    m2, m4, m6 = (law.moment(degree) for degree in (2, 4, 6))
    spread = (m4 - m2**2) * m2
    pair_with_token = m2**3 + (m4 * m2 - m2**3) / n
    single_with_token = ((n - 1) * spread + m6 - 2 * m2 * m4 + m2**3) / n
    return [
        ("(48) pairs 12 and 13, l = 1", ((1, 2), 1), ((1, 3), 1), 0, 0),
        ("(49) pair 12, l = 3", ((1, 2), 3), ((1, 2), 3), m2**3, m2**3),
        ("(49) pair 12, l = 2", ((1, 2), 2), ((1, 2), 2), m2**3, pair_with_token),
        ("(50) singles 1 and 2, l = 3", ((1, 1), 3), ((2, 2), 3), 0, 0),
        ("(51) single 1, l = 2", ((1, 1), 2), ((1, 1), 2), spread, spread),
        ("(51) single 1, l = 1", ((1, 1), 1), ((1, 1), 1), spread, single_with_token),
        ("(52) single 1, pair 12, l = 1", ((1, 1), 1), ((1, 2), 1), 0, 0),
        ("pair 12, l = 2, and pair 13, l = 3", ((1, 2), 2), ((1, 3), 3), "near zero", m2**3 / n),
        ("single 1, l = 1, and pair 12, l = 2", ((1, 1), 1), ((1, 2), 2), "near zero", spread / n),
        ("pair 12, l = 3, and pair 13, l = 2", ((1, 2), 3), ((1, 3), 2), "near zero", m2**3 / n),
        ("single 1, l = 3, and pair 13, l = 1", ((1, 1), 3), ((1, 3), 1), "near zero", spread / n),
    ]


measured = {
    (law_name, name): (expectation(laws[law_name], first, second), printed, right)
    for law_name in ("normal", "uniform on -1, 0, 1")
    for name, first, second, printed, right in cases(laws[law_name])
}
show.table(
    ["entries", "product", "exact", "printed", "correct form"],
    [[law_name, name, *values] for (law_name, name), values in measured.items()],
    caption=f"Expectations of products of two centred features, d = 3, n = {n}.",
)

# %%
claim = Claim("linear-attention/lemma-4-2-moments")
for (law_name, name), (value, _printed, right) in measured.items():
    claim.check(f"{law_name}, {name}", value, "==", right, tolerance=1e-10)
for (law_name, name), (value, printed, right) in measured.items():
    if law_name == "normal" and printed not in ("near zero", right):
        claim.printed(f"as printed: {name}", value, "==", printed, tolerance=1e-10)
three, off_centre, skew = (laws[name] for name in ("uniform on -1, 0, 1", "normal of mean 1", "-1 or 2, mean 0"))
square, _ = linear_feature_moments(three, n)
claim.misprint("as printed: linear feature, uniform on -1, 0, 1: m_2²", square, "==", three.moment(2) ** 2, 1e-10)
claim.check("linear feature, uniform on -1, 0, 1: m_2³", square, "==", three.moment(2) ** 3, 1e-10)
_, with_single = linear_feature_moments(normal, n)
claim.printed("as printed: linear feature and single 1, l = 1, normal", with_single, "==", 0, 1e-10)
spread = (normal.moment(4) - normal.moment(2) ** 2) * normal.moment(2) / n**0.5
claim.check("linear feature and single 1, l = 1, normal: m_2 (m_4 - m_2²) / √n", with_single, "==", spread, 1e-10)
for law_name, law, name, first, second, printed in [
    ("mean 1", off_centre, "(48) pairs 12 and 13, l = 1", ((1, 2), 1), ((1, 3), 1), 0),
    ("mean 1", off_centre, "(49) pair 12, l = 3", ((1, 2), 3), ((1, 2), 3), off_centre.moment(2) ** 3),
    ("-1 or 2", skew, "(52) single 2, pair 12, l = 1", ((2, 2), 1), ((1, 2), 1), 0),
]:
    claim.printed(f"as printed, {law_name}: {name}", expectation(law, first, second), "==", printed, 1e-10)
claim.verdict()

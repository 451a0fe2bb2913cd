# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma B.1 · The certificate is not about attention
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma B.1, Appendix B.*
#
# When do data determine what a model computes? For linear attention, [Lemma 4.1](lemma_4_1_certificate.ipynb) gives a
# test. We show that the test works for every model that is linear in some features, and that a careless choice of
# features makes it fail on all data.
#
# ## The paper states
# <!-- claim linear-attention/lemma-b-1 -->
# <blockquote>
#
# **Lemma B.1 (The general certificate)** *Appendix B, Eqs. 34 to 39*
#
# **The paper states.** Let $D$ be realizable by $\Theta\in\Omega_H$. Let $p:=\{p_a\}_{a\in[d]}$ be a collection of
# polynomials $p_a:\Omega\to\mathbb R^\psi$, and $\mathcal H_n:\mathbb R^{d\times n}\to\mathbb R^\psi$ a uniform family.
# Let $p$ and $\mathcal H$ satisfy $\mathrm{MHLA}_\Theta(Z)[a]=\langle p_a(\Theta),\mathcal H_n(Z)\rangle$ (34) for all
# $Z$ for all $n$. Then if $\lambda_{\min}(\mathbb E_D[\mathcal H(Z)\mathcal H(Z)^\top])>0$, we have
# $\mathrm{MHLA}_\Theta=\mathrm{MHLA}_{\Theta'}$ (35) for all $\Theta,\Theta'\in\Omega_{\mathrm{ERM}}$.
#
# <details><summary>Slips (3)</summary>
#
# - The proof gives $p$ and $v$ the shape $\psi$, one row for all outputs. The right shape is $d\times\psi$, as in the
#   statement.
# - The proof writes $p(\Theta)\subseteq v_{\mathrm{ERM}}$ where it means $p(\Theta)\in v_{\mathrm{ERM}}$.
# - The proof begins with a $p$ that is equal for equal functions. This follows from $\lambda_{\min}>0$, and fails
#   without it.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Each minimiser has $p(\Theta)=v$, where $v$ is the unique minimiser of the linear regression.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/remark-certificate-introduced -->
# <blockquote>
#
# **Section 1 (Which features the certificate is about)** *Section 1*
#
# **The paper states.** Let $\Lambda_D$ be the second moment of the flattening of the data in the $\mathcal X$-feature
# space: $\Lambda_D=\mathbb E_D[\mathcal X(Z)\mathcal X(Z)^T]$. We show that, if $\Lambda_D$ is full rank, it is
# guaranteed that MHLA is identifiable with respect to the data.
#
# **What is true.** Let $\Lambda_D=\mathbb E_D[\mathcal H(Z)\mathcal H(Z)^\top]$, where $\mathcal H(Z)$ lists each
# feature of $\mathcal X(Z)$ once, as in Eq. 5 and Algorithm 2. If $\Lambda_D$ is full rank and the data are realisable,
# MHLA is identifiable with respect to the data.
#
# **What changed.** $\mathcal X(Z)$ has $d^3$ entries, of which at most $d^2(d+1)/2$ differ, so for $d\ge2$ its second
# moment is singular for all data, and the condition never holds. Eq. 5 has the right features.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Every minimiser has loss 0, so its coefficients $p$ solve a linear regression. If the features of the data span the
# space, this regression has a single solution.
#
# <details><summary>Proof of Lemma B.1, with a row of p for each output</summary>
#
# Let $P(\Theta) \in \mathbb{R}^{d \times \psi}$ have the rows $p_a(\Theta)$, let $h_i = \mathcal{H}(Z_i)$, and let
# $\bar\Theta$ be the model that made the labels, $y_i = P(\bar\Theta)h_i$.
#
# *Minimisers solve the regression.* $\bar\Theta$ has loss 0, so every minimiser has, and $P(\Theta)h_i = y_i$ for all
# $i$. So $P(\Theta)$ has loss 0 as a matrix $v$ of the regression $y \approx vh$: $P(\Theta) \in v_{\mathrm{ERM}}$.
#
# *The regression has one solution.* If $v$ and $v'$ are two, $(v - v')h_i = 0$ for all $i$, and $0 =
# \mathrm{tr}\,(v-v')\,\mathbb{E}_D[hh^\top]\,(v-v')^\top \ge \lambda_{\min}\|v-v'\|_F^2$. With $\lambda_{\min} > 0$,
# $v = v'$.
#
# So all minimisers have one and the same $P$. As it does not depend on $n$, they are the same function of inputs of all
# lengths. In the same way any two models that are equal on the data have the same $P$. Where $\lambda_{\min} = 0$ that
# can fail: if some $u \ne 0$ has $\langle u, \mathcal{H}(Z)\rangle = 0$ for all $Z$, then $P$ and $P + cu^\top$ are one
# function. $\square$
#
# </details>

# %% [markdown]
# ## See it run
# You can change these parameters.

# %%
from math import inf

import torch

from attention_theory.linear_attention.certified.coefficients import certify_other_model
from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.quadratic import Quadratic
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import certificate_features, cubic_features, psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import antisymmetric_twin, head_matrix, heads_from_matrix
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 3  # width of a token, from 2 to 4
n = 4  # tokens of an input, at least 2
starts = 40  # random starts of the fit, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(d=(d, 2, 4), n=(n, 2, None), starts=(starts, 10, None), seed=(seed, 0, None))
source = generator(seed)


def gaussian(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


# %% [markdown]
# ### Features that work
# Let $s$ be the sum of all tokens. The model $y=\sum_hv_h\langle u_h,z_n\rangle\langle w_h,s\rangle$ is linear in the
# products of the entries of $z_n$ and $s$. We fit it on inputs of $n$ tokens, and on inputs of one token, where
# $s=z_n$.

# %%
teacher = Quadratic.random(1, d, source)
fresh = gaussian(100, 7, d)


def zero_loss_fits(tokens):
    labels = teacher(tokens)
    fits = [Quadratic.random(1, d, source).fit(tokens, labels) for _ in range(starts)]
    return [model for model in fits if (model(tokens) - labels).square().mean() < 1e-18]


def output_gap(models):
    return max((relative_error(model(fresh), teacher(fresh)) for model in models), default=inf)


# %%
data = {"n tokens": gaussian(3 * d * d, n, d), "one token": gaussian(3 * d * d, 1, d)}
rows_of = {name: Quadratic.features(tokens) for name, tokens in data.items()}
certificates = {name: certificate_of(rows.mT @ rows / len(rows)) for name, rows in rows_of.items()}
minimisers = {name: zero_loss_fits(tokens) for name, tokens in data.items()}
show.table(
    ["data", r"$\lambda_{\min}$", "nullity", "zero-loss fits", "largest output gap to the teacher"],
    [
        [name, one.smallest, one.nullity, len(minimisers[name]), output_gap(minimisers[name])]
        for name, one in certificates.items()
    ],
    caption=f"The quadratic model, d = {d}, {starts} starts. The gap is relative, on fresh inputs of seven tokens.",
)

# %% [markdown]
# With $n$ tokens, all fits equal the teacher. With one token the features are symmetric, and the fits disagree.
#
# ### Features that never work
# The entries of $\mathcal X(Z)$ contain both $\langle z_j,z_k\rangle$ and $\langle z_k,z_j\rangle$, which are equal.

# %%
ranks, ranks_once = {}, {}
for width in (2, 3, 4):
    generic = gaussian(2 * width**3, n, width)
    rows, once = cubic_features(generic).flatten(1), certificate_features(generic)
    ranks[width] = certificate_of(rows.mT @ rows / len(rows)).rank
    ranks_once[f"d = {width}"] = certificate_of(once.mT @ once / len(once)).rank
model = random_heads(1, d, source)
twin = heads_from_matrix(antisymmetric_twin(head_matrix(model), source))
show.table(
    ["d", "features d³", "rank", "ψ"],
    [[width, width**3, rank, psi(width)] for width, rank in ranks.items()],
    caption="The rank of the features of Algorithm 8 on generic data.",
)

# %% [markdown]
# The rank never exceeds $\psi$, whatever the data.
#
# ## How we checked
# We require that fits agree exactly where the certificate holds. As controls we take one token, and all $d^3$
# features, for which equal functions can have different $p$. A certificate computes the ranks exactly.

# %%
tokens = data["n tokens"]
inputs, labels = Quadratic.features(tokens), teacher(tokens)
row = least_squares(inputs, labels)
identity = relative_error(inputs @ teacher.coefficients.mT, labels)
farthest = max((relative_error(one.coefficients, row) for one in minimisers["n tokens"]), default=inf)
slip = relative_error(inputs @ teacher.coefficients[:1].mT.expand(-1, d), labels)
same_function = relative_error(mhla(twin, fresh), mhla(model, fresh))

# %%
claim = Claim("linear-attention/lemma-b-1")
claim.at_most("⟨p, H(Z)⟩ and the output, difference", identity, 1e-12, of="proof")
claim.true("n tokens: certificate holds", certificates["n tokens"].holds)
claim.at_least("zero-loss fits", {name: len(fits) for name, fits in minimisers.items()}, 3)
claim.at_most("n tokens: largest output gap", output_gap(minimisers["n tokens"]), 1e-10)
claim.at_most("n tokens: p and the linear minimiser, difference", farthest, 1e-10, of="proof")
claim.equal("one token: nullity d(d-1)/2", certificates["one token"].nullity, d * (d - 1) // 2)
claim.control.at_most("one token: largest output gap", output_gap(minimisers["one token"]), 1e-10)
of_all = {f"d = {width}": rank for width, rank in ranks.items()}
claim.equal("all d³ features: rank", of_all, {f"d = {width}": psi(width) for width in ranks})
claim.at_most("twins: outputs, difference", same_function, 1e-12)
claim.control.close("twins: p = T, difference", head_matrix(twin), head_matrix(model), rtol=1e-9)
claim.misprint.at_most("p of shape ψ, one row for all outputs: difference", slip, 0.1, of="proof")
claim.certified("d = 3: independent features of the quadratic model", certify_other_model(3))
claim.verdict()

# %%
claim = Claim("linear-attention/remark-certificate-introduced")
claim.equal("each feature once: rank", ranks_once, {f"d = {width}": psi(width) for width in ranks})
claim.equal("all d³ features: rank", of_all, {f"d = {width}": psi(width) for width in ranks})
claim.misprint.equal("all d³ features: rank over d³", {f"d = {w}": r / w**3 for w, r in ranks.items()}, 1)
claim.verdict()

# %% [markdown]
# ## What to remember
# - The certificate is a fact about linear regression, not about attention.
# - It can hold only if no feature is listed twice.
# - If the certificate holds, equal functions have equal coefficients. Without it, they need not.
#
# ## Exercises
#
# 1. *By hand.* For how many directions of the first model's coefficients do inputs of one token give no information?
#    <details><summary>Solution</summary>
#
#    The features are $z_jz_k$, and those of $(j,k)$ and $(k,j)$ are equal. This hides $d(d-1)/2$ directions.
#
#    </details>
# 2. *Predict, then run.* Set `n = 2`. Are two tokens enough for the features that work?
#    <details><summary>Solution</summary>
#
#    Yes. With a second token, $s$ and $z_n$ are independent, and all $d^2$ products are independent functions.
#
#    </details>
#
# Back: [Lemma 4.1](lemma_4_1_certificate.ipynb).

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma B.1 · The general certificate
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma B.1, Appendix B.*
#
# The certificate of Lemma 4.1 is not about attention. Any model that is linear in some features, after a change of
# parameters $p$, has one: if the features of the data span the space, the data fix the coefficients. This page tries
# two more pairs $(p, \mathcal{H})$: one that works and one that never can.
#
# <!-- claim linear-attention/lemma-b-1 -->
# <blockquote>
#
# **Lemma B.1 (The general certificate)** *Appendix B, Eqs. 34 to 39*
#
# Let a model satisfy $f_\Theta(Z)[a] = \langle p_a(\Theta), \mathcal{H}_n(Z) \rangle$ for all $Z$ of all lengths $n$,
# with $p$ free of $n$, and let the data be realizable. If $\lambda_{\min}(\mathbb{E}_D \mathcal{H}\mathcal{H}^\top) >
# 0$, all empirical risk minimisers are the same function, and each has $p(\Theta) \in v_{\mathrm{ERM}}$, the one
# minimiser of the linear regression. Nothing about attention is used.
#
# **In the paper's proof.** $p$ and $v$ have the shape $\psi$, one row for all outputs, where the statement has $d$
# rows, and it writes $p(\Theta) \subseteq v_{\mathrm{ERM}}$.
#
# **Corrected.** $d \times \psi$, and $p(\Theta) \in v_{\mathrm{ERM}}$. That equal functions have equal $p$ is owed to
# $\lambda_{\min} > 0$; without it that fails.
#
# </blockquote>
# <!-- /claim -->
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
# ## A pair that works
# The model $y = \sum_h v_h \langle u_h, z_n\rangle \langle w_h, s\rangle$, with $s$ the sum of all tokens, is linear
# in the $d^2$ features $z_n \otimes s$. A teacher with one head labels $N$ inputs; one-head models are fitted from
# many starts and those with zero loss are kept. Two data sets: one with enough inputs of $n$ tokens, and one whose
# inputs have a single token. There $s = z_n$, the features are symmetric, and $d(d-1)/2$ directions are never seen.

# %%
teacher = Quadratic.random(1, d, source)
fresh = gaussian(100, 7, d)


def zero_loss_fits(tokens):
    labels = teacher(tokens)
    fits = [Quadratic.random(1, d, source).fit(tokens, labels) for _ in range(starts)]
    return [model for model in fits if (model(tokens) - labels).square().mean() < 1e-18]


def output_gap(models):
    return max((relative_error(model(fresh), teacher(fresh)) for model in models), default=inf)


# %% [markdown]
# The two data sets differ in their certificates, and so must the minimisers found on them.

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
# ## A pair that never works
# All $d^3$ entries of $\mathcal{X}(Z)$ with $p = \mathcal{T}_\Theta$ fit the hypothesis for linear attention as well.
# But $\langle z_j, z_k\rangle = \langle z_k, z_j\rangle$, so the second moment is singular whatever the data, and the
# certificate stays silent for ever. With this pair one function has many $p$: without $\lambda_{\min}>0$ equal
# functions need not have equal $p$. It is the pair of the paper's introduction. Algorithm 2 lists each product once.
#
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
# feature of $\mathcal X(Z)$ once, as in Eq. 5 and Algorithm 2. If $\Lambda_D$ is full rank and the data are realizable,
# MHLA is identifiable with respect to the data.
#
# **What changed.** $\mathcal X(Z)$ has $d^3$ entries, of which at most $d^2(d+1)/2$ differ, so for $d\ge2$ its second
# moment is singular for all data, and the sentence says nothing. Eq. 5 has the right features.
#
# </blockquote>
# <!-- /claim -->

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
    caption="The features of Algorithm 8 on generic data.",
)

# %% [markdown]
# ## What each says
# With enough tokens every fit of loss zero is the teacher, and its coefficients are the one linear minimiser. In the
# proof $p$ and $v$ have one row where the lemma has one for each output; with one row the outputs come out wrong.

# %%
tokens = data["n tokens"]
inputs, labels = Quadratic.features(tokens), teacher(tokens)
row = least_squares(inputs, labels)
identity = relative_error(inputs @ teacher.coefficients.mT, labels)
farthest = max((relative_error(one.coefficients, row) for one in minimisers["n tokens"]), default=inf)
slip = relative_error(inputs @ teacher.coefficients[:1].mT.expand(-1, d), labels)
same_function = relative_error(mhla(twin, fresh), mhla(model, fresh))

# %% [markdown]
# With a single token, or with all $d^3$ features, the certificate must be silent.
#
# A certificate counts the ranks in exact arithmetic.

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

# %% [markdown]
# Of the features in the introduction of the paper, more are listed than differ, and full rank is out of reach.

# %%
claim = Claim("linear-attention/remark-certificate-introduced")
claim.equal("each feature once: rank", ranks_once, {f"d = {width}": psi(width) for width in ranks})
claim.equal("all d³ features: rank", of_all, {f"d = {width}": psi(width) for width in ranks})
claim.misprint.equal("all d³ features: rank over d³", {f"d = {w}": r / w**3 for w, r in ranks.items()}, 1)
claim.verdict()

# %% [markdown]
# ## What was learned
# The certificate is a fact about linear regression: a model that is linear in features, after a change of parameters,
# is determined by data that span the features. It can hold only if no feature is listed twice, and that equal functions
# have equal coefficients is its conclusion, not its assumption.
#
# ## To try
# - Set `d = 4`: more directions are unseen with one token, and the gaps of its minimisers stay large.
# - Set `n = 2`: two tokens are enough for the pair that works.

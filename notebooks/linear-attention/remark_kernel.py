# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 2.1 · Algorithm 1 is a kernel method
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: the remark on kernels in Section 2.1.*
#
# Learning by regression needs a list of features, which is too long to write down for tokens with a hundred or more
# entries. Can we learn without it?
#
# ## A tiny example
# An input of one token with a single entry $z$ has the feature $z^3$. For the inputs 2 and 3, the product of the
# features is $8\cdot27=216$. We can also get it without features, from the product of the tokens, $6$: it is
# $6^2\cdot6$.
#
# ## The paper states
# <!-- claim linear-attention/remark-kernel -->
# <blockquote>
#
# **Algorithm 1 as a kernel method (Inner products in place of features)** *Section 2.1*
#
# **The paper states.** At a high level, Algorithm 1 is a kernel method defined by the feature mapping $\mathcal X$. The
# learned kernel predictor (a regressor) can be mapped back onto a set of parameters $\{\hat V_h,\hat Q_h\}_{h\in\hat
# H}$ for a MHLA with no more than $d^2$ heads via SVD.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Regression of least norm on the cubic features needs only their inner products,
#
# $$\langle\mathcal X(Z),\mathcal X(Z')\rangle=\|Z^\top Z'\|_F^2\,\langle z_n,z'_n\rangle ,$$
#
# so Algorithm 1 runs at any width. The Gram matrix has the same rank as $\Lambda_D$. For each input, it shows whether
# the data determine the output there, for models with $d^2$ heads. It can show $\lambda_{\min}(\Lambda_D)>0$ only with
# at least $\psi$ samples.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A feature is an entry of $G=ZZ^\top$ times an entry of the last token. The inner product of two feature lists is
# therefore $\langle G,G'\rangle\langle z_n,z'_n\rangle$, and least squares needs only such products.
#
# <details><summary>Proof of the kernel form of Algorithm 1</summary>
#
# The entry of $\mathcal{X}(Z)$ in row $j$ and column $(k, \ell)$ is $G_{jk}\, z_{\ell n}$. Hence
#
# $$\begin{aligned}
# \langle \mathcal{X}(Z), \mathcal{X}(Z') \rangle
# &= \textstyle\sum_{j,k} G_{jk} G'_{jk}\, \sum_\ell z_{\ell n} z'_{\ell n} \\
# &= \langle G, G' \rangle\, \langle z_n, z'_n \rangle .
# \end{aligned}$$
#
# With $G = \sum_s z_s z_s^\top$ over tokens, $\langle G, G' \rangle = \sum_{s,t} \langle z_s, z'_t \rangle^2 = \|Z^\top
# Z'\|_F^2$. Call the product $k(Z, Z')$.
#
# Output $a$ of a model with matrix $W$ is $\langle W_a, \mathcal{X}(Z) \rangle$, where $W_a$ is the $a$-th block of $d$
# rows. The loss sees $W_a$ only through its inner products with the features of the samples. Taking from $W_a$ its part
# orthogonal to all of them leaves the loss as it is and does not raise the norm; so the minimiser of least norm is
# $\hat W_a = \sum_i \alpha_{ia} \mathcal{X}(Z_i)$, with $\alpha = K^+ Y$ for the Gram matrix $K_{ij} = k(Z_i, Z_j)$,
# and its output at $Z$ is $\sum_i \alpha_{ia}\, k(Z_i, Z)$. It is again linear attention: expanding $G_i$, the term
# $\alpha_i\, k(Z_i, Z)$ is the sum over the tokens $t$ of $Z_i$ of the heads $V = \alpha_i z_t^\top$, $Q = z_t
# z_n^\top$.
# $\square$
#
# The rank of $K$ is the rank of the features of the samples, so it is the rank of $\Lambda_D$. The *squared* distance
# of $\mathcal{X}(Z)$ from their span is $k(Z, Z) - k_Z^\top K^+ k_Z$, where $k_Z$ has the entries $k(Z, Z_i)$. Where it
# is 0, all minimisers agree on $Z$. Where it is not, a multiple of the part outside the span may be added to $\hat W_a$
# at no loss, and the output at $Z$ moves. This is what can be certified in kernel form: input by input. The certificate
# of Lemma 4.1 asks for rank $\psi$, which $N < \psi$ samples never have; so in kernel form it can be denied at once,
# and granted only with $\psi$ samples or more.
#
# </details>

# %% [markdown]
# ## See it run
# You can change these parameters. We learn noisy labels of a random teacher twice, from features and from the kernel,
# with few samples and with many.

# %%
import torch

from attention_theory.linear_attention.certified.identities import certify_kernel
from attention_theory.linear_attention.learning.certificate import certificate
from attention_theory.linear_attention.learning.kernel import kernel, kernel_fit
from attention_theory.linear_attention.learning.regression import learn
from attention_theory.linear_attention.model.features import cubic_features, psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal, streams
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
widths = [2, 3, 5]  # d where the features are written down as well, each from 2 to 6
wide = 200  # d where they are not, from 20 to 400
samples = 150  # inputs learned from, from 20 to 600
tokens = 4  # tokens of an input, from 2 to 20
seed = 0  # seed of every draw, at least 0

# %%
require(widths=(Each(widths), 2, 6), wide=(wide, 20, 400), samples=(samples, 20, 600), tokens=(tokens, 2, 20))
require(seed=(seed, 0, None))

# %%
rows = []
for width, stream in zip(widths, streams(seed, len(widths)), strict=True):
    for count in (psi(width) - 2, 2 * psi(width)):
        inputs = normal(count, tokens, width, seed=stream)
        fresh = normal(50, tokens + 1, width, seed=stream + 1)
        labels = mhla(random_heads(2, width, seed=stream + 2), inputs) + 0.1 * normal(count, width, seed=stream + 3)
        fit = kernel_fit(kernel(inputs, inputs), labels)
        predicted = fit.predict(kernel(fresh, inputs))
        gap = relative_error(predicted, mhla(learn(inputs, labels).heads, fresh))
        heads = relative_error(mhla(fit.heads(inputs), fresh), predicted)
        ranks = fit.rank, certificate(inputs).rank
        features = cubic_features(inputs).flatten(1)
        exact = relative_error(kernel(inputs, inputs), features @ features.mT)
        rows.append((width, count, *ranks, exact, gap, heads))
show.table(
    ["d", "samples", "rank of K", "rank of Λ", "kernel", "predictions", "as heads"],
    rows,
    caption="Last three columns: relative differences between the results of the kernel and of the features.",
)

# %% [markdown]
# Both agree, and the result is again a layer of linear attention. At a width of 200, the features of one input would
# take 32 megabytes.

# %%
first, second, third = streams(seed, 6)[3:]
many = normal(samples, tokens, wide, seed=first)
taught = mhla(random_heads(2, wide, seed=second, scale=1 / wide), many)
gram = kernel(many, many)
big = kernel_fit(gram, taught)
back = relative_error(big.predict(gram), taught)
seen = big.outside(gram, gram.diagonal()).max().item()
strange = normal(20, tokens, wide, seed=third)
unseen = big.outside(kernel(strange, many), kernel(strange, strange).diagonal()).min().item()
print(f"d = {wide}: {psi(wide):,} features, rank {big.rank} of {samples} samples, labels back to {back:.1e}")

# %% [markdown]
# ## How we checked
# We compare kernel and features wherever both run. At the large width, the fit must reproduce the labels. As controls
# we leave the last token out of the kernel, and take new inputs, which should lie outside the span of the samples.

# %%
last_free = torch.einsum("isw,jtw->ijst", inputs, inputs).square().sum(dim=(-2, -1))
cross_free = torch.einsum("isw,jtw->ijst", fresh, inputs).square().sum(dim=(-2, -1))
without = kernel_fit(last_free, labels).predict(cross_free)
error_without = relative_error(without, mhla(learn(inputs, labels).heads, fresh))

# %%
claim = Claim("linear-attention/remark-kernel")
claim.at_most("kernel and inner products of features, largest difference", max(row[4] for row in rows), 1e-12)
claim.equal("rank of K less rank of Λ_D, largest", max(abs(row[2] - row[3]) for row in rows), 0)
claim.at_most("predictions by kernel and by features, largest difference", max(row[5] for row in rows), 1e-10)
claim.at_most("predictions of the heads, largest difference", max(row[6] for row in rows), 1e-10)
claim.at_most(f"d = {wide}: labels given back, difference", back, 1e-10)
claim.at_most(f"d = {wide}: part of the samples' own features outside the span", seen, 1e-10)
claim.below(f"d = {wide}: rank below the number of features", big.rank, psi(wide))
claim.control.at_most("kernel without the last token: predictions, difference", error_without, 1e-10)
claim.control.at_most(f"d = {wide}: part of new inputs' features outside the span", unseen, 1e-10)
claim.certified("d = 3, n = 3: the kernel for all pairs of inputs", certify_kernel(3, 3))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - Both methods discard what may be due to rounding: for the features, singular values below $10^{-10}$ of the
#   largest; for the kernel $k$, squared distances below $10^{-9}$ of the largest $k(Z,Z)$. Neither uses ridge
#   regularisation.
# - We compare predictions on fresh inputs with one more token.
#
# </details>
#
# ## What to remember
# - The kernel of Algorithm 1 is $\|Z^\top Z'\|_F^2\,\langle z_n,z'_n\rangle$.
# - Its cost depends on the number of samples, and not on the $d^3$ features.
# - For each input, the kernel shows whether the data determine the output.
#
# ## Exercises
#
# 1. *By hand.* Compute the kernel of two inputs: the first has the tokens $(1,0)$, $(0,1)$, the second the single
#    token $(1,1)$.
#    <details><summary>Solution</summary>
#
#    The products of the tokens are 1 and 1, so $\|Z^\top Z'\|_F^2=2$. The inner product of the last tokens is 1. The
#    kernel is 2.
#
#    </details>
# 2. *Predict, then run.* Set `wide = 400`. How many more features are there, and does the fit still reproduce the
#    labels?
#    <details><summary>Solution</summary>
#
#    There are eight times as many. The fit reproduces the labels as accurately as before, because the Gram matrix has
#    the same size.
#
#    </details>
#
# Back: [Theorem 2.1](theorem_2_1_regression.ipynb).

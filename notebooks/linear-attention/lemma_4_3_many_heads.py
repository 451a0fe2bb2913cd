# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 4.3 · With d² heads no teacher is needed
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 4.3, Section 4 and Appendix B.*
#
# Real labels come from no teacher, so no model fits them exactly. If we train two models and they fit equally well, can
# they still disagree on new inputs? The certificate of Lemma 4.1 says nothing here, because it needs labels that some
# model produces. Lemma 4.3 extends it to all labels, for models with enough heads.

# %%
from itertools import product

import torch

from attention_theory.linear_attention.certified.coefficients import certify_many_heads
from attention_theory.linear_attention.learning.certificate import certificate, certificate_of
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import learn, statistics
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import (
    antisymmetric_twin,
    coefficients,
    head_matrix,
    heads_from_matrix,
)
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose a model predicts $ax+by$ from two features. A *small* model may use only one of them: $a=0$ or $b=0$. We see
# two inputs:
#
# | input $(x, y)$ | label |
# | --- | --- |
# | $(1, 0)$ | 1 |
# | $(0, 1)$ | 1 |
#
# The squared errors add up to $(a-1)^2+(b-1)^2$. With a large model, which uses both features, we choose $a=b=1$ and
# have no error. A small model reaches its smallest error, 1, in two ways: $(1,0)$ and $(0,1)$. Both are best fits,
# and on the first input they predict 1 and 0.

# %%
fig, axis = schematic.canvas(height=2.4)
for left, title in ((2.4, "all models"), (9.2, "small models")):
    schematic.text(axis, (left + 1.0, 4.5), title)
    for end in ((left + 3.6, 1.0), (left, 3.9)):
        schematic.arrow(axis, (left, 1.0), end, colour=schematic.QUIET)
    schematic.text(axis, (left + 3.8, 1.0), "a", size=9)
    schematic.text(axis, (left - 0.25, 3.9), "b", size=9)
    axis.plot(left + 2, 3.0, "o", color=schematic.BLUE if left < 5 else schematic.QUIET, markersize=6)
    schematic.text(axis, (left + 2.2, 3.2), "(1, 1)", schematic.BLUE if left < 5 else schematic.QUIET, 9, "left")
axis.plot([9.2, 12.4], [1, 1], color=schematic.VERMILION, lw=2.5)
axis.plot([9.2, 9.2], [1, 3.6], color=schematic.VERMILION, lw=2.5)
for x, y, words, at in ((11.2, 1.0, "(1, 0)", (11.2, 0.6)), (9.2, 3.0, "(0, 1)", (8.5, 3.0))):
    schematic.arrow(axis, (11.2, 3.0), (x, y), colour=schematic.QUIET)
    axis.plot(x, y, "o", color=schematic.VERMILION, markersize=6)
    schematic.text(axis, at, words, schematic.VERMILION, 9)

# %%
show.figure(
    fig,
    name="cross",
    caption="The plane of the coefficients $a$ and $b$. Left: if all points are allowed, $(1,1)$ is best. Right: if "
    "only points on the orange lines are allowed, two of them are equally close to $(1,1)$.",
    alt="Two planes with axes a and b. Left, a blue point at (1, 1). Right, the two axes are orange, and arrows lead "
    "from (1, 1) to the orange points (1, 0) and (0, 1).",
)

# %% [markdown]
# Labels that no model produces are a problem for small models. The best fit is the point of the model class closest
# to the ideal coefficients, and a class that is not flat can have several closest points.
#
# ## The paper states
# As in [Lemma 4.1](lemma_4_1_certificate.ipynb), the coefficients $p(\Theta)$ of a model in the $\psi$ cubic features
# $\mathcal{H}(Z)$ are a matrix with $d$ rows and $\psi$ columns. With few heads, only some matrices occur. We write
# $\Lambda_D$ for the second moment of the features on the data.
#
# <!-- claim linear-attention/lemma-4-3 -->
# <blockquote>
#
# **Lemma 4.3 (With d² heads no teacher is needed)** *Section 4; Appendix B*
#
# **The paper states.** Let dataset $D=\{(Z_i,y_i)\}_{i\in[N]}$ be any dataset drawn i.i.d from a distribution $\mathcal
# D$. Then if $\lambda_{\min}(\mathbb E_D[\mathcal H(Z)\mathcal H(Z)^\top])>0$ then $\mathrm{MHLA}_\Theta$ for
# $\Theta\in\Omega_H$ for any $H\in[d^2,\infty)$ is identifiable with respect to the data $D$. That is,
# $\mathrm{MHLA}_\Theta=\mathrm{MHLA}_{\Theta'}$ (18) for all pairs of empirical risk minimizers
# $\Theta,\Theta'\in\Omega_{\mathrm{ERM}}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The lemma already holds from $H=d(d+1)/2$, because that many heads give all coefficients. The
# coefficients of each minimiser are the unique solution of least squares. With one head the certificate is not enough:
# for $d=2$ and three tokens, there are symmetric data with $\lambda_{\min}>0$ and two minimisers that are far apart.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# With $d^2$ heads, every matrix of coefficients occurs. To see this, we spread the coefficients over a matrix $W$:
# half of the coefficient of a pair goes to $(j, k)$ and half to $(k, j)$. A singular value decomposition of $W$ gives
# at most $d^2$ heads, as in [Algorithm 1](theorem_2_1_regression.ipynb). The model class is then the whole space, as
# on the left of the figure, and the minimisers are the solutions of least squares. If the second moment is
# nonsingular, there is only one solution, for any labels.
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
d = 3  # width of a token in the first part, from 2 to 4
n = 4  # tokens of an input in the first part, at least 2
samples = 100  # inputs with random labels, at least 60
starts = 30  # random starts of each fit in the second part, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(d=(d, 2, 4), n=(n, 2, None), samples=(samples, 60, None), starts=(starts, 10, None), seed=(seed, 0, None))
source = generator(seed)


def gaussian(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


# %% [markdown]
# ### Minimisers with d² heads
# The labels are noise. Our first minimiser is the result of Algorithm 1. The second is its *twin*: to its matrix we
# add a part that is antisymmetric in $j$ and $k$, which changes the heads but not the function. The others are fits
# from random starts.

# %%
tokens, labels = gaussian(samples, n, d), gaussian(samples, d)
fresh = gaussian(100, 7, d)
first = learn(tokens, labels).heads
second = heads_from_matrix(antisymmetric_twin(head_matrix(first), source, scale=2.0))
found = fit_many(certificate_features(tokens), labels, random_heads(d * d, d, source, scale=0.5, models=(5,)))


def training_loss(heads):
    return (mhla(heads, tokens) - labels).square().sum(dim=1).mean().item()


data = statistics(tokens, labels)
least = data.loss(data.solve()).item()
outputs = coefficients(found.heads) @ certificate_features(fresh).mT
target = mhla(first, fresh)
fit_gap = relative_error(outputs, target.mT.expand_as(outputs))

# %% [markdown]
# ### Fewer heads, no teacher
# We take $d=2$, labels $y=\langle z_1,z_2\rangle z_n$ and standard normal entries, where $z_1$ and $z_2$ are the two
# rows of the input. If we exchange the rows, the distribution of the data stays the same, and the labels are
# exchanged as well. One head cannot produce these labels, but two heads can. We compute the expected loss exactly. We
# also use a finite data set with the same symmetry: all inputs with entries $-1$, $0$ and $1$, the "grid".


# %%
def normal_data(length):
    """Rows and labels whose mean squared loss is the population loss, up to the number of rows."""
    moment = EntryDistribution.gaussian().second_moment(2, length)
    root = torch.linalg.cholesky(moment).mT
    target = torch.zeros(2, psi(2), dtype=torch.float64)
    target[0, 0] = target[1, 1] = 1.0  # <z_1, z_2> z_1 in output 1, <z_1, z_2> z_2 in output 2
    size = len(root) ** 0.5
    return size * root, size * root @ target.mT, moment


def grid_data(length):
    inputs = torch.tensor(list(product((-1.0, 0.0, 1.0), repeat=2 * length)), dtype=torch.float64)
    inputs = inputs.reshape(-1, length, 2)
    features = certificate_features(inputs)
    labels = (inputs[..., 0] * inputs[..., 1]).sum(dim=1, keepdim=True) * inputs[:, -1]
    return features, labels, features.mT @ features / len(features)


# %% [markdown]
# From many starts, we keep the best fits and compute the distance between the two that are farthest apart.


# %%
def minimisers(features, answers, heads):
    """The best loss over the starts, and the coefficients of the fits that reach it."""
    begin = random_heads(heads, 2, source, models=(starts,))
    fits = fit_many(features, answers, begin, steps=250)
    best = fits.losses.min()
    reached = fits.losses <= best * (1 + 1e-8) + 1e-20
    return best.item(), coefficients(Heads(fits.heads.values[reached], fits.heads.queries[reached])).flatten(1)


def spread(rows):
    """The largest distance of two minimisers."""
    return torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist").max().item()


# %%
cases = [("normal", normal_data, 2), ("normal", normal_data, 3), ("grid", grid_data, 3), ("normal", normal_data, 4)]
rows, results = [], {}
for name, make, length in cases:
    features, answers, moment = make(length)
    for heads in (1, 2, 4):
        best, reached = results[name, length, heads] = minimisers(features, answers, heads)
        rows.append([name, length, certificate_of(moment).smallest, heads, best, len(reached), spread(reached)])
show.table(
    [
        "data",
        "n",
        r"$\lambda_{\min}$",
        "heads",
        "smallest loss",
        "fits that reach it",
        "largest distance of two of them",
    ],
    rows,
    caption=f"Symmetric data, {starts} starts each.",
)

# %% [markdown]
# For every data set, $\lambda_{\min}>0$. With two and four heads, the loss is 0, and there is a single minimiser. With
# one head, the loss stays above 0, and with three or more tokens the best fits are far apart.

# %%
fig, axes = show.axes(2, 1, width=4.6, height=7.0)
for axis, length in zip(axes, (2, 3), strict=True):
    _, reached = results["normal", length, 1]
    # Of each model the two coefficients of <z_1, z_2>, which the labels require to be 1 in output 1 and in output 2.
    axis.plot(reached[:, 0], reached[:, psi(2) + 1], "o", alpha=0.5, label="one head")
    _, with_four = results["normal", length, 4]
    axis.plot(with_four[:, 0], with_four[:, psi(2) + 1], "^", label="four heads")
    axis.set(xlabel="coefficient of ⟨z₁,z₂⟩z₁ in output 1", title=f"n = {length}", xlim=(-0.1, 1.2), ylim=(-0.1, 1.2))
    axis.set(ylabel="coefficient of ⟨z₁,z₂⟩z₂ in output 2", aspect="equal")
axes[0].legend(fontsize=8, loc="lower left")
show.figure(
    fig,
    name="two-minimisers",
    caption="All fits with the smallest loss. With one head, there is one minimiser at $n = 2$, which is its own "
    "mirror image, and there are two at $n = 3$, which are mirror images of each other. With four heads, there is "
    "one.",
    alt="Two scatter plots of two coefficients. One-head fits gather at one point of the diagonal for two tokens, and "
    "at two points mirrored in the diagonal for three. The four-head fits all lie at the point (1, 1).",
)

# %% [markdown]
# This is the tiny example again. For three tokens, the best single head favours one of them, and its mirror image is
# equally good. With four heads, only one point remains.
#
# ## How we checked
# We require that the certificate holds on the random data. Algorithm 1, its twin and the fits from random starts must
# have the loss of least squares and agree on fresh inputs, while the matrices of the first two must differ. As a
# control we take one head on the symmetric data: its minimisers should be far apart, where those with four heads agree.

# %%
symmetric = [("normal", 3), ("grid", 3), ("normal", 4)]
of_heads = {
    heads: {f"{name}, n = {length}": spread(results[name, length, heads][1]) for name, length in symmetric}
    for heads in (1, 4)
}
both = {"Algorithm 1": first, "its twin": second}
above = {name: abs(training_loss(heads) - least) for name, heads in both.items()}

# %% [markdown]
# We also verify the two steps of the proof in exact arithmetic at $d=3$.

# %%
claim = Claim("linear-attention/lemma-4-3")
claim.true("certificate holds on the random data", certificate(tokens).holds)
claim.at_most("heads", {name: heads.count for name, heads in both.items()}, d * d)
claim.at_most("loss less least squares", above, 1e-10)
claim.at_least("distance of their matrices", (head_matrix(first) - head_matrix(second)).norm(), 1)
claim.close("their outputs on fresh inputs, difference", mhla(second, fresh), target, rtol=1e-11)
claim.close("fits from random starts: loss less least squares", found.losses, least, atol=1e-10)
claim.at_most("fits from random starts: outputs, difference", fit_gap, 1e-6)
claim.control.at_most("one head: distance of two minimisers", of_heads[1], 1e-6)
claim.at_most("four heads: distance of two minimisers", of_heads[4], 1e-6)
for length in (2, 3):
    best, reached = results["normal", length, 1]
    claim.number(f"one head, n = {length}: least loss", best)
    claim.number(f"one head, n = {length}: distance of two minimisers", spread(reached))
claim.certified("d = 3: d² heads reach all coefficients, one minimiser", certify_many_heads(3))
claim.verdict()

# %% [markdown]
# ## What to remember
# - With $d^2$ heads the model class is the whole space of coefficients, and training is least squares.
# - The certificate then makes the best fit unique for any labels.
# - With fewer heads, two best fits can be mirror images of each other, although the features span the space.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let the second label be 2. How many best fits does the small model have?
#    <details><summary>Solution</summary>
#
#    It has one. The error is $(a-1)^2+(b-2)^2$. With $b=0$ it is at least 4. With $a=0$ it is at least 1, which it
#    reaches at $b=2$. There are two best fits only if the labels are as symmetric as the model class.
#
#    </details>
# 2. *Predict, then run.* Set `d = 4`. How many heads do the two minimisers of the first part have, and how large is the
#    matrix of coefficients that they share?
#    <details><summary>Solution</summary>
#
#    Our symmetric form of Algorithm 1 has $d(d+1)/2=10$ heads, and its twin $d^2=16$. There are $\psi=16\cdot5/2=40$
#    distinct features and four outputs, so they share $4\times40$ coefficients. Their outputs agree to rounding, as
#    before.
#
#    </details>
#
# Next: [Lemma 2.2](lemma_2_2_universal_machine.ipynb). What can such a layer compute?

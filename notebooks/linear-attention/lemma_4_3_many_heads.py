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
# Lemma 4.1 needs labels made by a teacher, for only then does a minimiser with few heads solve the linear equations.
# With $d^2$ heads every coefficient matrix is the $p$ of some model. Spread $p$ over a matrix $W$, the coefficient of a
# pair half to $(j, k)$ and half to $(k, j)$; a singular value decomposition of $W$ gives at most $d^2$ heads. The
# minimiser is then least squares itself, which has one solution as soon as the second moment $\Lambda_D$ of the
# features $\mathcal{H}$ is nonsingular.
#
# <!-- claim linear-attention/lemma-4-3 -->
# <blockquote>
#
# **Lemma 4.3 (With d² heads no teacher is needed)** *Section 4; Appendix B*
#
# Let $\lambda_{\min}(\Lambda_D) > 0$, with any labels at all. Then all empirical risk minimisers with $H \ge d^2$ heads
# compute the same function: $\Theta \mapsto p(\Theta)$ reaches every $d \times \psi$ matrix, so each minimiser's $p$ is
# the unique solution of least squares.
#
# </blockquote>
# <!-- /claim -->

# %%
from itertools import product

import torch

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
# ## Minimisers with $d^2$ heads
# The labels are noise. The first minimiser is Algorithm 1; the second is its twin with an antisymmetric tensor added;
# the others are fits from random starts.

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
# ## Fewer heads, no teacher
# Take $d = 2$, labels $y = \langle z_1, z_2\rangle z_n$, and standard normal entries. The law of the data does not
# change when the two feature rows are exchanged, and the labels follow. One head cannot make these labels; two can.
# From $n = 3$ on a one-head minimiser favours one side, and then its mirror image is another minimiser, of the same
# loss. The certificate holds all the while. The loss is the exact one over the law, with no sampling; a finite data set
# that is symmetric in the same way, all inputs with entries -1, 0, 1 ("grid" in the table), stands beside it.


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
# From many starts the best fits are kept, and the distance of the two of them that lie farthest apart.


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


# %% [markdown]
# Four data sets, with one, two and four heads:

# %%
cases = [("normal", normal_data, 2), ("normal", normal_data, 3), ("grid", grid_data, 3), ("normal", normal_data, 4)]
rows, results = [], {}
for name, make, length in cases:
    features, answers, moment = make(length)
    for heads in (1, 2, 4):
        best, reached = results[name, length, heads] = minimisers(features, answers, heads)
        rows.append([name, length, certificate_of(moment).smallest, heads, best, len(reached), spread(reached)])
show.table(
    ["data", "n", r"$\lambda_{\min}$", "heads", "least loss", "fits that reach it", "largest distance of two of them"],
    rows,
    caption=f"Symmetric data, {starts} starts each.",
)

# %% [markdown]
# Of each model two coefficients are drawn, which the labels ask to be 1.

# %%
fig, axes = show.axes(2, 1, width=4.6, height=7.0)
for axis, length in zip(axes, (2, 3), strict=True):
    _, reached = results["normal", length, 1]
    # Of each model the two coefficients of <z_1, z_2>, which the labels ask to be 1 in output 1 and in output 2.
    axis.plot(reached[:, 0], reached[:, psi(2) + 1], "o", alpha=0.5, label="one head")
    _, with_four = results["normal", length, 4]
    axis.plot(with_four[:, 0], with_four[:, psi(2) + 1], "^", label="four heads")
    axis.set(xlabel="coefficient of ⟨z₁,z₂⟩z₁ in output 1", title=f"n = {length}", xlim=(-0.1, 1.2), ylim=(-0.1, 1.2))
    axis.set(ylabel="coefficient of ⟨z₁,z₂⟩z₂ in output 2", aspect="equal")
axes[0].legend(fontsize=8, loc="lower left")
show.figure(
    fig,
    name="two-minimisers",
    caption="All fits of least loss. With one head there is one minimiser at $n = 2$, its own mirror image, and there "
    "are two at $n = 3$, mirror images of each other. With four heads there is one.",
    alt="Two scatter plots of two coefficients. One-head fits gather at one point of the diagonal for two tokens, and "
    "at two points mirrored in the diagonal for three. The four-head fits all lie at the point (1, 1).",
)

# %% [markdown]
# The twin must have another matrix and the same outputs; one head must have two minimisers where four have one.

# %%
symmetric = [("normal", 3), ("grid", 3), ("normal", 4)]
of_heads = {
    heads: {f"{name}, n = {length}": spread(results[name, length, heads][1]) for name, length in symmetric}
    for heads in (1, 4)
}
both = {"Algorithm 1": first, "its twin": second}
above = {name: abs(training_loss(heads) - least) for name, heads in both.items()}

# %% [markdown]
# All of it under a certificate that holds.

# %%
claim = Claim("linear-attention/lemma-4-3")
claim.true("certificate holds on the random data", certificate(tokens).holds)
claim.equal("heads", {name: heads.count for name, heads in both.items()}, d * d)
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
claim.verdict()

# %% [markdown]
# ## What was learned
# With $d^2$ heads every linear minimiser is a model, so that the certificate decides for labels of any kind. With fewer
# heads and labels that no such model gives it decides nothing: with one head and three or more tokens the symmetric
# data here have two minimisers, mirror images of each other, although $\lambda_{\min} > 0$.
#
# ## To try
# - Set `d = 4`: sixteen heads, forty distinct features, and the minimisers agree as before.
# - Set `starts = 10`: the two minimisers of one head are still both found.

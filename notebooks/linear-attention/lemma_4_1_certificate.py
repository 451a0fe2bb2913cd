# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 4.1 · Features that span leave only one function
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 4.1 with Algorithm 2 and Corollary 2, Section 4.*
#
# Two models with different weights fit the same data without error. Will they also agree on inputs that neither model
# has seen? For linear attention, the lemma offers a test that we can run before any training, because it uses only
# the inputs.

# %%
from math import comb

import torch

from attention_theory.linear_attention.certified.coefficients import certify_features
from attention_theory.linear_attention.certified.identities import certify_coefficients
from attention_theory.linear_attention.certified.uniqueness import (
    certify_identified,
    certify_no_minimum,
    certify_not_necessary,
    near_unattained,
    unattained,
)
from attention_theory.linear_attention.learning.certificate import certificate, certificate_of
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import certificate_features, cubic_features, pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import (
    antisymmetric_twin,
    coefficients,
    distance,
    head_matrix,
    heads_from_matrix,
    lift,
)
from attention_theory.numerics import modular_rank, relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose a model has only two features, $x$ and $y$, and predicts $ax+by$ with unknown $a$ and $b$. We see two data
# points:
#
# | input | label |
# | --- | --- |
# | $(1, 1)$ | 3 |
# | $(2, 2)$ | 6 |
#
# The pair $(a,b)=(1,2)$ fits. The pairs $(2,1)$ and $(3,0)$ fit as well. On the new input $(1, 0)$, these pairs predict
# 1, 2 and 3. The second point taught us nothing, because it is a multiple of the first. If we replace this second point
# by $(1, 2)$ with label 5, only $a=1$ and $b=2$ remain.

# %%
fig, axis = schematic.canvas(height=2.6)
panels = {2.0: ("data that span a plane", [(1, 1), (1, 2)]), 8.8: ("data on a line", [(1, 1), (2, 2)])}
for left, (title, points) in panels.items():
    schematic.text(axis, (left + 1.4, 4.9), title)
    schematic.arrow(axis, (left - 0.4, 2.0), (left + 3.2, 2.0), colour=schematic.QUIET)
    schematic.arrow(axis, (left, 1.0), (left, 4.6), colour=schematic.QUIET)
    for x, y in points:
        schematic.arrow(axis, (left, 2.0), (left + 1.1 * x, 2.0 + 1.1 * y))
        schematic.text(axis, (left + 1.1 * x + 0.2, 2.0 + 1.1 * y), f"({x}, {y})", schematic.BLUE, 9, "left")
schematic.arrow(axis, (8.8, 2.0), (9.9, 0.9), colour=schematic.VERMILION)
schematic.text(axis, (10.1, 0.9), "(1, −1): not seen", schematic.VERMILION, 9, "left")
schematic.text(axis, (3.4, 0.3), "one fit: 1 and 2")
schematic.text(axis, (10.2, 0.3), "many fits: 1 and 2, 2 and 1, 3 and 0")

# %%
show.figure(
    fig,
    name="span",
    caption="Left: two data points in different directions leave one pair of coefficients. Right: two data points on "
    "a line leave many. The orange direction is orthogonal to both points, so the data reveal nothing about it.",
    alt="Two planes with arrows from the origin. Left, arrows to (1, 1) and (1, 2). Right, arrows to (1, 1) and "
    "(2, 2) on one line, and an orange arrow to (1, -1) at right angles to them.",
)

# %% [markdown]
# We see why the fits on the right differ. The orange direction $(1,-1)$ represents the function $x-y$, which is 0 on
# both data points. If we add a multiple of it to the coefficients, no prediction on the data changes, but others do.
#
# ## The paper states
# A *linear attention* model has $H$ heads with matrices $V_h$ and $Q_h$, which together form the parameters $\Theta$.
# It reads $n$ tokens of $d$ numbers each, which are the columns of $Z$, and returns $\sum_h V_hZ(Z^\top Q_hz_n)$ at the
# last token $z_n$. If we multiply this out, every term contains a product of three token entries. The sums of such
# products are the *features*
#
# $$\langle z_{j\cdot}, z_{k\cdot}\rangle\, z_{\ell n},$$
#
# where $z_{j\cdot}$ contains the $j$-th entries of all tokens and $z_{\ell n}$ is entry $\ell$ of the last token.
# Swapping $j$ and $k$ changes nothing, so we list each feature once. The vector $\mathcal{H}(Z)$ contains the
# $\psi=d^2(d+1)/2$ distinct features. Output $a$ of the model is $\langle p_a(\Theta), \mathcal{H}(Z)\rangle$ with
# some coefficients $p_a(\Theta)$. Although the model is cubic in the tokens, it is *linear in the features*, as in
# the tiny example.
#
# We write $\mathrm{MHLA}_\Theta$ for the model and $\Omega_H$ for the set of all parameters with $H$ heads. The
# *empirical risk minimisers* are the parameters with the smallest loss on the data.
#
# <!-- claim linear-attention/definition-realizability -->
# <blockquote>
#
# **Definition (Realizability)** *Section 4*
#
# **The paper states.** Let $\Theta\in\Omega_H$ be an MHLA parameterization. We say a dataset
# $D=\{(Z_i,y_i)\}_{i\in[N]}$ is realizable by a parameterization $\Theta$ if $y_i=\mathrm{MHLA}_\Theta(Z_i)$.
#
# <details><summary>Slips (1)</summary>
#
# - For realisability with noise, the text refers to Lemma 4.4 where it means Lemma B.2.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/definition-identifiability -->
# <blockquote>
#
# **Definition (Identifiability)** *Section 4, Eqs. 13 and 14*
#
# **The paper states.** Let $\mathcal L$ be a loss function and $\Omega_{\mathrm{ERM}}$ be the set of empirical risk
# minimizers: $\Omega_\Theta=\{\hat\Theta\in\Omega\mid\hat\Theta=\arg\min_{\Theta\in\Omega}\mathcal L(\mathcal
# U_\Theta,D)\}$ (13). We say model class $\mathcal U_\Theta$ is identifiable with respect to the dataset $D$ if for all
# $Z\in\mathbb R^{d\times n'}$, and for all pairs $\Theta,\Theta'\in\Omega_{\mathrm{ERM}}$, $\mathcal
# U_\Theta(Z)=\mathcal U_{\Theta'}(Z)$ (14).
#
# **What is true.** A model class is identifiable with respect to a data set if all its empirical risk minimisers, the
# set $\Omega_{\mathrm{ERM}}$ of Eq. 13, compute the same function, on inputs of every length.
#
# **What changed.** Eq. 13 calls the set of minimisers $\Omega_\Theta$, as if it contained all parameters $\Theta$ of
# the class, while the text before and after it has $\Omega_{\mathrm{ERM}}$. Two arbitrary models of a class need not
# agree.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/lemma-4-1 -->
# <blockquote>
#
# **Lemma 4.1 (The certificate of identifiability)** *Section 4; informally Section 2.2; Appendix B; also Lemma 2.1*
#
# **The paper states.** Let dataset $D=\{(Z_i,y_i)\}_{i\in[N]}$ be a realizable dataset. Let
# $\mathcal{H}_n:\mathbb{R}^{d\times n}\to\mathbb{R}^\psi$ for $\psi=\binom d2d+d^2$ be defined as in Algorithm 2:
# $\mathcal{H}(Z)_{\{j,k\}\ell}:=\langle z_{j\cdot},z_{k\cdot}\rangle z_{\ell n_i}$ (15). Then if
# $\lambda_{\min}(\mathbb{E}_D[\mathcal{H}(Z)\mathcal{H}(Z)^\top])>0$, we have that $\mathrm{MHLA}_\Theta$ is
# identifiable with respect to $D$.
#
# <details><summary>Slips (2)</summary>
#
# - The proof gives $p$ the shape $\psi$, one row for all outputs. The right shape is $d\times\psi$, with a row $p_a$
#   for each output as in Eqs. 41 and 42.
# - According to the proof, the least-squares solution is unique "if there exists $b\in[n]$ such that"
#   $\lambda_{\min}>0$, but $b$ occurs nowhere else. The token in the features is the last one (Eq. 15). For any other
#   token, the condition does not guarantee uniqueness.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# If the data are realisable, some model has loss 0. Every minimiser therefore also has loss 0, and its coefficients
# solve the linear equations $\langle p_a, \mathcal{H}(Z_i)\rangle = y_{i,a}$. If the vectors $\mathcal{H}(Z_i)$ span
# the whole space, these equations have only one solution. It does not matter whether the coefficients come from one
# head or from a hundred.
#
# We can read off the span from the matrix $\Lambda_D$, the mean of $\mathcal{H}\mathcal{H}^\top$ over the data. Its
# smallest eigenvalue is positive exactly if the features span the whole space. Otherwise some $u\ne0$ satisfies
# $\Lambda_Du=0$, and $u$ is a direction that the data do not show. For the two points on a line in the tiny example,
# all four entries of $\Lambda_D$ are 2.5, and $u=(1,-1)$.
#
# <details><summary>Proof of Lemma 4.1</summary>
#
# The loss is a mean of squares and 0 for the model that realises the data. Every minimiser $\Theta$ therefore has loss
# 0: $\langle p_a(\Theta), \mathcal{H}(Z_i)\rangle = y_{i,a}$ for all samples $i$ and outputs $a$. Let $\Theta'$ be
# another minimiser and $c = p_a(\Theta) - p_a(\Theta')$. Then $\langle c, \mathcal{H}(Z_i)\rangle = 0$ for all $i$, and
# $c^\top\Lambda_Dc$, the mean of $\langle c, \mathcal{H}(Z_i)\rangle^2$, is 0. Since $\lambda_{\min}(\Lambda_D) > 0$,
# we have $c = 0$. The outputs $\langle p_a(\Theta), \mathcal{H}(Z)\rangle$ and
# $\langle p_a(\Theta'), \mathcal{H}(Z)\rangle$ are equal for every input $Z$, of every length. $\square$
#
# </details>
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
d = 3  # width in the parts on features and coefficients, from 2 to 5
n = 4  # tokens of an input, at least 2
starts = 40  # random starts of each fit, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(d=(d, 2, 5), n=(n, 2, None), starts=(starts, 10, None), seed=(seed, 0, None))
source = generator(seed)


def gaussian_tokens(count, tokens, width):
    return torch.randn(count, tokens, width, generator=source, dtype=torch.float64)


# %% [markdown]
# ### The features, counted exactly
# We compute the features of random integer tokens, so that we can determine their rank exactly.

# %%
integers = torch.randint(-9, 10, (2 * psi(d), n, d), generator=source).double()
j, k = pairs(d)
selected = cubic_features(integers).unflatten(-1, (d, d))[:, j, k].flatten(1)


def rank(tokens):
    return modular_rank(certificate_features(integers[:, :tokens]).long())


# %% [markdown]
# With two or more tokens, all $\psi$ features are independent functions. With a single token, they are products
# $z_jz_kz_\ell$ of its entries, and some of them coincide. From here on, we therefore use inputs of at least two
# tokens.
#
# ### Different heads, one function
# Next we take a model and change its heads without changing the function. To build its *twin*, we take the matrix of
# all products $V_h[a,j]\,Q_h[k,\ell]$, summed over $h$, add a part that is antisymmetric in $j$ and $k$, and split
# the result into new heads. We also move the coefficients themselves, once by $10^{-3}$ in a random direction and
# once in a direction that does not affect inputs of one token.

# %%
model = random_heads(2, d, source)
twin = heads_from_matrix(antisymmetric_twin(head_matrix(model), source))
p = coefficients(model)
inputs = {count: gaussian_tokens(50, count, d) for count in (1, 2, n, 9)}


def moved(change):
    return heads_from_matrix(lift(p + change, d))


direction = torch.randn(p.shape, generator=source, dtype=torch.float64)
near = moved(1e-3 * direction / direction.norm())
unseen = certificate_of(EntryDistribution.gaussian().second_moment(d, tokens=1)).null_space[0]
hidden = moved(torch.outer(torch.ones(d, dtype=torch.float64), unseen))


def gap(first, second, count):
    return relative_error(mhla(first, inputs[count]), mhla(second, inputs[count]))


# %% [markdown]
# ### Every minimiser, from many starts
# Now let tokens have width $d=2$, so that $\psi=6$. A teacher with one head labels $N$ inputs. We fit models with one
# head and with $d^2=4$ heads from many random starts, and keep the fits with loss 0, which are the minimisers. The
# other fits stopped in local minima, and the lemma says nothing about them.

# %%
width = 2
all_heads = width * width
teacher = random_heads(1, width, source)
fresh = gaussian_tokens(50, 7, width)


# %%
def zero_loss_fits(tokens, heads):
    """The fits of loss zero from so many starts, and from so many more until there are three, with all that follows."""
    labels, features = mhla(teacher, tokens), certificate_features(tokens)
    kept, others = [], []
    while sum(len(one.values) for one in kept) < 3 and len(kept) < 20:
        fits = fit_many(features, labels, random_heads(heads, width, source, models=(starts,)), steps=300)
        zero = fits.losses < 1e-18
        kept.append(Heads(fits.heads.values[zero], fits.heads.queries[zero]))
        others.append(fits.losses[~zero])
    models = Heads(torch.cat([one.values for one in kept]), torch.cat([one.queries for one in kept]))
    outputs = coefficients(models) @ certificate_features(fresh).mT
    return {
        "models": models,
        "others": torch.cat(others),
        "reached": len(models.values) / (len(kept) * starts),
        "distances": distance(models, teacher),
        "gap": relative_error(outputs, mhla(teacher, fresh).mT.expand_as(outputs)),
    }


# %%
data = {count: gaussian_tokens(count, n, width) for count in (3, 4, 5, 6, 8)}
certificates = {count: certificate(tokens) for count, tokens in data.items()}
found = {(count, heads): zero_loss_fits(tokens, heads) for count, tokens in data.items() for heads in (1, all_heads)}
show.table(
    ["N", r"$\lambda_{\min}$", "nullity", "heads", "zero-loss fits", "distance of p", "output gap", "other loss"],
    [
        [
            *(count, one.smallest, one.nullity, heads),
            *(len(result["distances"]), result["distances"].max(), result["gap"]),
            result["others"].min() if len(result["others"]) else "",
        ]
        for (count, heads), result in found.items()
        for one in [certificates[count]]
    ],
    caption=f"Minimisers compared with the teacher, d = 2, ψ = 6, from {starts} starts or more: the largest distance "
    "and the largest relative gap between outputs. The last column concerns the fits that were not kept.",
)

# %%
fig, axis = show.axes(width=5.2, height=3.2)
for heads, shift, colour, marker in [(1, -0.1, 0, "o"), (all_heads, 0.1, 1, "^")]:
    for count in data:
        values = found[count, heads]["distances"].clamp(min=1e-16)
        label = f"{heads} head{'s' if heads > 1 else ''}" if count == 3 else None
        at = [count + shift] * len(values)
        axis.semilogy(at, values, marker, color=show.COLOURS[colour], alpha=0.4, label=label)
axis.axvline(psi(width) - 0.5, color="grey", linestyle="--")
axis.set(xlabel="samples N", ylabel="distance of p to the teacher", xticks=list(data))
axis.legend(loc="center right")
show.figure(
    fig,
    name="minimisers",
    caption="Each point is a fit with zero loss. To the right of the dashed line the certificate holds, and all fits "
    "equal the teacher. To its left, models with four heads find other functions; models with one head do so only at "
    "$N = 3$.",
    alt="Distances of p on a logarithmic axis against the number of samples. With six or more samples all marks are "
    "near 1e-15. At four and five samples the marks of one head are near 1e-15, those of four heads near 1 to 10. At "
    "three samples both are large.",
)

# %% [markdown]
# With at least $N=\psi=6$ samples, the certificate holds, and all minimisers compute the teacher's function. With fewer
# samples, models with four heads find other functions. A single head still finds only the teacher at $N=4$ and 5: it
# has only 7 free parameters (8, minus the scale that $V$ and $Q$ share), and in these runs $2N\ge8$ equations determine
# them. At $N=3$ there are 6 equations, and one head also finds other functions.
#
# ### Drag the data
# Move the tokens of six inputs. {doc}`/instruments/certificate` explains what this shows.
#
# <div class="instrument" data-instrument="certificate" data-start="Load the inputs">
#
# The instrument is on the site of the book.
#
# </div>
#
# ## How we checked
# ### Lemma 4.1
# At $N=6$, every fit with loss 0 must have the teacher's coefficients, both with one head and with four. As a control,
# the same test must fail at $N=3$. The paper's proof requires only that "there exists" some token $b$ whose features
# pass the test. We use inputs whose last token has a zero in its second entry: the features with the first token span
# the whole space, and those with the last do not.

# %%
identity = coefficients(teacher) @ certificate_features(fresh).mT
eq_45 = relative_error(identity.mT, mhla(teacher, fresh))
one_row = identity.mean(dim=0, keepdim=True).expand_as(identity)
solved = least_squares(certificate_features(data[8]), mhla(teacher, data[8]))
flat = fresh.clone()
flat[:, -1, 1] = 0
by_token = {"first": certificate(flat.flip(1)), "last": certificate(flat)}

# %% [markdown]
# For one data set of whole numbers, exact arithmetic shows that, whatever the teacher, only its function has loss 0.

# %%
claim = Claim("linear-attention/lemma-4-1")
claim.at_most("Eq. 45: ⟨p, H(Z)⟩ and the output, difference", eq_45, 1e-12, of="proof")
gap_of_rows = relative_error(one_row.mT, mhla(teacher, fresh))
claim.misprint.at_most("p with ψ entries: ⟨p, H(Z)⟩ and the output, difference", gap_of_rows, 1e-12, of="proof")
claim.at_most("N = 8: least squares and p, distance", (solved - coefficients(teacher)).norm(), 1e-11, of="proof")
claim.equal("some b: nullity of the features with token b = 1", by_token["first"].nullity, 0, of="proof")
claim.misprint.equal("on the same data: nullity of those of Eq. 15", by_token["last"].nullity, 0, of="proof")
claim.true("N = 6: certificate holds", certificates[6].holds)
for heads in (1, all_heads):
    distances = found[6, heads]["distances"]
    claim.at_least(f"N = 6, {heads} head(s): zero-loss fits", len(distances), 3)
    claim.at_most(f"N = 6, {heads} head(s): largest distance of p", distances.max(), 1e-11)
for heads in (1, all_heads):
    result = found[3, heads]
    claim.control.at_most(f"N = 3, {heads} head(s): largest distance of p", result["distances"].max(), 1e-11)
    claim.control.at_most(f"N = 3, {heads} head(s): largest output gap", result["gap"], 1e-11)
    claim.number(f"N = 3, {heads} head(s): largest distance of p", result["distances"].max())
claim.number("N = 6, 1 head: fraction of fits that reach zero", found[6, 1]["reached"])
claim.certified("d = 3, N = ψ: one model, whatever the teacher and the heads", certify_identified(3))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# A fit counts as having loss 0 if its loss is below $10^{-18}$. The last column of the table shows the smallest loss
# among the other fits. To test whether one row of coefficients could serve all outputs, we take the best such row,
# which is the mean of the rows.
#
# </details>
#
# ### The two definitions
# For identifiability, we compare the minimisers at $N=6$ with one another on inputs of several lengths. The controls
# are the minimisers at $N=3$ and two random models, which we include because Eq. 13 seems to allow any parameters.


# %%
def largest_gap(result, tokens):
    """The largest difference between the outputs of any two of the zero-loss fits on fresh inputs."""
    outputs = coefficients(result["models"]) @ certificate_features(gaussian_tokens(50, tokens, width)).mT
    return ((outputs.amax(dim=0) - outputs.amin(dim=0)).max() / outputs.abs().max()).item()


claim = Claim("linear-attention/definition-identifiability")
for tokens in (1, 2, 5, 9):
    claim.at_most(f"λ_min > 0: minimisers on inputs of {tokens}, gap", largest_gap(found[6, 4], tokens), 1e-10)
claim.control.at_most("λ_min = 0: minimisers on inputs of 5, gap", largest_gap(found[3, 4], 5), 1e-10)
anyone = {"models": random_heads(all_heads, width, source, models=(2,))}
claim.misprint.at_most("λ_min > 0: all of Ω in place of the minimisers, gap", largest_gap(anyone, 5), 1e-10)
claim.verdict()

# %% [markdown]
# With noise on the labels, the smallest loss is positive.

# %%
tokens = gaussian_tokens(4 * psi(width), n, width)
exact = mhla(teacher, tokens)
noisy = exact + 0.1 * torch.randn(exact.shape, generator=source, dtype=torch.float64)


def relative_loss(labels):
    features = certificate_features(tokens)
    row = least_squares(features, labels)
    return ((features @ row.mT - labels).square().mean() / labels.square().mean()).item()


# %%
claim = Claim("linear-attention/definition-realizability")
own_loss = (coefficients(teacher) @ certificate_features(tokens).mT - exact.mT).square().mean() / exact.square().mean()
claim.at_most("loss of the teacher itself, relative", own_loss, 1e-14)
claim.at_most("loss of least squares, relative", relative_loss(exact), 1e-14)
claim.control.at_most("noisy labels, loss of least squares, relative", relative_loss(noisy), 1e-14)
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# Eq. 16 counts every term with $j=k$ twice. The appendix has the right form. The proof of Lemma 4.1 allows any token
# $b$ in the features, although only the last token will do.
#
# ## Also on this page
# ### The list of features
#
# <!-- claim linear-attention/algorithm-2 -->
# <blockquote>
#
# **Algorithm 2 (Features for the certificate)** *Section 4*
#
# **The paper states.** For sets $\{j,k\}$ in Distinct Pairs of Indices in $[d]^2$, for $\ell\in[d]$:
# $\mathcal{H}(Z_i)=\mathcal{H}(Z_i)\circ[\langle z_{j\cdot},z_{k\cdot}\rangle z_{\ell n_i}]$. For $j\in[d]$, for
# $\ell\in[d]$: $\mathcal{H}(Z_i)=\mathcal{H}(Z_i)\circ[\|z_j\|^2z_{\ell n_i}]$. Return
# $\{\mathcal{H}(Z_i)\}_{i\in[N]}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** These $\psi=d^2(d+1)/2$ entries are the distinct entries of the feature matrix. On inputs with
# at least two tokens they are linearly independent functions.
#
# </blockquote>
# <!-- /claim -->
#
# We also compute the rank in exact arithmetic at $d=4$.

# %%
claim = Claim("linear-attention/algorithm-2")
claim.equal("entries unlike the selection from Algorithm 8", (certificate_features(integers) != selected).sum(), 0)
claim.equal("number of features", certificate_features(integers).shape[1], comb(d, 2) * d + d * d)
claim.equal("rank at n = 2", rank(2), psi(d))
claim.equal(f"rank at n = {n}", rank(n), psi(d))
claim.equal("rank at n = 1", rank(1), comb(d + 2, 3))
claim.control.equal("rank at n = 1", rank(1), psi(d))
claim.certified("d = 4: the features are independent, from two tokens on", certify_features(4))
claim.verdict()

# %% [markdown]
# ### When are two models the same function?
# The twin has the same coefficients and computes the same function. If the coefficients differ, do the outputs also
# differ?
#
# <!-- claim linear-attention/corollary-2 -->
# <blockquote>
#
# **Corollary 2 (The coefficients decide the function)** *Section 4, Eq. 16; informally Section 2.2; also Corollary 1*
#
# **The paper states.** Each $p_a(\Theta)$ is indexed by pairs $\{j,k\}$ for $j,k\in[d]$ and $\ell\in[d]$ defined to be
# $p_a(\Theta)_{\{j,k\}\ell}=\sum_{h\in[H]}(V_{h,aj}Q_{k\ell}+V_{h,ak}Q_{j\ell})$ (16). Let $p:=(p_1,p_2,\dots,p_d)$.
# Then for any pair of parameters $\Theta,\Theta'\in\Omega_H$ we have $\mathrm{MHLA}_\Theta=\mathrm{MHLA}_{\Theta'}$ if
# and only if $p(\Theta)=p(\Theta')$.
#
# **What is true.** For $j < k$ let
#
# $$\begin{aligned}
# p_a(\Theta)_{\{j,k\},\ell} &= \textstyle\sum_h V_h[a,j]\, Q_h[k,\ell] \\
# &+ \textstyle\sum_h V_h[a,k]\, Q_h[j,\ell] ,
# \end{aligned}$$
#
# and for $j = k$ the single term $\sum_h V_h[a,j]\, Q_h[j,\ell]$. Two models, with any numbers of heads, compute the
# same function on inputs of all lengths if and only if their $p \in \mathbb{R}^{d \times \psi}$ are equal.
#
# **What changed.** For $j=k$ Eq. 16 counts every term twice, which contradicts Eqs. 41 and 42 of the appendix. The
# equivalence survives the doubled terms, but $p$ times the features is then no longer the output.
#
# <details><summary>Slips (2)</summary>
#
# - In Eq. 16, $Q$ lacks the index of the head.
# - Corollary 1 gives $p$ the shape $\psi$; it is $d\times\psi$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Inputs of two tokens are enough. For $d\ge2$, inputs of one token are not.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Corollary 2, as corrected</summary>
#
# *Equal coefficients, equal functions.* Output $a$ is $\sum_{j,k,\ell} T_{jk\ell}\,\langle z_j, z_k\rangle z_{\ell n}$
# with $T_{jk\ell} = \sum_h V_h[a,j]\,Q_h[k,\ell]$. For $j \ne k$, the two terms with $j$ and $k$ exchanged have the
# same feature, and their coefficients add up to $p_a(\Theta)_{\{j,k\},\ell}$. For $j = k$ there is one term. The output
# is therefore $\langle p_a(\Theta), \mathcal{H}(Z)\rangle$ (Eq. 45), at every length.
#
# *Equal functions of two tokens, equal coefficients.* Let $c$ be the difference of two models' rows $p_a$, and let
# their outputs be equal for all inputs with the tokens $x$ and $z$, $z$ being the last. Then
#
# $$\sum_{j \le k,\ \ell} c_{\{j,k\},\ell}\,(x_jx_k + z_jz_k)\,z_\ell = 0$$
#
# for all $x$ and $z$. All coefficients of a polynomial that is zero everywhere are zero. The term $x_jx_kz_\ell$ occurs
# once, with coefficient $c_{\{j,k\},\ell}$, so $c = 0$.
#
# *One token is not enough* ($d \ge 2$). There the feature is $z_jz_kz_\ell$, which is the same for $\{1,2\}, 1$ and for
# $\{1,1\}, 2$. Two models whose coefficients differ by 1 in the first entry and by $-1$ in the second compute the same
# function.
#
# *Eq. 16.* This equation doubles the entries with $j = k$. Since this can be undone, its $p$ are equal exactly if the
# right ones are. But $\langle p_a, \mathcal{H}(Z)\rangle$ is then the output plus
# $\sum_{j,\ell} T_{jj\ell}\|z_j\|^2z_{\ell n}$. $\square$
#
# </details>

# %%
doubled = coefficients(model, form="printed") @ certificate_features(inputs[n]).mT

# %% [markdown]
# A certificate proves the corollary for all models at $d=3$.

# %%
claim = Claim("linear-attention/corollary-2")
claim.equal("shape of p", str(tuple(p.shape)), str((d, psi(d))))
claim.at_most("twin: distance of p", distance(twin, model), 1e-12 * p.norm())
claim.at_most("twin: outputs, n = 2, difference", gap(twin, model, 2), 1e-12)
claim.at_most("twin: outputs, n = 9, difference", gap(twin, model, 9), 1e-12)
claim.at_least("twin: distance of the matrices", (head_matrix(twin) - head_matrix(model)).norm(), 1)
claim.at_least("p moved by 1e-3: outputs, n = 2, difference", gap(near, model, 2), 1e-6)
claim.at_least("p moved unseen by one token: outputs, n = 2", gap(hidden, model, 2), 1e-3)
claim.control.at_least("p moved unseen by one token: outputs, n = 1", gap(hidden, model, 1), 1e-12)
claim.misprint.close("Eq. 16: outputs, difference", doubled.mT, mhla(model, inputs[n]), rtol=0.1)
claim.number("Eq. 16: largest error", (doubled.mT - mhla(model, inputs[n])).abs().max())
claim.certified("d = 3: one function if and only if p is equal", certify_coefficients(3, 2))
claim.verdict()

# %% [markdown]
# ### The test is sufficient, not necessary
# If $\Lambda_Du=0$, we can add $c\,u^\top$ to the coefficients for any vector $c$ without changing a prediction on the
# data. Since models with $d^2$ heads can have any coefficients, such data never determine a model with $d^2$ heads.
# They may determine a model with fewer heads, as we saw at $N=4$ and 5.
#
# <!-- claim linear-attention/remark-certificate-not-necessary -->
# <blockquote>
#
# **Section 6.2 (Sufficient, and not necessary)** *Section 6.2*
#
# **The paper states.** In Lemma 4.1, we developed a certificate that provides a sufficient condition for
# identifiability. However, it gives a sufficient, not necessary, condition for generalization.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With few heads, the minimiser can be unique even if $\Lambda_D$ is singular.
#
# </blockquote>
# <!-- /claim -->
#
# We construct another minimiser by adding such a $u$ to the teacher's coefficients.

# %%
null = certificates[4].null_space[0]
built = heads_from_matrix(lift(coefficients(teacher) + null, width))

# %% [markdown]
# For one data set of four inputs, we solve the equations exactly with Gröbner bases. Only the teacher's function
# fits, even if complex entries are allowed.

# %%
claim = Claim("linear-attention/remark-certificate-not-necessary")
for count in (4, 5):
    one_head, four_heads = found[count, 1]["distances"], found[count, all_heads]["distances"]
    claim.equal(f"N = {count}: λ_min", certificates[count].smallest, 0)
    claim.at_least(f"N = {count}, 1 head: zero-loss fits", len(one_head), 3)
    claim.at_most(f"N = {count}, 1 head: largest distance of p", one_head.max(), 1e-12)
    claim.control.at_most(f"N = {count}, 4 heads: largest distance of p", four_heads.max(), 1e-12)
claim.number("N = 5, 4 heads: largest distance of p", found[5, all_heads]["distances"].max())
built_loss = (mhla(built, data[4]) - mhla(teacher, data[4])).square().sum(dim=1).mean()
claim.at_most("built by hand, N = 4: loss", built_loss, 1e-18)
claim.control.close("built by hand, N = 4: output gap", mhla(built, fresh), mhla(teacher, fresh))
claim.certified("N = 4, 1 head: the teacher is the only solution", certify_not_necessary(4), whole=True)
claim.verdict()

# %% [markdown]
# ### A best model need not exist
#
# <!-- claim linear-attention/remark-minimum -->
# <blockquote>
#
# **Eqs. 3 and 13 (A best model need not exist)** *Section 2.1, Eq. 3; Section 4, Eq. 13*
#
# **The paper states.** $\dots-\min_{\Theta\in\Omega_H}\mathbb E_{(Z,y)\in\mathcal
# D}[\|\mathrm{MHLA}_\Theta(Z)-y\|^2]\le\epsilon$ (3), for any $H\in[1,\infty)$.
# $\Omega_\Theta=\{\hat\Theta\in\Omega\mid\hat\Theta=\arg\min_{\Theta\in\Omega}\mathcal L(\mathcal U_\Theta,D)\}$ (13).
#
# **What is true.** Eq. 3 holds with the infimum in place of the minimum. The minimum exists for at least $d(d+1)/2$
# heads, for data that $H$ heads realise, and for one head if $\lambda_{\min}>0$. Otherwise it need not exist, and then
# $\Omega_{\mathrm{ERM}}$ is empty. For example, there are three samples at $d=2$ on which one head has no minimiser.
#
# **What changed.** For $d=2$, two heads come arbitrarily close to a function that no two heads compute. On the labels
# of this function, their loss has the infimum 0 but no minimum. Every class with an empty $\Omega_{\mathrm{ERM}}$ is
# then identifiable, so Eq. 14 says nothing.
#
# </blockquote>
# <!-- /claim -->
#
# Two heads cannot compute the function $\|z_1\|^2z_n-\|z_2\|^2Kz_n$ with $K=\begin{pmatrix}0&1\\0&0\end{pmatrix}$,
# but they can come arbitrarily close to it.
#
# <details><summary>Proof of Eqs. 3 and 13: the minimum over models, and where there is none</summary>
#
# Let $W_{jk}$ be the block of the head matrix with the entries $\sum_hV_h[a,j]\,Q_h[k,\ell]$. The coefficients of the
# function fix $W_{11} = I$, $W_{22} = -K$ and $W_{12} + W_{21} = 0$. So with $X = W_{12}$ the matrices of the function
# are
#
# $$W = \begin{pmatrix} I & X \\ -X & -K \end{pmatrix}, \qquad \mathrm{rank}\,W = 2 + \mathrm{rank}(X^2 - K) ,$$
#
# the rank by subtracting $-X$ times the first rows from the last ones. With $H$ heads the rank is at most $H$. Two
# heads would need $X^2 = K$. Then $X^4 = K^2 = 0$, so that $X$ is nilpotent, and $X^2 = 0 \ne K$: no two heads compute
# the function, not even with complex entries. With $X_\varepsilon^2 = K + \varepsilon I$, for example $X_\varepsilon =
# \begin{pmatrix} \sqrt\varepsilon & 1/(2\sqrt\varepsilon) \\ 0 & \sqrt\varepsilon \end{pmatrix}$, and
# $-X_\varepsilon^2$ in place of $-K$, the rank is 2, and the coefficients are off by $\varepsilon I$ in one block. So
# the infimum of the loss is 0 on any data. Where $\lambda_{\min}(\Lambda_D) > 0$ loss 0 means the coefficients of the
# function, which no two heads have.
#
# *Where the minimum exists.* One head, $\lambda_{\min}>0$: the matrices $W$ of rank at most 1 are a closed cone, in
# which only 0 has coefficients 0 (a matrix $W \ne 0$ with $W_{jk} = -W_{kj}$ has a rank above 1), so that their
# coefficients are a closed set, and a distance to it is attained. With $d(d+1)/2$ or more heads, every function of the
# features can be computed ([how many heads are enough](heads_enough.ipynb)). For data that some model realises, the
# minimum is 0.
#
# *One head on singular data.* Let $d=2$, and let three inputs of two tokens and their labels be $(e_1,e_2;\,0)$,
# $(e_1+e_2,e_2;\,e_1)$ and $(e_2,e_1;\,e_2)$. With $q=Qe_2$ and $q'=Qe_1$ the loss 0 needs $Vq=0$ from the first
# input, and from the others a $V$ whose range contains $e_1$ and $e_2$. So $V$ is invertible and $q=0$, and the second
# output is 0 and not $e_1$. But $V=\mathrm{diag}(1/\delta,1)$ and $Q=\begin{pmatrix}0&0\\1&\delta\end{pmatrix}$ have a
# loss that tends to 0 with $\delta$, as the test below shows. $\square$
#
# </details>

# %%
inputs_of_two = gaussian_tokens(12, 3, width)
features_of_two = certificate_features(inputs_of_two)
labels = features_of_two @ coefficients(unattained()).mT


def loss_of(heads):
    return (mhla(heads, inputs_of_two) - labels).square().sum(dim=1).mean().item()


approach = {epsilon: heads_from_matrix(near_unattained(epsilon)) for epsilon in (1e-2, 1e-4, 1e-6)}
show.table(
    ["ε", "heads", "loss", "largest weight"],
    [
        [epsilon, heads.count, loss_of(heads), max(heads.values.abs().max(), heads.queries.abs().max())]
        for epsilon, heads in approach.items()
    ],
)
three = heads_from_matrix(unattained())
one = fit_many(features_of_two, labels, random_heads(1, width, source, models=(20,))).losses.min()
no_minimum = certify_no_minimum()

# %%
e1, e2 = torch.eye(2, dtype=torch.float64)
singular = torch.stack([torch.stack(pair) for pair in ((e1, e2), (e1 + e2, e2), (e2, e1))])
of_singular = torch.stack([0 * e1, e1, e2])
losses_of_one = {}
for delta in (1e-1, 1e-2, 1e-4):
    values, queries = torch.tensor([[[1 / delta, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, delta]]], dtype=torch.float64)
    missed = mhla(Heads(values[None], queries[None]), singular) - of_singular
    losses_of_one[f"δ = {delta:g}"] = missed.square().sum(dim=1).mean().item() / (5 * delta**2 / 3)

# %%
claim = Claim("linear-attention/remark-minimum")
claim.true("certificate of the data holds", certificate(inputs_of_two).holds)
falls = loss_of(approach[1e-6]) / loss_of(approach[1e-2])  # ε² by the proof, so 1e-8
claim.at_most("two heads: loss at ε = 1e-6 over that at 1e-2", falls, 1e-7)
claim.equal("three heads: number", three.count, 3)
claim.at_most("three heads: loss", loss_of(three), 1e-20)
claim.equal("one head on three samples: loss over 5δ²/3", losses_of_one, 1, tolerance=1e-6)
claim.control.at_most("one head: smallest loss of 20 fits", one, 1e-3)
claim.certified("no two heads compute the function", no_minimum)
claim.printed.unequal("that no two heads have the loss 0, the infimum", no_minimum.outcome, "proved")
claim.verdict()

# %% [markdown]
# ## What to remember
# - Linear attention is linear in its cubic features, so fitting the data perfectly means solving linear equations.
# - If the features of the data span the space, all perfect fits compute the same function, whatever their heads.
# - If the features do not span the space, models with $d^2$ heads can fit the data perfectly and disagree elsewhere.
#
# ## Exercises
#
# 1. *By hand.* Let $d=2$. List the six features for an input with a single token $(s,t)$. How many of them are
#    distinct, and can the test succeed on such data?
#    <details><summary>Solution</summary>
#
#    For $\ell=1$ the features are $s\cdot s^2$, $s\cdot st$ and $s\cdot t^2$, and for $\ell=2$ they are $t\cdot s^2$,
#    $t\cdot st$ and $t\cdot t^2$. Since $s\cdot st=t\cdot s^2$ and $s\cdot t^2=t\cdot st$, only four are distinct.
#    Vectors of six features with only four distinct entries never span six dimensions, so the test fails.
#
#    </details>
# 2. *Predict, then run.* The inputs have four tokens. Set `n = 2`. How many samples does the certificate need now?
#    <details><summary>Solution</summary>
#
#    It still needs six. The number of features, $\psi=6$, depends on the width of the tokens and not on their number.
#    Fewer than six samples cannot span the space, and here six do.
#
#    </details>
#
# Next: [Lemma 4.4](lemma_4_4_robustness.ipynb), because trained models fit their data only nearly. [Lemma
# 4.2](lemma_4_2_independent_noise.ipynb) shows which inputs pass the test.

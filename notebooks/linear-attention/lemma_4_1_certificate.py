# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 4.1 · The certificate: when does data determine the function?
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 4.1 with Algorithm 2 and Corollary 2, Section 4.*
#
# Every model is linear in the list $\mathcal{H}(Z)$ of distinct cubic features: output $a$ is $\langle p_a(\Theta),
# \mathcal{H}(Z)\rangle$ with some coefficients $p_a(\Theta)$. On realizable data a minimiser has loss zero, so its
# coefficients solve the linear equations $\langle p_a, \mathcal{H}(Z_i)\rangle = y_{i,a}$. If the features of the data
# span the whole space, the solution is unique, however many heads were used. That is all the certificate says, and it
# can be read off the data alone.
#
# Two words are needed to say it. A data set is realizable if some model makes its labels, and a class of models is
# identifiable on it if all its best fits are one function.
#
# <!-- claim linear-attention/definition-realizability -->
# <blockquote>
#
# **Definition (Realizability)** *Section 4*
#
# A data set is realizable by $\Theta$ if $y_i = \mathrm{MHLA}_\Theta(Z_i)$ for every sample.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/definition-identifiability -->
# <blockquote>
#
# **Definition (Identifiability)** *Section 4, Eqs. 13 and 14*
#
# **As printed.** Eq. 13 names the set of minimisers $\Omega_\Theta$, as if it were that of the parameters $\Theta$ of
# the class. The text before and after it has $\Omega_{\mathrm{ERM}}$.
#
# **Corrected.** A model class is identifiable with respect to a data set if all its empirical risk minimisers compute
# the same function, on inputs of every length.
#
# $\Omega_{\mathrm{ERM}}$ in Eq. 13 as well.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/lemma-4-1 -->
# <blockquote>
#
# **Lemma 4.1 (The certificate of identifiability)** *Section 4; informally Section 2.2; Appendix B; also Lemma 2.1*
#
# Let $\mathcal{H}(Z) \in \mathbb{R}^\psi$, $\psi = \binom d2 d + d^2$, hold the distinct cubic features of Algorithm 2,
# and let $\Lambda_D$ be the mean of $\mathcal{H}\mathcal{H}^\top$ over a realizable data set. If
# $\lambda_{\min}(\Lambda_D) > 0$, then all empirical risk minimisers, with any number of heads that realizes the data,
# compute the same function on all inputs.
#
# **In the paper's proof.** $p$ has the shape $\psi$, one row for all outputs, and least squares is unique "if there
# exists $b \in [n]$ such that" $\lambda_{\min} > 0$, with a $b$ that nothing else has.
#
# **Corrected.** $d \times \psi$, with a row $p_a$ for each output as in Eqs. 41 and 42; and no $b$, for the token in
# the features is the last one (Eq. 15). With some other token the condition does not give uniqueness.
#
# </blockquote>
# <!-- /claim -->

# %%
from math import comb

import torch

from attention_theory.linear_attention.learning.certificate import certificate, certificate_of
from attention_theory.linear_attention.learning.exact_moments import exact_second_moment, gaussian_law
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
# ## The features
# Of the features $\langle z_j, z_k\rangle z_{\ell n}$ those with $j$ and $k$ exchanged are the same, and are listed
# once.
#
# <!-- claim linear-attention/algorithm-2 -->
# <blockquote>
#
# **Algorithm 2 (Features for the certificate)** *Section 4*
#
# List $\langle z_j, z_k \rangle z_{\ell n}$ for all $j < k$ and all $\ell$, then $\|z_j\|^2 z_{\ell n}$ for all $j,
# \ell$. These $\psi = d^2(d+1)/2$ entries are the distinct ones of the feature matrix; on inputs with at least two
# tokens they are linearly independent functions.
#
# </blockquote>
# <!-- /claim -->
#
# Rank is decided exactly here, on inputs of whole numbers. With a single token the features are $z_j z_k z_\ell$,
# of which only $\binom{d+2}{3}$ are distinct. So every statement below needs inputs of two or more tokens.

# %%
integers = torch.randint(-9, 10, (2 * psi(d), n, d), generator=source).double()
j, k = pairs(d)
selected = cubic_features(integers).unflatten(-1, (d, d))[:, j, k].flatten(1)


def rank(tokens):
    return modular_rank(certificate_features(integers[:, :tokens]).long())


claim = Claim("linear-attention/algorithm-2")
claim.equal("entries unlike the selection from Algorithm 8", (certificate_features(integers) != selected).sum(), 0)
claim.equal("number of features", certificate_features(integers).shape[1], comb(d, 2) * d + d * d)
claim.equal("rank at n = 2", rank(2), psi(d))
claim.equal(f"rank at n = {n}", rank(n), psi(d))
claim.equal("rank at n = 1", rank(1), comb(d + 2, 3))
claim.control.equal("rank at n = 1", rank(1), psi(d))
claim.verdict()

# %% [markdown]
# ## The coefficients
# The output of a model, sorted by features, has coefficients $p(\Theta)$: a product that occurs as $(j, k)$ and as $(k,
# j)$ gets the sum of two. Models are the same function where these coefficients are.
#
# <!-- claim linear-attention/corollary-2 -->
# <blockquote>
#
# **Corollary 2 (The coefficients decide the function)** *Section 4, Eq. 16; informally Section 2.2; also Corollary 1*
#
# **As printed.** Eq. 16 gives the formula for $j < k$ also for $j = k$, where it counts every term twice, and leaves
# the head off $Q$. Corollary 1 gives $p$ the shape $\psi$. (The equivalence survives the doubled terms, but with them
# $p$ times the features is no longer the output.)
#
# **Corrected.** For $j < k$ let
#
# $$\begin{aligned}
# p_a(\Theta)_{\{j,k\},\ell} &= \textstyle\sum_h V_h[a,j]\, Q_h[k,\ell] \\
# &+ \textstyle\sum_h V_h[a,k]\, Q_h[j,\ell] ,
# \end{aligned}$$
#
# and for $j = k$ the single term $\sum_h V_h[a,j]\, Q_h[j,\ell]$. Two models, with any numbers of heads, are the same
# function of inputs of all lengths if and only if their $p \in \mathbb{R}^{d \times \psi}$ are equal. Inputs of two
# tokens are enough; inputs of one token, for $d \ge 2$, are not.
#
# Eqs. 41 and 42 of the appendix have the single term for $j = k$. The shape is $d \times \psi$.
#
# </blockquote>
# <!-- /claim -->
#
# To make a twin, take the matrix of a model, add a tensor antisymmetric in $j$ and $k$, and split it into heads
# anew. Its heads look nothing like the first ones; the function is the same. To go the other way, move $p$ by
# $10^{-3}$, and the outputs move. At $n = 1$ they need not: a move along a kernel vector of the one-token
# features is not seen there.
#
# <details><summary>Proof of Corollary 2, as corrected</summary>
#
# *Equal coefficients, equal functions.* Output $a$ is $\sum_{j,k,\ell} T_{jk\ell}\,\langle z_j, z_k\rangle z_{\ell
# n}$ with $T_{jk\ell} = \sum_h V_h[a,j]\,Q_h[k,\ell]$. For $j \ne k$ the two terms with $j$ and $k$ exchanged have the
# same feature, and their coefficients add up to $p_a(\Theta)_{\{j,k\},\ell}$; for $j = k$ there is one term. So the
# output is $\langle p_a(\Theta), \mathcal{H}(Z)\rangle$ (Eq. 45), at every length.
#
# *Equal functions of two tokens, equal coefficients.* Let $c$ be the difference of two models' rows $p_a$, and let
# their outputs be equal for all inputs with the tokens $x$ and $z$, $z$ being the last. Then
#
# $$\sum_{j \le k,\ \ell} c_{\{j,k\},\ell}\,(x_jx_k + z_jz_k)\,z_\ell = 0$$
#
# for all $x$ and $z$. A polynomial that is zero everywhere has no coefficients but zero. The term $x_jx_kz_\ell$ occurs
# once, with $c_{\{j,k\},\ell}$; so $c = 0$.
#
# *One token is not enough* ($d \ge 2$). There the feature is $z_jz_kz_\ell$, the same for $\{1,2\}, 1$ and for
# $\{1,1\}, 2$. Coefficients that differ by 1 in the one and by $-1$ in the other make the same function.
#
# *Eq. 16.* It doubles the entries with $j = k$, which can be undone, so that its $p$ are equal exactly if the right
# ones are. But $\langle p_a, \mathcal{H}(Z)\rangle$ is then the output plus $\sum_{j,\ell} T_{jj\ell}\|z_j\|^2z_{\ell
# n}$. $\square$
#
# </details>

# %%
model = random_heads(2, d, source)
twin = heads_from_matrix(antisymmetric_twin(head_matrix(model), source))
p = coefficients(model)
inputs = {count: gaussian_tokens(50, count, d) for count in (1, 2, n, 9)}


def moved(change):
    return heads_from_matrix(lift(p + change, d))


direction = torch.randn(p.shape, generator=source, dtype=torch.float64)
near = moved(1e-3 * direction / direction.norm())
unseen = certificate_of(exact_second_moment(gaussian_law(), d, tokens=1)).null_space[0]
hidden = moved(torch.outer(torch.ones(d, dtype=torch.float64), unseen))


def gap(first, second, count):
    return relative_error(mhla(first, inputs[count]), mhla(second, inputs[count]))


# %% [markdown]
# Eq. 16 to the letter, with every $j = k$ term twice, gives other outputs.

# %%
doubled = coefficients(model, form="printed") @ certificate_features(inputs[n]).mT

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
claim.verdict()

# %% [markdown]
# ## Every minimiser, from many starts
# Now $d = 2$, so $\psi = 6$. A teacher with one head labels $N$ inputs. From 40 random starts, models with one head and
# with $d^2 = 4$ heads are fitted down to rounding, and the fits with zero loss are kept: they are minimisers. The
# others have stopped in local minima, far above zero as the table shows, and say nothing about the lemma. How far are
# the minimisers from the teacher?

# %%
width = 2
all_heads = width * width
teacher = random_heads(1, width, source)
fresh = gaussian_tokens(50, 7, width)


def zero_loss_fits(tokens, heads):
    """The fits of loss zero: their number, distances of p and largest output gap to the teacher on fresh inputs."""
    labels = mhla(teacher, tokens)
    begin = random_heads(heads, width, source, models=(starts,))
    fits = fit_many(certificate_features(tokens), labels, begin, steps=300)
    zero = fits.losses < 1e-18
    kept = Heads(fits.heads.values[zero], fits.heads.queries[zero])
    outputs = coefficients(kept) @ certificate_features(fresh).mT
    return {
        "models": kept,
        "others": fits.losses[~zero],
        "distances": distance(kept, teacher),
        "gap": relative_error(outputs, mhla(teacher, fresh).mT.expand_as(outputs)),
    }


# %% [markdown]
# Five data sets, of which the first three have fewer inputs than distinct features:

# %%
data = {count: gaussian_tokens(count, n, width) for count in (3, 4, 5, 6, 8)}
certificates = {count: certificate(tokens) for count, tokens in data.items()}
found = {(count, heads): zero_loss_fits(tokens, heads) for count, tokens in data.items() for heads in (1, all_heads)}
show.table(
    ["N", r"$\lambda_{\min}$", "nullity", "heads", "zero-loss fits", "distance of p", "output gap", "least other loss"],
    [
        [
            *(count, one.smallest, one.nullity, heads),
            *(len(result["distances"]), result["distances"].max(), result["gap"]),
            result["others"].min() if len(result["others"]) else "",
        ]
        for (count, heads), result in found.items()
        for one in [certificates[count]]
    ],
    caption=f"Minimisers against the teacher, d = 2, ψ = 6, {starts} starts each: the largest distance and the largest "
    "relative gap of outputs. The last column is of the fits that were not kept.",
)

# %% [markdown]
# The table has four corners. Where the certificate holds ($N \ge 6$) all minimisers agree, with one head and with
# four. Where it is silent and there are four heads, they do not. Where it is silent and there is one head, they
# still agree at $N = 4$ and 5: one head has 7 free parameters here (8, less the scale that $V$ and $Q$ share),
# and $2N \ge 8$ equations pin them down. At $N = 3$ there are 6 equations, and the minimisers spread.

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
    caption="Each mark is a fit with zero loss. Right of the dashed line the certificate holds and all fits are the "
    "teacher. Left of it four heads find other functions, one head only at $N = 3$.",
    alt="Distances of p on a logarithmic axis against the number of samples. From six samples on all marks are near "
    "1e-15. At four and five samples the marks of one head are near 1e-15, those of four heads near 1 to 10. At three "
    "samples both are large.",
)

# %% [markdown]
# From $N = \psi = 6$ on all fits of zero loss are the teacher; at $N = 3$ there are fits of zero loss that are not.
#
# The paper's proof rewrites the output as $\langle p_a(\Theta), \mathcal{H}(Z)\rangle$ (Eqs. 41 to 45) and calls on
# least squares, which has one solution where $\lambda_{\min} > 0$. Two things in it are written wrongly. It announces
# $p : \Omega \to \mathbb{R}^\psi$, one row for all outputs, and then has a row $p_a$ for each. And it asks for
# $\lambda_{\min} > 0$ "if there exists $b \in [n]$", with a $b$ that nothing before or after it has. In the proof of
# Lemma 4.2 such a $b$ is the token whose entry is the third factor, which in Eq. 15 is the last one. That some token
# will do is not meant: here are inputs of seven tokens whose last one has a zero in its second entry. With the first
# token in its place the features span everything, and with the last one those with $\ell = 2$ are zero.

# %%
identity = coefficients(teacher) @ certificate_features(fresh).mT
one_row = identity.mean(dim=0, keepdim=True).expand_as(identity)
solved = least_squares(certificate_features(data[8]), mhla(teacher, data[8]))
flat = fresh.clone()
flat[:, -1, 1] = 0
by_token = {"first": certificate(flat.flip(1)), "last": certificate(flat)}

# %% [markdown]
# The best row for all outputs together is the mean of the rows; least squares is tried at $N = 8$.

# %%
claim = Claim("linear-attention/lemma-4-1")
eq_45 = relative_error(identity.mT, mhla(teacher, fresh))
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
claim.number(f"N = 6, 1 head: fits that reach zero, of {starts}", len(found[6, 1]["distances"]))
claim.verdict()

# %% [markdown]
# ## Other minimisers, built by hand
# Where the certificate is silent there is a vector $u$ with $\Lambda_D u = 0$. Adding $c\,u^\top$ to $p$ changes
# no prediction on the data, and $d^2$ heads can take any $p$. So with $d^2$ heads a silent certificate means that the
# data leave the function open. With few heads it means nothing.
#
# <!-- claim linear-attention/remark-certificate-not-necessary -->
# <blockquote>
#
# **Section 6.2 remark (A silent certificate decides nothing)** *Section 6.2*
#
# $\lambda_{\min}(\Lambda_D) > 0$ is sufficient for identifiability and not necessary: with few heads the minimiser can
# be unique while $\Lambda_D$ is singular.
#
# </blockquote>
# <!-- /claim -->

# %%
null = certificates[4].null_space[0]
built = heads_from_matrix(lift(coefficients(teacher) + null, width))

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
claim.verdict()

# %% [markdown]
# ## The two definitions, tried
# Identifiability first: the minimisers found above are held against each other, on inputs of several lengths. Eq. 13
# calls the set of minimisers $\Omega_\Theta$, as if it held all parameters $\Theta$ of the class. For any two models of
# the class equal outputs are not meant: here for two random ones.


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
# A realizable data set has a model of loss zero, and so regression reaches zero; with noise on the labels it does not.

# %%
tokens = gaussian_tokens(4 * psi(width), n, width)
exact = mhla(teacher, tokens)
noisy = exact + 0.1 * torch.randn(exact.shape, generator=source, dtype=torch.float64)


def relative_loss(labels):
    features = certificate_features(tokens)
    row = least_squares(features, labels)
    return ((features @ row.mT - labels).square().mean() / labels.square().mean()).item()


claim = Claim("linear-attention/definition-realizability")
own_loss = (coefficients(teacher) @ certificate_features(tokens).mT - exact.mT).square().mean() / exact.square().mean()
claim.at_most("loss of the teacher itself, relative", own_loss, 1e-14)
claim.at_most("loss of least squares, relative", relative_loss(exact), 1e-14)
claim.control.at_most("noisy labels, loss of least squares, relative", relative_loss(noisy), 1e-14)
claim.verdict()

# %% [markdown]
# ## What was learned
# Whether data determine the function can be read off the inputs: if their features span the space, every model of loss
# zero is the same function, whatever its heads. If they do not, nothing is decided: one head can be determined by its
# few parameters, and $d^2$ heads never are.
#
# ## To try
# - Set `starts = 200`: the zero-loss fits become many, those of four heads spread farther where the certificate is
#   silent, and at $N \ge 6$ none leaves the teacher.
# - Set `n = 2`: two tokens are enough for all that is said here.

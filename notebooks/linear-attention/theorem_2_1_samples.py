# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 2.1 · How many examples the regression needs
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Theorem 2.1, Sections 2.1 and 3, Appendix A.*
#
# How many labelled sequences must we see before we can trust a fitted layer on new ones? If the labels are exact, we
# need as many as there are unknowns. If they are noisy, the error should fall in inverse proportion to the number of
# examples. We ask when it does, and for which inputs a single example can spoil the fit.

# %%
import math

import numpy
import torch

from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import learn, least_squares
from attention_theory.linear_attention.learning.sample_complexity import excess_risks
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.literal import literal_regression, separate_regressions
from attention_theory.linear_attention.model.mhla import mhla, random_heads, stack_lengths
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.trends import exponent
from attention_theory.validation import require
from bookpress import Claim, estimate, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose a model has one feature $x$ and one unknown $w$, and predicts $wx$. All labels $y$ are 1. Least squares
# gives $w=\frac{\sum xy}{\sum x^2}$:
#
# | examples, as (feature, label) | $\sum xy$ | $\sum x^2$ | $w$ |
# | --- | --- | --- | --- |
# | (1, 1), (2, 1), (3, 1) | 6 | 14 | 0.43 |
# | the same and (10, 1) | 16 | 114 | 0.14 |
#
# No line through the origin fits all three equal labels, so residuals remain. One example with a large feature then
# dominates the fit, although its label is as small as the others. How often such examples occur depends on the
# distribution of the *inputs*.

# %%
fig, axis = schematic.canvas(height=2.2)
schematic.arrow(axis, (1.0, 0.7), (12.6, 0.7), colour=schematic.QUIET)
schematic.arrow(axis, (1.0, 0.7), (1.0, 4.2), colour=schematic.QUIET)
schematic.text(axis, (12.8, 0.7), "x", size=9, align="left")
schematic.text(axis, (0.7, 2.2), "1", size=9)
for x in (1, 2, 3, 10):
    colour = schematic.VERMILION if x == 10 else schematic.BLUE
    axis.plot(1 + 1.1 * x, 2.2, "o", color=colour, markersize=6)
    schematic.text(axis, (1 + 1.1 * x, 0.35), str(x), colour, 9)
for w, end, colour in ((6 / 14, 5.0, schematic.BLUE), (16 / 114, 10.0, schematic.VERMILION)):
    axis.plot([1, 1 + 1.1 * end], [0.7, 0.7 + 1.5 * w * end], color=colour, lw=1.6)
schematic.text(axis, (6.7, 3.9), "w = 0.43", schematic.BLUE, 9, "left")
schematic.text(axis, (12.2, 2.85), "w = 0.14", schematic.VERMILION, 9, "left")

# %%
show.figure(
    fig,
    name="leverage",
    caption="Four examples with the label 1. The blue line is the best fit to the three blue examples. With the "
    "orange example at $x = 10$, the best fit becomes the orange line.",
    alt="Points at x = 1, 2, 3 and 10, all at height 1. A steep blue line from the origin runs among the first three, "
    "a flat orange line below them towards the fourth.",
)

# %% [markdown]
# The fourth example pulls the orange line towards itself, and the line misses the other three by 0.6 to 0.9. If the
# features have a bounded spread, such examples are rare, and the average outweighs them. With heavy tails they keep
# occurring, however many examples we collect.
#
# ## The paper states
# Linear attention with tokens of $d$ numbers is linear in its cubic features, as we saw for [Algorithm
# 1](theorem_2_1_regression.ipynb). The vector $\mathcal{H}(Z)$ lists the $\psi = d^2(d+1)/2$ distinct features of an
# input $Z$. Their second moment is $\Lambda = \mathbb{E}\,\mathcal{H}\mathcal{H}^\top$. The *risk* of a model is its
# mean squared error on new data, and $\Omega_H$ contains the models with $H$ heads.
#
# <!-- claim linear-attention/theorem-2-1 -->
# <blockquote>
#
# **Theorem 2.1 (Linear attention is learnable in polynomial time)** *Section 2.1; Section 3; Appendix A*
#
# **The paper states.** Let $D$ be drawn i.i.d. from a distribution $\mathcal D$. Then there is an algorithm
# (Algorithm 1) that returns $\hat\Theta$ in $\Omega_{\hat H}$ for $\hat H\le d^2$ such that with probability
# $1-\delta$, $\mathbb E[\|\mathrm{MHLA}_{\hat\Theta}(Z)-y\|^2]-\min_{\Theta\in\Omega_H}\mathbb
# E[\|\mathrm{MHLA}_\Theta(Z)-y\|^2]\le\epsilon$ (3) with sample complexity
# $N=O\big(\frac1\epsilon(d^4+\log(\delta^{-1}))\big)$.
#
# **What is true.** *Training loss.* On any data, Algorithm 1 returns at most $d^2$ heads with the smallest training
# loss that any number of heads can reach.
#
# *Risk.* Let the whitened features $x = \Lambda^{-1/2}\mathcal{H}(Z)$ have fourth moments of at most $K^2$ in every
# direction, and let $N \ge 100 K^2 (\psi + \log\frac4\delta)$. With probability $1 - \delta$ the risk exceeds the
# infimum of the risk by at most
#
# $$\frac{\sigma^2}{N}\Big(4 d\psi + 6 \log\frac2\delta\Big)$$
#
# if the labels are a model's outputs with independent Gaussian noise of variance $\sigma^2$. For other labels let $e$
# be the residual of the best model. If $\|e\| \le b$ and $\|x\|^2 \le R$ always, the excess is at most
#
# $$\frac{b^2}{N}\Big(48\psi + 24 \log\frac2\delta\Big) + \frac{22\,b^2R}{N^2}\log^2\frac2\delta ,$$
#
# and otherwise at most $\frac{8\tau}{\delta N}$, if $\tau = \mathbb{E}\,\|e\|^2\|x\|^2$ is finite.
#
# **What changed.** The paper has no condition on the moments. With heavy-tailed inputs the rate fails even for labels
# $\pm1$: we prove that at $d=n=1$, with inputs scaled by a Pareto distribution of index 7, the excess risk falls only
# as $N^{-2/7}$. Under our condition the sum $\frac1\epsilon(d^4+\log\frac1\delta)$ is right for a model's outputs with
# Gaussian noise, and for bounded residuals and inputs up to the term with $\log^2\frac2\delta$; for other labels fourth
# moments alone give no logarithm. The paper's proof by "classical results in VC theory" does not apply, because the
# squared loss is unbounded.
#
# <details><summary>Slips (5)</summary>
#
# - Eq. 33 ends with a training loss of at most $\varepsilon$, for any labels at all. The text before it has
#   $\varepsilon$ above the smallest loss; with exact least squares the two are equal, and Eq. 32 holds without
#   $\varepsilon$.
# - The second line of Eq. 33 lacks $e_a^\top$.
# - The minimum over $\Omega_H$ in Eq. 3 is an infimum, which need not be attained (see Eq. 13).
# - Section 3 says that the algorithm can recover "the optimal parameter". It finds one of many.
# - Eqs. 12 and 31 have indices from $00$ to $dd$; they run over $d$ values. The number of coefficients that data can
#   determine is $d\,\psi = d^3(d+1)/2$.
#
# </details>
#
# <details><summary>Chosen after a run</summary>
#
# The range of $N$, the quantile of 90 % and the band of 0.2 around $-1$ for the fitted exponents.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** $\hat H\le d(d+1)/2$ heads are enough, each with a symmetric $Q_h$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *Training loss.* The regression chooses among all matrices. Every model is such a matrix, and every matrix is a
# model with at most $d^2$ heads.
#
# *Exact labels.* Each example is one equation for the $\psi$ unknowns of each output. For typical inputs, $\psi$ of
# these equations are independent, so $\psi$ examples suffice and $\psi-1$ do not.
#
# *Noisy labels.* There are $d\psi$ unknowns in all. If the $N$ examples represent the inputs well, noise of variance
# $\sigma^2$ adds $\sigma^2/N$ to the risk for each unknown, so the excess is about $\sigma^2d\psi/N$, where $d\psi\le
# d^4$. The moment condition ensures that the examples are representative: a few rare, huge examples dominate no
# direction of the features.
#
# <details><summary>Proof of Theorem 2.1: the least loss, the threshold and the rate</summary>
#
# Write $h = \mathcal{H}(Z) \in \mathbb{R}^\psi$ for the distinct features, so that the model with coefficients $P \in
# \mathbb{R}^{d \times \psi}$ computes $P h$ (Lemma 4.1), $\Lambda = \mathbb{E}\,hh^\top$, taken as nonsingular (else
# all is said on its range), $x = \Lambda^{-1/2} h$, and $\hat\Lambda = \frac1N \sum_i h_i h_i^\top$.
#
# *The least loss.* Every model has a head matrix $\mathcal{T}_\Theta$, which is one of the matrices $W$ of Eq. 10, so
# that $\min_W \mathcal{L}_W \le \mathcal{L}_\Theta$. A minimiser $\hat W$ has at most $d^2$ singular values, and the
# heads folded from $\sqrt{\sigma_h}u_h$ and $\sqrt{\sigma_h}v_h$ have $\mathcal{T}_{\hat\Theta} = \hat W$. So
# $\mathcal{L}_{\hat\Theta} = \min_W \mathcal{L}_W$, which is at most the loss of any number of heads.
#
# *The threshold* ($n \ge 2$, inputs with a density, labels of a teacher $P^\star$). The entries of $\mathcal{H}$ are
# linearly independent polynomials: if $\sum_{j \le k, \ell} c_{jk\ell} \langle z_j, z_k\rangle z_{\ell n} \equiv 0$,
# set all tokens but the last one, $w$, and one other, $u$, to zero. The part quadratic in $u$ is $\sum_{j \le k}
# \big(\sum_\ell c_{jk\ell} w_\ell\big) u_j u_k \equiv 0$, so $\sum_\ell c_{jk\ell} w_\ell = 0$ for all $w$, and $c =
# 0$. Hence $\mathcal{H}$ lies in no hyperplane, there are $\psi$ inputs whose features have a determinant other than 0,
# and this determinant, a polynomial in the inputs, is 0 on a set of measure zero only. So with probability 1 any $N \ge
# \psi$ inputs have features of rank $\psi$, the equations $P h_i = y_i$ have the one solution $P^\star$, and Algorithm
# 1 finds it. With $N < \psi$ some $u \ne 0$ has $\langle u, h_i\rangle = 0$ for all $i$. In coordinates in which the
# norm of $P$ is that of $W$ (entries with $j < k$ divided by $\sqrt2$), the solution of least norm is orthogonal to all
# such $u$; it can therefore equal $P^\star$ only if $P^\star$ is orthogonal to them too. For a teacher of one head
# $\langle p_a(\Theta), u \rangle$ is a polynomial in $(V, Q)$, and not the zero polynomial: with $V[a,j] = Q[k,\ell] =
# 1$ and all else 0 it is a multiple, other than 0, of $u_{jk,\ell}$, and some entry of $u$ is not 0. So for almost
# every teacher Algorithm 1 does not find it.
#
# *The empirical second moment: what is shown.* Let $\mathbb{E}\langle v, x\rangle^4 \le K^2$ for all unit vectors $v$
# (for normal entries $K = 27$ will do: a polynomial $f$ of degree 3 in normal variables has $\mathbb{E}f^4 \le 3^6
# (\mathbb{E}f^2)^2$). If $N \ge 100K^2(\psi + t)$, then $\hat\Lambda \succeq \frac12\Lambda$ with probability $1 -
# 2e^{-t}$. (A lower bound of this kind is due to Oliveira 2016; the method is his, the constants are not.) With $t =
# \log(4/\delta)$ the probability is $1 - \delta/2$.
#
# *Truncation.* Since $\mathbb{E}\,x_a^2x_b^2 \le K^2$ for any two coordinates, $\mathbb{E}\|x\|^4 \le K^2\psi^2$. Let
# $R_0 = 12K^2\psi$, and $x' = x$ where $\|x\|^2 \le R_0$, else 0; $\Sigma = \mathbb{E}\,x'x'^\top$, $\hat\Sigma =
# \frac1N\sum_i x_i'x_i'^\top$. For unit $v$
#
# $$\begin{aligned}
# v^\top\Sigma v &\ge 1 - \mathbb{E}\langle v,x\rangle^2\,\|x\|^2/R_0 \\
# &\ge 1 - K\cdot K\psi/R_0 = 1 - \tfrac1{12} .
# \end{aligned}$$
#
# *Smoothing.* Let $\gamma = \frac1{2\psi}$ and $\theta = v + \sqrt\gamma\,g$ with $g$ standard normal, independent of
# the data. Given the data, $\mathbb{E}\langle\theta, x'\rangle^2 = \langle v, x'\rangle^2 + \gamma\|x'\|^2$, and
#
# $$\begin{aligned}
# \mathbb{E}\langle\theta, x'\rangle^4 &= \mathbb{E}\langle v, x'\rangle^4 + 6\gamma\,\mathbb{E}\langle v, x'\rangle^2
# \|x'\|^2 + 3\gamma^2\,\mathbb{E}\|x'\|^4 \\
# &\le K^2\big(1 + 6\gamma\psi + 3\gamma^2\psi^2\big) = \tfrac{19}4K^2 .
# \end{aligned}$$
#
# *All directions at once.* Let $\lambda > 0$. For fixed $\theta$, as $e^{-u} \le 1 - u + \frac{u^2}2$ for $u \ge 0$,
#
# $$\mathbb{E}\,e^{-\lambda\langle\theta, x'\rangle^2} \le \exp\big(-\lambda\,\mathbb{E}\langle\theta, x'\rangle^2 +
# \tfrac{\lambda^2}2\,\mathbb{E}\langle\theta, x'\rangle^4\big) .$$
#
# So $Z_\theta = \lambda N\theta^\top(\Sigma - \hat\Sigma)\theta - \frac{\lambda^2}2N\,\mathbb{E}\langle\theta,
# x'\rangle^4$ has $\mathbb{E}\,e^{Z_\theta} \le 1$. Let $\pi$ be the law of $\sqrt\gamma\,g$ and $\rho_v$ that of $v +
# \sqrt\gamma\,g$. By Fubini and Markov $\int e^{Z_\theta}\,d\pi \le e^t$ with probability $1 - e^{-t}$, and by Jensen's
# inequality then for all $v$ at once
#
# $$\int Z_\theta\,d\rho_v \le \mathrm{KL}(\rho_v, \pi) + \log\int e^{Z_\theta}\,d\pi \le \frac1{2\gamma} + t = \psi + t
# .$$
#
# That is, for all unit $v$,
#
# $$v^\top\hat\Sigma v \ge v^\top\Sigma v - \tfrac{19}8\lambda K^2 - \frac{\psi + t}{\lambda N} -
# \gamma\,\mathrm{tr}(\hat\Sigma - \Sigma) .$$
#
# *The trace.* $\|x'\|^2$ is at most $R_0$ and has a variance of at most $K^2\psi^2$. By Bernstein's inequality, with
# probability $1 - e^{-t}$, $\mathrm{tr}(\hat\Sigma - \Sigma) \le K\psi\sqrt{2t/N} + R_0t/3N$.
#
# *The sum.* With $\lambda^2 = \frac{8(\psi+t)}{19K^2N}$ the two middle terms are together
# $\sqrt{\frac{19}2K^2(\psi+t)/N}$. With $N \ge 100K^2(\psi+t)$, what is lost is at most
#
# $$\tfrac1{12} + \sqrt{0.095} + \tfrac12\big(\sqrt{0.02} + 0.04\big) < 0.49 .$$
#
# As $\hat\Lambda$ in whitened coordinates is at least $\hat\Sigma$, it is at least $\frac12$ in all directions.
#
# *The rate, Gaussian noise.* Let $y_i = P^\star h_i + \zeta_i$ with noise of variance $\sigma^2$ in each entry,
# independent of the inputs; with the $y_i$, $h_i$, $\zeta_i$ as rows of $Y$, $H$, $E$, $Y = H P^{\star\top} + E$. Then
# $A = \hat P - P^\star = \frac1N E^\top H\hat\Lambda^{-1}$. Where $\Lambda \preceq 2\hat\Lambda$ the excess risk is
#
# $$\begin{aligned}
# \mathrm{tr}\,A\Lambda A^\top &\le 2\,\mathrm{tr}\,A\hat\Lambda A^\top = \tfrac2N\,\mathrm{tr}\,E^\top \Pi E , \\
# \Pi &= H(H^\top H)^{-1}H^\top .
# \end{aligned}$$
#
# Given the inputs, $\mathrm{tr}\,E^\top\Pi E/\sigma^2$ follows a $\chi^2$ distribution with $d\psi$ degrees of freedom,
# which is at most $d\psi + 2\sqrt{d\psi\,t} + 2t \le 2d\psi + 3t$ with probability $1 - e^{-t}$ (Laurent and Massart
# 2000). With $t = \log(2/\delta)$ the excess risk is at most $\frac{\sigma^2}{N}(4d\psi + 6\log(2/\delta))$ with
# probability $1-\delta$. As $d\psi \le d^4$ for all $d$, this is at most $\varepsilon$ once $N \ge
# \frac{\sigma^2}{\varepsilon}(4d^4 + 6\log(2/\delta))$: this is the sum in the theorem.
#
# *The rate, any labels.* Let $P^\star = \mathbb{E}[y h^\top]\Lambda^{-1}$ be the best model, $e = y - P^\star h$, so
# that $\mathbb{E}\,e h^\top = 0$, and let $\tau = \mathbb{E}\,\|e\|^2\|x\|^2$ be finite. With $S = \frac1N \sum_i e_i
# h_i^\top$ again $A = S\hat\Lambda^{-1}$, and where $\hat\Lambda \succeq \frac12\Lambda$,
#
# $$\begin{aligned}
# \mathrm{tr}\,A\Lambda A^\top &= \|S\Lambda^{-1/2}\,\Lambda^{1/2}\hat\Lambda^{-1}\Lambda^{1/2}\|_F^2 \\
# &\le 4\,\|S\Lambda^{-1/2}\|_F^2 , \\
# \mathbb{E}\,\|S\Lambda^{-1/2}\|_F^2 &= \tau/N .
# \end{aligned}$$
#
# By Markov's inequality the excess risk is at most $\frac{8\tau}{\delta N}$ with probability $1 - \delta$: the rate in
# $N$ is that of the theorem, the dependence on $\delta$ is a power. With Pareto's inputs $\tau$ is infinite.
#
# *The rate, bounded labels.* Let $\|e\| \le b$ and $\|x\|^2 \le R$. Then $\tau \le b^2\psi$, and the logarithm is kept.
# The norm $Y = \|\sum_i e_ix_i^\top\|_F$ is the largest of the sums $\sum_i e_i^\top A x_i$ over $\|A\|_F = 1$. Their
# terms have mean 0, are at most $U = b\sqrt R$, and have variances of at most $b^2\,\mathbb{E}\|Ax\|^2 = b^2$. By the
# inequality of Bousquet (2002), with probability $1 - e^{-t}$,
#
# $$\begin{aligned}
# Y &\le \mathbb{E}Y + \sqrt{2t\,(Nb^2 + 2U\,\mathbb{E}Y)} + \tfrac13Ut \\
# &\le 2\,\mathbb{E}Y + b\sqrt{2tN} + \tfrac43Ut .
# \end{aligned}$$
#
# With $\mathbb{E}Y \le \sqrt{N\tau}$ and $(\alpha + \beta + \gamma)^2 \le 3(\alpha^2 + \beta^2 + \gamma^2)$ the excess
# risk, at most $4Y^2/N^2$, is at most $(48\tau + 24b^2t)/N + \frac{64}3b^2Rt^2/N^2$. Take $t = \log(2/\delta)$.
#
# *Heavy inputs, from below, for $d = n = 1$.* Let $z = Rg$ with $g$ standard normal and $\Pr[R > r] = r^{-7}$ for $r
# \ge 1$; the feature is $z^3$, the label the sign of $z$. Let $m = \mathbb{E}z^6$ and $p^\star = \mathbb{E}|z|^3/m$,
# which is above 0. The fitted coefficient is $\hat p = \sum_i|z_i|^3/\sum_iz_i^6$, and
#
# $$\hat p - p^\star = -\frac{S}{\sum_i z_i^6}, \qquad S = \sum_i s_i, \quad s_i = p^\star z_i^6 - |z_i|^3 .$$
#
# The mean of $s_i$ is 0. By dominated convergence $t^{7/6}\Pr[z^6 > t] = \mathbb{E}\min(t^{7/6}, |g|^7) \to
# \mathbb{E}|g|^7$, so that $s_i$ has a right tail of exact order $t^{-7/6}$; from below it is bounded. By the stable
# limit theorem (Gnedenko and Kolmogorov) $S/N^{6/7}$ goes in law to a stable variable $Y$ of index $7/6$, which has a
# density. By the law of large numbers $\sum_iz_i^6/N \to m$. So the excess risk $m(\hat p - p^\star)^2$, times
# $N^{2/7}$, goes in law to $Y^2/m$: its median falls as $N^{-2/7}$, and $N$ times the risk goes to infinity. $\square$
#
# </details>
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
d = 3  # width of a token, from 2 to 4
n = 6  # tokens of an input, at least 2
samples = 300  # samples with random labels, at least 100
starts = 5  # random starts of each fit by heads, at least 1
repetitions = 200  # fresh data sets for each N of the rate, in ten groups, at least 100
seed = 0  # seed of every draw, at least 0

# %%
require(d=(d, 2, 4), n=(n, 2, None), samples=(samples, 100, None), starts=(starts, 1, None))
require(repetitions=(repetitions, 100, None), seed=(seed, 0, None))
source = generator(seed)


def gaussian_tokens(count, tokens=n):
    return torch.randn(count, tokens, d, generator=source, dtype=torch.float64)


# %% [markdown]
# The teacher and its inputs are those of the page on Algorithm 1.

# %%
before = [
    random_heads(3, d, source),
    gaussian_tokens(1),
    torch.randint(-9, 10, (n, d), generator=source),
]
teacher = random_heads(1, d, source)
tokens, fresh = gaussian_tokens(4 * psi(d)), gaussian_tokens(100)
target = mhla(teacher, fresh)

# %% [markdown]
# ### The best training loss
# First the labels are pure noise, so no model fits them. We train models with $1$, $2$, $d$ and $d^2$ heads by damped
# Gauss–Newton steps from several starts until the loss no longer falls, and compare their losses with that of
# Algorithm 1. We also solve the regression as the paper writes it, with $d^4$ unknowns, and as $d$ regressions with
# $d^3$ unknowns each.

# %%
noise_tokens = gaussian_tokens(samples)
noise_labels = torch.randn(samples, d, generator=source, dtype=torch.float64)
noise_features = certificate_features(noise_tokens)
fitted = learn(noise_tokens, noise_labels)
row = least_squares(noise_features, noise_labels)
least_loss = (noise_features @ row.mT - noise_labels).square().sum(dim=1).mean().item()
of_algorithm = (mhla(fitted.heads, noise_tokens) - noise_labels).square().sum(dim=1).mean().item()
head_counts = [1, 2, d, d * d]
losses = [
    fit_many(noise_features, noise_labels, random_heads(count, d, source, scale=0.3, models=(starts,))).losses
    for count in head_counts
]
other_ways = {
    "d⁴ unknowns": relative_error(literal_regression(noise_tokens, noise_labels), fitted.matrix),
    "d times d³": relative_error(separate_regressions(noise_tokens, noise_labels), fitted.matrix),
}

# %% [markdown]
# ### Exact labels
# Next the labels come from the teacher. We learn from $N$ examples, with $N$ near $\psi$, and test on fresh inputs.
# We also learn once from inputs whose lengths vary from 2 to 9 tokens.


# %%
def test_error(count):
    inputs = gaussian_tokens(count)
    return relative_error(mhla(learn(inputs, mhla(teacher, inputs)).heads, fresh), target)


counts = list(range(max(1, psi(d) - 5), psi(d) + 4))
recovery = {count: test_error(count) for count in counts}
mixed = stack_lengths([gaussian_tokens(1, 2 + i % 8)[0] for i in range(2 * psi(d))])
of_lengths = relative_error(mhla(learn(mixed, mhla(teacher, mixed)).heads, fresh), target)

# %%
fig, (top, bottom) = show.axes(2, 1, width=5.2, height=5.6)
for count, values in zip(head_counts, losses, strict=True):
    top.plot([count] * starts, (values - least_loss).clamp(min=1e-16), "o", color=show.COLOURS[0], alpha=0.6)
top.set(xlabel="heads H", ylabel="loss above Algorithm 1", yscale="log", ylim=(1e-17, 3), xticks=head_counts)
bottom.semilogy(counts, list(recovery.values()), "s-", color=show.COLOURS[1])
bottom.axvline(psi(d), color="grey", linestyle="--")
bottom.set(xlabel="samples N", ylabel="relative test error", title=f"ψ = {psi(d)}", xticks=counts)
show.figure(
    fig,
    name="threshold",
    caption="Top, noise as labels: how far the training loss stays above that of Algorithm 1, with one dot per "
    "start. Only $d^2$ heads reach it. Bottom, exact labels: at $N = \\psi$ (dashed) the test error falls to "
    "rounding level.",
    alt="Top: dots of the loss above Algorithm 1 for four numbers of heads; those of d squared heads are at rounding. "
    "Bottom: the test error against the number of samples drops by many powers of ten at N equal to psi.",
)

# %% [markdown]
# No number of heads reaches a lower loss than Algorithm 1, and $d^2$ heads match it. With exact labels the change is
# abrupt: one example fewer than $\psi$ leaves a large error, and with $\psi$ examples the function is known to the
# last digits.
#
# ### Noisy labels
# Now we measure the *excess risk*, the risk above that of the best model, for $32\psi$ to $256\psi$ examples and four
# kinds of data:
#
# - *Gaussian noise*: a teacher's labels plus noise of variance 1.
# - *Labels ±1*: the signs of the last token. They are bounded, and no model produces them.
# - *Labels ±1, heavy inputs*: the same, but each input is multiplied by a number from a Pareto distribution of
#   index 7. The inputs have moments up to the sixth, so all variances are finite. However, the best model has
#   residuals as large as the features, and the mean of residual² · feature² is infinite.
# - *Cauchy noise*: noise without a variance, as a control.

# %%
sizes = [multiple * psi(d) for multiple in (32, 90, 256)]
laws = {
    "Gaussian noise": ("gaussian", "normal"),
    "labels ±1": ("signs", "normal"),
    "labels ±1, heavy inputs": ("signs", "pareto"),
    "Cauchy noise": ("cauchy", "normal"),
}
risks = {name: excess_risks(d, n, sizes, repetitions, seed, *law) for name, law in laws.items()}

# %% [markdown]
# On logarithmic axes a rate $N^{-r}$ is a line of slope $-r$. We fit this exponent in ten groups of data sets, for
# the mean, the median and the 90 % quantile, and obtain an interval for each.


# %%
def slopes(name, of):
    """The exponent of the excess risk in N, in each of ten groups of data sets; ``of`` turns a group into one row."""
    return [exponent(sizes, of(group)) for group in risks[name].tensor_split(10, dim=1)]


def median(group):
    return group.median(dim=1).values


def late(group):
    return group.quantile(0.9, dim=1)


def mean(group):
    return group.mean(dim=1)


# %%
fig, axis = show.axes(width=5.2, height=3.6)
for name, marker in zip(laws, show.MARKERS, strict=False):
    axis.loglog(sizes, median(risks[name]), marker=marker, label=name)
axis.loglog(sizes, [d * psi(d) / count for count in sizes], "--", color="#000000", label="dψ / N", zorder=5)
axis.set(xlabel="samples N", ylabel="median excess risk")
axis.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
show.figure(
    fig,
    name="rate",
    caption="The median excess risk for four kinds of data. Dashed: $d\\psi/N$, which we expect for Gaussian noise.",
    alt="Excess risk against the number of samples on logarithmic axes. Gaussian noise runs along the dashed line and "
    "labels of plus and minus 1 parallel to it. With heavy inputs the curve is flatter, and that of Cauchy noise stays "
    "high.",
)

# %% [markdown]
# For Gaussian noise the excess risk follows $d\psi/N$ in constant and rate, and for the labels ±1 it falls parallel
# to this line. With heavy-tailed inputs and the same bounded labels, the exponent is only about half as large. With
# more examples such inputs can slow the fall further; at $d=n=1$ we prove the exponent $-\frac27$. With Cauchy noise
# the risk does not fall.
#
# ### Rare bad luck
# How much worse is the fit in the worst data set of a hundred, or of a thousand? Let $\delta$ be the fraction of data
# sets that are worse. Markov's inequality gives a bound that grows like $1/\delta$. We prove that it grows like
# $\log\frac1\delta$ for bounded inputs and labels. To test our bounds we take inputs of two tokens with two entries,
# each $-1$, 0 or 1. There are only 81 such inputs, so all moments are exact. The labels are again the signs of the last
# token.

# %%
failure = 0.01
finite = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)] * 4).unflatten(1, (2, 2))
signs, raw = finite[:, -1].sign(), certificate_features(finite)
white = raw @ torch.linalg.inv(torch.linalg.cholesky(raw.mT @ raw / len(raw))).mT
residual = signs - white @ (white.mT @ signs) / len(raw)
squares = torch.einsum("ia,ib->iab", white, white).flatten(1)
fourth = torch.linalg.eigvalsh(squares.mT @ squares / len(raw))[-1].item()  # K², or more
b, longest = residual.norm(dim=1).max().item(), white.square().sum(dim=1).max().item()


def finite_draws(count):
    """The least eigenvalue of Λ̂ in whitened coordinates and the excess risk, for 2000 data sets of ``count`` inputs."""
    drawn = numpy.random.default_rng(seed).multinomial(count, [1 / len(raw)] * len(raw), size=2000)
    weights = torch.tensor(drawn, dtype=torch.float64) / count
    moments = (weights @ squares).unflatten(1, (psi(2), psi(2)))
    cross = torch.einsum("ri,io,ia->roa", weights, residual, white)
    return torch.linalg.eigvalsh(moments)[:, 0], (cross @ torch.linalg.pinv(moments)).square().sum(dim=(1, 2))


# %%
enough = math.ceil(100 * fourth * (psi(2) + math.log(4 / failure)))
tail = math.log(2 / failure)
bounded = b**2 * (48 * psi(2) + 24 * tail) / enough + 22 * b**2 * longest * tail**2 / enough**2
finite_risks = {count: finite_draws(count) for count in (20, 80, 320, enough)}
levels = torch.tensor([0.5, 0.9, 0.99, 0.999], dtype=torch.float64)
show.table(
    ["N", "draws with λ_min below ½", *[f"N · excess, quantile {level:g}" for level in levels.tolist()]],
    [
        [count, (least < 0.5).double().mean(), *(count * risk.quantile(levels))]
        for count, (least, risk) in finite_risks.items()
    ],
    caption=f"2000 data sets each. The proof needs N = {enough} and bounds N times the excess by "
    f"{enough * bounded:.0f} for δ = {failure:g}.",
)

# %% [markdown]
# Each time $\delta$ falls by a factor of ten, the excess risk grows by about the same amount, as a logarithm does.
# The proved bound is generous: a hundredth of its number of samples suffices here.
#
# ## How we checked
# We require exponents within 0.2 of $-1$ for the first two kinds of data, and compare $N$ times the mean excess risk
# with $d\psi$ at three widths. The paper's version, which has no condition on the inputs, should fail for heavy
# inputs. As a control, the rate should fail for Cauchy noise.

# %%
light = ("Gaussian noise", "labels ±1")
kinds = {"mean": mean, "median": median, "90 % quantile": late}
rates = {f"{name}: slope of the {kind}": slopes(name, of) for name in light for kind, of in kinds.items()}
broken = {name: slopes(name, median) for name in laws if name not in light}
heavy, cauchy = broken
show.table(
    ["exponent of the excess risk in N", "smallest of ten groups", "largest"],
    [[name.replace("slope", "exponent"), min(draws), max(draws)] for name, draws in {**rates, **broken}.items()],
)

# %%
constants = {}
for width in (2, 3, 4):
    count = 128 * psi(width)
    constants[width] = (
        count * excess_risks(width, n, [count], 200 if width == 2 else 60, seed)[0] / (width * psi(width))
    ).tolist()

# %%
best_of_heads = min(values.min().item() for values in losses)
steps = {
    "Eq. 32: least squares less the best fit by heads": least_loss - best_of_heads,
    "Eq. 33: loss of Algorithm 1 above the least loss": of_algorithm - least_loss,
}
least, risk = finite_risks[enough]
unlucky = ((least < 0.5) | (risk > bounded)).tolist()
too_few = (finite_risks[20][0] < 0.5).tolist()

# %%
claim = Claim("linear-attention/theorem-2-1")
claim.close("loss of Algorithm 1 less least squares, relative", of_algorithm / least_loss, 1, atol=1e-10)
claim.at_most("difference", steps, 1e-9, of="proof")
claim.misprint.at_most("Eq. 33 to the letter: training loss at most 0.1", of_algorithm, 0.1, of="proof")
claim.at_most("d² heads: best fit above least squares", losses[-1].min().item() - least_loss, 1e-9)
claim.control.at_most("one head: best fit above least squares", losses[0].min().item() - least_loss, 1e-9)
claim.at_most("the matrix by other regressions, difference", other_ways, 1e-10)
claim.at_most("test error", {"N = ψ": recovery[psi(d)], "lengths 2 to 9": of_lengths}, 1e-9)
claim.control.at_most("N = ψ - 1, test error", recovery[psi(d) - 1], 1e-9)
for name, draws in rates.items():
    claim.equal(name, estimate(draws), -1, tolerance=0.2)
for width, draws in constants.items():
    claim.equal(f"d = {width}: N · excess / dψ at N = 128 ψ", estimate(draws), 1, tolerance=0.25)
claim.printed.equal(f"{heavy}: slope of the median", estimate(broken[heavy]), -1, tolerance=0.2)
claim.printed.equal(f"{heavy}: slope of the mean", estimate(slopes(heavy, mean)), -1, tolerance=0.2, of="proof")
claim.control.equal(f"{cauchy}: slope of the median", estimate(broken[cauchy]), -1, tolerance=0.2)
claim.at_most("81 inputs: fraction of draws with λ_min below ½ or above the bound", estimate(unlucky), failure)
claim.at_most("81 inputs: excess risk at δ = 0.001 over that at 0.1", risk.quantile(0.999) / risk.quantile(0.9), 10)
claim.control.at_most("81 inputs, N = 20: fraction with λ_min below ½", estimate(too_few), failure)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - The bounds that we prove have generous constants. For Gaussian inputs they require $100K^2(\psi+\log\frac4\delta)$
#   examples with $K=27$, hundreds of times as many as we draw. For the 81 inputs, we take for $K^2$ the largest
#   eigenvalue of the matrix of fourth moments, which bounds it, and draw as many examples as the proof requires.
# - On labels that no model fits, Eq. 33, read literally, is false for every $\varepsilon$ below the loss of least
#   squares. We tried $\varepsilon=0.1$.
#
# </details>
#
# ## Where the paper differs
# The theorem has no condition on the inputs, but it needs one. The paper refers to "classical results in VC theory",
# which concern bounded losses; the squared error is not bounded. With bounded fourth moments, the paper's number of
# examples is right for a model's outputs with Gaussian noise, and nearly right for bounded residuals and inputs.
#
# ## What to remember
# - With exact labels, $\psi=d^2(d+1)/2$ examples determine the regression's answer, and one fewer does not.
# - With noise of variance $\sigma^2$, the excess risk is about $\sigma^2d\psi/N$, where $d\psi$ grows like $d^4/2$.
# - For labels that no model gives, a few huge inputs can decide the fit, so the rate can fail on heavy-tailed inputs.
#
# ## Exercises
#
# 1. *By hand.* A layer reads tokens of $d=4$ numbers, and the labels have noise of variance 1. About how many examples
#    do we need for an excess risk of 0.1? How many if the labels are exact?
#    <details><summary>Solution</summary>
#
#    $\psi=16\cdot5/2=40$ and $d\psi=160$. For an excess risk of $0.1$ we need $N\approx160/0.1=1600$ examples. With
#    exact labels $\psi=40$ suffice.
#
#    </details>
# 2. *Predict, then run.* Set `d = 2`. Where does the test error drop now, and how many heads reach Algorithm 1?
#    <details><summary>Solution</summary>
#
#    At $N=\psi=6$. One head stays 0.004 above the smallest loss. Two heads reach it here, although the theorem promises
#    this only for $d^2=4$.
#
#    </details>
#
# Next: [Figure 1(a)](figure_1a_heads.ipynb). The regression uses more heads than the task needs. Do they also help
# ordinary training? The [running time](theorem_2_1_running_time.ipynb) has a separate page.

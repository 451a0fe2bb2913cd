# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 2.1 · How long the regression takes
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Theorem 2.1, Section 2.1 and Appendix A.*
#
# A theorem on polynomial time should say how the time is spent. The paper bounds the time of its algorithm by a short
# product, but of the decisive line it says only that it is a regression. Which solvers meet this bound? Does the answer
# depend on the data?

# %%
import math
from itertools import pairwise, product

import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_theory.linear_attention.learning.operations import (
    descent_multiplications,
    direct_multiplications,
    gradient,
    printed_time,
    size,
    steps_bound,
    steps_to,
)
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.learning.sketch import (
    sketched_multiplications,
    sketched_regression,
    sketched_steps,
)
from attention_theory.linear_attention.model.features import certificate_features, cubic_features
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose there are two unknowns, $a$ and $b$, and the loss is $a^2+\frac14b^2$. We start at $a=4$, $b=8$, and each
# step of gradient descent subtracts half of the gradient $(2a, \frac12b)$. The first step takes $a$ to 0. However,
# $b$ keeps three quarters of its size in every step:
#
# | step | 0 | 1 | 2 | 3 | 4 |
# | --- | --- | --- | --- | --- | --- |
# | $a$ | 4 | 0 | 0 | 0 | 0 |
# | $b$ | 8 | 6 | 4.5 | 3.4 | 2.5 |
#
# If the coefficient of $b^2$ were $\frac1{100}$, each step would keep 99 % of $b$. The remedy is to change the unit of
# $b$: in terms of $b'=\frac12b$, the loss is $a^2+b'^2$, and a single step reaches the minimum.

# %%
fig, axis = schematic.canvas(height=2.5)
angle = torch.linspace(0, 2 * math.pi, 100)
path = [(8.0, 4.0), (6.0, 0.0), (4.5, 0.0), (3.4, 0.0), (2.5, 0.0)]
for left, stretch, name, points in ((4.6, 2, "b", path), (11.4, 1, "b′", [(4.0, 4.0), (0.0, 0.0)])):
    for radius in (1.5, 3.5, 32**0.5):  # in the units of the example, 0.36 of the canvas each
        around = left + 0.36 * stretch * radius * angle.cos()
        axis.plot(around, 2.4 + 0.36 * radius * angle.sin(), color=schematic.QUIET, lw=0.8)
    axis.plot(left, 2.4, "o", color=schematic.BLUE, markersize=5)
    for (b, a), (next_b, next_a) in pairwise(points):
        start, end = (left + 0.36 * b, 2.4 + 0.36 * a), (left + 0.36 * next_b, 2.4 + 0.36 * next_a)
        schematic.arrow(axis, start, end, colour=schematic.VERMILION if stretch == 2 else schematic.BLUE)
    schematic.text(axis, (left - 0.36 * stretch * 5.66 - 0.15, 2.4), name, size=9, align="right")
    schematic.text(axis, (left, 4.65), "a", size=9)

# %%
show.figure(
    fig,
    name="valley",
    caption="Lines of equal loss, with $b$ to the right and $a$ upwards. Left: the valley is longer than wide, and "
    "after its first step gradient descent creeps along it (orange). Right: in terms of $b' = b/2$ the valley is "
    "round, and one step is enough.",
    alt="Left, three ellipses with a path of arrows that drops to the long axis and then moves along it in ever "
    "shorter arrows. Right, three circles with one arrow to the centre.",
)

# %% [markdown]
# The number of steps depends on the shape of the valley, which comes from the scale of the data. The number of
# examples and their width do not determine it.
#
# ## The paper states
# The regression has $N$ examples of at most $n_{\max}$ tokens with $d$ numbers each. Its features are the cubic ones
# of [Algorithm 1](theorem_2_1_regression.ipynb), of which $\psi=d^2(d+1)/2$ are distinct. The loss may exceed its
# minimum by $\varepsilon$. We measure time in multiplications.
#
# <!-- claim linear-attention/theorem-2-1-runtime -->
# <blockquote>
#
# **Theorem 2.1 (The running time of Algorithm 1)** *Section 2.1; Appendix A*
#
# **The paper states.** Let $n_{max}$ be the maximum sequence length $|n_i|$ for $i\in[N]$. Then there is an algorithm
# (Algorithm 1) that runs in time $O(Nd^4n_{max}\epsilon^{-1})$. Thus the optimum of the regression with respect to the
# data achieves optimum of the loss to error $\epsilon$ in time $O(\frac1\epsilon d^4N)$ (Appendix A).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Let $N \ge d^4/\varepsilon$ and $\varepsilon \le 1$. Then exact least squares is within the time
# on any data: by fast multiplication of rectangular matrices it takes $O(N(d^2 n_{\max} + d^4))$, which does not depend
# on $\varepsilon$. These conditions are those of the theorem's number of examples. We do not judge the time for fewer
# examples, which the theorem's remark on the training loss would allow.
#
# *Solvers that we can run.* Conjugate gradients, preconditioned by the QR factorisation of a random sketch of the
# features, end at most $\varepsilon$ above the smallest loss with probability $1 - \delta$ over the sketch, whatever
# the scaling of the data, after $O(1 + \log^+(P/\varepsilon))$ steps, where $P$ is the mean square of the labels. That
# is within the time if $\log P$ and $\log\frac1\delta$ are $O(n_{\max}/\varepsilon)$ and the factorisation is by fast
# multiplication, or $\varepsilon^2 d \log(\psi/\delta) = O(n_{\max})$.
#
# Gradient descent on Eq. 10 from $W = 0$ takes up to $1 + \lambda_{\max}\|W^\star\|_F^2/(4\varepsilon)$ steps of
# $2Nd^4$ multiplications, where $W^\star$ is the least-norm minimiser and $\lambda_{\max}$ the largest eigenvalue of
# the second moment of the features. That is within the time if $\lambda_{\max} \|W^\star\|_F^2 = O(n_{\max})$; on badly
# scaled data the number of steps is far above $n_{\max}/\varepsilon$. Exact least squares by the classical product, in
# the $\psi$ distinct features, takes $O(N(d^2 n_{\max} + \psi^2) + \psi^3)$, which is within the time on any data if
# $\varepsilon \le n_{\max}/d^2$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The theorem says that there *is* an algorithm with this running time, and exact least squares is one. Its costly
# part is the product of the features with themselves. With the fastest known methods for multiplying matrices it
# takes $O(Nd^4)$, whatever the data. Nobody uses these methods in practice, because they pay off only for enormous
# matrices.
#
# What can we run? We first make the valley round. If we add up the examples with random signs until only a few rows
# are left, this *sketch* has nearly the same valley. A QR factorisation of the sketch gives a triangular matrix $R$,
# and in the unknowns that $R$ defines, the valley is nearly round. Conjugate gradients, a faster relative of gradient
# descent, then need only a few steps for each additional digit.
#
# <details><summary>Proof of Theorem 2.1, running time</summary>
#
# *The regressions.* Every $\mathcal{X}_{i,a}$ of Eq. 10 holds the same $\psi = d^2(d+1)/2$ distinct features $h_i$ of
# $Z_i$. So there are $d$ regressions, one an output, of $y_a \in \mathbb{R}^N$ on one matrix $A$, whose rows are the
# $N$ lists $h_i$. The loss is $\frac1N \sum_a \|Ax_a - y_a\|^2$, and the mean square of the labels $P = \frac1N \sum_a
# \|y_a\|^2$. A solution in the distinct features gives $W$ by $O(d^4)$ divisions. Arithmetic is exact.
#
# *Features.* They take $N(d^2 n + d^3)$ multiplications at most, with $n = n_{\max}$.
#
# *Exact least squares.* The product of a $\psi\times\psi^{4/3}$ and a $\psi^{4/3}\times\psi$
# matrix is one of two matrices of $\psi^{1/3}\times\psi^{1/3}$ blocks, of sizes $\psi^{2/3}\times\psi$ and
# $\psi\times\psi^{2/3}$. By the bounds of Williams, Xu, Xu and Zhou (2024) two square matrices of order $m$ are
# multiplied in $O(m^{2.3716})$, also if their entries are blocks, and an $m \times m^{3/2}$ by an $m^{3/2}\times m$
# matrix in $O(m^{2.795})$. With $m = \psi^{1/3}$ for the first and $m = \psi^{2/3}$ for the second this is
# $O(\psi^{(2.3716 + 2\cdot2.795)/3}) = O(\psi^{2.654})$, less than $\psi^{8/3}$. Since $\psi \le d^3$,
# $\psi^{4/3} \le d^4 \le N$, and $A^\top A$ is the sum of at most $2N/\psi^{4/3}$ such products (the last filled up
# with zeros). All of them take $O(N\psi^{4/3}) = O(Nd^4)$. $A^\top Y$ for the $d$ labels takes $Nd\psi \le Nd^4$. The
# normal equations always have a solution, and one is found in $O(\psi^{2.4})$, of whatever rank they are, by the
# theorem of Ibarra, Moran and Hui (1982), with $O(\psi^2)$ for each label: as $N \ge d^4$, both are $O(Nd^4)$. It is
# some solution, which is all that the theorem asks. The one of least norm is $Gy$, for a solution $y$ of $G^2y = c$,
# where $Gx = c$ are the normal equations in features times the square root of how often each stands in
# $\mathcal{X}_{i,a}$; the time is the same. Together with the features this is $O(N(d^2n + d^4))$, within
# $O(Nd^4n/\varepsilon)$ on any data.
#
# All that follows is on solvers that one can run.
#
# *Sketch.* By the theorem of Cohen (2016) on sparse embeddings there is a random matrix $S$ of $O(\psi L)$ rows and
# $O(L)$ nonzeros a column, $L = \log(\psi/\delta)$, with $\frac12\|Ax\| \le \|SAx\| \le 2\|Ax\|$ for all $x$ at once,
# with probability $1 - \delta$ over $S$ alone. $SA$ takes $O(N\psi L)$. As $\psi \le d^3$ and $\log\frac1\delta =
# O(n/\varepsilon)$, this is $O(N d^4 n/\varepsilon)$.
#
# *QR factorisation.* Let $SA = QR$. (If columns of $SA$ are dependent, so are the same columns of $A$, since $\|SAx\| =
# 0$ only if $\|Ax\| = 0$. Then those that depend on others are left out, and the best fit stays the same. Which they
# are is found in the time of a factorisation by the theorem of Ibarra, Moran and Hui (1982).) In blocks of $\psi$ rows,
# one after another, it takes $O(L)$ factorisations of matrices of order $\psi$, each of which takes $O(\psi^{\omega +
# \eta})$ for any $\eta > 0$ by the theorem of Demmel, Dumitriu and Holtz (2007), if matrices are multiplied in time
# $\psi^\omega$. With $\omega < 2.38$ (Coppersmith and Winograd 1990) this is $O(L d^{7.2}) = O(d^8 n/\varepsilon)$,
# which is $O(Nd^4n/\varepsilon)$ as $N \ge d^4$. With the classical product it is $O(L\psi^3) = O(L d^9)$. As $N \ge
# d^4/\varepsilon$, that is within $O(Nd^4n/\varepsilon)$ if $\varepsilon^2 d L = O(n)$.
#
# *Conjugate gradients.* For all $u$, $\|SAR^{-1}u\| = \|Qu\| = \|u\|$, so that $\frac12\|u\| \le \|AR^{-1}u\| \le
# 2\|u\|$: the condition number of $AR^{-1}$ is at most 4. Conjugate gradients on the normal equations of $AR^{-1}$,
# from 0, have after $k$ steps $\|A(x - x^\star)\| \le 2\big(\frac{4-1}{4+1}\big)^k\|Ax^\star\|$, and $\|Ax_a^\star\|
# \le \|y_a\|$. So the loss is at most $4\,(3/5)^{2k}P$ above the least, which is at most $\varepsilon$ for every $k \ge
# 1$ with $k \ge \log(4P/\varepsilon)/(2\log\frac53)$. With $\log P = O(n/\varepsilon)$ and $\log\frac1\varepsilon \le
# \frac1\varepsilon$ some $k = O(n/\varepsilon)$ will do. A step multiplies by $A$, its transpose, $R^{-1}$ and its
# transpose, for each of $d$ outputs, and numbers by vectors: $d\,(2N\psi + \psi^2 + 2N + 4\psi) \le 3Nd^4$ for $d \ge
# 2$, as $\psi \le \frac34d^3 \le N$. All steps take $O(Nd^4n/\varepsilon)$.
#
# *The heads.* The singular value decomposition of a $d^2 \times d^2$ matrix takes $O(d^6)$, within $Nd^4$. (An exact
# form needs no decomposition at all: $W = \sum_h We_h\,e_h^\top$ already gives $d^2$ heads.) All parts together are
# $O(Nd^4n/\varepsilon)$ here, too.
#
# *From the training loss to the risk.* Let $W$ be what the solver returns, as $d$ rows of $\psi$ coefficients, $\hat P$
# the exact minimiser, and let $\Lambda \preceq 2\hat\Lambda$, as in the proof of the rate. The training loss of $W$ is
# $\mathrm{tr}\,(W - \hat P)\hat\Lambda(W - \hat P)^\top \le \varepsilon$ above the least, so that $\mathrm{tr}\,(W -
# \hat P)\Lambda(W - \hat P)^\top \le 2\varepsilon$, and the excess risk of $W$ is at most twice that of $\hat P$ and
# $4\varepsilon$ more. The rest is on the two solvers that one thinks of first.
#
# *Steps of gradient descent.* Let $M$ be the second moment of the $d^3$ features that Eq. 10 has for each output,
# $\lambda_i$ and $u_i$ its eigenvalues and eigenvectors, $\lambda$ the largest. The gradient of the loss at $W$ (as $d$
# rows of $d^3$ entries) is $2(W - W^\star)M$, since $W^\star M$ is the mean of label times feature. With steps of
# $1/(2\lambda)$ from $W_0 = 0$, $W_T - W^\star = -W^\star(1 - M/\lambda)^T$, and the loss exceeds the least one by
#
# $$\begin{aligned}
# & \mathrm{tr}\,(W_T - W^\star)M(W_T - W^\star)^\top \\
# &\quad = \textstyle\sum_i \lambda_i (1 - \lambda_i/\lambda)^{2T}\,\|W^\star u_i\|^2 .
# \end{aligned}$$
#
# On $[0, 1]$ the function $s(1-s)^{k}$ is largest at $s = 1/(k+1)$, where it is $\frac{1}{k+1}\big(1 +
# \frac1k\big)^{-k} \le \frac{1}{2(k+1)}$ for $k \ge 1$. With $s = \lambda_i/\lambda$ and $k = 2T$ the excess is at most
# $\lambda\|W^\star\|_F^2/(2(2T+1)) \le \lambda\|W^\star\|_F^2/(4T)$, which is at most $\varepsilon$ for every whole $T
# \ge \lambda\|W^\star\|_F^2/(4\varepsilon)$, and so for some $T \le 1 + \lambda\|W^\star\|_F^2/(4\varepsilon)$. (The
# step needs $\lambda$. With any $L \ge \lambda$ in its place the same holds with $L$, such as the trace of $M$, which
# takes $Nd^3$ multiplications.)
#
# *Gradient descent in all.* Features take $d^2 n_i$ multiplications for $Z_iZ_i^\top$ and $d^3$ for its products with
# $z_n$. With $T$ as above, $n = n_{\max} \ge 2$, $d \ge 2$, $\varepsilon \le 1$ and $\kappa =
# \lambda\|W^\star\|_F^2/n$, the parts of $N(d^2 n + d^3) + 2Nd^4T$ are at most $\frac14$, $\frac14$ and
# $\frac{2\varepsilon}{n} + \frac{\kappa}{2} \le 1 + \frac\kappa2$ times $Nd^4n/\varepsilon$: together at most
# $2\max(1, \kappa)$ times.
#
# *The direct solver.* It takes $N(d^2 n + \psi + \psi^2 + d\psi)$ multiplications for features and normal equations and
# at most $\psi^3 + d\psi^2$ for solving these. Let $d, n \ge 2$, $\varepsilon \le \min(1, n/d^2)$ and $N \ge
# d^4/\varepsilon$, as the theorem has it. With $\psi = d^2(d+1)/2$ the six parts are at most
#
# $$\begin{aligned}
# \frac{\varepsilon}{d^2} &\le \frac14, \\
# \frac{(d+1)\varepsilon}{2d^2n} &\le \frac3{16}, \\
# \frac{(d+1)^2\varepsilon}{4n} &\le \frac{(d+1)^2}{4d^2} \le \frac9{16}, \\
# \frac{(d+1)\varepsilon}{2dn} &\le \frac{d+1}{2d^3} \le \frac3{16}, \\
# \frac{(d+1)^3\varepsilon^2}{8d^2n} &\le \frac{(d+1)^3}{8d^4} \le \frac{27}{128}, \\
# \frac{(d+1)^2\varepsilon^2}{4d^3n} &\le \frac{(d+1)^2}{4d^5} \le \frac9{128}
# \end{aligned}$$
#
# times $Nd^4n/\varepsilon$, together less than 2. In either case the singular value decomposition of a $d^2 \times d^2$
# matrix comes on top, of order $d^6$, which is at most $Nd^4 n/\varepsilon$ as soon as $N \ge d^2$. (At $d = 1$ or $n =
# 1$ the same sums are at most a constant times $Nd^4n/\varepsilon$, with a constant above 2.) $\square$
#
# </details>
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
n = 6  # tokens of an input, at least 2
seed = 0  # seed of every draw, at least 0

# %%
require(n=(n, 2, None), seed=(seed, 0, None))
source = generator(seed)
# The two pages before this one make these draws first. We continue after them, as the kept values do.
before = torch.rand(14_777, generator=source, dtype=torch.float64)

# %% [markdown]
# ### Gradient descent
# The time of gradient descent has the form of the paper's bound. We apply it to Eq. 10, starting from $W=0$. One step
# multiplies all features by $W$, and all residuals by the features: $d^4$ multiplications each per example, which
# `torch` itself counts. Let $\lambda_{\max}$ be the largest eigenvalue of the second moment of the features, and
# $W^\star$ the solution of least norm. The number of steps is at most
# $1+\lambda_{\max}\|W^\star\|_F^2/(4\varepsilon)$, which contains $1/\varepsilon$, and a number that the paper's
# bound does not have.

# %%
counted = {}
for width in (2, 3, 4, 5):
    step_tokens = torch.randn(50, n, width, generator=source, dtype=torch.float64)
    features = cubic_features(step_tokens).flatten(1)
    with FlopCounterMode(display=False) as counter:
        gradient(torch.zeros(width, width**3, dtype=torch.float64), features, step_tokens[:, -1])
    counted[f"d = {width}"] = counter.get_total_flops() / 2  # it counts a multiplication and an addition as two
one_step = {case: 2 * 50 * int(case[-1]) ** 4 for case in counted}

# %% [markdown]
# How many steps does it take? The labels are the signs of the last token, divided by $\sqrt d$, so that the loss is 1
# at the start. We multiply the last entry of every token by 1, 0.3 or 0.1, which stretches the valley.

# %%
scalings, accuracies = (1.0, 0.3, 0.1), [10.0**-power for power in range(1, 6)]


def scaled_problem(width, scaling):
    """Statistics of 2000 inputs whose last entries are scaled, with the signs of the last token as labels."""
    drawn = torch.randn(2000, n, width, generator=source, dtype=torch.float64)
    answers = drawn[:, -1].sign() / width**0.5
    drawn[:, :, -1] *= scaling
    return statistics(drawn, answers)


problems = {(width, scaling): scaled_problem(width, scaling) for width in (2, 3, 4) for scaling in scalings}
steps = {
    (*case, epsilon): steps_to(data, case[0], epsilon) for case, data in problems.items() for epsilon in accuracies
}
bounds = {case: steps_bound(problems[case[:2]], case[0], case[2]) for case in steps}

# %%
fig, axis = show.axes(width=5.2, height=3.4)
for scaling, marker, colour in zip(scalings, show.MARKERS, show.COLOURS, strict=False):
    taken = [steps[3, scaling, epsilon] for epsilon in accuracies]
    axis.loglog(accuracies, taken, marker=marker, color=colour, label=f"last entries times {scaling:g}")
    axis.loglog(accuracies, [bounds[3, scaling, epsilon] for epsilon in accuracies], "--", color=colour)
axis.loglog(accuracies, [n / epsilon for epsilon in accuracies], ":", color="grey", label="$n_{max}$ / ε")
axis.set(xlabel="ε", ylabel="steps of gradient descent")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="steps",
    caption="Steps until the loss is within ε of the smallest, at $d = 3$, and their bounds (dashed). Dotted: the "
    "number of steps that fits into the paper's time.",
    alt="Steps against accuracy on logarithmic axes. Three curves rise to the left below dashed lines of slope minus "
    "one; the smaller the last entries, the higher the curve. A dotted line runs between the upper two at small ε.",
)

# %% [markdown]
# The number of steps grows as the last entries shrink, and with entries scaled by 0.1 it exceeds the number that fits
# into the paper's time. Up to a constant, gradient descent takes the paper's time multiplied by
# $\lambda_{\max}\|W^\star\|_F^2/n_{\max}$, where this factor is above 1.
#
# ### Exact least squares
# The direct solver has no steps to count. With the classical product of matrices, its time is a formula. We evaluate
# this time, relative to the paper's time, for widths up to 256.


# %%
def direct_ratio(width, tokens, epsilon):
    """Multiplications of the direct solver over the paper's time, with d⁴/ε samples."""
    count = math.ceil(width**4 / epsilon)
    return direct_multiplications(count, width, tokens) / printed_time(count, width, tokens, epsilon)


direct = {
    f"d = {width}, n = {tokens}, ε at {fraction:g} of its largest": direct_ratio(
        width, tokens, fraction * min(1, tokens / width**2)
    )
    for width in (2, 3, 4, 8, 16, 64, 256)
    for tokens in (2, 6, 100, 10_000)
    for fraction in (1, 0.1, 0.001)
}

# %% [markdown]
# For $\varepsilon\le n_{\max}/d^2$ the direct solver is within the paper's time, whatever the data. For a fixed
# $\varepsilon$ and large $d$ it is not, because of the terms $Nd^6$ and $d^9$ of the classical product.
#
# ### A sketch first
# The third solver adds each example, with random signs, to four of $8\psi$ rows. We scale the last entries down to a
# thousandth of the others, which makes some features $10^{-9}$ times as large as others.


# %%
def condition_and_excess(width, scaling, preconditioned=True, tokens=n):
    """The condition number of the features on which the steps run, and the loss above the smallest after each step."""
    drawn = torch.randn(2000, tokens, width, generator=source, dtype=torch.float64)
    answers = drawn[:, -1].sign() / width**0.5
    drawn[:, :, -1] *= scaling
    features = certificate_features(drawn)
    most = sketched_steps(1, accuracies[-1])
    fit = sketched_regression(features, answers, most, source, preconditioned=preconditioned)
    of_one_size = features / features.norm(dim=0)
    best = of_one_size @ torch.linalg.lstsq(of_one_size, answers, driver="gelsd").solution
    above_least = (features @ fit.coefficients.mT - best).square().sum(dim=-1).mean(dim=-1)
    by_triangle = torch.linalg.solve_triangular(fit.triangle, features[:, fit.columns], upper=True, left=False)
    return torch.linalg.cond(by_triangle).item(), above_least.tolist()


# %%
worse = (1.0, 0.1, 0.01, 0.001)
sketched = {case: condition_and_excess(*case) for case in product((2, 3, 4), worse)}
plain = {width: condition_and_excess(width, worse[-1], preconditioned=False)[1] for width in (3, 4)}
allowed_steps = {epsilon: sketched_steps(1, epsilon) for epsilon in accuracies}


def first_within(losses, epsilon):
    """The first step after which the loss is at most ``epsilon`` above the smallest."""
    return next(step for step, excess in enumerate(losses) if excess <= epsilon)


show.table(
    ["d", "last entries times", "condition", *[f"steps to ε = {epsilon:g}" for epsilon in accuracies]],
    [
        [*case, cond, *[f"{first_within(losses, epsilon)} of {allowed_steps[epsilon]}" for epsilon in accuracies]]
        for case, (cond, losses) in sketched.items()
    ],
)

# %% [markdown]
# The scale no longer matters. The condition number says how far from round the valley is; it stays near 2, and the
# number of steps depends only on the accuracy.
#
# ## How we checked
# We require what the proof promises: a condition number of at most 4, a loss within $\varepsilon$ of the smallest
# after the proof's number of steps, and a number of multiplications within $Nd^4n/\varepsilon$, with the classical
# product in the factorisation. Inputs with a single token, whose features are linearly dependent, must also work.
#
# As a control, we leave out the sketch. The same number of conjugate gradient steps should then end more than
# $\varepsilon=10^{-5}$ above the smallest loss, at $d=3$ and $4$. At $d=2$ there are only six features, and conjugate
# gradients finish after six steps on any data. As a second control, gradient descent on the badly scaled data should
# not be within twice the paper's time.

# %%
descent_ratio, badly_scaled, over_bound = {}, {}, {}
for (width, scaling, epsilon), taken in steps.items():
    case = f"d = {width}, last entries times {scaling:g}, ε = {epsilon:g}"
    over_printed = descent_multiplications(2000, width, n, taken) / printed_time(2000, width, n, epsilon)
    descent_ratio[case] = over_printed / max(1, size(problems[width, scaling], width) / n)
    over_bound[case] = taken / bounds[width, scaling, epsilon]
    if scaling == scalings[-1] and epsilon == accuracies[-1]:
        badly_scaled[f"d = {width}"] = over_printed

# %%
named_cases = {
    f"d = {width}, last entries times {scaling:g}, ε = {epsilon:g}": (width, scaling, epsilon)
    for (width, scaling), epsilon in product(sketched, accuracies)
}
conditions = {f"d = {width}, times {scaling:g}": cond for (width, scaling), (cond, _) in sketched.items()}
excess_ratio = {
    name: sketched[width, scaling][1][allowed_steps[epsilon]] / epsilon
    for name, (width, scaling, epsilon) in named_cases.items()
}
time_ratio = {
    name: sketched_multiplications(2000, width, n, allowed_steps[epsilon]) / printed_time(2000, width, n, epsilon)
    for name, (width, _, epsilon) in named_cases.items()
}
without = {f"d = {width}": losses[-1] / accuracies[-1] for width, losses in plain.items()}
one_token = {width: condition_and_excess(width, 1.0, tokens=1) for width in (2, 3, 4)}
dependent = {f"d = {width}": losses[-1] / accuracies[-1] for width, (_, losses) in one_token.items()}

# %%
claim = Claim("linear-attention/theorem-2-1-runtime")
claim.at_most("condition number of the preconditioned features", conditions, 4)
claim.at_most("after the steps of the proof: loss above the least, over ε", excess_ratio, 1)
claim.at_most("multiplications with the sketch over N d⁴ n / ε", time_ratio, 1)
claim.at_most("one token, dependent features: the same loss over ε = 1e-5", dependent, 1)
claim.control.at_most("no preconditioner, last entries times 0.001: the same loss over ε = 1e-5", without, 1)
claim.equal("a step of gradient descent, counted by torch, and 2 N d⁴", counted, one_step)
claim.at_most("steps of gradient descent over their bound", over_bound, 1)
claim.at_most("its multiplications over N d⁴ n max(1, κ) / ε", descent_ratio, 2)
claim.control.at_most("last entries times 0.1, ε = 1e-5: its multiplications over N d⁴ n / ε", badly_scaled, 2)
claim.number("direct solver, ε up to n / d²: multiplications over N d⁴ n / ε, largest", max(direct.values()))
claim.number("λ_max ‖W*‖², d = 3", size(problems[3, 1.0], 3))
claim.number("λ_max ‖W*‖², d = 3, last entries times 0.1", size(problems[3, 0.1], 3))
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The proof names no solver and gives no argument for the time. Its time, $O(d^4N/\varepsilon)$, does not count the
# computation of the features. We assume $N\ge d^4/\varepsilon$, as many examples as the theorem requires, and
# $\varepsilon\le1$.
#
# ## What to remember
# - Exact least squares takes the paper's time on all data, but only with a matrix product that nobody uses in
#   practice.
# - Gradient descent is slow if the valley of the loss is long, which depends on the scale of the data.
# - A random sketch makes the valley nearly round, and then a few steps per digit suffice.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let the loss be $a^2+\frac1{100}b^2$ and $b=1$ at the start. About how many steps
#    does $b$ need to fall below $\frac12$, if each step keeps 99 %? How many steps if we change the unit of $b$?
#    <details><summary>Solution</summary>
#
#    We need $0.99^k<\frac12$, which holds for $k>\ln2/0.01005\approx69$ steps. With $b'=\frac1{10}b$ the loss is
#    $a^2+b'^2$, and one step reaches the minimum.
#
#    </details>
# 2. *Predict, then run.* The inputs have six tokens. Set `n = 20`. On the badly scaled data, does gradient
#    descent come closer to the paper's time, or does it move away? Look at the second control.
#    <details><summary>Solution</summary>
#
#    It comes closer: gradient descent takes 18 times the paper's time, compared with 32 times for six tokens. The
#    paper's time grows with $n_{\max}$. The number of steps also grows, but less.
#
#    </details>
#
# Next: [Lemma 4.1](lemma_4_1_certificate.ipynb). When are all fits the same function?

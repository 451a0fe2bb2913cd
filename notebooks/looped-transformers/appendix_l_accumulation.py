# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix L · How large errors are, and how they add up
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix L.*
#
# A looped machine feeds its errors back to itself. Every copy and every product is slightly wrong, because a softmax
# computes it. Appendix L bounds the error of one operation and concludes that the error of $T$ steps is at most $T$
# times this. When is this true?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_sigmoids, root_sigmoids
from attention_theory.looped_transformers.blocks.product import ProductBlock, softmax_entry
from attention_theory.looped_transformers.certified.errors import certify_product_entry
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
products = 100  # T, products in a row, at least 20
seed = 0  # of the matrices, at least 0

# %%
require(products=(products, 20, None), seed=(seed, 0, None))
d = 4
ROUNDING = 4e-15  # of a product, times c; Lemma 14 finds it within a factor of two
rotation = torch.linalg.qr(torch.randn(d, d, generator=generator(seed), dtype=torch.float64))[0]

# %% [markdown]
# ## A tiny example
# A number is off by 0.01. A step that halves numbers halves the error as well, and a step that leaves them unchanged
# keeps it. However, the step $1/x$ takes $0.1$ to 10 and $0.11$ to about 9.1: the error is now 0.9. Errors add up only
# if no step enlarges them.
#
# The machine multiplies a vector by an orthogonal matrix a hundred times, and by 1.5 times this matrix twenty times.


# %%
def errors(matrix, count, start):
    """The distance to the exact vector after each product, and the error that each product adds."""
    text = "again: b = mul(a, b)\nt = add(t, one) if t <= 0 goto again\nhalt"
    vector = torch.full((d, 1), start, dtype=torch.float64)
    program = assemble(text, {"a": matrix.mT, "b": vector, "t": 1.0 - count}, d)
    run = FleqMachine(program).run(program, 2 * count + 4)
    found = torch.stack([program.variable(memory, "b")[:, 0] for memory in run.memories[::2]])
    exact, before = [vector[:, 0]], torch.cat([vector.mT, found[:-1]])
    for _ in found:
        exact.append(matrix @ exact[-1])
    distances = (found - torch.stack(exact[1:])).norm(dim=1)
    added = (found - before @ matrix.mT).norm(dim=1)
    return distances, added


# %%
kept, kept_added = errors(rotation, products, 0.5)
grown, grown_added = errors(1.5 * rotation, 20, 1e-4)
steps = torch.arange(1, products + 1)
slope, height = ProductBlock().slope, ProductBlock().height
of_an_entry = slope / 2 + 2 * math.exp(-height) / slope + 2 * ROUNDING / slope  # |z| is at most 1
law = d**0.5 * of_an_entry
bound = steps * law
growth = (grown[-1] / grown[9]).item()

# %%
fig, axis = show.axes()
axis.loglog(steps, kept, "o-", markersize=3, label=r"$\|A\|=1$")
axis.loglog(steps, bound, "C0--", label="T times the bound of one step")
axis.loglog(range(1, 21), grown, "s-", markersize=3, label=r"$\|A\|=1.5$")
axis.set(xlabel="products $T$", ylabel=r"$\|b-b_{\mathrm{exact}}\|$")
axis.legend()
show.figure(
    fig,
    name="accumulation",
    caption="Distance to the exact vector. With norm 1 it stays below T times the error that Lemma 14 allows per "
    "step (dashed); with norm 1.5 it crosses that line.",
    alt="Log-log plot. One curve rises at most linearly and stays below the dashed line. The other crosses the "
    "dashed line and bends upwards.",
)

# %% [markdown]
# With norm 1 the error stays below $T$ times the error of one step; with norm 1.5 it crosses this line.
#
# ## The paper states
# <!-- claim looped-transformers/appendix-l-multiplication -->
# <blockquote>
#
# **Appendix L (Error bound of the product)** *Appendix L*
#
# **The paper states.** Let $c=\frac{\epsilon_1}{C_1G}$ and $C=\log\frac{C_2}{\epsilon_2}$. Then
# $|A-(1+cx_{ij})|\le4\frac{e^{\epsilon_1/C_1}\epsilon_2}n$. Hence if $\epsilon_2=\epsilon/4$ and
# $\epsilon_1=C_1\log(n\epsilon)$ we have that the total error is less than $\epsilon$.
#
# **What is true.** With $c=\sqrt\epsilon/G$ and $C=\log(8/\epsilon)$ the entry $A$ of Eq. (11) is within $\epsilon$ of
# $1+cx$ for $|x|\le G$ and $\epsilon\le\frac14$.
#
# **What changed.** The curvature $\frac12c^2x^2$ has to be bounded as well, which gives $cG=\sqrt\epsilon$. The paper's
# $c$ is negative for small $\epsilon$, whatever the constants, and too large for large $n\epsilon$.
#
# <details><summary>Slips (2)</summary>
#
# - $A$ has $n$ in place of $e^{-C}$, as in Eq. (11).
# - The last bound lacks the curvature; its factor $1/n$ arises because only one of $n$ terms of (11) was kept. With
#   $C_2=1$ and no curvature at all, the error is $n/2$ times that bound.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With $C_2=1$ and $n\le5$, the paper's choice does not fail for large $\epsilon<1$. For $n\ge6$,
# and with a large $C_2$ for $n\ge4$, it fails for large $n\epsilon$: at $n=64$ and $\epsilon=\frac12$ the distance is
# above 10. For small $\epsilon$, the entry at $x=-G$ is near $1/n\epsilon$. The error of a product, which is divided by
# $c$, is that of Lemma 14.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/appendix-l-accumulation -->
# <blockquote>
#
# **Appendix L (Errors over T steps)** *Appendix L*
#
# **The paper states.** Assume that the input is $X_t=X_t^*+\epsilon_tM_t$, where $0<\epsilon_t<\frac{t\epsilon}T$ and
# $\|M_t\|\le1$; we will show that $X_{t+1}=X_{t+1}^*+\epsilon_{t+1}M_{t+1}$, where
# $0<\epsilon_{t+1}<\frac{(t+1)\epsilon}T$: for matrix multiplication with $\|A\|\le1$; read/write operations, since
# $\|M_tP^*\|\le1$. The result for function approximation follows in a similar way.
#
# **What is true.** If every step multiplies by an exact $A$ with $\|A\|\le1$ and adds an error of at most $\epsilon'$,
# the error after $T$ steps is at most $T\epsilon'$. The same is true of copies $X\mapsto XP^*$ in the norm of the
# largest column sum, and of functions with a Lipschitz constant of at most 1.
#
# **What changed.** $1/x$ and $\sqrt x$ have larger Lipschitz constants and multiply the error by them.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For copies, the norm is the largest column sum, as earlier in the appendix. In the spectral
# norm, a column that is copied to $s$ places, as in step 1 of Appendix K, can multiply an error by $\sqrt s$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/appendix-l-footnote-2 -->
# <blockquote>
#
# **Appendix L (Matrices of a norm above 1)** *Appendix L, footnote 2*
#
# **The paper states.** Notice that this [that $\|A\|\le1$] can be assumed without loss of generality, since we can
# normalize all the errors with the maximum norm of a matrix to the power of $T$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** If every step adds an error of at most $\epsilon'$, and $\|A\|\ge1$, the error after $T$ steps
# is at most $T\epsilon'\|A\|^{T-1}$. For an error of $\epsilon$ at the end, each step must be $\|A\|^{T-1}$ times as
# accurate as at norm 1.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *One product.* The entry $A$ of Eq. (11) approximates $1+cx$. Its error has two parts: the curvature, $\frac12c^2x^2$,
# and the weight of the other columns, about $2e^{-C}$. With $c=\sqrt\epsilon/G$ and $C=\log(8/\epsilon)$, each is below
# $\epsilon$, and they have opposite signs.
#
# *Many steps.* If each step multiplies an error by at most 1 and adds at most $\epsilon'$, the error after $T$ steps is
# at most $T\epsilon'$. With a norm above 1, each of these $T$ terms grows by at most $\|A\|^{T-1}$. Steps that enlarge
# errors are not covered. The functions $1/x$ and $\sqrt x$ are steep near 0 and do enlarge them.
#
# <details><summary>Proof of Appendix L, bound on multiplication error, as corrected</summary>
#
# Let $c=\sqrt\epsilon/G$, $C=\log(8/\epsilon)$, $\epsilon\le\frac14$, and $u=cx$, so that
# $|u|\le\sqrt\epsilon\le\frac12$. The entry is $A=e^u/(1+s)$, where $s=e^{-C}\big(1+\frac1n\sum_je^{cx_j}\big)$ lies
# between 0 and $\frac\epsilon8(1+e^{1/2})<0.34\,\epsilon$. Hence $e^u(1-s)\le A\le e^u$. From above, $A-(1+u)\le
# e^u-1-u\le\frac12u^2e^{|u|}<0.83\,\epsilon$. From below, $A-(1+u)\ge-e^us>-0.57\,\epsilon$. (The division by $c$,
# which makes a product of the entry, is not in the bound; the product's error is that of Lemma 14.) $\square$
#
# </details>
#
# <details><summary>Proof of Appendix L, error accumulation over T steps, as corrected</summary>
#
# *Matrices.* Let $b_{t+1}=Ab_t+\eta_t$ with $\|\eta_t\|\le\epsilon'$, in any norm and the norm of matrices that belongs
# to it, and let $b^*_{t+1}=Ab^*_t$ with $b^*_0=b_0$. The error $e_t=b_t-b^*_t$ is 0 at first, and
# $e_{t+1}=Ae_t+\eta_t$, so that $\|e_{t+1}\|\le\|A\|\|e_t\|+\epsilon'$. After $T$ steps
#
# $$\|e_T\|\le\epsilon'\sum_{t<T}\|A\|^t\le T\epsilon'\qquad\text{if }\|A\|\le1.$$
#
# It does not hold without the condition: if $A$ is $\alpha>1$ times an orthogonal matrix, an error of size $\epsilon'$
# in the first step alone has become $\alpha^{T-1}\epsilon'$ after the last, which is above $T\epsilon'$ for large $T$.
#
# *Copies.* A copy takes $X$ to $XP$, where $P$ is near a $P^*$ whose columns are unit vectors. The columns of $MP^*$
# are columns of $M$, so that $\|MP^*\|\le\|M\|$ in the norm of the largest column sum, which is the one that the
# appendix has for its error of a copy; and with an error of at most $\epsilon'$ for each copy
# $\|e_{t+1}\|\le\|e_t\|+\epsilon'$ again. In the spectral norm it does not hold. In step 1 of Appendix K all $s$
# columns of the scratchpad fetch the same instruction. If the only nonzero column of $M$ is the one that is fetched,
# and has length 1, $MP^*$ contains it $s$ times and has norm $\sqrt s$.
#
# *Functions.* For steps $x_{t+1}=f_t(x_t)+\eta_t$ the same lines hold with a Lipschitz constant $K$ of all $f_t$ in
# place of $\|A\|$, as long as the values stay where it holds: $|f_t(x)-f_t(y)|\le K|x-y|$ gives
# $|e_T|\le\epsilon'\sum_{t<T}K^t$, and $K\le1$ is enough for $T\epsilon'$.
#
# *Why $1/x$ and $\sqrt x$ are not covered.* Let $y$ be the exact value before the last of two steps, let the first step
# leave $y-\epsilon'$ with $0<\epsilon'<y$, and let the second add $\epsilon'$ to what it makes of that. If the second
# is $1/x$, the error is then $\frac1{y-\epsilon'}-\frac1y+\epsilon'= \frac{\epsilon'}{y(y-\epsilon')}+\epsilon'$, which
# exceeds $2\epsilon'$ if $y\le1$. If it is $\sqrt x$ and the second error has the other sign, the error is in size
# $\sqrt y-\sqrt{y-\epsilon'}+\epsilon'=\frac{\epsilon'}{\sqrt y+\sqrt{y-\epsilon'}}+\epsilon'$, which exceeds
# $2\epsilon'$ if $y\le\frac14$. In both cases the error that goes in is multiplied by about the slope, $1/y^2$ or
# $1/2\sqrt y$, and neither has a bound near 0. $\square$
#
# </details>
#
# ## See it run
# We compare the paper's constants with the corrected ones.


# %%
def distance(scale, height, n=8):
    """The largest |A - (1 + cx)| for c G and C, n scores from -G to G."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64)  # in units of G
    return (softmax_entry(scale * x, height) - 1 - scale * x).abs().max().item()


def as_printed(epsilon, constant=1.0, n=8):
    return distance(math.log(n * epsilon), math.log(4 * constant / epsilon), n)


def corrected(epsilon, n=8):
    return distance(math.sqrt(epsilon), math.log(8 / epsilon), n)


def at_worst(epsilon, n, constant=1.0):
    """The distance over ε for the printed choice: one score anywhere, the others all at one end."""
    u = math.log(n * epsilon) * torch.linspace(-1, 1, 401, dtype=torch.float64)
    scores = torch.stack([u.repeat(2), *torch.stack([u[:1], u[-1:]]).expand(2, 401).flatten().expand(n - 1, -1)], 1)
    entry = softmax_entry(scores, math.log(4 * constant / epsilon))[:, 0]
    return (entry - 1 - scores[:, 0]).abs().max().item() / epsilon


# %%
epsilons = [0.9, 0.5, 0.25, 0.2, 0.15, 0.05, 0.01, 1e-3, 1e-4]
show.table(
    ["ε", "the paper's cG", "error of 1 + cx, C₂ = 1", "the same, C₂ = 10¹²", "cG corrected", "error of 1 + cx"],
    [
        (epsilon, math.log(8 * epsilon), as_printed(epsilon), as_printed(epsilon, 1e12))
        + ((math.sqrt(epsilon), corrected(epsilon)) if epsilon <= 0.25 else ("", ""))
        for epsilon in epsilons
    ],
    caption="Largest distance from 1 + cx for the paper's choice and for the corrected one, n = 8. It should be at "
    "most ε.",
)

# %%
fig, axis = show.axes()
fine = [10 ** (-4 + 4 * k / 200) for k in range(200)]
for place, n in enumerate((8, 16, 64)):
    axis.loglog(fine, [as_printed(epsilon, n=n) for epsilon in fine], f"C{place}-", label=f"the paper's, $n={n}$")
below = [epsilon for epsilon in fine if epsilon <= 0.25]
axis.loglog(below, [corrected(epsilon) for epsilon in below], "C3-", label="corrected, $n=8$")
axis.loglog(fine, fine, "k--", label=r"$\epsilon$")
axis.set(xlabel=r"$\epsilon$", ylabel="$|A-(1+cx)|$", ylim=(1e-5, 1e3))
axis.legend(fontsize=8)
show.figure(
    fig,
    name="product-bound",
    caption="The largest distance with the paper's constants, for three $n$, and with the corrected ones. The "
    "paper's curves dip below the line of $\\epsilon$ only in a band around $1/n$, which is narrower for larger $n$.",
    alt="Log-log plot: three V-shaped curves whose tips are at one over n. They are above a straight line, epsilon "
    "itself, except near the tips. A fourth runs below that line throughout.",
)

# %% [markdown]
# The paper's curves dip below the line of $\epsilon$ only in a band around $\epsilon=1/n$. The corrected curve stays
# below it throughout.

# %%
last_step = distance(0.5, math.log(1e6)) / (4 * math.exp(0.5) * 1e-6 / 8)
no_curve = distance(1e-9, math.log(1e6)) / (4 * 1e-6 / 8)
few = {f"ε = {e:.3g}, n = {n}": at_worst(e, n) for n in range(2, 6) for e in (0.6 / n, 1 / n, 0.5, 0.7, 0.9, 0.99)}
band = [k / 100 for k in range(50, 200) if at_worst(k / 6400, 64) <= 1]
above = {f"u = {u}": (math.exp(u) - 1 - u) / (u**2 / 2 * math.exp(abs(u))) for u in (-0.5, -0.1, 0.1, 0.5)}
many = {f"ε = {epsilon}, n = {n}": corrected(epsilon, n) / epsilon for epsilon in epsilons[2:] for n in (2, 8, 64)}

# %% [markdown]
# Two kinds of steps remain: sums of sigmoids for $1/x$ and $\sqrt x$, and copies of one column to many places.

# %%
nudge, spread, later = 1e-6, {}, {}
for name, function, first, exact in (
    ("1/x", reciprocal_sigmoids(0.05, 0.2, 8.0), 0.2, 5.0),
    ("root", root_sigmoids(0.05, 8.0), 0.0, 0.0),
):
    where = torch.linspace(first, 8.0, 100_001, dtype=torch.float64)
    spread[name] = ((function(where + nudge) - function(where)).abs() / nudge).max().item()
    later[name] = (function(where[:1] + 0.05) - exact).abs().item() / (0.05 + 0.05)

# %%
copied = torch.zeros(8, 8, dtype=torch.float64)
copied[0] = 1  # P*: every column is the first unit vector
noise = torch.randn(200, d, 8, generator=generator(seed), dtype=torch.float64)
column_sums = ((noise @ copied).abs().sum(1).amax(1) / noise.abs().sum(1).amax(1)).max()
single = torch.zeros(d, 8, dtype=torch.float64)
single[:, 0] = 1 / d**0.5
spectral = torch.linalg.matrix_norm(single @ copied, 2) / torch.linalg.matrix_norm(single, 2)

# %% [markdown]
# ## How we checked
# Each product must stay within the error law of [Lemma 14](lemma_14_product.ipynb), and the distance after $T$ products
# within $T$ times this law. With norm 1.5 it must not, unless we allow a factor of $1.5^{T-1}$. For the corrected
# choice of $c$ and $C$, solvers prove the bound for every $\epsilon$ and all scores.

# %%
claim = Claim("looped-transformers/appendix-l-multiplication")
claim.at_most("corrected choice: distance over ε", many, 1.0)
claim.at_most("ε = 0.15, C₂ = 1, near 1/n, as printed: distance", as_printed(0.15), 0.15)
claim.at_most("n = 2 to 5, C₂ = 1, ε from 0.6/n to 0.99, as printed: distance over ε", few, 1.0)
claim.printed.at_most("ε = 0.9, n = 6, as printed, worst scores: distance over ε", at_worst(0.9, 6), 1.0)
claim.printed.at_most("ε = 0.9, n = 4, C₂ = 10¹², as printed, worst scores: the same", at_worst(0.9, 4, 1e12), 1.0)
for constant, name in ((1.0, "1"), (1e12, "10¹²")):
    claim.printed.at_most(f"ε = 0.001, C₂ = {name}, as printed: distance", as_printed(1e-3, constant), 1e-3)
for epsilon, n in ((0.9, 8), (0.5, 8), (0.25, 16), (0.5, 64)):
    claim.printed.at_most(f"ε = {epsilon}, n = {n}, as printed: distance", as_printed(epsilon, n=n), epsilon)
claim.control.at_most("c G = 1 in place of √ε, ε = 0.001: distance", distance(1.0, math.log(8 / 1e-3)), 1e-3)
claim.number("as printed, n = 64: from what nε on the bound holds", min(band))
claim.number("and up to what nε", max(band))
claim.at_most("curvature over u²/2 exp|u|", above, 1.0, of="proof")
claim.certified("every ε up to 1/4 and all scores", certify_product_entry(8))
claim.printed.at_most("distance over the last bound of the proof, at ε₁/C₁ = 1/2", last_step, 1.0, of="proof")
claim.printed.at_most("the same at c near 0, where nothing is curved, n = 8", no_curve, 1.0, of="proof")
claim.verdict()

# %%
claim = Claim("looped-transformers/appendix-l-accumulation")
claim.at_most("norm 1: error that a product adds over the law, largest", kept_added.max() / law, 1.0)
claim.at_most("norm 1.5: the same", grown_added.max() / law, 1.0)
claim.at_most(f"norm 1: distance over T times the law, largest of {len(kept)}", (kept / bound).max(), 1.0)
claim.control.at_most("norm 1.5: distance over T times the law, at T = 20", grown[-1] / (20 * law), 1.0)
claim.equal("norm 1.5: growth from T = 10 to 20 over 1.5^10", growth / 1.5**10, 1.0, tolerance=0.5)
for name, largest in spread.items():
    claim.printed.at_most(f"{name} by sigmoids: an error that goes in comes out larger, at most by", largest, 1.0)
steps_kept = (kept[1:] / (kept[:-1] + kept_added[1:])).max()
claim.at_most("norm 1: error after a product over that before plus its own", steps_kept, 1 + 1e-6, of="proof")
claim.at_most("a column copied to 8: largest column sum over that before", column_sums, 1 + 1e-12, of="proof")
claim.control.at_most("the same in the spectral norm", spectral, 1.0, of="proof")
claim.printed.at_most("functions: error after a step over that before plus its own", later, 1.0, of="proof")
claim.verdict()

# %%
normalised = grown / (steps[: len(grown)] * law * 1.5 ** (steps[: len(grown)] - 1))
claim = Claim("looped-transformers/appendix-l-footnote-2")
claim.at_most("norm 1.5: distance over T times the law times 1.5^(T - 1), largest", normalised.max(), 1.0)
claim.control.at_most("norm 1.5: distance over T times the law, at T = 20", grown[-1] / (20 * law), 1.0)
claim.number("1.5^19", 1.5**19)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The error law of one entry is $cz^2/2+e^{-C}(1+n_0/2d)/c$. We add $4\cdot10^{-15}/c$ for rounding twice, because we
# know only its size. With norm 1.5 the vector starts small, so that the product's error is the same in every step. We
# test the last step of the paper's proof at $\epsilon_1/C_1=\frac12$ and $\epsilon_2/C_2=10^{-6}$, and at $c$ near 0.
#
# </details>
#
# ## Where the paper differs
# The paper's $c$ is negative for small $\epsilon$ and too large for large $n\epsilon$. The last line of its proof
# drops the curvature, and its factor $1/n$ comes from the terms that Eq. (11) loses. The sentence on functions, "in a
# similar way", needs a Lipschitz constant of at most 1.
#
# ## What to remember
# - Errors add up over the steps if no step enlarges them, but can multiply otherwise.
# - The entry of a product is within $\epsilon$ of $1+cx$ for $c=\sqrt\epsilon/G$, because the curvature has to be
#   bounded as well.
#
# ## Exercises
#
# 1. *By hand.* Let $n=8$ and $\epsilon=0.001$. What is the paper's $cG=\log(n\epsilon)$, and near which value is the
#    entry at $x=-G$?
#    <details><summary>Solution</summary>
#
#    $\log0.008\approx-4.8$. At $x=-G$ the entry is therefore near $e^{4.8}$, that is, $1/0.008=125$, and not near
#    $1+cx\approx5.8$.
#
#    </details>
# 2. *Predict, then run.* Set `products = 300`. Does the curve of norm 1 cross its dashed line?
#    <details><summary>Solution</summary>
#
#    No. Both continue to $T=300$; the bound holds for every $T$.
#
#    </details>
#
# Next: [Lemma 7](lemma_7_newton.ipynb). Newton's iteration multiplies matrices again and again.

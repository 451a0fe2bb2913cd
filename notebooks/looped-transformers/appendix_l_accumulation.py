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
# A looped machine feeds its errors back to itself. None of its operations is quite exact: a copy is made by a softmax,
# which leaves a little weight on columns that are not meant, and a product of matrices is read off a softmax too, one
# that is nearly flat ({doc}`lemma_14_product`). Appendix L bounds the error of one operation and then says what many
# cycles make of it. Its bound on a copy is dealt with where addresses are ({doc}`section_b_1_encodings`). Here are the
# other two: the bound on a product, which does not hold as it is written, and the sum over $T$ steps, for which the
# page lets the machine multiply a vector by a matrix a hundred times over.

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_sigmoids, root_sigmoids
from attention_theory.looped_transformers.blocks.product import ProductBlock, softmax_entry
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import variable
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
# ## The bound on a product
# <!-- claim looped-transformers/appendix-l-multiplication -->
# <blockquote>
#
# **App. L bound on multiplication error (Error bound of the product)** *Appendix L*
#
# **As printed.** $c=\epsilon_1/(C_1G)$ with $\epsilon_1=C_1\log(n\epsilon)$ and $C=\log(4C_2/\epsilon)$, since
# $4e^{\epsilon_1/C_1}\epsilon_2/n$ is said to bound the error; $n$ for $e^{-C}$ as in Eq. (11).
#
# **Corrected.** With $c=\sqrt\epsilon/G$ and $C=\log(8/\epsilon)$ the entry $A$ of Eq. (11) is within $\epsilon$ of
# $1+cx$ for $|x|\le G$ and $\epsilon\le\frac14$. (The error of a product, which is divided by $c$, is that of Lemma
# 14.)
#
# $cG=\sqrt\epsilon$, since the curvature $\frac12c^2x^2$ has to be bounded, too. The printed $c$ is negative for small
# $\epsilon$, whatever the constants, and at $x=-G$ the entry is then near $1/n\epsilon$. For large $n\epsilon$ it is
# too large: at $n=64$, $\epsilon=\frac12$ the distance is above 10.
#
# </blockquote>
# <!-- /claim -->
# The appendix looks at $A$, the entry of Eq. (11), as an approximation of $1+cx$ for $|x|\le G$. It takes
# $c=\epsilon_1/(C_1G)$ with $\epsilon_1=C_1\log(n\epsilon)$ and $C=\log(4C_2/\epsilon)$, and concludes that
# $|A-(1+cx)|\le\epsilon$. Both $C_1$ and $G$ cancel in $cx=\log(n\epsilon)\,x/G$, and $C_2$ is of little weight. The
# bound holds for $\epsilon$ near $1/n$, where $c$ is near 0, and fails on both sides of it. For large $\epsilon$ the
# curvature is too large: $cx$ goes up to $\log(n\epsilon)$, and nothing makes that small. For small $\epsilon$ the
# constant $c$ is negative and large, and at $x=-G$ the entry is near $1/n\epsilon$: it grows as $\epsilon$ falls. The
# last step of the proof drops the curvature: $4e^{\epsilon_1/C_1}\epsilon_2/n$ does not bound it.
#
# <details><summary>Proof of App. L bound on multiplication error, as corrected</summary>
#
# Let $c=\sqrt\epsilon/G$, $C=\log(8/\epsilon)$, $\epsilon\le\frac14$, and $u=cx$, so that
# $|u|\le\sqrt\epsilon\le\frac12$. The entry is $A=e^u/(1+s)$, where $s=e^{-C}\big(1+\frac1n\sum_je^{cx_j}\big)$ lies
# between 0 and $\frac\epsilon8(1+e^{1/2})<0.34\,\epsilon$. Hence $e^u(1-s)\le A\le e^u$. From above, $A-(1+u)\le
# e^u-1-u\le\frac12u^2e^{|u|}<0.83\,\epsilon$. From below, $A-(1+u)\ge-e^us>-0.57\,\epsilon$. (The division by $c$,
# which makes a product of the entry, is not in the bound; the product's error is that of Lemma 14.) $\square$
#
# </details>


# %%
def distance(scale, height, n=8):
    """The largest |A - (1 + cx)| for c G and C, n scores from -G to G."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64)  # in units of G
    return (softmax_entry(scale * x, height) - 1 - scale * x).abs().max().item()


def as_printed(epsilon, constant=1.0, n=8):
    return distance(math.log(n * epsilon), math.log(4 * constant / epsilon), n)


def corrected(epsilon, n=8):
    return distance(math.sqrt(epsilon), math.log(8 / epsilon), n)


# %% [markdown]
# The printed choice and the corrected one, from large $\epsilon$ to small:

# %%
epsilons = [0.9, 0.5, 0.25, 0.2, 0.15, 0.05, 0.01, 1e-3, 1e-4]
show.table(
    ["ε", "cG as printed", "error of 1 + cx, C₂ = 1", "the same, C₂ = 10¹²", "cG corrected", "error of 1 + cx"],
    [
        (epsilon, math.log(8 * epsilon), as_printed(epsilon), as_printed(epsilon, 1e12))
        + ((math.sqrt(epsilon), corrected(epsilon)) if epsilon <= 0.25 else ("", ""))
        for epsilon in epsilons
    ],
    caption="Largest distance for the printed choice and for the corrected one, n = 8; it is to be at most ε.",
)

# %% [markdown]
# And over a finer grid of $\epsilon$, for three $n$: what is below the dashed line meets the bound.

# %%
fig, axis = show.axes()
fine = [10 ** (-4 + 4 * k / 200) for k in range(200)]
for place, n in enumerate((8, 16, 64)):
    axis.loglog(fine, [as_printed(epsilon, n=n) for epsilon in fine], f"C{place}-", label=f"printed, $n={n}$")
below = [epsilon for epsilon in fine if epsilon <= 0.25]
axis.loglog(below, [corrected(epsilon) for epsilon in below], "C3-", label="corrected, $n=8$")
axis.loglog(fine, fine, "k--", label=r"$\epsilon$")
axis.set(xlabel=r"$\epsilon$", ylabel="$|A-(1+cx)|$", ylim=(1e-5, 1e3))
axis.legend(fontsize=8)
show.figure(
    fig,
    name="product-bound",
    caption="The largest distance that the printed constants give, for three $n$, and the corrected ones. The printed "
    "curves dip below the dashed line near $1/n$ only.",
    alt="Log-log plot: three curves in the form of a V whose tips lie at one over n. They are above a rising "
    "dashed line except near the tips. A fourth runs below that line throughout.",
)

# %% [markdown]
# The last step of the proof is taken by itself too, at $\epsilon_1/C_1=\frac12$ and $\epsilon_2/C_2=10^{-6}$.

# %%
last_step = distance(0.5, math.log(1e6)) / (4 * math.exp(0.5) * 1e-6 / 8)
above = {f"u = {u}": (math.exp(u) - 1 - u) / (u**2 / 2 * math.exp(abs(u))) for u in (-0.5, -0.1, 0.1, 0.5)}
many = {f"ε = {epsilon}, n = {n}": corrected(epsilon, n) / epsilon for epsilon in epsilons[2:] for n in (2, 8, 64)}
claim = Claim("looped-transformers/appendix-l-multiplication")
claim.check("corrected choice: distance over ε", many, "<=", 1.0)
claim.check("ε = 0.15, C₂ = 1, near 1/n, as printed: distance", as_printed(0.15), "<=", 0.15)
for constant, name in ((1.0, "1"), (1e12, "10¹²")):
    claim.printed(f"ε = 0.001, C₂ = {name}, as printed: distance", as_printed(1e-3, constant), "<=", 1e-3)
for epsilon, n in ((0.9, 8), (0.5, 8), (0.25, 16), (0.5, 64)):
    claim.printed(f"ε = {epsilon}, n = {n}, as printed: distance", as_printed(epsilon, n=n), "<=", epsilon)
claim.control("c G = 1 in place of √ε, ε = 0.001: distance", distance(1.0, math.log(8 / 1e-3)), "<=", 1e-3)
claim.check("curvature over u²/2 exp|u|", above, "<=", 1.0, of="proof")
claim.printed("distance over the last bound of the proof, at ε₁/C₁ = 1/2", last_step, "<=", 1.0, of="proof")
claim.verdict()

# %% [markdown]
# ## Errors over many cycles
# <!-- claim looped-transformers/appendix-l-accumulation -->
# <blockquote>
#
# **App. L error accumulation over T steps (Errors over T steps)** *Appendix L*
#
# **As printed.** The same is said of steps that approximate functions, "in a similar way".
#
# **Corrected.** If every step multiplies by an exact $A$ with $\|A\|\le1$ and adds an error of at most $\epsilon'$, the
# error after $T$ steps is at most $T\epsilon'$.
#
# It needs a Lipschitz constant of at most 1. $1/x$ and $\sqrt x$ have larger ones, and multiply the error by it.
#
# </blockquote>
# <!-- /claim -->
# If every step at most keeps errors as they are, $T$ steps make at most $T$ times the error of one. A step that
# enlarges them makes more of it, and the functions in question do.
#
# <details><summary>Proof of App. L error accumulation over T steps, as corrected</summary>
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
# The error of one step is what the machine's own product adds to the exact product of the vector that it had. Lemma 14
# says how large it can be, before anything is run: $cz^2/2+e^{-C}(1+n_0/2d)/c$ for an entry $z$, and
# $4\cdot10^{-15}/c$ for rounding. With an orthogonal matrix, $\|A\|=1$, errors are kept and add up at worst linearly.
# With $\|A\|=1.5$ they grow like $1.5^T$. There the vector starts small, so that the product's error is the same in
# every step.


# %%
def errors(matrix, count, start):
    """The distance to the exact vector after each product, and the error that each product adds."""
    text = "again: b = mul(a, b)\nt = add(t, one) if t <= 0 goto again\nhalt"
    vector = torch.full((d, 1), start, dtype=torch.float64)
    program = assemble(text, {"a": matrix.mT, "b": vector, "t": 1.0 - count}, d)
    run = FleqMachine(program).run(program, 2 * count + 4)
    found = torch.stack([variable(program, memory, "b")[:, 0] for memory in run.memories[::2]])
    exact, before = [vector[:, 0]], torch.cat([vector.mT, found[:-1]])
    for _ in found:
        exact.append(matrix @ exact[-1])
    distances = (found - torch.stack(exact[1:])).norm(dim=1)
    added = (found - before @ matrix.mT).norm(dim=1)
    return distances, added


# %% [markdown]
# The program has two instructions in its loop; a hundred products are two hundred cycles.

# %%
kept, kept_added = errors(rotation, products, 0.5)
grown, grown_added = errors(1.5 * rotation, 20, 1e-4)
steps = torch.arange(1, products + 1)
slope, height = ProductBlock().slope, ProductBlock().height
of_an_entry = slope / 2 + 2 * math.exp(-height) / slope + 2 * ROUNDING / slope  # |z| is at most 1
law = d**0.5 * of_an_entry
bound = steps * law
growth = (grown[-1] / grown[9]).item()

# %% [markdown]
# The paper says the same of steps that approximate a function. That needs a function that does not spread its
# arguments. The sigmoids for $1/x$ and for $\sqrt x$ do: an error that goes in comes out larger by their slope.

# %%
nudge, spread = 1e-6, {}
for name, function, first in (
    ("1/x", reciprocal_sigmoids(0.05, 0.2, 8.0), 0.2),
    ("root", root_sigmoids(0.05, 8.0), 0.0),
):
    where = torch.linspace(first, 8.0, 100_001, dtype=torch.float64)
    spread[name] = ((function(where + nudge) - function(where)).abs() / nudge).max().item()

# %% [markdown]
# Both runs beside the line of $T$ errors:

# %%
fig, axis = show.axes()
axis.loglog(steps, kept, "o-", markersize=3, label=r"$\|A\|=1$")
axis.loglog(steps, bound, "C0--", label="T times the law of one step")
axis.loglog(range(1, 21), grown, "s-", markersize=3, label=r"$\|A\|=1.5$")
axis.set(xlabel="products $T$", ylabel=r"$\|b-b_{\mathrm{exact}}\|$")
axis.legend()
show.figure(
    fig,
    name="accumulation",
    caption="Distance to the exact vector. With norm 1 it stays below T times the error that Lemma 14 allows a step "
    "(dashed); with norm 1.5 it crosses that line.",
    alt="Log-log plot. One curve rises at most linearly and stays below the dashed line. The other crosses the "
    "dashed line and bends upwards.",
)

# %% [markdown]
# With norm 1 errors add up; with norm 1.5 they multiply.

# %%
claim = Claim("looped-transformers/appendix-l-accumulation")
claim.check("norm 1: error that a product adds over the law, largest", kept_added.max() / law, "<=", 1.0)
claim.check("norm 1.5: the same", grown_added.max() / law, "<=", 1.0)
claim.check(f"norm 1: distance over T times the law, largest of {len(kept)}", (kept / bound).max(), "<=", 1.0)
claim.control("norm 1.5: distance over T times the law, at T = 20", grown[-1] / (20 * law), "<=", 1.0)
claim.check("norm 1.5: growth from T = 10 to 20 over 1.5^10", growth / 1.5**10, "==", 1.0, 0.5)
for name, largest in spread.items():
    claim.printed(f"{name} by sigmoids: an error that goes in comes out larger, at most by", largest, "<=", 1.0)
claim.verdict()

# %% [markdown]
# ## What was learned
# A product's error is bounded once the curvature of the exponential is bounded, by $c=\sqrt\epsilon/G$; with the
# printed constants the bound holds near $\epsilon=1/n$ and nowhere else. Errors of many steps add up where a step does
# not enlarge what it is given, as a matrix of norm 1 does not, and the machine keeps below that line. A sum of steep
# sigmoids does enlarge it, so that "in a similar way" is not true of functions.
#
# ## To try
# - Set `products = 300`: the curve of norm 1 goes on below its dashed line.
# - Set `seed = 1`: another rotation; the distances move, the lines do not.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Matrix products by a softmax that is nearly flat
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 14, Eq. (11), Corollaries 3 to 7, Appendix J.3.*
#
# ```{claim} looped-transformers/lemma-14
# ```
#
# Where all scores are small, $e^{cz}\approx 1+cz$, and the softmax is linear in them. The block puts $cz$ with
# $z=(M^\top M)_{ij}$, $M=[A\ B]$, beside $2d$ scores of size $C$, so that the denominator is nearly constant. A value
# matrix of size $2d\,e^C$, a subtraction of 1 and a division by $c$ take $z$ out again. The error is not just
# "small": it is $c z^2/2$ from the curvature, $-e^{-C}(1+n_0/2d)/c$ from the other columns ($n_0$ of them score
# nothing), and about $2\cdot10^{-16}/c$ from rounding. The last grows as $c$ falls, so there is a best $c$ and a
# floor.

# %%
import math

import torch

from attention_theory.looped_transformers.blocks import run_block
from attention_theory.looped_transformers.product_block import ProductBlock, product_error, softmax_entry
from attention_theory.looped_transformers.summary import summarise
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # size of the matrices, from 2 to 16
batch = 40  # pairs of matrices, at least 5
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 2, 16), batch=(batch, 5, None), seed=(seed, 0, None))
a, b = 2 * torch.rand(2, batch, d, d, generator=generator(seed), dtype=torch.float64) - 1


def product(a=a, b=b, spare=0, **options):
    """The block's result and the exact one."""
    block = ProductBlock(**options)
    return run_block(block, a, b, spare=spare).result, block.reference(a, b)


def error(**options):
    ours, exact = product(**options)
    return (ours - exact).abs().max().item()


# %% [markdown]
# ## The error law

# %%
heights = [10.0, 20.0, 40.0]
slopes = [10.0**-power for power in range(1, 11)]
errors = {height: [error(slope=c, height=height) for c in slopes] for height in heights}


def predicted(c, height):
    """The largest error by the law, over the same entries, with the rounding error added."""
    z = a.mT @ b
    return product_error(z, c, height).abs().max().item() + 2e-16 * 2 / c


two_sided = [error(slope=c, height=40.0, two_sided=True) for c in slopes]
fig, axis = show.axes(height=3.8)
for place, height in enumerate(heights):
    axis.loglog(slopes, errors[height], "os^"[place], label=f"$C={height:.0f}$")
    axis.loglog(slopes, [predicted(c, height) for c in slopes], "-", color=f"C{place}")
axis.loglog(slopes, two_sided, "Dk", label="two heads, $C=40$")
axis.set(xlabel="$c$", ylabel="largest error of a product")
axis.legend()
show.figure(
    fig,
    name="law",
    caption="Largest error over all entries against $c$; lines are the law. At the right the curvature rules, at the "
    "left the rounding error or $e^{-C}/c$. A second head at $-c$ removes the curvature.",
    alt="Log-log plot of V shapes. For C = 40 the points fall with c from 0.2 to about ten to the minus seven at "
    "c = ten to the minus seven and rise again. For C = 20 and C = 10 they turn earlier. Points for two heads "
    "fall twice as steeply and turn at ten to the minus five.",
)

# %% [markdown]
# The law is checked where one of its terms leads: the curvature for $C=40$ and $c$ from $10^{-2}$ to $10^{-5}$, the
# other columns for $C=10$ and $C=20$ at small $c$. At $c=1$ the softmax is not linear; at $C=0$ the denominator is
# not constant; with $3d$ columns, as Definition 1 allows, there is no room for the $2d$ columns of ones.

# %%
curvature = []
for c in slopes[1:5]:
    ours, exact = product(slope=c)
    curvature.append(((ours - exact - product_error(exact, c, 40.0)).abs().max() / (ours - exact).abs().max()).item())
shifts = []
for height, c, spare in ((10.0, 1e-3, 0), (10.0, 1e-3, 2 * d), (20.0, 1e-6, 0), (20.0, 1e-6, 2 * d)):
    ours, exact = product(slope=c, height=height, spare=spare)
    rest = (max(4 * d, d * d) - 4 * d + spare) / (2 * d)
    law = product_error(exact, c, height, rest)
    shifts.append(((ours - exact - law).mean() / law.mean()).abs().item())
sizes = summarise(run_block(ProductBlock(), a[:1], b[:1]).machine)

claim = Claim("looped-transformers/lemma-14")
claim.check("c z²/2, c = 1e-2 to 1e-5: relative misfit", max(curvature), "<=", 0.1)
claim.check("-exp(-C)(1 + n0/2d)/c: relative misfit of the mean", max(shifts), "<=", 0.1)
claim.check("layers", sizes.layers, "==", 2)
claim.check("heads", sizes.heads, "==", 1)
claim.check("best error, C = 40", min(errors[40.0]), "<=", 1e-6)
claim.control("c = 1: error", error(slope=1.0), "<=", 0.1)
claim.control("C = 0: error at c = 1e-3", error(slope=1e-3, height=0.0), "<=", 0.1)
claim.printed("columns the block needs: 3d as the format allows", 3 * d, ">=", 4 * d)
claim.number("largest error at c = 1e-1, C = 40", errors[40.0][0], earlier=0.19, within=0.9)
claim.number("best error, C = 40", min(errors[40.0]), earlier=1.6e-7, within=2.0)
claim.number("best error, C = 20", min(errors[20.0]), earlier=1.6e-4, within=2.0)
claim.number("best error, C = 10", min(errors[10.0]), earlier=1.3e-2, within=2.0)
claim.verdict()

# %% [markdown]
# ## The expansion in print
# ```{claim} looped-transformers/equation-11
# ```
# In dividing numerator and denominator by $n e^C$ the paper turns $n\cdot 1/(n e^C)$ into $n$.

# %%
scores = 1e-3 * (a.mT @ b)[0, 0].repeat(8)[:8]
direct, factored, printed = (softmax_entry(scores, 20.0, form) for form in ("direct", "factored", "printed"))
claim = Claim("looped-transformers/equation-11")
claim.check("corrected form less the softmax entry", (direct - factored).abs().max(), "<=", 1e-12)
claim.printed("printed form less the softmax entry", (direct - printed).abs().max(), "<=", 1e-12)
claim.number("softmax entry", direct[0], earlier=1.0007, within=0.002)
claim.number("printed form", printed[0], earlier=0.111, within=0.01)
claim.verdict()

# %% [markdown]
# ## The bound of Appendix L
# ```{claim} looped-transformers/appendix-l-multiplication
# ```
# The appendix takes $c=\epsilon_1/(C_1G)$ with $\epsilon_1=C_1\log(n\epsilon)$ and $C=\log(4C_2/\epsilon)$ and
# concludes that the error is at most $\epsilon$. For $n\epsilon<1$ that $c$ is negative, and for moderate $\epsilon$
# it is far too large for a linear softmax. The bound is also one on $1+cz$: the division by $c$ that follows is left
# out.

# %%
epsilons = [0.25, 0.2, 0.15]
rows = []
for epsilon in epsilons:
    c, height = math.log(2 * d * epsilon), math.log(4 / epsilon)
    rows.append((epsilon, c, height, error(slope=c, height=height) if c > 0 else math.inf))
show.table(
    ["ε", "c as prescribed", "C as prescribed", "error"], rows, caption="The printed choice, with all constants 1."
)
negative = math.log(2 * d * 1e-3)
try:
    ProductBlock(slope=negative)
    refused = False
except ParameterError:
    refused = True
ours, exact = product(slope=1e-4)
misfit = ((ours - exact - product_error(exact, 1e-4, 40.0)).abs().max() / (ours - exact).abs().max()).item()

claim = Claim("looped-transformers/appendix-l-multiplication")
claim.check("corrected law at c = 1e-4, relative misfit", misfit, "<=", 0.1)
claim.counterexample("ε = 0.25: error of the printed choice", rows[0][3], "<=", 0.25)
claim.counterexample("ε = 0.001: c as prescribed", negative, ">", 0.0)
claim.check("a negative c is refused by the block", refused, "==", True)
claim.verdict()

# %% [markdown]
# ## The other three products
# ```{claim} looped-transformers/corollary-3
# ```
# ```{claim} looped-transformers/corollary-4
# ```
# ```{claim} looped-transformers/corollary-5
# ```
# The Gram matrix holds all four. Which one comes out depends on the columns that are read and on the rows that the
# value matrix keeps. It is printed with the rows of $A$ throughout; $B^\top A$ and $B^\top B$ need those of $B$.


# %%
def misfit_of(which, kept=None):
    """Distance from the exact product plus its law, relative to the block's own error."""
    ours, _ = product(slope=1e-4, product=which, kept=kept)
    exact = ProductBlock(product=which).reference(a, b)
    law = product_error(exact, 1e-4, 40.0)
    return ((ours - exact - law).abs().max() / law.abs().max()).item()


for number, which in ((3, "ba"), (4, "bb"), (5, "aa")):
    claim = Claim(f"looped-transformers/corollary-{number}")
    claim.check("error law, relative misfit", misfit_of(which), "<=", 0.1)
    if which == "aa":
        claim.control(
            "operands exchanged: misfit to A^T A", (product(b, a, product="aa")[0] - a.mT @ a).abs().max(), "<=", 1e-2
        )
    else:
        claim.printed("rows of A kept, as printed: relative misfit", misfit_of(which, "a"), "<=", 0.1)
    claim.verdict()

# %% [markdown]
# ## Numbers, percentages, squares, and a matrix times a number
# ```{claim} looped-transformers/corollary-6
# ```
# ```{claim} looped-transformers/corollary-7
# ```
# ```{claim} looped-transformers/remark-j-4
# ```
# ```{claim} looped-transformers/remark-scalar-matrix
# ```
# A number is a matrix with one entry. A number times a matrix is not such a product: with $s$ in the first entry of
# $A$ the block returns $s$ times the first *row* of $B$. With $sI$ it works.


# %%
def scalars(values):
    out = torch.zeros(len(values), d, d, dtype=torch.float64)
    out[:, 0, 0] = values
    return out


grid = torch.linspace(-2, 2, 41, dtype=torch.float64)
pairs = {
    "corollary-6": (scalars(grid), scalars(grid.flip(0) + 0.5)),
    "corollary-7": (scalars(torch.full_like(grid, 0.01)), scalars(100 * grid)),
    "remark-j-4": (scalars(grid), scalars(grid)),
}
for claim_id, (left, right) in pairs.items():
    ours, exact = product(left, right, slope=1e-5)
    law = product_error(exact[:, 0, 0], 1e-5, 40.0)
    off = (ours - exact)[:, 0, 0] - law
    claim = Claim(f"looped-transformers/{claim_id}")
    claim.check("error law, misfit over the largest error", off.abs().max() / law.abs().max(), "<=", 0.1)
    claim.check("layers", sizes.layers, "==", 2)
    claim.check("heads", sizes.heads, "==", 1)
    far, exact = product(left, right, slope=1.0)
    claim.control("c = 1: largest error", (far - exact)[:, 0, 0].abs().max(), "<=", 0.1)
    claim.verdict()

# %%
s = torch.full((batch,), 0.7, dtype=torch.float64)
identity = s[:, None, None] * torch.eye(d, dtype=torch.float64)
by_matrix, by_number = product(identity, b)[0], product(scalars(s), b)[0]
claim = Claim("looped-transformers/remark-scalar-matrix")
claim.check("sI as first operand: distance to sB", (by_matrix - 0.7 * b).abs().max(), "<=", 1e-5)
claim.check(
    "a number: distance to s times the first row of B", (by_number[:, 0] - 0.7 * b[:, 0]).abs().max(), "<=", 1e-5
)
claim.check("a number: largest entry below that row", by_number[:, 1:].abs().max(), "<=", 1e-5)
claim.printed("a number as first operand: distance to sB", (by_number - 0.7 * b).abs().max(), "<=", 1e-5)
claim.verdict()

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 14 · Matrix products by a softmax that is nearly flat
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 14, Eq. (11), Corollaries 3 to 7, Appendix J.3.*
#
# A network that is to run programs on matrices must multiply them. The layers of a transformer mostly add things up and
# move them. But a product of two numbers that both come from the input does stand in the scores of attention. The score
# of two columns is an inner product, and so, if the columns are those of $M=[A\ B]$, the scores are
# $z_{ij}=(M^\top M)_{ij}$, among them all entries of $A^\top B$. For $A=2$ and $B=3$, for example, $M=(2\ \,3)$ and
# $M^\top M=\begin{pmatrix}4&6\\6&9\end{pmatrix}$, which holds the product 6. But they are inside a softmax, which takes
# exponentials and divides by their sum. How can they be got out?
#
# Where all scores are small, $e^{cz}\approx 1+cz$, and the softmax is linear in them. The block multiplies the scores
# of $M$ by a small $c$ and puts them beside $2d$ scores of a large size $C$, those of columns that hold ones, so that
# the denominator is nearly constant. A value matrix of size $2d\,e^C$, a subtraction of 1 and a division by $c$ take
# $z$ out again. The state of the network has one column for each token. Operands of $d\times d$ take $2d$ of its
# columns and the ones as many, which makes $4d$; if there are more, these score nothing, and $n_0$ is their number.
#
# <!-- claim looped-transformers/lemma-14 -->
# <blockquote>
#
# **Lemma 14 (Matrix product by linearising the softmax)** *Appendix J.3*
#
# Two layers with one head and $O(d)$ rows compute $A^\top B$ from operands of at most $d\times d$, on $4d$ columns at
# least (fewer are not tried). An entry $z$ comes out as $z+\tfrac12cz^2-e^{-C}(1+n_0/2d)/c$, where $n_0$ columns score
# nothing, up to $O(c^2z^3)$ and terms in $e^{-C}z$ and $e^{-2C}/c$; so in exact arithmetic any error can be had with
# small $c$ and large $C$. Rounding to 53 bits adds about $4\cdot10^{-15}/c$.
#
# **In the paper's proof.** The Gram matrix is written into the rows of ones, which are said to be fixed, and stays
# there (what becomes of the ones themselves is "$*$"); the value matrix keeps the rows of $A$ ($\mathcal D_d$), and yet
# all four products come out; the codes $p_{2d:3d}$ are one too many.
#
# **Corrected.** The result in rows of its own, so that the rows of ones are as before in the next cycle; the rows of
# the left factor are kept; $p_{2d+1:3d}$.
#
# </blockquote>
# <!-- /claim -->
#
# The error is not just "small": it is $c z^2/2$ from the curvature of the exponential, $-e^{-C}(1+n_0/2d)/c$ from the
# other columns, and about $4\cdot10^{-15}/c$ from rounding, a size read off these runs. The last grows as $c$ falls, so
# there is a best $c$ and a floor.
#
# Three places of the proof are misprinted. As it is printed, the layer writes the *Gram matrix* $M^\top M$ into the
# rows of the ones that the next product needs; this is run below. In the columns of the ones themselves the paper has
# "$*$" for what becomes of them, which leaves open whether they are restored; it does not matter, as will be seen. The
# value matrix contains $\mathcal D_d$, a diagonal matrix with ones in the first $d$ of its $2d$ places, so that it
# keeps the rows of $A$, and with them only half of $M^\top M$. And $p_{2d:3d}$ are $d+1$ codes, addresses of columns,
# where the result has $d$ columns.

# %%
import math
from decimal import Decimal, localcontext
from itertools import pairwise

import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.product import (
    ProductBlock,
    divided_entry,
    product_error,
    softmax_entry,
)
from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork, least_distance
from attention_theory.looped_transformers.certified.squares import certify_squares
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
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
#
# <details><summary>Proof of Lemma 14: the two layers, and the error law</summary>
#
# *Two layers.* The columns of $M=[A\ B]$ hold their $d$ rows of data and, in $2d$ rows, a unit vector that says which
# of them they are. The next $2d$ columns hold ones in $2d$ further rows, and no data. A query is ($c$ times the data,
# $C$ times the unit vector), a key is (data, ones), divided by the temperature factor. The value matrix reads the unit
# vectors of the left factor's columns alone: the weight on the $i$-th of them goes, times $2d\,e^C$, to row $i$ of $d$
# rows of the result's own, which are empty before. In the columns of the right factor the ReLU layer takes 1 off and
# divides by $c$; in all others it leaves nothing there. In the second layer column $j$ of the result fetches these $d$
# rows from column $j$ of the right factor, by the code of $j$, with the full temperature, and so up to weights that
# fall exponentially with it; they are moved to the rows of the data, and the rest is cleared. No layer writes to ones
# and unit vectors, and they are there for the next cycle. There are $7d$ rows and a few times $\log d$ for codes and
# marks.
#
# *The entry before the division.* Let $z_{ij}$ be the entries of the Gram matrix $M^\top M$, $M=[A\ B]$. Column $j$
# asks, and scores $cz_{ij}$ with the $2d$ columns of $M$, $C$ with the $2d$ columns of ones, 0 with the $n_0$ others.
# The weight on column $i$, times $2d\,e^C$, is
#
# $$E_{ij}=\frac{e^{cz_{ij}}}{1+s_j},\qquad s_j=e^{-C}\Big(\frac{n_0}{2d}+\frac1{2d}\sum_ke^{cz_{kj}}\Big).$$
#
# For the columns $i$ of the operand that is kept, the value matrix puts it into row $i$ of the result's own rows, and
# the feed-forward layer makes $(E_{ij}-1)/c$ of it.
#
# *The terms.* Let $|cz_{kj}|\le\frac12$ for all $k$ and $|z_{kj}|\le Z$. First, $e^{cz}=1+cz+\frac12c^2z^2+r_1$ with
# $|r_1|\le\frac16|cz|^3e^{1/2}$. Second, with $q=1+n_0/2d$, $s_j=e^{-C}(q+r_2)$ where $|r_2|\le cZe^{1/2}$. Third,
# $1/(1+s)=1-s+r_3$ with $0\le r_3\le s^2$. Multiplied out and divided by $c$,
#
# $$\frac{E_{ij}-1}c=z+\tfrac12cz^2-\frac{e^{-C}q}c+R,$$
#
# where $R$ collects $r_1/c=O(c^2Z^3)$, $e^{-C}r_2/c=O(e^{-C}Z)$, $e^{cz}r_3/c=O(e^{-2C}q^2/c)$ and $(e^{cz}-1)s/c=
# O(e^{-C}qZ)$. That is the law; all of $R$ is smaller than a written term, by a factor of about $cZ$ or $e^{-C}q$. For
# $c\to0$ and $e^{-C}/c\to0$ the block's error goes to 0, as the lemma says.
#
# *Two heads.* With a second head at $-c$ the difference of the two entries over $2c$ has no even powers: what is left
# is $\frac16c^2z^3$.
#
# *Rounding.* $E$ is near 1, so that in 53 bits it is off by a few units of $2^{-53}\approx10^{-16}$, which the division
# by $c$ makes a few times $10^{-16}/c$. How many, the exponentials and the sum decide; the runs below say about 40.
# (The last is read off and not proved.) $\square$
#
# </details>

# %%
heights = [10.0, 20.0, 40.0]
slopes = [10.0**-power for power in range(1, 11)]
errors = {height: [error(slope=c, height=height) for c in slopes] for height in heights}
two_sided = [error(slope=c, height=40.0, two_sided=True) for c in slopes]
unscored = (max(4 * d, d * d) - 4 * d) / (2 * d)  # n_0 / 2d


def predicted(c, height, rounding=4e-15):
    """The largest error by the law, over the same entries, with the rounding error added."""
    return product_error(a.mT @ b, c, height, unscored).abs().max().item() + rounding / c


# %% [markdown]
# Points are runs of the block, lines the law:

# %%
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
    caption="Largest error over all entries against $c$; lines are the law, with $4\\cdot10^{-15}/c$ for rounding. At "
    "the right the curvature rules, at the left the rounding error or $e^{-C}/c$. A second head at $-c$ removes the "
    "curvature.",
    alt="Log-log plot of V shapes. For C = 40 the points fall with c from 0.2 to about ten to the minus seven at c = "
    "ten to the minus seven and rise again. For C = 20 and C = 10 they turn earlier. Points for two heads fall twice "
    "as steeply and turn at ten to the minus five.",
)

# %% [markdown]
# The law is checked at all 30 points of the block as it is; those with a second head are shown only. Where rounding has
# no part in it, it must hold to 10%; for the rounding error only its size is known, and there the factor is 2. Then
# each term is taken by itself: the curvature for $C=40$ and $c$ from $10^{-2}$ to $10^{-5}$, the other columns for
# $C=10$ and $C=20$ at small $c$. At $c=1$ the softmax is not linear; at $C=0$ the denominator is not constant.

# %%
curvature = []
for c in slopes[1:5]:
    ours, exact = product(slope=c)
    curvature.append(((ours - exact - product_error(exact, c, 40.0)).abs().max() / (ours - exact).abs().max()).item())
shifts = []
for height, c, spare in ((10.0, 1e-3, 0), (10.0, 1e-3, 2 * d), (20.0, 1e-6, 0), (20.0, 1e-6, 2 * d)):
    ours, exact = product(slope=c, height=height, spare=spare)
    law = product_error(exact, c, height, unscored + spare / (2 * d))
    shifts.append(((ours - exact - law).mean() / law.mean()).abs().item())
exact_part = {(c, height): predicted(c, height, 0.0) for c in slopes for height in heights}
exactly, rounded = [], []
for (c, height), law in exact_part.items():
    measured, by_rounding = errors[height][slopes.index(c)], law < 1e-13 / c
    ratio = measured / (predicted(c, height) if by_rounding else law)
    (rounded if by_rounding else exactly).append(abs(math.log2(ratio)) if by_rounding else abs(ratio - 1))

# %% [markdown]
# In the proof the result lands in the rows of the ones, which are said to be fixed. The first product is right even so;
# but now there are other numbers in these rows, and the next product, with the same operands, is wrong. It is wrong
# too if the ones are put back into their own columns by hand: in the columns of $A$ and $B$, where these rows have to
# be 0, the Gram matrix is left, and is multiplied by $C$.


# %%
def next_product(form="correct", restored=False):
    """Largest errors of a product and of the same one in the next cycle, the operands put there again."""
    block = ProductBlock(slope=1e-5, form=form)
    run = run_block(block, a, b)
    state, wanted = run.state.clone(), block.reference(a, b)
    if restored:
        run.rows.of(state, "mul ones")[:, 2 * d : 4 * d] = 1
    data = run.rows.of(state, "mul")
    data[...] = 0
    data[:, :d], data[:, d : 2 * d] = a.mT, b.mT
    again = run.rows.of(run.machine.cycle(state, 40.0), "mul")[:, 2 * d : 3 * d].mT
    return (run.result - wanted).abs().max(), (again - wanted).abs().max().nan_to_num(math.inf)


kept_first, kept_next = next_product()
lost_first, lost_next = next_product("printed")
_, restored_next = next_product("printed", restored=True)

# %% [markdown]
# And the rows, which the lemma says are $O(d)$: when $d$ doubles they may double at most, up to the bits of a code.

# %%
sizes = summarise(run_block(ProductBlock(), a[:1], b[:1]).machine)
block_rows = {
    k: summarise(run_block(ProductBlock(), *torch.zeros(2, 1, k, k).double()).machine).width
    for k in (1, 2, 4, 8, 16, 32)
}
doubling = {f"d = {k}": block_rows[2 * k] / block_rows[k] for k in (1, 2, 4, 8, 16)}
show.table(["d", "rows of the block"], list(block_rows.items()))

# %% [markdown]
# The law holds at every point, in two layers of one head and $O(d)$ rows.

# %%
claim = Claim("looped-transformers/lemma-14")
claim.at_most(f"law at {len(exactly)} points where rounding is small: largest relative misfit", max(exactly), 0.1)
claim.at_most(f"with rounding, the other {len(rounded)}: largest factor off, log2", max(rounded), 1.0)
claim.at_most("c z²/2, c = 1e-2 to 1e-5: relative misfit", max(curvature), 0.1)
claim.at_most("-exp(-C)(1 + n0/2d)/c: relative misfit of the mean", max(shifts), 0.1)
claim.at_most("layers (2 claimed)", sizes.layers, 2)
claim.at_most("heads (1 claimed)", sizes.heads, 1)
claim.at_most("rows, growth when d doubles", doubling, 2)
claim.at_most("best error, C = 40", min(errors[40.0]), 1e-6)
claim.control.at_most("c = 1: error", error(slope=1.0), 0.1)
claim.control.at_most("C = 0: error at c = 1e-3", error(slope=1e-3, height=0.0), 0.1)
claim.at_most("the proof's matrices, result in rows of its own: error of the next", kept_next, 1e-3, of="proof")
claim.printed.at_most("result in the rows of the ones: error of the next product", lost_next, 1e-3, of="proof")
claim.printed.at_most("the same, ones back in their columns: error of the next", restored_next, 1e-3, of="proof")
claim.at_most("the same: error of the first product", lost_first, 1e-3, of="proof")
for height in heights:
    claim.number(f"best error, C = {height:.0f}, log10", math.log10(min(errors[height])))
claim.verdict()

# %% [markdown]
# ## The expansion in print
# <!-- claim looped-transformers/equation-11 -->
# <blockquote>
#
# **Linearised softmax expansion (Expansion of the softmax)** *Appendix J.3, Eq. (11)*
#
# **As printed.** In the first line $n$ stands in place of $e^{-C}$ in $s$. In the second, $s$ is $e^{cx_i-C-\log n}$
# alone, one of the $n$ terms of the sum.
#
# **Corrected.** $n e^C$ times the softmax weight of $cx_i$ is $e^{cx_i}/(1+s)$ with $s=\sum_je^{cx_j-C-\log n}+e^{-C}$,
# and so $(1+cx_i+O((cx_i)^2))(1-s+O(s^2))$, where $s$ is about $2e^{-C}$. For small $c$ and large $C$ it is near
# $1+cx_i$.
#
# $e^{-C}$ in place of $n$, and in the second line the whole sum and $e^{-C}$. What the entry lacks is then about
# $2e^{-C}$ and not $e^{-C}/n$, from which Appendix L has a factor $1/n$ that is not there.
#
# </blockquote>
# <!-- /claim -->
# In dividing numerator and denominator by $n e^C$ the paper turns $n\cdot 1/(n e^C)$ into $n$. The line after it goes
# on as if the term were as small as it is, but has lost it, and of the sum over $n$ columns it keeps one term. So what
# the entry lacks to $1+cx$ comes out as $e^{-C}/n$ in place of $2e^{-C}$. For (11) itself this does not matter, since
# both are small for large $C$. But Appendix L goes on with the $1/n$ ({doc}`appendix_l_accumulation`).
#
# <details><summary>Proof of Linearised softmax expansion, eq (11), as corrected</summary>
#
# (In the law above $n$ is $2d$, and here as many columns score nothing: $n_0=n$, and $1+n_0/2d=2$.) The softmax weight
# of $cx_i$ beside the other $cx_j$, $n$ scores $C$ and $n$ scores 0 is $e^{cx_i}/(\sum_je^{cx_j}+ne^C+n)$. Times
# $ne^C$, and divided through by $ne^C$, that is $e^{cx_i}/(1+s)$ with $s=\sum_je^{cx_j}/(ne^C)+1/e^C$, as stated. For
# every $s\ge0$, $\frac1{1+s}=1-s+\frac{s^2}{1+s}$, so that it lies between $1-s$ and $1-s+s^2$; and $e^u=1+u+O(u^2)$
# for bounded $u$. Each of the $n$ terms of the sum is $e^{-C}/n$ times $e^{cx_j}$, hence for $|cx_j|\le h$ the sum is
# between $e^{-C-h}$ and $e^{-C+h}$, and $s$ between $e^{-C}(1+e^{-h})$ and $e^{-C}(1+e^h)$, near $2e^{-C}$ for small
# $h$. One term alone is near $e^{-C}/n$, and the second line as printed is false: with all scores 0 the entry is
# $1/(1+2e^{-C})$, and lacks $2n$ times as much as the line says, up to terms in $e^{-2C}$. $\square$
#
# </details>

# %%
scores = 1e-3 * torch.linspace(-1, 1, 8, dtype=torch.float64)
direct = softmax_entry(scores, 20.0)
factored, printed = divided_entry(scores, 20.0), divided_entry(scores, 20.0, "printed")
lacking = 1 - softmax_entry(torch.zeros(8, dtype=torch.float64), 8.0)[0]
spread = torch.rand(1000, 64, generator=generator(seed), dtype=torch.float64) - 0.5
over = 1 / (1 + (spread.exp().mean(1) + 1) * math.exp(-8))  # 1/(1 + s) for 64 scores and C = 8
kept_all, kept_one = (spread.exp().mean(1) + 1) * math.exp(-8), spread[:, 0].exp() / 64 * math.exp(-8)

# %% [markdown]
# Eight scores, once as the softmax gives them, once divided through; then what the entry lacks, with all scores 0 and
# for a thousand draws of 64 scores up to $\frac12$:

# %%
claim = Claim("looped-transformers/equation-11")
claim.close("corrected form less the softmax entry", direct, factored, atol=1e-12)
claim.misprint.close("first line as printed less the softmax entry", direct, printed, atol=1e-12)
claim.close("softmax entry less 1, over cx: distance to 1", (direct - 1) / scores, 1, atol=1e-3)
claim.equal(
    "scores 0, n = 8, C = 8: 1 less the entry, over 2 exp(-C)", lacking / (2 * math.exp(-8)), 1.0, tolerance=0.01
)
claim.printed.equal(
    "the same over exp(-C)/n, the second line as printed", lacking * 8 / math.exp(-8), 1.0, tolerance=0.01
)
misfit = ((over - 1 + kept_all).abs() / kept_all**2).max()
claim.at_most("1/(1 + s) less 1 - s, over s²", misfit, 1.0, of="proof")
misfit = ((over - 1 + kept_one).abs() / kept_all**2).min()
claim.printed.at_most("the same with one term in place of s", misfit, 1.0, of="proof")
claim.number("softmax entry at x = 5/7", direct[6])
claim.number("first line as printed", printed[6])
claim.verdict()

# %% [markdown]
# ## The other three products
# <!-- claim looped-transformers/corollary-3 -->
# <blockquote>
#
# **Corollary 3 (B^T A)** *Appendix J.3*
#
# The same block gives $B^\top A$ if the value matrix keeps the rows of $B$ and the columns of $A$ are read.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/corollary-4 -->
# <blockquote>
#
# **Corollary 4 (B^T B)** *Appendix J.3*
#
# The same block gives $B^\top B$ if the value matrix keeps the rows of $B$ and the columns of $B$ are read.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/corollary-5 -->
# <blockquote>
#
# **Corollary 5 (A^T A)** *Appendix J.3*
#
# The same block gives $A^\top A$ with the rows of $A$ kept and the columns of $A$ read.
#
# </blockquote>
# <!-- /claim -->
# The Gram matrix holds all four. Which one comes out depends on the columns that are read and on the rows that the
# value matrix keeps. The proof of Lemma 14 keeps those of $A$; the corollaries come without one, and for $B^\top A$ and
# $B^\top B$ the rows of $B$ have to be kept.


# %%
def misfit_of(which, kept=None):
    """Distance from the exact product plus its law, relative to the block's own error."""
    ours, _ = product(slope=1e-4, product=which, kept=kept)
    exact = ProductBlock(product=which).reference(a, b)
    law = product_error(exact, 1e-4, 40.0)
    return ((ours - exact - law).abs().max() / law.abs().max()).item()


for number, which in ((3, "ba"), (4, "bb"), (5, "aa")):
    claim = Claim(f"looped-transformers/corollary-{number}")
    claim.at_most("error law, relative misfit", misfit_of(which), 0.1)
    if which == "aa":
        claim.control.close("operands exchanged: misfit to A^T A", product(b, a, product="aa")[0], a.mT @ a, atol=1e-2)
    else:
        claim.control.at_most("rows of A kept: relative misfit", misfit_of(which, "a"), 0.1)
    claim.verdict()

# %% [markdown]
# ## Numbers, percentages, and a matrix times a number
# <!-- claim looped-transformers/corollary-6 -->
# <blockquote>
#
# **Corollary 6 (Product of numbers)** *Appendix M*
#
# Two layers, one head and $O(d)$ rows ($O(1)$ for numbers): $ab$, with the error law of Lemma 14.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/corollary-7 -->
# <blockquote>
#
# **Corollary 7 (Percentage)** *Appendix M*
#
# Two layers, one head and $O(1)$ rows: $a/100=0.01\cdot a$, with the error law of Lemma 14.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim looped-transformers/remark-scalar-matrix -->
# <blockquote>
#
# **Body claim (Number times matrix)** *Section 3; Appendix I*
#
# The product block multiplies a matrix by a number $s$ if $sI$ is the first operand.
#
# </blockquote>
# <!-- /claim -->
# A number is a matrix with one entry. For a number times a matrix the first operand has to be $sI$. With $s$ alone in
# the first entry of $A$ the block returns $s$ times the first *row* of $B$.
#
# The paper gives the product of two numbers $O(d)$ rows and the percentage $O(1)$. A number needs no more than $d=1$,
# so that both have $O(1)$: the rows of the block for $d=1$ are the same whatever columns lie beside it.


# %%
def scalars(values):
    out = torch.zeros(len(values), d, d, dtype=torch.float64)
    out[:, 0, 0] = values
    return out


grid = torch.linspace(-2, 2, 41, dtype=torch.float64)
pairs = {
    "corollary-6": (grid, grid.flip(0) + 0.5),
    "corollary-7": (torch.full_like(grid, 0.01), 100 * grid),
}

# %% [markdown]
# A number stands in the first entry of a $d\times d$ matrix, as in the machine, or in one of side 1.


# %%
def of_numbers(left, right):
    """Misfit to the law over the largest error for d and for d = 1, and the error at c = 1."""
    misfits = {}
    for label, one, two in (("d", scalars(left), scalars(right)), ("1", left[:, None, None], right[:, None, None])):
        ours, exact = (result[:, 0, 0] for result in product(one, two, slope=1e-5))
        law = product_error(exact, 1e-5, 40.0)
        misfits[f"in matrices of side {label}"] = ((ours - exact - law).abs().max() / law.abs().max()).item()
    far, exact = product(scalars(left), scalars(right), slope=1.0)
    return misfits, (far - exact)[:, 0, 0].abs().max()


# %% [markdown]
# A batch of products for each of the two, and the block for numbers beside 0, 60 and 600 more columns.

# %%
found = {claim_id: of_numbers(*operands) for claim_id, operands in pairs.items()}
one = grid[:1, None, None]
for_numbers = [summarise(run_block(ProductBlock(), one, one, spare=spare).machine) for spare in (0, 60, 600)]
for claim_id, (misfits, far) in found.items():
    claim = Claim(f"looped-transformers/{claim_id}")
    claim.at_most("error law, misfit over the largest error", misfits, 0.1)
    claim.at_most("layers (2 claimed)", for_numbers[0].layers, 2)
    claim.at_most("heads (1 claimed)", for_numbers[0].heads, 1)
    claim.equal("numbers: counts of rows, of three numbers of columns", len({one.width for one in for_numbers}), 1)
    claim.control.at_most("c = 1: largest error", far, 0.1)
    claim.number("rows of the block for numbers", for_numbers[0].width)
    claim.verdict()

# %% [markdown]
# A matrix times a number, once as $sI$ and once as a number alone:

# %%
s = torch.full((batch,), 0.7, dtype=torch.float64)
identity = s[:, None, None] * torch.eye(d, dtype=torch.float64)
by_matrix, by_number = product(identity, b)[0], product(scalars(s), b)[0]
claim = Claim("looped-transformers/remark-scalar-matrix")
claim.close("sI as first operand: distance to sB", by_matrix, 0.7 * b, atol=1e-5)
off_first = (by_number[:, 0] - 0.7 * b[:, 0]).abs().max()
claim.at_most("a number: distance to s times the first row of B", off_first, 1e-5)
claim.at_most("a number: largest entry below that row", by_number[:, 1:].abs().max(), 1e-5)
claim.control.close("a number as first operand: distance to sB", by_number, 0.7 * b, atol=1e-5)
claim.verdict()

# %% [markdown]
# ## Squares, by attention and by ReLU networks
# <!-- claim looped-transformers/remark-j-4 -->
# <blockquote>
#
# **App. J.4 remark (Depth of ReLU networks against attention)** *Appendix J.4*
#
# **As printed.** A ReLU network with a depth proportional to $\log(1/\epsilon)$ is required, whatever its width, which
# is to separate attention from fully connected networks.
#
# **Corrected.** A ReLU network with $L$ hidden layers of at most $w$ units that is within $\epsilon$ of $x^2$ on
# $[0,1]$ has $(w+1)^L\ge1/\sqrt{8\epsilon}$: at a fixed width the depth must be $\Omega(\log1/\epsilon)$. With three
# units in a layer $\frac12\log_2\frac1{8\epsilon}$ layers, rounded up, are enough. Attention computes $x^2$ in two
# layers of one fixed width, in exact arithmetic to any accuracy.
#
# At a fixed width. A single hidden layer of $w$ units comes within $1/8w^2$ of $x^2$, for $\epsilon=10^{-6}$ with 354
# units. The paper cites a work on networks of finite width. And it is ReLU that is slow: two smooth units (softplus) in
# one fully connected layer come as near to $x^2$ as one likes.
#
# </blockquote>
# <!-- /claim -->
# With both operands $x$ the block gives $x^2$. Appendix J.4 takes this for an advantage over fully connected networks:
# "to compute simple functions like polynomials of $x$ (e.g., $x^2$), a ReLU network with a depth proportional to
# $\log(1/\epsilon)$ is required". The graph of a ReLU network is a polygon, made of straight pieces, and a polygon is
# near a curve only if it has many of them. Layers multiply the number of pieces, units in a layer only add to it; so a
# network that may not be wide has to be deep. But one that may be wide need not. One hidden layer with a kink at each
# corner of the polygon is enough, and the sentence says nothing of width. The work that it cites is about networks of
# finite width, and compares them with wide ones of finite depth; at a fixed width the sentence is true, and the proof
# is short.
#
# <details><summary>Proof of App. J.4 remark (depth of ReLU nets against attention), as corrected</summary>
#
# *A piece.* Let $\ell$ be linear and $|x^2-\ell(x)|\le\epsilon$ at both ends $p$, $q$ of an interval of length $h$ and
# at its middle $r$. In $e(p)+e(q)-2e(r)$ with $e=x^2-\ell$ the linear part cancels, and $p^2+q^2-2r^2=\frac12h^2$.
# Hence $\frac12h^2\le4\epsilon$, that is $\epsilon\ge\frac18h^2$. Of $P$ pieces on $[0,1]$ the longest has $h\ge1/P$,
# and so $P\ge1/\sqrt{8\epsilon}$.
#
# *The number of pieces.* There are at most $(w+1)^l$ intervals on each of which every unit of layers 1 to $l$ is linear
# in $x$. For $l=0$ this is the whole line. If it is true of $l$, then on each of the intervals every unit of layer
# $l+1$ is the ReLU of a linear function, which changes its sign once at most; the $w$ places of the $w$ units cut the
# interval into at most $w+1$. The output is linear where all units are, and has at most $(w+1)^L$ pieces. (Connections
# that skip layers change nothing in this.)
#
# *Together.* $(w+1)^L\ge1/\sqrt{8\epsilon}$, that is $L\ge\ln\frac1{8\epsilon}\big/\,2\ln(w+1)$.
#
# *Wide.* The polygon through $(k/w,k^2/w^2)$ has slopes $1/w$, $3/w$, ..., and is $\frac1wx^+ +\frac2w\sum_{k=1}^{w-1}
# (x-k/w)^+$ on $[0,1]$, a layer of $w$ units. It is above $x^2$ by at most $1/4w^2$, in the middle of each piece, and
# half of that lower it is within $1/8w^2$. So for every $\epsilon$ one hidden layer of $\lceil1/\sqrt{8\epsilon}\rceil$
# units does, and no depth is required.
#
# *Deep.* Let $g(t)=2t^+-4(t-\frac12)^+$, the tent on $[0,1]$, and $g_s$ the tent $s$ times over, which is 0 at even and
# 1 at odd multiples of $2^{-s}$. Let $f_s$ be the polygon through the points of $x^2$ at all multiples of $2^{-s}$. On
# a piece of $f_{s-1}$, of length $2\cdot2^{-s}$, the middle lies $4^{-s}$ above $x^2$, so that $f_s=f_{s-1}-g_s/4^s$,
# with $f_0=x$. Layer $s$ has the units $g_{s-1}^+$, $(g_{s-1}-\frac12)^+$ and $f_{s-1}^+=f_{s-1}$, and $L$ layers give
# $f_L$, which, moved down by half its largest distance, is within $\frac18 4^{-L}$. That is at most $\epsilon$ if
# $L\ge\frac12\log_2\frac1{8\epsilon}$.
#
# *Attention.* By the law of Lemma 14 for $d=1$ the error on $[0,1]$ is at most about $\frac12c+e^{-C}/c$, and with the
# temperature of the second layer goes to 0 with $c$ and $e^{-C}/c$, while rows, units, heads and layers stay as they
# are.
#
# *Smooth units.* For $s(u)=\ln(1+e^u)$, $s(u)+s(-u)-2\ln2=2\ln\cosh\frac u2$ lies between $\frac14u^2-\frac1{96}u^4$
# and $\frac14u^2$. So the two units $s(hx)$ and $s(-hx)$ give $x^2$ up to $\frac1{24}h^2x^4$, for any $h$. $\square$
#
# </details>


# %%
def random_network(width, depth, draw):
    """Random hidden layers, and the output that fits x² on [0, 1] best in squares."""
    x = torch.linspace(0, 1, 513, dtype=torch.float64)[:, None]
    sizes = [1] + [width] * depth
    hidden = tuple((normal(w, v, seed=draw), normal(w, seed=draw)) for v, w in pairwise(sizes))
    state = x
    for weight, bias in hidden:
        state = (state @ weight.mT + bias).relu()
    fit = torch.linalg.pinv(torch.cat([state, torch.ones_like(x)], 1)) @ x**2
    return ReluNetwork((*hidden, (fit[:-1].mT, fit[-1])))


# %% [markdown]
# The polygon as one wide layer and as many narrow ones; how far each is from $x^2$, and how far at least, by its width
# and depth:

# %%
accuracies = [1e-2, 1e-4, 1e-6]
wide = {eps: ReluNetwork.wide_square(math.ceil(1 / math.sqrt(8 * eps))) for eps in accuracies}
deep = {depth: ReluNetwork.deep_square(depth) for depth in range(1, 17)}
far = {eps: network.distance_to_square(2 * network.width) for eps, network in wide.items()}
far_deep = {depth: network.distance_to_square(2 ** (depth + 1)) for depth, network in deep.items()}
show.table(
    ["ε", "units of one layer", "its distance", "layers of 3 units", "their distance", "least by the proof"],
    [
        (eps, wide[eps].width, far[eps], layers, far_deep[layers], least_distance(3, layers))
        for eps in accuracies
        for layers in [math.ceil(-math.log2(8 * eps) / 2)]
    ],
    caption="ReLU networks within ε of x² on [0, 1]. None of 3 units and as many layers is below the last column.",
)

# %% [markdown]
# For the lower bound, these networks and forty with random hidden layers and fitted outputs; for the number of pieces,
# lines that run to and fro:

# %%
draw = generator(seed)
tried = {
    f"{network.width} units, one layer": far[eps] / least_distance(network.width, 1) for eps, network in wide.items()
}
tried |= {f"3 units, {depth} layers": far_deep[depth] / least_distance(3, depth) for depth in deep}
for width, depth in ((1, 1), (2, 1), (2, 2), (3, 2)):
    fitted = [random_network(width, depth, draw).distance_to_square(1000) for _ in range(10)]
    tried[f"{width} units, {depth} layers, fitted"] = min(fitted) / least_distance(width, depth)
counts = {
    f"{w} units, {L} layers": ReluNetwork.zigzag(w, L).pieces(2 * w**L) / (w + 1) ** L
    for w, L in ((2, 8), (3, 5), (7, 3), (40, 1))
}
enough = {f"ε = {eps}": far_deep[math.ceil(-math.log2(8 * eps) / 2)] / eps for eps in (*accuracies, 1e-8, 1e-10)}
unit, h = torch.linspace(0, 1, 2001, dtype=torch.float64), 1e-2
soft = torch.nn.functional.softplus
smooth = (4 / h**2 * (soft(h * unit) + soft(-h * unit) - 2 * math.log(2)) - unit**2).abs().max()

# %% [markdown]
# And attention: the block at several $c$, in 53 bits, and its entry in 60 digits, where $c$ can be as small as one
# likes. There it is nearer to $x^2$ than any ReLU network can be that has two hidden layers of the block's width. (In
# the digits as many columns score nothing as hold ones, as in Eq. (11).)

# %%
squares, at_one = of_numbers(grid, grid)
blocks = [summarise(run_block(ProductBlock(slope=c), one, one).machine) for c in (1e-2, 1e-5, 1e-8)]
widest = max(blocks[0].width, blocks[0].hidden)


def by_attention(x, slope, height):
    """The block's result for both operands x, a number, in 60 digits."""
    with localcontext(prec=60):
        grown = (slope * x * x).exp()
        return (grown / (1 + (-height).exp() * (1 + grown)) - 1) / slope


sixty = [Decimal(k) / 100 for k in range(101)]
exact = float(max(abs(by_attention(x, Decimal("1e-15"), Decimal(80)) - x * x) for x in sixty))

# %% [markdown]
# So the depth that is required is a matter of the width. A solver settles how near a line comes to $x^2$ on a piece,
# for all lines, and the error of built networks at every real $x$.

# %%
claim = Claim("looped-transformers/remark-j-4")
claim.at_least("distance to x² over 1/8(w + 1)²ᴸ", tried, 1.0)
claim.control.at_least("two softplus units in one layer: the same", smooth / least_distance(2, 1), 1.0)
claim.at_most("pieces of a zigzag over (w + 1)ᴸ", counts, 1.0)
claim.equal(
    "one layer of w units: distance times 8w²",
    {f"w = {one.width}": far[e] * 8 * one.width**2 for e, one in wide.items()},
    1.0,
    tolerance=1e-3,
)
claim.at_most("3 units, ½ log₂(1/8ε) layers: distance over ε", enough, 1.0)
for eps in accuracies:
    claim.printed.above(f"one layer is too shallow for ε = {eps}: distance of {wide[eps].width} units", far[eps], eps)
claim.at_most("attention: error law, misfit over the largest error", squares, 0.1)
claim.at_most("layers (2 claimed)", blocks[0].layers, 2)
claim.equal("rows and units, over c from 1e-2 to 1e-8: counts", len({(b.width, b.hidden) for b in blocks}), 1)
claim.below(f"in 60 digits: error over 1/8(w + 1)²ᴸ, w = {widest}", exact / least_distance(widest, 2), 1)
claim.control.at_most("c = 1: largest error", at_one, 0.1)
claim.certified("a piece of any line, and built networks at every x", certify_squares())
claim.verdict()

# %% [markdown]
# ## What was learned
# A softmax that is nearly flat multiplies matrices, in two layers of one head, and its error is known to the leading
# terms: the curvature $\frac12cz^2$, the share $e^{-C}/c$ of the other columns, and rounding over $c$. So there is a
# best $c$ near $10^{-7}$ in 53 bits and a floor, which every program of this chapter meets. In print the result
# overwrites the rows of ones that the next product needs. A ReLU network of fixed width has to be deep for $x^2$, as
# the paper says without the width; one wide layer does it too, and so do two smooth units.
#
# ## To try
# - Set `d = 16`: more columns score nothing, and the left branches for $C=10$ and $C=20$ rise; entries are larger, and
#   so is the branch of $\frac12cz^2$ at the right.
# - Set `seed = 1`: other matrices, and the points stay on their lines.

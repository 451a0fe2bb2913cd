# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas 11 and 12 · Sigmoids out of a softmax
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemmas 11 and 12, Corollary 2, Appendix J.1.*
#
# A sum of sigmoids, $\sum_i c_i\,\phi(a_i\cdot x)$ with $\phi(u)=1/(1+e^{-u})$, can come as near as one likes to any
# continuous function on a bounded set. So a machine that can make such sums can compute reciprocals, roots or the
# derivative of a loss, with no layers made for the purpose. Attention makes them by itself. A softmax over one score
# $u$ and $n-1$ scores 0, where $n$ is the number of columns that attention sees, gives the weight $e^u/(e^u+n-1)$ to
# the first. That is the sigmoid of $u-\log(n-1)$. So attention computes sigmoids, if the bias is put right, and a value
# matrix adds them up. The paper does this twice: with a head for each sigmoid, and with a single head and a column for
# each.

# %%
import torch

from attention_theory.looped_transformers.blocks.sigmoid_sums import ManyHeads, OneHead, OwnColumns
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # columns of an operand, at least 3
functions = 3  # N, functions that one set of weights holds, at least 1
terms = 5  # m, sigmoids of each, at least 1
inputs = 100  # inputs x tried, at least 1
seed = 0  # of weights and inputs, at least 0

# %%
require(d=(d, 3, None), functions=(functions, 1, None), terms=(terms, 1, None), inputs=(inputs, 1, None))
require(seed=(seed, 0, None))
source = generator(seed)


def draw(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


a, c, x = draw(functions, terms, d), draw(functions, terms), draw(inputs, d)
exact = torch.stack([(x @ a[chosen].mT).sigmoid() @ c[chosen] for chosen in range(functions)])

# %% [markdown]
# ## A head for each sigmoid
# <!-- claim looped-transformers/lemma-11 -->
# <blockquote>
#
# **Lemma 11 (Sums of sigmoids, one head each)** *Appendix J.1*
#
# Three layers and $m$ heads compute $\sum_{i\le m}c_{ji}\,\phi(a_{ji}\cdot x)$ for the function $j$ that the input
# selects by $e_j$ in its first column. Each head carries the bias $+\log(n-1)$, where $n$ is the number of *all*
# columns, and keys divided by the temperature factor. The sum goes to a row of its own, which is cleared in the
# result's column before the copy arrives there. (The input has a row for each of the $N$ functions, so the $O(d)$ rows
# of the paper are for $N=O(d)$.)
#
# **In the paper's proof.** The bias is $-\log(3d-1)$, and it is said to follow that of Lemma 11, which is itself.
#
# **Corrected.** $+\log(3d-1)$: only then is its last fraction a sigmoid. (Within a machine $\log(n-1)$ with all $n$
# columns, and keys over the temperature.)
#
# </blockquote>
# <!-- /claim -->
# Column 1 holds the choice of the function, $e_j$, and is the only one with a key, $a_{ji}$ for head $i$. The column of
# $x$ scores $a_{ji}\cdot x$ there and 0 everywhere else. Three things are needed for the weight to be $\phi(a_{ji}\cdot
# x)$: the bias must be *plus* $\log(n-1)$; $n$ must count all columns that the softmax runs over, also those of memory
# and program; and the keys must be divided by the temperature factor, which is the same for all heads. The last layer
# copies the sum into the column of the result. There, as in every column, the heads have left $\frac1n\sum_ic_{ji}$,
# which has to be cleared before the copy is added.


# %%
def error(**options):
    heads = ManyHeads(a, c, d, **options)
    return max((heads(x, chosen) - exact[chosen]).abs().max().item() for chosen in range(functions))


size = summarise(ManyHeads(a, c, d).machine)
extra = list(range(0, 41, 5))
uncounted = [error(spare=spare, counted=3 * d) for spare in extra]
counted = [error(spare=spare) for spare in extra]

# %% [markdown]
# A machine has more columns than the $3d$ of the lemma. What do they do to the sum?

# %%
fig, axis = show.axes()
axis.semilogy(extra, uncounted, "o-", label="$n=3d$ whatever the columns")
axis.semilogy(extra, counted, "s--", label="all columns counted")
axis.set(xlabel="columns beyond $3d$", ylabel="largest error of the sum")
axis.legend()
show.figure(
    fig,
    name="columns",
    caption="Error of the sum of sigmoids as columns are added that hold nothing. They all take part in the softmax.",
    alt="Two curves over the number of extra columns. The dashed one stays at ten to the minus fifteen. The other "
    "starts there and is above one tenth with a few extra columns.",
)

# %% [markdown]
# Every column counts. With that, the sign and the temperature put right, the sums are exact.

# %%
claim = Claim("looped-transformers/lemma-11")
claim.at_most("largest error, all functions and inputs", error(), 1e-13)
claim.at_most("20 more columns, all counted: largest error", error(spare=20), 1e-13)
claim.at_most("layers (3 claimed)", size.layers, 3)
claim.at_most("heads (m claimed)", size.heads, terms)
claim.at_most("bias +log(3d-1), n = 3d, in the proof's matrices: largest error", error(), 1e-13, of="proof")
claim.misprint.at_most("bias -log(3d-1), n = 3d: largest error", error(form="printed"), 1e-13, of="proof")
claim.control.at_most("result's column not cleared before the copy: largest error", error(cleared=False), 1e-13)
claim.control.at_most("20 columns not counted: largest error", error(spare=20, counted=3 * d), 1e-13)
claim.control.at_most("factor 10 not divided out: largest error", error(inverse_temperature=10.0, scaled=False), 1e-13)
claim.verdict()

# %% [markdown]
# ## A single head
# <!-- claim looped-transformers/lemma-12 -->
# <blockquote>
#
# **Lemma 12 (All sigmoids in one head)** *Appendix J.1*
#
# **As printed.** $d$ columns, none of them zero, and keys with one row more than queries.
#
# **Corrected.** With columns $(x;0;1-e_l;e_l)$ for $l\le d$ and one column of zeros, one layer with one head leaves
# $\phi(a_l\cdot x)$ in column $l$, up to $(d-1)e^{a_l\cdot x-C}$.
#
# $d+1$ columns, the last of them zero; queries get a zero row. Without that column every weight is 1, and no other
# matrices help: along some direction the layer's output is affine in $x$.
#
# </blockquote>
# <!-- /claim -->
# Now column $l$ asks for term $l$. Its own key answers $a_l\cdot x$, the keys of the others $a_l\cdot x-C$. As printed
# that is all, and then the softmax of $d$ scores gives weight 1 to the own column: the sigmoid's second alternative is
# missing. One more column, all zero, supplies it.
#
# No other $K$, $Q$ and $V$ can do without that column. The statement is false as printed, and not for want of the right
# matrices.
#
# <details><summary>Proof of Lemma 12, as corrected, and that no matrices do without the zero column</summary>
#
# *With the zero column.* Column $k\le d$ is $X_k=(x;0;1-e_k;e_k)$, and $X_{d+1}=0$. Entry $j$ of a key is $a_j\cdot
# x-C(1-e_k)_j$, and the query of column $l$ is $e_l$. (The paper's keys have one row more, which is zero; give the
# queries a zero row too. Where the softmax has a factor $\lambda$, the keys are divided by it.) So with $u=a_l\cdot x$
# column $l$ scores $u$ with itself, $u-C$ with the $d-1$ others, and 0 with the zero column. The value matrix puts a 1
# for every column $k\le d$, and nothing for the zero column, into the second row, which is empty. What column $l$ gets
# there is the weight of the first $d$ columns together,
#
# $$\frac{e^u+\delta}{1+e^u+\delta},\qquad\delta=(d-1)e^{u-C}.$$
#
# It is above $\phi(u)=1-\frac1{1+e^u}$ by
# $\frac1{1+e^u}-\frac1{1+e^u+\delta}=\frac\delta{(1+e^u)(1+e^u+\delta)}\le\delta$. Nothing else in the columns $l\le d$
# changes. The zero column asks for nothing and weighs all columns alike; what it gets, a ReLU layer can clear.
#
# *Without it.* All $d$ columns $X_k$ hold the same $x$, so that $X_k-X_1$ is free of it. What the softmax of column $l$
# sees are differences of scores, $(KX_k-KX_1)^\top QX_l$ for $k=2,\dots,d$. The first factor is a constant vector, and
# the second is affine in $x$: $QX_l=Q_xx+\text{const}_l$. So the difference is affine in $x$ with the slope $Q_x^\top
# K(X_k-X_1)$, the same for every $l$. These are $d-1$ vectors in $\mathbb R^d$. Let $v\ne0$ be orthogonal to all of
# them. On any line $x+tv$ the differences of scores do not change, and so the weights of the softmax do not. The output
# is $V$ applied to a fixed average of columns that are affine in $t$: it is affine in $t$.
#
# The lemma asks for $\phi(a_l\cdot x)$ in column $l$. Along $x+tv$ this is affine in $t$ only if $a_l\cdot v=0$. If the
# $a_l$ span $\mathbb R^d$ (and the lemma puts no condition on them), some $a_l\cdot v\ne0$, and $\phi$ is not affine on
# any interval. (Nor would a ReLU layer help: behind it the output is affine in $t$ in finitely many pieces.) $\square$
#
# </details>

# %%
directions = draw(5, d)
wanted = (x @ directions.mT).sigmoid()
head = OneHead(directions)
printed_weights = OneHead(directions, form={"empty column": "printed"}).sigmoids(x)
heights = [5.0, 10.0, 15.0, 20.0, 30.0, 50.0]
errors = [(OneHead(directions, height=height).sigmoids(x) - wanted).abs().max().item() for height in heights]
scores = x @ directions.mT
bounds = [(4 * torch.exp(scores - height)).max().item() for height in heights]

# %% [markdown]
# With the zero column, the other columns' share falls as $C$ grows:

# %%
fig, axis = show.axes()
axis.semilogy(heights, errors, "o-", label="largest error")
axis.semilogy(heights, bounds, "--", label=r"$(d-1)\,e^{u-C}$")
axis.set(xlabel="$C$", ylabel="error of a sigmoid")
axis.legend()
show.figure(
    fig,
    name="height",
    caption="One head: the error falls like $e^{-C}$ below its bound (dashed), until rounding stops it.",
    alt="On a logarithmic axis the error falls in a straight line from C = 5 to C = 30, below the dashed bound. At "
    "C = 50 it is that of rounding, and the bound is less.",
)

# %% [markdown]
# The proof in numbers: random matrices on the printed columns, and the direction $v$ that belongs to them.


# %%
def along_blind_direction(places=9):
    """Second differences along v: of the output of a random head on the printed columns, and of the sigmoids."""
    own = torch.eye(d, dtype=torch.float64)
    fixed = torch.cat([torch.zeros(d, 1, dtype=torch.float64), 1 - own, own], dim=1)  # the rows below x, by column
    key, query, value = draw(d, 3 * d + 1), draw(d, 3 * d + 1), draw(3 * d + 1)
    slopes = (fixed - fixed[0])[1:] @ key[:, d:].mT @ query[:, :d]
    v = torch.linalg.svd(slopes).Vh[-1]
    line = torch.linspace(-2, 2, places, dtype=torch.float64)[:, None, None] * v
    state = torch.cat([line.expand(-1, d, -1), fixed.expand(places, -1, -1)], dim=-1)
    scores = (state @ query.mT) @ (state @ key.mT).mT
    output = (scores.softmax(dim=-1) @ (state @ value)[..., None])[..., 0]
    sigmoids = (line[:, 0] @ draw(d, d)).sigmoid()
    return (one.diff(n=2, dim=0).abs().max().item() for one in (output, sigmoids))


bent, wanted_bend = along_blind_direction()

# %% [markdown]
# Along $v$ the output does not bend, and the sigmoids, which it is to be, do.

# %%
off, off_printed = (head.sigmoids(x) - wanted).abs().max(), (printed_weights - wanted).abs().max()
claim = Claim("looped-transformers/lemma-12")
claim.at_most("any matrices, no zero column: second differences of the output along v", bent, 1e-12)
claim.printed.at_most("the same of the sigmoids, which the output is to be", wanted_bend, 1e-12)
claim.at_most("largest error of a sigmoid, C = 50", off, 1e-12)
within = all(ours <= bound + 1e-15 for ours, bound in zip(errors, bounds, strict=True))
claim.true("errors within (d-1) exp(u-C) for all C", within)
claim.at_most("with the zero column, the proof's weights: error", off, 1e-12, of="proof")
claim.printed.at_most("the proof's weights, without the zero column: largest error", off_printed, 1e-12, of="proof")
claim.control.at_most("C = 5: largest error", errors[0], 1e-12)
claim.verdict()

# %% [markdown]
# <!-- claim looped-transformers/corollary-2 -->
# <blockquote>
#
# **Corollary 2 (Their sum, in one head)** *Appendix J.1*
#
# From $x$ in the first of $d$ columns, three layers with one head put $\sum_l c_l\,\phi(a_l\cdot x)$ into every column:
# the first copies $x$ into all columns, the second makes a sigmoid in each, the third, whose scores are all equal, adds
# them up in a row of its own. (The numbers $|a_l\cdot x|$ have a bound, which the constants $C$ exceed.)
#
# **In the paper's proof.** The sum is added to the row of the sigmoids, and $\phi(a_l\cdot x)$ is lost from the result;
# $\sum_i\phi(a_1\cdot x)$ is written; the scores, printed as $d$, are $d^2$; there is no column of zeros.
#
# **Corrected.** $\sum_i\phi(a_i\cdot x)$, with coefficients if wanted, in a fresh row, the residual being in the way
# otherwise. One more column, of zeros; or a second layer in which a column weighs its own $a_l\cdot x$ against the
# other columns.
#
# </blockquote>
# <!-- /claim -->
# Here $x$ stands in the first column only and has to be copied first. Then Lemma 12 follows, which needs its column of
# zeros, and a layer that adds up. The corollary can do without that column, though, since it has a ReLU layer in
# between.
#
# <details><summary>Proof of Corollary 2, with a column of zeros and without</summary>
#
# *Copy, and add.* A layer whose keys and queries are zero weighs all $n$ columns alike, and a value matrix that
# multiplies a row by $n$ adds the sum of that row over all columns to a row of every column. This does the first step:
# the row block of $x$ is empty but in column 1, and every column gets $x$, column 1 so that it holds $2x$. It does the
# last step too: of $y_l$ in column $l$ it makes $\sum_ly_l$ in every column. The sum must go to an empty row: in the
# row of the $y_l$ it is added to the one that is there, and $\sum_iy_i+y_l$ comes out.
#
# *With a column of zeros*, $n=d+1$. The ReLU layer behind the copies takes half of what is there from column 1 and from
# the zero column, by units $\pm x_i$ that a large negative weight on $(1-e_k)_1$ closes in all others, and the other
# half from the zero column, by units that the $e_k$ close everywhere else: column 1 keeps $x$, and the zero column
# nothing. This is the input of Lemma 12, whose layer leaves $\phi(a_l\cdot x)$ in column $l$, up to $(d-1)e^{a_l\cdot
# x-C}$; its ReLU layer clears the zero column's row. The last layer adds up, and the error is at most
# $(d-1)\sum_le^{a_l\cdot x-C}$, as small as one likes for large $C$. For a sum with coefficients the value matrix of
# the second layer has $c_k$ for column $k$ in place of 1. Column $l$ then gets $c_l$ times its own weight, which is
# below $\phi(u)$ by at most $\delta\phi(u)/(1+e^u+\delta)$, and at most $\max_k|c_k|$ times the weight
# $\delta/(1+e^u+\delta)$ of the others, in the notation of Lemma 12's proof: the bound is multiplied by $\max_k|c_k|$.
#
# *Without it*, $n=d\ge2$. The ReLU layer behind the copies leaves $a_l\cdot x$ in row $l$ of column $l$, and nothing in
# row $l$ of the other columns: two units, $\sigma(\pm a_l\cdot x-G(1-e_k)_l)$ in column $k$, whose difference is
# $a_l\cdot x$ for $k=l$ and 0 for $k\ne l$ if $G\ge2|a_l\cdot x|$. (In column 1, where $x$ is there twice, unit 1 has
# $\frac12a_1$.) In the second layer entry $l$ of a column's key is its row $l$ plus $\log(d-1)$ times its $(e_k)_l$,
# and the query of column $l$ is $e_l$. So with $u=a_l\cdot x$ column $l$ scores $u+\log(d-1)$ with itself and 0 with
# the $d-1$ others, and its weight on itself is
#
# $$\frac{(d-1)e^u}{(d-1)e^u+(d-1)}=\phi(u).$$
#
# The value matrix copies $e_k$, so that column $l$ has this weight in row $l$ of $d$ new rows, and its weights on
# others in the other rows. The ReLU layer takes row $l$ of column $l$, again by units that are closed in all other
# columns, multiplies it by $c_l$ and puts it into one row. The last layer adds that row up. All is exact for $|a_l\cdot
# x|\le\frac12G$, and every layer has one head. $\square$
#
# </details>

# %%
weights = draw(5)
summing = OneHead(directions, weights)
sums, uncopied = summing.sums(x), summing.sums(x, copied=False)
total = (wanted * weights).sum(-1, keepdim=True)
same_row = OneHead(directions, weights, form={"sum row": "printed"}).sums(x)[..., :5]
unfinished = OneHead(directions, weights, form={"empty column": "printed"}).sums(x)
own = OwnColumns(directions, weights)
sizes = {"own columns": summarise(own.machine), "zero column": summarise(summing.machine)}
in_fresh_row = (sums - total).abs().max()

# %% [markdown]
# Both ways end with the sum in every column.

# %%
claim = Claim("looped-transformers/corollary-2")
claim.close("on d columns, sum in every column: largest error", own.sums(x), total, atol=1e-12)
claim.at_most("with a column of zeros, as in the proof: largest error", in_fresh_row, 1e-12)
claim.at_most("layers (3 claimed)", {name: one.layers for name, one in sizes.items()}, 3)
claim.at_most("heads (1 claimed)", {name: one.heads for name, one in sizes.items()}, 1)
claim.close(
    "sum added to the sigmoids' row, less the sigmoid there: largest error",
    same_row - wanted * weights,
    total,
    atol=1e-11,
)
claim.at_most("the proof's three layers, sum in a fresh row: error", in_fresh_row, 1e-12, of="proof")
label = "sum added to the sigmoids' row: largest error"
claim.printed.close(label, same_row, total, atol=1e-12, of="proof")
claim.control.close("without the copies: largest error", uncopied, total, atol=1e-12)
label = "Lemma 12 without the zero column: largest error"
claim.printed.close(label, unfinished, total, atol=1e-12, of="proof")
claim.verdict()

# %% [markdown]
# ## What was learned
# A softmax is a sigmoid if one score stands against a known number of zeros, and attention then adds sigmoids up: with
# a head for each of them or with a column for each. The first way is as printed but for a sign, and must count every
# column of the machine. The second needs one thing to weigh against: a column of zeros, or columns that score 0.
# Without it no matrices whatever give the sigmoids of Lemma 12.
#
# ## To try
# - Set `functions = 8`: eight functions in the same weights; layers and heads stay what they are.
# - Set `d = 8`: more columns to begin with, and the error with uncounted columns grows more slowly.

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
# Sums of sigmoids can approximate any continuous function on a bounded set. A machine that can form such sums computes
# reciprocals, roots or derivatives without special layers. Attention has a softmax, not a sigmoid. How does it make
# one?

# %%
import torch

from attention_theory.looped_transformers.blocks.sigmoid_sums import ManyHeads, OneHead, OwnColumns
from attention_theory.looped_transformers.certified.sigmoids import certify_one_head
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
# ## A tiny example
# Take one score $u$ and three scores 0. The softmax gives the first the weight $e^u/(e^u+3)$. If we add the bias
# $\log3$ to $u$, the weight is $3e^u/(3e^u+3)=e^u/(e^u+1)=\phi(u)$, the sigmoid. At $u=0$ it is $\frac12$, as it should
# be. Without the bias it is $\frac14$.


# %%
def error(**options):
    heads = ManyHeads(a, c, d, **options)
    return max((heads(x, chosen) - exact[chosen]).abs().max().item() for chosen in range(functions))


size = summarise(ManyHeads(a, c, d).machine)
extra = list(range(0, 41, 5))
uncounted = [error(spare=spare, counted=3 * d) for spare in extra]
counted = [error(spare=spare) for spare in extra]

# %%
fig, axis = show.axes()
axis.semilogy(extra, uncounted, "o-", label="only $3d$ columns counted")
axis.semilogy(extra, counted, "s--", label="all columns counted")
axis.set(xlabel="columns beyond $3d$", ylabel="largest error of the sum")
axis.legend()
show.figure(
    fig,
    name="columns",
    caption="Error of the sum of sigmoids as we add empty columns, which all take part in the softmax.",
    alt="Two curves over the number of extra columns. The dashed one stays at ten to the minus fifteen. The other "
    "starts there and is above one tenth with a few extra columns.",
)

# %% [markdown]
# If we count only $3d$ columns, a few extra ones spoil the sum. If we count all of them, only rounding errors remain.
#
# ## The paper states
# <!-- claim looped-transformers/lemma-11 -->
# <blockquote>
#
# **Lemma 11 (Sums of sigmoids, one head each)** *Appendix J.1*
#
# **The paper states.** $N$ is the number of functions we encode, $e=e_j$ an indicator vector of the function we want to
# choose. Then there exists a transformer-based function block with 3 layers, $m$ heads and dimensionality $O(d)$ such
# that $f(X)$ has $\sum_{i=1}^mc_{ji}\phi(x^\top a_{ji})$ in the column of the result.
#
# <details><summary>Slips (2)</summary>
#
# - In the proof the bias is $-\log(3d-1)$. Only with $+\log(3d-1)$ is its last fraction a sigmoid.
# - The paper says that the proof follows that of Lemma 11, which is the same lemma.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Within a machine the bias is $\log(n-1)$, where $n$ is the number of *all* columns, and keys are
# divided by the temperature factor. The sum goes to a separate row, which is cleared in the result's column before the
# copy arrives there. The input has a row for each of the $N$ functions, so $O(d)$ rows are enough for $N=O(d)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-12 -->
# <blockquote>
#
# **Lemma 12 (All sigmoids in one head)** *Appendix J.1*
#
# **The paper states.** Consider an input with the columns $(x;0;1-e_l;e_l)$ for $l=1,\dots,d$, where $x\in\mathbb R^d$;
# then there exists a one layer transformer with 1 head such that $\text{Attn}(X)$ has the columns $(x;\sigma(a_l^\top
# x);1-e_l;e_l)$.
#
# **What is true.** With one more column, of zeros, one layer with one head leaves $\phi(a_l\cdot x)$ in column $l$, up
# to $(d-1)e^{a_l\cdot x-C}$.
#
# **What changed.** A column of zeros is missing; without it, every weight of the paper's construction is 1. If the
# $a_l$ span $\mathbb R^d$, no other matrices help: along some direction the layer's output is affine in $x$, and a
# sigmoid is not.
#
# <details><summary>Slips (1)</summary>
#
# - The keys of the proof have one row more than the queries; the queries need a zero row.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/corollary-2 -->
# <blockquote>
#
# **Corollary 2 (Their sum, in one head)** *Appendix J.1*
#
# **The paper states.** Consider an input with $x$ in the first of $d$ columns, where $e_i$ is an indicator vector and
# $x\in\mathbb R^d$; then there exists a 3 layer transformer with 1 head such that $\text{Attn}(X)$ has
# $\sum_{i=1}^d\sigma(a_i^\top x)$ in every column.
#
# <details><summary>Slips (3)</summary>
#
# - The proof relies on Lemma 12 without a column of zeros. It needs that column, or a second layer in which a column
#   weighs its own $a_l\cdot x$ against the other columns.
# - The proof adds the sum to the row of the sigmoids and drops $\phi(a_l\cdot x)$ from the result. The sum needs a
#   fresh row, because of the residual.
# - $\sum_i\phi(a_1\cdot x)$ should be $\sum_i\phi(a_i\cdot x)$, and the scores, given as $d$, are $d^2$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The sum may have coefficients, $\sum_lc_l\,\phi(a_l\cdot x)$. The numbers $|a_l\cdot x|$ must
# have a bound, and the constants $C$ must exceed it.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *One head per sigmoid.* Column 1 holds the choice of the function, $e_j$, and is the only column with a key, $a_{ji}$
# for head $i$. The column of $x$ scores $a_{ji}\cdot x$ there and 0 elsewhere. With the bias $+\log(n-1)$ the weight is
# a sigmoid. The last layer copies the sum to the result's column, where the residual must be cleared first.
#
# *One head for all.* Column $l$ computes term $l$: it scores $a_l\cdot x$ with its own key, and $a_l\cdot x-C$ with
# the keys of the others. A column of zeros supplies the alternative, a score of 0. In the paper's version this column
# is missing; the softmax then gives weight 1, whatever $x$ is. No other matrices help.
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
# the second is affine in $x$: $QX_l=Q_xx+\text{const}_l$. So the difference is affine in $x$ with slope $Q_x^\top
# K(X_k-X_1)$, the same for every $l$. These are $d-1$ vectors in $\mathbb R^d$. Let $v\ne0$ be orthogonal to all of
# them. On any line $x+tv$ the differences of scores do not change, and so the weights of the softmax do not. The output
# is $V$ applied to a fixed average of columns that are affine in $t$: it is affine in $t$.
#
# The lemma asks for $\phi(a_l\cdot x)$ in column $l$. Along $x+tv$ this is affine in $t$ only if $a_l\cdot v=0$. If the
# $a_l$ span $\mathbb R^d$ (and the lemma puts no condition on them), some $a_l\cdot v\ne0$, and $\phi$ is not affine on
# any interval. (Nor would a ReLU layer help: behind it the output is affine in $t$ in finitely many pieces.) $\square$
#
# </details>
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
#
# ## See it run
# We run the single head for several $C$.

# %%
directions = draw(5, d)
wanted = (x @ directions.mT).sigmoid()
head = OneHead(directions)
printed_weights = OneHead(directions, form={"empty column": "printed"}).sigmoids(x)
heights = [5.0, 10.0, 15.0, 20.0, 30.0, 50.0]
errors = [(OneHead(directions, height=height).sigmoids(x) - wanted).abs().max().item() for height in heights]
scores = x @ directions.mT
bounds = [(4 * torch.exp(scores - height)).max().item() for height in heights]

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
    alt="On a logarithmic axis the error falls in a straight line from C = 5 to C = 30, below the dashed bound. At C "
    "= 50 only rounding is left, and the bound is lower.",
)

# %% [markdown]
# The error falls like $e^{-C}$ until rounding stops it.
#
# To see the impossibility, we put random matrices on the paper's columns and move $x$ along the direction $v$ of the
# proof.


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
# ## How we checked
# We compare sums with their definition. Each repair must be necessary: the sign of the bias, the count of the columns,
# the zero column, a fresh row for the sum. A solver proves the bound of Lemma 12 for all $x$ and $C$.

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
claim.certified("d = 4: every x and C; and without the zero column", certify_one_head(4))
claim.verdict()

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
# ## What to remember
# - A softmax of one score and a known number of zeros is a sigmoid.
# - Attention adds up sigmoids, with one head per term or with one column per term.
# - The second way needs a column of zeros, or a layer in which the other columns score 0.
#
# ## Exercises
#
# 1. *By hand.* A softmax sees one score $u$ and nine scores 0. Which bias makes the weight $\phi(u)$? What is the
#    weight at $u=0$ with the paper's sign of the bias?
#    <details><summary>Solution</summary>
#
#    The bias is $\log9$. With $-\log9$ the weight at $u=0$ is $\frac19/(\frac19+9)=\frac1{82}$.
#
#    </details>
# 2. *Predict, then run.* Set `functions = 8`. Do the layers or heads of Lemma 11 change?
#    <details><summary>Solution</summary>
#
#    No. The eight functions share three layers and $m$ heads. Only the rows grow, from 21 to 24, because $e_j$ needs a
#    row for each function.
#
#    </details>
#
# Next: [Lemma 17](lemma_17_reciprocal.ipynb). We now need sums of sigmoids that follow $1/x$ and $\sqrt x$.

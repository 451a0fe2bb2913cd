# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas 7 and 8 · What temperature alone can do
# *Beyond the paper: Lemmas 7 and 8, Theorem 2, and a remark in Appendix M.*
#
# The paper promises several times that an error can be made as small as we like by making the softmax sharper, and by
# nothing else. For a look-up this is true. Is it also true for a product of two numbers, and for programs built from
# products? We show that no transformer with fixed weights can do it, whatever its size.

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.base import FunctionBlock, block_limit, run_block
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.relu_square import looped_product
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum, SigmoidSumBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.certified.squares import certify_looped_product
from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer
from attention_theory.looped_transformers.machine.limit import limit_piece
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Scores are inner products, so a head can hold the product of two numbers $x$ and $y$. Take three columns. The third
# one has the query $(y,4)$. The keys are $(x,0)$, $(0,1)$ and $(0,0)$. The scores are $xy$, 4 and 0. The first column
# has the value 1 and the others 0, and $\lambda$ is the factor on the scores.
#
# | $x$ | $y$ | scores | output, $\lambda=1$ | $\lambda=5$ | $\lambda\to\infty$ |
# | --- | --- | --- | --- | --- | --- |
# | 2 | 3 | 6, 4, 0 | 0.879 | 0.99995 | 1 |
# | 2 | 2.5 | 5, 4, 0 | 0.727 | 0.9933 | 1 |
# | 1 | 3 | 3, 4, 0 | 0.265 | 0.0067 | 0 |
#
# At $\lambda=1$ the output still shows whether the product is 5 or 6. As $\lambda$ grows, the head only answers a
# question: is $xy$ greater than 4?

# %%
fig, axis = schematic.canvas(height=2.2)
tops = schematic.tokens(axis, ["(x, 0)", "(0, 1)", "(y, 4)"], at=(1.0, 0.8), lit=[2], step=2.4)
schematic.arrow(axis, tops[2], tops[0], bend=-0.5)
schematic.arrow(axis, tops[2], tops[1], bend=-0.15, colour=schematic.QUIET)
schematic.text(axis, (4.1, 3.35), "score xy", schematic.BLUE)
schematic.text(axis, (5.0, 2.35), "score 4", schematic.QUIET)
for column, words in enumerate(("value 1", "value 0", "asks")):
    schematic.text(axis, (tops[column][0], 0.4), words, size=9)
axis.plot([9.0, 11.0, 11.0, 13.2], [1.0, 1.0, 3.0, 3.0], color=schematic.BLUE)
soft = torch.linspace(-4, 4, 60)
axis.plot(11.0 + soft * 0.55, 1 + 2 * torch.sigmoid(soft), color=schematic.VERMILION)
for at, words in (((9.6, 0.5), "xy < 4"), ((12.3, 0.5), "xy > 4"), ((8.7, 1.0), "0"), ((8.7, 3.0), "1")):
    schematic.text(axis, at, words, size=9)

# %%
show.figure(
    fig,
    name="question",
    caption="A head whose scores are $xy$, 4 and 0. Right: its output is smooth in $xy$ at $\\lambda=1$ (orange), "
    "and a step in the limit (blue).",
    alt="Left, three boxes for columns with keys x and 0, 0 and 1, and a third one with the query y and 4. Arrows "
    "show the scores xy and 4. Right, a smooth curve and a step from 0 to 1 at xy = 4.",
)

# %% [markdown]
# The output depends only on the side of the jump on which the product lies.
#
# ## What we prove
# Lemma 7 inverts a matrix $A$ by Newton's iteration from a multiple of $A^\top$. Lemma 8 is power iteration, and $A^T$
# is the $T$-th power of $A$. Equation (1) is [the architecture](equation_1_architecture.ipynb).
#
# <!-- claim looped-transformers/temperature-limit -->
# <blockquote>
#
# **Beyond Lemmas 7 and 8 (With fixed weights the limit in the temperature is affine)**
#
# Fix the weights of a transformer of the form (1) and its numbers of layers, heads and passes. Let the input be an
# affine function of $u\in\mathbb R^p$. Outside a closed null set, every $u$ has a neighbourhood on which the output is
# $g+O(e^{-\kappa\lambda})$, uniformly, for an affine function $g$ and some $\kappa>0$.
#
# Hence, if a real-analytic function is affine on no open set, the inputs at which the outputs tend to it are a null
# set. Such functions are $ab$ and $A^\top B$; Newton's $X_1$ and $A^{-1}$; for the power $A^T$, the vector $A^T\mathbf
# 1$ for $T\ge2$; and $A^T\mathbf 1/\|A^T\mathbf 1\|$ for $T\ge1$ and $d\ge2$, also if $A/\|A\|$ is given. For $X_1$
# this is so with a fixed $\epsilon$, with one that is given, and with $\epsilon=1/\|A\|^2$. Except for the last, it
# remains so if only some heads become sharper and the others keep their $\lambda$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/passes-for-temperature -->
# <blockquote>
#
# **Beyond Lemma 14 (What passes can do, and the temperature cannot)**
#
# One layer without heads, with 7 hidden units and fixed weights, acts on one column of 5 rows. Looped $t$ times, it
# returns $xy$ for $x,y\in[0,1]$ with an error between $-\frac14\,4^{-t}$ and $\frac12\,4^{-t}$.
#
# </blockquote>
# <!-- /claim -->
#
# For the calculator, too, the paper promises that a sharper softmax is enough.
#
# <!-- claim looped-transformers/appendix-m-extra-error -->
# <blockquote>
#
# **Appendix M (Which errors the temperature removes)** *Appendix M*
#
# **The paper states.** Note that in addition as well as the rest of the operations in this proof, softmax leads to an
# extra error, which can be driven arbitrarily close to 0 by increasing its temperature.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The extra error is that of the reads and transfers around an operation. The operation itself may
# have another. Addition and subtraction have none, nor has the percentage if a linear map computes it, such as $W_2$
# times 0.01. To a product, or to a sum of sigmoids that is not constant, the output of a transformer with fixed weights
# tends for a null set of operands only. The product block of Corollaries 6 and 7, the percentage's too, then tends to
# $-1/c$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Follow the limit through the layers. Near almost every input the entries are affine in the data, so the scores are
# polynomials of degree two. Two such polynomials are either equal everywhere nearby, or they differ except on a set of
# measure zero. Away from these sets a sharper softmax has a clear winner, or winners that remain tied. Its weights
# therefore tend to constants; these leave the entries affine, as a ReLU does away from its kink. The errors of a layer
# are exponentially small in $\lambda$, and they remain so when the next layer multiplies them by $\lambda$.
#
# A product is nowhere affine, so the limit differs from it almost everywhere.
#
# <details><summary>Proof of With fixed weights the limit in the temperature is affine</summary>
#
# *Setting.* The layers are those of (1a) and (1b): one factor $\lambda$ multiplies all scores, and no other number
# changes with it. A fixed number of passes through a fixed number of layers is a list of layers, in which weights may
# repeat. Let $X_0(u)$ be the input, affine in $u\in\mathbb R^p$, and $X_\ell(u,\lambda)$ the state after $\ell$ layers.
#
# *Statement for $\ell$ layers.* Let $\Omega_\ell$ be the set of all $u_0$ with a ball $B$ around $u_0$, an affine
# function $G$ and numbers $\kappa,c>0$ such that $|X_\ell(u,\lambda)-G(u)|\le c\,e^{-\kappa\lambda}$ for all $u\in B$
# and $\lambda\ge1$. It is open, since $B\subset\Omega_\ell$. We show that its complement is a null set. For $\ell=0$ it
# is empty.
#
# *One more layer.* Let $B,G,\kappa,c$ be those of a point of $\Omega_\ell$; make $B$ smaller, so that its closure is
# compact and $G$ bounded on it. The score of key column $j$ for the query column $k$ in head $i$ is a quadratic form in
# the entries of $X_\ell$. So it is $q_{ijk}(u)+r$, where $q_{ijk}$ is the same form of $G(u)$, a polynomial of degree
# at most 2, and $|r|\le c'e^{-\kappa\lambda}$ on $B$. For all $i,k$ and $j\ne j'$ the polynomial $q_{ijk}-q_{ij'k}$
# vanishes on all of $B$, or its zeros in $B$ are a closed null set. Let $Z$ be the union of the sets of the second
# kind, a closed null set, and $u_1\in B\setminus Z$. On a compact ball $B_1\subset B\setminus Z$ around $u_1$, each
# difference of the second kind has a constant sign and is at least some $\gamma>0$ in modulus. So for each $i,k$ the
# set $J$ of the $j$ with the highest $q_{ijk}$ is the same on all of $B_1$. For $j,j'\in J$ the two scores differ by at
# most $2c'e^{-\kappa\lambda}$: with the factor $\lambda$ that is $2c'\lambda e^{-\kappa\lambda}$, which is bounded, and
# their weights have a ratio of $1+O(\lambda e^{-\kappa\lambda})$. For $j\in J$ and $j'\notin J$ the ratio of the
# weights of $j'$ and $j$ is at most $\exp(-\gamma\lambda+2c'\lambda e^{-\kappa\lambda})=O(e^{-\gamma\lambda})$. Hence
# the weight of $j$ is $1/|J|+O(\lambda e^{-\kappa\lambda}+e^{-\gamma\lambda})$ for $j\in J$ and $O(e^{-\gamma\lambda})$
# for the others. With any $\kappa_1<\min(\kappa,\gamma)$ all weights are constants up to $O(e^{-\kappa_1\lambda})$ on
# $B_1$. The values $V^iX_\ell$ are affine up to $O(e^{-\kappa\lambda})$, and bounded. So is the result $A$ of (1a): on
# $B_1$ it is $H(u)+O(e^{-\kappa_1\lambda})$ with $H$ affine.
#
# *The ReLUs.* The argument of a hidden unit in a column is $h(u)+O(e^{-\kappa_1\lambda})$ with $h$ affine. It vanishes
# on all of $B_1$, or its zeros are a closed null set. Off the union $Z'$ of these null sets, on a ball $B_2\subset
# B_1\setminus Z'$, each $\sigma(h)$ is $h$ or 0, which is affine; and $|\sigma(h+r)-\sigma(h)|\le|r|$. So the output of
# (1b) is affine on $B_2$ up to $O(e^{-\kappa_1\lambda})$.
#
# *Measure.* So each point of $\Omega_\ell$ has a ball $B$, almost all of whose points are in $\Omega_{\ell+1}$: almost
# all $u_1\in B$ are off $Z$, and almost all points of each $B_1$ are off $Z'$; countably many balls $B_1$ cover
# $B\setminus Z$. Countably many balls $B$ cover $\Omega_\ell$. So $\Omega_\ell\setminus\Omega_{\ell+1}$ is a null set,
# and with $\Omega_\ell$ also $\Omega_{\ell+1}$ has full measure. (Let the input be a real-analytic function of $u$
# instead. Then all $G$ are affine functions of its entries, and analytic, so that the same proof gives a limit that is
# locally an affine function of the entries of the input.)
#
# *What is not reached.* Let $f$ be real-analytic on an open set $U\subset\mathbb R^p$, and affine on no open subset of
# it. Countably many balls $B\subset U$ as above cover $\Omega\cap U$. On each of them the outputs tend to an affine
# function $g$. The analytic function $f-g$ is not identically 0 on $B$, and so its zeros in $B$ are a null set.
#
# *The functions of the statement.* A polynomial that is affine on an open set is affine everywhere, and then also on
# every line. An entry $\sum_ka_{ki}b_{kj}$ of $A^\top B$ is $t^2$ on the line $a_{1i}=b_{1j}=t$, all else 0. Let
# $\epsilon\ne0$ be fixed or a datum, $X_0=\epsilon A$ or $\epsilon A^\top$, and let $X$ come after $k\ge1$ steps. On
# the line $A=aI$ it is $x_kI$ with $1-ax_k=(1-\epsilon a^2)^{2^k}$, so that $x_k$ is a polynomial in $a$ of degree
# $2^{k+1}-1\ge3$. If $A^{-1}=g(A)$ for an affine $g$ on an open set, then the polynomial $Ag(A)-I$ vanishes there, and
# so everywhere; at $A=0$ it does not. $A^T\mathbf 1$ is $a^T\mathbf 1$ on the line $aI$. For $A^T\mathbf
# 1/\|A^T\mathbf 1\|$ see the last paragraph, in which $F$ may be affine. (Where $\mathbf 1$ is replaced by
# $\mathbf 1/\sqrt d$ nothing changes.)
#
# *Newton from $\epsilon=1/\|A\|^2$.* The input is $\epsilon I$ and $A$. Off the null set of the $A$ whose largest
# singular value is not simple, $\epsilon$ is real-analytic in $A$. So the limit near almost every $A$ is
# $\alpha+L(A)+\epsilon M$, with a linear $L$ and constant $\alpha$, $M$. The iterate $X$ from $X_0=\epsilon A^\top$ is
# homogeneous of degree $-1$ in $A$, and the three terms are so of degrees 0, 1 and $-2$. If both agreed on an open set,
# then $X=0$ there. But $X=A^{-1}(I-R^{2^k})$, and $R=I-\epsilon AA^\top$ has its eigenvalues in $[0,1)$, so that $X$ is
# invertible with $A$. $A^{-1}$ is of degree $-1$ as well.
#
# *If some heads keep their $\lambda$.* Then the induction above remains true with real-analytic functions in place of
# affine ones. Differences of scores and arguments of ReLUs are analytic in $u$, so they vanish on all of a ball or on a
# closed null set of it; a head that keeps its $\lambda$ keeps errors of the order $e^{-\kappa\lambda}$. So near almost
# every $u_0$ the output tends to $F(X_0)$. Here $F$ is the network in which the weights of the other heads are the
# constants of the proof, and each ReLU is the identity or 0. It is real-analytic in all inputs. Every head takes means
# of its values, whence $|F(X_0)|\le C(1+|X_0|)$. Let $F$ agree with one of the functions, $f$, on an open set. If $f$
# is a polynomial, as $X_1$ is with a fixed or given $\epsilon$, then $f=F$ everywhere, but $f$ has a degree of at least
# 2 and grows faster. If $f=A^{-1}$, then $f=F$ on a whole component of the invertible matrices, and $f$ is not bounded
# at its border. Last, let $p=A^T\mathbf 1$ and $f=p/\|p\|$, and let the input be $A$ or $A/\|A\|$. Then the first
# entries have $F_1^2\|p\|^2=p_1^2$ on an open set. Both sides are analytic in $A$ where the largest singular value is
# simple. This set is connected: it has the matrices $\sigma vw^\top+B$ with unit vectors $v$, $w$, with $\sigma>0$ and
# $Bw=0$, $B^\top v=0$, $\|B\|<\sigma$. So the equation is true on all of it. Let $v=e_1$, $w=(e_1-e_2)/\sqrt2$ and
# $A_0=vw^\top$, so that $A_0\mathbf 1=0$. For small $x\ne0$ the matrix $A_0+xv\mathbf 1^\top$ has $p$ parallel to $v$,
# and $A_0+x\mathbf 1\mathbf 1^\top$ has $p$ parallel to $\mathbf 1$, both not 0. As $x$ falls to 0, $F_1^2$ has to tend
# to 1 and to $1/d$ at the same point. $\square$
#
# </details>
#
# <details><summary>Proof of Appendix M, after Lemma 15: the error of the softmax</summary>
#
# *Reads and transfers.* All operations read operands and move results by heads in which, for each query column, the
# scores of the columns that are meant are equal, and exceed all others by at least a gap $\gamma>0$ that does not
# depend on the operands. With $n$ columns the weights that belong elsewhere have a sum of at most
# $n\,e^{-\gamma\lambda}$. So what is read is the mean of what is meant, up to $n\,e^{-\gamma\lambda}$ times the size of
# the entries, and the layers keep this order of the error. It vanishes as $\lambda$ grows. Addition and subtraction
# have no other error, and no other has the percentage if $W_2$ multiplies the operand by 0.01.
#
# *What the operation itself leaves.* A product is real-analytic and affine on no open set: on the line $a=b=t$ it is
# $t^2$. A sum of sigmoids $\sum_ic_i/(1+e^{-a_ix-b_i})$ is real-analytic as well. If it were affine on an open
# interval, then also on the whole line, and being bounded it would be constant. By the first theorem of this page the
# outputs of a transformer with fixed weights tend to such a function for a null set of operands only. $\square$
#
# </details>
#
# <details><summary>Proof of What passes can do, and the temperature cannot</summary>
#
# Let the rows be $s,m,h,k,p$, at first $1,\frac{x+y}2,x,y,\frac{x+y}2$. A pass makes $s'=s/4$, then
# $m'=\frac12\min(m,s-m)=\frac12m-\frac12\sigma(2m-s)$ and likewise $h',k'$, and $p'=p-2m'+\frac12h'+\frac12k'$. These
# are seven units: $\sigma(s)$, and two for each of $m,h,k$. Let $q_s(m)=m(s-m)$. We claim that
#
# $$0\le m,h,k\le s\qquad\text{and}\qquad s\,(p-xy)=2q_s(m)-\tfrac12q_s(h)-\tfrac12q_s(k).$$
#
# At the start the right side is $m-2m^2+\frac12(x^2+y^2)=m-xy$. In a pass $0\le m'\le\frac s4$, and
# $4q_{s'}(m')=4m'(\frac s4-m')=sm'-4m'^2$. With $\mu=\min(m,s-m)=2m'$ we have $q_s(m)=\mu(s-\mu)=2sm'-4m'^2$. So
# $4q_{s'}(m')=q_s(m)-sm'$, and
#
# $$4s'(p'-xy)=s(p-xy)-s\big(2m'-\tfrac12h'-\tfrac12k'\big)
# =4\big(2q_{s'}(m')-\tfrac12q_{s'}(h')-\tfrac12q_{s'}(k')\big).$$
#
# After $t$ passes $s=4^{-t}$, and $0\le q_s\le s^2/4$ gives $-\frac s4\le p-xy\le\frac s2$. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
networks = 60  # random transformers, from 10 to 1000
tokens = 5  # columns of each, from 3 to 12
seed = 0  # of every draw, at least 0

# %%
require(networks=(networks, 10, 1000), tokens=(tokens, 3, 12), seed=(seed, 0, None))


# %% [markdown]
# ### Curves become polygons
# We draw a random transformer of two layers with one head each. Its input is one number $u$, written into four
# columns. We follow one entry of the output.


# %%
def random_layers(source: torch.Generator, depth: int, rows: int, heads: int = 1) -> list[DenseLayer]:
    """Layers with Gaussian weights, and one hidden unit more than rows."""

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    layers = []
    for _ in range(depth):
        each = tuple(DenseHead(draw(2, rows), draw(2, rows), draw(rows, rows) / 2) for _ in range(heads))
        layers.append(
            DenseLayer(each, draw(rows + 1, rows), draw(rows + 1), 0.4 * draw(rows, rows + 1), draw(rows) / 5)
        )
    return layers


# %%
def output(layers: list[DenseLayer], state: torch.Tensor, inverse_temperature: float) -> torch.Tensor:
    """The state after all layers."""
    for layer in layers:
        state = layer(state, inverse_temperature)
    return state


source = generator(seed + 4)
drawn = random_layers(source, 2, 3)
origin, along = torch.randn(2, 4, 3, generator=source, dtype=torch.float64)
numbers = torch.linspace(-1.5, 1.5, 601, dtype=torch.float64)

# %%
fig, axis = show.axes(width=6.4, height=3.2)
for heat, style in ((1.0, ":"), (4.0, "--"), (1000.0, "-")):
    entry = output(drawn, origin + numbers[:, None, None] * along, heat)[:, 0, 0]
    axis.plot(numbers, entry, style, label=f"$\\lambda={heat:g}$")
axis.set(xlabel="input $u$", ylabel="an entry of the output")
axis.legend()
show.figure(
    fig,
    name="polygon",
    caption="One entry of the output of a transformer with fixed weights, at three temperatures.",
    alt="Three curves over the input. The smooth one for the smallest factor becomes, for the largest, a line of "
    "straight pieces with jumps between them.",
)

# %% [markdown]
# At $\lambda=1$ we see a smooth curve, and at $\lambda=1000$ straight pieces with jumps.
#
# ### The limit near an input
# We now draw many transformers with one to three layers and two heads. In half of them two columns are equal, so that
# scores stay tied for all inputs. For each, we follow the affine function of the proof through the layers. The *gap*
# is the smallest difference between a highest score and the next one on the way. We compare this function with the
# transformer at two values of $\lambda$, 12 and 20 divided by the gap, and at inputs nearby.


# %%
def checked(number: int) -> tuple[float, float, float]:
    """Of one transformer: the rate of the error over the gap, the error far out, and that at an input nearby."""
    source = generator(1000 * seed + number)
    layers = random_layers(source, 1 + number % 3, 4, heads=2)
    state, direction = torch.randn(2, tokens, 4, generator=source, dtype=torch.float64)
    if number % 2:
        state[1], direction[1] = state[0], direction[0]
    piece = limit_piece(layers, state, direction[None])
    errors = [(output(layers, state, heat / piece.gap) - piece.value).abs().max() for heat in (12.0, 20.0)]
    far, step = 60 / piece.gap, min(1e-3 * piece.gap, 1e-8)
    nearby = output(layers, state + step * direction, far) - piece.value - step * piece.derivative[0]
    size = 1 + piece.value.abs().max() + piece.derivative.abs().max()
    last = output(layers, state, far) - piece.value
    rate = (errors[0] / errors[1]).log().item() / 8 if errors[1] > 1e-13 * size else torch.inf
    return rate, (last.abs().max() / size).item(), (nearby.abs().max() / size).item()


# %%
rates, far_errors, near_errors = zip(*(checked(number) for number in range(networks)), strict=True)
show.table(
    ["transformers", "slowest rate over the gap", "error at 60 / gap", "the same nearby"],
    [[networks, min(rates), max(far_errors), max(near_errors)]],
)

# %% [markdown]
# Every error falls at no less than 0.9 times the rate given by the gap, and nearby inputs give the same affine
# function.
#
# ### The blocks of the paper
# Next we take function blocks with the weights built for $\lambda=40$. We compute the limit at random operands, and its
# derivative with respect to each of their entries.


# %%
a, b = torch.rand(2, 3, 3, generator=generator(seed + 1), dtype=torch.float64) + 0.5
sigmoids = SigmoidSum(*torch.tensor([[4.0, 2.0, 1.0], [-3.0, -1.0, -1.0], [1.0, 1.0, -2.0]], dtype=torch.float64))
blocks = [SumBlock("add", 1), SumBlock("sub", 1), ProductBlock(slope=1e-3), SigmoidSumBlock("sigmoids", sigmoids)]
limits = {block.name: block_limit(block, a, b) for block in blocks}
wanted = {block.name: block.reference(a, b) for block in blocks}
show.table(
    ["block", "limit of an entry", "what it should be", "largest derivative"],
    [[name, limits[name][0][0, 0], wanted[name][0, 0], limits[name][1].abs().max()] for name in limits],
)

# %% [markdown]
# The limits of the sum and the difference are right, with derivative 1. The product block tends to $-1/c=-1000$ and
# the sigmoids to 0 or 1, whatever the operands are: their derivatives are 0. The percentage of Corollary 7 is a product
# with 0.01, and tends to $-1/c$ as well. A machine that is built for another $\lambda$ divides the keys of these blocks
# by that $\lambda$, so its weights change. Then only the error of the transfers depends on $\lambda$.
#
# ### What more passes do
# If the number of passes may grow, fixed weights are enough. We loop a layer without attention on the five numbers of
# one column.

# %%
layer = looped_product().dense
x, y = (part.flatten() for part in torch.meshgrid(*2 * [torch.linspace(0, 1, 65).double()], indexing="ij"))
state, by_passes = torch.stack([torch.ones_like(x), (x + y) / 2, x, y, (x + y) / 2], dim=-1), []
for _ in range(20):
    state = layer.feed_forward(state)
    by_passes.append(state[:, 4] - x * y)

# %%
fig, axis = show.axes(width=6.0, height=3.0)
axis.semilogy(range(1, 21), [off.abs().max().clamp(min=1e-17) for off in by_passes], "o", label="largest error")
axis.semilogy(range(1, 21), [4.0**-t / 2 for t in range(1, 21)], "-", label=r"$\frac{1}{2}\,4^{-t}$")
axis.set(xlabel="passes $t$", ylabel="error of $xy$")
axis.legend()
show.figure(
    fig,
    name="passes",
    caption="The largest error of the looped layer on a grid of $65^2$ pairs $x,y$ in $[0,1]$. Dots at the bottom "
    "mark an error of 0.",
    alt="Six dots on a falling straight line on a logarithmic axis. All further dots are at the bottom, where the "
    "error is zero.",
)

# %% [markdown]
# Every pass gives two more binary digits. From the seventh pass on, the error on this grid is 0, since $x$, $y$ and
# $\frac{x+y}2$ are multiples of $1/128$.
#
# ## How we checked
# The theorem is proved above; the runs could only refute it. As a control we take the same networks at $\lambda=1$,
# where they must not be affine. The looped layer is certified: a solver proves the invariant for its weights, all $x$,
# $y$ and $t$.

# %%
curved, products = [], []
for number in range(networks):
    source = generator(1000 * seed + number)
    layers = random_layers(source, 1 + number % 3, 4, heads=2)
    state, direction = torch.randn(2, tokens, 4, generator=source, dtype=torch.float64)
    ends = [output(layers, state + step * direction, 1.0) for step in (-1e-2, 0.0, 1e-2)]
    curved.append((ends[0] - 2 * ends[1] + ends[2]).abs().max().item())

# %%
unit = torch.eye(tokens, dtype=torch.float64)
ones = torch.ones(tokens, dtype=torch.float64)
near = [torch.outer(unit[0], unit[0] - unit[1]) + 1e-3 * torch.outer(side, ones) for side in (unit[0], ones)]
ends = [torch.linalg.matrix_power(one, 2) @ ones for one in near]
jump = (ends[0][0] / ends[0].norm()) ** 2 - (ends[1][0] / ends[1].norm()) ** 2

# %%
claim = Claim("looped-transformers/temperature-limit")
claim.at_least("rate of the error over the gap, smallest", min(rates), 0.8)
claim.at_most("error at 60 over the gap, relative, largest", max(far_errors), 1e-9)
claim.at_most("the same at an input nearby, against the affine function", max(near_errors), 1e-11)
claim.at_most("the product block: derivative of its limit", limits["mul"][1].abs().max(), 1e-9, of="proof")
claim.at_least(
    "A²1 from two sides of one A: first entry squared over |A²1|², difference", jump, 1 - 1 / tokens - 1e-6, of="proof"
)
claim.at_most("the sum: limit less a + b", (limits["add"][0] - wanted["add"]).abs().max(), 1e-12, of="proof")
claim.control.at_most("at lambda = 1: second difference, median", torch.tensor(curved).median(), 1e-9)
for name in ("mul", "sigmoids"):
    claim.number(f"{name}, the same weights: limit less what is meant", (limits[name][0] - wanted[name])[0, 0].abs())
claim.verdict()

# %%
off = torch.stack(by_passes) * 4.0 ** torch.arange(1, 21)[:, None]
beyond = layer.feed_forward(torch.tensor([[1.0, 0.75, 1.5, 0.0, 0.75]], dtype=torch.float64))[0, 4]
claim = Claim("looped-transformers/passes-for-temperature")
claim.at_most("error times 4^t, largest", off.max(), 0.5)
claim.at_least("error times 4^t, smallest", off.min(), -0.25)
claim.equal("rows", layer.w2.shape[0], 5)
claim.equal("hidden units", layer.w2.shape[1], 7, of="proof")
claim.control.at_most("x = 3/2, y = 0: error after one pass", beyond, 1 / 8)
claim.certified("the layer's weights: all x, y in [0, 1] and all t", certify_looped_product(), whole=True)
claim.verdict()


# %%
def extra_error(block: FunctionBlock, heat: float) -> float:
    """The largest difference to the block's result where its reads and transfers are all but hard."""
    return (run_block(block, a, b, heat).result - run_block(block, a, b, 40.0).result).abs().max().item()


extra = {heat: {block.name: extra_error(block, heat) for block in blocks} for heat in (1.0, 4.0, 8.0)}
decays = {name: math.log(extra[4.0][name] / extra[8.0][name]) / 4 for name in extra[4.0]}
show.table(
    ["block", *(f"λ = {heat:g}" for heat in extra)], [[name, *(by[name] for by in extra.values())] for name in decays]
)

# %%
claim = Claim("looped-transformers/appendix-m-extra-error")
claim.equal("reads and transfers: rate at which their error falls", decays, 2.0, tolerance=0.1)
claim.control.at_most("the same at lambda = 1: error", extra[1.0], 1e-2)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# We measure the rate of the error between $\lambda=12$ and 20 over the gap, if the error there is above $10^{-13}$.
# Where scores are tied, the error of the next layer has an additional factor $\lambda$. Two such factors lower the
# measured rate by $2\ln(20/12)/8\approx0.13$, so the threshold is 0.8. The limit is computed in floating point, with
# the coefficients of each score as a polynomial; an input on a boundary would be refused, but none of the random inputs
# lay on one.
#
# That no transformer does better than the blocks tried here is the theorem, and not a measurement.
#
# </details>
#
# ## Where the paper differs
# Lemmas 3 and 4 are right: reading and writing copy entries, which is affine. Theorem 2 and the remark after Lemma 15
# are also right. They speak of the error that reads and transfers add to blocks or approximations that are given.
# Lemmas 9 and 23 and Remark 3 name "another free parameter", the constant $c$ of the product. Lemmas 7 and 8 build the
# product themselves, and name the temperature alone. No fixed weights do this, whatever the temperature of each head.
# If all grow, the limit is affine; in the block of Lemma 14 with $\lambda=1$, the error stays. The lemmas are true if
# the weights may change along with the temperature.
#
# We take one $\lambda$ for all heads, which (1) leaves open; the proofs of Lemmas 11 and 14 use $\lambda=1$. A layer
# normalisation or a smooth activation are outside the theorem. With a hard maximum in place of the limit, the
# conclusion is the same. On a null set of inputs, such as the integers, the theorem says nothing: a look-up table can
# multiply digits. Nor does it cover a number of passes that grows as the error falls.
#
# ## What to remember
# - With fixed weights a sharper softmax turns a transformer into an affine function near almost every input.
# - It can decide whether $xy$ exceeds 4, but it cannot return $xy$.
# - A product needs weights that change with the temperature, or more passes.
#
# ## Exercises
#
# 1. *By hand.* Follow the looped layer, with the updates from its proof, for two passes on $x=y=\frac12$. What is $p$
#    after each?
#    <details><summary>Solution</summary>
#
#    All of $m,h,k$ are $\frac12$ at first and $\min(\frac12,\frac12)/2=\frac14$ after the first pass, so that
#    $p=\frac12-2\cdot\frac14+\frac14=\frac14$, which is already the product. Now $s=\frac14$, all minima are 0, and
#    $p$ does not change in the second pass.
#
#    </details>
# 2. *Predict, then run.* Set `tokens = 3`. We divide each rate by the smallest gap of its transformer. Can the
#    quotient be much greater than 1?
#    <details><summary>Solution</summary>
#
#    Yes. The smallest gap may belong to a column or a head whose result is multiplied by 0, or an error may meet a
#    closed ReLU. The rate is then that of another gap, and the table shows only the slowest one.
#
#    </details>
#
# Next: [One transformer for all programs](abstract_one_frozen_computer.ipynb). Fixed weights can still run every
# program of the paper.

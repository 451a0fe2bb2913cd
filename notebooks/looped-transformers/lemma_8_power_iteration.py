# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 8 · The direction that a matrix stretches most
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 8 (= 22), Algorithms 4, 11, 12, Appendix N.*
#
# Multiply a vector by the same matrix again and again, and only one direction survives: the one that the matrix
# stretches most. A looped transformer can compute the products. However, the result has to be divided by its norm,
# and the machine has neither exact roots nor exact quotients. How does it divide?

# %%
import math

import torch

from attention_theory.looped_transformers.certified.iterations import certify_inverse_root
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.listing import side_by_side
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.power_iteration import (
    distance_bounds,
    inverse_root_iterates,
    least_length,
    listing_beside,
    power_error_bound,
    power_iterates,
    power_program,
    root_rounds,
    sign_free_distance,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# The matrix $\begin{pmatrix}2&1\\1&2\end{pmatrix}$ has the eigenvalues 3 and 1. We begin with $(1,0)$ and multiply.

# %%
fig, axis = schematic.canvas(7.0, 1.3)
tops = schematic.tokens(axis, ["(1, 0)", "(2, 1)", "(5, 4)", "(14, 13)"], (0.3, 0.5), step=3.4)
for (x, y), ratio in zip(tops, ("0", "0.5", "0.8", "0.93"), strict=True):
    schematic.text(axis, (x, y + 0.4), f"second over first: {ratio}", schematic.BLUE, 9)
for k in (1, 2, 3):
    schematic.arrow(axis, (3.4 * k, 0.95), (0.3 + 3.4 * k, 0.95))
show.figure(
    fig,
    name="tiny",
    caption="Three products. The ratio of the two entries tends to 1, so the direction tends to that of (1, 1).",
    alt="Four boxes joined by arrows: (1, 0), (2, 1), (5, 4) and (14, 13), with the ratios 0, 0.5, 0.8 and 0.93.",
)

# %% [markdown]
# We see the direction approach $(1,1)$, the eigenvector of 3. The start matters: from $(1,1)$, the matrix
# $\begin{pmatrix}2&-1\\-1&2\end{pmatrix}$ gives $(1,1)$ forever, which is the eigenvector of its *smaller* eigenvalue.
#
# ## The paper states
# <!-- claim looped-transformers/algorithm-4 -->
# <blockquote>
#
# **Algorithm 4 (Power iteration)** *Appendix D; Appendix N; also Algorithm 10*
#
# **The paper states.** The algorithm is used for finding the dominant eigenvalue, the one that has the maximum absolute
# value, and corresponding eigenvector of a diagonalizable matrix. Initialize $b_0=1$; for $k=0,\dots,T-1$,
# $b_{k+1}=Ab_k$; $b=b_T/\|b_T\|$. It converges linearly to the eigenvector associated with the dominant eigenvalue.
#
# **What is true.** Let $|\lambda_1|>|\lambda_2|\ge\dots$, and let $w$ be the left eigenvector of $\lambda_1$. If
# $w\cdot b_0\ne0$, the distance of $b_T/\|b_T\|$ to the eigenvector of $\lambda_1$, up to its sign, is
# $O(|\lambda_2/\lambda_1|^T)$. If $w\cdot b_0=0$, it does not tend to 0. The start $b_0=1$ works if the entries of $w$
# do not add up to 0.
#
# **What changed.** From a start of ones, $\begin{pmatrix}2&-1\\-1&2\end{pmatrix}$, whose eigenvalues are 1 and 3, gives
# $b_T=(1,1)$ for every $T$, which is the eigenvector of 1. The Laplacian $\begin{pmatrix}1&-1\\-1&1\end{pmatrix}$ gives
# $b_1=0$, and the division is $0/0$. If two eigenvalues share the largest modulus, there may be no limit.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-11 -->
# <blockquote>
#
# **Algorithm 11 (Inverse square root)** *Appendix N*
#
# **The paper states.** Newton's algorithm to compute inverse square root: $1/\sqrt S$. Initialize $x_0=1$; for
# $k=0,\dots,T$: $x_{k+1}=x_k\big(\frac32-\frac S2x_k^2\big)$.
#
# **What is true.** From $x_0=1$, the iteration converges to $1/\sqrt S$ for $0<S<3$. For $S<1$, it is within $10^{-12}$
# after at most about $\log_{1.5}(1/\sqrt S)+6$ steps. It takes more and more steps as $S$ approaches 3, where
# $x_1=(3-S)/2$ tends to 0.
#
# **What changed.** The paper gives no range of $S$. At $S=3$ the limit is 0, and above 3 it is $-1/\sqrt S$ up to
# $S\approx4.613$, where $(S-3)/2=\sqrt{3/S}$. From there to 5 it is one root or the other, or 0 for a sequence of
# values of $S$ that tends to 5. At 5 there is no limit, and beyond 5 the iteration diverges.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-12 -->
# <blockquote>
#
# **Algorithm 12 (Power iteration as a program)** *Appendix N*
#
# **The paper states.** Require $b=1$, $t_1=t_2=-T+1$. Line 2: $b=f_{\mathrm{mul}}(a,b)$. Line 3:
# $t=f_{\mathrm{add}}(t_1,q)$. Line 4: if $t_1\le0$ goto line 2, else calculate $\|b_T\|^2$. Lines 6 to 12: Algorithm
# 11, back while $t_2\le0$. Line 13: $b=f_{\mathrm{mul}}(b,\mathrm{inv\_norm})$.
#
# **What is true.** The first loop multiplies by $A/\|A\|$ in $T$ rounds, starting at $b_0=1/\sqrt d$ in each entry, and
# gives $b_T$. The second loop has a separate counter: $\log_{1.5}(1/\sqrt S)+2+\log_2\ln(1/\epsilon)$ rounds for a
# relative error $\epsilon$, with $S=\|b_T\|^2$. With the unit left eigenvector $w$ of the top eigenvalue $\lambda_1$,
# $T\log_{1.5}(\|A\|/|\lambda_1|)$ and $\log_{1.5}(1/|w\cdot b_0|)$ in place of the first term are enough. For symmetric
# $A$, this number does not grow with $T$.
#
# **What changed.** If $A$ is not normalised, or the start consists of ones, $S$ can leave the range of Algorithm 11.
# For example, from ones, $A=11^\top/d$, whose norm is 1, has $S=d$. In addition, $T$ rounds of the second loop can be
# too few at any $T$. For large $T$ they never suffice if $A$ is diagonalisable and $|\lambda_1|\le\frac23\|A\|$.
#
# <details><summary>Slips (3)</summary>
#
# - Line 3 stores $t_1+1$ in $t$, not in $t_1$.
# - Line 13 has to transpose $b$ first.
# - Algorithm 11 makes $T+1$ rounds where the program makes $T$, and Lemma 22 speaks of $b_{T+1}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-8 -->
# <blockquote>
#
# **Lemma 8 (Power iteration in the transformer)** *Appendix D; also Lemma 22*
#
# **The paper states.** Consider a matrix $A\in\mathbb R^{d\times d}$, then for any $\epsilon>0$ there exists a
# transformer with 13 layers, 1 head and dimensionality $r=O(d)$ that emulates Alg. 4 for $T=O(\log1/\epsilon)$
# iterations with output within $\epsilon$ of $b_{T+1}$. This error $\epsilon$ arises due to softmax, and can be driven
# arbitrarily close to 0 by increasing the temperature.
#
# **What is true.** For every $T$, every $\epsilon\le\frac12$ and every $A$ with $\lambda_1\ne0$ there is a looped
# transformer of 12 layers, with one head in each and $O(d)$ rows, that ends within $\epsilon$ of Algorithm 4's
# $b_T/\|b_T\|$, if the start has a component along the top eigenvector. Its input is $A/\|A\|$ and the start
# $b_0=1/\sqrt d$ in each entry, and its second loop has $N\ge T\log_{1.5}(\|A\|/|\lambda_1|)+\log_{1.5}(1/|w\cdot
# b_0|)+2+\log_2\ln(2/\epsilon)$ rounds, with the unit left eigenvector $w$ of the top eigenvalue $\lambda_1$ (the first
# term is 0 for symmetric $A$) and $w\cdot b_0\ne0$. The error is driven to 0 by the temperature together with the
# constants $c$ and $C$ of the product block. It is the error of the products, magnified about $S^{-3/2}$ times in the
# inverse root, for $S=\|b_T\|^2$, and about $1/S$ times in the result.
#
# **What changed.** The temperature alone cannot do it. With fixed weights and a fixed number of passes, the output
# tends to $b_T/\|b_T\|$ as $\lambda$ grows only for a null set of matrices $A$ ($d\ge2$), also if $A/\|A\|$ is given.
# The start also needs a component along the top eigenvector, which a start of ones need not have.
#
# <details><summary>Slips (1)</summary>
#
# - The proof's program uses $A$ itself and starts with ones, and so leaves the range of Algorithm 11. With $A/\|A\|$
#   and a start of length 1, no direction changes. The second loop has $T$ rounds and needs a separate counter.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In each step, the part of $b$ along the second eigenvector shrinks by $|\lambda_2/\lambda_1|$ relative to the first.
# The start needs a component along the first. For a matrix that is not symmetric, the *left* eigenvector measures this
# part.
#
# The inverse of the norm is $1/\sqrt S$ with $S=\|b\|^2$. Newton's iteration $x\leftarrow x(3-Sx^2)/2$ finds it with
# products and differences. From $x=1$ it needs $S<3$, so the program receives $A/\|A\|$ and a start of length 1. For
# small $S$, the value $x$ first grows by a factor of at most $\frac32$ per round, so it needs about
# $\log_{1.5}(1/\sqrt S)$ rounds before it converges quadratically. This number is not $T$, so the second loop needs a
# separate counter.
#
# <details><summary>Proof of Algorithm 4, as corrected</summary>
#
# Let $r_1,\dots,r_d$ be eigenvectors of length 1, a basis in which $b_0=\sum_ic_ir_i$. The left eigenvector $w$ of
# $\lambda_1$ is orthogonal to $r_2,\dots,r_d$, since $\lambda_1w\cdot r_i=w\cdot Ar_i=\lambda_iw\cdot r_i$. It is not
# orthogonal to $r_1$, since it is not 0. So $c_1=w\cdot b_0/w\cdot r_1$, and
#
# $$b_T=\lambda_1^T(c_1r_1+v_T),\qquad v_T=\sum_{i\ge2}(\lambda_i/\lambda_1)^Tc_ir_i,\qquad
# \|v_T\|\le|\lambda_2/\lambda_1|^T\sum_{i\ge2}|c_i|.$$
#
# *If $w\cdot b_0\ne0$.* For vectors $u\ne0$ and $v$ with $u+v\ne0$,
# $\big\|\frac{u+v}{\|u+v\|}-\frac u{\|u\|}\big\|\le\frac{\|u+v-u\|+|\|u\|-\|u+v\||}{\|u\|}\le\frac{2\|v\|}{\|u\|}$.
# With $u=c_1r_1$ and $v=v_T$ the distance is at most $\frac2{|c_1|}\sum_{i\ge2}|c_i|\,|\lambda_2/\lambda_1|^T$.
#
# *If $w\cdot b_0=0$.* Then $w\cdot b_T=\lambda_1^Tw\cdot b_0=0$ for every $T$. Either $b_T=0$ and the division is not
# defined, or the unit vector $b_T/\|b_T\|$ is orthogonal to $w$. Its distance to $\pm r_1$ is then at least
# $|w\cdot r_1|/\|w\|>0$. $\square$
#
# </details>
#
# <details><summary>Proof of Algorithm 11, as corrected</summary>
#
# For $u_k=\sqrt S\,x_k$ the iteration is $u_{k+1}=g(u_k)$ with $g(u)=u(3-u^2)/2$ and $u_0=\sqrt S$. The function is
# odd, and
#
# $$1-g(u)=\tfrac12(1-u)^2(2+u).$$
#
# *Below 3.* If $0\lt u\lt\sqrt3$, then $g(u)>0$, and $g(u)\le1$ by the identity. On $(0,1]$ we have $g(u)\ge u$: from
# the first step on the iterates rise to a fixed point in $(0,1]$. Those of $g$ are 0 and $\pm1$, so it is 1. By the
# identity $1-u$ becomes at most $\frac32(1-u)^2$, which is quadratic convergence.
#
# *The number of steps for $S\lt1$.* Note that $g$ is increasing on $[0,1]$. Beginning at $u=0.51$, six steps make $1-u$
# about 0.30, 0.12, 0.022, $7\cdot10^{-4}$, $7.2\cdot10^{-7}$ and $8\cdot10^{-13}$: from any $u_m\ge0.51$ six steps are
# enough for $10^{-12}$. Let $m$ be the first such index; if it is 0 we are done. Otherwise all $u_j$ with $j\lt m$ are
# below 0.51, where a step multiplies by at least 1.369; so $u_{m-1-i}\le0.51/1.369^i$. A step multiplies $u$ by
# $\frac32(1-u^2/3)$, hence
#
# $$0.51>u_{m-1}\ge\sqrt S\,1.5^{m-1}\Big(1-\tfrac13\sum_{i\ge1}0.51^2/1.369^{2i}\Big)\ge0.9\,\sqrt S\,1.5^{m-1},$$
#
# and $m-1\le\log_{1.5}(1/\sqrt S)+\log_{1.5}(0.51/0.9)\lt\log_{1.5}(1/\sqrt S)-1$. Together with the six steps this is
# less than $\log_{1.5}(1/\sqrt S)+6$.
#
# *Towards 3.* $u_1=\sqrt S(3-S)/2$ tends to 0, and a step multiplies by at most 3/2: the number of steps tends to
# infinity. At $S=3$ all iterates from $x_1$ on are 0.
#
# *From 3 to 5.* If $\sqrt3\lt|u|\lt\sqrt5$, then $g(u)$ has the other sign and $|g(u)|=h(|u|)$ with $h(v)=v(v^2-3)/2\lt
# v$. So the moduli fall. They cannot stay above $\sqrt3$, since their limit would be a fixed point of $h$ in
# $[\sqrt3,\sqrt5)$, and $h$ has none there. Once the modulus is below $\sqrt3$, the limit of $u$ is 1 or $-1$ by its
# sign then; if it is exactly $\sqrt3$, the next iterate is 0. Let $v_0=\sqrt3$ and $h(v_{j+1})=v_j$. As $h$ rises from
# 0 at $\sqrt3$ to $\sqrt5$ at $\sqrt5$, the $v_j$ are well defined and rise to $\sqrt5$. For $\sqrt S$ between $v_j$
# and $v_{j+1}$ there are $j+1$ changes of sign, and the limit of $x$ is $(-1)^{j+1}/\sqrt S$; for $\sqrt S=v_j$ it is
# 0, and $v_j^2$ tends to 5. The first of them above 3 has $h(\sqrt S)=\sqrt3$, that is $(S-3)/2=\sqrt{3/S}$,
# $S=v_1^2\approx4.613$; then comes $v_2^2\approx4.934$, between 4.9 and 4.95.
#
# *From 5 on.* At $S=5$, $g(\pm\sqrt5)=\mp\sqrt5$: $x$ jumps between 1 and $-1$. Beyond, a step multiplies $|u|$ by
# $(u^2-3)/2>1$, which grows with $|u|$: the iteration diverges. $\square$
#
# </details>
#
# <details><summary>Proof of Algorithm 12, as corrected</summary>
#
# Let $B$ be the matrix that the program is given, $b_{k+1}=Bb_k$, and let the second loop have $N$ rounds ($N=T$ in
# print). Vectors lie in the first column, numbers in the first entry, of matrices that are zero elsewhere; every line
# keeps it so.
#
# *First loop.* Line 1 makes $a=B^\top$. At the head of the loop in round $k=0,1,\dots$ we have $b=b_k$ and $t_1=1-T+k$.
# The round makes $b=(B^\top)^\top b_k=b_{k+1}$ and $t_1=1-T+k+1$, which is at most 0 as long as $k+1\le T-1$: there are
# $T$ rounds, and $b=b_T$ at the end. The next line makes $b_T^\top b_T=S$.
#
# *Second loop.* At its head in round $j$ the cell `inv` holds $x_j$ of Algorithm 11 and $t_2=1-N+j$. The round makes
# $x_j^2$, $Sx_j^2$, $Sx_j^2/2$, $\frac32-Sx_j^2/2$ and $x_{j+1}$, and $t_2=1-N+j+1$: there are $N$ rounds, and `inv` is
# $x_N$ at the end. Then $b=b_T^\top$ is a row, and the last product is $(b_T^\top)^\top x_N=b_Tx_N$. Its distance to
# Algorithm 4's vector $b_T/\|b_T\|$ is $|1-u_N|$ with $u_N=\sqrt S\,x_N$.
#
# *How many rounds?* Let $B=A/\|A\|$, with a unit vector $b_0$ to begin with. Then $S\le1$, in the range of Algorithm
# 11, and by its proof the first $m$ with $u_m\ge0.51$ is at most $\log_{1.5}(1/\sqrt S)$, and
# $1-u_{k+1}\le\frac32(1-u_k)^2$. The round after the $m$-th leaves $\frac32(1-u_{m+1})\le0.453$, and each further one
# squares this or does better. So if
#
# $$N\ge\log_{1.5}\frac1{\sqrt S}+2+\log_2\ln\frac1\epsilon,\qquad\epsilon\le\tfrac12,$$
#
# there are $j\ge1+\log_2\ln(1/\epsilon)$ rounds after that one, and $1-u_N\le0.453^{2^j}\le0.453^{2\ln(1/\epsilon)}\le
# \epsilon$.
#
# *Before the run.* Let $w$ be the unit left eigenvector of $\lambda_1$, $w^\top A=\lambda_1w^\top$, and
# $\varrho=|\lambda_1|/\|A\|\le1$. Then $|w^\top b_T|=\varrho^T|w^\top b_0|$ exactly, so that
# $\sqrt S\ge\varrho^T|w\cdot b_0|$: the count
#
# $$N\ge T\log_{1.5}\frac1\varrho+\log_{1.5}\frac1{|w\cdot b_0|}+2+\log_2\ln\frac1\epsilon$$
#
# is enough. For symmetric $A$ $w$ is the top eigenvector itself and $\varrho=1$: the first term is 0, and one count
# serves all $T$. As soon as $T$ is at least this count, $T$ rounds are enough for both loops; before, they need not be.
#
# *$T$ rounds.* If $\varrho>\frac23$, the first term is less than $T$ by a multiple of $T$, and for large $T$ $T$ rounds
# are enough. For diagonalisable $A$, $\|b_T\|\le\gamma\varrho^T$ for some $\gamma$. If $\varrho\le\frac23$, then $\sqrt
# S\le\gamma(\frac23)^T$. A round multiplies $u$ by at most $\frac32$, so that $u_{T-i}\le\gamma(\frac23)^i$. Choose $i$
# so that this is at most $\frac12$. For all large $T$ the last $i$ rounds then end with $u_T\le g^i(\frac12)\lt1$,
# where $g(u)=u(3-u^2)/2$ is applied $i$ times: the length of $b_Tx_T$, which is $u_T$, stays away from 1.
#
# *The start.* With ones to begin with and $A=11^\top/d$ we have $b_T=1$ and $S=d$, where $1/\sqrt S$ is found for
# $d\le2$ only (Algorithm 11).
#
# *As printed.* Line 3 leaves $t_1=1-T\le0$ as it is, and the first loop never ends. Line 13 makes $b_T^\top x_N$, whose
# first entry is that of the vector and whose other entries are 0. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 8, as corrected</summary>
#
# *Program and machine.* The repaired program of Algorithm 12 runs on $B=A/\|A\|$ and the unit vector $b_0$ in the
# direction of the ones. A scaling of the matrix or the start is one of $b_T$, which Algorithm 4's vector does not see;
# and $S\le1$ keeps the second loop within its range, where a matrix of larger norm would leave it. The second loop has
# $N$ rounds, so many that with exact products the result is within $\epsilon/2$ of Algorithm 4's vector: by the proof
# of Algorithm 12 this holds for the $N$ above, if $w\cdot b_0\ne0$. $N$ stands in memory, as $T$ does, and no weight
# depends on it. The number of instructions is fixed. The machine of Theorem 2 executes one a pass, with 9 layers and
# those of its deepest block, the transpose with 3; its blocks share one head. Memory and program have $O(d)$ columns,
# so that the $O(Md+\log n)$ rows with a fixed number $M$ of blocks are $O(d)$. The flags are whole numbers that are
# never in a product: their errors vanish as the temperature grows, and the jumps are the program's.
#
# *The recursion.* In the softmax of Lemma 14 the sum over the columns of both operands weighs $e^{cg^2-C}$ at most,
# beside 1, if their columns are not longer than $g$; divided by $c$ that is a part of a product's error. Let $\eta$ be
# a bound on this error, as a matrix, with entries of at most about 1. After $T$ steps $b$ is off by at most
# $\beta=T\eta$, since $\|B\|=1$. So $S$ is off by at most $\tau=(2\sqrt S+\beta)\beta+\eta$. In the inverse root let
# the machine hold $x+\xi$ and $S+\tau'$, $|\tau'|\le\tau$. With $f(x,S)=x(3-Sx^2)/2$, exactly
#
# $$f(x+\xi,S+\tau')-f(x,S)=\tfrac32(1-Sx^2)\xi-\tfrac32Sx\xi^2-\tfrac12S\xi^3-\tfrac12(x+\xi)^3\tau' .$$
#
# To this the four products of the step add at most $x\,(\frac12S\epsilon_1+\frac12\epsilon_2+\epsilon_3)+\epsilon_4$,
# with $x$ and $S$ as the machine holds them and $\epsilon_i$ the error of each. The last product makes of $\beta$ and
# $\xi$ at most $(\sqrt S+\beta)|\xi|+x\beta$, and its own error. (Entries that should be zero are off, too. They meet
# only each other in what is used: that is a product of two errors, again of second order.)
#
# *Every $\epsilon$.* Let the temperature and the constant $C$ of the product block grow and $c$ fall so that $e^{-C}/c$
# goes to 0. Then all errors of products do (Lemma 14), and one after another $\beta$, $\tau$, all $\xi$ and the error
# of the result, since the rounds are fixed in number: from somewhere on it is at most the other $\epsilon/2$. Layers,
# heads and rows stay the same. At a fixed $c$ the error $cz^2/2$ stays, whatever the temperature. With the weights as
# they are it even grows: all scores times $\lambda$ make $z_\lambda=(e^{\lambda cz-(\lambda-1)C}-1)/c$ of an entry $z$
# (up to terms with $e^{-C}$), which tends to $-1/c$.
#
# *The magnification, to first order.* Let $v=Sx^2\le1$ and $\theta=|\xi|/x$. A step makes $x(3-v)/2$ of $x$ and
# multiplies $\xi$ by $\frac32(1-v)$, so that it multiplies $\theta$ by $3(1-v)/(3-v)\le1$, and by at most $\frac35$
# once $v\ge\frac12$. The term with $\tau$ adds at most $\frac12x^2\tau$ to $\theta$. As long as $v\le\frac12$ these
# terms grow at least by $(\frac54)^2$ a step and are at most $\tau/4S$; after that they are at most $\tau/2S$, and all
# but the last few are forgotten. So their sum is at most a constant times $\tau/S$. The products of a step add to
# $\theta$ at most a constant times $\eta$ and $cx^2$, since $1\le x\le S^{-1/2}$ and $Sx^2\le1$. The terms with $x^2$
# add up as before, to a constant times $c/S$. Those with $\eta$ add up to a constant times $\eta\log(1/S)$ on the
# plateau, and $\eta$ after it. All are at most about the floor over $S$ ($T$ counts as a constant). Since $\xi=x\theta$
# and $x$ ends near $S^{-1/2}$, the floor is magnified about $S^{-3/2}$ times in $x$. The result $b_Tx$ has
# $\|b_T\|=S^{1/2}$ times this error, and $x$ times $\beta$: there the floor is magnified less, at most about $S^{-1}$
# times. $\square$
#
# </details>
#
# ## See it run
# ### The iteration
# We run power iteration on a matrix with known eigenvalues, on random matrices, symmetric or not, and on small ones
# where the start matters.

# %% tags=["parameters"]
d = 4  # size of the matrix, from 4 to 8
steps = 6  # T in the machine, from 4 to 40
draws = 50  # random matrices of each of two sizes, from 2 to 200
seed = 0  # of the matrices, at least 0

# %%
require(d=(d, 4, 8), steps=(steps, 4, 40), draws=(draws, 2, 200), seed=(seed, 0, None))

# %%
source = generator(seed)
basis = torch.linalg.qr(torch.randn(d, d, generator=source, dtype=torch.float64))[0]
values = torch.zeros(d, dtype=torch.float64)
values[:4] = torch.tensor([1.0, 0.33, -0.17, 0.07])
matrix = basis @ torch.diag(values) @ basis.mT
top, second = basis[:, 0], basis[:, 1]
start = torch.full((d,), 1 / math.sqrt(d), dtype=torch.float64)
long = 40
iterates = power_iterates(matrix, start, long)
distances = sign_free_distance(iterates, top)
ratio = abs(start @ second) / abs(start @ top)
predicted = ratio * 0.33 ** torch.arange(long + 1)
inside = [k for k in range(4, long + 1) if predicted[k] > 1e-13]
fit = [(distances[k] / predicted[k]).item() for k in inside]
even = values.clone()
even[1] = -1.0
tied = sign_free_distance(power_iterates(basis @ torch.diag(even) @ basis.mT, start, long)[-1], top)
raw = power_iterates(1e4 * matrix, torch.ones(d, dtype=torch.float64), 50)[-1]


# %%
def symmetric(size, generator_of_size):
    one = torch.randn(draws, size, size, generator=generator_of_size, dtype=torch.float64)
    return one + one.mT


batches = {d: torch.cat([matrix[None], symmetric(d, source)]), d + 2: symmetric(d + 2, generator(seed + 1))}


def beside_bounds(one, count=400):
    """The distance over its upper bound, largest, and over its lower one, smallest, in all steps above rounding."""
    top_of = torch.linalg.eigh(one / torch.linalg.matrix_norm(one, 2))
    vector = top_of.eigenvectors[:, top_of.eigenvalues.abs().argmax()]
    begin = one.new_full((len(one),), len(one) ** -0.5)
    away = sign_free_distance(power_iterates(one / torch.linalg.matrix_norm(one, 2), begin, count), vector)
    lower, upper = distance_bounds(one, count)
    seen = away > 1e-11
    return (away / upper)[seen].max().item(), (away / lower)[seen].min().item()


laws = {f"d = {size}": [beside_bounds(one) for one in batch] for size, batch in batches.items()}


# %%
def share_of_bound(bases, count=60):
    """The distance over the bound of the proof, from ones, for a matrix with eigenvalues 1, .6, -.4 and so on."""
    vectors = torch.randn(d, d, generator=bases, dtype=torch.float64)
    vectors = vectors / vectors.norm(dim=0)
    eigenvalues = torch.tensor([1.0, *(0.6 * (-2 / 3) ** k for k in range(d - 1))], dtype=torch.float64)
    one = vectors @ torch.diag(eigenvalues) @ torch.linalg.inv(vectors)
    ones = torch.ones(d, dtype=torch.float64)
    along = torch.linalg.solve(vectors, ones).abs()
    bound = 2 * along[1:].sum() / along[0] * 0.6 ** torch.arange(count + 1)
    away = sign_free_distance(power_iterates(one, ones, count), vectors[:, 0])
    return (away / bound)[bound > 1e-9].max().item()


bases = generator(seed + 4)
of_general = max(share_of_bound(bases) for _ in range(draws))


# %%
def two_by_two(matrix_rows, begin):
    """The distance to the top eigenvector after 50 steps; infinite where the iteration ends at 0."""
    one = torch.tensor(matrix_rows, dtype=torch.float64)
    top_of = torch.linalg.eig(one)
    vector = top_of.eigenvectors[:, top_of.eigenvalues.abs().argmax()].real
    last = power_iterates(one, torch.tensor(begin, dtype=torch.float64), 50)[-1]
    return sign_free_distance(last, vector).nan_to_num(torch.inf).item()


from_ones = {
    "positive definite, eigenvalues 1 and 3": two_by_two([[2, -1], [-1, 2]], [1, 1]),
    "Laplacian of an edge": two_by_two([[1, -1], [-1, 1]], [1, 1]),
}
right_part_only = two_by_two([[1, -0.5], [0, 0.5]], [1, 1])  # the left eigenvector is (1, -1), the right one (1, 0)
left_part_only = two_by_two([[1, 0.5], [0, 0.5]], [0, 1])  # the left eigenvector is (1, 1), the right one (1, 0)

# %% [markdown]
# ### The inverse root

# %%
small = torch.logspace(-6, math.log10(2.9), 60, dtype=torch.float64)
roots = inverse_root_iterates(small, 60)
close = (roots * small.sqrt() - 1).abs() <= 1e-12
needed = close.to(torch.int64).argmax(0)
allowed = torch.log(small.rsqrt().clamp(min=1.0)) / math.log(1.5) + 6
above = (3.0, 4.0, 4.6, 4.7, 4.9, 4.95, 5.0, 5.5)
special = {s: inverse_root_iterates(torch.tensor(s, dtype=torch.float64), 200)[-1].item() for s in above}
show.table(
    ["S", "x after 200 steps", "1/√S"],
    [(s, value, s**-0.5) for s, value in special.items()],
    caption="The iteration from x = 1. At S = 5 it alternates between 1 and -1.",
)
negative = torch.linspace(3.01, 4.61, 400, dtype=torch.float64)
other_root = (inverse_root_iterates(negative, 400)[-1] * negative.sqrt() + 1).abs().max()
mixed = torch.linspace(4.62, 4.99, 400, dtype=torch.float64)
either = (inverse_root_iterates(mixed, 3000)[-1] * mixed.sqrt()).sign()
print(f"S from 4.62 to 4.99: {int((either > 0).sum())} of {len(mixed)} limits are positive")

# %%
fig, axis = show.axes()
for s in (1e-4, 1e-2, 0.5, 2.5):
    path = inverse_root_iterates(torch.tensor(s, dtype=torch.float64), 30)
    axis.semilogy((path * s**0.5 - 1).abs().clamp(min=1e-17), "o-", label=f"$S={s:g}$", markersize=3)
axis.set(xlabel="step", ylabel=r"$|x\sqrt{S}-1|$")
axis.legend()
show.figure(
    fig,
    name="inverse-root",
    caption="Relative error of the inverse root: a plateau while $x$ grows by a factor of 3/2 per step, then "
    "quadratic convergence.",
    alt="Four curves that stay near one for a while, longest for the smallest S, and then drop steeply to ten to the "
    "minus sixteen; that for 2.5 drops after that for 0.5.",
)

# %% [markdown]
# We see a plateau first, which is longer for smaller $S$, and then quadratic convergence. At $S=2.5$ there is also a
# plateau, because the first step goes to $(3-S)/2$, which is small.
#
# ### The program
# The paper's program is on the left and ours on the right, with an equals sign where they agree.

# %%
print(side_by_side(listing_beside()))
skew = torch.diag(torch.tensor([0.5, 0.1, 0.05, 0.02], dtype=torch.float64))
skew[0, 1] = 2.0  # the top eigenvector is e_1, the top eigenvalue a quarter of the norm

# %% [markdown]
# The interpreter runs our program, and then versions with one of the paper's lines put back. On 2000 random matrices
# of each kind, we also measure the error of the second loop after our number of rounds, and after $T$ rounds.

# %%


def length_off(form="correct", a=matrix, eigenvector=top, t=30):
    """The exact program's result: its distance to the eigenvector, up to the sign, and whether the program ends."""
    program = power_program(a, t, form=form)
    run = interpret(program, 5_000)
    b = program.variable(run.memory, "b")[:, 0].nan_to_num(torch.inf)
    return torch.minimum((b - eigenvector).norm(), (b + eigenvector).norm()).item(), run.halted


flat = torch.full((6, 6), 1 / 6, dtype=torch.float64)  # of norm 1; its top eigenvector is the start itself
ones = torch.full((6,), 6**-0.5, dtype=torch.float64)
of_ones = length_off({"start": "printed"}, flat, ones)[0]
first = torch.eye(4, dtype=torch.float64)[0]
of_skew, of_skew_in_t = (length_off(form, skew, first)[0] for form in ("correct", {"rounds": "printed"}))
ends = length_off({"line 3": "printed"})[1]

# %%
crowd = torch.randn(2000, d, d, generator=generator(seed + 2), dtype=torch.float64)
missed, missed_by_t, lengths = {}, {}, {}
for kind, many in (("symmetric", crowd + crowd.mT), ("not symmetric", crowd)):
    last = torch.full((2000, d, 1), d**-0.5, dtype=torch.float64)
    for _ in range(steps):
        last = many @ last / torch.linalg.matrix_norm(many, 2)[:, None, None]
    squares, known = (last**2).sum((1, 2)), least_length(many, steps)
    path = (inverse_root_iterates(squares, root_rounds(known.min() ** 2)) * squares.sqrt() - 1).abs()
    counts = torch.tensor([root_rounds(value**2) for value in known])
    missed[kind] = path.gather(0, counts[None])[0].max()
    missed_by_t[kind] = path[steps].max()
    lengths[kind] = (squares.sqrt() / known).min()
    print(f"{kind}: rounds {int(counts.min())} to {int(counts.max())}; after {steps} rounds ", end="")
    print(f"{100 * (path[steps] > 1e-6).double().mean():.1f} % are off by more than 1e-6")

# %% [markdown]
# ### In the transformer
# All programs of a size run side by side in one machine. We compare the results with Algorithm 4 on $A$ itself, and
# each error with a bound that we compute before the run.


# %%
def first_columns(name, programs, results):
    """The first column of a variable at the end of each run."""
    return torch.stack([one.variable(run.memory, name)[:, 0] for one, run in zip(programs, results, strict=True)])


# %%
general = torch.randn(20, d, d, generator=generator(seed + 3), dtype=torch.float64)
promised = torch.stack([power_error_bound(one, steps, slope=1e-7).isfinite() for one in general])
machine_batches = {d: torch.cat([batches[d], general[promised][:10]]), d + 2: batches[d + 2]}


def by_algorithm_4(one):
    """b_T / ||b_T|| by the plain iteration."""
    last = power_iterates(one, one.new_ones(len(one)), steps)[-1]
    return last / last.norm()


# %%
def in_the_machine(batch, rounds):
    """Programs, exact runs, gate and runs; and of these S, the error of the result, its bound, and wrong counters."""
    programs = [power_program(one, steps, count) for one, count in zip(batch, rounds, strict=True)]
    references = [interpret(program) for program in programs]
    gate = max(1000.0, 2 * max(one.largest_entry for one in references))
    runs = FleqMachine(programs[0], gate=gate).run_many(programs, max(len(one.counters) for one in references))
    wanted = torch.stack([by_algorithm_4(one) for one in batch])
    off = (first_columns("b", programs, runs) - wanted).norm(dim=1)
    bounds = [power_error_bound(one, steps, 1e-7, count) for one, count in zip(batch, rounds, strict=True)]
    wrong = torch.tensor([ours.counters != theirs.counters for ours, theirs in zip(runs, references, strict=True)])
    squares = first_columns("square", programs, references)[:, 0]
    return programs, references, gate, runs, (squares, off, torch.stack(bounds), wrong)


# %%
# The second loop's rounds are known before the run.
rounds = {size: [root_rounds(least_length(one, steps) ** 2) for one in ones] for size, ones in machine_batches.items()}
of_size = {size: in_the_machine(batch, rounds[size]) for size, batch in machine_batches.items()}
programs, references, gate, runs, (_, _, bounds, _) = of_size[d]
dial = int(bounds.isfinite().int().argmax())  # the first matrix for which anything is promised
turned = machine_batches[d][dial]
found, wanted = first_columns("b", programs[dial:], runs[dial:])[0], by_algorithm_4(turned)
spectrum = torch.linalg.eig(turned)
aim = spectrum.eigenvectors[:, spectrum.eigenvalues.abs().argmax()].real

# %%
squares, _, all_bounds, _ = (torch.cat(parts) for parts in zip(*(one[4] for one in of_size.values()), strict=True))
kept = torch.isfinite(all_bounds)
print(f"rounds of the second loop: up to {max(map(max, rounds.values()))}")
wrong_counters, shares = {}, {}
for size, (*_, (_, off_here, bounds_here, wrong_here)) in of_size.items():
    finite = torch.isfinite(bounds_here)
    wrong_counters[f"d = {size}"] = wrong_here[finite].sum()
    shares[f"d = {size}"] = (off_here / bounds_here)[finite].max()

# %%
fig, axes = show.axes(1, 2, width=8.0)
deviations = compare(runs[0], references[0]).deviations
axes[0].semilogy(range(1, len(deviations) + 1), [max(value, 1e-17) for value in deviations], "o-", markersize=3)
axes[0].set(xlabel="cycle", ylabel="deviation from the exact program")
for (size, (*_, (squares_here, off_here, _, _))), marker in zip(of_size.items(), "os", strict=True):
    axes[1].loglog(squares_here, off_here, marker, label=f"transformer, $d={size}$", markersize=4)
axes[1].loglog(squares, all_bounds, "k_", label="bound")
axes[1].set(xlabel=r"$S=\|b_T\|^2$", ylabel="error of the result")
axes[1].legend()
show.figure(
    fig,
    name="power-deviation",
    caption="Left: deviation of the memory for one matrix. Right: error of the result for every matrix; it falls as "
    "$S$ grows and stays below the bound.",
    alt="Left: a curve that jumps at the second cycle to about ten to the minus seven and stays near it. Right: a "
    "cloud of dots and squares that falls as S grows, far under a falling line of dashes.",
)

# %% [markdown]
# On the left we see the memory differ from the exact program by the error of the products. On the right, the error
# grows as $S$ falls and stays below the bound of each matrix.
#
# The machine must fail if the start has almost no component along the top eigenvector: then $S$ is smaller than the
# error of the products. It also fails with a large $c$, and with weights built for another temperature, because no
# fixed weights make products exact ([What temperature alone can do](temperature_alone.ipynb)).

# %%
tilted = torch.cat([start[:, None], torch.randn(d, d - 1, generator=source, dtype=torch.float64)], dim=1)
tilted = torch.linalg.qr(tilted)[0]
tilted[:, 1] += 1e-5 * tilted[:, 0]  # the top eigenvector, all but orthogonal to the start
tilted = torch.linalg.qr(tilted[:, [1, 0, *range(2, d)]])[0]
hidden = tilted @ torch.diag(torch.tensor([1.0, 0.2] + [0.1] * (d - 2), dtype=torch.float64)) @ tilted.mT
hidden_program = power_program(hidden, 6)
hidden_exact = interpret(hidden_program)
hidden_gate = 2 * hidden_exact.largest_entry
hidden_run = FleqMachine(hidden_program, gate=hidden_gate).run(hidden_program, len(hidden_exact.counters))
hidden_b, hidden_right = (hidden_program.variable(one.memory, "b")[:, 0] for one in (hidden_run, hidden_exact))


# %%
def error_at(slope=1e-7):
    chosen = programs[dial]
    one = FleqMachine(chosen, standard_blocks(chosen, slope), gate=gate).run(chosen, len(references[dial].counters))
    off = chosen.variable(one.memory, "b")[:, 0] - by_algorithm_4(turned)
    return off.norm().nan_to_num(torch.inf).item()


def first_product(scores=1.0):
    """The error of b after its first product, with the same weights and all scores times a factor."""
    one = FleqMachine(programs[0], gate=gate)
    one.inverse_temperature *= scores
    memories = one.run(programs[0], 2).memory, references[0].memories[1]
    return torch.linalg.matrix_norm(programs[0].variable(memories[0] - memories[1], "b")).item()


# %%
raw_program = power_program(3 * matrix, steps, form={"norm": "printed", "start": "printed", "rounds": "printed"})
raw_b = raw_program.variable(FleqMachine(raw_program).run(raw_program, 40 * steps).memory, "b")[:, 0]
raw_distance = torch.minimum((raw_b - top).norm(), (raw_b + top).norm()).nan_to_num(torch.inf)
sizes, blocks = summarise(FleqMachine(programs[0], gate=gate).transformer), standard_blocks(programs[0])
rows = {k: FleqLayout(k, 13 * k, 15, blocks, 40.0).rows.size for k in (4, 8, 16, 32)}
doubling = max(rows[2 * k] / rows[k] for k in (4, 8, 16))
coarse = error_at(slope=1e-3)
hotter = {f"all scores times {factor}": first_product(factor) / first_product() for factor in (1.01, 1.1, 2.0)}
least_hot = min(hotter.values())
closeness = (sign_free_distance(found, aim) - sign_free_distance(wanted, aim)).abs()
by_square = inverse_root_iterates(squares, steps)[-1] * squares.sqrt()
in_t_rounds = (by_square[: len(batches[d])] - 1).abs().max()  # the symmetric ones of the first size

# %% [markdown]
# ## How we checked
# In every step, the distance must lie between two bounds, for random symmetric matrices of two sizes. A solver proves
# that the inverse root converges for every $S$ between 0 and 3. In the machine, the counter must be right in every
# cycle, and the error must stay below its bound. The controls are a start that is nearly orthogonal to the eigenvector,
# a matrix of norm 3, and $T$ rounds for both loops.

# %%
claim = Claim("looped-transformers/algorithm-4")
claim.at_most("distance over |λ2/λ1|^T and its constant, largest", max(fit), 3.0)
claim.at_least("the same, smallest", min(fit), 1 / 3)
uppers = {name: max(upper for upper, _ in pairs) for name, pairs in laws.items()}
lowers = {name: min(lower for _, lower in pairs) for name, pairs in laws.items()}
claim.at_most(f"{draws} random matrices a size: distance over its upper bound, largest", uppers, 1 + 1e-3)
claim.at_least(f"{draws} random matrices a size: distance over its lower bound, smallest", lowers, 1 - 1e-3)
claim.control.at_most("λ2 = -λ1: distance after 40 steps", tied, 1e-3)
of_raw = sign_free_distance(raw / raw.abs().max(), top)  # the squares of b itself, of size 1e400, are beyond float64
claim.at_most("A of norm 1e4, 50 steps from ones, as printed: distance", of_raw, 1e-12)
claim.at_most(f"{draws} matrices that are not symmetric: distance over the bound of the proof", of_general, 1)
claim.at_most("a part along the left eigenvector alone: distance after 50 steps", left_part_only, 1e-12)
claim.control.at_most("a part along the right eigenvector alone: distance", right_part_only, 1e-3)
for name, distance in from_ones.items():
    claim.printed.at_most(f"from ones, {name}: distance", distance, 1e-3)
claim.verdict()

# %%
claim = Claim("looped-transformers/algorithm-11")
claim.close("S from 1e-6 to 2.9: largest relative error", roots[-1] * small.sqrt(), 1, atol=1e-12)
claim.at_most("S < 1: steps beyond 6 + ln(1/√S) / ln 1.5, largest", (needed - allowed)[small < 1].max(), 0)
near_three = inverse_root_iterates(torch.tensor(2.99, dtype=torch.float64), 60) * 2.99**0.5
claim.control.at_most("S = 2.99: steps needed", ((near_three - 1).abs() <= 1e-12).int().argmax(), 6)
claim.at_most("S from 3.01 to 4.61: largest relative distance to -1/√S", other_root, 1e-12)
claim.close("S = 4.9: distance to 1/√S", special[4.9], 4.9**-0.5, atol=1e-12)
claim.at_most("S = 4.95: distance to -1/√S", abs(special[4.95] + 4.95**-0.5), 1e-12)
claim.control.close("S = 3: distance to 1/√S", special[3.0], 3**-0.5, atol=1e-12)
claim.printed.close("S = 4: distance to 1/√S", special[4.0], 0.5, atol=1e-12)
claim.printed.close("S = 5: distance to 1/√S", special[5.0], 5**-0.5, atol=1e-12)
claim.control.true("S = 5.5: limit is finite", math.isfinite(special[5.5]))
claim.certified("convergence for every S from 0 to 3", certify_inverse_root())
claim.verdict()

# %%
claim = Claim("looped-transformers/algorithm-12")
distance, reached = length_off()
claim.at_most("T = 30: distance to the eigenvector", distance, 1e-12)
claim.true("T = 30: reaches its end", reached)
claim.at_most("top eigenvalue a quarter of the norm, T = 30: distance", of_skew, 1e-12)
claim.at_least("||b_T|| over what is known of it before the run, smallest", lengths, 1 - 1e-9)
claim.at_most("second loop with the rounds of the count: length less 1, largest", missed, 1e-12)
claim.printed.at_most("second loop with T rounds: length less 1, largest", missed_by_t["symmetric"], 1e-6)
claim.printed.at_most("quarter of the norm, both loops of T = 30: distance", of_skew_in_t, 1e-12)
claim.at_most("A = 11ᵀ/6 from 1/√6: distance to the eigenvector", length_off(a=flat, eigenvector=ones)[0], 1e-12)
claim.printed.at_most("A = 11ᵀ/6 from ones, as printed: the same", of_ones, 1e-12)
claim.misprint.true("line 3 as printed: reaches its end in 5000 instructions", ends)
claim.printed.at_most("line 13 as printed: distance to the eigenvector", length_off({"line 13": "printed"})[0], 1e-12)
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-8")
claim.equal("matrices with a wrong counter in any cycle, of those with a finite bound", wrong_counters, 0)
claim.at_most("distance to Algorithm 4's vector over its bound, largest of all matrices", shares, 1)
claim.at_most("layers (13 claimed)", sizes.layers, 13)
claim.equal("heads of the widest layer (1 claimed)", sizes.heads, 1)
claim.at_most("rows, growth when d doubles, from 4 to 32", doubling, 2)
claim.printed.at_most("the same weights, a higher temperature: error of a product over that before", least_hot, 0.5)
exact_length = (hidden_right.norm() - 1).abs()
claim.at_most("start all but orthogonal: exact program, length less 1", exact_length, 1e-9)
claim.control.at_most("start all but orthogonal: error", (hidden_b - hidden_right).norm().nan_to_num(torch.inf), 0.1)
claim.control.at_most("the product block's c = 1e-3: error over the bound at 1e-7", coarse / bounds[dial], 1)
claim.at_most("A over its norm: distance less Algorithm 4's, over the bound", closeness / bounds[dial], 1, of="proof")
claim.printed.at_most("both loops of T rounds, exact: distance to Algorithm 4's vector", in_t_rounds, 1e-3, of="proof")
claim.printed.at_most("A of norm 3 as it is, from ones: distance to the eigenvector", raw_distance, 1e-2, of="proof")
claim.number("matrices for which the bound is finite", int(kept.sum()))
claim.number("smallest S", squares.min())
claim.number("largest bound that is finite", all_bounds[kept].max())
claim.number("gate of the machine", gate)
claim.number("distance to the eigenvector", sign_free_distance(found, aim))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# *The bounds in every step.* For symmetric $A$ let $c_i$ be the coordinates of the start along the eigenvectors and
# $\theta_T$ the angle to the first after $T$ steps. Then
# $\tan^2\theta_T=\sum_{i\ge2}(c_i/c_1)^2|\lambda_i/\lambda_1|^{2T}$ is at most
# $\tan^2\theta_0\,|\lambda_2/\lambda_1|^{2T}$, and at least its term with $i=2$. The distance is
# $2\sin\frac{\theta_T}2$, which lies between $\sin\theta_T$ and $\tan\theta_T$. With
# $u_T=\tan\theta_0\,|\lambda_2/\lambda_1|^T$, the distance is at most $u_T$, and at least
# $|c_2/c_1|\,|\lambda_2/\lambda_1|^T/\sqrt{1+u_T^2}$.
#
# *The error in the machine.* A product's entry $z$ is off by at most $cz^2/2+\rho/c$, as in Lemma 7, as long as the
# entries of its operands are not too large: entries up to $g$ add $e^{cg^2-C}/c$. In the product of $S$ and $x^2$, this
# matters below $S\approx10^{-4}$. An error in $S$ becomes about $S^{-3/2}$ times as large in $x$. We use a bound only
# where it is finite.
#
# *The gate.* The program holds $x^2$, which comes near $1/S$. The gate is twice the largest entry of the exact program,
# and at least 1000. With a gate below $1/S$, the machine would be wrong, whatever the bound is. A machine that is built
# for a temperature divides the keys of its product by that temperature.
#
# </details>
#
# ## Where the paper differs
# A start of ones may have no component along the eigenvector. The matrix has to be divided by its norm, the second loop
# needs its own number of rounds, and two lines of the program are wrong. A higher temperature alone does not make the
# error small.
#
# ## What to remember
# - Repeated products leave only the direction of the largest eigenvalue.
# - Newton's iteration divides by the norm with products and differences.
# - The smaller $\|b_T\|$ is, the more the machine magnifies its errors.
#
# ## Exercises
#
# 1. *By hand.* Continue the tiny example by one step. What is the ratio now, and by what factor did its distance to 1
#    fall?
#    <details><summary>Solution</summary>
#
#    The next vector is $(41,40)$, with ratio 0.976. The distance to 1 fell from $\frac1{14}$ to $\frac1{41}$, by a
#    factor of 2.93. It tends to 3, the quotient of the eigenvalues.
#
#    </details>
# 2. *Predict, then run.* Start the inverse root at $x=1$ with $S=4$. Which root do you expect after one step?
#    <details><summary>Solution</summary>
#
#    The first step goes to $(3-4)/2=-\frac12$, which is the negative root of $\frac14$, and stays there. The table
#    shows it.
#
#    </details>
#
# Back: [Lemma 7](lemma_7_newton.ipynb), because both programs are Newton iterations on the same machine.

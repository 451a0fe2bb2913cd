# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithm 1 · A layer of linear attention is a linear regression
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Algorithms 1 and 8, Sections 2 and 3, Appendices A and D.*
#
# We usually train attention by gradient descent on a loss surface with many valleys, and where we end up depends on
# where we start. Without the softmax, we can avoid this search. The heads enter the output only through one table of
# numbers, in which the output is linear. We can therefore fit the table by least squares and then recover the heads.

# %%
import torch

from attention_theory.linear_attention.certified.coefficients import certify_least_norm
from attention_theory.linear_attention.certified.identities import certify_attention, certify_feature_map, certify_loops
from attention_theory.linear_attention.learning.regression import learn
from attention_theory.linear_attention.model.features import cubic_features, psi
from attention_theory.linear_attention.model.literal import cubic_features_by_loops, literal_regression, mhla_by_sums
from attention_theory.linear_attention.model.mhla import Heads, mhla, mhla_every_token, random_heads
from attention_theory.linear_attention.model.parameters import distance, head_matrix, heads_from_matrix
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose every token is a single number. A head is then a pair of numbers, $v$ and $q$. It reads two tokens, $x$ and
# $z$, and returns $vq\,(x^2+z^2)\,z$. We are given three inputs with their labels:
#
# | tokens $x$, $z$ | feature $(x^2+z^2)\,z$ | label |
# | --- | --- | --- |
# | 1, 1 | 2 | 4 |
# | 2, 1 | 5 | 10 |
# | 1, 2 | 10 | 20 |
#
# Every label is twice its feature, so we need $vq=2$. The features have squares 4, 25 and 100, with mean 43, so the
# mean squared error is $43\,(vq-2)^2$. If we search for $v$ and $q$ themselves, we find a flat point at $v=q=0$ and
# two separate curves of solutions. If we search for the product $w=vq$, one division gives $w=2$.

# %%
fig, axis = schematic.canvas(height=2.4)
for start, end, name in (((1.0, 2.3), (5.6, 2.3), "v"), ((3.2, 0.3), (3.2, 4.4), "q"), ((8.4, 0.9), (13.0, 0.9), "w")):
    schematic.arrow(axis, start, end, colour=schematic.QUIET)
    schematic.text(axis, (end[0] + (0 if name == "q" else 0.3), end[1] + (0.25 if name == "q" else 0)), name, size=9)
for product, colour in ((1, schematic.QUIET), (2, schematic.BLUE), (3, schematic.QUIET)):
    v = torch.linspace(product / 3.7, 3.7, 60)
    for sign in (1, -1):
        axis.plot(3.2 + sign * 0.5 * v, 2.3 + sign * 0.5 * product / v, color=colour, lw=1.8 if product == 2 else 0.8)
axis.plot(3.2, 2.3, "o", color=schematic.VERMILION, markersize=6)
schematic.text(axis, (3.05, 2.6), "flat", schematic.VERMILION, 9, "right")
schematic.text(axis, (4.6, 3.9), "vq = 2", schematic.BLUE, 9)
w = torch.linspace(0.1, 3.9, 60)
axis.plot(8.6 + w, 1.0 + 0.85 * (w - 2) ** 2, color=schematic.BLUE, lw=1.8)
axis.plot(10.6, 1.0, "o", color=schematic.BLUE, markersize=6)
schematic.text(axis, (10.6, 0.5), "w = 2", schematic.BLUE, 9)

# %%
show.figure(
    fig,
    name="product",
    caption="The same loss in two sets of unknowns. Left: in the plane of $v$ and $q$, the heads that fit form two "
    "curves (blue), and at the origin (orange) the loss is flat but not minimal. Right: as a function of the product "
    "$w = vq$, the loss is a parabola with one minimum.",
    alt="Left, a plane with axes v and q, two branches of the hyperbola vq = 2 and an orange dot at the origin marked "
    "flat. Right, a parabola over the axis w = vq with its lowest point at 2.",
)

# %% [markdown]
# In terms of the product, the loss has a single minimum, and no search is needed.
#
# ## The paper states
# ### The model
# From now on a token is a column of $d$ numbers, and an input $Z$ is a matrix whose $n$ columns are tokens. A layer
# has $H$ heads, $[H]$ is $\{1,\dots,H\}$, and head $h$ consists of two $d\times d$ matrices, $V_h$ and $Q_h$. The
# parameters $\Theta$ are all these matrices.
#
# <!-- claim linear-attention/definition-mhla -->
# <blockquote>
#
# **Definition (Multi-head linear attention)** *Section 2, Eqs. 1 and 2*
#
# **The paper states.** We define *multi-head linear attention (MHLA)* to be the function $\mathrm{MHLA}_\Theta:\mathbb
# R^{d\times n}\to\mathbb R^{d\times n}$, $\hat Y=\mathrm{MHLA}_\Theta(Z)=\sum_{h\in[H]}V_hZ(Z^\top Q_hZ)$ (1). We will
# primarily be interested in the rightmost column vector output by $\mathrm{MHLA}_\Theta$, which is $\hat
# y=\mathrm{MHLA}_\Theta(Z)=\sum_{h\in[H]}V_hZ(Z^\top Q_hZ[:,n])$ (2).
#
# </blockquote>
# <!-- /claim -->
#
# In words: with $Q_h$, a head compares the last token with every token, which gives each token a weight. It then
# multiplies the tokens by $V_h$ and adds them up with these weights. There is no softmax, no scaling and no mask, and
# the last token also attends to itself.
#
# ### The features
# Entry by entry, output $a$ of a model is
#
# $$\sum_{j,k,\ell} \Big(\sum_h V_h[a,j]\, Q_h[k,\ell]\Big)\, \langle z_j, z_k\rangle\, z_{\ell n} ,$$
#
# where $z_j$ is the row with the $j$-th entries of all tokens, and $z_{\ell n}$ is entry $\ell$ of the last token.
# The bracket depends only on the heads. The remaining factor, a cubic *feature*, depends only on the input. The paper
# collects the features in one matrix, $\mathcal X(Z)$, and the brackets in another, the *head matrix*
#
# $$\mathcal{T}_\Theta = \sum_h \mathrm{flat}(V_h)\,\mathrm{flat}(Q_h)^\top .$$
#
# <!-- claim linear-attention/definition-feature-map -->
# <blockquote>
#
# **Feature map X(Z) (The cubic features)** *Section 2.1, Eq. 4; Section 3, Eq. 8; Appendix D, Eq. 68*
#
# **The paper states.** The map $\mathcal X(Z)$ has the first row $\langle z_{1:},z_{1:}\rangle z_{1n},\ \langle
# z_{1:},z_{2:}\rangle z_{1n},\ \dots,\ \langle z_{1:},z_{d:}\rangle z_{dn}$ (4). Here, we index the rows of $\mathcal
# X(Z)$ by $j\in[d]$ and the columns by all tuples $(k,\ell)\in[d]^2$ such that $\mathcal X(Z)_{j,(k,\ell)}=\langle
# z_{j:},z_{k:}\rangle z_{\ell n}$.
#
# **What is true.** $\mathcal{X}(Z) \in \mathbb{R}^{d \times d^2}$ holds $\langle z_j, z_k \rangle z_{\ell n}$ in row
# $j$ and column $k d + \ell$ (counted from 0). Output $a$ of a model is the sum of the products of $\mathcal{X}(Z)$
# with the $a$-th block of $d$ rows of $\mathcal{T}_\Theta = \sum_h \mathrm{flat}(V_h)\, \mathrm{flat}(Q_h)^\top$,
# flattened row by row.
#
# **What changed.** If we go by the labels $(k,\ell)$ of the columns, everything is right, also in Fold. However, the
# matrices of Eqs. 4, 8 and 68 list the columns with $k$ varying fastest, while Eq. 12 and line 8 of Algorithm 8 let
# $\ell$ vary fastest. With the paper's matrices, a Fold that goes by position returns every $Q_h$ transposed.
#
# </blockquote>
# <!-- /claim -->
#
# ### The algorithm
# The data are $N$ inputs $Z_i$ with labels $y_i$. The matrix $X_{i,a}$ has $\mathcal X(Z_i)$ in its $a$-th block of
# $d$ rows and 0 elsewhere, so $\langle W,X_{i,a}\rangle$ is output $a$ of a model with head matrix $W$. *Fold* turns
# $d^2$ numbers into a $d\times d$ matrix.
#
# <!-- claim linear-attention/algorithm-1 -->
# <blockquote>
#
# **Algorithm 1 (Learning by regression)** *Section 3*
#
# **The paper states.** Let $W\in\mathbb R^{d^2\times d^2}$ be regressor: $\hat
# W:=\arg\min_W\sum_{i\in[N]}\sum_{a\in[d]}(\langle W,X_{i,a}\rangle-y_{i,a})^2$ (10). Take the SVD of $\hat
# W=AB^\top=\sum_{i\in[\hat H]}A_iB_i^\top$ where $\hat H$ is the rank of $\hat W$. $V_h=\mathrm{Fold}(A_h)$ and
# $Q_h=\mathrm{Fold}(B_h)$. Return: $\{V_h,Q_h\}_{h\in[\hat H]}$.
#
# **What is true.** Regress the labels on the cubic features, whose columns have $\ell$ varying fastest, with a free
# matrix $W$ in place of $\mathcal{T}_\Theta$. Of all minimisers, take the one of least norm. With $\hat W = \sum_h
# \sigma_h u_h v_h^\top$, fold $\sqrt{\sigma_h} u_h$ into $V_h$ and $\sqrt{\sigma_h} v_h$ into $Q_h$ row by row.
#
# **What changed.** The columns of Eq. 8 have $k$ varying fastest, which transposes every $Q_h$. Eq. 10 writes the
# minimiser as if there were only one. However, for $d \ge 2$ only the part of $W$ symmetric in $j$ and $k$ affects the
# outputs. We therefore do not compare matrices, but outputs, or $p(\Theta)$, the coefficients of the distinct features.
# Of the paper's theorems and lemmas, only Lemma 5.1, in Eq. 23, depends on which minimiser we take.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Among the matrices $W$ that are symmetric in $k$ and $\ell$, the minimiser is unique if
# $\lambda_{\min}(\Lambda_D)>0$, where $\Lambda_D$ is the second moment of the distinct features. It has at most
# $d(d+1)/2$ heads, and each $Q_h$ is symmetric.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Each head contributes a column times a row to the head matrix, which is $d^2\times d^2$. The output is linear in
# this matrix, so training is hard only because of its rank, which is at most $H$. Algorithm 1 drops this constraint.
# It fits *any* matrix $W$, and the head matrices of all models are among these, so no number of heads has a lower
# loss than the best $W$. Nothing is lost on the way back: a singular value decomposition (SVD) writes $W$ as a sum of
# at most $d^2$ columns times rows, each of which is a head.

# %%
fig, axis = schematic.canvas(height=2.3)
HEADS = [([1, 0, 0.5, 0], [1, 0.5, 0, 0]), ([0, 1, 0, 0.5], [0, 0, 1, 0.5])]
table = torch.zeros(4, 4)
for number, (left, (column, row)) in enumerate(zip((0.8, 5.0), HEADS, strict=True)):
    outer = torch.outer(torch.tensor(column), torch.tensor(row))
    table += outer
    schematic.matrix(axis, [[value] for value in column], (left, 1.3), 0.55)
    schematic.matrix(axis, [row], (left + 0.75, 3.7), 0.55)
    schematic.matrix(axis, outer.tolist(), (left + 0.75, 1.3), 0.55, f"head {number + 1}: rank 1")
    schematic.text(axis, (left + 3.55, 2.4), "+="[number], size=14)
schematic.matrix(axis, table.tolist(), (9.3, 1.3), 0.55, "head matrix: rank 2")
schematic.arrow(axis, (10.4, 0.2), (4.8, 0.2), "singular value decomposition", colour=schematic.VERMILION)

# %%
show.figure(
    fig,
    name="rank",
    caption="Two heads at $d = 2$. Each is a column, the entries of $V_h$, times a row, the entries of $Q_h$. Their "
    "sum is the head matrix. The singular value decomposition goes back from a matrix to heads.",
    alt="Two grids of four by four cells, each the product of a column on its left and a row above it, add up to a "
    "third grid. An orange arrow leads back from the sum to the products.",
)

# %% [markdown]
# Every matrix is a sum of such pieces of rank 1.
#
# The solution is not unique. Since $\langle z_j, z_k\rangle = \langle z_k, z_j\rangle$, only $\psi = d^2(d+1)/2$ of
# the $d^3$ features are distinct, and we can add any part antisymmetric in $j$ and $k$ to $W$ without changing an
# output. We take the matrix of least norm.
#
# <details><summary>Proof of Algorithm 1, as corrected</summary>
#
# *What the data see of $W$.* Output $a$ is $\sum_{j,k,\ell} W[aj, k\ell]\,\langle z_j, z_k\rangle z_{\ell n}$, which
# depends on the sums $W[aj,k\ell] + W[ak,j\ell]$ alone. For $d \ge 2$ any matrix with $W[aj,k\ell] = -W[ak,j\ell]$ can
# be added to a minimiser. So there is never a single one. The minimisers form an affine space, in which one point has
# the least norm.
#
# *Heads.* With $\hat W = \sum_h \sigma_hu_hv_h^\top$, $V_h$ and $Q_h$ folded by rows from $\sqrt{\sigma_h}u_h$ and
# $\sqrt{\sigma_h}v_h$ have $\sum_h\mathrm{flat}(V_h)\,\mathrm{flat}(Q_h)^\top = \hat W$. So they compute what $\hat W$
# computes; and the rank of a $d^2 \times d^2$ matrix is at most $d^2$.
#
# *The printed columns.* With $k$ fastest, the feature of $(k, \ell)$ stands in column $\ell d + k$. The regression
# finds $\hat W$ with its columns in this order. Each $v_h$ is then listed with $k$ fastest, and folded by rows it gives
# $Q_h[\ell, k]$: the transpose. $\square$
#
# </details>

# %% [markdown]
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
d = 3  # width of a token, from 2 to 4
n = 6  # tokens of an input, at least 2
seed = 0  # seed of every draw, at least 0

# %%
require(d=(d, 2, 4), n=(n, 2, None), seed=(seed, 0, None))
source = generator(seed)


def gaussian_tokens(count, tokens=n):
    return torch.randn(count, tokens, d, generator=source, dtype=torch.float64)


# %% [markdown]
# ### A layer and its features
# We draw a layer with three heads and compute one output. Then we make two changes that should not matter: we reverse
# the first $n-1$ tokens, and we multiply $V_h$ by 3 while dividing $Q_h$ by 3. We also compute the features of whole
# numbers, which are exact.

# %%
model, z = random_heads(3, d, source), gaussian_tokens(1)[0]
y = mhla(model, z)
shuffled = torch.cat([z[:-1].flip(0), z[-1:]])
rescaled, both = Heads(3 * model.values, model.queries / 3), Heads(3 * model.values, 3 * model.queries)
integers = torch.randint(-9, 10, (n, d), generator=source).double()
loops = cubic_features_by_loops(integers)

# %% [markdown]
# ### Learn a layer from its outputs
# A *teacher*, a model with a single head, labels random inputs. Algorithm 1 sees only the inputs and the labels.

# %%
teacher = random_heads(1, d, source)
tokens, fresh = gaussian_tokens(4 * psi(d)), gaussian_tokens(100)
labels = mhla(teacher, tokens)
learned = learn(tokens, labels)
literal = heads_from_matrix(learned.matrix)

# %%
show.table(
    ["", "teacher", "learned"],
    [
        ["heads", teacher.count, literal.count],
        ["heads with symmetric $Q_h$", "", learned.heads.count],
        ["norm of the head matrix", head_matrix(teacher).norm(), learned.matrix.norm()],
        ["distance of the head matrices", "", (learned.matrix - head_matrix(teacher)).norm()],
        ["distance of the coefficients", "", distance(literal, teacher)],
    ],
    caption="The teacher and the learned layer: one function, two head matrices. The coefficients are those of the "
    "distinct features.",
)

# %% [markdown]
# The two matrices are very different: the teacher has one head, and Algorithm 1 returns nine. Yet the coefficients of
# the distinct features agree, and these determine the output, so the two layers are one function. The learned matrix
# has the smaller norm, because it spreads every coefficient evenly over the pairs $j,k$ and $k,j$. Our package
# returns the same function with six heads ([How many heads](heads_enough.ipynb)).
#
# ## How we checked
# We compute the layer in three ways: with the two formulas of the definition, and as a plain sum of single products.
# The output must be of degree 3, and must not react to the two changes above. As controls we reverse *all* tokens,
# and multiply both $V_h$ and $Q_h$ by 3; each must change the output.

# %%
sizes_tried = [(d, n, 3), (2, 1, 1), (2, 3, 1), (3, 5, 2), (4, 7, 5)]
every_column, last_column = {}, {}
for width, length, heads in sizes_tried:
    other, size_tried = random_heads(heads, width, seed), f"d = {width}, n = {length}, H = {heads}"
    tried = torch.randn(length, width, generator=generator(seed), dtype=torch.float64)
    sums = torch.stack([mhla_by_sums(other, tried, column) for column in range(length)])
    every_column[size_tried] = relative_error(mhla_every_token(other, tried), sums)
    last_column[size_tried] = relative_error(mhla(other, tried), sums[-1])

# %% [markdown]
# We also prove that the formulas agree for all models and inputs of one size, because two sums of products that agree
# on enough whole numbers agree everywhere.

# %%
claim = Claim("linear-attention/definition-mhla")
claim.at_most("every column of Eq. 1: difference", every_column, 1e-12)
claim.at_most("Eq. 2 and the last of them: difference", last_column, 1e-12)
claim.close("f(2Z) = 8 f(Z), difference", mhla(model, 2 * z), 8 * y)
claim.close("first n-1 tokens reversed, difference", mhla(model, shuffled), y)
claim.close("(cV, Q/c), difference", mhla(rescaled, z), y)
claim.control.close("all tokens reversed, difference", mhla(model, z.flip(0)), y)
claim.control.close("(cV, cQ), difference", mhla(both, z), y)
claim.certified("d = 3, n = 3: Eqs. 1 and 2 for all V, Q and inputs", certify_attention(3, 3))
claim.verdict()

# %% [markdown]
# Next we multiply the features and the head matrix entry by entry, and compare the sum with the output of the layer.
# The paper's order of the columns should fail, and should succeed once every $Q_h$ is transposed.


# %%
def outputs(heads, features):
    blocks = head_matrix(heads).unflatten(0, (d, d))
    return (blocks * features).sum(dim=(1, 2))


transposed = Heads(model.values, model.queries.mT)
printed_features = cubic_features(z, form="printed")

# %% [markdown]
# A certificate proves the identity for all models and inputs of one size.

# %%
claim = Claim("linear-attention/definition-feature-map")
claim.close("column k d + l, difference", outputs(model, cubic_features(z)), y)
claim.misprint.close("columns as printed, difference", outputs(model, printed_features), y, rtol=0.1)
claim.close("as printed, Q transposed, difference", outputs(transposed, printed_features), y)
claim.certified("d = 3, n = 3: outputs by features, for all V, Q and inputs", certify_feature_map(3, 3))
claim.verdict()

# %% [markdown]
# Algorithm 1 must give the teacher's outputs on inputs that it has not seen. One control uses the singular value on
# one side only, $v_h$ in place of $\sqrt{\sigma_h}v_h$, which rescales every head.

# %%
printed = heads_from_matrix(literal_regression(tokens, labels, form="printed"))
root = literal.values.flatten(1).norm(dim=1)[:, None, None]
unsplit = Heads(literal.values, literal.queries / root)  # the unit vectors v_h in place of sqrt(sigma) v_h
target = mhla(teacher, fresh)
round_trip = relative_error(head_matrix(literal), learned.matrix)
few = tokens[: psi(d) - 1], labels[: psi(d) - 1]
by_letter = relative_error(learn(*few).matrix, literal_regression(*few))
repaired = Heads(printed.values, printed.queries.mT)

# %% [markdown]
# For every function at $d=3$, exact arithmetic proves that our matrix is the one of smallest norm.

# %%
claim = Claim("linear-attention/algorithm-1")
claim.close("outputs on fresh inputs, difference", mhla(literal, fresh), target)
claim.at_most("heads", literal.count, d * d)
claim.equal("heads of the minimiser of least norm", literal.count, d * d)
claim.at_most("heads with symmetric Q", learned.heads.count, d * (d + 1) // 2)
claim.close("heads with symmetric Q: outputs, difference", mhla(learned.heads, fresh), target)
claim.at_most("heads back to the matrix, difference", round_trip, 1e-12)
claim.at_most("fewer samples than ψ: matrix and Eq. 10 at least norm, difference", by_letter, 1e-9)
claim.misprint.close("columns as in Eq. 8, difference", mhla(printed, fresh), target, rtol=0.1)
claim.close("the same, Q transposed, difference", mhla(repaired, fresh), target)
claim.control.close("singular values on one side, difference", mhla(unsplit, fresh), target, rtol=0.1)
claim.control.close("the matrix itself, difference", learned.matrix, head_matrix(teacher), rtol=0.1)
claim.number("distance of the matrices", (learned.matrix - head_matrix(teacher)).norm())
claim.certified("d = 3: the lift has the smallest norm of all matrices of one function", certify_least_norm(3))
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# If you implement Eq. 8 as stated, every $Q_h$ is returned transposed. Eq. 10 speaks of *the* minimiser, although there
# are infinitely many for $d\ge2$. All of them compute the same function if the data determine it.
#
# ## Also on this page
# ### The loops that compute the features
#
# <!-- claim linear-attention/algorithm-8 -->
# <blockquote>
#
# **Algorithm 8 (Extracting the cubic features)** *Appendix D*
#
# **The paper states.** Let $z_1,z_2,\dots,z_d$ be the rows of $Z_i$. For $j\in[d]$ do, for $k\in[d]$ do, for
# $\ell\in[d]$ do: let $\mathcal X_i\in\mathbb R^{d\times d^2}$ be defined as $\mathcal X_i[j,kd+\ell]=[\langle
# z_j,z_k\rangle z_{\ell n_i}]$. Return: $\{\mathcal X_i\}_{i\in[N]}$ such that $\mathcal X_i$ is the matrix of Eq. 68.
#
# **What is true.** For every sample, three loops over $j$, $k$, $\ell$, each starting at 0, set $\mathcal{X}[j, k d +
# \ell] = \langle z_j, z_k \rangle z_{\ell n}$. This order of the columns, in which $\ell$ varies fastest, fits the rest
# of the paper.
#
# **What changed.** In the matrix of Eq. 68, which line 13 returns, $k$ varies fastest, which contradicts line 8. With
# rows counted from 1, as in line 3, $k d + \ell$ goes beyond $d^2$.
#
# </blockquote>
# <!-- /claim -->
#
# We compare our features of whole numbers with the three loops, entry by entry. The matrix of Eq. 68 should differ
# and so, as a control, should the features of the reversed tokens.

# %%
returned = cubic_features(integers, form="printed")
backwards = cubic_features(integers.flip(0))

# %% [markdown]
# A certificate makes the same comparison for all inputs of one size.

# %%
claim = Claim("linear-attention/algorithm-8")
claim.equal("entries unlike the three loops", (cubic_features(integers) != loops).sum(), 0)
claim.misprint.equal("Eq. 68, which line 13 returns: entries unlike the loops", (returned != loops).sum(), 0)
claim.control.equal("last token first: entries unlike the loops", (backwards != loops).sum(), 0)
claim.certified("d = 3, n = 3: the three loops, for all inputs", certify_loops(3, 3))
claim.verdict()

# %% [markdown]
# ## What to remember
# - The output of linear attention is linear in one matrix, to which every head contributes a piece of rank 1.
# - Without the constraint on the rank, training is least squares, and no search is needed.
# - A singular value decomposition turns the solution into at most $d^2$ heads.
#
# ## Exercises
#
# 1. *By hand.* Let $d=2$. Find two single heads with different head matrices that both have the first output $\langle
#    z_1, z_2\rangle z_{1n}$ and the second output 0. Which head matrix with these outputs has the least norm?
#    <details><summary>Solution</summary>
#
#    In the first output, $\langle z_j, z_k\rangle z_{\ell n}$ has the coefficient $V[1,j]\,Q[k,\ell]$. We may take
#    $j=1$, $k=2$, so that only $V[1,1]$ and $Q[2,1]$ are 1, or $j=2$, $k=1$, so that only $V[1,2]$ and $Q[1,1]$
#    are 1. Each head matrix has a single entry 1, in different cells. Any weights $s$ and $1-s$ on these cells give
#    the same outputs, and $s^2+(1-s)^2$ is smallest at $s=\frac12$. This matrix has two entries $\frac12$, rank 2,
#    and the squared norm $\frac12$ instead of 1.
#
#    </details>
# 2. *Predict, then run.* The teacher has one head. Set `d = 2`. How many heads does Algorithm 1 return?
#    <details><summary>Solution</summary>
#
#    Four. The matrix of least norm spreads the teacher's coefficients over $j,k$ and $k,j$, and the result has full
#    rank $d^2=4$. It still computes the teacher's function.
#
#    </details>
#
# Next: [Theorem 2.1](theorem_2_1_samples.ipynb). How many examples does the regression need?

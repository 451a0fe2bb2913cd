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
# We usually train attention by gradient descent, on a loss surface with many valleys, and where we end depends on
# where we begin. Without the softmax there is a way around the surface: the heads enter the output through one table
# of numbers, and the output is linear in this table. We can therefore fit the table by least squares, and read the
# heads off it afterwards.

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
# Suppose every token is a single number. A head is then two numbers, $v$ and $q$. It reads two tokens $x$ and $z$ and
# returns $vq\,(x^2+z^2)\,z$. We see three inputs with their labels:
#
# | tokens $x$, $z$ | feature $(x^2+z^2)\,z$ | label |
# | --- | --- | --- |
# | 1, 1 | 2 | 4 |
# | 2, 1 | 5 | 10 |
# | 1, 2 | 10 | 20 |
#
# Every label is twice its feature, so we need $vq=2$. The mean squared error is $43\,(vq-2)^2$, since
# $4+25+100=3\cdot43$. If we search for $v$ and $q$ themselves, we meet a flat point at $v=q=0$ and two separate curves
# of solutions. If we search for the product $w=vq$, one division gives $w=2$.

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
    caption="The same loss twice. Left, over $v$ and $q$: the heads that fit are two curves (blue), and at the origin "
    "(orange) the loss is flat without being smallest. Right, over the product $w = vq$: a parabola with one lowest "
    "point.",
    alt="Left, a plane with axes v and q, two branches of the hyperbola vq = 2 and an orange dot at the origin marked "
    "flat. Right, a parabola over the axis w = vq with its lowest point at 2.",
)

# %% [markdown]
# We see one loss over two sets of unknowns. Over the heads it has many solutions and a point where gradient descent
# stops too early. Over the product it has one solution, and no search is needed.
#
# ## The paper states
# ### The model
# From now on a token is a column of $d$ numbers, and an input $Z$ has $n$ of them.
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
# In words: a head compares the last token with every token by $Q_h$, and adds up what $V_h$ makes of them, each with
# the weight that the comparison gave. There is no softmax, no scaling and no mask, and the last token attends to itself
# as well.
#
# ### The features
# In single entries, output $a$ of a model is
#
# $$\sum_{j,k,\ell} \Big(\sum_h V_h[a,j]\, Q_h[k,\ell]\Big)\, \langle z_j, z_k\rangle\, z_{\ell n} ,$$
#
# where $z_j$ is the row with the $j$-th entries of all tokens. The bracket depends on the heads alone. The rest, a
# cubic *feature*, depends on the input alone. The paper puts the features into a matrix and the brackets into another,
# the *head matrix*
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
# **What changed.** Read by the labels $(k,\ell)$, everything is right, and so is a Fold by labels. The matrices of Eqs.
# 4, 8 and 68 list the columns with $k$ fastest, while Eq. 12 and line 8 of Algorithm 8 have $\ell$ fastest. With the
# paper's matrices a fold by place returns every $Q_h$ transposed.
#
# </blockquote>
# <!-- /claim -->
#
# ### The algorithm
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
# **What is true.** Regress the labels on the cubic features, their columns with $\ell$ fastest, with a free matrix $W$
# in the place of $\mathcal{T}_\Theta$; of all minimisers take the one of least norm. With $\hat W = \sum_h \sigma_h u_h
# v_h^\top$ fold $\sqrt{\sigma_h} u_h$ into $V_h$ and $\sqrt{\sigma_h} v_h$ into $Q_h$ row by row.
#
# **What changed.** The columns of Eq. 8 have $k$ fastest, which transposes every $Q_h$. Eq. 10 writes the minimiser as
# if there were one. However, for $d \ge 2$ only the part of $W$ symmetric in $j$ and $k$ meets the data. We therefore
# compare outputs, or coefficients $p(\Theta)$, and not matrices.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Among the matrices $W$ that are symmetric in $k$ and $\ell$ the minimiser is unique if
# $\lambda_{\min}(\Lambda_D)>0$. Its heads are at most $d(d+1)/2$, and each $Q_h$ is symmetric.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Each head contributes a column times a row to the head matrix, which has $d^2$ rows and $d^2$ columns. The output is
# linear in this matrix, so the only thing that makes training hard is its rank: with $H$ heads it is at most $H$.
# Algorithm 1 drops the constraint. It fits *any* matrix $W$, among which are the head matrices of all models, so the
# loss of the best $W$ is no larger than that of any number of heads. And nothing is lost on the way back: a singular
# value decomposition writes $W$ as a sum of at most $d^2$ columns times rows, and each of these is a head.

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
# We see heads as the simplest matrices, those of rank 1. The regression may return any matrix, and every matrix is a
# sum of such pieces.
#
# The solution is not unique. Since $\langle z_j, z_k\rangle = \langle z_k, z_j\rangle$, of the $d^3$ features only
# $\psi = d^2(d+1)/2$ are distinct, and what is antisymmetric in $j$ and $k$ can be added to $W$ without changing any
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
# You can change these parameters and run the page again.

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
# We draw a layer with three heads and compute one output. Then we change the input or the heads in ways that should not
# matter: the first $n-1$ tokens in reverse order, and $V_h$ multiplied by 3 while $Q_h$ is divided by 3. We also
# compute the features of whole numbers, which are exact.

# %%
model, z = random_heads(3, d, source), gaussian_tokens(1)[0]
y = mhla(model, z)
shuffled = torch.cat([z[:-1].flip(0), z[-1:]])
rescaled, both = Heads(3 * model.values, model.queries / 3), Heads(3 * model.values, 3 * model.queries)
integers = torch.randint(-9, 10, (n, d), generator=source).double()
loops = cubic_features_by_loops(integers)

# %% [markdown]
# ### Learn a layer from its outputs
# A teacher with a single head labels random inputs. Algorithm 1 sees the inputs and the labels, and nothing else.

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
    caption="The same function with another matrix. The coefficients are those of the distinct features.",
)

# %% [markdown]
# We see two very different matrices. The teacher has one head, and Algorithm 1 returns nine. Yet the coefficients of
# the distinct features agree, and these decide the output: the two layers are the same function. The norm of the
# learned matrix is smaller, because it spreads every coefficient evenly over the pairs $j,k$ and $k,j$. The package
# returns the same function with six heads ([How many heads](heads_enough.ipynb)).
#
# ## How we checked
# We compute the layer in three ways: by the two formulas of the definition and by a plain sum of single products. The
# output must be of degree 3, and the changes that should not matter must not. As controls we reverse *all* tokens, and
# multiply both $V_h$ and $Q_h$ by 3: each of these must change the output.

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
# We also prove the definition for all models and inputs of one size: two sums of products that agree on enough whole
# numbers agree everywhere.

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
# Next we multiply features and head matrix entry by entry, and compare the sum with the output of the layer. The
# paper's order of the columns should fail, and succeed once every $Q_h$ is transposed.


# %%
def outputs(heads, features):
    blocks = head_matrix(heads).unflatten(0, (d, d))
    return (blocks * features).sum(dim=(1, 2))


transposed = Heads(model.values, model.queries.mT)
printed_features = cubic_features(z, form="printed")

# %% [markdown]
# A certificate settles it for all models and inputs of one size.

# %%
claim = Claim("linear-attention/definition-feature-map")
claim.close("column k d + l, difference", outputs(model, cubic_features(z)), y)
claim.misprint.close("columns as printed, difference", outputs(model, printed_features), y, rtol=0.1)
claim.close("as printed, Q transposed, difference", outputs(transposed, printed_features), y)
claim.certified("d = 3, n = 3: outputs by features, for all V, Q and inputs", certify_feature_map(3, 3))
claim.verdict()

# %% [markdown]
# Algorithm 1 must give the teacher's outputs on inputs that it has not seen. One control leaves the singular values on
# one side, $v_h$ in place of $\sqrt{\sigma_h}v_h$, which rescales every head.

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
# Exact arithmetic settles, for every function at $d=3$, that the matrix we take is the one of smallest norm.

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
# The feature matrices of the paper list their columns in another order than Algorithm 8 and the head matrix. If you
# implement Eq. 8 as it is, every $Q_h$ is returned transposed. Eq. 10 speaks of *the* minimiser; there are infinitely
# many for $d\ge2$, and it is the function that is the same for all of them, if the data determine it.
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
# **What is true.** For every sample, three loops over $j$, $k$, $\ell$ from 0 on set $\mathcal{X}[j, k d + \ell] =
# \langle z_j, z_k \rangle z_{\ell n}$. This order of the columns, $\ell$ fastest, fits the rest of the paper.
#
# **What changed.** The matrix of Eq. 68, which line 13 returns, has $k$ fastest and contradicts line 8. With rows
# counted from 1, as in line 3, $k d + \ell$ goes beyond $d^2$.
#
# </blockquote>
# <!-- /claim -->
#
# We compare the package's features of whole numbers with the three loops, entry by entry. The matrix of Eq. 68 should
# differ, and as a control so should the features of the tokens in reverse order.

# %%
returned = cubic_features(integers, form="printed")
backwards = cubic_features(integers.flip(0))

# %% [markdown]
# A certificate compares the features with the loops for all inputs of one size.

# %%
claim = Claim("linear-attention/algorithm-8")
claim.equal("entries unlike the three loops", (cubic_features(integers) != loops).sum(), 0)
claim.misprint.equal("Eq. 68, which line 13 returns: entries unlike the loops", (returned != loops).sum(), 0)
claim.control.equal("last token first: entries unlike the loops", (backwards != loops).sum(), 0)
claim.certified("d = 3, n = 3: the three loops, for all inputs", certify_loops(3, 3))
claim.verdict()

# %% [markdown]
# ## What to remember
# - The output of linear attention is linear in one matrix, to which every head adds a piece of rank 1.
# - Without the constraint on the rank, training is least squares, and no search is needed.
# - A singular value decomposition turns the solution into at most $d^2$ heads.
#
# ## Exercises
#
# 1. *By hand.* Let $d=2$. Find two single heads with different head matrices, both with the first output $\langle z_1,
#    z_2\rangle z_{1n}$ and the second output 0. Which head matrix with these outputs has the least norm?
#    <details><summary>Solution</summary>
#
#    The first output has $V[1,j]\,Q[k,\ell]$ before $\langle z_j, z_k\rangle z_{\ell n}$. We may take $j=1$, $k=2$:
#    only $V[1,1]$ and $Q[2,1]$ are 1. Or $j=2$, $k=1$: only $V[1,2]$ and $Q[1,1]$ are 1. The two head matrices have a
#    single entry 1 each, in different cells. Any weights $s$ and $1-s$ on these cells give the same outputs, and
#    $s^2+(1-s)^2$ is smallest at $s=\frac12$: two entries $\frac12$, of rank 2, with the squared norm $\frac12$ instead
#    of 1.
#
#    </details>
# 2. *Predict, then run.* The teacher has one head. Set `d = 2`. How many heads does Algorithm 1 return?
#    <details><summary>Solution</summary>
#
#    Four. The matrix of least norm spreads the teacher's coefficients over $j,k$ and $k,j$, and the result has full
#    rank $d^2=4$. The function is the teacher's all the same.
#
#    </details>
#
# Next: [Theorem 2.1](theorem_2_1_samples.ipynb), because we want to know how many examples the regression needs.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Remark F.6 · What no stack of linear self-attention can do
# *Ustaomeroglu, Qu: Remark F.6, Appendix F.2.*
#
# Most tokens have several features: a word has a meaning and a place, a person an age and a job, a pixel a colour and a
# position. The effect of one token on another may depend on a product of two features. The paper's
# HyperFeatureAttention obtains such products by multiplying attention scores. Is this necessary, or would more heads
# and more layers of ordinary attention do as well? Trying deeper and deeper stacks would never settle this question.
# For linear attention, which has no softmax, we answer it by adding and subtracting four numbers.

# %%
import torch
from torch import Tensor

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.certified.pairs import certify_parallelogram
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.interactions import represent
from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention, softmax_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    CoupledHead,
    Factor,
    coupled_interaction,
    embed_features,
    layer_of,
    product_symbols,
    product_tables,
)
from attention_theory.hyper_attention.worlds.parallelogram import linear_stack, parallelogram_defect, random_layers
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
sizes = [3, 4]  # values of the features a and b, each from 2 to 8
tokens = 12  # tokens in a sequence, from 5 to 200; the first four are the corners
depths = [1, 2, 3, 4]  # layers of the stacks tried, each from 1 to 5; outputs of deeper ones leave float64
heads = 3  # heads of each layer, from 1 to 20
draws = 50  # random stacks of each depth, from 1 to 2000
sequences = 300  # random sequences for the best fit, from 50 to 20000
seed = 0  # of every draw, at least 0

# %%
require(
    sizes=(Each(sizes), 2, 8),
    number_of_features=(len(sizes), 2, 2),
    tokens=(tokens, 5, 200),
    depths=(Each(depths), 1, 5),
)
require(heads=(heads, 1, 20), draws=(draws, 1, 2000), sequences=(sequences, 50, 20_000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Each of four tokens has a size and a shape. We write a token as two one-hot vectors next to each other, the first for
# small or large and the second for circle or square:
#
# | small circle | small square | large circle | large square |
# | --- | --- | --- | --- |
# | (1, 0, 1, 0) | (1, 0, 0, 1) | (0, 1, 1, 0) | (0, 1, 0, 1) |
#
# The first and the last token add up to (1, 1, 1, 1), and so do the two tokens in the middle. Linear attention
# multiplies all tokens of a sequence by the same matrix, so the outputs inherit this relation: first plus last equals
# the sum of the two in the middle. Suppose that the outputs of the first three are 3, 5 and 4. Then you know that the
# fourth is 5 + 4 − 3 = 6.
#
# Now we want a product: each token should count the tokens with the same size *and* the same shape. Equal sizes give a
# factor of 1 and unequal ones a factor of 0, and likewise for shapes. In a sequence with two small circles and one
# token of each other kind, the counts are 2, 1, 1 and 1. Here 2 + 1 is not equal to 1 + 1.

# %%
CORNERS = [
    ("small circle", 0.0, 0.0),
    ("small square", 3.4, 0.5),
    ("large circle", 0.9, 2.5),
    ("large square", 4.3, 3.0),
]


# %%
def parallelogram(left: float, values: list[int], words: str) -> None:
    """Draw the four corners with their signs and values, what the steps add, and the signed sum."""
    at = [(left + x, 1.6 + y) for _, x, y in CORNERS]
    for start, end in ((0, 1), (2, 3), (0, 2), (1, 3)):
        across, up = 0.17 * (at[end][0] - at[start][0]), 0.17 * (at[end][1] - at[start][1])
        change = f"{values[end] - values[start]:+d}".replace("-", "−") if end - start == 1 else ""
        outer = (at[start][0] + across, at[start][1] + up), (at[end][0] - across, at[end][1] - up)
        schematic.arrow(axis, *outer, change, colour=schematic.QUIET)
    for (name, _, y), point, value, sign in zip(CORNERS, at, values, "+−−+", strict=True):
        colour = schematic.BLUE if sign == "+" else schematic.VERMILION
        schematic.text(axis, point, f"{sign} {value}", colour, 14)
        schematic.text(axis, (point[0], point[1] + (0.55 if y > 1 else -0.55)), name, size=9)
    schematic.text(axis, (left + 2.1, 0.35), words)


# %%
fig, axis = schematic.canvas(7.0, 2.9)
parallelogram(1.2, [3, 5, 4, 6], "a linear layer:  3 − 5 − 4 + 6 = 0")
parallelogram(8.4, [2, 1, 1, 1], "a product:  2 − 1 − 1 + 1 = 1")
show.figure(
    fig,
    name="corners",
    caption="The four tokens as corners, each with its sign and its output. The numbers on the arrows say how much "
    "a change of shape adds to the output.",
    alt="Two parallelograms with the corners small circle, small square, large circle and large square. Small circle "
    "and large square have a plus, the others a minus. The left one has the outputs 3, 5, 4 and 6, which sum to 0 "
    "with these signs, and both changes of shape add 2. The right one has 2, 1, 1 and 1, which sum to 1; one change "
    "subtracts 1 and the other adds nothing.",
)

# %% [markdown]
# On the left, changing the shape adds 2, whatever the size. On the right, the same change subtracts 1 for a small token
# and nothing for a large token. This is what it means for two features to be coupled. The signed sum of the four
# corners detects such a coupling.
#
# ## The paper states
# <!-- claim hyper-attention/remark-f-6 -->
# <blockquote>
#
# **Remark F.6 (No stack of linear self-attention couples features)** *Appendix F.2*
#
# **The paper states.** Two-layer multihead linear self-attention cannot represent factorized cross-feature interaction
# functions of the form $\sum_j f^{(1)}(a_i, a_j) f^{(2)}(b_i, b_j)$, or $\sum_j f^{(1)}(a_i, b_j) f^{(2)}(b_i, a_j)$,
# or similar variants, where $x_i = \mathrm{concat}(a_i, b_i)$. Multihead attention combines bilinear terms additively,
# not multiplicatively, so it cannot achieve this factorization.
#
# **What is true.** Let $a_i$ and $b_i$ be one-hot vectors and $L\ge5$. Some stack represents a sum $\sum_jg(x_i;x_j)$
# for all sequences of length $L$ if and only if $g$ is additive in the features of $i$, and then one layer with a head
# for each value of $b$ is enough, at all lengths. The two displayed functions are not additive, unless $f^{(1)}$ or
# $f^{(2)}$ does not depend on $i$. The variant $\sum_j f^{(1)}(a_i, a_j) f^{(2)}(a_i, b_j)$ is additive.
#
# **What changed.** Some variants can be represented, and the paper's reason is not the right one: attention that only
# adds bilinear terms still represents a product if both factors read the same feature of $i$, or if each combination of
# values is one symbol.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** At lengths from 5, no stack of linear self-attention represents the two functions, at any depth,
# with or without skip connections. One head of HyperFeatureAttention of order 2 does.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A layer of linear attention maps the sequence $X$, one token per row, to $XG$ with $G=CX^\top XW$, where the matrices
# $C$ and $W$ hold the weights of the scores and of the values. The matrix $G$ depends on the whole sequence, but it is
# the same for all tokens in it. The matrices of several heads add up to one such matrix, a skip connection adds the
# identity, and a further layer multiplies by another matrix. Every stack therefore multiplies all tokens by one common
# matrix.
#
# Write $x_{00}, x_{01}, x_{10}, x_{11}$ for our four tokens, with the size as the first index, and $Y_{00}$ to $Y_{11}$
# for their outputs. Then $x_{00} - x_{01} - x_{10} + x_{11} = 0$ implies $Y_{00} - Y_{01} - Y_{10} + Y_{11} = 0$. For a
# product of two features, the same signed sum is zero only by coincidence.
#
# We can also see what the argument relies on. If every *combination* of size and shape has a separate one-hot vector,
# the four tokens satisfy no relation. With a softmax, $X$ is no longer multiplied by one common matrix.
#
# <details><summary>Proof of Remark F.6, for every depth</summary>
#
# {doc}`The next page </notebooks/hyper-attention/side_by_side>` proves for any number of features that a stack
# represents $\sum_jg(x_i;x_j)$ at a length $L\ge5$ if and only if $g$ is a sum of functions of one feature of $i$ and
# two features of $j$. With two features the second condition says nothing. What remains is that $g(\cdot\,;t)$ is
# additive in $a_i$ and $b_i$, that is, for all values $a,a'$, $b,b'$ and all tokens $t$,
#
# $$g(a,b;t)-g(a,b';t)-g(a',b;t)+g(a',b';t)=0 .$$
#
# This is the signed sum of the picture, for a single token $j$ in place of the sum over all. For the first function and
# $t=(u,v)$ the left-hand side is $(f_1(a,u)-f_1(a',u))(f_2(b,v)-f_2(b',v))$, and for the crosswise one it is
# $(f_1(a,v)-f_1(a',v))(f_2(b,u)-f_2(b',u))$. If $f_1$ depends on its first argument for some value of its second, and
# so does $f_2$, the product is not 0 for some token $t$. Therefore the two functions are out of reach, unless a factor
# does not depend on token $i$. One head of order 2 multiplies two scores, each a table of one feature of $i$ and one of
# $j$ (Definition 5.1).
#
# *A variant within reach.* $f_1(a_i,a_j)f_2(a_i,b_j)$ reads one feature of $i$, so it is additive. Let $C^h$ have the
# entries $f_1(a, a') f_2(a, h)$ in the block of the feature $a$, and let $W^h$ be 1 at the value $h$ of the feature $b$
# and 0 elsewhere. Head $h$ returns $\sum_{j : b_j = h} f_1(a_i, a_j) f_2(a_i, h)$, and the sum over $h$ is
# $\sum_j f_1(a_i, a_j) f_2(a_i, b_j)$.
#
# *Short sequences.* Two or three different tokens satisfy no linear relation, so a suitable matrix exists for each such
# sequence. With all four corners and no other token, the counts of the example are 1, 1, 1 and 1, and their
# signed sum vanishes. $\square$
#
# </details>
#
# ## See it run
# Two targets couple the features: *like with like*, $\sum_j f_1(a_i, a_j) f_2(b_i, b_j)$, and *crosswise*,
# $\sum_j f_1(a_i, b_j) f_2(b_i, a_j)$. We draw the tables $f_1$ and $f_2$ at random. The first four tokens of the
# sequence are the corners, and the other tokens are random.

# %%
A, B = 0, 1
draw = generator(seed)


def table(at: int, of: int) -> Tensor:
    return normal(sizes[at], sizes[of], seed=draw)


targets = {
    "like with like": CoupledHead([Factor(A, A, table(A, A)), Factor(B, B, table(B, B))], []),
    "crosswise": CoupledHead([Factor(A, B, table(A, B)), Factor(B, A, table(B, A))], []),
}
corners = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
rest = torch.stack([torch.randint(size, (tokens - 4,), generator=draw) for size in sizes], dim=-1)
entities = torch.cat([corners, rest])
embedded = embed_features(entities, sizes)
wanted = {name: coupled_interaction(entities, [head]) for name, head in targets.items()}
one_layer = {
    name: linear_hyper_feature_attention(embedded, *layer_of(head, sizes))[:, 0] for name, head in targets.items()
}

# %% [markdown]
# We fill stacks of one to four layers with random weights, with and without skip connections. For each stack we compute
# the *parallelogram defect*, which is $|Y_{00} - Y_{01} - Y_{10} + Y_{11}|$ divided by the largest output.

# %%
defects = {
    (depth, skip): [
        parallelogram_defect(linear_stack(embedded, random_layers(depth, heads, sum(sizes), seed + n), skip), range(4))
        for n in range(draws)
    ]
    for depth in depths
    for skip in (False, True)
}
target_defects = {name: parallelogram_defect(values[:, None], range(4)) for name, values in wanted.items()}
projections = normal(3, sum(sizes), sum(sizes), seed=draw)
softmax_defect = parallelogram_defect(softmax_attention(embedded, *projections), range(4))
show.table(
    ["layers", "skip", "largest defect"], [[depth, skip, max(values)] for (depth, skip), values in defects.items()]
)

# %%
fig, axis = show.axes(height=3.2)
for skip, marker in ((False, "o"), (True, "s")):
    largest = [max(defects[depth, skip]) for depth in depths]
    axis.semilogy(depths, largest, marker, label="linear self-attention" + (" with skip" if skip else ""), markersize=6)
for (name, value), style in zip(target_defects.items(), ("-", "--"), strict=True):
    axis.axhline(value, color=show.COLOURS[3], linestyle=style, label=f"target, {name}")
axis.axhline(softmax_defect, color=show.COLOURS[2], linestyle=":", label="softmax self-attention")
axis.set(xlabel="layers", ylabel="parallelogram defect", xticks=depths, ylim=(1e-17, 10))
axis.legend(fontsize=8)
show.figure(
    fig,
    name="parallelogram",
    caption="Largest parallelogram defect of random stacks against their depth. At every depth it has the size of "
    "rounding errors. The defects of the targets and of softmax attention are at least thirteen orders of magnitude "
    "larger.",
    alt="Markers near ten to the minus fifteen for stacks of one to four layers, with and without skip, and "
    "horizontal lines between 0.01 and 10 for the targets and softmax attention.",
)

# %% [markdown]
# We see a wide empty band. The defects of all stacks are below this band, at the size of rounding errors, and show no
# trend in depth. Both targets and softmax attention are above the band.
#
# ### The best layer, and two ways out
# How far off is the best linear layer? Its outputs are linear in $x_i \otimes \sum_j x_j x_j^\top$. We therefore fit
# the target on these features by least squares, and no weights of a layer can do better than this fit. Then we compute
# the same targets in two ways to which the argument does not apply. One layer of HyperFeatureAttention of order 2
# multiplies two scores. Linear attention on one symbol per combination needs width 12 instead of 7.

# %%
many = torch.stack([torch.randint(size, (sequences, tokens), generator=draw) for size in sizes], dim=-1)
rows = embed_features(many, sizes)
features = torch.einsum("nia,nbc->niabc", rows, rows.mT @ rows).flatten(2).flatten(0, 1)
missed = {
    name: relative_residual(features, coupled_interaction(many, [head]).flatten()[:, None])
    for name, head in targets.items()
}
symbols = product_symbols(entities, sizes)
on_products = {}
for name, head in targets.items():
    effect, weight = product_tables(head, sizes)
    layer = represent(effect, weight[:, None], one_hot(len(effect)))
    on_products[name] = linear_attention(one_hot(len(effect))[symbols], *layer)[:, 0]
show.table(["target", "missed by the best linear attention, side by side"], missed.items())

# %% [markdown]
# Is every product of two factors impossible for linear attention? If both factors read the same feature of $i$, the
# function is additive in the features of $i$, and one layer of ordinary linear attention represents it. Head $h$ has
# the scores $f_1(a_i, a_j) f_2(a_i, h)$, and its value is 1 for tokens with $b_j = h$ and 0 for all others.

# %%
on_a = [Factor(A, A, table(A, A)), Factor(A, B, table(A, B))]
variant = coupled_interaction(entities, [CoupledHead(on_a, [])])
by_heads = torch.zeros_like(variant)
for value_of_b in range(sizes[B]):
    score = torch.zeros(sum(sizes), sum(sizes), dtype=torch.float64)
    score[: sizes[A], : sizes[A]] = on_a[0].table * on_a[1].table[:, [value_of_b]]
    value = torch.eye(sum(sizes), dtype=torch.float64)[:, [sizes[A] + value_of_b]]
    by_heads += linear_attention(embedded, score, value)[:, 0]
variant_error = relative_error(by_heads, variant)


def missed_by_one_matrix(chosen: Tensor) -> float:
    """The largest error of X G with the best matrix G for this sequence, over both targets."""
    x = embed_features(chosen, sizes)
    y = torch.stack([coupled_interaction(chosen, [head]) for head in targets.values()], dim=-1)
    return (x @ torch.linalg.pinv(x) @ y - y).abs().max().item()


by_length = {count: missed_by_one_matrix(entities[:count]) for count in (3, 5)}

# %% [markdown]
# ## How we checked
# We require the defect of every stack to be no larger than rounding errors, and the defect of both targets to be large.
# As controls, the best linear layer should miss the target, and softmax attention should break the identity.
#
# For two heads of width three, sympy proves that a layer with any weights keeps the relation, and so does every stack
# of such layers.

# %%
claim = Claim("hyper-attention/remark-f-6")
largest = max(max(values) for values in defects.values())
claim.at_most("parallelogram defect of every stack, largest", largest, 1e-12)
for name in targets:
    claim.at_least(f"defect of the target, {name}", target_defects[name], 1e-3)
    claim.close(f"one layer of order 2, {name}, error", one_layer[name], wanted[name])
    claim.close(f"linear attention on product symbols, {name}, error", on_products[name], wanted[name])
claim.printed.at_least("variant with both factors on a_i: missed by one layer, a head per value", variant_error, 1e-3)
claim.close("the same: error", by_heads, variant)
additive = {name: relative_error(on_products[name], wanted[name]) for name in targets}
claim.printed.at_least("bilinear terms, added up, miss the target: on product symbols", additive, 1e-3, of="proof")
claim.at_most("parallelogram defect of every stack, largest", largest, 1e-12, of="proof")
claim.at_least("defect of the targets", target_defects, 1e-3, of="proof")
claim.number("missed by the best linear attention", missed["like with like"])
claim.control.at_most("best linear attention, side by side, missed", min(missed.values()), 1e-12)
claim.control.at_most("defect of softmax attention", softmax_defect, 1e-12)
claim.at_least("five tokens, all corners: missed by every matrix", by_length[5], 1e-3)
claim.control.at_least("three tokens: missed by every matrix", by_length[3], 1e-3)
claim.certified("two heads of width three: all weights, any depth", certify_parallelogram())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# The remark is true of the two functions that it displays, and false of some of the "similar variants": if both factors
# read the same feature of $i$, one layer is enough. The paper argues that attention adds bilinear terms and does not
# multiply them. This argument would prove too much: linear attention with one symbol per combination also only adds,
# yet it represents both sums exactly. The obstacle is how the features are encoded, not that the terms are added.
#
# ## What to remember
# - Linear self-attention multiplies all tokens of a sequence by one common matrix, at any depth. It therefore preserves
#   every linear relation between tokens.
# - Concatenated features satisfy such a relation, and a product of features does not.
# - There are three ways out: multiply the scores, use a softmax, or use one symbol per combination of feature values.
#
# ## Exercises
#
# 1. *By hand.* A linear stack gives the small circle 2, the small square 7 and the large circle 4. What does it give
#    the large square? Can such a stack give the four tokens the products 1 · 1, 1 · 2, 2 · 1 and 2 · 2?
#    <details><summary>Solution</summary>
#
#    It gives 7 + 4 − 2 = 9. The products are 1, 2, 2 and 4. With the signs of the picture, their sum is 1 − 2 − 2 +
#    4 = 1. Since this is not 0, no linear stack gives these products.
#
#    </details>
# 2. *Predict, then run.* Set `depths = [5]` in one run and `heads = 20` in another. Does the defect grow with the depth
#    or with the number of heads?
#    <details><summary>Solution</summary>
#
#    It grows with neither. In our runs the largest defect is $1.1\cdot10^{-15}$ with the page's parameters, and
#    $1.4\cdot10^{-15}$ both with five layers and with 20 heads. All three values are rounding errors.
#
#    </details>
#
# Next: [Definition 5.1](definition_5_1_hyper_feature_attention.ipynb), a layer that breaks the identity. If you want to
# see everything that such stacks can do, read [Beyond Remark F.6](side_by_side.ipynb) first.

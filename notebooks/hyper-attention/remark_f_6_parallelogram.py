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
# Let a token have two features, such as a colour $a$ and a shape $b$, which stand side by side in it: $x = (e_a, e_b)$
# with a one-hot for each. What one token does to another may hang on both at once, as a product: $f_1(a_i, a_j)$ from
# the colours times $f_2(b_i, b_j)$ from the shapes. HyperFeatureAttention multiplies scores to this end. Is it needed,
# or would more heads and more layers of ordinary attention do as well? For linear attention, which has no softmax, the
# answer is that they never do.
#
# What decides it is a parallelogram of four tokens. Those with the features $(0,0)$, $(0,1)$, $(1,0)$ and $(1,1)$ obey
# $x_{00} - x_{01} - x_{10} + x_{11} = 0$, because the features stand side by side. A linear layer multiplies all tokens
# of a sequence by one and the same matrix, so its outputs $Y$ obey the same relation. A sum over $j$ of products does
# not.
#
# <!-- claim hyper-attention/remark-f-6 -->
# <blockquote>
#
# **Remark F.6 (No stack of linear self-attention couples features)** *Appendix F.2*
#
# On tokens $x_i = (a_i, b_i)$ made of one-hots side by side, multihead linear self-attention cannot represent $\sum_j
# f_1(a_i, a_j) f_2(b_i, b_j)$ or $\sum_j f_1(a_i, b_j) f_2(b_i, a_j)$: with two layers (the paper), and at any depth,
# with skip connections too. One head of HyperFeatureAttention of order 2 can.
#
# **In the paper's proof.** The justification: multihead attention adds up bilinear terms and does not multiply them, so
# it cannot give a product of two.
#
# **Corrected.** This holds of linear attention on one symbol for every combination of values too, which can. What
# counts is that the features stand side by side: then the outputs obey $Y_{00} - Y_{01} - Y_{10} + Y_{11} = 0$, at any
# depth, and the targets do not.
#
# </blockquote>
# <!-- /claim -->
#
# The remark is true. The reasons in print ("additive and not multiplicative", "orthogonal") are not a proof: they say
# as much of linear attention on one symbol for every combination of values, which can represent the sums.
#
# <details><summary>Proof of Remark F.6, for every depth</summary>
#
# A linear attention layer maps $X$ to $X\,(C X^\top X W)$: the tokens are multiplied by a matrix $G$ that all of them
# share. A sum over heads is again $X G$, a skip connection adds $X$, and a stack multiplies such maps: always $X
# \mapsto X G(X)$. Now take four tokens of a sequence with the features $(0,0), (0,1), (1,0), (1,1)$. Side by side,
# $x_{00} - x_{01} - x_{10} + x_{11} = 0$. So the outputs satisfy the same,
#
# $$Y_{00} - Y_{01} - Y_{10} + Y_{11} = 0,$$
#
# whatever the weights. For the target the left-hand side is $\sum_j (f_1(0, a_j) - f_1(1, a_j))(f_2(0, b_j) - f_2(1,
# b_j))$, and for the crosswise one $\sum_j (f_1(0, b_j) - f_1(1, b_j))(f_2(0, a_j) - f_2(1, a_j))$: zero only by
# accident. One head of order 2 multiplies two scores, each a table of one feature of $i$ and one of $j$ (Definition
# 5.1). $\square$
#
# </details>
#
# The identity is about linear attention on features *side by side*. A softmax, or a symbol for every combination of
# values, escapes it.

# %%
import torch
from torch import Tensor

from attention_theory.encodings import one_hot
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

# %% tags=["parameters"]
sizes = [3, 4]  # values of the features a and b, each from 2 to 8
tokens = 12  # tokens in a sequence, from 4 to 200; the first four are the corners
depths = [1, 2, 3, 4]  # layers of the stacks tried, each from 1 to 20
heads = 3  # heads of each layer, from 1 to 20
draws = 50  # random stacks of each depth, from 1 to 2000
sequences = 300  # random sequences for the best fit, from 50 to 20000
seed = 0  # of every draw, at least 0

# %%
require(
    sizes=(Each(sizes), 2, 8),
    number_of_features=(len(sizes), 2, 2),
    tokens=(tokens, 4, 200),
    depths=(Each(depths), 1, 20),
)
require(heads=(heads, 1, 20), draws=(draws, 1, 2000), sequences=(sequences, 50, 20_000), seed=(seed, 0, None))

# %% [markdown]
# ## Targets
# There are two kinds of coupling: like with like, $f_1(a_i, a_j) f_2(b_i, b_j)$, and crosswise, $f_1(a_i, b_j) f_2(b_i,
# a_j)$.

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
# ## Stacks
# Random weights, with and without skip connections. The defect is $|Y_{00} - Y_{01} - Y_{10} + Y_{11}|$ over the
# largest output.

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

# %% [markdown]
# On a logarithmic axis, rounding is far below and the targets far above:

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
    caption="Largest parallelogram defect of random stacks against their depth: rounding, at every depth. The targets "
    "and softmax attention are at least thirteen orders of magnitude above.",
    alt="Marks near ten to the minus fifteen for stacks of one to four layers, with and without skip, and horizontal "
    "lines between 0.01 and 10 for the targets and softmax attention.",
)

# %% [markdown]
# ## The best layer, and two ways out
# How much does the best linear layer miss? The outputs for one-hots side by side are linear in $x_i \otimes \sum_j x_j
# x_j^\top$, so the best layer with *any* weights misses no less than the best linear fit on these features. With one
# symbol for every combination of values (width 12 in the place of 7) linear attention is exact.

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
# The best linear layer side by side must miss the target, and softmax attention must escape the identity.

# %%
claim = Claim("hyper-attention/remark-f-6")
largest = max(max(values) for values in defects.values())
claim.at_most("parallelogram defect of every stack, largest", largest, 1e-12)
for name in targets:
    claim.at_least(f"defect of the target, {name}", target_defects[name], 1e-3)
    claim.close(f"one layer of order 2, {name}, error", one_layer[name], wanted[name])
    claim.close(f"linear attention on product symbols, {name}, error", on_products[name], wanted[name])
additive = {name: relative_error(on_products[name], wanted[name]) for name in targets}
claim.printed.at_least("bilinear terms, added up, miss the target: on product symbols", additive, 1e-3, of="proof")
claim.at_most("parallelogram defect of every stack, largest", largest, 1e-12, of="proof")
claim.at_least("defect of the targets", target_defects, 1e-3, of="proof")
claim.number("missed by the best linear attention", missed["like with like"])
claim.control.at_most("best linear attention, side by side, missed", min(missed.values()), 1e-12)
claim.control.at_most("defect of softmax attention", softmax_defect, 1e-12)
claim.verdict()

# %% [markdown]
# ## What was learned
# Linear self-attention multiplies all tokens by one matrix, at any depth, and so keeps every linear relation among
# them. Features side by side are in such a relation, and a product of features is not. That is the whole reason why
# products of scores are needed, and it is not the one the paper gives.
#
# ## To try
# - Set `depths = [10, 20]`: stacks of ten and twenty layers keep the identity as well, to rounding.
# - Set `heads = 20`: more heads add more matrices, and the defect stays at rounding.

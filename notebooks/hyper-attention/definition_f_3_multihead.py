# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definitions F.2 and F.3 · Heads that multiply their scores
# *Ustaomeroglu, Qu: Definitions F.2 and F.3, Remarks F.4 and F.5, Appendix F.2.*
#
# A network has several attention heads, and each weighs the tokens differently. A head of HyperFeatureAttention splits
# its features into parts, and multiplies the scores of the parts. Does this cost more than self-attention, and does it
# work with rotary positions?

# %%
from typing import Any

import torch
from torch import Tensor

from attention_theory.encodings import rotate
from attention_theory.hyper_attention.certified.sizes import certify_block_parameters
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.layers import attention, attention_weights, causal_mask
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
width = 48  # features of a token d, a multiple of 48 from 48 to 4080
tokens = 10  # tokens in a sequence, from 4 to 500
batch = 3  # sequences, from 1 to 100
shifts = [1, 7, 1000]  # positions of the first token for rotary encoding, each from 1 to 100000
seed = 0  # of every draw, at least 0

# %%
require(width=(width, range(48, 4097, 48)), tokens=(tokens, 4, 500), batch=(batch, 1, 100))
require(shifts=(Each(shifts), 1, 100_000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Take a small circle, a small square and a large circle. One part of a head gives the score 1 to equal sizes, another
# gives the score 1 to equal shapes. The product is 1 only where both agree.

# %%
fig, axis = schematic.canvas(7.0, 1.5)
size = torch.tensor([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
shape = torch.tensor([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
for column, (words, scores) in enumerate({"same size": size, "same shape": shape, "product": size * shape}.items()):
    schematic.matrix(axis, scores.tolist(), (1.5 + 4.6 * column, 0.8), 0.6, words)
show.figure(
    fig,
    name="product",
    caption="Scores between the three tokens from two parts of a head, and their product. Filled cells are 1.",
    alt="Three grids of three by three cells. In the first the upper left block of four and the last diagonal cell are "
    "filled, in the second the corners and the middle, in the third only the diagonal.",
)

# %% [markdown]
# A sum of the two scores would still give 1 to tokens that agree only in size.
#
# ## The paper states
# <!-- claim hyper-attention/definition-f-2 -->
# <blockquote>
#
# **Definition F.2 (Multihead self-attention)** *Appendix F.2*
#
# **The paper states.** Multihead self-attention computes $\mathbf{SA}^h=\mathrm{Softmax}(\mathbf Q^h(\mathbf
# K^h)^\top)\mathbf V^h$ for all $h$ (37) and $\mathbf{MHA}(\mathbf
# X)=\mathrm{Concat}(\mathbf{SA}^1,\dots,\mathbf{SA}^H)\mathbf W^O$ (38), where $\mathbf Q^h=\mathbf{XW}^{Q^h}$,
# $\mathbf K^h=\mathbf{XW}^{K^h}$, $\mathbf V^h=\mathbf{XW}^{V^h}$ and $d_h=\frac dH$ is the dimension of each attention
# head.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** It has $4d^2$ parameters. The scale $1/\sqrt{d_h}$ of Section 2 is absent here; queries can
# absorb it.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/definition-f-3 -->
# <blockquote>
#
# **Definition F.3 (Multihead HyperFeatureAttention)** *Appendix F.2*
#
# **The paper states.** $\mathbf{HFA}^h=\mathrm{Softmax}(\prod^\odot_{a\in[A]}\mathbf Q^{(h,a)}(\mathbf
# K^{(h,a)})^\top)\prod^\odot_{a\in[A]}\mathbf V^{(h,a)}$ if value product, and
# $\mathrm{Softmax}(\prod^\odot_{a\in[A]}\mathbf Q^{(h,a)}(\mathbf K^{(h,a)})^\top)\mathbf V^{(h)}$ otherwise (39);
# $\mathbf{MHFA}=\mathrm{Concat}(\mathbf{HFA}^1,\dots)\mathbf W^O$ (40), with $\mathbf W^{Q^{(h,a)}},\mathbf
# W^{K^{(h,a)}}\in\mathbb R^{d\times d^h_a}$, $\mathbf W^{V^{(h,a)}}\in\mathbb R^{d\times d_h}$, $\sum_hd_h=d$ and
# $d^h_a=d_h/A$; $\prod^\odot$ represents Hadamard product.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/remark-f-4 -->
# <blockquote>
#
# **Remark F.4 (Parameters with and without value product)** *Appendix F.2*
#
# **The paper states.** In the above definition the no value product HFA has the same number of parameters as SA
# (assuming same $d$), yet value product version has slightly more parameters depending on the orders.
#
# **What is true.** Without value product a block has $4d^2$ parameters at every order, as self-attention has. With it,
# a block of order $A$ has $(A-1)d^2$ more.
#
# **What changed.** The remark counts blocks, and for a block the excess is not slight: it is a quarter of $4d^2$ at
# order 2 and three quarters at order 4.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/remark-f-5 -->
# <blockquote>
#
# **Remark F.5 (Rotary positions on every factor)** *Appendix F.2*
#
# **The paper states.** One can easily incorporate rotary positional embedding into this module by applying the
# corresponding rotation matrices $\mathbf R$ as $\mathbf{RQ}^{(h,a)}$ and $\mathbf{RK}^{(h,a)}$ to keys and queries
# just as they are explained in (Su et al., 2023).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The product of the scores then depends on positions only through their distances.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The $A$ parts of a head share its $d_h$ features, so all queries together come from one $d\times d$ matrix, whatever
# the order $A$. The same holds for keys. Values are different: with a *value product*, each of the $A$ values has all
# $d_h$ features.
#
# A rotary encoding turns queries and keys by angles that grow with the position, so their inner product depends on
# positions only through the distance. The same is true of a product of several such scores.
#
# <details><summary>Proof of Remark F.4, as corrected</summary>
#
# The $A$ queries of a head have $d_h/A$ features each, so that all queries of all heads together come from one matrix
# of $d \times d$, at every order; the same for keys. Values without product are $d \times d$, and $W^O$ is: $4 d^2$.
# With value product each of the $A$ values of a head has all $d_h$ features, $A d^2$ in the place of $d^2$. $\square$
#
# </details>
#
# ## See it run
# We build blocks of several orders and count their parameters.


# %%
def block(orders: list[int], **options: Any) -> HyperFeatureAttention:
    """A block in float64 with weights of the seed."""
    torch.manual_seed(seed)
    return HyperFeatureAttention(width, len(orders), orders, **options).double()


def count(module: torch.nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


def with_last_token_changed(x: Tensor) -> Tensor:
    return torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1)


x = normal(batch, tokens, width, seed=seed)
mask = causal_mask(tokens)

# %%
plain = block([1, 1, 1])
parts = list(zip(*(one(x).chunk(3, dim=-1) for one in (plain.queries, plain.keys, plain.values)), strict=True))
by_head, by_head_printed = (
    plain.out(torch.cat([attention(q, k, v, mask=mask, scale=scale) for q, k, v in parts], dim=-1))
    for scale in ((width / 3) ** -0.5, 1.0)
)
plain_printed = block([1, 1, 1], form="printed")

# %%
order = 4


def one_head(module: HyperFeatureAttention, scale: float = (width / order) ** -0.5) -> Tensor:
    """Definition F.3 for a block of one head, factor by factor; as printed with scale 1."""
    scores = torch.ones(batch, tokens, tokens, dtype=torch.float64)
    for q, k in zip(module.queries(x).chunk(order, dim=-1), module.keys(x).chunk(order, dim=-1), strict=True):
        scores = scores * (q @ k.mT) * scale
    values = module.values(x).unflatten(-1, (-1, width)).prod(dim=-2)
    return module.out(attention_weights(scores, mask=mask) @ values)


# %%
products, values_too = block([order]), block([order], value_product=True)
hybrid = block([1, 1, 2, 2])
hybrid_leak = (hybrid(x) - hybrid(with_last_token_changed(x)))[:, :-1].abs().max()
unscaled, first = block([order], form="printed"), block([1])
usual = first.out(attention(first.queries(x), first.keys(x), first.values(x), mask=mask, scale=width**-0.5))
named = {"self-attention, 3 heads": plain, "order 4": products, "order 4, value product": values_too}
named["orders 1, 1, 2, 2"] = hybrid
sizes = [[name, count(module), count(module) / width**2] for name, module in named.items()]
show.table(["block", "parameters", "in units of d²"], sizes)

# %% [markdown]
# Products of scores cost no additional parameters. A value product at order 4 costs three additional $d\times d$
# matrices.
#
# Next, we shift all positions, once with rotary encoding and once with learned positions.

# %%
q, k = (project(x).chunk(order, dim=-1) for project in (products.queries, products.keys))


def product_of_scores(first: int) -> Tensor:
    """Entrywise product of the rotary scores of all factors, with the first token at position ``first``."""
    scores = [rotate(a, first) @ rotate(b, first).mT for a, b in zip(q, k, strict=True)]
    return torch.stack(scores).prod(dim=0)


# %%
positions = normal(tokens + max(shifts), width, seed=seed + 1)


def with_learned_positions(first: int) -> Tensor:
    """The same with learned positions added to the tokens."""
    moved = x + positions[first : first + tokens]
    pairs = zip(products.queries(moved).chunk(order, -1), products.keys(moved).chunk(order, -1), strict=True)
    return torch.stack([a @ b.mT for a, b in pairs]).prod(dim=0)


rotary_change = {shift: relative_error(product_of_scores(shift), product_of_scores(0)) for shift in shifts}
learned_change = {shift: relative_error(with_learned_positions(shift), with_learned_positions(0)) for shift in shifts}
show.table(
    ["shift", "change of the scores, rotary", "change, learned positions"],
    [[shift, rotary_change[shift], learned_change[shift]] for shift in shifts],
)

# %% [markdown]
# Rotary scores do not change, whereas scores with learned positions do. How does a product of rotary scores decrease
# with the distance?

# %%
ones = torch.ones(1, 41, width // order, dtype=torch.float64)
single = (rotate(ones) @ rotate(ones).mT)[0, 0] / (width // order)
fig, axis = show.axes(height=2.8)
for power, marker in zip((1, 2, 4), show.MARKERS, strict=False):
    axis.plot(single**power, marker=marker, label=f"order {power}")
axis.set(xlabel="distance between query and key", ylabel="score, as a fraction of that at 0")
axis.legend()
show.figure(
    fig,
    name="rotary",
    caption="Score of equal queries and keys against their distance, for the product of 1, 2 and 4 equal rotary "
    "factors. Each score is a fraction of its value at distance 0.",
    alt="Three curves that begin at one and fall with distance in waves. The higher the order, the lower the curve.",
)

# %% [markdown]
# All curves fall with oscillations, and a higher order gives a lower curve.
#
# ## How we checked
# For Definition F.2, we compare the block with its heads, one by one, with and without the scale. A change of the last
# token must not affect earlier outputs, except without the mask.

# %%
leaks = {
    causal: (one(x) - one(with_last_token_changed(x)))[:, :-1].abs().max().item()
    for causal, one in ((True, plain), (False, block([1, 1, 1], is_causal=False)))
}

# %%
claim = Claim("hyper-attention/definition-f-2")
claim.close("block against its heads one by one, error", plain(x), by_head)
claim.close("as printed, without the scale, error", plain_printed(x), by_head_printed)
claim.equal("parameters", count(plain), 4 * width**2)
claim.equal("change of earlier outputs when the last token changes", leaks[True], 0)
claim.control.equal("the same without the mask", leaks[False], 0)
claim.verdict()

# %% [markdown]
# For Definition F.3, we compare the block with its factors, one by one. Another order with the same weights must
# differ.

# %%
claim = Claim("hyper-attention/definition-f-3")
claim.close("order 4 against its factors one by one, error", products(x), one_head(products))
claim.close("with value product, error", values_too(x), one_head(values_too))
for name, module in (("order 4", unscaled), ("with value product", block([order], value_product=True, form="printed"))):
    error = relative_error(module(x), one_head(module, scale=1.0))
    claim.at_most(f"{name} as printed, without the scale, error", error, 1e-12)
claim.close("order 1 against self-attention, error", first(x), usual)
claim.equal("parameters without value product", count(products), 4 * width**2)
claim.equal("parameters with value product", count(values_too), (3 + order) * width**2)
claim.equal("hybrid: change of earlier outputs when the last token changes", hybrid_leak, 0)
other_order, other_scale = relative_error(first(x), products(x)), relative_error(products(x), unscaled(x))
claim.control.at_most("order 4 against order 1 with the same weights, error", other_order, 1e-12)
claim.control.at_most("scaled block against the printed form, error", other_scale, 1e-12)
claim.verdict()

# %% [markdown]
# For Remark F.4, we count the parameters of blocks of the paper's width, and prove the count for all sizes.

# %%
with torch.device("meta"):  # counted on blocks of the printed width, without their numbers
    counted = {a: count(HyperFeatureAttention(768, 1, a)) for a in (1, 2, 3, 4)}
    multiplied = {a: count(HyperFeatureAttention(768, 1, a, value_product=True)) for a in (1, 2, 3, 4)}
excess = [multiplied[a] - 4 * 768**2 for a in (1, 2, 3, 4)]

# %%
claim = Claim("hyper-attention/remark-f-4")
plain = {f"order {a}": counted[a] for a in counted}
with_product = {f"order {a}": multiplied[a] for a in multiplied}
claim.equal("without value product, width 768", plain, 4 * 768**2)
claim.equal("with value product, width 768", with_product, {f"order {a}": (3 + a) * 768**2 for a in multiplied})
claim.control.equal("order 2 with value product, the count without it", multiplied[2], 4 * 768**2)
claim.printed.below("slightly more: excess at order 4 as a share", excess[-1] / (4 * 768**2), 0.1)
claim.certified("all heads, orders and widths", certify_block_parameters())
claim.verdict()

# %% [markdown]
# For Remark F.5, the control uses learned positions. The output of a rotary block must also depend on positions at all.

# %%
turned = block([2, 2], rotary=True)
claim = Claim("hyper-attention/remark-f-5")
claim.at_most("largest change of the product of scores under a shift, rotary", max(rotary_change.values()), 1e-12)
claim.at_least(
    "rotary positions are seen: change against no positions", relative_error(turned(x), block([2, 2])(x)), 1e-3
)
claim.control.at_most("the same with learned positions", min(learned_change.values()), 1e-12)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The paper has no scale on these scores, although Section 2 has $1/\sqrt d$. A product of $A$ unscaled scores grows as
# the $A$-th power of a single score, and large scores saturate the softmax. Our models divide each factor by the root
# of its width. Both forms represent the same functions, because queries can absorb the factor. In the whole model of
# Table 1, a value product of order 4 would add 4 % to 46 million parameters.
#
# </details>
#
# ## What to remember
# - A head of order $A$ multiplies $A$ scores with the parameters of one.
# - A value product costs $d^2$ parameters for each factor after the first.
# - Rotary positions work factor by factor.
#
# ## Exercises
#
# 1. *By hand.* How many parameters, in units of $d^2$, does a block of order 3 have with and without the value product?
#    <details><summary>Solution</summary>
#
#    It has $3+A=6$ with the value product and 4 without it.
#
#    </details>
# 2. *Predict, then run.* Set `width = 96`. How do the counts change, also in units of $d^2$?
#    <details><summary>Solution</summary>
#
#    The counts grow fourfold. In units of $d^2$ they stay 4 or, with the value product at order 4, 7.
#
#    </details>
#
# Back: [Definition 5.1](definition_5_1_hyper_feature_attention.ipynb), which defines such a head without a softmax.

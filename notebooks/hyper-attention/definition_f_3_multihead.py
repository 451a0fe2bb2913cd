# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definitions F.2 and F.3 · Heads: self-attention and HyperFeatureAttention side by side
# *Ustaomeroglu, Qu: Definitions F.2 and F.3, Remarks F.4 and F.5, Appendix F.2.*
#
# The attention block of a real network has several heads. Each of them weighs the tokens in its own way: it has queries
# $Q$, keys $K$ and values $V$ of its own, and the softmax of its scores $Q K^\top$ says how much a token takes from
# each other one. So that $H$ heads cost no more than one, a head's queries, keys and values have $d_h = d/H$ features
# each, where a token has $d$; the outputs of the heads are put side by side, and a matrix $W^O$ mixes them. This is
# multihead self-attention.
#
# A head of HyperFeatureAttention of order $A$ cuts its $d_h$ features into $A$ parts. Every part has its own scores;
# the scores are multiplied entry by entry, and then comes the softmax. Because the parts share the head's features,
# queries and keys cost what they cost in self-attention. Values may be multiplied too (*value product*), which takes
# $A$ value matrices in the place of one.
#
# **The scale.** The paper has no $1/\sqrt{d}$ on the scores, which Section 2 has. A product of $A$ unscaled scores
# grows as the $A$-th power of one, and large scores saturate the softmax. The models of this book divide every factor
# by the root of its width, which at order 1 is the usual scale. Both are one class of functions, since the queries can
# take up the factor, and both are checked here.

# %%
from typing import Any

import torch
from torch import Tensor

from attention_theory.encodings import rotate
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.layers import attention, attention_weights, causal_mask
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 48  # features of a token d, a multiple of 48 from 48 to 4080
tokens = 10  # tokens in a sequence, from 4 to 500
batch = 3  # sequences, from 1 to 100
shifts = [1, 7, 1000]  # positions of the first token for rotary encoding, each from 1 to 100000
seed = 0  # of every draw, at least 0

# %%
require(width=(width, range(48, 4097, 48)), tokens=(tokens, 4, 500), batch=(batch, 1, 100))
require(shifts=(Each(shifts), 1, 100_000), seed=(seed, 0, None))


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

# %% [markdown]
# ## Definition F.2: self-attention
#
# <!-- claim hyper-attention/definition-f-2 -->
# <blockquote>
#
# **Definition F.2 (Multihead self-attention)** *Appendix F.2*
#
# $H$ heads $\mathrm{softmax}(Q^h K^{h\top}) V^h$ with $d_h = d/H$ features side by side, times $W^O$: $4 d^2$
# parameters. (The paper leaves out the scale $1/\sqrt{d_h}$ here, which Section 2 has. The queries can take it up; the
# models of this book use it.)
#
# </blockquote>
# <!-- /claim -->
#
# Order 1 in every head, against one head after another by the shared attention function, with scale and mask.

# %%
plain = block([1, 1, 1])
parts = list(zip(*(one(x).chunk(3, dim=-1) for one in (plain.queries, plain.keys, plain.values)), strict=True))
by_head, by_head_printed = (
    plain.out(torch.cat([attention(q, k, v, mask=mask, scale=scale) for q, k, v in parts], dim=-1))
    for scale in ((width / 3) ** -0.5, 1.0)
)
plain_printed = block([1, 1, 1], form="printed")

# %% [markdown]
# The mask is tried by changing the last token.

# %%
leaks = {
    causal: (one(x) - one(with_last_token_changed(x)))[:, :-1].abs().max().item()
    for causal, one in ((True, plain), (False, block([1, 1, 1], is_causal=False)))
}

claim = Claim("hyper-attention/definition-f-2")
claim.close("block against its heads one by one, error", plain(x), by_head)
claim.close("as printed, without the scale, error", plain_printed(x), by_head_printed)
claim.equal("parameters", count(plain), 4 * width**2)
claim.equal("change of earlier outputs when the last token changes", leaks[True], 0)
claim.control.equal("the same without the mask", leaks[False], 0)
claim.verdict()

# %% [markdown]
# ## Definition F.3: products of scores
#
# <!-- claim hyper-attention/definition-f-3 -->
# <blockquote>
#
# **Definition F.3 (Multihead HyperFeatureAttention)** *Appendix F.2*
#
# A head of order $A$ has $A$ queries and keys of $d_h / A$ features each; its weights are the softmax of the entrywise
# product of their scores, and its value is one matrix, or the entrywise product of $A$ of them. Order 1 is
# self-attention.
#
# </blockquote>
# <!-- /claim -->
#
# One head, cut into its factors by hand. A hybrid block with orders 1, 1, 2, 2 is two such halves.

# %%
order = 4


def one_head(module: HyperFeatureAttention, scale: float = (width / order) ** -0.5) -> Tensor:
    """Definition F.3 for a block of one head, factor by factor; as printed with scale 1."""
    scores = torch.ones(batch, tokens, tokens, dtype=torch.float64)
    for q, k in zip(module.queries(x).chunk(order, dim=-1), module.keys(x).chunk(order, dim=-1), strict=True):
        scores = scores * (q @ k.mT) * scale
    values = module.values(x).unflatten(-1, (-1, width)).prod(dim=-2)
    return module.out(attention_weights(scores, mask=mask) @ values)


# %% [markdown]
# Blocks of order 4 with and without value product, a hybrid one, and the forms without the scale.

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
# Another order with the same weights must differ, and so must the scaled block from the printed form.

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
# ## Remark F.4: "slightly more parameters"
#
# <!-- claim hyper-attention/remark-f-4 -->
# <blockquote>
#
# **Remark F.4 (Parameters with and without value product)** *Appendix F.2*
#
# **As printed.** With value product there are slightly more parameters.
#
# **Corrected.** Without value product a block has $4 d^2$ parameters at every order, as self-attention has. With it,
# $(A - 1) d^2$ more.
#
# The excess is $(A - 1) d^2$: a quarter at order 2, three quarters at order 4.
#
# </blockquote>
# <!-- /claim -->
#
# Without value product the count is that of self-attention, exactly. With it a block of order $A$ has $(A - 1) d^2$
# more: at order 4 three quarters more. (The remark compares the modules. In a whole model it is less: that of Table 1
# has some 46 million parameters, most of them in its vocabulary, to which order 4 would add 1.8 million, or 4 %.)
#
# <details><summary>Proof of Remark F.4, as corrected</summary>
#
# The $A$ queries of a head have $d_h/A$ features each, so that all queries of all heads together come from one matrix
# of $d \times d$, at every order; the same for keys. Values without product are $d \times d$, and $W^O$ is: $4 d^2$.
# With value product each of the $A$ values of a head has all $d_h$ features, $A d^2$ in the place of $d^2$. $\square$
#
# </details>

# %%
with torch.device("meta"):  # counted on blocks of the printed width, without their numbers
    counted = {a: count(HyperFeatureAttention(768, 1, a)) for a in (1, 2, 3, 4)}
    multiplied = {a: count(HyperFeatureAttention(768, 1, a, value_product=True)) for a in (1, 2, 3, 4)}
excess = [multiplied[a] - 4 * 768**2 for a in (1, 2, 3, 4)]

# %% [markdown]
# A count without the output matrix must not match.

# %%
claim = Claim("hyper-attention/remark-f-4")
plain = {f"order {a}": counted[a] for a in counted}
with_product = {f"order {a}": multiplied[a] for a in multiplied}
claim.equal("without value product, width 768", plain, 4 * 768**2)
claim.equal("with value product, width 768", with_product, {f"order {a}": (3 + a) * 768**2 for a in multiplied})
claim.control.equal("order 2 with value product, the count without it", multiplied[2], 4 * 768**2)
claim.printed.below("slightly more: excess at order 4 as a share", excess[-1] / (4 * 768**2), 0.1)
claim.verdict()

# %% [markdown]
# ## Remark F.5: rotary encoding
#
# <!-- claim hyper-attention/remark-f-5 -->
# <blockquote>
#
# **Remark F.5 (Rotary positions on every factor)** *Appendix F.2*
#
# With a rotary encoding on the queries and keys of every factor, the product of the scores depends on positions through
# their distances alone.
#
# </blockquote>
# <!-- /claim -->
#
# A rotary encoding turns the features of a token by angles that grow with its position, so that the product of a query
# and a key depends on the distance alone. Turned factor by factor, the product of several scores does too. Learned
# absolute positions, which are added to the tokens, do not have this property.

# %%
q, k = (project(x).chunk(order, dim=-1) for project in (products.queries, products.keys))


def product_of_scores(first: int) -> Tensor:
    """Entrywise product of the rotary scores of all factors, with the first token at position ``first``."""
    scores = [rotate(a, first) @ rotate(b, first).mT for a, b in zip(q, k, strict=True)]
    return torch.stack(scores).prod(dim=0)


# %% [markdown]
# Learned absolute positions are added to the tokens, and the scores made again.

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
# How the score of equal queries and keys falls with their distance, for products of one, two and four factors:

# %%
ones = torch.ones(1, 41, width // order, dtype=torch.float64)
single = (rotate(ones) @ rotate(ones).mT)[0, 0] / (width // order)
fig, axis = show.axes(height=2.8)
for power, marker in zip((1, 2, 4), show.MARKERS, strict=False):
    axis.plot(single**power, marker=marker, label=f"order {power}")
axis.set(xlabel="distance between query and key", ylabel="score, share of that at 0")
axis.legend()
show.figure(
    fig,
    name="rotary",
    caption="Score of equal queries and keys against their distance, for the product of 1, 2 and 4 equal rotary "
    "factors. All fall off in waves; the more factors, the lower.",
    alt="Three curves that begin at one and fall with distance in waves. The higher the order, the lower the curve.",
)

# %% [markdown]
# Learned positions must change the scores under a shift; and a rotary block must see positions at all.

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
# ## What was learned
# A head of higher order cuts the features it has into factors, so that a product of scores costs what one score did, to
# the parameter. A product of values does not: it costs $d^2$ for each factor more, which is three quarters of a block
# at order 4. Rotary positions carry over factor by factor.
#
# ## To try
# - Set `width = 96`: the counts grow fourfold, and stay 4 and 7 in units of $d^2$.
# - Set `shifts = [3, 300]`: two other shifts, and the product of rotary scores does not notice them.

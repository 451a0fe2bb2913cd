# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definitions G.1 and G.3 · A softmax over pairs of tokens
# *Ustaomeroglu, Qu: Definitions G.1 and G.3, Remark G.2, Appendix G.1.*
#
# Some words have a meaning only in combination. Self-attention gives a weight to each token; HyperAttention of order 3
# gives a weight to each *pair* of tokens. Which pairs compete in the softmax, how many parameters does this take, and
# must we store a number for every triple?

# %%
import math
from itertools import product

import torch
from torch import Tensor

from attention_theory.hyper_attention.language.language_model import TABLE_1, LanguageModel
from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention, hyper_attention_parameters
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import allowed_tuples
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention, tuple_scores
from attention_theory.measure import matrix_operations, peak_bytes
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
width = 8  # features of a token d, from 2 to 64
tokens = 7  # tokens in a sequence L, from 3 to 20
lengths = [16, 32, 64, 128]  # lengths for the memory count, each from 4 to 256
paper_width = 768  # d of the parameter counts, at least 2
seed = 0  # of every draw, at least 0

# %%
require(
    width=(width, 2, 64), tokens=(tokens, 3, 20), lengths=(Each(lengths), 4, 256), paper_width=(paper_width, 2, None)
)
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Token 3 attends to pairs of the tokens 1, 2 and 3. The order of the two does not matter, so the definition keeps only
# pairs $(j_1, j_2)$ with $j_1\ge j_2$, and its strict version only those with $j_1>j_2$.
#
# For the score of a pair, we multiply the query and both keys entry by entry, and add up the products. The query
# $(1,2)$ and the keys $(3,1)$ and $(1,4)$ give the score $1\cdot3\cdot1+2\cdot1\cdot4=11$.

# %%
fig, axis = schematic.canvas(7.0, 1.5)
kinds = {"9 pairs": "all", "6 pairs, j₁ ≥ j₂": "ge", "3 pairs, j₁ > j₂": "gt"}
for column, (words, kind) in enumerate(kinds.items()):
    pairs = allowed_tuples(3, 2, kind, causal=True)[2].double()
    schematic.matrix(axis, pairs.tolist(), (1.5 + 4.6 * column, 0.8), 0.6, words)
show.figure(
    fig,
    name="pairs",
    caption="The pairs to which token 3 attends: rows are the first member, columns the second.",
    alt="Three grids of three by three cells. In the first all cells are filled, in the second the lower triangle with "
    "the diagonal, in the third the lower triangle without it.",
)

# %% [markdown]
# The diagonal holds the pairs of a token with itself. Without it, token 1 has no pair at all.
#
# ## The paper states
# <!-- claim hyper-attention/definition-g-1 -->
# <blockquote>
#
# **Definition G.1 (HyperAttention with a softmax, shared projections)** *Appendix G.1*
#
# **The paper states.** Let $\mathbf Q=\mathbf{XW}^Q$, $\mathbf K=\mathbf{XW}^K$, $\mathbf V^1=\mathbf{XW}^{V^1}$,
# $\mathbf V^2=\mathbf W^{V^2}$. The permutation mask $\mathbf M\in\mathbb R^{T\times n}$ has
# $M_{i,j_1,\dots,j_{n-1}}=-\infty(1-\mathbb I[j_1\ge\dots\ge j_{n-1}])$. Then
# $A_{i,j_1,\dots,j_{n-1}}=\mathrm{Softmax}_{(j_1,\dots,j_{n-1})}(M_{i,j_1,\dots,j_{n-1}}\sum_\sigma
# Q_{i,\sigma}K_{j_1,\sigma}\cdots K_{j_{n-1},\sigma})$, $V_{j_1,\dots,j_{n-1},\tau}=\sum_\sigma V^1_{j_1,\sigma}\cdots
# V^1_{j_{n-1},\sigma}V^2_{\tau,\sigma}$ and $\mathrm{HA}_{i,\tau}(\mathbf X)=\sum_{j_1\ge\dots\ge
# j_{n-1}}A_{i,j_1,\dots,j_{n-1}}V_{j_1,\dots,j_{n-1},\tau}$.
#
# **What is true.** The mask is added to the scores:
# $A_{i,j_1,\dots,j_{n-1}}=\mathrm{Softmax}_{(j_1,\dots,j_{n-1})}(M_{i,j_1,\dots,j_{n-1}}+\sum_\sigma
# Q_{i,\sigma}K_{j_1,\sigma}\cdots K_{j_{n-1},\sigma})$. In a language model it also excludes tuples with $j_1>i$.
#
# **What changed.** A mask that multiplies the scores sets the allowed ones to zero and gives weights that are not
# numbers. Without $j_1\le i$, a language model reads the token that it has to predict.
#
# <details><summary>Slips (2)</summary>
#
# - The mask $\mathbf M$ has $n$ axes of length $T$, and not the shape $T\times n$.
# - With several heads, $\mathbf{HA}^h\in\mathbb R^{T\times d_h}$ requires $\mathbf W^{V^{h,2}}\in\mathbb R^{d_h\times
#   R}$, and not $\mathbb R^{d\times R}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/remark-g-2 -->
# <blockquote>
#
# **Remark G.2 (Strict tuples)** *Appendix G.1*
#
# **The paper states.** To increase the implicit bias one could use $M_{i,j_1,\dots,j_{n-1}}=-\infty(1-\mathbb
# I[j_1>j_2>\dots>j_{n-1}])$ instead of the mask stated in the definition. In this version the block would be more
# specialized to learning $n$-way interactions instead of lower order interactions.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** In a causal model, the first $n-2$ tokens have no tuple. We set their outputs to 0.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/definition-g-3 -->
# <blockquote>
#
# **Definition G.3 (HyperAttention with a softmax, separate projections)** *Appendix G.1*
#
# **The paper states.** Let $\mathbf K^m=\mathbf{XW}^{K^m}$ and $\mathbf V^m=\mathbf{XW}^{V^m}$ for all
# $m\in\{1,\dots,n-1\}$, and $\mathbf V^n=\mathbf W^{V^n}$. The scores are $\sum_\sigma
# Q_{i,\sigma}K^1_{j_1,\sigma}\cdots K^{n-1}_{j_{n-1},\sigma}$ and the values $\sum_\sigma V^1_{j_1,\sigma}\cdots
# V^{n-1}_{j_{n-1},\sigma}V^n_{\tau,\sigma}$. The rest of the definition is the same as the previous definition G.1.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/remark-ha-counts -->
# <blockquote>
#
# **Appendix G (Parameters of HyperAttention)** *Section 7.2, caption of Table 1; Appendix G.1*
#
# **The paper states.** SA and HFA have identical parameter counts; HA retains the same parameter count. HA (no sharing)
# has slightly more parameters explained in Appendix G.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With one head and rank $d$, order 3 has $4d^2$ parameters with sharing and $6d^2$ without. The
# block is half as large again, but the caption counts models, and that of Table 1 is larger by 2.6 %. With several
# heads, the definition has an additional matrix $W^O$ with $d^2$ parameters.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/footnote-8 -->
# <blockquote>
#
# **Section 6 (Products of values as a special case)** *Section 6, footnote 8*
#
# **The paper states.** There are small differences between our definition and that of (Sanford et al., 2023; Alman &
# Song, 2023). For instance, their formulation is a low-rank approximation that assumes
# $V_{j_1j_2\tau}=V^1_{j_1\tau}V^2_{j_2\tau}$. In contrast, our approach offers more representational capacity while
# maintaining comparable efficiency.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Theirs is the case $W^{V^n}=I$, in which the values of each output have rank 1. The paper's
# layer is theirs followed by the matrix $W^{V^n}$, so the advantage is lost if an output matrix follows theirs.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **No cubic memory.** For $L$ tokens there are about $L^3$ scores. However, the score of the query $Q_i$ and the keys
# $K^1_{j_1}$ and $K^2_{j_2}$ is $(Q_i\odot K^1_{j_1})\cdot K^2_{j_2}$, where $\odot$ multiplies entry by entry. This is
# ordinary attention with the query $Q_i\odot K^1_{j_1}$. We can therefore process a few $j_1$ at a time with a running
# softmax, and recompute the weights in the backward pass.
#
# **The mask.** A mask of 0 and $-\infty$ is *added* to scores. If it multiplies them, an allowed score becomes 0, a
# forbidden negative score becomes $+\infty$, and $-\infty\cdot0$ is not a number.
#
# **Parameters.** With sharing and one head there are four matrices, $W^Q$, $W^K$, $W^{V^1}$ and $W^{V^2}$. Without
# sharing there are two for keys and two for values, which makes six.
#
# ## See it run
# We count the parameters of the blocks, and measure the peak memory of a forward and a backward pass.


# %%
def block(**options: object) -> HyperAttention:
    """A block in float64 with weights of the seed."""
    torch.manual_seed(seed)
    return HyperAttention(width, **options).double()


# %%
def by_loop(module: HyperAttention, strict: bool = False) -> Tensor:
    """The definition for one sequence, one pair at a time: j2 <= j1 <= i, or j2 < j1 <= i."""
    q, k1, k2 = module.queries(x)[0], module.keys[0](x)[0], module.keys[-1](x)[0]
    v1, v2 = module.values[0](x)[0], module.values[-1](x)[0]
    out = torch.zeros(tokens, width, dtype=torch.float64)
    for i in range(tokens):
        total = 0.0
        for first, second in product(range(i + 1), repeat=2):
            if second < first or (second == first and not strict):
                weight = math.exp((q[i] * k1[first] * k2[second]).sum().item() / math.sqrt(width))
                total += weight
                out[i] += weight * v1[first] * v2[second]
        out[i] /= total or 1.0
    return module.out(out)[None]


x = normal(1, tokens, width, seed=seed)
later = torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1)
shared, strict, free = block(), block(sum_over="gt"), block(sharing=False)

# %%
d = paper_width
forms = {
    "sharing": {},
    "sharing, W^V2 and W^O apart": {"separate_output": True},
    "no sharing": {"sharing": False},
    "no sharing, W^V3 and W^O apart": {"sharing": False, "separate_output": True},
}
with torch.device("meta"):  # blocks and whole models at the printed sizes, without their numbers
    blocks = {name: HyperAttention(d, **options) for name, options in forms.items()}
    models = {name: LanguageModel(50_257, 256, 768, make) for name, make in TABLE_1.items()}
counts, whole = (
    {name: sum(value.numel() for value in one.parameters()) for name, one in some.items()} for some in (blocks, models)
)
formula = {name: hyper_attention_parameters(d, **options) for name, options in forms.items()}
show.table(["order 3", f"parameters at width {d}", "in units of d²"], [[n, c, c // d**2] for n, c in counts.items()])


# %%
def passes(length: int) -> dict[str, int]:
    """Peak bytes of the literal sum over triples and of the blocks, at one position a block."""
    q, k1, k2, v1, v2 = torch.zeros(5, 1, length, width, requires_grad=True).unbind(0)
    forms = {
        "every triple at once": lambda: tuple_attention(q, [k1, k2], [v1, v2]),
        "block by block": lambda: pair_attention(q, k1, k2, v1, v2, block=1),
    }
    return {
        name: peak_bytes(lambda run=run: torch.autograd.grad(run().sum(), [q, k1, k2, v1, v2]))
        for name, run in forms.items()
    }


peaks = {length: passes(length) for length in lengths}

# %%
fig, axis = show.axes(height=3.0)
for name, marker in zip(peaks[lengths[0]], show.MARKERS, strict=False):
    axis.loglog(lengths, [peaks[length][name] / 1e6 for length in lengths], marker=marker, label=name)
axis.set(xlabel="tokens L", ylabel="peak memory, megabytes", xticks=lengths, xticklabels=lengths)
axis.minorticks_off()
axis.legend()
show.figure(
    fig,
    name="memory",
    caption="Memory of a forward and backward pass at order 3. In the limit of long sequences, the literal softmax "
    "grows as the cube of the length, and the form in blocks as the square.",
    alt="Two straight lines on logarithmic axes. The literal form is steeper and far above the blockwise one at 128 "
    "tokens.",
)

# %% [markdown]
# When the length doubles, the literal softmax takes almost eight times the memory, and the form in blocks about three
# times.
#
# ## How we checked
# For Definition G.1, we compare the block with a plain loop over pairs. A change of the last token must not affect
# earlier outputs, except without $j_1\le i$.

# %%
q, k, v = (project(x) for project in (shared.queries, shared.keys[0], shared.values[0]))
inputs = [one.detach().requires_grad_() for one in (q, k, v)]
ours = pair_attention(inputs[0], inputs[1], inputs[1], inputs[2], inputs[2], scale=width**-0.5)
literal = tuple_attention(inputs[0], [inputs[1]] * 2, [inputs[2]] * 2, scale=width**-0.5)
gradients = [torch.autograd.grad(out.square().sum(), inputs) for out in (ours, literal)]
gradient_error = max(relative_error(a, b) for a, b in zip(*gradients, strict=True))

# %%
allowed = allowed_tuples(tokens, 2, "ge", causal=True)
printed_mask = torch.where(allowed, 0.0, -torch.inf).to(torch.float64)
as_printed = (tuple_scores(q, [k, k]) * printed_mask).flatten(-2).softmax(dim=-1)
open_block = block(is_causal=False)

# %%
claim = Claim("hyper-attention/definition-g-1")
claim.close("block against the loop, error", shared(x), by_loop(shared))
claim.close("values block by block against the literal sum, error", ours, literal)
claim.at_most("gradients block by block against the literal sum, error", gradient_error, 1e-12)
leaks = [(one(x) - one(later))[:, :-1].abs().max() for one in (shared, open_block)]
claim.at_most("change of earlier outputs when the last token changes", leaks[0], 1e-14)
claim.control.at_most("the same if pairs need not lie in the past", leaks[1], 1e-14)
claim.misprint.equal("weights that are not a number with the printed mask", as_printed.isnan().sum(), 0)
claim.verdict()

# %% [markdown]
# For strict pairs, we also look at the first token, which has no pair. Its output must be 0, and not $0/0$.

# %%
first_two = strict(x[:, :2])
claim = Claim("hyper-attention/remark-g-2")
claim.close("strict block against the loop, error", strict(x), by_loop(strict, strict=True))
claim.equal("two tokens: the first has no pair and gets", first_two[0, 0].abs().max(), 0)
second = relative_error(first_two[0, 1], strict.out(v[0, 1] * v[0, 0]))
claim.at_most("two tokens: the second has one pair, error", second, 1e-12)
claim.control.close("strict block against the loop with equal members", strict(x), by_loop(strict))
claim.verdict()

# %% [markdown]
# A block without sharing must equal the block with sharing when we tie its factors, and must differ from it otherwise.

# %%
tied = block(sharing=False)
state = tied.state_dict()
for name, value in shared.state_dict().items():
    state[name] = value
    state[name.replace(".0.", ".1.")] = value
_ = tied.load_state_dict(state)

# %%
claim = Claim("hyper-attention/definition-g-3")
claim.close("block against the loop, error", free(x), by_loop(free))
claim.close("with tied factors against sharing, error", tied(x), shared(x))
claim.control.close("with untied factors against sharing, error", free(x), shared(x))
claim.verdict()

# %% [markdown]
# Footnote 8 compares values that are products with values to which a matrix $W^{V^3}$ is applied.

# %%
q, k1, k2, v1, v2 = normal(5, 1, tokens, width, seed=seed).unbind()
last = normal(width, width, seed=seed + 1)


def value_tensor(matrix: Tensor) -> Tensor:
    """The values of Definition G.3 at order 3, for every pair of positions and every output."""
    return torch.einsum("js,ks,ts->jkt", v1[0], v2[0], matrix)


products = v1[0, :, None] * v2[0]
general = tuple_scores(q, [k1, k2]).flatten(-2).softmax(dim=-1) @ value_tensor(last).flatten(0, 1)
theirs = tuple_attention(q, [k1, k2], [v1, v2], "all", causal=False)
wide = normal(5, 1, 64, width, seed=seed).unbind()
cost = {
    "products": matrix_operations(lambda: pair_attention(*wide)),
    "with a matrix": matrix_operations(lambda: pair_attention(*wide) @ last.mT),
}

# %%
claim = Claim("hyper-attention/footnote-8")
identity = torch.eye(width, dtype=torch.float64)
claim.close("values with W^V3 = I against products, error", value_tensor(identity), products)
claim.at_least("rank of an output's values, any W^V3", int(torch.linalg.matrix_rank(value_tensor(last)[..., 0])), 2)
claim.control.at_least("the same for products", int(torch.linalg.matrix_rank(products[..., 0])), 2)
claim.close("the layer against the layer of products, times W^V3: error", general, theirs @ last.mT)
claim.at_most("64 tokens: operations, with the matrix over without", cost["with a matrix"] / cost["products"], 1.1)
claim.verdict()

# %% [markdown]
# We count blocks and whole models.

# %%
claim = Claim("hyper-attention/remark-ha-counts")
claim.equal("parameters of the blocks, against the formula", counts, formula)
claim.equal("sharing, one output matrix", counts["sharing"], 4 * d**2)
claim.equal("no sharing, one output matrix", counts["no sharing"], 6 * d**2)
more = whole["HyperAttention (no sharing)"] / whole["Self-Attention"] - 1
claim.equal("models of Table 1, HyperAttention", whole["HyperAttention"], whole["Self-Attention"])
claim.below("models of Table 1, no sharing: share that it has more", more, 0.1)
claim.control.equal("no sharing with the parameters of self-attention", counts["no sharing"], 4 * d**2)
claim.control.equal("sharing with a separate output matrix", counts["sharing, W^V2 and W^O apart"], 4 * d**2)
claim.number("attention without sharing, in units of that with", counts["no sharing"] / counts["sharing"])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# With several heads, $W^{V^2}$ and $W^O$ are two linear maps in a row. Our block merges them unless you set
# `separate_output`. The number of tokens is $T$ in the paper's definition and $L$ elsewhere.
#
# </details>
#
# ## What to remember
# - HyperAttention of order 3 is a softmax over ordered pairs of past tokens.
# - It is ordinary attention with a query for each pair $(i,j_1)$, so it needs no cubic memory.
# - With one head and sharing, it has exactly as many parameters as self-attention.
#
# ## Exercises
#
# 1. *By hand.* How many ordered pairs, and how many strict pairs, does token $i$ attend to?
#    <details><summary>Solution</summary>
#
#    $i(i+1)/2$ ordered and $i(i-1)/2$ strict pairs. For $i=3$ these are 6 and 3.
#
#    </details>
# 2. *Predict, then run.* Set `lengths = [32, 64, 128, 256]`. By what factor does each curve grow when the length
#    doubles?
#    <details><summary>Solution</summary>
#
#    The literal form grows by factors of 7.4, 7.7 and 7.9, which approach 8. The form in blocks grows by 2.4, 2.8 and
#    3.2, because its quadratic term dominates the linear terms only at larger lengths.
#
#    </details>
#
# Back: [Definition 6.1](definition_6_1_hyper_attention.ipynb), which defines HyperAttention without a softmax.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Definitions G.1 and G.3 · HyperAttention with a softmax
# *Ustaomeroglu, Qu: Definitions G.1 and G.3, Remark G.2, Appendix G.1.*
#
# Some words mean something only together. HyperAttention of order $n$ therefore weighs tuples of $n - 1$ tokens where
# self-attention weighs single ones; at order 3 these are pairs $(j_1, j_2)$. In a network the weights of the pairs go
# through one softmax for each token $i$ that looks. It has a query, a row $Q_i$ of numbers $Q_{i\sigma}$; the members
# of the pair have keys, the rows of $K$, and values, the rows of $V^1$. All of them are projections of the tokens. The
# score of a pair multiplies entry by entry the query and both keys and adds up over $\sigma$; its value multiplies both
# members' values, and a last matrix $V^2$ makes the outputs, with index $\tau$, from that.
#
# In Definition G.1 both members of a pair share one projection for their keys and one for their values; in G.3 each has
# its own. The pairs are ordered, with $j_1 \ge j_2$, so a mask has to shut the others out. The number of tokens is $T$
# in the paper's definition, and $L$ elsewhere.
#
# <!-- claim hyper-attention/definition-g-1 -->
# <blockquote>
#
# **Definition G.1 (HyperAttention with a softmax, shared projections)** *Appendix G.1*
#
# **As printed.** A mask of $-\infty$ and $0$ multiplies the scores, in $\mathbb R^{T \times n}$. (Nothing asks for $j_1
# \le i$.)
#
# **Corrected.** $A_{i j_1 \dots j_{n-1}}$ is the softmax, over the tuples $j_1 \ge \dots \ge j_{n-1}$, of $\sum_\sigma
# Q_{i\sigma} K_{j_1\sigma} \cdots K_{j_{n-1}\sigma}$; values are $\sum_\sigma V^1_{j_1\sigma} \cdots
# V^1_{j_{n-1}\sigma} V^2_{\tau\sigma}$. In a language model the tuples lie in the past too, $j_1 \le i$.
#
# The mask is added, and has $n$ axes of length $T$. (In a language model the tuples lie in the past.)
#
# </blockquote>
# <!-- /claim -->
#
# **Two things to know.** The mask in print is $-\infty$ or $0$ and *multiplies* the scores. Zero times a score forgets
# the score, $-\infty$ times a score has its sign, and $-\infty \cdot 0$ is not a number. It has to be added: a
# misprint, as the next display sums over the allowed tuples. And nothing in print asks that a pair lie in the past. A
# language model without that condition reads the token that it is to predict.
#
# **No cube.** Written out, the scores of $L$ tokens are $L^3$ numbers. But the score of query $i$ and pair $(j_1, j_2)$
# is $(Q_i \odot K^1_{j_1}) \cdot K^2_{j_2}$, where $K^1$ and $K^2$ are the keys of the two members, in Definition G.1
# the same matrix, and $\odot$ multiplies entry by entry: ordinary attention from lifted queries $Q_i
# \odot K^1_{j_1}$. With $Q_i=(1,2)$, $K^1_{j_1}=(3,1)$ and $K^2_{j_2}=(1,4)$, for example, the lifted query is $(3,2)$
# and the score is $3\cdot1+2\cdot4=11$. The package takes a
# few $j_1$ at a time, keeps a running softmax, and makes the weights again in the backward pass.

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
from attention_theory.measure import peak_bytes
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

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


# %%
def block(**options: object) -> HyperAttention:
    """A block in float64 with weights of the seed."""
    torch.manual_seed(seed)
    return HyperAttention(width, **options).double()


# %% [markdown]
# The loop forms the weights of the pairs one at a time.


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


# %% [markdown]
# ## Definition G.1: sharing
# The block against the loop, forward; its gradient against the literal softmax over all triples.

# %%
q, k, v = (project(x) for project in (shared.queries, shared.keys[0], shared.values[0]))
inputs = [one.detach().requires_grad_() for one in (q, k, v)]
ours = pair_attention(inputs[0], inputs[1], inputs[1], inputs[2], inputs[2], scale=width**-0.5)
literal = tuple_attention(inputs[0], [inputs[1]] * 2, [inputs[2]] * 2, scale=width**-0.5)
gradients = [torch.autograd.grad(out.square().sum(), inputs) for out in (ours, literal)]
gradient_error = max(relative_error(a, b) for a, b in zip(*gradients, strict=True))

# %% [markdown]
# The mask as printed multiplies the scores: by 0 where a tuple is allowed, which wipes out its score, and by $-\infty$
# where it is not, which makes a negative score $+\infty$.

# %%
allowed = allowed_tuples(tokens, 2, "ge", causal=True)
printed_mask = torch.where(allowed, 0.0, -torch.inf).to(torch.float64)
as_printed = (tuple_scores(q, [k, k]) * printed_mask).flatten(-2).softmax(dim=-1)
open_block = block(is_causal=False)

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
# ## Remark G.2: strict pairs
#
# <!-- claim hyper-attention/remark-g-2 -->
# <blockquote>
#
# **Remark G.2 (Strict tuples)** *Appendix G.1*
#
# With $j_1 > j_2 > \dots$ only tuples of different tokens count, so that a block specialises in $n$-way interactions.
# The first tokens have no tuple; their output is 0.
#
# </blockquote>
# <!-- /claim -->
#
# With $j_1 > j_2$ a pair has two different members, so the block cannot fall back on single tokens. The first token
# then has no pair at all. Its output must be 0, and not the result of $0/0$.

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
# ## Definition G.3: without sharing
# The factors of a block without sharing are tied, and it must become the block with sharing.
#
# <!-- claim hyper-attention/definition-g-3 -->
# <blockquote>
#
# **Definition G.3 (HyperAttention with a softmax, separate projections)** *Appendix G.1*
#
# As Definition G.1, with keys $K^m$ and values $V^m$ of their own for every member $m$ of the tuple.
#
# </blockquote>
# <!-- /claim -->

# %%
tied = block(sharing=False)
state = tied.state_dict()
for name, value in shared.state_dict().items():
    state[name] = value
    state[name.replace(".0.", ".1.")] = value
_ = tied.load_state_dict(state)

# %% [markdown]
# Untied factors must differ.

# %%
claim = Claim("hyper-attention/definition-g-3")
claim.close("block against the loop, error", free(x), by_loop(free))
claim.close("with tied factors against sharing, error", tied(x), shared(x))
claim.control.close("with untied factors against sharing, error", free(x), shared(x))
claim.verdict()

# %% [markdown]
# ## Parameters
#
# <!-- claim hyper-attention/remark-ha-counts -->
# <blockquote>
#
# **App. G parameter counts and the words same count (Parameters of HyperAttention)** *Section 7.2, caption of Table 1;
# Appendix G.1*
#
# Order 3 with one head and rank $d$ has the parameters of self-attention with sharing, $4 d^2$. Without sharing it has
# $6 d^2$, which makes the model of Table 1 slightly larger, by 2.6%. (With several heads the definition lists $W^{V^2}$
# and $W^O$, two linear maps in a row; kept apart they take $d^2$ more.)
#
# </blockquote>
# <!-- /claim -->
#
# The caption of Table 1 says that HyperAttention has as many parameters as self-attention and, without sharing,
# slightly more. The definition lists $W^Q, W^K, W^{V^1}, W^{V^2}$ and, for several heads, $W^O$. With one head, as in
# the table, that is $4 d^2$. (With several, $W^{V^2}$ and $W^O$ are two linear maps in a row; the block here keeps one
# of them unless it is asked for both.) Without sharing there are two matrices for keys and two for values, and the last
# one is $W^{V^3}$; the attention then has half as much again, $6 d^2$. Of a whole model at the printed sizes, with its
# embeddings and perceptron, that is a few parts in a hundred.

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

# %% [markdown]
# The blocks are made, without their numbers, and their entries counted. Sharing with a separate output matrix must not
# have the count of self-attention, nor must no sharing.

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
# ## Memory
# Bytes held at once by tensors in a forward and a backward pass of one sequence, counted, not timed.


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

# %% [markdown]
# The two lines have slopes three and two.

# %%
fig, axis = show.axes(height=3.0)
for name, marker in zip(peaks[lengths[0]], show.MARKERS, strict=False):
    axis.loglog(lengths, [peaks[length][name] / 1e6 for length in lengths], marker=marker, label=name)
axis.set(xlabel="tokens L", ylabel="megabytes held at once", xticks=lengths, xticklabels=lengths)
axis.minorticks_off()
axis.legend()
show.figure(
    fig,
    name="memory",
    caption="Memory of a forward and backward pass at order 3. The literal softmax grows with the cube of the length, "
    "the blocks with the square.",
    alt="Two straight lines on logarithmic axes. The literal form is steeper and far above the blockwise one at 128 "
    "tokens.",
)

# %% [markdown]
# ## What was learned
# The softmax of order 3 is ordinary attention from lifted queries, taken a few positions at a time, and so needs no
# tensor of all triples, forward or backward. The mask has to be added, pairs have to lie in the past, and a token
# without a pair has to get zero. With sharing and one head the parameters are those of self-attention.
#
# ## To try
# - Set `tokens = 20`: the block still agrees with the loop over its pairs.
# - Set `lengths = [32, 64, 128, 256]`: the literal form needs eight times the memory at each doubling, the blocks four
#   times.

# %% [markdown]
# # Proposition 3 · On the worst data, a ReLU network is no better than attention
# *Mahdavi, Liao, Thrampoulidis: Proposition 3, Section 4.3; Appendix F.*
#
# Is attention good at memorising, or would any network of its size do as well? The paper compares it with an ordinary
# two-layer network, which reads the context and the query as one long vector. On the worst data, the ordinary network
# does no better, up to a constant factor. On other data it can do better.
#
# **In numbers.** Suppose that the long vector is $[5;x]$, and only $x$ differs between examples. Then the entry 5
# carries no information. In a layer with two hidden units, we can add its contribution to the bias,
#
# $$\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}5\\x\end{pmatrix}+b_1'
# =\begin{pmatrix}2\\4\end{pmatrix}x+\Bigl(b_1'+\begin{pmatrix}5\\15\end{pmatrix}\Bigr),$$
#
# and two of the six parameters become redundant.
#
# ## The paper states
# The network has $m$ hidden units and $d_\mathrm{out}$ outputs. Contexts have $n$ tokens of $d$ numbers.
#
# <!-- claim memorization/proposition-3 -->
# <blockquote>
#
# **Proposition 3 (A two-layer ReLU network on the same data)** *Section 4.3; Appendix F*
#
# **The paper states.** Suppose a two-layer ReLU network with input dimension $(n+1)d$, hidden dimension $m$, and output
# dimension $d_\mathrm{out}$. Then, the memorization power of this network for the class of datasets with context size
# $n<d$ and satisfying Assumptions 1 and 2 is at most $T\le(n+1)m/d_\mathrm{out}+(m+1)$ examples.
#
# <details><summary>Slips (2)</summary>
#
# - The proof has $b_1=b_1'-W_1'[:,1{:}(n+1)d-n]^\top c$. The constant prefix should be added to the bias, and the
#   matrix should not be transposed: $b_1=b_1'+W_1'[:,1{:}(n+1)d-n]\,c$.
# - The network is written $W_2^\top\mathrm{ReLU}(W_1^\top x+b_1)+b_2$ with $W_1\in\mathbb R^{d_2\times d_1}$ and
#   $W_2\in\mathbb R^{d_\mathrm{out}\times d_2}$; no matrix should be transposed.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-as-powerful -->
# <blockquote>
#
# **Text after Proposition 3 (At least as powerful as a ReLU network of the same size)** *Section 4.3*
#
# **The paper states.** With $m=\Theta(H)$ and $d_\mathrm{out}=1$, a two-layer ReLU network with $\Theta(Hnd)$ can
# memorize at most $O(Hn)$. This upper bound together with the lower bound of $\Omega(Hn)$ for MHA with the same order
# of parameters, shows that the latter is at least as powerful as the former (when data satisfy Assumptions 1 and 2).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We judge the sentence for the class of data as a whole. At $n=1$, this class contains an example
# that occurs twice with two labels, so neither side memorises more than one. The statement is about orders of magnitude
# only. At equal numbers of parameters, the constant in the network's upper bound is larger than that in attention's
# lower bound, and on generic data the outputs of the network can move in more directions.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Assumptions 1 and 2 allow data in which only $n$ numbers vary. All examples share the context $e_1,\dots,e_n$ of the
# first $n$ unit vectors, and a query has $n$ free numbers after $d-n$ zeros. We *fold* the constant part of the input
# into the bias. A network with $n$ inputs and $(n+1)m+(m+1)d_\mathrm{out}$ parameters remains. If the $Td_\mathrm{out}$
# label entries outnumber these parameters, the network can fit almost no labels.
#
# <details><summary>Proof of Proposition 3, with the fold as it must be</summary>
#
# *The fold.* Let the input be $[c; x]$ with $c$ the same for all examples, and cut $W_1' = [A, B]$ accordingly. Then
# $W_1'[c; x] + b_1' = Bx + (b_1' + Ac)$, so with $W_1 = B$ and $b_1 = b_1' + Ac$, and $W_2$, $b_2$ as they are, the
# network on $[c; x]$ is one with $n$ inputs on $x$. It has $P = (n+1)m + (m+1)d_\mathrm{out}$ parameters.
#
# *The count.* Fix $T$ inputs $x^{(t)}$ with $Td_\mathrm{out} > P$. The map from parameters in $\mathbb R^P$ to all
# outputs in $\mathbb R^{Td_\mathrm{out}}$ is Lipschitz on every bounded set. The image of a bounded part of $\mathbb
# R^P$ under such a map into a space of more dimensions has measure zero, and countably many of them cover everything.
# So almost no labels can be met. (The paper calls this trivial.)
#
# *The data.* With $x^{(t)}$ any $n$ of which are independent, the queries $[0; x^{(t)}]$ have Kruskal rank $n$, and
# each context $e_1, \dots, e_n$ has rank $n$. So there are data of every $T > P/d_\mathrm{out} =
# (n+1)m/d_\mathrm{out} + m + 1$ with $T \ge n$ that satisfy both assumptions and that no network with $m$ hidden units
# memorises. (For $T < n$, "Kruskal rank at least $n$" means that the queries are independent; the data exist as well.)
# $\square$
#
# </details>
#
# ## See it run
# In how many directions can the outputs move? This number is the rank of their derivative with respect to the
# parameters. We compute it on the data of the proof (the *hard data*) and on generic inputs.

# %%
import torch

from attention_theory.memorization.attention import capacity, parameter_count
from attention_theory.memorization.certified.relu_network import certify_as_powerful, certify_fold
from attention_theory.memorization.exact_rank import reachable_dimensions
from attention_theory.memorization.examples import draw, integer_vectors, sample_examples
from attention_theory.memorization.kruskal import kruskal_rank
from attention_theory.memorization.relu_network import (
    apply_network,
    flatten,
    fold_prefix,
    hard_examples,
    jacobian_ranks,
    network_size,
    random_network,
)
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
context = 3  # n, from 2 to 3; all subsets of n queries are tried
hidden = 4  # m, at least 1
width = 6  # d, at least context + 1
most_outputs = 4  # d_out goes from 1 to this, from 1 to 6
points = 100  # random parameters at which the derivative is taken, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(context=(context, 2, 3), hidden=(hidden, 1, None), width=(width, context + 1, None))
require(most_outputs=(most_outputs, 1, 6), points=(points, 10, None), seed=(seed, 0, None))

# %%
small = {k: network_size(context, hidden, k) for k in range(1, most_outputs + 1)}
count = {k: size // k + 3 for k, size in small.items()}
T = max(count.values())
whole = integer_vectors(T, context, seed, largest=500)
numbers = whole.double() / 50
examples = hard_examples(numbers, width)
long = flatten(examples)
twice = torch.cat([whole[:-1], whole[:1]])
print(f"{T} examples with one output, where the folded network has {small[1]} parameters")

# %%
hard_ranks = {k: jacobian_ranks(long[: count[k]], hidden, points, seed + 2, outputs=k) for k in small}
generic = draw("gaussian", T, long.shape[1], seed=seed + 3)
generic_ranks = {k: jacobian_ranks(generic[: count[k]], hidden, points, seed + 2, outputs=k) for k in small}
show.table(
    ["d_out", "T", "label entries", "parameters of the folded network", "largest rank, hard data", "generic data"],
    [(k, count[k], k * count[k], small[k], int(hard_ranks[k].max()), int(generic_ranks[k].max())) for k in small],
)

# %%
fig, axis = show.axes()
for name, ranks, colour in (("hard data", hard_ranks[1], 0), ("generic data", generic_ranks[1], 1)):
    counts = ranks.bincount(minlength=T + 1)
    axis.bar(range(T + 1), counts, label=name, color=show.COLOURS[colour], alpha=0.8)
axis.axvline(small[1] + 0.5, linestyle="--", color="0.5")
axis.set(xlabel="rank of the derivative", ylabel="number of parameter draws")
axis.legend()
show.figure(
    fig,
    name="derivative",
    caption=f"Rank of the derivative of all {T} outputs, one per example, at random parameters. Dashed: the bound on "
    "the hard data.",
    alt="Two groups of bars. The ranks for the hard data are below the dashed line, those for generic data mostly "
    "above it.",
)


# %% [markdown]
# On the hard data, the rank never exceeds the bound. It is even smaller by $m$, because scaling a hidden unit up and
# its output weight down has no effect. On generic data, the rank mostly exceeds the bound. Now we compare both kinds of
# layer at equal numbers of parameters.


# %%
def bounds(H: int, n: int, d: int) -> tuple[int, int, int, int]:
    """Numbers of parameters of both, nearly equal; attention's lower bound; the network's upper bound."""
    wanted = parameter_count(H, d, n, 1, 1)
    m = round((wanted - 1) / ((n + 1) * d + 2))
    return wanted, network_size((n + 1) * d, m, 1), capacity(H, n, n), (n + 1) * m + m + 1


cases = [(H, n, 2 * n) for H in (1, 4, 20, 80) for n in (4, 8, 32, 128)]
ratio = {f"H = {H}, n = {n}": bounds(H, n, d)[2] / bounds(H, n, d)[3] for H, n, d in cases}
show.table(
    ["H", "n", "d", "parameters, attention", "network", "attention, at least", "network, at most"],
    [(H, n, d, *bounds(H, n, d)) for H, n, d in cases],
)

# %%
H, n, d, m = 4, 4, 8, 8
hard_data = hard_examples(draw("integer", 80, n, seed=seed), d)
generic_data = sample_examples(360, n, d, shared=False, law="integer", seed=seed)
sizes_of_both = {"attention": parameter_count(H, d, n, 1, 1), "ReLU network": network_size((n + 1) * d, m, 1)}
in_reach = {
    name: (reachable_dimensions(data, H, n, seed), int(jacobian_ranks(flatten(data), m, 3, seed).max()))
    for name, data in (("hard data", hard_data), ("generic data", generic_data))
}
show.table(
    [
        "independent directions of the outputs",
        f"attention, {parameter_count(H, d, n, 1, 1)} parameters",
        f"ReLU network, {network_size((n + 1) * d, m, 1)}",
    ],
    [(name, *both) for name, both in in_reach.items()],
    f"H = {H}, n = d_h = {n}, d = {d}, m = {m}, one output",
)

# %% [markdown]
# On the hard data, the outputs of attention can move in more directions. On generic data, those of the network can move
# in more directions.
#
# ## How we checked
# We test all subsets of $n$ queries of the hard data for independence, and sympy proves the fold for all weights. As a
# control, the rank on generic data must exceed the bound. For the second claim, z3 proves for all sizes with $n\ge2$
# that attention's lower bound is at least $\frac18$ of the network's upper bound.

# %%
network = random_network(long.shape[1], hidden, 1, seed + 1)
prefix = long[0, :-context]
errors = {
    form: (apply_network(fold_prefix(network, prefix, form), numbers) - apply_network(network, long)).abs().max().item()
    for form in ("correct", "printed")
}
folded_size = sum(part.numel() for part in fold_prefix(network, prefix).values())

# %%
claim = Claim("memorization/proposition-3")
claim.at_most("fold with a plus sign, error", errors["correct"], 1e-12, of="proof")
claim.equal("parameters counted less formula", folded_size - small[1], 0)
claim.equal(f"hard data: Kruskal rank of all {T} queries", kruskal_rank(whole), context)
claim.equal("hard data: rank of the context", int(numerical_rank(examples.contexts)), context)
bound = {f"d_out = {k}": size for k, size in small.items()}
largest = {f"d_out = {k}": ranks.max() for k, ranks in hard_ranks.items()}
claim.at_most("hard data: largest rank of the derivative", largest, bound)
claim.misprint.at_most("fold with a minus sign, error", errors["printed"], 1e-12, of="proof")
claim.control.at_most("generic data, d_out = 1: largest rank of the derivative", generic_ranks[1].max(), small[1])
claim.control.equal("one query given twice: Kruskal rank", kruskal_rank(twice), context)
claim.certified("all weights and inputs: fold and count", certify_fold(2, 3))
claim.number("hard data, d_out = 1: largest rank", hard_ranks[1].max())
claim.number("generic data, d_out = 1: largest rank", generic_ranks[1].max())
claim.verdict()

# %%
claim = Claim("memorization/remark-as-powerful")
claim.at_least("attention's lower bound over the network's upper bound", ratio, 1 / 8)
claim.at_least(
    "hard data: labels within reach, attention less network", in_reach["hard data"][0] - in_reach["hard data"][1], 0
)
over_reach = capacity(H, n, n) / in_reach["generic data"][1]
claim.control.at_least("generic data: attention's lower bound over what the network has in reach", over_reach, 1 / 8)
claim.certified("the two bounds, all sizes", certify_as_powerful())
for name, both in in_reach.items():
    claim.number(f"{name}: within reach of attention", both[0])
    claim.number(f"{name}: within reach of the network", both[1])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The queries have integer entries, large enough for every $n$ of them to be independent and small enough for exact
# arithmetic. For each number of outputs, there are three more examples than the bound allows. If the rank of the
# derivative is always smaller than the number of label entries, the labels that the network can fit have measure zero.
# In the comparison, both layers have about 330 parameters. For the network, we take the largest rank at three random
# points. Because of the scaling, it is at most 41 on the hard data and 329 on generic data.
#
# </details>
#
# ## What to remember
#
# - Constant inputs fold into the bias, and their weights become redundant.
# - On the worst data that satisfy the assumptions, attention stores at least as much, up to a constant factor.
# - On generic data, the outputs of the ReLU network can move in more directions.
#
# ## Exercises
#
# 1. *By hand.* How many parameters does a network with $n=3$ inputs, $m=4$ hidden units and one output have? At most
#    how many arbitrary labels can it store?
#    <details><summary>Solution</summary>
#
#    There are $3\cdot4+4$ parameters in the first layer and $4+1$ in the second, in total $(n+1)m+(m+1)=21$. The
#    network can store at most 21 arbitrary labels.
#
#    </details>
# 2. *Predict, then run.* Set `context = 2`. In which direction does the dashed line move?
#    <details><summary>Solution</summary>
#
#    It moves to the left, because fewer numbers vary, and only $3\cdot4+5=17$ parameters remain.
#
#    </details>
#
# Next: [Proposition 4](proposition_4_averaging.ipynb). Why should real data satisfy the assumptions?

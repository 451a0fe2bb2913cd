# %% [markdown]
# # Proposition 3 · A ReLU network of comparable size does no better in order
# *Mahdavi, Liao, Thrampoulidis: Proposition 3, Section 4.3; Appendix F.*
#
# <!-- claim memorization/proposition-3 -->
# <blockquote>
#
# **Proposition 3 (A two-layer ReLU network on the same data)** *Section 4.3; Appendix F*
#
# Over the data sets that satisfy Assumptions 1 and 2, a two-layer ReLU network with $(n+1)d$ inputs, $m$ hidden units
# and $d_\mathrm{out}$ outputs is certain to memorise at most $(n+1)m/d_\mathrm{out}+m+1$ examples.
#
# **In the paper's proof.** $b_1=b_1'-W_1'[:,1{:}(n+1)d-n]^\top c$; and $W_2^\top\mathrm{ReLU}(W_1^\top x+b_1)+b_2$ with
# $W_1\in\mathbb R^{d_2\times d_1}$, $W_2\in\mathbb R^{d_\mathrm{out}\times d_2}$.
#
# **Corrected.** $b_1=b_1'+W_1'[:,1{:}(n+1)d-n]\,c$: the constant prefix is added to the bias. No matrix is transposed.
#
# </blockquote>
# <!-- /claim -->
#
# A two-layer ReLU network reads the context and the query as one long vector of $(n+1)d$ numbers. The proof gives
# it data that satisfy both assumptions and vary in $n$ numbers only: the context is $e_1, \dots, e_n$ for every
# example, the query is $n$ free numbers behind $d - n$ zeros. On such data the constant part of the input folds
# into the bias, and what is left is a network with $n$ inputs. (In print both weight matrices are transposed, which
# their shapes do not allow.) It has $(n+1)m + (m+1)d_\mathrm{out}$ parameters, too few to reach all labels of more
# examples than that.
#
# The proof wants the $n$ free numbers in general position: every $n$ of the queries independent. The page
# tries every subset, in whole numbers.

# %%
from attention_theory.memorization.attention import parameter_count
from attention_theory.memorization.examples import draw, integer_vectors
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
context = 3  # n, from 2 to 3: all subsets of n queries are tried
hidden = 4  # m, at least 1
width = 6  # d, at least context + 1
points = 200  # random parameters at which the derivative is taken, at least 10
seed = 0  # seed of every draw, at least 0

# %%
require(context=(context, 2, 3), hidden=(hidden, 1, None), width=(width, context + 1, None))
require(points=(points, 10, None), seed=(seed, 0, None))
small = network_size(context, hidden, 1)
large = network_size((context + 1) * width, hidden, 1)
T = small + 3
whole = integer_vectors(T, context, seed, largest=500)  # large enough to be independent, small enough to be exact
numbers = whole.double() / 50
examples = hard_examples(numbers, width)
long = flatten(examples)
f"T = {T} examples, {large} parameters in all, {small} of them in the folded network"

# %% [markdown]
# ## The fold
# The constant prefix $c$ contributes $W_1 c$ to every hidden unit, so it is *added* to the bias. The print
# subtracts it (and carries a transpose that does not fit).

# %%
network = random_network(long.shape[1], hidden, 1, seed + 1)
prefix = long[0, :-context]
errors = {
    form: (apply_network(fold_prefix(network, prefix, form), numbers) - apply_network(network, long)).abs().max().item()
    for form in ("correct", "printed")
}

# %% [markdown]
# ## The count
# The labels that the network meets are the image of its parameters. If the derivative never has rank $T$, the
# image has measure zero, and almost no labels can be met.

# %%
hard_ranks = jacobian_ranks(long, hidden, points, seed + 2)
generic = draw("gaussian", T, long.shape[1], seed=seed + 3)
generic_ranks = jacobian_ranks(generic, hidden, points, seed + 2)

fig, axis = show.axes()
for name, ranks, colour in (("hard data", hard_ranks, 0), ("generic data", generic_ranks, 1)):
    counts = ranks.bincount(minlength=T + 1)
    axis.bar(range(T + 1), counts, label=name, color=show.COLOURS[colour], alpha=0.8)
axis.axvline(small + 0.5, linestyle="--", color="0.5")
axis.set(xlabel="rank of the derivative", ylabel="random parameters")
axis.legend()
show.figure(
    fig,
    name="derivative",
    caption=f"Rank of the derivative of all {T} outputs. On the hard data it stays left of the bound (dashed), on "
    "generic data with as many inputs it passes it.",
    alt="Two groups of bars: ranks for the hard data below the dashed line, for generic data above it.",
)

claim = Claim("memorization/proposition-3")
claim.check("fold with a plus sign, error", errors["correct"], "<=", 1e-12, of="proof")
claim.check(
    "parameters counted less formula", sum(w.numel() for w in fold_prefix(network, prefix).values()) - small, "==", 0
)
claim.check(f"hard data: Kruskal rank of all {T} queries", kruskal_rank(whole), "==", context)
claim.check("hard data: rank of the context", int(numerical_rank(examples.contexts)), "==", context)
claim.check("hard data: largest rank of the derivative", hard_ranks.max(), "<=", small)
claim.misprint("fold with a minus sign, error", errors["printed"], "<=", 1e-12, of="proof")
claim.control("generic data: largest rank of the derivative", generic_ranks.max(), "<=", small)
loose = draw("integer", T, context, seed=seed)
claim.control("random digits in place of them: Kruskal rank", kruskal_rank(loose.long()), "==", context)
claim.number("hard data: largest rank", hard_ranks.max())
claim.number("generic data: largest rank", generic_ranks.max())
claim.verdict()

# %% [markdown]
# On the hard data the rank is even smaller by $m$: scaling a hidden unit up and its output down changes nothing.
# With $m = \Theta(H)$ and $d_\mathrm{out} = 1$ the network has $\Theta(Hnd)$ parameters and meets at most $O(Hn)$
# labels on this class of data; an attention layer with as many parameters is promised $\Omega(Hn)$. So the two agree
# in order. The constants do not decide between them: at equal numbers of parameters the ReLU network's upper bound is
# above the attention layer's lower one.

# %%
H, n, d = 20, 32, 64
show.table(
    ["", "parameters", "examples"],
    [
        ("attention, at least", parameter_count(H, d, n, 1, 1), H * (n - 1) + 1),
        *(
            (f"ReLU network with m = {m}, at most", network_size((n + 1) * d, m, 1), (n + 1) * m + m + 1)
            for m in (H, 2 * H)
        ),
    ],
    "H = 20, n = d_h = 32, d = 64, one output; m = H, and m = 2H for as many parameters",
)

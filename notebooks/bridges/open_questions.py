# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 5 · Open questions
# *What the five papers and this book leave open, each with the smallest case that is not settled.*
#
# A book that runs every statement comes across statements that nobody has made. Some of them are proved in this
# chapter. This page has the others: what is asked, what is known on either side, the smallest case that is open, and
# how it was seen. Where something next to the question can be settled, it is a claim of its own.

# %%
import math
from itertools import combinations, product

import torch

from attention_theory.bridges.hyper_capacity import exact_features, random_scores
from attention_theory.bridges.hyper_features import hyper_feature_count, hyper_features
from attention_theory.bridges.turing_to_subleq import subleq_bounds
from attention_theory.linear_attention.machines.compact import CompactMachine, compact_width
from attention_theory.linear_attention.machines.turing import STAY
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
cells = 4  # W of the tapes that are all gone through, from 2 to 6
draws = 5  # draws of whole tokens, from 2 to 20
seed = 0  # seed of every draw, at least 0

# %%
require(cells=(cells, 2, 6), draws=(draws, 2, 20), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# ## How narrow can a universal layer be?
# The layer of Lemma 2.2 has three rows for each cell of its tape. All that it knows of its tokens is $G = \sum_i
# z_iz_i^\top$, a matrix of $d^2$ numbers. Could a tape of $W$ cells not lie in $\sqrt W$ rows?
#
# <!-- claim bridges/bridge-5-1 -->
# <blockquote>
#
# **Bridge 5.1 (How narrow a universal layer can be)**
#
# Let one layer of linear attention, with any number of heads, run every machine with $\Sigma$ letters on tapes of $W$
# cells as in Lemma 2.2, with all entries of tokens in $\{-1, 0, 1\}$ and $c$ tokens written before the second step
# begins. Then $(2c+1)^{d(d+1)/2}\,3^d \ge \Sigma^W$, so that $d$ is at least of order $\sqrt{W\log\Sigma/\log c}$. The
# heads of Lemma 2.2 have $d$ of order $W$.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 5.1</summary>
#
# Take the machine that never moves and never changes a letter. For each of its $\Sigma^W$ tapes the layer prints this
# tape in the second step. Each token is a function of $G$ and the last token, whatever the heads. So two tapes whose
# $G$ and last token agree before the second step would be printed alike from then on; hence these pairs are all
# different. $G$ is symmetric, and its entries are sums of $c$ products of entries: whole numbers from $-c$ to $c$.
# There are at most $(2c+1)^{d(d+1)/2}$ of them, and $3^d$ last tokens. $\square$
#
# </details>

# %%
universal = CompactMachine(1, 2, cells, 2)
still = torch.tensor([[[0, 0, STAY], [0, 1, STAY]]])
tapes = torch.tensor(list(product((0, 1), repeat=cells)))
prompts = universal.embed(still.expand(len(tapes), -1, -1, -1), tapes, torch.zeros(len(tapes), dtype=torch.int64))
after = universal.run(prompts, 1).long()
memories = after.mT @ after
states = torch.cat([memories.flatten(1), after[:, -1]], dim=1)
different = len(states.unique(dim=0))

# %% [markdown]
# And what the count allows for longer tapes, beside what is built:


# %%
def least_width(letters, tape, tokens):
    """The least d that the counting allows."""
    bits = tape * math.log2(letters)
    fits = (d for d in range(1, 10_000) if d * (d + 1) / 2 * math.log2(2 * tokens + 1) + d * math.log2(3) >= bits)
    return next(fits)


def built(tape):
    """Width and tokens, with the prompt, of Lemma 2.2's heads for one state, two letters and two steps."""
    machine = CompactMachine(1, 2, tape, 2)
    return compact_width(1, 2, tape, 2), 2 + tape + machine.tokens_until(1, tape)


# %% [markdown]
# Between the two lies a gap that grows:

# %%
sizes = [2, 4, 16, 64, 256]
gaps = {tape: (least_width(2, tape, built(tape)[1]), built(tape)[0]) for tape in sizes}
show.table(["cells W", "least d by counting", "d of Lemma 2.2's heads"], [[tape, *both] for tape, both in gaps.items()])

# %% [markdown]
# The control says that the two meet.

# %%
claim = Claim("bridges/bridge-5-1")
claim.check("different memories after a step, of all tapes", different, "==", 2**cells, of="proof")
claim.check("largest entry of G, over the count of tokens", memories.abs().max() / after.shape[1], "<=", 1, of="proof")
claim.check("least d by counting over d as built", {str(t): low / high for t, (low, high) in gaps.items()}, "<=", 1)
claim.control("d as built over the least d by counting, W = 256", gaps[256][1] / gaps[256][0], "<=", 1)
claim.verdict()

# %% [markdown]
# **Open.** Is there a universal layer with $d$ below order $W$? *Smallest case:* tapes of two cells and two letters for
# two steps; the table has what counting asks and what is built. *Seen* when the sizes of Bridge 1 were set side by
# side: the tape of a looped transformer lies in columns, and its width does not grow with it.
#
# ## Is general position enough for $Hd$?
# The paper on memorization conjectures a bound of order $Hd$, in place of $Hn$, where all tokens are in general
# position (Appendix I.1). For *almost all* examples with contexts of their own Bridge 3.3 has it: the rank is $Hd$ from
# $n = 2$ on. For *all* examples in general position it cannot be $Hd$, as Proposition 5 of the paper shows: where the
# entries of every token have one sum, the rank is at most $H(d-1)+1$.
#
# <!-- claim bridges/bridge-5-2 -->
# <blockquote>
#
# **Bridge 5.2 (Around the conjecture on general position)**
#
# With $H = 2$ heads, contexts of $n = 2$ tokens of width $d = 3$ and whole entries, $Z$ has the rank $Hd = 6$ for
# tokens drawn freely, and $H(d-1)+1 = 5$ where the entries of every token have one sum, though these are in general
# position.
#
# </blockquote>
# <!-- /claim -->


# %%
def whole_examples(one_sum):
    """Queries and contexts of whole numbers, d = 3, n = 2; with ``one_sum`` the entries of a token add up to 7."""
    queries = torch.randint(-99, 100, (9, 3), generator=source)
    contexts = torch.randint(-99, 100, (9, 2, 3), generator=source)
    if one_sum:
        contexts[..., 2] = 7 - contexts[..., :2].sum(dim=-1)
    return queries, contexts


def in_general_position(queries, contexts):
    """Whether every three of all tokens and queries are independent."""
    vectors = torch.cat([queries, contexts.flatten(0, 1)])
    threes = vectors[torch.tensor(list(combinations(range(len(vectors)), 3)))]
    return bool((torch.linalg.det(threes.double()).round() != 0).all())


# %% [markdown]
# Draws that are not in general position are drawn again.


# %%
def rank_of_draw(one_sum):
    """The exact rank of two heads of order 2 on examples in general position."""
    queries, contexts = whole_examples(one_sum)
    while not in_general_position(queries, contexts):
        queries, contexts = whole_examples(one_sum)
    return modular_rank(exact_features(queries, contexts, random_scores(2, 3, 2, "full", source), 2))


free, bound_to_a_sum = ([rank_of_draw(one_sum) for _ in range(draws)] for one_sum in (False, True))

claim = Claim("bridges/bridge-5-2")
claim.check("tokens drawn freely: least rank", min(free), "==", 6)
claim.check("tokens of one sum: largest rank", max(bound_to_a_sum), "==", 5)
claim.check("tokens of one sum: least rank", min(bound_to_a_sum), "==", 5)
claim.control("tokens of one sum: largest rank, as drawn freely", max(bound_to_a_sum), "==", 6)
claim.verdict()

# %% [markdown]
# **Open.** Do all examples in general position have heads with rank $H(d-1)+1$? *Smallest case:* two heads, contexts of
# two tokens, $d = 3$ and five examples. (One head is settled: saturated on a token of each example it takes any $d$ of
# them, which are independent.) *Seen* when the features of HyperAttention were counted, of which order 2 is ordinary
# attention.
#
# ## What do features lose on too few tokens?
# Bridge 2.1 needs as many tokens as the order. With one token fewer the ordered sums lose rank. Over all tuples it
# depends on the width.
#
# <!-- claim bridges/bridge-5-3 -->
# <blockquote>
#
# **Bridge 5.3 (HyperAttention's features on too few tokens)**
#
# Over all tuples and with $s - 1$ tokens in place of $s$, the features of Bridge 2.1 keep their rank $\psi_s$ for $d =
# 2$ at the orders 3 and 4, and lose some of it for $d \ge s$.
#
# </blockquote>
# <!-- /claim -->


# %%
def rank_on(width, order, tokens):
    """The exact rank over all tuples, from a few more inputs than there are features."""
    count = hyper_feature_count(width, order) + 4
    whole = torch.randint(-9, 10, (count, tokens, width), generator=source)
    return modular_rank(hyper_features(whole[:, -1], whole, order, "all", scaled=False))


found = {(width, order): rank_on(width, order, order - 1) for width, order in [(2, 3), (2, 4), (3, 3), (4, 3), (3, 4)]}
show.table(
    ["d", "order s", "tokens", "ψ_s", "rank", "lost"],
    [
        [*case, case[1] - 1, hyper_feature_count(*case), rank, hyper_feature_count(*case) - rank]
        for case, rank in found.items()
    ],
)

# %% [markdown]
# For $d \ge s$ the loss has a reason: $G$ has rank $s - 1$ at most, and the query lies in its column space. So all
# minors of size $s$ of columns of $G$ with the query as one more column are 0. They are linear in the query and of
# degree $s - 1$ in $G$.

# %%
kept = {str(case): rank == hyper_feature_count(*case) for case, rank in found.items()}
claim = Claim("bridges/bridge-5-3")
claim.check("d = 2: orders with the full rank", kept["(2, 3)"] + kept["(2, 4)"], "==", 2)
claim.check("d ≥ s: cases with the full rank", kept["(3, 3)"] + kept["(4, 3)"], "==", 0)
claim.control("d = s = 3: rank", found[3, 3], "==", hyper_feature_count(3, 3))
claim.verdict()

# %% [markdown]
# **Open.** What is the rank for all $d$, $s$ and $n < s$? *Smallest case:* the formula is not known for order 3, two
# tokens and $d \ge 3$; the table has the first values. *Seen* in the ranks of Bridge 2.
#
# ## How long must a program without pointers be?
# Bridge 1.1 has a SUBLEQ program of $QW(3\Sigma-1)+5$ instructions, and says that $W$ are needed. Which is it? Without
# pointers the head can be in the counter, as there, or in memory; and what is in memory can be tested, but not looked
# up.

# %%
lengths = [(states, letters, tape) for states, letters, tape in ((1, 2, 2), (2, 2, 4), (6, 3, 10))]
show.table(
    ["states", "letters", "cells", "instructions needed", "instructions of Bridge 1.1, at most"],
    [[*one, one[2], subleq_bounds(*one)[0]] for one in lengths],
)

# %% [markdown]
# **Open.** Can $QW$ be $Q + W$, up to a factor that depends on $\Sigma$? *Smallest case:* one state, two letters, two
# cells. *Seen* when the incrementer was compiled.
#
# ## Others, from the chapters
# - *The depth of a computer.* SUBLEQ runs in
#   {doc}`four layers </notebooks/looped-transformers/remark_depth_bounds>`. Is there a machine of three? Nothing that
#   excludes two is known to the book.
# - *One head, few samples.* The certificate of Lemma 4.1 speaks for any number of heads. In
#   {doc}`its table </notebooks/linear-attention/lemma_4_1_certificate>` all fits of one head agree at $d = 2$ and
#   $N = 4$ already, where it is silent. How many samples determine one head? The smallest case is that one: forty
#   starts agree, and no proof does.
# - *Conditioning.* Bridge 3.2 says that the bound is met, and not how well. The fit in floating point
#   {doc}`on its page </notebooks/bridges/how_much_hyper_attention_memorises>` loses digits; how many it must lose, is
#   open from order 2 and $d_h = 1$ on.
# - *Data against size.* Whether the samples for executing automata grow as a power or an exponential of
#   {doc}`states, letters and words </notebooks/linear-attention/figure_3_dfa_execution>` is undecided there.
# - *Rates.* Whether it matters for the choice of the rate if all matrices are trained or $W$ alone is undecided
#   {doc}`on its page </notebooks/in-context-reasoning/appendix_d_rates>`.
# - *A context for each example.* Whether the memorised fraction of trained models depends less on $n$ there than with
#   one context is undecided in {doc}`Figure 4 </notebooks/memorization/figure_4_general_position>`.
#
# ## What was learned
# Most open questions of this page are gaps between a construction and a count. The widest is that of the universal
# layer, whose memory could hold a tape in far fewer rows than it uses. The conjecture on general position is settled
# for almost all data and open for all. Questions about training are open for another reason: they are about curves, and
# the evidence of small runs does not reach.
#
# ## To try
# - Set `cells = 6`: all 64 tapes lead to different memories too.
# - Set `draws = 20`: no draw of tokens in general position has another rank than those of the table.

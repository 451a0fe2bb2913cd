# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bridge 5 · Open questions, between what is needed and what is built
# *What the five papers and this book leave open, each with the smallest case that we could not settle.*
#
# When we run every statement of a paper, we run into questions that it leaves open. Most of our questions have the same
# form. A construction shows that some size is enough, a count shows that at least some smaller size is needed, and the
# truth is somewhere in between. We prove what we can from both sides, and say exactly where we stop, so that you can go
# on.

# %%
import math
from itertools import combinations, pairwise, product

import torch

from attention_theory.bridges.hyper_capacity import exact_features, random_scores
from attention_theory.bridges.three_ways import random_jobs
from attention_theory.bridges.turing_to_short_subleq import short_subleq_bounds, short_subleq_of
from attention_theory.bridges.turing_to_subleq import subleq_bounds
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import STAY
from attention_theory.looped_transformers.subleq.language import interpret
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# A layer of linear attention runs Turing machines on a tape of two cells, each 0 or 1. There are four such tapes. A
# layer that runs a machine which changes nothing must write the tape again, so it has to remember which of the four
# tapes it was given. How wide must its tokens be?
#
# The layer remembers its tokens only through a table of sums. Let each token be a single number, −1, 0 or 1. The table
# is then also a single number, which counts the tokens that are not 0. After 13 tokens it can be 0, 1, …, 13. These are
# 14 values, and we need only four, so counting does not exclude width 1. The construction of Lemma 2.2 has width 51.
#
# With 256 cells there are $2^{256}$ tapes. Now counting excludes all widths up to 6, and the construction has
# width 813.


# %%
def gap(height: float, cells_of_tape: int, needed: int, built_width: int) -> None:
    """Draw a row: the width that is needed, the width that is built, and the open range between them."""
    low, high = (3.0 + 3 * math.log10(value) for value in (needed, built_width))
    axis.plot([low, high], [height, height], color=schematic.QUIET, lw=7, alpha=0.3, solid_capstyle="butt")
    for at, value, colour in ((low, needed, schematic.BLUE), (high, built_width, schematic.VERMILION)):
        axis.plot(at, height, "o", color=colour, markersize=8)
        schematic.text(axis, (at, height + 0.45), str(value), colour)
    schematic.text(axis, ((low + high) / 2, height + 0.4), "open", schematic.QUIET, 9)
    schematic.text(axis, (2.3, height), f"{cells_of_tape} cells", align="right")


# %%
fig, axis = schematic.canvas(7.0, 2.6)
for height, row in ((3.8, (2, 1, 51)), (2.6, (16, 2, 93)), (1.4, (256, 7, 813))):
    gap(height, *row)
schematic.text(axis, (3.0, 4.9), "needed", schematic.BLUE)
schematic.text(axis, (8.1, 4.9), "built", schematic.VERMILION)
axis.plot([3.0, 12.0], [0.6, 0.6], color=schematic.QUIET, lw=1)
for power in range(4):
    axis.plot(3.0 + 3 * power, 0.6, "|", color=schematic.QUIET)
    schematic.text(axis, (3.0 + 3 * power, 0.2), f"{10**power}", schematic.QUIET, 9)
schematic.text(axis, (2.3, 0.6), "width d", size=9, align="right")
show.figure(
    fig,
    name="gap",
    caption="How wide must the tokens of a universal layer be? Blue: counting excludes all smaller widths. Orange: the "
    "width of Lemma 2.2. The scale is logarithmic.",
    alt="Three rows on a logarithmic scale of widths from 1 to 1000. With 2 cells, 1 is needed and 51 built; with 16 "
    "cells, 2 and 93; with 256 cells, 7 and 813. The range between is marked open.",
)

# %% [markdown]
# We see that both ends move to the right as the tape grows, and that the upper end is far ahead.
#
# ## What we prove
# The tape has $W$ cells and $\Sigma$ letters, and the tokens have width $d$. After the tokens $z_1,\dots,z_c$, the
# layer's table is $G=\sum_i z_iz_i^\top$.
#
# <!-- claim bridges/bridge-5-1 -->
# <blockquote>
#
# **Bridge 5.1 (How narrow a universal layer can be)**
#
# Let one layer of linear attention, with any number of heads, run every machine with $\Sigma$ letters on tapes of $W$
# cells as in Lemma 2.2, with all entries of tokens in $\{-1, 0, 1\}$ and with $c$ tokens, including the prompt, before
# the second step begins. Then $(2c+1)^{d(d+1)/2}\,3^d \ge \Sigma^W$, so $d$ is at least of order
# $\sqrt{W\log\Sigma/\log c}$. With the heads of Lemma 2.2, $d$ is of order $W$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# For a machine that never moves and never changes a letter, the layer writes the whole tape again in the second step.
# It computes each new token only from $G$ and the last token. Two tapes with the same $G$ and last token would
# therefore give the same output, so we need at least as many pairs of a $G$ and a last token as there are tapes. We
# can count the pairs, because $G$ is symmetric and its entries are integers from $-c$ to $c$.
#
# <details><summary>Proof of Bridge 5.1</summary>
#
# We take the machine that never moves and never changes a letter. For each of its $\Sigma^W$ tapes, the layer prints
# this tape again in the second step. Each token that is printed is a function of $G$ and the last token, whatever the
# heads. Two tapes whose $G$ and last token agree before the second step would therefore be printed alike from then on,
# so these pairs are all different. $G$ is symmetric, and each of its entries is a sum of $c$ products of entries, hence
# an integer from $-c$ to $c$. There are at most $(2c+1)^{d(d+1)/2}$ such matrices, and $3^d$ last tokens. $\square$
#
# </details>
#
# ## See it run

# %% tags=["parameters"]
cells = 4  # W of the tapes that are all gone through, from 2 to 6
draws = 5  # draws of whole tokens, from 2 to 20
seed = 0  # seed of every draw, at least 0

# %%
require(cells=(cells, 2, 6), draws=(draws, 2, 20), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# We let the layer of Lemma 2.2 run this machine for one step on every tape of four cells, and collect $G$ and the last
# token.

# %%
universal = CompactMachine(1, 2, cells, 2)
still = torch.tensor([[[0, 0, STAY], [0, 1, STAY]]])
tapes = torch.tensor(list(product((0, 1), repeat=cells)))
prompts = universal.embed(still.expand(len(tapes), -1, -1, -1), tapes, torch.zeros(len(tapes), dtype=torch.int64))
after = universal.run(prompts, 1).long()
memories = after.mT @ after
states = torch.cat([memories.flatten(1), after[:, -1]], dim=1)
different = len(states.unique(dim=0))
print(f"{len(tapes)} tapes, {different} different memories")


# %% [markdown]
# Then, for tapes of growing length, we compare the smallest width that the count allows with the width of the
# construction.


# %%
def least_width(letters, tape, tokens):
    """The smallest d that the counting allows."""
    bits = tape * math.log2(letters)
    fits = (d for d in range(1, 10_000) if d * (d + 1) / 2 * math.log2(2 * tokens + 1) + d * math.log2(3) >= bits)
    return next(fits)


def built(tape):
    """Width and tokens, with the prompt, of Lemma 2.2's heads for one state, two letters and two steps."""
    machine = CompactMachine(1, 2, tape, 2)
    return CompactMachine.width_formula(1, 2, tape, 2), 2 + tape + machine.tokens_until(1, tape)


sizes = [2, 4, 16, 64, 256]
gaps = {tape: (least_width(2, tape, built(tape)[1]), built(tape)[0]) for tape in sizes}
show.table(["cells W", "smallest d by counting", "d of Lemma 2.2"], [[tape, *both] for tape, both in gaps.items()])

# %% [markdown]
# The construction uses three rows of every token for each cell, so its width grows like $W$. A table of $d^2$ numbers
# could hold the tape in about $\sqrt W$ rows.
#
# **Open.** Is there a universal layer with entries in $\{-1,0,1\}$ and $d$ below order $W$? *Smallest case:* two cells,
# two letters, two steps. We know $1\le d\le51$.
#
# ## How we checked
# Every tape must leave a different memory, and the count must allow the width of the construction. As a control, we
# claim that the two widths are equal.

# %%
claim = Claim("bridges/bridge-5-1")
claim.equal("different memories after a step, of all tapes", different, 2**cells, of="proof")
claim.at_most("largest entry of G, over the count of tokens", memories.abs().max() / after.shape[1], 1, of="proof")
claim.at_most("least d by counting over d as built", {str(t): low / high for t, (low, high) in gaps.items()}, 1)
claim.control.at_most("d as built over the least d by counting, W = 256", gaps[256][1] / gaps[256][0], 1)
claim.verdict()

# %% [markdown]
# ## Also on this page
# ### How much does general position help tuples?
# The paper on memorisation conjectures that a layer of $H$ heads memorises a number of examples of order $Hd$ if all
# tokens are in *general position*, which means that every $d$ of them are independent (Appendix I.1). This number is
# the rank of a matrix $Z$, whose rows are the weighted means of tokens that the heads compute. For *almost all*
# examples, we know that the rank is $Hd$ (Bridge 3.3). For *all* examples in general position, the best heads reach
# at least $d+(H-1)(d-\lceil d/n\rceil)$, and on some examples they do not reach more, as {claim:ref}`the page of the
# conjecture <memorization/conjecture-i-1>` proves. The data of the paper's Proposition 5, in which the entries of
# every token have the same sum, are between the two.
#
# <!-- claim bridges/bridge-5-2 -->
# <blockquote>
#
# **Bridge 5.2 (Three kinds of data in general position)**
#
# Let there be $H = 2$ heads and contexts of $n = 2$ tokens of width $d = 3$ with integer entries, all in general
# position. The rank of $Z$ is $Hd = 6$ for tokens drawn freely, and $H(d-1)+1 = 5$ where the entries of every token
# have the same sum. The rank is $d+(H-1)(d-\lceil d/n\rceil) = 4$, the smallest possible value, where the two tokens of
# each context differ by a multiple of one vector.
#
# </blockquote>
# <!-- /claim -->


# %%
def whole_examples(kind):
    """Queries and contexts, d = 3, n = 2: free, with tokens whose entries add up to 7, or with one direction."""
    queries = torch.randint(-99, 100, (9, 3), generator=source)
    contexts = torch.randint(-99, 100, (9, 2, 3), generator=source)
    if kind == "one sum":
        contexts[..., 2] = 7 - contexts[..., :2].sum(dim=-1)
    if kind == "one direction":
        contexts[:, 1] = contexts[:, 0] + torch.randint(1, 9, (9, 1), generator=source) * torch.tensor([3, -1, 2])
    return queries, contexts


def in_general_position(queries, contexts):
    """Whether every three of all tokens and queries are independent."""
    vectors = torch.cat([queries, contexts.flatten(0, 1)])
    threes = vectors[torch.tensor(list(combinations(range(len(vectors)), 3)))]
    return bool((torch.linalg.det(threes.double()).round() != 0).all())


# %% [markdown]
# We draw tokens of each kind with integer entries, and draw again when the tokens are not in general position.


# %%
def ranks_of_draws(kind):
    """The exact ranks of two heads on examples in general position, several draws."""
    found = []
    while len(found) < draws:
        queries, contexts = whole_examples(kind)
        if in_general_position(queries, contexts):
            scores = random_scores(2, 3, 2, "full", source)
            found.append(modular_rank(exact_features(queries, contexts, scores, 2)))
    return found


free, one_sum, one_direction = (ranks_of_draws(kind) for kind in ("free", "one sum", "one direction"))

# %% [markdown]
# For the last kind, the means of two heads also differ by a multiple of one vector. The first head contributes three
# columns, and the second head adds a single column.

# %%
claim = Claim("bridges/bridge-5-2")
claim.equal("tokens drawn freely: least rank", min(free), 6)
claim.equal("tokens of one sum: least and largest rank", str([min(one_sum), max(one_sum)]), str([5, 5]))
directed = [min(one_direction), max(one_direction)]
claim.equal("differences of one direction: least and largest rank", str(directed), str([4, 4]))
claim.control.equal("tokens of one sum: largest rank, as drawn freely", max(one_sum), 6)
claim.control.equal("differences of one direction: largest rank, as of one sum", max(one_direction), 5)
claim.verdict()

# %% [markdown]
# **Open.** What takes the place of $d+(H-1)(d-\lceil d/n\rceil)$ for HyperAttention, whose heads weigh tuples?
# *Smallest case:* order 3, two heads, contexts of two tokens, $d=3$. Almost all data have rank $H\,d^2=18$. If the
# tokens of each context differ by a multiple of one vector $\delta$, we can show at most $d^2+(H-1)(2d-1)=14$, because
# the means of two heads differ by an element of $\delta\otimes\mathbb R^d+\mathbb R^d\otimes\delta$. We do not know
# whether the rank is smaller for other data.
#
# ### How long must a program without pointers be?
# SUBLEQ has a single instruction, which subtracts and branches, and it has no pointers. Bridge 1.1 runs a Turing
# machine with $Q$ states in SUBLEQ with at most $QW(3\Sigma-1)+5$ instructions, and shows that at least $W$
# instructions are needed. That program keeps the position of the head in its counter, so it has a copy of the rules for
# every cell. We can also keep the number of the cell in memory, and *search* for this number by halving.
#
# <!-- claim bridges/bridge-5-3 -->
# <blockquote>
#
# **Bridge 5.3 (A short program without pointers)**
#
# A SUBLEQ program of $5W+6Q\Sigma+4$ instructions also runs the machine of Bridge 1.1. It executes at most
# $2\lceil\log_2 W\rceil+\lceil\log_2(Q\Sigma+1)\rceil+12$ instructions per step of the machine.
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Bridge 5.3</summary>
#
# In addition to the tape, the memory holds $-h$, where $h$ is the cell of the head, $\Sigma$ times the number of the
# state, where halting states come last, and three cells that are 0 when a step begins. A *search* among $k$ numbers is
# a tree of $k-1$ tests. Each test subtracts a constant, so that the number minus the middle is left, and branches if
# the result is at most 0. The next test continues from there. The tree has $k$ leaves, and at most
# $\lceil\log_2 k\rceil$ tests are on the path to each leaf.
#
# A step copies $h$ (1 instruction) and searches for it ($W-1$). Each leaf subtracts the letter of its cell from a cell
# that holds 0 and branches, because the result is at most 0 ($W$). Then the copy is cleared and the state subtracted
# (2), which leaves minus the number of the rule. The program searches for it among $Q\Sigma+1$ numbers, the last of
# which stands for all halting states ($Q\Sigma$, and 1 instruction that ends the run). A rule takes five instructions,
# which record by how much the letter changes, change the state, copy $h$ again, move the head, and clear the number of
# the rule, with a branch ($5Q\Sigma$). The program then searches for the copy ($W-1$), and each leaf changes the letter
# of its cell and clears the copy, with a branch ($2W$). The change is cleared, with a branch to the beginning (1). With
# the last instruction this makes $5W+6Q\Sigma+4$. Each path has $1 + 1 + 2 + 5 + 2 + 1$ instructions and the tests of
# three searches. $\square$
#
# </details>


# %%
def short_run(job, bits=10):
    """Whether all situations are right, the length and the most cycles of a step, both less the formulas'."""
    made = short_subleq_of(job.machine, job.tape, job.head)
    length, a_step = short_subleq_bounds(len(job.machine.states), len(job.machine.letters), len(job.tape))
    run = interpret(made.source, bits, a_step * job.steps + 1)
    told = zip([0, *run.counters.tolist()], [list(made.source.memory), *run.memories.tolist()], strict=True)
    met = [(cycle, now) for cycle, at in enumerate(told) if (now := made.read(*at))][: len(job.expected)]
    gaps = [after[0] - before[0] for before, after in pairwise(met)]
    return [now for _, now in met] == job.expected, len(made.source.code) - length, max(gaps, default=0) - a_step


jobs = [
    job for states, letters in ((1, 2), (2, 3), (4, 4)) for job in random_jobs(8, states, letters, 8, seed + states)
]
runs = [short_run(job) for job in jobs]

# %% [markdown]
# We run 24 random machines. In the control, the integers have four bits and range from −8 to 7, which is not enough to
# number 17 cells.

# %%
claim = Claim("bridges/bridge-5-3")
claim.equal("machines and tapes that are right", sum(right for right, _, _ in runs), len(jobs))
claim.equal("programs of another length than the formula's", sum(length != 0 for _, length, _ in runs), 0, of="proof")
claim.at_most("cycles of a step above the bound", max(cycles for _, _, cycles in runs), 0)
claim.control.equal("right with integers of 4 bits", sum(short_run(job, 4)[0] for job in jobs), len(jobs))
claim.verdict()

# %%
lengths = [(states, letters, tape) for states, letters, tape in ((1, 2, 2), (2, 2, 4), (6, 3, 10), (6, 3, 100))]
show.table(
    ["states", "letters", "cells", "needed", "Bridge 1.1, at most", "cycles", "Bridge 5.3", "cycles"],
    [[*one, one[2], *subleq_bounds(*one), *short_subleq_bounds(*one)] for one in lengths],
)

# %% [markdown]
# With 100 cells, we save most of the program's length, but a step takes up to 31 cycles instead of the 4 in Bridge 1.1.
#
# **Open.** Can we have both a length of order $Q+W$ and steps whose number of cycles does not grow with $Q$ and $W$, up
# to factors that depend on $\Sigma$? *Smallest case:* two letters.
#
# ### Open questions of other pages
# - *The depth of a computer.* SUBLEQ runs in {doc}`one layer </notebooks/looped-transformers/one_layer>` if each cell
#   has four columns. On the paper's columns, one per cell, we need {doc}`four layers
#   </notebooks/looped-transformers/remark_depth_bounds>`. Do three suffice there?
# - *A few heads, few samples.* {doc}`One head is determined by 2d samples
#   </notebooks/linear-attention/samples_for_one_head>`. How many samples determine a model of $H$ heads?
# - *Conditioning.* Bridge 3.2 says that a bound on the rank is reached. How many digits does
#   {doc}`the read-out </notebooks/bridges/how_much_hyper_attention_memorises>` necessarily lose? This is open even for
#   order 2 and keys of width one.
# - *Partners.* With separate contexts, {doc}`heads for given labels </notebooks/memorization/pairs_of_heads>` come in
#   pairs. Are the partners needed?
# - *Data against size.* With Algorithm 1, the number of runs from which {doc}`a layer learns to execute
#   </notebooks/linear-attention/lemma_5_1_learned_executor>` grows at most as a power. Is this also true of
#   {doc}`decoders that are trained </notebooks/linear-attention/figure_3_dfa_execution>`?
# - *Rates.* Does the learning rate matter less if we train one matrix than if we train
#   {doc}`all of them </notebooks/in-context-reasoning/appendix_d_rates>`?
#
# Three earlier questions of this list are settled: how many features {doc}`ordered tuples of few tokens
# <too_few_tokens>` have, how many samples determine one head, and whether {doc}`opposite queries
# </notebooks/memorization/queries_that_differ>` lower the rank for three tokens or more.
#
# ## What to remember
# - Most of our open questions are gaps between a construction and a count.
# - The widest gap is for the universal layer. According to the count, its memory could hold a tape in about $\sqrt W$
#   rows, but the construction uses a number of rows that grows like $W$.
# - A program without pointers can be short or fast. We do not know whether it can be both.
#
# ## Exercises
#
# 1. *By hand.* The construction uses $c=2W+9$ tokens for $W$ cells of two letters. For which $W$ does Bridge 5.1
#    exclude width 1?
#    <details><summary>Solution</summary>
#
#    For $d=1$ the bound is $3(2c+1)=3(4W+19)\ge2^W$. At $W=7$ it reads $141\ge128$, which is true, and at $W=8$ it
#    reads $153\ge256$, which is false. Width 1 is therefore excluded for $W\ge8$.
#
#    </details>
# 2. *Predict, then run.* Set `cells = 6`. How many different memories do you expect? Does the largest entry of $G$,
#    divided by the number of tokens, change much?
#    <details><summary>Solution</summary>
#
#    We find 64 memories, one per tape. The quotient rises from $9/17=0.53$ to $13/21=0.62$, and stays below 1, which
#    the proof allows.
#
#    </details>
#
# Next: [Bridge 1](one_machine_three_ways.ipynb). Two of these questions come from its machines.

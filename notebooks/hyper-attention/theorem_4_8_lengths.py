# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 4.8 · From one length to all lengths
# *Ustaomeroglu, Qu: Assumption 4.7, Theorem 4.8, Section 4.3; illustration and Remark D.1, Appendix D.2.*
#
# We train a layer of attention on sequences of one length. Will it be correct on longer and on shorter sequences? The
# theorem says yes, under two conditions. We show what goes wrong if either of them fails.

# %%
import torch

from attention_theory.hyper_attention.certified.data import (
    certify_generalization,
    certify_unseen_change,
    certify_unseen_direction,
)
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.gram import descend, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    counts,
    outputs_from_counts,
    sample_sequences,
)
from attention_theory.hyper_attention.interactions.versatility import data_matrix, unique_null_vector, versatility
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.randomness import generator
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Agents sit at heights 1 to 6 on a loop, and two agents touch if their heights differ by at most 1. We let each agent
# pay 1 for every agent that it touches, itself included. A layer adds up numbers from a list, one for each height. For
# the agent at height 2 we look at two lists:
#
# | height of the other agent | 1 | 2 | 3 | 4 | 5 | 6 |
# | --- | --- | --- | --- | --- | --- | --- |
# | the right list | −1 | −1 | −1 | 0 | 0 | 0 |
# | another list | 0 | −3 | 0 | 1 | 1 | 1 |
#
# Suppose that we train on three agents, no two at the same height. Then the two lists always give the same sum.

# %%
right_list, other_list = (-1, -1, -1, 0, 0, 0), (0, -3, 0, 1, 1, 1)
fig, axis = schematic.canvas(7.0, 2.6)
for row, heights in enumerate(((1, 2), (1, 2, 4), (1, 2, 4, 5))):
    y = 3.9 - 1.65 * row
    schematic.text(axis, (0.2, y + 0.45), f"{len(heights)} agents at heights", size=9, align="left")
    schematic.tokens(axis, [str(height) for height in heights], at=(3.5, y), lit=[1], step=1.1)
    for line, (name, values) in enumerate((("right list", right_list), ("other list", other_list))):
        terms = [values[height - 1] for height in heights]
        wrong = sum(terms) != sum(right_list[height - 1] for height in heights)
        colour = schematic.VERMILION if wrong else schematic.BLUE
        written = " + ".join(f"({term})" if term < 0 else str(term) for term in terms).replace("-", "−")
        words = f"{name}:  {written} = {sum(terms)}".replace("= -", "= −")
        schematic.text(axis, (8.3, y + 0.75 - 0.6 * line), words, colour, 9, "left")
show.figure(
    fig,
    name="lists",
    caption="What the agent at height 2 receives from each list. Blue sums are right, orange sums are wrong.",
    alt="Three rows of boxes with the heights of two, three and four agents. The right list gives -2, -2 and -2. The "
    "other list gives -3, -2 and -1, which is right for three agents alone.",
)

# %% [markdown]
# Both lists are right for three agents, and the second list fails for two and for four. Three agents at heights 2, 2
# and 4 would reveal the difference: the right list gives $-2$, the other $-3-3+1=-5$.
#
# A second danger lies in the target. Suppose that an agent does not pay for itself, so that its value is higher by 1.
# With three agents, a layer produces this 1 by adding $\frac13$ to every number in the list. With six agents, the same
# layer adds 2.
#
# ## The paper states
# The heights are the *symbols*, and $|\mathcal S|$ is their number. Training has length $L^*$:
# $\mathcal P_{X\times Y}^{L^*}$ is the distribution of inputs and targets of this length, and $\mathcal D^{L^*}$ are
# data of this length. The rows of $S_{\mathcal B_\mu^\infty}^{L^*}$ are the counts in all possible sequences of this
# length that contain $\mu$. The list of symbol $\mu$ is the row $T_\mu$ of the table $T_{\mu\nu}=C_{\mu\nu}w_\nu$, and
# $\Delta$ is the error in this table. Assumption 4.2 says that the data are versatile ([Theorem
# 4.6](theorem_4_6_generalization.ipynb)).
#
# <!-- claim hyper-attention/theorem-4-8 -->
# <blockquote>
#
# **Theorem 4.8 (Length generalisation)** *Section 4.3; proof in Appendix D.2*
#
# **The paper states.** Under the Assumptions 4.2 and 4.7, any $C^\dagger, W^{V\dagger}$ that generalizes to $\mathcal
# P_{X \times Y}^{L^*}$, must generalize to $\mathcal P_{X \times Y}^{\forall L}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/assumption-4-7 -->
# <blockquote>
#
# **Assumption 4.7 (Universal realizability)** *Section 4.3*
#
# **The paper states.** The task is universally realizable, meaning there exist matrices $C^{\forall L}$ and
# $W^{V,\forall L}$ such that the model perfectly fits the population distribution for all sequence lengths.
#
# <details><summary>Slips (1)</summary>
#
# - Section 4.2 announces this assumption as "even milder" than Assumption 4.5. Since it implies Assumption 4.5, it is
#   the stronger of the two.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** It holds for aggregate pairwise interactions that include the self term $j = i$. Read literally,
# Eq. 4 leaves out this term, and the assumption does not hold for it.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/theorem-4-8-illustration -->
# <blockquote>
#
# **Illustration of Theorem 4.8 (A change that one length cannot see)** *Appendix D.2*
#
# **The paper states.** Consider $\Delta_{\mu\mu} = a$ and $\Delta_{\mu\nu} = \frac{-a}{L^* - 1}$ $\forall \nu \ne \mu$.
# An unseen sequence of length $L \ne L^*$ incurs an additive deviation of $a \frac{L^* - L}{L^* - 1}$ from the desired
# target.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** This is true if no token repeats. At $L^*$ the deviation is zero.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-d-1 -->
# <blockquote>
#
# **Remark D.1 (Unique tokens are not versatile)** *Appendix D.2*
#
# **The paper states.** If there is a constraint on the distribution that the elements within the $\mathcal X$ tuple are
# unique, then $S_{\mathcal B_\mu^\infty}^{L^*}$ is not full rank since its column that corresponds to element $\mu$
# will be all 1 vector. There are some possible parameters that ensure zero error on $\mathcal D^{L^*}$ but do not
# generalize to $\mathcal D^L$ for any $L$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The rank is at most $|\mathcal S| - 1$, because the matrix maps $(-(L^*-1), 1, \dots, 1)$, with
# the first entry at $\mu$, to zero. The column of ones lowers the rank because all rows sum to $L^*$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Versatile data determine the whole table. If *some* layer is correct at all lengths, training therefore finds its
# table. Each condition can fail, as in the example.
#
# - **No token twice.** Every sequence with $\mu$ contains it once, and the other $L^*-1$ tokens are other symbols. The
#   list with $-(L^*-1)$ at $\mu$ and 1 elsewhere adds up to 0 on all these data. If we add a multiple of it to the
#   right list, with the number $a$ at $\mu$, the output at length $L$ changes by $a\frac{L^*-L}{L^*-1}$.
# - **No self term.** If we leave out $j=i$ in the target, a layer produces the difference of 1 as $\sum_\nu s_\nu/L^*$,
#   where $s_\nu$ counts the tokens with symbol $\nu$. At length $L$ this is $L/L^*$, and the squared error is exactly
#   $(1-L/L^*)^2$. [Definition 6.1](definition_6_1_hyper_attention.ipynb) says more about $j=i$.

# %% tags=["parameters"]
grid = 36  # N, the number of symbols, from 12 to 80
trained_length = 10  # L*, from 3 to min(40, grid)
radius = 2  # R, at least 1
samples = 4000  # training sequences B, from 500 to 100000
lengths = [2, 5, 10, 20, 30, 40]  # lengths of the tests, each from 1 to 200; those up to N serve for unique tokens
tests = 500  # fresh sequences of each length, from 50 to 100000
steps = 6000  # descent steps, from 1000 to 100000
rate = 0.05  # step size, from 0.0001 to grid ** 2 / 6480
seed = 0  # of every draw, at least 0

# %%
require(grid=(grid, 12, 80), trained_length=(trained_length, 3, min(40, grid)), radius=(radius, 1, None))
require(samples=(samples, 500, 100_000), lengths=(Each(lengths), 1, 200), tests=(tests, 50, 100_000))
require(steps=(steps, 1000, 100_000), seed=(seed, 0, None))
require(rate=(rate, 1e-4, grid**2 / 6480))  # on a smaller grid heights come together oftener: such steps diverge there

# %% [markdown]
# ## See it run
# We train three layers: with the self term in the target, without it, and on sequences in which no height occurs twice.
# Then we measure errors on fresh sequences.

# %%
draw = generator(seed)
window = window_matrix(grid, radius)
with_self = -window
# without the self term the value is 1 higher, which at the trained length is a sum over all tokens of 1 / L*
without_self = -window + 1 / trained_length
symbols = sample_sequences(samples, trained_length, grid, draw)
unique = sample_sequences(samples, trained_length, grid, draw, unique=True)
start = torch.ones(2, grid, dtype=torch.float64)
targets = torch.stack([with_self, without_self])
repeats_run = descend(gram_tensors(symbols, grid), targets, start, [(rate, rate)] * 2, steps, record_every=steps)
unique_run = descend(gram_tensors(unique, grid), targets[:1], start[:1], [(rate, rate)], steps, record_every=steps)
minus_one = -torch.ones(grid, 1, dtype=torch.float64)


# %%
def error_at(length, tensor, self_term=True, unique=False):
    """The mean squared error of a token against the collisions counted pair by pair, on fresh sequences."""
    fresh = sample_sequences(tests, length, grid, seed + 1000 + length, unique=unique)
    truth = aggregate_interactions(fresh, window, minus_one, self_term=self_term)
    return (outputs_from_counts(fresh, tensor[..., None]) - truth).square().mean().item()


short = [length for length in lengths if length <= grid]
errors = {length: error_at(length, repeats_run.tensor[0]) for length in lengths}
errors_without = {length: error_at(length, repeats_run.tensor[1], self_term=False) for length in lengths}
errors_unique = {length: error_at(length, unique_run.tensor[0], unique=True) for length in short}
curve = [(1 - length / trained_length) ** 2 for length in lengths]
fine, floor = torch.linspace(min(lengths), max(lengths), 400), 1e-32

# %%
fig, axis = show.axes(width=6.5)
axis.semilogy(lengths, [max(errors[n], floor) for n in lengths], "o-", label="with repeats, self term in the target")
axis.semilogy(
    lengths, [max(errors_without[n], floor) for n in lengths], "s", label="with repeats, no self term (Eq. 4)"
)
axis.semilogy(fine, (1 - fine / trained_length) ** 2, ":", color="grey", label="(1 - L/L*)²")
axis.semilogy(
    short, [max(errors_unique[n], floor) for n in short], "^--", color=show.COLOURS[2], label="no height twice"
)
axis.axvline(trained_length, color="grey", linewidth=0.8)
axis.set(xlabel="length L of the test sequences (trained at the vertical line)", ylabel="mean squared error per token")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="lengths",
    caption="All three layers are correct at the length on which they were trained. Only the layer with versatile "
    "data and a self term in its target is correct at other lengths.",
    alt="Squared errors on a logarithmic axis against length. One line stays at the rounding level; two series are at "
    "rounding level only at the trained length and large elsewhere, one of them exactly on a dotted curve.",
)

# %% [markdown]
# At other lengths, only the first layer stays at rounding level. The squares, without the self term, lie exactly on the
# dotted curve.
#
# Next, we fit the best layer to three lengths together, add $\Delta$ to the table of a layer, and multiply the data
# matrices by the list that adds up to 0 on them.

# %%
hidden = unique_run.tensor[0] - with_self
unseen = sample_sequences(tests, trained_length, grid, draw, unique=True)
eq_32 = outputs_from_counts(unseen, hidden[..., None]).abs().max()
full_rank = bool(versatility(symbols, grid).ranks.min() == grid)
no_room = (repeats_run.tensor[0] - with_self).abs().max()

# %%
small = 8
small_window = window_matrix(small, 1)
several = [sample_sequences(150, length, small, seed + length) for length in (2, 4, 8)]


def best_fit(parts, self_term):
    """Relative residual of the best layer on these sequences together."""
    hot = torch.eye(small, dtype=torch.float64)
    features = [torch.einsum("nia,nb->niab", hot[part], counts(part, small)).flatten(2).flatten(0, 1) for part in parts]
    truth = [aggregate_interactions(part, small_window, minus_one[:small], self_term).flatten(0, 1) for part in parts]
    return relative_residual(torch.cat(features), torch.cat(truth))


# %%
amount = 0.7
delta = torch.full((grid, grid), -amount / (trained_length - 1), dtype=torch.float64)
delta.fill_diagonal_(amount)
deviations, repeated_deviations = [], []
for length in short:
    expected = amount * (trained_length - length) / (trained_length - 1)
    distinct = sample_sequences(tests, length, grid, draw, unique=True)
    deviations.append((outputs_from_counts(distinct, delta[..., None]) - expected).abs().max().item())
    repeated = sample_sequences(tests, length, grid, draw)
    repeated_deviations.append((outputs_from_counts(repeated, delta[..., None]) - expected).abs().max().item())

# %%
found = versatility(unique, grid)
invisible = max(
    (data_matrix(unique, symbol, grid) @ unique_null_vector(symbol, grid, trained_length)).abs().max().item()
    for symbol in range(grid)
)
few_symbols = 6
mixed = [counts(sample_sequences(200, length, few_symbols, draw, unique=True), few_symbols) for length in (3, 4)]
mixed_rows = torch.cat([rows[rows[:, 0] > 0] for rows in mixed])
same_length = mixed[0][mixed[0][:, 0] > 0]

# %% [markdown]
# ## How we checked
# With versatile data and the self term, the error must be zero at every length. As controls, we take tokens without
# repeats, Eq. 4 without its self term, repeated tokens in the illustration, and mixed lengths in the remark. For two
# symbols and training on three tokens, exact ranks prove the theorem at lengths 1 to 5.

# %%
claim = Claim("hyper-attention/theorem-4-8")
for length in lengths:
    claim.at_most(f"versatile data, self term in the target, L = {length}", errors[length], 1e-12)
for length in short:
    if length == trained_length:
        claim.at_most(f"no height twice, L = {length}", errors_unique[length], 1e-12)
    else:
        claim.control.at_most(f"no height twice, L = {length}", errors_unique[length], 1e-12)
for length, value in zip(lengths, curve, strict=True):
    claim.equal(f"Eq. 4 without the self term, L = {length}", errors_without[length], value, tolerance=1e-9)
claim.control.at_most("Eq. 4 without the self term, the longest L", errors_without[max(lengths)], 1e-12)
claim.at_most("no height twice: Δ added up on sequences of L* tokens", eq_32, 1e-6, of="proof")
claim.control.at_most("no height twice: largest entry of Δ", hidden.abs().max(), 1e-3)
claim.true("with repeats: data matrices of full rank", full_rank, of="proof")
claim.at_most("with repeats: largest entry of Δ", no_room, 1e-5, of="proof")
claim.certified("two symbols, trained at three tokens: every data set", certify_generalization([1, 2, 3, 4, 5]))
claim.verdict()

# %%
claim = Claim("hyper-attention/assumption-4-7")
claim.at_most("self term in the target, three lengths together", best_fit(several, True), 1e-12)
claim.at_most("Eq. 4, one length", best_fit(several[1:2], False), 1e-12)
claim.control.at_most("Eq. 4, three lengths together", best_fit(several, False), 1e-12)
claim.verdict()

# %%
claim = Claim("hyper-attention/theorem-4-8-illustration")
claim.at_most("unique tokens, largest distance from a(L* - L)/(L* - 1)", max(deviations), 1e-13)
claim.control.at_most("repeated tokens, largest distance", max(repeated_deviations), 1e-13)
claim.certified("five symbols: all sequences without repeats, all a", certify_unseen_change())
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-d-1")
claim.equal("largest rank of a data matrix", int(found.ranks.max()), grid - 1)
claim.equal("least rank of a data matrix", int(found.ranks.min()), grid - 1)
claim.equal("data matrices times their null vectors, largest entry", invisible, 0)
claim.equal("six symbols, one length: rank", int(torch.linalg.matrix_rank(same_length)), few_symbols - 1)
claim.control.below(
    "a column of ones, but lengths 3 and 4 mixed: rank", int(torch.linalg.matrix_rank(mixed_rows)), few_symbols
)
claim.certified("six symbols: the null vector, and no other, exactly", certify_unseen_direction(few_symbols, 3))
claim.at_most(
    "layer with null vectors added: error at L*", error_at(trained_length, with_self + delta, unique=True), 1e-12
)
claim.control.equal("tokens that may repeat: least rank", int(versatility(symbols, grid).ranks.min()), grid - 1)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Descent diverges if its step is too large. On a small grid this happens sooner, because heights coincide more often
# there. The bound on `rate` is the square of the grid's size, scaled to a step that converged; we did not try every
# larger step.
#
# </details>
#
# ## Where the paper differs
# The paper reports small errors at other lengths for Eq. 4, which leaves out $j=i$. These need the self term, which is
# the bias of the appendix. Remark D.1 attributes the lower rank to a column of ones, but this column lowers the rank
# only because all rows sum to $L^*$. With mixed lengths, the rank is full.
#
# ## What to remember
# - A layer trained at one length is correct at all others if the data determine its table and some layer is correct at
#   all lengths.
# - Without repeated tokens, one direction per symbol is undetermined, and its error at other lengths has a formula.
# - A layer can learn a target without $j=i$ at one length, but then errs by $1-L/L^*$ at another.
#
# ## Exercises
#
# 1. *By hand.* With $L^*=3$, which list adds up to 0 on all sequences without repeats, for the agent at height 5?
#    <details><summary>Solution</summary>
#
#    It has $-2$ at height 5 and 1 elsewhere: $(1,1,1,1,-2,1)$. An agent at height 5 meets itself once and two others,
#    and $-2+1+1=0$.
#
#    </details>
# 2. *Predict, then run.* Set `trained_length = 8`. What is the squared error of the layer without the self term at
#    $L=20$?
#    <details><summary>Solution</summary>
#
#    It is $(1-\frac{20}8)^2=2.25$.
#
#    </details>
#
# Next: [Remark F.6](remark_f_6_parallelogram.ipynb). Tokens with several features show a limit of linear layers.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix B.1.3 · More complex agents: two coordinates, two policies
# *Ustaomeroglu, Qu: Appendix B.1.3, Eq. 18.*
#
# In the paper's first example agents on a grid of $N \times N$ cells collide, and who collides with whom depends on
# their heights alone ({doc}`the page of Example 1 </notebooks/hyper-attention/example_1_colliding_agents>`). Here more
# matters. A collision costs 10 if the two agents began at least a distance $R_2$ apart and 1 if they began closer, so
# that both coordinates count; in the second half of the page an agent also has a policy, the direction in which it
# walks. What agent $i$ at the place $r_i = (n_i^x, n_i^y)$ is worth is a sum over the other agents, $V_i = \sum_{j \ne
# i} f(r_i - r_j)\, w_{r_j}$: $f$ says what an agent does to another one at that difference of places, and $w$ how much
# an agent at the place $r_j$ weighs. ($R$ is the radius of an agent; $\mathbb I\{\cdot\}$ is 1 where the condition
# holds, else 0.)
#
# Can one layer of attention hold such a sum for $L$ agents? A linear layer takes tokens, the rows of $X$, to $(X C
# X^\top) X W^V$, with scores from a matrix $C$ and values from $W^V$. By Theorem 3.1 it holds every table $F_{\mu\nu} =
# f(\mu, \nu)$ and every list of weights $w_\nu$ on pairs of symbols, if the symbols are coded by orthogonal vectors.
# The theorem does not care what a symbol is. A symbol may be a cell of a grid, or a cell with a policy. The paper codes
# it by the Kronecker product of the codes of its parts: $p = p^x \otimes p^y$, with $N$ sines and cosines for each
# coordinate, and $z = q \otimes p^x \otimes p^y$, with a one-hot $q$ for the policy. The product $\otimes$ lists all
# products of an entry of the first code with one of the second: $(1,2)\otimes(3,4)=(3,4,6,8)$. These are orthogonal
# vectors again, of dimension $N^2$ and $2N^2$, so the layer needs $N^4$ and $4N^4$ scores. ($P$ is the matrix with the
# codes $p$ as rows.)
#
# <!-- claim hyper-attention/two-coordinate-construction -->
# <blockquote>
#
# **App. B.1.3 (Agents with two coordinates)** *Appendix B.1.3*
#
# **As printed.** Collisions that cost 10 from afar and 1 from close by have $V_i = -\sum_{j \ne i} \mathbb I\{|n_i^y -
# n_j^y| \le 2R\}\,(1 + 9\,\mathbb I\{\mathrm{dist} \le R_2\})$. (In the construction, $C$ for $f$ and $W^V$ for $w$ are
# to leave out $j = i$, and the scores come from a Fourier series in two coordinates.)
#
# **Corrected.** With $p = p^x \otimes p^y \in \mathbb R^{N^2}$ and at each given number $L$ of agents one layer with
# $N^4$ scores represents any $V_i = \sum_{j \ne i} f(r_i - r_j)\, w_{r_j}$ on an $N \times N$ grid. (The sum over all
# $j$ is had with $C = (2/N)^4 P^\top F P$, $W^V = (2/N)^2 P^\top w$, at all $L$ at once. If $f$ is taken around loops
# in both coordinates, this $C$ has the block structure of the Fourier series; otherwise more of it is needed.)
#
# $\mathrm{dist} \ge R_2$ in the second indicator, and the distance around the loop in the first one. (These weights sum
# over all $j$. The scores $f(\mu, \nu)\, w_\nu - \frac1L f(\mu, \mu)\, w_\mu$ with values 1 leave out $j = i$ for $L$
# agents, and none do for two numbers of agents. A series asks for loops in both coordinates, and the $x$ axis ends at a
# wall; Theorem 3.1 gives the scores without them.)
#
# </blockquote>
# <!-- /claim -->
#
# In the sinusoidal code most of the scores are zero, if the effect depends on differences alone, *both* taken around a
# loop. The $x$ axis of the colliding agents is no loop. The layer is exact there too, but many more of its scores are
# needed.
#
# **Leaving oneself out.** The paper's sums are over $j \ne i$, and its weights, $C$ for $f$ and $W^V$ for $w$, sum over
# all $j$. Another choice does what is claimed. Appendix B.1.3 speaks of $L$ agents, and at a given $L$ every token can
# take its own term back, a share of $1/L$ from each of the $L$ tokens: with $W^V$ reading 1 of every symbol, the table
# of scores is, in one-hot terms,
#
# $$C_{\mu\nu} = f(\mu, \nu)\, w_\nu - \tfrac1L f(\mu, \mu)\, w_\mu .$$
#
# It is right for $L$ agents and for no other number of them. No weights are right for two numbers: if all agents are
# alike, of kind $\mu$, the layer is $L\, T_{\mu\mu}$, with $T_{\mu\mu}$ the score times the value, and the sum is
# $(L - 1) f(\mu, \mu) w_\mu$. "For any $L$" is said of Eqs. 4 and 13 only, the subject of the page on Example 1.

# %%
import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.fourier import position_code
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    represent,
    represent_others,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.grids import (
    distance_effect,
    labelled_effect,
    shift_invariant_effect,
)
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
half_grid = 3  # N/2 of the grid with two coordinates, from 2 to 6
radius = 1  # R, at least 0
far = 2  # distance from which on a collision is dear, from 2 to half_grid
labelled_half_grid = 2  # N/2 of the grid with policies, from 2 to 4
agents = 9  # agents in a configuration, from 2 to 100
samples = 200  # configurations tried, from 20 to 5000
seed = 0  # of every draw, at least 0

# %%
require(half_grid=(half_grid, 2, 6), radius=(radius, 0, None), far=(far, 2, half_grid), agents=(agents, 2, 100))
require(labelled_half_grid=(labelled_half_grid, 2, 4), samples=(samples, 20, 5000), seed=(seed, 0, None))
grid, labelled_grid = 2 * half_grid, 2 * labelled_half_grid

# %% [markdown]
# ## Two coordinates
# Three effects: a random one that depends on both differences around loops; the paper's example, a collision that costs
# 10 if the agents began far apart and 1 if they began close; and the same with an $x$ axis that is no loop. The formula
# in print charges the 10 to those who began *close*, against the sentence before it, and forgets the loop in its first
# factor: two misprints.
#
# Two things are more, both of the construction. Its weights add $f(0)\,w$ of the agent itself, which here is no
# constant; the weights above take it back. And a Fourier series in two coordinates asks for a loop in both, where the
# $x$ axis of the environment ends at a wall. Theorem 3.1 does not need the loop: the scores are there, but fill more
# cells.
#
# <details><summary>Proof of App. B.1.3, two coordinates, repaired</summary>
#
# The rows of $P$ are $p^x_m \otimes p^y_n$. Inner products of Kronecker products are products of inner products, so
# that $P P^\top = \bigl(\frac N2\bigr)^2 I$: up to the factor $N/2$ the code is an orthonormal embedding of $N^2$
# symbols, with $P^{-1} = (2/N)^2 P^\top$. By Theorem 3.1 every table $F$ of scores is had with $C = P^{-1} F
# P^{-\top}$, and every vector of values with $W^V = P^{-1} w$; the layer is then the sum over *all* $j$.
#
# *Without $j = i$.* Take the table $F_{\mu\nu} w_\nu - \frac1L F_{\mu\mu} w_\mu$ and the values 1. A token $\mu$ gets
# $\sum_j F_{\mu \mathcal X(j)} w_{\mathcal X(j)} - L \cdot \frac1L F_{\mu\mu} w_\mu$, which is the sum over $j \ne i$,
# whatever the other tokens are.
#
# *Blocks.* If $f$ is taken around both loops, it is a sum of products of one-dimensional waves, and Theorem B.6 in each
# coordinate gives $C$ as a sum of Kronecker products of its blocks: cells outside these products of blocks are zero. If
# it is not, nothing makes them zero. $\square$
#
# </details>

# %%
draw = generator(seed)
code = torch.kron(position_code(grid), position_code(grid))
weights = normal(grid**2, 1, seed=draw)
symbols = sample_sequences(samples, agents, grid**2, draw)
one_more = sample_sequences(samples, agents + 1, grid**2, draw)
effects = {
    "random, both loops": shift_invariant_effect(normal(grid, grid, seed=draw)),
    "10 from afar, both loops": distance_effect(grid, radius, far),
    "10 from afar, x no loop": distance_effect(grid, radius, far, looped_x=False),
}

# %% [markdown]
# The layer of Theorem 3.1 in the product code, beside the one that takes its own term back; and the latter with one
# agent more than it was made for.


# %%
def layer_errors(effect):
    """The score matrix of Theorem 3.1; errors a term: with j = i, without it, repaired, and with one agent more."""
    score, value = represent(effect, weights, code)
    outputs = linear_attention(code[symbols], score, value)
    every, others = (aggregate_interactions(symbols, effect, weights, self_term=own) for own in (True, False))
    repaired = represent_others(effect, weights, code, agents)
    more = aggregate_interactions(one_more, effect, weights, self_term=False)
    apart = (
        outputs - every,
        outputs - others,
        linear_attention(code[symbols], *repaired) - others,
        linear_attention(code[one_more], *repaired) - more,
    )
    return score, [one.abs().max().item() / one.shape[1] for one in apart]


# %% [markdown]
# Each effect in turn:

# %%
found = {name: layer_errors(effect) for name, effect in effects.items()}
scores = {name: score for name, (score, _) in found.items()}
with_self, without_self, repaired, at_another = (
    {name: errors[k] for name, (_, errors) in found.items()} for k in range(4)
)
filled = {name: int((score.abs() > 1e-12).sum()) for name, score in scores.items()}
show.table(
    ["effect", "sum over all j", "over j ≠ i, as printed", "over j ≠ i, repaired", "one agent more", "filled", "of"],
    [[n, with_self[n], without_self[n], repaired[n], at_another[n], filled[n], grid**4] for n in effects],
    caption="Largest errors a term of the layers against two sums, and how many scores of Theorem 3.1's are not zero.",
)

# %% [markdown]
# Which of its scores are not zero:

# %%
fig, axes = show.axes(1, 3, width=9, height=3.4)
for axis, (name, score) in zip(axes, scores.items(), strict=True):
    axis.imshow(score.abs() > 1e-12, cmap="Greys", vmin=0, vmax=1.4)
    axis.set_title(name, fontsize=9)
    axis.set_xlabel("column ν")
    axis.grid(False)
axes[0].set_ylabel("row μ")
show.figure(
    fig,
    name="scores",
    caption="Which scores are not zero, in the product of two sinusoidal codes. Small blocks for effects of looped "
    "differences; a symmetric effect needs still fewer; many more without the loop in x.",
    alt="Three square images of filled and empty cells: small blocks on the diagonal and next to it; single cells on "
    "parts of the diagonal; and short diagonal strokes all over the square, with many more filled cells.",
)

# %% [markdown]
# The scores in closed form, as in the paper up to the factors that make $P$ orthonormal: $C = (2/N)^4 P^\top F P$ and
# $W^V = (2/N)^2 P^\top w$.

# %%
random_effect = effects["random, both loops"]
closed_score = (2 / grid) ** 4 * code.mT @ random_effect @ code
closed_value = (2 / grid) ** 2 * code.mT @ weights
closed = linear_attention(code[symbols], closed_score, closed_value)
closed_error = (closed - aggregate_interactions(symbols, random_effect, weights)).abs().max() / agents
unscaled = linear_attention(code[symbols], code.mT @ random_effect @ code, code.mT @ weights)
unscaled_error = (unscaled - aggregate_interactions(symbols, random_effect, weights)).abs().max() / agents

# %% [markdown]
# The printed value function is held against the one in words.

# %%
minus_one = -torch.ones(grid**2, 1, dtype=torch.float64)
in_words = aggregate_interactions(symbols, distance_effect(grid, radius, far), minus_one)
in_print = aggregate_interactions(symbols, distance_effect(grid, radius, far, form="printed"), minus_one)

# %% [markdown]
# The sum over $j \ne i$ must come out with the repaired weights, and not with the printed ones, nor for another number
# of agents. Errors are taken for each term of the sums, so that many agents are not held to more than few. Which scores
# are filled is asked of the printed weights.

# %%
claim = Claim("hyper-attention/two-coordinate-construction")
claim.at_most("repaired weights against the sum over j ≠ i: largest error a term", repaired, 1e-12)
claim.at_most("weights of Theorem 3.1 against the sum over all j: largest error a term", with_self, 1e-12)
claim.at_most("closed form of these weights: largest error a term", closed_error, 1e-12)
claim.equal("scores", scores["random, both loops"].numel(), grid**4)
blocks = 2 + 4 * (half_grid - 1)  # one-dimensional: two single entries, and a block of four a frequency
claim.at_most("scores not zero, random effect of looped differences", filled["random, both loops"], blocks**2)
no_loop = "10 from afar, x no loop"
claim.above("scores not zero, x no loop", filled[no_loop], filled["10 from afar, both loops"])
claim.misprint.equal("printed value function against the one in words", (in_print - in_words).abs().max(), 0)
claim.control.at_most("repaired weights with one agent more: largest error a term", at_another, 1e-12)
claim.printed.at_most(
    "printed weights against the sum over j ≠ i: largest error a term", without_self, 1e-12, of="proof"
)
claim.at_most("weights that take the own term back: largest error a term", repaired, 1e-12, of="proof")
label = "scores of a two-dimensional series are enough, x no loop"
claim.printed.at_most(label, filled[no_loop], blocks**2, of="proof")
claim.at_most("scores as in Theorem 3.1, x no loop: largest error a term", with_self[no_loop], 1e-12, of="proof")
claim.control.at_most("P not scaled to be orthonormal: largest error a term", unscaled_error, 1e-12)
claim.verdict()

# %% [markdown]
# ## Two policies
#
# <!-- claim hyper-attention/non-identical-construction -->
# <blockquote>
#
# **App. B.1.3 (Agents with policies)** *Appendix B.1.3, Eq. 18*
#
# With $z = q \otimes p^x \otimes p^y \in \mathbb R^{2N^2}$ and at each given number $L$ of agents one layer with $4N^4$
# scores represents any $V_i = \sum_{j \ne i} f(r_i - r_j, q_i, q_j)\, w_{r_j, q_j}$. (Exact at each $L$, but not at
# several with one set of weights, which the paper does not say here.)
#
# **In the paper's construction.** $C$ captures $f$, and $W^V$ reads $w$, as for two coordinates.
#
# **Corrected.** That layer adds $f(0, q_i, q_i)\, w_{r_i, q_i}$, the term $j = i$. The scores $f(\mu, \nu)\, w_\nu -
# \frac1L f(\mu, \mu)\, w_\mu$ with values 1 leave it out.
#
# </blockquote>
# <!-- /claim -->
#
# Half of the agents step right, the others step up. Whether two of them ever share a cell depends on their difference
# and on both policies, on a torus, where there is no wall. The effect is found by moving every pair of agents; the
# layer has $d = 2N^2$. Eq. 18 leaves out $j = i$; an agent always shares its own cell, so the printed weights add
# $f(0)\,w$ of the agent itself, and the repaired ones take it back.
#
# <details><summary>Proof of App. B.1.3, non-identical agents, Eq. 18, repaired</summary>
#
# The symbols are the $2N^2$ triples $\mu$ of a policy and two coordinates, and $q \otimes p^x \otimes p^y$ is, up to a
# factor, an orthonormal embedding of them. By Theorem 3.1 some $C$ with $(2N^2)^2$ entries and some $W^V$ have the
# scores $f(\mu, \nu)\, w_\nu - \frac1L f(\mu, \mu)\, w_\mu$ and the values 1, and the sum of these over the $L$ agents
# is that of Eq. 18: the second part adds up to the term $j = i$.
#
# With scores $f$ and values $w$, as printed, that term stays. And no weights do at two numbers of agents, unless all
# $f(\mu, \mu)\, w_\mu = 0$: if all agents are of one kind $\mu$, the layer gives each $L\, T_{\mu\mu}$, and Eq. 18 asks
# for $(L - 1) f(\mu, \mu)\, w_\mu$. $\square$
#
# </details>

# %%
policies = one_hot(2)
along = position_code(labelled_grid)
agent_code = torch.kron(torch.kron(policies, along), along)
meets = labelled_effect(labelled_grid)
kinds = 2 * labelled_grid**2
agent_weights = normal(kinds, 1, seed=draw)
crowd = sample_sequences(samples, agents, kinds, draw)
score, value = represent(meets, agent_weights, agent_code)
outputs = linear_attention(agent_code[crowd], score, value)
eq_18 = aggregate_interactions(crowd, meets, agent_weights, self_term=False)
own_term = (meets.diagonal()[:, None] * agent_weights)[crowd]
repaired_layer = represent_others(meets, agent_weights, agent_code, agents)
eq_18_error = (linear_attention(agent_code[crowd], *repaired_layer) - eq_18).abs().max()

# %% [markdown]
# For one control there is one agent more than the layer was made for, for the other the effect is made one of the cells
# alone.

# %%
larger_crowd = sample_sequences(samples, agents + 1, kinds, draw)
larger_sum = aggregate_interactions(larger_crowd, meets, agent_weights, self_term=False)
larger_error = (linear_attention(agent_code[larger_crowd], *repaired_layer) - larger_sum).abs().max()
cells = labelled_grid**2
by_policy = meets.reshape(2, cells, 2, cells)
no_labels = by_policy.mean(dim=(0, 2)).repeat(2, 2)  # an effect of the cells alone: policies ignored
ignoring = represent_others(no_labels, agent_weights, agent_code, agents)
ignoring_error = (linear_attention(agent_code[crowd], *ignoring) - eq_18).abs().max()

# %% [markdown]
# From which cells does another agent come to meet the one in the middle?

# %%
start = labelled_grid // 2 * labelled_grid + labelled_grid // 2
fig, axes = show.axes(1, 2, width=6.5, height=3.2, sharey=True)
for axis, other, title in zip(axes, (0, 1), ("right meets right", "right meets up"), strict=True):
    axis.imshow(
        by_policy[0, start, other].reshape(labelled_grid, labelled_grid).mT, origin="lower", cmap="Blues", vmin=0
    )
    axis.plot([labelled_grid // 2], [labelled_grid // 2], "o", color=show.COLOURS[1])
    axis.set(title=title, xlabel="x of the other", xticks=range(labelled_grid), yticks=range(labelled_grid))
    axis.grid(False)
axes[0].set_ylabel("y of the other")
show.figure(
    fig,
    name="policies",
    caption="From which cells (blue) another agent ends up meeting the one at the dot, who steps right. One with the "
    "same policy must start at the same cell; one that steps up may start anywhere on a diagonal.",
    alt="Two small grids. On the left only the cell of the dot is filled, on the right a falling diagonal around the "
    "torus.",
)

# %% [markdown]
# The repaired layer is held against Eq. 18 to the letter, the printed one against it too, and with the own term added.

# %%
claim = Claim("hyper-attention/non-identical-construction")
claim.at_most("repaired layer against Eq. 18, largest error", eq_18_error, 1e-12)
claim.equal("scores", repaired_layer[0].numel(), 4 * labelled_grid**4)
claim.control.at_most("the same with one agent more, largest error", larger_error, 1e-12)
claim.control.at_most("policies ignored, largest error", ignoring_error, 1e-12)
claim.printed.close("C for f, W for w, against Eq. 18, largest error", outputs, eq_18, atol=1e-12, of="proof")
with_own = (outputs - eq_18 - own_term).abs().max()
claim.at_most("the same against Eq. 18 plus the own term, largest error", with_own, 1e-12, of="proof")
claim.at_most("own term taken back in the scores, largest error", eq_18_error, 1e-12, of="proof")
claim.verdict()

# %% [markdown]
# ## What was learned
# Coordinates and labels are no more than a larger set of symbols, and one layer holds any effect on them at the price
# of its square. The sinusoidal code thins the scores out where both coordinates are loops, and only there. The printed
# weights add the agent's action on itself, which the paper's sums leave out; for a given number of agents other weights
# leave it out, and no weights do for two numbers.
#
# ## To try
# - Set `half_grid = 4` and `far = 3`: 4096 scores in place of 1296, and a smaller share of them filled.
# - Set `agents = 2`: half of the own term is taken back from each of two tokens, and the repaired layer is exact.

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
# So far, we needed only the height of an agent. What if both coordinates matter, or if agents walk in different
# directions? Then each combination becomes a symbol, and one layer still represents every effect. How many scores does
# this take, and can the layer leave out an agent's effect on itself?

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
from bookpress.claims import schematic

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
# ## A tiny example
# Two agents share a cell, and each should receive 1 from the other. A layer with scores of 1 also adds the agent
# itself, so it gives 2. If we subtract ½ from every score, each agent receives ½ + ½ = 1.

# %%
fig, axis = schematic.canvas(7.0, 2.0)
for row, (count, received, wanted_words) in enumerate(((2, "1", "wanted: 1"), (3, "1½", "wanted: 2"))):
    y = 2.5 - 1.6 * row
    schematic.text(axis, (0.6, y + 0.45), f"{count} agents in a cell", size=9, align="left")
    schematic.tokens(axis, ["½"] * count, at=(4.4, y), step=1.3)
    colour = schematic.VERMILION if row else schematic.BLUE
    schematic.text(axis, (8.6, y + 0.45), f"sum {received},  {wanted_words}", colour, align="left")
show.figure(
    fig,
    name="taken-back",
    caption="With scores of ½ instead of 1, two agents receive what they should, but three agents do not.",
    alt="Two rows of boxes with one half in each. Two boxes sum to 1, as wanted. Three boxes sum to one and a half, "
    "where 2 is wanted.",
)

# %% [markdown]
# Each number of agents needs different scores.
#
# ## The paper states
# Agent $i$ is in the cell $r_i=(n_i^x,n_i^y)$ of an $N\times N$ grid and has the policy $q_i$. The codes $p^x$ and
# $p^y$ consist of sines and cosines, the rows of $P$ are the codes $p^x\otimes p^y$ of the cells, and $\otimes$ lists
# all products of their entries: $(1,2)\otimes(3,4)=(3,4,6,8)$.
#
# <!-- claim hyper-attention/two-coordinate-construction -->
# <blockquote>
#
# **Appendix B.1.3 (Agents with two coordinates)** *Appendix B.1.3*
#
# **The paper states.** Agents receive huge penalties $-10$ if they collide even though initially they are far away,
# $\mathrm{dist}(n_i, n_j) \ge R_2$, and small $-1$ penalties if initially very close: $V_i = -\sum_{j \ne i} \mathbb
# I\{|n_i^y - n_j^y| \le 2R\} \cdot (1 + 9 \cdot \mathbb I\{\mathrm{dist}(n_i, n_j) \le R_2\})$. With $p_i = p_i^x
# \otimes p_i^y$, a single-layer linear self-attention (dimension $d = N^2$) recovers exactly $V_i = \sum_{j \ne i}
# f(r_i - r_j)\, w_{r_j}$.
#
# **What is true.** The second indicator must contain $\mathrm{dist} \ge R_2$, and the first the distance around the
# loop. For each given number $L$ of agents, one layer with $N^4$ scores represents any $V_i = \sum_{j \ne i} f(r_i -
# r_j)\, w_{r_j}$.
#
# **What changed.** The inequality in the second indicator is reversed, which contradicts the preceding sentence, and
# the first indicator ignores the loop in $y$.
#
# <details><summary>Slips (2)</summary>
#
# - In the construction, the layer with $C$ for $f$ and $W^V$ for $w$ sums over all $j$. The scores $f(\mu, \nu)\, w_\nu
#   - \frac1L f(\mu, \mu)\, w_\mu$ with values 1 leave out $j = i$ for $L$ agents; unless all $f(\mu, \mu)\, w_\mu$ are
#   0, no weights do so for two different numbers of agents.
# - In the construction, a Fourier series in two coordinates needs both coordinates to be periodic, but the $x$ axis
#   ends at a wall. Theorem 3.1 gives the scores without periodicity.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For the sum over all $j$, $C = (2/N)^4 P^\top F P$ and $W^V = (2/N)^2 P^\top w$ are correct at
# all $L$ at once. If $f$ depends on differences around loops in both coordinates, this $C$ has the block structure of
# the Fourier series; otherwise more of its entries are nonzero.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/non-identical-construction -->
# <blockquote>
#
# **Appendix B.1.3 (Agents with policies)** *Appendix B.1.3, Eq. 18*
#
# **The paper states.** The value function is $V_{r_i, q_i} = \sum_{j \ne i} f(r_i - r_j, q_i, q_j)\, w_{r_j, q_j}$.
# With $z_i = q_i \otimes p_i^x \otimes p_i^y \in \mathbb R^{2N^2}$, a single-layer linear self-attention with $d =
# 2N^2$ dimensions suffices to represent Eq. (18). The parameter count grows to $\mathcal O(4N^4)$ in the fully general
# case.
#
# <details><summary>Slips (1)</summary>
#
# - In the construction, $C$ captures $f$, and $W^V$ reads $w$. This layer also adds $f(0, q_i, q_i)\, w_{r_i, q_i}$,
#   the term $j = i$. The scores $f(\mu, \nu)\, w_\nu - \frac1L f(\mu, \mu)\, w_\mu$ with values 1 leave it out.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Unless all $f(0, q, q)\, w_{r, q}$ are 0, each number $L$ of agents needs different weights,
# which the paper does not say here.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Products of orthogonal codes are orthogonal, so [Theorem 3.1](theorem_3_1_representation.ipynb) applies to $N^2$
# cells, or to $2N^2$ cells with a policy. The layer then has $N^4$ or $4N^4$ scores, and sums over all $j$.
#
# To leave out $j=i$ for $L$ agents, we subtract the agent's own term, a part $\frac1L$ of it from each score. Unless
# this term is 0, each $L$ needs other weights: if all agents are alike, the layer grows as $L$, but the sum as $L-1$.
#
# If the effect depends on differences around *both* loops, most entries of $C$ are zero in the sinusoidal code
# ([Theorem B.6](theorem_b_6_sinusoids.ipynb)). The $x$ axis of the paper's agents ends at a wall, and then more entries
# are nonzero.
#
# <details><summary>Proof of Appendix B.1.3, two coordinates, repaired</summary>
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
#
# <details><summary>Proof of Appendix B.1.3, non-identical agents, Eq. 18, repaired</summary>
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
#
# ## See it run
# We run three effects: a random one around both loops, the paper's collisions that cost 10 or 1, and these collisions
# with a wall in $x$.

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


# %%
found = {name: layer_errors(effect) for name, effect in effects.items()}
scores = {name: score for name, (score, _) in found.items()}
with_self, without_self, repaired, at_another = (
    {name: errors[k] for name, (_, errors) in found.items()} for k in range(4)
)
filled = {name: int((score.abs() > 1e-12).sum()) for name, score in scores.items()}
show.table(
    [
        "effect",
        "sum over all j",
        "over j ≠ i, the paper's weights",
        "over j ≠ i, repaired",
        "one agent more",
        "filled",
        "of",
    ],
    [[n, with_self[n], without_self[n], repaired[n], at_another[n], filled[n], grid**4] for n in effects],
    caption="Largest errors per term of the layers, compared with two sums, and the number of entries of the score "
    "matrix of Theorem 3.1 that are not zero (“filled”).",
)

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
    caption="The nonzero entries of the score matrix, in the product of two sinusoidal codes. Effects around both "
    "loops give small blocks, and a symmetric effect needs even fewer entries. Without the loop in x there are many "
    "more.",
    alt="Three square images of filled and empty cells: small blocks on the diagonal and next to it; single cells on "
    "parts of the diagonal; and short diagonal strokes all over the square, with many more filled cells.",
)

# %% [markdown]
# The first two matrices have few nonzero entries. Without the loop in $x$, we see many more.

# %%
random_effect = effects["random, both loops"]
closed_score = (2 / grid) ** 4 * code.mT @ random_effect @ code
closed_value = (2 / grid) ** 2 * code.mT @ weights
closed = linear_attention(code[symbols], closed_score, closed_value)
closed_error = (closed - aggregate_interactions(symbols, random_effect, weights)).abs().max() / agents
unscaled = linear_attention(code[symbols], code.mT @ random_effect @ code, code.mT @ weights)
unscaled_error = (unscaled - aggregate_interactions(symbols, random_effect, weights)).abs().max() / agents

# %%
minus_one = -torch.ones(grid**2, 1, dtype=torch.float64)
in_words = aggregate_interactions(symbols, distance_effect(grid, radius, far), minus_one)
in_print = aggregate_interactions(symbols, distance_effect(grid, radius, far, form="printed"), minus_one)

# %% [markdown]
# Next, agents on a torus move right or up. We move every pair of agents to find out which pairs meet.

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

# %%
larger_crowd = sample_sequences(samples, agents + 1, kinds, draw)
larger_sum = aggregate_interactions(larger_crowd, meets, agent_weights, self_term=False)
larger_error = (linear_attention(agent_code[larger_crowd], *repaired_layer) - larger_sum).abs().max()
cells = labelled_grid**2
by_policy = meets.reshape(2, cells, 2, cells)
no_labels = by_policy.mean(dim=(0, 2)).repeat(2, 2)  # an effect of the cells alone: policies ignored
ignoring = represent_others(no_labels, agent_weights, agent_code, agents)
ignoring_error = (linear_attention(agent_code[crowd], *ignoring) - eq_18).abs().max()

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
    caption="The cells (blue) from which another agent meets the agent at the dot, which moves to the right. Left: "
    "the other agent has the same policy. Right: it moves up.",
    alt="Two small grids. On the left, only the cell of the dot is filled; on the right, a falling diagonal around "
    "the torus is filled.",
)

# %% [markdown]
# An agent with the same policy must start in the same cell. An agent that moves up may start anywhere on a diagonal.
#
# ## How we checked
# We compare the layers with sums over $j\ne i$, and divide errors by the number of terms. As controls, we add one
# agent, ignore the policies, or leave the codes unscaled.

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
# ## Where the paper differs
# The formula for the collisions charges 10 to agents that start *close*, which contradicts the preceding sentence, and
# ignores the loop in $y$. The weights of the construction include $j=i$, which the sums leave out; see [Definition
# 6.1](definition_6_1_hyper_attention.ipynb).
#
# ## What to remember
# - Coordinates and labels only make the set of symbols larger, and the scores grow as its square.
# - If both coordinates are loops, sines and cosines make most scores zero.
# - A layer can leave out $j=i$ for any one number of agents, but in general not for two.
#
# ## Exercises
#
# 1. *By hand.* Four agents share a cell. Which scores give each of them 3?
#    <details><summary>Solution</summary>
#
#    $1-\frac14=\frac34$, because $4\cdot\frac34=3$.
#
#    </details>
# 2. *Predict, then run.* Set `half_grid = 4` and `far = 3`. How many scores are there, and how many are filled for the
#    effect with a wall in $x$?
#    <details><summary>Solution</summary>
#
#    There are $8^4=4096$ scores, and 496 of them are nonzero. With loops in both coordinates, 64 are enough for this
#    effect.
#
#    </details>
#
# Back to [Example 1](example_1_colliding_agents.ipynb), where only heights matter.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Example 1 · Colliding agents
# *Ustaomeroglu, Qu: Example 1, Section 3; Eqs. 4 and 5, Section 7.1; Eqs. 13 to 15, Appendix B.1.*
#
# Ants walk along a pipe until they meet a wall, and then each pays 1 for every other ant that it touches. Can one layer
# of attention predict from the starting positions what each ant pays? In this running example, the paper loses one
# small term.

# %%
import torch
from matplotlib.patches import Circle

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.certified.worlds import certify_collisions
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.collisions import simulate, window_matrix
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
grid = 20  # N of the simulated environment, from 4 to 400
agents = 8  # L of the simulated environment, from 2 to 60
radius = 1  # R, at least 0
starts = 100  # simulated starts, from 1 to 1000
large_grid = 36  # N of the comparison with the layer, from 4 to 400
large_agents = 20  # L of that comparison, from 2 to 100
large_radius = 2  # R of that comparison, at least 0
seed = 31  # of every draw, at least 0

# %%
require(grid=(grid, 4, 400), agents=(agents, 2, 60), radius=(radius, 0, None), starts=(starts, 1, 1000))
require(large_grid=(large_grid, 4, 400), large_agents=(large_agents, 2, 100), large_radius=(large_radius, 0, None))
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Six heights form a loop around the pipe. In the end all ants are at the wall, so two ants touch if their heights
# differ by at most 1 ($2R=1$). We put three ants at heights 1, 2 and 4.

# %%
fig, axis = schematic.canvas(7.0, 1.9)
held = [1, 2, 4]
tops = schematic.tokens(axis, [f"height {height}" for height in held], at=(1.6, 0.6), lit=[1], step=3.8)
(x, y), (left, right) = tops[1], (tops[0], tops[2])
schematic.arrow(axis, left, (x - 0.4, y), "touches: −1", bend=0.25)
schematic.arrow(axis, (x - 0.2, y), (x + 0.5, y), "itself: −1", bend=1.6)
schematic.arrow(axis, right, (x + 0.7, y), "too far: 0", bend=-0.25, colour=schematic.QUIET)
show.figure(
    fig,
    name="three-agents",
    caption="What each ant adds to the output of the layer for the ant at height 2.",
    alt="Three boxes, height 1, height 2 and height 4. Arrows to the middle one: minus 1 from height 1, minus 1 from "
    "itself, and 0 from height 4.",
)

# %% [markdown]
# The ant at height 2 touches one other ant, so its value is $-1$. The layer gives $-2$, because it also counts the ant
# itself.
#
# ## The paper states
# Here $V_i$ is the value of agent $i$, $n_i^y$ its height, $N$ the number of heights, and $R$ its radius.
#
# <!-- claim hyper-attention/example-1 -->
# <blockquote>
#
# **Example 1 (Colliding agents)** *Section 3; Section 7.1, Eqs. 4 and 5; Appendix B.1, Eqs. 13 to 15; also Appendix
# B.1*
#
# **The paper states.** The final value function can be exactly represented by a single layer: $V_{r_i} = -\sum_{j \ne
# i} \mathbb I\{\min(|n_i^y - n_j^y|, N - |n_i^y - n_j^y|) \le 2R\}$. In one-hot embedding, a single-layer linear
# self-attention with $W^V = -\mathbf 1_N$ and $C_{mn} = \mathbb I\{\min(|m - n|, N - |m - n|) \le 2R\}$ can exactly
# implement the value function in (4), irrespective of $L$.
#
# **What is true.** For every agent and any number $L$ of agents, the layer returns $V_i - 1$, which is the sum over all
# $j$.
#
# **What changed.** The bias of $-1$ that Appendix B.1 adds to all values "for simplicity" is the term $j = i$.
# Equations 4 and 13 and the main text lack this bias, and without it no weights are correct for two different numbers
# of agents.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For one given $L$, the scores $C_{mn} - \frac1L$ give $V_i$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A layer can represent any table of strengths ([Theorem 3.1](theorem_3_1_representation.ipynb)). Ours is 1 for heights
# that differ by at most $2R$ and 0 for others, and every agent sends $-1$.
#
# An agent is always close to itself, so we get $V_i-1$. No weights avoid this for two different numbers of agents. If
# all $L$ agents are at one height, the layer gives each $L\,T$, where $T$ is the score times the value there, and must
# give $-(L-1)$. For one fixed $L$, we obtain $V_i$ with the scores $C_{mn}-\frac1L$.
#
# ## See it run
# We simulate random starts to the end, and record which agents touch.

# %%
draw = generator(seed)
positions = torch.randint(grid, (starts, agents, 2), generator=draw)
paths, touched = simulate(positions, grid, radius)
partners = touched.sum(dim=-1)

# %%
fig, axes = show.axes(1, 3, width=9, height=3.4, sharey=True)
for axis, time in zip(axes, (0, grid // 4, grid), strict=True):
    places = paths[time, 0]
    for (x, y), cost in zip(places.tolist(), partners[0].tolist(), strict=True):
        colour = show.COLOURS[1] if cost else show.COLOURS[0]
        for turn in (-grid, 0, grid):  # the loop in y: a disc that leaves at the top comes in at the bottom
            axis.add_patch(Circle((x, y + turn), radius, facecolor=colour, alpha=0.45, edgecolor=colour))
        axis.annotate(str(-cost), (x, y), ha="center", va="center", fontsize=8)
    axis.set(xlim=(-1, grid + 0.5), ylim=(-0.5, grid - 0.5), aspect="equal")
    axis.set(title=f"time {time}", xlabel="x (wall on the right)")
axes[0].set_ylabel("y (a loop)")
show.figure(
    fig,
    name="environment",
    caption="One start at three times. The number on an agent is its value $V_i$: minus the number of other agents "
    "that it touches at the end. Orange agents touch another agent at the end; blue agents do not.",
    alt="Three square pictures of discs. At first they are scattered. Then they have moved to the right. At the end "
    "all are in the last column, and some overlap. Overlapping discs are orange and carry negative numbers.",
)

# %% [markdown]
# At the end, the overlapping discs have negative values.

# %%
minus_one = torch.full((grid, 1), -1.0, dtype=torch.float64)
by_formula = aggregate_interactions(positions[..., 1], window_matrix(grid, radius), minus_one, self_term=False)
mismatches = (partners != -by_formula.squeeze(-1)).sum()

window = window_matrix(large_grid, large_radius)
value = torch.full((large_grid, 1), -1.0, dtype=torch.float64)
heights = torch.randint(large_grid, (starts, large_agents), generator=draw)
tokens = one_hot(large_grid)[heights]
outputs = linear_attention(tokens, window, value)
wanted = aggregate_interactions(heights, window, value, self_term=False)
apart = outputs - wanted

# %%
at_this_length = window - 1 / large_agents
taken_back = (linear_attention(tokens, at_this_length, value) - wanted).abs().max()
more = torch.randint(large_grid, (starts, large_agents + 1), generator=draw)
more_wanted = aggregate_interactions(more, window, value, self_term=False)
one_agent_more = (linear_attention(one_hot(large_grid)[more], at_this_length, value) - more_wanted).abs().max()

# %%
no_diagonal = linear_attention(tokens, window - torch.eye(large_grid), value) - wanted
shares = (heights[..., :, None] == heights[..., None, :]).sum(dim=-1) > 1
alone_error = no_diagonal[~shares].abs().max()
shared_error = no_diagonal[shares].abs().max()

show.table(
    ["score matrix", "token", "largest error against Eq. 4", "against Eq. 4 minus 1"],
    [
        ["window, Eq. 5", "any", apart.abs().max(), (apart + 1).abs().max()],
        ["diagonal set to 0", "alone at its height", alone_error, (no_diagonal[~shares] + 1).abs().max()],
        ["diagonal set to 0", "shares its height", shared_error, (no_diagonal[shares] + 1).abs().max()],
    ],
    caption="The window always counts the token itself. Without its diagonal, it also misses other tokens at the "
    "same height.",
)

# %% [markdown]
# The layer is off by exactly 1 for every agent. A zero diagonal does not help: it also misses other agents at the same
# height.
#
# ## How we checked
# We compare the simulation and the layer with Eq. 4. As controls, we add one agent for the scores $C_{mn}-\frac1L$ and
# test the zero diagonal at shared heights. On grids of up to eight cells, we play all pairs of starts, and an identity
# covers any number of agents.

# %%
claim = Claim("hyper-attention/example-1")
with_bias = (apart + 1).abs().max()
claim.equal("agents whose partners in the simulation differ from Eq. 4", mismatches, 0)
claim.equal("layer against the values with their bias of -1, largest error", with_bias, 0)
claim.equal("C of Eq. 15 and W of Eq. 14 as printed, with the bias: largest error", with_bias, 0, of="proof")
claim.at_most("scores less 1/L, at that L, against Eq. 4: largest error", taken_back, 1e-12)
claim.control.at_most("the same with one agent more", one_agent_more, 1e-12)
claim.equal("diagonal 0, tokens alone at their height, largest error", alone_error, 0)
claim.misprint.equal("layer against Eq. 4, without the bias: largest error", apart.abs().max(), 0)
claim.control.equal("diagonal 0, tokens that share a height, largest error", shared_error, 0)
claim.certified("up to eight cells: all starts, any number of agents", certify_collisions())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# Equations 4 and 13 leave out $j=i$, but the layer includes it. The bias of $-1$ in the appendix is this term.
# [Definition 6.1](definition_6_1_hyper_attention.ipynb) compares the paper's sums.
#
# ## What to remember
# - Who collides with whom depends on pairs, so one layer computes it.
# - The layer counts the agent itself, and no weights avoid this for two different numbers of agents.
# - The term $j=i$ also decides whether a layer is correct at [other lengths](theorem_4_8_lengths.ipynb).
#
# ## Exercises
#
# 1. *By hand.* What does the layer return for the ants at heights 4 and 1?
#    <details><summary>Solution</summary>
#
#    The ant at height 4 touches no other ant, so it gets $-1$ for itself. The ant at height 1 gets $-2$, for itself and
#    for the ant at height 2.
#
#    </details>
# 2. *Predict, then run.* Set `large_grid = 400`, so that heights rarely coincide. With a zero diagonal, how large is
#    the error for agents that share a height?
#    <details><summary>Solution</summary>
#
#    It is 1, because the layer misses one other agent. Three agents at one height, which would make it 2, do not occur
#    in this run.
#
#    </details>
#
# Next: [Theorem 4.4](theorem_4_4_gradient_flow.ipynb). Does training find these weights?

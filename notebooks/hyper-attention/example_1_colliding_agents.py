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
# Agents stand on an $N \times N$ grid. The $y$ axis is a loop, the $x$ axis ends at a wall: think of ants on a pipe.
# Each agent is a disc of radius $R$ and walks right, one cell a step, until it stands at the wall. It pays 1 for every
# other agent that it touches on the way or at the end. Can one layer of attention say from the start what each of them
# will have paid?
#
# In the end all agents stand in the last column, so who touches whom is decided by $y$ alone. Let $n_i$ be the height
# of agent $i$: two agents touch if $\mathrm{dist}(n_i, n_j)$, taken around the loop, is at most $2R$. Agent $i$ is
# worth $V_i$, minus the number of such others. That is a sum over pairs, and one linear attention layer computes it, by
# the first half of {doc}`Theorem 3.1 </notebooks/hyper-attention/theorem_3_1_representation>`. Its tokens are the $L$
# agents, each a one-hot of its height; an agent at height $m$ gives one at height $n$ the score $C_{mn}$, which is 1
# where the heights are close and 0 elsewhere (this is what $\mathbb I\{\cdot\}$ says); and $W^V = -\mathbf 1$ gives
# every agent the value $-1$.
#
# <!-- claim hyper-attention/example-1 -->
# <blockquote>
#
# **Example 1 (Colliding agents)** *Section 3; Section 7.1, Eqs. 4 and 5; Appendix B.1, Eqs. 13 to 15*
#
# **As printed.** Eqs. 4 and 13 sum over $j \ne i$: $V_i = -\sum_{j \ne i} \mathbb I\{\mathrm{dist}(n_i, n_j) \le 2R\}$,
# "irrespective of $L$". (The sentence before Eq. 13 adds a bias of $-1$ to all values "for simplicity", which is the
# term $j = i$; the equations and the main text are without it.)
#
# **Corrected.** The layer with one-hot heights, $W^V = -\mathbf 1$ and $C_{mn} = \mathbb I\{\mathrm{dist}(m, n) \le
# 2R\}$ on the loop returns $V_i - 1$ for every agent and any number $L$ of agents, where $V_i$ is minus the number of
# other agents within $2R$, which is the number that agent $i$ touches in the environment.
#
# With the bias: the sum over all $j$, which is $V_i - 1$. (Without it no weights are right for two numbers of agents;
# for a given $L$ the scores $C_{mn} - \frac1L$ are.)
#
# </blockquote>
# <!-- /claim -->
#
# **What is misprinted.** Eqs. 4 and 13 sum over $j \ne i$, and the layer is said to be that sum "irrespective of $L$".
# It is not with these weights: a token is close to itself, and the output is $V_i - 1$. Nor is it with any other
# weights at all lengths: an agent alone must get 0, so that what an agent adds to its own height must be 0, and of two
# at the same height each must get $-1$. At one given $L$ it can be had, with scores $C_{mn} - \frac1L$: every token
# takes its own 1 back from all $L$ tokens. What is meant is the sum with $j = i$. The sentence before Eq. 13 adds a
# bias of $-1$ to all values "for simplicity", which is that term; Eq. 13 itself, Eq. 4 and the main text are without
# it. A zero diagonal of $C$ would not give Eq. 4 either, because two agents may stand at the same height.

# %%
import torch
from matplotlib.patches import Circle

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.collisions import simulate, window_matrix
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

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
# ## The environment
# Many random starts are played to the end, and it is noted who has touched whom.

# %%
draw = generator(seed)
positions = torch.randint(grid, (starts, agents, 2), generator=draw)
paths, touched = simulate(positions, grid, radius)
partners = touched.sum(dim=-1)

# %% [markdown]
# The first of these starts at three moments.

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
    caption="One start, three moments. The number on an agent is its value $V_i$: minus the number of others that it "
    "touches by the end. Orange agents touch somebody, blue ones do not.",
    alt="Three square pictures of discs. At first they are scattered, then they have moved to the right, at the end "
    "all stand in the last column, some overlapping. Overlapping discs are orange and carry negative numbers.",
)

# %% [markdown]
# ## The layer
# First the simulation against Eq. 4, over many starts. Then the layer against Eq. 4, on a larger grid where heights
# often coincide.

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

# %% [markdown]
# Scores with $\frac1L$ taken from each are right at the length that they are made for, and with one agent more they are
# not.

# %%
at_this_length = window - 1 / large_agents
taken_back = (linear_attention(tokens, at_this_length, value) - wanted).abs().max()
more = torch.randint(large_grid, (starts, large_agents + 1), generator=draw)
more_wanted = aggregate_interactions(more, window, value, self_term=False)
one_agent_more = (linear_attention(one_hot(large_grid)[more], at_this_length, value) - more_wanted).abs().max()

# %% [markdown]
# A zero diagonal of $C$ leaves out $j = i$, and with it everybody else at the same height.

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
    caption="The window counts the token itself, always. Without its diagonal it forgets those at the same height.",
)

# %% [markdown]
# The layer is held against Eq. 4 with the bias that the appendix adds, and against Eq. 4 as it stands.

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
claim.verdict()

# %% [markdown]
# ## What was learned
# Who collides with whom is a matter of pairs, and one layer holds it exactly, self term included. The bias of $-1$ that
# the appendix adds "for simplicity" is that self term; Eq. 4 lacks it. It is a small thing here, a constant, which a
# layer can leave out at one length and at no two; it decides later whether a layer is right at other lengths.
#
# ## To try
# - Set `radius = 0`: agents touch only at the very same height, and the simulation still agrees with Eq. 4.
# - Set `large_grid = 400`: heights rarely coincide, and a diagonal of zeros errs at fewer agents, though still by 1 or
#   more.

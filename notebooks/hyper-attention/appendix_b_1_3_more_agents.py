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
# <!-- claim hyper-attention/two-coordinate-construction -->
# <blockquote>
#
# **App. B.1.3 (Agents with two coordinates)** *Appendix B.1.3*
#
# **As printed.** The layer is said to recover the sum over $j \ne i$ exactly. The scores come from a Fourier series in
# two coordinates. (For collisions that cost 10 from afar and 1 from close by, $V_i = -\sum_{j \ne i} \mathbb
# I\{|n_i^y - n_j^y| \le 2R\}\,(1 + 9\,\mathbb I\{\mathrm{dist} \le R_2\})$.)
#
# **Corrected.** With $p = p^x \otimes p^y \in \mathbb R^{N^2}$ one layer with $N^4$ scores represents any $V_i = \sum_j
# f(r_i - r_j)\, w_{r_j}$ on an $N \times N$ grid: $C = (2/N)^4 P^\top F P$, $W^V = (2/N)^2 P^\top w$. If $f$ is taken
# around loops in both coordinates, $C$ has the block structure of the Fourier series; otherwise more of it is needed.
#
# The layer adds the self term $f(0)\, w_{r_i}$. A series asks for loops in both coordinates, and the $x$ axis ends at a
# wall; Theorem 3.1 gives the scores without them. (Misprints: $\mathrm{dist} \ge R_2$ in the second indicator, and the
# distance around the loop in the first one.)
#
# </blockquote>
# <!-- /claim -->
#
# Theorem 3.1 does not care what a symbol is. A symbol may be a cell of a grid, or a cell with a policy. The paper codes
# it by the Kronecker product of the codes of its parts: $p = p^x \otimes p^y$, and $z = q \otimes p^x \otimes p^y$.
# These are orthogonal vectors again, of dimension $N^2$ and $2N^2$, so the layer needs $N^4$ and $4N^4$ scores.
#
# In the sinusoidal code most of them are zero, if the effect depends on differences alone, *both* taken around a loop.
# The $x$ axis of the colliding agents is no loop. The layer is exact there too, but many more of its scores are needed.

# %%
import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.fourier import position_code
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    represent,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.grids import (
    distance_effect,
    labelled_effect,
    product_code,
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
# Two things are more. The layer is said to recover the sum over $j \ne i$ exactly; it adds $f(0)\,w$ of the agent
# itself, which here is no constant. And a Fourier series in two coordinates asks for a loop in both, where the $x$ axis
# of the environment ends at a wall. Theorem 3.1 does not need the loop: the scores are there, but fill more cells.
#
# <details><summary>Proof of App. B.1.3, two coordinates, as corrected</summary>
#
# The rows of $P$ are $p^x_m \otimes p^y_n$. Inner products of Kronecker products are products of inner products, so
# that $P P^\top = \bigl(\frac N2\bigr)^2 I$: up to the factor $N/2$ the code is an orthonormal embedding of $N^2$
# symbols, and Theorem 3.1 gives $C = B^{-1} F B^{-\top}$, $W^V = B^{-1} w$ with $B = P$, $B^{-1} = (2/N)^2 P^\top$. The
# layer is then the sum over *all* $j$, whatever $F$ is; the paper's sum leaves out $j = i$, which is $f(0)\, w_{r_i}$.
# If $f$ is taken around both loops, it is a sum of products of one-dimensional waves, and Theorem B.6 in each
# coordinate gives $C$ as a sum of Kronecker products of its blocks: cells outside these products of blocks are zero. If
# it is not, nothing makes them zero. $\square$
#
# </details>

# %%
draw = generator(seed)
code = product_code(position_code(grid), position_code(grid))
weights = normal(grid**2, 1, seed=draw)
symbols = sample_sequences(samples, agents, grid**2, draw)
effects = {
    "random, both loops": shift_invariant_effect(normal(grid, grid, seed=draw)),
    "10 from afar, both loops": distance_effect(grid, radius, far),
    "10 from afar, x no loop": distance_effect(grid, radius, far, looped_x=False),
}

# %% [markdown]
# The layer is that of Theorem 3.1 in the product code.


# %%
def layer_error(effect):
    """The largest error of the layer in the product code, beside the sum with and without j = i; its score matrix."""
    score, value = represent(effect, weights, code)
    outputs = linear_attention(code[symbols], score, value)
    sums = [aggregate_interactions(symbols, effect, weights, self_term=own) for own in (True, False)]
    return *[(outputs - one).abs().max().item() for one in sums], score


errors, without_self, scores = {}, {}, {}
for name, effect in effects.items():
    errors[name], without_self[name], scores[name] = layer_error(effect)
filled = {name: int((score.abs() > 1e-12).sum()) for name, score in scores.items()}
show.table(
    ["effect", "largest error of the layer", "scores that are not zero", "of"],
    [[name, errors[name], filled[name], grid**4] for name in effects],
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
    alt="Three square images of filled and empty cells: a pattern of small blocks along the diagonal; a thinner "
    "pattern of points on the diagonal; and a pattern with many more filled cells.",
)

# %% [markdown]
# The scores in closed form, as in the paper up to the factors that make $P$ orthonormal: $C = (2/N)^4 P^\top F P$ and
# $W^V = (2/N)^2 P^\top w$.

# %%
random_effect = effects["random, both loops"]
closed_score = (2 / grid) ** 4 * code.mT @ random_effect @ code
closed_value = (2 / grid) ** 2 * code.mT @ weights
closed = linear_attention(code[symbols], closed_score, closed_value)
closed_error = (closed - aggregate_interactions(symbols, random_effect, weights)).abs().max()
unscaled = linear_attention(code[symbols], code.mT @ random_effect @ code, code.mT @ weights)
unscaled_error = (unscaled - aggregate_interactions(symbols, random_effect, weights)).abs().max()

# %% [markdown]
# The printed value function is held against the one in words.

# %%
minus_one = -torch.ones(grid**2, 1, dtype=torch.float64)
in_words = aggregate_interactions(symbols, distance_effect(grid, radius, far), minus_one)
in_print = aggregate_interactions(symbols, distance_effect(grid, radius, far, form="printed"), minus_one)

# %% [markdown]
# As printed the sum is over $j \ne i$, and the scores are those of a series.

# %%
claim = Claim("hyper-attention/two-coordinate-construction")
claim.check("three effects: largest error", errors, "<=", 1e-12)
claim.check("closed form of the weights: largest error", closed_error, "<=", 1e-12)
claim.check("scores", scores["random, both loops"].numel(), "==", grid**4)
blocks = 2 + 4 * (half_grid - 1)  # one-dimensional: two single entries, and a block of four a frequency
claim.check("scores not zero, random effect of looped differences", filled["random, both loops"], "<=", blocks**2)
no_loop = "10 from afar, x no loop"
claim.check("scores not zero, x no loop", filled[no_loop], ">", filled["10 from afar, both loops"])
claim.misprint("printed value function against the one in words", (in_print - in_words).abs().max(), "==", 0)
claim.printed("the sum over j ≠ i is recovered: largest error", without_self, "<=", 1e-12)
claim.printed("scores of a two-dimensional series are enough, x no loop", filled[no_loop], "<=", blocks**2, of="proof")
claim.check("scores as in Theorem 3.1, x no loop: largest error", errors[no_loop], "<=", 1e-12, of="proof")
claim.control("P not scaled to be orthonormal: largest error", unscaled_error, "<=", 1e-12)
claim.verdict()

# %% [markdown]
# ## Two policies
#
# <!-- claim hyper-attention/non-identical-construction -->
# <blockquote>
#
# **App. B.1.3 (Agents with policies)** *Appendix B.1.3, Eq. 18*
#
# **As printed.** The sum leaves out $j = i$.
#
# **Corrected.** With $z = q \otimes p^x \otimes p^y \in \mathbb R^{2N^2}$ one layer with $4N^4$ scores represents any
# $V_i = \sum_j f(r_i - r_j, q_i, q_j)\, w_{r_j, q_j}$, the term $j = i$ included.
#
# The layer adds $f(0, q_i, q_i)\, w_{r_i, q_i}$.
#
# </blockquote>
# <!-- /claim -->
#
# Half of the agents step right, the others step up. Whether two of them ever share a cell depends on their difference
# and on both policies, on a torus, where there is no wall. The effect is found by moving every pair of agents; the
# layer has $d = 2N^2$. Eq. 18 leaves out $j = i$; an agent always shares its own cell, so the layer adds $f(0)\,w$ of
# the agent itself.
#
# <details><summary>Proof of App. B.1.3, non-identical agents, Eq. 18, as corrected</summary>
#
# The symbols are the $2N^2$ triples of a policy and two coordinates, and $q \otimes p^x \otimes p^y$ is, up to a
# factor, an orthonormal embedding of them. By Theorem 3.1 some $C$ with $(2N^2)^2$ entries and some $W^V$ give $\sum_j
# f(r_i - r_j, q_i, q_j)\, w_{r_j, q_j}$ over all $j$. Leaving out $j = i$ takes away $f(0, q_i, q_i)\, w_{r_i, q_i}$,
# which is not zero for agents that share their own cell. $\square$
#
# </details>

# %%
policies = one_hot(2)
agent_code = product_code(policies, position_code(labelled_grid), position_code(labelled_grid))
meets = labelled_effect(labelled_grid)
kinds = 2 * labelled_grid**2
agent_weights = normal(kinds, 1, seed=draw)
crowd = sample_sequences(samples, agents, kinds, draw)
score, value = represent(meets, agent_weights, agent_code)
outputs = linear_attention(agent_code[crowd], score, value)
without_self = aggregate_interactions(crowd, meets, agent_weights, self_term=False)
self_term = (meets.diagonal()[:, None] * agent_weights)[crowd]

# %% [markdown]
# For a control the effect is made one of the cells alone.

# %%
cells = labelled_grid**2
by_policy = meets.reshape(2, cells, 2, cells)
no_labels = by_policy.mean(dim=(0, 2)).repeat(2, 2)  # an effect of the cells alone: policies ignored
ignoring = aggregate_interactions(crowd, no_labels, agent_weights)

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
# The sum of Eq. 18 leaves out $j = i$; the layer does not.

# %%
claim = Claim("hyper-attention/non-identical-construction")
with_self_error = (outputs - without_self - self_term).abs().max()
claim.check("layer against Eq. 18 plus the self term, largest error", with_self_error, "<=", 1e-12)
claim.check("scores", score.numel(), "==", 4 * labelled_grid**4)
claim.check("layer in the code q ⊗ p ⊗ p, largest error with the self term", with_self_error, "<=", 1e-12, of="proof")
claim.printed("layer against Eq. 18 as printed, largest error", (outputs - without_self).abs().max(), "<=", 1e-12)
claim.control("policies ignored, largest error", (ignoring - without_self - self_term).abs().max(), "<=", 1e-12)
claim.verdict()

# %% [markdown]
# ## What was learned
# Coordinates and labels are no more than a larger set of symbols, and one layer holds any effect on them at the price
# of its square. The sinusoidal code thins the scores out where both coordinates are loops, and only there. In both
# constructions the layer adds the agent's action on itself, which the paper's sums leave out.
#
# ## To try
# - Set `half_grid = 4` and `far = 3`: 4096 scores in place of 1296, and a smaller share of them filled.
# - Set `agents = 2`: sums of two terms, and still exact with the self term only.

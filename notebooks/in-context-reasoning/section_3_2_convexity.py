# %% [markdown]
# # Section 3.2 · Convex in each matrix, not in both
# *Nguyen, Nguyen-Tang: Section 3.2, before Theorem 3.2; Eq. (3).*
#
# Why does the paper not simply train both matrices of attention at once? It says that the loss may not be convex in the
# pair. A short argument shows that it is not.

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.noiseless import certify_chord
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, Weights, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["red", "door", "seven", "green", "lamp", "door"], at=(2.5, 0.5), lit=[2])
schematic.arrow(axis, tops[5], tops[2], "score λ times vote 1 = (−λ) times (−1)", bend=-0.4)
show.figure(
    fig,
    name="signs",
    caption="The look-up from the final door to the word after the earlier door, with two choices of signs.",
    alt="Six boxes: red, door, seven, green, lamp, door. An arrow leads from the last door back to seven; it carries "
    "the score lambda times the vote 1, which is minus lambda times minus 1.",
)

# %% [markdown]
# As in [Definition 2.1](definition_2_1_sentences.ipynb), we see the arrow from the final *door* to *seven*. The matrix
# $W$ gives it score $\lambda$, and $V$ turns the score into a logit. With $-W$ and $-V$ the logit is the same, and so
# is the loss: 0.07 for $\lambda=5$ and 12 words. Halfway between the two pairs, both matrices are 0, and the loss is
# $\ln12\approx2.48$.
#
# ## The paper states
#
# <!-- claim in-context-reasoning/remark-not-jointly-convex -->
# <blockquote>
#
# **Section 3.2 (Not convex in both matrices at once)** *Section 3.2*
#
# **The paper states.** Directly running gradient descent on (3) w.r.t. $(V,W)$ is difficult due to the fact that the
# cross-entropy loss may not be jointly-convex with respect to $(V,W)$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The loss of Eq. (3) is not jointly convex in $(V,W)$. With linear attention, it is convex in $V$
# alone and in $W$ alone, because the logits are linear in each.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The logits of linear attention are bilinear in $V$ and $W$, so changing both signs does not change the loss. Halfway
# between $(V,W)$ and $(-V,-W)$ is $(0,0)$, with loss $\ln N$, that of a blind guess among $N$ words. If $(V,W)$ is
# better than a blind guess, the loss at the midpoint is above that at both ends, which is impossible for a convex
# function. In one matrix alone the logits are linear, and the loss is a log-sum-exp minus a linear function, hence
# convex.
#
# ## See it run

# %% tags=["parameters"]
tokens = 12  # N, at least 8
length = 16  # H, at least 10
scale = 2.0  # lambda at the ends of the segment, from 0.1 to 20
segments = 400  # random segments, at least 100
spread = 0.1  # standard deviation of the entries of random matrices, from 0.01 to 2
seed = 0  # at least 0

# %%
require(tokens=(tokens, 8, None), length=(length, 10, None), scale=(scale, 0.1, 20.0))
require(segments=(segments, 100, None), spread=(spread, 0.01, 2.0), seed=(seed, 0, None))
seeds = streams(seed, 4)
task = Task(tokens, 2, 3, length)
codes = embedding(tokens, 2 * tokens)
copies = torch.randint(1, 4, (60,), generator=generator(seeds[0]))
sentences = sample_sentences(task, 60, seeds[1], copies)
built = reparameterised(task, codes, torch.full((2,), scale, dtype=torch.float64)).in_codes(codes)


def loss(value: torch.Tensor, query_key: torch.Tensor, attention: Activation = "linear") -> torch.Tensor:
    """The loss of Eq. (3), without a feed-forward layer, for stacks of V and W."""
    weights = Weights(value, query_key, torch.zeros_like(value))
    return cross_entropy(
        forward(sentences.tokens, weights, Architecture(attention)).logits, sentences.output
    ).losses.mean(-1)


# %%
places = torch.linspace(0, 1, 101, dtype=torch.float64)
shrink = (1 - 2 * places)[:, None, None]
along = loss(shrink * built.value, shrink * built.query_key)
chord = (1 - places) * along[0] + places * along[-1]
grid = torch.linspace(-1.2, 1.2, 41, dtype=torch.float64)
first, second = torch.meshgrid(grid, grid, indexing="ij")
plane = loss(first.reshape(-1, 1, 1) * built.value, second.reshape(-1, 1, 1) * built.query_key).view(41, 41)

# %%
fig, (left, right) = show.axes(1, 2, width=7.5)
left.plot(places, along, label="loss")
left.plot(places, chord, "--", label="chord")
left.set(xlabel="s", ylabel="loss", title="from (I, W) to (-I, -W)")
left.legend()
drawn = right.contourf(grid, grid, plane.T, levels=20)
right.plot([1, -1], [1, -1], "o-", color=show.COLOURS[1])
right.set(xlabel="a", ylabel="b", title="loss at (a I, b W)")
right.grid(False)
fig.colorbar(drawn, ax=right)
show.figure(
    fig,
    name="segment",
    caption="Left: the loss along the segment is above its chord. Right: the loss in the plane of (a I, b W). It is "
    "low in two opposite corners, and the segment crosses the ridge between them.",
    alt="Left, a curve that rises from both ends to a hill over a flat dashed line. Right, a map with two low corners "
    "and two high ones, crossed by a diagonal from one low corner to the other.",
)

# %% [markdown]
# On the left, we see the hill between $(I,W)$ and $(-I,-W)$. On the right, we see valleys in opposite corners, because
# the loss depends only on $ab$.
#
# ## How we checked
# We also try random segments. If only one matrix changes, the loss never rises above its chord; if both change, it
# sometimes does. A solver proves for all $\lambda>0$, $C$ and $N$ that the loss in the left panel rises above its
# chord.

# %%
draw = generator(seeds[2])


def ends(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two random matrices a segment."""
    shape = (2, segments, *like.shape)
    return tuple(spread * torch.randn(shape, generator=draw, dtype=torch.float64))


def above_chord(values, keys, attention: Activation = "linear") -> torch.Tensor:
    """The loss in the middle of each segment less the mean of that at its ends."""
    middle = loss((values[0] + values[1]) / 2, (keys[0] + keys[1]) / 2, attention)
    return middle - (loss(values[0], keys[0], attention) + loss(values[1], keys[1], attention)) / 2


values, keys = ends(built.value), ends(built.query_key)
still_values, still_keys = (values[0], values[0]), (keys[0], keys[0])
above = {"V alone": above_chord(values, still_keys), "W alone": above_chord(still_values, keys)}
in_both = above_chord(values, keys)
relu = above_chord(still_values, keys, "relu")

# %%
claim = Claim("in-context-reasoning/remark-not-jointly-convex")
claim.above("inner points of the segment: least height above the chord", (along - chord)[1:-1].min(), 0)
claim.equal("its middle above the ends", along[50] - along[0], math.log(tokens) - along[0], tolerance=1e-12)
ends_apart = (along[0] - along[-1]).abs()
claim.at_most("loss at the two ends, difference", ends_apart, 1e-12)
highest = {name: heights.max() for name, heights in above.items()}
claim.at_most("random segments in one matrix: largest height above the chord", highest, 1e-12)
highest_in_both = {"from (I, W)": (along - chord).max(), "random": in_both.max()}
claim.control.at_most("segments in both: largest height above the chord", max(highest_in_both.values()), 1e-12)
claim.number("random segments in both: share above the chord", (in_both > 1e-12).double().mean())
claim.number("ReLU, segments in W alone: share above the chord", (relu > 1e-12).double().mean())
claim.certified("the loss at the ends is below ln N, for all λ, C and N", certify_chord())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# On how many random segments the loss rises above its chord depends on the size of the random matrices. One segment is
# enough for the claim. With ReLU attention, the logits are not linear in $W$, and the last number above shows on what
# fraction of the segments the loss is not convex in $W$ alone.
#
# </details>
#
# ## What to remember
# - The loss depends on a product of $V$ and $W$, so it is not convex in the pair.
# - With $V$ fixed and linear attention, it is convex in $W$ and in the scales $\lambda$.
#
# ## Exercises
#
# 1. *By hand.* Is $(a,b)\mapsto\ln(1+11e^{-ab})$ convex on the line $a=b$?
#    <details><summary>Solution</summary>
#
#    No. At $a=\pm\sqrt5$ it is 0.07, and at the middle, $a=0$, it is 2.48.
#
#    </details>
# 2. *Predict, then run.* Set `scale = 0.1`. Is there still a hill?
#    <details><summary>Solution</summary>
#
#    Yes, but a flat one. The ends have logits of at most $0.3$, so their loss is only a little below $\ln12$.
#
#    </details>
#
# Back to [Theorem 3.2](theorem_3_2_rate.ipynb), which trains the scales alone.

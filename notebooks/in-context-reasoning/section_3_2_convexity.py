# %% [markdown]
# # Section 3.2 · Convex in each matrix, not in both
# *Nguyen, Nguyen-Tang: Section 3.2, before Theorem 3.2; Eq. (3).*
#
# Why does the paper not simply descend in $V$ and $W$? It says that the loss may not be jointly convex in the two. It
# is not, and one can see it without a computation. With linear attention the logits are bilinear: $V$ and $W$ enter as
# a product. So $(-V,-W)$ has the logits of $(V,W)$ and the same loss. Half-way between the two lies $(0,0)$, where
# every word is as likely as another and the loss is $\ln N$. If $(V,W)$ is any good, the loss in the middle is above
# that at both ends, which no convex function does.

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


# %% [markdown]
# ## A segment above its chord
# <!-- claim in-context-reasoning/remark-not-jointly-convex -->
# <blockquote>
#
# **Section 3.2 (Not convex in both matrices at once)** *Section 3.2*
#
# The loss of Eq. (3) is not jointly convex in $(V,W)$. With linear attention it is convex in each of the two alone, for
# the logits are linear in each.
#
# </blockquote>
# <!-- /claim -->
#
# The segment runs from the weights of Lemma 3.1, $(I,W)$, to $(-I,-W)$. At $s$ on the way the logits are $(1-2s)^2$
# times those at the ends. The right picture shows the plane of all $(aI,bW)$, in which the segment is a diagonal: the
# loss depends on $ab$ alone, so its valleys lie in two opposite corners.

# %%
places = torch.linspace(0, 1, 101, dtype=torch.float64)
shrink = (1 - 2 * places)[:, None, None]
along = loss(shrink * built.value, shrink * built.query_key)
chord = (1 - places) * along[0] + places * along[-1]
grid = torch.linspace(-1.2, 1.2, 41, dtype=torch.float64)
first, second = torch.meshgrid(grid, grid, indexing="ij")
plane = loss(first.reshape(-1, 1, 1) * built.value, second.reshape(-1, 1, 1) * built.query_key).view(41, 41)

# %% [markdown]
# Between its ends the loss rises far above the dashed chord.

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
    caption="Left: the loss along the segment lies above its chord. Right: the plane in which the segment lies. The "
    "loss is low in two opposite corners, and the segment crosses the ridge between them.",
    alt="Left, a curve that rises from both ends to a hill over a flat dashed line. Right, a map with two low corners "
    "and two high ones, crossed by a diagonal from one low corner to the other.",
)

# %% [markdown]
# ## Random segments
# In each matrix alone the logits are linear, and the loss, a log-sum-exp of linear functions less a linear function, is
# convex. So on segments along which only $V$ moves, or only $W$, the loss in the middle is at most the mean of that at
# the ends. Along segments in both it need not be. How often it is not says little about the claim, for which one
# segment is enough; it depends on how large the random matrices are.

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

# %% [markdown]
# With ReLU attention the logits bend in $W$, and the loss need not be convex in $W$ alone either; the last number tells
# on which share of the segments it is seen not to be. A solver proves that the first segment is above its chord for all
# $\lambda>0$, $C$ and $N$.

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
# ## What was learned
# The loss is convex in $V$ and in $W$, and not in the pair: it depends on a product, so that changing both signs
# changes nothing, and the middle is the worst point. That is why the paper fixes $V$ and descends in the scales of $W$,
# where with linear attention the problem is convex. ReLU attention loses even the convexity in $W$.
#
# ## To try
# - Set `scale = 0.1`: the ends are hardly better than the middle, and the hill is nearly flat, but still a hill.
# - Set `spread = 1.0`: in the middle of a random segment the matrices partly cancel, so logits and loss are smaller
#   there, and no random segment shows that it is not convex, with ReLU neither. The first segment still does.

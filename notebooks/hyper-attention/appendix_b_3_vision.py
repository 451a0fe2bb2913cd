# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix B.3 · Looking for a pattern of pixels
# *Ustaomeroglu, Qu: Appendix B.3.*
#
# Is there a plus in this image, and where? A convolution answers by sliding a small window over the image. The paper
# uses one layer of attention instead, for a pattern of any size and shape. How does this work, and what does it cost?

# %%
import torch
from sklearn.datasets import load_digits

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.vision import (
    convolve,
    count_at_offsets,
    fit_kernel,
    pattern_score,
    pixel_tokens,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
images_tried = 300  # digits, from 10 to 1797
threshold = 8  # grey value from which on a pixel is black, from 1 to 16
random_images = 50  # images of random pixels, from 1 to 5000
seed = 0  # of every draw, at least 0

# %%
require(images_tried=(images_tried, 10, 1797), threshold=(threshold, 1, 16), random_images=(random_images, 1, 5000))
require(seed=(seed, 0, None))
patterns = {
    "plus": [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)],
    "long stroke": [(step, 0) for step in range(-2, 3)],
    "far corners": [(-3, -3), (-3, 3), (3, -3), (3, 3)],
}

# %% [markdown]
# ## A tiny example
# A plus has five cells: a pixel and its four neighbours. For each pixel, we count how many of these five cells are
# black.

# %%
image = [[0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
counts = [[2, 2, 2, 0], [2, 5, 2, 1], [2, 2, 2, 1], [0, 1, 1, 1]]
fig, axis = schematic.canvas(7.0, 2.2)
schematic.matrix(axis, image, (2.4, 1.0), cell=0.7, words="image")
found = [[0.25 * (count == 5) for count in row] for row in counts]
schematic.matrix(axis, found, (8.4, 1.0), cell=0.7, words="counts")
for row, line in enumerate(counts):
    for column, count in enumerate(line):
        schematic.text(axis, (8.75 + 0.7 * column, 3.45 - 0.7 * row), str(count), size=9)
show.figure(
    fig,
    name="plus",
    caption="An image of four by four pixels, and for each pixel the number of filled cells in the plus around it.",
    alt="Two grids. The first has a filled plus and one single filled pixel. The second has numbers from 0 to 2, and "
    "a 5 in a filled cell.",
)

# %% [markdown]
# We find the plus where the count is five. At the border some cells are missing, so the count stays lower.
#
# ## The paper states
# A token is a pixel, with the colour $b_i$ (1 for black) and the code $p_i$ of its position. The set $\Delta$ holds the
# offsets of the pattern.
#
# <!-- claim hyper-attention/vision-construction -->
# <blockquote>
#
# **Appendix B.3 (Patterns of pixels)** *Appendix B.3*
#
# **The paper states.** With $x_i = [b_i, p_i]$, $C = \mathrm{diag}(0, \tilde C)$, $\tilde C_{i,j} = 1$ if $p_j$ is in
# $p_i + \Delta$, 0 otherwise, and $W^V = [1; \mathbf 0_d]$, summing across the image yields, for each position $i$, the
# count of black pixels at the appropriate offsets $\Delta$. If this count matches the size of $\Delta$, we conclude
# that the shape is present around pixel $i$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/remark-cnn -->
# <blockquote>
#
# **Appendix B.3 (A small kernel and a large pattern)** *Appendix B.3*
#
# **The paper states.** A single-layer CNN with a fixed $3 \times 3$ kernel cannot detect patterns larger than $3 \times
# 3$ within that same layer. Extending the receptive field would require either deeper networks or larger kernels. By
# contrast, the same $\tilde C$ submatrix can be adapted to capture long-range relationships; linear self-attention
# recognizes patterns of arbitrary size and structure without changing the kernel size.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** In exchange, the weights of attention fit images of one size only. There are $(1 + d)^2$ scores
# for $d$ pixels, whereas a $k \times k$ kernel has $k^2$ weights and fits every size. A $3 \times 3$ kernel with gaps
# (dilation) also reaches further, for patterns on a grid of nine points.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The scores depend only on positions: the score is 1 between a pixel and each position of the pattern around it. The
# value is the colour. The output therefore counts the black pixels in this pattern. The scores cover *all* pairs of
# positions, so no pattern is too large.
#
# ## See it run
# We look for three patterns in hand-written digits of 8 by 8 pixels, and in random images.

# %%
digits = torch.from_numpy(load_digits().images[:images_tried] >= threshold).double()
noise = torch.randint(2, (random_images, 8, 8), generator=generator(seed)).double()
images = torch.cat([digits, noise])
tokens = pixel_tokens(images)
value = torch.eye(65, 1, dtype=torch.float64)  # reads the colour


def layer(offsets, value=value):
    return linear_attention(tokens, pattern_score(8, 8, offsets), value).reshape(images.shape)


counted = {name: layer(offsets) for name, offsets in patterns.items()}
looked_up = {name: count_at_offsets(images, offsets) for name, offsets in patterns.items()}
wrong = {name: int((counted[name] != looked_up[name]).sum()) for name in patterns}
misjudged = {
    name: int(((counted[name] == len(offsets)) != (looked_up[name] == len(offsets))).sum())
    for name, offsets in patterns.items()
}

# %%
found = counted["plus"] == len(patterns["plus"])
most = found[:images_tried].flatten(1).sum(dim=1).topk(4).indices
fig, axes = show.axes(2, 4, width=8, height=4.2)
for column, index in enumerate(most.tolist()):
    for axis, picture, top in zip(axes[:, column], (images[index], counted["plus"][index]), (1.4, 5), strict=True):
        axis.imshow(picture, cmap="Greys", vmin=0, vmax=top)
        axis.set(xticks=[], yticks=[])
        axis.grid(False)
    axes[0, column].plot(*found[index].mT.nonzero(as_tuple=True), "P", color=show.COLOURS[1], markersize=7)
axes[0, 0].set_ylabel("image")
axes[1, 0].set_ylabel("output of the layer")
show.figure(
    fig,
    name="digits",
    caption="Four digits with the centres of every plus of five black pixels (orange), and the layer's counts from 0 "
    "(white) to 5 (black).",
    alt="Four pixelated digits in a row with orange crosses inside thick strokes; below each a grey map of counts, "
    "darkest at the crosses.",
    photo=True,
)

# %% [markdown]
# We see the crosses inside thick strokes, where the count is 5.
#
# For comparison, we fit the best 3-by-3 kernel by least squares. We also run a 7-by-7 kernel, and three 3-by-3 kernels
# in a row: along one axis, the far corners are $z^3+z^{-3}=(z+z^{-1})(z-\sqrt3+z^{-1})(z+\sqrt3+z^{-1})$.

# %%
wanted = {name: looked_up[name] for name in ("plus", "far corners")}
errors = {}
for name, counts_wanted in wanted.items():
    for reach in (1, 3):
        kernel, bias = fit_kernel(images, counts_wanted, reach)
        errors[name, reach] = (convolve(images, kernel) + bias - counts_wanted).square().mean().sqrt().item()
spread = {name: (some - some.mean()).square().mean().sqrt().item() for name, some in wanted.items()}
small_kernel, small_bias = fit_kernel(images, wanted["far corners"], 1)
seen_by_small = (convolve(images, small_kernel) + small_bias).round() == 4
missed = int((seen_by_small != (wanted["far corners"] == 4)).sum())

# %%
root = 3**0.5
axes_of = [torch.tensor(row, dtype=torch.float64) for row in ((1, 0, 1), (1, -root, 1), (1, root, 1))]
in_a_row = torch.nn.functional.pad(images, (3, 3, 3, 3))
for row in axes_of:
    in_a_row = convolve(in_a_row, torch.outer(row, row), padded=True)
row_error = (in_a_row - wanted["far corners"]).abs().max().item()

corners_kernel = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=torch.float64)[None, None]
with_gaps = torch.nn.functional.conv2d(images[:, None], corners_kernel, padding=3, dilation=3)[:, 0]
larger = torch.randint(2, (random_images, 12, 12), generator=generator(seed)).double()
large_kernel, large_bias = fit_kernel(images, wanted["far corners"], 3)
carried_over = convolve(larger, large_kernel) + large_bias - count_at_offsets(larger, patterns["far corners"])
weights = {
    "attention": pattern_score(8, 8, patterns["plus"]).numel() + value.numel(),
    "7 by 7": large_kernel.numel() + 1,
}
show.table(
    ["pattern", "kernel", "error (root of the mean square)", "spread of the counts"],
    [[name, f"{2 * reach + 1} by {2 * reach + 1}", error, spread[name]] for (name, reach), error in errors.items()],
)

# %% [markdown]
# The small kernel cannot count the far corners, which are three cells away. The 7-by-7 kernel counts them exactly.
#
# ## How we checked
# We compare every count with a direct count. As controls, we give the value matrix an entry for a position, take an
# image that is all black, and let the small kernel count a small pattern.

# %%
spoiled_value = value.clone()
spoiled_value[1 + 3 * 8 + 3] = 1.0
spoiled = layer(patterns["plus"], spoiled_value)
black = torch.ones(1, 8, 8, dtype=torch.float64)
on_black = linear_attention(pixel_tokens(black), pattern_score(8, 8, patterns["plus"]), value).reshape(8, 8)
border = torch.ones(8, 8, dtype=torch.bool)
border[1:-1, 1:-1] = False

claim = Claim("hyper-attention/vision-construction")
claim.equal("pixels where the pattern is found wrongly or missed", misjudged, 0)
claim.equal("pixels where the layer as printed and a direct count differ", wrong, 0, of="proof")
claim.equal("all black, inside: least count of the plus", on_black[~border].min(), 5)
claim.below("all black, border: largest count of the plus", on_black[border].max(), 5)
claim.control.equal("value with an entry for a place: largest error", (spoiled - counted["plus"]).abs().max(), 0)
claim.control.equal("all black: the plus is everywhere", on_black.min(), 5)
claim.verdict()

# %%
claim = Claim("hyper-attention/remark-cnn")
claim.at_least(
    "far corners, best 3 by 3 kernel: error over the spread", errors["far corners", 1] / spread["far corners"], 0.1
)
claim.at_least("far corners, best 3 by 3 kernel: places judged wrongly", missed, 1)
claim.at_most("far corners, 7 by 7 kernel: error", errors["far corners", 3], 1e-10)
claim.at_most("far corners, three 3 by 3 kernels in a row: largest error", row_error, 1e-10)
claim.at_most("7 by 7 kernel on images of 12 by 12: largest error", carried_over.abs().max(), 1e-10)
gaps_error = (with_gaps - wanted["far corners"]).abs().max()
claim.at_most("far corners, 3 by 3 kernel with dilation 3: largest error", gaps_error, 1e-10)
claim.equal("far corners, attention: pixels that differ from a direct count", wrong["far corners"], 0)
claim.control.at_least("plus, best 3 by 3 kernel: error over the spread", errors["plus", 1] / spread["plus"], 0.1)
claim.number("weights of the attention layer, 8 by 8", weights["attention"])
claim.number("weights of the 7 by 7 kernel with its bias", weights["7 by 7"])
claim.verdict()

# %% [markdown]
# ## What to remember
# - A layer of attention can look for a pattern of any shape, because its scores are a table over pairs of positions.
# - The table fits only one size of image, and has thousands of weights for 8 by 8 pixels.
# - A 7-by-7 kernel with its bias has fifty weights and fits every size.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, we make the last pixel of the second row black as well. Which counts change?
#    <details><summary>Solution</summary>
#
#    Its own count changes from 1 to 2. The counts of its neighbours also change: the one above from 0 to 1, the one on
#    the left from 2 to 3, and the one below from 1 to 2.
#
#    </details>
# 2. *Predict, then run.* Set `threshold = 4`, so that more pixels are black. Does the layer find a wrong pattern?
#    <details><summary>Solution</summary>
#
#    No. The layer finds more patterns, and all of them are correct.
#
#    </details>
#
# Back to [Theorem 3.1](theorem_3_1_representation.ipynb).

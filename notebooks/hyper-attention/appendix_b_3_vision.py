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
# Is there a plus in this image, or a stroke, and where? The usual answer is a convolution: a small window of weights
# slides over the image. The paper shows that one layer of attention answers as well, for a pattern of any size and
# shape. A pattern is a set $\Delta$ of offsets, the steps that lead from a pixel to the cells that have to be black;
# $|\Delta|$ is how many there are.
#
# Each pixel of an image is a token $[b_i, p_i]$: its colour $b_i$ (1 for black), and beside it a one-hot $p_i$ for its
# place. A linear layer without a softmax adds up, over all pixels $j$, the score of the pair $(i, j)$ times the value
# of $j$; a matrix $C$ makes the scores from the two tokens, and $W^V$ makes the value from the second one. Here the
# scores look at places only: 1 from a place to those at the offsets $\Delta$. The value reads the colour only. So the
# output at a pixel is the number of black pixels at its offsets, and the pattern is there if the number is $|\Delta|$.
#
# <!-- claim hyper-attention/vision-construction -->
# <blockquote>
#
# **App. B.3 (Patterns of pixels)** *Appendix B.3*
#
# With tokens $[b_i, p_i]$, $C = \mathrm{diag}(0, \tilde C)$, $\tilde C_{ij} = 1$ where $p_j$ is at one of the offsets
# $\Delta$ from $p_i$, and $W^V = [1; 0]$, output $i$ is the number of black pixels at the offsets; the pattern is there
# if it is $|\Delta|$.
#
# </blockquote>
# <!-- /claim -->
#
# In the statement $\tilde C$ is the part of $C$ that reads places; the zero before it is the part that would read
# colours. One layer does this for patterns of any size and shape, which a convolution with a fixed small kernel does
# not. That is the second claim of this page.
#
# The pictures here are the hand-written digits of scikit-learn, 8 by 8. Offsets that fall outside the image count
# nothing, so a pixel at the border never has the full pattern around it.

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
# ## The counts
# Three patterns are looked for in digits and in images of random pixels, by the layer and by looking.

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

# %% [markdown]
# The four digits in which the plus is found most often:

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
# Two controls. A value matrix with one entry for a place adds that place to every pixel that looks at it. And at the
# border some offsets fall outside: in an all-black image the count there is below $|\Delta|$.

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

# %% [markdown]
# ## A convolution for comparison
#
# <!-- claim hyper-attention/remark-cnn -->
# <blockquote>
#
# **App. B.3 (A small kernel and a large pattern)** *Appendix B.3*
#
# One convolution with a 3 by 3 kernel cannot detect patterns larger than 3 by 3; deeper networks or larger kernels can.
# One attention layer holds a pattern of any size and shape with the same number of weights. (In exchange its weights
# belong to the places of one size of image: $(1 + d)^2$ scores for $d$ pixels, where a kernel of $k$ by $k$ has $k^2$
# weights and fits every size.)
#
# </blockquote>
# <!-- /claim -->
#
# The far corners are three cells away. The best kernel of 3 by 3 is found by least squares over all images, with a
# bias: no other weights come closer. A kernel of 7 by 7 reaches them. So do three kernels of 3 by 3 in a row, if they
# are chosen well: along one axis the pattern is $z^3 + z^{-3}$, which is $(z + z^{-1})(z - \sqrt3 + z^{-1})(z +
# \sqrt3 + z^{-1})$.

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

# %% [markdown]
# The kernels in a row, and the large kernel on images of another size, 12 by 12, where the layer of attention would
# need new places and new weights. The images are padded once for all three kernels, as they are for the large one.

# %%
root = 3**0.5
axes_of = [torch.tensor(row, dtype=torch.float64) for row in ((1, 0, 1), (1, -root, 1), (1, root, 1))]
in_a_row = torch.nn.functional.pad(images, (3, 3, 3, 3))
for row in axes_of:
    in_a_row = convolve(in_a_row, torch.outer(row, row), padded=True)
row_error = (in_a_row - wanted["far corners"]).abs().max().item()

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
# The small kernel must miss the large pattern, and not the small one.

# %%
claim = Claim("hyper-attention/remark-cnn")
claim.at_least(
    "far corners, best 3 by 3 kernel: error over the spread", errors["far corners", 1] / spread["far corners"], 0.1
)
claim.at_least("far corners, best 3 by 3 kernel: places judged wrongly", missed, 1)
claim.at_most("far corners, 7 by 7 kernel: error", errors["far corners", 3], 1e-10)
claim.at_most("far corners, three 3 by 3 kernels in a row: largest error", row_error, 1e-10)
claim.at_most("7 by 7 kernel on images of 12 by 12: largest error", carried_over.abs().max(), 1e-10)
claim.equal("far corners, attention: pixels that differ from a direct count", wrong["far corners"], 0)
claim.control.at_least("plus, best 3 by 3 kernel: error over the spread", errors["plus", 1] / spread["plus"], 0.1)
claim.number("weights of the attention layer, 8 by 8", weights["attention"])
claim.number("weights of the 7 by 7 kernel with its bias", weights["7 by 7"])
claim.verdict()

# %% [markdown]
# ## What was learned
# One attention layer holds a pattern of any shape, because a score is a table over pairs of places. That is what the
# paper sets against a small kernel, and it is so. The table has its price: it knows the places of one size of image,
# and has thousands of weights where the kernel that does the same has fifty, which fit every size.
#
# ## To try
# - Set `threshold = 4`: more pixels are black and more patterns are found, all of them rightly.
# - Set `random_images = 2000`: the best 3 by 3 kernel misses the far corners even more, since random pixels tell it
#   nothing of those far away.

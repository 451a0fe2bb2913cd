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
# Each pixel of an image is a token: its colour $b_i$ (1 for black) and a one-hot for its place. The scores look at
# places only: 1 from a place to those at the offsets $\Delta$. The value reads the colour only. So the output at a
# pixel is the number of black pixels at its offsets, and the pattern is there if the number is $|\Delta|$. One layer
# does it for patterns of any size and shape, which a convolution with a fixed small kernel does not.
#
# The pictures here are the hand-written digits of scikit-learn, 8 by 8. Offsets that fall outside the image count
# nothing, so a pixel at the border never has the full pattern around it.

# %%
import torch
from sklearn.datasets import load_digits

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.vision import colour_value, count_at_offsets, pattern_score, pixel_tokens
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

# %%
digits = torch.from_numpy(load_digits().images[:images_tried] >= threshold).double()
noise = torch.randint(2, (random_images, 8, 8), generator=generator(seed)).double()
images = torch.cat([digits, noise])
tokens = pixel_tokens(images)
value = colour_value(64)


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
        axis.set_xticks([])
        axis.set_yticks([])
        axis.grid(False)
    rows, columns = found[index].nonzero(as_tuple=True)
    axes[0, column].plot(columns, rows, "P", color=show.COLOURS[1], markersize=7)
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
claim.check("pixels where the pattern is found wrongly or missed", misjudged, "==", 0)
claim.check("pixels where the layer as printed and a direct count differ", wrong, "==", 0, of="proof")
claim.check("all black, inside: least count of the plus", on_black[~border].min(), "==", 5)
claim.check("all black, border: largest count of the plus", on_black[border].max(), "<", 5)
claim.control("value with an entry for a place: largest error", (spoiled - counted["plus"]).abs().max(), "==", 0)
claim.control("all black: the plus is everywhere", on_black.min(), "==", 5)
claim.verdict()

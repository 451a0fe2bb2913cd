# %% [markdown]
# # Table 1 and Figure 1 · Do the assumptions hold in a vision transformer?
# *Mahdavi, Liao, Thrampoulidis: Table 1 and Figure 1, Section 5.1.*
#
# <!-- claim memorization/table-1 -->
# <blockquote>
#
# **Table 1 (The assumptions in a vision transformer)** *Section 5.1*
#
# On 2000 images: at the embedding Assumption 1 fails (every query is the class token) and Assumption 2 holds; after
# random attention, a random or a trained first layer of ViT both hold; general position fails everywhere. The last is a
# statement about numerical rank in float32.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/figure-1 -->
# <blockquote>
#
# **Figure 1 (Kruskal rank after random attention)** *Section 5.1*
#
# The share of independent subsets of $k$ queries after random attention is 1 at $k=n$ and falls to 0 well before $k=d$:
# the Kruskal rank is only slightly larger than $n$ and much smaller than $d$. (In float32, the precision of the
# authors' code.)
#
# </blockquote>
# <!-- /claim -->
#
# The paper takes 2000 images of ImageNet and asks at four places of a vision transformer: are the class tokens
# (the queries) of Kruskal rank $n$? Are the tokens of each image independent? Are the queries in general
# position? ImageNet and the published weights cannot be shipped with a book. **The stand-in** here are random
# crops of the two photographs that come with scikit-learn, and a small vision transformer trained on them to tell
# where a crop was taken.
#
# All features are computed twice, once in float32 and once in float64 from the start. The paper names no precision;
# the authors' published code takes ranks in float32. A rank is numerical: it counts singular values above (size) ×
# (machine epsilon) × (largest), and the two precisions put that line nine orders apart.

# %%
from pathlib import Path

import torch

from attention_theory.data.photographs import digit_images, folder_images, patches, photograph_crops
from attention_theory.memorization.attention import Examples
from attention_theory.memorization.averaging import mean_shifted_queries
from attention_theory.memorization.kruskal import context_fraction, sampled_ranks, satisfied_fraction
from attention_theory.memorization.published import load_vision_model
from attention_theory.memorization.transformer import Layer, cast, random_attention
from attention_theory.memorization.vision import VisionModel, random_vision_model, train_vision_model
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
images_count = 1000  # crops at the small size, at least 200
side = 32  # their side in pixels, a multiple of patch from patch to 512
patch = 8  # side of a patch in pixels, at least 1
heads = 3  # heads of the random and trained transformer, a divisor of the width, at least 1
draws = 200  # random subsets a test, at least 100
train_steps = 150  # steps of the stand-in for a trained model, at least 10
large_images = 800  # crops at ViT size (224 pixels, 197 tokens of 768 features); at least 780, or 0 to leave them out
large_draws = 20  # random subsets a test at ViT size, at least 5
checkpoint = ""  # folder of a ViT checkpoint; tested beside the others if given
pictures = ""  # folder of pictures; takes the place of the crops for the checkpoint
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(
    images_count=(images_count, 200, None),
    patch=(patch, 1, None),
    side=(side, range(patch, 513, patch)),
    heads=(heads, 1, None),
    draws=(draws, 100, None),
    train_steps=(train_steps, 10, None),
    large_images=(large_images, 780 if large_images else 0, None),
    large_draws=(large_draws, 5, None),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)
crops, origins = photograph_crops(images_count, side, seed)
data, origins = patches(crops, patch).to(device), origins.to(device)
n, d = data.shape[1] + 1, data.shape[2]
base = cast(random_vision_model(n, d, d, heads, seed + 1), device)
attention = cast(random_attention(d, seed + 2), device)
trained, losses = train_vision_model(base, data.float(), origins, train_steps, seed=seed + 3)
f"n = {n} tokens of width d = {d}; the trained stand-in's loss fell from {losses[0]:.3f} to {losses[-1]:.3f}"

# %% [markdown]
# ## Four places, two precisions
# *Embedding*: tokens before any layer; every query is the same class token. *Random attention*: one random head
# behind it. *Random ViT* and *trained ViT*: the output of a whole first layer.


# %%
def outputs(model: VisionModel, layer: Layer | None, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries of all images and contexts of the first 200, at the embedding or after a layer."""
    tokens = cast(model, dtype).tokens(data.to(dtype))
    if layer is None:
        return tokens[:, 0], tokens[:200]
    own = cast(layer, dtype)
    return own.at(tokens, 0), own.everywhere(tokens[:200])


places = {
    "Embedding": (base, None),
    "Random attention": (base, attention),
    "Random ViT": (base, base.layer),
    "Trained ViT (stand-in)": (trained, trained.layer),
}
found = {}
for name, (model, layer) in places.items():
    for dtype in (torch.float32, torch.float64):
        queries, contexts = outputs(model, layer, dtype)
        found[name, dtype] = {
            "general position": satisfied_fraction(queries, d, 100, seed),
            "assumption 1": satisfied_fraction(queries, n, draws, seed),
            "assumption 2": context_fraction(contexts),
        }
show.table(
    ["place", "precision", "general position", "Assumption 1", "Assumption 2"],
    [(name, str(dtype).removeprefix("torch."), *row.values()) for (name, dtype), row in found.items()],
    f"Share of random subsets (or contexts) of full rank; crops of photographs, n = {n}, d = {d}",
)

embedded = cast(base, torch.float64).tokens(data)
assumption_3 = satisfied_fraction(mean_shifted_queries(Examples(embedded, embedded[:, 0])), n, draws, seed)
repeated = data[:1].double().expand(200, -1, -1)
repeated_queries = cast(attention, torch.float64).at(cast(base, torch.float64).tokens(repeated), 0)

# %%
claim = Claim("memorization/table-1")
single = torch.float32
after = [name for name in places if name != "Embedding"]
claim.check("embedding: share for Assumption 1", found["Embedding", single]["assumption 1"], "==", 0)
claim.check("embedding: largest rank of n queries", sampled_ranks(embedded[:, 0], n, 100, seed).max(), "==", 1)
claim.check("embedding: share for Assumption 3", assumption_3, ">=", 0.99)
claim.check(
    "other rows: smallest share for Assumption 1",
    min(found[name, single]["assumption 1"] for name in after),
    ">=",
    0.99,
)
claim.check("all rows: smallest share for Assumption 2", min(row["assumption 2"] for row in found.values()), ">=", 0.99)
claim.check(
    "float32: largest share for general position",
    max(found[name, single]["general position"] for name in after),
    "<=",
    0.01,
)
claim.check(
    "float64: smallest share for general position",
    min(found[name, torch.float64]["general position"] for name in after),
    ">=",
    0.99,
)
claim.control(
    "one image repeated, random attention: share for Assumption 1",
    satisfied_fraction(repeated_queries, n, 100, seed),
    ">=",
    0.99,
)
claim.stand_in("crops of two photographs for ImageNet, a small transformer trained on them for the published weights")
claim.verdict()

# %% [markdown]
# So the pattern of Table 1 comes out, and with it what it rests on. "General position fails" is a statement about
# float32: in float64 the same queries pass. What fails exactly is the embedding row alone, where every query is
# the same vector. The paper's conclusion that the Kruskal rank is far below $d$ does not follow from its test.
#
# ## Figure 1
# The share of subsets of $k$ queries that are independent, against $k$, after random attention.

# %%
sizes = sorted({n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 8 * n, 10 * n, d})
curves = {
    str(dtype).removeprefix("torch."): [
        satisfied_fraction(outputs(base, attention, dtype)[0], k, 100, seed) for k in sizes
    ]
    for dtype in (torch.float32, torch.float64)
}
large_sizes, large_curves, large_rank = [100, 197, 230, 260, 290, 330, 400, 768], {}, {}
if large_images:
    large_crops, _ = photograph_crops(large_images, 224, seed + 4, smallest=224)
    large_model = cast(random_vision_model(197, 768, 768, 12, seed + 5), device)
    for dtype in (torch.float32, torch.float64):
        head = cast(cast(random_attention(768, seed + 6), device), dtype)
        model, parts = cast(large_model, dtype), large_crops.split(50)
        queries = torch.cat([head.at(model.tokens(patches(part.to(device, dtype), 16)), 0) for part in parts])
        name = str(dtype).removeprefix("torch.")
        large_curves[name] = [satisfied_fraction(queries, k, large_draws if k < 400 else 5, seed) for k in large_sizes]
        large_rank[name] = int(sampled_ranks(queries, 768, 3, seed).median())

fig, panels = show.axes(1, 2, sharey=True)
for axis, x, lines, (few, all_) in (
    (panels[0], sizes, curves, (n, d)),
    (panels[1], large_sizes, large_curves, (197, 768)),
):
    for (name, curve), marker in zip(lines.items(), show.MARKERS, strict=False):
        axis.plot(x, curve, marker=marker, label=name)
    for line in (few, all_):
        axis.axvline(line, linestyle="--", color="0.5")
    axis.set(xlabel="Kruskal rank candidate k", title=f"n = {few}, d = {all_}")
panels[0].set(ylabel="satisfied fraction")
panels[0].legend()
show.figure(
    fig,
    name="kruskal",
    caption="Left the small size, right ViT size. In float32 the fraction falls between n and d (dashed), as in the "
    "paper's figure. In float64, from the same images and weights, it falls much later or not at all.",
    alt="Two panels of satisfied fraction against k. Float32 curves drop from one to zero between the dashed lines.",
)

# %% [markdown]
# The caption says more: the Kruskal rank is only slightly larger than $n$, and much smaller than $d$. Where the float32
# curve falls is set by the tolerance, not by $n$. At the small size it is six times $n$ and half of $d$; at ViT size
# the stand-in falls later than the paper's images do. So "slightly larger" is not borne out here. The authors'
# published notebook prints the shares and ranks behind the paper's figure and table; they are quoted, not rerun: random
# attention holds 99 % up to a $k$ of some 235 and fails from 330 on, 768 queries have rank 472 (random ViT 717, trained
# ViT 313), and the trained ViT passes Assumption 1 with 0.9982.
#
# Not every picture will do. Digits cut into single pixels have class tokens of rank below $n = 65$ after random
# attention, even in float64.


# %%
def last_to_hold(x: list[int], lines: dict[str, list[float]]) -> dict[str, int]:
    """The largest k that 99 % of the subsets satisfy, for each precision."""
    return {
        name: max([k for k, s in zip(x, line, strict=True) if s >= 0.99], default=0) for name, line in lines.items()
    }


last_ok, last_large = last_to_hold(sizes, curves), last_to_hold(large_sizes, large_curves)
rows = [("here, small size", n, d, last_ok["float32"], "", last_ok["float32"] / n, last_ok["float32"] / d)]
if large_images:
    last = last_large["float32"]
    rows.append(("here, ViT size", 197, 768, last, large_rank["float32"], last / 197, last / 768))
rows.append(("authors' published notebook", 197, 768, "about 235", 472, 235 / 197, 235 / 768))
show.table(["random attention, float32", "n", "d", "last k at 99 %", "rank of d queries", "k over n", "k over d"], rows)

pixels = patches(digit_images(), 1).to(device)
pixel_model = cast(cast(random_vision_model(65, 1, d, heads, seed + 7), device), torch.float64)
pixel_queries = cast(attention, torch.float64).at(pixel_model.tokens(pixels), 0)

# %%
claim = Claim("memorization/figure-1")
claim.check("float32: share at k = n", curves["float32"][0], ">=", 0.99)
claim.check("float32: share at k = d", curves["float32"][-1], "<=", 0.01)
claim.check("float64: largest k at 99 %, over that in float32", last_ok["float64"] / last_ok["float32"], ">=", 1.2)
claim.printed("float32: largest k at 99 % over n, 'only slightly larger'", last_ok["float32"] / n, "<=", 1.5)
if large_images:
    claim.check("ViT size, float32: share at k = n", large_curves["float32"][large_sizes.index(197)], ">=", 0.99)
    claim.check("ViT size, float32: share at k = d", large_curves["float32"][-1], "<=", 0.01)
    claim.check(
        "ViT size: largest k at 99 %, float64 over float32", last_large["float64"] / last_large["float32"], ">=", 1.2
    )
    claim.printed("ViT size, float32: the same", last_large["float32"] / 197, "<=", 1.5)
    claim.check("ViT size, float32: largest k at 99 % over d, 'much smaller'", last_large["float32"] / 768, "<=", 0.5)
claim.control(
    "digits, one pixel a patch: share at k = n = 65", satisfied_fraction(pixel_queries, 65, 100, seed), ">=", 0.99
)
claim.control("embedding, float64: share at k = n", found["Embedding", torch.float64]["assumption 1"], ">=", 0.99)
claim.stand_in("crops of two photographs for ImageNet")
claim.verdict()

# %% [markdown]
# ## With published weights
# A folder with a ViT checkpoint (and one with pictures) can be named in the parameters. The same tests then run
# on it.

# %%
if checkpoint:
    model = cast(load_vision_model(Path(checkpoint)), device)
    tall = int((model.positions.shape[0] - 1) ** 0.5)
    size = int((model.embed.weight.shape[0] / 3) ** 0.5)
    shown = (
        folder_images(Path(pictures), tall * size, 2000) if pictures else photograph_crops(1000, tall * size, seed)[0]
    )
    for dtype in (torch.float32, torch.float64):
        own = cast(model, dtype)
        parts = [own.tokens(patches(part.to(device, dtype), size)) for part in shown.split(50)]
        queries = torch.cat([own.layer.at(part, 0) for part in parts])
        shares = [
            satisfied_fraction(queries, k, 100, seed)
            for k in (len(model.positions), len(model.class_token))
            if k <= len(queries)
        ]
        print(dtype, "Assumption 1 and general position:", shares)
else:
    print("no checkpoint given: the published weights were not tested")

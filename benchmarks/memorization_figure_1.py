"""The run at the paper's size behind Figure 1: 2000 images of 224 pixels, n = 197, d = 768, random attention.

    python benchmarks/memorization_figure_1.py results/memorization/figure_1.json

The images are crops of the two photographs that come with scikit-learn. For each of several draws of crops and weights,
the numbers of independent vectors at the head of random orders of the queries are counted, in float32: they give the
share of independent subsets of every size. Float64 is tested at a few sizes. Some four minutes of one core.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from attention_theory.data.photographs import patches, photograph_crops
from attention_theory.memorization.kruskal import independent_prefixes, satisfied_fraction
from attention_theory.memorization.transformer import cast, random_attention
from attention_theory.memorization.vision import random_vision_model

TOKENS, WIDTH, HEADS, SIDE, PATCH = 197, 768, 12, 224, 16


def queries(images: int, seed: int, dtype: torch.dtype) -> torch.Tensor:
    """The class tokens of all images after random attention."""
    crops, _ = photograph_crops(images, SIDE, 10 * seed + 4, smallest=SIDE)
    model = cast(random_vision_model(TOKENS, WIDTH, WIDTH, HEADS, 10 * seed + 5), dtype)
    head = cast(random_attention(WIDTH, 10 * seed + 6), dtype)
    return torch.cat([head.at(model.tokens(patches(part.to(dtype), PATCH)), 0) for part in crops.split(50)])


def run(images: int, draws: int, seed: int, most: int) -> dict[str, Any]:
    """The counts of one draw of crops and weights."""
    found = independent_prefixes(queries(images, seed, torch.float32), most, draws, seed)
    sizes, counts = found.unique(return_counts=True)
    double = queries(images, seed, torch.float64)
    return {
        "seed": seed,
        "draws_by_prefix": {str(size): count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)},
        "float64": {str(k): satisfied_fraction(double, k, 10, seed) for k in (TOKENS, 2 * TOKENS, WIDTH)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, default=450, help="subsets up to this size are tested in float32")
    chosen = parser.parse_args()
    begin = time.process_time()
    rows = [run(chosen.images, chosen.draws, seed, chosen.most) for seed in range(chosen.seeds)]
    parameters = {name: getattr(chosen, name) for name in ("images", "draws", "most")}
    made = {"torch": torch.__version__, "device": "CPU", "cpu_seconds": round(time.process_time() - begin)}
    content = {"parameters": {"context": TOKENS, "width": WIDTH, **parameters}, "provenance": made, "data": rows}
    chosen.result.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The softmax of the memorising panels over a short context: examples as columns beside examples as rows, in one run.

    python benchmarks/memorization_columns.py

The attention weights of 144 heads on 64 examples, float32, one thread, forward and backward. As rows, tokens are the
last axis, which is the usual way to write it; as columns, the examples are, and tokens stand before them. It prints
milliseconds of CPU by the number of tokens and how far apart the two are; it ends non-zero if columns are less than 4
times as fast at 8 tokens, or the results differ by more than the rounding of a sum of so many.
"""

import sys

import torch
from torch import Tensor

from attention_theory.measure import cpu_seconds
from attention_theory.randomness import generator, normal

HEADS, EXAMPLES, PAGE = 144, 64, 8


def both_ways(logits: Tensor, slope: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The softmax along an axis, and the slope in the logits."""
    logits = logits.clone().requires_grad_()
    weights = logits.softmax(dim=axis)
    return weights.detach(), torch.autograd.grad(weights, logits, slope)[0]


def main() -> int:
    torch.set_num_threads(1)
    draw = generator(0)
    ratios, exact = {}, True
    print(f"{'tokens':>6} {'rows ms':>8} {'columns ms':>10} {'ratio':>6} {'apart':>8}")
    for tokens in (4, PAGE, 12, 16, 32):
        logits, slope = (normal(HEADS, tokens, EXAMPLES, seed=draw, dtype=torch.float32) for _ in range(2))
        rows, row_slope = logits.mT.contiguous(), slope.mT.contiguous()
        columns = 1e3 * cpu_seconds(lambda x=logits, g=slope: both_ways(x, g, 1), repeats=21)  # type: ignore[misc]
        literal = 1e3 * cpu_seconds(lambda x=rows, g=row_slope: both_ways(x, g, 2), repeats=21)  # type: ignore[misc]
        pairs = zip(both_ways(logits, slope, 1), both_ways(rows, row_slope, 2), strict=True)
        apart = max((one - other.mT).abs().max().item() for one, other in pairs)
        exact &= apart <= 8 * tokens * torch.finfo(torch.float32).eps
        ratios[tokens] = literal / columns
        print(f"{tokens:6} {literal:8.3f} {columns:10.3f} {ratios[tokens]:6.1f} {apart:8.1e}")
    return 0 if ratios[PAGE] >= 4 and exact else 1


if __name__ == "__main__":
    sys.exit(main())

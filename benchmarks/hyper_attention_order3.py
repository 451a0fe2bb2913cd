"""Order-3 HyperAttention: block by block against the literal sum over triples, forward and backward, in one run.

Run it by itself: ``python benchmarks/hyper_attention_order3.py``. It prints, for each length, the time of one forward
and backward pass, the peak bytes held by tensors, and the ratios; it ends non-zero if the blockwise form needs more
than a tenth of the memory or more time. Width 64, batch 4, float32, one head, one thread. ``causal`` is the sum of
Definition G.1 in a language model (``j2 <= j1 <= i``); ``all`` is the sum of Theorem G.4, where there is
nothing to leave out.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor

from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.measure import cpu_seconds, peak_bytes
from attention_theory.randomness import generator, normal

WIDTH, BATCH, LENGTHS = 64, 4, (128, 256)
SUMS: tuple[tuple[str, Sum, bool], ...] = (("causal", "ge", True), ("all", "all", False))


def passes(tokens: int, sum_over: Sum, causal: bool) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """One forward and backward pass in the literal form and block by block, on the same random inputs."""
    draw = generator(0)
    inputs = [normal(BATCH, tokens, WIDTH, seed=draw, dtype=torch.float32).requires_grad_() for _ in range(5)]
    queries, keys1, keys2, values1, values2 = inputs
    scale = WIDTH**-0.5

    def literal() -> Tensor:
        out = tuple_attention(queries, [keys1, keys2], [values1, values2], sum_over, causal, scale)
        torch.autograd.grad(out.square().sum(), inputs)
        return out.detach()

    def blockwise() -> Tensor:
        out = pair_attention(queries, keys1, keys2, values1, values2, sum_over=sum_over, causal=causal, scale=scale)
        torch.autograd.grad(out.square().sum(), inputs)
        return out.detach()

    return literal, blockwise


def main() -> int:
    torch.set_num_threads(1)
    met = True
    print("tokens  sum     literal s  blockwise s  faster   literal MB  blockwise MB  smaller  difference")
    for tokens in LENGTHS:
        for name, sum_over, causal in SUMS:
            literal, blockwise = passes(tokens, sum_over, causal)
            difference = (literal() - blockwise()).abs().max().item()
            slow, fast = cpu_seconds(literal), cpu_seconds(blockwise)
            large, small = peak_bytes(literal), peak_bytes(blockwise)
            met &= fast <= slow and 10 * small <= large
            print(
                f"{tokens:6d}  {name:6s}  {slow:9.3f}  {fast:11.3f}  {slow / fast:5.1f}x  {large / 1e6:11.1f}"
                f"  {small / 1e6:12.1f}  {large / small:6.1f}x  {difference:.1e}"
            )
    print("met" if met else "NOT MET", "(at least 10 times less memory and no slower)")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

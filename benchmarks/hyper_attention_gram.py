"""Training a linear attention layer: a step in Gram form beside the same step sample by sample, in one run.

    python benchmarks/hyper_attention_gram.py

A colliding-agents task of 20 agents on 120 heights, 10 000 sequences, float64, one thread. Sample by sample means the
layer itself with products from the right (linear cost) and automatic differentiation. It prints the CPU seconds of a
descent step in each form and of making the Gram tensors once, how far apart the gradients are, and after how many steps
the Gram form has paid for itself; it ends non-zero if a step is less than 20 times as fast or the gradients differ.
"""

import sys

import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions.gradients import residuals
from attention_theory.hyper_attention.interactions.gram import gram_gradients, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import outputs_from_counts, sample_sequences
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.measure import cpu_seconds
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal

GRID, LENGTH, RADIUS, SAMPLES = 120, 20, 5, 10_000


def main() -> int:
    torch.set_num_threads(1)
    draw = generator(0)
    symbols = sample_sequences(SAMPLES, LENGTH, GRID, draw)
    target = -window_matrix(GRID, RADIUS)
    score = 0.1 * normal(GRID, GRID, seed=draw)
    value = 0.5 + torch.rand(GRID, generator=draw, dtype=torch.float64)
    tokens = torch.eye(GRID, dtype=torch.float64)[symbols]
    targets = outputs_from_counts(symbols, target[..., None]).squeeze(-1)

    def literal_step() -> tuple[Tensor, ...]:
        layer = [score.clone().requires_grad_(), value.clone().requires_grad_()]
        loss = residuals(tokens, targets, *layer).square().sum(dim=1).mean()
        return torch.autograd.grad(loss, layer)

    made = cpu_seconds(lambda: gram_tensors(symbols, GRID), repeats=1)
    gram = gram_tensors(symbols, GRID)
    literal = cpu_seconds(literal_step)
    fast = cpu_seconds(lambda: gram_gradients(gram, target, score, value))

    by_score, by_value, _ = gram_gradients(gram, target, score, value)
    literal_score, literal_value = literal_step()
    apart = max(relative_error(by_score, literal_score), relative_error(by_value, literal_value))
    print(f"a step sample by sample: {literal:.3f} s; in Gram form: {fast:.5f} s; ratio {literal / fast:.0f}")
    print(f"Gram tensors, once: {made:.2f} s, paid back after {made / (literal - fast):.1f} steps")
    print(f"gradients apart by {apart:.1e} of their size")
    return 0 if literal / fast >= 20 and apart < 1e-10 else 1


if __name__ == "__main__":
    sys.exit(main())

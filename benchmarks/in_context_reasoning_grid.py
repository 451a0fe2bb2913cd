"""The training grid of Table 1: one step in gather form, models stacked, beside the dense form as printed.

    python benchmarks/in_context_reasoning_grid.py

Sizes of the paper (60 words, width 128, 256 positions, batch 512), float32, one thread. For each attention it takes one
normalised step of the six runs of an Origin-FA model at three noise levels and two rates: stacked, by look-ups and
closed-form gradients, and then one of them in the dense form, with its (batch, length, width) tensor and autograd. It
prints milliseconds of CPU a step and a model, their ratio, and what the whole grid costs at that pace: 13 models, 4
noise levels, 2 rates, 2000 steps. It ends non-zero if the gather form is less than 5 times as fast.
"""

import sys

import torch

from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import Embedding, embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward, forward, gradients
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, Training
from attention_theory.measure import cpu_seconds

TASK = Task(noisy=True, fillers="outputs allowed")
WIDTH, BATCH, LEVELS, RATES = 128, 512, (0.2, 0.5, 0.8), (0.1, 0.5)
GRID_STEPS = 13 * 4 * 2 * 2000


def main() -> int:
    torch.set_num_threads(1)
    sentences = sample_sentences(TASK, BATCH, 0)
    labels = draw_labels(sentences, TASK, torch.tensor(LEVELS, dtype=torch.float64), 1)
    print(f"{'attention':>9} {'gather ms':>10} {'dense ms':>9} {'ratio':>6} {'grid, CPU min':>14}")
    ratios = []
    for name in ("Origin-Linear-FA", "Origin-ReLU-FA", "Origin-Softmax-FA"):
        variant = VARIANTS[name]
        stack = Stack([Training(variant, a, r) for a in LEVELS for r in RATES], TASK, dtype=torch.float32)
        rows = labels.repeat_interleave(len(RATES), dim=0)

        def gather(stack: Stack = stack, rows: torch.Tensor = rows) -> None:
            done = forward(sentences.tokens, stack.weights, stack.architecture)
            error = cross_entropy(done.logits, rows).error
            stack.step(gradients(sentences.tokens, stack.weights, stack.architecture, done, error))

        codes = embedding(TASK.tokens, WIDTH).to(torch.float32)
        start = Weights(*(torch.zeros(WIDTH, WIDTH, requires_grad=True) for _ in range(3)))

        architecture = Architecture(variant.attention, 1.0, 1e-8)

        def dense(
            weights: Weights = start, codes: Embedding = codes, architecture: Architecture = architecture
        ) -> None:
            logits = dense_forward(sentences.tokens, codes, weights, architecture).logits
            slopes = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, labels[0]), weights.matrices)
            with torch.no_grad():
                for part, slope in zip(weights.matrices, slopes, strict=True):
                    part -= RATES[0] * slope / slope.norm().clamp_min(1e-30)

        fast, slow = 1e3 * cpu_seconds(gather) / len(stack.runs), 1e3 * cpu_seconds(dense)
        ratios.append(slow / fast)
        grid = GRID_STEPS * fast / 60_000
        print(f"{variant.attention:>9} {fast:10.2f} {slow:9.1f} {slow / fast:6.1f} {grid:14.1f}")
    return 0 if min(ratios) >= 5 else 1


if __name__ == "__main__":
    sys.exit(main())

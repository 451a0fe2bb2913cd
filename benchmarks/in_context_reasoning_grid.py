"""The training grid of Table 1: one step in gather form, models stacked, beside the dense one-hot form as printed.

    python benchmarks/in_context_reasoning_grid.py

Sizes of the paper (60 words, width 128, 256 positions, batch 512), float32, one thread. For each attention it takes one
normalised step of the twelve runs of the Origin models at three noise levels and two rates: stacked, by look-ups and
closed-form gradients, and then one of them in the dense form, with its (batch, length, width) tensor and autograd. It
prints milliseconds of CPU a step and a model, their ratio, the most memory that each form holds at once for all it
trains, and what the whole grid costs at that pace: 13 models, 4 noise levels, 2 rates, 2000 steps. It ends non-zero if
the gather form is less than 40 times as fast.
"""

import sys
from collections.abc import Callable

import torch

from attention_theory.allocation import keep_freed_memory
from attention_theory.in_context_reasoning.batches import Shared
from attention_theory.in_context_reasoning.embedding import Embedding, embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, TrainingRun
from attention_theory.measure import cpu_seconds, peak_bytes

TASK = Task(noisy=True, fillers="outputs allowed")
WIDTH, BATCH, LEVELS, RATES = 128, 512, (0.2, 0.5, 0.8), (0.1, 0.5)
GRID_STEPS = 13 * 4 * 2 * 2000
LEAST = 40


def least(run: Callable[[], object], times: int) -> float:
    """Milliseconds of CPU, the least of several: other programs on the machine make them more, and nothing fewer."""
    return 1e3 * min(cpu_seconds(run, 1) for _ in range(times))


def main() -> int:
    torch.set_num_threads(1)
    keep_freed_memory()  # as training does
    sentences = sample_sentences(TASK, BATCH, 0)
    labels = draw_labels(sentences, TASK, torch.tensor(LEVELS, dtype=torch.float64), 1)
    columns = ["gather ms", "dense ms", "ratio", "gather MB", "dense MB", "grid, min"]
    print(f"{'attention':>9} " + " ".join(f"{column:>9}" for column in columns))
    ratios = []
    for attention in ("Linear", "ReLU", "Softmax"):
        variants = [VARIANTS[f"Origin-{attention}-{full}"] for full in ("F", "FA")]
        stack = Stack(
            [TrainingRun(one, a, r) for one in variants for a in LEVELS for r in RATES], TASK, dtype=torch.float32
        )
        rows = labels.repeat_interleave(len(RATES), dim=0).repeat(len(variants), 1)

        def gather(stack: Stack = stack, rows: torch.Tensor = rows) -> None:
            with torch.inference_mode():  # as in training
                Shared(sentences.tokens, TASK, torch.float32).step(stack, rows, "subtraction")

        codes = embedding(TASK.tokens, WIDTH).to(torch.float32)
        start = Weights(*(torch.zeros(WIDTH, WIDTH, requires_grad=True) for _ in range(3)))
        architecture = Architecture(variants[1].attention, 1.0, 1e-8)

        def dense(
            weights: Weights = start, codes: Embedding = codes, architecture: Architecture = architecture
        ) -> None:
            logits = dense_forward(sentences.tokens, codes, weights, architecture).logits
            slopes = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, labels[0]), weights.matrices)
            with torch.no_grad():
                for part, slope in zip(weights.matrices, slopes, strict=True):
                    part -= RATES[0] * slope / slope.norm().clamp_min(1e-30)

        fast, slow = least(gather, 40) / len(stack.runs), least(dense, 10)
        ratios.append(slow / fast)
        memory = [peak_bytes(form) / 2**20 for form in (gather, dense)]
        values = [fast, slow, slow / fast, *memory, GRID_STEPS * fast / 60_000]
        print(f"{attention:>9} " + " ".join(f"{value:9.1f}" for value in values))
    if min(ratios) < LEAST:
        print(f"the gather form is {min(ratios):.0f} times as fast, of at least {LEAST}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

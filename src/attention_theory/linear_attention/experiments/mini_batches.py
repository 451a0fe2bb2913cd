"""Mini-batches as an ordinary training loop draws them: pass after pass through the data, shuffled anew each time."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import require, require_some


def shuffled_batches(sequences: int, batch: int, steps: int, seed: Seed) -> Int[Tensor, "steps batch"]:
    """Which sequences each step sees: the next ``batch`` of one pass after another, each pass in an order of its own.

    A batch that does not divide the data runs on into the next pass. One that is larger holds every sequence several
    times; where it is a multiple, every step is on all the data.

    Args:
        sequences: N, the number of sequences.
        batch: sequences in a step.
        steps: the number of steps.
        seed: draws the orders.

    Raises:
        ParameterError: a number below 1.
    """
    require(sequences=(sequences, 1, None), batch=(batch, 1, None), steps=(steps, 1, None))
    source = generator(seed)
    passes = -(-steps * batch // sequences)
    orders = [torch.randperm(sequences, generator=source, device=source.device) for _ in range(passes)]
    return torch.cat(orders)[: steps * batch].unflatten(0, (steps, batch))


def batches_of_runs(sequences: int, batch: int, steps: int, seeds: Sequence[Seed]) -> Int[Tensor, "steps runs batch"]:
    """The batches of several runs side by side, each in an order of its own.

    Raises:
        ParameterError: a number below 1, or no seed.
    """
    require_some(seeds=seeds)
    return torch.stack([shuffled_batches(sequences, batch, steps, seed) for seed in seeds], dim=1)

"""Every member of a finite set, in batches of torch."""

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.certificates.certificate import LIMIT, Answer, Clock, Outcome, decided
from attention_theory.validation import refuse_unless, require

#: A batch of members: a tensor of values for each name.
Batch = dict[str, Int[Tensor, " members"]]


def every(
    sizes: Mapping[str, int],
    holds: Callable[[Batch], Bool[Tensor, " members"]],
    words: str,
    at_once: int = 4096,
    seconds: float = LIMIT,
) -> Answer:
    """Try ``holds`` at all values ``0, ..., size - 1`` of all names.

    Args:
        sizes: the number of values of each name.
        holds: for a batch, at which of its members the statement is true.
        words: the question.
        at_once: the members of a batch.
        seconds: the limit of processor time, after which the outcome is ``unknown``; a batch is never cut short.

    Raises:
        ParameterError: a size or a batch below 1.
    """
    refuse_unless(min(sizes.values(), default=0) >= 1, f"sizes must be at least 1 each, got {dict(sizes)}")
    require(at_once=(at_once, 1, None))
    clock, total, counterexample = Clock(seconds), math.prod(sizes.values()), None
    outcome: Outcome = "proved"
    for start in range(0, total, at_once):
        batch = members(sizes, torch.arange(start, min(start + at_once, total)))
        wrong = (~holds(batch)).nonzero().flatten()
        if len(wrong):
            counterexample = {name: int(values[wrong[0]]) for name, values in batch.items()}
            outcome = decided(counterexample)
            break
        if clock.has_run_out and start + at_once < total:
            outcome = "unknown"
            break
    ranges = ", ".join(f"{name} below {size}" for name, size in sizes.items())
    return Answer(f"{words}\nfor {ranges}: {total} cases", outcome, _engine(), clock.seconds, counterexample)


def members(sizes: Mapping[str, int], numbers: Int[Tensor, " members"]) -> Batch:
    """The members of these numbers, counted with the last name fastest."""
    batch: Batch = {}
    for name, size in reversed(list(sizes.items())):
        batch[name], numbers = numbers % size, numbers // size
    return dict(reversed(list(batch.items())))


def _engine() -> str:
    return f"exhaustion, torch {torch.__version__}"

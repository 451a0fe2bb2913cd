"""Every member of a finite set, in batches of torch."""

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.certificates.certificate import Answer, Clock, decided
from attention_theory.validation import Each, require

#: A batch of members: a tensor of values for each name.
Batch = dict[str, Int[Tensor, " members"]]


def every(
    sizes: Mapping[str, int], holds: Callable[[Batch], Bool[Tensor, " members"]], words: str, at_once: int = 4096
) -> Answer:
    """Try ``holds`` at all values ``0, ..., size - 1`` of all names.

    Args:
        sizes: the number of values of each name.
        holds: for a batch, at which of its members the statement is true.
        words: the question.
        at_once: the members of a batch.

    Raises:
        ParameterError: a size or a batch below 1.
    """
    require(sizes=(Each(list(sizes.values())), 1, None), at_once=(at_once, 1, None))
    clock, total, counterexample = Clock(), math.prod(sizes.values()), None
    for start in range(0, total, at_once):
        batch = members(sizes, torch.arange(start, min(start + at_once, total)))
        wrong = (~holds(batch)).nonzero().flatten()
        if len(wrong):
            counterexample = {name: int(values[wrong[0]]) for name, values in batch.items()}
            break
    ranges = ", ".join(f"{name} below {size}" for name, size in sizes.items())
    return Answer(
        f"{words}\nfor {ranges}: {total} cases", decided(counterexample), _engine(), clock.seconds, counterexample
    )


def members(sizes: Mapping[str, int], numbers: Int[Tensor, " members"]) -> Batch:
    """The members of these numbers, counted with the last name fastest."""
    batch: Batch = {}
    for name, size in reversed(list(sizes.items())):
        batch[name], numbers = numbers % size, numbers // size
    return dict(reversed(list(batch.items())))


def _engine() -> str:
    return f"exhaustion, torch {torch.__version__}"

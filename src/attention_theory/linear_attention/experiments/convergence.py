"""How far and how fast errors fall: curves over the passes through the data, where they end, when they pass a level."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require, require_some

#: What a run counts as whose error is no number, or is larger: it has diverged.
DIVERGED = 1e12


def pass_means(history: Float[Tensor, "steps ..."], steps_each: int) -> Float[Tensor, "passes ..."]:
    """The mean error of the batches of each pass, or of each window of steps; a last, unfinished one is left out.

    Raises:
        ParameterError: fewer than one step in a pass, or more than there are.
    """
    require(steps_each=(steps_each, 1, len(history)))
    passes = len(history) // steps_each
    return history[: passes * steps_each].unflatten(0, (passes, steps_each)).mean(dim=1)


def final_errors(curves: Float[Tensor, "passes ..."], floor: float = 0.0, last: int = 10) -> Float[Tensor, "..."]:
    """The median of the last passes, from ``floor`` to :data:`DIVERGED`.

    At a constant rate Adam throws a run that has nothing more to learn up by powers of ten now and then; a median over
    ten passes is not moved by that.

    Raises:
        ParameterError: fewer than one pass.
    """
    require(last=(last, 1, None))
    require_some(curves=curves)
    return curves[-last:].nan_to_num(nan=DIVERGED).quantile(0.5, dim=0).clamp(floor, DIVERGED)


def first_below(curves: Float[Tensor, "passes ..."], level: float) -> Float[Tensor, "..."]:
    """The number of passes at which a curve is first at or below a level; infinite where it never is."""
    reached = curves <= level
    first = 1 + reached.to(torch.int8).argmax(dim=0)
    return torch.where(reached.any(dim=0), first.to(curves.dtype), torch.inf)

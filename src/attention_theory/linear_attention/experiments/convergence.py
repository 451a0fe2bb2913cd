"""Curves of errors over passes through the data: where they end, when they reach a level, which setting is best."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.validation import Each, require, require_some

#: What a run counts as whose error is no number, or is larger: it has diverged.
_DIVERGED = 1e12


def final_errors(curves: Float[Tensor, "passes ..."], floor: float = 0.0, last: int = 10) -> Float[Tensor, "..."]:
    """The median of the last passes, from ``floor`` to 1e12.

    Raises:
        ParameterError: fewer than one pass.
    """
    require(last=(last, 1, None))
    require_some(curves=curves)
    return curves[-last:].nan_to_num(nan=_DIVERGED).quantile(0.5, dim=0).clamp(floor, _DIVERGED)


def first_below(curves: Float[Tensor, "passes ..."], level: float) -> Float[Tensor, "..."]:
    """The number of passes at which a curve is first at or below a level; infinite where it never is."""
    reached = curves <= level
    first = 1 + reached.to(torch.int8).argmax(dim=0)
    return torch.where(reached.any(dim=0), first.to(curves.dtype), torch.inf)


def rounding_floor(heads: int, dtype: torch.dtype = torch.float32) -> float:
    """The relative squared error of a student that rounding alone can leave: ``(√H (H + 2) u)²``.

    A coefficient sums H products of two stored numbers; u is the unit roundoff. H + 2 roundings reach each product, and
    with random signs the sum of the sizes is about √H times that of the products.

    Args:
        heads: H.
        dtype: the arithmetic of the training.

    Raises:
        ParameterError: fewer than one head.
    """
    require(heads=(heads, 1, None))
    return heads * ((heads + 2) * torch.finfo(dtype).eps / 2) ** 2


def best_settings(
    errors: Float[Tensor, "runs kinds settings"], floors: float | Sequence[float]
) -> Int[Tensor, " kinds"]:
    """For each kind of student the setting of least error, in the geometric mean over the runs that were searched.

    Errors below the floor count as the floor, and of equal settings the first is taken. A setting with a run that
    diverged is taken only where all settings have one.

    Args:
        errors: those of final passes; infinite, no number, or from 1e12 on for runs that diverged.
        floors: the least error that counts, for all kinds or for each; see :func:`rounding_floor`.

    Raises:
        ParameterError: a floor that is not positive.
    """
    least = torch.as_tensor(floors, dtype=torch.float64, device=errors.device)
    require(floors=(Each(least), torch.finfo(torch.float64).tiny, None))
    above = (errors.double().log() - least.log()[..., None]).clamp(min=0).mean(dim=0)  # 0 where all runs arrive
    diverged = ~(errors < _DIVERGED).all(dim=0)
    return above.masked_fill(diverged, torch.inf).argmin(dim=-1)

"""Tests whether a loss falls at a linear rate, as Section 5.1 states of the models that converge."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.trends import linear_fit_r2, slope
from attention_theory.validation import ParameterError, refuse_unless

#: Records that a stretch of a curve needs, for a line through each half of it.
_LEAST_RECORDS = 4


@dataclass(frozen=True)
class _Rate:
    """Rate at which the excess of a loss over its target falls along a stretch (Section 5.1).

    Attributes:
        per_step: the slope of ``ln(excess)`` in t, by least squares.
        bend: that of the later half of the stretch over that of the earlier half. At a linear rate it is 1; it is
            above 1 where the loss falls ever faster, and near 0 or below it where the loss has come to rest.
        straightness: the share of the variance of ``ln(excess)`` that the line explains.
    """

    per_step: float
    bend: float
    straightness: float


def rate_of(
    times: Sequence[int] | Float[Tensor, " records"], excess: Float[Tensor, " records"], high: float, low: float
) -> _Rate:
    """The rate of a curve from where it first comes below ``high`` to where it first comes below ``low``.

    A curve that never comes below ``low`` is read to its end. A curve with fewer than four records below ``high``
    by then has no rate: all three numbers are 0.

    Raises:
        ParameterError: fewer than four records in between, for want of records and not of steps, or an excess among
            them that is not positive.
    """
    at = torch.as_tensor(times, dtype=torch.float64, device=excess.device)
    begin, end = _first_below(excess, high), _first_below(excess, low)
    if end == len(excess) < begin + _LEAST_RECORDS:
        return _Rate(0.0, 0.0, 0.0)
    if end - begin < _LEAST_RECORDS:
        raise ParameterError(
            f"a rate needs {_LEAST_RECORDS} records between {high:.3g} and {low:.3g}, got {end - begin}"
        )
    at, inside = at[begin:end], excess[begin:end].double()
    least = inside.min().item()
    refuse_unless(least > 0, f"excess must be positive in the window, the least is {least}")
    logs, half = inside.log(), len(inside) // 2
    early, late = slope(at[: half + 1], logs[: half + 1]), slope(at[half:], logs[half:])
    return _Rate(slope(at, logs), late / early, linear_fit_r2(at, logs))


def _first_below(values: Float[Tensor, " records"], bound: float) -> int:
    """The first record below a bound; the number of records where there is none."""
    below = (values < bound).nonzero()
    return int(below[0]) if len(below) else len(values)

"""Reading the losses of Figures 1 and 2: whether one falls at a linear rate, whether it grows at its end, what is left.

Section 5.1 says that the models which converge do so at a linear rate, and Section 5.2 that some losses diverge. Both
are statements about slopes: of the logarithm of the excess over the target, and of the loss itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.table_1 import gap_to_bayes
from attention_theory.in_context_reasoning.training import History
from attention_theory.trends import linear_fit_r2, slope
from attention_theory.validation import ParameterError, refuse_unless

#: Records that a stretch of a curve needs, for a line through each half of it.
LEAST_RECORDS = 4


@dataclass(frozen=True)
class Rate:
    """How the excess of a loss over its target falls along a stretch (Section 5.1).

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
) -> Rate:
    """The :class:`Rate` of a curve from where it first comes below ``high`` to where it first comes below ``low``.

    A curve that never comes below ``low`` is read to its end. One that has hardly come below ``high`` by then has no
    rate: all three numbers are 0.

    Raises:
        ParameterError: fewer than four records in between, for want of records and not of steps, or an excess among
            them that is not positive.
    """
    at = torch.as_tensor(times, dtype=torch.float64, device=excess.device)
    begin, end = _first_below(excess, high), _first_below(excess, low)
    if end == len(excess) < begin + LEAST_RECORDS:
        return Rate(0.0, 0.0, 0.0)
    if end - begin < LEAST_RECORDS:
        raise ParameterError(
            f"a rate needs {LEAST_RECORDS} records between {high:.3g} and {low:.3g}, got {end - begin}"
        )
    at, inside = at[begin:end], excess[begin:end].double()
    least = inside.min().item()
    refuse_unless(least > 0, f"excess must be positive in the window, the least is {least}")
    logs, half = inside.log(), len(inside) // 2
    early, late = slope(at[: half + 1], logs[: half + 1]), slope(at[half:], logs[half:])
    return Rate(slope(at, logs), late / early, linear_fit_r2(at, logs))


def _first_below(values: Float[Tensor, " records"], bound: float) -> int:
    """The first record below a bound; the number of records where there is none."""
    below = (values < bound).nonzero()
    return int(below[0]) if len(below) else len(values)


def growth(history: History, measure: str, name: str, noise: float, rate: float) -> float:
    """By how much a measure grows a step over the last half of the records, by least squares (Section 5.2).

    A loss that diverges grows; one that falls at its end does not diverge, however high it stands.

    Raises:
        ParameterError: no such run, no such measure, or fewer than two records in the last half.
    """
    half = len(history.steps) // 2
    return slope(torch.tensor(history.steps[half:], dtype=torch.float64), history.of(measure, name, noise, rate)[half:])


def share_left(history: History, measure: str, name: str, noise: float, rate: float, outputs: int = 4) -> float:
    """How much is left at the end of the way from the plateau down to the target: 1 on the plateau, 0 at the target.

    The plateau is the loss of a model that knows which words are outputs and not which of them it is,
    ``(1 - α) ln |O|`` above the target, which is the Bayes risk.

    Raises:
        ParameterError: no such run, or no such measure.
    """
    return (history.end(measure, name, noise, rate) - bayes_risk(noise)) / gap_to_bayes(noise, outputs)

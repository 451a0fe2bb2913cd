"""Estimates from independent draws, with intervals by scipy.stats."""

import math
import statistics
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import scipy  # which loads its statistics, that few runs need, only once they are used

from bookpress.claims.evidence import EvidenceError

#: One level for the whole book; a claim rests on few intervals, and each must be clear of its bound.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Estimate:
    """A random value with its interval, and the number of ``draws`` whose mean it is."""

    value: float
    interval: tuple[float, float]
    draws: int | None = None


def estimate(draws: Any, interval: tuple[float, float] | None = None) -> Estimate:
    """The mean of independent draws (of a fraction, one Boolean per draw), for any comparison of a claim.

    Args:
        draws: a list, an array or a tensor. With ``interval``, the estimate itself.
        interval: low and high, where the estimate comes from a fit that has them.

    Raises:
        EvidenceError: too few draws, a value that is not finite, or an interval without its estimate.
    """
    if interval is not None:
        value, low, high = (float(number) for number in (draws, *interval))
        if not -math.inf < low <= value <= high < math.inf:
            raise EvidenceError(f"interval must be finite and contain the estimate {value}, got {(low, high)}")
        return Estimate(value, (low, high))
    flat = draws.flatten() if hasattr(draws, "flatten") else draws
    if not isinstance(flat, Iterable):
        raise EvidenceError(f"draws must be a list, an array or a tensor, got {draws!r}")
    values: list[Any] = [draw.item() if hasattr(draw, "item") else draw for draw in flat]
    if not all(isinstance(value, int | float) for value in values):
        raise EvidenceError(f"draws must be numbers, got {draws!r}")
    interval = interval_of(values)
    return Estimate(math.fsum(values) / len(values), interval, len(values))


def interval_of(draws: Sequence[float | bool]) -> tuple[float, float]:
    """Student's interval of the mean of independent draws; of Booleans, Clopper and Pearson's of a probability.

    Raises:
        EvidenceError: fewer than two draws of a mean, none of a probability, or a draw that is not finite.
    """
    count = len(draws)
    if draws and all(isinstance(draw, bool) for draw in draws):
        hits, tail = sum(draws), (1 - CONFIDENCE) / 2  # binomtest has the same ends, to nine digits
        low = float(scipy.stats.beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
        return low, float(scipy.stats.beta.ppf(1 - tail, hits + 1, count - hits)) if hits < count else 1.0
    values = _finite(draws)
    low, high = interval_from_error(statistics.fmean(values), statistics.stdev(values) / math.sqrt(count), count - 1)
    return float(low), float(high)


def interval_of_difference(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Welch's interval of the difference of two means, of independent draws. Paired draws make it too wide.

    Raises:
        EvidenceError: fewer than two draws in a set, or a draw that is not finite.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of draws that are all alike
        test = scipy.stats.ttest_ind(_finite(first), _finite(second), equal_var=False)
    interval = test.confidence_interval(CONFIDENCE)
    return float(interval.low), float(interval.high)


def interval_from_error(value: Any, error: Any, freedom: Any) -> tuple[Any, Any]:
    """The interval of an estimate whose standard error has so many degrees of freedom; of arrays, entry by entry."""
    reach = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
    return value - reach, value + reach


def decide(interval: tuple[float, float], relation: str, bound: float, tolerance: float = 0.0) -> bool | None:
    """Whether the whole interval satisfies ``relation bound``, none of it does, or (``None``) only a part."""
    low, high = interval
    match relation:
        case "<" | "<=":
            return True if high <= bound else False if low > bound else None
        case ">" | ">=":
            return True if low >= bound else False if high < bound else None
        case "==":
            inside = bound - tolerance <= low and high <= bound + tolerance
            return True if inside else False if high < bound - tolerance or low > bound + tolerance else None
        case "!=":
            return True if high < bound or low > bound else None
    raise ValueError(f"unknown relation {relation!r}")


def _finite(draws: Sequence[float]) -> list[float]:
    values = [float(draw) for draw in draws]
    if len(values) < 2 or not all(map(math.isfinite, values)):
        raise EvidenceError(f"draws must be at least two finite numbers, got {values}")
    return values

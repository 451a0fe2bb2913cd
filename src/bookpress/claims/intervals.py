"""Intervals for what is estimated from draws: Student's for means, Welch's for differences, Clopper and Pearson's."""

import math
from collections.abc import Sequence
from typing import Any

#: One level for the whole book; a claim rests on few intervals, and each must be clear of its bound.
CONFIDENCE = 0.99


def interval_of(draws: Sequence[float | bool]) -> tuple[float, float]:
    """The interval of the mean of independent draws; where they are Booleans, of a probability.

    Raises:
        ValueError: fewer than two draws of a mean, none of a share, or a draw that is not finite.
    """
    if draws and all(isinstance(draw, bool) for draw in draws):
        return _share(sum(draws), len(draws))
    values = [float(draw) for draw in draws]
    if not all(map(math.isfinite, values)):
        raise ValueError("every draw must be finite")
    if len(values) < 2:
        raise ValueError(f"an interval needs at least two draws, got {len(values)}")
    mean = math.fsum(values) / len(values)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    low, high = student(mean, error, len(values) - 1)
    return float(low), float(high)


def student(value: Any, error: Any, freedom: Any) -> tuple[Any, Any]:
    """The interval of an estimate whose standard error has so many degrees of freedom; of many at once, by entry."""
    from scipy.special import stdtrit  # scipy.stats has the same; either takes long to import, and few runs need it

    reach = stdtrit(freedom, (1 + CONFIDENCE) / 2) * error
    return value - reach, value + reach


def interval_of_difference(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Welch's interval of the difference of two means, of two sets of independent draws of any numbers and spreads.

    Draws of the two sets that go together make it wider than it need be.

    Raises:
        ValueError: fewer than two draws in a set, or a draw that is not finite.
    """
    sets = [[float(draw) for draw in draws] for draws in (first, second)]
    if not all(math.isfinite(draw) for draws in sets for draw in draws):
        raise ValueError("every draw must be finite")
    if min(map(len, sets)) < 2:
        raise ValueError(f"an interval needs at least two draws of each, got {len(first)} and {len(second)}")
    from scipy.special import stdtrit

    means = [math.fsum(draws) / len(draws) for draws in sets]
    of_means = [
        math.fsum((draw - mean) ** 2 for draw in draws) / (len(draws) - 1) / len(draws)
        for draws, mean in zip(sets, means, strict=True)
    ]
    variance = sum(of_means)
    parts = sum(one**2 / (len(draws) - 1) for one, draws in zip(of_means, sets, strict=True))
    freedom = variance**2 / parts if parts else 1.0
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return means[0] - means[1] - reach, means[0] - means[1] + reach


def _share(hits: float, count: int) -> tuple[float, float]:
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(hits, count - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - tail)) if hits < count else 1.0
    return low, high


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

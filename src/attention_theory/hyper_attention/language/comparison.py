"""Gaps between the models of Tables 1 and 2: their mean, their interval in words, and its reading."""

from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """The mean over the seeds."""
    return sum(values) / len(values)


def in_words(interval: tuple[float, float]) -> str:
    """The two ends of an interval of a gap, in nats a token, each with its sign: ``-0.024 to +0.037``."""
    low, high = interval
    return f"{low:+.3f} to {high:+.3f}"


def reading(interval: tuple[float, float]) -> str:
    """The reading of the interval of a gap: ``better`` or ``worse`` where it is clear of 0, else ``not told``.

    A gap is a loss less that of the model it is compared with, so that negative is better (Section 7.2).
    """
    low, high = interval
    return "better" if high < 0 else "worse" if low > 0 else "not told"

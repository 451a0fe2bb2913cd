"""Intervals: those of the textbooks, refused where draws do not give one, and deciding only clear of the bound."""

import math
from typing import Any

import pytest

from bookpress.claims.evidence import EvidenceError
from bookpress.claims.intervals import decide, estimate, interval_from_error, interval_of, interval_of_difference


@pytest.mark.parametrize(
    ("interval", "ends"),
    [
        (interval_of([3.0, 4.0, 8.0]), (-10.160448409591956, 20.160448409591957)),
        (interval_of([True] * 7 + [False] * 13), (0.11387976326673242, 0.6565685842319211)),
        (interval_of_difference([3.0, 4.0, 8.0], [1.0, 1.5, 1.0, 2.0]), (-10.561824884322686, 17.811824884322686)),
        (interval_from_error(0.5, 0.25, 4), (-0.651023717837498, 1.651023717837498)),
    ],
)
def test_intervals_are_those_of_student_clopper_and_pearson_and_welch(
    interval: tuple[float, float], ends: tuple[float, float]
) -> None:
    assert interval == pytest.approx(ends, rel=1e-12)


def test_draws_that_are_all_alike_have_an_interval_of_no_width() -> None:
    assert interval_of([0.1] * 7) == (0.1, 0.1)
    assert interval_of_difference([3.0, 3.0], [1.0, 1.0, 1.0]) == (2, 2)


@pytest.mark.parametrize("draws", [[], [1.0], [1.0, math.inf], [1.0, math.nan]])
def test_a_mean_needs_two_finite_draws(draws: list[float]) -> None:
    with pytest.raises(EvidenceError, match="draws must be at least two finite numbers, got"):
        interval_of(draws)


@pytest.mark.parametrize("interval", [(1.1, 2.0), (0.0, 0.9), (-math.inf, 2.0), (0.0, math.inf), (math.nan, 2.0)])
def test_an_interval_is_finite_and_contains_its_estimate(interval: tuple[float, float]) -> None:
    with pytest.raises(EvidenceError, match=r"must be finite and contain the estimate 1\.0, got"):
        estimate(1.0, interval=interval)
    assert estimate(1.0, interval=(1.0, 1.0)).interval == (1.0, 1.0)


@pytest.mark.parametrize("draws", [1.0, "text", ["x", "y"], [None, 1.0]])
def test_an_estimate_needs_a_list_of_numbers(draws: Any) -> None:
    with pytest.raises(EvidenceError, match=r"draws must be .*, got"):
        estimate(draws)


@pytest.mark.parametrize(
    ("relation", "outcomes"),
    [
        ("<=", (False, None, None, True, True)),
        (">=", (True, True, None, None, False)),
        ("!=", (True, None, None, None, True)),
        ("==", (False, None, None, None, False)),
    ],
)
def test_an_interval_decides_where_it_is_clear_of_its_bound(relation: str, outcomes: tuple[bool | None, ...]) -> None:
    """Above the bound, touching it from above, about it, touching it from below, and below it."""
    assert tuple(decide(ends, relation, 2.0) for ends in ((3, 4), (2, 3), (1, 4), (1, 2), (0, 1))) == outcomes


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [((1.5, 2.5), True), ((2.5, 3), None), ((1, 1.5), None), ((2.625, 3), False), ((1, 1.375), False)],
)
def test_an_interval_within_a_band_decides_an_equality(interval: tuple[float, float], outcome: bool | None) -> None:
    assert decide(interval, "==", 2.0, 0.5) is outcome

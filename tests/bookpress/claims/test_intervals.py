"""Intervals: they hold the truth as often as they say, and decide only when clear of the bound."""

import numpy as np
import pytest
from scipy import stats

from bookpress.claims.intervals import CONFIDENCE, decide, interval_of, interval_of_difference, student


@pytest.mark.parametrize(("draws", "truth"), [(5, 0.3), (40, 0.3), (200, 0.02)])
def test_the_interval_of_a_share_holds_it_at_least_as_often_as_it_says(draws: int, truth: float) -> None:
    source = np.random.default_rng(0)
    kept = 0
    for _ in range(2000):
        low, high = interval_of((source.random(draws) < truth).tolist())
        kept += low <= truth <= high
    assert kept / 2000 >= CONFIDENCE - 3 * (CONFIDENCE * (1 - CONFIDENCE) / 2000) ** 0.5


def test_the_interval_of_a_mean_holds_it_as_often_as_it_says() -> None:
    source = np.random.default_rng(0)
    kept = sum(
        low <= 1 <= high for low, high in (interval_of((1 + source.normal(size=5)).tolist()) for _ in range(4000))
    )
    assert abs(kept / 4000 - CONFIDENCE) <= 4 * (CONFIDENCE * (1 - CONFIDENCE) / 4000) ** 0.5


def test_the_interval_of_a_difference_holds_it_as_often_as_it_says() -> None:
    """Four draws against forty, of which the forty are spread ten times as wide."""
    source = np.random.default_rng(0)
    pairs = [(1 + source.normal(size=4), 10 * source.normal(size=40)) for _ in range(4000)]
    kept = sum(low <= 1 <= high for low, high in (interval_of_difference(*map(list, pair)) for pair in pairs))
    assert abs(kept / 4000 - CONFIDENCE) <= 4 * (CONFIDENCE * (1 - CONFIDENCE) / 4000) ** 0.5


def test_a_difference_is_that_of_welch() -> None:
    """Against scipy, and refused where there is too little to go by."""
    first, second = [3.0, 4.0, 8.0], [1.0, 1.5, 1.0, 2.0]
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(CONFIDENCE)
    assert interval_of_difference(first, second) == pytest.approx((interval.low, interval.high))
    with pytest.raises(ValueError, match="at least two draws"):
        interval_of_difference([1.0], second)
    with pytest.raises(ValueError, match="finite"):
        interval_of_difference([1.0, float("nan")], second)


@pytest.mark.parametrize(
    ("relation", "outcomes"),
    [
        ("<=", (False, None, True)),
        (">=", (True, None, False)),
        ("!=", (True, None, True)),
        ("==", (False, None, False)),
    ],
)
def test_an_interval_above_about_and_below_its_bound(relation: str, outcomes: tuple[bool | None, ...]) -> None:
    assert tuple(decide(interval, relation, 2.0) for interval in ((3, 4), (1, 4), (0, 1))) == outcomes


def test_an_interval_within_a_band_decides_an_equality() -> None:
    assert decide((1.9, 2.1), "==", 2.0, 0.2) is True
    assert decide((1.7, 2.1), "==", 2.0, 0.2) is None


def test_a_share_of_all_or_nothing_has_an_interval_that_ends_there() -> None:
    assert interval_of([True] * 3)[1] == 1
    assert interval_of([False])[0] == 0
    low, high = interval_of([True] * 10)
    assert 0.5 < low < high == 1


def test_equal_draws_have_an_interval_of_no_width() -> None:
    assert interval_of([1.0, 1.0, 1.0]) == (1, 1)


def test_intervals_of_many_estimates_are_those_of_each() -> None:
    draws = np.random.default_rng(0).normal(size=(4, 6))
    low, high = student(draws.mean(axis=1), draws.std(axis=1, ddof=1) / 6**0.5, 5)
    for one, ends in zip(draws, zip(low, high, strict=True), strict=True):
        assert interval_of(one.tolist()) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("relation", "interval", "outcome"),
    [
        ("<=", (1, 2), True),
        ("<=", (2, 3), None),
        (">=", (2, 3), True),
        (">=", (1, 2), None),
        ("!=", (2, 3), None),
        ("!=", (1, 2), None),
        ("==", (1.5, 2.5), True),
        ("==", (2.5, 3), None),
        ("==", (1, 1.5), None),
        ("==", (2.625, 3), False),
        ("==", (1, 1.375), False),
    ],
)
def test_an_interval_that_touches_its_bound(relation: str, interval: tuple[float, float], outcome: bool | None) -> None:
    assert decide(interval, relation, 2.0, 0.5 if relation == "==" else 0.0) is outcome


def test_what_is_no_relation_or_no_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown relation '~'"):
        decide((0, 1), "~", 2.0)
    for draws in ([], [1.0]):
        with pytest.raises(ValueError, match=f"at least two draws, got {len(draws)}"):
            interval_of(draws)
    with pytest.raises(ValueError, match="finite"):
        interval_of([1.0, float("inf")])
    with pytest.raises(ValueError, match="got 2 and 1"):
        interval_of_difference([1.0, 2.0], [1.0])


def test_a_difference_of_sets_without_spread_has_no_width() -> None:
    assert interval_of_difference([3.0, 3.0], [1.0, 1.0, 1.0]) == (2, 2)


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    for hits, count in ((0, 4), (1, 4), (3, 4), (4, 4), (7, 20)):
        exact = stats.binomtest(hits, count).proportion_ci(CONFIDENCE, method="exact")
        assert interval_of([True] * hits + [False] * (count - hits)) == pytest.approx((exact.low, exact.high))

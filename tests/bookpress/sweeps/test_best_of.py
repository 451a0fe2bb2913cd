"""Curves of a sweep, each at its own best place, against one of them."""

import polars
import pytest

from bookpress.claims.intervals import interval_of
from bookpress.sweeps.best_of import gaps_at_best

#: Losses of three seeds, by model and rate.
LOSSES = {
    "plain": {0.1: [3.0, 3.1, 3.2], 0.2: [2.0, 2.1, 2.4], 0.4: [2.5, 2.5, 2.5]},
    "other": {0.1: [1.9, 2.0, 2.2], 0.2: [2.2, 2.2, 2.2], 0.4: [2.3, 2.3, 2.3]},
}


def table(losses: dict[str, dict[float, list[float]]]) -> polars.DataFrame:
    return polars.DataFrame(
        [
            {"model": model, "rate": rate, "draw": draw, "loss": loss}
            for model, curve in losses.items()
            for rate, values in curve.items()
            for draw, loss in enumerate(values)
        ]
    )


def test_each_stands_at_its_own_best_place() -> None:
    plain, other = gaps_at_best(table(LOSSES), "rate", "loss", "model", "plain")
    assert (plain.place, plain.at_an_end, plain.gap) == (0.2, False, 0)
    assert (other.place, other.at_an_end) == (0.1, True)
    assert other.value == pytest.approx(6.1 / 3)
    assert other.gap == pytest.approx((-0.1 - 0.1 - 0.2) / 3)
    assert other.interval == pytest.approx(interval_of([-0.1, -0.1, -0.2]))


def test_a_seed_has_no_part_in_choosing_where_it_is_judged() -> None:
    """One lucky run makes a rate the best on average; the run itself is judged at the rate the others choose."""
    lucky = {**LOSSES, "other": {0.1: [0.0, 3.0, 3.0], 0.2: [2.2, 2.2, 2.2], 0.4: [9.0, 9.0, 9.0]}}
    _, other = gaps_at_best(table(lucky), "rate", "loss", "model", "plain")
    assert other.place == 0.1
    assert other.gap == pytest.approx(((2.2 - 2.0) + (3.0 - 2.1) + (3.0 - 2.4)) / 3)


def test_a_single_seed_has_a_gap_and_no_interval() -> None:
    single = {model: {rate: values[:1] for rate, values in curve.items()} for model, curve in LOSSES.items()}
    _, other = gaps_at_best(table(single), "rate", "loss", "model", "plain")
    assert other.gap == pytest.approx(-0.1)
    assert other.interval is None


def test_a_curve_with_a_place_or_a_seed_missing_is_left_out() -> None:
    shorter = {rate: values for rate, values in LOSSES["other"].items() if rate < 0.4}
    fewer = {**LOSSES["other"], 0.4: [2.3, 2.3]}
    for curve in (shorter, fewer):
        (only,) = gaps_at_best(table({**LOSSES, "other": curve}), "rate", "loss", "model", "plain")
        assert only.name == "plain"
        assert gaps_at_best(table({**LOSSES, "other": curve}), "rate", "loss", "model", "other") == []

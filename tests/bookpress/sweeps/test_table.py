"""One table and one picture from the records of points, and curves compared where each is best."""

from collections.abc import Callable
from typing import Any

import polars
import pytest

from bookpress.claims.intervals import interval_of
from bookpress.claims.show import svg_of
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import ValueRefused
from bookpress.sweeps.points import Point, PointRecord, points_of
from bookpress.sweeps.table import choose_columns, gaps_at_best, picture_of, table_of

ARecord = Callable[..., PointRecord]
AXES = ["n", "heads", "seed"]


@pytest.fixture
def points(toy: Any) -> list[Point]:
    return points_of(Notebook(toy.add_point(), toy.layout), {"n": [1, 2, 64], "heads": [[1], [2]], "seed": [0, 1]}, {})


@pytest.fixture
def table(points: list[Point], a_record: ARecord) -> polars.DataFrame:
    def numbers(point: Point) -> dict[str, Any]:
        return {"same": 1.0, "loss": 1 / point.parameters["n"] + point.parameters["seed"], "right": True}

    return table_of(points, {point.identity: a_record(point, numbers=numbers(point)) for point in points})


def test_one_row_per_point_in_the_order_of_the_axes(
    table: polars.DataFrame, points: list[Point], a_record: ARecord
) -> None:
    assert table.columns == [*AXES, "same", "loss", "right"]
    assert table["n"].to_list() == [1] * 4 + [2] * 4 + [64] * 4
    assert table["heads"].to_list() == [1, 1, 2, 2] * 3
    assert len(table_of(points, {points[0].identity: a_record(points[0])})) == 1


def test_the_draws_of_a_point_are_rows(points: list[Point], a_record: ARecord) -> None:
    done = {points[0].identity: a_record(points[0], numbers={"losses": [1.0, 2.0], "first": [3.0], "count": 5})}
    assert table_of(points, done).rows() == [(1, 1, 0, 0, 1.0, 3.0, 5), (1, 1, 0, 1, 2.0, None, 5)]


def test_the_picture_shows_the_axes_and_the_number_that_vary_unless_asked(table: polars.DataFrame) -> None:
    assert choose_columns(table, AXES, None, None, None) == ("n", "loss", "heads")
    assert choose_columns(table, AXES, "heads", "right", "n") == ("heads", "right", "n")
    with pytest.raises(ValueRefused, match="no number 'gain' to draw; there are: same, loss, right"):
        choose_columns(table, AXES, None, "gain", None)
    with pytest.raises(ValueRefused, match="there are: none"):
        choose_columns(table.select(AXES), AXES, None, None, None)


def test_a_marker_is_the_mean_over_the_seeds_and_a_bar_its_interval(table: polars.DataFrame) -> None:
    words = {"n": "tokens", "loss": "mean squared error", "heads": "number of heads"}
    figure = picture_of(table, "n", "loss", "heads", words=words)
    (axis,) = figure.axes
    curve: Any = axis.containers[0]
    legend: Any = axis.get_legend()
    assert [float(y) for y in curve.lines[0].get_ydata()] == [1.5, 1.0, 1 / 64 + 0.5]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("tokens", "mean squared error")
    assert [text.get_text() for text in legend.get_texts()] == ["number of heads = 1", "number of heads = 2"]
    low, high = curve.lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(63.66, rel=1e-3)  # Student's with one degree of freedom, at 99 %
    assert "<svg" in svg_of(figure)


#: Losses of three seeds, by model and rate.
LOSSES = {
    "plain": {0.1: [3.0, 3.1, 3.2], 0.2: [2.0, 2.1, 2.4], 0.4: [2.5, 2.5, 2.5]},
    "other": {0.1: [1.9, 2.0, 2.2], 0.2: [2.2, 2.2, 2.2], 0.4: [2.3, 2.3, 2.3]},
}


def gaps(losses: dict[str, dict[float, list[float]]], against: str = "plain") -> list[Any]:
    rows = [
        {"model": model, "rate": rate, "draw": draw, "loss": loss}
        for model, curve in losses.items()
        for rate, values in curve.items()
        for draw, loss in enumerate(values)
    ]
    return list(gaps_at_best(polars.DataFrame(rows), "rate", "loss", "model", against))


def test_each_curve_is_compared_at_its_own_best_rate() -> None:
    plain, other = gaps(LOSSES)
    assert (plain.best, plain.at_an_end, plain.gap) == (0.2, False, 0)
    assert (other.best, other.at_an_end) == (0.1, True)
    assert other.value == pytest.approx(6.1 / 3)
    assert other.gap == pytest.approx((-0.1 - 0.1 - 0.2) / 3)
    assert other.interval == pytest.approx(interval_of([-0.1, -0.1, -0.2]))


def test_a_lucky_seed_is_judged_at_the_rate_that_the_others_choose() -> None:
    _, other = gaps({**LOSSES, "other": {0.1: [0.0, 3.0, 3.0], 0.2: [2.2, 2.2, 2.2], 0.4: [9.0, 9.0, 9.0]}})
    assert other.best == 0.1
    assert other.gap == pytest.approx(((2.2 - 2.0) + (3.0 - 2.1) + (3.0 - 2.4)) / 3)


def test_a_curve_with_a_rate_or_a_seed_missing_is_left_out() -> None:
    shorter = {rate: values for rate, values in LOSSES["other"].items() if rate < 0.4}
    fewer = {**LOSSES["other"], 0.4: [2.3, 2.3]}
    for curve in (shorter, fewer):
        assert [gap.name for gap in gaps({**LOSSES, "other": curve})] == ["plain"]
        assert gaps({**LOSSES, "other": curve}, "other") == []

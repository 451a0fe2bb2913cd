"""One table and one picture from the records of points."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

from bookpress.claims.show import svg_of
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.gather import chosen, picture_of, table_of, write_table
from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.sweep import Point, SweepError, points_of

ARecord = Callable[..., PointRecord]


@pytest.fixture
def points(toy: Any) -> list[Point]:
    return points_of(Notebook(toy.add_point(), toy.layout), {"n": [1, 2, 64], "heads": [[1], [2]], "seed": [0, 1]}, {})


def numbers(point: Point) -> dict[str, Any]:
    return {"same": 1.0, "loss": 1 / point.parameters["n"] + point.parameters["seed"], "right": True}


@pytest.fixture
def table(points: list[Point], a_record: ARecord) -> polars.DataFrame:
    return table_of(points, {point.identity: a_record(point, numbers=numbers(point)) for point in points})


def test_one_row_a_point_in_the_order_of_the_axes(
    table: polars.DataFrame, points: list[Point], a_record: ARecord
) -> None:
    assert table.columns == ["n", "heads", "seed", "same", "loss", "right"]
    assert table["n"].to_list() == [1] * 4 + [2] * 4 + [64] * 4
    assert table["heads"].to_list() == [1, 1, 2, 2] * 3
    assert len(table_of(points, {points[0].identity: a_record(points[0])})) == 1


def test_several_draws_of_a_point_are_rows(points: list[Point], a_record: ARecord) -> None:
    done = {points[0].identity: a_record(points[0], numbers={"losses": [1.0, 2.0], "count": 5})}
    assert table_of(points, done).rows() == [(1, 1, 0, 0, 1.0, 5), (1, 1, 0, 1, 2.0, 5)]


def test_the_table_is_csv_and_parquet_and_twice_the_same(table: polars.DataFrame, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_table(table, tmp_path / "a")]
    assert first == [path.read_bytes() for path in write_table(table, tmp_path / "b")]
    assert polars.read_parquet(tmp_path / "a" / "table.parquet").equals(table)
    assert polars.read_csv(tmp_path / "a" / "table.csv")["loss"].to_list() == table["loss"].to_list()


def test_the_picture_shows_what_varies_unless_asked(table: polars.DataFrame) -> None:
    axes = ["n", "heads", "seed"]
    assert chosen(table, axes, None, None, None) == ("n", "loss", "heads")
    assert chosen(table, axes, "heads", "right", "n") == ("heads", "right", "n")
    for asked, said in (
        (("m", None, None), "no axis 'm'"),
        ((None, "gain", None), "no number 'gain' in the table; there are: same, loss, right"),
        ((None, None, "m"), "no axis 'm'"),
    ):
        with pytest.raises(SweepError, match=said):
            chosen(table, axes, *asked)
    with pytest.raises(SweepError, match="no number was reported"):
        chosen(table.select(axes), axes, None, None, None)


def test_a_mark_is_the_mean_over_the_seeds_and_a_bar_its_interval(table: polars.DataFrame) -> None:
    figure = picture_of(table, "n", "loss", "heads", "toy")
    (axis,) = figure.axes
    curve: Any = axis.containers[0]
    legend: Any = axis.get_legend()
    assert [float(y) for y in curve.lines[0].get_ydata()] == [1.5, 1.0, 1 / 64 + 0.5]
    assert axis.get_xscale() == "log"
    assert [text.get_text() for text in legend.get_texts()] == ["heads = 1", "heads = 2"]
    low, high = curve.lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(63.66, rel=1e-3)  # Student's with one degree of freedom, at 99 %
    assert "<svg" in svg_of(figure)


def test_a_picture_calls_names_by_their_words(table: polars.DataFrame) -> None:
    words = {"n": "tokens", "loss": "mean squared error", "heads": "number of heads"}
    (axis,) = picture_of(table, "n", "loss", "heads", words=words).axes
    legend: Any = axis.get_legend()
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("tokens", "mean squared error")
    assert [text.get_text() for text in legend.get_texts()] == ["number of heads = 1", "number of heads = 2"]
    models = polars.DataFrame({"model": ["plain", "skip"], "rate": [1.0, 1.0], "loss": [2.0, 3.0]})
    legend = picture_of(models, "rate", "loss", "model").axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["plain", "skip"]


def test_no_two_curves_of_a_picture_look_alike() -> None:
    models = [f"model {number}" for number in range(9)]  # more than there are colours
    figure = picture_of(
        polars.DataFrame({"model": models, "rate": [1.0] * 9, "loss": [2.0] * 9}), "rate", "loss", "model"
    )
    (axis,) = figure.axes
    curves: list[Any] = list(axis.containers)
    assert len({(curve.lines[0].get_color(), curve.lines[0].get_marker()) for curve in curves}) == 9


def test_one_value_has_a_bar_of_no_length_and_two_have_one() -> None:
    for losses, length in (([2.0], 0.0), ([1.0, 3.0], 2 * 63.66)):
        rows = polars.DataFrame({"n": [1.0] * len(losses), "loss": losses})
        curve: Any = picture_of(rows, "n", "loss").axes[0].containers[0]
        low, high = curve.lines[2][0].get_segments()[0][:, 1]
        assert high - low == pytest.approx(length, rel=1e-3)


@pytest.mark.parametrize(("values", "scale"), [([1, 30], "log"), ([1, 29], "linear"), ([0, 100], "linear")])
def test_an_axis_of_a_large_ratio_is_logarithmic(values: list[int], scale: str) -> None:
    axis = picture_of(polars.DataFrame({"n": values, "loss": [1.0, 2.0]}), "n", "loss").axes[0]
    assert axis.get_xscale() == scale

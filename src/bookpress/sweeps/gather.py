"""From the records of points to one table and one picture."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars
from matplotlib.figure import Figure

from bookpress.claims import show
from bookpress.claims.intervals import interval_of
from bookpress.files import write_bytes_whole
from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.sweep import SEED, Point, SweepError

#: Beyond this ratio of the largest to the smallest value an axis is drawn by powers.
_POWERS = 30.0

#: Columns of the table that are neither axes nor numbers.
_DRAW, _VERDICT = "draw", "verdict: "


def table_of(points: Iterable[Point], done: Mapping[str, PointRecord]) -> polars.DataFrame:
    """One row a point and draw, in the order of the axes: what was set, what was reported, which verdicts came out.

    Nothing in it depends on how the points came to be made, so that two runs of one sweep give the same table.
    """
    rows = [row for point in points if (record := done.get(point.identity)) for row in _rows(point, record)]
    return polars.DataFrame(rows, infer_schema_length=None, strict=False)


def write_table(table: polars.DataFrame, folder: Path) -> list[Path]:
    """The table as CSV and as Parquet, each written whole."""
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    files = {folder / "table.csv": table.write_csv().encode(), folder / "table.parquet": parquet.getvalue()}
    for path, content in files.items():
        write_bytes_whole(path, content)
    return list(files)


def chosen(
    table: polars.DataFrame, axes: Sequence[str], across: str | None, number: str | None, apart: str | None
) -> tuple[str, str, str | None]:
    """What the picture shows: as asked, or the first axis with several values against the first number that varies.

    Raises:
        SweepError: an axis or a number that the table does not have, or nothing in it that could be drawn.
    """
    told = [name for name in table.columns if name not in (*axes, _DRAW) and not name.startswith(_VERDICT)]
    numbers = [name for name in told if table[name].dtype.is_numeric() or table[name].dtype == polars.Boolean]
    for name, known, what in ((across, axes, "axis"), (number, numbers, "number"), (apart, axes, "axis")):
        if name is not None and name not in known:
            raise SweepError(f"there is no {what} {name!r} in the table; there are: {', '.join(known) or 'none'}")
    if not numbers:
        raise SweepError("no number was reported that could be drawn")
    varied = [name for name in axes if table[name].n_unique() > 1 and name != SEED]
    across = across or next(iter([*varied, *axes]))
    number = number or next((name for name in numbers if table[name].n_unique() > 1), numbers[0])
    return across, number, apart or next((name for name in varied if name != across), None)


def picture_of(
    table: polars.DataFrame,
    across: str,
    number: str,
    apart: str | None = None,
    title: str = "",
    words: Mapping[str, str] | None = None,
) -> Figure:
    """One number against one axis, a curve for each value of ``apart``; ``words`` are what the picture calls them.

    A mark is the mean over seeds, draws and the other axes, a bar the interval of that mean.
    """
    called = words or {}
    fig, axis = show.axes()
    curves: dict[Any, dict[Any, list[float]]] = {}
    for row in table.iter_rows(named=True):
        if row[number] is not None:
            curve = curves.setdefault(row[apart] if apart else None, {})
            curve.setdefault(row[across], []).append(float(row[number]))
    for number_of_curve, (value, curve) in enumerate(curves.items()):
        round_of_colours, which = divmod(number_of_curve, len(show.COLOURS))
        # Where the colours come round again the markers are shifted, so that no two curves look alike.
        marker = show.MARKERS[(which + round_of_colours) % len(show.MARKERS)]
        places = sorted(curve) if table[across].dtype.is_numeric() else list(curve)
        means = [sum(curve[place]) / len(curve[place]) for place in places]
        reach = [_reach(curve[place]) for place in places]
        label = value if isinstance(value, str) else f"{called.get(apart, apart)} = {value}" if apart else None
        axis.errorbar(places, means, yerr=reach, capsize=3, marker=marker, label=label)
    if _by_powers(table[across]):
        axis.set_xscale("log")
    axis.set(xlabel=called.get(across, across), ylabel=called.get(number, number), title=title)
    if apart:
        axis.legend()
    return fig


def _rows(point: Point, record: PointRecord) -> Iterable[dict[str, Any]]:
    axes = {name: _cell(point.parameters[name]) for name in point.axes}
    draws = {name: value for name, value in record.numbers.items() if isinstance(value, list)}
    verdicts = {f"{_VERDICT}{claim}": verdict.value for claim, verdict in record.verdicts.items()}
    for draw in range(max(map(len, draws.values()), default=1)):
        numbers = {
            name: value if not isinstance(value, list) else value[draw] if draw < len(value) else None
            for name, value in record.numbers.items()
        }
        yield {**axes, **({_DRAW: draw} if draws else {}), **numbers, **verdicts}


def _reach(values: list[float]) -> float:
    """Half the width of the interval of the mean; nothing where there is one value."""
    if len(values) < 2:
        return 0.0
    low, high = interval_of(values)
    return (high - low) / 2


def _by_powers(values: polars.Series) -> bool:
    ends: Any = (values.min(), values.max())
    return values.dtype.is_numeric() and ends[0] > 0 and ends[1] / ends[0] >= _POWERS


def _cell(value: Any) -> Any:
    """A list of one value as that value, another as text: a table's cell holds one thing."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else json.dumps(value)
    return value

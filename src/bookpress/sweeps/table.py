"""The records of points as one table and one picture, and its curves compared where each of them is best."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bookpress.claims import show
from bookpress.claims.intervals import interval_of
from bookpress.notebooks.values import ValueRefused
from bookpress.sweeps.points import SEED, Point, PointRecord

#: Beyond this ratio of the largest to the smallest value an axis is logarithmic.
_LOGARITHMIC = 30.0

#: The column that counts the draws of a point.
_DRAW = "draw"


def table_of(points: Iterable[Point], done: Mapping[str, PointRecord]) -> polars.DataFrame:
    """Make a table with one row per point and draw, in the order of the axes: axes, reported numbers, verdicts.

    It does not depend on how the points came to be made, so that two runs of one sweep give the same table.
    """
    rows: list[dict[str, Any]] = []
    for point in [point for point in points if point.identity in done]:
        record = done[point.identity]
        axes = {name: _cell(point.parameters[name]) for name in point.axes}
        draws = {name: dict(enumerate(value)) for name, value in record.numbers.items() if isinstance(value, list)}
        verdicts = {f"verdict: {claim}": verdict.value for claim, verdict in record.verdicts.items()}
        for draw in range(max(map(len, draws.values()), default=1)):
            drawn = {_DRAW: draw} if draws else {}
            numbers = record.numbers | {name: values.get(draw) for name, values in draws.items()}
            rows.append({**axes, **drawn, **numbers, **verdicts})
    return polars.DataFrame(rows, infer_schema_length=None, strict=False)


def choose_columns(
    table: polars.DataFrame, axes: Sequence[str], across: str | None, number: str | None, apart: str | None
) -> tuple[str, str, str | None]:
    """Choose the columns of the picture: as asked, or the first axis and the first number that vary.

    Raises:
        ValueRefused: the table has no such number, or none that could be drawn.
    """
    kinds = {name: table[name].dtype for name in table.columns if name not in (*axes, _DRAW)}
    numbers = [name for name, kind in kinds.items() if kind.is_numeric() or kind == polars.Boolean]
    if not numbers or number not in (None, *numbers):
        raise ValueRefused(f"there is no number {number or ''!r} to draw; there are: {', '.join(numbers) or 'none'}")
    varied = [name for name in (*axes, *numbers) if table[name].n_unique() > 1 and name != SEED]
    across = across or next(name for name in (*varied, *axes) if name in axes)
    number = number or next(name for name in (*varied, *numbers) if name in numbers)
    return across, number, apart or next((name for name in varied if name in axes and name != across), None)


def picture_of(
    table: polars.DataFrame, across: str, number: str, apart: str | None, words: Mapping[str, str] | None = None
) -> Figure:
    """Draw one number against one axis, a curve for each value of ``apart``, with ``words`` in place of names.

    A marker is the mean over seeds, draws and the other axes, a bar the confidence interval of that mean.
    """
    words = words or {}
    fig, axis = show.axes()
    numeric = table[across].dtype.is_numeric()
    for index, (value, curve) in enumerate(_curves(table, across, number, apart).items()):
        # Once all colours are used the markers are shifted, so that no two curves look alike.
        round_of_colours, colour = divmod(index, len(show.COLOURS))
        marker = show.MARKERS[(colour + round_of_colours) % len(show.MARKERS)]
        x = sorted(curve) if numeric else list(curve)
        means = [sum(curve[each]) / len(curve[each]) for each in x]
        bars = [np.ptp(interval_of(curve[each])) / 2 if len(curve[each]) > 1 else 0.0 for each in x]
        label = value if isinstance(value, str) else f"{words.get(apart, apart)} = {value}" if apart else None
        axis.errorbar(x, means, yerr=bars, capsize=3, marker=marker, label=label)
    ends: Any = (table[across].min(), table[across].max())
    if numeric and ends[0] > 0 and ends[1] / ends[0] >= _LOGARITHMIC:
        axis.set_xscale("log")
    axis.set(xlabel=words.get(across, across), ylabel=words.get(number, number))
    if apart:
        axis.legend()
    return fig


@dataclass(frozen=True)
class Gap:
    """A curve compared with another: its ``best`` value of the axis, its mean there, and the mean gap of the seeds.

    ``interval`` is the confidence interval of the mean gap, None for a single seed.
    """

    name: Any
    best: Any
    at_an_end: bool
    value: float
    gap: float
    interval: tuple[float, float] | None


def gaps_at_best(table: polars.DataFrame, across: str, number: str, apart: str, against: Any) -> list[Gap]:
    """Compare each curve with the one at ``against``, each at the value of ``across`` where its ``number`` is smallest.

    The draws are paired: the n-th of every point has the same seed. In the gap of one draw both curves are at the value
    that is best over the other draws, because one chosen by the draw itself would look too good. Curves that lack a
    value or a draw are left out; the result is empty if the one to compare with is among them.
    """
    curves = _curves(table, across, number, apart)
    axis = sorted(set(table[across]))
    draws = max((len(values) for curve in curves.values() for values in curve.values()), default=0)
    whole = {
        name: np.array([curve[value] for value in axis])  # of shape (values of the axis, draws)
        for name, curve in curves.items()
        if [len(curve.get(value, ())) for value in axis] == [draws] * len(axis)
    }
    judged = {name: _judged(curve) for name, curve in whole.items()}
    gaps = []
    for name, curve in whole.items() if against in whole else ():
        best = int(curve.mean(axis=1).argmin())
        differences = judged[name] - judged[against]
        interval = interval_of(differences.tolist()) if draws > 1 else None
        at_an_end, value = best in (0, len(axis) - 1), float(curve[best].mean())
        gaps.append(Gap(name, axis[best], at_an_end, value, float(differences.mean()), interval))
    return gaps


def _judged(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each draw at the value of the axis that is best over the other draws; a single draw at its own best."""
    draws = curve.shape[1]
    others = curve.sum(axis=1, keepdims=True) - curve if draws > 1 else curve
    return curve[others.argmin(axis=0), np.arange(draws)]


def _cell(value: Any) -> Any:
    """A list of one value as that value, another as text: a table's cell holds one value."""
    return value if not isinstance(value, list) else value[0] if len(value) == 1 else json.dumps(value)


def _curves(table: polars.DataFrame, across: str, number: str, apart: str | None) -> dict[Any, dict[Any, list[float]]]:
    """The values of a number by the value of ``apart`` (None without one), then by the value of ``across``."""
    curves: dict[Any, dict[Any, list[float]]] = {}
    for row in table.drop_nulls(number).iter_rows(named=True):
        curve = curves.setdefault(row[apart] if apart else None, {})
        curve.setdefault(row[across], []).append(float(row[number]))
    return curves

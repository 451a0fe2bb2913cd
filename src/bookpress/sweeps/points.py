"""The points of a sweep: the parameters that are set at each, and the record of what it gave.

A point is one run of a notebook. Its parameters identify it and nothing else does, so that two sweeps that cross share
it; the device on which it runs does not count.
"""

import itertools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bookpress.claims.record import RecordError, RunRecord
from bookpress.claims.registry import Verdict
from bookpress.files import digest
from bookpress.notebooks.profile import ProfileError
from bookpress.notebooks.ranges import value_of
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import MOST_VALUES, ValueRefused, checked, fitted

#: The parameter that says where a run takes place, on which its results do not depend.
DEVICE = "device"
SEED = "seed"

#: Longer names of files are cut and end in a hash.
_LONGEST_NAME = 120


@dataclass(frozen=True)
class Point:
    """One run of a sweep: every parameter of the notebook, its default, and the names of the sweep's axes."""

    notebook: str
    parameters: dict[str, Any]
    defaults: dict[str, Any]
    axes: tuple[str, ...]

    @cached_property
    def identity(self) -> str:
        """A hash of the notebook and of every parameter except the device."""
        return _identity(self.notebook, self.parameters)

    @property
    def changed(self) -> list[str]:
        """The parameters that differ from their defaults."""
        return [name for name, value in self.parameters.items() if value != self.defaults[name]]

    @property
    def name(self) -> str:
        """A file's name with the axes and all that is not a default, ``heads=4,seed=2``; cut names end in a hash."""
        values = {name: self.parameters[name] for name in dict.fromkeys([*self.axes, *sorted(self.changed)])}
        full = ",".join(f"{name}={_text(value)}" for name, value in values.items() if name != DEVICE) or "defaults"
        safe = re.sub(r"[^\w.+,=-]+", "_", full, flags=re.ASCII)[:_LONGEST_NAME]
        return full if safe == full else f"{safe[: _LONGEST_NAME - 18]}--{digest(sorted(values.items()))}"


class PointRecord(RunRecord):
    """The numbers that the notebook reported at one point, and the verdicts of its claims.

    Two runs with one fingerprint on one machine differ in ``seconds`` (of a core on a CPU, of the clock elsewhere) and
    ``memory_mb`` alone.
    """

    verdicts: dict[str, Verdict]
    memory_mb: int | None = None


def recorded(
    points: Sequence[Point], folder: Path, fingerprint: str | None = None
) -> tuple[dict[str, PointRecord], list[Point]]:
    """Find the records of one notebook's points in a folder, by identity, and list the points without one.

    With a fingerprint, only records of that code count. A parameter that a record lacks was at its default. A damaged
    record is named, and its point counts as missing.
    """
    records = {}
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            record = PointRecord.read(path)
        except RecordError as error:
            print(f"{error}; its point counts as missing", file=sys.stderr)
            continue
        if fingerprint in (None, record.fingerprint):
            records[_identity(record.notebook, points[0].defaults | record.parameters)] = record
    done = {point.identity: records[point.identity] for point in points if point.identity in records}
    return done, [point for point in points if point.identity not in done]


def points_of(notebook: Notebook, axes: Mapping[str, Sequence[Any]], base: Mapping[str, Any]) -> list[Point]:
    """List the points that the axes span, the last axis running fastest, with ``base`` for what is not an axis.

    Raises:
        ValueRefused: no axis, no values, a value twice, too many points, or a value that does not fit its parameter.
    """
    if not axes:
        raise ValueRefused(f"a sweep of {notebook.name} needs an axis, -p key=value,value")
    if DEVICE in axes:
        raise ValueRefused(f"{DEVICE} is no axis: a point is the same on every device")
    if both := sorted({*axes} & {*base}):
        raise ValueRefused(f"{both[0]} is an axis and has a fixed value too")
    if (count := math.prod(map(len, axes.values()))) > MOST_VALUES:
        raise ValueRefused(f"the axes span {count:,} points; at most {MOST_VALUES:,} are allowed")
    typed = {name: [fitted(notebook, {name: value})[name] for value in values] for name, values in axes.items()}
    for name, values in typed.items():
        if not values:
            raise ValueRefused(f"the axis {name} has no values")
        value, count = Counter(map(json.dumps, values)).most_common(1)[0]
        if count > 1:
            raise ValueRefused(f"the axis {name} has the value {value} twice")
    combinations = [dict(zip(typed, values, strict=True)) for values in itertools.product(*typed.values())]
    defaults, names = notebook.defaults, tuple(axes)
    return [Point(notebook.name, defaults | checked(notebook, {**base, **at}), defaults, names) for at in combinations]


def in_order(points: Sequence[Point], first: str = "") -> list[Point]:
    """Sort points into the order in which they are made: by ``first``, then one seed after another.

    Raises:
        ProfileError: ``first`` is not arithmetic of the parameters.
    """
    return sorted(points, key=lambda point: (number_of(first or "0", point), point.parameters.get(SEED, 0)))


def number_of(expression: str, point: Point) -> float:
    """Evaluate arithmetic of the parameters at a point.

    Raises:
        ProfileError: the expression is something else, or has no value there.
    """
    try:
        return float(value_of(expression, point.parameters))
    except (TypeError, ValueError, ArithmeticError):
        raise ProfileError(f"'{expression}' is no number made of the parameters of {point.notebook}") from None


def _identity(notebook: str, parameters: Mapping[str, Any]) -> str:
    return digest(notebook, {name: value for name, value in parameters.items() if name != DEVICE})


def _text(value: Any) -> str:
    """A value within a file's name; a list is joined by plus signs, a text that is no word is quoted."""
    if isinstance(value, str):
        return value if re.fullmatch(r"[\w.+-]+", value) else json.dumps(value)
    return json.dumps(value, separators=("+", ":")).removeprefix("[").removesuffix("]")

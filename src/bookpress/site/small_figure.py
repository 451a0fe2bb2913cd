"""Small figures of what a run found, drawn for the column they stand in: a directive that reads a page's record.

````
```{small-figure} hyper-attention/theorem_b_2_approximation counter-example
:alt: What is to be seen, in words.
:across: ratio of the two embeddings

best layer for this embedding = the best layer there is
printed bound
```
````

The arguments are a notebook and a figure of it; a line names a series, and behind ``=`` what it is called here. Every
point comes from the record, so that nothing is typed and nothing grows old. The drawing stands in the page itself,
takes letters and colours from there, and is as wide as a phone's column, so that its text is read as it is set.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.ticker import MaxNLocator
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from bookpress.claims.panel import set_number
from bookpress.claims.record import Record
from bookpress.site.origin import record_in_book

Point = tuple[float, float]

# Pixels: the whole width, a line of text, the room left of a plot, right of it and of the names beside a strip, and the
# heights of a plot, a strip and a cell.
_WIDTH, _TEXT, _LEFT, _RIGHT, _NAMES, _PLOT, _STRIP, _CELL = 344.0, 18.0, 40.0, 8.0, 122.0, 150.0, 32.0, 20.0
_WIDEST_CELL = 38.0

#: With at most so many points a line shows each of them.
_FEW = 10


class DrawingError(Exception):
    """What a page asks to see is not in the record."""


@dataclass(frozen=True)
class Series:
    """A line of a figure under the name that it has here."""

    name: str
    points: list[Point]

    @property
    def level(self) -> float | None:
        """The height of a line through the whole width: matplotlib keeps the ends of one as shares of the width."""
        return _through(self.points)

    @property
    def upright(self) -> float | None:
        """The place of a line through the whole height."""
        return _through([(y, x) for x, y in self.points])


def _through(points: list[Point]) -> float | None:
    match points:
        case [(0.0, one), (1.0, other)] if one == other:
            return one
    return None


def series_of(record: Record, figure: str, axis: int, names: dict[str, str]) -> list[Series]:
    """The named series of a figure's axes, or all of them.

    Raises:
        DrawingError: there is no such figure, axes or series.
    """
    found = next((one for one in record.figures if one.name == figure), None)
    if found is None:
        raise DrawingError(f"{record.notebook} has no figure '{figure}'")
    if not 0 < axis <= len(found.data):
        raise DrawingError(f"the figure '{figure}' has {len(found.data)} axes, not {axis}")
    drawn = {one["label"]: [(float(x), float(y)) for x, y in one["points"]] for one in found.data[axis - 1]["series"]}
    if unknown := [name for name in names if name not in drawn]:
        raise DrawingError(f"the figure '{figure}' has no series '{unknown[0]}'; it has {', '.join(drawn)}")
    return [Series(said, drawn[name]) for name, said in (names or {name: name for name in drawn}).items()]


@dataclass(frozen=True)
class Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 1)

    def ticks(self, most: int, *, whole: bool = False) -> list[float]:
        places = MaxNLocator(most, steps=[1, 2, 5, 10], integer=whole).tick_values(self.low, self.high)
        return [float(one) for one in places if self.low <= one <= self.high]


def lines(series: list[Series], across: str, up: str, *, log: bool = False) -> str:
    """Curves over one axis, with their names above them; ``log`` sets heights as powers of ten."""
    series = [_powers(one) for one in series] if log else series
    curves = [one for one in series if one.level is None and one.upright is None]
    top = _TEXT * (len(series) + 1) + 8
    widths = [x for one in curves for x, _ in one.points] + [one.upright for one in series if one.upright is not None]
    heights = [y for one in curves for _, y in one.points] + [one.level for one in series if one.level is not None]
    x = Scale(_low(widths), max(widths), _LEFT + 4, _WIDTH - _RIGHT)
    y = Scale(min(heights) if log else _low(heights), max(heights), top + _PLOT - 4, top + 4)
    floor = top + _PLOT
    parts = [_text(0, 13, up)]
    for number, one in enumerate(series):
        middle = _TEXT * (number + 1) + 9
        kind = f"line line-{number}"
        parts += [f'<path class="{kind}" d="M0 {middle:g}h22"/>', _text(28, middle + 4, one.name)]
        if one.level is not None:
            parts += [f'<path class="{kind}" d="M{_LEFT:g} {y(one.level):g}H{_WIDTH - _RIGHT:g}"/>']
        elif one.upright is not None:
            parts += [f'<path class="{kind}" d="M{x(one.upright):g} {floor:g}V{top:g}"/>']
        else:
            parts += _curve(kind, [(x(a), y(b)) for a, b in one.points])
    for height in y.ticks(3, whole=log):
        parts += [f'<path class="grid" d="M{_LEFT:g} {y(height):g}H{_WIDTH - _RIGHT:g}"/>']
        parts += [_text(_LEFT - 6, y(height) + 4, _power(height) if log else f"{height:g}", "end")]
    parts += _foot(x, floor, across)
    return _svg(floor + 2 * _TEXT + 4, parts)


def strips(series: list[Series], across: str, up: str) -> str:
    """A row for each series with its name beside it; all go over the same axis and are as high as each needs."""
    ends = [x for one in series for x, _ in one.points]
    x = Scale(_low(ends), max(ends), _NAMES, _WIDTH - _RIGHT)
    parts = [_text(0, 13, up)]
    for number, one in enumerate(series):
        floor = _TEXT + 6 + _STRIP * (number + 1)
        y = Scale(0, max(height for _, height in one.points), floor - 4, floor - _STRIP + 6)
        parts += [_text(0, floor - 8, one.name), f'<path class="grid" d="M{_NAMES:g} {floor:g}H{_WIDTH - _RIGHT:g}"/>']
        parts += _curve("line line-0", [(x(a), y(b)) for a, b in one.points], few=0)
    floor = _TEXT + 6 + _STRIP * len(series)
    parts += _foot(x, floor, across)
    return _svg(floor + 2 * _TEXT + 4, parts)


def trail(series: list[Series], across: str, up: str) -> str:
    """Rows of cells from above, each point's own filled, and the way from one to the next."""
    points = sorted((point for one in series for point in one.points), key=lambda point: point[1])
    columns, rows = int(max(x for x, _ in points)) + 2, int(max(y for _, y in points)) + 1
    width, left, top = min(_WIDEST_CELL, (_WIDTH - _LEFT) / columns), _LEFT, _TEXT + 6
    below = top + _CELL * rows

    def cell(x: float, y: float, kind: str) -> str:
        place = f'x="{left + width * x:g}" y="{top + _CELL * y:g}" width="{width - 3:g}" height="{_CELL - 3:g}"'
        return f'<rect class="{kind}" {place} rx="2"/>'

    middle = (width - 3) / 2
    return _svg(
        below + 2 * _TEXT,
        [
            _text(0, 13, up),
            *(cell(x, y, "cell") for y in range(rows) for x in range(columns)),
            *(cell(x, y, "cell head") for x, y in points),
            *_curve("line line-0", [(left + width * x + middle, top + _CELL * y + 8.5) for x, y in points], few=0),
            *(_text(left - 8, top + _CELL * y + 13, str(y), "end") for y in range(rows)),
            *(_text(left + width * x + middle, below + 12, str(x), "middle") for x in range(columns)),
            _text(left + width * columns - 3, below + 12 + _TEXT, across, "end"),
        ],
    )


#: By the word after ``:form:``.
FORMS: dict[str, Callable[[list[Series], str, str], str]] = {"lines": lines, "strips": strips, "trail": trail}


def _low(values: list[float]) -> float:
    """Where an axis begins: at zero, where its values come near it."""
    return 0.0 if 0 <= min(values) <= max(values) / 3 else min(values)


def _powers(one: Series) -> Series:
    """With the powers of ten as heights, and without what a notebook drew along the floor of its own picture."""
    if one.level is not None or one.upright is not None:
        return one
    points = [(x, math.log10(y)) for x, y in one.points if y > 0]
    while len(points) > 2 and points[-1][1] == points[-2][1]:
        points.pop()
    return replace(one, points=points)


def _power(exponent: float) -> str:
    return set_number(f"1e{exponent:+.0f}").removeprefix("1·")


def _curve(kind: str, points: list[Point], few: int = _FEW) -> Iterator[str]:
    yield f'<path class="{kind}" d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}"/>'
    if len(points) <= few:
        for x, y in points:
            yield f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="3"/>'


def _foot(x: Scale, floor: float, across: str) -> Iterator[str]:
    yield f'<path class="axis" d="M{x.start - 4:g} {floor:g}H{x.end:g}"/>'
    for place in x.ticks(5):
        yield f'<path class="axis" d="M{x(place):g} {floor:g}v4"/>'
        yield _text(x(place), floor + _TEXT, f"{place:g}", "middle")
    yield _text(x.end, floor + 2 * _TEXT, across, "end")


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(height: float, parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" height="{height:g}">{"".join(parts)}</svg>'


class SmallFigureDirective(SphinxDirective):
    """``{small-figure} NOTEBOOK FIGURE``: see the module's own words."""

    required_arguments = 2
    has_content = True
    option_spec = {  # noqa: RUF012 (docutils declares it so)
        "alt": directives.unchanged_required,
        "form": lambda value: directives.choice(value, tuple(FORMS)),
        "axis": directives.positive_int,
        "across": directives.unchanged,
        "up": directives.unchanged,
        "log": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        notebook, figure = self.arguments
        path = Path(self.env.srcdir, record_in_book(notebook))
        self.env.note_dependency(str(path))
        if "alt" not in self.options:
            raise self.error("a small figure needs an alt text")
        names = [one.partition("=") for one in self.content if one.strip()]
        asked = {name.strip(): said.strip() or name.strip() for name, _, said in names}
        try:
            series = series_of(Record.read(path), figure, self.options.get("axis", 1), asked)
        except (DrawingError, OSError) as error:
            raise self.error(str(error)) from error
        draw = FORMS[self.options.get("form", "lines")]
        more = {"log": True} if "log" in self.options else {}
        svg = draw(series, self.options.get("across", ""), self.options.get("up", ""), **more)
        alt = escape(" ".join(self.options["alt"].split()), quote=True)
        return [nodes.raw("", f'<div class="small-figure" role="img" aria-label="{alt}">{svg}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("small-figure", SmallFigureDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

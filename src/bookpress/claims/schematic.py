"""Schematic drawings: tokens as boxes, arrows between them, matrices, a simplex, windows on a number line.

Each function draws one part onto an axes from :func:`canvas`, in its units, and returns where others may be attached.
Blue is what counts, vermilion what is contrasted with it, and everything else is quiet.
"""

import io
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from fontTools.ttLib import TTFont
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

from bookpress.claims import show
from bookpress.files import write_whole
from bookpress.layout import Layout

BLUE, VERMILION, QUIET = show.COLOURS[0], show.COLOURS[1], "#8a8f98"
_INK = "#20242b"
_FACE = "Book Display"

XY = tuple[float, float]


def canvas(width: float = 7.0, height: float = 2.0) -> tuple[Figure, Axes]:
    """An empty figure in inches whose axes has one unit per half inch, the origin at the lower left, and no frame."""
    fig, axis = show.axes(width=width, height=height)
    axis.set(xlim=(0, 2 * width), ylim=(0, 2 * height), aspect="equal")
    axis.set_axis_off()
    return fig, axis


def text(axis: Axes, at: XY, words: str, colour: str = _INK, size: float = 10, align: str = "center") -> None:
    """Words at a point, in the face of the book's headings."""
    place: dict[str, str] = {"ha": align, "va": "center"}
    axis.text(*at, words, color=colour, fontsize=size, family=[_face(), "DejaVu Sans"], **place)  # type: ignore[arg-type]


def tokens(
    axis: Axes, words: Sequence[str], at: XY = (0.5, 0.5), lit: Iterable[int] = (), step: float = 1.5
) -> list[XY]:
    """A row of boxes with a word in each; those in ``lit`` are blue. The upper middle of each box is returned."""
    bright, width, tops = set(lit), step - 0.3, []
    for place, word in enumerate(words):
        x, y = at[0] + place * step, at[1]
        edge, ink = (BLUE, BLUE) if place in bright else (QUIET, _INK)
        shape = "round,pad=0,rounding_size=0.15"
        axis.add_patch(FancyBboxPatch((x, y), width, 0.9, shape, ec=edge, fc="none", lw=1.4))
        text(axis, (x + width / 2, y + 0.45), word, ink)
        tops.append((x + width / 2, y + 0.95))
    return tops


def arrow(axis: Axes, start: XY, end: XY, words: str = "", bend: float = 0.0, colour: str = BLUE) -> None:
    """An arrow, curved to its left by ``bend`` of its length, with words at its middle."""
    look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 11, "lw": 1.4, "color": colour}
    axis.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={-bend}", **look))
    if words:
        (x0, y0), (x1, y1) = start, end
        middle = ((x0 + x1) / 2 - bend * (y1 - y0) / 2, (y0 + y1) / 2 + bend * (x1 - x0) / 2)
        text(axis, (middle[0], middle[1] + 0.3), words, colour, 9)


def matrix(axis: Axes, values: Sequence[Sequence[float]], at: XY, cell: float = 0.5, words: str = "") -> list[XY]:
    """A grid of cells, first row on top, filled blue for 1 and not at all for 0; a name below it.

    The middles of its left, upper, right and lower sides are returned.
    """
    grid = np.asarray(values, dtype=float)
    rows, columns = grid.shape
    for (row, column), value in np.ndenumerate(grid):
        corner = (at[0] + column * cell, at[1] + (rows - 1 - row) * cell)
        filled = mpl.colors.to_rgba(BLUE if value >= 0 else VERMILION, min(1.0, abs(value)))
        axis.add_patch(Rectangle(corner, cell, cell, fc=filled, ec=QUIET, lw=0.8))
    width, height = columns * cell, rows * cell
    if words:
        text(axis, (at[0] + width / 2, at[1] - 0.3), words, size=9)
    x, y = at
    return [(x, y + height / 2), (x + width / 2, y + height), (x + width, y + height / 2), (x + width / 2, y)]


def simplex(
    axis: Axes, corners: Sequence[str], at: XY, side: float, weights: Sequence[Sequence[float]] = ()
) -> list[XY]:
    """A triangle of all weights on three tokens and a dot for each triple of them; the dots' places are returned."""
    places = np.array([at, (at[0] + side, at[1]), (at[0] + side / 2, at[1] + side * 0.866)])
    axis.add_patch(Polygon(places, closed=True, fc="none", ec=QUIET, lw=1.2))
    for place, word, below in zip(places, corners, (True, True, False), strict=True):
        text(axis, (place[0], place[1] + (-0.3 if below else 0.3)), word, size=9)
    dots = [tuple(np.asarray(triple) @ places) for triple in weights]
    for dot in dots:
        axis.plot(*dot, "o", color=BLUE, markersize=5)
    return dots


def windows(axis: Axes, spans: Sequence[tuple[int, int]], last: int, at: XY, step: float, words: str = "") -> None:
    """The integers from 0 to ``last`` on a line, ``step`` apart, with a ramped window over each span of them."""
    x, y = at
    axis.plot([x, x + last * step], [y, y], color=QUIET, lw=1)
    for number in range(last + 1):
        inside = any(low <= number <= high for low, high in spans)
        axis.plot(x + number * step, y, "o", color=BLUE if inside else QUIET, markersize=4)
        text(axis, (x + number * step, y - 0.3), str(number), BLUE if inside else QUIET, 8)
    for low, high in spans:
        corners = [(low - 1, 0.0), (low, 0.5), (high, 0.5), (high + 1, 0.0)]
        line = np.array([(x + min(number, last) * step, y + up) for number, up in corners if number <= last])
        axis.plot(*line.T, color=BLUE, lw=1.4)
    if words:
        text(axis, (x - 0.3, y + 0.2), words, size=9, align="right")


@cache
def _face() -> str:
    """The face of the book's headings, made known to matplotlib; its own face where this is no clone of the book."""
    layout = Layout.here()
    source, made = layout.book / "static" / "fonts" / "display-regular.woff", Path(mpl.get_configdir()) / "display.ttf"
    if not source.is_file():
        return "DejaVu Sans"
    font, content = TTFont(source), io.BytesIO()
    font.flavor = None
    for number, name in ((1, _FACE), (2, "Regular"), (4, _FACE), (6, "BookDisplay")):
        font["name"].setName(name, number, 3, 1, 0x409)
    font.save(content)
    write_whole(made, content.getvalue())  # another kernel may be reading it
    font_manager.fontManager.addfont(str(made))
    return _FACE

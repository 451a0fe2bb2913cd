"""Figures and tables in the house style.

A figure is drawn with matplotlib on axes from :func:`axes` and handed over by :func:`figure` with a name, a caption
that says what to see, and alt text. It is kept as one SVG on a transparent ground, which the book turns over in dark
mode; ``photo=True`` keeps the colours of pictures as they are. The plotted data travels with it into the record.

Curves are distinguished without colour, legends stand clear of them, and clouds of many points are kept as pixels.
"""

import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, LogLocator, NullLocator

from bookpress.claims.evidence import FIGURE_MIME, format_number
from bookpress.claims.panel import markdown_table, set_powers, set_truth

#: Okabe and Ito's colours, which remain distinct for colour-blind readers, without the yellow that fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: For a sign, as in book/static/instruments/instruments.css: blue is +1, vermilion -1, and white 0.
SIGNED = matplotlib.colors.LinearSegmentedColormap.from_list("signed", [COLOURS[1], "white", COLOURS[0]])
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Full, dashed, dash-dotted, dotted, long, with two dots, and mixed: lengths of ink and gap in line widths.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1, 1.5)),
    (0, (9, 3)),
    (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    (0, (9, 2, 3, 2)),
)

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.alpha": 0.25,
    "image.cmap": "cividis",
    "legend.frameon": False,
    "lines.markersize": 4,
    "savefig.dpi": 200,  # of what is kept as pixels
    "savefig.transparent": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "attention-theory",
}
_POINTS_KEPT = 2_000
#: A cloud, a line's markers, or all loose marks of an axes, above this many points are kept as pixels: as paths they
#: would weigh a megabyte.
_POINTS_AS_PATHS = 400
_LINE_POINTS_AS_PATHS = 5_000
#: Coordinates are kept to a hundredth of a point: finer ones make a drawing heavier and no sharper.
_COORDINATES = re.compile(r'(?<=\s)(d|x|y)="[^"]*"')
_LONG_DECIMAL = re.compile(r"(\d\.\d\d)\d+")
_NUMBER = re.compile(r"[-−]?(?:\d[\d\u202f]*(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)%?")


def axes(
    rows: int = 1, columns: int = 1, width: float = 7.0, height: float = 3.2, **options: Any
) -> tuple[Figure, Any]:
    """A figure in the house style with ``rows`` by ``columns`` axes; sizes in inches, options as ``plt.subplots``."""
    plt.rcParams.update(_STYLE)
    return plt.subplots(rows, columns, figsize=(width, height), **options)


def figure(fig: Figure, *, name: str, caption: str, alt: str, photo: bool = False) -> None:
    """Show a finished figure and close it.

    Args:
        fig: the figure, from :func:`axes`.
        name: names the figure within its notebook, in lower case with dashes.
        caption: what to see in it, MyST Markdown.
        alt: the picture in words, for a reader who cannot see it.
        photo: keep the colours in dark mode (photographs, pictures with their own colours).

    Raises:
        ValueError: no name, caption or alt text.
    """
    from IPython.display import display

    if not (name and caption and alt):
        raise ValueError("a figure needs its name, caption and alt text")
    picture = svg_of(fig)
    details = {"name": name, "caption": caption, "alt": alt, "photo": photo, "data": _data(fig)}
    plt.close(fig)
    display({"image/svg+xml": picture, "text/plain": f"{alt}\n{caption}", FIGURE_MIME: details}, raw=True)


def svg_of(fig: Figure) -> str:
    """A finished figure as SVG, its curves distinct and its legends off them; the same text each time."""
    for axis in fig.axes:
        _label_logarithms(axis)
        _distinguish(axis)
        _rasterize_clouds(axis)
    _lay_out(fig)
    picture = io.StringIO()
    fig.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    return _COORDINATES.sub(lambda match: _LONG_DECIMAL.sub(r"\1", match.group()), picture.getvalue())


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> None:
    """Show a table: one list of values a row, numbers to four figures. Columns of numbers are set to the right.

    Raises:
        ValueError: a row has more or fewer values than another.
    """
    from IPython.display import display

    cells = [[_cell(value) for value in row] for row in rows]
    numbers = {place for place, column in enumerate(zip(*cells, strict=True)) if _are_numbers(column)}
    cells = [[cell if {*"`$"} & {*cell} else set_powers(set_truth(cell)) for cell in row] for row in cells]
    text = (f"*{caption}*\n\n" if caption else "") + markdown_table([*map(_cell, columns)], cells, numbers)
    display({"text/markdown": text, "text/plain": text}, raw=True)


def _cell(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return format_number(value) if isinstance(value, bool | int | float) else str(value).replace("|", r"\|")


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether every cell that is not empty or a dash is a number, and there is one."""
    filled = [cell for cell in cells if cell.strip("-–— ")]
    return bool(filled) and all(map(_NUMBER.fullmatch, filled))


def _distinguish(axis: Axes) -> None:
    """Give named lines that differ in colour alone another dash each, or another marker where they have markers.

    A line without a name that looks as a named one does (another run of the same kind) follows it, and so does the
    line's sample in the legend.
    """
    names = {line: str(line.get_label()) for line in axis.get_lines()}  # one of matplotlib's begins with an underscore
    legend = axis.get_legend()
    texts, handles = (legend.get_texts(), legend.legend_handles) if legend else ([], [])
    samples = {text.get_text(): sample for text, sample in zip(texts, handles, strict=True)}
    alike: dict[tuple[str, str], dict[Any, list[Line2D]]] = {}
    for line in sorted(names, key=lambda line: names[line].startswith("_")):
        by_colour = alike.setdefault((str(line.get_linestyle()), str(line.get_marker())), {})
        if line.get_color() in by_colour or not names[line].startswith("_"):
            by_colour.setdefault(line.get_color(), []).append(line)
    for (dash, marker), by_colour in alike.items():
        if len(by_colour) < 2:
            continue
        for number, lines in enumerate(by_colour.values()):
            shown = [samples.get(names[line]) for line in lines]
            for line in [*lines, *(sample for sample in shown if isinstance(sample, Line2D))]:
                if marker in MARKERS:
                    line.set_marker(MARKERS[number % len(MARKERS)])
                elif (dash, marker) == ("-", "None"):
                    line.set_linestyle(DASHES[number % len(DASHES)])


def _rasterize_clouds(axis: Axes) -> None:
    for cloud in axis.collections:
        if isinstance(cloud, PathCollection) and np.shape(cloud.get_offsets())[0] > _POINTS_AS_PATHS:
            cloud.set_rasterized(True)
    lines = {line: np.shape(line.get_xydata())[0] for line in axis.get_lines()}
    marked = {line for line in lines if line.get_marker() not in ("None", "", " ")}
    loose = {line for line in marked if line.get_linestyle() == "None"}
    crowded = sum(lines[line] for line in loose) > _POINTS_AS_PATHS
    for line, points in lines.items():
        limit = _POINTS_AS_PATHS if line in marked else _LINE_POINTS_AS_PATHS
        if points > limit or (crowded and line in loose):
            line.set_rasterized(True)


def _lay_out(fig: Figure) -> None:
    """Fix the places of axes and legends; saving would look for them once more."""
    engine = fig.get_layout_engine()
    if engine is not None:
        engine.execute(fig)
    if _move_legends_off(fig) and engine is not None:
        engine.execute(fig)
    with plt.rc_context({"figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)


def _move_legends_off(fig: Figure) -> bool:
    """Put a legend without room between the curves next to the axes, and return whether there was any."""
    moved = False
    for axis in fig.axes:
        if (legend := axis.get_legend()) is None:
            continue
        box = legend.get_window_extent()
        curves = [line.get_path() for line in axis.get_lines() if line.get_transform() == axis.transData]
        crossed = any(curve.transformed(axis.transData).intersects_bbox(box, filled=False) for curve in curves)
        if crossed and axis.bbox.contains(*box.get_points().mean(axis=0)):
            legend.set_loc("center left")
            legend.set_bbox_to_anchor((1.0, 0.5), transform=axis.transAxes)
            moved = True
    return moved


def _label_logarithms(axis: Axes) -> None:
    """Powers of ten as text, for matplotlib's own take a quarter of a drawing's time as formulas.

    Minor ticks go: they take two thirds of it, and on an axis of a decade or two all would be labelled, one over the
    other. There the ticks are at 1, 2 and 5 times the powers, and within a decade at some more.
    """
    for line in (axis.xaxis, axis.yaxis):
        if line.get_scale() != "log" or isinstance(line.get_major_locator(), FixedLocator):
            continue
        low, high = sorted(line.get_view_interval())
        line.set_minor_locator(NullLocator())
        if low > 0 and (decades := math.log10(high / low)) < 2:
            line.set_major_locator(LogLocator(subs=(1, 2, 5) if decades >= 1 else (1, 2, 3, 4, 5, 7)))
            line.set_major_formatter(FuncFormatter(lambda value, _: set_powers(format_number(value))))
        elif isinstance(line.get_major_formatter(), LogFormatter) and getattr(line.get_transform(), "base", None) == 10:
            line.set_major_formatter(FuncFormatter(lambda value, _: set_powers(f"1e{math.log10(value):.0f}")))


def _data(fig: Figure) -> list[dict[str, Any]]:
    """The lines and point clouds of every axes, thinned to a size that a record can carry."""
    return [
        {"axis": f"{axis.get_title()} ({axis.get_xlabel()}, {axis.get_ylabel()})", "series": list(_series(axis))}
        for axis in fig.axes
    ]


def _series(axis: Axes) -> Iterable[dict[str, Any]]:
    drawn: list[tuple[Any, Any]] = [(line, line.get_xydata()) for line in axis.get_lines()]
    clouds = [(cloud, np.ma.filled(cloud.get_offsets(), np.nan)) for cloud in axis.collections]
    for artist, values in drawn + [(cloud, offsets) for cloud, offsets in clouds if len(offsets) > 1]:
        points = np.asarray(values, dtype=float)
        kept = points[:: max(1, -(-len(points) // _POINTS_KEPT))]
        texts = [[float(value) if np.isfinite(value) else str(value) for value in point] for point in kept]
        label = str(artist.get_label())  # one of matplotlib's, such as _child2, is none
        yield {"label": "" if label.startswith("_") else label, "points": texts}

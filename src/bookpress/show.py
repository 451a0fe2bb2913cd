"""Figures and tables in the house style.

A figure is drawn with matplotlib on axes from :func:`axes` and handed over by :func:`figure` with a name, a caption
that says what to see, and alt text. It is kept as one SVG on a transparent ground, which the book turns over in dark
mode; ``photo=True`` keeps the colours of pictures as they are. The plotted data travels with it into the record.
"""

import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

from bookpress.evidence import FIGURE_MIME, format_number

#: Okabe and Ito's colours, which remain distinct for colour-blind readers, without the yellow that fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

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
    "savefig.transparent": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "attention-theory",
}
_POINTS_KEPT = 2_000


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
        photo: keep the colours in dark mode (photographs, pictures with colours of their own).
    """
    from IPython.display import display

    if not (name and caption and alt):
        raise ValueError("a figure needs its name, caption and alt text")
    for axis in fig.axes:
        _label_short_logarithms(axis)
    picture = io.StringIO()
    fig.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    details = {"name": name, "caption": caption, "alt": alt, "photo": photo, "data": _data(fig)}
    plt.close(fig)
    bundle = {"image/svg+xml": picture.getvalue(), "text/plain": f"{alt}\n{caption}", FIGURE_MIME: details}
    display(bundle, raw=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> None:
    """Show a table: one list of values a row, numbers to four figures."""
    from IPython.display import display

    lines = [f"*{caption}*", ""] if caption else []
    lines += ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    display({"text/markdown": "\n".join(lines), "text/plain": "\n".join(lines)}, raw=True)


def _cell(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return format_number(value) if isinstance(value, bool | int | float) else str(value)


def _label_short_logarithms(axis: Axes) -> None:
    """On a logarithmic axis of a decade or two, matplotlib labels every minor tick, one over the other."""
    for line in (axis.xaxis, axis.yaxis):
        if line.get_scale() != "log" or isinstance(line.get_major_locator(), FixedLocator):
            continue
        low, high = sorted(line.get_view_interval())
        line.set_minor_formatter(NullFormatter())
        if low > 0 and math.log10(high / low) < 2:
            line.set_major_locator(LogLocator(subs=(1, 2, 5)))
            line.set_major_formatter(StrMethodFormatter("{x:g}"))


def _data(fig: Figure) -> list[dict[str, Any]]:
    """The lines and point clouds of every axes, thinned to a size that a record can carry."""
    return [
        {
            "axis": f"{axis.get_title()} ({axis.get_xlabel()}, {axis.get_ylabel()})",
            "series": list(_series(axis)),
        }
        for axis in fig.axes
    ]


def _series(axis: Axes) -> Iterable[dict[str, Any]]:
    for line in axis.get_lines():
        yield _thin(str(line.get_label()), np.asarray(line.get_xydata(), dtype=float))
    for cloud in axis.collections:
        offsets = np.ma.filled(cloud.get_offsets(), np.nan)
        if len(offsets) > 1:
            yield _thin(str(cloud.get_label()), np.asarray(offsets, dtype=float))


def _thin(label: str, points: np.ndarray) -> dict[str, Any]:
    kept = points[:: max(1, -(-len(points) // _POINTS_KEPT))]
    texts = [[float(value) if np.isfinite(value) else str(value) for value in point] for point in kept]
    return {"label": label, "points": texts}

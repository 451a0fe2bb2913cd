"""The house style: what is told apart without colour, and what lies over what."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bookpress.claims import show


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """A drawing that is refused stays open otherwise."""
    yield
    plt.close("all")


def draw(fig: Any, **options: Any) -> str:
    """The SVG that a page would carry."""
    texts = {"name": "toy", "caption": "Two curves.", "alt": "Two curves that rise."} | options
    with patch("IPython.display.display") as display:
        show.figure(fig, **texts)
    svg: str = display.call_args.args[0]["image/svg+xml"]
    return svg


@pytest.mark.parametrize("style", ["-", "o-"])
def test_lines_that_differ_in_colour_alone_get_dashes_or_markers_in_the_legend_too(style: str) -> None:
    fig, axis = show.axes()
    lines = [axis.plot([0, 1], [0, slope], style, label=f"slope {slope}")[0] for slope in range(5)]
    legend = axis.legend()
    draw(fig)
    looks = [(line.get_marker(), str(line._dash_pattern)) for line in lines]
    assert len(set(looks)) == 5
    assert [(sample.get_marker(), str(sample._dash_pattern)) for sample in legend.legend_handles] == looks


def test_runs_without_a_name_follow_the_named_run_of_their_colour() -> None:
    fig, axis = show.axes()
    for colour in ("C0", "C1"):
        for label in (f"_run of {colour}", colour):
            axis.plot([0, 1], [0, 1], color=colour, label=label)
    guide = axis.plot([0, 1], [1, 1], color="grey")[0]
    draw(fig)
    unnamed_0, named_0, unnamed_1, named_1 = (line._dash_pattern for line in axis.get_lines()[:4])
    assert unnamed_0 == named_0 != named_1 == unnamed_1
    assert guide.get_linestyle() == "-"


def test_a_legend_without_room_goes_beside_the_axes() -> None:
    fig, axis = show.axes()
    across = np.linspace(0, 1, 50)
    for height in np.linspace(0, 1, 30):
        axis.plot(across, 0 * across + height, color="C0", label=None if height else "level")
    legend = axis.legend()
    draw(fig)
    assert legend.get_window_extent().x0 >= axis.bbox.x1


@pytest.mark.parametrize(("points", "pixels"), [(20_000, True), (100, False)])
@pytest.mark.parametrize("kind", ["scatter", "plot"])
def test_only_a_cloud_of_many_points_is_kept_as_pixels(kind: str, points: int, pixels: bool) -> None:
    cloud = np.random.default_rng(0).normal(size=(points, 2))
    fig, axis = show.axes()
    getattr(axis, kind)(*cloud.T, **({"s": 2} if kind == "scatter" else {"marker": ".", "linestyle": ""}))
    svg = draw(fig)
    assert ("<image" in svg) is pixels
    assert len(svg) < 300_000


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (3e-7, 4e-6, ["5·10⁻⁷", "10⁻⁶", "2·10⁻⁶"]),
        (2.5, 9.5, ["3", "4", "5", "7"]),
        (1e-3, 0.1, ["10⁻³", "10⁻²", "10⁻¹"]),
    ],
)
def test_the_shorter_a_logarithmic_axis_the_more_of_its_ticks_have_numbers(
    low: float, high: float, texts: list[str]
) -> None:
    fig, axis = show.axes()
    axis.plot([low, high], [low, high])
    axis.set(xscale="log", xlim=(low, high))
    draw(fig)
    ticks = zip(axis.get_xticklabels(), axis.get_xticks(), strict=True)
    assert [text.get_text() for text, place in ticks if low <= place <= high] == texts
    assert not any(tick.get_text() for tick in axis.get_xticklabels(minor=True))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook displays."""
    bundles: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: bundles.append(data))
    return bundles


def test_a_bar_in_a_text_ends_no_cell_of_a_table(shown: list[dict[str, str]]) -> None:
    show.table(["|S|", "share"], [["$|A|$", 0.5], ["tape |_", 2]])
    head, _, *rows = shown[0]["text/markdown"].splitlines()
    assert head == r"| \|S\| | share |"
    assert rows == [r"| $\|A\|$ | 0.5 |", r"| tape \|_ | 2 |"]


def test_a_table_is_set_as_print_sets_it(shown: list[dict[str, str]]) -> None:
    """Columns of numbers to the right, powers of ten and yes or no; code and formulas as they are."""
    rows = [["a", -1e-7, True, "`1e-7`", "12 %"], ["b", "", False, "$1e-7$", 3]]
    show.table(["name", "error", "right", "code", "share"], rows, "So.")
    caption, _, head, rule, *lines = shown[0]["text/markdown"].splitlines()
    assert (caption, head, rule) == (
        "*So.*",
        "| name | error | right | code | share |",
        "| --- | ---: | --- | --- | --- |",
    )
    assert lines == ["| a | −10⁻⁷ | yes | `1e-7` | 12 % |", "| b |  | no | $1e-7$ | 3 |"]
    with pytest.raises(ValueError, match="shorter"):
        show.table(["a", "b"], [[1, 2], [1]])


@pytest.mark.parametrize(("drawn", "kept"), [(1, 1), (2000, 2000), (4001, 1334)])
def test_a_record_carries_at_most_two_thousand_points_of_a_line_at_equal_steps(drawn: int, kept: int) -> None:
    fig, axis = show.axes()
    axis.plot(np.arange(drawn), np.arange(drawn) ** 2, label="squares")
    (data,) = show._data(fig)
    (series,) = data["series"]
    first, last = series["points"][0], series["points"][-1]
    assert (series["label"], len(series["points"]), first) == ("squares", kept, [0.0, 0.0])
    assert last[1] == last[0] ** 2
    assert {b[0] - a[0] for a, b in zip(series["points"], series["points"][1:], strict=False)} <= {-(-drawn // 2000)}


def test_a_record_carries_clouds_and_values_that_are_not_finite() -> None:
    fig, axis = show.axes()
    axis.plot([0, 1], [np.nan, np.inf])
    axis.scatter([1, 2], [3, 4], label="cloud")
    line, cloud = show._data(fig)[0]["series"]
    assert (line["label"], line["points"]) == ("", [[0.0, "nan"], [1.0, "inf"]])
    assert (cloud["label"], cloud["points"]) == ("cloud", [[1.0, 3.0], [2.0, 4.0]])

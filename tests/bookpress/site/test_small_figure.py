"""Small figures: what a record holds is drawn where it belongs, and what it does not hold is refused by name."""

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sphinx.application import Sphinx

from bookpress.claims.record import Figure, Record
from bookpress.site.origin import record_in_book
from bookpress.site.small_figure import FORMS, DrawingError, Scale, Series, lines, series_of, strips, trail

RECORD: Any = SimpleNamespace(
    notebook="one/first",
    figures=[
        SimpleNamespace(
            name="curve",
            data=[
                {
                    "axis": " (n, error)",
                    "series": [
                        {"label": "ours", "points": [[1, 1.0], [2, 0.01], ["3", "0.0001"]]},
                        {"label": "_child1", "points": [[2, 0], [2, 1]]},
                    ],
                }
            ],
        )
    ],
)


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def path(svg: str, kind: str) -> list[tuple[float, float]]:
    """The corners of the last line of a kind: the first is the sample beside its name."""
    found = re.findall(rf'<path class="{kind}" d="M([^"]*)"', svg)[-1]
    return [tuple(map(float, corner.split())) for corner in found.split("L")]  # type: ignore[misc]


def test_series_are_taken_under_the_names_of_the_page() -> None:
    ours, bound = series_of(RECORD, "curve", 1, {"ours": "what we found", "_child1": "the bound"})
    assert ours == Series("what we found", [(1.0, 1.0), (2.0, 0.01), (3.0, 0.0001)])
    assert (bound.upright, bound.level, ours.upright, ours.level) == (2.0, None, None, None)
    assert [one.name for one in series_of(RECORD, "curve", 1, {})] == ["ours", "_child1"]


@pytest.mark.parametrize(
    ("figure", "axis", "name", "said"),
    [
        ("curves", 1, "ours", "one/first has no figure 'curves'"),
        ("curve", 2, "ours", "has 1 axes, not 2"),
        ("curve", 1, "theirs", "no series 'theirs'; it has ours, _child1"),
    ],
)
def test_what_the_record_lacks_is_refused(figure: str, axis: int, name: str, said: str) -> None:
    with pytest.raises(DrawingError, match=said):
        series_of(RECORD, figure, axis, {name: name})


def test_a_scale_turns_values_into_pixels_and_has_round_ticks() -> None:
    scale = Scale(0, 50, 40, 340)
    assert (scale(0), scale(25), scale(50)) == (40, 190, 340)
    assert scale.ticks(5) == [0, 10, 20, 30, 40, 50]


def test_powers_of_ten_stand_at_equal_distances() -> None:
    svg = lines(series_of(RECORD, "curve", 1, {"ours": "found"}), "n", "error", log=True)
    (_, first), (_, second), (_, third) = path(svg, "line line-0")
    assert first < second < third
    assert second - first == pytest.approx(third - second)
    assert {"found", "n", "error", "10⁰", "10⁻⁴"} <= set(texts(svg))


def test_an_upright_line_stands_at_its_value() -> None:
    ours, bound = series_of(RECORD, "curve", 1, {})
    svg = lines([ours, bound], "n", "error", log=True)
    place = float(re.findall(r'<path class="line line-1" d="M([\d.]+) [\d.]+V', svg)[0])
    assert place == path(svg, "line line-0")[1][0]


def test_a_level_line_stands_at_its_height_and_zero_is_in_sight() -> None:
    svg = lines([Series("error", [(0.0, 3.0), (9.0, 9.0)]), Series("promise", [(0.0, 0.0), (1.0, 0.0)])], "n", "e")
    height = float(re.findall(r'<path class="line line-1" d="M[\d.]+ ([\d.]+)H', svg)[0])
    assert height > path(svg, "line line-0")[0][1]
    assert "0" in texts(svg)


def test_what_was_drawn_along_a_floor_is_left_out() -> None:
    svg = lines([Series("falls", [(0.0, 1.0), (1.0, 1e-16), (2.0, 1e-16), (3.0, 1e-16)])], "t", "loss", log=True)
    assert len(path(svg, "line line-0")) == 2


def test_every_strip_has_its_name_and_the_same_axis() -> None:
    svg = strips([Series("short <b>", [(0.0, 1.0), (5.0, 2.0)]), Series("long", [(0.0, 9.0), (10.0, 4.0)])], "t", "at")
    assert {"short &lt;b&gt;", "long", "t", "at"} <= set(texts(svg))
    assert max(x for x, _ in path(svg, "line line-0")) == 336


def test_a_trail_fills_the_cells_it_passes() -> None:
    svg = trail([Series("_child1", [(2.0, 1.0)]), Series("_child0", [(1.0, 0.0)])], "cell", "step")
    heads = re.findall(r'class="cell head" x="([\d.]+)" y="([\d.]+)"', svg)
    assert [tuple(map(float, one)) for one in heads] == [(78.0, 24.0), (116.0, 44.0)]
    assert svg.count('class="cell"') == 2 * 4


@pytest.mark.parametrize("far", [3.0, 40.0])
def test_the_cells_of_a_trail_fit_into_its_width(far: float) -> None:
    svg = trail([Series("one", [(0.0, 0.0), (far, 1.0)])], "cell", "step")
    cells = [
        tuple(map(float, one))
        for one in re.findall(r'<rect class="cell" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    ]
    assert len(cells) == 2 * (far + 2)
    assert all(x + width <= 344 for x, width in cells)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_drawing_is_as_wide_as_a_phones_column(form: str) -> None:
    svg = FORMS[form]([Series("one", [(0.0, 1.0), (5.0, 2.0)])], "t", "at")
    assert 'viewBox="0 0 344 ' in svg


@pytest.mark.parametrize(
    ("figure", "alt", "said"),
    [
        ("curve", ":alt: Two < three", 'aria-label="Two &lt; three"><svg'),
        ("curve", "", "a small figure needs an alt text"),
        ("curves", ":alt: none", "has no figure 'curves'"),
    ],
)
def test_a_page_draws_from_the_record_beside_it(tmp_path: Path, figure: str, alt: str, said: str) -> None:
    record = Record.model_construct(
        notebook="one/first", title="First", profile="laptop", parameters={}, claims=[], fingerprint="", commit="",
        environment={}, seconds=1.0, figures=[Figure(caption="", alt="", photo=False, **vars(RECORD.figures[0]))],
    )  # fmt: skip
    record.write(tmp_path / record_in_book("one/first"))
    lines = [f".. small-figure:: one/first {figure}", *([f"   {alt}"] if alt else []), "", "   ours = found", ""]
    (tmp_path / "index.rst").write_text("\n".join(["Page", "====", "", *lines]))
    heard, out = io.StringIO(), tmp_path / "out"
    config = {"extensions": ["bookpress.site.small_figure"], "exclude_patterns": ["out"]}
    app = Sphinx(tmp_path, None, out, out / "trees", "html", config, status=None, warning=heard)
    app.build()
    assert said in (out / "index.html").read_text() + heard.getvalue()


def test_axes_are_counted_from_one() -> None:
    with pytest.raises(DrawingError, match="has 1 axes, not 0"):
        series_of(RECORD, "curve", 0, {})


@pytest.mark.parametrize(
    ("points", "level", "upright"),
    [
        ([(0.0, 3.0), (1.0, 3.0)], 3.0, None),
        ([(3.0, 0.0), (3.0, 1.0)], None, 3.0),
        ([(0.0, 3.0), (1.0, 4.0)], None, None),
        ([(0.0, 3.0), (2.0, 3.0)], None, None),
        ([(0.0, 3.0), (1.0, 3.0), (2.0, 3.0)], None, None),
    ],
)
def test_only_a_line_through_the_whole_picture_is_level_or_upright(
    points: list[tuple[float, float]], level: float | None, upright: float | None
) -> None:
    assert (Series("", points).level, Series("", points).upright) == (level, upright)


@pytest.mark.parametrize(("least", "at_zero"), [(0.0, True), (1.0, True), (3.0, True), (3.5, False), (-3.0, False)])
def test_an_axis_begins_at_zero_where_its_values_come_near_it(least: float, at_zero: bool) -> None:
    """A third of the largest value is near; the axis begins at 44 pixels."""
    svg = lines([Series("one", [(least, 1.0), (9.0, 2.0)])], "t", "e")
    start = path(svg, "line line-0")[0][0]
    assert start == pytest.approx(44 + (336 - 44) * least / 9 if at_zero else 44, abs=0.1)


@pytest.mark.parametrize(("points", "circles"), [(10, 10), (11, 0)])
def test_a_line_of_few_points_shows_each(points: int, circles: int) -> None:
    svg = lines([Series("one", [(float(x), float(x)) for x in range(points)])], "t", "e")
    assert svg.count("<circle") == circles


def test_a_drawing_is_as_high_as_what_stands_in_it() -> None:
    one, two = Series("one", [(0.0, 1.0), (5.0, 2.0)]), Series("two", [(0.0, 1.0), (5.0, 2.0)])

    def height(svg: str) -> float:
        return float(re.findall(r'viewBox="0 0 344 ([\d.]+)"', svg)[0])

    for draw in (lines, strips):
        lower, higher = height(draw([one], "t", "e")), height(draw([one, two], "t", "e"))
        places = [float(y) for y in re.findall(r' y="([\d.]+)"', draw([one, two], "t", "e"))]
        assert lower < higher
        assert max(places) < higher
    assert height(trail([one], "t", "e")) == 24 + 20 * 3 + 36  # three rows of cells, and two lines of text below


def test_what_lies_at_and_below_zero_has_no_power() -> None:
    svg = lines([Series("one", [(0.0, 0.0), (1.0, 10.0), (2.0, -1.0), (3.0, 1000.0)])], "t", "e", log=True)
    assert [x for x, _ in path(svg, "line line-0")] == [141.3, 336]
    assert {"10¹", "10³"} <= set(texts(svg))

"""What the book shows of full-size figures."""

from collections.abc import Callable
from typing import Any

import pytest

from bookpress.notebooks.profile import ProfileError, Settings
from bookpress.site.full_size import costs_page, points_section
from bookpress.sweeps.figures import FigureSweep, figure_sweeps
from bookpress.sweeps.points import PointRecord

SWEEP = """\
demo/good:
  sweeps:
    - title: the only part
      notebook: demo/points/point
      axes: {n: [1, 2, 4], seed: 0..1}
      seconds: 100 * n
      across: n
      number: loss
      words: {n: tokens, loss: squared error}
"""
AGAINST = """\
      apart: n
      against: 2
"""
TITLES = {"demo/good": "Figure 1 · A line", "demo/other": "Figure 2"}


@pytest.fixture
def sweep(toy: Any) -> Callable[[], FigureSweep]:
    toy.add("good")
    toy.add_point()
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text(SWEEP)
    return lambda: figure_sweeps(toy.layout)[0]


def keep(toy: Any, points: list[Any], a_record: Callable[..., PointRecord]) -> None:
    for point in points:
        path = toy.layout.points("demo/good") / f"{point.name}.json"
        numbers = {"loss": 1 / point.parameters["n"]}
        a_record(point, numbers=numbers, seconds=200.0 * point.parameters["n"], memory_mb=300).write(path)


def test_a_page_says_what_is_missing_and_draws_what_is_there(
    toy: Any, sweep: Callable[[], FigureSweep], a_record: Callable[..., PointRecord]
) -> None:
    maker = {"demo/points/point": "f"}
    assert points_section([], {}, toy.layout) == ""
    text = points_section([sweep()], maker, toy.layout)
    assert "None of 6 points is done; all would take 23 min of one core, as planned." in text
    assert not toy.layout.figure("demo/good-points-1").exists()
    keep(toy, sweep().points[:4], a_record)
    text = points_section([sweep()], maker, toy.layout)
    assert "4 of 6 points are done; the other 2 would take 20 min of one core, at the measured pace." in text
    assert "/figures/demo/good-points-1.svg" in text
    assert "squared error against tokens. A mark is" in text
    assert "<svg" in toy.layout.figure("demo/good-points-1").read_text()
    assert "4 of 6 points are done, 4 of them with earlier code" in points_section(
        [sweep()], {"demo/points/point": "g"}, toy.layout
    )
    keep(toy, sweep().points, a_record)
    assert "6 of 6 points are done." in points_section([sweep()], maker, toy.layout)


def test_curves_stand_beside_one_of_them_where_the_sweep_asks_for_it(
    toy: Any, sweep: Callable[[], FigureSweep], a_record: Callable[..., PointRecord]
) -> None:
    keep(toy, sweep().points, a_record)
    assert "at its best" not in points_section([sweep()], {"demo/points/point": "f"}, toy.layout)
    profile = toy.layout.profiles / "full.yaml"
    profile.write_text(SWEEP.replace("across: n\n", "across: seed\n") + AGAINST)
    text = points_section([sweep()], {"demo/points/point": "f"}, toy.layout)
    assert "*Each tokens at its best seed, beside 2, seed by seed." in text
    assert "| 4 | 0, at an end of those tried | 0.2500 | -0.250 |  |" in text
    profile.write_text(SWEEP + AGAINST.replace("against: 2", "against: 3"))
    with pytest.raises(ProfileError, match="against: 3 is no value of apart"):
        sweep()


def test_the_costs_are_made_from_the_records(
    toy: Any, sweep: Callable[[], FigureSweep], a_record: Callable[..., PointRecord]
) -> None:
    runs = {"demo/good": Settings(), "demo/other": Settings(cost="A day."), "demo/gone": Settings(cost="No page.")}
    runs["demo/good"] = Settings(sweeps=[sweep().sweep])
    page = costs_page([sweep()], runs, {}, TITLES)
    planned = "6 | 0 | 233, planned | up to 4000 MB, planned | 23 min |"
    assert f"| [Figure 1](/notebooks/demo/good.ipynb) of demo, the only part | {planned}" in page
    assert "| [Figure 2](/notebooks/demo/other.ipynb) of demo | no | A day. |" in page
    assert "No page." not in page
    keep(toy, sweep().points[:2], a_record)
    page = costs_page([sweep()], runs, {}, TITLES)
    assert "| 6 | 2 | 300 on CPU | 300 MB | 37 min |" in page
    assert "| **all** | 6 | 2 |" in page

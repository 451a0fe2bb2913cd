"""The sweeps of full-size figures: listed, and worked off in their order."""

from collections.abc import Callable
from typing import Any

import pytest

from bookpress.notebooks.profile import ProfileError
from bookpress.notebooks.values import ValueRefused
from bookpress.sweeps.figures import FigureSweep, figure_sweeps, in_words, tasks_of
from bookpress.sweeps.points import PointRecord

SWEEP = """\
demo/good:
  cost: a day
  sweeps:
    - title: long
      notebook: demo/points/point
      axes: {n: [1, 2, 4], seed: 0..1}
      seconds: 100 * n
      across: n
      number: loss
    - title: short
      notebook: demo/points/point
      parameters: {kind: b}
      axes: {n: [1, 2]}
      seconds: "30"
      gpu: GPU
      across: n
      number: loss
"""
Load = Callable[..., list[FigureSweep]]

#: ``book`` that says how far it lowers its priority and keeps it: on a busy machine it would not get to its end.
PATIENT = """\
import os
from bookpress.cli import main
os.nice = lambda by: print("priority lowered by", by) or 0
main()
"""


@pytest.fixture
def sweeps(toy: Any) -> Load:
    toy.add("good")
    toy.add_point()
    toy.layout.profiles.mkdir()

    def load(gpu: str = "false", text: str = SWEEP) -> list[FigureSweep]:
        (toy.layout.profiles / "full.yaml").write_text(text.replace("GPU", gpu))
        return figure_sweeps(toy.layout)

    return load


def test_points_are_done_by_their_records(toy: Any, sweeps: Load, a_record: Callable[..., PointRecord]) -> None:
    long, short = sweeps()
    assert [(len(one.points), len(one.done), len(one.missing)) for one in (long, short)] == [(6, 0, 6), (2, 0, 2)]
    assert (long.pace, long.seconds(long.missing)) == (None, [100, 200, 400, 100, 200, 400])
    for point in long.points[:2]:
        path = toy.layout.points("demo/good") / f"{point.name}.json"
        a_record(point, seconds=50.0 * point.parameters["n"]).write(path)
    long, short = sweeps()
    assert (len(long.done), len(short.done)) == (2, 0)
    assert (long.pace, long.seconds(long.missing)) == (0.5, [200, 50, 100, 200])
    assert long.seconds_measured() == {"CPU": 75.0}


def test_every_sweep_gets_on_and_short_points_go_first(toy: Any, sweeps: Load) -> None:
    tasks = tasks_of(sweeps(), "cpu", toy.layout)
    names = ["n=1,kind=b", "n=2,kind=b", *(f"n={n},seed={seed}" for seed in (0, 1) for n in (1, 2, 4))]
    assert [task.record.stem for task in tasks] == names
    assert tasks[0].record.parent == toy.layout.points("demo/good")


def test_points_for_an_accelerator_are_left_to_one(toy: Any, sweeps: Load) -> None:
    assert all("kind=b" not in task.record.stem for task in tasks_of(sweeps("true"), "cpu", toy.layout))
    on_gpu = tasks_of(sweeps("true"), "cuda", toy.layout)
    assert len(on_gpu) == 8
    assert {task.point.parameters["device"] for task in on_gpu} == {"cuda"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n: [1, 2, 4]", "m: [1], n: [1]", "full.yaml, demo/good, 'long': demo/points/point has no parameter 'm'"),
        ("100 * n", "100 * m", r"full.yaml, demo/good, 'long': '100 \* m' is no number"),
        ("n: [1, 2, 4]", "n: [2.0]", "n must be a whole number"),
        ("across: n", "across: m", "across and apart name axes, got 'm'; there are: n, seed"),
        ("      number: loss\n", "", "number"),
    ],
)
def test_a_description_that_does_not_fit_is_named(sweeps: Load, old: str, new: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        sweeps(text=SWEEP.replace("GPU", "false").replace(old, new))


def test_points_are_listed_and_worked_off(book: Any, toy: Any, sweeps: Load) -> None:
    sweeps(
        text=SWEEP[: SWEEP.index("    - title: short")].replace("seed: 0..1", "seed: [0]").replace("1, 2, 4", "1, 2")
    )
    listed = "demo/good, long\n  0 of 2 points, none measured; missing: 2: 5.0 min of one core, as planned\n"
    assert book("points") == (0, listed)
    code, printed = book("points", "--work", "--cores", "2", program=("-c", PATIENT))
    assert code == 0
    assert "priority lowered by 19\n" in printed
    assert printed.endswith("2 points made\n")
    assert "2 of 2 points" in book("points")[1]
    assert book("points", "--work") == (0, "no point for the device 'cpu' is missing\n")


def test_a_page_without_a_sweep_is_refused_with_the_nearest(toy: Any, sweeps: Load) -> None:
    sweeps()
    with pytest.raises(ValueRefused, match="nearest: demo/good"):
        figure_sweeps(toy.layout, ["demo/goood"])


def test_a_duration_in_words() -> None:
    for seconds, words in ((4, "4 s"), (100, "1.7 min"), (5400, "1.5 h"), (2e5, "2.3 days"), (4e8, "13 years")):
        assert in_words(seconds) == words

"""The sweeps of full-size figures: what is done, what is missing, what comes next."""

from collections.abc import Callable
from typing import Any

import pytest

from bookpress.notebooks.profile import ProfileError
from bookpress.sweeps.full_size import CPU, CUDA, FigureSweep, figure_sweeps, tasks_again, tasks_of, unlike
from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.sweep import SweepError

SWEEP = """\
demo/good:
  cost: a day
  sweeps:
    - title: long
      notebook: demo/points/point
      axes: {n: [1, 2, 4], seed: 0..1}
      seconds: 100 * n
      operations: 10 * n
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


@pytest.fixture
def sweeps(toy: Any) -> Callable[..., list[FigureSweep]]:
    toy.add("good")
    toy.add_point()
    toy.layout.profiles.mkdir()

    def load(gpu: str = "false", text: str = SWEEP) -> list[FigureSweep]:
        (toy.layout.profiles / "full.yaml").write_text(text.replace("GPU", gpu))
        return figure_sweeps(toy.layout)

    return load


def test_points_are_done_by_their_records(
    toy: Any, sweeps: Callable[..., list[FigureSweep]], a_record: Callable[..., PointRecord]
) -> None:
    long, short = sweeps()
    assert [(len(one.points), len(one.done), len(one.missing)) for one in (long, short)] == [(6, 0, 6), (2, 0, 2)]
    assert (long.pace(CPU), long.seconds(long.missing, CPU)) == (None, 1400.0)
    for point in long.points[:2]:
        path = toy.layout.points("demo/good") / f"{point.name}.json"
        a_record(point, seconds=50.0 * point.parameters["n"]).write(path)
    long, short = sweeps()
    assert (len(long.done), len(short.done)) == (2, 0)
    assert (long.pace(CPU), long.pace(CUDA)) == (0.5, None)
    assert long.seconds(long.missing, CPU) == 0.5 * (1400 - 300)


def test_every_sweep_gets_on_and_short_points_go_first(toy: Any, sweeps: Callable[..., list[FigureSweep]]) -> None:
    tasks = tasks_of(sweeps(), CPU, toy.layout)
    names = [task.path.stem for task in tasks]
    assert names == [
        "n=1,kind=b",
        "n=2,kind=b",
        "n=1,seed=0",
        "n=2,seed=0",
        "n=4,seed=0",
        "n=1,seed=1",
        "n=2,seed=1",
        "n=4,seed=1",
    ]
    assert tasks[0].path.parent == toy.layout.points("demo/good")


def test_what_is_for_an_accelerator_is_left_to_one(toy: Any, sweeps: Callable[..., list[FigureSweep]]) -> None:
    assert all("kind=b" not in task.path.stem for task in tasks_of(sweeps("true"), CPU, toy.layout))
    on_gpu = tasks_of(sweeps("true"), CUDA, toy.layout)
    assert len(on_gpu) == 8
    assert {task.parameters["device"] for task in on_gpu} == {"cuda"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("n: [1, 2, 4]", "m: [1]", "full.yaml, demo/good, 'long': demo/points/point has no parameter 'm'"),
        ("100 * n", "100 * m", "'100 \\* m' is no number"),
        ("n: [1, 2, 4]", "n: [0]", "out of its range"),
    ],
)
def test_a_sweep_that_does_not_fit_is_named(
    sweeps: Callable[..., list[FigureSweep]], old: str, new: str, said: str
) -> None:
    with pytest.raises(SweepError, match=said):
        sweeps(text=SWEEP.replace("GPU", "false").replace(old, new))


def test_a_description_of_another_form_is_refused(sweeps: Callable[..., list[FigureSweep]]) -> None:
    with pytest.raises(ProfileError, match="number"):
        sweeps(text=SWEEP.replace("GPU", "false").replace("      number: loss\n", ""))


def test_points_that_come_out_otherwise_are_named(
    toy: Any, sweeps: Callable[..., list[FigureSweep]], a_record: Callable[..., PointRecord]
) -> None:
    long, _ = sweeps()
    for point, now in zip(long.points[:3], (1.0, 1.04, [1.0, 1.4]), strict=True):
        a_record(point, numbers={"loss": 1.0}).write(toy.layout.points("demo/good") / f"{point.name}.json")
        a_record(point, numbers={"loss": now}).write(toy.layout.again("demo/good") / f"{point.name}.json")
    found = sweeps()
    tasks = tasks_again(found, {"demo/points/point": "f"}, toy.layout)
    assert [task.path for task in tasks] == [
        toy.layout.again("demo/good") / f"{point.name}.json" for point in long.points[:3]
    ]
    assert tasks_again(found, {"demo/points/point": "other code"}, toy.layout) == []
    assert unlike(found, toy.layout) == {"demo/good, long, n=4,seed=0": "loss is 1.2 today, 1 on record"}


def test_sweeps_of_some_pages_are_those_of_these_pages(toy: Any, sweeps: Callable[..., list[FigureSweep]]) -> None:
    assert len(sweeps()) == 2
    assert [one.sweep.title for one in figure_sweeps(toy.layout, ["demo/good"])] == ["long", "short"]
    assert figure_sweeps(toy.layout, ["demo/another"]) == []
    (toy.layout.profiles / "full.yaml").write_text("demo/good: {cost: a day}\n")
    assert figure_sweeps(toy.layout) == figure_sweeps(toy.layout, ["demo/good"]) == []
    (toy.layout.profiles / "full.yaml").unlink()
    assert figure_sweeps(toy.layout) == []

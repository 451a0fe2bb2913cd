"""Sweeps from the command line: each point is made once, whatever is killed and whoever else is at it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookpress.sweeps.points import PointRecord

Book = Callable[..., tuple[int, str]]
SWEEP = ["sweep", "demo/points/point", "--cores", "2"]
SIX = ["-p", "n=1,2", "-p", "seed=0..2"]
TABLE = "n,seed,loss,total\n1,0,1.0,3\n1,1,2.0,3\n1,2,3.0,3\n2,0,0.5,3\n2,1,1.5,3\n2,2,2.5,3\n"


@pytest.fixture
def folder(toy: Any) -> Path:
    path: Path = toy.layout.sweep("demo/points/point")
    return path


def times(folder: Path) -> dict[str, int]:
    """When each record was written."""
    return {path.stem: path.stat().st_mtime_ns for path in (folder / "points").glob("*.json")}


def test_each_point_is_made_once_and_all_are_gathered(book: Book, toy: Any, folder: Path) -> None:
    code, printed = book(*SWEEP, "-p", "n=1,2", "-p", "seed=0..1")
    assert code == 0
    assert "4 points made" in printed
    assert "loss against n" in printed
    assert (folder / "table.csv").read_text() == "n,seed,loss,total\n1,0,1.0,3\n1,1,2.0,3\n2,0,0.5,3\n2,1,1.5,3\n"
    assert "<svg" in (folder / "picture.svg").read_text()
    record = PointRecord.read(folder / "points" / "n=1,seed=0.json")
    assert record.seconds > 0
    assert record.memory_mb
    before = times(folder)

    code, printed = book(*SWEEP, "-p", "n=1,2,3", "-p", "seed=0..1")
    after = times(folder)
    assert (code, len(after)) == (0, 6)
    assert "4 of 6 points are there, 2 to be made" in printed
    assert {name: after[name] for name in before} == before
    assert [path.suffix for path in toy.layout.plan("any").parent.iterdir()] == [".lock"]


def test_paths_are_the_caller_s(book: Book, toy: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("my own")
    (elsewhere / "settings").mkdir()
    (elsewhere / "settings" / "config.yaml").write_text("cores: 1\n")
    options = ["-o", "mine", "--workflow-profile", "settings"]
    assert book("sweep", "demo/points/point", "-p", "n=1", *options, folder=elsewhere)[0] == 0
    assert len(list((elsewhere / "mine" / "points").iterdir())) == 1
    assert (elsewhere / "mine" / "table.csv").is_file()
    assert not (toy.layout.root / "mine").exists()


def test_the_seconds_of_a_point_are_those_of_the_processor(book: Book, toy: Any, edit: Any, folder: Path) -> None:
    edit(toy.layout.source("demo/points/point"), "# %%\nend =", "# %%\ntime.sleep(1.5)\nend =")
    assert book(*SWEEP, "-p", "n=1", "-p", "seed=0", "-p", "wait=0.3")[0] == 0
    [path] = (folder / "points").iterdir()
    assert 0.3 <= PointRecord.read(path).seconds < 1.5


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["-p", "n=1,2", "--across", "nope"], 3, "there is no axis 'nope'; there are: n"),
        (["-p", "n=1,2", "--number", "gain"], 3, "there is no number 'gain' to draw; there are: loss, total"),
        (["-p", "n=1", "--hours", "nan"], 2, "nan is not from 0 to 8760"),
        (["-p", "n=1", "-o", "Snakefile/mine"], 9, "Snakefile/mine: Not a directory"),
    ],
)
def test_bad_options_are_refused_before_anything_is_begun(
    book: Book, toy: Any, options: list[str], code: int, message: str
) -> None:
    ended, printed = book(*SWEEP, *options)
    assert ended == code
    assert message in " ".join(printed.split())
    assert not toy.layout.plan("any").parent.exists()


def test_points_that_fail_are_named_and_the_others_kept(book: Book, folder: Path) -> None:
    code, printed = book(*SWEEP, "-p", "ill=no,fails,killed")
    assert (code, len(times(folder))) == (1, 1)
    last = printed.strip().splitlines()[-1]
    assert "2 failed, the other points are kept" in last
    assert all(f"ill={ill}" in last for ill in ("fails", "killed"))
    assert "ValueError: it fails" in " ".join(printed.split())
    assert "the kernel died" in " ".join(printed.split())
    assert len((folder / "table.csv").read_text().splitlines()) == 2


def test_after_its_hours_a_sweep_begins_no_more_points(book: Book, folder: Path) -> None:
    code, printed = book(*SWEEP, *SIX, "-p", "wait=2.0", "--hours", "0")
    count = len(times(folder))
    assert code == 0
    assert count <= 2  # of two cores
    assert f"{count} points made, {6 - count} left" in printed


def test_of_two_runs_of_a_sweep_the_second_is_refused(start: Any, book: Book, folder: Path) -> None:
    first = start(*SWEEP, *SIX, "-p", "wait=0.5")
    while not times(folder) and first.poll() is None:
        time.sleep(0.1)
    code, printed = book(*SWEEP, *SIX, "-p", "wait=0.5")
    assert (code, printed) == (1, "not whole: another run is making these points; this one did nothing\n")
    assert "6 points made" in first.communicate(timeout=900)[0]
    assert len(times(folder)) == 6


def test_a_sweep_that_is_killed_goes_on_from_there(start: Any, book: Book, toy: Any, folder: Path) -> None:
    for enough in (1, 3):
        process = start(*SWEEP, *SIX)
        while len(times(folder)) < enough and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    before = times(folder)
    code, printed = book(*SWEEP, *SIX)
    after = times(folder)
    assert code == 0
    assert f"{len(before)} of 6 points are there" in printed
    assert (folder / "table.csv").read_text() == TABLE
    assert {name: after[name] for name in before} == before
    assert [path for path in toy.layout.build.rglob("*") if path.name.endswith(".aside")] == []

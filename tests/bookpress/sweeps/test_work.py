"""Points are worked off once each, whoever works at them and whatever is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.work import in_words

ROOT = Path(__file__).resolve().parents[3]
SWEEP = ["sweep", "demo/points/point", "--cores", "2"]
TWELVE = ["-p", "n=1,2,4", "-p", "seed=0..3"]


@pytest.fixture
def book(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    shutil.copy(ROOT / "Snakefile", toy.layout.root)
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    toy.add_point()
    return toy


def start(book: Any, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bookpress", *arguments]
    return subprocess.Popen(
        command, cwd=book.layout.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )


def done(book: Any, *arguments: str) -> tuple[int, str]:
    process = start(book, *arguments)
    said, _ = process.communicate(timeout=300)
    print(said)
    return process.returncode, said


def records(book: Any) -> dict[str, Path]:
    return {path.stem: path for path in (book.layout.sweep("demo/points/point") / "points").glob("*.json")}


def table(book: Any) -> bytes:
    path: Path = book.layout.sweep("demo/points/point") / "table.csv"
    return path.read_bytes()


def test_a_sweep_makes_each_point_once_and_gathers_a_table_and_a_picture(book: Any) -> None:
    code, said = done(book, *SWEEP, "-p", "n=1,2", "-p", "seed=0..1")
    assert (code, len(records(book))) == (0, 4)
    assert "4 of 4 done" in said
    assert "loss against n" in said
    assert table(book) == b"n,seed,loss,total\n1,0,1.0,3\n1,1,2.0,3\n2,0,0.5,3\n2,1,1.5,3\n"
    folder = book.layout.sweep("demo/points/point")
    assert (folder / "table.parquet").is_file()
    assert "<svg" in (folder / "picture.svg").read_text()
    record = PointRecord.read(folder / "points" / "n=1,seed=0.json")
    assert record.seconds > 0
    assert record.memory_mb
    assert record.environment["device"] == "CPU"
    made = {path: path.stat().st_mtime_ns for path in records(book).values()}

    code, said = done(book, *SWEEP, "-p", "n=1,2,3", "-p", "seed=0..1")
    assert (code, len(records(book))) == (0, 6)
    assert "4 of 6 points are there, 2 to be made" in said
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert list((book.layout.build / "plans").iterdir()) == [book.layout.plan("locks")]


def test_the_seconds_of_a_point_are_those_of_the_processor(book: Any) -> None:
    source = book.layout.sources / "demo" / "points" / "point.py"
    source.write_text(source.read_text().replace("# %%\nend =", "# %%\ntime.sleep(1.5)\nend ="))
    assert done(book, *SWEEP, "-p", "n=1", "-p", "seed=0", "-p", "wait=0.3")[0] == 0
    [one] = records(book).values()
    assert 0.3 <= PointRecord.read(one).seconds < 1.5


def test_bad_axes_are_refused_before_anything_is_begun(book: Any) -> None:
    for axes, said in ((["m=1"], "no parameter 'm'"), (["n=0"], "out of its range"), (["n="], "has no values")):
        code, told = done(book, *SWEEP, *(part for axis in axes for part in ("-p", axis)))
        assert code == 2
        assert said in told
    assert not (book.layout.build / "plans").exists()


def test_points_that_fail_are_named_and_the_others_kept(book: Any) -> None:
    code, said = done(book, *SWEEP, "-p", "ill=no,fails,killed", "-p", "n=3,4")
    assert (code, len(records(book))) == (1, 2)
    last = said.strip().splitlines()[-1]
    assert "4 points failed, the others are kept" in last
    assert all(f"ill={ill},n={n}" in last for ill in ("fails", "killed") for n in (3, 4))
    assert "ValueError: it fails" in " ".join(said.split())
    assert "the kernel died" in " ".join(said.split())
    assert len(table(book).splitlines()) == 3


def test_a_budget_ends_a_sweep_between_points(book: Any) -> None:
    code, said = done(book, *SWEEP, *TWELVE, "-p", "wait=2.0", "--hours", "0.004")
    count = len(records(book))
    assert code == 0
    assert 0 < count < 12
    assert f"{count} points made, {12 - count} left" in said


def test_two_sweeps_at_once_share_the_points(book: Any) -> None:
    both = [start(book, *SWEEP, *TWELVE, "-p", "wait=0.5") for _ in range(2)]
    said = [process.communicate(timeout=300)[0] for process in both]
    print(*said)
    assert [process.returncode for process in both] == [0, 0]
    made = [int(text.strip().splitlines()[-1].split()[0]) for text in said]
    assert len(records(book)) == 12
    assert sum(made) == 12


def test_a_sweep_that_is_killed_goes_on_from_there(book: Any) -> None:
    assert done(book, *SWEEP, *TWELVE)[0] == 0
    undisturbed = table(book)
    shutil.rmtree(book.layout.build)
    for seconds in (3.0, 5.0, 8.0):
        process = start(book, *SWEEP, *TWELVE)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    before = {path: path.stat().st_mtime_ns for path in records(book).values()}
    assert done(book, *SWEEP, *TWELVE)[0] == 0
    assert table(book) == undisturbed
    assert {path: path.stat().st_mtime_ns for path in before} == before
    left = [path for path in book.layout.build.rglob("*") if path.name.endswith(".aside")]
    assert left == []
    assert list((book.layout.build / "plans").iterdir()) == [book.layout.plan("locks")]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4, "4 s"), (100, "1.7 min"), (5400, "1.5 h"), (40000, "11 h"), (2e5, "2.3 days"), (4e8, "13 years")],
)
def test_a_span_of_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words

"""The points of full-size figures from the command line: listed, worked off, made again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bookpress.sweeps.points import PointRecord

ROOT = Path(__file__).resolve().parents[3]
SWEEP = """\
demo/good:
  sweeps:
    - title: the only part
      notebook: demo/points/point
      axes: {n: [1, 2]}
      seconds: "2"
      across: n
      number: loss
"""


@pytest.fixture
def book(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    shutil.copy(ROOT / "Snakefile", toy.layout.root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    toy.add("good")
    toy.add_point()
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text(SWEEP)
    return toy


def points(book: Any, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "bookpress", "points", *arguments]
    done = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout + done.stderr


def test_points_are_listed_worked_off_and_made_again(book: Any) -> None:
    code, said = points(book)
    assert (code, said) == (
        0,
        "demo/good, the only part\n  0 of 2 points, none measured; missing: 2: 4 s, planned\n",
    )
    code, said = points(book, "--again")
    assert (code, said) == (0, "no point on record is of the present code\n")
    code, said = points(book, "--work", "--cores", "2")
    assert code == 0
    assert said.endswith("2 points made\n")
    assert "2 of 2 points" in points(book)[1]
    assert points(book, "--work") == (0, "no point for the device 'cpu' is missing\n")
    code, said = points(book, "--again", "--cores", "2")
    assert (code, said.splitlines()[-1]) == (0, "2 of 2 recorded points of the present code come out again")

    path = book.layout.points("demo/good") / "n=1.json"
    record = PointRecord.read(path)
    record.model_copy(update={"numbers": {"loss": 5.0}}).write(path)
    code, said = points(book, "--again", "--cores", "2")
    assert code == 1
    assert "demo/good, the only part, n=1: loss is 1 today, 5 on record" in said


def test_wrong_usage_is_told(book: Any) -> None:
    assert points(book, "--work", "--again")[0] == 2
    code, said = points(book, "--device", "tpu")
    assert code == 2
    assert "--device is 'cpu' or 'cuda', got 'tpu'" in said

"""The server that runs tests and pages: how a run ends, and what a page is held against."""

import signal
from pathlib import Path
from typing import Any

import IPython.display
import pytest

from bookpress import mutant_tests
from bookpress.laptop_values import keep_values
from bookpress.mutant_tests import run, run_page
from bookpress.notebooks.run import run as run_notebook


@pytest.fixture
def page(toy: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A page of a toy book, whose values are kept."""
    name = toy.add("good")
    keep_values(toy.layout, [run_notebook(name, layout=toy.layout)])
    monkeypatch.chdir(toy.layout.root)
    monkeypatch.setattr(IPython.display, "display", None)  # put back after the test
    return f"notebooks/{name}.py"


def test_a_page_that_finds_what_is_kept_passes(page: str) -> None:
    run_page(page)


def test_a_page_that_finds_another_value_fails_though_its_checks_pass(page: str) -> None:
    text = Path(page).read_text()
    Path(page).write_text(text.replace("1 / 3", "1 / 4"))
    assert Path(page).read_text() != text
    with pytest.raises(AssertionError, match=r"demo/lemma-1: one is less: 0\.25, kept 0\.3333"):
        run_page(page)


def test_a_program_that_settles_nothing_is_held_against_nothing(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print(1)\n")
    run_page(str(program))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("assert 1 + 1 == 2\n", 0),
        ("assert 1 + 1 == 3\n", 1),
        ("import sys\nsys.exit(3)\n", 3),
        ("while True:\n    pass\n", -signal.SIGXCPU),
        ("import time\ntime.sleep(60)\n", None),
    ],
)
def test_how_a_run_ends(text: str, code: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutant_tests, "PATIENCE", 60 if code else 3)
    program = tmp_path / "program.py"
    program.write_text(text)
    request = {"notebook": str(program), "seconds": 1, "output": str(tmp_path / "output"), "kept": True}
    assert run(request) == code

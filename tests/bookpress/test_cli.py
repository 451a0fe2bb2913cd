"""The command line as a stranger meets it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookpress import cli

Book = Callable[..., tuple[int, str]]


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Book:
    """Runs ``book`` with arguments in this process; its exit code and all that it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["book", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, "".join(capsys.readouterr())

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_run_show_and_list_of_a_good_notebook(toy: Any, book: Book) -> None:
    toy.add("good")
    for arguments, words in (
        ("show demo/good", "not run yet at profile 'laptop': `book run demo/good`"),
        ("list", "not run"),
        ("run demo/good", "four is less: 4 not < 3"),
        ("show demo/good", "at least 1"),
        ("list", "1 holds"),
    ):
        code, printed = book(*arguments.split())
        assert code == 0
        assert words in printed


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("run demo/good -p n=0", 3, "n=0 is out of its range: at least 1"),
        ("run demo/good -p n", 3, "key=value"),
        ("run demo/nowhere", 2, "there is no notebook 'demo/nowhere'"),
        ("show demo/goood", 2, "there is no notebook 'demo/goood'; nearest: demo/good"),
        ("run demo/good --profile desk", 2, "there are: laptop"),
        ("new demo lemma-9", 8, "nearest"),
        ("build --cores 0", 2, "whole number from 1 on"),
        ("build --cores 1.5", 2, "whole number from 1 on"),
        ("keep demo/good", 2, "no full-size record of demo/good"),
    ],
)
def test_each_way_to_fail_has_its_exit_code(toy: Any, book: Book, arguments: str, code: int, words: str) -> None:
    toy.add("good")
    ended, printed = book(*arguments.split())
    assert ended == code
    assert words in " ".join(printed.replace("│", "").split())


def test_a_damaged_file_is_named_in_one_line(toy: Any, book: Book) -> None:
    toy.add("good")
    toy.layout.record("demo/good", "laptop").parent.mkdir(parents=True)
    toy.layout.record("demo/good", "laptop").write_text("{")
    toy.layout.executed("demo/good", "laptop").write_text("{}")
    code, printed = book("list")
    assert code == 9
    assert "good.json is damaged" in printed
    toy.layout.source("demo/good").write_bytes(b"\xff")
    assert book("show", "demo/good") == (2, "usage: good.py, line 1: not UTF-8 (byte 0xff)\n")


def test_a_new_notebook_is_paired_and_drift_is_named(toy: Any, book: Book) -> None:
    assert book("new", "demo", "lemma-5")[0] == 0
    assert book("pair", "--check")[0] == 0
    toy.add("good")
    code, printed = book("pair", "--check")
    assert (code, "demo/good" in printed) == (4, True)
    assert [book("pair")[0], book("pair", "--check")[0]] == [0, 0]


def test_a_full_size_record_is_kept(toy: Any, book: Book) -> None:
    toy.add("good")
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text("demo/good: {parameters: {n: 2}, cost: A second.}\n")
    assert "`book run demo/good --profile full`" in book("show", "demo/good", "--profile", "full")[1]
    assert book("run", "demo/good", "--profile", "full")[0] == 0
    assert book("keep", "demo/good")[0] == 0
    assert json.loads(toy.layout.full_size_record("demo/good").read_text())["parameters"] == {"n": 2}


@pytest.mark.parametrize("name", ["../../outside/victim", "ABSOLUTE"])
@pytest.mark.parametrize("command", ["run", "show", "keep"])
def test_a_name_that_is_not_listed_is_refused_and_nothing_is_touched(
    toy: Any, book: Book, command: str, name: str
) -> None:
    toy.add("good")
    victim = toy.layout.build / "laptop" / "../../outside/victim.failed.txt"
    victim.parent.resolve().mkdir(parents=True)
    victim.resolve().write_text("mine")
    before = contents(toy.layout.root)
    code, printed = book(command, name.replace("ABSOLUTE", str(toy.layout.source("demo/good").with_suffix(""))))
    assert code == 2
    assert re.fullmatch(r"usage: there is no notebook [^\n]*\n", printed)
    assert contents(toy.layout.root) == before


@pytest.mark.parametrize("profile", ["desk", "../x", ""])
@pytest.mark.parametrize("command", ["run demo/good", "show demo/good", "list"])
def test_a_profile_that_is_not_listed_is_refused_and_nothing_is_touched(
    toy: Any, book: Book, command: str, profile: str
) -> None:
    toy.add("good")
    before = contents(toy.layout.root)
    code, printed = book(*command.split(), "--profile", profile)
    assert code == 2
    assert re.fullmatch(r"usage: no profile [^\n]* \(there are: laptop\)\n", printed)
    assert contents(toy.layout.root) == before


def test_an_output_is_in_the_callers_folder(
    toy: Any, book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.add("good")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert book("run", "demo/good", "-p", "n=2", "-o", "mine.ipynb")[0] == 0
    assert {path.name for path in Path.cwd().iterdir()} == {"mine.ipynb", "mine.json"}


def test_without_a_clone_every_command_says_so_and_writes_nothing(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKPRESS_ROOT", str(tmp_path))
    for command in ("list", "run a/b", "show a/b", "new a b", "pair", "export", "keep a/b", "bind", "build", "points"):
        code, printed = book(*command.split())
        assert code == 2
        assert re.fullmatch(r"usage: there is no book at [^\n]*\n", printed)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_gets_plain_whole_lines_whatever_the_environment_says(toy: Any) -> None:
    name = toy.add("good", name="a_notebook_with_a_name_that_is_longer_than_a_narrow_terminal")
    settings = os.environ | {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "true", "COLUMNS": "40"}
    listed, refused, usage = (
        subprocess.run(
            [sys.executable, "-m", "bookpress.cli", *arguments],
            capture_output=True,
            text=True,
            env=settings,
            check=False,
        )
        for arguments in (["list"], ["run", "demo/none"], ["run"])
    )
    assert name in listed.stdout
    assert re.fullmatch(r"usage: there is no notebook 'demo/none'[^\x1b\n]*\n", refused.stderr)
    assert "\x1b" not in listed.stdout + usage.stderr
    assert "Missing argument" in usage.stderr


@pytest.mark.parametrize(
    ("source", "options", "code", "words"),
    [
        ("def f(a):\n    return a * a\n", "-o {}/square.json", 0, "wrote"),
        ("\ufeffdef f(a):\r\n\treturn a * a\r\n", "-o {}/square.json", 0, "wrote"),
        ("def f(a):\n    return a * a\n", "--target fleq --bits 16 -o {}/square.json", 0, "wrote"),
        ("def f(a):\n    return a ** 2\n", "-o {}/square.json", 2, "line 2: 'a ** 2' has another operator"),
        ("def f(a):\n    return a * a\n", "-o {}/square.txt", 2, "is written as .json, got .txt"),
        ("def f(a):\n    return a * a\n", "", 2, "-o FILE"),
    ],
)
def test_compile_writes_a_prompt_or_names_the_line(
    tmp_path: Path, book: Book, source: str, options: str, code: int, words: str
) -> None:
    file = tmp_path / "square.py"
    file.write_text(source)
    ended, printed = book("compile", str(file), *options.format(tmp_path).split())
    assert ended == code
    assert words in printed

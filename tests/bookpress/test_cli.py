"""The command line as a stranger meets it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bookpress import cli


def book(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of ``book ARGUMENTS``."""
    monkeypatch.setattr(sys, "argv", ["book", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_run_show_list_and_verdicts_of_a_good_notebook(
    toy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.add("good")
    assert book("show", "demo/good", monkeypatch=monkeypatch) == 0
    assert "not run yet" in capsys.readouterr().out
    assert book("list", monkeypatch=monkeypatch) == 0
    assert "not run" in capsys.readouterr().out
    assert book("run", "demo/good", monkeypatch=monkeypatch) == 0
    assert "four is less: 4 < 3" in capsys.readouterr().out
    assert book("show", "demo/good", monkeypatch=monkeypatch) == 0
    assert "at least 1" in capsys.readouterr().out
    assert book("list", monkeypatch=monkeypatch) == 0
    listed = capsys.readouterr().out
    assert "demo/good" in listed
    assert "not run" not in listed
    assert book("list", monkeypatch=monkeypatch) == 0
    assert "1 holds" in capsys.readouterr().out


def test_each_way_to_fail_has_its_exit_code(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.add("good")
    monkeypatch.chdir(tmp_path)
    assert book("run", "demo/good", "-p", "n=0", monkeypatch=monkeypatch) == 3
    assert "n=0 is out of its range: at least 1" in capsys.readouterr().err
    assert book("run", "demo/good", "-p", "n", monkeypatch=monkeypatch) == 3
    assert "key=value" in capsys.readouterr().err
    assert book("run", "demo/nowhere", monkeypatch=monkeypatch) == 2
    assert "there is no notebook 'demo/nowhere'" in capsys.readouterr().err
    assert book("run", "demo/good", "--profile", "desk", monkeypatch=monkeypatch) == 2
    assert "there are: laptop" in capsys.readouterr().err
    assert book("new", "demo", "lemma-9", monkeypatch=monkeypatch) == 8
    assert "nearest" in capsys.readouterr().err


def test_digits_for_a_parameter_that_is_text_are_text(
    toy: Any, edit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = toy.layout.source(toy.add("good"))
    edit(source, "n = 3  # n, at least 1", 'n = 3  # n, at least 1\nword = "101"  # digits')
    edit(source, "require(n=(n, 1, None))", 'require(n=(n, 1, None), digits=(set(word) <= {"0", "1"}, [True]))')
    out = str(toy.layout.root / "own.ipynb")
    assert book("run", "demo/good", "-p", "word=0110", "-o", out, monkeypatch=monkeypatch) == 0
    assert book("run", "demo/good", "-p", "word=11", "-o", out, monkeypatch=monkeypatch) == 0
    assert json.loads(Path(out).with_suffix(".json").read_text())["parameters"]["word"] == "11"


def test_new_writes_a_notebook_that_says_what_is_missing(
    toy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert book("new", "demo", "lemma-5", monkeypatch=monkeypatch) == 0
    assert toy.layout.source("demo/lemma_5").with_suffix(".ipynb").is_file()
    assert book("new", "demo", "lemma-5", monkeypatch=monkeypatch) == 2
    assert "there already" in capsys.readouterr().err
    assert book("pair", "--check", monkeypatch=monkeypatch) == 0
    assert book("run", "demo/lemma_5", monkeypatch=monkeypatch) == 4
    assert "a control did not fail" in capsys.readouterr().err


def test_pairs_are_written_without_outputs_and_drift_is_told(
    toy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.add("good")
    assert book("pair", "--check", monkeypatch=monkeypatch) == 4
    assert "demo/good" in capsys.readouterr().err
    assert book("pair", monkeypatch=monkeypatch) == 0
    assert book("pair", "--check", monkeypatch=monkeypatch) == 0
    pair = json.loads(toy.layout.source("demo/good").with_suffix(".ipynb").read_text())
    assert all(not cell.get("outputs") for cell in pair["cells"])


def test_a_full_size_record_is_kept(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.add("good")
    assert book("keep", "demo/good", monkeypatch=monkeypatch) == 2
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text("demo/good: {parameters: {n: 2}, cost: A second.}\n")
    assert book("run", "demo/good", "--profile", "full", monkeypatch=monkeypatch) == 0
    assert book("keep", "demo/good", monkeypatch=monkeypatch) == 0
    assert json.loads(toy.layout.full_size_record("demo/good").read_text())["parameters"] == {"n": 2}


@pytest.mark.parametrize("cores", ["0", "-1", "two", "1.5", ""])
def test_no_number_of_cores_is_wrong_usage(
    cores: str, toy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert book("build", "--cores", cores, monkeypatch=monkeypatch) == 2
    assert "whole number from 1 on" in " ".join(capsys.readouterr().err.replace("│", "").split())


def test_help_names_the_commands_and_the_exit_codes() -> None:
    program = Path(sys.executable).with_name("book")
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    for word in ("list", "run", "show", "new", "pair", "bind", "keep", "Exit codes"):
        assert word in done.stdout


def test_an_expected_failure_is_one_line_whatever_it_is(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.add("good")
    assert book("show", "demo/goood", monkeypatch=monkeypatch) == 2
    assert "there is no notebook 'demo/goood'; nearest: demo/good" in capsys.readouterr().err
    toy.layout.record("demo/good", "laptop").parent.mkdir(parents=True)
    toy.layout.record("demo/good", "laptop").write_text("{")
    toy.layout.executed("demo/good", "laptop").write_text("{}")
    assert book("list", monkeypatch=monkeypatch) == 9
    assert "good.json is damaged" in capsys.readouterr().err
    toy.layout.source("demo/good").write_bytes(b"\xff")
    assert book("show", "demo/good", monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err == "usage: good.py, line 1: not UTF-8 (byte 0xff)\n"


@pytest.mark.parametrize("name", ["../../outside/victim", "ABSOLUTE"])
@pytest.mark.parametrize("command", ["run", "show", "keep"])
def test_a_name_that_is_not_listed_is_refused_and_nothing_is_touched(
    toy: Any, command: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.add("good")
    victim = toy.layout.build / "laptop" / "../../outside/victim.failed.txt"
    victim.parent.resolve().mkdir(parents=True)
    victim.resolve().write_text("mine")
    before = contents(toy.layout.root)
    name = name.replace("ABSOLUTE", str(toy.layout.source("demo/good").with_suffix("")))
    assert book(command, name, monkeypatch=monkeypatch) == 2
    assert re.fullmatch(r"usage: there is no notebook [^\n]*\n", capsys.readouterr().err)
    assert contents(toy.layout.root) == before


@pytest.mark.parametrize("profile", ["desk", "../x", ""])
@pytest.mark.parametrize("command", [("run", "demo/good"), ("show", "demo/good"), ("list",)])
def test_a_profile_that_is_not_listed_is_refused_and_nothing_is_touched(
    toy: Any,
    command: tuple[str, ...],
    profile: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    toy.add("good")
    before = contents(toy.layout.root)
    assert book(*command, "--profile", profile, monkeypatch=monkeypatch) == 2
    assert re.fullmatch(r"usage: no profile [^\n]* \(there are: laptop\)\n", capsys.readouterr().err)
    assert contents(toy.layout.root) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_output_is_in_the_callers_folder(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.add("good")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert book("run", "demo/good", "-p", "n=2", "-o", "mine.ipynb", monkeypatch=monkeypatch) == 0
    assert {path.name for path in Path.cwd().iterdir()} == {"mine.ipynb", "mine.json"}


def test_without_a_clone_every_command_says_so_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKPRESS_ROOT", str(tmp_path))
    for command in (
        ["list"],
        ["run", "a/b"],
        ["show", "a/b"],
        ["new", "a", "b"],
        ["pair"],
        ["export"],
        ["keep", "a/b"],
        ["bind"],
        ["build"],
        ["points"],
    ):
        assert book(*command, monkeypatch=monkeypatch) == 2
        assert re.fullmatch(r"usage: there is no book at [^\n]*\n", capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("settings", [{}, {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "true", "COLUMNS": "40"}])
def test_a_pipe_gets_plain_whole_lines_whatever_the_environment_says(toy: Any, settings: dict[str, str]) -> None:
    name = toy.add("good", name="a_notebook_with_a_name_that_is_longer_than_a_narrow_terminal")
    plain = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "GITHUB_ACTIONS", "COLUMNS")}
    listed, refused, usage = (
        subprocess.run(
            [sys.executable, "-m", "bookpress.cli", *arguments],
            capture_output=True,
            text=True,
            env=plain | settings,
            check=False,
        )
        for arguments in (["list"], ["run", "demo/none"], ["run"])
    )
    assert name in listed.stdout
    assert re.fullmatch(r"usage: there is no notebook 'demo/none'[^\x1b\n]*\n", refused.stderr)
    assert "\x1b" not in listed.stdout + usage.stderr
    assert "Missing argument" in usage.stderr

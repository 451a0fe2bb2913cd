"""A new notebook has the form of a page, passes the linter, and lacks evidence alone."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bookpress.claims.registry import Registry
from bookpress.layout import Layout
from bookpress.notebooks.pair import unpaired, write_skeleton
from bookpress.notebooks.run import Exit, RunFailed, run
from bookpress.notebooks.source import Notebook, SourceError
from page_rules import page_faults

ROOT = Layout.here().root


def ruff(*arguments: str, path: Path) -> str:
    """What ruff says of a notebook, under the rules of the house for notebooks."""
    command = ["ruff", *arguments, "--stdin-filename", str(ROOT / "notebooks" / "demo" / path.name), "-"]
    done = subprocess.run(command, input=path.read_text(), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_a_skeleton_is_a_page_that_passes_the_linter(toy: Any) -> None:
    path = write_skeleton("demo", "lemma-1", toy.layout, slug="robustness")
    assert path == toy.layout.source("demo/lemma_1_robustness")
    assert ruff("check", path=path) == ""
    assert ruff("format", "--check", path=path) == ""
    assert unpaired(toy.layout) == {}
    entry = Registry.load(toy.layout).entry("demo/lemma-1")
    assert page_faults(Notebook("demo/lemma_1_robustness", toy.layout).source, [entry]) == []
    assert "$1 < n$\n" in path.read_text()


def test_a_skeleton_fails_for_want_of_evidence_alone(toy: Any) -> None:
    write_skeleton("demo", "lemma-1", toy.layout)
    with pytest.raises(RunFailed, match="a control did not fail") as failure:
        run("demo/lemma_1", layout=toy.layout)
    assert failure.value.code is Exit.FAILED_CHECK


def test_a_name_taken_or_not_a_name_is_refused(toy: Any) -> None:
    write_skeleton("demo", "lemma-1", toy.layout)
    with pytest.raises(SourceError, match="there already"):
        write_skeleton("demo", "lemma-1", toy.layout)
    with pytest.raises(SourceError, match="lower case"):
        write_skeleton("demo", "lemma-1", toy.layout, slug="With Error")

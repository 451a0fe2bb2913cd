"""The command ``book`` in the toy book, in a process as a reader starts it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
Book = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Book:
    """Starts ``book`` with arguments, in the root of the toy book or in another folder.

    ``program`` is what Python is given in its place.
    """
    shutil.copy(ROOT / "Snakefile", toy.layout.root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    toy.add_point()

    def begin(
        *arguments: str, folder: Path = toy.layout.root, program: tuple[str, str] = ("-m", "bookpress.cli")
    ) -> "subprocess.Popen[str]":
        command = [sys.executable, *program, *arguments]
        return subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    return begin


@pytest.fixture
def book(start: Book) -> Callable[..., tuple[int, str]]:
    """Runs ``book`` with arguments and returns its exit code and all that it printed."""

    def run(*arguments: str, **options: Any) -> tuple[int, str]:
        process = start(*arguments, **options)
        printed, _ = process.communicate(timeout=900)  # a busy machine is no failure
        print(printed)
        return process.returncode, printed

    return run

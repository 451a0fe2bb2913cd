"""Writing files whole, and naming content by a short hash."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

#: How the names end and begin of what is there only while something is written or run.
_ASIDE = ".aside"
SCRATCH = "book"


def digest(*parts: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A short hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_whole(path: Path, text: str) -> None:
    """Write a file aside and rename it, so that a reader finds the old one or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}{_ASIDE}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def remove_leftovers(folders: Iterable[Path]) -> list[Path]:
    """Remove what processes that were killed had written aside, in these folders and in the one for temporary files."""
    left = [path for folder in folders for path in folder.rglob(f".*{_ASIDE}") if not _lives(path.stem)]
    left += [path for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}-*-*") if not _lives(path.name)]
    for path in left:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return left


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one run, named so that it can be told whose it was."""
    return tempfile.TemporaryDirectory(prefix=f"{SCRATCH}-{os.getpid()}-")


def _lives(name: str) -> bool:
    """Whether the process lives whose number is in a name: the last one behind a dot or between dashes."""
    number = re.search(rf"(?:^{SCRATCH}-|\.)(\d+)(?:-\w+)?$", name)
    return number is not None and psutil.pid_exists(int(number[1]))

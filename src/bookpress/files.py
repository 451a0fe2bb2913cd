"""Reading the YAML that people write, writing files whole, and naming content by a short hash."""

import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import yaml

#: How the names end and begin of what is there only while something is written or run.
_ASIDE = ".aside"
_SCRATCH = "book"

#: Machines may share the book's folder; of another one's processes nothing is known here.
HOST = socket.gethostname().partition(".")[0]

#: The process of this machine whose it is, in such a name.
_OWNER = re.compile(rf"(?:^{_SCRATCH}-(\d+)-|\.{re.escape(HOST)}-(\d+){re.escape(_ASIDE)}$)")


def digest(*parts: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A short hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_whole(path: Path, text: str) -> None:
    """Write a text file aside and rename it, so that a reader finds the old one or the new one and nothing between."""
    write_bytes_whole(path, text.encode())


def write_bytes_whole(path: Path, content: bytes) -> None:
    """The same for any content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = aside_of(path)
    try:
        aside.write_bytes(content)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def aside_of(path: Path) -> Path:
    """Where a file or folder is written before it takes its place; :func:`remove_leftovers` knows the name."""
    return path.with_name(f".{path.name}.{HOST}-{os.getpid()}{_ASIDE}")


def write_manifest(manifest: Path, folder: Path, files: Iterable[Path]) -> None:
    """Write the hash of every file, by its path from ``folder``."""
    hashes = {path.relative_to(folder).as_posix(): digest_of_file(path) for path in sorted(files)}
    write_whole(manifest, json.dumps(hashes, indent=1) + "\n")


def matches_manifest(manifest: Path, folder: Path) -> bool:
    """Whether every file of a manifest is in ``folder`` with the same bytes; false where there is no manifest."""
    try:
        hashes = json.loads(manifest.read_text(encoding="utf-8"))
        return all(digest_of_file(folder / name) == known for name, known in hashes.items())
    except (OSError, ValueError, AttributeError):
        return False


def remove_leftovers(folders: Iterable[Path]) -> list[Path]:
    """Remove what killed processes of this machine had written aside, here and in the folder for temporary files."""
    aside = [path for folder in folders for path in folder.rglob(f".*{_ASIDE}")]
    scratch = Path(tempfile.gettempdir()).glob(f"{_SCRATCH}-[0-9]*-*")
    left = [path for path in [*aside, *scratch] if (owner := _OWNER.search(path.name)) and _is_gone(owner)]
    for path in left:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return left


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one run, named so that it can be told whose it was."""
    return tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}-{os.getpid()}-")


def _is_gone(owner: re.Match[str]) -> bool:
    return not psutil.pid_exists(int(owner[1] or owner[2]))


class _EachKeyOnce(yaml.CSafeLoader):
    """A key that is given twice is an error, in place of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := [key for key, count in Counter(keys).items() if count > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"the key '{twice[0]}' is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> Any:
    """The content of a file, ``None`` for an empty one.

    Raises:
        yaml.YAMLError: it is not YAML, or has a key twice.
        UnicodeDecodeError: it is not UTF-8.
    """
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_EachKeyOnce)

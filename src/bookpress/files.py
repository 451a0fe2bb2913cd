"""Reading the YAML that people write, writing files whole, scratch folders, and naming content by a short hash."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import yaml

#: Machines may share the book's folder; of another one's processes nothing is known here.
HOST = socket.gethostname().partition(".")[0]

#: How the names end of what is there only while a process of this machine writes or runs something.
_ASIDE = ".aside"
_OWNER = re.compile(rf"\.{re.escape(HOST)}-(\d+){re.escape(_ASIDE)}$")

#: Where scratch folders are. A socket's path has at most 107 bytes, and the reader's own folder may be deep.
SCRATCH = Path("/tmp")


def digest(*parts: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A short hash of a file's bytes; of a text, the same however its lines end."""
    content = path.read_bytes()
    if b"\r\n" in content and b"\0" not in content:
        content = content.replace(b"\r\n", b"\n")
    return hashlib.sha256(content).hexdigest()[:16]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file aside and rename it, so that a reader finds the old one or the new one and nothing between.

    Raises:
        OSError: it cannot be written; the error names ``path``.
    """
    aside = aside_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        aside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def aside_of(path: Path) -> Path:
    """The path under which a file or folder is written first; :func:`remove_leftovers` knows the name."""
    return path.with_name(f".{path.name}.{HOST}-{os.getpid()}{_ASIDE}")


@contextmanager
def held(lock: Path, refusal: Exception) -> Iterator[None]:
    """Hold a lock file for as long as the block or this process lives; ``refusal`` is raised where another holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal from None
        yield


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
    """Remove what killed processes of this machine had written aside, and their scratch folders."""
    aside = [path for folder in folders for path in folder.rglob(f".*{_ASIDE}")]
    owners = {path: _OWNER.search(path.name) for path in [*aside, *SCRATCH.glob(f"book-*{_ASIDE}")]}
    left = [path for path, owner in owners.items() if owner and not psutil.pid_exists(int(owner[1]))]
    for path in left:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return left


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one run, named by its process, and short enough for the sockets in it."""
    return tempfile.TemporaryDirectory(prefix="book-", suffix=f".{HOST}-{os.getpid()}{_ASIDE}", dir=SCRATCH)


class _Strict(yaml.CSafeLoader):
    """A key that is given twice is an error, and so is a number that YAML 1.1 reads otherwise than Python, as 010."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := [key for key, count in Counter(keys).items() if count > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"the key '{twice[0]}' is given twice", node.start_mark)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if not re.fullmatch(r"[-+]?(0|[1-9][0-9_]*)", node.value):
            words = f"{node.value!r} is no decimal number; a text is written in quotes"
            raise yaml.constructor.ConstructorError(None, None, words, node.start_mark)
        return super().construct_yaml_int(node)


_Strict.add_constructor("tag:yaml.org,2002:int", _Strict.construct_yaml_int)
# YAML 1.1 takes 1e-3 for a text, because it has no point.
_Strict.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), [*"-+0123456789"])


def load_yaml(path: Path) -> Any:
    """The content of a file, ``None`` for an empty one.

    Raises:
        yaml.YAMLError: it is not YAML, has a key twice, or a number such as 010.
        UnicodeDecodeError: it is not UTF-8.
    """
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Strict)

"""Real text without a network: the sources of Python's standard library, some twelve million characters.

They are code with English in it, and stand in for OpenWebText in language models and for Wikipedia in contexts.
"""

import hashlib
import sysconfig
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from attention_theory.validation import ParameterError, refuse_unless, require

#: SHA-256 of :func:`library_sources` with Python 3.11.7, on which the book's numbers were taken.
LIBRARY_SHA256 = "349e2696655bacb2e299ca8790f7e73d2a9976415e60fec8b0777365deb1b12a"

#: Folders that are installed or left out at a packager's choice, and the files that the build of Python writes.
_LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages", "lib2to3", "__pycache__"}
_WRITTEN_BY_THE_BUILD = ("_sysconfigdata", "sitecustomize", "usercustomize")


def library_sources(leave_out: Collection[str] = ()) -> list[str]:
    """The modules of the standard library, in the order of their paths, without its tests.

    The text changes a little with every release of Python; :func:`text_hash` tells whether it is the pinned one.

    Args:
        leave_out: names of further folders that are left out.

    Raises:
        ParameterError: this Python came without its sources.
    """
    root = Path(sysconfig.get_path("stdlib"))
    paths = (path.relative_to(root) for path in root.rglob("*.py"))
    kept = sorted(path.as_posix() for path in paths if _is_kept(path) and not set(leave_out) & set(path.parts))
    if not kept:
        raise ParameterError(f"the standard library must have its sources, got none in {root.name}")
    return [(root / path).read_text(encoding="utf-8", errors="replace") for path in kept]


def _is_kept(path: Path) -> bool:
    written = path.name.startswith(_WRITTEN_BY_THE_BUILD)
    return not (written or _LEFT_OUT & set(path.parts) or path.parts[0].startswith("config-"))


def text_hash(documents: Sequence[str]) -> str:
    """SHA-256 of documents, one after another."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(document.encode())
    return digest.hexdigest()


def ascii_documents(documents: Sequence[str], validation_every: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Documents as tokens of 128 kinds, the characters of ASCII; any other character is a question mark.

    Args:
        documents: the texts, each closed by character 0.
        validation_every: every so-manieth is kept for validation, at least 2.

    Returns:
        The tokens for training and those for validation.

    Raises:
        ParameterError: too few documents for both.
    """
    require(validation_every=(validation_every, 2, None))
    refuse_unless(
        len(documents) >= validation_every,
        f"documents must be at least validation_every, {validation_every}, got {len(documents)}",
    )
    encoded = [np.frombuffer(document.encode("ascii", "replace") + b"\0", np.uint8) for document in documents]
    kept = encoded[validation_every - 1 :: validation_every]
    rest = [one for number, one in enumerate(encoded) if number % validation_every != validation_every - 1]
    return np.concatenate(rest), np.concatenate(kept)

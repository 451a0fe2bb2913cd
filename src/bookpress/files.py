"""Writing files whole, and naming content by a short hash."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def digest(*parts: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_whole(path: Path, text: str) -> None:
    """Write a file aside and rename it, so that a reader finds the old one or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)

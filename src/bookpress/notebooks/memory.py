"""What was read out of a text, kept between commands: a text that has not changed is not read again."""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from bookpress.files import digest, digest_of_file, write_whole
from bookpress.layout import Layout


def remembered(reader: Callable[[str], Any], text: str) -> Any:
    """What ``reader`` makes of a text, as plain data, from an earlier command that asked for it or made now.

    What it raises is not kept.
    """
    path = Layout.here().build / "memory" / digest(_version_of(reader), text)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, or damaged
        found = reader(text)
    with suppress(OSError):  # where nothing can be written, it is read again the next time
        write_whole(path, json.dumps(found))
    return found


@cache
def _version_of(reader: Callable[[str], Any]) -> tuple[str, ...]:
    """What the outcome hangs on beside the text: the reader, the code around it, the library that reads notebooks."""
    code = Path(str(sys.modules[reader.__module__].__file__))
    return reader.__qualname__, digest_of_file(code), metadata.version("jupytext"), sys.version

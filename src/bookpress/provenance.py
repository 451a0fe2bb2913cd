"""Where a run comes from: the machine, the versions, the commit."""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bookpress.layout import Layout
from bookpress.notebook import SourceError, parameters_of, read_source

#: Tells a notebook's kernel which parameters, comma by comma, a reader has set; the press sets it, empty for its own.
OWN_VARIABLE = "BOOK_OWN_PARAMETERS"


def environment() -> dict[str, str]:
    """Versions and device of this process. A GPU counts only once something has been placed on it."""
    found = {"python": platform.python_version(), "device": "CPU"}
    found |= {name: version(name) for name in ("torch", "numpy")}
    found["processor"] = processor()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found["device"] = torch.cuda.get_device_name()
    return found


def processor() -> str:
    """The kind of processor, which decides in which order libraries sum, and so the last digits of what they find."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines())
    told = {name.strip(): value.strip() for name, _, value in lines}
    numbers = ", ".join(f"{name.removeprefix('cpu ')} {told[name]}" for name in ("cpu family", "model") if name in told)
    name = told.get("model name", platform.machine())
    return f"{name} ({numbers})" if numbers else name


def commit_of(root: Path) -> str:
    """The commit that is checked out, marked where the tree differs from it; empty outside a repository."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--match", "no-tag"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def own_parameters(notebook: str | None) -> list[str]:
    """Which parameters of the running notebook are not the book's own.

    The press says it. Under plain Jupyter or papermill the names of the parameters cell are looked up in the session.
    """
    told = os.environ.get(OWN_VARIABLE)
    if told is not None:
        return [name for name in told.split(",") if name]
    session = _session()
    if notebook is None or session is None:
        return []
    try:
        known = parameters_of(read_source(Layout.here().source(notebook)), notebook)
    except SourceError:
        return []
    return [one.name for one in known if session.get(one.name, one.default) != one.default]


def _session() -> dict[str, Any] | None:
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    return None if shell is None else shell.user_ns

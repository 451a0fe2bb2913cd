"""Where a run comes from: the machine, the versions, the commit."""

import ast
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bookpress.layout import Layout

#: Tells a notebook's kernel which parameters, comma by comma, a reader has set; the press sets it, empty for its own.
OWN_VARIABLE = "BOOK_OWN_PARAMETERS"

_PARAMETERS = re.compile(r'^# %%.*tags=\[.*"parameters".*\].*\n((?:(?!# %%).*\n?)*)', re.MULTILINE)


def environment() -> dict[str, str]:
    """Versions and device of this process. A GPU counts only once something has been placed on it."""
    torch = sys.modules.get("torch")
    on_gpu = torch is not None and torch.cuda.is_initialized()
    return {
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name() if torch is not None and on_gpu else "CPU",
        "torch": version("torch"),
        "numpy": version("numpy"),
        "processor": processor(),
    }


def processor() -> str:
    """The kind of processor, which decides in which order libraries sum, and so the last digits of what they find."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    kept = [name for name in ("cpu family", "model") if name in fields]
    numbers = ", ".join(f"{name.removeprefix('cpu ')} {fields[name]}" for name in kept)
    name = fields.get("model name", platform.machine())
    return f"{name} ({numbers})" if numbers else name


def commit_of(root: Path) -> str:
    """The commit that is checked out in ``root``, marked where the tree differs from it; empty where it is unknown.

    A repository around the root is another one, and so is that of a hook of git which has started this process.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--git-dir", str(root / ".git"), "--work-tree", str(root), "describe", "--always", "--dirty"]
    command += ["--abbrev=12", "--match", "no-tag"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own, cwd=root)
    return done.stdout.strip() if done.returncode == 0 else ""


def own_parameters(notebook: str | None) -> list[str]:
    """Which parameters of the running notebook are not the book's own.

    The press says it. Under plain Jupyter or papermill the names of the parameters cell are looked up in the session.
    """
    named = os.environ.get(OWN_VARIABLE)
    if named is not None:
        return [name for name in named.split(",") if name]
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if notebook is None or shell is None:
        return []
    defaults = _defaults(Layout.here().source(notebook))
    return [name for name, default in defaults.items() if shell.user_ns.get(name, default) != default]


def _defaults(source: Path) -> dict[str, Any]:
    """What the parameters cell of a percent-format source sets; nothing where it has none that can be read."""
    try:
        cell = _PARAMETERS.search(source.read_text(encoding="utf-8"))
        lines = ast.parse(cell[1] if cell else "").body
        return {line.targets[0].id: ast.literal_eval(line.value) for line in lines}  # type: ignore[attr-defined]
    except (OSError, ValueError, SyntaxError, AttributeError):
        return {}

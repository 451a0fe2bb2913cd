"""Where a run comes from: the machine, the versions, the commit."""

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path


def environment() -> dict[str, str]:
    """Versions and device of this process. A GPU counts only once something has been placed on it."""
    found = {"python": platform.python_version(), "device": "CPU"}
    found |= {name: version(name) for name in ("torch", "numpy")}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found["device"] = torch.cuda.get_device_name()
    return found


def commit_of(root: Path) -> str:
    """The commit that is checked out, marked where the tree differs from it; empty outside a repository."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--match", "no-tag"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""

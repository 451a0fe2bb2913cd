"""What a notebook runs on."""

import platform
import sys


def environment() -> dict[str, str]:
    """Versions and device of this process. A GPU counts only once something has been placed on it."""
    found = {"python": platform.python_version(), "device": "CPU"}
    for name in ("torch", "numpy"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found["device"] = torch.cuda.get_device_name()
    return found

"""Published checkpoints: a model's weights by name, and its configuration.

A checkpoint is a folder with ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, its tensors named as
the common model hubs name them.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint by name, without the prefix of the model's kind, as float32.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
    """
    if (folder / "model.safetensors").exists():
        weights = _read_safetensors(folder / "model.safetensors")
    elif (folder / "pytorch_model.bin").exists():
        weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    else:
        raise FileNotFoundError(f"no model.safetensors or pytorch_model.bin in {folder}")
    prefixes = ("vit.", "bert.", "transformer.")
    stripped = {}
    for name, value in weights.items():
        prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
        stripped[name.removeprefix(prefix)] = value.float() if value.is_floating_point() else value
    return stripped


def read_configuration(folder: Path) -> dict[str, Any]:
    """The model's configuration.

    Raises:
        FileNotFoundError: the folder has none.
    """
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    """The format: eight bytes of length, a JSON header with types, shapes and places, then the numbers."""
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    numbers = memoryview(content)[8 + length :]
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(numbers[begin:end], dtype=_TYPES[entry["dtype"]])
            weights[name] = flat.reshape(entry["shape"]).clone()
    return weights

"""Writing the safetensors format, for tests of what reads it."""

import json
from pathlib import Path

import torch

_NAMES = {torch.float32: "F32", torch.float16: "F16", torch.int64: "I64"}


def write_safetensors(path: Path, weights: dict[str, torch.Tensor]) -> None:
    header, content = {}, b""
    for name, value in weights.items():
        raw = value.contiguous().numpy().tobytes()
        header[name] = {
            "dtype": _NAMES[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [len(content), len(content) + len(raw)],
        }
        content += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)

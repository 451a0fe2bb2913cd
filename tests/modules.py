"""What the tests of torch modules share."""

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Module


def close(ours: Any, theirs: Any, atol: float = 1e-12) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


def copies(module: Module, other: Module, folder: Path) -> Iterator[Any]:
    """The module by its weights in another one, by a deep copy and by a file."""
    other.load_state_dict(module.state_dict())
    torch.save(module, folder / "module.pt")
    yield from (other, copy.deepcopy(module), torch.load(folder / "module.pt", weights_only=False))


def in_onnx(
    module: Module,
    given: tuple[Tensor, ...],
    sizes: dict[int, str] | tuple[dict[int, str], ...],
    feed: tuple[Tensor, ...],
) -> Tensor:
    """What a module, exported with some inputs and named sizes, gives for others in the ONNX runtime."""
    runtime = pytest.importorskip("onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = sizes if isinstance(sizes, tuple) else (sizes,) * len(given)
        program = torch.onnx.export(module, given, dynamo=True, dynamic_shapes=shapes, verbose=False)
    assert program is not None
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    inputs = zip(session.get_inputs(), feed, strict=True)
    (out,) = session.run(None, {one.name: value.numpy() for one, value in inputs})
    return torch.from_numpy(out)

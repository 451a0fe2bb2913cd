"""A machine read from an ONNX file and run by onnxruntime, without the layers that it was made from."""

import json
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.portable.frozen import METADATA
from attention_theory.validation import ParameterError, refuse_unless, require, require_shape


class ComputerFile:
    """One cycle of a machine as it lies in a file.

    Args:
        source: the file, or its bytes.

    Raises:
        ParameterError: a file that is no ONNX model, or a model without the description of a machine.
    """

    def __init__(self, source: Path | str | bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        try:
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no class of errors of its own
            raise ParameterError(f"source must be an ONNX model: {error}") from error
        described = self._session.get_modelmeta().custom_metadata_map
        if METADATA not in described:
            raise ParameterError(f"source must describe a machine under {METADATA!r}, it has {sorted(described)}")
        #: What :meth:`FrozenMachine.about` said of the machine.
        self.about: dict[str, Any] = json.loads(described[METADATA])

    def blank(self) -> Float[Tensor, "columns rows"]:
        """An input without a program."""
        state = torch.zeros(*self.about["state"], dtype=torch.float64, device="cpu")
        for column, row, value in self.about["blank"]:
            state[column, row] = value
        return state

    def cycle(self, state: Float[Tensor, "*programs columns rows"]) -> Float[Tensor, "*programs columns rows"]:
        """One pass, of a state or of a stack of states.

        Raises:
            ParameterError: a state of another size or type.
        """
        require_shape(state=(state, (..., *self.about["state"])))
        refuse_unless(state.dtype is torch.float64, f"state must be of type torch.float64, got {state.dtype}")
        stacked = state.reshape(-1, *state.shape[-2:]).cpu().contiguous()
        (result,) = self._session.run(None, {"state": stacked.numpy()})
        return torch.from_numpy(result).reshape(state.shape).to(state.device)

    def run(
        self, state: Float[Tensor, "*programs columns rows"], cycles: int
    ) -> Float[Tensor, "*programs columns rows"]:
        """``cycles`` passes.

        Raises:
            ParameterError: cycles below 0, or a state of another size or type.
        """
        require(cycles=(cycles, 0, None))
        for _ in range(cycles):
            state = self.cycle(state)
        return state

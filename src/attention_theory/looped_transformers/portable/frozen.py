"""A machine with its weights frozen, written as a file that needs neither this package nor torch to be run.

Two forms: ONNX, made by torch's own exporter from the layers as they are, and JSON with the plain matrices of eqs. (1a)
and (1b). Both carry what one has to know to use the machine: its sizes, where each row lies, and a blank input.
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import DenseLayer, LoopedTransformer
from attention_theory.looped_transformers.machine.summary import summarise

#: Under this name the metadata of an ONNX file hold what :meth:`FrozenMachine.about` says, as JSON.
METADATA = "machine"


@dataclass(frozen=True)
class FrozenMachine:
    """The content of a file.

    Attributes:
        name: of the kind of machine.
        transformer: the layers.
        inverse_temperature: factor on the scores, part of the file.
        sizes: what the machine was made for, by the names of its options.
        columns: where each kind of column lies, the first and the one behind the last.
        blank: an input without a program: encodings, marks, and the counter at the first instruction.
    """

    name: str
    transformer: LoopedTransformer
    inverse_temperature: float
    sizes: Mapping[str, Any]
    columns: Mapping[str, tuple[int, int]]
    blank: Float[Tensor, "columns rows"]

    def about(self) -> dict[str, Any]:
        """Sizes, numbers of parameters, places of rows and columns, and the entries of the blank input, for a file."""
        size = {name: value for name, value in asdict(summarise(self.transformer)).items() if name != "by_layer"}
        return {
            "name": self.name,
            "sizes": dict(self.sizes),
            "temperature": self.inverse_temperature,
            "of the transformer": size,
            "state": list(self.blank.shape),
            "rows": {name: [block.start, block.stop] for name, block in self.transformer.rows.blocks.items()},
            "columns": {name: list(ends) for name, ends in self.columns.items()},
            "blank": _entries(self.blank),
        }

    def json(self) -> bytes:
        """The plain matrices K, Q, V, W1, b1, W2, b2 of each layer, entry by entry, with what :meth:`about` says."""
        layers = [
            {"name": layer.name, **_matrices(dense, [head.name for head in layer.heads])}
            for layer, dense in zip(self.transformer.layers, self.transformer.dense, strict=True)
        ]
        return (json.dumps({**self.about(), "layers": layers}) + "\n").encode()

    def onnx(self) -> bytes:
        """One cycle as an ONNX model: ``state`` in and ``next`` out, (programs, columns, rows) in float64.

        The number of programs is free. It is torch's exporter that writes it; what that notes about source files is
        taken out.
        """
        layers = self.transformer.module(self.inverse_temperature).eval()
        example = self.blank.expand(3, -1, -1).clone()  # 0 and 1 would be taken for fixed sizes
        with _quiet():
            made = torch.onnx.export(
                layers,
                (example,),
                dynamo=True,
                verbose=False,
                input_names=["state"],
                output_names=["next"],
                dynamic_shapes={"state": {0: torch.export.Dim("programs")}},
            )
        assert made is not None
        model: Any = made.model_proto
        for node in model.graph.node:
            node.ClearField("metadata_props")
            node.ClearField("doc_string")
        for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
            value.ClearField("metadata_props")
        model.graph.ClearField("value_info")
        model.graph.ClearField("metadata_props")
        model.ClearField("functions")
        model.metadata_props.add(key=METADATA, value=json.dumps(self.about()))
        written: bytes = model.SerializeToString(deterministic=True)
        return written


def _matrices(layer: DenseLayer, names: Sequence[str]) -> dict[str, Any]:
    heads = [
        {"name": name, "K": _sparse(head.key), "Q": _sparse(head.query), "V": _sparse(head.value)}
        for name, head in zip(names, layer.heads, strict=True)
    ]
    plain = {"W1": _sparse(layer.w1), "W2": _sparse(layer.w2)}
    return {"heads": heads, **plain, "b1": layer.b1.tolist(), "b2": layer.b2.tolist()}


def _sparse(matrix: Float[Tensor, "some others"]) -> dict[str, Any]:
    return {"shape": list(matrix.shape), "entries": _entries(matrix)}


def _entries(matrix: Float[Tensor, "some others"]) -> list[list[float]]:
    """Row, column and value of each entry that is not zero. JSON gives back every bit of a float64."""
    places = matrix.nonzero()
    values = matrix[places[:, 0], places[:, 1]].tolist()
    return [[*place, value] for place, value in zip(places.tolist(), values, strict=True)]


@contextlib.contextmanager
def _quiet() -> Any:
    """Without the exporter's remarks on libraries that are not there."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)

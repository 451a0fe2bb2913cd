import json
from typing import Any

import onnx
import pytest
import torch

from attention_theory.looped_transformers.portable.frozen import METADATA
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import program


@pytest.fixture(scope="module")
def computer() -> FrozenSubleq:
    return FrozenSubleq(4, integers=2, instructions=4, bits=4)


@pytest.fixture(scope="module")
def model(computer: FrozenSubleq) -> onnx.ModelProto:
    return onnx.load_from_string(computer.frozen.onnx())


def matrix(described: dict[str, Any]) -> torch.Tensor:
    found = torch.zeros(described["shape"], dtype=torch.float64)
    for row, column, value in described["entries"]:
        found[row, column] = value
    return found


def test_json_has_every_matrix_bit_for_bit(computer: FrozenSubleq) -> None:
    written = json.loads(computer.frozen.json())
    assert [layer["name"] for layer in written["layers"]] == [layer.name for layer in computer.machine.layers]
    for layer, dense in zip(written["layers"], computer.machine.dense, strict=True):
        for head, theirs in zip(layer["heads"], dense.heads, strict=True):
            for name, wanted in (("K", theirs.key), ("Q", theirs.query), ("V", theirs.value)):
                assert torch.equal(matrix(head[name]), wanted)
        assert torch.equal(matrix(layer["W1"]), dense.w1)
        assert torch.equal(matrix(layer["W2"]), dense.w2)
        assert (layer["b1"], layer["b2"]) == (dense.b1.tolist(), dense.b2.tolist())


def test_the_blank_input_is_the_empty_program(computer: FrozenSubleq) -> None:
    about = computer.frozen.about()
    blank = matrix({"shape": about["state"], "entries": about["blank"]})
    assert torch.equal(blank, computer.machine.load(computer.fitted(program([], []))))
    assert about["columns"] == {"scratchpad": [0, 1], "cells": [1, 5], "instructions": [5, 10]}
    assert about["of the transformer"]["layers"] == about["sizes"]["layers"] == 4


def test_a_model_says_what_it_is_and_nothing_of_where_it_was_made(
    computer: FrozenSubleq, model: onnx.ModelProto
) -> None:
    onnx.checker.check_model(model)
    (described,) = [one.value for one in model.metadata_props if one.key == METADATA]
    assert json.loads(described) == json.loads(json.dumps(computer.frozen.about()))
    assert b".py" not in model.SerializeToString()
    assert [one.name for one in (*model.graph.input, *model.graph.output)] == ["state", "next"]
    floats = {one.data_type for one in model.graph.initializer} - {onnx.TensorProto.INT64}
    assert floats == {onnx.TensorProto.DOUBLE}
    assert {"layers.0.heads.0.key", "layers.3.w2"} <= {one.name for one in model.graph.initializer}

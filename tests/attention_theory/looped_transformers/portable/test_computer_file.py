from pathlib import Path

import onnx
import pytest
import torch

from attention_theory.looped_transformers.portable.computer_file import ComputerFile
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.validation import ParameterError


@pytest.fixture(scope="module")
def computer() -> FrozenSubleq:
    return FrozenSubleq(4, integers=4, instructions=6, bits=6)


@pytest.fixture(scope="module")
def content(computer: FrozenSubleq) -> bytes:
    return computer.frozen.onnx()


def test_a_file_runs_as_the_layers_do(computer: FrozenSubleq, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "computer.onnx"
    path.write_bytes(content)
    file = ComputerFile(path)
    programs = [computer.fitted(random_program(4, 6, 6, seed)) for seed in range(20)]
    assert conformance(computer.machine, programs, 15).wrong == 0
    ours = theirs = computer.machine.load(programs)
    for _ in range(15):
        ours, theirs = file.cycle(ours), computer.machine.cycle(theirs, computer.inverse_temperature)
        assert (ours - theirs).abs().max() <= 1e-12
    one = computer.machine.load(programs[0])
    assert torch.equal(file.run(one, 15), ours[0])
    assert torch.equal(file.blank(), computer.frozen.blank)


def test_what_is_no_machine_is_refused(content: bytes) -> None:
    with pytest.raises(ParameterError, match="source must be an ONNX model"):
        ComputerFile(b"text")
    model = onnx.load_from_string(content)
    del model.metadata_props[:]
    with pytest.raises(ParameterError, match="source must describe a machine"):
        ComputerFile(model.SerializeToString())


def test_states_of_another_form_are_refused(content: bytes) -> None:
    file = ComputerFile(content)
    with pytest.raises(ParameterError, match="state"):
        file.cycle(file.blank()[1:])
    with pytest.raises(ParameterError, match="state"):
        file.cycle(file.blank()[:, 1:])
    with pytest.raises(ParameterError, match="state"):
        file.cycle(file.blank().float())

import pytest
import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.conformance import fleq_conformance, random_fleq_program
from attention_theory.looped_transformers.fleq.frozen import BLOCKS, FrozenFleq
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.validation import ParameterError

EXACT = ("add", "sub", "transpose", "rowsigmoid")


def test_one_machine_runs_shorter_programs_and_its_module_does_the_same() -> None:
    computer = FrozenFleq(size=3, cells=26, instructions=10)
    programs = [computer.fitted(random_fleq_program(EXACT, 4 + seed % 6, 3, seed)) for seed in range(10)]
    found = fleq_conformance(computer.machine, programs, 8)
    assert found.wrong == 0
    assert found.deviation < 1e-11
    layers = computer.machine.transformer.module(computer.inverse_temperature)
    state = torch.stack([computer.machine.layout.pack(one) for one in programs])
    assert (layers(state) - computer.machine.cycle(state)).abs().max() < 1e-11


def test_weights_are_those_of_any_program_of_the_size() -> None:
    computer = FrozenFleq(size=3, cells=26, instructions=10)
    for seed in range(3):
        source = computer.fitted(random_fleq_program(tuple(BLOCKS), 5, 3, seed))
        built = FleqMachine(source, [make() for make in BLOCKS.values()])
        assert built.transformer.same_weights(computer.machine.transformer)
    assert computer.frozen.about()["sizes"]["functions"] == list(BLOCKS)


def test_what_does_not_fit_is_refused_by_name() -> None:
    computer = FrozenFleq(size=3, cells=12, instructions=3, functions=("add", "sub"))
    transposing = computer.fitted(assemble("x = transpose(x)\nhalt", {"x": 1.0}, 3))
    with pytest.raises(ParameterError, match=r"functions that have a block, .* got 'transpose'"):
        computer.machine.layout.pack(transposing)
    with pytest.raises(ParameterError, match="'add' among them"):
        FrozenFleq(functions=("sub",))
    with pytest.raises(ParameterError, match="functions"):
        FrozenFleq(functions=("add", "sub", "sub"))

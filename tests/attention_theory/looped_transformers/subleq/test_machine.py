import pytest
import torch

from attention_theory.looped_transformers.subleq.language import interpret, program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import ParameterError


@pytest.mark.parametrize(("depth", "scratch"), [(10, 1), (10, 3), (6, 1), (4, 1)])
def test_every_step_is_the_interpreter_s(depth: int, scratch: int) -> None:
    machine = SubleqMachine(5, 6, depth, scratch)  # type: ignore[arg-type]
    for seed in range(12):
        source = random_program(4, 6, 6, seed)
        run, state = interpret(source, 6, 15), machine.load(source)
        for counter, memory in zip(run.counters, run.memories, strict=True):
            state = machine.cycle(state, 30.0)
            assert machine.counter(state, source) == counter
            assert torch.equal(machine.memory(state, source), memory)
        if run.halted:
            still = machine.cycle(state, 30.0)
            assert torch.equal(machine.cycle(still, 30.0), still)
            assert set(still.unique().tolist()) <= {-1.0, 0.0, 1.0}


def test_loading_and_reading_back() -> None:
    source = program([5, -8, 7], [(2, 3, 1)])
    machine = SubleqMachine(4, 4)
    state = machine.load([source, source])
    assert machine.counter(state, source).tolist() == [0, 0]
    assert machine.memory(state, source).tolist() == [list(source.memory)] * 2


def test_bad_input_is_refused() -> None:
    machine = SubleqMachine(3, 4)
    with pytest.raises(ParameterError, match="memory"):
        machine.load(program([8], [(2, 2, 0)]))
    with pytest.raises(ParameterError, match="columns"):
        machine.load(random_program(3, 3, 4, 0))
    with pytest.raises(ParameterError, match="equally many"):
        machine.load([random_program(1, 2, 4, 0), random_program(2, 1, 4, 0)])
    with pytest.raises(ParameterError, match="depth"):
        SubleqMachine(3, 4, depth=5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="depth 10 only"):
        SubleqMachine(3, 4, depth=4, gate=1.0)
    with pytest.raises(ParameterError, match="idle"):
        SubleqMachine(3, 4, depth=6, scratch=2)

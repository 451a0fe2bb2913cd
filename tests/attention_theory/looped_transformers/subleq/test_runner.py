import pytest
import torch

from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner


@pytest.mark.parametrize("depth", [10, 6, 4])
def test_states_are_those_of_the_dense_layers_bit_for_bit(depth: int) -> None:
    machine = SubleqMachine(5, 8, depth)  # type: ignore[arg-type]
    programs = [random_program(8, 12, 8, seed) for seed in range(20)]
    runner, state = SubleqRunner(machine, programs), machine.load(programs)
    for _ in range(30):
        runner.cycle()
        state = machine.cycle(state, 30.0)
        assert torch.equal(runner.state(), state)
    assert torch.equal(runner.counters(), machine.counter(state, programs[0]))
    assert torch.equal(runner.memories(), machine.memory(state, programs[0]))

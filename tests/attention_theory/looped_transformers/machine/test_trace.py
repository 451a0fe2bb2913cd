import torch

from attention_theory.looped_transformers.machine.trace import trace
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine


def test_a_trace_ends_where_the_machine_does() -> None:
    machine = SubleqMachine(4, 4)
    state = machine.load(random_program(3, 4, 4, seed=0))
    moments = trace(machine, state, cycles=2)
    assert len(moments) == 1 + 2 * 10
    assert (moments[-1].cycle, moments[-1].layer, moments[11].name) == (2, 10, "read the instruction")
    assert torch.equal(moments[-1].state, machine.run(state, 2, 30.0))

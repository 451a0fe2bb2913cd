import torch

from attention_theory.looped_transformers.machine.layers import Head, Layer
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.rows import Rows


def test_the_module_is_the_machine() -> None:
    depths: tuple[Depth, ...] = (10, 6, 4)
    for depth in depths:
        machine = SubleqMachine(4, 6, depth)
        layers = machine.module(30.0)
        ours = theirs = machine.load([random_program(4, 6, 6, seed) for seed in range(10)])
        for _ in range(10):
            ours, theirs = layers(ours), machine.cycle(theirs, 30.0)
            assert torch.equal(ours, theirs)


def test_a_layer_without_heads_units_or_constants_is_the_identity() -> None:
    machine = SubleqMachine(4, 6, rounded=False)  # the last layer has nothing
    state = torch.randn(2, 5, machine.rows.size, dtype=torch.float64)
    assert torch.equal(machine.dense[-1].module()(state, 30.0), state)


def test_a_head_without_values_changes_nothing() -> None:
    rows = Rows(x=2)
    head = Head("idle", keys=[{0: 1.0}], queries=[{1: 1.0}], values=[])
    state = torch.randn(3, 5, 2, dtype=torch.float64)
    assert torch.equal(Layer(rows, "idle", [head]).dense.module()(state, 30.0), state)

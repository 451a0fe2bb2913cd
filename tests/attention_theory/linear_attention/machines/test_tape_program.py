from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.machines.tape_program import Cell, cells_of, new_tape, run_blocks
from attention_theory.linear_attention.machines.turing import LEFT, RIGHT, random_inputs, random_tables, simulate


@settings(max_examples=40)
@given(
    states=st.integers(1, 4),
    letters=st.integers(1, 3),
    window=st.integers(1, 6),
    steps=st.integers(0, 5),
    seed=st.integers(0, 999),
)
def test_blocks_run_the_machine(states: int, letters: int, window: int, steps: int, seed: int) -> None:
    table = random_tables(1, states, letters, seed)[0]
    tape, place = random_inputs(1, letters, window, seed)
    reference = simulate(table, tape[0], int(place[0]), steps)
    tapes = [cells_of(*row, states) for row in zip(reference.letters, reference.states, strict=True)]
    assert run_blocks(table, tapes[0], steps) == tapes
    for before, after in pairwise(tapes):
        assert new_tape(table, before) == after


def one_rule(move: int) -> torch.Tensor:
    return torch.tensor([[[0, 1, move], [0, 0, move]]])


def test_each_fault_does_what_it_says() -> None:
    tape = [Cell(0), Cell(1), Cell(0, 0), Cell(1)]
    right = new_tape(one_rule(RIGHT), tape)
    assert right == [Cell(0), Cell(1), Cell(1), Cell(1, 0)]
    assert new_tape(one_rule(RIGHT), tape, "printed", ["both tests say L"])[1] == Cell()
    assert new_tape(one_rule(LEFT), tape, "printed", ["both tests say L"])[1] == Cell(1, None)
    assert new_tape(one_rule(RIGHT), tape, "printed", ["letter read from the table"])[2] == Cell(0)
    assert new_tape(one_rule(RIGHT), tape, "printed", ["no branch for other cells"])[0] == Cell()
    assert new_tape(one_rule(RIGHT), tape, form="printed") != right

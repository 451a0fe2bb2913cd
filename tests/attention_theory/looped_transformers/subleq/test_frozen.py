from itertools import pairwise
from typing import Any

import pytest

from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import random_program


@pytest.mark.parametrize("layers", [10, 1])
def test_one_machine_runs_shorter_programs(layers: Any) -> None:
    computer = FrozenSubleq(layers, integers=8, instructions=8, bits=6)
    shorter = [random_program(1 + seed % 8, 1 + seed % 7, 6, seed) for seed in range(16)]
    found = conformance(computer.machine, [computer.fitted(one) for one in shorter], 15, by="layers")
    assert found.wrong == 0


def test_two_machines_of_a_size_have_the_same_weights() -> None:
    one, other = (FrozenSubleq(4, integers=5, instructions=6, bits=6) for _ in range(2))
    assert one.machine.same_weights(other.machine)
    assert one.frozen.json() == other.frozen.json()
    assert not one.machine.same_weights(FrozenSubleq(4, integers=50, instructions=6, bits=6).machine)


@pytest.mark.parametrize(("integers", "instructions"), [(1, 1), (5, 3)])
def test_the_columns_are_scratchpad_cells_and_instructions(integers: int, instructions: int) -> None:
    frozen = FrozenSubleq(4, integers=integers, instructions=instructions, bits=2).frozen
    ends = [0, 1, 1 + 2 + integers, 1 + 2 + integers + instructions + 1]  # two cells are reserved; one instruction ends
    assert list(frozen.columns.values()) == list(pairwise(ends))
    assert list(frozen.columns) == ["scratchpad", "cells", "instructions"]
    assert len(frozen.blank) == ends[-1]


def test_with_one_layer_a_cell_has_four_columns_and_an_instruction_two() -> None:
    frozen = FrozenSubleq(1, integers=3, instructions=2, bits=2).frozen
    assert dict(frozen.columns) == {"scratchpad": (0, 4), "cells": (4, 24), "instructions": (24, 31)}
    assert frozen.name == "SUBLEQ in 1 layer"

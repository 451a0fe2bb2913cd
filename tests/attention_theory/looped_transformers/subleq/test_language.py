import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.looped_transformers.subleq.language import (
    RESERVED,
    interpret,
    program,
    random_program,
    wild_program,
)
from attention_theory.validation import ParameterError


def test_a_program_worked_by_hand() -> None:
    source = program([5, 2], [(3, 2, 2), (3, 2, 2)])  # mem[2] -= mem[3], twice: 3, 1; then the end
    run = interpret(source, bits=8, steps=10)
    assert run.counters.tolist() == [1, 2]
    assert run.memories.tolist() == [[0, -1, 3, 2], [0, -1, 1, 2]]
    assert run.halted


def test_zero_branches_and_the_strict_reading_does_not() -> None:
    source = program([5], [(2, 2, 0), (0, 2, 2)])
    assert interpret(source, 8, 3).counters.tolist() == [0, 0, 0]
    assert interpret(source, 8, 3, form="printed").counters.tolist() == [1, 2]


def test_subtraction_wraps() -> None:
    assert interpret(program([-7, 7], [(3, 2, 1)]), bits=4, steps=1).memories[0, 2] == 2


def test_operands_and_targets_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="b must be"):
        program([1], [(0, 3, 0)])
    with pytest.raises(ParameterError, match="c must be"):
        program([1], [(0, 2, 2)])


@given(st.integers(1, 6), st.integers(1, 6), st.integers(2, 16), st.integers(0, 1000))
def test_random_programs_leave_the_reserved_cells(cells: int, instructions: int, bits: int, seed: int) -> None:
    source = random_program(cells, instructions, bits, seed)
    assert source == random_program(cells, instructions, bits, seed)
    assert source.columns() == cells + instructions + 4
    run = interpret(source, bits, 30)
    assert (run.memories[:, :2] == run.memories.new_tensor([0, -1])).all()


def test_a_cell_that_holds_no_integer_is_refused() -> None:
    with pytest.raises(ParameterError, match="each of memory must be an integer"):
        program([1.5, 2], [(0, 2, 0)])  # type: ignore[list-item]
    assert program([], []).memory == (0, -1)


def test_wild_programs_go_to_the_limits() -> None:
    sources = [wild_program(6, 8, 5, seed) for seed in range(200)]
    memory = {value for source in sources for value in source.memory[len(RESERVED) :]}
    assert (min(memory), max(memory)) == (-16, 15)
    steps = [(place, *one) for source in sources for place, one in enumerate(source.code[:-1])]
    assert {b for _, _, b, _ in steps} == set(range(8))
    assert 0.2 < sum(place == c for place, _, _, c in steps) / len(steps) < 0.45
    with pytest.raises(ParameterError, match="cells"):
        wild_program(0, 8, 5, 0)

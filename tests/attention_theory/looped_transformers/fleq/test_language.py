import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, FleqProgram, interpret, variable
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError


def program(text: str, **variables: float | torch.Tensor) -> FleqProgram:
    return assemble(text, variables, size=3)


@given(st.integers(-20, 20), st.integers(0, 8))
def test_a_loop_multiplies_by_repeated_addition(x: int, times: int) -> None:
    text = """
    loop: total = add(total, x)
          count = add(count, one)
          if count <= 0 goto loop
          halt
    """
    run = interpret(program(text, total=0.0, x=float(x), count=float(-times)))
    assert run.halted
    assert variable(program(text, total=0.0, x=0.0, count=0.0), run.memory, "total")[0, 0] == x * (times + 1)
    assert len(run.counters) == 3 * (times + 1)
    assert run.executed[0] == 0
    assert run.executed[1:] == run.counters[:-1]


def test_one_instruction_computes_and_jumps() -> None:
    built = program("again: t = add(t, one) if t <= 0 goto again\n halt", t=-2.0)
    assert interpret(built).counters == [0, 0, 1]


def test_matrices_lie_in_consecutive_cells() -> None:
    matrix = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    built = program("b = transpose(a)\nhalt", a=matrix, b=0.0)
    assert torch.equal(variable(built, built.memory, "a")[:2], matrix)
    assert torch.equal(variable(built, interpret(built).memory, "b")[:, :2], matrix.mT)


def test_a_narrow_instruction_leaves_the_other_columns() -> None:
    a = normal(3, 3, seed=0)
    built = program("b[1] = add(a[2], zero) width 1\nhalt", a=a, b=torch.ones(3, 3))
    after = variable(built, interpret(built).memory, "b")
    assert torch.equal(after[:, 1], a[:, 2])
    assert torch.equal(after[:, [0, 2]], torch.ones(3, 2, dtype=torch.float64))


def test_an_instruction_past_the_last_cell_is_refused() -> None:
    room = {"last": 1}
    for text in ("w = add(w, last)\nhalt", "last = add(w, w)\nhalt"):
        with pytest.raises(ParameterError, match="cells of instruction 0"):
            assemble(text, {"w": 0.0, "last": 1.0}, 3, room)
    assert assemble("last = add(w, last) width 1\nhalt", {"w": 0.0, "last": 1.0}, 3, room).memory.shape == (13, 3)


def test_a_pointer_past_the_last_cell_reads_zeros_and_cannot_write() -> None:
    moved = "advance step.{} by 3\nstep: last = add(last, {})\nhalt"
    run = interpret(program(moved.format("b", "last"), last=2.0))
    assert run.memory[9, 0] == 2
    with pytest.raises(ParameterError, match="cells_written"):
        interpret(program(moved.format("c", "zero"), last=2.0))


def test_pointers_move_through_the_cells() -> None:
    text = """
    read: total = add(total, first)
          advance read.b by 3
          count = add(count, one)
          if count <= 0 goto read
          rewind read.b to first
          total = sub(zero, total)
          halt
    """
    run = interpret(program(text, total=0.0, count=-1.0, first=5.0, second=7.0))
    assert run.memory[9, 0] == -12


def test_every_function_is_what_it_says() -> None:
    """A product may add in another order: on both sides five roundings of numbers below 8, each of at most 4.4e-16."""
    a = torch.rand(3, 3, dtype=torch.float64, generator=generator(1)) + 0.5
    b = a.flip(0)
    by_sums = (a[:, :, None] * b[:, None, :]).sum(dim=0)
    torch.testing.assert_close(FUNCTIONS["mul"](a, b), by_sums, rtol=0, atol=5e-15)
    torch.testing.assert_close(FUNCTIONS["rowsigmoid"](a, b)[0], 1 / (1 + torch.exp(-a[0])), rtol=1e-15, atol=0)
    assert torch.equal(FUNCTIONS["sigmoid"](a, b)[:, 0], FUNCTIONS["rowsigmoid"](a.mT, b)[0])
    assert FUNCTIONS["inverse"](a, b)[0, 0] == 1 / a[0, 0]
    assert FUNCTIONS["root"](a, b).count_nonzero() == 1

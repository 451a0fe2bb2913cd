import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import (
    FUNCTIONS,
    FleqProgram,
    Instruction,
    PointerMove,
    addresses,
    interpret,
    moved,
)
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
    assert program(text, total=0.0, x=0.0, count=0.0).variable(run.memory, "total")[0, 0] == x * (times + 1)
    assert len(run.counters) == 3 * (times + 1)
    assert run.executed[0] == 0
    assert run.executed[1:] == run.counters[:-1]


def test_matrices_lie_in_consecutive_cells() -> None:
    matrix = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    built = program("b = transpose(a)\nhalt", a=matrix, b=0.0)
    assert torch.equal(built.variable(built.memory, "a")[:2], matrix)
    assert torch.equal(built.variable(interpret(built).memory, "b")[:, :2], matrix.mT)


def test_a_narrow_instruction_leaves_the_other_columns() -> None:
    a = normal(3, 3, seed=0)
    built = program("b[1] = add(a[2], zero) width 1\nhalt", a=a, b=torch.ones(3, 3))
    after = built.variable(interpret(built).memory, "b")
    assert torch.equal(after[:, 1], a[:, 2])
    assert torch.equal(after[:, [0, 2]], torch.ones(3, 2, dtype=torch.float64))


def test_an_instruction_past_the_last_cell_is_refused() -> None:
    room = {"last": 1}
    for text in ("w = add(w, last)\nhalt", "last = add(w, w)\nhalt"):
        with pytest.raises(ParameterError, match="cells that instruction 0 uses"):
            assemble(text, {"w": 0.0, "last": 1.0}, 3, room)
    assert assemble("last = add(w, last) width 1\nhalt", {"w": 0.0, "last": 1.0}, 3, room).memory.shape == (13, 3)


def test_a_pointer_past_the_last_cell_is_refused_when_it_is_used() -> None:
    """The last variable has three cells; the machine keeps its program behind them."""
    for field in "abc":
        text = f"advance step.{field} by 1\nstep: last = add(last, last){{}}\nhalt"
        with pytest.raises(ParameterError, match=f"12 cells, pointer {field} of instruction 1 goes up to 13"):
            interpret(program(text.format(""), last=2.0))
        assert interpret(program(text.format(" width 2"), last=2.0)).halted
    unused = "advance step.a by 5\nrewind step.a to zero\nstep: last = add(zero, last)\nhalt"
    assert interpret(program(unused, last=2.0)).halted


def test_moves_of_what_is_not_there_are_refused() -> None:
    memory = torch.zeros(9, 3, dtype=torch.float64)
    halt = Instruction("add", 0, 0, 0, 1, 2, 1)
    absent = [PointerMove(1, "a"), PointerMove(7, "a"), PointerMove(2, "d"), PointerMove(2, "")]
    for move in (*absent, PointerMove(2, "a", to=9)):
        with pytest.raises(ParameterError, match=r"code must move addresses of instructions \[2\] .* at 0"):
            FleqProgram((move, PointerMove(2, "b"), halt), memory, {}, {})
    with pytest.raises(TypeError, match="pointer move"):
        moved(PointerMove(2, "b"), PointerMove(2, "a"))


def test_several_addresses_move_at_once() -> None:
    built = program("advance step.bc by 3\nrewind step.ac to x\nstep: y = add(x, x)\nhalt", x=1.0, y=0.0)
    run = interpret(built)
    assert run.pointers[0][2].tolist() == [9, 12, 15]
    assert run.pointers[1][2].tolist() == [9, 12, 9]
    assert torch.equal(run.pointers[2], run.pointers[1])
    assert addresses(built.code, 15)[0].tolist() == [0, 0, 17]  # c is the column of instruction 2, behind 15 cells
    assert built.variable(run.memory, "x")[0, 0] == 1


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


def test_the_largest_entry_is_that_of_any_cycle() -> None:
    grows_and_falls = "x = add(x, x)\nx = sub(x, x)\nhalt"
    run = interpret(assemble(grows_and_falls, {"x": -3.0}, 2))
    assert run.largest_entry == 6.0

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise

SIZE = 3


def program(*moves: str) -> FleqProgram:
    """Moves of the addresses of one instruction, which is then executed."""
    text = "\n".join([*moves, "step: y = add(x, y) width 1", "halt"])
    return assemble(text, {"x": torch.arange(3.0 * 3).reshape(3, 3), "y": 0.0, "rest": 0.0}, SIZE, {"rest": 40})


def machine_of(one: FleqProgram, **options: object) -> FleqMachine:
    return FleqMachine(one, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("heads", ["one", "several"])
@pytest.mark.parametrize("fields", ["a", "b", "c", "ab", "ac", "bc", "abc"])
def test_only_the_addresses_that_are_meant_change(fields: str, heads: str) -> None:
    built = program(f"advance step.{fields} by 5", f"rewind step.{fields} to x[1]", f"advance step.{fields}")
    machine, reference = machine_of(built, heads=heads), interpret(built)
    result = compare(machine.run(built), reference)
    assert result.counters_agree
    assert result.pointers_agree
    assert result.deviation < 1e-11
    start, layout = machine.layout.pack(built), machine.layout
    state = machine.cycle(start)
    off = (layout.rows.view(state, "memory") - layout.rows.view(start, "memory")).abs()[layout.scratch :]
    assert off.gt(1e-30).any(-1).nonzero().flatten().tolist() == [layout.cells + 3]  # the instruction 'step'
    assert set(off[layout.cells + 3].tolist()) == {0.0, 2.0}  # whole bits, exactly


@given(start=st.integers(0, 40), by=st.integers(1, 127))
@settings(max_examples=20)
def test_an_address_wraps_at_the_number_of_codes(start: int, by: int) -> None:
    built = program(f"rewind step.b to x[{start}]", f"advance step.b by {by}")
    machine = machine_of(built)
    layout = machine.layout
    state = machine.cycle(machine.cycle(layout.pack(built)))
    expected = (built.addresses["x"] + start + by + layout.scratch) % 2**layout.bits - layout.scratch
    assert layout.addresses(state)[2].tolist() == [built.code[2].a, expected, built.code[2].c]  # type: ignore[union-attr]


def test_no_layer_and_no_head_is_added() -> None:
    built = program("advance step.a")
    plain, moving = (summarise(machine_of(built, pointers=one).transformer) for one in (False, True))
    assert (moving.layers, moving.heads) == (plain.layers, plain.heads)
    assert moving.width < plain.width + 3 * 7 + 4


def test_the_rows_of_theorem_2_are_too_few() -> None:
    built = program("advance step.b by 6", "advance step.b by 6")
    result = compare(machine_of(built, form={"pointer rows": "printed"}).run(built), interpret(built))
    assert not result.pointers_agree


def test_a_wide_machine_moves_its_pointers_too() -> None:
    """Where d rows are more than the addresses take, the rest of an instruction lies below them."""
    built = assemble("advance step.ac by 2\nstep: y = add(x, y) width 2\nhalt", {"x": 3.0, "y": 1.0}, 24)
    result = compare(machine_of(built).run(built), interpret(built))
    assert result.counters_agree
    assert result.pointers_agree
    assert result.deviation < 1e-10

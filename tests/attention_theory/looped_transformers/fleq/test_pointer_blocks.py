import pytest
import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise

SIZE = 3


def program(*moves: str) -> FleqProgram:
    """Moves of the addresses of one instruction, which is then executed."""
    text = "\n".join([*moves, "step: y = add(x, y) width 1", "halt"])
    return assemble(text, {"x": torch.arange(3.0 * 3).reshape(3, 3), "y": 0.0, "rest": 0.0}, SIZE, {"rest": 40})


@pytest.mark.parametrize("heads", ["one", "several"])
@pytest.mark.parametrize("fields", ["a", "b", "c", "ab", "ac", "bc", "abc"])
def test_only_the_addresses_that_are_meant_change(fields: str, heads: str) -> None:
    built = program(f"advance step.{fields} by 5", f"rewind step.{fields} to x[1]", f"advance step.{fields}")
    machine, reference = FleqMachine(built, heads=heads), interpret(built)  # type: ignore[arg-type]
    result = compare(machine.run(built), reference)
    assert result.counters_agree
    assert result.pointers_agree
    assert result.deviation < 1e-11
    start, layout = machine.layout.pack(built), machine.layout
    state = machine.cycle(start)
    off = (layout.rows.view(state, "memory") - layout.rows.view(start, "memory")).abs()[layout.scratch :]
    assert off.gt(1e-30).any(-1).nonzero().flatten().tolist() == [layout.cells + 3]  # the instruction 'step'
    assert set(off[layout.cells + 3].tolist()) == {0.0, 2.0}  # whole bits, exactly


def test_no_layer_and_no_head_is_added() -> None:
    built = program("advance step.a")
    plain, moving = (summarise(FleqMachine(built, pointers=one).transformer) for one in (False, True))
    assert (moving.layers, moving.heads) == (plain.layers, plain.heads)
    assert moving.width < plain.width + 3 * 7 + 4


def test_the_rows_of_theorem_2_are_too_few() -> None:
    built = program("advance step.b by 6", "advance step.b by 6")
    result = compare(FleqMachine(built, form={"pointer rows": "printed"}).run(built), interpret(built))
    assert not result.pointers_agree


def test_a_wide_machine_moves_its_pointers_too() -> None:
    """Where d rows are more than the addresses take, the rest of an instruction lies below them."""
    built = assemble("advance step.ac by 2\nstep: y = add(x, y) width 2\nhalt", {"x": 3.0, "y": 1.0}, 24)
    result = compare(FleqMachine(built).run(built), interpret(built))
    assert result.counters_agree
    assert result.pointers_agree
    assert result.deviation < 1e-10

import pytest
import torch

from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.language import FleqProgram, Instruction
from attention_theory.looped_transformers.fleq.layout import _FIELDS, FleqLayout
from attention_theory.validation import ParameterError


def layout(cells: int = 6, instructions: int = 3) -> FleqLayout:
    return FleqLayout(3, cells, instructions, [SumBlock("add"), TransposeBlock()], inverse_temperature=30.0)


def program(layout: FleqLayout, *targets: int) -> FleqProgram:
    code = tuple(Instruction("transpose", 1, 2, 3, 4, target, 2) for target in targets)
    return FleqProgram(code, torch.arange(18.0, dtype=torch.float64).reshape(6, 3), {}, {})


def test_an_instruction_lies_in_its_column_field_by_field() -> None:
    one = layout()
    state = one.pack(program(one, 2, 0, 1))
    column = one.rows.view(state, "memory")[one.first_instruction][: len(one.instruction_rows)]
    fields = dict(zip(_FIELDS, column.split([len(one.rows[name]) for name in _FIELDS]), strict=True))
    assert torch.equal(fields["to b"], one.codes[one.scratch + 2])
    assert torch.equal(fields["to target"], one.codes[one.first_instruction + 2])
    assert torch.equal(fields["function"], one.function_codes[1])
    assert (fields["height"].item(), fields["width"].item()) == (3, 2)


def test_a_state_gives_memory_and_counter_back() -> None:
    one = layout()
    packed = program(one, 0, 0, 2)
    state = one.pack(packed)
    assert torch.equal(one.memory(state), packed.memory)
    assert one.counter(state) == 0
    one.rows.view(state, "counter")[0] = one.codes[one.first_instruction + 2]
    assert one.counter(state) == 2
    one.rows.view(state, "counter")[0, one.codes[one.first_instruction + 2] < 0] = 0.0
    assert one.counter(state) == 2, "a bit that is not above zero is none"
    one.rows.view(state, "counter")[0] = one.codes[0]
    assert one.counter(state) == -1


def test_a_state_gives_the_addresses_back_that_the_program_has() -> None:
    one = layout()
    state = one.pack(program(one, 0, 0, 2))
    assert one.addresses(state).tolist() == [[1, 2, 3]] * 3
    one.rows.view(state, "memory")[one.first_instruction + 1, 0] = torch.nan
    assert one.addresses(state).tolist() == [[1, 2, 3], [-1, -1, -1], [1, 2, 3]]


def test_programs_of_another_size_are_refused() -> None:
    one = layout()
    with pytest.raises(ParameterError, match=r"program|memory"):
        one.pack(program(one, 0, 1))


def test_a_drawing_keeps_every_row_in_its_place() -> None:
    one = layout()
    names = list(one.drawing().blocks)
    assert one.drawing().size == one.rows.size
    assert one.drawing()["data"] == one.rows["data"]
    assert one.drawing()["transpose"] == one.rows["transpose"]
    assert names.index("instruction") < names.index("masks") < names.index("marks") < names.index("add: own rows")

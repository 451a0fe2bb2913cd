from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.conformance import (
    fleq_conformance,
    random_fleq_program,
    random_pointer_program,
)
from attention_theory.looped_transformers.fleq.language import Instruction, PointerMove
from attention_theory.looped_transformers.fleq.machine import FleqMachine

NAMES = ("mul", "add", "sub", "transpose", "rowsigmoid")
BLOCKS: list[FunctionBlock] = [
    ProductBlock(),
    SumBlock("add", 1),
    SumBlock("sub", 1),
    TransposeBlock(),
    RowSigmoidBlock(),
]
PROGRAMS = [random_fleq_program(NAMES, 8, 3, seed) for seed in range(40)]


def test_random_programs_use_everything_and_end_in_their_halt() -> None:
    code = [instruction for program in PROGRAMS for instruction in program.code]
    instructions = [one for one in code if isinstance(one, Instruction)]
    assert {one.function for one in instructions} == set(NAMES)
    assert {one.width for one in instructions} == {1, 2, 3}
    assert all(program.code[-1].target == 8 for program in PROGRAMS if isinstance(program.code[-1], Instruction))
    again = random_fleq_program(NAMES, 8, 3, 7)
    assert again.code == PROGRAMS[7].code


def test_one_machine_follows_forty_random_programs() -> None:
    found = fleq_conformance(FleqMachine(PROGRAMS[0], BLOCKS), PROGRAMS, 12)
    assert (found.programs, found.wrong) == (40, 0)
    assert found.cycles > 200
    assert found.deviation == found.deviations["mul"] < 2e-6
    assert max(found.deviations[name] for name in NAMES if name != "mul") < 1e-11
    assert sum(found.executed.values()) == found.cycles


def test_one_machine_follows_thirty_random_programs_that_change_themselves() -> None:
    programs = [random_pointer_program(NAMES, 8, 3, seed) for seed in range(30)]
    moves = [one for program in programs for one in program.code if isinstance(one, PointerMove)]
    assert {one.name for one in moves} == {"advance", "rewind"}
    assert {one.fields for one in moves} == {"a", "b", "c", "ab", "bc", "abc"}
    found = fleq_conformance(FleqMachine(programs[0], BLOCKS), programs, 16)
    assert (found.programs, found.wrong) == (30, 0)
    assert min(found.executed["advance"], found.executed["rewind"]) > 30
    assert max(found.deviations["advance"], found.deviations["rewind"]) < 1e-15
    assert max(found.deviations[name] for name in NAMES if name != "mul") < 1e-11
    assert found.deviation < 2e-6
    cut = FleqMachine(programs[0], BLOCKS, form={"pointer rows": "printed"})
    assert fleq_conformance(cut, programs, 16).wrong > 15


def test_a_cold_machine_is_found_out() -> None:
    found = fleq_conformance(FleqMachine(PROGRAMS[0], BLOCKS, inverse_temperature=3.0), PROGRAMS[:10], 12)
    assert found.deviation > 0.1

"""Every rule that lowers an instruction, for all values of four bits, and with one cell in two places."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from attention_theory.looped_transformers.blocks._integers import integer_blocks
from attention_theory.looped_transformers.compiler import fleq, subleq
from attention_theory.looped_transformers.compiler.code import (
    OPERATORS,
    RELATIONS,
    Branch,
    Code,
    Compute,
    Copy,
    Instruction,
    Label,
    Load,
    Operand,
    Operator,
    Relation,
    Stop,
    Store,
    interpret,
)
from attention_theory.looped_transformers.fleq.language import FUNCTIONS
from attention_theory.looped_transformers.fleq.language import interpret as interpret_fleq

BITS, VALUES = 4, range(-8, 8)
Run = Callable[[dict[str, int]], dict[str, Any]]
BLOCKS = FUNCTIONS | {block.name: block.reference for block in integer_blocks(BITS)}


def check(instructions: Sequence[Instruction], **free: int) -> None:
    """The lowered code leaves in a, b, d and xs what the interpreter leaves, for all values of the free cells."""
    cells = {"a": 0, "b": 0, "d": 0}
    code = Code(
        (*instructions, Stop(None, 0)), cells, {"xs": (5, -8, 7)}, tuple(free), "d", {name: name for name in cells}
    )
    runs = by_subleq(code), by_fleq(code)
    for values in product(VALUES, repeat=len(free)):
        inputs = dict(zip(free, values, strict=True))
        wanted = interpret(code, BITS, inputs, 100)
        for run in runs:
            found = run(inputs)
            assert [found[name] for name in "abd"] == [[wanted.cells[name]] for name in "abd"]
            assert found.get("xs", [5, -8, 7]) == wanted.blocks["xs"]


def by_subleq(code: Code) -> Run:
    """Runs of the SUBLEQ program: what it leaves in each name."""
    lowered = subleq.lower(code, BITS).program

    def run(inputs: dict[str, int]) -> dict[str, Any]:
        program, place = lowered.with_inputs(inputs), 0
        memory = list(program.memory)
        for _ in range(2000):
            if place == program.end:
                break
            a, b, c = program.code[place]
            memory[b] = (memory[b] - memory[a] + 8) % 16 - 8
            place = c if memory[b] <= 0 else place + 1
        assert place == program.end
        return {name: memory[block.start : block.stop] for name, block in program.blocks.items()}

    return run


def by_fleq(code: Code) -> Run:
    """Runs of the FLEQ program, by its interpreter."""
    program = fleq.lower(code, BITS).program

    def run(inputs: dict[str, int]) -> dict[str, Any]:
        memory = program.memory.clone()
        for name, value in inputs.items():
            memory[program.addresses[name], 0] = value
        ended = interpret_fleq(replace(program, memory=memory), 100, BLOCKS)
        assert ended.halted
        numbers = ended.memory[:, 0].tolist()
        return {name: numbers[start : start + (3 if name == "xs" else 1)] for name, start in program.addresses.items()}

    return run


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("cells", [("d", "a", "b"), ("a", "a", "b"), ("b", "a", "b"), ("d", "a", "a"), ("a", "a", "a")])
def test_two_cells(operator: Operator, cells: tuple[str, str, str]) -> None:
    target, left, right = cells
    guard: list[Instruction] = (
        [Branch(right, "!=", 0, "fine", 1), Stop(None, 0), Label("fine", 0)] if operator in ("//", "%") else []
    )
    check([*guard, Compute(target, left, operator, right, 1)], a=0, b=0)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("target", ["a", "d"])
def test_a_cell_and_a_number(operator: Operator, target: str) -> None:
    for number in VALUES:
        if number or operator not in ("//", "%"):
            check([Compute(target, "a", operator, number, 1)], a=0)
        guard: list[Instruction] = [Branch("a", "!=", 0, "fine", 1), Stop(None, 0), Label("fine", 0)]
        check([*guard, Compute(target, number, operator, "a", 1)], a=0)


@pytest.mark.parametrize("relation", RELATIONS)
def test_branches(relation: Relation) -> None:
    def both(left: Operand, right: Operand) -> list[Instruction]:
        yes: list[Instruction] = [Label("yes", 0), Copy("d", 2, 1)]
        return [Branch(left, relation, right, "yes", 1), Copy("d", 1, 1), Stop(None, 0), *yes]

    check(both("a", "b"), a=0, b=0)
    check(both("a", "a"), a=0)
    for number in VALUES:
        check(both("a", number), a=0)
        check(both(number, "a"), a=0)


@pytest.mark.parametrize("relation", ["<=", "<"])
def test_branches_on_what_is_known_to_lie_near(relation: Relation) -> None:
    known: list[Instruction] = [
        Branch("a", "<", -3, "out", 1),
        Branch(3, "<", "a", "out", 1),
        Branch("b", "<", 0, "out", 1),
    ]
    tested: list[Instruction] = [Branch("a", relation, "b", "out", 1), Copy("d", 1, 1), Label("out", 0)]
    check([*known, Branch(4, "<", "b", "out", 1), *tested], a=0, b=0)


@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, 2), (0, 7)])
def test_items(low: int, high: int) -> None:
    known: list[Instruction] = [Branch("a", "<", low, "out", 1), Branch(high, "<", "a", "out", 1)]
    check([*known, Load("d", "xs", "a", 1), Label("out", 0)], a=0)
    check([*known, Load("a", "xs", "a", 1), Label("out", 0)], a=0)
    check([*known, Store("xs", "a", "b", 1), Label("out", 0)], a=0, b=0)
    check([*known, Store("xs", "a", "a", 1), Label("out", 0)], a=0)
    check([*known, Store("xs", "a", -8, 1), Label("out", 0)], a=0)
    check([Load("d", "xs", 1, 1), Store("xs", 2, "a", 1), Store("xs", 0, 0, 1)], a=0)

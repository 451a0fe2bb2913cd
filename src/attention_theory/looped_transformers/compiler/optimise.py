"""Shorter programs in the intermediate form: each pass keeps what a run returns and where it stops.

Constants and copies are carried forward within a stretch of code without labels; what is never read, or never reached,
goes; a result is computed where it is wanted; and temporaries that are never needed at once share a cell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attention_theory.looped_transformers.compiler.code import (
    OPERATORS,
    Branch,
    Code,
    Compute,
    Copy,
    Instruction,
    Jump,
    Label,
    Load,
    Operand,
    Stop,
    Store,
    is_temporary,
    with_operands,
    wrap,
)
from attention_theory.looped_transformers.compiler.intervals import settle


def optimise(code: Code, bits: int) -> Code:
    """The same program, shorter: passes in turn until nothing changes."""
    before: tuple[Instruction, ...] = ()
    instructions = code.instructions
    while instructions != before:
        before = instructions
        instructions = settle(replace(code, instructions=instructions), bits).instructions
        instructions = _propagate(instructions, bits, code.blocks)
        instructions = _follow_jumps(instructions)
        instructions = _reachable(instructions)
        instructions = _without_dead(instructions, _wanted(code))
        instructions = _retarget(instructions, _wanted(code))
    return _share_cells(replace(code, instructions=instructions))


def _wanted(code: Code) -> set[str]:
    """What is read after the end: the result, and the variables where there is none."""
    if code.result is not None:
        return {code.result} & set(code.cells)
    return set() if code.inputs else set(code.variables)


def reads(instruction: Instruction) -> list[str]:
    """The cells that an instruction reads."""
    match instruction:
        case Copy(_, source):
            operands: list[Operand] = [source]
        case Compute(_, left, _, right) | Branch(left, _, right):
            operands = [left, right]
        case Load(_, _, index):
            operands = [index]
        case Store(_, index, source):
            operands = [index, source]
        case _:
            operands = []
    return [operand for operand in operands if isinstance(operand, str)]


def writes(instruction: Instruction) -> str | None:
    """The cell that an instruction writes, if it writes one."""
    return instruction.target if isinstance(instruction, Copy | Compute | Load) else None


def _propagate(
    instructions: Sequence[Instruction], bits: int, blocks: Mapping[str, Sequence[int]]
) -> tuple[Instruction, ...]:
    """Constants and copies forward, to the next label; an index that is known to be wrong ends the program."""
    values: dict[str, Operand] = {}
    out: list[Instruction] = []

    def seen(operand: Operand) -> Operand:
        return values.get(operand, operand) if isinstance(operand, str) else operand

    for instruction in instructions:
        new: Instruction | None = with_operands(instruction, seen)
        match new:
            case Label():
                values.clear()
            case Compute(target, left, operator, right, line):
                new = _simpler(target, left, operator, right, line, bits)
            case Load(_, block, int(index), line) | Store(block, int(index), _, line) if index >= len(blocks[block]):
                new = Stop("IndexError", line)
            case Branch(left, relation, right, label, line) if left == right:
                new = Jump(label, line) if relation in ("<=", "==") else None
        if new is None or (isinstance(new, Copy) and new.target == new.source):
            continue
        if written := writes(new):
            values = {name: value for name, value in values.items() if written not in (name, value)}
            if isinstance(new, Copy):
                values[written] = new.source
        out.append(new)
    return tuple(out)


def _simpler(target: str, left: Operand, operator: Any, right: Operand, line: int, bits: int) -> Instruction:
    """A computation, or a copy where one operand or both decide it."""
    match left, operator, right:
        case int(), "//" | "%", 0:
            pass
        case int(), _, int():
            return Copy(target, wrap(OPERATORS[operator](left, right), bits), line)
        case (_, "+" | "-", 0) | (_, "*" | "//", 1):
            return Copy(target, left, line)
        case (0, "+", _) | (1, "*", _):
            return Copy(target, right, line)
        case (_, "*", 0) | (0, "*", _) | (_, "%", 1):
            return Copy(target, 0, line)
    return Compute(target, left, operator, right, line)


def _follow_jumps(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """A jump to a jump, or to the same branch, leads to where that leads; a jump to the next instruction goes."""
    places = {one.name: place for place, one in enumerate(instructions) if isinstance(one, Label)}

    def first(place: int) -> int:
        while place < len(instructions) and isinstance(instructions[place], Label):
            place += 1
        return place

    def end(one: Jump | Branch) -> str:
        label, passed = one.label, set()
        while label not in passed:
            passed.add(label)
            then = instructions[first(places[label])]
            if isinstance(then, Jump) or (isinstance(then, Branch) and _condition(then) == _condition(one)):
                label = then.label
        return label

    out: list[Instruction] = []
    for place, instruction in enumerate(instructions):
        if isinstance(instruction, Jump | Branch):
            instruction = replace(instruction, label=end(instruction))
            if first(place + 1) == first(places[instruction.label]):
                continue
        out.append(instruction)
    return tuple(out)


def _condition(one: Jump | Branch) -> Any:
    return (one.left, one.relation, one.right) if isinstance(one, Branch) else None


def _reachable(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Without what no run reaches, and without labels that nothing jumps to."""
    places = {one.name: place for place, one in enumerate(instructions) if isinstance(one, Label)}
    seen: set[int] = set()
    to_see = [0]
    while to_see:
        place = to_see.pop()
        if place not in seen:
            seen.add(place)
            to_see += _next(instructions, place, places)
    used = {one.label for place, one in enumerate(instructions) if place in seen and isinstance(one, Jump | Branch)}
    return tuple(
        one
        for place, one in enumerate(instructions)
        if place in seen and not (isinstance(one, Label) and one.name not in used)
    )


def _next(instructions: Sequence[Instruction], place: int, places: dict[str, int]) -> list[int]:
    """The places to which a run can go from here."""
    match instructions[place]:
        case Stop():
            return []
        case Jump(label):
            return [places[label]]
        case Branch(_, _, _, label):
            return [places[label], place + 1]
    return [place + 1]


def _live(instructions: Sequence[Instruction], wanted: set[str]) -> list[set[str]]:
    """After each instruction, the cells that may still be read."""
    places = {one.name: place for place, one in enumerate(instructions) if isinstance(one, Label)}
    after: list[set[str]] = [set() for _ in instructions]
    before: list[set[str]] = [set() for _ in instructions]
    ways = [_next(instructions, place, places) for place in range(len(instructions))]
    written, read = [{writes(one)} for one in instructions], [set(reads(one)) for one in instructions]
    at_end = [wanted if isinstance(one, Stop) and one.error is None else set() for one in instructions]
    changed = True
    while changed:
        changed = False
        for place in range(len(instructions) - 1, -1, -1):
            live = at_end[place].union(*(before[then] for then in ways[place]))
            needed = (live - written[place]) | read[place]
            changed = changed or needed != before[place]
            after[place], before[place] = live, needed
    return after


def _without_dead(instructions: Sequence[Instruction], wanted: set[str]) -> tuple[Instruction, ...]:
    """Without computations whose result nobody reads. A load may stop the program, unless its index is a number."""
    after = _live(instructions, wanted)
    return tuple(
        one
        for one, live in zip(instructions, after, strict=True)
        if (target := writes(one)) is None
        or target in live
        or (isinstance(one, Load) and not isinstance(one.index, int))
    )


def _retarget(instructions: Sequence[Instruction], wanted: set[str]) -> tuple[Instruction, ...]:
    """``t = a + b; x = t`` becomes ``x = a + b`` where nobody else reads ``t``."""
    after, out = _live(instructions, wanted), list(instructions)
    for place in range(len(out) - 1):
        one, other = out[place], out[place + 1]
        if not (isinstance(one, Copy | Compute | Load) and isinstance(other, Copy) and other.source == one.target):
            continue
        if one.target not in after[place + 1] and other.target != one.target:
            out[place] = replace(one, target=other.target)
            out[place + 1] = Copy(other.target, other.target, other.line)
    return tuple(one for one in out if not (isinstance(one, Copy) and one.target == one.source))


def _share_cells(code: Code) -> Code:
    """Temporaries that are never alive at once get one cell; each takes the first that is free."""
    after = _live(code.instructions, _wanted(code))
    meets: dict[str, set[str]] = {}
    for instruction, live in zip(code.instructions, after, strict=True):
        target = writes(instruction)
        if target is not None and is_temporary(target):
            others = {name for name in live if is_temporary(name) and name != target}
            meets.setdefault(target, set()).update(others)
            for name in others:
                meets.setdefault(name, set()).add(target)
    new: dict[str, str] = {}
    for name in sorted(meets, key=lambda one: int(one[2:])):
        taken = {new[other] for other in meets[name] if other in new}
        new[name] = next(cell for cell in _temporaries() if cell not in taken)
    instructions = tuple(_renamed(one, new) for one in code.instructions)
    used = {name for one in instructions for name in (*reads(one), writes(one)) if name}
    kept = used | set(code.inputs) | set(code.variables) | {code.result}
    cells = {name: value for name, value in code.cells.items() if name in kept and not is_temporary(name)}
    return replace(code, instructions=instructions, cells=cells | dict.fromkeys(sorted(set(new.values())), 0))


def _temporaries() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"t_{number}"


def _renamed(instruction: Instruction, new: dict[Any, str]) -> Instruction:
    other = with_operands(instruction, lambda operand: new.get(operand, operand))
    if isinstance(other, Copy | Compute | Load):
        return replace(other, target=new.get(other.target, other.target))
    return other

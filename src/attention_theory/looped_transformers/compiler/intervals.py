"""What is known of the cells' values before each instruction: the least and the largest that any run can bring.

A run is followed over all ways at once. A branch narrows what it compares; where a loop goes on widening an interval,
the end that moves goes to the next number that the program names, or beside it, and at last to the end of the integers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush

from attention_theory.looped_transformers.compiler.code import (
    Branch,
    Code,
    Compute,
    Copy,
    Instruction,
    Jump,
    Label,
    Load,
    Operand,
    Relation,
    Stop,
    with_operands,
)

Interval = tuple[int, int]
Known = dict[str, Interval]

#: A cell's interval may grow so often at one place before its moving end is given up.
_PATIENCE = 3


def intervals(code: Code, bits: int) -> list[Known | None]:
    """The intervals before each instruction; ``None`` where no run comes. A cell without one can hold anything."""
    instructions = code.instructions
    places = {one.name: place for place, one in enumerate(instructions) if isinstance(one, Label)}
    everything = _everything(bits)
    start = {name: (value, value) for name, value in code.cells.items() if name not in code.inputs}
    before: list[Known | None] = [None] * len(instructions)
    grown: dict[tuple[int, str], int] = {}
    ends = _ends(code, everything)
    before[0] = start
    waiting = [0]  # a heap: what comes first is settled first, so that a loop is before what follows it
    while waiting:
        place = heappop(waiting)
        known = before[place]
        assert known is not None
        for then, after in _step(instructions[place], place, known, places, everything):
            old = before[then]
            new = after if old is None else _joined(old, after, then, grown, ends)
            if new != old:
                before[then] = new
                if then not in waiting:
                    heappush(waiting, then)
    return before


def interval(operand: Operand, known: Mapping[str, Interval], bits: int) -> Interval:
    """The interval of an operand."""
    return (operand, operand) if isinstance(operand, int) else known.get(operand, _everything(bits))


def decided(branch: Branch, known: Mapping[str, Interval], bits: int) -> bool | None:
    """Whether a branch is always taken, or never; ``None`` where both can be."""
    left, right = interval(branch.left, known, bits), interval(branch.right, known, bits)
    holds, fails = _verdicts(branch.relation, left, right)
    return True if holds else False if fails else None


def settle(code: Code, bits: int) -> Code:
    """The program with numbers for cells that can hold one value only, and without branches that go one way only."""
    out: list[Instruction] = []
    for one, known in zip(code.instructions, at_each(code, bits), strict=True):
        new = with_operands(one, partial(_single, known))
        taken = decided(one, known, bits) if isinstance(one, Branch) else None
        if taken is None:
            out.append(new)
        elif taken and isinstance(one, Branch):
            out.append(Jump(one.label, one.line))
    return replace(code, instructions=tuple(out))


def _single(known: Known, operand: Operand) -> Operand:
    low, high = known.get(operand, (0, 1)) if isinstance(operand, str) else (operand, operand)
    return low if low == high else operand


def _everything(bits: int) -> Interval:
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _verdicts(relation: Relation, left: Interval, right: Interval) -> tuple[bool, bool]:
    """Whether the relation holds for all values, and whether it fails for all."""
    match relation:
        case "<=":
            return left[1] <= right[0], left[0] > right[1]
        case "<":
            return left[1] < right[0], left[0] >= right[1]
        case "==":
            same = left[0] == left[1] == right[0] == right[1]
            return same, left[1] < right[0] or right[1] < left[0]
    holds, fails = _verdicts("==", left, right)
    return fails, holds


def _step(
    instruction: Instruction, place: int, known: Known, places: Mapping[str, int], everything: Interval
) -> list[tuple[int, Known]]:
    """Where a run goes from here, and what is known there."""
    match instruction:
        case Stop():
            return []
        case Jump(label):
            return [(places[label], known)]
        case Branch(left, relation, right, label):
            taken = _narrowed(known, left, relation, right, everything)
            other = _narrowed(known, *_negation(left, relation, right), everything)
            ways = [(places[label], taken), (place + 1, other)]
            return [(then, after) for then, after in ways if after is not None]
        case Copy(target, source):
            return [(place + 1, known | {target: _of(source, known, everything)})]
        case Compute(target, left, operator, right):
            result = _computed(_of(left, known, everything), operator, _of(right, known, everything))
            fits = everything[0] <= result[0] and result[1] <= everything[1]
            return [(place + 1, known | {target: result if fits else everything})]
        case Load(target):
            return [(place + 1, {name: one for name, one in known.items() if name != target})]
    return [(place + 1, known)]


def _of(operand: Operand, known: Known, everything: Interval) -> Interval:
    return (operand, operand) if isinstance(operand, int) else known.get(operand, everything)


def _computed(left: Interval, operator: str, right: Interval) -> Interval:
    """Where the result lies before it wraps around; the widest interval that is easy to say."""
    match operator:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case "%" if right[0] > 0:
            return 0, right[1] - 1
        case "//" if right[0] > 0:
            return min(left[0], left[0] // right[0]), max(left[1], left[1] // right[0])
    size = max(abs(end) for end in (*left, *right)) + 1
    return -size, size


def _negation(left: Operand, relation: Relation, right: Operand) -> tuple[Operand, Relation, Operand]:
    match relation:
        case "<=":
            return right, "<", left
        case "<":
            return right, "<=", left
        case "==":
            return left, "!=", right
    return left, "==", right


def _narrowed(known: Known, left: Operand, relation: Relation, right: Operand, everything: Interval) -> Known | None:
    """What is known where the relation holds; ``None`` where it cannot."""
    a, b = _of(left, known, everything), _of(right, known, everything)
    match relation:
        case "<=":
            a, b = (a[0], min(a[1], b[1])), (max(a[0], b[0]), b[1])
        case "<":
            a, b = (a[0], min(a[1], b[1] - 1)), (max(a[0] + 1, b[0]), b[1])
        case "==":
            a = b = (max(a[0], b[0]), min(a[1], b[1]))
        case "!=":
            a, b = _without(a, b), _without(b, a)
    if a[0] > a[1] or b[0] > b[1]:
        return None
    new = {name: one for name, one in ((left, a), (right, b)) if isinstance(name, str)}
    return known | new


def _without(one: Interval, other: Interval) -> Interval:
    """An interval without a single value at one of its ends."""
    if other[0] != other[1]:
        return one
    return one[0] + (one[0] == other[0]), one[1] - (one[1] == other[0])


def _ends(code: Code, everything: Interval) -> list[int]:
    """Where an interval that grows may come to rest: the numbers of the program and their neighbours."""
    fields = [item for one in code.instructions for item in vars(one).items()]
    operands = [value for name, value in fields if isinstance(value, int) and name != "line"]
    near = {value + by for value in (*operands, *map(len, code.blocks.values())) for by in range(-2, 3)}
    return sorted({*everything, *(value for value in near if everything[0] < value < everything[1])})


def _joined(old: Known, new: Known, place: int, grown: dict[tuple[int, str], int], ends: Sequence[int]) -> Known:
    out = {name: one for name, one in old.items() if name in new}
    for name in [name for name, one in out.items() if new[name] != one]:
        low, high = min(old[name][0], new[name][0]), max(old[name][1], new[name][1])
        if (low, high) == old[name]:
            continue
        grown[place, name] = grown.get((place, name), 0) + 1
        if grown[place, name] > _PATIENCE:
            low = low if low == old[name][0] else ends[bisect_right(ends, low) - 1]
            high = high if high == old[name][1] else ends[bisect_left(ends, high)]
        out[name] = (low, high)
    return out


def at_each(code: Code, bits: int) -> Sequence[Known]:
    """The intervals before each instruction, nothing known where no run comes."""
    return [known or {} for known in intervals(code, bits)]

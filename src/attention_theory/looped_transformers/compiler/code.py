"""The intermediate form: three-address code on named cells and lists, and what it means.

All integers are of N bits, in two's complement: what a computation overflows wraps around. An operand is an integer or
the name of a cell. An index that is loaded or stored is at least 0; beyond the list it stops the program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Operand = int | str
Operator = Literal["+", "-", "*", "//", "%"]
Relation = Literal["<=", "<", "==", "!="]

OPERATORS: dict[Operator, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
RELATIONS: dict[Relation, Callable[[int, int], bool]] = {
    "<=": lambda left, right: left <= right,
    "<": lambda left, right: left < right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


@dataclass(frozen=True)
class Copy:
    """``target = source``."""

    target: str
    source: Operand
    line: int


@dataclass(frozen=True)
class Compute:
    """``target = left operator right``; for a division ``right`` is not 0."""

    target: str
    left: Operand
    operator: Operator
    right: Operand
    line: int


@dataclass(frozen=True)
class Load:
    """``target = block[index]``."""

    target: str
    block: str
    index: Operand
    line: int


@dataclass(frozen=True)
class Store:
    """``block[index] = source``."""

    block: str
    index: Operand
    source: Operand
    line: int


@dataclass(frozen=True)
class Branch:
    """``if left relation right: goto label``."""

    left: Operand
    relation: Relation
    right: Operand
    label: str
    line: int


@dataclass(frozen=True)
class Jump:
    """``goto label``."""

    label: str
    line: int


@dataclass(frozen=True)
class Label:
    """A place to jump to."""

    name: str
    line: int


@dataclass(frozen=True)
class Stop:
    """The end of the program: the ordinary one, or an exception by its name in Python."""

    error: str | None
    line: int


Instruction = Copy | Compute | Load | Store | Branch | Jump | Label | Stop


@dataclass(frozen=True)
class Code:
    """A program in the intermediate form.

    Attributes:
        instructions: from the first; the last is a ``Stop``.
        cells: the cells, and what they hold at the start.
        blocks: the lists, and what they hold at the start.
        inputs: the cells and lists that take the arguments, in their order.
        result: the cell or list with the value that is returned, if there is one.
        variables: the names in the source of the cells and lists that have one.
    """

    instructions: tuple[Instruction, ...]
    cells: Mapping[str, int]
    blocks: Mapping[str, tuple[int, ...]]
    inputs: tuple[str, ...] = ()
    result: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(_text(instruction) for instruction in self.instructions)


@dataclass
class Outcome:
    """The end of a run.

    Attributes:
        cells: what the cells hold.
        blocks: what the lists hold.
        steps: the instructions executed.
        stop: the instruction that ended the run; ``None`` if it did not end in time.
    """

    cells: dict[str, int]
    blocks: dict[str, list[int]]
    steps: int = 0
    stop: Stop | None = None


def wrap(value: int, bits: int) -> int:
    """An integer in two's complement of so many bits."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def is_temporary(name: str) -> bool:
    """Whether a cell is none of the source's variables."""
    return name.startswith("t_")


def with_operands(instruction: Instruction, new: Callable[[Operand], Operand]) -> Instruction:
    """An instruction with other operands to read."""
    match instruction:
        case Copy(_, source):
            return replace(instruction, source=new(source))
        case Compute(_, left, _, right):
            return replace(instruction, left=new(left), right=new(right))
        case Load(_, _, index):
            return replace(instruction, index=new(index))
        case Store(_, index, source):
            return replace(instruction, index=new(index), source=new(source))
        case Branch(left, _, right):
            return replace(instruction, left=new(left), right=new(right))
    return instruction


def interpret(code: Code, bits: int, inputs: Mapping[str, int | list[int]], steps: int) -> Outcome:
    """Run a program for at most so many instructions, labels not counted.

    Args:
        code: the program.
        bits: N.
        inputs: what the named cells and lists hold at the start, in place of what the program says.
        steps: at most.
    """
    out = Outcome(dict(code.cells), {name: list(values) for name, values in code.blocks.items()})
    for name, value in inputs.items():
        if isinstance(value, list):
            out.blocks[name] = list(value)
        else:
            out.cells[name] = value
    labels = {one.name: place for place, one in enumerate(code.instructions) if isinstance(one, Label)}
    place = 0

    def read(operand: Operand) -> int:
        return operand if isinstance(operand, int) else out.cells[operand]

    while out.steps < steps:
        instruction = code.instructions[place]
        place += 1
        match instruction:
            case Label():
                continue
            case Stop():
                out.stop = instruction
                return out
            case Jump(label):
                place = labels[label]
            case Branch(left, relation, right, label):
                if RELATIONS[relation](read(left), read(right)):
                    place = labels[label]
            case Copy(target, source):
                out.cells[target] = read(source)
            case Compute(target, left, operator, right):
                out.cells[target] = wrap(OPERATORS[operator](read(left), read(right)), bits)
            case Load(_, block, index, line) | Store(block, index, _, line) if read(index) >= len(out.blocks[block]):
                out.stop = Stop("IndexError", line)
                return out
            case Load(target, block, index):
                out.cells[target] = out.blocks[block][read(index)]
            case Store(block, index, source):
                out.blocks[block][read(index)] = read(source)
        out.steps += 1
    return out


def _text(instruction: Instruction) -> str:
    match instruction:
        case Label(name):
            return f"{name}:"
        case Stop(error):
            return f"    stop{f' with {error}' if error else ''}"
        case Jump(label):
            return f"    goto {label}"
        case Branch(left, relation, right, label):
            return f"    if {left} {relation} {right} goto {label}"
        case Copy(target, source):
            return f"    {target} = {source}"
        case Compute(target, left, operator, right):
            return f"    {target} = {left} {operator} {right}"
        case Load(target, block, index):
            return f"    {target} = {block}[{index}]"
        case Store(block, index, source):
            return f"    {block}[{index}] = {source}"

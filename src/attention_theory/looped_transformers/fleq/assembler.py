"""From program text to a :class:`~attention_theory.looped_transformers.fleq.language.FleqProgram`.

One statement a line, ``#`` begins a comment, ``name:`` in front of a statement labels it::

    loop: y = mul(a, x)                 # mem[y] = a^T x
          t = add(t, one)
          if t <= 0 goto loop           # jump only
          t = add(t, one) if t <= 0 goto loop     # both in one instruction
          u = mul(z[2], s[2]) width 1   # single columns: the third of z and of s
          advance loop.a by 4           # add 4 to the address that operand a of 'loop' holds
          rewind loop.ac to x           # put the address of x into operand a and into the result
          halt

The functions of one operand (``transpose(a)``) get ``zero`` as their second. The cells ``one``, ``zero`` and ``junk``
are always there: a statement without a jump has the flag ``one``, which never jumps; a jump alone computes
``junk = add(zero, zero)`` (Corollary 1).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.fleq.language import FUNCTIONS, FleqProgram, Instruction, PointerMove
from attention_theory.looped_transformers.machine.listing import AssemblyError, find, labelled_lines, refuse_twice
from attention_theory.validation import Each, require

Value = float | Tensor

_CELL = r"[a-z]\w*(?:\[\d+\])?"
_STATEMENT = re.compile(
    rf"(?:(?P<c>{_CELL})\s*=\s*(?P<function>\w+)\(\s*(?P<a>{_CELL})\s*(?:,\s*(?P<b>{_CELL})\s*)?\)\s*"
    rf"(?:width\s+(?P<width>\d+)\s*)?)?"
    rf"(?:if\s+(?P<flag>{_CELL})\s*<=\s*0\s+goto\s+(?P<target>\w+))?",
    re.ASCII,
)
_MOVE = re.compile(
    rf"(?:advance\s+(?P<next>\w+)\.(?P<next_fields>[abc]+)(?:\s+by\s+(?P<by>\d+))?"
    rf"|rewind\s+(?P<back>\w+)\.(?P<back_fields>[abc]+)\s+to\s+(?P<to>{_CELL}))",
    re.ASCII,
)


def assemble(
    text: str,
    variables: Mapping[str, Value],
    size: int,
    columns: Mapping[str, int] | None = None,
    functions: Collection[str] = FUNCTIONS,
    width: int | None = None,
) -> FleqProgram:
    """Make a program.

    Args:
        text: the statements.
        variables: the named variables in memory order, with what they hold at the start: a number (first entry), or a
            matrix of at most ``size`` by ``size``, padded with zeros.
        size: ``d``.
        columns: the columns set aside for a variable, where that is not ``d``.
        functions: the names of the functions that the statements may use.
        width: of a statement that names none; ``size`` unless given.

    Raises:
        AssemblyError: a line that cannot be read, an unknown name, function or label, or a name given twice.
        ParameterError: ``size`` below 1.
    """
    require(size=(size, 1, None))
    memory, addresses = _layout({"one": 1.0, "zero": 0.0, "junk": 0.0, **variables}, size, columns or {})
    labels, statements = _labelled(text)
    code = [_instruction(number, line, place, addresses, labels, size, functions, width or size)
            for place, (number, line) in enumerate(statements)]  # fmt: skip
    if not statements or statements[-1][1] != "halt":
        raise AssemblyError("the last statement must be 'halt'")
    return FleqProgram(tuple(code), memory, addresses, labels)


def with_inputs(program: FleqProgram, inputs: Mapping[str, Value]) -> FleqProgram:
    """The program with other values in its variables at the start, each padded with zeros to the variable's columns.

    Raises:
        ParameterError: a variable that the program does not have.
        AssemblyError: a matrix that does not fit.
    """
    if inputs:
        require(inputs=(Each(list(inputs)), list(program.addresses)))
    memory, starts = program.memory.clone(), sorted(program.addresses.values())
    for name, value in inputs.items():
        start = program.addresses[name]
        stop = next((place for place in starts if place > start), len(memory))
        memory[start:stop] = _cells(name, value, program.size, stop - start, memory.device)
    return replace(program, memory=memory)


def _layout(variables: Mapping[str, Value], size: int, columns: Mapping[str, int]) -> tuple[Tensor, dict[str, int]]:
    """Consecutive cells for every variable, in float64 and where the matrices among them lie."""
    device = next((value.device for value in variables.values() if isinstance(value, Tensor)), torch.device("cpu"))
    addresses: dict[str, int] = {}
    cells: list[Tensor] = []
    for name, value in variables.items():
        addresses[name] = sum(len(cell) for cell in cells)
        cells.append(_cells(name, value, size, columns.get(name, size), device))
    return torch.cat(cells), addresses


def _cells(name: str, value: Value, size: int, room: int, device: torch.device) -> Float[Tensor, "room size"]:
    """A number or a matrix in cells, one a column, padded with zeros."""
    matrix = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64, device=device)
    matrix = matrix.reshape(1, 1) if matrix.ndim == 0 else matrix
    if matrix.ndim != 2 or matrix.shape[0] > size or matrix.shape[1] > room:
        raise AssemblyError(f"variable '{name}': shape {tuple(matrix.shape)} does not fit {size} by {room}")
    block = torch.zeros(room, size, dtype=torch.float64, device=device)
    block[: matrix.shape[1], : matrix.shape[0]] = matrix.mT
    return block


def _labelled(text: str) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """The labels with the statements they stand at, and the statements with their line numbers."""
    labels: dict[str, int] = {}
    statements: list[tuple[int, str]] = []
    for number, names, line in labelled_lines(text):
        for name in names:
            refuse_twice(number, "label", name, labels)
            labels[name] = len(statements)
        if line:
            statements.append((number, line))
    return labels, statements


def _cell(number: int, addresses: Mapping[str, int], name: str) -> int:
    base, _, index = name.partition("[")
    return find(number, "variable", base, addresses) + (int(index[:-1]) if index else 0)


def _instruction(
    number: int,
    line: str,
    place: int,
    addresses: Mapping[str, int],
    labels: Mapping[str, int],
    size: int,
    functions: Collection[str],
    default: int,
) -> Instruction | PointerMove:
    cell, label = partial(_cell, number, addresses), partial(find, number, "label", places=labels)
    if line == "halt":
        return Instruction("add", cell("zero"), cell("zero"), cell("junk"), cell("zero"), place, size)
    if found := _MOVE.fullmatch(line):
        if found["next"]:
            by, flag = int(found["by"] or 1), cell("one")
            return PointerMove(label(found["next"]), found["next_fields"], by, flag=flag)
        return PointerMove(label(found["back"]), found["back_fields"], to=cell(found["to"]), flag=cell("one"))
    found = _STATEMENT.fullmatch(line)
    if not found:
        raise AssemblyError(f"line {number}: cannot read '{line}'")
    function = found["function"] or "add"
    if function not in functions:
        raise AssemblyError(f"line {number}: unknown function '{function}'; there are {', '.join(functions)}")
    width = int(found["width"] or default)
    if not 1 <= width <= size:
        raise AssemblyError(f"line {number}: width must be from 1 to {size}, got {width}")
    return Instruction(
        function,
        cell(found["a"] or "zero"),
        cell(found["b"] or "zero"),
        cell(found["c"] or "junk"),
        cell(found["flag"] or "one"),
        label(found["target"]) if found["target"] else place + 1,
        width,
    )

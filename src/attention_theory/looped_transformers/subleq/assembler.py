"""From the text of a SUBLEQ program to a :class:`~attention_theory.looped_transformers.subleq.language.SubleqProgram`.

One statement a line is one instruction; ``#`` begins a comment, ``name:`` in front of a statement labels it::

    x = 7                              # a memory cell by name, with what it holds at the start
    list = 3 1 -4                      # three cells: list[0], list[1], list[2]
    loop: sum -= x                     # mem[sum] -= mem[x], then go on to the next line
          y -= one if <= 0 goto done   # the same, and go to 'done' if the result is at most 0
          goto loop                    # short for: zero -= zero if <= 0 goto loop
    done: halt

Names and numbers are of ASCII letters and digits; invisible characters are refused outside of comments. The cells
``zero`` (0) and ``minus_one`` (-1) are always there and must stay as they are. ``mem[k]`` is cell ``k``.
"""

import re
from importlib import resources

from attention_theory.looped_transformers.machine.codes import address_bits as least_address_bits
from attention_theory.looped_transformers.machine.listing import AssemblyError, find, labelled_lines, refuse_twice
from attention_theory.looped_transformers.subleq.language import RESERVED, SubleqProgram
from attention_theory.validation import require

_NAMES = ("zero", "minus_one")
_NUMBER = r"\d{1,19}"  # enough for 62 bits
_CELL = rf"[a-z]\w*(?:\[{_NUMBER}\])?"
_DATA = re.compile(rf"(?P<name>[a-z]\w*)\s*=\s*(?P<values>-?{_NUMBER}(?:[\s,]+-?{_NUMBER})*)", re.ASCII)
_STATEMENT = re.compile(rf"(?P<b>{_CELL})\s*-=\s*(?P<a>{_CELL})(?:\s+if\s*<=\s*0\s+goto\s+(?P<c>\w+))?", re.ASCII)
_GOTO = re.compile(r"goto\s+(?P<c>\w+)", re.ASCII)


def assemble(text: str, bits: int = 8, address_bits: int | None = None, scratch: int = 1) -> SubleqProgram:
    """Make a program, or refuse it before anything runs.

    Args:
        text: as in the module's docstring.
        bits: N, bits of an integer: they must lie in ``[-2**(N-1) + 1, 2**(N-1) - 1]``.
        address_bits: L, bits of an address; any number of columns unless given.
        scratch: scratchpad columns of the machine.

    Raises:
        AssemblyError: a line that cannot be read, an unknown cell or label, a name given twice, an address or an
            integer out of range, a change to a reserved cell, no ``halt`` at the end, more columns than addresses.
    """
    require(bits=(bits, 2, 62), scratch=(scratch, 1, None))
    memory: list[int] = list(RESERVED)
    blocks: dict[str, range] = {name: range(place, place + 1) for place, name in enumerate(_NAMES)}
    labels: dict[str, int] = {}
    statements: list[tuple[int, str]] = []
    for number, names, line in labelled_lines(text):
        for name in names:
            refuse_twice(number, "label", name, labels)
            labels[name] = len(statements)
        if found := _DATA.fullmatch(line):
            refuse_twice(number, "cell", found["name"], [*blocks, "mem"])
            values = [_integer(number, value, bits) for value in re.split(r"[\s,]+", found["values"])]
            blocks[found["name"]] = range(len(memory), len(memory) + len(values))
            memory += values
        elif line:
            statements.append((number, line))
    _refuse_no_end(statements)
    blocks["mem"] = range(len(memory))
    code = [_instruction(number, line, place, blocks, labels) for place, (number, line) in enumerate(statements)]
    cells = {name: block.start for name, block in blocks.items() if name != "mem"}
    made = SubleqProgram(tuple(memory), tuple(code), cells, labels)
    _refuse_too_many_columns(made, address_bits, scratch)
    return made


def library() -> list[str]:
    """The names of the programs that come with the package."""
    folder = resources.files("attention_theory.looped_transformers.programs")
    return sorted(entry.name.removesuffix(".subleq") for entry in folder.iterdir() if entry.name.endswith(".subleq"))


def library_text(name: str) -> str:
    """The text of a program that comes with the package.

    Raises:
        ParameterError: no such program; the message lists those there are.
    """
    require(name=(name, library()))
    folder = resources.files("attention_theory.looped_transformers.programs")
    return (folder / f"{name}.subleq").read_text(encoding="utf-8")


def _instruction(
    number: int, line: str, place: int, blocks: dict[str, range], labels: dict[str, int]
) -> tuple[int, int, int]:
    if line == "halt":
        return 0, 1, place
    if found := _GOTO.fullmatch(line):
        return 0, 0, find(number, "label", found["c"], labels)
    found = _STATEMENT.fullmatch(line)
    if not found:
        raise AssemblyError(f"line {number}: cannot read '{line}'")
    a, b = (_cell(number, found[operand], blocks) for operand in ("a", "b"))
    if b == 1 or (b == 0 and a != 0):
        raise AssemblyError(f"line {number}: cell '{_NAMES[b]}' is reserved and must not change")
    return a, b, find(number, "label", found["c"], labels) if found["c"] else place + 1


def _cell(number: int, operand: str, blocks: dict[str, range]) -> int:
    name, _, index = operand.rstrip("]").partition("[")
    place, block = int(index or 0), find(number, "cell", name, blocks)
    if place >= len(block):
        raise AssemblyError(f"line {number}: address '{operand}' is out of range: '{name}' has {len(block)} cells")
    return block[place]


def _integer(number: int, text: str, bits: int) -> int:
    value, bound = int(text), 2 ** (bits - 1) - 1
    if abs(value) > bound:
        raise AssemblyError(f"line {number}: {text} is out of range: {bits} bits hold -{bound} to {bound}")
    return value


def _refuse_no_end(statements: list[tuple[int, str]]) -> None:
    if not statements or statements[-1][1] != "halt":
        last = statements[-1][0] if statements else 1
        raise AssemblyError(f"line {last}: the program has no end: its last statement must be 'halt'")
    for number, line in statements[:-1]:
        if line == "halt":
            raise AssemblyError(f"line {number}: 'halt' must be the last statement; use a label and 'goto'")


def _refuse_too_many_columns(made: SubleqProgram, address_bits: int | None, scratch: int) -> None:
    columns = made.columns(scratch)
    if address_bits is not None and columns > 2**address_bits:
        raise AssemblyError(
            f"{columns} columns are too many for {address_bits} address bits, which distinguish {2**address_bits}; "
            f"use {least_address_bits(columns)}"
        )

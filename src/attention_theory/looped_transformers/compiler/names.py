"""What the names of a source stand for: cells, lists and constants; and which of them surely have a value."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from attention_theory.looped_transformers.compiler import code as ir

#: A longer program is refused: each instruction is a token, and the optimiser would take minutes.
MOST_INSTRUCTIONS = 4_000

#: Names that the assembler, or this compiler, has for itself.
_TAKEN = re.compile(r"zero|one|minus_one|junk|error|mem|goto|if|halt|(\w+_)?result|[tcsv]_\w+", re.ASCII)
_NAMEABLE = re.compile(r"[a-z]\w{0,30}", re.ASCII)


class CompileError(ValueError):
    """The source is not in the subset of Python. The message names the line and the reason."""


@dataclass(frozen=True)
class ListOf:
    """A list: its block of cells."""

    block: str


@dataclass
class Frame:
    """A function that is being written out.

    Attributes:
        name: of the function.
        prefix: of the names of its cells.
        end: the label behind its code.
        places: what its names mean.
        known: the names that surely have a value here; ``None`` where no run comes.
        returns: what it returned so far: ``int``, ``None`` or a list.
        loops: the labels of ``continue`` and ``break`` of the loops around, and the known names at the breaks.
        given: the parameters.
        walked: the lists that loops around go over.
    """

    name: str
    prefix: str
    end: str
    places: dict[str, str | ListOf] = field(default_factory=dict)
    known: set[str] | None = field(default_factory=set)
    returns: list[Any] = field(default_factory=list)
    loops: list[tuple[str, str, list[set[str] | None]]] = field(default_factory=list)
    given: Sequence[str] = ()
    walked: list[str] = field(default_factory=list)


def refuse(node: ast.AST, reason: str) -> NoReturn:
    raise CompileError(f"line {getattr(node, 'lineno', 1)}: {reason}")


def words(node: ast.AST) -> str:
    """A node as the source would have it, cut short."""
    try:
        text = ast.unparse(node)
    except (AttributeError, TypeError, ValueError, RecursionError):
        text = ""
    text = " ".join(text.split()) or type(node).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."


class Names:
    """The code as far as it is written, and what the names in it stand for."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, int] = {}
        self.code: list[ir.Instruction] = []
        self.cells: dict[str, int] = {}
        self.blocks: dict[str, tuple[int, ...]] = {}
        self.frames: list[Frame] = []
        self.numbers: dict[str, int] = {}
        self.variables: dict[str, str] = {}
        self.named: dict[tuple[str, str], str] = {}

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def _emit(self, instruction: ir.Instruction) -> None:
        if self.frame.known is not None or isinstance(instruction, ir.Label | ir.Stop):
            self.code.append(instruction)
        if len(self.code) > MOST_INSTRUCTIONS:
            raise CompileError(
                f"line {instruction.line}: the program gets longer than {MOST_INSTRUCTIONS} instructions"
            )

    def _number(self, kind: str) -> int:
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return self.numbers[kind]

    def _label(self) -> str:
        return f"L{self._number('label')}"

    def _temporary(self) -> str:
        name = f"t_{self._number('temporary')}"
        self.cells[name] = 0
        return name

    def _copied(self, node: ast.AST, value: ir.Operand) -> str:
        cell = self._temporary()
        self._emit(ir.Copy(cell, value, getattr(node, "lineno", 0)))
        return cell

    def _place(self, name: str) -> str:
        """The cell of a variable of this function; its name is the variable's where the assembler can say it."""
        place = self.frame.places.get(name)
        if isinstance(place, str):
            return place
        cell = self._name_of(name)
        self.frame.places[name] = cell
        self.cells.setdefault(cell, 0)
        return cell

    def _name_of(self, name: str) -> str:
        key, wanted = (self.frame.name, name), f"{self.frame.prefix}{name}"
        if key not in self.named:
            usable = _NAMEABLE.fullmatch(wanted) and not _TAKEN.fullmatch(wanted)
            usable = usable and wanted not in (*self.cells, *self.blocks)
            self.named[key] = cell = wanted if usable else f"v_{self._number('variable')}"
            self.variables[cell] = wanted
        return self.named[key]

    def _know(self, name: str) -> None:
        if self.frame.known is not None:
            self.frame.known.add(name)

    def _new_list(self, node: ast.AST, name: str, values: tuple[int, ...]) -> str:
        if not values:
            refuse(node, f"the list '{name}' has no items; its length is fixed, so it needs at least one")
        block = self._name_of(name)
        self.blocks.setdefault(block, values)
        self.frame.places[name] = ListOf(block)
        return block

    def _cell(self, node: ast.AST, name: str) -> ir.Operand:
        """The value of a name."""
        place = self.frame.places.get(name)
        if place is None and name in self.constants:
            return self.constants[name]
        if isinstance(place, ListOf):
            refuse(node, f"'{name}' is a list where a number must be")
        if self.frame.known is not None and (place is None or name not in self.frame.known):
            hint = " on every way that leads here" if place is not None else ""
            refuse(node, f"'{name}' has no value{hint}")
        return place if place is not None else 0

    def _block(self, node: ast.AST) -> str:
        """The list that a name stands for."""
        if not isinstance(node, ast.Name):
            refuse(node, "a list must have a name")
        place = self.frame.places.get(node.id)
        if not isinstance(place, ListOf) or (self.frame.known is not None and node.id not in self.frame.known):
            refuse(node, f"'{node.id}' is no list" if isinstance(place, str) else f"'{node.id}' has no value")
        return place.block

    def _fits(self, node: ast.AST, value: int) -> int:
        half = 1 << (self.bits - 1)
        if not -half <= value < half:
            shown = value if abs(value) < 10**20 else "a number of more than 20 digits"
            refuse(node, f"{shown} does not fit in {self.bits} bits, which hold {-half} to {half - 1}")
        return value

    def _literal(self, node: ast.AST) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return self._fits(node, int(value))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return self._fits(node, -int(value))
            case ast.Name(id=name) if name in self.constants and not (self.frames and name in self.frame.places):
                return self.constants[name]
        refuse(node, "a number is needed here that is known before the program runs")

"""What the two targets share: the statements of a program as they are written, with their lines in the source."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.intervals import Interval, at_each
from attention_theory.validation import ParameterError

_Program = TypeVar("_Program")


@dataclass(frozen=True)
class Lowered(Generic[_Program]):
    """A program for a machine.

    Attributes:
        program: the program.
        text: in the assembler's language.
        lines: for each instruction, the line of the source that it is there for; 0 for none.
        errors: the line and exception for each number that the cell ``error`` can hold, from 1.
    """

    program: _Program
    text: str
    lines: tuple[int, ...]
    errors: tuple[tuple[int, str], ...]


@dataclass
class Writer(ABC):
    """Collects statements, their lines in the source, and the cells that they need."""

    code: ir.Code
    bits: int
    statements: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    constants: dict[int, str] = field(default_factory=dict)
    errors: dict[tuple[int, str], int] = field(default_factory=dict)
    rules: int = 0
    line: int = 0

    def write(self) -> None:
        """Write all instructions, and the end."""
        for instruction, known in zip(self.code.instructions, at_each(self.code, self.bits), strict=True):
            self.line = instruction.line
            self.instruction(instruction, known)
        self.line = 0
        self.labels.append("_end")
        self.put("halt")

    def instruction(self, instruction: ir.Instruction, known: Mapping[str, Interval]) -> None:
        """Write one instruction."""
        match instruction:
            case ir.Label(name):
                self.labels.append(name)
            case ir.Jump(label):
                self.jump(label)
            case ir.Stop(None):
                self.jump("_end")
            case ir.Stop(str(error)):
                self.stop(error)
            case ir.Copy(target, source):
                self.copy(target, source)
            case ir.Compute():
                self.compute(instruction)
            case ir.Branch():
                self.branch(instruction, known)
            case ir.Load(target, block, int(index)):
                self.copy(target, self.item(block, index))
            case ir.Load(target, block, str(index)):
                self.load(target, block, index, known)
            case ir.Store(block, int(index), source):
                self.copy(self.item(block, index), source)
            case ir.Store(block, str(index), source):
                self.store(block, index, source, known)

    @abstractmethod
    def jump(self, label: str) -> None:
        """Write a jump."""

    @abstractmethod
    def stop(self, error: str) -> None:
        """Write the end of the program by an exception."""

    @abstractmethod
    def copy(self, target: str, source: ir.Operand) -> None:
        """Write ``target = source``."""

    @abstractmethod
    def compute(self, one: ir.Compute) -> None:
        """Write a computation."""

    @abstractmethod
    def branch(self, one: ir.Branch, known: Mapping[str, Interval]) -> None:
        """Write a branch."""

    @abstractmethod
    def load(self, target: str, block: str, index: str, known: Mapping[str, Interval]) -> None:
        """Write ``target = block[index]``."""

    @abstractmethod
    def store(self, block: str, index: str, source: ir.Operand, known: Mapping[str, Interval]) -> None:
        """Write ``block[index] = source``."""

    def put(self, statement: str) -> None:
        """Write a statement behind the labels that wait for it."""
        labels = "".join(f"{label}: " for label in self.labels)
        self.labels.clear()
        self.statements.append(f"{labels}{statement}")
        self.lines.append(self.line)

    def number(self, value: int) -> str:
        """A cell that holds a number; it may be moved and put back."""
        return self.constants.setdefault(value, f"c_{value}" if value >= 0 else f"c_m{-value}")

    def cell(self, operand: ir.Operand) -> str:
        """A cell that holds an operand."""
        return self.number(operand) if isinstance(operand, int) else operand

    def item(self, block: str, index: int) -> str:
        """An item of a list."""
        return f"{block}[{index}]" if len(self.code.blocks[block]) > 1 else block

    def error(self, error: str) -> int:
        """The number of an exception in this line.

        Raises:
            ParameterError: more of them than a cell can number.
        """
        number = self.errors.setdefault((self.line, error), len(self.errors) + 1)
        if number >= 1 << (self.bits - 1):
            raise ParameterError(f"bits must suffice to number the places that may stop the program, got {self.bits}")
        return number

    @property
    def body(self) -> str:
        """The statements."""
        return "\n".join(self.statements)

    def data(self, *passing: str) -> dict[str, tuple[int, ...]]:
        """The cells and lists that are used, or are to be seen, with what they hold at the start."""
        used = set(re.findall(r"[a-z]\w*", self.body))
        data = {name: (value,) for name, value in self.code.cells.items()} | dict(self.code.blocks)
        data |= dict.fromkeys(("error", *passing), (0,))
        kept = {*self.code.inputs, *self.code.variables, self.code.result}
        data = {name: values for name, values in data.items() if name in used or name in kept}
        return data | {name: (value,) for value, name in self.constants.items()}

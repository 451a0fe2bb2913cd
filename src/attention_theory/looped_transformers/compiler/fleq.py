"""From the intermediate form to FLEQ: an instruction becomes one statement, an index some moves of a pointer.

Every operator and relation has a function block (:mod:`.blocks.integers`). A relation leaves what is at most 0 where it
holds, and the statement jumps on that. A jump needs no statement where the one before it has none. A pointer can only
be moved by a number that the program names, so it goes to the list and then on by 1, 2, 4 ..., for each digit of the
index that is on.
"""

from collections.abc import Mapping

import torch

from attention_theory.looped_transformers.blocks._integers import FUNCTIONS
from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.intervals import Interval, interval
from attention_theory.looped_transformers.compiler.writer import Lowered, Writer
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.validation import require

#: The smallest matrices that the machine has; a number is the first entry of one, and needs one of its columns.
SIZE = 2

_OPERATORS: dict[ir.Operator, str] = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}
_RELATIONS: dict[ir.Relation, str] = {"<=": "le", "<": "lt", "==": "eq", "!=": "ne"}


def lower(code: ir.Code, bits: int) -> Lowered[FleqProgram]:
    """Write the program as FLEQ.

    Args:
        code: the program.
        bits: N, from 4 to 20.

    Raises:
        ParameterError: bits out of range, or more places that may stop the program than a cell can number.
    """
    require(bits=(bits, 4, 20))
    writer = _Writer(code, bits)
    writer.write()
    data = writer.data()
    variables = {name: torch.tensor([values], dtype=torch.float64) for name, values in data.items()}
    columns = {name: len(values) for name, values in data.items()}
    program = assemble(writer.body, variables, SIZE, columns, FUNCTIONS, width=1)
    shown = [f"{name} = {' '.join(map(str, values))}" for name, values in data.items()]
    text = "\n".join([*shown, "", writer.body])
    return Lowered(program, text, tuple(writer.lines), tuple(writer.errors))


class _Writer(Writer):
    """Writes statements of FLEQ."""

    def number(self, value: int) -> str:
        return {0: "zero", 1: "one"}.get(value) or super().number(value)

    def jump(self, label: str, flag: str = "zero") -> None:
        """Jump where the flag is at most 0: in the statement before if that computes, and only it leads here."""
        if not self.labels and self.statements and " goto " not in self.statements[-1] and "(" in self.statements[-1]:
            self.statements[-1] += f" if {flag} <= 0 goto {label}"
        else:
            self.put(f"if {flag} <= 0 goto {label}")

    def test(self, function: str, left: ir.Operand, right: ir.Operand, label: str) -> None:
        """Jump where what the function makes of the operands is at most 0."""
        self.put(f"junk = {function}({self.cell(left)}, {self.cell(right)})")
        self.jump(label, "junk")

    def stop(self, error: str) -> None:
        self.copy("error", self.error(error))
        self.jump("_end")

    def copy(self, target: str, source: ir.Operand) -> None:
        if source != target:
            self.put(f"{target} = add({self.cell(source)}, zero)")

    def compute(self, one: ir.Compute) -> None:
        self.put(f"{one.target} = {_OPERATORS[one.operator]}({self.cell(one.left)}, {self.cell(one.right)})")

    def branch(self, one: ir.Branch, known: Mapping[str, Interval]) -> None:
        if one.relation == "<=" and one.right == 0:
            self.jump(one.label, self.cell(one.left))
        else:
            self.test(_RELATIONS[one.relation], one.left, one.right, one.label)

    def load(self, target: str, block: str, index: str, known: Mapping[str, Interval]) -> None:
        self.point("a", block, index, known)
        self.put(f"{target} = add({block}, zero)")

    def store(self, block: str, index: str, source: ir.Operand, known: Mapping[str, Interval]) -> None:
        self.point("c", block, index, known)
        self.put(f"{block} = add({self.cell(source)}, zero)")

    def point(self, operand: str, block: str, index: str, known: Mapping[str, Interval]) -> None:
        """Move an address in the statement to come, from the list's first item to the one at the index."""
        self.rules += 1
        own, length = f"k{self.rules}", len(self.code.blocks[block])
        _, high = interval(index, known, self.bits)
        if high >= length:
            self.test("lt", index, length, f"{own}_in")
            self.stop("IndexError")
            self.labels.append(f"{own}_in")
        self.put(f"rewind {own}.{operand} to {block}")
        for place in reversed(range(min(high, length - 1).bit_length())):
            self.test("digit", index, 1 << place, f"{own}_{place}")
            self.put(f"advance {own}.{operand} by {1 << place}")
            self.labels.append(f"{own}_{place}")
        self.labels.append(own)

"""From the intermediate form to SUBLEQ: every instruction becomes a few subtractions by a rule."""

import re
from collections.abc import Iterator, Mapping

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.intervals import Interval, interval
from attention_theory.looped_transformers.compiler.subleq_rules import RULES
from attention_theory.looped_transformers.compiler.writer import Lowered, Writer
from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import require

#: Cells for passing use, by the letters of the rules.
_PASSING = {letter: f"s_{number}" for number, letter in enumerate("PQRSTUV", start=1)}


def lower(code: ir.Code, bits: int) -> Lowered[SubleqProgram]:
    """Write the program as SUBLEQ.

    Args:
        code: the program.
        bits: N, at least 4, so that a cell can count its own bits.

    Raises:
        ParameterError: bits out of range, or more places that may stop the program than a cell can number.
    """
    require(bits=(bits, 4, 62))
    writer = _Writer(code, bits)
    writer.write()
    data, least = writer.data(*_PASSING.values()), -(1 << (bits - 1))
    shown = [f"{name} = {' '.join(str(max(value, least + 1)) for value in values)}" for name, values in data.items()]
    text = "\n".join([*shown, "", writer.body])
    lowest = {name: values for name, values in data.items() if least in values}
    return Lowered(assemble(text, bits).with_inputs(lowest), text, tuple(writer.lines), tuple(writer.errors))


class _Writer(Writer):
    """Writes statements of SUBLEQ, by the rules."""

    def jump(self, label: str) -> None:
        self.put(f"goto {label}")

    def constant(self, value: int) -> str:
        """A cell with a number, to be read only."""
        value = ir.wrap(value, self.bits)
        return {0: "zero", -1: "minus_one"}.get(value) or self.number(value)

    def rule(self, name: str, **operands: str) -> None:
        """Put a rule's statements with the operands in place."""
        self.rules += 1
        for statement in filter(None, (line.strip() for line in RULES[name].splitlines())):
            if label := re.match(r"\.(\w+):\s*", statement):
                self.labels.append(f"r{self.rules}_{label[1]}")
                statement = statement[label.end() :]
            if statement:
                self.put(
                    re.sub(r"\.(\w+)|\{(-?\w+)\}|\b([A-Z])\b", lambda found: self.word(found, operands), statement)
                )

    def word(self, found: re.Match[str], operands: Mapping[str, str]) -> str:
        label, number, letter = found.groups()
        if label:
            return f"r{self.rules}_{label}"
        if number:
            return self.constant({"N": self.bits, "-N": -self.bits}.get(number) or int(number))
        return operands.get(letter) or _PASSING[letter]

    def stop(self, error: str) -> None:
        number = self.error(error)
        self.put(f"error -= {self.constant(-number)}")
        self.put("goto _end")

    def clear(self, cell: str) -> None:
        self.put(f"{cell} -= {cell}")

    def add_number(self, target: str, value: int) -> None:
        if ir.wrap(value, self.bits):
            self.put(f"{target} -= {self.constant(-value)}")

    def copy(self, target: str, source: ir.Operand) -> None:
        if isinstance(source, int):
            self.clear(target)
            self.add_number(target, source)
        elif source != target:
            self.rule("copy", A=source, D=target)

    def compute(self, one: ir.Compute) -> None:
        target, left, operator, right = one.target, one.left, one.operator, one.right
        match operator:
            case "+":
                self.add(target, left, right)
            case "-":
                self.subtract(target, left, right)
            case "*":
                self.multiply(target, left, right)
            case _:
                operands = {"A": self.cell(left), "B": self.cell(right), "D": target}
                self.rule("divide", **operands)
                self.rule("quotient" if operator == "//" else "remainder", **operands)

    def add(self, target: str, left: ir.Operand, right: ir.Operand) -> None:
        if isinstance(left, int) or right == target:
            left, right = right, left
        if isinstance(right, int):
            self.copy(target, left)
            self.add_number(target, right)
        elif left == target:
            self.clear("s_1")
            self.put(f"s_1 -= {right}")
            self.put(f"{target} -= s_1")
        else:
            self.rule("add", A=self.cell(left), B=right, D=target)

    def subtract(self, target: str, left: ir.Operand, right: ir.Operand) -> None:
        if isinstance(right, int):
            self.add(target, left, ir.wrap(-right, self.bits))
        elif right != target:
            self.copy(target, left)
            self.put(f"{target} -= {right}")
        else:
            self.rule("subtract", A=self.cell(left), B=right, D=target)

    def multiply(self, target: str, left: ir.Operand, right: ir.Operand) -> None:
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, str) and isinstance(right, int):
            self.multiply_by_number(target, left, right)
        else:
            self.rule("multiply", A=self.cell(left), B=self.cell(right), D=target)

    def multiply_by_number(self, target: str, cell: str, value: int) -> None:
        """From the highest digit on: ``s_1`` is minus the multiple so far."""
        self.clear("s_1")
        for place, digit in enumerate(f"{abs(value):b}"):
            if place:
                self.clear("s_2")
                self.put("s_2 -= s_1")
                self.put("s_1 -= s_2")
            if digit == "1":
                self.put(f"s_1 -= {cell}")
        if value > 0:
            self.clear(target)
            self.put(f"{target} -= s_1")
        else:
            self.copy_passing(target)

    def copy_passing(self, target: str) -> None:
        self.clear("s_2")
        self.put("s_2 -= s_1")
        self.clear(target)
        self.put(f"{target} -= s_2")

    def branch(self, one: ir.Branch, known: Mapping[str, Interval]) -> None:
        left, right, relation = one.left, one.right, one.relation
        if relation in ("<", "!="):  # past a jump that the opposite takes around it
            past = f"p{self.rules + 1}"
            left, relation, right = (right, "<=", left) if relation == "<" else (left, "==", right)
            self.test(left, relation, right, past, known)
            self.put(f"goto {one.label}")
            self.labels.append(past)
        else:
            self.test(left, relation, right, one.label, known)

    def test(
        self, left: ir.Operand, relation: ir.Relation, right: ir.Operand, label: str, known: Mapping[str, Interval]
    ) -> None:
        """Branch to a label if ``left <= right``, or if they are equal."""
        if relation == "==":
            zero, other = (left, right) if isinstance(left, int) else (right, left)
            name = "zero" if zero == 0 else "equal"
            self.rule(name, A=self.cell(other), B=self.cell(zero), L=label)
        elif right == 0:
            self.rule("at most zero", A=self.cell(left), L=label)
        elif right == -1:
            self.rule("negative", A=self.cell(left), L=label)
        elif left in (0, 1):
            past = f"q{self.rules + 1}"
            self.rule("negative" if left == 0 else "at most zero", A=self.cell(right), L=past)
            self.put(f"goto {label}")
            self.labels.append(past)
        else:
            (low, high), (least, most) = interval(left, known, self.bits), interval(right, known, self.bits)
            half = 1 << (self.bits - 1)
            near = -half <= low - most and high - least < half
            self.rule("at most, near" if near else "at most", A=self.cell(left), B=self.cell(right), L=label)

    def cases(self, block: str, index: str, known: Mapping[str, Interval]) -> Iterator[int]:
        """Count an index down to its case, and yield each case's number where its code belongs."""
        low, high = interval(index, known, self.bits)
        length = len(self.code.blocks[block])
        reachable = range(max(low, 0), min(high + 1, length))
        self.rules += 1
        own = f"k{self.rules}"
        self.copy("s_3", index)
        for case in reachable:
            step = "zero" if case == 0 else self.constant(case if case == reachable[0] else 1)
            self.put(f"s_3 -= {step} if <= 0 goto {own}_{case}")
        if high >= length:
            self.stop("IndexError")
        for case in reachable:
            self.labels.append(f"{own}_{case}")
            yield case
            if case != reachable[-1]:
                self.put(f"goto {own}_end")
        self.labels.append(f"{own}_end")

    def load(self, target: str, block: str, index: str, known: Mapping[str, Interval]) -> None:
        self.clear("s_2")
        for case in self.cases(block, index, known):
            self.put(f"s_2 -= {self.item(block, case)}")
        self.clear(target)
        self.put(f"{target} -= s_2")

    def store(self, block: str, index: str, source: ir.Operand, known: Mapping[str, Interval]) -> None:
        minus = "s_2" if isinstance(source, str) else self.constant(-source)
        if isinstance(source, str):
            self.clear("s_2")
            self.put(f"s_2 -= {source}")
        for case in self.cases(block, index, known):
            self.clear(self.item(block, case))
            if minus != "zero":
                self.put(f"{self.item(block, case)} -= {minus}")

"""From the intermediate form to SUBLEQ: every instruction becomes a few subtractions by a rule that one can read.

A rule is text in the assembler's language. ``A``, ``B`` and ``D`` are the operands and the result, ``P`` to ``V`` cells
for passing use, ``{k}`` a cell that holds the number k, ``.name`` a label of this rule, ``L`` the place to branch to.
``zero`` and ``minus_one`` are the machine's own constants. Rules that move an operand put it back.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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
    Store,
    wrap,
)
from attention_theory.looped_transformers.compiler.intervals import Interval, at_each, interval
from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import ParameterError, require

#: Cells for passing use, by the letters of the rules.
_PASSING = {letter: f"s_{number}" for number, letter in enumerate("PQRSTUV", start=1)}

RULES: dict[str, str] = {
    "copy": """
        P -= P
        P -= A
        D -= D
        D -= P
    """,
    "add": """
        P -= P
        P -= A
        P -= B
        D -= D
        D -= P
    """,
    "subtract": """
        P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B
        P -= P
        P -= Q
        D -= D
        D -= P
    """,
    "at most zero": """
        A -= zero if <= 0 goto L
    """,
    "negative": """
        A -= zero if <= 0 goto .low
        goto .no
.low:   A -= minus_one if <= 0 goto .yes
        A -= {1}
        goto .no
.yes:   A -= {1}
        goto L
.no:
    """,
    "zero": """
        A -= zero if <= 0 goto .low
        goto .no
.low:   A -= minus_one if <= 0 goto .back
        A -= {1}
        goto L
.back:  A -= {1}
.no:
    """,
    "equal": """
        P -= P
        P -= A
        Q -= Q
        Q -= B
        P -= Q if <= 0 goto .low
        goto .no
.low:   P -= minus_one if <= 0 goto .no
        goto L
.no:
    """,
    # A - B does not overflow.
    "at most, near": """
        P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B if <= 0 goto L
    """,
    "at most": """
        A -= zero if <= 0 goto .low
        B -= zero if <= 0 goto .no
        goto .near
.low:   B -= zero if <= 0 goto .both
        goto L
.both:  A -= minus_one if <= 0 goto .below
        A -= {1}
        B -= minus_one if <= 0 goto .less
        B -= {1}
        goto L
.less:  B -= {1}
        goto .no
.below: A -= {1}
.near:  P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B if <= 0 goto L
.no:
    """,
    # From the highest bit of B: double, and take A once more where the bit is on. P is minus the product.
    "multiply": """
        P -= P
        Q -= Q
        Q -= B
        R -= R
        R -= Q
        S -= S
        S -= {-N}
.next:  Q -= Q
        Q -= P
        P -= Q
        R -= zero if <= 0 goto .low
        goto .off
.low:   R -= minus_one if <= 0 goto .on
        R -= {1}
        goto .off
.on:    R -= {1}
        P -= A
.off:   Q -= Q
        Q -= R
        R -= Q
        S -= {1} if <= 0 goto .end
        goto .next
.end:   D -= D
        D -= P
    """,
    # Long division of the sizes, bit by bit: P = -|B|, R the bits of |A|, Q = -remainder, U = -quotient, S the places
    # to come. T = 2 remainder + bit - |B| decides whether |B| goes in once more; no step overflows.
    "divide": """
        P -= P
        T -= T
        T -= B
        P -= T
        B -= zero if <= 0 goto .sized
        P -= P
        P -= B
.sized: R -= R
        T -= T
        T -= A
        A -= zero if <= 0 goto .minus
        R -= T
        goto .begin
.minus: Q -= Q
        Q -= T
        R -= Q
.begin: Q -= Q
        U -= U
        S -= S
        S -= {-N}
.next:  T -= T
        T -= U
        U -= T
        V -= V
        V -= P
        T -= T
        T -= V
        T -= Q
        T -= Q
        R -= zero if <= 0 goto .low
        goto .off
.low:   R -= minus_one if <= 0 goto .on
        R -= {1}
        goto .off
.on:    R -= {1}
        T -= minus_one
.off:   V -= V
        V -= R
        R -= V
        T -= zero if <= 0 goto .maybe
        goto .in
.maybe: T -= minus_one if <= 0 goto .out
        T -= {1}
.in:    Q -= Q
        Q -= T
        U -= {1}
        goto .count
.out:   T -= {1}
        V -= V
        V -= P
        Q -= Q
        Q -= V
        Q -= T
.count: S -= {1} if <= 0 goto .done
        goto .next
.done:
    """,
    # The signs differ, or A is 0 and so are quotient and remainder.
    "quotient": """
        A -= zero if <= 0 goto .below
        B -= zero if <= 0 goto .differ
        goto .same
.below: B -= zero if <= 0 goto .same
.differ: V -= V
        V -= U
        D -= D
        D -= V
        Q -= minus_one if <= 0 goto .down
        goto .end
.down:  D -= {1}
        goto .end
.same:  D -= D
        D -= U
.end:
    """,
    "remainder": """
        A -= zero if <= 0 goto .below
        B -= zero if <= 0 goto .differ
        goto .same
.below: B -= zero if <= 0 goto .same
.differ: Q -= minus_one if <= 0 goto .rest
        Q -= {1}
        goto .same
.rest:  Q -= {1}
        V -= V
        V -= P
        T -= T
        T -= V
        T -= Q
        Q -= Q
        V -= V
        V -= T
        Q -= V
.same:  B -= zero if <= 0 goto .turn
        D -= D
        D -= Q
        goto .end
.turn:  V -= V
        V -= Q
        D -= D
        D -= V
.end:
    """,
}


@dataclass(frozen=True)
class Lowered:
    """A program for the SUBLEQ machine.

    Attributes:
        program: the program.
        text: in the assembler's language.
        lines: for each instruction, the line of the source that it is there for; 0 for none.
        errors: the line and exception for each number that the cell ``error`` can hold, from 1.
    """

    program: SubleqProgram
    text: str
    lines: tuple[int, ...]
    errors: tuple[tuple[int, str], ...]


def lower(code: Code, bits: int) -> Lowered:
    """Write the program as SUBLEQ.

    Args:
        code: the program.
        bits: N, at least 4, so that a cell can count its own bits.

    Raises:
        ParameterError: bits out of range, or more places that may stop the program than a cell can number.
    """
    require(bits=(bits, 4, 62))
    writer = _Writer(code, bits)
    for instruction, known in zip(code.instructions, at_each(code, bits), strict=True):
        writer.instruction(instruction, known)
    return writer.finish()


@dataclass
class _Writer:
    """Collects statements, their lines in the source, and the cells that they need."""

    code: Code
    bits: int
    statements: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    constants: dict[int, str] = field(default_factory=dict)
    errors: dict[tuple[int, str], int] = field(default_factory=dict)
    rules: int = 0
    line: int = 0

    def instruction(self, instruction: Instruction, known: Mapping[str, Interval]) -> None:
        self.line = instruction.line
        match instruction:
            case Label(name):
                self.labels.append(name)
            case Jump(label):
                self.put(f"goto {label}")
            case Stop(None):
                self.put("goto _end")
            case Stop(str(error)):
                self.stop(error)
            case Copy(target, source):
                self.copy(target, source)
            case Compute():
                self.compute(instruction)
            case Branch():
                self.branch(instruction, known)
            case Load(target, block, index):
                self.load(target, block, index, known)
            case Store(block, index, source):
                self.store(block, index, source, known)

    def put(self, statement: str) -> None:
        labels = "".join(f"{label}: " for label in self.labels)
        self.labels.clear()
        self.statements.append(f"{labels}{statement}")
        self.lines.append(self.line)

    def constant(self, value: int) -> str:
        """A cell with a number, to be read only."""
        value = wrap(value, self.bits)
        return {0: "zero", -1: "minus_one"}.get(value) or self.movable(value)

    def movable(self, value: int) -> str:
        """A cell with a number that a rule may move and put back."""
        return self.constants.setdefault(value, f"c_{value}" if value >= 0 else f"c_m{-value}")

    def cell(self, operand: Operand) -> str:
        return self.movable(operand) if isinstance(operand, int) else operand

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
        number = self.errors.setdefault((self.line, error), len(self.errors) + 1)
        if number >= 1 << (self.bits - 1):
            raise ParameterError(f"bits must suffice to number the places that may stop the program, got {self.bits}")
        self.put(f"error -= {self.constant(-number)}")
        self.put("goto _end")

    def clear(self, cell: str) -> None:
        self.put(f"{cell} -= {cell}")

    def add_number(self, target: str, value: int) -> None:
        if wrap(value, self.bits):
            self.put(f"{target} -= {self.constant(-value)}")

    def copy(self, target: str, source: Operand) -> None:
        if isinstance(source, int):
            self.clear(target)
            self.add_number(target, source)
        elif source != target:
            self.rule("copy", A=source, D=target)

    def compute(self, one: Compute) -> None:
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

    def add(self, target: str, left: Operand, right: Operand) -> None:
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

    def subtract(self, target: str, left: Operand, right: Operand) -> None:
        if isinstance(right, int):
            self.add(target, left, wrap(-right, self.bits))
        elif right != target:
            self.copy(target, left)
            self.put(f"{target} -= {right}")
        else:
            self.rule("subtract", A=self.cell(left), B=right, D=target)

    def multiply(self, target: str, left: Operand, right: Operand) -> None:
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

    def branch(self, one: Branch, known: Mapping[str, Interval]) -> None:
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
        self, left: Operand, relation: Relation, right: Operand, label: str, known: Mapping[str, Interval]
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

    def load(self, target: str, block: str, index: Operand, known: Mapping[str, Interval]) -> None:
        if isinstance(index, int):
            self.copy(target, self.item(block, index))
            return
        self.clear("s_2")
        for case in self.cases(block, index, known):
            self.put(f"s_2 -= {self.item(block, case)}")
        self.clear(target)
        self.put(f"{target} -= s_2")

    def store(self, block: str, index: Operand, source: Operand, known: Mapping[str, Interval]) -> None:
        if isinstance(index, int):
            self.copy(self.item(block, index), source)
            return
        minus = "s_2" if isinstance(source, str) else self.constant(-source)
        if isinstance(source, str):
            self.clear("s_2")
            self.put(f"s_2 -= {source}")
        for case in self.cases(block, index, known):
            self.clear(self.item(block, case))
            if minus != "zero":
                self.put(f"{self.item(block, case)} -= {minus}")

    def item(self, block: str, index: int) -> str:
        return f"{block}[{index}]" if len(self.code.blocks[block]) > 1 else block

    def finish(self) -> Lowered:
        self.line = 0
        self.labels.append("_end")
        self.put("halt")
        body = "\n".join(self.statements)
        used = set(re.findall(r"[a-z]\w*", body))
        data = {name: (value,) for name, value in self.code.cells.items()} | dict(self.code.blocks)
        data |= {"error": (0,)} | dict.fromkeys(_PASSING.values(), (0,))
        kept = {*self.code.inputs, *self.code.variables, self.code.result}
        data = {name: values for name, values in data.items() if name in used or name in kept}
        data |= {name: (value,) for value, name in self.constants.items()}
        least = -(1 << (self.bits - 1))
        shown = [
            f"{name} = {' '.join(str(max(value, least + 1)) for value in values)}" for name, values in data.items()
        ]
        text = "\n".join([*shown, "", body])
        lowest = {name: values for name, values in data.items() if least in values}
        return Lowered(assemble(text, self.bits).with_inputs(lowest), text, tuple(self.lines), tuple(self.errors))

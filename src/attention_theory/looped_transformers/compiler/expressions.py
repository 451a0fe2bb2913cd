"""Names and expressions of the source as code of the intermediate form, and functions that are called.

A function that is called is written out at its place. Its variables have the same cells at every call, which is enough
where no function calls itself.
"""

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from attention_theory.looped_transformers.compiler import code as ir

#: A longer program is refused: each instruction is a token, and the optimiser would take minutes.
MOST_INSTRUCTIONS = 4_000

_OPERATORS: dict[type[ast.operator], ir.Operator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
#: The relation between the operands; true where they change places.
_RELATIONS: dict[type[ast.cmpop], tuple[ir.Relation, bool]] = {
    ast.Lt: ("<", False),
    ast.LtE: ("<=", False),
    ast.Gt: ("<", True),
    ast.GtE: ("<=", True),
    ast.Eq: ("==", False),
    ast.NotEq: ("!=", False),
}
_NEGATED: dict[ir.Relation, tuple[ir.Relation, bool]] = {
    "<": ("<=", True),
    "<=": ("<", True),
    "==": ("!=", False),
    "!=": ("==", False),
}
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


class Expressions(ABC):
    """Writes instructions as it walks through a tree."""

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

    @abstractmethod
    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Write the statements of a body."""

    # Names and places.

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
            refuse(node, f"{value} does not fit in {self.bits} bits, which hold {-half} to {half - 1}")
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

    # Expressions.

    def _value(self, node: ast.expr) -> ir.Operand:
        match node:
            case ast.Constant(value=int()):
                return self._literal(node)
            case ast.Name(id=name):
                return self._cell(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                return self._literal(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._compute(node, 0, ast.Sub(), self._value(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self._compute(node, self._value(left), op, self._value(right))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self._truth(node)
            case ast.BoolOp(op=op, values=values):
                return self._first_that_decides(node, isinstance(op, ast.Or), values)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript(value=owner, slice=index):
                block, target = self._block(owner), self._temporary()
                self._emit(ir.Load(target, block, self._index(index, block), node.lineno))
                return target
            case ast.Call():
                value = self._call(node, wanted=True)
                assert value is not None
                return value
            case ast.List() | ast.Tuple():
                refuse(node, "a list must get a name: xs = [...]")
        refuse(node, f"'{words(node)}' is not in the subset of Python that is compiled")

    def _compute(self, node: ast.AST, left: ir.Operand, op: ast.operator, right: ir.Operand) -> ir.Operand:
        operator = _OPERATORS.get(type(op))
        if operator is None:
            refuse(node, f"'{words(node)}' has another operator than + - * // and %")
        line, target = getattr(node, "lineno", 0), self._temporary()
        if operator in ("//", "%"):
            fine = self._label()
            self._emit(ir.Branch(right, "!=", 0, fine, line))
            self._emit(ir.Stop("ZeroDivisionError", line))
            self._emit(ir.Label(fine, line))
        self._emit(ir.Compute(target, left, operator, right, line))
        return target

    def _truth(self, node: ast.expr) -> ir.Operand:
        target, end = self._temporary(), self._label()
        self._emit(ir.Copy(target, 1, node.lineno))
        self._jump(node, end, True)
        self._emit(ir.Copy(target, 0, node.lineno))
        self._emit(ir.Label(end, node.lineno))
        return target

    def _first_that_decides(self, node: ast.BoolOp, true: bool, values: list[ast.expr]) -> ir.Operand:
        target, end = self._temporary(), self._label()
        for value in values[:-1]:
            self._emit(ir.Copy(target, self._value(value), node.lineno))
            self._emit(ir.Branch(target, "!=" if true else "==", 0, end, node.lineno))
        self._emit(ir.Copy(target, self._value(values[-1]), node.lineno))
        self._emit(ir.Label(end, node.lineno))
        return target

    def _choice(self, node: ast.IfExp) -> ir.Operand:
        target, otherwise, end = self._temporary(), self._label(), self._label()
        self._jump(node.test, otherwise, False)
        self._emit(ir.Copy(target, self._value(node.body), node.lineno))
        self._emit(ir.Jump(end, node.lineno))
        self._emit(ir.Label(otherwise, node.lineno))
        self._emit(ir.Copy(target, self._value(node.orelse), node.lineno))
        self._emit(ir.Label(end, node.lineno))
        return target

    def _jump(self, node: ast.expr, label: str, when: bool) -> None:
        """Jump where the condition is as wanted, else go on."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._jump(operand, label, not when)
            case ast.BoolOp(op=op, values=values):
                on = self._label()
                decisive = isinstance(op, ast.Or)
                for value in values[:-1]:
                    self._jump(value, label if decisive == when else on, decisive)
                self._jump(values[-1], label, when)
                self._emit(ir.Label(on, node.lineno))
            case ast.Compare(left=first, ops=ops, comparators=others):
                self._jump_if_compared(node, [first, *others], ops, label, when)
            case ast.Constant(value=int(value)):
                if bool(value) == when:
                    self._emit(ir.Jump(label, node.lineno))
            case _:
                self._emit(ir.Branch(self._value(node), "!=" if when else "==", 0, label, node.lineno))

    def _jump_if_compared(
        self, node: ast.Compare, terms: list[ast.expr], ops: list[ast.cmpop], label: str, when: bool
    ) -> None:
        """``a < b < c``: each term once, and no further than the first relation that fails."""
        out, left = self._label(), self._value(terms[0])
        for number, (op, term) in enumerate(zip(ops, terms[1:], strict=True)):
            if type(op) not in _RELATIONS:
                refuse(node, f"'{words(node)}' has another comparison than < <= > >= == and !=")
            right = self._value(term)
            relation, swapped = _RELATIONS[type(op)]
            last = number == len(ops) - 1
            if not (last and when):
                relation, other = _NEGATED[relation]
                swapped = swapped != other
            first, second = (right, left) if swapped else (left, right)
            self._emit(ir.Branch(first, relation, second, label if last or not when else out, node.lineno))
            left = right
        self._emit(ir.Label(out, node.lineno))

    def _index(self, node: ast.expr, block: str) -> ir.Operand:
        """An index of a list, counted from its end where it is negative."""
        length = len(self.blocks[block])
        if isinstance(node, ast.Slice | ast.Tuple):
            refuse(node, "an index is one number")
        index = self._value(node)
        if isinstance(index, int):
            if not -length <= index < length:  # no matter where the statement is never reached
                self._emit(ir.Stop("IndexError", node.lineno))
            return index % length
        place, fine = self._copied(node, index), self._label()
        self._emit(ir.Branch(0, "<=", place, fine, node.lineno))
        self._emit(ir.Compute(place, place, "+", self._fits(node, length), node.lineno))
        self._emit(ir.Branch(0, "<=", place, fine, node.lineno))
        self._emit(ir.Stop("IndexError", node.lineno))
        self._emit(ir.Label(fine, node.lineno))
        return place

    # Functions.

    def _call(self, node: ast.Call, wanted: bool) -> ir.Operand | None:
        if not isinstance(node.func, ast.Name) or node.keywords:
            refuse(node, "a call names a function and gives its arguments in order")
        name = node.func.id
        if name == "len" and name not in self.functions and len(node.args) == 1:
            return self._fits(node, len(self.blocks[self._block(node.args[0])]))
        if name not in self.functions:
            refuse(node, f"there is no function '{name}'; there are {', '.join(['len', *self.functions])}")
        if name in [frame.name for frame in self.frames]:
            refuse(node, f"'{name}' calls itself; there is no recursion")
        function = self.functions[name]
        parameters = [parameter.arg for parameter in function.args.args]
        if len(parameters) != len(node.args):
            refuse(node, f"'{name}' takes {len(parameters)} arguments, got {len(node.args)}")
        return self._write_out(node, function, parameters, wanted)

    def _write_out(
        self, node: ast.Call, function: ast.FunctionDef, parameters: list[str], wanted: bool
    ) -> ir.Operand | None:
        caller = self.frame
        given = [self._argument(one) for one in node.args]
        known: set[str] | None = None if caller.known is None else set()
        frame = Frame(function.name, f"{function.name}_", self._label(), known=known, given=parameters)
        self.frames.append(frame)
        for name, value in zip(parameters, given, strict=True):
            if isinstance(value, ListOf):
                frame.places[name] = value
            else:
                self._emit(ir.Copy(self._place(name), value, node.lineno))
            self._know(name)
        self._statements(function.body)
        self._emit(ir.Label(frame.end, node.lineno))
        falls_through = frame.known is not None
        self.frames.pop()
        if not wanted:
            if not falls_through and not frame.returns:
                caller.known = None
            return None
        if caller.known is not None and (falls_through or any(one is None for one in frame.returns)):
            refuse(node, f"'{function.name}' may end without a value")
        result = f"{function.name}_result"
        self.cells.setdefault(result, 0)
        return self._copied(node, result)

    def _argument(self, node: ast.expr) -> ir.Operand | ListOf:
        if isinstance(node, ast.Name) and isinstance(self.frame.places.get(node.id), ListOf):
            return ListOf(self._block(node))
        return self._value(node)


def words(node: ast.AST) -> str:
    """A node as the source would have it, cut short."""
    try:
        text = ast.unparse(node)
    except (AttributeError, TypeError, ValueError, RecursionError):
        text = ""
    text = " ".join(text.split()) or type(node).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

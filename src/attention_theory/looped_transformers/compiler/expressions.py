"""Expressions of the source as code of the intermediate form, and functions that are called.

A function that is called is written out at its place. Its variables have the same cells at every call, which is enough
where no function calls itself.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.names import Frame, ListOf, Names, refuse, words

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


class Expressions(Names, ABC):
    """Writes instructions as it walks through expressions."""

    @abstractmethod
    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Write the statements of a body."""

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
        return refuse(node, f"'{words(node)}' is not in the subset of Python that is compiled")

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
        if name in self.frame.places:
            refuse(node, f"'{name}' is a variable here, and no function")
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

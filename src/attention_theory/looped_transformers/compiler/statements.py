"""Statements of the source as code of the intermediate form."""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.expressions import Expressions
from attention_theory.looped_transformers.compiler.names import MOST_INSTRUCTIONS, ListOf, refuse, words


class Statements(Expressions):
    """Writes instructions as it walks through statements."""

    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(node, target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(node, target, op, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(node, target, value)
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Break() | ast.Continue():
                self._leave(node)
            case ast.Return():
                self._return(node)
            case ast.Assert(test=test):
                passed = self._label()
                self._jump(test, passed, True)
                self._emit(ir.Stop("AssertionError", node.lineno))
                self._emit(ir.Label(passed, node.lineno))
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case ast.Expr(value=ast.Call() as call):
                self._call(call, wanted=False)
            case _:
                refuse(node, f"'{words(node)}' is not in the subset of Python that is compiled")

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                self._assign_at_once(node, targets, values)
            case ast.Name(id=name), ast.List() | ast.BinOp(left=ast.List()):
                self._make_list(node, name, value)
            case ast.Name() | ast.Subscript(), _:
                self._set(node, target, self._value(value))
            case ast.Tuple(), _:
                refuse(node, "as many values as names are needed on the right")
            case _:
                refuse(node, f"'{words(target)}' cannot be assigned to here")

    def _assign_at_once(self, node: ast.stmt, targets: list[ast.expr], values: list[ast.expr]) -> None:
        """``a, b = b, a``: all values first. A name that an earlier target changes is kept in a cell apart."""
        changed = {target.id for target in targets[:-1] if isinstance(target, ast.Name)}
        kept = [
            self._copied(value, self._value(value))
            if isinstance(value, ast.Name) and value.id in changed
            else self._value(value)
            for value in values
        ]
        for target, operand in zip(targets, kept, strict=True):
            self._set(node, target, operand)

    def _set(self, node: ast.stmt, target: ast.expr, value: ir.Operand) -> None:
        match target:
            case ast.Name(id=name):
                self._refuse_constant(node, name)
                if isinstance(self.frame.places.get(name), ListOf):
                    refuse(node, f"'{name}' is a list and stays one")
                self._emit(ir.Copy(self._place(name), value, node.lineno))
                self._know(name)
            case ast.Subscript(value=owner, slice=index):
                block = self._block(owner)
                self._emit(ir.Store(block, self._index(index, block), value, node.lineno))
            case _:
                refuse(node, f"'{words(target)}' cannot be assigned to")

    def _refuse_constant(self, node: ast.AST, name: str) -> None:
        if name in self.functions or name in self.constants:
            refuse(node, f"'{name}' is a function or a constant")

    def _make_list(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """``xs = [1, a, 3]`` or ``xs = [a] * 8``. The cells are filled each time that the statement is reached."""
        match value:
            case ast.List(elts=items):
                operands = [self._value(item) for item in items]
            case ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult(), right=times):
                length = self._literal(times)
                if not 1 <= length <= MOST_INSTRUCTIONS:
                    refuse(node, f"a list has at least one item, got {length}")
                operands = [self._value(item)] * length
            case _:
                refuse(node, "a list is written as [a, b, c] or [a] * length")
        place = self.frame.places.get(name)
        if isinstance(place, str) or (isinstance(place, ListOf) and len(self.blocks[place.block]) != len(operands)):
            refuse(node, f"'{name}' has another kind or length already")
        self._refuse_constant(node, name)
        if name in self.frame.given:
            refuse(node, f"'{name}' belongs to the caller; a new list needs a new name")
        block = self._new_list(node, name, (0,) * len(operands))
        if block in self.frame.walked:
            refuse(node, f"a loop goes over '{name}'; a new list needs a new name")
        for number, operand in enumerate(operands):
            self._emit(ir.Store(block, number, operand, node.lineno))
        self._know(name)

    def _augment(self, node: ast.AugAssign, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                before = self._cell(target, name)
                self._set(node, target, self._compute(node, before, op, self._value(value)))
            case ast.Subscript(value=owner, slice=index):
                block = self._block(owner)
                place = self._index(index, block)
                before = self._temporary()
                self._emit(ir.Load(before, block, place, node.lineno))
                after = self._compute(node, before, op, self._value(value))
                self._emit(ir.Store(block, place, after, node.lineno))
            case _:
                refuse(node, f"'{words(target)}' cannot be assigned to")

    def _if(self, node: ast.If) -> None:
        otherwise, end = self._label(), self._label()
        self._jump(node.test, otherwise, False)
        before = _on_all(self.frame.known)
        self._statements(node.body)
        if node.orelse:
            self._emit(ir.Jump(end, node.lineno))
        self._emit(ir.Label(otherwise, node.lineno))
        after, self.frame.known = self.frame.known, before
        self._statements(node.orelse)
        self._emit(ir.Label(end, node.lineno))
        self.frame.known = _on_all(after, self.frame.known)

    def _while(self, node: ast.While) -> None:
        """The test is at the end of the loop, so that a round has one jump; the first test is a jump there."""
        self._refuse_else(node)
        body, test, end = self._label(), self._label(), self._label()
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        before = _on_all(self.frame.known)
        if not endless:
            self._emit(ir.Jump(test, node.lineno))
        with self._loop(body, test, end) as breaks:
            self._statements(node.body)
        self.frame.known = _on_all(before)
        self._emit(ir.Label(test, node.lineno))
        self._jump(node.test, body, True)
        self._emit(ir.Label(end, node.lineno))
        ways = breaks if endless else [*breaks, before]
        self.frame.known = None if before is None else _on_all(*ways)

    def _refuse_else(self, node: ast.While | ast.For) -> None:
        if node.orelse:
            refuse(node.orelse[0], "a loop has no else here")

    @contextmanager
    def _loop(self, body: str, again: str, end: str) -> Iterator[list[set[str] | None]]:
        breaks: list[set[str] | None] = []
        self._emit(ir.Label(body, 0))
        self.frame.loops.append((again, end, breaks))
        yield breaks
        self.frame.loops.pop()

    def _for(self, node: ast.For) -> None:
        self._refuse_else(node)
        if not isinstance(node.target, ast.Name):
            refuse(node, "a loop has one variable")
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_, *_] as ends, keywords=[]) if len(
                ends
            ) <= 3 and "range" not in {*self.functions, *self.frame.places}:
                self._for_range(node, ends)
            case ast.Name():
                self._for_list(node, self._block(node.iter))
            case _:
                refuse(node, "a loop goes over a range(...) or over a list with a name")

    def _for_list(self, node: ast.For, block: str) -> None:
        def item(counter: str) -> ir.Operand:
            value = self._temporary()
            self._emit(ir.Load(value, block, counter, node.lineno))
            return value

        self.frame.walked.append(block)
        self._count(node, 0, len(self.blocks[block]), 1, item)
        self.frame.walked.pop()

    def _for_range(self, node: ast.For, ends: list[ast.expr]) -> None:
        start = self._value(ends[0]) if len(ends) > 1 else 0
        stop = self._value(ends[1] if len(ends) > 1 else ends[0])
        step = self._literal(ends[2]) if len(ends) > 2 else 1
        if step == 0:
            refuse(node, "the step of a range is not 0")
        # The body may change the cell that said where to stop.
        stop = self._copied(node, stop) if isinstance(stop, str) and not ir.is_temporary(stop) else stop
        self._count(node, start, stop, step, lambda counter: counter)

    def _count(
        self, node: ast.For, start: ir.Operand, stop: ir.Operand, step: int, item: Callable[[str], ir.Operand]
    ) -> None:
        """The loop of a counter that is not the variable, since the body may change that.

        The counter never passes the end by more than it can hold: it is tested before it is moved.
        """
        line, body, again, end = node.lineno, self._label(), self._label(), self._label()
        counter, before = self._copied(node, start), _on_all(self.frame.known)
        runs = isinstance(start, int) and isinstance(stop, int) and len(range(start, stop, step)) > 0
        if not runs:
            first, last = (stop, counter) if step > 0 else (counter, stop)
            self._emit(ir.Branch(first, "<=", last, end, line))
        assert isinstance(node.target, ast.Name)
        with self._loop(body, again, end) as breaks:
            self._set(node, node.target, item(counter))
            self._statements(node.body)
        ended = self.frame.known
        self.frame.known = _on_all(before)
        self._emit(ir.Label(again, line))
        if abs(step) > 1:
            room = (1 << (self.bits - 1)) - 1 - step if step > 0 else -(1 << (self.bits - 1)) - step
            first, last = (room, counter) if step > 0 else (counter, room)
            self._emit(ir.Branch(first, "<", last, end, line))
        self._emit(ir.Compute(counter, counter, "+", step, line))
        first, last = (counter, stop) if step > 0 else (stop, counter)
        self._emit(ir.Branch(first, "<", last, body, line))
        self._emit(ir.Label(end, line))
        ways = (
            [*breaks, ended]
            if runs and not any(isinstance(one, ast.Continue) for one in ast.walk(node))
            else [*breaks, before]
        )
        self.frame.known = None if before is None else _on_all(*ways)

    def _leave(self, node: ast.Break | ast.Continue) -> None:
        again, end, breaks = self.frame.loops[-1] if self.frame.loops else refuse(node, "there is no loop to leave")
        self._emit(ir.Jump(end if isinstance(node, ast.Break) else again, node.lineno))
        if isinstance(node, ast.Break) and self.frame.known is not None:
            breaks.append(set(self.frame.known))
        self.frame.known = None

    def _return(self, node: ast.Return) -> None:
        frame = self.frame
        if len(self.frames) == 1 and frame.name == "the program":
            refuse(node, "return is outside of a function")
        value: Any = None
        match node.value:
            case ast.Name(id=name) if isinstance(frame.places.get(name), ListOf):
                value = ListOf(self._block(node.value))
                if len(self.frames) > 1:
                    refuse(node, "only the last function returns a list; others change the lists that they are given")
            case ast.expr() if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                value, result = int, f"{frame.prefix}result"
                self.cells.setdefault(result, 0)
                self._emit(ir.Copy(result, self._value(node.value), node.lineno))
        if frame.known is not None:
            frame.returns.append(value)
        self._emit(ir.Jump(frame.end, node.lineno))
        frame.known = None


def _on_all(*ways: set[str] | None) -> set[str] | None:
    """A new set of what is known on all ways on which a run can come; ``None`` if there is none."""
    reached = [way for way in ways if way is not None]
    return set.intersection(*reached) if reached else None

"""From Python to the intermediate form: a subset of the language, read by its own parser.

Integers, and lists of integers of fixed length; assignments, also several at once and with an operator; ``+ - * // %``,
comparisons, ``and or not``, ``a if c else b``; ``if``, ``while``, ``for`` over a ``range`` or a list, ``break``,
``continue``, ``pass``, ``assert``; functions of integers and lists without recursion, and ``len``. All else is refused
with its line and the reason. A truth value is 1 or 0.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.expressions import (
    MOST_INSTRUCTIONS,
    CompileError,
    Expressions,
    Frame,
    ListOf,
    refuse,
    words,
)
from attention_theory.validation import require

#: Longer sources are refused.
MOST_CHARACTERS = 100_000


def read(source: str | Callable[..., Any], bits: int, example: Sequence[int | Sequence[int]] | None = None) -> ir.Code:
    """Read a program.

    The program is the last function of the source, or, where the source has statements outside of functions, these.
    A last line that only calls the function gives its arguments; so does ``example``. They say which parameters are
    lists, and how long.

    Args:
        source: the text, or a function, whose own source is read; it may call functions of its module.
        bits: N; a literal must fit.
        example: arguments.

    Raises:
        CompileError: what is outside the subset.
    """
    require(bits=(bits, 2, 62))
    text = source if isinstance(source, str) else _text_of(source)
    return _Reader(bits).read(_parse(text), example)


def _text_of(function: Callable[..., Any]) -> str:
    """The source of a function, with the functions of its module that it calls in front."""
    found: dict[str, str] = {}

    def add(one: Callable[..., Any]) -> None:
        try:
            text = textwrap.dedent(inspect.getsource(one))
        except (OSError, TypeError):
            raise CompileError(f"line 1: the source of {one!r} cannot be found; give it as text") from None
        for node in ast.walk(_parse(text)):
            called = getattr(one, "__globals__", {}).get(_called(node))
            if inspect.isfunction(called) and called is not one and called.__name__ not in found:
                add(called)
        found[one.__name__] = text

    add(function)
    return "\n".join(found.values())


def _called(node: ast.AST) -> str | None:
    """The name of the function that a node calls."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _parse(text: str) -> ast.Module:
    if len(text) > MOST_CHARACTERS:
        raise CompileError(f"line 1: at most {MOST_CHARACTERS} characters are read, the source has more")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CompileError(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError(f"line 1: the source cannot be read: {str(error) or 'it is nested too deeply'}") from None


class _Reader(Expressions):
    """Reads a source: functions, constants and statements."""

    def read(self, tree: ast.Module, example: Sequence[int | Sequence[int]] | None) -> ir.Code:
        body = list(tree.body)
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self._function(node)
        if example is None and self.functions and body and isinstance(body[-1], ast.Expr):
            example = self._arguments(body.pop())
        statements = [node for node in body if not isinstance(node, ast.FunctionDef) and not _is_docstring(node)]
        self._read_constants(statements if self.functions else [])
        try:
            if self.functions:
                return self._entry(list(self.functions.values())[-1], example)
            return self._plain(tree, statements)
        except RecursionError:
            raise CompileError("line 1: the source is nested too deeply") from None

    def _function(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or node.decorator_list:
            refuse(node, "a function has plain parameters, without defaults, stars or decorators")
        if node.name in self.functions:
            refuse(node, f"the function '{node.name}' is defined twice")
        self.functions[node.name] = node

    def _read_constants(self, statements: list[ast.stmt]) -> None:
        """``N = 8`` outside of functions: a constant."""
        for node in statements:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name not in self.constants:
                    self.constants[name] = self._literal(node.value)
                case _:
                    refuse(node, "beside functions, only constants such as N = 8 and, last, a call")

    def _arguments(self, node: ast.stmt) -> list[int | Sequence[int]]:
        entry = list(self.functions)[-1]
        call = node.value if isinstance(node, ast.Expr) else node
        if not isinstance(call, ast.Call) or _called(call) != entry or call.keywords:
            refuse(node, f"the last line may only call '{entry}', the last function, with numbers and lists of numbers")
        return [
            [self._literal(item) for item in one.elts] if isinstance(one, ast.List) else self._literal(one)
            for one in call.args
        ]

    def _entry(self, function: ast.FunctionDef, example: Sequence[int | Sequence[int]] | None) -> ir.Code:
        parameters = [parameter.arg for parameter in function.args.args]
        if example is None:
            example = [0] * len(parameters)
        if len(example) != len(parameters):
            refuse(function, f"'{function.name}' takes {len(parameters)} arguments, got {len(example)}")
        frame = Frame(function.name, "", self._label(), given=parameters)
        self.frames.append(frame)
        for name, value in zip(parameters, example, strict=True):
            self._bind(function, name, value)
        places = [frame.places[name] for name in parameters]
        inputs = [place.block if isinstance(place, ListOf) else place for place in places]
        self._statements(function.body)
        result = self._result(function, frame)
        return self._finish(frame, tuple(inputs), result)

    def _plain(self, tree: ast.Module, statements: list[ast.stmt]) -> ir.Code:
        if not statements:
            refuse(tree, "the source has no statement")
        frame = Frame("the program", "", self._label())
        self.frames.append(frame)
        self._statements(statements)
        return self._finish(frame, (), None)

    def _finish(self, frame: Frame, inputs: tuple[str, ...], result: str | None) -> ir.Code:
        self._emit(ir.Label(frame.end, 0))
        self._emit(ir.Stop(None, 0))
        return ir.Code(tuple(self.code), self.cells, self.blocks, inputs, result, self.variables)

    def _bind(self, node: ast.AST, name: str, value: int | Sequence[int]) -> None:
        """Give a parameter of the program its place and what it holds."""
        if isinstance(value, int):
            self.cells[self._place(name)] = self._fits(node, int(value))
        else:
            values = tuple(self._fits(node, int(item)) for item in value)
            self._new_list(node, name, values)
        self._know(name)

    def _result(self, function: ast.FunctionDef, frame: Frame) -> str | None:
        kinds = list(frame.returns)
        if frame.known is not None:
            kinds.append(None)
        if len(set(kinds)) > 1:
            refuse(function, f"'{function.name}' returns a value on some ways and none, or another list, on others")
        match kinds[0] if kinds else None:
            case ListOf(block):
                return block
            case None:
                return None
        return "result"

    # Statements.

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
        before = self._known()
        self._statements(node.body)
        if node.orelse:
            self._emit(ir.Jump(end, node.lineno))
        self._emit(ir.Label(otherwise, node.lineno))
        after, self.frame.known = self.frame.known, before
        self._statements(node.orelse)
        self._emit(ir.Label(end, node.lineno))
        self.frame.known = _both(after, self.frame.known)

    def _known(self) -> set[str] | None:
        known = self.frame.known
        return None if known is None else set(known)

    def _while(self, node: ast.While) -> None:
        """The test is at the end of the loop, so that a round has one jump; the first test is a jump there."""
        self._refuse_else(node)
        body, test, end = self._label(), self._label(), self._label()
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        before = self._known()
        if not endless:
            self._emit(ir.Jump(test, node.lineno))
        with self._loop(body, test, end) as breaks:
            self._statements(node.body)
        self.frame.known = None if before is None else set(before)
        self._emit(ir.Label(test, node.lineno))
        self._jump(node.test, body, True)
        self._emit(ir.Label(end, node.lineno))
        ways = breaks if endless else [*breaks, before]
        self.frame.known = None if before is None else _all(ways)

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
        counter, before = self._copied(node, start), self._known()
        runs = isinstance(start, int) and isinstance(stop, int) and len(range(start, stop, step)) > 0
        if not runs:
            first, last = (stop, counter) if step > 0 else (counter, stop)
            self._emit(ir.Branch(first, "<=", last, end, line))
        assert isinstance(node.target, ast.Name)
        with self._loop(body, again, end) as breaks:
            self._set(node, node.target, item(counter))
            self._statements(node.body)
        ended = self.frame.known
        self.frame.known = None if before is None else set(before)
        self._emit(ir.Label(again, line))
        if abs(step) > 1:
            room = (1 << (self.bits - 1)) - 1 - step if step > 0 else -(1 << (self.bits - 1)) - step
            first, last = (room, counter) if step > 0 else (counter, room)
            self._emit(ir.Branch(first, "<", last, end, line))
        self._emit(ir.Compute(counter, counter, "+", step, line))
        first, last = (counter, stop) if step > 0 else (stop, counter)
        self._emit(ir.Branch(first, "<", last, body, line))
        self._emit(ir.Label(end, line))
        ways = [*breaks, ended] if runs and not _continues(node) else [*breaks, before]
        self.frame.known = None if before is None else _all(ways)

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
        if isinstance(node.value, ast.Name) and isinstance(frame.places.get(node.value.id), ListOf):
            value = ListOf(self._block(node.value))
            if len(self.frames) > 1:
                refuse(node, "only the last function returns a list; others change the lists that they are given")
        elif node.value is not None and not _is_none(node.value):
            value, result = int, f"{frame.prefix}result"
            self.cells.setdefault(result, 0)
            self._emit(ir.Copy(result, self._value(node.value), node.lineno))
        if frame.known is not None:
            frame.returns.append(value)
        self._emit(ir.Jump(frame.end, node.lineno))
        frame.known = None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _continues(node: ast.For) -> bool:
    return any(isinstance(one, ast.Continue) for one in ast.walk(node))


def _both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    return _all([one, other])


def _all(ways: Sequence[set[str] | None]) -> set[str] | None:
    """What is known on all ways on which a run can come."""
    reached = [way for way in ways if way is not None]
    return set.intersection(*reached) if reached else None

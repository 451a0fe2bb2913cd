"""From Python to the intermediate form: a subset of the language, read by its own parser.

Integers, and lists of integers of fixed length; assignments, also several at once and with an operator; ``+ - * // %``,
comparisons, ``and or not``, ``a if c else b``; ``if``, ``while``, ``for`` over a ``range`` or a list, ``break``,
``continue``, ``pass``, ``assert``; functions of integers and lists without recursion, and ``len``. All else is refused
with its line and the reason. A truth value is 1 or 0.

A function that is called is written out at its place. Its variables have the same cells at every call, which is enough
where no function calls itself.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

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
    Operator,
    Relation,
    Stop,
    Store,
    is_temporary,
)
from attention_theory.validation import require

#: Longer sources and programs are refused: a program is one token for each instruction.
MOST_CHARACTERS, MOST_INSTRUCTIONS = 100_000, 20_000

_OPERATORS: dict[type[ast.operator], Operator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
#: The relation between the operands; true where they change places.
_RELATIONS: dict[type[ast.cmpop], tuple[Relation, bool]] = {
    ast.Lt: ("<", False),
    ast.LtE: ("<=", False),
    ast.Gt: ("<", True),
    ast.GtE: ("<=", True),
    ast.Eq: ("==", False),
    ast.NotEq: ("!=", False),
}
_NEGATED: dict[Relation, tuple[Relation, bool]] = {
    "<": ("<=", True),
    "<=": ("<", True),
    "==": ("!=", False),
    "!=": ("==", False),
}
#: Names that the assembler, or this compiler, has for itself.
_TAKEN = re.compile(r"zero|one|minus_one|mem|goto|if|halt|(\w+_)?result|[tcsv]_\w+", re.ASCII)
_NAMEABLE = re.compile(r"[a-z]\w{0,30}", re.ASCII)


class CompileError(ValueError):
    """The source is not in the subset of Python. The message names the line and the reason."""


@dataclass(frozen=True)
class _List:
    """A list: its block of cells."""

    block: str


@dataclass
class _Frame:
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
    """

    name: str
    prefix: str
    end: str
    places: dict[str, str | _List] = field(default_factory=dict)
    known: set[str] | None = field(default_factory=set)
    returns: list[Any] = field(default_factory=list)
    loops: list[tuple[str, str, list[set[str] | None]]] = field(default_factory=list)
    given: Sequence[str] = ()


def read(source: str | Callable[..., Any], bits: int, example: Sequence[int | Sequence[int]] | None = None) -> Code:
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
        raise CompileError(f"line 1: the source has {len(text)} characters, at most {MOST_CHARACTERS} are read")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CompileError(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError(f"line 1: the source cannot be read: {str(error) or 'it is nested too deeply'}") from None


def _refuse(node: ast.AST, reason: str) -> NoReturn:
    raise CompileError(f"line {getattr(node, 'lineno', 1)}: {reason}")


class _Reader:
    """Writes instructions as it walks through a tree."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, int] = {}
        self.code: list[Instruction] = []
        self.cells: dict[str, int] = {}
        self.blocks: dict[str, tuple[int, ...]] = {}
        self.frames: list[_Frame] = []
        self.numbers: dict[str, int] = {}
        self.variables: dict[str, str] = {}
        self.named: dict[tuple[str, str], str] = {}

    # What a source is.

    def read(self, tree: ast.Module, example: Sequence[int | Sequence[int]] | None) -> Code:
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
            _refuse(node, "a function has plain parameters, without defaults, stars or decorators")
        if node.name in self.functions:
            _refuse(node, f"the function '{node.name}' is defined twice")
        self.functions[node.name] = node

    def _read_constants(self, statements: list[ast.stmt]) -> None:
        """``N = 8`` outside of functions: a constant."""
        for node in statements:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name not in self.constants:
                    self.constants[name] = self._literal(node.value)
                case _:
                    _refuse(node, "beside functions, only constants such as N = 8 and, last, a call")

    def _arguments(self, node: ast.stmt) -> list[int | Sequence[int]]:
        entry = list(self.functions)[-1]
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=given, keywords=[])) if name == entry:
                return [
                    [self._literal(item) for item in one.elts] if isinstance(one, ast.List) else self._literal(one)
                    for one in given
                ]
        _refuse(node, f"the last line may only call '{entry}', the last function, with numbers and lists of numbers")

    def _entry(self, function: ast.FunctionDef, example: Sequence[int | Sequence[int]] | None) -> Code:
        parameters = [parameter.arg for parameter in function.args.args]
        if example is None:
            example = [0] * len(parameters)
        if len(example) != len(parameters):
            _refuse(function, f"'{function.name}' takes {len(parameters)} arguments, got {len(example)}")
        frame = _Frame(function.name, "", self._label(), given=parameters)
        self.frames.append(frame)
        for name, value in zip(parameters, example, strict=True):
            self._bind(function, name, value)
        places = [frame.places[name] for name in parameters]
        inputs = [place.block if isinstance(place, _List) else place for place in places]
        self._body(function)
        result = self._result(function, frame)
        return self._finish(frame, tuple(inputs), result)

    def _plain(self, tree: ast.Module, statements: list[ast.stmt]) -> Code:
        if not statements:
            _refuse(tree, "the source has no statement")
        frame = _Frame("the program", "", self._label())
        self.frames.append(frame)
        self._statements(statements)
        return self._finish(frame, (), None)

    def _finish(self, frame: _Frame, inputs: tuple[str, ...], result: str | None) -> Code:
        self._emit(Label(frame.end, 0))
        self._emit(Stop(None, 0))
        return Code(tuple(self.code), self.cells, self.blocks, inputs, result, self.variables)

    def _bind(self, node: ast.AST, name: str, value: int | Sequence[int]) -> None:
        """Give a parameter of the program its place and what it holds."""
        if isinstance(value, int):
            self.cells[self._place(name)] = self._fits(node, int(value))
        else:
            values = tuple(self._fits(node, int(item)) for item in value)
            self._new_list(node, name, values)
        self._know(name)

    def _result(self, function: ast.FunctionDef, frame: _Frame) -> str | None:
        kinds = list(frame.returns)
        if frame.known is not None:
            kinds.append(None)
        if len(set(kinds)) > 1:
            _refuse(function, f"'{function.name}' returns a value on some ways and none, or another list, on others")
        match kinds[0] if kinds else None:
            case _List(block):
                return block
            case None:
                return None
        return "result"

    # Names and places.

    @property
    def frame(self) -> _Frame:
        return self.frames[-1]

    def _emit(self, instruction: Instruction) -> None:
        if self.frame.known is not None or isinstance(instruction, Label | Stop):
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
            _refuse(node, f"the list '{name}' has no items; its length is fixed, so it needs at least one")
        block = self._name_of(name)
        self.blocks.setdefault(block, values)
        self.frame.places[name] = _List(block)
        return block

    def _cell(self, node: ast.AST, name: str) -> Operand:
        """The value of a name."""
        place = self.frame.places.get(name)
        if place is None and name in self.constants:
            return self.constants[name]
        if isinstance(place, _List):
            _refuse(node, f"'{name}' is a list where a number must be")
        if self.frame.known is not None and (place is None or name not in self.frame.known):
            hint = " on every way that leads here" if place is not None else ""
            _refuse(node, f"'{name}' has no value{hint}")
        return place if place is not None else 0

    def _block(self, node: ast.AST) -> str:
        """The list that a name stands for."""
        if not isinstance(node, ast.Name):
            _refuse(node, "a list must have a name")
        place = self.frame.places.get(node.id)
        if not isinstance(place, _List) or (self.frame.known is not None and node.id not in self.frame.known):
            _refuse(node, f"'{node.id}' is no list" if isinstance(place, str) else f"'{node.id}' has no value")
        return place.block

    def _fits(self, node: ast.AST, value: int) -> int:
        half = 1 << (self.bits - 1)
        if not -half <= value < half:
            _refuse(node, f"{value} does not fit in {self.bits} bits, which hold {-half} to {half - 1}")
        return value

    def _literal(self, node: ast.AST) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return self._fits(node, int(value))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return self._fits(node, -int(value))
            case ast.Name(id=name) if name in self.constants:
                return self.constants[name]
        _refuse(node, "a number is needed here that is known before the program runs")

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
                self._emit(Stop("AssertionError", node.lineno))
                self._emit(Label(passed, node.lineno))
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case ast.Expr(value=ast.Call() as call):
                self._call(call, wanted=False)
            case _:
                _refuse(node, f"'{_words(node)}' is not in the subset of Python that is compiled")

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                self._assign_at_once(node, targets, values)
            case ast.Name(id=name), ast.List() | ast.BinOp(left=ast.List()):
                self._make_list(node, name, value)
            case ast.Name() | ast.Subscript(), _:
                self._set(node, target, self._value(value))
            case ast.Tuple(), _:
                _refuse(node, "as many values as names are needed on the right")
            case _:
                _refuse(node, f"'{_words(target)}' cannot be assigned to here")

    def _assign_at_once(self, node: ast.stmt, targets: list[ast.expr], values: list[ast.expr]) -> None:
        """``a, b = b, a``: all values first. A name that an earlier target changes is kept in a cell apart."""
        changed = {target.id for target in targets[:-1] if isinstance(target, ast.Name)}
        kept = [
            self._kept(value) if isinstance(value, ast.Name) and value.id in changed else self._value(value)
            for value in values
        ]
        for target, operand in zip(targets, kept, strict=True):
            self._set(node, target, operand)

    def _kept(self, node: ast.expr) -> str:
        temporary = self._temporary()
        self._emit(Copy(temporary, self._value(node), node.lineno))
        return temporary

    def _set(self, node: ast.stmt, target: ast.expr, value: Operand) -> None:
        match target:
            case ast.Name(id=name):
                self._refuse_constant(node, name)
                if isinstance(self.frame.places.get(name), _List):
                    _refuse(node, f"'{name}' is a list and stays one")
                self._emit(Copy(self._place(name), value, node.lineno))
                self._know(name)
            case ast.Subscript(value=owner, slice=index):
                block = self._block(owner)
                self._emit(Store(block, self._index(index, block), value, node.lineno))
            case _:
                _refuse(node, f"'{_words(target)}' cannot be assigned to")

    def _refuse_constant(self, node: ast.AST, name: str) -> None:
        if name in self.functions or name in self.constants:
            _refuse(node, f"'{name}' is a function or a constant")

    def _make_list(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """``xs = [1, a, 3]`` or ``xs = [a] * 8``. The cells are filled each time that the statement is reached."""
        match value:
            case ast.List(elts=items):
                operands = [self._value(item) for item in items]
            case ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult(), right=times):
                length = self._literal(times)
                if not 1 <= length <= MOST_INSTRUCTIONS:
                    _refuse(node, f"a list has at least one item, got {length}")
                operands = [self._value(item)] * length
            case _:
                _refuse(node, "a list is written as [a, b, c] or [a] * length")
        place = self.frame.places.get(name)
        if isinstance(place, str) or (isinstance(place, _List) and len(self.blocks[place.block]) != len(operands)):
            _refuse(node, f"'{name}' has another kind or length already")
        self._refuse_constant(node, name)
        if name in self.frame.given:
            _refuse(node, f"'{name}' belongs to the caller; a new list needs a new name")
        block = self._new_list(node, name, (0,) * len(operands))
        for number, operand in enumerate(operands):
            self._emit(Store(block, number, operand, node.lineno))
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
                self._emit(Load(before, block, place, node.lineno))
                after = self._compute(node, before, op, self._value(value))
                self._emit(Store(block, place, after, node.lineno))
            case _:
                _refuse(node, f"'{_words(target)}' cannot be assigned to")

    def _if(self, node: ast.If) -> None:
        otherwise, end = self._label(), self._label()
        self._jump(node.test, otherwise, False)
        before = self._known()
        self._statements(node.body)
        if node.orelse:
            self._emit(Jump(end, node.lineno))
        self._emit(Label(otherwise, node.lineno))
        after, self.frame.known = self.frame.known, before
        self._statements(node.orelse)
        self._emit(Label(end, node.lineno))
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
            self._emit(Jump(test, node.lineno))
        with self._loop(body, test, end) as breaks:
            self._statements(node.body)
        self.frame.known = None if before is None else set(before)
        self._emit(Label(test, node.lineno))
        self._jump(node.test, body, True)
        self._emit(Label(end, node.lineno))
        ways = breaks if endless else [*breaks, before]
        self.frame.known = None if before is None else _all(ways)

    def _refuse_else(self, node: ast.While | ast.For) -> None:
        if node.orelse:
            _refuse(node.orelse[0], "a loop has no else here")

    @contextmanager
    def _loop(self, body: str, again: str, end: str) -> Iterator[list[set[str] | None]]:
        breaks: list[set[str] | None] = []
        self._emit(Label(body, 0))
        self.frame.loops.append((again, end, breaks))
        yield breaks
        self.frame.loops.pop()

    def _for(self, node: ast.For) -> None:
        self._refuse_else(node)
        if not isinstance(node.target, ast.Name):
            _refuse(node, "a loop has one variable")
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_, *_] as ends, keywords=[]) if len(ends) <= 3:
                self._for_range(node, ends)
            case ast.Name():
                self._for_list(node, self._block(node.iter))
            case _:
                _refuse(node, "a loop goes over a range(...) or over a list with a name")

    def _for_list(self, node: ast.For, block: str) -> None:
        def item(counter: str) -> Operand:
            value = self._temporary()
            self._emit(Load(value, block, counter, node.lineno))
            return value

        self._count(node, 0, len(self.blocks[block]), 1, item)

    def _for_range(self, node: ast.For, ends: list[ast.expr]) -> None:
        start = self._value(ends[0]) if len(ends) > 1 else 0
        stop = self._value(ends[1] if len(ends) > 1 else ends[0])
        step = self._literal(ends[2]) if len(ends) > 2 else 1
        if step == 0:
            _refuse(node, "the step of a range is not 0")
        # The body may change the cell that said where to stop.
        stop = self._copied(node, stop) if isinstance(stop, str) and not is_temporary(stop) else stop
        self._count(node, start, stop, step, lambda counter: counter)

    def _copied(self, node: ast.AST, value: Operand) -> str:
        cell = self._temporary()
        self._emit(Copy(cell, value, getattr(node, "lineno", 0)))
        return cell

    def _count(self, node: ast.For, start: Operand, stop: Operand, step: int, item: Callable[[str], Operand]) -> None:
        """The loop of a counter that is not the variable, since the body may change that.

        The counter never passes the end by more than it can hold: it is tested before it is moved.
        """
        line, body, again, end = node.lineno, self._label(), self._label(), self._label()
        counter, before = self._copied(node, start), self._known()
        runs = isinstance(start, int) and isinstance(stop, int) and len(range(start, stop, step)) > 0
        if not runs:
            first, last = (stop, counter) if step > 0 else (counter, stop)
            self._emit(Branch(first, "<=", last, end, line))
        assert isinstance(node.target, ast.Name)
        with self._loop(body, again, end) as breaks:
            self._set(node, node.target, item(counter))
            self._statements(node.body)
        ended = self.frame.known
        self.frame.known = None if before is None else set(before)
        self._emit(Label(again, line))
        if abs(step) > 1:
            room = (1 << (self.bits - 1)) - 1 - step if step > 0 else -(1 << (self.bits - 1)) - step
            first, last = (room, counter) if step > 0 else (counter, room)
            self._emit(Branch(first, "<", last, end, line))
        self._emit(Compute(counter, counter, "+", step, line))
        first, last = (counter, stop) if step > 0 else (stop, counter)
        self._emit(Branch(first, "<", last, body, line))
        self._emit(Label(end, line))
        ways = [*breaks, ended] if runs and not _continues(node) else [*breaks, before]
        self.frame.known = None if before is None else _all(ways)

    def _leave(self, node: ast.Break | ast.Continue) -> None:
        again, end, breaks = self.frame.loops[-1] if self.frame.loops else _refuse(node, "there is no loop to leave")
        self._emit(Jump(end if isinstance(node, ast.Break) else again, node.lineno))
        if isinstance(node, ast.Break) and self.frame.known is not None:
            breaks.append(set(self.frame.known))
        self.frame.known = None

    def _return(self, node: ast.Return) -> None:
        frame = self.frame
        if len(self.frames) == 1 and frame.name == "the program":
            _refuse(node, "return is outside of a function")
        value: Any = None
        if isinstance(node.value, ast.Name) and isinstance(frame.places.get(node.value.id), _List):
            value = _List(self._block(node.value))
            if len(self.frames) > 1:
                _refuse(node, "only the last function returns a list; others change the lists that they are given")
        elif node.value is not None and not _is_none(node.value):
            value, result = int, f"{frame.prefix}result"
            self.cells.setdefault(result, 0)
            self._emit(Copy(result, self._value(node.value), node.lineno))
        if frame.known is not None:
            frame.returns.append(value)
        self._emit(Jump(frame.end, node.lineno))
        frame.known = None

    # Expressions.

    def _value(self, node: ast.expr) -> Operand:
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
                self._emit(Load(target, block, self._index(index, block), node.lineno))
                return target
            case ast.Call():
                value = self._call(node, wanted=True)
                assert value is not None
                return value
            case ast.List() | ast.Tuple():
                _refuse(node, "a list must get a name: xs = [...]")
        _refuse(node, f"'{_words(node)}' is not in the subset of Python that is compiled")

    def _compute(self, node: ast.AST, left: Operand, op: ast.operator, right: Operand) -> Operand:
        operator = _OPERATORS.get(type(op))
        if operator is None:
            _refuse(node, f"'{_words(node)}' has another operator than + - * // and %")
        line, target = getattr(node, "lineno", 0), self._temporary()
        if operator in ("//", "%"):
            fine = self._label()
            self._emit(Branch(right, "!=", 0, fine, line))
            self._emit(Stop("ZeroDivisionError", line))
            self._emit(Label(fine, line))
        self._emit(Compute(target, left, operator, right, line))
        return target

    def _truth(self, node: ast.expr) -> Operand:
        target, end = self._temporary(), self._label()
        self._emit(Copy(target, 1, node.lineno))
        self._jump(node, end, True)
        self._emit(Copy(target, 0, node.lineno))
        self._emit(Label(end, node.lineno))
        return target

    def _first_that_decides(self, node: ast.BoolOp, true: bool, values: list[ast.expr]) -> Operand:
        target, end = self._temporary(), self._label()
        for value in values[:-1]:
            self._emit(Copy(target, self._value(value), node.lineno))
            self._emit(Branch(target, "!=" if true else "==", 0, end, node.lineno))
        self._emit(Copy(target, self._value(values[-1]), node.lineno))
        self._emit(Label(end, node.lineno))
        return target

    def _choice(self, node: ast.IfExp) -> Operand:
        target, otherwise, end = self._temporary(), self._label(), self._label()
        self._jump(node.test, otherwise, False)
        self._emit(Copy(target, self._value(node.body), node.lineno))
        self._emit(Jump(end, node.lineno))
        self._emit(Label(otherwise, node.lineno))
        self._emit(Copy(target, self._value(node.orelse), node.lineno))
        self._emit(Label(end, node.lineno))
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
                self._emit(Label(on, node.lineno))
            case ast.Compare(left=first, ops=ops, comparators=others):
                self._jump_if_compared(node, [first, *others], ops, label, when)
            case ast.Constant(value=int(value)):
                if bool(value) == when:
                    self._emit(Jump(label, node.lineno))
            case _:
                self._emit(Branch(self._value(node), "!=" if when else "==", 0, label, node.lineno))

    def _jump_if_compared(
        self, node: ast.Compare, terms: list[ast.expr], ops: list[ast.cmpop], label: str, when: bool
    ) -> None:
        """``a < b < c``: each term once, and no further than the first relation that fails."""
        out, left = self._label(), self._value(terms[0])
        for number, (op, term) in enumerate(zip(ops, terms[1:], strict=True)):
            if type(op) not in _RELATIONS:
                _refuse(node, f"'{_words(node)}' has another comparison than < <= > >= == and !=")
            right = self._value(term)
            relation, swapped = _RELATIONS[type(op)]
            last = number == len(ops) - 1
            if not (last and when):
                relation, other = _NEGATED[relation]
                swapped = swapped != other
            first, second = (right, left) if swapped else (left, right)
            self._emit(Branch(first, relation, second, label if last or not when else out, node.lineno))
            left = right
        self._emit(Label(out, node.lineno))

    def _index(self, node: ast.expr, block: str) -> Operand:
        """An index of a list, counted from its end where it is negative."""
        length = len(self.blocks[block])
        if isinstance(node, ast.Slice | ast.Tuple):
            _refuse(node, "an index is one number")
        index = self._value(node)
        if isinstance(index, int):
            if not -length <= index < length:  # no matter where the statement is never reached
                self._emit(Stop("IndexError", node.lineno))
            return index % length
        place, fine = self._copied(node, index), self._label()
        self._emit(Branch(0, "<=", place, fine, node.lineno))
        self._emit(Compute(place, place, "+", self._fits(node, length), node.lineno))
        self._emit(Branch(0, "<=", place, fine, node.lineno))
        self._emit(Stop("IndexError", node.lineno))
        self._emit(Label(fine, node.lineno))
        return place

    # Functions.

    def _call(self, node: ast.Call, wanted: bool) -> Operand | None:
        if not isinstance(node.func, ast.Name) or node.keywords:
            _refuse(node, "a call names a function and gives its arguments in order")
        name = node.func.id
        if name == "len" and name not in self.functions and len(node.args) == 1:
            return self._fits(node, len(self.blocks[self._block(node.args[0])]))
        if name not in self.functions:
            _refuse(node, f"there is no function '{name}'; there are {', '.join(['len', *self.functions])}")
        if name in [frame.name for frame in self.frames]:
            _refuse(node, f"'{name}' calls itself; there is no recursion")
        function = self.functions[name]
        parameters = [parameter.arg for parameter in function.args.args]
        if len(parameters) != len(node.args):
            _refuse(node, f"'{name}' takes {len(parameters)} arguments, got {len(node.args)}")
        return self._write_out(node, function, parameters, wanted)

    def _write_out(
        self, node: ast.Call, function: ast.FunctionDef, parameters: list[str], wanted: bool
    ) -> Operand | None:
        caller = self.frame
        given = [self._argument(one) for one in node.args]
        known: set[str] | None = None if caller.known is None else set()
        frame = _Frame(function.name, f"{function.name}_", self._label(), known=known, given=parameters)
        self.frames.append(frame)
        for name, value in zip(parameters, given, strict=True):
            if isinstance(value, _List):
                frame.places[name] = value
            else:
                self._emit(Copy(self._place(name), value, node.lineno))
            self._know(name)
        self._body(function)
        self._emit(Label(frame.end, node.lineno))
        falls_through = frame.known is not None
        self.frames.pop()
        if not wanted:
            if not falls_through and not frame.returns:
                caller.known = None
            return None
        if caller.known is not None and (falls_through or any(one is None for one in frame.returns)):
            _refuse(node, f"'{function.name}' may end without a value")
        result = f"{function.name}_result"
        self.cells.setdefault(result, 0)
        return self._copied(node, result)

    def _argument(self, node: ast.expr) -> Operand | _List:
        if isinstance(node, ast.Name) and isinstance(self.frame.places.get(node.id), _List):
            return _List(self._block(node))
        return self._value(node)

    def _body(self, function: ast.FunctionDef) -> None:
        self._statements(function.body)


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


def _words(node: ast.AST) -> str:
    """A node as the source would have it, cut short."""
    try:
        text = ast.unparse(node)
    except (AttributeError, TypeError, ValueError, RecursionError):
        text = ""
    text = " ".join(text.split()) or type(node).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

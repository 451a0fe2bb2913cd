"""From Python to the intermediate form: a subset of the language, read by its own parser.

Integers, and lists of integers of fixed length; assignments, also several at once and with an operator; ``+ - * // %``,
comparisons, ``and or not``, ``a if c else b``; ``if``, ``while``, ``for`` over a ``range`` or a list, ``break``,
``continue``, ``pass``, ``assert``; functions of integers and lists without recursion, and ``len``. All else is refused
with its line and the reason. A truth value is 1 or 0.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler.names import CompileError, Frame, ListOf, refuse
from attention_theory.looped_transformers.compiler.statements import Statements
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
    except UnicodeEncodeError as error:
        raise CompileError(f"line {text.count(chr(10), 0, error.start) + 1}: this is no text in UTF-8") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError(f"line 1: the source cannot be read: {str(error) or 'it is nested too deeply'}") from None


class _Reader(Statements):
    """Reads a whole source: its functions, its constants, and where the program begins and ends."""

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
        special = [node.args.posonlyargs, node.args.vararg, node.args.kwonlyargs, node.args.kwarg, node.args.defaults]
        if any(special) or node.decorator_list:
            refuse(node, "a function has plain parameters, without defaults, stars, slashes or decorators")
        names = [parameter.arg for parameter in node.args.args]
        if twice := [name for name in names if names.count(name) > 1]:
            refuse(node, f"the parameter '{twice[0]}' is there twice")
        if node.name in self.functions:
            refuse(node, f"the function '{node.name}' is defined twice")
        self.functions[node.name] = node

    def _read_constants(self, statements: list[ast.stmt]) -> None:
        """``N = 8`` outside of functions: a constant."""
        for node in statements:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name not in (*self.constants, *self.functions):
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
        if not all(isinstance(one, int) for one in (value if isinstance(value, Sequence) else [value])):
            refuse(node, f"'{name}' is an integer or a list of integers, got {value!r}")
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


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

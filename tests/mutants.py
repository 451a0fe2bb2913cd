"""Small wrong changes of the package, which its tests have to notice.

A mutant is one change at one place: a comparison turned round or moved to its boundary, a constant moved by one, an
operator exchanged, a condition or a returned value negated, a statement left out. None is made where a change is no
fault of the code: in docstrings, annotations, decorators, ``__all__``, seeds, what is said where something is refused,
and ``strict`` of a ``zip``, which right code never feels.
"""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

#: What stands in the place of an operator. A comparison of order has two mutants: its contrary and its boundary.
_ORDERS = {"<": (">=", "<="), "<=": (">", "<"), ">": ("<=", ">="), ">=": ("<", ">")}
_EQUALS = {"==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not", "is not": "is"}
_OTHERS = {"and": "or", "or": "and", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*"}
_EXCHANGED = {old: (new,) for old, new in (_EQUALS | _OTHERS | _ARITHMETIC).items()} | _ORDERS
_OPERATOR = re.compile(rb"[-+*/%@&|^<>=!]+|\b(?:not\s+in|in|is\s+not|is|and|or)\b")
_KINDS = {ast.Compare: "comparison", ast.BinOp: "arithmetic", ast.AugAssign: "arithmetic", ast.BoolOp: "condition"}
_NUMBER = re.compile(r"int|float|Tensor|(Float|Int|Real|Num|Integer)\[.*")

#: Calls that make types and whose arguments are no behaviour.
_TYPES = {"Annotated", "Literal", "Callable"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file of ``src``: bytes ``start`` to ``end`` become ``text``.

    ``was`` and ``now`` are the lines that the change touches, without their indentation: with the file they name it.
    """

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    was: str
    now: str

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(packages: Path, file: str) -> list[Mutant]:
    """Every mutant of one file, in the order of the lines."""
    source = (packages / file).read_bytes()
    return list(_Maker(file, source).within(ast.parse(source)))


def choose(pools: Mapping[str, Sequence[Mutant]], seed: int, count: int) -> dict[str, list[Mutant]]:
    """As many mutants of each pool as of any other, ``count`` in all, and of each kind about as many.

    The order in which mutants are taken is a hash of the seed and of the change, so that editing one file leaves the
    choice among the others alone. Of one line one mutant is taken.
    """
    shares = [count // len(pools) + (place < count % len(pools)) for place in range(len(pools))]
    return {name: _taken(pool, seed)[:share] for (name, pool), share in zip(pools.items(), shares, strict=True)}


def _taken(pool: Sequence[Mutant], seed: int) -> list[Mutant]:
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in sorted(pool, key=lambda one: _order(one, seed)):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    rounds = zip_longest(*(by_kind[kind] for kind in sorted(by_kind)))
    taken: dict[tuple[str, int], Mutant] = {}
    for mutant in (one for turn in rounds for one in turn if one):
        taken.setdefault((mutant.file, mutant.line), mutant)
    return list(taken.values())


def _order(mutant: Mutant, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{mutant.file}\0{mutant.was}\0{mutant.now}\0{mutant.line}".encode()).hexdigest()


class _Maker:
    """The mutants of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def within(self, node: ast.AST, function: ast.FunctionDef | None = None) -> Iterator[Mutant]:
        """Those of a node and of all in it. The function around it tells what it returns and what was bound before."""
        yield from self._of(node, function)
        inner = node if isinstance(node, ast.FunctionDef) else function
        for child in _mutable_children(node):
            yield from self.within(child, inner)

    def _of(self, node: ast.AST, function: ast.FunctionDef | None) -> Iterator[Mutant]:
        match node:
            case (
                ast.Compare(left=left, ops=[op], comparators=[right])
                | ast.BinOp(left=left, op=op, right=right)
                | ast.AugAssign(target=left, op=op, value=right)
                | ast.BoolOp(op=op, values=[left, right, *_])
            ) if not (isinstance(op, ast.operator) and (_is_text(left) or _is_text(right))):
                yield from self._exchanged(_KINDS[type(node)], left, right)
            case ast.Constant(value=bool() | int() | float() as value):
                moved = not value if isinstance(value, bool) else value + 1
                yield self._replaced("constant", node, repr(moved))
            case ast.UnaryOp(op=ast.Not()):
                yield self._between("condition", self._start(node), self._start(node) + len("not "), "")
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
                yield self._between("arithmetic", self._start(node), self._start(node) + len("-"), "")
            case ast.Return(value=ast.expr() as value) if function and (sign := _contrary(function.returns)):
                yield self._replaced("return", value, f"{sign}({self._text(value)})")
        yield from self._negated(node)
        if isinstance(node, ast.stmt) and _can_be_left_out(node, function):
            yield self._replaced("statement", node, "pass")

    def _negated(self, node: ast.AST) -> Iterator[Mutant]:
        """The conditions of a node, where no operator in them is exchanged anyway."""
        tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else getattr(node, "ifs", [])
        for test in tests:
            if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.NamedExpr):
                yield self._replaced("condition", test, f"(not ({self._text(test)}))")

    def _exchanged(self, kind: str, left: ast.expr, right: ast.expr) -> Iterator[Mutant]:
        """The operator between two expressions exchanged."""
        start, end = self._end(left), self._start(right)
        if found := _OPERATOR.search(self.source[start:end]):
            old = " ".join(found[0].decode().split())
            sign = "=" if old not in _EXCHANGED else ""  # of an assignment
            for new in _EXCHANGED[old.removesuffix(sign)]:
                yield self._between(kind, start + found.start(), start + found.end(), new + sign)

    def _replaced(self, kind: str, node: ast.expr | ast.stmt, text: str) -> Mutant:
        return self._between(kind, self._start(node), self._end(node), text)

    def _between(self, kind: str, start: int, end: int, text: str) -> Mutant:
        line = self.source.count(b"\n", 0, start) + 1
        first = self.starts[line - 1]
        last = self.source.find(b"\n", end)
        rest = self.source[end : last if last >= 0 else None]
        before = self.source[first:start].decode()
        was, now = before + (self.source[start:end] + rest).decode(), before + text + rest.decode()
        return Mutant(self.file, line, kind, start, end, text, " ".join(was.split()), " ".join(now.split()))

    def _text(self, node: ast.expr) -> str:
        return self.source[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset


def _mutable_children(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node is behaviour: no annotation, decorator, text, seed, nor what is said when something is raised."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return
        case ast.Subscript(value=ast.Name(id=name)) if name in _TYPES:
            return
        case ast.If(test=test) if ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, _]):
            yield value
            return
        case ast.keyword(arg=str(name)) if "seed" in name or name in ("help", "strict"):
            return
        case ast.arguments():
            positional = zip(reversed([*node.posonlyargs, *node.args]), reversed(node.defaults), strict=False)
            named = [*positional, *zip(node.kwonlyargs, node.kw_defaults, strict=True)]
            yield from (default for argument, default in named if default and "seed" not in argument.arg)
            return
    left_out = {"annotation", "returns", "decorator_list", "type_params"}
    for name, value in ast.iter_fields(node):
        if name not in left_out:
            yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST))


def _can_be_left_out(node: ast.stmt, function: ast.FunctionDef | None) -> bool:
    """Whether the program still has its names without this statement."""
    match node:
        case ast.Expr(value=value):
            return not isinstance(value, ast.Constant)
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.AugAssign() | ast.Raise():
            return True
        case ast.Break() | ast.Continue() | ast.Delete():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if function:
            arguments = function.args
            known = {one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
            stored = (one for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            return name in known | {one.id for one in stored if one.lineno < node.lineno}
    return False


def _contrary(returns: ast.expr | None) -> str:
    """What negates a value of the annotated type; nothing where the type has no contrary."""
    kind = ast.unparse(returns) if returns else ""
    if kind == "bool":
        return "not "
    return "~" if kind.startswith("Bool[") else "-" if _NUMBER.fullmatch(kind) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

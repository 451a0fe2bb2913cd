"""Python as the reference of the compiler: a source run by CPython, with what overflows N bits wrapped around."""

import ast
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from attention_theory.looped_transformers.compiler.code import wrap


class _Wrapping(ast.NodeTransformer):
    """Every computation becomes ``_wrap(computation)``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return node if isinstance(node.left, ast.List) else self.wrapped(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self.wrapped(node) if isinstance(node.op, ast.USub) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        new = ast.Assign([node.target], ast.copy_location(ast.BinOp(read, node.op, node.value), node))
        return self.visit(ast.copy_location(new, node))

    @staticmethod
    def wrapped(node: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name("_wrap", ast.Load()), [node], []), node)


@dataclass
class Ended:
    """What a run gave: the value returned, the arguments as they are then, and the exception with its line."""

    value: Any
    arguments: list[Any]
    error: str = ""


def run(source: str, name: str, arguments: Sequence[Any], bits: int) -> Ended:
    """Run a function of a source."""
    tree = ast.fix_missing_locations(_Wrapping().visit(ast.parse(source)))
    space: dict[str, Any] = {"_wrap": lambda value: wrap(value, bits)}
    exec(compile(tree, "source", "exec"), space)
    given = [list(one) if isinstance(one, list) else one for one in arguments]
    try:
        value = space[name](*given)
    except (AssertionError, IndexError, ZeroDivisionError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Ended(None, given, f"{type(error).__name__}: line {last.lineno}")
    return Ended(int(value) if isinstance(value, bool) else value, given)


NAMES, LENGTH = ("a", "b", "c"), 3


@cache
def numbers(bits: int) -> st.SearchStrategy[int]:
    """Integers of so many bits, often those where something can go wrong."""
    half = 1 << (bits - 1)
    return st.one_of(st.sampled_from([-half, 1 - half, -2, -1, 0, 1, 2, half - 1]), st.integers(-half, half - 1))


@cache
def expressions(bits: int, depth: int = 2) -> st.SearchStrategy[str]:
    """Expressions of the variables a, b and c, the list xs and the function ``near``."""
    leaf = st.one_of(
        numbers(bits).map(str), st.sampled_from(NAMES), st.integers(-LENGTH, LENGTH - 1).map("xs[{}]".format)
    )
    if not depth:
        return leaf
    part = expressions(bits, depth - 1)
    return st.one_of(
        leaf,
        st.tuples(part, st.sampled_from(["+", "-", "*", "//", "%"]), part).map(lambda one: f"({' '.join(one)})"),
        conditions(bits, depth - 1),
        part.map("(-{})".format),
        part.map("xs[{} % 3]".format),
        part.map("xs[{}]".format),
        st.tuples(part, part).map(lambda one: f"near({one[0]}, {one[1]})"),
        st.tuples(part, conditions(bits, depth - 1), part).map(lambda one: f"({one[0]} if {one[1]} else {one[2]})"),
    )


@cache
def conditions(bits: int, depth: int = 1) -> st.SearchStrategy[str]:
    """Comparisons, chained or not, and what joins them."""
    term, relation = expressions(bits, 0), st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    compared = st.tuples(term, relation, term).map(" ".join)
    chained = st.tuples(term, relation, term, relation, term).map(" ".join)
    one = st.one_of(compared, chained, term)
    if depth:
        inner = conditions(bits, depth - 1)
        joined = st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
        one = st.one_of(one, joined, inner.map("not {}".format))
    return one.map("({})".format)


@st.composite
def blocks(draw: st.DrawFn, bits: int, depth: int, loops: int, indent: str) -> list[str]:
    """Lines of statements; every loop ends."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["set", "set", "add", "item", "both", "swap", "assert"]
        kinds += ["if", "for", "range", "while"] if depth else []
        kinds += ["leave"] if loops else []
        match draw(st.sampled_from(kinds)):
            case "set":
                lines.append(f"{draw(st.sampled_from(NAMES))} = {draw(expressions(bits))}")
            case "add":
                target = draw(st.sampled_from([*NAMES, "xs[1]", "xs[a % 3]"]))
                lines.append(
                    f"{target} {draw(st.sampled_from(['+', '-', '*', '//', '%']))}= {draw(expressions(bits, 1))}"
                )
            case "item":
                lines.append(f"xs[{draw(expressions(bits, 1))} % 3] = {draw(expressions(bits, 1))}")
            case "both":
                lines.append(f"a, b, c = {draw(expressions(bits, 1))}, c, {draw(expressions(bits, 1))} + a")
            case "swap":
                lines.append("xs[b % 3], xs[c % 3] = xs[c % 3], xs[b % 3]")
            case "assert":
                lines.append(f"assert {draw(conditions(bits))} or a != 5")
            case "leave":
                lines += [f"if {draw(conditions(bits))}:", f"    {draw(st.sampled_from(['break', 'continue']))}"]
            case "if":
                lines += [f"if {draw(conditions(bits))}:", *draw(blocks(bits, depth - 1, loops, "    "))]
                lines += ["else:", *draw(blocks(bits, depth - 1, loops, "    "))] if draw(st.booleans()) else []
            case "for":
                name = draw(st.sampled_from(NAMES))
                lines += [f"for {name} in xs:", *draw(blocks(bits, depth - 1, loops + 1, "    "))]
            case "range":
                ends = draw(
                    st.sampled_from(["3", "1, 4", "2, -2, -1", "-1, 6, 3", "c % 4", "a, a + 2", "6, a % 4, -2"])
                )
                name = draw(st.sampled_from(NAMES))
                lines += [f"for {name} in range({ends}):", *draw(blocks(bits, depth - 1, loops + 1, "    "))]
            case "while":
                fuel = f"fuel{loops}"
                lines += [f"{fuel} = 3", f"while {fuel} > 0 and {draw(conditions(bits, 0))}:", f"    {fuel} -= 1"]
                lines += draw(blocks(bits, depth - 1, loops + 1, "    "))
    return [f"{indent}{line}" for line in lines]


@st.composite
def programs(draw: st.DrawFn, bits: int) -> str:
    """A source whose last function is ``program(a, b, xs)``."""
    body = draw(blocks(bits, 2, 0, "    "))
    helper = draw(st.sampled_from(["return a - b", "return a if a < b else b", "b = b // 2\n    return b * a"]))
    last = draw(expressions(bits))
    lines = ["def near(a, b):", f"    {helper}", "", "def program(a, b, xs):", "    c = a - b", *body]
    return "\n".join([*lines, f"    return {last}"])

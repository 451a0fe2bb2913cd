"""Arithmetic of parameters: expressions that a notebook's ranges and a sweep's description may hold."""

import ast
from collections.abc import Collection, Mapping
from typing import Any

_CALLS = {"len": len, "max": max, "min": min, "range": range}

_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.Constant, ast.Set, ast.List, ast.Tuple, ast.Name, ast.Call, ast.operator,
    ast.unaryop, ast.expr_context,
)  # fmt: skip


def is_simple(expression: ast.expr, known: Collection[str]) -> bool:
    """Whether an expression is made of plain values, the names in ``known`` and arithmetic."""
    nodes = list(ast.walk(expression))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return all(isinstance(node, _ALLOWED) for node in nodes) and names <= {*known, *_CALLS}


def value_of(expression: str, values: Mapping[str, Any]) -> Any:
    """The value of a simple expression where the parameters have these values."""
    return eval(expression, {"__builtins__": {}, **_CALLS, **values})

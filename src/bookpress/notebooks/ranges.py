"""The range of each parameter, read from the notebook's ``require`` without running any of it."""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Arithmetic that a range may be written in.
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: lambda base, power: _power(base, power),
    ast.USub: operator.neg,
}
_CALLS: dict[str, Callable[..., Any]] = {"len": len, "max": max, "min": min, "range": range}

#: Whole numbers of more bits take long to compute; no range of a parameter has one.
_MOST_BITS = 4096


@dataclass(frozen=True)
class Rule:
    """The condition of ``require`` on one parameter: ``least`` and ``most``, or ``choices``, each as it is written.

    An end is arithmetic of numbers and of other parameters, or ``None`` where the range is open. ``each`` says that
    the parameter is a list and that the rule is for its values.
    """

    least: str | None = None
    most: str | None = None
    choices: str | None = None
    each: bool = False

    @property
    def text(self) -> str:
        """The range in words: ``from 1 to width - 1``, ``at least 2``, ``one of ('a', 'b')``, ``each at most 8``."""
        if self.choices is not None:
            words = f"one of {self.choices}"
        elif self.least is not None and self.most is not None:
            words = f"from {self.least} to {self.most}"
        else:
            words = f"at most {self.most}" if self.least is None else f"at least {self.least}"
        return f"each {words}" if self.each else words


def rules_of(code: str, defaults: Mapping[str, Any]) -> dict[str, Rule]:
    """The rules that a notebook's ``require`` states for its parameters.

    A rule for something computed from several parameters is no parameter's range, and one that is more than arithmetic
    of parameters is left out.
    """
    return {
        name: rule
        for name, value in keywords_of("require", code)
        if name in defaults and (rule := _rule(name, value, defaults)) is not None
    }


def keywords_of(function: str, code: str) -> list[tuple[str, ast.expr]]:
    """The keyword arguments in all calls of a function: names and values."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == function]
    return [(keyword.arg, keyword.value) for call in named for keyword in call.keywords if keyword.arg]


def is_simple(expression: str, values: Mapping[str, Any]) -> bool:
    """Whether an expression is made of plain values, the names in ``values`` and arithmetic."""
    try:
        value_of(expression, values)
    except ArithmeticError:
        return True  # with these values it has none, with others it may
    except ValueError:
        return False
    return True


def value_of(expression: str, values: Mapping[str, Any]) -> Any:
    """The value of arithmetic where the parameters have these values; nothing of it is run as a program.

    Raises:
        ValueError: it is more than arithmetic of these values, or has no value.
        ArithmeticError: it divides by zero, or a number in it is too large.
    """
    try:
        return _value(ast.parse(expression, mode="eval").body, values)
    except (TypeError, SyntaxError) as error:
        raise ValueError(f"'{expression}' is no arithmetic of {', '.join(values) or 'numbers'}: {error}") from error


def _value(expression: ast.expr, values: Mapping[str, Any]) -> Any:
    match expression:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            numbers = (_number(_value(left, values)), _number(_value(right, values)))
            return _number(_OPERATORS[type(op)](*numbers))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_number(_value(operand, values)))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_value(part, values) for part in parts))
        case ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, values) for part in parts]
    raise TypeError(f"{ast.unparse(expression)} is none")


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError("a number is too large")
    return value


def _power(base: float, power: float) -> Any:
    if isinstance(base, int) and isinstance(power, int) and base.bit_length() * power > _MOST_BITS:
        raise OverflowError(f"a power of {power} is too large")
    return base**power


def _rule(name: str, value: ast.expr, defaults: Mapping[str, Any]) -> Rule | None:
    match value:
        case ast.Tuple(elts=[ast.Name(required) | ast.Call(ast.Name("Each"), [ast.Name(required)]), *ends]):
            pass
        case _:
            return None
    texts = [ast.unparse(end) for end in ends]
    if required != name or not all(is_simple(text, defaults) for text in texts):
        return None
    each = isinstance(defaults[name], list)
    match [None if text == "None" else text for text in texts]:
        case [str(choices)]:
            return Rule(choices=choices, each=each)
        case [least, most] if least or most:
            return Rule(least, most, each=each)
    return None

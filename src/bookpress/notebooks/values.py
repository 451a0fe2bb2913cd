"""Values for the parameters of a notebook: read from typed text, and refused before anything is run where they misfit.

A value has the kind of its parameter's default. A whole number is written without point and exponent; nothing is
rounded, no text is taken for a number, and no number is infinite.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError

from bookpress.exits import Exit, Failure
from bookpress.notebooks.ranges import Rule, value_of
from bookpress.notebooks.source import Notebook

#: The most values that one axis, and the most points that one sweep may have.
MOST_VALUES = 100_000

#: Whole numbers from one to another, both included; none begins with a zero, as in Python.
_SPAN = re.compile(r"\s*(-?(?:0|[1-9][0-9]{0,17}))\.\.(-?(?:0|[1-9][0-9]{0,17}))\s*")

#: What is between two commas that are outside of brackets and quotes.
_PART = re.compile(r"""(?:^|,)((?:\[[^]]*\]|\([^)]*\)|'[^']*'|"[^"]*"|[^,])*)""")

_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


class ValueRefused(Failure, ValueError, code=Exit.BAD_PARAMETER):
    """A value does not fit its parameter; the message names the parameter, what is allowed and what came."""


def values_of(texts: Iterable[str], notebook: Notebook) -> dict[str, Any]:
    """Read ``key=value`` texts as values of a notebook's parameters; a plain value for a list is a list of it.

    Raises:
        ValueRefused: not of this form, a key twice, an unknown parameter, another kind of value, or out of its range.
    """
    defaults = notebook.defaults
    return checked(notebook, {key: _read(text, defaults[key]) for key, text in _assignments(texts, notebook).items()})


def axes_of(texts: Iterable[str], notebook: Notebook) -> dict[str, list[Any]]:
    """Read ``key=value,value`` and ``key=0..5`` texts as axes: the values that parameters are to have in turn.

    Raises:
        ValueRefused: not of this form, a key twice, an unknown parameter, another kind of value, or too many values.
    """
    defaults = notebook.defaults
    axes: dict[str, list[Any]] = {}
    for key, text in _assignments(texts, notebook).items():
        span = None if isinstance(defaults[key], str) else span_of(text)
        parts = _PART.findall(text) if span is None else map(str, span)
        axes[key] = [fitted(notebook, {key: _read(part, defaults[key])})[key] for part in parts]
    return axes


def span_of(text: str) -> range | None:
    """The whole numbers of a span such as ``0..5``, both ends included; None where the text is no span.

    Raises:
        ValueRefused: it has more than :data:`MOST_VALUES` numbers.
    """
    span = _SPAN.fullmatch(text)
    if span is None:
        return None
    first, last = int(span[1]), int(span[2])
    if last - first >= MOST_VALUES:
        raise ValueRefused(f"{text.strip()} has {last - first + 1:,} values; at most {MOST_VALUES:,} are allowed")
    return range(first, last + 1)


def checked(notebook: Notebook, values: Mapping[str, Any]) -> dict[str, Any]:
    """:func:`fitted` values that the notebook takes, as far as the ranges in its ``require`` say.

    Raises:
        ValueRefused: an unknown parameter, another kind of value, or a value out of its range.
    """
    typed = fitted(notebook, values)
    rules = {parameter.name: parameter.rule for parameter in notebook.parameters if parameter.name in typed}
    for name, rule in rules.items():
        if rule and not _allowed(rule, typed[name], notebook.defaults | typed):
            raise ValueRefused(f"{name}={values[name]!r} is out of its range: {rule.text}")
    return typed


def fitted(notebook: Notebook, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the kinds of their parameters: whole numbers as floats where the parameter is a float.

    Raises:
        ValueRefused: an unknown parameter, or a value of another kind.
    """
    defaults, typed = notebook.defaults, {}
    for name, value in values.items():
        _refuse_unknown(name, notebook)
        kind, words = _kind(defaults[name])
        try:
            fitting = TypeAdapter(kind).validate_python(value, strict=True)
        except ValidationError:
            raise ValueRefused(f"{name} must be {words}, got {value!r}") from None
        typed[name] = [*fitting] if isinstance(fitting, tuple) else fitting
    return typed


def _refuse_unknown(name: str, notebook: Notebook) -> None:
    if name not in notebook.defaults:
        raise ValueRefused(f"{notebook.name} has no parameter {name!r}; it has: {', '.join(notebook.defaults)}")


def _assignments(texts: Iterable[str], notebook: Notebook) -> dict[str, str]:
    assigned: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.isidentifier()):
            raise ValueRefused(f"-p takes key=value, got {text!r}")
        if key in assigned:
            raise ValueRefused(f"the parameter {key} is given twice: {assigned[key]} and {value}")
        _refuse_unknown(key, notebook)
        assigned[key] = value
    return assigned


def _read(text: str, default: Any) -> Any:
    """A typed text as a value: a Python literal, or else the text as it is."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = text.strip()
    if isinstance(default, str):
        return value if isinstance(value, str) else text
    if isinstance(default, bool):
        return _BOOLEANS.get(text.strip(), text)
    return [value] if isinstance(default, list) and not isinstance(value, list | tuple) else value


def _allowed(rule: Rule, value: Any, parameters: Mapping[str, Any]) -> bool:
    """Whether a rule allows a value; one whose ends have no value here is left to the notebook."""
    try:
        choices = None if rule.choices is None else value_of(rule.choices, parameters)
        least, most = (None if end is None else value_of(end, parameters) for end in (rule.least, rule.most))
    except (ArithmeticError, ValueError):
        return True
    return all(
        item in choices if choices is not None else (least is None or item >= least) and (most is None or item <= most)
        for item in (value if rule.each else [value])
    )


def _kind(default: Any) -> tuple[Any, str]:
    """The type of a parameter's values by its default, and its name; None and an empty list take any values."""
    match default:
        case bool():
            return bool, "true or false"
        case int():
            bits = Field(ge=-sys.maxsize, le=sys.maxsize)
            return Annotated[int, bits], "a whole number without point or exponent, of at most 64 bits"
        case float():
            return FiniteFloat, "a finite number"
        case str():
            return str, "a text"
        case list():
            kind, words = _kind(default[0] if default else None)
            many: Any = list[kind] | tuple[kind, ...]  # type: ignore[valid-type]  # a type that is made as it runs
            return Annotated[many, Field(min_length=1)], f"a list of values, each {words}"
    return Any, "a plain value"

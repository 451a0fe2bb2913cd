"""Values for the parameters of a notebook: read from typed text, and refused where they misfit, before a run.

A value has the kind of its parameter's default: nothing is rounded, and no text is taken for a number.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from bookpress.exits import Exit, Failure
from bookpress.notebooks.ranges import Rule, value_of
from bookpress.notebooks.source import Notebook

#: The most values that one axis, and the most points that one sweep may have.
MOST_VALUES = 100_000

#: Whole numbers from one to another, both included; none begins with a zero, as in Python.
_SPAN = re.compile(r"\s*(-?(?:0|[1-9][0-9]{0,17}))\.\.(-?(?:0|[1-9][0-9]{0,17}))\s*")

#: What a value must be, by the type of its parameter's default.
_KINDS = {
    bool: "true or false",
    int: "a whole number without point or exponent, of at most 64 bits",
    float: "a finite number",
    str: "a text",
}


class ValueRefused(Failure, ValueError, code=Exit.BAD_PARAMETER):
    """A value does not fit its parameter; the message names the parameter, what is allowed and what came."""


def values_of(texts: Iterable[str], notebook: Notebook) -> dict[str, Any]:
    """Read ``key=value`` texts as values of a notebook's parameters; a plain value for a list is a list of it.

    Raises:
        ValueRefused: not of this form, a key twice, or one of the reasons of :func:`checked`.
    """
    assigned = _assignments(texts, notebook)
    return checked(notebook, {key: _read(text, notebook.defaults[key]) for key, text in assigned.items()})


def axes_of(texts: Iterable[str], notebook: Notebook) -> dict[str, list[Any]]:
    """Read ``key=value,value`` and ``key=0..5`` texts as axes: the values, not yet fitted, of parameters in turn.

    Raises:
        ValueRefused: not of this form, a key twice, an unknown parameter, or too many values.
    """
    axes = {}
    for key, text in _assignments(texts, notebook).items():
        default = notebook.defaults[key]
        span = None if isinstance(default, str) else span_of(text)
        axes[key] = [_read(part, default) for part in _parts(text)] if span is None else [*span]
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
    for name, rule in [(parameter.name, parameter.rule) for parameter in notebook.parameters]:
        if rule and name in typed and not _allowed(rule, typed[name], notebook.defaults | typed):
            raise ValueRefused(f"{name}={values[name]!r} is out of its range: {rule.text}")
    return typed


def fitted(notebook: Notebook, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the kinds of their parameters: whole numbers as floats where the parameter is a float.

    Raises:
        ValueRefused: an unknown parameter, or a value of another kind.
    """
    defaults, typed = notebook.defaults, {}
    for name, value in values.items():
        if name not in defaults:
            raise ValueRefused(f"{notebook.name} has no parameter {name!r}; it has: {', '.join(defaults)}")
        try:
            typed[name] = _fitted(value, defaults[name])
        except TypeError:
            raise ValueRefused(f"{name} must be {_kind(defaults[name])}, got {value!r}") from None
    return typed


def _assignments(texts: Iterable[str], notebook: Notebook) -> dict[str, str]:
    assigned: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.isidentifier()):
            raise ValueRefused(f"-p takes key=value, got {text!r}")
        if key in assigned:
            raise ValueRefused(f"the parameter {key} is given twice: {assigned[key]} and {value}")
        assigned[key] = value
    fitted(notebook, {key: None for key in assigned if key not in notebook.defaults})  # refuses what is unknown
    return assigned


def _parts(text: str) -> list[str]:
    """The parts of a text between the commas that are outside of brackets and quotes."""
    parts: list[str] = []
    for piece in text.split(","):
        last = parts[-1].strip() if parts else ""
        opened = last.startswith(("[", "(", "'", '"')) and _literal(last) == last
        parts[-1:] = [f"{last},{piece}"] if opened else [*parts[-1:], piece]
    return parts


def _read(text: str, default: Any) -> Any:
    """A typed text as a value for a parameter with this default."""
    value = _literal(text)
    if isinstance(default, str):
        return value if isinstance(value, str) else text
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    return [value] if isinstance(default, list) and not isinstance(value, list | tuple) else value


def _literal(text: str) -> Any:
    """The value of a Python literal, or else the text as it is."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text.strip()


def _allowed(rule: Rule, value: Any, parameters: Mapping[str, Any]) -> bool:
    """Whether a rule allows a value; one whose ends have no value here is left to the notebook."""
    try:
        choices = None if rule.choices is None else value_of(rule.choices, parameters)
        least, most = (None if end is None else value_of(end, parameters) for end in (rule.least, rule.most))
    except (ArithmeticError, ValueError):
        return True
    items = value if rule.each else [value]
    if choices is not None:
        return all(item in choices for item in items)
    return all((least is None or item >= least) and (most is None or item <= most) for item in items)


def _kind(default: Any) -> str:
    """What a value must be where this is the default, in words."""
    if isinstance(default, list):
        return f"a list of values, each {_kind(default[0] if default else None)}"
    return _KINDS.get(type(default), "a plain value")


def _fitted(value: Any, default: Any) -> Any:
    """A value in the kind of a default; None and an empty list take any values.

    Raises:
        TypeError: it is of another kind.
    """
    match default:
        case bool() | int() | str() if type(value) is type(default):
            if isinstance(value, str) or abs(value) <= sys.maxsize:
                return value
        case float() if type(value) in (int, float) and abs(value) <= sys.float_info.max:
            return float(value) + 0.0  # which is 0.0 for -0.0
        case list() if isinstance(value, list | tuple) and value:
            return [_fitted(each, default[0] if default else None) for each in value]
        case None:
            return value
    raise TypeError

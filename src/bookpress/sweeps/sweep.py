"""What a sweep is: a notebook, the axes along which its parameters go, and the points that these span.

A point is one run of the notebook. It is known by its parameters and by nothing else, so that two sweeps that cross
share it; where it is made, on which device, does not count.
"""

import ast
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bookpress.files import digest
from bookpress.notebooks.profile import SPAN, listed
from bookpress.notebooks.ranges import is_simple, value_of
from bookpress.notebooks.source import Notebook, Parameter

#: The parameter that says where a run takes place, which its values do not depend on.
DEVICE = "device"
SEED = "seed"

#: Longer names of files are cut, and told apart by a hash.
_LONGEST_NAME = 120


class SweepError(Exception):
    """A sweep cannot be run; the message names the axis, the value and what is allowed."""


@dataclass(frozen=True)
class Point:
    """One run of a sweep: every parameter of the notebook, and those of them that are the sweep's own."""

    notebook: str
    parameters: dict[str, Any]
    defaults: dict[str, Any]
    axes: tuple[str, ...]
    name: str

    @property
    def identity(self) -> str:
        """A hash of the notebook and of every parameter but the device."""
        return identity_of(self.notebook, self.parameters)


def identity_of(notebook: str, parameters: Mapping[str, Any]) -> str:
    return digest(notebook, {name: value for name, value in parameters.items() if name != DEVICE})


def axes_of(texts: list[str], notebook: Notebook) -> dict[str, list[Any]]:
    """The axes that ``key=value,value`` and ``key=0..5`` state; a plain value of a parameter that is a list is a list.

    Raises:
        SweepError: not of this form, no values, or a key that is there twice.
    """
    axes: dict[str, list[Any]] = {}
    lists = {one.name for one in notebook.parameters if isinstance(one.default, list)}
    for text in texts:
        key, equals, values = text.partition("=")
        if not (equals and key.isidentifier()):
            raise SweepError(f"-p takes key=value,value or key=0..5, got {text!r}")
        if key in axes:
            raise SweepError(f"the axis {key} is given twice")
        found = listed(values) if SPAN.fullmatch(values.strip()) else [_value(one) for one in _split(values)]
        axes[key] = [[one] if key in lists and not isinstance(one, list) else one for one in found]
    return axes


def points_of(notebook: Notebook, axes: Mapping[str, list[Any]], base: dict[str, Any]) -> list[Point]:
    """The points that the axes span, the last axis running fastest, with ``base`` for what is not an axis.

    Raises:
        SweepError: an axis without values, a value twice, an unknown parameter, or a value out of its range.
    """
    known = {one.name: one for one in notebook.parameters}
    _refuse_names(notebook.name, axes, base, known)
    defaults = {name: one.default for name, one in known.items()}
    points = []
    for values in itertools.product(*axes.values()):
        parameters = defaults | base | dict(zip(axes, values, strict=True))
        for name in (*axes, *base):
            _refuse_value(known[name], parameters)
        fixed = sorted(name for name, value in parameters.items() if value != defaults[name] and name not in axes)
        own = {name: parameters[name] for name in (*axes, *fixed)}
        points.append(Point(notebook.name, parameters, defaults, tuple(axes), _name(own)))
    return points


def in_order(points: list[Point], first: str) -> list[Point]:
    """The points in the order in which they are made: by ``first``, then one seed after another.

    Raises:
        SweepError: ``first`` is not arithmetic of the parameters.
    """
    return sorted(points, key=lambda point: (number_of(first or "0", point), point.parameters.get(SEED, 0)))


def number_of(expression: str, point: Point) -> float:
    """What arithmetic of the parameters gives at a point.

    Raises:
        SweepError: the expression is something else, or has no value there.
    """
    try:
        if _is_arithmetic(expression, tuple(point.parameters)):
            return float(value_of(expression, point.parameters))
    except (SyntaxError, TypeError, ValueError, ArithmeticError):
        pass
    raise SweepError(f"'{expression}' is no number made of the parameters of {point.notebook}")


@cache
def _is_arithmetic(expression: str, known: tuple[str, ...]) -> bool:
    """Whether an expression is made of these names; a sweep asks for each of its points."""
    return is_simple(ast.parse(expression, mode="eval").body, known)


def _refuse_names(notebook: str, axes: Mapping[str, list[Any]], base: Mapping[str, Any], known: Any) -> None:
    if not axes:
        raise SweepError(f"a sweep of {notebook} needs an axis, -p key=value,value")
    if unknown := sorted({*axes, *base} - {*known}):
        raise SweepError(f"{notebook} has no parameter {unknown[0]!r}; it has: {', '.join(known)}")
    if both := sorted({*axes} & {*base}):
        raise SweepError(f"{both[0]} is an axis and has a fixed value too")
    for name, values in axes.items():
        if not values:
            raise SweepError(f"the axis {name} has no values")
        texts = [json.dumps(value) for value in values]
        if twice := [text for text in texts if texts.count(text) > 1]:
            raise SweepError(f"the axis {name} has the value {twice[0]} twice")


def _refuse_value(known: Parameter, parameters: Mapping[str, Any]) -> None:
    """Refuse what the notebook would refuse, as far as its ranges tell, before anything is run."""
    value, rule = parameters[known.name], known.rule
    if _kind(value) != _kind(known.default):
        raise SweepError(f"{known.name}={value!r} is {_kind(value)}, the parameter is {_kind(known.default)}")
    if rule is None or (rule.each and not value):
        return
    ends = rule.ends(parameters)
    for one in value if rule.each else [value]:
        if rule.choices is not None:
            allowed = one in value_of(rule.choices, parameters)
        else:
            allowed = (ends[0] is None or one >= ends[0]) and (ends[1] is None or one <= ends[1])
        if not allowed:
            raise SweepError(f"{known.name}={value!r} is out of its range: {rule.text}")


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "yes or no"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
    return type(value).__name__


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand outside of brackets and quotes."""
    part, depth, quote = "", 0, ""
    for letter in text:
        if letter == "," and not depth and not quote:
            yield part
            part = ""
            continue
        if letter in "'\"":
            quote = "" if quote == letter else quote or letter
        depth += (letter in "[(") - (letter in "])")
        part += letter
    if part.strip():
        yield part


def _value(text: str) -> Any:
    """A Python literal, or else plain text."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


def _name(values: Mapping[str, Any]) -> str:
    """A file's name that says what was set, ``heads=4,seed=2``, with a hash where it cannot say all of it."""
    words = {key: _word(value) for key, value in values.items() if key != DEVICE}
    name = ",".join(f"{key}={word}" for key, word in words.items()) or "defaults"
    told = {key: re.sub(r"[^\w.+-]+", "_", word) or "none" for key, word in words.items()}
    if told == words and len(name) <= _LONGEST_NAME:
        return name
    name = ",".join(f"{key}={word}" for key, word in told.items())
    return f"{name[: _LONGEST_NAME - 18]}--{digest(sorted(values.items()))}"


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=("+", ":"))
    return text.removeprefix("[").removesuffix("]") if isinstance(value, list) else text

"""The range of each parameter: read from the notebook's ``require``, worded one way, and written into its comment."""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: What an expression of parameters may hold beside their names.
_CALLS = {"len": len, "max": max, "min": min, "range": range}

_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.Constant, ast.Set, ast.List, ast.Tuple, ast.Name, ast.Call, ast.operator,
    ast.unaryop, ast.expr_context,
)  # fmt: skip

#: Where a comment's parts begin and end: commas and colons outside of brackets.
_BETWEEN = re.compile(r"(, |: )(?![^()]*\))")

#: A part of a comment that states a range, in the words of the house or in others that say the same.
_RANGE = re.compile(
    r"(each |any integer )?"
    r"(from \S.* (to|on)\b|from \S+$|at least |at most |one of |above |below |positive$|more than |fewer than |between "
    r"|a multiple of |\S+ to \d\S*$|\S+ or \S+$)"
)

#: What a part may say of numbers of values, which is no range of a value.
_COUNT = re.compile(r"\b(values|sizes|interval)\b")

#: What stays of a part whose range is put in other words.
_REST = re.compile(r" (\(the |and so |for every ).*$")


@dataclass(frozen=True)
class Rule:
    """What ``require`` asks of one parameter, as it is written: ``least`` and ``most``, or ``choices``.

    An end is an expression of numbers and of other parameters, or ``None`` where the range is open. ``each`` says that
    the parameter is a list and that the rule is for its values.
    """

    least: str | None = None
    most: str | None = None
    choices: str | None = None
    each: bool = False

    @property
    def text(self) -> str:
        """The range in words: ``from 1 to width - 1``, ``at least 2``, ``one of 'a', 'b'``, ``each at most 8``."""
        if self.choices is not None:
            words = _choices(ast.parse(self.choices, mode="eval").body)
        elif self.least is not None and self.most is not None:
            words = f"from {self.least} to {self.most}"
        else:
            words = f"at most {self.most}" if self.least is None else f"at least {self.least}"
        return f"each {words}" if self.each else words

    def ends(self, values: Mapping[str, Any]) -> list[Any]:
        """The least and the most value, or the choices, where the other parameters have these values."""
        if self.choices is None:
            return [None if end is None else value_of(end, values) for end in (self.least, self.most)]
        choices = value_of(self.choices, values)
        return [choices[0], choices[-1]] if isinstance(choices, range) else sorted(choices, key=repr)


def rules_of(code: str, defaults: Mapping[str, Any]) -> dict[str, Rule]:
    """The rules that a notebook's ``require`` states for its parameters.

    A rule for something computed from several parameters is no parameter's range, and an end that is more than a simple
    expression of parameters is not told.
    """
    return {
        name: rule
        for name, value in _required(ast.parse(code))
        if name in defaults and (rule := _rule(name, value, defaults)) is not None
    }


def comment_with(comment: str, rule: Rule) -> str:
    """The comment with its range in the words of the rule: ``meaning, range; what else there is to say``."""
    head, semicolon, note = comment.partition(";")
    parts, said = _said(head)
    if not said:
        return f"{head}, {rule.text}{semicolon}{note}"
    rest = _REST.search(parts[said[0]])
    parts[said[0]] = rule.text + (rest.group() if rest else "")
    return "".join(_without(parts, said[1:])) + semicolon + note


def meaning_of(comment: str) -> str:
    """The comment without what it says of the range."""
    head, semicolon, note = comment.partition(";")
    parts, said = _said(head)
    return "".join(_without(parts, said)) + semicolon + note


def _said(head: str) -> tuple[list[str], list[int]]:
    """The parts of a comment, with what stands between them, and which of them state a range."""
    if "one of " in head:  # choices have commas of their own
        head = head[: head.index("one of ")] + "one of "
    parts = _BETWEEN.split(head)
    said = [at for at in range(0, len(parts), 2) if _RANGE.match(parts[at]) and not _COUNT.search(parts[at])]
    return parts, said


def _without(parts: list[str], at: list[int]) -> list[str]:
    """The parts without some of them and without what stands before these."""
    dropped = {place for one in at for place in (one - 1, one)}
    return [part for place, part in enumerate(parts) if place not in dropped]


def _required(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="require"), keywords=keywords):
                yield from ((keyword.arg, keyword.value) for keyword in keywords if keyword.arg)


def _rule(name: str, value: ast.expr, defaults: Mapping[str, Any]) -> Rule | None:
    each = isinstance(defaults[name], list)
    match value:
        case ast.Tuple(elts=[ast.Call(func=ast.Name(id="Each"), args=[values]), *limits]):
            value = ast.Tuple([values, *limits])
    match value:
        case ast.Tuple(elts=[ast.Name(id=same), least, most]) if same == name:
            rule = Rule(_end(least), _end(most), each=each)
            told = is_simple(least, defaults) and is_simple(most, defaults) and rule != Rule(each=each)
            return rule if told else None
        case ast.Tuple(elts=[ast.Name(id=same), choices]) if same == name:
            return Rule(choices=ast.unparse(choices), each=each) if is_simple(choices, defaults) else None
    return None


def _end(end: ast.expr) -> str | None:
    """A number as it is said, an expression as it is written, nothing for ``None``."""
    try:
        value = eval(ast.unparse(end), {"__builtins__": {}})
    except NameError:
        return ast.unparse(end)
    return None if value is None else _number(value)


def _number(value: float) -> str:
    """Whole numbers in full, others as short as they can be said."""
    short = f"{value:g}".replace("e-0", "e-")
    return short if isinstance(value, float) and float(short) == value else repr(value)


def _choices(choices: ast.expr) -> str:
    match choices:
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, step]):
            first, by = ast.unparse(start), ast.unparse(step)
            last = _end(ast.BinOp(stop, ast.Sub(), ast.Constant(1)))
            if first.isdigit() and by.isdigit() and last is not None and last.isdigit():
                last = str(range(int(first), int(last) + 1, int(by))[-1])
                if int(first) % int(by):
                    return f"from {first} to {last} in steps of {by}"
            return f"a multiple of {by} from {first} to {last}"
        case ast.Set() | ast.List() | ast.Tuple() if not any(isinstance(one, ast.Name) for one in ast.walk(choices)):
            return "one of " + ", ".join(json.dumps(value) for value in sorted(ast.literal_eval(choices)))
    return f"one of {ast.unparse(choices)}"


def is_simple(expression: ast.expr, known: Collection[str]) -> bool:
    """Whether an expression is made of plain values, the names in ``known`` and arithmetic."""
    nodes = list(ast.walk(expression))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return all(isinstance(node, _ALLOWED) for node in nodes) and names <= {*known, *_CALLS}


def value_of(expression: str, values: Mapping[str, Any]) -> Any:
    """The value of a simple expression where the parameters have these values."""
    return eval(expression, {"__builtins__": {}, **_CALLS, **values})

"""Parts of the assemblers of both languages: lines with labels and comments, and names that must be known."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from attention_theory._listings import program_lines

_Place = TypeVar("_Place")


class AssemblyError(ValueError):
    """The text is not a program. The message names the line and what is wrong with it."""


def labelled_lines(text: str) -> Iterator[tuple[int, list[str], str]]:
    """The number of each line, from 1, the labels in front of it (``name:``) and what is left without ``#`` comments.

    Lines on which nothing stands are left out; a line of labels alone has an empty statement. Names are of ASCII
    letters.

    Raises:
        AssemblyError: an invisible character outside of comments.
    """
    for number, line in program_lines(text, AssemblyError):
        labels = []
        while found := re.match(r"(\w+)\s*:\s*", line, re.ASCII):
            labels.append(found[1])
            line = line[found.end() :]
        yield number, labels, line


def refuse_twice(number: int, kind: str, name: str, known: Collection[str]) -> None:
    """Refuse to give a name again.

    Raises:
        AssemblyError: the name is known already.
    """
    if name in known:
        raise AssemblyError(f"line {number}: {kind} '{name}' is given twice")


def find(number: int, kind: str, name: str, places: Mapping[str, _Place]) -> _Place:
    """The meaning of a name.

    Raises:
        AssemblyError: an unknown name; the message has the known one that is nearest to it.
    """
    if name not in places:
        near = difflib.get_close_matches(name, list(places), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise AssemblyError(f"line {number}: unknown {kind} '{name}'{hint}")
    return places[name]


def beside(printed: Sequence[str], repaired: Sequence[str]) -> list[tuple[str, str]]:
    """Two listings line by line, aligned by places; a place may take several lines, with a gap beside those missing.

    Args:
        printed: the text of each place, as the paper has it.
        repaired: the same places, repaired.

    Raises:
        ValueError: listings of different numbers of places.
    """
    rows: list[tuple[str, str]] = []
    for one, other in zip(printed, repaired, strict=True):
        left, right = ([_aligned(line) for line in place.split("\n")] for place in (one, other))
        rows += zip_longest(left, right, fillvalue="")
    return [row for row in rows if any(row)]


def side_by_side(rows: Sequence[tuple[str, str]]) -> str:
    """Two listings as one text, with an equals sign where the right one has the same line."""
    wide = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:{wide}s} | {'=' if left == right else right}" for left, right in rows)


def _aligned(line: str) -> str:
    """Labels in a separate column, without comments."""
    label, colon, statement = line.partition("#")[0].strip().rpartition(":")
    return f"{label + colon:8s}{statement.strip()}".rstrip()

"""The rules that a notebook keeps as a page to be read: its title, and the rhythm of prose and code."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from nbformat import NotebookNode

from bookpress.claims.registry import Entry
from bookpress.claims.statement import BLOCK
from bookpress.notebooks.source import PARAMETERS_TAG, title_of
from prose import plain

#: The two headings that close a page.
CLOSING = ["What to remember", "Exercises"]

LONGEST_CELL = 20
#: Words outside of folds, and words before the first figure or table.
MOST_WORDS, MOST_WORDS_FIRST = 1500, 300

#: A heading that is longer has swallowed the paragraph below it.
LONGEST_HEADING = 80

#: Dark mode turns brightness over, so that a caption that names it is false in one of the two modes.
_BRIGHTNESS = re.compile(
    r"\b(?:black|white|dark\w*|light(?:er|est)?(?! of)|gr[ea]y\w*|bright\w*|pale[rs]?t?)\b", re.IGNORECASE
)

_FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
_WORDS = {"app.": "appendix", "appendices": "appendix", "corollaries": "corollary", "eq": "equation", "eq.": "equation"}
_NUMBER = r"\(?(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*)\b\)?(?:\([a-z]\))?"
_REFERENCE = re.compile(
    r"\b(Algorithm|Appendix|Appendices|App\.|Assumption|Bridge|Claim|Corollary|Corollaries|Definition|Equation|Eq\.?|Example|"
    r"Figure|Lemma|Proposition|Remark|Section|Step|Table|Theorem)s?\.? "
    rf"({_NUMBER}(?:(?:, | and |, and | to |[-–]){_NUMBER})*)",
    re.IGNORECASE,
)


def references(text: str) -> set[tuple[str, str]]:
    """The numbered items that a text names: ``Lemmas 4.4 and B.2`` is ``{(lemma, 4.4), (lemma, B.2)}``."""
    found = set()
    for word, numbers in _REFERENCE.findall(text):
        kind = _WORDS.get(word.lower(), word.lower())
        found |= {(kind, re.sub(r"[() ]", "", number)) for number in re.findall(_NUMBER, numbers)}
    return found


def title_faults(title: str, entries: list[Entry]) -> list[str]:
    """What is wrong with a title: it begins with numbers under which its claims stand in the paper, then ' · '."""
    begins, dot, _ = title.partition(" · ")
    if not dot:
        return [f"the title {title!r} must begin with the paper's number: 'Lemma 4.4 · ...'"]
    known = set().union(*(references(f"{entry.label}; {entry.where or ''}") for entry in entries))
    named = references(begins)
    unknown = sorted(
        f"{kind} {number}"
        for kind, number in named
        if not any(kind == other and _begins(place, number) for other, place in known)
    )
    if not named:
        return [f"the title {title!r} begins with no number of the paper"]
    return [f"the title names {one}, where no claim of the page stands" for one in unknown]


def _begins(place: str, number: str) -> bool:
    """``2`` stands for the panels ``2a`` and ``2b``, and ``4`` for Sections 4.1 and 4.2."""
    return place == number or (place.startswith(number) and not place[len(number)].isdigit())


def rhythm_faults(source: NotebookNode) -> list[str]:
    """Where a notebook breaks the rhythm of a page; empty for a page that reads well."""
    rules = (_form, _long_headings, _long_cells, _claims_left_open, _bound_again, _folds_within_lines)
    return [fault for rule in rules for fault in rule(source)]


def _form(source: NotebookNode) -> Iterator[str]:
    """The idea and a picture first, a sentence after each figure, exercises at the end."""
    if headings(source)[-2:] != CLOSING:
        yield f"a page ends with the sections '{CLOSING[0]}' and '{CLOSING[1]}'"
        return
    yield from _figures_without_prose(source)
    opening = re.sub(r"^#[^\n]*\n|^\*.*?\*\n", "", source.cells[0].source, flags=re.MULTILINE | re.DOTALL).strip()
    if "$" in re.split(r"(?<=[.?!])\s", opening)[0]:
        yield "the first sentence has a formula"
    words, first = 0, None
    for cell in source.cells:
        if cell.cell_type == "markdown":
            words += len(plain(_FOLD.sub("", BLOCK.sub("", cell.source))).split())
        elif first is None and re.search(r"show\.(figure|table)\(", cell.source):
            first = words
    if words > MOST_WORDS:
        yield f"{words} words outside of folds, of at most {MOST_WORDS}"
    if first is None or first > MOST_WORDS_FIRST:
        yield f"{first} words before the first figure or table, of at most {MOST_WORDS_FIRST}"
    exercises = next(cell.source for cell in reversed(source.cells) if "## Exercises" in cell.source)
    if exercises.count("<summary>Solution</summary>") < 2:
        yield "two exercises, each with its solution in a fold"


def headings(source: NotebookNode) -> list[str]:
    """The headings of a page's sections."""
    prose = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
    return [line.strip() for line in re.findall(r"^## (.*)$", prose, re.MULTILINE)]


def _long_headings(source: NotebookNode) -> Iterator[str]:
    for cell in source.cells:
        for line in re.findall(r"^##+ .*$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else []:
            if len(line) > LONGEST_HEADING:
                yield f"a heading with a paragraph in its line: {line[:60]}"


def _code(source: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in source.cells if cell.cell_type == "code"]


def _long_cells(source: NotebookNode) -> Iterator[str]:
    for cell in _code(source):
        if not _is_opening(cell) and (lines := len(cell.source.splitlines())) > LONGEST_CELL:
            yield f"a code cell of {lines} lines, of at most {LONGEST_CELL}: {_first_line(cell)}"


def _is_opening(cell: NotebookNode) -> bool:
    statements = ast.parse(cell.source).body
    only_imports = all(isinstance(one, ast.Import | ast.ImportFrom) for one in statements)
    return only_imports or PARAMETERS_TAG in cell.metadata.get("tags", []) or cell.source.startswith("require(")


def _claims_left_open(source: NotebookNode) -> Iterator[str]:
    for cell in _code(source):
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        opened = sum(isinstance(call.func, ast.Name) and call.func.id == "Claim" for call in calls)
        closed = sum(isinstance(call.func, ast.Attribute) and call.func.attr == "verdict" for call in calls)
        if opened != closed:
            yield f"a claim is opened and closed in one cell: {_first_line(cell)}"


def _figures_without_prose(source: NotebookNode) -> Iterator[str]:
    for cell, after in pairwise(source.cells):
        if cell.cell_type == "code" and "show.figure(" in cell.source and after.cell_type == "code":
            yield f"no sentence after a figure: {_first_line(cell)}"


def _bound_again(source: NotebookNode) -> Iterator[str]:
    """A parameter means the same in all cells, or a reader who changes it changes half of the page."""
    parameters: set[str] = set()
    for cell in _code(source):
        bound = {
            node.id
            for node in ast.walk(ast.parse(cell.source))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if PARAMETERS_TAG in cell.metadata.get("tags", []):
            parameters = bound
        else:
            yield from (f"the parameter {name!r} is set again: {_first_line(cell)}" for name in bound & parameters)


def _folds_within_lines(source: NotebookNode) -> Iterator[str]:
    """A fold behind the words of a long paragraph is shown as text: HTML inside a line is escaped."""
    for cell in source.cells:
        lines = cell.source.split("\n") if cell.cell_type == "markdown" else []
        yield from (f"a fold must begin its line: {line!r}" for line in lines if re.search(r"\S.*<details>", line))


def _first_line(cell: NotebookNode) -> str:
    return next((line for line in cell.source.splitlines() if line.strip()), "")[:60]


def page_faults(source: NotebookNode, entries: list[Entry]) -> list[str]:
    """Everything wrong with a notebook as a page: its title and its rhythm."""
    return title_faults(title_of(source), entries) + rhythm_faults(source)


def brightness_in(text: str) -> str | None:
    """The first word in the text of a drawing that dark mode makes untrue; None if there is none."""
    word = _BRIGHTNESS.search(text)
    return word.group() if word else None

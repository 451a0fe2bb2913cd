"""The rules that a notebook keeps as a page to be read: its title, and the rhythm of prose and code."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from nbformat import NotebookNode

from bookpress.claims.registry import Entry
from bookpress.notebooks.source import PARAMETERS_TAG, title_of

#: The two headings that close a page.
LEARNED, TO_TRY = "What was learned", "To try"

LONGEST_CELL = 20
MOST_PAIRS = 0.15  # of a page's code cells, those that follow another one straight

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
    return [
        *_long_cells(source),
        *_pairs_of_code(source),
        *_claims_left_open(source),
        *_figures_without_prose(source),
        *_closing(source),
        *_bound_again(source),
    ]


def _code(source: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in source.cells if cell.cell_type == "code"]


def _long_cells(source: NotebookNode) -> Iterator[str]:
    for cell in _code(source):
        if not _is_opening(cell) and (lines := len(cell.source.splitlines())) > LONGEST_CELL:
            yield f"a code cell of {lines} lines, of at most {LONGEST_CELL}: {_first_line(cell)}"


def _pairs_of_code(source: NotebookNode) -> Iterator[str]:
    """Imports, parameters and their check open a page together and are not counted."""
    body = [cell for cell in _code(source) if not _is_opening(cell)]
    pairs = [
        after
        for before, after in pairwise(source.cells)
        if before.cell_type == after.cell_type == "code" and not _is_opening(before) and not _is_opening(after)
    ]
    if len(pairs) > MOST_PAIRS * len(body):
        yield f"{len(pairs)} of {len(body)} code cells follow another without a word between: {_first_line(pairs[0])}"


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
    for before, after in pairwise(source.cells):
        if after.cell_type == "code" and "show.figure(" in after.source and before.cell_type == "code":
            yield f"no sentence before a figure: {_first_line(after)}"


def _closing(source: NotebookNode) -> Iterator[str]:
    headings = [
        line.removeprefix("## ").strip()
        for cell in source.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("## ")
    ]
    if headings[-2:] != [LEARNED, TO_TRY]:
        yield f"a page ends with the sections '{LEARNED}' and '{TO_TRY}'"


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


def _first_line(cell: NotebookNode) -> str:
    return next((line for line in cell.source.splitlines() if line.strip()), "")[:60]


def page_faults(source: NotebookNode, entries: list[Entry]) -> list[str]:
    """Everything wrong with a notebook as a page: its title and its rhythm."""
    return title_faults(title_of(source), entries) + rhythm_faults(source)

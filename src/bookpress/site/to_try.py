"""What every page proposes to try, gathered by kind, each with the line that does it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from bookpress.claims.registry import Kind
from bookpress.notebooks.source import Notebook, read_source
from bookpress.site.book import Book

#: Themes by the kinds of claims that a page settles, the first that fits.
THEMES = {
    "Theorems and their bounds": {Kind.THEOREM, Kind.PROPOSITION, Kind.LEMMA, Kind.COROLLARY},
    "Machines and programs": {Kind.ALGORITHM, Kind.CONSTRUCTION},
    "Figures and tables": {Kind.FIGURE, Kind.TABLE},
    "Definitions, examples and remarks": {Kind.DEFINITION, Kind.ASSUMPTION, Kind.EXAMPLE, Kind.REMARK},
}

_HEADING = "## To try"


@dataclass(frozen=True)
class Proposal:
    """What to set, and what will be seen."""

    page: str
    words: str
    settings: dict[str, object]

    @property
    def line(self) -> str:
        """The papermill line: plain values one by one, lists together as YAML."""
        name = f"notebooks/{self.page}.ipynb"
        given = " ".join(
            f"-p {key} {shlex.quote(str(value))}" for key, value in self.settings.items() if not isinstance(value, list)
        )
        lists = {key: value for key, value in self.settings.items() if isinstance(value, list)}
        flow = yaml.safe_dump(lists, default_flow_style=True, width=10_000).strip()
        return " ".join(
            part for part in (f"papermill {name} out.ipynb", given, f"-y '{flow}'" if lists else "") if part
        )


def proposals(notebook: Notebook) -> list[Proposal]:
    """The points under the last heading of a notebook, with the parameters that they set."""
    cells = read_source(notebook.layout.source(notebook.name)).cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    if _HEADING not in prose:
        return []
    known = {one.name for one in notebook.parameters}
    points = re.split(r"^- ", prose.split(_HEADING)[1], flags=re.MULTILINE)[1:]
    return [Proposal(notebook.name, " ".join(point.split()), dict(_settings(point, known))) for point in points]


def _settings(point: str, known: set[str]) -> Iterator[tuple[str, object]]:
    """``name = value`` in code, and ``name`` to ``value``, of what the notebook has as a parameter."""
    for name, value in re.findall(r"`([a-z]\w*) ?= ?([^`]+)`", point) + re.findall(
        r"`([a-z]\w*)` to `?(\[[^\]]*\]|-?[\d.]*\d|\"[^\"]*\")`?", point
    ):
        if name in known:
            yield name, yaml.safe_load(value)


def to_try_page(book: Book) -> str:
    lines = [
        "# Things to try",
        "",
        "Every page ends with a parameter or two to change, and with what will then be seen. Here they are together. A "
        "line runs as it stands from the root of the repository, and `out.ipynb` is the page that it makes.",
    ]
    pages = [name for paper in book.registry.papers for name in book.notebooks_of(paper)]
    found = {name: proposals(Notebook(name, book.layout)) for name in pages}
    for theme in THEMES:
        themed = [name for name in pages if found[name] and _theme(book, name) == theme]
        lines += ["", f"## {theme}"] if themed else []
        for name in themed:
            lines += ["", f"**[{book.records[name].title}](/notebooks/{name}.ipynb)**", ""]
            for one in found[name]:
                lines += [f"- {one.words}"]
                lines += ["", f"  ```console\n  {one.line}\n  ```", ""] if one.settings else []
    return "\n".join(lines) + "\n"


def _theme(book: Book, name: str) -> str:
    """The theme of the page's gravest kind of claim."""
    kinds = {book.registry.entry(one.claim).kind for one in book.records[name].claims}
    return next((theme for theme, of in THEMES.items() if of & kinds), list(THEMES)[-1])

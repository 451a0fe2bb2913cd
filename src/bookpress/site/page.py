"""From an executed notebook to a page of the book.

The prose is the source's of today, the outputs are the run's. A stated claim becomes the directive that states it on
the site, the badges under the title come from the record, and figures, tables and verdict panels become Markdown that
Sphinx numbers, captions and links, each with a line on the run behind it.
"""

import re
from collections.abc import Iterator
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from bookpress.claims.evidence import CLAIM_MIME, FIGURE_MIME
from bookpress.claims.panel import panel_block
from bookpress.claims.record import Record
from bookpress.claims.registry import Registry
from bookpress.claims.statement import BLOCK
from bookpress.exits import Exit, Failure
from bookpress.files import write_whole
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.source import INJECTED_TAG, PARAMETERS_TAG, Notebook, code_of
from bookpress.site.book import Book
from bookpress.site.markdown import figure_block, render, without_html
from bookpress.site.package import folded_cells, libraries

#: Words that a reader takes in within a minute, and pages that a strip names.
_WORDS_A_MINUTE, _PAGES_NAMED = 200, 3


class StalePage(Failure, code=Exit.BAD_FILE):
    """The executed notebook was made from other code than the source holds now."""


def write_page(book: Book, name: str, small_map: str) -> None:
    """Write the page of one notebook and its figures; ``small_map`` is its place on the chapter's map, or empty.

    Raises:
        StalePage: the executed copy is of older code, or the page lacks its title or a claim that it settles.
    """
    record, layout = book.records[name], book.layout
    page = _Page(record, layout)
    cells = list(page.cells())
    first = cells[0].source
    title = re.match("# .*", first)
    if title is None:
        raise StalePage(f"{name}: the first cell must begin with a title, '# ...'")
    strip = {"minutes": page.minutes(), "builds_on": page.builds_on(), "full_size": book.full_size_run(name)}
    strip["full"] = book.full_size[name].parameters if name in book.full_size else {}
    option = "" if record.profile == LAPTOP else f" --profile {record.profile}"
    head = render("page-head", title=title.group(), record=record, option=option, small_map=small_map, **strip)
    cells[0].source = f"{head.rstrip()}\n{first[title.end() :]}"
    if points := book.points_section(name):
        cells.append(new_markdown_cell(points))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    whole = new_notebook(cells=cells, metadata=page.executed.metadata)
    write_whole(layout.page(name), nbformat.writes(whole) + "\n")
    record.write(layout.generated / "records" / f"{name}.json")


class _Page:
    """The source and the run behind one page."""

    def __init__(self, record: Record, layout: Layout) -> None:
        self.record, self.layout, self.source = record, layout, Notebook(record.notebook, layout)
        self.executed = nbformat.read(layout.executed(record.notebook, record.profile), as_version=4)
        stated = {claim for cell in self.source.source.cells for claim in BLOCK.findall(cell.source)}
        if missing := sorted({settled.claim for settled in record.claims} - stated):
            fault = f"{missing[0]} is settled and not stated; '<!-- claim ... -->' is missing"
            raise StalePage(f"{record.notebook}: {fault}")
        run = [cell for cell in self.executed.cells if cell.cell_type == "code"]
        self._injected = [cell for cell in run if INJECTED_TAG in cell.metadata.get("tags", [])]
        self._ran = [cell for cell in run if cell not in self._injected]
        if self.source.code != code_of(self._ran):
            raise StalePage(f"{record.notebook}: the executed copy is of older code; run it again")
        shown = [[output.get("data", {}) for output in cell.outputs] for cell in self._ran]
        with_figures = {number for number, outputs in enumerate(shown) if any(FIGURE_MIME in one for one in outputs)}
        self._folded = folded_cells([cell.source for cell in self._ran], with_figures, libraries(layout))

    def cells(self) -> Iterator[NotebookNode]:
        """The source's cells with the run's outputs, and after each code cell what it shows."""
        number = -1
        for cell in self.source.source.cells:
            if cell.cell_type == "markdown":
                yield new_markdown_cell(BLOCK.sub("::::::{claim} \\1\n::::::", cell.source))
                continue
            number += 1
            takes_parameters = PARAMETERS_TAG in cell.metadata.get("tags", [])
            for code in [self._ran[number], *(self._injected if takes_parameters else [])]:
                yield from self._code_cell(code, number)

    def minutes(self) -> int:
        """The time to read the page's prose, folds left out."""
        prose = "\n".join(cell.source for cell in self.source.source.cells if cell.cell_type == "markdown")
        words = len(re.sub(r"<details>.*?</details>", "", prose, flags=re.DOTALL).split())
        return max(1, round(words / _WORDS_A_MINUTE))

    def builds_on(self) -> list[str]:
        """Links to the pages of the claims that those of this page rest on."""
        registry, paper = Registry.load(self.layout), self.record.notebook.partition("/")[0]
        entries = registry.of_notebook(self.record.notebook).values()
        used = dict.fromkeys(name for entry in entries for name in (*entry.uses, *entry.proof_uses))
        pages = dict.fromkeys(registry.entry(f"{paper}/{name}").notebook for name in used)
        others = [name for name in pages if name and name != self.record.notebook][:_PAGES_NAMED]
        labels = {name: Notebook(name, self.layout).title.partition(" · ")[0] for name in others}
        return [f"[{label}](/notebooks/{name}.ipynb)" for name, label in labels.items()]

    def _code_cell(self, code: NotebookNode, number: int) -> Iterator[NotebookNode]:
        """A cell of code, and behind it the figures, tables and panels that it shows, each with its origin.

        Imports, and drawing that neither computes nor judges, are folded away; a click opens them.
        """
        shown = [(output["data"], text) for output in code.outputs if (text := self._lifted(output.get("data", {})))]
        if number in self._folded:
            code.metadata["tags"] = ["hide-input"]
        ours = {CLAIM_MIME, FIGURE_MIME, "text/markdown"}
        code.outputs = [output for output in code.outputs if ours.isdisjoint(output.get("data", {}))]
        yield code
        for data, text in shown:
            if FIGURE_MIME in data or CLAIM_MIME in data:
                text += "\n\n" + render("origin", record=self.record, defaults=self.source.defaults)
            yield new_markdown_cell(text)

    def _lifted(self, data: dict[str, Any]) -> str:
        """One output as Markdown, or nothing for an output that stays with its cell."""
        if FIGURE_MIME in data:
            name = f"{self.record.notebook}-{data[FIGURE_MIME]['name']}"
            write_whole(self.layout.figure(name), data["image/svg+xml"])
            return without_html(figure_block(name, data[FIGURE_MIME]))
        if CLAIM_MIME in data:
            claim = data[CLAIM_MIME]["settled"]["claim"]
            return without_html(panel_block(next(one for one in self.record.claims if one.claim == claim)))
        return without_html(data.get("text/markdown", ""))

"""From an executed notebook to a page of the book.

The prose is the source's of today, the outputs are the run's. A stated claim becomes the directive that states it on
the site, the badges under the title come from the record, and figures, tables and verdict panels become Markdown that
Sphinx numbers, captions and links, each with a line on the run behind it.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from bookpress.claims.evidence import CLAIM_MIME, FIGURE_MIME, Settled
from bookpress.claims.panel import escape, mark_in_words, panel_block, set_powers, set_truth, verdict_in_words
from bookpress.claims.record import Record
from bookpress.claims.registry import ProofMark, Registry, Verdict
from bookpress.claims.statement import BLOCK
from bookpress.exits import Exit, Failure
from bookpress.files import write_whole
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.source import INJECTED_TAG, PARAMETERS_TAG, Notebook, code_of
from bookpress.site.package import CodeCells, libraries

#: The section whose evidence is folded; its first paragraph stays open.
CHECKED = "## How we checked"
_FOLD = '<details class="how-we-checked"><summary>Checks, controls and method notes</summary>'

#: Words that a reader takes in within a minute, and pages that a strip names.
_WORDS_A_MINUTE, _PAGES_NAMED = 200, 3

_TITLE = re.compile(r"# .*")
_NUMBER = re.compile(r"[-−]?(?:\d[\d\u202f]*(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)%?")
#: A bar that ends a cell of a table.
_BAR = re.compile(r"(?<!\\)\|")


class StalePage(Failure, code=Exit.BAD_FILE):
    """The executed notebook was made from other code than the source holds now."""


def write_page(
    record: Record, full_size: str, layout: Layout, small_map: str = "", points: str = "", description: str = ""
) -> None:
    """Write the page of one notebook and its figures.

    ``full_size`` is a line on the run at full size, ``small_map`` the page's place on the chapter's map, ``points``
    what there is of the full size point by point, ``description`` a sentence for search engines; each may be empty.

    Raises:
        StalePage: the executed copy is of older code, or the page lacks its title or a claim that it settles.
    """
    page = _Page(record, layout)
    cells = list(_with_folded_evidence(page.cells()))
    first = cells[0].source
    title = _TITLE.match(first)
    if title is None:
        raise StalePage(f"{record.notebook}: the first cell must begin with a title, '# ...'")
    strip = f"{{.run-line}}\n{page.minutes()} min to read. {_run_line(record, full_size)}{page.builds_on()}"
    below = "\n\n".join(part for part in (badges(record.claims), strip, small_map) if part)
    cells[0].source = f"{title.group()}\n\n{below}\n{first[title.end() :]}"
    cells += [new_markdown_cell(points)] if points else []
    about = {"og:description": description, "myst": {"html_meta": {"description": description}}} if description else {}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    whole = new_notebook(cells=cells, metadata=page.executed.metadata | about)
    write_whole(layout.page(record.notebook), nbformat.writes(whole) + "\n")
    record.write(layout.generated / "records" / f"{record.notebook}.json")


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
        self._code = CodeCells([cell.source for cell in self._ran], libraries(layout))

    def cells(self) -> Iterator[NotebookNode]:
        """The source's cells with the run's outputs, and after each code cell what it shows."""
        number = -1
        for cell in self.source.source.cells:
            if cell.cell_type == "markdown":
                yield new_markdown_cell(BLOCK.sub(lambda match: claim_block(match[1]), cell.source))
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

    def builds_on(self) -> str:
        """The pages of the claims that those of this page rest on, as a sentence; empty where there are none."""
        registry, paper = Registry.load(self.layout), self.record.notebook.partition("/")[0]
        entries = registry.of_notebook(self.record.notebook).values()
        used = dict.fromkeys(name for entry in entries for name in (*entry.uses, *entry.proof_uses))
        pages = dict.fromkeys(registry.entry(f"{paper}/{name}").notebook for name in used)
        others = [name for name in pages if name and name != self.record.notebook][:_PAGES_NAMED]
        links = [
            f"[{Notebook(name, self.layout).title.partition(' · ')[0]}](/notebooks/{name}.ipynb)" for name in others
        ]
        return f" Builds on {', '.join(links)}." if links else ""

    def _code_cell(self, code: NotebookNode, number: int) -> Iterator[NotebookNode]:
        """A cell of code, and behind it the figures, tables and panels that it shows, each with its origin.

        Imports, and drawing that neither computes nor judges, are folded away; a click opens them.
        """
        shown = [(output["data"], text) for output in code.outputs if (text := self._lifted(output.get("data", {})))]
        draws = any(FIGURE_MIME in output.get("data", {}) for output in code.outputs)
        if self._code.is_folded(number, draws):
            code.metadata["tags"] = ["hide-input"]
        ours = {CLAIM_MIME, FIGURE_MIME, "text/markdown"}
        code.outputs = [output for output in code.outputs if ours.isdisjoint(output.get("data", {}))]
        yield code
        for data, text in shown:
            if FIGURE_MIME in data or CLAIM_MIME in data:
                functions = self._code.functions(number)
                text += "\n\n" + origin_block(self.record, self.source.defaults, functions, self.layout)
            yield new_markdown_cell(text)

    def _lifted(self, data: dict[str, Any]) -> str:
        """One output as Markdown, or nothing for an output that stays with its cell."""
        if FIGURE_MIME in data:
            name = f"{self.record.notebook}-{data[FIGURE_MIME]['name']}"
            write_whole(self.layout.figure(name), data["image/svg+xml"])
            return without_html(figure_block(name, data[FIGURE_MIME], self.layout.figure(name)))
        if CLAIM_MIME in data:
            claim = data[CLAIM_MIME]["settled"]["claim"]
            return without_html(panel_block(next(one for one in self.record.claims if one.claim == claim)))
        return without_html(set_table(str(data.get("text/markdown", ""))))


def _with_folded_evidence(cells: Iterator[NotebookNode]) -> Iterator[NotebookNode]:
    """Cells of a page, those of :data:`CHECKED` behind its first paragraph in a fold."""
    folded = False
    for cell in cells:
        for part in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE) if cell.cell_type == "markdown" else []:
            if folded and part.startswith("## "):
                yield new_markdown_cell("</details>")
                folded = False
            opening, *rest = part.strip().split("\n\n", 1)
            if part.startswith(CHECKED) and "\n" not in opening and rest:  # a blank line below the heading
                paragraph, *rest = rest[0].split("\n\n", 1)
                opening += f"\n\n{paragraph}"
            if part.startswith(CHECKED):
                yield from (new_markdown_cell(text) for text in (opening, _FOLD, *rest))
                folded = True
            elif part.strip():
                yield new_markdown_cell(part)
        if cell.cell_type != "markdown":
            yield cell
    if folded:
        yield new_markdown_cell("</details>")


def set_table(markdown: str) -> str:
    """A notebook's table as print sets it: columns of numbers to the right, 1.2e-07 as 1.2·10⁻⁷, True as yes."""
    lines = markdown.split("\n")
    rule = next((number for number, line in enumerate(lines) if set(line) == set("| -")), None)
    if rule is None:
        return markdown
    head, *body = ([cell.strip() for cell in _BAR.split(line)[1:-1]] for line in (lines[rule - 1], *lines[rule + 1 :]))
    numbers = {place for place, column in enumerate(zip(*body, strict=True)) if _are_numbers(column)}
    cells = [[cell if set("`$") & set(cell) else set_powers(set_truth(cell)) for cell in row] for row in body]
    return "\n".join([*lines[: rule - 1], markdown_table(head, cells, numbers)])


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether every cell that is not empty or a dash is a number, and there is one."""
    filled = [cell for cell in cells if cell.strip("-–— ")]
    return bool(filled) and all(map(_NUMBER.fullmatch, filled))


def figure_block(name: str, details: dict[str, str], svg: Path | None = None) -> str:
    """A figure with its number and caption; with ``svg``, of the size of that drawing."""
    lines = [
        f"::::::{{figure}} /figures/{name}.svg",
        f":name: figure-{name.replace('/', '-')}",
        *_picture_options(details, "figclass", svg),
        "",
        details["caption"],
        "::::::",
    ]
    return "\n".join(lines)


def picture_block(name: str, details: dict[str, str], link: str, svg: Path | None = None) -> str:
    """A picture that leads to its page, with its caption below; for the gallery, which numbers nothing."""
    options = _picture_options(details, "class", svg)
    lines = [f"::::::{{image}} /figures/{name}.svg", f":target: {link}", *options, "::::::"]
    return "\n".join([*lines, "", details["caption"]])


def _picture_options(details: dict[str, str], class_option: str, svg: Path | None) -> list[str]:
    """Alternative text, class and size in pixels: a page does not jump when a picture of known size is loaded."""
    kind = "photo" if details["photo"] else "drawing"
    head = svg.read_text(encoding="utf-8")[:2000] if svg else ""
    sizes = re.findall(r'\b(width|height)="([\d.]+)pt"', head)
    return [
        f":alt: {json.dumps(' '.join(details['alt'].split()), ensure_ascii=False)}",  # quoted: '#' begins a comment
        f":{class_option}: {kind}",
        *(f":{side}: {round(float(points) * 4 / 3)}" for side, points in sizes),
    ]


def without_html(markdown: str) -> str:
    """Markdown in which no line begins HTML; in the middle of a line it is not live, by ``_config.yml``."""
    joined = re.sub(r"(?<=\S)\n[ \t]*(?=<[A-Za-z/!?])", " ", markdown)  # in a formula of several lines < may begin one
    return re.sub(r"^([ \t]*)<(?=[A-Za-z/!?])", r"\1\\<", joined, flags=re.MULTILINE)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Container[int] = ()) -> str:
    """A Markdown table, with the columns ``numbers`` to the right; what would end a line or a cell is put otherwise."""
    rule = ["---:" if column in numbers else "---" for column in range(len(heads))]
    lines = ([cell.replace("\n", " ").replace(" | ", " &#124; ") for cell in row] for row in (heads, rule, *rows))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def claim_block(claim: str) -> str:
    """The directive that states a claim on the site."""
    return f"::::::{{claim}} {claim}\n::::::"


def badge(verdict: Verdict | str, label: str = "", claim: str = "") -> str:
    """A verdict in words, which the Sphinx extension sets on a coloured ground; with ``claim``, a link to its box."""
    words = f"{label}: {verdict}" if label else str(verdict)
    return f"{{verdict}}`{words} <{claim}>`" if claim else f"{{verdict}}`{words}`"


def proof_badge(mark: ProofMark | None, of_the_book: bool = False) -> str:
    """The mark on a proof in words; nothing where there is no proof. ``of_the_book``: no paper makes the claim."""
    return f"{{proof}}`{mark_in_words(mark, of_the_book)}`" if mark else ""


def badges(claims: list[Settled]) -> str:
    return " ".join(badge(verdict_in_words(one), one.label, one.claim) for one in claims)


def _run_line(record: Record, full_size: str) -> str:
    option = "" if record.profile == LAPTOP else f" --profile {record.profile}"
    run = f"Ran in {record.seconds:.0f} s on {record.device}; run it yourself: `book run {record.notebook}{option}`."
    return run + (f" Full size: {full_size}" if full_size else "")


def origin_block(record: Record, defaults: dict[str, Any], functions: list[str], layout: Layout) -> str:
    """One line on the run behind a figure or a panel, which opens to its parameters, record, source and functions."""
    chosen = [f"{name} = {value}" for name, value in record.parameters.items() if defaults.get(name, value) != value]
    commit = f" · commit {record.commit}" if record.commit else ""
    line = f"{', '.join(chosen) or 'default parameters'} · {record.device} · {record.seconds:.0f} s{commit}"
    every = ", ".join(f"`{name} = {value!r}`" for name, value in record.parameters.items())
    name = record.notebook.rpartition("/")[2]
    lines = [
        f"- Notebook: `notebooks/{record.notebook}.py`",
        f"- Record, with every value: {{download}}`{name}.json </generated/records/{record.notebook}.json>`",
        f"- Parameters of the run: {every or 'none'}",
    ]
    for module, dotted in groupby(functions, key=lambda one: one.rpartition(".")[0]):
        names = ", ".join(f"`{one.rpartition('.')[2]}`" for one in dotted)
        lines += [f"- {names} of `{path}`"] if (path := layout.module(module)) else []
    return "\n".join([f"::::::{{dropdown}} Made with {escape(line)}", ":class-container: origin", "", *lines, "::::::"])

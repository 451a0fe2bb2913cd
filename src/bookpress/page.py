"""From an executed notebook to a page of the book.

The prose is the source's of today, the outputs are the run's. Claims' statements come from the registry, the badges
under the title from the record, and figures, tables and verdict panels become Markdown that Sphinx numbers, captions
and links.
"""

import ast
import re
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from bookpress.evidence import CLAIM_MIME, FIGURE_MIME, Settled
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebook import code_of, read_source
from bookpress.panel import panel_block
from bookpress.record import Record
from bookpress.registry import Entry, Kind, ProofMark, Registry, Verdict

_FENCE = re.compile(r"^```\{claim\} (\S+)\s*\n```\s*$", re.MULTILINE)
_TITLE = re.compile(r"^# .*$", re.MULTILINE)

#: sphinx-proof has a block for what a paper states; what it builds or measures gets a plain one.
_PROOF_BLOCK = {
    Kind.ALGORITHM,
    Kind.ASSUMPTION,
    Kind.COROLLARY,
    Kind.DEFINITION,
    Kind.EXAMPLE,
    Kind.LEMMA,
    Kind.PROPOSITION,
    Kind.REMARK,
    Kind.THEOREM,
}


class StalePage(Exception):
    """The executed notebook was made from other code than the source holds now."""


def write_page(record: Record, registry: Registry, full_size: str, layout: Layout) -> None:
    """Write the page of one notebook and its figures under ``book/``; ``full_size`` is a line on that run, or empty."""
    source = read_source(layout.source(record.notebook))
    executed = nbformat.read(layout.executed(record.notebook, record.profile), as_version=4)
    cells = list(_cells(source, executed, record, registry, layout))
    heading = cells[0].source
    title = _TITLE.search(heading)
    if title is None:
        raise StalePage(f"{record.notebook}: the first cell must begin with a title, '# ...'")
    below = "\n\n".join(part for part in (badges(record.claims), _run_line(record, full_size)) if part)
    cells[0].source = f"{title.group()}\n\n{below}\n{heading[title.end() :]}"
    page = new_notebook(cells=cells, metadata=executed.metadata)
    for number, cell in enumerate(page.cells):
        cell["id"] = f"cell-{number}"
    write_whole(layout.page(record.notebook), nbformat.writes(page) + "\n")


def _cells(
    source: NotebookNode, executed: NotebookNode, record: Record, registry: Registry, layout: Layout
) -> Iterator[NotebookNode]:
    """The source's cells with the run's outputs, and after each code cell what it shows."""
    run = [cell for cell in executed.cells if cell.cell_type == "code"]
    injected = [cell for cell in run if "injected-parameters" in cell.metadata.get("tags", [])]
    ran = iter([cell for cell in run if cell not in injected])
    if code_of(source) != "\n# %%\n".join(cell.source for cell in run if cell not in injected):
        raise StalePage(f"{record.notebook}: the executed copy is of older code; run it again")
    for cell in source.cells:
        if cell.cell_type == "markdown":
            yield new_markdown_cell(
                _FENCE.sub(lambda found: statement_block(found[1], registry.entry(found[1])), cell.source)
            )
            continue
        for code in [next(ran), *(injected if "parameters" in cell.metadata.get("tags", []) else [])]:
            shown = [markdown for output in code.outputs if (markdown := _lifted(output, record, layout))]
            if _is_plumbing(code):
                code.metadata["tags"] = ["hide-input"]
            code.outputs = [output for output in code.outputs if "data" not in output or not _is_ours(output)]
            yield code
            yield from (new_markdown_cell(markdown) for markdown in shown)


def _is_plumbing(code: NotebookNode) -> bool:
    """Imports and the drawing of figures are folded away; a click opens them."""
    statements = ast.parse(code.source).body
    only_imports = all(isinstance(one, ast.Import | ast.ImportFrom) for one in statements)
    return only_imports or any(FIGURE_MIME in output.get("data", {}) for output in code.outputs)


def _is_ours(output: NotebookNode) -> bool:
    return any(mime in output["data"] for mime in (CLAIM_MIME, FIGURE_MIME, "text/markdown"))


def _lifted(output: NotebookNode, record: Record, layout: Layout) -> str:
    """One output as Markdown, or nothing for an output that stays with its cell."""
    data = output.get("data", {})
    if FIGURE_MIME in data:
        name = f"{record.notebook}-{data[FIGURE_MIME]['name']}"
        write_whole(layout.figure(name), data["image/svg+xml"])
        return figure_block(name, data[FIGURE_MIME])
    if CLAIM_MIME in data:
        return panel_block(Settled.model_validate(data[CLAIM_MIME]["settled"]))
    return str(data.get("text/markdown", ""))


def figure_block(name: str, details: dict[str, str]) -> str:
    """A figure with its number and caption."""
    lines = [
        f"::::::{{figure}} /figures/{name}.svg",
        f":name: figure-{name.replace('/', '-')}",
        *_picture_options(details),
        "",
        details["caption"],
        "::::::",
    ]
    return "\n".join(lines)


def picture_block(name: str, details: dict[str, str], link: str) -> str:
    """A picture that leads to its page, with its caption below; for the gallery, which numbers nothing."""
    lines = [f"::::::{{image}} /figures/{name}.svg", f":target: {link}", *_picture_options(details, "class"), "::::::"]
    return "\n".join([*lines, "", details["caption"]])


def _picture_options(details: dict[str, str], class_option: str = "figclass") -> list[str]:
    kind = "photo" if details["photo"] else "drawing"
    return [f":alt: {' '.join(details['alt'].split())}", f":{class_option}: {kind}"]


def statement_block(claim: str, entry: Entry) -> str:
    """A claim's statement from the registry, and beside it what is printed where that is wrong."""
    number = re.sub(rf"^{entry.kind.value} ", "", entry.label, flags=re.IGNORECASE)
    if entry.kind in _PROOF_BLOCK:
        title = f"{number}, {entry.title}" if entry.title else number
        head = f"::::::{{prf:{entry.kind.value}}} {title}\n:nonumber:\n:label: {anchor(claim)}"
    else:
        title = f"{entry.label}. {entry.title}" if entry.title else entry.label
        head = f"::::::{{admonition}} {title}\n:class: statement\n:name: {anchor(claim)}"
    where = f"\n\n*{entry.where}.*" if entry.where else ""
    blocks = [f"{head}\n\n{(entry.statement or '').strip()}{where}\n::::::"]
    if entry.printed and entry.corrected:
        blocks.append(
            f"::::::{{admonition}} In print, and corrected\n:class: misprint\n\n"
            f"**Printed.** {entry.printed.strip()}\n\n**Corrected.** {entry.corrected.strip()}\n::::::"
        )
    return "\n\n".join(blocks)


def anchor(claim: str) -> str:
    return "claim-" + claim.replace("/", "-")


def badge(verdict: Verdict, label: str = "") -> str:
    """A verdict in words, which the Sphinx extension sets on a coloured ground."""
    words = f"{label}: {verdict.value}" if label else verdict.value
    return f"{{verdict}}`{words}`"


def proof_badge(mark: ProofMark | None) -> str:
    """The mark on a proof in words; nothing where there is no proof."""
    return f"{{proof}}`{mark.value}`" if mark else ""


def badges(claims: list[Settled]) -> str:
    return " ".join(badge(one.verdict, one.label) for one in claims)


def _run_line(record: Record, full_size: str) -> str:
    where = record.environment.get("device", "CPU")
    run = f"Ran in {record.seconds:.0f} s on {where}; run it yourself: `book run {record.notebook}`."
    return f"{{.run-line}}\n{run}" + (f" Full size: {full_size}" if full_size else "")

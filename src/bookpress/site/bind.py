"""The pages that nobody writes: notebooks, scoreboard, errata, gallery, status and the table of contents."""

import shutil

import yaml

from bookpress.claims.record import Record
from bookpress.claims.registry import Paper
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook
from bookpress.site.book import Book
from bookpress.site.errata import errata_pages
from bookpress.site.findings import FINDINGS
from bookpress.site.full_size import costs_page
from bookpress.site.instruments import instrument_pages, write_instruments
from bookpress.site.map import Marks, map_page, page_map, small_maps
from bookpress.site.map import layout as drawing_of
from bookpress.site.package_page import package_pages
from bookpress.site.page import badges, picture_block, table_row, write_page
from bookpress.site.scoreboard import scoreboard_page, summary_page
from bookpress.site.to_try import to_try_page


def bind_book(layout: Layout, profile: str) -> str:
    """Write every generated page; returns one line that says how many."""
    book = Book(layout, profile)
    for made in (layout.book / "notebooks", layout.book / "figures", layout.generated):
        shutil.rmtree(made, ignore_errors=True)
    beside = page_maps(book)
    for name, record in book.records.items():
        write_page(record, book.full_size_run(name), layout, book.points_section(name), beside.get(name, ""))
    pages = {
        "summary": summary_page(book),
        "scoreboard": scoreboard_page(book),
        **errata_pages(book),
        "gallery": gallery_page(book),
        "to-try": to_try_page(book),
        "status": status_page(book),
        "full-size": costs_page(book.sweeps, book.full_size, book.kept, book.titles()),
        **{f"pages-{paper.name}": notebooks_list(book, paper) for paper in book.registry.papers},
        **map_pages(book),
        **package_pages(layout, book.registry.papers),
    }
    for name, text in pages.items():
        write_whole(layout.generated / f"{name}.md", text)
    write_whole(layout.book / FINDINGS, book.findings().dumps())
    write_whole(layout.book / "_toc.yml", contents(book))
    write_instruments(layout)
    return f"{len(book.records)} notebooks and {len(pages)} pages bound"


def notebooks_list(book: Book, paper: Paper) -> str:
    """A paper's notebooks with what each settles; included by its chapter."""
    lines = ["---\norphan: true\n---\n", table_row(["page", "what it settles"]), table_row(["---"] * 2)]
    for name in book.notebooks_of(paper):
        settled = badges(book.records[name].claims)
        lines += [table_row([f"[{book.records[name].title}](/notebooks/{name}.ipynb)", settled])]
    return "\n".join(lines) + "\n"


def map_pages(book: Book) -> dict[str, str]:
    """What rests on what: a map for each chapter to include, and all of them small for the front page."""
    papers = book.registry.papers
    marks = {paper.name: _marks(book, paper) for paper in papers}
    maps = {
        f"map-{paper.name}": map_page(
            paper, marks[paper.name], {one.id for one in paper.claims if one.notebook in book.records}
        )
        for paper in papers
    }
    return maps | {"maps": small_maps(book.registry.articles, marks)}


def page_maps(book: Book) -> dict[str, str]:
    """For each notebook where its claims stand on the map of its chapter."""
    maps = {}
    for paper in book.registry.papers:
        if drawing := drawing_of(paper):
            marks = _marks(book, paper)
            for name in book.notebooks_of(paper):
                own = {entry.id for entry in paper.claims if entry.notebook == name}
                maps[name] = page_map(paper, drawing, marks, own)
    return maps


def _marks(book: Book, paper: Paper) -> Marks:
    return {entry.id: (book.verdict(paper, entry), book.proof(paper, entry)) for entry in paper.claims}


def gallery_page(book: Book) -> str:
    lines = ["# Gallery", "", "Every figure of the book, drawn by the run behind it. A picture leads to its page."]
    for paper in book.registry.papers:
        figures = [(name, one) for name in book.notebooks_of(paper) for one in book.records[name].figures]
        if not figures:
            continue
        lines += ["", f"## {paper.short_title}", "", "::::::::{grid} 1 1 2 2", ":gutter: 3"]
        for name, one in figures:
            picture = picture_block(f"{name}-{one.name}", one.model_dump(), f"../notebooks/{name}.html")
            lines += ["", ":::::::{grid-item}", picture, ":::::::"]
        lines += ["::::::::"]
    return "\n".join(lines) + "\n"


def status_page(book: Book) -> str:
    seconds = sum(record.seconds for record in book.records.values())
    machines = sorted({_machine(record) for record in book.records.values()})
    several = len(machines) > 1
    lines = [
        "# Status",
        "",
        f"{len(book.records)} notebooks, {seconds:.0f} s of run time on {' and '.join(machines)}. The full-size column "
        "says whether a run at the papers' own parameters is on record.",
        "",
        table_row(["notebook", "seconds", *["ran on"] * several, "full size"]),
        table_row(["---", "---:", *["---"] * several, "---"]),
    ]
    for paper in book.registry.papers:
        for name in book.notebooks_of(paper):
            record = book.records[name]
            full_size = book.full_size_run(name) or "the laptop run is full size"
            title = f"[{record.title}](/notebooks/{name}.ipynb)"
            lines.append(table_row([title, f"{record.seconds:.1f}", *[_machine(record)] * several, full_size]))
    return "\n".join(lines) + "\n"


def _machine(record: Record) -> str:
    ran_on = record.environment
    return f"{ran_on.get('device', 'CPU')} (Python {ran_on.get('python', '?')}, torch {ran_on.get('torch', '?')})"


def contents(book: Book) -> str:
    """The table of contents, in the registry's order."""
    chapters: list[dict[str, object]] = []
    own: list[dict[str, object]] = []
    for paper in book.registry.papers:
        chapter: dict[str, object] = {"file": f"papers/{paper.name}"}
        sections = [
            {"file": f"notebooks/{name}", "title": Notebook(name, book.layout).title}
            for name in book.notebooks_of(paper)
        ]
        (chapters if paper.is_article else own).append(chapter | ({"sections": sections} if sections else {}))
    book_pages = [
        {"file": "generated/scoreboard"},
        _with_papers(book, "errata"),
        *({"file": f"generated/{page}"} for page in ("gallery", "status", "full-size")),
    ]
    package = _with_papers(book, "package")
    about = ["contributing", "references"]
    instruments = [{"file": f"instruments/{path.stem}"} for path in instrument_pages(book.layout)]
    parts = [
        {"caption": "What was found", "chapters": book_pages},
        {"caption": "The papers", "chapters": chapters},
        *([{"caption": "Across the papers", "chapters": own}] if own else []),
        *([{"caption": "Instruments", "chapters": instruments}] if instruments else []),
        {
            "caption": "Learning from it",
            "chapters": [
                {"file": page}
                for page in ("reading", "generated/to-try", "glossary", "notation", "rerun")
                if (book.layout.book / f"{page}.md").is_file()
            ],
        },
        {"caption": "About the book", "chapters": [package, *({"file": page} for page in about)]},
    ]
    text: str = yaml.safe_dump(
        {"format": "jb-book", "root": "index", "parts": parts}, sort_keys=False, allow_unicode=True
    )
    return text


def _with_papers(book: Book, page: str) -> dict[str, object]:
    """A generated page with those of the single papers below it."""
    names = [f"generated/{page}-{paper.name}" for paper in book.registry.papers]
    sections = [{"file": name} for name in names if (book.layout.book / f"{name}.md").is_file()]
    return {"file": f"generated/{page}"} | ({"sections": sections} if sections else {})

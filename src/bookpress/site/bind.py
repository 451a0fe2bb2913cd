"""The pages that nobody writes: notebooks, scoreboard, errata, gallery, maps and the table of contents."""

import filecmp
import shutil
from functools import cached_property
from pathlib import Path

import yaml

from bookpress.claims.registry import Paper
from bookpress.files import aside_of, matches_manifest, write_manifest, write_whole
from bookpress.graph.engine import BuildError
from bookpress.layout import Layout
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook
from bookpress.site.book import FINDINGS, Book
from bookpress.site.errata import errata_pages
from bookpress.site.full_size import costs_page
from bookpress.site.instruments import instrument_pages, write_instruments
from bookpress.site.map import ChapterMap
from bookpress.site.package_page import package_pages
from bookpress.site.page import badges, picture_block, table_row, without_html, write_page
from bookpress.site.scoreboard import scoreboard_page, summary_page

#: Folders of ``book/`` that hold nothing but generated pages.
_GENERATED = ("notebooks", "figures", "generated")


class _Aside(Layout):
    """The same book with its generated pages in a folder aside, to be moved into place once all are written."""

    @cached_property
    def pages(self) -> Path:
        return aside_of(self.book / "pages")

    @cached_property
    def generated(self) -> Path:
        return self.pages / "generated"

    def page(self, notebook: str) -> Path:
        return self.pages / "notebooks" / f"{notebook}.ipynb"

    def figure(self, name: str) -> Path:
        return self.pages / "figures" / f"{name}.svg"


def bind_book(layout: Layout, profile: str) -> str:
    """Write every generated page, or change nothing where one cannot be made; returns one line that says how many.

    Raises:
        ProfileError: no such profile.
        BuildError: no notebook has run under the profile.
        RecordError, StalePage: a record is damaged, or older than its source.
    """
    load_profile(profile, layout)
    aside = _Aside(layout.root)
    book = Book(aside, profile)
    if not book.records:
        raise BuildError(f"no notebook has run under the profile '{profile}': there is nothing to bind")
    try:
        pages = _write_pages(book)
        _move_into_place(aside.pages, layout)
    finally:
        shutil.rmtree(aside.pages, ignore_errors=True)
    return f"{len(book.records)} notebooks and {pages} pages bound"


def is_whole(layout: Layout) -> bool:
    """Whether the generated pages are those of the last :func:`bind_book`, byte for byte."""
    return matches_manifest(_manifest(layout), layout.book)


def site_is_whole(layout: Layout) -> bool:
    """Whether the built site is that of the last build without a warning, byte for byte."""
    return matches_manifest(_site_manifest(layout), layout.root / "_build")


def forget_site(layout: Layout) -> None:
    """Count the site as not whole from now on, as while it is built."""
    _site_manifest(layout).unlink(missing_ok=True)


def note_site(layout: Layout) -> None:
    """Count the built site as whole: note the bytes of its pages and of what the next build goes on from."""
    site = layout.root / "_build"
    folders = (site / "html", site / ".doctrees")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    write_manifest(_site_manifest(layout), site, files)


def _manifest(layout: Layout) -> Path:
    return layout.build / "bound"


def _site_manifest(layout: Layout) -> Path:
    return layout.root / "_build" / "manifest.json"


def _move_into_place(pages: Path, layout: Layout) -> None:
    """Replace the generated pages; one that is the same stays, so that Sphinx does not read it again."""
    _manifest(layout).unlink(missing_ok=True)
    made = {path.relative_to(pages) for path in pages.rglob("*") if path.is_file()}
    for folder in _GENERATED:
        for old in [path for path in (layout.book / folder).rglob("*") if path.is_file()]:
            if old.relative_to(layout.book) not in made:
                old.unlink()
    for name in made:
        new, old = pages / name, layout.book / name
        if not (old.is_file() and filecmp.cmp(new, old, shallow=False)):
            old.parent.mkdir(parents=True, exist_ok=True)
            new.replace(old)
    write_manifest(_manifest(layout), layout.book, [layout.book / name for name in made])


def _write_pages(book: Book) -> int:
    """Write all pages aside; the number of those that no notebook is behind."""
    layout = book.layout
    maps = chapter_maps(book)
    for name, record in book.records.items():
        points, own = book.points_section(name), {one.claim.partition("/")[2] for one in record.claims}
        margin = next(one.small(own) for one in maps if one.paper.name == name.partition("/")[0])
        write_page(record, book.full_size_run(name), layout, points, margin, book.description(name))
    pages = {
        "summary": summary_page(book),
        "scoreboard": scoreboard_page(book),
        **errata_pages(book),
        "gallery": gallery_page(book),
        "full-size": costs_page(book.sweeps, book.full_size, book.kept, book.titles()),
        **{f"pages-{paper.name}": notebooks_list(book, paper) for paper in book.registry.papers},
        **{f"map-{one.paper.name}": one.page() for one in maps},
        **package_pages(layout, book.registry.papers),
    }
    for name, text in pages.items():
        write_whole(layout.generated / f"{name}.md", text if name.startswith("map-") else without_html(text))
    write_whole(layout.generated / FINDINGS.name, book.findings().dumps())
    write_instruments(layout)
    write_whole(layout.generated.parent / "_toc.yml", contents(book))
    return len(pages)


def notebooks_list(book: Book, paper: Paper) -> str:
    """A paper's notebooks with what each settles; included by its chapter."""
    lines = ["---\norphan: true\n---\n", table_row(["page", "what it settles"]), table_row(["---"] * 2)]
    for name in book.notebooks_of(paper):
        settled = badges(book.records[name].claims)
        lines += [table_row([f"[{book.records[name].title}](/notebooks/{name}.ipynb)", settled])]
    return "\n".join(lines) + "\n"


def chapter_maps(book: Book) -> list[ChapterMap]:
    """Every paper's map of what rests on what."""
    return [
        ChapterMap(
            paper,
            {one.id: (book.verdict(paper, one), book.proof(paper, one)) for one in paper.claims},
            {one.id for one in paper.claims if one.notebook in book.records},
        )
        for paper in book.registry.papers
    ]


def gallery_page(book: Book) -> str:
    lines = ["# Gallery", "", "Every figure of the book, drawn by the run behind it. A picture leads to its page."]
    for paper in book.registry.papers:
        figures = [(name, one) for name in book.notebooks_of(paper) for one in book.records[name].figures]
        if not figures:
            continue
        lines += ["", f"## {paper.short_title}", "", "::::::::{grid} 1 1 2 2", ":gutter: 3"]
        for name, one in figures:
            figure = f"{name}-{one.name}"
            svg = book.layout.figure(figure)
            picture = picture_block(figure, one.model_dump(), f"../notebooks/{name}.html", svg)
            lines += ["", ":::::::{grid-item}", picture, ":::::::"]
        lines += ["::::::::"]
    return "\n".join(lines) + "\n"


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
        *({"file": f"generated/{page}"} for page in ("gallery", "full-size")),
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
                for page in ("reading", "glossary", "notation", "rerun")
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
    names = [f"{page}-{paper.name}" for paper in book.registry.papers]
    sections = [{"file": f"generated/{name}"} for name in names if (book.layout.generated / f"{name}.md").is_file()]
    return {"file": f"generated/{page}"} | ({"sections": sections} if sections else {})

"""The pages that nobody writes: notebooks, scoreboard, errata, gallery, maps and the table of contents."""

import filecmp
import re
import shutil
from dataclasses import replace
from pathlib import Path

from bookpress.files import aside_of, write_manifest, write_whole
from bookpress.graph.build import BuildError
from bookpress.layout import Layout
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook
from bookpress.site.book import FINDINGS, Book
from bookpress.site.full_size import costs_page
from bookpress.site.instruments import instrument_pages, write_instruments
from bookpress.site.map import draw, map_page, page_map
from bookpress.site.markdown import render, without_html
from bookpress.site.package import make_export, package_pages
from bookpress.site.page import write_page
from bookpress.site.verdict_pages import certificates_page, errata_pages, notebooks_list, scoreboard_page, summary_page

#: Folders of ``book/`` that hold nothing but generated pages.
_GENERATED = ("notebooks", "figures", "generated")
#: How a written page leads to a file that ``book export`` makes, with the options as they are by default.
_EXPORT = re.compile(r"generated/(exports/([\w-]+/\w+)(\.\w+))>")


def bind_book(layout: Layout, profile: str) -> str:
    """Write every generated page, or change nothing where one cannot be made; returns one line that says how many.

    Raises:
        ProfileError: no such profile.
        BuildError: no notebook has run under the profile.
        RecordError, StalePage: a record is damaged, or older than its source.
    """
    load_profile(profile, layout)
    aside = aside_of(layout.book / "pages")
    book = Book(replace(layout, aside=aside), profile)
    if not book.records:
        raise BuildError(f"no notebook has run under the profile '{profile}': there is nothing to bind")
    try:
        pages = _write_pages(book)
        _move_into_place(aside, layout)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return f"{len(book.records)} notebooks and {pages} pages bound"


def _move_into_place(pages: Path, layout: Layout) -> None:
    """Replace the generated pages; one that is the same stays, so that Sphinx does not read it again."""
    layout.bound.unlink(missing_ok=True)
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
    (layout.generated / "static").mkdir(parents=True, exist_ok=True)  # the site's settings name it, also if it is empty
    write_manifest(layout.bound, layout.book, [layout.book / name for name in made])


def _write_pages(book: Book) -> int:
    """Write all pages aside; the number of those that no notebook is behind."""
    layout = book.layout
    for paper in book.registry.papers:
        drawing = draw(paper)
        for name in book.notebooks_of(paper):
            settled = {settled.claim for settled in book.records[name].claims}
            write_page(book, name, page_map(book, paper, drawing, settled))
    pages = {
        "summary": summary_page(book),
        "scoreboard": scoreboard_page(book),
        **errata_pages(book),
        "gallery": render("gallery", book=book),
        "full-size": costs_page(book.sweeps, book.full_size, book.full_size_records, book.titles()),
        "certificates": certificates_page(book),
        **{f"pages-{paper.name}": notebooks_list(book, paper) for paper in book.registry.papers},
        **{f"map-{paper.name}": map_page(book, paper) for paper in book.registry.papers},
        **{f"letter-{paper.name}": render("letter", paper=paper) for paper in book.registry.articles},
        **package_pages(layout, book.registry.papers),
    }
    for name, text in pages.items():
        write_whole(layout.generated / f"{name}.md", text if name.startswith("map-") else without_html(text))
    write_whole(layout.generated / FINDINGS.name, book.findings().dumps())
    write_instruments(layout)
    _write_exports(layout)
    write_whole(layout.contents, contents(book))
    return len(pages)


def _write_exports(layout: Layout) -> None:
    """Write the files to download that the written pages of the book lead to."""
    written = [page for folder in (".", "papers", "instruments") for page in (layout.book / folder).glob("*.md")]
    links = {link for page in written for link in _EXPORT.findall(page.read_text(encoding="utf-8"))}
    for file, name, ending in sorted(links):
        write_whole(layout.generated / file, make_export(layout, name, [], ending))


def contents(book: Book) -> str:
    """The table of contents, in the registry's order; written pages are listed where there are some."""
    layout = book.layout

    def is_there(page: str) -> bool:
        folder = layout.pages if page.startswith("generated/") else layout.book
        return (folder / f"{page}.md").is_file()

    instruments = [f"{path.parent.name}/{path.stem}" for path in instrument_pages(layout)]
    titles = {name: Notebook(name, layout).title for name in book.records}
    return render("contents.yml", book=book, is_there=is_there, instruments=instruments, titles=titles)

"""The book on paper: Chromium prints each page of the site, and pypdf joins them in the order of the contents.

``python -m bookpress.site.printed FILE.pdf`` needs the site, Chromium and the extra ``print``. The contents come first,
every sheet has its number, and a link to another page leads to its first sheet.
"""

import io
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import yaml
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject, NullObject

from bookpress.exits import Exit, Failure
from bookpress.files import write_whole
from bookpress.layout import Layout

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
_PAPER: Any = {
    "format": "A4",
    "margin": {"top": "18mm", "bottom": "20mm", "left": "20mm", "right": "20mm"},
    "tagged": False,  # joining would not keep it
}
#: Pictures of a page load when they are near; on paper all are.
_LOAD_PICTURES = "() => Promise.all([...document.images].map(p => (p.loading = 'eager', p.decode().catch(() => 0))))"
_CONTENTS = """<style>h1 { font: 600 18pt serif } p { display: flex; margin: 0; font: 10pt/1.55 serif; gap: 1em }
p.c { margin-top: .4em; font-weight: 600 } p.s { padding-left: 1.5em } a { flex: 1; color: inherit; text-decoration: none }
</style><h1>Contents</h1>"""
_NUMBERS = """<style>@page { margin: 0 } body { margin: 0; font: 9pt serif; text-align: center }
div { height: 296mm; box-sizing: border-box; padding-top: 283mm; break-after: page }</style>"""


class PrintError(Failure, code=Exit.NOT_WHOLE):
    """There is no site to print, or no Chromium to print it."""


@dataclass
class Chapter:
    """A page of the site with its depth in the contents, its sheets, and the number of the first of them."""

    depth: int
    title: str
    file: Path
    sheets: PdfReader
    first: int = 0


def print_book(layout: Layout, target: Path) -> int:
    """Write the whole site as one PDF, and return how many sheets it has.

    Raises:
        PrintError: the site is not built, or no Chromium is installed.
    """
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None or not (layout.site / "html" / "index.html").is_file():
        raise PrintError("no Chromium is installed" if program is None else "the site is not built: `make book`")
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=program, args=_FLAGS).new_page()
        page.set_default_timeout(600_000)
        front, *others = [Chapter(*place, _sheets_of(page, place[2])) for place in contents(layout)]
        count = len(_contents_sheets(page, others).pages)  # as many as with the numbers
        after = len(front.sheets.pages) + count
        for chapter in others:
            chapter.first, after = after, after + len(chapter.sheets.pages)
        inside = Chapter(0, "Contents", Path(), _contents_sheets(page, others), len(front.sheets.pages))
        write_whole(target, _join([front, inside, *others], _numbers(page, after)))
    return after


def contents(layout: Layout) -> Iterator[tuple[int, str, Path]]:
    """The depth, title and file of each page of the site, in the order of the contents."""
    listed, site = yaml.safe_load((layout.book / "_toc.yml").read_text(encoding="utf-8")), layout.site / "html"
    chapters = [{"file": listed["root"]}] + [chapter for part in listed["parts"] for chapter in part["chapters"]]
    for chapter in chapters:
        for depth, entry in [(0, chapter), *((1, section) for section in chapter.get("sections", []))]:
            file = site / f"{entry['file']}.html"
            heading = file.read_text(encoding="utf-8").partition("<title>")[2].partition(" &#8212;")[0]
            yield depth, entry.get("title") or unescape(heading), file


def _sheets_of(page: Page, file: Path) -> PdfReader:
    page.goto(file.as_uri())
    page.evaluate(_LOAD_PICTURES)
    return PdfReader(io.BytesIO(page.pdf(**_PAPER)))


def _contents_sheets(page: Page, chapters: list[Chapter]) -> PdfReader:
    lines = [
        f'<p class="{"cs"[one.depth]}"><a href="{one.file.as_uri()}">{escape(one.title)}</a>{one.first + 1}</p>'
        for one in chapters
    ]
    page.set_content(_CONTENTS + "".join(lines))
    return PdfReader(io.BytesIO(page.pdf(**_PAPER)))


def _numbers(page: Page, count: int) -> PdfReader:
    """Empty sheets with their numbers at the foot."""
    page.set_content(_NUMBERS + "".join(f"<div>{number}</div>" for number in range(1, count + 1)))
    return PdfReader(io.BytesIO(page.pdf(format="A4")))


def _join(chapters: list[Chapter], numbers: PdfReader) -> bytes:
    """One file of all sheets, numbered, with an outline, its links turned inwards."""
    whole, parent = PdfWriter(), None
    for chapter in chapters:
        whole.append(chapter.sheets, import_outline=False)
        at = whole.add_outline_item(chapter.title, chapter.first, parent if chapter.depth else None)
        parent = parent if chapter.depth else at
    first = {str(chapter.file): chapter.first for chapter in chapters}
    for number, sheet in enumerate(whole.pages):
        sheet.merge_page(numbers.pages[number])
        for link in [each.get_object() for each in sheet.get("/Annots", [])]:
            address = unquote(urldefrag(link.get("/A", {}).get("/URI", ""))[0]).removeprefix("file://")
            if address in first:
                del link["/A"]
                goal = [whole.pages[first[address]].indirect_reference, NameObject("/XYZ"), *[NullObject()] * 3]
                link[NameObject("/Dest")] = ArrayObject(goal)
    whole.add_metadata({"/Title": chapters[0].title})
    whole.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    written = io.BytesIO()
    whole.write(written)
    return written.getvalue()


if __name__ == "__main__":
    print(f"{print_book(Layout.here(), Path(sys.argv[1]))} sheets: {sys.argv[1]}")

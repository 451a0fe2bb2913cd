"""The book on paper: Chromium prints each page of the site, and pypdf joins them in the order of the contents.

``python -m bookpress.site.printed FILE.pdf`` needs the site, Chromium and the extra ``print``. The contents come first,
every sheet has its number, and a link to another page leads to its first sheet.
"""

import io
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject

from bookpress.exits import Exit, Failure
from bookpress.files import write_whole
from bookpress.layout import Layout

#: Programs that print, the first that is installed.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
#: Pages that are lists of the site or work in a browser only.
_NOT_PRINTED = ("generated/gallery", "generated/full-size", "generated/package", "instruments/")
#: Code is in the site and in the sources. A sheet's number is at its foot.
_STYLE = """@page {{ margin: 18mm 20mm 20mm; @bottom-center {{ content: counter(page); font: 9pt serif }} }}
@page :first {{ counter-set: page {first} }}
html {{ font-size: 80% }}
.cell_input, .above-input, .run-line, .origin, .claim-note, .prev-next-area {{ display: none !important }}"""
_CONTENTS = """<style>h1 { font: 600 18pt serif } p { display: flex; margin: 0; font: 10pt/1.55 serif; gap: 1em }
p.c { margin-top: .4em; font-weight: 600 } p.s { padding-left: 1.5em }
a { flex: 1; color: inherit; text-decoration: none }</style><h1>Contents</h1>"""
#: Pictures of a page load when they are near; on paper all are.
_LOAD_PICTURES = """() => Promise.all([document.fonts.ready,
    ...[...document.images].map(p => (p.loading = 'eager', p.decode().catch(() => 0)))])"""


class PrintError(Failure, code=Exit.NOT_WHOLE):
    """There is no site to print, or no Chromium to print it."""


@dataclass
class Chapter:
    """A page of the site, its depth in the contents, and its sheets: the first and the one after the last."""

    depth: int
    title: str
    address: str
    first: int = 1
    printed: bytes = b""
    after: int = 1


def print_book(layout: Layout, target: Path) -> int:
    """Write the site as one PDF, and return how many sheets it has.

    Raises:
        PrintError: the site is not built, or no Chromium is installed.
    """
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None or not (layout.site / "html" / "index.html").is_file():
        raise PrintError("no Chromium is installed" if program is None else "the site is not built: `make book`")
    front, *others = contents(layout)
    inside = Chapter(0, "Contents", "about:blank")
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=program, args=_FLAGS).new_page()
        page.emulate_media(media="print")  # from the beginning, so that the letters for paper are loaded
        page.set_default_timeout(600_000)  # the scoreboard takes half a minute on a busy machine
        _print(page, front, 1)
        _print(page, inside, front.after, others)  # as many sheets as with the numbers, which are not known yet
        last = inside
        for chapter in others:
            _print(page, chapter, last.after)
            last = chapter
        _print(page, inside, front.after, others)
    write_whole(target, join([front, inside, *others]))
    return last.after - 1


def contents(layout: Layout) -> list[Chapter]:
    """The pages of the site that are printed, in the order of the contents."""
    listed = yaml.safe_load((layout.book / "_toc.yml").read_text(encoding="utf-8"))
    entries = [(0, {"file": listed["root"]})]
    for chapter in [chapter for part in listed["parts"] for chapter in part["chapters"]]:
        entries += [(0, chapter), *((1, section) for section in chapter.get("sections", []))]
    chapters = []
    for depth, entry in entries:
        if not entry["file"].startswith(_NOT_PRINTED):
            file = layout.site / "html" / f"{entry['file']}.html"
            chapters.append(Chapter(depth, entry.get("title") or _title(file), file.as_uri()))
    return chapters


def _title(file: Path) -> str:
    return unescape(file.read_text(encoding="utf-8").partition("<title>")[2].partition(" &#8212;")[0])


def _print(page: Page, chapter: Chapter, first: int, listed: Sequence[Chapter] = ()) -> None:
    """Print a page of the site, or the contents where there are chapters to list, from the sheet ``first`` on."""
    page.goto(chapter.address)
    if listed:
        lines = [f'<p class="{"cs"[c.depth]}"><a href="{c.address}">{escape(c.title)}</a>{c.first}</p>' for c in listed]
        page.set_content(_CONTENTS + "".join(lines))
    page.add_style_tag(content=_STYLE.format(first=first))
    page.evaluate(_LOAD_PICTURES)
    chapter.printed = page.pdf(format="A4", prefer_css_page_size=True, tagged=False)  # joining would lose the tags
    chapter.first, chapter.after = first, first + len(PdfReader(io.BytesIO(chapter.printed)).pages)


def join(chapters: Sequence[Chapter]) -> bytes:
    """Join the sheets of all chapters, with an outline, and turn links from page to page inwards."""
    whole, parent = PdfWriter(), None
    for chapter in chapters:
        whole.append(io.BytesIO(chapter.printed), import_outline=False)
        item = whole.add_outline_item(
            title=chapter.title, page_number=chapter.first - 1, parent=parent if chapter.depth else None
        )
        parent = parent if chapter.depth else item
    first = {chapter.address: chapter.first for chapter in chapters}
    for sheet in whole.pages:
        for link in [each.get_object() for each in sheet.get("/Annots", [])]:
            address = urldefrag(link.get("/A", {}).get("/URI", ""))[0]
            if address in first:
                del link["/A"]
                goal = [whole.pages[first[address] - 1].indirect_reference, NameObject("/Fit")]
                link[NameObject("/Dest")] = ArrayObject(goal)
    whole.add_metadata({"/Title": chapters[0].title})
    whole.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    written = io.BytesIO()
    whole.write(written)
    return written.getvalue()


if __name__ == "__main__":
    print(f"{print_book(Layout.here(), Path(sys.argv[1]))} sheets: {sys.argv[1]}")

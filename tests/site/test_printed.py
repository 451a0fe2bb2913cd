"""The printed edition of a site of three pages: order, numbers, outline, and links that stay inside the file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pypdf import PdfReader

from bookpress.layout import Layout
from bookpress.site.printed import CHROMIUM, PrintError, print_book

PAGE = "<html><head><title>{0} &#8212; Book</title></head><body><h1>{0}</h1>{1}<p class='cell_input'>code</p></body>"
CONTENTS = {
    "root": "index",
    "parts": [
        {"caption": "P", "chapters": [{"file": "papers/a", "sections": [{"file": "b", "title": "Lemma 1"}]}]},
        {"caption": "Q", "chapters": [{"file": "instruments/c"}]},
    ],
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.book.mkdir()
    (layout.book / "_toc.yml").write_text(yaml.safe_dump(CONTENTS))
    return layout


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, CHROMIUM)), reason="no Chromium on this machine")
def test_the_printed_book(layout: Layout) -> None:
    site, long = layout.site / "html", "<p style='break-after: page'>More.</p>" * 2
    texts = {"index": "<a href='b.html#x'>to b</a>", "papers/a": long, "b": "<a href='papers/a.html'>to a</a>"}
    for name, text in (texts | {"instruments/c": ""}).items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / f"{name}.html").write_text(PAGE.format(name.upper(), text))
    target, there = layout.root / "book.pdf", os.environ | {"BOOKPRESS_ROOT": str(layout.root)}
    command = [sys.executable, "-m", "bookpress.site.printed", str(target)]
    assert subprocess.run(command, env=there, capture_output=True, text=True, check=True).stdout.startswith("5 sheets")
    printed: Any = PdfReader(target)
    sheets = [sheet.extract_text() for sheet in printed.pages]
    assert [str(number) in sheet.split() for number, sheet in enumerate(sheets, start=1)] == [True] * 5
    assert sheets[1].split() == ["2", "Contents", "PAPERS/A", "3", "Lemma", "1", "5"]
    assert "code" not in "".join(sheets)
    names = [(item.title, printed.get_destination_page_number(item)) for item in printed.outline[:3]]
    assert names == [("INDEX", 0), ("Contents", 1), ("PAPERS/A", 2)]
    goals = [
        printed.pages.index(link.get_object()["/Dest"][0].get_object())
        for sheet in (0, 4)
        for link in printed.pages[sheet]["/Annots"]
    ]
    assert goals == [4, 2]


def test_without_a_site_nothing_is_printed(layout: Layout) -> None:
    with pytest.raises(PrintError, match=r"make book|Chromium"):
        print_book(layout, layout.root / "book.pdf")

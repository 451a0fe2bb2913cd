"""Additions to Sphinx: what a page loads, where it leads, and when a site is whole."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sphinx.application import Sphinx

from bookpress.files import matches_manifest
from bookpress.layout import Layout
from bookpress.site import instruments
from bookpress.site.extension import _complete_page, _pack_sources


def path_to(name: str, resource: bool = False) -> str:
    return f"../{name}" if resource else f"../{name}.html"


def test_a_page_leads_to_the_citation_and_the_sources() -> None:
    context: dict[str, Any] = {"pathto": path_to}
    app: Any = None
    _complete_page(app, "notebooks/one", "", context, None)
    links = re.findall(r'href="([^"]+)"', context["theme_extra_footer"])
    assert links == ["../references.html#cite-this", "../genindex.html", "../_static/sources.zip"]


def test_the_sources_are_packed_without_what_git_ignores(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in ("README.md", "a.log", "src/b.py", "src/build/c.py", "build/d.py", ".git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    _pack_sources(tmp_path, tmp_path / "build" / "sources.zip")
    with zipfile.ZipFile(tmp_path / "build" / "sources.zip") as packed:
        assert packed.namelist() == ["sources/.gitignore", "sources/README.md", "sources/src/b.py"]


def test_the_archive_of_the_sources_does_not_hold_itself(tmp_path: Path) -> None:
    build(tmp_path, "Front\n=====\n")
    with zipfile.ZipFile(tmp_path / "_build" / "html" / "_static" / "sources.zip") as packed:
        assert packed.namelist() == ["sources/book/index.rst"]


def build(root: Path, front: str) -> None:
    """Build a site of one page."""
    (root / "book").mkdir(exist_ok=True)
    (root / "book" / "index.rst").write_text(front)
    folders = (root / "book", None, root / "_build" / "html", root / "_build" / ".doctrees", "html")
    # What another site of this process has registered already is no fault of this one.
    settings = {"extensions": ["bookpress.site.extension"], "html_theme": "basic", "suppress_warnings": ["app"]}
    Sphinx(*folders, confoverrides=settings, status=None, warning=io.StringIO(), keep_going=True).build()


def is_whole(root: Path) -> bool:
    layout = Layout(root)
    return matches_manifest(layout.site_manifest, layout.site)


def test_only_a_page_with_an_instrument_loads_its_script_also_without_formulas(tmp_path: Path) -> None:
    script = tmp_path / "book" / "static" / "instruments" / "a.js"
    script.parent.mkdir(parents=True)
    script.write_text("x" * 2500)
    (tmp_path / "book" / "other.rst").write_text(":orphan:\n\nOther\n=====\n")
    build(tmp_path, 'Front\n=====\n\n.. raw:: html\n\n   <div data-instrument="a"></div>\n')
    page, other = ((tmp_path / "_build" / "html" / f"{name}.html").read_text() for name in ("index", "other"))
    assert f"_static/{instruments.STYLE}" in page
    (element,) = [part for part in page.split("<script ") if f"_static/{instruments.LOADER}" in part]
    assert 'defer="defer"' in element
    assert "{&#34;a&#34;: 3}" in element or "{&quot;a&quot;: 3}" in element
    assert instruments.LOADER not in other
    assert "maths.css" not in page


def test_the_evidence_is_folded_behind_its_first_paragraph_and_pictures_load_when_they_are_near(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="30pt" height="15pt"/>')
    sections = (
        "How we checked",
        "Open.",
        "Folded.",
        "What to remember",
        ".. image:: a.svg",
        ".. image:: a.svg\n   :width: 9px",
    )
    build(tmp_path, "\n\n".join(f"{text}\n{'=' * len(text)}" if "." not in text else text for text in sections))
    page = (tmp_path / "_build" / "html" / "index.html").read_text()
    parts = ["Open.", '<details class="how-we-checked">', "Folded.", "</details>", "What to remember<", "<img"]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    picture = page[page.index("<img") :].partition(">")[0]
    assert all(part in picture for part in ('loading="lazy"', 'width="40" height="20" style="--drawn: 40px"'))
    assert 'width="9" style="--drawn: 9px"' in page


def test_the_search_keeps_index_entries_of_pages_that_are_not_built_again(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "other.rst").write_text("Other\n=====\n\n.. index:: Lemma 10\n\nText.\n")
    for words in ("first", "second"):
        build(tmp_path, f"Front\n=====\n\n{words}\n\n.. toctree::\n\n   other\n")
        assert '"lemma 10"' in (tmp_path / "_build" / "html" / "searchindex.js").read_text()


def test_a_page_is_described_by_its_first_sentences_and_code_is_not_searched(tmp_path: Path) -> None:
    code = f"::\n\n   {'x' * 97}\n   short"
    build(tmp_path, f"Front\n=====\n\n*Authors.*\n\nIt reads. For :math:`x` it adds. It *halts*.\n\n{code}\n")
    site = tmp_path / "_build" / "html"
    page = (site / "index.html").read_text()
    assert '<meta content="It reads. It halts." name="description" />' in page
    assert '"index": "It reads. It halts."' in (site / "_static" / "search-pages.js").read_text()
    index = (site / "searchindex.js").read_text()
    assert '"read"' in index
    assert "xxx" not in index
    assert re.search(r'<span class="long" style="--indent: 4ch">(<[^>]*>)*x{97}</span>\n</span>(<[^>]*>)*short', page)


def test_formulas_are_set_when_the_site_is_built_and_have_mathml(tmp_path: Path) -> None:
    build(tmp_path, "Front\n=====\n\n:math:`a < b` and\n\n.. math:: \\sum_i x_i\n")
    page = (tmp_path / "_build" / "html" / "index.html").read_text()
    assert page.count("<mjx-container") == page.count("<math ") == 2
    assert "<mo>&lt;</mo>" in page
    assert "\\(" not in page
    assert "\\sum" not in page
    style = tmp_path / "_build" / "html" / "_static" / "maths" / "maths.css"
    fonts = set(re.findall(r'url\("\./([^"]+)"\)', style.read_text()))
    assert set() < fonts <= {path.name for path in style.parent.glob("*.woff")}


@pytest.mark.parametrize("formula", [r"\frac{1", r"\nosuch x"])
def test_a_formula_that_cannot_be_read_ends_the_build_and_is_named(tmp_path: Path, formula: str) -> None:
    with pytest.raises(Exception, match=r"index\.html: "):
        build(tmp_path, f"Front\n=====\n\n:math:`{formula}`\n")


@pytest.mark.parametrize("name", ["html/index.html", "html/searchindex.js", ".doctrees/environment.pickle"])
def test_a_site_is_whole_until_a_file_of_it_is_damaged(tmp_path: Path, name: str) -> None:
    build(tmp_path, "Front\n=====\n")
    assert is_whole(tmp_path)
    path = tmp_path / "_build" / name
    path.write_bytes(path.read_bytes()[:40])
    assert not is_whole(tmp_path)


def test_a_site_built_with_a_warning_is_not_whole(tmp_path: Path) -> None:
    build(tmp_path, "Front\n=====\n")
    assert is_whole(tmp_path)
    build(tmp_path, "Front\n=====\n\n:doc:`nowhere`\n")
    assert not is_whole(tmp_path)

"""Additions to Sphinx: what a page loads, where it leads, and when a site is whole."""

import io
from pathlib import Path
from typing import Any

import pytest
from sphinx.application import Sphinx

from bookpress.files import matches_manifest
from bookpress.layout import Layout
from bookpress.site import instruments
from bookpress.site.extension import _complete_page


def test_a_page_leads_to_the_citation_and_loads_pictures_when_they_are_near(tmp_path: Path) -> None:
    picture = '<img src="a.svg" style="width: 400px; height: 300px;" />'
    context: dict[str, Any] = {"pathto": lambda name: f"../{name}.html", "body": picture}
    _complete_page(Any, "notebooks/one", "", context, None)
    assert context["body"] == '<img loading="lazy" src="a.svg" width="400" height="300" style="--drawn: 400px" />'
    assert '<a href="../references.html#cite-this">' in context["theme_extra_footer"]


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
    assert "mathjax" not in page
    (element,) = [part for part in page.split("<script ") if f"_static/{instruments.LOADER}" in part]
    assert 'defer="defer"' in element
    assert "{&#34;a&#34;: 3}" in element or "{&quot;a&quot;: 3}" in element
    assert instruments.LOADER not in other


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

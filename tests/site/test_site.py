"""The files of the built site, read without a browser: their heads, scripts, links and downloads."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest

from bookpress.layout import Layout


@pytest.fixture(scope="module")
def texts(site: Any) -> dict[str, str]:
    return {path: (site.folder / path).read_text(encoding="utf-8") for path in site.pages}


def _content(text: str, key: str) -> list[str]:
    """The contents of the head's lines of a kind, in either order of their attributes."""
    return [
        one or other for one, other in re.findall(rf'<meta (?:{key} content="([^"]*)"|content="([^"]*)" {key})', text)
    ]


def test_every_page_describes_itself_once(texts: dict[str, str]) -> None:
    wrong = {}
    for path, text in texts.items():
        descriptions = _content(text, 'name="description"')
        cards = (_content(text, f'property="og:{name}"') for name in ("title", "description", "type", "image"))
        once = [len(descriptions), *map(len, cards)]
        if once != [1] * 5 or not 20 <= len(descriptions[0]) <= 240 or "\\" in descriptions[0]:
            wrong[path] = (once, descriptions)
    assert wrong == {}


def test_a_page_loads_what_it_has(texts: dict[str, str]) -> None:
    def loading(asset: str) -> set[str]:
        return {path for path, text in texts.items() if re.search(rf"<(script|link)[^>]*{asset}", text)}

    assert loading("fontawesome[^>]*[.]js") == loading("mathjax") == set()
    assert loading("maths.css") == {path for path, text in texts.items() if 'class="math' in text}
    assert loading("instruments/instruments.js") == {path for path, text in texts.items() if "data-instrument=" in text}


def test_a_pages_download_is_the_repositorys_notebook(site: Any) -> None:
    downloads = site.folder / "_sources" / "notebooks"
    for download in downloads.rglob("*.ipynb"):
        kept = Layout.here().sources / download.relative_to(downloads)
        assert download.read_bytes() == kept.read_bytes(), download.name


def _broken(path: str, texts: dict[str, str], names: dict[str, set[str]], site: Any) -> Iterator[str]:
    for link in set(re.findall(r'<[^>]*\s(?:href|src)="([^"#][^"]*|#[^"]+)"', texts[path])):
        if re.match(r"(https?|mailto|data|javascript):", link):
            continue
        target, _, fragment = unquote(unescape(link)).partition("#")
        file = (
            (site.folder / path).parent.joinpath(target.partition("?")[0]).resolve() if target else site.folder / path
        )
        name = file.relative_to(site.folder).as_posix() if file.is_relative_to(site.folder) else ""
        if not file.exists() or (fragment and name in names and fragment not in names[name]):
            yield link


def test_every_internal_link_resolves(texts: dict[str, str], site: Any) -> None:
    names = {
        path: {unescape(one) for one in re.findall(r'\s(?:id|name)="([^"]+)"', text)} for path, text in texts.items()
    }
    wrong = {path: list(_broken(path, texts, names, site)) for path in texts}
    assert {path: links for path, links in wrong.items() if links} == {}

"""What pages say of themselves, and where they lead out."""

import re
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"


@pytest.fixture(scope="module")
def texts(site: Any) -> dict[str, str]:
    return {path: (SITE / path).read_text() for path in site.pages}


def _content(text: str, key: str) -> list[str]:
    """The contents of the head's lines of a kind, in either order of their attributes."""
    return [
        one or other for one, other in re.findall(rf'<meta (?:{key} content="([^"]*)"|content="([^"]*)" {key})', text)
    ]


def test_every_page_describes_itself_once(texts: dict[str, str]) -> None:
    wrong = {}
    for path, text in texts.items():
        descriptions = _content(text, 'name="description"')
        once = [
            len(descriptions),
            *(len(_content(text, f'property="og:{name}"')) for name in ("title", "description", "type", "image")),
        ]
        if once != [1] * 5 or not 20 <= len(descriptions[0]) <= 240 or "\\" in descriptions[0]:
            wrong[path] = (once, descriptions)
    assert wrong == {}


def test_every_page_leads_to_how_it_is_cited(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if "#cite-this" not in text] == []
    assert 'id="cite-this"' in texts["references.html"]
    assert "10101" in texts["references.html"]
    assert "Mahdavi, Sadegh" in re.sub("<[^>]*>", "", texts["references.html"])


def test_no_page_loads_icons_as_a_script_or_formulas_that_it_has_not(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if re.search(r"<script[^>]*fontawesome", text)] == []
    assert [path for path, text in texts.items() if "mathjax/tex" in text and 'class="math' not in text] == []

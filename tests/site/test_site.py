"""The site as a reader meets it."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"


def test_search_finds_a_word_of_the_book(light: Any) -> None:
    light.open("search.html?q=identifiability")
    light.page.wait_for_selector("#search-results li", timeout=20_000)
    results = light.page.locator("#search-results li a").all_inner_texts()
    assert len(results) > 1
    assert light.faults == []
    assert light.strangers == []


@pytest.mark.parametrize(
    ("number", "claim"),
    [
        ("Lemma 4.4", "notebooks/linear-attention/lemma_4_4_robustness.html#claim-linear-attention-lemma-4-4"),
        ("Theorem 2.1", "notebooks/linear-attention/theorem_2_1_regression.html#claim-linear-attention-theorem-2-1"),
        ("Lemma 10", "notebooks/looped-transformers/lemma_2_adder.html#claim-looped-transformers-lemma-2"),
    ],
)
def test_search_finds_a_claim_by_its_number_first(light: Any, number: str, claim: str) -> None:
    light.open(f"search.html?q={number.replace(' ', '+')}")
    light.page.wait_for_selector("#search-results li", timeout=20_000)
    assert light.page.locator("#search-results li a").first.get_attribute("href").startswith(claim)


def test_a_badge_leads_to_its_claim(light: Any) -> None:
    light.open("notebooks/linear-attention/lemma_4_4_robustness.html")
    light.page.locator("a:has(> .verdict)", has_text="Lemma B.2").first.click()
    assert light.page.url.endswith("#claim-linear-attention-lemma-b-2")
    assert light.page.locator("#claim-linear-attention-lemma-b-2").is_visible()


def test_a_box_shows_what_is_printed_before_what_is_right(light: Any) -> None:
    light.open("notebooks/linear-attention/lemma_4_4_robustness.html")
    box = light.page.locator("#claim-linear-attention-lemma-4-4")
    assert box.locator(".claim-part").all_inner_texts() == ["As printed", "Corrected"]


def test_a_pages_download_is_the_repositorys_notebook(site: Any) -> None:
    for notebook in sorted((SITE / "_sources" / "notebooks").rglob("*.ipynb")):
        kept = SITE.parents[1] / "notebooks" / notebook.relative_to(SITE / "_sources" / "notebooks")
        assert notebook.read_bytes() == kept.read_bytes(), notebook.name


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.names.add(value)


def _broken(path: str, parsed: dict[str, _Links]) -> Iterator[str]:
    for link in parsed[path].links:
        if link.startswith(("http:", "https:", "mailto:", "data:", "javascript:")) or link == "#":
            continue
        target, _, fragment = unquote(link).partition("#")
        file = (SITE / path).parent.joinpath(target.partition("?")[0]).resolve() if target else SITE / path
        name = file.relative_to(SITE.resolve()).as_posix() if file.is_relative_to(SITE.resolve()) else ""
        if not file.exists() or (fragment and name in parsed and fragment not in parsed[name].names):
            yield link


def test_every_internal_link_resolves(site: Any) -> None:
    parsed = {path: _Links((SITE / path).read_text()) for path in [*site.pages, "search.html", "genindex.html"]}
    wrong = {path: list(_broken(path, parsed)) for path in site.pages}
    assert {path: links for path, links in wrong.items() if links} == {}

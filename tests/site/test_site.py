"""The site as a reader meets it."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe

from bookpress.registry import Registry

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"


#: What a loaded page must not show, each as a script that lists the offenders.
_OFFENDERS = {
    "formula in error": "[...document.querySelectorAll('mjx-merror, .math-error')].map(e => e.textContent)",
    "formula not set": (
        "[...document.querySelectorAll('span.math, div.math')]"
        ".filter(e => !e.querySelector('mjx-container')).map(e => e.textContent)"
    ),
    "picture not loaded": "[...document.images].filter(e => !e.complete || !e.naturalWidth).map(e => e.src)",
    "no alt text": "[...document.images].filter(e => !e.alt).map(e => e.src)",
    "warning of a cell": "[...document.querySelectorAll('.output.stderr')].map(e => e.textContent)",
    "object for an output": (
        "[...document.querySelectorAll('.cell_output')].map(e => e.textContent).filter(t => / at 0x[0-9a-f]+>/.test(t))"
    ),
}


def test_every_page_loads_alone_with_its_formulas_and_pictures(light: Any) -> None:
    wrong = {}
    for path in light.site.pages:
        light.open(path)
        shown = [f"{fault}: {one}" for fault, script in _OFFENDERS.items() for one in light.page.evaluate(script)]
        wrong[path] = [*shown, *light.faults, *light.strangers]
        light.faults.clear()
        light.strangers.clear()
    assert {path: faults for path, faults in wrong.items() if faults} == {}


#: The notebooks of each paper, and all other pages: parts that run side by side.
PARTS = [*(paper.name for paper in Registry.load().papers), "rest"]


def _part(path: str) -> str:
    folder, _, name = path.partition("/")
    return name.partition("/")[0] if folder == "notebooks" else "rest"


def test_every_page_belongs_to_a_part(site: Any) -> None:
    assert {_part(path) for path in site.pages} == set(PARTS)


def _audited_whole(pages: list[str]) -> set[str]:
    """The front page and one notebook of each paper."""
    by_paper = {path.split("/")[1]: path for path in reversed(pages) if path.startswith("notebooks/")}
    return {"index.html", *by_paper.values()}


@pytest.mark.parametrize("part", PARTS)
def test_no_page_violates_wcag_a_or_aa(visit: Any, part: str) -> None:
    """Code cells, whose colours are the same everywhere and slow to audit, are left out on all pages but a few."""
    options = {
        "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
        "resultTypes": ["violations"],
    }
    whole = _audited_whole(visit.site.pages)
    wrong = {}
    for path in (path for path in visit.site.pages if _part(path) == part):
        visit.open(path)
        context = None if path in whole else {"exclude": [["pre"]]}
        found = Axe().run(visit.page, context=context, options=options).response["violations"]
        wrong[path] = [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"][:3]]
    assert {path: faults for path, faults in wrong.items() if faults} == {}


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


def test_the_theme_is_switched_and_remembered(light: Any) -> None:
    light.open("index.html")
    switch = light.page.locator("button.theme-switch-button").first
    modes = []
    for _ in range(3):
        switch.click()
        modes.append(light.page.evaluate("() => document.documentElement.dataset.mode"))
    assert set(modes) == {"light", "dark", "auto"}


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
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

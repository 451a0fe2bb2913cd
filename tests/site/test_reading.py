"""What a reader does with the front page, a chapter's map, the scoreboard, the search and a figure."""

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

CHAPTER = "papers/hyper-attention.html"
NOTEBOOK = "notebooks/linear-attention/lemma_4_4_robustness.html"


def test_the_picture_on_the_front_page_moves_and_stops(light: Any) -> None:
    light.page.clock.install()
    light.open("index.html")
    light.page.get_by_role("button", name="Pause", disabled=False).wait_for()
    said = light.page.locator(".counter-said")
    before = said.inner_text()
    light.page.wait_for_function("text => document.querySelector('.counter-said').innerText !== text", arg=before)
    light.page.get_by_role("button", name="Pause").click()
    stopped = light.page.locator(".counter-tape").get_attribute("aria-label")
    light.page.clock.run_for(3_000)
    assert light.page.locator(".counter-tape").get_attribute("aria-label") == stopped
    assert light.faults == []


#: Notes the number on the tape whenever the head is back at the mark.
_NOTE_NUMBERS = """() => {
    const tape = document.querySelector(".counter-tape");
    window.numbers = [];
    new MutationObserver(() => {
        if (tape.querySelector(".now").firstChild.classList.contains("head"))
            numbers.push(Number(tape.getAttribute("aria-label").match(/value (\\d+)/)[1]));
    }).observe(tape, { attributes: true });
}"""


def test_the_picture_stands_still_for_readers_who_ask_for_less_motion_until_they_let_it_count(light: Any) -> None:
    light.page.emulate_media(reduced_motion="reduce")
    light.page.clock.install()
    light.open("index.html")
    light.page.get_by_role("button", name="Play", disabled=False).wait_for()
    light.page.evaluate(_NOTE_NUMBERS)
    before = light.page.locator(".counter-said").inner_text()
    light.page.clock.run_for(3_000)
    assert light.page.locator(".counter-said").inner_text() == before
    light.page.get_by_role("button", name="Play").click()
    light.page.clock.run_for(20_000)
    numbers = light.page.evaluate("numbers")
    assert len(numbers) > 3
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_tour_leads_on_and_remembers_what_was_seen(light: Any) -> None:
    light.open("tour.html")
    stops = light.page.locator(".tour ol a")
    stops.first.click()
    bar = light.page.get_by_role("navigation", name="The tour")
    assert "stop 1 of 12" in bar.inner_text()
    bar.get_by_role("link", name="→").click()
    assert "stop 2 of 12" in bar.inner_text()
    bar.get_by_role("link", name="stop 2").click()
    light.page.locator(".tour-seen").nth(1).wait_for()
    assert light.page.locator(".tour-seen").count() == 2
    assert light.faults == []


def test_a_map_says_what_a_statement_says_and_leads_to_it(light: Any) -> None:
    light.open(CHAPTER)
    node = light.page.locator('.claim-map a[data-claim="claim-hyper-attention-theorem-4-4"]')
    card = light.page.locator(".map-card")
    for touch in (node.hover, node.focus):
        touch()
        card.wait_for()
        assert card.inner_text().startswith("Theorem 4.4")
        assert light.page.locator(".claim-map path.near").count() > 0
        light.page.keyboard.press("Escape")
        assert card.is_hidden()
    node.click()
    light.page.wait_for_url(re.compile("#claim-hyper-attention-theorem-4-4$"))
    assert light.page.locator("#claim-hyper-attention-theorem-4-4").is_visible()


def test_the_scoreboard_is_filtered_and_its_address_says_so(light: Any) -> None:
    light.page.set_viewport_size({"width": 1440, "height": 900})
    light.open("generated/scoreboard.html")
    every = light.page.locator("tr:has(td:nth-child(9))").count()
    assert light.page.locator(".scoreboard-filters output").inner_text() == f"{every} of {every} claims"
    wide = "[...document.querySelectorAll('.pst-scrollable-table-container')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(light.page.evaluate(wide)) <= 0
    light.page.get_by_label("verdict").select_option("holds with correction")
    light.page.get_by_label("kind").select_option("remark")
    rows = light.page.locator("tr:has(td:nth-child(9)):visible")
    assert 0 < rows.count() < every
    assert {row.locator(".verdict").first.inner_text() for row in rows.all()} == {"holds with correction"}
    light.page.reload()
    assert light.page.get_by_label("verdict").input_value() == "holds with correction"
    assert rows.count() < every


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("generated/scoreboard.html", ".pst-scrollable-table-container"),
        ("notebooks/bridges/learning_hyper_attention.html", "div.cell_input pre"),
        ("notebooks/bridges/learning_hyper_attention.html", "mjx-container"),
    ],
)
def test_a_box_that_goes_on_says_so_until_its_end(phone: Any, page: str, kind: str) -> None:
    phone.open(page)
    box = phone.page.locator(f"{kind}.goes-on:visible").first
    assert box.get_attribute("tabindex") == "0"
    box.evaluate("e => { e.scrollLeft = e.scrollWidth; e.id = 'tried'; }")
    phone.page.wait_for_function("!document.getElementById('tried').classList.contains('goes-on')")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("identifiability", ""),
        ("Lemma 10", "notebooks/looped-transformers/lemma_2_adder.html#claim-looped-transformers-lemma-2"),
    ],
)
def test_the_search_finds_words_and_a_claim_by_its_number_first(light: Any, words: str, first: str) -> None:
    light.open(f"search.html?q={words.replace(' ', '+')}")
    results = light.page.locator("#search-results li a")
    results.nth(1).wait_for()
    assert results.first.get_attribute("href").startswith(first)
    assert light.faults == light.strangers == []


def test_a_figure_opens_large_and_closes(light: Any) -> None:
    light.open(NOTEBOOK)
    figure = light.page.locator(".bd-article figure").first
    small = figure.locator("img").bounding_box()
    large = light.page.locator("dialog[open] img")
    for enlarge in (figure.locator("img").click, lambda: figure.locator("button.enlarge").press("Enter")):
        enlarge()
        assert large.bounding_box()["width"] > small["width"]
        light.page.keyboard.press("Escape")
        assert large.count() == 0
    assert light.faults == []
    figure.locator("img").click()
    assert Axe().run(light.page, context="dialog").response["violations"] == []


def _weight(visit: Any, path: str) -> int:
    """Bytes that a page asks for before it is scrolled."""
    weights: list[int] = []
    visit.page.on("response", lambda response: weights.append(len(response.body()) if response.ok else 0))
    visit.page.goto(f"{visit.site.address}/{path}", wait_until="networkidle")
    return sum(weights)


@pytest.mark.slow
def test_the_first_page_is_light_and_the_gallery_loads_what_is_seen(light: Any) -> None:
    pictures: Path = light.site.folder / "_images"
    assert _weight(light, "index.html") < 1_500_000
    assert _weight(light, "generated/gallery.html") < sum(path.stat().st_size for path in pictures.glob("*.svg")) / 2

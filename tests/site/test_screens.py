"""The site on a phone, on paper and at full size: what is too wide, too small, cut off or too heavy."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
WCAG = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}

#: Text in a figure is drawn at 10 points, 13.3 pixels.
_DRAWN_TEXT = 10 * 4 / 3


def kinds(pages: list[str]) -> list[str]:
    """One page of every kind, and a notebook of every paper."""
    notebooks = {page.split("/")[1]: page for page in reversed(pages) if page.startswith("notebooks/")}
    chapters = [page for page in pages if page.startswith("papers/")][:1]
    written = [page for page in pages if "/" not in page or page.startswith(("generated/", "instruments/"))]
    return written + chapters + [*notebooks.values()]


def test_a_note_on_a_claim_stands_beside_its_box_where_there_is_room(sized: Any) -> None:
    sized.open("notebooks/linear-attention/lemma_4_4_robustness.html")
    box, note = (
        sized.page.locator(f".claim-and-note > {one}").first.bounding_box() for one in (".claim", ".claim-note")
    )
    wide = sized.page.viewport_size["width"] > 1200
    if wide:
        assert note["x"] >= box["x"] + box["width"]
        assert abs(note["y"] - box["y"]) < 40
        assert note["x"] + note["width"] <= sized.page.viewport_size["width"]
    else:
        assert note["y"] >= box["y"] + box["height"]
    assert sized.page.locator(".claim-note").first.get_by_role("link").count() > 1
    assert sized.page.locator(".page-map").is_visible() == wide


def test_a_long_note_on_a_claim_opens_no_gap_in_the_text(sized: Any) -> None:
    sized.open("notebooks/memorization/theorem_1_capacity.html")
    group = sized.page.locator(".claim-and-note").first
    last = """e => Math.max(...[...e.children].filter((one) => getComputedStyle(one).float === "none").map(
        (one) => one.getBoundingClientRect().bottom))"""
    text = "e => e.nextElementSibling.getBoundingClientRect().top"
    assert 0 < group.evaluate(text) - group.evaluate(last) < 50


def test_notes_on_claims_do_not_lie_on_each_other(light: Any) -> None:
    light.open("notebooks/linear-attention/lemma_4_1_certificate.html")
    notes = [note.bounding_box() for note in light.page.locator(".claim-note").all()]
    assert len(notes) > 1
    assert all(above["y"] + above["height"] <= below["y"] for above, below in pairwise(notes))


def test_boxes_of_claims_are_as_wide_as_the_text(sized: Any) -> None:
    sized.open("notebooks/looped-transformers/lemma_14_product.html")
    widths = sized.page.locator(".claim").evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")
    assert len(widths) > 5
    assert max(widths) - min(widths) < 1


def test_the_scoreboard_fits_a_wide_screen(light: Any) -> None:
    """All columns beside the contents, and no badge beyond its cell; a phone scrolls."""
    light.page.set_viewport_size({"width": 1440, "height": 900})
    light.open("generated/scoreboard.html")
    wide = "[...document.querySelectorAll('.pst-scrollable-table-container')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(light.page.evaluate(wide)) <= 0
    beyond = """[...document.querySelectorAll('.scoreboard-filters ~ section td')].filter((cell) =>
        [...cell.querySelectorAll('.verdict, .proof-mark')].some((badge) =>
            badge.getBoundingClientRect().right > cell.getBoundingClientRect().right)).map((cell) => cell.innerText)"""
    assert light.page.evaluate(beyond) == []


def test_no_bars_that_scroll_stand_under_letters(light: Any) -> None:
    """Where such bars take room, a formula that is wider than its box by a trifle gets one."""
    light.open("notebooks/linear-attention/figure_3_dfa_execution.html")
    light.page.wait_for_function("document.querySelectorAll('.bd-article mjx-container').length > 9")
    barred = """() => [...document.querySelectorAll(".bd-article mjx-container:not([display])")].filter(
        (one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).scrollbarWidth !== "none"
            || one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
    assert light.page.evaluate(barred) == []


def test_a_long_note_on_a_claim_is_folded(light: Any) -> None:
    light.open("notebooks/in-context-reasoning/definition_2_1_sentences.html")
    note = light.page.locator(".claim-note").first
    folded = note.locator("details a")
    assert folded.count() > 0
    assert not folded.first.is_visible()
    note.locator("summary").click()
    assert folded.first.is_visible()


def test_a_phone_scrolls_nothing_sideways_and_shows_figures_that_can_be_read(phone: Any) -> None:
    """Their text is at least nine pixels high, as drawn at the figure's common size; wider figures scroll."""
    pictures = "[...document.querySelectorAll(':is(.figure-frame, .sd-col) img[width]')]"
    script = f"{pictures}.map(e => e.clientWidth / e.getAttribute('width'))"
    for path in kinds(phone.site.pages):
        phone.open(path)
        assert phone.page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, path
        assert all(scale * _DRAWN_TEXT >= 9 for scale in phone.page.evaluate(script)), path


def test_a_box_that_goes_on_says_so_until_its_end(phone: Any) -> None:
    phone.open("generated/scoreboard.html")
    box = phone.page.locator(".pst-scrollable-table-container.goes-on").first
    assert box.get_attribute("tabindex") == "0"
    box.evaluate("e => { e.scrollLeft = e.scrollWidth; e.id = 'tried'; }")
    phone.page.wait_for_function("!document.getElementById('tried').classList.contains('goes-on')")


def _page_with_figure(pages: list[str]) -> str:
    return next(page for page in pages if page.startswith("notebooks/") and "<figure" in (SITE / page).read_text())


@pytest.mark.parametrize("way", ["click", "keyboard"])
def test_a_figure_opens_large_and_closes(light: Any, way: str) -> None:
    light.open(_page_with_figure(light.site.pages))
    figure = light.page.locator(".bd-article figure").first
    small = figure.locator("img").bounding_box()
    if way == "click":
        figure.locator("img").click()
    else:
        figure.locator("button.enlarge").focus()
        light.page.keyboard.press("Enter")
    large = light.page.locator("dialog[open] img").bounding_box()
    assert large["width"] > small["width"]
    light.page.keyboard.press("Escape")
    assert light.page.locator("dialog[open]").count() == 0
    assert light.faults == []


def test_pages_opened_as_files_have_no_errors_and_lose_no_code_on_paper(light: Any) -> None:
    """In print long lines wrap and folds are open, so that no word of a cell lies outside its box."""
    cut = "[...document.querySelectorAll('.bd-article pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    hidden = "[...document.querySelectorAll('.bd-article pre')].filter(e => !e.getClientRects().length).length"
    icons = "[...document.fonts].some(one => one.family.includes('Awesome') && one.status === 'loaded')"
    for path in kinds(light.site.pages):
        light.page.emulate_media(media="screen")
        light.page.goto((SITE / path).as_uri(), wait_until="load")
        light.page.evaluate("() => window.MathJax?.startup?.promise")
        light.page.wait_for_function(icons)
        light.page.emulate_media(media="print")
        light.page.set_viewport_size({"width": 690, "height": 900})  # A4 between its margins
        light.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert light.page.evaluate(f"[{cut}, {hidden}]") == [0, 0], path
    assert light.faults == []


def test_boxes_and_cells_go_on_overleaf(light: Any) -> None:
    """A long box that is kept whole leaves the sheet before it half empty."""
    light.open("notebooks/linear-attention/lemma_4_4_robustness.html")
    light.page.emulate_media(media="print")
    boxes = ".bd-article :is(.admonition, .highlight, table)"
    kept_whole = f"[...document.querySelectorAll('{boxes}')].filter(e => getComputedStyle(e).breakInside !== 'auto')"
    assert light.page.evaluate(f"[document.querySelectorAll('{boxes}').length > 10, {kept_whole}.length]") == [True, 0]


def _weight(visit: Any, path: str) -> int:
    """Bytes that a page asks for before it is scrolled."""
    weights: list[int] = []
    visit.page.on("response", lambda response: weights.append(len(response.body()) if response.ok else 0))
    visit.page.goto(f"{visit.site.address}/{path}", wait_until="networkidle")
    return sum(weights)


def test_the_first_page_is_light(light: Any) -> None:
    assert _weight(light, "index.html") < 1_500_000


def test_the_gallery_loads_what_is_seen(light: Any) -> None:
    whole = sum(path.stat().st_size for path in (SITE / "_images").glob("*.svg"))
    assert _weight(light, "generated/gallery.html") < max(3_000_000, whole / 2)


def test_an_open_figure_is_accessible(screen: Any) -> None:
    screen.open(_page_with_figure(screen.site.pages))
    screen.page.locator(".bd-article figure img").first.click()
    found = Axe().run(screen.page, context="dialog", options=WCAG).response["violations"]
    assert [one["id"] for one in found] == []

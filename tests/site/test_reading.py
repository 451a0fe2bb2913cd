"""What a reader does on the front page, on a chapter's map, on the scoreboard and at a word of the glossary."""

import re
from typing import Any

import pytest

CHAPTER = "papers/hyper-attention.html"


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


def test_the_picture_stands_still_for_readers_who_ask_for_less_motion(light: Any) -> None:
    light.page.emulate_media(reduced_motion="reduce")
    light.page.clock.install()
    light.open("index.html")
    light.page.get_by_role("button", name="Play", disabled=False).wait_for()
    before = light.page.locator(".counter-said").inner_text()
    light.page.clock.run_for(3_000)
    assert light.page.locator(".counter-said").inner_text() == before


def test_the_machine_on_the_front_page_counts(light: Any) -> None:
    """Where the head is back at the mark, the number on the tape is one more than the time before."""
    light.page.emulate_media(reduced_motion="reduce")
    light.open("index.html")
    light.page.get_by_role("button", name="Play", disabled=False).wait_for()
    light.page.evaluate("() => { const set = window.setInterval; window.setInterval = (act) => set(act, 1); }")
    light.page.get_by_role("button", name="Play").click()
    script = """() => new Promise((done) => {
        const tape = document.querySelector(".counter-tape"), seen = [];
        new MutationObserver(() => {
            const now = tape.querySelector(".now");
            if (!now.firstChild.classList.contains("head")) return;
            seen.push(Number(tape.getAttribute("aria-label").match(/value (\\d+)/)[1]));
            if (seen.length === 4) done(seen);
        }).observe(tape, { attributes: true });
    })"""
    first, *rest = light.page.evaluate(script)
    assert rest == [first + 1, first + 2, first + 3]


@pytest.mark.parametrize("way", ["pointer", "keyboard"])
def test_a_map_says_what_a_statement_says(light: Any, way: str) -> None:
    light.open(CHAPTER)
    node = light.page.locator('.claim-map [data-claim="claim-hyper-attention-theorem-4-4"]')
    node.scroll_into_view_if_needed()
    node.hover() if way == "pointer" else node.focus()
    card = light.page.locator(".map-card")
    card.wait_for()
    assert card.inner_text().startswith("Theorem 4.4")
    assert light.page.locator(".claim-map path.near").count() > 0
    light.page.keyboard.press("Escape")
    assert card.is_hidden()


@pytest.mark.parametrize("paper", ["linear-attention", "looped-transformers", "hyper-attention", "memorization"])
def test_no_name_is_wider_than_its_node(light: Any, paper: str) -> None:
    light.open(f"papers/{paper}.html")
    beyond = """[...document.querySelectorAll(".claim-map .node")].filter((node) => {
        const box = node.querySelector("rect").getBBox();
        return [...node.querySelectorAll("text")].map((text) => text.getBBox()).some((line) => line.x < box.x + 1
            || line.x + line.width > box.x + box.width - 1 || line.y < box.y
            || line.y + line.height > box.y + box.height);
    }).map((node) => node.textContent)"""
    assert light.page.evaluate(beyond) == []


def test_a_node_leads_to_its_claim(light: Any) -> None:
    light.open(CHAPTER)
    light.page.locator('.claim-map a[data-claim="claim-hyper-attention-theorem-4-4"]').click()
    light.page.wait_for_url(re.compile("#claim-hyper-attention-theorem-4-4$"))
    assert light.page.locator("#claim-hyper-attention-theorem-4-4").is_visible()


def test_a_phone_shows_the_list_in_place_of_the_map(phone: Any) -> None:
    phone.open(CHAPTER)
    assert phone.page.locator(".claim-map").is_hidden()
    phone.page.get_by_text("Every statement and what it rests on, as a list").click()
    assert phone.page.locator("#map-claim-hyper-attention-theorem-4-4").is_visible()


def test_the_scoreboard_is_filtered_and_its_address_says_so(light: Any) -> None:
    light.open("generated/scoreboard.html")
    every = light.page.locator("tr:has(td:nth-child(9))").count()
    assert light.page.locator(".scoreboard-filters output").inner_text() == f"{every} of {every} claims"
    light.page.get_by_label("verdict").select_option("refuted")
    light.page.get_by_label("kind").select_option("remark")
    rows = light.page.locator("tr:has(td:nth-child(9)):visible")
    assert 0 < rows.count() < every
    assert {row.locator(".verdict").first.inner_text() for row in rows.all()} == {"refuted"}
    light.page.reload()
    assert light.page.get_by_label("verdict").input_value() == "refuted"
    assert rows.count() < every


def test_the_scoreboard_is_whole_without_scripts(light: Any) -> None:
    context = light.page.context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{light.site.address}/generated/scoreboard.html")
    assert page.locator("tr:has(td:nth-child(9))").count() > 300
    assert page.locator(".scoreboard-filters").is_hidden()
    context.close()

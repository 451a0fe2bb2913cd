"""The tables of verdicts and of corrections: what a row shows, how grave an error is, what is counted."""

from typing import Any

import pytest

from bookpress.claims.evidence import Item, Role, Settled
from bookpress.claims.registry import ProofMark, Verdict
from bookpress.site.book import Book
from bookpress.site.markdown import badge, render
from bookpress.site.verdict_pages import GRAVITY, gravity, headline_item, scoreboard_page, summary_page


def item(label: str, **more: Any) -> Item:
    usual = {"role": "check", "label": label, "measured": 1, "relation": "<=", "bound": 2, "passed": True}
    return Item.model_validate(usual | more)


def shown(*evidence: Item) -> str | None:
    settled = Settled(claim="a/b", label="B", verdict=Verdict.HOLDS, expected=Verdict.HOLDS, evidence=list(evidence))
    found = headline_item(settled)
    return found.label if found else None


def test_a_printed_number_comes_first_then_an_estimate_then_what_was_measured() -> None:
    count, error = item("count"), item("error", measured=0.5)
    estimate = item("slope", measured=0.5, interval=(0.4, 0.6), draws=5)
    number = item("number", role=Role.NUMBER, bound=0.5)
    assert shown(count, error, estimate, number) == "number"
    assert shown(count, error, estimate) == "slope"
    assert shown(count, error) == "error"
    assert shown(count) == "count"


def test_what_must_fail_and_what_has_no_number_is_not_shown() -> None:
    assert shown(item("control", role=Role.CONTROL), item("free", role=Role.NUMBER, bound=None)) is None
    assert shown(item("a word", measured="yes", bound="yes", relation="==")) is None


def test_verdicts_are_counted_by_paper_and_in_all(toy: Any) -> None:
    """Nothing has run: all eight claims of the one paper are counted as that, and no other verdict has a line."""
    lines = summary_page(Book(toy.layout, "laptop")).splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    heading, rule, verdict, claims = table
    assert heading == ["verdict", "[Demonstration](/papers/demo.md)", "all"]
    assert rule == ["---", "---:", "---:"]
    assert verdict == [badge(Verdict.NOT_RUN), "8", "8"]
    assert claims == ["**claims**", "**8**", "**8**"]


def test_the_board_has_a_row_for_every_claim_and_says_why_one_has_not_run(toy: Any) -> None:
    page = scoreboard_page(Book(toy.layout, "laptop"))
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 2 + 8
    assert "## Demonstration" in page
    assert "Nobody: *A demonstration* {cite}`demo`." in page
    (told,) = (row for row in rows if "It is about all machines at once." in "".join(row))
    assert told[0].strip() == "Lemma 5"


@pytest.mark.parametrize(
    ("verdict", "proof", "name"),
    [
        (Verdict.REFUTED, ProofMark.FAILS, "False"),
        (Verdict.HOLDS_WITH_CORRECTION, ProofMark.AS_PRINTED, "True with a correction"),
        (Verdict.HOLDS, ProofMark.FAILS, "The proof fails"),
        (Verdict.MISPRINTED, ProofMark.REPAIRED, "The proof is repaired"),
        (Verdict.HOLDS, ProofMark.MISPRINTED, "Misprint"),
        (Verdict.MISPRINTED, None, "Misprint"),
        (Verdict.PARTLY_REPRODUCED, None, "Near the statement"),
    ],
)
def test_a_statement_weighs_more_than_its_proof_and_a_proof_more_than_a_sign(
    verdict: Verdict, proof: ProofMark | None, name: str
) -> None:
    assert [*GRAVITY][gravity(verdict, proof)] == name


@pytest.mark.parametrize(("runs", "last"), [(3, "run 2."), (5, "2 more on the page.")])
def test_an_errata_sheet_gives_three_failing_runs_and_counts_the_others(toy: Any, runs: int, last: str) -> None:
    book = Book(toy.layout, "laptop")
    (paper,) = book.registry.articles
    erratum = {"grave": 0, "claim": "demo/lemma-4", "entry": paper.by_name["demo/lemma-4"]}
    erratum |= dict.fromkeys(("notes", "states", "right"), ()) | {
        "failing": {"As stated": [f"run {number}" for number in range(runs)]}
    }
    sheet = render("errata-sheet", book=book, paper=paper, wrong=[erratum], gravity=[*GRAVITY.items()])
    listed = [line for line in sheet.splitlines() if line.startswith("- As stated: ")]
    assert [listed[2], listed[-1]] == ["- As stated: run 2.", f"- As stated: {last}"]
    assert len(listed) == min(runs, 4)

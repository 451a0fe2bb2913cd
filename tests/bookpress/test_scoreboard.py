"""Which of a claim's comparisons the scoreboard shows."""

from typing import Any

from bookpress.evidence import Item, Role, Settled
from bookpress.registry import Verdict
from bookpress.scoreboard import telling


def item(label: str, **more: Any) -> Item:
    usual = {"role": "check", "label": label, "measured": 1, "relation": "<=", "bound": 2, "passed": True}
    return Item.model_validate(usual | more)


def shown(*evidence: Item) -> str | None:
    settled = Settled(claim="a/b", label="B", verdict=Verdict.HOLDS, expected=Verdict.HOLDS, evidence=list(evidence))
    found = telling(settled)
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

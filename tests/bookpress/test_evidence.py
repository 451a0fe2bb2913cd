"""Evidence and the verdict computed from it."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bookpress.claim import Claim
from bookpress.evidence import EvidenceError, FailedCheck, Item, Role, describe, format_bound, format_number
from bookpress.panel import panel_markdown, panel_text
from bookpress.registry import Entry, Kind, Paper, Registry, Verdict

Give = Callable[[Claim], object]


def claim_of(kind: str = "lemma", expected: str = "holds") -> Claim:
    entry = Entry(
        id="x",
        label="X",
        kind=Kind(kind),
        statement="s",
        printed="p",
        corrected="q",
        check="c",
        notebook="demo/x",
        expected=Verdict(expected),
    )
    paper = Paper(name="demo", number=1, title="T", short_title="T", authors="A", cite="c", claims=[entry])
    return Claim("demo/x", Registry(papers=[paper]))


def passing(claim: Claim) -> Claim:
    return claim.check("passes", 1, "<", 2)


def failing(claim: Claim) -> Claim:
    return claim.check("fails", 3, "<", 2)


def controlled(claim: Claim) -> Claim:
    return claim.control("control", 3, "<", 2)


@pytest.mark.parametrize(
    ("kind", "give", "verdict"),
    [
        ("lemma", lambda c: controlled(passing(c)), Verdict.HOLDS),
        ("lemma", lambda c: passing(c).printed("p", 3, "<", 2), Verdict.HOLDS_WITH_CORRECTION),
        ("lemma", lambda c: controlled(passing(c)).printed("p", 1, "<", 2), Verdict.HOLDS),
        ("lemma", lambda c: passing(c).counterexample("x", 3, "<", 2), Verdict.REFUTED),
        ("lemma", lambda c: passing(c).printed("p", 3, "<", 2).counterexample("x", 3, "<", 2), Verdict.REFUTED),
        ("lemma", lambda c: controlled(failing(passing(c))), Verdict.REFUTED),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0, printed=1.0, within=0.1), Verdict.REFUTED),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0, printed=1.0), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0, earlier=1.0, within=0.1), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).stand_in("crops"), Verdict.STAND_IN),
        ("lemma", lambda c: passing(c).counterexample("x", 3, "<", 2).stand_in("crops"), Verdict.REFUTED),
        ("figure", lambda c: controlled(passing(c)), Verdict.REPRODUCED),
        ("figure", lambda c: controlled(failing(passing(c))), Verdict.PARTLY_REPRODUCED),
        ("figure", lambda c: controlled(failing(c)), Verdict.NOT_REPRODUCED),
        ("figure", lambda c: passing(c).printed("as the figure reads", 3, "<", 2), Verdict.PARTLY_REPRODUCED),
        ("figure", lambda c: controlled(c).printed("as the figure reads", 3, "<", 2), Verdict.NOT_REPRODUCED),
        ("figure", lambda c: controlled(passing(c)).stand_in("crops"), Verdict.STAND_IN),
        ("table", lambda c: controlled(failing(passing(c))).stand_in("crops"), Verdict.PARTLY_REPRODUCED),
    ],
)
def test_the_verdict_follows_from_the_evidence(kind: str, give: Give, verdict: Verdict) -> None:
    claim = claim_of(kind)
    give(claim)
    assert claim.settle().verdict is verdict


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda c: controlled(c), "no check"),
        (lambda c: passing(c), "nothing was seen to fail"),
        (lambda c: passing(c).printed("p", 1, "<", 2), "nothing was seen to fail"),
        (lambda c: passing(c).control("denied", 1, ">=", 2), "not deny a check"),
        (lambda c: passing(c).control("denied the other way round", 2, "<=", 1), "deny a check"),
        (lambda c: controlled(passing(c)).control("idle", 1, "<", 2), "did not fail.*idle"),
        (lambda c: c.check("n", float("nan"), "<", 2), "not a number"),
        (lambda c: c.control("n", float("nan"), "<", 2), "not a number"),
        (lambda c: c.check("n", torch.ones(2), "<", 2), "one value is compared"),
        (lambda c: c.check("n", None, "<", 2), "not a number"),
        (lambda c: c.check("n", 1, "~", 2), "unknown relation"),
        (lambda c: c.check("n", 1, "<", 2, tolerance=0.1), "goes with '=='"),
        (lambda c: c.number("n", 1), "either printed or earlier"),
        (lambda c: c.number("n", 1, printed=1, earlier=1), "either printed or earlier"),
        (lambda c: c.number("n", 1, earlier=1, within=-0.1), "within must be at least 0"),
    ],
)
def test_weak_evidence_is_refused(give: Give, message: str) -> None:
    def give_and_settle(claim: Claim) -> None:
        give(claim)
        claim.settle()

    with pytest.raises(EvidenceError, match=message):
        give_and_settle(claim_of())


@pytest.mark.parametrize(
    ("ours", "beside", "within", "passed"),
    [
        (1.05, 1, 0.05, True),
        (1.06, 1, 0.05, False),
        (0.94, 1, 0.05, False),
        (0.5, 1, 1, True),
        (2, 1, 1, True),
        (0.49, 1, 1, False),
        (1e-9, 1, 5, False),  # no band reaches zero
        (-1, 1, 5, False),
        (0, 0, 0, True),
        (3, 3, 0, True),
        (math.inf, 1, 1, False),
    ],
)
def test_the_band_of_a_number_is_a_factor_either_way(ours: float, beside: float, within: float, passed: bool) -> None:
    item = claim_of().number("n", ours, earlier=beside, within=within).evidence[0]
    assert item.passed is passed


def test_a_band_is_shown_in_per_cent_or_as_a_factor() -> None:
    claim = claim_of().number("n", 1, earlier=2, within=0.05).number("n", 1, earlier=2, within=1)
    assert [format_bound(item) for item in claim.evidence] == ["2 ± 5 %", "2 ×÷ 2"]


def test_what_a_notebook_is_given_is_json_even_where_a_value_is_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    passing(claim_of()).control("diverges", math.inf, "<", 2).verdict()
    json.dumps(shown, allow_nan=False)


def test_another_verdict_than_the_expected_one_stops_and_names_what_decided() -> None:
    claim = controlled(failing(claim_of()))
    with pytest.raises(FailedCheck, match=r"says 'refuted', the registry expects 'holds'\n  check: fails: 3 < 2"):
        claim.verdict()
    controlled(passing(claim_of())).verdict()


def test_a_check_that_fails_stops_even_where_the_verdict_was_to_be_bad() -> None:
    refuted = failing(claim_of(expected="refuted")).counterexample("x", 3, "<", 2)
    with pytest.raises(FailedCheck, match="check: fails: 3 < 2"):
        refuted.verdict()
    partly = controlled(failing(passing(claim_of("figure", "partly reproduced"))))
    with pytest.raises(FailedCheck, match="check: fails: 3 < 2"):
        partly.verdict()
    passing(claim_of("figure", "partly reproduced")).printed("as the figure reads", 3, "<", 2).verdict()


def test_values_come_out_of_tensors_exactly() -> None:
    value = torch.tensor([[0.1]], dtype=torch.float64)
    claim = claim_of().check("t", value, "==", 0.1)
    assert claim.evidence[0].measured == 0.1
    assert claim.evidence[0].passed


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.booleans())
def test_a_theorem_holds_exactly_when_every_check_passes(outcomes: list[bool], misprint: bool) -> None:
    claim = controlled(claim_of())
    for passes in outcomes:
        claim.check("c", 1 if passes else 3, "<", 2)
    if misprint:
        claim.printed("p", 3, "<", 2)
    right = Verdict.HOLDS_WITH_CORRECTION if misprint else Verdict.HOLDS
    assert claim.settle().verdict is (right if all(outcomes) else Verdict.REFUTED)


@given(st.floats(allow_nan=False, allow_infinity=True), st.sampled_from(list(Role)))
def test_an_item_survives_its_way_through_json(value: float, role: Role) -> None:
    item = Item(role=role, label="l", measured=value, relation="<=", bound=1, passed=True)
    again = Item.model_validate_json(item.model_dump_json())
    assert float(again.measured) == value
    assert describe(item)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("lemma", "fails, as it must"), ("figure", "fails, unlike in print"), ("table", "fails, unlike")],
)
def test_the_panel_says_whether_what_is_printed_had_to_fail(kind: str, words: str) -> None:
    settled = controlled(passing(claim_of(kind))).printed("p", 3, "<", 2).settle()
    assert f"| As printed | p | 3 | < | 2 | {words}" in panel_markdown(settled)
    assert f"[{words}" in panel_text(settled)
    assert "[fails, as it must]" in panel_text(settled)  # the control


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (9999, "9999"),
        (11_520, "11\u202f520"),
        (11_520.0, "11\u202f520"),
        (1e12, "1e+12"),
        (11_520.5, "1.152e+04"),
        (-0.0, "0"),
    ],
)
def test_whole_numbers_are_shown_whole(value: float, shown: str) -> None:
    assert format_number(value) == shown


def test_a_cell_that_ends_with_a_claim_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.core.formatters import IPythonDisplayFormatter

    shown_by_itself = IPythonDisplayFormatter()
    assert shown_by_itself(claim_of())  # so no other formatter is asked
    assert capsys.readouterr().out == ""

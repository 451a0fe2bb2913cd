"""Evidence and the verdict computed from it."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bookpress.claims.claim import Claim
from bookpress.claims.evidence import (
    CLAIM_MIME,
    EvidenceError,
    FailedCheck,
    Item,
    Role,
    Settled,
    describe,
    format_bound,
    format_number,
)
from bookpress.claims.panel import panel_block, panel_markdown, panel_text, proof_in_words, result
from bookpress.claims.provenance import OWN_VARIABLE
from bookpress.claims.registry import Entry, Kind, Paper, ProofMark, Registry, Verdict
from bookpress.site.page import proof_badge

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
        ("lemma", lambda c: controlled(failing(passing(c))), Verdict.UNDECIDED),
        ("lemma", lambda c: controlled(passing(c)).misprint("m", 3, "<", 2), Verdict.MISPRINTED),
        ("lemma", lambda c: passing(c).misprint("m", 3, "<", 2).printed("p", 3, "<", 2), Verdict.HOLDS_WITH_CORRECTION),
        ("lemma", lambda c: controlled(passing(c)).printed("p", 3, "<", 2, of="proof"), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).check("p", 3, "<", 2, of="proof"), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).estimate("e", [1, 1.1, 0.9], "<", 3), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).estimate("e", [1, 5, 0.9], "<", 3), Verdict.UNDECIDED),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0, printed=1.0, within=0.1), Verdict.UNDECIDED),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0, printed=1.0), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).number("n", 2.0), Verdict.HOLDS),
        ("lemma", lambda c: controlled(passing(c)).stand_in("crops"), Verdict.STAND_IN),
        ("lemma", lambda c: passing(c).counterexample("x", 3, "<", 2).stand_in("crops"), Verdict.REFUTED),
        ("figure", lambda c: controlled(passing(c)), Verdict.REPRODUCED),
        ("figure", lambda c: controlled(failing(passing(c))), Verdict.PARTLY_REPRODUCED),
        ("figure", lambda c: controlled(failing(c)), Verdict.NOT_REPRODUCED),
        ("figure", lambda c: controlled(c).estimate("e", [1, 5, 0.9], "<", 3), Verdict.UNDECIDED),
        ("figure", lambda c: controlled(passing(c)).estimate("e", [1, 5, 0.9], "<", 3), Verdict.PARTLY_REPRODUCED),
        ("figure", lambda c: controlled(passing(c)).misprint("m", 3, "<", 2), Verdict.REPRODUCED),
        ("figure", lambda c: passing(c).printed("as the figure reads", 3, "<", 2), Verdict.PARTLY_REPRODUCED),
        (
            "figure",
            lambda c: controlled(passing(c)).estimate("as the figure reads", [1, 5, 0.9], "<", 3, role="printed"),
            Verdict.PARTLY_REPRODUCED,
        ),
        ("figure", lambda c: controlled(c).printed("as the figure reads", 3, "<", 2), Verdict.NOT_REPRODUCED),
        ("figure", lambda c: controlled(passing(c)).stand_in("crops"), Verdict.STAND_IN),
        ("table", lambda c: controlled(failing(passing(c))).stand_in("crops"), Verdict.PARTLY_REPRODUCED),
        (
            "figure",
            lambda c: controlled(passing(c)).estimate("e", [1, 5, 0.9], "<", 3).stand_in("a small model"),
            Verdict.UNDECIDED,
        ),
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
        (lambda c: c.check("n", 1, "==", 2, tolerance=-1), "tolerance must be a finite number, at least 0"),
        (lambda c: c.check("n", 1, "==", 5, tolerance=math.inf), "tolerance must be a finite number"),
        (lambda c: c.check("n", 1, "==", 5, tolerance=math.nan), "tolerance must be a finite number"),
        (lambda c: c.check("n", 1, "==", math.inf, tolerance=1), "bound with a tolerance must be finite"),
        (lambda c: c.check("n", {}, "<", 2), "no case"),
        (lambda c: c.check("n", {"a": 1}, "<", {"b": 2}), "the cases of the values"),
        (lambda c: c.number("n", 1, within=0.1), "goes with a printed number"),
        (lambda c: c.number("n", 1, printed=1, within=-0.1), "within must be a finite number, at least 0"),
        (lambda c: c.number("n", math.inf, printed=math.inf, within=0.1), "printed number must be finite"),
        (lambda c: c.estimate("n", [1.0], "<", 2), "at least two draws"),
        (lambda c: c.estimate("n", [1.0, math.inf], "<", 2), "must be finite"),
        (lambda c: c.estimate("n", 1.0, "<", 2), "needs its draws"),
        (lambda c: c.estimate("n", 3.0, "<", 2, interval=(0, 1)), "hold the estimate"),
        (lambda c: controlled(passing(c)).estimate("n", [1, 5, 0.9], "<", 3, role="control"), "did not fail"),
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
    item = claim_of().number("n", ours, printed=beside, within=within).evidence[0]
    assert item.passed is passed


def test_a_band_is_shown_in_per_cent_or_as_a_factor() -> None:
    claim = claim_of().number("n", 1, printed=2, within=0.05).number("n", 1, printed=2, within=1)
    assert [format_bound(item) for item in claim.evidence] == ["2 ± 5 %", "2 ×÷ 2"]


def test_what_a_notebook_is_given_is_json_even_where_a_value_is_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    passing(claim_of()).control("diverges", math.inf, "<", 2).verdict()
    json.dumps(shown, allow_nan=False)


def test_another_verdict_than_the_expected_one_stops_and_names_what_decided() -> None:
    claim = controlled(failing(claim_of()))
    with pytest.raises(FailedCheck, match=r"says 'undecided here', the registry .*'holds'\n  check: fails: 3 < 2"):
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


def test_what_an_interval_leaves_open_is_a_part_that_is_not_reproduced() -> None:
    controlled(passing(claim_of("figure", "partly reproduced"))).estimate("e", [1, 5, 0.9], "<", 3).verdict()


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
    assert claim.settle().verdict is (right if all(outcomes) else Verdict.UNDECIDED)


@given(st.floats(allow_nan=False, allow_infinity=True), st.sampled_from(list(Role)))
def test_an_item_survives_its_way_through_json(value: float, role: Role) -> None:
    item = Item(role=role, label="l", measured=value, relation="<=", bound=1, passed=True)
    again = Item.model_validate_json(item.model_dump_json())
    assert float(again.measured) == value
    assert describe(item)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("lemma", "fails, as it must"), ("figure", "fails, unlike in the paper"), ("table", "fails, unlike")],
)
def test_the_panel_says_whether_what_is_printed_had_to_fail(kind: str, words: str) -> None:
    settled = controlled(passing(claim_of(kind))).printed("p", 3, "<", 2).settle()
    assert f"| As printed | p | 3 | < | 2 | {words}" in panel_markdown(settled)
    assert f"[{words}" in panel_text(settled)
    assert "[fails, as it must]" in panel_text(settled)  # the control


@pytest.mark.parametrize(
    ("kind", "words"), [("lemma", "undecided, where it must fail"), ("figure", "undecided, unlike")]
)
def test_the_panel_says_what_an_interval_leaves_open_of_what_is_printed(kind: str, words: str) -> None:
    settled = controlled(passing(claim_of(kind))).estimate("p", [1.0, 2.0, 3.0], ">", 1.9, role="printed").settle()
    assert f"[{words}" in panel_text(settled)


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


@pytest.mark.parametrize(
    ("give", "mark"),
    [
        (lambda c: c, ProofMark.NOT_CHECKED),
        (lambda c: c.check("a step", 1, "<", 2, of="proof"), ProofMark.AS_PRINTED),
        (lambda c: c.check("a step", 3, "<", 2, of="proof"), ProofMark.NOT_CHECKED),
        (
            lambda c: c.check("a step", 1, "<", 2, of="proof").misprint("sign", 3, "<", 2, of="proof"),
            ProofMark.MISPRINTED,
        ),
        (lambda c: c.printed("a step", 3, "<", 2, of="proof"), ProofMark.FAILS),
        (
            lambda c: c.printed("a step", 3, "<", 2, of="proof").check("mended", 1, "<", 2, of="proof"),
            ProofMark.REPAIRED,
        ),
    ],
)
def test_the_proof_has_a_mark_of_its_own(give: Give, mark: ProofMark) -> None:
    claim = controlled(passing(claim_of()))
    give(claim)
    assert claim.settle().proof is mark
    assert claim.settle().verdict is Verdict.HOLDS


def test_what_has_no_proof_has_no_mark() -> None:
    assert controlled(passing(claim_of("definition"))).settle().proof is None


def test_another_mark_on_the_proof_than_the_expected_one_stops() -> None:
    claim = controlled(passing(claim_of())).check("a step", 1, "<", 2, of="proof")
    with pytest.raises(FailedCheck, match="of the proof 'as printed', the registry 'not checked'"):
        claim.verdict()


def test_of_several_cases_the_worst_is_kept_and_of_a_control_the_one_nearest_to_passing() -> None:
    claim = claim_of().check("c", {"small": 1, "large": 1.9}, "<", 2)
    claim.control("k", {"small": 2.1, "large": 7}, "<", 2).check("s", {"a": "x", "b": "y"}, "==", "x")
    check, control, words = claim.evidence
    assert (check.worst, check.measured, check.cases, check.passed) == ("large", 1.9, 2, True)
    assert (control.worst, control.passed) == ("small", False)
    assert (words.worst, words.passed) == ("b", False)
    claim.control("one passes", {"a": 1, "b": 7}, "<", 2)
    assert claim.evidence[-1].passed
    claim.check("against zero by the distance itself", {"zero": 0.6, "one": 1.5}, "<=", {"zero": 0, "one": 1})
    assert claim.evidence[-1].worst == "zero"


@pytest.mark.parametrize(("role", "own"), [("check", "n"), ("control", "n")])
def test_a_run_with_other_parameters_stops_for_nothing_and_refutes_nothing(
    role: str, own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    monkeypatch.setenv(OWN_VARIABLE, own)
    claim = passing(claim_of())
    claim = failing(controlled(claim)) if role == "check" else claim.control("idle", 1, "<", 2)
    claim.verdict()
    (bundle,) = shown
    assert bundle[CLAIM_MIME]["settled"]["verdict"] == "undecided here"
    monkeypatch.setenv(OWN_VARIABLE, "")
    with pytest.raises((FailedCheck, EvidenceError)):
        claim.verdict()


def test_a_long_panel_is_folded_and_every_label_is_text() -> None:
    claim = controlled(claim_of())
    for power in range(9):
        claim.check(f"sums from 2**{power} to $x_1$ | <b> `n`", 1e-7, "<", 2)
    panel = panel_markdown(claim.settle())
    assert r"2\*\*0 to \$x\_1\$ \| \<b\> \`n\`" in panel
    assert "All 10 comparisons" in panel
    assert "| 10⁻⁷ |" in panel
    assert ":::::{dropdown} All 10 comparisons" in panel_block(claim.settle())


def test_a_proof_of_the_books_own_is_not_said_to_be_as_printed() -> None:
    def settled_of(name: str) -> Settled:
        claim = controlled(passing(Claim(name))).check("a step", 1, "<", 2, of="proof")
        return claim.settle()

    own, paper = settled_of("bridges/bridge-1-1"), settled_of("memorization/theorem-1")
    assert own.proof is paper.proof is ProofMark.AS_PRINTED
    for panel in (panel_markdown(own), panel_block(own), panel_text(own)):
        assert "proved here" in panel
        assert "proof as printed" not in panel
    assert "proof as printed" in panel_markdown(paper)
    assert proof_in_words(ProofMark.REPAIRED, own=True) == "proof repaired"
    assert proof_badge(ProofMark.AS_PRINTED) == "{proof}`as printed`"
    assert proof_badge(ProofMark.AS_PRINTED, own=True) == "{proof}`proved here`"


def test_the_panel_begins_with_what_came_out() -> None:
    settled = controlled(passing(claim_of())).printed("p", 3, "<", 2).settle()
    said = "The check passes. The printed form fails: p 3, which should be below 2. The control fails, as it must."
    assert result(settled) == said


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (
            lambda claim: claim.misprint("p", {"a": 3, "b": 1}, "<=", 2),
            "form fails: p 3 (worst of 2: a), which should be at most",
        ),
        (lambda claim: claim.printed("at n = 1", 1e-7, "==", 0), "form fails: at n = 1: 10⁻⁷, which should be 0."),
        (
            lambda claim: claim.printed("P^T P over 10^6 is whole", {"a": False}, "==", True),
            "form fails: Pᵀ P over 10⁶ is whole: no (a), which should be yes.",
        ),
        (
            lambda claim: claim.printed("p", -1.5e-15, ">", 1e-9),
            "form fails: p −1.5·10⁻¹⁵, which should be above 10⁻⁹.",
        ),
        (
            lambda claim: claim.printed("the trace", "1, 2", "==", "1, 3"),
            "form fails: the trace: 1, 2, which should be 1, 3.",
        ),
        (
            lambda claim: claim.printed("p", 1, ">=", 2, of="proof"),
            "The printed proof fails: p 1, which should be at least 2.",
        ),
        (
            lambda claim: claim.counterexample("p", 1, "!=", 1),
            "fails on an example: p 1, which should be other than 1.",
        ),
    ],
)
def test_the_form_that_fails_is_named_with_what_it_would_have_to_be(give: Give, said: str) -> None:
    claim = controlled(passing(claim_of()))
    give(claim)
    assert said in result(claim.settle())


def test_what_fails_of_the_statement_is_named_before_what_fails_of_the_proof() -> None:
    claim = controlled(passing(claim_of())).printed("a step", 3, "<", 2, of="proof").printed("p", 5, "<", 4)
    assert "The printed form fails: p 5, which should be below 4." in result(claim.settle())


def test_what_a_figure_shows_and_a_run_does_not_is_said_to_be_unlike() -> None:
    settled = passing(claim_of("figure")).printed("heads at the floor", 3, "==", 4).settle()
    assert "Unlike in the paper: heads at the floor 3, which should be 4." in result(settled)

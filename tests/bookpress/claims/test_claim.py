"""Giving evidence: what each kind of comparison keeps, and what a notebook is stopped for."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from bookpress.claims.claim import Claim
from bookpress.claims.evidence import CLAIM_MIME, ROUNDING, EvidenceError, FailedCheck, Part, Role
from bookpress.claims.provenance import OWN_VARIABLE
from bookpress.claims.registry import Entry, Kind, Paper, ProofMark, Registry, RegistryError, Verdict
from bookpress.layout import PROFILE_VARIABLE

Give = Callable[[Claim], object]


def claim_of(kind: str = "lemma", expected: str = "holds", proof: str | None = None) -> Claim:
    entry = Entry(
        id="x",
        label="Lemma 1 (= Lemma 5)",
        kind=Kind(kind),
        statement="s",
        printed="p",
        corrected="q",
        check="c",
        notebook="demo/x",
        expected=Verdict(expected),
        why="w",
        proof=ProofMark(proof) if proof else None,
    )
    papers = [Paper(name="demo", number=1, title="T", short_title="T", authors="A", cite="c", claims=[entry])]
    return Claim("demo/x", Registry(papers=papers))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the notebook displays, in a run of the book's own."""
    bundles: list[dict[str, Any]] = []
    monkeypatch.setenv(OWN_VARIABLE, "")
    monkeypatch.delenv(PROFILE_VARIABLE, raising=False)

    def display(bundle: dict[str, Any], raw: bool = False) -> None:
        assert raw
        bundles.append(bundle)

    monkeypatch.setattr("IPython.display.display", display)
    return bundles


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(RegistryError, match="unknown claim 'demo/y'"):
        Claim("demo/y", Registry(papers=[]))


@pytest.mark.parametrize("role", ["check", "control", "printed", "misprint", "counterexample"])
@pytest.mark.parametrize("of", ["statement", "proof"])
def test_each_comparison_keeps_its_role_and_what_it_speaks_of(role: str, of: str) -> None:
    claim = claim_of()
    assert getattr(claim, role)("label", 0.5, "<=", 1, of=of) is claim
    getattr(claim, role)("by default", 1, "==", 1.5)
    first, second = claim.evidence
    assert (first.role, first.of, first.label) == (Role(role), Part(of), "label")
    assert (first.measured, first.relation, first.bound, first.passed) == (0.5, "<=", 1, True)
    assert (first.cases, first.worst, first.interval, first.draws, first.within) == (None,) * 5
    assert (second.of, second.tolerance, second.passed) == (Part.STATEMENT, 0.0, False)


@pytest.mark.parametrize("role", ["check", "control", "printed", "misprint", "counterexample"])
@pytest.mark.parametrize(("measured", "passed"), [(1.25, True), (0.75, True), (1.26, False), (0.74, False)])
def test_a_tolerance_is_of_the_distance_and_its_end_passes(role: str, measured: float, passed: bool) -> None:
    (item,) = getattr(claim_of(), role)("label", measured, "==", 1, tolerance=0.25).evidence
    assert (item.tolerance, item.passed) == (0.25, passed)


@pytest.mark.parametrize(
    ("relation", "passes"),
    [("==", "e"), ("!=", "lg"), ("<", "l"), ("<=", "le"), (">", "g"), (">=", "ge")],
)
def test_a_relation_is_exact(relation: str, passes: str) -> None:
    for name, value in (("l", math.nextafter(1, 0)), ("e", 1.0), ("g", math.nextafter(1, 2))):
        (item,) = claim_of().check("label", value, relation, 1).evidence
        assert item.passed is (name in passes)


@pytest.mark.parametrize(
    ("relation", "bound", "worst", "nearest"),
    [
        ("<", 3, "e", "a"),
        ("<=", 3, "e", "a"),
        (">", 3, "a", "e"),
        (">=", 3, "a", "e"),
        ("==", 0.5, "e", "a"),
        ("!=", 0, "a", "e"),
    ],
)
def test_the_worst_case_is_the_nearest_to_failing(relation: str, bound: float, worst: str, nearest: str) -> None:
    cases = {"c": 3.0, "a": 1.0, "e": 5.0}
    check, control = claim_of().check("c", cases, relation, bound).control("k", cases, relation, bound).evidence
    assert (check.worst, check.measured, check.cases) == (worst, cases[worst], 3)
    assert (control.worst, control.measured, control.cases) == (nearest, cases[nearest], 3)


def test_a_case_that_fails_is_worse_than_any_that_passes() -> None:
    bounds = {"passes narrowly": 1.0, "fails": 1e9}
    (item,) = claim_of().check("c", {"passes narrowly": 1.0, "fails": 2e9}, "<=", bounds).evidence
    assert (item.worst, item.bound, item.passed) == ("fails", 1e9, False)
    (item,) = claim_of().check("c", {"off by one": 1.0, "off by more": 0.0}, "!=", 0).evidence
    assert (item.worst, item.passed) == ("off by more", False)


def test_cases_are_measured_by_their_bounds_and_against_zero_by_themselves() -> None:
    (item,) = claim_of().check("c", {"small": 0.9, "large": 99.0}, "<=", {"small": 1, "large": 100}).evidence
    assert item.worst == "large"  # one per cent below, the other ten
    (item,) = claim_of().check("c", {"zero": 0.5, "ten": 14.0}, "<=", {"zero": 0, "ten": 10}).evidence
    assert item.worst == "zero"
    (item,) = claim_of().check("c", {"minus": -1.1, "plus": 1.05}, "<=", {"minus": -1, "plus": 1}).evidence
    assert item.worst == "plus"


def test_cases_that_are_equal_up_to_rounding_are_alike() -> None:
    first, second = {"one": 1 + 1e-15, "other": 1.0}, {"one": 1.0, "other": 1 + 1e-15}
    for cases in (first, second):
        (item,) = claim_of().check("c", cases, "==", 1, tolerance=1e-9).evidence
        assert item.worst == "one"
    (item,) = claim_of().check("c", {"one": 1.0, "other": 1 + 5 * ROUNDING}, "==", 1, tolerance=1e-6).evidence
    assert item.worst == "other"


def test_an_infinite_case_is_the_worst() -> None:
    (item,) = claim_of().check("c", {"a": 5.0, "b": math.inf, "c": 7.0}, "<", 1).evidence
    assert (item.worst, item.passed) == ("b", False)
    (item,) = claim_of().check("c", {"a": 5.0, "b": 1e300}, "<", math.inf).evidence
    assert item.passed


@pytest.mark.parametrize("bounds", [{"a": 1}, {"a": 1, "b": 1, "c": 1}, {"a": 1, "c": 1}, {}])
def test_bounds_by_case_are_those_of_the_values(bounds: dict[str, int]) -> None:
    with pytest.raises(EvidenceError, match=r"^x: the bounds must have the cases of the values$"):
        claim_of().check("x", {"a": 0, "b": 0}, "<", bounds)
    with pytest.raises(EvidenceError, match=r"^x: no case was given$"):
        claim_of().check("x", {}, "<", bounds)


def test_words_are_compared_as_they_are() -> None:
    (item,) = claim_of().check("c", {"a": "x", "b": "y", "c": "z"}, "==", {"a": "x", "b": "x", "c": "x"}).evidence
    assert (item.worst, item.measured, item.bound) == ("b", "y", "x")
    (item,) = claim_of().check("c", {1: "x"}, "==", "x").evidence
    assert (item.worst, item.cases, item.passed) == ("1", 1, True)


def test_an_estimate_keeps_its_mean_its_draws_and_its_interval() -> None:
    draws = torch.tensor([[1.0, 2.0], [3.0, 2.0]])
    first, share, own = (
        claim_of()
        .estimate("e", draws, "<", 9, of="proof", role="printed")
        .estimate("share", [True] * 60, ">", 0.5)
        .estimate("slope", 1.0, "==", 1.25, interval=(0.75, 1.5), tolerance=0.5)
        .evidence
    )
    assert (first.role, first.of, first.measured, first.draws) == (Role.PRINTED, Part.PROOF, 2.0, 4)
    assert (first.relation, first.bound, first.tolerance, first.passed) == ("<", 9.0, 0.0, True)
    assert first.interval is not None
    assert first.interval[0] < 2 < first.interval[1]
    assert (share.role, share.of, share.measured, share.draws, share.passed) == (
        Role.CHECK,
        Part.STATEMENT,
        1.0,
        60,
        True,
    )
    assert (own.measured, own.draws, own.interval, own.tolerance, own.passed) == (1.0, None, (0.75, 1.5), 0.5, True)


@pytest.mark.parametrize("interval", [(1.0, 1.0), (1.0, 2.0), (0.5, 1.0)])
def test_an_estimate_may_lie_at_an_end_of_its_interval(interval: tuple[float, float]) -> None:
    assert claim_of().estimate("e", 1.0, "<", 9, interval=interval).evidence[0].interval == interval


@pytest.mark.parametrize(
    "interval", [(1.1, 2.0), (0.0, 0.9), (-math.inf, 2.0), (0.0, math.inf), (math.nextafter(1, 2), 2.0)]
)
def test_an_interval_is_finite_and_holds_its_estimate(interval: tuple[float, float]) -> None:
    with pytest.raises(EvidenceError, match=r"^e: the interval .* must be finite and hold the estimate 1\.0$"):
        claim_of().estimate("e", 1.0, "<", 9, interval=interval)


def test_an_estimate_takes_a_tolerance_with_equality_only_and_draws_that_are_numbers() -> None:
    with pytest.raises(EvidenceError, match="e: a tolerance goes with '==' only"):
        claim_of().estimate("e", [1.0, 2.0], "<", 9, tolerance=0.1)
    with pytest.raises(EvidenceError, match="e: 'x' is not a number"):
        claim_of().estimate("e", [1.0, "x"], "<", 9)
    with pytest.raises(EvidenceError, match="e: unknown relation '~'; use one of ==, !=, <, <=, >, >="):
        claim_of().estimate("e", [1.0, 2.0], "~", 9)


def test_a_number_is_judged_only_with_a_band() -> None:
    shown, beside, judged, outside = (
        claim_of()
        .number("a", 1)
        .number("b", 1, printed=2, of="proof")
        .number("c", 1.5, printed=1, within=0.5)
        .number("d", 1.51, printed=1, within=0.5)
        .evidence
    )
    assert {item.role for item in (shown, beside, judged, outside)} == {Role.NUMBER}
    assert (shown.measured, shown.bound, shown.passed, shown.within, shown.of) == (1, None, None, None, Part.STATEMENT)
    assert (beside.bound, beside.passed, beside.of, beside.relation) == (2, None, Part.PROOF, "==")
    assert (judged.passed, judged.within, outside.passed) == (True, 0.5, False)


def test_what_is_settled_says_all_that_was_given() -> None:
    claim = claim_of(expected="stand-in", proof="as printed")
    claim.check("c", 1, "<", 2).control("k", 3, "<", 2).check("a step", 1, "<", 2, of="proof")
    assert claim.stand_in("crops") is claim
    settled = claim.settle()
    assert (settled.claim, settled.label, settled.stand_in, settled.note) == ("demo/x", "Lemma 1", "crops", None)
    assert (settled.verdict, settled.expected) == (Verdict.STAND_IN, Verdict.STAND_IN)
    assert settled.proof is ProofMark.AS_PRINTED
    assert settled.evidence == claim.evidence


def test_weak_evidence_is_undecided_where_it_is_not_refused() -> None:
    claim = claim_of().check("c", 1, "<", 2)
    settled = claim.settle(strict=False)
    assert (settled.verdict, settled.note) == (Verdict.UNDECIDED, "Nothing was seen to fail; give a control.")
    with pytest.raises(EvidenceError, match=r"^demo/x: nothing was seen to fail; give a control$"):
        claim.settle()


def test_the_panel_travels_as_markdown_text_and_evidence(shown: list[dict[str, Any]]) -> None:
    claim_of().check("c", 1, "<", 2).control("k", math.inf, "<", 2).verdict()
    (bundle,) = shown
    assert set(bundle) == {"text/markdown", "text/plain", CLAIM_MIME}
    assert bundle["text/plain"].startswith("demo/x: holds")
    assert bundle["text/markdown"].startswith("**Lemma 1: holds**")
    assert bundle[CLAIM_MIME]["settled"]["claim"] == "demo/x"
    assert bundle[CLAIM_MIME]["settled"]["evidence"][1]["measured"] == "Infinity"
    assert "device" in bundle[CLAIM_MIME]["environment"]
    json.dumps(bundle, allow_nan=False)


@pytest.mark.parametrize(
    ("profile", "own", "stops"),
    [(None, "", True), ("laptop", "", True), ("full", "", False), (None, "n", False), ("laptop", "n", False)],
)
def test_only_the_books_own_parameters_stop_a_run(
    profile: str | None, own: str, stops: bool, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OWN_VARIABLE, own)
    if profile:
        monkeypatch.setenv(PROFILE_VARIABLE, profile)
    fails, weak = claim_of().check("c", 3, "<", 2).control("k", 3, "<", 2), claim_of().check("c", 1, "<", 2)
    if stops:
        with pytest.raises(FailedCheck, match=r"^demo/x: the evidence says 'undecided here', the registry expects"):
            fails.verdict()
        with pytest.raises(EvidenceError):
            weak.verdict()
        assert len(shown) == 1  # what fails is shown all the same
    else:
        fails.verdict()
        weak.verdict()
        assert len(shown) == 2


@pytest.mark.parametrize(("measured", "verdict"), [(1, "holds"), (3, "undecided here")])
def test_nothing_stops_what_the_registry_expects_not_to_be_run(
    measured: int, verdict: str, shown: list[dict[str, Any]]
) -> None:
    claim_of(expected="not run").check("c", measured, "<", 2).control("k", 3, "<", 2).verdict()
    assert shown[0][CLAIM_MIME]["settled"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("kind", "expected", "give"),
    [
        ("lemma", "undecided here", lambda c: c.check("c", 3, "<", 2).control("k", 3, "<", 2)),
        ("lemma", "refuted", lambda c: c.check("c", 1, "<", 2).counterexample("x", 3, "<", 2)),
        ("lemma", "misprinted", lambda c: c.check("c", 1, "<", 2).misprint("m", 3, "<", 2)),
        (
            "figure",
            "partly reproduced",
            lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2).estimate("e", [1, 5, 0.9], "<", 3),
        ),
        ("lemma", "holds", lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2).number("n", 9)),
    ],
)
def test_what_comes_out_as_the_registry_expects_stops_nothing(
    kind: str, expected: str, give: Give, shown: list[dict[str, Any]]
) -> None:
    claim = claim_of(kind, expected)
    give(claim)
    claim.verdict()
    assert shown[0][CLAIM_MIME]["settled"]["verdict"] == expected


@pytest.mark.parametrize(
    ("kind", "expected", "give", "lines"),
    [
        (
            "lemma",
            "refuted",
            lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2),
            [
                "demo/x: the evidence says 'holds', the registry expects 'refuted'",
                "  every comparison came out as it must",
            ],
        ),
        (
            "lemma",
            "undecided here",
            lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2),
            [
                "demo/x: the evidence says 'holds', the registry expects 'undecided here'",
                "  every comparison came out as it must",
            ],
        ),
        (
            "figure",
            "partly reproduced",
            lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2).check("d", 4, "<=", 2),
            [
                "demo/x: the evidence says 'partly reproduced', the registry expects 'partly reproduced'",
                "  check: d: 4 <= 2",
            ],
        ),
        (
            "lemma",
            "holds",
            lambda c: (
                c.check("c", 1, "<", 2)
                .control("k", 3, "<", 2)
                .check("step", 1, "<", 2, of="proof")
                .printed("p", 1, "<", 2)
            ),
            [
                "demo/x: the evidence says 'holds', the registry expects 'holds'"
                "; of the proof 'as printed', the registry 'not checked'",
                "  printed: p: 1 < 2",
            ],
        ),
        (
            "definition",
            "holds",
            lambda c: c.check("c", 1, "<", 2).control("k", 3, "<", 2).check("step", 1, "<", 2, of="proof"),
            [
                "demo/x: the evidence says 'holds', the registry expects 'holds'"
                "; of the proof 'as printed', the registry 'nothing'",
                "  every comparison came out as it must",
            ],
        ),
    ],
)
def test_a_surprise_is_told_with_what_decided_it(
    kind: str, expected: str, give: Give, lines: list[str], shown: list[dict[str, Any]]
) -> None:
    claim = claim_of(kind, expected)
    give(claim)
    with pytest.raises(FailedCheck) as found:
        claim.verdict()
    assert str(found.value).split("\n") == lines
    assert len(shown) == 1

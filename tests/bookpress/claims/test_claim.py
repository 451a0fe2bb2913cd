"""Giving evidence: what each comparison keeps, what is refused, and what a notebook is stopped for."""

import math
from typing import Any

import numpy
import pytest
import torch

from bookpress.claims.claim import report
from bookpress.claims.evidence import (
    CLAIM_MIME,
    REPORT_MIME,
    ROUNDING,
    EvidenceError,
    FailedCheck,
    Item,
    Part,
    Reported,
    Role,
    Settled,
)
from bookpress.claims.intervals import estimate
from bookpress.claims.panel import panel_markdown, panel_text
from bookpress.claims.registry import Verdict
from bookpress.layout import OWN_VARIABLE, PROFILE_VARIABLE
from evidence_toys import ToyCertificate, claim_of, controlled, failing, passing

NAN = math.nan


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the notebook displays, in a run of the book's own."""
    bundles: list[dict[str, Any]] = []
    monkeypatch.setenv(OWN_VARIABLE, "")
    monkeypatch.delenv(PROFILE_VARIABLE, raising=False)
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def item(comparison: str, *values: Any, **options: Any) -> Item:
    """The one item that a check keeps."""
    claim = claim_of()
    getattr(claim, comparison)("label", *values, **options)
    (kept,) = claim.evidence
    return kept


@pytest.mark.parametrize(
    ("certificate", "verdict"),
    [
        (ToyCertificate(), Verdict.HOLDS),
        (ToyCertificate(outcome="refuted"), Verdict.UNDECIDED),
        (ToyCertificate(outcome="unknown"), Verdict.UNDECIDED),
        (ToyCertificate(control_outcome="proved"), Verdict.UNDECIDED),
        (ToyCertificate(control_outcome="unknown"), Verdict.UNDECIDED),
        (ToyCertificate(failed=False), Verdict.UNDECIDED),
    ],
)
def test_a_certificate_settles_a_claim_if_it_is_proved_and_its_control_failed(
    certificate: ToyCertificate, verdict: Verdict
) -> None:
    claim = claim_of()
    claim.certified("every x", certificate, whole=True)
    settled = Settled.model_validate_json(claim.settle(strict=False).model_dump_json())
    assert settled.verdict is verdict
    assert settled.is_certified == (verdict is Verdict.HOLDS)
    assert ("certified" in panel_text(settled)) == settled.is_certified
    assert ("x in 1..9" in panel_markdown(settled)) == (certificate.outcome == "proved")


def test_a_certificate_of_a_part_is_no_certificate_of_the_whole() -> None:
    claim = claim_of()
    claim.certified("some x", ToyCertificate())
    settled = claim.settle()
    assert (settled.verdict, settled.is_certified, len(settled.certificates)) == (Verdict.HOLDS, False, 1)


def test_what_is_no_certificate_is_refused() -> None:
    others: tuple[Any, ...] = (None, "proved", ToyCertificate(outcome="sure"))
    for other in others:
        with pytest.raises(EvidenceError, match="every x: certificate must be"):
            claim_of().certified("every x", other)


def test_a_claim_gives_checks_and_its_attributes_the_other_roles() -> None:
    claim = claim_of()
    claim.at_most("check", 0.5, 1)
    claim.control.at_most("control", 2, 1, of="proof")
    claim.printed.equal("printed", 1, 1.5)
    claim.misprint.true("misprint", False)
    claim.counterexample.close("counterexample", 1.0, 2.0)
    assert [item.label for item in claim.evidence] == [item.role.value for item in claim.evidence]
    check, control, *_ = claim.evidence
    assert check == Item(role=Role.CHECK, label="check", measured=0.5, relation="<=", bound=1, passed=True)
    assert (control.of, control.passed) == (Part.PROOF, False)


@pytest.mark.parametrize(
    ("comparison", "relation", "passes"),
    [
        ("equal", "==", "e"),
        ("unequal", "!=", "lg"),
        ("below", "<", "l"),
        ("at_most", "<=", "le"),
        ("above", ">", "g"),
        ("at_least", ">=", "ge"),
    ],
)
def test_a_comparison_is_exact(comparison: str, relation: str, passes: str) -> None:
    for name, value in (("l", math.nextafter(1, 0)), ("e", 1.0), ("g", math.nextafter(1, 2))):
        kept = item(comparison, value, 1)
        assert (kept.relation, kept.measured, kept.bound) == (relation, value, 1)
        assert kept.passed is (name in passes)
    for sides in ((NAN, 1), (1, NAN), (NAN, NAN), (torch.tensor(NAN), 1)):
        with pytest.raises(EvidenceError, match=r"label: each side must be a number other than NaN, .* got .*nan"):
            item(comparison, *sides)


@pytest.mark.parametrize(("measured", "passed"), [(1.25, True), (0.75, True), (1.26, False), (0.74, False)])
def test_a_tolerance_is_absolute_and_its_ends_pass(measured: float, passed: bool) -> None:
    kept = item("equal", measured, 1, tolerance=0.25)
    assert (kept.measured, kept.tolerance, kept.passed) == (measured, 0.25, passed)


@pytest.mark.parametrize(
    ("ours", "reference", "error"),
    [
        (torch.tensor([1.0, 4.5]), torch.tensor([0.0, 4.0]), 0.25),  # the entry near 0 counts by the largest one
        (torch.tensor([[2.0, 1.0], [4.0, 8.0]]), torch.tensor([[2.0], [4.0]]), 1.0),
        (1.5, -2, 1.75),
        (torch.tensor([0.0, 1e-3], dtype=torch.float64), torch.zeros(2), 1e-3),  # by 1 where the reference is 0
    ],
)
def test_closeness_is_the_largest_difference_over_the_largest_entry(ours: Any, reference: Any, error: float) -> None:
    kept = item("close", ours, reference, rtol=error)
    assert (kept.measured, kept.relation, kept.bound, kept.passed) == (error, "<=", error, True)
    assert item("close", ours, reference, error / 2).passed is False
    assert item("close", ours, reference).bound == 1e-12


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((3,), (3, 1)), ((3, 1), (3,)), ((), (2,)), ((0,), (0,))])
def test_closeness_never_stretches_ours(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(
        EvidenceError, match=r"label: the reference must have or broadcast to the shape \(.*\), got \(.*\)"
    ):
        item("close", *map(torch.zeros, shapes))


@pytest.mark.parametrize(
    ("comparison", "values", "options", "message"),
    [
        ("at_most", (torch.ones(2), 2), {}, r"label: .* one number, .* got Tensor of shape \(2,\) and 2"),
        ("at_most", (None, 2), {}, "got None and 2"),
        ("close", (torch.tensor([NAN]), 2.0), {}, "NaN"),
        ("equal", (1, 2), {"tolerance": -1}, "tolerance must be a finite number, at least 0"),
        ("equal", (1, math.inf), {"tolerance": 1}, "bound with a tolerance must be finite"),
        ("below", ({}, 2), {}, "no case"),
        ("below", ({"a": 0, "b": 0}, {"a": 1, "c": 1}), {}, "the cases of the values"),
        ("below", ({"a": 0, "b": None}, 1), {}, "label, b: .* got None and 1"),
        ("number", (1,), {"within": 0.1}, "within needs a printed number that is finite, got None"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    comparison: str, values: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(EvidenceError, match=message):
        item(comparison, *values, **options)


@pytest.mark.parametrize(
    ("comparison", "bound", "worst", "nearest"),
    [
        ("at_most", 3, "e", "a"),
        ("at_least", 3, "a", "e"),
        ("equal", 0.5, "e", "a"),
        ("unequal", 0, "a", "e"),
    ],
)
def test_of_cases_the_worst_is_kept_and_of_a_control_the_nearest_to_passing(
    comparison: str, bound: float, worst: str, nearest: str
) -> None:
    cases, claim = {"c": 3.0, "a": 1.0, "e": 5.0}, claim_of()
    for role in (claim, claim.control):
        getattr(role, comparison)("label", cases, bound)
    for kept, name in zip(claim.evidence, (worst, nearest), strict=True):
        assert (kept.worst, kept.measured, kept.cases) == (name, cases[name], 3)


@pytest.mark.parametrize(
    ("comparison", "cases", "bound", "worst"),
    [
        ("at_most", {"narrow": 1.0, "fails": 2e9}, {"narrow": 1.0, "fails": 1e9}, "fails"),
        ("at_most", {"by 1 %": 99.0, "by 10 %": 0.9}, {"by 1 %": 100, "by 10 %": 1}, "by 1 %"),
        ("at_most", {"of zero": 0.5, "of ten": 14.0}, {"of zero": 0, "of ten": 10}, "of zero"),
        ("unequal", {"off by one": 1.0, "equal": 0.0}, 0, "equal"),
        ("below", {"a": 5.0, "b": math.inf}, 1, "b"),
        ("equal", {"a": "x", "b": "y"}, "x", "b"),
    ],
)
def test_the_worst_case_fails_first_and_then_by_its_distance_relative_to_the_bound(
    comparison: str, cases: dict[Any, Any], bound: Any, worst: str
) -> None:
    assert item(comparison, cases, bound).worst == worst


def test_cases_that_are_equal_up_to_rounding_are_alike() -> None:
    for cases in ({"first": 1 + 1e-15, "second": 1.0}, {"first": 1.0, "second": 1 + 1e-15}):
        assert item("equal", cases, 1, tolerance=1e-9).worst == "first"
    assert item("equal", {"first": 1.0, "second": 1 + 5 * ROUNDING}, 1, tolerance=1e-6).worst == "second"


def test_an_estimate_is_judged_by_its_whole_interval() -> None:
    kept = item("below", estimate(torch.tensor([[1.0, 2.0], [3.0, 2.0]])), 9)
    assert (kept.measured, kept.draws, kept.bound, kept.passed) == (2.0, 4, 9.0, True)
    assert kept.interval == estimate([1.0, 2.0, 3.0, 2.0]).interval
    assert item("below", estimate([1.0, 2.0, 3.0, 2.0]), 2.1).passed is None
    share = item("above", estimate([True] * 60), 0.5)
    assert (share.measured, share.draws, share.passed) == (1.0, 60, True)
    fitted = item("equal", estimate(1.0, interval=(0.75, 1.5)), 1.25, tolerance=0.5)
    assert (fitted.measured, fitted.draws, fitted.interval, fitted.passed) == (1.0, None, (0.75, 1.5), True)


@pytest.mark.parametrize(
    ("ours", "printed", "within", "passed"),
    [
        (1, None, None, None),
        (1.05, 1, 0.05, True),
        (1.06, 1, 0.05, False),
        (0.5, 1, 1, True),
        (1e-9, 1, 5, False),  # no band reaches zero
        (-1, 1, 5, False),
        (math.inf, 1, 1, False),
    ],
)
def test_a_number_is_judged_by_a_band_that_is_a_factor_either_way(
    ours: float, printed: float | None, within: float | None, passed: bool | None
) -> None:
    kept = item("number", ours, printed=printed, within=within)
    assert (kept.role, kept.measured, kept.bound, kept.within) == (Role.NUMBER, ours, printed, within)
    assert kept.passed is passed


@pytest.mark.parametrize(
    ("profile", "own", "stops"),
    [("laptop", "", True), ("full", "", False), ("laptop", "n", False), ("laptop", None, False)],
)
def test_only_the_press_at_the_books_own_parameters_stops_a_run(
    profile: str, own: str | None, stops: bool, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, profile)
    if own is None:  # Jupyter and papermill do not say which parameters are set
        monkeypatch.delenv(OWN_VARIABLE)
    else:
        monkeypatch.setenv(OWN_VARIABLE, own)
    fails, weak = controlled(failing(claim_of())), passing(claim_of())
    if stops:
        with pytest.raises(FailedCheck):
            fails.verdict()
        with pytest.raises(EvidenceError):
            weak.verdict()
        return
    fails.verdict()
    weak.verdict()
    assert [one[CLAIM_MIME]["settled"]["verdict"] for one in shown] == ["undecided here"] * 2


def test_a_claim_that_is_not_run_here_is_settled_where_it_is(shown: list[dict[str, Any]]) -> None:
    controlled(passing(claim_of(expected="not run"))).verdict()
    assert shown[0][CLAIM_MIME]["settled"]["verdict"] == "holds"


def test_a_surprise_stops_the_notebook_and_names_what_decided_it(shown: list[dict[str, Any]]) -> None:
    with pytest.raises(FailedCheck, match=r"says 'undecided here', the registry .*'holds'\n  check: fails: 3 < 2"):
        controlled(failing(claim_of())).verdict()
    step = controlled(passing(claim_of()))
    step.below("a step", 1, 2, of="proof")
    with pytest.raises(FailedCheck, match="of the proof 'as printed', the registry 'not checked'"):
        step.verdict()
    assert len(shown) == 2
    controlled(passing(claim_of())).verdict()


def test_a_check_that_fails_stops_even_where_the_verdict_was_to_be_bad(shown: list[dict[str, Any]]) -> None:
    refuted = failing(claim_of(expected="refuted"))
    refuted.counterexample.below("x", 3, 2)
    partly = controlled(failing(passing(claim_of("figure", "partly reproduced"))))
    for claim in (refuted, partly):
        with pytest.raises(FailedCheck, match="check: fails: 3 < 2"):
            claim.verdict()
    undecided = controlled(failing(claim_of(expected="undecided here")))
    undecided.verdict()


def test_reported_numbers_and_lists_travel_with_their_environment(shown: list[dict[str, Any]]) -> None:
    report(loss=math.inf, losses=torch.tensor([1.0, 0.5]), count=numpy.int64(3), right=True)
    reported = Reported.model_validate(shown[0][REPORT_MIME])
    assert reported.numbers == {"loss": math.inf, "losses": [1.0, 0.5], "count": 3, "right": True}
    assert reported.environment["device"] == "CPU"
    assert "losses: [1.0, 0.5]" in shown[0]["text/plain"]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({}, "at least one number"),
        ({"Loss": 1.0}, "lower-case"),
        ({"loss": []}, "a number or a list of numbers"),
        ({"loss": "low"}, "a number or a list of numbers"),
    ],
)
def test_what_is_no_number_is_not_reported(numbers: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report(**numbers)

"""The verdict on a statement and the mark on its proof, computed from evidence."""

import math
from collections.abc import Callable

import pytest

from bookpress.claims.claim import Claim, Comparisons
from bookpress.claims.evidence import EvidenceError, format_bound, format_number, reevaluate
from bookpress.claims.intervals import estimate
from bookpress.claims.registry import ProofMark, Verdict
from evidence_toys import claim_of, controlled, failing, passing

Give = Callable[[Claim], object]

OPEN = estimate([1, 5, 0.9])  # its interval does not decide whether it is below 3


def mended(claim: Claim, role: Comparisons) -> None:
    """A step of the proof that is wrong in print and right once mended."""
    role.below("a step", 3, 2, of="proof")
    claim.below("the step mended", 1, 2, of="proof")


@pytest.mark.parametrize(
    ("kind", "base", "give", "verdict"),
    [
        ("lemma", "passes, controlled", lambda c: None, Verdict.HOLDS),
        ("lemma", "passes", lambda c: c.printed.below("p", 3, 2), Verdict.HOLDS_WITH_CORRECTION),
        ("lemma", "passes, controlled", lambda c: c.printed.below("p", 1, 2), Verdict.HOLDS),
        ("lemma", "passes", lambda c: c.counterexample.below("x", 3, 2), Verdict.REFUTED),
        ("lemma", "passes, fails, controlled", lambda c: None, Verdict.UNDECIDED),
        ("lemma", "passes, controlled", lambda c: c.misprint.below("m", 3, 2), Verdict.MISPRINTED),
        ("lemma", "passes, controlled", lambda c: c.printed.below("p", 3, 2, of="proof"), Verdict.HOLDS),
        ("lemma", "passes, controlled", lambda c: c.below("e", OPEN, 3), Verdict.UNDECIDED),
        ("lemma", "passes, controlled", lambda c: c.number("n", 2.0, printed=1.0, within=0.1), Verdict.UNDECIDED),
        ("lemma", "passes, controlled", lambda c: c.stand_in("crops"), Verdict.STAND_IN),
        ("figure", "passes, controlled", lambda c: None, Verdict.REPRODUCED),
        ("figure", "passes, fails, controlled", lambda c: None, Verdict.PARTLY_REPRODUCED),
        ("figure", "fails, controlled", lambda c: None, Verdict.NOT_REPRODUCED),
        ("figure", "controlled", lambda c: c.below("e", OPEN, 3), Verdict.UNDECIDED),
        ("figure", "passes, controlled", lambda c: c.below("e", OPEN, 3), Verdict.PARTLY_REPRODUCED),
        ("figure", "passes, controlled", lambda c: c.misprint.below("m", 3, 2), Verdict.REPRODUCED),
        ("figure", "passes", lambda c: c.printed.below("as read", 3, 2), Verdict.PARTLY_REPRODUCED),
        ("figure", "passes, controlled", lambda c: c.printed.below("as read", OPEN, 3), Verdict.PARTLY_REPRODUCED),
        ("figure", "passes, controlled", lambda c: c.stand_in("crops"), Verdict.STAND_IN),
        ("table", "passes, fails, controlled", lambda c: c.stand_in("crops"), Verdict.PARTLY_REPRODUCED),
    ],
)
def test_the_verdict_follows_from_the_evidence(kind: str, base: str, give: Give, verdict: Verdict) -> None:
    claim = claim_of(kind)
    for word in base.split(", "):
        {"passes": passing, "fails": failing, "controlled": controlled}[word](claim)
    give(claim)
    assert claim.settle().verdict is verdict


def test_several_faults_of_the_paper_give_the_gravest_verdict() -> None:
    claim = passing(claim_of())
    claim.misprint.below("m", 3, 2)
    claim.printed.below("p", 3, 2)
    assert claim.settle().verdict is Verdict.HOLDS_WITH_CORRECTION
    claim.counterexample.below("x", 3, 2)
    claim.stand_in("crops")
    assert claim.settle().verdict is Verdict.REFUTED


def test_a_stand_in_that_leaves_something_open_leaves_the_figure_open() -> None:
    claim = controlled(passing(claim_of("figure")))
    claim.below("e", OPEN, 3)
    claim.stand_in("a small model")
    assert claim.settle().verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (controlled, "no check"),
        (passing, "nothing was seen to fail"),
        (lambda c: passing(c).control.at_least("denied", 1, 2), "not deny a check"),
        (lambda c: passing(c).control.at_most("denied the other way round", 2, 1), "deny a check"),
        (lambda c: controlled(passing(c)).control.below("idle", 1, 2), "did not fail.*idle"),
        (lambda c: controlled(passing(c)).control.below("open", OPEN, 3), "did not fail.*open"),
    ],
)
def test_inconclusive_evidence_is_refused(give: Give, message: str) -> None:
    claim = claim_of()
    give(claim)
    with pytest.raises(EvidenceError, match=message):
        claim.settle()


def controlled_proof(claim: Claim, broken: float) -> None:
    """A step of the proof that passes, with a control that should fail."""
    claim.below("a step", 1, 2, of="proof")
    claim.control.below("the step with an assumption broken", broken, 2, of="proof")


@pytest.mark.parametrize(
    ("give", "mark"),
    [
        (lambda c: None, ProofMark.NOT_CHECKED),
        (lambda c: c.below("a step", 1, 2, of="proof"), ProofMark.AS_PRINTED),
        (lambda c: c.below("a step", 3, 2, of="proof"), ProofMark.NOT_CHECKED),
        (lambda c: c.printed.below("a step", 3, 2, of="proof"), ProofMark.FAILS),
        (lambda c: mended(c, c.printed), ProofMark.REPAIRED),
        (lambda c: mended(c, c.misprint), ProofMark.MISPRINTED),
        (lambda c: controlled_proof(c, 3), ProofMark.AS_PRINTED),
        (lambda c: controlled_proof(c, 1), ProofMark.NOT_CHECKED),
    ],
)
def test_the_proof_has_a_mark_apart_from_the_verdict(give: Give, mark: ProofMark) -> None:
    claim = controlled(passing(claim_of()))
    give(claim)
    assert (claim.settle().proof, claim.settle().verdict) == (mark, Verdict.HOLDS)


def test_what_has_no_proof_has_no_mark() -> None:
    assert controlled(passing(claim_of("definition"))).settle().proof is None


def test_the_books_own_proof_of_its_own_claim_is_proved_here() -> None:
    claim = controlled(passing(claim_of()))
    claim.entry = claim.entry.model_copy(update={"holds": "So.", "says": None})
    claim.below("a step", 1, 2, of="proof")
    assert claim.settle().proof is ProofMark.PROVED_HERE


def test_a_record_sets_no_verdict() -> None:
    claim = controlled(failing(claim_of()))
    edited = claim.settle().model_copy(update={"verdict": Verdict.HOLDS, "expected": Verdict.REFUTED, "label": "Y"})
    assert reevaluate(edited, claim.entry) == claim.settle()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (9999, "9999"),
        (11_520, "11\u202f520"),
        (1e12, "1e+12"),
        (11_520.5, "1.152e+04"),
        (math.inf, "inf"),
        (True, "True"),
    ],
)
def test_whole_numbers_are_shown_whole_and_reals_to_four_figures(value: float, shown: str) -> None:
    assert format_number(value) == shown


@pytest.mark.parametrize(("within", "shown"), [(0.05, "2 ± 5 %"), (1, "2 ×÷ 2")])
def test_a_band_is_shown_in_per_cent_or_as_a_factor(within: float, shown: str) -> None:
    claim = claim_of()
    claim.number("n", 1, printed=2, within=within)
    assert format_bound(claim.evidence[0]) == shown

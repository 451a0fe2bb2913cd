"""Evidence given inside a notebook, and the verdict that is computed from it.

A claim is settled by *checks* that must pass and by at least one comparison that is seen to fail;
:class:`~bookpress.claims.claim.Claim` says which. Evidence speaks of the statement or of its proof, and each gets a
mark. Nobody types a verdict.
"""

import operator
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from bookpress.claims.registry import Entry, ProofMark, Verdict
from bookpress.claims.statement import name_of

#: The output types under which claims, figures and reported numbers travel in an executed notebook.
CLAIM_MIME = "application/vnd.bookpress.claim+json"
FIGURE_MIME = "application/vnd.bookpress.figure+json"
REPORT_MIME = "application/vnd.bookpress.report+json"

#: Below this a float64 value is rounding, and only its order of magnitude has a meaning.
ROUNDING = 1e-9

Number = float | int | bool | str

#: Of a question that is put to a solver; ``unknown`` is never a pass.
Outcome = Literal["proved", "refuted", "unknown"]


class EvidenceError(ValueError):
    """The evidence itself is at fault: a value that is not a number, a control that did not fail, nothing to judge."""


class FailedCheck(Exception):
    """The verdict computed from the evidence is not the one that the registry expects."""


class Role(StrEnum):
    CHECK = "check"
    CONTROL = "control"
    PRINTED = "printed"
    MISPRINT = "misprint"
    COUNTEREXAMPLE = "counterexample"
    NUMBER = "number"

    @property
    def must_fail(self) -> bool:
        return self not in (Role.CHECK, Role.NUMBER)


class Part(StrEnum):
    """What a comparison speaks of: the statement itself, or the proof or construction that the paper gives for it."""

    STATEMENT = "statement"
    PROOF = "proof"


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


#: The orders of two values in which each relation holds.
_ORDERS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class FailedControl(BaseModel):
    """The question of a certificate with an assumption broken, and its counterexample run through the code."""

    model_config = ConfigDict(frozen=True)

    broken: str
    question: str
    outcome: Outcome
    counterexample: str
    observed: str
    failed: bool


class Certified(BaseModel):
    """What an engine said of a statement for all inputs of a range; ``whole`` where that is all that a claim states."""

    model_config = ConfigDict(frozen=True)

    statement: str
    covers: str
    question: str
    engine: str
    seconds: float
    outcome: Outcome
    control: FailedControl
    whole: bool


class Item(BaseModel):
    """One comparison: ``measured relation bound``, exact unless a tolerance is given.

    ``tolerance`` is absolute; ``within`` is a number's band about the printed value. An estimate carries the
    ``interval`` of its ``draws``. Where several ``cases`` were compared at once, ``measured`` and ``bound`` are those
    of the ``worst``. ``passed`` is ``None`` where nothing is judged (a number without a band) and where an interval
    does not decide. A ``certificate`` stands for all inputs of its range; its control is a separate item.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    role: Role
    of: Part = Part.STATEMENT
    label: str
    measured: Number
    relation: str
    bound: Number | None
    tolerance: float = 0.0
    within: float | None = None
    interval: tuple[float, float] | None = None
    draws: int | None = None
    cases: int | None = None
    worst: str | None = None
    passed: bool | None
    certificate: Certified | None = None

    @property
    def counts(self) -> bool:
        """Whether a verdict rests on it: all but numbers that are only shown."""
        return self.role is not Role.NUMBER or self.within is not None

    @property
    def out_of_role(self) -> bool:
        """Whether its outcome is another than its role says; an interval that does not decide did."""
        return self.counts and self.passed is not (not self.role.must_fail)

    def negates(self, other: "Item") -> bool:
        """Whether this says no more than that ``other`` is not so: the same two values, in a relation it excludes."""
        orders, turned = _ORDERS[self.relation], _ORDERS[self.relation].translate(str.maketrans("<>", "><"))
        sides = (self.measured, self.bound)
        return (sides == (other.measured, other.bound) and not {*orders} & {*_ORDERS[other.relation]}) or (
            sides == (other.bound, other.measured) and not {*turned} & {*_ORDERS[other.relation]}
        )


class Settled(BaseModel):
    """A claim with its evidence and what follows from it.

    ``note`` says why the evidence is inconclusive, where it is.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    claim: str
    label: str
    verdict: Verdict
    expected: Verdict
    proof: ProofMark | None = None
    stand_in: str | None = None
    note: str | None = None
    evidence: list[Item]

    @property
    def certificates(self) -> list[Certified]:
        """Those that proved what they were asked."""
        return [item.certificate for item in self.evidence if item.certificate and item.passed]

    @property
    def is_certified(self) -> bool:
        """Whether the whole statement is settled for all inputs."""
        return self.verdict is not Verdict.UNDECIDED and any(one.whole for one in self.certificates)


class Reported(BaseModel):
    """Numbers that a notebook reports by name, each one value or one for each of several draws, and its environment."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    numbers: dict[str, float | int | bool | list[float]]
    environment: dict[str, str]


def judge(claim: str, entry: Entry, evidence: list[Item], stand_in: str | None) -> Settled:
    """A claim with the verdict and the mark on its proof that follow from the evidence."""
    weak = weakness(entry, evidence)
    return Settled(
        claim=claim,
        label=name_of(entry),
        verdict=Verdict.UNDECIDED if weak else verdict_of(entry, evidence, stand_in),
        expected=entry.expected,
        proof=proof_of(entry, evidence),
        stand_in=stand_in,
        note=f"{weak[0].upper()}{weak[1:]}." if weak else None,
        evidence=evidence,
    )


def reevaluate(settled: Settled, entry: Entry) -> Settled:
    """The same evidence under today's rules and registry: no record, and no edit of one, sets a verdict."""
    return judge(settled.claim, entry, settled.evidence, settled.stand_in)


def verdict_of(entry: Entry, evidence: list[Item], stand_in: str | None) -> Verdict:
    """The verdict on the statement. Only a counterexample refutes: a check that fails leaves it undecided."""
    about = [item for item in evidence if item.of is Part.STATEMENT]
    judged, broken = _outcomes(about)
    if entry.kind.is_measured:
        judged += [None for item in about if item.role is Role.PRINTED and item.passed is None]
        return _measured(judged, broken, stand_in)
    if Role.COUNTEREXAMPLE in broken:
        return Verdict.REFUTED
    if not all(judged):
        return Verdict.UNDECIDED
    if stand_in:
        return Verdict.STAND_IN
    if Role.PRINTED in broken:
        return Verdict.HOLDS_WITH_CORRECTION
    return Verdict.MISPRINTED if Role.MISPRINT in broken else Verdict.HOLDS


def _outcomes(about: list[Item]) -> tuple[list[bool | None], set[Role]]:
    """The outcomes of all that had to pass, and the roles of what had to fail and did."""
    judged = [item.passed for item in about if item.counts and not item.role.must_fail]
    return judged, {item.role for item in about if item.role.must_fail and item.passed is False}


def _measured(judged: list[bool | None], broken: set[Role], stand_in: str | None) -> Verdict:
    """The verdict on a figure or a table: reproduced, in part, not at all, or undecided by the runs.

    What a stand-in shows is no part of the paper's figure: where it leaves something open, the figure is open.
    """
    unlike = broken & {Role.PRINTED, Role.COUNTEREXAMPLE} or False in judged
    if unlike or None in judged:
        if any(judged) and (unlike or not stand_in):
            return Verdict.PARTLY_REPRODUCED
        return Verdict.NOT_REPRODUCED if unlike else Verdict.UNDECIDED
    return Verdict.STAND_IN if stand_in else Verdict.REPRODUCED


def proof_of(entry: Entry, evidence: list[Item]) -> ProofMark | None:
    """The mark on the proof or construction; ``None`` for what has none and was given none."""
    about = [item for item in evidence if item.of is Part.PROOF]
    if not about:
        return ProofMark.NOT_CHECKED if entry.kind.has_proof else None
    judged, broken = _outcomes(about)
    controlled = not any(item.role is Role.CONTROL and item.passed is not False for item in about)
    is_right = bool(judged) and all(judged) and controlled
    if broken & {Role.PRINTED, Role.COUNTEREXAMPLE}:
        return ProofMark.REPAIRED if is_right else ProofMark.FAILS
    if not is_right:
        return ProofMark.NOT_CHECKED
    if Role.MISPRINT in broken:
        return ProofMark.MISPRINTED
    return ProofMark.PROVED_HERE if entry.is_own else ProofMark.AS_PRINTED


def weakness(entry: Entry, evidence: list[Item]) -> str | None:
    """Why the evidence of the statement is inconclusive, or ``None``.

    That is: no check, a control that did not fail, nothing that was seen to fail, or nothing but denials of the checks.
    """
    tried = {Role.CHECK, Role.PRINTED} if entry.kind.is_measured else {Role.CHECK}
    about = [item for item in evidence if item.of is Part.STATEMENT]
    if not any(item.role in tried for item in about):
        return "no check was given"
    if held := [item for item in about if item.role is Role.CONTROL and item.passed is not False]:
        return "a control did not fail: " + "; ".join(map(describe, held))
    failed = [item for item in evidence if item.role.must_fail and item.passed is False]
    if not failed:
        return "nothing was seen to fail; give a control"
    checks = [item for item in evidence if item.role is Role.CHECK]
    if all(any(item.negates(check) for check in checks) for item in failed):
        return "a control must break an assumption, not deny a check: " + "; ".join(map(describe, failed))
    return None


def describe(item: Item) -> str:
    """``label: measured relation bound`` in one line of text."""
    if item.bound is None:
        return f"{item.label}: {format_measured(item)}"
    return f"{item.label}: {format_measured(item)} {item.relation} {format_bound(item)}"


def format_measured(item: Item) -> str:
    """The measured value; with its interval where it is an estimate, and the worst case where there were several."""
    measured = format_number(item.measured)
    if item.interval is not None:
        low, high = map(format_number, item.interval)
        measured += f" ({low} to {high}" + (f", {item.draws} draws)" if item.draws else ")")
    return f"{measured} (worst of {item.cases}: {item.worst})" if item.cases else measured


def format_bound(item: Item) -> str:
    """The bound with its tolerance, or with the band about a number: in per cent, or as a factor from 2 on."""
    if item.bound is None:
        return ""
    bound = format_number(item.bound)
    if item.tolerance:
        return f"{bound} ± {item.tolerance:.3g}"
    if not item.within:
        return bound
    return f"{bound} ± {100 * item.within:.3g} %" if item.within < 1 else f"{bound} ×÷ {1 + item.within:.3g}"


def format_number(value: Number) -> str:
    """A value as a reader wants it: integers whole (also those a float holds, to a billion), reals to four figures."""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        value = int(value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    return f"{value:.4g}"

"""Evidence given inside a notebook, and the verdict that is computed from it.

A claim is settled by *checks* that must pass and by at least one comparison that is seen to fail: a *control* (the
same check with an assumption broken), the form *as printed* where the print is wrong, or a *counterexample* to a false
statement. *Numbers* set ours beside a printed or an earlier one. Nobody types a verdict: :meth:`Claim.verdict` computes
it, compares it with the registry, and stops the notebook where the two differ.
"""

import math
import operator
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from bookpress.registry import Entry, Verdict

#: The output type under which a claim's evidence travels in an executed notebook.
CLAIM_MIME = "application/vnd.bookpress.claim+json"
#: The same of a figure.
FIGURE_MIME = "application/vnd.bookpress.figure+json"

Number = float | int | bool | str

EARLIER = "earlier run"


class EvidenceError(Exception):
    """The evidence itself is at fault: a value that is not a number, a control that did not fail, nothing to judge."""


class FailedCheck(Exception):
    """The verdict computed from the evidence is not the one that the registry expects."""


class Role(StrEnum):
    CHECK = "check"
    CONTROL = "control"
    PRINTED = "printed"
    COUNTEREXAMPLE = "counterexample"
    NUMBER = "number"

    @property
    def must_fail(self) -> bool:
        return self in (Role.CONTROL, Role.PRINTED, Role.COUNTEREXAMPLE)


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Relations that cannot hold together with the first, between the same two values.
_EXCLUDED: dict[str, set[str]] = {
    "==": {"!=", "<", ">"},
    "!=": {"=="},
    "<": {">=", ">", "=="},
    "<=": {">"},
    ">": {"<=", "<", "=="},
    ">=": {"<"},
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Item(BaseModel):
    """One comparison: ``measured relation bound``, exact unless a tolerance is given.

    ``tolerance`` is absolute; ``within`` is a number's band about the value it is set beside, see :meth:`Claim.number`.
    ``passed`` is ``None`` for a number without a band, which is shown and not judged.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    role: Role
    label: str
    measured: Number
    relation: str
    bound: Number
    tolerance: float = 0.0
    within: float | None = None
    source: str = ""
    passed: bool | None

    @property
    def counts(self) -> bool:
        """Whether a verdict rests on it: a number beside an earlier run tells of the run, not of the claim."""
        return self.passed is not None and self.source != EARLIER

    @property
    def out_of_role(self) -> bool:
        """Whether it came out otherwise than its role says."""
        return self.counts and self.passed is self.role.must_fail

    def negates(self, other: "Item") -> bool:
        """Whether this says no more than that ``other`` is not so: the same two values, in a relation it excludes."""
        excluded = _EXCLUDED[other.relation]
        return (self.measured == other.measured and self.bound == other.bound and self.relation in excluded) or (
            self.measured == other.bound and self.bound == other.measured and _TURNED[self.relation] in excluded
        )


class Settled(BaseModel):
    """A claim with its evidence and the verdict that follows from it."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    claim: str
    label: str
    verdict: Verdict
    expected: Verdict
    stand_in: str | None = None
    evidence: list[Item]


def describe(item: Item) -> str:
    """``label: measured relation bound`` in one line of text."""
    return f"{item.label}: {format_number(item.measured)} {item.relation} {format_bound(item)}"


def format_bound(item: Item) -> str:
    """The bound with its tolerance, or with the band about a number: in per cent, or as a factor from 2 on."""
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


def is_within(ours: float, beside: float, within: float) -> bool:
    """Whether the larger is at most ``1 + within`` times the smaller, up to the rounding of a decimal in print."""
    small, large = sorted((abs(ours), abs(beside)))
    return ours * beside >= 0 and large <= (1 + within) * small * (1 + 1e-12)


def plain(label: str, value: Any) -> Number:
    """A Python scalar out of a tensor, an array or a NumPy scalar."""
    if hasattr(value, "item"):
        if getattr(value, "ndim", 0) and math.prod(value.shape) != 1:
            raise EvidenceError(f"{label}: one value is compared, not {tuple(value.shape)} of them")
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise EvidenceError(f"{label}: {value!r} is not a number")
    if isinstance(value, float) and math.isnan(value):
        raise EvidenceError(f"{label}: the value is not a number (NaN), which every comparison rejects")
    return value


def refuse_weak_evidence(entry: Entry, name: str, evidence: list[Item]) -> None:
    tried = {Role.CHECK, Role.PRINTED} if entry.kind.is_measured else {Role.CHECK}
    if not any(item.role in tried for item in evidence):
        raise EvidenceError(f"{name}: no check was given")
    held = [item for item in evidence if item.role is Role.CONTROL and item.passed]
    if held:
        raise EvidenceError(f"{name}: a control did not fail: " + "; ".join(describe(item) for item in held))
    failed = [item for item in evidence if item.role.must_fail and not item.passed]
    if not failed:
        raise EvidenceError(f"{name}: nothing was seen to fail; give a control")
    checks = [item for item in evidence if item.role is Role.CHECK]
    if all(any(item.negates(check) for check in checks) for item in failed):
        denials = "; ".join(map(describe, failed))
        raise EvidenceError(f"{name}: a control must break an assumption, not deny a check: {denials}")


def verdict_of(entry: Entry, evidence: list[Item], stand_in: str | None) -> Verdict:
    passed = [item.passed for item in evidence if item.counts and not item.role.must_fail]
    misprinted = any(item.role is Role.PRINTED and not item.passed for item in evidence)
    refuted = any(item.role is Role.COUNTEREXAMPLE and not item.passed for item in evidence)
    if entry.kind.is_measured:
        if misprinted or refuted or not all(passed):
            return Verdict.PARTLY_REPRODUCED if any(passed) else Verdict.NOT_REPRODUCED
        return Verdict.STAND_IN if stand_in else Verdict.REPRODUCED
    if refuted or not all(passed):
        return Verdict.REFUTED
    if stand_in:
        return Verdict.STAND_IN
    return Verdict.HOLDS_WITH_CORRECTION if misprinted else Verdict.HOLDS

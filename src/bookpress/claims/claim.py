"""What a notebook gives evidence with: a claim of the registry, its comparisons, and the panel that closes it."""

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from bookpress.claims.evidence import (
    CLAIM_MIME,
    RELATIONS,
    REPORT_MIME,
    ROUNDING,
    Certified,
    EvidenceError,
    FailedCheck,
    Item,
    Number,
    Part,
    Reported,
    Role,
    Settled,
    describe,
    judge,
    weakness,
)
from bookpress.claims.intervals import Estimate, decide
from bookpress.claims.panel import panel_markdown, panel_text
from bookpress.claims.record import environment
from bookpress.claims.registry import Entry, Registry, Verdict
from bookpress.layout import LAPTOP, OWN_VARIABLE, PROFILE_VARIABLE

Of = Literal["statement", "proof"]


class Comparisons:
    """Comparisons in one role, each kept as evidence under its ``label``.

    Every one takes ``of="proof"`` where it is about the paper's proof or construction, and not about the statement.
    ``measured`` (and ``bound``) may be a mapping from the names of cases to values: the worst case is kept. It may be
    an :func:`~bookpress.claims.intervals.estimate`: its whole interval must satisfy the relation.

    Raises:
        EvidenceError: from each comparison, where a side is not one number, Boolean or string, or is NaN.
    """

    def __init__(self, role: Role, evidence: list[Item]) -> None:
        self.role = role
        self.evidence = evidence

    def true(self, label: str, measured: Any, *, of: Of = "statement") -> None:
        """``measured`` is ``True``."""
        self._compare(label, measured, "==", True, of)

    def equal(self, label: str, measured: Any, bound: Any, *, tolerance: float = 0.0, of: Of = "statement") -> None:
        """``measured`` equals ``bound``, exactly or up to an absolute ``tolerance``."""
        self._compare(label, measured, "==", bound, of, _margin(label, "tolerance", tolerance))

    def unequal(self, label: str, measured: Any, bound: Any, *, of: Of = "statement") -> None:
        """``measured`` differs from ``bound``."""
        self._compare(label, measured, "!=", bound, of)

    def at_most(self, label: str, measured: Any, bound: Any, *, of: Of = "statement") -> None:
        """``measured <= bound``."""
        self._compare(label, measured, "<=", bound, of)

    def at_least(self, label: str, measured: Any, bound: Any, *, of: Of = "statement") -> None:
        """``measured >= bound``."""
        self._compare(label, measured, ">=", bound, of)

    def below(self, label: str, measured: Any, bound: Any, *, of: Of = "statement") -> None:
        """``measured < bound``."""
        self._compare(label, measured, "<", bound, of)

    def above(self, label: str, measured: Any, bound: Any, *, of: Of = "statement") -> None:
        """``measured > bound``."""
        self._compare(label, measured, ">", bound, of)

    def close(
        self,
        label: str,
        ours: Any,
        reference: Any,
        rtol: float = 1e-12,
        *,
        atol: float | None = None,
        of: Of = "statement",
    ) -> None:
        """The error of ``ours`` is at most ``rtol``; the error is what the panel shows.

        Of tensors, arrays and numbers alike it is the largest ``|ours - reference|`` over all entries, divided by the
        largest ``|reference|``, so that an entry near zero needs no separate accuracy. A reference of zeros divides
        by 1. With ``atol`` the error is absolute, and at most ``atol``.

        Raises:
            EvidenceError: the reference does not broadcast to the shape of ``ours``, or that has no entry.
        """
        error = _error(label, ours, reference, relative=atol is None)
        self._compare(label, error, "<=", rtol if atol is None else atol, of)

    def _compare(self, label: str, measured: Any, relation: str, bound: Any, of: Of, tolerance: float = 0.0) -> None:
        ours: Number
        limit: Number
        if isinstance(measured, Estimate):
            ours, limit = measured.value, float(_pair(label, measured.value, bound)[1])
            passed = decide(measured.interval, relation, limit, tolerance)
            details: dict[str, Any] = {"interval": measured.interval, "draws": measured.draws}
        else:
            cases = _cases(label, measured, bound)
            # Of a control every case must fail, so the one nearest to passing is kept; of all else the worst.
            choose = min if self.role is Role.CONTROL else max
            name, ours, limit = choose(cases, key=lambda case: _strain(case[1], relation, case[2], tolerance))
            exact = RELATIONS[relation](ours, limit)
            passed = abs(float(ours) - float(limit)) <= tolerance if tolerance else bool(exact)
            details = {"cases": len(cases), "worst": name} if name else {}
        if tolerance and not math.isfinite(float(limit)):
            raise EvidenceError(f"{label}: a bound with a tolerance must be finite, got {limit!r}")
        details |= {"measured": ours, "relation": relation, "bound": limit, "tolerance": tolerance, "passed": passed}
        self.evidence.append(Item(role=self.role, of=Part(of), label=label, **details))


class Claim(Comparisons):
    """A claim of the registry, to which a notebook gives evidence.

    Its own comparisons are checks, which must pass if the claim, in its right form, is true. Those of its attributes
    must fail:

    * ``control``: the same with an assumption broken, without which the check would show nothing.
    * ``printed``: the paper's form, or the paper's figure or table, where the paper is wrong.
    * ``misprint``: the same, where the text around it shows that the right form is meant: a sign, an index, a name.
    * ``counterexample``: the statement, on an example where it and every near form are false. It refutes.

    Args:
        claim: ``paper/id`` as in the registry, e.g. ``"memorization/proposition-2"``.

    Raises:
        RegistryError: the registry has no such claim.
    """

    def __init__(self, claim: str, registry: Registry | None = None) -> None:
        super().__init__(Role.CHECK, [])
        self.name = claim
        self.entry: Entry = (registry or Registry.load()).entry(claim)
        self.control = Comparisons(Role.CONTROL, self.evidence)
        self.printed = Comparisons(Role.PRINTED, self.evidence)
        self.misprint = Comparisons(Role.MISPRINT, self.evidence)
        self.counterexample = Comparisons(Role.COUNTEREXAMPLE, self.evidence)
        self._stand_in: str | None = None

    def number(
        self, label: str, ours: Any, *, printed: Any = None, within: float | None = None, of: Of = "statement"
    ) -> None:
        """Our value, next to the paper's where one is ``printed``.

        With ``within`` it counts for the verdict: the larger of the two may be up to ``1 + within`` times the smaller,
        so 0.05 is five per cent either way, 1 a factor of two, and no band reaches zero. Without it the value is shown
        and not judged.
        """
        measured, bound = _pair(label, ours, 0 if printed is None else printed)
        passed = None
        if within is not None:
            if printed is None or not math.isfinite(float(bound)):
                raise EvidenceError(f"{label}: within needs a printed number that is finite, got {printed!r}")
            small, large = sorted((abs(float(measured)), abs(float(bound))))
            most = (1 + _margin(label, "within", within)) * small * (1 + 1e-12)  # the rounding of a decimal in print
            passed = float(measured) * float(bound) >= 0 and large <= most
        details: dict[str, Any] = {"measured": measured, "within": within, "passed": passed}
        details["bound"] = None if printed is None else bound
        self.evidence.append(Item(role=Role.NUMBER, of=Part(of), label=label, relation="==", **details))

    def certified(self, label: str, certificate: Any, *, whole: bool = False, of: Of = "statement") -> None:
        """A check for all inputs of a range, and its control.

        The check passes if the certificate is proved. The control fails, as it must, if its broken question was
        refuted and the code was wrong at the counterexample.

        Args:
            label: of the check.
            certificate: its ``to_json`` returns the fields of :class:`Certified` but ``whole``.
            whole: the certificate settles all that the claim states, and not a part or a range of it.
            of: whether it speaks of the statement or of its proof.

        Raises:
            EvidenceError: the certificate lacks a field.
        """
        try:
            certified = Certified.model_validate(json.loads(certificate.to_json()) | {"whole": whole})
        except (AttributeError, ValueError) as fault:
            raise EvidenceError(f"{label}: certificate must be one with all its fields, got {certificate!r}") from fault
        control = certified.control
        failed = control.outcome == "refuted" and control.failed
        question: dict[str, Any] = {"of": Part(of), "relation": "==", "bound": "proved"}
        check = question | {"measured": certified.outcome, "passed": certified.outcome == "proved"}
        broken = question | {"measured": control.outcome, "passed": not failed}
        self.evidence += [
            Item(role=Role.CHECK, label=label, certificate=certified, **check),
            Item(role=Role.CONTROL, label=f"{label}: {control.broken}", **broken),
        ]

    def stand_in(self, what: str) -> None:
        """Say what replaces data, weights or a model that we cannot obtain: the best verdict is then ``stand-in``."""
        self._stand_in = what

    def settle(self, strict: bool = True) -> Settled:
        """The verdict that follows from the evidence so far, undecided with a note where that is inconclusive.

        Raises:
            EvidenceError: the evidence is inconclusive, and ``strict``.
        """
        if strict and (weak := weakness(self.entry, self.evidence)):
            raise EvidenceError(f"{self.name}: {weak}")
        return judge(self.name, self.entry, self.evidence, self._stand_in)

    def verdict(self) -> None:
        """Compute the verdict, show the panel, and stop the notebook on any surprise.

        A surprise is a verdict or a mark on the proof other than the registry's, or a comparison against its role. Only
        the press's run at the book's own parameters stops, and none of a page that the registry expects 'not run'.

        Raises:
            FailedCheck: a surprise; the message lists the comparisons that decided it.
            EvidenceError: as :meth:`settle`.
        """
        from IPython.display import display

        of_the_book = os.environ.get(OWN_VARIABLE) == "" and os.environ.get(PROFILE_VARIABLE, LAPTOP) == LAPTOP
        strict = of_the_book and not (self.entry.notebook and self.entry.expected is Verdict.NOT_RUN)
        settled = self.settle(strict)
        bundle = {
            "text/markdown": panel_markdown(settled),
            "text/plain": panel_text(settled),
            CLAIM_MIME: {"settled": json.loads(settled.model_dump_json()), "environment": environment()},
        }
        display(bundle, raw=True)
        if strict:
            self._refuse_surprise(settled)

    def _refuse_surprise(self, settled: Settled) -> None:
        wrong = [item for item in settled.evidence if item.out_of_role]
        if settled.expected is Verdict.UNDECIDED:
            wrong = []
        elif settled.expected is Verdict.PARTLY_REPRODUCED:  # what an interval leaves open is a part of it
            wrong = [item for item in wrong if item.passed is not None]
        proof, expected_proof = settled.proof or "nothing", self.entry.expected_proof or "nothing"
        if not wrong and settled.verdict is settled.expected and proof == expected_proof:
            return
        message = f"{self.name}: the evidence says '{settled.verdict}', the registry expects '{settled.expected}'"
        if proof != expected_proof:
            message += f"; of the proof '{proof}', the registry '{expected_proof}'"
        lines = [f"  {item.role}: {describe(item)}" for item in wrong] or ["  every comparison came out as it must"]
        raise FailedCheck("\n".join([message, *lines]))


def report(**numbers: Any) -> None:
    """Report numbers by name, for the table and the picture of a sweep.

    A number may be a list: one value for each of several draws of one point. Tensors and arrays are taken as numbers
    and lists.

    Raises:
        ValueError: nothing is reported, a name is not of lower-case letters, digits and underscores, a list is empty,
            or a value is not a number.
    """
    from IPython.display import display

    if not numbers:
        raise ValueError("report() takes at least one number by name, report(loss=0.3)")
    values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in numbers.items()}
    for name, value in values.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"the name of a number is of lower-case letters, digits and underscores, got {name!r}")
        draws = value if isinstance(value, list | tuple) else [value]
        if not draws or not all(isinstance(draw, int | float) for draw in draws):
            raise ValueError(f"{name} must be a number or a list of numbers, got {value!r}")
    reported = Reported(numbers=values, environment=environment())
    text = "\n".join(f"{name}: {value}" for name, value in reported.numbers.items())
    display({"text/plain": text, REPORT_MIME: json.loads(reported.model_dump_json())}, raw=True)


def _error(label: str, ours: Any, reference: Any, *, relative: bool) -> float:
    """The largest difference, over the largest entry of the reference (or 1, if that is 0) where ``relative``."""
    shape, other = (tuple(getattr(side, "shape", ())) for side in (ours, reference))
    fits = len(other) <= len(shape) and all(
        size in (1, full) for size, full in zip(other[::-1], shape[::-1], strict=False)
    )
    if not fits or 0 in shape:
        raise EvidenceError(f"{label}: the reference must have or broadcast to the shape {shape}, got {other}")
    sizes = (abs(ours - reference), abs(reference))
    error, scale = (float(size.max().item() if hasattr(size, "max") else size) for size in sizes)
    return error / (scale if relative and scale else 1.0)


def _margin(label: str, name: str, value: float) -> float:
    """A tolerance or a band, refused if it is such that the comparison could not fail or not pass."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise EvidenceError(f"{label}: {name} must be a finite number, at least 0, got {value!r}")
    return float(value)


def _pair(label: str, *sides: Any) -> tuple[Number, Number]:
    """Both sides as Python scalars, taken out of tensors, arrays and NumPy scalars."""
    plain = [side.item() if math.prod(getattr(side, "shape", [0])) == 1 else side for side in sides]
    allowed = None
    if not all(isinstance(side, bool | int | float | str) for side in plain):
        allowed = "one number, Boolean or string"
    elif any(isinstance(side, float) and math.isnan(side) for side in plain):
        allowed = "a number other than NaN, which no comparison accepts"
    if allowed:
        shapes = [f" of shape {tuple(side.shape)}" if getattr(side, "ndim", 0) else "" for side in sides]
        got = [type(side).__name__ + shape if shape else repr(side) for side, shape in zip(sides, shapes, strict=True)]
        raise EvidenceError(f"{label}: each side must be {allowed}, got {' and '.join(got)}")
    return plain[0], plain[1]


def _cases(label: str, measured: Any, bound: Any) -> list[tuple[str, Number, Number]]:
    """Name, value and bound of every case; one without a name where ``measured`` is a single value."""
    if not isinstance(measured, Mapping):
        return [("", *_pair(label, measured, bound))]
    if not measured:
        raise EvidenceError(f"{label}: no case was given")
    if isinstance(bound, Mapping) and bound.keys() != measured.keys():
        raise EvidenceError(f"{label}: the bounds must have the cases of the values")
    limits = bound if isinstance(bound, Mapping) else dict.fromkeys(measured, bound)
    return [(str(case), *_pair(f"{label}, {case}", value, limits[case])) for case, value in measured.items()]


def _strain(measured: Number, relation: str, bound: Number, tolerance: float) -> tuple[bool, float]:
    """How near a case is to failing, or how far it has failed: first whether it fails, then by how much.

    Cases that equal their bounds up to rounding are alike: which of them is the worst, a processor would decide.
    """
    fails = not RELATIONS[relation](measured, bound)
    if isinstance(measured, str) or isinstance(bound, str):
        return fails, 0.0
    gap = float(measured) - float(bound) if math.isfinite(measured) and math.isfinite(bound) else math.inf
    size = abs(float(bound)) or 1.0
    if relation == "==":
        return abs(gap) > tolerance, max(abs(gap) / size, ROUNDING)
    return fails, {"<": gap, "<=": gap, ">": -gap, ">=": -gap}.get(relation, -abs(gap)) / size

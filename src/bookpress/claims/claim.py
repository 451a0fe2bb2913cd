"""What a notebook gives evidence with: a claim of the registry, its comparisons, and the panel that closes it."""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from bookpress.claims.evidence import (
    CLAIM_MIME,
    RELATIONS,
    ROUNDING,
    EvidenceError,
    FailedCheck,
    Item,
    Number,
    Part,
    Role,
    Settled,
    describe,
    is_within,
    margin,
    plain,
    proof_of,
    verdict_of,
    weakness,
)
from bookpress.claims.intervals import decide, interval_of
from bookpress.claims.panel import panel_markdown, panel_text
from bookpress.claims.provenance import environment, own_parameters
from bookpress.claims.registry import Entry, Registry, Verdict
from bookpress.claims.statement import name_of
from bookpress.layout import LAPTOP, PROFILE_VARIABLE

Of = Literal["statement", "proof"]


class Claim:
    """A claim of the registry, to which a notebook gives evidence.

    Every comparison takes ``of="proof"`` where it speaks of the proof or construction that the paper gives, and not of
    the statement. ``measured`` (and ``bound``) may be a mapping from the names of cases to values: the worst is kept.

    Args:
        claim: ``paper/id`` as in the registry, e.g. ``"memorization/proposition-2"``.

    Raises:
        RegistryError: the registry holds no such claim.
    """

    def __init__(self, claim: str, registry: Registry | None = None) -> None:
        self.name = claim
        self.entry: Entry = (registry or Registry.of_claim(claim)).entry(claim)
        self.evidence: list[Item] = []
        self._stand_in: str | None = None

    def _ipython_display_(self) -> None:
        """Show nothing where a cell happens to end with the claim: it is shown by its verdict."""

    def check(
        self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0, of: Of = "statement"
    ) -> Self:
        """A comparison that must pass if the claim, in its right form, is true."""
        return self._compare(Role.CHECK, label, measured, relation, bound, tolerance, of)

    def control(
        self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0, of: Of = "statement"
    ) -> Self:
        """The same comparison with an assumption broken. It must fail, or the check could not have told."""
        return self._compare(Role.CONTROL, label, measured, relation, bound, tolerance, of)

    def printed(
        self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0, of: Of = "statement"
    ) -> Self:
        """What the form as printed, or the figure or table in the paper, would have to satisfy. It fails here."""
        return self._compare(Role.PRINTED, label, measured, relation, bound, tolerance, of)

    def misprint(
        self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0, of: Of = "statement"
    ) -> Self:
        """As :meth:`printed`, where the text around it shows that the right form is meant: a sign, an index, a name."""
        return self._compare(Role.MISPRINT, label, measured, relation, bound, tolerance, of)

    def counterexample(
        self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0, of: Of = "statement"
    ) -> Self:
        """What the statement asserts, on an example where it and every near form are false. Its failure refutes."""
        return self._compare(Role.COUNTEREXAMPLE, label, measured, relation, bound, tolerance, of)

    def estimate(
        self,
        label: str,
        draws: Any,
        relation: str,
        bound: Any,
        *,
        role: Literal["check", "control", "printed", "misprint", "counterexample"] = "check",
        interval: tuple[float, float] | None = None,
        tolerance: float = 0.0,
        of: Of = "statement",
    ) -> Self:
        """What is random, judged over independent draws: the 99 % interval must be clear of the bound.

        Args:
            label: what is estimated.
            draws: one value a draw (of a share, one Boolean). With ``interval``, the estimate itself.
            relation: one of ``== != < <= > >=``; with ``==`` the interval must lie within ``bound ± tolerance``.
            bound: what the estimate is held against, fixed before the run.
            role: what the comparison is evidence of.
            interval: low and high, where the estimate comes from a fit that has its own.
            tolerance: for ``==`` only.
            of: ``"statement"`` or ``"proof"``.

        Raises:
            EvidenceError: too few draws, or a value that is not finite.
        """
        self._known_relation(label, relation, tolerance)
        limit = float(plain(label, bound))
        if interval is None:
            values = [_real(label, draw) for draw in _listed(draws)]
            try:
                interval = interval_of(values)
            except ValueError as error:
                raise EvidenceError(f"{label}: {error}") from error
            measured, count = math.fsum(values) / len(values), len(values)
        else:
            measured, count = float(plain(label, draws)), None
            interval = (float(plain(label, interval[0])), float(plain(label, interval[1])))
            if not (math.isfinite(interval[0]) and interval[0] <= measured <= interval[1] < math.inf):
                raise EvidenceError(f"{label}: the interval {interval} must be finite and hold the estimate {measured}")
        self.evidence.append(
            Item(
                role=Role(role),
                of=Part(of),
                label=label,
                measured=measured,
                relation=relation,
                bound=limit,
                tolerance=tolerance,
                interval=interval,
                draws=count,
                passed=decide(interval, relation, limit, tolerance),
            )
        )
        return self

    def number(
        self, label: str, ours: Any, *, printed: Any = None, within: float | None = None, of: Of = "statement"
    ) -> Self:
        """Our value, beside the paper's where one is ``printed``.

        With ``within`` it counts for the verdict: the larger of the two may be up to ``1 + within`` times the smaller,
        so 0.05 is five per cent either way, 1 a factor of two, and no band reaches zero. Without it the value is shown
        and not judged.
        """
        measured = plain(label, ours)
        beside = None if printed is None else plain(label, printed)
        passed = None
        if within is not None:
            if beside is None:
                raise EvidenceError(f"{label}: a band goes with a printed number")
            if not math.isfinite(float(beside)):
                raise EvidenceError(f"{label}: the printed number must be finite, got {beside!r}")
            passed = is_within(float(measured), float(beside), margin(label, "within", within))
        self.evidence.append(
            Item(
                role=Role.NUMBER,
                of=Part(of),
                label=label,
                measured=measured,
                relation="==",
                bound=beside,
                within=within,
                passed=passed,
            )
        )
        return self

    def stand_in(self, what: str) -> Self:
        """Say what stands in for data, weights or a model that cannot be had: the best verdict is then ``stand-in``."""
        self._stand_in = what
        return self

    def settle(self, strict: bool = True) -> Settled:
        """The verdict that follows from the evidence so far.

        Evidence that could not have told leaves the claim undecided, with a note; where ``strict``, it is refused.

        Raises:
            EvidenceError: as said, and the evidence is strict.
        """
        weak = weakness(self.entry, self.evidence)
        if weak and strict:
            raise EvidenceError(f"{self.name}: {weak}")
        return Settled(
            claim=self.name,
            label=name_of(self.entry),
            verdict=Verdict.UNDECIDED if weak else verdict_of(self.entry, self.evidence, self._stand_in),
            expected=self.entry.expected,
            proof=proof_of(self.entry, self.evidence),
            stand_in=self._stand_in,
            note=f"{weak[0].upper()}{weak[1:]}." if weak else None,
            evidence=self.evidence,
        )

    def verdict(self) -> None:
        """Compute the verdict, show the panel, and stop the notebook if anything came out otherwise than it must.

        That is another verdict or another mark on the proof than the registry's, and also a check that fails under a
        verdict which was to be bad anyway. It holds for the book's own parameters. A run at full size, or with
        parameters of the reader's own, is made to find out: what it finds is shown, and nothing is stopped. So it is of
        a claim that is 'not run' by the registry and yet has a page, which settles it where a reader has what it needs.

        Raises:
            FailedCheck: as above; the message lists the comparisons that decided it.
            EvidenceError: as :meth:`settle`.
        """
        from IPython.display import display

        own = own_parameters(self.entry.notebook)
        of_the_reader = self.entry.expected is Verdict.NOT_RUN and self.entry.notebook is not None
        strict = not of_the_reader and not own and os.environ.get(PROFILE_VARIABLE, LAPTOP) == LAPTOP
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
        expected_proof = self.entry.expected_proof
        if not wrong and settled.verdict is settled.expected and settled.proof is expected_proof:
            return
        said = f"{self.name}: the evidence says '{settled.verdict}', the registry expects '{settled.expected}'"
        if settled.proof is not expected_proof:
            said += f"; of the proof '{settled.proof or 'nothing'}', the registry '{expected_proof or 'nothing'}'"
        lines = [f"  {item.role}: {describe(item)}" for item in wrong] or ["  every comparison came out as it must"]
        raise FailedCheck("\n".join([said, *lines]))

    def _known_relation(self, label: str, relation: str, tolerance: float) -> None:
        if relation not in RELATIONS:
            raise EvidenceError(f"{label}: unknown relation {relation!r}; use one of {', '.join(RELATIONS)}")
        if margin(label, "tolerance", tolerance) and relation != "==":
            raise EvidenceError(f"{label}: a tolerance goes with '==' only; put it into the bound of '{relation}'")

    def _compare(
        self, role: Role, label: str, measured: Any, relation: str, bound: Any, tolerance: float, of: Of
    ) -> Self:
        self._known_relation(label, relation, tolerance)
        cases = _cases(label, measured, bound)
        # Of a control every case must fail, so the one nearest to passing is kept; of all else the worst.
        nearest = min if role is Role.CONTROL else max
        name, ours, limit = nearest(cases, key=lambda case: _strain(case[1], relation, case[2], tolerance))
        if tolerance and not math.isfinite(float(limit)):
            raise EvidenceError(f"{label}: a bound with a tolerance must be finite, got {limit!r}")
        passed = abs(float(ours) - float(limit)) <= tolerance if tolerance else bool(RELATIONS[relation](ours, limit))
        self.evidence.append(
            Item(
                role=role,
                of=Part(of),
                label=label,
                measured=ours,
                relation=relation,
                bound=limit,
                tolerance=tolerance,
                cases=len(cases) if name else None,
                worst=name or None,
                passed=passed,
            )
        )
        return self


def _cases(label: str, measured: Any, bound: Any) -> list[tuple[str, Number, Number]]:
    """Name, value and bound of every case; one without a name where ``measured`` is a single value."""
    if not isinstance(measured, Mapping):
        return [("", plain(label, measured), plain(label, bound))]
    if not measured:
        raise EvidenceError(f"{label}: no case was given")
    if isinstance(bound, Mapping) and bound.keys() != measured.keys():
        raise EvidenceError(f"{label}: the bounds must have the cases of the values")
    limits = bound if isinstance(bound, Mapping) else dict.fromkeys(measured, bound)
    return [(str(case), plain(label, value), plain(label, limits[case])) for case, value in measured.items()]


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


def _real(label: str, draw: Any) -> float | bool:
    value = plain(label, draw)
    if isinstance(value, str):
        raise EvidenceError(f"{label}: {value!r} is not a number")
    return value


def _listed(draws: Any) -> Sequence[Any]:
    if hasattr(draws, "tolist"):
        draws = draws.flatten().tolist()
    if not isinstance(draws, Iterable):
        raise EvidenceError("an estimate needs its draws, or an interval")
    return list(draws)

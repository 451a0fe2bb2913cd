"""What a notebook gives evidence with: a claim of the registry, its comparisons, and the panel that closes it."""

import json
import os
from typing import Any, Self

from bookpress.evidence import (
    CLAIM_MIME,
    EARLIER,
    RELATIONS,
    EvidenceError,
    FailedCheck,
    Item,
    Role,
    Settled,
    describe,
    is_within,
    plain,
    refuse_weak_evidence,
    verdict_of,
)
from bookpress.panel import panel_markdown, panel_text
from bookpress.profile import LAPTOP, PROFILE_VARIABLE
from bookpress.provenance import environment
from bookpress.registry import Entry, Registry


class Claim:
    """A claim of the registry, to which a notebook gives evidence.

    Args:
        claim: ``paper/id`` as in the registry, e.g. ``"memorization/proposition-2"``.

    Raises:
        RegistryError: the registry holds no such claim.
    """

    def __init__(self, claim: str, registry: Registry | None = None) -> None:
        self.name = claim
        self.entry: Entry = (registry or Registry.load()).entry(claim)
        self.evidence: list[Item] = []
        self._stand_in: str | None = None

    def _ipython_display_(self) -> None:
        """Show nothing where a cell happens to end with the claim: it is shown by its verdict."""

    def check(self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0) -> Self:
        """A comparison that must pass if the claim, in its right form, is true."""
        return self._compare(Role.CHECK, label, measured, relation, bound, tolerance)

    def control(self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0) -> Self:
        """The same comparison with an assumption broken. It must fail, or the check could not have told."""
        return self._compare(Role.CONTROL, label, measured, relation, bound, tolerance)

    def printed(self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0) -> Self:
        """What the form as printed, or the figure or table in print, would have to satisfy. It fails here."""
        return self._compare(Role.PRINTED, label, measured, relation, bound, tolerance)

    def counterexample(self, label: str, measured: Any, relation: str, bound: Any, tolerance: float = 0.0) -> Self:
        """What the statement asserts, on an example where it is false. Its failure refutes the statement."""
        return self._compare(Role.COUNTEREXAMPLE, label, measured, relation, bound, tolerance)

    def number(
        self,
        label: str,
        ours: Any,
        *,
        printed: Any = None,
        earlier: Any = None,
        within: float | None = None,
    ) -> Self:
        """Our value beside the paper's (``printed``) or beside an earlier run of the same check (``earlier``).

        A printed number counts for the verdict; one of an earlier run is shown beside ours, and a test compares them.
        The larger of the two may be up to ``1 + within`` times the smaller: 0.05 is five per cent either way, 1 a
        factor of two, and no band reaches zero. Without it the two are shown and not judged.
        """
        if (printed is None) == (earlier is None):
            raise EvidenceError(f"{label}: give the value to set ours beside, either printed or earlier")
        if within is not None and not within >= 0:
            raise EvidenceError(f"{label}: within must be at least 0, got {within!r}")
        beside = plain(label, printed if earlier is None else earlier)
        measured = plain(label, ours)
        passed = None if within is None else is_within(float(measured), float(beside), within)
        source = "printed" if earlier is None else EARLIER
        self.evidence.append(
            Item(
                role=Role.NUMBER,
                label=label,
                measured=measured,
                relation="==",
                bound=beside,
                within=within,
                source=source,
                passed=passed,
            )
        )
        return self

    def stand_in(self, what: str) -> Self:
        """Say what stands in for data, weights or a model that cannot be had: the best verdict is then ``stand-in``."""
        self._stand_in = what
        return self

    def settle(self) -> Settled:
        """The verdict that follows from the evidence so far.

        Raises:
            EvidenceError: there is no check, a control that did not fail, nothing that was seen to fail, or nothing but
            denials of the checks.
        """
        refuse_weak_evidence(self.entry, self.name, self.evidence)
        return Settled(
            claim=self.name,
            label=self.entry.label,
            verdict=verdict_of(self.entry, self.evidence, self._stand_in),
            expected=self.entry.expected,
            stand_in=self._stand_in,
            evidence=self.evidence,
        )

    def verdict(self) -> None:
        """Compute the verdict, show the panel, and stop the notebook if anything came out otherwise than it must.

        That is another verdict than the registry's, and also a check that fails under a verdict which was to be bad
        anyway. A run at full size is made to find out, so there a different verdict is kept and shown beside the
        expected one.

        Raises:
            FailedCheck: as above; the message lists the comparisons that decided it.
            EvidenceError: as :meth:`settle`.
        """
        from IPython.display import display

        settled = self.settle()
        bundle = {
            "text/markdown": panel_markdown(settled),
            "text/plain": panel_text(settled),
            CLAIM_MIME: {"settled": json.loads(settled.model_dump_json()), "environment": environment()},
        }
        display(bundle, raw=True)
        wrong = [item for item in settled.evidence if item.out_of_role]
        surprising = wrong or settled.verdict is not settled.expected
        if surprising and os.environ.get(PROFILE_VARIABLE, LAPTOP) == LAPTOP:
            lines = [f"  {item.role}: {describe(item)}" for item in wrong] or ["  every comparison came out as it must"]
            raise FailedCheck(
                f"{self.name}: the evidence says '{settled.verdict}', the registry expects '{settled.expected}'\n"
                + "\n".join(lines)
            )

    def _compare(self, role: Role, label: str, measured: Any, relation: str, bound: Any, tolerance: float) -> Self:
        if relation not in RELATIONS:
            raise EvidenceError(f"{label}: unknown relation {relation!r}; use one of {', '.join(RELATIONS)}")
        ours, limit = plain(label, measured), plain(label, bound)
        if tolerance and relation != "==":
            raise EvidenceError(f"{label}: a tolerance goes with '==' only; put it into the bound of '{relation}'")
        passed = abs(float(ours) - float(limit)) <= tolerance if tolerance else bool(RELATIONS[relation](ours, limit))
        self.evidence.append(
            Item(
                role=role,
                label=label,
                measured=ours,
                relation=relation,
                bound=limit,
                tolerance=tolerance,
                passed=passed,
            )
        )
        return self

"""How grave a fault in print is, and what the errata of a paper say of it."""

from types import SimpleNamespace
from typing import Any

import pytest

from bookpress.claims.evidence import Item, Part, Role, Settled
from bookpress.claims.panel import breaking
from bookpress.claims.registry import ProofMark, Verdict
from bookpress.site.errata import GRAVITY, _overview, gravity


@pytest.mark.parametrize(
    ("verdict", "proof", "name"),
    [
        (Verdict.REFUTED, ProofMark.FAILS, "False"),
        (Verdict.HOLDS_WITH_CORRECTION, ProofMark.AS_PRINTED, "False as printed"),
        (Verdict.HOLDS, ProofMark.FAILS, "The proof fails"),
        (Verdict.MISPRINTED, ProofMark.REPAIRED, "The proof is repaired"),
        (Verdict.HOLDS, ProofMark.MISPRINTED, "Misprint"),
        (Verdict.MISPRINTED, None, "Misprint"),
        (Verdict.PARTLY_REPRODUCED, None, "Beside the statement"),
    ],
)
def test_a_statement_weighs_more_than_its_proof_and_a_proof_more_than_a_sign(
    verdict: Verdict, proof: ProofMark | None, name: str
) -> None:
    assert GRAVITY[gravity(verdict, proof)][0] == name


def test_the_runs_that_break_the_print_are_told_apart_by_statement_and_proof() -> None:
    def fails(label: str, role: Role, of: Part) -> Item:
        return Item(role=role, of=of, label=label, measured=2, relation="<=", bound=1, passed=False)

    settled = Settled(
        claim="demo/lemma-1",
        label="Lemma 1",
        verdict=Verdict.HOLDS_WITH_CORRECTION,
        expected=Verdict.HOLDS_WITH_CORRECTION,
        evidence=[
            fails("a step", Role.PRINTED, Part.PROOF),
            fails("a control", Role.CONTROL, Part.STATEMENT),
            fails("the bound", Role.PRINTED, Part.STATEMENT),
        ],
    )
    assert breaking(settled, Part.STATEMENT) == ["the bound 2, which should be at most 1"]
    assert breaking(settled, Part.PROOF) == ["a step 2, which should be at most 1"]


def test_the_overview_counts_by_gravity_and_leaves_out_what_nobody_has() -> None:
    one, two = (SimpleNamespace(name=name, short_title=name.title()) for name in ("one", "two"))
    wrong: Any = {"one": [(0, None), (0, None), (4, None)], "two": [(4, None)]}
    page = _overview([one, two], wrong)  # type: ignore[list-item]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    assert rows[0] == ["", "[One](errata-one.md)", "[Two](errata-two.md)"]
    assert rows[1] == ["---", "---:", "---:"]
    assert [(row[0].split(".")[0], *row[1:]) for row in rows[2:]] == [("**False", "2", ""), ("**Misprint", "1", "1")]

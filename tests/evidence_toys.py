"""A claim of a registry of one, and the shortest evidence for it."""

import json
from dataclasses import dataclass

from bookpress.claims.claim import Claim
from bookpress.claims.registry import Entry, Kind, Paper, Registry, Verdict


def claim_of(kind: str = "lemma", expected: str = "holds") -> Claim:
    entry = Entry(
        id="x",
        label="X",
        kind=Kind(kind),
        says="s",
        holds="t",
        differs="d",
        check="c",
        notebook="demo/x",
        expected=Verdict(expected),
        why="w",
    )
    paper = Paper(name="demo", number=1, title="T", short_title="T", authors="A", cite="c", claims=[entry])
    return Claim("demo/x", Registry(papers=[paper]))


def passing(claim: Claim) -> Claim:
    claim.below("passes", 1, 2)
    return claim


def failing(claim: Claim) -> Claim:
    claim.below("fails", 3, 2)
    return claim


def controlled(claim: Claim) -> Claim:
    claim.control.below("control", 3, 2)
    return claim


@dataclass(frozen=True)
class ToyCertificate:
    """A certificate of another package than this one's own."""

    outcome: str = "proved"
    control_outcome: str = "refuted"
    failed: bool = True

    def to_json(self) -> str:
        control = {
            "broken": "x may be negative",
            "question": "(assert (< x 0))",
            "outcome": self.control_outcome,
            "counterexample": "x = -1",
            "observed": "-1",
            "failed": self.failed,
        }
        fields = {"statement": "x² ≥ x.", "covers": "x in 1..9", "question": "(check-sat)", "engine": "z3 5.4"}
        return json.dumps({**fields, "seconds": 0.04, "outcome": self.outcome, "control": control})

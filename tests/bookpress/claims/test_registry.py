"""The registry: all claims there, faults named, unknown claims refused."""

import re
from pathlib import Path

import pytest

from bookpress.claims.registry import Entry, Kind, ProofMark, Registry, RegistryError
from bookpress.layout import Layout


def test_a_claim_is_found_by_name_and_an_unknown_one_refused_with_its_neighbours() -> None:
    registry = Registry.load()
    assert registry.entry("linear-attention/theorem-2-1").label.startswith("Theorem 2.1")
    with pytest.raises(RegistryError, match=r"theorem-2-2.*nearest.*theorem-2-1"):
        registry.entry("linear-attention/theorem-2-2")
    with pytest.raises(RegistryError, match="nearest: linear-attention/theorem-2-1"):
        registry.entry("nonlinear-attention/theorem-2-1")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("kind: lema", "claim 'x', kind"),
        ("kind: lemma, colour: red", "claim 'x', colour"),
        ("kind: lemma, expected: holds", "without a notebook"),
        ("kind: lemma", "must say why"),
        ("kind: lemma, notebook: demo/x, expected: holds", "needs 'says'"),
        ("kind: lemma, notebook: demo/x, says: s, holds: t, expected: holds", "come together"),
        ("kind: lemma, notebook: demo/x, says: s, expected: misprinted", "what is wrong"),
        ("kind: lemma, notebook: demo/x, says: s, expected: refuted", "what is wrong and what is right"),
        ("kind: lemma, notebook: x, says: s, expected: holds", "claim 'x', notebook"),
        ("kind: lemma, notebook: demo/x, says: s, expected: holds, proof: repaired", "what is wrong"),
        ("kind: lemma, why: w, uses: [y]", "rests on 'y'"),
        ("kind: lemma, why: w, proof_uses: [x]", "circle: x -> x"),
        ("kind: lemma, why: w, answered: [y]", "'answered' names"),
    ],
)
def test_a_fault_is_named_by_claim_and_field(tmp_path: Path, fields: str, message: str) -> None:
    layout = Layout(tmp_path)
    layout.claims.mkdir(parents=True)
    path, claim = layout.claims / "demo.yaml", f"{{id: x, label: X, check: c, {fields}}}"
    path.write_text(f"{{name: demo, number: 1, title: T, short_title: T, authors: A, cite: c, claims: [{claim}]}}")
    with pytest.raises(RegistryError, match=message):
        Registry.load(layout)
    path.write_text("claims: [")
    with pytest.raises(RegistryError, match="not YAML"):
        Registry.load(layout)


def test_the_papers_words_are_few() -> None:
    """A formula counts as a word."""
    for paper in Registry.load().papers:
        for claim in paper.claims:
            words = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "x", claim.says or "", flags=re.DOTALL).split()
            assert len(words) <= 60, (paper.name, claim.id)


def test_a_proof_that_nothing_is_said_of_is_not_checked() -> None:
    usual = {"id": "x", "label": "X", "check": "c", "why": "w"}
    assert Entry(kind=Kind.LEMMA, **usual).expected_proof is ProofMark.NOT_CHECKED  # type: ignore[arg-type]
    assert Entry(kind=Kind.FIGURE, **usual).expected_proof is None  # type: ignore[arg-type]

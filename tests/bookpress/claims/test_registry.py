"""The registry: all claims there, faults named, unknown claims refused."""

from collections import Counter
from pathlib import Path

import pytest

from bookpress.claims.registry import Entry, Kind, ProofMark, Registry, RegistryError, Verdict, load_paper


def test_a_claim_is_found_by_name_and_an_unknown_one_refused_with_its_neighbours() -> None:
    registry = Registry.load()
    assert registry.entry("linear-attention/theorem-2-1").label.startswith("Theorem 2.1")
    with pytest.raises(RegistryError, match=r"theorem-2-2.*nearest.*theorem-2-1"):
        registry.entry("linear-attention/theorem-2-2")
    with pytest.raises(RegistryError, match="no paper 'nonlinear-attention'"):
        registry.entry("nonlinear-attention/theorem-2-1")


def test_claims_that_are_not_run_say_why() -> None:
    for paper in Registry.load().papers:
        for entry in paper.claims:
            assert entry.expected is not Verdict.NOT_RUN or entry.why


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("kind: lema", "claim 'x', kind"),
        ("kind: lemma, colour: red", "claim 'x', colour"),
        ("kind: lemma, expected: holds", "without a notebook"),
        ("kind: lemma", "must say why"),
        ("kind: lemma, notebook: demo/x, expected: holds", "needs its statement"),
        ("kind: lemma, why: w, printed: p", "come together"),
        ("kind: lemma, notebook: demo/x, statement: s, expected: refuted", "what is printed"),
        ("kind: lemma, notebook: x, statement: s, expected: holds", "claim 'x', notebook"),
        ("kind: lemma, notebook: demo/x, statement: s, expected: misprinted", "what is printed"),
        ("kind: lemma, notebook: demo/x, statement: s, expected: holds, proof: repaired", "what is printed"),
        ("kind: lemma, why: w, uses: [y]", "rests on 'y'"),
        ("kind: lemma, why: w, proof_uses: [x]", "circle: x -> x"),
        ("kind: lemma, why: w, answered: [y]", "'answered' names"),
        ("kind: lemma, why: w, why: v", "the key 'why' is given twice"),
    ],
)
def test_a_fault_is_named_by_claim_and_field(tmp_path: Path, fields: str, message: str) -> None:
    path = tmp_path / "demo.yaml"
    claim = f"{{id: x, label: X, check: c, {fields}}}"
    path.write_text(f"{{name: demo, number: 1, title: T, short_title: T, authors: A, cite: c, claims: [{claim}]}}")
    with pytest.raises(RegistryError, match=message):
        load_paper(path)


def test_a_claim_given_twice_and_a_file_that_is_not_yaml_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    claim = "{id: x, label: X, kind: lemma, check: c, why: w}"
    path.write_text(
        f"{{name: demo, number: 1, title: T, short_title: T, authors: A, cite: c, claims: [{claim}, {claim}]}}"
    )
    with pytest.raises(RegistryError, match="given twice"):
        load_paper(path)
    path.write_text("claims: [")
    with pytest.raises(RegistryError, match="not YAML"):
        load_paper(path)


def test_verdicts_expected_of_one_notebook_are_found_together() -> None:
    registry = Registry.load()
    by_notebook = Counter(entry.notebook for paper in registry.papers for entry in paper.claims if entry.notebook)
    for notebook, count in by_notebook.items():
        assert len(registry.of_notebook(notebook)) == count


def test_a_chapter_without_a_reference_is_the_books_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    text = "name: own\nnumber: 9\ntitle: t\nshort_title: s\nclaims: []\n"
    path.write_text(text)
    assert not load_paper(path).is_article
    path.write_text(text + "authors: a\ncite: c\n")
    assert load_paper(path).is_article


@pytest.mark.parametrize(
    ("expected", "proof", "owed"),
    [
        (Verdict.HOLDS, None, False),
        (Verdict.REFUTED, ProofMark.FAILS, False),
        (Verdict.HOLDS_WITH_CORRECTION, None, True),
        (Verdict.HOLDS, ProofMark.REPAIRED, True),
    ],
)
def test_a_proof_is_owed_of_what_the_page_corrects(expected: Verdict, proof: ProofMark | None, owed: bool) -> None:
    entry = Entry.model_construct(id="x", label="X", kind=Kind.LEMMA, check="c", expected=expected, proof=proof)
    assert entry.is_corrected is owed


def test_a_proof_that_nothing_is_said_of_is_not_checked() -> None:
    usual = {"id": "x", "label": "X", "check": "c", "why": "w"}
    assert Entry(kind=Kind.LEMMA, **usual).expected_proof is ProofMark.NOT_CHECKED  # type: ignore[arg-type]
    assert Entry(kind=Kind.FIGURE, **usual).expected_proof is None  # type: ignore[arg-type]
    assert Entry(kind=Kind.FIGURE, **usual).text_layer is False  # type: ignore[arg-type]

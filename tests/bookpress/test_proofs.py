"""A corrected claim of a revised chapter without its proof is found."""

from typing import Any

import pytest

from bookpress.claims.registry import Registry
from bookpress.layout import Layout
from bookpress.proofs import missing_proofs


def test_no_revised_chapter_owes_a_proof() -> None:
    assert missing_proofs(Registry.load(), Layout.here()) == []


@pytest.mark.parametrize(
    ("heading", "missing"),
    [("Proof of Lemma 4, as corrected", 0), ("Proof of Lemma 4.1", 1), ("Proof of Lemma 41", 1), ("Idea", 1)],
)
@pytest.mark.parametrize("other_number", ["", " (= App. C restatement)"])
def test_the_fold_names_the_claim(toy: Any, heading: str, missing: int, other_number: str) -> None:
    claims = toy.layout.claims / "demo.yaml"
    text = claims.read_text().replace("cite: demo", "cite: demo\nrevised: true")
    text = text.replace("label: Lemma 4,", f"label: Lemma 4{other_number},")
    assert f"Lemma 4{other_number}," in text
    claims.write_text(text.replace("expected: refuted", "expected: holds with correction"))
    fold = f"\n#\n# <details><summary>{heading}</summary>\n#\n# One is less than two.\n#\n# </details>\n"
    toy.add("other_verdict", prose=fold)
    assert len(missing_proofs(Registry.load(toy.layout), toy.layout)) == missing

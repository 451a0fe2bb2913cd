"""The proofs that the book owes: of every corrected statement and every repaired step, in a fold on its page.

<details><summary>Proof of Lemma 4.4, as corrected</summary>

...

</details>
"""

import re

import pytest

from bookpress.claims.registry import Entry, ProofMark, Registry, Verdict
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook

LAYOUT = Layout.here()
FOLD = re.compile(r"<details><summary>Proof of (.+?)</summary>\n\n.*?\S.*?\n\n</details>", re.DOTALL)
#: Claims whose corrected statement, or whose repaired step, the page must prove.
OWED = [
    pytest.param(entry, id=f"{paper.name}/{entry.id}")
    for paper in Registry.load(LAYOUT).papers
    for entry in paper.claims
    if entry.notebook
    if entry.expected is Verdict.HOLDS_WITH_CORRECTION or entry.proof is ProofMark.REPAIRED
]


def has_proof(label: str, prose: str) -> bool:
    """Whether a fold is headed ``Proof of`` and the claim's label, without the numbers that it has elsewhere."""
    named = re.compile(rf"{re.escape(label.partition(' (=')[0])}(?![\w.])")
    return any(named.match(heading) for heading in FOLD.findall(prose))


@pytest.mark.parametrize("entry", OWED)
def test_a_corrected_claim_has_its_proof(entry: Entry) -> None:
    assert entry.notebook
    cells = Notebook(entry.notebook, LAYOUT).source.cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert has_proof(entry.label, prose), f"no fold 'Proof of {entry.label}' in {entry.notebook}"

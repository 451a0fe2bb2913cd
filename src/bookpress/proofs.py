"""The proofs that the book owes: of every corrected statement and every repaired step, in a fold on its page.

A proof is a fold of a notebook's prose, which Jupyter, code hosts and the site open on a click:

    <details><summary>Proof of Lemma 4.4, as corrected</summary>

    ...

    </details>
"""

import re

from bookpress.claims.registry import Entry, Registry
from bookpress.layout import Layout
from bookpress.notebooks.source import read_source

_FOLD = re.compile(r"<details><summary>Proof of (.+?)</summary>\n\n.*?\S.*?\n\n</details>", re.DOTALL)


def missing_proofs(registry: Registry, layout: Layout) -> list[str]:
    """Claims of revised chapters that need a proof which their page does not have, in words."""
    return [
        f"{paper.name}/{entry.id}: '{entry.expected}', proof '{entry.proof or 'not checked'}', and no fold "
        f"'Proof of {entry.label}' in {entry.notebook}"
        for paper in registry.papers
        if paper.revised
        for entry in paper.claims
        if entry.notebook and entry.is_corrected and not has_proof(entry, layout)
    ]


def has_proof(entry: Entry, layout: Layout) -> bool:
    """Whether a fold of the claim's page is headed ``Proof of`` and the claim's label, without its other numbers."""
    if entry.notebook is None:
        return False
    cells = read_source(layout.source(entry.notebook)).cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    named = re.compile(rf"{re.escape(entry.label.partition(' (=')[0])}(?![\w.])")
    return any(named.match(heading) for heading in _FOLD.findall(prose))

"""Written pages take verdicts and counts from the records: none is typed."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGES = [
    *(BOOK / name for name in ("index.md", "notation.md", "references.md")),
    *sorted((BOOK / "papers").glob("*.md")),
]

_NUMBER = r"(?:\d+|[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Ss]ix|[Ss]even|[Ee]ight|[Nn]ine|[Tt]en|[Ss]everal)"
_KIND = "(?:Theorem|Lemma|Corollary|Proposition|Assumption|Definition|Remark|Algorithm|Example|Figure|Table)"
_NAMED = rf"{_KIND}s? [A-Z]?\.?\d[\d.]*"
_FOUND = "(?:true|false|refuted|misprinted|reproduced|undecided)"
_TYPED = {
    "a count": re.compile(rf"\b{_NUMBER} (?:of the )?(?:claims|statements|refuted|are refuted|hold as|verdicts)"),
    "a verdict": re.compile(rf"{_NAMED}(?:,? (?:and|to) [\w.]+)? (?:is|are|was|were) (?:not )?{_FOUND}"),
    "a verdict in its own words": re.compile(rf"[Tt]he (?:statement|theorem|lemma|claim) is {_FOUND}"),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_verdict_or_count_is_typed(page: Path) -> None:
    text = " ".join(re.sub(r"\{[\w-]+\}`[^`]*`", "", page.read_text()).split())
    typed = [f"{what}: {found.group()}" for what, pattern in _TYPED.items() for found in pattern.finditer(text)]
    assert typed == []

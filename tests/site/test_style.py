"""Verdicts in the style sheet: every one has a mark."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from bookpress.claims.panel import verdict_class
from bookpress.claims.registry import Verdict

CSS = (Path(__file__).resolve().parents[2] / "book" / "static" / "book.css").read_text()
#: Beside those of the registry, the marks of a proof.
CLASSES = [
    *(verdict_class(one) for one in Verdict),
    *(f"proof-{mark}" for mark in ("as-printed", "misprinted", "repaired", "not-checked")),
]


def mark(name: str) -> str:
    """The custom property ``mark`` of a class."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", CSS, flags=re.DOTALL))
    bodies = [body for selector, body in rules if re.search(rf"\.{name}(?![\w-])", selector)]
    return re.findall(r"--mark: ([^;]+);", "".join(bodies))[0]


@pytest.mark.parametrize("name", CLASSES)
def test_every_verdict_and_proof_has_a_mark(name: str) -> None:
    """That its words stand out from their ground, every page is tried for in test_every_page."""
    assert mark(name)


def test_marks_tell_opposites_apart() -> None:
    """Without colour too: what holds, what is mended, what fails, what is not known."""
    kinds = ["verdict-holds", "verdict-misprinted", "verdict-holds-with-correction", "verdict-refuted"]
    kinds += ["verdict-undecided-here", "verdict-stand-in", "verdict-not-run", "verdict-partly-reproduced"]
    marks = [mark(name) for name in kinds]
    assert all(one != other for one, other in combinations(marks, 2))

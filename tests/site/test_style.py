"""Verdicts in the style sheet: every one has words' contrast and a mark, in both modes."""

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
#: The grounds of the theme, on which an open badge stands.
GROUND = {"light": "#ffffff", "dark": "#121212"}


def properties(name: str, mode: str) -> dict[str, str]:
    """The custom properties that a class has in a mode; dark mode begins with those of light."""
    found: dict[str, str] = {}
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", CSS, flags=re.DOTALL)):
        is_dark = 'data-theme="dark"' in selector
        if re.search(rf"\.{name}(?![\w-])", selector) and (mode == "dark" or not is_dark):
            found |= dict(re.findall(r"--(\w+): ([^;]+);", body))
    return found


def luminance(colour: str) -> float:
    """WCAG's relative luminance of #rrggbb."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", CLASSES)
def test_words_stand_out_from_their_ground(name: str, mode: str) -> None:
    style = properties(name, mode)
    bright, dim = sorted((luminance(style["ink"]), luminance(style.get("ground", GROUND[mode]))), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5
    assert style["mark"]


def test_marks_tell_opposites_apart() -> None:
    """Without colour too: what holds, what is mended, what fails, what is not known."""
    kinds = ["verdict-holds", "verdict-misprinted", "verdict-holds-with-correction", "verdict-refuted"]
    kinds += ["verdict-undecided-here", "verdict-stand-in", "verdict-not-run", "verdict-partly-reproduced"]
    marks = [properties(name, "light")["mark"] for name in kinds]
    assert all(one != other for one, other in combinations(marks, 2))

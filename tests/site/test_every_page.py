"""Every page, opened once and looked at in the light and in the dark, on a desk and on a phone."""

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from bookpress.claims.registry import Registry

#: What a loaded page must not show, each as a script that lists the offenders.
_OFFENDERS = {
    "formula in error": "[...document.querySelectorAll('mjx-merror, .math-error')].map(e => e.textContent)",
    "formula not set": (
        "[...document.querySelectorAll('span.math, div.math')]"
        ".filter(e => !e.querySelector('mjx-container')).map(e => e.textContent)"
    ),
    "formula cut off": (
        "[...document.querySelectorAll('mjx-container:not([display])')].filter(e => e.clientWidth"
        " && e.querySelector('mjx-math').getBoundingClientRect().width > e.clientWidth + 2).map(e => e.textContent)"
    ),
    "picture not loaded": "[...document.images].filter(e => !e.complete || !e.naturalWidth).map(e => e.src)",
    "no alt text": "[...document.images].filter(e => !e.alt).map(e => e.src)",
    "warning of a cell": "[...document.querySelectorAll('.output.stderr')].map(e => e.textContent)",
    "object for an output": (
        "[...document.querySelectorAll('.cell_output')].map(e => e.textContent).filter(t => / at 0x[0-9a-f]+>/.test(t))"
    ),
}

#: What WCAG asks at levels A and AA.
_WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}

#: What of it depends on colours, and is audited on a wide screen in the light and in the dark.
_COLOURS = ["color-contrast", "link-in-text-block"]

#: The same on every page, of the colour of the text around it, or a row like those above it: audited on a few pages.
_COMMON = "pre, mjx-container, .bd-sidebar-primary, tr:nth-child(n+4)"

#: Whether scripts have made what scrolls on a screen of this width reachable by the keyboard, a while after a resize.
_SETTLED = "[...document.querySelectorAll('pre')].every(e => e.scrollWidth <= e.clientWidth || e.tabIndex === 0)"

#: The notebooks of each paper, and all other pages: parts that run side by side.
PARTS = [*(paper.name for paper in Registry.load().papers), "rest"]


def _part(path: str) -> str:
    folder, _, name = path.partition("/")
    return name.partition("/")[0] if folder == "notebooks" else "rest"


def _audited_whole(pages: list[str]) -> set[str]:
    """The front page and one notebook of each paper."""
    by_paper = {path.split("/")[1]: path for path in reversed(pages) if path.startswith("notebooks/")}
    return {"index.html", *by_paper.values()}


def _violations(page: Any, *, colours: bool) -> list[str]:
    """Describe what axe finds, of colours or of all but colours."""
    options: dict[str, Any] = {"runOnly": {"type": "rule", "values": _COLOURS} if colours else _WCAG}
    options |= {"resultTypes": ["violations"], "elementRef": False}
    if not colours:
        options["rules"] = {name: {"enabled": False} for name in _COLOURS}
    violations = Axe().run(page, options=options).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in violations for node in rule["nodes"][:3]]


def _faults(visit: Any, path: str, whole: bool) -> list[str]:
    """Everything wrong with one page: as it loads, then on a phone, then its colours on a wide screen."""
    page = visit.page
    page.set_viewport_size({"width": 1440, "height": 900})
    visit.open(path)
    scripts = ", ".join(f"{json.dumps(name)}: {script}" for name, script in _OFFENDERS.items())
    faults = [f"{name}: {text}" for name, texts in page.evaluate(f"({{{scripts}}})").items() for text in texts]
    faults += [*visit.faults, *visit.strangers]
    page.set_viewport_size({"width": 390, "height": 900})
    excess = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    faults += [f"{excess} px too wide for 390"] if excess > 0 else []
    if whole:
        page.wait_for_function(_SETTLED)
    else:
        page.evaluate("common => document.querySelectorAll(common).forEach(e => e.remove())", _COMMON)
    faults += [f"390: {text}" for text in _violations(page, colours=False)]
    page.set_viewport_size({"width": 1440, "height": 900})
    faults += _violations(page, colours=False) if whole else []
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        faults += [f"{theme}: {text}" for text in _violations(page, colours=True)]
    return faults


def test_every_page_belongs_to_a_part(site: Any) -> None:
    assert {_part(path) for path in site.pages} == set(PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_page_is_whole_and_accessible_on_every_screen(light: Any, part: str) -> None:
    """It loads alone, with its formulas and pictures, says nothing on the console and scrolls sideways nowhere."""
    wrong = {}
    whole = _audited_whole(light.site.pages)
    for path in (path for path in light.site.pages if _part(path) == part):
        if faults := _faults(light, path, path in whole):
            wrong[path] = faults
        light.faults.clear()
        light.strangers.clear()
    assert wrong == {}

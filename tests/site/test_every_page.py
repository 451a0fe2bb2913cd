"""Every page, opened once and looked at in the light and in the dark, on a desk and on a phone."""

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

#: What of it can be otherwise in the dark; half of the work.
_COLOURS = ["color-contrast", "link-in-text-block"]

#: The notebooks of each paper, and all other pages: parts that run side by side.
PARTS = [*(paper.name for paper in Registry.load().papers), "rest"]


def _part(path: str) -> str:
    folder, _, name = path.partition("/")
    return name.partition("/")[0] if folder == "notebooks" else "rest"


def _audited_whole(pages: list[str]) -> set[str]:
    """The front page and one notebook of each paper."""
    by_paper = {path.split("/")[1]: path for path in reversed(pages) if path.startswith("notebooks/")}
    return {"index.html", *by_paper.values()}


def _violations(page: Any, whole: bool, colours: bool | None = None) -> list[str]:
    """What axe finds, of colours only or of all but colours, or of both.

    Code cells, whose colours are the same everywhere and slow to audit, are left out on all pages but a few.
    """
    options: dict[str, Any] = {"runOnly": _WCAG, "resultTypes": ["violations"]}
    if colours:
        options["runOnly"] = {"type": "rule", "values": _COLOURS}
    elif colours is False:
        options["rules"] = {name: {"enabled": False} for name in _COLOURS}
    found = Axe().run(page, context=None if whole else {"exclude": [["pre"]]}, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"][:3]]


def test_every_page_belongs_to_a_part(site: Any) -> None:
    assert {_part(path) for path in site.pages} == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_page_is_whole_and_accessible_on_every_screen(light: Any, part: str) -> None:
    """It loads alone, with its formulas and pictures, says nothing on the console and scrolls sideways nowhere.

    A notebook's colours on a phone are those of the wide screen; they are audited there on one of each paper.
    """
    page, wrong = light.page, {}
    audited_whole = _audited_whole(light.site.pages)
    for path in (path for path in light.site.pages if _part(path) == part):
        whole = path in audited_whole
        colours_on_a_phone = whole or _part(path) == "rest"
        page.set_viewport_size({"width": 1440, "height": 900})
        light.open(path)
        faults = [f"{fault}: {one}" for fault, script in _OFFENDERS.items() for one in page.evaluate(script)]
        faults += [*light.faults, *light.strangers]
        faults += _violations(page, whole)
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        faults += [f"dark: {one}" for one in _violations(page, whole, colours=True)]
        page.set_viewport_size({"width": 390, "height": 900})
        if colours_on_a_phone:
            faults += [f"dark, 390: {one}" for one in _violations(page, whole, colours=True)]
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        faults += [f"390: {one}" for one in _violations(page, whole, None if colours_on_a_phone else False)]
        excess = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        wrong[path] = [*faults, *([f"{excess} px too wide for 390"] if excess > 0 else [])]
        light.faults.clear()
        light.strangers.clear()
    assert {path: faults for path, faults in wrong.items() if faults} == {}

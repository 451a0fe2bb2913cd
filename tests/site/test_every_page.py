"""Every page, opened once and looked at in the light and in the dark, on a desk, on a phone and on paper."""

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from bookpress.claims.registry import Registry

pytestmark = pytest.mark.slow

#: What a loaded page must not show on any screen, each as a script that lists the offenders.
_ON_EVERY_SCREEN = {
    "line that begins with the comma behind a formula": """[...document.querySelectorAll('.bd-article span.math')]
        .filter(e => {
            if (!e.checkVisibility() || e.nextSibling?.nodeType !== 3) return false;
            if (!/^[,.;:)]/.test(e.nextSibling.data)) return false;
            const sign = document.createRange();
            sign.setStart(e.nextSibling, 0);
            sign.setEnd(e.nextSibling, 1);
            return sign.getBoundingClientRect().left < e.getBoundingClientRect().left;
        }).map(e => e.parentElement.textContent.slice(0, 80))""",
    "the page scrolls sideways": "[document.scrollingElement.scrollWidth - innerWidth].filter(px => px > 0)",
    "claims' boxes of different widths": """[...document.querySelectorAll(':is(section, .claim-and-note) > .claim')]
        .map(e => e.getBoundingClientRect().width).filter((width, _, all) => Math.abs(width - all[0]) > 1)""",
    "gap behind a note": """[...document.querySelectorAll('.claim-and-note')].filter(e => e.nextElementSibling)
        .map(e => e.nextElementSibling.getBoundingClientRect().top - Math.max(...[...e.children]
            .filter(one => getComputedStyle(one).float === 'none').map(one => one.getBoundingClientRect().bottom)))
        .filter(gap => gap < 0 || gap > 60)""",
}

#: What it must not show on a desk.
_ON_A_DESK = {
    "formula in error": "[...document.querySelectorAll('mjx-merror, .math-error')].map(e => e.textContent)",
    "formula not set": """[...document.querySelectorAll('span.math, div.math')]
        .filter(e => !e.querySelector('mjx-container')).map(e => e.textContent)""",
    "formula cut off, or on a bar that scrolls": """[...document.querySelectorAll(
        '.bd-article mjx-container:not([display])')]
        .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 2).map(e => e.textContent)""",
    "picture not loaded": "[...document.images].filter(e => !e.complete || !e.naturalWidth).map(e => e.src)",
    "no alt text": "[...document.images].filter(e => !e.alt).map(e => e.src)",
    "warning of a cell": "[...document.querySelectorAll('.output.stderr')].map(e => e.textContent)",
    "object for an output": """[...document.querySelectorAll('.cell_output')].map(e => e.textContent)
        .filter(t => / at 0x[0-9a-f]+>/.test(t))""",
    "name wider than its node": """[...document.querySelectorAll('.claim-map .node')].filter(node => {
        const box = node.querySelector('rect').getBBox();
        return [...node.querySelectorAll('text')].map(text => text.getBBox()).some(line => line.x < box.x + 1
            || line.x + line.width > box.x + box.width - 1 || line.y < box.y
            || line.y + line.height > box.y + box.height);
    }).map(node => node.textContent)""",
    "badge beyond its cell": """[...document.querySelectorAll('td :is(.verdict, .proof-mark)')].filter(e =>
        e.getBoundingClientRect().right > e.closest('td').getBoundingClientRect().right).map(e => e.textContent)""",
    "note not in the margin": """[...document.querySelectorAll('.claim-and-note')].filter(e => {
        const [box, note] = ['.claim', '.claim-note'].map(one => e.querySelector(one)?.getBoundingClientRect());
        return note && (note.left < box.right || note.right > innerWidth);
    }).map(e => e.textContent.slice(0, 80))""",
    "notes on each other": """[...document.querySelectorAll('.claim-note')].map(e => e.getBoundingClientRect())
        .filter((note, number, all) => number && all[number - 1].bottom > note.top).map(note => note.top)""",
}

#: What it must not show on a phone. Text in a figure is drawn at 10 points, 13.3 pixels; 9 can be read.
_ON_A_PHONE = {
    "figure too small to read": """[...document.querySelectorAll(':is(.figure-frame, .sd-col) img')]
        .filter(e => !(e.clientWidth / parseFloat(e.style.getPropertyValue('--drawn')) * 13.3 >= 9)).map(e => e.src)""",
    "map too small to read": "[...document.querySelectorAll('.claim-map')].filter(e => e.clientWidth).map(e => e.id)",
    "note over its box": """[...document.querySelectorAll('.claim-and-note')].filter(e => {
        const [box, note] = ['.claim', '.claim-note'].map(one => e.querySelector(one)?.getBoundingClientRect());
        return note && note.top < box.bottom;
    }).map(e => e.textContent.slice(0, 80))""",
}

#: What is lost on paper, where long lines wrap and folds are open.
_ON_PAPER = {
    "code cut off": """[...document.querySelectorAll('.bd-article pre')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 80))""",
    "code folded away": """[...document.querySelectorAll('.bd-article pre')]
        .filter(e => !e.getClientRects().length).map(e => e.textContent.slice(0, 80))""",
}

#: What WCAG asks at levels A and AA.
_WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}

#: What of it depends on colours, and is audited on a wide screen in the light and in the dark.
_COLOURS = ["color-contrast", "link-in-text-block"]

#: The same on every page, of the colour of the text around it, or a row like those above it: audited on a few pages.
_COMMON = "pre, mjx-container, .bd-sidebar-primary, tr:nth-child(n+4)"

#: Whether scripts have made what scrolls on a screen of this width reachable by the keyboard, a while after a resize.
_SETTLED = "[...document.querySelectorAll('pre')].every(e => e.scrollWidth <= e.clientWidth || e.tabIndex === 0)"

#: The pages that are audited whole, and the parts that run side by side: the notebooks of each paper, and the rest.
WHOLE = ["index.html", "notebooks/linear-attention/lemma_4_4_robustness.html"]
PARTS = [*(paper.name for paper in Registry.load().papers), "rest"]


def _part(path: str) -> str:
    folder, _, name = path.partition("/")
    return name.partition("/")[0] if folder == "notebooks" else "rest"


def _violations(page: Any, *, colours: bool) -> list[str]:
    """Describe what axe finds, of colours or of all but colours."""
    options: dict[str, Any] = {"runOnly": {"type": "rule", "values": _COLOURS} if colours else _WCAG}
    options |= {"resultTypes": ["violations"], "elementRef": False}
    if not colours:
        options["rules"] = {name: {"enabled": False} for name in _COLOURS}
    violations = Axe().run(page, options=options).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in violations for node in rule["nodes"][:3]]


def _offenders(page: Any, scripts: dict[str, str]) -> list[str]:
    together = ", ".join(f"{json.dumps(name)}: {script}" for name, script in scripts.items())
    return [f"{name}: {one}" for name, found in page.evaluate(f"({{{together}}})").items() for one in found]


def _resize(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})


def _faults(visit: Any, path: str) -> list[str]:
    """Everything wrong with one page: as it loads, on paper, then on a phone, then its colours on a wide screen."""
    page, whole = visit.page, path in WHOLE
    _resize(page, 1440)
    visit.open(path)
    faults = _offenders(page, _ON_EVERY_SCREEN | _ON_A_DESK)
    faults += [*visit.faults, *visit.strangers]
    _resize(page, 390)
    faults += [f"390: {text}" for text in _offenders(page, _ON_EVERY_SCREEN | _ON_A_PHONE)]
    if whole:
        page.wait_for_function(_SETTLED)
    else:
        page.evaluate("common => document.querySelectorAll(common).forEach(e => e.remove())", _COMMON)
    faults += [f"390: {text}" for text in _violations(page, colours=False)]
    _resize(page, 1440)
    faults += _violations(page, colours=False) if whole else []
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        faults += [f"{theme}: {text}" for text in _violations(page, colours=True)]
    return faults


@pytest.mark.parametrize("part", PARTS)
def test_a_page_is_whole_and_accessible_on_every_screen(light: Any, part: str) -> None:
    """It loads alone, with its formulas and pictures, says nothing on the console and scrolls sideways nowhere."""
    wrong = {}
    paths = [path for path in light.site.pages if _part(path) == part]
    assert paths
    for path in paths:
        if faults := _faults(light, path):
            wrong[path] = faults
        light.faults.clear()
        light.strangers.clear()
    assert wrong == {}


@pytest.mark.parametrize("path", WHOLE)
def test_a_page_opened_as_a_file_has_no_errors_and_loses_no_code_on_paper(light: Any, path: str) -> None:
    page = light.page
    page.goto((light.site.folder / path).as_uri(), wait_until="load")
    page.wait_for_function("[...document.fonts].some(e => e.family.includes('Awesome') && e.status === 'loaded')")
    page.emulate_media(media="print")
    _resize(page, 690)  # A4 between its margins
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert _offenders(page, _ON_PAPER) == []
    assert light.faults == []

"""The built site, served on this machine and read in a real browser that reaches no other host."""

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bookpress.layout import Layout
from bookpress.site.instruments import data_file, instrument_pages, instruments_of

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@dataclass
class Site:
    """Where the site lies and is served, and its pages by their paths below it."""

    folder: Path
    address: str
    pages: list[str]


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: `make book` first")
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own = {"genindex.html", "search.html", "prf-prf.html"}
    pages = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    shown = [page for page in pages if page not in own and not page.startswith("_static/")]
    yield Site(SITE, f"http://127.0.0.1:{server.server_port}", shown)
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: `apt-get install chromium`")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=flags)
        yield opened
        opened.close()


#: Pictures below the fold wait until a reader comes near.
_LOAD_ALL_PICTURES = """() => Promise.all([...document.images].map(
    (picture) => { picture.loading = "eager"; return picture.decode().catch(() => null); }))"""

#: The theme fades colours in while the style sheet loads; what is audited is the colours that it ends with.
_STAND_STILL = "*, ::before, ::after { transition: none !important; animation: none !important; }"


@dataclass
class Visit:
    """One tab, with everything that went wrong in it."""

    page: Page
    site: Site
    faults: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def note(self, address: str) -> None:
        """Keep the address of a request to another host."""
        if not address.startswith((self.site.address, "data:", "blob:", "file:")):
            self.strangers.append(address)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.site.address}/{path}", wait_until="load")
        self.page.evaluate(_LOAD_ALL_PICTURES)
        self.page.add_style_tag(content=_STAND_STILL)


class Contexts:
    """One context per colour scheme and width, so that what every page loads is loaded once."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self._browser = browser
        self._site = site
        self._contexts: dict[tuple[str, int], BrowserContext] = {}

    def visit(self, scheme: str, width: int = 1300) -> Iterator[Visit]:
        """Open a tab, which finds nothing that an earlier one has stored."""
        if (scheme, width) not in self._contexts:
            self._contexts[scheme, width] = self._browser.new_context(
                color_scheme=scheme,  # type: ignore[arg-type]
                viewport={"width": width, "height": 900},
                has_touch=width < 600,
            )
        page = self._contexts[scheme, width].new_page()
        visit = Visit(page, self._site)
        page.on("request", lambda request: visit.note(request.url))
        page.on("console", lambda said: visit.faults.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: visit.faults.append(str(error)))
        yield visit
        if page.url.startswith(self._site.address):
            page.evaluate("localStorage.clear()")
        page.close()


@pytest.fixture(scope="session")
def contexts(browser: Browser, site: Site) -> Contexts:
    return Contexts(browser, site)


@pytest.fixture
def light(contexts: Contexts) -> Iterator[Visit]:
    yield from contexts.visit("light")


@pytest.fixture
def phone(contexts: Contexts) -> Iterator[Visit]:
    yield from contexts.visit("light", width=390)


@pytest.fixture(params=[("light", 390), ("dark", 390), ("light", 1440), ("dark", 1440)], ids=str)
def screen(contexts: Contexts, request: pytest.FixtureRequest) -> Iterator[Visit]:
    yield from contexts.visit(*request.param)


_BARE = """<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>bare</title>
<link rel="stylesheet" href="_static/instruments/instruments.css">
<script defer src="_static/instruments/instruments.js"></script></head>
<body><div class="instrument" data-instrument="{name}" data-weights="some"><p>What is shown without scripts.</p></div>
</body></html>
"""


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bare page for each instrument, which is given what the last `book bind` wrote."""
    layout = Layout.here()
    folder = tmp_path_factory.mktemp("instruments")
    shutil.copytree(layout.book / "static" / "instruments", folder / "_static" / "instruments")
    for page in instrument_pages(layout):
        for name in instruments_of(page.read_text(encoding="utf-8")):
            given = data_file(layout, name)
            if not given.is_file():
                pytest.skip("the book is not bound: `make book` first")
            shutil.copy(given, folder / "_static" / "instruments")
            (folder / f"{name}.html").write_text(_BARE.format(name=name))
    return folder


@dataclass
class BarePage:
    """A tab with a bare page, and the addresses that it has asked for."""

    page: Page
    asked: list[str]


@pytest.fixture
def opened(browser: Browser, bare: Path) -> Iterator[Callable[..., BarePage]]:
    """Opens an instrument's bare page as a file; in the end nothing may have gone wrong in it."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def new(name: str, load: bool = True, **options: Any) -> BarePage:
        contexts.append(browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options)))
        visit = BarePage(contexts[-1].new_page(), [])
        visit.page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        visit.page.on("pageerror", lambda error: faults.append(str(error)))
        visit.page.on("request", lambda request: visit.asked.append(request.url))
        visit.page.goto((bare / f"{name}.html").as_uri(), wait_until="load")
        if load:
            visit.page.locator(".instrument-start").click()
            visit.page.locator(".instrument[data-ready]").wait_for()
        return visit

    yield new
    for context in contexts:
        context.close()
    assert faults == []

"""From an executed notebook to pages: what the reader sees is the registry's words and the run's values."""

import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from sphinx.application import Sphinx

from bookpress.claims.panel import markdown_table
from bookpress.claims.record import Record, RecordError
from bookpress.claims.registry import Verdict
from bookpress.layout import Layout
from bookpress.notebooks.run import run
from bookpress.site.bind import bind_book
from bookpress.site.book import FINDINGS, Finding, Findings
from bookpress.site.markdown import figure_block, without_html
from bookpress.site.page import StalePage

Edit = Callable[[Path, str, str], None]


@pytest.fixture
def bound(toy_with_a_run: Any) -> Any:
    bind_book(toy_with_a_run.layout, "laptop")
    return toy_with_a_run


def page_text(toy: Any) -> str:
    page = nbformat.read(toy.layout.page("demo/good"), as_version=4)
    return "\n\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")


def test_the_page_carries_badge_statement_figure_table_and_panel(bound: Any) -> None:
    text = page_text(bound)
    assert "{verdict}`Lemma 1: holds <demo/lemma-1>`" in text
    assert "::::::{claim} demo/lemma-1\n::::::" in text
    assert "<!-- claim" not in text
    assert "{figure} /figures/demo/good-line.svg" in text
    assert ':alt: "a rising line"' in text
    assert "| 1 | 0.5 |" in text
    assert "| Control | four is less | 4 | not < | 3 | fails, as it must |" in text
    assert bound.layout.figure("demo/good-line").read_text().startswith("<?xml")


def test_a_change_of_prose_reaches_the_page_without_a_run(bound: Any, edit: Edit) -> None:
    record = bound.layout.record("demo/good", "laptop").read_bytes()
    edit(bound.layout.source("demo/good"), "Words.", "Better words.")
    bind_book(bound.layout, "laptop")
    assert "Better words." in page_text(bound)
    assert bound.layout.record("demo/good", "laptop").read_bytes() == record


def test_a_page_of_older_code_is_refused(bound: Any, edit: Edit) -> None:
    edit(bound.layout.source("demo/good"), "n = 3", "n = 4")
    with pytest.raises(StalePage, match="run it again"):
        bind_book(bound.layout, "laptop")


def test_the_scoreboard_has_the_full_size_verdict_or_says_that_there_is_none(bound: Any) -> None:
    layout = bound.layout
    layout.profiles.mkdir()
    (layout.profiles / "full.yaml").write_text("demo/good: {parameters: {n: 4}, cost: A day.}\n")
    bind_book(layout, "laptop")
    row = r"\| {verdict}`holds` \| {proof}`not checked` \| one is less: 0.3333 \| below 3 \|  \| {verdict}`%s` \|"
    assert re.search(row % "not run", (layout.generated / "scoreboard.md").read_text())
    assert "Run here: n = 3; full size: n = 4. Full-size run: not run. A day." in page_text(bound)
    Record.read(layout.record("demo/good", "laptop")).write(layout.full_size_record("demo/good"))
    bind_book(layout, "laptop")
    assert re.search(row % "holds", (layout.generated / "scoreboard.md").read_text())
    assert "Full-size run: recorded" in page_text(bound)


def test_a_page_that_settles_what_it_does_not_state_is_refused(bound: Any, edit: Edit) -> None:
    edit(bound.layout.source("demo/good"), "# <!-- claim demo/lemma-1 -->\n# <!-- /claim -->", "#")
    with pytest.raises(StalePage, match="demo/lemma-1 is settled and not stated"):
        bind_book(bound.layout, "laptop")


def test_scoreboard_and_errata_lead_to_the_claim(bound: Any, edit: Edit) -> None:
    assert "{claim:ref}`Lemma 1 <demo/lemma-1>`" in (bound.layout.generated / "scoreboard.md").read_text()
    edit(bound.layout.claims / "demo.yaml", 'says: "$1 < n$",', "says: s, holds: p, differs: q,")
    bind_book(bound.layout, "laptop")
    errata = (bound.layout.generated / "errata-demo.md").read_text()
    assert "{verdict}`holds <demo/lemma-1>`" in errata
    assert "{claim:ref}`The run, with a proof where there is one <demo/lemma-1>`" in errata
    assert "| [Demonstration](errata-demo.md) |" in (bound.layout.generated / "errata.md").read_text()
    contents = yaml.safe_load((bound.layout.book / "_toc.yml").read_text())
    assert {"file": "generated/errata", "sections": [{"file": "generated/errata-demo"}]} in contents["parts"][0][
        "chapters"
    ]


def test_figures_and_panels_say_where_they_come_from(bound: Any) -> None:
    text = page_text(bound)
    assert text.count("{dropdown} Made with default parameters · CPU") == 2
    assert "`notebooks/demo/good.py`" in text
    assert "- Parameters of the run: `n = 3`" in text
    assert "{download}`good.json </generated/records/demo/good.json>`" in text
    copied = bound.layout.book / "generated" / "records" / "demo" / "good.json"
    assert copied.read_bytes() == bound.layout.record("demo/good", "laptop").read_bytes()


def test_a_record_that_settles_other_claims_than_the_registry_says_is_not_bound(bound: Any, edit: Edit) -> None:
    edit(bound.layout.claims / "demo.yaml", "notebook: demo/good", "notebook: demo/other")
    with pytest.raises(RecordError, match="demo/good: it settles demo/lemma-1, which the registry does not give to it"):
        bind_book(bound.layout, "laptop")


def test_what_is_shown_behind_a_cell_leaves_it_and_all_else_stays(toy: Any) -> None:
    notebook = toy.add("good", imports="from IPython.display import display\n\nprint('told')\ndisplay(7)")
    run(notebook, layout=toy.layout)
    bind_book(toy.layout, "laptop")
    page = nbformat.read(toy.layout.page(notebook), as_version=4)
    kept = [output for cell in page.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.get("text") or output["data"]["text/plain"] for output in kept] == ["told\n", "7"]
    assert page_text(toy).count("figure-demo-good-line") == 1


HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The pages of a small site in which every text of the registry and of a figure is HTML, and has a formula."""
    root = tmp_path_factory.mktemp("hostile")
    layout, words = Layout(root), f"{HOSTILE} $a<b$ and $$\n<c$$ **so**"
    text = f"{HOSTILE}\n{HOSTILE}\n$a<b$ and\n<b>so</b>"
    texts = dict.fromkeys(("says", "holds", "differs"), text)
    names = {"label": f"Lemma 1 {HOSTILE}", "title": f"{HOSTILE} $a<b$", "where": HOSTILE}
    entry = {"id": "lemma-1", "kind": "lemma", "check": "c", "notebook": "demo/good", "expected": "holds"}
    paper = {"name": "demo", "number": 1, "title": words, "short_title": HOSTILE, "authors": HOSTILE, "cite": "d"}
    layout.claims.mkdir(parents=True)
    (layout.claims / "demo.yaml").write_text(yaml.safe_dump({**paper, "claims": [entry | names | texts]}))
    details: dict[str, Any] = {"name": "line", "caption": text, "alt": HOSTILE, "photo": False}
    pages = ["::::::{claim} demo/lemma-1\n::::::", without_html(figure_block("line", details))]
    pages += [markdown_table([HOSTILE], [[HOSTILE]]), f"{{verdict}}`Lemma 1 {HOSTILE}: holds <demo/lemma-1>`"]
    (layout.book / "index.md").write_text("\n\n".join(["# Front", *pages]))
    (layout.book / "figures").mkdir()
    (layout.book / "figures" / "line.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    layout.generated.mkdir()
    found = {"demo/lemma-1": Finding(HOSTILE, Verdict.HOLDS, "demo/good")}
    (layout.book / FINDINGS).write_text(Findings(found).dumps())
    settings = yaml.safe_load((Path(__file__).parents[3] / "_config.yml").read_text())
    syntax = {name: value for name, value in settings["sphinx"]["config"].items() if name.startswith("myst_")}
    extensions = ["myst_parser", "bookpress.site.claim_domain"]
    enabled = {"extensions": extensions, "myst_enable_extensions": settings["parse"]["myst_enable_extensions"]}
    places = (layout.book, None, root / "html", root / "trees", "html")
    app = Sphinx(*places, confoverrides=syntax | enabled, status=None, warning=io.StringIO())
    app.build()
    return (root / "html" / "index.html").read_text()


class Elements(HTMLParser):
    """The names of elements and of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}


def test_no_text_of_the_registry_or_of_a_figure_is_live(hostile_site: str) -> None:
    article = hostile_site[hostile_site.index('<div class="body"') : hostile_site.index('<div class="sphinxsidebar"')]
    assert article.count("&lt;script&gt;") > 8
    assert not Elements(article).names & {"script", "onerror", "b"}

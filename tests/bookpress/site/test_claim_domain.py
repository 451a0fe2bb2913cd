"""Claims on the site: a small site with two claims is built, and what its boxes, badges and links say is read."""

import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sphinx.application import Sphinx

from bookpress.claims.registry import Verdict
from bookpress.site.book import FINDINGS, Finding, Findings
from bookpress.site.claim_domain import _SHOWN

CLAIMS = """\
name: demo
number: 1
title: A demonstration
short_title: Demonstration
authors: Nobody
cite: demo
claims:
  - {id: base, label: Lemma 1 (= Lemma 5), title: The base, where: Section 2, kind: lemma, says: Stated so.,
     holds: True so., differs: Changed so., check: c, notebook: demo/one, expected: holds with correction}
  - {id: top, label: Theorem 2, kind: theorem, says: It follows., check: c, notebook: demo/two,
     expected: holds, uses: [base], proof_uses: [aside, base]}
  - {id: aside, label: Lemma 3, kind: lemma, check: c, why: It is long.}
  - {id: alone, label: Remark 4, kind: remark, holds: Alone., check: c, notebook: demo/two, expected: holds}
"""
EXTRA = "  - {{id: more-{0}, label: Corollary {0}, kind: corollary, check: c, why: It is long., uses: [base]}}\n"

FOUND = {
    "demo/base": Finding("Lemma 1", Verdict.HOLDS_WITH_CORRECTION, "demo/one"),
    "demo/top": Finding("Theorem 2", Verdict.HOLDS, "demo/two"),
    "demo/aside": Finding("Lemma 3", Verdict.NOT_RUN, None),
    "demo/alone": Finding("Remark 4", Verdict.HOLDS, "demo/two"),
}

PAGES = {
    "index": """\
# Front

{claim:ref}`demo/base` and {claim:ref}`in words <demo/top>` and {claim:ref}`demo/none`.

{verdict}`refuted` {verdict}`Lemma 1: holds <demo/base>` {verdict}`wrong` {proof}`repaired` {proof}`proved here`
{proof}`bad`

```{toctree}
one
sub/two
```
""",
    "one": """\
# One

```{claim} demo/base
```
""",
    "sub/two": """\
# Two

```{claim} demo/top
```

```{claim} demo/alone
```
""",
}


class Site(NamedTuple):
    app: Any
    said: str

    def page(self, name: str) -> str:
        return Path(self.app.outdir, f"{name}.html").read_text()


def write(root: Path, more: int = 0, **pages: str) -> None:
    texts = {f"book/{name}.md": text for name, text in (PAGES | pages).items()}
    texts["book/claims/demo.yaml"] = CLAIMS + "".join(EXTRA.format(10 + place) for place in range(more))
    extra = {
        f"demo/more-{10 + place}": Finding(f"Corollary {10 + place}", Verdict.NOT_RUN, None) for place in range(more)
    }
    texts[f"book/{FINDINGS.as_posix()}"] = Findings(FOUND | extra).dumps()
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build(root: Path) -> Site:
    heard, out = io.StringIO(), root / "out"
    config = {"extensions": ["myst_parser", "bookpress.site.claim_domain"], "html_theme": "basic"}
    config |= {"exclude_patterns": ["claims"], "myst_enable_extensions": ["attrs_block", "colon_fence"]}
    app = Sphinx(root / "book", None, out, out / "trees", "html", config, status=None, warning=heard)
    app.build()
    return Site(app, re.sub(r"\x1b\[[\d;]*m", "", heard.getvalue()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    root = tmp_path_factory.mktemp("book")
    write(root)
    return build(root)


def test_a_box_has_heading_place_and_what_the_paper_states_before_what_is_true(site: Site) -> None:
    text = site.page("one")
    assert re.search(r'<div class="[^"]*claim claim-lemma[^"]*" id="claim-demo-base">', text)
    parts = ["Lemma 1 (The base)", "Section 2; also Lemma 5", "The paper states", "Stated so.", "What is true"]
    parts += ["True so.", "What changed", "Changed so."]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert '<p class="claim-place">Section 2; also Lemma 5</p>' in text


def test_a_part_without_a_heading_and_a_box_without_a_place_have_none(site: Site) -> None:
    text = site.page("sub/two")
    assert "claim-place" not in text
    assert re.search(r'class="claim-stated[^"]*">\s*<p>Alone.', text)


def test_a_note_beside_the_box_holds_what_is_within_and_what_is_bound_up(site: Site) -> None:
    one, two = site.page("one"), site.page("sub/two")
    assert one.count("claim-note sidenote") == 1
    assert one.index("claim-note") < one.index("What rests on it")
    assert "Rests on" not in one
    assert 'href="sub/two.html#claim-demo-top"' in one
    assert two.count("claim-note sidenote") == 1  # what stands alone has none
    assert two.index(">Rests on<") < two.index(">Its proof rests on<")
    assert two.count('href="../one.html#claim-demo-base"') == 1
    assert '<span class="verdict verdict-holds-with-correction">' in two
    assert '<span class="visually-hidden">: holds with correction</span>' in two
    assert "#claim-demo-aside" not in two  # no page settles it


def test_links_say_the_heading_or_words_of_their_own(site: Site) -> None:
    text = site.page("index")
    assert re.search(r'href="one.html#claim-demo-base" title="Lemma 1 \(The base\)"><span>Lemma 1 \(The base\)<', text)
    assert re.search(r'href="sub/two.html#claim-demo-top" title="Theorem 2">(<span[^>]*>)?in words<', text)
    assert "demo/none" in site.said
    assert "no claim" not in text


def test_badges_have_the_colour_of_their_verdict(site: Site) -> None:
    text = site.page("index")
    assert '<span class="verdict verdict-refuted">refuted</span>' in text
    assert re.search(
        r'href="one.html#claim-demo-base"[^>]*><span class="verdict verdict-holds">Lemma 1: holds</span>', text
    )
    assert '<span class="proof-mark proof-repaired">repaired</span>' in text
    assert '<span class="proof-mark proof-proved-here">proved here</span>' in text
    known = "holds, misprinted, holds with correction, refuted, reproduced, partly reproduced, not reproduced"
    assert f"index.md:5: ERROR: verdict: must be one of {known}, undecided here, stand-in, not run; got 'wrong'" in (
        site.said
    )
    marks = "as printed, proved here, misprinted, repaired, fails, not checked"
    assert f"ERROR: proof: must be one of {marks}; got 'bad'" in site.said
    assert text.count('class="problematic"') == 2


def test_the_index_and_the_search_know_every_claim(site: Site) -> None:
    index = site.page("genindex")
    for number in (1, 5):
        paper = rf'Lemma {number}\s*<ul>\s*<li><a href="one.html#claim-demo-base">(<strong>)?Demonstration'
        assert re.search(paper, re.sub("</?d[ltd]>", "", index))
    domain = site.app.env.get_domain("claim")
    assert sorted(domain.get_objects()) == [
        ("demo/alone", "Remark 4 · Demonstration", "claim", "sub/two", "claim-demo-alone", 1),
        ("demo/base", "Lemma 1 (The base) · Demonstration", "claim", "one", "claim-demo-base", 1),
        ("demo/top", "Theorem 2 · Demonstration", "claim", "sub/two", "claim-demo-top", 1),
    ]


def test_a_page_is_built_again_when_its_claims_or_what_was_found_change(site: Site) -> None:
    needed = {Path(one).name for one in site.app.env.dependencies["one"]}
    assert {"demo.yaml", FINDINGS.name} <= needed


@pytest.mark.parametrize("more", [_SHOWN - 1, _SHOWN])
def test_badges_beyond_nine_are_folded(more: int, tmp_path: Path) -> None:
    """One claim rests on the lemma anyway, and the box has a badge."""
    assert _SHOWN == 9
    write(tmp_path, more)
    text = build(tmp_path).page("one")
    assert len(re.findall(r'class="verdict verdict-', text)) == more + 2  # with the box's
    assert ("<details><summary>and 1 more</summary>" in text) is (more == _SHOWN)
    assert text.count("<details>") == text.count("</details>") == (more == _SHOWN)


def test_a_claim_that_no_file_holds_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, one="# One\n\n```{claim} demo/none\n```\n")
    said = build(tmp_path).said
    assert "one.md:3: ERROR: unknown claim 'demo/none'" in said
    assert "Theorem 2" not in said

"""How the book is cited: CITATION.cff, the bibliography, the registry and the package agree."""

import re
import tomllib
from pathlib import Path

import yaml

from bookpress.claims.registry import Registry
from bookpress.layout import Layout

ROOT = Path(__file__).resolve().parents[1]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
ENTRIES = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", (ROOT / "book" / "references.bib").read_text(), re.M | re.S))


def field(key: str | None, name: str) -> str | None:
    found = re.search(rf"^  {name} = \{{(.*?)\}},?$", ENTRIES[key or ""], re.MULTILINE)
    return found[1] if found else None


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert str(CITATION["version"]) == project["version"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", CITATION["date-released"])
    assert field("attentiontheoryexecuted", "title") == CITATION["title"]


def test_every_paper_is_cited_alike_everywhere() -> None:
    papers = Registry.load(Layout.here()).articles
    assert [one["title"] for one in CITATION["references"]] == [paper.title for paper in papers]
    for paper, cited in zip(papers, CITATION["references"], strict=True):
        assert field(paper.cite, "title") == paper.title
        assert field(paper.cite, "year") == str(cited["year"])
        assert cited["identifiers"] == [{"type": "other", "value": f"arXiv:{field(paper.cite, 'eprint')}"}]
        assert (field(paper.cite, "url") or cited["url"]) == cited["url"]


def test_every_chapter_leads_to_its_paper() -> None:
    for paper in Registry.load(Layout.here()).articles:
        chapter = (ROOT / "book" / "papers" / f"{paper.name}.md").read_text()
        assert f"https://arxiv.org/abs/{field(paper.cite, 'eprint')}" in chapter

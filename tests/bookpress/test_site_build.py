"""The site is made of its sources alone: two clean folders give the same files."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bookpress.notebooks.pair import write_pairs
from bookpress.notebooks.run import run
from bookpress.site.bind import bind_book

ROOT = Path(__file__).resolve().parents[2]


def build(root: Path) -> dict[str, bytes]:
    """Build the book in ``root``; every file of the site by its path."""
    command = ["jupyter-book", "build", "book", "--config", "_config.yml", "--path-output", ".", "-W", "-n"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    site = root / "_build" / "html"
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file() and path.name != ".buildinfo"
    }


def set_up(toy: Any) -> None:
    """A toy book with all pages that the contents name."""
    run(toy.add("good"), layout=toy.layout)
    write_pairs(toy.layout)
    bind_book(toy.layout, "laptop")
    book = toy.layout.book
    shutil.copy(ROOT / "_config.yml", toy.layout.root)
    shutil.copytree(ROOT / "book" / "static", book / "static")
    (book / "references.bib").write_text("@misc{demo, title={Demo}, author={Nobody}, year={2020}}\n")
    (book / "papers").mkdir()
    for page in ("notation", "rerun", "contributing", "papers/demo"):
        (book / f"{page}.md").write_text(f"# {page}\n\nWords and $x^2$.\n")
    (book / "references.md").write_text(
        "# References\n\n```{bibliography}\n:all:\n```\n\n(cite-this)=\n## Cite this\n\nSo.\n"
    )
    (book / "index.md").write_text(
        "# index\n\n{count}`claims` claims, {count}`demo/holds` of them: {tally}`all`, {verdict-of}`demo/lemma-1`.\n"
    )


@pytest.mark.slow
def test_two_builds_from_clean_folders_are_identical(toy: Any, tmp_path_factory: Any) -> None:
    set_up(toy)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book-of-another-name"
    shutil.copytree(toy.layout.root, elsewhere)
    first, second = build(toy.layout.root), build(elsewhere)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert "_static/mathjax/tex-mml-chtml.js" in first
    page = first["notebooks/demo/good.html"].decode()
    badge = '<a class="reference internal" href="#claim-demo-lemma-1"'
    assert badge in page
    assert '<span class="verdict verdict-holds">Lemma 1: holds</span></a>' in page
    assert '<td class="text-right"><p>0.5</p></td>' in page
    assert '<p class="run-line">Ran in' in page
    box = page[page.index('id="claim-demo-lemma-1"') :]
    assert box.index("Lemma 1 (One is less)") < box.index('class="claim-stated')
    assert first["_sources/notebooks/demo/good.ipynb"] == (toy.layout.sources / "demo" / "good.ipynb").read_bytes()
    record = next(text for name, text in first.items() if name.endswith("/good.json"))
    assert record == toy.layout.record("demo/good", "laptop").read_bytes()
    assert 'href="../notebooks/demo/good.html#claim-demo-lemma-1"' in first["generated/scoreboard.html"].decode()
    found = first["searchindex.js"].decode()
    assert '"lemma 1": [[' in found.replace('lemma 1":[[', 'lemma 1": [[')
    assert "One is less" in found
    assert "github" not in page
    assert "canonical" not in page


@pytest.mark.slow
def test_sentences_take_verdicts_and_counts_from_the_records(toy: Any) -> None:
    set_up(toy)
    config = toy.layout.root / "_config.yml"
    address = 'url: "https://github.com/us/book"'
    config.write_text(
        config.read_text().replace('url: ""', address, 1).replace('baseurl: ""', "baseurl: https://us.org/")
    )
    pages = build(toy.layout.root)
    front, notebook = pages["index.html"].decode(), pages["notebooks/demo/good.html"].decode()
    words = re.sub(r"<[^>]*>", "", front)
    assert "8 claims, 1 of them: 1 holds, 7 not run, Lemma 1: holds." in words
    assert 'href="notebooks/demo/good.html#claim-demo-lemma-1"' in front
    assert '<link rel="canonical" href="https://us.org/notebooks/demo/good.html" />' in notebook
    assert 'property="og:image" content="https://us.org/_static/card.png"' in notebook
    assert 'href="https://github.com/us/book/edit/main/notebooks/demo/good.py"' in notebook
    assert "https://github.com/us/book/issues/new" in notebook
    assert "Source and issues" in front
    assert "/edit/" not in pages["generated/errata.html"].decode()

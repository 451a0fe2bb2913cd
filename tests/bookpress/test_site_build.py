"""The site is made of its sources alone: two clean folders give the same files."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bookpress.pages import bind_book
from bookpress.runner import run

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


def test_two_builds_from_clean_folders_are_identical(toy: Any, tmp_path_factory: Any) -> None:
    set_up(toy)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book-of-another-name"
    shutil.copytree(toy.layout.root, elsewhere)
    first, second = build(toy.layout.root), build(elsewhere)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert "_static/mathjax/tex-mml-chtml.js" in first
    assert b"github" not in first["notebooks/demo/good.html"]
    assert b"canonical" not in first["notebooks/demo/good.html"]
    badge = b'<span class="verdict verdict-holds">Lemma 1: holds</span>'
    assert badge in first["notebooks/demo/good.html"]
    assert b'<td class="text-right"><p>0.5</p></td>' in first["notebooks/demo/good.html"]
    assert b'<p class="run-line">Ran in' in first["notebooks/demo/good.html"]


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
    assert "5 claims, 1 of them: 1 holds, 4 not run, Lemma 1: holds." in words
    assert 'href="notebooks/demo/good.html#claim-demo-lemma-1"' in front
    assert '<link rel="canonical" href="https://us.org/notebooks/demo/good.html" />' in notebook
    assert 'property="og:image" content="https://us.org/_static/card.png"' in notebook
    assert 'href="https://github.com/us/book/edit/main/notebooks/demo/good.py"' in notebook
    assert "https://github.com/us/book/issues/new" in notebook
    assert "Source and issues" in front
    assert "/edit/" not in pages["generated/errata.html"].decode()

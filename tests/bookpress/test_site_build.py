"""The site of a toy book, built as the real one is: what its pages have, and the same files in every folder."""

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


Site = dict[str, bytes]


def build(root: Path) -> Site:
    """Build the book in ``root``; every file of the site by its path."""
    command = ["jupyter-book", "build", "book", "--config", "_config.yml", "--path-output", ".", "-W", "-n"]
    environment = os.environ | {"BOOKPRESS_ROOT": str(root)}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)
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
    book = toy.layout.book
    shutil.copy(ROOT / "_config.yml", toy.layout.root)
    shutil.copytree(ROOT / "book" / "static", book / "static")
    (book / "references.bib").write_text("@misc{demo, title={Demo}, author={Nobody}, year={2020}}\n")
    (book / "papers").mkdir()
    for page in ("notation", "rerun", "deciding", "contributing", "papers/demo"):
        (book / f"{page}.md").write_text(f"# {page}\n\nWords and $x^2$.\n")
    (book / "references.md").write_text(
        "# References\n\n```{bibliography}\n:all:\n```\n\n(cite-this)=\n## Cite this\n\nSo.\n"
    )
    (book / "index.md").write_text(
        "# index\n\n{count}`claims` claims, {count}`demo/holds` of them: {tally}`all`, {verdict-of}`demo/lemma-1`.\n"
    )
    bind_book(toy.layout, "laptop")  # last: the contents name what is there


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test keeps the toy book, run and bound, for those after it."""
    return tmp_path_factory.mktemp("sources") / "book"


@pytest.fixture(scope="module")
def kept() -> Site:
    """The site of the toy book, empty until the first test has built it."""
    return {}


@pytest.fixture
def site(toy: Any, sources: Path, kept: Site) -> Site:
    if not kept:
        set_up(toy)
        shutil.copytree(toy.layout.root, sources)
        kept |= build(toy.layout.root)
    return kept


@pytest.mark.slow
def test_a_build_in_another_clean_folder_gives_the_same_files(site: Site, sources: Path, tmp_path: Path) -> None:
    again = build(shutil.copytree(sources, tmp_path / "book-of-another-name"))
    assert site.keys() == again.keys()
    assert [name for name in site if site[name] != again[name]] == []


@pytest.mark.slow
def test_sentences_take_verdicts_and_counts_from_the_records(site: Site) -> None:
    page, front = site["notebooks/demo/good.html"].decode(), site["index.html"].decode()
    assert "<title>Good · Demonstration &#8212;" in page
    assert 'property="og:title" content="Good · Demonstration"' in page
    assert "8 claims, 1 of them: 1 holds, 7 not run, Lemma 1: holds." in re.sub(r"<[^>]*>", "", front)
    assert 'href="notebooks/demo/good.html#claim-demo-lemma-1"' in front
    page = site["notebooks/demo/good.html"].decode()
    assert '<p class="run-line">1 min to read. Ran in' in page
    assert not re.search(r'(src|href)="https?://[^"]*\.(js|css)', page)
    assert 'href="../notebooks/demo/good.html#claim-demo-lemma-1"' in site["generated/scoreboard.html"].decode()


@pytest.mark.slow
def test_a_page_gives_the_addresses_of_the_configuration_and_no_others(
    site: Site, sources: Path, tmp_path: Path
) -> None:
    page = "notebooks/demo/good.html"
    for word in ("github", "canonical"):
        assert word not in site[page].decode()
    root = shutil.copytree(sources, tmp_path / "book-with-addresses")
    config = root / "_config.yml"
    config.write_text(config.read_text().replace('baseurl: ""', "baseurl: https://us.org/"))
    there = build(root)[page].decode()
    assert '<link rel="canonical" href="https://us.org/notebooks/demo/good.html" />' in there
    assert 'property="og:image" content="https://us.org/_images/social_previews/' in there

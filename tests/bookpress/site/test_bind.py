"""The pages that nobody writes, made from the records of a toy book."""

import errno
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bookpress.files import matches_manifest
from bookpress.graph.build import BuildError
from bookpress.layout import Layout
from bookpress.notebooks.profile import ProfileError
from bookpress.site.bind import bind_book

OWN = """\
name: own
number: 2
title: Our own
short_title: Own
claims:
  - {id: bridge-1, label: Bridge 1, kind: theorem, check: c, why: It is long.}
"""


def test_the_gallery_shows_every_figure_under_its_paper_and_no_paper_without(run_toy: Layout) -> None:
    (run_toy.claims / "own.yaml").write_text(OWN)
    bind_book(run_toy, "laptop")
    text = (run_toy.generated / "gallery.md").read_text()
    assert [line for line in text.split("\n") if line.startswith("## ")] == ["## Demonstration"]
    assert text.count("{image}") == 1
    for part in ("/figures/demo/good-line.svg", ":target: ../notebooks/demo/good.html", "A line, $y = x$."):
        assert part in text


def test_the_contents_list_what_there_is_in_the_registrys_order(run_toy: Layout) -> None:
    (run_toy.claims / "own.yaml").write_text(OWN)
    for name in ("glossary", "contributing", "instruments/dial"):
        path = run_toy.book / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("words")
    bind_book(run_toy, "laptop")
    toc = yaml.safe_load((run_toy.book / "_toc.yml").read_text())
    assert (toc["format"], toc["root"]) == ("jb-book", "index")
    found = [{"file": f"generated/{name}"} for name in ("scoreboard", "errata", "certificates", "gallery", "full-size")]
    page = {"file": "notebooks/demo/good", "title": "Good"}
    assert {part["caption"]: part["chapters"] for part in toc["parts"]} == {
        "What we found": found,
        "The papers": [{"file": "papers/demo", "sections": [page]}],
        "Across the papers": [{"file": "papers/own"}],
        "Instruments": [{"file": "instruments/dial"}],
        "Use it": [{"file": "generated/package"}, {"file": "contributing"}],
        "Look it up": [{"file": "glossary"}],
    }


@pytest.fixture
def run_toy(toy_with_a_run: Any) -> Layout:
    layout: Layout = toy_with_a_run.layout
    return layout


def pages_of(layout: Layout) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in layout.book.rglob("*") if path.is_file()}


def test_old_pages_go_when_a_book_is_bound(run_toy: Layout) -> None:
    bind_book(run_toy, "laptop")
    for folder in ("notebooks", "figures", "generated"):
        (run_toy.book / folder / "old.md").write_text("old")
    said = bind_book(run_toy, "laptop")
    assert list(run_toy.book.rglob("old.md")) == []
    made = [path.stem for path in run_toy.generated.glob("*.md")]
    assert {"summary", "scoreboard", "errata", "gallery", "full-size", "pages-demo", "map-demo"} <= {*made}
    assert said == f"1 notebooks and {len(made)} pages bound"
    assert run_toy.page("demo/good").is_file()
    assert run_toy.figure("demo/good-line").is_file()
    assert (run_toy.book / "_toc.yml").is_file()
    assert is_whole(run_toy)


def test_a_page_that_is_the_same_is_not_written_again(run_toy: Layout) -> None:
    bind_book(run_toy, "laptop")
    before = run_toy.page("demo/good").stat().st_mtime_ns
    bind_book(run_toy, "laptop")
    assert run_toy.page("demo/good").stat().st_mtime_ns == before


@pytest.mark.parametrize("profile", ["nope", "../x", "full"])
def test_a_profile_without_runs_is_refused_and_the_pages_stay(run_toy: Layout, profile: str) -> None:
    run_toy.profiles.mkdir()
    (run_toy.profiles / "full.yaml").write_text("")
    bind_book(run_toy, "laptop")
    before = pages_of(run_toy)
    with pytest.raises((ProfileError, BuildError), match=re.escape(profile)):
        bind_book(run_toy, profile)
    assert pages_of(run_toy) == before
    assert is_whole(run_toy)


def test_pages_stay_where_a_disk_is_full(run_toy: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    bind_book(run_toy, "laptop")
    before = pages_of(run_toy)
    registry = run_toy.claims / "demo.yaml"
    registry.write_text(registry.read_text().replace("One is less", "One is the least"))
    before[str(registry)] = registry.read_bytes()
    write, room = Path.write_bytes, 3000

    def write_while_there_is_room(path: Path, content: bytes) -> int:
        nonlocal room
        room -= len(content)
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_while_there_is_room)
    with pytest.raises(OSError, match="No space left"):
        bind_book(run_toy, "laptop")
    assert pages_of(run_toy) == before
    assert is_whole(run_toy)


def is_whole(layout: Layout) -> bool:
    return matches_manifest(layout.bound, layout.book)

"""The pages that nobody writes, made from a book that is given by hand."""

import errno
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from bookpress.claims.record import Figure
from bookpress.claims.registry import Entry, Kind, Paper, ProofMark, Registry, Verdict
from bookpress.files import matches_manifest
from bookpress.graph.build import BuildError
from bookpress.layout import Layout
from bookpress.notebooks.profile import ProfileError
from bookpress.site import bind as pages
from bookpress.site.bind import (
    bind_book,
    contents,
    gallery_page,
)


def entry(name: str, notebook: str, **changes: Any) -> Entry:
    values: dict[str, Any] = {"statement": "s", "check": "c", "expected": Verdict.HOLDS, "notebook": notebook}
    return Entry(id=name, label=f"Lemma {name[-1]}", kind=Kind.LEMMA, **values | changes)


PAPERS = [
    Paper(
        name="first",
        number=1,
        title="The first paper",
        short_title="First",
        authors="A",
        cite="a",
        claims=[
            entry("lemma-1", "first/one"),
            entry("lemma-2", "first/two", uses=("lemma-1",)),
            entry("lemma-3", "first/not_run", uses=("lemma-2",)),
        ],
    ),
    Paper(name="own", number=2, title="Our own", short_title="Own", claims=[entry("lemma-9", "own/three")]),
]
FIGURE = Figure(name="line", caption="A line.", alt="it\n rises", photo=False, data=[])


class Book:
    """What the pages ask of a book."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        picture = self.layout.figure("first/two-line")
        picture.parent.mkdir(parents=True)
        picture.write_text('<svg width="300pt" height="150pt">')
        self.registry = Registry(papers=PAPERS)
        self.full_size = {"first/one": "not run. A day."}
        self.records: Any = {
            name: SimpleNamespace(title=title, claims=claims, figures=figures, seconds=seconds, environment={})
            for name, title, claims, figures, seconds in (
                ("first/one", "Page one", [self.settled("first/lemma-1")], [], 1.26),
                ("first/two", "Page two", [self.settled("first/lemma-2")], [FIGURE], 40.0),
                ("own/three", "Page three", [], [], 2.0),
            )
        }

    @staticmethod
    def settled(claim: str) -> Any:
        return SimpleNamespace(claim=claim, label="Lemma", verdict=Verdict.HOLDS)

    def notebooks_of(self, paper: Paper) -> list[str]:
        return [name for name in self.records if name.startswith(f"{paper.name}/")]

    def verdict(self, paper: Paper, entry: Entry) -> Verdict:
        return Verdict.REFUTED if entry.id == "lemma-2" else Verdict.HOLDS

    def proof(self, paper: Paper, entry: Entry) -> ProofMark | None:
        return ProofMark.REPAIRED if entry.id == "lemma-1" else None

    def full_size_run(self, name: str) -> str:
        return self.full_size.get(name, "")


@pytest.fixture
def book(tmp_path: Path) -> Any:
    return Book(tmp_path)


def test_the_gallery_shows_every_figure_under_its_paper_and_no_paper_without(book: Any) -> None:
    text = gallery_page(book)
    assert [line for line in text.split("\n") if line.startswith("## ")] == ["## First"]
    assert text.count("{image}") == 1
    for part in ("/figures/first/two-line.svg", ":target: ../notebooks/first/two.html", ":width: 400", "A line."):
        assert part in text


def toc(book: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(pages, "Notebook", lambda name, _: SimpleNamespace(title=book.records[name].title))
    monkeypatch.setattr(pages, "instrument_pages", lambda _: book.instruments)
    return yaml.safe_load(contents(book))


def test_the_contents_are_in_the_registrys_order(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    book.instruments = [Path("book/instruments/dial.md")]
    for name in ("glossary", "contributing", "generated/errata-first", "generated/package-own"):
        path = book.layout.book / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("words")
    found = toc(book, monkeypatch)
    assert (found["format"], found["root"]) == ("jb-book", "index")
    assert [part["caption"] for part in found["parts"]] == [
        "What we found",
        "The papers",
        "Across the papers",
        "Instruments",
        "Use it",
        "Look it up",
    ]
    found_first, papers, own, instruments, use, look_up = (part["chapters"] for part in found["parts"])
    assert found_first == [
        {"file": "generated/scoreboard"},
        {"file": "generated/errata", "sections": [{"file": "generated/errata-first"}]},
        {"file": "generated/certificates"},
        {"file": "generated/gallery"},
        {"file": "generated/full-size"},
    ]
    sections = [
        {"file": "notebooks/first/one", "title": "Page one"},
        {"file": "notebooks/first/two", "title": "Page two"},
    ]
    assert papers == [{"file": "papers/first", "sections": sections}]
    assert own == [{"file": "papers/own", "sections": [{"file": "notebooks/own/three", "title": "Page three"}]}]
    assert instruments == [{"file": "instruments/dial"}]
    package = {"file": "generated/package", "sections": [{"file": "generated/package-own"}]}
    assert use == [package, {"file": "contributing"}]
    assert look_up == [{"file": "glossary"}]


def test_what_a_book_does_not_have_is_no_part_of_its_contents(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    book.registry = Registry(papers=PAPERS[:1])
    book.records, book.instruments = {}, []
    found = toc(book, monkeypatch)
    assert [part["caption"] for part in found["parts"]] == ["What we found", "The papers", "Use it"]
    assert found["parts"][1]["chapters"] == [{"file": "papers/first"}]
    assert found["parts"][0]["chapters"][1] == {"file": "generated/errata"}


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


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def fill_with_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [cut_short, fill_with_zeros, Path.unlink])
def test_a_damaged_page_is_noticed(run_toy: Layout, damage: Callable[[Path], None]) -> None:
    bind_book(run_toy, "laptop")
    assert is_whole(run_toy)
    damage(run_toy.generated / "scoreboard.md")
    assert not is_whole(run_toy)


def test_a_book_that_was_never_bound_is_not_whole(tmp_path: Path) -> None:
    assert not is_whole(Layout(tmp_path))


def is_whole(layout: Layout) -> bool:
    return matches_manifest(layout.bound, layout.book)

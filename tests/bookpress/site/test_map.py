"""The map of a chapter: what is drawn, where, and what a reader without a wide screen gets."""

import itertools
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
from typing import Any

import pytest

from bookpress.claims.registry import Entry, Kind, Paper, ProofMark, Registry, Verdict
from bookpress.site.claim_domain import related_claims
from bookpress.site.map import citations, draw, map_page, node_label, node_labels, node_lines

EVERY = Registry.load().papers


def entry(name: str, **more: object) -> Entry:
    return Entry(
        id=name,
        label=str(more.pop("label", name.replace("-", " ").title())),
        kind=Kind.LEMMA,
        says=f"{name} says $x < 1$.",
        check="c",
        notebook="demo/good",
        expected=Verdict.HOLDS,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def paper() -> Paper:
    claims = [
        entry("lemma-1"),
        entry("lemma-2", uses=("lemma-1",)),
        entry("lemma-3", uses=("lemma-1", "lemma-2")),
        entry("lemma-4", proof_uses=("lemma-1", "lemma-3")),
        entry("lemma-5"),
        entry("lemma-6", uses=("lemma-5",)),
        entry("lemma-7"),
    ]
    return Paper(name="demo", number=1, title="t", short_title="Demo", authors="a", cite="c", claims=claims)


def page_of(paper: Paper, settled: bool = True, proof: ProofMark | None = None) -> str:
    """The map of a paper whose every claim came to what was expected of it."""
    book: Any = SimpleNamespace(
        verdict=lambda claim: paper.by_name[claim].expected,
        proof=lambda claim: proof or paper.by_name[claim].expected_proof,
        records={"demo/good": None} if settled else {},
    )
    return map_page(book, paper)


def svg_of(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])


def test_what_follows_from_other_lines_is_not_drawn_and_proofs_are_told_apart(paper: Paper) -> None:
    assert citations(paper) == [
        ("lemma-1", "lemma-2", False),
        ("lemma-2", "lemma-3", False),
        ("lemma-3", "lemma-4", True),
        ("lemma-5", "lemma-6", False),
    ]


def test_a_premise_stands_to_the_left_and_nothing_covers_anything(paper: Paper) -> None:
    for one in [paper, *EVERY]:
        drawing = draw(one)
        assert drawing is not None
        width, height = drawing.size
        for line in drawing.lines:
            assert drawing.nodes[line.premise][0] < drawing.nodes[line.claim][0]
            assert line.points[0] == drawing.nodes[line.premise]
            assert line.points[-1] == drawing.nodes[line.claim]
            assert all(0 <= x <= width and 0 <= y <= height for x, y in line.points)
        for (name, (x, y)), (other, (next_x, next_y)) in itertools.combinations(drawing.nodes.items(), 2):
            apart = (drawing.heights[name] + drawing.heights[other]) / 2
            assert abs(next_x - x) >= 88 or abs(next_y - y) >= apart, (name, other)
        assert all(drawing.heights[name] / 2 <= y <= height for name, (_, y) in drawing.nodes.items())


def test_a_claim_that_nothing_is_said_of_is_not_on_the_map(paper: Paper) -> None:
    drawing = draw(paper)
    assert drawing is not None
    assert "lemma-7" not in drawing.nodes
    assert draw(paper.model_copy(update={"claims": [entry("lemma-1")]})) is None


def test_nodes_lead_to_claims_and_take_the_classes_of_their_marks(paper: Paper) -> None:
    paper.claims[1] = paper.claims[1].model_copy(update={"notebook": "demo/not_run"})
    svg = svg_of(page_of(paper))
    links = {one.get("href"): one.get("class") for one in svg.iter("a")}
    assert links["../notebooks/demo/good.html#claim-demo-lemma-1"] == "node verdict-holds proof-not-checked"
    assert "../notebooks/demo/good.html#claim-demo-lemma-2" not in links
    assert [one.get("data-claim") for one in svg.iter("g")] == ["claim-demo-lemma-2"]
    assert [one.get("class") for one in svg.iter("path")] == ["stated", "stated", "proof-only", "stated"]


def test_a_map_of_the_books_own_does_not_speak_of_print(paper: Paper) -> None:
    own = paper.model_copy(update={"authors": None, "cite": None})
    printed, proved = page_of(paper, False, ProofMark.AS_PRINTED), page_of(own, False, ProofMark.PROVED_HERE)
    assert "proof as printed" in printed
    assert "proved here" not in printed
    assert "as printed" not in proved
    assert "; proved here" in proved


def test_the_list_says_all_that_is_cited(paper: Paper) -> None:
    page = page_of(paper)
    assert "rests on Lemma 1, Lemma 2" in page
    assert "its proof on Lemma 1, Lemma 3" in page
    assert page.count("says $x < 1$.") == 6


def test_labels_fit_their_nodes() -> None:
    assert node_label(entry("a", label="Definition (Accept TM), eq (3)")) == "Accept TM"
    assert node_label(entry("a", label="Assumption 4.2 (Versatility)")) == "Assump. 4.2"
    assert node_label(entry("a", label="Lemma 1 (= Lemma 5)")) == "Lemma 1"


def test_claims_of_one_name_are_told_apart_by_their_titles() -> None:
    beside = [
        entry("a", label="Figure 3 (panel: states)", title="Data against $Q$"),
        entry("b", label="Lemma 1", title="The base"),
        entry("c", label="Figure 3 (panel: length)"),
    ]
    assert node_labels(beside) == ["Figure 3: Data against Q", "Lemma 1", "Figure 3"]
    long = entry("a", label="Remark (Finite automata in linear attention)")
    assert node_lines(long) == ["Finite", "automata in", "linear", "attention"]
    lines = [line for paper in EVERY for one in paper.claims for line in node_lines(one)]
    assert [line for line in lines if len(line) > 15] == []


def test_what_is_bound_up_with_a_claim_is_named_once(paper: Paper) -> None:
    both = paper.model_copy(
        update={"claims": [*paper.claims, entry("lemma-8", uses=("lemma-1",), proof_uses=("lemma-1",))]}
    )
    registry = Registry(papers=[both])
    assert related_claims(registry, "demo/lemma-3") == {
        "Rests on": ["demo/lemma-1", "demo/lemma-2"],
        "Its proof rests on": [],
        "What rests on it": ["demo/lemma-4"],
    }
    assert related_claims(registry, "demo/lemma-8")["Its proof rests on"] == []
    assert related_claims(registry, "demo/lemma-1")["What rests on it"] == [f"demo/lemma-{one}" for one in (2, 3, 4, 8)]
    assert not any(related_claims(registry, "demo/lemma-7").values())

"""The map of a chapter: which statement rests on which, as the paper cites it, and how each came out.

What a statement rests on stands to its left. A solid line is for the statement itself, a dotted one for its proof only.
The border of a node has the colour of its verdict, its ground that of the mark on its proof. The drawing stands in the
page itself, so that its nodes are links and take the colours of the page; a list beside it says the same in words.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

import networkx as nx
from grandalf.graphs import Edge, Vertex, graph_core
from grandalf.layouts import SugiyamaLayout
from grandalf.routing import EdgeViewer

from bookpress.claims.panel import proof_in_words
from bookpress.claims.registry import Entry, Paper, ProofMark, Verdict
from bookpress.claims.statement import anchor, heading, short_label
from bookpress.site.page import badge, proof_badge

#: What a claim's verdict and the mark on its proof are, by its id.
Marks = dict[str, tuple[Verdict, ProofMark | None]]
Point = tuple[float, float]

# Pixels. A column is a node and the room that lines need beside it.
_WIDTH, _HEIGHT, _COLUMN, _ROW = 88.0, 22.0, 118.0, 27.0
_LINE = 13.0  # what a further line of a label adds to a node
_THREAD = 4.0  # what a line takes that passes a column
_MAP = "claim-map"  # the id of a chapter's map
_LETTERS = 14  # as many as a line of a node holds at 11 pixels


@dataclass(frozen=True)
class Line:
    """One statement resting on another, drawn through ``points``; dotted where only its proof does."""

    premise: str
    claim: str
    dotted: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Drawing:
    """Where the nodes and lines are, in pixels from the upper left corner."""

    nodes: dict[str, Point]
    lines: list[Line]
    heights: dict[str, float]

    @property
    def size(self) -> Point:
        """Width and height to the outermost sides of nodes."""
        return max(x for x, _ in self.nodes.values()) + _WIDTH / 2 + 2, _bottom(
            self.nodes, self.lines, self.heights
        ) + 2


def _top(nodes: dict[str, Point], lines: list[Line], heights: dict[str, float]) -> float:
    return min([y - heights[name] / 2 for name, (_, y) in nodes.items()] + [y for one in lines for _, y in one.points])


def _bottom(nodes: dict[str, Point], lines: list[Line], heights: dict[str, float]) -> float:
    return max([y + heights[name] / 2 for name, (_, y) in nodes.items()] + [y for one in lines for _, y in one.points])


def citations(paper: Paper) -> list[tuple[str, str, bool]]:
    """What rests on what, as (premise, claim, for the proof only), without what follows from the rest."""
    stated = nx.DiGraph([(used, one.id) for one in paper.claims for used in one.uses])
    both = nx.DiGraph([(used, one.id) for one in paper.claims for used in (*one.uses, *one.proof_uses)])
    kept = set(nx.transitive_reduction(both).edges) | set(nx.transitive_reduction(stated).edges)
    place = {one.id: number for number, one in enumerate(paper.claims)}
    edges = sorted(kept, key=lambda edge: (place[edge[0]], place[edge[1]]))
    return [(premise, claim, not stated.has_edge(premise, claim)) for premise, claim in edges]


def layout(paper: Paper) -> Drawing | None:
    """Layers from left to right with few crossings, one part below the other; None where nothing is cited."""
    cited = citations(paper)
    place = {one.id: number for number, one in enumerate(paper.claims)}
    graph = nx.Graph((premise, claim) for premise, claim, _ in cited)
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(place[name] for name in part)))
    heights = {one.id: _HEIGHT + _LINE * (len(node_lines(one)) - 1) for one in paper.claims}
    nodes: dict[str, Point] = {}
    lines: list[Line] = []
    for part in parts:
        names, inside = sorted(part, key=place.__getitem__), [one for one in cited if one[0] in part]
        middles, drawn = _arranged(names, inside, heights)
        below = (_bottom(nodes, lines, heights) + _ROW - _HEIGHT if nodes else 2) - _top(middles, drawn, heights)
        left = _WIDTH / 2 + 2 - min(x for x, _ in middles.values())
        nodes |= {name: (x + left, y + below) for name, (x, y) in middles.items()}
        lines += [replace(one, points=tuple((x + left, y + below) for x, y in one.points)) for one in drawn]
    return Drawing(nodes, lines, heights) if nodes else None


class _Box:
    """A node's size as the library sees it: it draws from top to bottom, and the map is turned on its side."""

    h = _WIDTH
    xy: Point

    def __init__(self, height: float) -> None:
        self.w = height


class _Node(Vertex):
    """A vertex whose place in a set does not change from run to run, or the drawing would."""

    def __init__(self, name: str, number: int, height: float) -> None:
        super().__init__(name)
        self.number = number
        self.view = _Box(height)

    def __hash__(self) -> int:
        return self.number


def _arranged(
    names: list[str], cited: list[tuple[str, str, bool]], heights: dict[str, float]
) -> tuple[dict[str, Point], list[Line]]:
    """The places of one connected part; thirty sweeps leave the crossings where they will stay."""
    vertices = {name: _Node(name, number, heights[name]) for number, name in enumerate(names)}
    edges = [Edge(vertices[premise], vertices[claim], data=dotted) for premise, claim, dotted in cited]
    for edge in edges:
        edge.view = EdgeViewer()
    sugiyama = SugiyamaLayout(graph_core(list(vertices.values()), edges))
    sugiyama.xspace, sugiyama.yspace = _ROW - _HEIGHT, _COLUMN - _WIDTH
    sugiyama.dw = _THREAD
    sugiyama.init_all(roots=[one for one in vertices.values() if not one.e_in()], inverted_edges=[])
    sugiyama.draw(30)
    middles = {name: _turned(one.view.xy) for name, one in vertices.items()}
    lines = [Line(one.v[0].data, one.v[1].data, one.data, tuple(map(_turned, one.view._pts))) for one in edges]
    return middles, lines


def _turned(point: Point) -> Point:
    return point[1], point[0]


def map_page(paper: Paper, marks: Marks, settled: set[str]) -> str:
    """What a chapter includes: the drawing, and under it the list that a phone shows in its place.

    ``settled`` holds the ids of the claims that a page of the book states; the others lead nowhere.
    """
    drawing = layout(paper)
    if drawing is None:
        return "---\norphan: true\n---\n"
    items = [_item(paper, entry, marks) for entry in paper.claims if entry.id in drawing.nodes and entry.id in settled]
    return "\n".join(
        [
            "---\norphan: true\n---\n",
            "```{raw} html",
            _svg(paper, drawing, marks, settled),
            "```",
            "",
            ":::::{dropdown} Every statement and what it rests on, as a list",
            ":class-container: map-list",
            *items,
            ":::::",
        ]
    )


def small_maps(papers: list[Paper], marks: dict[str, Marks]) -> str:
    """The maps of all papers side by side, as dots that lead to the chapters; for the front page."""
    shown = [_small(paper, drawing, marks[paper.name]) for paper in papers if (drawing := layout(paper))]
    return "\n".join(["---\norphan: true\n---\n", "```{raw} html", '<div class="small-maps">', *shown, "</div>", "```"])


def _svg(paper: Paper, drawing: Drawing, marks: Marks, settled: set[str]) -> str:
    width, height = drawing.size
    entries = {one.id: one for one in paper.claims}
    return "\n".join(
        [
            f'<div class="claim-map" id="{_MAP}">',
            '<div class="map-frame">',
            f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="group" '
            f'aria-label="What rests on what: {len(drawing.nodes)} statements of the paper">',
            *(_path(paper.name, one) for one in drawing.lines),
            *(_node(paper, entries[name], drawing, marks, name in settled) for name in drawing.nodes),
            "</svg>",
            "</div>",
            '<p class="map-key">Left is what a statement rests on. Solid: the statement does; dotted: only its proof. '
            f"Border: the verdict on the statement; ground: the mark on {_the_proof(paper)}.</p>",
            '<div class="map-card" hidden></div>',
            "</div>",
        ]
    )


def _node(paper: Paper, entry: Entry, drawing: Drawing, marks: Marks, leads: bool) -> str:
    verdict, proof = marks[entry.id]
    (middle, y), height = drawing.nodes[entry.id], drawing.heights[entry.id]
    x, y = middle - _WIDTH / 2, y - height / 2
    classes = " ".join(part for part in ("node", _class("verdict", verdict), _class("proof", proof)) if part)
    words = escape(_words(entry, verdict, proof, not paper.is_article), quote=True)
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{_WIDTH:.0f}" height="{height:.0f}" rx="4"/>'
    text = "".join(
        f'<text x="{middle:.1f}" y="{y + _HEIGHT / 2 + 4 + _LINE * number:.1f}">{escape(line)}</text>'
        for number, line in enumerate(node_lines(entry))
    )
    claim = anchor(f"{paper.name}/{entry.id}")
    if not leads:
        return f'<g class="{classes}" data-claim="{claim}"><title>{words}</title>{box}{text}</g>'
    link = f"../notebooks/{entry.notebook}.html#{claim}"
    return f'<a class="{classes}" href="{link}" data-claim="{claim}" aria-label="{words}">{box}{text}</a>'


def _words(entry: Entry, verdict: Verdict, proof: ProofMark | None, own: bool) -> str:
    return f"{_plain(heading(entry))}: {verdict}" + (f"; {proof_in_words(proof, own)}" if proof else "")


def _the_proof(paper: Paper) -> str:
    return "the proof as printed" if paper.is_article else "the proof, which is the book's own"


def _class(kind: str, mark: Verdict | ProofMark | None) -> str:
    return f"{kind}-{mark.value.replace(' ', '-')}" if mark else ""


def _plain(text: str) -> str:
    """Without the dollars of formulas, which a label cannot set."""
    return text.replace("$", "").replace("\\", "")


def node_lines(entry: Entry) -> list[str]:
    """What stands in a node, line by line."""
    return textwrap.wrap(node_label(entry), _LETTERS, break_long_words=False)


def node_label(entry: Entry) -> str:
    """A short name of a claim: its number, or what the brackets behind ``Definition`` name."""
    named = re.fullmatch(r"(?:Definition|Remark) \((.+?)\).*", entry.label)
    label = _plain(named.group(1) if named else short_label(entry))
    for long, short in (("Appendix", "App."), ("Section", "Sec."), ("Proposition", "Prop."), ("Assumption", "Assump.")):
        label = label.replace(long, short)
    return label


def node_labels(entries: Sequence[Entry]) -> list[str]:
    """The short names of claims that stand beside each other; those of the same name have their titles behind it."""
    labels = [node_label(entry) for entry in entries]
    return [
        f"{label}: {_plain(entry.title)}" if entry.title and labels.count(label) > 1 else label
        for label, entry in zip(labels, entries, strict=True)
    ]


def _path(paper: str, line: Line) -> str:
    """A line from the right side of the premise to the left side of the claim, bent smoothly through its points."""
    (x0, y0), *between, (x1, y1) = line.points
    points = [(x0 + _WIDTH / 2, y0), *between, (x1 - _WIDTH / 2, y1)]
    bends = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (left, up), (right, down) in pairwise(points):
        middle = (left + right) / 2
        bends.append(f"C{middle:.1f} {up:.1f} {middle:.1f} {down:.1f} {right:.1f} {down:.1f}")
    kind = "proof-only" if line.dotted else "stated"
    ends = f'data-from="{anchor(f"{paper}/{line.premise}")}" data-to="{anchor(f"{paper}/{line.claim}")}"'
    return f'<path class="{kind}" {ends} d="{"".join(bends)}"/>'


def _item(paper: Paper, entry: Entry, marks: Marks) -> str:
    """One entry of the list: the claim with its marks, what it rests on, and the statement."""
    claim = f"{paper.name}/{entry.id}"
    verdict, proof = marks[entry.id]
    labels = {one.id: short_label(one) for one in paper.claims}
    rests = [
        f"{what} {', '.join(labels[name] for name in used)}"
        for what, used in (("rests on", entry.uses), ("its proof on", entry.proof_uses))
        if used
    ]
    return "\n".join(
        [
            "",
            f"::::{{div}} map-item\n:name: map-{anchor(claim)}\n",
            f"{{claim:ref}}`{heading(entry)} <{claim}>` {badge(verdict)} {proof_badge(proof, not paper.is_article)}",
            *([f"<br>{'; '.join(rests)}"] if rests else []),
            f"\n:::{{div}} map-statement\n{(entry.statement or '').strip()}\n:::",
            "::::",
        ]
    )


def page_map(paper: Paper, drawing: Drawing, marks: Marks, own: set[str]) -> str:
    """The chapter's map beside a page, small, with a ring about the claims of the page; it leads to the whole one.

    Empty where the map has none of them.
    """
    if not own & drawing.nodes.keys():
        return ""
    return "\n".join(
        [
            "```{raw} html",
            f'<a class="page-map small-map" href="../../papers/{paper.name}.html#{_MAP}">',
            f"{_dots(drawing, marks, own)}<span>This page on the chapter’s map</span></a>",
            "```",
        ]
    )


def _small(paper: Paper, drawing: Drawing, marks: Marks) -> str:
    """Dots and lines; the words are the link's."""
    title, authors = escape(paper.title), escape(paper.authors or "")
    drawn = _dots(drawing, marks, set())
    return f'<a class="small-map" href="papers/{paper.name}.html">{drawn}<b>{title}</b><span>{authors}</span></a>'


def _dots(drawing: Drawing, marks: Marks, own: set[str]) -> str:
    width, height = drawing.size
    lines = [
        f'<path d="M{one.points[0][0]:.0f} {one.points[0][1]:.0f}'
        + "".join(f"L{x:.0f} {y:.0f}" for x, y in one.points[1:])
        + '"/>'
        for one in drawing.lines
    ]
    radius = width / 55
    dots = [
        f'<circle class="{_class("verdict", marks[name][0])}" cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}"/>'
        for name, (x, y) in drawing.nodes.items()
    ]
    rings = [
        f'<circle class="ring" cx="{x:.0f}" cy="{y:.0f}" r="{2 * radius:.0f}"/>'
        for name, (x, y) in drawing.nodes.items()
        if name in own
    ]
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" aria-hidden="true">{"".join((*lines, *dots, *rings))}</svg>'

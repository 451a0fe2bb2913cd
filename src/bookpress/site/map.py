"""The map of a chapter: which statement rests on which, as the paper cites it, and the verdict on each.

The premises of a statement are to its left. A solid line is for the statement itself, a dotted one for its proof only.
The border of a node has the colour of its verdict, its ground that of the mark on its proof. The drawing is part of the
page, so that its nodes are links and take the colours of the page; a list says the same in words.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean

import networkx as nx

from bookpress.claims.panel import proof_class, proof_in_words, verdict_class
from bookpress.claims.registry import Entry, Paper
from bookpress.claims.statement import anchor, heading, short_label
from bookpress.site.book import Book
from bookpress.site.page import badge, proof_badge, without_html

XY = tuple[float, float]

#: A claim, or where a line passes a column: the line's number and the column.
Stop = str | tuple[int, int]

# Pixels: a node, a column with its room, the room between rows, a further line of a label, a line that passes a column.
_WIDTH, _HEIGHT, _COLUMN, _BETWEEN_ROWS, _LINE, _THREAD = 88.0, 22.0, 118.0, 5.0, 13.0, 4.0
_SWEEPS = 40  # after which the drawing stays
_LETTERS = 14  # as many as a line of a node holds at 11 pixels


@dataclass(frozen=True)
class Line:
    """One statement resting on another, drawn through ``points``; dotted where only its proof does."""

    premise: str
    claim: str
    dotted: bool
    points: list[XY]


@dataclass(frozen=True)
class Drawing:
    """The middles of nodes, their heights, and the lines, in pixels from the upper left corner."""

    nodes: dict[str, XY]
    heights: dict[str, float]
    lines: list[Line]

    @property
    def size(self) -> XY:
        """Width and height to the outermost sides of nodes and lines."""
        bottoms = [y + self.heights[name] / 2 for name, (_, y) in self.nodes.items()]
        passing = [y for line in self.lines for _, y in line.points]
        return max(x for x, _ in self.nodes.values()) + _WIDTH / 2 + 2, max(bottoms + passing) + 2


def citations(paper: Paper) -> list[tuple[str, str, bool]]:
    """Pairs of premise and claim with whether only the proof rests on it, without what follows from the rest."""
    stated = nx.DiGraph([(used, one.id) for one in paper.claims for used in one.uses])
    both = nx.DiGraph([(used, one.id) for one in paper.claims for used in (*one.uses, *one.proof_uses)])
    kept = set(nx.transitive_reduction(both).edges) | set(nx.transitive_reduction(stated).edges)
    order = {one.id: number for number, one in enumerate(paper.claims)}
    edges = sorted(kept, key=lambda edge: (order[edge[0]], order[edge[1]]))
    return [(premise, claim, not stated.has_edge(premise, claim)) for premise, claim in edges]


def draw(paper: Paper) -> Drawing | None:
    """Arrange the statements in columns, premises left, connected parts below each other; None if nothing is cited."""
    cited = citations(paper)
    if not cited:
        return None
    graph = nx.DiGraph((premise, claim) for premise, claim, _ in cited)
    column = _columns(graph)
    ways: list[list[Stop]] = []  # every line with a stop in each column that it passes
    for number, (premise, claim, _) in enumerate(cited):
        passed: dict[Stop, int] = {(number, at): at for at in range(column[premise] + 1, column[claim])}
        ways.append([premise, *passed, claim])
        column |= passed
    stops = nx.Graph(pair for way in ways for pair in pairwise(way))
    heights = dict.fromkeys(stops, _THREAD)
    heights |= {one.id: _HEIGHT + _LINE * (len(node_lines(one)) - 1) for one in paper.claims if one.id in graph}
    points: dict[Stop, XY] = {}
    top = 2.0
    for part in sorted(nx.connected_components(stops), key=lambda part: -len(part & graph.nodes)):
        middles = _middles(stops, [stop for stop in stops if stop in part], column, heights)
        highest = min(middle - heights[stop] / 2 for stop, middle in middles.items())
        points |= {stop: (column[stop] * _COLUMN + _WIDTH / 2 + 2, top + y - highest) for stop, y in middles.items()}
        top = max(points[stop][1] + heights[stop] / 2 for stop in part) + _BETWEEN_ROWS
    lines = [Line(*citation, [points[stop] for stop in way]) for citation, way in zip(cited, ways, strict=True)]
    return Drawing({name: points[name] for name in graph}, {name: heights[name] for name in graph}, lines)


def _columns(graph: nx.DiGraph) -> dict[Stop, int]:
    """The column of each statement: to the right of its premises; one without premises next to what rests on it."""
    column = {name: at for at, names in enumerate(nx.topological_generations(graph)) for name in names}
    first = [name for name in graph if not graph.pred[name]]
    return column | {name: min(column[claim] for claim in graph.succ[name]) - 1 for name in first}


def _middles(
    graph: nx.Graph, stops: list[Stop], column: dict[Stop, int], heights: dict[Stop, float]
) -> dict[Stop, float]:
    """The middles of stops: columns without gaps about one axis, each in the order of its neighbours' middles."""
    middles: dict[Stop, float] = dict.fromkeys(stops, 0.0)
    columns = [[stop for stop in stops if column[stop] == at] for at in sorted({column[stop] for stop in stops})]
    for sweep in range(_SWEEPS):
        for members in columns if sweep % 2 else columns[::-1]:
            members.sort(key=lambda stop: fmean(middles[other] for other in graph[stop]))
            floor = -sum(heights[stop] + _BETWEEN_ROWS for stop in members) / 2
            for stop in members:
                middles[stop] = floor + heights[stop] / 2
                floor += heights[stop] + _BETWEEN_ROWS
    return middles


def map_page(book: Book, paper: Paper) -> str:
    """Markdown for a chapter to include: the drawing, and under it the list that a phone shows in its place."""
    drawing, lines = draw(paper), ["---\norphan: true\n---\n"]
    if drawing:
        lines += ["```{raw} html", _svg(book, paper, drawing), "```", ""]
        lines += [":::::{dropdown} Every statement and what it rests on, as a list", ":class-container: map-list"]
        settled = [entry for entry in paper.claims if entry.notebook in book.records and entry.id in drawing.nodes]
        lines += [*(_item(book, paper, entry) for entry in settled), ":::::"]
    return "\n".join(lines)


def page_map(book: Book, paper: Paper, drawing: Drawing | None, settled: set[str]) -> str:
    """The map next to a page, as dots with a ring around the page's ``settled`` claims; empty where it has none."""
    if drawing is None or not settled & drawing.nodes.keys():
        return ""
    width, height = drawing.size
    radius = width / 55
    paths = "".join("M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in line.points) for line in drawing.lines)
    dots = ""
    for entry in (entry for entry in paper.claims if entry.id in drawing.nodes):
        place = 'cx="{:.0f}" cy="{:.0f}"'.format(*drawing.nodes[entry.id])
        dots += f'<circle class="{verdict_class(book.verdict(paper, entry))}" {place} r="{radius:.0f}"/>'
        dots += f'<circle class="ring" {place} r="{2 * radius:.0f}"/>' * (entry.id in settled)
    return (
        f'```{{raw}} html\n<a class="page-map" href="../../papers/{paper.name}.html#claim-map">'
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" aria-hidden="true"><path d="{paths}"/>{dots}</svg>'
        "<span>This page on the chapter’s map</span></a>\n```"
    )


def _svg(book: Book, paper: Paper, drawing: Drawing) -> str:
    width, height = drawing.size
    proof = "the proof as printed" if paper.is_article else "the proof, which is the book's own"
    entries = [entry for entry in paper.claims if entry.id in drawing.nodes]
    return "\n".join(
        [
            '<div class="claim-map" id="claim-map">',
            f'<div class="map-frame"><svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="group" '
            f'aria-label="What rests on what: {len(drawing.nodes)} statements of the paper">',
            *(_path(paper, line) for line in drawing.lines),
            *(_node(book, paper, entry, drawing) for entry in entries),
            "</svg></div>",
            '<p class="map-key">Left is what a statement rests on. Solid: the statement does; dotted: only its '
            f"proof. Border: the verdict on the statement; ground: the mark on {proof}.</p>",
            '<div class="map-card" hidden></div>',
            "</div>",
        ]
    )


def _node(book: Book, paper: Paper, entry: Entry, drawing: Drawing) -> str:
    """A box with the claim's short name, which leads to the claim where a page states it."""
    verdict, proof = book.verdict(paper, entry), book.proof(paper, entry)
    (x, y), height = drawing.nodes[entry.id], drawing.heights[entry.id]
    words = f"{_plain(heading(entry))}: {verdict}"
    words = escape(words + (f"; {proof_in_words(proof, not paper.is_article)}" if proof else ""), quote=True)
    top = y - height / 2
    box = f'<rect x="{x - _WIDTH / 2:.1f}" y="{top:.1f}" width="{_WIDTH:.0f}" height="{height:.0f}" rx="4"/>'
    box += "".join(
        f'<text x="{x:.1f}" y="{top + _HEIGHT / 2 + 4 + _LINE * number:.1f}">{escape(line)}</text>'
        for number, line in enumerate(node_lines(entry))
    )
    claim = anchor(f"{paper.name}/{entry.id}")
    classes = f"node {verdict_class(verdict)}{f' {proof_class(proof)}' if proof else ''}"
    if entry.notebook not in book.records:
        return f'<g class="{classes}" data-claim="{claim}"><title>{words}</title>{box}</g>'
    link = f"../notebooks/{entry.notebook}.html#{claim}"
    return f'<a class="{classes}" href="{link}" data-claim="{claim}" aria-label="{words}">{box}</a>'


def _path(paper: Paper, line: Line) -> str:
    """A line from the right side of the premise to the left side of the claim."""
    (x0, y0), *between, (x1, y1) = line.points
    points = [(x0 + _WIDTH / 2, y0), *between, (x1 - _WIDTH / 2, y1)]
    drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    premise, claim = (anchor(f"{paper.name}/{name}") for name in (line.premise, line.claim))
    kind = "proof-only" if line.dotted else "stated"
    return f'<path class="{kind}" data-from="{premise}" data-to="{claim}" d="M{drawn}"/>'


def _item(book: Book, paper: Paper, entry: Entry) -> str:
    """One entry of the list: the claim with its marks, what it rests on, and the statement."""
    claim = f"{paper.name}/{entry.id}"
    labels = {other.id: short_label(other) for other in paper.claims}
    kinds = (("rests on", entry.uses), ("its proof on", entry.proof_uses))
    rests = "; ".join(f"{words} {', '.join(map(labels.__getitem__, used))}" for words, used in kinds if used)
    name = f"{{claim:ref}}`{heading(entry)} <{claim}>` {badge(book.verdict(paper, entry))}"
    stated = entry.says or entry.holds or entry.statement or ""
    return (
        f"\n::::{{div}} map-item\n:name: map-{anchor(claim)}\n\n"
        f"{name} {proof_badge(book.proof(paper, entry), not paper.is_article)}\n\n{rests}\n\n"
        f":::{{div}} map-statement\n{without_html(stated).strip()}\n:::\n::::"
    )


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

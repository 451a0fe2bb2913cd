"""The map of a chapter: which statement rests on which, as the paper cites it, and the verdict on each.

The premises of a statement are to its left. A solid line is for the statement itself, a dotted one for its proof only.
The border of a node has the colour of its verdict, its ground that of the mark on its proof. The drawing is part of the
page, so that its nodes are links and take the colours of the page; a list says the same in words.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

import networkx as nx

from bookpress.claims.registry import Entry, Paper
from bookpress.claims.statement import short_label
from bookpress.site.book import Book
from bookpress.site.markdown import render

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

    def path(self, inset: float = 0.0) -> str:
        """The line in SVG's words, from ``inset`` behind the middle of the premise to as much before the claim's."""
        (x0, y0), *between, (x1, y1) = self.points
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in [(x0 + inset, y0), *between, (x1 - inset, y1)])


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
    if (drawing := draw(paper)) is None:
        return "---\norphan: true\n---\n"
    sizes = {"node_width": _WIDTH, "first_line": _HEIGHT / 2 + 4, "line_height": _LINE}
    labels = {entry.id: short_label(entry) for entry in paper.claims}
    words = {"plain": _plain, "node_lines": node_lines, "labels": labels}
    return render("map", **_drawn(book, paper, drawing), **sizes, **words)


def page_map(book: Book, paper: Paper, drawing: Drawing | None, settled: set[str]) -> str:
    """The map next to a page, as dots with a ring around the page's ``settled`` claims; empty where it has none."""
    if drawing is None or not settled & {f"{paper.name}/{name}" for name in drawing.nodes}:
        return ""
    radius = round(drawing.size[0] / 55)
    return render("page-map", **_drawn(book, paper, drawing), settled=settled, radius=radius).rstrip()


def _drawn(book: Book, paper: Paper, drawing: Drawing) -> dict[str, Any]:
    """What both templates of a map are given."""
    claims = {claim: entry for claim, entry in paper.by_name.items() if entry.id in drawing.nodes}
    width, height = map(round, drawing.size)
    return {"book": book, "paper": paper, "drawing": drawing, "claims": claims, "width": width, "height": height}


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
    """The short names of neighbouring claims; those of the same name have their titles behind it."""
    labels = [node_label(entry) for entry in entries]
    return [
        f"{label}: {_plain(entry.title)}" if entry.title and labels.count(label) > 1 else label
        for label, entry in zip(labels, entries, strict=True)
    ]

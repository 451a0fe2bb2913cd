"""What is set once a page is whole: numbers in tables as print sets them, and points that stay with what they end."""

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from bookpress.claims.panel import set_powers, set_truth

#: What ends a badge or a formula; the hyphen is that of *n-th*.
_POINT = re.compile(r"^[,.;:?!)”’-]+")

#: Text that is shown as it was typed.
_AS_TYPED = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


class SetNumbers(SphinxPostTransform):
    """In tables 1.2e-07 becomes 1.2·10⁻⁷, -2 has a minus sign, and a cell that says True says yes."""

    default_priority = 910  # after the columns of numbers have been found, which are read as Python writes them

    def run(self, **_: Any) -> None:
        for entry in self.document.findall(nodes.entry):
            for text in list(entry.findall(nodes.Text)):
                typed = any(isinstance(above, _AS_TYPED) for above in _above(text, entry))
                said = set_powers(set_truth(text.astext()) if entry.astext() == text.astext() else text.astext())
                if not typed and said != text.astext():
                    text.parent.replace(text, nodes.Text(said))


class PointsStay(SphinxPostTransform):
    """A comma or a full stop after a badge or a formula does not begin a line.

    To a browser both are boxes, behind which a line may end whatever follows: no character forbids it, a span does.
    """

    default_priority = 920

    def run(self, **_: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            point = _POINT.match(text.astext())
            before = text.parent.index(text) - 1 if point else -1
            if point is None or before < 0 or not (kind := _kind_of_box(text.parent[before])):
                continue
            parent, box = text.parent, text.parent[before]
            rest = text.astext()[point.end() :]
            parent.remove(box)
            together = nodes.inline("", "", box, nodes.Text(point.group()), classes=[f"with-{kind}"])
            parent.replace(text, [together, nodes.Text(rest)] if rest else [together])


def _above(node: nodes.Node, top: nodes.Node) -> list[nodes.Node]:
    found = []
    while node is not top:
        node = node.parent
        found.append(node)
    return found


def _kind_of_box(node: nodes.Node) -> str:
    """A formula; a verdict's badge, a link to a claim that is one, or a number with a badge; nothing of all else."""
    if isinstance(node, nodes.math):
        return "formula"
    if isinstance(node, nodes.reference) and len(node.children) == 1:
        node = node[0]
    badge = isinstance(node, nodes.inline) and {"verdict", "tally"} & set(node["classes"])
    return "badge" if badge else ""

from docutils import nodes
from docutils.utils import new_document

from bookpress.site.typography import PointsStay, SetNumbers


def table_of(*cells: str | nodes.Node) -> nodes.table:
    entries = [
        nodes.entry("", nodes.paragraph("", "", nodes.Text(cell) if isinstance(cell, str) else cell)) for cell in cells
    ]
    return nodes.table("", nodes.tgroup("", nodes.tbody("", nodes.row("", *entries))))


def test_numbers_in_tables_are_set_as_print_sets_them() -> None:
    document = new_document("page")
    cells = [
        "1.2e-07",
        "-0.024 to +0.037",
        "True",
        "inf",
        "True where it fits",
        "GPT-2, eqs 48-52",
        nodes.literal("", "1e-7"),
    ]
    document += table_of(*cells)
    document += nodes.paragraph("", "1e-7 in a sentence")
    SetNumbers(document).run()
    assert [entry.astext() for entry in document.findall(nodes.entry)] == [
        "1.2·10⁻⁷",
        "−0.024 to +0.037",
        "yes",
        "∞",
        "True where it fits",
        "GPT-2, eqs 48-52",
        "1e-7",
    ]
    assert document[-1].astext() == "1e-7 in a sentence"


def test_a_point_does_not_leave_its_badge_or_formula() -> None:
    document = new_document("page")
    badge = nodes.inline("", "Lemma 1: holds", classes=["verdict", "verdict-holds"])
    link = nodes.reference("", "", nodes.inline("", "Lemma 2: holds", classes=["verdict"]), refuri="#lemma-2")
    plain = nodes.emphasis("", "so")
    document += nodes.paragraph(
        "", "", badge, nodes.Text(", and "), link, nodes.Text("."), plain, nodes.Text(", it is")
    )
    n, more = (nodes.math("", one) for one in ("n", "n > 2"))
    parts = [nodes.Text("For the "), n, nodes.Text("-th ("), more, nodes.Text("). "), n.deepcopy()]
    document += nodes.paragraph("", "", *parts)
    PointsStay(document).run()
    kept = {
        kind: [node.astext() for node in document.findall(nodes.inline) if f"with-{kind}" in node["classes"]]
        for kind in ("badge", "formula")
    }
    assert kept == {"badge": ["Lemma 1: holds,", "Lemma 2: holds."], "formula": ["n-", "n > 2)."]}
    said = ["Lemma 1: holds, and Lemma 2: holds.so, it is", "For the n-th (n > 2). n"]
    assert [paragraph.astext() for paragraph in document] == said

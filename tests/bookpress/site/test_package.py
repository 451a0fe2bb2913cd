"""The page of the package: every public name, its place, its users, and text that stays text."""

import ast
from typing import Any

import pytest

from bookpress.claims.registry import Registry
from bookpress.layout import Layout
from bookpress.notebooks.run import run
from bookpress.site.bind import bind_book
from bookpress.site.package import PACKAGE, CodeCells, package_pages

LAYOUT = Layout.here()


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return package_pages(LAYOUT, Registry.load(LAYOUT).papers)


def test_every_public_name_is_listed_once_in_its_room(pages: dict[str, str]) -> None:
    for path in (LAYOUT.packages / PACKAGE).rglob("*.py"):
        names = [
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        dotted = ".".join(path.relative_to(LAYOUT.packages / PACKAGE).with_suffix("").parts)
        headings = [text for text in pages.values() if f" {dotted}\n" in text]
        assert len(headings) == (1 if names else 0) or path.name == "__init__.py", dotted
        if names:
            section = headings[0].partition(f" {dotted}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
            assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")] == names


def test_every_page_is_light(pages: dict[str, str]) -> None:
    assert {name: len(text) for name, text in pages.items() if len(text) > 100_000} == {}


def test_users_import_the_name_themselves(toy: Any) -> None:
    module = toy.layout.packages / PACKAGE / "validation.py"
    module.parent.mkdir()
    module.write_text('"""Rooms <b>."""\n\ndef require(x):\n    """Open ``a|b`` of :func:`~house.wall`: $x$ | y."""\n')
    run(toy.add("good"), layout=toy.layout)
    bind_book(toy.layout, "laptop")
    lines = (toy.layout.generated / "package.md").read_text().splitlines()
    assert r"Rooms \<b\>." in lines
    assert lines[-2] == (
        r"| `require` | Open ``a\|b`` of ``house.wall``: \$x\$ \| y. | [Good](/notebooks/demo/good.ipynb) |"
    )


CELLS = [
    "from toy.a import far, near\nfrom toy.b import alone, helper\nimport math",
    "def own(x):\n    return helper(x)\n\nrows = {}\nfor k in range(3):\n    rows[k] = near(k)",
    "other = alone(2)",
    "axis = show.axes()\naxis.plot(rows[0])",
    "axis = show.axes()\naxis.plot(own(1), math.pi)",
    'claim = Claim("x")\nclaim.equal("c", other, 2)',
    "claim.verdict()",
]
ORIGINS = CodeCells(CELLS, package="toy")


def test_a_cells_functions_are_found_through_the_cells_before_it() -> None:
    assert ORIGINS.functions(3) == ["toy.a.near"]
    assert ORIGINS.functions(4) == ["toy.b.helper"]
    assert ORIGINS.functions(5) == ["toy.b.alone"]


def test_what_computes_or_judges_is_told_from_what_draws() -> None:
    assert [ORIGINS.computes_or_judges(number) for number in range(1, 7)] == [True, True, False, True, True, True]
    assert [ORIGINS.only_imports(number) for number in range(3)] == [True, False, False]


def test_a_cell_that_draws_by_hand_is_told_from_one_that_computes() -> None:
    imports = "from attention_theory.rows import Rows\nfrom bookpress.claims import schematic"
    cells = CodeCells([imports, "fig, axis = schematic.canvas()", "schematic.text(axis, (0, 0), str(Rows(x=1)))"])
    assert [cells.draws_a_schematic(number) for number in (1, 2)] == [True, False]

"""The page of the package: every public name, its place, its users, and text that stays text."""

import ast
from typing import Any

import pytest

from bookpress.claims.registry import Registry
from bookpress.layout import Layout
from bookpress.notebooks.run import run
from bookpress.site.bind import bind_book
from bookpress.site.package import folded_cells, libraries, package_pages

LAYOUT = Layout.here()


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return package_pages(LAYOUT, Registry.load(LAYOUT).papers)


def test_every_public_name_of_a_public_module_is_listed_once_in_its_room(pages: dict[str, str]) -> None:
    (folder,) = [LAYOUT.packages / name for name in libraries(LAYOUT)]
    for path in folder.rglob("*.py"):
        names = [
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        if path.name.startswith("_") and path.name != "__init__.py":
            names = []
        dotted = ".".join(path.relative_to(folder).with_suffix("").parts)
        headings = [text for text in pages.values() if f" {dotted}\n" in text]
        assert len(headings) == (1 if names else 0) or path.name == "__init__.py", dotted
        if names:
            section = headings[0].partition(f" {dotted}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
            assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")] == names


def test_every_page_is_light(pages: dict[str, str]) -> None:
    assert {name: len(text) for name, text in pages.items() if len(text) > 100_000} == {}


def test_users_import_the_name_themselves(toy: Any) -> None:
    text = '"""Rooms <b>."""\n\ndef door(x):\n    """Open ``a|b`` of :func:`~house.wall`: $x$ | y."""\n'
    toy.module("house").write_text(text)
    run(toy.add("good", imports="from toy_package.house import door"), layout=toy.layout)
    bind_book(toy.layout, "laptop")
    lines = (toy.layout.generated / "package.md").read_text().splitlines()
    assert r"Rooms \<b\>." in lines
    row = r"| `door` | Open ``a\|b`` of ``house.wall``: \$x\$ \| y. | [Good](/notebooks/demo/good.ipynb) |"
    assert row in lines


CELLS = [
    "from toy.a import far, near\nfrom toy.b import alone, helper\nimport math",
    "def own(x):\n    return helper(x)\n\nrows = {}\nfor k in range(3):\n    rows[k] = near(k)",
    "other = alone(2)",
    "axis = show.axes()\naxis.plot(rows[0])",
    "axis = show.axes()\naxis.plot(own(1), math.pi)",
    'claim = Claim("x")\nclaim.equal("c", other, 2)',
    "claim.verdict()",
]


def test_imports_judgements_and_drawings_that_compute_nothing_are_folded() -> None:
    assert folded_cells(CELLS, {*range(len(CELLS))}, ["toy"]) == {0, 3, 5}
    by_hand = "fig, axis = schematic.canvas()"
    cells = [CELLS[0], by_hand, f"{by_hand}\nschematic.text(axis, (0, 0), str(near(1)))"]
    assert folded_cells(cells, set(), ["toy"]) == {0, 1}


def test_the_press_names_no_package() -> None:
    modules = (LAYOUT.packages / "bookpress").rglob("*.py")
    assert [path for path in modules if any(name in path.read_text() for name in libraries(LAYOUT))] == []

"""The page of the package: every public name, its place, its users, and text that stays text."""

import ast
from typing import Any

import pytest

from bookpress.claims.registry import Registry
from bookpress.layout import Layout
from bookpress.site.package_page import PACKAGE, escaped, package_pages, public_modules, uses

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


def test_places_are_those_of_the_docstring() -> None:
    modules = {module.name: module for module in public_modules(LAYOUT.packages / PACKAGE)}
    names = {one.name: one for one in modules[f"{PACKAGE}.memorization.attention"].names}
    assert names["features"].places == ("Eqs. 3 and 7",)
    assert names["capacity"].places == ("Theorem 1",)
    assert names["random_heads"].places == ()


def test_users_import_the_name_themselves() -> None:
    users = uses(LAYOUT)[f"{PACKAGE}.memorization.attention.capacity"]
    assert users
    for notebook in users:
        assert "capacity" in LAYOUT.source(notebook).read_text()


def test_a_toy_book_has_a_page_of_its_package(toy: Any) -> None:
    assert "package" in package_pages(toy.layout, Registry.load(toy.layout).papers)


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("W_K of d|n", r"W\_K of d\|n"),
        ("``a_b`` and *c*", r"``a_b`` and \*c\*"),
        ("see :func:`~house.room`", "see ``house.room``"),
        ("$x$ <b> [c]", r"\$x\$ \<b\> \[c\]"),
    ],
)
def test_a_docstring_stays_text(docstring: str, markdown: str) -> None:
    assert escaped(docstring) == markdown

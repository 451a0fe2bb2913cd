"""House rules that no other check keeps."""

import ast
from pathlib import Path

import grimp
import pytest
import torch
from jaxtyping import TypeCheckError

from attention_theory.numerics import numerical_rank
from bookpress.layout import Layout
from bookpress.registry import Registry

ROOT = Path(__file__).resolve().parents[1]
PAPERS = [paper.name.replace("-", "_") for paper in Registry.load(Layout(ROOT)).papers]


def test_a_papers_subpackage_imports_the_core_and_never_a_sibling() -> None:
    graph = grimp.build_graph("attention_theory", cache_dir=None)
    for paper in PAPERS:
        for sibling in PAPERS:
            if sibling != paper:
                chain = graph.find_shortest_chain(
                    f"attention_theory.{paper}", f"attention_theory.{sibling}", as_packages=True
                )
                assert chain is None, chain


def test_the_package_knows_nothing_of_notebooks_and_the_press_nothing_of_attention() -> None:
    graph = grimp.build_graph("attention_theory", "bookpress", cache_dir=None)
    for one, other in (("attention_theory", "bookpress"), ("bookpress", "attention_theory")):
        assert graph.find_shortest_chain(one, other, as_packages=True) is None


def test_every_least_squares_names_its_driver() -> None:
    """The default of ``torch.linalg.lstsq`` pivots on uninitialised memory: two runs differ in the last digits."""
    files = [path for folder in ("src", "notebooks") for path in (ROOT / folder).rglob("*.py")]
    calls = [
        (path.name, {keyword.arg for keyword in node.keywords})
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.linalg.lstsq"
    ]
    assert calls
    assert [name for name, keywords in calls if "driver" not in keywords] == []


def test_shapes_in_annotations_are_checked_in_the_tests() -> None:
    with pytest.raises(TypeCheckError):
        numerical_rank(torch.ones(3))

"""House rules that no other check keeps."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
import torch
from jaxtyping import TypeCheckError

from attention_theory.numerics import numerical_rank

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "attention_theory"
#: A paper's subpackage has the name of its claims; everything else is the core.
_CLAIMED = (path.stem.replace("-", "_") for path in (ROOT / "book" / "claims").glob("*.yaml"))
PAPERS = sorted(name for name in _CLAIMED if (PACKAGE / name).is_dir())
#: The rooms of the press: its folders.
PRESS = ROOT / "src" / "bookpress"
ROOMS = sorted(path.parent.name for path in PRESS.glob("*/__init__.py"))
#: How much of the press can be understood in an hour.
MOST_FILES, MOST_LINES = 45, 6865
#: The one room that sets the papers side by side, and so imports all of them. None of them imports it.
ACROSS = "bridges"
#: The names of the layers of all papers, for a user of torch who does not read the book. No paper imports it.
DOOR = {"attention_theory", "attention_theory.nn"}
#: How many names of the package a user can meet: certificates, which only pages call, are not counted.
MOST_NAMES = 860


def test_a_papers_subpackage_imports_the_core_and_never_a_sibling() -> None:
    graph = grimp.build_graph("attention_theory", cache_dir=None)
    for paper in PAPERS:
        for sibling in PAPERS:
            if sibling != paper != ACROSS:
                chain = graph.find_shortest_chain(
                    f"attention_theory.{paper}", f"attention_theory.{sibling}", as_packages=True
                )
                assert chain is None, chain


def test_the_core_imports_no_paper() -> None:
    graph = grimp.build_graph("attention_theory", cache_dir=None)
    papers = {f"attention_theory.{paper}" for paper in PAPERS}
    assert papers
    of_papers = {module for paper in papers for module in graph.find_descendants(paper)} | papers
    core = graph.modules - of_papers - DOOR
    guilty = {module for module in core if graph.find_modules_directly_imported_by(module) & of_papers}
    assert guilty == set()


def test_the_public_names_of_the_package_are_few() -> None:
    names = [
        node.name
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        else ast.unparse(node).partition(" ")[0].strip(":")
        for path in PACKAGE.rglob("*.py")
        if not re.search(r"/_[a-z]|/certifi(ed|cates)/", str(path.relative_to(PACKAGE.parent)))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)
    ]
    assert sum(not name.startswith("_") for name in names) <= MOST_NAMES


def test_a_docstring_names_what_is_refused() -> None:
    """A public function or class that checks its parameters says so under ``Raises:``."""
    silent = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for told, checked in documented(ast.parse(path.read_text())):
            if refuses(checked) and "Raises:" not in (ast.get_docstring(told) or ""):
                silent.append(f"{path.relative_to(PACKAGE)}:{told.lineno} {told.name}")
    assert silent == []


def documented(module: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, ast.FunctionDef]]:
    """Public functions and methods, each with the place of its docstring: a constructor's is that of the class."""
    public = [node for node in module.body if getattr(node, "name", "_")[0] != "_"]
    for node in public:
        if isinstance(node, ast.FunctionDef):
            yield node, node
        for method in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(node, ast.ClassDef) and isinstance(method, ast.FunctionDef):
                if method.name in ("__init__", "__post_init__"):
                    yield node, method
                elif method.name == "__call__" or not method.name.startswith("_"):
                    yield method, method


def refuses(function: ast.FunctionDef) -> bool:
    """Whether a function calls ``require`` or ``require_finite``, or raises a ``ParameterError`` itself."""
    calls = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc]
    return bool(calls & {"require", "require_finite"}) or any("ParameterError" in ast.unparse(one) for one in raised)


def test_the_package_knows_nothing_of_notebooks_and_the_press_nothing_of_attention() -> None:
    graph = grimp.build_graph("attention_theory", "bookpress", cache_dir=None)
    for one, other in (("attention_theory", "bookpress"), ("bookpress", "attention_theory")):
        assert graph.find_shortest_chain(one, other, as_packages=True) is None


def test_no_module_of_a_package_needs_itself() -> None:
    for package in ("attention_theory", "bookpress"):
        graph = grimp.build_graph(package, cache_dir=None)
        imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        assert len([*TopologicalSorter(imports).static_order()]) == len(graph.modules)  # or it names the cycle


def rooms() -> dict[str, set[str]]:
    """What each room of the press imports: its folders, and its modules outside of them."""
    graph = grimp.build_graph("bookpress", cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in graph.modules - {"bookpress"}:
        room = module.split(".")[1]
        needed = {other.split(".")[1] for other in graph.find_modules_directly_imported_by(module) if "." in other}
        found.setdefault(room, set()).update(needed - {room})
    return found


def test_the_picture_of_the_rooms_is_true() -> None:
    """Its boxes are the command line, the rooms and the files below; its arrows are the imports, and point down."""
    picture = (ROOT / "book" / "static" / "rooms.svg").read_text(encoding="utf-8")
    boxes = " ".join(re.findall(r'data-room="([\w ]+)"', picture)).split()
    arrows = re.findall(r'data-from="(\w+)" data-to="(\w+)"', picture)
    assert {*boxes} == {*rooms()}
    assert {*arrows} == {
        (room, other) for room, needed in rooms().items() for other in needed if {room, other} <= {"cli", *ROOMS}
    }
    assert all(boxes.index(room) < boxes.index(other) for room, other in arrows)


def test_the_snakefile_uses_the_graph_and_what_is_below() -> None:
    imports = re.findall(r"^from bookpress\.(\w+)", (ROOT / "Snakefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*imports} <= {"graph", *rooms()["graph"]}


def test_the_press_is_small() -> None:
    files = [path.read_text().count("\n") for path in PRESS.rglob("*.py")]
    assert len(files) <= MOST_FILES
    assert sum(files) <= MOST_LINES


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

"""What re-runs when something is edited: the fingerprint, and the graph that acts on it."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookpress.files import digest_of_file
from bookpress.layout import FULL, LAPTOP, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.source import Notebook

ROOT = Path(__file__).resolve().parents[3]
Edit = Callable[[Path, str, str], None]


@pytest.fixture
def book(toy: Any) -> Any:
    toy.add("good", "through", imports="from toy_package.near import far")
    toy.add("good", "direct", imports="from toy_package import alone")
    toy.add("good", "neither")
    return toy


def fingerprints(layout: Layout) -> dict[str, str]:
    dependencies = Dependencies(layout, "laptop")
    return {name: dependencies.fingerprint(Notebook(name, layout)) for name in layout.notebooks()}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name.removeprefix("demo/") for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("module", "reached"),
    [("far", {"through"}), ("near", {"through"}), ("alone", {"direct"}), ("__init__", {"through", "direct"})],
)
def test_editing_a_module_touches_exactly_the_notebooks_that_reach_it(
    book: Any, module: str, reached: set[str]
) -> None:
    before = fingerprints(book.layout)
    path = book.module(module)
    path.write_text(path.read_text() + "# edited\n")
    assert changed(before, fingerprints(book.layout)) == reached


def test_code_parameters_and_expectations_count_and_prose_does_not(book: Any, edit: Edit) -> None:
    before = fingerprints(book.layout)
    edit(book.layout.source("demo/neither"), "*Nobody: Lemma.*", "*Nobody: Lemma.* More words.")
    edit(book.layout.claims / "demo.yaml", "$1 < n$", "$1 < n$, in other words")
    assert changed(before, fingerprints(book.layout)) == set()
    edit(book.layout.source("demo/neither"), "n = 3", "n = 5")
    assert changed(before, fingerprints(book.layout)) == {"neither"}


@pytest.mark.parametrize(
    "code",
    [
        "from bookpress.layout import Layout\n\nLayout.here().results",
        "from bookpress.layout import Layout\n\nplace = Layout.here()\nplace.results",
        "from pathlib import Path\n\nPath('results/demo/found.json')",
    ],
)
def test_recorded_results_count_for_the_notebooks_that_read_them(book: Any, code: str) -> None:
    book.add("good", "reads", imports=code)
    before = fingerprints(book.layout)
    folder = book.layout.results / "demo"
    folder.mkdir(parents=True)
    (folder / "found.json").write_text("{}")
    assert changed(before, fingerprints(book.layout)) == {"reads"}


def test_data_files_count_for_what_imports_from_their_package_or_names_it(book: Any, edit: Edit) -> None:
    data = book.layout.packages / "toy_package" / "data"
    data.mkdir()
    (data / "__init__.py").write_text("")
    edit(book.module("far"), "VALUE = 1", 'VALUE = 1\nPLACE = "toy_package.data"')
    before = fingerprints(book.layout)
    (data / "program.txt").write_text("halt")
    named = fingerprints(book.layout)
    assert changed(before, named) == {"through"}
    (book.layout.packages / "toy_package" / "table.bin").write_bytes(b"\xff")
    assert changed(named, fingerprints(book.layout)) == {"through", "direct"}


def test_every_data_file_of_the_package_is_reached_by_some_notebook() -> None:
    layout = Layout(ROOT)
    dependencies = Dependencies(layout, "laptop")
    reached = {path for name in layout.notebooks() for path in dependencies.data_files(Notebook(name, layout))}
    files = {path for path in (layout.packages / "attention_theory").rglob("*") if path.is_file()}
    assert {path for path in files if path.suffix not in (".py", ".pyc")} <= reached


def test_the_versions_of_the_libraries_count_and_not_what_they_were_built_for(
    book: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.13.0")
    before = fingerprints(book.layout)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.13.0+cu130")
    assert changed(before, fingerprints(book.layout)) == set()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.14.0" if name == "torch" else "2.13.0")
    assert changed(before, fingerprints(book.layout)) == {"through", "direct", "neither"}


def test_a_clone_with_other_line_ends_has_the_same_fingerprints(book: Any) -> None:
    data = book.layout.packages / "toy_package" / "program.txt"
    data.write_text("load\nhalt\n")
    before = fingerprints(book.layout)
    for path in (data, *book.layout.packages.rglob("*.py"), *book.layout.sources.rglob("*.py")):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert fingerprints(book.layout) == before


def test_what_editors_leave_in_the_package_is_no_module(book: Any) -> None:
    before = fingerprints(book.layout)
    book.module("._far").write_bytes(b"\xff")
    book.module(".#far").symlink_to("me@host.1")
    assert fingerprints(book.layout) == before


def scheduled(layout: Layout, *options: str) -> set[str]:
    """The notebooks that the graph would run."""
    command = ["snakemake", "notebooks", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(layout.root)]
    command += ["--cores", "2", "--keep-going", "--rerun-triggers", "mtime", "params", "input", *options]
    environment = {**os.environ, "BOOKPRESS_ROOT": str(layout.root)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    print(done.stdout, done.stderr)
    return set(re.findall(r"\brun demo/(\w+)$", done.stdout + done.stderr, flags=re.MULTILINE))


def test_the_graph_runs_what_changed_keeps_what_finished_and_resumes(book: Any, edit: Edit) -> None:
    book.add("raises")
    assert scheduled(book.layout) == {"through", "direct", "neither", "raises"}
    assert {path.stem for path in (book.layout.build / "laptop").rglob("*.json")} == {"through", "direct", "neither"}
    assert scheduled(book.layout, "--dry-run") == {"raises"}
    book.add("good", "raises")
    assert scheduled(book.layout) == {"raises"}
    edit(book.layout.source("demo/neither"), "*Nobody: Lemma.*", "Other prose.")
    assert scheduled(book.layout, "--dry-run") == set()
    edit(book.module("far"), "VALUE = 1", "VALUE = 3")
    assert scheduled(book.layout, "--dry-run") == {"through"}


def test_a_notebook_reaches_of_the_press_what_it_uses_and_no_more() -> None:
    """What is reached re-runs every page when it is edited."""
    layout = Layout.here()
    dependencies = Dependencies(layout, LAPTOP)
    reached = {name for page in layout.notebooks() for name in dependencies.modules(Notebook(page, layout))}
    of_the_press = {name.removeprefix("bookpress.") for name in reached if name.startswith("bookpress.")}
    claims = {"claim", "evidence", "intervals", "registry", "schematic", "show"}
    assert of_the_press == {"layout", "claims", *(f"claims.{name}" for name in claims)}


@pytest.mark.parametrize(
    ("module", "kept"), [("claim.py", [True, False, True]), ("intervals.py", [True, False, False])]
)
def test_an_edit_of_the_press_leaves_what_took_hours(
    monkeypatch: pytest.MonkeyPatch, module: str, kept: list[bool]
) -> None:
    layout = Layout.here()
    page = "memorization/figure_5_regression"
    runs = [("memorization/points/one_model", LAPTOP), (page, LAPTOP), (page, FULL)]
    before = [Dependencies(layout, profile).fingerprint(Notebook(name, layout)) for name, profile in runs]
    edited: Callable[[Path], str] = lambda path: "edited" if path.name == module else digest_of_file(path)  # noqa: E731
    monkeypatch.setattr("bookpress.notebooks.dependencies.digest_of_file", edited)
    after = [Dependencies(layout, profile).fingerprint(Notebook(name, layout)) for name, profile in runs]
    assert [one == other for one, other in zip(before, after, strict=True)] == kept


def test_points_that_land_re_run_no_page() -> None:
    layout = Layout.here()
    dependencies = Dependencies(layout, LAPTOP)
    read = {path for name in layout.notebooks() for path in dependencies.data_files(Notebook(name, layout))}
    assert not [path for path in read if layout.results / "points" in path.parents]
    assert [path for path in read if layout.results in path.parents]

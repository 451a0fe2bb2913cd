"""Every notebook has the form that the book promises."""

import ast
import json
import re
from itertools import pairwise
from typing import TypeGuard

import papermill
import pytest

from bookpress.claims.registry import Paper, Registry, Verdict
from bookpress.claims.statement import BLOCK
from bookpress.layout import Layout
from bookpress.notebooks.pair import unpaired
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.figures import figure_sweeps
from page_rules import brightness_in, rhythm_faults, title_faults

LAYOUT = Layout.here()
NOTEBOOKS = LAYOUT.notebooks()
EVERY = [*NOTEBOOKS, *LAYOUT.point_notebooks()]


def test_pairs_are_in_step_and_carry_no_outputs() -> None:
    assert unpaired(LAYOUT) == {}
    for notebook in EVERY:
        pair = json.loads(LAYOUT.source(notebook).with_suffix(".ipynb").read_text())
        assert all(not cell.get("outputs") for cell in pair["cells"]), notebook


def test_written_pages_name_notebooks_that_can_be_run() -> None:
    written = [LAYOUT.root / "README.md", *LAYOUT.book.rglob("*.md")]
    named = {name for page in written for name in re.findall(r"book run ([a-z][\w-]+/\w+)", page.read_text())}
    assert len(named) > 20
    assert named <= {*EVERY}


@pytest.mark.parametrize("notebook", EVERY)
def test_parameters_are_commented_and_refused_by_name(notebook: str) -> None:
    source = Notebook(notebook, LAYOUT)
    assert source.parameters
    checked = set(re.findall(r"\b(\w+)=\(", source.code))
    for parameter in source.parameters:
        assert parameter.comment, f"{parameter.name} has no comment"
        free_text = isinstance(parameter.default, str) and parameter.name not in checked  # checked by what reads it
        assert free_text or parameter.name in checked, f"{parameter.name} is not checked by require"


@pytest.mark.parametrize("notebook", EVERY)
def test_papermill_knows_every_parameter(notebook: str) -> None:
    """It reads the cell with patterns of its own, which a comment with an equals sign defeats."""
    path = LAYOUT.source(notebook)
    known = papermill.inspect_notebook(str(path.with_suffix(".ipynb")))
    assert set(known) == {parameter.name for parameter in Notebook(notebook, LAYOUT).parameters}


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_it_has_a_title_and_shows_and_settles_its_claims(notebook: str) -> None:
    source = Notebook(notebook, LAYOUT).source
    assert source.cells[0].cell_type == "markdown"
    registry = Registry.load(LAYOUT)
    registered = registry.of_notebook(notebook).keys()
    assert registered, "no claim of the registry names this notebook"
    shown = {claim for cell in source.cells if cell.cell_type == "markdown" for claim in BLOCK.findall(cell.source)}
    assert registered <= shown
    assert all(registry.entry(claim).expected is Verdict.NOT_RUN for claim in shown - registered)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_its_title_begins_with_the_papers_number(notebook: str) -> None:
    title = Notebook(notebook, LAYOUT).title
    assert title_faults(title, list(Registry.load(LAYOUT).of_notebook(notebook).values())) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_page_keeps_the_rhythm_of_the_house(notebook: str) -> None:
    assert rhythm_faults(Notebook(notebook, LAYOUT).source) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_texts_of_drawings_name_no_brightness(notebook: str) -> None:
    """Dark mode turns drawings over, but no photographs."""
    calls = [one for one in ast.walk(ast.parse(Notebook(notebook, LAYOUT).code)) if _is_figure(one)]
    for call in calls:
        options = {one.arg: one.value for one in call.keywords}
        texts = [options[name] for name in ("caption", "alt") if name in options]
        words = [str(part.value) for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant)]
        assert "photo" in options or brightness_in("\n".join(words)) is None


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_displays_stand_in_paragraphs_of_their_own(notebook: str) -> None:
    """In the middle of one the site would show their dollar signs."""
    shared, within, before = [], False, ""
    for line in LAYOUT.source(notebook).read_text().splitlines():
        text = line.removeprefix("#").strip()
        if line.startswith("#") and "$$" in text:
            opens = not within
            within ^= text.count("$$") % 2 == 1
            if (opens and not (text.startswith("$$") and before in ("", "%% [markdown]"))) or not (
                within or text.endswith("$$")
            ):
                shared.append(line)
        before = text
    assert shared == []


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_no_line_of_a_formula_or_a_sentence_begins_a_list(notebook: str) -> None:
    """A line that begins with ``- `` or ``1. `` ends the paragraph, and the site shows the formula's dollar signs."""
    broken = []
    for cell in Notebook(notebook, LAYOUT).source.cells:
        for paragraph in re.split(r"\n\s*\n", cell.source) if cell.cell_type == "markdown" else []:
            lines = paragraph.splitlines()
            numbered = any(line.startswith("2.") for line in lines)
            for place, line in enumerate(lines[1:], 1):
                within = "\n".join(lines[:place]).count("$") % 2 == 1
                if (within and re.match(r"[-+*] ", line)) or (line.startswith("1. ") and not numbered):
                    broken.append(line)
    assert broken == []


def _is_figure(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("show.figure", "figure")


def test_every_notebook_that_the_registry_names_is_there() -> None:
    named = {entry.notebook for paper in Registry.load(LAYOUT).papers for entry in paper.claims if entry.notebook}
    assert named == set(NOTEBOOKS)


def test_every_notebook_that_makes_points_reports_and_is_used() -> None:
    offered = (LAYOUT.book / "rerun.md").read_text(encoding="utf-8")
    used = {one.sweep.notebook for one in figure_sweeps(LAYOUT)}
    used |= {name for name in LAYOUT.point_notebooks() if name in offered}
    assert used == set(LAYOUT.point_notebooks())
    assert [name for name in used if "report(" not in Notebook(name, LAYOUT).code] == []


@pytest.mark.parametrize("paper", Registry.load(LAYOUT).papers, ids=lambda paper: paper.name)
def test_each_page_of_a_spine_leads_to_the_next_and_the_chapter_lists_them(paper: Paper) -> None:
    for page, following in pairwise(paper.spine):
        last = Notebook(f"{paper.name}/{page}", LAYOUT).source.cells[-1].source.rpartition("Next: ")[2]
        assert f"]({following}.ipynb)" in last, page
    listed = re.findall(
        rf"^\d\. .*?/notebooks/{paper.name}/(\w+)",
        (LAYOUT.book / "papers" / f"{paper.name}.md").read_text(),
        re.MULTILINE,
    )
    assert listed[-len(paper.spine) :] == paper.spine or not paper.spine

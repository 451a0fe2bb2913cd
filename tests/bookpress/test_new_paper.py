"""A sixth paper, added to a copy of the tree by the steps of ``book/contributing.md`` and nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bookpress.layout import Layout

ROOT = Layout.here().root

CLAIMS = """\
name: sixth-paper
number: 7
title: "On Halving"
short_title: Halving
authors: Nobody
cite: nobody2020halving
claims:
  - id: lemma-1
    label: Lemma 1
    title: Half is less
    kind: lemma
    where: Section 2
    says: |
      $x / 2 < x$ for $x > 0$.
    check: |
      Half of a positive number is less; half of a negative one must not be.
    {settled}
"""
NOT_YET = "why: Not yet."
SETTLED = "notebook: sixth-paper/lemma_1_halving\n    expected: holds"
MODULE = '''"""Halving (Section 2)."""

from torch import Tensor


def half(x: Tensor) -> Tensor:
    """Half of ``x``, of any shape."""
    return x / 2
'''
TEST = '''"""Half of a number."""

import torch

from attention_theory.sixth_paper.halving import half


def test_half_of_two_is_one() -> None:
    assert half(torch.tensor(2.0)) == 1
'''
#: What the author of the notebook replaces in the skeleton.
EDITS = {
    "from attention_theory.validation": "from attention_theory.sixth_paper.halving import half\n"
    "from attention_theory.validation",
    "values = torch.randn(tokens, generator=generator(seed), dtype=torch.float64)": "values = half("
    "torch.rand(tokens, generator=generator(seed), dtype=torch.float64) + 1)",
    'at_least("the same with an assumption broken: it must fail", values.square().sum(), 0)': (
        'below("of a negative number", half(-values).max(), (-values).max())'
    ),
}


class Tree:
    """A copy of the repository in which commands are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("src", "book", "tests"):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "generated"))
        for name in ("pyproject.toml", "_config.yml", "Snakefile"):
            shutil.copy(ROOT / name, root)
        (root / "notebooks").mkdir()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, *command: str) -> str:
        """The output of a command, which must end well."""
        environment = {name: value for name, value in os.environ.items() if name != "BOOKPRESS_ROOT"}
        environment["PYTHONPATH"] = str(self.root / "src")
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


@pytest.mark.slow
def test_a_sixth_paper_needs_its_own_files_and_no_other(tree: Tree) -> None:
    tree.write("book/claims/sixth-paper.yaml", CLAIMS.format(settled=NOT_YET))
    tree.write("book/papers/sixth-paper.md", "# On halving\n")
    tree.write("src/attention_theory/sixth_paper/__init__.py", '"""Nobody: On Halving."""\n')
    tree.write("src/attention_theory/sixth_paper/halving.py", MODULE)
    tree.write("tests/attention_theory/sixth_paper/test_halving.py", TEST)

    tree.run("book", "new", "sixth-paper", "lemma-1", "--slug", "halving")
    notebook = tree.root / "notebooks" / "sixth-paper" / "lemma_1_halving.py"
    text = notebook.read_text()
    for old, new in EDITS.items():
        assert old in text
        text = text.replace(old, new)
    notebook.write_text(text)
    tree.write("book/claims/sixth-paper.yaml", CLAIMS.format(settled=SETTLED))
    tree.run("book", "pair")

    tree.run("ruff", "check", ".")
    tree.run("ruff", "format", "--check", ".")
    tree.run("book", "pair", "--check")
    tree.run("book", "run", "sixth-paper/lemma_1_halving")
    tree.run("python", "tests/laptop_values.py", "sixth-paper")
    tree.run("book", "bind")
    scoreboard = (tree.root / "book" / "generated" / "scoreboard.md").read_text()
    assert "{claim:ref}`Lemma 1 <sixth-paper/lemma-1>`" in scoreboard
    contents = (tree.root / "book" / "_toc.yml").read_text()
    assert "papers/sixth-paper" in contents
    assert "Half is less" in contents

    # The other papers' notebooks are not in this tree, so of the tests of notebooks those of this paper are run.
    tests = ("test_conventions.py", "attention_theory/sixth_paper", "bookpress/claims/test_registry.py", "notebooks")
    paths = [f"tests/{name}" for name in tests]
    tree.run(
        "python", "-m", "pytest", "-p", "no:cacheprovider", "-k", "sixth or test_conventions or test_registry", *paths
    )

"""Every page that trains takes a device, and finds on an accelerator what it finds on the CPU."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from bookpress.claims.evidence import Number, describe
from bookpress.claims.registry import Registry, Verdict
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.run import run
from bookpress.notebooks.source import Notebook
from laptop_values import Kept, Laptop, is_same, values_of

LAYOUT = Layout.here()
NOTEBOOKS = LAYOUT.notebooks()
EXPERIMENTS = [name for name in NOTEBOOKS if "device" in {one.name for one in Notebook(name, LAYOUT).parameters}]

#: An accelerator sums in orders of its own, and training makes more of rounding: of a value that is kept, or of the
#: range that the arithmetic of other processors has given it, it may be off by so much of its size, or by the range's
#: own length where that is more. What is counted in standard errors has an error of one. What is at the level of
#: rounding on the CPU must be so there.
BAND = 0.25

#: Trainers that make no experiment, and why; who uses them trains nothing by it.
EXEMPT = {
    "attention_theory.hyper_attention.certified.gradients.certify_tuple_conservation": "a gradient at one point",
    "attention_theory.hyper_attention.interactions.projections.search_entrywise": "an example, which is then checked",
    "attention_theory.looped_transformers.programs.backpropagation.SigmoidNetwork": "what a machine's program computes",
}

on_an_accelerator = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no accelerator here")


@on_an_accelerator
@pytest.mark.parametrize("notebook", EXPERIMENTS)
def test_what_is_found_on_an_accelerator_is_what_is_kept(notebook: str, tmp_path: Path) -> None:
    record = run(notebook, {"device": "cuda"}, LAPTOP, LAYOUT, tmp_path / "there.ipynb")
    kept = Laptop.of(LAYOUT, notebook.partition("/")[0]).values[notebook]
    found = values_of(record)
    assert {claim: set(labels) for claim, labels in found.items()} == {
        claim: set(labels) for claim, labels in kept.items()
    }
    expected = {name: entry.expected for name, entry in Registry.load(LAYOUT).of_notebook(notebook).items()}
    decided = [settled for settled in record.claims if expected[settled.claim] is not Verdict.UNDECIDED]
    assert [describe(item) for settled in decided for item in settled.evidence if item.out_of_role] == []
    off = [
        f"{claim}: {label}: {value}, kept {kept[claim][label]}"
        for claim, labels in found.items()
        for label, value in labels.items()
        if not is_near(value, kept[claim][label], 1.0 if "standard error" in label else 0.0)
    ]
    assert off == []


def is_near(ours: Number, kept: Kept, error: float = 0.0) -> bool:
    """Whether a value is the one kept, up to its own error and to what an accelerator may make of it."""
    if is_same(ours, kept) or isinstance(ours, str | bool) or isinstance(kept, str | bool):
        return is_same(ours, kept)
    _, low, high = (kept, kept, kept) if isinstance(kept, int | float) else kept
    slack = max(BAND * max(abs(low), abs(high)), high - low, error)
    return low - slack <= ours <= high + slack


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_what_imports_a_trainer_takes_a_device(notebook: str) -> None:
    used = imported(ast.parse(Notebook(notebook, LAYOUT).code)) & trainers() - EXEMPT.keys()
    assert notebook in EXPERIMENTS or not used, f"trains by {sorted(used)} and has no parameter 'device'"


def test_trainers_are_found() -> None:
    assert {
        "attention_theory.training.train_many",
        "attention_theory.memorization.trainer.PanelTrainer",
        "attention_theory.memorization.sweeps.sweep",  # by what it calls
    } <= trainers()
    assert "attention_theory.randomness.normal" not in trainers()
    assert EXEMPT.keys() <= trainers()


def test_the_device_of_every_page_is_one_of_two() -> None:
    for notebook in EXPERIMENTS:
        parameter = next(one for one in Notebook(notebook, LAYOUT).parameters if one.name == "device")
        assert parameter.default == "cpu", notebook
        assert parameter.rule, notebook
        assert parameter.rule.text == "one of {'cpu', 'cuda'}", notebook


def test_products_are_in_full_precision() -> None:
    """TF32 keeps three digits of a product: torch leaves it off, and nothing in the project turns it on."""
    assert torch.get_float32_matmul_precision() == "highest"
    sources = [path for name in ("src", "notebooks", "benchmarks") for path in (LAYOUT.root / name).rglob("*.py")]
    words = ("allow_tf32", "set_float32_matmul_precision", "fp32_precision", "autocast")
    assert [path.name for path in sources if any(word in path.read_text(encoding="utf-8") for word in words)] == []


@cache
def trainers() -> frozenset[str]:
    """By dotted names: the functions and classes of the package that step along gradients, and all that use them."""
    code = dict(definitions())
    found = {name for name, (node, _) in code.items() if steps_along_gradients(node)}
    while True:
        users = {
            name
            for name, (node, known) in code.items()
            if any(isinstance(one, ast.Name) and known.get(one.id) in found - EXEMPT.keys() for one in ast.walk(node))
        }
        if users <= found:
            return frozenset(found)
        found |= users


def definitions() -> Iterator[tuple[str, tuple[ast.stmt, dict[str, str]]]]:
    """Every function and class by its dotted name, with the dotted names that its module knows others by."""
    for path in sorted((LAYOUT.packages / "attention_theory").rglob("*.py")):
        module = ".".join(path.relative_to(LAYOUT.packages).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        known = {name.rpartition(".")[2]: name for name in imported(tree)} | {name: f"{module}.{name}" for name in own}
        yield from ((f"{module}.{name}", (node, known)) for name, node in own.items())


def imported(tree: ast.AST) -> set[str]:
    """The dotted names of what is imported from somewhere."""
    return {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def steps_along_gradients(node: ast.AST) -> bool:
    """Whether code speaks of torch's optimisers, or takes gradients or steps over and over."""
    loops = [one for one in ast.walk(node) if isinstance(one, ast.For | ast.While)]
    called = [one.func for loop in loops for one in ast.walk(loop) if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Attribute) and one.attr == "optim" for one in ast.walk(node)) or any(
        isinstance(one, ast.Attribute) and one.attr in ("step", "grad", "backward") for one in called
    )

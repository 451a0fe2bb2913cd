"""A page that takes a device finds on an accelerator what it finds on the CPU."""

from pathlib import Path

import pytest
import torch

from bookpress.claims.evidence import Number, describe
from bookpress.claims.registry import Registry, Verdict
from bookpress.layout import FULL, LAPTOP, Layout
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.run import run
from bookpress.notebooks.source import Notebook
from laptop_values import Kept, Laptop, is_same, values_of

LAYOUT = Layout.here()
EXPERIMENTS = [
    name for name in LAYOUT.notebooks() if "device" in {one.name for one in Notebook(name, LAYOUT).parameters}
]

#: An accelerator sums in orders of its own, and training makes more of rounding: of a value that is kept, or of the
#: range that the arithmetic of other processors has given it, it may be off by so much of its size, or by the range's
#: own length where that is more. What is counted in standard errors has an error of one. What is at the level of
#: rounding on the CPU must be so there.
BAND = 0.25

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


def test_what_needs_an_accelerator_at_full_size_takes_a_device() -> None:
    runs = load_profile(FULL, LAYOUT)
    needing = {name for name, settings in runs.items() if settings.gpu}
    needing |= {sweep.notebook for settings in runs.values() for sweep in settings.sweeps if sweep.gpu}
    assert needing
    for name in needing:
        assert "device" in {one.name for one in Notebook(name, LAYOUT).parameters}, name


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

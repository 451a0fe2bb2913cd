"""What the full-size tables cost: the figures of the profile, computed from the operations on record."""

import json
import re

import pytest
import yaml

from bookpress.layout import Layout
from bookpress.sweeps.full_size import figure_sweeps
from bookpress.sweeps.points import number_of

LAYOUT = Layout.here()
if not (LAYOUT.profiles / "full.yaml").is_file():
    pytest.skip("a book without the papers' tables", allow_module_level=True)
PAGE = "hyper-attention/table_1_language_model"
WIDTH, WINDOW, VOCABULARY, TOKENS = 768, 256, 50257, 28_000 * 625 * 256


@pytest.fixture(scope="module")
def training() -> dict[str, float]:
    """Operations of a training run, by the model: three times its forward products."""
    kept = json.loads((LAYOUT.root / "results/laptop/hyper-attention.json").read_text())["values"]
    found = kept[PAGE]["hyper-attention/remark-matched-compute"]
    products = 2 * (12 * WIDTH**2 + WIDTH * VOCABULARY) + 4 * WINDOW * WIDTH  # a token: weights, scores and values
    once = 3.0 * TOKENS * products
    return {
        "self-attention": once,
        "HyperAttention": once * found["HyperAttention: operations of the model over self-attention's"],
        "no sharing": once * found["the same without sharing"],
    }


def test_the_cost_of_table_1_is_that_of_its_operations(training: dict[str, float]) -> None:
    cost = yaml.safe_load((LAYOUT.profiles / "full.yaml").read_text())[PAGE]["cost"]
    plain, pairs = (1e18 * float(found) for found in re.findall(r"(\d\.\d)·10¹⁸", cost))
    assert plain == pytest.approx(training["self-attention"], rel=0.05)
    assert pairs == pytest.approx((training["HyperAttention"] + training["no sharing"]) / 2, rel=0.05)


def test_the_points_of_table_1_cost_the_mean_of_its_models(training: dict[str, float]) -> None:
    sweep = next(one for one in figure_sweeps(LAYOUT) if one.page == PAGE and one.sweep.operations)
    planned = sum(number_of(sweep.sweep.operations, one) for one in sweep.points) / len(sweep.points)
    mean = (2 * training["self-attention"] + training["HyperAttention"] + training["no sharing"]) / 4
    assert planned == pytest.approx(mean, rel=0.05)

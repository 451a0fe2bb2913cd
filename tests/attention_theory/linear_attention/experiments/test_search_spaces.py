import pytest
import torch

from attention_theory.linear_attention.experiments.search_spaces import (
    FIGURE_1,
    FIGURE_1_RUNS,
    FIGURE_3,
    SQUARE,
    best_settings,
    outside,
)
from bookpress.layout import Layout
from bookpress.notebook import parameters_of, read_source
from bookpress.profile import settings_for


def test_settings_outside_the_space_are_named() -> None:
    assert outside(FIGURE_1, {"width": 4, "heads": 16, "rate": 0.001}) == []
    assert outside(FIGURE_1, {"width": 3, "heads": 16, "colour": "red"}) == ["width", "colour"]
    assert outside(FIGURE_3, {"examples": 12290, "layers": 2}) == ["layers"]


def test_the_best_setting_is_that_of_least_geometric_mean_and_never_one_that_diverged() -> None:
    errors = torch.tensor([[[1e-2, 1e-6, 1e-9], [1.0, 2.0, torch.nan]], [[1e-2, 1e-6, 1e6], [1.0, 0.1, 1e-9]]])
    assert best_settings(errors).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["figure_1a_heads", "figure_1_depth", "figure_1_samples"])
@pytest.mark.parametrize(("size", "profile"), [("laptop", "laptop"), ("full size", "full")])
def test_the_runs_are_those_of_the_notebooks(name: str, size: str, profile: str) -> None:
    layout, notebook = Layout.here(), f"linear-attention/{name}"
    source = read_source(layout.source(notebook))
    taken = {one.name: one.default for one in parameters_of(source, notebook)}
    taken |= settings_for(notebook, profile, layout).parameters
    run = FIGURE_1_RUNS[f"{name}, {size}"]
    assert run["width"] == tuple(taken["widths"])
    assert run["rate"] == tuple(taken["rates"])
    assert run["batch"] == (taken["batch"],)
    assert ("AdamW" in run["optimizer"]) == ("decay" in taken)
    assert run["heads"] == tuple(taken["heads"]) if "heads" in taken else SQUARE in run["heads"]
    assert list(run) == list(FIGURE_1)

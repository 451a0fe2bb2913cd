import pytest

from attention_theory.linear_attention.experiments.search_spaces import (
    _SQUARE,
    FIGURE_1,
    FIGURE_1_RUNS,
    FIGURE_3,
    outside,
)
from bookpress.layout import Layout
from bookpress.notebooks.profile import settings_for
from bookpress.notebooks.source import Notebook


def test_settings_outside_the_space_are_named() -> None:
    assert outside(FIGURE_1, {"width": 4, "heads": 16, "rate": 0.001}) == []
    assert outside(FIGURE_1, {"width": 3, "heads": 16, "colour": "red"}) == ["width", "colour"]
    assert outside(FIGURE_3, {"examples": 12290, "layers": 2}) == ["layers"]


@pytest.mark.parametrize("name", ["figure_1a_heads", "figure_1_depth", "figure_1_samples"])
@pytest.mark.parametrize(("size", "profile"), [("laptop", "laptop"), ("full size", "full")])
def test_the_runs_are_those_of_the_notebooks(name: str, size: str, profile: str) -> None:
    layout, notebook = Layout.here(), f"linear-attention/{name}"
    taken = Notebook(notebook, layout).defaults | settings_for(notebook, profile, layout).parameters
    run = FIGURE_1_RUNS[f"{name}, {size}"]
    assert run["width"] == tuple(taken["widths"])
    assert run["rate"] == tuple(taken["rates"])
    assert run["batch"] == (taken["batch"],)
    assert ("AdamW" in run["optimizer"]) == ("decay" in taken)
    assert run["heads"] == tuple(taken["heads"]) if "heads" in taken else _SQUARE in run["heads"]
    assert list(run) == list(FIGURE_1)

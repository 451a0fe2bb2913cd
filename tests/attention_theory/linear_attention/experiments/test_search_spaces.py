import pytest

from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1, FIGURE_1_RUNS, FIGURE_3, outside
from bookpress.layout import Layout
from bookpress.notebook import parameters_of, read_source
from bookpress.profile import settings_for


def test_settings_outside_the_space_are_named() -> None:
    assert outside(FIGURE_1, {"width": 4, "heads": 16, "rate": 0.001}) == []
    assert outside(FIGURE_1, {"width": 3, "heads": 16, "colour": "red"}) == ["width", "colour"]
    assert outside(FIGURE_3, {"examples": 12290, "layers": 2}) == ["layers"]


@pytest.mark.parametrize("name", ["figure_1a_heads", "figure_1_depth"])
@pytest.mark.parametrize(("size", "profile"), [("laptop", "laptop"), ("full size", "full")])
def test_the_runs_are_those_of_the_notebooks(name: str, size: str, profile: str) -> None:
    layout, notebook = Layout.here(), f"linear-attention/{name}"
    source = read_source(layout.source(notebook))
    taken = {one.name: one.default for one in parameters_of(source, notebook)}
    taken |= settings_for(notebook, profile, layout).parameters
    run = FIGURE_1_RUNS[f"{name}, {size}"]
    assert run["width"] == tuple(taken["widths"])
    assert run["rate"] == tuple(taken.get("rates", [taken.get("rate")]))
    assert run["batch"] == (taken.get("batch", "all"),)
    squares = (1, *(width**2 for width in taken["widths"]))
    assert run["heads"] == tuple(taken.get("heads", squares))
    assert list(run) == list(FIGURE_1)

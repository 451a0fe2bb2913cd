"""What the full profile asks for in Figures 2 to 5 is the grid of the authors' commands, in runs and sweeps alike."""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, SEEDS, WIDTH, PrintedPanel, printed_panels
from bookpress.layout import FULL, Layout
from bookpress.notebooks.profile import Settings, load_profile
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.points import points_of

LAYOUT = Layout.here()
if not (LAYOUT.profiles / f"{FULL}.yaml").is_file():
    pytest.skip("a book without the papers' figures", allow_module_level=True)
FULL_SIZE = load_profile(FULL, LAYOUT)
PANELS = {panel.name: panel for panel in printed_panels()}

#: The printed panel of each sweep, and the names of its page's axes.
SWEEPS = {
    ("figure_2_memorised_fraction", "(a) heads"): "Figure 2(a), heads",
    ("figure_2_memorised_fraction", "(b) context"): "Figure 2(b), context",
    ("figure_2_memorised_fraction", "(c) width of the keys"): "Figure 2(c), key width",
    ("figure_4_general_position", "heads"): "Figure 4, heads, classes",
    ("figure_4_general_position", "context"): "Figure 4, context, classes",
    ("figure_4_regression", "heads"): "Figure 4, heads, numbers",
    ("figure_4_regression", "context"): "Figure 4, context, numbers",
    ("figure_5_regression", "heads"): "Figure 5, heads",
    ("figure_5_regression", "context"): "Figure 5, context",
}


def settings_of(page: str) -> Settings:
    return FULL_SIZE[f"memorization/{page}"]


def run_of(heads: int, tokens: int, examples: int, head_width: int, steps: int, count: int = SEEDS) -> Counter[Any]:
    return Counter({(heads, tokens, examples, head_width, steps): count})


def printed(panel: PrintedPanel) -> Counter[Any]:
    """The runs of a panel with the paper's seeds; beside the printed widths of keys that of n, which the page needs."""
    runs: Counter[Any] = Counter()
    for one in panel.settings:
        runs += run_of(one.heads, one.tokens, one.examples, one.head_width, panel.steps(one))
    if panel.name == "Figure 2(c), key width":
        for examples in {one.examples for one in panel.settings}:
            runs += run_of(30, 32, examples, 32, 300_000)
    return runs


@pytest.mark.parametrize(("page", "title"), SWEEPS)
def test_the_sweeps_are_the_printed_grid(page: str, title: str) -> None:
    panel = PANELS[SWEEPS[page, title]]
    sweep = next(one for one in settings_of(page).sweeps if one.title == title)
    runs: Counter[Any] = Counter()
    for point in points_of(Notebook(sweep.notebook, LAYOUT), sweep.axes, sweep.parameters):
        one = point.parameters
        assert (one["width"], one["batch"], one["rate"], one["start"]) == (WIDTH, BATCH, RATE, "xavier")
        assert (one["labels"], one["contexts"] == "shared") == (panel.labels, panel.shared)
        assert panel.labels == "real" or one["classes"] == CLASSES
        steps = max(one["epochs"] * one["examples"] // one["batch"], one["least_steps"])
        runs += run_of(one["heads"], one["context"], one["examples"], one["key_width"], steps, 1)
    assert runs == printed(panel)


def page_runs(asked: dict[str, Any], axis: str) -> Counter[Any]:
    """The runs of one panel of a page, from its parameters."""
    runs: Counter[Any] = Counter()
    if axis == "keys":
        for T, width in product(asked["keys_examples"], asked["key_widths"]):
            runs += run_of(30, asked["keys_context"], T, width, asked["keys_steps"], asked["keys_seeds"])
        return runs
    heads = asked["head_counts"] if axis == "heads" else [asked["contexts_heads"]]
    contexts = asked["contexts"] if axis == "contexts" else [asked["heads_context"]]
    seeds = asked["contexts_seeds"] if axis == "contexts" and "contexts_seeds" in asked else asked["seeds"]
    for T, H, n in product(asked[f"{axis}_examples"], heads, contexts):
        steps = max(asked["epochs"] * T // asked["batch"], asked["steps"])
        runs += run_of(H, n, T, asked["width"], steps, seeds)
    return runs


@pytest.mark.parametrize(("page", "title"), SWEEPS)
def test_the_pages_run_the_printed_grid(page: str, title: str) -> None:
    asked = settings_of(page).parameters
    axis = "heads" if "heads" in title else "keys" if "keys" in title else "contexts"
    assert page_runs(asked, axis) == printed(PANELS[SWEEPS[page, title]])
    assert (asked["width"], asked["batch"], asked["rate"], asked["start"]) == (WIDTH, BATCH, RATE, "xavier")


def test_figure_3_is_trained_as_printed() -> None:
    asked = settings_of("figure_3_saturation").parameters
    panel = PANELS["Figure 3"]
    sizes = [(asked["few_heads"], asked["few_examples"]), (asked["many_heads"], asked["many_examples"])]
    assert sizes == [(one.heads, one.examples) for one in panel.settings]
    assert {asked["context"]} == {one.tokens for one in panel.settings}
    assert {asked["steps"]} == {panel.steps(one) for one in panel.settings}
    assert (asked["width"], asked["classes"], asked["batch"], asked["rate"]) == (WIDTH, CLASSES, BATCH, RATE)
    assert (asked["seeds"], asked["further"]) == (SEEDS, 1)

"""The full profile of Figures 2 to 5, and the panels on record, have the grid of the authors' commands."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, SEEDS, WIDTH, PrintedPanel, printed_panels
from bookpress.layout import FULL, Layout
from bookpress.notebooks.profile import Settings, load_profile

LAYOUT = Layout.here()
if not (LAYOUT.profiles / f"{FULL}.yaml").is_file():
    pytest.skip("a book without the papers' figures", allow_module_level=True)
FULL_SIZE = load_profile(FULL, LAYOUT)
PANELS = {panel.name: panel for panel in printed_panels()}

#: The printed panel of each axis of a page.
AXES = {
    ("figure_2_memorised_fraction", "heads"): "Figure 2(a), heads",
    ("figure_2_memorised_fraction", "contexts"): "Figure 2(b), context",
    ("figure_2_memorised_fraction", "keys"): "Figure 2(c), key width",
    ("figure_4_general_position", "heads"): "Figure 4, heads, classes",
    ("figure_4_general_position", "contexts"): "Figure 4, context, classes",
    ("figure_4_regression", "heads"): "Figure 4, heads, numbers",
    ("figure_4_regression", "contexts"): "Figure 4, context, numbers",
    ("figure_5_regression", "heads"): "Figure 5, heads",
    ("figure_5_regression", "contexts"): "Figure 5, context",
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


@pytest.mark.parametrize(("page", "axis"), AXES)
def test_the_pages_run_the_printed_grid(page: str, axis: str) -> None:
    asked = settings_of(page).parameters
    assert page_runs(asked, axis) == printed(PANELS[AXES[page, axis]])
    assert (asked["width"], asked["batch"], asked["rate"], asked["start"]) == (WIDTH, BATCH, RATE, "xavier")


def test_figure_3_is_trained_as_printed() -> None:
    asked = settings_of("figure_3_saturation").parameters
    panel = PANELS["Figure 3"]
    sizes = [(asked["few_heads"], asked["few_examples"]), (asked["many_heads"], asked["many_examples"])]
    assert sizes == [(one.heads, one.examples) for one in panel.settings]
    assert {asked["context"]} == {one.tokens for one in panel.settings}
    assert {asked["steps"]} == {panel.steps(one) for one in panel.settings}
    assert panel.steps_in_all == 2 * asked["steps"]
    assert (asked["width"], asked["classes"], asked["batch"], asked["rate"]) == (WIDTH, CLASSES, BATCH, RATE)
    assert (asked["seeds"], asked["further"]) == (SEEDS, 1)


@pytest.mark.parametrize(
    "path", sorted((LAYOUT.results / "memorization" / "panels").glob("*.json")), ids=lambda p: p.stem
)
def test_a_panel_on_record_is_a_printed_one_with_its_seeds(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows, settings = content["rows"], PANELS[content["panel"]].settings
    assert [tuple(row[:4]) for row in rows] == [
        (one.heads, one.tokens, one.examples, one.head_width) for one in settings
    ]
    assert {len(row[4]) for row in rows} == {SEEDS}

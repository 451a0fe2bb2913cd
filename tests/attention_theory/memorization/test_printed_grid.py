"""The grid of Section 5.2 as the text describes it."""

import pytest

from attention_theory.memorization.printed_grid import CLASSES, WIDTH, PrintedPanel, printed_panels
from attention_theory.memorization.synthetic import Setting

PANELS = {panel.name: panel for panel in printed_panels()}


def test_a_seed_has_342_runs() -> None:
    assert len(PANELS) == len(printed_panels())
    assert sum(len(panel.settings) for panel in PANELS.values()) == 342


def test_every_example_of_figure_4_has_a_context_of_its_own_and_all_others_share_one() -> None:
    assert {name for name, panel in PANELS.items() if not panel.shared} == {
        name for name in PANELS if name.startswith("Figure 4")
    }


def test_numbers_are_fitted_in_figure_5_and_in_half_of_figure_4() -> None:
    real = {name for name, panel in PANELS.items() if panel.labels == "real"}
    assert real == {name for name in PANELS if name.startswith("Figure 5") or "numbers" in name}
    assert CLASSES == 100


@pytest.mark.parametrize(
    ("examples", "long", "steps"), [(100, False, 50_000), (51_200, False, 100_000), (100, True, 300_000)]
)
def test_a_run_is_500_epochs_or_50_000_steps_or_long(examples: int, long: bool, steps: int) -> None:
    setting = Setting(4, 32, examples, WIDTH)
    panel = PrintedPanel("one", [setting, setting], long=long)
    assert panel.steps(setting) == steps
    assert panel.steps_in_all == 2 * steps

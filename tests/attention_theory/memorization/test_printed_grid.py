"""The grid of Section 5.2 as the text describes it."""

from attention_theory.memorization.printed_grid import CLASSES, printed_panels

PANELS = {panel.name: panel for panel in printed_panels()}


def test_every_example_of_figure_4_has_a_context_of_its_own_and_all_others_share_one() -> None:
    assert {name for name, panel in PANELS.items() if not panel.shared} == {
        name for name in PANELS if name.startswith("Figure 4")
    }


def test_numbers_are_fitted_in_figure_5_and_in_half_of_figure_4() -> None:
    real = {name for name, panel in PANELS.items() if panel.labels == "real"}
    assert real == {name for name in PANELS if name.startswith("Figure 5") or "numbers" in name}
    assert CLASSES == 100

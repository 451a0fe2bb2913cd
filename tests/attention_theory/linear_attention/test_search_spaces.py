from attention_theory.linear_attention.search_spaces import FIGURE_1, FIGURE_3, outside


def test_settings_outside_the_space_are_named() -> None:
    assert outside(FIGURE_1, {"width": 4, "heads": 16, "rate": 0.001}) == []
    assert outside(FIGURE_1, {"width": 3, "heads": 16, "colour": "red"}) == ["width", "colour"]
    assert outside(FIGURE_3, {"examples": 12290, "layers": 2}) == ["layers"]

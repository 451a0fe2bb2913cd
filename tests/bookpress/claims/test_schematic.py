"""Schematic drawings: what is asked for is there, and other parts can be attached where it says."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

from bookpress.claims import schematic, show


@pytest.fixture
def axis() -> Axes:
    return schematic.canvas(7, 3)[1]


def words_on(axis: Axes) -> list[str]:
    return [text.get_text() for text in axis.texts]


def test_tokens_are_boxes_in_a_row(axis: Axes) -> None:
    tops = schematic.tokens(axis, ["blue", "key", "gold"], lit=[2])
    assert words_on(axis) == ["blue", "key", "gold"]
    assert [top[0] for top in tops] == sorted(top[0] for top in tops)
    assert len({tuple(patch.get_edgecolor()) for patch in axis.patches}) == 2


def test_a_window_is_open_on_its_integers_alone(axis: Axes) -> None:
    schematic.windows(axis, [(4, 7), (12, 15)], 15, (0, 0), 0.5)
    lit = [text.get_text() for text in axis.texts if text.get_color() == schematic.BLUE]
    assert lit == ["4", "5", "6", "7", "12", "13", "14", "15"]


def test_a_corner_of_the_simplex_has_all_weight(axis: Axes) -> None:
    corner, middle = schematic.simplex(axis, "abc", (1, 1), 2, [(1, 0, 0), (1 / 3, 1 / 3, 1 / 3)])
    assert corner == pytest.approx((1, 1))
    assert middle[0] == pytest.approx(2)


def test_cells_of_a_matrix_show_their_values(axis: Axes) -> None:
    left, upper, right, lower = schematic.matrix(axis, [[1, 0], [-1, 0.5]], (0, 0), cell=1, words="C")
    assert [patch.get_facecolor()[-1] for patch in axis.patches] == [1, 0, 1, 0.5]
    assert (left[0], right[0], lower[1], upper[1]) == (0, 2, 0, 2)


def test_a_drawing_is_one_svg_in_the_face_of_the_book() -> None:
    fig, axis = schematic.canvas()
    schematic.arrow(axis, (1, 1), (3, 1), "reads", bend=0.3)
    assert axis.texts[0].get_fontfamily()[0] == "Book Display"
    assert show.svg_of(fig).count("<svg") == 1
    plt.close(fig)

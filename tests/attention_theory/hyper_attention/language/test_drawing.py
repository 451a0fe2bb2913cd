import matplotlib.pyplot as plt
import pytest

from attention_theory.hyper_attention.language.drawing import draw_courses
from attention_theory.hyper_attention.language.pretraining import Course


def test_means_over_the_seeds_and_gains_over_no_attention() -> None:
    courses = {
        "no attention": [
            Course([0, 5, 9], [4.0, 3.0, 2.0], [2.0, 2.0]),
            Course([0, 5, 9], [4.0, 5.0, 4.0], [4.0, 4.0]),
        ],
        "SA": [Course([0, 5, 9], [4.0, 2.0, 1.0], [2.0, 0.0]), Course([0, 5, 9], [4.0, 2.0, 2.0], [4.0, 0.0])],
    }
    fig, (learning, places) = plt.subplots(1, 2)
    draw_courses(learning, places, courses, 2.5, ["red", "blue"], ["o", "s"])
    blind, seeing, counted = learning.get_lines()
    assert list(blind.get_xdata()) == [5, 9]
    assert list(blind.get_ydata()) == pytest.approx([4.0, 3.0])
    assert list(seeing.get_ydata()) == pytest.approx([2.0, 1.5])
    assert (seeing.get_label(), seeing.get_color(), seeing.get_marker()) == ("SA", "blue", "s")
    assert set(counted.get_ydata()) == {2.5}
    (gain,) = places.get_lines()  # none of no attention over itself
    assert list(gain.get_ydata()) == pytest.approx([0.0, 3.0])
    plt.close(fig)

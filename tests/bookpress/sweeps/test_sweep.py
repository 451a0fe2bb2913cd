"""Sweeps: the points that axes span, and what is refused before anything is run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookpress.notebooks.profile import Sweep
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.sweep import SweepError, axes_of, identity_of, in_order, number_of, points_of


@pytest.fixture
def notebook(toy: Any) -> Notebook:
    return Notebook(toy.add_point(), toy.layout)


def test_axes_are_lists_of_values_or_spans(notebook: Notebook) -> None:
    axes = axes_of(["n=1,2,4", "seed=0..3", "heads=1,[2,3]", "kind=a"], notebook)
    assert axes == {"n": [1, 2, 4], "seed": [0, 1, 2, 3], "heads": [[1], [2, 3]], "kind": ["a"]}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "needs an axis"),
        (["n"], "key=value"),
        (["n="], "the axis n has no values"),
        (["seed=3..1"], "the axis seed has no values"),
        (["n=1,2,1"], "the value 1 twice"),
        (["n=1", "n=2"], "the axis n is given twice"),
        (["m=1,2"], "no parameter 'm'; it has: n,"),
        (["n=0,1"], "n=0 is out of its range: at least 1"),
        (["n=many"], "n='many' is a text, the parameter is a number"),
        (["heads=1,0"], r"heads=\[0\] is out of its range: each at least 1"),
        (["kind=a,c"], "kind='c' is out of its range: one of"),
    ],
)
def test_axes_that_do_not_fit_are_refused_by_name(notebook: Notebook, texts: list[str], said: str) -> None:
    with pytest.raises(SweepError, match=said):
        points_of(notebook, axes_of(texts, notebook), {})


def test_points_are_known_by_their_parameters_but_for_the_device(notebook: Notebook) -> None:
    points = points_of(notebook, {"n": [3, 4], "seed": [0, 1]}, {"kind": "b"})
    assert [point.name for point in points] == [
        "n=3,seed=0,kind=b",
        "n=3,seed=1,kind=b",
        "n=4,seed=0,kind=b",
        "n=4,seed=1,kind=b",
    ]
    assert len({point.identity for point in points}) == 4
    elsewhere = points_of(notebook, {"seed": [0, 1], "n": [3, 4]}, {"kind": "b", "device": "cuda"})
    assert {point.identity for point in elsewhere} == {point.identity for point in points}


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_two_texts_have_two_names(texts: list[str]) -> None:
    from bookpress.sweeps.sweep import _name

    assert len({_name({"kind": text}) for text in texts}) == 2
    assert all("/" not in _name({"kind": text}) and len(_name({"kind": text})) < 200 for text in texts)


def test_what_is_most_telling_comes_first(notebook: Notebook) -> None:
    points = points_of(notebook, {"n": [4, 1], "seed": [1, 0]}, {})
    assert next(point.name for point in in_order(points, "n")) == "n=1,seed=0"
    assert [point.parameters["seed"] for point in in_order(points, "")] == [0, 0, 1, 1]
    assert number_of("0.5 * n * len(heads)", points[0]) == 4.0
    for text in ("m", "__import__('os')", "n +", "n / 0"):
        with pytest.raises(SweepError, match="is no number made of the parameters"):
            number_of(text, points[0])


def test_a_description_takes_spans(notebook: Notebook) -> None:
    one = {"title": "a", "notebook": "demo/points/point", "seconds": "1", "across": "n", "number": "loss"}
    assert Sweep.model_validate({**one, "axes": {"n": [1], "seed": "0..2"}}).axes == {"n": [1], "seed": [0, 1, 2]}


def test_identity_does_not_depend_on_the_order_of_parameters() -> None:
    assert identity_of("a", {"x": 1, "y": 2}) == identity_of("a", {"y": 2, "x": 1, "device": "cuda"})

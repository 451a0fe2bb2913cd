"""Values from the command line: read in the kind of their parameter, or refused by name."""

from typing import Any

import pytest

from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import MOST_VALUES, ValueRefused, axes_of, checked, values_of


@pytest.fixture
def notebook(toy: Any) -> Notebook:
    """A notebook whose parameters have every kind of value."""
    name = toy.add_point()
    source = toy.layout.source(name)
    source.write_text(source.read_text().replace("seed = 0", "flag = True\npairs = [[1, 2]]\nword = '10'\nseed = 0"))
    return Notebook(name, toy.layout)


def test_a_text_becomes_a_value_of_the_parameter_s_kind(notebook: Notebook) -> None:
    texts = ["n=4", "wait=1", "kind=b", "flag=false", "heads=[1,2]", "pairs=[[3, 4], [5, 6]]", "seed= 7 ", "word=010"]
    values = values_of(texts, notebook)
    assert values == {
        "n": 4, "wait": 1.0, "kind": "b", "flag": False, "heads": [1, 2], "pairs": [[3, 4], [5, 6]], "seed": 7,
        "word": "010",
    }  # fmt: skip
    assert isinstance(values["wait"], float)
    assert values_of(["wait=1e-3", "heads=3", "kind='a'"], notebook) == {"wait": 0.001, "heads": [3], "kind": "a"}


REFUSED = [
    ("n=2.0", "n must be a whole number .*, got 2.0"),
    ("n=010", "n must be a whole number .*, got '010'"),
    ("n=True", "n must be a whole number .*, got True"),
    ("n=1" + 20 * "0", "n must be a whole number .*, got 1000"),
    ("wait=1e400", "wait must be a finite number, got inf"),
    ("wait=nan", "wait must be a finite number, got 'nan'"),
    ("wait=1" + 400 * "0", "wait must be a finite number"),
    ("flag=no", "flag must be true or false, got 'no'"),
    ("flag=0", "flag must be true or false, got '0'"),
    ("heads=[[1]]", r"heads must be a list of values, each a whole number .*, got \[\[1\]\]"),
    ("heads=[1.5]", r"heads must be a list .*, got \[1.5\]"),
    ("heads=[]", r"heads must be a list .*, got \[\]"),
    ("pairs=[3, 4]", "pairs must be a list of values, each a list"),
    ("m=1", "demo/points/point has no parameter 'm'; it has: n, heads"),
    ("n=0", "n=0 is out of its range: at least 1"),
    ("heads=[1,0]", r"heads=\[1, 0\] is out of its range: each at least 1"),
    ("kind=c", "kind='c' is out of its range: one of"),
    ("n", "-p takes key=value, got 'n'"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_by_name(notebook: Notebook, text: str, message: str) -> None:
    with pytest.raises(ValueRefused, match=message):
        values_of([text], notebook)


def test_a_parameter_that_is_given_twice_is_refused(notebook: Notebook) -> None:
    for read in (values_of, axes_of):
        with pytest.raises(ValueRefused, match="the parameter n is given twice: 2 and 7"):
            read(["n=2", "n=7"], notebook)


def test_a_range_may_depend_on_another_parameter(toy: Any, edit: Any) -> None:
    source = toy.layout.source(toy.add_point())
    edit(source, "seed=(seed, 0, None)", "seed=(seed, 0, 6 // n - 1)")
    notebook = Notebook("demo/points/point", toy.layout)
    checked(notebook, {"n": 2, "seed": 2})
    with pytest.raises(ValueRefused, match=r"seed=2 is out of its range: from 0 to 6 // n - 1"):
        checked(notebook, {"n": 3, "seed": 2})
    with pytest.raises(ValueRefused, match="n=0 is out of its range"):
        checked(notebook, {"seed": 2, "n": 0})


def test_axes_are_lists_of_values_or_spans(notebook: Notebook) -> None:
    texts = ["n=1,2,4", "seed=0..3", "heads=1,[2,3]", "kind=a,'b'", "wait=0..1", "flag=true,false"]
    axes = axes_of([*texts, "pairs=[[1,2],[3,4]],[[5]]"], notebook)
    assert list(axes.values())[:3] == [[1, 2, 4], [0, 1, 2, 3], [[1], [2, 3]]]
    assert list(axes.values())[3:] == [["a", "b"], [0.0, 1.0], [True, False], [[[1, 2], [3, 4]], [[5]]]]


def test_a_span_is_bounded_before_it_is_listed(notebook: Notebook) -> None:
    assert len(axes_of([f"n=1..{MOST_VALUES}"], notebook)["n"]) == MOST_VALUES
    with pytest.raises(ValueRefused, match=r"0\.\.999999999999 has 1,000,000,000,000 values; at most 100,000"):
        axes_of(["n=0..999999999999"], notebook)

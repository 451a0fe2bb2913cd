"""Lines of a program's text, and names in it."""

import pytest

from attention_theory.looped_transformers.machine.listing import (
    AssemblyError,
    beside,
    find,
    labelled_lines,
    refuse_twice,
    side_by_side,
)

TEXT = """
start: again: go on   # a comment
   # nothing
end:
"""


def test_lines_have_labels_and_no_comments() -> None:
    assert list(labelled_lines(TEXT)) == [(2, ["start", "again"], "go on"), (4, ["end"], "")]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert find(1, "label", "end", {"end": 3}) == 3
    with pytest.raises(AssemblyError, match="line 7: unknown label 'emd'; did you mean 'end'"):
        find(7, "label", "emd", {"end": 3})
    with pytest.raises(AssemblyError, match=r"unknown label 'far'$"):
        find(7, "label", "far", {"end": 3})


def test_a_name_is_given_once() -> None:
    refuse_twice(2, "cell", "x", ["y"])
    with pytest.raises(AssemblyError, match="line 2: cell 'x' is given twice"):
        refuse_twice(2, "cell", "x", ["x"])


def test_two_listings_stand_side_by_side() -> None:
    rows = beside(["a: one # first", "two"], ["a: one", "two\n b: three"])
    assert rows == [("a:      one", "a:      one"), ("        two", "        two"), ("", "b:      three")]
    assert side_by_side(rows).splitlines()[0] == "a:      one | ="
    assert side_by_side(rows).splitlines()[2] == "            | b:      three"
    with pytest.raises(ValueError, match="argument 2"):
        beside(["one"], [])

"""The examples in the docstrings of the names at the door."""

import doctest

import pytest

import attention_theory as at


@pytest.mark.parametrize("name", at.nn.__all__)
def test_each_name_has_a_short_example_that_runs(name: str) -> None:
    (example,) = (test for test in doctest.DocTestFinder(recurse=False).find(getattr(at.nn, name), name, globs={}))
    assert 1 <= len(example.examples) <= 6
    assert doctest.DocTestRunner().run(example).failed == 0

"""The examples in the docstrings of the names at the door."""

import doctest

import pytest
import torch

import attention_theory as at

FUNCTIONS = [name for name in at.__all__ if callable(getattr(at, name))]


@pytest.mark.parametrize("name", [*at.nn.__all__, *FUNCTIONS])
def test_each_name_has_a_short_example_that_runs(name: str) -> None:
    torch.manual_seed(0)
    named = getattr(at if name in FUNCTIONS else at.nn, name)
    (example,) = doctest.DocTestFinder(recurse=False).find(named, name, globs={})
    lines = sum((part.source + part.want).count("\n") for part in example.examples)
    assert 1 <= lines <= 6
    assert doctest.DocTestRunner().run(example).failed == 0

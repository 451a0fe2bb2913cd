"""Bad input is refused by name, all of it at once."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.validation import Each, ParameterError, require, require_finite, require_shape, require_some


@given(st.integers(-100, 100), st.integers(-50, 0), st.integers(1, 50))
def test_an_integer_passes_exactly_within_its_range(value: int, least: int, most: int) -> None:
    if least <= value <= most:
        require(d=(value, least, most))
    else:
        with pytest.raises(ParameterError, match=f"d must be a whole number from {least} to {most}, got {value}"):
            require(d=(value, least, most))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ((0, 1, None), "d must be a whole number, at least 1, got 0"),
        ((5, None, 4), "d must be a whole number, at most 4, got 5"),
        ((2.5, 1, None), "d must be a whole number, at least 1, got 2.5"),
        ((True, 0, 1), "d must be a whole number from 0 to 1, got True"),
        (("3", 1, None), "d must be a whole number, at least 1, got '3'"),
        ((1.5, 0.0, 1.0), "d must be a number from 0.0 to 1.0, got 1.5"),
        ((float("nan"), 0.0, 1.0), "d must be a number from 0.0 to 1.0, got nan"),
        (("poisson", {"gaussian", "uniform"}), "d must be one of 'gaussian', 'uniform', got 'poisson'"),
        ((9, range(4)), "d must be one of 0, 1, 2, 3, got 9"),
        ((18, range(12, 100, 12)), "d must be one of 12, 24, ..., 96, got 18"),
        ((math.inf, 0.5, None), "d must be a number, at least 0.5, got inf"),
        ((math.nan, None, 0.5), "d must be a number, at most 0.5, got nan"),
        ((4.0, {4, 6}), "d must be one of 4, 6, got 4.0"),
        ((True, {0, 1}), "d must be one of 0, 1, got True"),
        ((1, [False, True]), "d must be one of False, True, got 1"),
        (([4], {4, 6}), r"d must be one of 4, 6, got \[4\]"),
        ((Each([1, 0]), 1, None), "each of d must be a whole number, at least 1, got 0"),
        ((Each([[1]]), 1, None), r"each of d must be a whole number, at least 1, got \[1\]"),
        ((Each([]), 1, None), "d must hold at least one value"),
        ((Each(3), 1, None), "d must be a list, each a whole number, at least 1, got 3"),
        ((Each("ab"), {"a", "b"}), "d must be a list, each one of 'a', 'b', got 'ab'"),
        ((Each(torch.tensor([0.5, math.nan])), 0.0, None), "each of d must be a number, at least 0.0, got nan"),
    ],
)
def test_the_message_names_the_parameter_its_range_and_the_value(rule: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        require(d=rule)


@pytest.mark.parametrize("value", [2, np.int64(2), torch.tensor(2), np.array(2)])
def test_a_whole_number_may_be_of_any_library(value: object) -> None:
    require(d=(value, 1, 2), e=(value, 1.0, None), f=(value, [1, 2]), g=(value, range(0, 4, 2)))


def test_an_end_that_is_no_number_is_the_fault_of_its_own_parameter() -> None:
    with pytest.raises(ParameterError, match=r"^width must be a whole number, at least 1, got '3'$"):
        require(width=("3", 1, None), positions=(2, 1, "3"))


def test_a_symbolic_size_passes_and_is_not_fixed() -> None:
    class Doubled(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            require(tokens=(tokens.shape[0], 1, None))
            return 2 * tokens

    size = torch.export.Dim("size", min=2, max=64)
    program = torch.export.export(Doubled(), (torch.ones(3),), dynamic_shapes={"tokens": {0: size}})
    assert torch.equal(program.module()(torch.ones(5)), torch.full((5,), 2.0))


def test_shapes_are_told_side_by_side() -> None:
    labels = torch.ones(2, 4)
    require_shape(labels=(labels, (2, None)), same=(labels, (..., 4)), many=(torch.ones(5, 2, 4), (..., 2, None)))
    for wanted, words in (((3, None), "3, *"), ((..., 3), "..., 3"), ((2,), "2"), ((..., 1, 2, 4), "..., 1, 2, 4")):
        with pytest.raises(ParameterError, match=re.escape(f"labels must have shape [{words}], got [2, 4]")):
            require_shape(labels=(labels, wanted))


def test_what_is_empty_is_refused_by_name() -> None:
    require_some(seeds=[0], tokens=torch.ones(1, 1))
    with pytest.raises(ParameterError, match=r"seeds must hold.*, got \[\]\ntokens must hold.* shape \[2, 0\]"):
        require_some(seeds=[], tokens=torch.ones(2, 0))


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(ParameterError, match=r"(?s)heads.*\nwidth"):
        require(heads=(0, 1, None), rate=(0.5, 0.0, 1.0), width=(0, 1, None))


def test_what_is_not_finite_is_counted_and_refused() -> None:
    good, bad = torch.ones(2), torch.tensor([1.0, float("nan"), float("inf")])
    require_finite(inputs=good, numbers=torch.arange(3), none=torch.ones(0))
    with pytest.raises(ParameterError, match="labels must be finite, 2 of 3 are not"):
        require_finite(inputs=good, labels=bad)

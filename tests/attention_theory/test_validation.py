"""Bad input is refused by name, all of it at once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.validation import FORMS, ParameterError, require, require_finite


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
        ((9, [1, 2, 3, 4, 5]), "d must be one of 1, 2, 3, 4, 5, got 9"),
        ((18, range(12, 100, 12)), "d must be one of 12, 24, ..., 96, got 18"),
        (([1, 0], 1, None), "each of d must be a whole number, at least 1, got 0"),
        (([], 1, None), "d must hold at least one value"),
    ],
)
def test_the_message_names_the_parameter_its_range_and_the_value(rule: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        require(d=rule)


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(ParameterError, match=r"(?s)heads.*\nwidth"):
        require(heads=(0, 1, None), rate=(0.5, 0.0, 1.0), width=(0, 1, None))


def test_a_form_is_correct_or_printed() -> None:
    for form in FORMS:
        require(form=(form, FORMS))
    with pytest.raises(ParameterError, match="form must be one of 'correct', 'printed', got 'corrected'"):
        require(form=("corrected", FORMS))


def test_what_is_not_finite_is_counted_and_refused() -> None:
    good, bad = torch.ones(2), torch.tensor([1.0, float("nan"), float("inf")])
    require_finite(inputs=good, numbers=torch.arange(3), none=torch.ones(0))
    with pytest.raises(ParameterError, match="labels must be finite, 2 of 3 are not"):
        require_finite(inputs=good, labels=bad)

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.encodings import one_hot
from attention_theory.linear_attention.model.rounding import round_letter, round_token, worst_error
from attention_theory.validation import ParameterError


def test_the_bounds_are_sharp() -> None:
    empty = torch.zeros(3, dtype=torch.float64)
    block = [torch.arange(3)]
    assert round_token(empty + worst_error(3, 0.2499, None, 1), block).tolist() == [0, 0, 0]
    assert round_token(empty + worst_error(3, 0.2501, None, 1), block).tolist() == [0, 1, 0]
    letter = one_hot(3)[0]
    assert round_letter(letter + worst_error(3, 0.4999, 0, 1)).tolist() == [1, 0, 0]
    assert round_letter(letter + worst_error(3, 0.5001, 0, 1)).tolist() == [0, 1, 0]


def test_attributes_are_rounded_by_themselves() -> None:
    rounded = round_token(torch.tensor([0.9, 0.2, 0.1, 0.8, 0.7]), [torch.tensor([0, 1]), torch.tensor([2, 3])])
    assert rounded.tolist() == [1, 0, 0, 1, 0]


def test_plain_rounding_has_no_empty_token() -> None:
    assert round_letter(torch.zeros(3)).tolist() == [1, 0, 0]


@given(letters=st.integers(1, 6), norm=st.floats(0.0, 10.0), wrong=st.integers(0, 5), empty=st.booleans())
def test_the_worst_error_has_the_norm_that_is_asked_for(letters: int, norm: float, wrong: int, empty: bool) -> None:
    true = None if empty else 0
    if wrong >= letters or wrong == true:
        with pytest.raises(ParameterError, match="wrong"):
            worst_error(letters, norm, true, wrong)
        return
    error = worst_error(letters, norm, true, wrong)
    assert error.square().sum().item() == pytest.approx(norm)
    assert error[wrong] >= 0
    assert error.sum().abs() < 1e-12 or true is None


def test_an_entry_on_the_threshold_is_not_below_it() -> None:
    block = [torch.arange(2)]
    assert round_token(torch.tensor([0.5, 0.25]), block).tolist() == [1, 0]  # the threshold itself is not below it
    assert round_token(torch.tensor([0.0, -1.0]), block, threshold=0.0).tolist() == [1, 0]
    assert round_token(torch.tensor([0.9, 1.0]), block, threshold=1.0).tolist() == [0, 1]

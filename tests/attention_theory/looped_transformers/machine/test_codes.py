import inspect
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.machine.codes import (
    address_bits,
    from_bits,
    position_codes,
    to_bits,
)
from attention_theory.validation import ParameterError


@given(st.integers(2, 40), st.data())
def test_twos_complement_round_trip(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    code = to_bits(value, bits)
    assert from_bits(code, signed=True) == value
    assert (code[-1] == 1) == (value < 0)
    assert from_bits(code, signed=True, form="printed") != value


def test_codes_are_the_core_s_with_the_lowest_bit_first() -> None:
    assert torch.equal(position_codes(13), sign_code(13).flip(-1))


@given(st.integers(1, 5000))
def test_address_bits_are_the_least(columns: int) -> None:
    bits = address_bits(columns)
    assert columns <= 2**bits
    assert bits == 1 or columns > 2 ** (bits - 1)


def test_more_columns_than_codes_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"columns .* from 1 to 8"):
        position_codes(9, bits=3)


def test_what_is_no_integer_has_no_bits() -> None:
    unchecked: Any = inspect.unwrap(to_bits)  # the check of annotations in the tests would be first
    for numbers in (torch.tensor([2.7]), torch.tensor([float("nan")]), torch.tensor([True])):
        with pytest.raises(ParameterError, match="integers must be of an integer type"):
            unchecked(numbers, 4)


def test_what_is_no_number_is_no_bit_and_too_many_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match="NaN"):
        from_bits(torch.tensor([float("nan"), 1.0, 1.0]))
    assert from_bits(torch.ones(62)) == 2**62 - 1
    with pytest.raises(ParameterError, match="code must have from 1 to 62 bits, got 80"):
        from_bits(torch.ones(80))


def test_one_bit_and_sixty_two() -> None:
    assert to_bits(1, 1).tolist() == [1]
    assert to_bits(5, 3).tolist() == [1, -1, 1]
    assert to_bits(-(2**61), 62).tolist() == [-1.0] * 61 + [1.0]
    assert to_bits(2**62, 62).tolist() == to_bits(-(2**62), 62).tolist() == [-1.0] * 62
    assert from_bits(torch.tensor([1.0])) == 1
    assert from_bits(torch.tensor([1.0]), signed=True) == -1
    assert from_bits(torch.full((62,), 1.0)) == 2**62 - 1
    assert [address_bits(columns) for columns in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]


def test_an_entry_is_read_by_its_sign_and_zero_is_none() -> None:
    assert from_bits(torch.tensor([0.3, -7.0, 1e-9])) == 5
    assert from_bits(torch.tensor([0.0, 0.0])) == 0

"""Codes: orthonormal where they say so, and written as the numbers that they stand for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.encodings import one_hot, random_orthonormal, sign_code, sinusoidal
from attention_theory.validation import ParameterError


@given(st.integers(1, 8), st.integers(0, 4), st.integers(0, 2**31))
def test_orthonormal_codes_have_the_identity_for_a_gram_matrix(symbols: int, spare: int, seed: int) -> None:
    identity = torch.eye(symbols, dtype=torch.float64)
    assert torch.equal(one_hot(symbols, symbols + spare) @ one_hot(symbols, symbols + spare).mT, identity)
    codes = random_orthonormal(symbols, symbols + spare, seed)
    assert torch.allclose(codes @ codes.mT, identity, atol=1e-12)
    assert torch.equal(codes, random_orthonormal(symbols, symbols + spare, seed))


@given(st.integers(1, 100))
def test_sign_codes_are_binary_numbers(symbols: int) -> None:
    codes = sign_code(symbols)
    powers = 2.0 ** torch.arange(codes.shape[1] - 1, -1, -1, dtype=torch.float64)
    assert ((codes + 1) / 2 @ powers).tolist() == list(range(symbols))


def test_sinusoids_depend_on_the_distance_of_positions_alone() -> None:
    codes = sinusoidal(20, 8)
    products = codes @ codes.mT
    for shift in range(5):
        assert torch.allclose(products.diagonal(shift), products[0, shift].expand(20 - shift))


def test_codes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="width must be an integer, at least 5"):
        one_hot(5, 4)
    with pytest.raises(ParameterError, match="width"):
        random_orthonormal(5, 4, seed=0)
    with pytest.raises(ParameterError, match="bits must be an integer, at least 3"):
        sign_code(5, bits=2)

"""Codes: orthonormal where they say so, and written as the numbers that they stand for."""

import cmath
import math
from itertools import product

import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.encodings import one_hot, random_orthonormal, rotate, sign_code, sinusoidal
from attention_theory.randomness import normal


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


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 9), st.floats(1.0, 1e5))
def test_rotated_pairs_are_turned_as_complex_numbers(tokens: int, pairs: int, first: int, base: float) -> None:
    features = normal(tokens, 2 * pairs, seed=0)
    turned = torch.complex(*features.chunk(2, dim=1))
    for position, pair in product(range(tokens), range(pairs)):
        turned[position, pair] *= cmath.exp(1j * (first + position) * base ** (-pair / pairs))
    torch.testing.assert_close(rotate(features, first, base), torch.cat([turned.real, turned.imag], dim=1))


def test_the_codes_by_hand() -> None:
    assert one_hot(1).tolist() == [[1]]
    assert sign_code(1).tolist() == [[-1]]
    assert sign_code(2).tolist() == [[-1], [1]]
    assert sign_code(3, bits=3).tolist() == [[-1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    assert sinusoidal(1, 2).tolist() == [[0, 1]]
    expected = [[math.sin(p), math.cos(p), math.sin(p / 10), math.cos(p / 10)] for p in range(3)]
    torch.testing.assert_close(sinusoidal(3, 4, base=100.0), torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(sinusoidal(3, 3, base=1.0)[:, [0, 2]], sinusoidal(3, 2)[:, [0, 0]])
    torch.testing.assert_close(sinusoidal(9, 6), sinusoidal(9, 6, base=10_000.0))


def test_random_codes_are_drawn_from_all_orthogonal_matrices() -> None:
    """The first entry is as often positive as negative, as the plain factor of a decomposition is not."""
    firsts = torch.stack([random_orthonormal(1, 2, seed)[0] for seed in range(200)])
    assert ((firsts > 0).double().mean(dim=0) - 0.5).abs().max() < 0.15

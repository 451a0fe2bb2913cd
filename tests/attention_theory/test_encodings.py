"""Codes: orthonormal where they say so, and written as the numbers that they stand for."""

import math

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


def test_sinusoids_depend_on_the_distance_of_positions_alone() -> None:
    codes = sinusoidal(20, 8)
    products = codes @ codes.mT
    for shift in range(5):
        assert torch.allclose(products.diagonal(shift), products[0, shift].expand(20 - shift))


def test_rotated_scores_depend_on_the_distance_alone_and_lengths_are_kept() -> None:
    q, k = normal(2, 5, 8, seed=0)
    here = rotate(q) @ rotate(k).mT
    for shift in (1, 17, 400):
        there = rotate(q, first=shift) @ rotate(k, first=shift).mT
        torch.testing.assert_close(here, there, rtol=0, atol=1e-12)
    torch.testing.assert_close(rotate(q).norm(dim=-1), q.norm(dim=-1), rtol=0, atol=1e-13)
    assert not torch.allclose(here, q @ k.mT)


def test_rotated_pairs_turn_by_position_times_rate() -> None:
    one = torch.zeros(3, 4, dtype=torch.float64)
    one[:, 1] = 1.0
    angles = torch.arange(3, dtype=torch.float64) / 10_000.0 ** (2 / 4)
    turned = rotate(one)
    torch.testing.assert_close(turned[:, 1], angles.cos())
    torch.testing.assert_close(turned[:, 3], angles.sin())


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


def test_a_base_of_one_turns_all_pairs_alike() -> None:
    turned = rotate(torch.tensor([[1.0, 1.0, 0.0, 0.0]]), first=2, base=1.0)
    expected = [math.cos(2), math.cos(2), math.sin(2), math.sin(2)]
    torch.testing.assert_close(turned, torch.tensor([expected]))

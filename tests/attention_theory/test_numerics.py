"""Rank in floating point and exactly."""

import pytest
import torch
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.numerics import least_norm_solution, modular_rank, numerical_rank, relative_error
from attention_theory.randomness import generator, normal


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**31))
def test_modular_rank_is_the_rational_rank(rows: int, columns: int, inner: int, seed: int) -> None:
    source = generator(seed)
    left = torch.randint(-9, 10, (rows, inner), generator=source)
    right = torch.randint(-9, 10, (inner, columns), generator=source)
    product = left @ right
    before = product.clone()
    assert modular_rank(product) == fmpz_mat(product.tolist()).rank()
    assert torch.equal(product, before)


def test_numerical_rank_sees_planted_rank_and_batches() -> None:
    left, right = normal(2, 5, 7, 3, seed=0)
    assert numerical_rank(left @ right.mT).tolist() == [3] * 5
    assert numerical_rank(torch.eye(4, dtype=torch.float64)).item() == 4


def test_relative_error_is_relative_and_absolute_at_zero() -> None:
    assert relative_error(torch.tensor([2.0, 4.0]), torch.tensor([2.0, 5.0])) == 0.2
    assert relative_error(torch.tensor([0.5]), torch.tensor([0.0])) == 0.5


def test_least_norm_solution_is_that_of_the_pseudoinverse() -> None:
    matrix = normal(12, 3, seed=0) @ normal(3, 7, seed=1)  # rank 3
    right = normal(12, 2, seed=2)
    solution = least_norm_solution(matrix, right)
    torch.testing.assert_close(solution, torch.linalg.pinv(matrix, rtol=1e-12) @ right, rtol=1e-11, atol=1e-11)
    assert least_norm_solution(matrix, right, rtol=0.99).norm() < solution.norm()


def test_a_singular_value_counts_above_its_share_of_the_largest() -> None:
    matrix = torch.diag(torch.tensor([4.0, 2.0, 1.0, 0.0], dtype=torch.float64))
    shares = {0.0: 3, 0.125: 3, 0.25: 2, 0.5: 1, 1.0: 0}
    assert {share: numerical_rank(matrix, share).item() for share in shares} == shares
    assert numerical_rank(torch.diag(torch.tensor([1.0, 1e-8, 1e-10], dtype=torch.float64))).item() == 2


def test_what_counts_as_zero_is_not_solved_for() -> None:
    matrix, right = torch.diag(torch.tensor([1.0, 0.25])).double(), torch.ones(2, 1, dtype=torch.float64)
    assert least_norm_solution(matrix, right).flatten().tolist() == pytest.approx([1, 4])
    assert least_norm_solution(matrix, right, rtol=0.0).flatten().tolist() == pytest.approx([1, 4])
    assert least_norm_solution(matrix, right, rtol=0.5).flatten().tolist() == pytest.approx([1, 0])
    assert least_norm_solution(matrix, right, rtol=1.0).shape == (2, 1)


def test_ranks_modulo_small_primes_and_the_largest() -> None:
    matrix = torch.tensor([[1, 1], [1, -1]])
    assert [modular_rank(matrix, prime) for prime in (2, 3, 2**31 - 1)] == [1, 2, 2]

from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.examples import integer_vectors
from attention_theory.memorization.kruskal import (
    dependent_subset,
    independent_prefixes,
    is_in_general_position,
    kruskal_rank,
    largest_satisfied,
    modular_ranks,
    satisfied_fraction,
)
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator, normal


def rank_by_definition(vectors: torch.Tensor) -> int:
    for size in range(1, min(vectors.shape) + 1):
        for subset in combinations(range(len(vectors)), size):
            if torch.linalg.matrix_rank(vectors[list(subset)].double()) < size:
                return size - 1
    return min(vectors.shape)


@settings(max_examples=15)
@given(count=st.integers(1, 7), width=st.integers(1, 4), seed=st.integers(0, 999))
def test_kruskal_rank_is_the_definition(count: int, width: int, seed: int) -> None:
    vectors = integer_vectors(count, width, seed, largest=2)
    assert kruskal_rank(vectors) == rank_by_definition(vectors)
    assert kruskal_rank(vectors, most=2) == min(2, rank_by_definition(vectors))


@settings(max_examples=15)
@given(rows=st.integers(1, 5), columns=st.integers(1, 5), seed=st.integers(0, 999))
def test_batched_ranks_are_the_single_ones(rows: int, columns: int, seed: int) -> None:
    draw = generator(seed)
    matrices = torch.randint(-1, 2, (6, rows, columns), generator=draw)
    assert modular_ranks(matrices).tolist() == [modular_rank(matrix) for matrix in matrices]


def test_a_planted_subset_is_found() -> None:
    vectors = integer_vectors(10, 4, seed=1, largest=20)
    vectors[7] = vectors[2] + vectors[5] - vectors[6]
    assert dependent_subset(vectors, 4) == (2, 5, 6, 7)
    assert not is_in_general_position(vectors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_prefixes_are_those_whose_rank_is_full(dtype: torch.dtype) -> None:
    vectors = (normal(80, 24, seed=0) * 10.0 ** (-torch.arange(24, dtype=torch.float64) / 2)).to(dtype)
    found = independent_prefixes(vectors, 24, 60, seed=3)
    sizes = list(range(1, 25))
    sampled = [satisfied_fraction(vectors, k, 60, seed=3) for k in sizes]
    assert all(abs(a - b) <= 0.3 for a, b in zip([(found >= k).double().mean() for k in sizes], sampled, strict=True))
    order = torch.rand(60, 80, generator=generator(3)).topk(24, dim=1).indices
    for row, k in zip(order, found.tolist(), strict=True):
        assert torch.linalg.matrix_rank(vectors[row[:k]]) == k
        assert k == 24 or torch.linalg.matrix_rank(vectors[row[: k + 1]]) == k


def test_the_rule_of_99_per_cent() -> None:
    prefixes = torch.tensor([7] * 2 + [9] * 198)
    assert largest_satisfied(prefixes) == 9
    assert largest_satisfied(torch.tensor([7] * 3 + [9] * 197)) == 7


def test_equal_vectors_have_prefixes_of_one() -> None:
    assert independent_prefixes(torch.ones(20, 6), 5, 10).tolist() == [1] * 10
    assert independent_prefixes(torch.zeros(20, 6), 5, 10).tolist() == [0] * 10

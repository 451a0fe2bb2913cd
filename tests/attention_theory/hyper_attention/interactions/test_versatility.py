import itertools
import math

import pytest
import torch

from attention_theory.hyper_attention.interactions.interactions import counts, outputs_from_counts, sample_sequences
from attention_theory.hyper_attention.interactions.versatility import (
    data_matrix,
    given_second_moment,
    misses_versatility,
    rank_failure_tail,
    uniform_second_moment,
    unique_null_vector,
    versatility,
    visible_part,
)
from attention_theory.numerics import modular_rank
from attention_theory.randomness import normal


@pytest.mark.parametrize(("samples", "unique"), [(8, False), (40, False), (300, False), (300, True)])
def test_ranks_are_exact(samples: int, unique: bool) -> None:
    size = 6
    symbols = sample_sequences(samples, 4, size, seed=samples, unique=unique)
    found = versatility(symbols, size)
    for symbol in range(size):
        matrix = data_matrix(symbols, symbol, size)
        assert found.ranks[symbol] == modular_rank(matrix.long())
        if found.ranks[symbol] == size:
            torch.testing.assert_close(found.least[symbol], torch.linalg.svdvals(matrix)[-1])
        else:
            assert found.least[symbol] == 0


def test_unique_tokens_leave_the_null_vector() -> None:
    assert unique_null_vector(1, 3, 4).tolist() == [1, -3, 1]
    symbols = sample_sequences(200, 4, 7, seed=0, unique=True)
    for symbol in range(7):
        assert (data_matrix(symbols, symbol, 7) @ unique_null_vector(symbol, 7, 4) == 0).all()


def test_the_visible_part_looks_the_same_to_the_data() -> None:
    tensor = normal(6, 6, seed=0)
    few, many = sample_sequences(9, 4, 6, seed=0), sample_sequences(300, 4, 6, seed=1)
    seen = visible_part(few, tensor)
    torch.testing.assert_close(outputs_from_counts(few, seen[..., None]), outputs_from_counts(few, tensor[..., None]))
    assert (seen.norm(dim=1) < tensor.norm(dim=1)).any()
    torch.testing.assert_close(visible_part(many, tensor), tensor)


@pytest.mark.parametrize(("length", "size"), [(1, 2), (2, 2), (2, 3), (3, 3), (4, 2)])
def test_moments_are_those_of_all_sequences(length: int, size: int) -> None:
    every = torch.tensor(list(itertools.product(range(size), repeat=length)))
    of_all, rows = counts(every, size), data_matrix(every, 0, size)
    torch.testing.assert_close(of_all.mT @ of_all / len(every), uniform_second_moment(length, size))
    torch.testing.assert_close(given_second_moment(length, size), rows.mT @ rows / len(rows))


@pytest.mark.parametrize(("samples", "size", "chance"), [(1, 2, 0.5), (7, 3, 0.2), (30, 6, 0.4)])
def test_the_tail_is_a_sum_of_binomial_terms(samples: int, size: int, chance: float) -> None:
    terms = [math.comb(samples, k) * chance**k * (1 - chance) ** (samples - k) for k in range(min(size, samples + 1))]
    assert rank_failure_tail(samples, size, chance) == pytest.approx(sum(terms))
    assert rank_failure_tail(samples, size, 0.0) == 1
    assert rank_failure_tail(samples, size, 1.0) == (samples < size)


def test_versatility_is_missed_where_a_data_matrix_is() -> None:
    symbols = sample_sequences(50 * 9, 3, 3, seed=0).reshape(50, 9, 3)
    expected = [bool((versatility(one, 3).ranks < 3).any()) for one in symbols]
    assert misses_versatility(symbols, 3).tolist() == expected
    assert any(expected)
    assert not all(expected)

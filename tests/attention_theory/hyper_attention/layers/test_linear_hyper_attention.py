import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions, sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    factors_of,
    pair_counts,
    shared_factors_of,
    tensor_from_factors,
    tuple_counts,
    tuple_features,
)
from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_tuples
from attention_theory.randomness import normal


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("members", [1, 2, 3])
def test_tuple_counts_count_tuples(members: int, sum_over: Sum) -> None:
    symbols = sample_sequences(4, 5, 3, seed=0)
    expected = torch.zeros(4, *[3] * members, dtype=torch.float64)
    mask = allowed_tuples(5, members, sum_over, causal=False)[0]
    for n, sequence in enumerate(symbols.tolist()):
        for places in itertools.product(range(5), repeat=members):
            expected[(n, *(sequence[j] for j in places))] += mask[places]
    assert torch.equal(tuple_counts(symbols, 3, members, sum_over), expected.flatten(1))
    assert members != 2 or torch.equal(pair_counts(symbols, 3, sum_over), expected)


@pytest.mark.parametrize("sum_over", SUMS)
def test_outputs_are_linear_in_the_triple_features_and_not_in_the_pair_features(sum_over: Sum) -> None:
    symbols = sample_sequences(300, 5, 3, seed=0)
    effect, weights = normal(3, 3, 3, seed=0), normal(3, 3, 1, seed=1)
    targets = aggregate_tuples(symbols, effect, weights, sum_over).flatten(0, 1)
    table = (effect * weights[..., 0]).flatten()
    features = tuple_features(symbols, 3, 2, sum_over)
    torch.testing.assert_close(features @ table[:, None], targets, rtol=0, atol=1e-11)
    assert relative_residual(tuple_features(symbols, 3, 1), targets) > 1e-3
    pairwise = aggregate_interactions(symbols, effect[0], weights[0]).flatten(0, 1)
    assert relative_residual(tuple_features(symbols, 3, 1), pairwise) < 1e-20


@given(st.integers(1, 4), st.integers(0, 100))
def test_factors_make_the_tensor(size: int, seed: int) -> None:
    tensor = normal(size, size, size, seed=seed)
    factors = factors_of(tensor)
    assert factors[0].shape == (size, size**2)
    torch.testing.assert_close(tensor_from_factors(factors), tensor, rtol=0, atol=1e-14)
    symmetric = tensor + tensor.transpose(1, 2)
    first, second, third = shared_factors_of(symmetric)
    assert second is third
    assert first.shape == (size, size**2)
    torch.testing.assert_close(tensor_from_factors([first, second, third]), symmetric, rtol=0, atol=1e-13)

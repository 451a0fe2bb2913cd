"""Attention against a loop over queries and keys, and its rules against what they promise."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.layers import Rule, attention, attention_weights, causal_mask
from attention_theory.randomness import normal


def by_loops(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float) -> Tensor:
    rows = []
    for i, query in enumerate(queries):
        weights = [math.exp(scale * float(query @ key)) if mask[i, j] else 0.0 for j, key in enumerate(keys)]
        total = sum(weights)
        rows.append(
            sum((weight / total * value for weight, value in zip(weights, values, strict=True)), torch.zeros(1))
        )
    return torch.stack(rows)


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**31), st.floats(0.1, 3.0))
def test_softmax_attention_is_the_loop(tokens: int, width: int, seed: int, scale: float) -> None:
    queries, keys, values = normal(3, tokens, width, seed=seed)
    mask = causal_mask(tokens)
    fast = attention(queries, keys, values, mask=mask, scale=scale)
    assert torch.allclose(fast, by_loops(queries, keys, values, mask, scale), atol=1e-12)


def test_hardmax_shares_evenly_among_ties_and_is_the_limit_of_softmax() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 1.0, 0.0]], dtype=torch.float64)
    hard = attention_weights(scores, "hardmax")
    assert hard.tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    assert torch.allclose(attention_weights(1000 * scores), hard)


@pytest.mark.parametrize("rule", ["softmax", "hardmax", "linear"])
def test_a_masked_key_has_weight_zero(rule: Rule) -> None:
    scores = normal(4, 4, seed=1)
    weights = attention_weights(scores, rule, causal_mask(4))
    assert torch.equal(weights.triu(1), torch.zeros(4, 4, dtype=torch.float64))

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.hyper_attention.layers.taylor_features import (
    approximate_pair_attention,
    taylor_features,
    taylor_width,
)
from attention_theory.randomness import generator, normal


@given(st.integers(1, 3), st.integers(0, 5), st.integers(0, 1000))
def test_three_way_product_is_the_series(rank: int, degree: int, seed: int) -> None:
    q, k, other = normal(3, rank, seed=seed)
    t = (q * k * other).sum().item()
    series = sum(t**m / math.factorial(m) for m in range(degree + 1))
    features = [taylor_features(x, degree) for x in (q, k, other)]
    assert features[0].shape == (taylor_width(rank, degree),)
    assert (features[0] * features[1] * features[2]).sum().item() == pytest.approx(series, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("causal", [True, False])
def test_high_degree_is_the_softmax(causal: bool) -> None:
    draw = generator(0)
    q, k, other = torch.rand(3, 9, 2, generator=draw, dtype=torch.float64) - 0.5
    v, w = normal(2, 9, 2, seed=draw)
    ours = approximate_pair_attention(q, k, other, v, w, 9, sum_over="ge", causal=causal)
    exact = pair_attention(q, k, other, v, w, sum_over="ge", causal=causal)
    torch.testing.assert_close(ours, exact, rtol=0, atol=1e-12)


def test_equal_products_are_one_feature() -> None:
    assert taylor_width(3, 5) == 56
    squares = taylor_features(torch.tensor([2.0, 3.0], dtype=torch.float64), 2)[3:] ** 3
    torch.testing.assert_close(squares, torch.tensor([32.0, 216.0, 364.5], dtype=torch.float64))


@pytest.mark.parametrize("sum_over", ["lt", "gt"])
def test_a_token_without_a_pair_gets_0(sum_over: Sum) -> None:
    q, k1, k2, v1, v2 = normal(5, 4, 2, seed=0)
    ours = approximate_pair_attention(q, k1, k2, v1, v2, 3, sum_over=sum_over, causal=True)
    assert torch.equal(ours[0], torch.zeros(2, dtype=torch.float64))
    assert torch.isfinite(ours).all()

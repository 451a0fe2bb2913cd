import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.hyper_attention.layers.taylor_features import taylor_features
from attention_theory.randomness import normal


@given(st.integers(1, 3), st.integers(0, 5), st.integers(0, 1000))
def test_three_way_product_is_the_series(rank: int, degree: int, seed: int) -> None:
    q, k, other = normal(3, rank, seed=seed)
    t = (q * k * other).sum().item()
    series = sum(t**m / math.factorial(m) for m in range(degree + 1))
    features = [taylor_features(x, degree) for x in (q, k, other)]
    assert features[0].shape == (math.comb(rank + degree, degree),)
    assert (features[0] * features[1] * features[2]).sum().item() == pytest.approx(series, rel=1e-9, abs=1e-9)

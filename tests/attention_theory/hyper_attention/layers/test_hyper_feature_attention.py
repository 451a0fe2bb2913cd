from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.hyper_attention.layers.hyper_feature_attention import (
    HyperFeatureAttention,
    linear_hyper_feature_attention,
    score_features,
)
from attention_theory.randomness import normal
from attention_theory.validation import FORMS, Form


def layer(width: int, orders: list[int], **options: Any) -> HyperFeatureAttention:
    torch.manual_seed(0)
    return HyperFeatureAttention(width, len(orders), orders, **options).double()


def by_loops(module: HyperFeatureAttention, x: Tensor) -> Tensor:
    """Definition F.3, one head, one factor, one query at a time."""
    tokens, size = x.shape[0], module.head_dim
    q, k, v = module.queries(x), module.keys(x), module.values(x)
    heads, value_at = [], 0
    for head, order in enumerate(module.orders):
        part = size // order
        score = torch.ones(tokens, tokens, dtype=x.dtype)
        for factor in range(order):
            at = slice(head * size + factor * part, head * size + (factor + 1) * part)
            score = score * (q[:, at] @ k[:, at].T) * (part**-0.5 if module.form == "correct" else 1.0)
        value = torch.ones(tokens, size, dtype=x.dtype)
        for _ in range(order if module.value_product else 1):
            value = value * v[:, value_at : value_at + size]
            value_at += size
        rows = []
        for i in range(tokens):
            last = i + 1 if module.is_causal else tokens
            rows.append(score[i, :last].softmax(0) @ value[:last])
        heads.append(torch.stack(rows))
    return module.out(torch.cat(heads, dim=-1))


@pytest.mark.parametrize("orders", [[1], [1, 1, 1], [2, 2], [3], [1, 2, 1, 2], [1, 1, 2, 2]])
@pytest.mark.parametrize("value_product", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_equals_the_loops_of_the_definition(orders: list[int], value_product: bool, causal: bool, form: Form) -> None:
    module = layer(24, orders, value_product=value_product, is_causal=causal, form=form)
    x = normal(2, 7, 24, seed=1)
    expected = torch.stack([by_loops(module, one) for one in x])
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


def test_dropout_is_for_training() -> None:
    module, x = layer(8, [2, 2], dropout=0.5), normal(1, 6, 8, seed=0)
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), layer(8, [2, 2])(x))


def test_linear_layer_is_the_double_sum() -> None:
    x, scores, values = normal(5, 4, seed=0), normal(3, 4, 4, seed=1), normal(3, 4, 2, seed=2)
    expected = torch.zeros(5, 2, dtype=torch.float64)
    for i in range(5):
        for j in range(5):
            weight = torch.stack([x[i] @ c @ x[j] for c in scores]).prod()
            expected[i] += weight * torch.stack([x[j] @ w for w in values]).prod(0)
    ours = linear_hyper_feature_attention(x, scores, values)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    printed = linear_hyper_feature_attention(x, scores, values, form="printed")
    assert (printed - expected).abs().max() > 1
    torch.testing.assert_close(
        linear_hyper_feature_attention(x, scores[:1], values[:1], form="printed"),
        linear_hyper_feature_attention(x, scores[:1], values[:1]),
    )


@given(st.integers(1, 3), st.integers(0, 100))
def test_row_by_row_products_multiply_inner_products(order: int, seed: int) -> None:
    left, right = normal(order, 4, 3, seed=seed), normal(order, 4, 3, seed=seed + 1)
    expected = torch.stack([a @ b.mT for a, b in zip(left, right, strict=True)]).prod(0)
    ours = score_features(list(left)) @ score_features(list(right)).mT
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


def test_a_layer_of_order_two_with_rotary_sees_order() -> None:
    x = normal(1, 5, 16, seed=1)
    with_positions = layer(16, [2, 2], is_causal=False, rotary=True)
    assert (with_positions(x.flip(1)).flip(1) - with_positions(x)).abs().max() > 1e-3

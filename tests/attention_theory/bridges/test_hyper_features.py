"""The features of linear HyperAttention against the layer written out, and their kernel against the features."""

import pytest
import torch

from attention_theory.bridges.hyper_features import (
    hyper_feature_count,
    hyper_features,
    hyper_heads,
    hyper_kernel,
    score_value_features,
)
from attention_theory.hyper_attention.layers.linear_hyper_attention import linear_hyper_attention
from attention_theory.hyper_attention.layers.sums import SUMS, Sum
from attention_theory.linear_attention.learning.kernel import kernel
from attention_theory.linear_attention.model.features import psi
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_heads_of_coefficients_make_their_function_in_the_layer(order: int, sum_over: Sum) -> None:
    tokens = normal(5, 4, 2, seed=order)
    features = hyper_features(tokens[:, -1], tokens, order, sum_over)
    coefficients = normal(2, features.shape[1], seed=1)
    heads = hyper_heads(coefficients, 2, order)
    layer = sum(linear_hyper_attention(tokens, score, value, sum_over)[:, -1] for score, value in heads)
    assert len(heads) <= 2**order
    assert isinstance(layer, torch.Tensor)
    assert relative_error(layer, features @ coefficients.mT) < 1e-12


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_kernel_is_the_inner_product_of_the_features(order: int, sum_over: Sum) -> None:
    left, right = normal(4, 5, 3, seed=0), normal(3, 6, 3, seed=1)
    ours = hyper_kernel(left[:, 0], left, right[:, 0], right, order, sum_over)
    written = hyper_features(left[:, 0], left, order, sum_over) @ hyper_features(right[:, 0], right, order, sum_over).mT
    assert relative_error(ours, written) < 1e-12


def test_at_order_two_it_is_linear_attention() -> None:
    left, right = normal(4, 5, 3, seed=0), normal(3, 5, 3, seed=1)
    assert relative_error(hyper_kernel(left[:, -1], left, right[:, -1], right, 2), kernel(left, right)) < 1e-13
    assert [hyper_feature_count(width, 2) for width in (1, 2, 5)] == [psi(width) for width in (1, 2, 5)]


@pytest.mark.parametrize("sum_over", SUMS)
def test_scores_and_values_meet_in_one_matrix(sum_over: Sum) -> None:
    tokens, score, value = normal(3, 4, 2, seed=0), normal(2, 2, 2, seed=1), normal(2, 2, 1, seed=2)
    matrix = score_value_features(tokens[:, -1], tokens, 3, sum_over)
    ours = torch.einsum("nuv,u,v->n", matrix, score.flatten(), value.flatten())
    assert relative_error(ours, linear_hyper_attention(tokens, score, value, sum_over)[:, -1, 0]) < 1e-12


def test_the_count_of_features_by_hand() -> None:
    assert [hyper_feature_count(1, order) for order in (2, 5)] == [1, 1]
    assert hyper_feature_count(2, 3) == 2 * 6  # pairs of three products, the same one twice among them
    assert hyper_feature_count(2, 3, "le") == 2 * 9


def test_heads_are_as_many_as_singular_values_that_count() -> None:
    tokens = normal(3, 4, 2, seed=0)
    features = hyper_features(tokens[:, -1], tokens, 2)
    coefficients = normal(1, features.shape[1], seed=1)
    assert len(hyper_heads(coefficients, 2, 2, rtol=1.0)) == 0
    assert len(hyper_heads(coefficients, 2, 2, rtol=0.0)) == len(hyper_heads(coefficients, 2, 2)) == 2

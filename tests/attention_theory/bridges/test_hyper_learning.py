"""Learning by one regression: exact where the data suffice, undetermined where they do not; and descent beside it."""

import pytest
import torch

from attention_theory.bridges.hyper_features import hyper_feature_count, hyper_heads, score_value_features
from attention_theory.bridges.hyper_learning import alternate, descend, learn_hyper_attention
from attention_theory.hyper_attention.layers.linear_hyper_attention import linear_hyper_attention
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal

SCORE, VALUE = normal(2, 2, 2, seed=0), normal(2, 2, 1, seed=1)


def teacher(tokens: torch.Tensor) -> torch.Tensor:
    return linear_hyper_attention(tokens, SCORE, VALUE, "le")[:, -1]


def test_twice_as_many_samples_as_features_teach_the_teacher_at_other_lengths() -> None:
    tokens, fresh = normal(2 * hyper_feature_count(2, 3, "le"), 5, 2, seed=2), normal(10, 8, 2, seed=3)
    model = learn_hyper_attention(tokens[:, -1], tokens, teacher(tokens), 3, "le")
    assert relative_error(model(fresh[:, -1], fresh), teacher(fresh)) < 1e-10
    assert model.determined(fresh[:, -1], fresh).all()
    heads = hyper_heads(model.coefficients(), 2, 3)
    assert len(heads) <= 4
    layer = sum(linear_hyper_attention(fresh, score, value, "le")[:, -1] for score, value in heads)
    assert isinstance(layer, torch.Tensor)
    assert relative_error(layer, teacher(fresh)) < 1e-10


def test_too_few_samples_are_seen_to_be_too_few() -> None:
    tokens, fresh = normal(9, 5, 2, seed=2), normal(10, 8, 2, seed=3)
    model = learn_hyper_attention(tokens[:, -1], tokens, teacher(tokens), 3, "le")
    assert not model.determined(fresh[:, -1], fresh).any()
    assert model.determined(tokens[:, -1], tokens).all()


def test_alternating_with_enough_heads_is_the_regression() -> None:
    tokens, labels = normal(40, 4, 2, seed=4), normal(40, 1, seed=5)
    matrix = score_value_features(tokens[:, -1], tokens, 3, "le")
    model = learn_hyper_attention(tokens[:, -1], tokens, labels, 3, "le")
    least = (model(tokens[:, -1], tokens) - labels).square().mean().item()
    enough, one = (alternate(matrix, normal(2, heads, 4, seed=6), labels[:, 0], 2) for heads in (4, 1))
    assert ((enough - labels[:, 0]).square().mean(dim=1) / least).tolist() == pytest.approx([1, 1])
    assert ((one - labels[:, 0]).square().mean(dim=1) > 1.001 * least).all()


def test_the_rate_falls_to_a_hundredth_over_the_steps() -> None:
    """Far from its end a descent by Adam goes by the rate at every step."""
    start, far = torch.zeros(1, 1, dtype=torch.float64), torch.full((1,), 1e9, dtype=torch.float64)
    for steps, way in ((1, 1.0), (2, 1 + 0.1), (4, 1 + 0.01**0.25 + 0.1 + 0.01**0.75)):
        found = descend(lambda scores, values: scores + 0 * values, start, start, far, steps, lr=0.5, every=1)
        assert found.scores.item() == pytest.approx(0.5 * way, rel=1e-6)
        assert found.values.item() == 0
        assert found.losses.shape == (steps + 1, 1)  # one before every step, and the last after all
        assert found.losses[0].item() == 1e18
    assert start.item() == 0  # where it starts is left as it was

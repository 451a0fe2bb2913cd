import torch

from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.error_bounds import (
    coefficients_of_loss,
    difference_bound,
    draw_directions,
    largest_ratio,
)
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.randomness import normal


def test_pairs_have_the_loss_and_stay_within_the_bound() -> None:
    data = statistics(normal(80, 3, 2, seed=0), normal(80, 2, seed=1))
    best = data.solve()
    least = data.loss(best).item()
    first, second = (coefficients_of_loss(data, best, 0.3, one) for one in draw_directions(data, 30, seed=2))
    assert torch.allclose(data.loss(first), torch.tensor(least + 0.3, dtype=torch.float64))
    assert torch.allclose(data.loss(second), torch.tensor(least + 0.3, dtype=torch.float64))
    inputs = normal(50, 4, 2, seed=3)
    bound = difference_bound(least + 0.3, certificate_of(data.second_moment).smallest, inputs, least)
    ratio = largest_ratio(first, second, inputs, bound)
    gaps = torch.stack([(a - b) @ certificate_features(inputs).mT for a, b in zip(first, second, strict=True)])
    assert abs(ratio - (gaps.square().sum(dim=1) / bound).max().item()) < 1e-12
    assert ratio <= 1

"""Balance of many triggers against descent on the loss."""

import pytest
import torch

from attention_theory.in_context_reasoning.balance import (
    balance_step,
    balance_weights,
    balanced_exponent,
    distance_to_balance,
    relative_slopes,
)
from attention_theory.in_context_reasoning.descent import descend_noiseless, log_slopes
from attention_theory.randomness import generator


def test_the_balanced_exponent_is_the_largest_margin_of_a_step() -> None:
    least = torch.tensor([1.0, 3.0, 4.0], dtype=torch.float64)
    ways = torch.rand(20_000, 3, dtype=torch.float64, generator=generator(0))
    margins = (least * ways / ways.norm(dim=1, keepdim=True)).amin(dim=1)
    best = balanced_exponent([1, 3, 4], 0.5)
    assert 0.5 * margins.max().item() == pytest.approx(best, rel=0.02)
    assert 0.5 * margins.max().item() <= best


def test_steps_are_those_of_descent_at_large_scales() -> None:
    """Three triggers, the third with two counts: the imbalance is read off the slopes of the loss."""
    laws = torch.tensor([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0.5]], dtype=torch.float64)
    least, rate, others = [1, 3, 2], 1.1, 9
    path = descend_noiseless(laws, rate, 60, others)
    imbalance = log_slopes(laws, path, others) + torch.tensor(least, dtype=torch.float64).log()
    moved = balance_step(imbalance, balance_weights(least), balanced_exponent(least, rate))
    assert (moved[40:-1] - imbalance[41:]).abs().max() < 1e-9


def test_the_mean_of_the_relative_slopes_is_the_cosine_with_the_balanced_gradient() -> None:
    least = [2, 5, 3]
    slopes, counts = torch.rand(3, dtype=torch.float64, generator=generator(1)), torch.tensor(least)
    cosine = torch.cosine_similarity(slopes, 1 / counts.double(), dim=0).item()
    weights = balance_weights(least)
    relative = relative_slopes((slopes * counts).log(), weights)
    assert weights.sum().item() == pytest.approx(1)
    assert (weights @ relative).item() == pytest.approx(cosine)
    assert (weights @ relative.square()).item() == pytest.approx(1)


def test_above_two_a_step_near_balance_leads_away() -> None:
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    imbalance = torch.tensor([0.01, -0.02, 0.0], dtype=torch.float64)
    moved = balance_step(imbalance, weights, 2.1)
    assert distance_to_balance(moved, weights) > 1.1 * distance_to_balance(imbalance, weights)

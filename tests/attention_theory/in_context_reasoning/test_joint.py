"""Descent in both numbers against automatic differentiation."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, noisy_loss, odds
from attention_theory.in_context_reasoning.descent import normalised_step
from attention_theory.in_context_reasoning.joint import (
    _Rule,
    coin_divergence,
    descend_jointly,
    joint_excess,
)
from attention_theory.randomness import generator

LAW = torch.tensor([0.3, 0.0, 0.7], dtype=torch.float64)
COUNTS = torch.arange(1.0, 4.0, dtype=torch.float64)


def loss_of(point: torch.Tensor) -> torch.Tensor:
    return (LAW * noisy_loss(point[0], point[1], COUNTS, 0.3, 9)).sum()


@pytest.mark.parametrize("rule", ["plain", "normalised", "decreasing"])
def test_it_is_descent_on_the_noisy_loss(rule: _Rule) -> None:
    path = descend_jointly(LAW, 0.3, 0.2, 40, 9, rule, (0.5, -1.0))
    point = torch.tensor([0.5, -1.0], dtype=torch.float64)
    for step in range(40):
        assert (path[step] - point).abs().max() < 1e-8  # the valley's floor magnifies rounding
        (slope,) = torch.autograd.grad(loss_of(point.requires_grad_()), point)
        rate = 0.2 / math.sqrt(step + 1) if rule == "decreasing" else 0.2
        point = point.detach()
        point = point - rate * slope if rule == "plain" else normalised_step(point, slope, rate)


def test_the_excess_is_the_loss_less_the_bayes_risk() -> None:
    points = 3 * torch.randn(20, 2, dtype=torch.float64, generator=generator(0))
    values = torch.stack([loss_of(point) for point in points])
    assert (joint_excess(points, LAW, 0.3, 9) - values + bayes_risk(0.3)).abs().max() < 1e-12


def test_the_coins_divergence_is_that_of_the_lemma() -> None:
    for shift in (-2.0, 0.1, 1.5):
        off = 1 / (1 + math.exp(-odds(0.2) - shift))
        divergence = coin_divergence(torch.tensor(shift, dtype=torch.float64), 0.2).item()
        assert divergence == pytest.approx(bernoulli_kl(0.2, off), rel=1e-12)

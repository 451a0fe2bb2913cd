import math

import pytest
import torch

from attention_theory.memorization.attention import softmax_weights
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.single_head import (
    column_logits,
    fit_targets,
    saturating_scale,
    silent_direction,
)
from attention_theory.randomness import generator


@pytest.mark.parametrize("shared", [True, False])
def test_targets_are_met(shared: bool) -> None:
    examples = sample_examples(5, 5, 9, shared, seed=0)
    targets = torch.rand(5, 5, dtype=torch.float64, generator=generator(1)).softmax(-1)
    columns = fit_targets(examples, targets)
    assert torch.allclose(column_logits(examples, columns).softmax(-1), targets, atol=1e-13)
    assert torch.allclose(softmax_weights(columns.as_head(7), examples)[:, 0], targets, atol=1e-13)


@pytest.mark.parametrize("shared", [True, False])
def test_silent_direction_is_silent_and_decided(shared: bool) -> None:
    examples = sample_examples(12, 4, 8, shared, seed=3)
    silent = torch.arange(12) < 3
    columns, gap = silent_direction(examples, silent, ~silent, seed=0)
    values = column_logits(examples, columns)
    assert values[silent].abs().max() < 1e-13
    two_largest = values[~silent].topk(2).values
    assert gap == pytest.approx((two_largest[:, 0] - two_largest[:, 1]).min().item())
    assert gap > 0


def test_the_scale_by_hand() -> None:
    """Three others, each of which must lie ln(6 / 0.5) below the winner; the lead is 2, and one is 1 ahead so far."""
    fixed = torch.tensor([[0.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    decisive = torch.tensor([[2.0, 0.0, 0.0, -5.0]], dtype=torch.float64)
    assert saturating_scale(fixed, decisive, 0.5) == pytest.approx((1 + math.log(12)) / 2)
    assert saturating_scale(fixed[:, :1], decisive[:, :1], 0.5) == 0
    assert saturating_scale(torch.tensor([[90.0, 0.0]]).double(), decisive[:, :2], 0.5) == 0  # it is decided already

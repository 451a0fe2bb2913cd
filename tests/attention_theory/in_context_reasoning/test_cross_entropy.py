"""The loss and its slope in the log domain against autograd, and where the subtraction gives up."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.randomness import generator, normal


@pytest.mark.parametrize("arithmetic", ["log-domain", "subtraction"])
def test_loss_and_slope_agree_with_autograd(arithmetic: str) -> None:
    draw = generator(0)
    logits = normal(2, 7, 5, seed=draw).mul(3).requires_grad_()
    labels = torch.randint(5, (2, 7), generator=draw)
    ours = cross_entropy(logits, labels, arithmetic)  # type: ignore[arg-type]
    reference = torch.nn.functional.cross_entropy(logits.mT, labels, reduction="none")
    (slope,) = torch.autograd.grad(reference.sum(), logits)
    assert (ours.losses - reference).abs().max() < 1e-12
    assert (ours.error * ours.log_scale.exp()[:, None, None] - slope).abs().max() < 1e-12


def test_tiny_slopes_keep_their_digits() -> None:
    logits = torch.tensor([[[100.0, 0.0, 1.0]], [[0.0, 300.0, 0.0]]], dtype=torch.float64)
    labels = torch.tensor([[0], [1]])
    ours = cross_entropy(logits, labels)
    share = torch.tensor([1.0, torch.e], dtype=torch.float64) / (1 + torch.e)
    assert (ours.error[0, 0] - torch.tensor([-1.0, share[0], share[1]])).abs().max() < 1e-13
    assert (ours.error[1, 0] - torch.tensor([0.5, -1.0, 0.5])).abs().max() < 1e-13
    assert ours.log_scale[1].item() == pytest.approx(-300 + math.log(2), abs=1e-12)
    assert ours.losses[0, 0].item() == pytest.approx((1 + torch.e) * 2.718281828459045**-100, rel=1e-9)
    assert cross_entropy(logits, labels, "subtraction").error[1, 0, 1] == 0

import torch
from torch import Tensor

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.interactions.gradients import (
    loss_gradients,
    residual_maps,
    residuals,
)
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.randomness import generator, normal


def setting() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = generator(0)
    tokens = random_orthonormal(4, 4, 1)[sample_sequences(12, 5, 4, draw)]
    targets = normal(12, 5, seed=draw)
    score = normal(4, 4, seed=draw)
    return tokens, targets, score, normal(4, seed=draw)


def test_gradients_equal_automatic_ones() -> None:
    tokens, targets, score, value = setting()
    score.requires_grad_()
    value.requires_grad_()
    loss = residuals(tokens, targets, score, value).square().sum(dim=1).mean()
    expected = torch.autograd.grad(loss, (score, value))
    ours = loss_gradients(tokens, targets, score.detach(), value.detach())
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_maps_move_the_residuals() -> None:
    tokens, targets, score, value = setting()
    by_score, by_value = residual_maps(tokens, score, value)
    outputs = residuals(tokens, torch.zeros_like(targets), score, value).flatten()
    torch.testing.assert_close(by_score @ score.mT.flatten(), outputs)
    torch.testing.assert_close(by_value @ value, outputs)

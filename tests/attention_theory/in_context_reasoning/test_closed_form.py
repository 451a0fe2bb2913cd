"""Closed forms against the transformer and against minimisation."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from attention_theory.in_context_reasoning.closed_form import (
    _floor_without_attended,
    bayes_risk,
    bernoulli_kl,
    noiseless_loss,
    noiseless_slope,
    noisy_loss,
    noisy_slope,
    odds,
    probabilities,
    softmax_limit,
)
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, sample_sentences


def real(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def transformer_logits(
    task: Task, scale: float, gamma: float, architecture: Architecture
) -> tuple[torch.Tensor, torch.Tensor]:
    codes = embedding(task.tokens, 2 * task.tokens)
    sentences = sample_sentences(task, 40, seed=0)
    scales = torch.full((task.used_triggers,), scale, dtype=torch.float64)
    weights = reparameterised(task, codes, scales, gamma).in_codes(codes)
    return forward(sentences.tokens, weights, architecture).logits, sentences.output


@settings(max_examples=40, deadline=None)
@given(st.floats(-5, 30), st.integers(1, 4), st.integers(2, 80))
def test_slopes_are_derivatives(scale: float, count: int, others: int) -> None:
    at, c = real(scale).requires_grad_(), real(count)
    (slope,) = torch.autograd.grad(noiseless_loss(at, c, others), at)
    assert noiseless_slope(at.detach(), c, others).item() == pytest.approx(slope.item(), rel=1e-10)
    subtracted = noiseless_slope(at.detach(), c, others, "subtraction").item()  # exact to the rounding of p
    assert subtracted == pytest.approx(slope.item(), abs=1e-14 * count)
    (slope,) = torch.autograd.grad(noisy_loss(at, 0.7, c, 0.3, others), at)
    assert noisy_slope(at.detach(), 0.7, c, others).item() == pytest.approx(slope.item(), rel=1e-10)


def test_losses_are_the_transformers() -> None:
    task = Task(14, 2, 3, 16)
    logits, output = transformer_logits(task, 2.5, 0.0, Architecture())
    losses = expected_loss(logits, output, task.noise_token, 0.0)
    assert (losses - noiseless_loss(real(2.5), real(1.0), 13)).abs().max() < 1e-12
    noisy = Task(14, 2, 3, 16, noisy=True)
    logits, output = transformer_logits(noisy, 2.5, 0.4, Architecture())
    losses = expected_loss(logits, output, noisy.noise_token, 0.3)
    assert (losses - noisy_loss(real(2.5), 0.4, real(1.0), 0.3, 12)).abs().max() < 1e-12
    p = logits.softmax(dim=1)
    ours = probabilities(real(2.5), 0.4, real(1.0), 12)
    assert (p[torch.arange(40), output] - ours[0]).abs().max() < 1e-12
    assert (p[:, noisy.noise_token] - ours[1]).abs().max() < 1e-12


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_floor_without_attended_sum_is_the_least_loss(alpha: float) -> None:
    task = Task(14, 2, 3, 16, noisy=True)

    def loss(scale: float) -> float:
        logits, output = transformer_logits(task, scale, odds(alpha), Architecture(full_input=0.0))
        return expected_loss(logits, output, task.noise_token, alpha).mean().item()

    least = minimize_scalar(loss, bounds=(-2, 20), method="bounded", options={"xatol": 1e-6})
    assert _floor_without_attended(alpha, 12) == pytest.approx(least.fun, abs=1e-9)


@pytest.mark.parametrize("full_input", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.8])
def test_softmax_limit_is_approached(alpha: float, full_input: bool) -> None:
    attention: Activation = "softmax"
    task = Task(14, 2, 3, 16, noisy=alpha > 0)
    gamma = odds(alpha) if alpha else 0.0
    logits, output = transformer_logits(task, 40.0, gamma, Architecture(attention, float(full_input)))
    limit = softmax_limit(alpha, 14 - 1 - task.noisy, full_input)
    assert expected_loss(logits, output, task.noise_token, alpha).mean().item() == pytest.approx(limit.loss, abs=1e-12)
    p = logits.softmax(dim=1)
    assert p[torch.arange(40), output].mean().item() == pytest.approx(limit.p_output, abs=1e-12)
    if alpha:
        assert p[:, task.noise_token].mean().item() == pytest.approx(limit.p_noise, abs=1e-12)


def test_coins_by_hand() -> None:
    assert odds(0.75) == pytest.approx(math.log(3))
    assert odds(math.ulp(0.0)) < -700
    assert odds(1 - 2**-53) > 36
    assert (bayes_risk(0.0), bayes_risk(1.0), bayes_risk(0.5)) == (0, 0, pytest.approx(math.log(2)))
    assert (bernoulli_kl(0.0, 0.5), bernoulli_kl(1.0, 0.5)) == (pytest.approx(math.log(2)), pytest.approx(math.log(2)))
    assert bernoulli_kl(0.5, 0.25) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))

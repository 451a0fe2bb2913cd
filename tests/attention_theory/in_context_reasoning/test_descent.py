"""Descent on the scales against descent on the transformer's own loss by autograd."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noiseless, descend_noisy, normalised_step
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.validation import FORMS, Form


def test_a_step_has_the_length_of_the_rate_unless_the_slope_is_zero() -> None:
    point = torch.tensor([1.0, 2.0], dtype=torch.float64)
    moved = normalised_step(point, torch.tensor([3e-200, -4e-200], dtype=torch.float64), 0.5)
    assert (moved - torch.tensor([0.7, 2.4], dtype=torch.float64)).abs().max() < 1e-14
    assert torch.equal(normalised_step(point, torch.zeros(2), 0.5), point)


def test_noiseless_steps_keep_their_length_where_slopes_underflow() -> None:
    path = descend_noiseless(torch.tensor([[1.0]], dtype=torch.float64), 5.0, 400, 59)
    assert path[-1].item() == pytest.approx(2000, abs=1e-9)


def test_noiseless_descent_is_descent_on_the_transformers_loss() -> None:
    task = Task(10, 2, 2, 10)
    codes = embedding(10, 20)
    parts = [sample_sentences(task, 400, seed, copies=seed) for seed in (1, 2)]
    keep = [part.trigger == which for which, part in enumerate(parts)]  # trigger 0 with C = 1, trigger 1 with C = 2
    one, two = (part.pick(rows).pick(slice(100)) for part, rows in zip(parts, keep, strict=True))
    sentences = Sentences(
        torch.cat([one.tokens, two.tokens]),
        torch.cat([one.trigger, two.trigger]),
        torch.cat([one.output, two.output]),
    )
    laws = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    scales = torch.zeros(2, dtype=torch.float64)
    for _ in range(30):
        scales.requires_grad_()
        weights = reparameterised(task, codes, scales).in_codes(codes)
        loss = cross_entropy(forward(sentences.tokens, weights, Architecture()).logits, sentences.output).losses.mean()
        (slope,) = torch.autograd.grad(loss, scales)
        scales = normalised_step(scales.detach(), slope, 0.1)
    assert (descend_noiseless(laws, 0.1, 30, 9)[-1] - scales).abs().max() < 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_algorithm_1_is_descent_on_the_transformers_loss(form: Form) -> None:
    task = Task(12, 1, 3, 12, noisy=True)
    codes = embedding(12, 24)
    sentences = sample_sentences(task, 60, 0, copies=torch.arange(60) % 3 + 1)
    labels = draw_labels(sentences, task, torch.tensor([0.3], dtype=torch.float64), 1)[0]
    fit = algorithm_1(sentences, labels, task, 0.2, 20, form)
    scale = torch.zeros(1, dtype=torch.float64)
    for t in range(21):
        scale.requires_grad_()
        weights = reparameterised(task, codes, scale, fit.gamma).in_codes(codes)
        loss = cross_entropy(forward(sentences.tokens, weights, Architecture()).logits, labels).losses.mean()
        (slope,) = torch.autograd.grad(loss, scale)
        assert abs(fit.scales[t] - scale.item()) < 1e-12
        slip = 2 * fit.alpha * fit.gamma if form == "printed" else 0.0
        assert abs(fit.losses[t] - slip - loss.item()) < 1e-12
        scale = scale.detach() - 0.2 * (slope if form == "printed" else slope.sign())


def test_known_noise_walks_the_line() -> None:
    path = descend_noisy(torch.tensor([0.5, 0.5], dtype=torch.float64), 0.2, 0.1, 50, 58)
    assert (path - 0.1 * torch.arange(51)).abs().max() < 1e-5
    plain = descend_noisy(torch.tensor([1.0], dtype=torch.float64), 0.2, 0.1, 500, 58, normalised=False)
    assert 0 < plain[-1] < math.log(500 * 58)

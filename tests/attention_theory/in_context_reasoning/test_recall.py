"""The one-layer model as a module: the weights of the lemmas, training, and the look-ups that autograd can follow."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from attention_theory.in_context_reasoning.model import forward
from attention_theory.in_context_reasoning.recall import InContextRecall
from attention_theory.in_context_reasoning.task import sample_sentences

SIZES: dict[str, Any] = {"tokens": 9, "triggers": 2, "outputs": 3, "length": 16, "dtype": torch.float64}
KINDS: list[dict[str, Any]] = [{}, {"attention": "softmax"}, {"attention": "relu", "full_input": False}]


def drawn(**options: Any) -> InContextRecall:
    torch.manual_seed(0)
    layer = InContextRecall(**SIZES, **options)
    for weight in layer.parameters():
        torch.nn.init.normal_(weight)
    return layer


@pytest.mark.parametrize("options", KINDS)
def test_the_module_is_the_model(options: dict[str, Any]) -> None:
    layer = drawn(**options)
    tokens = sample_sentences(layer.task, 20, seed=0).tokens
    torch.testing.assert_close(layer(tokens), forward(tokens, layer.weights, layer.architecture).logits)


def test_the_closed_form_recalls_every_output() -> None:
    layer = InContextRecall.closed_form(**SIZES)
    for unseen in (False, True):
        sentences = sample_sentences(layer.task, 200, seed=0, copies=2, unseen=unseen)
        assert torch.equal(layer(sentences.tokens).argmax(-1), sentences.output)


def test_with_noise_the_closed_form_gives_the_noise_token_its_probability() -> None:
    layer = InContextRecall.closed_form(scale=40.0, noise=0.3, **SIZES)
    sentences = sample_sentences(layer.task, 200, seed=0)
    likely = layer(sentences.tokens).softmax(-1)
    torch.testing.assert_close(likely[:, -1], torch.full_like(likely[:, -1], 0.3))
    torch.testing.assert_close(likely.gather(1, sentences.output[:, None]), torch.full_like(likely[:, :1], 0.7))


@pytest.mark.parametrize("options", KINDS)
def test_a_step_goes_its_length_against_the_gradient_of_each_matrix(options: dict[str, Any]) -> None:
    layer, lr = drawn(**options), 0.01
    sentences = sample_sentences(layer.task, 32, seed=0)
    cross_entropy(layer(sentences.tokens), sentences.output).backward()
    wanted = [weight.detach() - lr * weight.grad / weight.grad.norm() for weight in layer.parameters()]  # type: ignore[operator,union-attr]
    layer.fit(sentences.tokens, sentences.output, steps=1, lr=lr, batch_size=32)
    torch.testing.assert_close([weight.detach() for weight in layer.parameters()], wanted)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_fit_learns_from_zero_and_goes_on_from_where_it_is(noise: float) -> None:
    layer = InContextRecall(noise=noise, **SIZES)
    sentences = sample_sentences(layer.task, 200, seed=1)
    losses = []
    for _ in range(3):
        losses.append(cross_entropy(layer(sentences.tokens), sentences.output).item())
        assert layer.fit(steps=20, batch_size=64) is layer
    assert losses[0] > losses[1] > losses[2]
    assert layer(sentences.tokens).requires_grad
    layer.reset_parameters()
    assert layer(sentences.tokens).abs().max() == 0

"""The one-layer model as a module: the weights of the lemmas, training, and the look-ups that autograd can follow."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import functional_call, vmap
from torch.nn.functional import cross_entropy

from attention_theory.in_context_reasoning.model import forward
from attention_theory.in_context_reasoning.recall import InContextRecall
from attention_theory.in_context_reasoning.task import sample_sentences
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError
from modules import close, copies

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


@pytest.mark.parametrize("options", KINDS)
def test_it_is_a_module_of_torch(options: dict[str, Any], tmp_path: Path) -> None:
    layer = drawn(**options)
    words, longer = sample_sentences(layer.task, 6, seed=0).tokens, torch.randint(9, (2, 20), generator=generator(1))
    out = layer(words)
    for same in copies(layer, InContextRecall(**SIZES, **options), tmp_path):
        assert torch.equal(same(words), out)
    assert repr(layer).startswith("InContextRecall(9, 2, 3")
    assert f"attention={options.get('attention', 'linear')!r}" in repr(layer)
    close(layer(words[0]), out[0])
    close(layer(words.unflatten(0, (2, 3))), out.unflatten(0, (2, 3)))
    assert layer(words[:0]).shape == (0, 9)
    with pytest.raises(ParameterError, match="must have shape"):
        layer(words[:, :1])
    close(copy.deepcopy(layer).float()(words).double(), out, atol=1e-4)
    assert InContextRecall(**SIZES, **options, device="meta")(words.to("meta")).shape == out.shape
    twice = {name: torch.stack([weight, 2 * weight]) for name, weight in layer.named_parameters()}
    close(vmap(lambda weights: functional_call(layer, weights, (words,)))(twice)[0], out)
    sizes = ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC},)
    close(torch.export.export(layer, (words,), dynamic_shapes=sizes).module()(longer), layer(longer))


@pytest.mark.parametrize("options", KINDS)
def test_first_and_second_derivatives(options: dict[str, Any]) -> None:
    layer, words = InContextRecall(4, 2, 1, dtype=torch.float64, **options), torch.tensor([[3, 0, 2, 1, 0]])
    names, weights = zip(*layer.named_parameters(), strict=True)
    inner = [normal(*weight.shape, seed=place).requires_grad_() for place, weight in enumerate(weights)]
    of_weights = lambda *given: functional_call(layer, dict(zip(names, given, strict=True)), (words,))  # noqa: E731
    assert all(part.abs().max() > 0 for part in torch.autograd.grad(of_weights(*inner).square().sum(), inner))
    assert torch.autograd.gradcheck(of_weights, inner, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(of_weights, inner)


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

"""The gather form against Eq. (1) word for word, and its gradients against autograd."""

import pytest
import torch

from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, Weights, dense_forward, forward
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.randomness import generator, normal

ATTENTIONS: list[Activation] = ["linear", "relu", "softmax"]
TASK = Task(11, 2, 3, 12, noisy=True)


def random_weights(*shape: tuple[int, ...], seed: int) -> Weights:
    draw = generator(seed)
    return Weights(*(normal(*each, seed=draw) for each in shape))


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("full_input", [0.0, 1.0])
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_gather_form_equals_the_printed_one(attention: Activation, full_input: float, shift: float) -> None:
    sentences = sample_sentences(TASK, 30, seed=1)
    codes = embedding(11, 25, "rotated", seed=2)
    weights = random_weights((25, 25), (25, 25), (25, 25), seed=3)
    architecture = Architecture(attention, full_input, shift)
    dense = dense_forward(sentences.tokens, codes, weights, architecture)
    gather = forward(sentences.tokens, weights.in_codes(codes), architecture)
    for name in ("scores", "weights", "attention", "feed_forward", "logits"):
        assert (getattr(dense, name) - getattr(gather, name)).abs().max() < 1e-12
    assert (dense.attended @ codes.stacked.mT - gather.attended).abs().max() < 1e-12


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("full_input", [0.0, 1.0])
def test_gradients_agree_with_autograd(attention: Activation, full_input: float) -> None:
    tokens = sample_sentences(TASK, 16, seed=5).tokens
    weights = random_weights((11, 22), (22, 22), (11, 22), seed=6)
    for part in weights.matrices:
        part.requires_grad_()
    architecture = Architecture(attention, full_input, 1e-8)
    done = forward(tokens, weights, architecture)
    error = normal(16, 11, seed=1)
    expected = torch.autograd.grad((done.logits * error).sum() / 16, weights.matrices)
    ours = architecture.gradients(tokens, weights, done, error)
    for one, other in zip(ours.matrices, expected, strict=True):
        assert (one - other).abs().max() < 1e-10 * other.abs().max()
    frozen = architecture.gradients(tokens, weights, done, error, layers=False)
    assert torch.equal(frozen.query_key, ours.query_key)
    assert not frozen.value.any()
    assert not frozen.feed_forward.any()


def test_large_scores_that_are_not_contiguous_do_not_overflow() -> None:
    scores = 1e4 * normal(3, 4, 5, seed=0).permute(2, 0, 1)
    torch.testing.assert_close(Architecture("softmax").weigh(scores), scores.softmax(dim=-1))

"""Steps on counts against the look-ups at every position, which know nothing of three scores."""

from typing import get_args

import pytest
import torch

from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning._scales import Kinds
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy
from attention_theory.in_context_reasoning.model import Weights, forward
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, TrainingRun
from attention_theory.randomness import generator

LEVELS = {False: [0.0], True: [0.2, 0.8]}


def case(noisy: bool, attention: str, sets: int = 0) -> tuple[Stack, torch.Tensor, torch.Tensor]:
    """Stacked models at scales of their own, their sentences and labels."""
    task, levels, draw = Task(15, 3, 4, 20, noisy=noisy, fillers="outputs allowed"), LEVELS[noisy], generator(1)
    models = [one for one in VARIANTS.values() if (one.trained, one.attention) == ("scales", attention)]
    runs = [TrainingRun(one, level, 0.3) for one in models for level in levels]
    stack = Stack([run for run in runs for _ in range(max(1, sets))], task)
    stack.scales += torch.randn(stack.scales.shape, generator=draw, dtype=torch.float64)
    stack.weights.query_key[:] = torch.einsum("mq,qde->mde", stack.scales, stack.directions)
    drawn = [sample_sentences(task, 7, draw, copies=2) for _ in range(max(1, sets))]
    labels = [draw_labels(one, task, torch.tensor(levels, dtype=torch.float64), draw) for one in drawn]
    tokens = torch.stack([one.tokens for one in drawn])
    return (
        stack,
        tokens if sets else tokens[0],
        torch.stack(labels, dim=1)[[levels.index(run.noise) for run in runs]].flatten(0, 1),
    )


def by_positions(stack: Stack, tokens: torch.Tensor, labels: torch.Tensor, arithmetic: Arithmetic) -> Weights:
    """The slopes by look-ups."""
    places = Places(tokens, stack.task.tokens)
    done = stack.architecture.attend(places, stack.weights)
    error = cross_entropy(stack.architecture.logits(places, stack.weights, done), labels, arithmetic).error
    return stack.architecture.gradients(places, stack.weights, done, error, layers=False)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("attention", ["linear", "relu", "softmax"])
@pytest.mark.parametrize("sets", [0, 3])
def test_counts_are_positions_added_up(noisy: bool, attention: str, sets: int) -> None:
    stack, tokens, labels = case(noisy, attention, sets)
    kinds = Kinds.count(tokens, stack.task, torch.float64)
    whole = forward(Places(tokens, stack.task.tokens), stack.weights, stack.architecture)
    found = kinds.layers(stack)
    torch.testing.assert_close(found.attention, whole.attention, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.feed_forward, whole.feed_forward, atol=1e-12, rtol=0)
    for arithmetic in get_args(Arithmetic):
        slope = by_positions(stack, tokens, labels, arithmetic).query_key
        expected = torch.einsum("mde,qde->mq", slope, stack.directions)
        torch.testing.assert_close(kinds.gradient(stack, labels, arithmetic), expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("noisy", [False, True])
def test_sentences_that_break_the_definition_are_counted_too(noisy: bool) -> None:
    """τ where no trigger stands before it, and at the front; a trigger before the last; a last word that is none."""
    stack, tokens, labels = case(noisy, "relu")
    tokens[0, [0, 5]] = 14
    tokens[1, -2] = tokens[1, -1]
    tokens[2, -1], tokens[3, -1] = 9, 14
    expected = by_positions(stack, tokens, labels, "subtraction").query_key
    found = Kinds.count(tokens, stack.task, torch.float64).gradient(stack, labels, "subtraction")
    along = torch.einsum("mde,qde->mq", expected, stack.directions)
    torch.testing.assert_close(found, along, atol=1e-12, rtol=0)

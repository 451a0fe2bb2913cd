"""The thirteen models: what they train, and one step of a stack against autograd on the printed form."""

from dataclasses import replace

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import HALF_FIXED, VARIANTS, TrainingRun, stacks

TASK = Task(11, 2, 3, 12, noisy=True, fillers="outputs allowed")


def printed_form_step(run: TrainingRun, rate: float, sentences, labels, steps: int) -> Weights:  # type: ignore[no-untyped-def]
    """Normalised descent on the printed form by autograd, one model by itself, with axes as codes."""
    codes = embedding(11, 22)
    gamma = odds(run.noise)
    scale = torch.zeros(1, dtype=torch.float64)
    built = reparameterised(TASK, codes, scale, gamma)
    zero = torch.zeros(22, 22, dtype=torch.float64)
    parts = {"all": Weights(zero, zero, zero), "query-key": replace(built, query_key=zero), "scales": built}
    weights = parts[run.variant.trained]
    if run.variant.fixed:
        weights = replace(weights, **{run.variant.fixed: getattr(built, run.variant.fixed)})
    architecture = Architecture(run.variant.attention, float(run.variant.full_input), 1e-8)
    for _ in range(steps):
        if run.variant.trained == "scales":
            scale.requires_grad_()
            weights = reparameterised(TASK, codes, scale, gamma)
            free = {"scale": scale}
        else:
            trained = ("value", "query_key", "feed_forward") if run.variant.trained == "all" else ("query_key",)
            names = [name for name in trained if name != run.variant.fixed]
            free = {name: getattr(weights, name).clone().requires_grad_() for name in names}
            weights = replace(weights, **free)
        logits = dense_forward(sentences.tokens, codes, weights, architecture).logits
        loss = torch.nn.functional.cross_entropy(logits, labels)
        slopes = torch.autograd.grad(loss, list(free.values()))
        moved = {}
        for (name, value), slope in zip(free.items(), slopes, strict=True):
            length = slope.norm()
            moved[name] = (value - rate * slope / length if length > 0 else value).detach()
        if run.variant.trained == "scales":
            scale = moved["scale"]
            weights = reparameterised(TASK, codes, scale, gamma)
        else:
            weights = replace(weights, **moved)
    return weights


@pytest.mark.parametrize(
    "names",
    [[name] * 2 for name in VARIANTS] + [["Origin-ReLU-FA", "Reparam-ReLU-W-FA"], [*HALF_FIXED]],
    ids=" ".join,
)
def test_a_stack_walks_like_the_printed_form(names: list[str]) -> None:
    """Two runs of each model, and of two models that share a stack and do not train the same tensors."""
    runs = [
        TrainingRun((VARIANTS | HALF_FIXED)[name], noise, rate)
        for name, (noise, rate) in zip(names, ((0.2, 0.1), (0.8, 0.5)), strict=True)
    ]
    sentences = sample_sentences(TASK, 20, seed=3)
    labels = draw_labels(sentences, TASK, torch.tensor([0.2, 0.8], dtype=torch.float64), seed=4)
    (stack,) = stacks(runs, TASK)
    before = Weights(*(part.clone() for part in stack.weights.matrices))
    for _ in range(4):
        done = forward(sentences.tokens, stack.weights, stack.architecture)
        error = cross_entropy(done.logits, labels).error
        stack.step(stack.architecture.gradients(sentences.tokens, stack.weights, done, error, stack.trained == "all"))
    for index, run in enumerate(runs):
        alone = printed_form_step(run, run.lr, sentences, labels[index], steps=4)
        assert (stack.weights.query_key[index] - alone.query_key).abs().max() < 1e-9
        assert (stack.weights.value[index] - alone.value[:11]).abs().max() < 1e-9
        assert (stack.weights.feed_forward[index] - alone.feed_forward[:11]).abs().max() < 1e-9
        if run.variant.trained != "all":
            assert torch.equal(stack.weights.value[index], before.value[index])
            assert torch.equal(stack.weights.feed_forward[index], before.feed_forward[index])
        if run.variant.fixed:
            kept = (getattr(each, run.variant.fixed)[index] for each in (stack.weights, before))
            assert torch.equal(*kept)

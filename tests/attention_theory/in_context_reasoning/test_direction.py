"""Descent on v against descent on the whole matrix by autograd; the hard margin against a general solver."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import minimize

from attention_theory.in_context_reasoning.direction import (
    descend,
    descend_relu,
    hard_margin,
    instance,
    reduced_descend,
)
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward
from attention_theory.in_context_reasoning.task import Task, violations


@pytest.mark.parametrize(("tokens", "length", "count"), [(4, 4, 2), (4, 6, 6), (8, 6, 150)])
def test_instances(tokens: int, length: int, count: int) -> None:
    case = instance(tokens, length)
    assert len(case.probability) == count
    assert math.fsum(case.probability.tolist()) == pytest.approx(1, abs=1e-15)
    assert not torch.stack(list(violations(case.sentences, Task(tokens, 1, 2, length)).values())).any()
    assert len({tuple(row) for row in case.sentences.tokens.tolist()}) == count


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("arithmetic", ["log-domain", "subtraction"])
def test_descent_on_v_is_descent_on_the_matrix(normalised: bool, arithmetic: str) -> None:
    case = instance(5, 6)
    codes = embedding(5, 10)
    matrix = torch.zeros(10, 10, dtype=torch.float64)
    eye, zero = torch.eye(10, dtype=torch.float64), torch.zeros(10, 10, dtype=torch.float64)
    for _ in range(20):
        matrix.requires_grad_()
        logits = dense_forward(case.sentences.tokens, codes, Weights(eye, matrix, zero), Architecture()).logits
        losses = torch.nn.functional.cross_entropy(logits, case.sentences.output, reduction="none")
        (slope,) = torch.autograd.grad((case.probability * losses).sum(), matrix)
        matrix = matrix.detach() - 0.1 * (slope / slope.norm() if normalised else slope)
    v = descend(case, 0.1, 20, normalised, arithmetic)[-1]  # type: ignore[arg-type]
    assert (matrix - torch.outer(case.last_input, v)).abs().max() < 1e-12
    target = torch.outer(codes.word[0], codes.previous[0])
    cosine = (matrix * target).sum() / matrix.norm()
    assert case.cosine_with_target(v).item() == pytest.approx(cosine.item(), abs=1e-12)


def test_relu_descent_is_descent_on_the_matrix_after_a_first_step_that_is_linear() -> None:
    """All scores are 0 at the start, where automatic differentiation takes the slope 0."""
    case = instance(5, 6)
    codes, path = embedding(5, 10), descend_relu(case, 0.1, 20)
    assert (path[1] - descend(case, 0.1, 1, True)[1]).abs().max() < 1e-14
    matrix = torch.outer(case.last_input, path[1])
    eye, zero = torch.eye(10, dtype=torch.float64), torch.zeros(10, 10, dtype=torch.float64)
    for _ in range(19):
        matrix.requires_grad_()
        logits = dense_forward(case.sentences.tokens, codes, Weights(eye, matrix, zero), Architecture("relu")).logits
        losses = torch.nn.functional.cross_entropy(logits, case.sentences.output, reduction="none")
        (slope,) = torch.autograd.grad((case.probability * losses).sum(), matrix)
        matrix = matrix.detach() - 0.1 * slope / slope.norm()
    assert (matrix - torch.outer(case.last_input, path[-1])).abs().max() < 1e-12
    assert not descend_relu(case, 0.1, 5, slope_at_zero=0.0).any()


@pytest.mark.parametrize("normalised", [False, True])
def test_several_starts_descend_as_each_alone(normalised: bool) -> None:
    case = instance(5, 6)
    starts = torch.randn(3, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    together = descend(case, 0.1, 30, normalised, start=starts)
    alone = [descend(case, 0.1, 30, normalised, start=start) for start in starts]
    assert (together - torch.stack(alone, dim=1)).abs().max() < 1e-12


def test_the_printed_gradient_goes_along_the_mean_feature_of_y_and_slows_down() -> None:
    """At v = 0 it takes y to have the probability 1/N; the more of it v holds, the shorter the steps."""
    case = instance(4, 4)
    path = reduced_descend(case, 0.5, 3)
    of_y = case.features[torch.arange(2), case.sentences.output]
    mean = case.probability @ of_y
    assert torch.equal(path[0], torch.zeros(8, dtype=torch.float64))
    assert (path[1] - 0.5 * (3 / 4) * mean).abs().max() < 1e-15
    steps = (path[1:] - path[:-1]).norm(dim=1)
    assert (steps[1:] < steps[:-1]).all()
    assert (2 * of_y @ path[-1] > 0).all()


def test_hard_margin_agrees_with_a_general_solver() -> None:
    case = instance(4, 6)
    features = 2 * case.features
    rows = torch.arange(len(features))
    gaps = (features[rows, case.sentences.output][:, None] - features).flatten(0, 1).numpy()
    kept = gaps[abs(gaps).sum(axis=1) > 0]
    found = minimize(
        lambda v: v @ v,
        case.claimed_direction.numpy(),
        jac=lambda v: 2 * v,
        constraints={"type": "ineq", "fun": lambda v: kept @ v - 1, "jac": lambda v: kept},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    ours = hard_margin(case)
    assert abs(found.x - ours.numpy()).max() < 1e-6
    assert (kept @ ours.numpy()).min() > 1 - 1e-12


@pytest.mark.parametrize("normalised", [False, True])
def test_without_a_slope_descent_stays(normalised: bool) -> None:
    case = instance(5, 6)
    nothing = replace(case, probability=torch.zeros_like(case.probability))
    start = torch.randn(10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(descend(nothing, 0.1, 3, normalised, start=start), start.expand(4, -1))

"""Descent on v against descent on the whole matrix by autograd; the hard margin against a general solver."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.direction import Instance, descend, descend_relu, instance, reduced_descend
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, Weights, dense_forward
from attention_theory.in_context_reasoning.task import Task, violations


@pytest.mark.parametrize(("tokens", "length", "count"), [(4, 4, 2), (4, 6, 6), (8, 6, 150)])
def test_instances(tokens: int, length: int, count: int) -> None:
    case = instance(tokens, length)
    assert len(case.probability) == count
    assert math.fsum(case.probability.tolist()) == pytest.approx(1, abs=1e-15)
    assert not torch.stack(list(violations(case.sentences, Task(tokens, 1, 2, length)).values())).any()
    assert len({tuple(row) for row in case.sentences.tokens.tolist()}) == count


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


def descend_on_the_matrix(
    case: Instance, matrix: torch.Tensor, steps: int, attention: Activation, normalised: bool
) -> torch.Tensor:
    """Descent on all of W_KQ by automatic differentiation."""
    eye, zero = torch.eye(10, dtype=torch.float64), torch.zeros(10, 10, dtype=torch.float64)
    for _ in range(steps):
        weights = Weights(eye, matrix.requires_grad_(), zero)
        logits = dense_forward(case.sentences.tokens, embedding(5, 10), weights, Architecture(attention)).logits
        losses = torch.nn.functional.cross_entropy(logits, case.sentences.output, reduction="none")
        (slope,) = torch.autograd.grad((case.probability * losses).sum(), matrix)
        matrix = matrix.detach() - 0.1 * (slope / slope.norm() if normalised else slope)
    return matrix


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("arithmetic", ["log-domain", "subtraction"])
def test_descent_on_v_is_descent_on_the_matrix(normalised: bool, arithmetic: Arithmetic) -> None:
    case, codes = instance(5, 6), embedding(5, 10)
    matrix = descend_on_the_matrix(case, torch.zeros(10, 10, dtype=torch.float64), 20, "linear", normalised)
    v = descend(case, 0.1, 20, normalised, arithmetic)[-1]
    assert (matrix - torch.outer(case.last_input, v)).abs().max() < 1e-12
    cosine = (matrix * torch.outer(codes.word[0], codes.previous[0])).sum() / matrix.norm()
    assert case.cosine_with_target(v).item() == pytest.approx(cosine.item(), abs=1e-12)


def test_relu_descent_is_descent_on_the_matrix_after_a_first_step_that_is_linear() -> None:
    """All scores are 0 at the start, where automatic differentiation takes the slope 0."""
    case = instance(5, 6)
    path = descend_relu(case, 0.1, 20)
    assert (path[1] - descend(case, 0.1, 1, True)[1]).abs().max() < 1e-14
    matrix = descend_on_the_matrix(case, torch.outer(case.last_input, path[1]), 19, "relu", True)
    assert (matrix - torch.outer(case.last_input, path[-1])).abs().max() < 1e-12
    assert not descend_relu(case, 0.1, 5, slope_at_zero=0.0).any()

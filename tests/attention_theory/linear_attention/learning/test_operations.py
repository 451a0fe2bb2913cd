import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_theory.linear_attention.learning.operations import (
    descent_multiplications,
    direct_multiplications,
    gradient,
    size,
    steps_bound,
    steps_to,
)
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.features import cubic_features, psi
from attention_theory.linear_attention.model.literal import literal_regression
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def test_gradient_is_that_of_the_regression_as_written() -> None:
    tokens, labels = normal(20, 3, 2, seed=0), normal(20, 2, seed=1)
    matrix = normal(4, 4, seed=2).requires_grad_()
    outputs = torch.einsum("ijc,ajc->ia", cubic_features(tokens), matrix.unflatten(0, (2, 2)))
    loss = (outputs - labels).square().sum(dim=1).mean()
    (slope,) = torch.autograd.grad(loss, matrix)
    ours = gradient(matrix.detach().reshape(2, 8), cubic_features(tokens).flatten(1), labels)
    assert relative_error(ours.reshape(4, 4), slope) < 1e-12


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_step_costs_what_is_counted(width: int) -> None:
    tokens, labels = normal(30, 4, width, seed=0), normal(30, width, seed=1)
    features = cubic_features(tokens).flatten(1)
    with FlopCounterMode(display=False) as counter:
        gradient(torch.zeros(width, width**3, dtype=torch.float64), features, labels)
    step = descent_multiplications(30, width, 4, 1) - descent_multiplications(30, width, 4, 0)
    assert counter.get_total_flops() == 2 * step  # a multiplication and an addition each


@pytest.mark.parametrize("epsilon", [0.5, 1e-2, 1e-4])
def test_steps_are_those_of_the_loop(epsilon: float) -> None:
    tokens, labels = normal(40, 3, 2, seed=0) / 2, normal(40, 2, seed=1)
    data, features = statistics(tokens, labels), cubic_features(tokens).flatten(1)
    best = literal_regression(tokens, labels).reshape(2, 8)
    rate = 1 / (2 * torch.linalg.eigvalsh(features.mT @ features / 40)[-1])

    def loss(matrix: torch.Tensor) -> float:
        return (features @ matrix.mT - labels).square().sum(dim=1).mean().item()

    matrix, steps = torch.zeros_like(best), 0
    while loss(matrix) - loss(best) > epsilon:
        matrix, steps = matrix - rate * gradient(matrix, features, labels), steps + 1
    assert steps_to(data, 2, epsilon) == steps <= steps_bound(data, 2, epsilon)
    assert size(data, 2) == pytest.approx(best.square().sum().item() / (2 * rate.item()))


def test_the_direct_solver_by_hand() -> None:
    features = psi(2)
    rows = 5 * (4 * 3 + features + features**2 + 2 * features)
    assert direct_multiplications(5, 2, 3) == rows + features**3 + 2 * features**2

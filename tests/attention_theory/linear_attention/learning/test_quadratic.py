import itertools

import torch

from attention_theory.linear_attention.learning.quadratic import Quadratic
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def test_output_is_the_sum_over_heads_and_linear_in_the_features() -> None:
    model, z = Quadratic.random(2, 3, seed=0), normal(4, 3, seed=0)
    by_sums = torch.zeros(3, dtype=torch.float64)
    for h, a in itertools.product(range(2), range(3)):
        by_sums[a] += model.outputs[h, a] * (model.last[h] @ z[-1]) * (model.total[h] @ z.sum(dim=0))
    assert relative_error(model(z), by_sums) < 1e-13
    assert relative_error(model.coefficients @ Quadratic.features(z), by_sums) < 1e-13


def test_fit_finds_a_teacher() -> None:
    teacher, tokens = Quadratic.random(1, 2, seed=1), normal(20, 3, 2, seed=0)
    labels = teacher(tokens)
    losses, rows = [], []
    for seed in range(8):
        model = Quadratic.random(1, 2, seed=10 + seed).fit(tokens, labels)
        losses.append((model(tokens) - labels).square().sum().item())
        rows.append(relative_error(model.coefficients, teacher.coefficients))
    assert min(losses) < 1e-20
    assert min(rows) < 1e-10

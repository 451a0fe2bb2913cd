import pytest
import torch

from attention_theory.linear_attention.learning.gradient_descent import descend
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


@pytest.mark.parametrize("samples", [40, 4])
def test_closed_form_is_the_loop(samples: int) -> None:
    data = statistics(normal(samples, 3, 2, seed=0), normal(samples, 2, seed=1))
    row = descend(data, steps=0, seed=7)
    rate = 1 / torch.linalg.eigvalsh(data.second_moment)[-1]
    for _ in range(25):
        row = row - rate * (row @ data.second_moment - data.cross)
    assert relative_error(descend(data, steps=25, seed=7), row) < 1e-6


def test_many_steps_end_at_the_minimiser() -> None:
    data = statistics(normal(400, 3, 2, seed=0), normal(400, 2, seed=1))
    assert relative_error(descend(data, steps=100_000, seed=0), data.solve()) < 1e-9

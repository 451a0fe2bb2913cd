import pytest
import torch

from attention_theory.linear_attention.learning.gradient_descent import descend
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.numerics import relative_error
from attention_theory.validation import ParameterError


def gaussian(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("samples", [40, 4])
def test_closed_form_is_the_loop(samples: int) -> None:
    data = statistics(gaussian(samples, 3, 2), gaussian(samples, 2, seed=1))
    row = descend(data, steps=0, seed=7)
    rate = 1 / torch.linalg.eigvalsh(data.second_moment)[-1]
    for _ in range(25):
        row = row - rate * (row @ data.second_moment - data.cross)
    assert relative_error(descend(data, steps=25, seed=7), row) < 1e-6


def test_many_steps_end_at_the_minimiser() -> None:
    data = statistics(gaussian(400, 3, 2), gaussian(400, 2, seed=1))
    assert relative_error(descend(data, steps=100_000, seed=0), data.solve()) < 1e-9
    with pytest.raises(ParameterError, match="steps"):
        descend(data, steps=-1, seed=0)

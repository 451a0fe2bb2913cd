import pytest
import torch

from attention_theory.linear_attention.model.few_heads import fewest_heads, two_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


def test_the_fewest_heads_by_count() -> None:
    assert [fewest_heads(width) for width in range(1, 9)] == [1, 2, 4, 7, 10, 13, 17, 22]


def test_two_heads_have_the_coefficients() -> None:
    for row in normal(100, 2, 6, seed=0):
        assert relative_error(coefficients(two_heads(row)), row) < 1e-6


def test_the_function_that_needs_three_heads_is_refused() -> None:
    """A is 1, B is 0 and D is nilpotent: Y² = -D has no solution."""
    row = torch.tensor([[0, 0, 1, 0, 0, -1], [0, 0, 0, 1, 0, 0]], dtype=torch.float64)
    with pytest.raises(ParameterError, match="row"):
        two_heads(row)
    with pytest.raises(ParameterError, match="row"):
        two_heads(torch.zeros(2, 6, dtype=torch.float64))

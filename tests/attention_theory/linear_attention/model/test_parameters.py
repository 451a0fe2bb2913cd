import pytest
import torch

from attention_theory.linear_attention.model.features import pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.linear_attention.model.parameters import (
    coefficients,
    distance,
    head_matrix,
    heads_from_matrix,
    symmetric_heads,
)
from attention_theory.numerics import relative_error


def test_print_doubles_the_coefficients_of_a_square() -> None:
    model = random_heads(3, 3, seed=0, out=2)
    j, k = pairs(3)
    doubled = coefficients(model).unflatten(-1, (-1, 3)) * (1 + (j == k))[:, None]
    torch.testing.assert_close(coefficients(model, form="printed"), doubled.flatten(1))


def test_round_trip_through_heads() -> None:
    matrix = head_matrix(random_heads(2, 3, seed=4))
    heads = heads_from_matrix(matrix)
    assert heads.count == 2
    assert relative_error(head_matrix(heads), matrix) < 1e-13
    # The root of each singular value goes to either side.
    norms = heads.values.flatten(1).norm(dim=1), heads.queries.flatten(1).norm(dim=1)
    assert torch.allclose(*norms)
    assert heads_from_matrix(torch.zeros(4, 4, dtype=torch.float64)).count == 1


@pytest.mark.parametrize(("width", "out"), [(1, 1), (2, 2), (3, 1), (3, 5), (4, 4)])
def test_symmetric_heads_are_the_same_function_with_fewer_heads(width: int, out: int) -> None:
    model = random_heads(width**2 + 3, width, seed=7, out=out)
    fewest = symmetric_heads(coefficients(model), width)
    assert fewest.count == min(out * width, width * (width + 1) // 2)
    assert torch.equal(fewest.queries, fewest.queries.mT)
    assert distance(fewest, model) < 1e-12 * distance(model, Heads(0 * model.values, model.queries)).clamp(min=1)
    assert symmetric_heads(torch.zeros(out, psi(width), dtype=torch.float64), width).count == 1

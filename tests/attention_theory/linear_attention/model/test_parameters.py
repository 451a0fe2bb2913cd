import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.model.features import certificate_features, cubic_features, pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import (
    antisymmetric_twin,
    coefficients,
    distance,
    head_matrix,
    heads_from_matrix,
    lift,
    lift_scale,
)
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def coefficients_by_loops(heads: Heads, double_the_diagonal: bool = False) -> torch.Tensor:
    """Eqs. 41 and 42 entry by entry."""
    d = heads.width
    j_of, k_of = pairs(d)
    rows = torch.zeros(heads.out, psi(d), dtype=torch.float64)
    for h, a, pair, last in itertools.product(range(heads.count), range(heads.out), range(len(j_of)), range(d)):
        j, k = int(j_of[pair]), int(k_of[pair])
        v, q = heads.values[h], heads.queries[h]
        term = v[a, j] * q[k, last]
        if j != k or double_the_diagonal:
            term = term + v[a, k] * q[j, last]
        rows[a, pair * d + last] += term
    return rows


@pytest.mark.parametrize(("width", "heads", "out"), [(1, 1, 1), (2, 3, 2), (3, 2, 1), (4, 5, 4)])
def test_coefficients_are_the_sums(width: int, heads: int, out: int) -> None:
    model = random_heads(heads, width, seed=0, out=out)
    assert relative_error(coefficients(model), coefficients_by_loops(model)) < 1e-14
    doubled = coefficients_by_loops(model, double_the_diagonal=True)
    assert relative_error(coefficients(model, form="printed"), doubled) < 1e-14


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 4), heads=st.integers(1, 4), tokens=st.integers(1, 5))
def test_output_is_linear_in_the_features(seed: int, width: int, heads: int, tokens: int) -> None:
    model = random_heads(heads, width, seed=seed)
    z = normal(tokens, width, seed=seed)
    y = mhla(model, z)
    assert relative_error(coefficients(model) @ certificate_features(z), y) < 1e-11
    blocks = head_matrix(model).unflatten(0, (width, width))
    assert relative_error((blocks * cubic_features(z)).sum(dim=(1, 2)), y) < 1e-11


@pytest.mark.parametrize(("width", "out"), [(2, 2), (3, 1), (3, 3)])
def test_lift_is_a_right_inverse_of_least_norm(width: int, out: int) -> None:
    row = normal(out, psi(width), seed=1)
    matrix = lift(row, width)
    assert relative_error(coefficients(matrix), row) < 1e-15
    assert (row / lift_scale(width)).norm().item() == pytest.approx(matrix.norm().item())
    twin = antisymmetric_twin(matrix, seed=2)
    assert relative_error(coefficients(twin), row) < 1e-14
    assert torch.linalg.norm(twin) > torch.linalg.norm(matrix)
    assert abs(((twin - matrix) * matrix).sum()) < 1e-12


def test_round_trip_through_heads() -> None:
    matrix = head_matrix(random_heads(2, 3, seed=4))
    heads = heads_from_matrix(matrix)
    assert heads.count == 2
    assert relative_error(head_matrix(heads), matrix) < 1e-13
    # The root of each singular value goes to either side.
    norms = heads.values.flatten(1).norm(dim=1), heads.queries.flatten(1).norm(dim=1)
    assert torch.allclose(*norms)
    assert heads_from_matrix(torch.zeros(4, 4, dtype=torch.float64)).count == 1


def test_distance_is_zero_on_the_same_function_only() -> None:
    model = random_heads(3, 3, seed=5)
    twin = heads_from_matrix(antisymmetric_twin(head_matrix(model), seed=6))
    assert distance(model, twin) < 1e-12
    assert distance(model, Heads(model.values.flip(0), model.queries.flip(0))) < 1e-13
    assert distance(model, Heads(2 * model.values, model.queries)) > 1
    stack = Heads(torch.stack([model.values, 2 * model.values]), torch.stack([model.queries, model.queries]))
    assert distance(stack, model).shape == (2,)

import pytest
import torch

from attention_theory.linear_attention.learning.sketch import (
    sketched_multiplications,
    sketched_regression,
    sketched_steps,
)
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def badly_scaled() -> tuple[torch.Tensor, torch.Tensor]:
    """Features of inputs whose last entry is a thousandth of the others, and labels."""
    tokens = normal(1500, 5, 3, seed=0)
    labels = tokens[:, -1].sign()
    tokens[..., -1] *= 1e-3
    return certificate_features(tokens), labels


def excesses(features: torch.Tensor, labels: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Loss above the least one, by number of steps; the least one from features of one size."""
    sized = features / features.norm(dim=0)
    best = sized @ torch.linalg.lstsq(sized, labels, driver="gelsd").solution
    return (features @ rows.mT - best).square().sum(dim=-1).mean(dim=-1)


def test_conjugate_gradients_arrive_within_their_steps_whatever_the_scaling() -> None:
    features, labels = badly_scaled()
    power = labels.square().sum(dim=1).mean().item()
    steps = sketched_steps(power, 1e-8)
    found = sketched_regression(features, labels, steps, seed=0)
    excess = excesses(features, labels, found.coefficients)
    for epsilon in (1e-1, 1e-4, 1e-8):
        assert excess[sketched_steps(power, epsilon)] <= epsilon
    preconditioned = torch.linalg.solve_triangular(found.triangle, features, upper=True, left=False)
    assert torch.linalg.cond(preconditioned) <= 4
    plain = sketched_regression(features, labels, steps, seed=0, preconditioned=False)
    assert excesses(features, labels, plain.coefficients)[-1] > 1e-4


def test_first_step_is_along_the_gradient() -> None:
    features, labels = normal(30, 4, seed=0), normal(30, 2, seed=1)
    rows = sketched_regression(features, labels, 1, seed=0, preconditioned=False).coefficients
    gradient = (features.mT @ labels).mT
    lengths = gradient.square().sum(dim=1) / (features @ gradient.mT).square().sum(dim=0)
    assert rows[0].abs().max() == 0
    assert relative_error(rows[1], lengths[:, None] * gradient) < 1e-12


def test_exact_labels_end_in_zeros_and_not_in_nan() -> None:
    features = normal(30, 4, seed=0)
    rows = sketched_regression(features, torch.zeros(30, 2, dtype=torch.float64), 3, seed=0).coefficients
    assert rows.abs().max() == 0


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_dependent_features_are_left_out_and_the_fit_is_the_best(scale: float) -> None:
    tokens = normal(1500, 1, 3, seed=0)  # one token: the features are the cubic forms of its entries, 10 of 18
    labels = tokens[:, -1].sign()
    tokens[..., -1] *= scale
    features = certificate_features(tokens)
    found = sketched_regression(features, labels, sketched_steps(3, 1e-8), seed=0)
    assert len(found.columns) == 10
    left_out = sorted(set(range(18)) - set(found.columns.tolist()))
    assert found.coefficients[..., left_out].abs().max() == 0
    assert excesses(features, labels, found.coefficients)[-1] <= 1e-8


def test_what_is_counted() -> None:
    assert sketched_multiplications(10, 2, 3, 0) == 10 * (12 + 6 + 24) + 8 * 6**3
    step = 2 * (2 * 10 * 6 + 36 + 2 * 10 + 4 * 6)
    assert sketched_multiplications(10, 2, 3, 5) - sketched_multiplications(10, 2, 3, 4) == step

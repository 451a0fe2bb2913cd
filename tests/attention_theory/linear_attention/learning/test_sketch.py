import pytest
import torch

from attention_theory.linear_attention.learning.sketch import (
    sketched_multiplications,
    sketched_regression,
    sketched_steps,
    sparse_embedding,
)
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


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


def test_the_embedding_keeps_norms_within_a_factor_and_means_exactly() -> None:
    features, _ = badly_scaled()
    kept = torch.linalg.qr(features).Q
    values = torch.linalg.svdvals(sparse_embedding(kept, 4 * psi(3), 4, seed=0))
    assert 0.5 < values.min() < values.max() < 2
    single = sparse_embedding(features[:1], 8, 4, seed=1)
    assert relative_error(single.square().sum(dim=0), features[0].square()) < 1e-12


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


def test_what_is_counted() -> None:
    assert sketched_multiplications(10, 2, 3, 0) == 10 * (12 + 6 + 24) + 8 * 6**3
    assert sketched_multiplications(10, 2, 3, 5) - sketched_multiplications(10, 2, 3, 4) == 2 * (2 * 10 * 6 + 36)


def test_bad_parameters_are_named() -> None:
    features, labels = normal(30, 4, seed=0), normal(30, 2, seed=1)
    with pytest.raises(ParameterError, match="steps"):
        sketched_regression(features, labels, 0, seed=0)
    with pytest.raises(ParameterError, match="rows"):
        sparse_embedding(features, 2, 4, seed=0)
    with pytest.raises(ParameterError, match="epsilon"):
        sketched_steps(1.0, 0.0)

import torch

from attention_theory.linear_attention.learning.certificate import certificate, certificate_of
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal


def test_enough_generic_data_holds_and_too_little_does_not() -> None:
    enough = certificate(normal(psi(2), 4, 2, seed=0))
    assert enough.holds
    assert enough.smallest > 0
    assert enough.null_space.shape == (0, psi(2))
    tokens = normal(psi(2) - 2, 4, 2, seed=0)
    short = certificate(tokens)
    assert not short.holds
    assert (short.smallest, short.rank, short.nullity) == (0.0, psi(2) - 2, 2)
    features = certificate_features(tokens)
    assert numerical_rank(features) == short.rank
    assert (features @ short.null_space.mT).abs().max() < 1e-6 * features.abs().max()


def test_the_threshold_is_relative() -> None:
    tokens = normal(40, 4, 3, seed=0)
    big, small = certificate(1e3 * tokens), certificate(1e-3 * tokens)
    assert big.rank == small.rank == psi(3)
    assert abs(big.smallest / (1e36 * small.smallest) - 1) < 1e-6
    assert not certificate_of(torch.diag(torch.tensor([1.0, 1e-10]))).holds


def test_an_eigenvalue_at_the_threshold_counts_as_zero() -> None:
    at_it = certificate_of(torch.diag(torch.tensor([1.0, 0.5], dtype=torch.float64)), rtol=0.5)
    assert (at_it.smallest, at_it.largest, at_it.rank, at_it.nullity) == (0.0, 1.0, 1, 1)
    above = certificate_of(torch.diag(torch.tensor([1.0, 0.5], dtype=torch.float64)), rtol=0.4999)
    assert (above.smallest, above.rank, above.holds) == (0.5, 2, True)
    for rtol in (0.0, 1.0):  # both ends are taken
        nothing = certificate_of(torch.zeros(2, 2, dtype=torch.float64), rtol)
        assert (nothing.smallest, nothing.rank, nothing.nullity) == (0.0, 0, 2)


def test_data_near_singular_data_are_not_called_singular() -> None:
    tokens = normal(psi(2), 4, 2, seed=0)
    for gap in (1e-5, 1e-7, 1e-9):  # the last two inputs differ by this; the moments' eigenvalues, by its square
        tokens[-1] = tokens[-2] + gap * normal(4, 2, seed=1)
        assert certificate(tokens).holds
    tokens[-1] = tokens[-2]
    assert certificate(tokens).nullity == 1

import torch

from attention_theory.linear_attention.learning.certificate import certificate, certificate_of, second_moment
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.numerics import numerical_rank


def gaussian(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_second_moment_is_the_mean_of_outer_products() -> None:
    rows = gaussian(7, 4)
    assert torch.allclose(second_moment(rows), torch.stack([torch.outer(row, row) for row in rows]).mean(dim=0))


def test_enough_generic_data_holds_and_too_little_does_not() -> None:
    enough = certificate(gaussian(psi(2), 4, 2))
    assert enough.holds
    assert enough.smallest > 0
    assert enough.null_space.shape == (0, psi(2))
    tokens = gaussian(psi(2) - 2, 4, 2)
    short = certificate(tokens)
    assert not short.holds
    assert (short.smallest, short.rank, short.nullity) == (0.0, psi(2) - 2, 2)
    features = certificate_features(tokens)
    assert numerical_rank(features) == short.rank
    assert (features @ short.null_space.mT).abs().max() < 1e-6 * features.abs().max()


def test_the_threshold_is_relative() -> None:
    tokens = gaussian(40, 4, 3)
    big, small = certificate(1e3 * tokens), certificate(1e-3 * tokens)
    assert big.rank == small.rank == psi(3)
    assert abs(big.smallest / (1e36 * small.smallest) - 1) < 1e-6
    assert not certificate_of(torch.diag(torch.tensor([1.0, 1e-10]))).holds

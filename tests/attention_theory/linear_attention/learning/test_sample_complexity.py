import pytest
import torch

from attention_theory.linear_attention.learning.sample_complexity import excess_risks
from attention_theory.linear_attention.model.features import psi


def test_gaussian_noise_gives_the_rate_of_least_squares() -> None:
    # Cubic features have heavy tails, so that the rate is reached slowly, from above.
    samples = [16 * psi(2), 256 * psi(2)]
    few, many = excess_risks(2, 4, samples, repetitions=60, seed=0).mean(dim=1) * torch.tensor(samples)
    assert 1 < few / (2 * psi(2)) < 2
    assert abs(many / (2 * psi(2)) - 1) < 0.25


@pytest.mark.parametrize("width", [2, 3])
def test_the_best_model_of_the_signs_is_known(width: int) -> None:
    """Many samples bring the regression to the coefficients that the moments give: the excess falls as 1/N."""
    risks = excess_risks(width, 3, [400, 25_600], repetitions=20, seed=1, labels="signs").mean(dim=1)
    assert risks[0] / risks[1] == pytest.approx(64, rel=0.5)

import pytest
import torch

from attention_theory.randomness import normal
from attention_theory.trends import exponent, line_of_the_mean, linear_fit_r2, slope


def test_exponent_of_a_power() -> None:
    assert exponent([10, 20, 40], [3 * x**-1.5 for x in (10, 20, 40)]) == pytest.approx(-1.5)


def test_the_line_of_the_mean_does_not_count_the_seeds_scatter_as_a_bend() -> None:
    x = torch.arange(1.0, 6.0).double()
    noisy = x[:, None] + 0.7 * normal(5, 400, seed=1)
    straight = line_of_the_mean(x, noisy)
    assert sum(straight) / 400 == pytest.approx(1.0, abs=0.01)
    assert sum(linear_fit_r2(x, one) for one in noisy.T) / 400 < 0.9
    bent = line_of_the_mean(x, x[:, None] ** 4 + 0.7 * normal(5, 400, seed=1))
    assert sum(bent) / 400 == pytest.approx(linear_fit_r2(x, x**4), abs=0.01)


def test_the_share_of_a_line_by_hand() -> None:
    """Through (0, 0), (1, 2), (2, 1): the covariance is 1, the variances 2 and 2."""
    assert linear_fit_r2(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 2.0, 1.0])) == pytest.approx(0.25)
    assert slope([0, 1, 2], [0, 2, 1]) == pytest.approx(0.5)

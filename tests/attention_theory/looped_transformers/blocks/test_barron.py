import math

import pytest
import torch

from attention_theory.looped_transformers.blocks.barron import (
    bump,
    bump_constant,
    bump_magnitude,
    fourier_constant,
    greedy_fit,
    step_magnitude,
)


def test_fourier_constants() -> None:
    frequencies = torch.linspace(-80, 80, 80_001, dtype=torch.float64)
    assert abs(fourier_constant(bump_magnitude(frequencies, 0.3), frequencies) - bump_constant(0.3)) < 1e-6
    outside = torch.linspace(1e-3, 80, 80_001, dtype=torch.float64)
    assert math.isclose(2 * fourier_constant(step_magnitude(outside), outside), 80 / math.pi, rel_tol=1e-3)


def test_the_greedy_fit_stays_in_the_hull_and_improves() -> None:
    x = torch.linspace(-1, 1, 401, dtype=torch.float64)
    constant = bump_constant(0.4)
    fits = [greedy_fit(bump(x, 0.4), x, terms, 20.0, constant) for terms in (2, 16)]
    assert all(fit.gamma.abs().sum() <= 2 * constant + 1e-12 for fit in fits)
    assert fits[1].root_mean_square < fits[0].root_mean_square / 2
    assert all(fit.root_mean_square <= fit.largest for fit in fits)


def test_a_bump_is_zero_in_its_middle_and_falls_to_minus_one() -> None:
    x = torch.tensor([0.0, 1.0, 100.0], dtype=torch.float64)
    assert bump(x, 1.0).tolist() == pytest.approx([0, math.exp(-0.5) - 1, -1])

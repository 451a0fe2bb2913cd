"""Curves of known shape, and a run that is read by hand."""

import pytest
import torch

from attention_theory.in_context_reasoning.curves import rate_of
from attention_theory.validation import ParameterError

TIMES = torch.arange(0, 200, 5, dtype=torch.float64)


def test_an_exponential_is_a_straight_line() -> None:
    found = rate_of(TIMES, 3 * (-0.07 * TIMES).exp(), 1.0, 1e-4)
    assert found.per_step == pytest.approx(-0.07)
    assert found.bend == pytest.approx(1)
    assert found.straightness == pytest.approx(1)


def test_the_bend_tells_what_comes_to_rest_from_what_falls_ever_faster() -> None:
    resting = rate_of(TIMES, (-0.1 * TIMES).exp() + 0.01, 1.0, 1e-4)
    assert resting.bend < 0.1 < 0.9 > resting.straightness
    faster = rate_of(TIMES, (-0.001 * TIMES**2).exp(), 1.0, 1e-9)
    assert faster.bend > 2


def test_a_stretch_ends_where_the_curve_first_comes_below() -> None:
    excess = (-0.07 * TIMES).exp()
    excess[-5:] = 0.0  # below the bound, and never read
    assert rate_of(TIMES, excess, 1.0, 1e-4).per_step == pytest.approx(-0.07)
    with pytest.raises(ParameterError, match="excess"):
        rate_of(TIMES, excess - 1e-3, 1.0, -1.0)
    with pytest.raises(ParameterError, match="records"):
        rate_of(TIMES, excess, 1e-3, 5e-4)
    assert rate_of(TIMES, 1 + excess, 0.5, 1e-4).straightness == 0

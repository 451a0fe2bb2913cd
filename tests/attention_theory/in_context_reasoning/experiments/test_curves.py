"""Curves of known shape, and a run that is read by hand."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.experiments.curves import Rate, growth, rate_of, share_left
from attention_theory.in_context_reasoning.training import History
from attention_theory.in_context_reasoning.variants import VARIANTS, Training
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
    assert rate_of(TIMES, 1 + excess, 0.5, 1e-4) == Rate(0.0, 0.0, 0.0)


def history(*curves: list[float]) -> History:
    """A run of Origin-Linear-FA at α = 0.8 whose two losses are given."""
    values = {
        name: torch.tensor(curve, dtype=torch.float64)[:, None]
        for name, curve in zip(("population", "unseen"), curves, strict=True)
    }
    return History([Training(VARIANTS["Origin-Linear-FA"], 0.8, 0.1)], list(range(0, 10 * len(curves[0]), 10)), values)


def test_growth_looks_at_the_last_half() -> None:
    run = history([1.0] * 8, [9.0, 7.0, 5.0, 3.0, 1.0, 1.5, 2.0, 2.5])
    assert growth(run, "unseen", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(0.05)
    assert growth(run, "population", "Origin-Linear-FA", 0.8, 0.1) == 0
    with pytest.raises(ParameterError, match="run"):
        growth(run, "unseen", "Origin-Linear-FA", 0.2, 0.1)


def test_the_share_that_is_left_is_one_on_the_plateau_and_zero_at_the_target() -> None:
    plateau = bayes_risk(0.8) + 0.2 * math.log(4)
    run = history([plateau] * 8, [bayes_risk(0.8)] * 8)
    assert share_left(run, "population", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(1)
    assert share_left(run, "unseen", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(0)

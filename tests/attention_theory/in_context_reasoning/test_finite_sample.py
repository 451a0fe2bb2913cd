"""Exact sums against simulation, bounds against their guards."""

import itertools
import math

import pytest

from attention_theory.in_context_reasoning.closed_form import bernoulli_kl
from attention_theory.in_context_reasoning.finite_sample import (
    chance,
    hoeffding_radius,
    kl_bound,
    kl_failure,
    mean_estimates,
    separation_time,
)


def test_the_failure_is_that_of_all_samples_one_by_one() -> None:
    bound = kl_bound(0.4, hoeffding_radius(4, 0.9))
    chances = [
        0.4 ** sum(tosses) * 0.6 ** (4 - sum(tosses))
        for tosses in itertools.product([0, 1], repeat=4)
        if sum(tosses) in (0, 4) or bernoulli_kl(0.4, sum(tosses) / 4) > bound
    ]
    assert kl_failure(4, 0.4, 0.9) == pytest.approx(sum(chances), abs=1e-12)


def test_the_chance_of_an_event_by_hand() -> None:
    assert chance(50, 0.99, lambda heads: 0 < heads < 50) == pytest.approx(1 - 0.99**50 - 0.01**50, abs=1e-12)
    assert chance(3, 0.25, lambda heads: heads == 1) == pytest.approx(3 * 0.25 * 0.75**2)


def test_two_samples_by_hand() -> None:
    """One head of two tosses leaves an estimate of one half, whose γ is 0; that of none or two is no number."""
    alpha, gamma = mean_estimates(2, 0.25)
    assert (alpha, gamma) == (pytest.approx(0.25), 0)
    assert kl_bound(0.25, 0.125) == pytest.approx(0.125)
    assert kl_bound(0.75, 0.0) == 0
    assert separation_time(0.25, 0.0, 0.1) == pytest.approx(10 * math.log(3))
    assert separation_time(0.75, 0.125, 0.1) == pytest.approx(10 * math.log(5 / 3))
    assert separation_time(0.75, 0.0, 2.0, form="printed") == pytest.approx(math.log(3))
    assert separation_time(0.75, 0.0, 0.5, form="printed") == pytest.approx(2 * math.log(3))
    assert separation_time(0.75, 0.0, 2.0) == 1

import random
from fractions import Fraction

import pytest

from attention_theory.certificates import balls
from attention_theory.in_context_reasoning.certified.coin import certify_coin_bound, kl_ball
from attention_theory.in_context_reasoning.closed_form import bernoulli_kl


@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(3, 10)])
def test_the_bound_on_a_coin_holds_for_every_distance(alpha: Fraction) -> None:
    certificate = certify_coin_bound(alpha)
    assert certificate.settled
    assert "above" in certificate.control.observed


def test_the_divergence_of_balls_is_that_of_the_package() -> None:
    draws = random.Random(0)
    for _ in range(20):
        a, b = draws.uniform(0.01, 0.99), draws.uniform(0.01, 0.99)
        assert float(kl_ball(balls.ball(a), balls.ball(b))) == pytest.approx(bernoulli_kl(a, b), rel=1e-9, abs=1e-15)


def test_a_smaller_bound_is_refuted() -> None:
    """At a tenth, half of the bound is too small."""
    alpha = balls.ball(Fraction(1, 10))
    answer = balls.positive(lambda x: 1 / (2 * (alpha - x)) - kl_ball(alpha, alpha - x) / x**2, 0.01, 0.09, "")
    assert answer.outcome == "refuted"

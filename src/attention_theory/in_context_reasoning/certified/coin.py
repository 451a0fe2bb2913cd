"""Certificates about the estimated coin: Lemma C.2."""

from collections.abc import Callable
from fractions import Fraction

from attention_theory.certificates import Certificate, Control, balls, certify
from attention_theory.certificates.balls import Ball
from attention_theory.certificates.certificate import Counterexample
from attention_theory.in_context_reasoning.closed_form import bernoulli_kl
from attention_theory.in_context_reasoning.finite_sample import kl_bound
from attention_theory.validation import refuse_unless


def kl_ball(a: Ball, b: Ball) -> Ball:
    """KL(a || b) of two coins in nats, as :func:`.bernoulli_kl` has it, of balls."""
    return a * (a / b).log() + (1 - a) * ((1 - a) / (1 - b)).log()


def certify_coin_bound(alpha: Fraction) -> Certificate:
    """Lemma C.2: ``KL(α || α̂) <= ε² / (min(α, 1 - α) - ε)`` where ``|α̂ - α| <= ε < min(α, 1 - α)``.

    The divergence is largest at one of the ends ``α ± ε``, for it is convex in α̂. Both sides are divided by ε².

    Args:
        alpha: between 0 and 1/2, both excluded; at 1/2 the two sides meet at ε = 0.

    Raises:
        ParameterError: another α.
    """
    refuse_unless(0 < alpha < Fraction(1, 2), f"alpha must be above 0 and below 1/2, got {alpha}")
    exact, least, most = balls.ball(alpha), float(alpha) / 100, float(alpha) * 0.999

    def room(sign: int, far: int = 1) -> Callable[[Ball], Ball]:
        return lambda epsilon: 1 / (exact - epsilon) - kl_ball(exact, exact + sign * far * epsilon) / epsilon**2

    answers = [
        balls.positive(room(sign), least, most, f"1/({alpha} - x) > KL({alpha} || {alpha} {'+-'[sign < 0]} x) / x^2")
        for sign in (1, -1)
    ]

    def run(values: Counterexample) -> tuple[str, bool]:
        level, epsilon = float(alpha), values["x"]
        divergence, bound = bernoulli_kl(level, level - 2 * epsilon), kl_bound(level, epsilon)
        return f"KL({level} || {level - 2 * epsilon:.4g}) = {divergence:.4g}, above {bound:.4g}", divergence > bound

    words = f"1/({alpha} - x) > KL({alpha} || {alpha} - 2 x) / x^2"
    broken = balls.positive(room(-1, far=2), least, most / 2, words)
    control = Control.of("α̂ may be as far as 2 ε from α", broken, run)
    return certify(
        "The divergence of an estimated coin is at most ε² / (min(α, 1 - α) - ε).",
        f"α = {alpha}, every ε from {least} to {most}",
        answers,
        control,
    )

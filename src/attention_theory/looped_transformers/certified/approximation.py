"""1/x and the square root by steps and by sums of sigmoids (Lemmas 17 to 20), and sigmoids for Huber's loss.

A sum of rising sigmoids with positive heights rises. So each inequality is brought into the form of two rising
functions that are close to each other, which values at finitely many points prove.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify, smt
from attention_theory.certificates.balls import Ball
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.blocks.approximation import (
    reciprocal_partition,
    reciprocal_sigmoids,
    root_at_scales,
    root_partition,
    root_sigmoids,
)
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
from attention_theory.looped_transformers.programs.losses import Loss
from attention_theory.validation import Each, refuse_unless, require


def certify_reciprocal_steps(error: float = 0.125, least: float = 0.25, most: float = 16.0) -> Certificate:
    """Lemma 17: steps ``1/a`` on ``[a, a (1 + ε a))`` are within ε of 1/x, for all ε, a and x; so are those built.

    Raises:
        ParameterError: as :func:`reciprocal_partition`.
    """
    built = reciprocal_partition(error, least, most)
    a, epsilon, x = z3.Reals("a epsilon x")
    one_step = smt.prove(
        [a > 0, epsilon > 0, a <= x, x < a * (1 + epsilon * a)],
        z3.And(x - a >= 0, x - a <= epsilon * a * x),
        "0 <= 1/a - 1/x <= epsilon, times a x",
    )
    coarse = type(built)(built.edges[::2], built.values[::2][: len(built.edges[::2]) - 1])

    def is_near(value: Term, x: Term) -> Term:
        return z3.And(value * x - 1 <= smt.rational(error) * x, value * x - 1 >= -smt.rational(error) * x)

    return certify(
        "The steps of height 1/a on [a, a (1 + ε a)) are within ε of 1/x.",
        f"a step: all ε and a above 0; those that are built for ε = {error}: all real x from {least} to {most}",
        [one_step, _ask_steps(built.edges, built.values, most, is_near)],
        Control.of(
            "every other step is left out",
            _ask_steps(coarse.edges, coarse.values, coarse.edges[-1].item(), is_near),
            lambda values: _run(coarse, lambda x: 1 / x, error, values),
        ),
    )


def certify_root_steps(error: float = 0.125, most: float = 9.0) -> Certificate:
    """Lemma 19: steps ``i ε`` from ``i² ε²`` on are within ε of the root, for every real x up to ``most``.

    Args:
        error: ε, a float whose multiples have exact squares, such as 1/8.
        most: C.

    Raises:
        ParameterError: as :func:`root_partition`.
    """
    built = root_partition(error, most)
    coarse = type(built)(built.edges[::2], built.values[::2])

    def is_near(value: Term, x: Term) -> Term:
        bound = smt.rational(error)
        return z3.And(
            x <= (value + bound) * (value + bound), z3.Or(value <= bound, x >= (value - bound) * (value - bound))
        )

    return certify(
        "The steps i ε on [i² ε², (i + 1)² ε²) are within ε of the root.",
        f"ε = {error}, {built.intervals} steps, all real x from 0 to below {most}",
        _ask_steps(built.edges, built.values, most, is_near),
        Control.of(
            "every other step is left out",
            _ask_steps(coarse.edges, coarse.values, coarse.edges[-1].item(), is_near),
            lambda values: _run(coarse, torch.sqrt, error, values),
        ),
    )


def _ask_steps(edges: Tensor, values: Tensor, most: float, is_near: Callable[[Term, Term], Term]) -> Answer:
    """Ask whether the value of each interval is near, at every real x of it."""
    x, ends = z3.Real("x"), edges.tolist()
    claims = [
        z3.Implies(z3.And(smt.rational(low) <= x, x < smt.rational(high)), is_near(smt.rational(value), x))
        for low, high, value in zip(ends, ends[1:], values.tolist(), strict=False)
    ]
    return smt.prove([x >= smt.rational(ends[0]), x < smt.rational(min(most, ends[-1]))], z3.And(claims), "steps")


@dataclass(frozen=True)
class _Target:
    """A function that sums of sigmoids come near, of balls and of tensors, and whether it rises."""

    name: str
    balls: Callable[[Ball], Ball]
    tensors: Callable[[Tensor], Tensor]
    rises: bool = True


_RECIPROCAL = _Target("1/x", lambda x: 1 / x, lambda x: 1 / x, rises=False)
_ROOT = _Target("sqrt(x)", lambda x: x.sqrt(), torch.sqrt)


def certify_reciprocal_sigmoids(error: float = 0.25, least: float = 0.25, most: float = 16.0) -> Certificate:
    """Lemma 18: the sigmoids in place of the steps are within ε of 1/x on the whole interval.

    Raises:
        ParameterError: as :func:`reciprocal_sigmoids`.
    """
    late = reciprocal_sigmoids(error, least, most, first_knot=least)
    return _certify_sum(
        reciprocal_sigmoids(error, least, most), _RECIPROCAL, least, most, error, "the first knot is at δ", late
    )


def certify_inversion(heads: Sequence[int] = range(9, 65)) -> Certificate:
    """Corollary 8: m sigmoids are within ``1.5 / sqrt(m)`` of 1/x from ``1.5 / sqrt(m)`` to ``e^m``.

    Args:
        heads: the numbers m that are asked, each at least 9.

    Raises:
        ParameterError: heads below 9, or a sum of more than m sigmoids.
    """
    require(heads=(Each(heads), 9, 400))
    answers = []
    for count in heads:
        error, most = 1.5 / math.sqrt(count), math.exp(count)
        built, half = (reciprocal_sigmoids(min(scale * error, 1.0), error, most) for scale in (1.0, 2.0))
        refuse_unless(built.terms <= count, f"heads must be enough for {built.terms} sigmoids, got {count}")
        answers.append(_ask_sum(built, _RECIPROCAL, error, most, error))
    return certify(
        "m sigmoids, or fewer, are within 1.5/sqrt(m) of 1/x from 1.5/sqrt(m) to exp(m).",
        f"m from {min(heads)} to {max(heads)}, all real x of the interval",
        answers,
        Control.of(
            f"{half.terms} sigmoids for m = {count}",
            _ask_sum(half, _RECIPROCAL, error, most, error),
            lambda values: _run(half, _RECIPROCAL.tensors, error, values),
        ),
    )


def certify_root_sigmoids(error: float = 0.125, most: float = 4.0) -> Certificate:
    """Lemma 20: ``sqrt(C) / ε`` sigmoids are within ε of the root on [0, C].

    Raises:
        ParameterError: as :func:`root_sigmoids`.
    """
    coarse = root_sigmoids(2 * error, most)
    return _certify_sum(
        root_sigmoids(error, most), _ROOT, 0.0, most, error, "half as many sigmoids, twice as high", coarse
    )


def certify_root_at_scales(heads: int = 25) -> Certificate:
    """Corollary 9: m sigmoids with slopes in a geometric sequence are within 1/m of the root on all of [0, m²].

    Raises:
        ParameterError: heads below 25.
    """
    require(heads=(heads, 25, 200))
    most, error = float(heads**2), 1 / heads
    equal = root_sigmoids(1.0, most)
    return _certify_sum(root_at_scales(heads, most, error), _ROOT, 0.0, most, error, "m equal steps", equal)


def certify_huber(corner: float = 1.0, terms: int = 16) -> Certificate:
    """Appendix O: m sigmoids and a constant are within the error that :class:`Loss` states of Huber's derivative.

    Beyond ``R = 64 corner`` the derivative is constant, and the sum is between its value at R and its limit.

    Raises:
        ParameterError: as :meth:`Loss.huber`.
    """
    loss, coarse = Loss.huber(corner, terms), Loss.huber(corner, max(1, terms // 4))
    assert loss.sigmoids is not None
    assert coarse.sigmoids is not None
    far = 64 * corner
    target = _Target("r cut off at the corners", lambda r: r.max(-corner).min(corner), loss.derivative)
    heights = loss.sigmoids.heights.tolist()
    limits = [
        balls.below(abs(balls.ball(heights[-1]) / 2 + corner), loss.error, "the limit at minus infinity"),
        balls.below(
            abs(sum(map(balls.ball, heights[:-1]), balls.ball(heights[-1]) / 2) - corner), loss.error, "and at infinity"
        ),
    ]
    return _certify_sum(
        loss.sigmoids, target, -far, far, loss.error, f"{coarse.sigmoids.terms - 1} sigmoids", coarse.sigmoids, limits
    )


def _certify_sum(
    built: SigmoidSum,
    target: _Target,
    low: float,
    high: float,
    error: float,
    broken: str,
    other: SigmoidSum,
    more: Sequence[Answer] = (),
) -> Certificate:
    return certify(
        f"A sum of sigmoids is within {error:.6g} of {target.name}.",
        f"{built.terms} sigmoids, all real x " + (f"from {low:.6g} to {high:.6g}" if not more else "of both signs"),
        [_ask_sum(built, target, low, high, error), *more],
        Control.of(
            broken,
            _ask_sum(other, target, low, high, error),
            lambda values: _run(other, target.tensors, error, values),
        ),
    )


def _ask_sum(built: SigmoidSum, target: _Target, low: float, high: float, error: float) -> Answer:
    """Ask whether a sum is within the error of its target, as two rising functions that are close.

    Raises:
        ParameterError: a sigmoid that falls.
    """
    terms = list(zip(*(part.tolist() for part in (built.slopes, built.shifts, built.heights)), strict=True))
    refuse_unless(all(slope >= 0 for slope, _, _ in terms), "built must have sigmoids that rise, got a negative slope")
    up, down = ([term for term in terms if sign * term[2] > 0] for sign in (1, -1))

    def first(x: Ball) -> Ball:
        return _sum(up, x) - (0 if target.rises else target.balls(x))

    def second(x: Ball) -> Ball:
        return -_sum(down, x) + (target.balls(x) if target.rises else 0)

    words = f"{len(terms)} sigmoids, of which {len(down)} are subtracted, and {target.name} differ by at most {error}"
    return balls.close(first, second, _points(built, target, low, high, error), error, words)


def _sum(terms: Sequence[tuple[float, float, float]], x: Ball) -> Ball:
    return sum((height / (1 + (-(slope * x + shift)).exp()) for slope, shift, height in terms), balls.ball(0))


def _points(built: SigmoidSum, target: _Target, low: float, high: float, error: float) -> list[float]:
    """Points between which both functions rise by little, or one where they are too far apart.

    They are chosen in floating point; what they prove is checked with balls.
    """
    points = torch.tensor([low, high], dtype=torch.float64)
    rising, falling = built.heights.clamp(min=0), built.heights.clamp(max=0)
    for _ in range(80):
        sigmoids = (points[:, None] * built.slopes + built.shifts).sigmoid()
        wanted = target.tensors(points)
        first = sigmoids @ rising - (0 if target.rises else wanted)
        second = -(sigmoids @ falling) + (wanted if target.rises else 0)
        apart = (first - second).abs() > error * (1 + 1e-9)
        if apart.any():
            worst = points[apart][0].item()
            return [worst, math.nextafter(worst, math.inf)]
        limit = error * (1 - 1e-9)
        wide = (first[1:] - second[:-1] > limit) | (second[1:] - first[:-1] > limit)
        if not wide.any():
            break
        starts, ends = points[:-1][wide], points[1:][wide]
        middles = torch.where(starts > 0, (starts * ends).sqrt(), (starts + ends) / 2)
        points = torch.cat([points, middles]).sort().values
    return points.tolist()


def _run(
    built: Callable[[Tensor], Tensor], target: Callable[[Tensor], Tensor], error: float, values: Counterexample
) -> tuple[str, bool]:
    x = torch.tensor([float(values["x"])], dtype=torch.float64)
    off = (built(x) - target(x)).abs().item()
    return f"at {x.item():.6g} it is off by {off:.4g}, more than {error:.4g}", off > error

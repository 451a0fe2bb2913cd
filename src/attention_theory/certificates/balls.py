"""Inequalities by ball arithmetic: python-flint computes with intervals that contain the true value.

An inequality in one variable is proved on an interval by cutting it until the ball of every piece is on the right side.
Balls of long sums grow wide; where both sides are monotone, values at the ends of the pieces are enough. A question
lists the ends of all pieces. Its functions are code, and its text has their inequality in words.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from attention_theory.certificates.certificate import LIMIT, Answer, Clock, Outcome, name_of, needs
from attention_theory.validation import refuse_unless

with needs("python-flint"):
    import flint

#: A real number of python-flint with its error.
Ball = Any
Function = Callable[[Ball], Ball]


def ball(number: float | Fraction | int) -> Ball:
    """A number as a ball: a float is exact, a fraction has the error of its division."""
    return (
        flint.arb(flint.fmpq(number.numerator, number.denominator))
        if isinstance(number, Fraction)
        else flint.arb(number)
    )


def interval(low: float, high: float) -> Ball:
    """A ball that contains everything from ``low`` to ``high``."""
    return flint.arb(low).union(flint.arb(high))


def positive(
    function: Function, low: float, high: float, words: str, pieces: int = 100_000, seconds: float = LIMIT
) -> Answer:
    """Decide whether a function is above 0 everywhere on an interval.

    Args:
        function: of a ball, made of operations on balls.
        low, high: the ends of the interval.
        words: the inequality.
        pieces: the most into which the interval is cut; beyond them the outcome is ``unknown``.
        seconds: the limit of processor time, after which it is ``unknown`` too.

    Raises:
        ParameterError: an empty interval.
    """
    refuse_unless(low <= high, f"low must be at most high, got {low} and {high}")
    clock, open_pieces, done = Clock(seconds), [(low, high)], list[float]()
    while open_pieces:
        start, end = open_pieces.pop()
        if function(interval(start, end)) > 0:
            done.append(start)
            continue
        middle = (start + end) / 2
        if function(ball(middle)) < 0:
            return _answer(words, [*done, end], "refuted", clock, middle)
        if len(done) + len(open_pieces) >= pieces or not start < middle < end or clock.has_run_out:
            return _answer(words, [*done, end], "unknown", clock)
        open_pieces += [(start, middle), (middle, end)]
    return _answer(words, [*done, high], "proved", clock)


def close(
    first: Function,
    second: Function,
    points: Sequence[float],
    distance: float | Fraction,
    words: str,
    seconds: float = LIMIT,
) -> Answer:
    """Decide whether two functions that do not decrease are within a distance of each other from the first point to the
    last.

    Between two neighbours each function lies between its values there. That both do not decrease is for the caller to
    show.
    """
    clock, limit = Clock(seconds), ball(distance)
    values = ((point, first(ball(point)), second(ball(point))) for point in points)
    for (start, low, lower), (_, high, higher) in pairwise(values):
        if clock.has_run_out:
            return _answer(words, points, "unknown", clock)
        if not (high - lower <= limit and higher - low <= limit):
            apart = abs(low - lower) > limit
            outcome: Outcome = "refuted" if apart else "unknown"
            return _answer(words, points, outcome, clock, start if apart else None)
    return _answer(words, points, "proved", clock)


def below(value: Ball, limit: float | Fraction, words: str) -> Answer:
    """Decide whether a number is below a limit. It has no variable, so its counterexample names the number alone."""
    clock, bound = Clock(), ball(limit)
    outcome: Outcome = "proved" if value < bound else "refuted" if value >= bound else "unknown"
    point = {"value": str(value)} if outcome == "refuted" else None
    return Answer(f"{words}: {value} < {limit}", outcome, name_of("python-flint"), clock.seconds, point)


def softmax(scores: Sequence[Ball]) -> list[Ball]:
    """The weights of scores, each with its error."""
    largest = max(scores, key=float)
    powers = [(score - largest).exp() for score in scores]
    total = sum(powers, flint.arb(0))
    return [power / total for power in powers]


def _answer(words: str, points: Sequence[float], outcome: Outcome, clock: Clock, point: float | None = None) -> Answer:
    """The answer to a question about the intervals between points, in any order."""
    ends = sorted(points)
    where = f"on [{ends[0]}, {ends[-1]}], in {len(ends) - 1} pieces, balls of {flint.ctx.prec} bits"
    question = f"{words}\n{where}, with ends {' '.join(map(repr, ends))}"
    counterexample = None if point is None else {"x": point}
    return Answer(question, outcome, name_of("python-flint"), clock.seconds, counterexample)

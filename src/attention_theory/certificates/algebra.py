"""Questions to sympy: polynomial identities, equations without a common zero, sums of squares.

:func:`polynomial_of` reads the polynomial that a count of the package is, so that no question restates a formula.

Each is one call of sympy, which knows no limit of time. Their sizes bound it: a Gröbner basis is computed of at most
some dozen equations of low degree, and every question of the book has a test that runs it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from attention_theory.certificates.certificate import Answer, Clock, Counterexample, Outcome, name_of, needs
from attention_theory.validation import refuse_unless

with needs("sympy"):
    import sympy
    from sympy.polys.rings import ring

#: An expression of sympy, which has no types.
Expression = Any
#: A polynomial as a function of numbers, or of terms of z3 or sympy.
Polynomial = Callable[..., Any]


def identity(left: Expression, right: Expression, words: str = "") -> Answer:
    """Whether two rational functions are equal, for all values of their variables where both are defined.

    A counterexample has values from -2 to 2, or from a wider grid if there is none among them.
    """
    clock = Clock()
    numerator = sympy.expand(sympy.fraction(sympy.together(left - right))[0])
    point = None if numerator == 0 else _nonzero(numerator)
    outcome: Outcome = "proved" if numerator == 0 else "unknown" if point is None else "refuted"
    return _answer(words, f"{left} = {right}", outcome, clock, point)


def no_common_zero(equations: Sequence[Expression], variables: Sequence[Expression], words: str = "") -> Answer:
    """Whether polynomials, each set to 0, have no common zero over the complex numbers: their Gröbner basis is 1.

    Where it is another, there are complex zeros and perhaps no real ones, so the outcome is ``unknown``.
    """
    clock = Clock()
    basis = sympy.groebner(equations, *variables, order="grevlex", domain=sympy.QQ)
    outcome: Outcome = "proved" if list(basis.exprs) == [1] else "unknown"
    return _answer(words, "\n".join(f"{equation} = 0" for equation in equations), outcome, clock)


def follows(equations: Sequence[Expression], polynomial: Expression, variables: Sequence[Expression]) -> Answer:
    """Whether a polynomial is 0 wherever the equations are: it lies in their ideal. Else the outcome is ``unknown``."""
    clock = Clock()
    basis = sympy.groebner(equations, *variables, order="grevlex", domain=sympy.QQ)
    outcome: Outcome = "proved" if basis.contains(polynomial) else "unknown"
    text = "\n".join([*(f"{equation} = 0" for equation in equations), f"imply {polynomial} = 0"])
    return _answer("", text, outcome, clock)


def sum_of_squares(polynomial: Expression, squares: Sequence[tuple[Expression, Expression]], words: str = "") -> Answer:
    """Whether the polynomial is ``Σ weight root**2`` with weights that are numbers above 0, so nowhere negative."""
    clock = Clock()
    total = sum(weight * root**2 for weight, root in squares)
    remainder = sympy.expand(polynomial - total)
    positive = all(sympy.sympify(weight).is_positive for weight, _ in squares)
    point = _nonzero(remainder) if remainder != 0 else None
    outcome: Outcome = "refuted" if point else "proved" if remainder == 0 and positive else "unknown"
    return _answer(words, f"{polynomial} = {total}", outcome, clock, point)


def polynomial_of(function: Callable[..., int], **starts: tuple[int, int]) -> Polynomial:
    """The polynomial that a function of whole numbers is, read from its values.

    Args:
        function: of whole numbers.
        starts: for each argument its smallest value and its degree in the polynomial. The degrees are checked at one
            value more of each argument.

    Raises:
        ParameterError: a function that is not a polynomial of these degrees with whole coefficients.
    """
    _, *variables = ring(list(starts), sympy.QQ)
    points = [range(start, start + degree + 1) for start, degree in starts.values()]
    polynomial = sum(function(*corner) * prod(map(_is_at, variables, points, corner)) for corner in product(*points))
    evaluate: Polynomial = sympy.lambdify(sympy.symbols(list(starts)), polynomial.as_expr())
    more = product(*(range(start, start + degree + 2) for start, degree in starts.values()))
    whole = all(coefficient.denominator == 1 for coefficient in polynomial.coeffs())
    refuse_unless(
        whole and all(evaluate(*sizes) == function(*sizes) for sizes in more),
        f"function must be a polynomial with whole coefficients, of the degrees {dict(starts)}",
    )
    return evaluate


def _answer(words: str, text: str, outcome: Outcome, clock: Clock, point: Counterexample | None = None) -> Answer:
    return Answer(f"{words}\n{text}".strip(), outcome, name_of("sympy"), clock.seconds, point)


def _nonzero(polynomial: Expression) -> Counterexample | None:
    """Small integers at which a polynomial is not 0."""
    variables = sorted(polynomial.free_symbols, key=str)
    for point in _grid(len(variables)):
        if polynomial.subs(dict(zip(variables, point, strict=True))) != 0:
            return {str(variable): value for variable, value in zip(variables, point, strict=True)}
    return None


def _grid(dimensions: int, most: int = 100_000) -> Iterator[tuple[int, ...]]:
    """Integer points near 0, at most so many: first all from -2 to 2, then those on a moment curve."""
    for number, point in enumerate(product((1, 2, -1, -2, 0), repeat=dimensions)):
        if number == most:
            break
        yield point
    yield from (tuple(base**power for power in range(1, dimensions + 1)) for base in range(3, 60))


def _is_at(variable: Any, points: range, place: int) -> Any:
    """Lagrange's polynomial that is 1 at a place and 0 at the other points."""
    factors = ((variable - other) * sympy.QQ(1, place - other) for other in points if other != place)
    return prod(factors, start=variable**0)

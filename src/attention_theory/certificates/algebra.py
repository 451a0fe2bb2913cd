"""Questions to sympy: polynomial identities, equations without a common zero, sums of squares.

:func:`polynomial_of` reads the polynomial that a count of the package is, so that no question restates a formula.
sympy knows no limit of time. A question that exceeds ``seconds`` of processor time is ended, and ``unknown``.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from attention_theory.certificates.certificate import (
    LIMIT,
    Answer,
    Counterexample,
    Found,
    name_of,
    needs,
    within_limit,
)
from attention_theory.validation import refuse_unless

with needs("sympy"):
    import sympy
    from sympy.polys.rings import ring

#: An expression of sympy, which has no types.
Expression = Any
#: A polynomial as a function of numbers, or of terms of z3 or sympy.
Polynomial = Callable[..., Any]


def identity(left: Expression, right: Expression, words: str = "", seconds: float = LIMIT) -> Answer:
    """Decide whether two rational functions are equal, for all values of their variables where both are defined.

    A counterexample has values from -2 to 2, or from a wider grid if there is none among them.
    """

    def settle() -> Found:
        numerator = sympy.expand(sympy.fraction(sympy.together(left - right))[0])
        point = None if numerator == 0 else _nonzero(numerator)
        return "proved" if numerator == 0 else "unknown" if point is None else "refuted", point

    return within_limit(settle, f"{words}\n{left} = {right}".strip(), name_of("sympy"), seconds)


def no_common_zero(
    equations: Sequence[Expression], variables: Sequence[Expression], words: str = "", seconds: float = LIMIT
) -> Answer:
    """Decide whether polynomials, each set to 0, have no common complex zero: their Gröbner basis is 1.

    Where it is another, there are complex zeros and perhaps no real ones, so the outcome is ``unknown``.
    """

    def settle() -> Found:
        basis = sympy.groebner(equations, *variables, order="grevlex", domain=sympy.QQ)
        return "proved" if list(basis.exprs) == [1] else "unknown", None

    text = "\n".join(f"{equation} = 0" for equation in equations)
    return within_limit(settle, f"{words}\n{text}".strip(), name_of("sympy"), seconds)


def follows(
    equations: Sequence[Expression], polynomial: Expression, variables: Sequence[Expression], seconds: float = LIMIT
) -> Answer:
    """Decide whether a polynomial is 0 wherever the equations are: it lies in their ideal. Else it is ``unknown``."""

    def settle() -> Found:
        basis = sympy.groebner(equations, *variables, order="grevlex", domain=sympy.QQ)
        return "proved" if basis.contains(polynomial) else "unknown", None

    text = "\n".join([*(f"{equation} = 0" for equation in equations), f"imply {polynomial} = 0"])
    return within_limit(settle, text, name_of("sympy"), seconds)


def sum_of_squares(
    polynomial: Expression,
    squares: Sequence[tuple[Expression, Expression]],
    words: str = "",
    seconds: float = LIMIT,
) -> Answer:
    """Decide whether the polynomial is ``Σ weight root**2`` with positive weights, so nowhere negative."""
    total = sum(weight * root**2 for weight, root in squares)

    def settle() -> Found:
        remainder = sympy.expand(polynomial - total)
        positive = all(sympy.sympify(weight).is_positive for weight, _ in squares)
        point = _nonzero(remainder) if remainder != 0 else None
        return "refuted" if point else "proved" if remainder == 0 and positive else "unknown", point

    return within_limit(settle, f"{words}\n{polynomial} = {total}".strip(), name_of("sympy"), seconds)


def polynomial_of(function: Callable[..., int], **starts: tuple[int, int]) -> Polynomial:
    """Read the polynomial that a function of whole numbers is from its values.

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

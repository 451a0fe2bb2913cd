"""Polynomials that counts of the package are, read from their values, so that no question restates a formula."""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import sympy

from attention_theory.memorization.attention import capacity
from attention_theory.validation import refuse_unless

#: A polynomial as a function of numbers, or of terms of z3 or sympy.
Polynomial = Callable[..., Any]


def polynomial_of(function: Callable[..., int], **starts: tuple[int, int]) -> Polynomial:
    """The polynomial that a function of whole numbers is, read from its values.

    Args:
        function: of whole numbers.
        starts: for each argument its smallest value and its degree in the polynomial. The degrees are checked at one
            value more of each argument.

    Raises:
        ParameterError: a function that is not a polynomial of these degrees with whole coefficients.
    """
    symbols = sympy.symbols(list(starts))
    points = [range(start, start + degree + 1) for start, degree in starts.values()]
    terms = [function(*corner) * prod(map(_is_at, symbols, points, corner)) for corner in product(*points)]
    polynomial = sympy.Poly(sum(terms), *symbols)
    evaluate: Polynomial = sympy.lambdify(symbols, polynomial.as_expr())
    more = product(*(range(start, start + degree + 2) for start, degree in starts.values()))
    whole = all(coefficient.is_integer for coefficient in polynomial.coeffs())
    refuse_unless(
        whole and all(evaluate(*sizes) == function(*sizes) for sizes in more),
        f"function must be a polynomial with whole coefficients, of the degrees {dict(starts)}",
    )
    return evaluate


def promise_of_theorem_1() -> Polynomial:
    """The examples of Theorem 1 at ``d_h >= n``, of heads and tokens."""
    return polynomial_of(lambda H, n: capacity(H, n, n), H=(1, 1), n=(1, 1))


def combination(coefficients: Sequence[float], symbols: Sequence[sympy.Expr]) -> sympy.Expr:
    """``Σ coefficient symbol``, each coefficient as the fraction that it is."""
    terms = zip(coefficients, symbols, strict=True)
    return sum((sympy.Rational(coefficient) * symbol for coefficient, symbol in terms), sympy.Integer(0))


def _is_at(symbol: sympy.Symbol, points: range, place: int) -> Any:
    """Lagrange's polynomial that is 1 at a place and 0 at the other points."""
    return prod(((symbol - other) / sympy.Integer(place - other) for other in points if other != place), start=1)

"""Polynomials of the chapter: the promise of Theorem 1, and linear combinations."""

from collections.abc import Sequence

import sympy

from attention_theory.certificates.algebra import Polynomial, polynomial_of
from attention_theory.memorization.attention import capacity


def promise_of_theorem_1() -> Polynomial:
    """The examples of Theorem 1 at ``d_h >= n``, of heads and tokens."""
    return polynomial_of(lambda H, n: capacity(H, n, n), H=(1, 1), n=(1, 1))


def combination(coefficients: Sequence[float], symbols: Sequence[sympy.Expr]) -> sympy.Expr:
    """``Σ coefficient symbol``, each coefficient as the fraction that it is."""
    terms = zip(coefficients, symbols, strict=True)
    return sum((sympy.Rational(coefficient) * symbol for coefficient, symbol in terms), sympy.Integer(0))

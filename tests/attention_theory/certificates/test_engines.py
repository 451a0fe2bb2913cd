"""Each engine proves what is true, refutes what is false with a counterexample, and knows what it does not know."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
import sympy
import torch
import z3

from attention_theory.certificates import algebra, balls, exact, exhaust, smt, symbolic
from attention_theory.certificates.one_hot import OneHotRing, Polynomial, add, subtract
from attention_theory.validation import ParameterError

X, Y = sympy.symbols("x y")
REAL = z3.Real("x")
INTEGER = z3.Int("n")


def test_z3_proves_and_refutes_with_exact_numbers() -> None:
    step = smt.relu(INTEGER + 1) - smt.relu(INTEGER)
    assert smt.prove([], step == z3.If(INTEGER >= 0, 1, 0)).outcome == "proved"
    answer = smt.prove([REAL > 0], smt.relu(REAL + 1) - smt.relu(REAL) != smt.rational(0.5) + REAL)
    assert answer.outcome == "refuted"
    assert answer.counterexample == {"x": Fraction(1, 2)}


def test_z3_that_needs_too_long_proves_nothing() -> None:
    a, b, c = z3.Ints("a b c")
    answer = smt.prove([a > 0, b > 0, c > 0], a**3 + b**3 != c**3, seconds=0.05)
    assert answer.outcome == "unknown"
    assert answer.counterexample is None


def test_a_float_is_the_fraction_that_it_is() -> None:
    assert smt.prove([], smt.rational(0.1) == z3.Q(1, 10)).outcome == "refuted"
    assert (
        smt.prove([], smt.affine([0.5, 0.0, -1.0], [REAL, z3.Real("y"), REAL], 2.0) == 2 - REAL / 2).outcome == "proved"
    )


def test_a_question_can_be_asked_again_from_its_text() -> None:
    answer = smt.prove([INTEGER > 3], INTEGER > 2, "a larger number")
    solver = z3.Solver()
    solver.from_string(answer.question)
    assert solver.check() == z3.unsat
    assert answer.question.startswith("; a larger number")
    assert "(set-info :status unsat)" in answer.question
    assert "(set-info :status sat)" in smt.prove([INTEGER > 3], INTEGER > 4).question


def test_polynomial_identities() -> None:
    assert algebra.identity((X + Y) ** 2, X**2 + 2 * X * Y + Y**2).outcome == "proved"
    assert algebra.identity(1 / X - 1 / Y, (Y - X) / (X * Y)).outcome == "proved"
    answer = algebra.identity((X + Y) ** 2, X**2 + Y**2)
    assert answer.counterexample is not None
    assert answer.counterexample["x"] * answer.counterexample["y"] != 0


def test_equations_without_a_common_zero() -> None:
    assert algebra.no_common_zero([X * Y - 1, X], [X, Y]).outcome == "proved"
    assert algebra.no_common_zero([X * Y - 1, X - Y], [X, Y]).outcome == "unknown"
    assert algebra.follows([X - Y, Y - 1], X**2 - 1, [X, Y]).outcome == "proved"
    assert algebra.follows([X - Y], X**2 - 1, [X, Y]).outcome == "unknown"


def test_sums_of_squares() -> None:
    assert algebra.sum_of_squares(2 * X**2 - 2 * X * Y + Y**2, [(1, X), (1, X - Y)]).outcome == "proved"
    assert algebra.sum_of_squares(X**2 - Y**2, [(1, X), (-1, Y)]).outcome == "unknown"
    assert algebra.sum_of_squares(X**2, [(1, X - 1)]).outcome == "refuted"


def test_inequalities_by_balls() -> None:
    assert balls.positive(lambda x: x.exp() - 1 - x / 2, 0.1, 3.0, "e^x > 1 + x/2").outcome == "proved"
    answer = balls.positive(lambda x: x.exp() - 1 - 2 * x, 0.1, 3.0, "e^x > 1 + 2x")
    assert answer.counterexample is not None
    assert 0.1 <= answer.counterexample["x"] <= 1.3
    assert balls.positive(lambda x: x * x, -1.0, 1.0, "x^2 > 0", pieces=1000).outcome == "unknown"
    with pytest.raises(ParameterError, match="low must be"):
        balls.positive(lambda x: x, 1.0, 0.0, "")


def test_two_functions_that_do_not_decrease() -> None:
    points = [place / 100 for place in range(101)]
    shifted = [lambda x: x, lambda x: x + balls.ball(Fraction(1, 10))]
    assert balls.close(shifted[0], shifted[1], points, 0.12, "").outcome == "proved"
    assert balls.close(shifted[0], shifted[1], points, 0.105, "").outcome == "unknown"
    assert balls.close(shifted[0], shifted[1], points, 0.09, "").outcome == "refuted"


def test_softmax_contains_the_true_weights() -> None:
    weights = balls.softmax([balls.ball(0), balls.ball(-2), balls.ball(-2)])
    assert float(weights[0]) == pytest.approx(1 / (1 + 2 * torch.tensor(-2.0).exp().item()))
    assert balls.below(1 - weights[0], Fraction(22, 100), "rest").outcome == "proved"
    assert balls.below(1 - weights[0], Fraction(21, 100), "rest").outcome == "refuted"


def test_linear_algebra_over_the_rationals() -> None:
    nearly = [[1.0, 2.0], [0.1, 0.2]]
    assert exact.rank_is(nearly, 1, "").outcome == "proved"  # 0.2 is 2 * 0.1 as a float too
    assert exact.rank_is([[1.0, 3.0], [0.1, 0.3]], 1, "").counterexample == {"rank": 2}  # 0.3 is not 3 * 0.1
    (vector,) = exact.null_vectors(torch.tensor([[1, 2, 3], [0, 1, 1]]))
    assert vector == [-1, -1, 1]
    assert exact.positive_definite([[2, -1], [-1, 2]], "").outcome == "proved"
    assert exact.pivots([[2, -1], [-1, 2]]) == [2, Fraction(3, 2)]
    assert exact.positive_definite([[1, 2], [2, 1]], "").counterexample == {"number of the pivot": 2, "pivot": -3}
    with pytest.raises(ParameterError, match="numbers must be a symmetric"):
        exact.pivots([[1, 2], [3, 4]])


def test_dependent_columns_come_with_a_combination_that_is_0() -> None:
    assert exact.independent([[1, 0], [1, 1], [5, 5]], "").outcome == "proved"
    answer = exact.independent([[1, 2, 3], [0, 1, 1]], "")
    assert answer.counterexample == {"column 0": -1, "column 1": -1, "column 2": 1}
    assert exact.combination(answer.counterexample, 3) == [-1, -1, 1]


def test_every_member_of_a_finite_set() -> None:
    answer = exhaust.every({"a": 5, "b": 7}, lambda at: at["a"] * at["b"] <= 24, "a b <= 24", at_once=4)
    assert answer.outcome == "proved"
    assert "35 cases" in answer.question
    answer = exhaust.every({"a": 5, "b": 7}, lambda at: at["a"] * at["b"] < 18, "a b < 18", at_once=4)
    assert answer.counterexample == {"a": 3, "b": 6}


def test_an_engine_that_has_no_time_left_proves_nothing() -> None:
    ring = OneHotRing()
    (_, chosen) = ring.choice("letter", 2)
    late = -1.0
    assert balls.positive(lambda x: x + 2, -1.0, 1.0, "", seconds=late).outcome == "proved"  # at once, in one piece
    assert balls.positive(lambda x: x * x + x + 1, -1.0, 1.0, "", seconds=late).outcome == "unknown"
    assert exhaust.every({"a": 9}, lambda at: at["a"] < 9, "", at_once=4, seconds=late).outcome == "unknown"
    assert ring.prove_equal([("same", chosen, chosen)], "", seconds=late).outcome == "unknown"
    assert balls.close(lambda x: x, lambda x: x, [0.0, 1.0], 2.0, "", seconds=late).outcome == "unknown"
    assert exact.independent([[1, 0], [1, 1]], "", seconds=late).outcome == "unknown"
    assert exact.rank_is([[1, 0]], 2, "", seconds=late).counterexample is None
    assert symbolic.equal(torch.ones(1), torch.ones(1), "", seconds=late).outcome == "unknown"


def test_a_question_that_would_take_hours_is_ended() -> None:
    x = sympy.symbols("x:7")
    sums = [sum(sympy.prod(x[(i + j) % 7] for j in range(k)) for i in range(7)) for k in range(1, 7)]
    answer = algebra.no_common_zero([*sums, sympy.prod(x) - 1], x, seconds=0.1)
    assert answer.outcome == "unknown"
    assert answer.seconds < 10


def test_the_text_of_a_question_is_whole() -> None:
    wide = torch.arange(40.0)[None]
    assert exact.rank_is(wide, 1, "").question.endswith(" ".join(map(str, range(40))))
    assert "-1.0 -0.5 0.0 1.0" in balls.positive(lambda x: x * x + x + 1, -1.0, 1.0, "").question
    x = symbolic.variables(x=(30,))["x"]
    assert symbolic.equal(x, x, "").question.count("=") == 30


def test_one_hot_polynomials_are_functions_of_choices() -> None:
    ring = OneHotRing()
    letter, state = ring.choice("letter", 3), ring.choice("state", 2)
    for a in range(3):
        for b in range(2):
            chosen = {"letter": a, "state": b}
            assert [ring.value(entry, chosen) for entry in letter] == [int(a == value) for value in range(3)]
            both = ring.times(letter[2], state[0])
            assert ring.value(both, chosen) == int((a, b) == (2, 0))
    total: Polynomial = {}
    for entry in letter:
        add(total, entry)
    assert ring.prove_equal([("one letter", total, {0: 1})], "").outcome == "proved"
    assert ring.times(letter[1], letter[2]) == {}
    answer = ring.prove_equal([("wrong", ring.times(letter[1], state[1]), letter[1])], "")
    assert answer.counterexample == {"identity": "wrong", "left": 0, "right": 1, "letter": 1}
    assert ring.nonzero(subtract(letter[0], letter[0])) is None


def test_a_polynomial_that_is_too_large_proves_nothing() -> None:
    ring = OneHotRing(most_terms=100)
    choices = [ring.choice(f"choice {number}", 4) for number in range(6)]

    def identities() -> Iterator[tuple[str, Polynomial, Polynomial]]:
        yield "product", ring.times(*(choice[0] for choice in choices)), {}

    assert ring.prove_equal(identities(), "").outcome == "unknown"


def test_a_rank_modulo_a_prime_is_a_lower_bound() -> None:
    numbers = torch.tensor([[3.0, 0.0], [0.0, -1.0]])
    assert exact.rank_at_least(numbers, 2, "").outcome == "proved"
    assert exact.rank_at_least(numbers, 2, "", prime=3).outcome == "unknown"  # over the rationals it is 2
    with pytest.raises(ParameterError, match="numbers"):
        exact.rank_at_least(numbers / 2, 1, "")

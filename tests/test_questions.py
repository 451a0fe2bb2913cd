from collections import Counter

import z3

from attention_theory.certificates import Certificate, Control, algebra, certify, smt
from questions import disagreements

X = z3.Real("x")


def certificate() -> Certificate:
    """Two questions to z3, between which sympy answers a third."""
    symbol = algebra.sympy.Symbol("x")
    identity = algebra.identity((symbol + 1) ** 2, symbol**2 + 2 * symbol + 1, "a square")
    answers = [smt.prove([X > 1], X > 0), identity, smt.prove([X > 2], X * X > 4)]
    return certify("", "", answers, Control.of("", smt.prove([], X > 0), lambda point: ("", True)))


def by_z3(question: str) -> str:
    solver = z3.Solver()
    solver.from_string(question)
    return str(solver.check())


def test_each_question_of_a_certificate_can_be_put_to_a_solver_again() -> None:
    made, counts = certificate(), Counter[str]()
    scripts = iter([("certificate", made.question), ("control", made.control.question)])
    assert disagreements(scripts, by_z3, counts) == []
    assert counts == {"unsat": 2, "sat": 1}


def test_another_answer_is_a_disagreement_and_no_answer_is_none() -> None:
    question = certificate().question
    assert len(disagreements(iter([("one", question)]), lambda _: "sat", Counter())) == 2
    counts = Counter[str]()
    assert disagreements(iter([("one", question)]), lambda _: "unknown", counts) == []
    assert counts == {"unknown": 2}

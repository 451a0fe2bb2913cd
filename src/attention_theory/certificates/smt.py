"""Questions to z3: integers, reals with polynomials, and bit-vectors.

A layer becomes a question through :func:`rational`, which takes a weight as the fraction that its float is, and
:func:`affine` and :func:`relu`, which are the operations of a feed-forward network on terms of z3.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates.certificate import LIMIT, Answer, Clock, Counterexample, Outcome, name_of, needs
from attention_theory.validation import refuse_unless

with needs("z3-solver"):
    import z3

#: A term or a formula of z3, which has no types.
Term = Any


def prove(assumptions: Sequence[Term], conclusion: Term, words: str = "", seconds: float = LIMIT) -> Answer:
    """Decide whether the conclusion is true wherever all assumptions are.

    z3 looks for values that satisfy the assumptions and not the conclusion; if there are none it is proved. The text of
    the question is SMT-LIB, which other solvers read: ``unsat`` is a proof. Its ``:status`` is what z3 returned.

    Args:
        assumptions: formulas.
        conclusion: a formula.
        words: put before the question as a comment.
        seconds: the limit of time, after which the outcome is ``unknown``.
    """
    clock, solver = Clock(), z3.Solver()
    solver.set("timeout", int(1000 * seconds))
    solver.add(*map(_standard, assumptions), _standard(z3.Not(conclusion)))
    question = "".join(f"; {line}\n" for line in words.splitlines()) + solver.to_smt2()
    result = solver.check()
    question = question.replace(":status unknown", f":status {result}", 1)
    outcome: Outcome = "proved" if result == z3.unsat else "refuted" if result == z3.sat else "unknown"
    counterexample = values_of(solver.model()) if outcome == "refuted" else None
    return Answer(question, outcome, name_of("z3-solver"), clock.seconds, counterexample)


def _standard(formula: Term) -> Term:
    """The formula in the words of SMT-LIB, which has no powers and no sums of one part; z3 has.

    Its parts are read through z3's functions in C, since a Python object for each takes ten times as long.
    """
    context, swaps, seen, waiting = formula.ctx, [], set(), [formula.as_ast()]
    of = context.ref()
    while waiting:
        term = waiting.pop()
        if (number := z3.Z3_get_ast_id(of, term)) in seen:
            continue
        seen.add(number)
        if not z3.Z3_is_app(of, term):
            continue  # no question has quantifiers
        count = z3.Z3_get_app_num_args(of, term)
        parts = [z3.Z3_get_app_arg(of, term, place) for place in range(count)]
        waiting += parts
        kind = z3.Z3_get_decl_kind(of, z3.Z3_get_app_decl(of, term)) if count in (1, 2) else None
        if kind in (z3.Z3_OP_ADD, z3.Z3_OP_MUL, z3.Z3_OP_AND, z3.Z3_OP_OR) and count == 1:
            swaps.append((z3.ExprRef(term, context), z3.ExprRef(parts[0], context)))
        if kind == z3.Z3_OP_POWER:
            base, power = z3.ArithRef(parts[0], context), int(z3.Z3_get_numeral_string(of, parts[1]))
            swaps.append((z3.ExprRef(term, context), z3.Product([base] * power)))
    return _standard(z3.substitute(formula, *swaps)) if swaps else formula


def values_of(model: Term) -> Counterexample:
    """The values of a model by the names of their variables: integers, fractions, truth values, else text."""
    values = {str(variable): model[variable] for variable in model.decls() if variable.arity() == 0}
    return {name: _value(value) for name, value in sorted(values.items())}


def _value(value: Term) -> bool | int | Fraction | str:
    if z3.is_true(value) or z3.is_false(value):
        return bool(z3.is_true(value))
    if z3.is_int_value(value) or z3.is_bv_value(value):
        return int(value.as_long())
    return (
        Fraction(value.numerator_as_long(), value.denominator_as_long()) if z3.is_rational_value(value) else str(value)
    )


def rational(number: float | Fraction) -> Term:
    """The number as z3 has it, exactly: a float is a fraction."""
    exact = Fraction(number)
    return z3.Q(exact.numerator, exact.denominator)


def term_of(expression: Any, variables: Mapping[str, Term]) -> Term:
    """A rational function as a term of z3. Denominators must not be 0 where it is asked about.

    Raises:
        ParameterError: another function.
    """
    if expression.is_Symbol:
        return variables[expression.name]
    if expression.is_Rational:
        return z3.Q(int(expression.p), int(expression.q))
    is_power = expression.is_Pow and expression.exp.is_Integer
    refuse_unless(
        expression.is_Add or expression.is_Mul or is_power, f"expression must be a rational function, got {expression}"
    )
    parts = [term_of(part, variables) for part in expression.args if not is_power]
    if expression.is_Add:
        return z3.Sum(parts)
    if expression.is_Mul:
        return z3.Product(parts)
    base, power = term_of(expression.base, variables), int(expression.exp)
    product = z3.Product([base] * abs(power))
    return product if power > 0 else 1 / product


def relu(term: Term) -> Term:
    """``max(term, 0)``."""
    return z3.If(term > 0, term, 0)


def affine(weights: Iterable[float], terms: Iterable[Term], bias: float = 0.0) -> Term:
    """``bias + Σ weight term`` over the reals; weights that are 0 leave nothing behind."""
    parts = [
        term if weight == 1 else rational(weight) * term
        for weight, term in zip(weights, terms, strict=True)
        if weight != 0
    ]
    return z3.Sum([rational(bias), *parts] if bias or not parts else parts)


def feed_forward(
    w1: Float[Tensor, "hidden rows"],
    b1: Float[Tensor, " hidden"],
    w2: Float[Tensor, "rows hidden"],
    b2: Float[Tensor, " rows"],
    state: Mapping[int, Term],
) -> dict[int, Term]:
    """``x + W2 relu(W1 x + b1) + b2`` over the reals: the terms of the rows that are in the state or written.

    Rows that are not in the state are 0, which the caller has to know.
    """
    hidden = [
        relu(affine([weights[row] for row in state], state.values(), bias))
        for weights, bias in zip(w1.tolist(), b1.tolist(), strict=True)
    ]
    written = w2.ne(0).any(dim=1) | b2.ne(0)
    rows = sorted({*state, *written.nonzero().flatten().tolist()})
    return {row: state.get(row, 0) + affine(w2[row].tolist(), hidden, b2[row].item()) for row in rows}


def within(term: Term, low: float, high: float) -> Term:
    """``low <= term <= high``."""
    return z3.And(rational(low) <= term, term <= rational(high))


def among(term: Term, values: Iterable[int]) -> Term:
    """The term is one of the values."""
    return z3.Or([term == value for value in values])

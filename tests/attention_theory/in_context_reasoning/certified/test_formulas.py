import math
import random
from collections.abc import Callable

import pytest
import sympy
import torch

from attention_theory.certificates.smt import term_of, z3
from attention_theory.certificates.symbolic import trace
from attention_theory.in_context_reasoning.certified.losses import GAMMA, OTHERS, C, G, X, formula_of, m
from attention_theory.in_context_reasoning.closed_form import (
    noiseless_loss,
    noiseless_slope,
    noisy_hessian,
    noisy_loss,
    noisy_slope,
    probabilities,
)
from attention_theory.validation import ParameterError

#: Functions of (λ, γ, C), and of γ and N - 1 as numbers.
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "noiseless_loss": lambda s, g, c, gamma, others: noiseless_loss(s, c, others),
    "noiseless_slope": lambda s, g, c, gamma, others: noiseless_slope(s, c, others),
    "noisy_loss": lambda s, g, c, gamma, others: noisy_loss(s, g, c, 0.25, others),
    "noisy_slope": lambda s, g, c, gamma, others: noisy_slope(s, gamma, c, others),
    "noisy_hessian": lambda s, g, c, gamma, others: noisy_hessian(s, g, c, others),
    "probabilities": lambda s, g, c, gamma, others: probabilities(s, gamma, c, others),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_formula_of_a_function_has_its_values(name: str) -> None:
    """At other scales, γ, counts and vocabularies than those at which the function was traced."""
    function, draws = FUNCTIONS[name], random.Random(0)
    formulas = formula_of(lambda s, g, c: function(s, g, c, GAMMA, OTHERS)).flatten()
    for _ in range(5):
        scale, gamma, count, others = (
            draws.uniform(0.1, 3),
            draws.uniform(-2, 2),
            draws.randint(1, 4),
            draws.randint(2, 90),
        )
        inputs = (torch.tensor(float(value), dtype=torch.float64) for value in (scale, gamma, count))
        values = function(*inputs, gamma, others).flatten().tolist()
        point = {X: math.exp(count * scale), G: math.exp(gamma), C: count, m: others}
        assert [float(formula.subs(point)) for formula in formulas] == pytest.approx(values, rel=1e-12)


def test_an_operation_without_a_formula_is_refused() -> None:
    with pytest.raises(ParameterError, match="got tanh"):
        trace(torch.tanh, [(0.5, sympy.Symbol("x"))])


def test_a_term_is_the_rational_function() -> None:
    x, y = sympy.symbols("x y")
    term = term_of((x**2 + 3) / (2 * x * y), {"x": z3.RealVal(3), "y": z3.RealVal(5)})
    assert z3.simplify(term).as_fraction() == sympy.Rational(2, 5)
    with pytest.raises(ParameterError, match="rational function"):
        term_of(sympy.sqrt(x), {"x": z3.RealVal(3)})

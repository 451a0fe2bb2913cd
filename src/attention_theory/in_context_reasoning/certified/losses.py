"""Certificates about the losses in closed form: Sections 3 and 4 for all scales, counts, noise levels and vocabularies.

Formulas are read from :mod:`.closed_form` by :func:`.symbolic.trace`. They are rational functions of

    X = e^{Cλ}, Y = e^{λ}, G = e^γ, m = N - 1, C, and of α̂ and β = 1 - α̂,

and λ >= 0 and C >= 1 say that X >= Y >= 1. That ``ln(1 + u) <= u`` for u >= 0 is a separate question.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import Expression, sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, term_of, z3
from attention_theory.certificates.symbolic import trace
from attention_theory.in_context_reasoning.closed_form import (
    noisy_hessian,
    noisy_loss,
    noisy_slope,
)

X, Y, G, m, C, alpha, estimate, beta = sympy.symbols("X Y G m C alpha estimate beta", positive=True)
BOUND = m / Y  # (N - 1) e^{-λ}
GAMMA_OF_G = sympy.log(G)
#: The numbers at which the code runs while its formulas are read: λ, γ, C, α, N - 1.
SCALE, GAMMA, COUNT, ALPHA, OTHERS = 0.7, 0.4, 2.0, 0.3, 59
TERMS = {name: z3.Real(name) for name in ("X", "Y", "G", "m", "C", "alpha", "estimate", "beta", "u", "py", "pt", "p0")}
#: N >= 2, λ >= 0 and C >= 1.
RANGES = [TERMS["m"] >= 1, TERMS["Y"] >= 1, TERMS["X"] >= TERMS["Y"]]


def formula_of(function: Callable[..., Tensor], gamma: Expression = GAMMA_OF_G) -> np.ndarray:
    """A function of :mod:`.closed_form` of (λ, γ, C) as expressions.

    A function that takes γ as a number computes with it outside of tensors; what it computes there is named.
    """
    both = math.log1p(math.exp(GAMMA))
    together, rest = sympy.log(1 + sympy.exp(gamma)), sympy.log(m)
    numbers = {
        math.log(OTHERS): rest,
        math.log(OTHERS) - both: rest - together,
        both: together,
        math.exp(-both): sympy.exp(-together),
        math.exp(GAMMA - both): sympy.exp(gamma - together),
        ALPHA: alpha,
    }
    return trace(function, [(SCALE, sympy.log(X) / C), (GAMMA, gamma), (COUNT, C)], numbers)


def noisy_loss_formula(gamma: Expression = GAMMA_OF_G) -> Expression:
    """f_C of Section 4.2."""
    return formula_of(lambda s, g, c: noisy_loss(s, g, c, ALPHA, OTHERS), gamma).item()


def along_scale(expression: Expression) -> Expression:
    """The derivative in λ, as ``dX/dλ = C X``."""
    return C * X * sympy.diff(expression, X)


def along_gamma(expression: Expression) -> Expression:
    """The derivative in γ, as ``dG/dγ = G``."""
    return G * sympy.diff(expression, G)


def ask_tangent() -> Answer:
    """Ask whether ``u - ln(1 + u)``, which is 0 at 0, has a derivative of at least 0 for every u >= 0."""
    u = sympy.Symbol("u", positive=True)
    slope = term_of(sympy.cancel(sympy.diff(u - sympy.log(1 + u), u)), TERMS)
    return smt.prove([TERMS["u"] >= 0], slope >= 0, "the derivative of u - ln(1 + u)")


def ask_slope(below: bool = False) -> Answer:
    """Ask whether :func:`.noisy_slope` is below 0 for all counts above 0; or, ``below``, at those of :data:`OTHERS`."""
    ranges = [*(TERMS[name] > 0 for name in "XmC"), TERMS["G"] >= 0]
    if below:
        ranges = [TERMS["X"] > 0, TERMS["m"] == OTHERS, TERMS["C"] < 0, TERMS["G"] > 0]
    return smt.prove(ranges, term_of(sympy.cancel(_slope()), TERMS) < 0, "the slope of the noisy loss is below 0")


def ask_formula() -> Answer:
    """Ask whether :func:`.noisy_loss` is ``ln(1 + e^γ + (N - 1) e^{-Cλ}) - α γ``, the corrected loss."""
    loss = noisy_loss_formula() + alpha * sympy.log(G)
    return algebra.identity(sympy.exp(loss), (X * (1 + G) + m) / X, "e^(loss + α γ), where 1 + e^γ = 1/(1 - α)")


def ask_derivative() -> Answer:
    """Ask whether :func:`.noisy_slope` is the derivative of :func:`.noisy_loss` by λ."""
    return algebra.identity(along_scale(noisy_loss_formula()), _slope(), "the derivative of noisy_loss is noisy_slope")


def certify_slope() -> Certificate:
    """Lemma C.1: f has the derivative ``-C (N - 1)/(e^{Cx}/(1 - α) + N - 1)``, which is below 0.

    f is :func:`.noisy_loss` at ``1 + e^γ = 1/(1 - α)``, up to a constant; the derivative is :func:`.noisy_slope`.
    """
    slope, printed = _slope(), -C * m / (X * (1 + G) + m)

    def run(values: Counterexample) -> tuple[str, bool]:
        count, gamma = float(values["C"]), math.log(float(values["G"]))
        scale = math.log(float(values["X"])) / count
        slope = noisy_slope(_number(scale), gamma, _number(count), OTHERS).item()
        return f"C = {count}, λ = {scale:.3g}: slope {slope:.3g}", not slope < 0

    control = Control.of("C is below 0", ask_slope(below=True), run)
    return certify(
        "The noisy loss has a negative slope in λ, as in Lemma C.1.",
        "every λ, every e^γ >= 0 (and so every α from 0 to below 1), every C > 0 and every N > 1",
        [
            ask_formula(),
            ask_derivative(),
            algebra.identity(slope, printed, "which is the lemma's"),
            ask_slope(),
        ],
        control,
    )


def certify_shape() -> Certificate:
    """Section 4.2: f_C is jointly convex, (C² + 1)/4-smooth, and falls in λ everywhere, so that it has no minimiser.

    With ``p_y + p_τ + p_0 = 1`` the three stand for every (λ, γ): ``e^{Cλ} = m p_y/p_0`` and ``e^γ = p_τ/p_y``.
    """
    loss = noisy_loss_formula()
    slopes = along_scale(loss), along_gamma(loss)
    derivatives = np.array([[along(slope) for along in (along_scale, along_gamma)] for slope in slopes])
    hessian = formula_of(lambda s, g, c: noisy_hessian(s, g, c, OTHERS))
    answers = [
        ask_formula(),
        *(
            algebra.identity(derivative, entry, "a second derivative of noisy_loss is that of noisy_hessian")
            for derivative, entry in zip(derivatives.flatten(), hessian.flatten(), strict=True)
        ),
    ]
    (ll, lg), (_, gg), fall = *(_in_probabilities(row) for row in hessian), _in_probabilities([slopes[0]])[0]
    most, chances = (TERMS["C"] ** 2 + 1) / 4, [TERMS[name] for name in ("py", "pt", "p0")]
    ranges = [*(chance > 0 for chance in chances), z3.Sum(chances) == 1, TERMS["C"] > 0]

    def smooth(limit: Term) -> Term:
        return z3.And(limit - ll >= 0, limit - gg >= 0, (limit - ll) * (limit - gg) - lg * lg >= 0)

    def run(values: Counterexample) -> tuple[str, bool]:
        py, pt, p0, count = (float(values[name]) for name in ("py", "pt", "p0", "C"))
        scale, gamma = math.log(OTHERS * py / p0) / count, math.log(pt / py)
        curvature = torch.linalg.eigvalsh(noisy_hessian(_number(scale), _number(gamma), _number(count), OTHERS))[
            -1
        ].item()
        return f"C = {count:.3g}: curvature {curvature:.3f}, above 1/2", curvature > 0.5

    broken = smt.prove([*ranges, TERMS["C"] <= 5], smooth(z3.Q(1, 2)))
    return certify(
        "f_C is jointly convex and (C² + 1)/4-smooth, and its slope in λ is negative.",
        "every λ, γ, every C > 0 and every N > 1",
        [
            *answers,
            smt.prove(ranges, z3.And(ll >= 0, gg >= 0, ll * gg - lg * lg >= 0), "no eigenvalue is below 0"),
            smt.prove(ranges, smooth(most), "none is above (C² + 1)/4"),
            smt.prove(ranges, fall < 0, "the slope in λ is below 0"),
        ],
        Control.of("the paper's 1/2 in place of (C² + 1)/4", broken, run),
    )


def _slope() -> Expression:
    """The slope of the noisy loss in λ."""
    return formula_of(lambda s, g, c: noisy_slope(s, GAMMA, c, OTHERS)).item()


def _in_probabilities(entries: list[Expression]) -> list[Term]:
    """Rational functions of X and G as terms in p_y, p_τ and p_0, whose sum is 1 and takes away denominators."""
    py, pt, p0 = sympy.symbols("py pt p0", positive=True)
    point = {X: m * py / p0, G: pt / py}
    shown = [sympy.cancel(sympy.sympify(entry).subs(point, simultaneous=True)) for entry in entries]
    total = py + pt + p0
    return [term_of(sympy.cancel(entry * total**2), TERMS) for entry in shown]


def _number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)

"""Certificate that normalised descent comes into balance: V falls at every step with ``η m <= 2`` (beyond Theorem 3.2).

With ``u = e^D / R`` the weights make the mean of u² equal to 1, and ``E u = cos θ``. Let ``c = 3 η m``. Then

    3 (V' - V) = ln( E[u³ e^{c (1 - u)}] / E u³ ) - s,    s = c (1 - E u),

``u³ e^{c (1 - u)} <= u³ + c (1 - u)`` for every u >= 0, and ``e^s >= 1 + s``.
"""

import math

import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import Expression, sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import term_of, z3
from attention_theory.certificates.symbolic import trace
from attention_theory.in_context_reasoning.balance import balance_step, distance_to_balance

_U, _RATE = sympy.symbols("u c", positive=True)
_GAP = sympy.log(_U**3 + _RATE * (1 - _U)) - 3 * sympy.log(_U) - _RATE * (1 - _U)  # 0 at u = 1
_TERMS = {"u": z3.Real("u"), "c": z3.Real("c")}


def certify_balance() -> Certificate:
    """No step with a speed of at most 2 takes the scales farther from balance."""
    u, c = _TERMS.values()
    cube, s, power = z3.Reals("cube s power")
    most, inside = [c > 0, c <= 6], [u > 0]
    numerator = sympy.cancel(sympy.diff(_GAP, _U) * _U * (_U**3 + _RATE * (1 - _U)) / (_RATE * (_U - 1)))
    factor = term_of(sympy.expand(numerator), _TERMS)

    def run(values: Counterexample) -> tuple[str, bool]:
        first, speed = float(values["u"]), float(values["c"]) / 3
        imbalance = torch.tensor([first, math.sqrt(2 - first**2)], dtype=torch.float64).log()
        half = torch.full((2,), 0.5, dtype=torch.float64)
        before, after = (
            distance_to_balance(each, half).item() for each in (imbalance, balance_step(imbalance, half, speed))
        )
        return f"speed {speed:.3g}, u = {first:.3g}: V goes from {before:.3g} to {after:.3g}", after > before

    near = [u >= 0.9, u <= 0.98, c <= 9]
    control = Control.of("η m may be above 2", smt.prove([*near, c > 0], factor >= 0), run)
    return certify(
        "A step of normalised descent with η m <= 2 does not increase V, the distance of the scales from balance.",
        "every u >= 0 with a mean square of 1 and so every D, any number of triggers, all weights, 0 < η m <= 2; the "
        "step of the code for three triggers",
        [
            ask_step(),
            smt.prove([*most, *inside], u * u * u + c * (1 - u) > 0, "the right side of the inequality is above 0"),
            smt.prove(
                [*most, *inside], factor >= 0, "the logarithm of the ratio of the sides falls before 1, then rises"
            ),
            smt.prove([u >= 0], 2 * u * u * u >= 3 * u * u - 1, "so E u³ >= 1 where E u² = 1"),
            smt.prove([u >= 0], 2 * u <= 1 + u * u, "so E u <= 1, and s >= 0"),
            smt.prove([cube >= 1, s >= 0, power >= 1 + s], cube + s <= cube * power, "E u³ + s <= e^s E u³"),
        ],
        control,
    )


def ask_step() -> Answer:
    """Ask whether the change of V that three triggers make in the code is the formula of this module."""
    places, weights, speed = sympy.symbols("y1:4", positive=True), sympy.symbols("w1:4", positive=True), 0.5
    rate = sympy.Symbol("k", positive=True)
    inputs = [(0.1 * place, sympy.log(each)) for place, each in enumerate(places)]
    inputs += [(0.2 + 0.1 * place, each) for place, each in enumerate(weights)]

    def change(*parts: torch.Tensor) -> torch.Tensor:
        imbalance, given = torch.stack(parts[:3]), torch.stack(parts[3:])
        moved = balance_step(imbalance, given, speed)
        return distance_to_balance(moved, given) - distance_to_balance(imbalance, given)

    size = sympy.sqrt(_mean(weights, [y**2 for y in places]))
    us = [y / size for y in places]
    ratio = _mean(weights, [u**3 * sympy.exp(-3 * rate * u) for u in us]) / _mean(weights, [u**3 for u in us])
    wanted = sympy.log(ratio) / 3 + rate * _mean(weights, us)
    made = trace(change, inputs, {speed: rate}).item()
    left, right = (
        sympy.simplify(sympy.expand_log(sympy.exp(3 * (side - rate * _mean(weights, us))), force=True))
        for side in (made, wanted)
    )
    return algebra.identity(left, right, "e^{3 (V' - V) - 3 k E u}, three triggers")


def _mean(weights: list[Expression], values: list[Expression]) -> Expression:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))

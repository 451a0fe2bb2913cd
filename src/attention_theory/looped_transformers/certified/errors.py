"""Appendix L: the error of a product for every scale, and of many steps for all matrices and copies."""

import math

import sympy
import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, balls, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.certificates.symbolic import trace
from attention_theory.looped_transformers.blocks.product import softmax_entry
from attention_theory.validation import require


def certify_product_entry(count: int) -> Certificate:
    """Appendix L: with ``c = sqrt(ε) / G`` and ``C = ln(8/ε)`` the entry A of Eq. (11) is within ε of ``1 + cx``.

    The code's own entry is ``E / (1 + e^-C (1 + M))`` for ``E = e^u``, ``u = cx``, and the mean M of all ``e^{u_j}``,
    which is at most ``e^r`` for ``r = sqrt(ε)``. Two inequalities in one variable are for balls: ``1 + u <= e^u <= 1 +
    u + u²``, by its second derivative, and ``e^r (1 + e^r) <= 8``. The rest is linear in what they bound.

    Args:
        count: n, the number of scores.

    Raises:
        ParameterError: count below 1.
    """
    require(count=(count, 1, None))
    e, mean, u, epsilon, entry = z3.Reals("E M u epsilon A")
    given = [e > 0, mean > 0, epsilon > 0, entry * (1 + epsilon / 8 * (1 + mean)) == e]
    bounds = [1 + u <= e, e <= 1 + u + u * u, u * u <= epsilon, e * (1 + mean) <= 8]

    def run(values: Counterexample) -> tuple[str, bool]:
        x, small = torch.full((count,), float(values["x"]), dtype=torch.float64), 0.05
        off = (softmax_entry(x, math.log(8 / small)) - 1 - x).abs().max().item()
        return f"at c x = {x[0].item():g} and ε = {small} the entry is off by {off:.3f}", off > small

    return certify(
        "The entry A of Eq. (11) is within ε of 1 + cx for c = sqrt(ε) / G and C = ln(8/ε).",
        f"every ε up to 1/4, all scores up to G, n = {count}; only the formula of the entry depends on n",
        [
            _ask_entry(count),
            balls.positive(lambda x: 2 - x.exp(), -0.5, 0.5, "0 < 2 - e^u, so that e^u <= 1 + u + u^2"),
            balls.positive(lambda r: 8 - r.exp() * (1 + r.exp()), 0.0, 0.5, "0 < 8 - e^r (1 + e^r)"),
            smt.prove(
                [*given, *bounds],
                z3.And(-epsilon <= entry - 1 - u, entry - 1 - u <= epsilon),
                "E = e^u, M is a mean of them",
            ),
        ],
        Control.of(
            "c G = 1 in place of sqrt(ε)",
            balls.positive(lambda x: 2 - x.exp(), -1.0, 1.0, "0 < 2 - e^u, so that e^u <= 1 + u + u^2"),
            run,
        ),
    )


def _ask_entry(count: int) -> Answer:
    """Whether the code's entry is ``E / (1 + e^-C (1 + M))``."""
    scores, height = sympy.symbols(f"u1:{count + 1}", real=True), 1.5
    power = sympy.Symbol("P", positive=True)  # e^C, which the code computes outside of tensors

    def entry(*values: Tensor) -> Tensor:
        return softmax_entry(torch.stack(values), height)[0]

    named = {count * math.exp(height): count * power, count * (math.exp(height) + 1): count * (power + 1)}
    (made,) = trace(entry, [(0.5, score) for score in scores], named).flat
    mean = sum(map(sympy.exp, scores)) / count
    return algebra.identity(made, sympy.exp(scores[0]) / (1 + (1 + mean) / power), "e^C is P")

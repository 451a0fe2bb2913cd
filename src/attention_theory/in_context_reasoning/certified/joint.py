"""Certificate about the excess of the noisy loss over the Bayes risk, and how curved it is far out in its valley."""

import math

import torch

from attention_theory.certificates import Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import term_of, z3
from attention_theory.in_context_reasoning.certified.losses import (
    OTHERS,
    TERMS,
    G,
    X,
    along_gamma,
    along_scale,
    ask_formula,
    m,
    noisy_loss_formula,
)
from attention_theory.in_context_reasoning.closed_form import noisy_hessian, noisy_slope


def certify_excess() -> Certificate:
    """The excess is a coin's divergence and a logarithm that is above 0; two second derivatives are below the slope."""
    loss = noisy_loss_formula()
    slope = along_scale(loss)
    fall, curve, cross = (
        term_of(sympy.cancel(each), TERMS) for each in (-slope, along_scale(slope), along_gamma(slope))
    )
    ranges = [*(TERMS[name] > 0 for name in "XGmC")]

    def run(values: Counterexample) -> tuple[str, bool]:
        count, gamma = float(values["C"]), math.log(float(values["G"]))
        scale = math.log(float(values["X"])) / count
        at, level, counts = torch.tensor([scale, gamma, count], dtype=torch.float64)
        curvature = noisy_hessian(at, level, counts, OTHERS)[0, 0].item()
        size = -noisy_slope(at, gamma, counts, OTHERS).item()
        return f"C = {count:.3g}: curvature {curvature:.3g}, slope {size:.3g}", curvature > size

    broken = smt.prove([*ranges, TERMS["m"] == OTHERS, TERMS["C"] <= 5], curve <= fall)
    whole = (1 + G) * (1 + m / (X * (1 + G)))
    return certify(
        "The excess is the divergence of the coin σ(γ) from α, and a logarithm that is above 0. The second derivatives "
        "by λ twice, and by λ and γ, are at most C times, and once, the size of the slope in λ.",
        "every λ, γ, every C > 0 and N > 1",
        [
            ask_formula(),
            algebra.identity(
                (X * (1 + G) + m) / X, whole, "the loss is ln(1 + e^γ) - α γ, and ln(1 + m/(X (1 + e^γ)))"
            ),
            smt.prove(ranges, curve <= TERMS["C"] * fall, "the second derivative by λ"),
            smt.prove(ranges, z3.And(cross >= 0, cross <= fall), "the mixed derivative"),
        ],
        Control.of("the curvature is at most the slope, without C", broken, run),
    )

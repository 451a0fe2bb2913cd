"""Certificates about the noiseless task: steps, loss and probabilities, in the variables of :mod:`.losses`."""

import math

import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import Expression, sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import term_of, z3
from attention_theory.certificates.symbolic import trace
from attention_theory.in_context_reasoning.certified.losses import (
    BOUND,
    OTHERS,
    RANGES,
    TERMS,
    along_scale,
    ask_tangent,
    formula_of,
)
from attention_theory.in_context_reasoning.closed_form import noiseless_loss, noiseless_slope
from attention_theory.in_context_reasoning.descent import normalised_step


def certify_rate(most_triggers: int) -> Certificate:
    """Theorem 3.2 under equal laws: λ grows by ``η/√|Q|`` a step, and ``L <= (N - 1) e^{-λ}``.

    Equal scales and laws give equal slopes, which are negative; so the scales stay equal.
    """
    slope = sympy.Symbol("slope", negative=True)
    first, second = sympy.symbols("first second", positive=True)
    loss = sympy.exp(noiseless_formula()) - 1

    def run(values: Counterexample) -> tuple[str, bool]:
        slopes = -torch.tensor([float(values["first"]), float(values["second"])], dtype=torch.float64)
        moved = normalised_step(torch.zeros_like(slopes), slopes, float(values["rate"]))
        return f"slopes {slopes.tolist()}: the step is {moved.tolist()}", moved[0].item() != moved[1].item()

    step = moves_of([-first, -second])
    words = "the two scales, at the slopes -first and -second"
    control = Control.of("the slopes differ, as with laws that differ", algebra.identity(step[0], step[1], words), run)
    return certify(
        "With equal laws of the counts all scales grow by η/√|Q| a step, and L <= (N - 1) exp(-λ).",
        f"every law of C >= 1, 1 to {most_triggers} triggers, every η > 0, t and N >= 2",
        [
            _ask_noiseless_slope(),
            *(ask_step(slope, triggers) for triggers in range(1, most_triggers + 1)),
            smt.prove(RANGES, term_of(sympy.cancel(loss - BOUND), TERMS) <= 0, "e^L - 1 <= (N - 1) e^{-λ}"),
            ask_tangent(),
        ],
        control,
    )


def certify_step() -> Certificate:
    """Eq. (5): the slope is ``-C (N - 1)/(e^{Cλ} + N - 1)`` for a sentence, and every step of two scales has length η.

    The squares of the two moves are ``η² slope²/(sum of the slopes' squares)``; so they sum to η².
    """
    first, second = sympy.symbols("first second", negative=True)
    rate, square = sympy.Symbol("rate", positive=True), first**2 + second**2
    slope = formula_of(lambda s, g, c: noiseless_slope(s, c, OTHERS)).item()
    answers = [
        algebra.identity(along_scale(noiseless_formula()), slope, "the derivative of noiseless_loss is noiseless_slope")
    ]
    for part, moved in zip((first, second), moves_of([first, second]), strict=True):
        answers.append(algebra.identity(moved**2 * square, rate**2 * part**2, "the square of a move"))
    a, b, move, other, eta = z3.Reals("first second move other rate")
    squares = a * a + b * b
    moves = [move * move * squares == eta * eta * a * a, other * other * squares == eta * eta * b * b, eta > 0]

    def run(values: Counterexample) -> tuple[str, bool]:
        slopes = torch.tensor([float(values.get(name, 0)) for name in ("first", "second")], dtype=torch.float64)
        length = normalised_step(torch.zeros_like(slopes), slopes, float(values["rate"])).norm().item()
        return f"slopes {slopes.tolist()}: the step has length {length}", length != float(values["rate"])

    wanted = move * move + other * other == eta * eta
    control = Control.of("the slopes may both be 0", smt.prove(moves, wanted), run)
    return certify(
        "The slope of the noiseless loss is that of Eq. (11), and a normalised step has length η.",
        "every C > 0, λ and N >= 2; two triggers, all slopes below 0, every η > 0",
        [*answers, smt.prove([*moves, squares > 0], wanted, "the length of a step")],
        control,
    )


def certify_chord() -> Certificate:
    """Section 3.2: ``ln N``, the loss at (0, 0), is above the loss at (V, W) and (-V, -W), whose middle is (0, 0)."""
    sum_of_powers = term_of(sympy.cancel(sympy.exp(noiseless_formula())), TERMS)
    below, others = sum_of_powers < TERMS["m"] + 1, TERMS["m"]

    def run(values: Counterexample) -> tuple[str, bool]:
        scale = torch.tensor(math.log(float(values["X"])), dtype=torch.float64)
        loss = noiseless_loss(scale, torch.ones_like(scale), OTHERS).item()
        return f"λ = {scale.item():.3g}: loss {loss:.4f}, and ln N is {math.log(OTHERS + 1):.4f}", loss >= math.log(60)

    control = Control.of("λ may be 0, or below", smt.prove([TERMS["X"] > 0, others == OTHERS], below), run)
    return certify(
        "The loss at the ends of the segment is below ln N, the loss at its middle, so it is not convex.",
        "every C > 0, every λ > 0 and N >= 2",
        smt.prove([TERMS["X"] > 1, others >= 1], below, "e^L at the ends is below N"),
        control,
    )


def ask_step(slope: Expression, triggers: int) -> Answer:
    """Ask whether equal slopes move every scale by ``η/√|Q|``."""
    moved = sympy.Symbol("rate", positive=True) / sympy.sqrt(triggers)
    return algebra.identity(
        sympy.simplify(moves_of([slope] * triggers)[0]), moved, f"a normalised step, |Q| = {triggers}"
    )


def moves_of(slopes: list[Expression]) -> list[Expression]:
    """The distance that one normalised step with rate η moves each scale."""
    rate = sympy.Symbol("rate", positive=True)
    inputs = [(-1.0 - index, slope) for index, slope in enumerate(slopes)]
    start = torch.zeros(len(slopes), dtype=torch.float64)

    def step(*along: torch.Tensor) -> torch.Tensor:
        return normalised_step(start, torch.stack(along), 0.1)

    return list(trace(step, inputs, {0.1: rate}))


def _ask_noiseless_slope() -> Answer:
    """Ask whether the slope of the noiseless loss is below 0."""
    slope = term_of(sympy.cancel(formula_of(lambda s, g, c: noiseless_slope(s, c, OTHERS)).item()), TERMS)
    return smt.prove([*RANGES, TERMS["C"] >= 1], slope < 0, "the slope of the noiseless loss is below 0")


def noiseless_formula() -> Expression:
    """The loss of Lemma 3.1."""
    return formula_of(lambda s, g, c: noiseless_loss(s, c, OTHERS)).item()

"""Certificates about the noisy task: bounds on loss and probabilities, in the variables of :mod:`.losses`."""

import math
from collections.abc import Callable

import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import Expression, sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import term_of, z3
from attention_theory.in_context_reasoning.certified.losses import (
    BOUND,
    GAMMA,
    OTHERS,
    RANGES,
    TERMS,
    X,
    alpha,
    ask_derivative,
    ask_slope,
    ask_tangent,
    beta,
    estimate,
    formula_of,
    m,
    noisy_loss_formula,
)
from attention_theory.in_context_reasoning.certified.noiseless import ask_step
from attention_theory.in_context_reasoning.closed_form import (
    bayes_risk,
    noisy_loss,
    odds,
    probabilities,
)
from attention_theory.in_context_reasoning.descent import descend_noisy

#: α̂ and β are the two sides of a coin.
COIN = [TERMS["estimate"] > 0, TERMS["beta"] > 0, TERMS["estimate"] + TERMS["beta"] == 1]


def excess_formula() -> Expression:
    """``e^E - 1`` for the excess E of the noisy loss at ``γ = ln(α̂/β)`` over ``-α ln α̂ - (1 - α) ln β``.

    That is the Bayes risk plus KL(α || α̂). All logarithms but that of E cancel.
    """
    loss = noisy_loss_formula(sympy.log(estimate / beta))
    excess = loss + alpha * sympy.log(estimate) + (1 - alpha) * sympy.log(beta)
    plain = excess.replace(sympy.log, lambda part: sympy.expand_log(sympy.log(sympy.factor(sympy.together(part)))))
    return sympy.cancel(sympy.exp(sympy.expand(plain)).subs(beta + estimate, 1) - 1)


def ask_excess(words: str) -> list[Answer]:
    """Ask whether ``0 <= E <= (N - 1) e^{-λ}``, for all noise levels, estimates, vocabularies, scales and counts."""
    excess = term_of(excess_formula(), TERMS)
    within = z3.And(excess > 0, excess <= term_of(BOUND, TERMS))
    return [smt.prove([*RANGES, *COIN], within, words), ask_tangent()]


def ask_excess_without(assumption: str, others: list[smt.Term]) -> Answer:
    """The same with other terms in place of ``X >= Y``, at the vocabulary of :data:`.losses.OTHERS`."""
    fixed = [TERMS["m"] == OTHERS, TERMS["Y"] >= 100, TERMS["beta"] >= z3.Q(1, 2)]
    bound = term_of(excess_formula(), TERMS) <= term_of(BOUND, TERMS)
    return smt.prove([*fixed, *COIN, *others], bound, assumption)


def certify_any_law() -> Certificate:
    """Remark 4.2: at the right γ the loss is above the Bayes risk by at most ``(N - 1) e^{-λ}``, whatever C and α."""

    def run(values: Counterexample) -> tuple[str, bool]:
        return _excess_at(values, lambda scale: (scale, 0.0))

    broken = "a sentence without the bigram (q, y): C = 0"
    control = Control.of(broken, ask_excess_without(broken, [TERMS["X"] == 1]), run)
    return certify(
        "The loss of Lemma 4.1 is above the Bayes risk by at most (N - 1) exp(-λ), which goes to 0.",
        "every α in (0, 1), every C >= 1 and so every distribution of the sentences, every λ >= 0 and N >= 2",
        ask_excess("excess of the loss over the Bayes risk, α̂ = α"),
        control,
    )


def certify_loss_after_steps() -> Certificate:
    """Theorem 4.3: ``0 <= L(λ_t, γ̂) - L_Bayes - KL(α || α̂) <= (N - 1) e^{-ηt}``."""

    def run(values: Counterexample) -> tuple[str, bool]:
        return _excess_at(values, lambda scale: (-scale, 1.0))

    broken = "the steps go the other way: λ = -η t"
    control = Control.of(broken, ask_excess_without(broken, [TERMS["X"] * TERMS["Y"] == 1]), run)
    return certify(
        "The loss is the Bayes risk and KL(α || α̂), and at most (N - 1) exp(-η t) more.",
        "every α and α̂ in (0, 1), every C >= 1, λ = η t >= 0 and N >= 2",
        ask_excess("excess of the loss over the Bayes risk plus KL(α || α̂), Y = e^{η t}"),
        control,
    )


def certify_known_noise() -> Certificate:
    """Appendix B.2.1: a normalised step is one of length η to the right, and then the loss is below its bound."""
    slope = sympy.Symbol("slope", negative=True)

    def run(values: Counterexample) -> tuple[str, bool]:
        rate, level, reached = 0.1, float(values["estimate"]), math.log(float(values["X"]))
        steps = math.ceil(math.log(float(values["Y"])) / rate)
        plain = descend_noisy(torch.ones(1, dtype=torch.float64), level, rate, steps, OTHERS, normalised=False)[-1]
        words, above = _excess_at(values, lambda _: (reached, 1.0))
        return (
            f"λ = {reached:.3g}, {words}; {steps} plain steps reach {plain:.3g}",
            above and plain.item() < rate * steps,
        )

    broken = "plain steps, which fall behind: λ may be below η t"
    control = Control.of(broken, ask_excess_without(broken, [TERMS["X"] >= 1]), run)
    return certify(
        "Normalised descent with known α moves λ by η a step, and L <= L_Bayes + (N - 1) exp(-η t).",
        "every α in (0, 1), every C >= 1, t >= 0, η >= 0 and N >= 2",
        [
            ask_derivative(),
            ask_slope(),
            ask_step(slope, 1),
            *ask_excess("excess of the loss over the Bayes risk, α̂ = α, Y = e^{η t}"),
        ],
        control,
    )


def certify_unseen_noisy() -> Certificate:
    """Theorem 4.4: both probabilities are within ``|α̂ - α| + (N - 1) e^{-ηt}`` of the label's."""
    share, sides, off = m * beta / X, (beta, estimate), TERMS["u"]  # of all other words to y and τ together
    chances = [_probability(at) for at in (0, 1)]
    level, hat, bound = TERMS["alpha"], TERMS["estimate"], z3.Real("bound")
    pieces = [
        algebra.identity(chance.subs(estimate, 1 - beta), (side / (1 + share)).subs(estimate, 1 - beta), words)
        for chance, side, words in zip(chances, sides, ("Eq. (31)", "Eq. (32)"), strict=True)
    ]
    far = [
        z3.Abs(term_of(side, TERMS) / (1 + off) - target)
        for side, target in zip(sides, (1 - level, level), strict=True)
    ]
    coins = [*COIN, level > 0, level < 1]
    ranges = [*RANGES, *coins]

    def run(values: Counterexample) -> tuple[str, bool]:
        at, scale = float(values["estimate"]), math.log(float(values["Y"]))
        one = torch.ones((), dtype=torch.float64)
        chance = probabilities(scale * one, odds(at), one, OTHERS)[0].item()
        away, square = abs(chance - (1 - at)), float(values["K"]) * (OTHERS * math.exp(-scale)) ** 2
        return f"α̂ = α = {at:.3g}: off by {away:.3g}, above {square:.3g}", away > square

    K, first_order = z3.Real("K"), term_of(BOUND, TERMS)
    squared = [*ranges, hat == level, TERMS["X"] == TERMS["Y"], off == term_of(share, TERMS)]
    within_square = far[0] <= K * first_order * first_order
    late = [K > 0, TERMS["Y"] >= TERMS["m"], TERMS["Y"] * TERMS["beta"] * TERMS["beta"] > 2 * K * TERMS["m"]]
    control = Control.of(
        "the paper's order, K ((N - 1) exp(-η t))², for the last term, with a K from 1000 on",
        smt.prove([*squared, K >= 1000, TERMS["m"] == OTHERS], within_square),
        run,
    )
    return certify(
        "The probabilities of an unseen output and of τ are off by at most |α̂ - α| + (N - 1) exp(-η t). No K makes it "
        "|α̂ - α| + K ((N - 1) exp(-η t))², the paper's order: at α̂ = α and C = 1 the first is off by more once "
        "exp(η t) is above N - 1 and 2 K (N - 1)/(1 - α)².",
        "every α and α̂ in (0, 1), every C >= 1, η t >= 0 and N >= 2; every K > 0",
        [
            *pieces,
            smt.prove(ranges, term_of(share, TERMS) <= term_of(BOUND, TERMS), "(N - 1)(1 - α̂)/X <= (N - 1)/Y"),
            *(smt.prove([*coins, off >= 0, off <= bound], part <= z3.Abs(hat - level) + bound) for part in far),
            smt.prove([*squared, *late], z3.Not(within_square), "the order of the paper fails with each constant K"),
        ],
        control,
    )


def _probability(at: int) -> Expression:
    """The probability of y or of τ, at ``γ = ln(α̂/β)``."""
    formula = formula_of(lambda s, g, c: probabilities(s, GAMMA, c, OTHERS)[at], sympy.log(estimate / beta))
    return sympy.cancel(formula.item())


def _excess_at(values: Counterexample, place: Callable[[float], tuple[float, float]]) -> tuple[str, bool]:
    """The excess of the real loss where a counterexample has α̂ and ``Y = e^{ηt}``, and whether it is above its bound.

    Args:
        place: the scale and the count at ``η t``.
    """
    level, walked = float(values["estimate"]), math.log(float(values["Y"]))
    scale, count = (torch.tensor(number, dtype=torch.float64) for number in place(walked))
    excess = noisy_loss(scale, odds(level), count, level, OTHERS).item() - bayes_risk(level)
    bound = OTHERS * math.exp(-walked)
    return f"η t = {walked:.2f}: excess {excess:.3g}, above {bound:.3g}", excess > bound

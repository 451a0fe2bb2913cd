"""Weights that are chosen freely in one head, and weights that saturate (Claim 1 and Lemma 4)."""

import math
from collections.abc import Sequence

import sympy
import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify, exact, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.certificates.symbolic import trace
from attention_theory.memorization.attention import Examples, softmax_weights
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.single_head import (
    fit_targets,
    one_hot_of_largest,
    sufficient_scales,
)

#: The most by which a logit may be off, as a fraction of the largest that is wanted, and the least target weight.
_OFF, _LEAST_TARGET = 1e-13, 1e-300


def certify_targets() -> Certificate:
    """Claim 1: on given examples, one head has any positive weights that are wanted, up to rounding.

    Keys are linear in the logarithms of the targets, and queries do not depend on them. So the targets whose logarithms
    are units give the map from wanted logits to those of the head, as a matrix of fractions, which is nearly the unit
    matrix. The examples are those of the page: as many as a context has tokens, or one fewer.
    """
    context, width = 5, 10
    examples = sample_examples(12, context, width, shared=False, seed=0).take(slice(0, context))
    queries = examples.queries.clone()
    queries[-1] = queries[:-1].sum(dim=0)
    dependent = Examples(examples.contexts, queries)

    def ask(on: Examples) -> Answer:
        words = f"{on.count} examples: sizes of the errors of a logit, added up over all wanted logits of size 1,"
        return exact.at_most(_errors(on), _OFF, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        example, token = divmod(values["row"], context)
        targets = _units(dependent)[example, token].exp()
        targets = targets / targets.sum(dim=-1, keepdim=True)
        reached = softmax_weights(fit_targets(dependent, targets).as_head(context), dependent)[:, 0]
        off = (reached - targets).abs().max().item()
        return f"a weight is off by {off:.3g} for one of the targets", off > 1e-3

    most = balls.ball(_OFF) * -balls.ball(_LEAST_TARGET).log()
    return certify(
        "One head reaches all targets with positive entries, exactly except for the rounding of its weights: each "
        "softmax weight is off by a factor within 1e-9 of 1.",
        f"{context} and {context - 1} independent queries with contexts of {context} tokens of width {width}, which "
        "the page draws; all targets with weights of at least 1e-300",
        [
            ask(examples),
            ask(examples.take(slice(0, context - 1))),
            balls.below((2 * most).exp() - 1, 1e-9, "logits off by 1e-13 log 1e300: change of a weight"),
        ],
        Control.of("one query is the sum of the others", ask(dependent), run),
    )


def _units(on: Examples) -> Tensor:
    """For each example and token, logits of all examples that are 1 there and 0 elsewhere."""
    unit = torch.eye(on.count * on.tokens, dtype=torch.float64)
    return unit.reshape(on.count, on.tokens, on.count, on.tokens)


def _errors(on: Examples) -> exact.Matrix:
    """For each logit, one row each, the sizes of what it gets of all logits that are wanted, less what it should."""
    fitted = [fit_targets(on, logits.exp()) for logits in _units(on).flatten(0, 1)]
    size = range(len(fitted))
    contexts = exact.matrix(on.context_of_each.flatten(0, 1))
    keys = exact.matrix(torch.cat([columns.keys for columns in fitted], dim=1))
    read = exact.matrix(fitted[0].queries.T) * exact.matrix(on.queries.T)
    carried = contexts * keys  # of logit (s, j): column (unit, t) is what key column t gives it
    rows = []
    for row in size:
        seen = [read[t, row // on.tokens] for t in range(on.count)]
        got = [sum(carried[row, unit * on.count + t] * seen[t] for t in range(on.count)) for unit in size]
        rows.append([sum(abs(value - int(unit == row)) for unit, value in enumerate(got))])
    return exact.flint.fmpq_mat(rows)


def certify_saturation() -> Certificate:
    """Lemma 4: with the scale of the code, or a larger one, the weights are within any distance of one-hot.

    Formulas are read from the code by tracing. ``X_i`` is ``e`` to the power of logit i, and the winner is token 0. A
    logit that lies ``log(2 (n - 1) / δ)`` below the winner's has ``X_i <= X_0 δ / (2 (n - 1))``.
    """
    c, delta, ell = z3.Reals("c delta ell")

    def needed(fixed: Sequence[Term], decisive: Sequence[Term]) -> list[Term]:
        """The scales of the code, as terms."""
        tokens, distance = len(fixed), 0.5
        names = sympy.symbols([f"{kind}{token}" for kind in "fd" for token in range(tokens)])
        numbers = [0.1 * token for token in range(tokens)] + [-float(token) for token in range(tokens)]

        def scales(*logits: Tensor) -> Tensor:
            rows = torch.stack(logits).reshape(2, 1, tokens)
            return sufficient_scales(rows[0], rows[1], distance)

        formulas = trace(scales, list(zip(numbers, names, strict=True)), {_below(tokens, distance): sympy.Symbol("l")})
        terms = dict(zip(map(str, names), [*fixed, *decisive], strict=True)) | {"l": ell}
        return [smt.term_of(sympy.cancel(formula), terms) for formula in formulas]

    def ask_logits(tokens: int, tied: bool = False) -> Answer:
        fixed, decisive = (z3.RealVector(name, tokens) for name in ("fixed", "decisive"))
        leads = [decisive[0] - other for other in decisive[1:]]
        scales = needed(fixed, decisive)[1 if tied else 0 :]
        given = [lead > 0 for lead in leads[1 if tied else 0 :]] + ([leads[0] == 0] if tied else [])
        logits = [one + c * other for one, other in zip(fixed, decisive, strict=True)]
        below = z3.And([logit <= logits[0] - ell for logit in logits[1:]])
        given += [c >= 0, *(c >= scale for scale in scales)]
        values = [ell == 3, c == 100, *(logit >= -1 for logit in fixed)] if tied else []
        return smt.prove([*given, *values], below, f"{tokens} tokens: all logits but the winner's lie l below it")

    def ask_weights(tokens: int) -> Answer:
        powers = z3.RealVector("X", tokens)
        small = [power <= powers[0] * delta / (2 * (tokens - 1)) for power in powers[1:]]
        apart = z3.Sum([z3.If(entry > 0, entry, -entry) for entry in _from_one_hot(powers)])
        return smt.prove([delta > 0, *(power > 0 for power in powers), *small], apart < delta, "distance below δ")

    def run(values: Counterexample) -> tuple[str, bool]:
        fixed, decisive = (
            torch.tensor([[float(values.get(f"{name}__{token}", 0)) for token in range(3)]], dtype=torch.float64)
            for name in ("fixed", "decisive")
        )
        weights = (fixed + float(values["c"]) * decisive).softmax(dim=-1)
        apart = (weights - one_hot_of_largest(decisive)).abs().sum().item()
        wanted = 4 * math.exp(-float(values["ell"]))  # 2 (n - 1) e^{-l}
        return f"distance {apart:.3g} from one-hot, for {wanted:.3g}", apart > wanted

    sizes = (2, 3, 4)
    return certify(
        "Softmax(α* + c α⁺) is within δ of the one-hot vector of the largest entry of α⁺, for the c of the code and "
        "every larger one.",
        "2 to 4 tokens, all δ > 0, all real α*, all α⁺ whose largest entry is unique",
        [ask(tokens) for tokens in sizes for ask in (ask_logits, ask_weights)],
        Control.of("a tie for the largest entry, of three", ask_logits(3, tied=True), run),
    )


def _below(tokens: int, distance: float) -> float:
    """The lead in logits at which the others weigh little enough, as the code computes it."""
    return math.log(2 * (tokens - 1) / distance)


def _from_one_hot(powers: Sequence[Term]) -> list[Term]:
    """The softmax less the one-hot vector of token 0, entry by entry, in the powers of the logits."""
    names = sympy.symbols([f"X{token}" for token in range(len(powers))], positive=True)
    inputs = [(-float(token), sympy.log(name)) for token, name in enumerate(names)]

    def apart(*logits: Tensor) -> Tensor:
        row = torch.stack(logits)[None]
        return (row.softmax(dim=-1) - one_hot_of_largest(row))[0]

    terms = dict(zip(map(str, names), powers, strict=True))
    return [smt.term_of(sympy.cancel(entry), terms) for entry in trace(apart, inputs)]

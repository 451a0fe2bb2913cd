"""Bounds: how far apart two models of small loss can be (Lemmas 4.4 and B.2), and the errors that rounding undoes."""

import inspect
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import sympy
import torch
import z3

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.linear_attention.certified.determining_inputs import polynomials
from attention_theory.linear_attention.learning.error_bounds import difference_bound
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla
from attention_theory.linear_attention.model.rounding import round_token
from attention_theory.validation import require


def certify_robustness(width: int, tokens: int) -> Certificate:
    """Lemma 4.4: ``‖f - f'‖² ≤ 4 ε ‖Z‖⁶ / λ_min``, step by step, and the constant at one sample of one number.

    Args:
        width: d, and small.
        tokens: n, and small: the squares of the features' bound are written down.

    Raises:
        ParameterError: a number below 1.
    """
    require(width=(width, 1, None), tokens=(tokens, 1, None))
    count = psi(width)
    steps = [_ask_parallelogram(count), _ask_cauchy(count), _ask_features(width, tokens)]
    answers = [*steps, _ask_two_models(1, factor=4)]
    return certify(
        "The mean squared difference of two models of loss up to ε is at most 4 ε on the data, and their squared "
        "difference at any input at most ‖Z‖⁶ / λ_min times that.",
        f"d = {width}, n = {tokens}, all models, data, labels and ε",
        answers,
        Control.of("the constant is 1, as printed", _ask_two_models(1, factor=1), _run_two_models),
    )


def certify_noisy_robustness(width: int) -> Certificate:
    """Lemma B.2: with noise on the labels the loss L of least squares may be subtracted, ``4 (ε - L)``.

    The last question is about the constants of the noise: ``k + 2 √(k x) + 2 x ≤ 2 k + 3 x`` in the χ² bound.

    Args:
        width: d, and small: the identity has ψ features.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    k, x, root = z3.Reals("k x root")
    assumed = [k >= 0, x >= 0, root >= 0, root * root == k * x]
    answers = [
        _ask_parallelogram(psi(width)),
        _ask_two_models(2, factor=4),
        smt.prove(assumed, k + 2 * root + 2 * x <= 2 * k + 3 * x, "k + 2 sqrt(k x) + 2 x <= 2 k + 3 x"),
    ]
    return certify(
        "The mean squared difference of two models of loss up to ε is at most 4 (ε - L) on the data, L the least loss.",
        f"d = {width}, all models, data, labels and ε",
        answers,
        Control.of("the constant is 1, as printed", _ask_two_models(2, factor=1), _run_two_models),
    )


def certify_rounding() -> Certificate:
    """Definition (Rounding): an error below 1/4 is undone with the empty value, one below 1/2 among letters.

    Rounding compares the entry of one letter with that of another, and with the threshold. So two entries are enough;
    the squares of all others are ``rest``.
    """
    threshold = smt.rational(inspect.signature(round_token).parameters["threshold"].default)
    own, other, rest = z3.Reals("own other rest")  # the errors
    norm = own * own + other * other + rest

    def ask(limit: float, conclusion: Any, words: str) -> Answer:
        return smt.prove([rest >= 0, norm < smt.rational(limit)], conclusion, words)

    letter = 1 + own > other
    answers = [
        ask(0.25, z3.And(letter, 1 + own >= threshold), "a letter and an error below 1/4: its entry is the largest"),
        ask(0.25, other < threshold, "no letter and an error below 1/4: no entry reaches the threshold"),
        ask(0.5, letter, "a letter and an error below 1/2: its entry is the largest"),
    ]
    return certify(
        "Rounding to the largest entry, or to nothing below 1/2, undoes every error of squared norm below 1/4; the "
        "largest entry alone, among letters, below 1/2.",
        "all alphabets, letters, the empty value and errors; the definition and not its code, but for the threshold",
        answers,
        Control.of("below 1/2 with the empty value", ask(0.5, other < threshold, "the same, below 1/2"), _round_empty),
    )


def _ask_parallelogram(size: int) -> Answer:
    """``2 loss(p) + 2 loss(q) - 4 L`` is the mean squared difference and a mean square more, for each output."""
    first, second, best = (sympy.Matrix(sympy.symbols(f"{name}_1:{size + 1}")) for name in ("p", "q", "b"))
    least = sympy.Symbol("L")
    moment = sympy.Matrix(size, size, lambda row, column: sympy.Symbol(f"m_{min(row, column)}_{max(row, column)}"))

    def form(vector: Any) -> Any:
        return (vector.T * moment * vector)[0]

    left = 2 * (least + form(first - best)) + 2 * (least + form(second - best)) - 4 * least
    words = "losses of p and q, in terms of the best b, and the mean squared difference of their outputs:"
    return algebra.identity(left, form(first - second) + form(first + second - 2 * best), words)


def _ask_cauchy(size: int) -> Answer:
    """Cauchy's inequality, for a row of coefficients and the features."""
    rows, features = sympy.symbols(f"c_1:{size + 1}"), sympy.symbols(f"h_1:{size + 1}")
    product_ = sum(row * feature for row, feature in zip(rows, features, strict=True)) ** 2
    bound = sum(row**2 for row in rows) * sum(feature**2 for feature in features)
    squares = [(1, rows[i] * features[k] - rows[k] * features[i]) for i, k in combinations(range(size), 2)]
    return algebra.sum_of_squares(bound - product_, squares, "|c|² |H|² - <c, H>²")


def _ask_features(width: int, tokens: int) -> Answer:
    """``‖Z‖⁶ - ‖H(Z)‖²`` as a sum of squares, with H from its values."""
    variables, features = polynomials(certificate_features, tokens, width, 3)
    columns = [variables[token * width : (token + 1) * width] for token in range(tokens)]
    rows = list(zip(*columns, strict=True))
    squares = [_unlike(first, second) for first, second in combinations(rows, 2)]  # ‖z_j‖² ‖z_k‖² - <z_j, z_k>²
    mixed = [x * y for first, second in combinations(rows, 2) for x, y in product(first, second)]
    roots = [entry * root for part in (*squares, mixed) for root in part for entry in columns[-1]]
    roots += [entry * x * y for earlier in columns[:-1] for entry in earlier for x, y in product(variables, repeat=2)]
    norm = sum(entry**2 for entry in variables)
    words = f"|Z|^6 - |H(Z)|², d = {width}, n = {tokens}"
    return algebra.sum_of_squares(
        norm**3 - sum(feature**2 for feature in features), [(1, root) for root in roots], words
    )


def _unlike(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """The roots of Lagrange's identity."""
    return [first[s] * second[t] - first[t] * second[s] for s, t in combinations(range(len(first)), 2)]


def _ask_two_models(samples: int, factor: int) -> Answer:
    """Two models of one number at inputs 1: ``(p - q)² ≤ factor (ε - L)``; L is 0 at one sample."""
    p, q, loss = z3.Reals("p q loss")
    labels = [z3.Real(f"label_{number}") for number in range(1, samples + 1)]
    mean = z3.Sum(labels) / samples
    least = z3.Sum([(label - mean) * (label - mean) for label in labels]) / samples
    losses = [z3.Sum([(model - label) * (model - label) for label in labels]) / samples for model in (p, q)]
    words = (
        f"d = n = 1, {samples} inputs 1: two models of a loss up to `loss`, squared difference at most {factor} times"
    )
    return smt.prove([one <= loss for one in losses], (p - q) * (p - q) <= factor * (loss - least), words)


def _run_two_models(values: Counterexample) -> tuple[str, bool]:
    """The models and labels of a counterexample, and the printed bound of their squared difference."""
    labels = torch.tensor([[float(value)] for name, value in sorted(values.items()) if name.startswith("label")])
    labels = labels.double() if len(labels) else torch.zeros(1, 1, dtype=torch.float64)
    inputs = torch.ones(len(labels), 1, 1, dtype=torch.float64)
    data = statistics(inputs, labels)
    models = [_single(float(values.get(name, 0))) for name in ("p", "q")]
    losses = [(mhla(model, inputs) - labels).square().mean().item() for model in models]
    least = data.loss(data.solve()).item()
    bound = difference_bound(max(losses), data.second_moment.item(), inputs[0], least, form="printed").item()
    gap = (mhla(models[0], inputs[0]) - mhla(models[1], inputs[0])).square().item()
    return f"squared difference {gap:.3g}, printed bound {bound:.3g}", gap > bound * (1 + 1e-9)


def _single(coefficient: float) -> Heads:
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return Heads(coefficient * one, one)


def _round_empty(values: Counterexample) -> tuple[str, bool]:
    error = torch.tensor([0.0, float(values["other"])], dtype=torch.float64)
    rounded = round_token(error, [torch.arange(2)])
    return f"the empty value and an error {error.tolist()} are rounded to {rounded.tolist()}", bool(rounded.any())

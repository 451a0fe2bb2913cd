"""The second moment of the features for independent entries: its values (Eqs. 48 to 52), and that it is nonsingular.

Both are settled for all distributions at once. An entry of the moment is a sum of products of the entries' moments; and
features that are independent on the inputs with two values of an entry are so for each distribution that has both.
"""

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import sympy
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify, exact, exhaust
from attention_theory.certificates.certificate import Clock, Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.model.features import certificate_features, pairs, psi
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.linear_attention.model.parameters import heads_from_matrix, lift
from attention_theory.validation import require

#: Symmetric laws whose values and chances are exact in float64 and whose m2³, m2 m4 and m6 are independent.
_LAWS = (
    EntryDistribution.uniform(-1.0, 1.0),
    EntryDistribution((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)),
    EntryDistribution((-1.0, 0.0, 1.0), (0.125, 0.75, 0.125)),
)
#: Numbers of tokens by which a float64 is divided exactly, and whose roots are exact where a root is needed.
_TOKENS = (1, 2, 4)
#: A feature: its pair of rows and the entry of the last token.
_Feature = tuple[int, int, int]


def certify_moments(width: int = 6) -> Certificate:
    """Eqs. 48 to 52 as corrected: all mean products of two features, for every symmetric law and every n.

    A product of two features has at most six rows. Its mean, times n, is a polynomial of degree 2 in n, and its
    coefficients are combinations of m2³, m2 m4 and m6: three numbers of tokens and three laws determine it.

    Args:
        width: d; 6 holds all products of two features at any width, up to the names of the rows.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    independent = [[law.moment(2) ** 3, law.moment(2) * law.moment(4), law.moment(6)] for law in _LAWS]
    covers = "every symmetric distribution with six moments, all d and n" if width >= 6 else f"d = {width}, all n"
    return certify(
        "All mean products of two features, and of the linear feature with itself and its single, are the corrected "
        "values.",
        covers,
        [
            exact.rank_is(independent, 3, "m2³, m2 m4 and m6 of the laws:"),
            _ask_moments(width),
            _ask_linear(),
        ],
        Control.of(
            "the terms in 1/n are left out, as in the paper",
            _ask_moments(min(width, 3), printed=True),
            lambda values: _printed_moment(min(width, 3), values),
        ),
    )


def certify_noise(width: int, tokens: int) -> Certificate:
    """Lemma 4.2: two values of an entry with different squares are enough for λ_min > 0, whatever their chances.

    The larger of them is 1, as a common factor changes nothing; the other is t. The Gram determinant of the features at
    all inputs of 1 and t is powers of 1 - t and 1 + t times a polynomial that is positive from -1 to 1.

    Args:
        width: d, at least 2; the inputs are 2 to the power of ``width * tokens``.
        tokens: n, at least 2.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 2, None), tokens=(tokens, 2, None))
    clock = Clock()
    powers, rest = _without_ends(_determinant(width, tokens))
    numbers = [balls.ball(Fraction(int(number.p), int(number.q))) for number in rest.all_coeffs()]
    words = f"the Gram determinant is (1 - t)^{powers[0]} (1 + t)^{powers[1]} times this, above 0: {rest.as_expr()}"
    answer = balls.positive(lambda at: reduce(lambda sum, number: sum * at + number, numbers), -1.0, 1.0, words)
    signs = _two_valued(-1.0, width, tokens)
    return certify(
        "The features are independent on the inputs whose entries take two values with different squares. So λ_min > 0 "
        "for every distribution that takes such values.",
        f"d = {width}, n = {tokens}, entries 1 and t for every t with |t| < 1",
        replace(answer, seconds=clock.seconds),
        Control.of(
            "the squares are equal, t = -1",
            exact.independent(certificate_features(signs), "the features at all inputs of 1 and -1:"),
            lambda values: _unseen_by_signs(signs, exact.combination(values, psi(width))),
        ),
    )


def _ask_moments(width: int, printed: bool = False) -> Answer:
    """Ask whether the moments of the code are the values, for all laws, numbers of tokens and pairs of features."""
    j, k = pairs(width)
    features = [
        (first, second, last) for first, second in zip(j.tolist(), k.tolist(), strict=True) for last in range(width)
    ]
    kinds = torch.tensor([[_kind(first, second) for second in features] for first in features])
    cases = list(product(_LAWS, _TOKENS))
    measured = torch.stack([law.second_moment(width, tokens, centred=True) for law, tokens in cases])
    values = torch.tensor([_values(law, tokens, printed) for law, tokens in cases], dtype=torch.float64)

    def holds(batch: Batch) -> Bool[Tensor, " members"]:
        case, first, second = (batch[name] for name in ("law and n", "first", "second"))
        return measured[case, first, second] == values[case, kinds[first, second]]

    sizes = {"law and n": len(cases), "first": len(features), "second": len(features)}
    return exhaust.every(sizes, holds, f"mean products of the features at d = {width}: exact and corrected", 1 << 20)


def _kind(first: _Feature, second: _Feature) -> int:
    """The entry of :func:`_values` that is the mean product of two features."""
    (j, k, last), (j_other, k_other, last_other) = first, second
    if (j, k) == (j_other, k_other):
        kinds = (3, 4) if j == k else (1, 2)
        return kinds[last in (j, k)] if last == last_other else 0
    lasts, shared = {last, last_other}, {j, k} & {j_other, k_other}
    others = ({j, k} | {j_other, k_other}) - shared
    if j == k or j_other == k_other:  # a single and a pair, or two singles
        return 6 if shared and lasts == shared | others else 0
    return 5 if shared and lasts == others else 0


def _values(law: EntryDistribution, tokens: int, printed: bool) -> list[float]:
    """The corrected values of Eqs. 48 to 52, by kind; ``printed`` lacks the terms in 1/n."""
    m2, m4, m6 = (law.moment(degree) for degree in (2, 4, 6))
    spread, part = (m4 - m2**2) * m2, 0.0 if printed else 1 / tokens
    own = (m6 - 3 * m2 * m4 + 2 * m2**3) * part
    return [0.0, m2**3, m2**3 + spread * part, spread, spread + own, m2**3 * part, spread * part]


def _ask_linear() -> Answer:
    """The linear feature ``m2 z``: with itself m2³, with its single v / √n; two numbers of tokens are enough."""
    cases = list(product(_LAWS, (1, 4)))
    due = [
        (law.moment(2) ** 3, (law.moment(4) - law.moment(2) ** 2) * law.moment(2) / tokens**0.5)
        for law, tokens in cases
    ]
    right = torch.tensor(
        [law.linear_feature_moments(tokens) == values for (law, tokens), values in zip(cases, due, strict=True)]
    )
    words = "the linear feature with itself and with its single"
    return exhaust.every({"law and n": len(cases)}, lambda batch: right[batch["law and n"]], words)


def _printed_moment(width: int, values: Counterexample) -> tuple[str, bool]:
    """A mean product by the code, and the same as the paper has it."""
    law, tokens = list(product(_LAWS, _TOKENS))[values["law and n"]]
    exactly = law.second_moment(width, tokens, centred=True)[values["first"], values["second"]].item()
    j, k = pairs(width)
    first, second = (
        (int(j[number // width]), int(k[number // width]), number % width)
        for number in (values["first"], values["second"])
    )
    paper = _values(law, tokens, printed=True)[_kind(first, second)]
    return f"mean product {exactly:g} at n = {tokens}, {paper:g} by the paper", exactly != paper


def _two_valued(other: float, width: int, tokens: int) -> Float[Tensor, "inputs tokens width"]:
    """All inputs whose entries are 1 or another value."""
    values = torch.tensor([1.0, other], dtype=torch.float64)
    return torch.cartesian_prod(*[values] * (width * tokens)).view(-1, tokens, width)


def _determinant(width: int, tokens: int) -> Any:
    """The Gram determinant of the features at all inputs of 1 and t, a polynomial in t, from its values at integers."""
    degree = 6 * psi(width)
    points = range(-(degree // 2), degree - degree // 2 + 1)
    values = []
    for point in points:
        features = exact.matrix(certificate_features(_two_valued(float(point), width, tokens)))
        values.append([(features.transpose() * features).det()])
    powers = exact.matrix([[point**power for power in range(degree + 1)] for point in points])
    solved = powers.solve(type(powers)(values))
    numbers = [sympy.Rational(int(solved[power, 0].p), int(solved[power, 0].q)) for power in range(degree + 1)]
    return sympy.Poly(numbers[::-1], sympy.Symbol("t"))


def _without_ends(polynomial: Any) -> tuple[list[int], Any]:
    """The powers of 1 - t and of 1 + t in a polynomial, and the rest of it."""
    t, powers = polynomial.gen, [0, 0]
    for end, factor in enumerate((sympy.Poly(1 - t, t), sympy.Poly(1 + t, t))):
        while polynomial.rem(factor).is_zero:
            polynomial, powers[end] = polynomial.quo(factor), powers[end] + 1
    return powers, polynomial


def _unseen_by_signs(signs: Tensor, unseen: list[float]) -> tuple[str, bool]:
    """Heads of coefficients that inputs of signs do not show."""
    width = signs.shape[-1]
    heads = heads_from_matrix(lift(torch.tensor([unseen], dtype=torch.float64), width))
    hidden, seen = (
        mhla(heads, inputs).abs().max().item() for inputs in (signs, _two_valued(0.5, width, signs.shape[1]))
    )
    return f"heads with outputs up to {hidden:.1g} on signs and up to {seen:.2g} at t = 1/2", seen > 0.1 > 1e-9 > hidden

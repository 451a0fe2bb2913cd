"""Data that leave one function: exact ranks, and all solutions of the equations that the data put to one head."""

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Certificate, Control, algebra, certify, exact
from attention_theory.linear_attention.certified.coefficients import whole_inputs
from attention_theory.linear_attention.learning.interpolation import design, interpolate, least_eigenvalue_bound
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients, heads_from_matrix, lift
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


def certify_identified(width: int) -> Certificate:
    """Lemma 4.1: ψ inputs of two tokens leave one model, whatever the teacher and the number of heads.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    inputs = _independent(whole_inputs(width, 2))
    features, few = certificate_features(inputs), inputs[:-1]
    return certify(
        "The second moment is positive definite, so that the zero-loss equations have one solution p for each output.",
        f"d = {width}, some {len(inputs)} inputs of whole numbers, all teachers and numbers of heads",
        exact.positive_definite(features.mT @ features, "N times the second moment of the features:"),
        Control.of(
            "one input fewer",
            exact.independent(certificate_features(few), "the features of all inputs but one:"),
            lambda values: _two_minimisers(few, inputs[-1:], exact.combination(values, psi(width))),
        ),
    )


def certify_not_necessary(samples: int = 5) -> Certificate:
    """Section 6.2: data with a singular second moment may leave one function to models of one head (d = 2).

    The equations ``p(V, Q) H(Z_i) = y_i`` are polynomials in the entries of V and Q. One of those of Q is not 0, as the
    labels are not; it is set to 1, which scales V. Where the teacher's own is 0, there is no solution.

    Args:
        samples: N, 4 or 5, fewer than ψ = 6.

    Raises:
        ParameterError: another number.
    """
    require(samples=(samples, 4, 5))
    teacher = Heads(
        torch.tensor([[[1.0, 2.0], [-1.0, 1.0]]], dtype=torch.float64),
        torch.tensor([[[1.0, 3.0], [2.0, -1.0]]], dtype=torch.float64),
    )
    inputs = _whole(samples, 2, 2, seed=3)
    features = certificate_features(inputs)
    values, queries = sympy.symbols("v_11 v_12 v_21 v_22"), sympy.symbols("q_11 q_12 q_21 q_22")
    equations = _equations(values, queries, features, mhla(teacher, inputs))
    answers = [exact.rank_is(features, samples, "the features, of which there are six:")]
    due = [*teacher.values.flatten().tolist(), *teacher.queries.flatten().tolist()]
    unit = [equation.subs(queries[0], 1) for equation in equations]
    variables = [*values, *queries[1:]]
    for variable, value in zip(variables, [*due[:4], *due[5:]], strict=True):
        answers.append(algebra.follows(unit, variable - int(value), variables))
    for place in range(1, 4):
        chart = dict.fromkeys(queries[:place], 0) | {queries[place]: 1}
        words = f"no head has q = 0 before place {place} and q = 1 there"
        answers.append(
            algebra.no_common_zero([one.subs(chart) for one in equations], [*values, *queries[place + 1 :]], words)
        )
    return certify(
        "The teacher is the only model of one head that fits the data, although the second moment is singular.",
        f"d = 2, N = {samples} inputs of whole numbers, all complex V and Q",
        answers,
        Control.of(
            "models of d² = 4 heads",
            exact.independent(features, "the features determine all coefficients:"),
            lambda values: _two_minimisers(inputs, _whole(1, 2, 2, seed=4), exact.combination(values, psi(2)), teacher),
        ),
    )


def certify_design(width: int) -> Certificate:
    """Lemma 5.2: data at which the coefficients are known combinations of the labels, and the bound η on λ_min.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    answers = []
    for last in range(width):
        features = _of_last(design(width, last), last)
        back = interpolate(features, width, last)
        answers.append(
            exact.rank_is(back - torch.eye(len(back)), 0, f"last token {last}: what is learned of p less p:")
        )
    every = torch.cat([design(width, last) for last in range(width)])
    features = certificate_features(every)
    moment = features.mT @ features - least_eigenvalue_bound(width) * len(every) * torch.eye(psi(width))
    answers.append(exact.positive_definite(moment, "N times the second moment less η:"))
    broken = exact.independent(certificate_features(every[1:]), "the features of all inputs but one:")
    return certify(
        "The coefficients of any model are sums and differences of its outputs, and λ_min of these data is above η.",
        f"d = {width}, all models and labels",
        answers,
        Control.of(
            "one input fewer",
            broken,
            lambda values: _two_minimisers(every[1:], every[:1], exact.combination(values, psi(width))),
        ),
    )


def _of_last(inputs: Tensor, last: int) -> Float[Tensor, "inputs pairs"]:
    """The features with one entry of the last token."""
    width = inputs.shape[-1]
    return certificate_features(inputs).unflatten(1, (-1, width))[:, :, last]


def _independent(inputs: Tensor) -> Float[Tensor, "count tokens width"]:
    """Those whose features are independent of the features of the inputs before."""
    reduced, rank = exact.matrix(certificate_features(inputs).mT).rref()
    kept = [next(column for column in range(len(inputs)) if reduced[row, column] != 0) for row in range(rank)]
    return inputs[kept]


def _whole(count: int, tokens: int, width: int, seed: Seed) -> Float[Tensor, "count tokens width"]:
    return torch.randint(-3, 4, (count, tokens, width), generator=generator(seed)).double()


def _equations(values: Sequence[Any], queries: Sequence[Any], features: Tensor, labels: Tensor) -> list[Any]:
    """The outputs of one head less the labels; the coefficients are linear in the entries of V and in those of Q."""
    units = torch.eye(4, dtype=torch.float64).view(4, 1, 2, 2)
    parts = {
        (v, q): coefficients(Heads(units[v], units[q])) @ features.mT for v in range(4) for q in range(4)
    }  # (out, samples) each
    return [
        sum(int(part[out, sample]) * values[v] * queries[q] for (v, q), part in parts.items())
        - int(labels[sample, out])
        for sample in range(len(features))
        for out in range(2)
    ]


def _two_minimisers(
    inputs: Tensor, other: Tensor, unseen: list[float], teacher: Heads | None = None
) -> tuple[str, bool]:
    """A model and another one with the same outputs on the inputs: coefficients that they do not show are added."""
    width = inputs.shape[-1]
    model = random_heads(1, width, seed=0) if teacher is None else teacher
    null = torch.tensor(unseen, dtype=torch.float64)
    changed = coefficients(model) + null / null.abs().max()
    twin = heads_from_matrix(lift(changed, width))
    gap, elsewhere = ((mhla(twin, z) - mhla(model, z)).abs().max().item() for z in (inputs, other))
    words = f"two models, {gap:.1g} apart on the data and {elsewhere:.2g} on another input"
    return words, gap < 1e-9 and elsewhere > 1e-3

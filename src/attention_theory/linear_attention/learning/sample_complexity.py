"""Excess risk of Algorithm 1 by the number of samples (Theorem 2.1)."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.features import pairs, psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import Each, require

#: A teacher's outputs with Gaussian or Cauchy noise of unit scale, or the last token's signs, which no model gives.
_Labels = Literal["gaussian", "cauchy", "signs"]
#: Standard normal entries, as they are or each input times a number of its own drawn from Pareto's law.
_Inputs = Literal["normal", "pareto"]

#: The index of the Pareto law: the least whole one with a sixth moment, so that the features have second moments.
_INDEX = 7


def excess_risks(
    width: int,
    tokens: int,
    samples: Sequence[int],
    repetitions: int,
    seed: Seed,
    labels: _Labels = "gaussian",
    inputs: _Inputs = "normal",
) -> Float[Tensor, "samples repetitions"]:
    """Excess risk of Algorithm 1 on fresh data sets; the expectation over inputs is exact, by moments.

    For Gaussian noise of variance σ² the mean is close to ``σ² d ψ / N``; Cauchy noise has no variance. With signs and
    Pareto's inputs the mean of residual² · feature² is infinite.

    Args:
        width: d, at least 1.
        tokens: n, at least 2.
        samples: the values of N, each at least 2ψ.
        repetitions: fresh data sets for each N.
        seed: of all draws.
        labels: what is regressed on the features.
        inputs: the distribution of the inputs.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(
        width=(width, 1, None),
        tokens=(tokens, 2, None),
        samples=(Each(samples), 2 * psi(width), None),
        repetitions=(repetitions, 1, None),
        labels=(labels, {"gaussian", "cauchy", "signs"}),
        inputs=(inputs, {"normal", "pareto"}),
    )
    source = generator(seed)
    teacher = random_heads(1, width, source)
    third, sixth = (_INDEX / (_INDEX - power) if inputs == "pareto" else 1.0 for power in (3, 6))
    moment = sixth * EntryDistribution.gaussian().second_moment(width, tokens)
    best = torch.linalg.solve(moment, third * _sign_moments(width, tokens)).mT
    if labels != "signs":
        best = coefficients(teacher)
    risks = torch.empty(len(samples), repetitions, dtype=torch.float64)
    for row, count in enumerate(samples):
        for repetition in range(repetitions):
            drawn = normal(count, tokens, width, seed=source)
            if inputs == "pareto":
                drawn *= torch.rand(count, 1, 1, generator=source, dtype=torch.float64) ** (-1 / _INDEX)
            answers = drawn[:, -1].sign() if labels == "signs" else mhla(teacher, drawn) + _noise(drawn, labels, source)
            gap = statistics(drawn, answers).solve() - best
            risks[row, repetition] = (gap @ moment * gap).sum(dim=(-2, -1))  # tr((P − P*) Λ (P − P*)ᵀ)
    return risks


def _sign_moments(width: int, tokens: int) -> Float[Tensor, "psi out"]:
    """``E[H(Z) sign(z_n)ᵀ]`` for standard normal entries, by ``E|z| = √(2/π)`` and ``E|z|³ = 2 √(2/π)``.

    Output a meets ``‖z_j‖² z_a``, whose mean is ``n √(2/π)``, or ``(n + 1) √(2/π)`` if j = a; and ``⟨z_a, z_k⟩ z_k``,
    of which the last token alone has a mean, ``√(2/π)``.
    """
    j, k = pairs(width)
    moments = torch.zeros(len(j), width, width, dtype=torch.float64)  # (pair, l, a)
    for a in range(width):
        moments[j == k, a, a] = tokens
        moments[(j == k) & (j == a), a, a] = tokens + 1
        for row in torch.where((j != k) & ((j == a) | (k == a)))[0].tolist():
            moments[row, int(j[row] + k[row]) - a, a] = 1
    return math.sqrt(2 / math.pi) * moments.flatten(0, 1)


def _noise(
    inputs: Float[Tensor, "samples tokens width"], law: _Labels, source: torch.Generator
) -> Float[Tensor, "samples width"]:
    shape = inputs[:, -1].shape
    if law == "gaussian":
        return normal(*shape, seed=source)
    return torch.empty(shape, dtype=torch.float64).cauchy_(generator=source)

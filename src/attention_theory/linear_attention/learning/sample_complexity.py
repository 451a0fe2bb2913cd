"""How the excess risk of Algorithm 1 falls with the number of samples (Theorem 2.1)."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.exact_moments import exact_second_moment, gaussian_law
from attention_theory.linear_attention.learning.regression import excess_risk, statistics
from attention_theory.linear_attention.model.features import psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require

#: What the labels are beside the teacher's outputs: independent noise, or a function of the input in no model's reach.
Noise = Literal["gaussian", "cauchy", "square", "tail"]

#: The index of the Pareto law that scales the inputs of ``tail``: the least whole one with a sixth moment.
TAIL = 7


def excess_risks(
    width: int, tokens: int, samples: Sequence[int], repetitions: int, noise: Noise, seed: Seed
) -> Float[Tensor, "samples repetitions"]:
    """Excess risk of Algorithm 1 on labels of a one-head teacher plus noise of unit scale, Gaussian inputs.

    The expectation over inputs is exact, by the second moment of the features. For Gaussian noise of variance σ² the
    theory of least squares gives a mean close to ``σ² d ψ / N``; Cauchy noise has no variance and no such rate.
    ``square`` is the agnostic case: ``z_n² - 1``, entry by entry, is a function of the input. It is even and the
    features are odd, so that the teacher is still the best model. ``tail`` is agnostic as well, and heavy: each input
    is scaled by a Pareto number s of index 7, and ``±‖Z‖³`` is added, with a sign that is an even function of the
    input. Labels and features have second moments, and the fourth ones that the rate ``1 / N`` rests on do not exist.

    Args:
        width: d, at least 1.
        tokens: n, at least 2.
        samples: the values of N, each at least 2ψ.
        repetitions: fresh data sets for each N.
        noise: what is added to the teacher's outputs.
        seed: of all draws.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(
        width=(width, 1, None),
        tokens=(tokens, 2, None),
        samples=(list(samples), 2 * psi(width), None),
        repetitions=(repetitions, 1, None),
        noise=(noise, {"gaussian", "cauchy", "square", "tail"}),
    )
    source = generator(seed)
    teacher = random_heads(1, width, source)
    target = coefficients(teacher)
    sixth = TAIL / (TAIL - 6) if noise == "tail" else 1.0  # of the scale; features are of degree 3
    moment = sixth * exact_second_moment(gaussian_law(), width, tokens)
    risks = torch.empty(len(samples), repetitions, dtype=torch.float64)
    for row, count in enumerate(samples):
        for repetition in range(repetitions):
            inputs = normal(count, tokens, width, seed=source)
            if noise == "tail":
                inputs *= torch.rand(count, 1, 1, generator=source, dtype=torch.float64) ** (-1 / TAIL)
            labels = mhla(teacher, inputs) + _noise(inputs, noise, source)
            risks[row, repetition] = excess_risk(statistics(inputs, labels).solve(), target, moment)
    return risks


def _noise(
    inputs: Float[Tensor, "samples tokens width"], law: Noise, source: torch.Generator
) -> Float[Tensor, "samples width"]:
    last = inputs[:, -1]
    if law == "gaussian":
        return normal(*last.shape, seed=source)
    if law == "square":
        return last.square() - 1
    if law == "tail":
        return inputs.square().sum(dim=(1, 2), keepdim=True).squeeze(2) ** 1.5 * last.sign() * last[:, :1].sign()
    return torch.empty(last.shape, dtype=torch.float64).cauchy_(generator=source)

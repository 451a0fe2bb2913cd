"""Estimates of α from M labels, and the bounds that follow: Lemma C.2, Theorems 4.3 and 4.5, condition (8)."""

import math
from collections.abc import Callable

import numpy as np

from attention_theory.in_context_reasoning.closed_form import bernoulli_kl
from attention_theory.validation import FORMS, Form, require

#: The smallest and the largest number strictly between 0 and 1.
_INSIDE = (math.ulp(0.0), 1 - 2**-53)


def hoeffding_radius(samples: int, delta: float) -> float:
    """``ε = sqrt(ln(2/δ) / (2M))``: |α̂ - α| stays below it with probability at least 1 - δ (proof of Lemma C.2).

    Raises:
        ParameterError: no sample, or δ outside (0, 1].
    """
    require(samples=(samples, 1, None), delta=(delta, math.ulp(0.0), 1.0))
    return math.sqrt(math.log(2 / delta) / (2 * samples))


def kl_bound(alpha: float, radius: float) -> float:
    """``ε² / (min(α, 1 - α) - ε)``, the bound of Lemma C.2 on KL(α || α̂).

    Raises:
        ParameterError: ``radius`` not below ``min(α, 1 - α)``, which the paper does not ask: the bound is void there;
            α not strictly between 0 and 1.
    """
    require(alpha=(alpha, *_INSIDE))
    smaller = min(alpha, 1 - alpha)
    require(radius=(radius, 0.0, np.nextafter(smaller, 0).item()))
    return radius**2 / (smaller - radius)


def kl_failure(samples: int, alpha: float, delta: float) -> float:
    """The exact probability that KL(α || α̂) exceeds the bound of Lemma C.2, summed over the binomial law of M α̂.

    Raises:
        ParameterError: as :func:`kl_bound` and :func:`hoeffding_radius`.
    """
    bound = kl_bound(alpha, hoeffding_radius(samples, delta))
    return chance(samples, alpha, lambda heads: not 0 < heads < samples or bernoulli_kl(alpha, heads / samples) > bound)


def chance(samples: int, alpha: float, event: Callable[[int], bool]) -> float:
    """The exact probability of an event that the number of labels τ decides, summed over the binomial law.

    Raises:
        ParameterError: no sample, or α not strictly between 0 and 1.
    """
    require(samples=(samples, 1, None), alpha=(alpha, *_INSIDE))
    happens = [event(heads) for heads in range(samples + 1)]
    return float(_binomial(samples, alpha)[happens].sum())


def mean_estimates(samples: int, alpha: float) -> tuple[float, float]:
    """The exact means of α̂ and of γ̂ (given 0 < α̂ < 1) over the binomial law (Section 4.2).

    Raises:
        ParameterError: fewer than two samples, or α not strictly between 0 and 1: γ̂ would never be finite.
    """
    require(samples=(samples, 2, None), alpha=(alpha, *_INSIDE))
    heads = np.arange(samples + 1)
    mass = _binomial(samples, alpha)
    inside = heads[1:-1] / samples
    gamma = np.log(inside) - np.log1p(-inside)
    return float((mass * heads / samples).sum()), float((mass[1:-1] * gamma).sum() / mass[1:-1].sum())


def separation_time(alpha: float, radius: float, lr: float, form: Form = "correct") -> float:
    """Steps after which Theorem 4.5 promises condition (8): ``max(1, |ln(1 - α + ε) - ln(α - ε)| / η)``.

    ``form="printed"`` puts the bracket where the theorem has it, ``max(1, 1/η) |...|``, which can be below 1.

    Raises:
        ParameterError: ``radius`` not below α and 1 - α, where there may be no model; α not strictly between 0 and 1.
    """
    require(alpha=(alpha, *_INSIDE), lr=(lr, math.ulp(0.0), None), form=(form, FORMS))
    require(radius=(radius, 0.0, np.nextafter(min(alpha, 1 - alpha), 0).item()))
    gap = abs(math.log(1 - alpha + radius) - math.log(alpha - radius))
    return max(1, 1 / lr) * gap if form == "printed" else max(1.0, gap / lr)


def _binomial(samples: int, alpha: float) -> np.ndarray:
    """The probability of every number of heads among so many throws."""
    from scipy.stats import binom  # it takes longer to import than all else that a model needs

    return binom.pmf(np.arange(samples + 1), samples, alpha)

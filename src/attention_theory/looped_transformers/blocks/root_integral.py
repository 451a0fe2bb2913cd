"""The square root by sigmoids whose slopes form a geometric sequence: m of them do on [0, m²] (Corollary 9).

Lemma 20 spends a step of height ε on each ε that the root rises, sqrt(C)/ε in all. The root is also an integral over
all slopes, ``sqrt(x) = 1/K ∫ (2 sigmoid(w x) - 1) w^(-3/2) dw``, and for ``w = e^s`` the trapezoidal rule needs only
about log²(C/ε) terms.
"""

import math

import torch

from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
from attention_theory.validation import require

#: K, the integral at x = 1: 4 sqrt(π) (1 - 2^1.5) ζ(-1/2).
ROOT_INTEGRAL = 2.694872955431031


def root_at_scales(terms: int, most: float, error: float) -> SigmoidSum:
    """A sum of ``terms`` sigmoids for the square root on [0, most], not in the paper.

    The slopes run over all w that matter: below the smallest the integrand is at most ``most / 2 sqrt(w)``, above the
    largest ``w^(-3/2)``, and each part left out is a quarter of ``error``. The last sigmoid has slope 0: it is 1/2
    throughout and takes off the constant.

    Args:
        terms: m, at least 3.
        most: C, positive.
        error: the two parts left out come to half of this; what is left of it is for the trapezoidal rule.

    Raises:
        ParameterError: a parameter out of its range.
    """
    require(terms=(terms, 3, None), most=(most, 1e-9, None), error=(error, 1e-9, None))
    quarter = error * ROOT_INTEGRAL / 4
    least_slope, largest_slope = (quarter / most) ** 2, (2 / quarter) ** 2
    s = torch.linspace(math.log(least_slope), math.log(largest_slope), terms - 1, dtype=torch.float64)
    slopes = s.exp()
    heights = 2 * (s[1] - s[0]) * slopes.rsqrt() / ROOT_INTEGRAL
    slopes = torch.cat([slopes, slopes.new_zeros(1)])
    return SigmoidSum(slopes, torch.zeros_like(slopes), torch.cat([heights, -heights.sum()[None]]))

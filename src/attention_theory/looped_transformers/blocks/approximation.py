"""1/x and the square root by steps and by sigmoids (Lemmas 17 to 20, Corollaries 8 and 9)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum, sharp_steps
from attention_theory.validation import FORMS, Form, require


@dataclass(frozen=True)
class _Partition:
    """Intervals ``[edges[i], edges[i + 1])`` and the value that a function of steps takes in each."""

    edges: Float[Tensor, " edges"]
    values: Float[Tensor, " intervals"]

    @property
    def intervals(self) -> int:
        return len(self.values)

    def __call__(self, x: Float[Tensor, " points"], form: Form = "correct") -> Float[Tensor, " points"]:
        """Sum of ``value * (1[x >= left] - 1[x >= right])``; ``printed`` has ``1[x < right]`` in the second place.

        Raises:
            ParameterError: an unknown form.
        """
        require(form=(form, FORMS))
        left = (x[:, None] >= self.edges[:-1]).double()
        right = x[:, None] >= self.edges[1:] if form == "correct" else x[:, None] < self.edges[1:]
        return (left - right.double()) @ self.values


def reciprocal_partition(error: float, least: float, most: float) -> _Partition:
    """Lemma 17: from ``least`` on, an interval that begins at a ends at a(1 + error a), until ``most`` is covered.

    Raises:
        ParameterError: error or least outside (0, 1], most below 1.
    """
    require(error=(error, 1e-6, 1.0), least=(least, 1e-6, 1.0), most=(most, 1.0, None))
    edges = [least]
    while edges[-1] < most:
        edges.append(edges[-1] * (1 + error * edges[-1]))
    knots = torch.tensor(edges, dtype=torch.float64)
    return _Partition(knots, 1 / knots[:-1])


def root_partition(error: float, most: float) -> _Partition:
    """Lemma 19: intervals from i² error² to (i + 1)² error², where the root is taken as i error.

    Raises:
        ParameterError: error outside (0, 1], most not positive.
    """
    require(error=(error, 1e-6, 1.0), most=(most, 1e-9, None))
    count = _intervals(error, most)
    steps = torch.arange(count + 1, dtype=torch.float64) * error
    return _Partition(steps**2, steps[:-1])


def reciprocal_sigmoids(
    error: float, least: float, most: float, first_knot: float | None = None, sharpness: float = 40.0
) -> SigmoidSum:
    """Lemma 18: the steps of Lemma 17 as sharp sigmoids.

    Args:
        error: wanted on [least, most].
        least, most: the ends of the interval.
        first_knot: where the first sigmoid rises; ``least / 2`` unless given. At ``least`` itself, as in the paper,
            half of 1/least is missing there.
        sharpness: slope times the gap to the nearer knot.

    Raises:
        ParameterError: error or least outside (0, 1], most below 1 or not above least.
    """
    require(most=(most, math.nextafter(least, math.inf), None))
    partition = reciprocal_partition(error, least, most)
    knots = partition.edges[:-1].clone()
    knots[0] = least / 2 if first_knot is None else first_knot
    heights = torch.diff(partition.values, prepend=torch.zeros(1, dtype=torch.float64))
    return sharp_steps(knots, heights, sharpness)


def root_sigmoids(error: float, most: float, sharpness: float = 60.0) -> SigmoidSum:
    """Lemma 20: sqrt(most) / error sigmoids of height ``error``, at i² error².

    Raises:
        ParameterError: error outside (0, 1], most not positive.
    """
    require(error=(error, 1e-6, 1.0), most=(most, 1e-9, None))
    knots = (torch.arange(1, _intervals(error, most) + 1, dtype=torch.float64) * error) ** 2
    return sharp_steps(knots, torch.full_like(knots, error), sharpness)


#: K, the integral at x = 1: 4 sqrt(π) (1 - 2^1.5) ζ(-1/2).
ROOT_INTEGRAL = 2.694872955431031


def root_at_scales(terms: int, most: float, error: float) -> SigmoidSum:
    """A sum of ``terms`` sigmoids for the square root on [0, most], with slopes in a geometric sequence (Corollary 9).

    Not in the paper, whose Lemma 20 takes sqrt(C)/ε steps. The root is an integral over all slopes, ``sqrt(x) =
    1/K ∫ (2 sigmoid(w x) - 1) w^(-3/2) dw``; for ``w = e^s`` the trapezoidal rule needs about log²(C/ε) terms.

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


def _intervals(error: float, most: float) -> int:
    """sqrt(most) / error rounded up, a rounding error apart."""
    return math.ceil(math.sqrt(most) / error - 1e-9)

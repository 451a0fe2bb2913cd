"""Reading a sweep: its slope, its power law, whether it is linear, whether it is monotone within the seeds' spread.

Theorems that speak of rates ("of order n", "falls as 1/N") are read off sweeps by these few rules, the same on every
page, in its tests and in the benchmarks.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import refuse_unless, require_shape


def linear_fit_r2(x: Float[Tensor, " points"], y: Float[Tensor, " points"]) -> float:
    """The share of the variance of y that the best straight line explains.

    Raises:
        ParameterError: points that are not as many in x as in y, or all at one x; fewer than three points, which say
            nothing about a line.
    """
    refuse_unless(len(x) >= 3, f"x must have at least three points, got {len(x)}")
    _refuse_unlike(x, y)
    x, y = x.double() - x.double().mean(), y.double() - y.double().mean()
    return ((x @ y) ** 2 / ((x @ x) * (y @ y))).item()


def line_of_the_mean(x: Float[Tensor, " points"], values: Float[Tensor, "points seeds"]) -> list[float]:
    """Straightness of the mean over the seeds: R² of its best line, as draws that give the estimate and its interval.

    A single seed's line has the seed's scatter in it, which is no bend. The draws are the jackknife's pseudo-values: S
    times R² of all S seeds, less S - 1 times that without one of them.

    Raises:
        ParameterError: fewer than three points, or than three seeds.
    """
    seeds = values.shape[1]
    refuse_unless(seeds >= 3, f"values must have at least three seeds, got {seeds}")
    total = values.sum(dim=1)  # as straight as the mean
    whole, rest = linear_fit_r2(x, total), [total - values[:, seed] for seed in range(seeds)]
    return [seeds * whole - (seeds - 1) * linear_fit_r2(x, one) for one in rest]


def slope(x: Float[Tensor, " points"] | Sequence[float], y: Float[Tensor, " points"] | Sequence[float]) -> float:
    """The slope of the best straight line through at least two points.

    Raises:
        ParameterError: points that are not as many in x as in y, or all at one x; fewer than two points.
    """
    refuse_unless(len(x) >= 2, f"x must have at least two points, got {len(x)}")
    x, y = _double(x), _double(y)
    _refuse_unlike(x, y)
    x = x - x.mean()
    return ((x @ y) / (x @ x)).item()


def exponent(x: Float[Tensor, " points"] | Sequence[float], y: Float[Tensor, " points"] | Sequence[float]) -> float:
    """The exponent p of the best power law ``y = c x^p`` through positive points, by least squares on logarithms.

    Raises:
        ParameterError: a point that is not positive.
    """
    for name, values in (("x", _double(x)), ("y", _double(y))):
        least = values.min().item()
        refuse_unless(least > 0, f"{name} must be positive, the least is {least}")
    return slope(_double(x).log(), _double(y).log())


def _double(values: Float[Tensor, " points"] | Sequence[float]) -> Float[Tensor, " points"]:
    return values.double() if isinstance(values, Tensor) else torch.tensor(values, dtype=torch.float64)


def _refuse_unlike(x: Tensor, y: Tensor) -> None:
    require_shape(y=(y, x.shape))
    refuse_unless(bool((x != x[0]).any()), f"x must hold two different points, got {x[0].item()} alone")

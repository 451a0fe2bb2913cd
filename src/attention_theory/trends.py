"""Reading a sweep: its slope, its power law, whether it is linear, whether it is monotone within the seeds' spread."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require


def linear_fit_r2(x: Float[Tensor, " points"], y: Float[Tensor, " points"]) -> float:
    """The share of the variance of y that the best straight line explains.

    Raises:
        ParameterError: fewer than three points, which say nothing about a line.
    """
    require(points=(len(x), 3, None))
    x, y = x.double() - x.double().mean(), y.double() - y.double().mean()
    return ((x @ y) ** 2 / ((x @ x) * (y @ y))).item()


def slope(x: Float[Tensor, " points"] | Sequence[float], y: Float[Tensor, " points"] | Sequence[float]) -> float:
    """The slope of the best straight line through at least two points."""
    require(points=(len(x), 2, None))
    x, y = torch.as_tensor(x, dtype=torch.float64), torch.as_tensor(y, dtype=torch.float64)
    x = x - x.mean()
    return ((x @ y) / (x @ x)).item()


def exponent(x: Float[Tensor, " points"] | Sequence[float], y: Float[Tensor, " points"] | Sequence[float]) -> float:
    """The exponent p of the best power law ``y = c x^p`` through positive points, by least squares on logarithms."""
    return slope(torch.as_tensor(x, dtype=torch.float64).log(), torch.as_tensor(y, dtype=torch.float64).log())


def increments(values: Float[Tensor, "points seeds"]) -> Float[Tensor, " steps"]:
    """The steps from one mean to the next, in standard errors of the step (at least three seeds)."""
    require(seeds=(values.shape[1], 3, None))
    return gain(values[:-1], values[1:])


def gain(before: Float[Tensor, "... seeds"], after: Float[Tensor, "... seeds"]) -> Float[Tensor, "..."]:
    """The difference of two means in standard errors; a spread of 0 counts as the smallest float."""
    seeds = before.shape[-1]
    error = ((before.var(dim=-1) + after.var(dim=-1)) / seeds).sqrt().clamp(min=torch.finfo(before.dtype).tiny ** 0.5)
    return (after.mean(dim=-1) - before.mean(dim=-1)) / error

"""The shape of a growth: whether a count grows slower or faster than exponentially with a size (Figure 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, normal
from attention_theory.validation import Each, refuse_unless, require, require_shape


def _bend_weights(sizes: Sequence[float]) -> Float[Tensor, " sizes"]:
    """The weights with which logarithms of counts add up to a bend, see :func:`bend`.

    Raises:
        ParameterError: fewer than three sizes, or sizes that do not grow.
    """
    rises = all(float(b - a) >= 1e-9 for a, b in pairwise(sizes))
    refuse_unless(len(sizes) >= 3 and rises, f"sizes must be at least three that rise, got {list(sizes)}")
    places = torch.tensor(sizes, dtype=torch.float64)
    span = places[-1] - places[0]
    scaled = (places - places[0]) / span
    parabola = torch.linalg.pinv(torch.stack([torch.ones_like(scaled), scaled, scaled**2], dim=1))
    return 2 * parabola[2] / span


def bend(sizes: Sequence[float], logarithms: Float[Tensor, "... sizes"]) -> Float[Tensor, "..."]:
    """The growth rate of a count at the largest size less that at the smallest, from the logarithms of its values.

    The logarithms are fitted by a parabola in the size. The bend is below zero where the growth is slower than
    exponential, above zero where it is faster, and zero for every exponential.

    Raises:
        ParameterError: as :func:`_bend_weights`, or another number of logarithms.
    """
    require_shape(logarithms=(logarithms, (..., len(sizes))))
    return logarithms @ _bend_weights(sizes).to(logarithms)


@dataclass(frozen=True)
class _Line:
    """A straight line through points, by least squares.

    Attributes:
        slope: its slope.
        error: the standard error of the slope, from the distances of the points.
        freedom: the degrees of freedom of that error.
        at_sizes: its values at the sizes.
        miss: the root of the mean square by which it misses the means of the runs.
    """

    slope: float
    error: float
    freedom: int
    at_sizes: Float[Tensor, " sizes"]
    miss: float


def growth_line(sizes: Sequence[float], logarithms: Float[Tensor, "runs sizes"], power: bool) -> _Line:
    """The power law, or the exponential, through counts: a line through their logarithms.

    Args:
        sizes: the sizes, above zero.
        logarithms: those of the counts, by run and size.
        power: against the logarithms of the sizes, so that the slope is the exponent of a power law; otherwise against
            the sizes, so that it is the rate of an exponential.

    Raises:
        ParameterError: a size that is not above zero, fewer than three points, or another number of logarithms.
    """
    require(sizes=(Each(sizes), 1e-9, None))
    require_shape(logarithms=(logarithms, (None, len(sizes))))
    refuse_unless(logarithms.numel() >= 3, f"logarithms must be at least three, got {logarithms.numel()}")
    places = torch.tensor([float(size) for size in sizes]).to(logarithms)
    centred = places.log() if power else places
    centred = centred - centred.mean()
    means, square = logarithms.mean(dim=0), len(logarithms) * (centred @ centred)
    slope = len(logarithms) * (centred @ means) / square
    at_sizes = means.mean() + slope * centred
    freedom = logarithms.numel() - 2
    error = ((logarithms - at_sizes).square().sum() / freedom / square).sqrt()
    return _Line(slope.item(), error.item(), freedom, at_sizes, (means - at_sizes).square().mean().sqrt().item())


def simulated_bends(
    sizes: Sequence[float],
    truth: Float[Tensor, " sizes"],
    spread: float,
    runs: int,
    experiments: int,
    seed: Seed,
) -> Float[Tensor, "experiments runs"]:
    """The bends that runs would have if the mean logarithms and their spread from run to run were these.

    Args:
        sizes: as :func:`bend`.
        truth: the mean logarithm of the count at each size.
        spread: the standard deviation of one run at one size, at least 0.
        runs: runs of one experiment, at least 1.
        experiments: how often the experiment is made, at least 1.
        seed: of the noise, which is normal.

    Raises:
        ParameterError: an argument out of its range, or as :func:`bend`.
    """
    require(runs=(runs, 1, None), experiments=(experiments, 1, None), spread=(spread, 0.0, None))
    noise = normal(experiments, runs, len(truth), seed=seed, dtype=truth.dtype, device=truth.device)
    return bend(sizes, truth + spread * noise)

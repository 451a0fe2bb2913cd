"""Approximation by sums of sigmoids with bounded coefficients (Definitions 2 and 3, Theorem 3), on [-1, 1]."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require, require_finite, require_shape


def bump(x: Float[Tensor, "..."], width: float) -> Float[Tensor, "..."]:
    """``exp(-x²/2w²) - 1``: a Gaussian bump moved so that it is 0 at 0.

    Raises:
        ParameterError: a width that is not positive.
    """
    require(width=(width, 1e-6, None))
    return torch.exp(-(x**2) / (2 * width**2)) - 1


def bump_constant(width: float) -> float:
    """C of Definition 2 for the bump: the integral of |ω| against its Fourier magnitude is sqrt(2/π) / w.

    Raises:
        ParameterError: a width that is not positive.
    """
    require(width=(width, 1e-6, None))
    return math.sqrt(2 / math.pi) / width


def fourier_constant(magnitude: Float[Tensor, " points"], frequencies: Float[Tensor, " points"]) -> float:
    """Definition 2 on [-1, 1] by the trapezoidal rule: the integral of |ω| F(dω), F with the given density.

    Raises:
        ParameterError: as many frequencies as magnitudes are not given.
    """
    require_shape(frequencies=(frequencies, magnitude.shape))
    return torch.trapezoid(frequencies.abs() * magnitude, frequencies).item()


def bump_magnitude(frequencies: Float[Tensor, " points"], width: float) -> Float[Tensor, " points"]:
    """Density of the Fourier distribution of the Gaussian (its shift by a constant sits at frequency 0).

    Raises:
        ParameterError: a width that is not positive.
    """
    require(width=(width, 1e-6, None))
    return width / math.sqrt(2 * math.pi) * torch.exp(-((width * frequencies) ** 2) / 2)


def step_magnitude(frequencies: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
    """Density of the Fourier distribution of a unit step, 1 / 2π|ω|, away from frequency 0."""
    return 1 / (2 * math.pi * frequencies.abs())


@dataclass(frozen=True)
class Element:
    """Definition 3: ``gamma * sigmoid(tau (a x + b))``, with |gamma| <= 2C, |a| <= 1 on [-1, 1] and |b| <= 1.

    Raises:
        ParameterError: a coefficient out of its range.
    """

    gamma: float
    a: float
    b: float
    tau: float
    constant: float

    def __post_init__(self) -> None:
        require(a=(self.a, -1.0, 1.0), b=(self.b, -1.0, 1.0))
        require(tau=(self.tau, 0.0, None), constant=(self.constant, 0.0, None))
        require(gamma=(self.gamma, -2.0 * self.constant, 2.0 * self.constant))

    def __call__(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return self.gamma * (self.tau * (self.a * x + self.b)).sigmoid()


@dataclass(frozen=True)
class _Fit:
    """A sum of ``terms`` elements of the dictionary with coefficients ``gamma``, and how far it is from its target."""

    gamma: Float[Tensor, " terms"]
    root_mean_square: float
    largest: float


def greedy_fit(
    target: Float[Tensor, " points"],
    x: Float[Tensor, " points"],
    terms: int,
    tau: float,
    constant: float,
    shifts: int = 201,
) -> _Fit:
    """The relaxed greedy approximation of Barron's proof, with the best step each time.

    Each step moves from the sum so far towards the one element ``±2C sigmoid(tau(±x + b))`` that the residual leans on
    most, so that the coefficients' moduli never add up to more than 2C.

    Args:
        target: values on the grid ``x``, equally spaced; the error is the root mean square over it.
        terms: m, at least 1.
        tau: sharpness.
        constant: C.
        shifts: values of b tried, from -1 to 1.

    Raises:
        ParameterError: a target of another shape or that is not finite, a negative constant; no term, a negative
            sharpness, or fewer than two shifts.
    """
    require(terms=(terms, 1, None), tau=(tau, 0.0, None), constant=(constant, 0.0, None), shifts=(shifts, 2, None))
    require_shape(target=(target, x.shape))
    require_finite(target=target, x=x)
    b = torch.linspace(-1, 1, shifts, dtype=x.dtype, device=x.device)
    sigmoids = torch.cat([(tau * (sign * x + b[:, None])).sigmoid() for sign in (1, -1)])
    dictionary = 2 * constant * torch.cat([sigmoids, -sigmoids])
    now = torch.zeros_like(target)
    gamma: list[float] = []
    for _ in range(terms):
        residual = target - now
        best = int((dictionary @ residual).argmax())
        direction = dictionary[best] - now
        share = float((residual @ direction / (direction @ direction)).clamp(0, 1))
        now = now + share * direction
        sign = 1.0 if best < len(sigmoids) else -1.0
        gamma = [(1 - share) * value for value in gamma] + [2 * constant * share * sign]
    error = target - now
    return _Fit(
        torch.tensor(gamma, dtype=x.dtype, device=x.device),
        error.square().mean().sqrt().item(),
        error.abs().max().item(),
    )

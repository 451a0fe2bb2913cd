"""Gradient descent on the regression of Algorithm 1, in closed form."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.randomness import Seed, normal
from attention_theory.validation import require


def descend(data: Statistics, steps: int, seed: Seed, scale: float | None = None) -> Float[Tensor, "out psi"]:
    """The coefficients after ``steps`` steps of size ``1/λ_max`` from a Gaussian start.

    Along each eigenvector of Λ the error is multiplied by ``1 - λ/λ_max`` a step, so that any number of steps costs one
    eigendecomposition. Directions without data keep their start.

    Args:
        data: the statistics of the training data.
        steps: T, at least 0.
        seed: of the start.
        scale: standard deviation of the start, the inverse root of ψ unless given.

    Raises:
        ParameterError: steps below 0.
    """
    require(steps=(steps, 0, None))
    out, psi = data.cross.shape
    scale = psi**-0.5 if scale is None else scale
    start = scale * normal(out, psi, seed=seed, dtype=data.cross.dtype, device=data.cross.device)
    values, vectors = torch.linalg.eigh(data.second_moment)
    left = (1 - values / values[-1]).clamp(0, 1) ** steps
    best = data.solve()
    return best + ((start - best) @ vectors * left) @ vectors.mT

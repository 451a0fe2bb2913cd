"""Running time of Algorithm 1: multiplications, counted, of two plain ways to solve its regression (Theorem 2.1).

The bound of the theorem, ``N d⁴ n_max / ε``, is that of gradient descent on Eq. 10: a step costs ``2 N d⁴``
multiplications, and the number of steps goes as ``1 / ε``. A direct solver has no ε in it, and higher powers of d.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.linear_attention.model.features import psi
from attention_theory.linear_attention.model.parameters import lift_scale
from attention_theory.validation import require


def gradient(
    matrix: Float[Tensor, "out columns"], features: Float[Tensor, "batch columns"], labels: Float[Tensor, "batch out"]
) -> Float[Tensor, "out columns"]:
    """The gradient of Eq. 10, block by block: row a holds the d³ entries of W that stand in the a-th block of d rows.

    Args:
        matrix: W.
        features: the d³ entries of each 𝒳(Z_i).
        labels: y_i.
    """
    return 2 / len(labels) * (features @ matrix.mT - labels).mT @ features


def steps_to(data: Statistics, width: int, epsilon: float) -> int:
    """Steps of size ``1 / (2 λ_max)`` from W = 0 after which the loss of Eq. 10 is at most ``epsilon`` above the least.

    Along each eigenvector of the second moment of the matrix's features the error shrinks by ``1 - λ/λ_max`` a step.

    Raises:
        ParameterError: an ``epsilon`` that is not above 0.
    """
    require(epsilon=(epsilon, 1e-300, None))
    values, errors = _spectrum(data, width)

    def excess(steps: int) -> float:
        return (values * errors * (1 - values / values[-1]).clamp(0, 1) ** (2 * steps)).sum().item()

    low, high = -1, 1  # the excess is above epsilon at `low` and at most epsilon at `high`
    while excess(high) > epsilon:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) > epsilon else (low, middle)
    return high


def size(data: Statistics, width: int) -> float:
    """``λ_max ‖W*‖²``, with λ_max of the second moment of the features and W* the minimiser of least norm."""
    values, errors = _spectrum(data, width)
    return (values[-1] * errors.sum()).item()


def steps_bound(data: Statistics, width: int, epsilon: float) -> float:
    """A bound on :func:`steps_to`: ``1 + λ_max ‖W*‖² / (4 ε)``."""
    return 1 + size(data, width) / (4 * epsilon)


def descent_multiplications(samples: int, width: int, tokens: int, steps: int) -> int:
    """Features, then steps: ``N (d² n + d³) + 2 N d⁴ T``."""
    return samples * (width**2 * tokens + width**3) + 2 * samples * width**4 * steps


def direct_multiplications(samples: int, width: int, tokens: int) -> int:
    """Features, normal equations in the ψ of them, and their solution: ``N (d² n + ψ + ψ² + d ψ) + ψ³ + d ψ²``."""
    features = psi(width)
    rows = samples * (width**2 * tokens + features + features**2 + width * features)
    return rows + features**3 + width * features**2


def printed_time(samples: int, width: int, tokens: int, epsilon: float) -> float:
    """The bound of the theorem without its constant: ``N d⁴ n_max / ε``."""
    return samples * width**4 * tokens / epsilon


def _spectrum(data: Statistics, width: int) -> tuple[Float[Tensor, " psi"], Float[Tensor, " psi"]]:
    """Eigenvalues of the second moment in coordinates whose norm is that of W, and ``‖W* u‖²`` along each."""
    scale = lift_scale(width, data.cross.device).to(data.cross.dtype)
    values, vectors = torch.linalg.eigh(data.second_moment * torch.outer(scale, scale))
    return values.clamp(min=0), ((data.solve() / scale) @ vectors).square().sum(dim=0)

"""The regression of Algorithm 1 within the time of Theorem 2.1, whatever the scaling of the data.

A sparse embedding adds the N rows of features up, with random signs, to a few times ψ rows. The triangle R of the
sketch's QR factorisation preconditions the features, and conjugate gradients solve the regression. Columns that depend
on others are left out before.
"""

import math
from dataclasses import dataclass

import scipy.linalg
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.model.features import psi
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


@dataclass(frozen=True)
class _Sketched:
    """Coefficients after every number of steps, the first of them 0, and the triangle that preconditioned them.

    ``columns`` are those of the features that are independent; the coefficients of the others are 0.
    """

    coefficients: Float[Tensor, "steps_and_one out psi"]
    triangle: Float[Tensor, "rank rank"]
    columns: Int[Tensor, " rank"]


def _sparse_embedding(
    features: Float[Tensor, "batch psi"], rows: int, nonzeros: int, seed: Seed
) -> Float[Tensor, "rows psi"]:
    """A sketch ``S A``: each row of A is added, with a random sign, to one random row in each of ``nonzeros`` blocks.

    Raises:
        ParameterError: fewer rows than blocks, or no block.
    """
    require(nonzeros=(nonzeros, 1, None))
    require(rows=(rows, nonzeros, None))
    source, count, block = generator(seed), len(features), rows // nonzeros
    sketch = features.new_zeros(block * nonzeros, features.shape[1])
    for first in range(0, block * nonzeros, block):
        places = first + torch.randint(block, (count,), generator=source, device=source.device).to(features.device)
        signs = 2 * torch.randint(2, (count, 1), generator=source, device=source.device).to(features.device) - 1
        sketch.index_add_(0, places, signs * features)
    return sketch / nonzeros**0.5


def sketched_regression(
    features: Float[Tensor, "batch psi"],
    labels: Float[Tensor, "batch out"],
    steps: int,
    seed: Seed,
    oversampling: int = 8,
    nonzeros: int = 4,
    preconditioned: bool = True,
) -> _Sketched:
    """Least squares by conjugate gradients from 0, for every output, on features preconditioned by a sketch.

    Args:
        features: A, one sample a row, of any rank.
        labels: y_i.
        steps: steps of conjugate gradients, at least 1.
        seed: of the sketch.
        oversampling: rows of the sketch, in multiples of ψ.
        nonzeros: rows of the sketch that each sample is added to.
        preconditioned: without it the same method runs on the features as they are.

    Raises:
        ParameterError: no step, or a sketch with fewer rows than features.
    """
    require(steps=(steps, 1, None), oversampling=(oversampling, 1, None))
    every = features.shape[1]
    columns = torch.arange(every, device=features.device)
    triangle = torch.eye(every, dtype=features.dtype, device=features.device)
    if preconditioned:
        sketch = _sparse_embedding(features, oversampling * every, nonzeros, seed)
        columns = _independent_columns(sketch)
        triangle = torch.linalg.qr(sketch[:, columns], mode="r").R
    features, count = features[:, columns], len(columns)

    def solved(right: Tensor, transposed: bool) -> Tensor:
        """``R⁻¹`` or its transpose, times columns."""
        return torch.linalg.solve_triangular(triangle.mT if transposed else triangle, right, upper=not transposed)

    found, residual = [torch.zeros_like(labels[0])[None].expand(count, -1)], labels
    direction = gradient = solved(features.mT @ labels, transposed=True)
    for _ in range(steps):
        change = solved(direction, transposed=False)
        image = features @ change
        length = _ratio(gradient.square().sum(dim=0), image.square().sum(dim=0))
        found.append(found[-1] + length * change)
        residual = residual - length * image
        following = solved(features.mT @ residual, transposed=True)
        direction = following + _ratio(following.square().sum(dim=0), gradient.square().sum(dim=0)) * direction
        gradient = following
    coefficients = features.new_zeros(steps + 1, labels.shape[1], every)
    coefficients[..., columns] = torch.stack(found).mT
    return _Sketched(coefficients, triangle, columns)


def _independent_columns(matrix: Float[Tensor, "rows columns"], tolerance: float = 1e-10) -> Int[Tensor, " rank"]:
    """Columns that are independent and span the others, whatever their scales, in their order.

    Args:
        matrix: of any rank.
        tolerance: what is left of a column of length 1 beside the others, below which it depends on them.
    """
    of_one_size = matrix / matrix.norm(dim=0).clamp(min=torch.finfo(matrix.dtype).tiny)
    triangle, order = scipy.linalg.qr(of_one_size.cpu().numpy(), mode="r", pivoting=True)
    rank = int((abs(triangle.diagonal()) > tolerance).sum())
    return torch.as_tensor(order[:rank], dtype=torch.long, device=matrix.device).sort().values


def sketched_steps(power: float, epsilon: float) -> int:
    """Steps that are enough if the preconditioned features have a condition number of at most 4.

    The loss is then at most ``4 (3/5)^(2k)`` times the power of the labels above the least after k steps.

    Raises:
        ParameterError: a ``power`` or an ``epsilon`` that is not above 0.
    """
    require(power=(power, 1e-300, None), epsilon=(epsilon, 1e-300, None))
    return max(1, math.ceil(math.log(4 * power / epsilon) / (2 * math.log(5 / 3))))


def sketched_multiplications(
    samples: int, width: int, tokens: int, steps: int, oversampling: int = 8, nonzeros: int = 4
) -> int:
    """``N (d² n + ψ + s ψ) + r ψ³ + d T (2 N ψ + ψ² + 2 N + 4 ψ)``, with s the nonzeros and r the oversampling.

    That is: features, sketch, its QR factorisation with the classical product of matrices, then steps. The signs of the
    sketch are counted as factors.
    """
    features = psi(width)
    rows = samples * (width**2 * tokens + features + nonzeros * features)
    return (
        rows
        + oversampling * features**3
        + width * steps * (2 * samples + features) * features
        + width * steps * (2 * samples + 4 * features)
    )


def _ratio(first: Tensor, second: Tensor) -> Tensor:
    """``first / second``, and 0 where a residual is gone."""
    return torch.where(second > 0, first / second.clamp(min=torch.finfo(second.dtype).tiny), 0)

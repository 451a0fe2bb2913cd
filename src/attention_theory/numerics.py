"""Deciding rank and equality in floating point, and exactly where it must be exact."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.validation import ParameterError, require, require_finite, require_shape

#: A prime whose products fit in 64-bit integers: 2**31 - 1.
PRIME = 2_147_483_647


def relative_error(ours: Tensor, reference: Tensor) -> float:
    """Largest absolute difference over the largest absolute value of the reference (or 1, if that is 0).

    Raises:
        ParameterError: two shapes, which would be stretched to fit each other, or no entry at all.
    """
    if ours.shape != reference.shape or not ours.numel():
        raise ParameterError(
            f"reference must have the shape of ours, with an entry, got {[*reference.shape]} and {[*ours.shape]}"
        )
    scale = reference.abs().max().item() or 1.0
    return (ours - reference).abs().max().item() / scale


def numerical_rank(matrix: Float[Tensor, "... rows columns"], rtol: float = 1e-9) -> Int[Tensor, "..."]:
    """The number of singular values above ``rtol`` times the largest.

    Raises:
        ParameterError: values that are not finite; ``rtol`` outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    require_finite(matrix=matrix)
    values = torch.linalg.svdvals(matrix)
    return (values > rtol * values[..., :1]).sum(dim=-1)


def least_norm_solution(
    matrix: Float[Tensor, "rows columns"], right: Float[Tensor, "rows sides"], rtol: float | None = None
) -> Float[Tensor, "columns sides"]:
    """The least-squares solution of ``matrix X = right`` and, where there are several, that of least norm.

    Singular values below ``rtol`` times the largest count as zero; below rounding, unless it is given. For accelerators
    torch has no solver for matrices of lower rank, so the work is done on the CPU and the solution moved back.

    Raises:
        ParameterError: sides of another number than the rows, values that are not finite; ``rtol`` outside [0, 1].
    """
    require(rtol=(0.0 if rtol is None else rtol, 0.0, 1.0))
    require_shape(right=(right, (len(matrix), None)))
    require_finite(matrix=matrix, right=right)
    return torch.linalg.lstsq(matrix.cpu(), right.cpu(), rcond=rtol, driver="gelsd").solution.to(matrix.device)


def modular_rank(matrix: Int[Tensor, "rows columns"], prime: int = PRIME) -> int:
    """The rank of an integer matrix modulo a prime, exactly: a lower bound on its rank over the rationals.

    The two agree unless the prime divides a minor. Entries are int64; the elimination never leaves the integers.

    Raises:
        ParameterError: a modulus below 2, or so large that a product overflows.
    """
    require(prime=(prime, 2, PRIME))
    work = matrix.remainder(prime).clone()
    rank = 0
    for column in range(work.shape[1]):
        pivots = work[rank:, column].nonzero()
        if not len(pivots):
            continue
        pivot = rank + int(pivots[0])
        work[[rank, pivot]] = work[[pivot, rank]]
        work[rank] = work[rank] * pow(int(work[rank, column]), -1, prime) % prime
        below = work[rank + 1 :]
        below -= below[:, column : column + 1] * work[rank] % prime
        below %= prime
        rank += 1
        if rank == work.shape[0]:
            break
    return rank

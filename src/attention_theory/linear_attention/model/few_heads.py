"""Smallest numbers of heads for a function: one that is enough for almost all of them, and two heads at width 2."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import lift
from attention_theory.validation import refuse_unless, require, require_finite, require_shape


def fewest_heads(width: int) -> int:
    """The fewest heads whose parameters, less those that change nothing, are as many as the coefficients.

    H heads have 2Hd² parameters, of which H² change no head matrix: the least H with H(2d² - H) >= d³(d+1)/2.

    Raises:
        ParameterError: a width that is no integer from 1 on.
    """
    require(width=(width, 1, None))
    return next(
        heads for heads in range(1, width**2 + 1) if heads * (2 * width**2 - heads) >= width**3 * (width + 1) / 2
    )


def two_heads(row: Float[Tensor, "2 psi"]) -> Heads:
    """Two heads of width 2 with given coefficients: almost all coefficients have such heads.

    With S the lift and A, B, D its blocks for (j, k) = (1, 1), (1, 2), (2, 2), each of outputs by entries of the last
    token, a real Y with ``A Y² - 2 B Y + D = 0`` gives the head matrix ``[[A, A Y], [2 B - A Y, D]]`` of rank 2.

    Raises:
        ParameterError: coefficients of another shape or that are not finite, or for which no real Y is found: A is
            singular, or the quadratic equation has too few eigenvectors.
    """
    require_shape(row=(row, (2, 6)))
    require_finite(row=row)
    blocks = lift(row, 2).unflatten(-1, (2, 2)).unflatten(0, (2, 2))  # (a, j, k, l)
    first, mixed, last = blocks[:, 0, 0], 2 * blocks[:, 0, 1], blocks[:, 1, 1]
    refuse_unless(bool(torch.linalg.det(first) != 0), "row must have a block A that is not singular")
    solvent = _solvent(torch.linalg.solve(first, mixed), torch.linalg.solve(first, last))
    left = torch.linalg.solve(first.mT, (mixed - first @ solvent).mT).mT  # A Y² - 2 B Y + D = 0 says: left A Y = D
    eye = torch.eye(2, dtype=row.dtype, device=row.device)
    return Heads(
        torch.stack([eye, left], dim=1).permute(2, 0, 1).contiguous(),  # (h, a, j)
        torch.stack([first, first @ solvent], dim=1),  # (h, k, l)
    )


def _solvent(mixed: Float[Tensor, "2 2"], last: Float[Tensor, "2 2"]) -> Float[Tensor, "2 2"]:
    """A real solution of ``Y² - mixed Y + last = 0``, from two eigenvectors of its companion matrix.

    Both are real, or they are conjugate; of these pairs the one with the most independent eigenvectors.
    """
    eye = torch.eye(2, dtype=last.dtype, device=last.device)
    companion = torch.cat([torch.cat([0 * eye, eye], dim=1), torch.cat([-last, mixed], dim=1)])
    values, vectors = torch.linalg.eig(companion)
    tops = torch.nn.functional.normalize(vectors[:2], dim=0)
    best, solution = 0.0, None
    for i, j in torch.combinations(torch.arange(4)).tolist():
        pair, basis = values[[i, j]], tops[:, [i, j]]
        size = torch.linalg.det(basis).abs().item()
        if (torch.equal(pair[0], pair[1].conj()) or not pair.imag.any()) and size > best:
            best, solution = size, (basis * pair @ torch.linalg.inv(basis)).real
    refuse_unless(solution is not None, "row must have a real solution Y, got none")
    assert solution is not None
    return solution

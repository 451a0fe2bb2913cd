"""The space in which a model is its function: head matrix T_Θ, coefficients p(Θ), and the way back to heads.

The head matrix has rows (a, j), for output a and feature row j, and columns (k, l). Only its part symmetric in j and k
meets the data, because ``<z_j, z_k> = <z_k, z_j>``; the coefficients p(Θ) are what is left of it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.randomness import Seed, normal
from attention_theory.validation import FORMS, Form, refuse_unless, require, require_finite, require_shape


def head_matrix(heads: Heads) -> Float[Tensor, "... out_width width_squared"]:
    """T_Θ = Σ_h flat(V_h) flat(Q_h)ᵀ, flattened row by row (Eq. 12)."""
    return heads.values.flatten(-2).mT @ heads.queries.flatten(-2)


def coefficients(
    model: Heads | Float[Tensor, "... out_width width_squared"], form: Form = "correct"
) -> Float[Tensor, "... out psi"]:
    """The coefficients p(Θ) of a model in the features H(Z) of Algorithm 2 (Eqs. 41, 42), or those of a matrix W.

    Entry ({j, k}, l) of row a is ``W[a j, k l] + W[a k, j l]``, or ``W[a j, j l]`` if j = k. ``form="printed"`` follows
    Eq. 16 to the letter, which counts the terms with j = k twice.

    Raises:
        ParameterError: an unknown form, or a matrix of another shape.
    """
    require(form=(form, FORMS))
    matrix = head_matrix(model) if isinstance(model, Heads) else model
    width = _width(matrix)
    blocks = matrix.unflatten(-1, (width, width)).unflatten(-3, (-1, width))  # (..., a, j, k, l)
    j, k = pairs(width, matrix.device)
    both = blocks[..., j, k, :] + blocks[..., k, j, :]
    if form == "correct":
        both = torch.where((j == k)[:, None], blocks[..., j, k, :], both)
    return both.flatten(-2)


def lift(row: Float[Tensor, "... out psi"], width: int) -> Float[Tensor, "... out_width width_squared"]:
    """The matrix W with given coefficients that is symmetric in j and k: the one of smallest norm.

    Raises:
        ParameterError: coefficients of another number than the features of the width.
    """
    j, k = pairs(width, row.device)
    require_shape(row=(row, (..., len(j) * width)))
    fraction = torch.where(j == k, 1.0, 0.5).to(row.dtype)
    halves = row.unflatten(-1, (len(j), width)) * fraction[:, None]
    blocks = row.new_zeros(*row.shape[:-1], width, width, width)
    blocks[..., j, k, :] = halves
    blocks[..., k, j, :] = halves
    return blocks.flatten(-2).flatten(-3, -2)


def lift_scale(width: int, device: torch.device | str = "cpu") -> Float[Tensor, " psi"]:
    """Coefficients divided by this have the norm of the lifted matrix: √2 where j < k, 1 where j = k."""
    j, k = pairs(width, device)
    return torch.where(j == k, 1.0, 2.0).double().sqrt().repeat_interleave(width)


def heads_from_matrix(matrix: Float[Tensor, "out_width width_squared"], rtol: float = 1e-10) -> Heads:
    """Heads whose head matrix is ``matrix``: its singular vectors, each scaled by the root of the singular value.

    As many heads as the rank, so at most d² (Algorithm 1, lines 8 and 9); singular values below ``rtol`` times the
    largest are dropped. The zero matrix gives one head of zeros.

    Raises:
        ParameterError: values that are not finite; a matrix of another shape, or ``rtol`` outside [0, 1].
    """
    width = _width(matrix)
    values, queries = _split(matrix, rtol)
    return Heads(values.unflatten(-1, (-1, width)), queries.unflatten(-1, (width, width)))


def symmetric_matrix(row: Float[Tensor, "... out psi"], width: int) -> Float[Tensor, "... out_width width_squared"]:
    """The only matrix W with given coefficients that is symmetric in k and l, by Christoffel's formula.

    With S the lift, ``W[a j, k l] = S[a j, k l] + S[a j, l k] - S[a k, l j]``. Its rank is at most d(d+1)/2.

    Raises:
        ParameterError: coefficients of another number than the features of the width.
    """
    blocks = lift(row, width).unflatten(-1, (width, width)).unflatten(-3, (-1, width))  # (..., a, j, k, l)
    return (blocks + blocks.mT - blocks.movedim(-1, -3)).flatten(-2).flatten(-3, -2)


def symmetric_heads(row: Float[Tensor, "out psi"], width: int, rtol: float = 1e-10) -> Heads:
    """Heads with symmetric Q_h that have given coefficients, at most d(d+1)/2: as many as the rank of their matrix.

    Singular values below ``rtol`` times the largest are dropped. Coefficients of zero give one head of zeros.

    Raises:
        ParameterError: values that are not finite; coefficients of another number than the features of the width, or
            ``rtol`` outside [0, 1].
    """
    k, last = pairs(width, row.device)
    root = torch.where(k == last, 1.0, 2.0).to(row.dtype).sqrt()  # an orthonormal basis of the symmetric matrices
    matrix = symmetric_matrix(row, width).unflatten(-1, (width, width))
    values, upper = _split(matrix[..., k, last] * root, rtol)
    queries = row.new_zeros(len(upper), width, width)
    queries[:, k, last] = queries[:, last, k] = upper / root
    return Heads(values.unflatten(-1, (-1, width)), queries)


def antisymmetric_twin(
    matrix: Float[Tensor, "out_width width_squared"], seed: Seed, scale: float = 1.0
) -> Float[Tensor, "out_width width_squared"]:
    """Another matrix with the same coefficients: ``matrix`` plus Gaussian noise antisymmetric in j and k.

    Raises:
        ParameterError: a matrix of another shape, or a width below 2, where there is no such noise.
    """
    width = _width(matrix)
    refuse_unless(width >= 2, f"matrix must be of a width of at least 2, got shape {list(matrix.shape)}")
    shape = (matrix.shape[0] // width, width, width, width)
    noise = normal(*shape, seed=seed, dtype=matrix.dtype, device=matrix.device)
    return matrix + scale * (noise - noise.transpose(1, 2)).flatten(-2).flatten(0, 1)


def distance(heads: Heads, other: Heads, form: Form = "correct") -> Float[Tensor, "..."]:
    """The parameter distance ``‖p(Θ) − p(Θ')‖_F``: zero exactly where the two are one function (Eq. 28)."""
    return torch.linalg.matrix_norm(coefficients(heads, form) - coefficients(other, form))


def _split(matrix: Tensor, rtol: float) -> tuple[Float[Tensor, "rank rows"], Float[Tensor, "rank columns"]]:
    """Singular vectors, each times the root of its singular value, so that the matrix is the sum of their products."""
    require(rtol=(rtol, 0.0, 1.0))
    require_finite(matrix=matrix)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    rank = max(1, int((values > rtol * values[0]).sum()))
    root = values[:rank, None].sqrt()
    return (root * left[:, :rank].mT).contiguous(), root * right[:rank]


def _width(matrix: Tensor) -> int:
    width = round(matrix.shape[-1] ** 0.5)
    refuse_unless(
        matrix.numel() > 0 and matrix.shape[-1] == width * width and matrix.shape[-2] % width == 0,
        f"matrix must have d^2 columns and a multiple of d rows, got shape {list(matrix.shape)}",
    )
    return width

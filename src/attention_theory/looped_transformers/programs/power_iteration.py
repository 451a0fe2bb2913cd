"""Power iteration and an inverse root: plainly (Algorithms 4, 10, 11) and as a FLEQ program (Algorithm 12)."""

import math
from collections.abc import Collection
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.machine.listing import beside
from attention_theory.looped_transformers.programs.newton import ROUNDING
from attention_theory.validation import refuse_unless, require, require_shape

#: Algorithm 12, repaired: line 3 counts in t1, and b is turned before the last product.
_LISTING = """
        a = transpose(a)
power:  b = mul(a, b)                 # A b
        t1 = add(t1, one)
        if t1 <= 0 goto power
        square = mul(b, b)            # ||b||²
root:   y = mul(inv, inv)
        y = mul(square, y)
        y = mul(half, y)
        y = sub(threehalves, y)
        inv = mul(inv, y)
        t2 = add(t2, one)
        if t2 <= 0 goto root
        b = transpose(b)
        b = mul(b, inv)               # (b^T)^T / ||b||
        halt
"""

#: Where Algorithm 12 is wrong in print: two lines, the matrix as it is, the start, and the count of its second loop.
_PLACES = ("line 3", "line 13", "norm", "start", "rounds")


def power_iterates(
    matrix: Float[Tensor, "d d"], start: Float[Tensor, " d"], steps: int
) -> Float[Tensor, "{steps+1} d"]:
    """Algorithm 4: ``b <- A b``, not normalised on the way.

    Raises:
        ParameterError: a start of another size, or 0; steps below 1.
    """
    require(steps=(steps, 1, None))
    require_shape(start=(start, (matrix.shape[-1],)))
    refuse_unless(bool((start != 0).any()), "start must not be 0, which stays 0")
    iterates = [start]
    for _ in range(steps):
        iterates.append(matrix @ iterates[-1])
    return torch.stack(iterates)


def sign_free_distance(b: Float[Tensor, "... d"], eigenvector: Float[Tensor, " d"]) -> Float[Tensor, "..."]:
    """Distance of ``b / ||b||`` to the nearer of the eigenvector and its negative."""
    unit = b / torch.linalg.vector_norm(b, dim=-1, keepdim=True)
    to_each = [torch.linalg.vector_norm(unit - sign * eigenvector, dim=-1) for sign in (1, -1)]
    return torch.minimum(*to_each)


def distance_bounds(
    matrix: Float[Tensor, "d d"], steps: int
) -> tuple[Float[Tensor, " {steps+1}"], Float[Tensor, " {steps+1}"]]:
    """Between what the distance to the top eigenvector lies after 0 to ``steps`` steps, for a symmetric matrix.

    The start is that of :func:`power_program`. With its coordinates c along the eigenvectors and θ its angle to the
    first, at most ``u = tan θ |λ2/λ1|^T``, and at least ``|c2/c1| |λ2/λ1|^T / sqrt(1 + u²)``.

    Raises:
        ParameterError: steps below 1.
    """
    require(steps=(steps, 1, None))
    values, vectors = torch.linalg.eigh(matrix)
    order = values.abs().argsort(descending=True)
    along = (vectors[:, order].mT @ matrix.new_full((len(matrix),), len(matrix) ** -0.5)).abs()
    falls = (values[order[1]] / values[order[0]]).abs() ** torch.arange(steps + 1, device=matrix.device)
    upper = along[1:].norm() / along[0] * falls
    return along[1] / along[0] * falls / (1 + upper**2).sqrt(), upper


def inverse_root_step(x: Any, square: Any) -> Any:
    """One step of Algorithm 11, ``x (3/2 - S x² / 2)``, of tensors or of other terms."""
    return x * (1.5 - square * x * x / 2)


def inverse_root_iterates(square: Float[Tensor, "..."], steps: int) -> Float[Tensor, "{steps+1} ..."]:
    """Algorithm 11: ``x <- x (3/2 - S x² / 2)`` from 1, towards 1 / sqrt(S).

    Raises:
        ParameterError: steps below 1.
    """
    require(steps=(steps, 1, None))
    iterates = [torch.ones_like(square)]
    for _ in range(steps):
        iterates.append(inverse_root_step(iterates[-1], square))
    return torch.stack(iterates)


def root_rounds(square: Float[Tensor, ""], error: float = 1e-12) -> int:
    """Number of rounds of Algorithm 11 that bring ``sqrt(S) x`` within ``error`` of 1: log_1.5(1/√S) + 2 + log_2
    ln(1/error).

    The first term is the plateau, on which x grows by 3/2 a round; the others are the quadratic phase.

    Args:
        square: S, above 0 and at most 1; a larger one is taken for 1.
        error: above 0, at most a half.

    Raises:
        ParameterError: S or the error out of its range.
    """
    require(square=(square, 1e-300, None), error=(error, 1e-300, 0.5))
    plateau = math.log(max(1.0, float(square.rsqrt()))) / math.log(1.5)
    return math.ceil(plateau + 2 + math.log2(-math.log(error)))


def least_length(matrix: Float[Tensor, "... d d"], steps: int) -> Float[Tensor, "..."]:
    """A lower bound of the norm of ``b_T``, for A / ||A|| and the start 1 / sqrt(d): ``|w . b_0| (|λ1| / ||A||)^T``.

    w is the unit left eigenvector of the eigenvalue λ1 of largest modulus: a product with A multiplies w . b by λ1, so
    that this part of b is known at every step. The factor with T is 1 for a symmetric A.

    Raises:
        ParameterError: steps below 1.
    """
    require(steps=(steps, 1, None))
    values, vectors = torch.linalg.eig(matrix.mT)  # A^T w = λ w
    top = values.abs().argmax(-1, keepdim=True)
    left = vectors.take_along_dim(top[..., None, :], -1)[..., 0]
    share = values.abs().take_along_dim(top, -1)[..., 0] / torch.linalg.matrix_norm(matrix, 2)
    return (left.sum(-1) / matrix.shape[-1] ** 0.5).abs() * share**steps


def power_error_bound(
    matrix: Float[Tensor, "d d"], steps: int, slope: float, root_steps: int | None = None, height: float = 40.0
) -> Float[Tensor, ""]:
    """Bound on the distance of the machine's result from Algorithm 4's ``b_T / ||b_T||``, in the norm.

    The proof is on the page of Lemma 8. Each entry z of a product is off by at most c z² e^cz / 2 + rounding / c, and
    by e^(c g² - C) / c if the entries of its operands are at most g. Infinite where nothing is promised.

    Args:
        matrix: A.
        steps: of the power iteration.
        slope: c of the product block.
        root_steps: of the inverse root; :func:`root_rounds` unless given.
        height: C of the product block.

    Raises:
        ParameterError: steps below 1, or a slope that is not positive.
    """
    require(steps=(steps, 1, None), slope=(slope, 1e-30, None))
    size = len(matrix)

    def off(entry: Tensor, operand: Tensor) -> Tensor:
        """The norm of a product's error if its entries, and those of what is multiplied, are at most this large."""
        crowded = (slope * operand.clamp(min=1.0) ** 2 - height).exp()
        return size * (slope * entry**2 * (slope * entry).exp() / 2 + (ROUNDING + crowded) / slope)

    start = matrix.new_full((size,), size**-0.5)
    b = power_iterates(matrix / torch.linalg.matrix_norm(matrix, 2), start, steps)[-1]
    length, square = b.norm(), b @ b
    of_b = steps * off(start.norm(), start.norm())
    of_square = (2 * length + of_b) * of_b + off(square, length)
    of_x = matrix.new_zeros(())
    exact = inverse_root_iterates(square, root_steps or root_rounds(square))
    for before, after in pairwise(exact):
        x, s = before.abs() + of_x, square + of_square
        products = x * (s * off(x**2, x) / 2 + off(s * x**2, x**2) / 2 + off(s * x**2 / 2, s * x**2))
        slope_of_step = (1.5 - 1.5 * square * before**2).abs()
        second_order = 1.5 * s * x * of_x**2
        of_x = slope_of_step * of_x + second_order + x**3 * of_square / 2 + products + off(after.abs() + of_x, x)
    root = exact[-1].abs()
    bound = (length + of_b) * of_x + root * of_b + off((length + of_b) * (root + of_x), root + of_x)
    bound = bound + (1 - length * root).abs()
    return bound.nan_to_num(torch.inf, posinf=torch.inf)


def _listing(printed: Collection[str]) -> str:
    text = _LISTING
    if "line 3" in printed:
        text = text.replace("t1 = add(t1, one)", "t = add(t1, one)")
    if "line 13" in printed:
        text = text.replace("b = transpose(b)", "")
    return text


def listing_beside() -> list[tuple[str, str]]:
    """Algorithm 12 line by line, the paper's version and the repair."""
    return beside(_listing(_PLACES).strip().splitlines(), _LISTING.strip().splitlines())


def power_program(
    matrix: Float[Tensor, "d d"], steps: int, root_steps: int | None = None, form: Forms = "correct"
) -> FleqProgram:
    """Algorithm 12 for one matrix; Algorithm 4's vector ends in ``b``.

    Args:
        matrix: A.
        steps: of the power iteration.
        root_steps: of the inverse root; :func:`root_rounds` for the exact ``||b_T||²`` unless given.
        form: of the places in :data:`_PLACES`. Printed, ``line 3`` counts in a cell that nothing reads, ``line 13``
            multiplies the vector from the wrong side, ``norm`` takes A as it is and not A / ||A||, ``start`` begins
            with ones and not with 1 / sqrt(d), and ``rounds`` gives the inverse root as many rounds as the iteration.

    Raises:
        ParameterError: steps below 1, an unknown place, or a ``b_T`` that is 0 and no ``root_steps``.
    """
    require(steps=(steps, 1, None))
    printed = printed_places(form, _PLACES)
    size = len(matrix)
    norm = matrix.new_ones(()) if "norm" in printed else torch.linalg.matrix_norm(matrix, 2)
    start = matrix.new_ones(size) / (1.0 if "start" in printed else math.sqrt(size))
    if root_steps is None and "rounds" not in printed:
        last = power_iterates(matrix / norm, start, steps)[-1]
        root_steps = root_rounds(last @ last)
    variables: dict[str, float | Tensor] = {
        "a": matrix / norm,
        "b": start[:, None],
        "square": 0.0,
        "y": 0.0,
        "inv": 1.0,
        "half": 0.5,
        "threehalves": 1.5,
        "t": 0.0,
        "t1": 1.0 - steps,
        "t2": 1.0 - (root_steps or steps),
    }
    return assemble(_listing(printed), variables, size)

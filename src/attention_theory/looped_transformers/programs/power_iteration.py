"""Power iteration and an inverse root: plainly (Algorithms 4, 10, 11) and as a FLEQ program (Algorithm 12)."""

import math
from collections.abc import Collection
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.forms import Forms, printed_places
from attention_theory.looped_transformers.machine.listing import beside
from attention_theory.validation import require

#: Algorithm 12, repaired: line 3 counts in t1, and b is turned before the last product.
LISTING = """
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

#: The two lines of Algorithm 12 that are wrong in print, as printed.
PLACES = ("line 3", "line 13")


def power_iterates(
    matrix: Float[Tensor, "d d"], start: Float[Tensor, " d"], steps: int
) -> Float[Tensor, "{steps+1} d"]:
    """Algorithm 4: ``b <- A b``, not normalised on the way.

    Raises:
        ParameterError: steps below 1.
    """
    require(steps=(steps, 1, None))
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


def inverse_root_iterates(square: Float[Tensor, "..."], steps: int) -> Float[Tensor, "{steps+1} ..."]:
    """Algorithm 11: ``x <- x (3/2 - S x² / 2)`` from 1, towards 1 / sqrt(S).

    Raises:
        ParameterError: steps below 1.
    """
    require(steps=(steps, 1, None))
    iterates = [torch.ones_like(square)]
    for _ in range(steps):
        x = iterates[-1]
        iterates.append(x * (1.5 - square * x * x / 2))
    return torch.stack(iterates)


#: What rounding adds to an entry of a product in 53 bits, times c: about 4e-15 is seen.
ROUNDING = 1e-14


def power_error_bound(
    matrix: Float[Tensor, "d d"], steps: int, slope: float, root_steps: int | None = None
) -> Float[Tensor, ""]:
    """How far the machine's ``b / ||b||`` can be from the exact program's, in the norm, for a symmetric matrix.

    A product's entry z is off by at most c z²/2 + rounding / c. Multiplying by A / ||A|| lets no error grow. In the
    inverse root an error of x comes out of a step multiplied by |3 - 3 S x²| / 2, one of S by x³/2, and the four
    products of the step add theirs. While x grows by 3/2 a step, so do the errors. The last product multiplies the
    error of b by x and that of x by ``||b||``. Infinite where nothing is promised.

    Args:
        matrix: A, symmetric.
        steps: of the power iteration.
        slope: c of the product block.
        root_steps: of the inverse root; as many unless given.

    Raises:
        ParameterError: steps below 1, or a slope that is not positive.
    """
    require(steps=(steps, 1, None), slope=(slope, 1e-30, None))
    size = len(matrix)

    def off(entry: Tensor) -> Tensor:
        """The norm of a product's error if its entries are at most this large."""
        return size * (slope * entry**2 / 2 + ROUNDING / slope)

    start = matrix.new_full((size,), size**-0.5)
    b = power_iterates(matrix / torch.linalg.matrix_norm(matrix, 2), start, steps)[-1]
    length, square = b.norm(), b @ b
    of_b = steps * off(start.norm())
    of_square = (2 * length + of_b) * of_b + off(square)
    of_x = matrix.new_zeros(())
    count = root_steps or steps
    exact = inverse_root_iterates(square, count)
    for before, after in pairwise(exact):
        x, s = before.abs() + of_x, square + of_square
        products = x * (s * off(x**2) / 2 + off(s * x**2) / 2 + off(s * x**2 / 2))
        slope_of_step = (1.5 - 1.5 * square * before**2).abs()
        second_order = 1.5 * s * x * of_x**2
        of_x = slope_of_step * of_x + second_order + x**3 * of_square / 2 + products + off(after.abs() + of_x)
    bound = (length + of_b) * of_x + exact[-1].abs() * of_b + off((length + of_b) * (exact[-1].abs() + of_x))
    return bound.nan_to_num(torch.inf, posinf=torch.inf)


def _listing(printed: Collection[str]) -> str:
    text = LISTING
    if "line 3" in printed:
        text = text.replace("t1 = add(t1, one)", "t = add(t1, one)")
    if "line 13" in printed:
        text = text.replace("b = transpose(b)", "")
    return text


def listing_beside() -> list[tuple[str, str]]:
    """Algorithm 12 line by line, as printed and as repaired."""
    return beside(_listing(PLACES).strip().splitlines(), LISTING.strip().splitlines())


def power_program(
    matrix: Float[Tensor, "d d"],
    steps: int,
    root_steps: int | None = None,
    form: Forms = "correct",
    unit: bool = True,
) -> FleqProgram:
    """Algorithm 12 for one matrix; the eigenvector ends in ``b``.

    Args:
        matrix: A.
        steps: of the power iteration.
        root_steps: of the inverse root; as many unless given.
        form: of the places in :data:`PLACES`. Printed, ``line 3`` counts in a cell that nothing reads, and ``line 13``
            multiplies the vector from the wrong side.
        unit: A / ||A|| and 1 / sqrt(d) to begin with; otherwise A and ones, as in the paper.

    Raises:
        ParameterError: steps below 1, or an unknown fault.
    """
    require(steps=(steps, 1, None))
    text = _listing(printed_places(form, PLACES))
    size = len(matrix)
    norm = torch.linalg.matrix_norm(matrix, 2) if unit else matrix.new_ones(())
    ones = matrix.new_ones(size, 1)
    variables: dict[str, float | Tensor] = {
        "a": matrix / norm,
        "b": ones / math.sqrt(size) if unit else ones,
        "square": 0.0,
        "y": 0.0,
        "inv": 1.0,
        "half": 0.5,
        "threehalves": 1.5,
        "t": 0.0,
        "t1": 1.0 - steps,
        "t2": 1.0 - (root_steps or steps),
    }
    return assemble(text, variables, size)

"""Power iteration and an inverse root: plainly (Algorithms 4, 10, 11) and as a FLEQ program (Algorithm 12)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.forms import Forms, printed_places
from attention_theory.validation import require

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
    printed = printed_places(form, PLACES)
    counter = "t" if "line 3" in printed else "t1"
    turn = "" if "line 13" in printed else "b = transpose(b)"
    text = f"""
            a = transpose(a)
    power:  b = mul(a, b)                 # A b
            {counter} = add(t1, one)
            if t1 <= 0 goto power
            square = mul(b, b)            # ||b||²
    root:   y = mul(inv, inv)
            y = mul(square, y)
            y = mul(half, y)
            y = sub(threehalves, y)
            inv = mul(inv, y)
            t2 = add(t2, one)
            if t2 <= 0 goto root
            {turn}
            b = mul(b, inv)               # (b^T)^T / ||b||
            halt
    """
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

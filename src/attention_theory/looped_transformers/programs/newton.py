"""Newton's iteration for the inverse: plainly (Algorithms 3 and 8) and as a FLEQ program (Algorithm 9)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.machine.listing import beside
from attention_theory.validation import FORMS, Form, refuse_unless, require, require_finite, require_shape

#: ``mul(a, b)`` is A^T B, so line 1 makes X = A^T (eps I), and line 5 turns X for X (2I - A X).
CORRECT = """
        x = mul(a, x)
        a = transpose(a)
again:  y = mul(a, x)           # A X
        y = sub(p, y)           # 2I - A X
        x = transpose(x)
        x = mul(x, y)
        t = sub(t, q)           # q is -1
        if t <= 0 goto again
        halt
"""

#: Begins at eps A, and line 5 turns y: line 6 then makes the transpose of what is wanted.
_PRINTED = """
        x = mul(x, a)
        a = transpose(a)
again:  y = mul(a, x)
        y = sub(p, y)
        y = transpose(y)
        x = mul(x, y)
        t = sub(t, q)
        if t <= 0 goto again
        halt
"""


def listing_beside() -> list[tuple[str, str]]:
    """Algorithm 9 line by line, the paper's version and the repair."""
    return beside(_PRINTED.strip().splitlines(), CORRECT.strip().splitlines())


def _first_step(matrix: Float[Tensor, "... d d"]) -> Float[Tensor, "..."]:
    """eps = 1 / ||A||², with which the iteration from eps A^T converges for every invertible A.

    Raises:
        ParameterError: a matrix that is not square, 0, or not finite.
    """
    require_shape(matrix=(matrix, (..., matrix.shape[-1], matrix.shape[-1])))
    require_finite(matrix=matrix)
    norm = torch.linalg.matrix_norm(matrix, 2)
    refuse_unless(bool((norm > 0).all()), "matrix must not be 0, which has no first step")
    return norm**-2


def newton_step(matrix: Any, x: Any, identity: Any) -> Any:
    """One step of Algorithm 3, ``X (2I - A X)``, of tensors or of any other matrices that have ``@``."""
    return x @ (2 * identity - matrix @ x)


def newton_residuals(
    matrix: Float[Tensor, "... d d"], steps: int, form: Form = "correct", scale: float | None = None
) -> Float[Tensor, "{steps+1} ..."]:
    """``||A X_k - I||`` for k = 0 .. steps of X <- X (2I - A X), from eps A^T (``printed``: from eps A).

    Args:
        matrix: A.
        steps: iterations.
        form: of the start.
        scale: eps, of either sign; :func:`first_step` unless given.

    Raises:
        ParameterError: a matrix that is not square, 0, or not finite; steps below 1, or an unknown form.
    """
    require(steps=(steps, 1, None), form=(form, FORMS))
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    start = matrix.mT if form == "correct" else matrix
    x = _first_step(matrix)[..., None, None] * start if scale is None else scale * start
    residuals = []
    for _ in range(steps + 1):
        residuals.append(torch.linalg.matrix_norm(matrix @ x - identity))
        x = newton_step(matrix, x, identity)
    return torch.stack(residuals)


#: What rounding adds to an entry of a product in 53 bits, times c: about 4e-15 is seen.
ROUNDING = 1e-14


def newton_error_bound(
    matrix: Float[Tensor, "... d d"], steps: int, slope: float, height: float = 40.0
) -> Float[Tensor, "..."]:
    """Bound on the distance of the machine's X from the exact one after ``steps`` iterations, in the norm.

    The proof is on the page of Lemma 7. Each entry z of a product is off by at most c z²/2 + rounding / c, and by
    e^(c g² - C) / c if the entries of its operands are at most g. Infinite where nothing is promised.

    Args:
        matrix: A, invertible.
        steps: iterations.
        slope: c of the product block.
        height: C of the product block.

    Raises:
        ParameterError: steps below 1, or a slope that is not positive.
    """
    require(steps=(steps, 1, None), slope=(slope, 1e-30, None))
    size = matrix.shape[-1]
    values = torch.linalg.svdvals(matrix)
    norm = values[..., 0]
    x = values / norm[..., None] ** 2

    def off(entry: Tensor, operand: Tensor) -> Tensor:
        """The norm of a product's error if its entries, and those of what is multiplied, are at most this large."""
        crowded = (slope * operand.clamp(min=2.0) ** 2 - height).exp()
        return size * (slope * entry**2 / 2 + (ROUNDING + crowded) / slope)

    bound = off(x[..., 0], norm.maximum(x[..., 0]))
    for _ in range(steps):
        rest = (1 - values * x).clamp(min=0)
        before, x = x.amax(-1) + bound, x * (1 + rest)
        added = before * off(1 + norm * bound, norm.maximum(before)) + off(x.amax(-1) + bound, before)
        bound = 2 * rest.amax(-1) * bound + norm * bound**2 + added
    return bound.nan_to_num(torch.inf, posinf=torch.inf)


def newton_program(matrix: Float[Tensor, "d d"], rounds: int, form: Form = "correct") -> FleqProgram:
    """The program for one matrix, with ``rounds`` + 1 iterations as the paper counts T. The inverse ends in ``x``.

    Raises:
        ParameterError: a matrix that is 0 or not finite; rounds below 0, or an unknown form.
    """
    require(rounds=(rounds, 0, None), form=(form, FORMS))
    identity = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    variables: dict[str, float | Tensor] = {
        "a": matrix,
        "p": 2 * identity,
        "x": _first_step(matrix) * identity,
        "y": 0.0,
        "q": -1.0,
        "t": -float(rounds),
    }
    return assemble(CORRECT if form == "correct" else _PRINTED, variables, len(matrix))

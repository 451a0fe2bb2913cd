"""Step 2 of the proof of Theorem 1: value, output and decoder weights from one linear system (Section 4.1)."""

from contextlib import suppress

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.attention import Readout
from attention_theory.numerics import least_norm_solution
from attention_theory.validation import require, require_finite, require_shape


def solve_readout(
    Z: Float[Tensor, "examples heads_times_width"], labels: Float[Tensor, "examples outputs"], heads: int, values: int
) -> Readout:
    """Value weights with Z W_V = [labels, 0], cut into heads; W_O stacks identities, W_D is one.

    The smallest solution is taken: exact where the rows of Z are independent and d_out <= d, and the best in least
    squares where they are not. Where d_out > d, labels beyond the first d are dropped: their outputs are 0.

    Args:
        Z: the feature matrix.
        labels: d_out numbers an example.
        heads: H.
        values: d_v, at least d_out.

    Raises:
        ParameterError: labels of another number than the rows of Z, values that are not finite; d_v smaller than d_out.
    """
    outputs = labels.shape[1]
    require(heads=(heads, 1, None), values=(values, outputs, None))
    require_shape(labels=(labels, (len(Z), None)))
    require_finite(Z=Z, labels=labels)
    width = Z.shape[1] // heads
    wanted = torch.nn.functional.pad(labels, (0, values - outputs))
    solution = _smallest_solution(Z, wanted)
    identity = torch.eye(values, width, dtype=Z.dtype, device=Z.device)
    return Readout(
        values=solution.unflatten(0, (heads, width)),
        output=identity.repeat(heads, 1),
        decode=torch.eye(width, outputs, dtype=Z.dtype, device=Z.device),
    )


def _smallest_solution(
    Z: Float[Tensor, "examples features"], wanted: Float[Tensor, "examples values"]
) -> Float[Tensor, "features values"]:
    """By QR where the rows of Z are independent; by SVD, which takes far longer, where they turn out not to be."""
    if Z.shape[0] <= Z.shape[1]:
        with suppress(torch.linalg.LinAlgError):
            solution = torch.linalg.lstsq(Z, wanted, driver="gels").solution
            if (Z @ solution - wanted).abs().max() <= 1e-9 * wanted.abs().max().clamp(min=1.0):
                return solution
    return least_norm_solution(Z, wanted)

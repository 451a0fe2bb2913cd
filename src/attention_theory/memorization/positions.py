"""Is the matrix of sinusoidal positions of full rank? Exactly yes, in double precision no (Section 4.4)."""

import mpmath  # type: ignore[import-untyped]
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import refuse_unless, require


def smallest_singular_ratio(
    positions: int, width: int, digits: int = 240, tokens: Float[Tensor, "positions width"] | None = None
) -> float:
    """Smallest over largest singular value of the first ``positions`` sinusoidal encodings, in ``digits`` digits.

    The smallest eigenvalue of the matrix of inner products is found by inverse iteration, the largest by iteration.

    Args:
        tokens: added to the encodings, every entry taken as the exact number that it is.

    Raises:
        ParameterError: an odd width, or more positions than the width.
    """
    require(width=(width, 2, None), positions=(positions, 2, width), digits=(digits, 20, None))
    refuse_unless(width % 2 == 0, f"width must be even, got {width}")
    with mpmath.workdps(digits):
        rates = [mpmath.power(10_000, -mpmath.mpf(2 * k) / width) for k in range(width // 2)]
        rows = [[wave(p * rate) for rate in rates for wave in (mpmath.sin, mpmath.cos)] for p in range(positions)]
        added = [[0.0] * width] * positions if tokens is None else tokens.tolist()
        rows = [
            [one + mpmath.mpf(more) for one, more in zip(*pair, strict=True)] for pair in zip(rows, added, strict=True)
        ]
        gram = mpmath.matrix([[mpmath.fdot(zip(one, other, strict=True)) for other in rows] for one in rows])
        start = mpmath.matrix([mpmath.mpf(1) / (i + 1) for i in range(positions)])
        return float(mpmath.sqrt(1 / _largest_eigenvalue(gram**-1, start) / _largest_eigenvalue(gram, start)))


def _largest_eigenvalue(matrix: "mpmath.matrix", start: "mpmath.matrix", steps: int = 1000) -> "mpmath.mpf":
    vector, length, before = start, mpmath.mpf(1), mpmath.mpf(0)
    for _ in range(steps):
        vector = matrix * vector
        length = mpmath.norm(vector)
        vector = vector / length
        if abs(length - before) <= 1e-12 * length:
            break
        before = length
    return length

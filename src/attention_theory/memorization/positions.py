"""Is the matrix of sinusoidal positions of full rank? Exactly yes, in double precision no (Section 4.4)."""

import mpmath  # type: ignore[import-untyped]

from attention_theory.validation import require


def smallest_singular_ratio(positions: int, width: int, digits: int = 120) -> float:
    """Smallest over largest singular value of the first ``positions`` sinusoidal encodings, in ``digits`` digits.

    The encodings' inner products are sums of cosines of the distance alone. The smallest eigenvalue of that matrix is
    found by inverse iteration, the largest by iteration.

    Raises:
        ParameterError: an odd width, or more positions than the width.
    """
    require(
        width=(width, 2, None), odd_width=(width % 2, {0}), positions=(positions, 2, width), digits=(digits, 20, None)
    )
    with mpmath.workdps(digits):
        rates = [mpmath.power(10_000, -mpmath.mpf(2 * k) / width) for k in range(width // 2)]
        by_distance = [mpmath.fsum(mpmath.cos(rate * gap) for rate in rates) for gap in range(positions)]
        gram = mpmath.matrix(positions, positions)
        for i in range(positions):
            for j in range(positions):
                gram[i, j] = by_distance[abs(i - j)]
        inverse = gram**-1
        start = mpmath.matrix([mpmath.mpf(1) / (i + 1) for i in range(positions)])
        return float(mpmath.sqrt(1 / _largest_eigenvalue(inverse, start) / _largest_eigenvalue(gram, start)))


def _largest_eigenvalue(matrix: "mpmath.matrix", start: "mpmath.matrix", steps: int = 30) -> "mpmath.mpf":
    vector, length = start, mpmath.mpf(1)
    for _ in range(steps):
        vector = matrix * vector
        length = mpmath.norm(vector)
        vector = vector / length
    return length

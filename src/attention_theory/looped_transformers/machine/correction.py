"""Rounding to -1, 0 and 1 by ReLU units (Appendix G, Step 6)."""

from collections.abc import Sequence

from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.validation import require


def correct(layer: Layer, rows: Sequence[int], margin: float = 0.25) -> None:
    """Put the nearest of -1, 0 and 1 in place of every value within ``margin`` of it, in every column.

    Two ramps of width ``1 - 2 margin``, one about -1/2 and one about 1/2: four units a row, and two for the residual.

    Args:
        margin: the paper's ε, above 0 and below 1/2; at 1/4 the slope is 2 and every step is exact in floating point.

    Raises:
        ParameterError: a margin outside (0, 1/2).
    """
    require(margin=(margin, 1e-6, 0.499))
    slope = 1 / (1 - 2 * margin)
    for row in rows:
        for sign, bias in ((1.0, 1 - margin), (-1.0, margin), (1.0, -margin), (-1.0, margin - 1)):
            layer.unit("correct", {row: 1.0}, {row: sign * slope}, bias)
        layer.constant({row: -1.0})
    layer.clear(rows, "residual")

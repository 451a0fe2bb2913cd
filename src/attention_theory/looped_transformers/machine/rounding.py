"""Rounding by ReLU units: to -1, 0 and 1 (Appendix G, Step 6), and an integer in one real row to the nearest."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

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


def _digits_of(bits: int, stages: int) -> list[int]:
    """Number of bits of each stage, the leading ones first: as even as can be, the longer digits last.

    Raises:
        ParameterError: no stage, or more stages than bits.
    """
    require(stages=(stages, 1, bits))
    return [(bits + place) // stages for place in range(stages)]


def round_integer(layers: Sequence[Layer], value: int, rest: int, bits: int) -> None:
    """Put the nearest integer in place of every entry of row ``value`` that is within 1/4 of it, in every column.

    With one layer the staircase has a ramp at each of the ``2**bits - 1`` steps. With several the first takes off the
    leading bits and leaves what remains in the row ``rest``, the next takes off the next bits, and so on; after the
    last digit only the noise remains, and is subtracted from ``value``. All staircases together then have ramps for
    the digits in place of the integers, about ``2**(bits / layers)`` a layer, of two units each.

    Args:
        layers: in the order of application; nothing else may change the two rows between the first and the last.
        value: the row, of integers from ``-2**(bits - 1)`` to ``2**(bits - 1) - 1``, and noise.
        rest: a row that is zero before and after; not used by a single layer.
        bits: N.

    Raises:
        ParameterError: no layer, or more layers than bits.
    """
    digits = _digits_of(bits, len(layers))
    places = [bits - taken for taken in accumulate(digits)]
    for number, (layer, digit, place) in enumerate(zip(layers, digits, places, strict=True)):
        first, last = number == 0, number == len(layers) - 1
        read, into = value if first else rest, value if last else rest
        lowest = -(2 ** (digit - 1)) if first else 0
        weight = 2.0**place if last else -(2.0**place)
        if last:  # the digits come instead of what was read, or what is left of it, the noise, goes from the value
            _add(layer, read, {into: -1.0, read: -1.0})
        elif first:
            _add(layer, read, {into: 1.0})
        for inputs, bias, sign in _staircase(read, lowest, digit, place):
            layer.unit("round", inputs, {into: sign * weight}, bias)


def _add(layer: Layer, row: int, outputs: dict[int, float]) -> None:
    """Add a row into others, with weights: a unit of each sign."""
    for sign in (1.0, -1.0):
        layer.unit("round", {row: sign}, {into: sign * weight for into, weight in outputs.items()})


def _staircase(row: int, lowest: int, digit: int, place: int) -> Iterator[tuple[dict[int, float], float, float]]:
    """The units of ``floor(x / 2**place)`` from ``lowest`` on, for integers: inputs, bias and the sign of the output.

    A ramp rises from 3/4 to 1/4 before each multiple; below 0 they are counted down, so that no constant is needed.
    """
    for number in range(lowest + 1, lowest + 2**digit):
        edge = float(number * 2**place)
        side = 1.0 if number > 0 else -1.0
        near, far = (0.75, 0.25) if number > 0 else (-0.25, -0.75)
        yield {row: 2 * side}, 2 * (near - side * edge), side
        yield {row: 2 * side}, 2 * (far - side * edge), -side

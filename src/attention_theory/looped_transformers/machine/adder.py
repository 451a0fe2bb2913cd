"""Binary addition in one layer of ReLU units (Lemmas 2 and 10)."""

from collections.abc import Sequence

from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Combination
from attention_theory.validation import refuse_unless, require


def add(
    layer: Layer,
    terms: Sequence[tuple[Sequence[int], int]],
    target: Sequence[int],
    constant: int = 0,
    indicator: int | None = None,
    last_pair: bool = True,
) -> None:
    """Set ``target`` to the bits of ``constant`` plus the terms, modulo ``2**d``.

    Bit ``i`` of the sum depends on ``s``, the sum of the lowest ``i`` bits of every term, which is affine in the rows.
    It is 1 where ``s`` lies in ``[2**(i-1), 2**i - 1]`` or in ``[3 * 2**(i-1), 2**(i+1) - 1]``: six units, and two to
    cancel the residual. That covers ``s < 2**(i+1)``: two terms and a constant 0 or 1, or one term and the lowest ``i``
    bits of any constant.

    Args:
        layer: takes the units: 8 a bit, and one more where there is an indicator.
        terms: pairs (block of ±1 rows, least significant bit first; +1 to add it, or -1 to add its bits flipped). The
            flipped bits of ``a`` stand for ``2**d - 1 - a``, so with constant 1 the term is ``-a`` modulo ``2**d``.
        target: the rows of the result, as many as each term has; their former content goes.
        constant: 0 or 1, or any number of the length of ``target`` where there is one term.
        indicator: the row that is 1 in the columns meant and 0 elsewhere; there the result is 0. Without one the
            constants enter every column (``b1`` and ``b2``), as the paper writes it.
        last_pair: ``False`` leaves out the window that needs both carries (for a control).

    Raises:
        ParameterError: no term or more than two, or a constant that the terms leave no room for.
    """
    refuse_unless(len(terms) in (1, 2), f"terms must be one or two, got {len(terms)}")
    require(constant=(constant, 0, 1 if len(terms) == 2 else 2 ** len(target) - 1))
    for place, row in enumerate(target):
        half = 2**place
        total, offset = _low_bits(terms, place + 1)
        offset += constant % (2 * half)
        edges = [(1, 1 - half), (1, -half), (-1, 2 * half), (-1, 2 * half - 1)]
        if last_pair:
            edges += [(1, 1 - 3 * half), (1, -3 * half)]
        for number, (sign, edge) in enumerate(edges):
            inputs = {key: sign * weight for key, weight in total.items()}
            bias = sign * offset + edge
            if indicator is not None:
                inputs, bias = {**inputs, indicator: bias}, 0.0
            layer.unit("add", inputs, {row: 2.0 if number % 2 == 0 else -2.0}, bias)
    if indicator is None:
        layer.constant(dict.fromkeys(target, -3.0))
    else:
        layer.unit("add", {indicator: 1.0}, dict.fromkeys(target, -3.0))
    layer.clear(target, "residual")


def _low_bits(terms: Sequence[tuple[Sequence[int], int]], count: int) -> tuple[Combination, float]:
    """The sum of the lowest ``count`` bits of every term, as weights on the ±1 rows and an offset."""
    weights: Combination = {}
    for block, sign in terms:
        for place in range(count):
            weights[block[place]] = weights.get(block[place], 0.0) + sign * 0.5 * 2**place
    return weights, len(terms) * 0.5 * (2**count - 1)

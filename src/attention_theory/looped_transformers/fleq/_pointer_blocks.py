"""Instructions that change themselves: moving an address within an instruction on, and setting it back (Appendix O).

The loops of Algorithms 13, 15 and 16 walk through data by rewriting an address in one of the program's instructions. An
instruction is a column like any other and its code an address like any other. So a pointer move is an instruction whose
c points to the instruction that is changed: in the first of c's columns step 2 fetches its three addresses, step 3 adds
to those that are meant (Lemma 10), and step 6 writes them back. No layer and no head is added. What is added to the
address, or put in its place, stands where other instructions have the target of their jump; a pointer move never jumps.

All of it is in ±1 and small integers, so that at an inverse temperature of 20 or more every bit is exact.
"""

from collections.abc import Sequence

from attention_theory.looped_transformers.blocks.base import CLOSED
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Combination


def keep_signs(layer: Layer, layout: FleqLayout) -> None:
    """Step 2: round what was fetched to ±1 in c's columns, and clear it in all others.

    Where the instruction moves no pointer, the head has fetched data; rounded, they lie between -1 and 1.
    """
    (elsewhere,) = layout.rows["not out"]
    own = layout.pointer_rows
    layer.clear(own)
    for row in own:
        layer.unit("round", {row: 1.0, elsewhere: CLOSED}, {row: 2.0}, bias=0.5)
        layer.unit("round", {row: 1.0, elsewhere: CLOSED}, {row: -2.0}, bias=-0.5)
        layer.unit("lowest value", {elsewhere: CLOSED}, {row: -1.0}, bias=1.0)


def change_pointers(layer: Layer, layout: FleqLayout) -> None:
    """Step 3: keep the addresses if the instruction moves a pointer, and change those that are meant.

    The function's number tells: its last bit is on, its first says whether addresses are set back, and the three after
    it which ones are meant.
    """
    own, function = layout.pointer_rows, layout.rows["function"]
    for row in own:
        _where(layer, {row: 1.0}, {function[-1]: -2.0}, -2.0, {row: -1.0})
    for place in range(3 if own else 0):
        field = own[place * layout.bits : (place + 1) * layout.bits]
        meant = {function[-1]: 2.0, function[1 + place]: 2.0}
        for row, bit in zip(field, layout.rows["to target"], strict=False):
            _where(layer, {bit: 1.0, row: -1.0}, {**meant, function[0]: 2.0}, -6.0, {row: 1.0})
        _add(layer, layout, field, {**meant, function[0]: -2.0}, -6.0)


def _where(layer: Layer, value: Combination, gates: Combination, closed: float, outputs: Combination) -> None:
    """Add ``outputs`` times a value from -2 to 2 in c's columns, where ``gates + closed`` is 0 and not -4 or less."""
    elsewhere = dict.fromkeys(layer.rows["not out"], CLOSED)
    for sign in (1.0, -1.0):
        signed = {row: sign * weight for row, weight in value.items()}
        layer.unit("where", {**signed, **gates, **elsewhere}, {r: sign * w for r, w in outputs.items()}, bias=closed)


def _add(layer: Layer, layout: FleqLayout, field: Sequence[int], gates: Combination, closed: float) -> None:
    """Put the bits of field plus target into the field, modulo 2^L, where the gates are open (Lemma 10).

    Bit i of the sum s of two numbers is 1 where their lowest i bits add up to 2^(i-1) or more, and not to 2^i, or to
    3·2^(i-1) or more.
    """
    wide = 2.0 ** (layout.bits + 2)  # a closed gate is below every sum
    shut = {row: wide * weight for row, weight in gates.items()} | dict.fromkeys(layout.rows["not out"], CLOSED)
    for place, row in enumerate(field):
        inputs, window = dict(shut), 2**place
        for power in range(place + 1):
            for bit in (field[power], layout.rows["to target"][power]):
                inputs[bit] = inputs.get(bit, 0.0) + 0.5 * 2**power
        start = wide * closed + 2 * window - 1
        for multiple, gain in ((1, 2.0), (2, -2.0), (3, 2.0)):
            layer.unit("add", inputs, {row: gain}, bias=start - multiple * window + 1)
            layer.unit("add", inputs, {row: -gain}, bias=start - multiple * window)
        layer.unit("lowest value", {row: 1.0, **shut}, {row: -1.0}, bias=wide * closed + 1)

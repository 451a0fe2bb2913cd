"""Reading and writing by address: one layer, one head each (Lemmas 3 and 4, Appendix F.2)."""

from collections.abc import Sequence

from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import combine, moves
from attention_theory.validation import FORMS, Form, require

#: The paper's "large constant" C. It must be at least twice the largest |v_new - v_old| that a closed gate meets.
GATE = 10.0


def fetch(
    layer: Layer,
    name: str,
    pointer: Sequence[int],
    encoding: Sequence[int],
    memory: Sequence[int],
    scratch: Sequence[int],
    buffer: Sequence[int],
) -> None:
    """The head that reading and writing share: ``buffer`` becomes the mean of the two columns with the same code.

    Keys and queries are ``pointer + encoding``. The scratchpad column, whose own encoding is 0, carries the code in its
    pointer; one other column carries it in its encoding. Both see the same two, at weight 1/2 each.
    """
    code = combine(pointer, encoding)
    layer.head(name, keys=code, queries=code, values=moves(memory, buffer) + moves(scratch, buffer))


def accept_read(
    layer: Layer,
    scratch: Sequence[int],
    buffer: Sequence[int],
    indicator: int,
    gate: float = GATE,
    clear: bool = True,
    rounded: bool = False,
) -> None:
    """The units of Lemma 3: in scratchpad columns ``scratch += 2 (buffer - scratch)``; ``buffer`` is cleared.

    Args:
        gate: the constant C of ``C (b - 1)``, which closes the units outside the scratchpad.
        clear: leave ``False`` for a control.
        rounded: put the ramps of Step 6 into these units, so that -1, 0 or 1 is read, whichever is within 1/4. That is
            for bits, and for scratchpad rows that are 0 in all other columns.
    """
    if rounded:
        for row, new in zip(scratch, buffer, strict=True):
            for bias, gain in ((0.75, 2.0), (0.25, -2.0), (-0.25, 2.0), (-0.75, -2.0)):
                layer.unit("read", {indicator: gate, new: 2.0, row: -1.0}, {row: gain}, bias=bias - gate)
            layer.unit("read", {indicator: 1.0}, {row: -1.0})
        layer.clear([*scratch, *buffer])
        return
    for row, new in zip(scratch, buffer, strict=True):
        for sign in (1.0, -1.0):
            layer.unit("read", {indicator: gate, new: 2 * sign, row: -2 * sign}, {row: sign}, bias=-gate)
    if clear:
        layer.clear(buffer)


def accept_write(
    layer: Layer,
    memory: Sequence[int],
    buffer: Sequence[int],
    indicator: int,
    gate: float = GATE,
    form: Form = "correct",
) -> None:
    """The units of Lemma 4: outside the scratchpad ``memory += 2 (buffer - memory)``; ``buffer`` is cleared.

    Args:
        gate: the constant C of ``-C b``, which closes the units in the scratchpad.
        form: ``printed`` adds the second unit where it must be subtracted (Appendix F.2).

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    for row, new in zip(memory, buffer, strict=True):
        for sign in (1.0, -1.0):
            share = 1.0 if form == "printed" else sign
            layer.unit("write", {indicator: -gate, new: 2 * sign, row: -2 * sign}, {row: share})
    layer.clear(buffer)

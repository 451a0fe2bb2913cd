"""If mem[a] <= 0 goto i: the flag, and the choice of the next program counter (Appendices B.3 and F.3)."""

from collections.abc import Sequence

from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.validation import FORMS, Form, require


def flag_of_integer(layer: Layer, value: int, flag: int, indicator: int) -> None:
    """Eq. (3): add 1 into ``flag`` where the integer in row ``value`` is at most 0: ``1 - relu(x) + relu(x - 1)``.

    Three units. For ``x`` between 0 and 1 the flag is ``1 - x``: only integers are decided. Scratchpad columns only.
    """
    layer.unit("flag", {indicator: 1.0}, {flag: 1.0})
    layer.unit("flag", {value: 1.0}, {flag: -1.0})
    layer.unit("flag", {value: 1.0, indicator: -1.0}, {flag: 1.0})


def flag_of_bits(layer: Layer, bits: Sequence[int], flag: int, indicator: int, form: Form = "correct") -> None:
    """Eq. (4): add 1 into ``flag`` where the number in two's complement is at most 0.

    ``relu(b_N)`` is 1 where it is negative; ``relu(1 - N - Σ b)`` is 1 where all bits are -1, which is zero.

    Args:
        form: ``printed`` has ``1 + N`` in place of ``1 - N``.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    length = len(bits)
    constant = 1 - length if form == "correct" else 1 + length
    layer.unit("flag", {bits[-1]: 1.0}, {flag: 1.0})
    layer.unit("flag", {**dict.fromkeys(bits, -1.0), indicator: float(constant)}, {flag: 1.0})


def select_counter(
    layer: Layer,
    following: Sequence[int],
    jump: Sequence[int],
    counter: Sequence[int],
    flag: int,
    indicator: int,
    ramps: bool = False,
) -> None:
    """Set ``counter`` to ``jump`` where the flag is 1 and to ``following`` where it is 0 (Appendix F.3).

    ``2 relu(following - flag) + 2 relu(jump - (1 - flag)) - 1``, and the residual of ``counter`` is cancelled.

    Args:
        ramps: from 1/4 to 3/4, in place of the two ReLUs: noise below 1/4 is removed on the way.
    """
    for after, to, row in zip(following, jump, counter, strict=True):
        for inputs in ({after: 1.0, flag: -1.0}, {to: 1.0, indicator: -1.0, flag: 1.0}):
            if ramps:
                steep = {key: 2 * weight for key, weight in inputs.items()}
                layer.unit("select", steep, {row: 2.0}, bias=-0.5)
                layer.unit("select", steep, {row: -2.0}, bias=-1.5)
            else:
                layer.unit("select", inputs, {row: 2.0})
    layer.unit("select", {indicator: 1.0}, dict.fromkeys(counter, -1.0))
    layer.clear(counter, "residual")

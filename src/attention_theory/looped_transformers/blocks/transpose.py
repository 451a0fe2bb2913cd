"""Transposing a matrix in three layers of one head (Lemma 13), and a vectorised one in a single layer (Table 1)."""

import math

from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.blocks.base import FunctionBlock, Setting, gated_move
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import FORMS, Form, require

#: Closes a unit by a code that does not match; it has to exceed the data.
GATE = 1e3


class TransposeBlock(FunctionBlock):
    """A^T (Lemma 13): copy A into d groups, keep row i of group i, permute, spread again, sum over the groups.

    Args:
        form: ``printed`` lets the permuted vector be added to the row that it came from, which leaves A + A^T.

    Raises:
        ParameterError: an unknown form.
    """

    name = "transpose"
    depth = 3
    reads_second = False

    def __init__(self, form: Form = "correct") -> None:
        require(form=(form, FORMS))
        self.form = form

    def sizes(self, setting: Setting) -> dict[str, int]:
        """One block of d rows and two single rows.

        Raises:
            ParameterError: d below 3: the result's columns must lie within d².
        """
        require(size=(setting.size, 3, None))
        return {"transpose copy": setting.size, "transpose vector": 1, "transpose permuted": 1}

    def declare(self, layer: Layer, stage: int, setting: Setting) -> None:
        (self._vectorise, self._permute, self._gather)[stage](layer, setting)

    def _vectorise(self, layer: Layer, setting: Setting) -> None:
        rows = layer.rows
        data, copy = rows["transpose"], rows["transpose copy"]
        _sum_over_groups(layer, data, copy, setting)
        _row_of_group(layer, copy, rows["transpose vector"], setting)
        layer.clear([*copy, *data])

    def _permute(self, layer: Layer, setting: Setting) -> None:
        rows = layer.rows
        vector, permuted = rows["transpose vector"], rows["transpose permuted"]
        target = permuted if self.form == "correct" else vector
        here, there = [*rows["index"], *rows["group"]], [*rows["group"], *rows["index"]]
        layer.head("swap index and group", combine(here), combine(there), moves(vector, target))
        _row_of_group(layer, target, rows["transpose copy"], setting)
        layer.clear([*vector, *permuted])

    def _gather(self, layer: Layer, setting: Setting) -> None:
        copy = layer.rows["transpose copy"]
        _sum_over_groups(layer, copy, layer.rows["transpose"], setting)
        layer.clear(copy)

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return a.mT


def _sum_over_groups(layer: Layer, source: range, target: range, setting: Setting) -> None:
    """Every column gets the sum over the d columns of equal index."""
    index = combine(layer.rows["index"])
    layer.head("sum over groups", index, index, moves(source, target, setting.size))


def _row_of_group(layer: Layer, source: range, target: range, setting: Setting) -> None:
    """In group i, row i of ``source`` into ``target``; of the two the one of a single row stands for all d."""
    codes, group = sign_code(setting.size, setting.bits, device="cpu"), layer.rows["group"]
    for place, code in enumerate(codes.tolist()):
        gates = {row: GATE * bit for row, bit in zip(group, code, strict=True)}
        from_row, to_row = source[place % len(source)], target[place % len(target)]
        gated_move(layer, from_row, to_row, gates, closed=-GATE * setting.bits)


def transpose_vectorised(
    matrix: Float[Tensor, "... side side"], temperature: float = 20.0, spare_row: bool = True
) -> tuple[Float[Tensor, "... side side"], LoopedTransformer]:
    """Table 1: one layer, one head, the side² entries as columns with the codes of their two indices.

    Args:
        matrix: square, of any side.
        temperature: factor on the scores.
        spare_row: without it the result is added to the entries that it replaces, as the printed width of 21 has it.

    Returns:
        The transpose as the layer leaves it, and the machine.
    """
    side = matrix.shape[-1]
    bits = max(1, math.ceil(math.log2(side**2)))
    rows = Rows(value=1, **({"moved": 1} if spare_row else {}), own=bits, other=bits)
    target = rows["moved"] if spare_row else rows["value"]
    layer = Layer(rows, "permute")
    layer.head("permute", combine(rows["own"]), combine(rows["other"]), moves(rows["value"], target))
    if spare_row:
        layer.clear(rows["value"])
        gated_move(layer, target[0], rows["value"][0], {})
        layer.clear(target)
    machine = LoopedTransformer(rows, [layer], matrix.dtype, matrix.device)
    codes = sign_code(side**2, bits, matrix.dtype, matrix.device)
    state = matrix.new_zeros(*matrix.shape[:-2], side**2, rows.size)
    rows.of(state, "value")[..., 0] = matrix.flatten(-2)
    rows.of(state, "own")[...] = codes
    rows.of(state, "other")[...] = codes.reshape(side, side, bits).transpose(0, 1).flatten(0, 1)
    state = machine.cycle(state, temperature)
    return rows.of(state, "value")[..., 0].reshape(matrix.shape), machine

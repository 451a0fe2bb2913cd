"""Transposing a matrix in three layers of one head (Lemma 13), and a vectorised one in a single layer (Table 1)."""

import math

from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.blocks.base import BlockSetting, FunctionBlock
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import FORMS, Form, refuse_unless, require

#: Closes a unit by a code that does not match; it has to exceed the data.
_GATE = 1e3


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

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        """One block of d rows and two single rows.

        Raises:
            ParameterError: d below 3: the result's columns must lie within d².
        """
        refuse_unless(setting.size >= 3, f"setting must have a size of at least 3, got {setting.size}")
        return {"transpose copy": setting.size, "transpose vector": 1, "transpose permuted": 1}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        (self._vectorise, self._permute, self._gather)[stage](layer, setting)

    def _vectorise(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        data, copy = rows["transpose"], rows["transpose copy"]
        _sum_over_groups(layer, data, copy, setting)
        _row_of_group(layer, copy, rows["transpose vector"], setting)
        layer.clear([*copy, *data])

    def _permute(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        vector, permuted = rows["transpose vector"], rows["transpose permuted"]
        target = permuted if self.form == "correct" else vector
        here, there = [*rows["index"], *rows["group"]], [*rows["group"], *rows["index"]]
        layer.head("swap index and group", combine(here), combine(there), moves(vector, target))
        _row_of_group(layer, target, rows["transpose copy"], setting)
        layer.clear([*vector, *permuted])

    def _gather(self, layer: Layer, setting: BlockSetting) -> None:
        copy = layer.rows["transpose copy"]
        _sum_over_groups(layer, copy, layer.rows["transpose"], setting)
        layer.clear(copy)

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return a.mT


def _sum_over_groups(layer: Layer, source: range, target: range, setting: BlockSetting) -> None:
    """Every column gets the sum over the d columns of equal index."""
    index = combine(layer.rows["index"])
    layer.head("sum over groups", index, index, moves(source, target, setting.size))


def _row_of_group(layer: Layer, source: range, target: range, setting: BlockSetting) -> None:
    """In group i, row i of ``source`` into ``target``; of the two the one of a single row stands for all d."""
    codes, group = sign_code(setting.size, setting.bits, device="cpu"), layer.rows["group"]
    for place, code in enumerate(codes.tolist()):
        gates = {row: _GATE * bit for row, bit in zip(group, code, strict=True)}
        from_row, to_row = source[place % len(source)], target[place % len(target)]
        layer.gated_move(from_row, to_row, gates, closed=-_GATE * setting.bits)


def transpose_in_groups(
    matrix: Float[Tensor, "d d"], inverse_temperature: float = 20.0, form: Form = "correct"
) -> tuple[Float[Tensor, "d groups d"], LoopedTransformer]:
    """Lemma 13 on its own input: A in the first of d groups of d columns, its transpose in every group at the end.

    Three layers of one head on 2d + 2 log d rows: d for the matrix, d to work in, the code of a column's index within
    its group and that of the group. The first work row takes the vector, the second the permuted vector.

    Args:
        matrix: A, at least 2 by 2.
        inverse_temperature: factor on the scores.
        form: ``printed`` lets the permuted vector be added to the row that it came from, which leaves A + A^T.

    Returns:
        The groups, each a d by d matrix (the middle axis counts them), and the machine.

    Raises:
        ParameterError: an unknown form, a matrix of side 1, an inverse temperature that is not positive.
    """
    size = len(matrix)
    require(inverse_temperature=(inverse_temperature, 1e-6, None), form=(form, FORMS))
    refuse_unless(size >= 2, f"matrix must have a side of at least 2, got shape {list(matrix.shape)}")
    setting = BlockSetting(size, size**2, inverse_temperature)
    rows = Rows(matrix=size, work=size, index=setting.bits, group=setting.bits)
    data, work = rows["matrix"], rows["work"]
    vectorise, permute, gather = (Layer(rows, name) for name in ("vectorise", "permute", "gather"))
    _sum_over_groups(vectorise, data, work, setting)
    _row_of_group(vectorise, work, work[:1], setting)
    vectorise.clear([*work, *data])
    here, there = [*rows["index"], *rows["group"]], [*rows["group"], *rows["index"]]
    permuted = work[1:2] if form == "correct" else work[:1]
    permute.head("swap index and group", combine(here), combine(there), moves(work[:1], permuted))
    _row_of_group(permute, permuted, data, setting)
    permute.clear(work)
    _sum_over_groups(gather, data, work, setting)
    for source, target in zip(work, data, strict=True):
        gather.gated_move(source, target, {})
    gather.clear([*work, *data])
    machine = LoopedTransformer(rows, [vectorise, permute, gather], matrix.dtype, matrix.device)
    codes = sign_code(size, setting.bits, matrix.dtype, matrix.device)
    state = matrix.new_zeros(size, size, rows.size)  # group, index within it, rows
    rows.view(state, "matrix")[0] = matrix.mT
    rows.view(state, "index")[...] = codes
    rows.view(state, "group")[...] = codes[:, None]
    state = machine.cycle(state.flatten(0, 1), inverse_temperature)
    return rows.view(state, "matrix").unflatten(0, (size, size)).permute(2, 0, 1), machine


#: The value weight of Table 1's layer in 21 rows. The old entry stays in with the weight 1/M, rounding errors with M.
_LARGE = 2.0**26


def transpose_vectorised(
    matrix: Float[Tensor, "... side side"],
    inverse_temperature: float = 20.0,
    spare_row: bool = True,
    form: Form = "correct",
) -> tuple[Float[Tensor, "... side side"], LoopedTransformer]:
    """Table 1: one layer, one head, the side² entries as columns with the codes of their two indices.

    Args:
        matrix: square, of any side.
        inverse_temperature: factor on the scores.
        spare_row: move the entries by a separate row. Without it, on the printed number of rows, they are fetched
            with the large weight M, and the sum with the entry that is there is divided by M.
        form: ``printed`` fetches them with weight 1 and without a spare row, which leaves A + A^T.

    Returns:
        The transpose as the layer leaves it, and the machine.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    side = matrix.shape[-1]
    bits = max(1, math.ceil(math.log2(side**2)))
    exact = spare_row and form == "correct"
    rows = Rows(value=1, **({"moved": 1} if exact else {}), own=bits, other=bits)
    target = rows["moved"] if exact else rows["value"]
    weight = 1.0 if exact or form == "printed" else _LARGE
    layer = Layer(rows, "permute")
    layer.head("permute", combine(rows["own"]), combine(rows["other"]), moves(rows["value"], target, weight))
    if exact:
        layer.clear(rows["value"])
        layer.gated_move(target[0], rows["value"][0], {})
        layer.clear(target)
    elif form == "correct":
        layer.gated_move(target[0], target[0], {}, gain=1 / _LARGE - 1)
    machine = LoopedTransformer(rows, [layer], matrix.dtype, matrix.device)
    codes = sign_code(side**2, bits, matrix.dtype, matrix.device)
    state = matrix.new_zeros(*matrix.shape[:-2], side**2, rows.size)
    rows.view(state, "value")[..., 0] = matrix.flatten(-2)
    rows.view(state, "own")[...] = codes
    rows.view(state, "other")[...] = codes.reshape(side, side, bits).transpose(0, 1).flatten(0, 1)
    state = machine.cycle(state, inverse_temperature)
    return rows.view(state, "value")[..., 0].reshape(matrix.shape), machine

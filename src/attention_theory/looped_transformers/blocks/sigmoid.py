"""Function blocks made of sigmoids: sums of them (Lemma 11) and one for each entry of a row or a column."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.blocks.base import (
    CLOSED,
    BlockSetting,
    FunctionBlock,
    copy_to_result,
)
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, on_first_entry
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Combination, moves

#: Closes a unit by a code that does not match; it has to exceed the data.
_GATE = 1e3


@dataclass(frozen=True)
class SigmoidSum:
    """``f(x) = sum_i heights_i sigmoid(slopes_i x + shifts_i)``, a function of one number."""

    slopes: Float[Tensor, " m"]
    shifts: Float[Tensor, " m"]
    heights: Float[Tensor, " m"]

    def __call__(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return (x[..., None] * self.slopes + self.shifts).sigmoid() @ self.heights

    @property
    def terms(self) -> int:
        return len(self.slopes)

    def mirrored(self) -> "SigmoidSum":
        """``f(x) - f(-x)``: carries an approximation of 1/x to the negative side with twice the terms (Theorem 4)."""
        return SigmoidSum(
            torch.cat([self.slopes, -self.slopes]),
            torch.cat([self.shifts, self.shifts]),
            torch.cat([self.heights, -self.heights]),
        )


class SigmoidSumBlock(FunctionBlock):
    """A sum of sigmoids of the first entry of A, one head a term, two layers (Lemma 11).

    The first column alone has a key, so that a column whose query scores u puts the weight e^u / (e^u + n - 1) on it;
    with the bias ``log(n - 1)`` that is sigmoid(u). All n columns of the state count.

    Args:
        name: of the block.
        function: the sum.
    """

    depth = 2
    reads_second = False

    def __init__(self, name: str, function: SigmoidSum) -> None:
        self.name, self.function = name, function

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {f"{self.name} sum": 1, f"{self.name} kept": 1}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows = layer.rows
        (first,), (not_first,), (scratch,) = rows["first"], rows["not first"], rows["scratch"]
        (total,), (kept,), entry = rows[f"{self.name} sum"], rows[f"{self.name} kept"], rows[self.name][0]
        if stage == 0:
            keys = [{first: 1 / setting.inverse_temperature}] * 2
            terms = (self.function.slopes, self.function.shifts, self.function.heights)
            for slope, shift, height in zip(*(term.tolist() for term in terms), strict=True):
                queries = [{entry: slope}, {scratch: shift + math.log(setting.columns - 1)}]
                layer.head("sigmoid", keys, queries, [({first: height}, total)])
            layer.gated_move(total, kept, {not_first: CLOSED})
            layer.clear([total])
        else:
            copy_to_result(layer, [kept], [total], "a", rows)
            layer.gated_move(total, entry, {rows["not out"][0]: CLOSED})
            layer.clear([total, kept])

    def reference(self, a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        return on_first_entry(self.function)(a, b)


class RowSigmoidBlock(FunctionBlock):
    """The sigmoid of every entry of a row by a single head, two layers.

    Not in the paper, which loops over the entries: with the d numbers in d columns each column queries with its number.
    """

    name = "rowsigmoid"
    depth = 2
    reads_second = False

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {"rowsigmoid weight": 1, "rowsigmoid moved": 1}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows = layer.rows
        (first,), (scratch,), entry = rows["first"], rows["scratch"], rows[self.name][0]
        (weight,), (moved,) = rows["rowsigmoid weight"], rows["rowsigmoid moved"]
        if stage == 0:
            queries = [{entry: 1.0}, {scratch: math.log(setting.columns - 1)}]
            layer.head("sigmoid", [{first: 1 / setting.inverse_temperature}] * 2, queries, moves([first], [weight]))
        else:
            copy_to_result(layer, [weight], [moved], "a", rows)
            layer.gated_move(moved, entry, {rows["not out"][0]: CLOSED})
            layer.clear([weight, moved])

    def reference(self, a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        return FUNCTIONS["rowsigmoid"](a, b)


class ColumnSigmoidBlock(FunctionBlock):
    """The sigmoid of every entry of a column by a single head, three layers: line 4 of Algorithm 15.

    The entries lie in one column, which can query with one number only. So every column of A gets one of them, queries
    with it (Lemma 11), and the result's first column takes the sum.
    """

    name = "sigmoid"
    depth = 3
    reads_second = False

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {"sigmoid copy": setting.size, "sigmoid entry": 1}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        (self._spread, self._ask, self._gather)[stage](layer, setting)

    def _spread(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        data, copy, (entry,) = rows[self.name], rows["sigmoid copy"], rows["sigmoid entry"]
        layer.head("first column", [{rows["first"][0]: 1.0}], [{rows["scratch"][0]: 2.0}], moves(data, copy))
        for place, row in enumerate(copy):
            layer.gated_move(row, entry, self._in_column(layer, place, "a", setting), -_GATE * setting.bits)
        layer.clear([*copy, *data])

    def _ask(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        (first,), (scratch,), (entry,) = rows["first"], rows["scratch"], rows["sigmoid entry"]
        (weight,) = rows["sigmoid copy"][:1]
        queries = [{entry: 1.0}, {scratch: math.log(setting.columns - 1)}]
        layer.head("sigmoid", [{first: 1 / setting.inverse_temperature}] * 2, queries, moves([first], [weight]))
        for place, row in enumerate(rows[self.name]):
            layer.gated_move(weight, row, self._in_column(layer, place, "a", setting), -_GATE * setting.bits)
        layer.clear([weight, entry])

    def _gather(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        data, copy = rows[self.name], rows["sigmoid copy"]
        keys, queries = [{rows["not a"][0]: -1.0}], [{rows["scratch"][0]: 2.0}]
        layer.head("sum over a", keys, queries, moves(data, copy, setting.size))
        for source, target in zip(copy, data, strict=True):
            layer.gated_move(source, target, self._in_column(layer, 0, "out", setting), -_GATE * setting.bits)
        layer.clear(copy)

    def _in_column(self, layer: Layer, place: int, where: str, setting: BlockSetting) -> Combination:
        """Gates that are open in column number ``place`` of A or of the result."""
        code = sign_code(setting.size, setting.bits, device="cpu")[place].tolist()
        gates: Combination = {row: _GATE * bit for row, bit in zip(layer.rows["index"], code, strict=True)}
        return gates | {layer.rows[f"not {where}"][0]: CLOSED}

    def reference(self, a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        return FUNCTIONS["sigmoid"](a, b)


def sharp_steps(knots: Float[Tensor, " m"], heights: Float[Tensor, " m"], sharpness: float) -> SigmoidSum:
    """Steps of given heights at given knots, smoothed: slope ``sharpness`` over the gap to the nearer knot or 0."""
    gaps = torch.diff(knots, prepend=knots.new_zeros(1))
    slopes = sharpness / torch.minimum(gaps, torch.cat([gaps[1:], gaps.new_full((1,), math.inf)]))
    return SigmoidSum(slopes, -slopes * knots, heights)

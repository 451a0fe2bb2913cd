"""Sums of sigmoids by a single head, with a column for each term (Corollary 2 within the FLEQ machine, Remark 2)."""

import math

from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.blocks.base import BlockSetting, FunctionBlock
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
from attention_theory.looped_transformers.fleq.language import on_first_entry
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Combination, Rows, moves
from attention_theory.validation import refuse_unless

#: Closes the columns beside the one of the result; it has to exceed the sum, and costs its own rounding error.
_GATE = 1e3


class ColumnSumBlock(FunctionBlock):
    """A sum of sigmoids of a number by one head in two layers: column i makes term i, and m columns make m terms.

    Only the first column has a key: x, and 1 for the shift. Column i asks with the slope and the shift of term i, which
    are fixed entries of the column, and so puts the weight sigmoid(slope_i x + shift_i) on the first; with n columns
    the shift carries ``log(n - 1)``. Its ReLU layer multiplies by height_i, which it knows from the column's code. In
    the second layer all columns are attended to alike, and n times their mean is the sum. In Corollary 2 the columns
    hold copies of x; here the keys do not need them.

    Args:
        name: of the block, and of its function in programs. Its operand is a number: zeros beside the first entry.
        function: the sum.
    """

    depth = 2
    reads_second = False

    def __init__(self, name: str, function: SigmoidSum) -> None:
        self.name, self.function = name, function

    def _bits(self) -> int:
        return max(1, math.ceil(math.log2(self.function.terms)))

    def _scales(self, setting: BlockSetting) -> tuple[Tensor, Tensor, float, float]:
        """Slopes and shifts of size at most 1, as they stand in the state, and what the keys multiply them by."""
        slopes, shifts = self.function.slopes, self.function.shifts + math.log(setting.columns - 1)
        of_slopes, of_shifts = (float(one.abs().max().clamp(min=1e-300)) for one in (slopes, shifts))
        return slopes / of_slopes, shifts / of_shifts, of_slopes, of_shifts

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        """Slope, shift, weight, sum, and the code of the term: about log m rows.

        Raises:
            ParameterError: more terms than columns.
        """
        terms = self.function.terms
        refuse_unless(
            terms <= setting.columns, f"setting must have a column for each of the {terms} terms, got {setting.columns}"
        )
        one = dict.fromkeys((f"{self.name} {part}" for part in ("slope", "shift", "weight", "sum")), 1)
        return {**one, f"{self.name} term": self._bits()}

    def fill(self, state: Float[Tensor, "... columns rows"], rows: Rows, setting: BlockSetting) -> None:
        slopes, shifts, _, _ = self._scales(setting)
        terms = self.function.terms
        rows.view(state, f"{self.name} slope")[..., :terms, 0] = slopes.to(state.device)
        rows.view(state, f"{self.name} shift")[..., :terms, 0] = shifts.to(state.device)
        rows.view(state, f"{self.name} term")[..., :terms, :] = sign_code(terms, self._bits(), device=state.device)

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows = layer.rows
        entry, (first,) = rows[self.name][0], rows["first"]
        slope, shift, weight, total = (rows[f"{self.name} {part}"][0] for part in ("slope", "shift", "weight", "sum"))
        if stage == 0:
            _, _, of_slopes, of_shifts = self._scales(setting)
            keys = [{entry: of_slopes / setting.inverse_temperature}, {first: of_shifts / setting.inverse_temperature}]
            layer.head("sigmoids", keys, [{slope: 1.0}, {shift: 1.0}], moves([first], [weight]))
            self._heights(layer)
            layer.clear([weight])
        else:
            layer.head("sum", [{}], [{}], moves([total], [weight], setting.columns))
            first_code = sign_code(setting.size, setting.bits, device="cpu")[0].tolist()
            gates = {row: _GATE * bit for row, bit in zip(rows["in out"], first_code, strict=True)}
            layer.gated_move(weight, entry, gates, closed=-_GATE * setting.bits)
            layer.clear([weight, total])

    def _heights(self, layer: Layer) -> None:
        """height_i times the weight in column i: a weight is at most 1, and another code takes 2 off at least."""
        rows = layer.rows
        (weight,), (total,), code = rows[f"{self.name} weight"], rows[f"{self.name} sum"], rows[f"{self.name} term"]
        codes = sign_code(self.function.terms, self._bits(), device="cpu").tolist()
        for bits, height in zip(codes, self.function.heights.tolist(), strict=True):
            inputs: Combination = {weight: 1.0, **dict(zip(code, bits, strict=True))}
            layer.unit("term", inputs, {total: height}, bias=-float(len(code)))

    def reference(self, a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        return on_first_entry(self.function)(a, b)

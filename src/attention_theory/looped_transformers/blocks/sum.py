"""Addition and subtraction of matrices, in one layer with two heads or with a single head (Lemmas 15 and 16)."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import CLOSED, BlockSetting, FunctionBlock, gated_move
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import combine, moves
from attention_theory.validation import require


class SumBlock(FunctionBlock):
    """A + B or A - B: one head fetches A into the columns of the result, the other ±B.

    A single head does too: a column of the result that asks for both its columns gets their mean, and twice that is the
    sum. For a difference a layer before it turns the sign of B.

    Args:
        name: ``add`` or ``sub``.
        heads: 1 or 2.

    Raises:
        ParameterError: another name, or heads other than 1 and 2.
    """

    def __init__(self, name: Literal["add", "sub"], heads: int = 2) -> None:
        require(name=(name, {"add", "sub"}), heads=(heads, 1, 2))
        self.name, self.heads = name, heads
        self.sign = 1.0 if name == "add" else -1.0
        self.depth = 2 if name == "sub" and heads == 1 else 1

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {f"{self.name} result": setting.size}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows = layer.rows
        data, result = rows[self.name], rows[f"{self.name} result"]
        if stage < self.depth - 1:
            for row in data:
                gated_move(layer, row, row, {rows["not b"][0]: CLOSED}, gain=-2.0)
            return
        if self.heads == 1:
            keys = combine(rows["in a"], rows["in b"])
            layer.head(f"{self.name} both", keys, combine(rows["in out"]), moves(data, result, 2.0))
        for place, sign in (("a", 1.0), ("b", self.sign)) if self.heads == 2 else ():
            layer.head(
                f"{self.name} {place}", combine(rows[f"in {place}"]), combine(rows["in out"]), moves(data, result, sign)
            )
        for source, target in zip(result, data, strict=True):
            gated_move(layer, source, target, {rows["not out"][0]: CLOSED})
        layer.clear(result)

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return a + self.sign * b

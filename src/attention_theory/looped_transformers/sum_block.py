"""Addition and subtraction of matrices in one layer with two heads (Lemmas 15 and 16)."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks import CLOSED, FunctionBlock, Setting, gated_move
from attention_theory.looped_transformers.layers import Layer
from attention_theory.looped_transformers.rows import combine, moves
from attention_theory.validation import require


class SumBlock(FunctionBlock):
    """A + B or A - B: one head fetches A into the columns of the result, the other ±B.

    Args:
        name: ``add`` or ``sub``.
    """

    depth = 1

    def __init__(self, name: Literal["add", "sub"]) -> None:
        require(name=(name, {"add", "sub"}))
        self.name = name
        self.sign = 1.0 if name == "add" else -1.0

    def sizes(self, setting: Setting) -> dict[str, int]:
        return {f"{self.name} result": setting.size}

    def declare(self, layer: Layer, stage: int, setting: Setting) -> None:
        rows = layer.rows
        data, result = rows[self.name], rows[f"{self.name} result"]
        for place, sign in (("a", 1.0), ("b", self.sign)):
            layer.head(
                f"{self.name} {place}", combine(rows[f"in {place}"]), combine(rows["in out"]), moves(data, result, sign)
            )
        for source, target in zip(result, data, strict=True):
            gated_move(layer, source, target, {rows["not out"][0]: CLOSED})
        layer.clear(result)

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return a + self.sign * b

"""Matrix products by a softmax so soft that it is linear (Lemma 14, Corollaries 3 to 7, Eq. 11)."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import (
    CLOSED,
    BlockSetting,
    FunctionBlock,
    copy_to_result,
)
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows, moves
from attention_theory.validation import FORMS, Form, require

#: Silences the columns whose values are of the order exp(C).
_FAR_CLOSED = -1e25

_Product = Literal["ab", "ba", "bb", "aa"]


class ProductBlock(FunctionBlock):
    """A^T B and its three relatives in two layers (Lemma 14).

    The scores are c times the Gram matrix of the columns of [A B] and C towards 2d columns of ones, so that the weights
    are (1 + c z) e^-C / 2d to first order; a value matrix 2d e^C and the feed-forward layer take z out of them.

    Args:
        name: of the block.
        product: which product: ``ab`` is A^T B (Lemma 14), ``ba`` B^T A, ``bb`` B^T B, ``aa`` A^T A (Corollaries 3-5).
        slope: c, above 0.
        height: C, from 0 on.
        two_sided: a second head at -c takes the square of c z away: error c² z³/6 rather than c z²/2.
        kept: the operand whose rows of the Gram matrix are kept (``D_d``, always A in the paper).
        form: ``printed`` puts the Gram matrix into the rows of ones. One product is right then, the next is not.

    Raises:
        ParameterError: an unknown product or form, a slope that is not positive, or a height outside [0, 300].
    """

    depth = 2

    def __init__(
        self,
        name: str = "mul",
        product: _Product = "ab",
        slope: float = 1e-7,
        height: float = 40.0,
        two_sided: bool = False,
        kept: Literal["a", "b"] | None = None,
        form: Form = "correct",
    ) -> None:
        require(product=(product, {"ab", "ba", "bb", "aa"}), slope=(slope, 1e-30, None), height=(height, 0.0, 300.0))
        require(form=(form, FORMS))
        self.name, self.slope, self.height, self.two_sided = name, slope, height, two_sided
        left, self.right = product
        self.left = left if kept is None else kept
        self.form = form

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {
            f"{self.name} ones": 2 * setting.size,
            f"{self.name} identity": 2 * setting.size,
            f"{self.name} gram": setting.size,
            f"{self.name} moved": setting.size,
        }

    def fill(self, state: Float[Tensor, "... columns rows"], rows: Rows, setting: BlockSetting) -> None:
        both = 2 * setting.size
        rows.view(state, f"{self.name} identity")[..., :both, :] = torch.eye(
            both, dtype=torch.float64, device=state.device
        )
        rows.view(state, f"{self.name} ones")[..., both : 2 * both, :] = 1

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        if stage == 0:
            self._linearise(layer, setting)
        else:
            self._place(layer)

    def _linearise(self, layer: Layer, setting: BlockSetting) -> None:
        rows, size = layer.rows, setting.size
        data, gram = rows[self.name], rows[f"{self.name} gram"]
        ones, identity = rows[f"{self.name} ones"], rows[f"{self.name} identity"]
        kept = identity[:size] if self.left == "a" else identity[size:]
        landing = ones[:size] if self.form == "printed" else gram
        keys = [{row: 1 / setting.inverse_temperature} for row in [*data, *ones, *identity]]
        scale = 2 * size * math.exp(self.height)
        for sign in (1.0, -1.0) if self.two_sided else (1.0,):
            queries = [{row: sign * self.slope} for row in data]
            queries += [{row: self.height} for row in identity] + [{row: 1.0} for row in ones]
            layer.head(f"gram {sign:+.0f}", keys, queries, moves(kept, landing, sign * scale))
        gain, shift = (0.5, 0.0) if self.two_sided else (1.0, -1.0)
        closed = {rows[f"not {self.right}"][0]: _FAR_CLOSED}
        for source, row in zip(landing, gram, strict=True):
            for sign in (1.0, -1.0):
                less_one = dict.fromkeys(identity, sign * shift)  # in the columns of A and B one of these rows is 1
                inputs = {source: sign, **closed} | (less_one if shift else {})
                layer.unit("z", inputs, {row: sign * gain / self.slope})
        layer.clear([] if self.form == "printed" else gram)

    def _place(self, layer: Layer) -> None:
        rows = layer.rows
        data, gram, moved = rows[self.name], rows[f"{self.name} gram"], rows[f"{self.name} moved"]
        copy_to_result(layer, list(gram), list(moved), self.right, rows)
        for source, target in zip(moved, data, strict=True):
            layer.gated_move(source, target, {rows["not out"][0]: CLOSED})
        layer.clear([*gram, *moved])

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return (a if self.left == "a" else b).mT @ (a if self.right == "a" else b)


def product_error(
    z: Float[Tensor, "..."], slope: float, height: float, rest: float = 0.0, two_sided: bool = False
) -> Float[Tensor, "..."]:
    """The block's error on an entry z: ``c z²/2 + c² z³/6 - e^-C (1 + rest) / c`` to order c², two-sided ``c² z³/6``.

    ``rest`` is the number of columns that score nothing over 2d. To it comes the rounding error, about 4e-15 / c.
    """
    if two_sided:
        return slope**2 * z**3 / 6 - z * math.exp(-height) * (1 + rest)
    return slope * z**2 / 2 + slope**2 * z**3 / 6 - math.exp(-height) * (1 + rest) / slope


def softmax_entry(scores: Float[Tensor, "... n"], height: float) -> Float[Tensor, "... n"]:
    """Left side of Eq. (11): n e^C times the softmax weight of each of n scores beside n scores C and n scores 0."""
    count = scores.shape[-1]
    total = scores.exp().sum(-1, keepdim=True) + count * (math.exp(height) + 1)
    return count * math.exp(height) * scores.exp() / total


def divided_entry(scores: Float[Tensor, "... n"], height: float, form: Form = "correct") -> Float[Tensor, "... n"]:
    """Right side of Eq. (11), divided through by n e^C; ``printed`` has n where e^-C should be.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    count = scores.shape[-1]
    small = (scores - height - math.log(count)).exp().sum(-1, keepdim=True)
    return scores.exp() / (1 + small + (math.exp(-height) if form == "correct" else count))

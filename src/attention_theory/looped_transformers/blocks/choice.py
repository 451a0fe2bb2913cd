"""Several functions in one block, of which the input chooses one (Lemma 11 as a block of the FLEQ machine)."""

import math

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
from attention_theory.rows import Combination
from attention_theory.validation import refuse_unless


class ChoiceBlock(FunctionBlock):
    """``sum_i c[j, i] sigmoid(a[j, i] · x + b[j, i])`` in three layers and m heads; the second operand e_j chooses j.

    The first operand holds x in its first column, the second e_j in its first column and nothing beside it. Layer 1
    moves e_j to separate rows. So its column is the only one with a key: head i takes a[j, i] and the bias out of it,
    linearly, and c[j, i] as the value; the column of x asks. Layer 3 copies the sum into the result. Since keys and
    values are linear in the selector, one that is no e_j mixes the parameters of the functions, not their values; its
    entries have to add up to 1, since the count of the columns rides on them too.

    Args:
        name: of the block.
        a: the directions, N functions of m terms on vectors of the given width.
        b: the shifts.
        c: the coefficients.
    """

    depth = 3

    def __init__(
        self,
        name: str,
        a: Float[Tensor, "functions terms width"],
        b: Float[Tensor, "functions terms"],
        c: Float[Tensor, "functions terms"],
    ) -> None:
        self.name, self.a, self.b, self.c = name, a, b, c

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        """N rows for the selector and two for the sum.

        Raises:
            ParameterError: more functions, or wider vectors, than a column has entries.
        """
        functions, _, width = self.a.shape
        refuse_unless(
            1 <= functions <= setting.size and 1 <= width <= setting.size,
            f"a and setting must have 1 to {setting.size} functions and entries of a vector, as a column has entries, "
            f"got {functions} and {width}",
        )
        return {f"{self.name} selector": functions, f"{self.name} sum": 1, f"{self.name} kept": 1}

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows = layer.rows
        data, selector = rows[self.name], rows[f"{self.name} selector"]
        (total,), (kept,) = rows[f"{self.name} sum"], rows[f"{self.name} kept"]
        if stage == 0:
            for source, target in zip(data, selector, strict=False):
                layer.gated_move(source, target, {rows["not b"][0]: CLOSED})
        elif stage == 1:
            self._sigmoids(layer, setting)
            layer.gated_move(total, kept, {rows["not first"][0]: CLOSED})
            layer.clear([total, *selector])
        else:
            copy_to_result(layer, [kept], [total], "a", rows)
            layer.gated_move(total, data[0], {rows["not out"][0]: CLOSED})
            layer.clear([total, kept])

    def _sigmoids(self, layer: Layer, setting: BlockSetting) -> None:
        rows = layer.rows
        selector, (total,), (first,) = rows[f"{self.name} selector"], rows[f"{self.name} sum"], rows["first"]
        queries: list[Combination] = [{row: 1.0} for row in rows[self.name][: self.a.shape[2]]]
        biased = (
            torch.cat([self.a, (self.b + math.log(setting.columns - 1))[..., None]], dim=-1)
            / setting.inverse_temperature
        )
        for term in range(self.a.shape[1]):
            keys = [_chosen(selector, entry) for entry in biased[:, term].mT]
            layer.head("sigmoid", keys, [*queries, {first: 1.0}], [(_chosen(selector, self.c[:, term]), total)])

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        functions, _, width = self.a.shape
        x, e = a[..., :width, 0], b[..., :functions, 0]
        chosen_a, chosen_b, chosen_c = torch.einsum("...n,nmw->...mw", e, self.a), e @ self.b, e @ self.c
        scores = (chosen_a * x[..., None, :]).sum(-1) + chosen_b
        out = torch.zeros_like(a)
        out[..., 0, 0] = (scores.sigmoid() * chosen_c).sum(-1)
        return out


def _chosen(selector: range, weights: Float[Tensor, " functions"]) -> Combination:
    return dict(zip(selector, weights.tolist(), strict=True))

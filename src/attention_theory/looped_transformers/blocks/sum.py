"""Addition and subtraction of matrices, in one layer with two heads or with a single head (Lemmas 15 and 16)."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import CLOSED, BlockSetting, FunctionBlock
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import FORMS, Form, require


class SumBlock(FunctionBlock):
    """A + B or A - B: one head fetches A into the columns of the result, the other ±B.

    A single head does too: a column of the result that matches both its columns gets their mean, and twice that is the
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
                layer.gated_move(row, row, {rows["not b"][0]: CLOSED}, gain=-2.0)
            return
        if self.heads == 1:
            keys = combine(rows["in a"], rows["in b"])
            layer.head(f"{self.name} both", keys, combine(rows["in out"]), moves(data, result, 2.0))
        for place, sign in (("a", 1.0), ("b", self.sign)) if self.heads == 2 else ():
            layer.head(
                f"{self.name} {place}", combine(rows[f"in {place}"]), combine(rows["in out"]), moves(data, result, sign)
            )
        for source, target in zip(result, data, strict=True):
            layer.gated_move(source, target, {rows["not out"][0]: CLOSED})
        layer.clear(result)

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        return a + self.sign * b


def sum_in_four_steps(
    a: Float[Tensor, " pairs"],
    b: Float[Tensor, " pairs"],
    sign: float = 1.0,
    form: Form = "correct",
    inverse_temperature: float = 40.0,
) -> Float[Tensor, " pairs"]:
    """The proof of Lemma 15 as it stands, a layer for each of its four transformations: what the last column holds.

    Three columns hold a, b and 0. Layers 1 and 2 set b apart in a separate row, layer 3 brings it into column 1 by
    the pointer there, and layer 4 carries what is in column 1 to the column that its other pointer names. ``printed``
    has one pointer for both, to the last column; a second one, to the column of b, is the repair.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    rows = Rows(data=1, work=1, fetched=1, code=2, pointer=2, second=2, **{"not first": 1, "not last": 1})
    (data,), (work,), (fetched,) = rows["data"], rows["work"], rows["fetched"]
    copy, part, gather, carry = layers = [Layer(rows, name) for name in ("copy", "part", "gather", "carry")]
    not_first, not_last = ({rows[name][0]: CLOSED} for name in ("not first", "not last"))
    copy.gated_move(data, work, {})
    for source, gate in ((data, {rows["not first"][0]: -CLOSED}), (work, not_first)):  # the first: open but in column 1
        part.gated_move(source, source, gate, closed=CLOSED if source == data else 0.0, gain=-1.0)
    reads = rows["pointer" if form == "printed" else "second"]
    gather.head("by pointer", combine(rows["code"]), combine(reads), moves([work], [fetched]))
    gather.gated_move(fetched, data, not_first, gain=sign)
    gather.clear([fetched])
    carry.head("to the pointed", combine(rows["pointer"]), combine(rows["code"]), moves([data], [fetched]))
    carry.gated_move(fetched, data, not_last)
    carry.clear([fetched])
    state = torch.zeros(len(a), 3, rows.size, dtype=torch.float64, device=a.device)
    codes = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64, device=a.device)
    rows.view(state, "code")[:] = codes
    rows.view(state, "pointer")[:, 0], rows.view(state, "second")[:, 0] = codes[2], codes[1]
    rows.view(state, "not first")[:, 1:], rows.view(state, "not last")[:, :2] = 1.0, 1.0
    rows.view(state, "data")[:, 0, 0], rows.view(state, "data")[:, 1, 0] = a, b
    state = LoopedTransformer(rows, layers, device=a.device).cycle(state, inverse_temperature)
    return rows.view(state, "data")[:, 2, 0].to(a.dtype)

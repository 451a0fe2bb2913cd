"""Layers as torch modules, in operations that every runtime has: what runs a machine anywhere, and what is exported.

Of each matrix the columns are kept that are not zero, and the rows of the state that they read; a result is spread over
the rows by a look-up. Weights are buffers: ``state_dict`` has them, an optimizer leaves them alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_theory.layers import Rule, attention
from attention_theory.validation import require


@dataclass(frozen=True)
class Part:
    """The columns of a matrix that are not zero, and the rows of the state that they read.

    Most of a layer's matrices are zero, since it has to do with a few of the rows.
    """

    matrix: Float[Tensor, "outputs read"]
    read: Int[Tensor, " read"]

    @classmethod
    def of(cls, matrix: Float[Tensor, "outputs rows"]) -> "Part":
        read = nonzero_rows(matrix.mT)
        return cls(matrix[:, read].contiguous(), read)


def nonzero_rows(matrix: Float[Tensor, "rows others"]) -> Int[Tensor, " nonzero"]:
    """The numbers of the rows that hold anything but zeros."""
    return matrix.ne(0).any(1).nonzero().flatten()


class HeadModule(nn.Module):
    """One head of eq. (1a): what it adds to the state.

    Args:
        key, query, value: its matrices without their zero columns, ``value`` without its zero rows too.
        written: the rows to which the head adds anything.
        size: the rows of a state.
    """

    key: Tensor
    key_rows: Tensor
    query: Tensor
    query_rows: Tensor
    value: Tensor
    value_rows: Tensor
    place: Tensor

    def __init__(self, key: Part, query: Part, value: Part, written: Int[Tensor, " written"], size: int) -> None:
        super().__init__()
        for name, part in (("key", key), ("query", query), ("value", value)):
            self.register_buffer(name, part.matrix.mT)
            self.register_buffer(f"{name}_rows", part.read)
        self.register_buffer("place", _places(written, size))

    def forward(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule
    ) -> Float[Tensor, "... columns rows"]:
        keys = state.index_select(-1, self.key_rows) @ self.key
        queries = state.index_select(-1, self.query_rows) @ self.query
        values = state.index_select(-1, self.value_rows) @ self.value
        return _spread(attention(queries, keys, values, rule, scale=inverse_temperature), self.place)


class LayerModule(nn.Module):
    """One layer, eqs. (1a) and (1b).

    Args:
        heads: of the layer.
        inner: W1 without its zero columns.
        outer: W2 without its zero rows.
        written: the rows that W2 writes.
        b1, b2: the constants.
    """

    w1: Tensor
    w1_rows: Tensor
    b1: Tensor
    w2: Tensor
    place: Tensor
    b2: Tensor

    def __init__(
        self,
        heads: Iterable[HeadModule],
        inner: Part,
        outer: Float[Tensor, "written hidden"],
        written: Int[Tensor, " written"],
        b1: Float[Tensor, " hidden"],
        b2: Float[Tensor, " rows"],
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.has_units = len(b1) > 0
        self.has_constants = bool(b2.any())
        if self.has_units:
            self.register_buffer("w1", inner.matrix.mT)
            self.register_buffer("w1_rows", inner.read)
            self.register_buffer("b1", b1)
            self.register_buffer("w2", outer.mT)
            self.register_buffer("place", _places(written, len(b2)))
        if self.has_constants:
            self.register_buffer("b2", b2)

    def attend(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        """Eq. (1a): every column attends to every column."""
        result = state
        for head in self.heads:
            result = result + head(state, inverse_temperature, rule)
        return result

    def feed_forward(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """Eq. (1b), given the result of eq. (1a)."""
        if self.has_units:
            hidden = torch.relu(state.index_select(-1, self.w1_rows) @ self.w1 + self.b1)
            state = state + _spread(hidden @ self.w2, self.place)
        return state + self.b2 if self.has_constants else state

    def forward(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        return self.feed_forward(self.attend(state, inverse_temperature, rule))


class LoopedModule(nn.Module):
    """One cycle of a machine. ``layers.0.heads.1.key`` is a name in its ``state_dict``, and in a file made of it.

    Args:
        layers: as they are applied.
        inverse_temperature: multiplies the scores.
        rule: ``softmax``, or ``hardmax``, its limit at temperature zero.

    Raises:
        ParameterError: an inverse temperature below 0, or another rule.
    """

    def __init__(self, layers: Iterable[LayerModule], inverse_temperature: float, rule: Rule = "softmax") -> None:
        require(inverse_temperature=(inverse_temperature, 0.0, None), rule=(rule, {"softmax", "hardmax"}))
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.inverse_temperature, self.rule = inverse_temperature, rule

    def forward(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        for layer in self.layers:
            state = layer(state, self.inverse_temperature, self.rule)
        return state

    def like_weights(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """A state in the type of the weights, and where they lie."""
        return state.to(next(weights for weights in self.buffers() if weights.is_floating_point()))

    def extra_repr(self) -> str:
        return f"inverse_temperature={self.inverse_temperature}, rule={self.rule!r}"


def _places(written: Int[Tensor, " written"], size: int) -> Int[Tensor, " rows"]:
    """For each of ``size`` rows its place among the written ones; the place behind the last for all others."""
    places = torch.full((size,), len(written), device=written.device)
    places[written] = torch.arange(len(written), device=written.device)
    return places


def _spread(result: Float[Tensor, "... written"], places: Int[Tensor, " rows"]) -> Float[Tensor, "... rows"]:
    """Results in their rows, zeros in all others."""
    nothing = torch.zeros_like(result[..., :1]) if result.shape[-1] else result.new_zeros((*result.shape[:-1], 1))
    return torch.cat([result, nothing], -1).index_select(-1, places)

"""The layers of a machine as a torch module, in operations that every runtime has: what torch's exporter reads.

Of each matrix the columns are kept that are not zero, and the rows of the state that they read; a result is spread over
the rows by a look-up. Nothing is computed in another order than in ``DenseLayer``, so that the numbers are the same.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer


class PortableLayers(nn.Module):
    """One cycle. ``layers.0.heads.1.key`` is a name in the file.

    Args:
        layers: as they are applied.
        temperature: factor on the scores.
    """

    def __init__(self, layers: Sequence[DenseLayer], temperature: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_PortableLayer(layer, temperature) for layer in layers)

    def forward(self, state: Float[Tensor, "programs columns rows"]) -> Float[Tensor, "programs columns rows"]:
        for layer in self.layers:
            state = layer(state)
        return state


class _PortableHead(nn.Module):
    """One head: what it adds to the state."""

    key: Tensor
    key_rows: Tensor
    query: Tensor
    query_rows: Tensor
    value: Tensor
    value_rows: Tensor
    place: Tensor

    def __init__(self, head: DenseHead, temperature: float) -> None:
        super().__init__()
        key, query, value, written = head.narrow
        self.temperature = temperature
        for name, part in (("key", key), ("query", query), ("value", value)):
            self.register_buffer(name, part.matrix.mT.contiguous())
            self.register_buffer(f"{name}_rows", part.read)
        self.register_buffer("place", _places(written, len(head.value)))

    def forward(self, state: Tensor) -> Tensor:
        keys = state.index_select(-1, self.key_rows) @ self.key
        queries = state.index_select(-1, self.query_rows) @ self.query
        values = state.index_select(-1, self.value_rows) @ self.value
        return _spread((self.temperature * (queries @ keys.mT)).softmax(-1) @ values, self.place)


class _PortableLayer(nn.Module):
    """Eqs. (1a) and (1b)."""

    w1: Tensor
    w1_rows: Tensor
    b1: Tensor
    w2: Tensor
    place: Tensor
    b2: Tensor

    def __init__(self, layer: DenseLayer, temperature: float) -> None:
        super().__init__()
        self.heads = nn.ModuleList(_PortableHead(head, temperature) for head in layer.heads)
        inner, outer, written = layer.narrow
        self.has_units = len(layer.b1) > 0
        self.has_constants = bool(layer.b2.any())
        if self.has_units:
            self.register_buffer("w1", inner.matrix.mT.contiguous())
            self.register_buffer("w1_rows", inner.read)
            self.register_buffer("b1", layer.b1)
            self.register_buffer("w2", outer.mT.contiguous())
            self.register_buffer("place", _places(written, len(layer.b2)))
        if self.has_constants:
            self.register_buffer("b2", layer.b2)

    def forward(self, state: Tensor) -> Tensor:
        result = state
        for head in self.heads:
            result = result + head(state)
        if self.has_units:
            hidden = torch.relu(result.index_select(-1, self.w1_rows) @ self.w1 + self.b1)
            result = result + _spread(hidden @ self.w2, self.place)
        return result + self.b2 if self.has_constants else result


def _places(written: Tensor, size: int) -> Tensor:
    """For each of ``size`` rows its place among the written ones; the place behind the last for all others."""
    places = torch.full((size,), len(written))
    places[written] = torch.arange(len(written))
    return places


def _spread(result: Tensor, places: Tensor) -> Tensor:
    """Results in their rows, zeros in all others."""
    nothing = torch.zeros_like(result[..., :1])
    return torch.cat([result, nothing], -1).index_select(-1, places)

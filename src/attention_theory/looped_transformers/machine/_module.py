"""Layers as torch modules, in operations that every runtime has: what runs a machine anywhere, and what is exported.

Of each matrix the columns are kept that are not zero, and the rows of the state that they read; a result is spread over
the rows by a look-up. Weights are buffers: ``state_dict`` has them, an optimizer leaves them alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from attention_theory.layers import Rule, attention
from attention_theory.validation import require, require_shape


@dataclass(frozen=True)
class MachineRun:
    """A compiled machine's run; every list begins with the start and has an entry for each cycle after it.

    Attributes:
        trace: the states.
        counters: the number of the instruction that comes next.
        memories: the contents of the memory cells.
        memory: the memory at the end, by the names that the program gives to its cells.
        halted: whether the last instruction was reached.
    """

    trace: Float[Tensor, "times tokens features"]
    counters: Int[Tensor, " times"]
    memories: Num[Tensor, "times ..."]
    memory: dict[str, Any]
    halted: bool

    @property
    def steps(self) -> int:
        """The instructions executed, without the halt."""
        return len(self.counters) - 1


class _HeadModule(nn.Module):
    """The amount that one head of eq. (1a) adds to the state, by its matrices ``key``, ``query`` and ``value``."""

    key: Tensor
    key_rows: Tensor
    query: Tensor
    query_rows: Tensor
    value: Tensor
    value_rows: Tensor
    place: Tensor

    def __init__(self, key: Tensor, query: Tensor, value: Tensor) -> None:
        super().__init__()
        written = _nonzero_rows(value)
        for name, matrix in (("key", key), ("query", query), ("value", value[written])):
            narrow, read = _narrow(matrix)
            self.register_buffer(name, narrow)
            self.register_buffer(f"{name}_rows", read)
        self.register_buffer("place", _places(written, len(value)))

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
        heads: key, query and value matrix of each head.
        w1: (hidden, rows).
        b1: (hidden,).
        w2: (rows, hidden).
        b2: (rows,).
    """

    w1: Tensor
    w1_rows: Tensor
    b1: Tensor
    w2: Tensor
    place: Tensor
    b2: Tensor

    def __init__(
        self,
        heads: Iterable[tuple[Tensor, Tensor, Tensor]],
        w1: Float[Tensor, "hidden rows"],
        b1: Float[Tensor, " hidden"],
        w2: Float[Tensor, "rows hidden"],
        b2: Float[Tensor, " rows"],
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(_HeadModule(*matrices) for matrices in heads)
        self.has_units = len(b1) > 0
        self.has_constants = bool(b2.any())
        if self.has_units:
            narrow, read = _narrow(w1)
            written = _nonzero_rows(w2)
            self.register_buffer("w1", narrow)
            self.register_buffer("w1_rows", read)
            self.register_buffer("b1", b1.clone())
            self.register_buffer("w2", w2[written].mT)
            self.register_buffer("place", _places(written, len(b2)))
        if self.has_constants:
            self.register_buffer("b2", b2.clone())

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
        embed_dim: the features of a token.
        inverse_temperature: multiplies the scores.
        rule: ``softmax``, or ``hardmax``, its limit at temperature zero.

    Raises:
        ParameterError: an inverse temperature below 0, or another rule.
    """

    def __init__(
        self, layers: Iterable[LayerModule], embed_dim: int, inverse_temperature: float, rule: Rule = "softmax"
    ) -> None:
        require(inverse_temperature=(inverse_temperature, 0.0, None), rule=(rule, {"softmax", "hardmax"}))
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.embed_dim, self.inverse_temperature, self.rule = embed_dim, inverse_temperature, rule

    def forward(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """The state after one cycle.

        Raises:
            ParameterError: a state of another width.
        """
        require_shape(state=(state, (..., None, self.embed_dim)))
        for layer in self.layers:
            state = layer(state, self.inverse_temperature, self.rule)
        return state

    def like_weights(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """A state in the type of the weights, and where they lie."""
        return state.to(next(weights for weights in self.buffers() if weights.is_floating_point()))

    def _restore(self, layers: Iterable[LayerModule]) -> None:
        """Copy the weights of the same layers, made anew."""
        self.layers.load_state_dict(nn.ModuleList(layers).state_dict())

    def _follow(
        self,
        state: Float[Tensor, "tokens features"],
        read: Callable[[Tensor], tuple[int, Tensor]],
        name: Callable[[Tensor], dict[str, Any]],
        end: int,
        steps: int,
    ) -> MachineRun:
        """Run until the counter is at the end, or for so many cycles.

        Args:
            state: at the start.
            read: the counter and the memory of a state.
            name: the memory by names.
            end: the number of the last instruction, which halts.
            steps: at most.

        Raises:
            ParameterError: steps below 0.
        """
        require(steps=(steps, 0, None))
        states, seen = [state], [read(state)]
        while len(states) <= steps and seen[-1][0] != end:
            states.append(self(states[-1]))
            seen.append(read(states[-1]))
        counters, memories = zip(*seen, strict=True)
        named, halted = name(memories[-1]), counters[-1] == end
        return MachineRun(torch.stack(states), torch.tensor(counters), torch.stack(memories), named, halted)

    def extra_repr(self) -> str:
        return f"inverse_temperature={self.inverse_temperature}, rule={self.rule!r}"


def _nonzero_rows(matrix: Float[Tensor, "rows others"]) -> Int[Tensor, " nonzero"]:
    """The numbers of the rows that hold anything but zeros."""
    return matrix.ne(0).any(1).nonzero().flatten()


def _narrow(matrix: Float[Tensor, "outputs rows"]) -> tuple[Float[Tensor, "read outputs"], Int[Tensor, " read"]]:
    """The transpose of a matrix without its zero columns, and the rows of the state that it reads."""
    read = _nonzero_rows(matrix.mT)
    return matrix[:, read].contiguous().mT, read


def _places(written: Int[Tensor, " written"], size: int) -> Int[Tensor, " rows"]:
    """For each of ``size`` rows its place among the written ones; the place behind the last for all others."""
    places = torch.full((size,), len(written), device=written.device)
    places[written] = torch.arange(len(written), device=written.device)
    return places


def _spread(result: Float[Tensor, "... written"], places: Int[Tensor, " rows"]) -> Float[Tensor, "... rows"]:
    """Results in their rows, zeros in all others."""
    nothing = torch.zeros_like(result[..., :1]) if result.shape[-1] else result.new_zeros((*result.shape[:-1], 1))
    return torch.cat([result, nothing], -1).index_select(-1, places)

"""Layers declared by named heads and named ReLU units; the dense matrices of eqs. (1a) and (1b) made of them.

layer = Layer(rows, "read")
pointer = combine(rows["pointer"], rows["encoding"])
layer.head("fetch", keys=pointer, queries=pointer, values=moves(rows["memory"], rows["buffer"]))
layer.unit("copy", {buffer: 2.0, indicator: 10.0}, {target: 1.0}, bias=-10.0)
layer.clear(rows["buffer"])
machine = LoopedTransformer(rows, [layer, ...])
state = machine.cycle(state, inverse_temperature=30.0)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.layers import Rule
from attention_theory.looped_transformers.machine._module import LayerModule, LoopedModule
from attention_theory.rows import Combination, Rows
from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class Head:
    """One head of eq. (1a) as declared: what is matched with what, and what is added where.

    Attributes:
        name: what the head does.
        keys: one combination of rows for each coordinate of the key; column by column they are ``K X``.
        queries: the same for ``Q X``, equally many.
        values: pairs (combination, target row): the row of ``V`` that adds the combination into the target.
    """

    name: str
    keys: Sequence[Combination]
    queries: Sequence[Combination]
    values: Sequence[tuple[Combination, int]]


@dataclass(frozen=True)
class _Unit:
    """One hidden unit of eq. (1b): ``relu(inputs + bias)``, added into rows with the weights of ``outputs``."""

    name: str
    inputs: Combination
    outputs: Combination
    bias: float


@dataclass(frozen=True)
class DenseHead:
    """The matrices of one head: ``key`` and ``query`` are (k, rows), ``value`` is (rows, rows)."""

    key: Float[Tensor, "k rows"]
    query: Float[Tensor, "k rows"]
    value: Float[Tensor, "rows rows"]


@dataclass(frozen=True)
class DenseLayer:
    """The matrices of one layer, eqs. (1a) and (1b).

    Attributes:
        heads: ``K``, ``Q`` and ``V`` of each head.
        w1: (hidden, rows).
        b1: (hidden,).
        w2: (rows, hidden).
        b2: (rows,).
    """

    heads: tuple[DenseHead, ...]
    w1: Float[Tensor, "hidden rows"]
    b1: Float[Tensor, " hidden"]
    w2: Float[Tensor, "rows hidden"]
    b2: Float[Tensor, " rows"]

    def module(self) -> LayerModule:
        """The layer as a torch module, with its own weights."""
        heads = [(head.key, head.query, head.value) for head in self.heads]
        return LayerModule(heads, self.w1, self.b1, self.w2, self.b2)

    @cached_property
    def _executed(self) -> LayerModule:
        return self.module()

    def attend(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        """Eq. (1a): every column attends to every column; ``inverse_temperature`` multiplies the scores."""
        return self._executed.attend(state, inverse_temperature, rule)

    def feed_forward(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """Eq. (1b), given the result of eq. (1a)."""
        return self._executed.feed_forward(state)

    def __call__(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        return self.feed_forward(self.attend(state, inverse_temperature, rule))


@dataclass
class Layer:
    """A transformer layer under construction: heads and units by name, in terms of rows.

    Attributes:
        rows: the named rows on which the layer acts.
        name: what the layer does.
        heads: as declared.
        units: as declared.
        constants: what ``b2`` adds to every column, by row.
    """

    rows: Rows
    name: str
    heads: list[Head] = field(default_factory=list)
    units: list[_Unit] = field(default_factory=list)
    constants: Combination = field(default_factory=dict)

    def head(
        self,
        name: str,
        keys: Sequence[Combination],
        queries: Sequence[Combination],
        values: Sequence[tuple[Combination, int]],
    ) -> None:
        """Declare a head.

        Raises:
            ParameterError: keys and queries of different length.
        """
        refuse_unless(
            len(queries) == len(keys), f"queries must be as many rows as keys, {len(keys)}, got {len(queries)}"
        )
        self.heads.append(Head(name, keys, queries, values))

    def unit(self, name: str, inputs: Combination, outputs: Combination, bias: float = 0.0) -> None:
        """Declare a hidden unit: add ``outputs`` times ``relu(inputs + bias)``, in every column."""
        self.units.append(_Unit(name, inputs, outputs, bias))

    def constant(self, outputs: Combination) -> None:
        """Add constants to rows, in every column (``b2``)."""
        for row, value in outputs.items():
            self.constants[row] = self.constants.get(row, 0.0) + value

    def clear(self, block: Sequence[int], name: str = "clear") -> None:
        """Set rows to zero, exactly: two units a row cancel the residual, ``x - relu(x) + relu(-x) = 0``."""
        for row in block:
            self.unit(name, {row: 1.0}, {row: -1.0})
            self.unit(name, {row: -1.0}, {row: 1.0})

    def gated_move(self, source: int, target: int, gates: Combination, closed: float = 0.0, gain: float = 1.0) -> None:
        """Add ``gain * source`` into ``target`` in the columns where ``gates + closed`` is 0.

        Where that is below ``-|source|`` both units are silent.
        """
        for sign in (1.0, -1.0):
            self.unit("move", {source: sign, **gates}, {target: sign * gain}, bias=closed)

    @cached_property
    def dense(self) -> DenseLayer:
        """The matrices, in float64 on the CPU. Declare everything first: they are made once."""
        size = self.rows.size
        heads = tuple(
            DenseHead(_matrix(head.keys, size), _matrix(head.queries, size), _value_matrix(head.values, size))
            for head in self.heads
        )
        w1 = _matrix([unit.inputs for unit in self.units], size)
        w2 = _matrix([unit.outputs for unit in self.units], size).mT.contiguous()
        b1 = torch.tensor([unit.bias for unit in self.units], dtype=torch.float64, device="cpu")
        return DenseLayer(heads, w1, b1, w2, _matrix([self.constants], size)[0])


class LoopedTransformer:
    """Layers whose output is fed back as their next input.

    Args:
        rows: the named rows of the state.
        layers: in the order of application.
        dtype: of the matrices; float64 unless an experiment says otherwise.
        device: of the matrices; the states must lie there too.
    """

    def __init__(
        self,
        rows: Rows,
        layers: Sequence[Layer],
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.rows = rows
        self.layers = list(layers)
        self.dense = [_cast(layer.dense, dtype, device) for layer in layers]

    def cycle(
        self, state: Float[Tensor, "... columns rows"], inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        """One pass through all layers. States of many programs may be stacked in the leading dimensions."""
        for layer in self.dense:
            state = layer(state, inverse_temperature, rule)
        return state

    def module(self, inverse_temperature: float, rule: Rule = "softmax") -> LoopedModule:
        """One cycle as a torch module, with its own weights.

        Raises:
            ParameterError: as :class:`LoopedModule`.
        """
        return LoopedModule((layer.module() for layer in self.dense), self.rows.size, inverse_temperature, rule)

    def same_weights(self, other: "LoopedTransformer") -> bool:
        """Test whether all matrices of two machines are equal bit for bit."""
        ours, theirs = list(self._matrices()), list(other._matrices())
        return len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))

    def _matrices(self) -> Iterator[Tensor]:
        for layer in self.dense:
            for head in layer.heads:
                yield from (head.key, head.query, head.value)
            yield from (layer.w1, layer.b1, layer.w2, layer.b2)

    def run(
        self, state: Float[Tensor, "... columns rows"], cycles: int, inverse_temperature: float, rule: Rule = "softmax"
    ) -> Float[Tensor, "... columns rows"]:
        """``cycles`` passes.

        Raises:
            ParameterError: cycles below 0.
        """
        require(cycles=(cycles, 0, None))
        for _ in range(cycles):
            state = self.cycle(state, inverse_temperature, rule)
        return state


def _matrix(combinations: Sequence[Combination], size: int) -> Float[Tensor, "combinations rows"]:
    """One row of the matrix for each combination."""
    matrix = torch.zeros(len(combinations), size, dtype=torch.float64, device="cpu")
    entries = [(place, row, value) for place, one in enumerate(combinations) for row, value in one.items()]
    if entries:
        places, rows, values = zip(*entries, strict=True)
        matrix[list(places), list(rows)] = matrix.new_tensor(values)
    return matrix


def _value_matrix(values: Sequence[tuple[Combination, int]], size: int) -> Float[Tensor, "rows rows"]:
    matrix = torch.zeros(size, size, dtype=torch.float64, device="cpu")
    for combination, target in values:
        for row, weight in combination.items():
            matrix[target, row] += weight
    return matrix


def _cast(layer: DenseLayer, dtype: torch.dtype, device: torch.device | str) -> DenseLayer:
    def cast(matrix: Tensor) -> Tensor:
        return matrix.to(device, dtype)

    heads = tuple(DenseHead(cast(head.key), cast(head.query), cast(head.value)) for head in layer.heads)
    return DenseLayer(heads, cast(layer.w1), cast(layer.b1), cast(layer.w2), cast(layer.b2))

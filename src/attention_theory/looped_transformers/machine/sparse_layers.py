"""All layers on all columns, without the work that comes to nothing: the literal layers at a fraction of the price.

Most entries of a machine's weights and of its state are zero, and in most layers only the scratchpad changes. Each
cycle looks at the numbers at hand and leaves out what these say is nothing, for any state, as the layers would have it:

- A ReLU layer that answers zeros with zeros leaves a column alone in which all rows that it reads are zero. Where every
  unit reads and writes one row (the rounding of Step 6) the same goes for single entries.
- A head need not answer a column where nobody listens: where the rows that it fills are cleared by the layer's own
  units, and the gates of all other units that read them stay closed whatever the head says. An answer is a mean of
  values, so the largest entry of the state bounds it.
- Columns that ask the same question get the same answer, once; and as long as the queries and keys of all columns but
  the first are those of the cycle before, so is what these columns see in each other: where that is one column each,
  as far as float64 can tell, it is copied.

Nothing is known here of programs. Sums may be taken in another order than in ``LoopedTransformer``; after the rounding
at the end of a cycle the states are equal bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer, LoopedTransformer, Part
from attention_theory.validation import ParameterError, require

Array = NDArray[np.float64]
Places = NDArray[np.int64]


class SparseLayers:
    """The cycle of a machine in float64 on the CPU.

    Args:
        machine: its layers.
        temperature: multiplies the scores.

    Raises:
        ParameterError: a temperature below 0, or a machine of another type or on another device.
    """

    def __init__(self, machine: LoopedTransformer, temperature: float) -> None:
        require(temperature=(temperature, 0.0, None))
        example = machine.dense[0].w1
        if example.dtype != torch.float64 or example.device.type != "cpu":
            raise ParameterError(f"the machine must be float64 on the CPU, got {example.dtype} on {example.device}")
        self._layers = [
            ([_Head(head, temperature) for head in layer.heads], _Listeners.of(layer), _Units(layer))
            for layer in machine.dense
        ]

    def cycle(self, state: Float[Tensor, "*programs columns rows"]) -> Float[Tensor, "*programs columns rows"]:
        """One pass through all layers; the state given is left as it is."""
        values = state.reshape(-1, *state.shape[-2:]).numpy().copy()
        for heads, listeners, units in self._layers:
            if heads:
                _attend(values, heads, listeners)
            units(values)
        return torch.from_numpy(values).reshape(state.shape)


#: What a mean in float64 does not show: so much of the values' size comes and goes with the order of its sum.
_UNSEEN = 1e-20


class _Head:
    """The matrices of one head without their zeros."""

    def __init__(self, head: DenseHead, temperature: float) -> None:
        key, query, value, written = head.narrow
        self.key, self.query, self.value = _Narrow(key), _Narrow(query, temperature), _Narrow(value)
        self.written = _places(written)
        self.target = _range_of(self.written)
        #: A mean of the values is at most so many times the largest entry of the state.
        self.gain = float(np.abs(self.value.matrix).sum(axis=0).max(initial=0.0))
        self.known = _Known(np.zeros((0, 0, 0)), np.zeros((0, 0, 0)))

    def __call__(self, state: Array, columns: Places | None) -> Array:
        """What the head adds in its rows of the columns asked for."""
        if columns is not None and len(columns) < state.shape[1] // 2:
            return self._of_few(state, columns)
        keys, values = self.key(state), self.value(state)
        queries = self.query(state)
        if bool((queries[:, 1:] == queries[:, 1:2]).all()):
            answers = _mean(queries[:, :2], keys, values)[:, np.minimum(np.arange(queries.shape[1]), 1)]
        else:
            if not self.known.holds(queries, keys):
                self.known = _Known(queries, keys)
            answers = np.concatenate([_mean(queries[:, :1], keys, values), self.known(queries, keys, values)], axis=1)
        return answers if columns is None else answers[:, columns]

    def _of_few(self, state: Array, columns: Places) -> Array:
        """For a few columns: the key's matrix goes to them, and the value's to their means, not to all columns."""
        asked = _times(self.query(state[:, columns]), self.key.matrix.T)
        return _times(_mean(asked, state[..., self.key.read], state[..., self.value.read]), self.value.matrix)


class _Known:
    """How much all columns but the first attend to each other: it stays as long as their queries and keys do."""

    def __init__(self, queries: Array, keys: Array) -> None:
        self.queries, self.keys = queries[:, 1:].copy(), keys[:, 1:].copy()
        if queries.size:
            scores = self.queries @ self.keys.swapaxes(-1, -2)
            self.best = scores.max(axis=-1, keepdims=True)
            scores -= self.best
            self.weights = np.exp(scores, out=scores)
            self.total = self.weights.sum(axis=-1, keepdims=True)
            self.partner = self._partners()

    def _partners(self) -> Places | None:
        """The one column that each column sees, where all others together weigh less than rounding; else nothing."""
        alone = np.count_nonzero(self.weights > _UNSEEN) == self.total.size  # the largest weight of a column is 1
        return self.weights.argmax(axis=-1)[..., None] if alone else None

    def _means(self, values: Array) -> Array:
        """The weights times the values: a copy of the partners' values where there are partners."""
        if self.partner is None:
            return self.weights @ values
        return np.take_along_axis(values, self.partner, axis=-2)

    def holds(self, queries: Array, keys: Array) -> bool:
        """Whether they are what they were."""
        return np.array_equal(self.queries, queries[:, 1:]) and np.array_equal(self.keys, keys[:, 1:])

    def __call__(self, queries: Array, keys: Array, values: Array) -> Array:
        """The softmax means for all columns but the first: the first column is one more to look at."""
        first = queries[:, 1:] @ keys[:, :1].swapaxes(-1, -2)
        best = np.maximum(first, self.best)
        old, new = np.exp(self.best - best), np.exp(first - best)
        result: Array = old * self._means(values[:, 1:]) + new * values[:, :1]
        result /= old * self.total + new
        return result


class _Narrow:
    """A matrix that reads some rows of a state."""

    def __init__(self, part: Part, factor: float = 1.0) -> None:
        self.read = _range_of(_places(part.read))
        self.matrix = np.ascontiguousarray(factor * part.matrix.numpy().T)
        self.copies = np.array_equal(self.matrix, np.eye(*self.matrix.shape))

    def __call__(self, state: Array) -> Array:
        rows: Array = state[..., self.read]
        return rows if self.copies else _times(rows, self.matrix)


def _times(rows: Array, matrix: Array) -> Array:
    """``rows @ matrix`` as a single product of matrices."""
    return rows.reshape(-1, rows.shape[-1]).dot(matrix).reshape(*rows.shape[:-1], -1)


def _mean(queries: Array, keys: Array, values: Array) -> Array:
    """The softmax means of the values."""
    scores = queries @ keys.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    result: Array = weights @ values
    result /= weights.sum(axis=-1, keepdims=True)
    return result


@dataclass(frozen=True)
class _Listeners:
    """Who reads what a layer's heads have written, apart from the units that clear it.

    Attributes:
        gates: rows that the other units read beside them, and their weights: ``state[gates] @ matrix + bias``.
        reach: for each of these units, how much a bound on the filled rows can add to its input.
    """

    gates: Places
    matrix: Array
    bias: Array
    reach: Array

    @classmethod
    def of(cls, layer: DenseLayer) -> "_Listeners | None":
        """Nothing where some filled row is not cleared."""
        w1, w2, b1 = layer.w1.numpy(), layer.w2.numpy(), layer.b1.numpy()
        filled = np.zeros(w1.shape[1], dtype=bool)
        for head in layer.heads:
            filled[_places(head.narrow[3])] = True
        reading = w1[:, filled].any(axis=1)
        clearing = _clearing(w1, b1, w2) & reading
        cleared = np.zeros_like(filled)
        for row in np.flatnonzero(filled):
            signs = {(w1[unit, row], w2[row, unit]) for unit in np.flatnonzero(clearing & (w1[:, row] != 0))}
            others = (w2[row] != 0) & ~clearing
            cleared[row] = signs == {(1.0, -1.0), (-1.0, 1.0)} and not others.any() and layer.b2[row] == 0
        if not cleared[filled].all():
            return None
        gated = reading & ~clearing
        gates = np.flatnonzero(w1[gated][:, ~filled].any(axis=0))
        gates = np.flatnonzero(~filled)[gates]
        matrix = np.ascontiguousarray(w1[gated][:, gates].T)
        return cls(gates, matrix, b1[gated], np.abs(w1[gated][:, filled]).sum(axis=1))

    def columns(self, state: Array, largest: float) -> Places | None:
        """The columns where some gate may open, if no filled row can exceed ``largest``; nothing for all."""
        most = self.bias + largest * self.reach
        gates = state[..., self.gates]
        looked_at = gates.any(axis=(0, 2)) if bool((most <= 0).all()) else np.ones(state.shape[1], dtype=bool)
        open_ones = np.flatnonzero(looked_at)
        inputs = _times(gates[:, open_ones], self.matrix)
        inputs += most
        open_ones = open_ones[~(inputs <= 0).all(axis=(0, 2))]
        return None if len(open_ones) == state.shape[1] else open_ones


def _clearing(w1: Array, b1: Array, w2: Array) -> NDArray[np.bool_]:
    """Units that read one row at weight 1 or -1 and take it away again, without a bias."""
    alone = ((w1 != 0).sum(axis=1) == 1) & ((w2 != 0).sum(axis=0) == 1) & (b1 == 0)
    row, into = np.abs(w1).argmax(axis=1), np.abs(w2).argmax(axis=0)
    units = np.arange(len(b1))
    return alone & (row == into) & (np.abs(w1[units, row]) == 1) & (w2[into, units] == -w1[units, row])


def _attend(state: Array, heads: list[_Head], listeners: _Listeners | None) -> None:
    """Eq. (1a), in place, in the columns where it matters."""
    columns = None
    if listeners is not None:
        size = max(float(state.max()), -float(state.min()))
        columns = listeners.columns(state, size * (1 + sum(head.gain for head in heads)))
        if columns is not None and not len(columns):
            return
    added = [head(state, columns) for head in heads]
    for head, one in zip(heads, added, strict=True):
        if columns is None:
            state[..., head.target] += one
        else:
            state[:, columns[:, None], head.written] += one


class _Units:
    """Eq. (1b) in place: rows that their own units clear, rows that only their own units change, and all others."""

    def __init__(self, layer: DenseLayer) -> None:
        w1, w2, b1, b2 = (matrix.numpy() for matrix in (layer.w1, layer.w2, layer.b1, layer.b2))
        shared = np.ones(len(b1), dtype=bool)
        alike: dict[tuple[tuple[float, ...], ...], list[int]] = {}
        for row in np.flatnonzero(w2.any(axis=1)):
            units = np.flatnonzero(w2[row])
            if w1[units][:, np.arange(len(b2)) != row].any() or (w2[:, units] != 0).sum() > len(units):
                continue
            shared[units] = False
            pattern = tuple((w1[unit, row], b1[unit], w2[row, unit]) for unit in units)
            alike.setdefault((*pattern, (b2[row],)), []).append(int(row))
        self.cleared = _runs(alike.pop((*_CLEAR, (0.0,)), []))
        self.alone = [
            _OwnRows(run, np.array(units), *last) for (*units, last), rows in alike.items() for run in _runs(rows)
        ]
        constants = b2.copy()
        constants[[row for rows in alike.values() for row in rows]] = 0
        self.others = _SharedRows(w1[shared], b1[shared], w2[:, shared], constants)

    def __call__(self, state: Array) -> None:
        self.others(state)  # it reads rows that the others change, and changes none of theirs
        for run in self.cleared:
            state[..., run] = 0
        for rows in self.alone:
            rows(state)


#: The two units that clear a row: weight in, bias, weight out.
_CLEAR = ((1.0, 0.0, -1.0), (-1.0, 0.0, 1.0))


class _SharedRows:
    """Units as matrices, in the columns that have something to read."""

    def __init__(self, w1: Array, b1: Array, w2: Array, b2: Array) -> None:
        self.read = np.flatnonzero(w1.any(axis=0))
        self.written = np.flatnonzero(w2.any(axis=1) | (b2 != 0))
        self.inner, self.b1 = np.ascontiguousarray(w1[:, self.read].T), b1
        self.outer, self.b2 = np.ascontiguousarray(w2[self.written].T), b2[self.written]
        self.zeros_stay = not (np.maximum(self.b1, 0) @ self.outer + self.b2).any()

    def __call__(self, state: Array) -> None:
        if not len(self.written):
            return
        read = state[..., self.read]
        columns = np.flatnonzero(read.any(axis=(0, 2))) if self.zeros_stay else np.arange(state.shape[1])
        if not len(columns):
            return
        everywhere = len(columns) == state.shape[1]
        hidden = _times(read if everywhere else read[:, columns], self.inner)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        where = (slice(None), slice(None) if everywhere else columns[:, None], self.written)
        result = state[where] + _times(hidden, self.outer)
        state[where] = result + self.b2


class _OwnRows:
    """A run of rows with the same units, each of which reads and writes its own row alone: entry by entry.

    The entries 0, 1 and -1 are left alone where the units leave them as they are.
    """

    def __init__(self, rows: slice, units: Array, constant: float) -> None:
        self.rows, self.units, self.constant = rows, units, constant
        values = np.array([0.0, 1.0, -1.0])
        self.stay = bool((self._of(values) == values).all())

    def __call__(self, state: Array) -> None:
        block = state[..., self.rows]
        if not self.stay:
            state[..., self.rows] = self._of(block)
            return
        cubes = block * block
        cubes *= block
        others = np.flatnonzero((cubes != block).any(axis=0))  # 0, 1 and -1 are their own cubes
        if len(others):
            columns, rows = np.divmod(others, block.shape[-1])
            block[:, columns, rows] = self._of(block[:, columns, rows])

    def _of(self, entries: Array) -> Array:
        added = np.zeros_like(entries)
        for weight, bias, out in self.units:
            hidden = weight * entries
            hidden += bias
            np.maximum(hidden, 0, out=hidden)
            hidden *= out
            added += hidden
        return (entries + added) + self.constant  # in the order of the layers


def _places(rows: Tensor) -> Places:
    found: Places = rows.numpy()
    return found


def _runs(rows: Sequence[int]) -> list[slice]:
    """Increasing numbers as runs of successive ones."""
    ends = [place for place, (one, other) in enumerate(pairwise(rows), start=1) if other != one + 1]
    return [slice(rows[start], rows[stop - 1] + 1) for start, stop in pairwise([0, *ends, len(rows)]) if stop > start]


def _range_of(places: Places) -> Places | slice:
    """A slice where the places follow each other: reading it copies nothing."""
    if len(places) and places[-1] - places[0] == len(places) - 1 and bool((np.diff(places) == 1).all()):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places

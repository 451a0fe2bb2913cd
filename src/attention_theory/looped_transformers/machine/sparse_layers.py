"""All layers on all columns, without the work that comes to nothing: the literal layers at a fraction of the price.

Most entries of a machine's weights and of its state are zero, and in most layers only the scratchpad changes. Each
cycle looks at the numbers at hand and leaves out what these say is nothing, for any state, as the layers would have it:

- Columns in which a ReLU layer reads the same get the same added, once; and a column in which it reads what it read in
  the cycle before gets what it got then. Where every unit reads and writes one row (the rounding of Step 6), entries 0,
  1 and -1 that the units leave alone are skipped.
- Columns that ask the same question get the same answer, once; and as long as the queries and keys of all columns but
  the first few, the scratchpad, are those of the cycle before, so is what these columns see in each other: where that
  is one column each, as far as float64 can tell, it is copied.

Nothing is known here of programs, and of the columns only how many are the scratchpad's, which costs nothing but time
where it is wrong. Sums may be taken in another order than in ``LoopedTransformer``; after the rounding
at the end of a cycle the states are equal bit for bit.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import DenseLayer, LoopedTransformer
from attention_theory.validation import ParameterError, require

_Array = NDArray[np.float64]
_Places = NDArray[np.int64]


class SparseLayers:
    """The cycle of a machine in float64 on the CPU.

    Args:
        machine: its layers.
        inverse_temperature: multiplies the scores.
        scratch: how many columns, from the first on, change in most cycles; the others are expected to stay.

    Raises:
        ParameterError: an inverse temperature below 0, no scratchpad, or a machine that is not float64 on the CPU.
    """

    def __init__(self, machine: LoopedTransformer, inverse_temperature: float, scratch: int = 1) -> None:
        require(inverse_temperature=(inverse_temperature, 0.0, None), scratch=(scratch, 1, None))
        example = machine.dense[0].w1
        if example.dtype != torch.float64 or example.device.type != "cpu":
            raise ParameterError(f"the machine must be float64 on the CPU, got {example.dtype} on {example.device}")
        self._layers = [
            ([_Head(head, inverse_temperature, scratch) for head in layer.module().heads], _Units(layer, scratch))
            for layer in machine.dense
        ]

    def cycle(self, state: Float[Tensor, "*programs columns rows"]) -> Float[Tensor, "*programs columns rows"]:
        """One pass through all layers; the state given is left as it is."""
        values = state.reshape(-1, *state.shape[-2:]).numpy().copy()
        for heads, units in self._layers:
            for head, added in [(head, head(values)) for head in heads]:
                values[..., head.target] += added
            units(values)
        return torch.from_numpy(values).reshape(state.shape)


#: What a mean in float64 does not show: so much of the values' size comes and goes with the order of its sum.
_UNSEEN = 1e-20


class _Head:
    """The matrices of one head without their zeros."""

    def __init__(self, head: Any, inverse_temperature: float, scratch: int) -> None:
        self.scratch = scratch
        self.key = _Narrow(head.key, head.key_rows)
        self.query = _Narrow(head.query, head.query_rows, inverse_temperature)
        self.value = _Narrow(head.value, head.value_rows)
        self.target = _range_of(np.flatnonzero(head.place.numpy() < head.value.shape[1]))
        self.known = _Known(np.zeros((0, 0, 0)), np.zeros((0, 0, 0)), scratch)

    def __call__(self, state: _Array) -> _Array:
        """The amount that the head adds in its rows, for every column."""
        keys, values = self.key(state), self.value(state)
        queries, scratch = self.query(state), self.scratch
        if _alike(queries, scratch):
            answers = _mean(queries[:, : scratch + 1], keys, values)
            answers = answers[:, np.minimum(np.arange(queries.shape[1]), scratch)]
        else:
            if not self.known.holds(queries, keys):
                self.known = _Known(queries, keys, scratch)
            answers = np.empty((*queries.shape[:2], values.shape[-1]))
            answers[:, :scratch] = _mean(queries[:, :scratch], keys, values)
            self.known.fill(answers[:, scratch:], queries, keys, values)
        return answers


class _Known:
    """Attention of all columns but the scratchpad's to each other: it stays as long as their queries and keys do."""

    def __init__(self, queries: _Array, keys: _Array, scratch: int) -> None:
        self.scratch = scratch
        self.queries, self.keys = queries[:, scratch:].copy(), keys[:, scratch:].copy()
        if queries.size:
            scores = self.queries @ self.keys.swapaxes(-1, -2)
            self.best = scores.max(axis=-1, keepdims=True)
            scores -= self.best
            self.weights = np.exp(scores, out=scores)
            self.total = self.weights.sum(axis=-1, keepdims=True)
            self.partner = self._partners()

    def _partners(self) -> _Places | None:
        """The one column that each column sees, where all others together weigh less than rounding; else nothing."""
        alone = np.count_nonzero(self.weights > _UNSEEN) == self.total.size  # the largest weight of a column is 1
        return self.weights.argmax(axis=-1) if alone else None

    def holds(self, queries: _Array, keys: _Array) -> bool:
        """Test whether they are what they were."""
        scratch = self.scratch
        return np.array_equal(self.queries, queries[:, scratch:]) and np.array_equal(self.keys, keys[:, scratch:])

    def fill(self, means: _Array, queries: _Array, keys: _Array, values: _Array) -> None:
        """Write the softmax means of all columns but the scratchpad's, which they look at as well."""
        others, seen = values[:, self.scratch :], values[:, : self.scratch]
        scores = queries[:, self.scratch :] @ keys[:, : self.scratch].swapaxes(-1, -2)
        best = np.maximum(scores.max(axis=-1, keepdims=True), self.best)
        old, new = np.exp(self.best - best), np.exp(scores - best)
        if self.partner is None:
            means[:] = (old * (self.weights @ others) + new @ seen) / (
                old * self.total + new.sum(axis=-1, keepdims=True)
            )
            return
        means[:] = others[np.arange(len(others))[:, None], self.partner]
        programs, columns = np.nonzero(
            new.max(axis=-1) > _UNSEEN * old[..., 0]
        )  # the scratchpad is nothing to the rest
        old, new, total = (one[programs, columns] for one in (old, new, self.total))
        mixed = old * means[programs, columns] + (new[:, None] @ seen[programs])[:, 0]
        means[programs, columns] = mixed / (old * total + new.sum(axis=-1, keepdims=True))


def _alike(rows: _Array, scratch: int) -> bool:
    """Test whether all columns but the scratchpad's hold the same."""
    return bool((rows[:, scratch + 1 :] == rows[:, scratch : scratch + 1]).all())


class _Narrow:
    """A matrix that reads some rows of a state."""

    def __init__(self, matrix: Tensor, read: Tensor, factor: float = 1.0) -> None:
        self.read = _range_of(read.numpy())
        self.matrix = np.ascontiguousarray(factor * matrix.numpy())
        self.copies = np.array_equal(self.matrix, np.eye(*self.matrix.shape))

    def __call__(self, state: _Array) -> _Array:
        rows: _Array = state[..., self.read]
        return rows if self.copies else _times(rows, self.matrix)


def _times(rows: _Array, matrix: _Array) -> _Array:
    """``rows @ matrix`` as a single product of matrices."""
    return rows.reshape(-1, rows.shape[-1]).dot(matrix).reshape(*rows.shape[:-1], matrix.shape[1])


def _mean(queries: _Array, keys: _Array, values: _Array) -> _Array:
    """The softmax means of the values."""
    scores = queries @ keys.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    result: _Array = weights @ values
    result /= weights.sum(axis=-1, keepdims=True)
    return result


class _Units:
    """Eq. (1b) in place: rows that their own units clear, rows that only their own units change, and all others."""

    def __init__(self, layer: DenseLayer, scratch: int) -> None:
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
        self.others = _SharedRows(w1[shared], b1[shared], w2[:, shared], constants, scratch)

    def __call__(self, state: _Array) -> None:
        self.others(state)  # it reads rows that the others change, and changes none of theirs
        for run in self.cleared:
            state[..., run] = 0
        for rows in self.alone:
            rows(state)


#: The two units that clear a row: weight in, bias, weight out.
_CLEAR = ((1.0, 0.0, -1.0), (-1.0, 0.0, 1.0))


class _SharedRows:
    """Units as matrices, in the columns that read anything new."""

    def __init__(self, w1: _Array, b1: _Array, w2: _Array, b2: _Array, scratch: int) -> None:
        self.scratch = scratch
        self.read = np.flatnonzero(w1.any(axis=0))
        self.written = np.flatnonzero(w2.any(axis=1) | (b2 != 0))
        self.inner, self.b1 = np.ascontiguousarray(w1[:, self.read].T), b1
        self.outer, self.b2 = np.ascontiguousarray(w2[self.written].T), b2[self.written]
        self.ones = np.ones(len(self.read))
        self.known, self.added = np.zeros((0, 0)), np.zeros((0, 0))
        self.adds: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def __call__(self, state: _Array) -> None:
        if not len(self.written):
            return
        read, scratch = state[..., self.read], self.scratch
        if _alike(read, scratch):
            added = self._of(read[:, : scratch + 1])
            state[:, :scratch, self.written] += added[:, :scratch]
            if added[:, scratch:].any():
                state[:, scratch:, self.written] += added[:, scratch:]
            return
        rows = read.reshape(-1, read.shape[-1])
        if self.known.shape != rows.shape:  # what zeros are answered with is known
            self.known = np.zeros_like(rows)
            self.added = np.tile(self._of(self.known[:1]), (len(rows), 1))
            self.adds = np.asarray(self.added.any(axis=1))
        change = rows - self.known
        changed = np.flatnonzero(np.abs(change, out=change) @ self.ones)  # a sum is faster than asking each row
        added = self._of(rows[changed])
        self.added[changed], self.adds[changed], self.known = added, added.any(axis=1), rows
        here = np.flatnonzero(self.adds)
        state.reshape(-1, state.shape[-1])[here[:, None], self.written] += self.added[here]

    def _of(self, read: _Array) -> _Array:
        """The amounts that are added where these rows are read."""
        hidden = _times(read, self.inner)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        return _times(hidden, self.outer) + self.b2


class _OwnRows:
    """A run of rows with the same units, each of which reads and writes its own row alone: entry by entry."""

    def __init__(self, rows: slice, units: _Array, constant: float) -> None:
        self.rows, self.units, self.constant = rows, units, constant
        signs = np.array([0.0, 1.0, -1.0])
        self.signs_stay = bool((self._of(signs) == signs).all())

    def __call__(self, state: _Array) -> None:
        block = state[..., self.rows]
        if not self.signs_stay:
            block[:] = self._of(block)
            return
        others = np.flatnonzero((block != 0) & (block != 1) & (block != -1))
        if len(others):
            entries = np.unravel_index(others, block.shape)
            block[entries] = self._of(block[entries])

    def _of(self, entries: _Array) -> _Array:
        added = np.zeros_like(entries)
        for weight, bias, out in self.units:
            hidden = weight * entries
            hidden += bias
            np.maximum(hidden, 0, out=hidden)
            hidden *= out
            added += hidden
        return (entries + added) + self.constant  # in the order of the layers


def _runs(rows: Sequence[int]) -> list[slice]:
    """Increasing numbers as runs of successive ones."""
    ends = [place for place, (one, other) in enumerate(pairwise(rows), start=1) if other != one + 1]
    return [slice(rows[start], rows[stop - 1] + 1) for start, stop in pairwise([0, *ends, len(rows)]) if stop > start]


def _range_of(places: _Places) -> _Places | slice:
    """A slice where the places follow each other: reading it copies nothing."""
    if len(places) and places[-1] - places[0] == len(places) - 1 and bool((np.diff(places) == 1).all()):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places

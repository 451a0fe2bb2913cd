"""The SUBLEQ machine with less work: what the structure of the input cannot change is not computed.

Between two cycles only the scratchpad column and the memory can differ from what was loaded. So only the scratchpad
attends to all columns (the paper's own remark under "Do we need full attention?"), a memory column attends to itself
and to the scratchpad, in the layer that writes, and hidden units are cut down to those that meet a row in use. All
weights are blocks of the machine's dense matrices. The rounding of the last layer erases all that is left out:
where the machine is exact the two agree, state by state. :class:`LoopedTransformer` is the literal form.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from attention_theory.looped_transformers.machine.codes import from_bits
from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import ParameterError, refuse_unless, require

_Array = NDArray[np.float64]


class SubleqRunner:
    """Run programs of one shape side by side on a machine with one scratchpad column.

    Args:
        machine: in float64, on the CPU, with one scratchpad column and a row for each bit.
        programs: one or more, as :meth:`SubleqMachine.load` takes them.
        inverse_temperature: multiplies the scores.

    Raises:
        ParameterError: a machine of another kind.
    """

    def __init__(
        self, machine: SubleqMachine, programs: Sequence[SubleqProgram], inverse_temperature: float = 30.0
    ) -> None:
        require(inverse_temperature=(inverse_temperature, 0.0, None))
        refuse_unless(
            machine.scratch == 1 and not machine.real,
            f"machine must have one scratch column and keep bits, got scratch={machine.scratch}, real={machine.real}",
        )
        if machine.dtype != torch.float64 or machine.device.type != "cpu":
            raise ParameterError(f"the machine must be float64 on the CPU, got {machine.dtype} on {machine.device}")
        self.machine, self.program, rows = machine, programs[0], machine.rows
        self._loaded = machine.load(programs)
        kept = {"command", "memory", "encoding", "idle"}  # rows that are 0 in the scratchpad
        self._live = [row for name, block in rows.blocks.items() if name not in kept for row in block]
        self._columns = slice(1, 1 + len(self.program.memory))
        self._scratchpad: _Array = self._loaded[:, 0, self._live].numpy().copy()
        self._cells: _Array = rows.view(self._loaded, "memory")[:, self._columns].numpy().copy()
        write = machine.writing_layer
        self._layers = [
            ([_Read(head, self, inverse_temperature) for head in layer.heads], _Units(layer, self._live))
            for layer in machine.dense
        ]
        self._write = _Write(machine.dense[write], self, inverse_temperature)
        self._rounding = _Units(machine.dense[-1], list(rows["memory"]))

    def cycle(self) -> None:
        """Execute one instruction of every program."""
        for place, (reads, units) in enumerate(self._layers):
            before, cells = self._scratchpad, self._cells
            if place == self.machine.writing_layer:
                self._cells = self._write(before, cells)
            for read in reads:
                self._scratchpad = self._scratchpad + read(before, cells)
            self._scratchpad = units(self._scratchpad)
        self._cells = self._rounding(self._cells)

    def counters(self) -> Int[Tensor, " programs"]:
        """The number of the instruction to come, of every program."""
        places = [self._live.index(row) for row in self.machine.rows["counter"]]
        return from_bits(torch.from_numpy(self._scratchpad[:, places])) - self._columns.stop

    def memories(self) -> Int[Tensor, "programs cells"]:
        """The integers in the memory of every program."""
        return from_bits(torch.from_numpy(self._cells), signed=True)

    def state(self) -> Float[Tensor, "programs columns rows"]:
        """The whole states, as the dense layers have them."""
        state = self._loaded.clone()
        state[:, 0, self._live] = torch.from_numpy(self._scratchpad)
        self.machine.rows.view(state, "memory")[:, self._columns] = torch.from_numpy(self._cells)
        return state

    @property
    def multiplications(self) -> int:
        """Multiplications by weights, by attention weights and of queries with keys, in one cycle of one program."""
        reads = sum(read.multiplications for heads, _ in self._layers for read in heads)
        units = sum(units.multiplications for _, units in self._layers)
        cells = len(self.program.memory)
        return reads + units + self._write.multiplications + cells * self._rounding.multiplications

    def fixed(self, name: str) -> _Array:
        """The rows of a block in the columns after the scratchpad, as loaded: (programs, columns - 1, block)."""
        return self.machine.rows.view(self._loaded, name)[:, 1:].numpy()

    def encodings(self, matrix: Float[Tensor, "k rows"]) -> _Array:
        """``matrix`` times the encoding and idle rows of the columns after the scratchpad: (columns - 1, k)."""
        names = [name for name in ("encoding", "idle") if name in self.machine.rows.blocks]
        return sum(self.fixed(name)[0] @ _block(matrix, self.machine.rows[name]).T for name in names)


class _Read:
    """One head, for the scratchpad column as the only query."""

    def __init__(self, head: DenseHead, runner: SubleqRunner, inverse_temperature: float) -> None:
        rows, live = runner.machine.rows, runner._live
        query, own_key, value = (
            inverse_temperature * _block(head.query, live).T,
            _block(head.key, live).T,
            head.value[live],
        )
        self.to_columns = np.ascontiguousarray(query @ runner.encodings(head.key).T)
        self.ones = np.ones((self.to_columns.shape[1], 1))
        #: Scores of the scratchpad with itself are 0 where no row of its query meets one of its key.
        meets = query.any(axis=0) & own_key.any(axis=0)
        self.own = (np.ascontiguousarray(query[:, meets]), np.ascontiguousarray(own_key[:, meets]))
        self.meets_itself = bool(meets.any())
        self.own_value = _matrix_or_none(_block(value, live).T)
        self.from_cells = _matrix_or_none(_block(value, rows["memory"]).T)
        self.cells = slice(0, len(runner.program.memory))
        commands = _matrix_or_none(_block(value, rows["command"]).T)
        self.commands = None if commands is None else runner.fixed("command") @ commands

    @property
    def multiplications(self) -> int:
        columns, own = len(self.ones), sum(matrix.size for matrix in self.own) + self.own[0].shape[1]
        matrices = sum(matrix.size for matrix in (self.own_value, self.from_cells) if matrix is not None)
        copied = self.cells.stop * (0 if self.from_cells is None else len(self.from_cells))
        copied += 0 if self.commands is None else columns * self.commands.shape[2]
        return self.to_columns.size + own * self.meets_itself + matrices + copied

    def __call__(self, scratchpad: _Array, cells: _Array) -> _Array:
        scores = scratchpad.dot(self.to_columns)
        best = np.maximum.reduce(scores, axis=1, keepdims=True)
        own: _Array | float = 0.0
        if self.meets_itself:
            own = np.add.reduce(scratchpad.dot(self.own[0]) * scratchpad.dot(self.own[1]), axis=1, keepdims=True)
        best = np.maximum(best, own)
        scores -= best
        weights, own_weight = np.exp(scores, out=scores), np.exp(own - best)
        total = weights.dot(self.ones) + own_weight
        parts = []
        if self.own_value is not None:
            parts.append(own_weight * scratchpad.dot(self.own_value))
        if self.from_cells is not None:
            parts.append(np.matmul(weights[:, None, self.cells], cells)[:, 0].dot(self.from_cells))
        if self.commands is not None:
            parts.append(np.matmul(weights[:, None], self.commands)[:, 0])
        return sum(parts[1:], start=parts[0]) / total


class _Write:
    """The layer that writes, for the memory columns: each attends to the scratchpad and to itself."""

    def __init__(self, layer: DenseLayer, runner: SubleqRunner, inverse_temperature: float) -> None:
        (head,) = layer.heads
        rows, live, cells = runner.machine.rows, runner._live, slice(0, len(runner.program.memory))
        queries, keys = runner.encodings(head.query)[cells], runner.encodings(head.key)[cells]
        self.own = inverse_temperature * (queries * keys).sum(axis=1)
        self.to_scratchpad = np.ascontiguousarray(inverse_temperature * _block(head.key, live).T @ queries.T)
        buffer = [row for row in range(rows.size) if head.value[row].any()]
        self.from_scratchpad = np.ascontiguousarray(_block(head.value[buffer], live).T)
        self.from_memory = np.ascontiguousarray(_block(head.value[buffer], rows["memory"]).T)
        self.units = _Units(layer, [*rows["memory"], *buffer])
        self.bits = len(rows["memory"])

    @property
    def multiplications(self) -> int:
        each = self.from_memory.size + self.from_memory.shape[1] + self.units.multiplications
        return self.to_scratchpad.size + self.from_scratchpad.size + len(self.own) * each

    def __call__(self, scratchpad: _Array, cells: _Array) -> _Array:
        share = 1 / (1 + np.exp(self.own - scratchpad.dot(self.to_scratchpad)))
        both = np.empty((*cells.shape[:2], cells.shape[2] + self.from_memory.shape[1]))
        kept, buffer = both[:, :, : self.bits], both[:, :, self.bits :]
        kept[:] = cells
        np.matmul(cells, self.from_memory, out=buffer)
        buffer += share[:, :, None] * (scratchpad.dot(self.from_scratchpad)[:, None] - buffer)
        return self.units(both)[:, :, : self.bits]


class _Units:
    """The ReLU units of a layer where only ``rows`` may differ from zero, with their effect on these rows."""

    def __init__(self, layer: DenseLayer, rows: Sequence[int]) -> None:
        w1, w2 = _block(layer.w1, rows), _block(layer.w2.T, rows)
        b1, idle = layer.b1.numpy(), ~w1.any(axis=1)
        used = ~idle & w2.any(axis=1)
        b2 = layer.b2[list(rows)].numpy() + np.maximum(b1[idle], 0) @ w2[idle]
        self.b2 = b2 if b2.any() else None
        self.w1, self.b1, self.w2 = np.ascontiguousarray(w1[used].T), b1[used], np.ascontiguousarray(w2[used])

    @property
    def multiplications(self) -> int:
        return self.w1.size + self.w2.size

    def __call__(self, values: _Array) -> _Array:
        flat = values.reshape(-1, values.shape[-1])
        hidden = flat.dot(self.w1)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        result = hidden.dot(self.w2)
        result += flat
        if self.b2 is not None:
            result += self.b2
        return result.reshape(values.shape)


def _block(matrix: Float[Tensor, "some rows"], rows: Sequence[int]) -> _Array:
    """The columns of a weight matrix that belong to ``rows``."""
    return matrix[:, list(rows)].numpy()


def _matrix_or_none(matrix: _Array) -> _Array | None:
    return np.ascontiguousarray(matrix) if matrix.any() else None

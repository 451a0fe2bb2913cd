"""Function blocks and their common format (Definition 1, Section I).

A block finds A in the first ``d`` columns of its ``d`` rows and B in the next ``d``; after its layers f(A, B) lies
in the ``d`` columns after those. Some fixed rows, the *template*, tell a column where it stands. The same declarations
serve a block alone (:func:`run_block`) and inside the FLEQ machine.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.limit import limit_piece
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import require

#: Closes a unit through a row that is exactly 0 in the open columns, so that it costs the open ones no digits.
CLOSED = -1e9


@dataclass(frozen=True)
class BlockSetting:
    """The surroundings of a block.

    Attributes:
        size: ``d``.
        columns: of the whole state, all of which take part in every softmax.
        inverse_temperature: the factor on the scores. It is global, so blocks that need a soft attention divide by it.
    """

    size: int
    columns: int
    inverse_temperature: float

    @property
    def bits(self) -> int:
        """Of a position within ``d`` columns."""
        return max(1, math.ceil(math.log2(self.size)))

    @property
    def template(self) -> dict[str, int]:
        """The sizes of the rows that all blocks share.

        ``index`` and ``group`` number the first d² columns as d groups of d; ``in a``, ``in b`` and ``in out`` are the
        index again, but only in the columns of A, of B and of the result; the rows of one bit mark columns.
        """
        codes = dict.fromkeys(("index", "group", "in a", "in b", "in out"), self.bits)
        return codes | dict.fromkeys(("not a", "not b", "not out", "first", "not first", "scratch"), 1)

    def fill(self, state: Float[Tensor, "... columns rows"], rows: Rows) -> None:
        """Write the shared rows into the first columns of a state."""
        size, square = self.size, self.size**2
        code = sign_code(size, self.bits, device=state.device)
        rows.view(state, "index")[..., :square, :] = code.repeat(size, 1)
        rows.view(state, "group")[..., :square, :] = code.repeat_interleave(size, 0)
        for place, name in enumerate(("a", "b", "out")):
            own = slice(place * size, (place + 1) * size)
            rows.view(state, f"in {name}")[..., own, :] = code
            rows.view(state, f"not {name}")[...] = 1
            rows.view(state, f"not {name}")[..., own, :] = 0
        rows.view(state, "not first")[..., 1:, :] = 1
        rows.view(state, "first")[..., 0, :] = 1
        rows.view(state, "scratch")[..., : scratch_columns(size), :] = 1


class FunctionBlock(ABC):
    """A transformer-based function block: some layers that compute one function (Definition 1).

    Attributes:
        name: of the block, of its ``d`` rows of input and output, and of the function in programs.
        depth: the number of layers.
        reads_second: whether B is handed over.
    """

    name: str
    depth: int
    reads_second: bool = True

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        """The rows a block needs beside its input rows, by name."""
        return {}

    def fill(self, state: Float[Tensor, "... columns rows"], rows: Rows, setting: BlockSetting) -> None:
        """Write the fixed entries of the block's rows into a state; there are none unless a block says so."""
        return

    @abstractmethod
    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        """Add the heads and units of the block's layer number ``stage``, from 0."""

    @abstractmethod
    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        """The function that the block computes."""


def scratch_columns(size: int) -> int:
    """``s``: 4d for the product, d² for the transpose; at least 3d in the paper, more where a block needs them."""
    return max(4 * size, size * size)


def copy_to_result(layer: Layer, source: list[int], target: list[int], place: str, rows: Rows) -> None:
    """A head that fetches ``source`` from the columns of A or B (``place``) into ``target`` of the result's columns."""
    layer.head(f"copy from {place}", combine(rows[f"in {place}"]), combine(rows["in out"]), moves(source, target))


@dataclass(frozen=True)
class _BlockRun:
    """A block that ran alone.

    Attributes:
        result: f(A, B) as found in its columns.
        state: all columns and rows at the end.
        rows: their names.
        machine: the layers.
    """

    result: Float[Tensor, "... d d"]
    state: Float[Tensor, "... columns rows"]
    rows: Rows
    machine: LoopedTransformer


def run_block(
    block: FunctionBlock,
    a: Float[Tensor, "... d d"],
    b: Float[Tensor, "... d d"],
    inverse_temperature: float = 40.0,
    columns: int | None = None,
    spare: int = 0,
) -> _BlockRun:
    """Run a block alone on a batch of operands.

    Args:
        block: the function block.
        a, b: operands, zero-padded to d by d; leading dimensions are a batch.
        inverse_temperature: factor on the scores, above 0.
        columns: what the block is told the number of columns is; the true number unless given.
        spare: columns added that hold nothing.

    Raises:
        ParameterError: an inverse temperature that is not positive, a negative number of spare columns.
    """
    require(inverse_temperature=(inverse_temperature, 1e-6, None), spare=(spare, 0, None))
    size = a.shape[-1]
    count = scratch_columns(size) + spare
    setting = BlockSetting(size, count if columns is None else columns, inverse_temperature)
    rows, machine, state = _alone(block, a, b, setting, count)
    state = machine.cycle(state, inverse_temperature)
    return _BlockRun(rows.view(state, block.name)[..., 2 * size : 3 * size, :].mT, state, rows, machine)


def block_limit(
    block: FunctionBlock, a: Float[Tensor, "d d"], b: Float[Tensor, "d d"], inverse_temperature: float = 40.0
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "entries d d"]]:
    """The limit of a block's result as the scores' factor grows, with the weights for ``inverse_temperature`` kept.

    Returns:
        The limit, and its derivatives by the entries of A and then of B, column by column.

    Raises:
        ParameterError: an inverse temperature that is not positive; operands at which the limit jumps or bends.
    """
    require(inverse_temperature=(inverse_temperature, 1e-6, None))
    size = a.shape[-1]
    setting = BlockSetting(size, scratch_columns(size), inverse_temperature)
    rows, machine, state = _alone(block, a, b, setting, setting.columns)
    columns = (2 if block.reads_second else 1) * size
    directions = state.new_zeros(columns * size, *state.shape)
    unit = torch.eye(columns * size, dtype=state.dtype, device=state.device).unflatten(1, (columns, size))
    rows.view(directions, block.name)[:, :columns] = unit
    piece = limit_piece(machine.dense, state, directions)
    result = slice(2 * size, 3 * size)
    return rows.view(piece.value, block.name)[result].mT, rows.view(piece.derivative, block.name)[:, result].mT


def _alone(
    block: FunctionBlock,
    a: Float[Tensor, "... d d"],
    b: Float[Tensor, "... d d"],
    setting: BlockSetting,
    count: int,
) -> tuple[Rows, LoopedTransformer, Float[Tensor, "... columns rows"]]:
    """The rows and layers of a block alone, and the state of so many columns that holds its operands."""
    size = a.shape[-1]
    rows = Rows(**{block.name: size}, **block.sizes(setting), **setting.template)
    layers = [Layer(rows, f"{block.name} {stage + 1}") for stage in range(block.depth)]
    for stage, layer in enumerate(layers):
        block.declare(layer, stage, setting)
    machine = LoopedTransformer(rows, layers, device=a.device)
    state = torch.zeros(*a.shape[:-2], count, rows.size, dtype=torch.float64, device=a.device)
    setting.fill(state, rows)
    block.fill(state, rows, setting)
    data = rows.view(state, block.name)
    data[..., :size, :] = a.mT
    if block.reads_second:
        data[..., size : 2 * size, :] = b.mT
    return rows, machine, state

"""One head a layer: all function blocks of the FLEQ machine in the same heads (Lemmas 7, 8, 9 and 23).

Theorem 2 gives every block separate heads. But only one block has an instruction to work on: with the keys of all
blocks one below the other and their values side by side, one head serves the block that is chosen. The others must
query with nothing and add nothing. Their data are zero; the fixed rows that their queries and values use are not. Each
block therefore gets copies of these, and step 3 fills the copies of the chosen block only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from attention_theory.looped_transformers.blocks.base import BlockSetting, FunctionBlock
from attention_theory.looped_transformers.machine.layers import Head, Layer
from attention_theory.rows import Combination, Rows

#: ``one``: the blocks share their heads, and one head reads the operands. ``several``: as in the proof of Theorem 2,
#: where every block has its own and three heads read.
HeadSharing = Literal["one", "several"]


@dataclass(frozen=True)
class _Fixed:
    """Rows with fixed entries: those that all blocks share, and those that a block fills for itself."""

    shared: frozenset[int]
    own: frozenset[int]


def _fixed(block: FunctionBlock, rows: Rows, setting: BlockSetting) -> _Fixed:
    state = torch.zeros(setting.columns, rows.size, dtype=torch.float64, device="cpu")
    block.fill(state, rows, setting)
    own = state.ne(0).any(0).nonzero().flatten().tolist()
    return _Fixed(frozenset(row for name in setting.template for row in rows[name]), frozenset(own))


def _alone(block: FunctionBlock, stage: int, rows: Rows, setting: BlockSetting) -> Layer:
    """The layer of a block alone."""
    layer = Layer(rows, block.name)
    if stage < block.depth:
        block.declare(layer, stage, setting)
    return layer


def rows_to_copy(block: FunctionBlock, rows: Rows, setting: BlockSetting) -> list[int]:
    """The fixed rows through which a block asks or adds something even if it has no data.

    These are all in its queries and values, and its private ones that its hidden units read.
    """
    fixed, used = _fixed(block, rows, setting), set[int]()
    for stage in range(block.depth):
        layer = _alone(block, stage, rows, setting)
        for head in layer.heads:
            asked = [*head.queries, *(combination for combination, _ in head.values)]
            used |= {row for combination in asked for row in combination} & (fixed.shared | fixed.own)
        used |= {row for unit in layer.units for row in unit.inputs} & fixed.own
    return sorted(used)


def merged_layers(
    blocks: Sequence[FunctionBlock], rows: Rows, setting: BlockSetting, copies: Mapping[str, Mapping[int, int]]
) -> list[Layer]:
    """Step 4 with shared heads: a layer has as many as the block that has most, not as all of them together.

    Args:
        blocks: the function blocks.
        rows: where everything lies.
        setting: what a block has to know of its surroundings.
        copies: by the block's name, where its copies of fixed rows lie.
    """
    layers = []
    for stage in range(max(block.depth for block in blocks)):
        layer, declared = Layer(rows, f"4.{stage + 1} blocks"), []
        for block in blocks:
            alone, here = _alone(block, stage, rows, setting), copies.get(block.name, {})
            declared.append([_through_copies(head, here) for head in alone.heads])
            own = {row: here[row] for row in _fixed(block, rows, setting).own & here.keys()}
            for unit in alone.units:
                layer.unit(unit.name, _renamed(unit.inputs, own), unit.outputs, unit.bias)
        for number in range(max(len(heads) for heads in declared)):
            _merge(layer, [heads[number] for heads in declared if number < len(heads)])
        layers.append(layer)
    return layers


def _merge(layer: Layer, heads: Sequence[Head]) -> None:
    """Several heads as one: keys and queries one below the other, values side by side."""
    layer.head(
        " + ".join(head.name for head in heads),
        [key for head in heads for key in head.keys],
        [query for head in heads for query in head.queries],
        [value for head in heads for value in head.values],
    )


def _through_copies(head: Head, copies: Mapping[int, int]) -> Head:
    """The head with its queries and values reading the copies; keys may stay, for nobody asks."""
    queries = [_renamed(query, copies) for query in head.queries]
    return Head(head.name, head.keys, queries, [(_renamed(value, copies), target) for value, target in head.values])


def _renamed(combination: Combination, names: Mapping[int, int]) -> Combination:
    return {names.get(row, row): weight for row, weight in combination.items()}

"""Named rows: a paper's row blocks (memory, pointer, position, an attribute's letters) without index arithmetic.

Papers that build machines write a state as a matrix of rows by columns, one column a token. Here tokens lead, as
everywhere in the package: a state is ``(..., columns, rows)``, the transpose of the paper's ``X`` or ``Z``. A *row* of
the paper is an index into the last axis; a *column* of the paper is an index into the axis before it. Nothing else is
turned round: ``K``, ``Q``, ``V``, ``W1`` and ``W2`` are the paper's matrices and multiply a column from the left.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from attention_theory.validation import ParameterError, refuse_unless

#: A linear combination of rows: weight by row.
Combination = dict[int, float]


class Rows:
    """Blocks of rows by name, in the order given.

        rows = Rows(memory=8, pointer=4, encoding=4, indicator=1)
        rows["pointer"]             # range(8, 12), and can be sliced further: rows["pointer"][:2]
        rows.indices("pointer")     # the same as a tensor
        rows.view(state, "memory")  # the view (..., columns, 8) of a state
        rows.size                   # 17, the width of the transformer
        rows.blocks                 # every name with its range

    Args:
        sizes: the number of rows of each block, at least 1. More blocks can be added.

    Raises:
        ParameterError: a block without rows.
    """

    def __init__(self, /, **sizes: int) -> None:
        self.blocks: dict[str, range] = {}
        self.size = 0
        for name, size in sizes.items():
            self.add(name, size)

    def add(self, name: str, size: int) -> range:
        """Give ``size`` new rows to ``name`` and return them.

        Raises:
            ParameterError: the size is not positive, or the name is taken.
        """
        refuse_unless(size >= 1, f"rows of {name} must be at least 1, got {size}")
        if name in self.blocks:
            raise ParameterError(f"rows of {name} are given out already")
        self.blocks[name] = range(self.size, self.size + size)
        self.size += size
        return self.blocks[name]

    def __getitem__(self, name: str) -> range:
        return self.blocks[name]

    def __contains__(self, name: str) -> bool:
        return name in self.blocks

    def indices(self, name: str, device: torch.device | str = "cpu") -> Int[Tensor, " block"]:
        """The rows of ``name`` as a tensor, to index with and to pick from."""
        return torch.arange(self.blocks[name].start, self.blocks[name].stop, device=device)

    def view(self, state: Shaped[Tensor, "... columns rows"], name: str) -> Shaped[Tensor, "... columns block"]:
        """The block ``name`` of a state: a view, so that assigning to it changes the state."""
        block = self.blocks[name]
        return state[..., block.start : block.stop]


def combine(*blocks: Sequence[int], weights: Sequence[float] | None = None) -> list[Combination]:
    """Row by row sums of blocks of equal length: the matrix ``[.. w1 I .. w2 I ..]`` of the paper.

    ``combine(rows["pointer"], rows["encoding"])`` is the key and query ``[0 .. I I .. 0]`` of Lemma 3.

    Args:
        blocks: blocks of equal length; one of length 1 is not stretched.
        weights: one weight a block, 1 unless given.

    Raises:
        ValueError: blocks of different lengths, or another number of weights than blocks.
    """
    shares = [1.0] * len(blocks) if weights is None else list(weights)
    combinations: list[Combination] = []
    for together in zip(*blocks, strict=True):
        combination: Combination = {}
        for row, share in zip(together, shares, strict=True):
            combination[row] = combination.get(row, 0.0) + share
        combinations.append(combination)
    return combinations


def moves(source: Sequence[int], target: Sequence[int], weight: float = 1.0) -> list[tuple[Combination, int]]:
    """The entries of a value matrix that adds ``weight`` times block ``source`` into block ``target``, row by row.

    Raises:
        ValueError: blocks of different lengths.
    """
    return [({row: weight}, into) for row, into in zip(source, target, strict=True)]

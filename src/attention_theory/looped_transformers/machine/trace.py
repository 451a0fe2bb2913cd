"""A machine watched layer by layer, and its state as a picture with named rows."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from attention_theory.layers import Rule
from attention_theory.looped_transformers.machine.layers import LoopedTransformer
from attention_theory.rows import Rows
from attention_theory.validation import require


@dataclass(frozen=True)
class Moment:
    """The state after one layer: ``cycle`` and ``layer`` count from 1, and 0 is the state at the start."""

    cycle: int
    layer: int
    name: str
    state: Float[Tensor, "... columns rows"]


def trace(
    machine: LoopedTransformer,
    state: Float[Tensor, "... columns rows"],
    cycles: int = 1,
    inverse_temperature: float = 30.0,
    rule: Rule = "softmax",
) -> list[Moment]:
    """The states at the start and after every layer of ``cycles`` passes, in order.

    Raises:
        ParameterError: cycles below 1.
    """
    require(cycles=(cycles, 1, None))
    moments = [Moment(0, 0, "start", state)]
    for cycle in range(1, cycles + 1):
        for place, (layer, dense) in enumerate(zip(machine.layers, machine.dense, strict=True), start=1):
            state = dense(state, inverse_temperature, rule)
            moments.append(Moment(cycle, place, layer.name, state))
    return moments


def draw_state(
    axis: Any,
    state: Float[Tensor, "columns rows"],
    rows: Rows,
    blocks: Sequence[str] | None = None,
    limit: float = 1.0,
    cmap: Any = "RdBu",
) -> Any:
    """Draw a state as the paper writes it, rows down and columns across, each block of rows named at the left.

    Args:
        axis: a matplotlib axis.
        state: one state.
        rows: its named rows.
        blocks: the blocks to show, all unless given.
        limit: the colours run from ``-limit`` to ``limit``.
        cmap: matplotlib's colour map or its name; negative entries are red and positive ones blue unless given.

    Returns:
        The matplotlib image, for a colour bar.
    """
    shown = list(rows.blocks) if blocks is None else list(blocks)
    order = [row for name in shown for row in rows[name]]
    picture = state[:, order].mT.detach().cpu().numpy()
    image = axis.imshow(picture, aspect="auto", cmap=cmap, vmin=-limit, vmax=limit, interpolation="nearest")
    edges = [0]
    for name in shown:
        edges.append(edges[-1] + len(rows[name]))
    axis.set_yticks([(low + high - 1) / 2 for low, high in itertools.pairwise(edges)], shown)
    for edge in edges[1:-1]:
        axis.axhline(edge - 0.5, color="0.5", linewidth=0.6)
    axis.grid(False)
    axis.set_xlabel("column")
    return image

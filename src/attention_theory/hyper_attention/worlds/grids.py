"""Colliding agents with two coordinates, and with labels (Appendix B.1.3).

A cell of an N by N grid is a symbol, ``x * N + y``; a labelled agent is ``label * N * N + x * N + y``. The code of a
symbol is the Kronecker product of the codes of its parts, and Theorem 3.1 does the rest.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.validation import FORMS, Form, require

#: The policies of labelled agents: one step right, one step up.
_STEPS = {"R": (1, 0), "U": (0, 1)}


def _differences(
    grid: int, device: torch.device | str = "cpu"
) -> tuple[Int[Tensor, "cells cells"], Int[Tensor, "cells cells"]]:
    """Differences in x and in y of every ordered pair of cells, not wrapped."""
    cells = torch.cartesian_prod(*[torch.arange(grid, device=device)] * 2)
    apart = cells[:, None] - cells[None, :]
    return apart[..., 0], apart[..., 1]


def shift_invariant_effect(kernel: Float[Tensor, "grid grid"]) -> Float[Tensor, "cells cells"]:
    """The effect ``kernel[(x_i - x_j) mod N, (y_i - y_j) mod N]`` for every ordered pair of cells (Appendix B.1.3)."""
    grid = kernel.shape[0]
    across, along = _differences(grid, kernel.device)
    return kernel[across % grid, along % grid]


def distance_effect(
    grid: int, radius: int, far: int, looped_x: bool = True, form: Form = "correct"
) -> Float[Tensor, "cells cells"]:
    """The example of two coordinates: a collision costs 1, and 9 more if the agents began far apart.

    Collisions are decided in y, which is looped. Far means at least ``far`` apart in the larger of the two coordinate
    distances; with ``looped_x`` both coordinates loop. ``form="printed"`` charges the 9 when the agents began *near*,
    and does not loop y in the collision, as the formula of Appendix B.1.3 has it.

    Raises:
        ParameterError: a grid below 2, a negative distance, or an unknown form.
    """
    require(grid=(grid, 2, None), radius=(radius, 0, None), far=(far, 0, None), form=(form, FORMS))
    across, along = (difference.abs() for difference in _differences(grid))
    looped = torch.minimum(along, grid - along)
    apart = torch.maximum(torch.minimum(across, grid - across) if looped_x else across, looped)
    collide = (looped if form == "correct" else along) <= 2 * radius
    dear = apart >= far if form == "correct" else apart <= far
    return collide.to(torch.float64) * (1 + 9 * dear.to(torch.float64))


def labelled_effect(grid: int) -> Float[Tensor, "agents agents"]:
    """Test whether two labelled agents ever share a cell of a torus, found by moving them, for every ordered pair.

    Agents labelled R step right and those labelled U step up, both coordinates looped, for one round of ``grid`` steps
    (the non-identical agents of Appendix B.1.3).

    Raises:
        ParameterError: a grid below 2.
    """
    require(grid=(grid, 2, None))
    cells = torch.cartesian_prod(torch.arange(grid), torch.arange(grid))
    starts = torch.cat([cells] * len(_STEPS))
    steps = torch.tensor(list(_STEPS.values())).repeat_interleave(grid * grid, dim=0)
    met = torch.zeros(len(starts), len(starts), dtype=torch.bool)
    for time in range(grid):
        now = (starts + time * steps) % grid
        met |= (now[:, None] == now[None, :]).all(dim=-1)
    return met.to(torch.float64)

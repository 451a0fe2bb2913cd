"""Colliding agents on a cylinder (Example 1, Appendix B.1): the environment and its value function.

Agents are circles of radius R on an N by N grid; y is looped, x ends at a wall. Each moves one step to the right
per unit of time until it reaches the wall, and pays 1 for every other agent that it ever touches.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.validation import Each, require


def _circular_distance(first: Int[Tensor, "..."], second: Int[Tensor, "..."], grid: int) -> Int[Tensor, "..."]:
    """The distance on a loop of ``grid`` cells (Eq. 4)."""
    apart = (first - second).abs()
    return torch.minimum(apart, grid - apart)


def window_matrix(grid: int, radius: int) -> Float[Tensor, "grid grid"]:
    """1 where two heights are at most ``2 R`` apart on the loop, else 0: the score matrix of Eqs. 5 and 15.

    Raises:
        ParameterError: a grid below 2 or a negative radius.
    """
    require(grid=(grid, 2, None), radius=(radius, 0, None))
    heights = torch.arange(grid)
    return (_circular_distance(heights[:, None], heights[None, :], grid) <= 2 * radius).to(torch.float64)


def simulate(
    starts: Int[Tensor, "runs agents 2"], grid: int, radius: int
) -> tuple[Int[Tensor, "times runs agents 2"], Bool[Tensor, "runs agents agents"]]:
    """Move every agent to the wall, one step at a time, and note which agents touch on the way.

    Two agents touch when their centres are at most ``2 R`` apart (Appendix B.1).

    Returns:
        (x, y) of each agent at each time, and which agents touched by the end.

    Raises:
        ParameterError: a start outside the grid, or a negative radius.
    """
    require(radius=(radius, 0, None), starts=(Each(starts), 0, grid - 1))
    paths = [starts]
    touched = starts.new_zeros(*starts.shape[:2], starts.shape[1], dtype=torch.bool)
    for _ in range(grid):
        x, y = paths[-1].unbind(dim=-1)
        across = (x[..., :, None] - x[..., None, :]).abs()
        along = _circular_distance(y[..., :, None], y[..., None, :], grid)
        touched |= across**2 + along**2 <= (2 * radius) ** 2
        paths.append(torch.stack([(x + 1).clamp(max=grid - 1), y], dim=-1))
    others = ~torch.eye(starts.shape[1], dtype=torch.bool, device=starts.device)
    return torch.stack(paths), touched & others

"""Gradient training of one-layer models at a cost that does not depend on the number of samples.

The full-batch squared loss is ``tr((P − P̂) Λ (P − P̂)ᵀ) + L̂`` with P = p(Θ) and P̂, L̂ of least squares, so a step needs
the statistics alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory._subnormals import subnormals_as_zero
from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.randomness import Seed, generator
from attention_theory.training import Adam
from attention_theory.validation import Each, require


@dataclass(frozen=True)
class _TrainedHeads:
    """Models trained together.

    Attributes:
        heads: the models, stacked along the first axis.
        losses: the mean squared loss of each.
        history: the losses at the recorded steps, one row for each record.
        steps: the number of steps before each record.
    """

    heads: Heads
    losses: Float[Tensor, " models"]
    history: Float[Tensor, "records models"]
    steps: list[int]


def start_heads(counts: Sequence[int], width: int, spread: float, seed: Seed) -> Heads:
    """Models to begin from, one for each number of heads in ``counts``, in one stack.

    Those with fewer heads than the largest are filled up with heads of zeros, whose gradient is zero.

    Args:
        counts: the number of heads of each model.
        width: the width of a token.
        spread: standard deviation of every entry.
        seed: of all draws.

    Raises:
        ParameterError: no counts, one below 1, or a spread that is not positive.
    """
    require(counts=(Each(counts), 1, None), spread=(spread, 1e-12, None))
    filled = random_heads(max(counts), width, generator(seed), scale=spread, models=(len(counts),))
    device = filled.values.device
    is_there = torch.arange(max(counts), device=device) < torch.tensor(counts, device=device)[:, None]
    return Heads(filled.values * is_there[:, :, None, None], filled.queries * is_there[:, :, None, None])


def train_heads(
    data: Statistics,
    start: Heads,
    steps: int,
    lr: float | Float[Tensor, " models"],
    least_loss: float | None = None,
    dtype: torch.dtype | None = None,
) -> _TrainedHeads:
    """Train a stack of models by full-batch Adam with a cosine schedule.

    Args:
        data: the statistics of the training data.
        start: the models to begin from, stacked along the first axis.
        steps: the number of steps, at least 1.
        lr: the learning rate, one for all or one for each model.
        least_loss: the loss of least squares, where it is known better than by rounding (0 on realizable data).
        dtype: the arithmetic of the training, that of ``start`` unless given; what is returned has that of ``start``.

    Raises:
        ParameterError: fewer steps than one.
    """
    require(steps=(steps, 1, None))
    kept, dtype = start.values.dtype, dtype or start.values.dtype
    best = data.solve()
    floor = data.loss(best) if least_loss is None else least_loss
    target, moment = best.to(dtype), data.second_moment.to(dtype)

    values, queries = (one.to(dtype, copy=True).contiguous() for one in (start.values, start.queries))
    heads, every = Heads(values, queries), max(1, steps // 50)
    optimisers = Adam(values, lr), Adam(queries, lr)
    history, marks = [], [*range(0, steps, every), steps]
    with subnormals_as_zero():  # the entries of heads that vanish sink to such numbers
        for step in range(steps + 1):
            gap = _folded(heads) - target
            pull = gap @ moment  # Λ is symmetric, so this is half the gradient
            if step % every == 0 or step == steps:
                history.append((pull * gap).sum(dim=(-2, -1)) + floor)
            if step < steps:
                fraction = 0.5 * (1 + math.cos(math.pi * step / steps))
                for optimiser, gradient in zip(optimisers, _fold_back(heads, 2 * pull), strict=True):
                    optimiser.step(gradient, fraction)
    trained = Heads(values.to(kept), queries.to(kept))
    return _TrainedHeads(trained, history[-1].to(kept), torch.stack(history).to(kept), marks)


def _folded(heads: Heads) -> Float[Tensor, "... out psi"]:
    """The coefficients p(Θ) of a stack of models, as ``coefficients``, by copies of whole rows both ways."""
    values, queries = heads.values, heads.queries
    out, width = values.shape[-2:]
    first, second, _ = _places(width, values.device)
    matrix = values.flatten(-2).mT @ queries.flatten(-2)
    blocks = matrix.unflatten(-1, (width, width)).unflatten(-3, (out, width)).flatten(-3, -2)  # (..., a, j k, l)
    found = blocks.index_select(-2, first)
    found[..., : len(second), :] += blocks.index_select(-2, second)
    return found.flatten(-2)


def _fold_back(
    heads: Heads, of_coefficients: Float[Tensor, "... out psi"]
) -> tuple[Float[Tensor, "... heads out width"], Float[Tensor, "... heads width width"]]:
    """The gradients of values and queries, from that of p(Θ): from the head matrix on the map is linear, and copies."""
    values, queries = heads.values, heads.queries
    out, width = values.shape[-2:]
    blocks = of_coefficients.unflatten(-1, (-1, width)).index_select(-2, _places(width, values.device)[2])
    matrix = blocks.flatten(-3).unflatten(-1, (out * width, width * width))
    of_values, of_queries = queries.flatten(-2) @ matrix.mT, values.flatten(-2) @ matrix
    return of_values.view_as(values), of_queries.view_as(queries)


@cache
def _places(
    width: int, device: torch.device
) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " unequal"], Int[Tensor, " width_squared"]]:
    """Positions of (j, k) of every pair among all d² orders, of (k, j) of the unequal ones, and the pair of each."""
    j, k = pairs(width, device)
    pair = torch.empty(width, width, dtype=torch.int64, device=device)
    pair[j, k] = pair[k, j] = torch.arange(len(j), device=device)
    unequal = len(j) - width
    return j * width + k, (k * width + j)[:unequal], pair.flatten()

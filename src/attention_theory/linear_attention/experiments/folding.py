"""The coefficients p(Θ) of models in training: the same as ``coefficients``, with a short way forth and back.

Entry ({j, k}, l) adds up ``W[a j, k l]`` and ``W[a k, j l]`` of the head matrix W, so the gradient of W takes every
entry of that of p at most twice: both ways are copies of whole rows. By indexing, the way back would add up entry by
entry.
"""

from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import Heads


def folded(heads: Heads) -> Float[Tensor, "... out psi"]:
    """p(Θ) of a stack of models, in the order of Algorithm 2."""
    values, queries = heads.values, heads.queries
    out, width = values.shape[-2:]
    first, second, _ = _places(width, values.device)
    matrix = values.flatten(-2).mT @ queries.flatten(-2)
    blocks = matrix.unflatten(-1, (width, width)).unflatten(-3, (out, width)).flatten(-3, -2)  # (..., a, j k, l)
    found = blocks.index_select(-2, first)
    found[..., : len(second), :] += blocks.index_select(-2, second)
    return found.flatten(-2)


def fold_back(
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
    """Where (j, k) of every pair stands among all d² orders, where (k, j) of the unequal ones, and the pair of each."""
    j, k = pairs(width, device)
    pair = torch.empty(width, width, dtype=torch.int64, device=device)
    pair[j, k] = pair[k, j] = torch.arange(len(j), device=device)
    unequal = len(j) - width
    return j * width + k, (k * width + j)[:unequal], pair.flatten()

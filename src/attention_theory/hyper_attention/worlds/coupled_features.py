"""Entities made of features, and interactions that are products of interactions of single features (Section 5, App. F).

An entity is a row of integers, its value for each feature (a species, a policy, a coordinate). A head of Eq. 3
multiplies factors ``f_a(phi_i, theta_j)``, each a table over one feature of the entity that looks and one of the entity
looked at, and weights ``w_a(gamma_j)`` of the entity looked at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class Factor:
    """``f_a`` of Eq. 3: a table over feature ``query`` of the entity that looks and ``key`` of the one looked at."""

    query: int
    key: int
    table: Float[Tensor, "query_values key_values"]


@dataclass(frozen=True)
class Weight:
    """``w_a`` of Eq. 3: one number for each value of ``feature`` of the entity looked at."""

    feature: int
    table: Float[Tensor, " values"]


@dataclass(frozen=True)
class CoupledHead:
    """One head of Eq. 3: a product of factors times a product of weights. Its order is the number of factors."""

    factors: Sequence[Factor]
    weights: Sequence[Weight]


def coupled_interaction(
    entities: Int[Tensor, "... tokens features"],
    heads: Sequence[CoupledHead],
    weights_at: Literal["j", "i"] = "j",
) -> Float[Tensor, "... tokens"]:
    """The target of Eqs. 3 and 36: row ``i`` sums the product of all factors and weights over heads and entities ``j``.

    Eq. 35 gives the weight the features of ``i`` and of ``j``; those of ``i`` are superfluous. ``weights_at="i"`` reads
    it at ``i`` alone, which is another function.

    Raises:
        ParameterError: weights at neither of the two.
    """
    require(weights_at=(weights_at, {"j", "i"}))
    total = entities.new_zeros(entities.shape[:-1], dtype=torch.float64)
    for head in heads:
        scores = _product(
            one.table[entities[..., :, None, one.query], entities[..., None, :, one.key]] for one in head.factors
        )
        weights = _product(one.table[entities[..., one.feature]] for one in head.weights).expand(total.shape)
        total += (scores @ weights[..., None]).squeeze(-1) if weights_at == "j" else scores.sum(-1) * weights
    return total


def embed_features(
    entities: Int[Tensor, "... tokens features"], sizes: Sequence[int]
) -> Float[Tensor, "... tokens width"]:
    """One-hots of all features side by side: ``sum_phi |S_phi|`` numbers an entity (Appendix F.2)."""
    return torch.cat([one_hot(entities[..., k], size).to(torch.float64) for k, size in enumerate(sizes)], dim=-1)


def layer_of(
    head: CoupledHead, sizes: Sequence[int]
) -> tuple[Float[Tensor, "order width width"], Float[Tensor, "order width 1"]]:
    """``C`` and ``W`` of Definition 5.1 that make the layer on :func:`embed_features` equal to the head, exactly.

    A table goes to the block of its two features. Factors without a weight get the constant 1: every embedded row sums
    to the number of features.

    Raises:
        ParameterError: no factor, or more weights than factors.
    """
    order, width = len(head.factors), sum(sizes)
    refuse_unless(
        1 <= order >= len(head.weights),
        f"head must have at least one factor and no more weights than factors, got {order} factors and "
        f"{len(head.weights)} weights",
    )
    score = head.factors[0].table.new_zeros(order, width, width)
    value = torch.full_like(score[..., :1], 1 / len(sizes))
    for matrix, factor in zip(score, head.factors, strict=True):
        matrix[_block(sizes, factor.query), _block(sizes, factor.key)] = factor.table
    for column, weight in zip(value, head.weights, strict=False):
        column.zero_()
        column[_block(sizes, weight.feature), 0] = weight.table
    return score, value


def product_symbols(entities: Int[Tensor, "... tokens features"], sizes: Sequence[int]) -> Int[Tensor, "... tokens"]:
    """One symbol for every combination of values, ``prod_phi |S_phi|`` of them: plain attention's (App. F.1)."""
    symbols = torch.zeros_like(entities[..., 0])
    for k, size in enumerate(sizes):
        symbols = symbols * size + entities[..., k]
    return symbols


def product_tables(
    head: CoupledHead, sizes: Sequence[int]
) -> tuple[Float[Tensor, "symbols symbols"], Float[Tensor, " symbols"]]:
    """The head as one pair function ``f`` and one weight ``w`` (Eq. 2) over :func:`product_symbols`."""
    every = torch.cartesian_prod(*(torch.arange(size) for size in sizes)).reshape(-1, len(sizes))
    effect = _product(one.table[every[:, None, one.query], every[None, :, one.key]] for one in head.factors)
    return effect, _product(one.table[every[:, one.feature]] for one in head.weights).expand(len(every))


def block_parameters(heads: Sequence[CoupledHead]) -> int:
    """The entries of all tables ``f_a``: the blocks of the score matrices that are not zero (Section 5, App. F.1)."""
    return sum(factor.table.numel() for head in heads for factor in head.factors)


def _block(sizes: Sequence[int], feature: int) -> slice:
    start = sum(sizes[:feature])
    return slice(start, start + sizes[feature])


def _product(tables: Iterable[Tensor]) -> Tensor:
    return reduce(torch.mul, tables, torch.ones((), dtype=torch.float64))

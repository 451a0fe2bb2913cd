"""Embeddings with fewer dimensions than symbols or values of features: random projections (Remark F.1, Section 3)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, normal
from attention_theory.validation import refuse_unless, require


def width_for(count: int, accuracy: float, most: int, seed: Seed) -> int:
    """The width from which on ``count`` random vectors have all inner products at most ``accuracy`` (Remark F.1).

    Vectors of ``most`` entries are drawn, and their first entries tried, by halving: the smallest such width, or
    ``most`` where there is none. On average the largest inner product falls with the width.

    Raises:
        ParameterError: fewer than two vectors, an accuracy outside (0, 1), or no width.
    """
    require(count=(count, 2, None), accuracy=(accuracy, 1e-3, 1.0), most=(most, 1, None))
    vectors = normal(count, most, seed=seed)
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        units = vectors[:, :middle] / vectors[:, :middle].norm(dim=1, keepdim=True)
        largest = (units @ units.mT).fill_diagonal_(0.0).abs().max().item()
        low, high = (low, middle) if largest <= accuracy else (middle, high)
    return high


def missed_agreements(rows: Float[Tensor, "directions width"], features: int, values: int) -> float:
    """The fraction of the squares missed by scores of whether two tokens agree in each feature (Remark F.1).

    Tokens are all combinations of ``values`` values of each feature, equally often, and the scores of feature a are one
    where two tokens have the same value of it, less the chance ``1 / values``. In whitened coordinates, ``values - 1``
    directions for each feature, they are the identity on the directions of that feature. An embedding of ``width``
    dimensions is a matrix ``rows`` on these, and its scores for a feature are any bilinear form of what it holds: the
    best is the projection of the identity, on both sides.

    Raises:
        ParameterError: no feature, fewer than two values, or not ``features * (values - 1)`` rows.
    """
    require(features=(features, 1, None), values=(values, 2, None))
    directions = features * (values - 1)
    refuse_unless(len(rows) == directions, f"rows must be one for each of the {directions} directions, got {len(rows)}")
    basis = torch.linalg.qr(rows).Q.reshape(features, values - 1, -1)
    kept = (basis @ basis.mT).square().sum().item()
    return 1 - kept / directions


def agreements(features: int, values: int) -> Float[Tensor, "features symbols symbols"]:
    """Tables of whether two tokens agree in each feature; tokens are all combinations of values (Remark F.1).

    Raises:
        ParameterError: no feature, fewer than two values, or more than 4096 combinations.
    """
    require(features=(features, 1, None), values=(values, 2, None))
    refuse_unless(
        values**features <= 4096, f"values and features must give at most 4096 tokens, got {values}^{features}"
    )
    tokens = torch.cartesian_prod(*[torch.arange(values)] * features).reshape(-1, features)
    return torch.stack([(one[:, None] == one).to(torch.float64) for one in tokens.T])


def least_width(features: int, values: int) -> int:
    """The fewest dimensions in which products of one score a feature can have half the rank they need (Remark F.1).

    Whether two tokens agree in all features is the identity on ``values ** features`` symbols; a product of lower rank
    than half of that misses more than half of its squares (Eckart and Young). A product of A linear forms of a key is a
    linear form of its symmetric tensor power, so its rank in d dimensions is at most ``(d + A - 1) choose A``.

    Raises:
        ParameterError: no feature, or fewer than two values.
    """
    require(features=(features, 1, None), values=(values, 2, None))
    width = 1
    while 2 * math.comb(width + features - 1, features) < values**features:
        width += 1
    return width

"""Embeddings with fewer dimensions than symbols or values of features: random projections (Remark F.1, Section 3)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, generator, normal
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


def fewest_entrywise(count: int, order: int) -> int:
    """A width below which no scores of this order are within 1/3 of whether two of ``count`` tokens are equal.

    Scores of token i are a polynomial of degree ``order`` in token j. Their entrywise powers ``r`` have a rank of at
    least ``count / (1 + (count - 1) / 4^r)`` and at most ``(d + order r - 1) choose (order r)`` (beyond Remark F.1).

    Raises:
        ParameterError: fewer than two tokens, or an order below 1.
    """
    require(count=(count, 2, None), order=(order, 1, None))
    last = (count.bit_length() + 1) // 2
    powers = sorted({1, 2, 3, last} | {last * part // 8 for part in range(1, 8)} - {0})
    width = 1
    for r in powers:
        while math.comb(width + order * r - 1, order * r) * (4**r + count - 1) < count * 4**r:
            width += 1
    return width


def enough_entrywise(count: int, order: int) -> int:
    """A width in which some head of this order with ``C_a = I`` has such scores, by a greedy choice of lines.

    Lines at angles of at least t, ``cos(t)^order = 1/2``: as many as ``sin(t)^(1 - d)`` exist (beyond Remark F.1).

    Raises:
        ParameterError: fewer than two tokens, or an order below 1.
    """
    require(count=(count, 2, None), order=(order, 1, None))
    sine = math.sqrt(-math.expm1(-math.log(4) / order))
    return 1 + math.ceil(math.log(count) / -math.log(sine))


def search_entrywise(
    count: int, order: int, width: int, seed: Seed, restarts: int = 8, steps: int = 800
) -> tuple[Float[Tensor, "count width"], Float[Tensor, "order width width"]]:
    """Tokens and score matrices whose products of scores are near to whether two tokens are equal, by Adam.

    The loss is a norm of the errors that turns from a sum of fourth powers to nearly the largest. The best of all
    restarts and steps is returned.

    Raises:
        ParameterError: fewer than two tokens, or no factor, dimension, restart or step.
    """
    require(count=(count, 2, None), order=(order, 1, None), width=(width, 1, None))
    require(restarts=(restarts, 1, None), steps=(steps, 1, None))
    draw = generator(seed)
    tokens = torch.nn.functional.normalize(normal(restarts, count, width, seed=draw), dim=-1).requires_grad_()
    spread = 0.4 * normal(restarts, order, width, width, seed=draw)
    scores = (torch.eye(width, dtype=torch.float64) + spread).requires_grad_()
    optimizer = torch.optim.Adam([tokens, scores], lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    least, best = math.inf, (tokens[0].detach(), scores[0].detach())
    for step in range(steps):
        products = (tokens[:, None] @ scores @ tokens.mT[:, None]).prod(dim=1)
        errors = (products - torch.eye(count, dtype=torch.float64)).abs().flatten(1)
        largest = errors.detach().amax(dim=1)
        if largest.min() < least:
            first = int(largest.argmin())
            least, best = largest[first].item(), (tokens[first].detach().clone(), scores[first].detach().clone())
        power = 4 + 40 * step / steps
        loss = ((errors / largest[:, None]).pow(power).sum(dim=1).pow(1 / power) * largest).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return best

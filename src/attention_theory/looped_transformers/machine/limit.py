"""The limit of a transformer with fixed weights as its inverse temperature grows: affine near almost every input.

Near a generic input every softmax tends to constant weights, and every ReLU to an affine function. This module
computes the affine function, its derivative in given directions, and the distance to the nearest boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer
from attention_theory.validation import ParameterError, require, require_shape


@dataclass(frozen=True)
class _LimitPiece:
    """The limit near one input.

    Attributes:
        value: at the input.
        derivative: along each direction; constant near the input.
        gap: the smallest distance of a highest score from the next lower one; the softmax errs by about
            ``exp(-gap λ)``. Infinite if all scores are tied.
    """

    value: Float[Tensor, "columns rows"]
    derivative: Float[Tensor, "directions columns rows"]
    gap: float


def limit_piece(
    layers: Sequence[DenseLayer],
    state: Float[Tensor, "columns rows"],
    directions: Float[Tensor, "directions columns rows"],
    tolerance: float = 1e-9,
) -> _LimitPiece:
    """Follow the limit through the layers of (1a) and (1b), on ``state + Σ t directions`` for small ``t``.

    Args:
        layers: in the order of application; those of a cycle repeated for several passes.
        state: the input.
        directions: in which the input may move.
        tolerance: relative; nearer numbers are taken for equal.

    Raises:
        ParameterError: an input on a boundary: two highest scores, or a ReLU's argument and 0, are equal there and not
            in a neighbourhood. Such inputs are a null set, or the tolerance is too coarse.
    """
    require(tolerance=(tolerance, 1e-15, 1e-3))
    require_shape(directions=(directions, (None, *state.shape)))
    jet, gap = torch.cat([state[None], directions]), torch.inf
    for layer in layers:
        added = torch.zeros_like(jet)
        for head in layer.heads:
            weights, distance = _limit_weights(head, jet, tolerance)
            added, gap = added + weights @ (jet @ head.value.mT), min(gap, distance)
        jet = jet + added
        hidden = jet @ layer.w1.mT
        hidden[0] += layer.b1
        jet = jet + _limit_relu(hidden, tolerance) @ layer.w2.mT
        jet[0] += layer.b2
    return _LimitPiece(jet[0], jet[1:], gap)


def _limit_weights(
    head: DenseHead, jet: Float[Tensor, "terms columns rows"], tolerance: float
) -> tuple[Float[Tensor, "queries keys"], float]:
    """Equal weights on the scores that are highest near the input, and the distance of the next ones at the input.

    A score is a quadratic polynomial in ``t``: two are equal near the input if all their coefficients are.
    """
    products = torch.einsum("aqk,bnk->abqn", jet @ head.query.mT, jet @ head.key.mT)
    terms = len(jet)
    upper = torch.triu_indices(terms, terms, device=jet.device)
    scores = (products + products.transpose(0, 1))[upper[0], upper[1]]  # the first coefficient is twice the value
    best = scores[0].argmax(dim=-1, keepdim=True)
    below = scores.gather(-1, best.expand(len(scores), -1, -1)) - scores
    close = tolerance * (1 + scores.abs().amax())
    tied = (below.abs() <= close).all(dim=0)
    distances = (below[0] / 2)[~tied]
    if bool((distances <= close).any()):
        raise ParameterError("state must be off the boundaries, got one where two highest scores meet")
    weights = tied.to(jet.dtype)
    return weights / weights.sum(dim=-1, keepdim=True), distances.min().item() if len(distances) else torch.inf


def _limit_relu(hidden: Float[Tensor, "terms columns units"], tolerance: float) -> Float[Tensor, "terms columns units"]:
    """The affine functions that are above zero near the input; 0 for those below, and for those that are 0."""
    close = tolerance * (1 + hidden.abs().amax(dim=0))
    if bool(((hidden[0].abs() <= close) & (hidden.abs() > close).any(dim=0)).any()):
        raise ParameterError("state must be off the boundaries, got one where a ReLU has its kink")
    return hidden * (hidden[0] > close)

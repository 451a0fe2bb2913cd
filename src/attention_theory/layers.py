"""Attention as the five papers share it: scores, a rule that turns scores into weights, a weighted sum."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.validation import ParameterError, require

#: How scores become weights. A paper that allows fewer of these refuses the others.
Rule = Literal["softmax", "hardmax", "linear"]


def causal_mask(tokens: int, device: torch.device | str = "cpu") -> Bool[Tensor, "tokens tokens"]:
    """``mask[i, j]`` is true where token ``i`` may look at token ``j``: itself and those before it."""
    return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()


def attention_weights(
    scores: Float[Tensor, "... queries keys"],
    rule: Rule = "softmax",
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    """Weights from scores.

    ``softmax`` normalises over the keys; ``hardmax`` is its limit at temperature zero, shared evenly among ties;
    ``linear`` leaves the scores as they are. ``mask`` is true where a query may look; elsewhere the weight is 0.

    Raises:
        ParameterError: an unknown rule.
    """
    require(rule=(rule, {"softmax", "hardmax", "linear"}))
    if rule == "linear":
        return scores if mask is None else scores.masked_fill(~mask, 0.0)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    if rule == "softmax":
        return scores.softmax(dim=-1)
    best = (scores == scores.amax(dim=-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(dim=-1, keepdim=True)


def attention(
    queries: Float[Tensor, "... queries width"],
    keys: Float[Tensor, "... keys width"],
    values: Float[Tensor, "... keys features"],
    rule: Rule = "softmax",
    mask: Bool[Tensor, "... #queries keys"] | None = None,
    scale: float = 1.0,
) -> Float[Tensor, "... queries features"]:
    """``weights(scale * queries @ keys.T) @ values``, tokens as rows, batch dimensions leading.

    ``scale`` multiplies the scores: ``width ** -0.5`` for the usual scaling, an inverse temperature elsewhere.

    Raises:
        ParameterError: keys of another width than the queries, or values of another number than the keys.
    """
    if queries.shape[-1] != keys.shape[-1]:
        raise ParameterError(f"keys must be as wide as queries, {queries.shape[-1]}, got shape {list(keys.shape)}")
    if keys.shape[-2] != values.shape[-2]:
        raise ParameterError(f"values must be as many as keys, {keys.shape[-2]}, got shape {list(values.shape)}")
    return attention_weights(scale * (queries @ keys.mT), rule, mask) @ values

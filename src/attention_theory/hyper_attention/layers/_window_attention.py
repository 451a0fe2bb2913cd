"""Softmax attention over pairs of tokens that lie in sliding windows, in time and memory linear in the length.

Each query has its own rectangle of pairs, so that every score which is formed is one that the sum may need. The members
of a query are views into the keys; no loop, and every derivative is torch's own.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from attention_theory.hyper_attention.layers.sums import Sum, allowed_pairs, require_tokens
from attention_theory.validation import Each, refuse_unless, require


def window_attention(
    queries: Float[Tensor, "... tokens rank"],
    first_keys: Float[Tensor, "... tokens rank"],
    second_keys: Float[Tensor, "... tokens rank"],
    first_values: Float[Tensor, "... tokens features"],
    second_values: Float[Tensor, "... tokens features"],
    *,
    window: Sequence[int],
    sum_over: Sum = "ge",
    scale: float = 1.0,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Float[Tensor, "... tokens features"]:
    """Causal HyperAttention of order 3 (Definition G.1) over the pairs with ``i - w1 < j1 <= i``, ``i - w2 < j2 <= i``.

    A query without an allowed pair gets 0. Memory grows as ``tokens * w1 * w2``.

    Args:
        window: the lengths ``(w1, w2)``, at least 1 each.
        sum_over: which of those pairs are in the sum.
        hidden: true where query ``i`` must not see token ``j`` as either member.

    Raises:
        ParameterError: an unknown sum, no token, or anything but two lengths from 1.
    """
    is_traced = torch.compiler.is_compiling()
    if not is_traced:
        require(window=(Each(window), 1, None))
    refuse_unless(len(window) == 2, f"window must hold one length for each of 2 members, got {list(window)}")
    require_tokens(queries)
    tokens = queries.shape[-2]
    if not is_traced:  # else the number of tokens may be a symbol
        window = [min(length, tokens) for length in window]
    keys1, keys2, values1, values2 = (
        _windows(rows, length)
        for rows, length in zip((first_keys, second_keys, first_values, second_values), [*window] * 2, strict=True)
    )
    scores = ((scale * queries)[..., None] * keys1).mT @ keys2
    allowed = _allowed(tokens, window, sum_over, queries.device, hidden)
    empty = ~allowed.flatten(-2).any(-1)[..., None]
    # The softmax of nothing is not a number, and neither is its gradient, even where it is thrown away.
    scores = scores.masked_fill(~allowed, -torch.inf).flatten(-2).masked_fill(empty, 0.0)
    weights = scores.softmax(-1).masked_fill(empty, 0.0).unflatten(-1, tuple(window))
    return ((values1 @ weights) * values2).sum(-1)


def _windows(rows: Float[Tensor, "... tokens features"], length: int) -> Float[Tensor, "... tokens features {length}"]:
    """The rows that each token sees, itself last, zeros before the first."""
    return pad(rows, (0, 0, length - 1, 0)).unfold(-2, length, 1)


def _allowed(
    tokens: int, window: Sequence[int], sum_over: Sum, device: torch.device, hidden: Tensor | None
) -> Bool[Tensor, "... tokens first second"]:
    query = torch.arange(tokens, device=device)[:, None]
    first, second = (query + torch.arange(1 - length, 1, device=device) for length in window)
    allowed = (first >= 0)[..., :, None] & (second >= 0)[..., None, :]
    allowed = allowed & allowed_pairs(sum_over, first[..., :, None], second[..., None, :])
    if hidden is not None:
        hidden = hidden.expand(*hidden.shape[:-2], tokens, tokens)
        for places, axis in ((first, -1), (second, -2)):
            index = places.clamp(min=0).expand(*hidden.shape[:-1], -1)
            allowed = allowed & ~hidden.gather(-1, index).unsqueeze(axis)
    return allowed

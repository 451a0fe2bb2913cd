"""HyperAttention's softmax over tuples (Appendix G.1), written out: every score in one tensor. The slow reference."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import Sum, allowed_tuples, rows_without_tuple
from attention_theory.validation import ParameterError

_MOST_MEMBERS = 7  # letters for the axes of one product


def tuple_scores(
    queries: Float[Tensor, "... tokens rank"], keys: Sequence[Float[Tensor, "... tokens rank"]]
) -> Float[Tensor, "..."]:
    """``sum over s of Q[i, s] K1[j1, s] ... K_{n-1}[j_{n-1}, s]`` (Def. G.3), axes ``i, j1, ..., j_{n-1}`` last."""
    axes = "ijklmnop"[: len(keys) + 1]
    return torch.einsum(",".join(f"...{axis}s" for axis in axes) + f"->...{axes}", queries, *keys)


def tuple_weights(
    queries: Float[Tensor, "... tokens rank"],
    keys: Sequence[Float[Tensor, "... tokens rank"]],
    sum_over: Sum = "ge",
    causal: bool = True,
    scale: float = 1.0,
    *,
    window: Sequence[int] | None = None,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Float[Tensor, "..."]:
    """The softmax of ``scale`` times the scores over the allowed tuples, axes ``i, j1, ..., j_{n-1}`` last.

    All weights of a query that no tuple is allowed to are 0. The other arguments are those of :func:`allowed_tuples`.

    Raises:
        ParameterError: no token, no key or an unknown sum.
    """
    tokens, members = queries.shape[-2], len(keys)
    which = (tokens, members, sum_over, causal, queries.device)
    mask = allowed_tuples(*which, window=window, hidden=hidden)
    scores = (scale * tuple_scores(queries, keys)).masked_fill(~mask, -torch.inf).flatten(-members)
    empty = rows_without_tuple(*which, window=window, hidden=hidden)
    if empty is None:
        weights = scores.softmax(dim=-1)
    else:  # the softmax of nothing is not a number, and neither is its gradient, even where it is thrown away
        weights = scores.masked_fill(empty[..., None], 0.0).softmax(dim=-1).masked_fill(empty[..., None], 0.0)
    return weights.reshape(*weights.shape[:-1], *[tokens] * members)


def mix_tuples(
    weights: Float[Tensor, "..."], values: Sequence[Float[Tensor, "... tokens features"]]
) -> Float[Tensor, "... tokens features"]:
    """``out[i, r] = sum over tuples of A[i, j1, ...] V1[j1, r] ... V_{n-1}[j_{n-1}, r]`` (Definition G.3)."""
    axes = "jklmnop"[: len(values)]
    operands = ",".join(f"...{axis}r" for axis in axes)
    return torch.einsum(f"...i{axes},{operands}->...ir", weights, *values)


def tuple_attention(
    queries: Float[Tensor, "... tokens rank"],
    keys: Sequence[Float[Tensor, "... tokens rank"]],
    values: Sequence[Float[Tensor, "... tokens features"]],
    sum_over: Sum = "ge",
    causal: bool = True,
    scale: float = 1.0,
    *,
    window: Sequence[int] | None = None,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Float[Tensor, "... tokens features"]:
    """Softmax attention of order ``n`` from ``n - 1`` keys and values (Definitions G.1 and G.3), literally.

    ``out[i, r] = sum over tuples of A[i, j1, ...] V1[j1, r] ... V_{n-1}[j_{n-1}, r]``, with ``A`` the softmax over the
    allowed tuples of ``scale`` times the scores. A query that no tuple is allowed to gets 0. Memory grows as
    ``tokens ** n``. Which tuples are allowed: :func:`allowed_tuples`.

    The mask is added, as a softmax needs it; the paper multiplies the scores by it, and minus infinity times 0 is not
    a number.

    Raises:
        ParameterError: not as many values as keys, none of either or more than seven, no token or an unknown sum.
    """
    if len(keys) != len(values) or not 1 <= len(keys) <= _MOST_MEMBERS:
        raise ParameterError(
            f"keys and values must be as many, from 1 to {_MOST_MEMBERS}: got {len(keys)} and {len(values)}"
        )
    return mix_tuples(tuple_weights(queries, keys, sum_over, causal, scale, window=window, hidden=hidden), values)

"""HyperAttention's softmax over tuples (Appendix G.1), written out: every score in one tensor. The slow reference."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import Sum, allowed_tuples
from attention_theory.validation import ParameterError

_MOST_MEMBERS = 7  # letters for the axes of one product


def tuple_scores(
    queries: Float[Tensor, "... tokens rank"], keys: Sequence[Float[Tensor, "... tokens rank"]]
) -> Float[Tensor, "..."]:
    """``sum over s of Q[i, s] K1[j1, s] ... K_{n-1}[j_{n-1}, s]`` (Def. G.3), axes ``i, j1, ..., j_{n-1}`` last."""
    return _tuple_products([queries, *keys])


def _tuple_products(factors: Sequence[Tensor]) -> Tensor:
    """Join rows of every factor by their product over the last feature axis, one new axis a factor."""
    axes = "ijklmnop"[: len(factors)]
    return torch.einsum(",".join(f"...{axis}s" for axis in axes) + f"->...{axes}", *factors)


def tuple_attention(
    queries: Float[Tensor, "... tokens rank"],
    keys: Sequence[Float[Tensor, "... tokens rank"]],
    values: Sequence[Float[Tensor, "... tokens features"]],
    sum_over: Sum = "ge",
    causal: bool = True,
    scale: float = 1.0,
) -> Float[Tensor, "... tokens features"]:
    """Softmax attention of order ``n`` from ``n - 1`` keys and values (Definitions G.1 and G.3), literally.

    ``out[i, r] = sum over tuples of A[i, j1, ...] V1[j1, r] ... V_{n-1}[j_{n-1}, r]``, with ``A`` the softmax over the
    allowed tuples of ``scale`` times the scores. A query that no tuple is allowed to gets 0. Memory grows as
    ``tokens ** n``.

    The mask is added, as a softmax needs it; the paper multiplies the scores by it, and minus infinity times 0 is not
    a number.

    Raises:
        ParameterError: not as many values as keys, none of either or more than seven, no token or an unknown sum.
    """
    if len(keys) != len(values) or not 1 <= len(keys) <= _MOST_MEMBERS:
        raise ParameterError(
            f"keys and values must be as many, from 1 to {_MOST_MEMBERS}: got {len(keys)} and {len(values)}"
        )
    tokens, members = queries.shape[-2], len(keys)
    mask = allowed_tuples(tokens, members, sum_over, causal, device=queries.device)
    scores = (scale * tuple_scores(queries, keys)).masked_fill(~mask, -torch.inf).flatten(-members)
    weights = scores.softmax(dim=-1).nan_to_num(0.0).unflatten(-1, [tokens] * members)
    axes = "jklmnop"[:members]
    operands = ",".join(f"...{axis}r" for axis in axes)
    return torch.einsum(f"...i{axes},{operands}->...ir", weights, *values)

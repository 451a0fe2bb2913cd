"""Linear HyperAttention of order 3 in time linear in the length (Appendix G.3, Eqs. 42 and 43), ordered sums included.

With factors the sum over pairs comes apart: ``S1 = K1^T V1`` and ``S2 = K2^T V2`` are matrices of rank by features,
and the unrestricted sum is ``Q (S1 * S2)`` with an entrywise product. An ordered or causal sum does not come apart so;
there ``S1`` and ``S2`` become prefix sums along the sequence.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_tuples
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_scores
from attention_theory.validation import ParameterError, require


def linear_pair_sum(
    queries: Float[Tensor, "... tokens rank"],
    first_keys: Float[Tensor, "... tokens rank"],
    second_keys: Float[Tensor, "... tokens rank"],
    first_values: Float[Tensor, "... tokens features"],
    second_values: Float[Tensor, "... tokens features"],
    *,
    sum_over: Sum = "all",
    causal: bool = False,
) -> Float[Tensor, "... tokens features"]:
    """Order 3 without a softmax, in time ``tokens * rank * features``.

    ``out[i, r] = sum over (j1, j2, s) of Q[i, s] K1[j1, s] K2[j2, s] V1[j1, r] V2[j2, r]``. A last value factor, where
    there is one, is a linear map of the result.

    ``sum_over="all"`` without ``causal`` is Eq. 43; the other sums are ours, by prefix sums.

    Raises:
        ParameterError: no token or an unknown sum.
    """
    require(sum_over=(sum_over, SUMS))
    if queries.shape[-2] == 0:
        raise ParameterError(f"queries must have at least one token, got shape {list(queries.shape)}")
    if sum_over == "all" and not causal:
        return queries @ ((first_keys.mT @ first_values) * (second_keys.mT @ second_values))
    first = first_keys[..., :, None] * first_values[..., None, :]
    second = second_keys[..., :, None] * second_values[..., None, :]
    if sum_over == "all":
        state = first.cumsum(-3) * second.cumsum(-3)
        return (queries[..., None, :] @ state).squeeze(-2)
    if sum_over in ("le", "lt"):
        first, second = second, first
    before = second.cumsum(-3)
    if sum_over in ("lt", "gt"):
        before = before - second
    pairs = first * before
    return (queries[..., None, :] @ pairs.cumsum(-3)).squeeze(-2) if causal else queries @ pairs.sum(-3)


def cubic_pair_sum(
    queries: Float[Tensor, "... tokens rank"],
    first_keys: Float[Tensor, "... tokens rank"],
    second_keys: Float[Tensor, "... tokens rank"],
    first_values: Float[Tensor, "... tokens features"],
    second_values: Float[Tensor, "... tokens features"],
    *,
    sum_over: Sum = "all",
    causal: bool = False,
) -> Float[Tensor, "... tokens features"]:
    """The same sum over every triple of tokens, as Eq. 42 writes it: time and memory grow as ``tokens ** 3``.

    Raises:
        ParameterError: no token or an unknown sum.
    """
    mask = allowed_tuples(queries.shape[-2], 2, sum_over, causal, device=queries.device)
    scores = tuple_scores(queries, [first_keys, second_keys]) * mask
    return torch.einsum("...ijk,...jr,...kr->...ir", scores, first_values, second_values)

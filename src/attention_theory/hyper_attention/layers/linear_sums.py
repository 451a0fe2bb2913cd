"""Linear HyperAttention of order 3 in time linear in the length (Appendix G.3, Eqs. 42 and 43), ordered sums included.

With factors the sum over pairs comes apart: ``S1 = K1^T V1`` and ``S2 = K2^T V2`` are matrices of rank by features,
and the unrestricted sum is ``Q (S1 * S2)`` with an entrywise product. An ordered or causal sum does not come apart so;
there ``S1`` and ``S2`` become prefix sums along the sequence.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.hyper_attention.layers._tuple_block import TupleBlock, merge_heads
from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_tuples, require_tokens
from attention_theory.hyper_attention.layers.tuple_softmax import mix_tuples, tuple_scores
from attention_theory.validation import require


class LinearHyperAttention(TupleBlock):
    """Multihead linear HyperAttention of order 3 (Definition 6.1, low-rank form of Appendix G.1), without a softmax.

    Row ``i`` of a head is the sum over the allowed pairs of ``<q_i, k1_j1, k2_j2> (v1_j1 * v2_j2)``. Time and memory
    are linear in the tokens (:func:`linear_pair_sum`), but with ``attn_mask``, under which the sum does not come apart:
    then every triple is formed. The sum is not divided by the number of pairs.

    Shapes are ``(..., tokens, embed_dim)`` in and out. A row without a pair is 0.

    >>> import torch
    >>> from attention_theory.nn import LinearHyperAttention
    >>> layer = LinearHyperAttention(embed_dim=16, num_heads=4, sum_over="lt")
    >>> layer(torch.randn(2, 1000, 16)).shape
    torch.Size([2, 1000, 16])

    Args:
        embed_dim: the features ``d`` of a token.
        num_heads: the heads, which divide the features.
        rank: the features ``R`` of a query; ``embed_dim / num_heads`` unless given.
        num_kv_heads: heads of keys and values, each for ``num_heads / num_kv_heads`` heads in a row; all unless given.
        sum_over: how the positions of a pair stand to each other; Definition 6.1 has ``le``.
        sharing: one key and one value projection for both members, or one each.
        is_causal: both members at the query or before it.
        bias: a bias in every projection.

    Raises:
        ParameterError: the heads do not divide the features, or another argument out of range.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 1,
        *,
        rank: int | None = None,
        num_kv_heads: int | None = None,
        sum_over: Sum = "le",
        sharing: bool = False,
        is_causal: bool = True,
        bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            embed_dim,
            num_heads,
            2,
            rank=rank,
            num_kv_heads=num_kv_heads,
            sum_over=sum_over,
            sharing=sharing,
            is_causal=is_causal,
            bias=bias,
            device=device,
            dtype=dtype,
        )
        self.out = nn.Linear(num_heads * self.rank, embed_dim, bias, device, dtype)

    def _attend(
        self, projected: list[Tensor], hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        queries, keys, values = self._factors(projected)
        if need_weights or (hidden is not None and hidden.shape[-2] > 1):
            mask = allowed_tuples(queries.shape[-2], 2, self.sum_over, is_causal, queries.device, hidden=hidden)
            weights = tuple_scores(queries, keys) * mask
            return merge_heads(mix_tuples(weights, values)), weights
        if hidden is not None:
            values = [rows.masked_fill(hidden.mT, 0.0) for rows in values]
        mixed = linear_pair_sum(queries, *keys, *values, sum_over=self.sum_over, causal=is_causal)
        return merge_heads(mixed), None

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, {super().extra_repr()}"


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
    require_tokens(queries)
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

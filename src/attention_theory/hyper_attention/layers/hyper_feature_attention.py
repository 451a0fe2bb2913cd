"""HyperFeatureAttention: attention whose scores are entrywise products of several matrices (Section 5, App. F.2)."""

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.encodings import rotate
from attention_theory.hyper_attention.layers._tuple_block import GroupedBlock, merge_heads
from attention_theory.layers import attention_weights, causal_mask
from attention_theory.validation import FORMS, Each, Form, ParameterError, refuse_unless, require, require_some


def linear_hyper_feature_attention(
    tokens: Float[Tensor, "... tokens width"],
    scores: Float[Tensor, "order width width"],
    values: Float[Tensor, "order width features"],
    form: Form = "correct",
) -> Float[Tensor, "... tokens features"]:
    """Linear HyperFeatureAttention of order ``A`` (Definition 5.1): ``(prod_a X C_a X^T) (prod_a X W_a)``.

    Both products are entrywise. ``form="printed"`` is the sum of Appendix F.2 taken at its word: there the entrywise
    sign is missing, so that the score matrices are multiplied as matrices.

    Args:
        tokens: the sequence ``X``, tokens as rows.
        scores: the matrices ``C_a``, one a factor.
        values: the matrices ``W_a``, one a factor.
        form: as said above.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    factors = [tokens @ matrix @ tokens.mT for matrix in scores]
    join = torch.mul if form == "correct" else torch.matmul
    return reduce(join, factors) @ reduce(torch.mul, [tokens @ matrix for matrix in values])


def score_features(
    factors: Sequence[Float[Tensor, "... tokens width"]],
) -> Float[Tensor, "... tokens features"]:
    """Rows whose inner products are the products of the factors' inner products: Kronecker products row by row.

    They turn linear HyperFeatureAttention into linear attention of width ``prod_a width_a``, which grows with the order
    as a power: the factor that Table 3's linear row leaves out.

    Raises:
        ParameterError: no factor.
    """
    require_some(factors=factors)
    return reduce(lambda x, y: (x[..., :, None] * y[..., None, :]).flatten(-2), factors)


class HyperFeatureAttention(GroupedBlock):
    """Multihead HyperFeatureAttention (Definition F.3), in place of a self-attention block.

    A head of order ``A`` cuts its features into ``A`` parts, each with its own scores, and the softmax is of their
    entrywise product. Order 1 is ordinary multihead self-attention (Definition F.2), so a list of orders mixes both
    kinds of head, as HFA_v2 of Table 2 does.

    The paper puts no scale on the scores here, as it does in Section 2. A product of unscaled scores saturates the
    softmax, so every factor is divided by the root of its width, but with ``form="printed"``.

    Shapes are ``(..., tokens, embed_dim)`` in and out. A fully masked row is 0.

    >>> import torch
    >>> from attention_theory.nn import HyperFeatureAttention
    >>> layer = HyperFeatureAttention(embed_dim=16, num_heads=2, order=[1, 4])
    >>> out, weights = layer(torch.randn(3, 5, 16), need_weights=True)
    >>> out.shape, weights.shape
    (torch.Size([3, 5, 16]), torch.Size([3, 2, 5, 5]))

    Args:
        embed_dim: the features ``d`` of a token.
        num_heads: the heads, which divide the features.
        order: the order ``A`` of all heads, or one for each; it divides the features of its head.
        num_kv_heads: heads of keys and values, each for ``num_heads / num_kv_heads`` heads in a row; all unless given.
        value_product: multiply ``A`` value matrices entrywise too; costs ``(A - 1) d d_h`` more parameters a head.
        is_causal: a token looks at itself and those before it.
        rotary: rotary positions on every query and key (Remark F.5).
        form: ``"printed"`` leaves out the scale of the scores.
        bias: a bias in every projection.
        dropout: the fraction of weights that are set to 0 in training.

    Raises:
        ParameterError: the heads do not divide the features, or an order those of its head; shared values that are to
            be multiplied; or another argument out of range.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 1,
        order: int | Sequence[int] = 2,
        *,
        num_kv_heads: int | None = None,
        value_product: bool = False,
        is_causal: bool = True,
        rotary: bool = False,
        form: Form = "correct",
        bias: bool = False,
        dropout: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(embed_dim, num_heads, num_kv_heads, is_causal)
        self.orders = list(order) if isinstance(order, Sequence) else [order] * num_heads
        require(order=(Each(self.orders), 1, None), form=(form, FORMS), dropout=(dropout, 0.0, 1.0))
        refuse_unless(
            len(self.orders) == num_heads,
            f"order must be one number, or one for each of {num_heads} heads, got {self.orders}",
        )
        refuse_unless(
            not value_product or self.num_kv_heads == num_heads,
            f"num_kv_heads must be {num_heads} with value_product, got {num_kv_heads}",
        )
        self.head_dim = _head_dim(embed_dim, self.orders)
        self.value_product, self.rotary, self.form, self.dropout = value_product, rotary, form, dropout
        key_dim = self.head_dim * self.num_kv_heads
        value_dim = self.head_dim * sum(self.orders) if value_product else key_dim
        self.queries = nn.Linear(embed_dim, embed_dim, bias, device, dtype)
        self.keys = nn.Linear(embed_dim, key_dim, bias, device, dtype)
        self.values = nn.Linear(embed_dim, value_dim, bias, device, dtype)
        self.out = nn.Linear(embed_dim, embed_dim, bias, device, dtype)

    def _project(self, x: Tensor) -> list[Float[Tensor, "... tokens features"]]:
        return [self.queries(x), self.keys(x), self.values(x)]

    def _attend(
        self, projected: list[Tensor], hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        """``Concat(HFA^1, ..., HFA^H)`` (Eq. 39): neighbouring heads of one order at once."""
        queries, keys, values = projected
        keys, values = self._expand_kv(keys, self.head_dim), self._expand_kv(values, self.head_dim)
        groups = [(order, len(list(same))) for order, same in groupby(self.orders)]
        widths = [self.head_dim * heads for _, heads in groups]
        value_widths = [self.head_dim * heads * (order if self.value_product else 1) for order, heads in groups]
        parts = zip(
            groups, queries.split(widths, -1), keys.split(widths, -1), values.split(value_widths, -1), strict=True
        )
        mixed, weights = zip(
            *(self._heads(order, q, k, v, hidden, is_causal) for (order, _), q, k, v in parts), strict=True
        )
        return torch.cat(mixed, dim=-1), torch.cat(weights, dim=-3) if need_weights else None

    def _heads(
        self, order: int, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None, is_causal: bool
    ) -> tuple[Float[Tensor, "... tokens part"], Float[Tensor, "... heads tokens tokens"]]:
        """The heads of one order, side by side, and their weights."""
        part = self.head_dim // order
        factors = [
            self._scores(q, k) for q, k in zip(_factors(queries, order, part), _factors(keys, order, part), strict=True)
        ]
        value_factors = _factors(values, order if self.value_product else 1, self.head_dim)
        weights = self._weights(reduce(torch.mul, factors), hidden, is_causal)
        mixed = nn.functional.dropout(weights, self.dropout, self.training) if self.dropout else weights
        return merge_heads(mixed @ reduce(torch.mul, value_factors)), weights

    def _scores(self, queries: Tensor, keys: Tensor) -> Float[Tensor, "... heads tokens tokens"]:
        if self.rotary:
            queries, keys = rotate(queries), rotate(keys)
        return (queries * queries.shape[-1] ** -0.5 if self.form == "correct" else queries) @ keys.mT

    def _weights(
        self, scores: Tensor, hidden: Tensor | None, is_causal: bool
    ) -> Float[Tensor, "... heads tokens tokens"]:
        mask = causal_mask(scores.shape[-1], scores.device) if is_causal else None
        if hidden is None:
            return attention_weights(scores, mask=mask)
        mask = ~hidden if mask is None else mask & ~hidden
        # The softmax of nothing is not a number, and neither is its gradient, even where it is thrown away.
        empty = ~mask.any(-1, keepdim=True)
        return attention_weights(scores, mask=mask | empty).masked_fill(empty, 0.0)

    def extra_repr(self) -> str:
        return (
            f"{self.embed_dim}, {self.num_heads}, order={self.orders}, is_causal={self.is_causal}, "
            f"value_product={self.value_product}, rotary={self.rotary}, form={self.form!r}, dropout={self.dropout}"
        )


def _head_dim(embed_dim: int, orders: Sequence[int]) -> int:
    """The features of a head, which the heads and then each order must divide."""
    require(embed_dim=(embed_dim, 1, None), orders=(Each(orders), 1, None))
    if embed_dim % len(orders):
        raise ParameterError(f"embed_dim must be a multiple of the {len(orders)} heads, got {embed_dim}")
    head_dim = embed_dim // len(orders)
    for order in orders:
        if head_dim % order:
            raise ParameterError(
                f"embed_dim / num_heads must be a multiple of each order, got {embed_dim} / {len(orders)} = {head_dim} "
                f"features for order {order}"
            )
    return head_dim


def _factors(features: Tensor, order: int, width: int) -> tuple[Float[Tensor, "... heads tokens width"], ...]:
    """Cut (..., tokens, heads * order * width) into one tensor a factor."""
    return features.unflatten(-1, (-1, order, width)).movedim(-2, 0).transpose(-3, -2).unbind(0)

"""Blocks whose heads share keys and values, and those that mix tuples of tokens: what HyperAttention's layers share."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_theory._attention_block import AttentionBlock
from attention_theory.hyper_attention.layers.sums import SUMS, Sum, rows_without_tuple
from attention_theory.validation import ParameterError, refuse_unless, require


class GroupedBlock(AttentionBlock):
    """A block whose heads divide the features of a token and may share keys and values.

    Args:
        num_kv_heads: heads of keys and values, each shared by ``num_heads / num_kv_heads`` heads of queries in a row;
            ``num_heads`` unless given. The other arguments are those of :class:`.AttentionBlock`.

    Raises:
        ParameterError: the heads do not divide the features, or the heads of keys and values the heads.
    """

    out: nn.Linear

    def __init__(self, embed_dim: int, num_heads: int, num_kv_heads: int | None, is_causal: bool) -> None:
        super().__init__(embed_dim, num_heads, is_causal)
        rank_of(embed_dim, num_heads)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        require(num_kv_heads=(num_kv_heads, 1, None))
        refuse_unless(
            num_heads % num_kv_heads == 0, f"num_kv_heads must divide the {num_heads} heads, got {num_kv_heads}"
        )
        self.num_kv_heads = num_kv_heads

    def _expand_kv(self, features: Tensor, width: int) -> Tensor:
        """Keys or values of all heads side by side, from those of the heads of keys and values, ``width`` each."""
        groups = self.num_heads // self.num_kv_heads
        return (
            features if groups == 1 else features.unflatten(-1, (-1, width)).repeat_interleave(groups, -2).flatten(-2)
        )


class TupleBlock(GroupedBlock):
    """A block with one query and ``members`` keys and values a head, all of ``rank`` features (Definition G.3).

    Args:
        rank: the features of a query; ``embed_dim / num_heads`` unless given.
        sharing: one key and one value projection for every member of the tuple, or one each.
        sum_over: how the positions of a tuple stand to each other.
        bias: a bias in every projection. The other arguments are those of :class:`GroupedBlock`.

    Raises:
        ParameterError: as for :class:`GroupedBlock`, or a rank below 1 or an unknown sum.
    """

    #: For each member the number of tokens that it is taken from.
    window: tuple[int, ...] | None = None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        members: int,
        *,
        rank: int | None,
        num_kv_heads: int | None,
        sum_over: Sum,
        sharing: bool,
        is_causal: bool,
        bias: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(embed_dim, num_heads, num_kv_heads, is_causal)
        require(sum_over=(sum_over, SUMS))
        self.rank = rank = rank_of(embed_dim, num_heads, rank)
        self.members, self.sum_over, self.sharing = members, sum_over, sharing

        def maps(heads: int, count: int) -> Iterator[nn.Linear]:
            return (nn.Linear(embed_dim, heads * rank, bias, device, dtype) for _ in range(count))

        projections = 1 if sharing else members
        (self.queries,) = maps(num_heads, 1)
        self.keys = nn.ModuleList(maps(self.num_kv_heads, projections))
        self.values = nn.ModuleList(maps(self.num_kv_heads, projections))

    def _project(self, x: Tensor) -> list[Float[Tensor, "... tokens features"]]:
        return [project(x) for project in (self.queries, *self.keys, *self.values)]

    def _empty(
        self, tokens: int, hidden: Tensor | None, is_causal: bool, device: torch.device
    ) -> Bool[Tensor, "... tokens"] | None:
        return rows_without_tuple(
            tokens, self.members, self.sum_over, is_causal, device, window=self.window, hidden=hidden
        )

    def _factors(self, projected: list[Tensor]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Queries, and a key and a value for each member, ``(..., heads, tokens, rank)`` each."""
        queries, *others = projected
        others = [split_heads(self._expand_kv(rows, self.rank), self.num_heads) for rows in others]
        keys, values = others[: len(self.keys)], others[len(self.keys) :]
        copies = self.members if self.sharing else 1
        return split_heads(queries, self.num_heads), keys * copies, values * copies

    def extra_repr(self) -> str:
        return f"rank={self.rank}, sum_over={self.sum_over!r}, sharing={self.sharing}, is_causal={self.is_causal}"


def rank_of(embed_dim: int, num_heads: int, rank: int | None = None) -> int:
    """The features of a query, ``embed_dim / num_heads`` unless given.

    Raises:
        ParameterError: the heads do not divide the features of a token, or a number below 1.
    """
    require(embed_dim=(embed_dim, 1, None), num_heads=(num_heads, 1, None))
    if embed_dim % num_heads:
        raise ParameterError(f"embed_dim must be a multiple of the {num_heads} heads, got {embed_dim}")
    rank = embed_dim // num_heads if rank is None else rank
    require(rank=(rank, 1, None))
    return rank


def split_heads(features: Float[Tensor, "... tokens features"], heads: int) -> Float[Tensor, "... heads tokens width"]:
    """The heads, which lie side by side, along an axis before the tokens."""
    return features.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge_heads(features: Float[Tensor, "... heads tokens width"]) -> Float[Tensor, "... tokens features"]:
    """The inverse of :func:`split_heads`."""
    return features.transpose(-3, -2).flatten(-2)

"""The part that the attention blocks share: masks, tokens that are not finite, and rows that have nothing to attend."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, count_visible, rows_without_tuple
from attention_theory.validation import ParameterError, refuse_unless, require


class AttentionBlock(nn.Module):
    """A self-attention block over tuples of tokens; its subclasses say how a token is projected and tuples are mixed.

    Two properties hold in every block. A token that must not be seen has no influence on a row, not even if it holds a
    NaN or overflows; a row that may see such a token is NaN. A row without any tuple is 0, whatever the bias.

    Args:
        embed_dim: the features of a token.
        num_heads: the heads; they must divide the features.
        num_kv_heads: heads of keys and values, each shared by ``num_heads / num_kv_heads`` heads of queries in a row;
            ``num_heads`` unless given.
        is_causal: every member of a tuple at the query or before it. It belongs to the block and not to a call, as the
            other rules about tuples do.

    Raises:
        ParameterError: the heads do not divide the features, or the heads of keys and values the heads.
    """

    #: The members of a tuple, how they stand to each other, and the windows that they are taken from.
    members: int = 1
    sum_over: Sum = "all"
    window: tuple[int, ...] | None = None
    out: nn.Linear

    def __init__(self, embed_dim: int, num_heads: int, num_kv_heads: int | None, is_causal: bool) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        rank_of(embed_dim, num_heads)
        require(num_kv_heads=(num_kv_heads, 1, None))
        refuse_unless(
            num_heads % num_kv_heads == 0, f"num_kv_heads must divide the {num_heads} heads, got {num_kv_heads}"
        )
        self.embed_dim, self.num_heads, self.num_kv_heads = embed_dim, num_heads, num_kv_heads
        self.is_causal = is_causal

    def forward(
        self,
        x: Float[Tensor, "... tokens embed_dim"],
        key_padding_mask: Shaped[Tensor, "... tokens"] | None = None,
        attn_mask: Shaped[Tensor, "... tokens tokens"] | None = None,
        need_weights: bool = False,
    ) -> Any:
        """The output of all heads.

        Args:
            x: the sequences.
            key_padding_mask: true at the tokens of each sequence that no query may see, as in torch.
            attn_mask: true at ``[i, j]`` where query ``i`` may not see token ``j``; for all sequences, or one for each.
            need_weights: return the weights of all tuples too, ``(..., heads, i, j1, ..., j_members)``. They are formed
                for this alone, in the memory of every tuple.

        Returns:
            Outputs ``(..., tokens, embed_dim)``, or outputs and weights.

        Raises:
            ParameterError: no token, or an input of another shape, or a mask that is not boolean.
        """
        if x.ndim < 2 or x.shape[-2] == 0 or x.shape[-1] != self.embed_dim:
            raise ParameterError(f"x must have shape [..., at least 1, {self.embed_dim}], got {list(x.shape)}")
        tokens = x.shape[-2]
        hidden = _hidden(key_padding_mask, attn_mask)
        projected = self._project(x)
        finite = torch.cat(projected, dim=-1).isfinite().all(-1)
        projected = [torch.where(finite[..., None], rows, 0.0) for rows in projected]
        mixed, weights = self._attend(projected, None if hidden is None else hidden[..., None, :, :], need_weights)
        reach = None if self.window is None else max(self.window)
        lost = ~finite | (count_visible(~finite, self.is_causal, reach, hidden) > 0)
        out = self.out(mixed) + torch.where(lost, torch.nan, 0.0).to(mixed.dtype)[..., None]
        empty = rows_without_tuple(
            tokens, self.members, self.sum_over, self.is_causal, x.device, window=self.window, hidden=hidden
        )
        out = out if empty is None else out.masked_fill(empty[..., None], 0.0)
        return (out, weights) if need_weights else out

    def reset_parameters(self) -> None:
        """Draw all weights anew, in the order of construction."""
        for part in self.modules():
            if part is not self and callable(reset := getattr(part, "reset_parameters", None)):
                reset()

    def _project(self, x: Tensor) -> list[Float[Tensor, "... tokens features"]]:
        """Queries, keys and values of all heads side by side."""
        raise NotImplementedError

    def _attend(
        self, projected: list[Tensor], hidden: Tensor | None, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        """The heads side by side before the output map, and the weights if they are needed."""
        raise NotImplementedError

    def _expand_kv(self, features: Tensor, width: int) -> Tensor:
        """Keys or values of all heads side by side, from those of the heads of keys and values, ``width`` each."""
        groups = self.num_heads // self.num_kv_heads
        return (
            features if groups == 1 else features.unflatten(-1, (-1, width)).repeat_interleave(groups, -2).flatten(-2)
        )


class TupleBlock(AttentionBlock):
    """A block with one query and ``members`` keys and values a head, all of ``rank`` features (Definition G.3).

    Args:
        rank: the features of a query; ``embed_dim / num_heads`` unless given.
        sharing: one key and one value projection for every member of the tuple, or one each.
        sum_over: how the positions of a tuple stand to each other.
        bias: a bias in every projection. The other arguments are those of :class:`AttentionBlock`.

    Raises:
        ParameterError: as for :class:`AttentionBlock`, or a rank below 1 or an unknown sum.
    """

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


def _hidden(key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> Bool[Tensor, "... #queries tokens"] | None:
    """Both masks as one: true at ``[i, j]`` where query ``i`` may not see token ``j``."""
    for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if mask is not None and mask.dtype != torch.bool:
            raise ParameterError(f"{name} must be boolean, true at what is left out, got {mask.dtype}")
    padding = None if key_padding_mask is None else key_padding_mask[..., None, :]
    if padding is None or attn_mask is None:
        return attn_mask if padding is None else padding
    return padding | attn_mask

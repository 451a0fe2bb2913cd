"""The part that the attention blocks share: masks, tokens that are not finite, and rows that have nothing to attend."""

from functools import reduce
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import pad

from attention_theory.validation import ParameterError, refuse_unless, require, require_shape


class AttentionBlock(nn.Module):
    """A self-attention block; its subclasses say how a token is projected and what is mixed.

    Two properties hold in every block. A token that must not be seen has no influence on a row, not even if it holds a
    NaN or overflows; a row that may see such a token is NaN. A row that has nothing to attend is 0, whatever the bias.

    Args:
        embed_dim: the features of a token.
        num_heads: the heads.
        is_causal: a query sees itself and the tokens before it, in every call that does not say otherwise.

    Raises:
        ParameterError: a number below 1.
    """

    #: The number of tokens that a causal query sees at most, counted back from it.
    reach: int | None = None
    out: nn.Module

    def __init__(self, embed_dim: int, num_heads: int, is_causal: bool) -> None:
        super().__init__()
        require(embed_dim=(embed_dim, 1, None), num_heads=(num_heads, 1, None))
        self.embed_dim, self.num_heads, self.is_causal = embed_dim, num_heads, is_causal

    def forward(
        self,
        x: Float[Tensor, "... tokens embed_dim"],
        key_padding_mask: Shaped[Tensor, "... tokens"] | None = None,
        attn_mask: Shaped[Tensor, "... tokens tokens"] | None = None,
        is_causal: bool | None = None,
        need_weights: bool = False,
    ) -> Any:
        """The output of all heads.

        Args:
            x: the sequences.
            key_padding_mask: true at the tokens of each sequence that no query may see, as in torch.
            attn_mask: true at ``[i, j]`` where query ``i`` may not see token ``j``; for all sequences, or one for each.
            is_causal: whether a query sees only itself and the tokens before it, in this call; as the block was made
                unless given. A window needs causality.
            need_weights: return the weights too, ``(..., heads, queries, tokens)``, with an axis of tokens for each
                member of a tuple where a block mixes tuples. They are formed for this alone.

        Returns:
            Outputs ``(..., tokens, embed_dim)``, or outputs and weights.

        Raises:
            ParameterError: no token, an input or a mask of another shape, a mask that is not boolean, or a window
                without causality.
        """
        if x.ndim < 2 or x.shape[-2] == 0 or x.shape[-1] != self.embed_dim:
            raise ParameterError(f"x must have shape [..., at least 1, {self.embed_dim}], got {list(x.shape)}")
        if key_padding_mask is not None:
            require_shape(key_padding_mask=(key_padding_mask, x.shape[:-1]))
        if attn_mask is not None:
            sequences = () if attn_mask.ndim == 2 else x.shape[:-2]
            require_shape(attn_mask=(attn_mask, (*sequences, x.shape[-2], x.shape[-2])))
        is_causal = self.is_causal if is_causal is None else is_causal
        refuse_unless(is_causal or self.reach is None, "is_causal must be True or None with a window, got False")
        return self._mix(x, _hidden_from(key_padding_mask, attn_mask), is_causal, need_weights)

    def _mix(
        self, x: Tensor, hidden: Bool[Tensor, "... #queries tokens"] | None, is_causal: bool, need_weights: bool
    ) -> Any:
        """The output of all heads, from both masks as one."""
        projected = self._project(x)
        finite = reduce(torch.logical_and, map(_are_finite, projected))
        projected = [torch.where(finite[..., None], rows, 0.0) for rows in projected]
        each_head = None if hidden is None else hidden[..., None, :, :]
        mixed, weights = self._attend(projected, each_head, is_causal, need_weights)
        lost = ~finite | (count_visible(~finite, is_causal, self.reach, hidden) > 0)
        out = self.out(mixed) + torch.where(lost, torch.nan, 0.0).to(mixed.dtype)[..., None]
        empty = self._empty(x.shape[-2], hidden, is_causal, x.device)
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
        self, projected: list[Tensor], hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        """The heads side by side before the output map, and the weights if they are needed."""
        raise NotImplementedError

    def _empty(
        self, tokens: int, hidden: Tensor | None, is_causal: bool, device: torch.device
    ) -> Bool[Tensor, "... tokens"] | None:
        """True at each query that has nothing to attend, or None where each has something."""
        if hidden is None:
            return None
        every = torch.ones(tokens, dtype=torch.bool, device=device)
        return count_visible(every, is_causal, self.reach, hidden) == 0


def _are_finite(rows: Float[Tensor, "... tokens features"]) -> Bool[Tensor, "... tokens"]:
    """True at the tokens whose features are all finite; faster than ``isfinite().all(-1)``."""
    return (rows.detach() * 0).sum(-1) == 0


def count_visible(
    marked: Bool[Tensor, "... tokens"],
    causal: bool,
    window: int | None = None,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Int[Tensor, "... tokens"]:
    """The number of marked tokens that each query may see; a ``window`` is for causal sums."""
    if hidden is None or hidden.shape[-2] == 1:
        count = (marked if hidden is None else marked & ~hidden[..., 0, :]).cumsum(-1)
        if not causal:
            return count[..., -1:].expand_as(count)
        return count if window is None else count - pad(count, (window, 0))[..., : count.shape[-1]]
    position = torch.arange(marked.shape[-1], device=marked.device)
    visible = ~hidden
    if causal:
        visible = visible & (position <= position[:, None])
    if window is not None:
        visible = visible & (position > position[:, None] - window)
    count = (visible & marked[..., None, :]).sum(-1)
    return count.expand(*count.shape[:-1], marked.shape[-1])


def _hidden_from(
    key_padding_mask: Tensor | None, attn_mask: Tensor | None = None
) -> Bool[Tensor, "... #queries tokens"] | None:
    """Both masks as one: true at ``[i, j]`` where query ``i`` may not see token ``j``.

    Raises:
        ParameterError: a mask that is not boolean.
    """
    for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if mask is not None and mask.dtype != torch.bool:
            raise ParameterError(f"{name} must be boolean, true at what is left out, got {mask.dtype}")
    padding = None if key_padding_mask is None else key_padding_mask[..., None, :]
    if padding is None or attn_mask is None:
        return attn_mask if padding is None else padding
    return padding | attn_mask

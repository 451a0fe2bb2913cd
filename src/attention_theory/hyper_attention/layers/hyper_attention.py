"""HyperAttention: softmax attention over tuples of tokens, as a block for a network (Section 6, Appendix G.1)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.hyper_attention.layers._tuple_block import TupleBlock, merge_heads, rank_of
from attention_theory.hyper_attention.layers._window_attention import window_attention
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.hyper_attention.layers.tuple_softmax import mix_tuples, tuple_attention, tuple_weights
from attention_theory.validation import Each, refuse_unless, require


class HyperAttention(TupleBlock):
    """Multihead HyperAttention (Definitions G.1 and G.3), in place of a self-attention block.

    A head of order ``n`` weighs tuples of ``n - 1`` tokens by a softmax over products of ``n`` factors. Order 3 runs
    block by block (:func:`pair_attention`), or window by window, in time and memory linear in the tokens
    (:func:`window_attention`); every other order holds every score, ``tokens ** n`` of them. So does an exported graph
    of order 3 without a window.

    The paper puts no scale on the scores and does not ask that a tuple lie in the past; here the scores are divided by
    the root of the rank, and ``is_causal`` says which tuples a token may see. There is no dropout of weights, because
    at order 3 they are never held.

    Shapes are ``(..., tokens, embed_dim)`` in and out. A row without a tuple is 0: a fully masked one, or the first
    rows of a strict sum.

    >>> import torch
    >>> from attention_theory.nn import HyperAttention
    >>> layer = HyperAttention(embed_dim=16, num_heads=4)
    >>> padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    >>> layer(torch.randn(2, 5, 16), key_padding_mask=padding).shape
    torch.Size([2, 5, 16])

    Args:
        embed_dim: the features ``d`` of a token.
        num_heads: the heads ``H``, which divide the features.
        order: ``n``, at least 2 (ordinary attention).
        rank: the features ``R`` of a query; ``embed_dim / num_heads`` unless given.
        num_kv_heads: heads of keys and values, each for ``num_heads / num_kv_heads`` heads in a row; all unless given.
        window: for each member how many tokens it is taken from, counted back from the query; ``(w1, w2)`` at order 3.
        sum_over: how the positions of a tuple stand to each other: ``ge`` in Definition G.1, ``gt`` in Remark G.2.
        sharing: one key and one value projection for every member of the tuple (Definition G.1) or one each (G.3).
        is_causal: every member at the query or before it.
        separate_output: keep the last value factor (``d_h x R`` a head) and the output matrix (``d x d``) apart, as in
            the paper. They are two linear maps in a row, so by default they are one of ``d x H R``; only then does
            order 3 with sharing have the parameters of self-attention.
        bias: a bias in every projection.

    Raises:
        ParameterError: the heads do not divide the features, a window without ``is_causal`` or not of one length for
            each member, or another argument out of range.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 1,
        order: int = 3,
        *,
        rank: int | None = None,
        num_kv_heads: int | None = None,
        window: Sequence[int] | None = None,
        sum_over: Sum = "ge",
        sharing: bool = True,
        is_causal: bool = True,
        separate_output: bool = False,
        bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        require(order=(order, 2, None))
        if window is not None:
            require(window=(Each(window), 1, None))
            refuse_unless(
                len(window) == order - 1 and is_causal,
                f"window must hold one length for each of the {order - 1} members and needs is_causal=True, "
                f"got {list(window)} and is_causal={is_causal}",
            )
        super().__init__(
            embed_dim,
            num_heads,
            order - 1,
            rank=rank,
            num_kv_heads=num_kv_heads,
            sum_over=sum_over,
            sharing=sharing,
            is_causal=is_causal,
            bias=bias,
            device=device,
            dtype=dtype,
        )
        self.order, self.window = order, None if window is None else tuple(window)
        self.reach = None if window is None else max(window)
        inner = num_heads * self.rank
        factory = {"device": device, "dtype": dtype}
        self.last_value: nn.Module = nn.Identity()
        if separate_output:
            self.last_value = _LastValue(embed_dim // num_heads, num_heads, self.rank, device, dtype)
        self.out = nn.Linear(embed_dim if separate_output else inner, embed_dim, bias=bias, **factory)

    def _attend(
        self, projected: list[Tensor], hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        queries, keys, values = self._factors(projected)
        sum_over, window, scale = self.sum_over, self.window, self.rank**-0.5
        weights = None
        if need_weights:
            weights = tuple_weights(queries, keys, sum_over, is_causal, scale, window=window, hidden=hidden)
            mixed = mix_tuples(weights, values)
        elif self.order != 3:
            mixed = tuple_attention(queries, keys, values, sum_over, is_causal, scale, window=window, hidden=hidden)
        elif window is None:
            mixed = pair_attention(
                queries, *keys, *values, sum_over=sum_over, causal=is_causal, scale=scale, hidden=hidden
            )
        else:
            mixed = window_attention(
                queries, *keys, *values, window=window, sum_over=sum_over, scale=scale, hidden=hidden
            )
        return merge_heads(self.last_value(mixed)), weights

    def extra_repr(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        return f"{self.embed_dim}, {self.num_heads}, order={self.order}, {super().extra_repr()}{window}"


class _LastValue(nn.Module):
    """The factor ``V^n`` of each head, from ``rank`` features to ``d_h``."""

    def __init__(
        self,
        head_dim: int,
        heads: int,
        rank: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, rank, head_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.weight.shape[1] ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, mixed: Float[Tensor, "... heads tokens rank"]) -> Float[Tensor, "... heads tokens head"]:
        return mixed @ self.weight


def hyper_attention_parameters(
    embed_dim: int,
    num_heads: int = 1,
    order: int = 3,
    rank: int | None = None,
    sharing: bool = True,
    separate_output: bool = False,
) -> int:
    """Parameters of :class:`HyperAttention`: ``4 d^2`` with sharing and ``2 n d^2`` without, where ``H R = d``.

    ``separate_output`` adds ``d^2`` (Definitions G.1 and G.3; Table 1).

    Raises:
        ParameterError: as for the block.
    """
    require(order=(order, 2, None))
    inner = num_heads * rank_of(embed_dim, num_heads, rank)
    projections = 1 + 2 * (1 if sharing else order - 1)
    out = (embed_dim // num_heads) * inner + embed_dim**2 if separate_output else embed_dim * inner
    return projections * embed_dim * inner + out

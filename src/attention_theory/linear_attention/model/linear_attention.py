"""Multi-head linear attention as a block for a network, causal in time linear in the tokens."""

from typing import Any, Self

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from attention_theory._attention_block import AttentionBlock
from attention_theory.layers import attention_weights, causal_mask
from attention_theory.linear_attention.model.mhla import Heads, gram
from attention_theory.validation import refuse_unless, require

#: Tokens of a chunk: within it a causal query meets every token, before it the sum of their outer products.
_CHUNK = 32

#: Up to so many tokens are one chunk, as the sums of several would take longer than the scores that they save.
_ONE_CHUNK = 64


class LinearAttention(AttentionBlock):
    """Multi-head linear attention ``Σ_h V_h Z (Zᵀ Q_h Z)`` (Eqs. 1 and 2), in place of a self-attention block.

    There is no softmax, no bias, and nothing is divided by the number of tokens: outputs are cubic in the tokens. Time
    and memory are linear in their number, except with ``attn_mask`` or ``need_weights``, which form every score.

    Shapes are ``(..., tokens, embed_dim)`` in and ``(..., tokens, out_features)`` out, or ``(..., out_features)`` with
    ``last_token``. A fully masked row is 0.

    >>> import torch
    >>> from attention_theory.nn import LinearAttention
    >>> layer = LinearAttention(embed_dim=16, num_heads=4)
    >>> layer(torch.randn(2, 1000, 16)).shape
    torch.Size([2, 1000, 16])

    Args:
        embed_dim: the features ``d`` of a token.
        num_heads: the heads ``H``. Each has two matrices over all features, so they need not divide these.
        out_features: the features of an output; ``embed_dim`` unless given.
        is_causal: a token looks at itself and those before it (Section 6.1), or at all of them (Eq. 1).
        last_token: give the output at the last token alone, which sees all others (Eq. 2): the last one that
            ``key_padding_mask`` does not hide. There are then neither ``attn_mask`` nor weights.

    Raises:
        ParameterError: a number below 1.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 1,
        *,
        out_features: int | None = None,
        is_causal: bool = True,
        last_token: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(embed_dim, num_heads, is_causal)
        self.out_features = embed_dim if out_features is None else out_features
        require(out_features=(self.out_features, 1, None))
        self.last_token = last_token
        self.values = nn.Parameter(torch.empty(num_heads, self.out_features, embed_dim, device=device, dtype=dtype))
        self.queries = nn.Parameter(torch.empty(num_heads, embed_dim, embed_dim, device=device, dtype=dtype))
        self.out = nn.Identity()
        self.reset_parameters()

    @classmethod
    def from_heads(cls, heads: Heads, *, is_causal: bool = True, last_token: bool = False) -> Self:
        """The block with given matrices ``V_h`` and ``Q_h``, in their type and on their device."""
        like: dict[str, Any] = {"device": heads.values.device, "dtype": heads.values.dtype}
        block = cls(
            heads.width, heads.count, out_features=heads.out, is_causal=is_causal, last_token=last_token, **like
        )
        block.load_state_dict({"values": heads.values, "queries": heads.queries})
        return block

    @property
    def heads(self) -> Heads:
        """The matrices as the functions of this paper take them."""
        return Heads(self.values, self.queries)

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniformly, as ``torch.nn.Linear`` does."""
        bound = self.embed_dim**-0.5
        nn.init.uniform_(self.values, -bound, bound)
        nn.init.uniform_(self.queries, -bound, bound)

    def _mix(
        self, x: Tensor, hidden: Bool[Tensor, "... #queries tokens"] | None, is_causal: bool, need_weights: bool
    ) -> Any:
        if not self.last_token:
            return super()._mix(x, hidden, is_causal, need_weights)
        refuse_unless(
            not need_weights and (hidden is None or hidden.shape[-2] == 1),
            "attn_mask must be None and need_weights False with last_token=True, where there is one query",
        )
        if hidden is None:
            return self._read(gram(x), x[..., -1:, :]).squeeze(-2)
        seen = x.masked_fill(hidden.mT, 0.0)
        position = torch.arange(x.shape[-2], device=x.device)
        last = (position * ~hidden).argmax(-1)[..., None]
        query = seen.gather(-2, last.expand(*x.shape[:-2], 1, x.shape[-1]))
        return self._read(gram(seen), query).squeeze(-2)

    def _project(self, x: Tensor) -> list[Float[Tensor, "... tokens features"]]:
        return [x]

    def _attend(
        self, projected: list[Tensor], hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        (tokens,) = projected
        if need_weights or (hidden is not None and hidden.shape[-2] > 1):
            return self._by_scores(tokens, hidden, is_causal, need_weights)
        seen = tokens if hidden is None else tokens.masked_fill(hidden[..., 0, :, :].mT, 0.0)
        if is_causal:
            # A compiler may see the length as a symbol.
            is_short = not torch.compiler.is_compiling() and tokens.shape[-2] <= _ONE_CHUNK
            read = _scored_read if is_short else _chunked_read
            return self._write(read(self._ask(tokens), seen)), None
        return self._read(gram(seen), tokens), None

    def _by_scores(
        self, tokens: Tensor, hidden: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Float[Tensor, "... tokens features"], Tensor | None]:
        """Every query with every token, ``(..., heads, tokens, tokens)`` scores."""
        mask = None if hidden is None else ~hidden
        if is_causal:
            causal = causal_mask(tokens.shape[-2], tokens.device)
            mask = causal if mask is None else mask & causal
        keys = tokens[..., None, :, :]
        queries = self._ask(tokens).unflatten(-2, (-1, self.num_heads)).transpose(-3, -2)
        weights = attention_weights(queries @ keys.mT, "linear", mask)
        return self._write((weights @ keys).transpose(-3, -2).flatten(-3, -2)), weights if need_weights else None

    def _ask(self, tokens: Float[Tensor, "... tokens width"]) -> Float[Tensor, "... rows width"]:
        """``Q_h z`` for every head of the first token, of the second, ..."""
        return linear(tokens, self.queries.flatten(0, 1)).unflatten(-1, (self.num_heads, -1)).flatten(-3, -2)

    def _write(self, read: Float[Tensor, "... rows width"]) -> Float[Tensor, "... tokens out"]:
        """``Σ_h V_h`` times what head ``h`` has read for each token."""
        rows = read.unflatten(-2, (-1, self.num_heads)).flatten(-2)
        return linear(rows, self.values.transpose(0, 1).flatten(1))

    def _read(
        self, products: Float[Tensor, "... width width"], tokens: Float[Tensor, "... tokens width"]
    ) -> Float[Tensor, "... tokens out"]:
        """``Σ_h V_h G Q_h z`` at tokens that share a Gram matrix ``G``.

        The heads are multiplied with ``G`` into one matrix where there are more tokens than features.
        """
        if not torch.compiler.is_compiling() and tokens.shape[-2] < self.embed_dim:
            return self._write(self._ask(tokens) @ products)
        read = products @ self.queries.transpose(0, 1).flatten(1)
        stacked = read.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2).flatten(-3, -2)
        return tokens @ (self.values.transpose(0, 1).flatten(1) @ stacked).mT

    def extra_repr(self) -> str:
        return (
            f"{self.embed_dim}, {self.num_heads}, out_features={self.out_features}, is_causal={self.is_causal}, "
            f"last_token={self.last_token}"
        )


def _chunked_read(
    queries: Float[Tensor, "... rows width"], tokens: Float[Tensor, "... tokens width"], chunk: int = _CHUNK
) -> Float[Tensor, "... rows width"]:
    """``G_i q`` for every query of token ``i``, with ``G_i`` the Gram matrix of the tokens up to ``i``.

    Within a chunk each query meets every token up to its own; the chunks before are in a running sum of their Gram
    matrices. Time is linear in the tokens, and no Gram matrix of a single token is formed. A token that is not
    finite reaches no earlier query.

    Args:
        queries: the queries of the first token, of the second, ..., as many for each.
        tokens: the sequences.
        chunk: the tokens of a chunk.

    Raises:
        ParameterError: a chunk below 1.
    """
    require(chunk=(chunk, 1, None))
    rows, length = queries.shape[-2], tokens.shape[-2]
    heads, filler = rows // length, -length % chunk
    if torch.compiler.is_compiling() or filler:  # to a compiler it may be a symbol
        queries, tokens = (pad(queries, (0, 0, 0, heads * filler)), pad(tokens, (0, 0, 0, filler)))
    asked, pieces = queries.unflatten(-2, (-1, heads * chunk)), tokens.unflatten(-2, (-1, chunk))
    before = pad(gram(pieces).cumsum(-3)[..., :-1, :, :], (0, 0, 0, 0, 1, 0))
    return (asked @ before).add_(_scored_read(asked, pieces)).flatten(-3, -2)[..., :rows, :]


def _scored_read(
    queries: Float[Tensor, "... rows width"], tokens: Float[Tensor, "... tokens width"]
) -> Float[Tensor, "... rows width"]:
    """Read as :func:`_chunked_read` does, by every score of a query and a token, as one chunk."""
    later = ~causal_mask(tokens.shape[-2], tokens.device)
    later = later.repeat_interleave(queries.shape[-2] // tokens.shape[-2], 0)
    return torch.where(later, 0.0, queries @ tokens.mT) @ tokens

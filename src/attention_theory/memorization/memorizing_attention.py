"""Multi-head attention read at a query, as a module of torch, and weights that memorise any labels (Theorem 1)."""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_theory.memorization.attention import Examples, KeyQueryHeads, Readout, predict, softmax_weights
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.pairs_of_heads import build_pairs, build_single_heads
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import Seed
from attention_theory.validation import ParameterError, refuse_unless, require, require_shape, require_some


class MemorizingAttention(nn.Module):
    """One layer of multi-head attention, read at a query, with a linear decoder (Section 3, Eqs. 1 to 6).

    There is no scaling of scores, no bias and no skip connection. Shapes are ``(..., tokens, embed_dim)`` for contexts
    and ``(..., embed_dim)`` for queries in, ``(..., out_features)`` out. A query whose context is all masked gives 0.

    >>> import torch
    >>> from attention_theory.nn import MemorizingAttention
    >>> layer = MemorizingAttention(embed_dim=16, num_heads=4, out_features=3)
    >>> layer(torch.randn(8, 5, 16), torch.randn(8, 16)).shape
    torch.Size([8, 3])

    Args:
        embed_dim: the features ``d`` of a token.
        num_heads: the heads ``H``.
        out_features: ``d_out``.
        head_dim: the width ``d_h`` of keys and queries; ``embed_dim`` unless given.
        value_dim: the width ``d_v`` of values; ``embed_dim`` unless given.

    Raises:
        ParameterError: a number below 1.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 1,
        out_features: int = 1,
        *,
        head_dim: int | None = None,
        value_dim: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.out_features = embed_dim, num_heads, out_features
        self.head_dim = head_dim = embed_dim if head_dim is None else head_dim
        self.value_dim = value_dim = embed_dim if value_dim is None else value_dim
        require(embed_dim=(embed_dim, 1, None), num_heads=(num_heads, 1, None), out_features=(out_features, 1, None))
        require(head_dim=(head_dim, 1, None), value_dim=(value_dim, 1, None))

        def weights(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.keys, self.queries = (weights(num_heads, embed_dim, head_dim) for _ in range(2))
        self.values = weights(num_heads, embed_dim, value_dim)
        self.output = weights(num_heads * value_dim, embed_dim)
        self.decode = weights(embed_dim, out_features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniformly, as ``torch.nn.Linear`` does."""
        for weights in self.parameters():
            nn.init.uniform_(weights, -(weights.shape[-2] ** -0.5), weights.shape[-2] ** -0.5)

    def forward(
        self,
        contexts: Float[Tensor, "... tokens embed_dim"],
        queries: Float[Tensor, "... embed_dim"],
        key_padding_mask: Bool[Tensor, "... tokens"] | None = None,
        need_weights: bool = False,
    ) -> Any:
        """The outputs at the queries.

        There is no ``attn_mask``: each query has a row of ``key_padding_mask``, so the two would say the same.

        Args:
            contexts: one for each query, or a single one, ``(tokens, embed_dim)``, for all.
            queries: which need not be tokens of their contexts.
            key_padding_mask: true at the tokens that each query may not see, as in torch; a row for each query, also
                where they share a context.
            need_weights: return the weights too, ``(..., heads, tokens)``.

        Returns:
            Outputs ``(..., out_features)``, or outputs and weights.

        Raises:
            ParameterError: no token, shapes that do not match, or a mask that is not boolean.
        """
        require_shape(contexts=(contexts, (..., None, self.embed_dim)), queries=(queries, (..., self.embed_dim)))
        refuse_unless(contexts.shape[-2] > 0, f"contexts must have a token, got shape {list(contexts.shape)}")
        batch = queries.shape[:-1]
        if contexts.ndim > 2:
            require_shape(contexts=(contexts, (*batch, None, self.embed_dim)))
            contexts = contexts.flatten(0, -3) if batch else contexts
        hidden = None
        if key_padding_mask is not None:
            if key_padding_mask.dtype != torch.bool:
                raise ParameterError(f"key_padding_mask must be boolean, got {key_padding_mask.dtype}")
            require_shape(key_padding_mask=(key_padding_mask, (*batch, contexts.shape[-2])))
            hidden = key_padding_mask.reshape(-1, contexts.shape[-2])
        examples = Examples(contexts, queries.reshape(-1, self.embed_dim))
        readout = Readout(self.values, self.output, self.decode)
        heads = KeyQueryHeads(self.keys, self.queries)
        out = predict(heads, readout, examples, hidden=hidden).reshape(*batch, self.out_features)
        if not need_weights:
            return out
        return out, softmax_weights(heads, examples, hidden).reshape(*batch, self.num_heads, examples.tokens)

    def extra_repr(self) -> str:
        return (
            f"{self.embed_dim}, {self.num_heads}, {self.out_features}, head_dim={self.head_dim}, "
            f"value_dim={self.value_dim}"
        )


def memorize(
    contexts: Float[Tensor, "tokens embed_dim"] | Float[Tensor, "examples tokens embed_dim"],
    queries: Float[Tensor, "examples embed_dim"],
    labels: Float[Tensor, "examples out_features"],
    num_heads: int,
    head_dim: int | None = None,
    seed: Seed = 0,
    method: Literal["rank", "pairs", "single"] = "rank",
) -> MemorizingAttention:
    """Attention with weights that are written down and not trained: every query gets its label.

    By ``rank`` these are the weights of Theorem 1, whose heads fit every set of labels; the function
    :func:`~attention_theory.memorization.attention.capacity` says how many examples they take. By ``pairs`` the heads
    are made for the given labels, and :func:`~attention_theory.memorization.pairs_of_heads.pair_capacity` says how
    many, whatever the number of tokens; by ``single`` heads it is twice that, for one context of at least 3 tokens. It
    computes in float64; the result has the type and the device of the queries.

    >>> import torch, attention_theory as at
    >>> contexts, queries, labels = torch.randn(13, 5, 16), torch.randn(13, 16), torch.randn(13, 2)
    >>> layer = at.memorize(contexts.double(), queries.double(), labels.double(), num_heads=3)
    >>> (layer(contexts.double(), queries.double()) - labels).abs().max().item() < 1e-8
    True

    Args:
        contexts: one for each query, or a single one for all; the tokens of each are linearly independent
            (Assumption 2). Pairs need two tokens that differ.
        queries: any ``tokens`` of them are linearly independent (Assumption 1). Pairs, and single heads, need that of
            one query more than the examples divided by the pairs, or the heads.
        labels: at most ``embed_dim`` numbers for each query, by ``rank``, else one.
        num_heads: the heads ``H``.
        head_dim: the width ``d_h`` of keys and queries; the number of tokens unless given, 1 for pairs and 2 for single
            heads: more does not help.
        seed: of the construction's choices.
        method: ``rank``, ``pairs`` or ``single``.

    Raises:
        ParameterError: an argument out of its range, more examples than the heads take, examples that break an
            assumption, or labels that are missed for rounding.
    """
    examples = Examples(contexts.double(), queries.double())
    require(method=(method, {"rank", "pairs", "single"}))
    if head_dim is None:
        head_dim = {"rank": examples.tokens, "pairs": 1, "single": 2}[method]
    require_some(queries=queries)
    require_shape(labels=(labels, (examples.count, None)))
    widest = examples.width if method == "rank" else 1
    refuse_unless(
        1 <= labels.shape[1] <= widest,
        f"labels must be from 1 to {widest} numbers for each query, got {labels.shape[1]}",
    )
    if method == "pairs":
        paired = build_pairs(examples, labels[:, 0].double(), num_heads, head_dim, seed)
        heads, readout = paired.heads, paired.readout
    elif method == "single":
        single = build_single_heads(examples, labels[:, 0].double(), num_heads, head_dim, seed)
        heads, readout = single.heads, single.readout
    else:
        made = build_heads(examples, num_heads, head_dim, seed)
        heads, readout = made.heads, solve_readout(made.Z, labels.double(), num_heads, labels.shape[1])
    missed = (predict(heads, readout, examples) - labels).abs().max().item()
    most = 1e-6 * labels.abs().max().item()
    refuse_unless(missed <= most, f"labels must be met up to {most:.1e}, the weights miss them by {missed:.1e}")
    layer = MemorizingAttention(
        examples.width, num_heads, labels.shape[1], head_dim=head_dim, value_dim=labels.shape[1], device=queries.device
    ).to(queries.dtype)
    weights = {"keys": heads.keys, "queries": heads.queries, "values": readout.values}
    layer.load_state_dict({**weights, "output": readout.output, "decode": readout.decode})
    return layer

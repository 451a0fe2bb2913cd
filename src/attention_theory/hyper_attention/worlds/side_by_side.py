"""Attention without a softmax on features side by side (beyond Remark F.6).

A token has several features, written as one-hots next to each other. A stack of linear self-attention sees one feature
of token i at a time, and two features of token j: exactly the sums over j of such functions are within its reach, and
one layer is enough. HyperFeatureAttention of order A sees A features of i and 2 A of j.

An effect is a table over all tokens, in the order of
:func:`~attention_theory.hyper_attention.worlds.coupled_features.product_symbols`: rows are i, columns are j.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.worlds.coupled_features import embed_features
from attention_theory.validation import Each, require

#: The heads of a layer of one order: scores and values of each factor, stacked.
_Heads = tuple[Float[Tensor, "heads order width width"], Float[Tensor, "heads order width features"]]


def every_token(sizes: Sequence[int]) -> Float[Tensor, "tokens width"]:
    """The embeddings of all combinations of values, one row per token.

    Raises:
        ParameterError: a feature without a value.
    """
    require(sizes=(Each(sizes), 1, None))
    return embed_features(torch.cartesian_prod(*map(torch.arange, sizes)).reshape(-1, len(sizes)), sizes)


def within_reach(
    effect: Float[Tensor, "tokens tokens"], sizes: Sequence[int], order: int = 1
) -> Float[Tensor, "tokens tokens"]:
    """The nearest effect, in squares over all pairs of tokens, that layers of this order represent.

    It is a sum of functions of ``order`` features of token i and twice as many of token j. Order 1 is linear attention.

    Raises:
        ParameterError: an order below 1.
    """
    require(order=(order, 1, None))
    return _of_few_features(_of_few_features(effect, sizes, 2 * order).mT, sizes, order).mT


def layer_within_reach(
    effect: Float[Tensor, "tokens tokens"], sizes: Sequence[int]
) -> tuple[Float[Tensor, "heads width width"], Float[Tensor, "heads width 1"]]:
    """Scores and values of one layer of linear attention whose heads add up to :func:`within_reach` of the effect.

    The values are 1 for all tokens in the first head, and in each other head 1 for the tokens with one value of one
    feature. The feature with the most values needs no head, nor does the last value of any other.
    """
    tokens, largest = every_token(sizes), max(range(len(sizes)), key=lambda feature: sizes[feature])
    columns = [torch.full_like(tokens[0], 1 / len(sizes))]
    for feature, size in enumerate(sizes):
        start = sum(sizes[:feature])
        columns += [] if feature == largest else torch.eye(tokens.shape[1]).to(tokens)[start : start + size - 1]
    value = torch.stack(columns)
    seen = torch.einsum("jh,jb->jhb", tokens @ value.mT, tokens).flatten(1)
    score = torch.linalg.pinv(tokens) @ effect @ torch.linalg.pinv(seen).mT
    return score.unflatten(1, (len(value), -1)).transpose(0, 1), value.unsqueeze(-1)


def hyper_feature_stack(
    tokens: Float[Tensor, "tokens width"],
    layers: Sequence[_Heads],
    skip: bool = False,
    counts: Float[Tensor, " tokens"] | None = None,
) -> Float[Tensor, "tokens features"]:
    """Layers of linear HyperFeatureAttention (Definition 5.1), whose heads are added, one after the other.

    Token j enters every sum ``counts[j]`` times, which need not be whole, so that outputs can be differentiated by it.
    """
    times = torch.ones_like(tokens[:, 0]) if counts is None else counts
    for scores, values in layers:
        factors = (tokens @ scores @ tokens.mT).prod(dim=-3)
        mixed = (factors @ (times[:, None] * (tokens @ values).prod(dim=-3))).sum(dim=0)
        tokens = tokens + mixed if skip else mixed
    return tokens


def _of_few_features(
    table: Float[Tensor, "rows tokens"], sizes: Sequence[int], most: int
) -> Float[Tensor, "rows tokens"]:
    """The part of each row that is a sum of functions of ``most`` features: its mean over each feature, or the rest."""
    parts = [table.unflatten(1, tuple(sizes))]
    zero = torch.zeros_like(parts[0])
    for axis in range(1, len(sizes) + 1):
        means = [part.mean(dim=axis, keepdim=True).expand_as(part) for part in parts]
        rests = [part - mean for part, mean in zip(parts, means, strict=True)]
        parts = [mean + rest for mean, rest in zip([*means, zero], [zero, *rests], strict=True)][: most + 1]
    return torch.stack(parts).sum(dim=0).flatten(1)

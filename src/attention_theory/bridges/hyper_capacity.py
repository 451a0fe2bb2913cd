"""Memorization capacity of HyperAttention: the rank of its features, exactly, in whole numbers (Bridge 3).

A head of order ``s`` weighs the tuples of ``s - 1`` context tokens by a softmax of their scores with the query. Its
values read the weighted mean of ``x_1 ⊗ ... ⊗ x_{s-1}``; the features of all heads side by side are the matrix
whose rank counts the examples with arbitrary labels, as Z does in Section 3 of the paper on memorization.

With whole tokens and scores, and logits in units of log 7, every softmax weight is a ratio of powers of 7. A row times
the heads' normalisers is whole; its rank modulo a prime is a lower bound on the rank, with no rounding anywhere.
The base is 7 because its powers run through all remainders of this prime except 0; those of 2 run through 31 of them.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import Sum, allowed_tuples
from attention_theory.numerics import PRIME, modular_rank
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require, require_some

#: How a score tensor comes about: any tensor; one query vector times keys of width one; the same with one key for all.
_Scores = Literal["full", "width one", "width one, shared"]

#: A primitive root of :data:`.PRIME`.
_BASE = 7


def _tuples_of(tokens: int, order: int, sum_over: Sum = "all") -> Int[Tensor, "tuples members"]:
    """The tuples of ``order - 1`` positions that a head weighs.

    Raises:
        ParameterError: no token, an order below 2 or an unknown sum.
    """
    require(tokens=(tokens, 1, None), order=(order, 2, None))
    return allowed_tuples(tokens, order - 1, sum_over, causal=False)[0].nonzero()


def random_scores(
    heads: int, width: int, order: int, scores: _Scores, seed: Seed, largest: int = 40
) -> Int[Tensor, "heads entries"]:
    """Whole score tensors of heads, ``width ** order`` entries each, the query's axis first.

    Raises:
        ParameterError: no head, no width, an order below 2 or an unknown kind of scores.
    """
    require(heads=(heads, 1, None), width=(width, 1, None), order=(order, 2, None), scores=(scores, get_args(_Scores)))
    source = generator(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randint(-largest, largest + 1, shape, generator=source)

    if scores == "full":
        return draw(heads, width**order)
    query, key = draw(heads, width), draw(heads, width)
    keys = [key if scores == "width one, shared" else draw(heads, width) for _ in range(order - 1)]
    return _outer([query, *keys])


def _outer(factors: Sequence[Tensor]) -> Tensor:
    """The products of all entries of the factors, row by row, the last factor's index fastest."""
    made = factors[0]
    for factor in factors[1:]:
        made = (made[..., :, None] * factor[..., None, :]).flatten(-2)
    return made


def _tuple_tokens(
    contexts: Int[Tensor, "examples tokens width"] | Float[Tensor, "examples tokens width"], order: int, sum_over: Sum
) -> Tensor:
    """``x_{j_1} ⊗ ... ⊗ x_{j_{s-1}}`` of every allowed tuple: (examples, tuples, width^(s-1))."""
    members = _tuples_of(contexts.shape[1], order, sum_over).to(contexts.device)
    return _outer([contexts[:, member] for member in members.mT])


def exact_features(
    queries: Int[Tensor, "examples width"],
    contexts: Int[Tensor, "examples tokens width"],
    scores: Int[Tensor, "heads entries"],
    order: int,
    sum_over: Sum = "all",
) -> Int[Tensor, "examples features"]:
    """The features of all heads, each row times the product of the heads' normalisers, modulo :data:`.PRIME`.

    Logits are the scores times log 7; the least of each query and head is subtracted, which a softmax does not see.

    Raises:
        ParameterError: an order below 2, no token or an unknown sum.
    """
    require(order=(order, 2, None))
    require_some(contexts=contexts)
    each = _tuple_tokens(contexts, order, sum_over)
    width = queries.shape[1]
    by_query = torch.einsum("tq,hqx->thx", queries, scores.unflatten(1, (width, -1)))
    logits = torch.einsum("thx,tjx->thj", by_query, each)
    powers = logits - logits.amin(dim=-1, keepdim=True)
    whole = [pow(_BASE, one, PRIME) for one in powers.flatten().tolist()]
    weights = torch.tensor(whole, device=powers.device).reshape(powers.shape)
    sums = weights.sum(dim=-1) % PRIME
    means = []
    for head in range(len(scores)):
        scale = torch.ones_like(queries[:, 0])
        for other in range(len(scores)):
            scale = scale if other == head else scale * sums[:, other] % PRIME
        scaled = weights[:, head] * scale[:, None] % PRIME
        parts = scaled[:, :, None] * (each % PRIME) % PRIME
        means.append(parts.sum(dim=1) % PRIME)
    return torch.cat(means, dim=1)


def softmax_features(
    queries: Float[Tensor, "examples width"],
    contexts: Float[Tensor, "examples tokens width"],
    scores: Float[Tensor, "heads entries"],
    order: int,
    sum_over: Sum = "all",
) -> Float[Tensor, "examples features"]:
    """The features of all heads side by side, in floating point.

    Raises:
        ParameterError: an order below 2, no token or an unknown sum.
    """
    require(order=(order, 2, None))
    require_some(contexts=contexts)
    each = _tuple_tokens(contexts, order, sum_over)
    by_query = torch.einsum("tq,hqx->thx", queries, scores.unflatten(1, (queries.shape[1], -1)))
    weights = torch.einsum("thx,tjx->thj", by_query, each).softmax(dim=-1)
    return torch.einsum("thj,tjx->thx", weights, each).flatten(1)


def capacity_bound(
    heads: int, tokens: int, width: int, order: int, sum_over: Sum = "all", shared: bool = True, symmetric: bool = False
) -> int:
    """The most that the rank of the features can be, whatever the scores.

    Args:
        heads: H.
        tokens: n of a context.
        width: d.
        order: s.
        sum_over: which tuples.
        shared: whether all examples have one context, of independent tokens.
        symmetric: whether tuples that are rearrangements of each other always weigh the same, as with shared keys.

    Returns:
        ``H (N - 1) + 1`` for a shared context, N being the tuples or their classes; ``H d^(s-1)`` for separate ones,
        or ``H C(d + s - 2, s - 1)`` where the weights are symmetric and all tuples are summed.

    Raises:
        ParameterError: a count below 1, an order below 2 or an unknown sum.
    """
    require(heads=(heads, 1, None), tokens=(tokens, 1, None), width=(width, 1, None), order=(order, 2, None))
    members = order - 1
    if not shared:
        return heads * (math.comb(width + members - 1, members) if symmetric and sum_over == "all" else width**members)
    found = _tuples_of(tokens, order, sum_over)
    count = len(found.sort(dim=1).values.unique(dim=0)) if symmetric else len(found)
    return heads * (count - 1) + 1


def exact_rank(
    heads: int,
    tokens: int,
    width: int,
    order: int,
    examples: int,
    seed: Seed,
    sum_over: Sum = "all",
    shared: bool = True,
    scores: _Scores = "full",
) -> int:
    """The rank of the features of random whole examples and scores, modulo a prime: a lower bound that is exact.

    Raises:
        ParameterError: a count below 1, an order below 2, an unknown sum or kind of scores, or more tokens than the
            width where the context is shared.
    """
    require(examples=(examples, 1, None), tokens=(tokens, 1, width if shared else None))
    source = generator(seed)
    queries = torch.randint(-9, 10, (examples, width), generator=source)
    contexts = torch.randint(-3, 4, (1 if shared else examples, tokens, width), generator=source)
    while shared and modular_rank(contexts[0]) < tokens:  # the bound is for independent tokens
        contexts = torch.randint(-3, 4, (1, tokens, width), generator=source)
    made = random_scores(heads, width, order, scores, source)
    return modular_rank(exact_features(queries, contexts.expand(examples, -1, -1), made, order, sum_over))

"""Ranks without rounding, for finite keys and queries of any width: of Z (Propositions 1 and 2), of the derivative.

Whole-number tokens and queries, and keys that are whole numbers times ln 7, make every softmax weight a ratio of powers
of 7. So Z is a matrix of fractions, and so, up to a factor ln 7 of some columns, is the derivative of the outputs by
the weights (Section 5.2). The rank modulo a prime can be found without rounding; it is at most the rank. A minor that
is not 0 at one choice of weights is 0 almost nowhere, for it is an analytic function of them: the rank found is reached
by almost all keys and queries. Upper bounds are :func:`_rank_bound` and, of the derivative,
:func:`~attention_theory.memorization.key_width.dimension_count`.

The base is 7, for the powers of 7 run through all numbers modulo the prime ``2**31 - 1``; those of 2 are 31 only.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.memorization.attention import Examples
from attention_theory.memorization.examples import integer_vectors
from attention_theory.numerics import PRIME, modular_rank
from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require

#: Softmax weights are ratios of powers of this number.
BASE = 7
_LARGEST_KEY = 9_999


def _rank_bound(heads: int, tokens: int, width: int, shared: bool) -> int:
    """An upper bound on the rank of Z, however many examples there are.

    Shared context: H (n - 1) + 1 (Proposition 2), and the H d columns. A context for each example: the H d columns; for
    n = 1 all heads give the one token, which leaves d.

    Raises:
        ParameterError: no head, no token or no width.
    """
    require(heads=(heads, 1, None), tokens=(tokens, 1, None), width=(width, 1, None))
    if shared:
        return min(heads * (tokens - 1) + 1, heads * width)
    return heads * width if tokens > 1 else width


def exact_features(
    contexts: Int[Tensor, "tokens width"] | Int[Tensor, "examples tokens width"],
    queries: Int[Tensor, "examples width"],
    key_matrices: Int[Tensor, "heads width head_width"],
    query_matrices: Int[Tensor, "heads width head_width"],
) -> Int[Tensor, "examples heads_times_width"]:
    """Z modulo the prime (Eqs. 1 to 3 and 7): the keys of the layer are ``ln(7)`` times ``key_matrices``.

    Raises:
        ParameterError: a sum of powers that the prime divides, so that the weights are no numbers modulo the prime.
    """
    weights = _softmax_weights(contexts, queries, key_matrices, query_matrices)
    return _averages(weights, contexts).flatten(1)


def exact_ranks(heads: int, tokens: int, width: int, head_width: int, shared: bool, seed: Seed = 0) -> list[int]:
    """The ranks of Z with 1, 2, ... ``heads`` heads, at random whole numbers, on more examples than any rank.

    Raises:
        ParameterError: no head, no token, no width or no key width.
    """
    require(heads=(heads, 1, None), tokens=(tokens, 1, None), width=(width, 1, None), head_width=(head_width, 1, None))
    source = generator(seed)
    count = _rank_bound(heads, tokens, width, shared) + 1
    contexts = integer_vectors(tokens if shared else count * tokens, width, source)
    queries = integer_vectors(count, width, source)
    maps = integer_vectors(2 * heads * width, head_width, source, _LARGEST_KEY).view(2, heads, width, head_width)
    Z = exact_features(contexts if shared else contexts.view(count, tokens, width), queries, maps[0], maps[1])
    return _ranks_of_blocks(Z, width)


def reachable_dimensions(examples: Examples, heads: int, head_width: int, seed: Seed = 0, outputs: int = 1) -> int:
    """The rank of the derivative of all outputs by keys, queries and read-out, at random weights (Section 5.2).

    Where it is below the number of labels, ``outputs`` an example, for generic weights, the labels that can be met form
    a set of measure zero. Values and output map together are any linear map, as they are for d_v >= ``outputs``.

    Args:
        examples: whole numbers, such as those of the law "integer".

    Raises:
        ParameterError: no head, no output, a head width below 1, or examples that are not whole numbers.
    """
    require(heads=(heads, 1, None), head_width=(head_width, 1, None), outputs=(outputs, 1, None))
    contexts, queries = (part.to("cpu", torch.int64) for part in (examples.contexts, examples.queries))
    whole = torch.equal(contexts, examples.contexts.cpu()) and torch.equal(queries, examples.queries.cpu())
    refuse_unless(whole, "examples must hold whole numbers, got fractions")
    source, width = generator(seed), examples.width
    maps = integer_vectors(2 * heads * width, head_width, source, _LARGEST_KEY).view(2, heads, width, head_width)
    readout = integer_vectors(heads * width, outputs, source).view(heads, width, outputs)
    return modular_rank(_derivative(contexts, queries, maps[0], maps[1], readout))


def exact_self_attention(
    contexts: Int[Tensor, "examples tokens width"], heads: int, head_width: int, seed: Seed = 0
) -> Int[Tensor, "examples tokens width"]:
    """All tokens after a layer of random whole-number weights with a skip connection, modulo the prime (Section 4.4).

    Ranks modulo the prime are at most those of the tokens. Value and output weights of a head together are one matrix.

    Raises:
        ParameterError: no head, or a head width below 1.
    """
    require(heads=(heads, 1, None), head_width=(head_width, 1, None))
    source, (_, tokens, width) = generator(seed), contexts.shape
    maps = integer_vectors(2 * heads * width, head_width, source, _LARGEST_KEY).view(2, heads, width, head_width)
    values = integer_vectors(heads * width, width, source)
    queries = contexts.flatten(0, 1)
    keys, asked, values = (part.to(contexts.device) for part in (*maps, values))
    Z = exact_features(contexts.repeat_interleave(tokens, dim=0), queries, keys, asked)
    return (queries + Z @ values).remainder(PRIME).view_as(contexts)


def _derivative(
    contexts: Int[Tensor, "*examples tokens width"],
    queries: Int[Tensor, "examples width"],
    key_matrices: Int[Tensor, "heads width head_width"],
    query_matrices: Int[Tensor, "heads width head_width"],
    readout: Int[Tensor, "heads width outputs"],
) -> Int[Tensor, "labels weights"]:
    """The derivative of the outputs modulo the prime, its columns by keys over ln 7 and by queries divided by ln 7."""
    weights = _softmax_weights(contexts, queries, key_matrices, query_matrices)
    Z = _averages(weights, contexts)
    tokens = contexts.expand(len(queries), -1, -1)
    values = torch.einsum("tnd,hdo->thno", tokens, readout)
    means = (torch.einsum("thd,hdo->tho", Z, readout) % PRIME)[:, :, None]
    by_logit = weights[..., None] * ((values - means) % PRIME) % PRIME
    by_token = (by_logit[:, :, :, :, None] * tokens[:, None, :, None]).remainder(PRIME).sum(dim=2) % PRIME
    of_query = (queries @ query_matrices).transpose(0, 1) % PRIME  # (examples, heads, head_width)
    by_keys = by_token[..., None] * of_query[:, :, None, None] % PRIME
    of_keys = torch.einsum("thod,hdk->thok", by_token, key_matrices) % PRIME
    by_queries = queries[:, None, None, :, None] * of_keys[:, :, :, None] % PRIME
    outputs = readout.shape[2]
    by_readout = torch.einsum("thd,op->tohdp", Z, torch.eye(outputs, dtype=torch.int64)).flatten(0, 1).flatten(1)
    parts = [part.transpose(1, 2).flatten(0, 1).flatten(1) for part in (by_keys, by_queries)]
    return torch.cat([*parts, by_readout], dim=1)


def _softmax_weights(
    contexts: Int[Tensor, "*examples tokens width"],
    queries: Int[Tensor, "examples width"],
    key_matrices: Int[Tensor, "heads width head_width"],
    query_matrices: Int[Tensor, "heads width head_width"],
) -> Int[Tensor, "examples heads tokens"]:
    """Eqs. 1 and 2 modulo the prime."""
    carried = (queries @ query_matrices) @ key_matrices.mT
    logits = carried.transpose(0, 1) @ contexts.mT
    powers = _power(torch.full_like(logits, BASE), logits.remainder(PRIME - 1))
    total = powers.sum(dim=-1, keepdim=True).remainder(PRIME)
    vanishing = int((total == 0).sum())
    refuse_unless(vanishing == 0, f"contexts must give softmax sums that are not 0 modulo the prime, {vanishing} are")
    return powers * _power(total, torch.full_like(total, PRIME - 2)) % PRIME


def _averages(
    weights: Int[Tensor, "examples heads tokens"], contexts: Int[Tensor, "*examples tokens width"]
) -> Int[Tensor, "examples heads width"]:
    """Eq. 3 modulo the prime."""
    parts = weights[..., None] * contexts.remainder(PRIME)[..., None, :, :] % PRIME
    return parts.sum(dim=-2).remainder(PRIME)


def _ranks_of_blocks(matrix: Int[Tensor, "rows columns"], width: int) -> list[int]:
    """The ranks modulo the prime of the first ``width`` columns, the first ``2 * width`` and so on, in one go."""
    work, rank, ranks = matrix.remainder(PRIME).clone(), 0, []
    for column in range(work.shape[1]):
        pivots = work[rank:, column].nonzero()
        if len(pivots):
            pivot = rank + int(pivots[0])
            work[[rank, pivot]] = work[[pivot, rank]]
            row = work[rank, column:] * pow(int(work[rank, column]), -1, PRIME) % PRIME
            below = work[rank + 1 :, column:]
            below.sub_(below[:, :1] * row % PRIME).remainder_(PRIME)
            rank += 1
        if (column + 1) % width == 0:
            ranks.append(rank)
    return ranks


def _power(base: Int[Tensor, "*shape"], exponent: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """``base ** exponent`` modulo the prime, by squaring; exponents from 0 up."""
    result, square, left = torch.ones_like(base), base.clone(), exponent.clone()
    while bool(left.any()):
        result = torch.where(left % 2 == 1, result * square % PRIME, result)
        square = square * square % PRIME
        left //= 2
    return result

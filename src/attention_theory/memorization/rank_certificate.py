"""An exact proof of Proposition 1 for one data set: the rank of a limit of feature matrices, in whole numbers.

As the saturating parts of the heads grow, the feature matrix tends to one in which every head gives its own examples
weights w/N with whole numbers w, and all others a single token. N times that limit is a matrix of whole numbers, and
its rank can be found without rounding. Rank cannot drop when one leaves the limit by little, so finite weights reach
it too.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.memorization.attention import Examples, capacity
from attention_theory.memorization.single_head import column_logits, silent_direction
from attention_theory.numerics import modular_rank
from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require

#: The denominator N of the chosen weights.
_DENOMINATOR = 1_000


@dataclass(frozen=True)
class _RankCertificate:
    """The result of an exact proof.

    Attributes:
        rank: the rank of the limit modulo a prime, a lower bound on the rank of Z for suitable weights.
        bound: H (n - 1) + 1.
        gap: the smallest lead of a winning logit; well above rounding, so that no winner is in doubt.
        queries_independent: every head's own queries are independent (exactly, modulo the prime).
    """

    rank: int
    bound: int
    gap: float
    queries_independent: bool


def rank_certificate(examples: Examples, heads: int, seed: Seed = 0) -> _RankCertificate:
    """The exact rank of a limit of feature matrices, with d_h = n.

    Every head fits n - 1 examples; the first example, and any beyond H (n - 1) + 1, are saturated in all heads.

    Raises:
        ParameterError: contexts or queries that are not whole numbers, or no head.
    """
    require(heads=(heads, 1, None))
    whole = all(bool((part == part.round()).all()) for part in (examples.contexts, examples.queries))
    refuse_unless(whole, "examples must have contexts and queries of whole numbers, got fractions")
    source = generator(seed)
    n = examples.tokens
    parts, gaps, independent = [], [], []
    for head in range(heads):
        own = torch.arange(head * (n - 1) + 1, (head + 1) * (n - 1) + 1)
        own = own[own < examples.count]
        is_own = torch.zeros(examples.count, dtype=torch.bool)
        is_own[own] = True
        columns, gap = silent_direction(examples, is_own, ~is_own, source)
        winners = column_logits(examples, columns).argmax(dim=-1)
        weights = _DENOMINATOR * torch.nn.functional.one_hot(winners, n)
        weights[own] = _whole_weights(len(own), n, source)
        parts.append(_combine(weights, examples))
        gaps.append(gap)
        independent.append(modular_rank(examples.queries[own].long()) == len(own))
    return _RankCertificate(modular_rank(torch.cat(parts, dim=1)), capacity(heads, n, n), min(gaps), all(independent))


def _whole_weights(count: int, tokens: int, source: torch.Generator) -> Int[Tensor, "count tokens"]:
    """Random weights from 1 up that sum to the denominator: points inside the simplex, times N."""
    cuts = torch.stack([torch.randperm(_DENOMINATOR - 1, generator=source)[: tokens - 1] + 1 for _ in range(count)])
    edges = torch.nn.functional.pad(cuts.sort(dim=1).values, (1, 1))
    edges[:, -1] = _DENOMINATOR
    return edges.diff(dim=1)


def _combine(weights: Int[Tensor, "examples tokens"], examples: Examples) -> Int[Tensor, "examples width"]:
    contexts = examples.contexts.long()
    return weights @ contexts if examples.shared else (weights[:, None] @ contexts)[:, 0]

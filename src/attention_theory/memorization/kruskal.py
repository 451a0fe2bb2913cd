"""Kruskal rank: exactly by enumeration, and by the sampled test that the paper runs on real models (Section 5.1)."""

from itertools import combinations, islice

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.numerics import PRIME
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require

_CHUNK = 20_000


def kruskal_rank(vectors: Int[Tensor, "vectors width"], most: int | None = None) -> int:
    """The largest k such that every k of the vectors are linearly independent (Definition 1), exactly.

    Every subset is tried, in whole numbers modulo a prime that is larger than any minor, so that no answer is rounded.

    Args:
        vectors: whole numbers.
        most: stop there; an answer of ``most`` then means that or more.

    Raises:
        ParameterError: entries so large that a minor could exceed the prime.
    """
    k, largest = 0, min(*vectors.shape, len(vectors) if most is None else most)
    while k < largest and dependent_subset(vectors, k + 1) is None:
        k += 1
    return k


def is_in_general_position(vectors: Int[Tensor, "vectors width"]) -> bool:
    """Whether the Kruskal rank is as large as the width allows (Definition 2)."""
    return kruskal_rank(vectors) == vectors.shape[1]


def dependent_subset(vectors: Int[Tensor, "vectors width"], size: int) -> tuple[int, ...] | None:
    """The first dependent subset of a size, in the order of their indices, or none.

    Raises:
        ParameterError: a size outside 1 to the number of vectors, or entries too large.
    """
    require(size=(size, 1, len(vectors)))
    longest = vectors.double().norm(dim=1).max().item()
    require(largest_minor=(longest ** min(size, vectors.shape[1]), 0.0, float(PRIME - 1)))
    if size > vectors.shape[1]:
        return tuple(range(size))
    subsets = combinations(range(len(vectors)), size)
    while chunk := list(islice(subsets, _CHUNK)):
        ranks = modular_ranks(vectors[torch.tensor(chunk, device=vectors.device)])
        short = (ranks < size).nonzero()
        if len(short):
            return chunk[int(short[0])]
    return None


def modular_ranks(matrices: Int[Tensor, "batch rows columns"], prime: int = PRIME) -> Int[Tensor, " batch"]:
    """The ranks of many integer matrices modulo a prime, by elimination without division."""
    work = matrices.remainder(prime).clone()
    batch, rows, columns = work.shape
    done = matrices.new_zeros(batch, dtype=torch.int64)
    everyone = torch.arange(batch, device=matrices.device)
    row_numbers = torch.arange(rows, device=matrices.device)
    for column in range(columns):
        usable = (work[:, :, column] != 0) & (row_numbers >= done[:, None])
        found = usable.any(dim=1)
        target = done.clamp(max=rows - 1)
        pivot = torch.where(found, usable.int().argmax(dim=1), target)
        work[everyone, target], work[everyone, pivot] = work[everyone, pivot], work[everyone, target]
        pivot_row = work[everyone, target]
        factors = torch.where(row_numbers > target[:, None], work[:, :, column], 0)
        cleared = (work * pivot_row[:, column, None, None] - factors[:, :, None] * pivot_row[:, None]).remainder(prime)
        below = (row_numbers > target[:, None]) & found[:, None]
        work = torch.where(below[:, :, None], cleared, work)
        done = done + found.long()
    return done


def sampled_ranks(
    vectors: Float[Tensor, "vectors width"], size: int, draws: int = 5_000, seed: Seed = 0
) -> Int[Tensor, " draws"]:
    """The numerical ranks of ``draws`` random subsets of a size, in the precision of the vectors.

    The tolerance is the usual one: largest dimension times machine epsilon times the largest singular value. It
    differs by nine orders of magnitude between float32 and float64, and so may the answer.

    Raises:
        ParameterError: a size outside 1 to the number of vectors, or no draw.
    """
    require(size=(size, 1, len(vectors)), draws=(draws, 1, None))
    source = generator(seed)
    ranks = []
    chunk = max(1, 4_000_000 // (size * vectors.shape[1]))
    while draws > 0:
        now = min(chunk, draws)
        scores = torch.rand(now, len(vectors), generator=source)
        chosen = scores.topk(size, dim=1).indices.to(vectors.device)
        ranks.append(torch.linalg.matrix_rank(vectors[chosen]))
        draws -= now
    return torch.cat(ranks)


def satisfied_fraction(vectors: Float[Tensor, "vectors width"], size: int, draws: int = 5_000, seed: Seed = 0) -> float:
    """The share of random subsets of a size that are independent; the paper calls an assumption held from 0.99 on."""
    return (sampled_ranks(vectors, size, draws, seed) == size).double().mean().item()


def context_fraction(contexts: Float[Tensor, "examples tokens width"]) -> float:
    """The share of contexts of full rank n, in the precision of the tokens (Assumption 2)."""
    return (torch.linalg.matrix_rank(contexts) == contexts.shape[1]).double().mean().item()

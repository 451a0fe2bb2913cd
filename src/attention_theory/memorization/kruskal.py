"""Kruskal rank: exactly by enumeration, and by the sampled test that the paper runs on real models (Section 5.1)."""

from collections.abc import Callable
from itertools import combinations, islice

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.numerics import PRIME
from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require, require_some

_CHUNK = 20_000


def kruskal_rank(vectors: Int[Tensor, "vectors width"], most: int | None = None) -> int:
    """The largest k such that every k of the vectors are linearly independent (Definition 1), exactly.

    Every subset is tried, in whole numbers modulo a prime that is larger than any minor, so that no answer is rounded.

    Args:
        vectors: whole numbers.
        most: stop there; an answer of ``most`` then means that or more.

    Raises:
        ParameterError: ``most`` below 0; entries so large that a minor could exceed the prime.
    """
    if most is not None:
        require(most=(most, 0, None))
    k, largest = 0, min(*vectors.shape, len(vectors) if most is None else most)
    while k < largest and dependent_subset(vectors, k + 1) is None:
        k += 1
    return k


def is_in_general_position(vectors: Int[Tensor, "vectors width"]) -> bool:
    """Test whether the Kruskal rank is as large as the width allows (Definition 2)."""
    return kruskal_rank(vectors) == vectors.shape[1]


def dependent_subset(vectors: Int[Tensor, "vectors width"], size: int) -> tuple[int, ...] | None:
    """The first dependent subset of a size, in the order of their indices, or none.

    Raises:
        ParameterError: a size outside 1 to the number of vectors, or entries too large.
    """
    require(size=(size, 1, len(vectors)))
    longest = vectors.double().norm(dim=1).max().item()
    minor = longest ** min(size, vectors.shape[1])
    refuse_unless(minor < PRIME, f"vectors must have minors below the prime {PRIME}, they may reach {minor:.3g}")
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
        scores = torch.rand(now, len(vectors), generator=source, device=source.device)
        chosen = scores.topk(size, dim=1).indices.to(vectors.device)
        ranks.append(torch.linalg.matrix_rank(vectors[chosen]))
        draws -= now
    return torch.cat(ranks)


def satisfied_fraction(vectors: Float[Tensor, "vectors width"], size: int, draws: int = 5_000, seed: Seed = 0) -> float:
    """The share of random subsets of a size that are independent; the paper calls an assumption held from 0.99 on."""
    return (sampled_ranks(vectors, size, draws, seed) == size).double().mean().item()


def independent_prefixes(
    vectors: Float[Tensor, "vectors width"], most: int, draws: int = 5_000, seed: Seed = 0
) -> Int[Tensor, " draws"]:
    """In random orders of the vectors, how many of the first, up to ``most``, are independent: a whole curve at once.

    The first k vectors of a random order are a random subset of size k, so that the share of draws with k or more
    estimates the share of independent subsets of size k, for every k (the test of Section 5.1). Adding a vector lowers
    the smallest singular value and raises the largest, so that no prefix passes after one that fails, and the place is
    found by halving. The tolerance is that of :func:`sampled_ranks`. In float32 a prefix is tested by a Cholesky
    factorisation of its Gram matrix in float64, where the tolerance squared is far above rounding, in float64 by its
    singular values.

    Raises:
        ParameterError: a size outside 1 to the number of vectors or the width, or no draw.
    """
    require(most=(most, 1, min(vectors.shape)), draws=(draws, 1, None))
    source, width = generator(seed), vectors.shape[1]
    chunk = max(1, 8_000_000 // (most * most))
    exact = vectors.double()
    products = exact @ exact.mT if vectors.dtype == torch.float32 else None
    found = []
    for begin in range(0, draws, chunk):
        scores = torch.rand(min(chunk, draws - begin), len(vectors), generator=source, device=source.device)
        order = scores.topk(most, dim=1).indices.to(vectors.device)
        if products is None:
            found.append(_by_singular_values(vectors[order]))
        else:
            found.append(_by_factorisation(products[order[:, :, None], order[:, None, :]], width))
    return torch.cat(found).to(vectors.device)


def _by_factorisation(gram: Float[Tensor, "draws most most"], width: int) -> Int[Tensor, " draws"]:
    """Two factorisations bracket it: the tolerance of all rows is too strict for fewer, that of fewer too lax."""
    low = _first_pivots(gram, _tolerance(gram, width))
    inside = (torch.arange(gram.shape[1], device=low.device) < low[:, None]).to(gram)
    high = _first_pivots(gram, _tolerance(gram * inside[:, None, :] * inside[:, :, None], width))

    def passes(draws: Tensor, k: int) -> Tensor:
        part = gram[draws.to(gram.device), :k, :k]
        return _first_pivots(part, _tolerance(part, width)) == k

    return _halve(low, high, passes)


def _by_singular_values(orders: Float[Tensor, "draws most width"]) -> Int[Tensor, " draws"]:
    none = torch.zeros(len(orders), dtype=torch.int64, device="cpu")

    def passes(draws: Tensor, k: int) -> Tensor:
        return (torch.linalg.matrix_rank(orders[draws.to(orders.device), :k]) == k).cpu()

    return _halve(none, none + orders.shape[1], passes)


def _halve(
    low: Int[Tensor, " draws"], high: Int[Tensor, " draws"], passes: Callable[[Tensor, int], Tensor]
) -> Int[Tensor, " draws"]:
    """The largest k that passes, for each draw, between two numbers."""
    while (left := low < high).any():
        middle = (low + high + 1) // 2
        for k in middle[left].unique().tolist():
            here = (left & (middle == k)).nonzero().flatten()
            passed = passes(here, k)
            low[here[passed]], high[here[~passed]] = k, k - 1
    return low


def _tolerance(gram: Float[Tensor, "draws rows rows"], width: int) -> Float[Tensor, " draws"]:
    """The square of the usual tolerance of float32, from the largest eigenvalue, found by iteration to a small part."""
    direction = gram.sum(dim=-1, keepdim=True)
    for _ in range(10):
        direction = gram @ (direction / direction.norm(dim=1, keepdim=True).clamp(min=1e-300))
    return (width * torch.finfo(torch.float32).eps) ** 2 * direction.flatten(1).norm(dim=1)


def _first_pivots(gram: Float[Tensor, "draws rows rows"], tolerance: Float[Tensor, " draws"]) -> Int[Tensor, " draws"]:
    """Number of the first rows that have all eigenvalues above the tolerance: a factorisation stops after them."""
    shift = tolerance[:, None, None] * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    stopped = torch.linalg.cholesky_ex(gram - shift).info.cpu().long()
    return torch.where(stopped == 0, stopped + gram.shape[1], stopped - 1)


def largest_satisfied(prefixes: Int[Tensor, " draws"], fraction: float = 0.99) -> int:
    """Largest k at which at least ``fraction`` of the subsets are independent: the paper's Kruskal rank (Section 5.1).

    Raises:
        ParameterError: no draw; a share outside 0 to 1.
    """
    require(fraction=(fraction, 0.0, 1.0))
    require_some(prefixes=prefixes)
    allowed = int((1 - fraction) * len(prefixes) + 1e-9)  # draws that may fail
    return int(prefixes.sort().values[min(allowed, len(prefixes) - 1)])

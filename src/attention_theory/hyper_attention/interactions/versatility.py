"""When the training sequences determine the layer: data versatility (Section 4, Appendices D and E)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.numerics import least_norm_solution
from attention_theory.randomness import Seed
from attention_theory.validation import Each, require

#: Eigenvalues of the integer matrices ``S^T S`` below this share of the largest count as zero.
_ZERO = 1e-11


@dataclass(frozen=True)
class Versatility:
    """Rank and smallest singular value of the data matrix of every symbol (full under Assumption 4.2)."""

    ranks: Int[Tensor, " size"]
    least: Float[Tensor, " size"]


def data_matrix(symbols: Int[Tensor, "samples length"], symbol: int, size: int) -> Float[Tensor, "rows size"]:
    """The counts of those sequences that hold ``symbol``, one row each (Definition 4.1).

    Raises:
        ParameterError: a symbol that is none of them.
    """
    require(symbol=(symbol, 0, size - 1))
    holds = (symbols == symbol).any(dim=1)
    return counts(symbols[holds], size)


def versatility(symbols: Int[Tensor, "samples length"], size: int) -> Versatility:
    """The rank and the least singular value of each data matrix, from the eigenvalues of ``S^T S`` (Assumption 4.2).

    Raises:
        ParameterError: no sequence, or a symbol that is none of them.
    """
    require(size=(size, 1, None))
    require(symbols=(Each(symbols), 0, size - 1))
    grams = []
    for symbol in range(size):
        matrix = data_matrix(symbols, symbol, size)
        grams.append(matrix.mT @ matrix)
    values = torch.linalg.eigvalsh(torch.stack(grams))
    full = values > _ZERO * values[:, -1:]
    least = torch.where(full[:, 0], values[:, 0], torch.zeros_like(values[:, 0])).sqrt()
    return Versatility(full.sum(dim=1), least)


def visible_part(
    symbols: Int[Tensor, "samples length"], tensor: Float[Tensor, "size size"]
) -> Float[Tensor, "size size"]:
    """The part of a functional tensor that the data see: each row projected on the row space of its data matrix.

    It has the same outputs on these sequences, and of all such tensors it is the smallest: the least-squares fit, with
    zero training error (Theorem 4.6).
    """
    size = tensor.shape[0]
    rows = [data_matrix(symbols, symbol, size).to(tensor.dtype) for symbol in range(size)]
    fits = [least_norm_solution(matrix, (matrix @ row)[:, None]) for matrix, row in zip(rows, tensor, strict=True)]
    return torch.stack([fit[:, 0] for fit in fits])


def unique_null_vector(symbol: int, size: int, length: int) -> Float[Tensor, " size"]:
    """The null vector of the data matrix of ``symbol`` if no token repeats (Remark D.1): ``1 - L`` at it, 1 elsewhere.

    Raises:
        ParameterError: a symbol that is none of them, or no token.
    """
    require(symbol=(symbol, 0, size - 1), length=(length, 1, None))
    vector = torch.ones(size, dtype=torch.float64)
    vector[symbol] = 1.0 - length
    return vector


def uniform_second_moment(length: int, size: int) -> Float[Tensor, "size size"]:
    """``E[s s^T]`` of a uniform sequence, ``(L/S) I + (L (L-1) / S^2) 1 1^T``; its least eigenvalue is L/S (App. E).

    Raises:
        ParameterError: no token or no symbol.
    """
    require(length=(length, 1, None), size=(size, 1, None))
    square = torch.ones(size, size, dtype=torch.float64) * length * (length - 1) / size**2
    return square + torch.eye(size, dtype=torch.float64) * length / size


def given_second_moment(length: int, size: int) -> Float[Tensor, "size size"]:
    """``E[s s^T]`` of uniform sequences given that they hold symbol 0: of the rows of its data matrix (Assumption 4.2).

    All sequences are those with the symbol and those without it, and the latter are uniform over the other symbols. Its
    least eigenvalue is below the ``L / S`` of all sequences: most of these rows hold the symbol once, and the others
    with it are nearly dependent.

    Raises:
        ParameterError: no token or fewer than two symbols.
    """
    require(length=(length, 1, None), size=(size, 2, None))
    absent = (1 - 1 / size) ** length
    without = torch.zeros(size, size, dtype=torch.float64)
    without[1:, 1:] = uniform_second_moment(length, size - 1)
    return (uniform_second_moment(length, size) - absent * without) / (1 - absent)


def rank_failure_tail(samples: int, size: int, chance: float) -> float:
    """The probability that fewer than ``size`` of ``samples`` trials succeed: our bound in Theorem E.2.

    While the rank is not full, some unit vector ``u`` is orthogonal to all rows so far. The next row is not with a
    probability of at least ``E[(s u)^2] / L^2``, since ``|s u| <= L``. So with at least ``chance = g / L^2``, where g
    is the least eigenvalue of ``E[s s^T]``, the rank grows by one, whatever has come before.

    Raises:
        ParameterError: no sequence or symbol, or a chance that is none.
    """
    require(samples=(samples, 1, None), size=(size, 1, None), chance=(chance, 0.0, 1.0))
    if chance in (0.0, 1.0):
        return float(samples < size or chance == 0.0)
    each = (
        math.lgamma(samples + 1)
        - math.lgamma(k + 1)
        - math.lgamma(samples - k + 1)
        + k * math.log(chance)
        + (samples - k) * math.log1p(-chance)
        for k in range(min(size, samples + 1))
    )
    return min(1.0, math.fsum(math.exp(one) for one in each))


def misses_versatility(symbols: Int[Tensor, "... samples length"], size: int) -> Bool[Tensor, "..."]:
    """Test whether some data matrix of each data set misses full column rank: whether Assumption 4.2 fails.

    A symbol that no sequence holds has an empty data matrix, of rank 0.
    """
    rows = counts(symbols, size)
    with_symbol = [_misses_full_rank(rows * (rows[..., symbol, None] > 0)) for symbol in range(size)]
    return torch.stack(with_symbol).any(dim=0)


def rank_failure_bound(samples: int, length: int, moment: Float[Tensor, "size size"]) -> float:
    """The proof of Theorem E.2, repaired: matrix Bernstein for ``s s^T - E[s s^T]``, the rows not centred.

    ``P[rank < S] <= 2 S exp(-B (g^2 / 8) / (R^2 + R g / 6))`` with g the least eigenvalue of the second moment and
    ``R = L^2 + |E[s s^T]|``. It is far above :func:`rank_failure_tail`.

    Raises:
        ParameterError: no sequence or no token.
    """
    require(samples=(samples, 1, None), length=(length, 1, None))
    values = torch.linalg.eigvalsh(moment)
    least, radius = values[0].item(), length**2 + values[-1].item()
    return 2 * len(moment) * math.exp(-samples * (least**2 / 8) / (radius**2 + radius * least / 6))


def rank_fails(draws: int, samples: int, length: int, size: int, seed: Seed) -> Bool[Tensor, " draws"]:
    """For each of many data sets of uniform sequences, whether its count matrix misses full column rank (Theorem E.2).

    Raises:
        ParameterError: no data set, sequence, token or symbol.
    """
    require(draws=(draws, 1, None), samples=(samples, 1, None))
    symbols = sample_sequences(draws * samples, length, size, seed)
    return _misses_full_rank(counts(symbols, size).reshape(draws, samples, size))


def _misses_full_rank(rows: Float[Tensor, "... samples size"]) -> Bool[Tensor, "..."]:
    """Test whether each count matrix has a rank below the number of symbols, by eigenvalues of ``S^T S`` (App. E)."""
    values = torch.linalg.eigvalsh(rows.mT @ rows)
    return values[..., 0] <= _ZERO * values[..., -1]

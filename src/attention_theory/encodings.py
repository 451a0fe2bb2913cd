"""Vectors that stand for symbols and positions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, normal
from attention_theory.validation import ParameterError, require


def one_hot(
    symbols: int, width: int | None = None, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
) -> Float[Tensor, "symbols width"]:
    """The first ``symbols`` basis vectors of a space of dimension ``width`` (as many as symbols unless given).

    Raises:
        ParameterError: no symbol, or a width below the number of symbols.
    """
    width = symbols if width is None else width
    require(symbols=(symbols, 1, None))
    require(width=(width, symbols, None))
    return torch.eye(symbols, width, dtype=dtype, device=device)


def random_orthonormal(
    symbols: int, width: int, seed: Seed, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
) -> Float[Tensor, "symbols width"]:
    """Rows of a uniformly random orthogonal matrix: orthonormal codes that no axis prefers.

    Raises:
        ParameterError: no symbol, or a width below the number of symbols.
    """
    require(symbols=(symbols, 1, None))
    require(width=(width, symbols, None))
    q, r = torch.linalg.qr(normal(width, width, seed=seed, dtype=dtype, device=device))
    return (q * r.diagonal().sign())[:, :symbols].mT.contiguous()


def sign_code(
    symbols: int, bits: int | None = None, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
) -> Float[Tensor, "symbols bits"]:
    """Binary numbers as ±1 vectors, the most significant bit first: row ``i`` writes ``i``.

    Raises:
        ParameterError: no symbol, or too few bits to write them all.
    """
    require(symbols=(symbols, 1, None))
    bits = max(1, math.ceil(math.log2(symbols))) if bits is None else bits
    require(bits=(bits, max(1, (symbols - 1).bit_length()), None))
    places = torch.arange(bits - 1, -1, -1, device=device)
    return ((torch.arange(symbols, device=device)[:, None] >> places) % 2 * 2 - 1).to(dtype)


def sinusoidal(
    positions: int,
    width: int,
    base: float = 10_000.0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Float[Tensor, "positions width"]:
    """Sines in the even features, cosines in the odd ones, wavelengths from 2π to 2π·base.

    Raises:
        ParameterError: no position, fewer than two features or a base below 1.
    """
    require(positions=(positions, 1, None), width=(width, 2, None), base=(base, 1.0, None))
    rates = base ** (-torch.arange(0, width, 2, dtype=dtype, device=device) / width)
    angles = torch.arange(positions, dtype=dtype, device=device)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def rotate(
    features: Float[Tensor, "... tokens width"], first: int = 0, base: float = 10_000.0
) -> Float[Tensor, "... tokens width"]:
    """Rotary positions: turn feature pairs of the token at position ``p`` by ``p * rate``, rates from 1 down to 1/base.

    Feature ``k`` is paired with feature ``k + width / 2``. The product of a rotated query and a rotated key depends on
    their positions through the difference alone.

    Args:
        first: the position of the first token.

    Raises:
        ParameterError: an odd width, or a base below 1.
    """
    tokens, width = features.shape[-2:]
    require(base=(base, 1.0, None))
    if width % 2:
        raise ParameterError(f"features must be of an even width, got {width}")
    rates = base ** (-torch.arange(0, width, 2, dtype=features.dtype, device=features.device) / width)
    positions = torch.arange(first, first + tokens, dtype=features.dtype, device=features.device)
    angles = positions[:, None] * rates
    x, y = features.chunk(2, dim=-1)
    return torch.cat([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)

"""Vectors that stand for symbols and positions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


def one_hot(
    symbols: int, width: int | None = None, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "symbols width"]:
    """The first ``symbols`` basis vectors of a space of dimension ``width`` (as many as symbols unless given)."""
    width = symbols if width is None else width
    require(symbols=(symbols, 1, None), width=(width, symbols, None))
    return torch.eye(symbols, width, dtype=dtype)


def random_orthonormal(
    symbols: int, width: int, seed: Seed, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "symbols width"]:
    """Rows of a uniformly random orthogonal matrix: orthonormal codes that no axis prefers."""
    require(symbols=(symbols, 1, None), width=(width, symbols, None))
    gaussian = torch.randn(width, width, generator=generator(seed), dtype=dtype)
    q, r = torch.linalg.qr(gaussian)
    return (q * r.diagonal().sign())[:, :symbols].mT.contiguous()


def sign_code(
    symbols: int, bits: int | None = None, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "symbols bits"]:
    """Binary numbers as ±1 vectors, the most significant bit first: row ``i`` writes ``i``."""
    require(symbols=(symbols, 1, None))
    bits = max(1, math.ceil(math.log2(symbols))) if bits is None else bits
    require(bits=(bits, max(1, (symbols - 1).bit_length()), None))
    places = torch.arange(bits - 1, -1, -1)
    return ((torch.arange(symbols)[:, None] >> places) % 2 * 2 - 1).to(dtype)


def sinusoidal(
    positions: int, width: int, base: float = 10_000.0, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "positions width"]:
    """Sines in the even features, cosines in the odd ones, wavelengths from 2π to 2π·base."""
    require(positions=(positions, 1, None), width=(width, 2, None), base=(base, 1.0, None))
    rates = base ** (-torch.arange(0, width, 2, dtype=dtype) / width)
    angles = torch.arange(positions, dtype=dtype)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]

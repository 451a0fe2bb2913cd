"""Rotary position encoding, as Remark F.5 applies it to every query and key of a HyperFeatureAttention head."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require


def rotate(
    features: Float[Tensor, "... tokens width"], first: int = 0, base: float = 10_000.0
) -> Float[Tensor, "... tokens width"]:
    """Turn feature pairs of the token at position ``p`` by the angle ``p * rate``, the rates falling from 1 to 1/base.

    Feature ``k`` is paired with feature ``k + width / 2``. The product of a rotated query and a rotated key depends on
    their positions through the difference alone.

    Args:
        first: the position of the first token.

    Raises:
        ParameterError: an odd width.
    """
    tokens, width = features.shape[-2:]
    require(half_of_width=(width / 2 if width % 2 else width // 2, 1, None))
    rates = base ** (-torch.arange(0, width, 2, dtype=features.dtype, device=features.device) / width)
    positions = torch.arange(first, first + tokens, dtype=features.dtype, device=features.device)
    angles = positions[:, None] * rates
    x, y = features.chunk(2, dim=-1)
    return torch.cat([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)

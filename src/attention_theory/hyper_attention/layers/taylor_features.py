"""Softmax HyperAttention of order 3 in linear time, by a truncated exponential series (Appendix G.3).

``exp(t)`` with ``t = sum over s of q_s k_s l_s`` becomes an inner product of three feature vectors: the ``m``-th tensor
powers of q, k and l have the three-way product ``t^m``.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.linear_sums import linear_pair_sum
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.validation import require


def taylor_features(rows: Float[Tensor, "... rank"], degree: int) -> Float[Tensor, "... features"]:
    """All tensor powers up to ``degree``, the ``m``-th divided by the cube root of ``m!``.

    The three-way product of the features of q, k and l is the exponential series of ``sum_s q_s k_s l_s``, cut after
    ``degree``. There are :func:`taylor_width` features.
    """
    require(degree=(degree, 0, None))
    power = torch.ones_like(rows[..., :1])
    powers = [power]
    for m in range(1, degree + 1):
        power = (power[..., :, None] * rows[..., None, :]).flatten(-2)
        powers.append(power / math.factorial(m) ** (1 / 3))
    return torch.cat(powers, dim=-1)


def taylor_width(rank: int, degree: int) -> int:
    """``1 + R + R^2 + ... + R^degree``: the number of features, which is not of order R."""
    return sum(rank**m for m in range(degree + 1))


def approximate_pair_attention(
    queries: Float[Tensor, "... tokens rank"],
    first_keys: Float[Tensor, "... tokens rank"],
    second_keys: Float[Tensor, "... tokens rank"],
    first_values: Float[Tensor, "... tokens features"],
    second_values: Float[Tensor, "... tokens features"],
    degree: int,
    *,
    sum_over: Sum = "all",
    causal: bool = False,
) -> Float[Tensor, "... tokens features"]:
    """Softmax attention over pairs with the exponential series cut after ``degree``, in time linear in the tokens."""
    q, k1, k2 = (taylor_features(x, degree) for x in (queries, first_keys, second_keys))
    ones = torch.ones_like(first_values[..., :1])
    above = linear_pair_sum(q, k1, k2, first_values, second_values, sum_over=sum_over, causal=causal)
    return above / linear_pair_sum(q, k1, k2, ones, ones, sum_over=sum_over, causal=causal)

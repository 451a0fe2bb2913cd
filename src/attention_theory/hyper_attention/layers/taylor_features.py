"""Softmax HyperAttention of order 3 in linear time, by a truncated exponential series (Appendix G.3).

``exp(t)`` with ``t = sum over s of q_s k_s l_s`` becomes an inner product of three feature vectors: by the multinomial
theorem ``t^m / m!`` is the sum of ``q^a k^a l^a / a!`` over the monomials ``a`` of degree ``m``.
"""

import math
from itertools import combinations_with_replacement

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.linear_sums import linear_pair_sum
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.validation import require


def taylor_features(rows: Float[Tensor, "... rank"], degree: int) -> Float[Tensor, "... features"]:
    """The features ``phi`` of Appendix G.3: all monomials up to ``degree``, each over the cube root of its factorial.

    The three-way product of the features of q, k and l is the exponential series of ``sum_s q_s k_s l_s``, cut after
    ``degree``. There are ``(R + p) choose p`` features: the ``R_2`` of Appendix G.3, above R.

    Raises:
        ParameterError: a negative degree.
    """
    require(degree=(degree, 0, None))
    features = [torch.ones_like(rows[..., 0])]
    for order in range(1, degree + 1):
        for factors in combinations_with_replacement(range(rows.shape[-1]), order):
            repeats = math.prod(math.factorial(factors.count(factor)) for factor in set(factors))
            features.append(rows[..., list(factors)].prod(dim=-1) / repeats ** (1 / 3))
    return torch.stack(features, dim=-1)


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
    """Softmax attention over pairs by the series cut after ``degree``, in time linear in the tokens (Appendix G.3).

    A token without an allowed pair gets 0, as in
    :func:`attention_theory.hyper_attention.layers.pair_attention.pair_attention`, and its gradient is 0 too.

    Raises:
        ParameterError: a negative degree, no token or an unknown sum.
    """
    q, k1, k2 = (taylor_features(x, degree) for x in (queries, first_keys, second_keys))
    ones = torch.ones_like(first_values[..., :1])
    above = linear_pair_sum(q, k1, k2, first_values, second_values, sum_over=sum_over, causal=causal)
    below = linear_pair_sum(q, k1, k2, ones, ones, sum_over=sum_over, causal=causal)
    empty = below == 0
    # 0 / 1 and not 0 / 0, whose gradient is not a number even where the quotient is thrown away.
    return (above / below.masked_fill(empty, 1.0)).masked_fill(empty, 0.0)

"""Triggers with different counts: how normalised descent on the scales comes into balance (beyond Theorem 3.2).

Late in training only the smallest count C_q after each trigger matters, and the slopes are ``s_q = e^{D_q} / C_q`` up
to a common factor. With ``w_q = (m / C_q)²``, which sum to 1, and ``R² = Σ w_q e^{2 D_q}`` a normalised step is

    D_q  ->  D_q - η m e^{D_q} / R.

In balance all D_q are equal, and each step adds η m to every ``C_q λ_q``.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import Each, require


def balanced_exponent(least: list[int], lr: float) -> float:
    """``η m`` with ``m = 1 / sqrt(sum_q C_q^-2)`` for the smallest counts C_q: how fast the loss of Lemma 3.1 falls.

    No steps of length η do better, and for ``η m <= 2`` normalised descent does it (the page on many triggers).

    Raises:
        ParameterError: no trigger, a count below 1, or a negative rate.
    """
    require(least=(Each(least), 1, None), lr=(lr, 0.0, None))
    return lr / math.hypot(*(1 / count for count in least))


def balance_weights(least: list[int]) -> Float[Tensor, " triggers"]:
    """``w_q = (m / C_q)²``, which sum to 1.

    Raises:
        ParameterError: no trigger, or a count below 1.
    """
    return (balanced_exponent(least, 1.0) / torch.tensor(least, dtype=torch.float64)).square()


def relative_slopes(
    imbalance: Float[Tensor, "*walks triggers"], weights: Float[Tensor, " triggers"]
) -> Float[Tensor, "*walks triggers"]:
    """``u_q = e^{D_q} / R``: the slopes over those in balance. The mean of their squares, with the weights, is 1."""
    return (imbalance - (weights.log() + 2 * imbalance).logsumexp(dim=-1, keepdim=True) / 2).exp()


def balance_step(
    imbalance: Float[Tensor, "*walks triggers"], weights: Float[Tensor, " triggers"], speed: float
) -> Float[Tensor, "*walks triggers"]:
    """A normalised step with ``η m = speed``, in the limit of large scales."""
    return imbalance - speed * relative_slopes(imbalance, weights)


def distance_to_balance(
    imbalance: Float[Tensor, "*walks triggers"], weights: Float[Tensor, " triggers"]
) -> Float[Tensor, "*walks"]:
    """``V = ln(Σ w_q e^{3 D_q}) / 3 - Σ w_q D_q``, which is 0 in balance and above 0 elsewhere.

    No step with a speed of at most 2 increases it.
    """
    return (weights.log() + 3 * imbalance).logsumexp(dim=-1) / 3 - imbalance @ weights

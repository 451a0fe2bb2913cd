"""Descent in both numbers of Lemma 4.1, λ and γ, on the noisy population loss (beyond Section 4.2).

The loss is ``E ln(1 + e^γ + (N - 1) e^{-C λ}) - α γ``. It has no minimiser: its infimum, the Bayes risk, is approached
along ``γ = ln(α / (1 - α))`` as λ grows.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.validation import Each, refuse_unless, require

#: Steps of ``η`` times the gradient, of length ``η``, and of length ``η / sqrt(t + 1)``.
_Rule = Literal["plain", "normalised", "decreasing"]


def descend_jointly(
    law: Float[Tensor, " counts"],
    alpha: float,
    lr: float,
    steps: int,
    others: int,
    rule: _Rule = "plain",
    start: tuple[float, float] = (0.0, 0.0),
) -> Float[Tensor, "times 2"]:
    """(λ, γ) at t = 0, ..., T. It is computed in Python's floats, in which a step of two numbers is fastest.

    Args:
        law: the probabilities of C = 1, 2, ...
        others: N - 1.

    Raises:
        ParameterError: a law with a negative entry or another sum than 1, or a number out of range.
    """
    require(lr=(lr, 0.0, None), steps=(steps, 1, None), others=(others, 1, None), law=(Each(law), 0.0, None))
    require(alpha=(alpha, 0.0, 1.0), rule=(rule, get_args(_Rule)))
    refuse_unless(abs(law.sum().item() - 1) <= 1e-9, f"law must sum to 1, got {law.sum().item()}")
    counts = [(count, chance) for count, chance in enumerate(law.tolist(), start=1) if chance > 0]
    (scale, gamma), path = start, [start]
    for step in range(steps):
        noise, along_scale, along_gamma = math.exp(gamma), 0.0, -alpha
        for count, chance in counts:
            rest = others * math.exp(-count * scale)
            total = 1 + noise + rest
            along_scale -= chance * count * rest / total
            along_gamma += chance * noise / total
        length = lr if rule == "plain" else lr / math.hypot(along_scale, along_gamma)
        length /= math.sqrt(step + 1) if rule == "decreasing" else 1.0
        scale, gamma = scale - length * along_scale, gamma - length * along_gamma
        path.append((scale, gamma))
    return law.new_tensor(path)


def joint_excess(
    points: Float[Tensor, "*times 2"], law: Float[Tensor, " counts"], alpha: float, others: int
) -> Float[Tensor, "*times"]:
    """The loss at (λ, γ) less the Bayes risk, as a sum of two terms that are both at least 0.

    They are the divergence of the coin σ(γ) from α, and ``E ln(1 + (N - 1) e^{-C λ} / (1 + e^γ))``.
    """
    scale, gamma = points.unbind(dim=-1)
    counts = torch.arange(1, len(law) + 1, dtype=law.dtype, device=law.device)
    rest = others * torch.exp(-counts * scale[..., None]) / (1 + gamma.exp()[..., None])
    return coin_divergence(gamma - odds(alpha), alpha) + (law * rest.log1p()).sum(dim=-1)


def coin_divergence(shift: Float[Tensor, "..."], alpha: float) -> Float[Tensor, "..."]:
    """``KL(α || σ(γ* + δ)) = ln(1 - α + α e^δ) - α δ``: the excess at λ = ∞ where γ is off by δ."""
    return (alpha * shift.expm1()).log1p() - alpha * shift


def stall_floor(lr: float, alpha: float) -> float:
    """The least that the larger of the excesses at two γ can be that are ``lr`` apart: about ``α(1 - α) lr² / 8``.

    Raises:
        ParameterError: a rate that is not above 0, or α outside [0, 1].
    """
    require(lr=(lr, math.ulp(0.0), None), alpha=(alpha, 0.0, 1.0))
    low, high = torch.tensor(0.0, dtype=torch.float64), torch.tensor(lr, dtype=torch.float64)
    for _ in range(80):
        middle = (low + high) / 2
        rises = coin_divergence(middle, alpha) >= coin_divergence(middle - lr, alpha)
        low, high = (low, middle) if rises else (middle, high)
    return coin_divergence(low, alpha).item()

"""Losses and probabilities of the reparameterised models in closed form (Sections 3 and 4, Appendices A, B).

``others`` counts the tokens that keep logit 0: N - 1, i.e. the vocabulary without y and without τ. ``counts`` are the
numbers C of bigrams (q, y), one a sentence; a loss over a law of C is the mean of these with its weights.
"""

import math
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.nn.functional import logsigmoid

from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.validation import Each, refuse_unless, require


def odds(alpha: float) -> float:
    """γ = ln(α / (1 - α)) (Lemma 4.1).

    Raises:
        ParameterError: α not strictly between 0 and 1, where γ is infinite.
    """
    tiny = math.ulp(0.0)
    require(alpha=(alpha, tiny, 1 - 2**-53))
    return math.log(alpha) - math.log1p(-alpha)


def bayes_risk(alpha: float) -> float:
    """The entropy of the label, ``-α ln α - (1 - α) ln(1 - α)``, in nats (Section 4.1).

    Raises:
        ParameterError: α outside [0, 1].
    """
    require(alpha=(alpha, 0.0, 1.0))
    return sum(-p * math.log(p) for p in (alpha, 1 - alpha) if p > 0)


def gap_to_bayes(level: float, outputs: int = 4) -> float:
    """``(1 - α) ln |O|``: how far a model that knows the task and not the output stays above the Bayes risk."""
    return (1 - level) * math.log(outputs)


def bernoulli_kl(a: float, b: float) -> float:
    """KL(a || b) of two coins in nats (Lemma C.2).

    Raises:
        ParameterError: ``a`` outside [0, 1], or ``b`` not strictly between 0 and 1.
    """
    require(a=(a, 0.0, 1.0), b=(b, math.ulp(0.0), 1 - 2**-53))
    return sum(p * math.log(p / r) for p, r in ((a, b), (1 - a, 1 - b)) if p > 0)


def noiseless_loss(scale: Float[Tensor, "..."], counts: Num[Tensor, "..."], others: int) -> Float[Tensor, "..."]:
    """``ln(1 + (N - 1) e^{-C λ})`` (Eq. 9 and 10), broadcast over scales and counts.

    Raises:
        ParameterError: no other word, or a negative count.
    """
    require(others=(others, 1, None), counts=(Each(counts), 0.0, None))
    return -logsigmoid(counts * scale - math.log(others))


def noiseless_slope(
    scale: Float[Tensor, "..."], counts: Num[Tensor, "..."], others: int, arithmetic: Arithmetic = "log-domain"
) -> Float[Tensor, "..."]:
    """Its slope in λ, ``-C (N - 1) / (e^{C λ} + N - 1)`` (Eq. 11), or, by subtraction, computed as ``C (p - 1)``.

    Raises:
        ParameterError: no other word; an unknown arithmetic.
    """
    require(arithmetic=(arithmetic, get_args(Arithmetic)), others=(others, 1, None))
    if arithmetic == "subtraction":
        return counts * (torch.sigmoid(counts * scale - math.log(others)) - 1)
    return -noiseless_log_slope(scale, counts, others).exp()


def noiseless_log_slope(scale: Float[Tensor, "..."], counts: Num[Tensor, "..."], others: int) -> Float[Tensor, "..."]:
    """``ln(-slope)`` of :func:`noiseless_slope` (Eq. 11): finite at every λ; the slope underflows from 745 on.

    Raises:
        ParameterError: no other word.
    """
    require(others=(others, 1, None))
    return counts.log() + logsigmoid(math.log(others) - counts * scale)


def noisy_loss(
    scale: Float[Tensor, "..."],
    gamma: float | Float[Tensor, "..."],
    counts: Num[Tensor, "..."],
    alpha: float,
    others: int,
) -> Float[Tensor, "..."]:
    """``f_C(λ, γ) = -C λ - α γ + ln(e^{C λ} (1 + e^γ) + N - 1)`` (Section 4.2), the loss over the label's law.

    Raises:
        ParameterError: α outside [0, 1], or no other word.
    """
    require(alpha=(alpha, 0.0, 1.0), others=(others, 1, None))
    gamma = torch.as_tensor(gamma, dtype=scale.dtype, device=scale.device)
    both = -logsigmoid(-gamma)  # ln(1 + e^γ)
    return both - alpha * gamma - logsigmoid(counts * scale + both - math.log(others))


def noisy_slope(
    scale: Float[Tensor, "..."], gamma: float, counts: Num[Tensor, "..."], others: int
) -> Float[Tensor, "..."]:
    """The slope of :func:`noisy_loss` in λ, ``-C (N - 1) / (e^{C λ} (1 + e^γ) + N - 1)`` (Lemma C.1).

    Raises:
        ParameterError: γ above 700, where its exponential overflows, or no other word.
    """
    require(others=(others, 1, None))
    refuse_unless(gamma <= 700, f"gamma must be at most 700, got {gamma}")
    both = math.log1p(math.exp(gamma))
    return -counts * torch.sigmoid(math.log(others) - both - counts * scale)


def noisy_hessian(
    scale: Float[Tensor, "..."], gamma: Float[Tensor, "..."], counts: Num[Tensor, "..."], others: int
) -> Float[Tensor, "... 2 2"]:
    """Second derivatives of :func:`noisy_loss` in (λ, γ) (Section 4.2).

    The covariance of the points (C, 0), (C, 1), (0, 0) under the probabilities of y, of τ, and of all other words.
    """
    log_rest = torch.full_like(counts * scale + gamma, math.log(others))
    logits = torch.stack([counts * scale + 0 * gamma, counts * scale + gamma, log_rest], dim=-1)
    p_output, p_noise, p_rest = logits.softmax(dim=-1).unbind(dim=-1)
    ll = counts**2 * p_rest * (p_output + p_noise)
    lg = counts * p_rest * p_noise
    gg = p_noise * (1 - p_noise)
    return torch.stack([torch.stack([ll, lg], dim=-1), torch.stack([lg, gg], dim=-1)], dim=-1)


def probabilities(
    scale: Float[Tensor, "..."], gamma: float, counts: Num[Tensor, "..."], others: int
) -> Float[Tensor, "... 2"]:
    """Probabilities of y and of τ, ``(1 - α̂, α̂) / (1 + (N - 1)(1 - α̂) e^{-C λ})`` (Eq. 29 to 32).

    Raises:
        ParameterError: γ above 700, where its exponential overflows, or no other word.
    """
    require(others=(others, 1, None))
    refuse_unless(gamma <= 700, f"gamma must be at most 700, got {gamma}")
    both = math.log1p(math.exp(gamma))
    hit = torch.sigmoid(counts * scale + both - math.log(others))
    return torch.stack([hit * math.exp(-both), hit * math.exp(gamma - both)], dim=-1)


def _floor_without_attended(alpha: float, others: int) -> float:
    """The least loss of a reparameterised model whose feed-forward layer sees ``x_H`` alone (F), linear or ReLU.

    There ξ_τ = γ for good: the least over λ of ``f = -(1 - α) λ - α γ + ln(e^λ + e^γ + N - 1)`` is the Bayes risk
    plus ``α ln(1 + (N - 1) e^{-γ})``, at ``e^λ = (1 - α)/α (e^γ + N - 1)``. One bigram (C = 1). The paper has the
    models (Section 5) and not this number.
    """
    if alpha == 0:
        return 0.0
    return bayes_risk(alpha) + alpha * math.log1p(others * math.exp(-odds(alpha)))


@dataclass(frozen=True)
class _SoftmaxLimit:
    """Limits of the loss and of the probabilities of y and of τ of a softmax model."""

    loss: float
    p_output: float
    p_noise: float


def softmax_limit(alpha: float, others: int, full_input: bool) -> _SoftmaxLimit:
    """Limit of a reparameterised softmax model as λ grows: all attention is on y, so that ξ_y = 1 at most.

    Then ξ_τ = γ + 1 if the feed-forward layer sees the attended sum, else γ (Section 5.1 has the reason, not the
    numbers).
    """
    gamma = odds(alpha) if alpha else -math.inf
    logits = [1.0, gamma + full_input]
    total = math.log(sum(map(math.exp, logits)) + others)
    weights = [1 - alpha, alpha]
    loss = sum(w * (total - xi) for w, xi in zip(weights, logits, strict=True) if w)
    return _SoftmaxLimit(loss, math.exp(logits[0] - total), math.exp(logits[1] - total))


def closed_end(name: str, level: float, tokens: int) -> float:
    """Limit of the loss of a fully reparameterised model, with one bigram a sentence (Section 5.1 gives reasons).

    Args:
        tokens: words of the vocabulary, with the noise token.
    """
    others = tokens - 2 if level else tokens - 1
    if "Softmax" in name:
        return softmax_limit(level, others, full_input=name.endswith("FA")).loss
    return bayes_risk(level) if name.endswith("FA") else _floor_without_attended(level, others)

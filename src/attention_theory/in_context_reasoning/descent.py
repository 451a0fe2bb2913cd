"""Normalised gradient descent on the scales λ: Theorem 3.2, Appendix B.2.1 and Algorithm 1."""

from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.closed_form import (
    noiseless_log_slope,
    noiseless_slope,
    noisy_loss,
    noisy_slope,
    odds,
)
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.task import Sentences, Task, bigram_count, recover_output
from attention_theory.validation import FORMS, Each, Form, refuse_unless, require, require_shape


def normalised_step(
    point: Float[Tensor, "*scales"], gradient: Float[Tensor, "*scales"], lr: float
) -> Float[Tensor, "*scales"]:
    """``λ - η ∇L / |∇L|`` (Eq. 5). Where the slope is 0 the point stays: there is no direction to take.

    Raises:
        ParameterError: a slope of another shape.
    """
    require_shape(gradient=(gradient, point.shape))
    largest = gradient.abs().max()
    if largest == 0:
        return point.clone()
    gradient = gradient / largest  # squares of tiny slopes would underflow
    return point - lr * gradient / torch.linalg.vector_norm(gradient)


def descend_noiseless(
    laws: Float[Tensor, "triggers counts"],
    lr: float,
    steps: int,
    others: int,
    arithmetic: Arithmetic = "log-domain",
) -> Float[Tensor, "times triggers"]:
    """λ at t = 0, ..., T by normalised descent on the population loss of Lemma 3.1 (Eq. 10 to 12).

    Args:
        laws: row q is the law of C given trigger q: the probabilities of C = 1, 2, ...
        others: N - 1.
        arithmetic: ``log-domain`` normalises logarithms of slopes, so that no slope is too small for a step;
            ``subtraction`` computes slopes as ``C (p - 1)``, which become 0 once p rounds to 1.

    Raises:
        ParameterError: a law with a negative entry or another sum than 1, or a number out of range.
    """
    require(lr=(lr, 0.0, None), steps=(steps, 1, None), others=(others, 1, None))
    require(laws=(Each(laws), 0.0, None))
    refuse_unless(_sums_to_one(laws), f"laws must each sum to 1, got {laws.sum(dim=1).tolist()}")
    require(arithmetic=(arithmetic, get_args(Arithmetic)))
    counts = torch.arange(1, laws.shape[1] + 1, dtype=laws.dtype, device=laws.device)
    scales = [laws.new_zeros(len(laws))]
    for _ in range(steps):
        if arithmetic == "subtraction":
            slope = (laws * noiseless_slope(scales[-1][:, None], counts, others, arithmetic)).sum(dim=1) / len(laws)
        else:  # up to a common factor, which normalisation drops
            log_slope = log_slopes(laws, scales[-1], others)
            slope = -(log_slope - log_slope.max()).exp()
        scales.append(normalised_step(scales[-1], slope, lr))
    return torch.stack(scales)


def log_slopes(
    laws: Float[Tensor, "triggers counts"], scales: Float[Tensor, "*times triggers"], others: int
) -> Float[Tensor, "*times triggers"]:
    """Logarithms of the slopes ``-|Q| ∂L/∂λ_q`` of the noiseless population loss, finite at every λ (Eq. 11).

    Raises:
        ParameterError: no other word.
    """
    counts = torch.arange(1, laws.shape[1] + 1, dtype=laws.dtype, device=laws.device)
    return (laws.log() + noiseless_log_slope(scales[..., None], counts, others)).logsumexp(dim=-1)


def descend_noisy(
    law: Float[Tensor, " counts"], alpha: float, lr: float, steps: int, others: int, normalised: bool = True
) -> Float[Tensor, " times"]:
    """λ at t = 0, ..., T by descent on the noisy population loss with known α, ``γ = ln(α/(1-α))`` (Appendix B.2.1).

    Args:
        law: the probabilities of C = 1, 2, ...
        normalised: normalised steps, or plain ones.

    Raises:
        ParameterError: a law with a negative entry or another sum than 1, or a number out of range.
    """
    require(lr=(lr, 0.0, None), steps=(steps, 1, None), law=(Each(law), 0.0, None))
    refuse_unless(_sums_to_one(law), f"law must sum to 1, got {law.sum().item()}")
    counts = torch.arange(1, len(law) + 1, dtype=law.dtype, device=law.device)
    scales = [law.new_zeros(())]
    for _ in range(steps):
        slope = (law * noisy_slope(scales[-1], odds(alpha), counts, others)).sum()
        scales.append(normalised_step(scales[-1], slope, lr) if normalised else scales[-1] - lr * slope)
    return torch.stack(scales)


@dataclass(frozen=True)
class _SampleFit:
    """Result of Algorithm 1: α̂, γ̂, the scales λ_0 ... λ_T and the empirical losses (Eq. 7) at them."""

    alpha: float
    gamma: float
    scales: Float[Tensor, " times"]
    losses: Float[Tensor, " times"]


def algorithm_1(
    sentences: Sentences,
    labels: Int[Tensor, " sentences"],
    task: Task,
    lr: float,
    steps: int,
    form: Form = "correct",
) -> _SampleFit:
    """Train λ on M sentences with unknown α (Algorithm 1): γ from the labels' frequency, then descent on λ from 0.

    ``form="printed"`` adds ``α̂ γ̂`` to the loss where it must be taken away, and takes plain gradient steps, as the
    listing has it. The output word is read off the context, never off the label.

    Raises:
        ParameterError: a noiseless task, a number out of range, or labels that are all τ or never τ: γ̂ would be
            infinite.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(lr=(lr, 0.0, None), steps=(steps, 1, None), form=(form, FORMS))
    alpha = float((labels == task.noise_token).double().mean())
    gamma = odds(alpha)
    others = task.tokens - 2
    output = recover_output(sentences.tokens, task)
    counts = bigram_count(sentences.tokens, sentences.tokens[:, -1], output).double()
    sign_slip = 2 * alpha * gamma if form == "printed" else 0.0
    scales, losses = [torch.zeros((), dtype=torch.float64, device=labels.device)], []
    for _ in range(steps):
        losses.append(noisy_loss(scales[-1], gamma, counts, alpha, others).mean() + sign_slip)
        slope = noisy_slope(scales[-1], gamma, counts, others).mean()
        plain = scales[-1] - lr * slope
        scales.append(plain if form == "printed" else normalised_step(scales[-1], slope, lr))
    losses.append(noisy_loss(scales[-1], gamma, counts, alpha, others).mean() + sign_slip)
    return _SampleFit(alpha, gamma, torch.stack(scales), torch.stack(losses))


def _sums_to_one(laws: Float[Tensor, "*triggers counts"]) -> bool:
    return bool(((laws.sum(dim=-1) - 1).abs() <= 1e-9).all())

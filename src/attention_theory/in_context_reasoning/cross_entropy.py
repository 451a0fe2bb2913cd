"""The loss, Eq. (2), and its gradient in the logits, in two arithmetics.

It is ``p - 1`` at the label. Once ``p`` rounds to 1 (a gap of 37 in float64, of 17 in float32) the subtraction gives 0
or round-off, and normalised descent turns round-off into steps of full length. In the log domain the same
number is ``-exp(log(1 - p))``, exact to the last digits however small, up to a common factor that normalisation drops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from attention_theory.validation import Each, require

#: How gradients are computed: by logarithms, which no size is too small for, or as ``p - 1``, which rounds to 0.
Arithmetic = Literal["log-domain", "subtraction"]


@dataclass(frozen=True)
class _Loss:
    """The losses (Eq. 2) of the sentences and their gradients in the logits, which are ``exp(log_scale) * error``."""

    losses: Float[Tensor, "... sentences"]
    error: Float[Tensor, "... sentences tokens"]
    log_scale: Float[Tensor, "..."]


def cross_entropy(
    logits: Float[Tensor, "... sentences tokens"],
    labels: Int[Tensor, "... sentences"],
    arithmetic: Arithmetic | Sequence[Arithmetic] = "log-domain",
) -> _Loss:
    """``-ln softmax(ξ)[z_{H+1}]`` (Eq. 2, 6 and 7) and its gradient. Each model (leading axes) has a separate scale.

    Args:
        logits: ξ.
        labels: the next words.
        arithmetic: of the gradient, for all models or for each of them.

    Raises:
        ParameterError: an unknown arithmetic.
    """
    kinds = [arithmetic] if isinstance(arithmetic, str) else arithmetic
    require(arithmetic=(Each(kinds), get_args(Arithmetic)))
    if not isinstance(arithmetic, str):
        return _by_arithmetic(logits, labels, arithmetic)
    at_label = labels.expand(logits.shape[:-1])[..., None]
    if arithmetic == "subtraction":
        log_p = logits.log_softmax(dim=-1)
        error = log_p.exp()
        error.scatter_add_(-1, at_label, -torch.ones_like(error[..., :1]))
        return _Loss(-log_p.gather(-1, at_label).squeeze(-1), error, logits.new_zeros(logits.shape[:-2]))
    gaps = logits - logits.gather(-1, at_label)
    gaps = gaps.scatter(-1, at_label, -torch.inf)
    rivals = gaps.logsumexp(dim=-1)
    log_miss = logsigmoid(rivals)
    log_scale = log_miss.amax(dim=-1)
    losses = -logsigmoid(-rivals)
    error = (gaps - (losses + log_scale[..., None])[..., None]).exp()
    error.scatter_(-1, at_label, -(log_miss - log_scale[..., None]).exp()[..., None])
    return _Loss(losses, error, log_scale)


def _by_arithmetic(
    logits: Float[Tensor, "models ... sentences tokens"],
    labels: Int[Tensor, "models ... sentences"],
    arithmetics: Sequence[Arithmetic],
) -> _Loss:
    """The loss of models that each have an arithmetic: neighbours with the same go together."""
    sizes = [len(list(same)) for _, same in groupby(arithmetics)]
    kinds = [arithmetic for arithmetic, _ in groupby(arithmetics)]
    pieces = zip(logits.split(sizes), labels.split(sizes), kinds, strict=True)
    parts = [cross_entropy(some, targets, kind) for some, targets, kind in pieces]
    if len(parts) == 1:
        return parts[0]
    return _Loss(*(torch.cat(each) for each in zip(*((p.losses, p.error, p.log_scale) for p in parts), strict=True)))


def expected_loss(
    logits: Float[Tensor, "... sentences tokens"],
    output: Int[Tensor, " sentences"],
    noise_token: int,
    noise: float | Float[Tensor, "... 1"],
) -> Float[Tensor, "... sentences"]:
    """The loss (Eq. 6) averaged over the label's distribution, α at τ and 1 - α at the output."""
    total = logits.logsumexp(dim=-1)
    at_output = logits.gather(-1, output.expand(logits.shape[:-1])[..., None]).squeeze(-1)
    return total - (1 - noise) * at_output - noise * logits[..., noise_token]

"""Fitting heads to data down to rounding, many starts at once: how empirical risk minimisers are found.

The loss is a sum of squares of residuals that are bilinear in the value and query matrices, so a damped Gauss-Newton
step (Levenberg and Marquardt) reaches zero-loss fits to the last digit, where gradient descent stops early.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require, require_shape


@dataclass(frozen=True)
class _Fits:
    """A stack of fitted models.

    Attributes:
        heads: the models, along the first axis.
        losses: the mean squared loss of each.
    """

    heads: Heads
    losses: Float[Tensor, " models"]


def fit_many(
    features: Float[Tensor, "samples psi"],
    labels: Float[Tensor, "samples out"],
    start: Heads,
    steps: int = 200,
) -> _Fits:
    """Minimise the mean squared loss from every start.

    Args:
        features: H(Z_i), one row for each sample.
        labels: y_i.
        start: the models to begin from, stacked along the first axis.
        steps: the number of damped steps, each accepted only where it lowers the loss.

    Raises:
        ParameterError: labels of another number than the samples; steps below 1.
    """
    require(steps=(steps, 1, None))
    require_shape(labels=(labels, (len(features), None)))
    samples = len(features)
    features, labels = _compress(features, labels)
    cubic = _all_orders(features, start.width)
    heads, now = start, _residuals(start, cubic, labels)
    damping = torch.ones_like(now[:, 0])
    for _ in range(steps):
        tried = _step(heads, _damped(_jacobian(heads, cubic), now, damping))
        then = _residuals(tried, cubic, labels)
        better = then.square().sum(dim=1) < now.square().sum(dim=1)
        heads = Heads(
            torch.where(better[:, None, None, None], tried.values, heads.values),
            torch.where(better[:, None, None, None], tried.queries, heads.queries),
        )
        now = torch.where(better[:, None], then, now)
        damping = torch.where(better, damping / 4, damping * 3).clamp(1e-14, 1e8)
    return _Fits(heads, now.square().sum(dim=1) / samples)


def _residuals(heads: Heads, cubic: Tensor, labels: Tensor) -> Float[Tensor, "models samples_out"]:
    """Prediction less label; ``cubic`` holds ``<z_j, z_k> z_l`` of every sample with axes j, k, l."""
    found = torch.einsum("mhkl,ijkl->mhij", heads.queries, cubic)
    return (torch.einsum("mhaj,mhij->mia", heads.values, found) - labels).flatten(1)


def _jacobian(heads: Heads, cubic: Tensor) -> Float[Tensor, "models samples_out entries"]:
    """The derivatives of the residuals by the entries of the value matrices, then of the query matrices."""
    found = torch.einsum("mhkl,ijkl->mihj", heads.queries, cubic)
    one_output = torch.eye(heads.out, dtype=cubic.dtype, device=cubic.device)
    by_values = torch.einsum("mihj,ab->miahbj", found, one_output).flatten(3)
    by_queries = torch.einsum("mhaj,ijkl->miahkl", heads.values, cubic).flatten(3)
    return torch.cat([by_values, by_queries], dim=3).flatten(1, 2)


def _damped(jacobian: Tensor, residuals: Tensor, damping: Tensor) -> Float[Tensor, "models entries"]:
    """The step ``-(JᵀJ + μI)⁻¹ Jᵀr``, through singular values so that a singular JᵀJ does no harm."""
    left, values, right = torch.linalg.svd(jacobian, full_matrices=False)
    shrunk = values / (values.square() + damping[:, None])
    return -(right.mT @ (shrunk[..., None] * (left.mT @ residuals[..., None])))[..., 0]


def _step(heads: Heads, change: Tensor) -> Heads:
    split = heads.values[0].numel()
    return Heads(
        heads.values + change[:, :split].view_as(heads.values),
        heads.queries + change[:, split:].view_as(heads.queries),
    )


def _all_orders(features: Tensor, width: int) -> Float[Tensor, "samples width width width"]:
    """The distinct features written out for both orders of j and k."""
    j, k = pairs(width, features.device)
    blocks = features.unflatten(1, (len(j), width))
    cubic = features.new_zeros(len(features), width, width, width)
    cubic[:, j, k] = blocks
    cubic[:, k, j] = blocks
    return cubic


def _compress(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """As few rows as columns with the same sum of squares for every fit: the triangular factor of both together."""
    if len(features) <= features.shape[1] + labels.shape[1]:
        return features, labels
    triangle = torch.linalg.qr(torch.cat([features, labels], dim=1), mode="r").R
    return triangle[:, : features.shape[1]], triangle[:, features.shape[1] :]

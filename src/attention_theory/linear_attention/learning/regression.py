"""Algorithm 1: learn linear attention by ordinary least squares, and read the heads off a singular value decomposition.

Of the minimisers of Eq. 10 the one of smallest norm is taken. It is solved in the ψ distinct features, scaled so that
the norm is that of the matrix. The heads are those of the matrix of the same function that is symmetric in k and l:
d(d+1)/2 in place of d². :mod:`.literal` has the form as it is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.features import (
    certificate_features,
    psi,
)
from attention_theory.linear_attention.model.linear_attention import LinearAttention
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import lift, lift_scale, symmetric_heads
from attention_theory.numerics import least_norm_solution
from attention_theory.randomness import Seed, normal
from attention_theory.validation import refuse_unless, require, require_finite, require_shape, require_some

#: Feature entries held in memory at once while statistics are summed: 64 MB of float64.
_ENTRIES_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class _Learned:
    """The result of Algorithm 1: the coefficients, and at most d(d+1)/2 heads with symmetric Q_h that have them."""

    heads: Heads
    coefficients: Float[Tensor, "out psi"]

    @property
    def matrix(self) -> Float[Tensor, "out_width width_squared"]:
        """Ŵ, the minimiser of Eq. 10 of smallest norm, of up to d² heads by ``heads_from_matrix``."""
        return lift(self.coefficients, self.heads.width)


@dataclass(frozen=True)
class Statistics:
    """All that the squared loss of a one-layer model depends on, whatever the number of samples.

    Attributes:
        second_moment: Λ_D, the mean of H Hᵀ (Eq. 5).
        cross: the mean of y Hᵀ.
        power: the mean of ``‖y‖²``.
        samples: N, the number of samples averaged over.
    """

    second_moment: Float[Tensor, "psi psi"]
    cross: Float[Tensor, "out psi"]
    power: float
    samples: int

    def to(self, device: torch.device | str) -> "Statistics":
        """The same statistics on another device."""
        return Statistics(self.second_moment.to(device), self.cross.to(device), self.power, self.samples)

    def loss(self, row: Float[Tensor, "... out psi"]) -> Float[Tensor, "..."]:
        """The mean squared loss of coefficients: exact up to rounding of the size of ``power``."""
        quadratic = (row @ self.second_moment * row).sum(dim=(-2, -1))
        return quadratic - 2 * (row * self.cross).sum(dim=(-2, -1)) + self.power

    def solve(self, rtol: float = 1e-10) -> Float[Tensor, "out psi"]:
        """The coefficients of least loss and, among those, of the matrix Ŵ of least norm.

        Eigenvalues of the second moment of the scaled features below ``rtol`` times the largest count as zero.

        Raises:
            ParameterError: ``rtol`` outside [0, 1].
        """
        require(rtol=(rtol, 0.0, 1.0))
        scale = lift_scale(_width_of(self.second_moment), self.cross.device).to(self.cross.dtype)
        values, vectors = torch.linalg.eigh(self.second_moment * torch.outer(scale, scale))
        kept = values > rtol * values[-1]
        basis = vectors[:, kept]
        return (self.cross * scale) @ basis / values[kept] @ basis.mT * scale

    def descend(self, steps: int, seed: Seed, scale: float | None = None) -> Float[Tensor, "out psi"]:
        """The coefficients after ``steps`` steps of gradient descent of size ``1/λ_max``, from a Gaussian start.

        Along each eigenvector of Λ a step multiplies the error by ``1 - λ/λ_max``; where there are no data it stays.

        Args:
            steps: T, at least 0.
            seed: of the start.
            scale: standard deviation of the start, the inverse root of ψ unless given.

        Raises:
            ParameterError: steps below 0.
        """
        require(steps=(steps, 0, None))
        out, features = self.cross.shape
        scale = features**-0.5 if scale is None else scale
        start = scale * normal(out, features, seed=seed, dtype=self.cross.dtype, device=self.cross.device)
        values, vectors = torch.linalg.eigh(self.second_moment)
        left = (1 - values / values[-1]).clamp(0, 1) ** steps
        best = self.solve()
        return best + ((start - best) @ vectors * left) @ vectors.mT


def statistics(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "*samples out"], causal: bool = False
) -> Statistics:
    """Sum the statistics over the data, a part at a time, so that the features are never all in memory.

    Args:
        tokens: the inputs.
        labels: one per input; with ``causal`` one per position, ``(batch, tokens, out)``.
        causal: count every position as a sample, which sees the tokens up to it (Section 6.1).

    Raises:
        ParameterError: labels of another shape, no sample, or values that are not finite.
    """
    leading = tokens.shape[:2] if causal else tokens.shape[:1]
    require_some(tokens=tokens)
    require_shape(labels=(labels, (*leading, None)))
    require_finite(tokens=tokens, labels=labels)
    width, out = tokens.shape[-1], labels.shape[-1]
    moment = tokens.new_zeros(psi(width), psi(width))
    cross = tokens.new_zeros(out, psi(width))
    samples = leading.numel()
    for part, answers in _parts(tokens, labels, causal):
        features = certificate_features(part, causal).flatten(0, -2)
        moment.addmm_(features.mT, features)
        cross.addmm_(answers.flatten(0, -2).mT, features)
    return Statistics(moment / samples, cross / samples, labels.square().sum().item() / samples, samples)


def least_squares(
    features: Float[Tensor, "samples features"], labels: Float[Tensor, "samples out"], rtol: float = 1e-10
) -> Float[Tensor, "out features"]:
    """Coefficients of least squared loss and, among those, of least norm.

    Singular values of the features below ``rtol`` times the largest count as zero. More exact than
    :meth:`Statistics.solve`, which squares the condition number, and needs all features in memory.

    Raises:
        ParameterError: labels of another number than the samples; no sample, values that are not finite, or ``rtol``
            outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    require_some(features=features)
    require_shape(labels=(labels, (len(features), None)))
    require_finite(features=features, labels=labels)
    return least_norm_solution(features, labels, rtol).mT


def learn(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch *positions out"], rtol: float = 1e-10
) -> _Learned:
    """Algorithm 1 with the minimiser Ŵ of smallest norm, by :func:`least_squares`.

    Args:
        tokens: inputs; set sequences of different lengths together with ``stack_lengths``.
        labels: for the last token of each input, ``(batch, out)``; or for each token, ``(batch, tokens, out)``, which
            is then a sample that has seen itself and those before it (Section 6.1).
        rtol: as in :func:`least_squares`.

    Raises:
        ParameterError: labels of another shape, no sample, values that are not finite, or ``rtol`` outside [0, 1].
    """
    refuse_unless(labels.ndim in (2, 3), f"labels must have 2 or 3 axes, got shape {list(labels.shape)}")
    is_causal, width = labels.ndim == 3, tokens.shape[-1]
    if is_causal:
        require_shape(labels=(labels, (*tokens.shape[:2], None)))
    scale = lift_scale(width, tokens.device).to(tokens.dtype)
    features = certificate_features(tokens, is_causal).flatten(0, -2)
    row = least_squares(features * scale, labels.flatten(0, -2), rtol) * scale
    return _Learned(symmetric_heads(row, width), row)


def fit_linear_attention(tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "..."]) -> LinearAttention:
    """Algorithm 1: the linear attention of least squared loss, with at most d(d+1)/2 heads.

    >>> import torch
    >>> from attention_theory import fit_linear_attention, nn
    >>> tokens = torch.randn(100, 5, 3, dtype=torch.float64)
    >>> teacher = nn.LinearAttention(embed_dim=3, num_heads=2, dtype=torch.float64)
    >>> torch.allclose(fit_linear_attention(tokens, teacher(tokens))(tokens), teacher(tokens))
    True

    Args:
        tokens: the sequences. Shorter ones have tokens of zeros in front, which change nothing.
        labels: for the last token of each sequence, ``(batch, out)``; or for each token, ``(batch, tokens, out)``,
            which then sees itself and those before it.

    Returns:
        The block with ``last_token`` or ``is_causal``, as the labels are, in the type of the tokens.

    Raises:
        ParameterError: labels of another shape, no sample, or values that are not finite.
    """
    return LinearAttention.from_heads(learn(tokens, labels).heads, last_token=labels.ndim == 2)


def _width_of(moment: Float[Tensor, "psi psi"]) -> int:
    return next(width for width in count(1) if psi(width) >= len(moment))


def _parts(tokens: Tensor, labels: Tensor, causal: bool) -> Iterator[tuple[Tensor, Tensor]]:
    rows_each = tokens.shape[1] if causal else 1
    size = max(1, _ENTRIES_AT_ONCE // (rows_each * psi(tokens.shape[-1])))
    return zip(tokens.split(size), labels.split(size), strict=True)

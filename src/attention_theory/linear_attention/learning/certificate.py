"""The certificate of identifiability: is the second moment of the features nonsingular? (Lemma 4.1)"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.validation import refuse_unless, require, require_finite, require_shape, require_some

#: The largest difference of two mirrored entries, relative to the largest entry, that counts as rounding.
_ASYMMETRY = 1e-6


@dataclass(frozen=True)
class IdentifiabilityCertificate:
    """The spectrum of Λ_D and what follows from it.

    Attributes:
        smallest: λ_min, set to exactly 0 where it is zero up to rounding.
        largest: λ_max.
        rank: the number of eigenvalues that are not zero.
        null_space: an orthonormal basis of the kernel, one vector a row; empty if the certificate holds.
    """

    smallest: float
    largest: float
    rank: int
    null_space: Float[Tensor, "nullity psi"]

    @property
    def holds(self) -> bool:
        """Test whether λ_min > 0: all empirical risk minimisers on realizable data are then one function."""
        return self.nullity == 0

    @property
    def nullity(self) -> int:
        return len(self.null_space)


def certificate(tokens: Float[Tensor, "batch tokens width"], rtol: float | None = None) -> IdentifiabilityCertificate:
    """The certificate of a data set in the features of Algorithm 2: do the data determine linear attention?

    The spectrum is that of the squared singular values of the features. The second moment itself is not formed, whose
    rounding would hide eigenvalues below 1e-16 of the largest. Singular values up to ``rtol`` times the largest count
    as zero: 4096 times the machine precision unless given.

    >>> import torch
    >>> from attention_theory import certificate
    >>> tokens = torch.randn(100, 5, 3, dtype=torch.float64)
    >>> certificate(tokens).holds, certificate(tokens[:17]).nullity
    (True, 1)

    Raises:
        ParameterError: no sample, values that are not finite, or ``rtol`` outside [0, 1].
    """
    require_some(tokens=tokens)
    require_finite(tokens=tokens)
    rtol = 4096 * torch.finfo(tokens.dtype).eps if rtol is None else rtol
    require(rtol=(rtol, 0.0, 1.0))
    features = certificate_features(tokens)
    _, values, vectors = torch.linalg.svd(torch.linalg.qr(features, mode="r").R)
    moments = features.new_zeros(features.shape[1])
    moments[: len(values)] = values.square() / len(features)
    return _split(moments.flip(0), vectors.mT.flip(1), rtol**2)


def certificate_of(moment: Float[Tensor, "features features"], rtol: float = 1e-9) -> IdentifiabilityCertificate:
    """The certificate of a second moment. Eigenvalues up to ``rtol`` times the largest count as zero.

    Raises:
        ParameterError: a moment that is not square and symmetric, or ``rtol`` outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    require_some(moment=moment)
    require_shape(moment=(moment, (len(moment), len(moment))))
    require_finite(moment=moment)
    off = (moment - moment.mT).abs().max().item()
    refuse_unless(
        off <= _ASYMMETRY * moment.abs().max().item(), f"moment must be symmetric, entries differ by up to {off:.3g}"
    )
    values, vectors = torch.linalg.eigh(moment)
    return _split(values, vectors, rtol)


def _split(
    values: Float[Tensor, " features"], vectors: Float[Tensor, "features features"], rtol: float
) -> IdentifiabilityCertificate:
    """The certificate of eigenvalues in rising order, and their eigenvectors as columns."""
    zero = values <= rtol * values[-1]
    smallest = 0.0 if zero[0] else values[0].item()
    return IdentifiabilityCertificate(smallest, values[-1].item(), int((~zero).sum()), vectors[:, zero].mT)

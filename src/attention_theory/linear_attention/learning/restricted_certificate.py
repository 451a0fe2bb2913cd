"""A certificate for the inputs that matter, where the second moment of the data is singular (for Lemma 5.2).

On realizable data all minimisers agree on every input whose features lie in the range of Λ_D, since they differ by rows
in its kernel. So a data set that spans the features of a class of inputs determines the function on that class, even
where it says nothing about other inputs.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require


@dataclass(frozen=True)
class RestrictedCertificate:
    """Attributes:
    rank: of the second moment of the data.
    features: ψ, their number; the certificate of Lemma 4.1 asks for this rank.
    class_rank: the rank of data and class together.
    gap: the largest part of a feature vector of the class that lies outside the range, relative to the vector.
    """

    rank: int
    features: int
    class_rank: int
    gap: float

    @property
    def holds(self) -> bool:
        """Whether the data determine the function on the class: the class adds no direction to the range."""
        return self.class_rank == self.rank

    @property
    def holds_everywhere(self) -> bool:
        """The certificate of Lemma 4.1."""
        return self.rank == self.features


def restricted_certificate(
    data: Float[Tensor, "samples features"], inputs: Float[Tensor, "inputs _features"], rtol: float = 1e-9
) -> RestrictedCertificate:
    """Compare the span of the data's features with the features of a class of inputs.

    Singular values up to ``rtol`` times the largest count as zero.

    Raises:
        ParameterError: features of two kinds, or ``rtol`` outside [0, 1].
    """
    require(features_of_inputs=(inputs.shape[1], [data.shape[1]]), rtol=(rtol, 0.0, 1.0))
    basis = _span(data, rtol)
    outside = inputs - inputs @ basis.mT @ basis
    gap = (outside.norm(dim=1) / inputs.norm(dim=1)).max().item()
    together = _span(torch.cat([data, inputs]), rtol)
    return RestrictedCertificate(len(basis), data.shape[1], len(together), gap)


def kernel(data: Float[Tensor, "samples features"], rtol: float = 1e-9) -> Float[Tensor, "nullity features"]:
    """An orthonormal basis of the features' directions in which the data say nothing.

    Raises:
        ParameterError: ``rtol`` outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    _, values, directions = torch.linalg.svd(data, full_matrices=True)
    return directions[int((values > rtol * values[0]).sum()) :]


def _span(rows: Float[Tensor, "rows features"], rtol: float) -> Float[Tensor, "rank features"]:
    _, values, directions = torch.linalg.svd(rows, full_matrices=False)
    return directions[values > rtol * values[0]]
